/* What pyframe.h promises and every CPython does alike: bounds of the C stack, and keys that compare by C code. */
#define _GNU_SOURCE /* pthread_getattr_np */
#include "pyframe.h"

#include <pthread.h>
#include <stdint.h>

enum { STACK_RESERVE = 512 * 1024 }; /* for what runs below the check: NumPy, BLAS, the interpreter's own errors */

/* The lowest address of this thread's C stack; 0 when the platform does not tell or the stack is small. */
static uintptr_t
stack_base(void)
{
    static _Thread_local struct { int known; uintptr_t base; } stack;
    if (!stack.known) {
        stack.known = 1;
        pthread_attr_t attributes;
        if (pthread_getattr_np(pthread_self(), &attributes) == 0) {
            void *base;
            size_t size;
            if (pthread_attr_getstack(&attributes, &base, &size) == 0 && size > 2 * STACK_RESERVE) {
                stack.base = (uintptr_t)base;
            }
            pthread_attr_destroy(&attributes);
        }
    }
    return stack.base;
}

int
dl_pyframe_stack_is_low(void)
{
    char here;
    uintptr_t base = stack_base();
    return base != 0 && (uintptr_t)&here - base < STACK_RESERVE; /* false on a foreign stack (coroutine libraries) */
}

int
dl_pyframe_check_stack(void)
{
    /* NB: 3.11 counts calls through C against the same limit as pure Python calls, which use no C stack: with a raised
       sys.setrecursionlimit() a deep recursion through C would crash where pure Python runs on. */
    if (dl_pyframe_stack_is_low()) {
        PyErr_SetString(PyExc_RecursionError, "maximum recursion depth exceeded: the thread's C stack is used up");
        return -1;
    }
    return 0;
}

/* Whether objects of type compare as those of the static type do that it derives from: by C code. */
static int
compares_in_c(const PyTypeObject *type)
{
    const PyTypeObject *base = type;
    while (base != NULL && (base->tp_flags & Py_TPFLAGS_HEAPTYPE)) {
        base = base->tp_base;
    }
    return base != NULL && base->tp_richcompare == type->tp_richcompare;
}

int
dl_pyframe_keys_are_plain(PyObject *dict)
{
    if (dl_pyframe_has_string_keys(dict)) {
        return 1;
    }
    Py_ssize_t at = 0;
    for (PyObject *key; PyDict_Next(dict, &at, &key, NULL);) {
        if (!compares_in_c(Py_TYPE(key))) {
            return 0;
        }
    }
    return 1;
}

int
dl_pyframe_names_are_plain(PyObject *object)
{
    PyObject *dict = dl_pyframe_own_dict(object);
    return dict == NULL || dl_pyframe_keys_are_plain(dict);
}

/* Whether objects of type have a dictionary, which __dict__ gives. */
static int
has_dict(PyTypeObject *type)
{
    static PyObject *name;
    if (name == NULL && (name = PyUnicode_InternFromString("__dict__")) == NULL) {
        PyErr_Clear();
        return 0;
    }
    PyObject *found = type->tp_dictoffset != 0 ? _PyType_Lookup(type, name) : NULL;
    return found != NULL && (Py_IS_TYPE(found, &PyGetSetDescr_Type) || Py_IS_TYPE(found, &PyMemberDescr_Type));
}

int
dl_pyframe_keeps_attributes(PyObject *object)
{
    PyObject *dict = has_dict(Py_TYPE(object)) ? dl_pyframe_own_dict(object) : Py_None;
    return dict == NULL || PyDict_CheckExact(dict);
}

static int
visit_same(PyObject *held, void *wanted)
{
    return held == wanted;
}

/* Whether object refers to `value` itself. */
static int
refers_to(PyObject *object, PyObject *value)
{
    traverseproc traverse = Py_TYPE(object)->tp_traverse;
    return traverse == NULL || traverse(object, visit_same, value);
}

PyObject *
dl_pyframe_own_attribute(PyObject *object, PyObject *name)
{
    PyTypeObject *type = Py_TYPE(object);
    if (!has_dict(type)) {
        return NULL;
    }
    PyObject *dict = dl_pyframe_own_dict(object), *found = NULL;
    if (dict != NULL) {
        found = PyDict_CheckExact(dict) ? PyDict_GetItemWithError(dict, name) : NULL;
        return Py_XNewRef(found);
    }
    PyObject *of_class = _PyType_Lookup(type, name);
    int runs_no_code = of_class == NULL || Py_TYPE(of_class)->tp_descr_get == NULL || PyFunction_Check(of_class)
                       || Py_IS_TYPE(of_class, &PyStaticMethod_Type);
    if (runs_no_code) {
        found = _PyObject_GenericGetAttrWithDict(object, name, NULL, 1);
        if (found == NULL || of_class == NULL) {
            return found;
        }
        /* NB: it may be the class's: then the object does not refer to it, but for another name's sake. */
        int is_own = refers_to(object, found);
        if (is_own && found != of_class && Py_TYPE(of_class)->tp_descr_get == NULL) {
            return found;
        }
        Py_CLEAR(found);
        if (!is_own) {
            return NULL;
        }
    }
    dict = PyObject_GenericGetDict(object, NULL);
    found = dict ? Py_XNewRef(PyDict_GetItemWithError(dict, name)) : NULL;
    Py_XDECREF(dict);
    return found;
}
