/* Maps of packed arrays and single numbers into fresh arrays: the short way, without a loop nest. */
#include "program.h"
#include "maps.h"

#include "kernel_code.h"

enum { SMALL_SCRATCH = 256, SMALL = 4096 }; /* bytes that are taken from the C stack; elements that no threads share */

/* Where operand number i lies, and its stride in a single loop; NULL when it is neither packed over `like`'s shape nor a
 * single number. *like: the first array among the operands. */
static inline char *
dense_operand(DlRun *run, DlMapStep *step, int i, char *cell, const DlReg **like, npy_intp *stride)
{
    DlOperand *operand = &step->operands[i];
    PyArray_Descr *descr = step->kernel.descrs[i];
    *stride = 0;
    if (operand->kind == DL_FROM_CELL) {
        return operand->cell;
    }
    if (operand->kind == DL_FROM_NUMBER) {
        return dl_cell_fill(run, operand->index, descr, cell) ? NULL : cell;
    }
    DlReg *reg = &run->regs[operand->index];
    if (reg->kind == DL_SCALAR && reg->descr->type_num == descr->type_num) {
        return dl_reg_cell(reg);
    }
    int nd = step->shape.n;
    if (reg->kind != DL_ARRAY || reg->nd != nd || reg->descr->type_num != descr->type_num) {
        return NULL;
    }
    for (int axis = 0; axis < nd; axis++) {
        if (reg->shape[axis] != dl_dims_at(run, &step->shape, axis)) {
            return NULL;
        }
    }
    *stride = PyDataType_ELSIZE(descr);
    *like = *like ? *like : reg;
    return dl_reg_is_packed(reg) ? reg->data : NULL;
}

/* Call the code as for any nest, here of one axis. */
static DlStatus
launch_big(DlRun *run, DlVariant *variant, const npy_intp *words, int n, npy_intp size)
{
    DlNest nest;
    nest.n_operands = n;
    nest.nd = 1;
    nest.size = nest.shape[0] = size;
    for (int i = 0; i < n; i++) {
        nest.spread[i].data = (char *)words[dl_word_pointer(i)];
        nest.spread[i].strides[0] = words[dl_word_stride(i)];
    }
    return dl_map_launch(run, &nest, variant, NULL);
}

/* Call the code on a block that is filled up to its scratch. */
static DlStatus
run_dense(DlRun *run, DlVariant *variant, npy_intp *words, int n, npy_intp size)
{
    int32_t failed;
    if (size >= SMALL && (size >= DL_RELEASE_GIL || variant->guess * (double)size >= dl_threads_least)) {
        return launch_big(run, variant, words, n, size);
    }
    if (variant->n_loops == 0 && variant->scratch_bytes <= SMALL_SCRATCH) {
        char scratch[SMALL_SCRATCH] __attribute__((aligned(DL_SCRATCH_ALIGNMENT)));
        words[dl_word_scratch(n)] = (npy_intp)scratch;
        failed = variant->address(words, size);
        return failed ? dl_kernel_failed(run, variant, failed) : 0;
    }
    DlBlock block;
    if (dl_block_open(&block, variant, n, NULL) < 0) {
        return -1;
    }
    memcpy(block.block, words, (size_t)dl_word_scratch(n) * sizeof *words);
    failed = variant->address(block.block, size);
    return dl_block_close(&block, run, variant, failed);
}

/* Whether code is for these operands: the same ones are arrays. */
static inline int
suits(const DlVariant *variant, const npy_intp *words, int n_operands)
{
    for (int i = 0; i < n_operands; i++) {
        if (variant->classes[i] != (words[dl_word_stride(i)] == 0)) {
            return 0;
        }
    }
    return 1;
}

/* Find or compile the code for the operands in `words`. */
static DlStatus
find_dense(DlRun *run, DlMapStep *step, const npy_intp *words)
{
    uint8_t classes[DL_MAX_OPERANDS] = {0};
    for (int i = 0; i < step->kernel.n_operands; i++) {
        classes[i] = words[dl_word_stride(i)] == 0;
    }
    DlVariant *variant;
    DlStatus status = dl_kernel_variant(run, &step->kernel, classes, 0, &variant);
    if (status == 0) {
        step->dense = variant;
    }
    return status;
}

DlStatus
dl_map_dense(DlRun *run, DlMapStep *step)
{
    DlKernel *kernel = &step->kernel;
    npy_intp words[DL_PLACE_WORDS * DL_MAX_OPERANDS + 1], size = 1;
    double cells[DL_MAX_OPERANDS][DL_CELL / sizeof(double)];
    const DlReg *like = NULL;
    for (int i = 0; i < kernel->n_operands; i++) {
        char *data = dense_operand(run, step, i, (char *)cells[i], &like, &words[dl_word_stride(i)]);
        if (data == NULL) {
            return 2;
        }
        words[dl_word_pointer(i)] = (npy_intp)data;
    }
    int nd = step->shape.n;
    if (like == NULL && nd != 0) {
        return 2;
    }
    for (int axis = 0; axis < nd; axis++) {
        size *= like->shape[axis];
    }
    if (size == 0) {
        return 2; /* NB: strides of empty results follow other rules */
    }
    int n = kernel->n_operands + kernel->n_results;
    if (step->dense == NULL || step->dense->care != dl_kernel_care(run, kernel)
        || !suits(step->dense, words, kernel->n_operands)) {
        DlStatus status = find_dense(run, step, words);
        if (status != 0) {
            return status;
        }
    }
    PyObject *fresh[DL_MAX_OPERANDS];
    DlStatus status = 0;
    int made = 0;
    for (; made < kernel->n_results; made++) {
        int i = kernel->n_operands + made;
        PyArray_Descr *descr = kernel->descrs[i];
        words[dl_word_stride(i)] = PyDataType_ELSIZE(descr);
        fresh[made] = NULL;
        if (step->scalar[made]) {
            words[dl_word_pointer(i)] = (npy_intp)run->regs[step->outs[made]].cell.bytes;
            continue;
        }
        fresh[made] = dl_pool_array(run, descr, nd, nd ? like->shape : NULL, NULL);
        if (fresh[made] == NULL) {
            status = -1;
            break;
        }
        words[dl_word_pointer(i)] = (npy_intp)PyArray_BYTES((PyArrayObject *)fresh[made]);
    }
    if (status == 0) {
        status = run_dense(run, step->dense, words, n, size);
    }
    if (status == 0) {
        dl_map_take_results(run, step, fresh);
    }
    for (int i = 0; i < made; i++) {
        Py_XDECREF(fresh[i]);
    }
    return status;
}
