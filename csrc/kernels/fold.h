/* Typed reductions of memory: the arithmetic under reduce.c.
 *
 * Floating add has NumPy's pairwise order; a sum that is NaN is unsure (which NaN?). The other operations give one result
 * in any order: integer arithmetic wraps, and a floating maximum or minimum that met no NaN and is no zero (0.0 or
 * -0.0?) is the same whatever the order. So it is of np.fmax and np.fmin, which leave NaNs out, unless nothing is left. A
 * reduction that has been unsure looks at what goes in from then on (DlAlike).
 */
#ifndef DL_FOLD_H
#define DL_FOLD_H

#include "numpy_api.h"

typedef struct DlFold {
    const char *ufunc;
    char kind; /* the dtype's: 'b', 'i', 'u', 'f', 'c' */
    int bytes; /* of one item */
    int pairwise;
    /* cell = fold of n >= 1 items that are `stride` bytes apart; not 0 when the result is unsure. */
    int (*leaf)(const char *data, npy_intp n, npy_intp stride, char *cell);
    /* The same for `count` packed runs of n >= 1 items that follow one another: one cell each. */
    int (*runs)(const char *data, npy_intp count, npy_intp n, char *cells);
    /* accs[i] = accs[i] op data[i], both packed; not 0 when a result is unsure. */
    int (*rows)(char *accs, const char *data, npy_intp n);
    /* What n items hold before the first operation. */
    void (*start)(char *accs, npy_intp n);
    /* Whether one of n results is unsure after all: DL_DOUBT_..., or 0; NULL: never. */
    int (*doubtful)(const char *accs, npy_intp n);
    int skips; /* NaNs are left out. NB: comparing one sets a flag that NumPy does not report */
} DlFold;

enum {
    DL_DOUBT_ALIKE = 1, /* a NaN or a zero, known where all that went in were alike */
    DL_DOUBT_LOST = 2,  /* only NumPy knows */
};

/* The NaNs that go into a sum, or the zeros among which an extreme is chosen: floats of 4 or 8 bytes. Where all are alike,
 * bit by bit, the result is one of them, whichever two meet first. */
typedef struct {
    int bytes, zeros;
    enum { DL_MET_NONE, DL_ALIKE, DL_UNLIKE } met;
    uint64_t bits;
} DlAlike;

/* Look at n numbers that are `stride` bytes apart. */
void dl_alike_look(DlAlike *alike, const char *data, npy_intp n, npy_intp stride);
/* Whether the NaN that all are is np.nan. */
int dl_alike_is_usual(const DlAlike *nans);
/* Put the NaN that all are among n packed numbers where they stand. */
void dl_alike_hand_on(const DlAlike *nans, char *to, const char *data, npy_intp n);
/* Look at those that another one has met. */
void dl_alike_join(DlAlike *alike, const DlAlike *others);
/* Whether a result that is NaN, or zero, is known bit by bit. NB: a NaN that arises is an invalid operation. */
int dl_alike_known(const DlAlike *alike);

/* Learn what this processor can do. */
void dl_fold_register(void);

/* How ufunc (by name) folds items of that dtype; NULL where only NumPy knows. */
const DlFold *dl_fold_find(const char *ufunc, const PyArray_Descr *descr);

/* The number of a row for find_fold, -1 where there is none; and result = the reduction of n items by that row, or not 0. */
int dl_fold_number(const DlFold *fold);
int32_t dl_fold_vector(npy_intp number, char *result, const char *data, npy_intp n, npy_intp stride);
/* The same along the middle one of three axes of packed memory. */
int32_t dl_fold_axes(npy_intp number, char *results, const char *data, npy_intp outer, npy_intp n, npy_intp inner);

/* Where NumPy's pairwise sum of more than 128 numbers splits n items; a complex item is two numbers. */
static inline npy_intp
dl_fold_half(npy_intp n, int is_complex)
{
    npy_intp half = is_complex ? n : n / 2;
    half -= half % 8;
    return is_complex ? half / 2 : half;
}

#endif
