/* Places in vectors that grow, of many keys: np.searchsorted and np.interp. All keys of a group go through the same
 * halvings, without branches, so that the processor does them side by side: 5 ns a key among 1000 numbers where NumPy's
 * search mispredicts ten branches. NumPy itself is asked about what is not as usual: vectors that do not grow, of which
 * its answer depends on the order of the keys, NaNs, few keys. */
#include "search.h"

#include "program/geometry.h"

#include <string.h>

#define GROUP 16
#define MOST_PER_KEY 16 /* that the vector grows is looked at once; of many more numbers than keys NumPy sees only some */

#define SEARCHES(name, type)                                                                                           \
    /* Whether a[0] <= a[1] <= ... and none is NaN. NB: looks for NaN first, so that no comparison meets one. */       \
    static int grows_##name(const type *a, npy_intp n)                                                                 \
    {                                                                                                                  \
        for (npy_intp start = 0; start < n; start += 256) {                                                            \
            npy_intp end = start + 257 < n ? start + 257 : n;                                                          \
            int unusual = 0;                                                                                           \
            for (npy_intp i = start; i < end; i++) {                                                                   \
                unusual |= a[i] != a[i];                                                                               \
            }                                                                                                          \
            if (unusual) {                                                                                             \
                return 0;                                                                                              \
            }                                                                                                          \
            for (npy_intp i = start; i + 1 < end; i++) {                                                               \
                unusual |= a[i] > a[i + 1];                                                                            \
            }                                                                                                          \
            if (unusual) {                                                                                             \
                return 0;                                                                                              \
            }                                                                                                          \
        }                                                                                                              \
        return 1;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    /* How many numbers of a are below each of `count` keys, or (ups) not above; a is not empty. */                    \
    static inline void group_##name(const type *a, npy_intp n, const type *keys, npy_intp *places, int count, int ups) \
    {                                                                                                                  \
        npy_intp at[GROUP] = {0};                                                                                      \
        for (npy_intp length = n; length > 1;) {                                                                       \
            npy_intp half = length / 2;                                                                                \
            for (int j = 0; j < count; j++) {                                                                          \
                type middle = a[at[j] + half - 1];                                                                     \
                at[j] += (ups ? middle <= keys[j] : middle < keys[j]) ? half : 0;                                      \
            }                                                                                                          \
            length -= half;                                                                                            \
        }                                                                                                              \
        for (int j = 0; j < count; j++) {                                                                              \
            places[j] = at[j] + (ups ? a[at[j]] <= keys[j] : a[at[j]] < keys[j]);                                      \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    /* The same of all keys; 0 where one is NaN. */                                                                    \
    static int search_##name(const type *a, npy_intp n, const type *keys, npy_intp *places, npy_intp count, int ups)   \
    {                                                                                                                  \
        for (npy_intp i = 0; i < count; i += GROUP) {                                                                  \
            int size = count - i < GROUP ? (int)(count - i) : GROUP, unusual = 0;                                      \
            for (int j = 0; j < size; j++) {                                                                           \
                unusual |= keys[i + j] != keys[i + j];                                                                 \
            }                                                                                                          \
            if (unusual) {                                                                                             \
                return 0;                                                                                              \
            }                                                                                                          \
            if (size == GROUP) {                                                                                       \
                if (ups) {                                                                                             \
                    group_##name(a, n, keys + i, places + i, GROUP, 1);                                                \
                }                                                                                                      \
                else {                                                                                                 \
                    group_##name(a, n, keys + i, places + i, GROUP, 0);                                                \
                }                                                                                                      \
            }                                                                                                          \
            else {                                                                                                     \
                group_##name(a, n, keys + i, places + i, size, ups);                                                   \
            }                                                                                                          \
        }                                                                                                              \
        return 1;                                                                                                      \
    }

SEARCHES(double, npy_double)
SEARCHES(float, npy_float)
SEARCHES(long, npy_long)
SEARCHES(int, npy_int)

static int
search(int type_num, const void *a, npy_intp n, const void *keys, npy_intp *places, npy_intp count, int ups)
{
    switch (type_num) {
    case NPY_DOUBLE:
        return grows_double(a, n) && search_double(a, n, keys, places, count, ups);
    case NPY_FLOAT:
        return grows_float(a, n) && search_float(a, n, keys, places, count, ups);
    case NPY_LONG:
        return grows_long(a, n) && search_long(a, n, keys, places, count, ups);
    case NPY_INT:
        return grows_int(a, n) && search_int(a, n, keys, places, count, ups);
    }
    return 0;
}

int32_t
dl_search_places(npy_intp type_num, npy_intp ups, const char *a, npy_intp n, const char *keys, npy_intp count, int64_t *places)
{
    if (n == 0) {
        memset(places, 0, (size_t)count * sizeof *places);
        return 0;
    }
    return !search((int)type_num, a, n, keys, (npy_intp *)places, count, ups != 0);
}

/* Whether it is a packed array of that type. */
static int
is_packed(PyObject *object, int type_num)
{
    return dl_is_packed_array(object) && PyArray_TYPE((PyArrayObject *)object) == type_num;
}

/* The places of the keys in a vector, as a fresh array of the keys' shape; NULL without an error where NumPy is asked. */
static PyArrayObject *
places_of(PyObject *vector, PyObject *keys, int ups)
{
    PyArrayObject *a = (PyArrayObject *)vector, *k = (PyArrayObject *)keys;
    if (!PyArray_CheckExact(vector) || PyArray_NDIM(a) != 1 || !is_packed(vector, PyArray_TYPE(a))
        || !is_packed(keys, PyArray_TYPE(a)) || PyArray_NDIM(k) == 0) {
        return NULL;
    }
    npy_intp n = PyArray_DIM(a, 0), count = PyArray_SIZE(k);
    if (n < 1 || count < GROUP || n / MOST_PER_KEY > count) {
        return NULL;
    }
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(k), PyArray_DIMS(k), NPY_INTP);
    if (places == NULL) {
        return NULL;
    }
    int found;
    Py_BEGIN_ALLOW_THREADS /* as NumPy does: nobody else knows `places`, and wherever it finds itself is in the vector */
    found = search(PyArray_TYPE(a), PyArray_DATA(a), n, PyArray_DATA(k), PyArray_DATA(places), count, ups);
    Py_END_ALLOW_THREADS
    if (!found) {
        Py_CLEAR(places);
    }
    return places;
}

/* searchsorted(vector, keys, side): what the vector's method gives. */
static PyObject *
searchsorted(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    if (n != 3 || !PyUnicode_Check(args[2])) {
        PyErr_SetString(PyExc_TypeError, "searchsorted takes a vector, keys and a side");
        return NULL;
    }
    int ups = PyUnicode_CompareWithASCIIString(args[2], "right") == 0;
    PyArrayObject *places = places_of(args[0], args[1], ups);
    if (places != NULL || PyErr_Occurred()) {
        return (PyObject *)places;
    }
    PyObject *side = args[2];
    return PyObject_CallMethod(args[0], "searchsorted", "OO", args[1], side);
}

#if defined(__x86_64__) /* where NumPy's own is compiled without fused multiplication */

/* np.interp as its C loop computes it, at places where the last number that is not above the key stands, and one behind
 * it; 0 where a NaN comes out. */
static int
interpolate(const double *x, const npy_intp *places, npy_intp count, const double *xp, const double *fp, npy_intp n,
            double *out)
{
    int unusual = 0;
    for (npy_intp i = 0; i < count; i++) {
        npy_intp j = places[i] - 1;
        double value;
        if (j < 0 || j == n - 1) {
            value = fp[j < 0 ? 0 : j];
        }
        else if (xp[j] == x[i]) {
            value = fp[j];
        }
        else {
            double slope = (fp[j + 1] - fp[j]) / (xp[j + 1] - xp[j]);
            value = slope * (x[i] - xp[j]) + fp[j];
        }
        unusual |= value != value;
        out[i] = value;
    }
    return !unusual;
}

/* Whether most keys are above the one before, as far as some of them tell: NumPy begins its search at the last place. */
static int
are_in_order(const double *x, npy_intp count)
{
    npy_intp step = count / 64 > 1 ? count / 64 : 1, pairs = 0, in_order = 0;
    for (npy_intp i = 0; i + 1 < count; i += step) {
        pairs++;
        in_order += x[i] <= x[i + 1];
    }
    return in_order * 4 >= pairs * 3;
}

static PyObject *
interpolated(PyObject *x, PyObject *xp, PyObject *fp)
{
    if (!is_packed(x, NPY_DOUBLE) || !is_packed(xp, NPY_DOUBLE) || !is_packed(fp, NPY_DOUBLE)
        || PyArray_NDIM((PyArrayObject *)fp) != 1 || PyArray_NDIM((PyArrayObject *)xp) != 1
        || PyArray_DIM((PyArrayObject *)xp, 0) < 8
        || PyArray_DIM((PyArrayObject *)xp, 0) != PyArray_DIM((PyArrayObject *)fp, 0)) {
        return NULL;
    }
    if (are_in_order(PyArray_DATA((PyArrayObject *)x), PyArray_SIZE((PyArrayObject *)x))) {
        return NULL;
    }
    PyArrayObject *places = places_of(xp, x, 1);
    PyArrayObject *result = NULL;
    if (places != NULL) {
        result = (PyArrayObject *)PyArray_SimpleNew(PyArray_NDIM(places), PyArray_DIMS(places), NPY_DOUBLE);
    }
    if (result != NULL) {
        int found;
        Py_BEGIN_ALLOW_THREADS
        found = interpolate(PyArray_DATA((PyArrayObject *)x), PyArray_DATA(places), PyArray_SIZE(places),
                            PyArray_DATA((PyArrayObject *)xp), PyArray_DATA((PyArrayObject *)fp),
                            PyArray_DIM((PyArrayObject *)xp, 0), PyArray_DATA(result));
        Py_END_ALLOW_THREADS
        if (!found) {
            Py_CLEAR(result);
        }
    }
    Py_XDECREF(places);
    return (PyObject *)result;
}

int32_t
dl_search_interpolate(const double *x, npy_intp count, const double *xp, const double *fp, npy_intp n, int64_t *places,
                      double *out)
{
    return n < 1 || !search(NPY_DOUBLE, xp, n, x, (npy_intp *)places, count, 1)
           || !interpolate(x, (npy_intp *)places, count, xp, fp, n, out);
}

#else

int32_t
dl_search_interpolate(const double *Py_UNUSED(x), npy_intp Py_UNUSED(count), const double *Py_UNUSED(xp),
                      const double *Py_UNUSED(fp), npy_intp Py_UNUSED(n), int64_t *Py_UNUSED(places),
                      double *Py_UNUSED(out))
{
    return 1;
}

static PyObject *
interpolated(PyObject *Py_UNUSED(x), PyObject *Py_UNUSED(xp), PyObject *Py_UNUSED(fp))
{
    return NULL;
}

#endif

/* interp(compiled, x, xp, fp): what NumPy's compiled function gives of the others. */
static PyObject *
interp(PyObject *Py_UNUSED(module), PyObject *const *args, Py_ssize_t n)
{
    if (n != 4) {
        PyErr_SetString(PyExc_TypeError, "interp takes NumPy's own, x, xp and fp");
        return NULL;
    }
    PyObject *result = interpolated(args[1], args[2], args[3]);
    if (result != NULL || PyErr_Occurred()) {
        return result;
    }
    return PyObject_Vectorcall(args[0], args + 1, 3, NULL);
}

PyMethodDef dl_search_functions[] = {
    {"searchsorted", _PyCFunction_CAST(searchsorted), METH_FASTCALL, "searchsorted(vector, keys, side): its method."},
    {"interp", _PyCFunction_CAST(interp), METH_FASTCALL, "interp(compiled, x, xp, fp): compiled(x, xp, fp)."},
    {NULL, NULL, 0, NULL},
};
