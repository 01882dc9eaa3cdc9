/* Calls: NumPy's own functions on real objects, with floating-point errors as exceptions (errstate.c). */
#include "arrays/gather.h"

#include "frame/interrupts.h"
#include "arrays/linalg.h"
#include "builder/slot.h"

enum { SMALL_ARGS = 12 };

/* The object that one argument of a template stands for: a new reference. */
static PyObject *
resolve(DlRun *run, PyObject *item)
{
    const DlSlot *slot = dl_slot_cast(item);
    if (slot == NULL) {
        return Py_NewRef(item);
    }
    if (slot->kind == DL_SLOT_REG) {
        return Py_XNewRef(dl_reg_object(&run->regs[slot->index]));
    }
    if (slot->kind == DL_SLOT_NUMBER) {
        return dl_scalar_object(&run->program->numbers, slot->index, run->numbers);
    }
    Py_ssize_t n = PyTuple_GET_SIZE(slot->items);
    PyObject *parts = slot->kind == DL_SLOT_LIST ? PyList_New(n) : PyTuple_New(n);
    for (Py_ssize_t i = 0; parts != NULL && i < n; i++) {
        PyObject *part = resolve(run, PyTuple_GET_ITEM(slot->items, i));
        if (part == NULL) {
            Py_CLEAR(parts);
        }
        else if (slot->kind == DL_SLOT_LIST) {
            PyList_SET_ITEM(parts, i, part);
        }
        else {
            PyTuple_SET_ITEM(parts, i, part);
        }
    }
    if (slot->kind == DL_SLOT_SLICE && parts != NULL) {
        PyObject *slice =
            PySlice_New(PyTuple_GET_ITEM(parts, 0), PyTuple_GET_ITEM(parts, 1), PyTuple_GET_ITEM(parts, 2));
        Py_SETREF(parts, slice);
    }
    return parts;
}

/* Put a call's result (borrowed) into a register if it is of that type. */
static DlStatus
take_result(DlRun *run, const DlType *type, DlReg *reg, PyObject *object)
{
    if (type->scalar) {
        if (!Py_IS_TYPE(object, type->descr->typeobj)) {
            return dl_decline(run, DL_REASON_RESULT);
        }
        dl_reg_take(reg, Py_NewRef(object));
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    npy_intp shape[DL_MAX_DIMS];
    if (!PyArray_CheckExact(object) || PyArray_NDIM(array) != type->shape.n || dl_dims_get(run, &type->shape, shape)
        || PyArray_TYPE(array) != type->descr->type_num) {
        return dl_decline(run, DL_REASON_RESULT);
    }
    if (type->shape.n && memcmp(shape, PyArray_DIMS(array), (size_t)type->shape.n * sizeof *shape) != 0) {
        return dl_decline(run, DL_REASON_RESULT);
    }
    dl_reg_take(reg, Py_NewRef(object));
    return reg->kind == DL_ARRAY ? 0 : dl_decline(run, DL_REASON_RESULT);
}

/* The i-th result, borrowed: the only one may be a tuple's, too. */
static PyObject *
result_item(const DlCallStep *step, PyObject *result, int i)
{
    if (PyTuple_Check(result)) {
        return PyTuple_GET_ITEM(result, i);
    }
    return step->n_dsts == 1 ? result : PyList_GET_ITEM(result, i);
}

/* Set the size that the call yields. */
static DlStatus
yield_size(DlRun *run, const DlCallStep *step, PyObject *result)
{
    PyObject *item = result_item(step, result, step->size_of);
    if (!PyArray_Check(item) || PyArray_NDIM((PyArrayObject *)item) <= step->axis) {
        return dl_decline(run, DL_REASON_RESULT);
    }
    DlNumber number = {.i = PyArray_DIM((PyArrayObject *)item, step->axis)};
    return dl_yields_set(run, &step->yields, &number);
}

/* Put the value of a Python number into a register, as a NumPy scalar. */
static DlStatus
take_number(DlRun *run, const DlType *type, DlReg *reg, PyObject *object)
{
    DlNumber number;
    int is_float = PyFloat_CheckExact(object), overflow = 0;
    if (is_float && type->descr->type_num == NPY_DOUBLE) {
        number.f = PyFloat_AS_DOUBLE(object);
    }
    else if (PyLong_CheckExact(object) && type->descr->type_num == NPY_INT64) {
        number.i = PyLong_AsLongLongAndOverflow(object, &overflow);
    }
    else {
        return dl_decline(run, DL_REASON_RESULT);
    }
    if (overflow) {
        return dl_decline(run, DL_REASON_NUMBER);
    }
    dl_reg_take_number(reg, number, is_float ? DL_FLOAT : DL_INT);
    return 0;
}

/* Hand the result, or its items, to the registers. */
static DlStatus
take_results(DlRun *run, const DlCallStep *step, PyObject *result)
{
    if (step->n_dsts == 0) {
        return 0;
    }
    if (step->number) {
        return take_number(run, &step->types[0], &run->regs[step->dsts[0]], result);
    }
    int several = PyTuple_Check(result) || (step->n_dsts > 1 && PyList_Check(result));
    if (several ? Py_SIZE(result) != step->n_dsts : step->n_dsts > 1) {
        return dl_decline(run, DL_REASON_RESULT);
    }
    DlStatus status = step->yields.n ? yield_size(run, step, result) : 0;
    for (int i = 0; i < step->n_dsts && status == 0; i++) {
        status = take_result(run, &step->types[i], &run->regs[step->dsts[i]], result_item(step, result, i));
    }
    return status;
}

DlStatus
dl_call_run(DlRun *run, const DlCallStep *step)
{
    if (step->product != DL_PRODUCT_NONE) {
        DlStatus done = step->product == DL_PRODUCT_LINALG ? dl_linalg_run(run, step) : dl_product_run(run, step);
        if (done != 2) {
            return done;
        }
    }
    if (step->fancy.n_places > 0) {
        DlStatus done = dl_fancy_run(run, step);
        if (done != 2) {
            return done;
        }
    }
    PyObject *small[SMALL_ARGS + 1], **args = small + 1; /* one place in front for vectorcall */
    Py_ssize_t n = PyTuple_GET_SIZE(step->template), made = 0;
    Py_ssize_t n_names = step->names ? PyTuple_GET_SIZE(step->names) : 0;
    if (n > SMALL_ARGS) {
        PyObject **more = PyMem_New(PyObject *, n + 1);
        if (more == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        args = more + 1;
    }
    if (run->pool != NULL) {
        dl_pool_drop_big(run->pool);
    }
    DlWatch watch;
    DlStatus status = dl_world_open(run, &watch, 0);
    status = status ? status : dl_errstate_enter(run);
    for (; status == 0 && made < n; made++) {
        args[made] = resolve(run, PyTuple_GET_ITEM(step->template, made));
        if (args[made] == NULL) {
            status = dl_failed(run, DL_REASON_CALL);
            break;
        }
    }
    if (status == 0) {
        DlDeferral deferral; /* an interrupt that raised in NumPy's Python code would be taken for an error of the call's */
        dl_interrupts_defer(&deferral, NULL);
        PyObject *token = step->invalid_alone ? dl_errstate_invalid_alone() : NULL, *result = NULL;
        if (token != NULL || !step->invalid_alone) {
            result = PyObject_Vectorcall(step->function, args, (size_t)(n - n_names) | PY_VECTORCALL_ARGUMENTS_OFFSET,
                                         step->names);
        }
        if (token != NULL) {
            dl_errstate_back(token);
        }
        result = dl_interrupts_resume(&deferral, result);
        status = dl_call_done(run, result);
        if (status == 0) {
            status = take_results(run, step, result);
        }
        Py_XDECREF(result);
    }
    while (made > 0) {
        Py_DECREF(args[--made]);
    }
    if (args != small + 1) {
        PyMem_Free(args - 1);
    }
    return dl_world_close(run, &watch, status);
}
