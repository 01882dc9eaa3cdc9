/* Objects whose death nobody can notice. */
#include "quiet.h"

#include "numpy_api.h"

enum { DEPTH = 2, ITEMS = 256 }; /* of what guards look through */

int
dl_quiet_dies(PyObject *object, int depth, Py_ssize_t *room)
{
    if (object == NULL || object == Py_None || PyLong_CheckExact(object) || PyFloat_CheckExact(object)
        || PyBool_Check(object) || PyArray_CheckExact(object) || PyUnicode_CheckExact(object)
        || PyComplex_CheckExact(object) || PyBytes_CheckExact(object) || PyArray_IsScalar(object, Generic)) {
        return 1;
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
