/* Guards: a table of reads and tests over a frame's slots, function and closure, which yields a graph's inputs.
 *
 * Checking runs no Python code: everything is read where CPython keeps it. The ops and their operands stand in
 * guards.def; dynamo_lite/capture/facts.py collects them, dynamo_lite/guards/twin.py evaluates the same ops in Python.
 */
#ifndef DL_GUARDS_H
#define DL_GUARDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject dl_guards_type; /* _C.Guards */

/* Add the type Guards and the tuple GUARD_KINDS to the module; 0 or -1. */
int dl_guards_register(PyObject *module);

/* Check: 1 with new references to the inputs in `inputs`, 0 when a guard fails, -1 with an error set.
 * guards: a Guards; func: the function called; slots: its arguments, NULL where unbound. All borrowed. */
int dl_guards_check(PyObject *guards, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **inputs);

/* Whether checking these guards runs no Python code whatever happens, and takes little room: dl_guards_borrow() may be
 * asked then, as dl_guards_check(), and gives borrowed references. */
int dl_guards_are_plain(PyObject *guards);
int dl_guards_borrow(PyObject *guards, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **inputs);

/* How many inputs a check yields. */
Py_ssize_t dl_guards_n_inputs(PyObject *guards);

/* Whether two constants are interchangeable: same exact types, same bits; anything else only if identical. */
int dl_constants_equal(PyObject *a, PyObject *b);

#endif
