/* Python numbers in native code: graph/scalar.py expressions compiled into one table of values.
 *
 * Every expression added becomes the index of a value; equal subexpressions share one. At a call the owner copies the
 * constants, fills the loads (sizes and numbers of the inputs) and evaluates the instructions in order. The kind of
 * each value is known when it is added. Integers are exact in 64 bits or evaluation declines; floats are Python's.
 */
#ifndef DL_SCALAR_H
#define DL_SCALAR_H

#include "abi.h"
#include "numpy_api.h"

typedef union {
    int64_t i; /* DL_BOOL, DL_INT */
    double f;  /* DL_FLOAT */
} DlNumber;

typedef struct {
    int32_t value; /* where it is put */
    int32_t input; /* negative: a step sets it */
    int32_t axis;  /* -1: the number itself */
} DlScalarLoad;

typedef struct {
    uint8_t op;
    uint8_t float_a, float_b; /* the operands are floats */
    int32_t value, a, b;
} DlScalarInstr;

typedef struct {
    int32_t n_values, n_loads, n_instrs;
    int32_t values_room, loads_room, instrs_room;
    uint8_t *kinds;     /* DlKind of each value */
    uint8_t *constant;  /* whether the value is one of the constants */
    DlNumber *initial;  /* the constants; others are undefined */
    DlScalarLoad *loads;
    DlScalarInstr *instrs;
    PyObject *known; /* dict: the index of each ScalarOp that has been added */
} DlScalars;

/* The index of the value of expr (Symbol, ScalarOp, bool, int or float); -1 with ValueError or another error set. */
int32_t dl_scalar_add(DlScalars *table, PyObject *expr);

/* Whether expr is a Symbol or ScalarOp; -1 with an error set. */
int dl_scalar_is_symbolic(PyObject *expr);

/* A comparison of sizes: the shape that most conditions have. */
typedef struct {
    int32_t input[2], axis[2]; /* input -1: the constant */
    int64_t constant;
    uint8_t less, equal, greater; /* for which outcomes it is true */
} DlComparison;

/* Whether expr compares a size with a size or an int constant, and how: 1, 0, or -1 with an error set. */
int dl_scalar_as_comparison(PyObject *expr, DlComparison *comparison);

/* Evaluate instructions first..last-1; 0, or 1 to decline (overflow, division by zero, inexact comparison). */
int dl_scalar_eval(const DlScalars *table, int32_t first, int32_t last, DlNumber *values);

/* ---- induction.c ---- */

/* A condition on an induction variable: the bool `value`, which instructions first..last-1 compute from `index`. That
 * grows by `by` from one iteration to the next. */
typedef struct {
    int32_t first, last, index, value;
    int64_t by;
} DlInduction;

/* For how many iterations, the one at hand included, the condition is false for certain; 0 where it is true now.
 * The instructions have been evaluated for the iteration at hand. */
int64_t dl_induction_false_for(const DlScalars *table, const DlInduction *iv, const DlNumber *values);

/* ---- functions.c ---- */

/* The function of math that op, a FUNCTION of csrc/abi.def, names; b: of those with two operands. 1 to decline. */
int dl_functions_call(int op, double a, double b, double *out);

/* ---- scalar.c ---- */

/* Python's float a % b for b != 0: fmod with the divisor's sign, also on a zero result. */
double dl_scalar_modulo(double a, double b);
/* Python's float a // b for b != 0: the nearest whole number to (a - a % b) / b, zero signed like a / b. */
double dl_scalar_floor_divide(double a, double b);
/* Python's float a ** b where it is what the C library says; 1 to decline: where it raises, is complex, or is near the
 * ends of the range. */
int dl_scalar_power(double a, double b, double *out);

/* Put the instructions that do not depend on `value` first, in their order: how many these are; -1 with MemoryError.
 * varies: one byte a value, zero but for the stage at which some become known; set to 1 for `value`, and for all that
 * depends on others the latest stage of these. Instructions stand by stage. */
int32_t dl_scalar_split(DlScalars *table, int32_t value, uint8_t *varies);

/* Read the number that `load` asks for from input (borrowed); 0, or 1 when it is not of that kind. */
int dl_scalar_load(const DlScalars *table, const DlScalarLoad *load, PyObject *input, DlNumber *values);

/* Read all of them, each from its input, and evaluate all instructions: 0, or 1 to decline. */
int dl_scalar_load_all(const DlScalars *table, PyObject *const *inputs, DlNumber *values);

/* The Python number a value stands for: a new reference. */
PyObject *dl_scalar_object(const DlScalars *table, int32_t value, const DlNumber *values);

/* Free what the table owns. */
void dl_scalar_clear(DlScalars *table);

#endif
