/* What is made for good is set apart from the garbage collector (apart.c). */
#ifndef DL_APART_H
#define DL_APART_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Add set_apart() to module: 0, or -1 with an error set. */
int dl_apart_register(PyObject *module);

#endif
