/* Jump and Continuation (see jump.h). */
#include "jump.h"

#include <structmember.h>

#include "cache.h"

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *target; /* the resume function, or its code */
} DlJump;

/* jump(*state) -> Continuation. */
static PyObject *
jump_vectorcall(PyObject *jump, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (kwnames != NULL && PyTuple_GET_SIZE(kwnames) != 0) {
        PyErr_SetString(PyExc_TypeError, "Jump takes no keyword arguments");
        return NULL;
    }
    DlContinuation *self = PyObject_GC_NewVar(DlContinuation, &dl_continuation_type, n);
    if (self == NULL) {
        return NULL;
    }
    self->target = Py_NewRef(((DlJump *)jump)->target);
    for (Py_ssize_t i = 0; i < n; i++) {
        self->args[i] = Py_NewRef(args[i]);
    }
    PyObject_GC_Track(self);
    return (PyObject *)self;
}

static PyObject *
jump_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"resume_function", NULL};
    PyObject *target;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O:Jump", names, &target)) {
        return NULL;
    }
    if (!PyFunction_Check(target) && !PyCode_Check(target)) {
        return PyErr_Format(PyExc_TypeError, "Jump: expected a Python function or a code object, not %.100s",
                            Py_TYPE(target)->tp_name);
    }
    DlCache *cache = dl_cache_get((PyCodeObject *)(PyCode_Check(target) ? target : PyFunction_GET_CODE(target)));
    if (cache == NULL) {
        return NULL;
    }
    cache->resumes = 1;
    DlJump *self = (DlJump *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = jump_vectorcall;
        self->target = Py_NewRef(target);
    }
    return (PyObject *)self;
}

static int
jump_traverse(DlJump *self, visitproc visit, void *arg)
{
    Py_VISIT(self->target);
    return 0;
}

static void
jump_dealloc(DlJump *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->target);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
jump_repr(DlJump *self)
{
    return PyUnicode_FromFormat("<Jump to %R>", self->target);
}

static PyMemberDef jump_members[] = {
    {"resume_function", T_OBJECT, offsetof(DlJump, target), READONLY, "what goes on behind the break"},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject dl_jump_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Jump",
    .tp_doc = "Jump(resume_function): residual code calls it with the state behind a break.",
    .tp_basicsize = sizeof(DlJump),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(DlJump, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = jump_new,
    .tp_dealloc = (destructor)jump_dealloc,
    .tp_traverse = (traverseproc)jump_traverse,
    .tp_repr = (reprfunc)jump_repr,
    .tp_members = jump_members,
};

static int
continuation_traverse(DlContinuation *self, visitproc visit, void *arg)
{
    Py_VISIT(self->target);
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        Py_VISIT(self->args[i]);
    }
    return 0;
}

static void
continuation_dealloc(DlContinuation *self)
{
    PyObject_GC_UnTrack(self);
    for (Py_ssize_t i = 0; i < Py_SIZE(self); i++) {
        Py_XDECREF(self->args[i]); /* NULL where it was handed over */
    }
    Py_XDECREF(self->target);
    PyObject_GC_Del(self);
}

PyTypeObject dl_continuation_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Continuation",
    .tp_doc = "A resume function and its arguments, on the way from residual code to the dispatch loop.",
    .tp_basicsize = sizeof(DlContinuation),
    .tp_itemsize = sizeof(PyObject *),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)continuation_dealloc,
    .tp_traverse = (traverseproc)continuation_traverse,
};
