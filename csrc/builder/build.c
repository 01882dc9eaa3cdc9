/* Build a Program's steps from the Python objects of dynamo_lite/schedule/steps.py.
 *
 * Everything is checked here once, so that running needs no checks of the program itself: registers are set before they
 * are read and set once, numbers of operands fit, dtypes are plain. Constants are converted to their dtype.
 */
#include "build.h"

#include "program/machine.h"

/* ---- steps ---- */

/* One index of a basic_index view; 0 or -1. */
static int
build_index(DlBuilder *builder, PyObject *object, DlIndex *index)
{
    if (object == Py_None) {
        index->kind = DL_INDEX_NEWAXIS;
        return 0;
    }
    int is_slice = PyTuple_Check(object);
    if (is_slice && PyTuple_GET_SIZE(object) != 3) {
        return dl_build_refuse(builder, "a slice has three parts", object);
    }
    index->kind = is_slice ? DL_INDEX_SLICE : DL_INDEX_INTEGER;
    for (int i = 0; i < (is_slice ? 3 : 1); i++) {
        PyObject *part = is_slice ? PyTuple_GET_ITEM(object, i) : object;
        index->value[i] = -1;
        if (part == Py_None) {
            continue;
        }
        index->value[i] = dl_scalar_add(&builder->program->numbers, part);
        if (index->value[i] < 0) {
            return -1;
        }
        if (builder->program->numbers.kinds[index->value[i]] != DL_INT) {
            return dl_build_refuse(builder, "not an integer index", object);
        }
    }
    return 0;
}

/* The params of a view; 0 or -1. */
static int
build_view_params(DlBuilder *builder, PyObject *object, PyObject *params, DlViewStep *step)
{
    int n = (int)PyTuple_GET_SIZE(params);
    if (step->kind == DL_VIEW_INDEX) {
        step->indices = dl_build_rows(builder, n, sizeof *step->indices);
        for (step->n = 0; step->indices != NULL && step->n < n; step->n++) {
            if (build_index(builder, PyTuple_GET_ITEM(params, step->n), &step->indices[step->n]) < 0) {
                return -1;
            }
        }
        return step->indices ? 0 : -1;
    }
    if (step->kind == DL_VIEW_TRANSPOSE) {
        if (n > DL_MAX_DIMS) {
            return dl_build_refuse(builder, "too many dimensions", object);
        }
        step->axes = dl_build_rows(builder, n, sizeof *step->axes);
        unsigned seen = 0;
        for (step->n = 0; step->axes != NULL && step->n < n; step->n++) {
            long axis = PyLong_AsLong(PyTuple_GET_ITEM(params, step->n));
            if (axis < 0 || axis >= n || (seen & 1u << axis)) {
                return PyErr_Occurred() ? -1 : dl_build_refuse(builder, "not a permutation", object);
            }
            seen |= 1u << axis;
            step->axes[step->n] = (int)axis;
        }
        return step->axes ? 0 : -1;
    }
    if (step->kind == DL_VIEW_DIAGONAL) { /* two axes, the offset, whether it may be written to */
        step->axes = dl_build_rows(builder, n, sizeof *step->axes);
        for (step->n = 0; step->axes != NULL && step->n < n; step->n++) {
            step->axes[step->n] = (int)PyLong_AsLong(PyTuple_GET_ITEM(params, step->n));
        }
        if (step->axes == NULL || PyErr_Occurred()) {
            return -1;
        }
        int sound = n == 4 && step->axes[0] >= 0 && step->axes[1] >= 0 && step->axes[0] != step->axes[1];
        return sound ? 0 : dl_build_refuse(builder, "not two axes and an offset", object);
    }
    if (step->kind == DL_VIEW_RESHAPE || step->kind == DL_VIEW_BROADCAST) {
        return dl_build_dims(builder, object, "params", &step->dims);
    }
    return n == 0 ? 0 : dl_build_refuse(builder, "takes no parameters", object);
}

static int
build_view(DlBuilder *builder, PyObject *object, DlViewStep *step)
{
    static const char *const names[] = {
#define VIEW_KIND(id, name) name,
#include "abi.def"
    };
    int kind = 0, found = 0;
    for (; kind < (int)Py_ARRAY_LENGTH(names) && !found; kind++) {
        found = dl_build_is_text(object, "kind", names[kind]);
        if (found < 0) {
            return -1;
        }
    }
    if (!found) {
        return dl_build_refuse(builder, "unknown kind of view", object);
    }
    step->kind = (DlViewKind)(kind - 1);
    step->src = dl_build_int(object, "src");
    step->dst = dl_build_int(object, "dst");
    step->scalar = dl_build_bool(object, "scalar");
    if (step->scalar < 0 || step->src == INT32_MIN || step->dst == INT32_MIN
        || dl_build_use(builder, step->src, object) < 0 || dl_build_set(builder, step->dst, object) < 0) {
        return -1;
    }
    builder->parent[step->dst] = step->src;
    PyObject *params = dl_build_tuple(object, "params");
    int status = params ? build_view_params(builder, object, params, step) : -1;
    Py_XDECREF(params);
    return status;
}

static int
build_alloc(DlBuilder *builder, PyObject *object, DlAllocStep *step)
{
    step->descr = dl_build_descr(builder, object, "dtype");
    step->fortran = step->descr ? dl_build_is_text(object, "order", "F") : -1;
    PyObject *fill = step->fortran < 0 ? NULL : PyObject_GetAttrString(object, "fill");
    if (fill == NULL) {
        return -1;
    }
    step->filled = fill != Py_None;
    int status = step->filled ? dl_build_operand(builder, fill, step->descr, &step->fill) : 0;
    Py_DECREF(fill);
    if (status < 0 || dl_build_dims(builder, object, "shape", &step->shape) < 0) {
        return -1;
    }
    PyObject *like = dl_build_tuple(object, "like");
    step->common = like ? dl_build_is_text(object, "order", "common") : -1;
    step->like = like ? dl_build_rows(builder, PyTuple_GET_SIZE(like), sizeof *step->like) : NULL;
    status = step->like != NULL && step->common >= 0 ? 0 : -1;
    for (Py_ssize_t i = 0; status == 0 && i < PyTuple_GET_SIZE(like); i++) {
        step->like[i] = dl_build_int(PyTuple_GET_ITEM(like, i), "index");
        status = step->like[i] == INT32_MIN ? -1 : dl_build_use(builder, step->like[i], object);
        step->n_like++;
    }
    Py_XDECREF(like);
    step->dst = status < 0 ? INT32_MIN : dl_build_int(object, "dst");
    return step->dst == INT32_MIN ? -1 : dl_build_set(builder, step->dst, object);
}

static int
build_errors(const DlBuilder *builder, PyObject *object, DlErrorsStep *step)
{
    int ignored = dl_build_int(object, "ignored"), reported = ignored == INT32_MIN ? ignored : dl_build_int(object, "reported");
    int noted = reported == INT32_MIN ? reported : dl_build_int(object, "noted");
    step->ignored = (unsigned)ignored;
    step->reported = (unsigned)reported;
    step->noted = (unsigned)noted;
    step->silent = noted == INT32_MIN ? noted : dl_build_int(object, "silent");
    step->changes = step->silent == INT32_MIN ? step->silent : dl_build_int(object, "changes");
    PyObject *warner = step->changes == INT32_MIN ? NULL : PyObject_GetAttrString(object, "warner");
    if (warner == Py_None || warner == NULL) {
        Py_XDECREF(warner);
        return warner ? 0 : -1;
    }
    step->warner = dl_program_own(builder->program, warner);
    return step->warner ? 0 : -1;
}

static int
build_require(DlBuilder *builder, PyObject *object, DlStep *step)
{
    PyObject *condition = PyObject_GetAttrString(object, "condition");
    step->condition = condition ? dl_scalar_add(&builder->program->numbers, condition) : -1;
    Py_XDECREF(condition);
    if (step->condition >= 0 && builder->program->numbers.kinds[step->condition] == DL_FLOAT) {
        return dl_build_refuse(builder, "not a condition", object);
    }
    return step->condition < 0 ? -1 : 0;
}

/* Build the step that `object` describes; 0 or -1. */
static int
build_step(DlBuilder *builder, PyObject *object, DlStep *step)
{
    int kind = dl_build_step_kind(object);
    step->kind = (DlStepKind)kind;
    switch (kind) {
    case DL_STEP_VIEW:
        return build_view(builder, object, &step->view);
    case DL_STEP_ALLOC:
        return build_alloc(builder, object, &step->alloc);
    case DL_STEP_MAP:
        builder->program->n_maps++;
        return dl_build_map(builder, object, &step->map);
    case DL_STEP_REDUCE:
        return dl_build_reduce(builder, object, &step->reduce);
    case DL_STEP_CALL:
        builder->program->has_calls = 1;
        return dl_build_call(builder, object, &step->call);
    case DL_STEP_SAVE:
        step->save = dl_build_int(object, "src");
        return step->save == INT32_MIN ? -1 : dl_build_use(builder, step->save, object);
    case DL_STEP_REQUIRE:
        return build_require(builder, object, step);
    case DL_STEP_LOOP:
        return dl_build_loop(builder, object, &step->loop);
    case DL_STEP_LEAVE:
        return dl_build_leave(builder, object, &step->leave);
    case DL_STEP_COND:
        return dl_build_cond(builder, object, &step->cond);
    case DL_STEP_MASKED:
        return dl_build_masked(builder, object, &step->masked);
    case DL_STEP_READ:
        return dl_build_read(builder, object, &step->read);
    case DL_STEP_NEW:
        return dl_build_new(builder, object, &step->new);
    case DL_STEP_PUT:
        return dl_build_put(builder, object, &step->put);
    case DL_STEP_TAKE:
        return dl_build_take(builder, object, &step->take);
    case DL_STEP_ERRORS:
        return build_errors(builder, object, &step->errors);
    default:
        return dl_build_refuse(builder, "not a step", object);
    }
}

/* ---- the program ---- */

/* Constants: (register, object) pairs; 0 or -1. */
static int
build_constants(DlBuilder *builder, PyObject *schedule)
{
    DlProgram *self = builder->program;
    PyObject *pairs = dl_build_tuple(schedule, "constants");
    if (pairs == NULL) {
        return -1;
    }
    Py_ssize_t n = PyTuple_GET_SIZE(pairs);
    self->constants = dl_build_rows(builder, n, sizeof *self->constants);
    self->constant_regs = dl_build_rows(builder, n, sizeof *self->constant_regs);
    int status = self->constants && self->constant_regs ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        int reg;
        PyObject *value;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs, i), "iO", &reg, &value) || dl_build_set(builder, reg, schedule) < 0) {
            status = -1;
            break;
        }
        self->constant_regs[i] = reg;
        self->constants[i] = dl_program_own(self, Py_NewRef(value));
        status = self->constants[i] ? 0 : -1;
        self->n_constants = (int)i + 1;
    }
    Py_DECREF(pairs);
    return status;
}

static int
build_written(DlBuilder *builder, PyObject *schedule)
{
    DlProgram *self = builder->program;
    PyObject *written = dl_build_tuple(schedule, "written");
    if (written == NULL) {
        return -1;
    }
    self->written = dl_build_rows(builder, PyTuple_GET_SIZE(written), sizeof *self->written);
    int status = self->written ? 0 : -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(written) && status == 0; i++) {
        long input = PyLong_AsLong(PyTuple_GET_ITEM(written, i));
        if (input < 0 || input >= self->n_inputs) {
            status = PyErr_Occurred() ? -1 : dl_build_refuse(builder, "no such input is written", schedule);
            break;
        }
        self->written[self->n_written++] = (int32_t)input;
    }
    Py_DECREF(written);
    return status;
}

/* Give every step the registers that die with it; 0 or -1. */
static int
build_deaths(DlBuilder *builder)
{
    DlProgram *self = builder->program;
    for (int i = 0; i < self->n_steps; i++) {
        int n = 0;
        for (int reg = 0; reg < self->n_registers; reg++) {
            n += builder->last[reg] == i && dl_build_is_mortal(builder, reg);
        }
        self->steps[i].dead = dl_build_rows(builder, n, sizeof *self->steps[i].dead);
        if (self->steps[i].dead == NULL) {
            return -1;
        }
        for (int reg = 0; reg < self->n_registers; reg++) {
            if (builder->last[reg] == i && dl_build_is_mortal(builder, reg)) {
                self->steps[i].dead[self->steps[i].n_dead++] = reg;
            }
        }
        if (self->steps[i].kind == DL_STEP_LOOP) {
            dl_build_moves(builder, i, &self->steps[i].loop);
        }
    }
    return 0;
}

/* All that follows the counts of inputs and registers; 0 or -1. */
static int
build_body(DlBuilder *builder, PyObject *schedule, PyObject *steps)
{
    DlProgram *self = builder->program;
    for (int i = 0; i < self->n_registers; i++) {
        builder->parent[i] = -1;
    }
    builder->step = -1;
    for (int i = 0; i < self->n_inputs; i++) {
        if (dl_build_set(builder, i, schedule) < 0) {
            return -1;
        }
    }
    self->kept = dl_build_int(schedule, "kept");
    if (PyErr_Occurred() || build_constants(builder, schedule) < 0 || build_written(builder, schedule) < 0) {
        return -1;
    }
    for (int i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        builder->step = i;
        self->n_steps = i + 1;
        if (build_step(builder, PyTuple_GET_ITEM(steps, i), &self->steps[i]) < 0) {
            return -1;
        }
    }
    if (builder->part == DL_LOOP_BODY || builder->part == DL_WHILE_BODY) {
        self->body = dl_build_rows(builder, 1, sizeof *self->body);
        if (self->body == NULL || dl_build_iterated(builder, schedule, &self->body->kernel) < 0) {
            return -1;
        }
    }
    builder->step = self->n_steps; /* outputs never die */
    if (dl_build_outputs(builder, schedule, &self->outputs, &self->output_objects, &self->n_outputs) < 0
        || dl_blocks_build(builder, schedule) < 0) {
        return -1;
    }
    self->n_most_outputs = self->n_most_outputs < self->n_outputs ? self->n_outputs : self->n_most_outputs;
    for (int i = 0; i < self->numbers.n_loads; i++) {
        if (self->numbers.loads[i].input >= self->n_inputs) {
            return dl_build_refuse(builder, "a symbol names no input", schedule);
        }
    }
    int status = builder->part == DL_WHOLE    ? 0
                 : builder->part == DL_BRANCH ? dl_build_branch(builder)
                                              : dl_build_body(builder);
    if (status == 0 && (builder->part == DL_WHOLE || builder->part == DL_BRANCH)) {
        uint8_t *varies = dl_build_rows(builder, self->numbers.n_values, 1);
        status = varies == NULL || dl_build_stages(builder, -1, varies) < 0 ? -1 : 0;
    }
    return status < 0 ? -1 : build_deaths(builder);
}

int
dl_program_build(DlProgram *self, DlPart part)
{
    DlBuilder builder = {.program = self, .part = part};
    PyObject *schedule = self->schedule;
    if (dl_build_learn() < 0) {
        return -1;
    }
    self->n_inputs = dl_build_int(schedule, "n_inputs");
    self->n_registers = self->n_inputs == INT32_MIN ? INT32_MIN : dl_build_int(schedule, "n_registers");
    if (self->n_registers == INT32_MIN) {
        return -1;
    }
    if (self->n_inputs < 0 || self->n_registers < self->n_inputs || self->n_registers > 1 << 20) {
        PyErr_SetString(PyExc_ValueError, "wrong numbers of inputs and registers");
        return -1;
    }
    PyObject *steps = dl_build_tuple(schedule, "steps");
    int status = -1;
    if (steps != NULL) {
        self->steps = dl_build_rows(&builder, PyTuple_GET_SIZE(steps), sizeof *self->steps);
        builder.is_set = dl_build_rows(&builder, self->n_registers, 1);
        builder.parent = dl_build_rows(&builder, self->n_registers, sizeof *builder.parent);
        builder.last = dl_build_rows(&builder, self->n_registers, sizeof *builder.last);
        builder.lasting = dl_build_rows(&builder, self->n_registers, 1);
        builder.shown = dl_build_rows(&builder, self->n_registers, 1);
        if (self->steps && builder.is_set && builder.parent && builder.last && builder.lasting && builder.shown) {
            status = build_body(&builder, schedule, steps);
        }
    }
    Py_XDECREF(steps);
    return status;
}
