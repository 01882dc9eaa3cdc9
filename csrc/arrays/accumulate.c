/* Sums and products of the first elements of a vector, as np.cumsum and np.cumprod give them: each is the one before and
 * an operation, so that no order is left open. For machine code, and of whole arrays: NumPy reads each sum back from memory
 * for the next one, 3.3 ns an element and more, where a register takes 1 ns, and four rows side by side 0.3. The greatest or
 * least so far as well. */
#include "kernels/fold.h"
#include "program/program.h"

#include "program/fpflags.h"

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
 * rows and `inner` columns; whether a NaN came out. `out` may be `x`. */
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
            memmove(out, x, (size_t)inner * sizeof *out);                                                              \
            for (npy_intp i = 1; i < n; i++) {                                                                         \
                const type *restrict before = out + (i - 1) * inner;                                                   \
                type *restrict sums = out + i * inner;                                                                 \
                if (x == out) {                                                                                        \
                    for (npy_intp k = 0; k < inner; k++) {                                                             \
                        sums[k] = before[k] sign sums[k];                                                              \
                    }                                                                                                  \
                    continue;                                                                                          \
                }                                                                                                      \
                const type *restrict next = x + i * inner;                                                             \
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

/* The same of the greatest, or least, so far. unusual: of two that are alike the bits differ, zeros of either sign, or NaNs;
 * or there is a NaN where it is not skipped (skips: np.fmax and np.fmin). NB: what is better is seldom so in a long vector,
 * so that a jump costs less than a selection that waits for the one before. NaNs are looked for between the two: a compiler
 * may ask in one instruction whether either of two is the greater, and that sets a flag for a NaN. */
#define RUNNING_ALL(type, name, better, is_nan, skips)                                                                 \
    static inline type next_##name(type best, type next, int *unusual)                                                 \
    {                                                                                                                  \
        if (better(next, best)) {                                                                                      \
            return next;                                                                                               \
        }                                                                                                              \
        if (is_nan(best, next)) {                                                                                      \
            int one_is_nan = is_nan(best, best) != is_nan(next, next);                                                 \
            *unusual |= !skips || (!one_is_nan && memcmp(&best, &next, sizeof best) != 0);                             \
            return one_is_nan && is_nan(best, best) ? next : best;                                                     \
        }                                                                                                              \
        if (!better(best, next)) {                                                                                     \
            *unusual |= memcmp(&best, &next, sizeof best) != 0;                                                        \
        }                                                                                                              \
        return best;                                                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static int all_##name(char *to, const char *from, npy_intp outer, npy_intp n, npy_intp inner)                      \
    {                                                                                                                  \
        type *out = (type *)to;                                                                                        \
        const type *x = (const type *)from;                                                                            \
        int unusual = 0;                                                                                               \
        for (; outer > 0; outer--, x += n * inner, out += n * inner) {                                                 \
            if (inner == 1) {                                                                                          \
                type best = out[0] = x[0];                                                                             \
                unusual |= !skips && is_nan(best, best);                                                               \
                for (npy_intp i = 1; i < n; i++) {                                                                     \
                    out[i] = best = next_##name(best, x[i], &unusual);                                                 \
                }                                                                                                      \
                continue;                                                                                              \
            }                                                                                                          \
            memmove(out, x, (size_t)inner * sizeof *out);                                                              \
            for (npy_intp k = inner; k < n * inner; k++) {                                                             \
                out[k] = next_##name(out[k - inner], x[k], &unusual);                                                  \
            }                                                                                                          \
        }                                                                                                              \
        return unusual;                                                                                                \
    }

#define GREATER(a, b) __builtin_isgreater(a, b) /* which sets no flag for a NaN */
#define LESS(a, b) __builtin_isless(a, b)
#define GREATER_INT(a, b) ((a) > (b))
#define LESS_INT(a, b) ((a) < (b))
#define IS_NAN(a, b) __builtin_isunordered(a, b)
#define NO_NAN(a, b) 0

RUNNING_ALL(double, double_maximum, GREATER, IS_NAN, 0)
RUNNING_ALL(double, double_minimum, LESS, IS_NAN, 0)
RUNNING_ALL(double, double_fmax, GREATER, IS_NAN, 1)
RUNNING_ALL(double, double_fmin, LESS, IS_NAN, 1)
RUNNING_ALL(float, float_maximum, GREATER, IS_NAN, 0)
RUNNING_ALL(float, float_minimum, LESS, IS_NAN, 0)
RUNNING_ALL(float, float_fmax, GREATER, IS_NAN, 1)
RUNNING_ALL(float, float_fmin, LESS, IS_NAN, 1)
RUNNING_ALL(int64_t, int_maximum, GREATER_INT, NO_NAN, 1)
RUNNING_ALL(int64_t, int_minimum, LESS_INT, NO_NAN, 1)

typedef int (*AccumulateAll)(char *out, const char *x, npy_intp outer, npy_intp n, npy_intp inner);

typedef enum { ADD, MULTIPLY, MAXIMUM, MINIMUM, FMAX, FMIN } Which;

static AccumulateAll
find_all(int type_num, Which which)
{
    static const AccumulateAll doubles[] = {all_double_sum, all_double_product, all_double_maximum,
                                            all_double_minimum, all_double_fmax, all_double_fmin};
    static const AccumulateAll floats[] = {all_float_sum, all_float_product, all_float_maximum,
                                           all_float_minimum, all_float_fmax, all_float_fmin};
    static const AccumulateAll ints[] = {all_int_sum, all_int_product, all_int_maximum,
                                         all_int_minimum, all_int_maximum, all_int_minimum};
    switch (type_num) {
    case NPY_DOUBLE:
        return doubles[which];
    case NPY_FLOAT:
        return floats[which];
    case NPY_LONG:
        return ints[which];
    }
    return NULL;
}

/* An array that owns its elements, lies without gaps and in the order of axes of x, whatever the signs of its strides: so
 * does what NumPy's iterator makes for x. Before `outer` and after `inner` go the elements of the other axes, as they lie.
 * copy: with x's elements. NULL, maybe without an error, where that order is not plain. */
static PyArrayObject *
laid_out_like(PyArrayObject *x, Py_ssize_t axis, int copy, npy_intp *outer, npy_intp *inner)
{
    npy_intp nd = PyArray_NDIM(x), mine = PyArray_STRIDE(x, (int)axis);
    *outer = *inner = 1;
    for (int i = 0; i < nd; i++) {
        npy_intp size = PyArray_DIM(x, i), stride = PyArray_STRIDE(x, i);
        if ((size == 1 || stride == 0) && nd > 1) {
            return NULL; /* NumPy's iterator gives such an axis a stride of its own */
        }
        for (int k = 0; k < i; k++) {
            if (stride == PyArray_STRIDE(x, k) || stride == -PyArray_STRIDE(x, k)) {
                return NULL;
            }
        }
        if (i != axis) {
            *(Py_ABS(stride) > Py_ABS(mine) ? outer : inner) *= size;
        }
    }
    return (PyArrayObject *)(copy ? PyArray_NewCopy(x, NPY_KEEPORDER) : PyArray_NewLikeArray(x, NPY_KEEPORDER, NULL, 0));
}

/* Whether all NaNs of x are alike, so that it does not matter which of two NumPy keeps. */
static int
are_nans_known(PyArrayObject *x, int copy)
{
    PyArrayObject *packed = (PyArrayObject *)(copy ? PyArray_NewCopy(x, NPY_KEEPORDER) : Py_NewRef((PyObject *)x));
    if (packed == NULL) {
        PyErr_Clear();
        return 0;
    }
    DlAlike nans = {.bytes = (int)PyArray_ITEMSIZE(x)};
    Py_BEGIN_ALLOW_THREADS
    dl_alike_look(&nans, PyArray_DATA(packed), PyArray_SIZE(packed), nans.bytes);
    Py_END_ALLOW_THREADS
    Py_DECREF(packed);
    return dl_alike_known(&nans);
}

/* A fresh array of x's accumulated elements; NULL without an error where NumPy is asked: it has a warning to give, or one
 * of two NaNs to keep, or it chooses how the result lies by more than the order of x's axes. */
static PyArrayObject *
accumulated(PyObject *object, Py_ssize_t axis, Which which)
{
    PyArrayObject *x = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || !PyArray_ISBEHAVED_RO(x) || PyArray_SIZE(x) == 0) {
        return NULL;
    }
    AccumulateAll run = find_all(PyArray_TYPE(x), which);
    if (run == NULL || axis < 0 || axis >= PyArray_NDIM(x)) {
        return NULL;
    }
    npy_intp outer, inner;
    int copy = !dl_is_packed_array(object);
    PyArrayObject *out = laid_out_like(x, axis, copy, &outer, &inner);
    if (out == NULL) {
        return NULL;
    }
    unsigned before = dl_fp_get(), met;
    int unusual;
    Py_BEGIN_ALLOW_THREADS /* as NumPy does: nobody else knows `out` */
    dl_fp_set(0);
    unusual = run(PyArray_DATA(out), PyArray_DATA(copy ? out : x), outer, PyArray_DIM(x, (int)axis), inner);
    met = dl_fp_get();
    dl_fp_set(before);
    Py_END_ALLOW_THREADS
    if (unusual && !met && which <= MULTIPLY) { /* only where a type has NaNs */
        unusual = !are_nans_known(x, copy);
    }
    if (unusual || met) {
        Py_CLEAR(out);
    }
    return out;
}

static PyObject *
accumulate(PyObject *const *args, Py_ssize_t n, Which which)
{
    Py_ssize_t axis = n == 3 ? PyLong_AsSsize_t(args[2]) : -1;
    if (n != 3 || (axis == -1 && PyErr_Occurred())) {
        return n == 3 ? NULL : PyErr_Format(PyExc_TypeError, "a function, an array and an axis, not %zd arguments", n);
    }
    PyArrayObject *out = accumulated(args[1], axis, which);
    return out != NULL || PyErr_Occurred() ? (PyObject *)out : PyObject_CallFunction(args[0], "On", args[1], axis);
}

#define FUNCTIONS(ROW)                                                                                                 \
    ROW(add, ADD) ROW(multiply, MULTIPLY) ROW(maximum, MAXIMUM) ROW(minimum, MINIMUM) ROW(fmax, FMAX) ROW(fmin, FMIN)

#define FUNCTION(name, which)                                                                                          \
    static PyObject *name##_accumulate(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)               \
    {                                                                                                                  \
        return accumulate(args, n, which);                                                                             \
    }
FUNCTIONS(FUNCTION)

#define METHOD(name, which)                                                                                            \
    {#name "_accumulate", _PyCFunction_CAST(name##_accumulate), METH_FASTCALL,                                         \
     #name "_accumulate(function, array, axis): function(array, axis), which is np." #name ".accumulate."},
PyMethodDef dl_accumulate_functions[] = {FUNCTIONS(METHOD){NULL, NULL, 0, NULL}};
