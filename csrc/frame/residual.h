/* What makes the value of a segment behind its program (see residual.c). */
#ifndef DL_RESIDUAL_H
#define DL_RESIDUAL_H

#include "cache.h"
#include "numbers/values.h"

/* `made` (residual or resume code, as a function or a code object; or any callable) as a function with the globals and
   the closure of func: new reference, or NULL with an error set.

   Functions that share a code object share its entries, but each has its own cells. */
PyObject *dl_residual_bind(PyObject *made, PyObject *func);

/* The value of made(*slots, *outputs), residual code; NULL with an error set. The frame gets the outputs and, if they are owned,
   the slots: what it has got is NULL afterwards. */
PyObject *dl_residual_call(PyObject *made, PyObject *func, PyObject **slots, Py_ssize_t n_slots, int owned,
                           DlValues *outputs);

/* What residual code gives that only returns; the outputs are consumed. NULL: it has to be called (no error set, nothing
   happened), or with an error set. */
PyObject *dl_residual_returned(DlEntry *entry, PyObject *const *slots, Py_ssize_t n_slots, DlValues *outputs);

#endif
