/* Columns of nested lists and tuples: the numbers at one path through all items, as one array.
 *
 * A path is a text, one letter a level: "l" goes through an exact list and "t" through an exact tuple, of whatever
 * length; "p", a digit n and a digit k, takes item k of an exact tuple of n. What follows is "f" or "i", an exact float
 * or an exact int that fits 64 bits, "r" or "j", the real or the imaginary part of an exact complex number, "d", "q" or
 * "D", an exact np.float64, np.int64 or np.complex128, or "n" and one letter more: then the column holds where each list
 * ("nl") or tuple ("nt") begins in the column one level below, and in the end how long that is.
 *
 *     [[1, 2], [], [3]]:  "lli" gives [1, 2, 3], "lnl" gives [0, 2, 2, 3]
 *
 * Or it ends in an attribute, "a", its name, ";" and a letter: objects of one class lie there, and each has a number of its
 * own under that name, a float ("f"), an int ("i") or a bool ("b"). The letter "m" gives a 0 for each object instead, and
 * "@", or "A", the tag of the number as the object that it is (objects.c); where there are floats and ints, "F" gives the floats (and 0
 * for an int), "I" the ints, and "k" 1 for a float. "o" is
 * for objects of which there are few, strings say: the path is a tuple then, of such a text and of the objects, and the
 * column says which of these each one is. "v" is for arrays (array_columns.c). The array may be written to: dl_columns_put stores
 * what a program has left there into the objects.
 *
 *     [Point(1.0, 2.0), Point(3.0, 4.0)]:  "lax;f" gives [1.0, 3.0]
 */
#include "numpy_api.h"

#include "array_columns.h"
#include "columns.h"
#include "program/objects.h"
#include "frame/pyframe.h"

/* A column that grows. All kinds of elements take 8 bytes, but np.complex128 two places of these. */
typedef struct {
    int64_t *items;
    npy_intp count, room;
    int64_t total; /* of lengths so far */
} Column;

/* The attribute at which a path ends. */
typedef struct {
    PyObject *name; /* owned */
    char kind;
} End;

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

/* Whether a letter stands for numbers. */
static int
is_number(char kind)
{
    return kind != 0 && strchr("firjdqD", kind) != NULL;
}

/* How many places an element takes. */
static int
places_of(char kind)
{
    return kind == 'D' ? 2 : 1;
}

/* The type of a column's elements. */
static int
type_of(char kind)
{
    return kind == 'D' ? NPY_CDOUBLE : is_number(kind) && kind != 'i' && kind != 'q' ? NPY_DOUBLE : NPY_INT64;
}

/* Append the number of `object`, for which there is room: 1, or 0 where it is of another type. */
static int
append_number(Column *column, PyObject *object, char kind)
{
    int64_t *place = &column->items[column->count];
    int overflow = 0;
    switch (kind) {
    case 'f':
        if (!PyFloat_CheckExact(object)) {
            return 0;
        }
        memcpy(place, &((PyFloatObject *)object)->ob_fval, sizeof(double));
        break;
    case 'r':
    case 'j': {
        if (!PyComplex_CheckExact(object)) {
            return 0;
        }
        Py_complex *number = &((PyComplexObject *)object)->cval;
        memcpy(place, kind == 'r' ? &number->real : &number->imag, sizeof(double));
        break;
    }
    case 'd':
        if (Py_TYPE(object) != &PyDoubleArrType_Type) {
            return 0;
        }
        memcpy(place, &PyArrayScalar_VAL(object, Double), sizeof(double));
        break;
    case 'q':
        if (Py_TYPE(object) != &PyInt64ArrType_Type) {
            return 0;
        }
        *place = PyArrayScalar_VAL(object, Int64);
        break;
    case 'D':
        if (Py_TYPE(object) != &PyCDoubleArrType_Type) {
            return 0;
        }
        memcpy(place, &PyArrayScalar_VAL(object, CDouble), 2 * sizeof(double));
        break;
    default:
        if (!PyLong_CheckExact(object)) {
            return 0;
        }
        *place = PyLong_AsLongLongAndOverflow(object, &overflow);
    }
    column->count += places_of(kind);
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
    case 'a':
        if (reserve(column, 1) < 0) {
            return -1;
        }
        column->items[column->count++] = (int64_t)(intptr_t)object;
        return 1;
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
        int is_last = is_number(path[1]), status = reserve(column, count * places_of(path[1]));
        if (path[1] == 'a' && status == 1) {
            for (Py_ssize_t i = 0; i < count; i++) {
                column->items[column->count + i] = (int64_t)(intptr_t)items[i];
            }
            column->count += count;
            return 1;
        }
        for (Py_ssize_t i = 0; i < count && status == 1; i++) {
            status = is_last ? append_number(column, items[i], path[1]) : append(column, items[i], path + 1);
        }
        return status;
    }
    default:
        if (reserve(column, places_of(path[0])) < 0) {
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

/* The text of a path. */
static PyObject *
text_of(PyObject *path)
{
    return PyTuple_CheckExact(path) && PyTuple_GET_SIZE(path) > 0 ? PyTuple_GET_ITEM(path, 0) : path;
}

int
dl_columns_is_path(PyObject *object)
{
    int has_objects = PyTuple_CheckExact(object);
    object = text_of(object);
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
    if (path[0] == 'a') {
        const char *end = strchr(path, ';');
        return end != NULL && end > path + 1 && end[1] != 0 && strchr("fibmFIkn@Aov", end[1]) != NULL && end[2] == 0
               && has_objects == (end[1] == 'o');
    }
    if (has_objects) {
        return 0;
    }
    if (path[0] == 'n') {
        return (path[1] == 'l' || path[1] == 't') && path[2] == 0;
    }
    return is_number(path[0]) && path[1] == 0;
}

/* The attribute at which a path ends: 1; 0 where it ends otherwise, -1 with MemoryError. */
static int
find_end(End *end, const char *path)
{
    const char *name = strchr(path, 'a'), *last = strchr(path, ';');
    if (last == NULL) {
        return 0;
    }
    end->kind = last[1];
    end->name = PyUnicode_FromStringAndSize(name + 1, last - name - 1);
    if (end->name != NULL) {
        PyUnicode_InternInPlace(&end->name);
    }
    return end->name == NULL ? -1 : 1;
}

/* The objects that lie at a path, all of the class of the first one: 1; 0 where they do not, -1 with MemoryError. */
static int
find_objects(Column *objects, PyObject *object, const char *path)
{
    int status = reserve(objects, 1);
    status = status == 1 ? append(objects, object, path) : status;
    for (npy_intp i = 0; i < objects->count && status == 1; i++) {
        status = Py_TYPE((PyObject *)(intptr_t)objects->items[i]) == Py_TYPE((PyObject *)(intptr_t)objects->items[0]);
    }
    return status;
}

/* What an object itself has under a name, borrowed; NULL where it has nothing. */
static PyObject *
read_attribute(const DlAttribute *attribute, PyObject *object)
{
    PyObject **place = dl_attribute_place(attribute, object);
    if (place != NULL) {
        return *place;
    }
    if (attribute->slot || !dl_pyframe_names_are_plain(object)) {
        return NULL;
    }
    PyObject *found = dl_pyframe_own_attribute(object, attribute->name);
    Py_XDECREF(found); /* NB: the object holds it */
    return found;
}

/* Put what stands for an attribute into the column: 1, or 0 where it is of another type. */
static int
append_attribute(Column *column, PyObject *found, char kind, PyObject *path)
{
    switch (kind) {
    case 'o':
        for (Py_ssize_t k = 1; k < PyTuple_GET_SIZE(path); k++) {
            if (found == PyTuple_GET_ITEM(path, k)) {
                column->items[column->count++] = k - 1;
                return 1;
            }
        }
        return 0;
    case 'm':
        column->items[column->count++] = 0;
        return 1;
    case 'b':
        column->items[column->count++] = found == Py_True;
        return PyBool_Check(found);
    case '@':
    case 'A':
        column->items[column->count++] = dl_object_own_tag(found);
        return 1;
    case 'k':
    case 'F':
    case 'I':
        if (PyFloat_CheckExact(found) == (kind == 'F') && kind != 'k') {
            return append_number(column, found, kind == 'F' ? 'f' : 'i');
        }
        column->items[column->count++] = kind == 'k' && PyFloat_CheckExact(found);
        return PyFloat_CheckExact(found) || PyLong_CheckExact(found);
    }
    return append_number(column, found, kind);
}

/* The objects whose tags a column has, or nothing, for it to keep: a program may hand them on when nobody else has them. */
static PyObject *
held_objects(const Column *column, char kind)
{
    PyObject *held = PyTuple_New(kind == '@' || kind == 'A' ? (Py_ssize_t)column->count : 0);
    for (Py_ssize_t i = 0; held != NULL && i < PyTuple_GET_SIZE(held); i++) {
        PyTuple_SET_ITEM(held, i, Py_NewRef(dl_objects_find(NULL, column->items[i])));
    }
    return held;
}

/* The column of the arrays that objects have under a name: NULL as of dl_columns_make. */
static PyObject *
make_of_arrays(PyObject *list, const Column *objects, const DlAttribute *attribute)
{
    PyObject *arrays = PyTuple_New(objects->count), *made = NULL;
    for (npy_intp i = 0; arrays != NULL && i < objects->count; i++) {
        PyObject *found = read_attribute(attribute, (PyObject *)(intptr_t)objects->items[i]);
        if (found == NULL) {
            Py_CLEAR(arrays);
            break;
        }
        PyTuple_SET_ITEM(arrays, i, Py_NewRef(found));
    }
    if (arrays != NULL) {
        made = dl_array_column_make(list, arrays);
        Py_DECREF(arrays);
    }
    return made;
}

/* The column of an attribute, which keeps the list and what the numbers were: NULL as of dl_columns_make. */
static PyObject *
make_of_attributes(PyObject *object, const char *path, PyObject *whole)
{
    End end = {0};
    Column objects = {0}, column = {0};
    int status = find_end(&end, path);
    status = status == 1 ? find_objects(&objects, object, path) : status;
    status = status == 1 ? reserve(&column, objects.count + 1) : status;
    DlAttribute attribute = {0};
    if (status == 1 && objects.count > 0) {
        dl_attribute_find(&attribute, Py_TYPE((PyObject *)(intptr_t)objects.items[0]), end.name);
    }
    PyObject *array = NULL, *base = NULL;
    if (status == 1 && end.kind == 'v') {
        array = make_of_arrays(object, &objects, &attribute);
        goto done;
    }
    for (npy_intp i = 0; i < objects.count && status == 1; i++) {
        PyObject *found = end.kind == 'm' ? Py_None : read_attribute(&attribute, (PyObject *)(intptr_t)objects.items[i]);
        status = found == NULL ? (PyErr_Occurred() ? -1 : 0) : append_attribute(&column, found, end.kind, whole);
    }
    if (status == 1) {
        Py_ssize_t kept = end.kind == 'm' ? 0 : (Py_ssize_t)column.count * (Py_ssize_t)sizeof(int64_t);
        base = Py_BuildValue("(Oy#N)", object, (char *)column.items, kept, held_objects(&column, end.kind));
        array = base ? PyArray_SimpleNew(1, &column.count, end.kind == 'f' || end.kind == 'F' ? NPY_DOUBLE : NPY_INT64) : NULL;
    }
    if (array != NULL) {
        memcpy(PyArray_DATA((PyArrayObject *)array), column.items, (size_t)column.count * sizeof(int64_t));
        if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) {
            Py_CLEAR(array);
        }
    }
done:
    Py_XDECREF(base);
    Py_XDECREF(end.name);
    PyMem_Free(objects.items);
    PyMem_Free(column.items);
    return array;
}

int
dl_columns_all_lack(PyObject *object, PyObject *path)
{
    const char *text = PyUnicode_AsUTF8(path);
    End end = {0};
    Column objects = {0};
    int status = text == NULL ? -1 : find_end(&end, text);
    status = status == 1 ? find_objects(&objects, object, text) : status;
    DlAttribute attribute = {0};
    if (status == 1 && objects.count > 0) {
        dl_attribute_find(&attribute, Py_TYPE((PyObject *)(intptr_t)objects.items[0]), end.name);
    }
    for (npy_intp i = 0; i < objects.count && status == 1; i++) {
        PyObject *one = (PyObject *)(intptr_t)objects.items[i];
        if (dl_attribute_lies_beside(one)) {
            PyObject **place = dl_attribute_place(&attribute, one);
            status = place == NULL || *place == NULL;
        }
        else {
            status = dl_pyframe_names_are_plain(one) && read_attribute(&attribute, one) == NULL;
        }
    }
    if (status == 1 && PyErr_Occurred()) {
        status = -1;
    }
    Py_XDECREF(end.name);
    PyMem_Free(objects.items);
    return status;
}

/* A number of a column as an object: a new reference, or NULL with an error set. */
static PyObject *
make_number(const char *data, char kind)
{
    if (kind == 'f') {
        return PyFloat_FromDouble(*(const double *)data);
    }
    int64_t whole = *(const int64_t *)data;
    return kind == 'b' ? PyBool_FromLong(whole != 0) : PyLong_FromLongLong(whole);
}

/* Whether a tag is that of the number which an object has. */
static int
is_own(const DlAttribute *attribute, PyObject *object, int64_t tag)
{
    PyObject *found = read_attribute(attribute, object);
    return found != NULL && dl_object_own_tag(found) == tag;
}

/* The number at a place of columns, as a new object: NULL with an error set. */
static PyObject *
make_one(PyArrayObject **arrays, npy_intp i, char kind)
{
    if (kind != 'n') {
        return make_number(PyArray_GETPTR1(arrays[0], i), kind);
    }
    int is_float = *(const int64_t *)PyArray_GETPTR1(arrays[2], i) != 0;
    return make_number(PyArray_GETPTR1(arrays[!is_float], i), is_float ? 'f' : 'i');
}

/* The number with that tag, or a new one: a new reference, or NULL with an error set. */
static PyObject *
find_number(PyArrayObject **arrays, npy_intp i, int64_t tag, PyObject *table, char kind)
{
    PyObject *found = tag ? dl_objects_find(table, tag) : NULL;
    if (found != NULL) {
        return Py_NewRef(found);
    }
    found = make_one(arrays, i, kind);
    if (found != NULL && tag && dl_objects_note(table, tag, found) < 0) {
        Py_CLEAR(found);
    }
    return found;
}

static int
is_column(PyObject *array, int type, npy_intp count)
{
    return PyArray_CheckExact(array) && PyArray_NDIM((PyArrayObject *)array) == 1
           && PyArray_TYPE((PyArrayObject *)array) == type
           && (count < 0 || PyArray_DIM((PyArrayObject *)array, 0) == count);
}

/* Whether an object has a float that nobody else has, which can be given the value of a new one. */
static int
is_reused(const DlAttribute *attribute, PyObject *object, PyArrayObject **arrays, npy_intp i, char kind)
{
    PyObject **place = dl_attribute_place(attribute, object);
    if (place == NULL || *place == NULL || !PyFloat_CheckExact(*place) || Py_REFCNT(*place) != 1
        || (kind == 'n' && *(const int64_t *)PyArray_GETPTR1(arrays[2], i) == 0)) {
        return 0;
    }
    ((PyFloatObject *)*place)->ob_fval = *(const double *)PyArray_GETPTR1(arrays[0], i);
    return 1;
}

int
dl_columns_put(PyObject *path, PyObject *marks, PyObject *table, PyObject *const *values, Py_ssize_t n_values)
{
    const char *text = PyUnicode_AsUTF8(text_of(path));
    End end = {0};
    Column objects = {0};
    if (text == NULL || find_end(&end, text) < 0) {
        return -1;
    }
    PyObject *base = NULL;
    PyObject **numbers = NULL;
    if (end.kind == 'v') {
        Py_XDECREF(end.name);
        return n_values == 1 ? dl_array_column_put(values[0]) : -1;
    }
    int status = -1, is_tagged = table != Py_None;
    int has_floats = end.kind == 'f' || end.kind == 'n';
    if (end.name == NULL || n_values != (end.kind != 'n' ? 1 : is_tagged ? 4 : 3)
        || !is_column(values[0], has_floats ? NPY_DOUBLE : NPY_INT64, -1)) {
        goto wrong;
    }
    PyArrayObject *arrays[4] = {NULL};
    npy_intp count = PyArray_DIM((PyArrayObject *)values[0], 0);
    for (Py_ssize_t k = 0; k < n_values; k++) {
        arrays[k] = (PyArrayObject *)values[k];
        if (k > 0 && !is_column(values[k], NPY_INT64, count)) {
            goto wrong;
        }
    }
    base = PyArray_BASE(arrays[0]);
    if (base == NULL || !PyTuple_CheckExact(base) || PyTuple_GET_SIZE(base) != 3
        || (end.kind != 'o' && !is_column(marks, NPY_INT64, count))
        || (is_tagged && !DL_OBJECTS_CHECK(table))) {
        goto wrong;
    }
    int found = find_objects(&objects, PyTuple_GET_ITEM(base, 0), text);
    if (found < 0) {
        goto done;
    }
    if (found == 0 || objects.count != count) {
        goto wrong;
    }
    numbers = PyMem_Calloc((size_t)count + 1, sizeof *numbers);
    if (numbers == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    DlAttribute attribute = {0};
    if (count > 0) {
        dl_attribute_find(&attribute, Py_TYPE((PyObject *)(intptr_t)objects.items[0]), end.name);
    }
    for (npy_intp i = 0; i < count; i++) {
        int is_int = is_tagged && end.kind == 'n' && *(const int64_t *)PyArray_GETPTR1(arrays[2], i) == 0;
        PyObject *of = is_int ? (PyObject *)arrays[3] : end.kind == 'o' ? values[0] : marks;
        int64_t mark = *(const int64_t *)PyArray_GETPTR1((PyArrayObject *)of, i);
        PyObject *object = (PyObject *)(intptr_t)objects.items[i];
        if (end.kind == 'o') {
            int64_t which = 1 + *(const int64_t *)PyArray_GETPTR1(arrays[0], i);
            numbers[i] = which > 0 && which < PyTuple_GET_SIZE(path) ? Py_NewRef(PyTuple_GET_ITEM(path, which)) : NULL;
            if (numbers[i] == NULL) {
                goto wrong;
            }
            continue;
        }
        if (!is_tagged && mark != 0 && has_floats && is_reused(&attribute, object, arrays, i, end.kind)) {
            continue;
        }
        if (is_tagged ? mark == 0 || !is_own(&attribute, object, mark) : mark != 0) {
            numbers[i] = find_number(arrays, i, is_tagged ? mark : 0, table, end.kind);
            if (numbers[i] == NULL) {
                goto done;
            }
        }
    }
    for (npy_intp i = 0; i < count; i++) {
        PyObject *object = (PyObject *)(intptr_t)objects.items[i], **place;
        if (numbers[i] == NULL) {
            continue;
        }
        place = dl_attribute_place(&attribute, object);
        if (place != NULL && *place != NULL) {
            PyObject *old = *place;
            *place = numbers[i];
            numbers[i] = old; /* which dies last, when all is stored */
        }
        else if (PyObject_GenericSetAttr(object, end.name, numbers[i]) < 0) {
            goto done;
        }
    }
    status = 0;
    goto done;
wrong:
    PyErr_SetString(PyExc_RuntimeError, "dynamo_lite: objects of a list have changed while a program had their numbers");
done:
    for (npy_intp i = 0; numbers != NULL && i < count; i++) {
        Py_XDECREF(numbers[i]);
    }
    PyMem_Free(numbers);
    PyMem_Free(objects.items);
    Py_XDECREF(end.name);
    return status;
}

PyObject *
dl_columns_make(PyObject *object, PyObject *path)
{
    const char *text = PyUnicode_AsUTF8(text_of(path));
    if (text == NULL) {
        return NULL;
    }
    if (strchr(text, ';') != NULL) {
        return make_of_attributes(object, text, path);
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
        char kind = is_offsets ? 'i' : text[length - 1];
        npy_intp count = column.count / places_of(kind);
        array = PyArray_SimpleNew(1, &count, type_of(kind));
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

/* Whether two bases are those of columns of attributes, of one list. NB: a tuple that is a list of numbers has none. */
static int
are_of_attributes(PyObject *one, PyObject *other)
{
    PyObject *both[] = {one, other};
    for (int i = 0; i < 2; i++) {
        if (!PyTuple_CheckExact(both[i]) || PyTuple_GET_SIZE(both[i]) != 3 || !PyBytes_CheckExact(PyTuple_GET_ITEM(both[i], 1))) {
            return 0;
        }
    }
    return PyTuple_GET_ITEM(one, 0) == PyTuple_GET_ITEM(other, 0);
}

int
dl_columns_are_equal(PyObject *one, PyObject *other)
{
    if (!PyArray_CheckExact(one) || !PyArray_CheckExact(other)) {
        return 0;
    }
    PyArrayObject *a = (PyArrayObject *)one, *b = (PyArrayObject *)other;
    PyObject *base = PyArray_BASE(a), *base_of_other = PyArray_BASE(b);
    if (base == NULL || base_of_other == NULL || PyArray_DESCR(a)->type_num != PyArray_DESCR(b)->type_num
        || PyArray_SIZE(a) != PyArray_SIZE(b)) {
        return 0;
    }
    if (are_of_attributes(base, base_of_other)) { /* what the numbers were when they were made */
        PyObject *was = PyTuple_GET_ITEM(base, 1), *other_was = PyTuple_GET_ITEM(base_of_other, 1);
        return PyBytes_GET_SIZE(was) == PyBytes_GET_SIZE(other_was)
               && memcmp(PyBytes_AS_STRING(was), PyBytes_AS_STRING(other_was), (size_t)PyBytes_GET_SIZE(was)) == 0;
    }
    return base == base_of_other && (PyList_CheckExact(base) || PyTuple_CheckExact(base))
           && memcmp(PyArray_DATA(a), PyArray_DATA(b), (size_t)PyArray_NBYTES(a)) == 0;
}

/* Whether some addresses differ: 1, 0, or -1 with MemoryError. */
static int
differ(const Column *objects)
{
    size_t places = 16;
    while (places < 2 * (size_t)objects->count) {
        places *= 2;
    }
    int64_t *table = PyMem_Calloc(places, sizeof *table);
    if (table == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int status = 1;
    for (npy_intp i = 0; i < objects->count && status == 1; i++) {
        size_t at = ((size_t)objects->items[i] >> 4) * 0x9E3779B97F4A7C15u >> 20 & (places - 1);
        for (; table[at] != 0 && table[at] != objects->items[i]; at = (at + 1) & (places - 1)) {
        }
        status = table[at] == 0;
        table[at] = objects->items[i];
    }
    PyMem_Free(table);
    return status;
}

/* Append the objects in a list or tuple, or in those that it holds, or an object that is neither: 1, or -1. */
static int
append_all(Column *objects, PyObject *object)
{
    if (PyList_CheckExact(object) || PyTuple_CheckExact(object)) {
        int status = reserve(objects, PySequence_Fast_GET_SIZE(object));
        for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(object) && status == 1; i++) {
            PyObject *item = PySequence_Fast_GET_ITEM(object, i);
            if (PyList_CheckExact(item) || PyTuple_CheckExact(item)) {
                status = append_all(objects, item);
            }
            else if ((status = reserve(objects, 1)) == 1) {
                objects->items[objects->count++] = (int64_t)(intptr_t)item;
            }
        }
        return status;
    }
    int status = reserve(objects, 1);
    if (status == 1) {
        objects->items[objects->count++] = (int64_t)(intptr_t)object;
    }
    return status;
}

int
dl_columns_all_differ(PyObject *one, PyObject *other)
{
    Column objects = {0};
    int status = append_all(&objects, one), ascend = 1;
    if (status == 1 && other != one) {
        status = append_all(&objects, other);
    }
    for (npy_intp i = 1; i < objects.count && ascend; i++) {
        ascend = objects.items[i - 1] < objects.items[i];
    }
    if (status == 1 && !ascend) {
        status = differ(&objects);
    }
    PyMem_Free(objects.items);
    return status;
}

int
dl_columns_holds(PyObject *one, PyObject *object, Py_ssize_t depth)
{
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(one); i++) {
        PyObject *item = PySequence_Fast_GET_ITEM(one, i);
        int is_inner = depth > 1 && (PyList_CheckExact(item) || PyTuple_CheckExact(item));
        if (item == object || (is_inner && dl_columns_holds(item, object, depth - 1))) {
            return 1;
        }
    }
    return 0;
}
