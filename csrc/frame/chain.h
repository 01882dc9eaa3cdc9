/* What a chain of segments knows of the loop that it is in (see chain.c). */
#ifndef DL_CHAIN_H
#define DL_CHAIN_H

#include "cache.h"
#include "program/launch.h"
#include "resumed.h"

typedef struct {
    int64_t most;      /* iterations that the next program may run of it, and how many of these it is known not to (DlEnd) */
    int64_t within;
    int barren;        /* programs on end that declined in the first iteration they were to run */
    int for_good;      /* behind the iteration in which the last one that declined does, the loop stays plain */
    PyObject *restart; /* owned: the next segment runs plainly up to the end of an iteration, with what this gives; or NULL */
    int64_t length;    /* iterations of the next plain round */
    int rounds;        /* plain rounds so far */
    double each;       /* ns that an iteration takes plainly; 0: not known */
    uint64_t began;    /* when the last plain round did; 0: what has run since then cannot be told */
    uint64_t answering; /* dl_thread.answering behind it */
    int64_t iterations; /* since then */
} DlChain;

/* Begin a chain of a function with that cache, and end it. */
DlChain dl_chain_begin(const DlCache *cache);
void dl_chain_end(DlChain *chain, DlCache *cache);

/* Whether programs that decline are run once more, with fewer iterations. */
int dl_chain_retreats(const DlChain *chain);

/* Whether a program of entry's that declines is run again, up to the iteration in which it does, which runs plainly. */
int dl_chain_goes_on(const DlChain *chain, const DlEntry *entry);

/* Note how a run of entry's program ended in which a loop could be left: what the chain does next. */
void dl_chain_note_end(DlChain *chain, DlCache *cache, DlEntry *entry, const DlEnd *end);

/* A plain round begins, and is over. */
DlRounds dl_chain_begin_round(DlChain *chain);
void dl_chain_end_round(DlChain *chain, const DlRounds *rounds);

#endif
