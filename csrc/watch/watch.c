/* Code that is watched until it is hot, calls and running loops alike.

   A program that is run as a whole has a Poll asked, by bool(poll), where a function begins and at the back edges of its
   loops (pycode/polls.py). Mostly that counts down. Now and then an entry poll has a call timed, and a loop's looks at
   the clock. What has taken enough time is hot: the code then calls poll(), which runs compiled code in place of the
   frame, or of the rest of it (on-stack replacement), and gives its value, which the frame returns at once; or GO_ON.

   The frame that calls poll() gives its references away and is left out of the chain of frames meanwhile, so that nobody
   meets it twice: not sys._getframe(), not a traceback (the handler around the call takes its entry off, drop_frame()).

   What "enough" is, and who is asked for code, policy.py says. All of this is protected by the GIL. */
#include "watch.h"

#include <math.h>
#include <stdint.h>
#include <structmember.h>

#include "frame/back_edge.h"
#include "frame/cache.h"
#include "frame/dispatch.h"
#include "frame/eval_hook.h"
#include "frame/frame_arguments.h"
#include "frame/interrupts.h"
#include "frame/jump.h"
#include "frame/pyframe.h"
#include "short_runs.h"

typedef struct DlPoll {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int countdown; /* rounds until poll() is asked, or the clock looked at */
    int stride;    /* how many that were */
    char is_entry; /* of a function; else of a loop */
    char hot;      /* of a function: its calls are dispatched */
    char barren;   /* so many on end, up to DL_BARREN, for nothing, since all of its entries are retired */
    int nudged;    /* of a loop: so often the one around it was asked to be entered first */
    char off;      /* there is nothing to be had here */
    uint64_t last; /* when the clock was looked at, or a call was timed */
    PyObject *place;       /* what on_hot needs to know of a loop */
    int rounds;            /* of a loop, from one question to the next */
    PyObject *without;     /* of a function: its code without polls; or NULL */
    PyObject *alone;       /* of a function with loops: gives its code with this poll and none in its loops; or NULL */
    PyObject *whole;       /* of one that runs without polls in its loops: its code with them; or NULL */
    uint64_t rests_until;  /* of a function: none of its loops has prospects before, by what was answered; or 0 */
    PyObject *make;        /* of a function that has no polls yet: gives its code with them; or NULL */
    char waits;            /* and it has no loops: its calls are to take some time before */
    uint64_t cells;        /* of a function: a bit for each argument slot that holds a cell */
    /* of a loop */
    DlFrame *frame;        /* whose rounds were counted last; compared only, as the next call may have its memory */
    uint64_t call;         /* which call that was */
    uint64_t passed;       /* rounds, or calls, up to the last question */
    uint64_t around;       /* how far the loop around it was then */
    uint64_t answering;    /* how long compiling had taken then */
    DlShortRuns runs;           /* that pass without a look, where they are short */
    int depth;             /* stack slots in use at the header */
    struct DlPoll *outer;  /* of the loop around; or NULL */
    struct DlPoll *entry;  /* of the function; or NULL */
    DlRound *round;
    /* of a function */
    uint64_t spent, calls; /* plain time, and the calls that took it */
    uint64_t heat;         /* plain time since it was asked about last */
    uint64_t cool_until;   /* nobody is asked about it before */
    DlBrief brief;
    DlTrial trials[DL_SIZE_CLASSES];
} DlPoll;

static struct {
    PyObject *on_miss; /* asked for entries; NULL: nothing is watched */
    PyObject *on_hot;  /* on_hot(poll, function, stack, own, names, values, sole) -> Continuation; None: never, a float: not
                          for so many seconds */
} watch;

static _Thread_local PyCodeObject *passing; /* the next frame of this code runs plainly from its entry; compared only */
/* The function whose question is under way. */
typedef struct {
    DlPoll *poll;
    const DlCache *cache; /* of its code */
} Asking;
static _Thread_local Asking asking;

enum { LONGEST_COOL = 1000000000 }; /* seconds: for good */
enum { LONGEST_STRIDE = 1 << 20, DEEP = 150 /* plain recursion uses no C stack, calls of poll() do */ };

/* Whether poll() may run something here. */
static int
may_act(PyCodeObject *code)
{
    return watch.on_miss != NULL && !dl_force_plain && !dl_thread.paused && dl_thread.nested < DEEP
           && !dl_pyframe_is_traced(PyThreadState_Get(), code) && dl_cache_has_polls(code);
}

/* ---- the entry of a function ---- */

/* How many rounds a loop has gone, or calls a function has had, as far as its poll was asked. */
static uint64_t
count_of(const DlPoll *poll)
{
    return poll->passed + (uint64_t)(poll->stride - poll->countdown);
}

/* Ask `poll` anew after so many. */
static void
set_stride(DlPoll *poll, int stride)
{
    poll->passed = count_of(poll) + 1; /* never the same count again */
    poll->countdown = poll->stride = stride;
}

enum { MOST_SLOTS = 64 }; /* of arguments that a watched function may have */

/* Whether poll() is to be called at this entry. */
static int
entry_is_due(DlPoll *poll)
{
    poll->passed += (uint64_t)poll->stride;
    poll->countdown = poll->stride;
    DlFrame *frame = dl_pyframe_running(PyThreadState_Get());
    PyCodeObject *code = dl_pyframe_code(frame);
    if (passing == code) {
        passing = NULL;
        return 0;
    }
    if (poll->off || !may_act(code)) {
        poll->countdown = poll->off ? LONGEST_STRIDE : 1;
        return 0;
    }
    return 1;
}

/* Give a function other code, with other polls. */
static void
exchange(PyObject *function, PyObject *code)
{
    if (dl_pyframe_set_code(function, code) < 0) {
        PyErr_Clear(); /* an audit hook has refused it */
    }
}

/* Let a function that takes little more than the question run without it from its next call on: where it matters, it is
 * called from a loop that does ask. */
static void
go_without(DlPoll *poll, PyObject *function, PyCodeObject *code)
{
    poll->hot = 0;
    poll->off = 1;
    poll->stride = LONGEST_STRIDE;
    if (PyFunction_GET_CODE(function) == (PyObject *)code) {
        exchange(function, poll->without);
    }
}

/* Let a function whose calls are short, so that none of its loops is entered while it runs, or whose loops have no
   prospects, go on without polls in its loops; and one that took long once with them for good. A call took `time`. */
static void
choose_polls(DlPoll *poll, const DlTrial *trial, PyObject *function, PyCodeObject *code, double time)
{
    if (PyFunction_GET_CODE(function) != (PyObject *)code) {
        return;
    }
    DlCache *cache = dl_cache_get(code);
    if (cache == NULL || cache->n_entries > 0) {
        PyErr_Clear();
        return;
    }
    int rests = dl_now() < poll->rests_until;
    if (poll->whole != NULL) {
        if (time >= dl_thresholds.hot_loop && !rests) {
            exchange(function, poll->whole);
            Py_CLEAR(poll->whole);
            if (poll->rests_until == 0) {
                Py_CLEAR(poll->alone);
            }
        }
    }
    else if (rests || (trial->n_plain >= dl_thresholds.tried_short && trial->plain < dl_thresholds.short_call)) {
        DlDeferral deferral;
        uint64_t began = dl_now();
        dl_hook_pause();
        dl_interrupts_defer(&deferral, NULL);
        PyObject *made = dl_interrupts_resume(&deferral, PyObject_CallNoArgs(poll->alone));
        dl_hook_resume();
        dl_thread.answering += dl_now() - began;
        if (made == NULL || !PyCode_Check(made)) { /* a defect of ours, or no memory: the polls stay */
            PyErr_WriteUnraisable(function);
            Py_CLEAR(poll->alone);
        }
        else if (PyFunction_GET_CODE(function) == (PyObject *)code) {
            poll->whole = Py_NewRef(code);
            exchange(function, made);
        }
        Py_XDECREF(made);
    }
}

/* How many calls may pass before one is timed again, that took `time`. While the function is cold, they take about a
   tenth of what makes it hot; while nobody is asked about it, a part of the time until then. */
static int
calls_to_pass(const DlPoll *poll, double time)
{
    if (poll->hot) {
        return 1;
    }
    double room = dl_thresholds.hot_function / (10 * (time + 1)), most = 1000;
    uint64_t now = dl_now();
    if (poll->cool_until > now) {
        double rest = (double)(poll->cool_until - now) / (8 * (time + 1));
        room = rest > room ? rest : room;
        most = 20000;
    }
    return room < 1 ? 1 : room > most ? (int)most : (int)room;
}

/* Time one plain call in its frame's stead. */
static PyObject *
call_timed(DlPoll *poll, DlTrial *trial, DlFrame *frame, PyObject *function, PyCodeObject *code)
{
    DlStopwatch stopwatch;
    /* NB: to ask the system how often others had this thread's place takes some microseconds, and what runs next is slow
       after it. Where a short call is not held against compiled ones, it is not asked. */
    int brief = trial->n_plain >= dl_thresholds.tried_short && trial->plain < dl_thresholds.brief_call
                && trial->all_compiled == 0 && !poll->hot;
    if (brief) {
        dl_stopwatch_start_brief(&stopwatch);
    }
    else {
        dl_stopwatch_start(&stopwatch);
    }
    passing = code;
    PyThreadState *tstate = PyThreadState_Get();
    dl_hook_lend(tstate);
    PyObject *value = dl_frame_arguments_call(frame, poll->cells, function, code);
    dl_hook_take_back(tstate);
    passing = NULL;
    double time = brief ? dl_brief_note(&poll->brief, &stopwatch) : dl_stopwatch_time(&stopwatch);
    if (brief) {
        dl_trial_note_brief(trial, &poll->brief, time);
    }
    else {
        dl_trial_note(trial, DL_TRY_PLAIN_TIMED, &stopwatch, value != NULL ? DL_ENDS : DL_ENDS_RAISING);
    }
    double answering = (double)(dl_thread.answering - stopwatch.answering);
    if (answering <= dl_thresholds.unsettled / 4 * time) { /* little was compiled meanwhile */
        time -= brief ? 0 : answering;
        /* Not more than has passed since the last time: of a function that calls itself, calls are within calls. */
        uint64_t now = dl_now(), all = (uint64_t)(time * poll->stride), passed = now - poll->last;
        poll->last = now;
        poll->calls += (uint64_t)poll->stride;
        poll->spent += all < passed ? all : passed;
        poll->heat += all < passed ? all : passed;
        poll->hot = (double)poll->heat >= dl_thresholds.hot_function && dl_now() >= poll->cool_until;
        double usual = brief ? poll->brief.time : trial->plain;
        int has_arrays = trial != &poll->trials[0];
        double least = has_arrays ? dl_thresholds.short_function / 2 : dl_thresholds.short_function;
        if (poll->without != NULL && value != NULL && trial->n_plain >= dl_thresholds.tried_short && usual < least
            && trial->all_compiled == 0) {
            go_without(poll, function, code);
        }
        if (poll->alone != NULL && value != NULL) {
            choose_polls(poll, trial, function, code, time);
        }
        if (poll->off) {
            return value;
        }
        set_stride(poll, calls_to_pass(poll, time));
    }
    return value;
}

/* Calls like this one have run plainly for long: let pass as many as take about as long as from one look at the clock to
   the next. */
static void
let_pass(DlPoll *poll)
{
    double time = poll->calls > 0 ? (double)poll->spent / (double)poll->calls : dl_thresholds.look;
    double room = dl_thresholds.look / (time + 1);
    set_stride(poll, room < 1 ? 1 : room > 1000 ? 1000 : (int)room);
}

/* Run compiled code in place of a frame that has just begun, or time a plain run. */
static PyObject *
run_entry(DlPoll *poll, DlFrame *frame, PyCodeObject *code)
{
    DlCache *cache = dl_cache_get(code);
    PyObject *room[MOST_SLOTS];
    if (cache == NULL || cache->n_slots > MOST_SLOTS) {
        PyErr_Clear(); /* no memory: it may be there next time */
        poll->off = cache != NULL;
        return Py_NewRef(dl_go_on);
    }
    PyObject *const *slots = dl_frame_arguments(frame, poll->cells, room, cache->n_slots);
    if (poll->hot && dl_dispatch_stays_plain(cache, slots, cache->n_slots, watch.on_miss)) {
        let_pass(poll);
        return Py_NewRef(dl_go_on);
    }
    DlTrial *trial = dl_trial_of(poll->trials, slots, cache->n_slots);
    PyObject *function = Py_NewRef(dl_pyframe_function(frame)), *value = NULL;
    if (!poll->hot) {
        value = call_timed(poll, trial, frame, function, code);
        Py_DECREF(function);
        return value;
    }
    set_stride(poll, 1);
    DlChoice choice = dl_trial_choose(trial);
    if (dl_cache_skips(cache, watch.on_miss) && cache->n_entries == 0) {
        poll->off = 1;
        choice = DL_TRY_PLAIN;
    }
    if (choice == DL_TRY_PLAIN_TIMED) {
        value = call_timed(poll, trial, frame, function, code);
    }
    else if (choice != DL_TRY_PLAIN) {
        DlStopwatch stopwatch;
        Asking outer = asking;
        asking = (Asking){.poll = poll, .cache = cache};
        if (choice == DL_TRY_COMPILED_TIMED) {
            dl_stopwatch_start(&stopwatch);
        }
        Py_INCREF(cache);
        DlOutcome outcome = dl_dispatch(cache, function, slots, cache->n_slots, watch.on_miss, &value);
        Py_DECREF(cache);
        asking = outer;
        if (choice == DL_TRY_COMPILED_TIMED) {
            dl_trial_note(trial, choice, &stopwatch, outcome == DL_RAN     ? DL_ENDS
                                                     : outcome == DL_PLAIN ? DL_ENDS_PLAINLY
                                                                           : DL_ENDS_RAISING);
        }
        if (outcome == DL_PLAIN) {
            trial->all_compiled -= choice == DL_TRY_COMPILED;
            value = Py_NewRef(dl_go_on);
            poll->barren = dl_cache_is_barren(cache) ? poll->barren + (poll->barren < DL_BARREN) : 0;
            if (poll->barren >= DL_BARREN) {
                let_pass(poll);
            }
        }
    }
    else {
        value = Py_NewRef(dl_go_on);
    }
    Py_DECREF(function);
    return value;
}

/* Give a function that is called for the first time its polls, and run it anew with them in place of the frame that has
   just begun. What has the same code but is another function goes on without. One without loops gets them once it has
   taken some time: most functions never do, and to write polls takes as long as a thousand short calls. */
static PyObject *
begin_watching(DlPoll *poll, DlFrame *frame, PyCodeObject *code)
{
    PyObject *function = Py_NewRef(dl_pyframe_function(frame)), *value = NULL;
    if (poll->waits && (double)poll->spent < dl_thresholds.polls_after) {
        value = call_timed(poll, &poll->trials[0], frame, function, code);
        goto done;
    }
    DlDeferral deferral;
    uint64_t began = dl_now();
    dl_hook_pause();
    dl_interrupts_defer(&deferral, function);
    PyObject *made = dl_interrupts_resume(&deferral, PyObject_CallNoArgs(poll->make));
    dl_hook_resume();
    dl_thread.answering += dl_now() - began;
    int is_own = made != NULL && PyFunction_GET_CODE(function) == (PyObject *)code;
    if (is_own) {
        exchange(function, made);
        poll->off = PyFunction_GET_CODE(function) != made;
    }
    if (is_own && !poll->off) {
        /* NB: the next function that is made of a code object in a short function, at its next call, goes on without. */
        poll->off = (code->co_flags & CO_NESTED) != 0;
        PyThreadState *tstate = PyThreadState_Get();
        dl_hook_lend(tstate);
        value = dl_frame_arguments_call(frame, poll->cells, function, code);
        dl_hook_take_back(tstate);
    }
    else if (made != NULL) {
        value = Py_NewRef(dl_go_on);
    }
    Py_XDECREF(made);
done:
    Py_DECREF(function);
    return value;
}

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
    if (poll->off || watch.on_miss == NULL || round == NULL) {
        poll->countdown = poll->stride = LONGEST_STRIDE;
        return 0;
    }
    DlFrame *frame = dl_pyframe_running(PyThreadState_Get());
    uint64_t time = dl_now(), around = poll->outer ? count_of(poll->outer) : 0;
    uint64_t call = dl_thread.segment + (poll->entry ? count_of(poll->entry) : 0);
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
        return round->hot && may_act(dl_pyframe_code(frame));
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
    if ((double)passed < dl_thresholds.look && poll->stride < LONGEST_STRIDE) {
        poll->stride *= 2;
    }
    else if ((double)passed > 4 * dl_thresholds.look && poll->stride > 1) {
        poll->stride /= 2;
    }
    poll->countdown = poll->stride;
    if (round->hot && may_act(dl_pyframe_code(frame))) {
        return 1;
    }
    if ((round->loses && time < round->retry_at) || time < round->cool_until) {
        return 0;
    }
    round->loses = 0;
    int is_hot = (double)round->spent >= dl_thresholds.hot_loop && round->n_plain >= round->wanted;
    if (!is_hot || !may_act(dl_pyframe_code(frame))) {
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
    PyObject *answer = dl_back_edge_ask(watch.on_hot, (PyObject *)poll, frame, code, poll->depth, 1);
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
        answer = dl_back_edge_take_over(answer, frame, poll->depth, cache, function, watch.on_miss);
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
    return poll->is_entry ? entry_is_due(poll) : round_is_due(poll) && !dl_pyframe_is_interrupted();
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
    if (code == NULL || !may_act(code)) {
        return Py_NewRef(dl_go_on);
    }
    Py_INCREF(poll);
    DlFrame *hidden = dl_pyframe_hide(tstate);
    dl_thread.nested++;
    PyObject *value = poll->make       ? begin_watching(poll, frame, code)
                      : poll->is_entry ? run_entry(poll, frame, code)
                                       : enter_loop(poll, frame, code);
    dl_thread.nested--;
    dl_pyframe_show(tstate, hidden);
    if (value == NULL && dl_thread.left != DL_LEFT) {
        dl_thread.left = poll->make || poll->is_entry ? DL_LEFT : DL_RAISED;
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
    {"excess", T_DOUBLE, offsetof(DlPoll, trials[0].excess), READONLY, "ns that timed calls without arrays show too much"},
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
    Py_XSETREF(watch.on_hot, on_hot == Py_None ? NULL : Py_NewRef(on_hot));
    Py_XSETREF(watch.on_miss, on_miss == Py_None ? NULL : Py_NewRef(on_miss));
    dl_hook_stand_in(watch.on_miss != NULL);
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
    cache->native_then = cache->counters.native_calls;
    cache->plain_then = cache->counters.plain_calls;
    if (cache->round != NULL && cache->round->header == cache && !is_seldom) {
        dl_round_cool(cache->round, seconds);
    }
    else if (cache->round != NULL) {
        cache->cool_until = until + (uint64_t)dl_thresholds.hot_loop;
    }
    else if (asking.cache != cache || natively > plainly) {
        cache->cool_until = until;
    }
    else {
        asking.poll->hot = 0;
        asking.poll->heat = 0;
        asking.poll->cool_until = until;
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
