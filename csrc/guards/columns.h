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
/* Store what a program has left in the column of an attribute (of floats and ints, "n", in those of "F", "I" and "k", and
 * with a table the tags of the ints) into the objects of which it is, as new numbers, where `marks` is not 0; or, with a
 * table, where `marks`, the tags of the numbers (objects.c), say that it is another one. 0, or -1 with an error set. */
int dl_columns_put(PyObject *path, PyObject *marks, PyObject *table, PyObject *const *values, Py_ssize_t n_values);
/* Whether no object at a path has anything of its own under the name in it: 1, 0, or -1 with MemoryError. */
int dl_columns_all_lack(PyObject *object, PyObject *path);
/* Whether all objects in two lists or tuples, or in those that they hold, differ; either may be a single object, or both
 * the same list: 1, 0, or -1 with MemoryError. */
int dl_columns_all_differ(PyObject *one, PyObject *other);
/* Whether a list or tuple, or one of those that it holds, so many deep, holds that object. */
int dl_columns_holds(PyObject *one, PyObject *object, Py_ssize_t depth);

#endif
