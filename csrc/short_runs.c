/* Loops that begin anew again and again for few and short rounds, as the inner one of

       for site in order:
           for near in neighbours[site]:
               ...

   Of such a loop each run would be looked at from its begin on, in each of its rounds, since what lies between two runs is
   not its own time: the clock takes as long as a short round. Where one run like the others has been seen, some pass
   without a look, twice as many each time, and are taken to be like it. Protected by the GIL. */
#include "short_runs.h"

enum { SEEN = 2, MOST_PASSING = 16, LONGEST = 1 << 16 };

int
dl_short_runs_begin(DlShortRuns *runs, uint64_t time, uint64_t last)
{
    int like = runs->rounds;
    uint64_t before = runs->began;
    runs->began = time;
    runs->rounds = 1;
    if (++runs->seen < SEEN || like > LONGEST / MOST_PASSING) {
        return 1;
    }
    double room = dl_thresholds.look / (double)(time - before + 1); /* what lies between two runs takes time, too */
    int most = runs->most < 1 ? 1 : runs->most;
    runs->seen = 0;
    runs->passing = room < most ? (int)room : most;
    runs->most = room < most ? (int)room : most < MOST_PASSING ? 2 * most : most;
    if (runs->passing == 0) {
        return 1;
    }
    runs->time = last - before;
    runs->rounds = like;
    return runs->passing * like;
}

void
dl_short_runs_go_on(DlShortRuns *runs, int rounds)
{
    runs->rounds += runs->rounds < LONGEST ? rounds : 0;
}

void
dl_short_runs_end(DlShortRuns *runs, DlRound *round, int asked, uint64_t passed, int copies)
{
    uint64_t n = (uint64_t)(asked / runs->rounds), time = n * runs->time;
    time = time < passed ? time : passed;
    round->n_begun += n;
    round->n_plain += n * (uint64_t)(runs->rounds - 1) * (uint64_t)copies; /* of the first one little is known */
    round->plain += time;
    round->spent += time;
    runs->passing = 0;
}
