/* Jump and Continuation: how residual code says where to go on. */
#ifndef DL_JUMP_H
#define DL_JUMP_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* A resume function, or its code, and its arguments. */
typedef struct {
    PyObject_VAR_HEAD
    PyObject *target;
    PyObject *args[]; /* strong references */
} DlContinuation;

extern PyTypeObject dl_continuation_type;

#endif
