/* Build a Program's steps from the Python objects of dynamo_lite/schedule/steps.py.
 *
 * Everything is checked here once, so that running needs no checks of the program itself: registers are set before they
 * are read and set once, numbers of operands fit, dtypes are plain. Constants are converted to their dtype.
 */
#include "build.h"

#include "machine.h"

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

static int
learn_types(void)
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

/* object as a plain dtype: a new reference, or NULL with an error set. */
PyArray_Descr *
dl_build_plain(PyObject *object)
{
    PyArray_Descr *descr;
    if (!PyArray_DescrConverter(object, &descr)) {
        return NULL;
    }
    if (!dl_numpy_plain(descr)) {
        PyErr_Format(PyExc_ValueError, "dtype %R is not supported natively", descr);
        Py_CLEAR(descr);
    }
    return descr;
}

/* Attribute `name` as a plain dtype: a new reference. */
PyArray_Descr *
dl_build_descr(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    PyArray_Descr *descr = value ? dl_build_plain(value) : NULL;
    Py_XDECREF(value);
    return descr;
}

/* Zeroed memory for n items, never NULL but with MemoryError set. */
void *
dl_build_rows(Py_ssize_t n, size_t size)
{
    void *memory = PyMem_Calloc((size_t)n + 1, size);
    if (memory == NULL) {
        PyErr_NoMemory();
    }
    return memory;
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
    dims->values = dl_build_rows(n, sizeof *dims->values);
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
        step->indices = dl_build_rows(n, sizeof *step->indices);
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
        step->axes = dl_build_rows(n, sizeof *step->axes);
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
    step->descr = dl_build_descr(object, "dtype");
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
    step->dst = dl_build_int(object, "dst");
    return step->dst == INT32_MIN ? -1 : dl_build_set(builder, step->dst, object);
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
    int kind = 0;
    while (kind < N_TYPES - 1 && !Py_IS_TYPE(object, (PyTypeObject *)types[kind])) {
        kind++;
    }
    step->kind = (DlStepKind)kind;
    switch (kind) {
    case DL_STEP_VIEW:
        return build_view(builder, object, &step->view);
    case DL_STEP_ALLOC:
        return build_alloc(builder, object, &step->alloc);
    case DL_STEP_MAP:
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
    case DL_STEP_NEW_LIST:
        step->new_list = dl_build_int(object, "dst");
        return step->new_list == INT32_MIN ? -1 : dl_build_set(builder, step->new_list, object);
    case DL_STEP_APPEND:
        return dl_build_append(builder, object, &step->append);
    default:
        step->kind = DL_STEP_SAVE; /* owns nothing */
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
    self->constants = dl_build_rows(n, sizeof *self->constants);
    self->constant_regs = dl_build_rows(n, sizeof *self->constant_regs);
    int status = self->constants && self->constant_regs ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        int reg;
        PyObject *value;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(pairs, i), "iO", &reg, &value) || dl_build_set(builder, reg, schedule) < 0) {
            status = -1;
            break;
        }
        self->constant_regs[i] = reg;
        self->constants[i] = Py_NewRef(value);
        self->n_constants = (int)i + 1;
    }
    Py_DECREF(pairs);
    return status;
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
        *constant = Py_NewRef(object);
        return symbolic;
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
    *operands = dl_build_rows(n, sizeof **operands);
    *objects = dl_build_rows(n, sizeof **objects);
    int status = *operands && *objects ? 0 : -1;
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        *count = (int)i + 1;
        status = build_output(builder, PyTuple_GET_ITEM(outputs, i), &(*operands)[i], &(*objects)[i]);
    }
    Py_DECREF(outputs);
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
    self->written = dl_build_rows(PyTuple_GET_SIZE(written), sizeof *self->written);
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
        self->steps[i].dead = dl_build_rows(n, sizeof *self->steps[i].dead);
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
    if (build_constants(builder, schedule) < 0 || build_written(builder, schedule) < 0) {
        return -1;
    }
    for (int i = 0; i < PyTuple_GET_SIZE(steps); i++) {
        builder->step = i;
        self->n_steps = i + 1; /* first, so that clearing sees a step that is refused halfway */
        if (build_step(builder, PyTuple_GET_ITEM(steps, i), &self->steps[i]) < 0) {
            return -1;
        }
    }
    if (builder->part == DL_LOOP_BODY || builder->part == DL_WHILE_BODY) {
        self->body = dl_build_rows(1, sizeof *self->body);
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
        uint8_t *varies = dl_build_rows(self->numbers.n_values, 1);
        status = varies == NULL || dl_build_stages(builder, -1, varies) < 0 ? -1 : 0;
        PyMem_Free(varies);
    }
    return status < 0 ? -1 : build_deaths(builder);
}

int
dl_program_build(DlProgram *self, DlPart part)
{
    DlBuilder builder = {.program = self, .part = part};
    PyObject *schedule = self->schedule;
    if (learn_types() < 0) {
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
        self->steps = dl_build_rows(PyTuple_GET_SIZE(steps), sizeof *self->steps);
        builder.is_set = dl_build_rows(self->n_registers, 1);
        builder.parent = dl_build_rows(self->n_registers, sizeof *builder.parent);
        builder.last = dl_build_rows(self->n_registers, sizeof *builder.last);
        builder.lasting = dl_build_rows(self->n_registers, 1);
        builder.shown = dl_build_rows(self->n_registers, 1);
        if (self->steps && builder.is_set && builder.parent && builder.last && builder.lasting && builder.shown) {
            status = build_body(&builder, schedule, steps);
        }
    }
    PyMem_Free(builder.is_set);
    PyMem_Free(builder.parent);
    PyMem_Free(builder.last);
    PyMem_Free(builder.lasting);
    PyMem_Free(builder.shown);
    Py_XDECREF(steps);
    return status;
}
