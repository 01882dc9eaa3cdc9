/* Plans of maps: what kernel_map.c found out about the geometry of a map's operands, kept for the next run.
 *
 * A map whose operands and targets have the shapes and strides they had last time needs no spreading, ordering and
 * merging again: their addresses go into the loop nest of that time. Whether a target's memory is read at other places
 * is looked at each time, since addresses change. Where all arrays lie packed and the results are fresh, one loop goes
 * over them, whatever their shape is: that is a plan of its own, which serves every shape. INVARIANT: a plan is read and
 * changed under the GIL only, and nothing of it is used while a kernel runs without it.
 */
#include "program/program.h"
#include "program/block_rows.h"
#include "maps.h"

#include "kernel_code.h"

enum { GIVE_UP = 16 }; /* plans of one map that did not fit the run after, before no more are made */

typedef enum { ROW_NUMBER, ROW_SCALAR, ROW_ARRAY, ROW_PACKED } RowKind; /* ROW_PACKED: fresh, in C order */

typedef struct {
    RowKind kind;
    int nd;
    npy_intp itemsize;
    npy_intp low, high; /* the bytes that the nest touches, relative to the array's first element */
    npy_intp nest_strides[DL_MAX_DIMS];
    npy_intp shape[DL_MAX_DIMS], strides[DL_MAX_DIMS]; /* of the array */
} Row;

struct DlPlan {
    DlVariant *variant; /* borrowed from the kernel */
    int failures, nd, packed; /* packed: over all shapes, of which there is one loop */
    npy_intp size, nest_shape[DL_MAX_DIMS], shape[DL_MAX_DIMS];
    Row rows[]; /* operands, then results */
};

/* ---- making one ---- */

/* Describe the array in a register as spread number `i` of the nest. */
static void
describe(Row *row, const DlReg *reg, const DlNest *nest, int i)
{
    const DlSpread *spread = &nest->spread[i];
    row->kind = ROW_ARRAY;
    row->nd = reg->nd;
    for (int axis = 0; axis < reg->nd; axis++) {
        row->shape[axis] = reg->shape[axis];
        row->strides[axis] = reg->strides[axis];
    }
    DlBytes bytes = dl_bytes_of(spread->data, spread->itemsize, nest->nd, nest->shape, spread->strides);
    row->low = bytes.low - spread->data;
    row->high = bytes.high - spread->data;
}

/* Whether an array lies packed in C order. */
static int
is_packed(const Row *row, npy_intp itemsize)
{
    for (int axis = row->nd - 1; axis >= 0; axis--) {
        if (row->strides[axis] != itemsize) {
            return 0;
        }
        itemsize *= row->shape[axis];
    }
    return 1;
}

/* Whether all arrays that a map reads have its shape and lie packed, and its results will: its loop is one over elements. */
static int
is_of_packed(const DlRun *run, const DlMapStep *step, const DlNest *nest, const npy_intp *shape)
{
    int nd = step->shape.n, arrays = 0;
    for (int i = 0; i < step->kernel.n_operands; i++) {
        if (step->operands[i].kind == DL_FROM_REG && nest->spread[i].is_array) {
            const DlReg *reg = &run->regs[step->operands[i].index];
            if (reg->nd != nd || memcmp(reg->shape, shape, (size_t)nd * sizeof *shape) != 0 || !dl_reg_is_packed(reg)) {
                return 0;
            }
            arrays++;
        }
    }
    return step->quick && nd > 0 && arrays > 0;
}

void
dl_plan_note(const DlRun *run, DlMapStep *step, const DlNest *nest, DlVariant *variant, const npy_intp *shape)
{
    const DlKernel *kernel = &step->kernel;
    int n = kernel->n_operands + kernel->n_results, packed = is_of_packed(run, step, nest, shape);
    struct DlPlan *plan = step->plans[packed];
    if (packed) {
        step->dense = variant;
    }
    if (plan == NULL) {
        plan = step->plans[packed] = dl_program_take(run->program, 1, sizeof *plan + (size_t)n * sizeof *plan->rows);
        if (plan == NULL) {
            PyErr_Clear();
            return; /* it goes without */
        }
        plan->failures = 0;
        plan->packed = packed;
    }
    else if (plan->failures >= GIVE_UP && !packed) {
        return;
    }
    plan->variant = variant;
    plan->size = nest->size;
    plan->nd = nest->nd;
    memcpy(plan->nest_shape, nest->shape, sizeof plan->nest_shape);
    memcpy(plan->shape, shape, (size_t)step->shape.n * sizeof *shape);
    for (int i = 0; i < n; i++) {
        Row *row = &plan->rows[i];
        int result = i - kernel->n_operands;
        memcpy(row->nest_strides, nest->spread[i].strides, sizeof row->nest_strides);
        row->kind = ROW_NUMBER;
        row->itemsize = nest->spread[i].itemsize;
        if (result < 0) {
            const DlOperand *operand = &step->operands[i];
            if (operand->kind == DL_FROM_REG && nest->spread[i].is_array) {
                describe(row, &run->regs[operand->index], nest, i);
            }
            else if (operand->kind == DL_FROM_REG) {
                row->kind = ROW_SCALAR;
            }
        }
        else if (!step->scalar[result]) {
            describe(row, &run->regs[step->outs[result]], nest, i);
            if (!step->into[result] && is_packed(row, nest->spread[i].itemsize)) {
                row->kind = ROW_PACKED;
            }
        }
    }
}

/* ---- running one ---- */

/* Whether a register holds an array of that dtype and geometry; shape: of the map. */
static inline int
fits(const struct DlPlan *plan, int i, const DlReg *reg, const PyArray_Descr *descr, const npy_intp *shape)
{
    const Row *row = &plan->rows[i];
    if (reg->kind != DL_ARRAY || reg->nd != row->nd || reg->descr->type_num != descr->type_num) {
        return 0;
    }
    for (int axis = 0; axis < row->nd; axis++) {
        if (plan->packed ? reg->shape[axis] != shape[axis]
                         : reg->shape[axis] != row->shape[axis] || reg->strides[axis] != row->strides[axis]) {
            return 0;
        }
    }
    return !plan->packed || dl_reg_is_packed(reg);
}

/* Where operand number i lies; NULL when it is not as it was. */
static inline char *
find_operand(DlRun *run, const DlMapStep *step, const struct DlPlan *plan, int i, const npy_intp *shape, char *cell)
{
    DlOperand *operand = &step->operands[i];
    const Row *row = &plan->rows[i];
    PyArray_Descr *descr = step->kernel.descrs[i];
    if (operand->kind == DL_FROM_CELL) {
        return operand->cell;
    }
    if (operand->kind == DL_FROM_NUMBER) {
        return dl_cell_fill(run, operand->index, descr, cell) ? NULL : cell;
    }
    DlReg *reg = &run->regs[operand->index];
    if (row->kind == ROW_SCALAR) {
        return reg->kind == DL_SCALAR && reg->descr->type_num == descr->type_num ? dl_reg_cell(reg) : NULL;
    }
    return fits(plan, i, reg, descr, shape) ? reg->data : NULL;
}

/* Whether writing target number `t` may change elements that other positions read, or that another target is. */
static inline int
clashes(const struct DlPlan *plan, const DlNest *nest, int n_operands, int t)
{
    const Row *target = &plan->rows[t];
    const char *data = nest->spread[t].data;
    for (int i = 0; i < t; i++) {
        const Row *other = &plan->rows[i];
        const char *its = nest->spread[i].data;
        if (other->kind < ROW_ARRAY || its == NULL || data + target->low >= its + other->high
            || its + other->low >= data + target->high) {
            continue;
        }
        int same = i < n_operands && data == its && nest->spread[t].itemsize == nest->spread[i].itemsize
                   && memcmp(target->nest_strides, other->nest_strides, (size_t)plan->nd * sizeof(npy_intp)) == 0;
        if (!same && !dl_layout_disjoint(data, nest->spread[t].itemsize, target->nest_strides, its,
                                     nest->spread[i].itemsize, other->nest_strides, plan->nd, plan->nest_shape)) {
            return 1;
        }
    }
    return 0;
}

/* Find or make every result; 0, 2 when one is not as it was, or -1. Fresh arrays are put into `fresh`. */
static DlStatus
find_results(DlRun *run, const DlMapStep *step, const struct DlPlan *plan, const npy_intp *shape, DlNest *nest,
             PyObject **fresh)
{
    const DlKernel *kernel = &step->kernel;
    for (int i = 0; i < kernel->n_results; i++) { /* first, since making one is not undone */
        int at = kernel->n_operands + i;
        const DlReg *reg = &run->regs[step->outs[i]];
        fresh[i] = NULL;
        if (step->into[i]) {
            if (!reg->writeable || !fits(plan, at, reg, kernel->descrs[at], shape)) {
                return 2;
            }
            nest->spread[at].data = reg->data;
            if (clashes(plan, nest, kernel->n_operands, at)) {
                return 2;
            }
        }
        else {
            nest->spread[at].data = NULL; /* touches nothing that is there */
        }
    }
    for (int i = 0; i < kernel->n_results; i++) {
        int at = kernel->n_operands + i;
        const Row *row = &plan->rows[at];
        if (step->scalar[i]) {
            nest->spread[at].data = run->regs[step->outs[i]].cell.bytes;
        }
        else if (!step->into[i]) {
            fresh[i] = dl_block_rows_array(run, step->outs[i], kernel->descrs[at], row->nd, plan->packed ? shape : row->shape,
                                       plan->packed || row->kind == ROW_PACKED ? NULL : row->strides);
            if (fresh[i] == NULL) {
                return -1;
            }
            nest->spread[at].data = PyArray_BYTES((PyArrayObject *)fresh[i]);
        }
    }
    return 0;
}

/* Run a map as one plan says; 2 when its operands or targets are not as they were then. */
static DlStatus
run_plan(DlRun *run, DlMapStep *step, struct DlPlan *plan, const npy_intp *shape, npy_intp size)
{
    const DlKernel *kernel = &step->kernel;
    double cells[DL_MAX_OPERANDS][DL_CELL / sizeof(double)];
    PyObject *fresh[DL_MAX_OPERANDS];
    DlNest nest;
    int n = kernel->n_operands + kernel->n_results;
    if (plan->variant->care != dl_kernel_care(run, kernel) || size == 0) {
        return 2; /* NB: strides of empty results follow other rules */
    }
    if (!plan->packed && memcmp(shape, plan->shape, (size_t)step->shape.n * sizeof *shape) != 0) {
        return 2;
    }
    for (int i = 0; i < n; i++) {
        DlSpread *spread = &nest.spread[i];
        if (i < kernel->n_operands) {
            spread->data = find_operand(run, step, plan, i, shape, (char *)cells[i]);
            if (spread->data == NULL) {
                return 2;
            }
        }
        spread->itemsize = plan->rows[i].itemsize;
        for (int axis = 0; axis < plan->nd; axis++) {
            spread->strides[axis] = plan->rows[i].nest_strides[axis];
        }
    }
    nest.n_operands = n;
    nest.nd = plan->nd;
    nest.size = size;
    memcpy(nest.shape, plan->packed ? &size : plan->nest_shape, (size_t)plan->nd * sizeof(npy_intp));
    DlVariant *variant = plan->variant;
    DlStatus status = find_results(run, step, plan, shape, &nest, fresh);
    if (status == 2) {
        return 2;
    }
    if (status == 0) {
        plan->failures = 0;
        status = dl_map_launch(run, &nest, variant, NULL);
    }
    if (status == 0) {
        dl_map_take_results(run, step, fresh);
    }
    for (int i = 0; i < kernel->n_results; i++) {
        Py_XDECREF(fresh[i]);
    }
    return status;
}

DlStatus
dl_plan_run(DlRun *run, DlMapStep *step)
{
    npy_intp shape[DL_MAX_DIMS], size = 1;
    for (int axis = 0; axis < step->shape.n; axis++) {
        shape[axis] = dl_dims_at(run, &step->shape, axis);
        if (__builtin_mul_overflow(size, shape[axis], &size)) {
            return 2;
        }
    }
    for (int packed = 1; packed >= 0; packed--) {
        struct DlPlan *plan = step->plans[packed];
        DlStatus status = plan ? run_plan(run, step, plan, shape, size) : 2;
        if (status != 2) {
            return status;
        }
        if (plan != NULL && plan->failures < GIVE_UP) {
            plan->failures++;
        }
    }
    return 2;
}
