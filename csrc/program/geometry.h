/* Where the elements of an array lie: for whoever knows its shape and strides, an array, a register or a nest's operand. */
#ifndef DL_GEOMETRY_H
#define DL_GEOMETRY_H

#include "numpy_api.h"

/* The bytes from the first that an array touches up to the one behind the last; none where it has no elements. */
typedef struct {
    const char *low, *high;
} DlBytes;

static inline DlBytes
dl_bytes_of(const char *data, npy_intp itemsize, int nd, const npy_intp *shape, const npy_intp *strides)
{
    DlBytes bytes = {data, data + itemsize};
    for (int axis = 0; axis < nd; axis++) {
        npy_intp reach = strides[axis] * (shape[axis] - 1);
        if (shape[axis] == 0) {
            return (DlBytes){data, data};
        }
        *(reach < 0 ? &bytes.low : &bytes.high) += reach;
    }
    return bytes;
}

static inline DlBytes
dl_bytes_of_array(PyArrayObject *array)
{
    return dl_bytes_of(PyArray_BYTES(array), PyArray_ITEMSIZE(array), PyArray_NDIM(array), PyArray_DIMS(array),
                       PyArray_STRIDES(array));
}

/* Whether there is a byte of both: never where one has none. */
static inline int
dl_bytes_meet(DlBytes one, DlBytes other)
{
    const char *low = one.low > other.low ? one.low : other.low;
    return low < (one.high < other.high ? one.high : other.high);
}

/* Whether elements lie side by side in C order; axes of one element do not count. */
static inline int
dl_is_packed(npy_intp itemsize, int nd, const npy_intp *shape, const npy_intp *strides)
{
    for (int axis = nd - 1; axis >= 0; axis--) {
        if (strides[axis] != itemsize && shape[axis] != 1) {
            return 0;
        }
        itemsize *= shape[axis];
    }
    return 1;
}

/* Whether it is an array of NumPy's own class, aligned, of native byte order and packed in C order. */
static inline int
dl_is_packed_array(PyObject *object)
{
    return PyArray_CheckExact(object) && PyArray_ISCARRAY_RO((PyArrayObject *)object);
}

#endif
