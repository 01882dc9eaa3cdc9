/* Program: run the steps of a schedule (see launch.h, program.h). */
#include "launch.h"

#include <structmember.h>

#include "memory/arrays.h"
#include "bands.h"
#include "kernels/fold.h"
#include "fpflags.h"
#include "kernels/kernel_code.h"
#include "machine.h"
#include "program.h"
#include "kernels/maps.h"
#include "frame/pyframe.h"
#include "runs.h"
#include "silence.h"
#include "builder/slot.h"

static const char *const reason_words[DL_N_DECLINES] = {
#define REASON(id, words) [id] = words,
#include "declines.def"
#undef REASON
};

PyObject *dl_declined_error;

/* Read the symbols from the inputs and evaluate every expression; 0 or 1. */
static DlStatus
load_numbers(DlRun *run)
{
    const DlScalars *table = &run->program->numbers;
    if (table->n_values == 0) {
        return 0;
    }
    memcpy(run->numbers, table->initial, (size_t)table->n_values * sizeof *run->numbers);
    for (int32_t i = 0; i < table->n_loads; i++) {
        const DlScalarLoad *load = &table->loads[i];
        if (load->input < 0) {
            continue;
        }
        const DlReg *reg = &run->regs[load->input];
        if (reg->kind == DL_ARRAY && load->axis >= 0 && load->axis < reg->nd) {
            run->numbers[load->value].i = reg->shape[load->axis];
        }
        else if (dl_scalar_load(table, load, run->inputs[load->input], run->numbers)) {
            return dl_decline(run, DL_REASON_INPUT);
        }
    }
    int32_t n_early = run->program->n_early;
    int declined = n_early && dl_scalar_eval(table, 0, n_early, run->numbers);
    return declined ? dl_decline(run, DL_REASON_NUMBER) : 0;
}

/* ---- steps ---- */

/* Write the same `bytes` into n packed elements; sizes that are constants where it is called are single stores. */
static inline void
spread(char *data, npy_intp n, const char *cell, size_t bytes)
{
    for (npy_intp i = 0; i < n; i++) {
        memcpy(data + i * (npy_intp)bytes, cell, bytes);
    }
}

/* Write the same cell into n packed elements. */
static void
fill(char *data, npy_intp n, const char *cell, npy_intp itemsize)
{
    char own[DL_CELL]; /* which nobody else can have: what is written does not change it */
    memcpy(own, cell, (size_t)itemsize);
    switch (itemsize) {
        case 1: memset(data, own[0], (size_t)n); return;
        case 2: spread(data, n, own, 2); return;
        case 4: spread(data, n, own, 4); return;
        case 8: spread(data, n, own, 8); return;
        case 16: spread(data, n, own, 16); return;
        default: spread(data, n, own, (size_t)itemsize);
    }
}

/* Make a fresh array. */
static DlStatus
alloc(DlRun *run, const DlAllocStep *step)
{
    npy_intp shape[DL_MAX_DIMS], itemsize = PyDataType_ELSIZE(step->descr);
    char cell[DL_CELL] = {0};
    static const char zero[DL_CELL];
    if (dl_dims_get(run, &step->shape, shape)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    if (step->filled && step->fill.kind == DL_FROM_REG) {
        DlReg *reg = &run->regs[step->fill.index];
        if (reg->kind != DL_SCALAR || reg->descr->type_num != step->descr->type_num) {
            return dl_decline(run, DL_REASON_INPUT);
        }
        memcpy(cell, dl_reg_cell(reg), (size_t)itemsize);
    }
    else if (step->filled && step->fill.kind == DL_FROM_NUMBER) {
        if (dl_cell_fill(run, step->fill.index, step->descr, cell)) {
            return dl_decline(run, DL_REASON_CONVERT);
        }
    }
    else if (step->filled) {
        memcpy(cell, step->fill.cell, DL_CELL);
    }
    int zeros = step->filled && memcmp(cell, zero, (size_t)itemsize) == 0;
    PyObject *array;
    if (step->common) {
        npy_intp strides[DL_MAX_DIMS];
        if (dl_layout_common(run->regs, step->like, step->n_like, step->shape.n, shape, itemsize, strides)) {
            return dl_decline(run, DL_REASON_INPUT);
        }
        array = dl_pool_array(run, step->descr, step->shape.n, shape, strides);
        zeros = 0;
    }
    else if (step->n_like > 0) {
        const DlReg *like = &run->regs[step->like[0]];
        npy_intp strides[DL_MAX_DIMS];
        if (like->kind != DL_ARRAY || like->nd != step->shape.n
            || (like->nd && memcmp(like->shape, shape, (size_t)like->nd * sizeof *shape) != 0)) {
            return dl_decline(run, DL_REASON_INPUT);
        }
        dl_layout_of_copy(like, (int)itemsize, strides);
        array = dl_pool_array(run, step->descr, like->nd, shape, strides);
        zeros = 0;
    }
    else if (run->pool != NULL && !step->fortran) {
        array = dl_pool_array(run, step->descr, step->shape.n, shape, NULL);
        zeros = 0;
    }
    else if (!step->fortran && (!zeros || dl_array_count(step->shape.n, shape) < DL_ARRAY_SMALL)) {
        array = dl_array_make(step->descr, step->shape.n, shape, dl_array_count(step->shape.n, shape));
        zeros = 0;
    }
    else {
        Py_INCREF(step->descr);
        array = zeros ? PyArray_Zeros(step->shape.n, shape, step->descr, step->fortran)
                      : PyArray_NewFromDescr(&PyArray_Type, step->descr, step->shape.n, shape, NULL, NULL,
                                             step->fortran ? NPY_ARRAY_F_CONTIGUOUS : 0, NULL);
    }
    if (array == NULL) {
        return dl_failed(run, DL_REASON_MEMORY);
    }
    DlStatus status = dl_bands_made(run, array, step->filled && !zeros ? cell : NULL, zeros);
    if (status == 2 && step->filled && !zeros) {
        fill(PyArray_BYTES((PyArrayObject *)array), PyArray_SIZE((PyArrayObject *)array), cell, itemsize);
    }
    dl_reg_take_fresh(&run->regs[step->dst], array);
    run->regs[step->dst].bordered = step->common != 0;
    return status == 2 ? 0 : status;
}

/* Carry out one step. */
DlStatus
dl_step_run(DlRun *run, DlStep *step)
{
    switch (step->kind) {
    case DL_STEP_VIEW:
        return dl_view_run(run, &step->view);
    case DL_STEP_ALLOC:
        return alloc(run, &step->alloc);
    case DL_STEP_MAP:
        return dl_bands_take(run, &step->map) ? dl_bands_map(run, &step->map) : dl_map_run(run, &step->map);
    case DL_STEP_REDUCE:
        return dl_reduce_run(run, &step->reduce);
    case DL_STEP_CALL:
        return dl_call_run(run, &step->call);
    case DL_STEP_SAVE:
        return dl_overlap_save(run, &run->regs[step->save]);
    case DL_STEP_REQUIRE:
        return run->numbers[step->condition].i ? 0 : dl_decline(run, DL_REASON_CONDITION);
    case DL_STEP_LOOP:
        return dl_loop_run(run, &step->loop);
    case DL_STEP_LEAVE:
        run->end = run->left ? &step->leave : NULL;
        return 0;
    case DL_STEP_COND:
        return dl_cond_run(run, &step->cond);
    case DL_STEP_MASKED:
        return dl_masked_run(run, &step->masked);
    case DL_STEP_READ:
        return dl_read_run(run, &step->read);
    case DL_STEP_NEW:
        return dl_list_new(run, &step->new);
    case DL_STEP_PUT:
        return dl_list_put(run, &step->put);
    case DL_STEP_TAKE:
        return dl_list_take(run, &step->take);
    case DL_STEP_ERRORS:
        return dl_errstate_set(run, &step->errors);
    }
    Py_UNREACHABLE();
}

/* Whether a step may run before maps that wait: it waits itself, or reads nothing that they write. A copy of what will be
 * written shows what was there before. */
static int
may_pass(const DlRun *run, const DlStep *step, int number)
{
    const DlProgram *program = run->program;
    for (int k = 0; k < program->n_blocks; k++) {
        if (program->blocks[k].first == number) {
            return 0;
        }
    }
    switch (step->kind) {
    case DL_STEP_VIEW:
        return !step->view.scalar || !dl_bands_write(run, &run->regs[step->view.src]);
    case DL_STEP_READ:
        return run->regs[step->read.src].kind != DL_ARRAY;
    case DL_STEP_ALLOC:
    case DL_STEP_MAP:
    case DL_STEP_SAVE:
    case DL_STEP_REQUIRE:
        return number != program->kept;
    default:
        return 0;
    }
}

/* Run them, but for what then waits. */
static DlStatus
run_each(DlRun *run, int fixed)
{
    DlProgram *program = run->program;
    for (int i = 0; i < program->n_steps; i++) {
        DlStep *step = &program->steps[i];
        if (step->fixed != fixed) {
            continue;
        }
        run->at = i;
        int in_block = 0;
        DlStatus status = run->bands != NULL && !may_pass(run, step, i) ? dl_bands_flush(run) : 0;
        status = status == 0 && program->n_blocks ? dl_blocks_run(run, i, &in_block) : status;
        if (status != 0) {
            return status;
        }
        if (in_block) {
            i += in_block - 1;
            continue;
        }
        status = dl_step_run(run, step);
        /* NB: after every step that computes, so that a later one stores nothing into the caller's arrays; what the body
         * of a loop or a branch stores can be undone, so that it is enough to ask after each iteration, or choice. */
        int computes = step->kind == DL_STEP_MAP || step->kind == DL_STEP_REDUCE || step->kind == DL_STEP_COND;
        if (status == 0 && program->body == NULL && computes) {
            status = dl_flags_check(run);
        }
        if (status != 0 || run->end != NULL) {
            return status;
        }
        for (int j = 0; j < step->n_dead; j++) {
            dl_reg_release(run, &run->regs[step->dead[j]]);
        }
    }
    return 0;
}

DlStatus
dl_steps_run(DlRun *run, int fixed)
{
    DlStatus status = run_each(run, fixed);
    if (status != 0 || run->end != NULL) { /* NB: what a program that declines has not done yet is not done any more */
        dl_bands_drop(run);
    }
    else if (run->bands != NULL && (fixed || run->program->body == NULL || !run->program->body->lingers)) {
        status = dl_bands_flush(run);
    }
    run->at = status == 0 && run->end == NULL ? run->program->n_steps : run->at;
    return status;
}

/* ---- a run ---- */

/* The status of a run that has ended with that one: a defect of ours, which is not to become a wrong value, where it
 * declines behind a write that is not undone (emit.py, protect_inputs). */
static DlStatus
check_kept(const DlRun *run, DlStatus status)
{
    if (status <= 0 || run->program->kept < 0 || run->at <= run->program->kept || run->keeps_writes) {
        return status;
    }
    PyErr_Format(PyExc_SystemError, "dynamo_lite: a program declined in step %d (%s) and has written in step %d",
                 run->at, reason_words[run->reason], run->program->kept);
    return -1;
}

/* Fill the registers of inputs and constants; 0 or 1. */
static DlStatus
load_registers(DlRun *run)
{
    const DlProgram *program = run->program;
    for (int i = 0; i < program->n_inputs; i++) {
        PyObject *input = Py_NewRef(run->inputs[i]);
        if (PyArray_CheckExact(input)) {
            dl_reg_take_array(&run->regs[i], (PyArrayObject *)input);
        }
        else if (PyFloat_CheckExact(input) || PyLong_CheckExact(input)) { /* numbers are read from the inputs themselves */
            run->regs[i].object = input;
            run->regs[i].owner = NULL;
            run->regs[i].kind = DL_OTHER;
        }
        else if (dl_draws_has(input)) {
            Py_DECREF(input);
            if (dl_draws_take(run, &run->regs[i], run->inputs[i]) != 0) {
                return 1;
            }
        }
        else {
            dl_reg_take(&run->regs[i], input);
        }
    }
    for (int i = 0; i < program->n_constants; i++) {
        dl_reg_take(&run->regs[program->constant_regs[i]], Py_NewRef(program->constants[i]));
    }
    return dl_overlap_check_inputs(run, 0, program->n_inputs, 0);
}

/* Hand out `n` outputs: new references. */
static DlStatus
take_outputs(DlRun *run, const DlOperand *operands, PyObject *const *objects, int n, PyObject **outputs)
{
    for (int i = 0; i < n; i++) {
        const DlOperand *output = &operands[i];
        if (output->kind == DL_FROM_REG) {
            outputs[i] = Py_XNewRef(dl_reg_object(&run->regs[output->index]));
        }
        else if (output->kind == DL_FROM_NUMBER) {
            outputs[i] = dl_scalar_object(&run->program->numbers, output->index, run->numbers);
        }
        else {
            outputs[i] = Py_NewRef(objects[i]);
        }
        if (outputs[i] == NULL) {
            while (i > 0) {
                i--; /* NB: CPython 3.11's Py_CLEAR evaluates its argument twice */
                Py_CLEAR(outputs[i]);
            }
            return -1;
        }
    }
    return 0;
}

/* Hand out what the run ends with: of the program's end, or of the Leave at which it ended. */
static DlStatus
take_results(DlRun *run, PyObject **outputs)
{
    const DlProgram *program = run->program;
    const DlLeaveStep *end = run->end;
    if (end == NULL) {
        return take_outputs(run, program->outputs, program->output_objects, program->n_outputs, outputs);
    }
    outputs[0] = PyLong_FromLongLong(run->taken);
    if (outputs[0] == NULL) {
        return -1;
    }
    DlStatus status = take_outputs(run, end->outputs, end->objects, end->n_outputs, outputs + 1);
    if (status != 0) {
        Py_CLEAR(outputs[0]);
    }
    return status;
}

/* Let go of what was handed out. */
static void
drop_outputs(const DlRun *run, PyObject **outputs)
{
    int n = run->end ? run->end->n_outputs + 1 : run->program->n_outputs;
    for (int i = 0; i < n; i++) {
        Py_CLEAR(outputs[i]);
    }
}

/* Run the steps, one after the other. */
static int
run_steps(PyObject *object, PyObject *const *inputs, PyObject **outputs, DlEnd *end, const DlWorld *world)
{
    DlProgram *program = (DlProgram *)object;
    DlRoom room;
    DlRun run = {.program = program, .inputs = inputs, .keep_gil = program->has_loops, .ends = end != NULL,
                 .most = end ? end->most : DL_ALL, .repeats = end ? end->number : 0, .world = world,
                 .strict = program->has_loops && (end == NULL || program->n_closed_loops > 0)};
    run.outermost = &run;
    run.switches = program->has_loops ? dl_pyframe_switches() : 0;
    run.began = program->has_loops ? dl_world_clock() : 0;
    DlStatus status;
    Py_INCREF(object);
    if (program->never) {
        status = dl_decline(&run, program->never);
        goto counted;
    }
    status = dl_run_open(&run, &room);
    if (status != 0) {
        goto closed;
    }
    status = load_registers(&run);
    if (status == 0) {
        status = load_numbers(&run);
    }
    if (status == 0 && run.keep_gil) {
        status = dl_errstate_learn(&run);
    }
    if (status == 0) {
        unsigned before = dl_fp_get();
        dl_fp_set(0);
        status = dl_steps_run(&run, 0);
        status = status ? status : take_results(&run, outputs);
        if (status == 0 && run.draws != NULL && (status = dl_draws_commit(&run)) != 0) {
            drop_outputs(&run, outputs);
        }
        if (status == 0 && run.changes > 0 && (status = dl_filters_commit(&run)) != 0) {
            drop_outputs(&run, outputs);
        }
        dl_errstate_leave(&run);
        dl_fp_set(before);
    }
    if (run.saved != NULL) {
        dl_overlap_end_saved(&run, status != 0 && !run.keeps_writes);
    }
    if (status != 0) {
        dl_journal_undo(&run.journal);
    }
    dl_journal_clear(&run.journal);
    dl_draws_end(&run);
    int writes = program->kept >= 0 && run.at > program->kept;
    if (status < 0 && !run.raised && !writes && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        PyErr_Clear(); /* plain Python may get by with less, or raise it where it belongs */
        status = dl_decline(&run, DL_REASON_MEMORY);
    }
    status = check_kept(&run, status);
closed:
    dl_run_close(&run, &room);
    if (end != NULL) {
        end->exit = run.end ? run.end->exit : -1;
        end->n_outputs = run.end ? run.end->n_outputs + 1 : program->n_outputs;
        end->done = status > 0 && run.reason == DL_REASON_SIGNAL && run.stale == DL_REASON_NONE ? run.done : 0;
        end->number = run.number;
    }
counted:
    program->time = program->has_loops && program->straight == NULL ? (double)(dl_world_clock() - run.began) : 1.0;
    if (status > 0) {
        program->last_decline = run.reason;
        program->interrupted = run.number > 0 ? run.number : 1;
        program->declines[run.reason]++;
    }
    Py_DECREF(object);
    return status;
}

/* The short way of a program that has one. */
static inline int
run_short(DlProgram *program, PyObject *const *inputs, PyObject **outputs)
{
    if (program->single != NULL) {
        return dl_single_run(program, inputs, outputs);
    }
    return program->straight != NULL ? dl_straight_run(program, inputs, outputs) : dl_small_run(program, inputs, outputs);
}

/* Whether what a program has declined for may lie in some iterations of its loop alone. */
static int
is_of_iteration(DlDecline reason)
{
    switch (reason) {
    case DL_REASON_FLAGS:
    case DL_REASON_NUMBER:
    case DL_REASON_CONDITION:
    case DL_REASON_INDEX:
    case DL_REASON_CONVERT:
    case DL_REASON_NAN:
    case DL_REASON_DOUBT:
    case DL_REASON_CALL:
        return 1;
    default:
        return 0;
    }
}

/* Run once more what has declined, with half as many iterations, until it does not; nobody knows how many all were, so of
   these one. */
static int
retreat(PyObject *object, PyObject *const *inputs, PyObject **outputs, DlEnd *end, const DlWorld *world)
{
    DlProgram *program = (DlProgram *)object;
    int status = 1, learns = 1;
    end->retreats = 0;
    while (status == 1 && is_of_iteration(program->last_decline)) {
        int has_learnt = program->last_decline == DL_REASON_NAN || program->last_decline == DL_REASON_DOUBT;
        int is_stricter = learns && has_learnt; /* the code that declined, from now on */
        if (end->most == 1 && !is_stricter) {
            break;
        }
        end->lost += program->time;
        if (!is_stricter) {
            end->within = end->most == DL_ALL ? 0 : end->most;
            end->most = end->most == DL_ALL ? 1 : end->most / 2;
        }
        learns = learns && !is_stricter;
        status = run_steps(object, inputs, outputs, end, world);
    }
    end->retreats = status == 0;
    return status;
}

/* Run once more what has declined for a signal, up to the last iteration that had ended then. */
static int
run_up_to(PyObject *object, PyObject *const *inputs, PyObject **outputs, DlEnd *end, const DlWorld *world)
{
    int64_t most = end->most;
    end->lost += ((DlProgram *)object)->time;
    end->most = end->done;
    int status = run_steps(object, inputs, outputs, end, world);
    end->most = most;
    return status;
}

int
dl_program_run(PyObject *object, PyObject *const *inputs, PyObject **outputs, DlEnd *end, const DlWorld *world)
{
    DlProgram *program = (DlProgram *)object;
    if (program->tries_short && end == NULL && !program->never && run_short(program, inputs, outputs)) {
        program->time = 1.0;
        return 0;
    }
    int status = 2;
    if (program->small != NULL && end == NULL && !program->never) {
        status = dl_small_try(program, inputs, outputs, world, run_steps);
        program->time = 1.0;
    }
    if (end != NULL) {
        end->lost = 0;
        end->done = end->number = 0;
    }
    status = status == 2 ? run_steps(object, inputs, outputs, end, world) : status;
    if (end != NULL) {
        status = status == 1 && end->done > 0 ? run_up_to(object, inputs, outputs, end, world) : status;
        int again = status == 1 && end->retreats && program->n_closed_loops == 0;
        status = again ? retreat(object, inputs, outputs, end, world) : status;
        end->retreats = again && end->retreats;
    }
    return status;
}

int
dl_program_run_short(PyObject *object, PyObject *const *inputs, PyObject **outputs)
{
    DlProgram *program = (DlProgram *)object;
    return program->tries_short && !program->never && run_short(program, inputs, outputs);
}

Py_ssize_t
dl_program_n_outputs(PyObject *program)
{
    return ((DlProgram *)program)->n_outputs;
}

Py_ssize_t
dl_program_n_most_outputs(PyObject *program)
{
    return ((DlProgram *)program)->n_most_outputs;
}

int
dl_program_reports(PyObject *program)
{
    return ((DlProgram *)program)->last_decline == DL_REASON_FLAGS;
}

int
dl_program_is_interrupted(PyObject *program)
{
    DlProgram *self = (DlProgram *)program;
    return self->last_decline == DL_REASON_SIGNAL ? self->interrupted : 0;
}

double
dl_program_time(PyObject *program)
{
    return ((DlProgram *)program)->time;
}

int
dl_program_may_go_on(PyObject *object)
{
    DlProgram *program = (DlProgram *)object;
    /* NB: an int that no longer fits 64 bits rarely gets smaller, and each that is larger would be a constant to a guard. */
    return is_of_iteration(program->last_decline) && program->last_decline != DL_REASON_NUMBER;
}

/* ---- the Python type ---- */

/* program(*inputs) -> tuple; raises Declined. */
static PyObject *
program_vectorcall(PyObject *object, PyObject *const *args, size_t nargsf, PyObject *kwnames)
{
    DlProgram *self = (DlProgram *)object;
    Py_ssize_t n = PyVectorcall_NARGS(nargsf);
    if (n != self->n_inputs || (kwnames != NULL && PyTuple_GET_SIZE(kwnames) != 0)) {
        PyErr_Format(PyExc_TypeError, "the program takes %d inputs and no keywords, got %zd", self->n_inputs, n);
        return NULL;
    }
    PyObject *outputs = PyTuple_New(self->n_outputs);
    if (outputs == NULL) {
        return NULL;
    }
    int status = dl_program_run(object, args, &PyTuple_GET_ITEM(outputs, 0), NULL, NULL);
    if (status == 0) {
        return outputs;
    }
    Py_DECREF(outputs);
    if (status > 0) {
        PyObject *words = PyObject_GetAttrString(object, "last_decline");
        if (words != NULL) {
            PyErr_SetObject(dl_declined_error, words);
            Py_DECREF(words);
        }
    }
    return NULL;
}

DlProgram *
dl_program_make(PyObject *schedule, PyObject *compile_kernel, DlPart part)
{
    DlProgram *self = (DlProgram *)dl_program_type.tp_alloc(&dl_program_type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->vectorcall = program_vectorcall;
    self->schedule = Py_NewRef(schedule);
    self->compile_kernel = Py_NewRef(compile_kernel);
    if (dl_program_build(self, part) < 0 || dl_single_build(self) < 0 || dl_straight_build(self) < 0) {
        Py_CLEAR(self);
    }
    else {
        self->tries_short = self->single != NULL || self->straight != NULL;
    }
    return self;
}

static PyObject *
program_new(PyTypeObject *Py_UNUSED(type), PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"schedule", "compile_kernel", "num_threads", "make_small", NULL};
    PyObject *schedule, *compile_kernel, *make_small = Py_None;
    int num_threads = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO|iO:Program", names, &schedule, &compile_kernel, &num_threads,
                                     &make_small)) {
        return NULL;
    }
    DlProgram *self = dl_program_make(schedule, compile_kernel, DL_WHOLE);
    if (self != NULL) {
        self->num_threads = num_threads;
        if (make_small != Py_None && self->single == NULL && self->straight == NULL && dl_small_begin(self, make_small) < 0) {
            Py_CLEAR(self);
        }
    }
    return (PyObject *)self;
}

static int
program_traverse(PyObject *object, visitproc visit, void *arg)
{
    return dl_program_traverse((DlProgram *)object, visit, arg);
}

static int
program_clear(PyObject *object)
{
    dl_program_clear((DlProgram *)object);
    return 0;
}

static void
program_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    dl_program_clear((DlProgram *)object);
    Py_TYPE(object)->tp_free(object);
}

/* Why the last run that declined did, or None. */
static PyObject *
get_last_decline(PyObject *object, void *Py_UNUSED(closure))
{
    DlProgram *self = (DlProgram *)object;
    if (self->last_decline == DL_REASON_NONE) {
        Py_RETURN_NONE;
    }
    if (self->last_decline == DL_REASON_COMPILE && self->failure != NULL) {
        return PyUnicode_FromFormat("%s: %U", reason_words[self->last_decline], self->failure);
    }
    return PyUnicode_FromString(reason_words[self->last_decline]);
}

/* How often the program declined, by reason. */
static PyObject *
get_declines(PyObject *object, void *Py_UNUSED(closure))
{
    DlProgram *self = (DlProgram *)object;
    PyObject *counts = PyDict_New();
    for (int reason = 0; counts != NULL && reason < DL_N_DECLINES; reason++) {
        if (self->declines[reason] == 0) {
            continue;
        }
        PyObject *count = PyLong_FromUnsignedLongLong(self->declines[reason]);
        if (count == NULL || PyDict_SetItemString(counts, reason_words[reason], count) < 0) {
            Py_CLEAR(counts);
        }
        Py_XDECREF(count);
    }
    return counts;
}

static PyObject *
program_repr(PyObject *object)
{
    DlProgram *self = (DlProgram *)object;
    return PyUnicode_FromFormat("<Program of %d steps, %d inputs, %d outputs>", self->n_steps, self->n_inputs,
                                self->n_outputs);
}

/* The program of one routine that runs small arrays, or None. */
static PyObject *
get_small(PyObject *object, void *Py_UNUSED(closure))
{
    PyObject *routine = dl_small_routine((DlProgram *)object);
    return Py_NewRef(routine ? routine : Py_None);
}

static PyMemberDef program_members[] = {
    {"schedule", T_OBJECT, offsetof(DlProgram, schedule), READONLY, "what the program was built from"},
    {NULL, 0, 0, 0, NULL},
};

static PyGetSetDef program_getset[] = {
    {"last_decline", get_last_decline, NULL, "why the last run that declined did, or None", NULL},
    {"declines", get_declines, NULL, "how often the program declined, by reason", NULL},
    {"small", get_small, NULL, "the program of one routine that runs small arrays, or None", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

PyTypeObject dl_program_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Program",
    .tp_doc = "Program(schedule, compile_kernel, num_threads=0, make_small=None): callable on the graph's inputs, gives the tuple of its outputs.",
    .tp_basicsize = sizeof(DlProgram),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_HAVE_VECTORCALL,
    .tp_vectorcall_offset = offsetof(DlProgram, vectorcall),
    .tp_call = PyVectorcall_Call,
    .tp_new = program_new,
    .tp_dealloc = program_dealloc,
    .tp_traverse = program_traverse,
    .tp_clear = program_clear,
    .tp_members = program_members,
    .tp_getset = program_getset,
    .tp_repr = program_repr,
};

/* find_fold(ufunc, dtype): the row of fold.c that has NumPy's order of operations, -1 if none has. */
static PyObject *
find_fold(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *ufunc;
    PyArray_Descr *descr;
    if (!PyArg_ParseTuple(args, "OO!:find_fold", &ufunc, &PyArrayDescr_Type, &descr)) {
        return NULL;
    }
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    PyObject *result = text ? PyLong_FromLong(dl_fold_number(dl_fold_find(text, descr))) : NULL;
    Py_XDECREF(name);
    return result;
}

PyMethodDef dl_launch_functions[] = {
    {"find_fold", find_fold, METH_VARARGS,
     "find_fold(ufunc, dtype): the number of the fold by which a Reduce of it is done without NumPy's reduce, most of the "
     "time; -1 if there is none."},
    {NULL, NULL, 0, NULL},
};

int
dl_launch_register(PyObject *module)
{
    if (dl_numpy_import() < 0 || dl_arrays_register() < 0 || dl_errstate_register() < 0 || dl_silence_register() < 0
        || dl_slot_register() < 0) {
        return -1;
    }
    dl_fold_register();
    dl_declined_error =
        PyErr_NewExceptionWithDoc("dynamo_lite._C.Declined",
                                  "A program declined: it changed nothing, and plain Python runs.", NULL, NULL);
    if (dl_declined_error == NULL || PyModule_AddObjectRef(module, "Declined", dl_declined_error) < 0
        || dl_kernel_register(module) < 0) {
        return -1;
    }
    return PyModule_AddType(module, &dl_program_type);
}
