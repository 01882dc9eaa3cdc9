/* The rounds of a watched loop: what they take plainly and compiled, and whether compiled code is worth it.

   dl_round_note() is asked each time that compiled code goes on at a place of the loop. Rounds are counted by what is left
   of the loop's range, or Rest, since a native loop makes many between two visits; a `while` is taken to make one. Later
   rounds may have less to do than those that were timed plainly: a plain one is expected to become shorter as compiled ones
   do (expected_plain), and now and then some more run plainly (is_stale).
   Protected by the GIL. */
#include "watch.h"

#include "frame/interrupts.h"

#include <math.h>
#include <structmember.h>

void
dl_round_cool(DlRound *round, double seconds)
{
    round->hot = 0;
    round->spent = round->wanted = 0;
    round->cool_until = seconds > 0 ? dl_now() + (uint64_t)(seconds * 1e9) : 0;
    round->epoch++;
}

static PyTypeObject *rest_type; /* capture/loops/rests.py's Rest, whose length hint runs no code of the user's */

PyObject *
dl_rounds_of_rests(PyObject *Py_UNUSED(module), PyObject *type)
{
    if (!PyType_Check(type)) {
        PyErr_SetString(PyExc_TypeError, "rounds_of_rests(type): a class");
        return NULL;
    }
    Py_XSETREF(rest_type, (PyTypeObject *)Py_NewRef(type));
    Py_RETURN_NONE;
}

int
dl_rests_begin(PyObject **items, Py_ssize_t n)
{
    for (Py_ssize_t i = 0; i < n; i++) {
        if (items[i] != NULL && Py_IS_TYPE(items[i], rest_type)) {
            DlDeferral deferral;
            dl_interrupts_defer(&deferral, NULL);
            PyObject *made = dl_interrupts_resume(&deferral, PyObject_GetIter(items[i]));
            if (made == NULL) {
                return -1;
            }
            Py_SETREF(items[i], made);
        }
    }
    return 0;
}

/* How many rounds are left of what `iterator` goes through; -1: unknown. *last: the last number of a range. */
static Py_ssize_t
rounds_left(PyObject *iterator, Py_ssize_t *last)
{
    *last = 0;
    if (iterator == NULL
        || !(PyRange_Check(iterator) || Py_IS_TYPE(iterator, &PyRangeIter_Type) || Py_IS_TYPE(iterator, rest_type))) {
        return -1;
    }
    Py_ssize_t left = PyObject_LengthHint(iterator, -1);
    if (left > 0 && PyRange_Check(iterator)) {
        PyObject *number = PySequence_GetItem(iterator, -1);
        *last = number ? PyLong_AsSsize_t(number) : 0;
        Py_XDECREF(number);
    }
    PyErr_Clear(); /* more than fit */
    return left;
}

enum { MOST_GAINED = 50 }; /* times what a compiled round takes, at most, are three plain ones expected to take */

/* Whether some rounds are to run plainly once more: compiled ones have taken many times as long as that takes, as far as
   the plain ones known and those of now, compiled, tell. Each time they are then trusted for twice as long. */
static int
is_stale(DlRound *round, uint64_t compiled, double plain, double now)
{
    round->since += compiled;
    double known = fmin(dl_thresholds.tried_plain * plain, MOST_GAINED * now);
    double takes = fmax(known, dl_thresholds.sampled_rounds);
    double trusted = dl_longer((double)round->trusted, takes / dl_thresholds.stale, 1e18);
    if ((double)round->since < trusted) {
        return 0;
    }
    round->trusted = (uint64_t)trusted;
    round->since = 0;
    return 1;
}

/* The ns that a plain round would take where a compiled one takes `now`, if it took `plain` before the first compiled ones:
   what has less to do than those is taken to be as many times as fast as they were. */
static double
expected_plain(const DlRound *round, double plain, double now)
{
    if (round->n_first == 0) {
        return plain;
    }
    double first = (double)round->took_first / (double)round->n_first;
    return now < first ? plain * now / first : plain;
}

/* The ns that a compiled round has taken since the latest plain ones, on the average. */
static double
took_each(const DlRound *round)
{
    return (double)round->took_since / (double)round->n_since;
}

/* Forget how long plain rounds take. */
static void
forget_plain(DlRound *round)
{
    round->plain = round->n_plain = round->n_begun = round->longest = round->n_longest = 0;
}

/* The ns of a plain round without the longest ones. */
static double
usual_plain(const DlRound *round)
{
    if (round->n_plain <= round->n_longest) {
        return (double)round->plain / (double)round->n_plain;
    }
    return (double)(round->plain - round->longest) / (double)(round->n_plain - round->n_longest);
}

/* Count what compiled rounds have taken less than plain ones, the shorter ones of those before and after them. */
static void
count_saved(DlRound *round, uint64_t rounds, uint64_t took)
{
    double plain = (double)round->plain / (double)round->n_plain;
    if (plain != round->before) {
        if (round->n_since > 0) {
            double before = expected_plain(round, round->usual, took_each(round));
            round->saved += (fmin(before, usual_plain(round)) - took_each(round)) * (double)round->n_since;
        }
        round->before = plain;
        round->usual = usual_plain(round);
        round->n_since = round->took_since = round->n_first = round->took_first = 0;
    }
    round->n_since += rounds;
    round->took_since += took;
    if (round->n_first < (uint64_t)dl_thresholds.rounds_judged) {
        round->n_first += rounds;
        round->took_first += took;
    }
}

enum { SOONER = 10 }; /* times as soon a loop is tried again of which nothing was compiled */

/* Let rounds run plainly for a while, longer each time, `first` ns at first. */
static void
lose(DlRound *round, uint64_t time, double first)
{
    round->patience = (uint64_t)dl_longer((double)round->patience, first, dl_thresholds.longest_patience);
    round->retry_at = time + round->patience;
    round->loses = 1;
    dl_round_cool(round, 0);
    forget_plain(round); /* as it goes on, it may take other times */
}

int
dl_round_note(DlRound *round, DlVisits *visits, uint64_t run, PyObject *iterator)
{
    uint64_t time = dl_now();
    if (round->loses && time < round->retry_at) {
        return 0;
    }
    round->loses = 0; /* it is judged anew */
    Py_ssize_t last, left = rounds_left(iterator, &last);
    if (visits->epoch != round->epoch || visits->asked != dl_thread.asked) {
        /* it ran plainly, or something was compiled meanwhile */
        *visits = (DlVisits){.asked = dl_thread.asked, .epoch = round->epoch, .ran = dl_thread.ran};
        if (round->counted != round->epoch || round->counts == NULL) {
            round->counts = visits;
            round->counted = round->epoch;
        }
    }
    else if (left < 0 ? visits->run == run : left < visits->left && last == visits->last) {
        /* NB: else the loop has begun anew, and what passed is not its own */
        uint64_t rounds = left >= 0 ? (uint64_t)(visits->left - left) : 1, took = time - visits->since;
        took -= (uint64_t)dl_optimising_gains(visits->quick, (double)took);
        visits->rounds += rounds;
        visits->time += took;
        visits->visits++;
        if (round->n_plain >= dl_thresholds.tried_plain && round->counts == visits) {
            count_saved(round, rounds, took);
        }
    }
    visits->run = run;
    visits->left = left;
    visits->last = last;
    visits->since = time;
    visits->quick = dl_thread.quick;
    if (visits->visits < dl_thresholds.tried_compiled) {
        return 1;
    }
    if (visits->ran == dl_thread.ran && (double)visits->time >= dl_thresholds.tried_time && dl_thresholds.hot_loop > 0) {
        /* Nothing of it is compiled, and nothing that it calls: it is not faster so. Soon something may be. */
        lose(round, time, dl_thresholds.first_patience / SOONER);
        return 0;
    }
    double compiled = (double)visits->time / (double)visits->rounds;
    double plain = round->n_plain > 0 ? (double)round->plain / (double)round->n_plain : 0.0;
    if (plain == round->before) {
        plain = expected_plain(round, plain, compiled);
    }
    double missing = dl_thresholds.tried_plain - (double)round->n_plain;
    int is_sampled = missing <= 0 || (plain > 0 && dl_thresholds.hot_loop > 0); /* else it is compiled at once */
    int is_clear = is_sampled && (double)visits->time >= dl_thresholds.tried_time && compiled > dl_thresholds.clear * plain;
    if (visits->visits < dl_thresholds.rounds_judged && !is_clear) {
        return 1;
    }
    uint64_t took = visits->time;
    visits->visits = 0;
    visits->rounds = visits->time = 0;
    visits->ran = dl_thread.ran;
    if (is_clear && missing > 0) { /* long rounds: a few more tell whether the first ones were usual */
        dl_round_cool(round, 0);
        round->spent = (uint64_t)dl_thresholds.hot_loop;
        round->wanted = (uint64_t)dl_thresholds.tried_plain;
        return 0;
    }
    if (missing > 0 || compiled <= dl_thresholds.worth * plain) {
        if (!is_stale(round, took, plain, compiled)) {
            return 1;
        }
        dl_round_cool(round, 0);
        forget_plain(round);
        double rest = dl_thresholds.hot_loop - dl_thresholds.sampled_rounds; /* what is not missing until it is hot */
        round->spent = rest > 0 ? (uint64_t)rest : 0;
        return 0;
    }
    lose(round, time, dl_thresholds.first_patience);
    return 0;
}

/* (s that compiled rounds took less up to the latest plain ones, s that one took less then, rounds since). */
static PyObject *
round_savings(DlRound *self, void *Py_UNUSED(unused))
{
    double gain = self->n_since > 0 ? expected_plain(self, self->usual, took_each(self)) - took_each(self) : 0.0;
    return Py_BuildValue("(ddK)", self->saved * 1e-9, gain * 1e-9, (unsigned long long)self->n_since);
}

static PyGetSetDef round_getset[] = {
    {"savings", (getter)round_savings, NULL,
     "(s that compiled rounds took less up to the latest plain ones, s that one took less then, rounds since)", NULL},
    {NULL, NULL, NULL, NULL, NULL},
};

static PyMemberDef round_members[] = {
    {"plain", T_ULONGLONG, offsetof(DlRound, plain), READONLY, "nanoseconds of plain rounds"},
    {"n_plain", T_ULONGLONG, offsetof(DlRound, n_plain), READONLY, "how many those were"},
    {"n_begun", T_ULONGLONG, offsetof(DlRound, n_begun), READONLY, "how often the loop was seen to begin meanwhile"},
    {"entered", T_ULONGLONG, offsetof(DlRound, entered), READONLY, "how often compiled code took over"},
    {"hot", T_BOOL, offsetof(DlRound, hot), READONLY, "it takes over at the next back edge"},
    {"loses", T_BOOL, offsetof(DlRound, loses), READONLY, "compiled rounds took longer"},
    {NULL, 0, 0, 0, NULL},
};

static PyObject *
round_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    (void)args, (void)kwargs;
    return type->tp_alloc(type, 0);
}

PyTypeObject dl_round_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.Round",
    .tp_doc = "Round(): what the rounds of one loop take, wherever it stands.",
    .tp_basicsize = sizeof(DlRound),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = round_new,
    .tp_members = round_members,
    .tp_getset = round_getset,
};
