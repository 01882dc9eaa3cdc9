/* Objects that the garbage collector never visits (freeze.c). */
#ifndef DL_FREEZE_H
#define DL_FREEZE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Add freeze_made_by() to module: 0, or -1 with an error set. */
int dl_freeze_register(PyObject *module);

#endif
