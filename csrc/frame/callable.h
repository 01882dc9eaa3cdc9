/* CompiledFunction, the callable that stands for a compiled function (see callable.c). */
#ifndef DL_CALLABLE_H
#define DL_CALLABLE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

extern PyTypeObject dl_compiled_function_type;

#endif
