/* Places in vectors that grow: for machine code (search.c). */
#ifndef DL_SEARCH_H
#define DL_SEARCH_H

#include "program/program.h"

/* The places of packed keys in a packed vector; ups: behind what equals them. 1 where NumPy is to be asked. */
int32_t dl_search_places(npy_intp type_num, npy_intp ups, const char *a, npy_intp n, const char *keys, npy_intp count,
                         int64_t *places);

/* np.interp of packed doubles; places: memory for as many numbers as keys. 1 where NumPy is to be asked. */
int32_t dl_search_interpolate(const double *x, npy_intp count, const double *xp, const double *fp, npy_intp n,
                              int64_t *places, double *out);

#endif
