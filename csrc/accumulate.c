/* Sums and products of the first elements of a vector, as np.cumsum and np.cumprod give them: each is the one before and
 * an operation, so that no order is left open. For machine code, and of whole arrays: NumPy reads each sum back from memory
 * for the next one, 3.3 ns an element and more, where a register takes 1 ns, and four rows side by side 0.3. */
#include "fold.h"
#include "program.h"

#include "fpflags.h"

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define FOR_THIS_CPU __attribute__((target_clones("avx2", "default")))
#else
#define FOR_THIS_CPU
#endif

#include <string.h>

/* NB: where two NaNs meet, NumPy may keep either; all that follows a NaN is NaN. */
#define ACCUMULATE(name, type, sign, is_nan)                                                                           \
    static int32_t name(char *out, const char *x, npy_intp n, npy_intp stride)                                         \
    {                                                                                                                  \
        type sum, next;                                                                                                \
        if (n < 1) {                                                                                                   \
            return 0;                                                                                                  \
        }                                                                                                              \
        memcpy(&sum, x, sizeof sum);                                                                                   \
        memcpy(out, &sum, sizeof sum);                                                                                 \
        for (npy_intp i = 1; i < n; i++) {                                                                             \
            memcpy(&next, x + i * stride, sizeof next);                                                                \
            sum = sum sign next;                                                                                       \
            memcpy(out + i * (npy_intp)sizeof sum, &sum, sizeof sum);                                                  \
        }                                                                                                              \
        return is_nan;                                                                                                 \
    }

ACCUMULATE(sum_double, double, +, sum != sum)
ACCUMULATE(sum_float, float, +, sum != sum)
ACCUMULATE(sum_int, uint64_t, +, 0)
ACCUMULATE(multiply_double, double, *, sum != sum)
ACCUMULATE(multiply_float, float, *, sum != sum)
ACCUMULATE(multiply_int, uint64_t, *, 0)

typedef int32_t (*Accumulate)(char *out, const char *x, npy_intp n, npy_intp stride);

static Accumulate
find(int type_num, int multiplies)
{
    switch (type_num) {
    case NPY_DOUBLE:
        return multiplies ? multiply_double : sum_double;
    case NPY_FLOAT:
        return multiplies ? multiply_float : sum_float;
    case NPY_LONG:
        return multiplies ? multiply_int : sum_int;
    }
    return NULL;
}

int32_t
dl_accumulate_vector(npy_intp what, char *out, const char *x, npy_intp n, npy_intp stride)
{
    Accumulate run = find((int)(what / DL_ACCUMULATES), what % DL_ACCUMULATES == DL_ACCUMULATE_MULTIPLY);
    return run == NULL || run(out, x, n, stride);
}

/* ---- whole arrays ---- */

/* `rows` vectors of n elements each, packed one behind the other, and along the first axis of `outer` packed matrices of n
 * rows and `inner` columns; whether a NaN came out. */
#define ACCUMULATE_ALL(type, name, sign)                                                                               \
    static int rows_##name(type *out, const type *x, npy_intp rows, npy_intp n)                                        \
    {                                                                                                                  \
        int unusual = 0;                                                                                               \
        npy_intp row = 0;                                                                                              \
        for (; row + 4 <= rows; row += 4, x += 4 * n, out += 4 * n) {                                                  \
            type a = out[0] = x[0], b = out[n] = x[n], c = out[2 * n] = x[2 * n], d = out[3 * n] = x[3 * n];           \
            for (npy_intp i = 1; i < n; i++) {                                                                         \
                out[i] = a = a sign x[i];                                                                              \
                out[n + i] = b = b sign x[n + i];                                                                      \
                out[2 * n + i] = c = c sign x[2 * n + i];                                                              \
                out[3 * n + i] = d = d sign x[3 * n + i];                                                              \
            }                                                                                                          \
            unusual |= (a != a) | (b != b) | (c != c) | (d != d);                                                      \
        }                                                                                                              \
        for (; row < rows; row++, x += n, out += n) {                                                                  \
            type a = out[0] = x[0];                                                                                    \
            for (npy_intp i = 1; i < n; i++) {                                                                         \
                out[i] = a = a sign x[i];                                                                              \
            }                                                                                                          \
            unusual |= a != a;                                                                                         \
        }                                                                                                              \
        return unusual;                                                                                                \
    }                                                                                                                  \
                                                                                                                       \
    FOR_THIS_CPU static int columns_##name(type *out, const type *x, npy_intp outer, npy_intp n, npy_intp inner)       \
    {                                                                                                                  \
        int unusual = 0;                                                                                               \
        for (; outer > 0; outer--, x += n * inner, out += n * inner) {                                                 \
            memcpy(out, x, (size_t)inner * sizeof *out);                                                               \
            for (npy_intp i = 1; i < n; i++) {                                                                         \
                const type *restrict before = out + (i - 1) * inner, *restrict next = x + i * inner;                   \
                type *restrict sums = out + i * inner;                                                                 \
                for (npy_intp k = 0; k < inner; k++) {                                                                 \
                    sums[k] = before[k] sign next[k];                                                                  \
                }                                                                                                      \
            }                                                                                                          \
            for (npy_intp k = 0; k < inner; k++) {                                                                     \
                unusual |= out[(n - 1) * inner + k] != out[(n - 1) * inner + k];                                       \
            }                                                                                                          \
        }                                                                                                              \
        return unusual;                                                                                                \
    }                                                                                                                  \
                                                                                                                       \
    static int all_##name(char *out, const char *x, npy_intp outer, npy_intp n, npy_intp inner)                        \
    {                                                                                                                  \
        return inner == 1 ? rows_##name((type *)out, (const type *)x, outer, n)                                        \
                          : columns_##name((type *)out, (const type *)x, outer, n, inner);                             \
    }

ACCUMULATE_ALL(double, double_sum, +)
ACCUMULATE_ALL(float, float_sum, +)
ACCUMULATE_ALL(uint64_t, int_sum, +)
ACCUMULATE_ALL(double, double_product, *)
ACCUMULATE_ALL(float, float_product, *)
ACCUMULATE_ALL(uint64_t, int_product, *)

typedef int (*AccumulateAll)(char *out, const char *x, npy_intp outer, npy_intp n, npy_intp inner);

static AccumulateAll
find_all(int type_num, int multiplies)
{
    switch (type_num) {
    case NPY_DOUBLE:
        return multiplies ? all_double_product : all_double_sum;
    case NPY_FLOAT:
        return multiplies ? all_float_product : all_float_sum;
    case NPY_LONG:
        return multiplies ? all_int_product : all_int_sum;
    }
    return NULL;
}

/* A fresh array of x's accumulated elements; NULL without an error where NumPy is asked: it has a warning to give, or one
 * of two NaNs to keep, or x lies otherwise, so that NumPy chooses how the result lies. */
static PyArrayObject *
accumulated(PyObject *object, Py_ssize_t axis, int multiplies)
{
    PyArrayObject *x = (PyArrayObject *)object;
    if (!dl_is_packed_array(object) || PyArray_SIZE(x) == 0) {
        return NULL;
    }
    AccumulateAll run = find_all(PyArray_TYPE(x), multiplies);
    npy_intp outer = 1, inner = 1, nd = PyArray_NDIM(x);
    if (run == NULL || axis < 0 || axis >= nd) {
        return NULL;
    }
    for (npy_intp i = 0; i < nd; i++) {
        if (PyArray_DIM(x, i) == 1 && nd > 1) {
            return NULL; /* NumPy's iterator gives such an axis a stride of its own */
        }
        outer *= i < axis ? PyArray_DIM(x, i) : 1;
        inner *= i > axis ? PyArray_DIM(x, i) : 1;
    }
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew((int)nd, PyArray_DIMS(x), PyArray_TYPE(x));
    if (out == NULL) {
        return NULL;
    }
    unsigned before = dl_fp_get(), met;
    int unusual;
    Py_BEGIN_ALLOW_THREADS /* as NumPy does: nobody else knows `out` */
    dl_fp_set(0);
    unusual = run(PyArray_DATA(out), PyArray_DATA(x), outer, PyArray_DIM(x, axis), inner);
    met = dl_fp_get();
    if (unusual && !met) { /* only where a type has NaNs */
        DlAlike nans = {.bytes = (int)PyArray_ITEMSIZE(x)};
        dl_alike_look(&nans, PyArray_DATA(x), PyArray_SIZE(x), nans.bytes);
        unusual = !dl_alike_known(&nans);
    }
    dl_fp_set(before);
    Py_END_ALLOW_THREADS
    if (unusual || met) {
        Py_CLEAR(out);
    }
    return out;
}

static PyObject *
accumulate(PyObject *const *args, Py_ssize_t n, int multiplies)
{
    Py_ssize_t axis = n == 3 ? PyLong_AsSsize_t(args[2]) : -1;
    if (n != 3 || (axis == -1 && PyErr_Occurred())) {
        return n == 3 ? NULL : PyErr_Format(PyExc_TypeError, "a function, an array and an axis, not %zd arguments", n);
    }
    PyArrayObject *out = accumulated(args[1], axis, multiplies);
    return out != NULL || PyErr_Occurred() ? (PyObject *)out : PyObject_CallFunction(args[0], "On", args[1], axis);
}

static PyObject *
add_accumulate(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    return accumulate(args, n, 0);
}

static PyObject *
multiply_accumulate(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    return accumulate(args, n, 1);
}

PyMethodDef dl_accumulate_functions[] = {
    {"add_accumulate", _PyCFunction_CAST(add_accumulate), METH_FASTCALL,
     "add_accumulate(function, array, axis): function(array, axis), which is np.add.accumulate."},
    {"multiply_accumulate", _PyCFunction_CAST(multiply_accumulate), METH_FASTCALL,
     "multiply_accumulate(function, array, axis): function(array, axis), which is np.multiply.accumulate."},
    {NULL, NULL, 0, NULL},
};
