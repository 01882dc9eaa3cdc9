/* _C.abi: the rows of abi.def for Python, one field each. */
#include "abi.h"

static PyStructSequence_Field fields[] = {
#define ABI(name, value, words) {#name, words},
#define TEXT(name, text, words) {#name, words},
#include "abi.def"
    {"HELPERS", "the functions that machine code of a loop calls, in their order"},
    {"LINALG", "the gufuncs of np.linalg whose loops are called, in their order"},
    {"NUMBER_KINDS", "the kinds of Python numbers"},
    {"SCALAR_OPS", "the operations on Python numbers"},
    {"VIEW_KINDS", "the ops that are views"},
    {"STEPS", "the classes of steps"},
    {NULL, NULL},
};

static PyStructSequence_Desc description = {
    "dynamo_lite._C.Abi", "What C and Python agree on: the rows of csrc/abi.def.", fields, (int)Py_ARRAY_LENGTH(fields) - 1};

/* A tuple of n texts, or NULL. */
static PyObject *
tuple_of(const char *const *texts, size_t n)
{
    PyObject *tuple = PyTuple_New((Py_ssize_t)n);
    for (size_t i = 0; tuple != NULL && i < n; i++) {
        PyObject *text = PyUnicode_InternFromString(texts[i]);
        if (text == NULL) {
            Py_CLEAR(tuple);
            break;
        }
        PyTuple_SET_ITEM(tuple, (Py_ssize_t)i, text);
    }
    return tuple;
}

/* The value of a field: a new reference, or NULL. */
static PyObject *
value_of(int field)
{
    static const struct {
        const char *text; /* NULL: it is the number */
        long number;
    } values[] = {
#define ABI(name, value, words) {NULL, value},
#define TEXT(name, text, words) {text, 0},
#include "abi.def"
    };
    static const char *const helpers[] = {
#define HELPER(name, function) #name,
#include "abi.def"
    };
    static const char *const linalg[] = {
#define LINALG(name) #name,
#include "abi.def"
    };
    static const char *const number_kinds[] = {
#define NUMBER_KIND(id, name) name,
#include "abi.def"
    };
    static const char *const scalar_ops[] = {
#define SCALAR_OP(id, name, family) name,
#include "abi.def"
    };
    static const char *const view_kinds[] = {
#define VIEW_KIND(id, name) name,
#include "abi.def"
    };
    static const char *const steps[] = {
#define STEP(id, name) name,
#include "abi.def"
    };
    int n = (int)Py_ARRAY_LENGTH(values);
    if (field < n) {
        return values[field].text ? PyUnicode_InternFromString(values[field].text) : PyLong_FromLong(values[field].number);
    }
    switch (field - n) {
    case 0:
        return tuple_of(helpers, Py_ARRAY_LENGTH(helpers));
    case 1:
        return tuple_of(linalg, Py_ARRAY_LENGTH(linalg));
    case 2:
        return tuple_of(number_kinds, Py_ARRAY_LENGTH(number_kinds));
    case 3:
        return tuple_of(scalar_ops, Py_ARRAY_LENGTH(scalar_ops));
    case 4:
        return tuple_of(view_kinds, Py_ARRAY_LENGTH(view_kinds));
    default:
        return tuple_of(steps, Py_ARRAY_LENGTH(steps));
    }
}

int
dl_abi_register(PyObject *module)
{
    PyTypeObject *type = PyStructSequence_NewType(&description);
    PyObject *abi = type ? PyStructSequence_New(type) : NULL;
    Py_XDECREF(type);
    for (int field = 0; abi != NULL && field < description.n_in_sequence; field++) {
        PyObject *value = value_of(field);
        if (value == NULL) {
            Py_CLEAR(abi);
            break;
        }
        PyStructSequence_SET_ITEM(abi, field, value);
    }
    int status = abi ? PyModule_AddObjectRef(module, "abi", abi) : -1;
    Py_XDECREF(abi);
    return status;
}
