/* Where the first extreme of each row, or along an earlier axis, of a packed array lies: np.argmax and np.argmin. NumPy
 * calls a function for each row, 25 ns of ten numbers, and copies the array where the axis is not the last one. */
#include "program/program.h"

#include "kernels/clones.h"
#include "program/fpflags.h"
#include "program/geometry.h"

enum {
    BLOCK = 128,
    MOST_ROW = 24,   /* longer rows NumPy goes through as fast */
    SMALL = 1 << 14, /* elements gone through without letting other threads run */
};

/* columns: along the first axis of n rows, `step` elements apart, of `count` columns; rows: of `outer` packed rows of n
 * elements, which are turned some at a time. Whether there is a NaN: the first one is the extreme, which NumPy finds. */
#define POSITIONS(name, type, place, is_better)                                                                        \
    FOR_THIS_CPU static int columns_##name(npy_intp *out, const type *x, npy_intp n, npy_intp step, npy_intp count)    \
    {                                                                                                                  \
        type best[BLOCK];                                                                                              \
        place at[BLOCK], unusual = 0;                                                                                  \
        for (npy_intp k = 0; k < count; k++) {                                                                         \
            best[k] = x[k];                                                                                            \
            at[k] = 0;                                                                                                 \
            unusual |= x[k] != x[k];                                                                                   \
        }                                                                                                              \
        for (npy_intp i = 1; i < n; i++) {                                                                             \
            const type *row = x + i * step;                                                                            \
            for (npy_intp k = 0; k < count; k++) {                                                                     \
                type one = row[k];                                                                                     \
                unusual |= one != one;                                                                                 \
                at[k] = one is_better best[k] ? (place)i : at[k];                                                      \
                best[k] = one is_better best[k] ? one : best[k];                                                       \
            }                                                                                                          \
        }                                                                                                              \
        for (npy_intp k = 0; k < count; k++) {                                                                         \
            out[k] = (npy_intp)at[k];                                                                                  \
        }                                                                                                              \
        return unusual != 0;                                                                                           \
    }                                                                                                                  \
                                                                                                                       \
    static int rows_##name(npy_intp *out, const type *x, npy_intp outer, npy_intp n)                                   \
    {                                                                                                                  \
        type turned[MOST_ROW * BLOCK];                                                                                 \
        int unusual = 0;                                                                                               \
        for (npy_intp first = 0; first < outer; first += BLOCK, x += n * BLOCK) {                                      \
            npy_intp count = outer - first < BLOCK ? outer - first : BLOCK;                                            \
            for (npy_intp k = 0; k < count; k++) {                                                                     \
                for (npy_intp i = 0; i < n; i++) {                                                                     \
                    turned[i * BLOCK + k] = x[k * n + i];                                                              \
                }                                                                                                      \
            }                                                                                                          \
            unusual |= columns_##name(out + first, turned, n, BLOCK, count);                                           \
        }                                                                                                              \
        return unusual;                                                                                                \
    }                                                                                                                  \
                                                                                                                       \
    static int all_##name(npy_intp *out, const void *data, npy_intp outer, npy_intp n, npy_intp inner)                 \
    {                                                                                                                  \
        const type *x = data;                                                                                          \
        int unusual = 0;                                                                                               \
        if (inner == 1) {                                                                                              \
            return rows_##name(out, x, outer, n);                                                                      \
        }                                                                                                              \
        for (; outer > 0; outer--, x += n * inner, out += inner) {                                                     \
            for (npy_intp first = 0; first < inner; first += BLOCK) {                                                  \
                npy_intp count = inner - first < BLOCK ? inner - first : BLOCK;                                        \
                unusual |= columns_##name(out + first, x + first, n, inner, count);                                    \
            }                                                                                                          \
        }                                                                                                              \
        return unusual;                                                                                                \
    }

POSITIONS(double_most, double, int64_t, >)
POSITIONS(double_least, double, int64_t, <)
POSITIONS(float_most, float, int32_t, >)
POSITIONS(float_least, float, int32_t, <)
POSITIONS(int_most, int64_t, int64_t, >)
POSITIONS(int_least, int64_t, int64_t, <)

typedef int (*Positions)(npy_intp *out, const void *x, npy_intp outer, npy_intp n, npy_intp inner);

static Positions
find(int type_num, int greatest)
{
    switch (type_num) {
    case NPY_DOUBLE: return greatest ? all_double_most : all_double_least;
    case NPY_FLOAT: return greatest ? all_float_most : all_float_least;
    case NPY_LONG: return greatest ? all_int_most : all_int_least;
    }
    return NULL;
}

/* A fresh array of positions; NULL without an error where NumPy is asked. */
static PyArrayObject *
positions(PyObject *object, PyObject *along, int greatest)
{
    PyArrayObject *x = (PyArrayObject *)object;
    if (!dl_is_packed_array(object) || PyArray_NDIM(x) < 2 || PyArray_SIZE(x) == 0 || !PyLong_CheckExact(along)) {
        return NULL;
    }
    Positions run = find(PyArray_TYPE(x), greatest);
    int nd = PyArray_NDIM(x), kept = 0;
    long axis = PyLong_AsLong(along);
    if (axis == -1 && PyErr_Occurred()) {
        PyErr_Clear(); /* so long a number is for NumPy to refuse */
        return NULL;
    }
    if (run == NULL || axis < 0 || axis >= nd || PyArray_DIM(x, axis) > INT32_MAX) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS], outer = 1, inner = 1;
    for (int i = 0; i < nd; i++) {
        outer *= i < axis ? PyArray_DIM(x, i) : 1;
        inner *= i > axis ? PyArray_DIM(x, i) : 1;
        if (i != axis) {
            shape[kept++] = PyArray_DIM(x, i);
        }
    }
    if (inner == 1 && PyArray_DIM(x, axis) > MOST_ROW) { /* NB: the axes after it may all be of one element */
        return NULL;
    }
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(kept, shape, NPY_INTP);
    if (out == NULL) {
        return NULL;
    }
    unsigned before = dl_fp_get();
    int unusual;
    if (PyArray_SIZE(x) < SMALL) {
        unusual = run(PyArray_DATA(out), PyArray_DATA(x), outer, PyArray_DIM(x, axis), inner);
    }
    else {
        Py_BEGIN_ALLOW_THREADS /* as NumPy does: nobody else knows `out` */
        unusual = run(PyArray_DATA(out), PyArray_DATA(x), outer, PyArray_DIM(x, axis), inner);
        Py_END_ALLOW_THREADS
    }
    dl_fp_set(before); /* comparisons with NaN have set one, which NumPy does not look at */
    if (unusual) {
        Py_CLEAR(out);
    }
    return out;
}

/* args: an array, and the axis and keepdims that its method is called with where NumPy is asked. */
static PyObject *
find_positions(PyObject *const *args, Py_ssize_t n, int greatest)
{
    if (n != 3) {
        return PyErr_Format(PyExc_TypeError, "an array, an axis and a flag, not %zd arguments", n);
    }
    if (args[2] == Py_False) {
        PyArrayObject *out = positions(args[0], args[1], greatest);
        if (out != NULL || PyErr_Occurred()) {
            return (PyObject *)out;
        }
    }
    PyObject *method = PyObject_GetAttrString(args[0], greatest ? "argmax" : "argmin");
    PyObject *given = method ? Py_BuildValue("(O)", args[1]) : NULL;
    PyObject *named = given ? Py_BuildValue("{s:O}", "keepdims", args[2]) : NULL;
    PyObject *result = named ? PyObject_Call(method, given, named) : NULL;
    Py_XDECREF(named);
    Py_XDECREF(given);
    Py_XDECREF(method);
    return result;
}

static PyObject *
find_greatest(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    return find_positions(args, n, 1);
}

static PyObject *
find_least(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    return find_positions(args, n, 0);
}

PyMethodDef dl_extremes_functions[] = {
    {"argmax", _PyCFunction_CAST(find_greatest), METH_FASTCALL,
     "argmax(array, axis, keepdims): array.argmax(axis, keepdims=keepdims)."},
    {"argmin", _PyCFunction_CAST(find_least), METH_FASTCALL,
     "argmin(array, axis, keepdims): array.argmin(axis, keepdims=keepdims)."},
    {NULL, NULL, 0, NULL},
};
