/* Loop kernels: many iterations of a loop whose body is elementwise, run by one kernel on the arrays of the loop.
 *
 * The first iterations run step by step (loop.c): they make arrays of the loop's own, in NumPy's memory order. Once these
 * are such that another iteration would give arrays of the same order, the kernel iterates on them in place: then what is
 * carried after any number of iterations differs in the elements alone. INVARIANT: an array that the body would make
 * anew is held by its register only, so nobody else sees it change; what is written shares memory with nothing that the
 * kernel reads at another place; between two runs of the kernel the registers hold what the body would have made by then.
 */
#include "program.h"
#include "kernels/maps.h"

#include "kernels/kernel_code.h"

/* Whether the register holds an array that is the loop's own, over shape. */
static int
is_own(const DlReg *reg, const PyArray_Descr *descr, int nd, const npy_intp *shape)
{
    if (reg->kind != DL_ARRAY || reg->object == NULL || Py_REFCNT(reg->object) != 1 || reg->nd != nd
        || reg->descr->type_num != descr->type_num || !reg->writeable) {
        return 0;
    }
    if (!PyArray_CheckExact(reg->object) || !PyArray_CHKFLAGS((PyArrayObject *)reg->object, NPY_ARRAY_OWNDATA)) {
        return 0;
    }
    return nd == 0 || memcmp(reg->shape, shape, (size_t)nd * sizeof *shape) == 0;
}

/* Whether the arrays that the body makes anew lie as those of another iteration would.
 * NB: an array that is written counts as one that the kernel has made; with two or more axes it has to lie like that. */
static int
keeps_layouts(DlRun *run, const DlMapStep *map, const DlNest *nest, int nd, const npy_intp *shape)
{
    DlLayout layouts[DL_MAX_OPERANDS];
    int fresh = 0;
    for (int i = 0; i < map->kernel.n_results; i++) {
        fresh |= !map->into[i];
    }
    if (!fresh) {
        return 1;
    }
    if (dl_map_layouts(run, map, nest, nd, shape, nest->size, layouts) != 0) {
        return 0;
    }
    for (int i = 0; i < map->kernel.n_results; i++) {
        const npy_intp *strides = run->regs[map->outs[i]].strides;
        if (nd > map->into[i] && memcmp(layouts[i].strides, strides, (size_t)nd * sizeof *strides) != 0) {
            return 0;
        }
    }
    return 1;
}

/* The array of which register `reg` shows a row or an element in this iteration, or reg itself. */
static const DlReg *
whole_of(const DlRun *run, const DlLoopKernel *kernel, int32_t reg)
{
    for (int i = 0; i < kernel->n_views; i++) {
        const DlViewStep *view = &run->program->steps[kernel->views[i]].view;
        if (view->dst == reg) {
            return &run->regs[view->src];
        }
    }
    return &run->regs[reg];
}

/* Whether result number i shares memory with nothing but the operand it follows, and rows of the array it is a row of
 * (iterate.py: those have the same elements in the same order, or none in common). */
static int
stands_alone(const DlRun *run, const DlLoopKernel *kernel, int i)
{
    const DlMapStep *map = &kernel->map;
    int n_operands = map->kernel.n_operands;
    const DlReg *target = whole_of(run, kernel, map->outs[i]);
    for (int j = 0; j < n_operands + i; j++) {
        if (j < n_operands && map->operands[j].kind != DL_FROM_REG) {
            continue;
        }
        int32_t reg = j < n_operands ? map->operands[j].index : map->outs[j - n_operands];
        const DlReg *other = whole_of(run, kernel, reg);
        int rows = kernel->varies[n_operands + i] == DL_VARIES_ROW && kernel->varies[j] == DL_VARIES_ROW;
        int may = j < n_operands && (rows ? other == target : reg == map->outs[i]);
        if (!may && target->kind == DL_ARRAY && other->kind == DL_ARRAY && dl_regs_may_share(target, other)) {
            return 0;
        }
    }
    return 1;
}

/* Make the elements and rows of this iteration. */
static DlStatus
make_views(DlRun *run, const DlLoopKernel *kernel)
{
    DlStatus status = 0;
    for (int i = 0; i < kernel->n_views && status == 0; i++) {
        status = dl_view_run(run, &run->program->steps[kernel->views[i]].view);
    }
    return status;
}

/* Empty the registers of the elements and rows. */
static void
forget_views(DlRun *run, const DlLoopKernel *kernel)
{
    for (int i = 0; i < kernel->n_views; i++) {
        dl_reg_release(run, &run->regs[run->program->steps[kernel->views[i]].view.dst]);
    }
}

/* Find where operands and results lie; 0, or 2 when a result cannot be changed in place. */
static DlStatus
spread_all(DlRun *run, DlLoopKernel *kernel, DlIteration *iteration, int nd, const npy_intp *shape)
{
    DlMapStep *map = &kernel->map;
    DlNest *nest = &iteration->nest;
    int n_operands = map->kernel.n_operands;
    if (map->kernel.forward && !dl_map_lies_forward(run, map)) {
        return 2;
    }
    if (dl_map_spread(run, map, nd, shape, nest, (char(*)[DL_CELL])iteration->cells) != 0) {
        return 2;
    }
    for (int i = 0; i < map->kernel.n_results; i++) {
        const DlReg *reg = &run->regs[map->outs[i]];
        PyArray_Descr *descr = map->kernel.descrs[n_operands + i];
        DlSpread *spread = &nest->spread[n_operands + i];
        spread->is_array = 1;
        spread->itemsize = PyDataType_ELSIZE(descr);
        if (!map->into[i] && !is_own(reg, descr, nd, shape)) {
            return 2;
        }
        if (dl_map_spread_target(run, reg, descr, nd, shape, spread) != 0 || !stands_alone(run, kernel, i)) {
            return 2;
        }
    }
    return keeps_layouts(run, map, nest, nd, shape) ? 0 : 2;
}

DlStatus
dl_iterate_prepare(DlRun *run, DlLoopKernel *kernel, DlIteration *iteration)
{
    DlMapStep *map = &kernel->map;
    DlNest *nest = &iteration->nest;
    npy_intp shape[DL_MAX_DIMS];
    int nd = map->shape.n, n_operands = map->kernel.n_operands;
    if (dl_dims_get(run, &map->shape, shape)) {
        return 2;
    }
    nest->size = 1;
    for (int axis = 0; axis < nd; axis++) {
        nest->size *= shape[axis]; /* the first iterations' Map has found that it does not overflow */
    }
    DlStatus status = nest->size == 0 ? 2 : make_views(run, kernel);
    status = status ? 2 : spread_all(run, kernel, iteration, nd, shape);
    forget_views(run, kernel);
    if (status != 0) {
        return status;
    }
    nest->n_operands = n_operands + map->kernel.n_results;
    dl_nest_order(nest, n_operands, nd, shape);
    uint8_t classes[DL_MAX_OPERANDS];
    for (int i = 0; i < nest->n_operands; i++) {
        const DlSpread *spread = &nest->spread[i];
        classes[i] = dl_kernel_class(spread->strides[nest->nd - 1], spread->itemsize);
        if (kernel->varies[i] == DL_VARIES_ROW && (nest->nd > 1 || classes[i] == 1)) {
            return 2; /* its addresses are those of a single loop over elements */
        }
        classes[i] = kernel->varies[i] == DL_VARIES_NUMBER ? DL_CLASS_ITERATED : classes[i];
    }
    return dl_kernel_variant(run, &map->kernel, classes, 0, (double)nest->size, &iteration->variant);
}

npy_intp
dl_iterate_row_bytes(const DlLoopKernel *kernel)
{
    return (npy_intp)kernel->n_varying * DL_CELL;
}

DlStatus
dl_iterate_fill(DlRun *run, const DlLoopKernel *kernel, char *row)
{
    const DlMapStep *map = &kernel->map;
    int n_operands = map->kernel.n_operands;
    DlStatus status = make_views(run, kernel);
    for (int i = 0; i < n_operands + map->kernel.n_results && status == 0; i++) {
        if (kernel->varies[i] == DL_VARIES_NOT) {
            continue;
        }
        const DlReg *reg = &run->regs[i < n_operands ? map->operands[i].index : map->outs[i - n_operands]];
        if (kernel->varies[i] == DL_VARIES_ROW) {
            memcpy(row, &reg->data, sizeof reg->data);
        }
        else if (map->operands[i].kind == DL_FROM_REG) {
            memcpy(row, reg->cell.bytes, DL_CELL); /* as in the first iteration: a scalar of that dtype */
        }
        else if (dl_cell_fill(run, map->operands[i].index, map->kernel.descrs[i], row)) {
            status = dl_decline(run, DL_REASON_CONVERT);
        }
        row += DL_CELL;
    }
    forget_views(run, kernel);
    return status;
}

DlStatus
dl_iterate_run(DlRun *run, const DlLoopKernel *kernel, DlIteration *iteration, npy_intp n, char *table)
{
    DlNest *nest = &iteration->nest;
    DlIterations iterations = {n, dl_iterate_row_bytes(kernel)};
    for (int i = 0; i < nest->n_operands; i++) {
        if (kernel->varies[i] == DL_VARIES_NOT) {
            continue;
        }
        nest->spread[i].data = table;
        if (kernel->varies[i] == DL_VARIES_NUMBER) {
            nest->spread[i].strides[nest->nd - 1] = iterations.row_bytes;
        }
        table += DL_CELL;
    }
    return dl_map_launch(run, nest, iteration->variant, &iterations);
}
