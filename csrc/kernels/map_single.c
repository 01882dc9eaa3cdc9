/* Programs of one map over small packed arrays: the short way from inputs to outputs, without registers.
 *
 * What does not change from one run to the next is prepared once: the block that the kernel's code takes, but for the
 * addresses of arrays. INVARIANT: the GIL is held and no Python code runs from where the block is filled to where the kernel
 * returns, so that one block is enough.
 */
#include "program/program.h"
#include "maps.h"

#include "memory/arrays.h"
#include "kernel_code.h"

enum { SMALL_SCRATCH = 256, SMALL = DL_ARRAY_SMALL, MOST_NUMBERS = 32 }; /* bytes; elements; values of the table */

typedef struct {
    int32_t input;        /* of an array; of a number: its place in the table */
    int32_t place;        /* among operands and results */
    PyArray_Descr *descr; /* borrowed from the kernel */
} Operand;

struct DlSingle {
    DlVariant *variant; /* the code for which all is prepared (borrowed from the kernel), or NULL */
    int nd, n_arrays, n_numbers, n_results, n_fixed;
    Operand arrays[DL_MAX_OPERANDS], numbers[DL_MAX_OPERANDS], results[DL_MAX_OPERANDS];
    struct {
        int axis;
        npy_intp size;
    } fixed[DL_MAX_DIMS]; /* sizes that are constants */
    npy_intp words[DL_PLACE_WORDS * DL_MAX_OPERANDS + 1];
    double cells[DL_MAX_OPERANDS][DL_CELL / sizeof(double)]; /* of numbers, as operands */
    char scratch[SMALL_SCRATCH] __attribute__((aligned(DL_SCRATCH_ALIGNMENT)));
};

/* Whether number `value` of the table is the size of an operand's axis, or a constant. */
static int
is_size_of(const DlProgram *program, const DlMapStep *step, int32_t value, int axis)
{
    const DlScalars *table = &program->numbers;
    for (int32_t i = 0; i < table->n_loads; i++) {
        const DlScalarLoad *load = &table->loads[i];
        if (load->value != value) {
            continue;
        }
        for (int k = 0; k < step->kernel.n_operands; k++) {
            const DlOperand *operand = &step->operands[k];
            if (operand->kind == DL_FROM_REG && operand->index == load->input && load->axis == axis) {
                return 1;
            }
        }
        return 0;
    }
    return table->constant[value];
}

/* Whether a program is one map whose arrays are its inputs and outputs. */
static int
fits(const DlProgram *program)
{
    const DlScalars *table = &program->numbers;
    if (program->n_steps != 1 || program->steps[0].kind != DL_STEP_MAP || program->n_constants != 0
        || program->n_written != 0 || program->n_blocks != 0 || program->body != NULL
        || program->n_early != table->n_instrs || table->n_values > MOST_NUMBERS) {
        return 0;
    }
    const DlMapStep *step = &program->steps[0].map;
    if (!step->quick || step->shape.n == 0 || step->kernel.n_results != program->n_outputs) {
        return 0;
    }
    for (int i = 0; i < program->n_outputs; i++) {
        if (program->outputs[i].kind != DL_FROM_REG || program->outputs[i].index != step->outs[i]) {
            return 0;
        }
    }
    int n_arrays = 0;
    for (int i = 0; i < step->kernel.n_operands; i++) {
        const DlOperand *operand = &step->operands[i];
        if (operand->kind == DL_FROM_REG && operand->index >= program->n_inputs) {
            return 0;
        }
        n_arrays += operand->kind == DL_FROM_REG;
    }
    for (int32_t i = 0; i < table->n_loads; i++) {
        if (table->loads[i].input < 0) {
            return 0;
        }
    }
    for (int axis = 0; axis < step->shape.n; axis++) {
        if (!is_size_of(program, step, step->shape.values[axis], axis)) {
            return 0;
        }
    }
    return n_arrays > 0;
}

int
dl_single_build(DlProgram *program)
{
    if (!fits(program)) {
        return 0;
    }
    DlSingle *single = dl_program_take(program, 1, sizeof *single);
    if (single == NULL) {
        return -1;
    }
    const DlMapStep *step = &program->steps[0].map;
    const DlKernel *kernel = &step->kernel;
    const DlScalars *table = &program->numbers;
    single->nd = step->shape.n;
    single->n_results = kernel->n_results;
    for (int axis = 0; axis < single->nd; axis++) {
        int32_t value = step->shape.values[axis];
        if (table->constant[value]) {
            single->fixed[single->n_fixed].axis = axis;
            single->fixed[single->n_fixed++].size = (npy_intp)table->initial[value].i;
        }
    }
    for (int i = 0; i < kernel->n_operands; i++) {
        const DlOperand *operand = &step->operands[i];
        Operand made = {operand->index, i, kernel->descrs[i]};
        if (operand->kind == DL_FROM_REG) {
            single->arrays[single->n_arrays++] = made;
            single->words[dl_word_stride(i)] = PyDataType_ELSIZE(made.descr);
            continue;
        }
        const void *cell = operand->cell;
        if (operand->kind == DL_FROM_NUMBER) {
            cell = single->cells[i];
            single->numbers[single->n_numbers++] = made;
        }
        single->words[dl_word_pointer(i)] = (npy_intp)cell;
    }
    for (int i = 0; i < kernel->n_results; i++) {
        int place = kernel->n_operands + i;
        single->results[i] = (Operand){-1, place, kernel->descrs[place]};
        single->words[dl_word_stride(place)] = PyDataType_ELSIZE(kernel->descrs[place]);
    }
    single->words[dl_word_scratch(kernel->n_operands + kernel->n_results)] = (npy_intp)single->scratch;
    program->single = single;
    return 0;
}

/* Whether the code last used for packed arrays is for just these operands; it is kept in mind. */
static int
prepare(DlSingle *single, const DlMapStep *step)
{
    DlVariant *variant = step->dense;
    single->variant = NULL;
    if (variant == NULL || variant->n_loops != 0 || variant->scratch_bytes > SMALL_SCRATCH) {
        return 0;
    }
    for (int i = 0; i < step->kernel.n_operands; i++) {
        if (variant->classes[i] != (single->words[dl_word_stride(i)] == 0)) {
            return 0;
        }
    }
    single->variant = variant;
    return 1;
}

/* Evaluate the numbers and convert those that are operands: 0, or 1 where one declines. */
static int
load_numbers(DlSingle *single, const DlScalars *table, PyObject *const *inputs)
{
    DlNumber values[MOST_NUMBERS];
    if (dl_scalar_load_all(table, inputs, values)) {
        return 1;
    }
    for (int i = 0; i < single->n_numbers; i++) {
        const Operand *number = &single->numbers[i];
        if (dl_number_fill(table, values, number->input, number->descr, (char *)single->cells[number->place])) {
            return 1;
        }
    }
    return 0;
}

/* Whether object is an aligned packed array of that dtype and shape. */
static inline int
suits(PyObject *object, const PyArray_Descr *descr, int nd, const npy_intp *shape)
{
    enum { WANTED = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED };
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_DESCR(array) != descr || PyArray_NDIM(array) != nd
        || (PyArray_FLAGS(array) & WANTED) != WANTED) {
        return 0;
    }
    const npy_intp *dims = PyArray_DIMS(array);
    for (int axis = 0; axis < nd; axis++) {
        if (dims[axis] != shape[axis]) {
            return 0;
        }
    }
    return 1;
}

int
dl_single_run(DlProgram *program, PyObject *const *inputs, PyObject **outputs)
{
    DlSingle *single = program->single;
    DlMapStep *step = &program->steps[0].map;
    if ((single->variant == NULL || single->variant != step->dense) && !prepare(single, step)) {
        return 0;
    }
    if (single->variant->care != dl_care_of(&step->kernel, program->care)) {
        return 0;
    }
    PyObject *first = inputs[single->arrays[0].input];
    if (!PyArray_CheckExact(first) || PyArray_NDIM((PyArrayObject *)first) != single->nd) {
        return 0;
    }
    const npy_intp *shape = PyArray_DIMS((PyArrayObject *)first);
    int nd = single->nd;
    npy_intp *words = single->words, size = 1;
    for (int i = 0; i < single->n_arrays; i++) {
        const Operand *operand = &single->arrays[i];
        PyObject *array = inputs[operand->input];
        if (!suits(array, operand->descr, nd, shape)) {
            return 0;
        }
        words[dl_word_pointer(operand->place)] = (npy_intp)PyArray_BYTES((PyArrayObject *)array);
    }
    for (int i = 0; i < single->n_fixed; i++) {
        if (shape[single->fixed[i].axis] != single->fixed[i].size) {
            return 0;
        }
    }
    for (int axis = 0; axis < nd; axis++) {
        if (shape[axis] >= SMALL) {
            return 0;
        }
        size *= shape[axis];
        if (size == 0 || size >= SMALL) {
            return 0;
        }
    }
    if (single->n_numbers && load_numbers(single, &program->numbers, inputs)) {
        return 0; /* the long way says what happens */
    }
    int made = 0, failed = 0;
    for (; made < single->n_results; made++) {
        const Operand *result = &single->results[made];
        PyObject *array = outputs[made] = dl_array_try(result->descr, nd, shape, size);
        if (array == NULL) {
            failed = 1; /* the long way says what happens */
            break;
        }
        words[dl_word_pointer(result->place)] = (npy_intp)PyArray_BYTES((PyArrayObject *)array);
    }
    if (!failed) {
        failed = !dl_variant_try(single->variant, words, size);
        dl_kernel_ran(single->variant, (double)size);
        program->tries_short = !failed; /* NB: what has set a flag once will do so again, and then each call computes twice */
    }
    for (int i = 0; failed && i < made; i++) {
        Py_CLEAR(outputs[i]);
    }
    return !failed;
}
