/* Products of small arrays, without an array object or Python call: np.matmul's own inner loop on the registers' memory,
 * which also serves np.dot of two vectors.
 *
 * For such sizes NumPy spends far more on the call than on the arithmetic. The loop gets what NumPy would give it: the
 * operands' strides and a fresh result in C order, with stride 0 along an axis of one element, which decides whether BLAS
 * or a loop multiplies, whose products of infinities differ.
 */
#include "small_products.h"

#include "kernels/kernel_code.h"
#include "kernels/maps.h"

#include "program/fpflags.h"
#include "builder/slot.h"

enum { N_TYPES = 32 };

typedef struct {
    int asked;
    npy_intp words[DL_LOOP_WORDS];
    PyObject *keep; /* owned, for ever: what the words point to; NULL where there is no loop */
} Loop;

static PyObject *matmul; /* owned, for ever */
static Loop loops[N_TYPES];

/* Find matmul's loop for operands and result of one builtin dtype, if it has one. */
static void
learn_loop(PyArray_Descr *descr)
{
    Loop *loop = descr->type_num >= 0 && descr->type_num < N_TYPES ? &loops[descr->type_num] : NULL;
    if (loop == NULL || loop->asked) {
        return;
    }
    loop->asked = 1;
    int one_thread = 0, needs_gil = 0;
    PyObject *item = Py_BuildValue("O(OOO)", matmul, descr, descr, descr);
    PyObject *keep = item ? dl_loop_resolve(item, loop->words, &needs_gil, &one_thread) : NULL;
    Py_XDECREF(item);
    if (needs_gil) {
        Py_CLEAR(keep);
    }
    loop->keep = keep;
    PyErr_Clear();
}

/* Whether np.dot of matrices is matmul's product where these lie packed (ops/products.py), asked once; -1 on error. */
static int
dot_is_matmul(void)
{
    static int answer = -1;
    if (answer < 0) {
        PyObject *module = PyImport_ImportModule("dynamo_lite.ops.products");
        PyObject *found = module ? PyObject_CallMethod(module, "dot_is_matmul", NULL) : NULL;
        answer = found ? PyObject_IsTrue(found) : -1;
        Py_XDECREF(found);
        Py_XDECREF(module);
    }
    return answer;
}

/* Whether np.dot hands BLAS such an operand as it is, of rows and columns with these strides: a matrix that lies packed, in
 * either order, or a vector, which is one row or column whose other stride is 0. NB: products along one element differ in
 * which NaN and which zero they give. */
static int
is_blas_operand(npy_intp rows, npy_intp columns, npy_intp row, npy_intp column, npy_intp itemsize)
{
    if ((rows == 1 && row == 0) || (columns == 1 && column == 0)) {
        npy_intp stride = row + column;
        return stride > 0 && stride % itemsize == 0;
    }
    int is_c = (column == itemsize || columns == 1) && (row == columns * itemsize || rows == 1);
    int is_f = (row == itemsize || rows == 1) && (column == rows * itemsize || columns == 1);
    return is_c || is_f;
}

int
dl_product_build(DlCallStep *step)
{
    PyObject *umath = PyImport_ImportModule("numpy._core.multiarray");
    PyObject *dot = umath ? PyObject_GetAttrString(umath, "dot") : NULL;
    Py_XDECREF(umath);
    umath = dot ? PyImport_ImportModule("numpy._core.umath") : NULL;
    if (umath != NULL && matmul == NULL) {
        matmul = PyObject_GetAttrString(umath, "matmul");
    }
    Py_XDECREF(umath);
    PyObject *method = matmul && dot ? PyObject_GetAttrString((PyObject *)&PyArray_Type, "dot") : NULL;
    if (method == NULL) {
        Py_XDECREF(dot);
        return -1;
    }
    int is_dot = step->function == dot || step->function == method;
    if ((is_dot || step->function == matmul) && step->names == NULL && step->n_dsts == 1
        && PyTuple_GET_SIZE(step->template) == 2) {
        const DlSlot *left = dl_slot_cast(PyTuple_GET_ITEM(step->template, 0));
        const DlSlot *right = dl_slot_cast(PyTuple_GET_ITEM(step->template, 1));
        int as_matmul = !is_dot || step->types[0].scalar ? 1 : dot_is_matmul();
        if (as_matmul < 0) {
            Py_DECREF(method);
            Py_DECREF(dot);
            return -1;
        }
        if (as_matmul && left != NULL && right != NULL && left->kind == DL_SLOT_REG && right->kind == DL_SLOT_REG) {
            step->product = is_dot ? DL_PRODUCT_DOT : DL_PRODUCT_MATMUL;
            step->left = left->index;
            step->right = right->index;
            learn_loop(step->types[0].descr);
        }
    }
    Py_DECREF(method);
    Py_DECREF(dot);
    return 0;
}

/* Run the loop: 0, or 1 where it failed. */
static DlStatus
multiply(const Loop *loop, int type_num, char **args, const npy_intp *sizes, const npy_intp *strides)
{
    PyArrayMethod_StridedLoop *run = (PyArrayMethod_StridedLoop *)loop->words[1];
    unsigned before = dl_fp_get();
    int both_units = type_num == NPY_HALF; /* NB: to look at the other takes as long as a short product */
    if (both_units) {
        dl_fp_clear_x87();
    }
    int failed = run((PyArrayMethod_Context *)loop->words[2], args, sizes, strides, (NpyAuxData *)loop->words[3]);
    unsigned met = dl_fp_get() | (both_units ? dl_fp_get_x87() : 0);
    dl_fp_set(PyTypeNum_ISINTEGER(type_num) ? before : before | met); /* NB: the loop may clear them */
    return failed != 0;
}

/* A vector that np.dot would copy before it multiplies, because BLAS does not take it, is copied too: into memory that is
 * to be given back. 0, or -1 with MemoryError. */
static int
pack_vector(npy_intp size, npy_intp itemsize, char **data, npy_intp *stride, char **memory, npy_intp *taken)
{
    *memory = NULL;
    if (*stride > 0 && *stride % itemsize == 0) {
        return 0;
    }
    *memory = dl_scratch_take(size * itemsize, taken);
    if (*memory == NULL) {
        return -1;
    }
    dl_copy_strided(*memory, &itemsize, *data, stride, 1, &size, itemsize);
    *data = *memory;
    *stride = itemsize;
    return 0;
}

static void
give_back(char *const *memory, const npy_intp *taken)
{
    for (int i = 0; i < 2; i++) {
        if (memory[i] != NULL) {
            dl_scratch_give(memory[i], taken[i]);
        }
    }
}

/* np.dot of vectors of one element, which NumPy multiplies itself: 0, or 2 where two NaNs meet, of which it keeps the one
 * or the other, and for complex numbers. */
static DlStatus
multiply_one(int type_num, char **args)
{
    if (type_num == NPY_DOUBLE) {
        double a, b;
        memcpy(&a, args[0], sizeof a);
        memcpy(&b, args[1], sizeof b);
        if (a != a && b != b && memcmp(&a, &b, sizeof a) != 0) {
            return 2;
        }
        a *= b;
        memcpy(args[2], &a, sizeof a);
        return 0;
    }
    if (type_num == NPY_FLOAT) {
        float a, b;
        memcpy(&a, args[0], sizeof a);
        memcpy(&b, args[1], sizeof b);
        if (a != a && b != b && memcmp(&a, &b, sizeof a) != 0) {
            return 2;
        }
        a *= b;
        memcpy(args[2], &a, sizeof a);
        return 0;
    }
    return 2;
}

/* np.dot of two vectors; 2 when only the call will do. */
static DlStatus
multiply_vectors(const Loop *loop, const PyArray_Descr *descr, char **args, const npy_intp *sizes, npy_intp *strides)
{
    npy_intp n = sizes[2], itemsize = PyDataType_ELSIZE(descr), taken[2] = {0, 0};
    if (n == 0) {
        memset(args[2], 0, (size_t)itemsize);
        return 0;
    }
    if (n == 1) {
        return multiply_one(descr->type_num, args);
    }
    char *memory[2] = {NULL, NULL};
    DlStatus status = -1;
    if (pack_vector(n, itemsize, &args[0], &strides[4], &memory[0], &taken[0]) == 0
        && pack_vector(n, itemsize, &args[1], &strides[5], &memory[1], &taken[1]) == 0) {
        status = multiply(loop, descr->type_num, args, sizes, strides);
    }
    give_back(memory, taken);
    return status;
}

/* What np.dot of matrices hands BLAS as it is stays so; what NumPy copies before, a matrix that does not lie packed or a
 * vector that BLAS does not take, is copied as well, in C order, into memory that is to be given back. 0, 1 where only the
 * call will do, or -1 with MemoryError. NB: a matrix of one row or column is a vector to NumPy, which it does not copy. */
static DlStatus
pack_operand(npy_intp rows, npy_intp columns, npy_intp itemsize, char **data, npy_intp *row, npy_intp *column,
             char **memory, npy_intp *taken)
{
    if (is_blas_operand(rows, columns, *row, *column, itemsize)) {
        return 0;
    }
    if (rows == 1 && *row == 0) {
        return pack_vector(columns, itemsize, data, column, memory, taken);
    }
    if (columns == 1 && *column == 0) {
        return pack_vector(rows, itemsize, data, row, memory, taken);
    }
    if (rows < 2 || columns < 2) {
        return 1;
    }
    *memory = dl_scratch_take(rows * columns * itemsize, taken);
    if (*memory == NULL) {
        return -1;
    }
    npy_intp shape[2] = {rows, columns}, from[2] = {*row, *column}, to[2] = {columns * itemsize, itemsize};
    dl_copy_strided(*memory, to, *data, from, 2, shape, itemsize);
    *data = *memory;
    *row = to[0];
    *column = to[1];
    return 0;
}

/* Whether np.dot of such vectors is matmul's product, with more than one element; it has another way for integers. */
static int
is_blas_type(int type_num)
{
    return type_num == NPY_FLOAT || type_num == NPY_DOUBLE || type_num == NPY_CFLOAT || type_num == NPY_CDOUBLE;
}

/* The product of numbers of that dtype, NULL where the program has none. */
static const Loop *
loop_of(int type_num)
{
    const Loop *loop = type_num >= 0 && type_num < N_TYPES ? &loops[type_num] : NULL;
    return loop == NULL || loop->keep == NULL ? NULL : loop;
}

int32_t
dl_product_vectors(npy_intp what, char *result, char *a, npy_intp n, npy_intp a_stride, char *b, npy_intp m,
                   npy_intp b_stride)
{
    int type_num = (int)(what / DL_VECTOR_PRODUCTS), is_dot = what % DL_VECTOR_PRODUCTS == DL_VECTOR_DOT;
    const Loop *loop = loop_of(type_num);
    if (loop == NULL || n != m || n > DL_MOST_VECTOR || (is_dot && !is_blas_type(type_num))) {
        return 1;
    }
    const PyArray_Descr *descr = ((PyArrayMethod_Context *)loop->words[2])->descriptors[0];
    char *args[3] = {a, b, result};
    npy_intp sizes[4] = {1, 1, n, 1};
    npy_intp strides[9] = {[4] = n == 1 ? 0 : a_stride, [5] = n == 1 ? 0 : b_stride};
    DlStatus status = is_dot ? multiply_vectors(loop, descr, args, sizes, strides)
                             : multiply(loop, type_num, args, sizes, strides);
    if (status < 0) {
        PyErr_Clear(); /* plain Python will find out about the memory itself */
    }
    return status != 0;
}

int32_t
dl_product_arrays(npy_intp what, char *result, char *a, char *b, npy_intp m, npy_intp n, npy_intp a_row, npy_intp a_column,
                  npy_intp b_rows, npy_intp p, npy_intp b_row, npy_intp b_column)
{
    int type_num = (int)(what / DL_VECTOR_PRODUCTS), is_dot = what % DL_VECTOR_PRODUCTS == DL_VECTOR_DOT;
    const Loop *loop = loop_of(type_num);
    if (loop == NULL || n != b_rows) {
        return 1;
    }
    npy_intp itemsize = PyDataType_ELSIZE(((PyArrayMethod_Context *)loop->words[2])->descriptors[0]), taken[2] = {0, 0};
    char *args[3] = {a, b, result}, *memory[2] = {NULL, NULL};
    DlStatus status = !is_dot     ? 0
                      : n > 1 ? pack_operand(m, n, itemsize, &args[0], &a_row, &a_column, &memory[0], &taken[0])
                              : 1;
    if (status == 0 && is_dot) {
        status = pack_operand(n, p, itemsize, &args[1], &b_row, &b_column, &memory[1], &taken[1]);
    }
    if (status == 0) {
        npy_intp sizes[4] = {1, m, n, p};
        npy_intp strides[9] = {[3] = m == 1 ? 0 : a_row,        [4] = n == 1 ? 0 : a_column, [5] = n == 1 ? 0 : b_row,
                               [6] = p == 1 ? 0 : b_column,     [7] = m == 1 ? 0 : p * itemsize, [8] = p == 1 ? 0 : itemsize};
        status = multiply(loop, type_num, args, sizes, strides);
    }
    give_back(memory, taken);
    if (status < 0) {
        PyErr_Clear(); /* plain Python will find out about the memory itself */
    }
    return status != 0;
}

DlStatus
dl_product_run(DlRun *run, const DlCallStep *step)
{
    const DlReg *a = &run->regs[step->left], *b = &run->regs[step->right];
    const DlType *type = &step->types[0];
    if (a->kind == DL_ARRAY && b->kind == DL_ARRAY) {
        DlStatus done = dl_small_products_run(run, step, a, b);
        if (done != 2) {
            return done;
        }
    }
    if (a->kind != DL_ARRAY || b->kind != DL_ARRAY || a->nd < 1 || a->nd > 2 || b->nd < 1 || b->nd > 2
        || a->descr->type_num != b->descr->type_num || type->descr->type_num != a->descr->type_num
        || type->scalar != (a->nd == 1 && b->nd == 1)) {
        return 2;
    }
    int is_dot = step->product == DL_PRODUCT_DOT;
    int type_num = type->descr->type_num;
    if (is_dot && !(type->scalar ? is_blas_type(type_num) : type_num == NPY_FLOAT || type_num == NPY_DOUBLE)) {
        return 2;
    }
    npy_intp m = a->nd == 2 ? a->shape[0] : 1, n = a->shape[a->nd - 1], p = b->nd == 2 ? b->shape[1] : 1;
    if (n != b->shape[0] || m > DL_MOST_VECTOR || n > DL_MOST_VECTOR || p > DL_MOST_VECTOR || m * p > DL_MOST_VECTOR
        || m * p * n > DL_MOST_VECTOR) {
        return 2;
    }
    const Loop *loop = loop_of(type_num);
    if (loop == NULL) {
        return 2;
    }
    if (is_dot && !type->scalar) {
        npy_intp bytes = PyDataType_ELSIZE(type->descr), a_row = a->nd == 2 ? a->strides[0] : 0,
                 b_column = b->nd == 2 ? b->strides[1] : 0;
        if (n == 1 || !is_blas_operand(m, n, a_row, a->strides[a->nd - 1], bytes)
            || !is_blas_operand(n, p, b->strides[0], b_column, bytes)) {
            return 2;
        }
    }
    DlReg *dst = &run->regs[step->dsts[0]];
    npy_intp itemsize = PyDataType_ELSIZE(type->descr), shape[2];
    PyObject *array = NULL;
    if (!type->scalar) {
        int nd = 0;
        if (a->nd == 2) {
            shape[nd++] = m;
        }
        if (b->nd == 2) {
            shape[nd++] = p;
        }
        array = dl_pool_array(run, type->descr, nd, shape, NULL);
        if (array == NULL) {
            return -1;
        }
    }
    char *args[3] = {a->data, b->data, array ? PyArray_BYTES((PyArrayObject *)array) : dst->cell.bytes};
    npy_intp sizes[4] = {1, m, n, p};
    npy_intp strides[9] = {[3] = m == 1 ? 0 : a->strides[0],
                           [4] = n == 1 ? 0 : a->strides[a->nd - 1],
                           [5] = n == 1 ? 0 : b->strides[0],
                           [6] = p == 1 ? 0 : b->strides[1],
                           [7] = m == 1 ? 0 : p * itemsize,
                           [8] = p == 1 ? 0 : itemsize};
    DlStatus status = is_dot && type->scalar ? multiply_vectors(loop, type->descr, args, sizes, strides)
                                             : multiply(loop, type_num, args, sizes, strides);
    if (status == 2) {
        return 2;
    }
    if (status != 0) {
        Py_XDECREF(array);
        return status < 0 ? -1 : dl_decline(run, DL_REASON_CALL);
    }
    if (array != NULL) {
        dl_reg_take_fresh(dst, array);
    }
    else {
        dst->kind = DL_SCALAR;
        dst->object = NULL;
        dst->nd = 0;
        dst->descr = type->descr;
        dst->data = dst->cell.bytes;
    }
    return run->program->body == NULL ? dl_flags_check(run) : 0;
}
