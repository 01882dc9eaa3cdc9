/* What reduce.c, which decides how a Reduce step runs, and reduce_fold.c, which runs it, share. */
#ifndef DL_REDUCE_H
#define DL_REDUCE_H

#include "fold.h"
#include "program/program.h"
#include "maps.h"

/* The reduced array as memory order shows it: groups of merged axes, outermost first. */
typedef struct {
    int nd;
    npy_intp size;
    npy_intp shape[DL_MAX_DIMS];
    uint8_t reduced[DL_MAX_DIMS];
    npy_intp stride; /* between elements in memory order; the item size but for one-dimensional arrays */
} DlRuns;

/* Along what work is cut: indices of the outermost group, which is kept; the columns of one row of results; an axis of a
 * kernel that folds; a pairwise sum's own halves. */
typedef enum { DL_CUT_NOT, DL_CUT_OUTER, DL_CUT_COLUMNS, DL_CUT_AXIS, DL_CUT_TREE } DlCut;

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
    npy_intp scratch_bytes;
    npy_intp tile;       /* elements that can be had at once */
    int across;          /* see dl_reduce_plan_feed */
    int folds;           /* the kernel folds itself (backends/numba/emit_fold.py); the nest has the result as its last operand */
    int32_t failed;      /* the kernel's status */
    int unsure;
    int looks;           /* at the NaNs that are added up, or zeros that are compared */
    DlAlike alike, nans; /* what would make the result unsure; and the NaNs that are compared */
    DlCut cut;           /* how it is cut into parts */
    int axis;            /* of the nest, where it is cut along one */
    npy_intp few;        /* indices of a part; of a tree, how often it is halved */
    npy_intp from, to;   /* the part: indices of the outermost group, of columns or runs */
    double (*cells)[DL_CELL / sizeof(double)]; /* of a tree: the result of each part */
} DlWork;

/* Choose how the kernel computes the elements, from work's fold, runs and nest: the axis that its inner loop runs along
 * (returned), and how many bytes of scratch it takes. Where the reduced runs are very short, the loop runs *across* them:
 * one element of many runs at a time. */
int dl_reduce_plan_feed(DlWork *work, npy_intp *scratch_bytes);

/* Cut planned work into parts that may be done at once, in NumPy's order each; how many, 1 where it cannot be cut. */
int dl_reduce_cut(DlWork *work);

/* Do all the work: begin, all parts, end. Each thread has a DlWork of its own for dl_reduce_part, with scratch, block and
 * nest of its own; what they have met is gathered in the one that is ended. */
void dl_reduce_begin(DlWork *work);
void dl_reduce_all(DlWork *work);
void dl_reduce_part(DlWork *work, int part);
void dl_reduce_end(DlWork *work, int n_parts);

#endif
