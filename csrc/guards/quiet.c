/* Objects whose death nobody can notice. */
#include "quiet.h"

#include "numpy_api.h"

enum { DEPTH = 2, ITEMS = 256 }; /* of what guards look through */

enum { BASES = 8 }; /* arrays that show one another's memory */

/* Whether nobody has a weak reference to an array, which holds no objects, nor to those that lend it their memory. */
static int
array_dies_quietly(PyObject *object)
{
    for (int i = 0; i < BASES; i++) {
        if (object == NULL || PyBytes_CheckExact(object)) {
            return 1;
        }
        if (!PyArray_CheckExact(object) || *PyObject_GET_WEAKREFS_LISTPTR(object) != NULL
            || PyDataType_REFCHK(PyArray_DESCR((PyArrayObject *)object))) {
            return 0;
        }
        object = PyArray_BASE((PyArrayObject *)object);
    }
    return 0;
}

/* Whether it is a scalar of a class of NumPy's own that holds no objects. */
static int
is_plain_scalar(PyObject *object)
{
    return PyArray_IsScalar(object, Generic) && !PyArray_IsScalar(object, Void)
           && !(Py_TYPE(object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
}

int
dl_quiet_dies(PyObject *object, int depth, Py_ssize_t *room)
{
    if (object == NULL || object == Py_None || PyLong_CheckExact(object) || PyFloat_CheckExact(object)
        || PyBool_Check(object) || PyUnicode_CheckExact(object) || PyComplex_CheckExact(object)
        || PyBytes_CheckExact(object) || is_plain_scalar(object)) {
        return 1;
    }
    if (PyArray_CheckExact(object)) {
        return array_dies_quietly(object);
    }
    if (!(PyList_CheckExact(object) || PyTuple_CheckExact(object)) || depth == 0) {
        return 0;
    }
    if (room != NULL && (*room -= PySequence_Fast_GET_SIZE(object)) < 0) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object); i++) {
        if (!dl_quiet_dies(PySequence_Fast_GET_ITEM(object, i), depth - 1, room)) {
            return 0;
        }
    }
    return 1;
}

int
dl_quiet_is_short(PyObject *object)
{
    Py_ssize_t room = ITEMS;
    return dl_quiet_dies(object, DEPTH, &room);
}
