/* Columns of arrays: the arrays that all objects of a list have under one name, as one array of their elements.
 *
 * [Ball(pos=array([1., 2.])), Ball(pos=array([3., 4.]))] under "lapos;v" gives [[1., 2.], [3., 4.]]. The base of the
 * column is a tuple of the list, of what the elements were, and of the arrays, in this order (columns.c); what a program
 * has left in the column, `dl_array_column_put` copies into them.
 */
#include "numpy_api.h"

#include "array_columns.h"
#include "frame/pyframe.h"
#include "program/geometry.h"

enum { MOST = 256 }; /* elements of an array: of more it is as well to have the arrays one by one */

/* Whether an object is an array of plain numbers as a new one is, that may be written to, with some axes. */
static int
is_plain(PyObject *object)
{
    if (object == NULL || !PyArray_CheckExact(object)) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    int type = PyArray_TYPE(array), nd = PyArray_NDIM(array);
    if ((type != NPY_DOUBLE && type != NPY_FLOAT && type != NPY_LONG && type != NPY_BOOL && type != NPY_CDOUBLE)
        || !dl_numpy_plain(PyArray_DESCR(array)) || nd < 1 || nd > 3 || PyArray_SIZE(array) < 1 || PyArray_SIZE(array) > MOST
        || !PyArray_ISALIGNED(array) || !PyArray_ISWRITEABLE(array)
        || PyArray_CHKFLAGS(array, NPY_ARRAY_WRITEBACKIFCOPY)) {
        return 0;
    }
    npy_intp stride = PyArray_ITEMSIZE(array); /* NB: along an axis of size 1, too */
    for (int axis = nd - 1; axis >= 0; axis--) {
        if (PyArray_STRIDE(array, axis) != stride) {
            return 0;
        }
        stride *= PyArray_DIM(array, axis);
    }
    return 1;
}

/* Whether an array is as the first one. */
static int
is_alike(PyObject *object, PyArrayObject *first)
{
    return is_plain(object) && PyArray_DESCR((PyArrayObject *)object) == PyArray_DESCR(first)
           && PyArray_NDIM((PyArrayObject *)object) == PyArray_NDIM(first)
           && PyArray_CompareLists(PyArray_DIMS((PyArrayObject *)object), PyArray_DIMS(first), PyArray_NDIM(first));
}

PyObject *
dl_array_column_make(PyObject *list, PyObject *arrays)
{
    Py_ssize_t count = PyTuple_GET_SIZE(arrays);
    if (count == 0 || !is_plain(PyTuple_GET_ITEM(arrays, 0))) {
        return NULL;
    }
    PyArrayObject *first = (PyArrayObject *)PyTuple_GET_ITEM(arrays, 0);
    for (Py_ssize_t i = 1; i < count; i++) {
        if (!is_alike(PyTuple_GET_ITEM(arrays, i), first)) {
            return NULL;
        }
    }
    npy_intp shape[4] = {count};
    memcpy(shape + 1, PyArray_DIMS(first), (size_t)PyArray_NDIM(first) * sizeof *shape);
    PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)PyArray_DESCR(first));
    PyArrayObject *made = (PyArrayObject *)PyArray_Empty(1 + PyArray_NDIM(first), shape, descr, 0);
    if (made == NULL) {
        return NULL;
    }
    size_t size = (size_t)PyArray_NBYTES(first);
    for (Py_ssize_t i = 0; i < count; i++) {
        memcpy(PyArray_BYTES(made) + (size_t)i * size, PyArray_BYTES((PyArrayObject *)PyTuple_GET_ITEM(arrays, i)), size);
    }
    PyObject *base = Py_BuildValue("(Oy#O)", list, PyArray_BYTES(made), (Py_ssize_t)(size * (size_t)count), arrays);
    if (base == NULL || PyArray_SetBaseObject(made, base) < 0) {
        Py_DECREF(made);
        return NULL;
    }
    return (PyObject *)made;
}

/* The arrays of which a column is, borrowed; NULL of another array. */
static PyObject *
arrays_of(PyArrayObject *column)
{
    PyObject *base = PyArray_BASE(column);
    if (base == NULL || !PyTuple_CheckExact(base) || PyTuple_GET_SIZE(base) != 3
        || !PyBytes_CheckExact(PyTuple_GET_ITEM(base, 1)) || !PyTuple_CheckExact(PyTuple_GET_ITEM(base, 2))
        || PyArray_NDIM(column) < 2 || PyTuple_GET_SIZE(PyTuple_GET_ITEM(base, 2)) != PyArray_DIM(column, 0)) {
        return NULL;
    }
    PyObject *arrays = PyTuple_GET_ITEM(base, 2);
    return PyTuple_GET_SIZE(arrays) > 0 && PyArray_CheckExact(PyTuple_GET_ITEM(arrays, 0)) ? arrays : NULL;
}

int
dl_array_column_put(PyObject *column)
{
    PyObject *arrays = PyArray_CheckExact(column) ? arrays_of((PyArrayObject *)column) : NULL;
    if (arrays == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "dynamo_lite: no column of arrays");
        return -1;
    }
    PyObject *before = PyTuple_GET_ITEM(PyArray_BASE((PyArrayObject *)column), 1);
    const char *now = PyArray_BYTES((PyArrayObject *)column), *was = PyBytes_AS_STRING(before);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
        PyArrayObject *array = (PyArrayObject *)PyTuple_GET_ITEM(arrays, i);
        size_t size = (size_t)PyArray_NBYTES(array);
        if (memcmp(now, was, size) != 0) { /* NB: what was not written another thread may have changed meanwhile */
            memcpy(PyArray_BYTES(array), now, size);
        }
        now += size;
        was += size;
    }
    return 0;
}

static int
ascending(const void *one, const void *other)
{
    const char *a = ((const DlBytes *)one)->low, *b = ((const DlBytes *)other)->low;
    return (a > b) - (a < b);
}

/* Note the bytes of an array, or of those of which it is a column. */
static Py_ssize_t
note(DlBytes *bytes, Py_ssize_t count, PyArrayObject *array)
{
    PyObject *arrays = arrays_of(array);
    if (arrays == NULL) {
        bytes[count] = dl_bytes_of_array(array);
        return count + (bytes[count].low != bytes[count].high);
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(arrays); i++) {
        bytes[count++] = dl_bytes_of_array((PyArrayObject *)PyTuple_GET_ITEM(arrays, i));
    }
    return count;
}

/* How many arrays one stands for. */
static Py_ssize_t
count_of(PyArrayObject *array)
{
    PyObject *arrays = arrays_of(array);
    return arrays == NULL ? 1 : PyTuple_GET_SIZE(arrays);
}

int
dl_array_columns_are_apart(PyObject *one, PyObject *other)
{
    if (!PyArray_Check(one) || !PyArray_Check(other)) {
        return 0;
    }
    PyArrayObject *a = (PyArrayObject *)one, *b = (PyArrayObject *)other;
    DlBytes *bytes = PyMem_Malloc((size_t)(count_of(a) + count_of(b)) * sizeof *bytes);
    if (bytes == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    Py_ssize_t count = note(bytes, 0, a);
    if (other != one) {
        count = note(bytes, count, b);
    }
    int is_sorted = 1, are_apart = 1;
    for (Py_ssize_t i = 1; i < count && is_sorted; i++) {
        is_sorted = bytes[i - 1].low <= bytes[i].low;
    }
    if (!is_sorted) {
        qsort(bytes, (size_t)count, sizeof *bytes, ascending);
    }
    for (Py_ssize_t i = 1; i < count && are_apart; i++) {
        are_apart = bytes[i - 1].high <= bytes[i].low;
    }
    PyMem_Free(bytes);
    return are_apart;
}
