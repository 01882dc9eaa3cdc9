/* Whole powers of doubles (see power.h).
 *
 * NumPy's power (SVML's, on processors with AVX-512) takes 3 ns for a positive number, and 120 ns for a negative one,
 * of which a scalar routine takes care. That routine errs by at most 0.512 units in the last place: the worst of 10^8
 * arguments for exponents from 3 to 16. So where the exact power, computed with twice the digits, is further than 1/32
 * of a unit from the middle of two doubles, the routine's result is the nearest double, and is known without it. All
 * other numbers (one negative one in sixteen, zeros, NaNs, extremes) are left to NumPy's loop, and so are tiles of
 * positive numbers alone.
 */
#include "power.h"

#include <math.h>
#include <string.h>

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

/* x > 0.0, of a NaN without a flag. */
static inline int
is_positive(double x)
{
    return bits_of(x) - 1 < 0x7ff0000000000000u;
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

/* Whether all of n numbers are positive. */
WIDE static int
all_positive(const char *from, npy_intp stride, npy_intp n)
{
    int64_t others = 0;
    if (stride == sizeof(double)) {
        const double *x = (const double *)from;
        for (npy_intp i = 0; i < n; i++) {
            others |= !is_positive(x[i]);
        }
        return !others;
    }
    for (npy_intp i = 0; i < n; i++, from += stride) {
        others |= !is_positive(*(const double *)from);
    }
    return !others;
}

int32_t
dl_power_run(DlInvoke invoke, const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides)
{
    double given = strides[1] == 0 && n > 0 ? *(const double *)args[1] : 0.0;
    int e = given >= LEAST_EXPONENT && given <= MOST_EXPONENT ? (int)given : 0;
    if (e == 0 || e != given || all_positive(args[0], strides[0], n)) {
        return invoke(slot, args, n, strides);
    }
    /* NB: neither the power nor the error of a product within these bounds is subnormal or overflows. */
    double most = ldexp(1.0, 900 / e), least = 1.0 / most;
    static const npy_intp packed[3] = {sizeof(double), 0, sizeof(double)};
    for (npy_intp start = 0; start < n; start += CHUNK) {
        npy_intp m = n - start < CHUNK ? n - start : CHUNK;
        double x[CHUNK], base[CHUNK], results[CHUNK], doubtful[CHUNK];
        int64_t doubts[CHUNK], others = 0;
        const char *from = args[0] + start * strides[0];
        for (npy_intp i = 0; i < CHUNK; i++, from += i < m ? strides[0] : 0) { /* the last one again behind the end */
            x[i] = *(const double *)from;
            base[i] = is_positive(x[i]) ? x[i] : 1.0;
            others |= !is_positive(x[i]);
        }
        int32_t status = invoke(slot, (char *[]){(char *)base, args[1], (char *)results}, m, packed);
        if (status == 0 && others) {
            int places[CHUNK];
            npy_intp count = 0;
            nearest_powers(x, e, least, most, results, doubts);
            for (int i = 0; i < m; i++) {
                places[count] = i;
                doubtful[count] = x[i];
                count += doubts[i] != 0;
            }
            if (count > 0) {
                status = invoke(slot, (char *[]){(char *)doubtful, args[1], (char *)base}, count, packed);
            }
            for (npy_intp k = 0; k < count; k++) {
                results[places[k]] = base[k];
            }
        }
        if (status != 0) {
            return status;
        }
        char *to = args[2] + start * strides[2];
        for (npy_intp i = 0; i < m; i++, to += strides[2]) {
            *(double *)to = results[i];
        }
    }
    return 0;
}

int
dl_power_serves(DlInvoke invoke, const npy_intp *slot)
{
#if SERVED
    static int answer = -1; /* NB: two threads may find it out, and find the same */
    if (answer < 0) {
        int good = __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512dq")
                   && __builtin_cpu_supports("avx512bw");
        double x[SAMPLES], own[SAMPLES], expected[SAMPLES];
        static const npy_intp strides[3] = {sizeof(double), 0, sizeof(double)};
        for (int e = LEAST_EXPONENT; e <= MOST_EXPONENT && good; e += 3) {
            double exponent = e;
            for (int i = 0; i < SAMPLES; i++) { /* golden ratios: any signs and mantissas, some binades */
                double part = fmod((i + 1) * 0.6180339887498949, 1.0);
                x[i] = ldexp(part - 0.7, i % 7 - 3);
            }
            char *mine[] = {(char *)x, (char *)&exponent, (char *)own};
            char *numpys[] = {(char *)x, (char *)&exponent, (char *)expected};
            good = dl_power_run(invoke, slot, mine, SAMPLES, strides) == 0
                   && invoke(slot, numpys, SAMPLES, strides) == 0 && memcmp(own, expected, sizeof own) == 0;
        }
        answer = good;
    }
    return answer;
#else
    (void)invoke;
    (void)slot;
    return 0;
#endif
}
