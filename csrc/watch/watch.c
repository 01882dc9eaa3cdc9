/* Code that is watched until it is hot, calls and running loops alike.

   A program that is run as a whole has a Poll asked, by bool(poll), where a function begins and at the back edges of its
   loops (pycode/polls.py). Mostly that counts down. Now and then an entry poll has a call timed, and a loop's looks at
   the clock. What has taken enough time is hot: the code then calls poll(), which runs compiled code in place of the
   frame, or of the rest of it (on-stack replacement), and gives its value, which the frame returns at once; or GO_ON.

   The frame that calls poll() gives its references away and is left out of the chain of frames meanwhile, so that nobody
   meets it twice: not sys._getframe(), not a traceback (the handler around the call takes its entry off, drop_frame()).

   What "enough" is, and who is asked for code, policy.py says. All of this is protected by the GIL. */
#include "poll.h"

#include <math.h>
#include <stdint.h>
#include <structmember.h>

#include "frame/back_edge.h"
#include "frame/dispatch.h"
#include "frame/jump.h"

enum { LONGEST_COOL = 1000000000 }; /* seconds: for good */

/* ---- the back edge of a loop ---- */

/* The loop around that of `poll` that is asked to be entered first: the outermost one, and where that has not gone round
   after so many times the one within, and so on; NULL: it is for this loop to ask. */
static DlPoll *
entered_first(const DlPoll *poll)
{
    DlPoll *found = NULL;
    double nudged = poll->nudged;
    for (;;) {
        DlPoll *outermost = NULL;
        for (DlPoll *outer = poll->outer; outer != NULL && outer != found; outer = outer->outer) {
            outermost = outer->off || outer->round->loses ? outermost : outer;
        }
        if (outermost == NULL || nudged < dl_thresholds.nudges) {
            return outermost;
        }
        found = outermost;
        nudged -= dl_thresholds.nudges;
    }
}

/* Whether poll() is to be called in this round. */
static int
round_is_due(DlPoll *poll)
{
    poll->passed += (uint64_t)poll->stride;
    poll->countdown = poll->stride;
    DlRound *round = poll->round;
    if (poll->off || dl_watching.on_miss == NULL || round == NULL) {
        poll->countdown = poll->stride = DL_LONGEST_STRIDE;
        return 0;
    }
    DlFrame *frame = dl_pyframe_running(PyThreadState_Get());
    uint64_t time = dl_now(), around = poll->outer ? dl_poll_count(poll->outer) : 0;
    uint64_t call = dl_thread.segment + (poll->entry ? dl_poll_count(poll->entry) : 0);
    uint64_t passed = time - poll->last, answering = dl_thread.answering - poll->answering;
    int is_settled = (double)answering <= dl_thresholds.unsettled / 4 * (double)passed;
    poll->answering = dl_thread.answering;
    int begins = poll->frame != frame || poll->call != call || poll->around != around, passing = poll->runs.passing;
    uint64_t rounds = (uint64_t)poll->stride * (uint64_t)poll->rounds;
    int is_told = poll->entry || poll->outer || dl_short_runs_are_told(&poll->runs, frame, poll->depth, rounds, &begins);
    if (begins || !is_settled || passing > 0) {
        /* what passed meanwhile is not this loop's, begun anew, or much compiling is in it */
        int stride = 1, is_seen = passing == 0 && begins && poll->frame != NULL;
        if (passing > 0) {
            dl_short_runs_end(&poll->runs, round, is_settled ? poll->stride : 0, passed - answering, poll->rounds);
        }
        /* NB: where compiled code has run in the loop meanwhile, nobody knows whether it has begun. */
        if (is_seen && is_told && is_settled && !round->hot) {
            stride = dl_short_runs_begin(&poll->runs, time, poll->last);
        }
        else {
            poll->runs = (DlShortRuns){.began = time, .rounds = 1, .most = poll->runs.most, .left = poll->runs.left};
        }
        round->n_begun += is_seen && poll->runs.passing == 0; /* else it is one of those that pass */
        poll->frame = frame;
        poll->call = call;
        poll->around = around;
        poll->last = time;
        poll->countdown = poll->stride = stride;
        return round->hot && dl_poll_may_act(dl_pyframe_code(frame));
    }
    dl_short_runs_go_on(&poll->runs, poll->stride);
    passed -= answering;
    round->n_plain += rounds;
    round->plain += passed;
    round->spent += passed;
    if (passed > round->longest) {
        round->longest = passed;
        round->n_longest = rounds;
    }
    poll->last = time;
    if ((double)passed < dl_thresholds.look && poll->stride < DL_LONGEST_STRIDE) {
        poll->stride *= 2;
    }
    else if ((double)passed > 4 * dl_thresholds.look && poll->stride > 1) {
        poll->stride /= 2;
    }
    poll->countdown = poll->stride;
    if (round->hot && dl_poll_may_act(dl_pyframe_code(frame))) {
        return 1;
    }
    if ((round->loses && time < round->retry_at) || time < round->cool_until) {
        return 0;
    }
    round->loses = 0;
    int is_hot = (double)round->spent >= dl_thresholds.hot_loop && round->n_plain >= round->wanted;
    if (!is_hot || !dl_poll_may_act(dl_pyframe_code(frame))) {
        return 0;
    }
    DlPoll *outer = entered_first(poll);
    if (outer != NULL) {
        outer->round->hot = 1; /* if the loop around it goes round soon, that is to be entered, whole */
        outer->stride -= outer->countdown - 1; /* so many rounds have passed when it asks */
        outer->countdown = 1;
        poll->nudged++;
        round->spent = 0;
        return 0;
    }
    return 1;
}

/* The cache of the code that a Continuation goes on with; NULL: there is none. */
static const void *
cache_ahead(PyObject *value)
{
    PyObject *target = Py_IS_TYPE(value, &dl_continuation_type) ? ((DlContinuation *)value)->target : NULL;
    if (target != NULL && PyFunction_Check(target)) {
        target = PyFunction_GET_CODE(target);
    }
    DlCache *cache = target != NULL && PyCode_Check(target) ? dl_cache_get((PyCodeObject *)target) : NULL;
    if (cache == NULL) {
        PyErr_Clear();
    }
    return cache;
}

/* Run compiled code in place of the rest of a frame, from the header of a loop on. */
static PyObject *
enter_loop(DlPoll *poll, DlFrame *frame, PyCodeObject *code)
{
    if (PyFunction_GET_CODE(dl_pyframe_function(frame)) != (PyObject *)code || dl_pyframe_has_own_namespace(frame)) {
        poll->off = 1; /* the function was given other code meanwhile */
        return Py_NewRef(dl_go_on);
    }
    DlCache *cache = dl_cache_get(code);
    if (cache == NULL) {
        PyErr_Clear(); /* no memory: it may be there next time */
        return Py_NewRef(dl_go_on);
    }
    PyObject *function = Py_NewRef(dl_pyframe_function(frame));
    DlRound *round = poll->round;
    poll->nudged = 0;
    round->spent = 0;
    PyObject *answer = dl_back_edge_ask(dl_watching.on_hot, (PyObject *)poll, frame, code, poll->depth, 1);
    if (answer == Py_None || (answer != NULL && PyFloat_Check(answer))) {
        poll->off = answer == Py_None;
        dl_round_cool(round, poll->off ? 0 : fmin(PyFloat_AS_DOUBLE(answer), LONGEST_COOL));
        Py_SETREF(answer, Py_NewRef(dl_go_on));
    }
    else if (answer != NULL) {
        poll->frame = NULL;
        round->hot = 1;
        round->entered++;
        round->header = cache_ahead(answer);
        answer = dl_back_edge_take_over(answer, frame, poll->depth, cache, function, dl_watching.on_miss);
    }
    Py_DECREF(function);
    return answer;
}

static int
poll_bool(DlPoll *poll)
{
    if (--poll->countdown > 0) {
        return 0;
    }
    return poll->is_entry ? dl_entry_is_due(poll) : round_is_due(poll) && !dl_pyframe_is_interrupted();
}

static void
end_unseen(PyObject *self)
{
    PyThreadState_LeaveTracing(PyThreadState_Get());
    Py_TYPE(self)->tp_free(self);
}

/* While there is one, nobody traces this thread. */
static PyTypeObject unseen_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Unseen",
    .tp_basicsize = sizeof(PyObject),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_dealloc = end_unseen,
};

/* Let a frame that returns what ran in its place end unseen by a tracer that has been set there: it began before. */
static void
end_without_trace(PyThreadState *tstate, DlFrame *frame)
{
    PyObject *error[3];
    PyErr_Fetch(&error[0], &error[1], &error[2]);
    PyObject *dict = PyType_Ready(&unseen_type) == 0 ? PyDict_New() : NULL;
    PyObject *unseen = dict != NULL ? PyObject_New(PyObject, &unseen_type) : NULL;
    if (unseen != NULL) {
        PyThreadState_EnterTracing(tstate);
        if (PyDict_SetItem(dict, Py_None, unseen) == 0) {
            dl_pyframe_leave_behind(frame, dict);
        }
    }
    Py_XDECREF(unseen);
    Py_XDECREF(dict);
    PyErr_Restore(error[0], error[1], error[2]);
}

/* poll() -> the value that the frame which calls it is to return, or GO_ON. */
static PyObject *
poll_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    (void)args, (void)nargsf, (void)kwnames;
    DlPoll *poll = (DlPoll *)callable;
    PyThreadState *tstate = PyThreadState_Get();
    DlFrame *frame = dl_pyframe_running(tstate);
    PyCodeObject *code = frame ? dl_pyframe_code(frame) : NULL;
    dl_thread.left = DL_STAYED;
    if (code == NULL || !dl_poll_may_act(code)) {
        return Py_NewRef(dl_go_on);
    }
    Py_INCREF(poll);
    DlFrame *hidden = dl_pyframe_hide(tstate);
    dl_thread.nested++;
    PyObject *value = poll->make       ? dl_entry_begin(poll, frame, code)
                      : poll->is_entry ? dl_entry_run(poll, frame, code)
                                       : enter_loop(poll, frame, code);
    dl_thread.nested--;
    dl_pyframe_show(tstate, hidden);
    if (value == NULL && dl_thread.left != DL_LEFT) {
        dl_thread.left = poll->make || poll->is_entry ? DL_LEFT : DL_RAISED;
    }
    if (value != dl_go_on && dl_pyframe_is_traced(tstate, NULL)) {
        end_without_trace(tstate, frame);
    }
    Py_DECREF(poll);
    return value;
}

/* Poll(...), see its tp_doc: round is None at a function's entry. */
static PyObject *
poll_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"place", "depth", "outer", "round", "rounds", "entry", "cells", "make", "waits", NULL};
    PyObject *place, *outer = Py_None, *round = Py_None, *entry = Py_None, *make = Py_None;
    int depth = 0, rounds = 1, waits = 0;
    unsigned long long cells = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|iOOiOKOp:Poll", names, &place, &depth, &outer, &round, &rounds, &entry,
                                     &cells, &make, &waits)) {
        return NULL;
    }
    if (round != Py_None && !Py_IS_TYPE(round, &dl_round_type)) {
        return PyErr_Format(PyExc_TypeError, "Poll: round must be a Round or None, not %.100s", Py_TYPE(round)->tp_name);
    }
    for (int i = 0; i < 2; i++) {
        PyObject *one = i ? entry : outer;
        if (one != Py_None && !Py_IS_TYPE(one, type)) {
            return PyErr_Format(PyExc_TypeError, "Poll: outer and entry must be Polls or None, not %.100s",
                                Py_TYPE(one)->tp_name);
        }
    }
    DlPoll *self = (DlPoll *)type->tp_alloc(type, 0);
    if (self != NULL) {
        self->vectorcall = poll_call;
        self->countdown = self->stride = 1;
        self->depth = depth;
        self->rounds = rounds;
        self->cells = cells;
        self->is_entry = round == Py_None;
        self->off = place == Py_None; /* of a code object that was copied, which knows another GO_ON */
        self->round = round == Py_None ? NULL : (DlRound *)Py_NewRef(round);
        self->place = Py_NewRef(place);
        self->make = make == Py_None ? NULL : Py_NewRef(make);
        self->waits = (char)waits;
        self->outer = outer == Py_None ? NULL : (DlPoll *)Py_NewRef(outer);
        self->entry = entry == Py_None ? NULL : (DlPoll *)Py_NewRef(entry);
    }
    return (PyObject *)self;
}

static int
poll_traverse(DlPoll *self, visitproc visit, void *arg)
{
    Py_VISIT(self->place);
    Py_VISIT(self->without);
    Py_VISIT(self->alone);
    Py_VISIT(self->whole);
    Py_VISIT(self->make);
    Py_VISIT((PyObject *)self->outer);
    Py_VISIT((PyObject *)self->entry);
    return 0;
}

static int
poll_clear(DlPoll *self)
{
    Py_CLEAR(self->place);
    Py_CLEAR(self->without);
    Py_CLEAR(self->alone);
    Py_CLEAR(self->whole);
    Py_CLEAR(self->make);
    Py_CLEAR(self->outer);
    Py_CLEAR(self->entry);
    Py_CLEAR(self->round);
    return 0;
}

static void
poll_dealloc(DlPoll *self)
{
    PyObject_GC_UnTrack(self);
    poll_clear(self);
    Py_TYPE(self)->tp_free(self);
}

/* Code objects may be shipped with their constants: a copy is never asked anything. */
static PyObject *
poll_reduce(PyObject *self, PyObject *unused)
{
    (void)unused;
    return Py_BuildValue("O(O)", Py_TYPE(self), Py_None);
}

/* (plain s, n, compiled s, n, stays plain) for each size of arrays that was met. */
static PyObject *
poll_times(DlPoll *self, void *unused)
{
    (void)unused;
    return dl_trial_rows(self->trials);
}

/* What compiled calls took less than plain ones, for each size of arrays. */
static PyObject *
poll_savings(DlPoll *self, void *unused)
{
    (void)unused;
    return dl_trial_savings(self->trials);
}

static PyMemberDef poll_members[] = {
    {"place", T_OBJECT, offsetof(DlPoll, place), READONLY, "what was given"},
    {"without", T_OBJECT, offsetof(DlPoll, without), 0, "a function's code without polls"},
    {"alone", T_OBJECT, offsetof(DlPoll, alone), 0, "gives the code of a function with loops without polls in these"},
    {"whole", T_OBJECT, offsetof(DlPoll, whole), READONLY, "its code with them, while it runs without"},
    {"rests_until", T_ULONGLONG, offsetof(DlPoll, rests_until), 0, "ns of the monotonic clock: its loops are hopeless before"},
    {"stride", T_INT, offsetof(DlPoll, stride), READONLY, "rounds, or calls, until it is asked once more"},
    {"depth", T_INT, offsetof(DlPoll, depth), READONLY, "stack slots in use at the loop's header"},
    {"round", T_OBJECT, offsetof(DlPoll, round), READONLY, "the loop's Round"},
    {"calls", T_ULONGLONG, offsetof(DlPoll, calls), READONLY, "plain calls that were timed"},
    {"spent", T_ULONGLONG, offsetof(DlPoll, spent), READONLY, "nanoseconds that those took"},
    {"excess", T_DOUBLE, offsetof(DlPoll, trials[0].excess), READONLY, "ns that timed calls of nothing large show too much"},
    {"hot", T_BOOL, offsetof(DlPoll, hot), READONLY, "whether that is enough"},
    {"off", T_BOOL, offsetof(DlPoll, off), 0, "True: nothing is done here any more"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef poll_getset[] = {
    {"times", (getter)poll_times, NULL, "[(plain s, n, compiled s, n, stays plain), ...] of calls, by size of arrays", NULL},
    {"savings", (getter)poll_savings, NULL,
     "[(s that compiled calls took less up to the latest plain one, s that one took less then, calls since), ...]", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMethodDef poll_methods[] = {
    {"__reduce__", poll_reduce, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL},
};

static PyNumberMethods poll_number = {.nb_bool = (inquiry)poll_bool};

PyTypeObject dl_poll_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Poll",
    .tp_doc = "Poll(place, depth=0, outer=None, round=None, rounds=1, entry=None, cells=0, make=None, waits=False): asked at a loop's"
              " back edge, or a function's entry.",
    .tp_basicsize = sizeof(DlPoll),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(DlPoll, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = poll_new,
    .tp_dealloc = (destructor)poll_dealloc,
    .tp_traverse = (traverseproc)poll_traverse,
    .tp_clear = (inquiry)poll_clear,
    .tp_as_number = &poll_number,
    .tp_members = poll_members,
    .tp_getset = poll_getset,
    .tp_methods = poll_methods,
};

static PyObject *
watch_code(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"on_miss", "on_hot", "limits", NULL};
    PyObject *on_miss, *on_hot, *thresholds;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO:watch", names, &on_miss, &on_hot, &thresholds)) {
        return NULL;
    }
    if (dl_pyframe_refusal() != NULL) {
        PyErr_SetString(PyExc_RuntimeError, dl_pyframe_refusal());
        return NULL;
    }
    if (thresholds != Py_None && dl_trials_set_limits(thresholds) < 0) {
        return NULL;
    }
    Py_XSETREF(dl_watching.on_hot, on_hot == Py_None ? NULL : Py_NewRef(on_hot));
    Py_XSETREF(dl_watching.on_miss, on_miss == Py_None ? NULL : Py_NewRef(on_miss));
    dl_hook_stand_in(dl_watching.on_miss != NULL);
    Py_RETURN_NONE;
}

/* cool(function, seconds=0.0): what is asked about, the function, or the loop which a resume function begins with, takes
   its time once more before it is hot, and so many seconds at least. Another resume function runs plainly so long: at the
   next back edge the loop goes on compiled. So does one of which an entry has run since the latest such answer: it is for
   an iteration now and then that there is none. Of a function of which more calls have run compiled than plainly since
   then, those that no entry serves run plainly so long, and the others go on compiled; so of one that no poll asks for,
   as a resume function behind its loops. */
static PyObject *
cool(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function;
    double seconds = 0;
    if (!PyArg_ParseTuple(args, "O!|d:cool", &PyFunction_Type, &function, &seconds)) {
        return NULL;
    }
    DlCache *cache = dl_cache_get((PyCodeObject *)PyFunction_GET_CODE(function));
    if (cache == NULL) {
        return NULL;
    }
    seconds = seconds > 0 ? fmin(seconds, LONGEST_COOL) : 0;
    uint64_t until = dl_now() + (uint64_t)(seconds * 1e9);
    int is_seldom = cache->counters.native_calls > cache->native_then;
    uint64_t natively = cache->counters.native_calls - cache->native_then;
    uint64_t plainly = cache->counters.plain_calls - cache->plain_then;
    DlPoll *asking = dl_entry_asking(cache);
    cache->native_then = cache->counters.native_calls;
    cache->plain_then = cache->counters.plain_calls;
    if (cache->round != NULL && cache->round->header == cache && !is_seldom) {
        dl_round_cool(cache->round, seconds);
    }
    else if (cache->round != NULL) {
        cache->cool_until = until + (uint64_t)dl_thresholds.hot_loop;
    }
    else if (asking == NULL || natively > plainly) {
        cache->cool_until = until;
    }
    else {
        asking->hot = 0;
        asking->heat = 0;
        asking->cool_until = until;
    }
    Py_RETURN_NONE;
}

static PyObject *
note_polls(PyObject *module, PyObject *code)
{
    (void)module;
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "note_polls: expected a code object, not %.100s", Py_TYPE(code)->tp_name);
    }
    DlCache *cache = dl_cache_get((PyCodeObject *)code);
    if (cache == NULL) {
        return NULL;
    }
    cache->has_polls = 1;
    Py_RETURN_NONE;
}

PyMethodDef dl_watch_functions[] = {
    {"note_polls", note_polls, METH_O, "note_polls(code): the polls in it are its own; those in a copy of it never act."},
    {"watch", (PyCFunction)(void (*)(void))watch_code, METH_VARARGS | METH_KEYWORDS,
     "watch(on_miss, on_hot, limits): polls act from now on, by policy.Thresholds. None, None, None: they do not."},
    {"cool", cool, METH_VARARGS, "cool(function, seconds=0.0): what is asked about takes its time once more."},
    {"rounds_of_rests", dl_rounds_of_rests, METH_O,
     "rounds_of_rests(type): what is left of a loop, of that class, tells how many rounds that is."},
    {NULL, NULL, 0, NULL},
};
