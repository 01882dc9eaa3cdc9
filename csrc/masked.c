/* Masked: count the true elements of a mask, gather what it selects, scatter into what it selects: elements, or rows where
 * the array has more axes than the mask. Rows that do not lie packed are NumPy's own to move, and so are few of them, of
 * which it chooses the strides.
 *
 * The order is that of x[mask] in NumPy, C order, whatever the strides are. A gather is without branches, and eight
 * elements of which none or all are selected go at once. Elements that are not selected are not changed, nor computed
 * with: bytes are moved, no floating-point flag is set. INVARIANT: as many elements are moved as were counted.
 *
 * Where at most a quarter is selected, what counts notes their places, and all that goes by the same mask behind it goes by
 * these: the mask is gone through once.
 */
#include "build.h"

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

/* One row of n elements, of `size` bytes each: the packed place behind the `k` elements so far moves on; returns the new k. */
typedef npy_intp (*MoveRow)(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count, char *items,
                            npy_intp stride, const char *mask, npy_intp mask_stride, npy_intp n, npy_intp size);

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

enum { FEW = 4, BLOCK = 64 };

/* Write where the true elements of a packed mask of n are, room of them and BLOCK behind; how many, or -1 where there are
 * more. Most blocks of a mask that selects little have at most FEW: those are written whether they are there or not. */
static npy_intp
note_places(const char *mask, npy_intp n, int32_t *places, npy_intp room)
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

/* Move `count` elements, or rows, of so many bytes, to or from where they are packed. */
typedef void (*MovePlaced)(char *packed, npy_intp packed_stride, char *items, npy_intp stride, const int32_t *places,
                           npy_intp count, npy_intp size);

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

/* One row of a mask, counted. */
static npy_intp
count_row(char *Py_UNUSED(packed), npy_intp Py_UNUSED(packed_stride), npy_intp k, npy_intp Py_UNUSED(count),
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

/* What moves items of a size, or rows, through a mask, and by places. */
typedef struct {
    MoveRow row;
    MovePlaced placed;
} Move;

/* NULL where there is nothing for items of that size. */
static const Move *
find_move(DlMaskedKind kind, npy_intp itemsize, int of_rows)
{
    static const Move gets[] = {{get_1, get_placed_1}, {get_2, get_placed_2}, {get_4, get_placed_4},
                                {get_8, get_placed_8}, {get_16, get_placed_16}, {get_rows, get_placed_rows}};
    static const Move puts[] = {{put_1, put_placed_1}, {put_2, put_placed_2}, {put_4, put_placed_4},
                                {put_8, put_placed_8}, {put_16, put_placed_16}, {put_rows, put_placed_rows}};
    const Move *moves = kind == DL_MASKED_GET ? gets : puts;
#ifdef HAS_WIDE
    static const Move wide_gets[] = {{get_wide_4, get_placed_4}, {get_wide_8, get_placed_8}};
    static const Move wide_puts[] = {{put_wide_4, put_placed_4}, {put_wide_8, put_placed_8}};
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

/* Go through the mask and the array (the mask itself where only it is read) in C order, items of so many bytes; how many
 * were true. */
static npy_intp
walk(MoveRow move, const DlReg *mask, const DlReg *array, char *packed, npy_intp packed_stride, npy_intp count,
     npy_intp bytes)
{
    npy_intp size = 1, k = 0, at[DL_MAX_DIMS] = {0};
    for (int axis = 0; axis < mask->nd; axis++) {
        size *= mask->shape[axis];
    }
    if (size == 0) {
        return 0;
    }
    if (dl_reg_is_packed(mask) && dl_reg_is_packed(array)) {
        return move(packed, packed_stride, 0, count, array->data, bytes, mask->data, 1, size, bytes);
    }
    int last = mask->nd - 1;
    char *data = array->data;
    const char *bits = mask->data;
    for (;;) {
        k = move(packed, packed_stride, k, count, data, array->strides[last], bits, mask->strides[last],
                 mask->shape[last], bytes);
        int axis = last - 1;
        for (; axis >= 0; axis--) {
            data += array->strides[axis];
            bits += mask->strides[axis];
            if (++at[axis] < mask->shape[axis]) {
                break;
            }
            data -= at[axis] * array->strides[axis];
            bits -= at[axis] * mask->strides[axis];
            at[axis] = 0;
        }
        if (axis < 0) {
            return k;
        }
    }
}

/* Whether a register holds an array of the mask's shape, and more axes perhaps. */
static int
has_shape_of(const DlReg *reg, const DlReg *mask)
{
    if (reg->kind != DL_ARRAY || reg->nd < mask->nd) {
        return 0;
    }
    for (int axis = 0; axis < mask->nd; axis++) {
        if (reg->shape[axis] != mask->shape[axis]) {
            return 0;
        }
    }
    return 1;
}

/* The bytes of what lies behind the first n axes of an array at each place; 0 where that does not lie packed, or has an
 * axis of less than two elements. */
static npy_intp
bytes_of_item(const DlReg *reg, int n)
{
    npy_intp bytes = PyDataType_ELSIZE(reg->descr);
    for (int axis = reg->nd - 1; axis >= n; axis--) {
        if (reg->shape[axis] < 2 || reg->strides[axis] != bytes) {
            return 0;
        }
        bytes *= reg->shape[axis];
    }
    return bytes;
}

/* array[mask], or array[mask] = value, by NumPy. */
static DlStatus
move_by_numpy(DlRun *run, const DlMaskedStep *step)
{
    PyObject *array = dl_reg_object(&run->regs[step->src]), *mask = dl_reg_object(&run->regs[step->mask]);
    if (array == NULL || mask == NULL) {
        return -1;
    }
    if (step->kind == DL_MASKED_PUT) {
        PyObject *value = dl_reg_object(&run->regs[step->value]);
        return value == NULL || PyObject_SetItem(array, mask, value) < 0 ? dl_failed(run, DL_REASON_CALL) : 0;
    }
    PyObject *made = PyObject_GetItem(array, mask);
    if (made == NULL) {
        return dl_failed(run, DL_REASON_CALL);
    }
    dl_reg_take(&run->regs[step->dst], made);
    return 0;
}

/* Whether values that a mask is to select places for are rows like those of the array, and as many as it selects. */
static int
are_rows(const DlReg *value, const DlReg *array, int n, npy_intp count)
{
    if (value->kind != DL_ARRAY || value->nd != 1 + array->nd - n || value->shape[0] != count
        || value->descr->type_num != array->descr->type_num) {
        return 0;
    }
    for (int axis = n; axis < array->nd; axis++) {
        if (value->shape[axis - n + 1] != array->shape[axis]) {
            return 0;
        }
    }
    return 1;
}

enum { SHARE = 4, LEAST = 256 }; /* places are noted of so few of the elements, of masks of so many */

/* How many elements of a mask are true, and where they are for what goes by the mask behind it; 0, or -1 where memory ran
 * out. */
static int
count_and_note(DlRun *run, const DlMaskedStep *step, npy_intp *count)
{
    const DlReg *mask = &run->regs[step->mask];
    npy_intp size = 1;
    for (int axis = 0; axis < mask->nd; axis++) {
        size *= mask->shape[axis];
    }
    *count = -1;
    npy_intp room = size / SHARE, shape[] = {room + BLOCK};
    if (step->places >= 0 && size >= LEAST && size <= INT32_MAX && dl_reg_is_packed(mask)) {
        PyArray_Descr *descr = PyArray_DescrFromType(NPY_INT32);
        PyObject *made = dl_pool_array(run, descr, 1, shape, NULL);
        Py_DECREF(descr);
        if (made == NULL) {
            return -1;
        }
        *count = note_places(mask->data, size, (int32_t *)(void *)PyArray_BYTES((PyArrayObject *)made), room);
        dl_reg_take_fresh(&run->regs[step->places], made);
    }
    if (*count < 0) {
        if (step->places >= 0) {
            dl_reg_release(run, &run->regs[step->places]);
        }
        *count = walk(count_row, mask, mask, NULL, 0, 0, 1);
    }
    return 0;
}

/* Move what a mask selects of an array to or from `packed`; how many elements, or rows, it was. */
static npy_intp
move_selected(DlRun *run, const DlMaskedStep *step, const Move *move, char *packed, npy_intp packed_stride, npy_intp count,
              npy_intp bytes)
{
    const DlReg *mask = &run->regs[step->mask], *array = &run->regs[step->src];
    const DlReg *noted = step->places < 0 ? NULL : &run->regs[step->places];
    npy_intp stride = mask->nd == 1 ? array->strides[0] : dl_reg_is_packed(array) ? bytes : 0;
    if (noted == NULL || noted->kind == DL_EMPTY || stride == 0 || noted->shape[0] < count + BLOCK) {
        return walk(move->row, mask, array, packed, packed_stride, count, bytes);
    }
    move->placed(packed, packed_stride, array->data, stride, (const int32_t *)(const void *)noted->data, count, bytes);
    return count;
}

DlStatus
dl_masked_run(DlRun *run, const DlMaskedStep *step)
{
    const DlReg *mask = &run->regs[step->mask];
    if (mask->kind != DL_ARRAY || mask->descr->type_num != NPY_BOOL || mask->nd == 0) {
        return dl_decline(run, DL_REASON_INPUT);
    }
    if (step->kind == DL_MASKED_COUNT) {
        npy_intp count;
        if (count_and_note(run, step, &count) < 0) {
            return dl_failed(run, DL_REASON_MEMORY);
        }
        DlNumber number = {.i = count};
        return dl_yields_set(run, &step->yields, &number);
    }
    const DlReg *src = &run->regs[step->src];
    npy_intp count = (npy_intp)run->numbers[step->count].i;
    if (count < 0 || !has_shape_of(src, mask)) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    int of_rows = src->nd > mask->nd;
    npy_intp bytes = bytes_of_item(src, mask->nd);
    const Move *move = find_move(step->kind, PyDataType_ELSIZE(src->descr), of_rows);
    if (move == NULL) {
        return dl_decline(run, DL_REASON_SHAPE);
    }
    if (step->kind == DL_MASKED_PUT) {
        const DlReg *value = &run->regs[step->value];
        if (!are_rows(value, src, mask->nd, count)) {
            return dl_decline(run, DL_REASON_SHAPE);
        }
        if (!src->writeable) {
            return dl_decline(run, DL_REASON_READONLY);
        }
        if (bytes == 0 || (of_rows && bytes_of_item(value, 1) != bytes)) {
            return move_by_numpy(run, step);
        }
        npy_intp put = move_selected(run, step, move, value->data, value->strides[0], count, bytes);
        return put == count ? 0 : dl_decline(run, DL_REASON_CONDITION);
    }
    if (bytes == 0 || (of_rows && count < 2)) {
        return move_by_numpy(run, step);
    }
    npy_intp shape[DL_MAX_DIMS] = {count};
    memcpy(shape + 1, src->shape + mask->nd, (size_t)(src->nd - mask->nd) * sizeof *shape);
    PyObject *made = dl_pool_array(run, src->descr, 1 + src->nd - mask->nd, shape, NULL);
    if (made == NULL) {
        return dl_failed(run, DL_REASON_MEMORY);
    }
    char *packed = PyArray_BYTES((PyArrayObject *)made);
    npy_intp got = move_selected(run, step, move, packed, bytes, count, bytes);
    dl_reg_take_fresh(&run->regs[step->dst], made);
    return got == count ? 0 : dl_decline(run, DL_REASON_CONDITION);
}

int
dl_build_masked(DlBuilder *builder, PyObject *object, DlMaskedStep *step)
{
    int is_get = dl_build_is_text(object, "kind", "get"), is_put = dl_build_is_text(object, "kind", "put");
    step->mask = dl_build_int(object, "mask");
    if (is_get < 0 || is_put < 0 || step->mask == INT32_MIN || dl_build_use(builder, step->mask, object) < 0) {
        return -1;
    }
    step->kind = is_get ? DL_MASKED_GET : is_put ? DL_MASKED_PUT : DL_MASKED_COUNT;
    step->places = dl_build_int(object, "places");
    if (step->places == INT32_MIN) {
        return -1;
    }
    if (step->places >= 0) {
        int (*touch)(DlBuilder *, int32_t, PyObject *) = step->kind == DL_MASKED_COUNT ? dl_build_set : dl_build_use;
        if (touch(builder, step->places, object) < 0) {
            return -1;
        }
    }
    PyObject *count = PyObject_GetAttrString(object, "count");
    step->count = count ? dl_scalar_add(&builder->program->numbers, count) : -1;
    Py_XDECREF(count);
    if (step->count < 0) {
        return -1;
    }
    if (builder->program->numbers.kinds[step->count] != DL_INT) {
        return dl_build_refuse(builder, "a number of elements is an int", object);
    }
    if (step->kind == DL_MASKED_COUNT) {
        step->yields.values = &step->count;
        step->yields.n = 1;
        return 0;
    }
    step->src = dl_build_int(object, "src");
    if (step->src == INT32_MIN || dl_build_use(builder, step->src, object) < 0) {
        return -1;
    }
    if (step->kind == DL_MASKED_PUT) {
        step->value = dl_build_int(object, "value");
        return step->value == INT32_MIN ? -1 : dl_build_use(builder, step->value, object);
    }
    step->dst = dl_build_int(object, "dst");
    return step->dst == INT32_MIN ? -1 : dl_build_set(builder, step->dst, object);
}
