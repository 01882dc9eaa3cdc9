/* Program: a Schedule (dynamo_lite/schedule/steps.py) compiled to steps in C, run without Python in between.
 *
 * A program either succeeds or declines; a declined one has restored every array it wrote.
 */
#ifndef DL_LAUNCH_H
#define DL_LAUNCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject dl_program_type; /* _C.Program */
extern PyObject *dl_declined_error;  /* _C.Declined: raised by a program that changed nothing and did nothing */

/* Add Program, CompiledKernel and Declined to the module; 0 or -1. */
int dl_launch_register(PyObject *module);

/* Where a run ended: -1 at the end of the program, or the number of an exit; with so many outputs. */
typedef struct {
    int exit;
    Py_ssize_t n_outputs;
    int64_t most;    /* iterations that a loop which can be left may run, or DL_ALL; out: of the run that did not decline */
    int64_t within;  /* of so many to come it is known that the program declines in one, or 0 */
    int retreats;    /* in: where the program declines, run what comes before the iteration in which it does; out: it has */
    int64_t done;    /* out: declined for a signal, with so many iterations before of its loop that can be left, or 0, */
    int number;      /* so many-th of those */
    double lost;     /* the time of the runs that declined, as of dl_program_time() */
} DlEnd;

enum { DL_ALL = -1 };

/* The call that a program is run for: whether its guards still pass can be asked again. All borrowed. */
typedef struct {
    PyObject *guards, *func;
    PyObject *const *slots;
    Py_ssize_t n_slots;
    int stores; /* residual code stores to objects, which a handler of a signal would find as they were before the call */
    int handles; /* a try or with of the function may handle what a signal's handler raises */
} DlWorld;

/* Run: 0 with new references in `outputs`, 1 when it declined (no error set), -1 with an error set.
 * program: a Program; inputs: borrowed, as many as its schedule says; outputs: room for the most that any end yields;
 * end: NULL if the program has to run to its end; world: NULL where nobody can ask. end->retreats: a program that declines
 * runs once more, with fewer iterations. */
int dl_program_run(PyObject *program, PyObject *const *inputs, PyObject **outputs, DlEnd *end, const DlWorld *world);

/* Run a program to its end the short way, if it has one: 1 with new references in `outputs`, or 0: nothing has
 * happened, and dl_program_run() is to be called. No Python code runs: references to inputs may be borrowed. */
int dl_program_run_short(PyObject *program, PyObject *const *inputs, PyObject **outputs);

/* How long the run that ended last took: nanoseconds where the program has loops, else 1. */
double dl_program_time(PyObject *program);
/* Whether the last run declined since a floating-point error was to be reported. */
int dl_program_reports(PyObject *program);

/* In which of the loops that can be left the last run declined since a signal waits, from 1 on; 0: it did not. */
int dl_program_is_interrupted(PyObject *program);

/* Whether what a program has last declined for may lie in one iteration of its loop alone, and be over behind it. */
int dl_program_may_go_on(PyObject *program);

/* How many outputs a run to the end yields, and how many the end with the most. */
Py_ssize_t dl_program_n_outputs(PyObject *program);
Py_ssize_t dl_program_n_most_outputs(PyObject *program);

#endif
