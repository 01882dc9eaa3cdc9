/* Build Loop steps and the plan of their bodies (see loop.c). */
#include "build.h"

#include "program/machine.h"

int
dl_build_is_mortal(const DlBuilder *builder, int reg)
{
    return builder->is_set[reg] && !builder->lasting[reg];
}

/* ---- the body ---- */

/* Whether an integer of a view is the same in every iteration. */
static int
is_fixed_number(const uint8_t *varies, int32_t value)
{
    return value < 0 || !varies[value];
}

/* Whether every iteration would make the same view: of lasting memory, at places that do not depend on the index, and
 * not for somebody who gets it as an object. */
static int
is_fixed_view(const DlBuilder *builder, const DlViewStep *view, const uint8_t *varies)
{
    int fixed = builder->lasting[view->src] && !view->scalar && builder->last[view->dst] < builder->program->n_steps
                && !builder->shown[view->dst];
    for (int i = 0; view->indices != NULL && i < view->n && fixed; i++) {
        const DlIndex *index = &view->indices[i];
        for (int j = 0; j < 3 && index->kind != DL_INDEX_NEWAXIS && fixed; j++) {
            fixed = (j > 0 && index->kind == DL_INDEX_INTEGER) || is_fixed_number(varies, index->value[j]);
        }
    }
    for (int i = 0; i < view->dims.n && fixed; i++) {
        fixed = is_fixed_number(varies, view->dims.values[i]);
    }
    return fixed;
}

int32_t
dl_build_stages(DlBuilder *builder, int32_t value, uint8_t *varies)
{
    DlProgram *self = builder->program;
    DlScalars *table = &self->numbers;
    int stage = 1;
    for (int i = 0; i < self->n_steps; i++) {
        DlYields *yields = dl_build_yields_of(&self->steps[i]);
        if (yields == NULL || yields->n == 0) {
            continue;
        }
        if (++stage > DL_MOST_STAGES) {
            return dl_build_refuse(builder, "too many steps yield numbers", self->schedule);
        }
        for (int j = 0; j < yields->n; j++) {
            varies[yields->values[j]] = (uint8_t)stage;
        }
    }
    int32_t n_fixed = dl_scalar_split(table, value, varies);
    int32_t next = n_fixed < 0 ? 0 : n_fixed;
    while (next < table->n_instrs && varies[table->instrs[next].value] == 1) {
        next++;
    }
    self->n_early = next;
    stage = 1;
    for (int i = 0; i < self->n_steps; i++) {
        DlYields *yields = dl_build_yields_of(&self->steps[i]);
        if (yields == NULL || yields->n == 0) {
            continue;
        }
        stage++;
        yields->first = next;
        while (next < table->n_instrs && varies[table->instrs[next].value] == stage) {
            next++;
        }
        yields->last = next;
    }
    return n_fixed;
}

/* Find the views and the numbers that do not depend on the iteration; 0 or -1. */
static int
find_fixed(DlBuilder *builder, DlBody *body)
{
    DlProgram *self = builder->program;
    uint8_t *varies = dl_build_rows(builder, self->numbers.n_values, 1);
    if (varies == NULL) {
        return -1;
    }
    body->index = -1;
    for (int j = 0; j < body->n_numbers; j++) {
        body->number_in[j] = -1;
    }
    for (int32_t i = 0; i < self->numbers.n_loads; i++) {
        const DlScalarLoad *load = &self->numbers.loads[i];
        int number = load->input - (self->n_inputs - body->n_numbers);
        if (number >= 0) {
            body->number_in[number] = load->value;
            varies[load->value] = 1;
        }
        if (load->input == 0) {
            if (load->axis >= 0 || self->numbers.kinds[load->value] != DL_INT) {
                return dl_build_refuse(builder, "the index of a loop is an int", self->schedule);
            }
            body->index = load->value;
        }
    }
    body->n_fixed = dl_build_stages(builder, body->index, varies);
    for (int reg = 0; reg < self->n_inputs; reg++) {
        builder->lasting[reg] = reg == 0 || reg > body->n_carried;
    }
    for (int i = 0; i < self->n_constants; i++) {
        builder->lasting[self->constant_regs[i]] = 1;
    }
    for (int i = 0; i < self->n_steps && body->n_fixed >= 0; i++) {
        DlStep *step = &self->steps[i];
        if (step->kind == DL_STEP_VIEW && is_fixed_view(builder, &step->view, varies)) {
            step->fixed = 1;
            builder->lasting[step->view.dst] = 1;
        }
    }
    return body->n_fixed < 0 ? -1 : 0;
}

/* Whether output number `k` occurs again among the outputs. */
static int
is_shared(const DlProgram *self, int k)
{
    for (int i = 0; i < self->body->n_carried; i++) {
        if (i != k && self->outputs[i].index == self->outputs[k].index) {
            return 1;
        }
    }
    return 0;
}

/* What becomes of register `reg` in every iteration, if a view makes it anew. */
static DlVarying
view_varies(const DlProgram *self, const DlLoopKernel *kernel, int32_t reg)
{
    for (int j = 0; j < kernel->n_views; j++) {
        const DlViewStep *view = &self->steps[kernel->views[j]].view;
        if (view->dst == reg) {
            return view->scalar ? DL_VARIES_NUMBER : DL_VARIES_ROW;
        }
    }
    return DL_VARIES_NOT;
}

/* Whether a number of the table depends on the iteration. */
static int
number_varies(const DlProgram *self, int32_t value)
{
    const DlBody *body = self->body;
    int varies = value == body->index;
    for (int j = 0; j < body->n_numbers; j++) {
        varies |= value == body->number_in[j];
    }
    for (int32_t j = body->n_fixed; j < self->numbers.n_instrs; j++) {
        varies |= value == self->numbers.instrs[j].value;
    }
    return varies;
}

/* Look at the kernel for many iterations, if there is one: it reads and writes registers that iterations have in common,
 * elements and rows of arrays, and what is carried. */
static int
check_kernel(DlBuilder *builder)
{
    DlProgram *self = builder->program;
    DlLoopKernel *kernel = self->body->kernel;
    if (kernel == NULL) {
        return 0;
    }
    const DlMapStep *map = &kernel->map;
    int n_operands = map->kernel.n_operands, fits = 1;
    kernel->views = dl_build_rows(builder, self->n_steps, sizeof *kernel->views);
    if (kernel->views == NULL) {
        return -1;
    }
    for (int i = 0; i < self->n_steps; i++) {
        const DlStep *step = &self->steps[i];
        if (step->kind == DL_STEP_VIEW && !step->fixed) {
            kernel->views[kernel->n_views++] = i;
            fits &= builder->lasting[step->view.src];
        }
    }
    for (int i = 0; i < n_operands + map->kernel.n_results; i++) {
        int is_reg = i >= n_operands || map->operands[i].kind == DL_FROM_REG;
        int32_t index = i < n_operands ? map->operands[i].index : map->outs[i - n_operands];
        if (is_reg) {
            kernel->varies[i] = (uint8_t)view_varies(self, kernel, index);
            int is_carried = index > 0 && index <= self->body->n_carried;
            int is_there = builder->lasting[index] && (i < n_operands || map->into[i - n_operands]);
            fits &= is_carried || is_there || kernel->varies[i] == DL_VARIES_ROW
                    || (i < n_operands && kernel->varies[i] == DL_VARIES_NUMBER);
        }
        else if (map->operands[i].kind == DL_FROM_NUMBER && number_varies(self, index)) {
            kernel->varies[i] = DL_VARIES_NUMBER;
        }
        kernel->n_varying += kernel->varies[i] != DL_VARIES_NOT;
        kernel->n_rows += kernel->varies[i] == DL_VARIES_ROW;
    }
    if (!fits) {
        return dl_build_refuse(builder, "a kernel of iterations takes what changes", self->schedule);
    }
    kernel->numbers = self->body->n_numbers > 0 || self->body->n_fixed < self->numbers.n_instrs || kernel->n_varying > 0
                      || kernel->n_views > 0;
    return 0;
}

/* The condition to go on, the last output; 0 or -1. */
static int
build_condition(DlBuilder *builder, DlBody *body)
{
    const DlProgram *self = builder->program;
    if (self->n_outputs == 0) {
        return dl_build_refuse(builder, "a body without a condition", self->schedule);
    }
    body->has_condition = 1;
    body->condition = self->outputs[self->n_outputs - 1];
    if (body->condition.kind == DL_FROM_NUMBER && self->numbers.kinds[body->condition.index] == DL_FLOAT) {
        return dl_build_refuse(builder, "a condition is a float", self->schedule);
    }
    return 0;
}

int
dl_build_body(DlBuilder *builder)
{
    DlProgram *self = builder->program;
    DlBody *body = self->body;
    if (builder->part == DL_WHILE_BODY && build_condition(builder, body) < 0) {
        return -1;
    }
    int n_results = self->n_outputs - body->has_condition;
    while (body->n_numbers < n_results && self->outputs[n_results - 1 - body->n_numbers].kind == DL_FROM_NUMBER) {
        body->n_numbers++;
    }
    body->n_carried = n_results - body->n_numbers;
    body->simple = 1;
    body->returned = dl_build_rows(builder, self->n_inputs, 1);
    body->needs_object = dl_build_rows(builder, self->n_outputs, 1);
    body->moved = dl_build_rows(builder, self->n_outputs, 1);
    body->left = dl_build_rows(builder, self->n_registers, sizeof *body->left);
    if (body->returned == NULL || body->needs_object == NULL || body->moved == NULL || body->left == NULL) {
        return -1;
    }
    if (self->n_inputs < 1 + n_results) {
        return dl_build_refuse(builder, "a body takes the index and what is carried", self->schedule);
    }
    if (body->n_numbers > DL_MAX_CARRIED_NUMBERS) {
        return dl_build_refuse(builder, "it carries too many numbers", self->schedule);
    }
    for (int j = 0; j < body->n_numbers; j++) {
        body->number_out[j] = self->outputs[body->n_carried + j].index;
    }
    for (int k = 0; k < body->n_carried; k++) {
        if (self->outputs[k].kind != DL_FROM_REG || self->outputs[k].index == 0) {
            return dl_build_refuse(builder, "a body hands on registers", self->schedule);
        }
    }
    if (find_fixed(builder, body) < 0 || check_kernel(builder) < 0) {
        return -1;
    }
    body->lingers = body->n_carried == 0 && !body->has_condition && body->kernel == NULL && self->n_maps > 0;
    for (int k = 0; k < body->n_carried; k++) {
        int reg = self->outputs[k].index;
        if (reg < self->n_inputs) {
            body->returned[reg] = 1;
        }
        body->moved[k] = reg >= self->n_inputs && !builder->lasting[reg] && !is_shared(self, k);
        body->simple &= body->moved[k] && builder->parent[reg] < 0;
    }
    for (int reg = 0; reg < self->n_inputs; reg++) {
        body->returned[reg] |= builder->shown[reg];
    }
    for (int k = 0; k < body->n_carried; k++) {
        body->needs_object[k] = is_shared(self, k) || body->returned[1 + k];
        body->simple &= !body->needs_object[k];
    }
    for (int reg = self->n_inputs; reg < self->n_registers; reg++) {
        if (builder->last[reg] == self->n_steps && dl_build_is_mortal(builder, reg)) {
            body->left[body->n_left++] = reg;
        }
    }
    int condition = body->has_condition && body->condition.kind == DL_FROM_REG ? body->condition.index : -1;
    if (condition >= 0 && dl_build_is_mortal(builder, condition) && condition >= self->n_inputs) {
        body->drops_condition = body->simple;
        for (int k = 0; k < body->n_carried; k++) {
            body->drops_condition &= self->outputs[k].index != condition;
        }
    }
    return 0;
}

/* ---- the step ---- */

/* Numbers that the body reads have to be numbers of that kind outside; what it reads as an array has to be a register. */
static int
check_numbers(DlBuilder *builder, PyObject *object, const DlLoopStep *step)
{
    const DlScalars *inner = &step->body->numbers, *outer = &builder->program->numbers;
    for (int k = 0; k < step->n_carried; k++) {
        if (step->operands[k].kind == DL_FROM_NUMBER) {
            return dl_build_refuse(builder, "a number is carried", object);
        }
    }
    if (dl_build_goes_in(builder, object, step->operands, step->n_operands, step->body, 1) < 0) {
        return -1;
    }
    for (int j = 0; j < step->body->body->n_numbers; j++) {
        const DlOperand *operand = &step->operands[step->n_operands - step->body->body->n_numbers + j];
        int kind = inner->kinds[step->body->body->number_out[j]];
        if (operand->kind != DL_FROM_NUMBER || outer->kinds[operand->index] != kind) {
            return dl_build_refuse(builder, "a number is of another kind after an iteration", object);
        }
    }
    return 0;
}

/* Attribute `name`, a bound of the range; 0 or -1. */
static int
build_bound(DlBuilder *builder, PyObject *object, const char *name, int32_t *value)
{
    PyObject *bound = PyObject_GetAttrString(object, name);
    *value = bound ? dl_scalar_add(&builder->program->numbers, bound) : -1;
    Py_XDECREF(bound);
    if (*value < 0) {
        return -1;
    }
    return builder->program->numbers.kinds[*value] == DL_FLOAT ? dl_build_refuse(builder, "a bound is a float", object) : 0;
}

/* The values that go into the body and those that come out; 0 or -1. */
static int
build_values(DlBuilder *builder, PyObject *object, PyObject *carried, PyObject *captured, PyObject *dsts,
             DlLoopStep *step)
{
    int n_carried = (int)PyTuple_GET_SIZE(carried), n_captured = (int)PyTuple_GET_SIZE(captured);
    int n_results = step->body->n_outputs - step->body->body->has_condition;
    if (step->body->n_inputs != 1 + n_carried + n_captured || step->body->body->n_carried != n_carried
        || step->body->body->n_numbers > n_captured || PyTuple_GET_SIZE(dsts) != n_results) {
        return dl_build_refuse(builder, "another number of values goes into the body or comes out", object);
    }
    step->operands = dl_build_rows(builder, n_carried + n_captured, sizeof *step->operands);
    step->moves = dl_build_rows(builder, n_carried, 1);
    step->dsts = dl_build_rows(builder, n_results, sizeof *step->dsts);
    if (step->operands == NULL || step->moves == NULL || step->dsts == NULL) {
        return -1;
    }
    step->n_carried = n_carried;
    for (; step->n_operands < n_carried + n_captured; step->n_operands++) {
        int k = step->n_operands;
        PyObject *value = k < n_carried ? PyTuple_GET_ITEM(carried, k) : PyTuple_GET_ITEM(captured, k - n_carried);
        if (dl_build_input(builder, value, &step->operands[k]) < 0) {
            return -1;
        }
    }
    return dl_build_dsts(builder, object, dsts, step->dsts) < 0 ? -1 : check_numbers(builder, object, step);
}

/* Which carried number the length of each carried array is: attribute "extents", rows of an array, an axis and a number. */
static int
build_lengths(DlBuilder *builder, PyObject *object, DlLoopStep *step)
{
    PyObject *extents = dl_build_tuple(object, "extents");
    step->lengths = extents ? dl_build_rows(builder, step->n_carried, sizeof *step->lengths) : NULL;
    int status = step->lengths ? 0 : -1;
    for (int k = 0; k < step->n_carried && status == 0; k++) {
        step->lengths[k] = -1;
    }
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(extents); i++) {
        int place, axis, number;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(extents, i), "iii", &place, &axis, &number)) {
            status = -1;
        }
        else if (place < 0 || place >= step->n_carried || number < 0 || number >= step->body->body->n_numbers) {
            status = dl_build_refuse(builder, "an extent is no carried number", object);
        }
        else if (axis == 0) {
            step->lengths[place] = number;
        }
    }
    Py_XDECREF(extents);
    return status;
}

/* When to pause: attribute "pause", None or a Symbol for the index and the condition; 0 or -1. */
static int
build_pause(DlBuilder *builder, PyObject *object, DlLoopStep *step)
{
    DlScalars *table = &builder->program->numbers;
    PyObject *pause = PyObject_GetAttrString(object, "pause");
    int status = pause == NULL ? -1 : 0;
    if (status == 0 && pause != Py_None) {
        if (builder->part != DL_WHOLE || step->yields.n || !PyTuple_Check(pause) || PyTuple_GET_SIZE(pause) != 2) {
            status = dl_build_refuse(builder, "such a loop does not pause", object);
        }
        else if ((step->pausing.values = dl_build_rows(builder, 1, sizeof *step->pausing.values)) == NULL
                 || (step->pausing.values[0] = dl_scalar_add(table, PyTuple_GET_ITEM(pause, 0))) < 0
                 || (step->pause = dl_scalar_add(table, PyTuple_GET_ITEM(pause, 1))) < 0) {
            status = -1;
        }
        else if (table->kinds[step->pausing.values[0]] != DL_INT || table->kinds[step->pause] != DL_BOOL) {
            status = dl_build_refuse(builder, "an index is an int, a condition a bool", object);
        }
        else {
            step->pausing.n = 1;
            step->ahead = DL_PAUSE_AHEAD;
        }
    }
    Py_XDECREF(pause);
    return status;
}

int
dl_build_loop(DlBuilder *builder, PyObject *object, DlLoopStep *step)
{
    if (build_bound(builder, object, "start", &step->start) < 0 || build_bound(builder, object, "stop", &step->stop) < 0
        || build_bound(builder, object, "step", &step->by) < 0) {
        return -1;
    }
    int has_condition = dl_build_bool(object, "goes_on");
    PyObject *schedule = has_condition < 0 ? NULL : PyObject_GetAttrString(object, "body");
    if (schedule == NULL || Py_EnterRecursiveCall(" while building a loop") != 0) {
        Py_XDECREF(schedule);
        return -1;
    }
    DlPart part = has_condition ? DL_WHILE_BODY : DL_LOOP_BODY;
    step->body = dl_program_make(schedule, builder->program->compile_kernel, part);
    step->body = (DlProgram *)dl_program_own(builder->program, (PyObject *)step->body);
    Py_LeaveRecursiveCall();
    Py_DECREF(schedule);
    if (step->body == NULL) {
        return -1;
    }
    builder->program->has_calls |= step->body->has_calls;
    builder->program->has_loops = 1;
    builder->program->n_closed_loops++;
    PyObject *carried = dl_build_tuple(object, "carried");
    PyObject *captured = carried ? dl_build_tuple(object, "captured") : NULL;
    PyObject *dsts = captured ? dl_build_tuple(object, "dsts") : NULL;
    int status = dsts ? build_values(builder, object, carried, captured, dsts, step) : -1;
    step->checked = status == 0 && dl_build_is_checked(builder, step->operands, step->n_operands, step->body, 1);
    status = status ? status : build_lengths(builder, object, step);
    PyObject *machine = status == 0 ? PyObject_GetAttrString(object, "machine") : NULL;
    if (machine == NULL || (machine != Py_None && dl_machine_build(builder->program, machine, step) < 0)) {
        status = -1;
    }
    Py_XDECREF(machine);
    status = status ? status : dl_build_yields(builder, object, &step->yields, step->body->body->n_numbers);
    status = status ? status : build_pause(builder, object, step);
    Py_XDECREF(carried);
    Py_XDECREF(captured);
    Py_XDECREF(dsts);
    return status;
}

int
dl_build_leave(DlBuilder *builder, PyObject *object, DlLeaveStep *step)
{
    DlProgram *self = builder->program;
    int place = builder->step - 1;
    while (place >= 0 && self->steps[place].kind != DL_STEP_LOOP) {
        place--;
    }
    if (place < 0 || builder->part != DL_WHOLE || self->steps[place].loop.leaves) {
        return dl_build_refuse(builder, "there is no loop to leave", object);
    }
    self->steps[place].loop.leaves = 1;
    self->n_closed_loops--;
    step->exit = dl_build_int(object, "exit");
    if (step->exit < 0) {
        return PyErr_Occurred() ? -1 : dl_build_refuse(builder, "no such exit", object);
    }
    if (dl_build_outputs(builder, object, &step->outputs, &step->objects, &step->n_outputs) < 0) {
        return -1;
    }
    self->n_most_outputs = step->n_outputs < self->n_most_outputs ? self->n_most_outputs : step->n_outputs + 1;
    return 0;
}

/* Whether register `reg` shows, or is, `base`. */
static int
shows(const DlBuilder *builder, int reg, int base)
{
    while (reg >= 0 && reg != base) {
        reg = builder->parent[reg];
    }
    return reg == base;
}

void
dl_build_moves(const DlBuilder *builder, int index, DlLoopStep *step)
{
    for (int k = 0; k < step->n_carried; k++) {
        int reg = step->operands[k].index;
        int moves = builder->last[reg] == index && dl_build_is_mortal(builder, reg) && builder->parent[reg] < 0;
        for (int i = 0; i < step->n_operands && moves; i++) {
            moves = i == k || step->operands[i].kind != DL_FROM_REG || !shows(builder, step->operands[i].index, reg);
        }
        step->moves[k] = (uint8_t)moves;
    }
}
