/* Slots: what is put together at each call, inside its constant arguments. */
#include "slot.h"

static PyTypeObject slot_type;

static int
slot_traverse(PyObject *object, visitproc visit, void *arg)
{
    Py_VISIT(((DlSlot *)object)->items);
    return 0;
}

static int
slot_clear(PyObject *object)
{
    Py_CLEAR(((DlSlot *)object)->items);
    return 0;
}

static void
slot_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    slot_clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyTypeObject slot_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Slot",
    .tp_doc = "An argument of a call that is put together when it is called.",
    .tp_basicsize = sizeof(DlSlot),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_alloc = PyType_GenericAlloc,
    .tp_dealloc = slot_dealloc,
    .tp_traverse = slot_traverse,
    .tp_clear = slot_clear,
};

int
dl_slot_register(void)
{
    return PyType_Ready(&slot_type);
}

const DlSlot *
dl_slot_cast(PyObject *object)
{
    return Py_IS_TYPE(object, &slot_type) ? (DlSlot *)object : NULL;
}

PyObject *
dl_slot_new(DlSlotKind kind, int32_t index, PyObject *items)
{
    DlSlot *slot = (DlSlot *)slot_type.tp_alloc(&slot_type, 0);
    if (slot == NULL) {
        Py_XDECREF(items);
        return NULL;
    }
    slot->kind = kind;
    slot->index = index;
    slot->items = items;
    return (PyObject *)slot;
}
