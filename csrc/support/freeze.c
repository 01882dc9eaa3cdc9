/* Objects that live as long as the process are frozen: the garbage collector never visits them.

   The compiler is some 70,000 such objects. The collector would visit them while they are made, at each full
   collection, and three times when the interpreter ends, where it also takes them to pieces: as long again as importing
   them takes.
   gc.freeze() would freeze all that the program has made, too, and its cycles would never end. So only the objects
   between two marks move from the collector's lists to one of our own.

   A frozen object stays tracked, and may be freed. What it refers to counts as reached from outside. */
#include "freeze.h"

#include <stdint.h>

#include "frame/pyframe.h"

#if DL_PYFRAME_GC_LISTS
/* NB: what stands before each object that may be tracked; the two lowest bits of `before` are flags. */
typedef struct Header {
    struct Header *next;
    uintptr_t before;
} Header;

enum { FLAGS = 3 };

static Header frozen = {&frozen, (uintptr_t)&frozen};

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

/* Move the objects between two marks to `frozen`. Where somebody has collected meanwhile, the marks may be in two
   lists: then nothing moves. */
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
    join((Header *)(frozen.before & ~(uintptr_t)FLAGS), from);
    join(to, &frozen);
}
#endif

/* Whether other threads may make objects meanwhile. */
static int
is_alone(void)
{
    PyThreadState *first = PyInterpreterState_ThreadHead(PyThreadState_Get()->interp);
    return first != NULL && PyThreadState_Next(first) == NULL;
}

/* freeze_made_by(function): call it with the collector off and, where FREEZES, freeze what it makes. Its value. */
static PyObject *
freeze_made_by(PyObject *module, PyObject *function)
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

PyMethodDef dl_freeze_functions[] = {
    {"freeze_made_by", freeze_made_by, METH_O,
     "freeze_made_by(function): its value; the collector never visits what it makes."},
    {NULL, NULL, 0, NULL},
};

int
dl_freeze_register(PyObject *module)
{
    return PyModule_AddIntConstant(module, "FREEZES", DL_PYFRAME_GC_LISTS);
}
