/* Folds a reduced array in NumPy's order (see reduce.c): run after run, or row after row, tile by tile. */
#include "reduce.h"
#include "maps.h"

#include "kernel_code.h"

enum {
    TILE_BYTES = 16 * 1024, /* half of a first-level cache */
    CELLS = 128,            /* runs folded at once */
    SHORT_RUN = 32,
    SUMS = 8,               /* the accumulators of a pairwise sum */
    LEAST_ROWS = 8,
};

/* ---- elements ---- */

/* Point the kernel's operands at an index of the nest. */
static void
point_at(DlWork *work, const npy_intp *at)
{
    const DlNest *nest = work->nest;
    for (int i = 0; i < nest->n_operands; i++) {
        char *data = nest->spread[i].data;
        for (int axis = 0; axis < nest->nd; axis++) {
            data += at[axis] * nest->spread[i].strides[axis];
        }
        work->block[2 * i] = (npy_intp)data;
    }
}

/* Move the kernel's operands one step on along `axis`, or along the axes outside of it that this carries into; 0 at the end. */
static int
step_on(DlWork *work, npy_intp *at, int axis)
{
    const DlNest *nest = work->nest;
    for (; axis >= 0; axis--) {
        int carry = ++at[axis] == nest->shape[axis];
        for (int i = 0; i < nest->n_operands; i++) {
            npy_intp stride = nest->spread[i].strides[axis];
            work->block[2 * i] += carry ? -stride * (nest->shape[axis] - 1) : stride;
        }
        if (!carry) {
            return 1;
        }
        at[axis] = 0;
    }
    return 0;
}

/* Let the kernel run along `axis` of the nest. */
static void
run_along(DlWork *work, int axis)
{
    const DlNest *nest = work->nest;
    for (int i = 0; i < nest->n_operands; i++) {
        work->block[dl_word_stride(i)] = nest->spread[i].strides[axis];
    }
    work->block[2 * nest->n_operands + 1] = work->itemsize;
}

/* Compute n elements into `out`. */
static inline void
compute(DlWork *work, char *out, npy_intp n)
{
    work->block[2 * work->nest->n_operands] = (npy_intp)out;
    work->failed |= work->variant->address(work->block, n);
    if (work->looks) {
        dl_alike_look(&work->alike, out, n, work->itemsize);
    }
}

/* The elements from position `start` on: `n` (at most a tile) of them, packed or runs->stride apart. */
static const char *
get(DlWork *work, npy_intp start, npy_intp n)
{
    if (work->data != NULL) {
        const char *data = work->data + start * work->runs->stride;
        if (work->looks) {
            dl_alike_look(&work->alike, data, n, work->runs->stride);
        }
        return data;
    }
    const DlNest *nest = work->nest;
    int inner = nest->nd - 1;
    npy_intp at[DL_MAX_DIMS], rest = start;
    for (int axis = inner; axis > 0; axis--) {
        at[axis] = rest % nest->shape[axis];
        rest /= nest->shape[axis];
    }
    at[0] = rest;
    point_at(work, at);
    for (npy_intp done = 0;;) {
        npy_intp few = nest->shape[inner] - at[inner];
        few = n - done < few ? n - done : few;
        compute(work, work->scratch + done * work->itemsize, few);
        done += few;
        if (done == n) {
            return work->scratch;
        }
        for (int i = 0; i < nest->n_operands; i++) {
            work->block[2 * i] -= at[inner] * nest->spread[i].strides[inner];
        }
        at[inner] = 0;
        step_on(work, at, inner - 1);
    }
}

/* ---- steps that look at NaNs ---- */

/* Where an extreme meets NaN it is that NaN from there on. NB: comparing one sets a flag that NumPy does not report. */
static int
looks_at_nans(const DlWork *work)
{
    return work->looks && !work->fold->pairwise && !work->fold->skips;
}

/* See DlFold. */
static int
fold_leaf(DlWork *work, const char *data, npy_intp n, char *cell)
{
    if (!looks_at_nans(work) && !work->fold->skips) {
        return work->fold->leaf(data, n, work->runs->stride, cell);
    }
    unsigned before = dl_fp_get();
    if (work->fold->leaf(data, n, work->runs->stride, cell)) {
        dl_alike_look(&work->nans, data, n, work->runs->stride);
        memcpy(cell, &work->nans.bits, (size_t)work->itemsize);
    }
    dl_fp_set(before);
    return 0;
}

static int
fold_few_runs(DlWork *work, const char *data, npy_intp few, npy_intp n, char *cells)
{
    int unsure = 0;
    if (!looks_at_nans(work)) {
        unsigned before = work->fold->skips ? dl_fp_get() : 0;
        unsure = work->fold->runs(data, few, n, cells);
        if (work->fold->skips) {
            dl_fp_set(before);
        }
        return unsure;
    }
    for (npy_intp i = 0; i < few; i++) {
        unsure |= fold_leaf(work, data + i * n * work->itemsize, n, cells + i * work->itemsize);
    }
    return unsure;
}

static int
fold_row(DlWork *work, char *accs, const char *data, npy_intp n)
{
    if (!looks_at_nans(work) && !work->fold->skips) {
        return work->fold->rows(accs, data, n);
    }
    unsigned before = dl_fp_get();
    if (work->fold->rows(accs, data, n)) {
        dl_alike_look(&work->nans, data, n, work->itemsize);
        dl_alike_hand_on(&work->nans, accs, data, n);
    }
    dl_fp_set(before);
    return 0;
}

/* ---- runs ---- */

/* cell = fold of n >= 1 elements, at most a tile, from position `start` on. */
static void
fold_tile(DlWork *work, npy_intp start, npy_intp n, char *cell)
{
    work->unsure |= fold_leaf(work, get(work, start, n), n, cell);
}

/* The same for any n where order does not matter: tile after tile. */
static void
fold_in_order(DlWork *work, npy_intp start, npy_intp n, char *cell)
{
    double next[DL_CELL / sizeof(double)];
    npy_intp few = n < work->tile ? n : work->tile;
    fold_tile(work, start, few, cell);
    for (npy_intp done = few; done < n; done += few) {
        few = n - done < work->tile ? n - done : work->tile;
        fold_tile(work, start + done, few, (char *)next);
        work->unsure |= fold_row(work, cell, (char *)next, 1);
    }
}

/* One halving of a pairwise sum under way: how many elements its second half has, and its first half's sum once that is known. */
typedef struct {
    npy_intp rest;
    int has_first;
    double first[DL_CELL / sizeof(double)];
} Halves;

/* The same along NumPy's halves, each halved again while it is longer than a tile. */
static void
fold_in_halves(DlWork *work, npy_intp start, npy_intp n, char *cell)
{
    enum { MOST = 8 * sizeof(npy_intp) }; /* a half has at most half of the elements and 8 more, a tile has more than 16 */
    Halves under_way[MOST];
    int depth = 0;
    for (;;) {
        for (; n > work->tile; depth++) {
            npy_intp half = dl_fold_half(n, work->fold->kind == 'c');
            under_way[depth].rest = n - half;
            under_way[depth].has_first = 0;
            n = half;
        }
        fold_tile(work, start, n, cell);
        start += n;
        for (; depth > 0 && under_way[depth - 1].has_first; depth--) {
            work->unsure |= work->fold->rows((char *)under_way[depth - 1].first, cell, 1);
            memcpy(cell, under_way[depth - 1].first, (size_t)work->itemsize);
        }
        if (depth == 0) {
            return;
        }
        memcpy(under_way[depth - 1].first, cell, (size_t)work->itemsize);
        under_way[depth - 1].has_first = 1;
        n = under_way[depth - 1].rest;
    }
}

/* cell = fold of n >= 1 elements from position `start` on, in NumPy's order. */
static void
fold_run(DlWork *work, npy_intp start, npy_intp n, char *cell)
{
    (work->fold->pairwise ? fold_in_halves : fold_in_order)(work, start, n, cell);
}

/* Walks the groups outside of the innermost one and knows where their results lie. */
typedef struct {
    const DlRuns *runs;
    int n_outer;
    npy_intp at[DL_MAX_DIMS], step[DL_MAX_DIMS]; /* elements of out that one step of a group moves; 0 if reduced */
    npy_intp out;                                /* element of out */
} Walk;

static void
walk_open(Walk *walk, const DlRuns *runs, npy_intp from)
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
    if (walk->n_outer > 0) {
        walk->at[0] = from;
        walk->out = from * walk->step[0];
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
fold_runs(DlWork *work)
{
    const DlRuns *runs = work->runs;
    npy_intp n = runs->nd ? runs->shape[runs->nd - 1] : 1, itemsize = work->itemsize;
    npy_intp each = runs->nd > 1 ? runs->size / n / runs->shape[0] : 1; /* runs of an index of the outermost group */
    npy_intp n_runs = runs->nd > 1 ? work->to * each : 1, at_once = work->tile / n < CELLS ? work->tile / n : CELLS;
    double cells[CELLS * DL_CELL / sizeof(double)];
    int in_turn = runs->nd <= 2; /* the results lie as the runs do */
    Walk walk;
    walk_open(&walk, runs, work->from);
    for (npy_intp i = work->from * each; i < n_runs;) {
        npy_intp few = n_runs - i < at_once ? n_runs - i : at_once;
        if (few < 1) {
            few = 1;
            fold_run(work, i * n, n, (char *)cells);
        }
        else if (runs->stride == itemsize) {
            work->unsure |= fold_few_runs(work, get(work, i * n, few * n), few, n, (char *)cells);
        }
        else { /* a single run, or runs of one element */
            few = 1;
            work->unsure |= fold_leaf(work, get(work, i * n, n), n, (char *)cells);
        }
        if (in_turn) {
            work->unsure |= fold_row(work, work->out + i * itemsize, (char *)cells, few);
        }
        for (npy_intp j = 0; j < few && !in_turn; j++) {
            work->unsure |= fold_row(work, work->out + walk.out * itemsize, (char *)cells + j * itemsize, 1);
            walk_next(&walk);
        }
        i += few;
    }
}

/* Innermost group kept: each row is added to its row of results. */
static void
fold_rows(DlWork *work)
{
    const DlRuns *runs = work->runs;
    npy_intp n = runs->shape[runs->nd - 1], itemsize = work->itemsize, column = 0;
    npy_intp each = runs->size / runs->shape[0], end = work->to * each;
    Walk walk;
    walk_open(&walk, runs, work->from);
    for (npy_intp start = work->from * each; start < end;) {
        npy_intp tile = end - start < work->tile ? end - start : work->tile;
        const char *data = get(work, start, tile);
        for (npy_intp done = 0; done < tile;) {
            npy_intp few = n - column < tile - done ? n - column : tile - done;
            work->unsure |= fold_row(work, work->out + (walk.out + column) * itemsize, data + done * itemsize, few);
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

/* The same for some columns of the only row of results. */
static void
fold_columns(DlWork *work)
{
    const DlRuns *runs = work->runs;
    npy_intp n = runs->shape[1], itemsize = work->itemsize;
    for (npy_intp row = 0; row < runs->shape[0]; row++) {
        for (npy_intp column = work->from; column < work->to;) {
            npy_intp few = work->to - column < work->tile ? work->to - column : work->tile;
            work->unsure |= fold_row(work, work->out + column * itemsize, get(work, row * n + column, few), few);
            column += few;
        }
    }
}

/* ---- across short runs ---- */

/* How many accumulators NumPy's pairwise sum of the innermost runs has; 0 where order does not matter. */
static int
count_sums(const DlWork *work)
{
    const DlFold *fold = work->fold;
    int parts = fold->kind == 'c' ? 2 : 1;
    npy_intp n = work->runs->shape[work->runs->nd - 1];
    return !fold->pairwise ? 0 : n * parts < SUMS ? 1 : SUMS / parts;
}

int
dl_reduce_plan_feed(DlWork *work, npy_intp *scratch_bytes)
{
    const DlNest *nest = work->nest;
    const DlRuns *runs = work->runs;
    int inner = nest->nd - 1;
    if (work->folds) {
        *scratch_bytes = work->itemsize;
        return inner;
    }
    work->tile = TILE_BYTES / work->itemsize;
    work->across = runs->nd == 2 && runs->reduced[1] && inner >= 1 && nest->shape[inner] == runs->shape[1]
                   && runs->shape[1] <= SHORT_RUN && nest->shape[inner] < nest->shape[inner - 1];
    if (work->across) {
        npy_intp n_tiles = count_sums(work) + 1;
        work->tile = (work->tile / n_tiles + 7) / 8 * 8;
        *scratch_bytes = n_tiles * work->tile * work->itemsize;
        return inner - 1;
    }
    *scratch_bytes = (runs->size < work->tile ? runs->size : work->tile) * work->itemsize;
    return inner;
}

/* Fold `few` runs whose first elements the operands point at into `out`. */
static void
fold_few_across(DlWork *work, npy_intp few, char *out)
{
    const DlNest *nest = work->nest;
    const DlFold *fold = work->fold;
    int inner = nest->nd - 1, n_sums = count_sums(work);
    npy_intp n = nest->shape[inner], whole = n_sums ? n - n % n_sums : n, tile = work->tile * work->itemsize;
    char *sums = work->scratch, *value = work->scratch + n_sums * tile;
    for (npy_intp k = 0; k < n; k++) {
        if (k == whole) {
            for (int step = 1; step < n_sums; step *= 2) {
                for (int i = 0; i < n_sums; i += 2 * step) {
                    work->unsure |= fold->rows(sums + i * tile, sums + (i + step) * tile, few);
                }
            }
        }
        compute(work, k < n_sums ? sums + k * tile : value, few);
        if (k >= n_sums) {
            char *into = n_sums == 0 ? out : k < whole ? sums + k % n_sums * tile : sums;
            work->unsure |= fold_row(work, into, value, few);
        }
        for (int i = 0; i < nest->n_operands; i++) {
            work->block[2 * i] += nest->spread[i].strides[inner];
        }
    }
    for (int step = 1; step < n_sums && whole == n; step *= 2) {
        for (int i = 0; i < n_sums; i += 2 * step) {
            work->unsure |= fold->rows(sums + i * tile, sums + (i + step) * tile, few);
        }
    }
    if (n_sums) {
        work->unsure |= fold_row(work, out, sums, few);
    }
    for (int i = 0; i < nest->n_operands; i++) {
        work->block[2 * i] += few * nest->spread[i].strides[inner - 1] - n * nest->spread[i].strides[inner];
    }
}

/* Innermost group reduced and short: the kernel computes one element of many runs at a time. */
static void
fold_across(DlWork *work)
{
    const DlNest *nest = work->nest;
    int along = nest->nd - 2;
    npy_intp at[DL_MAX_DIMS] = {0}, length = nest->shape[along], from = 0;
    char *out = work->out;
    if (along == 0) {
        at[0] = from = work->from;
        length = work->to;
        out += from * work->itemsize;
    }
    point_at(work, at);
    do {
        for (npy_intp start = from; start < length; start += work->tile) {
            npy_intp few = length - start < work->tile ? length - start : work->tile;
            fold_few_across(work, few, out);
            out += few * work->itemsize;
        }
        for (int i = 0; i < nest->n_operands; i++) {
            work->block[2 * i] -= length * nest->spread[i].strides[along];
        }
    } while (step_on(work, at, along - 1));
}

/* ---- in registers ---- */

/* The axes that the kernel folds along: the innermost reduced one, and the next one outside of it or -1. */
static void
find_folded(const DlNest *nest, int *folded)
{
    int found = 0;
    folded[0] = folded[1] = -1;
    for (int axis = nest->nd - 1; axis >= 0 && found < 2; axis--) {
        if (nest->spread[nest->n_operands - 1].strides[axis] == 0) {
            folded[found++] = axis;
        }
    }
}

_Static_assert(DL_PLACE_WORDS * (DL_FOLD_OPERANDS + 1) + 1 + DL_FOLD_STEPS + 2 * DL_FOLD_OPERANDS <= DL_BLOCK_WORDS, "the words of a kernel that folds");

/* The kernel folds; its operands, the last of which is the result, only have to be moved. */
static void
fold_in_kernel(DlWork *work)
{
    DlNest *nest = work->nest;
    int inner = nest->nd - 1, n = nest->n_operands - 1, folded[2];
    npy_intp at[DL_MAX_DIMS] = {0}, length = nest->shape[inner];
    npy_intp *words = work->block + dl_word_loop(nest->n_operands, 0), *lengths = words + DL_FOLD_LENGTHS;
    npy_intp *steps = words + DL_FOLD_STEPS;
    point_at(work, at);
    find_folded(nest, folded);
    npy_intp rows = nest->shape[folded[0]], few = rows;
    if (length * work->itemsize > DL_FOLD_BYTES && rows * length * work->itemsize > TILE_BYTES) {
        few = TILE_BYTES / (length * work->itemsize); /* of which each call reads all columns, some at a time */
        few = few < LEAST_ROWS ? LEAST_ROWS : few;
        folded[1] = -1;
    }
    for (int i = 0; i < nest->n_operands; i++) {
        work->block[dl_word_stride(i)] = nest->spread[i].strides[inner];
    }
    for (int k = 0; k < 2; k++) {
        lengths[k] = folded[k] < 0 ? 1 : nest->shape[folded[k]];
        for (int i = 0; i < n; i++) {
            steps[k * n + i] = folded[k] < 0 ? 0 : nest->spread[i].strides[folded[k]];
        }
    }
    for (int k = 0; k < 2 && folded[k] >= 0; k++) {
        nest->shape[folded[k]] = 1;
    }
    do {
        for (npy_intp start = 0; start < rows; start += few) {
            lengths[0] = rows - start < few ? rows - start : few;
            work->failed |= work->variant->address(work->block, length);
            for (int i = 0; i < n; i++) {
                work->block[dl_word_pointer(i)] += lengths[0] * steps[i];
            }
        }
        for (int i = 0; i < n; i++) {
            work->block[dl_word_pointer(i)] -= rows * steps[i];
        }
    } while (step_on(work, at, inner - 1));
}

/* ---- parts ---- */

/* Cut along the outermost kept axis that is long enough, or else the longest kept one. */
static int
cut_axis(DlWork *work)
{
    enum { LONG = 16, LEAST = 8192 }; /* indices; elements of a part */
    const DlNest *nest = work->nest;
    const npy_intp *kept = nest->spread[nest->n_operands - 1].strides;
    int inner = nest->nd - 1, best = -1;
    for (int axis = 0; axis < nest->nd; axis++) {
        npy_intp length = kept[axis] ? nest->shape[axis] : 0;
        best = length > 1 && (best < 0 || length > nest->shape[best]) ? axis : best;
        if (length >= LONG) {
            break;
        }
    }
    if (best < 0) {
        return 1;
    }
    npy_intp others = work->runs->size / nest->shape[best];
    work->cut = DL_CUT_AXIS;
    work->axis = best;
    return dl_threads_cut(nest->shape[best], best == inner ? DL_FOLD_BYTES / work->itemsize : 1, (LEAST + others - 1) / others,
                          &work->few);
}

/* Halve a run as a pairwise sum does, as often as leaves enough to do. */
static int
cut_tree(DlWork *work)
{
    enum { LEAST = 16384, MOST = 5 };
    npy_intp n = work->runs->shape[0];
    work->cut = DL_CUT_TREE;
    for (work->few = 0; work->few < MOST && n >> (work->few + 1) >= LEAST; work->few++) {
    }
    return 1 << work->few;
}

int
dl_reduce_cut(DlWork *work)
{
    enum { LEAST = 8192, COLUMNS = 512, VECTORS = 64 }; /* elements of a part; and its columns */
    const DlRuns *runs = work->runs;
    npy_intp each = runs->nd ? runs->size / runs->shape[0] : 0;
    if (work->folds) {
        return cut_axis(work);
    }
    if (runs->nd == 1 && runs->reduced[0]) {
        return cut_tree(work);
    }
    if (runs->nd == 2 && runs->reduced[0]) {
        work->cut = DL_CUT_COLUMNS;
        return dl_threads_cut(runs->shape[1], VECTORS, COLUMNS, &work->few);
    }
    if (runs->nd < 2 || runs->reduced[0] || (work->across && work->nest->nd != 2)) {
        return 1;
    }
    work->cut = DL_CUT_OUTER;
    return dl_threads_cut(runs->shape[0], 1, (LEAST + each - 1) / each, &work->few);
}

void
dl_reduce_begin(DlWork *work)
{
    work->from = 0;
    work->to = work->runs->nd ? work->runs->shape[0] : 0;
    if (work->data == NULL && !work->folds) {
        run_along(work, work->nest->nd - 1 - work->across);
    }
}

/* The work from index `from` to `to`. */
static void
fold_range(DlWork *work)
{
    const DlRuns *runs = work->runs;
    if (work->folds) {
        fold_in_kernel(work);
    }
    else if (work->data == NULL && work->across) {
        fold_across(work);
    }
    else if (runs->nd == 0 || runs->reduced[runs->nd - 1]) {
        fold_runs(work);
    }
    else {
        fold_rows(work);
    }
}

void
dl_reduce_all(DlWork *work)
{
    work->fold->start(work->out, work->out_size);
    dl_reduce_begin(work);
    fold_range(work);
    dl_reduce_end(work, 1);
}

/* Part of a tree: its number says which halves it is in. */
static void
fold_subtree(DlWork *work, int part)
{
    npy_intp start = 0, n = work->runs->shape[0];
    for (int depth = (int)work->few - 1; depth >= 0; depth--) {
        npy_intp half = dl_fold_half(n, work->fold->kind == 'c');
        int second = part >> depth & 1;
        start += second ? half : 0;
        n = second ? n - half : half;
    }
    fold_run(work, start, n, (char *)work->cells[part]);
}

/* Part of a nest: `few` indices of an axis. */
static void
fold_indices(DlWork *work, int part)
{
    DlNest whole = *work->nest, *nest = work->nest;
    npy_intp start = part * work->few, rest = nest->shape[work->axis] - start;
    nest->shape[work->axis] = rest < work->few ? rest : work->few;
    for (int i = 0; i < nest->n_operands; i++) {
        nest->spread[i].data += start * nest->spread[i].strides[work->axis];
    }
    fold_in_kernel(work);
    *nest = whole;
}

void
dl_reduce_part(DlWork *work, int part)
{
    npy_intp length = work->runs->shape[work->cut == DL_CUT_COLUMNS];
    work->from = part * work->few;
    work->to = length - work->from < work->few ? length : work->from + work->few;
    switch (work->cut) {
    case DL_CUT_TREE:
        fold_subtree(work, part);
        return;
    case DL_CUT_AXIS:
        fold_indices(work, part);
        return;
    case DL_CUT_COLUMNS:
        fold_columns(work);
        return;
    default:
        fold_range(work);
    }
}

/* Whether a result is unsure after all. */
static int
is_doubtful(const DlWork *work)
{
    int found = work->fold->doubtful != NULL && work->fold->doubtful(work->out, work->out_size);
    /* NB: NumPy's loops keep the NaN that they meet, or make np.nan of it, by how long the array is */
    int odd = work->nans.met != DL_MET_NONE && !(work->nans.met == DL_ALIKE && dl_alike_is_usual(&work->nans));
    return odd || found & DL_DOUBT_LOST || (found && !(work->looks && dl_alike_known(&work->alike)));
}

void
dl_reduce_end(DlWork *work, int n_parts)
{
    for (int step = 1; step < n_parts && work->cut == DL_CUT_TREE; step *= 2) {
        for (int i = 0; i < n_parts; i += 2 * step) {
            work->unsure |= fold_row(work, (char *)work->cells[i], (char *)work->cells[i + step], 1);
        }
    }
    if (n_parts > 1 && work->cut == DL_CUT_TREE) {
        work->unsure |= fold_row(work, work->out, (char *)work->cells[0], 1);
    }
    if (work->folds) {
        work->unsure |= (work->failed & DL_RETURNED_MET_NAN) != 0;
        work->failed &= ~DL_RETURNED_MET_NAN;
        work->unsure |= work->fold->pairwise && is_doubtful(work);
        return;
    }
    work->unsure |= is_doubtful(work);
}
