/* What C and Python agree on (see abi.def), as enumerations. */
#ifndef DL_ABI_H
#define DL_ABI_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

enum {
#define ABI(name, value, words) DL_##name = value,
#include "abi.def"
};

enum {
#define STRIDE_CLASS(name, letter, words) DL_CLASS_##name,
#include "abi.def"
};

#define STRIDE_CLASS(name, letter, words)
#define TEXT(name, text, words) static const char DL_##name[] = text;
#include "abi.def"

typedef enum {
#define NUMBER_KIND(id, name) id,
#include "abi.def"
} DlKind;

typedef enum {
#define VIEW_KIND(id, name) id,
#include "abi.def"
} DlViewKind;

typedef enum {
#define STEP(id, name) id,
#include "abi.def"
} DlStepKind;

/* Add `abi` to the module; 0 or -1. */
int dl_abi_register(PyObject *module);

#endif
