/* The __init__ of a class of fields, as dynamo_lite/dataclass.py asks for it.
 *
 * The compiler has some 200 such classes, of which a first call makes objects of 70. To write an __init__ as text and
 * compile that takes a third of a millisecond each, a sixth of all that a first call takes; this takes a microsecond.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <structmember.h>

enum { MOST_FIELDS = 64 };

typedef struct {
    PyObject *name;
    PyObject *value; /* a default, or what makes one; NULL: there is none */
    char is_given;   /* is a parameter */
    char is_made;    /* value() is the default */
} Field;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *qualname;
    char is_frozen, has_more; /* has_more: a method __post_init__ */
    Py_ssize_t n;
    Field fields[];
} Init;

extern PyTypeObject dl_init_type;

/* The field that is a parameter of that name, or -1. */
static Py_ssize_t
parameter_of(const Init *self, PyObject *name)
{
    for (Py_ssize_t i = 0; i < self->n; i++) {
        if (self->fields[i].name == name && self->fields[i].is_given) {
            return i;
        }
    }
    for (Py_ssize_t i = 0; i < self->n; i++) {
        if (self->fields[i].is_given && PyUnicode_Compare(self->fields[i].name, name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Take named values, which follow each other at `values`; 0, or -1 with an error set. */
static int
take_named(const Init *self, PyObject **given, PyObject *const *values, PyObject *names)
{
    for (Py_ssize_t k = 0; names != NULL && k < PyTuple_GET_SIZE(names); k++) {
        PyObject *name = PyTuple_GET_ITEM(names, k);
        Py_ssize_t at = parameter_of(self, name);
        if (at < 0 || given[at] != NULL) {
            PyErr_Format(PyExc_TypeError, "%U() got %s '%U'", self->qualname,
                         at < 0 ? "an unexpected keyword argument" : "multiple values for argument", name);
            return -1;
        }
        given[at] = values[k];
    }
    return 0;
}

static int
set(const Init *self, PyObject *object, PyObject *name, PyObject *value)
{
    return self->is_frozen ? PyObject_GenericSetAttr(object, name, value) : PyObject_SetAttr(object, name, value);
}

/* Set all fields of an object: what is given (borrowed, NULL where nothing is), else the default; 0, or -1. */
static int
fill(const Init *self, PyObject *object, PyObject *const *given)
{
    for (Py_ssize_t i = 0; i < self->n; i++) {
        const Field *field = &self->fields[i];
        PyObject *value = Py_XNewRef(given[i] ? given[i] : field->is_made ? NULL : field->value);
        if (value == NULL && field->value == NULL) {
            PyErr_Format(PyExc_TypeError, "%U() missing required argument: '%U'", self->qualname, field->name);
            return -1;
        }
        if (value == NULL && (value = PyObject_CallNoArgs(field->value)) == NULL) {
            return -1;
        }
        int status = set(self, object, field->name, value);
        Py_DECREF(value);
        if (status < 0) {
            return -1;
        }
    }
    if (self->has_more) {
        PyObject *none = PyObject_CallMethod(object, "__post_init__", NULL);
        Py_XDECREF(none);
        return none == NULL ? -1 : 0;
    }
    return 0;
}

static PyObject *
init_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    const Init *self = (const Init *)callable;
    PyObject *given[MOST_FIELDS] = {NULL};
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf), k = 1;
    for (Py_ssize_t i = 0; i < self->n && k < n_args; i++) {
        if (self->fields[i].is_given) {
            given[i] = args[k++];
        }
    }
    if (k != n_args) {
        return PyErr_Format(PyExc_TypeError, "%U() got %zd positional arguments, which are too %s", self->qualname,
                            n_args, n_args ? "many" : "few");
    }
    if (take_named(self, given, args + n_args, names) < 0 || fill(self, args[0], given) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* replaced(object, **changes): another object of its class, with these fields changed. */
static PyObject *
replaced(PyObject *callable, PyObject *const *args, Py_ssize_t n_args, PyObject *names)
{
    const Init *self = (const Init *)callable;
    if (n_args != 1) {
        PyErr_SetString(PyExc_TypeError, "replaced: expected an object, and changes by name");
        return NULL;
    }
    PyObject *old = args[0], *given[MOST_FIELDS] = {NULL}, *read[MOST_FIELDS] = {NULL};
    PyObject *made = NULL, *nothing = PyTuple_New(0);
    int status = nothing == NULL ? -1 : take_named(self, given, args + 1, names);
    for (Py_ssize_t i = 0; i < self->n && status == 0; i++) {
        if (self->fields[i].is_given && given[i] == NULL) {
            given[i] = read[i] = PyObject_GetAttr(old, self->fields[i].name);
            status = read[i] == NULL ? -1 : 0;
        }
    }
    if (status == 0 && (made = Py_TYPE(old)->tp_new(Py_TYPE(old), nothing, NULL)) != NULL && fill(self, made, given) < 0) {
        Py_CLEAR(made);
    }
    for (Py_ssize_t i = 0; i < self->n; i++) {
        Py_XDECREF(read[i]);
    }
    Py_XDECREF(nothing);
    return made;
}

/* Init(qualname, fields, frozen, more): fields are tuples (name, is a parameter, default or what makes it, is made), of
 * which the last two may be missing. */
static PyObject *
init_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *keywords)
{
    PyObject *qualname, *fields;
    int is_frozen, has_more;
    if (keywords != NULL || !PyArg_ParseTuple(args, "UO!pp", &qualname, &PyTuple_Type, &fields, &is_frozen, &has_more)) {
        return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "Init() takes no keyword arguments");
    }
    Py_ssize_t n = PyTuple_GET_SIZE(fields);
    if (n > MOST_FIELDS) {
        return PyErr_Format(PyExc_ValueError, "Init: more than %d fields", MOST_FIELDS);
    }
    Init *self = PyObject_GC_NewVar(Init, &dl_init_type, n);
    if (self == NULL) {
        return NULL;
    }
    self->call = init_call;
    self->qualname = Py_NewRef(qualname);
    self->is_frozen = (char)is_frozen;
    self->has_more = (char)has_more;
    self->n = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *name, *value = NULL;
        int is_given, is_made = 0;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(fields, i), "Up|Op", &name, &is_given, &value, &is_made)) {
            Py_DECREF(self);
            return NULL;
        }
        Py_INCREF(name);
        PyUnicode_InternInPlace(&name);
        self->fields[i] = (Field){name, Py_XNewRef(value), (char)is_given, (char)is_made};
        self->n = i + 1;
    }
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static int
init_traverse(Init *self, visitproc visit, void *arg)
{
    for (Py_ssize_t i = 0; i < self->n; i++) {
        Py_VISIT(self->fields[i].value);
    }
    return 0;
}

static int
init_clear(Init *self)
{
    Py_ssize_t n = self->n;
    self->n = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_CLEAR(self->fields[i].name);
        Py_CLEAR(self->fields[i].value);
    }
    return 0;
}

static void
init_dealloc(Init *self)
{
    PyObject_GC_UnTrack(self);
    init_clear(self);
    Py_CLEAR(self->qualname);
    PyObject_GC_Del(self);
}

static PyObject *
init_get(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

/* For inspect.signature: a default is shown as "...". */
static PyObject *
init_signature(Init *self, void *Py_UNUSED(closure))
{
    PyObject *text = PyUnicode_FromString("($_object");
    for (Py_ssize_t i = 0; i < self->n && text != NULL; i++) {
        if (self->fields[i].is_given) {
            PyObject *more = PyUnicode_FromFormat("%U, %U%s", text, self->fields[i].name,
                                                  self->fields[i].value ? "=..." : "");
            Py_SETREF(text, more);
        }
    }
    PyObject *whole = text ? PyUnicode_FromFormat("%U)", text) : NULL;
    Py_XDECREF(text);
    return whole;
}

static PyGetSetDef init_getset[] = {
    {.name = "__text_signature__", .get = (getter)init_signature},
    {NULL},
};

static PyMemberDef init_members[] = {
    {"__qualname__", T_OBJECT, offsetof(Init, qualname), READONLY, NULL},
    {NULL},
};

static PyMethodDef init_methods[] = {
    {"replaced", (PyCFunction)(void (*)(void))replaced, METH_FASTCALL | METH_KEYWORDS,
     "replaced(object, **changes): another object of its class, with these fields changed."},
    {NULL},
};

PyTypeObject dl_init_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Init",
    .tp_doc = "Init(qualname, fields, frozen, more): the __init__ of a class of fields.",
    .tp_basicsize = offsetof(Init, fields),
    .tp_itemsize = sizeof(Field),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_new = init_new,
    .tp_dealloc = (destructor)init_dealloc,
    .tp_traverse = (traverseproc)init_traverse,
    .tp_clear = (inquiry)init_clear,
    .tp_call = PyVectorcall_Call,
    .tp_vectorcall_offset = offsetof(Init, call),
    .tp_descr_get = init_get,
    .tp_getset = init_getset,
    .tp_members = init_members,
    .tp_methods = init_methods,
};
