/* What is asked at a loop's back edge or a function's entry, for watch.c and entries.c (see watch.c). */
#ifndef DL_POLL_H
#define DL_POLL_H

#include "watch.h"

#include "frame/cache.h"
#include "frame/eval_hook.h"
#include "frame/pyframe.h"
#include "short_runs.h"

typedef struct DlPoll {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int countdown; /* rounds until poll() is asked, or the clock looked at */
    int stride;    /* how many that were */
    char is_entry; /* of a function; else of a loop */
    char hot;      /* of a function: its calls are dispatched */
    char barren;   /* so many on end, up to DL_BARREN, for nothing, since all of its entries are retired */
    int nudged;    /* of a loop: so often the one around it was asked to be entered first */
    char off;      /* there is nothing to be had here */
    uint64_t last; /* when the clock was looked at, or a call was timed */
    PyObject *place;       /* what on_hot needs to know of a loop */
    int rounds;            /* of a loop, from one question to the next */
    PyObject *without;     /* of a function: its code without polls; or NULL */
    PyObject *alone;       /* of a function with loops: gives its code with this poll and none in its loops; or NULL */
    PyObject *whole;       /* of one that runs without polls in its loops: its code with them; or NULL */
    uint64_t rests_until;  /* of a function: none of its loops has prospects before, by what was answered; or 0 */
    PyObject *make;        /* of a function that has no polls yet: gives its code with them; or NULL */
    char waits;            /* and it has no loops: its calls are to take some time before */
    uint64_t cells;        /* of a function: a bit for each argument slot that holds a cell */
    /* of a loop */
    DlFrame *frame;        /* whose rounds were counted last; compared only, as the next call may have its memory */
    uint64_t call;         /* which call that was */
    uint64_t passed;       /* rounds, or calls, up to the last question */
    uint64_t around;       /* how far the loop around it was then */
    uint64_t answering;    /* how long compiling had taken then */
    DlShortRuns runs;           /* that pass without a look, where they are short */
    int depth;             /* stack slots in use at the header */
    struct DlPoll *outer;  /* of the loop around; or NULL */
    struct DlPoll *entry;  /* of the function; or NULL */
    DlRound *round;
    /* of a function */
    uint64_t spent, calls; /* plain time, and the calls that took it */
    uint64_t heat;         /* plain time since it was asked about last */
    uint64_t cool_until;   /* nobody is asked about it before */
    DlBrief brief;
    DlTrial trials[DL_SIZE_CLASSES];
} DlPoll;

/* Who is asked for code. */
typedef struct {
    PyObject *on_miss; /* asked for entries; NULL: nothing is watched */
    PyObject *on_hot;  /* on_hot(poll, function, stack, own, names, values, sole) -> Continuation; None: never, a float: not
                          for so many seconds */
} DlWatching;
extern DlWatching dl_watching;

enum { DL_LONGEST_STRIDE = 1 << 20, DL_DEEP = 150 /* plain recursion uses no C stack, calls of poll() do */ };

/* Whether poll() may run something here. */
static inline int
dl_poll_may_act(PyCodeObject *code)
{
    return dl_watching.on_miss != NULL && !dl_force_plain && !dl_thread.paused && dl_thread.nested < DL_DEEP
           && !dl_pyframe_is_traced(PyThreadState_Get(), code) && dl_cache_has_polls(code);
}

/* How many rounds a loop has gone, or calls a function has had, as far as its poll was asked. */
static inline uint64_t
dl_poll_count(const DlPoll *poll)
{
    return poll->passed + (uint64_t)(poll->stride - poll->countdown);
}

/* Whether poll() is to be called at this entry. */
int dl_entry_is_due(DlPoll *poll);

/* Run compiled code in place of a frame that has just begun, or time a plain run. */
PyObject *dl_entry_run(DlPoll *poll, DlFrame *frame, PyCodeObject *code);

/* Give a function that is called for the first time its polls, and run it anew with them in place of the frame that has
   just begun. What has the same code but is another function goes on without. One without loops gets them once it has
   taken some time: most functions never do, and to write polls takes as long as a thousand short calls. */
PyObject *dl_entry_begin(DlPoll *poll, DlFrame *frame, PyCodeObject *code);

/* The poll of the function with that cache, whose question is under way; NULL: that is another's. */
DlPoll *dl_entry_asking(const DlCache *cache);

#endif
