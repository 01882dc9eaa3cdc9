/* What a table of terms needs of C (terms.c). */
#ifndef DL_TERMS_H
#define DL_TERMS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Add forget_term() to module: 0, or -1 with an error set. */
int dl_terms_register(PyObject *module);

#endif
