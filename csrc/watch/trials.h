/* Whether what is compiled pays, found out by timing real calls: one mechanism for functions that compile() was asked for,
   for their callees, and for whole programs. Protected by the GIL. */
#ifndef DL_TRIALS_H
#define DL_TRIALS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <math.h>
#include <stdint.h>
#include <time.h>

#include "frame/eval_hook.h"

/* What policy.Thresholds says, times in ns. */
typedef struct {
    double hot_function, hot_loop, hot_callee, polls_after, look, nudges;
    double short_function, short_call, brief_call, tried_short, tried_compiled, tried_plain, tried_unclear, sample_every;
    double rounds_judged, sampled_rounds, worth;
    double tried_time, clear, close, vouched, long_program, unsettled, unsettled_calls;
    double rest_of_few, first_rest, longest_rest, first_patience, longest_patience, stale;
} DlThresholds;

extern DlThresholds dl_thresholds;

/* Nanoseconds of a clock. */
static inline uint64_t
dl_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* How long to wait this time. */
static inline double
dl_longer(double last, double first, double longest)
{
    double next = last == 0 ? first : 2 * last;
    return next < longest ? next : longest;
}

/* What is known of the time that calls take, for arrays, lists and numbers of about one size; nanoseconds. */
typedef struct {
    uint32_t size;                /* of the arguments, twice as a power of about 4, and 1 for arrays; 0: of none yet */
    uint32_t n_plain, n_compiled; /* calls timed since the last verdict */
    double plain, compiled;       /* means, in which the latest calls count most; kept from one verdict to the next */
    double least_plain, least_compiled; /* of those since the last verdict */
    uint64_t all_plain, all_compiled; /* calls: timed plainly, run compiled */
    char stays_plain;             /* the verdict: compiled calls took longer */
    char vouched;                 /* the latest compiled call was long, and long programs took most of it */
    char decided;                 /* there is a verdict */
    char doubtful;                /* the cost model expects little: that programs take the time vouches for nothing */
    uint32_t rest, patience;      /* calls until they are tried again; how many that were last time */
    uint32_t unsettled;           /* compiled calls since the latest that counted */
    double sum_plain;             /* what all_plain have taken */
    double before;                /* what a plain call took at the verdict before */
    uint64_t then;                /* all_compiled at the latest verdict for which calls were timed plainly */
    double saved;                 /* what compiled calls up to then took less */
    double excess;                /* what plain ones show more than they take where the system is asked, too, for timing */
} DlTrial;

enum { DL_SIZE_CLASSES = 12 };

/* The trials of one code object. */
typedef struct {
    PyObject *owner; /* the on_miss whose calls are timed, compared only; NULL: nobody's */
    DlTrial trials[DL_SIZE_CLASSES];
} DlTrials;

typedef enum { DL_TRY_COMPILED, DL_TRY_COMPILED_TIMED, DL_TRY_PLAIN, DL_TRY_PLAIN_TIMED } DlChoice;

/* Which of the trials a call with these arguments belongs to: about how big its arrays, lists and ints are. */
DlTrial *dl_trial_of(DlTrial *trials, PyObject *const *slots, Py_ssize_t n);

/* How the next call runs. */
DlChoice dl_trial_choose(DlTrial *trial);

/* The ns that optimised code takes less in a stretch of `time` ns, at whose begin dl_thread.quick was `quick`: sooner or later
   it takes over, and what is judged is to be judged by that. */
static inline double
dl_optimising_gains(double quick, double time)
{
    static const double gain = 0.18; /* of the time of code that is not optimised: the mean of some fifty programs */
    return gain * fmin(dl_thread.quick - quick, time);
}

/* A stretch that is timed. */
typedef struct {
    uint64_t entered, began, asked, answering, native, programs, cold;
    uint64_t timing; /* what timing calls had taken itself */
    double quick;
    uint64_t cpu, switches; /* CPU time of the thread, and how often another process took its place */
} DlStopwatch;

/* CPU time of this thread, ns. */
uint64_t dl_cpu_now(void);

/* How often another process has taken this thread's place. */
uint64_t dl_switches(void);

static inline void
dl_stopwatch_start(DlStopwatch *watch)
{
    watch->entered = dl_now();
    dl_thread.timing++;
    dl_n_timing++;
    watch->timing = dl_thread.timing_taken;
    watch->asked = dl_thread.asked;
    watch->answering = dl_thread.answering;
    watch->native = dl_thread.native;
    watch->programs = dl_thread.programs;
    watch->cold = dl_thread.cold;
    watch->quick = dl_thread.quick;
    watch->switches = dl_switches();
    watch->cpu = dl_cpu_now();
    watch->began = dl_now();
}

/* Nanoseconds since the start: without the time that other processes have taken, on a busy machine. */
static inline double
dl_stopwatch_time(const DlStopwatch *watch)
{
    uint64_t time = dl_now() - watch->began;
    return (double)(dl_switches() == watch->switches ? time : dl_cpu_now() - watch->cpu);
}

/* The same for a plain call that is known to be short, without what only the system knows. */
static inline void
dl_stopwatch_start_brief(DlStopwatch *watch)
{
    watch->timing = dl_thread.timing_taken;
    watch->asked = dl_thread.asked;
    watch->answering = dl_thread.answering;
    watch->began = dl_now();
}

/* What such calls take, ns, by the latest ones. */
typedef struct {
    double time;
    int n;
} DlBrief;

/* Nanoseconds since the start of one, which counts: no more than twice the usual ones, as others may have had this thread's
   place. */
double dl_brief_note(DlBrief *brief, const DlStopwatch *watch);
/* Note in a trial a plain call that was timed so, and took `time`. */
void dl_trial_note_brief(DlTrial *trial, const DlBrief *brief, double time);

/* How a call that is timed has ended: with a value, with an exception, or not yet, since it runs plainly after all. */
typedef enum { DL_ENDS, DL_ENDS_RAISING, DL_ENDS_PLAINLY } DlEnding;

/* The time of a call that ran as was chosen counts, unless it raised, compiling took part of it, or a good part of it was
   in functions that may soon be compiled; but where all calls are like that, these count. Judges when enough were
   timed. */
void dl_trial_note(DlTrial *trial, DlChoice choice, const DlStopwatch *watch, DlEnding end);

/* [(s that compiled calls took less up to the latest plain one, what one took less then, calls since), ...], of the sizes
   of which both were timed; NULL with an error set. */
PyObject *dl_trial_savings(const DlTrial *trials);

/* [(plain s, n, compiled s, n, stays plain), ...], of the sizes that were met; NULL with an error set. */
PyObject *dl_trial_rows(const DlTrial *trials);

/* Learn the thresholds: 0, or -1 with an error set. */
int dl_trials_set_limits(PyObject *limits);

#endif
