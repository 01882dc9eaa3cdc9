/* The median of a vector of doubles: NumPy's own selection and its arithmetic, without its Python code. Of a
 * vector that may be sorted, for machine code. */
#include "program/program.h"

#include <float.h>
#include <math.h>
#include <string.h>

static PyObject *numpy_median; /* owned, once it was needed */

static PyObject *
ask_numpy(PyObject *array)
{
    if (numpy_median == NULL) {
        PyObject *numpy = PyImport_ImportModule("numpy");
        numpy_median = numpy ? PyObject_GetAttrString(numpy, "median") : NULL;
        Py_XDECREF(numpy);
    }
    return numpy_median ? PyObject_CallOneArg(numpy_median, array) : NULL;
}

/* median(array): what np.median gives of a vector. Whatever is not as usual (NaN, a zero, a sum that overflows,
 * a half that underflows) NumPy is asked. */
static PyObject *
median(PyObject *Py_UNUSED(module), PyObject *object)
{
    PyArrayObject *array = (PyArrayObject *)object;
    if (!PyArray_CheckExact(object) || PyArray_NDIM(array) != 1 || PyArray_TYPE(array) != NPY_DOUBLE
        || PyArray_DIM(array, 0) < 1 || !PyArray_ISBEHAVED_RO(array)) {
        return ask_numpy(object);
    }
    npy_intp n = PyArray_DIM(array, 0), middle = n / 2, count = n % 2 ? 2 : 3;
    PyArrayObject *places = (PyArrayObject *)PyArray_SimpleNew(1, &count, NPY_INTP);
    PyArrayObject *part = places ? (PyArrayObject *)PyArray_NewCopy(array, NPY_CORDER) : NULL;
    PyObject *result = NULL;
    if (part != NULL) {
        npy_intp *place = PyArray_DATA(places); /* NB: the places in the order in which NumPy has them */
        if (n % 2 == 0) {
            *place++ = middle - 1;
        }
        place[0] = middle;
        place[1] = -1;
        if (PyArray_Partition(part, places, 0, NPY_INTROSELECT) == 0) {
            const double *values = PyArray_DATA(part);
            double value = n % 2 ? values[middle] : (values[middle - 1] + values[middle]) / 2.0;
            int usual = isfinite(value) && !isnan(values[n - 1]) && fabs(value) >= DBL_MIN;
            PyArray_Descr *descr = PyArray_DescrFromType(NPY_DOUBLE);
            result = usual ? PyArray_Scalar(&value, descr, NULL) : ask_numpy(object);
            Py_DECREF(descr);
        }
    }
    Py_XDECREF(part);
    Py_XDECREF(places);
    return result;
}

/* Element i of sorted integers of a dtype, as a double; -1.0 and *other set for another dtype. */
static double
integer_at(int type_num, const char *x, npy_intp i, int *other)
{
#define AT(NUM, TYPE)                    \
    case NUM: {                          \
        TYPE one;                        \
        memcpy(&one, x + i * (npy_intp)sizeof one, sizeof one); \
        return (double)one;              \
    }
    switch (type_num) {
        AT(NPY_BYTE, npy_byte)
        AT(NPY_UBYTE, npy_ubyte)
        AT(NPY_SHORT, npy_short)
        AT(NPY_USHORT, npy_ushort)
        AT(NPY_INT, npy_int)
        AT(NPY_UINT, npy_uint)
        AT(NPY_LONG, npy_long)
        AT(NPY_ULONG, npy_ulong)
    default:
        *other = 1;
        return -1.0;
    }
#undef AT
}

int32_t
dl_statistics_median(npy_intp type_num, char *x, npy_intp n, double *out)
{
    npy_intp middle = n / 2;
    if (n < 1 || dl_positions_sort(type_num, x, n) != 0) {
        return 1;
    }
    if (type_num != NPY_DOUBLE) {
        int other = 0;
        double upper = integer_at((int)type_num, x, middle, &other);
        *out = n % 2 ? upper : (integer_at((int)type_num, x, middle - 1, &other) + upper) / 2.0;
        return other;
    }
    const double *values = (const double *)x;
    double sum = n % 2 ? values[middle] : values[middle - 1] + values[middle];
    *out = n % 2 ? sum : sum / 2.0;
    if (!isfinite(sum) || isnan(values[n - 1]) || (sum != 0 && fabs(*out) < DBL_MIN)) {
        return 1;
    }
    for (npy_intp i = 0; sum == 0 && i < n; i++) { /* which zero it is */
        if (values[i] == 0 && signbit(values[i])) {
            return 1;
        }
    }
    return 0;
}

PyMethodDef dl_statistics_functions[] = {
    {"median", median, METH_O, "median(array): np.median of a vector."},
    {NULL, NULL, 0, NULL},
};
