/* Guards (see guards.h, guards.def). */
#include "guards.h"

#include <structmember.h>

#include "array_columns.h"
#include "columns.h"
#include "guards_table.h"
#include "frame/pyframe.h"
#include "quiet.h"

/* Run the ops, and new references to the inputs when all pass. */
static int32_t
check(DlGuards *self, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **inputs)
{
    PyObject *small_regs[DL_GUARD_REGISTERS], **regs = small_regs;
    DlNumber small_values[DL_GUARD_VALUES], *values = small_values;
    int32_t reached = -1;
    if (self->n_registers > DL_GUARD_REGISTERS || self->scalars.n_values > DL_GUARD_VALUES) {
        regs = PyMem_New(PyObject *, self->n_registers + 1);
        values = PyMem_New(DlNumber, self->scalars.n_values + 1);
        if (regs == NULL || values == NULL) {
            PyErr_NoMemory();
            goto done;
        }
    }
    if (self->own) {
        memset(regs, 0, (size_t)self->n_registers * sizeof *regs);
    }
    reached = dl_guards_run(self, func, slots, nslots, regs, values);
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
    if (dl_guards_are_plain(guards)) {
        int passed = dl_guards_borrow(guards, func, slots, nslots, inputs);
        for (int32_t i = 0; passed == 1 && i < self->n_inputs; i++) {
            Py_INCREF(inputs[i]);
        }
        return passed;
    }
    int32_t reached = check(self, func, slots, nslots, inputs);
    return reached < 0 ? -1 : reached == self->n_ops;
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
    if (self->n_ops) { /* a cleared table passes nothing: its first op reads a slot that no frame has */
        self->ops[0].kind = ARG;
        self->ops[0].n[0] = INT64_MAX;
    }
    for (int32_t i = 0; i < self->n_ops; i++) {
        for (int j = 0; j < MAX_OBJECTS; j++) {
            Py_CLEAR(self->ops[i].object[j]);
        }
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
    if (self->inputs_tuple == NULL || dl_guards_build(self) < 0) {
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

PyTypeObject dl_guards_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Guards",
    .tp_doc = "Guards(ops, inputs): checks that yield a graph's inputs; csrc/guards/guards.def lists the ops.",
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

/* Whether comparing a class, hashing it, or reading an attribute of it runs code that its own class defines. */
static int
class_runs_code(PyTypeObject *type)
{
    PyTypeObject *own = Py_TYPE(type);
    if (own == &PyType_Type) {
        return 0;
    }
    static PyObject *name;
    if (name == NULL && (name = PyUnicode_InternFromString("__getattribute__")) == NULL) {
        return -1;
    }
    return own->tp_hash != PyType_Type.tp_hash || own->tp_richcompare != PyType_Type.tp_richcompare
           || _PyType_Lookup(own, name) != _PyType_Lookup(&PyType_Type, name);
}

/* looks_plain(obj) -> bool. */
static PyObject *
looks_plain(PyObject *module, PyObject *object)
{
    (void)module;
    int runs = class_runs_code(Py_TYPE(object));
    if (runs == 0 && PyType_Check(object)) {
        runs = class_runs_code((PyTypeObject *)object);
    }
    return runs < 0 ? NULL : PyBool_FromLong(!runs);
}

/* class_of(obj) -> its class; where looking at that runs code, NoneType, of which no object is seen. */
static PyObject *
class_of(PyObject *module, PyObject *object)
{
    (void)module;
    int runs = class_runs_code(Py_TYPE(object));
    return runs < 0 ? NULL : Py_NewRef(runs ? (PyObject *)Py_TYPE(Py_None) : (PyObject *)Py_TYPE(object));
}

/* own_attribute(obj, name, otherwise) -> what obj itself has under that name, or otherwise. */
static PyObject *
own_attribute(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *object, *name, *otherwise;
    if (!PyArg_ParseTuple(args, "OUO:own_attribute", &object, &name, &otherwise)) {
        return NULL;
    }
    PyObject *found = dl_pyframe_own_attribute(object, name);
    return found != NULL || PyErr_Occurred() ? found : Py_NewRef(otherwise);
}

/* find_changed(namespace, names, values) -> the place of the first name that has another value there, or -1. */
static PyObject *
find_changed(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *namespace, *names, *values;
    if (!PyArg_ParseTuple(args, "O!O!O!:find_changed", &PyDict_Type, &namespace, &PyTuple_Type, &names, &PyTuple_Type,
                          &values)) {
        return NULL;
    }
    if (PyTuple_GET_SIZE(names) != PyTuple_GET_SIZE(values)) {
        PyErr_SetString(PyExc_ValueError, "find_changed(): as many values as names");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
        if (PyDict_GetItemWithError(namespace, PyTuple_GET_ITEM(names, i)) != PyTuple_GET_ITEM(values, i)) {
            return PyErr_Occurred() ? NULL : PyLong_FromSsize_t(i);
        }
    }
    return PyLong_FromLong(-1);
}

/* keeps_attributes(obj) -> bool. */
static PyObject *
keeps_attributes(PyObject *module, PyObject *object)
{
    (void)module;
    return PyBool_FromLong(dl_pyframe_keeps_attributes(object));
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
    PyObject *array = dl_guards_text_array(object);
    return array != NULL || PyErr_Occurred() ? array : Py_NewRef(Py_None);
}

/* column(list, path) -> the array that the op "column" makes, None where the items are of other types. */
static PyObject *
column_of(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *object, *path;
    if (!PyArg_ParseTuple(args, "OO:column", &object, &path)) {
        return NULL;
    }
    if (!dl_columns_is_path(path)) {
        return PyErr_Format(PyExc_ValueError, "column: %R is no path", path);
    }
    PyObject *array = dl_columns_make(object, path);
    return array != NULL || PyErr_Occurred() ? array : Py_NewRef(Py_None);
}

/* put_column(path, marks, table, *values): see columns.h. */
static PyObject *
put_column(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *path, *marks, *table, *values[4] = {NULL};
    if (!PyArg_ParseTuple(args, "OOOO|OOO:put_column", &path, &marks, &table, &values[0], &values[1], &values[2],
                          &values[3])) {
        return NULL;
    }
    if (!dl_columns_is_path(path)) {
        return PyErr_Format(PyExc_ValueError, "put_column: %R is no path", path);
    }
    return dl_columns_put(path, marks, table, values, PyTuple_GET_SIZE(args) - 3) < 0 ? NULL : Py_NewRef(Py_None);
}

/* all_differ(one, other) -> bool: see columns.h. */
static PyObject *
all_differ(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *one, *other;
    if (!PyArg_ParseTuple(args, "OO:all_differ", &one, &other)) {
        return NULL;
    }
    int differ = dl_columns_all_differ(one, other);
    return differ < 0 ? NULL : PyBool_FromLong(differ);
}

/* are_apart(one, other) -> bool: see array_columns.h. */
static PyObject *
are_apart(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *one, *other;
    if (!PyArg_ParseTuple(args, "OO:are_apart", &one, &other)) {
        return NULL;
    }
    int apart = dl_array_columns_are_apart(one, other);
    return apart < 0 ? NULL : PyBool_FromLong(apart);
}

/* holds(one, object, depth) -> bool: see columns.h. */
static PyObject *
holds(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *one, *object;
    Py_ssize_t depth;
    if (!PyArg_ParseTuple(args, "OOn:holds", &one, &object, &depth)) {
        return NULL;
    }
    int is_list = PyList_CheckExact(one) || PyTuple_CheckExact(one);
    return PyBool_FromLong(is_list && dl_columns_holds(one, object, depth));
}

/* all_lack(sequence, path) -> bool: see columns.h. */
static PyObject *
all_lack(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *object, *path;
    if (!PyArg_ParseTuple(args, "OU:all_lack", &object, &path)) {
        return NULL;
    }
    int lack = dl_columns_all_lack(object, path);
    return lack < 0 ? NULL : PyBool_FromLong(lack);
}

/* dies_quietly(object) -> bool: see quiet.h. */
static PyObject *
dies_quietly(PyObject *module, PyObject *object)
{
    (void)module;
    return PyBool_FromLong(dl_quiet_is_short(object));
}

PyMethodDef dl_guards_functions[] = {
    {"dies_quietly", dies_quietly, METH_O,
     "dies_quietly(object): whether it is a number, a string, an array, or a short list or tuple of such."},
    {"all_lack", all_lack, METH_VARARGS,
     "all_lack(sequence, path): whether no object at a path has anything of its own under the name in it."},
    {"put_column", put_column, METH_VARARGS,
     "put_column(path, marks, table, *values): store what a program has left in the column of an attribute."},
    {"all_differ", all_differ, METH_VARARGS,
     "all_differ(one, other): whether all objects in two lists, or in those that they hold, differ."},
    {"are_apart", are_apart, METH_VARARGS,
     "are_apart(one, other): whether two arrays, or all of which they are columns, have no byte in common."},
    {"holds", holds, METH_VARARGS,
     "holds(one, object, depth): whether a list or tuple, or one of those that it holds, so many deep, holds that object."},
    {"column", column_of, METH_VARARGS,
     "column(sequence, path): the numbers at a path of nested lists and tuples, as a read-only array; None where their "
     "items are of other types."},
    {"text_array", text_array_of, METH_O,
     "text_array(text): the characters of a str or bytes as a read-only array over its memory; None for other objects."},
    {"names_are_plain", names_are_plain, METH_O,
     "names_are_plain(obj) -> whether looking a name up in a namespace, or in the __dict__ of obj, runs no code."},
    {"looks_plain", looks_plain, METH_O,
     "looks_plain(obj) -> whether looking at the class of obj, or at obj where it is one, runs no code."},
    {"class_of", class_of, METH_O,
     "class_of(obj) -> its class; NoneType where looking at that runs code."},
    {"own_attribute", own_attribute, METH_VARARGS,
     "own_attribute(obj, name, otherwise) -> what obj itself has under that name, whose __dict__ is not made for that."},
    {"find_changed", find_changed, METH_VARARGS,
     "find_changed(namespace, names, values) -> the place of the first name that has another value there, or -1."},
    {"keeps_attributes", keeps_attributes, METH_O,
     "keeps_attributes(obj) -> whether obj has attributes of its own, in what is, or would be, exactly a dict."},
    {"generic_attributes", dl_guards_generic_attributes, METH_O,
     "generic_attributes(cls) -> whether instances' attributes are found, and stored, as a plain object's are."},
    {"version_tag", version_tag, METH_O,
     "version_tag(cls) -> int that changes with the class and its bases; 0 where CPython gives out no more."},
    {NULL, NULL, 0, NULL},
};

int
dl_guards_register(PyObject *module)
{
    if (dl_numpy_import() < 0 || PyModule_AddType(module, &dl_guards_type) < 0) {
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
