/* np.histogram with bins of one width: NumPy's arithmetic for each element, without its arrays of places, masks and
 * corrections. 2 ns an element instead of 10. The edges are np.linspace's; sums of weights are NumPy's, which begin anew
 * every 65536 elements. NumPy itself is asked about what is not as usual: dtypes but doubles and integers, NaNs, ranges
 * without an extent, whatever would set a floating-point flag. */
#include "program/program.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define FOR_THIS_CPU __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_THIS_CPU
#endif

enum {
    BLOCK = 1 << 16, /* elements whose weights NumPy adds up by themselves */
    GROUP = 512,     /* elements whose places are computed together */
    LANES = 8,
};

#define EXACT 9007199254740992.0 /* integers up to this are doubles */
#define REPORTED (FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW | FE_UNDERFLOW)

typedef struct {
    const char *data;
    int type_num;
    npy_intp n;
} Elements;

typedef struct {
    double first, last, extent;
    const double *edges; /* n_bins + 1 */
    npy_intp n_bins;
    int covers; /* whether all elements are known to lie between first and last */
} Bins;

/* Elements from `start` up to `end`, at most a group, as doubles: where they lie, or in `room`; NULL where one is none. */
static const double *
take_group(const Elements *x, npy_intp start, npy_intp end, double *room)
{
#define TAKE(NUM, TYPE)                                      \
    case NUM: {                                              \
        const TYPE *from = (const TYPE *)x->data + start;    \
        for (npy_intp i = 0; i < end - start; i++) {         \
            room[i] = (double)from[i];                       \
        }                                                    \
        return room;                                         \
    }
    switch (x->type_num) {
    case NPY_DOUBLE:
        return (const double *)x->data + start;
        TAKE(NPY_BYTE, npy_byte)
        TAKE(NPY_UBYTE, npy_ubyte)
        TAKE(NPY_SHORT, npy_short)
        TAKE(NPY_USHORT, npy_ushort)
        TAKE(NPY_INT, npy_int)
        TAKE(NPY_UINT, npy_uint)
    case NPY_LONG: {
        const npy_long *from = (const npy_long *)x->data + start;
        int exact = 1;
        for (npy_intp i = 0; i < end - start; i++) {
            room[i] = (double)from[i];
            exact &= room[i] <= EXACT && room[i] >= -EXACT;
        }
        return exact ? room : NULL;
    }
    default:
        return NULL;
    }
#undef TAKE
}

/* Widen the bounds by `count` elements; whether none of them is NaN. */
FOR_THIS_CPU static int
widen(const double *x, npy_intp count, double *least, double *most)
{
    int unusual = 0;
    npy_intp i = 0;
    double low[LANES], high[LANES];
    for (int j = 0; j < LANES; j++) {
        low[j] = *least;
        high[j] = *most;
    }
    for (; i + LANES <= count; i += LANES) {
        for (int j = 0; j < LANES; j++) {
            double one = x[i + j];
            low[j] = one < low[j] ? one : low[j];
            high[j] = one > high[j] ? one : high[j];
        }
    }
    for (; i < count; i++) {
        low[0] = x[i] < low[0] ? x[i] : low[0];
        high[0] = x[i] > high[0] ? x[i] : high[0];
    }
    for (i = 0; i < count; i++) {
        unusual |= x[i] != x[i];
    }
    for (int j = 0; j < LANES; j++) {
        *least = low[j] < *least ? low[j] : *least;
        *most = high[j] > *most ? high[j] : *most;
    }
    return !unusual;
}

static int
find_bounds(const Elements *x, double *least, double *most)
{
    double room[GROUP];
    *least = INFINITY;
    *most = -INFINITY;
    for (npy_intp start = 0; start < x->n; start += GROUP) {
        npy_intp end = start + GROUP < x->n ? start + GROUP : x->n;
        const double *values = take_group(x, start, end, room);
        if (values == NULL || !widen(values, end - start, least, most)) {
            return 0;
        }
    }
    return 1;
}

/* The bins in which elements are by NumPy's quotient, before it looks at the edges; -1 for one outside of the range. */
FOR_THIS_CPU static void
guess(const double *x, npy_intp count, const Bins *bins, int32_t *places)
{
    double first = bins->first, last = bins->last, extent = bins->extent, n = (double)bins->n_bins;
    if (bins->covers) {
        for (npy_intp i = 0; i < count; i++) {
            places[i] = (int32_t)((x[i] - first) / extent * n);
        }
        return;
    }
    for (npy_intp i = 0; i < count; i++) {
        int inside = (x[i] >= first) & (x[i] <= last);
        double one = inside ? x[i] : first;
        int32_t place = (int32_t)((one - first) / extent * n);
        places[i] = inside ? place : -1;
    }
}

/* Make bins of guesses, by NumPy's corrections. Elements outside of the range are in bin number n_bins. */
static void
correct(const double *x, npy_intp count, const Bins *bins, int32_t *places)
{
    const double *edges = bins->edges;
    int32_t n = (int32_t)bins->n_bins;
    for (npy_intp i = 0; i < count; i++) {
        int32_t place = places[i];
        if (__builtin_expect(place < 0, 0)) {
            places[i] = n;
        }
        else if (__builtin_expect(place == n || x[i] < edges[place] || x[i] >= edges[place + 1], 0)) {
            place -= place == n;
            place -= x[i] < edges[place];
            place += x[i] >= edges[place + 1] && place != n - 1;
            places[i] = place;
        }
    }
}

/* Count the elements in each bin, or (weights) add up their weights; 0 where NumPy is to be asked. Each of the arrays has
 * room for one bin more. */
static int
fill(const Elements *x, const Bins *bins, const double *weights, npy_intp *counts, double *sums, double *part)
{
    double room[GROUP];
    int32_t places[GROUP];
    for (npy_intp start = 0; start < x->n; start += GROUP) {
        npy_intp end = start + GROUP < x->n ? start + GROUP : x->n;
        const double *values = take_group(x, start, end, room);
        if (values == NULL) {
            return 0;
        }
        guess(values, end - start, bins, places);
        correct(values, end - start, bins, places);
        for (npy_intp i = 0; i < end - start && weights == NULL; i++) {
            counts[places[i]]++;
        }
        for (npy_intp i = 0; i < end - start && weights != NULL; i++) {
            part[places[i]] += weights[start + i];
        }
        for (npy_intp k = 0; k < bins->n_bins && weights != NULL && (end % BLOCK == 0 || end == x->n); k++) {
            sums[k] += part[k];
            part[k] = 0.0;
        }
    }
    return 1;
}

/* A bound of a range as a double; 0 where it is no float or integer that is one. */
static int
read_bound(PyObject *object, double *value)
{
    if (PyFloat_CheckExact(object)) {
        *value = PyFloat_AS_DOUBLE(object);
    }
    else if (PyLong_CheckExact(object)) {
        *value = PyLong_AsDouble(object);
        if (*value == -1.0 && PyErr_Occurred()) {
            PyErr_Clear();
            return 0;
        }
    }
    else {
        return 0;
    }
    return fabs(*value) <= EXACT;
}

/* np.linspace(first, last, n + 1), a new reference, or NULL with an error set. */
static PyObject *
make_edges(double first, double last, npy_intp n)
{
    static PyObject *linspace;
    if (linspace == NULL) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        linspace = numpy ? PyObject_GetAttrString(numpy, "linspace") : NULL;
        Py_XDECREF(numpy);
    }
    return linspace ? PyObject_CallFunction(linspace, "ddn", first, last, n + 1) : NULL;
}

/* Whether the edges are those that NumPy goes by. */
static int
are_usual(PyObject *object, const Bins *bins)
{
    PyArrayObject *edges = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_TYPE(edges) != NPY_DOUBLE || PyArray_NDIM(edges) != 1
        || PyArray_DIM(edges, 0) != bins->n_bins + 1 || !PyArray_ISCARRAY_RO(edges)) {
        return 0;
    }
    const double *values = PyArray_DATA(edges);
    int grow = values[0] == bins->first && values[bins->n_bins] == bins->last;
    for (npy_intp i = 0; i < bins->n_bins; i++) {
        grow &= values[i] < values[i + 1];
    }
    return grow;
}

/* The counts, or sums, and edges; NULL with no error set where NumPy is to be asked. */
static PyObject *
histogram_of(PyObject *array, PyObject *n_bins, PyObject *range, PyObject *weights)
{
    if (!dl_is_packed_array(array) || !PyLong_CheckExact(n_bins)) {
        return NULL;
    }
    PyArrayObject *its = (PyArrayObject *)array;
    Elements x = {PyArray_BYTES(its), PyArray_TYPE(its), PyArray_SIZE(its)};
    Bins bins = {.n_bins = PyLong_AsSsize_t(n_bins), .covers = range == Py_None};
    if (bins.n_bins < 1 || bins.n_bins > BLOCK || x.n < 1) {
        PyErr_Clear();
        return NULL;
    }
    if (weights != Py_None
        && (!dl_is_packed_array(weights) || PyArray_TYPE((PyArrayObject *)weights) != NPY_DOUBLE
            || PyArray_SIZE((PyArrayObject *)weights) != x.n)) {
        return NULL;
    }
    if (bins.covers ? !find_bounds(&x, &bins.first, &bins.last)
                    : !PyTuple_CheckExact(range) || PyTuple_GET_SIZE(range) != 2
                          || !read_bound(PyTuple_GET_ITEM(range, 0), &bins.first)
                          || !read_bound(PyTuple_GET_ITEM(range, 1), &bins.last)) {
        return NULL;
    }
    bins.extent = bins.last - bins.first;
    /* NB: which zero NumPy takes for the greatest element is its affair. */
    if (!(bins.first < bins.last) || !isfinite(bins.extent) || bins.last == 0) {
        return NULL;
    }
    PyObject *edges = make_edges(bins.first, bins.last, bins.n_bins), *counts = NULL, *result = NULL;
    size_t room = (size_t)bins.n_bins + 1;
    double *part = edges ? PyMem_Calloc(2 * room, sizeof *part) : NULL;
    if (part != NULL && are_usual(edges, &bins)) {
        bins.edges = PyArray_DATA((PyArrayObject *)edges);
        counts = PyArray_SimpleNew(1, &bins.n_bins, weights == Py_None ? NPY_INTP : NPY_DOUBLE);
    }
    if (counts != NULL) {
        const double *weight = weights == Py_None ? NULL : PyArray_DATA((PyArrayObject *)weights);
        double *sums = part + room; /* or counts, which are as long */
        if (fill(&x, &bins, weight, (npy_intp *)sums, sums, part)) {
            memcpy(PyArray_DATA((PyArrayObject *)counts), sums, (size_t)bins.n_bins * sizeof *sums);
            result = PyTuple_Pack(2, counts, edges);
        }
    }
    PyMem_Free(part);
    Py_XDECREF(counts);
    Py_XDECREF(edges);
    return result;
}

/* histogram(numpy, array, bins, range, weights): numpy(array, bins, range, None, weights), which is np.histogram. */
static PyObject *
histogram(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    if (n != 5) {
        PyErr_SetString(PyExc_TypeError, "histogram takes NumPy's own, an array, bins, a range and weights");
        return NULL;
    }
    fenv_t before;
    feholdexcept(&before);
    PyObject *result = histogram_of(args[1], args[2], args[3], args[4]);
    int reported = fetestexcept(REPORTED);
    fesetenv(&before);
    if (result != NULL && !reported) {
        return result;
    }
    Py_CLEAR(result);
    return PyErr_Occurred() ? NULL : PyObject_CallFunctionObjArgs(args[0], args[1], args[2], args[3], Py_None, args[4], NULL);
}

PyMethodDef dl_histogram_functions[] = {
    {"histogram", _PyCFunction_CAST(histogram), METH_FASTCALL,
     "histogram(numpy, array, bins, range, weights): numpy(array, bins, range, None, weights)."},
    {NULL, NULL, 0, NULL},
};
