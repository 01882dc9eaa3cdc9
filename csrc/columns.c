/* Columns of nested lists and tuples: the numbers at one path through all items, as one array.
 *
 * A path is a text, one letter a level: "l" goes through an exact list and "t" through an exact tuple, of whatever
 * length; "p", a digit n and a digit k, takes item k of an exact tuple of n. What follows is "f" or "i", an exact float
 * or an exact int that fits 64 bits, or "n" and one letter more: then the column holds where each list ("nl") or tuple
 * ("nt") begins in the column one level below, and in the end how long that is.
 *
 *     [[1, 2], [], [3]]:  "lli" gives [1, 2, 3], "lnl" gives [0, 2, 2, 3]
 */
#include "numpy_api.h"

#include "columns.h"

/* A column that grows. Both kinds of elements take 8 bytes. */
typedef struct {
    int64_t *items;
    npy_intp count, room;
    int64_t total; /* of lengths so far */
} Column;

/* Room for `more` items: 1, or -1 with MemoryError. */
static int
reserve(Column *column, npy_intp more)
{
    if (more <= column->room - column->count) {
        return 1;
    }
    npy_intp room = column->count + more > 2 * column->room ? column->count + more : 2 * column->room;
    int64_t *items = PyMem_Realloc(column->items, (size_t)room * sizeof(int64_t));
    if (items == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    column->items = items;
    column->room = room;
    return 1;
}

/* Whether `object` is an exact list ("l") or an exact tuple ("t"). */
static int
is_a(char kind, PyObject *object)
{
    return kind == 'l' ? PyList_CheckExact(object) : PyTuple_CheckExact(object);
}

/* Append the number of `object`, for which there is room: 1, or 0 where it is of another type. */
static int
append_number(Column *column, PyObject *object, char kind)
{
    if (kind == 'f') {
        if (!PyFloat_CheckExact(object)) {
            return 0;
        }
        memcpy(&column->items[column->count++], &((PyFloatObject *)object)->ob_fval, sizeof(double));
        return 1;
    }
    int overflow = 0;
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    column->items[column->count++] = PyLong_AsLongLongAndOverflow(object, &overflow);
    return overflow == 0;
}

/* Append what is at `path` in `object`: 1; 0 where that is made otherwise, -1 with MemoryError. Runs no Python code. */
static int
append(Column *column, PyObject *object, const char *path)
{
    switch (path[0]) {
    case 'p':
        if (!PyTuple_CheckExact(object) || PyTuple_GET_SIZE(object) != path[1] - '0') {
            return 0;
        }
        return append(column, PyTuple_GET_ITEM(object, path[2] - '0'), path + 3);
    case 'n':
        if (!is_a(path[1], object)) {
            return 0;
        }
        column->total += Py_SIZE(object);
        break;
    case 'l':
    case 't': {
        if (!is_a(path[0], object)) {
            return 0;
        }
        PyObject **items = PySequence_Fast_ITEMS(object); /* NULL of an empty list */
        Py_ssize_t count = Py_SIZE(object);
        int is_last = path[1] == 'f' || path[1] == 'i', status = reserve(column, count);
        for (Py_ssize_t i = 0; i < count && status == 1; i++) {
            status = is_last ? append_number(column, items[i], path[1]) : append(column, items[i], path + 1);
        }
        return status;
    }
    default:
        if (reserve(column, 1) < 0) {
            return -1;
        }
        return append_number(column, object, path[0]);
    }
    if (reserve(column, 1) < 0) {
        return -1;
    }
    column->items[column->count++] = column->total;
    return 1;
}

int
dl_columns_is_path(PyObject *object)
{
    const char *path = PyUnicode_CheckExact(object) ? PyUnicode_AsUTF8(object) : NULL;
    if (path == NULL || (path[0] != 'l' && path[0] != 't')) {
        PyErr_Clear();
        return 0;
    }
    while (path[0] == 'l' || path[0] == 't' || path[0] == 'p') {
        if (path[0] == 'p') {
            if (path[1] < '1' || path[1] > '9' || path[2] < '0' || path[2] >= path[1]) {
                return 0;
            }
            path += 2;
        }
        path++;
    }
    if (path[0] == 'n') {
        return (path[1] == 'l' || path[1] == 't') && path[2] == 0;
    }
    return (path[0] == 'f' || path[0] == 'i') && path[1] == 0;
}

PyObject *
dl_columns_make(PyObject *object, PyObject *path)
{
    const char *text = PyUnicode_AsUTF8(path);
    if (text == NULL) {
        return NULL;
    }
    Column column = {0};
    size_t length = strlen(text);
    int is_offsets = length > 2 && text[length - 2] == 'n';
    int status = reserve(&column, 1);
    if (status == 1 && is_offsets) {
        column.items[column.count++] = 0;
    }
    status = status == 1 ? append(&column, object, text) : status;
    PyObject *array = NULL;
    if (status == 1) {
        array = PyArray_SimpleNew(1, &column.count, text[length - 1] == 'f' ? NPY_DOUBLE : NPY_INT64);
    }
    if (array != NULL) {
        memcpy(PyArray_DATA((PyArrayObject *)array), column.items, (size_t)column.count * sizeof(int64_t));
        PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
        if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(object)) < 0) {
            Py_CLEAR(array);
        }
    }
    PyMem_Free(column.items);
    return array;
}

int
dl_columns_are_equal(PyObject *one, PyObject *other)
{
    if (!PyArray_CheckExact(one) || !PyArray_CheckExact(other)) {
        return 0;
    }
    PyArrayObject *a = (PyArrayObject *)one, *b = (PyArrayObject *)other;
    PyObject *base = PyArray_BASE(a);
    if (base == NULL || base != PyArray_BASE(b) || (!PyList_CheckExact(base) && !PyTuple_CheckExact(base))) {
        return 0;
    }
    return PyArray_DESCR(a)->type_num == PyArray_DESCR(b)->type_num && PyArray_SIZE(a) == PyArray_SIZE(b)
           && memcmp(PyArray_DATA(a), PyArray_DATA(b), (size_t)PyArray_NBYTES(a)) == 0;
}
