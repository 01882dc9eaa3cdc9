/* The rows at hand of a block's results (blocks.c): kernels write them where they belong, what others make is copied. */
#include "block_rows.h"

#include "memory/arrays.h"

/* Whether so large an array in C order, NULL or these strides, is the rows at hand of an array that has all of them. */
static int
is_rows(const DlBlockRows *self, npy_intp itemsize, int nd, const npy_intp *shape, const npy_intp *strides)
{
    int leading = self->leading;
    if (nd < leading || shape[leading - 1] != self->n) {
        return 0;
    }
    for (int axis = nd - 1; axis >= 0; axis--) {
        if (shape[axis] == 0 || (axis < leading - 1 && shape[axis] != 1)
            || (strides != NULL && shape[axis] != 1 && strides[axis] != itemsize)) {
            return 0;
        }
        itemsize *= shape[axis];
    }
    return 1;
}

/* Where the rows at hand of result number i belong, of which one has so many bytes; makes the whole array if need be.
 * NULL where that is another one, or with an error set. */
static char *
place_of(DlBlockRows *self, int i, PyArray_Descr *descr, int nd, const npy_intp *shape, npy_intp row_bytes)
{
    int leading = self->leading;
    PyArrayObject *whole = (PyArrayObject *)self->arrays[i];
    if (whole == NULL) {
        npy_intp all[DL_MAX_DIMS];
        memcpy(all, shape, (size_t)nd * sizeof *all);
        memcpy(all, self->all, (size_t)leading * sizeof *all);
        self->arrays[i] = dl_array_make(descr, nd, all, dl_array_count(nd, all));
        whole = (PyArrayObject *)self->arrays[i];
    }
    if (whole == NULL || PyArray_NDIM(whole) != nd || !PyArray_EquivTypes(PyArray_DESCR(whole), descr)
        || memcmp(PyArray_DIMS(whole) + leading, shape + leading, (size_t)(nd - leading) * sizeof *shape) != 0) {
        return NULL;
    }
    return PyArray_BYTES(whole) + self->start * row_bytes;
}

/* Bytes of one of the rows at hand. */
static npy_intp
count_row(const DlBlockRows *self, npy_intp itemsize, int nd, const npy_intp *shape)
{
    for (int axis = self->leading; axis < nd; axis++) {
        itemsize *= shape[axis];
    }
    return itemsize;
}

PyObject *
dl_block_rows_array(DlRun *run, int reg, PyArray_Descr *descr, int nd, const npy_intp *shape, const npy_intp *strides)
{
    DlBlockRows *self = run->block;
    int n = self == NULL ? 0 : self->n_results, i = 0;
    while (i < n && self->registers[i] != reg) {
        i++;
    }
    npy_intp itemsize = PyDataType_ELSIZE(descr);
    char *place = NULL;
    if (i < n && is_rows(self, itemsize, nd, shape, strides)) {
        place = place_of(self, i, descr, nd, shape, count_row(self, itemsize, nd, shape));
        if (place == NULL && PyErr_Occurred()) {
            return NULL;
        }
    }
    if (place == NULL) {
        return dl_pool_array(run, descr, nd, shape, strides);
    }
    Py_INCREF(descr);
    PyObject *rows = PyArray_NewFromDescr(&PyArray_Type, descr, nd, shape, NULL, place, NPY_ARRAY_CARRAY, NULL);
    if (rows != NULL && PyArray_SetBaseObject((PyArrayObject *)rows, Py_NewRef(self->arrays[i])) < 0) {
        Py_CLEAR(rows);
    }
    return rows;
}

DlStatus
dl_block_rows_keep(DlRun *run, DlBlockRows *self)
{
    for (int i = 0; i < self->n_results; i++) {
        const DlReg *part = &run->regs[self->registers[i]];
        if (part->kind != DL_ARRAY
            || !is_rows(self, PyDataType_ELSIZE(part->descr), part->nd, part->shape, part->strides)) {
            return 2;
        }
        npy_intp bytes = count_row(self, PyDataType_ELSIZE(part->descr), part->nd, part->shape);
        char *place = place_of(self, i, part->descr, part->nd, part->shape, bytes);
        if (place == NULL) {
            return PyErr_Occurred() ? -1 : 2;
        }
        if (place != part->data) {
            memcpy(place, part->data, (size_t)(bytes * self->n));
        }
    }
    return 0;
}
