/* The extension module dynamo_lite._C: only assembles what the other files define. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "abi.h"
#include "frame/back_edge.h"
#include "frame/cache.h"
#include "frame/eval_hook.h"
#include "support/freeze.h"
#include "guards/guards.h"
#include "frame/interrupts.h"
#include "program/launch.h"

/* The files with functions for Python, each of which has a table of them, dl_<file>_functions; and the types that need
 * nothing but to be there. */
#define FILES(X) \
    X(accumulate) X(back_edge) X(bands) X(blocks) X(cache) X(draws) X(eval_hook) X(extremes) X(freeze) X(guards) \
    X(histogram) X(interrupts) X(kernel_code) X(launch) X(machine) X(machine_lists) X(memory) X(nearest) X(ranks) \
    X(search) X(small) X(small_products) X(statistics) X(terms) X(threads) X(trials) X(watch) X(world)
#define TYPES(X) \
    X(dl_compiled_function_type) X(dl_continuation_type) X(dl_init_type) X(dl_jump_type) X(dl_objects_type) \
    X(dl_poll_type) X(dl_round_type)

#define DECLARE_FUNCTIONS(file) extern PyMethodDef dl_##file##_functions[];
#define DECLARE_TYPE(type) extern PyTypeObject type;
#define FUNCTIONS(file) dl_##file##_functions,
#define TYPE(type) &type,

FILES(DECLARE_FUNCTIONS)
TYPES(DECLARE_TYPE)

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dynamo_lite._C",
    .m_doc = "Frames, guards and programs in C: see dynamo_lite/_C.pyi.",
    .m_size = -1,
};

PyMODINIT_FUNC
PyInit__C(void)
{
    static PyMethodDef *const functions[] = {FILES(FUNCTIONS)};
    static PyTypeObject *const types[] = {TYPES(TYPE)};
    static int (*const registrations[])(PyObject *) = {
        dl_guards_register,     dl_launch_register,    dl_cache_register, dl_hook_register,
        dl_interrupts_register, dl_back_edge_register, dl_abi_register,   dl_freeze_register,
    };
    PyObject *module = PyModule_Create(&definition);
    for (size_t i = 0; module != NULL && i < Py_ARRAY_LENGTH(registrations); i++) {
        if (registrations[i](module) < 0) {
            Py_CLEAR(module);
        }
    }
    for (size_t i = 0; module != NULL && i < Py_ARRAY_LENGTH(types); i++) {
        if (PyModule_AddType(module, types[i]) < 0) {
            Py_CLEAR(module);
        }
    }
    for (size_t i = 0; module != NULL && i < Py_ARRAY_LENGTH(functions); i++) {
        if (PyModule_AddFunctions(module, functions[i]) < 0) {
            Py_CLEAR(module);
        }
    }
    return module;
}
