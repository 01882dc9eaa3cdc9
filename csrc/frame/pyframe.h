/* Everything dynamo_lite asks of CPython's private frame machinery.

   The only files that know a CPython version are pyframe.h, pyframe.c, pyframe_core.h (CPython's private headers),
   pyframe_signals.c (signals, and what other threads send) and pyframe_places.c (where attributes lie). A version (or
   build) they do not know is refused by dl_pyframe_refusal() with a sentence for the user; the callers then leave frames
   alone and the rest of the extension works. A DlFrame handed to an evaluator is *untouched*: bound, on the data stack, not
   yet linked or run. */
#ifndef DL_PYFRAME_H
#define DL_PYFRAME_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Whether the garbage collector has what is tracked in lists, linked by two words before each object, and tells
   generations by the list alone (Include/internal/pycore_gc.h). */
#if !defined(Py_GIL_DISABLED) && PY_VERSION_HEX < 0x030E0000
#define DL_PYFRAME_GC_LISTS 1
#else
#define DL_PYFRAME_GC_LISTS 0
#endif

typedef struct _PyInterpreterFrame DlFrame;
typedef PyObject *(*DlEvaluator)(PyThreadState *, DlFrame *, int);

/* Why frames cannot be taken over in this Python; NULL when they can. */
const char *dl_pyframe_refusal(void);

/* The evaluator of the current interpreter; never NULL. */
DlEvaluator dl_pyframe_evaluator(void);

/* CPython's own evaluator, which chains to nobody. */
DlEvaluator dl_pyframe_default_evaluator(void);

/* Make `evaluator` the evaluator of the current interpreter. */
void dl_pyframe_set_evaluator(DlEvaluator evaluator);

/* The code object of frame; borrowed. */
PyCodeObject *dl_pyframe_code(DlFrame *frame);

/* The function object of frame; borrowed. */
PyObject *dl_pyframe_function(DlFrame *frame);

/* The first n local slots of frame, arguments first; borrowed references, NULL where unbound. They lie in the frame, or
   are written to `room`, which has place for n: from 3.14 a frame holds tagged references. */
PyObject *const *dl_pyframe_slots(DlFrame *frame, PyObject **room, Py_ssize_t n);

/* The line of the user's that frame, which has called C code, is at; -1 where that is not known. */
int dl_pyframe_line(DlFrame *frame);

/* The Python frame that runs in this thread, from which C code was called; NULL when there is none. */
DlFrame *dl_pyframe_running(PyThreadState *tstate);

/* Leave the running frame out of the chain of frames until dl_pyframe_show(): what is called meanwhile has its caller for
   a caller, and is not one frame deeper to Python's recursion limit. Returns what that needs. */
DlFrame *dl_pyframe_hide(PyThreadState *tstate);
void dl_pyframe_show(PyThreadState *tstate, DlFrame *hidden);

/* Leave all frames of this thread out of the chain until dl_pyframe_show_all(): what is called meanwhile is its first one,
   to Python's recursion limit, too. n: how many more may be nested meanwhile. */
DlFrame *dl_pyframe_hide_all(PyThreadState *tstate, int *n);
void dl_pyframe_show_all(PyThreadState *tstate, DlFrame *hidden, int n);

/* Let so many more frames be nested before Python's recursion limit is reached; fewer where n is negative. */
void dl_pyframe_lend_frames(PyThreadState *tstate, int n);

/* What local slot i of a running frame holds: new reference, or NULL. */
PyObject *dl_pyframe_slot(DlFrame *frame, Py_ssize_t i);

/* Take what local slot i of a running frame holds out of it: the frame's reference, or NULL. */
PyObject *dl_pyframe_take_slot(DlFrame *frame, Py_ssize_t i);

/* What slot i of the value stack of a running frame holds: new reference. */
PyObject *dl_pyframe_stack_item(DlFrame *frame, Py_ssize_t i);

/* Unbind the locals and cells of a running frame (free variables stay), and put None in the first `depth` slots of its
   value stack. */
void dl_pyframe_clear_state(DlFrame *frame, Py_ssize_t depth);

/* Let a dict live as long as a running frame, of which nobody asks for its namespace any more; whether it does. */
int dl_pyframe_leave_behind(DlFrame *frame, PyObject *dict);

/* True when frame has not run its first instruction (a resumed generator has). */
int dl_pyframe_is_untouched(DlFrame *frame);

/* True when frame has a namespace: the body of a module, a class or exec(). */
int dl_pyframe_has_namespace(DlFrame *frame);

/* Whether frame runs code of a module, or of a class, whose names are not its globals, or of a function for which
   somebody has asked `locals()`: before 3.13 that is one dict for the frame, which keeps what it has shown. */
int dl_pyframe_has_own_namespace(DlFrame *frame);

/* End an untouched frame that an evaluator will not run, as that Python expects of its evaluators. */
void dl_pyframe_discard(PyThreadState *tstate, DlFrame *frame);

/* True when `code` numbers the variables of frame's own code in the same way. */
int dl_pyframe_has_slots_of(DlFrame *frame, PyCodeObject *code);

/* Let an untouched frame run `code` (same slots, other instructions) instead of its own: 1 done, 0 it does not fit. */
int dl_pyframe_replace_code(PyThreadState *tstate, DlFrame *frame, PyCodeObject *code);

/* True when a tracer, profiler, debugger or sys.monitoring tool watches this thread, or `code` itself. */
int dl_pyframe_is_traced(PyThreadState *tstate, PyCodeObject *code);

/* Index of a per-code-object slot whose content is released by `release`; -1 with an error set. */
Py_ssize_t dl_pyframe_request_extra(freefunc release);

/* What `code` holds at that index; NULL when nothing; never an error. */
void *dl_pyframe_get_extra(PyCodeObject *code, Py_ssize_t index);

/* Store `value` at that index of code: 0, or -1 with an error set. */
int dl_pyframe_set_extra(PyCodeObject *code, Py_ssize_t index, void *value);

/* Set the __code__ of `function` to `code`, which takes the same arguments: 0, or -1 with an error set. NB: from 3.13 a
   function whose __code__ was set has no version any more, and no call of it is specialised again, for good (a tenth of
   the time of a short call). A function that MAKE_FUNCTION has made, and nobody has changed since, has its code's. */
int dl_pyframe_set_code(PyObject *function, PyObject *code);

/* The names of the local slots of code, arguments first, free variables last; borrowed tuple. */
PyObject *dl_pyframe_slot_names(PyCodeObject *code);

/* How many of those are free variables. */
int dl_pyframe_n_free(PyCodeObject *code);

/* The dictionary that keeps the attributes of object itself; borrowed, NULL where there is none. Makes none. */
PyObject *dl_pyframe_own_dict(PyObject *object);

/* What object itself has under `name`: new reference, NULL without an error where it has nothing. Follows a test of
   dl_pyframe_names_are_plain. NB: attributes that lie in the object are read there. Once its dictionary is made, plain
   Python reads them by slower instructions for good (twice the time), and at places that meet objects of both kinds by
   the slowest. */
PyObject *dl_pyframe_own_attribute(PyObject *object, PyObject *name);

/* Where an attribute lies in objects of one class (pyframe_places.c). */
typedef struct {
    PyObject *name;   /* borrowed */
    Py_ssize_t slot;  /* bytes before it, in an object with slots; or 0 */
    Py_ssize_t index; /* among the values beside an object; or -1 */
} DlAttribute;

/* See where objects of a type have what they have under `name`, an interned str. */
void dl_attribute_find(DlAttribute *self, PyTypeObject *type, PyObject *name);

/* The place that holds an object's attribute, or NULL if it has none; NULL where it lies elsewhere. */
PyObject **dl_attribute_place(const DlAttribute *self, PyObject *object);

/* Whether all that object has of its own lies beside it. */
int dl_attribute_lies_beside(PyObject *object);

/* Whether attributes of object are kept in a dictionary that is exactly one, or would be. */
int dl_pyframe_keeps_attributes(PyObject *object);

/* True when all keys of dict are known to be strings themselves. */
int dl_pyframe_has_string_keys(PyObject *dict);

/* True when looking a name up in dict, or among the attributes of object itself, runs no code: no key there is of a class
   with its own __eq__, which it might call. */
int dl_pyframe_keys_are_plain(PyObject *dict);
int dl_pyframe_names_are_plain(PyObject *object);

/* True once the interpreter is being torn down: no Python callback should run any more. */
int dl_pyframe_is_finalizing(void);

/* True when the interpreter would, at its next instruction in this thread, run a signal handler or raise what another
   thread sent (PyThreadState_SetAsyncExc). Runs nothing. Needs the GIL. */
int dl_pyframe_is_interrupted(void);

/* Whether there is an exception of this thread's that is raised there, as by a handler (dl_interrupts_raise_later). */
extern _Thread_local int dl_pyframe_raises_later;

/* Whether this thread is where signal handlers run. */
int dl_pyframe_handles_signals(void);

/* Keeps interrupts from a thread: signal handlers do not run, and exceptions that other threads send wait. */
typedef struct {
    PyThreadState *letterbox;  /* where the exceptions go that other threads send meanwhile; NULL where there are none */
    unsigned long main_thread; /* 0 where this is not the thread in which handlers run */
} DlKept;

/* Begin and end keeping interrupts from the current thread; what came meanwhile waits for the next instruction. Nested
   pairs are fine. A set error stays. Need the GIL. */
void dl_pyframe_keep_interrupts(DlKept *kept);
void dl_pyframe_release_interrupts(DlKept *kept);

/* True when something has come that is kept. */
int dl_pyframe_has_kept(const DlKept *kept);

/* True when the interpreter would, at its next instruction, let another thread run that waits for the GIL. Needs it. */
int dl_pyframe_is_waited_for(void);

/* How often the GIL has gone from one thread to another so far. Needs it. */
unsigned long dl_pyframe_switches(void);

/* True when this interpreter has more than one thread. Needs the GIL. */
int dl_pyframe_has_other_threads(void);

/* True when this thread's C stack is nearly used up. */
int dl_pyframe_stack_is_low(void);

/* Raise RecursionError and return -1 when this thread's C stack is nearly used up, else 0. */
int dl_pyframe_check_stack(void);

/* Call func with n arguments, the last ones by the names of a tuple (NULL: none), of which those behind the first n_kept
   are references of the caller's that go over to func's frame, as in plain Python's own calls: what func then deletes or
   binds anew dies at that moment. They are consumed in every case; nobody else may reach them through the caller by now
   (the garbage collector counts). */
PyObject *dl_pyframe_call_handing_over(PyObject *func, PyObject *const *args, Py_ssize_t n_kept, Py_ssize_t n,
                                       PyObject *names);

/* Around a call of ours that evaluates a Python frame where plain Python would have used no C stack: 3.12 counts such
   evaluations (two units each of 1500) against a limit of their own, which plain recursion never meets. Our own calls
   are bounded by dl_pyframe_check_stack() instead. NB: the hook cannot tell a frame that C code calls, a key function of
   sorted(), from one that Python code does: it lends to both, and C code may recurse two units deeper for each. */
static inline void
dl_pyframe_lend_c_stack(PyThreadState *tstate, int sign)
{
#if PY_VERSION_HEX >= 0x030C0000 && PY_VERSION_HEX < 0x030E0000
    tstate->c_recursion_remaining += 2 * sign; /* PY_EVAL_C_STACK_UNITS of ceval.c */
#else
    (void)tstate, (void)sign;
#endif
}

/* Where an int has what says how many digits it has, and the first of these; whether the sign stands there, too. */
#if PY_VERSION_HEX >= 0x030C0000
#define DL_PYFRAME_INT_HEAD offsetof(PyLongObject, long_value.lv_tag)
#define DL_PYFRAME_INT_DIGIT offsetof(PyLongObject, long_value.ob_digit)
#define DL_PYFRAME_INT_TAGGED 1
#else
#define DL_PYFRAME_INT_HEAD offsetof(PyLongObject, ob_base.ob_size)
#define DL_PYFRAME_INT_DIGIT offsetof(PyLongObject, ob_digit)
#define DL_PYFRAME_INT_TAGGED 0
#endif

#endif
