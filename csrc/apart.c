/* What is made for good is set apart from the garbage collector.

   The compiler is some 70,000 objects that live as long as the process. The collector would go over them while they are
   made, whenever it looks at all there is, and three times when the interpreter ends, where it also takes them to pieces: as
   much time again as importing them. So they are taken out of its lists, as gc.freeze() does, but they alone: what the
   program has made stays where it was, and its cycles end when they would have ended.

   What is set apart stays tracked, and may be freed; what it leads to is reached from outside, as the collector sees it. */
#include "apart.h"

#include <stdint.h>

#include "pyframe.h"

#if DL_PYFRAME_GC_LISTS
/* NB: what stands before each object that may be tracked; the two lowest bits of `before` are flags. */
typedef struct Header {
    struct Header *next;
    uintptr_t before;
} Header;

enum { FLAGS = 3 };

static Header apart = {&apart, (uintptr_t)&apart};

static Header *
header_of(PyObject *object)
{
    return (Header *)object - 1;
}

/* Let b follow a. */
static void
join(Header *a, Header *b)
{
    a->next = b;
    b->before = (uintptr_t)a | (b->before & FLAGS);
}

/* Move what stands between two marks from their list to `apart`. They may stand in two lists, where somebody has collected
   meanwhile: then nothing is moved. */
static void
move(PyObject *first, PyObject *last)
{
    Header *begin = header_of(first), *end = header_of(last), *at = begin->next;
    while (at != end && at != begin) {
        at = at->next;
    }
    if (at != end || begin->next == end) {
        return;
    }
    Header *from = begin->next, *to = (Header *)(end->before & ~(uintptr_t)FLAGS);
    join(begin, end);
    join((Header *)(apart.before & ~(uintptr_t)FLAGS), from);
    join(to, &apart);
}
#endif

/* Whether other threads may make objects meanwhile. */
static int
is_alone(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);
    return first != NULL && PyThreadState_Next(first) == NULL;
}

/* set_apart(function): call it with the collector off; what it makes is never collected, where SETS_APART. The value. */
static PyObject *
set_apart(PyObject *module, PyObject *function)
{
    (void)module;
    int collects = PyGC_Disable();
    PyObject *first = PyList_New(0), *value = NULL, *last = NULL;
    if (first != NULL) {
        value = PyObject_CallNoArgs(function);
    }
    if (value != NULL && (last = PyList_New(0)) == NULL) {
        Py_CLEAR(value);
    }
#if DL_PYFRAME_GC_LISTS
    if (last != NULL && is_alone()) {
        move(first, last);
    }
#else
    (void)is_alone;
#endif
    Py_XDECREF(first);
    Py_XDECREF(last);
    if (collects) {
        PyGC_Enable();
    }
    return value;
}

PyMethodDef dl_apart_functions[] = {
    {"set_apart", set_apart, METH_O, "set_apart(function): its value; what the call makes is never collected."},
    {NULL, NULL, 0, NULL},
};

int
dl_apart_register(PyObject *module)
{
    return PyModule_AddIntConstant(module, "SETS_APART", DL_PYFRAME_GC_LISTS);
}
