/* Whole powers of doubles, by NumPy's loop where that is fast and exactly where it is slow. */
#ifndef DL_POWER_H
#define DL_POWER_H

#include "nearest.h"

/* Whether `invoke` of the words at `slot`, which describe NumPy's power of doubles, is served by dl_power_run. */
int dl_power_serves(DlInvoke invoke, const npy_intp *slot);

/* What `invoke` would compute, bit for bit. */
int32_t dl_power_run(DlInvoke invoke, const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides);

#endif
