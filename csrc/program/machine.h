/* Machine loops: see machine.c. */
#ifndef DL_MACHINE_H
#define DL_MACHINE_H

#include "program.h"

/* Make the machine form of a step of this program, whose body and operands are built, of a Machine; 0 or -1. */
int dl_machine_build(DlProgram *program, PyObject *object, DlLoopStep *step);

/* Run `planned`, at least 1, of a loop's `length` iterations as machine code, and leave it where these are not all; 2 when
 * it has to run step by step. */
DlStatus dl_machine_run(DlRun *run, DlLoopStep *step, int64_t start, int64_t by, uint64_t length, uint64_t planned);

/* ---- for straight.c, which fills a block of its own ---- */

/* Whether what goes in are arrays, NumPy scalars and numbers; 2 where dl_machine_takes has something to look at. */
int dl_machine_is_simple(const DlMachine *self);
/* The code that ran last, if it is as careful as it has to be; or NULL. */
const DlVariant *dl_machine_latest(const DlMachine *self, int care);
/* How many axes value i that goes in has, DL_OF_SCALAR or DL_OF_NUMBER; its dtype, which lives for ever, or NULL. */
int dl_machine_ndim(const DlMachine *self, int i);
PyArray_Descr *dl_machine_descr(const DlMachine *self, int i);
/* The words before the scratch; `first`: the first one of each value that goes in, then of each result. */
int dl_machine_layout(const DlLoopStep *step, int *first);
/* Whether the arrays in a block, at these words, lie as the code wants, and vectors have no more than `most` elements. */
int dl_machine_takes(const DlMachine *self, const npy_intp *words, const int *first, npy_intp most);
/* The words in front of the values, of a loop of one iteration: what stays; and what the code changes. */
void dl_machine_fill_head(npy_intp *words);
static inline void
dl_machine_fill_range(npy_intp *words)
{
    words[DL_WORD_OVERFLOW] = words[DL_WORD_LAST] = words[DL_WORD_ENDED] = 0;
}
/* The class of an array's strides. */
static inline uint8_t
dl_machine_class(int nd, const npy_intp *strides, npy_intp itemsize)
{
    return nd && strides[nd - 1] == itemsize ? DL_CLASS_PACKED
           : nd && strides[0] == itemsize    ? DL_CLASS_ITERATED
                                             : DL_CLASS_SPREAD;
}

#endif
