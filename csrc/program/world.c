/* Letting others run in the middle of a program: other threads, and handlers of signals.
 *
 * They may change what the guards have looked at, and the arrays. So before it lets them run a program notes how its
 * inputs lie and, of arrays whose writes it may have to undo, what they hold. Afterwards the guards are asked again, and
 * give the same inputs, which lie as they did: then the program goes on, in arrays whose elements are read anew in every
 * iteration. What others have written to an array meanwhile is not undone when the program declines later (overlap.c).
 * INVARIANT: they run between two iterations, or where a step calls into Python, when arrays hold what they would hold
 * plainly. What a handler raises ends the call: where a `try` or `with` may handle it, the outermost loop can be left
 * (capture/loops/whole_loops.py has what could not), and signals wait up to a second for that, or their exceptions do. Where no
 * iteration ends in time, the program declines and runs once more, up to the last one that did; if there was none, plain
 * Python gets as far as to the loop. A program that appends to lists does not let them run: nobody could tell their items
 * from its own.
 */
#include "program.h"

#include <time.h>

#include "guards/columns.h"
#include "fpflags.h"
#include "guards/guards.h"
#include "frame/interrupts.h"

enum {
    RARELY = 8,             /* what that costs is at most one in so many parts of the time */
    MOST_NOTED = 1 << 18,   /* bytes that are noted before a call of Python code; a program that writes more declines */
    SMALL_INPUTS = 16,
    PATIENCE_NS = 50000000, /* for how long others wait for the end of an iteration of the outermost loop, */
    LONG_PATIENCE_NS = 1000000000, /* and signals where something may handle what their handlers raise: only there it can */
};

unsigned dl_world_leave_every, dl_world_decline_every;

int64_t
dl_world_clock(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* How an array lies. */
struct DlLying {
    PyArrayObject *array; /* borrowed: the program's input; NULL: no array */
    char *data;
    PyArray_Descr *descr;
    const npy_intp *dims; /* compared, not read */
    int nd, flags;
    npy_intp sizes[2 * DL_MAX_DIMS];
};

/* Whether there is somebody who could say if the world is still the same. */
static int
can_let_in(const DlRun *outermost)
{
    if (outermost->world == NULL || outermost->scope.ignored || outermost->scope.reported) {
        return 0;
    }
    for (int i = 0; i < outermost->program->n_inputs; i++) {
        if (PyList_Check(outermost->inputs[i]) || PyDict_Check(outermost->inputs[i])) {
            return 0;
        }
    }
    return 1;
}

static void
note_lying(struct DlLying *lying, PyObject *object)
{
    lying->array = NULL;
    if (!PyArray_Check(object) || PyArray_NDIM((PyArrayObject *)object) > DL_MAX_DIMS) {
        return;
    }
    PyArrayObject *array = lying->array = (PyArrayObject *)object;
    size_t bytes = (size_t)PyArray_NDIM(array) * sizeof(npy_intp);
    lying->data = PyArray_BYTES(array);
    lying->descr = PyArray_DESCR(array);
    lying->dims = PyArray_DIMS(array);
    lying->nd = PyArray_NDIM(array);
    lying->flags = PyArray_FLAGS(array);
    if (bytes) {
        memcpy(lying->sizes, PyArray_DIMS(array), bytes);
        memcpy(lying->sizes + DL_MAX_DIMS, PyArray_STRIDES(array), bytes);
    }
}

static int
lies_as_before(const struct DlLying *lying)
{
    PyArrayObject *array = lying->array;
    if (array == NULL) {
        return 1;
    }
    if (lying->data != PyArray_BYTES(array) || lying->descr != PyArray_DESCR(array) || lying->dims != PyArray_DIMS(array)
        || lying->nd != PyArray_NDIM(array) || lying->flags != PyArray_FLAGS(array)) {
        return 0;
    }
    size_t bytes = (size_t)lying->nd * sizeof(npy_intp);
    return bytes == 0
           || (memcmp(lying->sizes, PyArray_DIMS(array), bytes) == 0
               && memcmp(lying->sizes + DL_MAX_DIMS, PyArray_STRIDES(array), bytes) == 0);
}

/* Whether an input is the one that it was: the same object, an equal number, or a column of the same numbers. */
static int
is_same(PyObject *one, PyObject *other)
{
    if (one == other) {
        return 1;
    }
    if (PyLong_CheckExact(one) && PyLong_CheckExact(other)) {
        return PyObject_RichCompareBool(one, other, Py_EQ) == 1;
    }
    if (PyFloat_CheckExact(one) && PyFloat_CheckExact(other)) {
        return memcmp(&((PyFloatObject *)one)->ob_fval, &((PyFloatObject *)other)->ob_fval, sizeof(double)) == 0;
    }
    return dl_columns_are_equal(one, other);
}

/* Whether the guards still pass and give the same inputs. */
static int
passes_again(const DlRun *outermost)
{
    const DlWorld *world = outermost->world;
    PyObject *small[SMALL_INPUTS], **inputs = small;
    int n = (int)dl_guards_n_inputs(world->guards);
    if (n > SMALL_INPUTS && (inputs = PyMem_New(PyObject *, n)) == NULL) {
        return 0;
    }
    int passed = dl_guards_check(world->guards, world->func, world->slots, world->n_slots, inputs);
    if (passed < 0) {
        PyErr_Clear();
    }
    int same = passed == 1 && n == outermost->program->n_inputs;
    for (int i = 0; passed == 1 && i < n; i++) {
        same = same && is_same(inputs[i], outermost->inputs[i]);
        Py_DECREF(inputs[i]);
    }
    if (inputs != small) {
        PyMem_Free(inputs);
    }
    return same;
}

/* Note what others could change; 0, or 1 to decline. */
static DlStatus
note(DlRun *run, DlWatch *watch)
{
    DlRun *outermost = run->outermost;
    int n = outermost->program->n_inputs;
    watch->lying = PyMem_New(struct DlLying, n + 1);
    if (watch->lying == NULL || dl_overlap_note(outermost) < 0) {
        PyMem_Free(watch->lying);
        watch->lying = NULL;
        return dl_decline(run, DL_REASON_MEMORY);
    }
    for (int i = 0; i < n; i++) {
        note_lying(&watch->lying[i], outermost->inputs[i]);
    }
    return 0;
}

/* Make what others have written part of what is restored: 1 where all inputs lie as before. */
static int
is_unchanged(DlRun *run, DlWatch *watch)
{
    DlRun *outermost = run->outermost;
    int same = 1;
    for (int i = 0; i < outermost->program->n_inputs && same; i++) {
        same = lies_as_before(&watch->lying[i]);
    }
    PyMem_Free(watch->lying);
    watch->lying = NULL;
    if (!same) {
        outermost->keeps_writes = 1; /* NB: memory that was noted may be another array's by now */
    }
    dl_overlap_compare(outermost, same);
    outermost->switches = dl_pyframe_switches();
    return same;
}

DlStatus
dl_world_open(DlRun *run, DlWatch *watch, int any_size)
{
    DlRun *outermost = run->outermost;
    watch->lying = NULL;
    if (!run->strict || !dl_pyframe_has_other_threads()) {
        return 0;
    }
    if (!can_let_in(outermost) || (!any_size && dl_overlap_saved_bytes(outermost) > MOST_NOTED)) {
        dl_overlap_end_saved(outermost, 1);
        return dl_decline(run, DL_REASON_THREAD);
    }
    return note(run, watch);
}

DlStatus
dl_world_close(DlRun *run, DlWatch *watch, DlStatus status)
{
    if (watch->lying == NULL) {
        return status;
    }
    int switched = run->outermost->switches != dl_pyframe_switches();
    int as_before = is_unchanged(run, watch);
    return status != 0 || !switched || (as_before && passes_again(run->outermost)) ? status
                                                                                   : dl_decline(run, DL_REASON_THREAD);
}

/* Whether a handler of a signal can run now: it could look at what is not stored yet, or a generator that has been drawn
 * from. Where the user's code handles what it raises, a loop has to be under way that can be left for that: none is while the
 * code of its own is compiled. */
static int
can_handle(const DlRun *outermost)
{
    if (outermost->world != NULL && outermost->world->handles && !outermost->leaves) {
        return 0;
    }
    return can_let_in(outermost) && !outermost->world->stores && outermost->draws == NULL && outermost->changes == 0;
}

/* For how long others, who began to wait at that time, wait for the end of an iteration of the outermost loop: where all
 * before it would have to run once more, about as long as it should take, or as that would. */
static int64_t
patience(const DlRun *outermost, DlDecline reason, int64_t since)
{
    int handles = outermost->world != NULL && outermost->world->handles;
    if (reason != DL_REASON_SIGNAL) {
        return PATIENCE_NS;
    }
    int64_t least = handles ? LONG_PATIENCE_NS : PATIENCE_NS;
    if (outermost->done == 0 || (outermost->deadline == 0 && can_handle(outermost))) {
        return least;
    }
    int64_t two = 2 * ((since - outermost->began) / (outermost->done > 1 ? outermost->done : 2));
    return two > least ? two : least;
}

/* Between two iterations, now (a time in ns): let run who waits, and go on; -1 where a handler of a signal raised; or
 * decline for that reason. */
static DlStatus
let_in(DlRun *run, int64_t time, DlDecline reason)
{
    DlRun *outermost = run->outermost;
    DlWatch watch;
    if (reason == DL_REASON_SIGNAL ? !can_handle(outermost) : !can_let_in(outermost)) {
        return dl_decline(run, reason);
    }
    if (outermost->let_in != 0 && time - outermost->let_in < RARELY * outermost->cost) {
        return 0;
    }
    DlStatus status = note(run, &watch);
    if (status != 0) {
        return status;
    }
    int64_t noted = dl_world_clock();
    unsigned flags = dl_fp_get();
    int raises = run->errstate != NULL;
    dl_errstate_leave(run);
    if (reason == DL_REASON_SIGNAL) {
        status = dl_interrupts_deliver(outermost->world->func);
    }
    else {
        PyThreadState *tstate = PyEval_SaveThread();
        PyEval_RestoreThread(tstate);
    }
    int64_t back = dl_world_clock();
    int unchanged = is_unchanged(run, &watch);
    if (status < 0) {
        int handled = outermost->leaves && !outermost->keeps_writes && outermost->world->handles;
        if (!handled || dl_interrupts_raise_later() < 0) {
            outermost->keeps_writes = outermost->raised = 1; /* as plainly: what was done is done */
            return -1;
        }
        outermost->deadline = 1; /* which patience() asks for */
        outermost->deadline = back + patience(outermost, reason, back);
    }
    unchanged = unchanged && passes_again(outermost);
    status = raises ? dl_errstate_enter(run) : 0;
    dl_fp_set(flags);
    outermost->let_in = dl_world_clock();
    outermost->cost = outermost->let_in - back + noted - time;
    outermost->wanted = outermost->deadline ? outermost->let_in : 0;
    outermost->impatient = 1;
    if (status != 0 || unchanged) {
        return status;
    }
    if (!outermost->leaves || outermost->keeps_writes) {
        return dl_decline(run, reason);
    }
    outermost->stale = reason; /* it is left where it can be, and plain Python sees what has changed */
    outermost->wanted = outermost->let_in;
    return 0;
}

DlStatus
dl_world_look(DlRun *run, int64_t time)
{
    DlRun *outermost = run->outermost;
    if (outermost->repeats != 0) {
        return 0; /* who has waited so long waits for the end */
    }
    if (outermost->deadline != 0 && outermost->stale == DL_REASON_NONE) {
        return time < outermost->deadline ? 0 : dl_decline(run, DL_REASON_SIGNAL);
    }
    DlDecline reason = dl_pyframe_is_interrupted()      ? DL_REASON_SIGNAL
                       : dl_pyframe_is_waited_for() ? DL_REASON_THREAD
                                                        : DL_REASON_NONE;
    if (reason == DL_REASON_NONE && outermost->stale == DL_REASON_NONE) {
        return 0;
    }
    /* NB: best is to leave the outermost loop behind its iteration: then Python lets the others run, in the user's own frame. */
    if (outermost->leaves && (!outermost->impatient || outermost->stale != DL_REASON_NONE)) {
        if (outermost->wanted == 0) {
            outermost->wanted = time;
        }
        if (time - outermost->wanted < patience(outermost, reason, outermost->wanted)) {
            return 0;
        }
    }
    return outermost->stale != DL_REASON_NONE ? dl_decline(run, outermost->stale) : let_in(run, time, reason);
}

DlStatus
dl_world_end_loop(DlRun *run, int64_t taken)
{
    DlRun *outermost = run->outermost;
    if (outermost->wanted == 0 || outermost->repeats != 0 || outermost->stale != DL_REASON_NONE || outermost->world == NULL
        || !outermost->world->handles || !dl_pyframe_is_interrupted()) {
        return 0;
    }
    outermost->done = taken - 1;
    if (outermost->deadline == 0) {
        outermost->leaves = 1;
        DlStatus status = let_in(run, dl_world_clock(), DL_REASON_SIGNAL);
        if (status != 0 || outermost->deadline == 0) {
            return status;
        }
    }
    return dl_decline(run, DL_REASON_SIGNAL);
}

/* For tests: take a number for dl_world_leave_every or dl_world_decline_every. */
static PyObject *
take_every(PyObject *number, unsigned *every)
{
    unsigned long value = PyLong_AsUnsignedLong(number);
    if (value == (unsigned long)-1 && PyErr_Occurred()) {
        return NULL;
    }
    *every = (unsigned)value;
    Py_RETURN_NONE;
}

static PyObject *
leave_loops(PyObject *Py_UNUSED(module), PyObject *every)
{
    return take_every(every, &dl_world_leave_every);
}

static PyObject *
decline_loops(PyObject *Py_UNUSED(module), PyObject *every)
{
    return take_every(every, &dl_world_decline_every);
}

/* has_other_threads(): whether this interpreter has more than one thread. */
static PyObject *
has_other_threads(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyBool_FromLong(dl_pyframe_has_other_threads());
}

PyMethodDef dl_world_functions[] = {
    {"has_other_threads", has_other_threads, METH_NOARGS,
     "has_other_threads(): whether this interpreter has more than one thread."},
    {"leave_loops", leave_loops, METH_O,
     "leave_loops(every): for tests, leave native loops behind every so many iterations; 0: where somebody waits."},
    {"decline_loops", decline_loops, METH_O,
     "decline_loops(every): for tests, decline in one of so many iterations of native loops; 0: where one has to."},
    {NULL, NULL, 0, NULL},
};
