/* CPython's private frame machinery, version by version (see pyframe.h).

   PEP 523 evaluators differ in who ends a frame: on 3.11 the caller of the evaluator pops it, from 3.12 the evaluator
   does. 3.12 exports no function for it, so its data-stack discipline is written out here; 3.13 exports one. From 3.14 a
   frame holds tagged references (_PyStackRef), and C recursion is bounded by the stack's address (dl_pyframe_check_stack
   as everywhere here). Interpreters built with tail calls have the same evaluator and the same frames. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "pyframe_core.h"
#include "pyframe.h"

#if PY_VERSION_HEX < 0x030C0000
#define PyUnstable_Eval_RequestCodeExtraIndex _PyEval_RequestCodeExtraIndex
#define PyUnstable_Code_GetExtra _PyCode_GetExtra
#define PyUnstable_Code_SetExtra _PyCode_SetExtra
#endif

Py_ssize_t
dl_pyframe_request_extra(freefunc release)
{
    Py_ssize_t index = PyUnstable_Eval_RequestCodeExtraIndex(release);
    if (index < 0 && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_RuntimeError, "dynamo_lite: no free per-code-object slot (co_extra) in this interpreter");
    }
    return index;
}

void *
dl_pyframe_get_extra(PyCodeObject *code, Py_ssize_t index)
{
    void *value = NULL;
    if (PyUnstable_Code_GetExtra((PyObject *)code, index, &value) < 0) {
        PyErr_Clear(); /* only raised for an object that is no code object */
        return NULL;
    }
    return value;
}

int
dl_pyframe_set_extra(PyCodeObject *code, Py_ssize_t index, void *value)
{
    return PyUnstable_Code_SetExtra((PyObject *)code, index, value);
}

PyObject *
dl_pyframe_slot_names(PyCodeObject *code)
{
    return code->co_localsplusnames;
}

int
dl_pyframe_n_free(PyCodeObject *code)
{
    return code->co_nfreevars;
}

PyObject *
dl_pyframe_own_dict(PyObject *object)
{
#if DL_KNOWN_PYTHON
    if (PyType_HasFeature(Py_TYPE(object), Py_TPFLAGS_MANAGED_DICT)) {
#if PY_VERSION_HEX >= 0x030D0000
        return (PyObject *)_PyObject_GetManagedDict(object);
#else
        /* NB: pycore_object.h clashes with Python.h here. On 3.12 an odd pointer leads to values, which are no dictionary. */
        PyObject *own = ((PyObject **)object)[-3];
        return (uintptr_t)own & 1 ? NULL : own;
#endif
    }
#endif
    PyObject **place = _PyObject_GetDictPtr(object);
    return place == NULL ? NULL : *place;
}

int
dl_pyframe_has_string_keys(PyObject *dict)
{
#if DL_KNOWN_PYTHON
    return ((PyDictObject *)dict)->ma_keys->dk_kind != DICT_KEYS_GENERAL;
#else
    (void)dict;
    return 0;
#endif
}

int
dl_pyframe_is_finalizing(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return Py_IsFinalizing();
#else
    return _Py_IsFinalizing();
#endif
}

int
dl_pyframe_has_other_threads(void)
{
    PyThreadState *newest = PyInterpreterState_ThreadHead(PyInterpreterState_Get());
    return newest != NULL && PyThreadState_Next(newest) != NULL;
}

unsigned long
dl_pyframe_switches(void)
{
#if !DL_KNOWN_PYTHON
    static unsigned long asked; /* nobody knows: any moment it may have */
    return ++asked;
#elif PY_VERSION_HEX >= 0x030C0000
    return PyThreadState_Get()->interp->ceval.gil->switch_number;
#else
    return _PyRuntime.ceval.gil.switch_number;
#endif
}

int
dl_pyframe_is_waited_for(void)
{
#if !DL_KNOWN_PYTHON
    return dl_pyframe_has_other_threads();
#elif PY_VERSION_HEX >= 0x030D0000
    return (_Py_atomic_load_uintptr_relaxed(&PyThreadState_Get()->eval_breaker) & _PY_GIL_DROP_REQUEST_BIT) != 0;
#else
    return _Py_atomic_load_relaxed(&PyThreadState_Get()->interp->ceval.gil_drop_request) != 0;
#endif
}

/* Whether calling func does nothing before it has taken new references to its arguments. */
static int
takes_references_at_once(PyObject *func)
{
#if DL_KNOWN_PYTHON && !defined(Py_REF_DEBUG) /* which counts the references of all objects together */
    static vectorcallfunc usual; /* _PyFunction_Vectorcall, which 3.13 does not export */
    if (usual == NULL) {
        PyCodeObject *code = PyCode_NewEmpty("", "", 1);
        PyObject *globals = PyDict_New(), *any = NULL;
        if (code != NULL && globals != NULL) {
            any = PyFunction_New((PyObject *)code, globals);
        }
        if (any != NULL) {
            usual = ((PyFunctionObject *)any)->vectorcall;
        }
        PyErr_Clear();
        Py_XDECREF(any);
        Py_XDECREF(globals);
        Py_XDECREF(code);
    }
    return PyFunction_Check(func) && ((PyFunctionObject *)func)->vectorcall == usual && dl_pyframe_refusal() == NULL;
#else
    (void)func;
    return 0;
#endif
}

/* Whether _PyEval_Vector will find memory for n arguments before it takes references to them. */
static int
has_room_for(Py_ssize_t n)
{
#if PY_VERSION_HEX >= 0x030E0000
    enum { ON_THE_STACK = 8, POOLED = 64 }; /* from 3.14 an array of tagged references; small ones come from Python's pools */
    if (n > ON_THE_STACK) {
        void *room = n <= POOLED ? PyMem_Malloc((size_t)n * sizeof(void *)) : NULL;
        PyMem_Free(room); /* the next request of this size gets it */
        return room != NULL;
    }
#endif
    (void)n;
    return 1;
}

PyObject *
dl_pyframe_call_handing_over(PyObject *func, PyObject *const *args, Py_ssize_t n_kept, Py_ssize_t n, PyObject *names)
{
    /* NB: _PyEval_Vector first of all increments the count of every argument for the frame, which consumes that count
       whatever happens. So what is handed over is counted one less until then. */
    int at_once = takes_references_at_once(func) && has_room_for(n);
    if (at_once) {
        for (Py_ssize_t i = n_kept; i < n; i++) {
            Py_SET_REFCNT(args[i], Py_REFCNT(args[i]) - 1); /* leaves immortal objects alone, as Py_INCREF does */
        }
    }
    size_t n_unnamed = (size_t)(n - (names == NULL ? 0 : PyTuple_GET_SIZE(names)));
    PyObject *value = PyObject_Vectorcall(func, args, n_unnamed, names);
    if (!at_once) {
        for (Py_ssize_t i = n_kept; i < n; i++) {
            Py_DECREF(args[i]);
        }
    }
    return value;
}

#if !DL_KNOWN_PYTHON

const char *
dl_pyframe_refusal(void)
{
#ifdef Py_GIL_DISABLED
    return "this is a free-threaded build of Python (" PY_VERSION "), and compiled code relies on the GIL. Use the usual "
           "build of CPython 3.11, 3.12, 3.13 or 3.14.";
#else
    return "the frames of this Python (" PY_VERSION ") are not known. Use CPython 3.11, 3.12, 3.13 or 3.14.";
#endif
}

DlEvaluator dl_pyframe_evaluator(void) { return NULL; }
DlEvaluator dl_pyframe_default_evaluator(void) { return NULL; }
void dl_pyframe_set_evaluator(DlEvaluator evaluator) { (void)evaluator; }
PyCodeObject *dl_pyframe_code(DlFrame *frame) { (void)frame; return NULL; }
PyObject *dl_pyframe_function(DlFrame *frame) { (void)frame; return NULL; }
int dl_pyframe_line(DlFrame *frame) { (void)frame; return 0; }
int dl_pyframe_has_own_namespace(DlFrame *frame) { (void)frame; return 0; }
PyObject *const *dl_pyframe_slots(DlFrame *f, PyObject **r, Py_ssize_t n) { (void)f; (void)r; (void)n; return NULL; }
DlFrame *dl_pyframe_running(PyThreadState *tstate) { (void)tstate; return NULL; }
DlFrame *dl_pyframe_hide(PyThreadState *tstate) { (void)tstate; return NULL; }
void dl_pyframe_show(PyThreadState *tstate, DlFrame *hidden) { (void)tstate; (void)hidden; }
DlFrame *dl_pyframe_hide_all(PyThreadState *tstate, int *n) { (void)tstate; *n = 0; return NULL; }
void dl_pyframe_show_all(PyThreadState *tstate, DlFrame *hidden, int n) { (void)tstate; (void)hidden; (void)n; }
void dl_pyframe_lend_frames(PyThreadState *tstate, int n) { (void)tstate; (void)n; }
PyObject *dl_pyframe_take_slot(DlFrame *frame, Py_ssize_t i) { (void)frame; (void)i; return NULL; }
PyObject *dl_pyframe_slot(DlFrame *frame, Py_ssize_t i) { (void)frame; (void)i; return NULL; }
PyObject *dl_pyframe_stack_item(DlFrame *frame, Py_ssize_t i) { (void)frame; (void)i; return NULL; }
int dl_pyframe_leave_behind(DlFrame *frame, PyObject *dict) { (void)frame; (void)dict; return 0; }
void dl_pyframe_clear_state(DlFrame *frame, Py_ssize_t depth) { (void)frame; (void)depth; }
int dl_pyframe_is_untouched(DlFrame *frame) { (void)frame; return 0; }
int dl_pyframe_has_namespace(DlFrame *frame) { (void)frame; return 1; }
void dl_pyframe_discard(PyThreadState *tstate, DlFrame *frame) { (void)tstate; (void)frame; }
int dl_pyframe_has_slots_of(DlFrame *f, PyCodeObject *c) { (void)f; (void)c; return 0; }
int dl_pyframe_replace_code(PyThreadState *t, DlFrame *f, PyCodeObject *c) { (void)t; (void)f; (void)c; return 0; }
int dl_pyframe_is_traced(PyThreadState *t, PyCodeObject *c) { (void)t; (void)c; return 0; }
int dl_pyframe_set_code(PyObject *function, PyObject *code) { return PyObject_SetAttrString(function, "__code__", code); }

#else

const char *
dl_pyframe_refusal(void)
{
    if ((Py_Version >> 16) != (PY_VERSION_HEX >> 16)) {
        return "dynamo_lite._C was built for another CPython version (" PY_VERSION
               ") than the one running: frames are left alone. Rebuild the package with this Python.";
    }
    return NULL;
}

DlEvaluator
dl_pyframe_evaluator(void)
{
    return _PyInterpreterState_GetEvalFrameFunc(PyInterpreterState_Get());
}

DlEvaluator
dl_pyframe_default_evaluator(void)
{
    return _PyEval_EvalFrameDefault;
}

void
dl_pyframe_set_evaluator(DlEvaluator evaluator)
{
    _PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), evaluator);
}

PyCodeObject *
dl_pyframe_code(DlFrame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return (PyCodeObject *)PyStackRef_AsPyObjectBorrow(frame->f_executable);
#elif PY_VERSION_HEX >= 0x030D0000
    return (PyCodeObject *)frame->f_executable; /* an evaluator never meets the None of C-stack frames */
#else
    return frame->f_code;
#endif
}

PyObject *
dl_pyframe_function(DlFrame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    return PyStackRef_AsPyObjectBorrow(frame->f_funcobj);
#elif PY_VERSION_HEX >= 0x030C0000
    return frame->f_funcobj;
#else
    return (PyObject *)frame->f_func;
#endif
}

PyObject *const *
dl_pyframe_slots(DlFrame *frame, PyObject **room, Py_ssize_t n)
{
#if PY_VERSION_HEX >= 0x030E0000
    for (Py_ssize_t i = 0; i < n; i++) {
        room[i] = PyStackRef_AsPyObjectBorrow(frame->localsplus[i]); /* NULL of PyStackRef_NULL */
    }
    return room;
#else
    (void)room, (void)n;
    return frame->localsplus;
#endif
}

/* frame, or the nearest below it that runs Python code: C code that evaluates a frame puts a mark of its own there. */
static DlFrame *
skip_marks(DlFrame *frame)
{
#if PY_VERSION_HEX >= 0x030E0000
    while (frame != NULL && frame->owner >= FRAME_OWNED_BY_INTERPRETER) {
        frame = frame->previous;
    }
#elif PY_VERSION_HEX >= 0x030C0000
    while (frame != NULL && frame->owner == FRAME_OWNED_BY_CSTACK) {
        frame = frame->previous;
    }
#endif
    return frame;
}

/* The frame on top of the chain, as CPython keeps it. */
static DlFrame **
top_of(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030D0000
    return &tstate->current_frame;
#else
    return &tstate->cframe->current_frame;
#endif
}

DlFrame *
dl_pyframe_running(PyThreadState *tstate)
{
    return skip_marks(*top_of(tstate));
}

/* Python's count of nested frames. */
#if PY_VERSION_HEX >= 0x030C0000
#define FRAMES_LEFT py_recursion_remaining
#define MOST_FRAMES py_recursion_limit
#else
#define FRAMES_LEFT recursion_remaining
#define MOST_FRAMES recursion_limit
#endif

DlFrame *
dl_pyframe_hide(PyThreadState *tstate)
{
    tstate->FRAMES_LEFT++;
    DlFrame **top = top_of(tstate), *hidden = *top;
    *top = skip_marks(hidden->previous); /* NB: faulthandler expects no two of them in a row */
    return hidden;
}

void
dl_pyframe_show(PyThreadState *tstate, DlFrame *hidden)
{
    tstate->FRAMES_LEFT--;
    *top_of(tstate) = hidden;
}

DlFrame *
dl_pyframe_hide_all(PyThreadState *tstate, int *n)
{
    *n = tstate->MOST_FRAMES - tstate->FRAMES_LEFT;
    tstate->FRAMES_LEFT += *n;
    DlFrame **top = top_of(tstate), *hidden = *top;
    *top = NULL;
    return hidden;
}

void
dl_pyframe_show_all(PyThreadState *tstate, DlFrame *hidden, int n)
{
    tstate->FRAMES_LEFT -= n; /* NB: sys.setrecursionlimit() has kept how many are nested */
    *top_of(tstate) = hidden;
}

void
dl_pyframe_lend_frames(PyThreadState *tstate, int n)
{
    tstate->FRAMES_LEFT += n;
}

#if PY_VERSION_HEX < 0x030E0000 /* slots hold objects, not tagged references */
typedef PyObject *_PyStackRef;
#define PyStackRef_NULL NULL
#define PyStackRef_None Py_NewRef(Py_None)
#define PyStackRef_IsNull(ref) ((ref) == NULL)
#define PyStackRef_AsPyObjectSteal(ref) (ref)
#define PyStackRef_AsPyObjectNew(ref) Py_NewRef(ref)
#define PyStackRef_XCLOSE(ref) Py_XDECREF(ref)
#endif

PyObject *
dl_pyframe_take_slot(DlFrame *frame, Py_ssize_t i)
{
    _PyStackRef taken = frame->localsplus[i];
    frame->localsplus[i] = PyStackRef_NULL;
    return PyStackRef_IsNull(taken) ? NULL : PyStackRef_AsPyObjectSteal(taken);
}

PyObject *
dl_pyframe_slot(DlFrame *frame, Py_ssize_t i)
{
    return PyStackRef_IsNull(frame->localsplus[i]) ? NULL : PyStackRef_AsPyObjectNew(frame->localsplus[i]);
}

PyObject *
dl_pyframe_stack_item(DlFrame *frame, Py_ssize_t i)
{
    /* NB: the interpreter keeps the stack pointer in a register while the frame runs, but the items in memory. */
    _PyStackRef item = frame->localsplus[dl_pyframe_code(frame)->co_nlocalsplus + i];
    return PyStackRef_IsNull(item) ? NULL : PyStackRef_AsPyObjectNew(item);
}

/* Put `value` in slot i of frame, and let go of what was there. */
static void
set_slot(DlFrame *frame, Py_ssize_t i, _PyStackRef value)
{
    _PyStackRef old = frame->localsplus[i];
    frame->localsplus[i] = value;
    PyStackRef_XCLOSE(old);
}

int
dl_pyframe_leave_behind(DlFrame *frame, PyObject *dict)
{
    if (frame->frame_obj != NULL) { /* which somebody may keep */
        return 0;
    }
    Py_XSETREF(frame->f_locals, Py_NewRef(dict));
    return 1;
}

void
dl_pyframe_clear_state(DlFrame *frame, Py_ssize_t depth)
{
    PyCodeObject *code = dl_pyframe_code(frame);
    for (Py_ssize_t i = 0; i < depth; i++) {
        set_slot(frame, code->co_nlocalsplus + i, PyStackRef_None);
    }
    for (Py_ssize_t i = 0; i < code->co_nlocalsplus - code->co_nfreevars; i++) {
        set_slot(frame, i, PyStackRef_NULL);
    }
}

/* Where the instruction pointer of a frame that has not started stands. */
static _Py_CODEUNIT *
start_of(PyCodeObject *code)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _PyCode_CODE(code);
#else
    return _PyCode_CODE(code) - 1;
#endif
}

/* The place of frame's instruction pointer. */
static _Py_CODEUNIT **
position_of(DlFrame *frame)
{
#if PY_VERSION_HEX >= 0x030D0000
    return &frame->instr_ptr;
#else
    return &frame->prev_instr;
#endif
}

int
dl_pyframe_is_untouched(DlFrame *frame)
{
    return frame->owner == FRAME_OWNED_BY_THREAD && *position_of(frame) == start_of(dl_pyframe_code(frame));
}

int
dl_pyframe_line(DlFrame *frame)
{
    char *start = (char *)_PyCode_CODE(dl_pyframe_code(frame));
    return PyCode_Addr2Line(dl_pyframe_code(frame), (int)((char *)*position_of(frame) - start));
}

int
dl_pyframe_has_namespace(DlFrame *frame)
{
    int goes_on = !(dl_pyframe_code(frame)->co_flags & CO_OPTIMIZED); /* with a module, where the globals are its locals */
    return frame->f_locals != (goes_on ? frame->f_globals : NULL);
}

int
dl_pyframe_has_own_namespace(DlFrame *frame)
{
#if PY_VERSION_HEX < 0x030D0000
    if (dl_pyframe_code(frame)->co_flags & CO_OPTIMIZED) {
        return frame->f_locals != NULL;
    }
#endif
    return !(dl_pyframe_code(frame)->co_flags & CO_OPTIMIZED) && frame->f_locals != frame->f_globals;
}

#if PY_VERSION_HEX < 0x030C0000

void
dl_pyframe_discard(PyThreadState *tstate, DlFrame *frame)
{
    (void)tstate; /* _PyEval_Vector of 3.11 clears and pops the frame when the evaluator returns */
    (void)frame;
}

int
dl_pyframe_is_traced(PyThreadState *tstate, PyCodeObject *code)
{
    (void)code;
    return tstate->cframe->use_tracing || tstate->tracing || tstate->c_tracefunc != NULL ||
           tstate->c_profilefunc != NULL;
}

/* The words a frame of `code` takes on the data stack. */
static Py_ssize_t
frame_size(PyCodeObject *code)
{
    return code->co_nlocalsplus + code->co_stacksize + (Py_ssize_t)FRAME_SPECIALS_SIZE;
}

#else

/* The words a frame of `code` takes on the data stack. */
static Py_ssize_t
frame_size(PyCodeObject *code)
{
    return code->co_framesize;
}

/* True when one of the n event bytes names a tool. */
static int
any_tool(const uint8_t *tools, size_t n)
{
    uint8_t set = 0;
    for (size_t i = 0; i < n; i++) {
        set |= tools[i];
    }
    return set != 0;
}

int
dl_pyframe_is_traced(PyThreadState *tstate, PyCodeObject *code)
{
    if (tstate->tracing || tstate->c_tracefunc != NULL || tstate->c_profilefunc != NULL) {
        return 1;
    }
    const _Py_GlobalMonitors *global = &tstate->interp->monitors;
    if (any_tool(global->tools, sizeof global->tools)) {
        return 1;
    }
    if (code != NULL && code->_co_monitoring != NULL) {
        const _Py_LocalMonitors *local = &code->_co_monitoring->local_monitors;
        return any_tool(local->tools, sizeof local->tools);
    }
    return 0;
}

#if PY_VERSION_HEX >= 0x030D0000

void
dl_pyframe_discard(PyThreadState *tstate, DlFrame *frame)
{
    _PyEval_FrameClearAndPop(tstate, frame);
}

#else

/* Give the words of frame back to the data stack, and its chunk when it was the first in it. */
static void
pop_data_stack(PyThreadState *tstate, DlFrame *frame)
{
    PyObject **base = (PyObject **)frame;
    _PyStackChunk *chunk = tstate->datastack_chunk;
    if (base != &chunk->data[0]) {
        tstate->datastack_top = base;
        return;
    }
    /* The root chunk's first word is never handed out, so there is a previous chunk. */
    _PyStackChunk *previous = chunk->previous;
    tstate->datastack_top = &previous->data[previous->top];
    tstate->datastack_limit = (PyObject **)((char *)previous + previous->size);
    tstate->datastack_chunk = previous;
    PyObjectArenaAllocator arena; /* _PyObject_VirtualFree is not exported; it is this allocator's free */
    PyObject_GetArenaAllocator(&arena);
    arena.free(arena.ctx, chunk, chunk->size);
}

void
dl_pyframe_discard(PyThreadState *tstate, DlFrame *frame)
{
    /* An untouched frame has no frame object. Finalizers may run Python code: its frames go above this one. */
    for (int i = 0; i < frame->stacktop; i++) {
        Py_CLEAR(frame->localsplus[i]);
    }
    Py_CLEAR(frame->f_locals);
    Py_DECREF(frame->f_funcobj);
    Py_DECREF(frame->f_code);
    pop_data_stack(tstate, frame);
}

#endif
#endif

/* True when the variables of both codes are of the same kinds: local, cell, free. */
static int
same_kinds(PyCodeObject *a, PyCodeObject *b)
{
#if PY_VERSION_HEX >= 0x030E0000
    const int kinds = 0xFF ^ CO_FAST_ARG; /* which parameters they are, only the compiler notes */
#else
    const int kinds = 0xFF;
#endif
    const char *of_a = PyBytes_AS_STRING(a->co_localspluskinds), *of_b = PyBytes_AS_STRING(b->co_localspluskinds);
    for (int i = 0; i < a->co_nlocalsplus; i++) {
        if ((of_a[i] ^ of_b[i]) & kinds) {
            return 0;
        }
    }
    return 1;
}

/* True when both codes number the same variables the same way. */
static int
same_slots(PyCodeObject *a, PyCodeObject *b)
{
    if (a->co_nlocalsplus != b->co_nlocalsplus) {
        return 0;
    }
    int equal = PyObject_RichCompareBool(a->co_localsplusnames, b->co_localsplusnames, Py_EQ);
    if (equal < 0) {
        PyErr_Clear();
        return 0;
    }
    return equal && same_kinds(a, b);
}

int
dl_pyframe_has_slots_of(DlFrame *frame, PyCodeObject *code)
{
    return same_slots(dl_pyframe_code(frame), code);
}

int
dl_pyframe_replace_code(PyThreadState *tstate, DlFrame *frame, PyCodeObject *code)
{
    PyCodeObject *old = dl_pyframe_code(frame);
    if (!same_slots(old, code)) {
        return 0;
    }
    Py_ssize_t growth = frame_size(code) - frame_size(old);
    if (growth > 0) {
        /* A generator object is sized after its function's code, so its frame cannot grow. */
        if (old->co_flags & (CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR)) {
            return 0;
        }
        if (tstate->datastack_limit - tstate->datastack_top <= growth) {
            return 0;
        }
        tstate->datastack_top += growth; /* the frame is the topmost of the data stack */
    }
#if PY_VERSION_HEX >= 0x030E0000
    _PyStackRef old_reference = frame->f_executable;
    frame->f_executable = PyStackRef_FromPyObjectNew(code);
    *position_of(frame) = start_of(code);
    PyStackRef_CLOSE(old_reference);
#else
#if PY_VERSION_HEX >= 0x030D0000
    frame->f_executable = Py_NewRef(code);
#else
    frame->f_code = (PyCodeObject *)Py_NewRef(code);
#endif
    *position_of(frame) = start_of(code);
    Py_DECREF(old);
#endif
    return 1;
}

int
dl_pyframe_set_code(PyObject *function, PyObject *code)
{
    uint32_t version = ((PyFunctionObject *)function)->func_version;
    if (PyObject_SetAttrString(function, "__code__", code) < 0) {
        return -1;
    }
#if PY_VERSION_HEX >= 0x030D0000
    enum { CLEARED = 1 }; /* what 3.14 writes where 3.13 writes 0 */
    if (version > CLEARED) {
        ((PyFunctionObject *)function)->func_version = ((PyCodeObject *)code)->co_version;
    }
#else
    (void)version; /* the next call that is specialised gives it another */
#endif
    return 0;
}

#endif
