/* Build Cond steps, their branches, and the numbers that steps yield (see cond.c). */
#include "build.h"

/* ---- what a step yields ---- */

DlYields *
dl_build_yields_of(DlStep *step)
{
    return step->kind == DL_STEP_LOOP && step->loop.pausing.n                             ? &step->loop.pausing
           : step->kind == DL_STEP_LOOP                                                   ? &step->loop.yields
           : step->kind == DL_STEP_COND                                                   ? &step->cond.yields
           : step->kind == DL_STEP_MASKED && step->masked.kind == DL_MASKED_COUNT ? &step->masked.yields
           : step->kind == DL_STEP_READ                                                   ? &step->read.yields
           : step->kind == DL_STEP_CALL                                                   ? &step->call.yields
                                                                                          : NULL;
}

int
dl_build_read(DlBuilder *builder, PyObject *object, DlReadStep *step)
{
    PyObject *yields = dl_build_tuple(object, "yields");
    if (yields == NULL || PyTuple_GET_SIZE(yields) != 1) {
        Py_XDECREF(yields);
        return yields == NULL ? -1 : dl_build_refuse(builder, "it reads one number", object);
    }
    step->value = dl_scalar_add(&builder->program->numbers, PyTuple_GET_ITEM(yields, 0));
    Py_DECREF(yields);
    step->src = dl_build_int(object, "src");
    if (step->value < 0 || step->src == INT32_MIN || dl_build_use(builder, step->src, object) < 0) {
        return -1;
    }
    step->yields.n = 1;
    step->yields.values = &step->value;
    step->kind = builder->program->numbers.kinds[step->value];
    step->of = dl_build_int(object, "of");
    step->table = step->of < 0 ? INT32_MIN : dl_build_int(object, "table");
    if (step->table == INT32_MIN || (step->table >= 0 && dl_build_use(builder, step->table, object) < 0)) {
        return -1;
    }
    return step->kind == DL_BOOL ? dl_build_refuse(builder, "it reads an int or a float", object) : 0;
}

/* ---- the branch ---- */

int
dl_build_branch(DlBuilder *builder)
{
    DlProgram *self = builder->program;
    DlBody *body = self->body = dl_build_rows(builder, 1, sizeof *body);
    if (body == NULL || (body->returned = dl_build_rows(builder, self->n_inputs, 1)) == NULL
        || (body->needs_object = dl_build_rows(builder, self->n_outputs, 1)) == NULL) {
        return -1;
    }
    while (body->n_numbers < self->n_outputs
           && self->outputs[self->n_outputs - 1 - body->n_numbers].kind == DL_FROM_NUMBER) {
        body->n_numbers++;
    }
    body->n_carried = self->n_outputs - body->n_numbers;
    for (int k = 0; k < body->n_carried; k++) {
        if (self->outputs[k].kind != DL_FROM_REG) {
            return dl_build_refuse(builder, "a branch returns registers, then numbers", self->schedule);
        }
        for (int i = 0; i < body->n_carried; i++) {
            body->needs_object[k] |= i != k && self->outputs[i].index == self->outputs[k].index;
        }
        if (self->outputs[k].index < self->n_inputs) {
            body->returned[self->outputs[k].index] = 1;
        }
    }
    for (int reg = 0; reg < self->n_inputs; reg++) {
        body->returned[reg] |= builder->shown[reg];
    }
    return 0;
}

int
dl_build_dsts(DlBuilder *builder, PyObject *object, PyObject *registers, int32_t *dsts)
{
    for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(registers); k++) {
        long reg = PyLong_AsLong(PyTuple_GET_ITEM(registers, k));
        if (reg < 0 || reg > INT32_MAX) {
            return PyErr_Occurred() ? -1 : dl_build_refuse(builder, "no such register", object);
        }
        dsts[k] = (int32_t)reg;
        if (dl_build_set(builder, (int32_t)reg, object) < 0) {
            return -1;
        }
    }
    return 0;
}

int
dl_build_goes_in(DlBuilder *builder, PyObject *object, const DlOperand *operands, int n, const DlProgram *program, int first)
{
    const DlScalars *inner = &program->numbers, *outer = &builder->program->numbers;
    for (int32_t i = 0; i < inner->n_loads; i++) {
        const DlScalarLoad *load = &inner->loads[i];
        if (load->input < first) {
            continue;
        }
        const DlOperand *operand = &operands[load->input - first];
        int is_number = operand->kind == DL_FROM_NUMBER;
        if (is_number != (load->axis < 0) || (is_number && outer->kinds[operand->index] != inner->kinds[load->value])) {
            return dl_build_refuse(builder, "what goes in is of another kind", object);
        }
    }
    for (int k = 0; k < n; k++) {
        if (operands[k].kind == DL_FROM_NUMBER && program->body->returned[first + k]) {
            return dl_build_refuse(builder, "a number is returned as an array", object);
        }
        if (operands[k].kind == DL_FROM_REG) {
            builder->shown[operands[k].index] |= program->body->returned[first + k];
        }
    }
    return 0;
}

/* Whether a branch fits the step around it; 0 or -1. */
static int
check_branch(DlBuilder *builder, PyObject *object, const DlCondStep *step, const DlProgram *branch)
{
    const DlScalars *inner = &branch->numbers, *outer = &builder->program->numbers;
    if (branch->n_inputs != step->n_operands || branch->n_outputs != step->n_dsts
        || branch->body->n_numbers != step->branches[0]->body->n_numbers) {
        return dl_build_refuse(builder, "another number of values goes into a branch or comes out", object);
    }
    if (dl_build_goes_in(builder, object, step->operands, step->n_operands, branch, 0) < 0) {
        return -1;
    }
    for (int j = 0; j < step->yields.n; j++) {
        const DlOperand *output = &branch->outputs[branch->body->n_carried + j];
        if (inner->kinds[output->index] != outer->kinds[step->yields.values[j]]) {
            return dl_build_refuse(builder, "a branch yields a number of another kind", object);
        }
    }
    return 0;
}

/* ---- the step ---- */

/* Whether the body under construction writes its input `reg`. */
static int
writes(const DlBuilder *builder, int32_t reg)
{
    int found = 0;
    for (int i = 0; i < builder->program->n_written; i++) {
        found |= builder->program->written[i] == reg;
    }
    return found;
}

int
dl_build_is_checked(const DlBuilder *builder, const DlOperand *operands, int n, const DlProgram *inner, int first)
{
    int checked = builder->part != DL_WHOLE;
    for (int i = 0; i < inner->n_written && checked; i++) {
        int place = inner->written[i] - first;
        checked = place >= 0 && place < n && writes(builder, operands[place].index);
    }
    for (int i = 0; i < n && checked; i++) {
        int is_reg = operands[i].kind == DL_FROM_REG;
        checked = !is_reg || operands[i].index < builder->program->n_inputs;
        for (int j = 0; j < i && is_reg; j++) {
            checked &= operands[j].kind != DL_FROM_REG || operands[j].index != operands[i].index;
        }
    }
    return checked;
}

/* The branch that attribute `name` holds; 0 or -1. */
static int
build_branch(DlBuilder *builder, PyObject *object, const char *name, DlProgram **branch)
{
    PyObject *schedule = PyObject_GetAttrString(object, name);
    if (schedule == NULL || Py_EnterRecursiveCall(" while building a branch") != 0) {
        Py_XDECREF(schedule);
        return -1;
    }
    *branch = dl_program_make(schedule, builder->program->compile_kernel, DL_BRANCH);
    *branch = (DlProgram *)dl_program_own(builder->program, (PyObject *)*branch);
    Py_LeaveRecursiveCall();
    Py_DECREF(schedule);
    if (*branch == NULL) {
        return -1;
    }
    builder->program->has_calls |= (*branch)->has_calls;
    builder->program->has_loops |= (*branch)->has_loops;
    return 0;
}

/* The condition, what goes in and what comes out; 0 or -1. */
static int
build_values(DlBuilder *builder, PyObject *object, PyObject *condition, PyObject *operands, PyObject *dsts,
             DlCondStep *step)
{
    int n_operands = (int)PyTuple_GET_SIZE(operands), n_dsts = (int)PyTuple_GET_SIZE(dsts);
    step->operands = dl_build_rows(builder, n_operands, sizeof *step->operands);
    step->dsts = dl_build_rows(builder, n_dsts, sizeof *step->dsts);
    if (step->operands == NULL || step->dsts == NULL || dl_build_input(builder, condition, &step->condition) < 0) {
        return -1;
    }
    if (step->condition.kind == DL_FROM_NUMBER && builder->program->numbers.kinds[step->condition.index] == DL_FLOAT) {
        return dl_build_refuse(builder, "a condition is a float", object);
    }
    for (; step->n_operands < n_operands; step->n_operands++) {
        PyObject *value = PyTuple_GET_ITEM(operands, step->n_operands);
        if (dl_build_input(builder, value, &step->operands[step->n_operands]) < 0) {
            return -1;
        }
    }
    step->n_dsts = n_dsts;
    if (dl_build_dsts(builder, object, dsts, step->dsts) < 0
        || dl_build_yields(builder, object, &step->yields, step->branches[0]->body->n_numbers) < 0) {
        return -1;
    }
    if (step->branches[0]->body->n_numbers > DL_MAX_CARRIED_NUMBERS) {
        return dl_build_refuse(builder, "it yields too many numbers", object);
    }
    for (int k = 0; k < 2; k++) {
        step->checked[k] = dl_build_is_checked(builder, step->operands, step->n_operands, step->branches[k], 0);
    }
    int status = check_branch(builder, object, step, step->branches[0]);
    return status ? status : check_branch(builder, object, step, step->branches[1]);
}

int
dl_build_cond(DlBuilder *builder, PyObject *object, DlCondStep *step)
{
    if (build_branch(builder, object, "then", &step->branches[0]) < 0
        || build_branch(builder, object, "orelse", &step->branches[1]) < 0) {
        return -1;
    }
    PyObject *condition = PyObject_GetAttrString(object, "condition");
    PyObject *operands = condition ? dl_build_tuple(object, "operands") : NULL;
    PyObject *dsts = operands ? dl_build_tuple(object, "dsts") : NULL;
    int status = dsts ? build_values(builder, object, condition, operands, dsts, step) : -1;
    Py_XDECREF(condition);
    Py_XDECREF(operands);
    Py_XDECREF(dsts);
    return status;
}
