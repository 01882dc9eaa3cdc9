/* Single random numbers, as machine code draws them: what NumPy's Generator and RandomState would have drawn.
 *
 * The distributions are NumPy's own functions, of the library that it installs for this (numpy/random/distributions.h).
 * Those that RandomState keeps for the sake of old streams are in no library: Marsaglia's polar method for normal numbers,
 * where every second one is kept, and the logarithm for exponential ones. ops/draws.py tries all of them out, in the
 * process that draws, against the methods themselves. What NumPy would raise for declines, and flags stay as they were:
 * NumPy reports none of those that a draw sets.
 */
#include "program.h"

#include "fpflags.h"
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

/* Whether NumPy draws with these parameters. */
static int
is_sound(npy_intp kind, double a, double b)
{
    switch (kind) {
    case DL_DRAW_UNIFORM:
        return isfinite(b - a) && b >= a;
    case DL_DRAW_NORMAL:
        return !isnan(b) && !signbit(b);
    case DL_DRAW_EXPONENTIAL:
        return !isnan(a) && !signbit(a);
    case DL_DRAW_POISSON:
        return a >= 0.0 && a <= 1e9;
    default:
        return 1;
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
    if (!is_sound(kind, a, b)) {
        return 1;
    }
    unsigned flags = dl_fp_get();
    for (npy_intp i = 0; i < n; i++) {
        switch (kind) {
        case DL_DRAW_UNIFORM:
            floats[i] = a + (b - a) * next(bits);
            break;
        case DL_DRAW_STANDARD_NORMAL:
            floats[i] = normal(bits, kept);
            break;
        case DL_DRAW_NORMAL:
            floats[i] = a + b * normal(bits, kept);
            break;
        case DL_DRAW_STANDARD_EXPONENTIAL:
            floats[i] = exponential(bits, kept);
            break;
        case DL_DRAW_EXPONENTIAL:
            floats[i] = a * exponential(bits, kept);
            break;
        case DL_DRAW_POISSON:
            integers[i] = random_poisson(bits, a);
            break;
        default:
            return 1;
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
#endif
