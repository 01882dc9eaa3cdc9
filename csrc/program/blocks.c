/* Blocks: steps that run some rows at a time (dynamo_lite/schedule/blocks.py finds them).
 *
 * The leading axes of all that these steps read and make are the rows. Where the arrays that are read lie packed, in C
 * order, NumPy's results would, too; then the registers of these arrays show some rows after the other, and sizes read as
 * if there were no more (dl_dims_at). What is made on the way is as small as these rows, and kernels write what is needed
 * behind where it belongs (block_rows.c); what others make is copied there. INVARIANT: afterwards the registers hold what they would if the steps
 * had run one by one, or the program declines.
 */
#include "block_rows.h"
#include "builder/build.h"

/* Bytes of an array: smaller ones stay in the cache by themselves (docs/performance.md); and of its rows at a time. Tests
 * change them. */
static npy_intp least_bytes = 3 << 22, block_bytes = 1 << 17;

enum {
    MOST_ROW = 1 << 18, /* bytes of one row */
    LINE = 64,          /* bytes of a line of the cache */
};

/* ---- building ---- */

/* Whether the steps may be those of a block. */
static int
check_steps(const DlProgram *program, const DlRowBlock *block)
{
    int right = block->first >= 0 && block->count > 0 && block->first + block->count <= program->n_steps
                && block->n_inputs > 0 && block->n_inputs <= DL_BLOCK_INPUTS && block->leading.n > 0;
    for (int i = 0; right && i < block->count; i++) {
        const DlStep *step = &program->steps[block->first + i];
        right = step->kind == DL_STEP_MAP      ? step->map.shape.n >= block->leading.n
                : step->kind == DL_STEP_REDUCE ? step->reduce.map.shape.n >= block->leading.n
                                               : step->kind == DL_STEP_VIEW;
    }
    return right;
}

int
dl_blocks_build(DlBuilder *builder, PyObject *schedule)
{
    DlProgram *self = builder->program;
    PyObject *blocks = dl_build_tuple(schedule, "blocks");
    Py_ssize_t n = blocks ? PyTuple_GET_SIZE(blocks) : 0;
    self->blocks = blocks ? dl_build_rows(builder, n, sizeof *self->blocks) : NULL;
    int status = self->blocks ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        PyObject *object = PyTuple_GET_ITEM(blocks, i);
        DlRowBlock *block = &self->blocks[i];
        self->n_blocks = (int)i + 1;
        block->first = dl_build_int(object, "first");
        block->count = dl_build_int(object, "count");
        block->inputs = dl_build_numbers(builder, object, "inputs", self->n_registers, &block->n_inputs);
        block->made = block->inputs ? dl_build_numbers(builder, object, "made", self->n_registers, &block->n_made) : NULL;
        block->results =
            block->made ? dl_build_numbers(builder, object, "results", self->n_registers, &block->n_results) : NULL;
        status = block->results ? dl_build_dims(builder, object, "leading", &block->leading) : -1;
        if (status == 0 && !check_steps(self, block)) {
            status = dl_build_refuse(builder, "not a block", object);
        }
    }
    Py_XDECREF(blocks);
    return status;
}

/* ---- running ---- */

/* One block under way. */
typedef struct {
    DlRun *run;
    const DlRowBlock *block;
    npy_intp leading[DL_MAX_DIMS], rows;
    DlBlockRows at_hand;
    npy_intp row_bytes[DL_BLOCK_INPUTS];
    DlReg *inputs;      /* the registers of the inputs as they were */
} BlockRun;

/* Whether an input has the rows, and lies packed; the bytes of one of its rows. */
static int
fits(const BlockRun *self, const DlReg *reg, npy_intp *row_bytes)
{
    int n = self->block->leading.n;
    if (reg->kind != DL_ARRAY || reg->nd < n) {
        return 0;
    }
    npy_intp bytes = PyDataType_ELSIZE(reg->descr);
    for (int axis = reg->nd - 1; axis >= 0; axis--) {
        if ((reg->shape[axis] != 1 && reg->strides[axis] != bytes) || (axis < n && reg->shape[axis] != self->leading[axis])) {
            return 0;
        }
        bytes *= reg->shape[axis];
        *row_bytes = axis == n ? bytes : *row_bytes;
    }
    *row_bytes = reg->nd == n ? PyDataType_ELSIZE(reg->descr) : *row_bytes;
    return 1;
}

/* How many rows are taken at a time; 0 when the steps are to run one by one. */
static npy_intp
choose_rows(BlockRun *self)
{
    DlRun *run = self->run;
    npy_intp most = 0;
    if (dl_dims_get(run, &self->block->leading, self->leading)) {
        return 0;
    }
    for (int i = 0; i < self->block->n_inputs; i++) {
        if (!fits(self, &run->regs[self->block->inputs[i]], &self->row_bytes[i])) {
            return 0;
        }
        most = self->row_bytes[i] > most ? self->row_bytes[i] : most;
    }
    self->rows = 1;
    for (int axis = 0; axis < self->block->leading.n; axis++) {
        self->rows *= self->leading[axis]; /* of an array that exists */
    }
    if (most == 0 || most > MOST_ROW || self->rows < least_bytes / most) {
        return 0;
    }
    npy_intp few = most < block_bytes ? block_bytes / most : 1;
    return few < self->rows ? few : 0;
}

/* Let the registers of the inputs show `n` rows from row `start` on. */
static void
show(BlockRun *self, npy_intp start, npy_intp n)
{
    int leading = self->block->leading.n;
    for (int i = 0; i < self->block->n_inputs; i++) {
        const DlReg *whole = &self->inputs[i];
        DlReg *reg = &self->run->regs[self->block->inputs[i]];
        Py_CLEAR(reg->object); /* a view of the rows before, if somebody asked for one */
        reg->data = whole->data + start * self->row_bytes[i];
        for (int axis = 0; axis < leading; axis++) {
            reg->own_shape[axis] = axis == leading - 1 ? n : 1;
            reg->own_strides[axis] = self->row_bytes[i];
        }
    }
}

/* Put views in place of the inputs. */
static void
open_inputs(BlockRun *self)
{
    for (int i = 0; i < self->block->n_inputs; i++) {
        DlReg *reg = &self->run->regs[self->block->inputs[i]];
        self->inputs[i] = *reg;
        dl_reg_copy(reg, &self->inputs[i]);
        memcpy(self->inputs[i].own_shape, reg->own_shape, sizeof reg->own_shape);
        memcpy(self->inputs[i].own_strides, reg->own_strides, sizeof reg->own_strides);
        reg->owner = reg->object != NULL ? reg->object : reg->owner;
        reg->object = NULL;
        reg->fresh = 0;
    }
}

static void
close_inputs(BlockRun *self)
{
    for (int i = 0; i < self->block->n_inputs; i++) {
        DlReg *reg = &self->run->regs[self->block->inputs[i]];
        Py_XDECREF(reg->object); /* a view that was asked for */
        *reg = self->inputs[i];
        if (reg->kind == DL_ARRAY) { /* NB: the array's own may be gone, since another thread may have set its shape */
            reg->shape = reg->own_shape;
            reg->strides = reg->own_strides;
        }
    }
}

/* Empty the registers that the steps have set. */
static void
release_made(BlockRun *self)
{
    for (int i = 0; i < self->block->n_made; i++) {
        dl_reg_release(self->run, &self->run->regs[self->block->made[i]]);
    }
}

/* Read the rows at hand of what a reduction begins with, in order, which is how memory is fast: it looks at several places
 * at a time itself. */
static void
fetch(const BlockRun *self)
{
    const DlStep *step = &self->run->program->steps[self->block->first];
    if (step->kind != DL_STEP_REDUCE) {
        return;
    }
    for (int i = 0; i < self->block->n_inputs; i++) {
        const volatile char *data = self->run->regs[self->block->inputs[i]].data;
        for (npy_intp at = 0; at < self->at_hand.n * self->row_bytes[i]; at += LINE) {
            (void)data[at];
        }
    }
}

/* All steps on n rows from row `start` on. */
static DlStatus
run_rows(BlockRun *self, npy_intp start, npy_intp n)
{
    DlRun *run = self->run;
    DlStatus status = 0;
    show(self, start, n);
    self->at_hand.start = start;
    self->at_hand.n = n;
    run->block = &self->at_hand;
    run->n_leading = self->block->leading.n;
    run->n_rows = n;
    fetch(self);
    for (int i = 0; i < self->block->count && status == 0; i++) {
        status = dl_step_run(run, &run->program->steps[self->block->first + i]);
    }
    run->n_leading = 0;
    run->block = NULL;
    status = status ? status : dl_block_rows_keep(run, &self->at_hand);
    release_made(self);
    return status;
}

/* Let other threads run that wait for the GIL. */
static void
offer_gil(const DlRun *run)
{
    if (!run->keep_gil) {
        Py_BEGIN_ALLOW_THREADS
        Py_END_ALLOW_THREADS
    }
}

/* All rows, `few` at a time. */
static DlStatus
run_all(BlockRun *self, npy_intp few)
{
    DlRun *run = self->run;
    DlPool pool = {.n = 0}, *outer = run->pool;
    DlStatus status = 0;
    run->pool = outer ? outer : &pool;
    open_inputs(self);
    for (npy_intp start = 0; start < self->rows && status == 0; start += few) {
        status = run_rows(self, start, self->rows - start < few ? self->rows - start : few);
        offer_gil(run);
    }
    close_inputs(self);
    run->pool = outer;
    dl_pool_clear(&pool);
    return status;
}

/* The steps of a block; 2 when they are to run one by one. */
static DlStatus
run_block(DlRun *run, const DlRowBlock *block)
{
    BlockRun self = {.run = run, .block = block};
    npy_intp few = choose_rows(&self);
    if (few == 0) {
        return 2;
    }
    self.inputs = PyMem_Malloc((size_t)block->n_inputs * sizeof *self.inputs);
    PyObject **results = PyMem_Calloc((size_t)block->n_results + 1, sizeof *results);
    self.at_hand = (DlBlockRows){block->leading.n, self.leading, 0, 0, block->n_results, block->results, results};
    DlStatus status = -1;
    if (self.inputs != NULL && results != NULL) {
        status = run_all(&self, few);
    }
    else {
        PyErr_NoMemory();
    }
    for (int i = 0; results != NULL && i < block->n_results; i++) {
        if (status == 0) {
            dl_reg_take_fresh(&run->regs[block->results[i]], results[i]);
        }
        else {
            Py_XDECREF(results[i]);
        }
    }
    PyMem_Free(self.inputs);
    PyMem_Free(results);
    return status;
}

DlStatus
dl_blocks_run(DlRun *run, int first, int *count)
{
    const DlProgram *program = run->program;
    for (int k = 0; k < program->n_blocks; k++) {
        const DlRowBlock *block = &program->blocks[k];
        DlStatus status = block->first == first ? run_block(run, block) : 2;
        if (status == 2) {
            continue;
        }
        for (int i = first; i < first + block->count; i++) {
            for (int j = 0; j < program->steps[i].n_dead && status == 0; j++) {
                dl_reg_release(run, &run->regs[program->steps[i].dead[j]]);
            }
        }
        *count = block->count;
        return status ? status : dl_flags_check(run);
    }
    return 0;
}

/* ---- for tests ---- */

/* size_blocks(least, bytes): see least_bytes and block_bytes. */
static PyObject *
size_blocks(PyObject *Py_UNUSED(module), PyObject *args)
{
    npy_intp least, bytes;
    if (!PyArg_ParseTuple(args, "nn:size_blocks", &least, &bytes)) {
        return NULL;
    }
    PyObject *before = Py_BuildValue("(nn)", least_bytes, block_bytes);
    if (before != NULL) {
        least_bytes = least;
        block_bytes = bytes;
    }
    return before;
}

PyMethodDef dl_blocks_functions[] = {
    {"size_blocks", size_blocks, METH_VARARGS,
     "size_blocks(least, bytes): for tests, run by rows where an array has `least` bytes, so many bytes at a time; what "
     "was before."},
    {NULL, NULL, 0, NULL},
};
