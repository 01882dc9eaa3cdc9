/* What machine code does with lists (machine.c): reads and puts items, makes objects of bits, packs items into tuples.
 *
 * INVARIANT: what an iteration has appended stands at the end of a list, where a decline cuts it off; what it has put
 * elsewhere the journal knows.
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

PyObject *
dl_tagged_object(PyObject *table, int type, int64_t tag, int64_t bits)
{
    PyObject *object = Py_XNewRef(dl_objects_find(table, tag));
    if (object == NULL) {
        object = dl_make_object(type, bits);
        if (object != NULL && dl_objects_note(table, tag, object) < 0) {
            Py_CLEAR(object);
        }
    }
    return object;
}

int32_t
dl_append_tagged(PyObject *list, npy_intp type, PyObject *table, int64_t tag, int64_t bits)
{
    return dl_append_object(list, dl_tagged_object(table, (int)type, tag, bits));
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

int32_t
dl_object_number(PyObject *object, npy_intp of, int64_t *bits)
{
    int overflow = 0;
    switch (of) {
    case DL_READ_FLOAT:
        if (!PyFloat_CheckExact(object)) {
            return 1;
        }
        memcpy(bits, &((PyFloatObject *)object)->ob_fval, sizeof *bits);
        return 0;
    case DL_READ_INT:
        if (!PyLong_CheckExact(object)) {
            return 1;
        }
        *bits = PyLong_AsLongLongAndOverflow(object, &overflow);
        return overflow != 0;
    case DL_READ_BOOL:
        *bits = object == Py_True;
        return !PyBool_Check(object);
    case DL_READ_IS_FLOAT:
    case DL_READ_INT_ELSE:
    case DL_READ_FLOAT_ELSE:
        *bits = of == DL_READ_IS_FLOAT && PyFloat_CheckExact(object);
        if (PyFloat_CheckExact(object) ? of == DL_READ_FLOAT_ELSE : of == DL_READ_INT_ELSE) {
            return dl_object_number(object, of == DL_READ_INT_ELSE ? DL_READ_INT : DL_READ_FLOAT, bits);
        }
        return !PyFloat_CheckExact(object) && !PyLong_CheckExact(object);
    case DL_READ_LENGTH:
        *bits = PyList_CheckExact(object) ? PyList_GET_SIZE(object) : -1;
        return *bits < 0;
    }
    return 1;
}

int32_t
dl_list_number(PyObject *list, int64_t index, npy_intp of, int64_t *bits)
{
    if (!PyList_CheckExact(list)) {
        return 1;
    }
    index += index < 0 ? PyList_GET_SIZE(list) : 0;
    return (uint64_t)index >= (uint64_t)PyList_GET_SIZE(list) || dl_object_number(PyList_GET_ITEM(list, index), of, bits);
}

PyObject *
dl_list_part(DlJournal *journal, PyObject *list, Py_ssize_t first, Py_ssize_t last)
{
    Py_ssize_t n = PySlice_AdjustIndices(PyList_GET_SIZE(list), &first, &last, 1);
    PyObject *part = dl_journal_list(journal, n);
    for (Py_ssize_t i = 0; i < n && part != NULL; i++) {
        PyList_SET_ITEM(part, i, Py_NewRef(PyList_GET_ITEM(list, first + i)));
    }
    return part;
}

PyObject *
dl_list_joined(DlJournal *journal, PyObject *one, PyObject *other)
{
    Py_ssize_t n = PyList_GET_SIZE(one), m = PyList_GET_SIZE(other);
    PyObject *list = dl_journal_list(journal, n + m);
    for (Py_ssize_t i = 0; i < n + m && list != NULL; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(i < n ? PyList_GET_ITEM(one, i) : PyList_GET_ITEM(other, i - n)));
    }
    return list;
}

PyObject *
dl_list_filled(DlJournal *journal, PyObject *item, Py_ssize_t n)
{
    PyObject *list = dl_journal_list(journal, n < 0 ? 0 : n);
    for (Py_ssize_t i = 0; i < n && list != NULL; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(item));
    }
    return list;
}

int32_t
dl_list_store(DlJournal *journal, PyObject *list, int64_t index, PyObject *object)
{
    int failed = object == NULL || !PyList_CheckExact(list);
    index += !failed && index < 0 ? PyList_GET_SIZE(list) : 0;
    if (failed || (uint64_t)index >= (uint64_t)PyList_GET_SIZE(list) || dl_journal_change(journal, list, index)) {
        PyErr_Clear();
        Py_XDECREF(object);
        return 1;
    }
    PyObject *old = PyList_GET_ITEM(list, index);
    PyList_SET_ITEM(list, index, object);
    Py_DECREF(old);
    return 0;
}
