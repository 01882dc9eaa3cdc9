/* The extension module dynamo_lite._first: a program that is run as a whole begins and ends as if no frame of ours, nor
   any that leads to these, were there. NB: _C brings NumPy, which not every program wants. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stddef.h>

#include "frame/pyframe.h"

enum { ROOM = 500 }; /* frames for what of ours runs where the program may have set a low recursion limit */

/* ---- the way out: from where the program has ended to where the last frame of ours has ---- */

static PyObject *last;  /* a weak reference to the code of that frame; NULL: nobody is to leave unseen */
static int is_leaving;

static void
begin_unseen(PyThreadState *tstate)
{
    PyThreadState_EnterTracing(tstate);
    dl_pyframe_lend_frames(tstate, ROOM);
}

static void
end_unseen(PyThreadState *tstate)
{
    dl_pyframe_lend_frames(tstate, -ROOM);
    PyThreadState_LeaveTracing(tstate);
}

static void
leave(PyThreadState *tstate)
{
    if (last != NULL && !is_leaving) {
        is_leaving = 1;
        begin_unseen(tstate);
    }
}

/* Something of the program's comes after all. */
static void
come_back(PyThreadState *tstate)
{
    if (is_leaving) {
        is_leaving = 0;
        end_unseen(tstate);
    }
}

static PyObject *
all_have_left(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(reference))
{
    Py_CLEAR(last);
    come_back(PyThreadState_Get());
    Py_RETURN_NONE;
}

static PyMethodDef all_have_left_function = {"all_have_left", all_have_left, METH_O, NULL};

/* leave_unseen(code): no tracer sees the frames end that `call_first` leaves, up to the last one, which has this code. */
static PyObject *
leave_unseen(PyObject *Py_UNUSED(module), PyObject *code)
{
    PyObject *told = dl_pyframe_refusal() == NULL ? PyCFunction_New(&all_have_left_function, NULL) : Py_NewRef(Py_None);
    PyObject *made = told == NULL || told == Py_None ? NULL : PyWeakref_NewRef(code, told);
    Py_XDECREF(told);
    if (made == NULL && PyErr_Occurred()) {
        return NULL;
    }
    Py_XSETREF(last, made);
    Py_RETURN_NONE;
}

/* ---- what the program sees as its first frame ---- */

static PyObject *
call_with_none_below(PyObject *function, PyObject *const *args, size_t n)
{
    PyThreadState *tstate = PyThreadState_Get();
    int is_known = dl_pyframe_refusal() == NULL, nested = 0;
    come_back(tstate);
    DlFrame *hidden = is_known ? dl_pyframe_hide_all(tstate, &nested) : NULL;
    PyObject *result = PyObject_Vectorcall(function, args, n, NULL);
    if (is_known) {
        dl_pyframe_show_all(tstate, hidden, nested);
    }
    leave(tstate);
    return result;
}

static PyObject *
call_first(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args < 1) {
        return PyErr_Format(PyExc_TypeError, "call_first: expected a function");
    }
    return call_with_none_below(args[0], args + 1, (size_t)n_args - 1);
}

/* run_file(path, globals): run a file as python does, by its parser of files, which says of some errors what that of strings
   does not. */
static PyObject *
run_file(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *path, *globals;
    if (!PyArg_ParseTuple(args, "O&O!:run_file", PyUnicode_FSConverter, &path, &PyDict_Type, &globals)) {
        return NULL;
    }
    FILE *file = fopen(PyBytes_AS_STRING(path), "rb");
    PyObject *result = file != NULL
                           ? PyRun_FileExFlags(file, PyBytes_AS_STRING(path), Py_file_input, globals, globals, 1, NULL)
                           : PyErr_SetFromErrno(PyExc_OSError);
    Py_DECREF(path);
    return result;
}

/* Call a hook for the exception whose traceback ends as `self`, a pair of both, says; Python is told of that one alone.
   NB: the default hook prints the traceback that the exception carries, whatever it is handed. */
static PyObject *
call_hook(PyObject *self, PyObject *const *args, Py_ssize_t n_args)
{
    PyObject *hook = PyTuple_GET_ITEM(self, 0), *traceback = PyTuple_GET_ITEM(self, 1);
    if (n_args != 3 || !PyExceptionInstance_Check(args[1])) {
        return PyErr_Format(PyExc_TypeError, "expected an exception");
    }
    if (PySys_SetObject("excepthook", hook) < 0 || PySys_SetObject("last_traceback", traceback) < 0
        || PyException_SetTraceback(args[1], traceback) < 0) {
        return NULL;
    }
    PyObject *const shown[] = {args[0], args[1], traceback};
    return call_with_none_below(hook, shown, 3);
}

static PyMethodDef call_hook_function = {"excepthook", (PyCFunction)(void (*)(void))call_hook, METH_FASTCALL, NULL};

static PyObject *
hook(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *called, *traceback;
    if (!PyArg_ParseTuple(args, "OO:hook", &called, &traceback)) {
        return NULL;
    }
    return PyCFunction_New(&call_hook_function, args);
}

/* ---- what is ours amid the program ---- */

static PyObject *
call_untraced(PyObject *function, PyObject *const *args, size_t n)
{
    PyThreadState *tstate = PyThreadState_Get();
    begin_unseen(tstate);
    PyObject *result = PyObject_Vectorcall(function, args, n, NULL);
    end_unseen(tstate);
    return result;
}

static PyObject *
call_unseen(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args < 1) {
        return PyErr_Format(PyExc_TypeError, "call_unseen: expected a function");
    }
    return call_untraced(args[0], args + 1, (size_t)n_args - 1);
}

/* A method in place of `usual`, which it calls with what it is given, and whose attributes it has. Then `next` is called
   with that and what came of it, unseen, and gives the result. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *usual, *next;
} Then;

static PyObject *
then_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    enum { MOST = 8 };
    Then *self = (Then *)callable;
    size_t n = (size_t)PyVectorcall_NARGS(nargsf);
    PyObject *made = PyObject_Vectorcall(self->usual, args, n, names), *all[MOST] = {made};
    if (made == NULL || names != NULL || n >= MOST) {
        return made; /* of a call in another form than importlib's the result stays as it is */
    }
    memcpy(all + 1, args, n * sizeof *args);
    PyObject *result = call_untraced(self->next, all, n + 1);
    Py_DECREF(made);
    return result;
}

static PyObject *
then_bind(PyObject *self, PyObject *object, PyObject *Py_UNUSED(type))
{
    return object == NULL ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *
then_attribute(PyObject *self, PyObject *name)
{
    return PyObject_GetAttr(((Then *)self)->usual, name);
}

static void
then_dealloc(PyObject *object)
{
    Then *self = (Then *)object;
    Py_XDECREF(self->usual);
    Py_XDECREF(self->next);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *
then_new(PyTypeObject *type, PyObject *args, PyObject *Py_UNUSED(kwargs))
{
    PyObject *usual, *next;
    if (!PyArg_ParseTuple(args, "OO:Then", &usual, &next)) {
        return NULL;
    }
    Then *self = (Then *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = then_call;
        self->usual = Py_NewRef(usual);
        self->next = Py_NewRef(next);
    }
    return (PyObject *)self;
}

static PyTypeObject then_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._first.Then",
    .tp_doc = "Then(usual, next): a method that gives next(usual(*args), *args), where a tracer sees `usual` alone.",
    .tp_basicsize = sizeof(Then),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(Then, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_descr_get = then_bind,
    .tp_getattro = then_attribute,
    .tp_dealloc = then_dealloc,
    .tp_new = then_new,
};

static PyMethodDef functions[] = {
    {"call_first", (PyCFunction)(void (*)(void))call_first, METH_FASTCALL,
     "call_first(function, *args): the result of the call, with no frame below its own."},
    {"run_file", run_file, METH_VARARGS, "run_file(path, globals): run a file as python does, by its parser of files."},
    {"hook", hook, METH_VARARGS,
     "hook(called, traceback): what calls the sys.excepthook `called`, which finds that traceback and no frame of ours."},
    {"leave_unseen", leave_unseen, METH_O,
     "leave_unseen(code): nobody sees what runs from the end of `call_first` to that of the frame with this code."},
    {"call_unseen", (PyCFunction)(void (*)(void))call_unseen, METH_FASTCALL,
     "call_unseen(function, *args): call it with no tracer, and room for its frames."},
    {NULL, NULL, 0, NULL},
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dynamo_lite._first",
    .m_doc = "How a program that is run as a whole begins and ends: see dynamo_lite/_first.pyi.",
    .m_size = -1,
    .m_methods = functions,
};

PyMODINIT_FUNC
PyInit__first(void)
{
    PyObject *module = PyModule_Create(&definition);
    if (module != NULL && PyModule_AddType(module, &then_type) < 0) {
        Py_CLEAR(module);
    }
    return module;
}
