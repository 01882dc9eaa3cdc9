/* A few references on the C stack. */
#ifndef DL_VALUES_H
#define DL_VALUES_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum { DL_SMALL = 24 }; /* values kept on the C stack; more are allocated */

typedef struct {
    PyObject **items;
    Py_ssize_t n; /* of them are new references */
    PyObject *small[DL_SMALL];
} DlValues;

/* Room for n values: 0, or -1 with an error set. */
static inline int
dl_values_init(DlValues *values, Py_ssize_t n)
{
    values->n = 0;
    values->items = values->small;
    if (n > DL_SMALL) {
        values->items = PyMem_New(PyObject *, n);
        if (values->items == NULL) {
            values->items = values->small;
            PyErr_NoMemory();
            return -1;
        }
    }
    return 0;
}

/* Drop the values and the room. */
static inline void
dl_values_clear(DlValues *values)
{
    Py_ssize_t n = values->n;
    values->n = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_DECREF(values->items[i]);
    }
    if (values->items != values->small) {
        PyMem_Free(values->items);
        values->items = values->small;
    }
}

#endif
