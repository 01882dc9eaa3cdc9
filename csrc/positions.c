/* Positions of first extremes, by NumPy's own function for the dtype (what np.argmax calls for each row). For machine code. */
#include "program.h"

#include "fpflags.h"

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
