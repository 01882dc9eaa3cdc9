/* Which threads want their frames seen by the hook, and putting it in place (see hook_state.h). */
#include "hook_state.h"

#include <pthread.h>

_Thread_local DlThread dl_thread;
int dl_n_timing;
DlStress dl_stress;
int dl_force_plain;
DlHookState dl_hook;

/* True when every thread of this interpreter is paused. */
static int
all_threads_are_paused(void)
{
    int n = 0;
    for (PyThreadState *t = PyInterpreterState_ThreadHead(PyInterpreterState_Get()); t != NULL; t = PyThreadState_Next(t)) {
        n++;
    }
    return n <= dl_hook.paused_threads;
}

/* True while frames of some thread are to be seen. */
static int
is_wanted(void)
{
    if (dl_hook.aside_threads > 0) {
        return 0;
    }
    return dl_hook.active_threads > 0 || (dl_hook.enabled && !(dl_hook.paused_threads > 0 && all_threads_are_paused()));
}

void
dl_hook_update(void)
{
    int wanted = is_wanted();
    if (!wanted && !dl_hook.installed) {
        return;
    }
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        return; /* the counts are of the main interpreter, where this extension lives */
    }
    DlEvaluator current = dl_pyframe_evaluator();
    if (!wanted) {
        if (current == dl_hook.evaluator) {
            dl_pyframe_set_evaluator(dl_hook.previous);
            dl_hook.installed = 0;
        }
        /* else another evaluator sits on top and may call ours: stay behind it, passing frames on */
        return;
    }
    if (current == dl_hook.evaluator) {
        return;
    }
    /* NB: an evaluator that we were below may still call ours: a second copy on top would call itself for ever. */
    if (dl_hook.installed && current != dl_hook.previous && current != dl_pyframe_default_evaluator()) {
        return;
    }
    dl_hook.previous = current;
    dl_hook.installed = 1;
    dl_pyframe_set_evaluator(dl_hook.evaluator);
}

/* Count this thread as what it now is, and act on it. */
static void
recount(void)
{
    DlThread *thread = &dl_thread;
    int active = thread->depth > 0 && thread->paused == 0;
    dl_hook.active_threads += active - thread->active;
    thread->active = active;
    dl_hook_update();
}

void
dl_hook_want(void)
{
    if (dl_thread.depth++ == 0) {
        recount();
    }
}

void
dl_hook_unwant(void)
{
    if (--dl_thread.depth == 0) {
        recount();
    }
}

void
dl_hook_enter(DlHookScope *scope, PyObject *on_miss)
{
    if (scope->entered || on_miss == NULL || dl_hook.stands_in) {
        return;
    }
    DlThread *thread = &dl_thread;
    scope->entered = 1;
    scope->outer = thread->on_miss;
    thread->on_miss = on_miss;
    scope->counted = !dl_hook.enabled && dl_pyframe_refusal() == NULL;
    if (scope->counted) {
        dl_hook_want();
    }
}

void
dl_hook_stand_in(int others)
{
    dl_hook.stands_in = others;
}

/* Whether no thread wants its frames seen, paused or not. NB: a thread's own state is some ten instructions away. */
static inline int
is_unwanted(void)
{
    return dl_hook.active_threads == 0 && dl_hook.paused_threads == 0;
}

int
dl_hook_try(DlHookWatch *watch, DlHookScope *scope, PyObject *on_miss)
{
    if (dl_hook.stands_in) {
        return 0;
    }
    if (watch->barren >= DL_BARREN && dl_stress == DL_STRESS_NONE && !dl_hook.enabled
        && (is_unwanted() || dl_thread.depth == 0)) {
        if (watch->rested++ < DL_REST) {
            return 0;
        }
        watch->rested = 0;
    }
    dl_hook_enter(scope, on_miss);
    return 1;
}

void
dl_hook_leave(DlHookScope *scope)
{
    if (scope->entered) {
        dl_thread.on_miss = scope->outer;
        if (scope->counted) {
            dl_hook_unwant();
        }
    }
}

enum { OWN_FRAMES = 500 }; /* as many as means.py takes compiling to need at most */

void
dl_hook_pause(void)
{
    if (dl_thread.paused++ == 0) {
        dl_hook.paused_threads++;
        recount();
        dl_thread.own_frames = dl_pyframe_stack_is_low() ? 0 : OWN_FRAMES;
        dl_pyframe_lend_frames(PyThreadState_Get(), dl_thread.own_frames);
    }
}

void
dl_hook_resume(void)
{
    if (--dl_thread.paused == 0) {
        dl_hook.paused_threads--;
        recount();
        dl_pyframe_lend_frames(PyThreadState_Get(), -dl_thread.own_frames);
    }
}

/* In the child of fork() only this thread lives on. */
static void
forget_other_threads(void)
{
    dl_n_timing = dl_thread.timing;
    dl_hook.active_threads = dl_thread.active;
    dl_hook.paused_threads = dl_thread.paused > 0;
    dl_hook.aside_threads = dl_thread.aside;
}

int
dl_hook_step_aside(void)
{
    if (dl_thread.aside || !dl_hook.installed) {
        return 1;
    }
    dl_thread.aside = 1;
    dl_hook.aside_threads++;
    dl_hook_update();
    return 0;
}

void
dl_hook_step_back(int was_aside)
{
    if (!was_aside) {
        dl_thread.aside = 0;
        dl_hook.aside_threads--;
        dl_hook_update();
    }
}

static inline void
lend(DlThread *thread, PyThreadState *tstate)
{
    dl_pyframe_lend_c_stack(tstate, 1);
    thread->lent = dl_hook.installed;
}

static inline void
take_back(DlThread *thread, PyThreadState *tstate)
{
    dl_pyframe_lend_c_stack(tstate, -1);
    thread->lent = 0; /* no frame was made where binding the arguments failed */
}

void
dl_hook_lend(PyThreadState *tstate)
{
    lend(&dl_thread, tstate);
}

void
dl_hook_take_back(PyThreadState *tstate)
{
    take_back(&dl_thread, tstate);
}

PyObject *
dl_hook_call_plainly(PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames, int owned)
{
    DlThread *thread = &dl_thread;
    if (dl_pyframe_check_stack() < 0) {
        for (Py_ssize_t i = 0; owned && i < PyVectorcall_NARGS(nargsf); i++) {
            Py_DECREF(args[i]);
        }
        return NULL;
    }
    int mark = (thread->depth > 0 || dl_hook.enabled) && !thread->paused && PyFunction_Check(func);
    if (mark) {
        thread->plain = (PyCodeObject *)PyFunction_GET_CODE(func);
    }
    PyThreadState *tstate = PyThreadState_Get();
    lend(thread, tstate);
    PyObject *value = owned ? dl_pyframe_call_handing_over(func, args, 0, PyVectorcall_NARGS(nargsf), NULL)
                            : PyObject_Vectorcall(func, args, nargsf, kwnames);
    take_back(thread, tstate);
    if (mark) {
        thread->plain = NULL; /* binding the arguments may have failed before a frame was made */
    }
    return value;
}

void
dl_hook_state_register(DlEvaluator evaluator)
{
    static int registered;
    dl_hook.evaluator = evaluator;
    if (!registered && pthread_atfork(NULL, NULL, forget_other_threads) == 0) {
        registered = 1;
    }
}
