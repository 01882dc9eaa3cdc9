/* Functions of doubles whose values the C library rounds nearly always to the nearest double, several at once. */
#ifndef DL_NEAREST_H
#define DL_NEAREST_H

#include "numpy_api.h"

/* A way to run the loop that the words at `slot` describe. */
typedef int32_t (*DlInvoke)(const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides);

/* What computes as `invoke` does, bit for bit, for the words at `slot`, which describe NumPy's loop of that name for
 * numbers of a type (NPY_DOUBLE ...); NULL where nothing does. invoke: the same in all calls. */
DlInvoke dl_nearest_find(const char *name, int type, DlInvoke invoke, const npy_intp *slot);

#endif
