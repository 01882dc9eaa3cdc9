/* What a row of a mask selects: counted, noted by its places, moved to where it lies packed and back.
 *
 * A gather is without branches, and eight elements of which none or all are selected go at once. Elements that are not
 * selected are not changed, nor computed with: bytes are moved, no floating-point flag is set. INVARIANT: as many
 * elements are moved as were counted.
 */
#include "mask_moves.h"

#if defined(__x86_64__) && defined(__GNUC__)
#include <immintrin.h>
#define HAS_WIDE 1
#define WIDE __attribute__((target("avx512f,avx512vl,avx512bw,popcnt")))
#elif defined(__SSE2__)
#include <emmintrin.h>
#endif

typedef struct {
    uint64_t words[2];
} Pair;

static const uint64_t all_true = 0x0101010101010101u;

/* Where behind i, which is not behind it all, the first of 64 elements are that are not all false, or fewer are left. */
static npy_intp
skip_false(const char *mask, npy_intp i, npy_intp n)
{
    for (; i + 64 <= n; i += 64) {
        uint64_t words[8], any = 0;
        memcpy(words, mask + i, sizeof words);
        for (int j = 0; j < 8; j++) {
            any |= words[j];
        }
        if (any != 0) {
            break;
        }
    }
    return i;
}

#define MOVES(name, type)                                                                                              \
    static npy_intp get_##name(char *packed, npy_intp Py_UNUSED(packed_stride), npy_intp k, npy_intp count,            \
                               char *items, npy_intp stride, const char *mask, npy_intp mask_stride, npy_intp n,       \
                               npy_intp Py_UNUSED(size))                                                               \
    {                                                                                                                  \
        type *out = (type *)packed;                                                                                    \
        npy_intp i = 0;                                                                                                \
        int whole = mask_stride == 1 && stride == (npy_intp)sizeof(type);                                              \
        while (i < n && k < count) {                                                                                   \
            uint64_t word = 1;                                                                                         \
            if (whole && i + 8 <= n) {                                                                                 \
                memcpy(&word, mask + i, sizeof word);                                                                  \
                if (word == 0) {                                                                                       \
                    i = skip_false(mask, i + 8, n);                                                                    \
                    continue;                                                                                          \
                }                                                                                                      \
                if (k + 8 <= count) {                                                                                  \
                    const type *in = (const type *)items + i;                                                          \
                    if (word == all_true) {                                                                            \
                        memcpy(out + k, in, 8 * sizeof(type));                                                         \
                        k += 8;                                                                                        \
                    }                                                                                                  \
                    for (int j = 0; j < 8 && word != all_true; j++) {                                                  \
                        out[k] = in[j];                                                                                \
                        k += mask[i + j] != 0;                                                                         \
                    }                                                                                                  \
                    i += 8;                                                                                            \
                    continue;                                                                                          \
                }                                                                                                      \
            }                                                                                                          \
            out[k] = *(const type *)(items + i * stride);                                                              \
            k += mask[i * mask_stride] != 0;                                                                           \
            i++;                                                                                                       \
        }                                                                                                              \
        return k;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static npy_intp put_##name(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count, char *items,          \
                               npy_intp stride, const char *mask, npy_intp mask_stride, npy_intp n,                    \
                               npy_intp Py_UNUSED(size))                                                               \
    {                                                                                                                  \
        npy_intp i = 0;                                                                                                \
        int whole = mask_stride == 1 && stride == (npy_intp)sizeof(type) && packed_stride == stride;                   \
        while (i < n && k < count) {                                                                                   \
            uint64_t word = 1;                                                                                         \
            if (whole && i + 8 <= n) {                                                                                 \
                memcpy(&word, mask + i, sizeof word);                                                                  \
                if (word == 0) {                                                                                       \
                    i = skip_false(mask, i + 8, n);                                                                    \
                    continue;                                                                                          \
                }                                                                                                      \
                if (k + 8 <= count) {                                                                                  \
                    const type *in = (const type *)packed;                                                             \
                    type *out = (type *)items + i;                                                                     \
                    if (word == all_true) {                                                                            \
                        memcpy(out, in + k, 8 * sizeof(type));                                                         \
                        k += 8;                                                                                        \
                    }                                                                                                  \
                    for (int j = 0; j < 8 && word != all_true; j++) {                                                  \
                        int is_true = mask[i + j] != 0;                                                                \
                        const type *from = is_true ? in + k : out + j;                                                 \
                        out[j] = *from;                                                                                \
                        k += is_true;                                                                                  \
                    }                                                                                                  \
                    i += 8;                                                                                            \
                    continue;                                                                                          \
                }                                                                                                      \
            }                                                                                                          \
            if (mask[i * mask_stride] != 0) {                                                                          \
                *(type *)(items + i * stride) = *(const type *)(packed + k++ * packed_stride);                         \
            }                                                                                                          \
            i++;                                                                                                       \
        }                                                                                                              \
        return k;                                                                                                      \
    }

MOVES(1, uint8_t)
MOVES(2, uint16_t)
MOVES(4, uint32_t)
MOVES(8, uint64_t)
MOVES(16, Pair)

#ifdef HAS_WIDE

/* With AVX-512 one instruction packs the selected elements of a vector, or spreads what is packed: 64 elements at a time,
 * as long as so many are left to be moved; the rest as above. */
#define WIDE_MOVES(name, type, lanes, bits)                                                                            \
    static WIDE npy_intp get_wide_##name(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count,             \
                                         char *items, npy_intp stride, const char *mask, npy_intp mask_stride,         \
                                         npy_intp n, npy_intp size)                                                    \
    {                                                                                                                  \
        npy_intp i = 0;                                                                                                \
        if (mask_stride == 1 && stride == (npy_intp)sizeof(type)) {                                                    \
            type *out = (type *)packed;                                                                                \
            const type *in = (const type *)items;                                                                      \
            for (; i + 64 <= n && k + 64 <= count; i += 64) {                                                          \
                __m512i bytes = _mm512_loadu_si512(mask + i);                                                          \
                uint64_t left = _mm512_test_epi8_mask(bytes, bytes);                                                   \
                for (int j = 0; left != 0; j += lanes, left >>= lanes) {                                               \
                    __mmask##lanes some = (__mmask##lanes)left;                                                        \
                    __m512i chosen = _mm512_maskz_compress_epi##bits(some, _mm512_loadu_si512(in + i + j));            \
                    _mm512_storeu_si512(out + k, chosen);                                                              \
                    k += _mm_popcnt_u32(some);                                                                         \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return get_##name(packed, packed_stride, k, count, items + i * stride, stride, mask + i * mask_stride,         \
                          mask_stride, n - i, size);                                                                   \
    }                                                                                                                  \
                                                                                                                       \
    static WIDE npy_intp put_wide_##name(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count,             \
                                         char *items, npy_intp stride, const char *mask, npy_intp mask_stride,         \
                                         npy_intp n, npy_intp size)                                                    \
    {                                                                                                                  \
        npy_intp i = 0;                                                                                                \
        if (mask_stride == 1 && stride == (npy_intp)sizeof(type) && packed_stride == stride) {                         \
            const type *in = (const type *)packed;                                                                     \
            type *out = (type *)items;                                                                                 \
            for (; i + 64 <= n && k + 64 <= count; i += 64) {                                                          \
                __m512i bytes = _mm512_loadu_si512(mask + i);                                                          \
                uint64_t left = _mm512_test_epi8_mask(bytes, bytes);                                                   \
                for (int j = 0; left != 0; j += lanes, left >>= lanes) {                                               \
                    __mmask##lanes some = (__mmask##lanes)left;                                                        \
                    __m512i spread = _mm512_maskz_expand_epi##bits(some, _mm512_loadu_si512(in + k));                  \
                    _mm512_mask_storeu_epi##bits(out + i + j, some, spread);                                           \
                    k += _mm_popcnt_u32(some);                                                                         \
                }                                                                                                      \
            }                                                                                                          \
        }                                                                                                              \
        return put_##name(packed, packed_stride, k, count, items + i * stride, stride, mask + i * mask_stride,         \
                          mask_stride, n - i, size);                                                                   \
    }

WIDE_MOVES(4, uint32_t, 16, 32)
WIDE_MOVES(8, uint64_t, 8, 64)

static int
has_wide(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

#endif

/* ---- by places ---- */

/* Bit i of the result: whether mask[i] is true, of 64. */
static inline uint64_t
bits_of(const char *mask)
{
    uint64_t bits = 0;
#if defined(__SSE2__)
    const __m128i zero = _mm_setzero_si128();
    for (int j = 0; j < 4; j++) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)(mask + 16 * j));
        bits |= (uint64_t)(uint16_t)~_mm_movemask_epi8(_mm_cmpeq_epi8(bytes, zero)) << (16 * j);
    }
#else
    for (int j = 0; j < 64; j++) {
        bits |= (uint64_t)(mask[j] != 0) << j;
    }
#endif
    return bits;
}

enum { FEW = 4, BLOCK = DL_MASK_BLOCK };

/* NB: most blocks of a mask that selects little have at most FEW: those are written whether they are there or not. */
npy_intp
dl_mask_moves_note(const char *mask, npy_intp n, int32_t *places, npy_intp room)
{
    npy_intp k = 0, i = 0;
    for (; i + BLOCK <= n && k <= room; i += BLOCK) {
        uint64_t bits = bits_of(mask + i);
        if (bits == 0) {
            continue;
        }
        int32_t *to = places + k;
        npy_intp found = __builtin_popcountll(bits);
        for (int j = 0; j < FEW; j++) {
            to[j] = (int32_t)i + (bits != 0 ? __builtin_ctzll(bits) : 0);
            bits &= bits - 1;
        }
        for (npy_intp j = FEW; j < found; j++) {
            to[j] = (int32_t)i + __builtin_ctzll(bits);
            bits &= bits - 1;
        }
        k += found;
    }
    for (; i < n && k <= room; i++) {
        places[k] = (int32_t)i;
        k += mask[i] != 0;
    }
    return k <= room ? k : -1;
}

#define PLACED(name, type)                                                                                             \
    static void get_placed_##name(char *packed, npy_intp Py_UNUSED(packed_stride), char *items, npy_intp stride,       \
                                  const int32_t *places, npy_intp count, npy_intp Py_UNUSED(size))                     \
    {                                                                                                                  \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            ((type *)packed)[i] = *(const type *)(items + places[i] * stride);                                         \
        }                                                                                                              \
    }                                                                                                                  \
                                                                                                                       \
    static void put_placed_##name(char *packed, npy_intp packed_stride, char *items, npy_intp stride,                  \
                                  const int32_t *places, npy_intp count, npy_intp Py_UNUSED(size))                     \
    {                                                                                                                  \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            *(type *)(items + places[i] * stride) = *(const type *)(packed + i * packed_stride);                       \
        }                                                                                                              \
    }

PLACED(1, uint8_t)
PLACED(2, uint16_t)
PLACED(4, uint32_t)
PLACED(8, uint64_t)
PLACED(16, Pair)

static void
get_placed_rows(char *packed, npy_intp packed_stride, char *items, npy_intp stride, const int32_t *places, npy_intp count,
                npy_intp size)
{
    for (npy_intp i = 0; i < count; i++) {
        memcpy(packed + i * packed_stride, items + places[i] * stride, (size_t)size);
    }
}

static void
put_placed_rows(char *packed, npy_intp packed_stride, char *items, npy_intp stride, const int32_t *places, npy_intp count,
                npy_intp size)
{
    for (npy_intp i = 0; i < count; i++) {
        memcpy(items + places[i] * stride, packed + i * packed_stride, (size_t)size);
    }
}

/* Elements of any size, or rows of the array: those that follow one another at once where they lie so. */
static npy_intp
move_rows(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count, char *items, npy_intp stride,
          const char *mask, npy_intp mask_stride, npy_intp n, npy_intp size, int puts)
{
    int whole = stride == size && packed_stride == size;
    for (npy_intp i = 0; i < n && k < count;) {
        if (mask[i * mask_stride] == 0) {
            i = mask_stride == 1 ? skip_false(mask, i + 1, n) : i + 1;
            continue;
        }
        npy_intp run = 1;
        while (whole && i + run < n && k + run < count && mask[(i + run) * mask_stride] != 0) {
            run++;
        }
        char *item = items + i * stride, *place = packed + k * packed_stride;
        memcpy(puts ? item : place, puts ? place : item, (size_t)(run * size));
        i += run;
        k += run;
    }
    return k;
}

static npy_intp
get_rows(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count, char *items, npy_intp stride,
         const char *mask, npy_intp mask_stride, npy_intp n, npy_intp size)
{
    return move_rows(packed, packed_stride, k, count, items, stride, mask, mask_stride, n, size, 0);
}

static npy_intp
put_rows(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count, char *items, npy_intp stride,
         const char *mask, npy_intp mask_stride, npy_intp n, npy_intp size)
{
    return move_rows(packed, packed_stride, k, count, items, stride, mask, mask_stride, n, size, 1);
}

npy_intp
dl_mask_moves_count(char *Py_UNUSED(packed), npy_intp Py_UNUSED(packed_stride), npy_intp k, npy_intp Py_UNUSED(count),
                    char *Py_UNUSED(items), npy_intp Py_UNUSED(stride), const char *mask, npy_intp mask_stride, npy_intp n,
                    npy_intp Py_UNUSED(size))
{
    if (mask_stride != 1) {
        for (npy_intp i = 0; i < n; i++) {
            k += mask[i * mask_stride] != 0;
        }
        return k;
    }
    while (n > 0) { /* sums of bytes that cannot overflow are what compilers make vectors of */
        npy_intp part = n < 255 ? n : 255;
        uint8_t sum = 0;
        for (npy_intp i = 0; i < part; i++) {
            sum += mask[i] != 0;
        }
        k += sum;
        mask += part;
        n -= part;
    }
    return k;
}

/* NULL where there is nothing for items of that size. */
const DlMaskMove *
dl_mask_moves_find(DlMaskedKind kind, npy_intp itemsize, int of_rows)
{
    static const DlMaskMove gets[] = {{get_1, get_placed_1}, {get_2, get_placed_2}, {get_4, get_placed_4},
                                      {get_8, get_placed_8}, {get_16, get_placed_16}, {get_rows, get_placed_rows}};
    static const DlMaskMove puts[] = {{put_1, put_placed_1}, {put_2, put_placed_2}, {put_4, put_placed_4},
                                      {put_8, put_placed_8}, {put_16, put_placed_16}, {put_rows, put_placed_rows}};
    const DlMaskMove *moves = kind == DL_MASKED_GET ? gets : puts;
#ifdef HAS_WIDE
    static const DlMaskMove wide_gets[] = {{get_wide_4, get_placed_4}, {get_wide_8, get_placed_8}};
    static const DlMaskMove wide_puts[] = {{put_wide_4, put_placed_4}, {put_wide_8, put_placed_8}};
    if (!of_rows && (itemsize == 4 || itemsize == 8) && has_wide()) {
        return (kind == DL_MASKED_GET ? wide_gets : wide_puts) + (itemsize == 8);
    }
#endif
    switch (of_rows ? 0 : itemsize) {
    case 0: return moves + 5;
    case 1: return moves;
    case 2: return moves + 1;
    case 4: return moves + 2;
    case 8: return moves + 3;
    case 16: return moves + 4;
    default: return NULL;
    }
}
