/* The PEP 523 frame hook and its statistics (see eval_hook.h). */
#include "eval_hook.h"

#include <stdint.h>

#include "cache.h"
#include "dispatch.h"
#include "hook_state.h"

/* Under the hook every Python call uses C stack, which plain Python calls do not: below so many, frames pass unseen. */
enum { DEEP = 200 };

enum { SMALL_SLOTS = 24 }; /* arguments kept on the C stack; more are allocated */

/* ---- one frame ---- */

/* Run frame in the evaluator that was there before. step_aside: without the hook for the frames below. */
static PyObject *
pass(PyThreadState *tstate, DlFrame *frame, int throwflag, int step_aside)
{
    DlThread *thread = &dl_thread;
    int was_lent = thread->lent;
    thread->lent = 0;
    int was_aside = step_aside || thread->nested >= DEEP ? dl_hook_step_aside() : 1;
    int lent = !thread->aside && !was_lent;
    thread->nested++;
    dl_pyframe_lend_c_stack(tstate, lent);
    PyObject *value = dl_hook.previous(tstate, frame, throwflag);
    dl_pyframe_lend_c_stack(tstate, -lent);
    thread->nested--;
    dl_hook_step_back(was_aside);
    return value;
}

/* mark_rewritten(code): it is a re-encoded one already. */
static PyObject *
mark_rewritten(PyObject *module, PyObject *code)
{
    (void)module;
    if (!PyCode_Check(code)) {
        return PyErr_Format(PyExc_TypeError, "mark_rewritten: expected a code object, not %.100s", Py_TYPE(code)->tp_name);
    }
    DlCache *cache = dl_cache_get((PyCodeObject *)code);
    if (cache == NULL) {
        return NULL;
    }
    cache->is_rewritten = 1;
    Py_RETURN_NONE;
}

/* Make func have `code` instead of what it had, so that a frame's code is still its function's. */
static void
replace_function_code(PyObject *func, PyObject *old, PyObject *code)
{
    if (!PyFunction_Check(func) || PyFunction_GET_CODE(func) != old) {
        return;
    }
    dl_hook_pause(); /* audit hooks see it */
    if (dl_pyframe_set_code(func, code) < 0) {
        PyErr_Clear();
    }
    dl_hook_resume();
}

/* Stress mode "rewrite": let frame run the re-encoding of its code, asked for once: 1 done, 0 it has none that fits. */
static int
rewrite(PyThreadState *tstate, DlFrame *frame, PyCodeObject *code)
{
    DlCache *cache = dl_cache_get(code);
    if (cache == NULL) {
        PyErr_Clear();
        return 0;
    }
    if (cache->is_rewritten) {
        return 1;
    }
    if (cache->rewritten == NULL) {
        if (dl_hook.rewrite_callback == NULL) {
            return 0;
        }
        PyObject *callback = Py_NewRef(dl_hook.rewrite_callback);
        dl_hook_pause();
        PyObject *made = PyObject_CallOneArg(callback, (PyObject *)code);
        dl_hook_resume();
        Py_DECREF(callback);
        if (made == NULL) {
            PyErr_WriteUnraisable((PyObject *)code);
        }
        else if (!PyCode_Check(made)) {
            Py_CLEAR(made);
        }
        else {
            PyObject *marked = made == (PyObject *)code ? NULL : mark_rewritten(NULL, made);
            if (marked == NULL) { /* nor may a code object keep itself alive */
                PyErr_Clear();
                Py_CLEAR(made);
            }
            Py_XDECREF(marked);
        }
        Py_XSETREF(cache->rewritten, made ? made : Py_NewRef(Py_None));
    }
    if (cache->rewritten == Py_None) {
        return 0;
    }
    PyObject *made = Py_NewRef(cache->rewritten);
    int fits = dl_pyframe_has_slots_of(frame, (PyCodeObject *)made);
    if (fits) {
        /* NB: also where this frame has no room for it: the function's next frame is made for the new code. */
        replace_function_code(dl_pyframe_function(frame), (PyObject *)code, made);
        fits = dl_pyframe_replace_code(tstate, frame, (PyCodeObject *)made);
    }
    Py_DECREF(made);
    return fits;
}

/* Why frame, whose cache may be NULL, is not to be dispatched; -1 when it is. */
static int
reason_to_skip(DlFrame *frame, PyCodeObject *code, DlCache *cache, PyObject *on_miss)
{
    const int generator = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    if (cache != NULL && dl_cache_skips(cache, on_miss) && cache->n_entries == 0) {
        return cache->skip - 1;
    }
    if (code->co_flags & generator) {
        return DL_REASON_GENERATOR;
    }
    if (dl_pyframe_has_namespace(frame) || !(code->co_flags & CO_NEWLOCALS)) {
        return DL_REASON_NAMESPACE;
    }
    if (on_miss == NULL || dl_pyframe_is_finalizing()) {
        return DL_REASON_NO_CALLBACK;
    }
    return -1;
}

/* A call that is held against others (trials.h). */
typedef struct {
    DlTrial *trial; /* NULL: it is not */
    DlChoice choice;
    DlStopwatch stopwatch;
} DlTried;

/* Whether frame, whose cache and argument slots are given, is to run plainly because calls like it lose, or to be timed. */
static int
loses(DlTried *tried, DlCache *cache, PyObject *const *slots, PyObject *on_miss)
{
    tried->trial = NULL;
    if (cache->trials == NULL || cache->trials->owner != on_miss || dl_stress != DL_STRESS_NONE) {
        return 0;
    }
    DlTrial *trial = dl_trial_of(cache->trials->trials, slots, cache->n_slots);
    tried->choice = dl_trial_choose(trial);
    if (tried->choice == DL_TRY_COMPILED_TIMED || tried->choice == DL_TRY_PLAIN_TIMED) {
        tried->trial = trial;
        dl_stopwatch_start(&tried->stopwatch);
    }
    return tried->choice == DL_TRY_PLAIN || tried->choice == DL_TRY_PLAIN_TIMED;
}

/* Dispatch frame: 1 with *value (NULL: an exception is set) and frame ended, or 0 and *reason. */
static int
dispatch(PyThreadState *tstate, DlFrame *frame, PyCodeObject *code, PyObject *on_miss, int *reason, DlTried *tried,
         PyObject **value)
{
    DlCache *cache = dl_cache_get(code);
    if (cache == NULL) {
        PyErr_Clear();
        *reason = DL_REASON_NO_ENTRY;
        return 0;
    }
    PyObject *small[SMALL_SLOTS], **room = small;
    Py_ssize_t n = cache->n_slots;
    if (n > SMALL_SLOTS && (room = PyMem_Malloc((size_t)n * sizeof *room)) == NULL) {
        *reason = DL_REASON_NO_ENTRY;
        return 0;
    }
    PyObject *const *slots = dl_pyframe_slots(frame, room, n);
    DlOutcome outcome = DL_PLAIN;
    if (loses(tried, cache, slots, on_miss)) {
        DL_COUNT(cache, plain_calls);
        *reason = DL_REASON_LOSES;
    }
    else {
        Py_INCREF(on_miss); /* the callback may be replaced meanwhile */
        Py_INCREF(cache);
        dl_thread.nested++;
        outcome = dl_dispatch(cache, dl_pyframe_function(frame), slots, n, on_miss, value);
        dl_thread.nested--;
        *reason = dl_cache_skips(cache, on_miss) ? cache->skip - 1 : dl_thread.why_plain;
        if (outcome == DL_RAN) {
            dl_dispatch_try(cache, on_miss); /* the hook itself takes time */
        }
        if (tried->trial != NULL && outcome != DL_PLAIN) {
            dl_trial_note(tried->trial, tried->choice, &tried->stopwatch,
                          outcome == DL_RAN ? DL_ENDS : DL_ENDS_RAISING);
        }
        Py_DECREF(cache);
        Py_DECREF(on_miss);
    }
    if (room != small) {
        PyMem_Free(room);
    }
    if (outcome == DL_PLAIN) {
        return 0;
    }
    dl_pyframe_discard(tstate, frame);
    return 1;
}

/* Run frame, for which nothing compiled runs. Where it had lost, or is held against that, the hook sees nothing that it
   calls, as it would be plainly; otherwise the hook's own work is a part of what is timed. */
static PyObject *
pass_tried(PyThreadState *tstate, DlFrame *frame, DlTried *tried)
{
    DlCache *cache = dl_cache_find(dl_pyframe_code(frame));
    Py_XINCREF(cache); /* which keeps the trial */
    PyObject *value = pass(tstate, frame, 0, tried->choice == DL_TRY_PLAIN || tried->choice == DL_TRY_PLAIN_TIMED);
    if (tried->trial != NULL) {
        dl_trial_note(tried->trial, tried->choice, &tried->stopwatch, value != NULL ? DL_ENDS : DL_ENDS_RAISING);
    }
    Py_XDECREF(cache);
    return value;
}

/* Run a frame of cold code, whose cache is given. */
static PyObject *
pass_cold(PyThreadState *tstate, DlFrame *frame, DlCache *cache)
{
    Py_INCREF(cache);
    DlHeating heating;
    dl_cache_start_heating(&heating, 0);
    PyObject *value = pass(tstate, frame, 0, 0);
    dl_cache_end_heating(cache, &heating);
    Py_DECREF(cache);
    return value;
}

/* The evaluator that CPython calls for each frame while the hook is installed. */
static PyObject *
evaluate(PyThreadState *tstate, DlFrame *frame, int throwflag)
{
    DlThread *thread = &dl_thread;
    if (thread->paused || (thread->depth == 0 && !dl_hook.enabled)) {
        if (dl_hook.active_threads == 0 && !dl_hook.enabled) {
            dl_hook_update(); /* another evaluator put ours back when it left */
        }
        return pass(tstate, frame, throwflag, 0);
    }
    PyCodeObject *code = dl_pyframe_code(frame);
    /* NB: CPython reports other events under an evaluator (StopIteration of a C-level send, C_RETURN of a Python call),
       so a tracer is left alone with the frame and all frames below it. */
    int traced = dl_pyframe_is_traced(tstate, code);
    if (throwflag || !dl_pyframe_is_untouched(frame)) {
        return pass(tstate, frame, throwflag, traced);
    }
    DlCache *cache = dl_cache_find(code);
    if (cache != NULL && cache->residual) {
        return pass(tstate, frame, throwflag, traced); /* stands for a frame that was counted */
    }
    if (thread->plain == code && cache != NULL && cache->resumes) {
        thread->plain = NULL;
        dl_hook.plain_rests++;
        return pass(tstate, frame, throwflag, traced); /* the rest of one that was */
    }
    dl_hook.seen++;
    int reason;
    PyObject *on_miss = thread->on_miss ? thread->on_miss : dl_hook.frame_callback;
    if (traced) {
        reason = DL_REASON_TRACED;
    }
    else if (thread->nested >= DEEP || dl_pyframe_stack_is_low()) { /* what reports an overflow of C code runs there */
        reason = DL_REASON_DEEP;
    }
    else if (thread->plain == code) {
        thread->plain = NULL;
        reason = DL_REASON_PLAIN;
    }
    else if (dl_stress == DL_STRESS_HOOK) {
        reason = DL_REASON_STRESS;
    }
    else if (dl_stress == DL_STRESS_REWRITE) {
        if (rewrite(tstate, frame, code)) {
            dl_hook.rewritten++;
            return pass(tstate, frame, throwflag, 0);
        }
        reason = DL_REASON_NOT_REWRITTEN;
    }
    else if ((reason = reason_to_skip(frame, code, cache, on_miss)) < 0) {
        uint64_t before = thread->frames, began = thread->heating ? dl_now() : 0;
        PyObject *value;
        int ended = 1;
        DlTried tried = {0};
        if (cache != NULL && dl_cache_is_cold(cache)) {
            dl_hook.skipped[DL_REASON_COLD]++;
            value = pass_cold(tstate, frame, cache);
        }
        else if (dispatch(tstate, frame, code, on_miss, &reason, &tried, &value)) {
            dl_hook.captured++;
            thread->gains++;
        }
        else if (reason == DL_REASON_LOSES || tried.trial != NULL) {
            dl_hook.skipped[reason]++;
            value = pass_tried(tstate, frame, &tried);
        }
        else if (reason == DL_REASON_PUT_OFF) {
            dl_hook.skipped[reason]++;
            value = pass_cold(tstate, frame, dl_cache_find(code));
        }
        else {
            ended = 0;
        }
        if (ended && began != 0) {
            thread->frames = before + (dl_now() - began);
        }
        if (ended) {
            return value;
        }
    }
    dl_hook.skipped[reason]++;
    return pass(tstate, frame, throwflag, traced);
}

/* ---- Python functions ---- */

/* 0, or -1 with RuntimeError set when frames cannot be taken over here. */
static int
require_support(void)
{
    const char *refusal = dl_pyframe_refusal();
    if (refusal != NULL) {
        PyErr_SetString(PyExc_RuntimeError, refusal);
        return -1;
    }
    return 0;
}

/* Keep `value` in *place: None as NULL, else a callable. 0, or -1 with TypeError set. */
static int
set_callback(PyObject **place, PyObject *value)
{
    if (value != Py_None && !PyCallable_Check(value)) {
        PyErr_Format(PyExc_TypeError, "expected a callable or None, not %.100s", Py_TYPE(value)->tp_name);
        return -1;
    }
    Py_XSETREF(*place, value == Py_None ? NULL : Py_NewRef(value));
    return 0;
}

static PyObject *
hook_enter(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (require_support() < 0) {
        return NULL;
    }
    dl_hook_want();
    Py_RETURN_NONE;
}

static PyObject *
hook_exit(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    if (dl_thread.depth == 0) {
        PyErr_SetString(PyExc_RuntimeError, "hook_exit() without hook_enter() in this thread");
        return NULL;
    }
    dl_hook_unwant();
    Py_RETURN_NONE;
}

static PyObject *
hook_enable(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *callback = NULL;
    if (!PyArg_ParseTuple(args, "|O:hook_enable", &callback) || require_support() < 0 ||
        (callback != NULL && set_callback(&dl_hook.frame_callback, callback) < 0)) {
        return NULL;
    }
    dl_hook.enabled = 1;
    dl_hook_update();
    Py_RETURN_NONE;
}

static PyObject *
hook_disable(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    dl_hook.enabled = 0;
    dl_hook_update();
    Py_RETURN_NONE;
}

static PyObject *
hook_installed(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    return PyBool_FromLong(dl_pyframe_refusal() == NULL && dl_pyframe_evaluator() == evaluate);
}

static PyObject *
hook_refusal(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
    const char *refusal = dl_pyframe_refusal();
    return refusal ? PyUnicode_FromString(refusal) : Py_NewRef(Py_None);
}

static PyObject *
set_frame_callback(PyObject *module, PyObject *callback)
{
    (void)module;
    return set_callback(&dl_hook.frame_callback, callback) < 0 ? NULL : Py_NewRef(Py_None);
}

static PyObject *
set_rewrite_callback(PyObject *module, PyObject *callback)
{
    (void)module;
    return set_callback(&dl_hook.rewrite_callback, callback) < 0 ? NULL : Py_NewRef(Py_None);
}

static const struct {
    const char *name;
    DlStress mode;
} stress_modes[] = {
    {"hook", DL_STRESS_HOOK}, {"rewrite", DL_STRESS_REWRITE}, {"miss", DL_STRESS_MISS}, {"all", DL_STRESS_ALL}};

static PyObject *
get_stress(PyObject *module, PyObject *Py_UNUSED(args))
{
    (void)module;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(stress_modes); i++) {
        if (dl_stress == stress_modes[i].mode) {
            return PyUnicode_FromString(stress_modes[i].name);
        }
    }
    Py_RETURN_NONE;
}

static PyObject *
set_stress(PyObject *module, PyObject *mode)
{
    (void)module;
    if (mode == Py_None) {
        dl_stress = DL_STRESS_NONE;
        Py_RETURN_NONE;
    }
    for (size_t i = 0; PyUnicode_Check(mode) && i < Py_ARRAY_LENGTH(stress_modes); i++) {
        if (PyUnicode_CompareWithASCIIString(mode, stress_modes[i].name) == 0) {
            dl_stress = stress_modes[i].mode;
            Py_RETURN_NONE;
        }
    }
    return PyErr_Format(PyExc_ValueError, "set_stress: expected \"hook\", \"rewrite\", \"miss\", \"all\" or None, not %R", mode);
}

/* The counts of frames as a dict, optionally starting anew. */
static PyObject *
frame_stats(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"reset", NULL};
    int reset = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "|p:frame_stats", names, &reset)) {
        return NULL;
    }
    PyObject *skipped = PyDict_New();
    for (int i = 0; skipped != NULL && i < DL_MAX_REASONS; i++) {
        if (dl_hook.skipped[i] == 0) {
            continue;
        }
        PyObject *key = PyLong_FromLong(i), *count = PyLong_FromUnsignedLongLong(dl_hook.skipped[i]);
        if (key == NULL || count == NULL || PyDict_SetItem(skipped, key, count) < 0) {
            Py_CLEAR(skipped);
        }
        Py_XDECREF(key);
        Py_XDECREF(count);
    }
    if (skipped == NULL) {
        return NULL;
    }
    PyObject *stats = Py_BuildValue("{s:K,s:K,s:K,s:K,s:N}", "seen", (unsigned long long)dl_hook.seen, "captured",
                                    (unsigned long long)dl_hook.captured, "rewritten", (unsigned long long)dl_hook.rewritten,
                                    "plain_rests", (unsigned long long)dl_hook.plain_rests, "skipped", skipped);
    if (reset && stats != NULL) {
        dl_hook.seen = dl_hook.captured = dl_hook.rewritten = dl_hook.plain_rests = 0;
        memset(dl_hook.skipped, 0, sizeof dl_hook.skipped);
    }
    return stats;
}

static PyObject *
frame_reasons(PyObject *module, PyObject *unused)
{
    (void)module, (void)unused;
#define ROW(id, text) text,
    static const char *const texts[] = {DL_REASONS(ROW)};
#undef ROW
    PyObject *result = PyTuple_New(DL_N_REASONS);
    for (int i = 0; result != NULL && i < DL_N_REASONS; i++) {
        PyObject *text = PyUnicode_FromString(texts[i]);
        if (text == NULL) {
            Py_CLEAR(result);
            break;
        }
        PyTuple_SET_ITEM(result, i, text);
    }
    return result;
}

/* unseen(function, *args): the result of the call, whose frames the hook lets pass. */
static PyObject *
unseen(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    if (n_args < 1) {
        return PyErr_Format(PyExc_TypeError, "unseen: expected a function");
    }
    dl_hook_pause();
    PyObject *result = PyObject_Vectorcall(args[0], args + 1, (size_t)n_args - 1, NULL);
    dl_hook_resume();
    return result;
}

/* bound(function) is the function, bound(self, function) its method: what LOAD_SPECIAL leaves, as one object. */
static PyObject *
bound(PyObject *module, PyObject *const *args, Py_ssize_t n_args)
{
    (void)module;
    if (n_args == 1) {
        return Py_NewRef(args[0]);
    }
    if (n_args != 2) {
        return PyErr_Format(PyExc_TypeError, "bound: expected one or two arguments");
    }
    return PyMethod_New(args[1], args[0]);
}

static PyObject *
force_plain(PyObject *module, PyObject *on)
{
    (void)module;
    int truth = PyObject_IsTrue(on);
    if (truth < 0) {
        return NULL;
    }
    dl_force_plain = truth;
    Py_RETURN_NONE;
}

PyMethodDef dl_eval_hook_functions[] = {
    {"force_plain", force_plain, METH_O, "force_plain(on): whether compiled functions and watched code run plainly."},
    {"bound", (PyCFunction)(void (*)(void))bound, METH_FASTCALL,
     "bound([self,] function): the method, or the function where there is no self."},
    {"unseen", (PyCFunction)(void (*)(void))unseen, METH_FASTCALL,
     "unseen(function, *args): call it for the compiler's own work; the hook lets its frames pass."},
    {"hook_enter", hook_enter, METH_NOARGS, "Show the frames of this thread to the hook, until hook_exit()."},
    {"hook_exit", hook_exit, METH_NOARGS, "Undo one hook_enter() of this thread."},
    {"hook_enable", hook_enable, METH_VARARGS,
     "hook_enable(on_frame=...): whole-program mode, the hook sees the frames of all threads."},
    {"hook_disable", hook_disable, METH_NOARGS, "End whole-program mode."},
    {"hook_installed", hook_installed, METH_NOARGS, "Whether the interpreter's frame evaluator is ours now."},
    {"hook_refusal", hook_refusal, METH_NOARGS, "Why frames cannot be taken over in this Python, or None."},
    {"set_frame_callback", set_frame_callback, METH_O,
     "set_frame_callback(on_frame): who is asked, as on_frame(func, slots), for the CacheEntry of a callee's frame."},
    {"set_rewrite_callback", set_rewrite_callback, METH_O,
     "set_rewrite_callback(callback): code -> re-encoded code or None, for stress mode \"rewrite\"."},
    {"mark_rewritten", mark_rewritten, METH_O, "mark_rewritten(code): stress mode \"rewrite\" runs it as it is."},
    {"get_stress", get_stress, METH_NOARGS, "get_stress() -> what set_stress was given last."},
    {"set_stress", set_stress, METH_O, "set_stress(\"hook\" | \"rewrite\" | \"miss\" | \"all\" | None)."},
    {"frame_stats", (PyCFunction)(void (*)(void))frame_stats, METH_VARARGS | METH_KEYWORDS,
     "frame_stats(reset=False) -> dict: seen, captured, rewritten, plain_rests, skipped by reason number."},
    {"frame_reasons", frame_reasons, METH_NOARGS, "The texts of the reason numbers that C gives; the pipeline's start at 32."},
    {NULL, NULL, 0, NULL},
};

int
dl_hook_register(PyObject *Py_UNUSED(module))
{
    dl_hook_state_register(evaluate);
    return 0;
}
