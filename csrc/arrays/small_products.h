/* Products of many small matrices, and of a long matrix and a small one (small_products.c). */
#ifndef DL_SMALL_PRODUCTS_H
#define DL_SMALL_PRODUCTS_H

#include "program/program.h"

/* np.matmul, or np.dot, of two arrays of doubles into a fresh array, which a register takes; 2 where NumPy is to be asked,
 * -1 with an error set. */
DlStatus dl_small_products_run(DlRun *run, const DlCallStep *step, const DlReg *a, const DlReg *b);

#endif
