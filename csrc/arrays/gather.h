/* Reads and stores by index arrays without a call of NumPy's: of vectors for machine code (gather.c), and of what Call
 * steps have (fancy.c). */
#ifndef DL_GATHER_H
#define DL_GATHER_H

#include "program/program.h"

/* x[indices] of vectors of n and m elements, into packed memory; 1 where an index is out of range. kind: bytes of an index,
 * negative where it is signed. */
int32_t dl_gather_vectors(char *out, npy_intp itemsize, const char *x, npy_intp n, npy_intp stride, const char *indices,
                          npy_intp m, npy_intp index_stride, npy_intp kind);

/* How many bytes behind the first element of an axis of n elements those are that m indices name: written, or (adds) added
 * to what there is. 1 where an index is out of range. kind: as above. */
int32_t dl_gather_offsets(npy_intp adds, int64_t *out, const char *indices, npy_intp m, npy_intp index_stride, npy_intp kind,
                          npy_intp n, npy_intp stride);

/* Move `count` elements, or rows of `inner` of them, between where they lie evenly and those offsets of x; puts: to these. */
int32_t dl_gather_move(npy_intp puts, char *even, npy_intp even_stride, npy_intp even_inner, char *x, const int64_t *offsets,
                       npy_intp count, npy_intp inner, npy_intp inner_stride, npy_intp itemsize);

/* Add numbers, or their negatives, to what lies at offsets of x, one after another; 1 where two NaNs meet. */
int32_t dl_gather_add(npy_intp type_num, npy_intp subtracts, char *x, const int64_t *offsets, npy_intp count,
                      const char *values, npy_intp value_stride);

/* Note in the step, which is built, if it reads or stores by index arrays; 0 or -1. */
int dl_fancy_build(DlCallStep *step);
/* Do it without a call; 2 when only the call will do, and nothing has happened. */
DlStatus dl_fancy_run(DlRun *run, const DlCallStep *step);

#endif
