/* CompiledFunction: what dynamo_lite.compile(fn) hands out.

   Its vectorcall turns a call's arguments into the argument slots of fn's frame, as Python would, and dispatches. An
   exact positional call needs no binding: the slots are the caller's arguments just where they lie. Where binding
   meets anything unusual fn itself is called, so that every TypeError is Python's own. fn's code, defaults and
   keyword defaults are read at each call. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include "callable.h"
#include "dispatch.h"
#include "eval_hook.h"
#include "interrupts.h"
#include "memory/memory.h"
#include "pyframe.h"

enum { SMALL_SLOTS = 16 };

typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *fn, *on_miss, *name;
    PyObject *on_end; /* called when the object dies; or NULL */
    PyCodeObject *code; /* of fn when last looked at, with its cache: saves the look-up */
    DlCache *cache;
    PyObject *dict, *weakrefs;
    DlHookWatch watch; /* of calls of an fn that is no Python function */
    char enabled; /* false: every call runs plainly */
    char judged;  /* plain calls whose callees are compiled are timed, too */
} DlCompiledFunction;

/* ---- binding ---- */

/* The index of keyword `name` among the parameters that may be passed by keyword; -1 unknown, -2 ask Python. */
static Py_ssize_t
find_parameter(PyCodeObject *code, PyObject *name)
{
    PyObject *names = dl_pyframe_slot_names(code);
    Py_ssize_t end = (Py_ssize_t)code->co_argcount + code->co_kwonlyargcount;
    for (Py_ssize_t i = code->co_posonlyargcount; i < end; i++) {
        if (PyTuple_GET_ITEM(names, i) == name) {
            return i;
        }
    }
    if (!PyUnicode_CheckExact(name)) {
        return -2; /* a subclass may have its own __eq__ */
    }
    for (Py_ssize_t i = code->co_posonlyargcount; i < end; i++) {
        if (PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0) {
            return i;
        }
    }
    return -1;
}

/* Put the keyword arguments into slots; extra (or NULL): the dict of **kwargs. 1 bound, 0 ask Python, -1 error. */
static int
bind_keywords(PyCodeObject *code, PyObject *const *values, PyObject *kwnames, PyObject **slots, PyObject *extra)
{
    Py_ssize_t n = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
    for (Py_ssize_t k = 0; k < n; k++) {
        PyObject *name = PyTuple_GET_ITEM(kwnames, k);
        Py_ssize_t i = find_parameter(code, name);
        if (i >= 0) {
            if (slots[i] != NULL) {
                return 0;
            }
            slots[i] = Py_NewRef(values[k]);
        }
        else if (i == -2 || extra == NULL) {
            return 0;
        }
        else if (PyDict_SetItem(extra, name, values[k]) < 0) {
            return -1;
        }
    }
    return 1;
}

/* Fill empty slots from fn's defaults: 1 all are bound, 0 ask Python, -1 error. */
static int
bind_defaults(PyFunctionObject *fn, PyCodeObject *code, PyObject **slots)
{
    Py_ssize_t argcount = code->co_argcount, end = argcount + code->co_kwonlyargcount;
    PyObject *defaults = fn->func_defaults;
    Py_ssize_t first = argcount - (defaults ? PyTuple_GET_SIZE(defaults) : 0);
    if (first < 0) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < argcount; i++) {
        if (slots[i] == NULL) {
            if (i < first) {
                return 0;
            }
            slots[i] = Py_NewRef(PyTuple_GET_ITEM(defaults, i - first));
        }
    }
    for (Py_ssize_t i = argcount; i < end; i++) {
        if (slots[i] == NULL) {
            if (fn->func_kwdefaults == NULL) {
                return 0;
            }
            PyObject *value =
                PyDict_GetItemWithError(fn->func_kwdefaults, PyTuple_GET_ITEM(dl_pyframe_slot_names(code), i));
            if (value == NULL) {
                return PyErr_Occurred() ? -1 : 0;
            }
            slots[i] = Py_NewRef(value);
        }
    }
    return 1;
}

/* Bind a call as Python does into zeroed slots, which get strong references: 1 bound, 0 ask Python, -1 error. */
static int
bind(PyFunctionObject *fn, PyCodeObject *code, PyObject *const *args, Py_ssize_t n_args, PyObject *kwnames,
     PyObject **slots)
{
    Py_ssize_t argcount = code->co_argcount, next = argcount + code->co_kwonlyargcount;
    Py_ssize_t n_named = n_args < argcount ? n_args : argcount;
    PyObject *extra = NULL;
    for (Py_ssize_t i = 0; i < n_named; i++) {
        slots[i] = Py_NewRef(args[i]);
    }
    if (code->co_flags & CO_VARARGS) {
        PyObject *rest = slots[next++] = PyTuple_New(n_args - n_named);
        if (rest == NULL) {
            return -1;
        }
        for (Py_ssize_t i = n_named; i < n_args; i++) {
            PyTuple_SET_ITEM(rest, i - n_named, Py_NewRef(args[i]));
        }
    }
    else if (n_args > n_named) {
        return 0;
    }
    if (code->co_flags & CO_VARKEYWORDS) {
        extra = slots[next++] = PyDict_New();
        if (extra == NULL) {
            return -1;
        }
    }
    int bound = bind_keywords(code, args + n_args, kwnames, slots, extra);
    return bound == 1 ? bind_defaults(fn, code, slots) : bound;
}

/* ---- the call ---- */

/* Dispatch a call that needs binding: DL_PLAIN when fn itself is to be called. */
static DlOutcome
bind_and_dispatch(DlCompiledFunction *self, DlCache *cache, PyCodeObject *code, PyObject *const *args,
                  Py_ssize_t n_args, PyObject *kwnames, PyObject **value)
{
    PyObject *small[SMALL_SLOTS], **slots = small;
    Py_ssize_t n_slots = cache->n_slots;
    if (n_slots > SMALL_SLOTS) {
        slots = PyMem_New(PyObject *, n_slots);
        if (slots == NULL) {
            PyErr_NoMemory();
            return DL_ERROR;
        }
    }
    memset(slots, 0, (size_t)n_slots * sizeof *slots);
    int bound = bind((PyFunctionObject *)self->fn, code, args, n_args, kwnames, slots);
    DlOutcome outcome = bound < 0 ? DL_ERROR : DL_PLAIN;
    if (bound > 0) {
        outcome = dl_dispatch(cache, self->fn, slots, n_slots, self->on_miss, value);
    }
    for (Py_ssize_t i = 0; i < n_slots; i++) {
        Py_XDECREF(slots[i]);
    }
    if (slots != small) {
        PyMem_Free(slots);
    }
    return outcome;
}

/* Remember the code object of fn and its cache: the cache, or NULL with an error set. */
static DlCache *
look_up_cache(DlCompiledFunction *self, PyCodeObject *code)
{
    DlCache *cache = dl_cache_get(code);
    if (cache != NULL) {
        Py_INCREF(code);
        Py_INCREF(cache);
        Py_XSETREF(self->code, code);
        Py_XSETREF(self->cache, cache);
    }
    return cache;
}

/* Call fn plainly, with the frames of its callees shown to the hook where that brings something.

   watch: has noted what it brought; owner: what it is a part of. */
static PyObject *
call_plainly(DlCompiledFunction *self, DlHookWatch *watch, PyObject *owner, PyObject *const *args, size_t nargsf,
             PyObject *kwnames)
{
    DlHookScope scope = {0};
    if (!dl_hook_try(watch, &scope, self->on_miss)) {
        return dl_hook_call_plainly(self->fn, args, nargsf, kwnames, 0);
    }
    uint64_t gains = dl_thread.gains;
    Py_INCREF(owner);
    PyObject *value = dl_hook_call_plainly(self->fn, args, nargsf, kwnames, 0);
    dl_hook_leave(&scope);
    dl_hook_judge(watch, gains);
    if (dl_thread.gains != gains && self->judged && Py_TYPE(owner) != Py_TYPE(self)) {
        dl_cache_trials((DlCache *)owner, self->on_miss);
    }
    Py_DECREF(owner);
    return value;
}

/* Run fn, whose code and cache are given: compiled, or plainly with its callees compiled. */
static PyObject *
run(DlCompiledFunction *self, PyCodeObject *code, DlCache *cache, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    Py_ssize_t n_args = PyVectorcall_NARGS(nargsf);
    int exact = n_args == cache->n_exact && kwnames == NULL;
    if (exact && cache->plain.streak >= DL_BARREN
        && dl_dispatch_stays_plain(cache, args, n_args, self->on_miss)) {
        return call_plainly(self, &cache->watch, (PyObject *)cache, args, nargsf, kwnames);
    }
    /* NB: with a tracer or debugger at work the user's own frame must be seen running. */
    if (cache->uncapturable || dl_pyframe_is_traced(PyThreadState_Get(), code)) {
        return dl_hook_call_plainly(self->fn, args, nargsf, kwnames, 0);
    }
    PyObject *value;
    DlOutcome outcome;
    if (exact) {
        outcome = dl_dispatch(cache, self->fn, args, n_args, self->on_miss, &value);
    }
    else {
        outcome = bind_and_dispatch(self, cache, code, args, n_args, kwnames, &value);
    }
    if (outcome != DL_PLAIN) {
        return outcome == DL_RAN ? value : NULL;
    }
    if (dl_thread.why_plain != DL_REASON_PUT_OFF) {
        return call_plainly(self, &cache->watch, (PyObject *)cache, args, nargsf, kwnames);
    }
    DlHeating heating;
    Py_INCREF(cache);
    dl_cache_start_heating(&heating, 0);
    value = call_plainly(self, &cache->watch, (PyObject *)cache, args, nargsf, kwnames);
    dl_cache_end_heating(cache, &heating);
    Py_DECREF(cache);
    return value;
}

/* run() for calls that more than one program serves: they are timed, and where they lose fn itself is called. */
static PyObject *
run_tried(DlCompiledFunction *self, PyCodeObject *code, DlCache *cache, PyObject *const *args, size_t nargsf,
          PyObject *kwnames)
{
    Py_ssize_t n = PyVectorcall_NARGS(nargsf) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
    DlTrial *trial = dl_trial_of(cache->trials->trials, args, n);
    DlChoice choice = dl_trial_choose(trial);
    int is_timed = choice == DL_TRY_COMPILED_TIMED || choice == DL_TRY_PLAIN_TIMED;
    DlStopwatch stopwatch;
    PyObject *value;
    Py_INCREF(cache);
    if (is_timed) {
        dl_stopwatch_start(&stopwatch);
    }
    if (choice == DL_TRY_PLAIN || choice == DL_TRY_PLAIN_TIMED) {
        DL_COUNT(cache, plain_calls);
        int was_aside = dl_hook_step_aside();
        value = dl_hook_call_plainly(self->fn, args, nargsf, kwnames, 0);
        dl_hook_step_back(was_aside);
    }
    else {
        value = run(self, code, cache, args, nargsf, kwnames);
    }
    if (is_timed) {
        dl_trial_note(trial, choice, &stopwatch, value != NULL ? DL_ENDS : DL_ENDS_RAISING);
    }
    Py_DECREF(cache);
    return value;
}

/* fast(*args, **kwargs), where it is enabled. */
static inline PyObject *
call(DlCompiledFunction *self, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    PyObject *fn = self->fn;
    if (!PyFunction_Check(fn)) { /* a class, a partial, an object with __call__: the functions it calls are compiled */
        return call_plainly(self, &self->watch, (PyObject *)self, args, nargsf, kwnames);
    }
    PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(fn);
    DlCache *cache = self->cache;
    if (code != self->code && (cache = look_up_cache(self, code)) == NULL) {
        return NULL;
    }
    if (cache->trials != NULL && cache->trials->owner == self->on_miss && dl_stress == DL_STRESS_NONE) {
        return run_tried(self, code, cache, args, nargsf, kwnames);
    }
    return run(self, code, cache, args, nargsf, kwnames);
}

/* fast(*args, **kwargs). */
static PyObject *
compiled_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    DlCompiledFunction *self = (DlCompiledFunction *)callable;
    if (!self->enabled || dl_force_plain) {
        return dl_hook_call_plainly(self->fn, args, nargsf, kwnames, 0);
    }
    dl_memory_enter();
    PyObject *value = call(self, args, nargsf, kwnames);
    dl_memory_leave();
    return value;
}

/* Before __init__ there is nothing to call. */
static PyObject *
uninitialized_vectorcall(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)args, (void)nargsf, (void)kwnames;
    PyErr_Format(PyExc_RuntimeError, "%.100s.__init__() has not been called", Py_TYPE(callable)->tp_name);
    return NULL;
}

/* ---- the object ---- */

static PyObject *
compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs; /* for __init__, which a subclass may give another signature */
    DlCompiledFunction *self = (DlCompiledFunction *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = uninitialized_vectorcall;
        self->enabled = 1;
    }
    return (PyObject *)self;
}

/* Copy attribute `name` of fn into dict, if fn has it: 0, or -1 with an error set. */
static int
copy_attribute(PyObject *dict, PyObject *fn, const char *name)
{
    PyObject *value = PyObject_GetAttrString(fn, name);
    if (value == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_AttributeError)) {
            return -1;
        }
        PyErr_Clear();
        return 0;
    }
    int status = PyDict_SetItemString(dict, name, value);
    Py_DECREF(value);
    return status;
}

/* What functools.wraps does: the dict of a new CompiledFunction of fn, or NULL with an error set. */
static PyObject *
wrapper_dict(PyObject *fn)
{
    static const char *const names[] = {"__module__", "__name__", "__qualname__", "__doc__", "__annotations__",
                                        "__type_params__"};
    PyObject *dict = PyDict_New(), *theirs = NULL;
    if (dict == NULL) {
        return NULL;
    }
    theirs = PyObject_GetAttrString(fn, "__dict__");
    if (theirs == NULL ? !PyErr_ExceptionMatches(PyExc_AttributeError) : PyDict_Update(dict, theirs) < 0) {
        goto fail;
    }
    PyErr_Clear();
    for (size_t i = 0; i < Py_ARRAY_LENGTH(names); i++) {
        if (copy_attribute(dict, fn, names[i]) < 0) {
            goto fail;
        }
    }
    if (PyDict_SetItemString(dict, "__wrapped__", fn) < 0) {
        goto fail;
    }
    Py_XDECREF(theirs);
    return dict;
fail:
    Py_XDECREF(theirs);
    Py_DECREF(dict);
    return NULL;
}

/* CompiledFunction(fn, on_miss, name). */
static int
compiled_init(DlCompiledFunction *self, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"fn", "on_miss", "name", NULL};
    PyObject *fn, *on_miss, *name;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:CompiledFunction", names, &fn, &on_miss, &name)) {
        return -1;
    }
    if (self->fn != NULL) {
        PyErr_SetString(PyExc_RuntimeError, "a CompiledFunction is initialized once");
        return -1;
    }
    if (!PyCallable_Check(fn) || !PyCallable_Check(on_miss)) {
        PyErr_SetString(PyExc_TypeError, "CompiledFunction: fn and on_miss must be callable");
        return -1;
    }
    PyObject *dict = wrapper_dict(fn);
    if (dict == NULL) {
        return -1;
    }
    if (self->dict != NULL && PyDict_Update(dict, self->dict) < 0) { /* what a subclass has set already */
        Py_DECREF(dict);
        return -1;
    }
    Py_XSETREF(self->dict, dict);
    self->fn = Py_NewRef(fn);
    self->on_miss = Py_NewRef(on_miss);
    self->name = Py_NewRef(name);
    self->vectorcall = compiled_vectorcall;
    return 0;
}

/* Let on_end forget what was compiled.
 * NB: what is raised in a destructor is lost, so an interrupt waits. */
static void
compiled_finalize(PyObject *object)
{
    DlCompiledFunction *self = (DlCompiledFunction *)object;
    PyObject *on_end = self->on_end;
    self->on_end = NULL;
    if (on_end == NULL || dl_pyframe_is_finalizing()) {
        Py_XDECREF(on_end);
        return;
    }
    PyObject *type, *value, *traceback;
    DlDeferral deferral;
    PyErr_Fetch(&type, &value, &traceback);
    dl_hook_pause();
    dl_interrupts_defer(&deferral, NULL);
    PyObject *result = PyObject_CallNoArgs(on_end);
    if (result == NULL) {
        PyErr_WriteUnraisable(on_end);
    }
    Py_XDECREF(result);
    Py_DECREF(on_end);
    dl_interrupts_resume(&deferral, NULL);
    dl_hook_resume();
    PyErr_Restore(type, value, traceback);
}

static int
compiled_traverse(DlCompiledFunction *self, visitproc visit, void *arg)
{
    Py_VISIT(self->on_end);
    Py_VISIT(self->fn);
    Py_VISIT(self->on_miss);
    Py_VISIT(self->name);
    Py_VISIT(self->dict);
    return 0;
}

static int
compiled_clear(DlCompiledFunction *self)
{
    self->vectorcall = uninitialized_vectorcall;
    Py_CLEAR(self->on_end);
    Py_CLEAR(self->fn);
    Py_CLEAR(self->on_miss);
    Py_CLEAR(self->name);
    Py_CLEAR(self->dict);
    Py_CLEAR(self->code);
    Py_CLEAR(self->cache);
    return 0;
}

static void
compiled_dealloc(DlCompiledFunction *self)
{
    if (PyObject_CallFinalizerFromDealloc((PyObject *)self) < 0) {
        return;
    }
    PyObject_GC_UnTrack(self);
    if (self->weakrefs != NULL) {
        PyObject_ClearWeakRefs((PyObject *)self);
    }
    compiled_clear(self);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
compiled_get(PyObject *self, PyObject *object, PyObject *type)
{
    (void)type;
    return object == NULL || object == Py_None ? Py_NewRef(self) : PyMethod_New(self, object);
}

static PyObject *
compiled_repr(DlCompiledFunction *self)
{
    return PyUnicode_FromFormat("<compiled %R>", self->fn ? self->fn : Py_None);
}

/* Pickled and copied as a function is: by its qualified name. */
static PyObject *
compiled_reduce(DlCompiledFunction *self, PyObject *unused)
{
    (void)unused;
    return PyObject_GetAttrString((PyObject *)self, "__qualname__");
}

/* Give a Python subclass the fast calls of this type, which CPython does not let mutable types inherit.

   The flags promise that a call means `vectorcall` and that tp_descr_get makes methods, which holds as long as
   neither is overridden. */
static PyObject *
compiled_init_subclass(PyObject *cls, PyObject *unused)
{
    (void)unused;
    PyTypeObject *type = (PyTypeObject *)cls;
    if (type->tp_call == PyVectorcall_Call && type->tp_vectorcall_offset == offsetof(DlCompiledFunction, vectorcall)) {
        type->tp_flags |= Py_TPFLAGS_HAVE_VECTORCALL;
        if (type->tp_descr_get == compiled_get) {
            type->tp_flags |= Py_TPFLAGS_METHOD_DESCRIPTOR;
        }
        PyType_Modified(type);
    }
    Py_RETURN_NONE;
}

/* Attributes of functions that are fn's own, for reading and writing; closure: the name. */
static PyObject *
get_of_fn(DlCompiledFunction *self, void *name)
{
    if (self->fn == NULL) {
        return PyErr_Format(PyExc_AttributeError, "%s", (const char *)name);
    }
    return PyObject_GetAttrString(self->fn, name);
}

static int
set_of_fn(DlCompiledFunction *self, PyObject *value, void *name)
{
    if (self->fn == NULL) {
        PyErr_Format(PyExc_AttributeError, "%s", (const char *)name);
        return -1;
    }
    return PyObject_SetAttrString(self->fn, name, value); /* value NULL deletes */
}

#define OF_FN(name) {name, (getter)get_of_fn, (setter)set_of_fn, NULL, (void *)name}
static PyGetSetDef compiled_getset[] = {
    OF_FN("__code__"),
    OF_FN("__defaults__"),
    OF_FN("__kwdefaults__"),
    OF_FN("__globals__"),
    OF_FN("__closure__"),
    OF_FN("__builtins__"),
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef compiled_members[] = {
    {"fn", T_OBJECT, offsetof(DlCompiledFunction, fn), READONLY, "the function that is called"},
    {"on_miss", T_OBJECT, offsetof(DlCompiledFunction, on_miss), READONLY, "asked when no CacheEntry passes"},
    {"name", T_OBJECT, offsetof(DlCompiledFunction, name), READONLY, "the name given to compile()"},
    {"on_end", T_OBJECT, offsetof(DlCompiledFunction, on_end), 0, "called without arguments when the object dies"},
    {"judged", T_BOOL, offsetof(DlCompiledFunction, judged), 0, "True: plain calls whose callees are compiled are timed"},
    {"enabled", T_BOOL, offsetof(DlCompiledFunction, enabled), 0, "False: every call just calls the function"},
    {NULL, 0, 0, 0, NULL},
};

static PyMethodDef compiled_methods[] = {
    {"__reduce__", (PyCFunction)compiled_reduce, METH_NOARGS, NULL},
    {"__init_subclass__", compiled_init_subclass, METH_NOARGS | METH_CLASS, NULL},
    /* For annotations: CompiledFunction[[int], float]. */
    {"__class_getitem__", Py_GenericAlias, METH_O | METH_CLASS, NULL},
    {NULL, NULL, 0, NULL},
};

PyTypeObject dl_compiled_function_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.CompiledFunction",
    .tp_doc = "CompiledFunction(fn, on_miss, name): calls fn, through the CacheEntries of its code object.",
    .tp_basicsize = sizeof(DlCompiledFunction),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_VECTORCALL |
                Py_TPFLAGS_METHOD_DESCRIPTOR,
    .tp_vectorcall_offset = offsetof(DlCompiledFunction, vectorcall),
    .tp_dictoffset = offsetof(DlCompiledFunction, dict),
    .tp_weaklistoffset = offsetof(DlCompiledFunction, weakrefs),
    .tp_call = PyVectorcall_Call,
    .tp_new = compiled_new,
    .tp_init = (initproc)compiled_init,
    .tp_dealloc = (destructor)compiled_dealloc,
    .tp_finalize = compiled_finalize,
    .tp_traverse = (traverseproc)compiled_traverse,
    .tp_clear = (inquiry)compiled_clear,
    .tp_descr_get = compiled_get,
    .tp_repr = (reprfunc)compiled_repr,
    .tp_getset = compiled_getset,
    .tp_members = compiled_members,
    .tp_methods = compiled_methods,
};
