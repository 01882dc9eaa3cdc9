/* What is asked where a watched function begins: its calls are timed now and then, and dispatched once they have taken
   enough time; and functions get their polls at their first calls (see watch.c). */
#include "poll.h"

#include "frame/back_edge.h"
#include "frame/dispatch.h"
#include "frame/frame_arguments.h"
#include "frame/interrupts.h"

DlWatching dl_watching;

static _Thread_local PyCodeObject *passing; /* the next frame of this code runs plainly from its entry; compared only */

/* The function whose question is under way. */
typedef struct {
    DlPoll *poll;
    const DlCache *cache; /* of its code */
} Asking;
static _Thread_local Asking asking;

DlPoll *
dl_entry_asking(const DlCache *cache)
{
    return asking.cache == cache ? asking.poll : NULL;
}

/* Ask `poll` anew after so many. */
static void
set_stride(DlPoll *poll, int stride)
{
    poll->passed = dl_poll_count(poll) + 1; /* never the same count again */
    poll->countdown = poll->stride = stride;
}

enum { MOST_SLOTS = 64 }; /* of arguments that a watched function may have */

int
dl_entry_is_due(DlPoll *poll)
{
    poll->passed += (uint64_t)poll->stride;
    poll->countdown = poll->stride;
    DlFrame *frame = dl_pyframe_running(PyThreadState_Get());
    PyCodeObject *code = dl_pyframe_code(frame);
    if (passing == code) {
        passing = NULL;
        return 0;
    }
    if (poll->off || !dl_poll_may_act(code)) {
        poll->countdown = poll->off ? DL_LONGEST_STRIDE : 1;
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
    poll->stride = DL_LONGEST_STRIDE;
    if (PyFunction_GET_CODE(function) == (PyObject *)code) {
        exchange(function, poll->without);
    }
}

/* The code that `make` gives; NULL with an error set. owner: of dl_interrupts_defer. */
static PyObject *
ask_for_code(PyObject *make, PyObject *owner)
{
    DlDeferral deferral;
    uint64_t began = dl_now();
    dl_hook_pause();
    dl_interrupts_defer(&deferral, owner);
    PyObject *made = dl_interrupts_resume(&deferral, PyObject_CallNoArgs(make));
    dl_hook_resume();
    dl_thread.answering += dl_now() - began;
    return made;
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
        if (time >= dl_thresholds.hot_loop && !rests && poll->whole != (PyObject *)code) { /* another function has */
            exchange(function, poll->whole);
            Py_CLEAR(poll->whole);
            if (poll->rests_until == 0) {
                Py_CLEAR(poll->alone);
            }
        }
    }
    else if (rests || (trial->n_plain >= dl_thresholds.tried_short && trial->plain < dl_thresholds.short_call)) {
        PyObject *made = ask_for_code(poll->alone, NULL);
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
        int has_arrays = trial->size & 1;
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

PyObject *
dl_entry_run(DlPoll *poll, DlFrame *frame, PyCodeObject *code)
{
    DlCache *cache = dl_cache_get(code);
    PyObject *room[MOST_SLOTS];
    if (cache == NULL || cache->n_slots > MOST_SLOTS) {
        PyErr_Clear(); /* no memory: it may be there next time */
        poll->off = cache != NULL;
        return Py_NewRef(dl_go_on);
    }
    PyObject *const *slots = dl_frame_arguments(frame, poll->cells, room, cache->n_slots);
    if (poll->hot && dl_dispatch_stays_plain(cache, slots, cache->n_slots, dl_watching.on_miss)) {
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
    if (dl_cache_skips(cache, dl_watching.on_miss) && cache->n_entries == 0) {
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
        DlOutcome outcome = dl_dispatch(cache, function, slots, cache->n_slots, dl_watching.on_miss, &value);
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

PyObject *
dl_entry_begin(DlPoll *poll, DlFrame *frame, PyCodeObject *code)
{
    PyObject *function = Py_NewRef(dl_pyframe_function(frame)), *value = NULL;
    if (poll->waits && (double)poll->spent < dl_thresholds.polls_after) {
        value = call_timed(poll, &poll->trials[0], frame, function, code);
        goto done;
    }
    PyObject *made = ask_for_code(poll->make, function);
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
