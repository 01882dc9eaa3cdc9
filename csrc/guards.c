/* Guards (see guards.h, guards.def). */
#include "guards.h"

#include <structmember.h>

#include "guards_quick.h"
#include "guards_table.h"
#include "pyframe.h"

enum { SMALL_REGISTERS = DL_QUICK_REGISTERS, SMALL_VALUES = DL_QUICK_VALUES };

/* ---- values compared by what they are ---- */

/* Whether two values are the same object, or tuples of the same objects; NULL stands for None. */
static int
items_identical(PyObject *a, PyObject *b)
{
    a = a ? a : Py_None;
    if (a == b) {
        return 1;
    }
    if (!PyTuple_CheckExact(a) || !PyTuple_CheckExact(b) || PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) {
        return 0;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++) {
        if (PyTuple_GET_ITEM(a, i) != PyTuple_GET_ITEM(b, i)) {
            return 0;
        }
    }
    return 1;
}

/* Whether keyword defaults (NULL: none) hold the same objects under the same names as the snapshot. */
static int
kwdefaults_identical(PyObject *now, PyObject *then)
{
    if (now == NULL || now == Py_None) {
        return then == Py_None;
    }
    if (then == Py_None || !PyDict_CheckExact(now) || PyDict_GET_SIZE(now) != PyDict_GET_SIZE(then)) {
        return 0;
    }
    PyObject *key, *value, *key_then, *value_then;
    Py_ssize_t at = 0, at_then = 0;
    while (PyDict_Next(then, &at_then, &key_then, &value_then)) {
        if (!PyDict_Next(now, &at, &key, &value) || value != value_then || !dl_constants_equal(key, key_then)) {
            return 0;
        }
    }
    return 1;
}

/* Whether a dictionary has exactly these keys in this order. */
static int
keys_equal(PyObject *dict, PyObject *keys)
{
    if (!PyDict_CheckExact(dict) || PyDict_GET_SIZE(dict) != PyTuple_GET_SIZE(keys)) {
        return 0;
    }
    PyObject *key, *value;
    Py_ssize_t at = 0;
    for (Py_ssize_t i = 0; PyDict_Next(dict, &at, &key, &value); i++) {
        if (!dl_constants_equal(key, PyTuple_GET_ITEM(keys, i))) {
            return 0;
        }
    }
    return 1;
}

/* The length of an exact builtin container, or -1. */
static int64_t
length_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (type == &PyTuple_Type || type == &PyList_Type || type == &PyBytes_Type) {
        return Py_SIZE(object);
    }
    if (type == &PyDict_Type) {
        return PyDict_GET_SIZE(object);
    }
    if (type == &PyUnicode_Type) {
        return PyUnicode_GET_LENGTH(object);
    }
    if (type == &PySet_Type || type == &PyFrozenSet_Type) {
        return PySet_GET_SIZE(object);
    }
    /* NB: subclasses with tuple's or list's own storage (namedtuples); that len() is theirs is a guard on the type. */
    if (PyTuple_Check(object) || PyList_Check(object)) {
        return Py_SIZE(object);
    }
    return -1;
}

/* The characters of an exact str or bytes as a read-only array over its memory, of the unsigned ints that hold them.
 * Returns a new reference; NULL without an error set for other objects. NB: arrays are not tracked, none starts a
 * garbage collection. */
static PyObject *
text_array(PyObject *object)
{
    static const int types[] = {[1] = NPY_UINT8, [2] = NPY_UINT16, [4] = NPY_UINT32};
    int type = NPY_UINT8;
    npy_intp length;
    void *data;
    if (PyBytes_CheckExact(object)) {
        length = PyBytes_GET_SIZE(object);
        data = PyBytes_AS_STRING(object);
    }
    else if (PyUnicode_CheckExact(object) && (int)PyUnicode_KIND(object) != 0) {
        length = PyUnicode_GET_LENGTH(object);
        data = PyUnicode_DATA(object);
        type = types[PyUnicode_KIND(object)];
    }
    else {
        return NULL;
    }
    PyObject *array = PyArray_New(&PyArray_Type, 1, &length, type, NULL, data, 0, NPY_ARRAY_CARRAY_RO, NULL);
    if (array != NULL && PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(object)) < 0) {
        Py_CLEAR(array);
    }
    return array;
}

/* ---- reads: borrowed references, NULL where missing ---- */

/* dict[name] for exact dictionaries; NULL also with an error set (then a key's own __eq__ raised). */
static PyObject *
read_key(PyObject *dict, PyObject *key)
{
    return PyDict_CheckExact(dict) ? PyDict_GetItemWithError(dict, key) : NULL;
}

/* dict[key] for exact dictionaries and a key that is a str or an int itself; else as read_key. */
static PyObject *
read_lookup(PyObject *dict, PyObject *key)
{
    return PyUnicode_CheckExact(key) || PyLong_CheckExact(key) ? read_key(dict, key) : NULL;
}

/* dict[name] of a namespace. NB: NULL, too, where a key beside it may run code when it is looked up, as with attributes
 * below: plain Python looks it up once, and may find another one after that. */
static PyObject *
read_name(PyObject *dict, PyObject *name)
{
    return dl_pyframe_keys_are_plain(dict) ? PyDict_GetItemWithError(dict, name) : NULL;
}

/* The attribute where the object itself or its class keeps it. */
static PyObject *
read_attr(const DlGuardOp *op, PyObject *base)
{
    PyObject *name = op->object[0];
    if (op->mode == FROM_CLASS) {
        PyObject *value = PyType_Check(base) ? _PyType_Lookup((PyTypeObject *)base, name) : NULL;
        if (value != NULL && Py_TYPE(value)->tp_descr_get != NULL && !PyFunction_Check(value)) {
            return NULL; /* a property, classmethod ...: reading it makes something else */
        }
        return value;
    }
    if (!dl_pyframe_names_are_plain(base)) {
        return NULL;
    }
    if (op->mode == FROM_MODULE) {
        return PyModule_CheckExact(base) ? PyDict_GetItemWithError(PyModule_GetDict(base), name) : NULL;
    }
    if (op->mode == FROM_DICT) {
        PyObject *dict = PyObject_GenericGetDict(base, NULL); /* the object keeps it */
        Py_XDECREF(dict);
        return dict ? PyDict_GetItemWithError(dict, name) : NULL;
    }
    PyObject *value = _PyObject_GenericGetAttrWithDict(base, name, NULL, 1);
    if (value == NULL) {
        return NULL;
    }
    /* NB: a value that nothing but us refers to was made by the read (a bound method): not a stored attribute. */
    int stored = Py_REFCNT(value) > 1;
    Py_DECREF(value);
    return stored ? value : NULL;
}

/* base[index] of a tuple or list. */
static PyObject *
read_item(PyObject *base, int64_t index)
{
    if (!PyTuple_Check(base) && !PyList_Check(base)) {
        return NULL;
    }
    Py_ssize_t n = Py_SIZE(base);
    index = index < 0 ? index + n : index;
    if (index < 0 || index >= n) {
        return NULL;
    }
    return PyTuple_Check(base) ? PyTuple_GET_ITEM(base, index) : PyList_GET_ITEM(base, index);
}

/* Whether reading `name` of object gives a method of `function` (or function itself: a static method): the object has
 * no value of its own under that name. Follows a type_version test on an ordinary class. */
static int
method_passes(const DlGuardOp *op, PyObject *object)
{
    if (!dl_pyframe_names_are_plain(object)) {
        return 0;
    }
    PyObject *value = _PyObject_GenericGetAttrWithDict(object, op->object[0], NULL, 1);
    if (value == NULL) {
        return 0;
    }
    int passes = value == op->object[1] || (PyMethod_Check(value) && PyMethod_GET_FUNCTION(value) == op->object[1]);
    Py_DECREF(value);
    return passes;
}

/* Whether object has no attribute of that name. Follows a type_version test on an ordinary class. */
static int
lacks_passes(const DlGuardOp *op, PyObject *object)
{
    if (!dl_pyframe_names_are_plain(object)) {
        return 0;
    }
    PyObject *value = _PyObject_GenericGetAttrWithDict(object, op->object[0], NULL, 1);
    Py_XDECREF(value);
    return value == NULL && !PyErr_Occurred();
}

/* What closure variable `index` of func holds, or the cell itself. */
static PyObject *
read_cell(PyObject *func, int64_t index, int itself)
{
    PyObject *closure = PyFunction_Check(func) ? PyFunction_GET_CLOSURE(func) : NULL;
    PyObject *cell = closure && index < PyTuple_GET_SIZE(closure) ? PyTuple_GET_ITEM(closure, index) : NULL;
    return cell == NULL || itself ? cell : PyCell_GET(cell);
}

/* ---- tests ---- */

/* An exact, aligned, plain ndarray of that dtype and rank, with size 1 at just those axes. */
static int
array_passes(const DlGuardOp *op, PyObject *object)
{
    if (!PyArray_CheckExact(object)) {
        return 0;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    PyArray_Descr *wanted = (PyArray_Descr *)op->object[0], *descr = PyArray_DESCR(array);
    if (descr != wanted && !(descr->type_num == wanted->type_num && dl_numpy_plain(descr))) {
        return 0;
    }
    int nd = PyArray_NDIM(array), flags = PyArray_FLAGS(array);
    if (nd != op->n[0] || !(flags & NPY_ARRAY_ALIGNED) || (op->n[2] > 0 && !(flags & NPY_ARRAY_WRITEABLE))
        || flags < 0) { /* the sign is NPY_ARRAY_WARN_ON_WRITE: NumPy warns at the first write */
        return 0;
    }
    const npy_intp *shape = PyArray_DIMS(array);
    int64_t ones = 0;
    for (int i = 0; i < nd; i++) {
        ones |= (int64_t)(shape[i] == 1) << i;
    }
    return ones == op->n[1];
}

/* One side of a comparison of sizes; -1 where the register holds no such array. */
static inline int64_t
compared_size(const DlComparison *comparison, int side, PyObject *const *regs)
{
    if (comparison->input[side] < 0) {
        return comparison->constant;
    }
    PyArrayObject *array = (PyArrayObject *)regs[comparison->input[side]];
    int32_t axis = comparison->axis[side];
    return PyArray_Check(array) && axis < PyArray_NDIM(array) ? PyArray_DIM(array, axis) : -1;
}

/* Whether a comparison of sizes is true. */
static inline int
comparison_passes(const DlComparison *comparison, PyObject *const *regs)
{
    int64_t a = compared_size(comparison, 0, regs), b = compared_size(comparison, 1, regs);
    if ((a < 0 && comparison->input[0] >= 0) || (b < 0 && comparison->input[1] >= 0)) {
        return 0;
    }
    return a < b ? comparison->less : a == b ? comparison->equal : comparison->greater;
}

/* Whether a relation between sizes and numbers is true. */
static int
scalar_passes(const DlGuards *self, const DlGuardOp *op, PyObject *const *regs, DlNumber *values)
{
    for (int32_t i = op->scalar.first_load; i < op->scalar.last_load; i++) {
        const DlScalarLoad *load = &self->scalars.loads[i];
        if (dl_scalar_load(&self->scalars, load, regs[self->inputs[load->input]], values)) {
            return 0;
        }
    }
    if (dl_scalar_eval(&self->scalars, op->scalar.first_instr, op->scalar.last_instr, values)) {
        return 0;
    }
    return values[op->scalar.value].i != 0;
}

/* A function with that code and those defaults, or (an int) so many, and keyword defaults, or (a tuple) of such names. */
static int
function_passes(const DlGuardOp *op, PyObject *object)
{
    if (!PyFunction_Check(object)) {
        return 0;
    }
    PyFunctionObject *function = (PyFunctionObject *)object;
    PyObject *defaults = function->func_defaults, *kwdefaults = function->func_kwdefaults;
    if (function->func_code != op->object[0]) {
        return 0;
    }
    if (op->mode) { /* read one by one, and guarded apart */
        Py_ssize_t n_defaults = defaults && PyTuple_CheckExact(defaults) ? PyTuple_GET_SIZE(defaults) : 0;
        PyObject *names = op->object[2];
        return n_defaults == op->n[0]
               && (kwdefaults && kwdefaults != Py_None ? keys_equal(kwdefaults, names) : PyTuple_GET_SIZE(names) == 0);
    }
    return items_identical(defaults, op->object[1]) && kwdefaults_identical(kwdefaults, op->object[2]);
}

/* An exact Python int that fits 64 bits, or an exact float, or a bool. */
static int
number_passes(const DlGuardOp *op, PyObject *object)
{
    if (op->mode != DL_INT) {
        return op->mode == DL_FLOAT ? PyFloat_CheckExact(object) : PyBool_Check(object);
    }
    if (!PyLong_CheckExact(object)) {
        return 0;
    }
    int overflow;
    (void)PyLong_AsLongLongAndOverflow(object, &overflow);
    return !overflow;
}

/* Run ops first to last - 1: `last` when all pass, else the index of the one that fails (-1 with an error set).
 * INVARIANT: no Python code runs, so borrowed registers stay alive; `own` is for tables where a key might run some. */
static inline int32_t
run_ops(const DlGuards *self, int32_t first, int32_t last, PyObject *func, PyObject *const *slots, Py_ssize_t nslots,
        PyObject **regs, DlNumber *values, const int own)
{
    for (int32_t i = first; i < last; i++) {
        const DlGuardOp *op = &self->ops[i];
        PyObject *value = NULL;
        int passes;
        switch ((Kind)op->kind) {
        case ARG:
            value = op->n[0] < nslots ? slots[op->n[0]] : NULL;
            goto set;
        case CONST:
            value = op->object[0];
            goto set;
        case GLOBAL:
            value = read_name(op->object[0], op->object[1]);
            goto set;
        case CELL:
        case OWN_CELL:
            value = read_cell(func, op->n[0], op->kind == OWN_CELL);
            goto set;
        case ATTR:
            value = read_attr(op, regs[op->reg[1]]);
            goto set;
        case ITEM:
            value = read_item(regs[op->reg[1]], op->n[0]);
            goto set;
        case KEY:
            value = read_key(regs[op->reg[1]], op->object[0]);
            goto set;
        case LOOKUP:
            value = read_lookup(regs[op->reg[1]], regs[op->reg[2]]);
            goto set;
        case CELL_CONTENTS:
            value = PyCell_Check(regs[op->reg[1]]) ? PyCell_GET(regs[op->reg[1]]) : NULL;
            goto set;
        case DEFAULTS:
            value = PyFunction_Check(regs[op->reg[1]]) ? PyFunction_GET_DEFAULTS(regs[op->reg[1]]) : NULL;
            goto set;
        case KWDEFAULTS:
            value = PyFunction_Check(regs[op->reg[1]]) ? PyFunction_GET_KW_DEFAULTS(regs[op->reg[1]]) : NULL;
            goto set;
        case CLOSURE:
        case CLOSURE_CELL:
            value = read_cell(regs[op->reg[1]], op->n[0], op->kind == CLOSURE_CELL);
            goto set;
        case METHOD_FUNCTION:
            value = PyMethod_Check(regs[op->reg[1]]) ? PyMethod_GET_FUNCTION(regs[op->reg[1]]) : NULL;
            goto set;
        case METHOD_SELF:
            value = PyMethod_Check(regs[op->reg[1]]) ? PyMethod_GET_SELF(regs[op->reg[1]]) : NULL;
            goto set;
        case BASE:
            value = PyArray_CheckExact(regs[op->reg[1]]) ? PyArray_BASE((PyArrayObject *)regs[op->reg[1]]) : NULL;
        set:
            if (value == NULL) {
                return PyErr_Occurred() ? -1 : i;
            }
            regs[op->reg[0]] = own ? Py_NewRef(value) : value;
            continue;
        case TEXT: /* a table with one has its own references */
            value = text_array(regs[op->reg[1]]);
            if (value == NULL) {
                return PyErr_Occurred() ? -1 : i;
            }
            regs[op->reg[0]] = value;
            continue;
        case DICT_LACKS:
            passes = dl_pyframe_keys_are_plain(op->object[0])
                     && PyDict_GetItemWithError(op->object[0], op->object[1]) == NULL;
            break;
        case IS:
            passes = regs[op->reg[0]] == op->object[0];
            break;
        case TYPE:
        case NP_SCALAR:
            passes = (PyObject *)Py_TYPE(regs[op->reg[0]]) == op->object[0];
            break;
        case TYPE_VERSION:
            /* NB: the tag becomes 0 or another number when the class or a base of it changes. */
            passes = (PyObject *)Py_TYPE(regs[op->reg[0]]) == op->object[0]
                     && ((PyTypeObject *)op->object[0])->tp_version_tag == op->n[0];
            break;
        case CLASS_VERSION:
            passes = regs[op->reg[0]] == op->object[0]
                     && ((PyTypeObject *)op->object[0])->tp_version_tag == op->n[0];
            break;
        case METHOD:
            passes = method_passes(op, regs[op->reg[0]]);
            break;
        case LACKS:
            passes = lacks_passes(op, regs[op->reg[0]]);
            if (!passes && PyErr_Occurred()) {
                return -1;
            }
            break;
        case GLOBALS:
            passes = PyFunction_Check(func) && PyFunction_GET_GLOBALS(func) == op->object[0];
            break;
        case DTYPE:
            passes = PyArray_CheckExact(regs[op->reg[0]])
                     && (PyObject *)PyArray_DESCR((PyArrayObject *)regs[op->reg[0]]) == op->object[0]
                     && PyArray_NDIM((PyArrayObject *)regs[op->reg[0]]) == op->n[0];
            break;
        case EQUAL:
            passes = dl_constants_equal(regs[op->reg[0]], op->object[0]);
            break;
        case LENGTH:
            passes = length_of(regs[op->reg[0]]) == op->n[0];
            break;
        case DICT_KEYS:
            passes = keys_equal(regs[op->reg[0]], op->object[0]);
            break;
        case FUNCTION:
            passes = function_passes(op, regs[op->reg[0]]);
            break;
        case FUNCTION_GLOBALS:
            passes = PyFunction_Check(regs[op->reg[0]]) && PyFunction_GET_GLOBALS(regs[op->reg[0]]) == op->object[0];
            break;
        case ARRAY:
            passes = array_passes(op, regs[op->reg[0]]);
            break;
        case PART:
            passes = dl_guards_is_part(regs[op->reg[0]], regs[op->reg[1]], op->object[0]);
            break;
        case APART:
            passes = dl_guards_are_apart(regs[op->reg[0]], regs[op->reg[1]]);
            break;
        case SAME:
            passes = regs[op->reg[0]] == regs[op->reg[1]];
            break;
        case DISTINCT:
            passes = regs[op->reg[0]] != regs[op->reg[1]];
            break;
        case SCALAR:
            passes = op->mode ? comparison_passes(&op->comparison, regs) : scalar_passes(self, op, regs, values);
            break;
        case NUMBER:
            passes = number_passes(op, regs[op->reg[0]]);
            break;
        default:
            Py_UNREACHABLE();
        }
        if (!passes) {
            return i;
        }
    }
    return last;
}

int32_t
dl_guards_run(const DlGuards *self, int32_t first, int32_t last, PyObject *func, PyObject *const *slots, Py_ssize_t nslots,
              PyObject **regs, DlNumber *values)
{
    return run_ops(self, first, last, func, slots, nslots, regs, values, 0);
}

/* run_ops, and new references to the inputs when all pass. */
static int32_t
check(DlGuards *self, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **inputs)
{
    PyObject *small_regs[SMALL_REGISTERS], **regs = small_regs;
    DlNumber small_values[SMALL_VALUES], *values = small_values;
    int32_t reached = -1;
    if (self->n_registers > SMALL_REGISTERS || self->scalars.n_values > SMALL_VALUES) {
        regs = PyMem_New(PyObject *, self->n_registers + 1);
        values = PyMem_New(DlNumber, self->scalars.n_values + 1);
        if (regs == NULL || values == NULL) {
            PyErr_NoMemory();
            goto done;
        }
    }
    if (self->scalars.n_values) {
        memcpy(values, self->scalars.initial, (size_t)self->scalars.n_values * sizeof *values);
    }
    if (self->own) {
        memset(regs, 0, (size_t)self->n_registers * sizeof *regs);
        reached = run_ops(self, 0, self->n_ops, func, slots, nslots, regs, values, 1);
    }
    else {
        reached = dl_guards_run(self, 0, self->n_ops, func, slots, nslots, regs, values);
    }
    if (reached == self->n_ops) {
        for (int32_t i = 0; i < self->n_inputs; i++) {
            inputs[i] = Py_NewRef(regs[self->inputs[i]]);
        }
    }
    for (int32_t i = 0; self->own && i < self->n_registers; i++) {
        Py_XDECREF(regs[i]);
    }
done:
    if (regs != small_regs) {
        PyMem_Free(regs);
    }
    if (values != small_values) {
        PyMem_Free(values);
    }
    return reached;
}

int
dl_guards_check(PyObject *guards, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **inputs)
{
    DlGuards *self = (DlGuards *)guards;
    int32_t reached = check(self, func, slots, nslots, inputs);
    return reached < 0 ? -1 : reached == self->n_ops;
}

int
dl_guards_are_plain(PyObject *guards)
{
    DlGuards *self = (DlGuards *)guards;
    return !self->own && self->n_registers <= SMALL_REGISTERS && self->scalars.n_values <= SMALL_VALUES;
}

Py_ssize_t
dl_guards_n_inputs(PyObject *guards)
{
    return ((DlGuards *)guards)->n_inputs;
}

/* ---- the Python type ---- */

static int
guards_traverse(PyObject *object, visitproc visit, void *arg)
{
    DlGuards *self = (DlGuards *)object;
    for (int32_t i = 0; i < self->n_ops; i++) {
        for (int j = 0; j < MAX_OBJECTS; j++) {
            Py_VISIT(self->ops[i].object[j]);
        }
    }
    Py_VISIT(self->ops_tuple);
    Py_VISIT(self->inputs_tuple);
    return 0;
}

static int
guards_clear(PyObject *object)
{
    DlGuards *self = (DlGuards *)object;
    int32_t n_ops = self->n_ops;
    self->n_ops = self->n_quick = 0;
    for (int32_t i = 0; i < n_ops; i++) {
        for (int j = 0; j < MAX_OBJECTS; j++) {
            Py_CLEAR(self->ops[i].object[j]);
        }
    }
    if (n_ops) {
        /* A cleared table passes nothing: its one op reads a slot that no frame has. */
        self->ops[0] = (DlGuardOp){.kind = ARG, .n = {INT64_MAX}};
        self->n_ops = 1;
    }
    Py_CLEAR(self->ops_tuple);
    Py_CLEAR(self->inputs_tuple);
    return 0;
}

static void
guards_dealloc(PyObject *object)
{
    DlGuards *self = (DlGuards *)object;
    PyObject_GC_UnTrack(object);
    guards_clear(object);
    PyMem_Free(self->ops);
    PyMem_Free(self->inputs);
    PyMem_Free(self->quick);
    dl_scalar_clear(&self->scalars);
    Py_TYPE(object)->tp_free(object);
}

static PyObject *
guards_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"ops", "inputs", NULL};
    PyObject *ops, *inputs;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO:Guards", names, &ops, &inputs)) {
        return NULL;
    }
    DlGuards *self = (DlGuards *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->ops_tuple = PySequence_Tuple(ops);
    self->inputs_tuple = self->ops_tuple ? PySequence_Tuple(inputs) : NULL;
    if (self->inputs_tuple == NULL || dl_guards_build(self) < 0
        || dl_guards_quicken(self) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

/* Parse (func, slots) of check() and explain(): 0 or -1. */
static int
parse_call(PyObject *const *args, Py_ssize_t nargs, PyObject **func, PyObject **slots)
{
    if (nargs != 2 || !PyTuple_Check(args[1])) {
        PyErr_SetString(PyExc_TypeError, "expected a function and a tuple of slots");
        return -1;
    }
    *func = args[0];
    *slots = args[1];
    return 0;
}

/* check(func, slots) -> the inputs, or None. */
static PyObject *
guards_check(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    DlGuards *self = (DlGuards *)object;
    PyObject *func, *slots;
    if (parse_call(args, nargs, &func, &slots) < 0) {
        return NULL;
    }
    PyObject *inputs = PyTuple_New(self->n_inputs);
    if (inputs == NULL) {
        return NULL;
    }
    PyObject **items = &PyTuple_GET_ITEM(inputs, 0);
    int32_t reached = check(self, func, &PyTuple_GET_ITEM(slots, 0), PyTuple_GET_SIZE(slots), items);
    if (reached == self->n_ops) {
        return inputs;
    }
    Py_DECREF(inputs);
    return reached < 0 ? NULL : Py_NewRef(Py_None);
}

/* Call dynamo_lite.guards.words.`name`(...): the words for people are made in Python. */
static PyObject *
words(const char *name, const char *format, ...)
{
    PyObject *module = PyImport_ImportModule("dynamo_lite.guards.words");
    PyObject *function = module ? PyObject_GetAttrString(module, name) : NULL;
    Py_XDECREF(module);
    if (function == NULL) {
        return NULL;
    }
    va_list list;
    va_start(list, format);
    PyObject *args = Py_VaBuildValue(format, list);
    va_end(list);
    PyObject *result = args ? PyObject_CallObject(function, args) : NULL;
    Py_DECREF(function);
    Py_XDECREF(args);
    return result;
}

/* explain(func, slots) -> the first guard that fails, in words, or None. */
static PyObject *
guards_explain(PyObject *object, PyObject *const *args, Py_ssize_t nargs)
{
    DlGuards *self = (DlGuards *)object;
    PyObject *func, *slots;
    if (parse_call(args, nargs, &func, &slots) < 0) {
        return NULL;
    }
    PyObject **inputs = PyMem_New(PyObject *, self->n_inputs + 1);
    if (inputs == NULL) {
        return PyErr_NoMemory();
    }
    int32_t reached = check(self, func, &PyTuple_GET_ITEM(slots, 0), PyTuple_GET_SIZE(slots), inputs);
    for (int32_t i = 0; reached == self->n_ops && i < self->n_inputs; i++) {
        Py_DECREF(inputs[i]);
    }
    PyMem_Free(inputs);
    if (reached < 0) {
        return NULL;
    }
    if (reached == self->n_ops) {
        Py_RETURN_NONE;
    }
    return words("explain", "(OOiOO)", self->ops_tuple, self->inputs_tuple, (int)reached, func, slots);
}

static PyObject *
guards_str(PyObject *object)
{
    DlGuards *self = (DlGuards *)object;
    return words("to_text", "(OO)", self->ops_tuple, self->inputs_tuple);
}

static PyObject *
guards_repr(PyObject *object)
{
    DlGuards *self = (DlGuards *)object;
    return PyUnicode_FromFormat("<Guards of %d ops, %d inputs>", self->n_ops, self->n_inputs);
}

static PyMethodDef guards_methods[] = {
    {"check", _PyCFunction_CAST(guards_check), METH_FASTCALL, "check(func, slots): the inputs, or None."},
    {"explain", _PyCFunction_CAST(guards_explain), METH_FASTCALL,
     "explain(func, slots): the first guard that fails, in words, or None."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef guards_members[] = {
    {"ops", T_OBJECT, offsetof(DlGuards, ops_tuple), READONLY, "the ops as given"},
    {"inputs", T_OBJECT, offsetof(DlGuards, inputs_tuple), READONLY, "the registers that hold the graph's inputs"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject guards_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Guards",
    .tp_doc = "Guards(ops, inputs): checks that yield a graph's inputs; csrc/guards.def lists the ops.",
    .tp_basicsize = sizeof(DlGuards),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = guards_new,
    .tp_dealloc = guards_dealloc,
    .tp_traverse = guards_traverse,
    .tp_clear = guards_clear,
    .tp_methods = guards_methods,
    .tp_members = guards_members,
    .tp_str = guards_str,
    .tp_repr = guards_repr,
};

/* names_are_plain(obj) -> bool. */
static PyObject *
names_are_plain(PyObject *module, PyObject *object)
{
    (void)module;
    return PyBool_FromLong(PyDict_CheckExact(object) ? dl_pyframe_keys_are_plain(object)
                                                     : dl_pyframe_names_are_plain(object));
}

/* version_tag(cls) -> int. */
static PyObject *
version_tag(PyObject *module, PyObject *type)
{
    (void)module;
    if (!PyType_Check(type)) {
        return PyErr_Format(PyExc_TypeError, "version_tag: expected a class, not %.100s", Py_TYPE(type)->tp_name);
    }
    return PyLong_FromUnsignedLong(dl_guards_version_tag((PyTypeObject *)type));
}

/* text_array(text) -> the array that the op "text" makes of a str or bytes, None of other objects. */
static PyObject *
text_array_of(PyObject *module, PyObject *object)
{
    (void)module;
    PyObject *array = text_array(object);
    return array != NULL || PyErr_Occurred() ? array : Py_NewRef(Py_None);
}

static PyMethodDef functions[] = {
    {"text_array", text_array_of, METH_O,
     "text_array(text): the characters of a str or bytes as a read-only array over its memory; None for other objects."},
    {"names_are_plain", names_are_plain, METH_O,
     "names_are_plain(obj) -> whether looking a name up in a namespace, or in the __dict__ of obj, runs no code."},
    {"generic_attributes", dl_guards_generic_attributes, METH_O,
     "generic_attributes(cls) -> whether instances' attributes are found, and stored, as a plain object's are."},
    {"version_tag", version_tag, METH_O,
     "version_tag(cls) -> int that changes with the class and its bases; 0 where CPython gives out no more."},
    {NULL, NULL, 0, NULL},
};

int
dl_guards_register(PyObject *module)
{
    if (dl_numpy_import() < 0 || PyModule_AddFunctions(module, functions) < 0 || PyModule_AddType(module, &guards_type) < 0) {
        return -1;
    }
    PyObject *kinds = PyTuple_New(N_KINDS);
    for (int i = 0; kinds != NULL && i < N_KINDS; i++) {
        PyObject *row = Py_BuildValue("(sss)", dl_guard_rows[i].name, dl_guard_rows[i].operands, dl_guard_rows[i].words);
        if (row == NULL) {
            Py_CLEAR(kinds);
            break;
        }
        PyTuple_SET_ITEM(kinds, i, row);
    }
    int status = kinds == NULL ? -1 : PyModule_AddObjectRef(module, "GUARD_KINDS", kinds);
    Py_XDECREF(kinds);
    return status;
}
