/* Which iterations of a loop a chain of segments runs natively, and which plainly: where a program declines.

   A plain round costs as much as many iterations of a small loop. Where declining comes so often that plain Python would have
   been faster from one round to the next, the next one has twice as many iterations, and half as many where it gains. */
#include "chain.h"

#include "program/program.h"
#include "watch/trials.h"

enum { MOST_BARREN = 3, MOST_CAREFUL = 1 << 20, LONGEST_ROUND = 1 << 30, TIMED_ROUND = 4 };

DlChain
dl_chain_begin(const DlCache *cache)
{
    return (DlChain){.most = DL_ALL, .length = cache->round_length ? cache->round_length : 1};
}

void
dl_chain_end(DlChain *chain, DlCache *cache)
{
    Py_CLEAR(chain->restart);
    if (chain->rounds > 0 && dl_world_decline_every == 0) { /* NB: tests are to see each iteration */
        cache->round_length = chain->rounds > 1 ? chain->length : chain->length / 2;
    }
}

int
dl_chain_retreats(const DlChain *chain)
{
    return chain->barren < MOST_BARREN;
}

int
dl_chain_goes_on(const DlChain *chain, const DlEntry *entry)
{
    return entry->restart != NULL && !entry->polled && dl_chain_retreats(chain) && dl_program_may_go_on(entry->program);
}

void
dl_chain_note_end(DlChain *chain, DlCache *cache, DlEntry *entry, const DlEnd *end)
{
    int64_t within = end->within ? end->within - end->most : 0;
    int is_plain = end->exit >= 0 && within == 1;
    if (end->most == DL_ALL) {
        chain->began = 0;
    }
    else {
        chain->iterations += end->most;
    }
    chain->barren = 0;
    chain->most = end->exit < 0 || end->most == DL_ALL || end->most > MOST_CAREFUL ? DL_ALL
                  : is_plain                                                         ? 1
                  : within > 0                                                       ? within / 2
                                                                                     : 4 * end->most;
    chain->within = is_plain || chain->most == DL_ALL ? 0 : within;
    if (end->retreats) { /* which costs the call nothing but time, so that the entry is not retired for it */
        DL_COUNT(cache, declines);
        entry->declines++;
        chain->for_good = !dl_program_may_go_on(entry->program);
    }
    if (is_plain) {
        DL_COUNT(cache, plain_rounds);
        Py_XSETREF(chain->restart, Py_NewRef(entry->restart && !entry->polled && !chain->for_good ? entry->restart : Py_None));
    }
}

DlRounds
dl_chain_begin_round(DlChain *chain)
{
    uint64_t now = dl_now();
    if (chain->rounds++ > 0 && chain->began != 0 && dl_world_decline_every == 0) {
        double taken = (double)(now - chain->began) - (double)(dl_thread.answering - chain->answering);
        if (chain->each == 0) {
            chain->length = chain->length < TIMED_ROUND ? TIMED_ROUND : chain->length;
        }
        else if (taken > (double)chain->iterations * chain->each) {
            chain->length = chain->length < LONGEST_ROUND ? 2 * chain->length : chain->length;
        }
        else {
            chain->length = chain->length > 1 ? chain->length / 2 : 1;
        }
    }
    chain->began = now;
    chain->iterations = 0;
    return (DlRounds){.wanted = chain->length};
}

void
dl_chain_end_round(DlChain *chain, const DlRounds *rounds)
{
    if (rounds->done > 1) {
        chain->each = (double)(rounds->last - rounds->first) / (double)(rounds->done - 1);
    }
    chain->iterations += rounds->done;
    chain->answering = dl_thread.answering; /* NB: what comes now may be a compile, of which the loop knows nothing */
}
