/* Columns of arrays that objects of a list have under a name (array_columns.c). */
#ifndef DL_ARRAY_COLUMNS_H
#define DL_ARRAY_COLUMNS_H

#include <Python.h>

/* The column of arrays in a tuple, which objects of a list have: a new reference. NULL where they are not of one type and
 * shape, packed and writeable, or there are none; without an error set unless there is no memory. */
PyObject *dl_array_column_make(PyObject *list, PyObject *arrays);
/* Copy what a program has left in a column into the arrays of which it is: 0, or -1 with an error set. */
int dl_array_column_put(PyObject *column);
/* Whether all arrays for which two stand have no byte in common, each being a column or an array of its own; they may be
 * one column: 1, 0, or -1 with MemoryError. */
int dl_array_columns_are_apart(PyObject *one, PyObject *other);

#endif
