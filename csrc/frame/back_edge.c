/* Frames that hand over at the back edge of a loop, to compiled code (on-stack replacement).

   The code of such a frame has questions at its back edges (pycode/polls.py): polls, of a program that is watched
   (watch.c), or BackEdges, where some iterations of a loop run plainly in the middle of a chain of segments (resumed.c).
   What is asked is called in the frame, and says what that is to return, or GO_ON. */
#include "back_edge.h"

#include <structmember.h>

#include "dispatch.h"
#include "eval_hook.h"
#include "interrupts.h"
#include "jump.h"
#include "resumed.h"
#include "watch/trials.h"

PyObject *dl_go_on;

PyObject *
dl_back_edge_ask(PyObject *on_hot, PyObject *poll, DlFrame *frame, PyCodeObject *code, int depth, int makes)
{
    PyObject *all = dl_pyframe_slot_names(code), *function = Py_NewRef(dl_pyframe_function(frame));
    PyObject *stack = PyTuple_New(depth), *own = PyTuple_New(depth), *names = PyList_New(0);
    PyObject *values = PyList_New(0), *sole = PyList_New(0), *answer = NULL, *given = NULL;
    if (stack == NULL || own == NULL || names == NULL || values == NULL || sole == NULL) {
        goto done;
    }
    if (PyTuple_GET_SIZE(all) > 0 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(all, 0), ".0") == 0) {
        given = dl_pyframe_slot(frame, 0); /* of a comprehension, which has its iterator in a variable, too */
    }
    for (int i = 0; i < depth; i++) {
        PyObject *item = dl_pyframe_stack_item(frame, i);
        if (item == NULL) { /* below what leaves a `with`, from 3.14 on */
            PyTuple_SET_ITEM(stack, i, Py_NewRef(Py_None));
            PyTuple_SET_ITEM(own, i, Py_NewRef(Py_None));
            continue;
        }
        PyTuple_SET_ITEM(stack, i, item);
        int known = item == given ? 4 : 2; /* the stack's and the tuple's, the variable's and `given` */
        PyTuple_SET_ITEM(own, i, Py_NewRef(Py_REFCNT(item) == known ? Py_True : Py_False));
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(all) - dl_pyframe_n_free(code); i++) {
        PyObject *value = dl_pyframe_slot(frame, i);
        PyObject *is_sole = value != NULL && Py_REFCNT(value) == 2 ? Py_True : Py_False; /* the slot's and this one */
        int failed = value != NULL && (PyList_Append(names, PyTuple_GET_ITEM(all, i)) < 0
                                       || PyList_Append(values, value) < 0 || PyList_Append(sole, is_sole) < 0);
        Py_XDECREF(value);
        if (failed) {
            goto done;
        }
    }
    Py_CLEAR(given);
    DlDeferral deferral;
    uint64_t began = dl_now();
    dl_hook_pause();
    dl_interrupts_defer(&deferral, function);
    deferral.line = dl_pyframe_line(frame);
    answer = PyObject_CallFunctionObjArgs(on_hot, poll, function, stack, own, names, values, sole, NULL);
    answer = dl_interrupts_resume(&deferral, answer);
    dl_hook_resume();
    dl_thread.answering += makes ? dl_now() - began : 0;
    dl_thread.left = answer ? DL_STAYED : DL_RAISED;
done:
    Py_XDECREF(given);
    Py_XDECREF(stack);
    Py_XDECREF(own);
    Py_XDECREF(names);
    Py_XDECREF(values);
    Py_XDECREF(sole);
    Py_DECREF(function);
    return answer;
}

PyObject *
dl_back_edge_take_over(PyObject *answer, DlFrame *frame, int depth, DlCache *cache, PyObject *function, PyObject *on_miss)
{
    dl_pyframe_clear_state(frame, depth);
    /* NB: frame is hidden, so the one that runs is its caller. */
    if (!Py_IS_TYPE(answer, &dl_continuation_type)
        || !dl_resumed_relay(function, dl_pyframe_running(PyThreadState_Get()), on_miss, answer)) {
        answer = dl_dispatch_go_on(cache, function, on_miss, answer);
    }
    dl_thread.left = DL_LEFT;
    return answer;
}

/* ---- BackEdge ---- */

/* Asked at the back edge of a loop (pycode/polls.py) of which some iterations are to run plainly: true behind the last. */
typedef struct {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    PyObject *place;            /* the loop */
    PyObject *on_hot, *on_miss;
    int depth;                  /* stack slots in use at its header */
    int is_known;               /* it was asked before: what its answer leads to is made, and to come back is part of a call */
} DlBackEdge;

/* back_edge() -> what the frame that calls it is to return. */
static PyObject *
back_edge_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)args, (void)nargsf, (void)kwnames;
    DlBackEdge *self = (DlBackEdge *)callable;
    PyThreadState *tstate = PyThreadState_Get();
    DlFrame *frame = dl_pyframe_running(tstate);
    PyCodeObject *code = frame ? dl_pyframe_code(frame) : NULL;
    dl_thread.left = DL_STAYED;
    DlCache *cache = code ? dl_cache_get(code) : NULL;
    if (cache == NULL) {
        return PyErr_Occurred() ? NULL : Py_NewRef(dl_go_on);
    }
    if (dl_force_plain || dl_thread.paused || dl_pyframe_is_traced(tstate, code) || dl_pyframe_has_own_namespace(frame)
        || PyFunction_GET_CODE(dl_pyframe_function(frame)) != (PyObject *)code) {
        return Py_NewRef(dl_go_on);
    }
    PyObject *function = Py_NewRef(dl_pyframe_function(frame));
    Py_INCREF(self);
    DlFrame *hidden = dl_pyframe_hide(tstate);
    dl_thread.nested++;
    PyObject *answer = dl_back_edge_ask(self->on_hot, callable, frame, code, self->depth, !self->is_known);
    self->is_known = 1;
    if (answer == Py_None) {
        Py_SETREF(answer, Py_NewRef(dl_go_on));
    }
    else if (answer != NULL) {
        answer = dl_back_edge_take_over(answer, frame, self->depth, cache, function, self->on_miss);
    }
    dl_thread.nested--;
    dl_pyframe_show(tstate, hidden);
    if (answer == NULL && dl_thread.left != DL_LEFT) {
        dl_thread.left = DL_RAISED;
    }
    Py_DECREF(self);
    Py_DECREF(function);
    return answer;
}

/* BackEdge(place, depth, on_hot, on_miss). */
static PyObject *
back_edge_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"place", "depth", "on_hot", "on_miss", NULL};
    PyObject *place, *on_hot = Py_None, *on_miss = Py_None;
    int depth = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|iOO:BackEdge", names, &place, &depth, &on_hot, &on_miss)) {
        return NULL;
    }
    DlBackEdge *self = (DlBackEdge *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = back_edge_call;
        self->place = Py_NewRef(place);
        self->on_hot = Py_NewRef(on_hot);
        self->on_miss = Py_NewRef(on_miss);
        self->depth = depth;
    }
    return (PyObject *)self;
}

static int
back_edge_traverse(DlBackEdge *self, visitproc visit, void *arg)
{
    Py_VISIT(self->place);
    Py_VISIT(self->on_hot);
    Py_VISIT(self->on_miss);
    return 0;
}

static void
back_edge_dealloc(DlBackEdge *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->place);
    Py_CLEAR(self->on_hot);
    Py_CLEAR(self->on_miss);
    Py_TYPE(self)->tp_free(self);
}

static int
back_edge_bool(PyObject *Py_UNUSED(self))
{
    dl_interrupts_go_round();
    /* NB: what waits comes at the jump back, in the user's own frame */
    return dl_resumed_is_over() && !dl_pyframe_is_interrupted();
}

static PyNumberMethods back_edge_number = {.nb_bool = back_edge_bool};

static PyMemberDef back_edge_members[] = {
    {"place", T_OBJECT, offsetof(DlBackEdge, place), READONLY, "the loop"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject back_edge_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.BackEdge",
    .tp_doc = "BackEdge(place, depth, on_hot, on_miss): asked at a loop's back edge; the loop goes on in a chain of segments.",
    .tp_basicsize = sizeof(DlBackEdge),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(DlBackEdge, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_as_number = &back_edge_number,
    .tp_new = back_edge_new,
    .tp_dealloc = (destructor)back_edge_dealloc,
    .tp_traverse = (traverseproc)back_edge_traverse,
    .tp_members = back_edge_members,
};

/* drop_frame(exception): take the frame that caught it off its traceback, if it was raised by what was asked there; whether
   that had taken the frame over, so that its handlers have nothing to do with it. */
static PyObject *
drop_frame(PyObject *Py_UNUSED(module), PyObject *exception)
{
    int left = dl_thread.left;
    dl_thread.left = DL_STAYED;
    if (left == DL_STAYED) { /* a signal came */
        Py_RETURN_FALSE;
    }
    PyTracebackObject *traceback = (PyTracebackObject *)PyException_GetTraceback(exception);
    if (traceback != NULL) { /* NB: of a group that `except*` raises once more, it is the only one */
        PyObject *next = (PyObject *)traceback->tb_next;
        PyException_SetTraceback(exception, next ? next : Py_None);
    }
    Py_XDECREF(traceback);
    return PyBool_FromLong(left == DL_LEFT);
}

PyMethodDef dl_back_edge_functions[] = {
    {"drop_frame", drop_frame, METH_O,
     "drop_frame(exception): take the outermost frame off its traceback; whether that was taken over."},
    {NULL, NULL, 0, NULL},
};

int
dl_back_edge_register(PyObject *module)
{
    if (dl_go_on == NULL) {
        dl_go_on = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
    }
    if (dl_go_on == NULL || PyModule_AddObjectRef(module, "GO_ON", dl_go_on) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &back_edge_type);
}
