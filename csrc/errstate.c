/* Which floating-point errors the caller's error state reports, and a state in which these raise; and whether NumPy's
 * buffers, whose size stands beside it, are as large as ever.
 *
 * The error state is a context variable that holds a capsule. For each capsule met, NumPy is asked once which errors it
 * ignores, and for a capsule in which all others raise. A program may change what is ignored (`with np.errstate`): then
 * the one in force is the caller's with these changes.
 */
#include "program.h"

#include "interrupts.h"
#include "kernel_code.h"
#include "pyframe.h"

enum { KNOWN_STATES = 4 };

typedef struct {
    PyObject *capsule, *raising; /* owned */
    unsigned reported;           /* flags that are not ignored */
    int is_buffered;             /* nobody has called np.setbufsize */
} ErrorState;

static PyObject *state_variable, *make_state; /* of numpy._core.umath */
static PyObject *get_modes, *get_buffer;      /* numpy.geterr, numpy.getbufsize */
static ErrorState known_states[KNOWN_STATES];
static PyObject *states_of[16]; /* owned: in which the kinds of these bits raise, and others are ignored */
static PyObject *unusual_state; /* owned: the latest such one with buffers of another size */
static int next_state;

static const struct {
    const char *name;
    unsigned flag;
} error_rows[] = {
    {"divide", DL_FP_DIVIDE},
    {"over", DL_FP_OVER},
    {"under", DL_FP_UNDER},
    {"invalid", DL_FP_INVALID},
};

int
dl_errstate_register(void)
{
    if (get_modes != NULL) {
        return 0;
    }
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *numpy = umath ? PyImport_ImportModule("numpy") : NULL;
    if (numpy != NULL) {
        state_variable = PyObject_GetAttrString(umath, "_extobj_contextvar");
        make_state = PyObject_GetAttrString(umath, "_make_extobj");
        get_modes = PyObject_GetAttrString(numpy, "geterr");
        get_buffer = PyObject_GetAttrString(numpy, "getbufsize");
    }
    Py_XDECREF(umath);
    Py_XDECREF(numpy);
    return state_variable && make_state && get_modes && get_buffer ? 0 : -1;
}

/* Fill in which errors the current state reports and the state in which they raise. */
static int
learn_state(ErrorState *state)
{
    DlDeferral deferral;
    dl_interrupts_defer(&deferral, NULL);
    PyObject *size = PyObject_CallNoArgs(get_buffer);
    PyObject *modes = dl_interrupts_resume(&deferral, size ? PyObject_CallNoArgs(get_modes) : NULL);
    state->is_buffered = size != NULL && PyLong_AsLong(size) == DL_BUFFERED;
    Py_XDECREF(size);
    PyObject *raising = modes ? PyDict_New() : NULL;
    if (raising == NULL) {
        Py_XDECREF(modes);
        return -1;
    }
    int status = 0;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(error_rows) && status == 0; i++) {
        PyObject *mode = PyDict_GetItemString(modes, error_rows[i].name);
        int ignored = mode != NULL && PyUnicode_CompareWithASCIIString(mode, "ignore") == 0;
        state->reported |= ignored ? 0 : error_rows[i].flag;
        PyObject *word = PyUnicode_FromString(ignored ? "ignore" : "raise");
        status = word ? PyDict_SetItemString(raising, error_rows[i].name, word) : -1;
        Py_XDECREF(word);
    }
    if (status == 0) {
        PyObject *no_args = PyTuple_New(0);
        state->raising = no_args ? PyObject_Call(make_state, no_args, raising) : NULL;
        Py_XDECREF(no_args);
        status = state->raising ? 0 : -1;
    }
    Py_DECREF(modes);
    Py_DECREF(raising);
    return status;
}

/* What is known of the current error state; NULL with an error set. *learned: Python code had to find it out. */
static const ErrorState *
current_state(int *learned)
{
    *learned = 0;
    PyObject *capsule;
    if (PyContextVar_Get(state_variable, NULL, &capsule) < 0) {
        return NULL;
    }
    if (capsule == NULL) {
        PyErr_SetString(PyExc_RuntimeError, "NumPy's error state has no default");
        return NULL;
    }
    for (int i = 0; i < KNOWN_STATES; i++) {
        if (known_states[i].capsule == capsule) {
            Py_DECREF(capsule);
            return &known_states[i];
        }
    }
    *learned = 1;
    ErrorState state = {.capsule = capsule};
    if (learn_state(&state) < 0) {
        Py_DECREF(capsule);
        return NULL;
    }
    ErrorState *place = &known_states[next_state], old = *place;
    next_state = (next_state + 1) % KNOWN_STATES;
    *place = state;
    Py_XDECREF(old.capsule);
    Py_XDECREF(old.raising);
    return place;
}

int
dl_errstate_is_buffered(void)
{
    int learned;
    const ErrorState *state = current_state(&learned);
    return state == NULL ? -1 : state->is_buffered;
}

/* Note what the current error state reports, unless that is known: 0, 1 when Python code was run for it, or -1. */
static int
note_reported(DlRun *run)
{
    int learned = 0;
    if (!run->knows_reported) {
        const ErrorState *state = current_state(&learned);
        if (state == NULL) {
            return -1;
        }
        run->reported = state->reported;
        run->knows_reported = 1;
    }
    return learned;
}

DlStatus
dl_errstate_learn(DlRun *run)
{
    int learned = note_reported(run);
    if (learned <= 0) {
        return learned;
    }
    /* NB: nothing is written yet, but what the guards have looked at may be something else by now */
    int switched = run->strict && run->outermost->switches != dl_pyframe_switches();
    return switched ? dl_decline(run, DL_REASON_THREAD) : 0;
}

/* The flags of some kinds. */
static unsigned
flags_of(unsigned bits)
{
    unsigned flags = 0;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(error_rows); i++) {
        flags |= bits >> i & 1 ? error_rows[i].flag : 0;
    }
    return flags;
}

/* The flags that are reported now, given those that the caller's state reports. */
static unsigned
in_force(const DlRun *run, unsigned reported)
{
    if (run->outermost == NULL) {
        return reported; /* no program runs: one is built */
    }
    const DlErrorsStep *scope = &run->outermost->scope;
    return (reported & ~flags_of(scope->ignored)) | flags_of(scope->reported);
}

int
dl_errstate_reports(DlRun *run)
{
    return note_reported(run) < 0 ? -1 : (in_force(run, run->reported) & run->flags) != 0;
}

DlStatus
dl_errstate_set(DlRun *run, const DlErrorsStep *step)
{
    DlStatus status = dl_flags_check(run);
    dl_errstate_leave(run);
    run->flags = 0;
    dl_fp_set(0);
    if (status == 0) {
        run->outermost->scope = *step;
    }
    return status;
}

/* The state in which these flags raise, and others are ignored, with the buffers of the current one, which are as large as
 * ever or not: borrowed until the next call, or NULL with an error set. */
static PyObject *
state_raising(unsigned flags, int is_buffered)
{
    size_t place = 0;
    for (size_t i = 0; i < Py_ARRAY_LENGTH(error_rows); i++) {
        place |= (size_t)(flags & error_rows[i].flag ? 1 : 0) << i;
    }
    PyObject **kept = is_buffered ? &states_of[place] : &unusual_state;
    if (*kept == NULL || !is_buffered) {
        PyObject *modes = PyDict_New(), *no_args = PyTuple_New(0);
        for (size_t i = 0; i < Py_ARRAY_LENGTH(error_rows) && modes != NULL; i++) {
            PyObject *word = PyUnicode_FromString(place >> i & 1 ? "raise" : "ignore");
            if (word == NULL || PyDict_SetItemString(modes, error_rows[i].name, word) < 0) {
                Py_CLEAR(modes);
            }
            Py_XDECREF(word);
        }
        PyObject *made = modes && no_args ? PyObject_Call(make_state, no_args, modes) : NULL;
        Py_XSETREF(*kept, made);
        Py_XDECREF(modes);
        Py_XDECREF(no_args);
    }
    return *kept;
}

DlStatus
dl_errstate_enter(DlRun *run)
{
    run->flags |= dl_fp_get(); /* NB: NumPy clears them */
    if (run->errstate != NULL) {
        return 0;
    }
    int learned;
    const ErrorState *state = current_state(&learned);
    run->reported = state ? state->reported : 0;
    run->knows_reported = state != NULL;
    if (state != NULL) {
        unsigned flags = in_force(run, state->reported);
        PyObject *raising = flags == state->reported ? state->raising : state_raising(flags, state->is_buffered);
        Py_XINCREF(raising); /* NB: setting may run code that replaces the known states */
        run->errstate = raising ? PyContextVar_Set(state_variable, raising) : NULL;
        Py_XDECREF(raising);
    }
    return run->errstate ? 0 : -1;
}

PyObject *
dl_errstate_invalid_alone(void)
{
    int is_buffered = dl_errstate_is_buffered();
    PyObject *raising = is_buffered < 0 ? NULL : state_raising(DL_FP_INVALID, is_buffered);
    return raising ? PyContextVar_Set(state_variable, raising) : NULL;
}

void
dl_errstate_back(PyObject *token)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    if (PyContextVar_Reset(state_variable, token) < 0) {
        PyErr_WriteUnraisable(state_variable);
    }
    PyErr_Restore(type, value, traceback);
    Py_DECREF(token);
}

void
dl_errstate_leave(DlRun *run)
{
    if (run->errstate == NULL) {
        return;
    }
    dl_errstate_back(run->errstate);
    run->errstate = NULL;
}

/* NB: products with an inverse are the quotient unless one of them is too small for all of its digits, which the
 * processor notes as an underflow (backends/kernels/quotients.py). */
DlStatus
dl_flags_judge(DlRun *run)
{
    if (run->flags & DL_FP_UNDER && run->program->inverts && !(run->outermost->program->care & DL_DIVIDES)) {
        run->outermost->program->care |= DL_DIVIDES;
        return dl_decline(run, DL_REASON_SMALL);
    }
    int reports = dl_errstate_reports(run);
    return reports < 0 ? -1 : reports ? dl_decline(run, DL_REASON_FLAGS) : 0;
}

DlStatus
dl_call_done(DlRun *run, PyObject *result)
{
    dl_fp_set(0); /* NB: flags that NumPy met and ignores stay set behind a call */
    return result == NULL ? dl_failed(run, DL_REASON_CALL) : 0;
}
