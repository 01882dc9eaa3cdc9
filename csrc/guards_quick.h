/* Guards translated into fewer steps (guards_quick.c). */
#ifndef DL_GUARDS_QUICK_H
#define DL_GUARDS_QUICK_H

#include "guards_table.h"

typedef enum {
    DL_QUICK_ARG,
    DL_QUICK_ARRAY,
    DL_QUICK_FLOAT,
    DL_QUICK_INT,
    DL_QUICK_BOOL, /* up to here: steps that put an argument into a register */
    DL_QUICK_GLOBALS,
    DL_QUICK_SIZES,
    DL_QUICK_OPS,
} DlQuickKind;

struct DlQuickGuard {
    uint8_t kind;
    int32_t slot, reg; /* of an argument; the first op, and the one behind the last */
    int32_t nd, flags; /* of an array */
    int64_t ones;
    PyObject *object;  /* borrowed from the ops: the dtype, the namespace */
    DlComparison sizes;
};

/* Translate a table that is built, if dl_guards_borrow() may be asked of it: 0, or -1 with MemoryError. */
int dl_guards_quicken(DlGuards *self);

/* ---- guards_run.c ---- */

/* Run ops first to last - 1 of a table without references of its own: `last`, or the one that fails (-1: an error is set). */
int32_t dl_guards_run(const DlGuards *self, int32_t first, int32_t last, PyObject *func, PyObject *const *slots,
                      Py_ssize_t nslots, PyObject **regs, DlNumber *values);
/* Run all ops with references of its own in `regs`, which are empty before. */
int32_t dl_guards_run_owning(const DlGuards *self, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **regs,
                             DlNumber *values);
/* The characters of a str or bytes, as the op "text" makes them: a new reference; NULL without an error for other objects. */
PyObject *dl_guards_text_array(PyObject *object);

#endif
