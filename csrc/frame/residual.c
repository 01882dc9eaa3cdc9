/* Residual code: called with the slots and a program's outputs, or, where it does nothing but return, done without. */
#include "residual.h"

#include "eval_hook.h"
#include "pyframe.h"

/* True when code_b reads the same free variables as code_a, in the same order. */
static int
same_free_variables(PyCodeObject *code_a, PyCodeObject *code_b)
{
    int n = dl_pyframe_n_free(code_a);
    if (n != dl_pyframe_n_free(code_b)) {
        return 0;
    }
    PyObject *names_a = dl_pyframe_slot_names(code_a), *names_b = dl_pyframe_slot_names(code_b);
    Py_ssize_t end_a = PyTuple_GET_SIZE(names_a), end_b = PyTuple_GET_SIZE(names_b);
    for (Py_ssize_t i = 1; i <= n; i++) {
        /* identifiers of code objects are interned */
        if (PyTuple_GET_ITEM(names_a, end_a - i) != PyTuple_GET_ITEM(names_b, end_b - i)) {
            return 0;
        }
    }
    return 1;
}

PyObject *
dl_residual_bind(PyObject *made, PyObject *func)
{
    PyFunctionObject *user = (PyFunctionObject *)func;
    PyCodeObject *code = (PyCodeObject *)made;
    if (!PyCode_Check(made)) {
        if (!PyFunction_Check(made)) {
            return Py_NewRef(made);
        }
        PyFunctionObject *ours = (PyFunctionObject *)made;
        code = (PyCodeObject *)ours->func_code;
        int has_globals = ours->func_globals == user->func_globals;
        if (dl_pyframe_n_free(code) == 0 ? has_globals
                                         : (has_globals && ours->func_closure == user->func_closure) ||
                                               !same_free_variables(code, (PyCodeObject *)user->func_code)) {
            return Py_NewRef(made);
        }
    }
    PyObject *bound = PyFunction_New((PyObject *)code, user->func_globals);
    if (bound != NULL && dl_pyframe_n_free(code) > 0) {
        if (!same_free_variables(code, (PyCodeObject *)user->func_code)) {
            PyErr_Format(PyExc_SystemError, "dynamo_lite: %U has other free variables than %U", code->co_qualname,
                         user->func_qualname);
            Py_CLEAR(bound);
        }
        else if (PyFunction_SetClosure(bound, user->func_closure) < 0) {
            Py_CLEAR(bound);
        }
    }
    return bound;
}

PyObject *
dl_residual_call(PyObject *made, PyObject *func, PyObject **slots, Py_ssize_t n_slots, int owned, DlValues *outputs)
{
    PyObject *small[2 * DL_SMALL], **args = small, *value = NULL;
    Py_ssize_t n = n_slots + outputs->n;
    if (dl_pyframe_check_stack() < 0) {
        return NULL;
    }
    PyObject *residual = dl_residual_bind(made, func);
    if (residual == NULL) {
        return NULL;
    }
    if (n > 2 * DL_SMALL) {
        args = PyMem_New(PyObject *, n);
        if (args == NULL) {
            Py_DECREF(residual);
            return PyErr_NoMemory();
        }
    }
    memcpy(args, slots, (size_t)n_slots * sizeof *args);
    memcpy(args + n_slots, outputs->items, (size_t)outputs->n * sizeof *args);
    outputs->n = 0;
    if (owned) {
        memset(slots, 0, (size_t)n_slots * sizeof *slots);
    }
    PyThreadState *tstate = PyThreadState_Get();
    dl_hook_lend(tstate);
    value = dl_pyframe_call_handing_over(residual, args, owned ? 0 : n_slots, n, NULL);
    dl_hook_take_back(tstate);
    if (args != small) {
        PyMem_Free(args);
    }
    Py_DECREF(residual);
    return value;
}

PyObject *
dl_residual_returned(DlEntry *entry, PyObject *const *slots, Py_ssize_t n_slots, DlValues *outputs)
{
    const struct DlReturned *row = entry->returns, *end = row + entry->n_returns;
    for (; row < end; row++) {
        Py_ssize_t index = row->index, flag = row->flag;
        if (index >= n_slots + outputs->n || (index >= 0 && index < n_slots && slots[index] == NULL)) {
            return NULL;
        }
        if (flag >= 0 && (flag < n_slots || flag >= n_slots + outputs->n || !PyBool_Check(outputs->items[flag - n_slots]))) {
            return NULL;
        }
    }
    Py_INCREF(entry); /* NB: making a tuple may collect garbage */
    PyObject *made = entry->returns_tuple ? PyTuple_New(entry->n_items) : NULL;
    row = entry->returns;
    for (Py_ssize_t i = 0; i < entry->n_items && (made != NULL || !entry->returns_tuple); i++, row++) {
        while (row->flag >= 0 && outputs->items[row->flag - n_slots] != Py_True) {
            row++;
        }
        Py_ssize_t index = row->index;
        PyObject *item = index < 0 ? row->constant : index < n_slots ? slots[index] : outputs->items[index - n_slots];
        if (entry->returns_tuple) {
            PyTuple_SET_ITEM(made, i, Py_NewRef(item));
        }
        else {
            made = Py_NewRef(item);
        }
        while (row->flag >= 0) {
            row++;
        }
    }
    Py_DECREF(entry);
    dl_values_clear(outputs);
    return made;
}
