/* The __init__ of a class of fields (fields.c). */
#ifndef DL_FIELDS_H
#define DL_FIELDS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Add the type Init to module: 0, or -1 with an error set. */
int dl_fields_register(PyObject *module);

#endif
