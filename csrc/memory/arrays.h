/* Fresh arrays of a few elements, made without NumPy's general constructor (see arrays.c). */
#ifndef DL_ARRAYS_H
#define DL_ARRAYS_H

#include "numpy_api.h"

enum { DL_ARRAY_SMALL = 4096 }; /* elements from which on NumPy makes the array: it may ask for huge pages */

/* A fresh array in C order of plain numbers, not initialised, of dl_array_count(nd, shape) elements: a new reference, or NULL with an
 * error set. try: NULL (no error set) where only another allocator than NumPy's default one may make it, or there is no
 * memory; no Python code runs. */
PyObject *dl_array_try(PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp size);
PyObject *dl_array_make(PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp size);

/* How many elements there are, DL_ARRAY_SMALL where these are as many or more. */
static inline npy_intp
dl_array_count(int nd, const npy_intp *shape)
{
    npy_intp size = 1;
    for (int axis = 0; axis < nd; axis++) {
        if (shape[axis] <= 0) {
            return 0;
        }
        size = shape[axis] < DL_ARRAY_SMALL ? size * shape[axis] : DL_ARRAY_SMALL;
        size = size < DL_ARRAY_SMALL ? size : DL_ARRAY_SMALL;
    }
    return size;
}

/* Whether NumPy scalars of that dtype are an object's head and then the value, made anew each time (bools are not). */
static inline int
dl_scalar_is_direct(const PyArray_Descr *descr)
{
    int n = descr->type_num;
    return (n > NPY_BOOL && n <= NPY_ULONGLONG) || n == NPY_FLOAT || n == NPY_DOUBLE;
}

/* The value of such a scalar, whose type is that of descr. */
static inline void *
dl_scalar_value(PyObject *scalar)
{
    return &((PyDoubleScalarObject *)scalar)->obval; /* NB: none of these types is aligned otherwise */
}

/* What PyArray_Scalar() gives for a builtin dtype: a new reference, or NULL with an error set. */
static inline PyObject *
dl_scalar_make(PyArray_Descr *descr, const void *value)
{
    if (!dl_scalar_is_direct(descr)) {
        return PyArray_Scalar((void *)value, descr, NULL);
    }
    PyObject *scalar = descr->typeobj->tp_alloc(descr->typeobj, 0);
    if (scalar != NULL) {
        memcpy(dl_scalar_value(scalar), value, (size_t)PyDataType_ELSIZE(descr));
    }
    return scalar;
}

/* An array of unset elements of a builtin dtype, in C order: of that shape, but for its length if one is given. A new
   reference, or NULL with an error set. */
PyObject *dl_arrays_of_length(int type, int nd, const npy_intp *shape, const npy_intp *length);

/* See whether this NumPy's arrays are as they are made here: 0, or -1 with an error set. */
int dl_arrays_register(void);

#endif
