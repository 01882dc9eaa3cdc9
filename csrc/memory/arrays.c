/* Fresh arrays without NumPy's general constructor, which works out strides, flags and classes anew for each: on arrays of a
 * few elements that takes longer than arithmetic does.
 *
 * What is made here is what PyArray_NewFromDescr() makes, field by field: memory from the handler in force (NEP 49), traced
 * like NumPy's, sizes and strides in one block of PyArray_malloc's, which array_dealloc() puts into NumPy's own cache. At
 * import one array of each kind is compared; where NumPy's differs, or a NumPy that is not known runs, it makes all of them.
 */
#include "arrays.h"

enum {
    TRACED = 389047,      /* NumPy's domain of tracemalloc (NPY_TRACE_DOMAIN of its alloc.h) */
    LAST_KNOWN = 0x16,    /* the C API of NumPy 2.5 */
};

static int direct; /* NumPy's arrays are as this file makes them */

/* NumPy's own way. */
static PyObject *
ask_numpy(PyArray_Descr *descr, int nd, const npy_intp *shape)
{
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, nd, shape, NULL, NULL, 0, NULL);
}

/* Memory of `bytes` from that handler, NULL where there is none. */
static inline void *
take_data(PyObject *capsule, size_t bytes)
{
    PyDataMem_Handler *handler = PyCapsule_GetPointer(capsule, "mem_handler");
    if (handler == NULL) {
        PyErr_Clear();
        return NULL;
    }
    void *data = handler->allocator.malloc(handler->allocator.ctx, bytes);
    if (data != NULL && PyTraceMalloc_Track(TRACED, (uintptr_t)data, bytes) == -1) {
        handler->allocator.free(handler->allocator.ctx, data, bytes);
        data = NULL;
    }
    return data;
}

/* The array, whose memory that handler gives; NULL (no error set) where it is short. */
static inline PyObject *
make(PyObject *capsule, PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp size)
{
    PyArrayObject_fields *array = PyObject_New(PyArrayObject_fields, &PyArray_Type);
    npy_intp *dims = array ? PyArray_malloc(2 * (size_t)nd * sizeof *dims) : NULL;
    npy_intp stride = PyDataType_ELSIZE(descr);
    char *data = dims ? take_data(capsule, (size_t)(size * stride)) : NULL;
    if (data == NULL) {
        PyArray_free(dims);
        PyObject_Free(array);
        PyErr_Clear();
        return NULL;
    }
    int n_long = 0; /* axes of more than one element */
    for (int axis = nd - 1; axis >= 0; axis--) {
        dims[axis] = shape[axis];
        dims[nd + axis] = stride;
        stride *= shape[axis];
        n_long += shape[axis] != 1;
    }
    Py_INCREF(descr);
    array->data = data;
    array->nd = nd;
    array->dimensions = dims;
    array->strides = dims + nd;
    array->base = NULL;
    array->descr = descr;
    array->flags = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_OWNDATA | NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE
                   | (n_long <= 1 ? NPY_ARRAY_F_CONTIGUOUS : 0);
    array->weakreflist = NULL;
    array->_buffer_info = NULL;
    array->mem_handler = Py_NewRef(capsule);
    return (PyObject *)array;
}

PyObject *
dl_array_try(PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp size)
{
    PyObject *capsule = PyDataMem_GetHandler(), *array = NULL;
    if (capsule == PyDataMem_DefaultHandler && capsule != NULL) {
        int small = nd > 0 && size > 0 && size < DL_ARRAY_SMALL;
        array = direct && small ? make(capsule, descr, nd, shape, size) : ask_numpy(descr, nd, shape);
    }
    if (array == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(capsule);
    return array;
}

PyObject *
dl_array_make(PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp size)
{
    PyObject *array = dl_array_try(descr, nd, shape, size);
    return array != NULL ? array : ask_numpy(descr, nd, shape);
}

/* Whether an array is as NumPy makes it; -1 with an error set. */
static int
is_same(int type, int nd, const npy_intp *shape, npy_intp size)
{
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    PyArrayObject_fields *theirs = descr ? (PyArrayObject_fields *)ask_numpy(descr, nd, shape) : NULL;
    PyArrayObject_fields *ours = theirs && theirs->mem_handler ? (PyArrayObject_fields *)make(theirs->mem_handler, descr, nd, shape, size) : NULL;
    int same = -1;
    if (ours != NULL) {
        same = ours->flags == theirs->flags && ours->nd == theirs->nd && ours->descr == theirs->descr
               && ours->base == theirs->base && ours->mem_handler == theirs->mem_handler
               && ours->weakreflist == theirs->weakreflist && ours->_buffer_info == theirs->_buffer_info
               && theirs->strides == theirs->dimensions + nd
               && memcmp(ours->dimensions, theirs->dimensions, 2 * (size_t)nd * sizeof *shape) == 0;
    }
    else if (theirs != NULL) {
        same = 0;
    }
    Py_XDECREF(ours);
    Py_XDECREF(theirs);
    Py_XDECREF(descr);
    return same;
}

PyObject *
dl_arrays_of_length(int type, int nd, const npy_intp *shape, const npy_intp *length)
{
    npy_intp whole[NPY_MAXDIMS];
    memcpy(whole, shape, (size_t)nd * sizeof *whole);
    if (length != NULL) {
        whole[0] = *length;
    }
    return PyArray_SimpleNew(nd, whole, type);
}

int
dl_arrays_register(void)
{
    static const npy_intp matrix[] = {2, 3}, row[] = {1, 3}, vector[] = {5}, cube[] = {2, 1, 4}, one[] = {1};
    PyTypeObject *type = &PyArray_Type;
    if (PyArray_GetNDArrayCFeatureVersion() > LAST_KNOWN || type->tp_basicsize != sizeof(PyArrayObject_fields)
        || type->tp_alloc != PyType_GenericAlloc || type->tp_free != PyObject_Free || PyType_IS_GC(type)
        || (type->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        return 0;
    }
    const struct {
        int type, nd;
        const npy_intp *shape;
        npy_intp size;
    } probes[] = {{NPY_DOUBLE, 2, matrix, 6}, {NPY_INT32, 2, row, 3},  {NPY_BOOL, 1, vector, 5},
                  {NPY_CFLOAT, 3, cube, 8},   {NPY_DOUBLE, 1, one, 1}};
    int same = 1;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(probes) && same > 0; i++) {
        same = is_same(probes[i].type, probes[i].nd, probes[i].shape, probes[i].size);
    }
    direct = same > 0;
    return same < 0 ? -1 : 0;
}
