/* Machine loops: a loop over single elements and vectors, run by one compiled function.
 *
 * The function is `int32 machine(npy_intp *block, npy_intp 0)`; abi.def says what the words of the block are, and
 * `layout` where they stand. INVARIANT: where values are of other kinds than it was written for, steps run the loop.
 */
#include "machine.h"
#include "machine_run.h"

#include <math.h>

#include "memory/arrays.h"
#include "memory/memory.h"
#include "builder/build.h"
#include "kernels/fold.h"
#include "fpflags.h"
#include "arrays/gather.h"
#include "kernels/kernel_code.h"
#include "arrays/linalg.h"
#include "machine_lists.h"
#include "objects.h"
#include "arrays/power.h"
#include "frame/pyframe.h"
#include "arrays/search.h"
#include "arrays/selections.h"
#include "random/variates.h"

enum {
    FIRST_BUDGET = 10000, /* iterations, before it looks for the first time */
    SLOW_BUDGET = 10,     /* the same, where they handle vectors */
    MOST_BUDGET = 10000000,
    RESTS = 100,       /* calls, after one that had to run step by step */
    TICK_NS = 2000000, /* about how often it looks for signals and threads that wait */
};

struct DlMachine {
    DlKernel kernel; /* its object is the Machine, its operands are the values that go in */
    int n_words;
    int *ndims;      /* of each value, or DL_OF_SCALAR, DL_OF_NUMBER */
    int *types;      /* type number of each value that is no number */
    int *vectors;    /* rows of DL_VECTOR_WORDS: pairs of a value and an axis, whose sizes make at most DL_MOST_VECTOR */
    int n_vectors;
    int n_rooms;
    int rests;       /* for so many calls the loop runs step by step */
    DlVariant *latest; /* the code that ran last (borrowed from the kernel), or NULL */
};

/* How many iterations of the outermost loop there are up to the one with that index. */
static int64_t
iterations(const npy_intp *block, npy_intp index)
{
    uint64_t start = (uint64_t)block[DL_WORD_START], by = (uint64_t)block[DL_WORD_BY];
    return (int64_t)(block[DL_WORD_BY] > 0 ? ((uint64_t)index - start) / by + 1 : (start - (uint64_t)index) / (0 - by) + 1);
}

/* Called by the code when its budget of iterations is spent: the next one, or 0 to stop. */
static int64_t
look(npy_intp *block)
{
    DlMachineRun *watch = dl_machine_run_of(block);
    int64_t time = dl_world_clock(), past = time - watch->read;
    watch->read = time;
    if (watch->leaves) { /* NB: of loops without one inside, only the others ask */
        watch->run->outermost->done = iterations(block, block[DL_WORD_ENDED_AT]);
    }
    if (past < TICK_NS / 2 && watch->budget < MOST_BUDGET) {
        watch->budget *= 2;
    }
    else if (past > 2 * TICK_NS && watch->budget > 1) {
        watch->budget /= 2;
    }
    watch->status = dl_flags_check(watch->run); /* NB: what declines is to be known early */
    watch->status = watch->status ? watch->status : dl_world_look(watch->run, time);
    if (watch->status != 0) {
        return 0;
    }
    watch->read = dl_world_clock(); /* NB: others may have run */
    block[DL_WORD_LEAVE] = watch->leaves && watch->run->outermost->wanted != 0;
    return watch->budget;
}

/* ---- what the code calls ---- */

/* Let go of a room's memory, which begins within a block of the pool's: one as large as an array would be mapped anew
 * in each run, and each of its pages would cost a fault. */
static void
leave_room(char *memory)
{
    if (memory != NULL) {
        dl_memory_give(((void **)memory)[-1]);
    }
}

/* Memory of more than so many bytes; NULL where there is none. */
static char *
room(npy_intp *words, npy_intp number, npy_intp bytes)
{
    DlRoom *own = &(dl_machine_run_of(words))->rooms[number];
    if (own->memory == NULL || own->bytes <= bytes) {
        leave_room(own->memory);
        own->bytes = (2 * bytes / DL_SCRATCH_ALIGNMENT + 1) * DL_SCRATCH_ALIGNMENT;
        void *block = dl_memory_take((size_t)own->bytes + DL_SCRATCH_ALIGNMENT + sizeof(void *));
        uintptr_t begin = (uintptr_t)block + sizeof(void *) + DL_SCRATCH_ALIGNMENT - 1;
        own->memory = block ? (char *)(begin - begin % DL_SCRATCH_ALIGNMENT) : NULL;
        if (own->memory != NULL) {
            ((void **)own->memory)[-1] = block;
        }
        own->bytes = own->memory ? own->bytes : 0; /* NB: rooms of small.c outlive the run that there was no memory for */
    }
    return own->memory;
}

/* Copy n elements to memory of their own. */
static int32_t
copy(char *to, npy_intp to_stride, const char *from, npy_intp n, npy_intp stride, npy_intp itemsize)
{
    dl_copy_strided(to, &to_stride, from, &stride, 1, &n, itemsize);
    return 0;
}

/* Random numbers into packed memory, of a kind, with its parameters; 1 where NumPy would raise. */
static int32_t
draw(npy_intp *block, PyObject *generator, npy_intp kind, double a, double b, char *data, npy_intp n)
{
    char *kept;
    bitgen_t *bits = dl_draws_interface(dl_machine_run_of(block)->run, generator, &kept);
    return dl_variates_fill(bits, kept, kind, a, b, data, n);
}

static int32_t
draw_integers(npy_intp *block, PyObject *generator, int64_t low, int64_t high, char *data, npy_intp n)
{
    char *kept;
    bitgen_t *bits = dl_draws_interface(dl_machine_run_of(block)->run, generator, &kept);
    return dl_variates_fill_integers(bits, kept, low, high, data, n);
}

static int32_t
draw_weighted(npy_intp *block, PyObject *generator, const char *from, npy_intp n, npy_intp step, int64_t *to, npy_intp m)
{
    char *kept;
    bitgen_t *bits = dl_draws_interface(dl_machine_run_of(block)->run, generator, &kept);
    return dl_variates_choose(bits, from, n, step, to, m);
}

static int32_t
draw_order(npy_intp *block, PyObject *generator, int64_t *out, npy_intp n)
{
    char *kept;
    bitgen_t *bits = dl_draws_interface(dl_machine_run_of(block)->run, generator, &kept);
    return dl_variates_order(bits, out, n);
}

static const npy_intp helpers[] = {
#define HELPER(name, function) (npy_intp)&function,
#include "abi.def"
};

/* ---- the block ---- */

/* The words of a value that goes in. */
static int
words_of(int ndim)
{
    return ndim == DL_OF_NUMBER ? DL_NUMBER_WORDS : ndim < 0 ? DL_SCALAR_WORDS : DL_ARRAY_SIZES + 2 * ndim;
}

/* The words before the scratch; the first one of each value that goes in, then of each result, goes into `first` (or
 * NULL). */
static int
layout(const int *ndims, int n, int n_carried, int n_numbers, int *first)
{
    int at = DL_HEAD_WORDS;
    for (int i = 0; i < n + n_carried + n_numbers; i++) {
        if (first != NULL) {
            first[i] = at;
        }
        at += i < n ? words_of(ndims[i]) : i < n + n_carried ? DL_RESULT_WORDS : DL_NUMBER_WORDS;
    }
    return (at + DL_PLACE_WORDS - 1) / DL_PLACE_WORDS * DL_PLACE_WORDS;
}

/* machine_block(ndims, carried, numbers): where the words of the values that go in stand, and of the results, and how many
 * there are before the scratch. */
static PyObject *
machine_block(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *given;
    int n_carried, n_numbers, ndims[DL_MAX_OPERANDS], first[3 * DL_MAX_OPERANDS];
    if (!PyArg_ParseTuple(args, "O!ii:machine_block", &PyTuple_Type, &given, &n_carried, &n_numbers)) {
        return NULL;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(given);
    if (n > DL_MAX_OPERANDS || n_carried < 0 || n_carried > DL_MAX_OPERANDS || n_numbers < 0 || n_numbers > DL_MAX_OPERANDS) {
        PyErr_SetString(PyExc_ValueError, "machine_block: too many values");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        ndims[i] = (int)PyLong_AsLong(PyTuple_GET_ITEM(given, i));
    }
    if (PyErr_Occurred()) {
        return NULL;
    }
    int words = layout(ndims, (int)n, n_carried, n_numbers, first);
    PyObject *inputs = PyTuple_New(n), *results = PyTuple_New(n_carried + n_numbers);
    for (Py_ssize_t i = 0; inputs != NULL && results != NULL && i < n + n_carried + n_numbers; i++) {
        PyObject *word = PyLong_FromLong(first[i]);
        if (word == NULL) {
            Py_CLEAR(inputs);
        }
        else if (i < n) {
            PyTuple_SET_ITEM(inputs, i, word);
        }
        else {
            PyTuple_SET_ITEM(results, i - n, word);
        }
    }
    PyObject *found = inputs && results ? Py_BuildValue("OOi", inputs, results, words) : NULL;
    Py_XDECREF(inputs);
    Py_XDECREF(results);
    return found;
}

PyMethodDef dl_machine_functions[] = {
    {"machine_block", machine_block, METH_VARARGS,
     "machine_block(ndims, carried, numbers): the first words of the values that go in, of the results; all words."},
    {NULL, NULL, 0, NULL},
};

/* ---- building ---- */

/* Read the kinds of the values; 0 or -1. */
static int
read_values(DlProgram *program, DlMachine *self, PyObject *dtypes, PyObject *ndims)
{
    int n = (int)PyTuple_GET_SIZE(dtypes);
    self->ndims = dl_program_take(program, (size_t)n, sizeof *self->ndims);
    self->types = dl_program_take(program, (size_t)n, sizeof *self->types);
    if (self->ndims == NULL || self->types == NULL) {
        return -1;
    }
    self->kernel.n_operands = n;
    for (int i = 0; i < n; i++) {
        PyObject *dtype = PyTuple_GET_ITEM(dtypes, i);
        long nd = PyLong_AsLong(PyTuple_GET_ITEM(ndims, i));
        if (nd == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (dtype != Py_None && !PyArray_DescrCheck(dtype)) {
            PyErr_SetString(PyExc_TypeError, "Machine.dtypes holds dtypes and None");
            return -1;
        }
        self->ndims[i] = dtype == Py_None ? DL_OF_NUMBER : (int)nd;
        self->types[i] = dtype == Py_None ? 0 : ((PyArray_Descr *)dtype)->type_num;
    }
    return 0;
}

/* Read what has to be short, or in order; 0 or -1. */
static int
read_vectors(DlProgram *program, DlMachine *self, PyObject *object)
{
    PyObject *rows = dl_build_tuple(object, "vectors");
    int n = rows ? (int)PyTuple_GET_SIZE(rows) : 0, status = rows ? 0 : -1;
    self->vectors = rows ? dl_program_take(program, (size_t)n, DL_VECTOR_WORDS * sizeof *self->vectors) : NULL;
    status = self->vectors ? status : -1;
    for (int i = 0; i < n && status == 0; i++, self->n_vectors++) {
        int *row = self->vectors + DL_VECTOR_WORDS * i;
        PyObject *given = PyTuple_GET_ITEM(rows, i);
        Py_ssize_t words = PyTuple_Check(given) ? PyTuple_GET_SIZE(given) : 0;
        int right = words > 0 && words <= DL_VECTOR_WORDS && words % 2 == 0;
        for (int j = 0; j < DL_VECTOR_WORDS; j++) {
            row[j] = right && j < words ? (int)PyLong_AsLong(PyTuple_GET_ITEM(given, j)) : -1;
        }
        for (int j = 0; right && j < words; j += 2) {
            int value = row[j], least = words == 2 ? DL_IN_ORDER : 0;
            right = (value == -1 && words == 2)
                    || (value >= 0 && value < self->kernel.n_operands && row[j + 1] >= least
                        && row[j + 1] < self->ndims[value]);
        }
        if (PyErr_Occurred() || !right) {
            PyErr_SetString(PyExc_ValueError, "Machine.vectors: no such axes");
            status = -1;
        }
    }
    Py_XDECREF(rows);
    return status;
}

int
dl_machine_build(DlProgram *program, PyObject *object, DlLoopStep *step)
{
    DlMachine *self = step->machine = dl_program_take(program, 1, sizeof *self);
    if (self == NULL || (self->kernel.object = dl_program_own(program, Py_NewRef(object))) == NULL) {
        return -1;
    }
    PyObject *dtypes = PyObject_GetAttrString(object, "dtypes");
    PyObject *ndims = dtypes ? PyObject_GetAttrString(object, "ndims") : NULL;
    int status = -1;
    if (ndims != NULL) {
        if (PyTuple_Check(dtypes) && PyTuple_Check(ndims) && PyTuple_GET_SIZE(dtypes) == step->n_operands
            && PyTuple_GET_SIZE(ndims) == step->n_operands && step->n_operands <= DL_MAX_OPERANDS) {
            status = read_values(program, self, dtypes, ndims);
            status = status ? status : read_vectors(program, self, object);
            self->n_rooms = status ? 0 : dl_build_int(object, "rooms");
            if (self->n_rooms < 0 || self->n_rooms > DL_MOST_ROOMS) {
                if (!PyErr_Occurred()) {
                    PyErr_SetString(PyExc_ValueError, "Machine.rooms: more than there are");
                }
                self->n_rooms = 0;
                status = -1;
            }
        }
        else {
            PyErr_SetString(PyExc_ValueError, "Machine: not the values of its loop");
        }
    }
    if (status == 0) {
        self->n_words = layout(self->ndims, self->kernel.n_operands, step->n_carried, step->body->body->n_numbers, NULL);
    }
    Py_XDECREF(dtypes);
    Py_XDECREF(ndims);
    return status;
}

/* ---- for straight.c ---- */

int
dl_machine_is_simple(const DlMachine *self)
{
    int simple = 1;
    for (int i = 0; i < self->kernel.n_operands; i++) {
        simple &= self->ndims[i] == DL_OF_NUMBER || self->types[i] != NPY_OBJECT;
    }
    return simple && (self->n_vectors > 0 || self->n_rooms > 0) ? 2 : simple;
}

const DlVariant *
dl_machine_latest(const DlMachine *self, int care)
{
    int fits = self->latest != NULL && self->rests == 0 && self->latest->care == dl_care_of(&self->kernel, care);
    return fits ? self->latest : NULL;
}

int
dl_machine_ndim(const DlMachine *self, int i)
{
    return self->ndims[i];
}

PyArray_Descr *
dl_machine_descr(const DlMachine *self, int i)
{
    PyArray_Descr *descr = PyArray_DescrFromType(self->types[i]);
    if (descr == NULL) {
        PyErr_Clear();
    }
    Py_XDECREF(descr); /* NB: NumPy's builtin dtypes live for ever */
    return descr;
}

int
dl_machine_layout(const DlLoopStep *step, int *first)
{
    const DlMachine *self = step->machine;
    return layout(self->ndims, self->kernel.n_operands, step->n_carried, step->body->body->n_numbers, first);
}

int
dl_machine_takes(const DlMachine *self, const npy_intp *words, const int *first, npy_intp most)
{
    int is_buffered = 1;
    if (self->n_rooms > 0 && (!dl_errstate_is_known(&is_buffered) || !is_buffered)) { /* NB: as in dl_machine_run */
        return 0;
    }
    for (int i = 0; i < self->n_vectors; i++) {
        const int *row = self->vectors + DL_VECTOR_WORDS * i;
        npy_intp product = 1;
        for (int j = 0; j < DL_VECTOR_WORDS && row[j] >= 0; j += 2) {
            const npy_intp *shape = words + first[row[j]] + DL_ARRAY_SIZES, *strides = shape + self->ndims[row[j]];
            if (row[j + 1] == DL_IN_ORDER) {
                PyArray_Descr *descr = dl_machine_descr(self, row[j]);
                if (descr == NULL || !dl_is_packed(PyDataType_ELSIZE(descr), self->ndims[row[j]], shape, strides)) {
                    return 0;
                }
                continue;
            }
            if (shape[row[j + 1]] > most || (product *= shape[row[j + 1]]) > most) {
                return 0;
            }
        }
    }
    return 1;
}

void
dl_machine_fill_head(npy_intp *words)
{
    static DlMachineRun watch; /* NB: for all such code, since none of it runs while other does; its rooms are kept */
    memset(words, 0, DL_HEAD_WORDS * sizeof *words);
    words[DL_WORD_RUN] = (npy_intp)&watch;
    words[DL_WORD_ROOMS] = (npy_intp)watch.rooms;
    words[DL_WORD_KEPT] = (npy_intp)watch.kept;
    words[DL_WORD_LOOK] = (npy_intp)&look; /* which is never called: there is a single iteration */
    words[DL_WORD_BUDGET] = FIRST_BUDGET;
    words[DL_WORD_BY] = 1;
    words[DL_WORD_HELPERS] = (npy_intp)helpers;
}

/* ---- running ---- */

/* Whether the registers hold what the code was written for; the stride classes of the arrays. */
static int
fits(const DlRun *run, const DlLoopStep *step, uint8_t *classes)
{
    const DlMachine *self = step->machine;
    for (int i = 0; i < step->n_operands; i++) {
        const DlOperand *operand = &step->operands[i];
        classes[i] = DL_CLASS_SPREAD;
        if ((operand->kind == DL_FROM_NUMBER) != (self->ndims[i] == DL_OF_NUMBER)) {
            return 0;
        }
        if (operand->kind == DL_FROM_NUMBER) {
            continue;
        }
        const DlReg *reg = &run->regs[operand->index];
        if (self->types[i] == NPY_OBJECT) {
            if (reg->object == NULL) {
                return 0;
            }
            continue;
        }
        if (reg->kind != (self->ndims[i] < 0 ? DL_SCALAR : DL_ARRAY) || reg->descr->type_num != self->types[i]) {
            return 0;
        }
        if (reg->kind == DL_ARRAY) {
            if (reg->nd != self->ndims[i]) {
                return 0;
            }
            classes[i] = dl_machine_class(reg->nd, reg->strides, PyDataType_ELSIZE(reg->descr));
        }
    }
    for (int i = 0; i < self->n_vectors; i++) {
        const int *row = self->vectors + DL_VECTOR_WORDS * i;
        npy_intp product = 1;
        for (int j = 0; j < DL_VECTOR_WORDS && row[j] >= 0; j += 2) {
            const DlReg *reg = &run->regs[step->operands[row[j]].index];
            if (row[j + 1] == DL_IN_ORDER) {
                if (!dl_reg_is_packed(reg)) {
                    return 0;
                }
                continue;
            }
            npy_intp size = reg->shape[row[j + 1]];
            if (size > DL_MOST_VECTOR || (product *= size) > DL_MOST_VECTOR) {
                return 0;
            }
        }
    }
    return 1;
}

/* Decline when an array that the loop writes cannot be written, or may share memory with another that goes in. */
static DlStatus
check_overlap(DlRun *run, const DlLoopStep *step)
{
    const DlProgram *body = step->body;
    for (int i = 0; i < body->n_written; i++) {
        int written = step->operands[body->written[i] - 1].index;
        DlStatus status = dl_overlap_check_target(run, written);
        for (int other = 0; other < step->n_operands && status == 0; other++) {
            if (other == body->written[i] - 1 || step->operands[other].kind != DL_FROM_REG) {
                continue;
            }
            status = step->operands[other].index == written
                         ? dl_decline(run, DL_REASON_OVERLAP)
                         : dl_overlap_check_pair(run, written, step->operands[other].index, 1);
        }
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

/* Write what goes in, from `word` on; where the results begin. */
static npy_intp *
fill_block(DlRun *run, const DlLoopStep *step, npy_intp *word)
{
    for (int i = 0; i < step->n_operands; i++) {
        const DlOperand *operand = &step->operands[i];
        if (operand->kind == DL_FROM_NUMBER) {
            memcpy(word++, &run->numbers[operand->index], sizeof *word);
            continue;
        }
        DlReg *reg = &run->regs[operand->index];
        if (step->machine->types[i] == NPY_OBJECT) {
            *word = (npy_intp)reg->object;
            word += words_of(step->machine->ndims[i]);
            continue;
        }
        if (reg->kind == DL_SCALAR) {
            memcpy(word, dl_reg_cell(reg), (size_t)PyDataType_ELSIZE(reg->descr));
            word += words_of(step->machine->ndims[i]);
            continue;
        }
        *word = (npy_intp)reg->data;
        memcpy(word + DL_ARRAY_SIZES, reg->shape, (size_t)reg->nd * sizeof *word);
        memcpy(word + DL_ARRAY_SIZES + reg->nd, reg->strides, (size_t)reg->nd * sizeof *word);
        word += words_of(reg->nd);
    }
    return word;
}

/* Hand the results to the registers. */
static DlStatus
take_results(DlRun *run, const DlLoopStep *step, const npy_intp *word, const DlMachineRun *watch)
{
    const DlProgram *body = step->body;
    const npy_intp *carried_numbers = word + step->n_carried * DL_RESULT_WORDS;
    for (int k = 0; k < step->n_carried; k++, word += DL_RESULT_WORDS) {
        DlReg *dst = &run->regs[step->dsts[k]];
        if (step->machine->types[k] == NPY_OBJECT) {
            dl_reg_take(dst, Py_NewRef((PyObject *)word[0]));
            continue;
        }
        if (word[DL_RESULT_ORIGIN] != 0) {
            PyObject *object = dl_machine_object_of(watch, word[DL_RESULT_ORIGIN]);
            if (object == NULL) {
                return -1;
            }
            dl_reg_take(dst, Py_NewRef(object));
            continue;
        }
        const DlReg *given = &run->regs[step->operands[k].index];
        if (step->machine->ndims[k] < 0) {
            dl_reg_take_cell(dst, given->descr, word);
            continue;
        }
        const npy_intp *length = step->lengths[k] < 0 ? NULL : &carried_numbers[step->lengths[k]];
        PyObject *array = dl_arrays_of_length(step->machine->types[k], given->nd, given->shape, length);
        if (array == NULL) {
            return -1;
        }
        memcpy(PyArray_DATA((PyArrayObject *)array), (const void *)word[0], (size_t)PyArray_NBYTES((PyArrayObject *)array));
        dl_reg_take_fresh(dst, array);
    }
    DlNumber numbers[DL_MAX_CARRIED_NUMBERS];
    for (int j = 0; j < body->body->n_numbers; j++, word++) {
        int kind = body->numbers.kinds[body->body->number_out[j]];
        memcpy(&numbers[j], word, sizeof *numbers);
        dl_reg_take_number(&run->regs[step->dsts[step->n_carried + j]], numbers[j], kind);
    }
    return dl_yields_set(run, &step->yields, numbers);
}

/* Why the code has stopped. */
static DlStatus
stopped(DlRun *run, DlMachine *self, int32_t returned, DlStatus looked)
{
    if (returned == 0 || returned == DL_RETURNED_LOOKED) { /* which has given its reason, or set an error */
        return returned ? looked : 0;
    }
    dl_kernel_learn(run, &self->kernel, returned);
    if (returned & DL_RETURNED_MET_DOUBT) {
        self->kernel.care |= DL_BY_LOOPS;
    }
    static const struct {
        int32_t returned;
        DlDecline reason;
    } reasons[] = {
#define RETURNED(name, value, reason, words) {value, reason},
#include "abi.def"
    };
    for (size_t i = 0; i < Py_ARRAY_LENGTH(reasons); i++) {
        if (reasons[i].returned & returned) { /* a kernel may give two */
            return dl_decline(run, reasons[i].reason);
        }
    }
    return dl_decline(run, DL_REASON_KERNEL);
}

/* Note how long the lists are that go in, so that what the code appends is cut off on a decline: 0, or -1 with an error. */
static int
note_lists(DlRun *run, const DlLoopStep *step)
{
    for (int i = 0; i < step->n_operands; i++) {
        PyObject *object = step->machine->types[i] == NPY_OBJECT ? run->regs[step->operands[i].index].object : NULL;
        if (object != NULL && PyList_CheckExact(object)
            && dl_journal_change(&run->outermost->journal, object, PyList_GET_SIZE(object)) < 0) {
            return -1;
        }
    }
    return 0;
}

/* Whether the code has stopped where NumPy's own calls know what it does not, or at an array that is too long for it, and
 * has changed nothing: then the loop runs step by step, from its begin. */
static int
starts_again(const DlMachine *self, const DlLoopStep *step, int32_t returned)
{
    for (int i = 0; i < step->n_operands; i++) {
        if (self->types[i] == NPY_OBJECT) {
            return 0; /* a list that it may have appended to, or a generator that it may have drawn from */
        }
    }
    return (returned == DL_RETURNED_FOLD || returned == DL_RETURNED_LONG) && step->body->n_written == 0;
}

DlStatus
dl_machine_run(DlRun *run, DlLoopStep *step, int64_t start, int64_t by, uint64_t length, uint64_t planned)
{
    DlMachine *self = step->machine;
    uint8_t classes[DL_MAX_OPERANDS];
    if (self->rests > 0 || !fits(run, step, classes)) {
        self->rests -= self->rests > 0;
        return 2;
    }
    if (self->n_rooms > 0) { /* NB: code that makes arrays may sum copies in NumPy's order, which goes by its buffers */
        int is_buffered = dl_errstate_is_buffered();
        if (is_buffered <= 0) {
            return is_buffered < 0 ? -1 : 2;
        }
    }
    DlVariant *variant;
    DlBlock block;
    DlStatus status = step->checked ? 0 : check_overlap(run, step);
    status = status == 0 && note_lists(run, step) < 0 ? dl_failed(run, DL_REASON_MEMORY) : status;
    status = status ? status : dl_kernel_variant(run, &self->kernel, classes, 0, 0.0, &variant);
    if (status != 0) {
        return status;
    }
    if (dl_block_open(&block, variant, self->n_words / DL_PLACE_WORDS, NULL) < 0) {
        return -1;
    }
    self->latest = variant;
    DlRun *outermost = run->outermost;
    int leaves = step->leaves && !run->strict;
    if (leaves && outermost->switches != dl_pyframe_switches()) {
        planned = 1; /* another thread ran while the code was compiled */
    }
    else if (leaves && dl_world_leave_every != 0 && dl_world_leave_every < planned) {
        planned = dl_world_leave_every;
    }
    outermost->leaves |= leaves;
    DlMachineRun watch;
    watch.run = run;
    watch.budget = self->n_vectors ? SLOW_BUDGET : FIRST_BUDGET;
    int64_t began = watch.read = dl_world_clock();
    watch.status = 1;
    watch.leaves = leaves;
    watch.step = step;
    watch.made = NULL;
    watch.n_made = watch.room_made = 0;
    watch.lists = NULL;
    memset(watch.kept, 0, sizeof watch.kept);
    memset(watch.rooms, 0, (size_t)self->n_rooms * sizeof *watch.rooms);
    npy_intp *words = block.block;
    words[DL_WORD_LOOK] = (npy_intp)&look;
    words[DL_WORD_RUN] = (npy_intp)&watch;
    words[DL_WORD_BUDGET] = watch.budget;
    words[DL_WORD_OVERFLOW] = 0;
    words[DL_WORD_START] = start;
    words[DL_WORD_BY] = by;
    words[DL_WORD_LEAVE] = 0;
    words[DL_WORD_ENDED_AT] = (npy_intp)((uint64_t)start - (uint64_t)by);
    words[DL_WORD_ENDED] = 0;
    words[DL_WORD_ROOMS] = (npy_intp)watch.rooms;
    words[DL_WORD_KEPT] = (npy_intp)watch.kept;
    words[DL_WORD_JOURNAL] = (npy_intp)&outermost->journal;
    words[DL_WORD_LAST] = (npy_intp)((uint64_t)start + (planned - 1) * (uint64_t)by);
    words[DL_WORD_HELPERS] = (npy_intp)helpers;
    npy_intp *results = fill_block(run, step, words + DL_HEAD_WORDS);
    unsigned before = dl_fp_get();
    int32_t returned = variant->address(words, 0);
    if (variant->is_quick) {
        dl_variant_ran(variant, (double)(dl_world_clock() - began));
    }
    int again = starts_again(self, step, returned);
    self->rests = returned == DL_RETURNED_FOLD || returned == DL_RETURNED_LONG ? RESTS : 0;
    status = again ? 2 : stopped(run, self, returned, watch.status);
    outermost->leaves &= !leaves;
    uint64_t taken = (uint64_t)iterations(words, words[DL_WORD_LAST]);
    if (status == 0 && taken < length && !words[DL_WORD_ENDED]) {
        outermost->left = 1;
        outermost->taken = (int64_t)taken;
    }
    else if (status == 0 && leaves) {
        status = dl_world_end_loop(run, words[DL_WORD_ENDED] ? iterations(words, words[DL_WORD_ENDED_AT]) + 1 : (int64_t)taken);
    }
    if (status == 0 && words[DL_WORD_OVERFLOW]) {
        run->flags |= DL_FP_OVER;
    }
    status = status ? status : take_results(run, step, results, &watch);
    for (int i = 0; i < self->n_rooms; i++) {
        leave_room(watch.rooms[i].memory);
    }
    for (npy_intp i = 0; i < watch.n_made; i++) {
        Py_XDECREF(watch.made[i]);
    }
    PyMem_Free(watch.made);
    Py_XDECREF(watch.lists);
    for (int i = 0; i < DL_MOST_KEPT; i++) {
        Py_XDECREF(watch.kept[i]);
    }
    if (again) { /* as if it had not run */
        dl_fp_set(before);
        block.flags = 0;
    }
    DlStatus closed = dl_block_close(&block, run, variant, 0);
    status = status ? status : closed;
    return status ? status : dl_flags_check(run);
}
