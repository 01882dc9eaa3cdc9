/* The ops of a table of guards: what each reads, and tests (see guards.def). */
#include "frame/cache.h"
#include "array_columns.h"
#include "columns.h"
#include "guards.h"
#include "guards_table.h"
#include "frame/pyframe.h"
#include "quiet.h"

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

/* The length of an exact builtin container, or of any tuple, or -1. */
static int64_t
length_of(PyObject *object)
{
    PyTypeObject *type = Py_TYPE(object);
    if (PyTuple_Check(object) || type == &PyList_Type || type == &PyBytes_Type) {
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
PyObject *
dl_guards_text_array(PyObject *object)
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

/* base[index] where that is an int itself. */
static PyObject *
read_item_at(PyObject *base, PyObject *index)
{
    int overflow = 1;
    int64_t number = PyLong_CheckExact(index) ? PyLong_AsLongLongAndOverflow(index, &overflow) : 0;
    return overflow ? NULL : read_item(base, number);
}

/* The sum of an int and a constant: a new reference, or NULL, without an error where it is no int of 64 bits. */
static PyObject *
read_sum(PyObject *number, int64_t addend)
{
    int overflow = 1;
    long long sum = PyLong_CheckExact(number) ? PyLong_AsLongLongAndOverflow(number, &overflow) : 0;
    return overflow || __builtin_add_overflow(sum, (long long)addend, &sum) ? NULL : PyLong_FromLongLong(sum);
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
    PyObject *method = op->object[1];
    int passes = value == method || (PyMethod_Check(value) && PyMethod_GET_FUNCTION(value) == method)
                 || (PyCFunction_Check(value) && PyCFunction_GET_SELF(value) == object && Py_IS_TYPE(method, &PyMethodDescr_Type)
                     && ((PyCFunctionObject *)value)->m_ml == ((PyMethodDescrObject *)method)->d_method);
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
static inline int
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

/* Whether no program takes an array (wrap.py, supported_array). Its dtype is not compared with one that was met: those of
   strings, dates and records are new objects with each array. */
static int
is_unfit(PyArrayObject *array)
{
    int flags = PyArray_FLAGS(array);
    return !(flags & NPY_ARRAY_ALIGNED) || flags < 0 || PyArray_NDIM(array) > DL_MAX_DIMS
           || !dl_numpy_plain(PyArray_DESCR(array));
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
    /* NB: a function that is watched is given other code, with other polls, while it is in use. */
    PyObject *code = function->func_code;
    if (code != op->object[0] && dl_cache_user_code(code) != dl_cache_user_code(op->object[0])) {
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
static inline int
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

/* Run all ops: their number when all pass, else the index of the one that fails (-1 with an error set).
 * INVARIANT: no Python code runs, so borrowed registers stay alive; `own` is for tables where a key might run some. */
static inline int32_t
run_ops(const DlGuards *self, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **regs,
        DlNumber *values, const int own)
{
    const int32_t n_ops = self->n_ops;
    for (int32_t i = 0; i < n_ops; i++) {
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
            value = dl_guards_text_array(regs[op->reg[1]]);
            if (value == NULL) {
                return PyErr_Occurred() ? -1 : i;
            }
            regs[op->reg[0]] = value;
            continue;
        case COMPLEX_PART: /* the same */
            if (!PyComplex_CheckExact(regs[op->reg[1]])) {
                return i;
            }
            value = PyFloat_FromDouble(op->n[0] ? PyComplex_ImagAsDouble(regs[op->reg[1]])
                                                : PyComplex_RealAsDouble(regs[op->reg[1]]));
            if (value == NULL) {
                return -1;
            }
            regs[op->reg[0]] = value;
            continue;
        case LIST_LENGTH: /* the same */
            value = PyList_CheckExact(regs[op->reg[1]]) ? PyLong_FromSsize_t(PyList_GET_SIZE(regs[op->reg[1]])) : NULL;
            if (value == NULL) {
                return PyErr_Occurred() ? -1 : i;
            }
            regs[op->reg[0]] = value;
            continue;
        case ITEM_AT:
            value = read_item_at(regs[op->reg[1]], regs[op->reg[2]]);
            goto set;
        case PLUS: /* a new object */
            value = read_sum(regs[op->reg[1]], op->n[0]);
            if (value == NULL) {
                return PyErr_Occurred() ? -1 : i;
            }
            regs[op->reg[0]] = value;
            continue;
        case COLUMN: /* the same */
            value = dl_columns_make(regs[op->reg[1]], op->object[0]);
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
        case PACKED:
            passes = PyArray_CheckExact(regs[op->reg[0]])
                     && PyArray_CHKFLAGS((PyArrayObject *)regs[op->reg[0]],
                                         op->n[0] ? NPY_ARRAY_F_CONTIGUOUS : NPY_ARRAY_C_CONTIGUOUS) == op->n[1];
            break;
        case UNFIT:
            passes = PyArray_CheckExact(regs[op->reg[0]]) && is_unfit((PyArrayObject *)regs[op->reg[0]]);
            break;
        case QUIET:
            passes = dl_quiet_is_short(regs[op->reg[0]]);
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
        case DISJOINT:
            passes = dl_guards_are_disjoint(regs[op->reg[0]], regs[op->reg[1]]);
            break;
        case SAME:
            passes = regs[op->reg[0]] == regs[op->reg[1]];
            break;
        case DISTINCT:
            passes = regs[op->reg[0]] != regs[op->reg[1]];
            break;
        case ALL_LACK:
            passes = dl_columns_all_lack(regs[op->reg[0]], op->object[0]);
            if (passes < 0) {
                return -1;
            }
            break;
        case ALL_DIFFER:
            passes = dl_columns_all_differ(regs[op->reg[0]], regs[op->reg[1]]);
            if (passes < 0) {
                return -1;
            }
            break;
        case APART:
            passes = dl_array_columns_are_apart(regs[op->reg[0]], regs[op->reg[1]]);
            if (passes < 0) {
                return -1;
            }
            break;
        case HOLDS_NOT:
            passes = (PyList_CheckExact(regs[op->reg[0]]) || PyTuple_CheckExact(regs[op->reg[0]]))
                     && !dl_columns_holds(regs[op->reg[0]], regs[op->reg[1]], op->n[0]);
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
    return n_ops;
}

int32_t
dl_guards_run(const DlGuards *self, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **regs,
              DlNumber *values)
{
    if (self->scalars.n_values) {
        memcpy(values, self->scalars.initial, (size_t)self->scalars.n_values * sizeof *values);
    }
    return self->own ? run_ops(self, func, slots, nslots, regs, values, 1)
                     : run_ops(self, func, slots, nslots, regs, values, 0);
}

int
dl_guards_are_plain(PyObject *guards)
{
    const DlGuards *self = (DlGuards *)guards;
    return !self->own && self->n_registers <= DL_GUARD_REGISTERS && self->scalars.n_values <= DL_GUARD_VALUES;
}

int
dl_guards_borrow(PyObject *guards, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **inputs)
{
    const DlGuards *self = (DlGuards *)guards;
    PyObject *regs[DL_GUARD_REGISTERS];
    DlNumber values[DL_GUARD_VALUES];
    if (self->scalars.n_values) {
        memcpy(values, self->scalars.initial, (size_t)self->scalars.n_values * sizeof *values);
    }
    int32_t reached = run_ops(self, func, slots, nslots, regs, values, 0);
    if (reached != self->n_ops) {
        return reached < 0 ? -1 : 0;
    }
    for (int32_t i = 0; i < self->n_inputs; i++) {
        inputs[i] = regs[self->inputs[i]];
    }
    return 1;
}
