/* Conditions on the induction variable of a loop: for how many iterations one stays false, before the loop runs. */
#include "scalar.h"
#include "scalar_ops.h"

/* The instruction that computes a value from the index; NULL where it is the index itself, or fixed. */
static const DlScalarInstr *
computed(const DlScalars *table, const DlInduction *iv, int32_t value)
{
    for (int32_t i = iv->first; i < iv->last; i++) {
        if (table->instrs[i].value == value) {
            return &table->instrs[i];
        }
    }
    return NULL;
}

static int
is_fixed(const DlScalars *table, const DlInduction *iv, int32_t value)
{
    return value != iv->index && computed(table, iv, value) == NULL;
}

/* By how much an integer grows from one number to the next; 1 where that is not known. */
static int
growth(const DlScalars *table, const DlInduction *iv, int32_t value, const DlNumber *values, int64_t *by)
{
    const DlScalarInstr *instr = computed(table, iv, value);
    int64_t a, b;
    if (instr == NULL) {
        *by = value == iv->index ? iv->by : 0;
        return table->kinds[value] != DL_INT;
    }
    if ((instr->op != ADD && instr->op != SUB && instr->op != MUL) || growth(table, iv, instr->a, values, &a)
        || growth(table, iv, instr->b, values, &b)) {
        return 1;
    }
    if (instr->op == MUL) {
        int32_t factor = a == 0 ? instr->a : instr->b;
        return !is_fixed(table, iv, factor) || __builtin_mul_overflow(values[factor].i, a == 0 ? b : a, by);
    }
    return instr->op == ADD ? __builtin_add_overflow(a, b, by) : __builtin_sub_overflow(a, b, by);
}

/* For how many numbers one integer is not yet less than another, or not yet less or equal; it is not now. */
static int64_t
in_order_for(const DlScalars *table, const DlInduction *iv, const DlScalarInstr *instr, const DlNumber *values)
{
    int is_less = instr->op == LT || instr->op == LE, may_equal = instr->op == LE || instr->op == GE;
    int32_t low = is_less ? instr->a : instr->b, high = is_less ? instr->b : instr->a;
    int64_t of_low, of_high, by, missing;
    if (instr->float_a || instr->float_b || growth(table, iv, low, values, &of_low)
        || growth(table, iv, high, values, &of_high) || __builtin_sub_overflow(of_high, of_low, &by)
        || __builtin_sub_overflow(values[low].i, values[high].i, &missing)
        || __builtin_add_overflow(missing, !may_equal, &missing)) {
        return 1;
    }
    return by <= 0 ? INT64_MAX : missing / by + (missing % by != 0);
}

/* For how many numbers an integer is not yet equal to another one, which is fixed; it is not now.
 * NB: i % k goes round, also where i leaves 64 bits on the way. */
static int64_t
differ_for(const DlScalars *table, const DlInduction *iv, const DlScalarInstr *equal, const DlNumber *values)
{
    int64_t by, distance, now = values[equal->a].i, then = values[equal->b].i;
    if (equal->float_a || equal->float_b || !is_fixed(table, iv, equal->b)) {
        return 1;
    }
    const DlScalarInstr *mod = computed(table, iv, equal->a);
    if (mod != NULL && mod->op == MOD && is_fixed(table, iv, mod->b) && growth(table, iv, mod->a, values, &by) == 0
        && (by == 1 || by == -1)) {
        int64_t modulus = values[mod->b].i;
        if (modulus <= 0) {
            return 1;
        }
        distance = by == 1 ? then - now : now - then;
        return then < 0 || then >= modulus ? INT64_MAX : distance < 0 ? distance + modulus : distance;
    }
    if (growth(table, iv, equal->a, values, &by) || by == 0 || by == INT64_MIN
        || (by > 0 ? __builtin_sub_overflow(then, now, &distance) : __builtin_sub_overflow(now, then, &distance))) {
        return 1;
    }
    by = by < 0 ? -by : by;
    return distance > 0 && distance % by == 0 ? distance / by : INT64_MAX;
}

int64_t
dl_induction_false_for(const DlScalars *table, const DlInduction *iv, const DlNumber *values)
{
    const DlScalarInstr *instr = computed(table, iv, iv->value);
    if (values[iv->value].i) {
        return 0;
    }
    if (instr == NULL) {
        return INT64_MAX;
    }
    if (instr->op == EQ) {
        return differ_for(table, iv, instr, values);
    }
    if (instr->op == LT || instr->op == LE || instr->op == GT || instr->op == GE) {
        return in_order_for(table, iv, instr, values);
    }
    if (instr->op != AND && instr->op != OR) {
        return 1;
    }
    DlInduction left = *iv, right = *iv;
    left.value = instr->a;
    right.value = instr->b;
    int64_t one = dl_induction_false_for(table, &left, values), other = dl_induction_false_for(table, &right, values);
    return (one < other) == (instr->op == OR) ? one : other;
}
