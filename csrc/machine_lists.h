/* What machine code does with lists: see machine_lists.c. The int32 results are 1 where there is no memory. */
#ifndef DL_MACHINE_LISTS_H
#define DL_MACHINE_LISTS_H

#include "program.h"

/* An object of these bits: a new reference, or NULL. type: NumPy's type number, or a PYTHON_ one. */
PyObject *dl_make_object(int type, int64_t bits);

/* Append an object, whose reference is taken, to a list; 1 where there is no memory. */
int32_t dl_append_object(PyObject *list, PyObject *object);

/* Append a new number to a list. */
int32_t dl_append_number(PyObject *list, npy_intp type, int64_t bits);

/* The same of a number that something else may hold, too: the object with that tag (objects.c). */
int32_t dl_append_tagged(PyObject *list, npy_intp type, PyObject *table, int64_t tag, int64_t bits);

/* Append an object that there is; 1 where there is no memory. */
int32_t dl_append_held(PyObject *list, PyObject *object);

/* Make one list, or tuple, of the last items of a list, n of them, which stands in their place; 1 where there is no
 * memory. */
int32_t dl_append_pack(PyObject *list, npy_intp n, npy_intp is_tuple);

#endif
