/* Interrupts while dynamo_lite's own code runs (see interrupts.h). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <time.h>

#include "eval_hook.h"
#include "interrupts.h"

enum {
    PATIENCE_NS = 50000000,        /* for how long interrupts wait for the end of compiling, */
    LOOP_PATIENCE_NS = 1000000000, /* and for a loop of code that runs plainly */
};

static _Thread_local DlDeferral *current; /* the innermost one of this thread */
static PyObject *stand_in;                /* owned: a Python function that does nothing */
static PyObject *interrupted;             /* owned: the exception class with which compiling is abandoned */

static int64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

void
dl_interrupts_defer(DlDeferral *deferral, PyObject *func)
{
    *deferral = (DlDeferral){.outer = current, .func = func};
    if (func != NULL) {
        fegetexceptflag(&deferral->flags, FE_ALL_EXCEPT);
    }
    dl_pyframe_keep_interrupts(&deferral->kept);
    current = deferral;
}

PyObject *
dl_interrupts_resume(DlDeferral *deferral, PyObject *result)
{
    if (!deferral->over) {
        current = deferral->outer;
        dl_pyframe_release_interrupts(&deferral->kept);
    }
    if (deferral->func != NULL) {
        fesetexceptflag(&deferral->flags, FE_ALL_EXCEPT); /* NB: the compiler computes, too */
    }
    if (deferral->type == NULL) {
        return result;
    }
    Py_XDECREF(result);
    PyErr_Restore(deferral->type, deferral->value, deferral->traceback);
    return NULL;
}

/* A function that does nothing, with the name and the file of func, at a line of it: a new reference, or NULL. */
static PyObject *
stand_in_for(PyObject *func, int line)
{
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(func);
    PyObject *none = PyFunction_GET_CODE(stand_in), *made = NULL;
    PyObject *replace = PyObject_GetAttrString(none, "replace"), *args = PyTuple_New(0);
    PyObject *parts = Py_BuildValue("{sOsOsOsi}", "co_filename", code->co_filename, "co_name", code->co_name,
                                    "co_qualname", code->co_qualname, "co_firstlineno", line);
    if (replace != NULL && args != NULL && parts != NULL) {
        PyObject *named = PyObject_Call(replace, args, parts);
        made = named ? PyFunction_New(named, PyFunction_GET_GLOBALS(func)) : NULL;
        Py_XDECREF(named);
    }
    Py_XDECREF(replace);
    Py_XDECREF(args);
    Py_XDECREF(parts);
    return made;
}

static int
deliver(PyObject *func, int line)
{
    if (line <= 0) {
        PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(func);
        line = PyCode_Addr2Line(code, 0);
        line = line > 0 ? line : code->co_firstlineno;
    }
    /* NB: the interpreter looks for interrupts when a function begins; handlers and tracebacks see that function. */
    dl_hook_pause();
    PyObject *made = stand_in_for(func, line);
    PyObject *result = made ? PyObject_CallNoArgs(made) : NULL;
    dl_hook_resume();
    Py_XDECREF(made);
    Py_XDECREF(result);
    return result == NULL ? -1 : 0;
}

int
dl_interrupts_deliver(PyObject *func)
{
    return deliver(func, 0);
}

/* Let in what waits: 0, or -1 with Interrupted set, the exception being noted. */
static int
let_in(DlDeferral *deferral)
{
    deferral->noticed = 0;
    current = NULL; /* what handlers do is none of our own code */
    dl_pyframe_release_interrupts(&deferral->kept);
    int status = deliver(deferral->func, deferral->line);
    dl_pyframe_keep_interrupts(&deferral->kept);
    current = deferral;
    if (status < 0) {
        PyErr_Fetch(&deferral->type, &deferral->value, &deferral->traceback);
        PyErr_SetNone(interrupted);
    }
    return status;
}

/* safe_point(): where compiling can be abandoned; lets interrupts in that have waited for long. */
static PyObject *
safe_point(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    DlDeferral *deferral = current;
    if (deferral == NULL || deferral->func == NULL || deferral->type != NULL || !dl_pyframe_has_kept(&deferral->kept)) {
        Py_RETURN_NONE;
    }
    int64_t time = now();
    if (deferral->noticed == 0) {
        deferral->noticed = time;
    }
    if (time - deferral->noticed >= PATIENCE_NS && let_in(deferral) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* uninterrupted(function, *args): the result of the call, during which interrupts wait. */
static PyObject *
uninterrupted(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n_args)
{
    if (n_args < 1) {
        return PyErr_Format(PyExc_TypeError, "uninterrupted: expected a function");
    }
    DlDeferral deferral;
    dl_interrupts_defer(&deferral, NULL);
    return dl_interrupts_resume(&deferral, PyObject_Vectorcall(args[0], args + 1, (size_t)(n_args - 1), NULL));
}

/* let_in(): called by residual code that has stored what its program left to it. */
static PyObject *
let_in_now(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    DlDeferral *deferral = current;
    if (deferral != NULL && deferral->func == NULL && !deferral->to_the_end && !deferral->to_loop) {
        deferral->over = 1;
        current = deferral->outer;
        dl_pyframe_release_interrupts(&deferral->kept);
    }
    Py_RETURN_NONE;
}

/* ---- what is raised later ---- */

static PyObject *later; /* owned: the exception, or NULL */

static int
raise_now(void *Py_UNUSED(nothing))
{
    PyObject *error = later;
    later = NULL;
    dl_pyframe_raises_later = 0;
    PyErr_Restore(Py_NewRef(Py_TYPE(error)), error, PyException_GetTraceback(error));
    return -1;
}

int
dl_interrupts_raise_later(void)
{
    PyObject *type, *value, *traceback;
    if (later != NULL) {
        return -1;
    }
    PyErr_Fetch(&type, &value, &traceback);
    PyErr_NormalizeException(&type, &value, &traceback);
    int failed = 0;
    if (!dl_pyframe_handles_signals()) { /* another thread has sent it, which sends a class */
        failed = PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), type) != 1;
    }
    else if (Py_AddPendingCall(raise_now, NULL) < 0) {
        failed = 1;
    }
    else {
        PyTracebackObject *stand_in_first = (PyTracebackObject *)traceback;
        PyObject *rest = traceback && stand_in_first->tb_next ? (PyObject *)stand_in_first->tb_next : Py_None;
        PyException_SetTraceback(value, rest);
        later = Py_NewRef(value);
        dl_pyframe_raises_later = 1;
    }
    if (failed) {
        PyErr_Restore(type, value, traceback);
        return -1;
    }
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    return 0;
}

/* ---- the loop of a plain frame that interrupts wait for ---- */

void
dl_interrupts_defer_to_loop(DlDeferral *deferral, int number)
{
    dl_interrupts_defer(deferral, NULL);
    deferral->to_loop = number;
    deferral->since = now();
}

static void
let_in_loop(DlDeferral *deferral)
{
    deferral->over = 1;
    current = deferral->outer;
    dl_pyframe_release_interrupts(&deferral->kept);
}

void
dl_interrupts_go_round(void)
{
    if (current != NULL && current->to_loop > 0 && now() - current->since > LOOP_PATIENCE_NS) {
        let_in_loop(current);
    }
}

static int
loop_begins(PyObject *Py_UNUSED(self))
{
    if (current != NULL && current->to_loop > 0 && --current->to_loop == 0) {
        let_in_loop(current);
    }
    return 0;
}

static PyNumberMethods loop_begins_number = {.nb_bool = loop_begins};

static PyTypeObject loop_begins_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.LoopBegins",
    .tp_doc = "LOOP_BEGINS is asked in front of a loop, says no, and lets in what waits for that.",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_as_number = &loop_begins_number,
};

/* hold_interrupts(): where the user's code handles what is raised, nothing is let in before this stretch ends. */
static PyObject *
hold_interrupts(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    if (current != NULL) {
        current->func = NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef dl_interrupts_functions[] = {
    {"hold_interrupts", hold_interrupts, METH_NOARGS,
     "hold_interrupts(): safe points let nothing in from here on, until the user's code goes on."},
    {"let_in", let_in_now, METH_NOARGS, "let_in(): what waited while residual code stored is let in."},
    {"uninterrupted", (PyCFunction)(void (*)(void))uninterrupted, METH_FASTCALL,
     "uninterrupted(function, *args): call it; signals' handlers and exceptions of other threads wait for its end."},
    {"safe_point", safe_point, METH_NOARGS,
     "safe_point(): nothing is half done here; raises Interrupted where a signal handler raises that has waited long."},
    {NULL, NULL, 0, NULL},
};

int
dl_interrupts_register(PyObject *module)
{
    if (stand_in == NULL) {
        PyObject *globals = PyDict_New();
        PyObject *function = globals ? PyRun_String("lambda: None", Py_eval_input, globals, globals) : NULL;
        Py_XDECREF(globals);
        stand_in = function;
        interrupted = PyErr_NewExceptionWithDoc("dynamo_lite._C.Interrupted", "Compiling is abandoned: an interrupt raised.",
                                                PyExc_BaseException, NULL);
    }
    if (PyType_Ready(&loop_begins_type) < 0) {
        return -1;
    }
    PyObject *asked = PyType_GenericAlloc(&loop_begins_type, 0);
    int failed = asked == NULL || PyModule_AddObjectRef(module, "LOOP_BEGINS", asked) < 0;
    Py_XDECREF(asked);
    if (failed || stand_in == NULL || interrupted == NULL || PyModule_AddObjectRef(module, "Interrupted", interrupted) < 0) {
        return -1;
    }
    return 0;
}
