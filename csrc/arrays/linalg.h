/* Small matrices inverted, solved and factored without a call of np.linalg. */
#ifndef DL_LINALG_H
#define DL_LINALG_H

#include "program/program.h"

/* Note in the step, which is built, if it is a gufunc of np.linalg on registers; 0 or -1. */
int dl_linalg_build(DlCallStep *step);
/* Do it without a call; 2 when only the call will do. */
DlStatus dl_linalg_run(DlRun *run, const DlCallStep *step);
/* The same for machine code, into packed memory. what: its number in abi.def. second: of a second result. The sizes and
 * strides of both operands; a vector is a column. 0, or 1 to decline. */
int32_t dl_linalg_arrays(npy_intp what, char *first, char *second, char *a, npy_intp m, npy_intp n, npy_intp a_row,
                         npy_intp a_column, char *b, npy_intp b_rows, npy_intp p, npy_intp b_row, npy_intp b_column);

#endif
