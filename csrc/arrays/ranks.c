/* Short rows, or short axes, in sorted order, and their medians: np.sort and np.median. NumPy calls a function for each
 * row; here many rows go side by side through a network of exchanges (Batcher's odd-even merge), of which a median
 * needs those that lead to the middle. */
#include "program/program.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "kernels/clones.h"
#include "program/fpflags.h"
#include "program/geometry.h"

enum {
    BLOCK = 64,
    MOST_ROW = DL_MOST_MEDIAN > DL_MOST_SORTED ? DL_MOST_MEDIAN : DL_MOST_SORTED,
    MOST_PAIRS = 256,
    SMALL = 1 << 13, /* elements gone through without letting other threads run */
};

/* Which elements are exchanged if they lie the wrong way round, in this order. */
typedef struct {
    int count;
    unsigned char low[MOST_PAIRS], high[MOST_PAIRS];
} Network;

/* Where the rows lie: `outer` times `inner` of n elements, with bytes between them; packed ones come out. */
typedef struct {
    const char *data;
    npy_intp outer, n, inner, outer_stride, stride, inner_stride;
    PyArray_SortFunc *sort; /* NumPy's own of one row */
} Rows;

/* What numbers may be that NumPy has to look at: a -0.0, whose place among zeros hangs on the algorithm. */
enum { HAS_NAN = 1, HAS_NEGATIVE_ZERO = 2 };

/* The network that sorts n elements. */
static void
build_network(Network *network, int n)
{
    network->count = 0;
    for (int p = 1; p < n; p *= 2) {
        for (int k = p; k >= 1; k /= 2) {
            for (int j = k % p; j + k < n; j += 2 * k) {
                for (int i = 0; i < k && i + j + k < n; i++) {
                    if ((i + j) / (2 * p) == (i + j + k) / (2 * p)) {
                        network->low[network->count] = (unsigned char)(i + j);
                        network->high[network->count++] = (unsigned char)(i + j + k);
                    }
                }
            }
        }
    }
}

/* Leave only the exchanges that the wanted elements, bits of a mask, depend on. */
static void
prune(Network *network, uint32_t wanted)
{
    int kept = MOST_PAIRS, count;
    for (int i = network->count - 1; i >= 0; i--) {
        uint32_t both = (uint32_t)1 << network->low[i] | (uint32_t)1 << network->high[i];
        if (wanted & both) {
            wanted |= both;
            kept--;
            network->low[kept] = network->low[i];
            network->high[kept] = network->high[i];
        }
    }
    count = MOST_PAIRS - kept;
    memmove(network->low, network->low + kept, (size_t)count);
    memmove(network->high, network->high + kept, (size_t)count);
    network->count = count;
}

/* run: rows side by side, of which element i of row k is lanes[i * BLOCK + k], through a network; sort_one_...: one of
 * them by NumPy. load: `count` rows into lanes, and what is among them. */
#define LANES(type, bits, is_float)                                                                                    \
    FOR_THIS_CPU static void run_##type(const Network *network, type *lanes)                                           \
    {                                                                                                                  \
        for (int pair = 0; pair < network->count; pair++) {                                                            \
            type *restrict low = lanes + network->low[pair] * BLOCK;                                                   \
            type *restrict high = lanes + network->high[pair] * BLOCK;                                                 \
            for (int k = 0; k < BLOCK; k++) {                                                                          \
                type a = low[k], b = high[k];                                                                          \
                low[k] = b < a ? b : a;                                                                                \
                high[k] = b < a ? a : b;                                                                               \
            }                                                                                                          \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    FOR_THIS_CPU static int specials_##type(const type *lanes, npy_intp n)                                             \
    {                                                                                                                  \
        bits nan = 0, zero = 0;                                                                                        \
        for (npy_intp i = 0; is_float && i < n * BLOCK; i++) {                                                         \
            bits one;                                                                                                  \
            memcpy(&one, lanes + i, sizeof one);                                                                       \
            nan |= (bits)(lanes[i] != lanes[i]);                                                                       \
            zero |= (bits)(one == (bits)1 << (8 * sizeof one - 1));                                                    \
        }                                                                                                              \
        return (nan ? HAS_NAN : 0) | (zero ? HAS_NEGATIVE_ZERO : 0);                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static int load_##type(type *lanes, const char *from, npy_intp n, npy_intp stride, npy_intp count, npy_intp next)  \
    {                                                                                                                  \
        for (npy_intp k = 0; k < count; k++, from += next) {                                                           \
            for (npy_intp i = 0; i < n; i++) {                                                                         \
                lanes[i * BLOCK + k] = *(const type *)(from + i * stride);                                             \
            }                                                                                                          \
        }                                                                                                              \
        for (npy_intp i = 0; count < BLOCK && i < n; i++) {                                                            \
            for (npy_intp k = count; k < BLOCK; k++) {                                                                 \
                lanes[i * BLOCK + k] = lanes[i * BLOCK];                                                               \
            }                                                                                                          \
        }                                                                                                              \
        return specials_##type(lanes, n);                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static int sort_one_##type(const Rows *rows, type *lane)                                                           \
    {                                                                                                                  \
        type row[MOST_ROW];                                                                                            \
        for (npy_intp i = 0; i < rows->n; i++) {                                                                       \
            row[i] = lane[i * BLOCK];                                                                                  \
        }                                                                                                              \
        int failed = rows->sort(row, rows->n, NULL) < 0;                                                               \
        for (npy_intp i = 0; i < rows->n; i++) {                                                                       \
            lane[i * BLOCK] = row[i];                                                                                  \
        }                                                                                                              \
        return failed;                                                                                                 \
    }                                                                                                                  \
                                                                                                                       \
    /* Along the last axis rows are next to one another in `outer`, else in `inner`. */                                \
    static int sort_##type(const Rows *rows, const Network *network, void *result)                                     \
    {                                                                                                                  \
        type lanes[MOST_ROW * BLOCK], *out = result;                                                                   \
        npy_intp n = rows->n, inner = rows->inner, last = inner == 1;                                                  \
        npy_intp length = last ? rows->outer : inner, next = last ? rows->outer_stride : rows->inner_stride;           \
        npy_intp apart = last ? n : 1, step = last ? 1 : inner;                                                        \
        for (npy_intp row = 0; row < (last ? 1 : rows->outer); row++) {                                                \
            for (npy_intp first = 0; first < length; first += BLOCK) {                                                 \
                npy_intp count = length - first < BLOCK ? length - first : BLOCK;                                      \
                const char *from = rows->data + row * rows->outer_stride + first * next;                               \
                type *to = out + row * n * inner + first * apart;                                                      \
                int special = load_##type(lanes, from, n, rows->stride, count, next), failed = 0;                      \
                for (npy_intp k = 0; special && k < count; k++) {                                                      \
                    failed |= sort_one_##type(rows, lanes + k);                                                        \
                }                                                                                                      \
                if (failed) {                                                                                          \
                    return 1;                                                                                          \
                }                                                                                                      \
                if (!special) {                                                                                        \
                    run_##type(network, lanes);                                                                        \
                }                                                                                                      \
                for (npy_intp k = 0; k < count; k++) {                                                                 \
                    for (npy_intp i = 0; i < n; i++) {                                                                 \
                        to[k * apart + i * step] = lanes[i * BLOCK + k];                                               \
                    }                                                                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

/* The mean of the middle two, or the middle one, as np.median has it. A sum that overflows and a half that may
 * underflow are NumPy's to report, and which zero it is NumPy knows. */
#define MEDIANS(type, mean, is_unusual)                                                                                \
    static int median_##type(const Rows *rows, const Network *network, void *result)                                   \
    {                                                                                                                  \
        type lanes[MOST_ROW * BLOCK];                                                                                  \
        mean *out = result;                                                                                            \
        npy_intp n = rows->n, inner = rows->inner, last = inner == 1, unusual = 0;                                     \
        npy_intp length = last ? rows->outer : inner, next = last ? rows->outer_stride : rows->inner_stride;           \
        const type *upper = lanes + n / 2 * BLOCK, *lower = lanes + (n - 1) / 2 * BLOCK;                               \
        for (npy_intp row = 0; row < (last ? 1 : rows->outer); row++) {                                                \
            for (npy_intp first = 0; first < length; first += BLOCK) {                                                 \
                npy_intp count = length - first < BLOCK ? length - first : BLOCK;                                      \
                const char *from = rows->data + row * rows->outer_stride + first * next;                               \
                mean *to = out + row * inner + first;                                                                  \
                int special = load_##type(lanes, from, n, rows->stride, count, next);                                  \
                if (special & HAS_NAN) {                                                                               \
                    return 1;                                                                                          \
                }                                                                                                      \
                run_##type(network, lanes);                                                                            \
                for (npy_intp k = 0; k < count; k++) {                                                                 \
                    mean sum = n % 2 ? (mean)upper[k] : (mean)lower[k] + (mean)upper[k];                               \
                    to[k] = n % 2 ? sum : sum / 2;                                                                     \
                    unusual |= (is_unusual) || (sum == 0 && special);                                                  \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return unusual != 0;                                                                                           \
    }

LANES(double, uint64_t, 1)
LANES(float, uint32_t, 1)
LANES(npy_long, uint64_t, 0)
LANES(npy_int, uint32_t, 0)
LANES(npy_ubyte, uint8_t, 0)
MEDIANS(double, double, !isfinite(sum) | (sum != 0 && fabs(to[k]) < DBL_MIN))
MEDIANS(float, float, !isfinite(sum) | (sum != 0 && fabsf(to[k]) < FLT_MIN))
MEDIANS(npy_long, double, 0)
MEDIANS(npy_int, double, 0)
MEDIANS(npy_ubyte, double, 0)

typedef int (*Run)(const Rows *rows, const Network *network, void *result);

static Run
find(int type_num, int sorts)
{
    switch (type_num) {
    case NPY_DOUBLE: return sorts ? sort_double : median_double;
    case NPY_FLOAT: return sorts ? sort_float : median_float;
    case NPY_LONG: return sorts ? sort_npy_long : median_npy_long;
    case NPY_INT: return sorts ? sort_npy_int : median_npy_int;
    case NPY_UBYTE: return sorts ? sort_npy_ubyte : median_npy_ubyte;
    }
    return NULL;
}

/* How the rows along an axis lie; 0 if NumPy is asked: where its result might lie otherwise than packed, say. */
static int
describe(PyArrayObject *x, PyObject *along, int sorts, Rows *rows)
{
    int nd = PyArray_NDIM(x), packed = dl_is_packed_array((PyObject *)x);
    if (nd < 2 || !PyLong_CheckExact(along) || !(packed || (nd == 2 && !sorts && PyArray_ISBEHAVED_RO(x)))) {
        return 0;
    }
    int overflow;
    long axis = PyLong_AsLongAndOverflow(along, &overflow);
    if (overflow || axis < 0 || axis >= nd || PyArray_DIM(x, (int)axis) > (sorts ? DL_MOST_SORTED : DL_MOST_MEDIAN)) {
        return 0;
    }
    npy_intp size = PyArray_ITEMSIZE(x);
    *rows = (Rows){PyArray_BYTES(x), 1, PyArray_DIM(x, (int)axis), 1, 0, PyArray_STRIDE(x, (int)axis), 0, NULL};
    rows->sort = PyDataType_GetArrFuncs(PyArray_DESCR(x))->sort[NPY_QUICKSORT];
    for (int i = 0; i < nd; i++) {
        if (PyArray_DIM(x, i) < 2 || rows->sort == NULL) {
            return 0;
        }
        *(i < axis ? &rows->outer : &rows->inner) *= i == axis ? 1 : PyArray_DIM(x, i);
    }
    rows->inner_stride = packed ? size : PyArray_STRIDE(x, nd - 1);
    rows->outer_stride = packed ? rows->n * rows->inner * size : PyArray_STRIDE(x, 0);
    return 1;
}

/* A fresh array; NULL without an error where NumPy is asked. */
static PyArrayObject *
ranked(PyObject *object, PyObject *along, int sorts)
{
    Rows rows;
    PyArrayObject *x = (PyArrayObject *)object;
    Run run = PyArray_CheckExact(object) ? find(PyArray_TYPE(x), sorts) : NULL;
    if (run == NULL || !describe(x, along, sorts, &rows)) {
        return NULL;
    }
    npy_intp shape[NPY_MAXDIMS];
    int kept = 0, nd = PyArray_NDIM(x);
    long axis = PyLong_AsLong(along);
    for (int i = 0; i < nd; i++) {
        if (sorts || i != axis) {
            shape[kept++] = PyArray_DIM(x, i);
        }
    }
    int result_type = sorts || PyArray_TYPE(x) == NPY_FLOAT ? PyArray_TYPE(x) : NPY_DOUBLE;
    PyArrayObject *out = (PyArrayObject *)PyArray_SimpleNew(kept, shape, result_type);
    if (out == NULL) {
        return NULL;
    }
    Network network;
    build_network(&network, (int)rows.n);
    if (!sorts) {
        prune(&network, (uint32_t)1 << rows.n / 2 | (uint32_t)1 << (rows.n - 1) / 2);
    }
    unsigned before = dl_fp_get();
    int unusual;
    if (PyArray_SIZE(x) < SMALL) {
        unusual = run(&rows, &network, PyArray_DATA(out));
    }
    else {
        Py_BEGIN_ALLOW_THREADS /* as NumPy does: nobody else knows `out` */
        unusual = run(&rows, &network, PyArray_DATA(out));
        Py_END_ALLOW_THREADS
    }
    dl_fp_set(before);
    if (unusual) {
        Py_CLEAR(out);
    }
    return out;
}

/* args: an array, an axis, and NumPy's function, which is asked where this one has no answer. */
static PyObject *
rank(PyObject *const *args, Py_ssize_t n, int sorts)
{
    if (n != 3) {
        return PyErr_Format(PyExc_TypeError, "an array, an axis and NumPy's function, not %zd arguments", n);
    }
    PyArrayObject *out = ranked(args[0], args[1], sorts);
    return out != NULL || PyErr_Occurred() ? (PyObject *)out : PyObject_Vectorcall(args[2], args, 2, NULL);
}

static PyObject *
sort_rows(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    return rank(args, n, 1);
}

static PyObject *
median_rows(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    return rank(args, n, 0);
}

PyMethodDef dl_ranks_functions[] = {
    {"sort_rows", _PyCFunction_CAST(sort_rows), METH_FASTCALL, "sort_rows(array, axis, sort): sort(array, axis)."},
    {"median_rows", _PyCFunction_CAST(median_rows), METH_FASTCALL,
     "median_rows(array, axis, median): median(array, axis)."},
    {NULL, NULL, 0, NULL},
};
