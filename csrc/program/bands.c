/* Bands: maps over arrays that are larger than the cache wait for one another, and then run some rows at a time.
 *
 * What a step makes for the next ones would leave the cache before they read it. So a map of many elements waits, with all
 * that follow it, until a step comes that is none; then each runs on a few rows before the first one goes on
 * (bands_plan.c says how far behind one another they are), and arrays that nobody needs afterwards are never there as a
 * whole. Views and fresh arrays do not wait: they are addresses. In a loop over the layers of an array, x[:, :, k], the maps
 * of one iteration wait for those of the next, which touch the same lines of the cache. INVARIANT: what waits keeps the
 * arrays that it touches alive; no step that reads or writes memory by other means runs before it; nothing waits behind the
 * end of a loop, nor while others may look; whatever waits is forgotten when the program declines.
 */
#include "bands.h"

#include "kernels/kernel_code.h"
#include "memory/memory.h"

enum {
    TRIALS = 3,    /* of either way */
    IN_VAIN = 20,  /* maps that have waited for nothing */
    REST = 500,    /* maps that do not wait then */
    TOGETHER = 8,  /* iterations whose maps, taken together, are as large as one that waits elsewhere */
    LINGERING = 1 << 23, /* elements of maps that wait, at most, from one iteration to the next */
};

static unsigned long long n_in_bands; /* maps so far */

/* ---- waiting ---- */

/* Let go of an array, maybe to the pool of the loop around. */
static void
release(DlRun *run, DlMade *made)
{
    PyObject *array = made->array;
    made->array = NULL;
    if (array != NULL && run->pool != NULL) {
        dl_pool_give(run->pool, array);
    }
    else {
        Py_XDECREF(array);
    }
}

static void
forget(DlWaiting *waiting)
{
    for (int i = 0; i < waiting->n; i++) {
        Py_XDECREF(waiting->held[i]);
    }
    waiting->n = 0;
    dl_memory_give(waiting->nest);
    dl_memory_give(waiting->spreads);
    waiting->nest = NULL;
    waiting->spreads = NULL;
}

void
dl_bands_drop(DlRun *run)
{
    DlBands *bands = run->bands;
    run->bands = NULL;
    if (bands == NULL) {
        return;
    }
    for (int i = 0; i < bands->n; i++) {
        forget(&bands->waiting[i]);
    }
    for (int i = 0; i < bands->n_made; i++) {
        release(run, &bands->made[i]);
    }
    dl_memory_give(bands);
}

/* Whether it is the body of a loop whose maps may wait for those of later iterations. */
static int
is_lingering(const DlRun *run)
{
    return run->program->body != NULL && run->program->body->lingers;
}

/* Whether steps of this run may wait. */
static int
may_wait(const DlRun *run)
{
    const DlProgram *outermost = run->outermost->program;
    return (run->program->n_maps > 1 || is_lingering(run))
           && run->n_leading == 0 && (outermost->kept < 0 || run->outermost->at < outermost->kept);
}

static DlBands *
get_bands(DlRun *run)
{
    if (run->bands == NULL) {
        run->bands = dl_memory_take(sizeof *run->bands);
        if (run->bands != NULL) {
            run->bands->n = run->bands->n_made = 0;
        }
    }
    return run->bands;
}

static int
has_room(const DlBands *bands, int n_made)
{
    return bands == NULL || (bands->n < DL_BANDS_WAITING && bands->n_made + n_made <= DL_BANDS_MADE);
}

int
dl_bands_take(const DlRun *run, const DlMapStep *step)
{
    if (run->bands != NULL) {
        return 1;
    }
    if (run->program->bands.rests > 0) {
        run->program->bands.rests--;
        return 0;
    }
    npy_intp size = step->shape.n ? 8 : 0, least = dl_bands_limits.least;
    if (is_lingering(run)) {
        least /= TOGETHER;
    }
    for (int axis = 0; axis < step->shape.n && size < least; axis++) {
        if (__builtin_mul_overflow(size, (npy_intp)run->numbers[step->shape.values[axis]].i, &size)) {
            return 0;
        }
    }
    return size >= least && may_wait(run);
}

/* Note an array that is there now. */
static void
note_made(DlBands *bands, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    DlMade *made = &bands->made[bands->n_made++];
    *made = (DlMade){.array = Py_NewRef(object), .data = PyArray_BYTES(array), .bytes = PyArray_NBYTES(array),
                     .from = DL_BANDS_WAITING};
    for (int axis = 0; axis < PyArray_NDIM(array); axis++) {
        npy_intp stride = PyArray_STRIDE(array, axis);
        if (PyArray_DIM(array, axis) > 1 && stride > made->row) {
            made->row = stride;
            made->rows = PyArray_DIM(array, axis);
        }
    }
    made->row = made->row * made->rows == made->bytes ? made->row : 0;
}

/* Room for what a waiting map of n operands and results has; NULL with an error set. */
static DlWaiting *
new_waiting(DlBands *bands, int n)
{
    DlWaiting *waiting = &bands->waiting[bands->n];
    memset(waiting, 0, sizeof *waiting);
    waiting->spreads = dl_memory_take((size_t)n * (sizeof(DlSpread) + sizeof(DlAccess) + DL_CELL + sizeof(PyObject *)));
    if (waiting->spreads == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    waiting->accesses = (DlAccess *)(waiting->spreads + n);
    waiting->cells = (char (*)[DL_CELL])(waiting->accesses + n);
    waiting->held = (PyObject **)(waiting->cells + n);
    memset(waiting->held, 0, (size_t)n * sizeof *waiting->held);
    waiting->n = n;
    bands->n++;
    return waiting;
}

/* Note what touches which array. */
static void
note_accesses(DlBands *bands, DlWaiting *waiting)
{
    int k = bands->n - 1;
    dl_bands_describe(bands, waiting);
    for (int i = 0; i < waiting->n; i++) {
        if (waiting->accesses[i].made >= 0) {
            DlMade *made = &bands->made[waiting->accesses[i].made];
            made->from = k < made->from ? k : made->from;
            made->to = k + 1;
        }
    }
}

/* Keep the memory of an array alive that was there before, whatever becomes of the register that shows it. */
static void
hold(const DlRun *run, DlWaiting *waiting, int i, int32_t reg)
{
    if (waiting->accesses[i].data != NULL && waiting->accesses[i].made < 0) {
        PyObject *object = run->regs[reg].object;
        waiting->held[i] = Py_XNewRef(object != NULL ? object : run->regs[reg].owner);
    }
}

/* ---- running ---- */

/* Where row `first` of an access lies now. */
static char *
place(const DlBands *bands, const DlAccess *access, npy_intp first)
{
    const DlMade *made = access->made < 0 ? NULL : &bands->made[access->made];
    if (made == NULL || made->buffer == NULL) {
        return access->data + first * access->step;
    }
    npy_intp row = access->first + first, at = access->data - made->data - access->first * made->row;
    return made->buffer + (row < made->head ? row : made->head + row - made->base) * made->row + at;
}

/* Make a nest of a map over n rows, and its shape; where they lie is not said. */
static void
make_nest(const DlWaiting *waiting, npy_intp n, DlNest *nest, npy_intp *shape)
{
    memcpy(shape, waiting->shape, (size_t)waiting->nd * sizeof *shape);
    shape[waiting->axis] = n;
    nest->n_operands = waiting->n;
    nest->size = 1;
    for (int axis = 0; axis < waiting->nd; axis++) {
        nest->size *= shape[axis];
    }
    memcpy(nest->spread, waiting->spreads, (size_t)waiting->n * sizeof *nest->spread);
    for (int i = 0; i < waiting->n && n == 1; i++) {
        nest->spread[i].strides[waiting->axis] = 0;
    }
}

/* Put the places of rows from `first` on into a nest. */
static void
fill_places(const DlBands *bands, const DlWaiting *waiting, npy_intp first, DlNest *nest)
{
    for (int i = 0; i < waiting->n; i++) {
        const DlAccess *access = &waiting->accesses[i];
        nest->spread[i].data = access->data != NULL ? place(bands, access, first) : waiting->spreads[i].data;
    }
}

/* Fill rows of an array: they are packed. */
static void
fill_rows(const DlWaiting *waiting, char *data, npy_intp n)
{
    const char *cell = waiting->cells[0];
    npy_intp itemsize = waiting->spreads[0].itemsize, bytes = n * waiting->accesses[0].step;
    static const char zero[DL_CELL];
    if (memcmp(cell, zero, (size_t)itemsize) == 0) {
        memset(data, 0, (size_t)bytes);
        return;
    }
    memcpy(data, cell, (size_t)itemsize);
    for (npy_intp done = itemsize; done < bytes;) {
        npy_intp more = done < bytes - done ? done : bytes - done;
        memcpy(data + done, data, (size_t)more);
        done += more;
    }
}

/* Run a map on rows from `first` up to `end`. */
static DlStatus
run_rows(DlRun *run, DlBands *bands, DlWaiting *waiting, npy_intp first, npy_intp end)
{
    if (first >= end) {
        return 0;
    }
    if (waiting->step == NULL) {
        fill_rows(waiting, place(bands, &waiting->accesses[0], first), end - first);
        return 0;
    }
    if (waiting->nest != NULL && end - first == bands->rows) {
        fill_places(bands, waiting, first, waiting->nest);
        return dl_map_launch(run, waiting->nest, waiting->variant, NULL);
    }
    DlNest nest;
    npy_intp shape[DL_MAX_DIMS];
    make_nest(waiting, end - first, &nest, shape);
    fill_places(bands, waiting, first, &nest);
    return dl_map_run_nest(run, waiting->step, &nest, waiting->nd, shape);
}

/* Prepare a map to run on as many rows as a band has. */
static DlStatus
prepare(DlRun *run, const DlBands *bands, DlWaiting *waiting)
{
    if (waiting->step == NULL || waiting->end - waiting->begin < bands->rows) {
        return 0;
    }
    npy_intp shape[DL_MAX_DIMS];
    waiting->nest = dl_memory_take(offsetof(DlNest, spread) + (size_t)waiting->n * sizeof(DlSpread));
    if (waiting->nest == NULL) {
        return 0;
    }
    make_nest(waiting, bands->rows, waiting->nest, shape);
    DlStatus status = dl_map_prepare(run, waiting->step, waiting->nest, waiting->nd, shape, &waiting->variant);
    if (status != 0) {
        dl_memory_give(waiting->nest);
        waiting->nest = NULL;
    }
    return status == 2 ? 0 : status;
}

/* Have the buffer of an array hold rows from `least` up to `end`, those before `behind` with what they have. */
static void
go_on(DlMade *made, npy_intp least, npy_intp behind, npy_intp end)
{
    npy_intp window = made->room - made->head, held = made->base + window;
    end = end < made->rows ? end : made->rows;
    if (end <= held) {
        return;
    }
    npy_intp base = least < made->tail ? least : made->tail;
    base = base > made->base ? base : made->base;
    behind = behind < held ? behind : held; /* NB: before the first band nothing is there */
    if (behind > base) {
        char *first = made->buffer + made->head * made->row;
        memmove(first, first + (base - made->base) * made->row, (size_t)((behind - base) * made->row));
    }
    made->base = base;
}

/* The same for all arrays in buffers, at the band from `row` on, or (is_end) behind the last one. */
static void
go_on_all(DlBands *bands, npy_intp row, int is_end)
{
    for (int i = 0; i < bands->n_made; i++) {
        DlMade *made = &bands->made[i];
        if (made->buffer != NULL) {
            npy_intp behind = row + made->most; /* rows before are what earlier bands have touched */
            go_on(made, is_end ? made->tail : row + made->least, behind, is_end ? made->rows : behind + bands->rows);
        }
    }
}

/* Run the first n maps in bands, then the rows that were left out. */
static DlStatus
run_bands(DlRun *run, DlBands *bands, int n)
{
    DlStatus status = 0;
    npy_intp last = 0, row = 0;
    for (int k = 0; k < n && status == 0; k++) {
        DlWaiting *waiting = &bands->waiting[k];
        npy_intp behind = waiting->end + waiting->lag;
        last = waiting->begin < waiting->end && behind > last ? behind : last;
        status = prepare(run, bands, waiting);
    }
    for (; row < last && status == 0; row += bands->rows) {
        go_on_all(bands, row, 0);
        for (int k = 0; k < n && status == 0; k++) {
            DlWaiting *waiting = &bands->waiting[k];
            npy_intp from = row - waiting->lag, to = from + bands->rows;
            status = run_rows(run, bands, waiting, from > waiting->begin ? from : waiting->begin,
                              to < waiting->end ? to : waiting->end);
        }
        if (!run->keep_gil) {
            Py_BEGIN_ALLOW_THREADS
            Py_END_ALLOW_THREADS
        }
    }
    go_on_all(bands, row, 1);
    for (int k = 0; k < n && status == 0; k++) {
        DlWaiting *waiting = &bands->waiting[k];
        status = run_rows(run, bands, waiting, 0, waiting->begin);
        status = status ? status : run_rows(run, bands, waiting, waiting->end, waiting->rows);
    }
    n_in_bands += (unsigned)n;
    return status;
}

/* The same, with buffers for the arrays that need not be there. */
static DlStatus
run_with_buffers(DlRun *run, DlBands *bands, int n)
{
    DlStatus status = 0;
    for (int i = 0; i < bands->n_made && status == 0; i++) {
        DlMade *made = &bands->made[i];
        if (made->array != NULL && made->room > 0) {
            made->buffer = dl_memory_take((size_t)(made->room * made->row));
            if (made->buffer == NULL) {
                PyErr_NoMemory();
                status = -1;
            }
        }
    }
    status = status ? status : run_bands(run, bands, n);
    for (int i = 0; i < bands->n_made; i++) {
        dl_memory_give(bands->made[i].buffer);
        bands->made[i].buffer = NULL;
    }
    return status;
}

/* Where there are threads, a map by itself may share them, and bands are one thread's: what has been faster so far. */
static int
choose(const DlRun *run, DlPace *pace)
{
    enum { RETRIAL = 64 };
    if (dl_threads_count(run->outermost->program->num_threads) == 1) {
        return 1;
    }
    if (pace->n_alone < TRIALS || pace->n_shared < TRIALS) {
        return pace->n_alone <= pace->n_shared;
    }
    int in_bands = pace->alone <= pace->shared;
    pace->rests = (uint16_t)((pace->rests + 1) % RETRIAL);
    return pace->rests ? in_bands : !in_bands;
}

static void
note_pace(DlPace *pace, int in_bands, float took)
{
    float *best = in_bands ? &pace->alone : &pace->shared;
    uint8_t *n = in_bands ? &pace->n_alone : &pace->n_shared;
    /* NB: the first time code is compiled; and a best time of long ago is not to stand for ever. */
    *best = *n == 1 || took < *best ? took : *best + (took - *best) / 16;
    *n = (uint8_t)(*n < UINT8_MAX ? *n + 1 : *n);
}

/* Run the first n maps, one after the other or in bands. */
static DlStatus
run_waiting(DlRun *run, DlBands *bands, int n)
{
    npy_intp size = 0;
    for (int i = 0; i < n; i++) {
        size += bands->waiting[i].size;
    }
    int class = 0;
    for (npy_intp rest = size >> 14; rest > 0 && class < DL_PACES - 1; rest >>= 1) {
        class++;
    }
    DlPace *pace = &run->program->bands.trials.by_size[class];
    DlStatus status = 0;
    int in_bands = n > 1 && dl_bands_plan(bands, n), together = in_bands && choose(run, pace);
    int64_t began = dl_world_clock();
    if (together) {
        run->program->bands.in_vain = 0;
        status = run_with_buffers(run, bands, n);
    }
    else if (!in_bands || pace->n_shared > TRIALS) {
        run->program->bands.in_vain += n;
        if (run->program->bands.in_vain >= IN_VAIN) {
            run->program->bands.in_vain = 0;
            run->program->bands.rests = REST;
        }
    }
    for (int i = 0; i < n && status == 0 && !together; i++) {
        status = run_rows(run, bands, &bands->waiting[i], 0, bands->waiting[i].rows);
        status = status ? status : dl_flags_check(run);
        forget(&bands->waiting[i]);
        for (int k = 0; k < bands->n_made; k++) {
            if (bands->made[k].to == i + 1) {
                release(run, &bands->made[k]);
            }
        }
    }
    status = status ? status : dl_flags_check(run);
    if (status == 0 && in_bands) {
        note_pace(pace, together, (float)(dl_world_clock() - began) / (float)size);
    }
    return status;
}

DlStatus
dl_bands_flush(DlRun *run)
{
    DlBands *bands = run->bands;
    DlStatus status = bands != NULL && bands->n > 0 ? run_waiting(run, bands, bands->n) : 0;
    dl_bands_drop(run);
    return status;
}

int
dl_bands_may_linger(const DlRun *run)
{
    const DlBands *bands = run->bands;
    npy_intp size = 0;
    for (int i = 0; i < bands->n; i++) {
        size += bands->waiting[i].size;
    }
    for (int i = 0; i < bands->n_made; i++) {
        const DlMade *made = &bands->made[i];
        if (made->array != NULL && (made->is_there || Py_REFCNT(made->array) > 1)) {
            return 0; /* an array of each iteration would have to be there at the same time */
        }
    }
    return size < LINGERING;
}

int
dl_bands_write(const DlRun *run, const DlReg *reg)
{
    DlBytes bytes = reg->kind == DL_ARRAY ? dl_reg_bytes(reg) : (DlBytes){NULL, NULL};
    for (int i = 0; i < run->bands->n; i++) {
        const DlWaiting *waiting = &run->bands->waiting[i];
        for (int k = waiting->first_result; k < waiting->n; k++) {
            const DlAccess *access = &waiting->accesses[k];
            if (access->data != NULL && dl_bytes_meet(dl_bands_bytes(access, 0, waiting->rows), bytes)) {
                return 1;
            }
        }
    }
    return 0;
}

/* Run all that waits but for the last map, to which the others then follow. */
static DlStatus
run_but_last(DlRun *run)
{
    DlBands *bands = run->bands;
    int n = bands->n - 1;
    DlStatus status = run_waiting(run, bands, n);
    for (int i = 0; i < n; i++) {
        forget(&bands->waiting[i]);
    }
    bands->waiting[0] = bands->waiting[n];
    bands->n = 1;
    for (int i = 0; i < bands->n_made; i++) {
        DlMade *made = &bands->made[i];
        if (made->to == n + 1) {
            made->is_there |= made->from < n;
            made->from = 0;
            made->to = 1;
        }
        else if (made->to > 0) {
            release(run, made);
            made->to = 0;
        }
    }
    return status ? status : dl_bands_join(bands) ? 0 : dl_bands_flush(run);
}

/* ---- what comes to wait ---- */

DlStatus
dl_bands_made(DlRun *run, PyObject *array, const char *cell, int is_there)
{
    PyArrayObject *its = (PyArrayObject *)array;
    npy_intp itemsize = PyArray_ITEMSIZE(its);
    int begins = run->bands != NULL || (run->program->bands.rests == 0 && may_wait(run));
    if (PyArray_NBYTES(its) < dl_bands_limits.least || PyArray_NDIM(its) == 0 || !begins
        || !has_room(run->bands, 1) || get_bands(run) == NULL) {
        return 2;
    }
    DlBands *bands = run->bands;
    note_made(bands, array);
    DlMade *made = &bands->made[bands->n_made - 1];
    made->is_there = is_there;
    if (cell == NULL || made->row == 0) {
        made->is_there |= cell != NULL;
        return 2;
    }
    DlWaiting *waiting = new_waiting(bands, 1);
    if (waiting == NULL) {
        PyErr_Clear();
        return 2;
    }
    waiting->nd = PyArray_NDIM(its);
    memcpy(waiting->shape, PyArray_DIMS(its), (size_t)waiting->nd * sizeof(npy_intp));
    waiting->size = PyArray_SIZE(its);
    waiting->spreads[0] = (DlSpread){.data = made->data, .itemsize = itemsize, .is_array = 1};
    memcpy(waiting->spreads[0].strides, PyArray_STRIDES(its), (size_t)waiting->nd * sizeof(npy_intp));
    memcpy(waiting->cells[0], cell, DL_CELL);
    note_accesses(bands, waiting);
    return dl_bands_join(bands) ? 0 : run_but_last(run);
}

/* Have an opened map wait. */
static DlStatus
add(DlRun *run, DlMapStep *step, const DlNest *nest, const npy_intp *shape, PyObject **fresh)
{
    DlBands *bands = run->bands;
    int n = nest->n_operands, first = step->kernel.n_operands;
    DlWaiting *waiting = new_waiting(bands, n);
    if (waiting == NULL) {
        return -1;
    }
    waiting->step = step;
    waiting->size = nest->size;
    waiting->first_result = first;
    waiting->nd = step->shape.n;
    memcpy(waiting->shape, shape, (size_t)waiting->nd * sizeof *shape);
    memcpy(waiting->spreads, nest->spread, (size_t)n * sizeof *nest->spread);
    for (int i = 0; i < first; i++) {
        DlSpread *spread = &waiting->spreads[i];
        if (!spread->is_array) {
            memcpy(waiting->cells[i], spread->data, (size_t)spread->itemsize);
            spread->data = waiting->cells[i];
        }
    }
    for (int i = 0; i < step->kernel.n_results; i++) {
        if (fresh[i] != NULL) {
            note_made(bands, fresh[i]);
        }
    }
    note_accesses(bands, waiting);
    for (int i = 0; i < first; i++) {
        if (step->operands[i].kind == DL_FROM_REG) {
            hold(run, waiting, i, step->operands[i].index);
        }
    }
    for (int i = 0; i < step->kernel.n_results; i++) {
        if (step->into[i]) {
            hold(run, waiting, first + i, step->outs[i]);
        }
    }
    dl_map_take_results(run, step, fresh);
    return dl_bands_join(bands) ? 0 : run_but_last(run);
}

/* Whether a map makes no arrays, but writes into others. */
static int
is_all_into(const DlMapStep *step)
{
    for (int i = 0; i < step->kernel.n_results; i++) {
        if (!step->into[i]) {
            return 0;
        }
    }
    return 1;
}

DlStatus
dl_bands_map(DlRun *run, DlMapStep *step)
{
    int waits = step->shape.n > 0 && has_room(run->bands, step->kernel.n_results);
    for (int i = 0; i < step->kernel.n_results; i++) {
        waits = waits && !step->scalar[i];
    }
    if (!waits) {
        DlStatus status = dl_bands_flush(run);
        return status ? status : dl_map_run(run, step);
    }
    npy_intp shape[DL_MAX_DIMS];
    DlNest nest;
    char cells[DL_MAX_OPERANDS][DL_CELL];
    PyObject *fresh[DL_MAX_OPERANDS];
    int clashes;
    DlStatus status = dl_map_open(run, step, &nest, shape, cells, fresh, &clashes);
    /* NB: where np.roll shifts by 0, one of its parts is empty: no reason for the others to wait no longer. */
    int is_nothing = status == 0 && nest.size == 0 && is_all_into(step);
    waits = status == 0 && !clashes && nest.size > 0 && get_bands(run) != NULL;
    if (waits) {
        status = add(run, step, &nest, shape, fresh);
    }
    for (int i = 0; i < step->kernel.n_results; i++) {
        Py_XDECREF(fresh[i]);
    }
    if (status == 0 && !waits && !is_nothing) {
        status = dl_bands_flush(run);
        status = status ? status : dl_map_run(run, step);
    }
    return status;
}

/* ---- for tests ---- */

static PyObject *
count_bands(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyLong_FromUnsignedLongLong(n_in_bands);
}

/* size_bands(least, band, passing, border): see DlBandLimits. */
static PyObject *
size_bands(PyObject *Py_UNUSED(module), PyObject *args)
{
    DlBandLimits limits, before = dl_bands_limits;
    if (!PyArg_ParseTuple(args, "nnnn:size_bands", &limits.least, &limits.band, &limits.passing, &limits.border)) {
        return NULL;
    }
    dl_bands_limits = limits;
    return Py_BuildValue("(nnnn)", before.least, before.band, before.passing, before.border);
}

PyMethodDef dl_bands_functions[] = {
    {"size_bands", size_bands, METH_VARARGS,
     "size_bands(least, band, passing, border): for tests, let maps over arrays of `least` bytes wait, a band touch `band` "
     "bytes, arrays of `passing` bytes lie in buffers, and be a border what has so many rows; what was before."},
    {"count_bands", count_bands, METH_NOARGS, "count_bands(): for tests, how many maps have run in bands so far."},
    {NULL, NULL, 0, NULL},
};
