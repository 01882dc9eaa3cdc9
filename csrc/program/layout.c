/* Memory order of fresh results: what NumPy's "K" order gives, operation by operation through a kernel.
 *
 * NumPy's rules. (1) A ufunc with one output whose operands are 0-d, or 1-d, or all C-contiguous, or all F-contiguous,
 * of one shape and read without a cast, makes a C- (F-)contiguous result. (2) Otherwise the iterator orders the axes: an
 * insertion sort from the innermost axis outwards, in which an axis moves inwards past another only if every
 * operand that has a stride along both (0 and size-1 axes say nothing) agrees that its stride is smaller; the result is
 * packed in that order. (3) A copy or explicit astype of a K-ordered array sorts that array's own strides. (4) An operator
 * writes its result into an operand that is a big temporary nobody else refers to (numpy/_core/src/multiarray/
 * temp_elide.c), which keeps that one's order. What is a temporary is not known here: where it would show, the layout is
 * unknown.
 */
#include "program.h"

void
dl_layout_contiguous(int nd, const npy_intp *shape, npy_intp itemsize, int fortran, npy_intp *strides)
{
    npy_intp stride = itemsize;
    for (int i = 0; i < nd; i++) {
        int axis = fortran ? i : nd - 1 - i;
        strides[axis] = stride;
        stride *= shape[axis] ? shape[axis] : 1; /* NB: NumPy counts an empty axis as 1 here */
    }
}

/* Whether the layout is contiguous in C (F) order, by NumPy's relaxed rule: size-1 axes do not count. */
static int
is_contiguous(const DlLayout *layout, int fortran)
{
    npy_intp expected = layout->itemsize;
    int contiguous = 1;
    for (int i = 0; i < layout->nd; i++) {
        int axis = fortran ? i : layout->nd - 1 - i;
        if (layout->shape[axis] == 0) {
            return 1;
        }
        if (layout->shape[axis] != 1) {
            contiguous &= layout->strides[axis] == expected;
            expected *= layout->shape[axis];
        }
    }
    return contiguous;
}

/* Broadcast the operands' shapes into out; 1 if they do not fit. */
static int
broadcast(const DlKernelOp *op, const DlLayout *values, DlLayout *out)
{
    out->nd = 0;
    for (int i = 0; i < op->n_operands; i++) {
        int nd = values[op->operands[i]].nd;
        out->nd = nd > out->nd ? nd : out->nd;
    }
    for (int axis = 0; axis < out->nd; axis++) {
        out->shape[axis] = 1;
        for (int i = 0; i < op->n_operands; i++) {
            const DlLayout *value = &values[op->operands[i]];
            int own = axis - (out->nd - value->nd);
            if (own < 0 || value->shape[own] == 1) {
                continue;
            }
            if (out->shape[axis] != 1 && out->shape[axis] != value->shape[own]) {
                return 1;
            }
            out->shape[axis] = value->shape[own];
        }
    }
    return 0;
}

/* Rule (1): 0 for a C-ordered result, 1 for an F-ordered one, -1 where the rule does not apply. */
static int
trivial_order(const DlKernelOp *op, const DlLayout *values, const DlLayout *out)
{
    if (op->rule != DL_LAYOUT_UFUNC || op->n_outs != 1) {
        return -1;
    }
    int order = 0; /* 1 C, 2 F, 3 both */
    for (int i = 0; i < op->n_operands; i++) {
        const DlLayout *value = &values[op->operands[i]];
        if (value->nd == 0) {
            continue;
        }
        if (value->nd != out->nd || memcmp(value->shape, out->shape, (size_t)out->nd * sizeof(npy_intp)) != 0
            || (value->cast && value->nd > 1)) {
            return -1;
        }
        if (value->nd == 1) {
            continue;
        }
        int own = is_contiguous(value, 0) | is_contiguous(value, 1) << 1;
        if (own == 0 || (order != 0 && own != order)) {
            return -1;
        }
        order = own;
    }
    return order == 2;
}

/* The stride of a value along `axis` of the broadcast shape, 0 where it has none. */
static npy_intp
stride_along(const DlLayout *value, const DlLayout *out, int axis)
{
    int own = axis - (out->nd - value->nd);
    return own < 0 || value->shape[own] == 1 || out->shape[axis] == 1 ? 0 : value->strides[own];
}

static inline npy_intp
magnitude(npy_intp stride)
{
    return stride < 0 ? -stride : stride;
}

/* What the operands say of two axes: 1 the first has the smaller strides, 0 not, -1 nothing. */
static int
goes_inside(const DlKernelOp *op, const DlLayout *values, const DlLayout *out, int axis, int other)
{
    int said = -1;
    for (int i = 0; i < op->n_operands; i++) {
        npy_intp stride = stride_along(&values[op->operands[i]], out, axis);
        npy_intp against = stride_along(&values[op->operands[i]], out, other);
        if (stride == 0 || against == 0) {
            continue;
        }
        if (magnitude(against) <= magnitude(stride)) {
            return 0; /* where operands disagree, C order stays */
        }
        said = 1;
    }
    return said;
}

/* Rule (2): the axes from the innermost outwards. */
static void
iterator_order(const DlKernelOp *op, const DlLayout *values, const DlLayout *out, int *order)
{
    for (int i = 0; i < out->nd; i++) {
        int axis = out->nd - 1 - i, at = i;
        for (int j = i - 1; j >= 0; j--) {
            int inside = goes_inside(op, values, out, axis, order[j]);
            if (inside == 0) {
                break;
            }
            at = inside == 1 ? j : at;
        }
        memmove(order + at + 1, order + at, (size_t)(i - at) * sizeof *order);
        order[at] = axis;
    }
}

void
dl_layout_order(const DlLayout *layout, int *order)
{
    int operand = 0;
    DlKernelOp op = {.n_operands = 1, .operands = &operand};
    iterator_order(&op, layout, layout, order);
}

/* Rule (3): the axes of one array from the innermost outwards. */
static void
sorted_order(const DlLayout *value, int *order)
{
    for (int i = 0; i < value->nd; i++) {
        int axis = value->nd - 1 - i, at = i;
        while (at > 0 && magnitude(value->strides[order[at - 1]]) > magnitude(value->strides[axis])) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = axis;
    }
}

/* Strides of an array packed in that order of axes, innermost first. */
static void
pack(DlLayout *layout, const int *order)
{
    npy_intp stride = layout->itemsize;
    for (int i = 0; i < layout->nd; i++) {
        layout->strides[order[i]] = stride;
        stride *= layout->shape[order[i]]; /* NB: an empty axis makes the strides outside of it 0, unlike rule (1) */
    }
}

/* The layout of a copy with that order. */
static void
copy_layout(DlLayout *copy, const DlLayout *source, NPY_ORDER order)
{
    copy->nd = source->nd;
    copy->cast = 0;
    memcpy(copy->shape, source->shape, sizeof copy->shape);
    int is_c = is_contiguous(source, 0), is_f = is_contiguous(source, 1);
    int fortran = order == NPY_FORTRANORDER || (order != NPY_CORDER && is_f && !is_c);
    if (order == NPY_KEEPORDER && !is_c && !is_f && copy->nd > 1) {
        int axes[DL_MAX_DIMS];
        sorted_order(source, axes);
        pack(copy, axes);
        return;
    }
    dl_layout_contiguous(copy->nd, copy->shape, copy->itemsize, fortran, copy->strides);
}

void
dl_layout_of_copy(const DlReg *reg, int itemsize, npy_intp *strides)
{
    DlLayout source = {.nd = reg->nd, .itemsize = (int)PyDataType_ELSIZE(reg->descr)}, copy = {.itemsize = itemsize};
    memcpy(source.shape, reg->shape, (size_t)reg->nd * sizeof *source.shape);
    memcpy(source.strides, reg->strides, (size_t)reg->nd * sizeof *source.strides);
    copy_layout(&copy, &source, NPY_KEEPORDER);
    memcpy(strides, copy.strides, (size_t)reg->nd * sizeof *strides);
}

/* The axes of reg's array from the outermost in memory to the innermost, C order where sizes of 1 leave a choice; 1 if
 * axes repeat or meet, or it has not nd of them. */
static int
order_of_axes(const DlReg *reg, int nd, int *order)
{
    int moving = 0, ordered = 1;
    if (reg->kind != DL_ARRAY || reg->nd != nd) {
        return 1;
    }
    for (int axis = 0; axis < nd; axis++) {
        npy_intp stride = Py_ABS(reg->strides[axis]);
        if (reg->shape[axis] == 0 || (reg->shape[axis] != 1 && stride == 0)) {
            return 1;
        }
        if (reg->shape[axis] == 1) {
            continue;
        }
        int place = moving++;
        for (; place > 0 && Py_ABS(reg->strides[order[place - 1]]) <= stride; place--) {
            if (Py_ABS(reg->strides[order[place - 1]]) == stride) {
                return 1;
            }
            order[place] = order[place - 1];
            ordered = 0;
        }
        order[place] = axis;
    }
    for (int axis = 0; ordered && axis < nd; axis++) {
        order[axis] = axis;
    }
    return !ordered && moving < nd;
}

int
dl_layout_common(const DlReg *regs, const int32_t *like, int n, int nd, const npy_intp *shape, int itemsize,
                 npy_intp *strides)
{
    int order[DL_MAX_DIMS], other[DL_MAX_DIMS];
    for (int axis = 0; axis < nd; axis++) {
        order[axis] = axis;
    }
    for (int i = 0; i < n; i++) {
        int *found = i ? other : order;
        if (order_of_axes(&regs[like[i]], nd, found)
            || (i && memcmp(order, other, (size_t)nd * sizeof *order) != 0)) {
            return 1;
        }
    }
    npy_intp stride = itemsize;
    for (int place = nd - 1; place >= 0; place--) {
        strides[order[place]] = stride;
        stride *= shape[order[place]];
    }
    return 0;
}

/* Whether both have one order of axes, sizes of 1 aside. NB: not their strides, which borders make larger. */
static int
are_ordered_alike(const DlLayout *one, const DlLayout *other)
{
    for (int i = 0; i < one->nd; i++) {
        for (int j = i + 1; j < one->nd; j++) {
            if (one->shape[i] != 1 && one->shape[j] != 1
                && (magnitude(one->strides[i]) < magnitude(one->strides[j]))
                       != (magnitude(other->strides[i]) < magnitude(other->strides[j]))) {
                return 0;
            }
        }
    }
    return 1;
}

/* Rule (4): whether a result in the place of an operand might lie otherwise. */
static int
may_be_elided(const DlKernelOp *op, const DlLayout *values, const DlLayout *out)
{
    enum { LEAST = 256 * 1024 }; /* bytes */
    npy_intp bytes = out->itemsize;
    for (int axis = 0; axis < out->nd; axis++) {
        bytes *= out->shape[axis];
    }
    for (int i = 0; i < op->n_operands && op->n_outs == 1 && out->nd > 1 && bytes >= LEAST; i++) {
        const DlLayout *value = &values[op->operands[i]];
        if (value->made && value->itemsize == out->itemsize && value->nd == out->nd
            && memcmp(value->shape, out->shape, (size_t)out->nd * sizeof *out->shape) == 0
            && !are_ordered_alike(value, out)) {
            return 1;
        }
    }
    return 0;
}

/* Lay out the results of one operation; values: all values so far, whose itemsizes are set. 1 if shapes do not fit, or
 * the layout is not known. */
static int
lay_out(const DlKernelOp *op, const int *itemsizes, DlLayout *values)
{
    DlLayout *out = &values[op->first_out];
    out->itemsize = itemsizes[op->first_out];
    out->cast = 0;
    out->made = 1;
    switch (op->rule) {
    case DL_LAYOUT_CONST:
        out->nd = 0;
        return 0;
    case DL_LAYOUT_CAST:
        *out = values[op->operands[0]]; /* with the itemsize of what lies in memory */
        out->cast = 1;
        return 0;
    case DL_LAYOUT_COPY:
        copy_layout(out, &values[op->operands[0]], op->order);
        return 0;
    default:
        break;
    }
    if (broadcast(op, values, out)) {
        return 1;
    }
    int fortran = trivial_order(op, values, out);
    if (fortran >= 0) {
        dl_layout_contiguous(out->nd, out->shape, out->itemsize, fortran, out->strides);
        return 0;
    }
    int order[DL_MAX_DIMS];
    iterator_order(op, values, out, order);
    for (int i = 0; i < op->n_outs; i++) {
        DlLayout *each = &values[op->first_out + i];
        if (i > 0) {
            *each = *out;
            each->itemsize = itemsizes[op->first_out + i];
        }
        pack(each, order);
    }
    return may_be_elided(op, values, out);
}

int
dl_layout_results(const DlKernel *kernel, const DlLayout *operands, const uint8_t *into, int nd, const npy_intp *shape,
                  DlLayout *results)
{
    DlLayout small[24], *values = small;
    if (kernel->n_values > 24) {
        values = PyMem_RawMalloc((size_t)kernel->n_values * sizeof *values);
        if (values == NULL) {
            return 1;
        }
    }
    memcpy(values, operands, (size_t)kernel->n_operands * sizeof *values);
    int unknown = 0;
    for (int i = 0; i < kernel->n_ops && !unknown; i++) {
        unknown = lay_out(&kernel->ops[i], kernel->itemsizes, values);
    }
    for (int i = 0; i < kernel->n_results && !unknown; i++) {
        if (into != NULL && into[i]) {
            continue; /* NB: a number that fills an array has no axes of its own */
        }
        int number = kernel->results[i];
        DlLayout *result = &results[i];
        *result = values[number];
        if (result->cast || (number < kernel->n_operands && !kernel->iterates)) {
            result->itemsize = kernel->itemsizes[number]; /* a result that is only read or cast: a copy */
            copy_layout(result, &values[number], NPY_KEEPORDER);
        }
        unknown = result->nd != nd || (nd && memcmp(result->shape, shape, (size_t)nd * sizeof *shape) != 0);
    }
    if (values != small) {
        PyMem_RawFree(values);
    }
    return unknown;
}

/* ---- memory in common ---- */

/* One axis of the search: so far apart do its steps lie, and so many there are at most, to either side. */
typedef struct {
    npy_intp stride, least, most;
} Steps;

/* Whether no sum of steps comes to within [low, high]; 0 also where the search takes too long. Axes by falling stride. */
static int
never_meets(const Steps *axes, int n, npy_intp low, npy_intp high, int *patience)
{
    if (n == 0) {
        return low > 0 || high < 0;
    }
    npy_intp reach_low = 0, reach_high = 0; /* of the axes inside */
    for (int i = 1; i < n; i++) {
        reach_low += axes[i].stride * axes[i].least;
        reach_high += axes[i].stride * axes[i].most;
    }
    for (npy_intp step = axes->least; step <= axes->most; step++) {
        npy_intp rest = axes->stride * step;
        if (rest + reach_high < low) { /* too few: to the first that may do */
            step += (low - rest - reach_high - 1) / axes->stride;
            continue;
        }
        if (rest + reach_low > high) {
            return 1;
        }
        if (--*patience < 0 || !never_meets(axes + 1, n - 1, low - rest, high - rest, patience)) {
            return 0;
        }
    }
    return 1;
}

/* Add an axis in its place by stride; those of one stride are one. */
static int
add_steps(Steps *axes, int n, npy_intp stride, npy_intp count, int back)
{
    int sign = (stride < 0) != back ? -1 : 1;
    Steps own = {magnitude(stride), sign < 0 ? -(count - 1) : 0, sign < 0 ? 0 : count - 1};
    int at = 0;
    while (at < n && axes[at].stride > own.stride) {
        at++;
    }
    if (at < n && axes[at].stride == own.stride) {
        axes[at].least += own.least;
        axes[at].most += own.most;
        return n;
    }
    memmove(axes + at + 1, axes + at, (size_t)(n - at) * sizeof *axes);
    axes[at] = own;
    return n + 1;
}

int
dl_layout_disjoint(const char *one, npy_intp itemsize, const npy_intp *strides, const char *other, npy_intp other_itemsize,
                const npy_intp *other_strides, int nd, const npy_intp *shape)
{
    Steps axes[2 * DL_MAX_DIMS];
    int n = 0, patience = 64;
    for (int axis = 0; axis < nd; axis++) {
        if (shape[axis] > 1 && strides[axis] != 0) {
            n = add_steps(axes, n, strides[axis], shape[axis], 0);
        }
        if (shape[axis] > 1 && other_strides[axis] != 0) {
            n = add_steps(axes, n, other_strides[axis], shape[axis], 1);
        }
    }
    npy_intp ahead = other - one; /* an element of one meets one of the other where the steps come to about this */
    return never_meets(axes, n, ahead - itemsize + 1, ahead + other_itemsize - 1, &patience);
}
