/* CPython's private headers, for those who know its versions: pyframe.c, pyframe_signals.c and pyframe_places.c. Included
   behind Python.h. */
#ifndef DL_PYFRAME_CORE_H
#define DL_PYFRAME_CORE_H

#if PY_VERSION_HEX >= 0x030B0000 && PY_VERSION_HEX < 0x030F0000 && !defined(Py_GIL_DISABLED) && !defined(PYPY_VERSION)
#define DL_KNOWN_PYTHON 1
#else
#define DL_KNOWN_PYTHON 0
#endif

#if DL_KNOWN_PYTHON
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED /* a public macro of 3.12 whose name pycore_gc.h defines again, as a function */
#include <internal/pycore_dict.h>
#include <internal/pycore_frame.h>
#include <internal/pycore_pystate.h>
#if PY_VERSION_HEX >= 0x030C0000
#include <internal/pycore_interp.h>
#endif
#if PY_VERSION_HEX >= 0x030D0000
#include <internal/pycore_ceval.h>
#include <internal/pycore_object.h>
#endif
#if PY_VERSION_HEX >= 0x030E0000
#include <internal/pycore_interpframe.h>
#endif
#undef Py_BUILD_CORE
#pragma GCC diagnostic pop
#endif

#endif
