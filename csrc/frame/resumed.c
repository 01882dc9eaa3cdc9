/* Resume functions that run as plain Python, in the middle of a chain of segments (see dispatch.c).

   A plain frame can hand back to the chain at a back edge: it returns a Continuation (back_edge.c), which only the loop of the
   dispatcher that has called it may get. */
#include "resumed.h"

#include "eval_hook.h"
#include "interrupts.h"
#include "watch/trials.h"

/* The plain call that a chain awaits in this thread. All compared only. */
typedef struct {
    PyObject *function; /* of the frame that was called; NULL: none */
    DlFrame *caller;    /* the frame below it */
    PyObject *on_miss;
    DlRounds *rounds;
    PyObject *handed;   /* the Continuation that dl_resumed_relay() has let pass */
    DlDeferral on_way;  /* interrupts wait until it has arrived: the frame that returns it is empty */
} Awaited;

static _Thread_local Awaited awaited;

int
dl_resumed_relay(PyObject *function, DlFrame *caller, PyObject *on_miss, PyObject *value)
{
    if (awaited.function != function || awaited.caller != caller || awaited.on_miss != on_miss) {
        return 0;
    }
    awaited.handed = value;
    dl_interrupts_defer(&awaited.on_way, NULL);
    awaited.on_way.to_the_end = 1;
    return 1;
}

int
dl_resumed_is_over(void)
{
    DlRounds *rounds = awaited.rounds;
    if (rounds == NULL) {
        return 1;
    }
    int64_t done = ++rounds->done;
    if (done == 1 || done == rounds->wanted) {
        *(done == 1 ? &rounds->first : &rounds->last) = dl_now();
    }
    return done >= rounds->wanted;
}

PyObject *
dl_resumed_call(PyObject *function, PyObject **args, Py_ssize_t n, PyObject *on_miss, DlRounds *rounds, int *goes_on)
{
    static uint64_t n_segments;
    uint64_t around = dl_thread.segment;
    Awaited outer = awaited;
    dl_thread.segment = ++n_segments << 32; /* NB: calls are added to it (watch.c) */
    awaited = (Awaited){.function = function, .caller = dl_pyframe_running(PyThreadState_Get()), .on_miss = on_miss,
                        .rounds = rounds};
    PyObject *value = dl_hook_call_plainly(function, args, (size_t)n, NULL, 1);
    if (awaited.handed != NULL) {
        value = dl_interrupts_resume(&awaited.on_way, value);
    }
    *goes_on = value != NULL && value == awaited.handed;
    awaited = outer;
    dl_thread.segment = around;
    return value;
}

PyObject *
dl_resumed_with_polls(PyObject *restart, PyObject *func)
{
    DlDeferral deferral;
    uint64_t began = dl_now();
    dl_hook_pause();
    dl_interrupts_defer(&deferral, func);
    PyObject *made = dl_interrupts_resume(&deferral, PyObject_CallOneArg(restart, func));
    dl_hook_resume();
    dl_thread.answering += dl_now() - began;
    if (made == Py_None) {
        Py_CLEAR(made);
    }
    return made;
}
