/* Lists and dicts: a program puts the objects of its values into lists and dicts of its own and into those that go in, and
 * takes what stands in lists.
 *
 * A list lies in a register of kind DL_OTHER. A program that declines frees its own, which nobody has seen. The others
 * get back from the journal what it has replaced, and lose what it has appended (journal.c). What it has replaced lives
 * until then: only objects that die unnoticed are replaced. Of numbers that something else may hold, too, a table has the
 * objects (objects.c).
 */
#include <math.h>

#include "builder/build.h"
#include "machine_lists.h"
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

int
dl_build_take(DlBuilder *builder, PyObject *object, DlTakeStep *step)
{
    step->list = dl_build_int(object, "list");
    if (step->list == INT32_MIN || dl_build_use(builder, step->list, object) < 0) {
        return -1;
    }
    step->kind = dl_build_int(object, "kind");
    step->dst = step->kind < 0 ? INT32_MIN : dl_build_int(object, "dst");
    if (step->dst == INT32_MIN || build_items(builder, object, "places", &step->places, &step->n) < 0) {
        return -1;
    }
    int has_two = step->kind == DL_TAKE_OF_TUPLE || step->kind == DL_TAKE_NUMBERS;
    int most = step->kind == DL_TAKE_ARRAY ? 1 + DL_MOST_TAKEN : 2;
    int is_open = step->kind == DL_TAKE_COPY || (step->kind == DL_TAKE_ARRAY && step->n > 0);
    int n_places = is_open ? step->n : has_two ? 2 : 1;
    if (step->n > most || step->n != n_places) {
        return dl_build_refuse(builder, "not the places of a list", object);
    }
    return dl_build_set(builder, step->dst, object);
}

/* What a change that the journal has, or has not, taken means for the run. */
static DlStatus
noted(DlRun *run, int status)
{
    return status == 0 ? 0 : status < 0 ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_INPUT);
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
    PyObject *list;
    if (step->repeats) {
        PyObject *value = get_value(run, &step->value), *count = value ? get_value(run, &step->count) : NULL;
        Py_ssize_t n = count ? PyNumber_AsSsize_t(count, NULL) : 0;
        list = count ? dl_list_filled(&run->outermost->journal, value, n) : NULL;
        Py_XDECREF(value);
        if (count == NULL) {
            return PyErr_Occurred() ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_NUMBER);
        }
        Py_DECREF(count);
    }
    else {
        list = step->is_dict ? PyDict_New() : dl_journal_list(&run->outermost->journal, 0);
    }
    if (list == NULL) {
        return dl_failed(run, DL_REASON_MEMORY);
    }
    dl_reg_take(&run->regs[step->dst], list);
    return 0;
}

/* The int that a place in a list is, of a list of that length; -1 where it has none. */
static Py_ssize_t
place_in(PyObject *key, Py_ssize_t size)
{
    Py_ssize_t index = key != NULL && PyLong_CheckExact(key) ? PyLong_AsSsize_t(key) : NPY_MAX_INTP;
    if (index == -1 && PyErr_Occurred()) {
        PyErr_Clear();
        return -1;
    }
    index += index < 0 ? size : 0;
    return index < size ? index : -1;
}

DlStatus
dl_dict_store(DlRun *run, PyObject *dict, PyObject *key, PyObject *item)
{
    PyObject *old = PyDict_GetItemWithError(dict, key);
    if (old == NULL && PyErr_Occurred()) {
        return dl_failed(run, DL_REASON_CALL);
    }
    int is_own = 1;
    for (int i = 0; i < run->outermost->program->n_inputs && is_own; i++) {
        is_own = run->outermost->inputs[i] != dict;
    }
    DlStatus status = is_own ? 0 : noted(run, dl_journal_replace(&run->outermost->journal, dict, key, old));
    if (status != 0) {
        return status;
    }
    return PyDict_SetItem(dict, key, item) < 0 ? dl_failed(run, DL_REASON_MEMORY) : 0;
}

/* list[key] = item; an index that the list does not have declines. */
static DlStatus
store(DlRun *run, PyObject *list, PyObject *key, PyObject *item)
{
    if (PyDict_CheckExact(list)) {
        return dl_dict_store(run, list, key, item);
    }
    DlJournal *journal = &run->outermost->journal;
    Py_ssize_t index = place_in(key, PyList_GET_SIZE(list));
    DlStatus status = index < 0 ? dl_decline(run, DL_REASON_INDEX) : noted(run, dl_journal_change(journal, list, index));
    if (status != 0) {
        return status;
    }
    dl_journal_take(journal, item);
    return PyList_SetItem(list, index, Py_NewRef(item)) < 0 ? dl_failed(run, DL_REASON_MEMORY) : 0;
}

/* The list in a register, as an exact one; NULL where it is none. */
static PyObject *
list_in(const DlReg *reg)
{
    return reg->object != NULL && PyList_CheckExact(reg->object) ? reg->object : NULL;
}

/* The int that a place is. */
static npy_intp
int_of(const DlRun *run, const DlItem *place)
{
    return place->constant ? (npy_intp)PyLong_AsSsize_t(place->constant) : (npy_intp)run->numbers[place->operand.index].i;
}

/* The array that an object is. */
static DlStatus
take_array(DlRun *run, const DlTakeStep *step)
{
    PyObject *object = run->regs[step->list].object;
    npy_intp shape[DL_MOST_TAKEN] = {0};
    int type = (int)int_of(run, &step->places[0]), nd = step->n - 1;
    for (int axis = 0; axis < nd; axis++) {
        shape[axis] = int_of(run, &step->places[1 + axis]);
    }
    if (object == NULL || dl_object_is_other_array(run, object, type, nd, shape)) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    dl_reg_take(&run->regs[step->dst], Py_NewRef(object));
    return 0;
}

/* The array that NumPy makes of a list of numbers. */
static DlStatus
take_numbers(DlRun *run, const DlTakeStep *step)
{
    PyObject *list = list_in(&run->regs[step->list]);
    npy_intp type = int_of(run, &step->places[0]), n = int_of(run, &step->places[1]);
    int is_one = list != NULL && PyList_GET_SIZE(list) == n;
    PyObject *array = is_one ? PyArray_SimpleNew(1, &n, (int)type) : NULL;
    if (is_one && array == NULL) {
        return dl_failed(run, DL_REASON_MEMORY);
    }
    if (!is_one || dl_list_numbers(list, type, PyArray_BYTES((PyArrayObject *)array), n)) {
        Py_XDECREF(array);
        return dl_decline(run, DL_REASON_INPUT);
    }
    dl_reg_take(&run->regs[step->dst], array);
    return 0;
}

/* What a dict has under a key. */
static DlStatus
take_key(DlRun *run, const DlTakeStep *step)
{
    PyObject *dict = run->regs[step->list].object, *key = get_value(run, &step->places[0]);
    if (key == NULL) {
        return PyErr_Occurred() ? dl_failed(run, DL_REASON_MEMORY) : dl_decline(run, DL_REASON_NUMBER);
    }
    int is_dict = dict != NULL && PyDict_CheckExact(dict);
    PyObject *item = is_dict ? PyDict_GetItemWithError(dict, key) : NULL;
    Py_DECREF(key);
    if (item == NULL) {
        return PyErr_Occurred() ? dl_failed(run, DL_REASON_CALL) : dl_decline(run, DL_REASON_INDEX);
    }
    dl_reg_take(&run->regs[step->dst], Py_NewRef(item));
    return 0;
}

DlStatus
dl_list_take(DlRun *run, const DlTakeStep *step)
{
    switch (step->kind) {
    case DL_TAKE_ARRAY:
        return take_array(run, step);
    case DL_TAKE_NUMBERS:
        return take_numbers(run, step);
    case DL_TAKE_KEY:
        return take_key(run, step);
    }
    PyObject *list = list_in(&run->regs[step->list]), *places[2] = {NULL, NULL}, *made = NULL;
    DlJournal *journal = &run->outermost->journal;
    PyObject *tuple = run->regs[step->list].object;
    int has_list = list != NULL || (step->kind == DL_TAKE_OF_TUPLE && tuple != NULL && PyTuple_CheckExact(tuple))
                   || (step->kind == DL_TAKE_SCALAR && tuple != NULL);
    DlStatus status = has_list ? 0 : dl_decline(run, DL_REASON_INPUT);
    for (int i = 0; i < step->n && status == 0; i++) {
        places[i] = get_value(run, &step->places[i]);
        status = places[i] == NULL ? dl_failed(run, DL_REASON_MEMORY) : 0;
    }
    if (status == 0 && step->kind == DL_TAKE_COPY) {
        Py_ssize_t bounds[2] = {0, NPY_MAX_INTP};
        for (int i = 0; i < step->n; i++) {
            bounds[i] = PyNumber_AsSsize_t(places[i], NULL);
        }
        made = dl_list_part(journal, list, bounds[0], bounds[1]);
        status = made == NULL ? dl_failed(run, DL_REASON_MEMORY) : 0;
    }
    else if (status == 0 && step->kind == DL_TAKE_JOINED) {
        made = PyList_CheckExact(places[0]) ? dl_list_joined(journal, list, places[0]) : NULL;
        int failed = made == NULL && PyErr_Occurred();
        status = failed ? dl_failed(run, DL_REASON_MEMORY) : made == NULL ? dl_decline(run, DL_REASON_INPUT) : 0;
    }
    else if (status == 0 && step->kind == DL_TAKE_SCALAR) {
        int64_t bits;
        int is_scalar = dl_object_scalar(tuple, PyLong_AsSsize_t(places[0]), &bits) == 0;
        made = is_scalar ? Py_NewRef(tuple) : NULL;
        status = is_scalar ? 0 : dl_decline(run, DL_REASON_NUMBER);
    }
    else if (status == 0 && step->kind == DL_TAKE_OF_TUPLE) {
        Py_ssize_t index = PyLong_AsSsize_t(places[0]), size = PyLong_AsSsize_t(places[1]);
        int is_there = list == NULL && PyTuple_GET_SIZE(tuple) == size && index >= 0 && index < size;
        made = is_there ? Py_NewRef(PyTuple_GET_ITEM(tuple, index)) : NULL;
        status = is_there ? 0 : dl_decline(run, DL_REASON_INDEX);
    }
    else if (status == 0) {
        Py_ssize_t index = place_in(places[0], PyList_GET_SIZE(list));
        status = index < 0 ? dl_decline(run, DL_REASON_INDEX) : 0;
        if (status == 0 && step->kind == DL_TAKE_OUT) {
            status = noted(run, dl_journal_change(journal, list, -1));
        }
        if (status == 0) {
            made = Py_NewRef(PyList_GET_ITEM(list, index));
            if (step->kind == DL_TAKE_OUT && PyList_SetSlice(list, index, index + 1, NULL) < 0) {
                Py_CLEAR(made);
                status = dl_failed(run, DL_REASON_MEMORY);
            }
        }
    }
    Py_XDECREF(places[0]);
    Py_XDECREF(places[1]);
    if (status == 0) {
        dl_reg_take(&run->regs[step->dst], made);
    }
    return status;
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
        status = noted(run, dl_journal_change(&run->outermost->journal, list, PyList_GET_SIZE(list)));
        if (status == 0 && PyList_Append(list, item) < 0) {
            status = dl_failed(run, DL_REASON_MEMORY);
        }
    }
    Py_XDECREF(key);
    Py_DECREF(item);
    return status;
}
