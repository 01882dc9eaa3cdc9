/* Whole powers of doubles and floats, by NumPy's loop where that is fast and exactly where it is slow. */
#ifndef DL_POWER_H
#define DL_POWER_H

#include "nearest.h"

/* What computes as `invoke` does, bit for bit, for the words at `slot`, which describe NumPy's power of numbers of a
 * type, NPY_DOUBLE or NPY_FLOAT; NULL where nothing does. invoke: the same in all calls. */
DlInvoke dl_power_find(int type, DlInvoke invoke, const npy_intp *slot);

/* a ** b as NumPy computes it of scalars: by the C library. */
double dl_power_scalar(double a, double b);
float dl_power_scalar_float(float a, float b);

#endif
