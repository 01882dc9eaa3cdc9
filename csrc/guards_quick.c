/* The same guards in fewer steps: an argument and the test of it in one, sizes compared where they lie.
 *
 * A table that may be checked with borrowed references (dl_guards_are_plain) is translated once; what has no step of its own
 * here is left to the ops (dl_guards_run). It says only whether all pass: which one fails is for the ops to tell.
 */
#include "guards_quick.h"

#include "guards.h"

/* ---- translation ---- */

/* Whether the next op tests the register that this one sets. */
static const DlGuardOp *
test_of(const DlGuards *self, int32_t i)
{
    const DlGuardOp *next = i + 1 < self->n_ops ? &self->ops[i + 1] : NULL;
    return next != NULL && (next->kind == ARRAY || next->kind == NUMBER) && next->reg[0] == self->ops[i].reg[0] ? next : NULL;
}

/* An argument, and the test of it where one follows: how many ops these are. */
static int
translate_arg(const DlGuards *self, int32_t i, DlQuickGuard *quick, int8_t *axes)
{
    const DlGuardOp *op = &self->ops[i], *test = test_of(self, i);
    *quick = (DlQuickGuard){.kind = DL_QUICK_ARG, .reg = op->reg[0], .slot = (int32_t)op->n[0]};
    if (test == NULL) {
        return 1;
    }
    if (test->kind == NUMBER) {
        quick->kind = test->mode == DL_INT ? DL_QUICK_INT : test->mode == DL_FLOAT ? DL_QUICK_FLOAT : DL_QUICK_BOOL;
        return 2;
    }
    quick->kind = DL_QUICK_ARRAY;
    quick->object = test->object[0];
    quick->nd = (int32_t)test->n[0];
    quick->ones = test->n[1];
    quick->flags = NPY_ARRAY_ALIGNED | (test->n[2] > 0 ? NPY_ARRAY_WRITEABLE : 0);
    axes[op->reg[0]] = (int8_t)test->n[0];
    return 2;
}

/* A comparison of sizes of arrays that have been tested; whether it is one. */
static int
translate_sizes(const DlGuardOp *op, DlQuickGuard *quick, const int8_t *axes)
{
    const DlComparison *comparison = &op->comparison;
    if (op->kind != SCALAR || !op->mode) {
        return 0;
    }
    for (int side = 0; side < 2; side++) {
        if (comparison->input[side] >= 0 && axes[comparison->input[side]] <= comparison->axis[side]) {
            return 0;
        }
    }
    *quick = (DlQuickGuard){.kind = DL_QUICK_SIZES, .sizes = *comparison};
    return 1;
}

/* Which step one op is, or a few; how many it stands for. */
static int
translate(const DlGuards *self, int32_t i, DlQuickGuard *quick, int8_t *axes)
{
    const DlGuardOp *op = &self->ops[i];
    if (op->kind == ARG && op->n[0] >= 0 && op->n[0] < INT32_MAX) {
        return translate_arg(self, i, quick, axes);
    }
    if (op->kind == GLOBALS) {
        *quick = (DlQuickGuard){.kind = DL_QUICK_GLOBALS, .object = op->object[0]};
    }
    else if (!translate_sizes(op, quick, axes)) {
        *quick = (DlQuickGuard){.kind = DL_QUICK_OPS, .slot = i, .reg = i + 1};
    }
    return 1;
}

int
dl_guards_are_plain(PyObject *guards)
{
    DlGuards *self = (DlGuards *)guards;
    return !self->own && self->n_registers <= DL_QUICK_REGISTERS && self->scalars.n_values <= DL_QUICK_VALUES;
}

int
dl_guards_quicken(DlGuards *self)
{
    int8_t axes[DL_QUICK_REGISTERS] = {0}; /* of registers that hold an exact array for certain */
    if (!dl_guards_are_plain((PyObject *)self) || self->n_ops == 0) {
        return 0;
    }
    self->quick = PyMem_New(DlQuickGuard, self->n_ops);
    if (self->quick == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (int32_t i = 0; i < self->n_ops;) {
        DlQuickGuard *quick = &self->quick[self->n_quick];
        i += translate(self, i, quick, axes);
        if (quick->kind == DL_QUICK_OPS && self->n_quick > 0 && quick[-1].kind == DL_QUICK_OPS) {
            quick[-1].reg = quick->reg; /* one run of ops */
        }
        else {
            self->n_quick++;
        }
    }
    return 0;
}

/* ---- checking ---- */

/* Whether object is an array as the step wants it: see array_passes() of guards.c. */
static inline int
is_wanted_array(const DlQuickGuard *quick, PyObject *object)
{
    if (!PyArray_CheckExact(object)) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    PyArray_Descr *wanted = (PyArray_Descr *)quick->object, *descr = PyArray_DESCR(array);
    if (descr != wanted && !(descr->type_num == wanted->type_num && dl_numpy_plain(descr))) {
        return 0;
    }
    int nd = PyArray_NDIM(array), flags = PyArray_FLAGS(array);
    if (nd != quick->nd || flags < 0 || (flags & quick->flags) != quick->flags) {
        return 0;
    }
    const npy_intp *shape = PyArray_DIMS(array);
    int64_t ones = 0;
    for (int i = 0; i < nd; i++) {
        ones |= (int64_t)(shape[i] == 1) << i;
    }
    return ones == quick->ones;
}

/* Whether an exact int fits 64 bits. */
static inline int
is_wanted_int(PyObject *object)
{
    int overflow;
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    (void)PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* Whether a comparison of sizes holds. */
static inline int
sizes_pass(const DlComparison *sizes, PyObject *const *regs)
{
    int64_t side[2];
    for (int i = 0; i < 2; i++) {
        side[i] = sizes->input[i] < 0 ? sizes->constant
                                      : PyArray_DIMS((PyArrayObject *)regs[sizes->input[i]])[sizes->axis[i]];
    }
    return side[0] == side[1] ? sizes->equal : side[0] < side[1] ? sizes->less : sizes->greater;
}

int
dl_guards_borrow(PyObject *guards, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **inputs)
{
    const DlGuards *self = (DlGuards *)guards;
    PyObject *regs[DL_QUICK_REGISTERS], *value = NULL;
    DlNumber values[DL_QUICK_VALUES];
    if (self->scalars.n_values) {
        memcpy(values, self->scalars.initial, (size_t)self->scalars.n_values * sizeof *values);
    }
    const DlQuickGuard *end = self->quick + self->n_quick;
    for (const DlQuickGuard *quick = self->quick; quick < end; quick++) {
        int passes;
        if (quick->kind <= DL_QUICK_BOOL) {
            if (quick->slot >= nslots || (value = slots[quick->slot]) == NULL) {
                return 0;
            }
            regs[quick->reg] = value;
        }
        switch ((DlQuickKind)quick->kind) {
        case DL_QUICK_ARG:
            continue;
        case DL_QUICK_ARRAY:
            passes = is_wanted_array(quick, value);
            break;
        case DL_QUICK_FLOAT:
            passes = PyFloat_CheckExact(value);
            break;
        case DL_QUICK_INT:
            passes = is_wanted_int(value);
            break;
        case DL_QUICK_BOOL:
            passes = PyBool_Check(value);
            break;
        case DL_QUICK_GLOBALS:
            passes = PyFunction_Check(func) && PyFunction_GET_GLOBALS(func) == quick->object;
            break;
        case DL_QUICK_SIZES:
            passes = sizes_pass(&quick->sizes, regs);
            break;
        case DL_QUICK_OPS:
            passes = dl_guards_run(self, quick->slot, quick->reg, func, slots, nslots, regs, values);
            if (passes < 0) {
                return -1;
            }
            passes = passes == quick->reg;
            break;
        default:
            Py_UNREACHABLE();
        }
        if (!passes) {
            return 0;
        }
    }
    for (int32_t i = 0; i < self->n_inputs; i++) {
        inputs[i] = regs[self->inputs[i]];
    }
    return self->n_quick > 0;
}
