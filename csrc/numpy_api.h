/* NumPy's C API for every file of the native side: one import, one table. */
#ifndef DL_NUMPY_API_H
#define DL_NUMPY_API_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL dl_numpy_array_api
#ifndef DL_NUMPY_API_OWNER
#define NO_IMPORT_ARRAY
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>

/* Import NumPy's C API once; 0, or -1 with an error set. Every register function calls it before it uses the API. */
int dl_numpy_import(void);

/* Whether values of this dtype are plain numbers that kernels handle: native order, no metadata, no fields. */
static inline int
dl_numpy_plain(PyArray_Descr *descr)
{
    int n = descr->type_num;
    int known = n <= NPY_ULONGLONG || n == NPY_FLOAT || n == NPY_DOUBLE || n == NPY_CFLOAT || n == NPY_CDOUBLE
                || n == NPY_HALF;
    return known && PyArray_ISNBO(descr->byteorder) && ((_PyArray_LegacyDescr *)descr)->metadata == NULL;
}

#endif
