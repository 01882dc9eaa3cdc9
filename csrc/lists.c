/* Lists: a program appends the objects of its values to lists of its own and to those that go in; no other step looks
 * into them.
 *
 * A list lies in a register of kind DL_OTHER; own_shape[0] of one that goes in says how long it was. A program that
 * declines frees its own, which nobody has seen, and cuts the others.
 */
#include <math.h>

#include "build.h"

/* One of the values; 0 or -1. */
static int
build_value(DlBuilder *builder, PyObject *value, DlOperand *operand, PyObject **constant)
{
    int symbolic = dl_build_is_reg(value) ? 1 : dl_scalar_is_symbolic(value);
    if (symbolic <= 0) {
        operand->kind = DL_FROM_CELL;
        *constant = Py_NewRef(value);
        return symbolic;
    }
    if (dl_build_input(builder, value, operand) < 0) {
        return -1;
    }
    if (operand->kind == DL_FROM_REG) {
        builder->shown[operand->index] = 1;
    }
    return 0;
}

int
dl_build_append(DlBuilder *builder, PyObject *object, DlAppendStep *step)
{
    step->list = dl_build_int(object, "list");
    if (step->list == INT32_MIN || dl_build_use(builder, step->list, object) < 0) {
        return -1;
    }
    PyObject *values = dl_build_tuple(object, "values");
    PyObject *packed = values ? PyObject_GetAttrString(object, "packed") : NULL;
    int n = values ? (int)PyTuple_GET_SIZE(values) : 0, status = packed ? 0 : -1;
    if (status == 0) {
        step->packed = packed == Py_None ? NULL : (PyTypeObject *)packed;
        step->values = dl_build_rows(n, sizeof *step->values);
        step->constants = dl_build_rows(n, sizeof *step->constants);
        status = step->values && step->constants ? 0 : -1;
        if (step->packed != NULL ? step->packed != &PyTuple_Type && step->packed != &PyList_Type : n != 1) {
            status = dl_build_refuse(builder, "nothing that can be appended", object);
        }
    }
    for (int i = 0; i < n && status == 0; i++) {
        step->n = i + 1;
        status = build_value(builder, PyTuple_GET_ITEM(values, i), &step->values[i], &step->constants[i]);
    }
    Py_XDECREF(values);
    Py_XDECREF(packed);
    return status;
}

void
dl_list_note(DlReg *reg)
{
    if (reg->object != NULL && PyList_CheckExact(reg->object)) {
        reg->own_shape[0] = PyList_GET_SIZE(reg->object);
    }
}

void
dl_list_undo(DlRun *run)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (int i = 0; i < run->program->n_inputs; i++) {
        PyObject *list = run->inputs[i];
        if (PyList_CheckExact(list) && PyList_SetSlice(list, run->regs[i].own_shape[0], NPY_MAX_INTP, NULL) < 0) {
            PyErr_WriteUnraisable(list);
        }
    }
    PyErr_Restore(type, value, traceback);
}

DlStatus
dl_list_new(DlRun *run, int32_t reg)
{
    PyObject *list = PyList_New(0);
    if (list == NULL) {
        return dl_failed(run, DL_REASON_MEMORY);
    }
    dl_reg_take(&run->regs[reg], list);
    return 0;
}

/* A value: a new reference, NULL with an error set or, where the run declines, without. */
static PyObject *
get_value(DlRun *run, const DlAppendStep *step, int place)
{
    const DlScalars *table = &run->program->numbers;
    const DlOperand *value = &step->values[place];
    if (value->kind == DL_FROM_CELL) {
        return Py_NewRef(step->constants[place]);
    }
    if (value->kind == DL_FROM_REG) {
        return Py_XNewRef(dl_reg_object(&run->regs[value->index]));
    }
    if (table->kinds[value->index] == DL_FLOAT && isnan(run->numbers[value->index].f)) {
        return NULL; /* NB: of two NaNs C and Python need not keep the same one */
    }
    return dl_scalar_object(table, value->index, run->numbers);
}

/* What is to be appended, as get_value. */
static PyObject *
get_item(DlRun *run, const DlAppendStep *step)
{
    if (step->packed == NULL) {
        return get_value(run, step, 0);
    }
    int is_list = step->packed == &PyList_Type;
    PyObject *item = is_list ? PyList_New(step->n) : PyTuple_New(step->n);
    for (int i = 0; i < step->n && item != NULL; i++) {
        PyObject *value = get_value(run, step, i);
        if (value == NULL) {
            Py_CLEAR(item);
        }
        else if (is_list) {
            PyList_SET_ITEM(item, i, value);
        }
        else {
            PyTuple_SET_ITEM(item, i, value);
        }
    }
    return item;
}

DlStatus
dl_list_append(DlRun *run, const DlAppendStep *step)
{
    PyObject *list = run->regs[step->list].object;
    if (list == NULL || !PyList_CheckExact(list)) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    PyObject *item = get_item(run, step);
    if (item == NULL) {
        return PyErr_Occurred() ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_NUMBER);
    }
    int status = PyList_Append(list, item);
    Py_DECREF(item);
    return status < 0 ? dl_failed(run, DL_REASON_MEMORY) : 0;
}
