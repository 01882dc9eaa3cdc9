/* The extension module dynamo_lite._C: only assembles what the other files define. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "abi.h"
#include "apart.h"
#include "back_edge.h"
#include "cache.h"
#include "callable.h"
#include "dispatch.h"
#include "eval_hook.h"
#include "fields.h"
#include "guards.h"
#include "interrupts.h"
#include "launch.h"
#include "memory.h"
#include "objects.h"
#include "terms.h"
#include "threads.h"
#include "trials.h"
#include "watch.h"

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT,
    .m_name = "dynamo_lite._C",
    .m_doc = "Frames, guards and programs in C: see dynamo_lite/_C.pyi.",
    .m_size = -1,
};

PyMODINIT_FUNC
PyInit__C(void)
{
    static int (*const registrations[])(PyObject *) = {
        dl_dispatch_register, /* Declined first: programs raise it */
        dl_guards_register, dl_launch_register, dl_dispatch_learn_native_types,
        dl_cache_register,  dl_callable_register, dl_hook_register, dl_interrupts_register,
        dl_trials_register, dl_rounds_register, dl_back_edge_register, dl_watch_register, dl_memory_register, dl_threads_register,
        dl_abi_register, dl_objects_register, dl_apart_register,
        dl_terms_register, dl_fields_register,
    };
    PyObject *module = PyModule_Create(&definition);
    for (size_t i = 0; module != NULL && i < Py_ARRAY_LENGTH(registrations); i++) {
        if (registrations[i](module) < 0) {
            Py_CLEAR(module);
        }
    }
    return module;
}
