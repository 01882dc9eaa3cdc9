/* What a row of a mask selects, element by element: for Masked steps (masked.c) and for machine code (selections.c). */
#ifndef DL_MASK_MOVES_H
#define DL_MASK_MOVES_H

#include "program/program.h"

/* One row of n elements, of `size` bytes each: the packed place behind the `k` elements so far moves on; returns the new k. */
typedef npy_intp (*DlMoveRow)(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count, char *items,
                            npy_intp stride, const char *mask, npy_intp mask_stride, npy_intp n, npy_intp size);

/* Move `count` elements, or rows, of so many bytes, to or from where they are packed. */
typedef void (*DlMovePlaced)(char *packed, npy_intp packed_stride, char *items, npy_intp stride, const int32_t *places,
                           npy_intp count, npy_intp size);

/* What moves items of a size, or rows, through a mask, and by places. */
typedef struct {
    DlMoveRow row;
    DlMovePlaced placed;
} DlMaskMove;

/* NULL where there is nothing for items of that size. */
const DlMaskMove *dl_mask_moves_find(DlMaskedKind kind, npy_intp itemsize, int of_rows);

/* One row of a mask, counted. */
npy_intp dl_mask_moves_count(char *packed, npy_intp packed_stride, npy_intp k, npy_intp count, char *items, npy_intp stride,
                             const char *mask, npy_intp mask_stride, npy_intp n, npy_intp size);

enum { DL_MASK_BLOCK = 64 };

/* Write where the true elements of a packed mask of n are, room of them and DL_MASK_BLOCK behind; how many, or -1 where
 * there are more. */
npy_intp dl_mask_moves_note(const char *mask, npy_intp n, int32_t *places, npy_intp room);

enum { DL_MASK_SHARE = 4, DL_MASK_LEAST = 256 }; /* places are noted of so few of the elements, of masks of so many */

#endif
