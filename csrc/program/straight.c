/* Programs that one call of machine code does: arrays are made, then a loop of one iteration runs (schedule/straight.py).
 *
 * The short way fills the code's block (machine.c) from the inputs and hands out what is in it, without registers and
 * without clocks. Whatever is not as the code wants it is left to the long way, from the begin: what is written of arrays from
 * outside is put back before, and only arrays of a few bytes are written here. INVARIANT: the GIL is held and no Python
 * code runs from where the block is filled to where the code returns, so that one block is enough.
 */
#include "program.h"
#include "kernels/maps.h"

#include "memory/arrays.h"
#include "geometry.h"
#include "kernels/kernel_code.h"
#include "machine.h"

enum { MOST_NUMBERS = 64, MOST_ARRAYS = 8, MOST_OUTPUTS = 8, MOST_WRITTEN = 4, SMALL_BYTES = 512 };
enum { MOST_SCRATCH = 1 << 15, MOST_LOOPS = 32 };

/* FROM_RESULT: a NumPy scalar that the code hands on; FROM_CARRIED: an array that it hands on, whose elements go into
   the made one that stood in its place before. */
typedef enum { FROM_INPUT, FROM_MADE, FROM_NUMBER, FROM_RESULT, FROM_CARRIED, FROM_CONSTANT, FROM_YIELD, FROM_NOWHERE } From;

/* A value that goes into the code, or an output of the program. */
typedef struct {
    From from;
    int index;            /* of the input, the made array, the number of the table, the output */
    int word;             /* its first one in the block */
    int nd;               /* -1: a NumPy scalar */
    PyArray_Descr *descr; /* of arrays and NumPy scalars; NumPy's own, which lives for ever */
} Value;

struct DlStraight {
    DlMachine *machine; /* borrowed from the step */
    int n_made, n_values, n_outputs;
    const DlAllocStep *made[MOST_ARRAYS]; /* borrowed from the program */
    Value *values, outputs[MOST_OUTPUTS];
    int n_written, written[MOST_WRITTEN]; /* values that are inputs and written */
    npy_intp *words;    /* owned */
    int *first;         /* the first word of each value */
    int loops;          /* and of the NumPy loops that the code calls */
    int asks;           /* whether sizes, and NumPy's buffers, are to be looked at */
    char saved[MOST_WRITTEN][SMALL_BYTES]; /* what these held */
};

static char scratch[MOST_SCRATCH] __attribute__((aligned(DL_SCRATCH_ALIGNMENT)));

/* ---- building ---- */

/* Whether the steps are allocations and then such a loop; the loop, or NULL. */
static DlLoopStep *
find_loop(const DlProgram *program)
{
    const DlScalars *table = &program->numbers;
    int last = program->n_steps - 1;
    if (last < 0 || program->steps[last].kind != DL_STEP_LOOP || program->n_written > MOST_WRITTEN
        || program->n_blocks != 0 || program->body != NULL || program->n_outputs > MOST_OUTPUTS
        || program->n_early != table->n_instrs || table->n_values > MOST_NUMBERS) {
        return NULL;
    }
    int n_made = 0;
    for (int i = 0; i < last; i++) {
        const DlAllocStep *step = &program->steps[i].alloc;
        if (program->steps[i].kind == DL_STEP_SAVE || program->steps[i].kind == DL_STEP_VIEW) { /* a view that is saved */
            continue;
        }
        if (program->steps[i].kind != DL_STEP_ALLOC || n_made++ == MOST_ARRAYS || step->n_like != 0 || step->fortran || step->shape.n == 0
            || (step->filled && step->fill.kind != DL_FROM_CELL)) {
            return NULL;
        }
    }
    DlLoopStep *loop = &program->steps[last].loop;
    for (int32_t i = 0; i < table->n_loads; i++) {
        int known = table->loads[i].input >= 0;
        for (int k = 0; k < loop->yields.n; k++) {
            known |= loop->yields.values[k] == table->loads[i].value;
        }
        if (!known) {
            return NULL;
        }
    }
    const int32_t bounds[] = {loop->start, loop->stop, loop->by};
    for (int i = 0; i < 3; i++) {
        if (!table->constant[bounds[i]] || table->initial[bounds[i]].i != (i > 0)) {
            return NULL; /* not range(0, 1, 1) */
        }
    }
    int whole = loop->machine != NULL && !loop->leaves && loop->pausing.n == 0
                && loop->body->body->n_numbers == loop->yields.n && !loop->body->body->has_condition;
    return whole && dl_machine_is_simple(loop->machine) ? loop : NULL;
}

/* Where a register's array comes from. */
static From
find_source(const DlProgram *program, const DlStraight *self, int reg, int *index)
{
    *index = reg;
    if (reg < program->n_inputs) {
        return FROM_INPUT;
    }
    for (int i = 0; i < self->n_made; i++) {
        if (self->made[i]->dst == reg) {
            *index = i;
            return FROM_MADE;
        }
    }
    return FROM_NOWHERE;
}

/* What goes into the code; whether it is known where from. */
static int
find_values(DlStraight *self, const DlProgram *program, const DlLoopStep *loop, const int *first)
{
    for (int i = 0; i < loop->n_operands; i++) {
        const DlOperand *operand = &loop->operands[i];
        Value *value = &self->values[i];
        value->word = first[i];
        if (i < loop->n_carried && dl_machine_ndim(loop->machine, i) < 1) { /* the code begins with it and hands on another */
            value->from = FROM_NOWHERE;
            continue;
        }
        if (operand->kind != DL_FROM_REG) {
            value->from = FROM_NUMBER;
            value->index = operand->index;
            continue;
        }
        value->from = find_source(program, self, operand->index, &value->index);
        value->nd = dl_machine_ndim(loop->machine, i);
        value->descr = dl_machine_descr(loop->machine, i);
        if (value->from == FROM_NOWHERE || value->descr == NULL || (value->from == FROM_MADE && value->nd < 1)) {
            return 0;
        }
    }
    for (int i = 0; i < loop->body->n_written; i++) {
        int place = loop->body->written[i] - 1;
        if (self->values[place].from != FROM_MADE) {
            if (self->values[place].from != FROM_INPUT || self->n_written == MOST_WRITTEN) {
                return 0;
            }
            self->written[self->n_written++] = place;
        }
    }
    return self->n_written == program->n_written;
}

/* What comes out; whether it is known where from. */
static int
find_outputs(DlStraight *self, const DlProgram *program, const DlLoopStep *loop, const int *first)
{
    for (int i = 0; i < program->n_outputs; i++) {
        const DlOperand *output = &program->outputs[i];
        Value *value = &self->outputs[i];
        value->index = i;
        if (output->kind != DL_FROM_REG) {
            value->from = output->kind == DL_FROM_NUMBER ? FROM_NUMBER : FROM_CONSTANT;
            value->index = output->kind == DL_FROM_NUMBER ? output->index : i;
            for (int k = 0; k < loop->yields.n && value->from == FROM_NUMBER; k++) {
                if (loop->yields.values[k] == output->index) {
                    value->from = FROM_YIELD;
                    value->word = first[loop->n_operands + loop->n_carried + k];
                }
            }
            continue;
        }
        value->from = find_source(program, self, output->index, &value->index);
        for (int k = 0; k < loop->n_carried && value->from == FROM_NOWHERE; k++) {
            if (loop->dsts[k] != output->index) {
                continue;
            }
            value->word = first[loop->n_operands + k];
            value->descr = dl_machine_descr(loop->machine, k);
            if (dl_machine_ndim(loop->machine, k) < 0) {
                value->from = FROM_RESULT;
            }
            else if (self->values[k].from == FROM_MADE) {
                value->from = FROM_CARRIED;
                value->index = self->values[k].index;
            }
        }
        if (value->from == FROM_NOWHERE) {
            return 0;
        }
    }
    return 1;
}

int
dl_straight_build(DlProgram *program)
{
    DlLoopStep *loop = find_loop(program);
    if (loop == NULL) {
        return 0;
    }
    int first[3 * DL_MAX_OPERANDS], n_words = dl_machine_layout(loop, first);
    DlStraight *self = dl_program_take(program, 1, sizeof *self);
    if (self == NULL) {
        return -1;
    }
    self->values = dl_program_take(program, (size_t)loop->n_operands, sizeof *self->values);
    self->words = dl_program_take(program, (size_t)n_words + 1 + MOST_LOOPS * DL_LOOP_WORDS, sizeof *self->words);
    self->first = dl_program_take(program, (size_t)loop->n_operands, sizeof *self->first);
    if (self->values == NULL || self->words == NULL || self->first == NULL) {
        return -1;
    }
    memcpy(self->first, first, (size_t)loop->n_operands * sizeof *first);
    self->machine = loop->machine;
    self->n_values = loop->n_operands;
    self->n_outputs = program->n_outputs;
    for (int i = 0; i < program->n_steps - 1; i++) {
        if (program->steps[i].kind == DL_STEP_ALLOC) {
            self->made[self->n_made++] = &program->steps[i].alloc;
        }
    }
    if (!find_values(self, program, loop, first) || !find_outputs(self, program, loop, first)) {
        return 0;
    }
    program->straight = self;
    dl_machine_fill_head(self->words);
    self->words[n_words] = (npy_intp)scratch;
    self->loops = n_words + 1;
    self->asks = dl_machine_is_simple(self->machine) == 2;
    return 0;
}

/* ---- running ---- */

/* Make an array of few elements: a new reference, or NULL without an error. */
static PyObject *
make_array(const DlAllocStep *step, const DlNumber *values)
{
    npy_intp shape[DL_MAX_DIMS], size = 1;
    for (int axis = 0; axis < step->shape.n; axis++) {
        shape[axis] = (npy_intp)values[step->shape.values[axis]].i;
        if (shape[axis] <= 0 || shape[axis] >= DL_ARRAY_SMALL || (size *= shape[axis]) >= DL_ARRAY_SMALL) {
            return NULL;
        }
    }
    PyObject *array = dl_array_try(step->descr, step->shape.n, shape, size);
    if (array != NULL && step->filled) {
        npy_intp itemsize = PyDataType_ELSIZE(step->descr);
        for (npy_intp i = 0; i < size; i++) {
            memcpy(PyArray_BYTES((PyArrayObject *)array) + i * itemsize, step->fill.cell, (size_t)itemsize);
        }
    }
    return array;
}

/* Put an array or a NumPy scalar into the block, if the code is for such a one. */
static int
fill_value(npy_intp *word, const Value *value, uint8_t class, PyObject *object)
{
    if (value->nd < 0) {
        if (Py_TYPE(object) != value->descr->typeobj) {
            return 0;
        }
        if (dl_scalar_is_direct(value->descr)) {
            memcpy(word, dl_scalar_value(object), (size_t)PyDataType_ELSIZE(value->descr));
        }
        else {
            PyArray_ScalarAsCtype(object, word);
        }
        return 1;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_NDIM(array) != value->nd || !PyArray_ISALIGNED(array)
        || (PyArray_DESCR(array) != value->descr
            && (PyArray_TYPE(array) != value->descr->type_num || !dl_numpy_plain(PyArray_DESCR(array))))) {
        return 0;
    }
    const npy_intp *shape = PyArray_DIMS(array), *strides = PyArray_STRIDES(array);
    if (class != dl_machine_class(value->nd, strides, PyDataType_ELSIZE(value->descr))) {
        return 0;
    }
    *word++ = (npy_intp)PyArray_BYTES(array);
    for (int axis = 0; axis < value->nd; axis++) {
        word[axis] = shape[axis];
        word[value->nd + axis] = strides[axis];
    }
    return 1;
}

/* The object of an output: a new reference, or NULL with an error set. */
static PyObject *
make_output(const DlProgram *program, const Value *value, PyObject *const *inputs, PyObject *const *made,
            const DlNumber *numbers)
{
    npy_intp *word = program->straight->words + value->word;
    switch (value->from) {
    case FROM_INPUT:
        return Py_NewRef(inputs[value->index]);
    case FROM_MADE:
        return Py_NewRef(made[value->index]);
    case FROM_CARRIED: {
        PyArrayObject *array = (PyArrayObject *)made[value->index];
        memcpy(PyArray_BYTES(array), (const char *)word[0], (size_t)PyArray_NBYTES(array));
        return Py_NewRef(made[value->index]);
    }
    case FROM_NUMBER:
    case FROM_YIELD:
        return dl_scalar_object(&program->numbers, value->index, numbers);
    case FROM_RESULT: /* NB: an int64 there may be wider than what the type has of it, in the first bytes */
        return dl_scalar_make(value->descr, word);
    default:
        return Py_NewRef(program->output_objects[value->index]);
    }
}

/* Save what is written, if all of it is a few bytes that nothing else shares: whether it is. */
static int
save(DlStraight *self, PyObject *const *inputs)
{
    for (int i = 0; i < self->n_written; i++) {
        PyArrayObject *array = (PyArrayObject *)inputs[self->values[self->written[i]].index];
        int flags = PyArray_FLAGS(array), wanted = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_WRITEABLE;
        if (flags < 0 || (flags & wanted) != wanted || PyArray_NBYTES(array) > SMALL_BYTES) { /* NB: < 0: it warns */
            return 0;
        }
        DlBytes bytes = dl_bytes_of_array(array);
        for (int k = 0; k < self->n_values; k++) {
            if (k != self->written[i] && self->values[k].from == FROM_INPUT && self->values[k].nd >= 0
                && dl_bytes_meet(bytes, dl_bytes_of_array((PyArrayObject *)inputs[self->values[k].index]))) {
                return 0;
            }
        }
        memcpy(self->saved[i], bytes.low, (size_t)(bytes.high - bytes.low));
    }
    return 1;
}

/* Put back what was written. */
static void
restore(const DlStraight *self, PyObject *const *inputs)
{
    for (int i = 0; i < self->n_written; i++) {
        PyArrayObject *array = (PyArrayObject *)inputs[self->values[self->written[i]].index];
        memcpy(PyArray_BYTES(array), self->saved[i], (size_t)PyArray_NBYTES(array));
    }
}

/* Fill the block and run the code: whether all was as it should be; then numbers that it yields are among `numbers`. */
static int
run_code(DlProgram *program, const DlVariant *variant, PyObject *const *inputs, PyObject *const *made, DlNumber *numbers)
{
    DlStraight *self = program->straight;
    for (int i = 0; i < self->n_values; i++) {
        const Value *value = &self->values[i];
        npy_intp *word = self->words + value->word;
        if (value->from == FROM_NUMBER) {
            memcpy(word, &numbers[value->index], sizeof *word);
        }
        else if (value->from != FROM_NOWHERE
                 && !fill_value(word, value, variant->classes[i],
                                value->from == FROM_MADE ? made[value->index] : inputs[value->index])) {
            return 0;
        }
    }
    if ((self->asks && !dl_machine_takes(self->machine, self->words, self->first, DL_SMALL_ELEMENTS)) || !save(self, inputs)) {
        return 0;
    }
    dl_machine_fill_range(self->words);
    unsigned flags = 0;
    npy_intp *word = self->words + self->loops;
    for (int i = 0; i < variant->n_loops; i++, word += DL_LOOP_WORDS) {
        memcpy(word, variant->loops + DL_LOOP_WORDS * i, DL_LOOP_WORDS * sizeof *word);
        word[DL_LOOP_FLAGS] = (npy_intp)&flags;
    }
    int done = dl_variant_try(variant, self->words, 0) && self->words[DL_WORD_OVERFLOW] == 0 && flags == 0;
    if (variant->n_loops && PyErr_Occurred()) {
        PyErr_Clear(); /* NB: as in dl_block_close */
        done = 0;
    }
    program->tries_short = done; /* NB: what has declined once will do so again, and then each call computes twice */
    for (int i = 0; i < self->n_outputs && done; i++) {
        if (self->outputs[i].from == FROM_RESULT || self->outputs[i].from == FROM_CARRIED) {
            /* NB: an object that went in is none that is made */
            done = self->words[self->outputs[i].word + DL_RESULT_ORIGIN] == 0;
        }
        if (self->outputs[i].from == FROM_YIELD) {
            memcpy(&numbers[self->outputs[i].index], &self->words[self->outputs[i].word], sizeof *numbers);
        }
    }
    if (!done) {
        restore(self, inputs);
    }
    return done;
}

int
dl_straight_is_ready(const DlProgram *program)
{
    return dl_machine_latest(program->straight->machine, program->care) != NULL;
}

int
dl_straight_run(DlProgram *program, PyObject *const *inputs, PyObject **outputs)
{
    DlStraight *self = program->straight;
    const DlVariant *variant = dl_machine_latest(self->machine, program->care);
    DlNumber numbers[MOST_NUMBERS];
    PyObject *made[MOST_ARRAYS];
    if (variant == NULL || variant->n_loops > MOST_LOOPS || variant->scratch_bytes > MOST_SCRATCH
        || dl_scalar_load_all(&program->numbers, inputs, numbers)) {
        return 0;
    }
    int n_made = 0, n = 0, done = 0;
    while (n_made < self->n_made && (made[n_made] = make_array(self->made[n_made], numbers)) != NULL) {
        n_made++;
    }
    if (n_made == self->n_made && run_code(program, variant, inputs, made, numbers)) {
        while (n < self->n_outputs && (outputs[n] = make_output(program, &self->outputs[n], inputs, made, numbers)) != NULL) {
            n++;
        }
        done = n == self->n_outputs;
        if (!done) {
            restore(self, inputs);
            PyErr_Clear(); /* the long way says what happens */
        }
    }
    while (!done && n > 0) {
        n--; /* NB: CPython 3.11's Py_CLEAR evaluates its argument twice */
        Py_CLEAR(outputs[n]);
    }
    for (int i = 0; i < n_made; i++) {
        Py_DECREF(made[i]);
    }
    return done;
}
