/* What is known about a code object: its CacheEntries, its counters, whether to leave it alone.

   A DlCache hangs on the code object (co_extra) and dies with it. It is reference counted, so that a dispatch that
   runs while another thread clears it, or while the code object dies, keeps what it uses. Protected by the GIL. */
#ifndef DL_CACHE_H
#define DL_CACHE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "eval_hook.h"
#include "numbers/scalar.h"
#include "watch/trials.h"
#include "watch/watch.h"

/* One row a counter: the name Python sees. */
#define DL_COUNTERS(ROW) \
    ROW(hits)         /* an entry's guards passed */ \
    ROW(misses)       /* no entry's guards passed */ \
    ROW(native_calls) /* a program ran to its end */ \
    ROW(plain_calls)  /* plain Python ran instead */ \
    ROW(declines)     /* a program declined */ \
    ROW(breaks)       /* residual code handed over to a resume function */ \
    ROW(retired)      /* an entry that mostly declined was taken out of use */ \
    ROW(leaves)       /* a program ended in the middle of a loop */ \
    ROW(plain_rounds) /* an iteration of a loop ran plainly, in which a program declines */

typedef struct {
#define ROW(name) uint64_t name;
    DL_COUNTERS(ROW)
#undef ROW
} DlCounters;

enum { DL_RETIRED_BY_DECLINES = 2 };

/* guards -> program -> residual: one way to run a code object natively. */
typedef struct {
    PyObject_HEAD
    PyObject *guards;   /* _C.Guards; any callable(func, slots) -> inputs or None; NULL: always passes, inputs = slots */
    PyObject *program;  /* _C.Program; any callable(*inputs) -> outputs; NULL: no outputs */
    PyObject *residual; /* code object or any callable(*slots, *outputs); NULL: the first output is the value */
    PyObject *exits;    /* tuple of what takes residual's place where a program ends at that exit; or NULL */
    char guards_native, program_native;
    char stores;           /* residual and exits store to objects from outside, and call let_in() when that is done */
    char defers;           /* interrupts wait while its exits only jump, and come where the user's code goes on; DL_DEFERS_ALL: residual, too */
    char judged;           /* calls of code that this is an entry of are timed: what loses runs plainly */
    char calls_python;     /* false: residual calls no Python function, so the frame hook need not be live for it */
    PyObject *owner;       /* the on_miss that made it, compared only: other owners do not see it; NULL: everybody's */
    char quick;            /* guards that run no Python code, a program without other ends, no residual that has to be called */
    char returns_tuple;
    Py_ssize_t n_items;    /* of the tuple that residual gives */
    Py_ssize_t n_returns;  /* rows for what residual gives, where it does nothing else; 0: it has to be called */
    struct DlReturned {
        Py_ssize_t index;  /* among the slots and then the outputs; -1: the constant */
        PyObject *constant;
        Py_ssize_t flag;   /* likewise; where that is not True the next row counts in place of this one; -1: it counts */
    } *returns;
    char retired;          /* when the guards pass, run plainly; DL_RETIRED_BY_DECLINES: more time went into declines than runs */
    char at_loop;          /* it begins with an iteration of a loop */
    PyObject *look_again;  /* called where errors were to be reported the 2nd, 4th, 8th ... time; or NULL */
    uint64_t reports;      /* how often that was */
    char polled;           /* func's code comes back by itself: restart gives only what interrupts wait in for its loop */
    PyObject *restart;     /* gives code of func's that comes back at a back edge (dl_resumed_with_polls); or NULL */
    Py_ssize_t n_inputs, n_outputs; /* of a native guards, program */
    Py_ssize_t n_most_outputs;      /* of all ends of a native program */
    Py_ssize_t least, most;         /* elements of the largest input array; calls outside of that run plainly */
    uint64_t unsized;               /* a bit for each input that does not count for that */
    DlScalars numbers;              /* of a native guards: bool value `pays` of the inputs, where it does not hold, too; */
    int32_t pays;                   /* -1: always */
    uint64_t hits, declines;        /* programs run, programs declined */
    double ran, lost;               /* what runs took, and what declined; of late: each decline makes both fade */
    PyObject *retired_reason;       /* str, or NULL */
    DlHookWatch watch;              /* whether the callees of residual get captured */
} DlEntry;

/* Calls on end that ran plainly for arguments of the same types and sizes. The guards are then asked every DL_REST such
   calls only; what is not asked counts as a plain call, neither as a hit nor as a miss. */
typedef struct {
    uint64_t types;   /* of their arguments, and about their sizes, hashed */
    PyObject *owner;  /* the on_miss, compared only */
    uint8_t streak, rested;
} DlPlainWatch;

/* Plain time that code has to take before its on_miss is asked once more: the time for compiling was over. */
typedef struct {
    PyObject *owner;      /* the on_miss, compared only; NULL: it waits for nothing */
    double needed, taken; /* ns */
} DlPutOff;

typedef struct {
    PyObject_HEAD
    DlEntry **entries; /* most recently hit first; strong references */
    Py_ssize_t n_entries, capacity;
    DlCounters counters;
    Py_ssize_t n_slots; /* argument slots: positional, keyword-only, *args, **kwargs */
    Py_ssize_t n_exact; /* as many positional arguments are the slots just as they stand; -1: binding is needed */
    int skip;           /* 0, or 1 + the reason (DlReason or the pipeline's own) never to ask for an entry again */
    PyObject *skip_owner; /* the on_miss that is not asked, compared only; NULL: nobody is */
    DlHookWatch watch;  /* whether the callees of plain runs get captured */
    DlPlainWatch plain;
    DlTrials *trials;   /* of calls that more than one program serves; NULL: none was met */
    char waits;         /* it is asked about once it has taken time plainly: dl_cache_is_cold() */
    double heat;        /* ns that it took meanwhile */
    DlPutOff put_off;
    char uncapturable;  /* generators and code that is no function: CompiledFunction calls the function at once */
    char residual;      /* dynamo_lite made this code: the hook lets it pass */
    char resumes;       /* a Jump leads to this code: its plain run is the rest of a frame that was counted */
    char is_rewritten;  /* stress mode "rewrite": this code is a re-encoded one */
    char has_polls;     /* those in it were made for this code, and may act (watch.c) */
    PyObject *user;     /* the user's code, which this does the same as, with polls or with others; NULL: this is such */
    DlRound *round;     /* of the loop in which this code goes on behind a break; or NULL */
    int iterator;       /* which argument of this code is that loop's iterator, or the range that is left; -1: it has none */
    DlVisits visits;
    uint64_t cool_until; /* nobody is asked for an entry before */
    uint64_t native_then; /* and how often entries had run when that was said, */
    uint64_t plain_then;  /* and calls plainly */
    PyObject *rewritten; /* stress mode "rewrite": the re-encoded code, None when there is none, NULL not yet asked */
    int64_t round_length;  /* iterations of the first plain round of a call, as the last calls have found; 0: one */
} DlCache;

extern PyTypeObject dl_entry_type;

/* Ask what is to be done about errors that entry's program is to report again and again: 0, or -1 with an error set. */
int dl_entry_look_again(DlEntry *entry);
extern DlCounters dl_counters; /* of the whole process */

#define DL_COUNT(cache, name) ((cache)->counters.name++, dl_counters.name++)

/* The cache of code, borrowed; NULL when it has none. */
DlCache *dl_cache_find(PyCodeObject *code);

/* The cache of code, borrowed, made when it has none; NULL with an error set. */
DlCache *dl_cache_get(PyCodeObject *code);

/* Whether the polls in code were made for it (watch.c). NB: who changes its constants (code.replace()) has a copy with the
   same polls, which know nothing of the change. */
static inline int
dl_cache_has_polls(PyCodeObject *code)
{
    DlCache *cache = dl_cache_find(code);
    return cache != NULL && cache->has_polls;
}

/* The user's code of which code was made, or itself: the same one for all that does the same, but for polls. */
static inline PyObject *
dl_cache_user_code(PyObject *code)
{
    DlCache *cache = dl_cache_find((PyCodeObject *)code);
    return cache != NULL && cache->user != NULL ? cache->user : code;
}

/* Whether there is nothing to run natively, as far as somebody was asked: there are entries, and all are retired. */
static inline int
dl_cache_is_barren(const DlCache *cache)
{
    Py_ssize_t i = 0;
    while (i < cache->n_entries && cache->entries[i]->retired) {
        i++;
    }
    return i > 0 && i == cache->n_entries;
}

/* Put entry first: 0, or -1 with an error set; adding an entry twice only moves it. */
int dl_cache_add(DlCache *cache, DlEntry *entry);

/* Whether on_miss is never to be asked for an entry of this code. */
static inline int
dl_cache_skips(const DlCache *cache, const PyObject *on_miss)
{
    return cache->skip != 0 && (cache->skip_owner == NULL || cache->skip_owner == on_miss);
}

/* The trials of calls that on_miss is asked for, made when there are none; NULL where they are another's, or without
   memory. */
DlTrials *dl_cache_trials(DlCache *cache, PyObject *on_miss);

/* Whether this code runs plainly and is timed, until it has taken long enough to be asked about. */
static inline int
dl_cache_is_cold(const DlCache *cache)
{
    return cache->waits && cache->n_entries == 0 && cache->heat < dl_thresholds.hot_callee && dl_stress == DL_STRESS_NONE;
}

/* Whether on_miss is not to be asked for an entry of this code yet; its plain runs are timed (dl_cache_start_heating()). */
static inline int
dl_cache_is_put_off(const DlCache *cache, const PyObject *on_miss)
{
    return cache->put_off.owner == on_miss && on_miss != NULL && cache->put_off.taken < cache->put_off.needed;
}

/* A plain run of code that is cold or put off. */
typedef struct {
    uint64_t began, asked, answering, cold, frames;
    int is_rest;
} DlHeating;

/* is_rest: of code behind a break, to which calls do not count that the hook sees: those are hot by themselves. */
void dl_cache_start_heating(DlHeating *heating, int is_rest);

/* Note what it took. */
void dl_cache_end_heating(DlCache *cache, const DlHeating *heating);

/* Make the i-th entry the first one. */
void dl_cache_promote(DlCache *cache, Py_ssize_t i);

/* Note that entry's program declined, which took so much time (in any unit); one that declined 16 times, and of late lost
   more time than its runs took, is retired, for `reason`. */
void dl_cache_note_decline(DlCache *cache, DlEntry *entry, double time, PyObject *reason);

/* Add CacheEntry and the cache functions to module: 0, or -1 with an error set. */
int dl_cache_register(PyObject *module);

#endif
