/* Which floating-point errors the caller's error state reports, and a state in which these raise; and whether NumPy's
 * buffers, whose size stands beside it, are as large as ever.
 *
 * The error state is a context variable that holds a capsule. For each capsule met, NumPy is asked once which errors it
 * ignores, and for a capsule in which all others raise. A program may change what is ignored (`with np.errstate`): then
 * the one in force is the caller's with these changes.
 */
#include "program.h"

#include "frame/interrupts.h"
#include "kernels/kernel_code.h"
#include "frame/pyframe.h"
#include "silence.h"

enum { KNOWN_STATES = 4 };

typedef struct {
    PyObject *capsule, *raising; /* owned */
    unsigned reported;           /* flags that are not ignored */
    unsigned warned;             /* those of which NumPy warns */
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
        int warns = mode != NULL && PyUnicode_CompareWithASCIIString(mode, "warn") == 0;
        state->reported |= ignored ? 0 : error_rows[i].flag;
        state->warned |= warns ? error_rows[i].flag : 0;
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
dl_errstate_is_known(int *is_buffered)
{
    PyObject *capsule;
    int found = 0;
    if (PyContextVar_Get(state_variable, NULL, &capsule) < 0) {
        PyErr_Clear();
        return 0;
    }
    for (int i = 0; i < KNOWN_STATES && capsule != NULL && !found; i++) {
        found = known_states[i].capsule == capsule;
        *is_buffered = found && known_states[i].is_buffered;
    }
    Py_XDECREF(capsule);
    return found;
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
        run->warned = state->warned;
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
    return (reported & ~flags_of(scope->ignored | scope->noted)) | flags_of(scope->reported);
}

/* Of these flags, which are reported now, those that anybody would see. */
static unsigned
seen(const DlRun *run, unsigned flags)
{
    const DlRun *outermost = run->outermost;
    unsigned warned = outermost ? run->warned & ~flags_of(outermost->scope.reported) : 0;
    if ((flags & warned) == 0) {
        return flags;
    }
    int unseen = outermost->scope.silent ? dl_silence_leaves_nothing(run) : dl_silence(run);
    return unseen ? flags & ~warned : flags;
}

/* Warn of what was met of the kinds that are noted, or decline. */
static DlStatus
warn(DlRun *run, PyObject *warner)
{
    if (note_reported(run) < 0) {
        return -1;
    }
    unsigned met = run->flags & run->reported & flags_of(run->outermost->scope.noted), bits = 0;
    if (met == 0) {
        return 0;
    }
    /* NB: what Python code runs here may let other threads run */
    if ((met & ~run->warned) || warner == NULL || (run->strict && dl_pyframe_has_other_threads())) {
        return dl_decline(run, DL_REASON_FLAGS);
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(error_rows); i++) {
        bits |= met & error_rows[i].flag ? 1u << i : 0;
    }
    DlDeferral deferral;
    dl_interrupts_defer(&deferral, NULL);
    PyObject *number = PyLong_FromUnsignedLong(bits), *given = number ? PyObject_CallOneArg(warner, number) : NULL;
    given = dl_interrupts_resume(&deferral, given);
    Py_XDECREF(number);
    int is_given = given ? PyObject_IsTrue(given) : -1;
    Py_XDECREF(given);
    return is_given < 0 ? -1 : is_given ? 0 : dl_decline(run, DL_REASON_FLAGS);
}

DlStatus
dl_errstate_set(DlRun *run, const DlErrorsStep *step)
{
    DlStatus status = dl_flags_check(run);
    dl_errstate_leave(run);
    if (status == 0 && run->outermost->scope.noted && run->flags) {
        status = warn(run, step->warner);
    }
    run->flags = 0;
    dl_fp_set(0);
    if (status == 0 && step->changes && step->warner != NULL) {
        status = dl_filters_enter(run, step->warner);
    }
    if (status == 0) {
        run->outermost->scope = *step;
        run->outermost->changes += step->changes;
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
    run->warned = state ? state->warned : 0;
    run->knows_reported = state != NULL;
    if (state != NULL) {
        unsigned flags = seen(run, in_force(run, state->reported));
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

/* Let an underflow in a loop of NumPy's be one like any other, where somebody might report it. */
static void
join_called(DlRun *run)
{
    if (run->flags & DL_FP_UNDER_CALLED) {
        unsigned scope = run->outermost ? flags_of(run->outermost->scope.reported) : 0;
        run->flags &= ~(unsigned)DL_FP_UNDER_CALLED;
        run->flags |= (run->reported | scope) & DL_FP_UNDER;
    }
}

/* NB: products with an inverse are the quotient unless one of them is too small for all of its digits, which the
 * processor notes as an underflow (backends/kernels/quotients.py). A NaN that arises from what is none is an invalid
 * operation; code that is strict has not asked whether others differ from that (dynamo_lite/program/watch.py). */
DlStatus
dl_flags_judge(DlRun *run)
{
    DlProgram *program = run->outermost ? run->outermost->program : NULL; /* NULL: one is built */
    if (program != NULL && run->flags & DL_FP_UNDER && run->program->inverts && !(program->care & DL_DIVIDES)) {
        program->care |= DL_DIVIDES;
        return dl_decline(run, DL_REASON_SMALL);
    }
    int strict = program != NULL ? program->care & (DL_HAS_STRICT | DL_ARISEN | DL_EACH) : 0;
    if (run->flags & DL_FP_INVALID && strict == DL_HAS_STRICT) {
        program->care |= DL_ARISEN;
        return dl_decline(run, DL_REASON_NAN);
    }
    if (note_reported(run) < 0) {
        return -1;
    }
    join_called(run);
    unsigned met = in_force(run, run->reported) & run->flags, reported = met ? seen(run, met) : 0;
    run->flags &= ~(met & ~reported); /* nor is that asked again */
    return reported ? dl_decline(run, DL_REASON_FLAGS) : 0;
}

DlStatus
dl_call_done(DlRun *run, PyObject *result)
{
    if (run->outermost != NULL && run->outermost->scope.noted) {
        run->flags |= dl_fp_get();
    }
    dl_fp_set(0); /* NB: flags that NumPy met and ignores stay set behind a call */
    if (result != NULL) {
        return 0;
    }
    return dl_failed(run, PyErr_ExceptionMatches(PyExc_FloatingPointError) ? DL_REASON_FLAGS : DL_REASON_CALL);
}
