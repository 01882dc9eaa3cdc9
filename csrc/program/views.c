/* View steps: geometry by pointer arithmetic, as NumPy's views have it. */
#include "program.h"

/* Number `value` of the table as an int, or `none` where value is -1. */
static npy_intp
number(const DlRun *run, int32_t value, npy_intp none)
{
    return value < 0 ? none : (npy_intp)run->numbers[value].i;
}

/* Basic indexing: None, integers and slices, in the order of src's axes; axes left over stay. */
static DlStatus
index_view(DlRun *run, const DlViewStep *step, const DlReg *src, DlReg *dst)
{
    int axis = 0;
    for (int i = 0; i < step->n; i++) {
        const DlIndex *index = &step->indices[i];
        if (index->kind != DL_INDEX_NEWAXIS && axis >= src->nd) {
            return dl_decline(run, DL_REASON_INDEX);
        }
        if (index->kind != DL_INDEX_INTEGER && dst->nd >= DL_MAX_DIMS) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
        if (index->kind == DL_INDEX_NEWAXIS) {
            dst->own_shape[dst->nd] = 1;
            dst->own_strides[dst->nd++] = 0;
            continue;
        }
        npy_intp length = src->shape[axis], stride = src->strides[axis];
        axis++;
        if (index->kind == DL_INDEX_INTEGER) {
            npy_intp at = number(run, index->value[0], 0);
            at = at < 0 ? at + length : at;
            if (at < 0 || at >= length) {
                return dl_decline(run, DL_REASON_INDEX);
            }
            dst->data += at * stride;
            continue;
        }
        npy_intp step_by = number(run, index->value[2], 1);
        if (step_by == 0) {
            return dl_decline(run, DL_REASON_INDEX);
        }
        step_by = step_by < -PY_SSIZE_T_MAX ? -PY_SSIZE_T_MAX : step_by;
        npy_intp start = number(run, index->value[0], step_by < 0 ? PY_SSIZE_T_MAX : 0);
        npy_intp stop = number(run, index->value[1], step_by < 0 ? PY_SSIZE_T_MIN : PY_SSIZE_T_MAX);
        npy_intp count = PySlice_AdjustIndices(length, &start, &stop, step_by);
        if (count == 0) {
            start = 0; /* NB: NumPy makes an empty slice start at 0 with step 1 */
            step_by = 1;
        }
        dst->data += start * stride;
        dst->own_shape[dst->nd] = count;
        dst->own_strides[dst->nd++] = stride * step_by;
    }
    for (; axis < src->nd; axis++) {
        if (dst->nd >= DL_MAX_DIMS) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
        dst->own_shape[dst->nd] = src->shape[axis];
        dst->own_strides[dst->nd++] = src->strides[axis];
    }
    return 0;
}

/* Permute the axes. */
static DlStatus
transpose_view(DlRun *run, const DlViewStep *step, const DlReg *src, DlReg *dst)
{
    if (step->n != src->nd) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    for (int i = 0; i < step->n; i++) {
        dst->own_shape[i] = src->shape[step->axes[i]];
        dst->own_strides[i] = src->strides[step->axes[i]];
    }
    dst->nd = step->n;
    return 0;
}

/* Strides for `shape` over src's elements in C order, if no copy is needed; 0 when one is.
 * Runs of axes with equal element counts on both sides correspond; src's run must be one evenly strided stretch. */
static int
reshape_strides(const DlReg *src, int nd, const npy_intp *shape, npy_intp *strides)
{
    npy_intp old_shape[DL_MAX_DIMS], old_strides[DL_MAX_DIMS];
    int old_nd = 0;
    for (int axis = 0; axis < src->nd; axis++) {
        if (src->shape[axis] != 1) {
            old_shape[old_nd] = src->shape[axis];
            old_strides[old_nd++] = src->strides[axis];
        }
    }
    int old = 0, new = 0;
    while (new < nd && old < old_nd) {
        int old_end = old + 1, new_end = new + 1;
        npy_intp old_count = old_shape[old], new_count = shape[new];
        while (old_count != new_count) {
            if (new_count < old_count) {
                new_count *= shape[new_end++];
            }
            else {
                old_count *= old_shape[old_end++];
            }
        }
        for (int axis = old; axis < old_end - 1; axis++) {
            if (old_strides[axis] != old_shape[axis + 1] * old_strides[axis + 1]) {
                return 0;
            }
        }
        npy_intp stride = old_strides[old_end - 1];
        for (int axis = new_end - 1; axis >= new; axis--) {
            strides[axis] = stride;
            stride *= shape[axis];
        }
        old = old_end;
        new = new_end;
    }
    /* Axes of size 1 are left over: they continue the last stride. */
    npy_intp last = new > 0 ? strides[new - 1] : PyDataType_ELSIZE(src->descr);
    for (; new < nd; new++) {
        strides[new] = last;
    }
    return 1;
}

/* reshape, in C order, of elements that need no copy; one size may be -1. */
static DlStatus
reshape_view(DlRun *run, const DlViewStep *step, const DlReg *src, DlReg *dst)
{
    npy_intp known = 1, size = 1, *shape = dst->own_shape;
    int nd = step->dims.n, unknown = -1;
    for (int i = 0; i < src->nd; i++) {
        size *= src->shape[i];
    }
    for (int i = 0; i < nd; i++) {
        shape[i] = number(run, step->dims.values[i], 0);
        if (shape[i] == -1 && unknown < 0) {
            unknown = i;
        }
        else if (shape[i] < 0 || __builtin_mul_overflow(known, shape[i], &known)) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
    }
    if (unknown >= 0) {
        if (known == 0 || size % known != 0) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
        shape[unknown] = size / known;
        known = size;
    }
    if (known != size) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    dst->nd = nd;
    /* NB: NumPy compares shapes before it works out a -1 */
    if (unknown < 0 && nd == src->nd && memcmp(shape, src->shape, (size_t)nd * sizeof *shape) == 0) {
        memcpy(dst->own_strides, src->strides, (size_t)nd * sizeof *shape);
    }
    else if (size == 0 || dl_reg_is_packed(src)) {
        dl_layout_contiguous(nd, shape, PyDataType_ELSIZE(src->descr), 0, dst->own_strides);
    }
    else if (!reshape_strides(src, nd, shape, dst->own_strides)) {
        return dl_decline(run, DL_REASON_COPY);
    }
    return 0;
}

/* np.broadcast_to: a read-only view. */
static DlStatus
broadcast_view(DlRun *run, const DlViewStep *step, const DlReg *src, DlReg *dst)
{
    int missing = step->dims.n - src->nd;
    if (missing < 0 || dl_dims_get(run, &step->dims, dst->own_shape)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    for (int axis = 0; axis < step->dims.n; axis++) {
        npy_intp own = axis < missing ? 1 : src->shape[axis - missing];
        if (own != 1 && own != dst->own_shape[axis]) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
        dst->own_strides[axis] = own == 1 ? 0 : src->strides[axis - missing];
    }
    dst->nd = step->dims.n;
    dst->writeable = 0;
    return 0;
}

/* The dtype of a complex dtype's parts (borrowed: NumPy's builtin dtypes live for ever), or NULL. */
static PyArray_Descr *
part_descr(const PyArray_Descr *descr)
{
    static PyArray_Descr *of_cfloat, *of_cdouble;
    if (of_cfloat == NULL) {
        of_cfloat = PyArray_DescrFromType(NPY_FLOAT);
        of_cdouble = PyArray_DescrFromType(NPY_DOUBLE);
    }
    return descr->type_num == NPY_CFLOAT ? of_cfloat : descr->type_num == NPY_CDOUBLE ? of_cdouble : NULL;
}

/* x.real and x.imag of a complex array. */
static DlStatus
part_view(DlRun *run, const DlViewStep *step, const DlReg *src, DlReg *dst)
{
    dst->descr = part_descr(src->descr);
    if (dst->descr == NULL) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    memcpy(dst->own_shape, src->shape, (size_t)src->nd * sizeof(npy_intp));
    memcpy(dst->own_strides, src->strides, (size_t)src->nd * sizeof(npy_intp));
    dst->nd = src->nd;
    dst->data += step->kind == DL_VIEW_IMAG ? PyDataType_ELSIZE(dst->descr) : 0;
    return 0;
}

/* x.diagonal(): the other axes, then the diagonal of two, whose elements lie as far apart as both strides together. */
static DlStatus
diagonal_view(DlRun *run, const DlViewStep *step, const DlReg *src, DlReg *dst)
{
    int first = step->axes[0], second = step->axes[1], offset = step->axes[2];
    if (first >= src->nd || second >= src->nd) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    for (int axis = 0; axis < src->nd; axis++) {
        if (axis != first && axis != second) {
            dst->own_shape[dst->nd] = src->shape[axis];
            dst->own_strides[dst->nd++] = src->strides[axis];
        }
    }
    npy_intp rows = src->shape[first] + (offset < 0 ? offset : 0);
    npy_intp columns = src->shape[second] - (offset > 0 ? offset : 0);
    npy_intp length = rows < columns ? rows : columns;
    if (length > 0) {
        dst->data += offset < 0 ? -offset * src->strides[first] : offset * src->strides[second];
    }
    dst->own_shape[dst->nd] = length < 0 ? 0 : length;
    dst->own_strides[dst->nd++] = src->strides[first] + src->strides[second];
    dst->writeable = step->axes[3] && src->writeable;
    return 0;
}

/* Turn a 0-d view into the NumPy scalar that it shows now. */
static DlStatus
read_out(DlRun *run, DlReg *dst)
{
    if (dst->nd != 0) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    memcpy(dst->cell.bytes, dst->data, (size_t)PyDataType_ELSIZE(dst->descr));
    dst->kind = DL_SCALAR;
    dst->data = dst->cell.bytes;
    dst->owner = NULL;
    return 0;
}

DlStatus
dl_view_run(DlRun *run, const DlViewStep *step)
{
    DlReg *src = &run->regs[step->src], *dst = &run->regs[step->dst];
    if (step->kind == DL_VIEW_REAL && (src->kind == DL_ARRAY || src->kind == DL_SCALAR)
        && !PyTypeNum_ISCOMPLEX(src->descr->type_num)) {
        PyObject *same = dl_reg_object(src); /* NB: x.real of a real array is x itself */
        if (same == NULL) {
            return -1;
        }
        dl_reg_take(dst, Py_NewRef(same));
        return 0;
    }
    if (src->kind != DL_ARRAY) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    dst->object = NULL;
    dst->owner = src->object ? src->object : src->owner;
    dst->descr = src->descr;
    dst->data = src->data;
    dst->writeable = src->writeable;
    dst->bordered = src->bordered;
    dst->shape = dst->own_shape;
    dst->strides = dst->own_strides;
    dst->nd = 0;
    DlStatus status;
    switch (step->kind) {
    case DL_VIEW_INDEX:
        status = index_view(run, step, src, dst);
        break;
    case DL_VIEW_TRANSPOSE:
        status = transpose_view(run, step, src, dst);
        break;
    case DL_VIEW_RESHAPE:
        status = reshape_view(run, step, src, dst);
        break;
    case DL_VIEW_BROADCAST:
        status = broadcast_view(run, step, src, dst);
        break;
    case DL_VIEW_DIAGONAL:
        status = diagonal_view(run, step, src, dst);
        break;
    default:
        status = part_view(run, step, src, dst);
        break;
    }
    if (status != 0) {
        return status;
    }
    dst->kind = DL_ARRAY;
    return step->scalar ? read_out(run, dst) : 0;
}
