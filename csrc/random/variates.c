/* Single random numbers, as machine code draws them: what NumPy's Generator and RandomState would have drawn.
 *
 * The distributions are NumPy's own functions, of the library that it installs for this (numpy/random/distributions.h).
 * Those that RandomState keeps for the sake of old streams are in no library: Marsaglia's polar method for normal numbers,
 * where every second one is kept, and the logarithm for exponential ones. ops/draws.py tries all of them out, in the
 * process that draws, against the methods themselves. What NumPy would raise for declines, and flags stay as they were:
 * NumPy reports none of those that a draw sets.
 */
#include "program/program.h"

#include "program/fpflags.h"
#include "mersenne.h"
#include "variates.h"

#ifdef DL_HAS_NPYRANDOM
#include <numpy/random/distributions.h>

/* What a RandomState keeps. NB: lies behind its bit generator's state, without alignment that C would know of. */
typedef struct {
    int is_there;
    double number;
} Kept;

static double
next(bitgen_t *bits)
{
    return bits->next_double(bits->state);
}

static double
polar_normal(bitgen_t *bits, char *place)
{
    Kept kept;
    memcpy(&kept, place, sizeof kept);
    double result = kept.number;
    if (kept.is_there) {
        kept = (Kept){0, 0.0};
    }
    else {
        double x, y, square;
        do {
            x = 2.0 * next(bits) - 1.0;
            y = 2.0 * next(bits) - 1.0;
            square = x * x + y * y;
        } while (square >= 1.0 || square == 0.0);
        double length = sqrt(-2.0 * log(square) / square);
        kept = (Kept){1, length * x};
        result = length * y;
    }
    memcpy(place, &kept.is_there, sizeof kept.is_there);
    memcpy(place + offsetof(Kept, number), &kept.number, sizeof kept.number);
    return result;
}

static double
normal(bitgen_t *bits, char *kept)
{
    return kept ? polar_normal(bits, kept) : random_standard_normal(bits);
}

static double
exponential(bitgen_t *bits, const char *kept)
{
    return kept ? -log(1.0 - next(bits)) : random_standard_exponential(bits);
}

/* A gamma variate as a RandomState draws it: by Ahrens and Dieter (1974) below one, and by Marsaglia and Tsang (2000). */
static double
old_gamma(bitgen_t *bits, char *kept, double shape)
{
    if (shape == 1.0) {
        return exponential(bits, kept);
    }
    if (shape == 0.0) {
        return 0.0;
    }
    while (shape < 1.0) {
        double u = next(bits), v = exponential(bits, kept);
        int is_low = u <= 1.0 - shape;
        double y = is_low ? 0.0 : -log((1.0 - u) / shape);
        double x = pow(is_low ? u : 1.0 - shape + shape * y, 1.0 / shape);
        if (x <= v + y) {
            return x;
        }
    }
    double b = shape - 1.0 / 3.0, c = 1.0 / sqrt(9.0 * b);
    for (;;) {
        double x, v;
        do {
            x = polar_normal(bits, kept);
            v = 1.0 + c * x;
        } while (v <= 0.0);
        v = v * v * v;
        double u = next(bits);
        if (u < 1.0 - 0.0331 * (x * x) * (x * x) || log(u) < 0.5 * x * x + b * (1.0 - v + log(v))) {
            return b * v;
        }
    }
}

static double
gamma_of(bitgen_t *bits, char *kept, double shape)
{
    return kept ? old_gamma(bits, kept, shape) : random_standard_gamma(bits, shape);
}

/* A beta variate as a RandomState draws it: by Joehnk (1964) up to one, else of two gamma variates. */
static double
old_beta(bitgen_t *bits, char *kept, double a, double b)
{
    if (a <= 1.0 && b <= 1.0) {
        for (;;) {
            double u = next(bits), v = next(bits);
            double x = pow(u, 1.0 / a), y = pow(v, 1.0 / b), sum = x + y;
            if (sum <= 1.0 && u + v > 0.0) {
                if (sum > 0.0) {
                    return x / sum;
                }
                double log_x = log(u) / a, log_y = log(v) / b, most = log_x > log_y ? log_x : log_y;
                log_x -= most;
                log_y -= most;
                return exp(log_x - log(exp(log_x) + exp(log_y)));
            }
        }
    }
    double x = old_gamma(bits, kept, a), y = old_gamma(bits, kept, b);
    return x / (x + y);
}

static double
student(bitgen_t *bits, char *kept, double df)
{
    if (!kept) {
        return random_standard_t(bits, df);
    }
    double number = polar_normal(bits, kept), scale = old_gamma(bits, kept, df / 2.0);
    return sqrt(df / 2.0) * number / sqrt(scale);
}

static double
cauchy(bitgen_t *bits, char *kept)
{
    if (!kept) {
        return random_standard_cauchy(bits);
    }
    double number = polar_normal(bits, kept);
    return number / polar_normal(bits, kept);
}

static int64_t
geometric(bitgen_t *bits, const char *kept, double p)
{
    if (kept && p < 1.0 / 3.0) {
        return (int64_t)ceil(log1p(-next(bits)) / log(1.0 - p));
    }
    return random_geometric(bits, p);
}

static int64_t
binomial(bitgen_t *bits, const char *kept, double n, double p)
{
    if (kept && (n == 0.0 || p == 0.0)) {
        next(bits); /* a Generator draws nothing then */
        return 0;
    }
    static _Thread_local binomial_t latest; /* what follows from n and p alone */
    return random_binomial(bits, p, (int64_t)n, &latest);
}

/* Whether NumPy draws with these parameters, and as here. NB: from 2.5 on its library rejects some large binomial numbers
 * that a RandomState goes on to take, one in some thousand. */
static int
is_sound(npy_intp kind, const char *kept, double a, double b)
{
    switch (kind) {
    case DL_DRAW_UNIFORM:
        return isfinite(b - a) && b >= a;
    case DL_DRAW_NORMAL:
        return !isnan(b) && !signbit(b);
    case DL_DRAW_EXPONENTIAL:
    case DL_DRAW_STANDARD_GAMMA:
    case DL_DRAW_RAYLEIGH:
    case DL_DRAW_WEIBULL:
        return !isnan(a) && !signbit(a);
    case DL_DRAW_GAMMA:
        return !isnan(a) && !signbit(a) && !isnan(b) && !signbit(b);
    case DL_DRAW_BETA:
        return a > 0.0 && b > 0.0;
    case DL_DRAW_CHISQUARE:
    case DL_DRAW_STANDARD_T:
    case DL_DRAW_PARETO:
    case DL_DRAW_POWER:
        return a > 0.0;
    case DL_DRAW_LOGNORMAL:
    case DL_DRAW_LAPLACE:
    case DL_DRAW_LOGISTIC:
    case DL_DRAW_GUMBEL:
        return !isnan(b) && !signbit(b);
    case DL_DRAW_POISSON:
        return a >= 0.0 && a <= 1e9;
    case DL_DRAW_BINOMIAL:
        return a >= 0.0 && a <= 1e9 && b >= 0.0 && b <= 1.0 && !(kept && a * (b <= 0.5 ? b : 1.0 - b) > 30.0);
    case DL_DRAW_GEOMETRIC:
        return a > 1e-9 && a <= 1.0;
    default:
        return 1;
    }
}

/* One float. */
static double
number_of(bitgen_t *bits, char *kept, npy_intp kind, double a, double b)
{
    switch (kind) {
    case DL_DRAW_UNIFORM:
        return a + (b - a) * next(bits);
    case DL_DRAW_STANDARD_NORMAL:
        return normal(bits, kept);
    case DL_DRAW_NORMAL:
        return a + b * normal(bits, kept);
    case DL_DRAW_STANDARD_EXPONENTIAL:
        return exponential(bits, kept);
    case DL_DRAW_EXPONENTIAL:
        return a * exponential(bits, kept);
    case DL_DRAW_STANDARD_GAMMA:
        return gamma_of(bits, kept, a);
    case DL_DRAW_GAMMA:
        return b * gamma_of(bits, kept, a);
    case DL_DRAW_BETA:
        return kept ? old_beta(bits, kept, a, b) : random_beta(bits, a, b);
    case DL_DRAW_CHISQUARE:
        return 2.0 * gamma_of(bits, kept, a / 2.0);
    case DL_DRAW_STANDARD_T:
        return student(bits, kept, a);
    case DL_DRAW_STANDARD_CAUCHY:
        return cauchy(bits, kept);
    case DL_DRAW_LOGNORMAL:
        return exp(a + b * normal(bits, kept));
    case DL_DRAW_LAPLACE:
        return random_laplace(bits, a, b);
    case DL_DRAW_LOGISTIC:
        return random_logistic(bits, a, b);
    case DL_DRAW_GUMBEL:
        return random_gumbel(bits, a, b);
    case DL_DRAW_RAYLEIGH:
        return kept ? a * sqrt(-2.0 * log1p(-next(bits))) : random_rayleigh(bits, a);
    case DL_DRAW_PARETO:
        return kept ? exp(exponential(bits, kept) / a) - 1.0 : random_pareto(bits, a);
    case DL_DRAW_WEIBULL:
        return !kept ? random_weibull(bits, a) : a == 0.0 ? 0.0 : pow(exponential(bits, kept), 1.0 / a);
    default: /* DL_DRAW_POWER */
        return kept ? pow(1.0 - exp(-exponential(bits, kept)), 1.0 / a) : random_power(bits, a);
    }
}

/* One int. */
static int64_t
integer_of(bitgen_t *bits, const char *kept, npy_intp kind, double a, double b)
{
    switch (kind) {
    case DL_DRAW_POISSON:
        return random_poisson(bits, a);
    case DL_DRAW_BINOMIAL:
        return binomial(bits, kept, a, b);
    default: /* DL_DRAW_GEOMETRIC */
        return geometric(bits, kept, a);
    }
}

int32_t
dl_variates_fill(bitgen_t *bits, char *kept, npy_intp kind, double a, double b, char *data, npy_intp n)
{
    double *floats = (double *)data;
    int64_t *integers = (int64_t *)data;
    if (kind == DL_DRAW_RANDOM) {
        for (npy_intp i = 0; i < n; i++) {
            floats[i] = next(bits);
        }
        return 0;
    }
    if (!is_sound(kind, kept, a, b)) {
        return 1;
    }
    int is_int = kind == DL_DRAW_POISSON || kind == DL_DRAW_BINOMIAL || kind == DL_DRAW_GEOMETRIC;
    unsigned flags = dl_fp_get();
    for (npy_intp i = 0; i < n; i++) {
        if (is_int) {
            integers[i] = integer_of(bits, kept, kind, a, b);
        }
        else {
            floats[i] = number_of(bits, kept, kind, a, b);
        }
    }
    dl_fp_set(flags);
    return 0;
}

int32_t
dl_variates_fill_integers(bitgen_t *bits, const char *kept, int64_t low, int64_t high, char *data, npy_intp n)
{
    if (low >= high) {
        return 1;
    }
    if (dl_mersenne_is(bits)) {
        return low != 0 || dl_mersenne_fill_below(bits, high, (int64_t *)data, n);
    }
    uint64_t range = (uint64_t)high - (uint64_t)low - 1;
    random_bounded_uint64_fill(bits, (uint64_t)low, range, n, kept != NULL, (uint64_t *)data);
    return 0;
}

#define FEW_WEIGHTS 64 /* whose shares lie on the stack */

/* The first of the growing shares that is more than `u`; n where none is. */
static npy_intp
first_above(const double *shares, npy_intp n, double u)
{
    npy_intp low = 0, high = n;
    while (low < high) {
        npy_intp middle = low + (high - low) / 2;
        if (shares[middle] <= u) {
            low = middle + 1;
        }
        else {
            high = middle;
        }
    }
    return low;
}

/* NB: NumPy compares the sum with 1 by the square root of the least step between doubles, about 1.5e-8; and reports what
 * adding and dividing sets, as numbers near zero may. */
int32_t
dl_variates_choose(bitgen_t *bits, const char *weights, npy_intp n, npy_intp stride, int64_t *out, npy_intp count)
{
    double few[FEW_WEIGHTS], *shares = n <= FEW_WEIGHTS ? few : PyMem_RawMalloc((size_t)n * sizeof(double));
    if (shares == NULL) {
        return 1;
    }
    double sum = 0.0, lost = 0.0, total = 0.0;
    unsigned flags = dl_fp_get();
    int is_sound = 1;
    for (npy_intp i = 0; i < n && is_sound; i++) {
        double weight = *(const double *)(weights + i * stride);
        is_sound = weight == 0.0 || weight > 1e-290;
        double part = weight - lost, next_sum = sum + part;
        lost = (next_sum - sum) - part;
        sum = next_sum;
        total += weight;
    }
    is_sound = is_sound && fabs(sum - 1.0) < 1e-8;
    double up_to = 0.0;
    for (npy_intp i = 0; i < n && is_sound; i++) {
        up_to += *(const double *)(weights + i * stride);
        shares[i] = up_to / total;
    }
    for (npy_intp i = 0; i < count && is_sound; i++) {
        out[i] = first_above(shares, n, next(bits));
        is_sound = out[i] < n; /* NB: the last share is 1, and what is drawn less */
    }
    dl_fp_set(flags);
    if (shares != few) {
        PyMem_RawFree(shares);
    }
    return !is_sound;
}

int32_t
dl_variates_order(bitgen_t *bits, int64_t *out, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        out[i] = i;
    }
    for (npy_intp i = n - 1; i > 0; i--) {
        npy_intp other = (npy_intp)random_interval(bits, (uint64_t)i);
        int64_t number = out[i];
        out[i] = out[other];
        out[other] = number;
    }
    return 0;
}

#else

int32_t
dl_variates_fill(bitgen_t *Py_UNUSED(bits), char *Py_UNUSED(kept), npy_intp Py_UNUSED(kind), double Py_UNUSED(a),
                 double Py_UNUSED(b), char *Py_UNUSED(data), npy_intp Py_UNUSED(n))
{
    return 1;
}

int32_t
dl_variates_fill_integers(bitgen_t *Py_UNUSED(bits), const char *Py_UNUSED(kept), int64_t Py_UNUSED(low),
                          int64_t Py_UNUSED(high), char *Py_UNUSED(data), npy_intp Py_UNUSED(n))
{
    return 1;
}

int32_t
dl_variates_choose(bitgen_t *Py_UNUSED(bits), const char *Py_UNUSED(weights), npy_intp Py_UNUSED(n),
                   npy_intp Py_UNUSED(stride), int64_t *Py_UNUSED(out), npy_intp Py_UNUSED(count))
{
    return 1;
}

int32_t
dl_variates_order(bitgen_t *Py_UNUSED(bits), int64_t *Py_UNUSED(out), npy_intp Py_UNUSED(n))
{
    return 1;
}
#endif
