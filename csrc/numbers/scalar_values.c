/* The numbers of a call in a table of scalar.c: those that its inputs bring, and a number as a Python object. */
#include "scalar.h"

int
dl_scalar_load(const DlScalars *table, const DlScalarLoad *load, PyObject *input, DlNumber *values)
{
    DlNumber *out = &values[load->value];
    if (load->axis >= 0) {
        if (!PyArray_Check(input) || PyArray_NDIM((PyArrayObject *)input) <= load->axis) {
            return 1;
        }
        out->i = PyArray_DIM((PyArrayObject *)input, load->axis);
        return 0;
    }
    switch ((DlKind)table->kinds[load->value]) {
    case DL_BOOL:
        out->i = input == Py_True;
        return !PyBool_Check(input);
    case DL_INT:
        if (!PyLong_CheckExact(input)) {
            if (!PyArray_IsScalar(input, Long)) { /* int64, of an exact type that the guards know */
                return 1;
            }
            out->i = PyArrayScalar_VAL(input, Long);
            return 0;
        }
        int overflow;
        out->i = PyLong_AsLongLongAndOverflow(input, &overflow);
        return overflow != 0;
    case DL_FLOAT:
        if (!PyFloat_CheckExact(input)) {
            return 1;
        }
        out->f = PyFloat_AS_DOUBLE(input);
        return 0;
    }
    Py_UNREACHABLE();
}

int
dl_scalar_load_all(const DlScalars *table, PyObject *const *inputs, DlNumber *values)
{
    if (table->n_values) {
        memcpy(values, table->initial, (size_t)table->n_values * sizeof *values);
    }
    for (int32_t i = 0; i < table->n_loads; i++) {
        const DlScalarLoad *load = &table->loads[i];
        if (load->input < 0) { /* which a step yields */
            continue;
        }
        PyObject *input = inputs[load->input];
        if (table->kinds[load->value] == DL_FLOAT && PyFloat_CheckExact(input)) {
            values[load->value].f = PyFloat_AS_DOUBLE(input);
        }
        else if (dl_scalar_load(table, load, input, values)) {
            return 1;
        }
    }
    return table->n_instrs && dl_scalar_eval(table, 0, table->n_instrs, values);
}

PyObject *
dl_scalar_object(const DlScalars *table, int32_t value, const DlNumber *values)
{
    switch ((DlKind)table->kinds[value]) {
    case DL_BOOL:
        return PyBool_FromLong(values[value].i != 0);
    case DL_INT:
        return PyLong_FromLongLong(values[value].i);
    case DL_FLOAT:
        return PyFloat_FromDouble(values[value].f);
    }
    Py_UNREACHABLE();
}
