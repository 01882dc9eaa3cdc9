/* Small arrays: where they go into a program often, one routine of machine code does its steps (schedule/straight.py).
 *
 * The routine is a program of its own (`small`), with the same inputs and outputs. It is made once the program has run so
 * many steps that this pays, and stays if it is faster. INVARIANT: it is no more than a short way (straight.c): whatever
 * is not as expected, long arrays among it, is left to the program's steps.
 */
#include "frame/eval_hook.h"
#include "kernels/maps.h"
#include "program.h"

#include "fpflags.h"
#include "frame/interrupts.h"

enum {
    TRIALS = 16,          /* calls, every other one by the routine */
    MOST_MISSES = 64,     /* one after the other, after which it is tried no more */
    MOST_LEARNED = 16,    /* error states; where each call has its own, the steps are faster */
};

struct DlSmall {
    PyObject *ask;           /* makes the routine; borrowed from the program, or NULL once it has been called */
    DlProgram *routine;      /* the same, or NULL */
    int64_t until, best[2];  /* steps to run until then; the least nanoseconds of the routine, and of the steps */
    int trials, misses, learned; /* the last: how often it was found out what NumPy's error state says */
};

static int64_t steps_before = 60000; /* which take about as long as to make a routine; < 0: it always stays */

/* Whether all arrays that go in are small. */
static int
are_small(const DlProgram *program, PyObject *const *inputs)
{
    for (int i = 0; i < program->n_inputs; i++) {
        if (PyArray_Check(inputs[i]) && PyArray_SIZE((PyArrayObject *)inputs[i]) > DL_SMALL_ELEMENTS) {
            return 0;
        }
    }
    return 1;
}

/* Count that a run has declined, if it has. */
static void
note_decline(DlProgram *program, int status, DlDecline reason)
{
    if (status > 0) {
        program->last_decline = reason;
        program->declines[reason]++;
    }
}

/* Ask for the routine, which there may be none of: 0, -1, or 1 where that fails. */
static int
make(DlProgram *program)
{
    DlSmall *small = program->small;
    PyObject *ask = small->ask;
    small->ask = NULL;
    unsigned before = dl_fp_get(); /* NB: the compiler computes, too; its flags are not the program's */
    DlDeferral deferral;
    dl_hook_pause(); /* the compiler's frames are not the user's */
    dl_interrupts_defer(&deferral, NULL);
    int64_t began = dl_world_clock();
    dl_thread.asked++;
    PyObject *made = PyObject_CallNoArgs(ask);
    dl_thread.answering += (uint64_t)(dl_world_clock() - began);
    made = dl_interrupts_resume(&deferral, made);
    dl_hook_resume();
    dl_fp_set(before);
    if (made == Py_None) {
        Py_DECREF(made);
        return 0;
    }
    DlProgram *routine = (DlProgram *)dl_program_own(program, made);
    if (routine != NULL && (!Py_IS_TYPE(routine, Py_TYPE(program)) || routine->n_inputs != program->n_inputs
                            || routine->n_outputs != program->n_outputs)) {
        PyErr_SetString(PyExc_TypeError, "make_small: no program with the same inputs and outputs");
        routine = NULL;
    }
    if (routine == NULL) {
        DlRun run = {.program = program};
        DlStatus status = dl_failed(&run, DL_REASON_COMPILE);
        note_decline(program, status, run.reason);
        return status;
    }
    small->routine = routine->straight ? routine : NULL;
    small->trials = small->routine ? TRIALS : 0;
    return 0;
}

/* Give the routine up. */
static void
give_up(DlProgram *program)
{
    program->small->trials = 0;
    program->tries_short = 0;
}

int
dl_small_run(DlProgram *program, PyObject *const *inputs, PyObject **outputs)
{
    DlSmall *small = program->small;
    int done = dl_straight_run(small->routine, inputs, outputs);
    small->misses = done ? 0 : small->misses + 1;
    program->tries_short = small->routine->tries_short && small->misses < MOST_MISSES;
    return done;
}

/* As dl_small_try, while the program is kept. */
static int
try(DlProgram *program, PyObject *const *inputs, PyObject **outputs, const DlWorld *world, DlBySteps *by_steps)
{
    DlSmall *small = program->small;
    if (small->trials <= 0) {
        if (small->ask == NULL || (small->until -= program->n_steps) > 0) {
            return 2;
        }
        if (!are_small(program, inputs)) {
            small->until = steps_before;
            return 2;
        }
        int status = make(program);
        if (status != 0) {
            return status;
        }
    }
    if (small->trials <= 0 || !are_small(program, inputs)) {
        return 2;
    }
    if (!dl_straight_is_ready(small->routine)) { /* NB: the long way compiles it */
        small->routine->tries_short = 0;
        int status = by_steps((PyObject *)small->routine, inputs, outputs, NULL, world);
        small->routine->tries_short = 1;
        if (small->routine->last_decline == DL_REASON_COMPILE) {
            note_decline(program, status, DL_REASON_COMPILE);
        }
        if (status > 0 || !dl_straight_is_ready(small->routine)) {
            give_up(program);
        }
        else if (steps_before < 0) {
            small->trials = 0;
            program->tries_short = 1;
        }
        return status > 0 ? 2 : status;
    }
    if (dl_errstate_is_buffered() < 0) { /* NB: as of now the short way knows */
        return -1;
    }
    int way = small->trials & 1;
    int64_t began = dl_world_clock();
    int status = way ? by_steps((PyObject *)program, inputs, outputs, NULL, world)
                     : 2 * !dl_straight_run(small->routine, inputs, outputs);
    int64_t time = dl_world_clock() - began;
    if (status != 0) {
        give_up(program);
        return status;
    }
    small->best[way] = small->best[way] && small->best[way] < time ? small->best[way] : time;
    if (small->trials > 0 && --small->trials == 0) { /* NB: another thread may have tried it meanwhile */
        program->tries_short = small->best[0] < small->best[1];
    }
    return 0;
}

int
dl_small_try(DlProgram *program, PyObject *const *inputs, PyObject **outputs, const DlWorld *world, DlBySteps *by_steps)
{
    int is_buffered, status = 2;
    Py_INCREF(program);
    if (!program->tries_short) {
        status = try(program, inputs, outputs, world, by_steps);
    }
    else if (program->small->learned < MOST_LEARNED && !dl_errstate_is_known(&is_buffered)) {
        program->small->learned++; /* NB: that runs Python code, which the short way must not */
        status = dl_errstate_is_buffered() < 0 ? -1 : 2 * !dl_small_run(program, inputs, outputs);
    }
    Py_DECREF(program);
    return status;
}

int
dl_small_begin(DlProgram *program, PyObject *make_small)
{
    DlSmall *small = dl_program_take(program, 1, sizeof *small);
    small = small && (small->ask = dl_program_own(program, Py_NewRef(make_small))) ? small : NULL;
    if (small != NULL) {
        small->until = steps_before;
    }
    program->small = small;
    return small ? 0 : -1;
}

PyObject *
dl_small_routine(const DlProgram *program)
{
    const DlSmall *small = program->small;
    return small && (small->trials > 0 || program->tries_short) ? (PyObject *)small->routine : NULL;
}

/* run_small_after(steps): see steps_before. */
static PyObject *
run_small_after(PyObject *Py_UNUSED(module), PyObject *object)
{
    long long steps = PyLong_AsLongLong(object);
    if (steps == -1 && PyErr_Occurred()) {
        return NULL;
    }
    PyObject *before = PyLong_FromLongLong(steps_before);
    steps_before = before ? steps : steps_before;
    return before;
}

PyMethodDef dl_small_functions[] = {
    {"run_small_after", run_small_after, METH_O,
     "run_small_after(steps): for tests, ask for the routine of small arrays after so many steps (-1: at once, and keep it); "
     "what was before."},
    {NULL, NULL, 0, NULL},
};
