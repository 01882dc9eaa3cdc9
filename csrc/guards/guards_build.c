/* Build a table of guards from its ops: every operand is checked here, so that checking guards needs no care. */
#include "columns.h"
#include "guards_table.h"

#include <structmember.h>

const DlGuardRow dl_guard_rows[N_KINDS] = {
#define GUARD(id, name, operands, words) {name, operands, words},
#include "guards.def"
#undef GUARD
};

/* Set ValueError for op number `index`; returns -1. */
static int
refuse(PyObject *op, Py_ssize_t index, const char *why)
{
    PyErr_Format(PyExc_ValueError, "guard %zd, %R: %s", index, op, why);
    return -1;
}

/* The row of guards.def that op (a tuple) names, or -1 with an error set. */
static int
kind_of(PyObject *op, Py_ssize_t index)
{
    if (!PyTuple_Check(op) || PyTuple_GET_SIZE(op) < 1 || !PyUnicode_Check(PyTuple_GET_ITEM(op, 0))) {
        return refuse(op, index, "not a guard op");
    }
    for (int kind = 0; kind < N_KINDS; kind++) {
        if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(op, 0), dl_guard_rows[kind].name) == 0) {
            if (PyTuple_GET_SIZE(op) != 1 + (Py_ssize_t)strlen(dl_guard_rows[kind].operands)) {
                return refuse(op, index, "wrong number of operands");
            }
            return kind;
        }
    }
    return refuse(op, index, "unknown kind");
}

unsigned int
dl_guards_version_tag(PyTypeObject *type)
{
    static PyObject *name;
    if (name == NULL) {
        name = PyUnicode_InternFromString("__class__");
    }
    if (type->tp_version_tag == 0 && name != NULL) {
        (void)_PyType_Lookup(type, name); /* NB: on every supported version a lookup assigns the tag */
    }
    return type->tp_version_tag;
}

/* Whether instances of `type` have attribute function `name` ("__getattribute__", say), whose slot is given, from object. */
static int
is_generic(PyTypeObject *type, int in_slot, const char *name)
{
    PyObject *text = in_slot ? NULL : PyUnicode_InternFromString(name);
    if (text == NULL) {
        return in_slot ? 1 : -1;
    }
    int same = _PyType_Lookup(type, text) == _PyType_Lookup(&PyBaseObject_Type, text);
    Py_DECREF(text);
    return same;
}

/* As above, of reading; __getattr__ is asked only after the generic lookup, whose failure is a miss here. */
static int
reads_generically(PyTypeObject *type)
{
    return is_generic(type, type->tp_getattro == PyObject_GenericGetAttr, "__getattribute__");
}

PyObject *
dl_guards_generic_attributes(PyObject *module, PyObject *object)
{
    (void)module;
    PyTypeObject *type = (PyTypeObject *)object;
    if (!PyType_Check(object)) {
        return PyErr_Format(PyExc_TypeError, "generic_attributes: expected a class, not %.100s", Py_TYPE(object)->tp_name);
    }
    int reads = reads_generically(type);
    int stores = reads < 0 ? -1 : is_generic(type, type->tp_setattro == PyObject_GenericSetAttr, "__setattr__");
    return stores < 0 ? NULL : Py_BuildValue("(NN)", PyBool_FromLong(reads), PyBool_FromLong(stores));
}

/* Decide how attribute op->object[0] of instances of `type` is read without running Python code. */
static int
plan_attr(DlGuards *self, DlGuardOp *op, PyTypeObject *type, PyObject *tuple, Py_ssize_t index)
{
    PyObject *found = _PyType_Lookup(type, op->object[0]);
    PyTypeObject *descriptor = found ? Py_TYPE(found) : NULL;
    if (PyType_IsSubtype(type, &PyType_Type)) {
        if (type->tp_getattro != PyType_Type.tp_getattro) {
            return refuse(tuple, index, "the metaclass has its own __getattribute__");
        }
        if (descriptor != NULL && descriptor->tp_descr_set != NULL) {
            return refuse(tuple, index, "the metaclass computes this attribute");
        }
        op->mode = FROM_CLASS;
        return 0;
    }
    op->mode = FROM_INSTANCE;
    int generic = reads_generically(type);
    if (generic <= 0) {
        return generic < 0 ? -1 : refuse(tuple, index, "the class has its own __getattribute__");
    }
    if (descriptor == NULL || (descriptor->tp_descr_get == NULL && descriptor->tp_descr_set == NULL)) {
        return 0;
    }
    if (descriptor == &PyMemberDescr_Type) {
        int member = ((PyMemberDescrObject *)found)->d_member->type;
        return member == T_OBJECT_EX || member == T_OBJECT ? 0 : refuse(tuple, index, "not stored as an object");
    }
    if (descriptor->tp_descr_set != NULL) {
        return refuse(tuple, index, "the class computes this attribute");
    }
    if (descriptor->tp_flags & Py_TPFLAGS_HEAPTYPE) {
        op->mode = FROM_DICT; /* functools.cached_property: the instance's own value goes first, else Python code runs */
    }
    self->own = 1; /* NB: making a method (a function or static method stands there) may start a garbage collection */
    return 0;
}

/* Put registers for inputs into a comparison of sizes. */
static int
finish_comparison(DlGuards *self, DlGuardOp *op, const uint8_t *is_set, PyObject *tuple, Py_ssize_t index)
{
    for (int side = 0; side < 2; side++) {
        int32_t input = op->comparison.input[side];
        if (input >= self->n_inputs || (input >= 0 && !is_set[self->inputs[input]])) {
            return refuse(tuple, index, "a symbol's input is not read before");
        }
        op->comparison.input[side] = input < 0 ? -1 : self->inputs[input];
    }
    return 0;
}

/* Check and complete one parsed op. types: for each register the type that a type_version test gave it, or a
 * class_version test the class that it holds; or NULL. */
static int
finish_op(DlGuards *self, DlGuardOp *op, PyTypeObject **types, const uint8_t *is_set, PyObject *tuple,
          Py_ssize_t index)
{
    switch ((Kind)op->kind) {
    case GLOBAL:
    case DICT_LACKS:
        if (!PyDict_CheckExact(op->object[0]) || !PyUnicode_CheckExact(op->object[1])) {
            return refuse(tuple, index, "needs a dict and a str");
        }
        PyUnicode_InternInPlace(&op->object[1]);
        break;
    case ATTR:
        if (!PyUnicode_CheckExact(op->object[0])) {
            return refuse(tuple, index, "needs a str");
        }
        PyUnicode_InternInPlace(&op->object[0]);
        if (types[op->reg[1]] == NULL) {
            op->mode = FROM_MODULE;
            break;
        }
        return plan_attr(self, op, types[op->reg[1]], tuple, index);
    case LACKS:
    case METHOD:
        if (!PyUnicode_CheckExact(op->object[0]) || types[op->reg[0]] == NULL) {
            return refuse(tuple, index, "needs a str, and a type_version test before");
        }
        PyUnicode_InternInPlace(&op->object[0]);
        return plan_attr(self, op, types[op->reg[0]], tuple, index);
    case COLUMN:
        if (!dl_columns_is_path(op->object[0])) {
            return refuse(tuple, index, "needs a path");
        }
        self->own = 1;
        break;
    case ALL_LACK:
        if (!dl_columns_is_path(op->object[0])) {
            return refuse(tuple, index, "needs a path");
        }
        break;
    case TEXT:
    case COMPLEX_PART:
    case LIST_LENGTH:
    case PLUS:
    case LOOKUP:
        self->own = 1;
        break;
    case KEY:
        self->own = 1;
        return PyObject_Hash(op->object[0]) == -1 ? -1 : 0;
    case TYPE:
    case NP_SCALAR:
    case CLASS_VERSION:
    case TYPE_VERSION:
        if (!PyType_Check(op->object[0])) {
            return refuse(tuple, index, "needs a type");
        }
        if (op->kind == TYPE_VERSION || op->kind == CLASS_VERSION) {
            if (op->n[0] <= 0) {
                return refuse(tuple, index, "needs a version tag");
            }
            types[op->reg[0]] = op->kind == TYPE_VERSION ? (PyTypeObject *)op->object[0] : Py_TYPE(op->object[0]);
        }
        break;
    case DICT_KEYS:
        if (!PyTuple_CheckExact(op->object[0])) {
            return refuse(tuple, index, "needs a tuple");
        }
        break;
    case FUNCTION:
        if (PyLong_CheckExact(op->object[1]) && PyTuple_CheckExact(op->object[2])) {
            op->mode = 1;
            op->n[0] = PyLong_AsLongLong(op->object[1]);
            return op->n[0] == -1 && PyErr_Occurred() ? -1 : 0;
        }
        if (op->object[2] != Py_None) {
            if (!PyDict_Check(op->object[2])) {
                return refuse(tuple, index, "keyword defaults must be a dict or None");
            }
            Py_SETREF(op->object[2], PyDict_Copy(op->object[2]));
            return op->object[2] == NULL ? -1 : 0;
        }
        break;
    case PART:
        if (!dl_guards_part_index(op->object[0])) {
            return refuse(tuple, index, "needs a tuple of ints and slices");
        }
        break;
    case ARRAY:
        if (!PyArray_DescrCheck(op->object[0]) || !dl_numpy_plain((PyArray_Descr *)op->object[0])) {
            return refuse(tuple, index, "needs a plain numeric dtype");
        }
        if (op->n[0] > 62) {
            return refuse(tuple, index, "too many dimensions");
        }
        break;
    case SCALAR: {
        int simple = dl_scalar_as_comparison(op->object[0], &op->comparison);
        if (simple != 0) {
            op->mode = 1;
            return simple < 0 ? -1 : finish_comparison(self, op, is_set, tuple, index);
        }
        op->scalar.first_load = self->scalars.n_loads;
        op->scalar.first_instr = self->scalars.n_instrs;
        op->scalar.value = dl_scalar_add(&self->scalars, op->object[0]);
        if (op->scalar.value < 0) {
            return -1;
        }
        op->scalar.last_load = self->scalars.n_loads;
        op->scalar.last_instr = self->scalars.n_instrs;
        if (self->scalars.kinds[op->scalar.value] == DL_FLOAT) {
            return refuse(tuple, index, "not a condition");
        }
        for (int32_t i = op->scalar.first_load; i < op->scalar.last_load; i++) {
            int32_t input = self->scalars.loads[i].input;
            if (input >= self->n_inputs || !is_set[self->inputs[input]]) {
                return refuse(tuple, index, "a symbol's input is not read before");
            }
        }
        break;
    }
    case NUMBER:
        if (!PyUnicode_Check(op->object[0])) {
            return refuse(tuple, index, "needs \"int\", \"float\" or \"bool\"");
        }
        op->mode = PyUnicode_CompareWithASCIIString(op->object[0], "int") == 0     ? DL_INT
                   : PyUnicode_CompareWithASCIIString(op->object[0], "float") == 0 ? DL_FLOAT
                                                                                   : DL_BOOL;
        break;
    default:
        break;
    }
    return 0;
}

/* Parse one op tuple into *op; its objects are owned by *op also when this fails. */
static int
parse_op(DlGuards *self, DlGuardOp *op, PyTypeObject **types, uint8_t *is_set, PyObject *tuple, Py_ssize_t index)
{
    int kind = kind_of(tuple, index);
    if (kind < 0) {
        return -1;
    }
    op->kind = (uint8_t)kind;
    int n_regs = 0, n_objects = 0, n_ints = 0;
    for (Py_ssize_t i = 0; dl_guard_rows[kind].operands[i]; i++) {
        char letter = dl_guard_rows[kind].operands[i];
        PyObject *operand = PyTuple_GET_ITEM(tuple, i + 1);
        if (letter == 'o') {
            op->object[n_objects++] = Py_NewRef(operand);
            continue;
        }
        long long n = operand == Py_None ? -1 : PyLong_AsLongLong(operand);
        if (n == -1 && PyErr_Occurred()) {
            return -1;
        }
        if (letter == 'n') {
            op->n[n_ints++] = n;
            continue;
        }
        if (n < 0 || n >= self->n_registers || is_set[n] != (letter == 'r')) {
            return refuse(tuple, index, letter == 'r' ? "reads a register that is not set" : "sets a register again");
        }
        op->reg[n_regs++] = (int32_t)n;
    }
    if (finish_op(self, op, types, is_set, tuple, index) < 0) {
        return -1;
    }
    if (dl_guard_rows[kind].operands[0] == 'd') {
        is_set[op->reg[0]] = 1;
    }
    return 0;
}

/* One more than the highest register that any op sets. */
static int32_t
count_registers(PyObject *ops)
{
    long highest = -1;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(ops); i++) {
        int kind = kind_of(PyTuple_GET_ITEM(ops, i), i);
        if (kind < 0) {
            return -1;
        }
        if (dl_guard_rows[kind].operands[0] == 'd') {
            long reg = PyLong_AsLong(PyTuple_GET_ITEM(PyTuple_GET_ITEM(ops, i), 1));
            if (reg == -1 && PyErr_Occurred()) {
                return -1;
            }
            highest = reg > highest ? reg : highest;
        }
    }
    if (highest > 1 << 20) {
        PyErr_SetString(PyExc_ValueError, "too many guard registers");
        return -1;
    }
    return (int32_t)highest + 1;
}

int
dl_guards_build(DlGuards *self)
{
    Py_ssize_t n_ops = PyTuple_GET_SIZE(self->ops_tuple), n_inputs = PyTuple_GET_SIZE(self->inputs_tuple);
    self->n_registers = count_registers(self->ops_tuple);
    if (self->n_registers < 0) {
        return -1;
    }
    self->ops = PyMem_Calloc((size_t)n_ops + 1, sizeof *self->ops);
    self->inputs = PyMem_Calloc((size_t)n_inputs + 1, sizeof *self->inputs);
    PyTypeObject **types = PyMem_Calloc((size_t)self->n_registers + 1, sizeof *types);
    uint8_t *is_set = PyMem_Calloc((size_t)self->n_registers + 1, 1);
    int status = -1;
    if (self->ops == NULL || self->inputs == NULL || types == NULL || is_set == NULL) {
        PyErr_NoMemory();
        goto done;
    }
    for (Py_ssize_t i = 0; i < n_inputs; i++) {
        long reg = PyLong_AsLong(PyTuple_GET_ITEM(self->inputs_tuple, i));
        if (reg == -1 && PyErr_Occurred()) {
            goto done;
        }
        if (reg < 0 || reg >= self->n_registers) {
            PyErr_Format(PyExc_ValueError, "input %zd: no register %ld", i, reg);
            goto done;
        }
        self->inputs[self->n_inputs++] = (int32_t)reg;
    }
    for (Py_ssize_t i = 0; i < n_ops; i++) {
        self->n_ops = (int32_t)i + 1; /* first, so that clearing sees the objects of an op that is refused */
        if (parse_op(self, &self->ops[i], types, is_set, PyTuple_GET_ITEM(self->ops_tuple, i), i) < 0) {
            goto done;
        }
    }
    for (int32_t i = 0; i < self->n_inputs; i++) {
        if (!is_set[self->inputs[i]]) {
            PyErr_Format(PyExc_ValueError, "input %d: register %d is never set", i, self->inputs[i]);
            goto done;
        }
    }
    status = 0;
done:
    PyMem_Free(types);
    PyMem_Free(is_set);
    return status;
}

