/* Maps that wait, to run some rows at a time one after the other: see bands.c. */
#ifndef DL_BANDS_H
#define DL_BANDS_H

#include "kernels/maps.h"
#include "program.h"

enum { DL_BANDS_WAITING = 48, DL_BANDS_MADE = 96 };

/* What an operand or result of a waiting map touches: row k, for k from 0 on, the bytes from `data + k * step + low` up to
 * `data + k * step + high`. A row is all that has one index along the axis with the longest stride. */
typedef struct {
    char *data;
    npy_intp step, low, high;
    npy_intp grid;     /* the greatest number of bytes that all strides are multiples of; 0 for a single element */
    npy_intp itemsize;
    int writes;
    int made;       /* the number of the array made here that it lies in, or -1 */
    npy_intp first; /* and row of that at which it begins */
} DlAccess;

/* A map that waits, or (step is NULL) the filling of an array. */
typedef struct {
    DlMapStep *step;
    int n, first_result, nd, axis; /* operands and results; axes; the one of the rows */
    npy_intp shape[DL_MAX_DIMS], rows, size;
    DlSpread *spreads;
    DlAccess *accesses;      /* of the n, those of arrays: data is NULL for the others */
    char (*cells)[DL_CELL];  /* of the numbers among the operands, or what is filled in */
    PyObject **held;         /* owned: of the n, whose memory it is, if no step has made it meanwhile; or NULL */
    /* The plan: rows begin up to end run in bands, `lag` rows behind the group's; the others when all bands are done. */
    npy_intp begin, end, lag;
    DlNest *nest;            /* ordered, for as many rows as a band has; or NULL */
    DlVariant *variant;
} DlWaiting;

/* An array that a step has made while maps waited. */
typedef struct {
    PyObject *array; /* owned; NULL when it was let go */
    char *data;
    npy_intp bytes, row, rows; /* row: bytes of one, 0 where it has none */
    int from, to;              /* the first map that touches it and the one behind the last */
    int is_there;              /* it holds something by now: zeros, or what maps that have run have written */
    /* Where some of the rows lie while bands run (buffer NULL: in the array itself): the first `head`, then those from `base`
     * on, `room` in all. */
    char *buffer;
    npy_intp head, base, room;
    npy_intp least, most;      /* relative to a band's first row: which rows it touches first and last */
    npy_intp tail;             /* rows from here on are kept to the end */
} DlMade;

typedef struct DlBands {
    int n, n_made;
    npy_intp rows; /* of a band */
    DlWaiting waiting[DL_BANDS_WAITING];
    DlMade made[DL_BANDS_MADE];
} DlBands;

/* ---- bands.c ---- */

/* Whether a map may wait for others. */
int dl_bands_take(const DlRun *run, const DlMapStep *step);
/* Have it wait: 0; or run what waits, and then it. */
DlStatus dl_bands_map(DlRun *run, DlMapStep *step);
/* Note a fresh array, and have its filling wait (cell NULL: nothing is filled in): 0, or 2 where it is to be filled now.
 * is_there: it holds what it is to hold, as zeros from the system do. */
DlStatus dl_bands_made(DlRun *run, PyObject *array, const char *cell, int is_there);
/* Whether what waits at the end of an iteration may go on waiting; run->bands is not NULL. */
int dl_bands_may_linger(const DlRun *run);
/* Whether a map that waits writes into the array of `reg`; run->bands is not NULL. */
int dl_bands_write(const DlRun *run, const DlReg *reg);
/* Run all that waits; or forget it. */
DlStatus dl_bands_flush(DlRun *run);
void dl_bands_drop(DlRun *run);

/* Bytes of an array from which on maps wait; of the memory that a band touches; of an array from which on it may lie in a
 * buffer; and rows of a border, half of the rows that a group has at the least. Tests change them. */
typedef struct {
    npy_intp least, band, passing, border;
} DlBandLimits;

extern DlBandLimits dl_bands_limits;

/* ---- bands_plan.c ---- */

/* The bytes of rows from `first` up to `end`. */
DlBytes dl_bands_bytes(const DlAccess *access, npy_intp first, npy_intp end);
/* Note what a waiting map touches. */
void dl_bands_describe(const DlBands *bands, DlWaiting *waiting);
/* Whether the last map may run in bands with those before. */
int dl_bands_join(DlBands *bands);
/* How the first n maps run in bands together; 0: they had better run one after the other. */
int dl_bands_plan(DlBands *bands, int n);

#endif
