/* Build the Call steps of a program, and the Slots that stand for what is put together at each call. */
#include "build.h"
#include "slot.h"

#include "arrays/gather.h"
#include "arrays/linalg.h"

/* ---- arguments ---- */

/* An argument of a call: itself, or a Slot where registers, numbers or lists are in it. A new reference. */
static PyObject *
build_argument(DlBuilder *builder, PyObject *object)
{
    if (dl_build_is_reg(object)) {
        int32_t reg = dl_build_int(object, "index");
        return reg == INT32_MIN || dl_build_use(builder, reg, object) < 0 ? NULL : dl_slot_new(DL_SLOT_REG, reg, NULL);
    }
    int symbolic = dl_scalar_is_symbolic(object);
    if (symbolic != 0) {
        int32_t value = symbolic < 0 ? -1 : dl_scalar_add(&builder->program->numbers, object);
        return value < 0 ? NULL : dl_slot_new(DL_SLOT_NUMBER, value, NULL);
    }
    int is_list = PyList_CheckExact(object), is_slice = PySlice_Check(object);
    if (!is_list && !is_slice && !PyTuple_CheckExact(object)) {
        return Py_NewRef(object);
    }
    if (Py_EnterRecursiveCall(" while building the arguments of a call") != 0) {
        return NULL;
    }
    PyObject *parts = is_slice ? PyTuple_Pack(3, ((PySliceObject *)object)->start, ((PySliceObject *)object)->stop,
                                              ((PySliceObject *)object)->step)
                               : PySequence_Tuple(object);
    PyObject *items = parts ? PyTuple_New(PyTuple_GET_SIZE(parts)) : NULL;
    int constant = !is_list; /* NB: a list is made anew for every call, which may keep or change it */
    for (Py_ssize_t i = 0; items != NULL && i < PyTuple_GET_SIZE(parts); i++) {
        PyObject *item = build_argument(builder, PyTuple_GET_ITEM(parts, i));
        if (item == NULL) {
            Py_CLEAR(items);
            break;
        }
        constant &= dl_slot_cast(item) == NULL;
        PyTuple_SET_ITEM(items, i, item);
    }
    Py_XDECREF(parts);
    Py_LeaveRecursiveCall();
    if (items == NULL || !constant) {
        return items ? dl_slot_new(is_list ? DL_SLOT_LIST : is_slice ? DL_SLOT_SLICE : DL_SLOT_TUPLE, 0, items) : NULL;
    }
    Py_DECREF(items);
    return Py_NewRef(object);
}

/* args and kwargs of a call as one template and the keyword names; 0 or -1. */
static int
build_arguments(DlBuilder *builder, PyObject *object, DlCallStep *step)
{
    PyObject *args = dl_build_tuple(object, "args");
    PyObject *kwargs = args ? dl_build_tuple(object, "kwargs") : NULL;
    int status = -1;
    if (kwargs == NULL) {
        goto done;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(args), n_names = PyTuple_GET_SIZE(kwargs);
    step->template = dl_program_own(builder->program, PyTuple_New(n + n_names));
    step->names = n_names ? dl_program_own(builder->program, PyTuple_New(n_names)) : NULL;
    if (step->template == NULL || (n_names && step->names == NULL)) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < n + n_names; i++) {
        PyObject *value, *name;
        if (i < n) {
            value = PyTuple_GET_ITEM(args, i);
        }
        else if (!PyArg_ParseTuple(PyTuple_GET_ITEM(kwargs, i - n), "UO", &name, &value)) {
            goto done;
        }
        else {
            PyTuple_SET_ITEM(step->names, i - n, Py_NewRef(name));
        }
        PyObject *argument = build_argument(builder, value);
        if (argument == NULL) {
            goto done;
        }
        PyTuple_SET_ITEM(step->template, i, argument);
    }
    status = 0;
done:
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return status;
}

static int
build_type(DlBuilder *builder, PyObject *object, DlType *type)
{
    type->descr = dl_build_descr(builder, object, "dtype");
    type->scalar = type->descr ? dl_build_bool(object, "scalar") : -1;
    return type->scalar < 0 ? -1 : dl_build_dims(builder, object, "shape", &type->shape);
}

/* The size that a call yields, if it does; 0 or -1. */
static int
build_size(DlBuilder *builder, PyObject *object, DlCallStep *step)
{
    if (dl_build_yields(builder, object, &step->yields, 1) < 0) {
        return -1;
    }
    if (step->yields.n == 0) {
        return 0;
    }
    PyObject *place = dl_build_tuple(object, "place");
    if (place == NULL || !PyArg_ParseTuple(place, "ii", &step->size_of, &step->axis)) {
        Py_XDECREF(place);
        return -1;
    }
    Py_DECREF(place);
    int fits = step->size_of >= 0 && step->size_of < step->n_dsts && step->axis >= 0;
    fits = fits && step->axis < step->types[step->size_of].shape.n
           && builder->program->numbers.kinds[step->yields.values[0]] == DL_INT;
    return fits ? 0 : dl_build_refuse(builder, "no such size of a result", object);
}

int
dl_build_call(DlBuilder *builder, PyObject *object, DlCallStep *step)
{
    step->function = dl_program_own(builder->program, PyObject_GetAttrString(object, "function"));
    step->number = step->function ? dl_build_bool(object, "number") : -1;
    step->invalid_alone = step->number < 0 ? -1 : dl_build_bool(object, "invalid_alone");
    if (step->invalid_alone < 0 || build_arguments(builder, object, step) < 0) {
        return -1;
    }
    PyObject *dsts = dl_build_tuple(object, "dsts");
    PyObject *kinds = dsts ? dl_build_tuple(object, "types") : NULL;
    int status = -1;
    if (kinds == NULL) {
        goto done;
    }
    int n = (int)PyTuple_GET_SIZE(dsts);
    if (PyTuple_GET_SIZE(kinds) != n) {
        dl_build_refuse(builder, "as many types as destinations are needed", object);
        goto done;
    }
    step->dsts = dl_build_rows(builder, n, sizeof *step->dsts);
    step->types = dl_build_rows(builder, n, sizeof *step->types);
    if (step->dsts == NULL || step->types == NULL) {
        goto done;
    }
    for (int i = 0; i < n; i++) {
        long reg = PyLong_AsLong(PyTuple_GET_ITEM(dsts, i));
        step->n_dsts = i + 1;
        if (reg < 0 || reg > INT32_MAX || build_type(builder, PyTuple_GET_ITEM(kinds, i), &step->types[i]) < 0) {
            if (!PyErr_Occurred()) {
                dl_build_refuse(builder, "no such register", object);
            }
            goto done;
        }
        step->dsts[i] = (int32_t)reg;
        if (dl_build_set(builder, (int32_t)reg, object) < 0) {
            goto done;
        }
    }
    if (step->number && n != 1) {
        dl_build_refuse(builder, "a number has one destination", object);
        goto done;
    }
    status = build_size(builder, object, step) < 0 || dl_product_build(step) < 0 || dl_linalg_build(step) < 0
                 ? -1
                 : dl_fancy_build(step);
done:
    Py_XDECREF(dsts);
    Py_XDECREF(kinds);
    return status;
}

