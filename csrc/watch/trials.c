/* Whether what is compiled pays (see trials.h).

   Of the calls of one size some are run compiled and some plainly, each of them once, and all of them the user's own.
   As soon as the times tell, there is a verdict, and nothing is timed for as long as that rests: what loses runs
   plainly, what gains compiled. What few calls have decided is soon tried again. A gain that was clear in several
   plain calls is looked at again by compiled calls alone, until so many have run since that one more plain call takes a
   small part of their time: a program's later calls may have less to do than its first ones. A long call is never run
   plainly for the sake of knowing, where most of it is spent in programs, of which the cost model has judged each. */
#include "trials.h"

#include <math.h>
#include <sys/resource.h>

#include "numpy_api.h"

DlThresholds dl_thresholds;

static const struct {
    const char *name;
    double *value;
    double unit;
} limits[] = {
    {"hot_function", &dl_thresholds.hot_function, 1e9},
    {"hot_loop", &dl_thresholds.hot_loop, 1e9},
    {"hot_callee", &dl_thresholds.hot_callee, 1e9},
    {"polls_after", &dl_thresholds.polls_after, 1e9},
    {"look", &dl_thresholds.look, 1e9},
    {"short_function", &dl_thresholds.short_function, 1e9},
    {"short_call", &dl_thresholds.short_call, 1e9},
    {"brief_call", &dl_thresholds.brief_call, 1e9},
    {"tried_short", &dl_thresholds.tried_short, 1},
    {"nudges", &dl_thresholds.nudges, 1},
    {"tried_compiled", &dl_thresholds.tried_compiled, 1},
    {"tried_plain", &dl_thresholds.tried_plain, 1},
    {"tried_unclear", &dl_thresholds.tried_unclear, 1},
    {"tried_time", &dl_thresholds.tried_time, 1e9},
    {"sample_every", &dl_thresholds.sample_every, 1},
    {"sampled_rounds", &dl_thresholds.sampled_rounds, 1e9},
    {"rounds_judged", &dl_thresholds.rounds_judged, 1},
    {"worth", &dl_thresholds.worth, 1},
    {"clear", &dl_thresholds.clear, 1},
    {"close", &dl_thresholds.close, 1},
    {"vouched", &dl_thresholds.vouched, 1},
    {"long_program", &dl_thresholds.long_program, 1e9},
    {"unsettled", &dl_thresholds.unsettled, 1},
    {"unsettled_calls", &dl_thresholds.unsettled_calls, 1},
    {"rest_of_few", &dl_thresholds.rest_of_few, 1},
    {"first_rest", &dl_thresholds.first_rest, 1},
    {"longest_rest", &dl_thresholds.longest_rest, 1},
    {"first_patience", &dl_thresholds.first_patience, 1e9},
    {"longest_patience", &dl_thresholds.longest_patience, 1e9},
    {"stale", &dl_thresholds.stale, 1},
};

uint64_t
dl_cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
dl_switches(void)
{
    struct rusage usage;
    return getrusage(RUSAGE_THREAD, &usage) == 0 ? (uint64_t)usage.ru_nivcsw : 0;
}

/* The trial of calls of that size: its own, or the first that nobody has. Where there are more sizes than
   trials, a new one takes the place of another, of which what was saved stays. */
static DlTrial *
trial_of_size(DlTrial *trials, uint32_t size)
{
    for (int i = 1; i < DL_SIZE_CLASSES; i++) {
        if (trials[i].size == size || trials[i].size == 0) {
            trials[i].size = size;
            return &trials[i];
        }
    }
    DlTrial *trial = &trials[1 + size % (DL_SIZE_CLASSES - 1)];
    *trial = (DlTrial){.size = size, .doubtful = trial->doubtful, .saved = trial->saved};
    return trial;
}

/* How much there may be to do for a number of items, as a power of 4. */
static unsigned
power_of_4(Py_ssize_t n)
{
    return (unsigned)(64 - __builtin_clzll((uint64_t)n | 1)) / 2;
}

/* The same for an int, which may be a number of iterations, as a power of 16: there are few, lest numbers that mean
   something else be many classes. */
static unsigned
power_of_16(PyObject *number)
{
    enum { MOST_BITS = 20 };
    int overflow;
    long long value = PyLong_AsLongLongAndOverflow(number, &overflow);
    if (overflow != 0 || value >= 1LL << MOST_BITS) {
        return MOST_BITS / 4;
    }
    return value <= 0 ? 0 : (unsigned)(63 - __builtin_clzll((uint64_t)value)) / 4;
}

DlTrial *
dl_trial_of(DlTrial *trials, PyObject *const *slots, Py_ssize_t n)
{
    unsigned magnitudes = 0, has_arrays = 0;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *slot = slots[i];
        if (slot == NULL) {
            continue;
        }
        if (Py_IS_TYPE(slot, &PyArray_Type)) {
            has_arrays = 1;
            magnitudes += power_of_4(PyArray_SIZE((PyArrayObject *)slot));
        }
        else if (PyList_CheckExact(slot) || PyTuple_CheckExact(slot)) {
            magnitudes += power_of_4(Py_SIZE(slot));
        }
        else if (PyLong_CheckExact(slot)) {
            magnitudes += power_of_16(slot);
        }
    }
    uint32_t size = 2 * magnitudes + has_arrays;
    return size == 0 ? &trials[0] : trial_of_size(trials, size);
}

/* Let one more call count in a mean: the latest eight about as much as all before, and no outlier for long. */
static void
add_time(double *mean, uint32_t *n, double time)
{
    uint32_t weight = *n < 8 ? *n + 1 : 8;
    if (*n >= 2 && time > 4 * *mean) {
        time = 4 * *mean;
    }
    else if (*n == 1 && *mean > 4 * time) {
        *mean = 4 * time;
    }
    *mean = *n == 0 ? time : *mean + (time - *mean) / weight;
    *n += 1;
}

/* How many times as many calls as usual it takes to tell such times apart. */
static uint32_t
effort(const DlTrial *trial)
{
    double difference = trial->n_plain > 0 ? trial->compiled / trial->plain - 1 : 1;
    return difference < dl_thresholds.close && difference > -dl_thresholds.close ? 3 : 1;
}

/* Whether so many calls of a mean time are enough, where `usual` are of short ones. */
static int
are_enough(const DlTrial *trial, uint32_t n, double mean, double usual)
{
    uint32_t least = effort(trial);
    return n >= usual * least || (n >= least && n * mean >= dl_thresholds.tried_time);
}

DlChoice
dl_trial_choose(DlTrial *trial)
{
    if (trial->rest > 0) {
        trial->rest--;
        trial->all_compiled += !trial->stays_plain;
        return trial->stays_plain ? DL_TRY_PLAIN : DL_TRY_COMPILED;
    }
    if (trial->decided) { /* look again */
        trial->decided = trial->stays_plain = 0;
        trial->n_compiled = trial->n_plain = 0;
    }
    int is_long = trial->n_compiled * trial->compiled >= dl_thresholds.tried_time;
    double first = is_long ? 1 : dl_thresholds.tried_compiled, every = is_long ? 1 : dl_thresholds.sample_every;
    if (trial->n_compiled >= first && trial->n_plain * every <= trial->n_compiled - first) {
        return DL_TRY_PLAIN_TIMED;
    }
    trial->all_compiled++;
    return DL_TRY_COMPILED_TIMED;
}

/* What a plain call takes at most, as far as the latest tell: the shortest of them, or what all of them have taken on the
   average. NB: of a function that now and then does much more the latest one or two may have done just that. */
static double
usual_plain(const DlTrial *trial)
{
    double mean = trial->sum_plain / (double)trial->all_plain;
    return fmin(trial->least_plain, mean);
}

/* Count what compiled calls have taken less than the shortest of the plain ones before and after them. */
static void
settle(DlTrial *trial)
{
    if (trial->n_plain == 0) {
        return;
    }
    double now = usual_plain(trial), plain = trial->before > 0 && trial->before < now ? trial->before : now;
    if (trial->compiled > 0) {
        trial->saved += (plain - trial->compiled) * (double)(trial->all_compiled - trial->then);
    }
    trial->then = trial->all_compiled;
    trial->before = now;
}

/* Let the verdict stand for a while: not for long at first, where few plain calls were timed, one of which may have
   taken longer than usual. */
static void
decide(DlTrial *trial, int stays_plain)
{
    double first = trial->n_plain < dl_thresholds.tried_plain ? dl_thresholds.rest_of_few : dl_thresholds.first_rest;
    trial->patience = (uint32_t)dl_longer(trial->patience, first, dl_thresholds.longest_rest);
    trial->rest = trial->patience;
    trial->stays_plain = (char)stays_plain;
    trial->decided = 1;
    settle(trial);
}

/* Whether the latest plain call is too long ago, as another one would cost little. */
static int
is_stale(const DlTrial *trial)
{
    double since = (double)(trial->all_compiled - trial->then) * trial->compiled;
    return trial->n_plain == 0 && since * dl_thresholds.stale >= trial->plain;
}

/* Decide, once enough calls of both kinds were timed. */
static void
judge(DlTrial *trial)
{
    if (trial->n_compiled == 0 || !are_enough(trial, trial->n_compiled, trial->compiled, dl_thresholds.tried_compiled)) {
        return;
    }
    int is_known = trial->n_plain > 0 || (trial->all_plain >= dl_thresholds.tried_plain && !is_stale(trial));
    /* NB: a plain call among compiled ones meets cold caches; of short ones another one tells whether that was it. */
    int is_seen = trial->n_plain != 1 || trial->plain >= dl_thresholds.brief_call;
    double plain = trial->n_plain > 0 ? usual_plain(trial) : trial->plain;
    int gains = is_known && is_seen && trial->compiled * dl_thresholds.clear <= plain;
    if (gains || (trial->vouched && !trial->doubtful)) {
        decide(trial, 0);
    }
    else if (trial->n_plain > 0 && are_enough(trial, trial->n_plain, trial->plain, dl_thresholds.tried_plain)) {
        int loses = trial->compiled > dl_thresholds.worth * trial->plain;
        /* NB: the first calls meet memory that is new; and of a machine that others use the least times tell more. */
        int is_clear = trial->n_compiled >= dl_thresholds.tried_plain && trial->least_compiled > trial->least_plain;
        if (!loses || is_clear || trial->n_compiled >= dl_thresholds.tried_unclear) {
            decide(trial, loses);
        }
    }
}

void
dl_trial_note(DlTrial *trial, DlChoice choice, const DlStopwatch *watch, DlEnding end)
{
    uint64_t ended = dl_now();
    double time = dl_stopwatch_time(watch);
    double native = (double)(dl_thread.native - watch->native), programs = (double)(dl_thread.programs - watch->programs);
    dl_thread.timing--;
    dl_n_timing--;
    double waiting = (double)(dl_thread.cold - watch->cold), answering = (double)(dl_thread.answering - watch->answering);
    time -= answering + (double)(dl_thread.timing_taken - watch->timing);
    dl_thread.timing_taken += dl_now() - watch->entered - (ended - watch->began);
    int is_settled = answering <= dl_thresholds.unsettled / 4 * time && waiting <= dl_thresholds.unsettled * time;
    if (end == DL_ENDS_PLAINLY) {
        trial->all_compiled--;
        return;
    }
    int is_compiled = choice == DL_TRY_COMPILED_TIMED;
    if (end == DL_ENDS_RAISING || (is_compiled && !is_settled)) {
        if (trial->unsettled < dl_thresholds.unsettled_calls) {
            trial->unsettled += is_compiled;
            return;
        }
        time += is_compiled ? answering : 0; /* which is what calls take, and no compiling */
        answering = is_compiled ? 0 : answering;
    }
    else if (is_compiled) {
        trial->unsettled = 0;
    }
    /* NB: what is taken off was measured by another clock where another process took this one's place. */
    if (time <= 0 || answering > dl_thresholds.unsettled * time) {
        return;
    }
    if (choice == DL_TRY_PLAIN_TIMED) {
        /* NB: a compiled call shows as much, but what calls it, a poll, is not in it. */
        time = fmax(time - trial->excess, time / 2);
        trial->least_plain = trial->n_plain && trial->least_plain < time ? trial->least_plain : time;
        add_time(&trial->plain, &trial->n_plain, time);
        trial->all_plain++;
        trial->sum_plain += time;
    }
    else {
        time -= dl_optimising_gains(watch->quick, time);
        trial->vouched = time >= dl_thresholds.tried_time && native >= dl_thresholds.vouched * time
                         && native >= dl_thresholds.long_program * programs;
        trial->least_compiled = trial->n_compiled && trial->least_compiled < time ? trial->least_compiled : time;
        add_time(&trial->compiled, &trial->n_compiled, time);
    }
    judge(trial);
}

double
dl_brief_note(DlBrief *brief, const DlStopwatch *watch)
{
    double time = (double)(dl_now() - watch->began);
    time -= (double)(dl_thread.answering - watch->answering) + (double)(dl_thread.timing_taken - watch->timing);
    time = time < 0 ? 0 : brief->n > 1 && time > 2 * brief->time ? 2 * brief->time : time;
    brief->n += brief->n < 8;
    brief->time += (time - brief->time) / brief->n;
    return time;
}

enum { MOST_EXCESS = 2000, ENOUGH = 8 }; /* ns; calls */

void
dl_trial_note_brief(DlTrial *trial, const DlBrief *brief, double time)
{
    trial->sum_plain += time;
    trial->all_plain++;
    if (brief->n >= ENOUGH && trial->n_plain > 0) {
        double excess = trial->plain - brief->time;
        trial->excess = excess < 0 ? 0 : excess < MOST_EXCESS ? excess : MOST_EXCESS;
    }
}

PyObject *
dl_trial_rows(const DlTrial *trials)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < DL_SIZE_CLASSES; i++) {
        const DlTrial *trial = &trials[i];
        if (trial->all_plain + trial->all_compiled == 0) {
            continue;
        }
        PyObject *row = Py_BuildValue("(dKdKO)", trial->plain * 1e-9, (unsigned long long)trial->all_plain,
                                      trial->compiled * 1e-9, (unsigned long long)trial->all_compiled,
                                      trial->stays_plain ? Py_True : Py_False);
        if (row == NULL || PyList_Append(list, row) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

PyObject *
dl_trial_savings(const DlTrial *trials)
{
    PyObject *list = PyList_New(0);
    for (int i = 0; list != NULL && i < DL_SIZE_CLASSES; i++) {
        const DlTrial *trial = &trials[i];
        if (trial->all_plain == 0 || trial->compiled <= 0) {
            continue;
        }
        double plain = fmin(trial->plain, trial->sum_plain / (double)trial->all_plain);
        PyObject *row = Py_BuildValue("(ddK)", trial->saved * 1e-9, (plain - trial->compiled) * 1e-9,
                                      (unsigned long long)(trial->all_compiled - trial->then));
        if (row == NULL || PyList_Append(list, row) < 0) {
            Py_CLEAR(list);
        }
        Py_XDECREF(row);
    }
    return list;
}

int
dl_trials_set_limits(PyObject *thresholds)
{
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++) {
        PyObject *found = PyObject_GetAttrString(thresholds, limits[i].name);
        double value = found ? PyFloat_AsDouble(found) : -1;
        Py_XDECREF(found);
        if (PyErr_Occurred()) {
            return -1;
        }
        *limits[i].value = value * limits[i].unit;
    }
    return 0;
}

static PyObject *
set_limits(PyObject *module, PyObject *thresholds)
{
    (void)module;
    return dl_trials_set_limits(thresholds) < 0 ? NULL : Py_NewRef(Py_None);
}

PyMethodDef dl_trials_functions[] = {
    {"set_limits", set_limits, METH_O, "set_limits(thresholds): by policy.Thresholds calls are timed."},
    {NULL, NULL, 0, NULL},
};
