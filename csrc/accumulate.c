/* Sums and products of the first elements of a vector, as np.cumsum and np.cumprod give them: each is the one before and
 * an operation, so that no order is left open. For machine code, and for a Call step that is just that. */
#include "program.h"

#include "fpflags.h"

#include <string.h>

enum { MOST_ACCUMULATED = 1 << 17 }; /* elements; NumPy gives other threads the GIL meanwhile */

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

/* Whether a function is the accumulate of this ufunc; -1 with an error set. */
static int
is_of(PyObject *function, const char *ufunc)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.umath");
    PyObject *named = umath ? PyObject_GetAttrString(umath, ufunc) : NULL;
    PyObject *method = named ? PyObject_GetAttrString(named, "accumulate") : NULL;
    int same = method ? PyObject_RichCompareBool(method, function, Py_EQ) : -1;
    Py_XDECREF(umath);
    Py_XDECREF(named);
    Py_XDECREF(method);
    return same;
}

int
dl_accumulate_build(DlCallStep *step)
{
    if (!PyCFunction_Check(step->function) || step->n_dsts != 1 || step->types[0].shape.n != 1
        || strcmp(((PyCFunctionObject *)step->function)->m_ml->ml_name, "accumulate") != 0) {
        return 0;
    }
    const DlSlot *x = PyTuple_GET_SIZE(step->template) ? dl_slot_cast(PyTuple_GET_ITEM(step->template, 0)) : NULL;
    if (x == NULL || x->kind != DL_SLOT_REG) {
        return 0;
    }
    int adds = is_of(step->function, "add");
    int multiplies = adds == 0 ? is_of(step->function, "multiply") : 0;
    if (adds < 0 || multiplies < 0) {
        return -1;
    }
    if ((adds || multiplies) && find(step->types[0].descr->type_num, multiplies) != NULL) {
        step->accumulates = 1 + (multiplies ? DL_ACCUMULATE_MULTIPLY : DL_ACCUMULATE_ADD);
        step->left = x->index;
    }
    return 0;
}

DlStatus
dl_accumulate_run(DlRun *run, const DlCallStep *step)
{
    const DlReg *x = &run->regs[step->left];
    int type_num = step->types[0].descr->type_num;
    if (x->kind != DL_ARRAY || x->nd != 1 || x->descr->type_num != type_num || x->shape[0] > MOST_ACCUMULATED) {
        return 2;
    }
    PyObject *array = dl_pool_array(run, step->types[0].descr, 1, x->shape, NULL);
    if (array == NULL) {
        return -1;
    }
    unsigned before = dl_fp_get();
    Accumulate accumulate = find(type_num, step->accumulates == 1 + DL_ACCUMULATE_MULTIPLY);
    int doubtful = accumulate(PyArray_BYTES((PyArrayObject *)array), x->data, x->shape[0], x->strides[0]);
    if (doubtful) {
        dl_fp_set(before);
        Py_DECREF(array);
        return 2;
    }
    dl_reg_take_fresh(&run->regs[step->dsts[0]], array);
    return run->program->body == NULL ? dl_flags_check(run) : 0;
}
