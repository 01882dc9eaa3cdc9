/* Loop: run a body for every number of a range, or until it says no, its values handed on from register to register.
 *
 * The body is a program whose inputs are the index, what is carried and what is captured. It has one DlRun for the whole
 * loop: captured values, views of them and numbers that do not depend on the index are set up once (DlBody says which);
 * an iteration runs the other steps, moves the outputs to the registers of the carried inputs and empties the rest.
 * INVARIANT: no iteration, no trace: the results of an empty range are the initial objects themselves. What the body
 * writes was saved by the outermost program, so declining at any iteration leaves every array as it was.
 */
#include "program.h"
#include "kernels/maps.h"

#include "bands.h"
#include "machine.h"
#include "frame/pyframe.h"
#include "runs.h"

enum {
    SMALL_CARRIED = 4,
    TICK_NS = 1000000,      /* about how often it looks for signals and threads that wait */
    KERNEL_TRIES = 4,      /* iterations after each of which it sees whether the loop's kernel can run the others */
    KERNEL_GIVE_UP = 64,   /* loops in a row that it could not run, before nobody asks any more */
    KERNEL_LENGTH = 5,     /* a shorter loop is not worth it */
    KERNEL_AGAIN = 2,      /* the same of one that pauses and will be there again, with so many iterations: */
    KERNEL_REST = 32,
    KERNEL_TICK_NS = 4000000,
    KERNEL_WORK = 1 << 24, /* operations on elements in the first batch */
    KERNEL_LEAST = 16,     /* iterations that a batch has at least, lest the arrays go through memory too often */
    KERNEL_PASS = 1 << 27, /* unless they have so many elements */
    KERNEL_ROWS = 512,     /* iterations whose numbers are there at a time */
    FARTHER_AHEAD = 16,    /* times as far it looks ahead for a pause where it was left for want of that, up to */
    FARTHEST_AHEAD = 1 << 18,
};

/* One loop under way. */
typedef struct {
    DlRun run;
    DlLoopStep *step;
    DlBody *body;
    DlReg *next;        /* what the next iteration gets, while it is put together */
    PyObject **held;    /* owned: of each carried view without an object, whose memory it shows */
    DlNumber results[DL_MAX_CARRIED_NUMBERS]; /* of the carried numbers, after the last iteration */
    int64_t batch, left; /* iterations between two looks at the clock, and until the next one */
    int64_t tick, least; /* the time between two looks for others that is aimed at, and the least iterations */
    int64_t read, looked; /* when the clock was read, and when it last looked for others */
    uint64_t rest;        /* iterations behind the last one that is planned; the loop is left there if there are any */
} Loop;

/* The length of range(start, stop, by), by not 0. */
static uint64_t
range_length(int64_t start, int64_t stop, int64_t by)
{
    if (by > 0) {
        return start < stop ? ((uint64_t)stop - 1 - (uint64_t)start) / (uint64_t)by + 1 : 0;
    }
    return start > stop ? ((uint64_t)start - 1 - (uint64_t)stop) / (0 - (uint64_t)by) + 1 : 0;
}

/* ---- signals and threads ---- */

/* Between two iterations, about every millisecond: see whether a signal or another thread waits. What waits in bands runs
 * first, since others may look at the arrays then. */
static DlStatus
look_around(Loop *loop)
{
    int64_t time = dl_world_clock(), past = time - loop->read;
    if (past < loop->tick / 2) {
        loop->batch *= 2;
    }
    else if (past > 2 * loop->tick && loop->batch > loop->least) {
        loop->batch /= 2;
    }
    loop->left = loop->batch;
    loop->read = time;
    if (time - loop->looked < loop->tick) {
        return 0;
    }
    loop->looked = time;
    DlStatus status = dl_bands_flush(&loop->run);
    return status ? status : dl_world_look(&loop->run, time);
}

/* Whether to leave the outermost loop, after so many iterations: somebody waits, or another thread ran in a call. */
static int
is_to_be_left(const DlRun *outermost, uint64_t taken)
{
    return outermost->wanted != 0 || outermost->switches != dl_pyframe_switches()
           || (dl_world_leave_every != 0 && taken % dl_world_leave_every == 0);
}

/* How many of `length` iterations to run before the loop pauses, or (*is_open) before it is to be asked again. */
static DlStatus
plan_pause(DlRun *run, const DlLoopStep *step, int64_t start, int64_t by, uint64_t length, uint64_t *planned, int *is_open)
{
    const DlScalars *table = &run->program->numbers;
    DlInduction induction = {step->pausing.first, step->pausing.last, step->pausing.values[0], step->pause, by};
    uint64_t n = 0, looks = 0, certain = 1;
    if (!step->leaves || !run->ends) {
        return dl_decline(run, DL_REASON_CONDITION);
    }
    for (; n < length && certain != 0 && looks < step->ahead; looks++) {
        run->numbers[induction.index].i = (int64_t)((uint64_t)start + n * (uint64_t)by);
        if (dl_scalar_eval(table, induction.first, induction.last, run->numbers)) {
            return dl_decline(run, DL_REASON_NUMBER);
        }
        certain = (uint64_t)dl_induction_false_for(table, &induction, run->numbers);
        n = certain < length - n ? n + certain : length;
    }
    *planned = n;
    *is_open = n < length && certain != 0;
    return 0;
}

/* ---- registers ---- */

/* The value of src for carried register number `place`, in dst; the object is src's, or `steals` it. */
static void
hand_over(Loop *loop, int place, DlReg *dst, DlReg *src, int steals)
{
    dl_reg_copy(dst, src);
    dst->object = src->object;
    loop->held[place] = NULL;
    if (src->object == NULL && src->kind == DL_ARRAY) {
        loop->held[place] = Py_NewRef(src->owner);
    }
    else if (steals) {
        src->object = NULL;
        src->kind = DL_EMPTY;
    }
    else {
        Py_XINCREF(src->object);
    }
}

/* Move the outputs to the carried inputs when they are distinct results of steps; the common case. */
static void
hand_on_simply(Loop *loop)
{
    const DlProgram *program = loop->run.program;
    for (int k = 0; k < loop->body->n_carried; k++) {
        DlReg *dst = &loop->run.regs[1 + k], *src = &loop->run.regs[program->outputs[k].index];
        PyObject *held = loop->held[k];
        dl_reg_release(&loop->run, dst);
        hand_over(loop, k, dst, src, 1);
        Py_XDECREF(held);
    }
}

/* Make the numbers that the body hands on those of the next iteration; 0 or 1.
 * NB: of two NaNs C and Python need not keep the same one. */
static DlStatus
hand_on_numbers(Loop *loop)
{
    const DlBody *body = loop->body;
    const DlScalars *table = &loop->run.program->numbers;
    for (int j = 0; j < body->n_numbers; j++) {
        loop->results[j] = loop->run.numbers[body->number_out[j]];
        if (table->kinds[body->number_out[j]] == DL_FLOAT && loop->results[j].f != loop->results[j].f) {
            return dl_decline(&loop->run, DL_REASON_NUMBER);
        }
    }
    for (int j = 0; j < body->n_numbers; j++) {
        if (body->number_in[j] >= 0) {
            loop->run.numbers[body->number_in[j]] = loop->results[j];
        }
    }
    return 0;
}

/* Make the outputs the carried inputs of the next iteration and empty all other registers of this one; 0 or -1. */
static DlStatus
hand_on(Loop *loop)
{
    const DlBody *body = loop->body;
    DlReg *regs = loop->run.regs;
    PyObject *small[SMALL_CARRIED], **before = small;
    if (body->simple) {
        hand_on_simply(loop);
        return 0;
    }
    for (int k = 0; k < body->n_carried; k++) {
        if (body->needs_object[k] && dl_reg_object(&regs[loop->run.program->outputs[k].index]) == NULL) {
            return -1;
        }
    }
    if (body->n_carried > SMALL_CARRIED && (before = PyMem_New(PyObject *, body->n_carried)) == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    memcpy(before, loop->held, (size_t)body->n_carried * sizeof *before);
    for (int k = 0; k < body->n_carried; k++) {
        hand_over(loop, k, &loop->next[k], &regs[loop->run.program->outputs[k].index], body->moved[k]);
    }
    for (int i = 0; i < body->n_left; i++) {
        dl_reg_release(&loop->run, &regs[body->left[i]]);
    }
    for (int k = 0; k < body->n_carried; k++) {
        dl_reg_release(&loop->run, &regs[1 + k]);
        Py_XDECREF(before[k]);
    }
    for (int k = 0; k < body->n_carried; k++) {
        dl_reg_copy(&regs[1 + k], &loop->next[k]);
        regs[1 + k].object = loop->next[k].object;
    }
    if (before != small) {
        PyMem_Free(before);
    }
    return 0;
}

/* ---- before the first iteration ---- */

/* Fill the body's inputs from the registers and numbers outside, but for the index and what depends on it. */
static DlStatus
load_inputs(Loop *loop, DlRun *outer)
{
    const DlLoopStep *step = loop->step;
    for (int k = 0; k < step->n_carried; k++) { /* registers, all of them */
        DlReg *src = &outer->regs[step->operands[k].index];
        if (loop->body->returned[1 + k] && dl_reg_object(src) == NULL) {
            return -1;
        }
        hand_over(loop, k, &loop->run.regs[1 + k], src, step->moves[k]);
    }
    return dl_nested_load(&loop->run, outer, step->operands, step->n_carried, step->n_operands, 1, loop->body->n_fixed);
}

/* ---- the iterations ---- */

/* What the loop's kernel needs to run (loop_kernel.c). */
typedef struct {
    DlIteration iteration;
    char *rows;  /* owned: the numbers of the iterations of one batch; NULL where there are none */
    int tries;   /* how often it may still be asked for whether it can run */
    int is_ready;
} KernelState;

/* Between two iterations: see whether the loop's kernel can run those that are left; 0 or -1. */
static DlStatus
ready_kernel(Loop *loop, KernelState *state)
{
    const DlLoopKernel *kernel = loop->body->kernel;
    state->tries--;
    DlStatus status = dl_iterate_prepare(&loop->run, loop->body->kernel, &state->iteration);
    if (status != 0) {
        return status == 2 ? 0 : status;
    }
    if (kernel->numbers) {
        state->rows = PyMem_Malloc((size_t)(KERNEL_ROWS * dl_iterate_row_bytes(kernel) + 1));
        if (state->rows == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    npy_intp size = state->iteration.nest.size, work = (kernel->map.kernel.n_ops + 1) * size;
    loop->tick = KERNEL_TICK_NS;
    loop->least = state->iteration.variant->n_loops ? 1 : KERNEL_PASS / size + 1;
    loop->least = loop->least < KERNEL_LEAST ? loop->least : KERNEL_LEAST;
    loop->batch = KERNEL_WORK / (state->iteration.variant->n_loops ? 16 * work : work);
    loop->batch = loop->batch > loop->least ? loop->batch : loop->least;
    loop->left = loop->batch;
    loop->body->kernel->failures = 0;
    state->is_ready = 1;
    return 0;
}

/* Run `n` iterations by the loop's kernel, the first with that index. */
static DlStatus
run_kernel(Loop *loop, KernelState *state, uint64_t number, int64_t by, uint64_t n)
{
    DlRun *run = &loop->run;
    const DlLoopKernel *kernel = loop->body->kernel;
    const DlScalars *table = &run->program->numbers;
    int32_t index = loop->body->index;
    DlStatus status = 0;
    char *row = state->rows;
    for (uint64_t i = 0; kernel->numbers && i < n && status == 0; i++) {
        if (index >= 0) {
            run->numbers[index].i = (int64_t)(number + i * (uint64_t)by);
        }
        if (dl_scalar_eval(table, loop->body->n_fixed, table->n_instrs, run->numbers)) {
            return dl_decline(run, DL_REASON_NUMBER);
        }
        status = dl_iterate_fill(run, kernel, row);
        status = status ? status : hand_on_numbers(loop);
        row += dl_iterate_row_bytes(kernel);
    }
    status = status ? status : dl_iterate_run(run, kernel, &state->iteration, (npy_intp)n, state->rows);
    return status ? status : dl_flags_check(run);
}

/* Run the next iteration, step by step. */
static DlStatus
run_body(Loop *loop, uint64_t number, int *goes_on)
{
    DlRun *run = &loop->run;
    const DlBody *body = loop->body;
    if (body->index >= 0) {
        run->numbers[body->index].i = (int64_t)number;
    }
    if (run->program->n_early > body->n_fixed
        && dl_scalar_eval(&run->program->numbers, body->n_fixed, run->program->n_early, run->numbers)) {
        return dl_decline(run, DL_REASON_NUMBER);
    }
    DlStatus status = dl_steps_run(run, 0);
    status = status ? status : dl_flags_check(run);
    if (status == 0 && body->has_condition) {
        *goes_on = dl_cond_truth(run, &body->condition);
        status = *goes_on < 0;
        if (body->drops_condition) {
            dl_reg_release(run, &run->regs[body->condition.index]);
        }
    }
    status = status ? status : hand_on(loop);
    status = status ? status : hand_on_numbers(loop);
    return status == 0 && run->bands != NULL && !dl_bands_may_linger(run) ? dl_bands_flush(run) : status;
}

/* All iterations, or those before a pause; length is at least 1. leaves: fewer where somebody waits. */
static DlStatus
iterate(Loop *loop, int64_t start, int64_t by, const uint64_t length, int leaves)
{
    DlRun *run = &loop->run;
    KernelState state;
    int goes_on = 1;
    int rechecks = run->program->n_written && loop->body->n_carried;
    uint64_t number = (uint64_t)start, taken = 0;
    state.rows = NULL;
    state.tries = 0;
    uint64_t worth = loop->rest >= KERNEL_REST ? KERNEL_AGAIN : KERNEL_LENGTH;
    if (loop->body->kernel != NULL && length >= worth && loop->body->kernel->failures < KERNEL_GIVE_UP) {
        state.tries = KERNEL_TRIES;
        loop->body->kernel->failures++;
    }
    state.is_ready = 0;
    DlStatus status = loop->step->checked ? 0 : dl_overlap_check_inputs(run, 1, run->program->n_inputs, 1);
    status = status ? status : dl_steps_run(run, 1);
    loop->batch = loop->left = loop->least = 1;
    loop->tick = TICK_NS;
    loop->read = loop->looked = dl_world_clock();
    while (status == 0) {
        uint64_t n = 1;
        if (leaves) {
            run->outermost->done = (int64_t)taken;
        }
        if (state.is_ready) {
            n = length - taken < (uint64_t)loop->left ? length - taken : (uint64_t)loop->left;
            if (dl_world_leave_every != 0 && n > dl_world_leave_every - taken % dl_world_leave_every) {
                n = dl_world_leave_every - taken % dl_world_leave_every;
            }
            n = state.rows != NULL && n > KERNEL_ROWS ? KERNEL_ROWS : n;
            status = run_kernel(loop, &state, number, by, n);
        }
        else {
            status = run_body(loop, number, &goes_on);
        }
        taken += n;
        if (taken == length || status != 0 || !goes_on) {
            break;
        }
        number += (uint64_t)by * n;
        loop->left -= (int64_t)n;
        if (loop->left == 0) {
            status = look_around(loop);
        }
        if (status == 0 && state.tries > 0 && !state.is_ready) {
            status = ready_kernel(loop, &state);
        }
        if (status == 0 && leaves && is_to_be_left(run->outermost, taken)) {
            run->outermost->left = 1;
            run->outermost->taken = (int64_t)taken;
            break;
        }
        if (status == 0 && rechecks) {
            status = dl_overlap_check_inputs(run, 1, 1 + loop->body->n_carried, 1);
        }
    }
    PyMem_Free(state.rows);
    status = status ? status : dl_bands_flush(run);
    dl_bands_drop(run); /* where it declined */
    if (status == 0 && goes_on && taken == length && loop->rest) {
        run->outermost->left = 1;
        run->outermost->taken = (int64_t)taken;
    }
    return status || !leaves || run->outermost->left ? status : dl_world_end_loop(run, (int64_t)taken);
}

/* Hand the carried values to the registers outside. */
static DlStatus
take_results(Loop *loop, DlRun *outer)
{
    for (int k = 0; k < loop->body->n_carried; k++) {
        DlReg *src = &loop->run.regs[1 + k], *dst = &outer->regs[loop->step->dsts[k]];
        if (src->kind == DL_ARRAY && dl_reg_object(src) == NULL) {
            return -1;
        }
        dl_reg_copy(dst, src);
        dst->object = src->object;
        src->object = NULL;
        src->kind = DL_EMPTY;
    }
    for (int j = 0; j < loop->body->n_numbers; j++) {
        dl_reg_take_number(&outer->regs[loop->step->dsts[loop->body->n_carried + j]], loop->results[j],
                    loop->run.program->numbers.kinds[loop->body->number_out[j]]);
    }
    return dl_yields_set(outer, &loop->step->yields, loop->results);
}

/* The results of an empty range: the initial values. */
static DlStatus
take_initial(DlRun *run, const DlLoopStep *step)
{
    DlNumber numbers[DL_MAX_CARRIED_NUMBERS];
    for (int k = 0; k < step->n_carried; k++) {
        PyObject *object = dl_reg_object(&run->regs[step->operands[k].index]);
        if (object == NULL) {
            return -1;
        }
        dl_reg_take(&run->regs[step->dsts[k]], Py_NewRef(object));
    }
    for (int j = 0; j < step->body->body->n_numbers; j++) {
        const DlOperand *operand = &step->operands[step->n_operands - step->body->body->n_numbers + j];
        numbers[j] = run->numbers[operand->index];
        dl_reg_take_number(&run->regs[step->dsts[step->n_carried + j]], numbers[j],
                           run->program->numbers.kinds[operand->index]);
    }
    return dl_yields_set(run, &step->yields, numbers);
}

/* Run the first `planned` of `length` iterations step by step. */
static DlStatus
run_steps(DlRun *outer, DlLoopStep *step, int64_t start, int64_t by, uint64_t length, uint64_t planned)
{
    DlRoom room;
    DlReg small_next[SMALL_CARRIED];
    PyObject *small_held[SMALL_CARRIED];
    DlPool pool = {0};
    Loop loop = {.step = step, .body = step->body->body, .next = small_next, .held = small_held, .rest = length - planned};
    int leaves = step->leaves && !outer->strict;
    DlStatus status = dl_nested_open(&loop.run, outer, step->body, &room);
    if (loop.run.pool == NULL) {
        loop.run.pool = &pool;
    }
    if (step->n_carried > SMALL_CARRIED) {
        loop.next = PyMem_New(DlReg, step->n_carried);
        loop.held = PyMem_New(PyObject *, step->n_carried);
    }
    if (status == 0 && (loop.next == NULL || loop.held == NULL)) {
        status = dl_decline(outer, DL_REASON_MEMORY);
    }
    else if (status == 0) {
        memset(loop.held, 0, (size_t)step->n_carried * sizeof *loop.held);
        status = load_inputs(&loop, outer);
        outer->outermost->leaves |= leaves;
        status = status ? status : iterate(&loop, start, by, planned, leaves);
        outer->outermost->leaves &= !leaves;
        status = dl_nested_end(&loop.run, outer, status);
        status = status ? status : take_results(&loop, outer);
        for (int k = 0; k < step->n_carried; k++) {
            Py_XDECREF(loop.held[k]);
        }
    }
    dl_run_close(&loop.run, &room);
    dl_pool_clear(&pool);
    if (loop.next != small_next) {
        PyMem_Free(loop.next);
    }
    if (loop.held != small_held) {
        PyMem_Free(loop.held);
    }
    return status;
}

/* For tests, whether one of these iterations is such that the loop is to decline in it. */
static int
declines_in(int64_t start, int64_t by, uint64_t length)
{
    uint64_t every = dl_world_decline_every;
    for (uint64_t k = 0; k < length && k < every; k++) {
        if (((uint64_t)start + k * (uint64_t)by) % every == every - 1) {
            return 1;
        }
    }
    return 0;
}

DlStatus
dl_loop_run(DlRun *outer, DlLoopStep *step)
{
    int64_t start = outer->numbers[step->start].i, by = outer->numbers[step->by].i;
    if (by == 0) {
        return dl_decline(outer, DL_REASON_RANGE);
    }
    uint64_t length = range_length(start, outer->numbers[step->stop].i, by);
    if (length == 0) {
        return take_initial(outer, step);
    }
    DlProgram *program = step->body;
    if (program->never) {
        return dl_decline(outer, program->never);
    }
    uint64_t planned = length;
    int is_open = 0;
    DlStatus status = step->pausing.n ? plan_pause(outer, step, start, by, length, &planned, &is_open) : 0;
    if (status != 0) {
        return status;
    }
    /* NB: with none it could not be left: what an iteration makes is handed out then. */
    int leaves = step->leaves && !outer->strict;
    DlRun *outermost = outer->outermost;
    if (leaves) {
        outermost->number++;
        outermost->done = 0;
        int is_the_one = outermost->repeats == 0 || outermost->repeats == outermost->number;
        if (is_the_one && outermost->most != DL_ALL && (uint64_t)outermost->most < planned) {
            planned = (uint64_t)outermost->most;
        }
    }
    if (planned == 0) {
        outer->left = 1;
        outer->taken = 0;
        return take_initial(outer, step);
    }
    status = step->machine ? dl_machine_run(outer, step, start, by, length, planned) : 2;
    status = status == 2 ? run_steps(outer, step, start, by, length, planned) : status;
    if (is_open && status == 0 && outer->left && (uint64_t)outer->taken == planned && step->ahead < FARTHEST_AHEAD) {
        step->ahead *= FARTHER_AHEAD;
    }
    if (status == 0 && leaves && dl_world_decline_every && declines_in(start, by, planned)) {
        return dl_decline(outer, DL_REASON_FLAGS);
    }
    return status;
}
