/* Positions of first extremes and of numbers in sorted vectors, and sorting. By NumPy's own functions for the dtype, but for
 * searches, which have none that can be had. For machine code. */
#include "program/program.h"

#include "program/fpflags.h"

#include <math.h>
#include <string.h>

enum { ON_STACK = 2048 }; /* bytes of a row that is copied, since its elements do not lie side by side */

/* Of each of `rows` rows of n elements the position of the first extreme, into packed memory; 1 where NumPy would raise,
 * or memory ran out. what: the dtype's number, and which extreme. */
int32_t
dl_positions_find(npy_intp what, int64_t *out, const char *x, npy_intp rows, npy_intp n, npy_intp row_stride,
                  npy_intp stride)
{
    PyArray_Descr *descr = PyArray_DescrFromType((int)(what / DL_POSITIONS)); /* NB: builtin dtypes live for ever */
    PyArray_ArrFuncs *functions = PyDataType_GetArrFuncs(descr);
    PyArray_ArgFunc *find = what % DL_POSITIONS == DL_POSITION_GREATEST ? functions->argmax : functions->argmin;
    npy_intp itemsize = PyDataType_ELSIZE(descr);
    Py_DECREF(descr);
    if (n < 1 || find == NULL) {
        return 1;
    }
    char stack[ON_STACK] __attribute__((aligned(16)));
    char *row = NULL;
    if (stride != itemsize) {
        row = n * itemsize <= ON_STACK ? stack : malloc((size_t)(n * itemsize));
        if (row == NULL) {
            return 1;
        }
    }
    unsigned flags = dl_fp_get(); /* which NumPy does not look at here */
    int failed = 0;
    for (npy_intp i = 0; i < rows && !failed; i++, x += row_stride) {
        npy_intp place = 0;
        for (npy_intp j = 0; row != NULL && j < n; j++) {
            memcpy(row + j * itemsize, x + j * stride, (size_t)itemsize);
        }
        failed = find((void *)(row ? row : x), n, &place, NULL) < 0;
        out[i] = place;
    }
    dl_fp_set(flags);
    if (row != stack) {
        free(row);
    }
    return failed;
}

int32_t
dl_positions_sort(npy_intp type_num, char *x, npy_intp n)
{
    PyArray_Descr *descr = PyArray_DescrFromType((int)type_num);
    PyArray_SortFunc *sort = PyDataType_GetArrFuncs(descr)->sort[NPY_QUICKSORT];
    Py_DECREF(descr);
    if (sort == NULL) {
        return 1;
    }
    unsigned flags = dl_fp_get(); /* which NumPy does not look at here */
    int failed = n > 1 && sort(x, n, NULL) < 0;
    dl_fp_set(flags);
    return failed;
}

/* NumPy's order of doubles, in which NaN comes last. */
static int
is_less(double a, double b)
{
    return isless(a, b) || (isnan(b) && !isnan(a));
}

/* Whether what stands in a vector belongs before a key; behind all that equal it, or in front of them. */
static int
is_before(const char *at, const char *key, int is_float, int right)
{
    if (is_float) {
        double a, b;
        memcpy(&a, at, sizeof a);
        memcpy(&b, key, sizeof b);
        return right ? !is_less(b, a) : is_less(a, b);
    }
    int64_t a, b;
    memcpy(&a, at, sizeof a);
    memcpy(&b, key, sizeof b);
    return right ? a <= b : a < b;
}

/* NB: the very steps that NumPy takes, as a trial has found them: they show where the vector is not sorted. */
int64_t
dl_positions_search(npy_intp what, const char *x, npy_intp n, npy_intp stride, const char *key)
{
    int is_float = what / DL_SEARCHES == NPY_DOUBLE, right = (what & DL_SEARCH_RIGHT) != 0;
    npy_intp low = 0, high = n;
    if (what & DL_SEARCH_BY_HALVES && n > 0) {
        for (npy_intp rest = n; rest > 1; rest -= rest >> 1) {
            npy_intp half = rest >> 1;
            low += is_before(x + (low + half) * stride, key, is_float, right) ? half : 0;
        }
        return low + is_before(x + low * stride, key, is_float, right);
    }
    while (low < high) {
        npy_intp middle = low + ((high - low) >> 1);
        if (is_before(x + middle * stride, key, is_float, right)) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}
