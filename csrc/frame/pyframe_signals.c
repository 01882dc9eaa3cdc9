/* Whether signals, and exceptions that other threads send, wait, and holding them back (see pyframe.h). */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "pyframe_core.h"
#include "pyframe.h"

#if DL_KNOWN_PYTHON
/* Whether tstate, the current one, is where signal handlers run. */
static int
handles_signals(PyThreadState *tstate)
{
#if PY_VERSION_HEX >= 0x030E0000 /* _Py_ThreadCanHandleSignals needs _Py_IsMainThread, which is not exported */
    return PyThread_get_thread_ident() == _PyRuntime.main_thread && tstate->interp == PyInterpreterState_Main();
#else
    return _Py_ThreadCanHandleSignals(tstate->interp);
#endif
}
#endif

_Thread_local int dl_pyframe_raises_later;

int
dl_pyframe_is_interrupted(void)
{
    PyThreadState *tstate = PyThreadState_Get();
    if (tstate->async_exc != NULL || dl_pyframe_raises_later) {
        return 1;
    }
#if !DL_KNOWN_PYTHON
    if (!PyOS_InterruptOccurred()) {
        return 0;
    }
    PyErr_SetInterrupt(); /* NB: asking clears it */
    return 1;
#elif PY_VERSION_HEX >= 0x030D0000
    return handles_signals(tstate)
           && (_Py_atomic_load_uintptr_relaxed(&tstate->eval_breaker) & _PY_SIGNALS_PENDING_BIT);
#else
    return handles_signals(tstate) && _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending);
#endif
}

/* ---- keeping interrupts ---- */

/* NB: CPython has no way to hold its signal handlers back. What it has is one question, whether the current thread is the
   one in which handlers run, asked wherever they would: that thread's number is put aside for the time. Of exceptions
   that other threads send, PyThreadState_SetAsyncExc() finds the receiver by the number of its thread, the newest thread
   state first: one more of the same thread gets them. */

#if DL_KNOWN_PYTHON

/* Whether a signal's handler, or a call for the main thread, is still to run. */
static int
has_signal(void)
{
#if PY_VERSION_HEX >= 0x030D0000
    return _Py_atomic_load_int_relaxed(&_PyRuntime.signals.is_tripped)
           || _Py_atomic_load_int32_relaxed(&_PyRuntime.ceval.pending_mainthread.npending);
#elif PY_VERSION_HEX >= 0x030C0000
    return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending)
           || _Py_atomic_load_relaxed(&_PyRuntime.ceval.pending_mainthread.calls_to_do);
#else
    return _Py_atomic_load_relaxed(&_PyRuntime.ceval.signals_pending)
           || _Py_atomic_load_relaxed(&PyThreadState_Get()->interp->ceval.pending.calls_to_do);
#endif
}

/* Have the interpreter look for signals at its next instruction.
   NB: while they were kept it has looked in vain, and forgotten. */
static void
remind_of_signals(void)
{
    PyThreadState *tstate = PyThreadState_Get();
#if PY_VERSION_HEX >= 0x030D0000
    if (_Py_atomic_load_int_relaxed(&_PyRuntime.signals.is_tripped)) {
        _Py_atomic_or_uintptr(&tstate->eval_breaker, _PY_SIGNALS_PENDING_BIT);
    }
    if (_Py_atomic_load_int32_relaxed(&_PyRuntime.ceval.pending_mainthread.npending)) {
        _Py_atomic_or_uintptr(&tstate->eval_breaker, _PY_CALLS_TO_DO_BIT);
    }
#else
    _Py_atomic_store_relaxed(&tstate->interp->ceval.eval_breaker, 1);
#endif
}

void
dl_pyframe_keep_interrupts(DlKept *kept)
{
    PyThreadState *tstate = PyThreadState_Get();
    *kept = (DlKept){NULL, 0};
    if (handles_signals(tstate)) {
        kept->main_thread = _PyRuntime.main_thread;
        _PyRuntime.main_thread = 0;
    }
    if (dl_pyframe_has_other_threads() || tstate->async_exc != NULL) {
        kept->letterbox = PyThreadState_New(tstate->interp); /* NULL: out of memory, so they are not kept */
    }
    if (kept->letterbox != NULL) {
        kept->letterbox->async_exc = tstate->async_exc;
        tstate->async_exc = NULL;
    }
}

void
dl_pyframe_release_interrupts(DlKept *kept)
{
    if (kept->main_thread != 0) {
        _PyRuntime.main_thread = kept->main_thread;
        kept->main_thread = 0;
        if (has_signal()) {
            remind_of_signals();
        }
    }
    PyThreadState *letterbox = kept->letterbox;
    if (letterbox != NULL) {
        PyObject *sent = letterbox->async_exc;
        letterbox->async_exc = NULL;
        kept->letterbox = NULL;
        PyThreadState_Clear(letterbox);
        PyThreadState_Delete(letterbox);
        if (sent != NULL) {
            PyThreadState_SetAsyncExc(PyThread_get_thread_ident(), sent);
            Py_DECREF(sent);
        }
    }
}

int
dl_pyframe_handles_signals(void)
{
    return handles_signals(PyThreadState_Get());
}

int
dl_pyframe_has_kept(const DlKept *kept)
{
    return (kept->letterbox != NULL && kept->letterbox->async_exc != NULL) || (kept->main_thread != 0 && has_signal());
}

#else

void dl_pyframe_keep_interrupts(DlKept *kept) { *kept = (DlKept){NULL, 0}; }
void dl_pyframe_release_interrupts(DlKept *kept) { (void)kept; }
int dl_pyframe_has_kept(const DlKept *kept) { (void)kept; return 0; }
int dl_pyframe_handles_signals(void) { return 0; }

#endif
