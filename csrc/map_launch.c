/* Call a kernel's code over an ordered nest, and hand on what it has made (kernel_map.c, map_plan.c). */
#include "program.h"

#include "kernel_code.h"

/* Call the kernel for every index of the axes that it does not go through itself; its status. behind: the words for
 * code that goes through rows. */
static int32_t
run_nest(const DlNest *nest, const DlVariant *variant, npy_intp *block, npy_intp *behind)
{
    int inner = nest->nd - 1, own = variant->rows ? inner - 1 : inner; /* the outermost axis that the code goes through */
    for (int i = 0; i < nest->n_operands; i++) {
        block[dl_word_pointer(i)] = (npy_intp)nest->spread[i].data;
        block[dl_word_stride(i)] = nest->spread[i].strides[inner];
    }
    if (variant->rows) {
        behind[DL_ROWS_COUNT] = nest->shape[own];
        for (int i = 0; i < nest->n_operands; i++) {
            behind[DL_ROWS_STEPS + i] = nest->spread[i].strides[own];
        }
    }
    if (own == 0) {
        return variant->address(block, nest->shape[inner]);
    }
    npy_intp at[DL_MAX_DIMS] = {0};
    for (;;) {
        int32_t status = variant->address(block, nest->shape[inner]);
        if (status != 0) {
            return status;
        }
        int axis = own - 1;
        for (; axis >= 0; axis--) {
            if (++at[axis] < nest->shape[axis]) {
                for (int i = 0; i < nest->n_operands; i++) {
                    block[dl_word_pointer(i)] += nest->spread[i].strides[axis];
                }
                break;
            }
            at[axis] = 0;
            for (int i = 0; i < nest->n_operands; i++) {
                block[dl_word_pointer(i)] -= nest->spread[i].strides[axis] * (nest->shape[axis] - 1);
            }
        }
        if (axis < 0) {
            return 0;
        }
    }
}

DlStatus
dl_map_launch(DlRun *run, const DlNest *nest, DlVariant *variant, const DlIterations *iterations)
{
    DlBlock block;
    if (dl_block_open(&block, variant, nest->n_operands, iterations) < 0) {
        return -1;
    }
    int32_t failed;
    if (nest->size >= DL_RELEASE_GIL && !variant->needs_gil && !run->keep_gil) {
        Py_BEGIN_ALLOW_THREADS
        failed = run_nest(nest, variant, block.block, block.behind);
        Py_END_ALLOW_THREADS
    }
    else {
        failed = run_nest(nest, variant, block.block, block.behind);
    }
    return dl_block_close(&block, run, variant, failed);
}

void
dl_map_take_results(DlRun *run, const DlMapStep *step, PyObject **fresh)
{
    for (int i = 0; i < step->kernel.n_results; i++) {
        DlReg *reg = &run->regs[step->outs[i]];
        if (fresh[i] != NULL) {
            dl_reg_take_fresh(reg, fresh[i]);
            fresh[i] = NULL;
        }
        else if (step->scalar[i]) {
            reg->kind = DL_SCALAR;
            reg->object = NULL;
            reg->nd = 0;
            reg->descr = step->kernel.descrs[step->kernel.n_operands + i];
            reg->data = reg->cell.bytes;
        }
    }
}
