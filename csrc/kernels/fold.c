/* Typed reductions (see fold.h). The arithmetic stands in templates, included for each type. */
#include "fold.h"

#include <math.h>

#include "abi.h"
#include "clones.h"
#include "program/fpflags.h"

enum { LEAF = 128, MAX_LEAVES = 8 }; /* numbers of a leaf; leaves of up to 4 * LEAF numbers */

#ifdef DL_HAS_CLONES
#include <immintrin.h>
static int has_avx2, has_avx512;
#endif

#define JOIN_NOW(a, b, c) a##b##c
#define JOIN(a, b, c) JOIN_NOW(a, b, c)

/* ---- floating add ---- */

typedef struct {
    npy_intp start, n;
} Leaf;

/* The leaves of n > 0 numbers in order; their count. */
static int
list_leaves(npy_intp start, npy_intp n, Leaf *leaves)
{
    if (n <= LEAF) {
        leaves[0] = (Leaf){start, n};
        return 1;
    }
    npy_intp half = dl_fold_half(n, 0);
    int count = list_leaves(start, half, leaves);
    return count + list_leaves(start + half, n - half, leaves + count);
}

#define NUMBER npy_float
#define NAME(x) float_add_##x
#include "fold_pairwise.h"
#undef NUMBER
#undef NAME

#define NUMBER npy_double
#define NAME(x) double_add_##x
#include "fold_pairwise.h"
#undef NUMBER
#undef NAME

/* ---- operations whose order does not show ---- */

#define IS_NAN(value) ((value) ^ (value)) /* never */
#define NUMBER_TYPE npy_int8
#define PREFIX int8
#define AVX_MAXIMUM _mm256_max_epi8
#define AVX_MINIMUM _mm256_min_epi8
#define MASK npy_int8
#define LOWEST NPY_MIN_INT8
#define HIGHEST NPY_MAX_INT8
#define WIDE npy_uint32
#include "fold_integers.h"

#define NUMBER_TYPE npy_uint8
#define PREFIX uint8
#define AVX_MAXIMUM _mm256_max_epu8
#define AVX_MINIMUM _mm256_min_epu8
#define MASK npy_int8
#define LOWEST 0
#define HIGHEST NPY_MAX_UINT8
#define WIDE npy_uint32
#include "fold_integers.h"

#define NUMBER_TYPE npy_int16
#define PREFIX int16
#define AVX_MAXIMUM _mm256_max_epi16
#define AVX_MINIMUM _mm256_min_epi16
#define MASK npy_int16
#define LOWEST NPY_MIN_INT16
#define HIGHEST NPY_MAX_INT16
#define WIDE npy_uint32
#include "fold_integers.h"

#define NUMBER_TYPE npy_uint16
#define PREFIX uint16
#define AVX_MAXIMUM _mm256_max_epu16
#define AVX_MINIMUM _mm256_min_epu16
#define MASK npy_int16
#define LOWEST 0
#define HIGHEST NPY_MAX_UINT16
#define WIDE npy_uint32
#include "fold_integers.h"

#define NUMBER_TYPE npy_int32
#define PREFIX int32
#define AVX_MAXIMUM _mm256_max_epi32
#define AVX_MINIMUM _mm256_min_epi32
#define MASK npy_int32
#define LOWEST NPY_MIN_INT32
#define HIGHEST NPY_MAX_INT32
#define WIDE npy_uint32
#include "fold_integers.h"

#define NUMBER_TYPE npy_uint32
#define PREFIX uint32
#define AVX_MAXIMUM _mm256_max_epu32
#define AVX_MINIMUM _mm256_min_epu32
#define MASK npy_int32
#define LOWEST 0
#define HIGHEST NPY_MAX_UINT32
#define WIDE npy_uint32
#include "fold_integers.h"

#define NUMBER_TYPE npy_int64
#define PREFIX int64
#define AVX_MAXIMUM(a, b) _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(a, b))
#define AVX_MINIMUM(a, b) _mm256_blendv_epi8(b, a, _mm256_cmpgt_epi64(b, a))
#define MASK npy_int64
#define LOWEST NPY_MIN_INT64
#define HIGHEST NPY_MAX_INT64
#define WIDE npy_uint64
#include "fold_integers.h"

#define NUMBER_TYPE npy_uint64
#define PREFIX uint64
#define MASK npy_int64
#define LOWEST 0
#define HIGHEST NPY_MAX_UINT64
#define WIDE npy_uint64
#include "fold_integers.h"

#define BOOL_OP bool_or
#define DECIDES(byte) ((byte) != 0)
#include "fold_bools.h"

#define BOOL_OP bool_and
#define DECIDES(byte) ((byte) == 0)
#include "fold_bools.h"

#undef IS_NAN
#define FLOATING
#define AVX_UNORDERED(a, b) _mm256_cmp_ps((__m256)(a), (__m256)(b), _CMP_UNORD_Q)
#define IS_NAN(value) ((value) != (value))
#define MASK npy_int32
#define NUMBER npy_float
#define NAME(x) float_maximum_##x
#define AVX_PICK(value, best) _mm256_max_ps((__m256)(value), (__m256)(best))
#define BETTER >
#define IDENTITY (-(NUMBER)INFINITY)
#include "fold_extremes.h"

#define NUMBER npy_float
#define NAME(x) float_minimum_##x
#define AVX_PICK(value, best) _mm256_min_ps((__m256)(value), (__m256)(best))
#define BETTER <
#define IDENTITY ((NUMBER)INFINITY)
#include "fold_extremes.h"

#undef MASK
#define MASK npy_int64
#undef AVX_UNORDERED
#define AVX_UNORDERED(a, b) _mm256_cmp_pd((__m256d)(a), (__m256d)(b), _CMP_UNORD_Q)
#define NUMBER npy_double
#define NAME(x) double_maximum_##x
#define AVX_PICK(value, best) _mm256_max_pd((__m256d)(value), (__m256d)(best))
#define BETTER >
#define IDENTITY (-(NUMBER)INFINITY)
#include "fold_extremes.h"

#define NUMBER npy_double
#define NAME(x) double_minimum_##x
#define AVX_PICK(value, best) _mm256_min_pd((__m256d)(value), (__m256d)(best))
#define BETTER <
#define IDENTITY ((NUMBER)INFINITY)
#include "fold_extremes.h"

/* Those that leave NaNs out: none is looked for. */
#define SKIPS
#undef IS_NAN
#undef AVX_UNORDERED
#define IS_NAN(value) (((value) != (value)) & 0)
#define AVX_UNORDERED(a, b) _mm256_setzero_pd()
#define NUMBER npy_double
#define NAME(x) double_fmax_##x
#define AVX_PICK(value, best) _mm256_max_pd((__m256d)(value), (__m256d)(best))
#define BETTER >
#define IDENTITY (-(NUMBER)INFINITY)
#include "fold_extremes.h"

#define NUMBER npy_double
#define NAME(x) double_fmin_##x
#define AVX_PICK(value, best) _mm256_min_pd((__m256d)(value), (__m256d)(best))
#define BETTER <
#define IDENTITY ((NUMBER)INFINITY)
#include "fold_extremes.h"

#undef MASK
#define MASK npy_int32
#undef AVX_UNORDERED
#define AVX_UNORDERED(a, b) _mm256_setzero_ps()
#define NUMBER npy_float
#define NAME(x) float_fmax_##x
#define AVX_PICK(value, best) _mm256_max_ps((__m256)(value), (__m256)(best))
#define BETTER >
#define IDENTITY (-(NUMBER)INFINITY)
#include "fold_extremes.h"

#define NUMBER npy_float
#define NAME(x) float_fmin_##x
#define AVX_PICK(value, best) _mm256_min_ps((__m256)(value), (__m256)(best))
#define BETTER <
#define IDENTITY ((NUMBER)INFINITY)
#include "fold_extremes.h"

#undef SKIPS
#undef IS_NAN
#define IS_NAN(value) ((value) != (value))

/* ---- NaNs and zeros ---- */

/* Whether some of n numbers are such (1), and whether one of these has other bits (2); and the bits of the first one. */
#define LOOK(name, type, integer, IS)                                                                                  \
    static inline __attribute__((always_inline)) int tell_##name(const char *data, npy_intp n, npy_intp stride,        \
                                                                 uint64_t bits)                                        \
    {                                                                                                                  \
        integer usual = (integer)bits, any = 0, odd = 0;                                                               \
        for (npy_intp i = 0; i < n; i++) {                                                                             \
            type value;                                                                                                \
            integer of;                                                                                                \
            memcpy(&value, data + i * stride, sizeof value);                                                           \
            memcpy(&of, &value, sizeof of);                                                                            \
            integer is = IS(value) ? ~(integer)0 : 0;                                                                  \
            any |= is;                                                                                                 \
            odd |= is & (of ^ usual);                                                                                  \
        }                                                                                                              \
        return (any ? 1 : 0) | (odd ? 2 : 0);                                                                          \
    }                                                                                                                  \
    FOR_THIS_CPU static int look_##name(const char *data, npy_intp n, npy_intp stride, uint64_t bits)                  \
    {                                                                                                                  \
        npy_intp size = (npy_intp)sizeof(type); /* of packed numbers, the loop goes by vectors */                      \
        return stride == size ? tell_##name(data, n, size, bits) : tell_##name(data, n, stride, bits);                 \
    }                                                                                                                  \
    static uint64_t first_##name(const char *data, npy_intp stride)                                                    \
    {                                                                                                                  \
        for (;; data += stride) {                                                                                      \
            type value;                                                                                                \
            integer bits;                                                                                              \
            memcpy(&value, data, sizeof value);                                                                        \
            if (IS(value)) {                                                                                           \
                memcpy(&bits, &value, sizeof bits);                                                                    \
                return bits;                                                                                           \
            }                                                                                                          \
        }                                                                                                              \
    }

#define IS_ZERO(value) ((value) == 0)
LOOK(nans_float, float, uint32_t, IS_NAN)
LOOK(nans_double, double, uint64_t, IS_NAN)
LOOK(zeros_float, float, uint32_t, IS_ZERO)
LOOK(zeros_double, double, uint64_t, IS_ZERO)

/* The bits that most of them have: np.nan's, or those of 0.0. */
static uint64_t
usual(const DlAlike *alike)
{
    return alike->zeros ? 0 : alike->bytes == 8 ? 0x7FF8000000000000 : 0x7FC00000;
}

void
dl_alike_look(DlAlike *alike, const char *data, npy_intp n, npy_intp stride)
{
    static const struct {
        int (*look)(const char *, npy_intp, npy_intp, uint64_t);
        uint64_t (*first)(const char *, npy_intp);
    } ways[2][2] = {
        {{look_nans_float, first_nans_float}, {look_nans_double, first_nans_double}},
        {{look_zeros_float, first_zeros_float}, {look_zeros_double, first_zeros_double}},
    };
    if (alike->met == DL_UNLIKE) {
        return;
    }
    int way = alike->bytes == 8;
    uint64_t bits = alike->met == DL_MET_NONE ? usual(alike) : alike->bits;
    int found = ways[alike->zeros][way].look(data, n, stride, bits);
    if (found & 2 && alike->met == DL_MET_NONE) {
        bits = ways[alike->zeros][way].first(data, stride);
        found = ways[alike->zeros][way].look(data, n, stride, bits);
    }
    if (found) {
        alike->bits = bits;
        alike->met = found & 2 ? DL_UNLIKE : DL_ALIKE;
    }
}

int
dl_alike_is_usual(const DlAlike *nans)
{
    return nans->bits == usual(nans);
}

/* to[i] = bits where data[i] is NaN. */
#define HAND_ON(name, type, integer)                                                                                   \
    FOR_THIS_CPU static void hand_on_##name(uint64_t bits, char *to, const char *data, npy_intp n)                     \
    {                                                                                                                  \
        typedef integer __attribute__((may_alias)) Bits;                                                               \
        Bits *into = (Bits *)to;                                                                                       \
        for (npy_intp i = 0; i < n; i++) {                                                                             \
            into[i] = IS_NAN(((const type *)data)[i]) ? (integer)bits : into[i];                                       \
        }                                                                                                              \
    }

HAND_ON(float, npy_float, npy_uint32)
HAND_ON(double, npy_double, npy_uint64)

void
dl_alike_hand_on(const DlAlike *nans, char *to, const char *data, npy_intp n)
{
    (nans->bytes == 8 ? hand_on_double : hand_on_float)(nans->bits, to, data, n);
}

void
dl_alike_join(DlAlike *alike, const DlAlike *others)
{
    if (others->met == DL_MET_NONE) {
        return;
    }
    if (alike->met == DL_MET_NONE) {
        *alike = *others;
    }
    else if (others->met == DL_UNLIKE || others->bits != alike->bits) {
        alike->met = DL_UNLIKE;
    }
}

/* The NaN that an invalid operation makes. NB: the processor makes it, not the compiler. */
static uint64_t
arisen(int bytes)
{
    volatile double infinite = INFINITY;
    volatile float short_infinite = INFINITY;
    double nan = infinite - infinite;
    float short_nan = short_infinite - short_infinite;
    uint64_t bits;
    uint32_t few;
    memcpy(&bits, &nan, sizeof bits);
    memcpy(&few, &short_nan, sizeof few);
    return bytes == 4 ? few : bits;
}

int
dl_alike_known(const DlAlike *alike)
{
    if (alike->zeros || !(dl_fp_get() & DL_FP_INVALID)) {
        return alike->met == DL_ALIKE;
    }
    return alike->met == DL_MET_NONE || (alike->met == DL_ALIKE && alike->bits == arisen(alike->bytes));
}

/* ---- the table ---- */

#define ROW(ufunc, kind, bytes, name) {ufunc, kind, bytes, 0, name##_leaf, name##_runs, name##_rows, name##_start, NULL, 0}
#define INTEGER_ROWS(kind, bytes, name)                                                                                \
    ROW("add", kind, bytes, name##_add), ROW("multiply", kind, bytes, name##_multiply),                                \
        ROW("maximum", kind, bytes, name##_maximum), ROW("minimum", kind, bytes, name##_minimum),                      \
        ROW("fmax", kind, bytes, name##_maximum), ROW("fmin", kind, bytes, name##_minimum)
#define EXTREME_ROW(ufunc, bytes, type, name, skips)                                                                   \
    {ufunc, 'f', bytes, 0, type##_##name##_leaf, type##_##name##_runs, type##_##name##_rows, type##_##name##_start,                     \
     type##_##name##_doubtful, skips}

static const DlFold folds[] = {
    {"add", 'f', 4, 1, float_add_real_leaf, float_add_real_runs, float_add_real_rows, float_add_real_start,
     float_add_real_has_nan, 0},
    {"add", 'f', 8, 1, double_add_real_leaf, double_add_real_runs, double_add_real_rows, double_add_real_start,
     double_add_real_has_nan, 0},
    {"add", 'c', 8, 1, float_add_complex_leaf, float_add_complex_runs, float_add_complex_rows, float_add_complex_start,
     float_add_complex_has_nan, 0},
    {"add", 'c', 16, 1, double_add_complex_leaf, double_add_complex_runs, double_add_complex_rows, double_add_complex_start,
     double_add_complex_has_nan, 0},
    INTEGER_ROWS('i', 1, int8),
    INTEGER_ROWS('u', 1, uint8),
    INTEGER_ROWS('i', 2, int16),
    INTEGER_ROWS('u', 2, uint16),
    INTEGER_ROWS('i', 4, int32),
    INTEGER_ROWS('u', 4, uint32),
    INTEGER_ROWS('i', 8, int64),
    INTEGER_ROWS('u', 8, uint64),
    ROW("logical_or", 'b', 1, bool_or),
    ROW("logical_and", 'b', 1, bool_and),
    EXTREME_ROW("maximum", 4, float, maximum, 0),
    EXTREME_ROW("minimum", 4, float, minimum, 0),
    EXTREME_ROW("fmax", 4, float, fmax, 1),
    EXTREME_ROW("fmin", 4, float, fmin, 1),
    EXTREME_ROW("maximum", 8, double, maximum, 0),
    EXTREME_ROW("minimum", 8, double, minimum, 0),
    EXTREME_ROW("fmax", 8, double, fmax, 1),
    EXTREME_ROW("fmin", 8, double, fmin, 1),
};

void
dl_fold_register(void)
{
#ifdef DL_HAS_CLONES
    __builtin_cpu_init();
    has_avx2 = __builtin_cpu_supports("avx2") != 0;
    has_avx512 = __builtin_cpu_supports("avx512f") != 0;
#endif
}

const DlFold *
dl_fold_find(const char *ufunc, const PyArray_Descr *descr)
{
    for (size_t i = 0; i < Py_ARRAY_LENGTH(folds); i++) {
        const DlFold *fold = &folds[i];
        if (fold->kind == descr->kind && fold->bytes == PyDataType_ELSIZE(descr) && strcmp(fold->ufunc, ufunc) == 0) {
            return fold;
        }
    }
    return NULL;
}

int
dl_fold_number(const DlFold *fold)
{
    return fold != NULL ? (int)(fold - folds) : -1;
}

/* Whether a result that is NaN, or zero, is known since all such numbers among n are alike. */
static int
are_alike(const DlFold *fold, const char *data, npy_intp n, npy_intp stride)
{
    DlAlike alike = {.bytes = fold->bytes, .zeros = !fold->pairwise};
    if (fold->kind != 'f') {
        return 0;
    }
    dl_alike_look(&alike, data, n, stride);
    return dl_alike_known(&alike);
}

/* Whether one of n_results is unsure, of which these n items are all that went in. */
static int
is_unsure(const DlFold *fold, const char *results, npy_intp n_results, const char *data, npy_intp n, npy_intp stride)
{
    int doubt = fold->doubtful != NULL ? fold->doubtful(results, n_results) : 0;
    return doubt & DL_DOUBT_LOST || (doubt && !are_alike(fold, data, n, stride));
}

static int
fold_vector(const DlFold *fold, char *result, const char *data, npy_intp n, npy_intp stride)
{
    double cell[2];
    int unsure = fold->leaf(data, n, stride, (char *)cell);
    fold->start(result, 1);
    unsure |= fold->rows(result, (char *)cell, 1);
    return unsure || is_unsure(fold, result, 1, data, n, stride);
}

int32_t
dl_fold_vector(npy_intp number, char *result, const char *data, npy_intp n, npy_intp stride)
{
    const DlFold *fold = &folds[number];
    if (n == 0 && (strcmp(fold->ufunc, "add") == 0 || strcmp(fold->ufunc, "logical_or") == 0)) {
        memset(result, 0, (size_t)fold->bytes);
        return 0;
    }
    if (n < 1 || n > DL_MOST_VECTOR) {
        return 1;
    }
    unsigned before = fold->skips ? dl_fp_get() : 0;
    int unsure = fold_vector(fold, result, data, n, stride);
    if (fold->skips) {
        dl_fp_set(before);
    }
    return unsure;
}

/* Each of `count` packed runs of n items as one. */
static int
fold_runs(const DlFold *fold, char *results, const char *data, npy_intp count, npy_intp n)
{
    enum { AT_ONCE = 64 };
    npy_intp bytes = fold->bytes;
    int unsure = 0;
    for (npy_intp i = 0; i < count && !unsure; i += AT_ONCE) {
        double cells[2 * AT_ONCE];
        npy_intp few = count - i < AT_ONCE ? count - i : AT_ONCE;
        char *own = results + i * bytes;
        unsure = fold->runs(data + i * n * bytes, few, n, (char *)cells);
        fold->start(own, few);
        unsure |= fold->rows(own, (char *)cells, few);
        if (fold->doubtful != NULL && fold->doubtful(own, few)) {
            for (npy_intp j = 0; j < few && !unsure; j++) { /* which looks closer */
                unsure = fold_vector(fold, own + j * bytes, data + (i + j) * n * bytes, n, bytes);
            }
        }
    }
    return unsure;
}

/* Each of `outer` blocks of n packed rows as one row. */
static int
fold_rows(const DlFold *fold, char *results, const char *data, npy_intp outer, npy_intp n, npy_intp inner)
{
    npy_intp row = inner * fold->bytes;
    const char *block = data;
    int unsure = 0;
    for (npy_intp i = 0; i < outer && !unsure; i++, results += row) {
        fold->start(results, inner);
        for (npy_intp j = 0; j < n; j++, data += row) {
            unsure |= fold->rows(results, data, inner);
        }
        unsure = unsure || is_unsure(fold, results, inner, block, n * inner, fold->bytes);
        block = data;
    }
    return unsure;
}

int32_t
dl_fold_axes(npy_intp number, char *results, const char *data, npy_intp outer, npy_intp n, npy_intp inner)
{
    const DlFold *fold = &folds[number];
    if (n < 1) {
        return 1; /* which NumPy refuses, or fills with what the ufunc begins with */
    }
    if (outer < 1 || inner < 1) {
        return 0;
    }
    unsigned before = fold->skips ? dl_fp_get() : 0;
    int unsure = inner == 1 ? fold_runs(fold, results, data, outer, n) : fold_rows(fold, results, data, outer, n, inner);
    if (fold->skips) {
        dl_fp_set(before);
    }
    return unsure;
}
