/* Call a kernel's code over an ordered nest, and hand on what it has made (kernel_map.c, map_plan.c). */
#include "program.h"

#include "kernel_code.h"
#include "memory.h"

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
