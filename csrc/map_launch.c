/* Call a kernel's code over an ordered nest, and hand on what it has made (kernel_map.c, map_plan.c). */
#include "program.h"

#include <stdatomic.h>

#include "kernel_code.h"

/* Part of a nest: `n` indices of an axis from `start` on, and all of the others. */
typedef struct {
    int axis;
    npy_intp start, n;
} Part;

/* Call the kernel for every index of the axes that it does not go through itself; its statuses, joined. behind: the words
 * for code that goes through rows. */
static int32_t
run_nest(const DlNest *nest, const DlVariant *variant, const Part *part, npy_intp *block, npy_intp *behind)
{
    int inner = nest->nd - 1, own = variant->rows ? inner - 1 : inner; /* the outermost axis that the code goes through */
    npy_intp shape[DL_MAX_DIMS], at[DL_MAX_DIMS] = {0};
    memcpy(shape, nest->shape, (size_t)nest->nd * sizeof *shape);
    shape[part->axis] = part->n;
    for (int i = 0; i < nest->n_operands; i++) {
        block[dl_word_pointer(i)] = (npy_intp)nest->spread[i].data;
        block[dl_word_stride(i)] = nest->spread[i].strides[inner];
    }
    for (int i = 0; part->start > 0 && i < nest->n_operands; i++) { /* NB: not where addresses are those of a table */
        block[dl_word_pointer(i)] += part->start * nest->spread[i].strides[part->axis];
    }
    if (variant->rows) {
        behind[DL_ROWS_COUNT] = shape[own];
        for (int i = 0; i < nest->n_operands; i++) {
            behind[DL_ROWS_STEPS + i] = nest->spread[i].strides[own];
        }
    }
    int32_t status = 0;
    for (;;) {
        status |= variant->address(block, shape[inner]);
        if (status & DL_RETURNED_FAILED) {
            return status;
        }
        int axis = own - 1;
        for (; axis >= 0; axis--) {
            if (++at[axis] < shape[axis]) {
                for (int i = 0; i < nest->n_operands; i++) {
                    block[dl_word_pointer(i)] += nest->spread[i].strides[axis];
                }
                break;
            }
            at[axis] = 0;
            for (int i = 0; i < nest->n_operands; i++) {
                block[dl_word_pointer(i)] -= nest->spread[i].strides[axis] * (shape[axis] - 1);
            }
        }
        if (axis < 0) {
            return status;
        }
    }
}

/* A launch that threads may share. */
typedef struct {
    const DlNest *nest;
    const DlVariant *variant;
    DlBlock *blocks; /* one a thread */
    int axis, n_parts;
    npy_intp few;    /* indices of a part */
    atomic_int failed;
} Launch;

/* Cut along the outermost axis that is long enough, or else the longest. */
static void
cut(Launch *launch)
{
    enum { LONG = 16, LEAST = 2048, VECTORS = 64 }; /* indices; elements of a part; of the innermost axis at a time */
    const DlNest *nest = launch->nest;
    int axis = 0, inner = nest->nd - 1;
    for (; axis < nest->nd && nest->shape[axis] < LONG; axis++) {
    }
    for (int i = axis = axis < nest->nd ? axis : 0; nest->shape[axis] < LONG && i < nest->nd; i++) {
        axis = nest->shape[i] > nest->shape[axis] ? i : axis;
    }
    npy_intp others = nest->size / nest->shape[axis];
    launch->axis = axis;
    launch->n_parts = dl_threads_cut(nest->shape[axis], axis == inner ? VECTORS : 1, (LEAST + others - 1) / others, &launch->few);
}

static void
run_part(void *work, int number, int thread)
{
    Launch *launch = work;
    Part part = {launch->axis, 0, launch->nest->shape[launch->axis]};
    if (number != DL_ALL_PARTS) {
        npy_intp rest = part.n - number * launch->few;
        part.start = number * launch->few;
        part.n = rest < launch->few ? rest : launch->few;
    }
    DlBlock *block = &launch->blocks[thread];
    int32_t failed = run_nest(launch->nest, launch->variant, &part, block->block, block->behind);
    if (failed) {
        atomic_fetch_or(&launch->failed, failed);
    }
}

DlStatus
dl_map_launch(DlRun *run, const DlNest *nest, DlVariant *variant, const DlIterations *iterations)
{
    Launch launch = {.nest = nest, .variant = variant};
    DlShare share = {.threads = 1};
    DlBlock one;
    npy_intp times = iterations ? iterations->n : 1;
    double guess = variant->guess * (double)nest->size * (double)times;
    if (guess >= dl_threads_least && !variant->one_thread && !(iterations && iterations->row_bytes)) {
        cut(&launch);
        if (launch.n_parts > 1) {
            dl_threads_open(&share, &variant->trials, nest->size, guess, times, run->outermost->program->num_threads);
        }
    }
    if (share.threads > 1) {
        launch.blocks = dl_blocks_open(share.threads, variant, nest->n_operands, iterations);
    }
    else if (dl_block_open(&one, variant, nest->n_operands, iterations) == 0) {
        launch.blocks = &one;
    }
    if (launch.blocks == NULL) {
        dl_threads_close(&share);
        return -1;
    }
    if (nest->size >= DL_RELEASE_GIL && !variant->needs_gil && !run->keep_gil) {
        Py_BEGIN_ALLOW_THREADS
        dl_threads_run(&share, run_part, &launch, launch.n_parts);
        Py_END_ALLOW_THREADS
    }
    else {
        dl_threads_run(&share, run_part, &launch, launch.n_parts);
    }
    dl_threads_close(&share);
    if (launch.blocks == &one) {
        return dl_block_close(&one, run, variant, launch.failed);
    }
    return dl_blocks_close(launch.blocks, share.threads, run, variant, launch.failed);
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
