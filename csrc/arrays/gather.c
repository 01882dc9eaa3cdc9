/* x[indices] of vectors, without a call of NumPy: for machine code. */
#include "gather.h"

#include <math.h>
#include <string.h>

/* One element of an array of indices; 1 where it is beyond 64 bits. */
static inline int
read_index(const char *at, npy_intp bytes, int is_signed, int64_t *index)
{
    uint64_t bits = 0;
    memcpy(&bits, at, (size_t)bytes); /* NB: little-endian, as LLVM's machine here is */
    int unused = 64 - 8 * (int)bytes;
    *index = is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
    return !is_signed && *index < 0;
}

/* The loop for indices and elements of sizes that the compiler knows. */
static inline int32_t
gather_known(char *out, size_t itemsize, const char *x, npy_intp n, npy_intp stride, const char *indices, npy_intp m,
             npy_intp index_stride, npy_intp bytes, int is_signed)
{
    for (npy_intp i = 0; i < m; i++) {
        int64_t index;
        if (read_index(indices + i * index_stride, bytes, is_signed, &index)) {
            return 1;
        }
        index += (index >> 63) & n;
        if ((uint64_t)index >= (uint64_t)n) {
            return 1;
        }
        memcpy(out + (npy_intp)itemsize * i, x + index * stride, itemsize);
    }
    return 0;
}

int32_t
dl_gather_vectors(char *out, npy_intp itemsize, const char *x, npy_intp n, npy_intp stride, const char *indices, npy_intp m,
                  npy_intp index_stride, npy_intp kind)
{
    if (kind == -8 && itemsize == 8) {
        return stride == 8 && index_stride == 8 ? gather_known(out, 8, x, n, 8, indices, m, 8, 8, 1)
                                                : gather_known(out, 8, x, n, stride, indices, m, index_stride, 8, 1);
    }
    if (kind == -8 && itemsize == 4) {
        return gather_known(out, 4, x, n, stride, indices, m, index_stride, 8, 1);
    }
    if (kind == -4 && itemsize == 8) {
        return gather_known(out, 8, x, n, stride, indices, m, index_stride, 4, 1);
    }
    npy_intp bytes = kind < 0 ? -kind : kind;
    return gather_known(out, (size_t)itemsize, x, n, stride, indices, m, index_stride, bytes, kind < 0);
}

int32_t
dl_gather_offsets(npy_intp adds, int64_t *out, const char *indices, npy_intp m, npy_intp index_stride, npy_intp kind,
                  npy_intp n, npy_intp stride)
{
    npy_intp bytes = kind < 0 ? -kind : kind;
    for (npy_intp i = 0; i < m; i++) {
        int64_t index;
        if (read_index(indices + i * index_stride, bytes, kind < 0, &index)) {
            return 1;
        }
        index += (index >> 63) & n;
        if ((uint64_t)index >= (uint64_t)n) {
            return 1;
        }
        out[i] = (adds ? out[i] : 0) + index * stride;
    }
    return 0;
}

static inline void
move_each(int puts, char *even, npy_intp even_stride, npy_intp even_inner, char *x, const int64_t *offsets, npy_intp count,
          npy_intp inner, npy_intp inner_stride, size_t size)
{
    for (npy_intp i = 0; i < count; i++) {
        for (npy_intp j = 0; j < inner; j++) {
            char *one = even + i * even_stride + j * even_inner, *other = x + offsets[i] + j * inner_stride;
            memcpy(puts ? other : one, puts ? one : other, size);
        }
    }
}

int32_t
dl_gather_move(npy_intp puts, char *even, npy_intp even_stride, npy_intp even_inner, char *x, const int64_t *offsets,
               npy_intp count, npy_intp inner, npy_intp inner_stride, npy_intp itemsize)
{
    if (inner_stride == itemsize && even_inner == itemsize && inner > 1) {
        itemsize *= inner; /* rows as a whole */
        inner = 1;
    }
    if (inner == 1 && itemsize == 8 && puts) {
        move_each(1, even, even_stride, 0, x, offsets, count, 1, 0, 8);
    }
    else if (inner == 1 && itemsize == 8) {
        move_each(0, even, even_stride, 0, x, offsets, count, 1, 0, 8);
    }
    else {
        move_each(puts != 0, even, even_stride, even_inner, x, offsets, count, inner, inner_stride, (size_t)itemsize);
    }
    return 0;
}

#define ADDS(name, type, differ)                                                                                       \
    static int32_t add_##name(npy_intp subtracts, char *x, const int64_t *offsets, npy_intp count, const char *values, \
                              npy_intp value_stride)                                                                   \
    {                                                                                                                  \
        for (npy_intp i = 0; i < count; i++) {                                                                         \
            type *one = (type *)(void *)(x + offsets[i]), other = *(const type *)(values + i * value_stride);          \
            if (differ) {                                                                                              \
                return 1;                                                                                              \
            }                                                                                                          \
            *one = subtracts ? *one - other : *one + other;                                                            \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

ADDS(double, double, isunordered(*one, *one) && isunordered(other, other))
ADDS(float, float, isunordered(*one, *one) && isunordered(other, other))
ADDS(int, uint64_t, 0)

int32_t
dl_gather_add(npy_intp type_num, npy_intp subtracts, char *x, const int64_t *offsets, npy_intp count, const char *values,
              npy_intp value_stride)
{
    return (type_num == NPY_DOUBLE  ? add_double
            : type_num == NPY_FLOAT ? add_float
                                    : add_int)(subtracts, x, offsets, count, values, value_stride);
}
