/* Lists: a program makes its own and appends the objects of its values; no other step looks into them.
 *
 * A list lies in a register of kind DL_OTHER. A program that declines frees it: nobody has seen it.
 */
#include <math.h>

#include "build.h"

int
dl_build_append(DlBuilder *builder, PyObject *object, DlAppendStep *step)
{
    step->list = dl_build_int(object, "list");
    if (step->list == INT32_MIN || dl_build_use(builder, step->list, object) < 0) {
        return -1;
    }
    PyObject *value = PyObject_GetAttrString(object, "value");
    if (value == NULL) {
        return -1;
    }
    int symbolic = dl_build_is_reg(value) ? 1 : dl_scalar_is_symbolic(value), status = symbolic;
    if (symbolic > 0) {
        status = dl_build_input(builder, value, &step->value);
    }
    else if (symbolic == 0) {
        step->value.kind = DL_FROM_CELL;
        step->constant = Py_NewRef(value);
    }
    if (status == 0 && step->value.kind == DL_FROM_REG) {
        builder->shown[step->value.index] = 1;
    }
    Py_DECREF(value);
    return status;
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

/* What is to be appended: a new reference, NULL with an error set or, where the run declines, without. */
static PyObject *
get_value(DlRun *run, const DlAppendStep *step)
{
    const DlScalars *table = &run->program->numbers;
    int32_t index = step->value.index;
    if (step->value.kind == DL_FROM_CELL) {
        return Py_NewRef(step->constant);
    }
    if (step->value.kind == DL_FROM_REG) {
        return Py_XNewRef(dl_reg_object(&run->regs[index]));
    }
    if (table->kinds[index] == DL_FLOAT && isnan(run->numbers[index].f)) {
        return NULL; /* NB: of two NaNs C and Python need not keep the same one */
    }
    return dl_scalar_object(table, index, run->numbers);
}

DlStatus
dl_list_append(DlRun *run, const DlAppendStep *step)
{
    PyObject *list = run->regs[step->list].object;
    if (list == NULL || !PyList_CheckExact(list)) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    PyObject *value = get_value(run, step);
    if (value == NULL) {
        return PyErr_Occurred() ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_NUMBER);
    }
    int status = PyList_Append(list, value);
    Py_DECREF(value);
    return status < 0 ? dl_failed(run, DL_REASON_MEMORY) : 0;
}
