/* exp, log, power, sin and cos of doubles, and exp of complex numbers, four or eight at a time (see nearest.h).
 *
 * NumPy calls the C library for each, which takes 5 to 15 ns; with AVX-512 for sin, cos and complex numbers alone. The GNU C library's results are off by at
 * most 0.511 units in the last place for exp, 0.52 for log, 0.54 for power, 0.55 for sin and cos: so the comments in its
 * sources say (e_pow.c, which names that of exp, too, e_log.c, s_sin.c); the worst of some 10^7 arguments each here were
 * 0.516. So where the exact value, computed with more digits, is further than that from the nearest double but one, its
 * result is the nearest double, and is known without it. All others (one in eight or sixteen; zeros, NaNs, extremes) are
 * left to NumPy's loop.
 *
 *     exp x = 2^n 2^(i/128) exp(d)                                 |d| <= log(2)/256
 *     x^y = exp(y log x), where |y log x| < 16
 *     log x = k log(2) - log(c) + log(1 + d), 1 + d = x 2^-k c     |d| < 1/128
 *     sin x = sin(i/64) cos(d) + cos(i/64) sin(d), x = n pi/2 + i/64 + d     |d| <= 1/128
 *
 * c, and what belongs to i, stand in a table, each number with what its double lacks; functions of d are polynomials.
 * What is neglected is less than 2^-62 of the result.
 */
#include "nearest.h"

#include <complex.h>
#include <math.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)

#include <immintrin.h>

#define WIDE __attribute__((target("avx2,fma")))
#define WIDER __attribute__((target("avx512f,avx512dq,avx512vl,avx2,fma,popcnt")))

enum {
    CHUNK = 512,
    FEW = 8,     /* that are left to NumPy's loop */
    STEPS = 52,  /* in an eighth of the circle, and one more */
    ENTRIES = 2 * STEPS + 1,
    PARTS = 128, /* of a binade */
    SAMPLES = 4096,
};

/* For k from -STEPS on, the sine of k/64 and the cosine, each with what its double lacks; then the cosine and the sine
 * with another sign, by which a quarter more is turned. */
static double circle[2 * ENTRIES][4];

/* 2^(i/PARTS). */
static double powers[PARTS][2];

/* For the numbers from FIRST on that begin with the same seven bits: about one by them, minus its logarithm as a multiple
 * of 2^-42, and what that lacks. Next to 1 that is 1. */
static double logs[PARTS][4];

#define FIRST 0x3fe6000000000000 /* 0.6875, as bits */

static void
fill_tables(void)
{
    for (int i = 0; i < PARTS; i++) {
        long double power = exp2l(i / (long double)PARTS);
        powers[i][0] = (double)power;
        powers[i][1] = (double)(power - (long double)powers[i][0]);
        int64_t bits = FIRST + ((int64_t)i << 45) + ((int64_t)1 << 44);
        double middle;
        memcpy(&middle, &bits, sizeof middle);
        double by = nearbyint(256.0 / middle) / 256.0;
        by = fabs(by - 1.0) < 1.0 / 200.0 ? 1.0 : by;
        long double log = -logl(by);
        logs[i][0] = by;
        logs[i][1] = nearbyint((double)(log * 0x1p42L)) * 0x1p-42;
        logs[i][2] = (double)(log - (long double)logs[i][1]);
    }
    for (int k = -STEPS; k <= STEPS; k++) {
        long double sine = sinl(k / 64.0L), cosine = cosl(k / 64.0L);
        double *one = circle[k + STEPS], *other = circle[ENTRIES + k + STEPS];
        one[0] = (double)sine;
        one[1] = (double)(sine - (long double)one[0]);
        one[2] = (double)cosine;
        one[3] = (double)(cosine - (long double)one[2]);
        other[0] = one[2];
        other[1] = one[3];
        other[2] = -one[0];
        other[3] = -one[1];
    }
}

/* By four bits, how many are set, and which, a byte each. */
static const uint8_t n_lanes[16] = {0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4};
static const int packed_lanes[16] = {0x0, 0x0, 0x1, 0x100, 0x2, 0x200, 0x201, 0x20100,
                                     0x3, 0x300, 0x301, 0x30100, 0x302, 0x30200, 0x30201, 0x3020100};

static inline WIDE __m256d
all(double x)
{
    return _mm256_set1_pd(x);
}

/* Which of four doubles are at least as large as `least`, whatever their signs. */
static inline WIDE __m256d
reach(__m256d x, double least)
{
    return _mm256_cmp_pd(_mm256_andnot_pd(all(-0.0), x), all(least), _CMP_GE_OQ);
}

/* x + y rounded, and what that lacks. */
static inline WIDE __m256d
add(__m256d x, __m256d y, __m256d *lacks)
{
    __m256d sum = _mm256_add_pd(x, y), by = _mm256_sub_pd(sum, x);
    *lacks = _mm256_add_pd(_mm256_sub_pd(x, _mm256_sub_pd(sum, by)), _mm256_sub_pd(y, by));
    return sum;
}

/* The nearest doubles to sum + rest, the smaller; as bits, which are not `sure`, or nearer than `away` units to the middle
 * of two doubles. */
static inline WIDE int
settle(__m256d sum, __m256d rest, double away, __m256d sure, __m256d *result)
{
    *result = _mm256_add_pd(sum, rest);
    __m256d over = _mm256_sub_pd(rest, _mm256_sub_pd(*result, sum));
    __m256i bits = _mm256_castpd_si256(*result);
    __m256d unit = _mm256_castsi256_pd(_mm256_and_si256(bits, _mm256_set1_epi64x(0x7ff0000000000000)));
    __m256d limit = _mm256_mul_pd(unit, all((0.5 - away) * 0x1p-52));
    sure = _mm256_and_pd(sure, _mm256_cmp_pd(_mm256_andnot_pd(all(-0.0), over), limit, _CMP_LT_OQ));
    __m256i is_power = _mm256_cmpeq_epi64(_mm256_slli_epi64(bits, 12), _mm256_setzero_si256()); /* of two: units differ */
    return _mm256_movemask_pd(_mm256_andnot_pd(_mm256_castsi256_pd(is_power), sure)) ^ 15;
}

/* Four rows of four numbers, by columns. */
static inline WIDE void
load_rows(const double *row0, const double *row1, const double *row2, const double *row3, __m256d *columns)
{
    /* NB: four loads and a transposition are faster than gathers. */
    __m256d at0 = _mm256_loadu_pd(row0), at1 = _mm256_loadu_pd(row1), at2 = _mm256_loadu_pd(row2), at3 = _mm256_loadu_pd(row3);
    __m256d even01 = _mm256_unpacklo_pd(at0, at1), odd01 = _mm256_unpackhi_pd(at0, at1);
    __m256d even23 = _mm256_unpacklo_pd(at2, at3), odd23 = _mm256_unpackhi_pd(at2, at3);
    columns[0] = _mm256_permute2f128_pd(even01, even23, 0x20);
    columns[1] = _mm256_permute2f128_pd(odd01, odd23, 0x20);
    columns[2] = _mm256_permute2f128_pd(even01, even23, 0x31);
    columns[3] = _mm256_permute2f128_pd(odd01, odd23, 0x31);
}

/* results = exp(high + low) of four numbers, |high| at most 700; which of them are in doubt, as bits. */
static inline WIDE int
exp_of_sum(__m256d high, __m256d low, double away, __m256d sure, double *results)
{
    /* log(2)/PARTS in two parts of 30 bits, of which multiples are exact, and the rest */
    const __m256d first = all(0x1.62e42fe8p-8), second = all(-0x1.e8e7bcdp-38), third = all(0x1.793c7673007e6p-68);
    const __m256d magic = all(0x1.8p52); /* to which added, a number is rounded to an integer */
    __m256d n = _mm256_sub_pd(_mm256_fmadd_pd(high, all(0x1.71547652b82fep7), magic), magic), error, lost, result;
    __m256d d = add(_mm256_fnmadd_pd(n, first, high), _mm256_mul_pd(n, second), &error);
    low = _mm256_add_pd(low, _mm256_fnmadd_pd(n, third, error));
    __m128i whole = _mm256_cvtpd_epi32(n), at = _mm_and_si128(whole, _mm_set1_epi32(PARTS - 1));
    __m256d even = _mm256_set_m128d(_mm_loadu_pd(powers[_mm_extract_epi32(at, 2)]), _mm_loadu_pd(powers[_mm_extract_epi32(at, 0)]));
    __m256d odd = _mm256_set_m128d(_mm_loadu_pd(powers[_mm_extract_epi32(at, 3)]), _mm_loadu_pd(powers[_mm_extract_epi32(at, 1)]));
    __m256d power = _mm256_unpacklo_pd(even, odd), lacks = _mm256_unpackhi_pd(even, odd);
    __m256d d2 = _mm256_mul_pd(d, d); /* (exp(d) - 1 - d) / d^2 */
    __m256d poly = _mm256_fmadd_pd(d2, all(1.0 / 720.0), _mm256_fmadd_pd(d, all(1.0 / 120.0), all(1.0 / 24.0)));
    poly = _mm256_fmadd_pd(d2, poly, _mm256_fmadd_pd(d, all(1.0 / 6.0), all(0.5)));
    poly = _mm256_fmadd_pd(d2, poly, _mm256_fmadd_pd(d, low, low));
    __m256d product = _mm256_mul_pd(power, d), sum = _mm256_add_pd(power, product);
    lost = _mm256_add_pd(_mm256_fmsub_pd(power, d, product), _mm256_sub_pd(product, _mm256_sub_pd(sum, power)));
    __m256d rest = _mm256_fmadd_pd(power, poly, _mm256_fmadd_pd(lacks, d, lacks));
    int doubts = settle(sum, _mm256_add_pd(rest, lost), away, sure, &result);
    __m256i binades = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_srai_epi32(whole, 7)), 52);
    _mm256_storeu_pd(results, _mm256_castsi256_pd(_mm256_add_epi64(_mm256_castpd_si256(result), binades)));
    return doubts;
}

/* results = exp of four x; which of them are in doubt, as bits. */
static inline WIDE int
exp_of(const double *x, double *results)
{
    __m256d given = _mm256_loadu_pd(x);
    __m256d sure = _mm256_andnot_pd(reach(given, 700.0), reach(given, 0x1p-26));
    given = _mm256_blendv_pd(all(1.0), given, sure); /* the others are to set no flags */
    return exp_of_sum(given, _mm256_setzero_pd(), 1.0 / 32.0, sure, results);
}

/* Which of four numbers are positive, and neither tiny nor huge. */
static inline WIDE __m256d
has_log(__m256d x)
{
    return _mm256_and_pd(_mm256_cmp_pd(x, all(0x1p-1000), _CMP_GE_OQ), _mm256_cmp_pd(x, all(0x1p1000), _CMP_LE_OQ));
}

/* The logarithms of four normal numbers, without the rest. */
static inline WIDE __m256d
log_parts(__m256d x, __m256d *rest)
{
    __m256d columns[4], lost;
    __m256i bits = _mm256_castpd_si256(x), from = _mm256_sub_epi64(bits, _mm256_set1_epi64x(FIRST));
    __m256i binades = _mm256_and_si256(from, _mm256_set1_epi64x(-((long long)1 << 52)));
    __m256d mantissa = _mm256_castsi256_pd(_mm256_sub_epi64(bits, binades));
    __m256i upper = _mm256_permutevar8x32_epi32(from, _mm256_setr_epi32(1, 3, 5, 7, 1, 3, 5, 7)); /* halves of the words */
    __m256d k = _mm256_cvtepi32_pd(_mm_srai_epi32(_mm256_castsi256_si128(upper), 20));
    __m128i at = _mm_and_si128(_mm_srli_epi32(_mm256_castsi256_si128(upper), 13), _mm_set1_epi32(PARTS - 1));
    load_rows(logs[_mm_extract_epi32(at, 0)], logs[_mm_extract_epi32(at, 1)], logs[_mm_extract_epi32(at, 2)],
              logs[_mm_extract_epi32(at, 3)], columns);
    __m256d d = _mm256_fmsub_pd(mantissa, columns[0], all(1.0)); /* exact: columns[0] has nine bits */
    __m256d whole = _mm256_fmadd_pd(k, all(0x1.62e42fefa38p-1), columns[1]); /* exact: multiples of 2^-42 */
    *rest = _mm256_fmadd_pd(k, all(0x1.ef35793c76730p-45), columns[2]);
    __m256d d2 = _mm256_mul_pd(d, d), half = _mm256_mul_pd(d2, all(-0.5));
    *rest = _mm256_fmadd_pd(_mm256_fmsub_pd(d, d, d2), all(-0.5), *rest);
    __m256d poly = _mm256_fmadd_pd(d2, all(1.0 / 9.0), _mm256_fmadd_pd(d, all(-1.0 / 8.0), all(1.0 / 7.0)));
    poly = _mm256_fmadd_pd(d2, poly, _mm256_fmadd_pd(d, all(-1.0 / 6.0), all(1.0 / 5.0))); /* (log(1 + d) - d + d^2/2) / d^3 */
    poly = _mm256_fmadd_pd(d2, poly, _mm256_fmadd_pd(d, all(-1.0 / 4.0), all(1.0 / 3.0)));
    *rest = _mm256_fmadd_pd(_mm256_mul_pd(d, d2), poly, *rest);
    __m256d linear = add(whole, d, &lost), sum = _mm256_add_pd(linear, half);
    lost = _mm256_add_pd(lost, _mm256_sub_pd(half, _mm256_sub_pd(sum, linear)));
    *rest = _mm256_add_pd(*rest, lost);
    return sum;
}

/* results = log of four x; which of them are in doubt, as bits. */
static inline WIDE int
log_of(const double *x, double *results)
{
    __m256d given = _mm256_loadu_pd(x), sure = has_log(given), rest, result;
    given = _mm256_blendv_pd(all(1.5), given, sure); /* the others are to set no flags */
    __m256d sum = log_parts(given, &rest);
    int doubts = settle(sum, rest, 1.0 / 32.0, sure, &result);
    _mm256_storeu_pd(results, result);
    return doubts;
}

/* results = four x to the powers of y, exp(y log(x)); which of them are in doubt, as bits. */
static inline WIDE int
power_of(const double *x, const double *y, double *results)
{
    __m256d given = _mm256_loadu_pd(x), exponent = _mm256_loadu_pd(y), rest;
    __m256d sure = _mm256_and_pd(has_log(given), _mm256_andnot_pd(reach(exponent, 0x1p100), reach(exponent, 0x1p-100)));
    given = _mm256_blendv_pd(all(1.5), given, sure);
    exponent = _mm256_blendv_pd(all(1.5), exponent, sure);
    __m256d sum = log_parts(given, &rest), log = _mm256_add_pd(sum, rest);
    rest = _mm256_sub_pd(rest, _mm256_sub_pd(log, sum));
    __m256d high = _mm256_mul_pd(exponent, log);
    __m256d low = _mm256_fmadd_pd(exponent, rest, _mm256_fmsub_pd(exponent, log, high));
    /* NB: of a larger product the error would count. */
    __m256d moderate = _mm256_andnot_pd(reach(high, 16.0), reach(high, 0x1p-26));
    high = _mm256_blendv_pd(all(1.0), high, moderate);
    return exp_of_sum(high, low, 1.0 / 16.0, _mm256_and_pd(sure, moderate), results);
}

/* Take a multiple of pi/2 from x: its number, and what is left as two doubles. |x| is at most 2^18. */
static inline WIDE __m256d
reduce(__m256d x, __m256d *high, __m256d *low)
{
    /* pi/2 in two parts of 33 bits, of which multiples are exact, and the rest */
    const __m256d first = all(0x1.921fb544p0), second = all(-0x1.0b4611a6p-34), third = all(0x1.3198a2e037073p-69);
    const __m256d magic = all(0x1.8p52);
    __m256d n = _mm256_sub_pd(_mm256_fmadd_pd(x, all(0x1.45f306dc9c883p-1), magic), magic), lacks;
    __m256d sum = add(_mm256_fnmadd_pd(n, first, x), _mm256_mul_pd(n, second), &lacks);
    lacks = _mm256_fnmadd_pd(n, third, lacks);
    *high = _mm256_add_pd(sum, lacks);
    *low = _mm256_sub_pd(lacks, _mm256_sub_pd(*high, sum));
    return n;
}

/* results = the sine of four x with `quarters` of the circle added; which of them are in doubt, as bits. */
static inline WIDE int
turn(const double *x, int quarters, double *results)
{
    __m256d given = _mm256_loadu_pd(x), high, low;
    __m256d sure = _mm256_andnot_pd(reach(given, 0x1p18), reach(given, 0x1p-26));
    given = _mm256_blendv_pd(all(1.0), given, sure); /* the others are to set no flags */
    __m256d n = reduce(given, &high, &low);
    sure = _mm256_and_pd(sure, reach(high, 0x1p-26));
    const __m256d magic = all(0x1.8p52);
    __m256d k = _mm256_sub_pd(_mm256_fmadd_pd(high, all(64.0), magic), magic);
    __m256d d = _mm256_fnmadd_pd(k, all(0x1p-6), high), d2 = _mm256_mul_pd(d, d);

    __m128i turned = _mm_add_epi32(_mm256_cvtpd_epi32(n), _mm_set1_epi32(quarters));
    __m128i is_odd = _mm_sub_epi32(_mm_setzero_si128(), _mm_and_si128(turned, _mm_set1_epi32(1)));
    __m128i at = _mm_add_epi32(_mm256_cvtpd_epi32(k), _mm_set1_epi32(STEPS));
    at = _mm_add_epi32(at, _mm_and_si128(is_odd, _mm_set1_epi32(ENTRIES)));
    __m256d columns[4];
    load_rows(circle[_mm_extract_epi32(at, 0)], circle[_mm_extract_epi32(at, 1)], circle[_mm_extract_epi32(at, 2)],
              circle[_mm_extract_epi32(at, 3)], columns);
    __m256d a = columns[0], a_lacks = columns[1], b = columns[2], b_lacks = columns[3];

    /* a * cos(d) + b * sin(d), where b * d alone is not small */
    __m256d sine = _mm256_fmadd_pd(d2, _mm256_fmadd_pd(d2, all(-1.0 / 5040.0), all(1.0 / 120.0)), all(-1.0 / 6.0));
    __m256d cosine = _mm256_fmadd_pd(d2, _mm256_fmadd_pd(d2, all(-1.0 / 720.0), all(1.0 / 24.0)), all(-0.5));
    sine = _mm256_mul_pd(_mm256_mul_pd(d, d2), sine); /* sin(d) - d, and cos(d) - 1 */
    cosine = _mm256_mul_pd(d2, cosine);
    __m256d product = _mm256_mul_pd(b, d), lost = _mm256_fmsub_pd(b, d, product);
    __m256d sum = _mm256_add_pd(a, product);
    lost = _mm256_add_pd(lost, _mm256_sub_pd(product, _mm256_sub_pd(sum, a)));
    __m256d rest = _mm256_fmadd_pd(b, sine, _mm256_fmadd_pd(b_lacks, d, a_lacks));
    rest = _mm256_fmadd_pd(a, cosine, rest);
    rest = _mm256_fmadd_pd(_mm256_fnmadd_pd(a, d, b), low, rest);
    __m256d result;
    int doubts = settle(sum, _mm256_add_pd(rest, lost), 1.0 / 16.0, sure, &result);
    __m256i sign = _mm256_slli_epi64(_mm256_cvtepi32_epi64(_mm_srli_epi32(turned, 1)), 63);
    _mm256_storeu_pd(results, _mm256_xor_pd(result, _mm256_castsi256_pd(sign)));
    return doubts;
}

/* Eight rows of four numbers, by columns. */
static inline WIDER void
load_eight_rows(const int *at, __m512d *columns)
{
    __m512d pairs[4];
    for (int i = 0; i < 4; i++) {
        __m512d row = _mm512_castpd256_pd512(_mm256_loadu_pd(circle[at[i]]));
        pairs[i] = _mm512_insertf64x4(row, _mm256_loadu_pd(circle[at[i + 4]]), 1);
    }
    const __m512i firsts = _mm512_setr_epi64(0, 1, 8, 9, 4, 5, 12, 13), seconds = _mm512_setr_epi64(2, 3, 10, 11, 6, 7, 14, 15);
    __m512d even01 = _mm512_unpacklo_pd(pairs[0], pairs[1]), odd01 = _mm512_unpackhi_pd(pairs[0], pairs[1]);
    __m512d even23 = _mm512_unpacklo_pd(pairs[2], pairs[3]), odd23 = _mm512_unpackhi_pd(pairs[2], pairs[3]);
    columns[0] = _mm512_permutex2var_pd(even01, firsts, even23);
    columns[1] = _mm512_permutex2var_pd(odd01, firsts, odd23);
    columns[2] = _mm512_permutex2var_pd(even01, seconds, even23);
    columns[3] = _mm512_permutex2var_pd(odd01, seconds, odd23);
}

/* `turn` of eight x, by the same steps. */
static inline __attribute__((always_inline)) WIDER unsigned
turn_eight(const double *x, int quarters, double *results)
{
    const __m512d first = _mm512_set1_pd(0x1.921fb544p0), second = _mm512_set1_pd(-0x1.0b4611a6p-34);
    const __m512d third = _mm512_set1_pd(0x1.3198a2e037073p-69), magic = _mm512_set1_pd(0x1.8p52);
    const __m512d least = _mm512_set1_pd(0x1p-26), one = _mm512_set1_pd(1.0);
    __m512d given = _mm512_loadu_pd(x), size = _mm512_abs_pd(given);
    __mmask8 sure = _mm512_cmp_pd_mask(size, least, _CMP_GE_OQ) & _mm512_cmp_pd_mask(size, _mm512_set1_pd(0x1p18), _CMP_LT_OQ);
    given = _mm512_mask_blend_pd(sure, one, given); /* the others are to set no flags */
    __m512d n = _mm512_sub_pd(_mm512_fmadd_pd(given, _mm512_set1_pd(0x1.45f306dc9c883p-1), magic), magic);
    __m512d left = _mm512_fnmadd_pd(n, first, given), more = _mm512_mul_pd(n, second);
    __m512d sum = _mm512_add_pd(left, more), by = _mm512_sub_pd(sum, left);
    __m512d lacks = _mm512_add_pd(_mm512_sub_pd(left, _mm512_sub_pd(sum, by)), _mm512_sub_pd(more, by));
    lacks = _mm512_fnmadd_pd(n, third, lacks);
    __m512d high = _mm512_add_pd(sum, lacks), low = _mm512_sub_pd(lacks, _mm512_sub_pd(high, sum));
    sure &= _mm512_cmp_pd_mask(_mm512_abs_pd(high), least, _CMP_GE_OQ);
    __m512d k = _mm512_sub_pd(_mm512_fmadd_pd(high, _mm512_set1_pd(64.0), magic), magic);
    __m512d d = _mm512_fnmadd_pd(k, _mm512_set1_pd(0x1p-6), high), d2 = _mm512_mul_pd(d, d);

    __m256i turned = _mm256_add_epi32(_mm512_cvtpd_epi32(n), _mm256_set1_epi32(quarters));
    __m256i is_odd = _mm256_sub_epi32(_mm256_setzero_si256(), _mm256_and_si256(turned, _mm256_set1_epi32(1)));
    __m256i at = _mm256_add_epi32(_mm512_cvtpd_epi32(k), _mm256_set1_epi32(STEPS));
    at = _mm256_add_epi32(at, _mm256_and_si256(is_odd, _mm256_set1_epi32(ENTRIES)));
    int places[8];
    _mm256_storeu_si256((__m256i *)places, at);
    __m512d columns[4];
    load_eight_rows(places, columns);
    __m512d a = columns[0], a_lacks = columns[1], b = columns[2], b_lacks = columns[3];

    __m512d sine = _mm512_fmadd_pd(d2, _mm512_set1_pd(-1.0 / 5040.0), _mm512_set1_pd(1.0 / 120.0));
    sine = _mm512_fmadd_pd(d2, sine, _mm512_set1_pd(-1.0 / 6.0));
    __m512d cosine = _mm512_fmadd_pd(d2, _mm512_set1_pd(-1.0 / 720.0), _mm512_set1_pd(1.0 / 24.0));
    cosine = _mm512_mul_pd(d2, _mm512_fmadd_pd(d2, cosine, _mm512_set1_pd(-0.5)));
    sine = _mm512_mul_pd(_mm512_mul_pd(d, d2), sine);
    __m512d product = _mm512_mul_pd(b, d), lost = _mm512_fmsub_pd(b, d, product);
    sum = _mm512_add_pd(a, product);
    lost = _mm512_add_pd(lost, _mm512_sub_pd(product, _mm512_sub_pd(sum, a)));
    __m512d rest = _mm512_fmadd_pd(b, sine, _mm512_fmadd_pd(b_lacks, d, a_lacks));
    rest = _mm512_fmadd_pd(a, cosine, rest);
    rest = _mm512_fmadd_pd(_mm512_fnmadd_pd(a, d, b), low, rest);
    rest = _mm512_add_pd(rest, lost);

    __m512d result = _mm512_add_pd(sum, rest), over = _mm512_sub_pd(rest, _mm512_sub_pd(result, sum));
    __m512i bits = _mm512_castpd_si512(result);
    __m512d unit = _mm512_castsi512_pd(_mm512_and_si512(bits, _mm512_set1_epi64(0x7ff0000000000000)));
    __m512d limit = _mm512_mul_pd(unit, _mm512_set1_pd((0.5 - 1.0 / 16.0) * 0x1p-52));
    sure &= _mm512_cmp_pd_mask(_mm512_abs_pd(over), limit, _CMP_LT_OQ);
    sure &= (__mmask8)~_mm512_testn_epi64_mask(bits, _mm512_set1_epi64(0x000fffffffffffff)); /* powers of two: units differ */
    __m512i sign = _mm512_slli_epi64(_mm512_cvtepi32_epi64(_mm256_srli_epi32(turned, 1)), 63);
    _mm512_storeu_pd(results, _mm512_castsi512_pd(_mm512_xor_si512(bits, sign)));
    return (unsigned)(__mmask8)~sure;
}

/* The places of doubts among four numbers from number i on of m, behind those that are known; how many there are then.
 * NB: without branches, which nobody could predict. */
static inline WIDE npy_intp
note_doubts(int doubts, npy_intp i, npy_intp m, int *places, npy_intp count)
{
    doubts &= m - i < 4 ? (1 << (m - i)) - 1 : 15;
    __m128i lanes = _mm_cvtepi8_epi32(_mm_cvtsi32_si128(packed_lanes[doubts]));
    _mm_storeu_si128((__m128i *)(places + count), _mm_add_epi32(lanes, _mm_set1_epi32((int)i)));
    return count + n_lanes[doubts];
}

/* A function of m numbers, at most CHUNK, behind which there is room; y: its second operand, if it has one; places: of
 * those in doubt; how many these are. */
typedef npy_intp (*Function)(const double *x, const double *y, npy_intp m, double *results, int *places);

#define FUNCTION(name, four)                                                                               \
    static WIDE npy_intp name(const double *x, const double *y, npy_intp m, double *results, int *places)  \
    {                                                                                                      \
        (void)y;                                                                                           \
        npy_intp count = 0;                                                                                \
        for (npy_intp i = 0; i < m; i += 4) {                                                              \
            count = note_doubts(four, i, m, places, count);                                                \
        }                                                                                                  \
        return count;                                                                                      \
    }

FUNCTION(exps, exp_of(x + i, results + i))
FUNCTION(logarithms, log_of(x + i, results + i))
FUNCTION(any_powers, power_of(x + i, y + i, results + i))
FUNCTION(sines_by_four, turn(x + i, 0, results + i))
FUNCTION(cosines_by_four, turn(x + i, 1, results + i))

static WIDER npy_intp
turns_by_eight(const double *x, int quarters, npy_intp m, double *results, int *places)
{
    const __m256i lanes = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
    npy_intp count = 0;
    for (npy_intp i = 0; i < m; i += 8) {
        unsigned doubts = turn_eight(x + i, quarters, results + i) & (m - i < 8 ? (1u << (m - i)) - 1 : 255u);
        __m256i found = _mm256_maskz_compress_epi32((__mmask8)doubts, _mm256_add_epi32(lanes, _mm256_set1_epi32((int)i)));
        _mm256_storeu_si256((__m256i *)(places + count), found);
        count += _mm_popcnt_u32(doubts);
    }
    return count;
}

static int
has_wider(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl");
}

static npy_intp
sines(const double *x, const double *y, npy_intp m, double *results, int *places)
{
    return has_wider() ? turns_by_eight(x, 0, m, results, places) : sines_by_four(x, y, m, results, places);
}

static npy_intp
cosines(const double *x, const double *y, npy_intp m, double *results, int *places)
{
    return has_wider() ? turns_by_eight(x, 1, m, results, places) : cosines_by_four(x, y, m, results, places);
}

static DlInvoke plain; /* NumPy's loops, all of which are invoked so */

static unsigned long long n_settled; /* numbers so far; for tests */

/* Numbers of an operand, m of a chunk, in memory: where they lie, or in `room`, with 1.0 up to a multiple of eight. */
static const double *
take(const char *from, npy_intp stride, npy_intp m, double *room)
{
    if (m == CHUNK && stride == sizeof(double)) {
        return (const double *)from;
    }
    for (npy_intp i = 0; i < m; i++, from += stride) {
        room[i] = *(const double *)from;
    }
    for (npy_intp i = m; i % 8 != 0; i++) {
        room[i] = 1.0;
    }
    return room;
}

/* Have NumPy's loop compute those in doubt. NB: it looks whether all exponents are one. */
static int32_t
decide(const npy_intp *slot, const double *x, const double *y, int is_one, const int *places, npy_intp count, double *results)
{
    const npy_intp packed[3] = {sizeof(double), is_one ? 0 : sizeof(double), sizeof(double)}, *strides = packed;
    double doubtful[CHUNK], exponents[CHUNK], settled[CHUNK];
    for (npy_intp k = 0; k < count; k++) {
        doubtful[k] = x[places[k]];
        exponents[k] = y != NULL ? y[places[k]] : 0.0;
    }
    char *args[3] = {(char *)doubtful, (char *)exponents, (char *)settled};
    if (y == NULL) {
        args[1] = args[2];
        strides = packed + 1;
    }
    int32_t status = count > 0 ? plain(slot, args, count, strides) : 0;
    for (npy_intp k = 0; k < count && status == 0; k++) {
        results[places[k]] = settled[k];
    }
    return status;
}

static int32_t
run(const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides, Function function, int n_operands)
{
    if (n < FEW) {
        return plain(slot, args, n, strides);
    }
    int is_one = n_operands == 2 && strides[1] == 0;
    for (npy_intp start = 0; start < n; start += CHUNK) {
        npy_intp m = n - start < CHUNK ? n - start : CHUNK;
        double x_room[CHUNK], y_room[CHUNK], results[CHUNK];
        int places[CHUNK + 8];
        const double *x = take(args[0] + start * strides[0], strides[0], m, x_room), *y = NULL;
        if (n_operands == 2) {
            y = take(args[1] + start * strides[1], strides[1], m, y_room);
        }
        npy_intp count = function(x, y, m, results, places);
        int32_t status = decide(slot, x, y, is_one, places, count, results);
        if (status != 0) {
            return status;
        }
        __atomic_fetch_add(&n_settled, (unsigned long long)(m - count), __ATOMIC_RELAXED);
        char *to = args[n_operands] + start * strides[n_operands];
        if (strides[n_operands] == sizeof(double)) {
            memcpy(to, results, (size_t)m * sizeof(double));
            continue;
        }
        for (npy_intp i = 0; i < m; i++, to += strides[n_operands]) {
            *(double *)to = results[i];
        }
    }
    return 0;
}

#define RUN(name, function, n_operands)                                                      \
    static int32_t name(const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides) \
    {                                                                                        \
        return run(slot, args, n, strides, function, n_operands);                            \
    }

/* The exponential of complex numbers, as the C library has it where nothing is extreme: exp(re) times cos(im), sin(im). */
static WIDE int32_t
run_complex_exp(const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides)
{
    if (n < FEW) {
        return plain(slot, args, n, strides);
    }
    for (npy_intp start = 0; start < n; start += CHUNK) {
        npy_intp m = n - start < CHUNK ? n - start : CHUNK;
        const char *from = args[0] + start * strides[0];
        char *to = args[1] + start * strides[1];
        double re[CHUNK], im[CHUNK], size[CHUNK], sine[CHUNK], cosine[CHUNK];
        int places[CHUNK + 8];
        uint8_t doubts[CHUNK] = {0};
        for (npy_intp i = 0; i < m; i++, from += strides[0]) {
            re[i] = ((const double *)from)[0];
            im[i] = ((const double *)from)[1];
        }
        for (npy_intp i = m; i % 8 != 0; i++) {
            re[i] = im[i] = 1.0;
        }
        npy_intp count = exps(re, NULL, m, size, places);
        for (npy_intp k = 0; k < count; k++) {
            doubts[places[k]] = re[places[k]] != 0.0;
            size[places[k]] = 1.0; /* of 0 */
        }
        count = sines(im, NULL, m, sine, places);
        for (npy_intp k = 0; k < count; k++) {
            doubts[places[k]] = 1;
        }
        count = cosines(im, NULL, m, cosine, places);
        for (npy_intp k = 0; k < count; k++) {
            doubts[places[k]] = 1;
        }
        double doubtful[CHUNK][2], settled[CHUNK][2];
        count = 0;
        for (npy_intp i = 0; i < m; i++) {
            doubtful[count][0] = re[i];
            doubtful[count][1] = im[i];
            places[count] = (int)i;
            count += doubts[i];
            re[i] = size[i] * cosine[i];
            im[i] = size[i] * sine[i];
        }
        const npy_intp packed[2] = {sizeof *doubtful, sizeof *settled};
        char *rest[2] = {(char *)doubtful, (char *)settled};
        int32_t status = count > 0 ? plain(slot, rest, count, packed) : 0;
        if (status != 0) {
            return status;
        }
        for (npy_intp k = 0; k < count; k++) {
            re[places[k]] = settled[k][0];
            im[places[k]] = settled[k][1];
        }
        __atomic_fetch_add(&n_settled, (unsigned long long)(m - count), __ATOMIC_RELAXED);
        for (npy_intp i = 0; i < m; i++, to += strides[1]) {
            ((double *)to)[0] = re[i];
            ((double *)to)[1] = im[i];
        }
    }
    return 0;
}

RUN(run_exp, &exps, 1)
RUN(run_log, &logarithms, 1)
RUN(run_sin, &sines, 1)
RUN(run_cos, &cosines, 1)
RUN(run_power, &any_powers, 2)

/* A function that is served. */
typedef struct {
    const char *name;
    int type;
    DlInvoke run;
    int n_operands;
    double (*real)(double), (*real2)(double, double); /* the C library's; NULL: of complex numbers */
    int not_with_avx512; /* where NumPy has it from SVML, which errs by more */
} Served;

static const Served served[] = {
    {"exp", NPY_DOUBLE, &run_exp, 1, &exp, NULL, 1},       {"log", NPY_DOUBLE, &run_log, 1, &log, NULL, 1},
    {"power", NPY_DOUBLE, &run_power, 2, NULL, &pow, 1},   {"sin", NPY_DOUBLE, &run_sin, 1, &sin, NULL, 0},
    {"cos", NPY_DOUBLE, &run_cos, 1, &cos, NULL, 0},       {"exp", NPY_CDOUBLE, &run_complex_exp, 1, NULL, NULL, 0},
};

/* Whether that gives what NumPy's loop gives, and this what the C library gives, on a few thousand numbers. */
static int
agrees(const Served *one, const npy_intp *slot)
{
    int width = one->type == NPY_CDOUBLE ? 2 : 1;
    const npy_intp size = width * (npy_intp)sizeof(double), packed[3] = {size, size, size};
    double x[2 * SAMPLES], y[SAMPLES], own[2 * SAMPLES], expected[2 * SAMPLES];
    for (int i = 0; i < SAMPLES; i++) { /* golden ratios: any signs and mantissas, many binades */
        double number = ldexp(fmod((i + 1) * 0.6180339887498949, 1.0) - (i % 3 == 0 ? 0.5 : 0.0), i % 40 - 20);
        y[i] = fmod((i + 1) * 0.4142135623730951, 1.0) * 8.0 - 4.0;
        x[width * i] = width == 1 ? number : i % 8 == 0 ? 0.0 : y[i];
        if (width == 2) {
            x[2 * i + 1] = number;
        }
    }
    char *mine[3] = {(char *)x, (char *)own, (char *)own}, *numpys[3] = {(char *)x, (char *)expected, (char *)expected};
    if (one->n_operands == 2) {
        mine[1] = numpys[1] = (char *)y;
    }
    if (one->run(slot, mine, SAMPLES, packed) != 0 || plain(slot, numpys, SAMPLES, packed) != 0
        || memcmp(own, expected, (size_t)(SAMPLES * size)) != 0) {
        return 0;
    }
    int same = 1;
    for (int i = 0; i < SAMPLES; i++) {
        double value = one->real != NULL ? one->real(x[i]) : one->real2 != NULL ? one->real2(x[i], y[i]) : 0.0;
        double complex whole = width == 2 ? cexp(CMPLX(x[2 * i], x[2 * i + 1])) : 0.0;
        double parts[2] = {width == 2 ? creal(whole) : value, cimag(whole)};
        same &= memcmp(parts, expected + width * i, (size_t)size) == 0 || (parts[0] != parts[0] && width == 1);
    }
    return same;
}

DlInvoke
dl_nearest_find(const char *name, int type, DlInvoke invoke, const npy_intp *slot)
{
    static int answers[sizeof served / sizeof *served]; /* 0: not known. NB: two threads may find it out, and find the same */
    if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma")) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof served / sizeof *served; i++) {
        const Served *one = &served[i];
        if (one->type != type || strcmp(name, one->name) != 0) {
            continue;
        }
        if (one->not_with_avx512 && __builtin_cpu_supports("avx512f")) {
            return NULL;
        }
        if (answers[i] == 0) {
            fill_tables();
            plain = invoke;
            answers[i] = agrees(one, slot) ? 1 : -1;
        }
        return answers[i] > 0 ? one->run : NULL;
    }
    return NULL;
}

#else

DlInvoke
dl_nearest_find(const char *name, int type, DlInvoke invoke, const npy_intp *slot)
{
    (void)name;
    (void)type;
    (void)invoke;
    (void)slot;
    return NULL;
}

#define n_settled 0

#endif

static PyObject *
count_nearest(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return PyLong_FromUnsignedLongLong(n_settled);
}

PyMethodDef dl_nearest_functions[] = {
    {"count_nearest", count_nearest, METH_NOARGS,
     "count_nearest(): for tests, how many values of exp, log, power, sin and cos were known without the C library so far."},
    {NULL, NULL, 0, NULL},
};
