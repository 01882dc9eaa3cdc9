/* Symbolic Python numbers (see scalar.h). */
#include "scalar.h"

#include <math.h>

#include "program/fpflags.h"
#include "scalar_ops.h"

typedef enum { ARITHMETIC, DIVISION, COMPARISON, SELECTION, NEGATION, BITS, CONVERSION, FUNCTION } Family; /* how the result's kind follows */

static const struct {
    const char *name;
    Family family;
} op_rows[N_OPS] = {
#define SCALAR_OP(id, name, family) {name, family},
#include "abi.def"
};

static const char *const kind_names[] = {
#define NUMBER_KIND(id, name) name,
#include "abi.def"
};

static const int64_t EXACT = (int64_t)1 << 53; /* integers up to here are doubles exactly */

static PyTypeObject *symbol_type, *op_type; /* of dynamo_lite.graph.scalar, once needed */

/* Learn the two expression types; 0 or -1 with an error set. */
static int
learn_types(void)
{
    if (op_type != NULL) {
        return 0;
    }
    PyObject *module = PyImport_ImportModule("dynamo_lite.graph.scalar");
    if (module == NULL) {
        return -1;
    }
    PyObject *symbol = PyObject_GetAttrString(module, "Symbol");
    PyObject *op = PyObject_GetAttrString(module, "ScalarOp");
    Py_DECREF(module);
    if (symbol == NULL || op == NULL || !PyType_Check(symbol) || !PyType_Check(op)) {
        Py_XDECREF(symbol);
        Py_XDECREF(op);
        if (!PyErr_Occurred()) {
            PyErr_SetString(PyExc_TypeError, "Symbol and ScalarOp must be types");
        }
        return -1;
    }
    symbol_type = (PyTypeObject *)symbol;
    op_type = (PyTypeObject *)op;
    return 0;
}

int
dl_scalar_is_symbolic(PyObject *expr)
{
    if (learn_types() < 0) {
        return -1;
    }
    return Py_IS_TYPE(expr, symbol_type) || Py_IS_TYPE(expr, op_type);
}

/* Make room for one more row of `size` bytes; 0 or -1 with MemoryError. */
static int
grow(void **rows, int32_t n, int32_t *room, size_t size)
{
    if (n < *room) {
        return 0;
    }
    int32_t wanted = *room ? 2 * *room : 8;
    void *more = PyMem_Realloc(*rows, (size_t)wanted * size);
    if (more == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    *rows = more;
    *room = wanted;
    return 0;
}

/* Append a value of that kind and return its index, or -1. */
static int32_t
new_value(DlScalars *table, DlKind kind, int is_constant, DlNumber number)
{
    int32_t room = table->values_room, same = room, again = room;
    if (grow((void **)&table->kinds, table->n_values, &room, sizeof *table->kinds) < 0
        || grow((void **)&table->constant, table->n_values, &same, sizeof *table->constant) < 0
        || grow((void **)&table->initial, table->n_values, &again, sizeof *table->initial) < 0) {
        return -1;
    }
    table->values_room = room;
    table->kinds[table->n_values] = kind;
    table->constant[table->n_values] = is_constant != 0;
    table->initial[table->n_values] = number;
    return table->n_values++;
}

/* The value of one instruction, shared with an equal one. */
static int32_t
add_instr(DlScalars *table, Op op, DlKind kind, int32_t a, int32_t b)
{
    for (int32_t i = 0; i < table->n_instrs; i++) {
        DlScalarInstr *instr = &table->instrs[i];
        if (instr->op == op && instr->a == a && instr->b == b && table->kinds[instr->value] == kind) {
            return instr->value;
        }
    }
    if (grow((void **)&table->instrs, table->n_instrs, &table->instrs_room, sizeof *table->instrs) < 0) {
        return -1;
    }
    int32_t value = new_value(table, kind, 0, (DlNumber){.i = 0});
    if (value >= 0) {
        table->instrs[table->n_instrs++] = (DlScalarInstr){
            .op = (uint8_t)op,
            .float_a = op != TOO_BIG && table->kinds[a] == DL_FLOAT,
            .float_b = op != TOO_BIG && table->kinds[b] == DL_FLOAT,
            .value = value,
            .a = a,
            .b = b,
        };
    }
    return value;
}

/* The value of a constant, shared with an equal one (same kind, same bits). */
static int32_t
add_constant(DlScalars *table, PyObject *object)
{
    DlNumber number = {.i = 0};
    DlKind kind;
    if (PyBool_Check(object)) {
        kind = DL_BOOL;
        number.i = object == Py_True;
    }
    else if (PyLong_CheckExact(object)) {
        int overflow;
        kind = DL_INT;
        number.i = PyLong_AsLongLongAndOverflow(object, &overflow);
        if (overflow) {
            return add_instr(table, TOO_BIG, DL_INT, 0, 0);
        }
    }
    else if (PyFloat_CheckExact(object)) {
        kind = DL_FLOAT;
        number.f = PyFloat_AS_DOUBLE(object);
    }
    else {
        PyErr_Format(PyExc_ValueError, "not a scalar expression: %R", object);
        return -1;
    }
    for (int32_t i = 0; i < table->n_values; i++) {
        if (table->constant[i] && table->kinds[i] == kind && table->initial[i].i == number.i) {
            return i;
        }
    }
    return new_value(table, kind, 1, number);
}

/* The DlKind that attribute `kind` of a Symbol or ScalarOp names, or -1. */
static int
declared_kind(PyObject *expr)
{
    PyObject *name = PyObject_GetAttrString(expr, "kind");
    if (name == NULL) {
        return -1;
    }
    for (int kind = DL_BOOL; kind <= DL_FLOAT; kind++) {
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, kind_names[kind]) == 0) {
            Py_DECREF(name);
            return kind;
        }
    }
    PyErr_Format(PyExc_ValueError, "scalar %R has kind %R", expr, name);
    Py_DECREF(name);
    return -1;
}

/* Read attribute `name` as an index: an int from `least` on that fits, or -1 for None; INT32_MIN with an error set. */
static int32_t
index_attribute(PyObject *expr, const char *name, int32_t least)
{
    PyObject *object = PyObject_GetAttrString(expr, name);
    if (object == NULL) {
        return INT32_MIN;
    }
    long index = object == Py_None ? -1 : PyLong_AsLong(object);
    Py_DECREF(object);
    if (PyErr_Occurred()) {
        return INT32_MIN;
    }
    if (index < least || index > INT32_MAX) {
        PyErr_Format(PyExc_ValueError, "symbol %R: %s is out of range", expr, name);
        return INT32_MIN;
    }
    return (int32_t)index;
}

/* The value of a Symbol. */
static int32_t
add_symbol(DlScalars *table, PyObject *symbol)
{
    int kind = declared_kind(symbol);
    int32_t input = kind < 0 ? INT32_MIN : index_attribute(symbol, "input", INT32_MIN / 2);
    int32_t axis = input == INT32_MIN ? INT32_MIN : index_attribute(symbol, "axis", -1);
    if (axis == INT32_MIN) {
        return -1;
    }
    if ((kind == DL_FLOAT || input < 0) && axis >= 0) {
        PyErr_Format(PyExc_ValueError, "symbol %R: a size is an int", symbol);
        return -1;
    }
    for (int32_t i = 0; i < table->n_loads; i++) {
        DlScalarLoad *load = &table->loads[i];
        if (load->input == input && load->axis == axis && table->kinds[load->value] == kind) {
            return load->value;
        }
    }
    if (grow((void **)&table->loads, table->n_loads, &table->loads_room, sizeof *table->loads) < 0) {
        return -1;
    }
    int32_t value = new_value(table, (DlKind)kind, 0, (DlNumber){.i = 0});
    if (value >= 0) {
        table->loads[table->n_loads++] = (DlScalarLoad){value, input, axis};
    }
    return value;
}

/* The op that a ScalarOp names, or -1. */
static int
named_op(PyObject *expr)
{
    PyObject *name = PyObject_GetAttrString(expr, "op");
    if (name == NULL) {
        return -1;
    }
    for (int op = 0; op < N_OPS; op++) {
        if (PyUnicode_Check(name) && PyUnicode_CompareWithASCIIString(name, op_rows[op].name) == 0) {
            Py_DECREF(name);
            return op;
        }
    }
    PyErr_Format(PyExc_ValueError, "unknown scalar operation %R", name);
    Py_DECREF(name);
    return -1;
}

/* How many operands op has. */
static int
n_operands(Op op)
{
    switch (op_rows[op].family) {
    case NEGATION:
    case CONVERSION:
        return 1;
    case FUNCTION:
        return op == ATAN2 || op == HYPOT || op == FMOD || op == COPYSIGN || op == CABS || op == ROUND ? 2 : 1;
    default:
        return op == NEG || op == SQRT ? 1 : 2;
    }
}

/* The kind of op's result, or -1 where Python would decide it only at the call. */
static int
result_kind(Op op, DlKind a, DlKind b)
{
    switch (op_rows[op].family) {
    case ARITHMETIC:
        return a == DL_FLOAT || b == DL_FLOAT ? DL_FLOAT : DL_INT;
    case DIVISION:
    case FUNCTION:
        return DL_FLOAT;
    case COMPARISON:
    case NEGATION:
        return DL_BOOL;
    case SELECTION:
        return a == b ? (int)a : -1;
    case BITS:
        return a == DL_INT && b == DL_INT ? DL_INT : -1;
    case CONVERSION:
        return a == DL_FLOAT ? DL_INT : -1;
    }
    Py_UNREACHABLE();
}

/* The six comparisons, decided by which of less, equal and greater holds (none with NaN). */
static int
compare(Op op, int less, int equal, int greater)
{
    switch (op) {
    case LT:
        return less;
    case LE:
        return less || equal;
    case EQ:
        return equal;
    case NE:
        return !equal;
    case GT:
        return greater;
    default:
        return greater || equal;
    }
}

/* The sign of an int constant beyond 64 bits, 0 for anything else. */
static int
too_big(PyObject *operand)
{
    int overflow = 0;
    if (PyLong_CheckExact(operand)) {
        (void)PyLong_AsLongLongAndOverflow(operand, &overflow);
    }
    return overflow;
}

/* The known truth of a comparison of an integer with a constant beyond 64 bits; -2: it is no such comparison, or -1. */
static int32_t
add_decided(DlScalars *table, Op op, PyObject *operands)
{
    int left = too_big(PyTuple_GET_ITEM(operands, 0)), right = too_big(PyTuple_GET_ITEM(operands, 1));
    if ((left == 0) == (right == 0)) {
        return -2;
    }
    int32_t other = dl_scalar_add(table, PyTuple_GET_ITEM(operands, left ? 1 : 0));
    if (other < 0 || table->kinds[other] == DL_FLOAT) {
        return other < 0 ? -1 : -2;
    }
    int greater = left > 0 || right < 0;
    return add_constant(table, compare(op, !greater, 0, greater) ? Py_True : Py_False);
}

/* The value of a ScalarOp that has not been added: its operands first, then one instruction, shared with an equal one. */
static int32_t
add_new_op(DlScalars *table, PyObject *expr)
{
    int declared = declared_kind(expr);
    int op = declared < 0 ? -1 : named_op(expr);
    PyObject *operands = op < 0 ? NULL : PyObject_GetAttrString(expr, "operands");
    if (operands == NULL) {
        return -1;
    }
    int unary = n_operands((Op)op) == 1;
    int32_t a = -1, b = -1;
    if (op_rows[op].family == COMPARISON && PyTuple_Check(operands) && PyTuple_GET_SIZE(operands) == 2) {
        int32_t folded = add_decided(table, (Op)op, operands);
        if (folded != -2) {
            Py_DECREF(operands);
            return folded;
        }
    }
    if (!PyTuple_Check(operands) || PyTuple_GET_SIZE(operands) != 2 - unary) {
        PyErr_Format(PyExc_ValueError, "wrong operands: %R", expr);
    }
    else {
        a = dl_scalar_add(table, PyTuple_GET_ITEM(operands, 0));
        b = a < 0 ? -1 : unary ? a : dl_scalar_add(table, PyTuple_GET_ITEM(operands, 1));
    }
    Py_DECREF(operands);
    if (b < 0) {
        return -1;
    }
    int kind = result_kind((Op)op, table->kinds[a], table->kinds[b]);
    if (kind != declared) {
        PyErr_Format(PyExc_ValueError, "%R is said to be a %s but is %s", expr, kind_names[declared],
                     kind < 0 ? "of a kind that only the call decides" : kind_names[kind]);
        return -1;
    }
    return add_instr(table, (Op)op, (DlKind)kind, a, b);
}

/* The value of a ScalarOp that has been added; -1 with an error set, -2 if it has not. */
static int32_t
known_op(const DlScalars *table, PyObject *expr)
{
    PyObject *known = PyDict_GetItemWithError(table->known, expr);
    return known != NULL ? (int32_t)PyLong_AsLong(known) : PyErr_Occurred() ? -1 : -2;
}

/* Append an operand of expr to a list that has not been added; 1 if there is one, 0, or -1 with an error set. */
static int
put_missing(const DlScalars *table, PyObject *expr, PyObject *work)
{
    PyObject *operands = PyObject_GetAttrString(expr, "operands");
    int found = operands == NULL ? -1 : 0;
    for (Py_ssize_t i = 0; found == 0 && PyTuple_Check(operands) && i < PyTuple_GET_SIZE(operands); i++) {
        PyObject *operand = PyTuple_GET_ITEM(operands, i);
        int32_t known = Py_IS_TYPE(operand, op_type) ? known_op(table, operand) : 0;
        found = known >= 0 ? 0 : known == -1 || PyList_Append(work, operand) < 0 ? -1 : 1;
    }
    Py_XDECREF(operands);
    return found;
}

/* The value of a ScalarOp, after those of all in it; by a list rather than by calls, since numbers may be deep. */
static int32_t
add_op(DlScalars *table, PyObject *expr)
{
    if (table->known == NULL && (table->known = PyDict_New()) == NULL) {
        return -1;
    }
    int32_t value = known_op(table, expr);
    if (value != -2) {
        return value;
    }
    PyObject *work = PyList_New(1);
    if (work == NULL) {
        return -1;
    }
    PyList_SET_ITEM(work, 0, Py_NewRef(expr));
    int failed = 0;
    while (!failed && PyList_GET_SIZE(work)) {
        Py_ssize_t last = PyList_GET_SIZE(work) - 1;
        PyObject *op = Py_NewRef(PyList_GET_ITEM(work, last));
        int missing = put_missing(table, op, work);
        if (missing == 0) {
            value = add_new_op(table, op);
            PyObject *index = value < 0 ? NULL : PyLong_FromLong(value);
            failed = index == NULL || PyDict_SetItem(table->known, op, index) < 0
                     || PyList_SetSlice(work, last, last + 1, NULL) < 0;
            Py_XDECREF(index);
        }
        failed |= missing < 0;
        Py_DECREF(op);
    }
    Py_DECREF(work);
    return failed ? -1 : value;
}

int32_t
dl_scalar_add(DlScalars *table, PyObject *expr)
{
    int symbolic = dl_scalar_is_symbolic(expr);
    if (symbolic <= 0) {
        return symbolic < 0 ? -1 : add_constant(table, expr);
    }
    return Py_IS_TYPE(expr, symbol_type) ? add_symbol(table, expr) : add_op(table, expr);
}

/* One side of a comparison of sizes: 1, 0 or -1. */
static int
compared_side(PyObject *operand, int side, DlComparison *comparison)
{
    if (PyLong_CheckExact(operand)) {
        int overflow;
        comparison->input[side] = -1;
        comparison->constant = PyLong_AsLongLongAndOverflow(operand, &overflow);
        return !overflow;
    }
    if (!Py_IS_TYPE(operand, symbol_type)) {
        return 0;
    }
    comparison->input[side] = index_attribute(operand, "input", 0);
    comparison->axis[side] = comparison->input[side] < 0 ? -2 : index_attribute(operand, "axis", -1);
    return comparison->axis[side] == -2 ? -1 : comparison->axis[side] >= 0;
}

int
dl_scalar_as_comparison(PyObject *expr, DlComparison *comparison)
{
    if (learn_types() < 0) {
        return -1;
    }
    int op = Py_IS_TYPE(expr, op_type) ? named_op(expr) : N_OPS;
    if (op < 0 || op == N_OPS || op_rows[op].family != COMPARISON) {
        return op < 0 ? -1 : 0;
    }
    PyObject *operands = PyObject_GetAttrString(expr, "operands");
    int fits = operands == NULL ? -1 : PyTuple_Check(operands) && PyTuple_GET_SIZE(operands) == 2;
    for (int side = 0; side < 2 && fits > 0; side++) {
        fits = compared_side(PyTuple_GET_ITEM(operands, side), side, comparison);
    }
    Py_XDECREF(operands);
    if (fits <= 0 || (comparison->input[0] < 0 && comparison->input[1] < 0)) {
        return fits < 0 ? -1 : 0;
    }
    comparison->less = op == LT || op == LE || op == NE;
    comparison->equal = op == LE || op == EQ || op == GE;
    comparison->greater = op == GT || op == GE || op == NE;
    return 1;
}

/* Integer a // b and a % b as Python rounds them; 1 to decline. */
static int
floor_divide(int64_t a, int64_t b, int64_t *quotient, int64_t *remainder)
{
    if (b == 0 || (a == INT64_MIN && b == -1)) {
        return 1;
    }
    int64_t q = a / b, r = a % b;
    if (r != 0 && (r < 0) != (b < 0)) {
        q -= 1;
        r += b;
    }
    *quotient = q;
    *remainder = r;
    return 0;
}

double
dl_scalar_modulo(double a, double b)
{
    double r = fmod(a, b);
    if (r == 0.0) {
        return copysign(0.0, b);
    }
    return (r < 0) != (b < 0) ? r + b : r;
}

double
dl_scalar_floor_divide(double a, double b)
{
    double r = fmod(a, b);
    double quotient = (a - r) / b;
    if (r != 0.0 && (r < 0) != (b < 0)) {
        quotient -= 1.0;
    }
    if (quotient == 0.0) {
        return copysign(0.0, a / b);
    }
    double whole = floor(quotient);
    return quotient - whole > 0.5 ? whole + 1.0 : whole;
}

/* One instruction on two integers; 1 to decline. */
static int
eval_ints(Op op, int64_t a, int64_t b, DlNumber *out)
{
    int64_t other;
    switch (op) {
    case ADD:
        return __builtin_add_overflow(a, b, &out->i);
    case SUB:
        return __builtin_sub_overflow(a, b, &out->i);
    case MUL:
        return __builtin_mul_overflow(a, b, &out->i);
    case NEG:
        return __builtin_sub_overflow((int64_t)0, a, &out->i);
    case FLOORDIV:
        return floor_divide(a, b, &out->i, &other);
    case MOD:
        return floor_divide(a, b, &other, &out->i);
    case TRUEDIV:
        /* NB: Python rounds the exact quotient once; so does a double division of exact doubles. */
        if (b == 0 || a > EXACT || a < -EXACT || b > EXACT || b < -EXACT) {
            return 1;
        }
        out->f = (double)a / (double)b;
        return 0;
    case MIN:
        out->i = b < a ? b : a;
        return 0;
    case MAX:
        out->i = b > a ? b : a;
        return 0;
    case AND:
        out->i = a ? b : a;
        return 0;
    case OR:
        out->i = a ? a : b;
        return 0;
    case NOT:
        out->i = !a;
        return 0;
    case BITAND:
        out->i = a & b;
        return 0;
    case BITOR:
        out->i = a | b;
        return 0;
    case BITXOR:
        out->i = a ^ b;
        return 0;
    case SQRT: /* math.sqrt raises below zero */
        out->f = a < 0 ? 0.0 : sqrt((double)a);
        return a < 0;
    case TOO_BIG:
    case TRUNC: /* of a float only */
    case POW: /* of ints it may be an int or a float */
        return 1;
    default:
        if (op_rows[op].family == FUNCTION) {
            return dl_functions_call((int)op, (double)a, (double)b, &out->f);
        }
        out->i = compare(op, a < b, a == b, a > b);
        return 0;
    }
}

/* NB: near the ends of the range C libraries report in their own ways. */
int
dl_scalar_power(double a, double b, double *out)
{
    if (b == 0.0) {
        *out = 1.0;
        return 0;
    }
    if (!isfinite(a) || !isfinite(b) || (a < 0.0 && b != floor(b))) {
        return 1;
    }
    *out = pow(a, b);
    return !isnormal(*out) && !(a == 0.0 && b > 0.0);
}

/* Whether two NaNs meet that are told apart. NB: C compilers may swap the operands of a sum or product, as the one of this
   Python has or has not done for its floats, and for its complex numbers' parts. */
static int
nans_differ(double a, double b)
{
    return a != a && b != b && memcmp(&a, &b, sizeof a) != 0;
}

/* One instruction on two floats; 1 to decline. */
static int
eval_floats(Op op, double a, double b, DlNumber *out)
{
    switch (op) {
    case ADD:
        out->f = a + b;
        return nans_differ(a, b);
    case SUB:
        out->f = a - b;
        return 0;
    case MUL:
        out->f = a * b;
        return nans_differ(a, b);
    case NEG:
        out->f = -a;
        return 0;
    case TRUEDIV:
        out->f = a / b;
        return b == 0.0;
    case FLOORDIV:
        if (b == 0.0) {
            return 1;
        }
        out->f = dl_scalar_floor_divide(a, b);
        return 0;
    case MOD:
        if (b == 0.0) {
            return 1;
        }
        out->f = dl_scalar_modulo(a, b);
        return 0;
    case POW:
        return dl_scalar_power(a, b, &out->f);
    case TRUNC:
        if (!(a > -0x1p63 && a < 0x1p63)) { /* a NaN included */
            return 1;
        }
        out->i = (int64_t)a;
        return 0;
    case SQRT:
        if (!(a >= 0.0)) { /* a NaN included */
            return 1;
        }
        out->f = sqrt(a);
        return 0;
    case MIN:
        out->f = b < a ? b : a;
        return 0;
    case MAX:
        out->f = b > a ? b : a;
        return 0;
    case AND:
        out->f = a != 0.0 ? b : a;
        return 0;
    case OR:
        out->f = a != 0.0 ? a : b;
        return 0;
    case NOT:
        out->i = !(a != 0.0);
        return 0;
    default:
        if (op_rows[op].family == FUNCTION) {
            return dl_functions_call((int)op, a, b, &out->f);
        }
        out->i = compare(op, a < b, a == b, a > b);
        return 0;
    }
}

/* An int and a float: arithmetic converts the int as Python does; a comparison is exact or declines. */
static int
eval_mixed(const DlScalarInstr *instr, DlNumber a, DlNumber b, DlNumber *out)
{
    int64_t whole = instr->float_a ? b.i : a.i;
    if (op_rows[instr->op].family == COMPARISON && (whole > EXACT || whole < -EXACT)) {
        return 1;
    }
    double x = instr->float_a ? a.f : (double)a.i, y = instr->float_b ? b.f : (double)b.i;
    return eval_floats((Op)instr->op, x, y, out);
}

/* Evaluate instructions; 1 to decline. */
static int
eval_each(const DlScalars *table, int32_t first, int32_t last, DlNumber *values)
{
    for (int32_t i = first; i < last; i++) {
        const DlScalarInstr *instr = &table->instrs[i];
        DlNumber a = values[instr->a], b = values[instr->b], *out = &values[instr->value];
        int declined;
        if (!instr->float_a && !instr->float_b) {
            declined = eval_ints((Op)instr->op, a.i, b.i, out);
        }
        else if (instr->float_a && instr->float_b) {
            declined = eval_floats((Op)instr->op, a.f, b.f, out);
        }
        else {
            declined = eval_mixed(instr, a, b, out);
        }
        if (declined) {
            return 1;
        }
    }
    return 0;
}

int
dl_scalar_eval(const DlScalars *table, int32_t first, int32_t last, DlNumber *values)
{
    if (first >= last) {
        return 0;
    }
    unsigned before = dl_fp_get();
    int declined = eval_each(table, first, last, values);
    if (dl_fp_get() != before) { /* of floats that overflow or vanish Python says nothing, nor is NumPy to */
        dl_fp_set(before);
    }
    return declined;
}

int32_t
dl_scalar_split(DlScalars *table, int32_t value, uint8_t *varies)
{
    DlScalarInstr *later = PyMem_New(DlScalarInstr, table->n_instrs + 1);
    int32_t n_fixed = 0, n_later = 0, n = 0;
    uint8_t last = 1;
    if (later == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    if (value >= 0 && varies[value] == 0) {
        varies[value] = 1;
    }
    for (int32_t i = 0; i < table->n_instrs; i++) {
        DlScalarInstr instr = table->instrs[i];
        uint8_t *stage = &varies[instr.value], a = varies[instr.a], b = varies[instr.b];
        *stage = a > b ? a : b;
        last = *stage > last ? *stage : last;
        if (*stage) {
            later[n_later++] = instr;
        }
        else {
            table->instrs[n_fixed++] = instr;
        }
    }
    for (int stage = 1; stage <= last; stage++) {
        for (int32_t i = 0; i < n_later; i++) {
            if (varies[later[i].value] == stage) {
                table->instrs[n_fixed + n++] = later[i];
            }
        }
    }
    PyMem_Free(later);
    return n_fixed;
}

void
dl_scalar_clear(DlScalars *table)
{
    PyMem_Free(table->kinds);
    PyMem_Free(table->constant);
    PyMem_Free(table->initial);
    PyMem_Free(table->loads);
    PyMem_Free(table->instrs);
    Py_CLEAR(table->known);
    memset(table, 0, sizeof *table);
}
