/* Arrays made in a loop: a result takes the memory of one of its geometry that died, instead of asking NumPy.
 *
 * INVARIANT: a loop holds no more memory than plain Python does at its peak, small arrays aside: before a big array is
 * made anew, the pool gives up as much of its own, and before NumPy is called all its big ones. Nobody else has a
 * reference to what it holds.
 */
#include "arrays.h"
#include "memory.h"
#include "program/program.h"

enum { BIG = 64 * 1024 }; /* bytes */

/* Whether `array` has that shape and those strides (NULL: C order). */
static int
fits(PyArrayObject *array, const PyArray_Descr *descr, int nd, const npy_intp *shape, const npy_intp *strides)
{
    if (PyArray_DESCR(array) != descr || PyArray_NDIM(array) != nd) {
        return 0;
    }
    npy_intp expected = PyDataType_ELSIZE(descr);
    for (int axis = nd - 1; axis >= 0; axis--) {
        if (PyArray_DIM(array, axis) != shape[axis]
            || PyArray_STRIDE(array, axis) != (strides ? strides[axis] : expected)) {
            return 0;
        }
        expected *= shape[axis];
    }
    return 1;
}

/* Make `array` a packed vector of n elements over its own memory, if half of that at most is left over: what a mask
 * selects is of another size in each iteration, and new pages cost more than the elements on them. */
static int
refit(PyArrayObject *array, const PyArray_Descr *descr, npy_intp n)
{
    npy_intp itemsize = PyDataType_ELSIZE(descr);
    if (PyArray_DESCR(array) != descr || PyArray_NDIM(array) != 1 || PyArray_STRIDE(array, 0) != itemsize
        || PyArray_NBYTES(array) <= BIG) {
        return 0;
    }
    npy_intp room = (npy_intp)dl_memory_room(array) / itemsize;
    if (n > room || n < room / 2) {
        return 0;
    }
    PyArray_DIMS(array)[0] = n;
    return 1;
}

/* Give up big arrays, the oldest first, until they come to so many bytes. */
static void
drop_bytes(DlPool *pool, npy_intp bytes)
{
    int kept = 0;
    for (int i = 0; i < pool->n; i++) {
        PyObject *array = pool->arrays[i];
        npy_intp own = PyArray_NBYTES((PyArrayObject *)array);
        if (own > BIG && bytes > 0) {
            bytes -= own;
            Py_DECREF(array);
        }
        else {
            pool->arrays[kept++] = array;
        }
    }
    pool->n = kept;
}

void
dl_pool_drop_big(DlPool *pool)
{
    drop_bytes(pool, NPY_MAX_INTP);
}

/* The bytes of an array, NPY_MAX_INTP where there are too many to count. */
static npy_intp
count_bytes(const PyArray_Descr *descr, int nd, const npy_intp *shape)
{
    npy_intp bytes = PyDataType_ELSIZE(descr);
    for (int axis = 0; axis < nd; axis++) {
        if (__builtin_mul_overflow(bytes, shape[axis], &bytes)) {
            return NPY_MAX_INTP;
        }
    }
    return bytes;
}

/* A dead array that can be the wanted one, taken out of the pool; NULL where there is none. */
static PyObject *
take(DlPool *pool, const PyArray_Descr *descr, int nd, const npy_intp *shape, const npy_intp *strides, npy_intp bytes)
{
    int is_vector = nd == 1 && bytes > BIG && (strides == NULL || strides[0] == PyDataType_ELSIZE(descr));
    for (int fitted = 0; fitted <= is_vector; fitted++) {
        for (int i = pool->n - 1; i >= 0; i--) {
            PyArrayObject *array = (PyArrayObject *)pool->arrays[i];
            if (fitted ? refit(array, descr, shape[0]) : fits(array, descr, nd, shape, strides)) {
                pool->arrays[i] = pool->arrays[--pool->n];
                return (PyObject *)array;
            }
        }
    }
    return NULL;
}

PyObject *
dl_pool_array(DlRun *run, PyArray_Descr *descr, int nd, const npy_intp *shape, const npy_intp *strides)
{
    if (run->pool != NULL && run->pool->n) {
        npy_intp bytes = count_bytes(descr, nd, shape);
        PyObject *array = take(run->pool, descr, nd, shape, strides, bytes);
        if (array != NULL) {
            return array;
        }
        if (bytes > BIG) {
            drop_bytes(run->pool, bytes);
        }
    }
    if (strides == NULL) {
        return dl_array_make(descr, nd, shape, dl_array_count(nd, shape));
    }
    Py_INCREF(descr);
    return PyArray_NewFromDescr(&PyArray_Type, descr, nd, shape, strides, NULL, 0, NULL);
}

void
dl_pool_give(DlPool *pool, PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    enum { PLAIN = NPY_ARRAY_OWNDATA | NPY_ARRAY_WRITEABLE | NPY_ARRAY_ALIGNED };
    if (Py_REFCNT(object) != 1 || (PyArray_FLAGS(array) & PLAIN) != PLAIN || PyArray_SIZE(array) == 0) {
        Py_DECREF(object);
        return;
    }
    if (pool->n == DL_POOL) {
        Py_DECREF(pool->arrays[0]);
        memmove(pool->arrays, pool->arrays + 1, --pool->n * sizeof *pool->arrays);
    }
    pool->arrays[pool->n++] = object;
}

void
dl_pool_clear(DlPool *pool)
{
    while (pool->n > 0) {
        Py_DECREF(pool->arrays[--pool->n]);
    }
}
