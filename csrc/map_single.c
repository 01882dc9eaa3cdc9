/* Programs of one map over small packed arrays: the short way from inputs to outputs, without registers. */
#include "program.h"
#include "maps.h"

#include "fpflags.h"
#include "kernel_code.h"

enum { SMALL_SCRATCH = 256, SMALL = 4096 }; /* bytes that are taken from the C stack; elements */

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

int
dl_single_fits(const DlProgram *program)
{
    const DlScalars *table = &program->numbers;
    if (program->n_steps != 1 || program->steps[0].kind != DL_STEP_MAP || program->n_constants != 0
        || program->n_written != 0 || program->n_blocks != 0 || program->body != NULL || table->n_instrs != 0) {
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
    for (int i = 0; i < step->kernel.n_operands; i++) {
        const DlOperand *operand = &step->operands[i];
        if (operand->kind == DL_FROM_NUMBER || (operand->kind == DL_FROM_REG && operand->index >= program->n_inputs)) {
            return 0;
        }
    }
    for (int32_t i = 0; i < table->n_loads; i++) {
        if (table->loads[i].input < 0 || table->loads[i].axis < 0) {
            return 0;
        }
    }
    for (int axis = 0; axis < step->shape.n; axis++) {
        if (!is_size_of(program, step, step->shape.values[axis], axis)) {
            return 0;
        }
    }
    return 1;
}

/* Whether array has the shape that is wanted: that of the first operand, or the constants of the map's. */
static inline int
has_shape(const DlProgram *program, const DlMapStep *step, PyArrayObject *array, const npy_intp *shape)
{
    const DlScalars *table = &program->numbers;
    for (int axis = 0; axis < step->shape.n; axis++) {
        int32_t value = step->shape.values[axis];
        npy_intp size = PyArray_DIM(array, axis);
        if (size != shape[axis] || (table->constant[value] && size != table->initial[value].i)) {
            return 0;
        }
    }
    return 1;
}

int
dl_single_run(DlProgram *program, PyObject *const *inputs, PyObject **outputs)
{
    enum { WANTED = NPY_ARRAY_C_CONTIGUOUS | NPY_ARRAY_ALIGNED };
    DlMapStep *step = &program->steps[0].map;
    DlKernel *kernel = &step->kernel;
    DlVariant *variant = step->dense;
    if (variant == NULL || variant->care != (kernel->care | program->care) || variant->n_loops != 0
        || variant->scratch_bytes > SMALL_SCRATCH) {
        return 0;
    }
    npy_intp words[DL_PLACE_WORDS * DL_MAX_OPERANDS + 1], size = 1;
    const npy_intp *shape = NULL;
    int nd = step->shape.n, n_operands = kernel->n_operands, n = n_operands + kernel->n_results;
    for (int i = 0; i < n_operands; i++) {
        DlOperand *operand = &step->operands[i];
        int is_cell = operand->kind == DL_FROM_CELL;
        if (variant->classes[i] != is_cell) {
            return 0;
        }
        words[dl_word_stride(i)] = 0;
        words[dl_word_pointer(i)] = (npy_intp)operand->cell;
        if (is_cell) {
            continue;
        }
        PyArrayObject *array = (PyArrayObject *)inputs[operand->index];
        if (!PyArray_CheckExact(array) || PyArray_DESCR(array) != kernel->descrs[i] || PyArray_NDIM(array) != nd
            || (PyArray_FLAGS(array) & WANTED) != WANTED) {
            return 0;
        }
        shape = shape ? shape : PyArray_DIMS(array);
        if (!has_shape(program, step, array, shape)) {
            return 0;
        }
        words[dl_word_stride(i)] = PyDataType_ELSIZE(kernel->descrs[i]);
        words[dl_word_pointer(i)] = (npy_intp)PyArray_BYTES(array);
    }
    for (int axis = 0; shape != NULL && axis < nd; axis++) {
        size *= shape[axis];
    }
    if (shape == NULL || size == 0 || size >= SMALL) {
        return 0;
    }
    int made = 0, failed = 0;
    for (; made < kernel->n_results && !failed; made++) {
        PyArray_Descr *descr = kernel->descrs[n_operands + made];
        Py_INCREF(descr);
        outputs[made] = PyArray_NewFromDescr(&PyArray_Type, descr, nd, shape, NULL, NULL, 0, NULL);
        if (outputs[made] == NULL) {
            PyErr_Clear(); /* the long way says what happens */
            failed = 1;
            break;
        }
        words[dl_word_stride(n_operands + made)] = PyDataType_ELSIZE(descr);
        words[dl_word_pointer(n_operands + made)] = (npy_intp)PyArray_BYTES((PyArrayObject *)outputs[made]);
    }
    if (!failed) {
        char scratch[SMALL_SCRATCH] __attribute__((aligned(DL_SCRATCH_ALIGNMENT)));
        words[dl_word_scratch(n)] = (npy_intp)scratch;
        unsigned before = dl_fp_get();
        if (before != 0) {
            dl_fp_set(0);
        }
        failed = variant->address(words, size) != 0;
        unsigned raised = dl_fp_get();
        failed |= raised != 0;
        if (raised != before) {
            dl_fp_set(before);
        }
        program->single = !failed; /* NB: what has set a flag once will do so again, and then each call computes twice */
    }
    for (int i = 0; failed && i < made; i++) {
        Py_CLEAR(outputs[i]);
    }
    return !failed;
}
