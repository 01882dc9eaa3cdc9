/* Fresh arrays of a few elements, made without NumPy's general constructor (see arrays.c). */
#ifndef DL_ARRAYS_H
#define DL_ARRAYS_H

#include "numpy_api.h"

enum { DL_ARRAY_SMALL = 4096 }; /* elements from which on NumPy makes the array: it may ask for huge pages */

/* A fresh array in C order of plain numbers, not initialised, of `size` elements in all: a new reference, or NULL with an
 * error set. try: NULL (no error set) where only another allocator than NumPy's default one may make it, or there is no
 * memory; no Python code runs. */
PyObject *dl_array_try(PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp size);
PyObject *dl_array_make(PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp size);

/* See whether this NumPy's arrays are as they are made here: 0, or -1 with an error set. */
int dl_arrays_register(void);

#endif
