/* Arrays made in a loop: a result takes the memory of one of its geometry that died, instead of asking NumPy.
 *
 * INVARIANT: a loop holds no more memory than plain Python does at its peak, small arrays aside: before a big array is
 * made anew, and before NumPy is called, the pool gives up its own big ones. Nobody else has a reference to what it holds.
 */
#include "program.h"

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

void
dl_pool_drop_big(DlPool *pool)
{
    int kept = 0;
    for (int i = 0; i < pool->n; i++) {
        PyObject *array = pool->arrays[i];
        if (PyArray_NBYTES((PyArrayObject *)array) > BIG) {
            Py_DECREF(array);
        }
        else {
            pool->arrays[kept++] = array;
        }
    }
    pool->n = kept;
}

PyObject *
dl_pool_array(DlRun *run, PyArray_Descr *descr, int nd, const npy_intp *shape, const npy_intp *strides)
{
    DlPool *pool = run->pool;
    if (pool != NULL) {
        npy_intp bytes = PyDataType_ELSIZE(descr);
        for (int i = pool->n - 1; i >= 0; i--) {
            PyObject *array = pool->arrays[i];
            if (fits((PyArrayObject *)array, descr, nd, shape, strides)) {
                pool->arrays[i] = pool->arrays[--pool->n];
                return array;
            }
        }
        for (int axis = 0; axis < nd && bytes <= BIG; axis++) {
            bytes *= shape[axis] <= BIG ? shape[axis] : BIG + 1;
        }
        if (bytes > BIG) {
            dl_pool_drop_big(pool);
        }
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
