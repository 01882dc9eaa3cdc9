/* The rows at hand of a block's results, and where they belong. */
#ifndef DL_BLOCK_ROWS_H
#define DL_BLOCK_ROWS_H

#include "program.h"

/* leading: how many first axes are the rows; all: of all rows, how long each is; start, n: the rows at hand. registers:
 * of the results; arrays: owned, those that have all rows, NULL until they are made. */
typedef struct DlBlockRows {
    int leading;
    const npy_intp *all;
    npy_intp start, n;
    int n_results;
    const int32_t *registers;
    PyObject **arrays;
} DlBlockRows;

/* A fresh array, as dl_pool_array makes it, for what goes into a register: in a block the rows at hand of the array that
 * has all of them, where the register is a result and lies as that does. */
PyObject *dl_block_rows_array(DlRun *run, int reg, PyArray_Descr *descr, int nd, const npy_intp *shape,
                              const npy_intp *strides);

/* Copy the results of the rows at hand to their places, unless they are there; 2 where they do not lie packed. */
DlStatus dl_block_rows_keep(DlRun *run, DlBlockRows *rows);

#endif
