/* What machine code does with lists (machine.c): reads and puts items, makes objects of bits, packs items into tuples.
 *
 * INVARIANT: what an iteration has appended stands at the end of a list, where a decline cuts it off; what it has put
 * elsewhere the journal knows.
 */
#include "machine_lists.h"

#include "objects.h"
#include "frame/pyframe.h"

PyObject *
dl_make_object(int type, int64_t bits)
{
    double real;
    switch (type) {
    case DL_PYTHON_INT:
        return PyLong_FromLongLong(bits);
    case DL_PYTHON_FLOAT:
        memcpy(&real, &bits, sizeof real);
        return PyFloat_FromDouble(real);
    case DL_PYTHON_BOOL:
        return PyBool_FromLong(bits != 0);
    case NPY_DOUBLE: { /* NB: the most common ones, without a look at the dtype */
        PyObject *made = PyArrayScalar_New(Double);
        if (made != NULL) {
            memcpy(&PyArrayScalar_VAL(made, Double), &bits, sizeof bits);
        }
        return made;
    }
    }
    PyArray_Descr *descr = PyArray_DescrFromType(type);
    PyObject *object = descr ? PyArray_Scalar(&bits, descr, NULL) : NULL;
    Py_XDECREF(descr);
    return object;
}

int32_t
dl_append_object(PyObject *list, PyObject *object)
{
    if (object == NULL || PyList_Append(list, object) < 0) {
        PyErr_Clear();
        Py_XDECREF(object);
        return 1;
    }
    Py_DECREF(object);
    return 0;
}

int32_t
dl_append_number(PyObject *list, npy_intp type, int64_t bits)
{
    return dl_append_object(list, dl_make_object((int)type, bits));
}

/* The number with that tag (objects.c), or a new object, which has it from now on: a new reference, or NULL. */
static PyObject *
tagged_object(PyObject *table, int type, int64_t tag, int64_t bits)
{
    PyObject *object = Py_XNewRef(dl_objects_find(table, tag));
    if (object == NULL) {
        object = dl_make_object(type, bits);
        if (object != NULL && dl_objects_note(table, tag, object) < 0) {
            Py_CLEAR(object);
        }
    }
    return object;
}

int32_t
dl_append_tagged(PyObject *list, npy_intp type, PyObject *table, int64_t tag, int64_t bits)
{
    return dl_append_object(list, tagged_object(table, (int)type, tag, bits));
}

int32_t
dl_append_held(PyObject *list, PyObject *object)
{
    return dl_append_object(list, Py_NewRef(object));
}

int32_t
dl_append_pack(PyObject *list, npy_intp n, npy_intp is_tuple)
{
    Py_ssize_t size = PyList_GET_SIZE(list), first = size - (Py_ssize_t)n;
    if (n == 0) {
        return dl_append_object(list, is_tuple ? PyTuple_New(0) : PyList_New(0));
    }
    PyObject *packed = is_tuple ? PyTuple_New((Py_ssize_t)n) : PyList_GetSlice(list, first, size);
    for (Py_ssize_t i = 0; i < n && is_tuple && packed != NULL; i++) {
        PyTuple_SET_ITEM(packed, i, Py_NewRef(PyList_GET_ITEM(list, first + i)));
    }
    if (packed == NULL || PyList_SetItem(list, first, packed) < 0 || PyList_SetSlice(list, first + 1, size, NULL) < 0) {
        PyErr_Clear();
        return 1;
    }
    return 0;
}

int32_t
dl_object_number(PyObject *object, npy_intp of, int64_t *bits)
{
    int overflow = 0;
    switch (of) {
    case DL_READ_FLOAT:
        if (!PyFloat_CheckExact(object)) {
            return 1;
        }
        memcpy(bits, &((PyFloatObject *)object)->ob_fval, sizeof *bits);
        return 0;
    case DL_READ_INT:
        if (!PyLong_CheckExact(object)) {
            return 1;
        }
        *bits = PyLong_AsLongLongAndOverflow(object, &overflow);
        return overflow != 0;
    case DL_READ_BOOL:
        *bits = object == Py_True;
        return !PyBool_Check(object);
    case DL_READ_IS_FLOAT:
    case DL_READ_INT_ELSE:
    case DL_READ_FLOAT_ELSE:
        *bits = of == DL_READ_IS_FLOAT && PyFloat_CheckExact(object);
        if (PyFloat_CheckExact(object) ? of == DL_READ_FLOAT_ELSE : of == DL_READ_INT_ELSE) {
            return dl_object_number(object, of == DL_READ_INT_ELSE ? DL_READ_INT : DL_READ_FLOAT, bits);
        }
        return !PyFloat_CheckExact(object) && !PyLong_CheckExact(object);
    case DL_READ_LENGTH:
        *bits = PyList_CheckExact(object) ? PyList_GET_SIZE(object) : -1;
        return *bits < 0;
    }
    return 1;
}

/* The item of a list under an index, borrowed; NULL, with no error set, where there is none. */
static PyObject *
item_of(PyObject *list, int64_t index)
{
    Py_ssize_t size = PyList_CheckExact(list) ? PyList_GET_SIZE(list) : 0;
    index += index < 0 ? size : 0;
    return (uint64_t)index < (uint64_t)size ? PyList_GET_ITEM(list, index) : NULL;
}

int32_t
dl_list_number(PyObject *list, int64_t index, npy_intp of, int64_t *bits)
{
    PyObject *item = item_of(list, index);
    return item == NULL || dl_object_number(item, of, bits);
}

int32_t
dl_object_scalar(PyObject *object, npy_intp type, int64_t *bits)
{
    PyArray_Descr *descr = PyArray_DescrFromType((int)type);
    int is_one = descr != NULL && descr->typeobj == Py_TYPE(object) && PyDataType_ELSIZE(descr) <= (npy_intp)sizeof *bits;
    if (is_one) {
        PyArray_ScalarAsCtype(object, bits);
    }
    PyErr_Clear();
    Py_XDECREF(descr);
    return !is_one;
}

int32_t
dl_list_scalar(PyObject *list, int64_t index, npy_intp type, int64_t *bits)
{
    PyObject *item = item_of(list, index);
    return item == NULL || dl_object_scalar(item, type, bits);
}

/* The double that a number is which stands beside floats; 1 where it is none of them. is_real: set for a float. */
static int32_t
double_of(PyObject *item, double *value, int *is_real)
{
    int overflow = 0;
    if (PyFloat_CheckExact(item)) {
        *value = ((PyFloatObject *)item)->ob_fval;
        *is_real = 1;
        return 0;
    }
    if (Py_TYPE(item) == &PyDoubleArrType_Type) {
        *value = PyArrayScalar_VAL(item, Double);
        *is_real = 1;
        return 0;
    }
    if (PyLong_CheckExact(item)) {
        *value = (double)PyLong_AsLongLongAndOverflow(item, &overflow);
        return overflow != 0;
    }
    return 1;
}

int32_t
dl_list_numbers(PyObject *list, npy_intp type, char *to, npy_intp n)
{
    PyArray_Descr *descr = PyArray_DescrFromType((int)type);
    size_t size = descr ? (size_t)PyDataType_ELSIZE(descr) : 0;
    int is_real = type != NPY_DOUBLE;
    int32_t failed = descr == NULL || !PyList_CheckExact(list) || PyList_GET_SIZE(list) != n;
    for (npy_intp i = 0; i < n && !failed; i++) {
        PyObject *item = PyList_GET_ITEM(list, i);
        int64_t bits = 0;
        if (type == NPY_DOUBLE) {
            failed = double_of(item, (double *)to + i, &is_real);
            continue;
        }
        if ((type == NPY_LONG && PyLong_CheckExact(item)) || (type == NPY_BOOL && PyBool_Check(item))) {
            failed = dl_object_number(item, type == NPY_BOOL ? DL_READ_BOOL : DL_READ_INT, &bits);
        }
        else {
            failed = dl_object_scalar(item, type, &bits);
        }
        memcpy(to + (size_t)i * size, &bits, size);
    }
    Py_XDECREF(descr);
    PyErr_Clear();
    return failed || !is_real;
}

int
dl_object_is_other_array(const DlRun *run, PyObject *object, int type, int nd, const npy_intp *shape)
{
    if (!PyArray_CheckExact(object)) {
        return 1;
    }
    PyArrayObject *array = (PyArrayObject *)object;
    PyArray_Descr *descr = PyArray_DESCR(array);
    int is_alike = descr->type_num == type && dl_numpy_plain(descr) && PyArray_NDIM(array) == nd && PyArray_ISALIGNED(array);
    if (!is_alike || !PyArray_CompareLists(PyArray_DIMS(array), shape, nd)) {
        return 1;
    }
    npy_intp stride = PyDataType_ELSIZE(descr); /* NB: along an axis of size 1, too, which results would show */
    for (int axis = nd - 1; axis >= 0; axis--) {
        if (PyArray_STRIDE(array, axis) != stride) {
            return 1;
        }
        stride *= shape[axis] ? shape[axis] : 1;
    }
    const DlRun *outermost = run->outermost;
    DlBytes own = dl_bytes_of(PyArray_BYTES(array), PyDataType_ELSIZE(descr), nd, shape, PyArray_STRIDES(array));
    for (int i = 0; i < outermost->program->n_written; i++) {
        const DlReg *written = &outermost->regs[outermost->program->written[i]];
        if (written->kind == DL_ARRAY && dl_bytes_meet(own, dl_reg_bytes(written))) {
            return 1;
        }
    }
    return 0;
}

int64_t
dl_object_origin(PyObject *object)
{
    return -(int64_t)(intptr_t)object;
}

PyObject *
dl_list_part(DlJournal *journal, PyObject *list, Py_ssize_t first, Py_ssize_t last)
{
    Py_ssize_t n = PySlice_AdjustIndices(PyList_GET_SIZE(list), &first, &last, 1);
    PyObject *part = dl_journal_list(journal, n);
    for (Py_ssize_t i = 0; i < n && part != NULL; i++) {
        PyList_SET_ITEM(part, i, Py_NewRef(PyList_GET_ITEM(list, first + i)));
    }
    return part;
}

PyObject *
dl_list_joined(DlJournal *journal, PyObject *one, PyObject *other)
{
    Py_ssize_t n = PyList_GET_SIZE(one), m = PyList_GET_SIZE(other);
    PyObject *list = dl_journal_list(journal, n + m);
    for (Py_ssize_t i = 0; i < n + m && list != NULL; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(i < n ? PyList_GET_ITEM(one, i) : PyList_GET_ITEM(other, i - n)));
    }
    return list;
}

PyObject *
dl_list_filled(DlJournal *journal, PyObject *item, Py_ssize_t n)
{
    PyObject *list = dl_journal_list(journal, n < 0 ? 0 : n);
    for (Py_ssize_t i = 0; i < n && list != NULL; i++) {
        PyList_SET_ITEM(list, i, Py_NewRef(item));
    }
    return list;
}

/* list[index] = object: 0, or 1 where it has no such index, what stands there may not die, or there is no memory. The
 * reference is taken in any case. */
static int32_t
store(DlJournal *journal, PyObject *list, int64_t index, PyObject *object)
{
    int failed = object == NULL || !PyList_CheckExact(list);
    index += !failed && index < 0 ? PyList_GET_SIZE(list) : 0;
    if (failed || (uint64_t)index >= (uint64_t)PyList_GET_SIZE(list) || dl_journal_change(journal, list, index)) {
        PyErr_Clear();
        Py_XDECREF(object);
        return 1;
    }
    PyObject *old = PyList_GET_ITEM(list, index);
    PyList_SET_ITEM(list, index, object);
    Py_DECREF(old);
    return 0;
}

/* ---- what the code calls ---- */

/* The journal of a run. */
static DlJournal *
journal_of(const npy_intp *block)
{
    return (DlJournal *)block[DL_WORD_JOURNAL];
}

/* Keep an object, of which the reference is taken, in a place; 1 for NULL. */
static int32_t
keep_new(npy_intp *block, npy_intp place, PyObject *object)
{
    if (object == NULL) {
        PyErr_Clear();
        return 1;
    }
    Py_XSETREF(((PyObject **)block[DL_WORD_KEPT])[place], object);
    return 0;
}

int32_t
dl_machine_keep(npy_intp *block, npy_intp place, PyObject *object)
{
    return keep_new(block, place, Py_NewRef(object));
}

/* The same of an object that another place keeps, by its origin; of another origin nothing is kept. */
int32_t
dl_machine_keep_origin(npy_intp *block, npy_intp place, int64_t origin)
{
    Py_XSETREF(((PyObject **)block[DL_WORD_KEPT])[place], origin < 0 ? Py_NewRef((PyObject *)(intptr_t)-origin) : NULL);
    return 0;
}

/* An item of a list, which is kept in a place, or in none (-1); 1 where there is no item. */
int32_t
dl_machine_list_item(npy_intp *block, npy_intp place, PyObject *list, int64_t index, PyObject **item)
{
    *item = item_of(list, index);
    if (*item == NULL) {
        return 1;
    }
    return place < 0 ? 0 : dl_machine_keep(block, place, *item);
}

/* An item of a tuple of so many, which is kept in a place; 1 where it is no such tuple. */
int32_t
dl_machine_tuple_item(npy_intp *block, npy_intp place, PyObject *tuple, int64_t index, int64_t size, PyObject **item)
{
    if (!PyTuple_CheckExact(tuple) || PyTuple_GET_SIZE(tuple) != size) {
        return 1;
    }
    *item = PyTuple_GET_ITEM(tuple, index);
    return dl_machine_keep(block, place, *item);
}

/* A list of somebody else's is about to become longer; 1 where there is no memory. */
int32_t
dl_machine_list_touch(npy_intp *block, PyObject *list)
{
    int failed = !PyList_CheckExact(list) || dl_journal_change(journal_of(block), list, PyList_GET_SIZE(list));
    PyErr_Clear();
    return failed;
}

/* Put an object, or a new number, or a number with a tag (objects.c), into a list: as `store`. */
int32_t
dl_machine_list_put(npy_intp *block, PyObject *list, int64_t index, PyObject *object)
{
    dl_journal_take(journal_of(block), object);
    return store(journal_of(block), list, index, Py_NewRef(object));
}

int32_t
dl_machine_list_put_number(npy_intp *block, PyObject *list, int64_t index, npy_intp type, int64_t bits)
{
    return store(journal_of(block), list, index, dl_make_object((int)type, bits));
}

int32_t
dl_machine_list_put_tagged(npy_intp *block, PyObject *list, int64_t index, npy_intp type, PyObject *table, int64_t tag, int64_t bits)
{
    return store(journal_of(block), list, index, tagged_object(table, (int)type, tag, bits));
}

/* New lists, which are kept in a place: of an object so many times, of a part of another one; 1 where there is no memory,
 * or no list. */
int32_t
dl_machine_list_repeated(npy_intp *block, npy_intp place, PyObject *object, npy_intp n, PyObject **list)
{
    *list = dl_list_filled(journal_of(block), object, n);
    return keep_new(block, place, *list);
}

int32_t
dl_machine_list_copy(npy_intp *block, npy_intp place, PyObject *of, npy_intp first, npy_intp last, PyObject **list)
{
    if (!PyList_CheckExact(of)) {
        return 1;
    }
    *list = dl_list_part(journal_of(block), of, first, last);
    return keep_new(block, place, *list);
}

int32_t
dl_machine_list_join(npy_intp *block, npy_intp place, PyObject *one, PyObject *other, PyObject **list)
{
    if (!PyList_CheckExact(one) || !PyList_CheckExact(other)) {
        return 1;
    }
    *list = dl_list_joined(journal_of(block), one, other);
    return keep_new(block, place, *list);
}

/* Take an item off a list, which is kept in a place; 1 where there is none. */
int32_t
dl_machine_list_pop(npy_intp *block, npy_intp place, PyObject *list, int64_t index, PyObject **item)
{
    Py_ssize_t size = PyList_CheckExact(list) ? PyList_GET_SIZE(list) : 0;
    index += index < 0 ? size : 0;
    if ((uint64_t)index >= (uint64_t)size || dl_journal_change(journal_of(block), list, -1)) {
        PyErr_Clear();
        return 1;
    }
    *item = Py_NewRef(PyList_GET_ITEM(list, index));
    if (PyList_SetSlice(list, index, index + 1, NULL) < 0) {
        Py_CLEAR(*item);
    }
    return keep_new(block, place, *item);
}

/* ---- where objects have their parts ---- */

static PyStructSequence_Field layout_fields[] = {
    {"type", "bytes before the type of an object"},
    {"size", "before the length of a list"},
    {"items", "before the address of its items"},
    {"value", "before the double of a float"},
    {"scalar", "before the value of a NumPy scalar"},
    {"head", "before what says how long an int is"},
    {"digit", "before its first digit"},
    {"tagged", "whether that holds the sign beside the length"},
    {NULL, NULL},
};

static PyStructSequence_Desc layout_description = {"dynamo_lite._C.ObjectLayout", "Where objects have their parts.",
                                                   layout_fields, (int)Py_ARRAY_LENGTH(layout_fields) - 1};

/* object_layout(): where objects have their parts; None where machine code does not look into them. */
static PyObject *
object_layout(PyObject *module, PyObject *args)
{
    (void)module;
    (void)args;
#if defined(Py_GIL_DISABLED) || SIZEOF_SIZE_T != 8
    Py_RETURN_NONE;
#else
    static const size_t parts[] = {offsetof(PyObject, ob_type),     offsetof(PyVarObject, ob_size),
                                   offsetof(PyListObject, ob_item), offsetof(PyFloatObject, ob_fval),
                                   offsetof(PyDoubleScalarObject, obval),
                                   DL_PYFRAME_INT_HEAD,             DL_PYFRAME_INT_DIGIT,
                                   DL_PYFRAME_INT_TAGGED};
    static PyTypeObject *type;
    type = type ? type : PyStructSequence_NewType(&layout_description);
    PyObject *layout = type ? PyStructSequence_New(type) : NULL;
    for (size_t i = 0; layout != NULL && i < Py_ARRAY_LENGTH(parts); i++) {
        PyObject *part = PyLong_FromSize_t(parts[i]);
        if (part == NULL) {
            Py_CLEAR(layout);
            break;
        }
        PyStructSequence_SetItem(layout, (Py_ssize_t)i, part);
    }
    return layout;
#endif
}

PyMethodDef dl_machine_lists_functions[] = {
    {"object_layout", object_layout, METH_NOARGS, "object_layout(): where objects have their parts, or None."},
    {NULL, NULL, 0, NULL},
};
