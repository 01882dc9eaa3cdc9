/* The objects of numbers, by tag: what lists get twice, and what a name still holds after the loop, is one object.
 *
 * A tag says at which event of a loop a number came about (capture/loops/number_objects.py): a new event has a higher one.
 * The tags -1, -2, ... are those of objects from before the loop; of a list or tuple of such, which itself stands there, an
 * item's tag says where it is, too. A number with the tag 0 is an object that nobody else has.
 * What has been taken of a list as an object has its address as its tag, beside FROM_LISTS. INVARIANT: `tags` ascend.
 */
#include "objects.h"

#include "abi.h"
#include "numpy_api.h"

typedef struct {
    PyObject_HEAD
    PyObject *firsts; /* a tuple: those from before the loop */
    Py_ssize_t n, room;
    int64_t *tags;
    PyObject **objects; /* owned */
    size_t n_taken, places; /* a table by address: of `places`, a power of two */
    PyObject **taken;       /* owned: what was taken of lists */
} Objects;

static const int64_t FROM_LISTS = (int64_t)1 << 62;

int64_t
dl_object_own_tag(PyObject *object)
{
    return FROM_LISTS + (int64_t)(intptr_t)object;
}

/* Where an object stands in the table of those that were taken of lists, or would. */
static PyObject **
taken_at(PyObject **taken, size_t places, const PyObject *object)
{
    size_t at = ((size_t)object >> 4) * 0x9E3779B97F4A7C15u >> 20 & (places - 1);
    for (; taken[at] != NULL && taken[at] != object; at = (at + 1) & (places - 1)) {
    }
    return &taken[at];
}

int32_t
dl_object_tag(PyObject *table, PyObject *object, int64_t *tag)
{
    Objects *self = (Objects *)table;
    if (4 * (self->n_taken + 1) > 3 * self->places) {
        size_t places = self->places ? 2 * self->places : 16;
        PyObject **taken = PyMem_Calloc(places, sizeof *taken);
        if (taken == NULL) {
            return 1;
        }
        for (size_t i = 0; i < self->places; i++) {
            if (self->taken[i] != NULL) {
                *taken_at(taken, places, self->taken[i]) = self->taken[i];
            }
        }
        PyMem_Free(self->taken);
        self->taken = taken;
        self->places = places;
    }
    PyObject **place = taken_at(self->taken, self->places, object);
    if (*place == NULL) {
        *place = Py_NewRef(object);
        self->n_taken++;
    }
    *tag = FROM_LISTS + (int64_t)(intptr_t)object;
    return 0;
}

/* Where a tag stands, or would. */
static Py_ssize_t
place_of(const Objects *self, int64_t tag)
{
    Py_ssize_t low = 0, high = self->n;
    if (high > 0 && self->tags[high - 1] <= tag) {
        return high - (self->tags[high - 1] == tag);
    }
    while (low < high) {
        Py_ssize_t middle = (low + high) / 2;
        if (self->tags[middle] < tag) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* An item of the list or tuple at `number` of `firsts`, or where that has parts added, one of those of a tuple that is
 * the item; borrowed, NULL where there is none. */
static PyObject *
item_at(PyObject *firsts, Py_ssize_t number, Py_ssize_t place)
{
    Py_ssize_t part = number / DL_LISTED_PARTS;
    number %= DL_LISTED_PARTS;
    PyObject *of = number < PyTuple_GET_SIZE(firsts) ? PyTuple_GET_ITEM(firsts, number) : NULL;
    if (of == NULL || !(PyList_Check(of) || PyTuple_Check(of))) {
        return NULL;
    }
    Py_ssize_t length = PySequence_Fast_GET_SIZE(of);
    place += place < 0 ? length : 0;
    PyObject *item = place >= 0 && place < length ? PySequence_Fast_GET_ITEM(of, place) : NULL;
    if (item == NULL || part == 0) {
        return item;
    }
    return PyTuple_Check(item) && part <= PyTuple_GET_SIZE(item) ? PyTuple_GET_ITEM(item, part - 1) : NULL;
}

PyObject *
dl_objects_find(PyObject *object, int64_t tag)
{
    const Objects *self = (Objects *)object;
    if (tag >= FROM_LISTS) {
        return (PyObject *)(intptr_t)(tag - FROM_LISTS);
    }
    if (tag < -DL_LISTED_BY) {
        int64_t whole = -1 - tag, place = whole / DL_LISTED_BY - DL_LISTED_AT;
        return item_at(self->firsts, (Py_ssize_t)(whole % DL_LISTED_BY), (Py_ssize_t)place);
    }
    if (tag < 0) {
        return -1 - tag < PyTuple_GET_SIZE(self->firsts) ? PyTuple_GET_ITEM(self->firsts, -1 - tag) : NULL;
    }
    Py_ssize_t place = tag == 0 ? self->n : place_of(self, tag);
    return place < self->n && self->tags[place] == tag ? self->objects[place] : NULL;
}

int
dl_objects_note(PyObject *object, int64_t tag, PyObject *number)
{
    Objects *self = (Objects *)object;
    if (tag <= 0) {
        return 0;
    }
    if (self->n == self->room) {
        Py_ssize_t room = self->room ? 2 * self->room : 64;
        int64_t *tags = PyMem_Realloc(self->tags, (size_t)room * sizeof *tags);
        self->tags = tags ? tags : self->tags;
        PyObject **objects = tags ? PyMem_Realloc(self->objects, (size_t)room * sizeof *objects) : NULL;
        self->objects = objects ? objects : self->objects;
        if (objects == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        self->room = room;
    }
    Py_ssize_t place = place_of(self, tag);
    size_t above = (size_t)(self->n - place);
    memmove(self->tags + place + 1, self->tags + place, above * sizeof *self->tags);
    memmove(self->objects + place + 1, self->objects + place, above * sizeof *self->objects);
    self->tags[place] = tag;
    self->objects[place] = Py_NewRef(number);
    self->n++;
    return 0;
}

PyObject *
dl_objects_new(PyObject *firsts)
{
    Objects *self = PyObject_New(Objects, &dl_objects_type);
    if (self != NULL) {
        self->firsts = Py_NewRef(firsts);
        self->n = self->room = 0;
        self->tags = NULL;
        self->objects = self->taken = NULL;
        self->n_taken = self->places = 0;
    }
    return (PyObject *)self;
}

static PyObject *
objects_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *keywords)
{
    if (keywords != NULL && PyDict_GET_SIZE(keywords) > 0) {
        PyErr_SetString(PyExc_TypeError, "Objects() takes no keyword arguments");
        return NULL;
    }
    return dl_objects_new(args);
}

static void
objects_dealloc(Objects *self)
{
    for (Py_ssize_t i = 0; i < self->n; i++) {
        Py_DECREF(self->objects[i]);
    }
    for (size_t i = 0; i < self->places; i++) {
        Py_XDECREF(self->taken[i]);
    }
    PyMem_Free(self->taken);
    PyMem_Free(self->tags);
    PyMem_Free(self->objects);
    Py_XDECREF(self->firsts);
    PyObject_Free(self);
}

/* A number as a new object: a new reference, NULL with an error set. NB: what hands it over may have one constant for
 * all that are equal. */
static PyObject *
made_anew(PyObject *number)
{
    if (PyFloat_CheckExact(number)) {
        return PyFloat_FromDouble(PyFloat_AS_DOUBLE(number));
    }
    if (PyLong_CheckExact(number)) {
        PyObject *negative = PyNumber_Negative(number), *found = negative ? PyNumber_Negative(negative) : NULL;
        Py_XDECREF(negative);
        return found;
    }
    return Py_NewRef(number);
}

/* at(tag, number=None): the object with that tag, which is one that is equal to `number` where there is none yet. */
static PyObject *
objects_at(PyObject *self, PyObject *args)
{
    long long tag;
    PyObject *number = Py_None;
    if (!PyArg_ParseTuple(args, "L|O", &tag, &number)) {
        return NULL;
    }
    PyObject *found = Py_XNewRef(dl_objects_find(self, tag));
    if (found == NULL && (found = made_anew(number)) != NULL && dl_objects_note(self, tag, found) < 0) {
        Py_CLEAR(found);
    }
    return found;
}

/* tag(object): the tag of what was taken of a list. */
static PyObject *
objects_tag(PyObject *self, PyObject *object)
{
    int64_t tag;
    return dl_object_tag(self, object, &tag) ? PyErr_NoMemory() : PyLong_FromLongLong(tag);
}

typedef struct {
    int64_t tag;
    Py_ssize_t place;
} Tagged;

static int
compare_tags(const void *one, const void *other)
{
    const Tagged *a = one, *b = other;
    return a->tag != b->tag ? (a->tag > b->tag) - (a->tag < b->tag) : (a->place > b->place) - (a->place < b->place);
}

/* An element of a vector or matrix. */
static const char *
element_at(PyArrayObject *array, Py_ssize_t row, Py_ssize_t column)
{
    const npy_intp *strides = PyArray_STRIDES(array);
    int is_matrix = PyArray_NDIM(array) == 2;
    return PyArray_BYTES(array) + (is_matrix ? row * strides[0] : 0) + column * strides[is_matrix];
}

/* A Python number: of an int64, a double or, as a bool, an int8. */
static PyObject *
number_at(PyArrayObject *values, Py_ssize_t row, Py_ssize_t column)
{
    const char *data = element_at(values, row, column);
    switch (PyArray_TYPE(values)) {
    case NPY_INT64:
        return PyLong_FromLongLong(*(const int64_t *)data);
    case NPY_DOUBLE:
        return PyFloat_FromDouble(*(const double *)data);
    default:
        return PyBool_FromLong(*(const npy_int8 *)data);
    }
}

/* Put the objects into the lists `rows`, all as long as `columns`, whose tags say that something else may hold them; 0,
 * or -1 with an error set. */
static int
fill_tagged(PyObject *rows, Py_ssize_t columns, PyArrayObject *values, PyArrayObject *tags, PyObject *table)
{
    Py_ssize_t length = PyList_GET_SIZE(rows) * columns, n = 0;
    Tagged *known = PyMem_Malloc((size_t)(length + 1) * sizeof *known);
    if (known == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int status = 0, ascend = 1;
    for (Py_ssize_t i = 0; i < length && status == 0; i++) {
        int64_t tag = *(const int64_t *)element_at(tags, i / columns, i % columns);
        if (tag > 0) {
            ascend = ascend && (n == 0 || known[n - 1].tag <= tag);
            known[n++] = (Tagged){tag, i};
        }
        else if (tag < 0) {
            PyObject *found = dl_objects_find(table, tag);
            if (found == NULL) {
                PyErr_SetString(PyExc_SystemError, "a tag without an object");
                status = -1;
            }
            else {
                PyList_SET_ITEM(PyList_GET_ITEM(rows, i / columns), i % columns, Py_NewRef(found));
            }
        }
    }
    if (!ascend) {
        qsort(known, (size_t)n, sizeof *known, compare_tags); /* the table takes new tags at its end */
    }
    PyObject *last = NULL; /* the object of the tag before, borrowed from its list */
    for (Py_ssize_t k = 0; k < n && status == 0; k++) {
        Py_ssize_t row = known[k].place / columns, column = known[k].place % columns;
        int is_last = k > 0 && known[k].tag == known[k - 1].tag;
        PyObject *found = Py_XNewRef(is_last ? last : dl_objects_find(table, known[k].tag));
        if (found == NULL) {
            found = number_at(values, row, column);
            status = found == NULL ? -1 : dl_objects_note(table, known[k].tag, found);
        }
        if (found != NULL) {
            PyList_SET_ITEM(PyList_GET_ITEM(rows, row), column, found);
        }
        last = found;
    }
    PyMem_Free(known);
    return status;
}

/* Lists of `columns` items each, which are not there yet; NULL with an error set. */
static PyObject *
new_rows(Py_ssize_t length, Py_ssize_t columns)
{
    PyObject *rows = PyList_New(length);
    for (Py_ssize_t i = 0; i < length && rows != NULL; i++) {
        PyObject *row = PyList_New(columns);
        if (row == NULL) {
            Py_CLEAR(rows);
        }
        else {
            PyList_SET_ITEM(rows, i, row);
        }
    }
    return rows;
}

/* Whether an array has numbers for so many rows, or is a vector with so many elements. */
static int
has_numbers(PyArrayObject *array, Py_ssize_t length, int ndim)
{
    return PyArray_NDIM(array) == ndim && length >= 0 && length <= PyArray_DIM(array, 0) && PyArray_ISALIGNED(array);
}

/* list_of(values, length, tags=None, table=None): the list of the first numbers of a vector, or of a matrix the list of
 * the lists of its first rows. */
static PyObject *
objects_list_of(PyObject *Py_UNUSED(cls), PyObject *args)
{
    PyObject *values, *tags = Py_None, *table = Py_None;
    Py_ssize_t length;
    if (!PyArg_ParseTuple(args, "O!n|OO", &PyArray_Type, &values, &length, &tags, &table)) {
        return NULL;
    }
    PyArrayObject *array = (PyArrayObject *)values, *beside = tags == Py_None ? NULL : (PyArrayObject *)tags;
    int type = PyArray_TYPE(array), ndim = PyArray_NDIM(array);
    int fits = (type == NPY_INT64 || type == NPY_DOUBLE || type == NPY_INT8) && (ndim == 1 || ndim == 2)
               && has_numbers(array, length, ndim);
    if (fits && beside != NULL) {
        fits = PyArray_CheckExact(tags) && PyArray_TYPE(beside) == NPY_INT64 && has_numbers(beside, length, ndim)
               && (ndim == 1 || PyArray_DIM(beside, 1) == PyArray_DIM(array, 1)) && DL_OBJECTS_CHECK(table);
    }
    if (!fits) {
        PyErr_SetString(PyExc_ValueError, "not the numbers of a list");
        return NULL;
    }
    Py_ssize_t n_rows = ndim == 1 ? 1 : length, columns = ndim == 1 ? length : PyArray_DIM(array, 1);
    PyObject *rows = new_rows(n_rows, columns);
    int status = rows == NULL ? -1 : beside != NULL ? fill_tagged(rows, columns, array, beside, table) : 0;
    for (Py_ssize_t i = 0; i < n_rows && status == 0; i++) {
        PyObject *row = PyList_GET_ITEM(rows, i);
        for (Py_ssize_t j = 0; j < columns && status == 0; j++) {
            if (PyList_GET_ITEM(row, j) == NULL) {
                PyObject *number = number_at(array, i, j);
                status = number == NULL ? -1 : 0;
                PyList_SET_ITEM(row, j, number);
            }
        }
    }
    if (status < 0) {
        Py_CLEAR(rows);
    }
    if (rows != NULL && ndim == 1) {
        Py_SETREF(rows, Py_NewRef(PyList_GET_ITEM(rows, 0)));
    }
    return rows;
}

static PyMethodDef methods[] = {
    {"list_of", objects_list_of, METH_VARARGS | METH_STATIC,
     "list_of(values, length, tags=None, table=None): the list of the first numbers of a vector, or of the lists of the "
     "first rows of a matrix; new objects, or those with their tags in a table."},
    {"at", objects_at, METH_VARARGS, "The object with a tag, which is the number given where there is none yet."},
    {"tag", objects_tag, METH_O, "tag(object): the tag of what was taken of a list."},
    {NULL},
};

PyTypeObject dl_objects_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Objects",
    .tp_basicsize = sizeof(Objects),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The objects of a loop's numbers, by tag; made of those from before the loop.",
    .tp_new = objects_new,
    .tp_dealloc = (destructor)objects_dealloc,
    .tp_methods = methods,
};
