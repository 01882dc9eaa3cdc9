/* Reduce: a kernel's values folded over axes, in NumPy's own order of operations.
 *
 * The array that NumPy would reduce lies packed in memory in some order of its axes. Seen in that order, with size-1
 * axes dropped and neighbours merged that are both reduced or both kept, NumPy's order is: an innermost reduced run is
 * folded by itself (floating add: pairwise), and everything else follows one by one, run after run or row after row.
 * (tests/csrc/test_reduce.py compares with NumPy over layouts, axes and sizes.) So the kernel is evaluated on tiles that
 * fit such runs, and its values never reach memory. What does not lie packed, and what the kernel's operands would not
 * let it evaluate in that order, is made as an array first; where not even the arithmetic is known (fold.h), or the
 * result is unsure, NumPy's reduce is called on it.
 */
#include "program.h"

#include "fold.h"
#include "fpflags.h"
#include "kernel_code.h"

enum { TILE_BYTES = 16 * 1024 }; /* half of a first-level cache */

/* The reduced array as memory order shows it: groups of merged axes, outermost first. */
typedef struct {
    int nd;
    npy_intp size;
    npy_intp shape[DL_MAX_DIMS];
    uint8_t reduced[DL_MAX_DIMS];
    npy_intp stride; /* between elements in memory order; the item size but for one-dimensional arrays */
} Runs;

/* Where the elements come from, by position in memory order. */
typedef struct {
    char *data;          /* memory; or NULL: the kernel computes */
    npy_intp stride;
    npy_intp itemsize;
    npy_intp tile;       /* elements that can be had at once */
    DlNest *nest;
    DlVariant *variant;
    npy_intp *block;
    char *scratch;
    int32_t failed;      /* the kernel's status */
} Feed;

/* One reduction under way. */
typedef struct {
    const DlFold *fold;
    const Runs *runs;
    Feed feed;
    char *out;           /* results, packed in memory order of the kept axes */
    npy_intp out_size;
    int unsure;
} Work;

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
    DlStatus status = dl_errstate_enter(run);
    if (status != 0) {
        return status;
    }
    PyObject *result = PyObject_Vectorcall(step->reduce, args + 1, 5 | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL);
    status = dl_call_done(run, result);
    if (status == 0) {
        DlReg *reg = &run->regs[step->dst];
        dl_reg_take(reg, result);
        int right = reg->kind == (step->scalar ? DL_SCALAR : DL_ARRAY) && reg->descr->type_num == step->descr->type_num;
        status = right ? 0 : dl_decline(run, DL_REASON_RESULT);
    }
    return status;
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

/* See an array in memory order; order gets its axes, innermost first. 0 if it does not lie packed. */
static int
find_runs(const DlLayout *layout, const uint8_t *reduced, int *order, Runs *runs)
{
    npy_intp expected = layout->itemsize;
    int groups = 0;
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
        if (layout->strides[axis] != expected) {
            return 0;
        }
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
    return groups == 0 || one_run || runs->stride == layout->itemsize;
}

/* Flatten a nest in that order of axes: 0 if an operand does not lie packed in it. */
static int
flatten_nest(DlNest *nest, const int *order, int nd, const npy_intp *shape)
{
    for (int i = 0; i < nest->n_operands; i++) {
        DlSpread *spread = &nest->spread[i];
        npy_intp expected = spread->itemsize;
        for (int j = 0; j < nd && spread->is_array; j++) {
            if (shape[order[j]] != 1 && spread->strides[order[j]] != expected) {
                return 0;
            }
            expected *= shape[order[j]];
        }
    }
    for (int i = 0; i < nest->n_operands; i++) {
        nest->spread[i].strides[0] = nest->spread[i].is_array ? nest->spread[i].itemsize : 0;
    }
    return 1;
}

/* ---- folding ---- */

/* The elements from position `start` on: `n` (at most a tile) of them, packed or feed->stride apart. */
static const char *
feed_get(Feed *feed, npy_intp start, npy_intp n)
{
    if (feed->data != NULL) {
        return feed->data + start * feed->stride;
    }
    const DlNest *nest = feed->nest;
    for (int i = 0; i < nest->n_operands; i++) {
        feed->block[2 * i] = (npy_intp)nest->spread[i].data + start * nest->spread[i].strides[0];
        feed->block[2 * i + 1] = nest->spread[i].strides[0];
    }
    feed->block[2 * nest->n_operands] = (npy_intp)feed->scratch;
    feed->block[2 * nest->n_operands + 1] = feed->itemsize;
    feed->failed |= feed->variant->address(feed->block, n);
    return feed->scratch;
}

/* cell = fold of n >= 1 elements from position `start` on, tile by tile along NumPy's halves. */
static void
fold_run(Work *work, npy_intp start, npy_intp n, char *cell)
{
    const DlFold *fold = work->fold;
    if (n <= work->feed.tile) {
        work->unsure |= fold->leaf(feed_get(&work->feed, start, n), n, work->feed.stride, cell);
        return;
    }
    npy_intp half = fold->pairwise ? dl_fold_half(n, fold->kind == 'c') : work->feed.tile;
    double second[DL_CELL / sizeof(double)];
    fold_run(work, start, half, cell);
    fold_run(work, start + half, n - half, (char *)second);
    work->unsure |= fold->rows(cell, (char *)second, 1);
}

/* Walks the groups outside of the innermost one and knows where their results lie. */
typedef struct {
    const Runs *runs;
    int n_outer;
    npy_intp at[DL_MAX_DIMS], step[DL_MAX_DIMS]; /* elements of out that one step of a group moves; 0 if reduced */
    npy_intp out;                                /* element of out */
} Walk;

static void
walk_open(Walk *walk, const Runs *runs)
{
    npy_intp step = runs->nd && !runs->reduced[runs->nd - 1] ? runs->shape[runs->nd - 1] : 1;
    walk->runs = runs;
    walk->n_outer = runs->nd ? runs->nd - 1 : 0;
    walk->out = 0;
    for (int i = walk->n_outer - 1; i >= 0; i--) {
        walk->at[i] = 0;
        walk->step[i] = runs->reduced[i] ? 0 : step;
        step *= runs->reduced[i] ? 1 : runs->shape[i];
    }
}

static void
walk_next(Walk *walk)
{
    for (int i = walk->n_outer - 1; i >= 0; i--) {
        walk->out += walk->step[i];
        if (++walk->at[i] < walk->runs->shape[i]) {
            return;
        }
        walk->out -= walk->step[i] * walk->runs->shape[i];
        walk->at[i] = 0;
    }
}

/* Innermost group reduced: each run gives one number, added to its result. */
static void
fold_runs(Work *work)
{
    const Runs *runs = work->runs;
    npy_intp n = runs->nd ? runs->shape[runs->nd - 1] : 1, itemsize = work->feed.itemsize;
    npy_intp n_runs = runs->size / n, at_once = work->feed.tile / n;
    double cell[DL_CELL / sizeof(double)];
    Walk walk;
    walk_open(&walk, runs);
    for (npy_intp i = 0; i < n_runs;) {
        npy_intp few = n_runs - i < at_once ? n_runs - i : at_once;
        const char *data = few > 0 ? feed_get(&work->feed, i * n, few * n) : NULL;
        few = few > 0 ? few : 1;
        for (npy_intp j = 0; j < few; j++, i++) {
            if (data != NULL) {
                work->unsure |= work->fold->leaf(data + j * n * work->feed.stride, n, work->feed.stride, (char *)cell);
            }
            else {
                fold_run(work, i * n, n, (char *)cell);
            }
            work->unsure |= work->fold->rows(work->out + walk.out * itemsize, (char *)cell, 1);
            walk_next(&walk);
        }
    }
}

/* Innermost group kept: each row is added to its row of results. */
static void
fold_rows(Work *work)
{
    const Runs *runs = work->runs;
    npy_intp n = runs->shape[runs->nd - 1], itemsize = work->feed.itemsize, column = 0;
    Walk walk;
    walk_open(&walk, runs);
    for (npy_intp start = 0; start < runs->size;) {
        npy_intp tile = runs->size - start < work->feed.tile ? runs->size - start : work->feed.tile;
        const char *data = feed_get(&work->feed, start, tile);
        for (npy_intp done = 0; done < tile;) {
            npy_intp few = n - column < tile - done ? n - column : tile - done;
            work->unsure |= work->fold->rows(work->out + (walk.out + column) * itemsize, data + done * itemsize, few);
            done += few;
            column += few;
            if (column == n) {
                column = 0;
                walk_next(&walk);
            }
        }
        start += tile;
    }
}

/* Do all the work; runs without the GIL for big arrays. */
static void
fold_all(Work *work)
{
    const Runs *runs = work->runs;
    work->fold->start(work->out, work->out_size);
    if (runs->nd == 0 || runs->reduced[runs->nd - 1]) {
        fold_runs(work);
    }
    else {
        fold_rows(work);
    }
    work->unsure |= work->fold->doubtful != NULL && work->fold->doubtful(work->out, work->out_size);
}

static void
fold_without_gil(Work *work, int keep_gil)
{
    if (work->runs->size >= DL_RELEASE_GIL && !keep_gil) {
        Py_BEGIN_ALLOW_THREADS
        fold_all(work);
        Py_END_ALLOW_THREADS
    }
    else {
        fold_all(work);
    }
}

/* ---- the step ---- */

/* Make the result: a scalar register's cell, or an array with its kept axes in memory order. */
static DlStatus
make_result(DlRun *run, const DlReduceStep *step, const DlLayout *layout, const int *order, Work *work,
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
    Py_INCREF(step->descr);
    *array = PyArray_NewFromDescr(&PyArray_Type, step->descr, nd, shape, strides, NULL, 0, NULL);
    if (*array == NULL) {
        return -1;
    }
    work->out = PyArray_BYTES((PyArrayObject *)*array);
    return 0;
}

/* Let the kernel feed the reduction, tile by tile. */
static DlStatus
fold_kernel(DlRun *run, DlReduceStep *step, DlNest *nest, Work *work)
{
    DlKernel *kernel = &step->map.kernel;
    uint8_t classes[DL_MAX_OPERANDS];
    for (int i = 0; i < nest->n_operands; i++) {
        classes[i] = dl_kernel_class(nest->spread[i].strides[0], nest->spread[i].itemsize);
    }
    classes[nest->n_operands] = 0;
    DlStatus status = dl_kernel_variant(run, kernel, classes, &work->feed.variant);
    if (status != 0) {
        return status;
    }
    DlBlock block;
    npy_intp wanted = work->runs->size < work->feed.tile ? work->runs->size : work->feed.tile, bytes;
    char *scratch = dl_scratch_take(wanted * work->feed.itemsize, &bytes);
    if (scratch == NULL || dl_block_open(&block, work->feed.variant, nest->n_operands + 1) < 0) {
        if (scratch != NULL) {
            dl_scratch_give(scratch, bytes);
        }
        return -1;
    }
    work->feed.nest = nest;
    work->feed.block = block.block;
    work->feed.scratch = scratch;
    fold_without_gil(work, work->feed.variant->needs_gil);
    dl_scratch_give(scratch, bytes);
    return dl_block_close(&block, run, work->feed.variant, work->feed.failed);
}

/* Fold memory. */
static DlStatus
fold_memory(Work *work, char *data)
{
    work->feed.data = data;
    work->feed.stride = work->runs->stride;
    work->feed.tile = NPY_MAX_INTP;
    fold_without_gil(work, 0);
    return 0;
}

/* Hand the result to its register. */
static void
take_result(DlRun *run, const DlReduceStep *step, PyObject *array)
{
    DlReg *reg = &run->regs[step->dst];
    if (array != NULL) {
        dl_reg_take(reg, array);
        return;
    }
    reg->kind = DL_SCALAR;
    reg->object = NULL;
    reg->nd = 0;
    reg->descr = step->descr;
    reg->data = reg->cell.bytes;
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
    Runs runs;
    if (!find_runs(&layout, step->reduced, order, &runs)) {
        return 2;
    }
    Work work = {.fold = step->fold, .runs = &runs};
    work.feed.itemsize = work.feed.stride = layout.itemsize;
    work.feed.tile = TILE_BYTES / layout.itemsize;
    PyObject *array = NULL, *made = NULL;
    status = make_result(run, step, &layout, order, &work, &array);
    unsigned before = dl_fp_get();
    if (status != 0) {
        return status;
    }
    if (reg != NULL) {
        status = fold_memory(&work, reg->data);
    }
    else if (flatten_nest(&nest, order, nd, shape)) {
        status = fold_kernel(run, step, &nest, &work);
    }
    else if ((status = dl_map_fresh(run, &step->map, nd, shape, &made)) == 0) {
        before = dl_fp_get();
        status = fold_memory(&work, PyArray_BYTES((PyArrayObject *)made));
    }
    if (status == 0 && work.unsure) {
        dl_fp_set(before); /* NB: comparing a NaN set a flag that NumPy's loop does not report */
        status = made ? call_numpy(run, step, made) : 2;
    }
    else if (status == 0) {
        take_result(run, step, array);
        array = NULL;
    }
    Py_XDECREF(array);
    Py_XDECREF(made);
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
    DlStatus status = step->fold != NULL && step->same_type && size && any ? reduce_here(run, step, nd, shape) : 2;
    return status == 2 ? reduce_by_numpy(run, step, nd, shape) : status;
}
