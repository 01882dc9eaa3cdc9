/* Reading the Python objects of a schedule: attributes, registers, sizes, operands (see build.h). */
#include "build.h"

static const char *const type_names[] = {
#define STEP(id, name) name,
#include "abi.def"
    "Reg"};
enum { N_TYPES = Py_ARRAY_LENGTH(type_names) };
static PyObject *types[N_TYPES]; /* of dynamo_lite.schedule.steps, once needed; all but the last by DlStepKind */

/* ---- reading Python objects ---- */

/* Set ValueError about the step being built; returns -1. */
int
dl_build_refuse(const DlBuilder *builder, const char *why, PyObject *what)
{
    PyErr_Format(PyExc_ValueError, "step %d: %s: %R", builder->step, why, what);
    return -1;
}

int
dl_build_learn(void)
{
    if (types[N_TYPES - 1] != NULL) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("dynamo_lite.schedule.steps");
    for (int i = 0; module != NULL && i < N_TYPES; i++) {
        types[i] = PyObject_GetAttrString(module, type_names[i]);
        if (types[i] == NULL) {
            Py_DECREF(module);
            return -1;
        }
    }
    Py_XDECREF(module);
    return module ? 0 : -1;
}

int
dl_build_is_reg(PyObject *object)
{
    return Py_IS_TYPE(object, (PyTypeObject *)types[N_TYPES - 1]);
}

/* Attribute `name` as a tuple: a new reference. */
PyObject *
dl_build_tuple(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    PyObject *tuple = value ? PySequence_Tuple(value) : NULL;
    Py_XDECREF(value);
    return tuple;
}

/* Attribute `name` as an int that fits 32 bits, or INT32_MIN with an error set. */
int32_t
dl_build_int(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    long number = value ? PyLong_AsLong(value) : -1;
    Py_XDECREF(value);
    if (number == -1 && PyErr_Occurred()) {
        return INT32_MIN;
    }
    if (number < -1 || number > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "%R: %s is out of range", object, name);
        return INT32_MIN;
    }
    return (int32_t)number;
}

/* Attribute `name` as a truth value, or -1. */
int
dl_build_bool(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    int truth = value ? PyObject_IsTrue(value) : -1;
    Py_XDECREF(value);
    return truth;
}

/* Attribute `name` compared with a text: 1, 0 or -1. */
int
dl_build_is_text(PyObject *object, const char *name, const char *text)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    int same = value == NULL ? -1 : PyUnicode_Check(value) && PyUnicode_CompareWithASCIIString(value, text) == 0;
    Py_XDECREF(value);
    return same;
}

PyArray_Descr *
dl_build_plain(const DlBuilder *builder, PyObject *object)
{
    PyArray_Descr *descr;
    if (!PyArray_DescrConverter(object, &descr)) {
        return NULL;
    }
    if (!dl_numpy_plain(descr)) {
        PyErr_Format(PyExc_ValueError, "dtype %R is not supported natively", descr);
        Py_CLEAR(descr);
    }
    return (PyArray_Descr *)dl_program_own(builder->program, (PyObject *)descr);
}

PyArray_Descr *
dl_build_descr(const DlBuilder *builder, PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    PyArray_Descr *descr = value ? dl_build_plain(builder, value) : NULL;
    Py_XDECREF(value);
    return descr;
}

void *
dl_build_rows(const DlBuilder *builder, Py_ssize_t n, size_t size)
{
    return dl_program_take(builder->program, (size_t)n + 1, size);
}

/* ---- registers and liveness ---- */

/* Note that the current step needs a register; 0 or -1. */
int
dl_build_use(DlBuilder *builder, int32_t reg, PyObject *what)
{
    if (reg < 0 || reg >= builder->program->n_registers || !builder->is_set[reg]) {
        return dl_build_refuse(builder, "reads a register that is not set", what);
    }
    for (int each = reg; each >= 0; each = builder->parent[each]) {
        builder->last[each] = builder->step;
    }
    return 0;
}

/* Note that the current step sets a register; 0 or -1. */
int
dl_build_set(DlBuilder *builder, int32_t reg, PyObject *what)
{
    if (reg < 0 || reg >= builder->program->n_registers) {
        return dl_build_refuse(builder, "no such register", what);
    }
    if (builder->is_set[reg]) {
        return dl_build_refuse(builder, "sets a register again", what);
    }
    builder->is_set[reg] = 1;
    builder->last[reg] = builder->step;
    return 0;
}

/* Sizes; 0 or -1. */
int
dl_build_dims(DlBuilder *builder, PyObject *object, const char *name, DlDims *dims)
{
    PyObject *tuple = dl_build_tuple(object, name);
    int status = -1;
    if (tuple == NULL) {
        return -1;
    }
    int n = (int)PyTuple_GET_SIZE(tuple);
    if (n > DL_MAX_DIMS) {
        dl_build_refuse(builder, "too many dimensions", object);
        goto done;
    }
    dims->values = dl_build_rows(builder, n, sizeof *dims->values);
    if (dims->values == NULL) {
        goto done;
    }
    for (dims->n = 0; dims->n < n; dims->n++) {
        int32_t value = dl_scalar_add(&builder->program->numbers, PyTuple_GET_ITEM(tuple, dims->n));
        if (value < 0) {
            goto done;
        }
        if (builder->program->numbers.kinds[value] == DL_FLOAT) {
            dl_build_refuse(builder, "a size is a float", object);
            goto done;
        }
        dims->values[dims->n] = value;
    }
    status = 0;
done:
    Py_DECREF(tuple);
    return status;
}

/* Convert a constant to descr's type as an assignment would; a constant that does not fit makes the program decline. */
static int
constant_cell(DlBuilder *builder, PyObject *object, PyArray_Descr *descr, char *cell)
{
    DlRun scratch = {.program = builder->program};
    if (dl_errstate_enter(&scratch) < 0) {
        return -1;
    }
    int status = PyArray_Pack(descr, cell, object);
    dl_errstate_leave(&scratch);
    if (status < 0) {
        if (!PyErr_ExceptionMatches(PyExc_Exception)) {
            return -1;
        }
        PyErr_Clear();
        builder->program->never = DL_REASON_CONVERT;
    }
    return 0;
}

/* An operand of that dtype; 0 or -1. */
int
dl_build_operand(DlBuilder *builder, PyObject *object, PyArray_Descr *descr, DlOperand *operand)
{
    if (dl_build_is_reg(object)) {
        operand->kind = DL_FROM_REG;
        operand->index = dl_build_int(object, "index");
        return operand->index == INT32_MIN ? -1 : dl_build_use(builder, operand->index, object);
    }
    int symbolic = dl_scalar_is_symbolic(object);
    if (symbolic > 0) {
        operand->kind = DL_FROM_NUMBER;
        operand->index = dl_scalar_add(&builder->program->numbers, object);
        return operand->index < 0 ? -1 : 0;
    }
    operand->kind = DL_FROM_CELL;
    return symbolic < 0 ? -1 : constant_cell(builder, object, descr, operand->cell);
}

int *
dl_build_numbers(const DlBuilder *builder, PyObject *object, const char *name, int limit, int *n)
{
    PyObject *tuple = dl_build_tuple(object, name);
    int *numbers = tuple ? dl_build_rows(builder, PyTuple_GET_SIZE(tuple), sizeof *numbers) : NULL;
    for (Py_ssize_t i = 0; numbers != NULL && i < PyTuple_GET_SIZE(tuple); i++) {
        long number = PyLong_AsLong(PyTuple_GET_ITEM(tuple, i));
        if (number < 0 || number >= limit) {
            if (!PyErr_Occurred()) {
                dl_build_refuse(builder, "no such value or register", object);
            }
            numbers = NULL;
            break;
        }
        numbers[i] = (int)number;
        *n = (int)i + 1;
    }
    Py_XDECREF(tuple);
    return numbers;
}

int
dl_build_step_kind(PyObject *object)
{
    int kind = 0;
    while (kind < N_TYPES - 1 && !Py_IS_TYPE(object, (PyTypeObject *)types[kind])) {
        kind++;
    }
    return kind;
}

int
dl_build_input(DlBuilder *builder, PyObject *object, DlOperand *operand)
{
    if (dl_build_is_reg(object)) {
        operand->kind = DL_FROM_REG;
        operand->index = dl_build_int(object, "index");
        return operand->index == INT32_MIN ? -1 : dl_build_use(builder, operand->index, object);
    }
    operand->kind = DL_FROM_NUMBER;
    operand->index = dl_scalar_add(&builder->program->numbers, object);
    return operand->index < 0 ? -1 : 0;
}

/* One output: a register, a number (an input's own number: that very object), or a constant; 0 or -1. The body of a
 * loop hands on numbers as such. */
static int
build_output(DlBuilder *builder, PyObject *object, DlOperand *output, PyObject **constant)
{
    DlProgram *self = builder->program;
    if (dl_build_is_reg(object)) {
        output->kind = DL_FROM_REG;
        output->index = dl_build_int(object, "index");
        return output->index == INT32_MIN ? -1 : dl_build_use(builder, output->index, object);
    }
    int symbolic = builder->part != DL_WHOLE ? 1 : dl_scalar_is_symbolic(object);
    if (symbolic <= 0) {
        output->kind = DL_FROM_CELL;
        *constant = dl_program_own(self, Py_NewRef(object));
        return *constant ? symbolic : -1;
    }
    output->kind = DL_FROM_NUMBER;
    output->index = dl_scalar_add(&self->numbers, object);
    for (int32_t i = 0; builder->part == DL_WHOLE && output->index >= 0 && i < self->numbers.n_loads; i++) {
        const DlScalarLoad *load = &self->numbers.loads[i];
        if (load->value == output->index && load->axis < 0 && load->input >= 0) {
            output->kind = DL_FROM_REG;
            output->index = load->input;
            return dl_build_use(builder, load->input, object);
        }
    }
    return output->index < 0 ? -1 : 0;
}

int
dl_build_outputs(DlBuilder *builder, PyObject *object, DlOperand **operands, PyObject ***objects, int *count)
{
    PyObject *outputs = dl_build_tuple(object, "outputs");
    if (outputs == NULL) {
        return -1;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(outputs);
    *operands = dl_build_rows(builder, n, sizeof **operands);
    *objects = dl_build_rows(builder, n, sizeof **objects);
    int status = *operands && *objects ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        *count = (int)i + 1;
        status = build_output(builder, PyTuple_GET_ITEM(outputs, i), &(*operands)[i], &(*objects)[i]);
    }
    Py_DECREF(outputs);
    return status;
}

int
dl_build_yields(DlBuilder *builder, PyObject *object, DlYields *yields, int n)
{
    PyObject *symbols = dl_build_tuple(object, "yields");
    if (symbols == NULL) {
        return -1;
    }
    int count = (int)PyTuple_GET_SIZE(symbols), status = 0;
    yields->values = dl_build_rows(builder, count, sizeof *yields->values);
    if (yields->values == NULL || (count != 0 && count != n)) {
        status = yields->values == NULL ? -1 : dl_build_refuse(builder, "another number of symbols", object);
    }
    for (; status == 0 && yields->n < count; yields->n++) {
        int32_t value = dl_scalar_add(&builder->program->numbers, PyTuple_GET_ITEM(symbols, yields->n));
        yields->values[yields->n] = value;
        if (value < 0) {
            status = -1;
            break;
        }
    }
    Py_DECREF(symbols);
    return status;
}
