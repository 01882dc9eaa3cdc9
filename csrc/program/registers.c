/* Registers and numbers of a run: what is put into them and read out of them, and how a run declines for an error. */
#include "program.h"

#include "memory/arrays.h"

#include <math.h>

/* ---- registers ---- */

void
dl_reg_take(DlReg *reg, PyObject *object)
{
    if (PyArray_CheckExact(object)) {
        dl_reg_take_array(reg, (PyArrayObject *)object);
        return;
    }
    reg->object = object;
    reg->fresh = 0;
    reg->owner = NULL;
    reg->kind = DL_OTHER;
    if (PyArray_IsScalar(object, Generic)) {
        PyArray_Descr *descr = PyArray_DescrFromTypeObject((PyObject *)Py_TYPE(object));
        if (descr == NULL) {
            PyErr_Clear();
            return;
        }
        if (dl_numpy_plain(descr) && descr->typeobj == Py_TYPE(object)) {
            reg->kind = DL_SCALAR;
            reg->descr = descr; /* NB: NumPy's builtin dtypes live for ever */
            reg->nd = 0;
            reg->data = NULL;
        }
        Py_DECREF(descr);
    }
}

void
dl_reg_take_cell(DlReg *reg, PyArray_Descr *descr, const void *value)
{
    reg->kind = DL_SCALAR;
    reg->nd = reg->fresh = reg->writeable = 0;
    reg->object = reg->owner = NULL;
    reg->descr = descr;
    memcpy(reg->cell.bytes, value, (size_t)PyDataType_ELSIZE(descr));
    reg->data = reg->cell.bytes;
}

void
dl_reg_take_number(DlReg *reg, DlNumber number, int kind)
{
    PyArray_Descr *descr = PyArray_DescrFromType(kind == DL_FLOAT ? NPY_DOUBLE : kind == DL_INT ? NPY_INT64 : NPY_BOOL);
    Py_DECREF(descr); /* NB: NumPy's builtin dtypes live for ever */
    dl_reg_take_cell(reg, descr, &number);
}

PyObject *
dl_reg_make_object(DlReg *reg)
{
    if (reg->kind == DL_SCALAR) {
        reg->object = dl_scalar_make(reg->descr, reg->data);
        return reg->object;
    }
    if (reg->kind != DL_ARRAY) {
        PyErr_SetString(PyExc_SystemError, "a program reads a register that holds nothing");
        return NULL;
    }
    Py_INCREF(reg->descr);
    PyObject *view = PyArray_NewFromDescr(&PyArray_Type, reg->descr, reg->nd, reg->shape, reg->strides, reg->data,
                                          reg->writeable ? NPY_ARRAY_WRITEABLE : 0, NULL);
    if (view == NULL || PyArray_SetBaseObject((PyArrayObject *)view, Py_NewRef(reg->owner)) < 0) {
        Py_XDECREF(view);
        return NULL;
    }
    reg->object = view;
    return view;
}

void
dl_reg_copy(DlReg *dst, const DlReg *src)
{
    dst->kind = src->kind;
    dst->nd = src->nd;
    dst->fresh = src->fresh;
    dst->bordered = src->bordered;
    dst->writeable = src->writeable;
    dst->owner = src->owner;
    dst->descr = src->descr;
    dst->data = src->data;
    if (src->kind == DL_ARRAY) {
        dst->shape = dst->own_shape;
        dst->strides = dst->own_strides;
        for (int axis = 0; axis < src->nd; axis++) {
            dst->own_shape[axis] = src->shape[axis];
            dst->own_strides[axis] = src->strides[axis];
        }
    }
    else if (src->kind == DL_SCALAR && src->data != NULL) {
        memcpy(dst->cell.bytes, src->data, DL_CELL);
        dst->data = dst->cell.bytes;
    }
}

/* ---- numbers ---- */

int
dl_dims_get(const DlRun *run, const DlDims *dims, npy_intp *shape)
{
    for (int i = 0; i < dims->n; i++) {
        shape[i] = dl_dims_at(run, dims, i);
        if (shape[i] < 0) {
            return 1;
        }
    }
    return 0;
}

/* Convert through a Python number and the dtype's own setitem: for dtypes that C has no type for. */
static int
fill_slowly(const DlScalars *table, const DlNumber *numbers, int32_t value, PyArray_Descr *descr, char *cell)
{
    unsigned before = dl_fp_get();
    PyObject *number = dl_scalar_object(table, value, numbers);
    int status = number ? PyArray_Pack(descr, cell, number) : -1;
    Py_XDECREF(number);
    dl_fp_set(before);
    if (status < 0) {
        PyErr_Clear();
    }
    return status < 0;
}

int
dl_number_fill(const DlScalars *table, const DlNumber *numbers, int32_t value, PyArray_Descr *descr, char *cell)
{
    DlNumber number = numbers[value];
    int is_float = table->kinds[value] == DL_FLOAT;
    int64_t whole = number.i;
    if (is_float && (PyTypeNum_ISINTEGER(descr->type_num) || PyTypeNum_ISBOOL(descr->type_num))) {
        return 1; /* NumPy makes no integer of a Python float without being told; then it truncates, warns or raises */
    }
    double real = is_float ? number.f : (double)whole;
    switch (descr->type_num) {
#define INTEGER(type_num, type)                                                                                        \
    case type_num: {                                                                                                   \
        type narrow = (type)whole;                                                                                     \
        memcpy(cell, &narrow, sizeof narrow);                                                                          \
        return (int64_t)narrow != whole || ((type)-1 > 0 && whole < 0);                                                \
    }
        INTEGER(NPY_BYTE, npy_byte)
        INTEGER(NPY_UBYTE, npy_ubyte)
        INTEGER(NPY_SHORT, npy_short)
        INTEGER(NPY_USHORT, npy_ushort)
        INTEGER(NPY_INT, npy_int)
        INTEGER(NPY_UINT, npy_uint)
        INTEGER(NPY_LONG, npy_long)
        INTEGER(NPY_ULONG, npy_ulong)
        INTEGER(NPY_LONGLONG, npy_longlong)
        INTEGER(NPY_ULONGLONG, npy_ulonglong)
#undef INTEGER
    case NPY_BOOL:
        *(npy_bool *)cell = whole != 0;
        return 0;
    case NPY_FLOAT:
    case NPY_CFLOAT: {
        unsigned before = dl_fp_get();
        volatile npy_float narrow = (npy_float)real; /* NB: here, not behind what is to forget its flag */
        npy_float pair[2] = {narrow, 0};
        memcpy(cell, pair, descr->type_num == NPY_FLOAT ? sizeof(npy_float) : sizeof pair);
        dl_fp_set(before); /* of a number that vanishes NumPy reports nothing */
        return isinf(pair[0]) && !isinf(real); /* NumPy reports an overflow */
    }
    case NPY_DOUBLE:
    case NPY_CDOUBLE: {
        double pair[2] = {real, 0};
        memcpy(cell, pair, descr->type_num == NPY_DOUBLE ? sizeof(double) : sizeof pair);
        return 0;
    }
    default:
        return fill_slowly(table, numbers, value, descr, cell);
    }
}

DlStatus
dl_yields_set(DlRun *run, const DlYields *yields, const DlNumber *numbers)
{
    for (int j = 0; j < yields->n; j++) {
        run->numbers[yields->values[j]] = numbers[j];
    }
    if (yields->last > yields->first
        && dl_scalar_eval(&run->program->numbers, yields->first, yields->last, run->numbers)) {
        return dl_decline(run, DL_REASON_NUMBER);
    }
    return 0;
}

/* ---- errors ---- */

DlStatus
dl_failed(DlRun *run, DlDecline reason)
{
    if (!PyErr_ExceptionMatches(PyExc_Exception)) {
        return -1; /* KeyboardInterrupt and the like */
    }
    DlProgram *program = run->program;
    if (reason == DL_REASON_COMPILE && PyErr_ExceptionMatches(PyExc_MemoryError)) {
        reason = DL_REASON_MEMORY; /* the next run may have more */
    }
    if (reason == DL_REASON_COMPILE) {
        PyObject *type, *value, *traceback;
        PyErr_Fetch(&type, &value, &traceback);
        PyErr_NormalizeException(&type, &value, &traceback);
        program->never = reason;
        Py_XSETREF(program->failure, PyObject_Repr(value));
        Py_XDECREF(type);
        Py_XDECREF(value);
        Py_XDECREF(traceback);
    }
    PyErr_Clear();
    return dl_decline(run, reason);
}
