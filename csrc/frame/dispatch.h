/* From bound slots to a value: which CacheEntry passes, its program, its residual code, the continuations.

   docs/architecture.md, "Segments", is the contract. The same loop serves CompiledFunction (slots are the caller's
   arguments) and the frame hook (slots are the frame's own). */
#ifndef DL_DISPATCH_H
#define DL_DISPATCH_H

#include "cache.h"

typedef enum { DL_ERROR = -1, DL_PLAIN = 0, DL_RAN = 1 } DlOutcome;

/* Run a call of func (its code's cache is given; slots: its argument slots, borrowed, as the code numbers them).
   on_miss: asked for an entry when none passes; NULL: nobody is asked.
   DL_RAN: *value is a new reference. DL_PLAIN: nothing happened, run func plainly. DL_ERROR: an exception is set. */
DlOutcome dl_dispatch(DlCache *cache, PyObject *func, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss,
                      PyObject **value);

/* Have the calls of this code timed from now on, those that on_miss is asked for, if its entries are judged so. */
void dl_dispatch_try(DlCache *cache, PyObject *on_miss);

/* dl_dispatch() for a function of which many calls on end ran plainly: true, and the call counted, when this one is like
   them. The cheap question before all others. */
int dl_dispatch_stays_plain(DlCache *cache, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss);

/* Go on where `value` is a Continuation, whose reference is consumed: the value of the call in the end, or NULL with an
   error set. Any other value is the call's own. */
PyObject *dl_dispatch_go_on(DlCache *cache, PyObject *func, PyObject *on_miss, PyObject *value);

/* True for an exact _C.Guards. */
int dl_dispatch_is_guards(PyObject *value);

/* Fill in what entry's guards and program are and how many values they hand out. */
void dl_dispatch_bind_entry(DlEntry *entry);

#endif
