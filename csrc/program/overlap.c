/* Memory that a program writes: what it may share with other inputs, and copies to undo the writes with. */
#include "program.h"
#include "kernels/maps.h"

#include "memory/memory.h"

/* A copy of what an array held before a step wrote it. */
struct DlSaved {
    struct DlSaved *next;
    char *now;           /* owned: what the array held when others began to run, in C order; NULL while they do not */
    char *data;
    int nd;
    npy_intp itemsize;
    npy_intp shape[DL_MAX_DIMS], strides[DL_MAX_DIMS];
    char copy[]; /* in C order of these axes */
};

/* Whether two elements of an array may lie on the same bytes (a sliding window). Axes by growing stride: each has to
 * step over all that the ones before it reach; an array for which this does not hold is taken to overlap. */
static int
may_overlap_itself(const DlReg *reg)
{
    npy_intp reach = PyDataType_ELSIZE(reg->descr);
    unsigned done = 0;
    for (int round = 0; round < reg->nd; round++) {
        int next = -1;
        npy_intp smallest = 0;
        for (int axis = 0; axis < reg->nd; axis++) {
            npy_intp stride = reg->strides[axis] < 0 ? -reg->strides[axis] : reg->strides[axis];
            if (reg->shape[axis] == 0) {
                return 0;
            }
            if (!(done >> axis & 1) && (next < 0 || stride < smallest)) {
                next = axis;
                smallest = stride;
            }
        }
        done |= 1u << next;
        if (reg->shape[next] > 1) {
            if (smallest < reach) {
                return 1;
            }
            reach += smallest * (reg->shape[next] - 1);
        }
    }
    return 0;
}

DlStatus
dl_overlap_check_target(DlRun *run, int written)
{
    const DlReg *reg = &run->regs[written];
    if (reg->kind != DL_ARRAY || !reg->writeable) {
        return dl_decline(run, reg->kind == DL_ARRAY ? DL_REASON_READONLY : DL_REASON_INPUT);
    }
    return may_overlap_itself(reg) ? dl_decline(run, DL_REASON_OVERLAP) : 0;
}

DlStatus
dl_overlap_check_pair(DlRun *run, int written, int other, int same)
{
    const DlReg *one = &run->regs[written], *two = &run->regs[other];
    if (two->kind != DL_ARRAY || one == two || (one->object == two->object && !same)) {
        return 0;
    }
    return dl_regs_may_share(one, two) ? dl_decline(run, DL_REASON_OVERLAP) : 0;
}

DlStatus
dl_overlap_check_inputs(DlRun *run, int first, int end, int same)
{
    const DlProgram *program = run->program;
    DlStatus status = 0;
    for (int i = 0; i < program->n_written && status == 0; i++) {
        int written = program->written[i], is_asked = written >= first && written < end;
        status = is_asked ? dl_overlap_check_target(run, written) : 0;
        int last = is_asked ? program->n_inputs : end;
        for (int other = first; other < last && status == 0; other++) {
            status = dl_overlap_check_pair(run, written, other, same);
        }
    }
    return status;
}

/* Keep the axes of an array by falling stride, neighbours as one where they can be: it is copied in runs as long as its
 * memory has them, whichever way its axes lie. */
static void
keep_axes(DlSaved *saved, const DlReg *reg)
{
    saved->nd = 0;
    for (int axis = 0; axis < reg->nd; axis++) {
        npy_intp stride = reg->strides[axis], size = reg->shape[axis];
        int at = saved->nd;
        if (size == 1) {
            continue;
        }
        for (; at > 0 && Py_ABS(saved->strides[at - 1]) < Py_ABS(stride); at--) {
            saved->strides[at] = saved->strides[at - 1];
            saved->shape[at] = saved->shape[at - 1];
        }
        saved->strides[at] = stride;
        saved->shape[at] = size;
        saved->nd++;
    }
    int last = 0;
    for (int axis = 1; axis < saved->nd; axis++) {
        if (saved->strides[last] == saved->strides[axis] * saved->shape[axis]) {
            saved->shape[last] *= saved->shape[axis];
        }
        else {
            saved->shape[++last] = saved->shape[axis];
        }
        saved->strides[last] = saved->strides[axis];
    }
    saved->nd = saved->nd > 0 ? last + 1 : 0;
}

DlStatus
dl_overlap_save(DlRun *run, const DlReg *reg)
{
    if (reg->kind != DL_ARRAY) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    npy_intp itemsize = PyDataType_ELSIZE(reg->descr), size = itemsize, strides[DL_MAX_DIMS];
    for (int axis = 0; axis < reg->nd; axis++) {
        size *= reg->shape[axis];
    }
    DlSaved *saved = dl_memory_take(sizeof *saved + (size_t)size);
    if (saved == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    saved->next = run->saved;
    saved->now = NULL;
    saved->data = reg->data;
    saved->itemsize = itemsize;
    keep_axes(saved, reg);
    dl_layout_contiguous(saved->nd, saved->shape, itemsize, 0, strides);
    if (size) {
        dl_copy_strided(saved->copy, strides, saved->data, saved->strides, saved->nd, saved->shape, itemsize);
    }
    run->saved = saved;
    return 0;
}

void
dl_overlap_end_saved(DlRun *run, int restore)
{
    while (run->saved != NULL) {
        DlSaved *saved = run->saved;
        npy_intp strides[DL_MAX_DIMS];
        if (restore) {
            dl_layout_contiguous(saved->nd, saved->shape, saved->itemsize, 0, strides);
            dl_copy_strided(saved->data, saved->strides, saved->copy, strides, saved->nd, saved->shape,
                            saved->itemsize);
        }
        run->saved = saved->next;
        dl_memory_give(saved);
    }
}

/* ---- what others write ---- */

static npy_intp
bytes_of(const DlSaved *saved)
{
    npy_intp size = saved->itemsize;
    for (int axis = 0; axis < saved->nd; axis++) {
        size *= saved->shape[axis];
    }
    return size;
}

npy_intp
dl_overlap_saved_bytes(const DlRun *run)
{
    npy_intp size = 0;
    for (const DlSaved *saved = run->saved; saved != NULL; saved = saved->next) {
        size += bytes_of(saved);
    }
    return size;
}

/* What the array holds, in C order; NULL where there is no memory. */
static char *
copy_of(const DlSaved *saved)
{
    npy_intp strides[DL_MAX_DIMS], size = bytes_of(saved);
    char *copy = dl_memory_take((size_t)size + 1);
    dl_layout_contiguous(saved->nd, saved->shape, saved->itemsize, 0, strides);
    if (copy != NULL && size) {
        dl_copy_strided(copy, strides, saved->data, saved->strides, saved->nd, saved->shape, saved->itemsize);
    }
    return copy;
}

int
dl_overlap_note(DlRun *run)
{
    for (DlSaved *saved = run->saved; saved != NULL; saved = saved->next) {
        saved->now = copy_of(saved);
        if (saved->now == NULL) {
            dl_overlap_compare(run, 0);
            return -1;
        }
    }
    return 0;
}

void
dl_overlap_compare(DlRun *run, int reads)
{
    for (DlSaved *saved = run->saved; saved != NULL; saved = saved->next) {
        char *now = saved->now, *then = reads && now != NULL ? copy_of(saved) : NULL;
        npy_intp size = bytes_of(saved);
        if (then != NULL && memcmp(now, then, (size_t)size) != 0) {
            for (npy_intp at = 0; at < size; at += saved->itemsize) {
                if (memcmp(now + at, then + at, (size_t)saved->itemsize) != 0) {
                    memcpy(saved->copy + at, then + at, (size_t)saved->itemsize);
                }
            }
        }
        dl_memory_give(then);
        dl_memory_give(now);
        saved->now = NULL;
    }
}

/* ---- copies ---- */

/* Copy n elements; memcpy of a size that the compiler knows is one move. */
static void
copy_elements(char *dst, npy_intp dst_stride, const char *src, npy_intp src_stride, npy_intp n, npy_intp itemsize)
{
#define COPY_ELEMENTS(size)                                                                                            \
    for (npy_intp i = 0; i < n; i++) {                                                                                 \
        memcpy(dst + i * dst_stride, src + i * src_stride, (size_t)(size));                                            \
    }                                                                                                                  \
    return
    switch (itemsize) {
    case 1:
        COPY_ELEMENTS(1);
    case 2:
        COPY_ELEMENTS(2);
    case 4:
        COPY_ELEMENTS(4);
    case 8:
        COPY_ELEMENTS(8);
    case 16:
        COPY_ELEMENTS(16);
    default:
        COPY_ELEMENTS(itemsize);
    }
#undef COPY_ELEMENTS
}

void __attribute__((aligned(64))) /* NB: its loops are so short that where they lie is a quarter of their time */
dl_copy_strided(char *dst, const npy_intp *dst_strides, const char *src, const npy_intp *src_strides, int nd,
                const npy_intp *shape, npy_intp itemsize)
{
    if (nd == 0) {
        memcpy(dst, src, (size_t)itemsize);
        return;
    }
    if (nd == 1) {
        if (dst_strides[0] == itemsize && src_strides[0] == itemsize) {
            memcpy(dst, src, (size_t)(itemsize * shape[0]));
            return;
        }
        copy_elements(dst, dst_strides[0], src, src_strides[0], shape[0], itemsize);
        return;
    }
    for (npy_intp i = 0; i < shape[0]; i++) {
        dl_copy_strided(dst + i * dst_strides[0], dst_strides + 1, src + i * src_strides[0], src_strides + 1, nd - 1,
                        shape + 1, itemsize);
    }
}
