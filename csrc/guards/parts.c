/* Parts: whether one array lies where a part of another one does, as the guard "part" asks, or shows none of its
 * memory, as the guard "disjoint" asks. */
#include "guards_table.h"

#include "program/geometry.h"

int
dl_guards_part_index(PyObject *index)
{
    if (!PyTuple_CheckExact(index)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(index); i++) {
        PyObject *entry = PyTuple_GET_ITEM(index, i);
        if (PyLong_CheckExact(entry)) {
            continue;
        }
        if (!PySlice_Check(entry)) {
            return 0;
        }
        const PySliceObject *slice = (PySliceObject *)entry;
        PyObject *const bounds[] = {slice->start, slice->stop, slice->step};
        for (int k = 0; k < 3; k++) {
            if (bounds[k] != Py_None && !PyLong_CheckExact(bounds[k])) {
                return 0;
            }
        }
    }
    return 1;
}

int
dl_guards_is_part(PyObject *part, PyObject *whole, PyObject *index)
{
    if (part == whole || !PyArray_CheckExact(part) || !PyArray_CheckExact(whole)) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)part, *all = (PyArrayObject *)whole;
    if (PyTuple_GET_SIZE(index) != PyArray_NDIM(all) || PyArray_SIZE(array) == 0) {
        return 0;
    }
    const char *first = PyArray_BYTES(all);
    int axis = 0; /* of the part */
    for (int i = 0; i < PyArray_NDIM(all); i++) {
        PyObject *entry = PyTuple_GET_ITEM(index, i);
        npy_intp size = PyArray_DIM(all, i), stride = PyArray_STRIDE(all, i);
        Py_ssize_t start, stop, step = 1;
        if (PyLong_CheckExact(entry)) {
            start = PyLong_AsSsize_t(entry);
            if (start < -size || start >= size) {
                PyErr_Clear();
                return 0;
            }
            start += start < 0 ? size : 0;
        }
        else {
            if (PySlice_Unpack(entry, &start, &stop, &step) < 0) {
                PyErr_Clear(); /* a step of 0 */
                return 0;
            }
            Py_ssize_t count = PySlice_AdjustIndices(size, &start, &stop, step);
            if (axis >= PyArray_NDIM(array) || PyArray_DIM(array, axis) != count
                || PyArray_STRIDE(array, axis) != stride * step) {
                return 0;
            }
            axis++;
        }
        first += start * stride;
    }
    return axis == PyArray_NDIM(array) && PyArray_BYTES(array) == first;
}

int
dl_guards_are_disjoint(PyObject *one, PyObject *other)
{
    if (!PyArray_CheckExact(one) || !PyArray_CheckExact(other)) {
        return 0;
    }
    return !dl_bytes_meet(dl_bytes_of_array((PyArrayObject *)one), dl_bytes_of_array((PyArrayObject *)other));
}
