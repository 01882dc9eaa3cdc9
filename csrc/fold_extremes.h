/* A template, included by fold.c once a floating type and direction: NUMBER, NAME(x), BETTER (< or >), IDENTITY, and MASK,
 * an integer type of the same size. A NaN makes a result unsure, and so does a zero, which may have either sign. */

enum { NAME(lanes) = 256 / sizeof(NUMBER) }; /* numbers that are compared side by side */

#define LANES_OF NAME(lanes_narrow)
#define WIDTH 16
#define TARGET
#include "fold_lanes.h"
#ifdef BY_CPU
#define LANES_OF NAME(lanes_wide)
#define WIDTH 32
#define TARGET __attribute__((target("avx2")))
#include "fold_lanes.h"
#endif

/* The best of each lane of `blocks` blocks of lanes; not 0 if there was a NaN. */
static int
NAME(lanes_of)(const NUMBER *data, npy_intp blocks, NUMBER *acc)
{
#ifdef BY_CPU
    if (has_avx2) {
        return NAME(lanes_wide)(data, blocks, acc);
    }
#endif
    return NAME(lanes_narrow)(data, blocks, acc);
}

static int
NAME(leaf)(const char *data, npy_intp n, npy_intp stride, char *cell)
{
    NUMBER acc = IDENTITY, lanes[NAME(lanes)];
    npy_intp i = 0;
    int unsure = 0;
    if (stride == (npy_intp)sizeof acc && n >= NAME(lanes)) {
        unsure = NAME(lanes_of)((const NUMBER *)data, n / NAME(lanes), lanes);
        for (int j = 0; j < NAME(lanes); j++) {
            acc = lanes[j] BETTER acc ? lanes[j] : acc;
        }
        i = n - n % NAME(lanes);
    }
    for (; i < n; i++) {
        NUMBER value = *(const NUMBER *)(data + i * stride);
        acc = value BETTER acc ? value : acc;
        unsure |= value != value;
    }
    memcpy(cell, &acc, sizeof acc);
    return unsure;
}

FOR_THIS_CPU static int
NAME(rows)(char *accs, const char *data, npy_intp n)
{
    MASK unsure = 0;
    for (npy_intp i = 0; i < n; i++) {
        NUMBER acc = ((NUMBER *)accs)[i], value = ((const NUMBER *)data)[i];
        ((NUMBER *)accs)[i] = value BETTER acc ? value : acc;
        unsure |= -(MASK)(value != value);
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

static int
NAME(has_zeros)(const char *accs, npy_intp n)
{
    int zeros = 0;
    for (npy_intp i = 0; i < n; i++) {
        zeros |= ((const NUMBER *)accs)[i] == 0;
    }
    return zeros;
}
#undef NUMBER
#undef NAME
#undef BETTER
#undef IDENTITY
#undef MASK
