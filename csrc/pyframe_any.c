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
