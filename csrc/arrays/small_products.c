/* Products of many small matrices, and of a long matrix and a small one, of doubles: np.matmul calls BLAS for each matrix
 * of a stack, 40 ns of 3x3 ones, and hands it a long matrix in blocks that it copies first.
 *
 * In what order BLAS adds products, and whether it multiplies and adds at once, hangs on the sizes, on how the matrices
 * lie, on BLAS and on the processor. So it is tried out, once in a process for each form (ops/products.py); what nothing
 * explains is NumPy's. So is what meets an infinity, a NaN, or an overflow or underflow: it is computed again.
 */
#include "small_products.h"

#include <math.h>
#include <string.h>
#include <unistd.h>

#include "frame/eval_hook.h"
#include "kernels/clones.h"
#include "program/fpflags.h"
#include "program/geometry.h"

enum {
    MOST = 4,   /* rows and columns of a small matrix */
    LEAST = 16, /* of so many matrices, or rows */
    UNKNOWN = -2,
    LEFT_TO_NUMPY = -1,
    /* A way to add: two bits for each product, the number of the one that is added then, and */
    FUSED = 1 << 8,  /* multiplied and added at once */
    ZERO = 1 << 9,   /* from 0.0 on */
    HALVES = 1 << 10, /* the sum of two pairs */
};

typedef enum { STACK, ROWS, COLUMNS, N_SHAPES } Shape;

/* So many products of p x k and k x q matrices of doubles. Steps are in elements: between matrices, rows and columns. In
 * ROWS all of b, in COLUMNS all of a is one matrix. */
typedef struct {
    Shape shape;
    int p, k, q;
    npy_intp count;
    const double *a, *b;
    npy_intp a_step, a_row, a_column, b_step, b_row, b_column;
} Products;

/* By whether it is np.dot, the shape, whether a and b lie in F order, and p, k, q; 2 is added, and 0 is not asked yet. */
static short ways[2][N_SHAPES][2][2][MOST + 1][MOST + 1][MOST + 1];

/* To try a form out takes a few ms, once. Until so many of its matrices, or rows, were asked for, which takes NumPy about as
 * long, they are NumPy's. */
static npy_intp tried_after = 200 * 1000;
static npy_intp asked[2][N_SHAPES][2][2][MOST + 1][MOST + 1][MOST + 1];

/* As FOR_THIS_CPU. NB: where the processor's instruction is not asked for, fma() is a call. */
#ifdef DL_HAS_CLONES
#define FOR_THIS_FMA __attribute__((target_clones("avx512f", "fma", "default")))
#else
#define FOR_THIS_FMA
#endif

#define INLINE static inline __attribute__((always_inline))

INLINE double
step_of(int fused, double a, double b, double sum)
{
    return fused ? fma(a, b, sum) : a * b + sum;
}

/* One element: k products of which the places are given, added one after the other. */
INLINE double
element(int k, int fused, int halves, double first, const int *at, const double *a, npy_intp a_column, const double *b,
        npy_intp b_row)
{
    double sum = a[at[0] * a_column] * b[at[0] * b_row] + first;
    if (halves) {
        double other = a[at[2] * a_column] * b[at[2] * b_row];
        sum = step_of(fused, a[at[1] * a_column], b[at[1] * b_row], sum);
        return sum + step_of(fused, a[at[3] * a_column], b[at[3] * b_row], other);
    }
    for (int i = 1; i < k; i++) {
        sum = step_of(fused, a[at[i] * a_column], b[at[i] * b_row], sum);
    }
    return sum;
}

INLINE void
stack_of(const Products *all, double *restrict out, int k, int fused, int halves, double first, const int *at)
{
    int p = all->p, q = all->q;
    for (npy_intp n = 0; n < all->count; n++) {
        const double *a = all->a + n * all->a_step, *b = all->b + n * all->b_step;
        for (int i = 0; i < p; i++) {
            for (int j = 0; j < q; j++) {
                *out++ = element(k, fused, halves, first, at, a + i * all->a_row, all->a_column, b + j * all->b_column,
                                 all->b_row);
            }
        }
    }
}

/* Long rows of k elements, packed, times one matrix, which is copied: a loop over rows, of vectors. */
INLINE void
rows_of(const Products *all, double *restrict out, int k, int q)
{
    const double *restrict a = all->a;
    double b[MOST * MOST];
    for (int i = 0; i < k; i++) {
        for (int j = 0; j < q; j++) {
            b[i * q + j] = all->b[i * all->b_row + j * all->b_column];
        }
    }
    for (npy_intp n = 0; n < all->count; n++) {
        for (int j = 0; j < q; j++) {
            double sum = a[n * k] * b[j] + 0.0;
            for (int i = 1; i < k; i++) {
                sum = fma(a[n * k + i], b[i * q + j], sum);
            }
            out[n * q + j] = sum;
        }
    }
}

/* One matrix times long columns, whose elements lie packed (is_packed) or side by side. */
INLINE void
columns_of(const Products *all, double *restrict out, int k, int p, int is_packed)
{
    npy_intp count = all->count, column = is_packed ? k : 1, row = is_packed ? 1 : all->b_row;
    const double *restrict b = all->b;
    double a[MOST * MOST];
    for (int i = 0; i < p; i++) {
        for (int l = 0; l < k; l++) {
            a[i * k + l] = all->a[i * all->a_row + l * all->a_column];
        }
    }
    for (npy_intp n = 0; n < count; n++) {
        for (int i = 0; i < p; i++) {
            double sum = a[i * k] * b[n * column] + 0.0;
            for (int l = 1; l < k; l++) {
                sum = fma(a[i * k + l], b[n * column + l * row], sum);
            }
            out[i * count + n] = sum;
        }
    }
}

#define FOR_K(call) \
    switch (all->k) { \
    case 2: { enum { K = 2 }; call; break; } \
    case 3: { enum { K = 3 }; call; break; } \
    default: { enum { K = 4 }; call; break; } \
    }

FOR_THIS_FMA static void
compute_stack(const Products *all, double *out, int way)
{
    int at[MOST];
    for (int i = 0; i < MOST; i++) {
        at[i] = way >> (2 * i) & 3;
    }
    double first = way & ZERO ? 0.0 : -0.0;
    if (way & HALVES) {
        if (way & FUSED) {
            stack_of(all, out, 4, 1, 1, first, at);
        }
        else {
            stack_of(all, out, 4, 0, 1, first, at);
        }
    }
    else if (way & FUSED) {
        FOR_K(stack_of(all, out, K, 1, 0, first, at))
    }
    else {
        FOR_K(stack_of(all, out, K, 0, 0, first, at))
    }
}

FOR_THIS_FMA static void
compute_rows(const Products *all, double *out)
{
    switch (all->q) {
    case 2: FOR_K(rows_of(all, out, K, 2)) break;
    case 3: FOR_K(rows_of(all, out, K, 3)) break;
    default: FOR_K(rows_of(all, out, K, 4)) break;
    }
}

FOR_THIS_FMA static void
compute_columns(const Products *all, double *out)
{
    if (all->b_row == 1) {
        switch (all->p) {
        case 2: FOR_K(columns_of(all, out, K, 2, 1)) break;
        case 3: FOR_K(columns_of(all, out, K, 3, 1)) break;
        default: FOR_K(columns_of(all, out, K, 4, 1)) break;
        }
        return;
    }
    switch (all->p) { /* NB: each strides that the compiler knows, so that it makes vectors */
    case 2: FOR_K(columns_of(all, out, K, 2, 0)) break;
    case 3: FOR_K(columns_of(all, out, K, 3, 0)) break;
    default: FOR_K(columns_of(all, out, K, 4, 0)) break;
    }
}

/* The way that rows and columns are computed: from 0.0 on, in order, fused. */
static int
in_order(int k)
{
    int way = FUSED | ZERO;
    for (int i = 1; i < k; i++) {
        way |= i << (2 * i);
    }
    return way;
}

FOR_THIS_CPU static int
has_unusual(const double *x, npy_intp n)
{
    int unusual = 0;
    for (npy_intp i = 0; i < n; i++) {
        unusual |= !(x[i] - x[i] == 0.0);
    }
    return unusual;
}

static void
compute_all(const Products *all, double *out, int way)
{
    switch (all->shape) {
    case STACK: compute_stack(all, out, way); break;
    case ROWS: compute_rows(all, out); break;
    default: compute_columns(all, out); break;
    }
}

/* Compute them: 0, or 2 where NumPy is to be asked. */
static DlStatus
compute(const Products *all, double *out, int way)
{
    if (all->shape != STACK && way != in_order(all->k)) {
        return 2;
    }
    npy_intp size = all->count * all->p * all->q;
    unsigned before = dl_fp_get();
    dl_fp_set(0);
    compute_all(all, out, way);
    unsigned met = dl_fp_get();
    int unusual = met != 0 || has_unusual(out, size);
    dl_fp_set(before);
    return unusual ? 2 : 0;
}

/* Whether a matrix lies packed: 0 in C order, 1 in F order, else -1. A single row or column is in C order. */
static int
order_of(npy_intp rows, npy_intp columns, npy_intp row, npy_intp column)
{
    if ((column == 1 || columns == 1) && (row == columns || rows == 1)) {
        return 0;
    }
    return row == 1 && column == rows ? 1 : -1;
}

/* Strides in elements, or 0 where they are not whole. */
static int
in_elements(const DlReg *reg, npy_intp *steps)
{
    for (int i = 0; i < reg->nd; i++) {
        if (reg->strides[i] % (npy_intp)sizeof(double)) {
            return 0;
        }
        steps[i] = reg->strides[i] / (npy_intp)sizeof(double);
    }
    return 1;
}

/* Whether some matrix of a stack meets its own transpose: of that product NumPy lets BLAS compute one half, in another
 * order. */
static int
meets_its_transpose(const Products *all)
{
    if (all->p == 1 || all->p != all->q || all->a_row != all->b_column || all->a_column != all->b_row) {
        return 0;
    }
    npy_intp apart = (npy_intp)all->a - (npy_intp)all->b;
    npy_intp step = (all->b_step - all->a_step) * (npy_intp)sizeof(double);
    return step == 0 ? apart == 0 : apart % step == 0 && apart / step >= 0 && apart / step < all->count;
}

/* Tell what products two arrays ask for, and in which order the matrices lie; 0 if they are none of ours. */
static int
describe(Products *all, int orders[2], const DlReg *a, const DlReg *b)
{
    npy_intp a_steps[3], b_steps[3];
    if (a->nd < 2 || a->nd > 3 || b->nd < 2 || b->nd > 3 || !in_elements(a, a_steps) || !in_elements(b, b_steps)) {
        return 0;
    }
    npy_intp p = a->shape[a->nd - 2], k = a->shape[a->nd - 1], q = b->shape[b->nd - 1];
    if (b->shape[b->nd - 2] != k || k < 2 || k > MOST) {
        return 0;
    }
    *all = (Products){.a = (const double *)a->data,
                      .b = (const double *)b->data,
                      .a_row = a_steps[a->nd - 2],
                      .a_column = a_steps[a->nd - 1],
                      .b_row = b_steps[b->nd - 2],
                      .b_column = b_steps[b->nd - 1]};
    orders[0] = order_of(p, k, all->a_row, all->a_column);
    orders[1] = order_of(k, q, all->b_row, all->b_column);
    if (orders[0] < 0 || orders[1] < 0) {
        return 0;
    }
    if (a->nd == 3 && b->nd == 2 && p >= LEAST && q >= 2 && q <= MOST && orders[0] == 0 && a_steps[0] == p * k) {
        all->shape = ROWS; /* an image and a matrix: BLAS gets each of its rows as a long matrix */
        all->count = a->shape[0] * p;
        p = 1;
    }
    else if (a->nd == 3 || b->nd == 3) {
        all->shape = STACK;
        all->count = a->nd == 3 ? a->shape[0] : b->shape[0];
        if ((a->nd == 3 && b->nd == 3 && a->shape[0] != b->shape[0]) || p > MOST || q > MOST) {
            return 0;
        }
        all->a_step = a->nd == 3 ? a_steps[0] : 0;
        all->b_step = b->nd == 3 ? b_steps[0] : 0;
    }
    else if (p > MOST && q >= 2 && q <= MOST && orders[0] == 0) {
        all->shape = ROWS;
        all->count = p;
        p = 1;
    }
    else if (q > MOST && p >= 2 && p <= MOST) {
        all->shape = COLUMNS;
        all->count = q;
        q = 1;
    }
    else {
        return 0;
    }
    all->p = (int)p;
    all->k = (int)k;
    all->q = (int)q;
    return all->count >= LEAST && p > 0 && q > 0 && !(all->shape == STACK && meets_its_transpose(all));
}

/* Tell the shape of the result; how many axes it has. */
static int
shape_of(npy_intp *shape, const DlReg *a, const DlReg *b)
{
    int nd = a->nd > b->nd ? a->nd : b->nd;
    if (nd == 3) {
        shape[0] = a->nd == 3 ? a->shape[0] : b->shape[0];
    }
    shape[nd - 2] = a->shape[a->nd - 2];
    shape[nd - 1] = b->shape[b->nd - 1];
    return nd;
}

/* Whether np.dot of such arrays is np.matmul's product. */
static int
is_matmul(const DlReg *a, const DlReg *b)
{
    return a->nd == 2 && b->nd == 2;
}

/* Whether fma() is an instruction where it is compiled. */
static int
has_fast_fma(void)
{
#if defined(DL_HAS_CLONES)
    return __builtin_cpu_supports("fma") || __builtin_cpu_supports("avx512f");
#elif defined(FP_FAST_FMA)
    return 1;
#else
    return 0;
#endif
}

/* The way that was found for a form, LEFT_TO_NUMPY, or UNKNOWN with an error set. */
static int
way_of(const Products *all, const int orders[2], int is_dot)
{
    short *known = &ways[is_dot][all->shape][orders[0]][orders[1]][all->p][all->k][all->q];
    if (*known == 0) {
        npy_intp *before = &asked[is_dot][all->shape][orders[0]][orders[1]][all->p][all->k][all->q];
        if (*before < tried_after) {
            *before += all->count;
            return LEFT_TO_NUMPY;
        }
        dl_hook_pause();
        PyObject *module = PyImport_ImportModule("dynamo_lite.ops.products");
        PyObject *found = module ? PyObject_CallMethod(module, "way_of_product", "iiiiiii", is_dot, (int)all->shape, orders[0],
                                                       orders[1], all->p, all->k, all->q)
                                 : NULL;
        long way = found ? PyLong_AsLong(found) : UNKNOWN;
        Py_XDECREF(found);
        Py_XDECREF(module);
        dl_hook_resume();
        if (PyErr_Occurred()) {
            return UNKNOWN;
        }
        if (way >= 0 && (way & FUSED) && !has_fast_fma()) {
            way = LEFT_TO_NUMPY; /* a call for each product takes longer than BLAS */
        }
        *known = (short)(way + 2);
    }
    return *known - 2;
}

enum { MOST_ALONE = 1 << 18 /* products; more of a long matrix OpenBLAS shares out among its threads */ };

/* Whether BLAS has more processors than this thread's for them. */
static int
is_shared_out(const Products *all)
{
    static long processors;
    if (processors == 0) {
        processors = sysconf(_SC_NPROCESSORS_ONLN);
    }
    return all->shape != STACK && processors > 2 && all->count > MOST_ALONE / (all->p * all->k * all->q);
}

DlStatus
dl_small_products_run(DlRun *run, const DlCallStep *step, const DlReg *a, const DlReg *b)
{
    const DlType *type = &step->types[0];
    Products all;
    int orders[2], is_dot = step->product == DL_PRODUCT_DOT;
    if (type->descr->type_num != NPY_DOUBLE || type->scalar || a->descr->type_num != NPY_DOUBLE
        || b->descr->type_num != NPY_DOUBLE || !describe(&all, orders, a, b) || (is_dot && !is_matmul(a, b))
        || is_shared_out(&all)) {
        return 2;
    }
    int way = way_of(&all, orders, is_dot);
    if (way < 0) {
        return way == UNKNOWN ? -1 : 2;
    }
    npy_intp shape[3];
    int nd = shape_of(shape, a, b);
    PyObject *array = dl_pool_array(run, type->descr, nd, shape, NULL);
    if (array == NULL) {
        return -1;
    }
    double *out = PyArray_DATA((PyArrayObject *)array);
    DlStatus status = compute(&all, out, way);
    if (status != 0) {
        Py_DECREF(array);
        return status;
    }
    dl_reg_take_fresh(&run->regs[step->dsts[0]], array);
    return 0;
}

/* products_by(way, is_dot, a, b): the product of two aligned arrays of doubles, computed so; None where it is none of ours,
 * or NumPy is to be asked. */
static PyObject *
products_by(PyObject *Py_UNUSED(module), PyObject *args)
{
    int way, is_dot, orders[2];
    PyArrayObject *a, *b;
    if (!PyArg_ParseTuple(args, "iiO!O!:products_by", &way, &is_dot, &PyArray_Type, &a, &PyArray_Type, &b)) {
        return NULL;
    }
    if (PyArray_TYPE(a) != NPY_DOUBLE || PyArray_TYPE(b) != NPY_DOUBLE || !PyArray_ISBEHAVED_RO(a) || !PyArray_ISBEHAVED_RO(b)) {
        Py_RETURN_NONE;
    }
    DlReg regs[2] = {{.nd = PyArray_NDIM(a), .data = PyArray_BYTES(a), .shape = PyArray_DIMS(a), .strides = PyArray_STRIDES(a)},
                     {.nd = PyArray_NDIM(b), .data = PyArray_BYTES(b), .shape = PyArray_DIMS(b), .strides = PyArray_STRIDES(b)}};
    Products all;
    if (!describe(&all, orders, &regs[0], &regs[1]) || (is_dot && !is_matmul(&regs[0], &regs[1]))) {
        Py_RETURN_NONE;
    }
    npy_intp shape[3];
    int nd = shape_of(shape, &regs[0], &regs[1]);
    PyObject *out = PyArray_SimpleNew(nd, shape, NPY_DOUBLE);
    if (out != NULL && compute(&all, PyArray_DATA((PyArrayObject *)out), way) != 0) {
        Py_DECREF(out);
        Py_RETURN_NONE;
    }
    return out;
}

/* small_products_tried_after(n): a form is tried out once so many of its matrices were asked for; the number before. */
static PyObject *
small_products_tried_after(PyObject *Py_UNUSED(module), PyObject *number)
{
    Py_ssize_t before = tried_after, after = PyNumber_AsSsize_t(number, PyExc_OverflowError);
    if (after == -1 && PyErr_Occurred()) {
        return NULL;
    }
    tried_after = after;
    return PyLong_FromSsize_t(before);
}

PyMethodDef dl_small_products_functions[] = {
    {"small_products_tried_after", small_products_tried_after, METH_O,
     "small_products_tried_after(n): a form is tried out once so many of its matrices were asked for; the number before."},
    {"products_by", products_by, METH_VARARGS,
     "products_by(way, is_dot, a, b): the product of two arrays of doubles in that way, or None."},
    {NULL, NULL, 0, NULL},
};
