/* Lists and dicts: a program puts the objects of its values into lists and dicts of its own and into those that go in; no
 * other step looks into them.
 *
 * A list lies in a register of kind DL_OTHER; own_shape[0] of one that goes in says how long it was. A program that
 * declines frees its own, which nobody has seen. The others get back from the journal what it has replaced, and lose what
 * it has appended. What it has replaced lives until then: only objects that die unnoticed are replaced. Of numbers that
 * something else may hold, too, a table has the objects (objects.c).
 */
#include <math.h>

#include "build.h"
#include "objects.h"

/* One of the values; 0 or -1. */
static int
build_item(DlBuilder *builder, PyObject *value, DlItem *item)
{
    int symbolic = dl_build_is_reg(value) ? 1 : dl_scalar_is_symbolic(value);
    if (symbolic <= 0) {
        item->operand.kind = DL_FROM_CELL;
        item->constant = dl_program_own(builder->program, Py_NewRef(value));
        return item->constant ? symbolic : -1;
    }
    if (dl_build_input(builder, value, &item->operand) < 0) {
        return -1;
    }
    if (item->operand.kind == DL_FROM_REG) {
        builder->shown[item->operand.index] = 1;
    }
    return 0;
}

/* The attribute `name` of a step, an item; 1, 0 if it is None, or -1. */
static int
build_attribute(DlBuilder *builder, PyObject *object, const char *name, DlItem *item)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    int status = value == NULL ? -1 : value != Py_None;
    if (status > 0 && build_item(builder, value, item) < 0) {
        status = -1;
    }
    Py_XDECREF(value);
    return status;
}

/* The items of the attribute `name` of a step, a tuple: how many, or -1 with an error set; *n counts those that are
 * there. */
static int
build_items(DlBuilder *builder, PyObject *object, const char *name, DlItem **items, int *n)
{
    PyObject *values = dl_build_tuple(object, name);
    int count = values ? (int)PyTuple_GET_SIZE(values) : 0, status = values ? 0 : -1;
    if (status == 0) {
        *items = dl_build_rows(builder, count, sizeof **items);
        status = *items ? 0 : -1;
    }
    for (int i = 0; i < count && status == 0; i++) {
        *n = i + 1;
        status = build_item(builder, PyTuple_GET_ITEM(values, i), &(*items)[i]);
    }
    Py_XDECREF(values);
    return status < 0 ? -1 : count;
}

int
dl_build_new(DlBuilder *builder, PyObject *object, DlNewStep *step)
{
    step->dst = dl_build_int(object, "dst");
    step->is_dict = dl_build_bool(object, "is_dict");
    step->is_table = dl_build_bool(object, "is_table");
    if (step->dst == INT32_MIN || step->is_dict < 0 || step->is_table < 0) {
        return -1;
    }
    if (build_items(builder, object, "firsts", &step->firsts, &step->n_firsts) < 0) {
        return -1;
    }
    int repeats = build_attribute(builder, object, "value", &step->value);
    int counts = repeats < 0 ? -1 : build_attribute(builder, object, "count", &step->count);
    if (counts >= 0 && repeats != counts) {
        return dl_build_refuse(builder, "a value without a count", object);
    }
    step->repeats = repeats;
    return counts < 0 ? -1 : dl_build_set(builder, step->dst, object);
}

int
dl_build_put(DlBuilder *builder, PyObject *object, DlPutStep *step)
{
    step->list = dl_build_int(object, "list");
    if (step->list == INT32_MIN || dl_build_use(builder, step->list, object) < 0) {
        return -1;
    }
    step->table = dl_build_int(object, "table");
    if (step->table == INT32_MIN || (step->table >= 0 && dl_build_use(builder, step->table, object) < 0)) {
        return -1;
    }
    step->has_key = build_attribute(builder, object, "key", &step->key);
    PyObject *packed = step->has_key < 0 ? NULL : PyObject_GetAttrString(object, "packed");
    if (packed == NULL) {
        return -1;
    }
    if (dl_program_own(builder->program, packed) == NULL) {
        return -1;
    }
    step->packed = packed == Py_None ? NULL : packed;
    int known = packed == (PyObject *)&PyTuple_Type || packed == (PyObject *)&PyList_Type || PyUnicode_CheckExact(packed);
    int n = build_items(builder, object, "values", &step->values, &step->n);
    int n_tags = n < 0 ? -1 : build_items(builder, object, "tags", &step->tags, &step->n_tags);
    if (n_tags < 0) {
        return -1;
    }
    if ((step->packed != NULL ? !known : n != 1) || n_tags != (step->table >= 0 ? n + step->has_key : 0)) {
        return dl_build_refuse(builder, "nothing that can be put there", object);
    }
    return 0;
}

void
dl_list_note(DlReg *reg)
{
    if (reg->object != NULL && PyList_CheckExact(reg->object)) {
        reg->own_shape[0] = PyList_GET_SIZE(reg->object);
    }
}

void
dl_list_undo(DlRun *run)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (Py_ssize_t i = run->journal.n - 1; i >= 0; i--) {
        const DlReplaced *row = &run->journal.rows[i];
        int status = row->old == NULL ? PyObject_DelItem(row->list, row->key) : PyObject_SetItem(row->list, row->key, row->old);
        if (status < 0) {
            PyErr_WriteUnraisable(row->list);
        }
    }
    for (int i = 0; i < run->program->n_inputs; i++) {
        PyObject *list = run->inputs[i];
        if (PyList_CheckExact(list) && PyList_SetSlice(list, run->regs[i].own_shape[0], NPY_MAX_INTP, NULL) < 0) {
            PyErr_WriteUnraisable(list);
        }
    }
    PyErr_Restore(type, value, traceback);
}

void
dl_list_end(DlRun *run)
{
    for (Py_ssize_t i = 0; i < run->journal.n; i++) {
        Py_DECREF(run->journal.rows[i].list);
        Py_DECREF(run->journal.rows[i].key);
        Py_XDECREF(run->journal.rows[i].old);
    }
    PyMem_Free(run->journal.rows);
    run->journal = (DlJournal){0};
}

/* Whether nobody can notice the death of an object. */
static int
dies_quietly(PyObject *object)
{
    return object == NULL || object == Py_None || PyLong_CheckExact(object) || PyFloat_CheckExact(object)
           || PyBool_Check(object) || PyArray_CheckExact(object) || PyUnicode_CheckExact(object)
           || PyComplex_CheckExact(object) || PyBytes_CheckExact(object) || PyArray_IsScalar(object, Generic);
}

/* Note what is replaced in a list or dict that goes in: takes its own references. */
static DlStatus
note_replaced(DlRun *run, PyObject *list, PyObject *key, PyObject *old)
{
    DlRun *outermost = run->outermost;
    int goes_in = 0;
    for (int i = 0; i < outermost->program->n_inputs && !goes_in; i++) {
        goes_in = outermost->inputs[i] == list;
    }
    if (!goes_in) {
        return 0; /* the program's own */
    }
    if (!dies_quietly(old)) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    DlJournal *journal = &outermost->journal;
    if (journal->n == journal->room) {
        Py_ssize_t room = journal->room ? 2 * journal->room : 32;
        DlReplaced *rows = PyMem_Realloc(journal->rows, (size_t)room * sizeof *rows);
        if (rows == NULL) {
            PyErr_NoMemory();
            return dl_failed(run, DL_REASON_MEMORY);
        }
        journal->rows = rows;
        journal->room = room;
    }
    journal->rows[journal->n++] = (DlReplaced){Py_NewRef(list), Py_NewRef(key), Py_XNewRef(old)};
    return 0;
}

/* A value: a new reference, NULL with an error set or, where the run declines, without. */
static PyObject *
get_value(DlRun *run, const DlItem *item)
{
    const DlScalars *table = &run->program->numbers;
    const DlOperand *value = &item->operand;
    if (value->kind == DL_FROM_CELL) {
        return Py_NewRef(item->constant);
    }
    if (value->kind == DL_FROM_REG) {
        return Py_XNewRef(dl_reg_object(&run->regs[value->index]));
    }
    if (table->kinds[value->index] == DL_FLOAT && isnan(run->numbers[value->index].f)) {
        return NULL; /* NB: of two NaNs C and Python need not keep the same one */
    }
    return dl_scalar_object(table, value->index, run->numbers);
}

/* The same of the key (`place` 0, if there is one) or a value that a step puts somewhere: the object with its tag. */
static PyObject *
get_tagged(DlRun *run, const DlPutStep *step, const DlItem *item, int place)
{
    if (step->table < 0) {
        return get_value(run, item);
    }
    PyObject *table = run->regs[step->table].object;
    const DlItem *tagged = &step->tags[place];
    int64_t tag = tagged->constant ? PyLong_AsLongLong(tagged->constant) : run->numbers[tagged->operand.index].i;
    PyObject *found = dl_objects_find(table, tag);
    if (found != NULL) {
        return Py_NewRef(found);
    }
    PyObject *value = get_value(run, item);
    if (value != NULL && dl_objects_note(table, tag, value) < 0) {
        Py_CLEAR(value);
    }
    return value;
}

/* What is to be put there, as get_value. */
static PyObject *
get_item(DlRun *run, const DlPutStep *step)
{
    if (step->packed == NULL) {
        return get_tagged(run, step, &step->values[0], step->has_key);
    }
    PyObject *items = PyTuple_New(step->n);
    for (int i = 0; i < step->n && items != NULL; i++) {
        PyObject *value = get_tagged(run, step, &step->values[i], step->has_key + i);
        if (value == NULL) {
            Py_CLEAR(items);
        }
        else {
            PyTuple_SET_ITEM(items, i, value);
        }
    }
    if (items == NULL || step->packed == (PyObject *)&PyTuple_Type) {
        return items;
    }
    PyObject *item;
    if (step->packed == (PyObject *)&PyList_Type) {
        item = PySequence_List(items);
    }
    else {
        PyObject *format = PyObject_GetAttrString(step->packed, "format");
        item = format ? PyObject_Call(format, items, NULL) : NULL;
        Py_XDECREF(format);
    }
    Py_DECREF(items);
    return item;
}

/* A table of numbers' objects, with those from before the loop: as get_value. */
static PyObject *
make_table(DlRun *run, const DlNewStep *step)
{
    PyObject *firsts = PyTuple_New(step->n_firsts);
    for (int i = 0; i < step->n_firsts && firsts != NULL; i++) {
        PyObject *value = get_value(run, &step->firsts[i]);
        if (value == NULL) {
            Py_CLEAR(firsts);
        }
        else {
            PyTuple_SET_ITEM(firsts, i, value);
        }
    }
    PyObject *table = firsts ? dl_objects_new(firsts) : NULL;
    Py_XDECREF(firsts);
    return table;
}

DlStatus
dl_list_new(DlRun *run, const DlNewStep *step)
{
    if (step->is_table) {
        PyObject *table = make_table(run, step);
        if (table == NULL) {
            return PyErr_Occurred() ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_NUMBER);
        }
        dl_reg_take(&run->regs[step->dst], table);
        return 0;
    }
    PyObject *list = step->is_dict ? PyDict_New() : PyList_New(step->repeats);
    if (list != NULL && step->repeats) {
        PyObject *value = get_value(run, &step->value), *count = value ? get_value(run, &step->count) : NULL;
        if (count == NULL) {
            Py_XDECREF(value);
            Py_DECREF(list);
            return PyErr_Occurred() ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_NUMBER);
        }
        PyList_SET_ITEM(list, 0, value);
        Py_SETREF(list, PyNumber_Multiply(list, count));
        Py_DECREF(count);
    }
    if (list == NULL) {
        return dl_failed(run, DL_REASON_MEMORY);
    }
    dl_reg_take(&run->regs[step->dst], list);
    return 0;
}

/* list[key] = item; an index that the list does not have declines. */
static DlStatus
store(DlRun *run, PyObject *list, PyObject *key, PyObject *item)
{
    PyObject *old;
    Py_ssize_t index = 0;
    if (PyDict_CheckExact(list)) {
        old = PyDict_GetItemWithError(list, key);
        if (old == NULL && PyErr_Occurred()) {
            return dl_failed(run, DL_REASON_CALL);
        }
    }
    else {
        index = PyLong_CheckExact(key) ? PyLong_AsSsize_t(key) : NPY_MAX_INTP;
        if (index == -1 && PyErr_Occurred()) {
            PyErr_Clear();
            index = NPY_MAX_INTP;
        }
        index += index < 0 ? PyList_GET_SIZE(list) : 0;
        if (index < 0 || index >= PyList_GET_SIZE(list)) {
            return dl_decline(run, DL_REASON_INDEX);
        }
        old = PyList_GET_ITEM(list, index);
    }
    DlStatus status = note_replaced(run, list, key, old);
    if (status != 0) {
        return status;
    }
    int failed = PyDict_CheckExact(list) ? PyDict_SetItem(list, key, item) : PyList_SetItem(list, index, Py_NewRef(item));
    return failed < 0 ? dl_failed(run, DL_REASON_MEMORY) : 0;
}

DlStatus
dl_list_put(DlRun *run, const DlPutStep *step)
{
    PyObject *list = run->regs[step->list].object;
    int is_dict = list != NULL && PyDict_CheckExact(list);
    if (list == NULL || (is_dict ? !step->has_key : !PyList_CheckExact(list))) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    PyObject *item = get_item(run, step), *key = item && step->has_key ? get_tagged(run, step, &step->key, 0) : NULL;
    if (item == NULL || (step->has_key && key == NULL)) {
        Py_XDECREF(item);
        return PyErr_Occurred() ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_NUMBER);
    }
    DlStatus status;
    if (step->has_key) {
        status = store(run, list, key, item);
    }
    else {
        status = PyList_Append(list, item) < 0 ? dl_failed(run, DL_REASON_MEMORY) : 0;
    }
    Py_XDECREF(key);
    Py_DECREF(item);
    return status;
}
