/* Whole powers of doubles and floats (see power.h).
 *
 * NumPy's power (SVML's, on processors with AVX-512) takes 1 to 3 ns for a positive number, and 120 ns for a negative
 * one, of which a scalar routine takes care. Of doubles that routine errs by at most 0.512 units in the last place: the
 * worst of 10^8 arguments for exponents from 3 to 16; of floats by at most 0.510: the worst of all mantissas. So where
 * the exact power, computed with twice the digits, is further than 1/32 (1/64) of a unit from the middle of two numbers,
 * the routine's result is the nearest one, and is known without it. All other numbers (one negative one in sixteen, or
 * in 32, zeros, NaNs, extremes) are left to NumPy's loop, and so are tiles of positive numbers alone.
 */
#include "power.h"

#include <math.h>
#include <string.h>

#include "program/fpflags.h"

enum { CHUNK = 128, LEAST_EXPONENT = 3, MOST_EXPONENT = 16, SAMPLES = 512 };

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define SERVED 1
#define WIDE __attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,fma,prefer-vector-width=512")))
#else
#define SERVED 0
#define WIDE
#endif

static inline uint64_t
bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline uint32_t
bits_of_float(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* x > 0.0, of a NaN without a flag. */
static inline int
is_positive(double x)
{
    return bits_of(x) - 1 < 0x7ff0000000000000u;
}

static inline int
is_positive_float(float x)
{
    return bits_of_float(x) - 1 < 0x7f800000u;
}

/* results = x to the power of e; doubts: of which that is not certainly the nearest double, a rounding error of 1/32
 * of its unit allowed for, or is no finite power of a negative number. */
WIDE static void
nearest_powers(const double *x, int e, double least, double most, double *results, int64_t *doubts)
{
    double plain[CHUNK], high[CHUNK], low[CHUNK];
    uint64_t from = bits_of(-least), to = bits_of(-most);
    for (int i = 0; i < CHUNK; i++) {
        plain[i] = (bits_of(x[i]) > from) & (bits_of(x[i]) < to) ? x[i] : 1.0; /* the others are to set no flags */
        high[i] = plain[i];
        low[i] = 0.0;
    }
    for (int k = 1; k < e; k++) {
        for (int i = 0; i < CHUNK; i++) {
            double product = high[i] * plain[i];
            double error = fma(high[i], plain[i], -product) + low[i] * plain[i];
            high[i] = product + error;
            low[i] = error - (high[i] - product);
        }
    }
    for (int i = 0; i < CHUNK; i++) {
        uint64_t bits = bits_of(high[i]), exponent = bits & 0x7ff0000000000000u;
        double unit; /* 2^52 times the distance to the next double */
        memcpy(&unit, &exponent, sizeof unit);
        int sure = (bits << 12 != 0) & (fabs(low[i]) < unit * (0.46875 * 0x1p-52)); /* 1.0 is not */
        results[i] = is_positive(x[i]) ? results[i] : high[i];
        doubts[i] = !is_positive(x[i]) & !sure;
    }
}

/* The same of floats, whose power has all the digits that matter in a double. */
WIDE static void
nearest_powers_of_floats(const float *x, int e, float least, float most, float *results, int32_t *doubts)
{
    double plain[CHUNK], power[CHUNK];
    uint32_t from = bits_of_float(-least), to = bits_of_float(-most);
    for (int i = 0; i < CHUNK; i++) {
        int inside = (bits_of_float(x[i]) > from) & (bits_of_float(x[i]) < to);
        doubts[i] = !inside;
        plain[i] = inside ? x[i] : 1.0;
        power[i] = plain[i];
    }
    for (int k = 1; k < e; k++) {
        for (int i = 0; i < CHUNK; i++) {
            power[i] *= plain[i];
        }
    }
    for (int i = 0; i < CHUNK; i++) {
        uint64_t exponent = bits_of(power[i]) & 0x7ff0000000000000u;
        double unit; /* 2^23 times the distance to the next float */
        memcpy(&unit, &exponent, sizeof unit);
        float nearest = (float)power[i];
        int sure = fabs(power[i] - nearest) < unit * (0.484375 * 0x1p-23);
        results[i] = is_positive_float(x[i]) ? results[i] : nearest;
        doubts[i] = (doubts[i] | !sure) && !is_positive_float(x[i]);
    }
}

/* The loop of NumPy's that all words describe is run so: the same in all calls of dl_power_find. */
static DlInvoke served;

#define NUMBER double
#define MARK int64_t
#define IS_POSITIVE is_positive
#define NEAREST_POWERS nearest_powers
#define LARGEST 0x1p900 /* neither a power nor the error of a product within these bounds is subnormal or overflows */
#define OF_TYPE(name) name##_doubles
#include "power_runs.h"
#define NUMBER float
#define MARK int32_t
#define IS_POSITIVE is_positive_float
#define NEAREST_POWERS nearest_powers_of_floats
#define LARGEST 0x1p100
#define OF_TYPE(name) name##_floats
#include "power_runs.h"

DlInvoke
dl_power_find(int type, DlInvoke invoke, const npy_intp *slot)
{
#if SERVED
    static int answers[2] = {-1, -1}; /* NB: two threads may find it out, and find the same */
    int *answer = &answers[type == NPY_FLOAT];
    served = invoke;
    if (*answer < 0) {
        *answer = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
                  && __builtin_cpu_supports("avx512bw")
                  && (type == NPY_FLOAT ? agrees_on_floats(slot) : agrees_on_doubles(slot));
    }
    return !*answer ? NULL : type == NPY_FLOAT ? &run_on_floats : &run_on_doubles;
#else
    (void)invoke;
    (void)slot;
    (void)type;
    return NULL;
#endif
}

/* ---- of scalars ---- */

/* Let NumPy's and the C library's own places of flags count. */
static void
gather_flags(void)
{
    unsigned more = dl_fp_get_x87();
    if (more) {
        dl_fp_set(dl_fp_get() | more);
        dl_fp_clear_x87();
    }
}

double
dl_power_scalar(double a, double b)
{
    dl_fp_clear_x87();
    double result = pow(a, b);
    gather_flags();
    return result;
}

float
dl_power_scalar_float(float a, float b)
{
    dl_fp_clear_x87();
    float result = powf(a, b);
    gather_flags();
    return result;
}
