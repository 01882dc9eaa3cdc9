/* Code of a whole program that is watched until it is hot (see watch.c). */
#ifndef DL_WATCH_H
#define DL_WATCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

/* A loop of the user's: what its rounds take. Its polls share it, in whatever code object it stands, and so do the places
   in it where compiled code goes on. */
typedef struct {
    PyObject_HEAD
    uint64_t plain, n_plain; /* ns of plain rounds, and how many those were */
    uint64_t spent;          /* of them since it was last decided */
    uint64_t entered;        /* how often compiled code took over */
    char hot;                /* it may take over at the next back edge */
    char loses;              /* compiled rounds took longer: plain until retry_at */
    uint64_t retry_at, patience;
    double saved; /* ns that compiled rounds took less, as far as both were timed */
} DlRound;

/* Note that compiled code goes on at one place of a loop, once a round. visits, since, asked: of this place, in one run of
   the dispatcher, kept by it. False when the loop is better run plainly from here on. */
typedef struct {
    uint64_t run, since, asked;
    uint32_t visits;
} DlVisits;

int dl_round_note(DlRound *round, DlVisits *visits, uint64_t run);

/* Add Poll and the functions of watching to module: 0, or -1 with an error set. */
int dl_watch_register(PyObject *module);

#endif
