/* x[indices] of vectors, without a call of NumPy: for machine code, and for a Call step that is just that. */
#include "program.h"

#include <string.h>

enum { MOST_GATHERED = 1 << 17 }; /* elements; NumPy gives other threads the GIL meanwhile */

/* One element of an array of indices; 1 where it is beyond 64 bits. */
static inline int
read_index(const char *at, npy_intp bytes, int is_signed, int64_t *index)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)bytes); /* NB: little-endian, as LLVM's machine here is */
    int unused = 64 - 8 * (int)bytes;
    *index = is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return !is_signed && *index < 0;
}

/* The loop for indices and elements of sizes that the compiler knows. */
static inline int32_t
gather_known(char *out, size_t itemsize, const char *x, npy_intp n, npy_intp stride, const char *indices, npy_intp m,
             npy_intp index_stride, npy_intp bytes, int is_signed)
{
    for (npy_intp i = 0; i < m; i++) {
        int64_t index;
        if (read_index(indices + i * index_stride, bytes, is_signed, &index)) {
            return 1;
        }
        index += (index >> 63) & n;
        if ((uint64_t)index >= (uint64_t)n) {
            return 1;
        }
        memcpy(out + (npy_intp)itemsize * i, x + index * stride, itemsize);
    }
    return 0;
}

int32_t
dl_gather_vectors(char *out, npy_intp itemsize, const char *x, npy_intp n, npy_intp stride, const char *indices, npy_intp m,
                  npy_intp index_stride, npy_intp kind)
{
    if (kind == -8 && itemsize == 8) {
        return stride == 8 && index_stride == 8 ? gather_known(out, 8, x, n, 8, indices, m, 8, 8, 1)
                                                : gather_known(out, 8, x, n, stride, indices, m, index_stride, 8, 1);
    }
    if (kind == -8 && itemsize == 4) {
        return gather_known(out, 4, x, n, stride, indices, m, index_stride, 8, 1);
    }
    if (kind == -4 && itemsize == 8) {
        return gather_known(out, 8, x, n, stride, indices, m, index_stride, 4, 1);
    }
    npy_intp bytes = kind < 0 ? -kind : kind;
    return gather_known(out, (size_t)itemsize, x, n, stride, indices, m, index_stride, bytes, kind < 0);
}

int
dl_gather_build(DlCallStep *step)
{
    PyObject *operators = PyImport_ImportModule("_operator");
    PyObject *getitem = operators ? PyObject_GetAttrString(operators, "getitem") : NULL;
    Py_XDECREF(operators);
    if (getitem == NULL) {
        return -1;
    }
    if (step->function == getitem && step->names == NULL && step->n_dsts == 1 && step->types[0].shape.n == 1
        && PyTuple_GET_SIZE(step->template) == 2) {
        const DlSlot *left = dl_slot_cast(PyTuple_GET_ITEM(step->template, 0));
        const DlSlot *right = dl_slot_cast(PyTuple_GET_ITEM(step->template, 1));
        if (left != NULL && right != NULL && left->kind == DL_SLOT_REG && right->kind == DL_SLOT_REG) {
            step->gathers = 1;
            step->left = left->index;
            step->right = right->index;
        }
    }
    Py_DECREF(getitem);
    return 0;
}

DlStatus
dl_gather_run(DlRun *run, const DlCallStep *step)
{
    const DlReg *x = &run->regs[step->left], *indices = &run->regs[step->right];
    if (x->kind != DL_ARRAY || indices->kind != DL_ARRAY || x->nd != 1 || indices->nd != 1
        || !PyTypeNum_ISINTEGER(indices->descr->type_num) || !PyTypeNum_ISNUMBER(x->descr->type_num)
        || x->descr->type_num != step->types[0].descr->type_num
        || indices->shape[0] > MOST_GATHERED) {
        return 2;
    }
    PyObject *array = dl_pool_array(run, step->types[0].descr, 1, indices->shape, NULL);
    if (array == NULL) {
        return -1;
    }
    npy_intp bytes = PyDataType_ELSIZE(indices->descr);
    npy_intp kind = PyTypeNum_ISSIGNED(indices->descr->type_num) ? -bytes : bytes;
    int32_t failed =
        dl_gather_vectors(PyArray_BYTES((PyArrayObject *)array), PyDataType_ELSIZE(x->descr), x->data, x->shape[0],
                          x->strides[0], indices->data, indices->shape[0], indices->strides[0], kind);
    dl_reg_take_fresh(&run->regs[step->dsts[0]], array);
    return failed ? dl_decline(run, DL_REASON_INDEX) : 0;
}
