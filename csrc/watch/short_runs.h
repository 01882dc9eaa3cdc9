/* Loops that begin anew again and again for few and short rounds (see short_runs.c). */
#ifndef DL_SHORT_RUNS_H
#define DL_SHORT_RUNS_H

#include "frame/pyframe.h"
#include "watch.h"

/* The runs of a loop at one poll of its: of the one under way, and of those that pass without a look at the clock. */
typedef struct {
    uint64_t began; /* when the run under way was seen to begin */
    int rounds;     /* that it has had since */
    int seen;       /* runs in succession that were seen to begin */
    int most;       /* that may pass without a look the next time */
    int passing;    /* that do now; 0: none */
    uint64_t time;  /* ns that the rounds of each of those are taken to take */
    Py_ssize_t left; /* items that the loop's iterator had left at the last look, as far as that was asked */
} DlShortRuns;

/* Of a loop whose frame does not tell its runs apart: whether it is a comprehension's, which has no poll at its entry, and
   whose memory the next one's has, and the iterator at stack slot depth - 1 tells them apart by the items that it has left.
   *begins: set where these are more than `rounds` rounds since the last look have left. */
int dl_short_runs_are_told(DlShortRuns *runs, DlFrame *frame, int depth, uint64_t rounds, int *begins);
/* A run was seen to begin at `time`, and the one before had its last round that was looked at at `last`: how many rounds are
   to pass until the next look; 1: as ever. */
int dl_short_runs_begin(DlShortRuns *runs, uint64_t time, uint64_t last);
/* Note that so many rounds of the run under way have passed. */
void dl_short_runs_go_on(DlShortRuns *runs, int rounds);
/* Count in `round` the runs that have passed without a look: so many times the poll was asked, and ns, copies of the loop
   to one question. From now on it is looked at again. */
void dl_short_runs_end(DlShortRuns *runs, DlRound *round, int asked, uint64_t passed, int copies);

#endif
