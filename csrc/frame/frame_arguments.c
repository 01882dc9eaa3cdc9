/* The arguments of a frame that has just begun (see frame_arguments.h). */
#include "frame_arguments.h"

PyObject *const *
dl_frame_arguments(DlFrame *frame, uint64_t cells, PyObject **room, Py_ssize_t n)
{
    PyObject *const *slots = dl_pyframe_slots(frame, room, n);
    if (cells == 0) {
        return slots;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        room[i] = cells >> i & 1 ? PyCell_GET(slots[i]) : slots[i];
    }
    return room;
}

/* What slot i of the arguments holds: new reference. taken: it is emptied. */
static PyObject *
argument(DlFrame *frame, uint64_t cells, Py_ssize_t i, int taken)
{
    PyObject *held = taken ? dl_pyframe_take_slot(frame, i) : dl_pyframe_slot(frame, i);
    if (held != NULL && cells >> i & 1) {
        Py_SETREF(held, PyCell_Get(held));
    }
    return held;
}

PyObject *
dl_frame_arguments_call(DlFrame *frame, uint64_t cells, PyObject *function, PyCodeObject *code)
{
    Py_ssize_t n = code->co_argcount, n_named = code->co_kwonlyargcount, next = n + n_named;
    PyObject *value = NULL, *args = NULL, *kwargs = NULL;
    if (n_named == 0 && !(code->co_flags & (CO_VARARGS | CO_VARKEYWORDS)) && n <= 16) {
        PyObject *taken[16];
        for (Py_ssize_t i = 0; i < n; i++) {
            taken[i] = argument(frame, cells, i, 1);
        }
        return dl_pyframe_call_handing_over(function, taken, 0, n);
    }
    PyObject *rest = code->co_flags & CO_VARARGS ? argument(frame, cells, next++, 0) : PyTuple_New(0);
    if (rest == NULL || (args = PyTuple_New(n + PyTuple_GET_SIZE(rest))) == NULL) {
        goto done;
    }
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(args); i++) {
        PyObject *item = i < n ? argument(frame, cells, i, 0) : Py_NewRef(PyTuple_GET_ITEM(rest, i - n));
        PyTuple_SET_ITEM(args, i, item);
    }
    if (code->co_flags & CO_VARKEYWORDS) {
        PyObject *more = argument(frame, cells, next, 0);
        kwargs = more ? PyDict_Copy(more) : NULL;
        Py_XDECREF(more);
    }
    else {
        kwargs = PyDict_New();
    }
    for (Py_ssize_t i = n; kwargs != NULL && i < n + n_named; i++) {
        PyObject *item = argument(frame, cells, i, 0);
        if (item == NULL || PyDict_SetItem(kwargs, PyTuple_GET_ITEM(dl_pyframe_slot_names(code), i), item) < 0) {
            Py_CLEAR(kwargs);
        }
        Py_XDECREF(item);
    }
    if (kwargs != NULL) {
        value = PyObject_Call(function, args, kwargs);
    }
done:
    Py_XDECREF(rest);
    Py_XDECREF(args);
    Py_XDECREF(kwargs);
    return value;
}
