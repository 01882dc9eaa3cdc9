/* Call a kernel's code over an ordered nest, and hand on what it has made (kernel_map.c, map_plan.c). */
#include "program/program.h"
#include "maps.h"

#include <stdatomic.h>

#include "kernel_code.h"
#include "memory/memory.h"

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
    for (int i = 0; i < nest->n_operands; i++) {
        block[dl_word_pointer(i)] = (npy_intp)nest->spread[i].data;
        block[dl_word_stride(i)] = nest->spread[i].strides[inner];
    }
    for (int i = 0; part->start > 0 && i < nest->n_operands; i++) { /* NB: not where addresses are those of a table */
        block[dl_word_pointer(i)] += part->start * nest->spread[i].strides[part->axis];
    }
    if (nest->nd == 1) {
        return variant->address(block, part->n);
    }
    npy_intp shape[DL_MAX_DIMS], at[DL_MAX_DIMS] = {0};
    memcpy(shape, nest->shape, (size_t)nest->nd * sizeof *shape);
    shape[part->axis] = part->n;
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
    dl_kernel_ran(variant, (double)nest->size * (double)times);
    if (guess < dl_threads_least && nest->size < DL_RELEASE_GIL) { /* small: neither threads nor others have a say */
        Part all = {0, 0, nest->shape[0]};
        return dl_block_open(&one, variant, nest->n_operands, iterations) < 0
                   ? -1
                   : dl_block_close(&one, run, variant, run_nest(nest, variant, &all, one.block, one.behind));
    }
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

/* ---- rows of a few elements ----
 *
 * In rows as short as those of points in space or of colours most lanes of a vector are idle, and where a kernel works in
 * place, what it stores for one row cannot be forwarded to the load of the next. Where the results lie packed, such rows
 * run as one long one, some thousand elements at a time; what is one for a row, or one row for all, is packed for them. */

enum { SHORT_ROW = 8, FEWEST_ROWS = 32, MERGED_ELEMENTS = 1536 }; /* the latter a multiple of most row lengths */

static inline int
is_packed_short(const DlSpread *spread, npy_intp row)
{
    return spread->strides[1] == spread->itemsize && spread->strides[0] == row * spread->itemsize;
}

static inline int
needs_packing(const DlSpread *spread, npy_intp row)
{
    return (spread->strides[0] != 0 || spread->strides[1] != 0) && !is_packed_short(spread, row);
}

int
dl_map_merges_rows(const DlNest *nest, int first_result)
{
    if (nest->nd != 2 || nest->shape[1] > SHORT_ROW || nest->shape[0] < FEWEST_ROWS) {
        return 0;
    }
    for (int i = 0; i < nest->n_operands; i++) {
        const DlSpread *spread = &nest->spread[i];
        npy_intp size = spread->itemsize;
        if (is_packed_short(spread, nest->shape[1])) {
            continue;
        }
        /* NB: rows that lie apart and are read once are left alone: packing them costs what it saves. */
        int repeats = spread->strides[0] == 0 || spread->strides[1] == 0;
        if (i >= first_result || !repeats || size > 16 || (size & (size - 1)) != 0) {
            return 0;
        }
    }
    return 1;
}

/* Copy `rows` rows of `row` elements of `size` bytes to where they lie packed; constants where it is called. */
static inline void
pack_rows(char *to, const char *from, npy_intp rows, npy_intp row, npy_intp step, npy_intp stride, size_t size)
{
    for (npy_intp i = 0; i < rows; i++, from += step) {
        for (npy_intp j = 0; j < row; j++, to += size) {
            memcpy(to, from + j * stride, size);
        }
    }
}

static void
pack_spread(char *to, const DlSpread *spread, const char *from, npy_intp rows, npy_intp row)
{
    npy_intp step = spread->strides[0], stride = spread->strides[1];
#define PACK(size)                                                                                                      \
    case size:                                                                                                          \
        if (row == 3 && stride == 0) {                                                                                  \
            pack_rows(to, from, rows, 3, step, 0, size);                                                                \
        }                                                                                                               \
        else {                                                                                                          \
            pack_rows(to, from, rows, row, step, stride, size);                                                         \
        }                                                                                                               \
        break
    switch (spread->itemsize) {
        PACK(1);
        PACK(2);
        PACK(4);
        PACK(8);
        PACK(16);
    }
#undef PACK
}

/* Call code for packed arrays on some rows after the others; its status. buffers: room for what is packed for it. */
static int32_t
run_merged(const DlNest *nest, const DlVariant *variant, npy_intp *block, char *buffers)
{
    npy_intp row = nest->shape[1], most = MERGED_ELEMENTS / row;
    for (npy_intp first = 0; first < nest->shape[0]; first += most) {
        npy_intp rows = nest->shape[0] - first < most ? nest->shape[0] - first : most;
        char *buffer = buffers;
        for (int i = 0; i < nest->n_operands; i++) {
            const DlSpread *spread = &nest->spread[i];
            char *data = spread->data + first * spread->strides[0];
            if (needs_packing(spread, row)) {
                if (first == 0 || spread->strides[0] != 0) {
                    pack_spread(buffer, spread, data, rows, row);
                }
                data = buffer;
                buffer += most * row * spread->itemsize;
            }
            block[dl_word_pointer(i)] = (npy_intp)data;
            block[dl_word_stride(i)] = spread->strides[0] == 0 && spread->strides[1] == 0 ? 0 : spread->itemsize;
        }
        int32_t status = variant->address(block, rows * row);
        if (status != 0) {
            return status;
        }
    }
    return 0;
}

DlStatus
dl_map_launch_merged(DlRun *run, const DlNest *nest, DlVariant *variant)
{
    DlBlock block;
    dl_kernel_ran(variant, (double)nest->size);
    size_t bytes = 0;
    for (int i = 0; i < nest->n_operands; i++) {
        bytes += (size_t)(needs_packing(&nest->spread[i], nest->shape[1]) ? nest->spread[i].itemsize : 0);
    }
    char *buffers = dl_memory_take((bytes ? bytes : 1) * MERGED_ELEMENTS);
    if (buffers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (dl_block_open(&block, variant, nest->n_operands, NULL) < 0) {
        dl_memory_give(buffers);
        return -1;
    }
    int32_t failed;
    if (nest->size >= DL_RELEASE_GIL && !variant->needs_gil && !run->keep_gil) {
        Py_BEGIN_ALLOW_THREADS
        failed = run_merged(nest, variant, block.block, buffers);
        Py_END_ALLOW_THREADS
    }
    else {
        failed = run_merged(nest, variant, block.block, buffers);
    }
    dl_memory_give(buffers);
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
