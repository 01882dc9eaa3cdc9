/* The native side (guards.c, launch.c), or its absence in a tree that has only the frame side. */
#ifndef DL_NATIVE_H
#define DL_NATIVE_H

#if __has_include("guards.h") && __has_include("launch.h")
#include "guards.h"
#include "launch.h"
#else
/* No Guards and Program types: these are never called with anything. */
static inline int
dl_guards_check(PyObject *g, PyObject *f, PyObject *const *s, Py_ssize_t n, PyObject **i)
{
    (void)g, (void)f, (void)s, (void)n, (void)i;
    return 0;
}
static inline Py_ssize_t
dl_guards_n_inputs(PyObject *guards)
{
    (void)guards;
    return 0;
}
static inline int
dl_program_run(PyObject *program, PyObject *const *inputs, PyObject **outputs)
{
    (void)program, (void)inputs, (void)outputs;
    return 1;
}
static inline Py_ssize_t
dl_program_n_outputs(PyObject *program)
{
    (void)program;
    return 0;
}
static inline int
dl_guards_register(PyObject *module)
{
    return PyModule_AddObjectRef(module, "Guards", (PyObject *)&PyBaseObject_Type);
}
static inline int
dl_launch_register(PyObject *module)
{
    return PyModule_AddObjectRef(module, "Program", (PyObject *)&PyBaseObject_Type);
}
#endif

#endif
