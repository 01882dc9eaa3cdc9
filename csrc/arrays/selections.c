/* What is chosen of arrays, and in which order. By NumPy's own functions for the dtype where it has such. */
#include "selections.h"

#include "program/fpflags.h"
#include "mask_moves.h"

#include <math.h>
#include <string.h>

/* ---- what is not zero ---- */

/* NB: each place is written, whether it counts or not, so that nothing branches. */

#define NONZERO(name, type)                                                                                            \
    static int64_t nonzero_##name(const char *x, npy_intp rows, npy_intp n, npy_intp row_stride, npy_intp stride,      \
                                  npy_intp pairs, int64_t *out)                                                        \
    {                                                                                                                  \
        int64_t *to = out;                                                                                             \
        for (npy_intp i = 0; i < rows; i++, x += row_stride) {                                                         \
            const char *at = x;                                                                                        \
            for (npy_intp j = 0; !pairs && j < n; j++, at += stride) {                                                \
                *to = i * n + j;                                                                                       \
                to += *(const type *)at != 0;                                                                          \
            }                                                                                                          \
            for (npy_intp j = 0; pairs && j < n; j++, at += stride) {                                                  \
                to[0] = i;                                                                                             \
                to[1] = j;                                                                                             \
                to += *(const type *)at != 0 ? 2 : 0;                                                                  \
            }                                                                                                          \
        }                                                                                                              \
        return (to - out) / (pairs ? 2 : 1);                                                                           \
    }

NONZERO(8, uint8_t)
NONZERO(16, uint16_t)
NONZERO(32, uint32_t)
NONZERO(64, uint64_t)
NONZERO(float, float)
NONZERO(double, double)

int64_t
dl_selections_nonzero(npy_intp type_num, const char *x, npy_intp rows, npy_intp n, npy_intp row_stride, npy_intp stride,
                      npy_intp pairs, int64_t *out)
{
    unsigned flags = dl_fp_get(); /* which a NaN that is compared raises, and NumPy does not look at */
    int64_t count;
    switch (type_num) {
    case NPY_FLOAT:
        count = nonzero_float(x, rows, n, row_stride, stride, pairs, out);
        break;
    case NPY_DOUBLE:
        count = nonzero_double(x, rows, n, row_stride, stride, pairs, out);
        break;
    case NPY_BOOL:
    case NPY_BYTE:
    case NPY_UBYTE:
        return nonzero_8(x, rows, n, row_stride, stride, pairs, out);
    case NPY_SHORT:
    case NPY_USHORT:
        return nonzero_16(x, rows, n, row_stride, stride, pairs, out);
    case NPY_INT:
    case NPY_UINT:
        return nonzero_32(x, rows, n, row_stride, stride, pairs, out);
    default:
        return nonzero_64(x, rows, n, row_stride, stride, pairs, out);
    }
    dl_fp_set(flags);
    return count;
}

/* ---- masks ---- */

int64_t
dl_selections_mark(const char *mask, npy_intp rows, npy_intp n, npy_intp row_stride, npy_intp stride, int32_t *out)
{
    npy_intp total = rows * n;
    if (total >= DL_MASK_LEAST && stride == 1 && (rows == 1 || row_stride == n)) {
        npy_intp count = dl_mask_moves_note(mask, total, out + 1, total / DL_MASK_SHARE);
        out[0] = count >= 0;
        return count >= 0 ? count : dl_mask_moves_count(NULL, 0, 0, 0, NULL, 0, mask, 1, total, 1);
    }
    int32_t k = 0, place = 0;
    for (npy_intp i = 0; i < rows; i++, mask += row_stride) {
        for (npy_intp j = 0; j < n; j++) { /* written whether it counts or not */
            out[1 + k] = place++;
            k += mask[j * stride] != 0;
        }
    }
    out[0] = 1;
    return k;
}

/* One item of so many elements. */
static void
move_item(npy_intp puts, char *packed, npy_intp packed_inner, char *item, npy_intp inner, npy_intp inner_stride,
          npy_intp itemsize)
{
    for (npy_intp i = 0; i < inner; i++, packed += packed_inner, item += inner_stride) {
        memcpy(puts ? item : packed, puts ? packed : item, (size_t)itemsize);
    }
}

int32_t
dl_selections_move(npy_intp puts, char *packed, npy_intp packed_stride, npy_intp packed_inner, char *x, npy_intp rows,
                   npy_intp n, npy_intp row_stride, npy_intp stride, npy_intp inner, npy_intp inner_stride,
                   npy_intp itemsize, const char *mask, npy_intp mask_row_stride, npy_intp mask_stride,
                   const int32_t *notes, npy_intp count)
{
    int is_flat = rows == 1 || row_stride == n * stride;
    int whole = inner == 1 || (inner_stride == itemsize && packed_inner == itemsize);
    npy_intp bytes = inner * itemsize;
    const DlMaskMove *move = dl_mask_moves_find(puts ? DL_MASKED_PUT : DL_MASKED_GET, itemsize, inner > 1);
    if (is_flat && whole && move != NULL && inner > 0) {
        if (notes[0]) {
            move->placed(packed, packed_stride, x, stride, notes + 1, count, bytes);
            return 0;
        }
        return move->row(packed, packed_stride, 0, count, x, stride, mask, 1, rows * n, bytes) != count;
    }
    npy_intp k = 0;
    for (npy_intp i = 0; i < rows; i++, x += row_stride, mask += mask_row_stride) {
        for (npy_intp j = 0; j < n && k < count; j++) {
            if (mask[j * mask_stride] != 0) {
                move_item(puts, packed + k++ * packed_stride, packed_inner, x + j * stride, inner, inner_stride, itemsize);
            }
        }
    }
    return k != count;
}

/* ---- orders ---- */

static const PyArray_ArrFuncs *
functions_of(npy_intp type_num)
{
    PyArray_Descr *descr = PyArray_DescrFromType((int)type_num); /* NB: builtin dtypes live for ever */
    Py_DECREF(descr);
    return PyDataType_GetArrFuncs(descr);
}

int32_t
dl_selections_order(npy_intp type_num, npy_intp kind, const char *x, npy_intp n, int64_t *out)
{
    PyArray_ArgSortFunc *sort = functions_of(type_num)->argsort[kind];
    if (sort == NULL) {
        return 1;
    }
    for (npy_intp i = 0; i < n; i++) {
        out[i] = i;
    }
    unsigned flags = dl_fp_get(); /* which NumPy does not look at here */
    int failed = n > 1 && sort((void *)x, (npy_intp *)out, n, NULL) < 0;
    dl_fp_set(flags);
    return failed;
}

static inline double
float_at(npy_intp type_num, const char *x)
{
    if (type_num == NPY_FLOAT) {
        float narrow;
        memcpy(&narrow, x, sizeof narrow);
        return narrow;
    }
    double wide;
    memcpy(&wide, x, sizeof wide);
    return wide;
}

int64_t
dl_selections_unique(npy_intp type_num, npy_intp by_order, const char *x, npy_intp n, const int64_t *order, char *out,
                     int64_t *first, int64_t *inverse, int64_t *counts)
{
    PyArray_Descr *descr = PyArray_DescrFromType((int)type_num);
    size_t itemsize = (size_t)PyDataType_ELSIZE(descr);
    Py_DECREF(descr);
    int is_float = type_num == NPY_FLOAT || type_num == NPY_DOUBLE;
    int64_t k = -1;
    for (npy_intp i = 0; i < n; i++) {
        const char *one = x + (size_t)(by_order ? order[i] : i) * itemsize;
        int same = k >= 0 && memcmp(out + (size_t)k * itemsize, one, itemsize) == 0;
        if (is_float) {
            double value = float_at(type_num, one);
            if (value != value || (!same && k >= 0 && float_at(type_num, out + (size_t)k * itemsize) == value)) {
                return -1;
            }
        }
        if (!same) {
            k++;
            memmove(out + (size_t)k * itemsize, one, itemsize);
        }
        if (by_order) {
            first[k] = same ? first[k] : order[i];
            counts[k] = same ? counts[k] + 1 : 1;
            inverse[order[i]] = k;
        }
    }
    return k + 1;
}

/* ---- sets ---- */

#define AMONG(name, type)                                                                                              \
    static int32_t among_##name(npy_intp inverts, char *out, const char *x, npy_intp n, npy_intp stride,               \
                                const char *others, npy_intp m, npy_intp other_stride)                                 \
    {                                                                                                                  \
        for (npy_intp i = 0; i < n; i++) {                                                                             \
            type one = *(const type *)(x + i * stride);                                                                \
            int found = 0;                                                                                             \
            for (npy_intp j = 0; j < m; j++) {                                                                         \
                found |= one == *(const type *)(others + j * other_stride);                                            \
            }                                                                                                          \
            out[i] = (char)(found != (inverts != 0));                                                                  \
        }                                                                                                              \
        return 0;                                                                                                      \
    }                                                                                                                  \
                                                                                                                       \
    static int64_t set_##name(npy_intp which, const char *x, npy_intp n, const char *y, npy_intp m, char *out)         \
    {                                                                                                                  \
        const type *one = (const type *)x, *other = (const type *)y;                                                   \
        type *to = (type *)out;                                                                                        \
        npy_intp i = 0, j = 0;                                                                                         \
        while (i < n || j < m) {                                                                                       \
            int first = j == m || (i < n && one[i] < other[j]), second = i == n || (j < m && other[j] < one[i]);       \
            *to = first || !second ? one[i] : other[j];                                                                \
            to += ((first ? DL_SET_FIRST : second ? DL_SET_SECOND : DL_SET_BOTH) & which) != 0;                        \
            i += first || !second;                                                                                     \
            j += second || !first;                                                                                     \
        }                                                                                                              \
        return to - (type *)out;                                                                                       \
    }

AMONG(bool, uint8_t)
AMONG(byte, int8_t)
AMONG(short, int16_t)
AMONG(ushort, uint16_t)
AMONG(int, int32_t)
AMONG(uint, uint32_t)
AMONG(long, int64_t)
AMONG(ulong, uint64_t)
AMONG(float, float)
AMONG(double, double)

typedef struct {
    int32_t (*among)(npy_intp inverts, char *out, const char *x, npy_intp n, npy_intp stride, const char *others, npy_intp m,
                     npy_intp other_stride);
    int64_t (*set)(npy_intp which, const char *x, npy_intp n, const char *y, npy_intp m, char *out);
} Sets;

static const Sets *
sets_of(npy_intp type_num)
{
    static const Sets bools = {among_bool, set_bool}, bytes = {among_byte, set_byte}, shorts = {among_short, set_short},
                      ushorts = {among_ushort, set_ushort}, ints = {among_int, set_int}, uints = {among_uint, set_uint},
                      longs = {among_long, set_long}, ulongs = {among_ulong, set_ulong},
                      floats = {among_float, set_float}, doubles = {among_double, set_double};
    switch (type_num) {
    case NPY_BOOL:
    case NPY_UBYTE: return &bools;
    case NPY_BYTE: return &bytes;
    case NPY_SHORT: return &shorts;
    case NPY_USHORT: return &ushorts;
    case NPY_INT: return &ints;
    case NPY_UINT: return &uints;
    case NPY_FLOAT: return &floats;
    case NPY_DOUBLE: return &doubles;
    case NPY_ULONG:
    case NPY_ULONGLONG: return &ulongs;
    default: return &longs;
    }
}

int32_t
dl_selections_among(npy_intp type_num, npy_intp inverts, char *out, const char *x, npy_intp n, npy_intp stride,
                    const char *others, npy_intp m, npy_intp other_stride)
{
    return sets_of(type_num)->among(inverts, out, x, n, stride, others, m, other_stride);
}

int64_t
dl_selections_set(npy_intp type_num, npy_intp which, const char *x, npy_intp n, const char *y, npy_intp m, char *out)
{
    return sets_of(type_num)->set(which, x, n, y, m, out);
}

/* ---- one after another ---- */

static inline int64_t
int_at(const char *x)
{
    int64_t number;
    memcpy(&number, x, sizeof number);
    return number;
}

int32_t
dl_selections_product(double *out, const char *x, npy_intp n, npy_intp stride)
{
    double product = 1.0;
    for (npy_intp i = 0; i < n; i++) {
        product *= *(const double *)(x + i * stride);
    }
    *out = product;
    return isnan(product);
}

int32_t
dl_selections_extremes(npy_intp type_num, npy_intp least, char *out, const char *x, npy_intp n, npy_intp stride)
{
    if (type_num != NPY_DOUBLE) {
        for (npy_intp i = 0; i < n; i++) {
            int64_t one = int_at(x + i * stride), before = i ? ((int64_t *)out)[i - 1] : one;
            ((int64_t *)out)[i] = (least ? one < before : one > before) ? one : before;
        }
        return 0;
    }
    for (npy_intp i = 0; i < n; i++) {
        double one = float_at(type_num, x + i * stride), before = i ? ((double *)out)[i - 1] : one;
        if (isnan(one) || (one == 0.0 && before == 0.0 && signbit(one) != signbit(before))) {
            return 1;
        }
        ((double *)out)[i] = (least ? one < before : one > before) ? one : before;
    }
    return 0;
}

/* ---- turning ---- */

int32_t
dl_selections_roll(char *out, const char *x, npy_intp rows, npy_intp n, npy_intp row_stride, npy_intp stride,
                   npy_intp itemsize, npy_intp by_rows, npy_intp by)
{
    if (rows == 0 || n == 0) {
        return 0;
    }
    by_rows = (by_rows % rows + rows) % rows;
    by = (by % n + n) % n;
    for (npy_intp i = 0; i < rows; i++, x += row_stride) {
        npy_intp row = i + by_rows < rows ? i + by_rows : i + by_rows - rows;
        char *to = out + row * n * itemsize;
        if (stride == itemsize) {
            memcpy(to + by * itemsize, x, (size_t)((n - by) * itemsize));
            memcpy(to, x + (n - by) * itemsize, (size_t)(by * itemsize));
            continue;
        }
        for (npy_intp j = 0; j < n; j++) {
            npy_intp place = j + by < n ? j + by : j + by - n;
            memcpy(to + place * itemsize, x + j * stride, (size_t)itemsize);
        }
    }
    return 0;
}

/* ---- numbers of each ---- */

int64_t
dl_selections_bins(const char *x, npy_intp n, npy_intp stride, npy_intp least)
{
    int64_t bins = least;
    for (npy_intp i = 0; i < n; i++) {
        int64_t number = int_at(x + i * stride);
        if (number < 0) {
            return -1;
        }
        bins = number >= bins ? (number == INT64_MAX ? number : number + 1) : bins;
    }
    return bins;
}

int32_t
dl_selections_count(const char *x, npy_intp n, npy_intp stride, int64_t *out, npy_intp bins)
{
    memset(out, 0, (size_t)bins * sizeof *out);
    for (npy_intp i = 0; i < n; i++) {
        out[int_at(x + i * stride)]++;
    }
    return 0;
}

int32_t
dl_selections_weigh(const char *x, npy_intp n, npy_intp stride, const char *weights, npy_intp weights_n,
                    npy_intp weight_stride, double *out, npy_intp bins)
{
    (void)weights_n;
    memset(out, 0, (size_t)bins * sizeof *out);
    for (npy_intp i = 0; i < n; i++) {
        double weight;
        memcpy(&weight, weights + i * weight_stride, sizeof weight);
        out[int_at(x + i * stride)] += weight;
    }
    return 0;
}

/* ---- even steps ---- */

int32_t
dl_selections_fill(npy_intp type_num, char *out, npy_intp n)
{
    PyArray_FillFunc *fill = functions_of(type_num)->fill;
    return n > 2 && (fill == NULL || fill(out, n, NULL) < 0);
}
