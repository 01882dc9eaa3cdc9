/* Reduce: a kernel's values folded over axes, in NumPy's own order of operations.
 *
 * The array that NumPy would reduce lies packed in memory in some order of its axes. Seen in that order, with size-1
 * axes dropped and neighbours merged that are both reduced or both kept, NumPy's order is: an innermost reduced run is
 * folded by itself (floating add: pairwise), and everything else follows one by one, run after run or row after row.
 * (tests/csrc/test_reduce.py compares with NumPy over layouts, axes and sizes.) So the kernel is evaluated on tiles that
 * fit such runs (reduce_fold.c), and its values never reach memory. Of an array that does not lie packed, where not even
 * the arithmetic is known (fold.h), or the result is unsure, NumPy's reduce is called.
 */
#include "reduce.h"
#include "maps.h"

#include "program/fpflags.h"
#include "kernel_code.h"

int
dl_reduce_plan(DlReduceStep *step, const char *ufunc)
{
    step->fold = dl_fold_find(ufunc, step->descr);
    step->same_type = step->map.kernel.descrs[step->map.kernel.n_operands]->type_num == step->descr->type_num;
    return 0;
}

/* ---- NumPy's own reduce ---- */

/* Call ufunc.reduce(operand, axes, dtype, None, keepdims). */
static DlStatus
call_numpy(DlRun *run, DlReduceStep *step, PyObject *operand)
{
    PyObject *args[6] = {NULL, operand};
    for (int i = 0; i < 4; i++) {
        args[2 + i] = PyTuple_GET_ITEM(step->args_tail, i);
    }
    DlWatch watch;
    DlStatus status = dl_world_open(run, &watch, 0);
    status = status ? status : dl_errstate_enter(run);
    if (status != 0) {
        return dl_world_close(run, &watch, status);
    }
    PyObject *result = PyObject_Vectorcall(step->reduce, args + 1, 5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    status = dl_call_done(run, result);
    if (status == 0) {
        DlReg *reg = &run->regs[step->dst];
        dl_reg_take(reg, result);
        int right = reg->kind == (step->scalar ? DL_SCALAR : DL_ARRAY) && reg->descr->type_num == step->descr->type_num;
        status = right ? 0 : dl_decline(run, DL_REASON_RESULT);
    }
    return dl_world_close(run, &watch, status);
}

/* The register that the kernel only hands through, if it holds an array of that shape; else NULL. */
static DlReg *
plain_operand(DlRun *run, const DlReduceStep *step, int nd, const npy_intp *shape)
{
    const DlKernel *kernel = &step->map.kernel;
    if (kernel->n_ops != 0 || step->map.operands[kernel->results[0]].kind != DL_FROM_REG) {
        return NULL;
    }
    DlReg *reg = &run->regs[step->map.operands[kernel->results[0]].index];
    int same = reg->kind == DL_ARRAY && reg->nd == nd && (!nd || memcmp(reg->shape, shape, (size_t)nd * sizeof *shape) == 0)
               && reg->descr->type_num == kernel->descrs[kernel->results[0]]->type_num;
    return same ? reg : NULL;
}

/* Make the kernel's values an array, unless they are one, and let NumPy reduce it. */
static DlStatus
reduce_by_numpy(DlRun *run, DlReduceStep *step, int nd, const npy_intp *shape)
{
    DlReg *reg = plain_operand(run, step, nd, shape);
    PyObject *operand;
    DlStatus status = 0;
    if (reg != NULL) {
        operand = Py_XNewRef(dl_reg_object(reg));
        status = operand ? 0 : -1;
    }
    else {
        status = dl_map_fresh(run, &step->map, nd, shape, &operand);
    }
    if (status == 0) {
        status = call_numpy(run, step, operand);
        Py_DECREF(operand);
    }
    return status;
}

/* ---- memory order ---- */

/* See an array in memory order; order gets its axes, innermost first. 0 if it does not lie packed: then the runs are those
 * of one that does. */
static int
find_runs(const DlLayout *layout, const uint8_t *reduced, int *order, DlRuns *runs)
{
    npy_intp expected = layout->itemsize;
    int groups = 0, packed = 1;
    dl_layout_order(layout, order);
    runs->nd = 0;
    runs->size = 1;
    runs->stride = layout->itemsize;
    for (int i = 0; i < layout->nd; i++) {
        int axis = order[i];
        npy_intp size = layout->shape[axis];
        if (size == 1) {
            continue;
        }
        runs->size *= size;
        if (groups++ == 0) {
            runs->stride = expected = layout->strides[axis];
        }
        packed &= layout->strides[axis] == expected;
        expected *= size;
        if (runs->nd && runs->reduced[runs->nd - 1] == reduced[axis]) {
            runs->shape[runs->nd - 1] *= size;
        }
        else {
            runs->shape[runs->nd] = size;
            runs->reduced[runs->nd++] = reduced[axis];
        }
    }
    for (int i = 0; i < runs->nd / 2; i++) { /* outermost first */
        int j = runs->nd - 1 - i;
        npy_intp size = runs->shape[i];
        uint8_t flag = runs->reduced[i];
        runs->shape[i] = runs->shape[j];
        runs->reduced[i] = runs->reduced[j];
        runs->shape[j] = size;
        runs->reduced[j] = flag;
    }
    int one_run = runs->nd == 1 && runs->reduced[0] && groups == 1 && runs->stride != 0;
    packed &= groups == 0 || one_run || runs->stride == layout->itemsize;
    runs->stride = packed ? runs->stride : layout->itemsize;
    return packed;
}

/* Whether no axis is reversed, none repeats what is there once, and the result has none of a single element, of which
 * the stride would show. */
static int
runs_on(const DlReduceStep *step, const DlLayout *layout)
{
    int on = !step->keepdims;
    for (int i = 0; i < layout->nd; i++) {
        on &= layout->shape[i] == 1 ? step->reduced[i] : layout->strides[i] > 0;
    }
    return on;
}

/* ---- folding ---- */

/* A reduction that threads may share: `own` is what each of them works with. */
typedef struct {
    DlWork *work, *own;
    DlNest *nests;
    DlBlock *blocks; /* NULL where memory is read */
} Sharing;

static void
run_part(void *work, int part, int thread)
{
    Sharing *self = work;
    if (part == DL_ALL_PARTS) {
        dl_reduce_all(self->work);
    }
    else {
        dl_reduce_part(&self->own[thread], part);
    }
}

/* Give back what open_sharing took. */
static void
close_sharing(Sharing *self, int threads)
{
    for (int i = 0; self->own != NULL && i < threads; i++) {
        if (self->own[i].scratch != NULL) {
            dl_scratch_give(self->own[i].scratch, self->own[i].scratch_bytes);
        }
    }
    PyMem_Free(self->own);
    PyMem_Free(self->nests);
}

/* Make what each thread works with, scratch of `bytes` included; 0 or -1. */
static int
open_sharing(Sharing *self, int threads, npy_intp bytes)
{
    DlWork *work = self->work;
    self->own = PyMem_New(DlWork, threads);
    self->nests = work->nest ? PyMem_New(DlNest, threads) : NULL;
    int failed = self->own == NULL || (work->nest != NULL && self->nests == NULL);
    for (int i = 0; self->own != NULL && i < threads; i++) {
        DlWork *own = &self->own[i];
        *own = *work;
        own->scratch = NULL;
        if (work->nest != NULL && !failed) {
            self->nests[i] = *work->nest;
            own->nest = &self->nests[i];
            own->block = self->blocks[i].block;
            own->scratch = dl_scratch_take(bytes, &own->scratch_bytes);
            failed = own->scratch == NULL;
        }
    }
    if (failed) {
        close_sharing(self, threads);
        PyErr_NoMemory();
        return -1;
    }
    return 0;
}

/* Fold, without the GIL for big arrays unless it is to be kept. */
static void
fold(DlShare *share, Sharing *sharing, int n_parts, int keep_gil)
{
    DlWork *work = sharing->work;
    double cells[DL_MOST_PARTS][DL_CELL / sizeof(double)];
    if (share->threads > 1) {
        work->fold->start(work->out, work->out_size);
        for (int i = 0; i < share->threads; i++) {
            sharing->own[i].cells = cells;
            dl_reduce_begin(&sharing->own[i]);
        }
    }
    if (work->runs->size >= DL_RELEASE_GIL && !keep_gil) {
        Py_BEGIN_ALLOW_THREADS
        dl_threads_run(share, run_part, sharing, n_parts);
        Py_END_ALLOW_THREADS
    }
    else {
        dl_threads_run(share, run_part, sharing, n_parts);
    }
    if (share->threads > 1) {
        for (int i = 0; i < share->threads; i++) {
            work->unsure |= sharing->own[i].unsure;
            dl_alike_join(&work->alike, &sharing->own[i].alike);
            dl_alike_join(&work->nans, &sharing->own[i].nans);
            work->failed |= sharing->own[i].failed;
        }
        work->cells = cells;
        dl_reduce_end(work, n_parts);
        work->cells = NULL;
    }
}

/* ---- the step ---- */

/* Make the result: a scalar register's cell, or an array with its kept axes in memory order. */
static DlStatus
make_result(DlRun *run, const DlReduceStep *step, const DlLayout *layout, const int *order, DlWork *work,
            PyObject **array)
{
    npy_intp shape[DL_MAX_DIMS], strides[DL_MAX_DIMS], stride = layout->itemsize;
    int position[DL_MAX_DIMS], nd = 0;
    work->out_size = 1;
    for (int axis = 0; axis < layout->nd; axis++) {
        position[axis] = step->reduced[axis] && !step->keepdims ? -1 : nd++;
    }
    *array = NULL;
    if (step->scalar) {
        work->out = run->regs[step->dst].cell.bytes;
        return nd == 0 ? 0 : dl_decline(run, DL_REASON_RESULT);
    }
    for (int i = 0; i < layout->nd; i++) {
        int axis = order[i];
        npy_intp size = step->reduced[axis] ? 1 : layout->shape[axis];
        if (position[axis] >= 0) {
            shape[position[axis]] = size;
            strides[position[axis]] = stride;
        }
        stride *= size;
        work->out_size *= size;
    }
    if (nd == 0) {
        return dl_decline(run, DL_REASON_RESULT);
    }
    *array = dl_pool_array(run, step->descr, nd, shape, strides);
    if (*array == NULL) {
        return -1;
    }
    work->out = PyArray_BYTES((PyArrayObject *)*array);
    return 0;
}

/* Whether the kernel is to fold its values itself: short rows are kept, and added up. plain: it has nothing to compute. */
static int
kernel_folds(const DlReduceStep *step, const DlRuns *runs, int plain)
{
    enum { LEAST = 4, MOST = 4096, MOST_PLAIN = 64, LEAST_PLAIN = 1024 }; /* additions, elements of a row, and of all */
    int last = runs->nd - 1;
    if (plain && runs->size < LEAST_PLAIN) {
        return 0; /* NumPy's way is the shorter one */
    }
    return step->map.kernel.folds && last > 0 && !runs->reduced[last] && runs->shape[last - 1] >= LEAST
           && runs->shape[last] <= (plain ? MOST_PLAIN : MOST) && step->map.kernel.n_operands <= DL_FOLD_OPERANDS;
}

/* Make the result the nest's last operand, so that no axis that is kept is merged with one that is not. */
static void
spread_result(DlWork *work, const int *order, int nd, const npy_intp *shape, const uint8_t *reduced)
{
    DlSpread *spread = &work->nest->spread[work->nest->n_operands++];
    npy_intp stride = work->itemsize;
    spread->data = work->out;
    spread->itemsize = stride;
    spread->is_array = 1;
    for (int i = 0; i < nd; i++) { /* innermost first */
        spread->strides[order[i]] = reduced[order[i]] ? 0 : stride;
        stride *= reduced[order[i]] ? 1 : shape[order[i]];
    }
}

/* Let the kernel feed the reduction, tile by tile, or do it all. */
static DlStatus
fold_kernel(DlRun *run, DlReduceStep *step, DlWork *work)
{
    DlKernel *kernel = &step->map.kernel;
    DlNest *nest = work->nest;
    uint8_t classes[DL_MAX_OPERANDS];
    npy_intp bytes;
    int along = dl_reduce_plan_feed(work, &bytes);
    for (int i = 0; i < kernel->n_operands; i++) {
        classes[i] = dl_kernel_class(nest->spread[i].strides[along], nest->spread[i].itemsize);
    }
    classes[kernel->n_operands] = work->folds ? DL_CLASS_ITERATED : 0;
    DlStatus status = dl_kernel_variant(run, kernel, classes, 0, (double)work->runs->size, &work->variant);
    if (status != 0) {
        return status;
    }
    DlVariant *variant = work->variant;
    DlShare share = {.threads = 1};
    Sharing sharing = {.work = work};
    int n = kernel->n_operands + 1, n_parts = 1, keep_gil = run->keep_gil || variant->needs_gil;
    double guess = variant->guess * (double)work->runs->size;
    dl_kernel_ran(variant, (double)work->runs->size);
    if (guess >= dl_threads_least && !variant->one_thread && (n_parts = dl_reduce_cut(work)) > 1) {
        dl_threads_open(&share, &variant->trials, work->runs->size, guess, 1, run->outermost->program->num_threads);
    }
    if (share.threads == 1) {
        DlBlock block;
        work->scratch = dl_scratch_take(bytes, &bytes);
        if (work->scratch == NULL || dl_block_open(&block, variant, n, NULL) < 0) {
            if (work->scratch != NULL) {
                dl_scratch_give(work->scratch, bytes);
            }
            return -1;
        }
        work->block = block.block;
        fold(&share, &sharing, n_parts, keep_gil);
        dl_threads_close(&share);
        dl_scratch_give(work->scratch, bytes);
        return dl_block_close(&block, run, variant, work->failed);
    }
    int threads = share.threads;
    sharing.blocks = dl_blocks_open(threads, variant, n, NULL);
    if (sharing.blocks == NULL || open_sharing(&sharing, threads, bytes) < 0) {
        if (sharing.blocks != NULL) {
            dl_blocks_close(sharing.blocks, threads, run, variant, 0);
        }
        dl_threads_close(&share);
        return -1;
    }
    fold(&share, &sharing, n_parts, keep_gil);
    dl_threads_close(&share);
    close_sharing(&sharing, threads);
    return dl_blocks_close(sharing.blocks, threads, run, variant, work->failed);
}

/* Hand the result to its register. */
static void
take_result(DlRun *run, const DlReduceStep *step, PyObject *array)
{
    DlReg *reg = &run->regs[step->dst];
    if (array != NULL) {
        dl_reg_take_fresh(reg, array);
        return;
    }
    reg->kind = DL_SCALAR;
    reg->object = NULL;
    reg->nd = 0;
    reg->descr = step->descr;
    reg->data = reg->cell.bytes;
}

/* Whether sums over an array in memory are so much that NumPy is as fast: it reads in order, which is worth more
 * than four leaves side by side where the array is in no cache. */
static int
are_long_sums(const DlReduceStep *step, const DlRuns *runs)
{
    enum { LONG = 1 << 16, BIG = 1 << 19, VAST = 1 << 21, MIDDLE_RUN = 64, LONG_RUN = 2048 }; /* elements */
    if (!step->fold->pairwise || runs->nd == 0 || !runs->reduced[runs->nd - 1]) {
        return 0;
    }
    npy_intp run = runs->shape[runs->nd - 1];
    return run >= LONG || (runs->size >= BIG && run >= LONG_RUN) || (runs->size >= VAST && run >= MIDDLE_RUN);
}

/* Whether an extreme of an array in memory is of so much that NumPy's loop costs less than a look at what goes in. */
static int
is_long_extreme(const DlReduceStep *step, const DlRuns *runs)
{
    enum { LONG = 1 << 13 }; /* elements */
    return !step->fold->pairwise && !step->fold->skips && runs->size >= LONG;
}

/* What reading an element of memory takes, roughly, in nanoseconds. */
static double
guess_reading(const DlWork *work)
{
    static const double moved = 0.03; /* a byte */
    return moved * (double)work->itemsize * (double)work->runs->size;
}

/* Fold memory. */
static DlStatus
fold_memory(DlRun *run, DlWork *work, DlShare *share, int n_parts)
{
    Sharing sharing = {.work = work};
    work->tile = NPY_MAX_INTP;
    if (share->threads > 1 && open_sharing(&sharing, share->threads, 0) < 0) {
        return -1;
    }
    fold(share, &sharing, n_parts, run->keep_gil);
    close_sharing(&sharing, share->threads);
    return 0;
}

/* Leave some calls to NumPy, the more the more often the result was unsure: it would be reduced twice. */
static void
give_way(DlReduceStep *step)
{
    enum { MOST = 6 };
    step->left = 1 << step->in_vain;
    step->in_vain += step->in_vain < MOST;
}

/* Reduce here if the order is known: 2 when it is not, or the result is unsure. */
static DlStatus
reduce_here(DlRun *run, DlReduceStep *step, int nd, const npy_intp *shape)
{
    DlNest nest;
    DlLayout layout;
    char cells[DL_MAX_OPERANDS][DL_CELL];
    DlReg *reg = plain_operand(run, step, nd, shape);
    DlStatus status;
    layout.nd = nd;
    layout.itemsize = (int)PyDataType_ELSIZE(step->descr);
    memcpy(layout.shape, shape, (size_t)nd * sizeof *shape);
    if (reg != NULL) {
        memcpy(layout.strides, reg->strides, (size_t)nd * sizeof *shape);
    }
    else {
        nest.size = 1;
        status = dl_map_spread(run, &step->map, nd, shape, &nest, cells);
        status = status ? status : dl_map_layouts(run, &step->map, &nest, nd, shape, 1, &layout);
        if (status != 0) {
            return status;
        }
    }
    int order[DL_MAX_DIMS];
    DlRuns runs;
    int packed = find_runs(&layout, step->reduced, order, &runs);
    int never_looks = reg != NULL && is_long_extreme(step, &runs), looks = step->looks > 0 && !never_looks;
    int folds = !looks && kernel_folds(step, &runs, reg != NULL);
    DlWork work = {.fold = step->fold, .runs = &runs, .itemsize = layout.itemsize, .looks = looks};
    work.alike = (DlAlike){.bytes = layout.itemsize, .zeros = !step->fold->pairwise};
    work.nans = (DlAlike){.bytes = layout.itemsize};
    DlShare share = {.threads = 1};
    int n_parts = 1, is_long = reg != NULL && are_long_sums(step, &runs);
    if (reg != NULL && packed && !folds && guess_reading(&work) >= dl_threads_least && (n_parts = dl_reduce_cut(&work)) > 1) {
        dl_threads_open(&share, &step->trials, runs.size, guess_reading(&work), 1, run->outermost->program->num_threads);
    }
    if (is_long && share.threads == 1) {
        int64_t began = dl_world_clock();
        status = reduce_by_numpy(run, step, nd, shape);
        share.took = dl_world_clock() - began;
        dl_threads_close(&share);
        return status;
    }
    int one_by_one = runs.nd > 0 && !runs.reduced[runs.nd - 1];
    if (!packed && (!runs_on(step, &layout) || (step->fold->pairwise && !one_by_one))) {
        return 2; /* what NumPy adds first is not known */
    }
    if (reg != NULL && (folds || !packed)) {
        reg = NULL;
        nest.size = 1;
        status = dl_map_spread(run, &step->map, nd, shape, &nest, cells);
        if (status != 0) {
            return status;
        }
    }
    PyObject *array = NULL;
    status = make_result(run, step, &layout, order, &work, &array);
    if (status != 0) {
        dl_threads_close(&share);
        return status;
    }
    unsigned before = dl_fp_get();
    if (reg != NULL) {
        work.data = reg->data;
        status = fold_memory(run, &work, &share, n_parts);
        dl_threads_close(&share);
    }
    else {
        int outermost_first[DL_MAX_DIMS];
        for (int i = 0; i < nd; i++) {
            outermost_first[i] = order[nd - 1 - i];
        }
        work.nest = &nest;
        work.folds = folds;
        if (folds) {
            spread_result(&work, order, nd, shape, step->reduced);
        }
        dl_nest_merge(&nest, outermost_first, nd, shape);
        status = fold_kernel(run, step, &work);
    }
    if (status == 0 && work.unsure) {
        dl_fp_set(before); /* NB: comparing a NaN set a flag that NumPy's loop does not report */
        if (never_looks || step->looks != 0) {
            give_way(step);
        }
        if (!never_looks) {
            step->looks = step->looks != 0 ? -1 : step->fold->kind == 'f';
        }
        status = 2;
    }
    else if (status == 0) {
        step->in_vain = 0;
        take_result(run, step, array);
        array = NULL;
    }
    Py_XDECREF(array);
    return status;
}

DlStatus
dl_reduce_run(DlRun *run, DlReduceStep *step)
{
    npy_intp shape[DL_MAX_DIMS], size = 1;
    int nd = step->map.shape.n, any = 0;
    if (dl_dims_get(run, &step->map.shape, shape)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    for (int i = 0; i < nd; i++) {
        size *= shape[i] != 0;
        any |= step->reduced[i];
    }
    if (step->map.kernel.forward && !dl_map_lies_forward(run, &step->map)) {
        return dl_decline(run, DL_REASON_REVERSED);
    }
    int here = step->fold != NULL && step->same_type && size && any;
    if (here && step->left > 0) {
        step->left--;
        here = 0;
    }
    DlStatus status = here ? reduce_here(run, step, nd, shape) : 2;
    return status == 2 ? reduce_by_numpy(run, step, nd, shape) : status;
}
