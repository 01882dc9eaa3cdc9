/* A template, included by fold.c once a floating type: NUMBER is the type, NAME(x) names its functions.
 *
 * Pairwise sums, as NumPy orders them: up to 128 numbers go into eight accumulators, which are added in pairs; the rest
 * follows one by one; longer runs are halved, the first half a multiple of 8. Real and imaginary parts of complex
 * numbers lie in turn among the same numbers (parts 2). Here four leaves run side by side, so that their dependent
 * additions overlap in time; each leaf's own order is untouched.
 */

/* A sum: one number, or a real and an imaginary part. */
typedef struct {
    NUMBER part[2];
} NAME(Sum);

static NAME(Sum) NAME(add)(NAME(Sum) a, NAME(Sum) b)
{
    return (NAME(Sum)){{a.part[0] + b.part[0], a.part[1] + b.part[1]}};
}

#define FOUR NAME(four_narrow)
#define WIDTH 16
#define TARGET
#include "fold_four.h"
#ifdef DL_HAS_CLONES
#define FOUR NAME(four_wide)
#define WIDTH 32
#define TARGET __attribute__((target("avx2")))
#include "fold_four.h"
#define FOUR NAME(four_widest)
#define WIDTH 64
#define TARGET __attribute__((target("avx512f")))
#include "fold_four.h"
#endif

/* The eight accumulators of four packed leaves after their first `blocks` blocks of 8. */
static void
NAME(four)(const NUMBER *const *leaves, npy_intp blocks, NUMBER (*acc)[8])
{
#ifdef DL_HAS_CLONES
    if (has_avx512) {
        NAME(four_widest)(leaves, blocks, acc);
        return;
    }
    if (has_avx2) {
        NAME(four_wide)(leaves, blocks, acc);
        return;
    }
#endif
    NAME(four_narrow)(leaves, blocks, acc);
}

/* The sum of one leaf whose first `blocks` >= 1 blocks of 8 are in r already. */
static NAME(Sum) NAME(finish)(const NUMBER *a, npy_intp n, npy_intp blocks, NUMBER *r, int parts)
{
    NAME(Sum) sum = {{0, 0}};
    npy_intp i = 8 * blocks;
    for (; i < n - n % 8; i += 8) {
        for (int j = 0; j < 8; j++) {
            r[j] += a[i + j];
        }
    }
    if (parts == 1) {
        sum.part[0] = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));
    }
    else {
        sum.part[0] = (r[0] + r[2]) + (r[4] + r[6]);
        sum.part[1] = (r[1] + r[3]) + (r[5] + r[7]);
    }
    for (; i < n; i++) {
        sum.part[i % parts] += a[i];
    }
    return sum;
}

/* The sum of one leaf, of 1 to 128 numbers. */
static NAME(Sum) NAME(one)(const NUMBER *a, npy_intp n, int parts)
{
    NUMBER r[8];
    if (n >= 8) {
        memcpy(r, a, sizeof r);
        return NAME(finish)(a, n, 1, r, parts);
    }
    NAME(Sum) sum = {{(NUMBER)-0.0, (NUMBER)-0.0}}; /* NB: so that -0.0 stays -0.0 */
    for (npy_intp i = 0; i < n; i++) {
        sum.part[i % parts] += a[i];
    }
    return sum;
}

/* Add up the sums of the leaves of n numbers, taken in order from *sums, as the halving says. */
static NAME(Sum) NAME(combine)(npy_intp n, const NAME(Sum) **sums)
{
    if (n <= LEAF) {
        return *(*sums)++;
    }
    npy_intp half = dl_fold_half(n, 0);
    NAME(Sum) first = NAME(combine)(half, sums);
    return NAME(add)(first, NAME(combine)(n - half, sums));
}

/* The sum of four leaves that halving twice gives. */
static NAME(Sum) NAME(four_leaves)(const NUMBER *a, const npy_intp *sizes, int parts)
{
    const NUMBER *starts[4] = {a, a + sizes[0], a + sizes[0] + sizes[1], a + sizes[0] + sizes[1] + sizes[2]};
    NAME(Sum) sums[4];
    NUMBER acc[4][8];
    npy_intp shortest = sizes[0] < sizes[2] ? sizes[0] : sizes[2]; /* a first half is never the longer one */
    NAME(four)(starts, shortest / 8, acc);
    for (int i = 0; i < 4; i++) {
        sums[i] = NAME(finish)(starts[i], sizes[i], shortest / 8, acc[i], parts);
    }
    return NAME(add)(NAME(add)(sums[0], sums[1]), NAME(add)(sums[2], sums[3]));
}

/* The sum of n >= 1 packed numbers. */
static NAME(Sum) NAME(packed)(const NUMBER *a, npy_intp n, int parts)
{
    if (n <= LEAF) {
        return NAME(one)(a, n, parts);
    }
    if (n > 4 * LEAF) {
        npy_intp half = dl_fold_half(n, 0);
        NAME(Sum) first = NAME(packed)(a, half, parts);
        return NAME(add)(first, NAME(packed)(a + half, n - half, parts));
    }
    if (n > 2 * LEAF && n <= 4 * LEAF) {
        npy_intp half = dl_fold_half(n, 0), first = dl_fold_half(half, 0), second = dl_fold_half(n - half, 0);
        npy_intp sizes[4] = {first, half - first, second, n - half - second};
        if (half > LEAF && n - half > LEAF && sizes[1] <= LEAF && sizes[3] <= LEAF) {
            return NAME(four_leaves)(a, sizes, parts);
        }
    }
    Leaf leaves[MAX_LEAVES];
    NAME(Sum) sums[MAX_LEAVES];
    NUMBER acc[4][8];
    int count = list_leaves(0, n, leaves);
    for (int i = 0; i < count; i += 4) {
        const NUMBER *starts[4];
        npy_intp blocks = LEAF / 8;
        for (int j = 0; j < 4; j++) {
            const Leaf *leaf = &leaves[i + j < count ? i + j : count - 1];
            starts[j] = a + leaf->start;
            blocks = leaf->n / 8 < blocks ? leaf->n / 8 : blocks;
        }
        NAME(four)(starts, blocks, acc);
        for (int j = 0; j < 4 && i + j < count; j++) {
            sums[i + j] = NAME(finish)(starts[j], leaves[i + j].n, blocks, acc[j], parts);
        }
    }
    const NAME(Sum) *next = sums;
    return NAME(combine)(n, &next);
}

/* The sum of n >= 1 items, `stride` bytes apart. */
static NAME(Sum) NAME(strided)(const char *data, npy_intp n, npy_intp stride, int parts)
{
    if (n * parts > LEAF) {
        npy_intp half = dl_fold_half(n, parts == 2);
        NAME(Sum) first = NAME(strided)(data, half, stride, parts);
        return NAME(add)(first, NAME(strided)(data + half * stride, n - half, stride, parts));
    }
    NUMBER packed[LEAF];
    for (npy_intp i = 0; i < n; i++) {
        memcpy(packed + i * parts, data + i * stride, (size_t)parts * sizeof(NUMBER));
    }
    return NAME(one)(packed, n * parts, parts);
}

/* DlFold.leaf for items of `parts` numbers. */
static int
NAME(leaf)(const char *data, npy_intp n, npy_intp stride, char *cell, int parts)
{
    int is_packed = stride == (npy_intp)sizeof(NUMBER) * parts;
    NAME(Sum) sum = is_packed ? NAME(packed)((const NUMBER *)data, n * parts, parts)
                              : NAME(strided)(data, n, stride, parts);
    memcpy(cell, sum.part, (size_t)parts * sizeof(NUMBER));
    return 0;
}

/* DlFold.runs for items of `parts` numbers: short runs four at a time, each a leaf. */
static int
NAME(runs)(const NUMBER *data, npy_intp count, npy_intp n, NUMBER *cells, int parts)
{
    npy_intp run = 0;
    n *= parts;
    for (; n >= 8 && n <= LEAF && run + 4 <= count; run += 4) {
        const NUMBER *starts[4];
        NUMBER acc[4][8];
        for (int i = 0; i < 4; i++) {
            starts[i] = data + (run + i) * n;
        }
        NAME(four)(starts, n / 8, acc);
        for (int i = 0; i < 4; i++) {
            NAME(Sum) sum = NAME(finish)(starts[i], n, n / 8, acc[i], parts);
            memcpy(cells + (run + i) * parts, sum.part, (size_t)parts * sizeof(NUMBER));
        }
    }
    for (; run < count; run++) {
        NAME(Sum) sum = NAME(packed)(data + run * n, n, parts);
        memcpy(cells + run * parts, sum.part, (size_t)parts * sizeof(NUMBER));
    }
    return 0;
}

static int
NAME(real_runs)(const char *data, npy_intp count, npy_intp n, char *cells)
{
    return NAME(runs)((const NUMBER *)data, count, n, (NUMBER *)cells, 1);
}

static int
NAME(complex_runs)(const char *data, npy_intp count, npy_intp n, char *cells)
{
    return NAME(runs)((const NUMBER *)data, count, n, (NUMBER *)cells, 2);
}

static int
NAME(real_leaf)(const char *data, npy_intp n, npy_intp stride, char *cell)
{
    return NAME(leaf)(data, n, stride, cell, 1);
}

static int
NAME(complex_leaf)(const char *data, npy_intp n, npy_intp stride, char *cell)
{
    return NAME(leaf)(data, n, stride, cell, 2);
}

FOR_THIS_CPU static int
NAME(real_rows)(char *accs, const char *data, npy_intp n)
{
    for (npy_intp i = 0; i < n; i++) {
        ((NUMBER *)accs)[i] += ((const NUMBER *)data)[i];
    }
    return 0;
}

static int
NAME(complex_rows)(char *accs, const char *data, npy_intp n)
{
    return NAME(real_rows)(accs, data, 2 * n);
}

/* NB: NumPy starts a sum at 0.0, which makes 0.0 of a sum of -0.0. */
static void
NAME(real_start)(char *accs, npy_intp n)
{
    memset(accs, 0, (size_t)n * sizeof(NUMBER));
}

static void
NAME(complex_start)(char *accs, npy_intp n)
{
    NAME(real_start)(accs, 2 * n);
}

/* NB: which of several NaNs a sum keeps depends on how the compiler ordered the operands of NumPy's additions. */
static int
NAME(real_has_nan)(const char *accs, npy_intp n)
{
    int any = 0;
    for (npy_intp i = 0; i < n; i++) {
        NUMBER value = ((const NUMBER *)accs)[i];
        any |= value != value;
    }
    return any;
}

static int
NAME(complex_has_nan)(const char *accs, npy_intp n)
{
    return NAME(real_has_nan)(accs, 2 * n);
}
