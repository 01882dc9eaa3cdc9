/* A table of guards as guards_build.c makes it and guards_run.c checks it. */
#ifndef DL_GUARDS_TABLE_H
#define DL_GUARDS_TABLE_H

#include "numpy_api.h"
#include "numbers/scalar.h"

typedef enum {
#define GUARD(id, name, operands, words) id,
#include "guards.def"
#undef GUARD
    N_KINDS
} Kind;

typedef struct {
    const char *name, *operands, *words;
} DlGuardRow;

/* The rows of guards.def, by kind. */
extern const DlGuardRow dl_guard_rows[N_KINDS];

/* How an "attr" reads: which of CPython's places for attributes may hold it, as its class stood at build. */
typedef enum { FROM_MODULE, FROM_INSTANCE, FROM_DICT, FROM_CLASS } AttrMode;

enum { MAX_OBJECTS = 3 };
enum { DL_GUARD_REGISTERS = 48, DL_GUARD_VALUES = 64 }; /* of tables that are checked without memory of their own */

typedef struct {
    uint8_t kind;
    uint8_t mode;        /* AttrMode of "attr"; DlKind of "number"; 1 for a "scalar" that compares sizes */
    int32_t reg[3];      /* registers in the order of the operands */
    PyObject *object[MAX_OBJECTS];
    union {
        int64_t n[3];    /* ints in the order of the operands; "type_version": the tag */
        struct {
            int32_t value, first_load, last_load, first_instr, last_instr;
        } scalar;
        DlComparison comparison; /* of a "scalar" whose mode is 1; inputs are registers here */
    };
} DlGuardOp;

typedef struct {
    PyObject_HEAD
    int32_t n_ops, n_registers, n_inputs;
    int own;             /* a read may run Python code (a key's __eq__, a finalizer): hold references while checking */
    DlGuardOp *ops;
    int32_t *inputs;     /* registers */
    DlScalars scalars;
    PyObject *ops_tuple, *inputs_tuple;
} DlGuards;

/* The version tag of a type, assigned now if it has none; 0 when CPython has none left to give. */
unsigned int dl_guards_version_tag(PyTypeObject *type);
/* generic_attributes(cls) -> (bool, bool): whether attributes of instances are found, and stored, as those of a plain
 * object are; a class of C may say so with a slot of its own (types.SimpleNamespace). */
PyObject *dl_guards_generic_attributes(PyObject *module, PyObject *object);

/* Whether `index` is a tuple of ints and slices, as the op "part" takes it. */
int dl_guards_part_index(PyObject *index);

/* Whether `part`, which is not empty, lies where ``whole[index]`` does. */
int dl_guards_is_part(PyObject *part, PyObject *whole, PyObject *index);

/* Whether two arrays certainly share no memory, by the first and the last byte of each. */
int dl_guards_are_disjoint(PyObject *one, PyObject *other);

/* Fill a new Guards from its two tuples: 0 or -1. */
int dl_guards_build(DlGuards *self);

/* ---- guards_run.c ---- */

/* Run all ops: their number when all pass, else the one that fails (-1: an error is set). values: room for the numbers;
 * regs: borrowed references, or where the table has its `own`, new ones in registers that are empty before. */
int32_t dl_guards_run(const DlGuards *self, PyObject *func, PyObject *const *slots, Py_ssize_t nslots, PyObject **regs,
                      DlNumber *values);
/* The characters of a str or bytes, as the op "text" makes them: a new reference; NULL without an error for other objects. */
PyObject *dl_guards_text_array(PyObject *object);

#endif
