/* Interrupts (signals whose handlers have not run, exceptions that other threads send) while dynamo_lite's own Python code
   runs in the middle of a call of the user's.

   An exception raised there would be taken for a failure of that code, and a handler would see it half done. So they are
   held back, and delivered where the user's own code stands: before the call that is being compiled. Compiling that
   takes long lets them in at its safe points; an exception then abandons it. */
#ifndef DL_INTERRUPTS_H
#define DL_INTERRUPTS_H

#include <fenv.h>

#include "pyframe.h"

/* A stretch of C code that runs dynamo_lite's own Python code, or residual code up to where it calls let_in(). */
typedef struct DlDeferral {
    struct DlDeferral *outer;
    DlKept kept;
    int over;          /* let_in() has ended it */
    int to_the_end;    /* let_in() does not end it */
    int to_loop;       /* the user's code ends it in front of so many-th of its loops; 0: it does not */
    int64_t since;     /* when that began, in ns: it does not last for long */
    PyObject *func;    /* borrowed: the user's function that is being compiled; NULL: nothing is let in before the end */
    fexcept_t flags;   /* where there is one: the floating-point flags, which a ufunc around it may report */
    int line;          /* of it, where the user's code stands; 0: where it begins */
    int64_t noticed;   /* when the first interrupt that waits was noticed, in ns; 0: none */
    PyObject *type, *value, *traceback; /* what was raised at a safe point */
} DlDeferral;

/* Hold interrupts back until dl_interrupts_resume(). func: a Python function or NULL, see DlDeferral. */
void dl_interrupts_defer(DlDeferral *deferral, PyObject *func);

/* End that: result (NULL: an error is set), or NULL with the exception that was raised at a safe point set. */
PyObject *dl_interrupts_resume(DlDeferral *deferral, PyObject *result);

/* Run what waits, as if it had come where func begins (a resume function: where it goes on): 0, or -1 with what it raised set. */
int dl_interrupts_deliver(PyObject *func);

/* Hold interrupts back until the user's code comes to that loop of its own, from 1 on, or has run for a while. */
void dl_interrupts_defer_to_loop(DlDeferral *deferral, int number);

/* At the back edge of a loop of the user's: end that if it has lasted for too long. */
void dl_interrupts_go_round(void);

/* Have the error that is set raised where the user's code goes on, as by a handler that runs there: 0, or -1 with it set. */
int dl_interrupts_raise_later(void);

/* Add the functions to module: 0, or -1 with an error set. */
int dl_interrupts_register(PyObject *module);

#endif
