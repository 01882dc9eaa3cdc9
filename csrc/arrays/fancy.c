/* x[i], x[i, j] and stores by such index arrays, without a call of NumPy's.

   NumPy walks over index arrays with an iterator that costs 5 ns an element for two of them, and more where rows are
   copied. Here the places are computed first, then the elements are copied. Only what NumPy walks over in C order is done:
   index arrays each of which has its axes in C order or repeats along them, and rows behind them that lie packed. What is
   read behind whole axes, x[:, i], NumPy makes with the indices' axes first in memory, and hands out a view.
   INVARIANT: all places are known to lie inside before anything is stored. Whatever is not as usual, an index out of
   range included, is left to the call, and so to NumPy. */
#include "gather.h"

#include "kernels/clones.h"
#include "builder/slot.h"

#include <string.h>

enum {
    CHUNK = 512,                  /* places that are computed at once */
    FEW = 8,                      /* places behind whole axes */
    MOST = 1 << 20,               /* elements copied without letting other threads run; more are not stored */
};

/* One index: an array, or a number, which is one of no axes. */
typedef struct {
    const char *data;
    int nd, kind; /* kind: bytes of an index, negative where it is signed */
    const npy_intp *shape, *strides;
    const DlReg *reg; /* the array's, or NULL */
    int64_t number;
} Place;

/* A walk over indices: their common shape, and the steps of each along it. */
typedef struct {
    int nd, n_places;
    npy_intp shape[DL_MAX_DIMS], n;                         /* n: elements of the common shape */
    npy_intp strides[DL_MAX_PLACES][DL_MAX_DIMS];
    npy_intp sizes[DL_MAX_PLACES], steps[DL_MAX_PLACES];    /* of x along the axis that each is for */
    Place places[DL_MAX_PLACES];
    npy_intp block, row;                                    /* bytes and elements of what lies packed at one place */
    int before;                                             /* whole axes of x before those that have indices, */
    npy_intp copies;                                        /* and how many blocks a place therefore has */
    npy_intp sides[DL_MAX_DIMS], side_strides[DL_MAX_DIMS];
} Walk;

/* ---- build ---- */

static int
is_whole(PyObject *item)
{
    if (!PySlice_Check(item)) {
        return 0;
    }
    const PySliceObject *slice = (const PySliceObject *)item;
    return slice->start == Py_None && slice->stop == Py_None && slice->step == Py_None;
}

static int
register_of(PyObject *item, int32_t *reg)
{
    const DlSlot *slot = dl_slot_cast(item);
    if (slot == NULL || slot->kind != DL_SLOT_REG) {
        return 0;
    }
    *reg = slot->index;
    return 1;
}

static int
is_index(PyObject *item)
{
    const DlSlot *slot = dl_slot_cast(item);
    return slot ? slot->kind == DL_SLOT_REG || slot->kind == DL_SLOT_NUMBER : PyLong_CheckExact(item);
}

/* The indices of a key; 0 where it holds something else than these and whole axes before and behind them. */
static int
read_key(PyObject *key, DlFancy *fancy)
{
    const DlSlot *slot = dl_slot_cast(key);
    if (slot == NULL || slot->kind != DL_SLOT_TUPLE) {
        fancy->places[0] = key;
        fancy->n_places = is_index(key);
        return fancy->n_places;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(slot->items), i = 0;
    for (; i < n && is_whole(PyTuple_GET_ITEM(slot->items, i)); i++) {
    }
    fancy->before = (int)i;
    for (; i < n && i < fancy->before + DL_MAX_PLACES && is_index(PyTuple_GET_ITEM(slot->items, i)); i++) {
        fancy->places[i - fancy->before] = PyTuple_GET_ITEM(slot->items, i);
    }
    fancy->n_places = (int)i - fancy->before;
    for (; i < n && is_whole(PyTuple_GET_ITEM(slot->items, i)); i++) {
    }
    return i == n && fancy->n_places > 0;
}

int
dl_fancy_build(DlCallStep *step)
{
    PyObject *module = PyImport_ImportModule("_operator");
    PyObject *get = module ? PyObject_GetAttrString(module, "getitem") : NULL;
    PyObject *set = get ? PyObject_GetAttrString(module, "setitem") : NULL;
    Py_XDECREF(module);
    Py_XDECREF(get);
    Py_XDECREF(set);
    if (set == NULL) {
        return -1;
    }
    int stores = step->function == set;
    if ((!stores && step->function != get) || step->names != NULL || step->number || step->yields.n
        || step->n_dsts != (stores ? 0 : 1) || PyTuple_GET_SIZE(step->template) != 2 + stores) {
        return 0;
    }
    DlFancy found = {.value = stores ? PyTuple_GET_ITEM(step->template, 2) : NULL};
    if (!register_of(PyTuple_GET_ITEM(step->template, 0), &found.x)
        || !read_key(PyTuple_GET_ITEM(step->template, 1), &found) || (stores && found.before > 0)) {
        return 0;
    }
    step->fancy = found;
    return 0;
}

/* ---- run ---- */

/* Whether the axes from `first` on lie packed. */
static int
has_packed_rows(const DlReg *reg, int first)
{
    return dl_is_packed(PyDataType_ELSIZE(reg->descr), reg->nd - first, reg->shape + first, reg->strides + first);
}

/* Whether NumPy lays out the axes that have no index as they stand in reg, `before` first ones and those from `first` on.
   It sorts them by their strides, also by those of axes of size 1. */
static int
is_sorted(const DlReg *reg, int before, int first)
{
    npy_intp least = NPY_MAX_INTP;
    for (int axis = before > 0 ? 0 : first; axis < reg->nd; axis = axis + 1 == before ? first : axis + 1) {
        if (reg->strides[axis] < 0 || reg->strides[axis] > least) {
            return 0;
        }
        least = reg->strides[axis];
    }
    return 1;
}

/* A number of the template, or of the program's table, as a whole one; 0 where it is none of 64 bits. */
static int
read_whole(DlRun *run, PyObject *item, int64_t *whole)
{
    const DlSlot *slot = dl_slot_cast(item);
    if (slot != NULL) {
        *whole = run->numbers[slot->index].i;
        return run->program->numbers.kinds[slot->index] == DL_INT;
    }
    int overflow;
    *whole = PyLong_AsLongLongAndOverflow(item, &overflow);
    return !overflow;
}

/* Take in one index; 0 where NumPy has to look at it. */
static int
add_place(Walk *walk, DlRun *run, const DlReg *x, PyObject *item)
{
    int k = walk->n_places;
    Place *place = &walk->places[k];
    int32_t index;
    *place = (Place){.kind = -8};
    if (!register_of(item, &index)) {
        if (!read_whole(run, item, &place->number)) {
            return 0;
        }
        place->data = (const char *)&place->number;
    }
    else {
        DlReg *reg = &run->regs[index];
        if ((reg->kind != DL_ARRAY && reg->kind != DL_SCALAR) || !PyTypeNum_ISINTEGER(reg->descr->type_num)) {
            return 0;
        }
        int bytes = (int)PyDataType_ELSIZE(reg->descr);
        place->kind = PyTypeNum_ISSIGNED(reg->descr->type_num) ? -bytes : bytes;
        place->data = reg->kind == DL_SCALAR ? dl_reg_cell(reg) : reg->data;
        if (reg->kind == DL_ARRAY) {
            place->reg = reg;
            place->nd = reg->nd;
            place->shape = reg->shape;
            place->strides = reg->strides;
        }
    }
    walk->sizes[k] = x->shape[walk->before + k];
    walk->steps[k] = x->strides[walk->before + k];
    walk->n_places++;
    walk->nd = place->nd > walk->nd ? place->nd : walk->nd;
    return 1;
}

/* The common shape; 0 where the arrays do not fit, or NumPy might walk in another order than C's. */
static int
find_shape(Walk *walk)
{
    walk->n = 1;
    for (int axis = 0; axis < walk->nd; axis++) {
        npy_intp size = 1;
        for (int k = 0; k < walk->n_places; k++) {
            int own = axis - (walk->nd - walk->places[k].nd);
            npy_intp one = own < 0 ? 1 : walk->places[k].shape[own];
            if (one == 0 || (one != 1 && size != 1 && one != size)) {
                return 0;
            }
            size = one != 1 ? one : size;
        }
        if (walk->n > NPY_MAX_INTP / size) {
            return 0;
        }
        walk->shape[axis] = size;
        walk->n *= size;
    }
    for (int k = 0; k < walk->n_places; k++) {
        npy_intp before = NPY_MAX_INTP;
        for (int axis = 0; axis < walk->nd; axis++) {
            int own = axis - (walk->nd - walk->places[k].nd);
            npy_intp stride = own < 0 || walk->places[k].shape[own] == 1 ? 0 : walk->places[k].strides[own];
            if (stride < 0 || stride > before) {
                return 0;
            }
            before = stride ? stride : before;
            walk->strides[k][axis] = stride;
        }
    }
    return 1;
}

static int
begin_walk(Walk *walk, DlRun *run, const DlFancy *fancy)
{
    const DlReg *x = &run->regs[fancy->x];
    int behind = fancy->before + fancy->n_places;
    if (x->kind != DL_ARRAY || x->nd < behind || !has_packed_rows(x, behind)
        || !(PyTypeNum_ISNUMBER(x->descr->type_num) || PyTypeNum_ISBOOL(x->descr->type_num))) {
        return 0;
    }
    walk->nd = walk->n_places = 0;
    walk->before = fancy->before;
    for (int k = 0; k < fancy->n_places; k++) {
        if (!add_place(walk, run, x, fancy->places[k])) {
            return 0;
        }
    }
    walk->row = walk->copies = 1;
    for (int axis = behind; axis < x->nd; axis++) {
        walk->row *= x->shape[axis];
    }
    for (int axis = 0; axis < walk->before; axis++) {
        walk->sides[axis] = x->shape[axis];
        walk->side_strides[axis] = x->strides[axis];
        walk->copies *= x->shape[axis];
    }
    walk->block = walk->row * PyDataType_ELSIZE(x->descr);
    return walk->nd > 0 && walk->nd + x->nd - fancy->n_places <= DL_MAX_DIMS && find_shape(walk) && walk->row > 0
           && walk->copies > 0 && walk->copies <= NPY_MAX_INTP / walk->block
           && walk->n <= NPY_MAX_INTP / walk->block / walk->copies;
}

/* Add to n offsets what the indices at `at` reach in an axis; 1 where one of them is out of range. */
#define ADD_INDICES(NAME, TYPE)                                                                        \
    static int NAME(npy_intp *offsets, npy_intp n, const char *at, npy_intp stride, npy_intp size, npy_intp step) \
    {                                                                                                  \
        int is_out = 0;                                                                                \
        for (npy_intp i = 0; i < n; i++) {                                                             \
            TYPE one;                                                                                  \
            memcpy(&one, at + i * stride, sizeof one);                                                 \
            npy_intp index = (npy_intp)one;                                                            \
            is_out |= (TYPE)-1 > 0 && index < 0; /* an unsigned one beyond 63 bits */                  \
            index += (index >> 63) & size;                                                             \
            is_out |= (npy_uintp)index >= (npy_uintp)size;                                             \
            offsets[i] += index * step;                                                                \
        }                                                                                              \
        return is_out;                                                                                 \
    }

ADD_INDICES(add_int8, npy_int8)
ADD_INDICES(add_int16, npy_int16)
ADD_INDICES(add_int32, npy_int32)
ADD_INDICES(add_int64, npy_int64)
ADD_INDICES(add_uint8, npy_uint8)
ADD_INDICES(add_uint16, npy_uint16)
ADD_INDICES(add_uint32, npy_uint32)
ADD_INDICES(add_uint64, npy_uint64)

typedef int (*AddIndices)(npy_intp *, npy_intp, const char *, npy_intp, npy_intp, npy_intp);

static AddIndices
adder_of(int kind)
{
    switch (kind) {
    case -1: return add_int8;
    case -2: return add_int16;
    case -4: return add_int32;
    case -8: return add_int64;
    case 1: return add_uint8;
    case 2: return add_uint16;
    case 4: return add_uint32;
    default: return add_uint64;
    }
}

/* The same of packed indices of 4 or 8 bytes, in vectors; adds: 0 where nothing is there yet. */
#define PLACE_PACKED(NAME, TYPE)                                                                       \
    FOR_THIS_CPU                                                                                       \
    static int NAME(npy_intp *restrict offsets, npy_intp n, const TYPE *restrict at, npy_intp size, npy_intp step, int adds) \
    {                                                                                                  \
        npy_int64 is_out = 0;                                                                          \
        for (npy_intp i = 0; i < n; i++) {                                                             \
            npy_int64 index = at[i];                                                                   \
            index += index < 0 ? size : 0;                                                             \
            is_out |= (npy_uint64)index >= (npy_uint64)size;                                           \
            offsets[i] = (adds ? offsets[i] : 0) + index * step;                                       \
        }                                                                                              \
        return is_out != 0;                                                                            \
    }

PLACE_PACKED(place_int32, npy_int32)
PLACE_PACKED(place_int64, npy_int64)

/* Where in x the next places lie, from number `first` of the common shape on, n of one row along its last axis. */
static int
find_offsets(const Walk *walk, npy_intp first, npy_intp n, npy_intp *offsets)
{
    int is_out = 0;
    for (int k = 0; k < walk->n_places; k++) {
        const char *at = walk->places[k].data;
        npy_intp rest = first;
        for (int axis = walk->nd - 1; axis >= 0; axis--) {
            at += rest % walk->shape[axis] * walk->strides[k][axis];
            rest /= walk->shape[axis];
        }
        npy_intp stride = walk->strides[k][walk->nd - 1];
        int kind = walk->places[k].kind;
        if (stride == -kind && (kind == -8 || kind == -4)) {
            is_out |= kind == -8
                          ? place_int64(offsets, n, (const npy_int64 *)at, walk->sizes[k], walk->steps[k], k > 0)
                          : place_int32(offsets, n, (const npy_int32 *)at, walk->sizes[k], walk->steps[k], k > 0);
            continue;
        }
        if (k == 0) {
            memset(offsets, 0, (size_t)n * sizeof *offsets);
        }
        is_out |= adder_of(kind)(offsets, n, at, stride, walk->sizes[k], walk->steps[k]);
    }
    return is_out;
}

/* Join axes along which all index arrays go on evenly, so that rows are long. */
static void
join_axes(Walk *walk)
{
    int kept = walk->nd - 1;
    for (int axis = walk->nd - 2; axis >= 0; axis--) {
        int even = walk->shape[axis] == 1 || walk->shape[kept] == 1;
        for (int k = 0; k < walk->n_places && !even; k++) {
            if (walk->strides[k][axis] != walk->strides[k][kept] * walk->shape[kept]) {
                break;
            }
            even = k == walk->n_places - 1;
        }
        if (!even) {
            kept--;
            walk->shape[kept] = walk->shape[axis];
            for (int k = 0; k < walk->n_places; k++) {
                walk->strides[k][kept] = walk->strides[k][axis];
            }
            continue;
        }
        for (int k = 0; k < walk->n_places && walk->shape[kept] == 1; k++) {
            walk->strides[k][kept] = walk->strides[k][axis];
        }
        walk->shape[kept] *= walk->shape[axis];
    }
    walk->nd -= kept;
    memmove(walk->shape, walk->shape + kept, (size_t)walk->nd * sizeof *walk->shape);
    for (int k = 0; k < walk->n_places; k++) {
        memmove(walk->strides[k], walk->strides[k] + kept, (size_t)walk->nd * sizeof *walk->shape);
    }
}

/* Copy n blocks between x and packed memory. from, to: as bases and steps; a step of 0 repeats one value. */
#define COPY_BLOCKS(BYTES)                                                                                    \
    for (npy_intp i = 0; i < n; i++) {                                                                        \
        memcpy(stores ? x + offsets[i] : packed + i * step, stores ? packed + i * step : x + offsets[i], BYTES); \
    }                                                                                                         \
    break;

static inline void
copy_blocks(char *x, const npy_intp *offsets, npy_intp n, char *packed, npy_intp step, npy_intp block, const int stores)
{
    switch (block) {
    case 1: COPY_BLOCKS(1)
    case 2: COPY_BLOCKS(2)
    case 4: COPY_BLOCKS(4)
    case 8: COPY_BLOCKS(8)
    case 16: COPY_BLOCKS(16)
    case 24: COPY_BLOCKS(24)
    case 32: COPY_BLOCKS(32)
    default: COPY_BLOCKS((size_t)block)
    }
}

/* Copy n blocks that lie `stride` bytes apart. */
#define COPY_EVENLY(BYTES)                                                                                    \
    for (npy_intp i = 0; i < n; i++) {                                                                        \
        memcpy(packed + i * block, x + i * stride, BYTES);                                                    \
    }                                                                                                         \
    break;

static void
copy_evenly(const char *x, npy_intp stride, npy_intp n, char *packed, npy_intp block)
{
    switch (block) {
    case 4: COPY_EVENLY(4)
    case 8: COPY_EVENLY(8)
    default: COPY_EVENLY((size_t)block)
    }
}

/* Copy n places of x, each with a block for every place of the whole axes before it, from `axis` of these on. at: the number
   of the first of these blocks, in units of those that are gone through from here on. */
static void
copy_sides(const Walk *walk, char *x, const npy_intp *offsets, npy_intp n, char *packed, int axis, npy_intp at)
{
    if (axis == walk->before) {
        copy_blocks(x, offsets, n, packed + at * walk->block, walk->copies * walk->block, walk->block, 0);
        return;
    }
    npy_intp size = walk->sides[axis], stride = walk->side_strides[axis];
    if (axis == walk->before - 1 && n < FEW) { /* what lies side by side is written side by side */
        for (npy_intp i = 0; i < n; i++) {
            copy_evenly(x + offsets[i], stride, size, packed + (i * walk->copies + at * size) * walk->block, walk->block);
        }
        return;
    }
    for (npy_intp i = 0; i < size; i++) {
        copy_sides(walk, x + i * stride, offsets, n, packed, axis + 1, at * size + i);
    }
}

/* Join whole axes that go on evenly, so that sides are long. */
static void
join_sides(Walk *walk)
{
    int kept = 0;
    for (int axis = 1; axis < walk->before; axis++) {
        if (walk->side_strides[kept] == walk->side_strides[axis] * walk->sides[axis]) {
            walk->sides[kept] *= walk->sides[axis];
        }
        else {
            walk->sides[++kept] = walk->sides[axis];
        }
        walk->side_strides[kept] = walk->side_strides[axis];
    }
    walk->before = walk->before > 0 ? kept + 1 : 0;
}

/* x[i] by one index array: n elements of `bytes`, packed into `out`; 1 where an index is out of range. */
#define TAKE(TYPE)                                                                                        \
    for (npy_intp i = 0; i < n; i++) {                                                                    \
        TYPE one;                                                                                         \
        memcpy(&one, at + i * stride, sizeof one);                                                        \
        npy_intp index = (npy_intp)one;                                                                   \
        index += (TYPE)-1 > 0 ? 0 : (index >> 63) & size;                                                 \
        int bad = (npy_uintp)index >= (npy_uintp)size;                                                    \
        is_out |= bad;                                                                                    \
        memcpy(out + i * (npy_intp)bytes, x + (bad ? 0 : index) * step, bytes);                           \
    }                                                                                                     \
    return is_out;

static inline int
take(char *out, npy_intp n, const char *at, npy_intp stride, int kind, const char *x, npy_intp size, npy_intp step,
     const size_t bytes)
{
    int is_out = 0;
    switch (kind) {
    case -1: TAKE(npy_int8)
    case -2: TAKE(npy_int16)
    case -4: TAKE(npy_int32)
    case -8: TAKE(npy_int64)
    case 1: TAKE(npy_uint8)
    case 2: TAKE(npy_uint16)
    case 4: TAKE(npy_uint32)
    default: TAKE(npy_uint64)
    }
}

/* Gather by one index array, all of whose axes are one: the index is looked at and used at once. */
static int
take_elements(const Walk *walk, const DlReg *x, char *out)
{
    const Place *place = &walk->places[0];
    npy_intp stride = walk->strides[0][0], size = walk->sizes[0], step = walk->steps[0];
    if (step != walk->block) {
        return take(out, walk->n, place->data, stride, place->kind, x->data, size, step, (size_t)walk->block);
    }
#define OF(BYTES)                                                                                         \
    case BYTES:                                                                                           \
        return place->kind == -8 && stride == 8                                                           \
                   ? take(out, walk->n, place->data, 8, -8, x->data, size, BYTES, BYTES)                  \
                   : take(out, walk->n, place->data, stride, place->kind, x->data, size, BYTES, BYTES);
    switch (walk->block) {
        OF(1)
        OF(2)
        OF(4)
        OF(8)
        OF(16)
        OF(24)
        OF(32)
    }
#undef OF
    return take(out, walk->n, place->data, stride, place->kind, x->data, size, step, (size_t)walk->block);
}

/* Gather into packed memory; 1 where an index is out of range. */
static int
gather(const Walk *walk, const DlReg *x, char *out)
{
    npy_intp offsets[CHUNK], length = walk->shape[walk->nd - 1];
    if (walk->n_places == 1 && walk->nd == 1 && walk->sizes[0] > 0 && walk->before == 0) {
        return take_elements(walk, x, out);
    }
    for (npy_intp first = 0; first < walk->n;) {
        npy_intp left = length - first % length, n = left < CHUNK ? left : CHUNK;
        if (find_offsets(walk, first, n, offsets)) {
            return 1;
        }
        copy_sides(walk, x->data, offsets, n, out + first * walk->copies * walk->block, 0, 0);
        first += n;
    }
    return 0;
}

/* The array as NumPy hands it out: the whole axes before those with indices first. Steals `array`; NULL with an error. */
static PyObject *
turned(const Walk *walk, PyObject *array)
{
    if (walk->before == 0) {
        return array;
    }
    npy_intp order[DL_MAX_DIMS];
    int nd = PyArray_NDIM((PyArrayObject *)array);
    for (int axis = 0; axis < nd; axis++) {
        order[axis] = axis < walk->before ? walk->nd + axis : axis < walk->before + walk->nd ? axis - walk->before : axis;
    }
    PyArray_Dims axes = {order, nd};
    PyObject *view = PyArray_Transpose((PyArrayObject *)array, &axes);
    Py_DECREF(array);
    return view;
}

static DlStatus
get(DlRun *run, const DlCallStep *step, Walk *walk)
{
    const DlType *type = &step->types[0];
    const DlReg *x = &run->regs[step->fancy.x];
    npy_intp lies[DL_MAX_DIMS], shape[DL_MAX_DIMS], expected[DL_MAX_DIMS];
    int before = walk->before, behind = before + walk->n_places, nd = walk->nd + x->nd - walk->n_places;
    memcpy(lies, walk->shape, (size_t)walk->nd * sizeof *lies);
    memcpy(lies + walk->nd, x->shape, (size_t)before * sizeof *lies);
    memcpy(lies + walk->nd + before, x->shape + behind, (size_t)(x->nd - behind) * sizeof *lies);
    memcpy(shape, x->shape, (size_t)before * sizeof *shape);
    memcpy(shape + before, walk->shape, (size_t)walk->nd * sizeof *shape);
    memcpy(shape + before + walk->nd, x->shape + behind, (size_t)(x->nd - behind) * sizeof *shape);
    if (!is_sorted(x, before, behind)) {
        return 2;
    }
    if (type->scalar || type->shape.n != nd || type->descr->type_num != x->descr->type_num
        || dl_dims_get(run, &type->shape, expected) || memcmp(shape, expected, (size_t)nd * sizeof *shape) != 0) {
        return 2;
    }
    PyObject *array = dl_pool_array(run, type->descr, nd, lies, NULL);
    if (array == NULL) {
        PyErr_Clear(); /* NumPy says what there is no memory for */
        return 2;
    }
    char *out = PyArray_BYTES((PyArrayObject *)array);
    PyObject *made = turned(walk, array);
    if (made == NULL) {
        PyErr_Clear();
        return 2;
    }
    join_axes(walk);
    join_sides(walk);
    int is_out;
    if (walk->n <= MOST / walk->row / walk->copies) {
        is_out = gather(walk, x, out);
    }
    else {
        Py_BEGIN_ALLOW_THREADS /* as NumPy does: nobody else knows `array` */
        is_out = gather(walk, x, out);
        Py_END_ALLOW_THREADS
    }
    if (is_out) {
        Py_DECREF(made);
        return 2;
    }
    if (before > 0) {
        dl_reg_take(&run->regs[step->dsts[0]], made); /* a view */
    }
    else {
        dl_reg_take_fresh(&run->regs[step->dsts[0]], made);
    }
    return 0;
}

/* A number that is stored, in x's dtype, in `cell`; NULL where NumPy converts it in a way of its own. */
static char *
fill_cell(DlRun *run, PyObject *value, PyArray_Descr *descr, char *cell)
{
    const DlSlot *slot = dl_slot_cast(value);
    int32_t type_num = descr->type_num;
    if (type_num != NPY_DOUBLE && !PyTypeNum_ISINTEGER(type_num) && type_num != NPY_BOOL) {
        return NULL;
    }
    if (slot != NULL) {
        return slot->kind == DL_SLOT_NUMBER && dl_cell_fill(run, slot->index, descr, cell) == 0 ? cell : NULL;
    }
    uint8_t kind = PyFloat_CheckExact(value) ? DL_FLOAT : DL_INT;
    DlNumber number;
    int overflow = 0;
    if (kind == DL_FLOAT) {
        number.f = PyFloat_AS_DOUBLE(value);
    }
    else if (PyLong_CheckExact(value) || PyBool_Check(value)) {
        number.i = PyLong_AsLongLongAndOverflow(value, &overflow);
    }
    else {
        return NULL;
    }
    DlScalars table = {.kinds = &kind};
    return overflow || dl_number_fill(&table, &number, 0, descr, cell) != 0 ? NULL : cell;
}

/* What is stored, as memory of x's dtype: *step bytes from one place to the next, 0 where all get the same; NULL where
   NumPy has to convert or repeat it. cell: room for a number. */
static char *
find_value(DlRun *run, const DlFancy *fancy, const Walk *walk, npy_intp *step, char *cell)
{
    const DlReg *x = &run->regs[fancy->x];
    int32_t place;
    *step = 0;
    if (!register_of(fancy->value, &place)) {
        return walk->row == 1 ? fill_cell(run, fancy->value, x->descr, cell) : NULL;
    }
    DlReg *value = &run->regs[place];
    if ((value->kind != DL_ARRAY && value->kind != DL_SCALAR) || value->descr->type_num != x->descr->type_num) {
        return NULL;
    }
    if (value->kind == DL_SCALAR) {
        return walk->row == 1 ? dl_reg_cell(value) : NULL;
    }
    if (dl_regs_may_share(x, value)) {
        return NULL;
    }
    if (value->nd == 0) {
        return walk->row == 1 ? value->data : NULL;
    }
    int rows = x->nd - walk->n_places;
    if (value->nd != walk->nd + rows || !dl_reg_is_packed(value)
        || memcmp(value->shape, walk->shape, (size_t)walk->nd * sizeof *walk->shape) != 0
        || memcmp(value->shape + walk->nd, x->shape + walk->n_places, (size_t)rows * sizeof *walk->shape) != 0) {
        return NULL;
    }
    *step = walk->block;
    return value->data;
}

static DlStatus
set(DlRun *run, const DlCallStep *step, Walk *walk)
{
    const DlFancy *fancy = &step->fancy;
    const DlReg *x = &run->regs[fancy->x];
    npy_intp value_step;
    char cell[DL_CELL];
    char *value = x->writeable ? find_value(run, fancy, walk, &value_step, cell) : NULL;
    for (int k = 0; value != NULL && k < walk->n_places; k++) {
        value = walk->places[k].reg && dl_regs_may_share(x, walk->places[k].reg) ? NULL : value;
    }
    if (value == NULL) {
        return 2;
    }
    npy_intp few[CHUNK], *offsets = walk->n <= CHUNK ? few : PyMem_New(npy_intp, walk->n);
    if (offsets == NULL) {
        return 2;
    }
    join_axes(walk);
    npy_intp length = walk->shape[walk->nd - 1];
    int is_out = 0;
    for (npy_intp first = 0; first < walk->n && !is_out; first += length) {
        is_out = find_offsets(walk, first, length, offsets + first);
    }
    if (!is_out) {
        copy_blocks(x->data, offsets, walk->n, value, value_step, walk->block, 1);
    }
    if (offsets != few) {
        PyMem_Free(offsets);
    }
    return is_out ? 2 : 0;
}

DlStatus
dl_fancy_run(DlRun *run, const DlCallStep *step)
{
    Walk walk;
    if (!begin_walk(&walk, run, &step->fancy)) {
        return 2;
    }
    if (step->fancy.value == NULL) {
        return get(run, step, &walk);
    }
    return walk.n <= MOST / walk.row ? set(run, step, &walk) : 2;
}
