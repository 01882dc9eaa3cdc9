/* Columns of nested lists and tuples (columns.c). */
#ifndef DL_COLUMNS_H
#define DL_COLUMNS_H

#include <Python.h>

/* Whether an object is a path, as columns.c says. */
int dl_columns_is_path(PyObject *object);
/* The column at a path of a list or tuple, a read-only array: a new reference. NULL without an error set where some item
 * is of another type than the path says, or does not fit. */
PyObject *dl_columns_make(PyObject *object, PyObject *path);
/* Whether two arrays are columns of one list or tuple, with the same numbers. */
int dl_columns_are_equal(PyObject *one, PyObject *other);

#endif
