/* Values that guards compare by what they are (see guards.h). */
#include "abi.h"
#include "guards.h"

/* Whether two constants are interchangeable: same exact types, same bits; anything else only if identical. Tuples in
 * tuples are looked into `depth` levels deep, so that the C stack does not grow with the user's data. */
static int
equal_within(PyObject *a, PyObject *b, int depth)
{
    if (a == b) {
        return 1;
    }
    if (depth == 0) {
        return 0;
    }
    PyTypeObject *type = Py_TYPE(a);
    if (type != Py_TYPE(b)) {
        return 0;
    }
    if (type == &PyFloat_Type) {
        double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (type == &PyComplex_Type) {
        Py_complex x = ((PyComplexObject *)a)->cval, y = ((PyComplexObject *)b)->cval;
        return memcmp(&x, &y, sizeof x) == 0;
    }
    if (type == &PyLong_Type || type == &PyUnicode_Type || type == &PyBytes_Type) {
        return PyObject_RichCompareBool(a, b, Py_EQ); /* C code for exact types */
    }
    if (type == &PyTuple_Type) {
        Py_ssize_t n = PyTuple_GET_SIZE(a);
        for (Py_ssize_t i = 0; i < n; i++) {
            if (n != PyTuple_GET_SIZE(b) || !equal_within(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i), depth - 1)) {
                return 0;
            }
        }
        return n == PyTuple_GET_SIZE(b);
    }
    if (type == &PyList_Type) { /* NB: a table, which holds such values alone: no code runs that could change it */
        Py_ssize_t n = PyList_GET_SIZE(a);
        for (Py_ssize_t i = 0; i < n; i++) {
            if (n != PyList_GET_SIZE(b) || !equal_within(PyList_GET_ITEM(a, i), PyList_GET_ITEM(b, i), depth - 1)) {
                return 0;
            }
        }
        return n == PyList_GET_SIZE(b);
    }
    if (type == &PySlice_Type) {
        PySliceObject *x = (PySliceObject *)a, *y = (PySliceObject *)b;
        return equal_within(x->start, y->start, depth - 1) && equal_within(x->stop, y->stop, depth - 1)
               && equal_within(x->step, y->step, depth - 1);
    }
    return 0;
}

int
dl_constants_equal(PyObject *a, PyObject *b)
{
    return equal_within(a, b, DL_EQUAL_DEPTH);
}
