/* What machine code does with lists (machine.c): appends to them, makes objects of bits, packs items into tuples.
 *
 * INVARIANT: what an iteration has appended stands at the end of a list, where a decline cuts it off.
 */
#include "machine_lists.h"

#include "objects.h"

PyObject *
dl_make_object(int type, int64_t bits)
{
    double real;
    switch (type) {
    case DL_PYTHON_INT:
        return PyLong_FromLongLong(bits);
    case DL_PYTHON_FLOAT:
        memcpy(&real, &bits, sizeof real);
        return PyFloat_FromDouble(real);
    case DL_PYTHON_BOOL:
        return PyBool_FromLong(bits != 0);
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    PyObject *object = descr ? PyArray_Scalar(&bits, descr, NULL) : NULL;
    Py_XDECREF(descr);
    return object;
}

int32_t
dl_append_object(PyObject *list, PyObject *object)
{
    if (object == NULL || PyList_Append(list, object) < 0) {
        PyErr_Clear();
        Py_XDECREF(object);
        return 1;
    }
    Py_DECREF(object);
    return 0;
}

int32_t
dl_append_number(PyObject *list, npy_intp type, int64_t bits)
{
    return dl_append_object(list, dl_make_object((int)type, bits));
}

int32_t
dl_append_tagged(PyObject *list, npy_intp type, PyObject *table, int64_t tag, int64_t bits)
{
    PyObject *object = Py_XNewRef(dl_objects_find(table, tag));
    if (object == NULL) {
        object = dl_make_object((int)type, bits);
        if (object != NULL && dl_objects_note(table, tag, object) < 0) {
            Py_CLEAR(object);
        }
    }
    return dl_append_object(list, object);
}

int32_t
dl_append_held(PyObject *list, PyObject *object)
{
    return dl_append_object(list, Py_NewRef(object));
}

int32_t
dl_append_pack(PyObject *list, npy_intp n, npy_intp is_tuple)
{
    Py_ssize_t first = PyList_GET_SIZE(list) - (Py_ssize_t)n;
    PyObject *packed = PyList_GetSlice(list, first, PyList_GET_SIZE(list));
    if (packed != NULL && is_tuple) {
        Py_SETREF(packed, PyList_AsTuple(packed));
    }
    if (packed == NULL || PyList_SetSlice(list, first, PyList_GET_SIZE(list), NULL) < 0) {
        PyErr_Clear();
        Py_XDECREF(packed);
        return 1;
    }
    return dl_append_object(list, packed);
}
