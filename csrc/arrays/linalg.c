/* Small matrices inverted, solved and factored by the inner loops of np.linalg's gufuncs, on the registers' memory.
 *
 * As with products (product.c) NumPy spends more on the call than LAPACK on the arithmetic. The loops copy what they
 * get, so that strides do not matter; their results lie packed in C order, as those of the gufuncs do.
 */
#include "kernels/kernel_code.h"
#include "linalg.h"
#include "kernels/maps.h"

#define NO_IMPORT_UFUNC
#define PY_UFUNC_UNIQUE_SYMBOL dl_ufunc_api
#include <numpy/ufuncobject.h>

#include "program/fpflags.h"
#include "builder/slot.h"

enum { MOST_AXES = 2, MOST_ARRAYS = 3, MOST_SIZES = 2 };

/* One gufunc, for doubles. */
typedef struct {
    PyUFuncObject *ufunc; /* owned, for ever; NULL: this NumPy has none */
    npy_intp words[DL_LOOP_WORDS];
    PyObject *keep; /* owned, for ever: what the words point to; NULL where there is no loop */
    int raises;     /* invalid values raise, and nothing else is reported; otherwise flags count as anywhere */
} Gufunc;

/* An operand or result: its first element, and its axes. */
typedef struct {
    char *data;
    int nd;
    npy_intp sizes[MOST_AXES], strides[MOST_AXES];
} Operand;

static const char *const names[] = {
#define LINALG(name) #name,
#include "abi.def"
};
static Gufunc gufuncs[Py_ARRAY_LENGTH(names)];

/* Find the gufuncs, once; 0 or -1. */
static int
find_gufuncs(void)
{
    static int found;
    PyObject *numpy = found ? NULL : PyImport_ImportModule("numpy");
    PyObject *type = numpy ? PyObject_GetAttrString(numpy, "ufunc") : NULL;
    PyObject *module = type ? PyImport_ImportModule("numpy.linalg._umath_linalg") : NULL;
    Py_XDECREF(numpy);
    if (module == NULL) {
        Py_XDECREF(type);
        return found - 1;
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(names); i++) {
        PyObject *one = PyObject_GetAttrString(module, names[i]);
        if (one != NULL && Py_IS_TYPE(one, (PyTypeObject *)type)) {
            gufuncs[i].ufunc = (PyUFuncObject *)one;
        }
        else {
            Py_XDECREF(one);
            PyErr_Clear();
        }
    }
    Py_DECREF(module);
    Py_DECREF(type);
    found = 1;
    return 0;
}

/* Whether operands and results are few enough, of few enough axes and sizes. */
static int
is_small(const PyUFuncObject *ufunc)
{
    int fits = ufunc->nargs <= MOST_ARRAYS && ufunc->core_num_dim_ix <= MOST_SIZES && ufunc->nin <= 2;
    for (int i = 0; fits && i < ufunc->nargs; i++) {
        fits = ufunc->core_num_dims[i] <= MOST_AXES;
    }
    return fits;
}

/* Find the loop for doubles, if there is one. */
static void
learn_loop(Gufunc *gufunc)
{
    if (gufunc->keep != NULL || !is_small(gufunc->ufunc)) {
        return;
    }
    PyArray_Descr *descr = PyArray_DescrFromType(NPY_DOUBLE);
    PyObject *dtypes = PyTuple_New(gufunc->ufunc->nargs);
    for (int i = 0; dtypes != NULL && i < gufunc->ufunc->nargs; i++) {
        PyTuple_SET_ITEM(dtypes, i, Py_NewRef((PyObject *)descr));
    }
    PyObject *item = dtypes ? PyTuple_Pack(2, (PyObject *)gufunc->ufunc, dtypes) : NULL;
    int one_thread = 0, needs_gil = 0;
    PyObject *keep = item ? dl_loop_resolve(item, gufunc->words, &needs_gil, &one_thread) : NULL;
    Py_XDECREF(item);
    Py_XDECREF(dtypes);
    Py_XDECREF(descr);
    if (needs_gil) {
        Py_CLEAR(keep);
    }
    gufunc->keep = keep;
    PyErr_Clear();
}

int
dl_linalg_build(DlCallStep *step)
{
    if (find_gufuncs() < 0) {
        return -1;
    }
    for (size_t i = 0; i < Py_ARRAY_LENGTH(names); i++) {
        Gufunc *gufunc = &gufuncs[i];
        if (gufunc->ufunc == NULL || step->function != (PyObject *)gufunc->ufunc) {
            continue;
        }
        int n = gufunc->ufunc->nin, n_names = step->names ? (int)PyTuple_GET_SIZE(step->names) : 0;
        if (n_names != 1 || PyTuple_GET_SIZE(step->template) != n + 1 || step->n_dsts != gufunc->ufunc->nout) {
            return 0; /* it names its signature, and nothing else */
        }
        const DlSlot *left = dl_slot_cast(PyTuple_GET_ITEM(step->template, 0));
        const DlSlot *right = dl_slot_cast(PyTuple_GET_ITEM(step->template, n - 1));
        if (left == NULL || right == NULL || left->kind != DL_SLOT_REG || right->kind != DL_SLOT_REG) {
            return 0;
        }
        gufunc->raises = step->invalid_alone;
        learn_loop(gufunc);
        if (gufunc->keep != NULL) {
            step->product = DL_PRODUCT_LINALG;
            step->linalg = (int)i;
            step->left = left->index;
            step->right = right->index;
        }
    }
    return 0;
}

/* Set the sizes by the operands, if these are fit for the gufunc and small; whether they are. */
static int
sizes_of(const PyUFuncObject *ufunc, const Operand *operands, npy_intp *sizes)
{
    for (int i = 0; i < ufunc->core_num_dim_ix; i++) {
        sizes[i] = -1;
    }
    npy_intp work = 1, greatest = 0;
    for (int i = 0; i < ufunc->nin; i++) {
        if (operands[i].nd != ufunc->core_num_dims[i]) {
            return 0;
        }
        for (int axis = 0; axis < operands[i].nd; axis++) {
            npy_intp size = operands[i].sizes[axis], *known = &sizes[ufunc->core_dim_ixs[ufunc->core_offsets[i] + axis]];
            if (size < 1 || size > DL_MOST_VECTOR || (*known >= 0 && *known != size)) {
                return 0;
            }
            *known = size;
            greatest = size > greatest ? size : greatest;
        }
    }
    work = sizes[0] * sizes[0];
    return work <= DL_MOST_VECTOR && work * greatest <= DL_MOST_VECTOR;
}

/* How results lie: packed in C order. */
static void
lay_out_results(const PyUFuncObject *ufunc, const npy_intp *sizes, Operand *results)
{
    for (int i = 0; i < ufunc->nout; i++) {
        npy_intp stride = sizeof(double);
        results[i].nd = ufunc->core_num_dims[ufunc->nin + i];
        for (int axis = results[i].nd - 1; axis >= 0; axis--) {
            results[i].sizes[axis] = sizes[ufunc->core_dim_ixs[ufunc->core_offsets[ufunc->nin + i] + axis]];
            results[i].strides[axis] = stride;
            stride *= results[i].sizes[axis];
        }
    }
}

/* Run the loop on operands and results, in this order: whether NumPy's call would give the same without an error. */
static int
compute(const Gufunc *gufunc, const Operand *arrays, const npy_intp *sizes)
{
    const PyUFuncObject *ufunc = gufunc->ufunc;
    char *args[MOST_ARRAYS];
    npy_intp dims[1 + MOST_SIZES] = {1}, strides[MOST_ARRAYS + MOST_ARRAYS * MOST_AXES] = {0};
    memcpy(dims + 1, sizes, (size_t)ufunc->core_num_dim_ix * sizeof *sizes);
    npy_intp *next = strides + ufunc->nargs; /* behind one for each array, of which there is one matrix */
    for (int i = 0; i < ufunc->nargs; i++) {
        args[i] = arrays[i].data;
        memcpy(next, arrays[i].strides, (size_t)arrays[i].nd * sizeof *next);
        next += arrays[i].nd;
    }
    PyArrayMethod_StridedLoop *run = (PyArrayMethod_StridedLoop *)gufunc->words[DL_LOOP_FUNCTION];
    unsigned before = dl_fp_get();
    dl_fp_set(0); /* NB: the loop takes an invalid flag for its own */
    dl_fp_clear_x87(); /* NB: which BLAS computes norms in */
    int failed = run((PyArrayMethod_Context *)gufunc->words[DL_LOOP_CONTEXT], args, dims, strides,
                     (NpyAuxData *)gufunc->words[DL_LOOP_AUXDATA]);
    unsigned met = dl_fp_get() | dl_fp_get_x87();
    dl_fp_clear_x87();
    dl_fp_set(gufunc->raises ? before : before | met);
    if (PyErr_Occurred()) { /* there is no memory: plain Python will find out itself */
        PyErr_Clear();
        return 0;
    }
    return !failed && !(gufunc->raises && (met & DL_FP_INVALID));
}

DlStatus
dl_linalg_run(DlRun *run, const DlCallStep *step)
{
    const Gufunc *gufunc = &gufuncs[step->linalg];
    const PyUFuncObject *ufunc = gufunc->ufunc;
    Operand arrays[MOST_ARRAYS];
    npy_intp sizes[MOST_SIZES];
    for (int i = 0; i < ufunc->nin; i++) {
        const DlReg *reg = &run->regs[i == 0 ? step->left : step->right];
        if (reg->kind != DL_ARRAY || reg->descr->type_num != NPY_DOUBLE || reg->nd > MOST_AXES) {
            return 2;
        }
        arrays[i].data = reg->data;
        arrays[i].nd = reg->nd;
        memcpy(arrays[i].sizes, reg->shape, (size_t)reg->nd * sizeof *arrays[i].sizes);
        memcpy(arrays[i].strides, reg->strides, (size_t)reg->nd * sizeof *arrays[i].strides);
    }
    Operand *results = arrays + ufunc->nin;
    if (!sizes_of(ufunc, arrays, sizes)) {
        return 2;
    }
    lay_out_results(ufunc, sizes, results);
    for (int i = 0; i < ufunc->nout; i++) {
        const DlType *type = &step->types[i];
        if (type->descr->type_num != NPY_DOUBLE || type->scalar != (results[i].nd == 0)) {
            return 2;
        }
    }
    PyObject *made[MOST_ARRAYS] = {NULL};
    double scalars[MOST_ARRAYS];
    DlStatus status = 0;
    for (int i = 0; i < ufunc->nout && status == 0; i++) {
        results[i].data = (char *)&scalars[i];
        if (results[i].nd > 0) {
            made[i] = dl_pool_array(run, step->types[i].descr, results[i].nd, results[i].sizes, NULL);
            status = made[i] == NULL ? -1 : 0;
            results[i].data = made[i] ? PyArray_BYTES((PyArrayObject *)made[i]) : NULL;
        }
    }
    if (status == 0 && !compute(gufunc, arrays, sizes)) {
        status = dl_decline(run, DL_REASON_CALL);
    }
    for (int i = 0; i < ufunc->nout; i++) {
        if (status != 0) {
            Py_XDECREF(made[i]);
        }
        else if (made[i] != NULL) {
            dl_reg_take_fresh(&run->regs[step->dsts[i]], made[i]);
        }
        else {
            dl_reg_take_number(&run->regs[step->dsts[i]], (DlNumber){.f = scalars[i]}, DL_FLOAT);
        }
    }
    return status == 0 && run->program->body == NULL ? dl_flags_check(run) : status;
}

int32_t
dl_linalg_arrays(npy_intp what, char *first, char *second, char *a, npy_intp m, npy_intp n, npy_intp a_row, npy_intp a_column,
                 char *b, npy_intp b_rows, npy_intp p, npy_intp b_row, npy_intp b_column)
{
    const Gufunc *gufunc = &gufuncs[what];
    if (gufunc->keep == NULL) {
        return 1;
    }
    const PyUFuncObject *ufunc = gufunc->ufunc;
    Operand arrays[MOST_ARRAYS] = {{a, 2, {m, n}, {a_row, a_column}}, {b, 2, {b_rows, p}, {b_row, b_column}}};
    npy_intp sizes[MOST_SIZES];
    arrays[1].nd = ufunc->core_num_dims[1];
    if (!sizes_of(ufunc, arrays, sizes)) {
        return 1;
    }
    Operand *results = arrays + ufunc->nin;
    lay_out_results(ufunc, sizes, results);
    results[0].data = first;
    if (ufunc->nout > 1) {
        results[1].data = second;
    }
    return !compute(gufunc, arrays, sizes);
}
