/* The arguments of a frame that has just begun (see frame_arguments.h). */
#include "frame_arguments.h"

/* What is in a slot: what it holds, or what the cell in it does. Borrowed. */
static PyObject *
contents(PyObject *held, uint64_t cells, Py_ssize_t i)
{
    return i < 64 && cells >> i & 1 ? PyCell_GET(held) : held;
}

PyObject *const *
dl_frame_arguments(DlFrame *frame, uint64_t cells, PyObject **room, Py_ssize_t n)
{
    PyObject *const *slots = dl_pyframe_slots(frame, room, n);
    if (cells == 0) {
        return slots;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        room[i] = contents(slots[i], cells, i);
    }
    return room;
}

/* What slot i of the arguments holds, out of which it is taken: new reference. */
static PyObject *
take(DlFrame *frame, uint64_t cells, Py_ssize_t i)
{
    PyObject *slot = dl_pyframe_take_slot(frame, i), *held = Py_XNewRef(contents(slot, cells, i));
    Py_XDECREF(slot);
    return held;
}

/* Arguments that are to be handed over to a function. */
typedef struct {
    PyObject **args;
    Py_ssize_t n;
    PyObject *names; /* of the last ones */
} Call;

/* Move the items of `rest`, the tuple of a *parameter, which is let go of. */
static void
add_items(Call *call, PyObject *rest)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rest); i++) {
        call->args[call->n++] = Py_NewRef(PyTuple_GET_ITEM(rest, i));
    }
    Py_DECREF(rest);
}

/* Move what `more`, the dict of a **parameter, has; the first n of its names are already there. */
static void
add_named(Call *call, PyObject *more, Py_ssize_t n)
{
    Py_ssize_t at = 0;
    for (PyObject *name, *held; PyDict_Next(more, &at, &name, &held);) {
        PyTuple_SET_ITEM(call->names, n++, Py_NewRef(name));
        call->args[call->n++] = Py_NewRef(held);
    }
    Py_DECREF(more);
}

/* How many items slot i has, that of a *parameter or **parameter. */
static Py_ssize_t
n_held(DlFrame *frame, uint64_t cells, Py_ssize_t i)
{
    PyObject *slot = dl_pyframe_slot(frame, i), *held = contents(slot, cells, i);
    Py_ssize_t n = PyTuple_Check(held) ? PyTuple_GET_SIZE(held) : PyDict_GET_SIZE(held);
    Py_DECREF(slot);
    return n;
}

PyObject *
dl_frame_arguments_call(DlFrame *frame, uint64_t cells, PyObject *function, PyCodeObject *code)
{
    enum { SMALL = 16 };
    Py_ssize_t n = code->co_argcount, n_only = code->co_kwonlyargcount;
    int has_rest = (code->co_flags & CO_VARARGS) != 0, has_more = (code->co_flags & CO_VARKEYWORDS) != 0;
    Py_ssize_t at_rest = n + n_only, at_more = at_rest + has_rest;
    Py_ssize_t n_rest = has_rest ? n_held(frame, cells, at_rest) : 0;
    Py_ssize_t n_named = n_only + (has_more ? n_held(frame, cells, at_more) : 0), all = n + n_rest + n_named;
    PyObject *small[SMALL], *value = NULL;
    Call call = {.args = all <= SMALL ? small : PyMem_Malloc((size_t)all * sizeof *small)};
    if (call.args == NULL) {
        return PyErr_NoMemory();
    }
    if (n_named > 0 && (call.names = PyTuple_New(n_named)) == NULL) {
        goto done;
    }
    for (; call.n < n; call.n++) {
        call.args[call.n] = take(frame, cells, call.n);
    }
    if (has_rest) {
        add_items(&call, take(frame, cells, at_rest));
    }
    for (Py_ssize_t i = 0; i < n_only; i++) {
        PyTuple_SET_ITEM(call.names, i, Py_NewRef(PyTuple_GET_ITEM(dl_pyframe_slot_names(code), n + i)));
        call.args[call.n++] = take(frame, cells, n + i);
    }
    if (has_more) {
        add_named(&call, take(frame, cells, at_more), n_only);
    }
    value = dl_pyframe_call_handing_over(function, call.args, 0, all, call.names);
done:
    Py_XDECREF(call.names);
    if (call.args != small) {
        PyMem_Free(call.args);
    }
    return value;
}
