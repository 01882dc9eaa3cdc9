/* Objects whose death nobody can notice. */
#ifndef DL_QUIET_H
#define DL_QUIET_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Whether nobody can notice the death of an object, NULL included: a number, a string, an array of numbers or strings to
 * which there is no weak reference, or a list or tuple of such. depth: of lists and tuples that it may be made of; room: how many items may be looked at, those that were are
 * taken off, or NULL: any number. */
int dl_quiet_dies(PyObject *object, int depth, Py_ssize_t *room);

/* Whether nobody can notice the death of an object, and that is quickly seen: what guards ask in each call. */
int dl_quiet_is_short(PyObject *object);

#endif
