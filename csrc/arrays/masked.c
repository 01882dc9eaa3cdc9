/* Masked: count the true elements of a mask, gather what it selects, scatter into what it selects: elements, or rows where
 * the array has more axes than the mask. Rows that do not lie packed are NumPy's own to move, and so are few of them, of
 * which it chooses the strides.
 *
 * The order is that of x[mask] in NumPy, C order, whatever the strides are; mask_moves.c moves the elements of a row.
 *
 * Where at most a quarter is selected, what counts notes their places, and all that goes by the same mask behind it goes by
 * these: the mask is gone through once.
 */
#include "builder/build.h"
#include "mask_moves.h"

/* Go through the mask and the array (the mask itself where only it is read) in C order, items of so many bytes; how many
 * were true. */
static npy_intp
walk(DlMoveRow move, const DlReg *mask, const DlReg *array, char *packed, npy_intp packed_stride, npy_intp count,
     npy_intp bytes)
{
    npy_intp size = 1, k = 0, at[DL_MAX_DIMS] = {0};
    for (int axis = 0; axis < mask->nd; axis++) {
        size *= mask->shape[axis];
    }
    if (size == 0) {
        return 0;
    }
    if (dl_reg_is_packed(mask) && dl_reg_is_packed(array)) {
        return move(packed, packed_stride, 0, count, array->data, bytes, mask->data, 1, size, bytes);
    }
    int last = mask->nd - 1;
    char *data = array->data;
    const char *bits = mask->data;
    for (;;) {
        k = move(packed, packed_stride, k, count, data, array->strides[last], bits, mask->strides[last],
                 mask->shape[last], bytes);
        int axis = last - 1;
        for (; axis >= 0; axis--) {
            data += array->strides[axis];
            bits += mask->strides[axis];
            if (++at[axis] < mask->shape[axis]) {
                break;
            }
            data -= at[axis] * array->strides[axis];
            bits -= at[axis] * mask->strides[axis];
            at[axis] = 0;
        }
        if (axis < 0) {
            return k;
        }
    }
}

/* Whether a register holds an array of the mask's shape, and more axes perhaps. */
static int
has_shape_of(const DlReg *reg, const DlReg *mask)
{
    if (reg->kind != DL_ARRAY || reg->nd < mask->nd) {
        return 0;
    }
    for (int axis = 0; axis < mask->nd; axis++) {
        if (reg->shape[axis] != mask->shape[axis]) {
            return 0;
        }
    }
    return 1;
}

/* The bytes of what lies behind the first n axes of an array at each place; 0 where that does not lie packed, or has an
 * axis of less than two elements. */
static npy_intp
bytes_of_item(const DlReg *reg, int n)
{
    npy_intp bytes = PyDataType_ELSIZE(reg->descr);
    for (int axis = reg->nd - 1; axis >= n; axis--) {
        if (reg->shape[axis] < 2 || reg->strides[axis] != bytes) {
            return 0;
        }
        bytes *= reg->shape[axis];
    }
    return bytes;
}

/* array[mask], or array[mask] = value, by NumPy. */
static DlStatus
move_by_numpy(DlRun *run, const DlMaskedStep *step)
{
    PyObject *array = dl_reg_object(&run->regs[step->src]), *mask = dl_reg_object(&run->regs[step->mask]);
    if (array == NULL || mask == NULL) {
        return -1;
    }
    if (step->kind == DL_MASKED_PUT) {
        PyObject *value = dl_reg_object(&run->regs[step->value]);
        return value == NULL || PyObject_SetItem(array, mask, value) < 0 ? dl_failed(run, DL_REASON_CALL) : 0;
    }
    PyObject *made = PyObject_GetItem(array, mask);
    if (made == NULL) {
        return dl_failed(run, DL_REASON_CALL);
    }
    dl_reg_take(&run->regs[step->dst], made);
    return 0;
}

/* Whether values that a mask is to select places for are rows like those of the array, and as many as it selects. */
static int
are_rows(const DlReg *value, const DlReg *array, int n, npy_intp count)
{
    if (value->kind != DL_ARRAY || value->nd != 1 + array->nd - n || value->shape[0] != count
        || value->descr->type_num != array->descr->type_num) {
        return 0;
    }
    for (int axis = n; axis < array->nd; axis++) {
        if (value->shape[axis - n + 1] != array->shape[axis]) {
            return 0;
        }
    }
    return 1;
}

/* How many elements of a mask are true, and where they are for what goes by the mask behind it; 0, or -1 where memory ran
 * out. */
static int
count_and_note(DlRun *run, const DlMaskedStep *step, npy_intp *count)
{
    const DlReg *mask = &run->regs[step->mask];
    npy_intp size = 1;
    for (int axis = 0; axis < mask->nd; axis++) {
        size *= mask->shape[axis];
    }
    *count = -1;
    npy_intp room = size / DL_MASK_SHARE, shape[] = {room + DL_MASK_BLOCK};
    if (step->places >= 0 && size >= DL_MASK_LEAST && size <= INT32_MAX && dl_reg_is_packed(mask)) {
        PyArray_Descr *descr = PyArray_DescrFromType(NPY_INT32);
        PyObject *made = dl_pool_array(run, descr, 1, shape, NULL);
        Py_DECREF(descr);
        if (made == NULL) {
            return -1;
        }
        *count = dl_mask_moves_note(mask->data, size, (int32_t *)(void *)PyArray_BYTES((PyArrayObject *)made), room);
        dl_reg_take_fresh(&run->regs[step->places], made);
    }
    if (*count < 0) {
        if (step->places >= 0) {
            dl_reg_release(run, &run->regs[step->places]);
        }
        *count = walk(dl_mask_moves_count, mask, mask, NULL, 0, 0, 1);
    }
    return 0;
}

/* Move what a mask selects of an array to or from `packed`; how many elements, or rows, it was. */
static npy_intp
move_selected(DlRun *run, const DlMaskedStep *step, const DlMaskMove *move, char *packed, npy_intp packed_stride, npy_intp count,
              npy_intp bytes)
{
    const DlReg *mask = &run->regs[step->mask], *array = &run->regs[step->src];
    const DlReg *noted = step->places < 0 ? NULL : &run->regs[step->places];
    npy_intp stride = mask->nd == 1 ? array->strides[0] : dl_reg_is_packed(array) ? bytes : 0;
    if (noted == NULL || noted->kind == DL_EMPTY || stride == 0 || noted->shape[0] < count + DL_MASK_BLOCK) {
        return walk(move->row, mask, array, packed, packed_stride, count, bytes);
    }
    move->placed(packed, packed_stride, array->data, stride, (const int32_t *)(const void *)noted->data, count, bytes);
    return count;
}

DlStatus
dl_masked_run(DlRun *run, const DlMaskedStep *step)
{
    const DlReg *mask = &run->regs[step->mask];
    if (mask->kind != DL_ARRAY || mask->descr->type_num != NPY_BOOL || mask->nd == 0) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    if (step->kind == DL_MASKED_COUNT) {
        npy_intp count;
        if (count_and_note(run, step, &count) < 0) {
            return dl_failed(run, DL_REASON_MEMORY);
        }
        DlNumber number = {.i = count};
        return dl_yields_set(run, &step->yields, &number);
    }
    const DlReg *src = &run->regs[step->src];
    npy_intp count = (npy_intp)run->numbers[step->count].i;
    if (count < 0 || !has_shape_of(src, mask)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    int of_rows = src->nd > mask->nd;
    npy_intp bytes = bytes_of_item(src, mask->nd);
    const DlMaskMove *move = dl_mask_moves_find(step->kind, PyDataType_ELSIZE(src->descr), of_rows);
    if (move == NULL) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    if (step->kind == DL_MASKED_PUT) {
        const DlReg *value = &run->regs[step->value];
        if (!are_rows(value, src, mask->nd, count)) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
        if (!src->writeable) {
            return dl_decline(run, DL_REASON_READONLY);
        }
        if (bytes == 0 || (of_rows && bytes_of_item(value, 1) != bytes)) {
            return move_by_numpy(run, step);
        }
        npy_intp put = move_selected(run, step, move, value->data, value->strides[0], count, bytes);
        return put == count ? 0 : dl_decline(run, DL_REASON_CONDITION);
    }
    if (bytes == 0 || (of_rows && count < 2)) {
        return move_by_numpy(run, step);
    }
    npy_intp shape[DL_MAX_DIMS] = {count};
    memcpy(shape + 1, src->shape + mask->nd, (size_t)(src->nd - mask->nd) * sizeof *shape);
    PyObject *made = dl_pool_array(run, src->descr, 1 + src->nd - mask->nd, shape, NULL);
    if (made == NULL) {
        return dl_failed(run, DL_REASON_MEMORY);
    }
    char *packed = PyArray_BYTES((PyArrayObject *)made);
    npy_intp got = move_selected(run, step, move, packed, bytes, count, bytes);
    dl_reg_take_fresh(&run->regs[step->dst], made);
    return got == count ? 0 : dl_decline(run, DL_REASON_CONDITION);
}

int
dl_build_masked(DlBuilder *builder, PyObject *object, DlMaskedStep *step)
{
    int is_get = dl_build_is_text(object, "kind", "get"), is_put = dl_build_is_text(object, "kind", "put");
    step->mask = dl_build_int(object, "mask");
    if (is_get < 0 || is_put < 0 || step->mask == INT32_MIN || dl_build_use(builder, step->mask, object) < 0) {
        return -1;
    }
    step->kind = is_get ? DL_MASKED_GET : is_put ? DL_MASKED_PUT : DL_MASKED_COUNT;
    step->places = dl_build_int(object, "places");
    if (step->places == INT32_MIN) {
        return -1;
    }
    if (step->places >= 0) {
        int (*touch)(DlBuilder *, int32_t, PyObject *) = step->kind == DL_MASKED_COUNT ? dl_build_set : dl_build_use;
        if (touch(builder, step->places, object) < 0) {
            return -1;
        }
    }
    PyObject *count = PyObject_GetAttrString(object, "count");
    step->count = count ? dl_scalar_add(&builder->program->numbers, count) : -1;
    Py_XDECREF(count);
    if (step->count < 0) {
        return -1;
    }
    if (builder->program->numbers.kinds[step->count] != DL_INT) {
        return dl_build_refuse(builder, "a number of elements is an int", object);
    }
    if (step->kind == DL_MASKED_COUNT) {
        step->yields.values = &step->count;
        step->yields.n = 1;
        return 0;
    }
    step->src = dl_build_int(object, "src");
    if (step->src == INT32_MIN || dl_build_use(builder, step->src, object) < 0) {
        return -1;
    }
    if (step->kind == DL_MASKED_PUT) {
        step->value = dl_build_int(object, "value");
        return step->value == INT32_MIN ? -1 : dl_build_use(builder, step->value, object);
    }
    step->dst = dl_build_int(object, "dst");
    return step->dst == INT32_MIN ? -1 : dl_build_set(builder, step->dst, object);
}
