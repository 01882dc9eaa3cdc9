/* The table by which equal terms are one object (graph/scalar.py) holds weak references. What takes out one that has died
   is a C function: a callback in Python would lose an interrupt that arrives in it. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* forget_term(table, key, reference): take key out of table if it leads to that reference. */
static PyObject *
forget_term(PyObject *module, PyObject *const *args, Py_ssize_t n)
{
    (void)module;
    if (n != 3 || !PyDict_CheckExact(args[0])) {
        PyErr_SetString(PyExc_TypeError, "forget_term(table, key, reference)");
        return NULL;
    }
    PyObject *found = PyDict_GetItemWithError(args[0], args[1]);
    if (found == NULL && PyErr_Occurred()) {
        return NULL;
    }
    if (found == args[2] && PyDict_DelItem(args[0], args[1]) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

PyMethodDef dl_terms_functions[] = {
    {"forget_term", (PyCFunction)(void (*)(void))forget_term, METH_FASTCALL,
     "forget_term(table, key, reference): take key out of table if it leads to that reference."},
    {NULL, NULL, 0, NULL},
};
