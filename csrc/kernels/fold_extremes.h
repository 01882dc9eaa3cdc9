/* A template, included by fold.c once a type and direction: NUMBER, NAME(x), BETTER (< or >), IDENTITY, and MASK, a signed
 * integer type of the same size, and IS_NAN(value). Of floating numbers a NaN makes a result unsure, and so does a zero, which may have
 * either sign. With SKIPS NaNs are left out (np.fmax, np.fmin): then IS_NAN is never true, and a result that is IDENTITY is
 * unsure, since nothing else may have been there. */

#ifdef SKIPS
#define FIRST(value) PICK(value, (Vector){0} + IDENTITY)
#else
#define FIRST(value) (value)
#endif

#define LANES_OF NAME(lanes_narrow)
#define WIDTH 16
#define TARGET
#define GENERIC_PICK(value, best)                                                                                      \
    (Vector)(((Mask)(value) & (Mask)((value)BETTER(best))) | ((Mask)(best) & ~(Mask)((value)BETTER(best))))
#define PICK GENERIC_PICK
#define UNORDERED(a, b) ((Mask)IS_NAN(a) | (Mask)IS_NAN(b))
#include "fold_lanes.h"
#ifdef DL_HAS_CLONES
#define LANES_OF NAME(lanes_wide)
#define WIDTH 32
#define TARGET __attribute__((target("avx2")))
#ifdef AVX_PICK /* NB: GCC finds few of these instructions from the comparison */
#define PICK(value, best) (Vector) AVX_PICK(value, best)
#else
#define PICK GENERIC_PICK
#endif
#ifdef FLOATING
#define UNORDERED(a, b) AVX_UNORDERED(a, b)
#else
#define UNORDERED(a, b) ((Mask)IS_NAN(a) | (Mask)IS_NAN(b))
#endif
#include "fold_lanes.h"
#endif

/* The extreme of n packed numbers, at least a narrow vector of them; not 0 if there was a NaN. */
static int
NAME(lanes_of)(const NUMBER *data, npy_intp n, NUMBER *cell)
{
#ifdef DL_HAS_CLONES
    if (has_avx2 && n >= (npy_intp)(32 / sizeof(NUMBER))) {
        return NAME(lanes_wide)(data, n, cell);
    }
#endif
    return NAME(lanes_narrow)(data, n, cell);
}

static int
NAME(leaf)(const char *data, npy_intp n, npy_intp stride, char *cell)
{
    NUMBER acc = IDENTITY;
    int unsure = 0;
    if (stride == (npy_intp)sizeof acc && n >= (npy_intp)(16 / sizeof acc)) {
        return NAME(lanes_of)((const NUMBER *)data, n, (NUMBER *)cell);
    }
    for (npy_intp i = 0; i < n; i++) {
        NUMBER value = *(const NUMBER *)(data + i * stride);
        acc = value BETTER acc ? value : acc;
        unsure |= IS_NAN(value);
    }
    memcpy(cell, &acc, sizeof acc);
    return unsure;
}

static int
NAME(runs)(const char *data, npy_intp count, npy_intp n, char *cells)
{
    int unsure = 0;
    for (npy_intp run = 0; run < count; run++) {
        npy_intp bytes = n * (npy_intp)sizeof(NUMBER);
        unsure |= NAME(leaf)(data + run * bytes, n, sizeof(NUMBER), cells + run * (npy_intp)sizeof(NUMBER));
    }
    return unsure;
}

FOR_THIS_CPU static int
NAME(rows)(char *accs, const char *data, npy_intp n)
{
    MASK unsure = 0;
    for (npy_intp i = 0; i < n; i++) {
        NUMBER acc = ((NUMBER *)accs)[i], value = ((const NUMBER *)data)[i];
        ((NUMBER *)accs)[i] = value BETTER acc ? value : acc;
        unsure |= -(MASK)IS_NAN(value);
    }
    return unsure != 0;
}

static void
NAME(start)(char *accs, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        ((NUMBER *)accs)[i] = IDENTITY;
    }
}

#ifdef FLOATING
static int
NAME(doubtful)(const char *accs, npy_intp n)
{
    int found = 0;
    for (npy_intp i = 0; i < n; i++) {
        found |= ((const NUMBER *)accs)[i] == 0 ? DL_DOUBT_ALIKE : 0;
#ifdef SKIPS
        found |= ((const NUMBER *)accs)[i] == IDENTITY ? DL_DOUBT_LOST : 0;
#endif
    }
    return found;
}
#endif
#undef NUMBER
#undef NAME
#undef BETTER
#undef IDENTITY
#undef AVX_PICK
#undef FIRST
#undef GENERIC_PICK
