/* What is chosen of arrays, and in which order: for machine code (selections.c). */
#ifndef DL_SELECTIONS_H
#define DL_SELECTIONS_H

#include "program/program.h"

/* The places of what is not zero in `rows` rows of n elements of a dtype, in C order, how many there are. pairs: each
 * place as its row and its column, else as a number in the whole. `out` has room for all. */
int64_t dl_selections_nonzero(npy_intp type_num, const char *x, npy_intp rows, npy_intp n, npy_intp row_stride,
                              npy_intp stride, npy_intp pairs, int64_t *out);

/* How many are true of `rows` rows of n bools, in C order. Where these are, `out` notes, unless they are many: whether it
 * does, then their places. It has room for all of them, and DL_MASK_NOTES more. */
int64_t dl_selections_mark(const char *mask, npy_intp rows, npy_intp n, npy_intp row_stride, npy_intp stride, int32_t *out);

/* Move what such a mask, marked in `notes`, selects of an array, `count` elements, or rows of `inner` of them, to where
 * they lie one behind another, or (puts) from there; 1 where these are not as many. */
int32_t dl_selections_move(npy_intp puts, char *packed, npy_intp packed_stride, npy_intp packed_inner, char *x, npy_intp rows,
                           npy_intp n, npy_intp row_stride, npy_intp stride, npy_intp inner, npy_intp inner_stride,
                           npy_intp itemsize, const char *mask, npy_intp mask_row_stride, npy_intp mask_stride,
                           const int32_t *notes, npy_intp count);

/* The order of packed elements, by NumPy's own function for the dtype and the kind of sort; 1 where it fails. */
int32_t dl_selections_order(npy_intp type_num, npy_intp kind, const char *x, npy_intp n, int64_t *out);

/* Each of n packed elements once, in order: how many there are; -1 where NumPy may keep the one or the other zero or NaN.
 * by_order: `order` is theirs, by a stable sort, and first, inverse and counts become what np.unique returns; else they
 * are sorted, and may lie where `out` is. */
int64_t dl_selections_unique(npy_intp type_num, npy_intp by_order, const char *x, npy_intp n, const int64_t *order, char *out,
                             int64_t *first, int64_t *inverse, int64_t *counts);

/* Of n elements of a dtype, which are (inverts: are not) among m others: bools. Each is compared with each. */
int32_t dl_selections_among(npy_intp type_num, npy_intp inverts, char *out, const char *x, npy_intp n, npy_intp stride,
                            const char *others, npy_intp m, npy_intp other_stride);

/* Of two sorted vectors, in each of which no element is there twice, those that are in the first one alone (DL_SET_FIRST),
 * in both, or in the second one alone, as bits: how many, in order; -1 as dl_selections_unique. */
int64_t dl_selections_set(npy_intp type_num, npy_intp which, const char *x, npy_intp n, const char *y, npy_intp m, char *out);

/* The product of n doubles, one after another as NumPy multiplies them; 1 where a NaN comes out. */
int32_t dl_selections_product(double *out, const char *x, npy_intp n, npy_intp stride);

/* The greatest, or (least) the least, of the doubles or int64s up to each; 1 where NumPy may keep the one or the other. */
int32_t dl_selections_extremes(npy_intp type_num, npy_intp least, char *out, const char *x, npy_intp n, npy_intp stride);

/* np.roll of rows of n elements, by so many rows and so many elements, into packed memory. */
int32_t dl_selections_roll(char *out, const char *x, npy_intp rows, npy_intp n, npy_intp row_stride, npy_intp stride,
                           npy_intp itemsize, npy_intp by_rows, npy_intp by);

/* How long the np.bincount of int64s is, -1 where one is negative; and the counts, or the sums of packed weights. */
int64_t dl_selections_bins(const char *x, npy_intp n, npy_intp stride, npy_intp least);
int32_t dl_selections_count(const char *x, npy_intp n, npy_intp stride, int64_t *out, npy_intp bins);
int32_t dl_selections_weigh(const char *x, npy_intp n, npy_intp stride, const char *weights, npy_intp weights_n,
                            npy_intp weight_stride, double *out, npy_intp bins);

/* The rest of n elements of which the first two are there, by NumPy's own function for the dtype; 1 where it fails. */
int32_t dl_selections_fill(npy_intp type_num, char *out, npy_intp n);

#endif
