/* x[indices] of vectors, without a call of NumPy: for machine code. */
#include "gather.h"

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
