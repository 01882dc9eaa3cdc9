/* Resume functions that run as plain Python (see resumed.c). */
#ifndef DL_RESUMED_H
#define DL_RESUMED_H

#include "pyframe.h"

/* Of a frame with BackEdges, the iterations that it is to run and has run, and when the first and the last of these ended. */
typedef struct {
    int64_t wanted, done;
    uint64_t first, last;
} DlRounds;

/* Call function plainly with these references, which its frame gets. *goes_on: what it gives is a Continuation, with which
   the chain of segments goes on. */
PyObject *dl_resumed_call(PyObject *function, PyObject **args, Py_ssize_t n, PyObject *on_miss, DlRounds *rounds,
                          int *goes_on);

/* At a back edge of the frame that was called so: whether it has run its iterations. */
int dl_resumed_is_over(void);

/* Let value, a Continuation, pass as what the running frame, of `function`, gives to its caller: 0 where nobody there goes
   on with it. */
int dl_resumed_relay(PyObject *function, DlFrame *caller, PyObject *on_miss, PyObject *value);

/* What restart(func) gives: a function that does the same as func does with its argument slots, and gives a Continuation at
   the next back edge of its loop; NULL with no error set where there is none. */
PyObject *dl_resumed_with_polls(PyObject *restart, PyObject *func);

#endif
