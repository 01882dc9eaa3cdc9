/* The objects of numbers, by tag: what lists get twice, and what a name still holds after the loop, is one object.
 *
 * A tag says at which event of a loop a number came about (capture/objects.py): a new event has a higher one. The tags
 * -1, -2, ... are those of objects from before the loop. A number with the tag 0 is an object that nobody else has.
 * INVARIANT: `tags` ascend.
 */
#include "objects.h"

typedef struct {
    PyObject_HEAD
    PyObject *firsts; /* a tuple: those from before the loop */
    Py_ssize_t n, room;
    int64_t *tags;
    PyObject **objects; /* owned */
} Objects;

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

PyObject *
dl_objects_find(PyObject *object, int64_t tag)
{
    const Objects *self = (Objects *)object;
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
    Objects *self = PyObject_New(Objects, &DlObjects_Type);
    if (self != NULL) {
        self->firsts = Py_NewRef(firsts);
        self->n = self->room = 0;
        self->tags = NULL;
        self->objects = NULL;
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
    PyMem_Free(self->tags);
    PyMem_Free(self->objects);
    Py_XDECREF(self->firsts);
    PyObject_Free(self);
}

/* at(tag, number=None): the object with that tag, which is `number` where there is none yet. */
static PyObject *
objects_at(PyObject *self, PyObject *args)
{
    long long tag;
    PyObject *number = Py_None;
    if (!PyArg_ParseTuple(args, "L|O", &tag, &number)) {
        return NULL;
    }
    PyObject *found = dl_objects_find(self, tag);
    if (found == NULL && dl_objects_note(self, tag, number) < 0) {
        return NULL;
    }
    return Py_NewRef(found ? found : number);
}

static PyMethodDef methods[] = {
    {"at", objects_at, METH_VARARGS, "The object with a tag, which is the number given where there is none yet."},
    {NULL},
};

PyTypeObject DlObjects_Type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Objects",
    .tp_basicsize = sizeof(Objects),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_doc = "The objects of a loop's numbers, by tag; made of those from before the loop.",
    .tp_new = objects_new,
    .tp_dealloc = (destructor)objects_dealloc,
    .tp_methods = methods,
};

int
dl_objects_register(PyObject *module)
{
    return PyModule_AddType(module, &DlObjects_Type);
}
