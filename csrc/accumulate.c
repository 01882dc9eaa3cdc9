/* Sums and products of the first elements of a vector, as np.cumsum and np.cumprod give them: each is the one before and
 * an operation, so that no order is left open. For machine code. */
#include "program.h"

#include <string.h>

/* NB: where two NaNs meet, NumPy may keep either; all that follows a NaN is NaN. */
#define ACCUMULATE(name, type, sign, is_nan)                                                                           \
    static int32_t name(char *out, const char *x, npy_intp n, npy_intp stride)                                         \
    {                                                                                                                  \
        type sum, next;                                                                                                \
        if (n < 1) {                                                                                                   \
            return 0;                                                                                                  \
        }                                                                                                              \
        memcpy(&sum, x, sizeof sum);                                                                                   \
        memcpy(out, &sum, sizeof sum);                                                                                 \
        for (npy_intp i = 1; i < n; i++) {                                                                             \
            memcpy(&next, x + i * stride, sizeof next);                                                                \
            sum = sum sign next;                                                                                       \
            memcpy(out + i * (npy_intp)sizeof sum, &sum, sizeof sum);                                                  \
        }                                                                                                              \
        return is_nan;                                                                                                 \
    }

ACCUMULATE(sum_double, double, +, sum != sum)
ACCUMULATE(sum_float, float, +, sum != sum)
ACCUMULATE(sum_int, uint64_t, +, 0)
ACCUMULATE(multiply_double, double, *, sum != sum)
ACCUMULATE(multiply_float, float, *, sum != sum)
ACCUMULATE(multiply_int, uint64_t, *, 0)

typedef int32_t (*Accumulate)(char *out, const char *x, npy_intp n, npy_intp stride);

static Accumulate
find(int type_num, int multiplies)
{
    switch (type_num) {
    case NPY_DOUBLE:
        return multiplies ? multiply_double : sum_double;
    case NPY_FLOAT:
        return multiplies ? multiply_float : sum_float;
    case NPY_LONG:
        return multiplies ? multiply_int : sum_int;
    }
    return NULL;
}

int32_t
dl_accumulate_vector(npy_intp what, char *out, const char *x, npy_intp n, npy_intp stride)
{
    Accumulate run = find((int)(what / DL_ACCUMULATES), what % DL_ACCUMULATES == DL_ACCUMULATE_MULTIPLY);
    return run == NULL || run(out, x, n, stride);
}
