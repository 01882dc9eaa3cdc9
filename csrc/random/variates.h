/* Random numbers of NumPy's distributions, drawn without NumPy's methods. */
#ifndef DL_VARIATES_H
#define DL_VARIATES_H

#include <numpy/random/bitgen.h>

/* Draw n numbers (float64, of DL_DRAW_POISSON int64) into packed memory: 0, or 1 where NumPy would raise, or has no library
 * to link with. kept: what a RandomState keeps, NULL of a Generator. */
int32_t dl_variates_fill(bitgen_t *bits, char *kept, npy_intp kind, double a, double b, char *data, npy_intp n);
/* The same of int64 from low up to high, which does not count. */
int32_t dl_variates_fill_integers(bitgen_t *bits, const char *kept, int64_t low, int64_t high, char *data, npy_intp n);
/* Draw `count` positions in n weights, `stride` bytes apart: 0, or 1 where one is negative, or their sum may not be 1 for
 * NumPy. */
int32_t dl_variates_choose(bitgen_t *bits, const char *weights, npy_intp n, npy_intp stride, int64_t *out,
                           npy_intp count);
/* The integers from 0 up to n in another order. */
int32_t dl_variates_order(bitgen_t *bits, int64_t *out, npy_intp n);

#endif
