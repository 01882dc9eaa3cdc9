/* Map: run a fused kernel over a shape.
 *
 * Operands are spread over the shape (broadcasting is stride 0), fresh results get NumPy's memory order (layout.c), the
 * axes are ordered and merged into the shortest loop nest, and the kernel runs the innermost loop.
 */
#include "program/program.h"
#include "program/block_rows.h"
#include "maps.h"

#include "kernel_code.h"
#include "memory/memory.h"

/* Write sizes into shape and their product; 0, or 1 to decline. */
static DlStatus
get_shape(DlRun *run, const DlDims *dims, npy_intp *shape, npy_intp *size)
{
    npy_intp product = 1;
    if (dl_dims_get(run, dims, shape)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    for (int i = 0; i < dims->n; i++) {
        if (__builtin_mul_overflow(product, shape[i], &product)) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
    }
    *size = product;
    return 0;
}

/* Spread a geometry over shape; 1 if it does not broadcast. */
static int
spread_array(DlSpread *spread, int own_nd, const npy_intp *own_shape, const npy_intp *own_strides, int nd,
             const npy_intp *shape)
{
    int missing = nd - own_nd;
    if (missing < 0) {
        return 1;
    }
    for (int axis = 0; axis < nd; axis++) {
        int own = axis - missing;
        if (own < 0 || (own_shape[own] == 1 && shape[axis] != 1)) {
            spread->strides[axis] = 0;
        }
        else if (own_shape[own] == shape[axis]) {
            spread->strides[axis] = shape[axis] == 1 ? 0 : own_strides[own];
        }
        else {
            return 1;
        }
    }
    return 0;
}

DlStatus
dl_map_spread(DlRun *run, DlMapStep *step, int nd, const npy_intp *shape, DlNest *nest, char (*cells)[DL_CELL])
{
    for (int i = 0; i < step->kernel.n_operands; i++) {
        DlOperand *operand = &step->operands[i];
        PyArray_Descr *descr = step->kernel.descrs[i];
        DlSpread *spread = &nest->spread[i];
        spread->is_array = 0;
        spread->itemsize = PyDataType_ELSIZE(descr);
        if (operand->kind == DL_FROM_REG) {
            DlReg *reg = &run->regs[operand->index];
            if (reg->kind != DL_ARRAY && reg->kind != DL_SCALAR) {
                return dl_decline(run, DL_REASON_INPUT);
            }
            if (reg->kind == DL_SCALAR) {
                spread->data = dl_reg_cell(reg);
            }
            else {
                spread->data = reg->data;
                spread->is_array = 1;
            }
            if (spread->data == NULL || reg->descr->type_num != descr->type_num) {
                return dl_decline(run, DL_REASON_INPUT);
            }
            if (spread_array(spread, spread->is_array ? reg->nd : 0, reg->shape, reg->strides, nd, shape)) {
                return dl_decline(run, DL_REASON_SHAPE);
            }
        }
        else {
            spread->data = operand->cell;
            if (operand->kind == DL_FROM_NUMBER) {
                spread->data = cells[i];
                if (dl_cell_fill(run, operand->index, descr, cells[i])) {
                    return dl_decline(run, DL_REASON_CONVERT);
                }
            }
            memset(spread->strides, 0, (size_t)nd * sizeof *spread->strides);
        }
    }
    nest->n_operands = step->kernel.n_operands;
    return 0;
}

/* The operands' own geometries, for layout.c. */
static void
get_layouts(const DlRun *run, const DlMapStep *step, const DlNest *nest, DlLayout *layouts)
{
    for (int i = 0; i < step->kernel.n_operands; i++) {
        DlLayout *layout = &layouts[i];
        layout->nd = 0;
        layout->cast = layout->made = 0;
        layout->itemsize = (int)nest->spread[i].itemsize;
        if (nest->spread[i].is_array) {
            const DlReg *reg = &run->regs[step->operands[i].index];
            layout->nd = reg->nd;
            memcpy(layout->shape, reg->shape, (size_t)reg->nd * sizeof *layout->shape);
            memcpy(layout->strides, reg->strides, (size_t)reg->nd * sizeof *layout->strides);
            int owns = reg->object != NULL && PyArray_CHKFLAGS((PyArrayObject *)reg->object, NPY_ARRAY_OWNDATA);
            layout->made = step->operands[i].index >= run->program->n_inputs && (owns || reg->bordered);
        }
    }
}

static inline npy_intp
magnitude(npy_intp stride)
{
    return stride < 0 ? -stride : stride;
}

/* Whether every operand's strides only shrink from axis to axis: then no operation of NumPy leaves C order. */
static int
keeps_c_order(const DlNest *nest, int nd)
{
    for (int i = 0; i < nest->n_operands; i++) {
        npy_intp outer = NPY_MAX_INTP;
        for (int axis = 0; axis < nd; axis++) {
            npy_intp stride = magnitude(nest->spread[i].strides[axis]);
            if (stride > outer) {
                return 0;
            }
            outer = stride ? stride : outer;
        }
    }
    return 1;
}

DlStatus
dl_map_layouts(DlRun *run, const DlMapStep *step, const DlNest *nest, int nd, const npy_intp *shape, npy_intp size,
               DlLayout *results)
{
    const DlKernel *kernel = &step->kernel;
    if (nd <= 1 || (size != 0 && keeps_c_order(nest, nd) && !kernel->copies)) {
        for (int i = 0; i < kernel->n_results; i++) {
            results[i].nd = nd;
            results[i].itemsize = kernel->itemsizes[kernel->results[i]];
            dl_layout_contiguous(nd, shape, results[i].itemsize, 0, results[i].strides);
        }
        return 0;
    }
    DlLayout operands[DL_MAX_OPERANDS];
    get_layouts(run, step, nest, operands);
    if (dl_layout_results(kernel, operands, step->into, nd, shape, results)) {
        return dl_decline(run, DL_REASON_LAYOUT);
    }
    return 0;
}

/* ---- the loop nest ---- */

/* Whether all spread arrays are dense in C order over shape: one loop over everything. */
static int
flatten(DlNest *nest, int nd, const npy_intp *shape)
{
    for (int i = 0; i < nest->n_operands; i++) {
        const DlSpread *spread = &nest->spread[i];
        if (spread->is_array && !dl_is_packed(spread->itemsize, nd, shape, spread->strides)) {
            return 0;
        }
    }
    for (int i = 0; i < nest->n_operands; i++) {
        nest->spread[i].strides[0] = nest->spread[i].is_array ? nest->spread[i].itemsize : 0;
    }
    nest->nd = 1;
    nest->shape[0] = nest->size;
    return 1;
}

/* Whether axis `a` should run inside axis `b`: results decide first, then the majority of the operands' bytes. */
static int
runs_inside(const DlNest *nest, int first_result, int a, int b)
{
    npy_intp weight = 0;
    for (int i = nest->n_operands - 1; i >= 0; i--) {
        npy_intp inner = magnitude(nest->spread[i].strides[a]), outer = magnitude(nest->spread[i].strides[b]);
        if (inner != outer) {
            weight += (inner < outer ? 1 : -1) * (i >= first_result ? 2 : 1);
        }
    }
    return weight > 0;
}

void
dl_nest_merge(DlNest *nest, const int *order, int n, const npy_intp *shape)
{
    npy_intp merged[DL_MAX_DIMS][DL_MAX_OPERANDS];
    int count = 0;
    for (int i = 0; i < n; i++) {
        int axis = order[i], can_merge = count > 0;
        if (shape[axis] == 1) {
            continue;
        }
        for (int j = 0; j < nest->n_operands && can_merge; j++) {
            can_merge = merged[count - 1][j] == nest->spread[j].strides[axis] * shape[axis];
        }
        if (can_merge) {
            nest->shape[count - 1] *= shape[axis];
        }
        else {
            nest->shape[count++] = shape[axis];
        }
        for (int j = 0; j < nest->n_operands; j++) {
            merged[count - 1][j] = nest->spread[j].strides[axis];
        }
    }
    if (count == 0) {
        nest->shape[0] = 1;
        for (int j = 0; j < nest->n_operands; j++) {
            merged[0][j] = nest->spread[j].is_array ? nest->spread[j].itemsize : 0;
        }
        count = 1;
    }
    nest->nd = count;
    for (int j = 0; j < nest->n_operands; j++) {
        for (int i = 0; i < count; i++) {
            nest->spread[j].strides[i] = merged[i][j];
        }
    }
}

void
dl_nest_order(DlNest *nest, int first_result, int nd, const npy_intp *shape)
{
    if (flatten(nest, nd, shape)) {
        return;
    }
    int order[DL_MAX_DIMS], n = 0; /* outermost first */
    for (int axis = 0; axis < nd; axis++) {
        if (shape[axis] == 1) {
            continue;
        }
        int at = n++;
        for (; at > 0 && runs_inside(nest, first_result, order[at - 1], axis); at--) {
            order[at] = order[at - 1];
        }
        order[at] = axis;
    }
    dl_nest_merge(nest, order, n, shape);
}

/* The code for an ordered nest, compiled if need be. */
static DlStatus
find_code(DlRun *run, DlMapStep *step, const DlNest *nest, DlVariant **used)
{
    enum { LONG_ROW = 2048 }; /* elements, beside which a call a row is nothing */
    int inner = nest->nd - 1, rows = inner > 0 && nest->shape[inner] < LONG_ROW;
    uint8_t classes[DL_MAX_OPERANDS];
    for (int i = 0; i < nest->n_operands; i++) {
        const npy_intp *strides = nest->spread[i].strides;
        classes[i] = dl_kernel_class(strides[inner], nest->spread[i].itemsize);
        if (rows && strides[inner] == 0 && strides[inner - 1] != 0) {
            classes[i] = DL_CLASS_OF_ROW;
        }
    }
    return dl_kernel_variant(run, &step->kernel, classes, rows, (double)nest->size, used);
}

DlStatus
dl_map_prepare(DlRun *run, DlMapStep *step, DlNest *nest, int nd, const npy_intp *shape, DlVariant **used)
{
    dl_nest_order(nest, step->kernel.n_operands, nd, shape);
    return dl_map_merges_rows(nest, step->kernel.n_operands) ? 2 : find_code(run, step, nest, used);
}

/* Order the nest, compile the kernel for its strides if need be, and run it; *used: the code, NULL if nothing is run. */
static DlStatus
run_kernel(DlRun *run, DlMapStep *step, DlNest *nest, int nd, const npy_intp *shape, DlVariant **used)
{
    *used = NULL;
    if (nest->size == 0) {
        return 0;
    }
    dl_nest_order(nest, step->kernel.n_operands, nd, shape);
    if (dl_map_merges_rows(nest, step->kernel.n_operands)) {
        uint8_t classes[DL_MAX_OPERANDS];
        DlVariant *dense;
        for (int i = 0; i < nest->n_operands; i++) {
            const DlSpread *spread = &nest->spread[i];
            int number = spread->strides[0] == 0 && spread->strides[1] == 0;
            classes[i] = dl_kernel_class(number ? 0 : spread->itemsize, spread->itemsize);
        }
        DlStatus found = dl_kernel_variant(run, &step->kernel, classes, 0, (double)nest->size, &dense);
        return found ? found : dl_map_launch_merged(run, nest, dense);
    }
    DlStatus status = find_code(run, step, nest, used);
    return status ? status : dl_map_launch(run, nest, *used, NULL);
}

DlStatus
dl_map_run_nest(DlRun *run, DlMapStep *step, DlNest *nest, int nd, const npy_intp *shape)
{
    DlVariant *used;
    return run_kernel(run, step, nest, nd, shape, &used);
}

/* ---- targets ---- */

/* Whether writing `target` may change elements of `other` that belong to other positions. */
static int
may_clash(const DlSpread *target, const DlSpread *other, int nd, const npy_intp *shape)
{
    if (!other->is_array
        || !dl_bytes_meet(dl_bytes_of(target->data, target->itemsize, nd, shape, target->strides),
                          dl_bytes_of(other->data, other->itemsize, nd, shape, other->strides))) {
        return 0;
    }
    int same = target->data == other->data && target->itemsize == other->itemsize
               && memcmp(target->strides, other->strides, (size_t)nd * sizeof *target->strides) == 0;
    return !same && !dl_layout_disjoint(target->data, target->itemsize, target->strides, other->data, other->itemsize,
                                    other->strides, nd, shape);
}

DlStatus
dl_map_spread_target(DlRun *run, const DlReg *reg, PyArray_Descr *descr, int nd, const npy_intp *shape,
                     DlSpread *spread)
{
    if (reg->kind != DL_ARRAY || reg->descr->type_num != descr->type_num) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    if (!reg->writeable) {
        return dl_decline(run, DL_REASON_READONLY);
    }
    if (reg->nd != nd || (nd && memcmp(reg->shape, shape, (size_t)nd * sizeof *shape) != 0)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    spread->data = reg->data;
    int empty = 0, repeats = 0;
    for (int axis = 0; axis < nd; axis++) {
        spread->strides[axis] = shape[axis] == 1 ? 0 : reg->strides[axis];
        repeats |= spread->strides[axis] == 0 && shape[axis] > 1;
        empty |= shape[axis] == 0; /* NB: an empty array of NumPy has strides of zero */
    }
    return repeats && !empty ? dl_decline(run, DL_REASON_READONLY) : 0;
}

int
dl_map_lies_forward(const DlRun *run, const DlMapStep *step)
{
    for (int i = 0; i < step->kernel.n_operands; i++) {
        if (!step->kernel.forward[i] || step->operands[i].kind != DL_FROM_REG) {
            continue;
        }
        const DlReg *reg = &run->regs[step->operands[i].index];
        for (int axis = 0; axis < reg->nd && reg->kind == DL_ARRAY; axis++) {
            if (reg->strides[axis] < 0) { /* NB: NumPy looks at the stride of an axis of length 1, too */
                return 0;
            }
        }
    }
    return 1;
}

/* A target that is computed aside because its memory is also read. over_itself: instead of what was computed, `source` is
 * copied to it in the end. */
typedef struct {
    char *buffer;
    DlSpread target, source;
    int over_itself;
} DlAside;

/* Whether NumPy would copy a vector over itself element by element, with what it has just written: its assignments look
 * for overlap only where there are more axes or opposite directions (array_assign_array.c). */
static int
copies_over_itself(const DlMapStep *step, const DlNest *nest, int i, int nd, const npy_intp *shape)
{
    int first = step->kernel.n_operands, source = step->kernel.results[i];
    const DlSpread *target = &nest->spread[first + i];
    if (nd != 1 || source >= first || !may_clash(target, &nest->spread[source], nd, shape)) {
        return 0;
    }
    npy_intp from = nest->spread[source].strides[0], to = target->strides[0];
    return from != to && from != 0 && (from < 0) == (to < 0);
}

/* Put targets whose memory other positions still read aside; 0, 1 or -1. */
static DlStatus
put_aside(DlRun *run, const DlMapStep *step, DlNest *nest, int nd, const npy_intp *shape, DlAside *asides)
{
    int first = step->kernel.n_operands;
    for (int i = 0; i < step->kernel.n_results; i++) {
        DlSpread *target = &nest->spread[first + i];
        int clashes = 0;
        for (int j = 0; j < first + i && step->into[i]; j++) {
            if (j >= first && may_clash(target, &nest->spread[j], nd, shape)) {
                return dl_decline(run, DL_REASON_OVERLAP); /* two targets: their order would matter */
            }
            clashes |= j < first && may_clash(target, &nest->spread[j], nd, shape);
        }
        if (clashes) {
            asides[i].buffer = dl_memory_take((size_t)(nest->size * target->itemsize));
            if (asides[i].buffer == NULL) {
                PyErr_NoMemory();
                return -1;
            }
            asides[i].target = *target;
            asides[i].over_itself = copies_over_itself(step, nest, i, nd, shape);
            if (asides[i].over_itself) {
                asides[i].source = nest->spread[step->kernel.results[i]];
            }
            target->data = asides[i].buffer;
            dl_layout_contiguous(nd, shape, target->itemsize, 0, target->strides);
        }
    }
    return 0;
}

/* Copy a vector over itself, one element after the other, from the end that NumPy begins at (raw_array_assign_array). */
static void
copy_over_itself(const DlSpread *target, const DlSpread *source, npy_intp n)
{
    npy_intp from = source->strides[0], to = target->strides[0];
    char *src = source->data, *dst = target->data;
    int backward = to < 0;
    if (backward) {
        src += (n - 1) * from;
        dst += (n - 1) * to;
    }
    if (src < dst && src + n * (from < 0 ? -from : from) > dst) {
        backward = !backward;
    }
    src = source->data + (backward ? (n - 1) * from : 0);
    dst = target->data + (backward ? (n - 1) * to : 0);
    from = backward ? -from : from;
    to = backward ? -to : to;
    dl_copy_strided(dst, &to, src, &from, 1, &n, target->itemsize);
}

/* Copy what was computed aside to its place and free it. */
static void
put_back(const DlNest *nest, int nd, const npy_intp *shape, int n, DlAside *asides, int store)
{
    for (int i = 0; i < n; i++) {
        if (asides[i].buffer == NULL) {
            continue;
        }
        if (store && nest->size) {
            npy_intp strides[DL_MAX_DIMS], itemsize = asides[i].target.itemsize;
            dl_layout_contiguous(nd, shape, itemsize, 0, strides);
            if (asides[i].over_itself) {
                copy_over_itself(&asides[i].target, &asides[i].source, nest->size);
            }
            else {
                dl_copy_strided(asides[i].target.data, asides[i].target.strides, asides[i].buffer, strides, nd, shape,
                                itemsize);
            }
        }
        dl_memory_give(asides[i].buffer);
    }
}

/* ---- the step ---- */

/* Make or find every result; fresh arrays are put into `fresh` (new references). */
static DlStatus
prepare_results(DlRun *run, DlMapStep *step, DlNest *nest, int nd, const npy_intp *shape, PyObject **fresh)
{
    DlKernel *kernel = &step->kernel;
    DlLayout layouts[DL_MAX_OPERANDS];
    int laid_out = 0, first = kernel->n_operands;
    for (int i = 0; i < kernel->n_results; i++) {
        DlSpread *spread = &nest->spread[first + i];
        PyArray_Descr *descr = kernel->descrs[first + i];
        spread->itemsize = PyDataType_ELSIZE(descr);
        spread->is_array = 1;
        if (step->into[i]) {
            DlStatus status = dl_map_spread_target(run, &run->regs[step->outs[i]], descr, nd, shape, spread);
            if (status != 0) {
                return status;
            }
            continue;
        }
        if (step->scalar[i]) {
            if (nd != 0) {
                return dl_decline(run, DL_REASON_SHAPE);
            }
            spread->data = run->regs[step->outs[i]].cell.bytes;
            continue;
        }
        if (!laid_out) {
            DlStatus status = dl_map_layouts(run, step, nest, nd, shape, nest->size, layouts);
            if (status != 0) {
                return status;
            }
            laid_out = 1;
        }
        fresh[i] = dl_block_rows_array(run, step->outs[i], descr, nd, shape, layouts[i].strides);
        if (fresh[i] == NULL) {
            return -1;
        }
        spread->data = PyArray_BYTES((PyArrayObject *)fresh[i]);
        for (int axis = 0; axis < nd; axis++) {
            spread->strides[axis] = shape[axis] == 1 ? 0 : layouts[i].strides[axis];
        }
    }
    nest->n_operands = first + kernel->n_results;
    return 0;
}

DlStatus
dl_map_run(DlRun *run, DlMapStep *step)
{
    npy_intp shape[DL_MAX_DIMS];
    int nd = step->shape.n, n_results = step->kernel.n_results;
    if (step->kernel.forward && !dl_map_lies_forward(run, step)) {
        return dl_decline(run, DL_REASON_REVERSED);
    }
    DlStatus status = dl_plan_run(run, step);
    if (status != 2) {
        return status;
    }
    DlNest nest;
    DlVariant *used = NULL;
    char cells[DL_MAX_OPERANDS][DL_CELL];
    PyObject *fresh[DL_MAX_OPERANDS];
    DlAside asides[DL_MAX_OPERANDS];
    status = get_shape(run, &step->shape, shape, &nest.size);
    if (status == 0) {
        status = dl_map_spread(run, step, nd, shape, &nest, cells);
    }
    if (status != 0) {
        return status;
    }
    int any_into = 0, any_aside = 0;
    for (int i = 0; i < n_results; i++) {
        fresh[i] = NULL;
        asides[i].buffer = NULL;
        any_into |= step->into[i];
    }
    status = prepare_results(run, step, &nest, nd, shape, fresh);
    if (status == 0 && any_into && nest.size) {
        status = put_aside(run, step, &nest, nd, shape, asides);
    }
    if (status == 0) {
        status = run_kernel(run, step, &nest, nd, shape, &used);
    }
    for (int i = 0; i < n_results; i++) {
        any_aside |= asides[i].buffer != NULL;
    }
    if (any_into) {
        put_back(&nest, nd, shape, n_results, asides, status == 0);
    }
    if (status == 0) {
        dl_map_take_results(run, step, fresh);
        if (used != NULL && !any_aside) {
            dl_plan_note(run, step, &nest, used, shape);
        }
    }
    for (int i = 0; i < n_results; i++) {
        Py_XDECREF(fresh[i]);
    }
    return status;
}

DlStatus
dl_map_open(DlRun *run, DlMapStep *step, DlNest *nest, npy_intp *shape, char (*cells)[DL_CELL], PyObject **fresh,
            int *clashes)
{
    int nd = step->shape.n, first = step->kernel.n_operands;
    *clashes = 0;
    memset(fresh, 0, (size_t)step->kernel.n_results * sizeof *fresh);
    if (step->kernel.forward && !dl_map_lies_forward(run, step)) {
        return dl_decline(run, DL_REASON_REVERSED);
    }
    DlStatus status = get_shape(run, &step->shape, shape, &nest->size);
    status = status ? status : dl_map_spread(run, step, nd, shape, nest, cells);
    status = status ? status : prepare_results(run, step, nest, nd, shape, fresh);
    for (int i = 0; i < step->kernel.n_results && status == 0 && nest->size; i++) {
        for (int j = 0; j < first + i && step->into[i] && !*clashes; j++) {
            *clashes = may_clash(&nest->spread[first + i], &nest->spread[j], nd, shape);
        }
    }
    return status;
}

DlStatus
dl_map_fresh(DlRun *run, DlMapStep *step, int nd, const npy_intp *shape, PyObject **result)
{
    DlNest nest;
    char cells[DL_MAX_OPERANDS][DL_CELL];
    nest.size = 1;
    for (int i = 0; i < nd; i++) {
        nest.size *= shape[i];
    }
    *result = NULL;
    DlStatus status = dl_map_spread(run, step, nd, shape, &nest, cells);
    if (status == 0) {
        status = prepare_results(run, step, &nest, nd, shape, result);
    }
    DlVariant *used;
    if (status == 0) {
        status = run_kernel(run, step, &nest, nd, shape, &used);
    }
    if (status != 0) {
        Py_CLEAR(*result);
    }
    return status;
}
