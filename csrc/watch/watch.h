/* Code of a whole program that is watched until it is hot (see watch.c). */
#ifndef DL_WATCH_H
#define DL_WATCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "trials.h"

/* The rounds that compiled code has gone on at one place of a loop, as long as the loop stays hot and nothing more is
   compiled. The place keeps them. */
typedef struct {
    uint64_t run, asked, epoch; /* of the last visit */
    uint64_t since;   /* when it was */
    double quick;     /* and dl_thread.quick */
    Py_ssize_t left;  /* rounds that were left then; -1: unknown */
    Py_ssize_t last;  /* the last number of the range that the loop goes through */
    uint64_t rounds;  /* and ns, from one visit to the next while the loop goes through the same range */
    uint64_t time;
    uint32_t visits;  /* in which a native loop may have made many rounds */
    uint64_t ran;     /* programs that had run to their end before them */
} DlVisits;

/* A loop of the user's: what its rounds take. Its polls share it, in whatever code object it stands, and so do the places
   in it where compiled code goes on. */
typedef struct {
    PyObject_HEAD
    uint64_t plain, n_plain; /* ns of plain rounds, and how many those were */
    uint64_t longest, n_longest; /* those of them that took longest from one look at the clock to the next */
    uint64_t n_begun;        /* how often the loop began, as far as that was seen, while these passed */
    uint64_t spent;          /* of them since it was last decided */
    uint64_t wanted;         /* plain rounds, before which it does not become hot */
    uint64_t entered;        /* how often compiled code took over */
    char hot;                /* it may take over at the next back edge */
    char loses;              /* compiled rounds took longer: plain until retry_at */
    uint64_t epoch;          /* how often it went cold */
    const void *header;      /* the cache of the code with which compiled code took over last; compared only */
    uint64_t retry_at, patience;
    uint64_t trusted, since; /* ns that compiled rounds may take, and have taken, until plain ones are timed once more */
    uint64_t cool_until;     /* nobody is asked about it before */
    DlVisits *counts;        /* the place whose rounds count for `saved`, of all in the loop, compared only; and in */
    uint64_t counted;        /* which epoch */
    double saved;            /* ns that compiled rounds took less, up to the latest plain ones */
    double before;           /* ns that a plain round took then, */
    double usual;            /* and without the longest, of which one may have had much more to do than any to come */
    uint64_t n_since, took_since; /* compiled rounds since, and the ns that they took */
    uint64_t n_first, took_first; /* of them the first ones, which had as much to do as the plain ones before them */
} DlRound;

/* Have the length hints of objects of that class, Rest, say how many rounds a loop has left. */
PyObject *dl_rounds_of_rests(PyObject *module, PyObject *type);
/* Replace what is left of what a `for` goes over, among n references, by its iterators: 0, or -1 with an error set. */
int dl_rests_begin(PyObject **items, Py_ssize_t n);

/* Note a visit. iterator: what the loop goes through, a range or its iterator, or a Rest, of which the rounds are
   counted; anything else, or NULL, and a visit is a round. False when the loop is better run plainly from here on. */
int dl_round_note(DlRound *round, DlVisits *visits, uint64_t run, PyObject *iterator);

/* Let a loop take its time plainly before it is hot again, and so many seconds at least. */
void dl_round_cool(DlRound *round, double seconds);

extern PyTypeObject dl_round_type; /* Round */

#endif
