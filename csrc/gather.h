/* Reads and stores by index arrays without a call of NumPy's: of vectors for machine code (gather.c), and of what Call
 * steps have (fancy.c). */
#ifndef DL_GATHER_H
#define DL_GATHER_H

#include "program.h"

/* x[indices] of vectors of n and m elements, into packed memory; 1 where an index is out of range. kind: bytes of an index,
 * negative where it is signed. */
int32_t dl_gather_vectors(char *out, npy_intp itemsize, const char *x, npy_intp n, npy_intp stride, const char *indices,
                          npy_intp m, npy_intp index_stride, npy_intp kind);

/* Note in the step, which is built, if it reads or stores by index arrays; 0 or -1. */
int dl_fancy_build(DlCallStep *step);
/* Do it without a call; 2 when only the call will do, and nothing has happened. */
DlStatus dl_fancy_run(DlRun *run, const DlCallStep *step);

#endif
