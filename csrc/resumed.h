/* Resume functions that run as plain Python (see resumed.c). */
#ifndef DL_RESUMED_H
#define DL_RESUMED_H

#include "jump.h"
#include "pyframe.h"

/* Call function plainly with these references, which its frame gets. *goes_on: what it gives is a Continuation, with which
   the chain of segments goes on. */
PyObject *dl_resumed_call(PyObject *function, PyObject **args, Py_ssize_t n, PyObject *on_miss, int *goes_on);

/* Let value, a Continuation, pass as what the running frame, of `function`, gives to its caller: 0 where nobody there goes
   on with it. */
int dl_resumed_relay(PyObject *function, DlFrame *caller, PyObject *on_miss, PyObject *value);

/* What restart(func) gives: a function that does the same as func does with its argument slots, and gives a Continuation at
   the next back edge of its loop; NULL with no error set where there is none. */
PyObject *dl_resumed_with_polls(PyObject *restart, PyObject *func);

#endif
