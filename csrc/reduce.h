/* What reduce.c, which decides how a Reduce step runs, and reduce_fold.c, which runs it, share. */
#ifndef DL_REDUCE_H
#define DL_REDUCE_H

#include "fold.h"
#include "program.h"

/* The reduced array as memory order shows it: groups of merged axes, outermost first. */
typedef struct {
    int nd;
    npy_intp size;
    npy_intp shape[DL_MAX_DIMS];
    uint8_t reduced[DL_MAX_DIMS];
    npy_intp stride; /* between elements in memory order; the item size but for one-dimensional arrays */
} DlRuns;

/* One reduction under way. Its elements come from memory, or a kernel computes them into scratch, a tile at a time. */
typedef struct {
    const DlFold *fold;
    const DlRuns *runs;
    npy_intp itemsize;
    char *out;           /* results, packed in memory order of the kept axes */
    npy_intp out_size;
    const char *data;    /* memory, runs->stride apart; NULL: the kernel computes */
    DlNest *nest;        /* its operands over the reduced array's axes in memory order */
    DlVariant *variant;
    npy_intp *block;
    char *scratch;
    npy_intp tile;       /* elements that can be had at once */
    int across;          /* see dl_reduce_plan_feed */
    int folds;           /* the kernel folds itself (backends/numba/emit_fold.py); the nest has the result as its last operand */
    int32_t failed;      /* the kernel's status */
    int unsure;
} DlWork;

/* Choose how the kernel computes the elements, from work's fold, runs and nest: the axis that its inner loop runs along
 * (returned), and how many bytes of scratch it takes. Where the reduced runs are very short, the loop runs *across* them:
 * one element of many runs at a time. */
int dl_reduce_plan_feed(DlWork *work, npy_intp *scratch_bytes);

/* Do all the work. */
void dl_reduce_fold(DlWork *work);

#endif
