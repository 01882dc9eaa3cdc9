/* The journal of a program: what it has changed in lists and dicts of others, by which a decline puts it back. */
#ifndef DL_JOURNAL_H
#define DL_JOURNAL_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* An item of a list or dict of somebody else's, as it was before the program put another there. */
typedef struct {
    PyObject *container, *key; /* owned; key: NULL for a list */
    Py_ssize_t index;          /* of a list */
    PyObject *old;             /* owned; NULL where there was none */
} DlReplaced;

/* A list that the program has made, or changed. */
typedef struct {
    PyObject *list;            /* owned unless the program has made it; NULL: nothing stands here */
    PyObject *held;            /* owned: what it held when that was noted as a whole, or NULL */
    Py_ssize_t size, replaced; /* how long it was; how many of its items the rows have */
    int own;                   /* the program has made it */
    int quiet;                 /* nobody can notice the death of what `held` has */
} DlTouched;

typedef struct {
    Py_ssize_t n, room;
    DlReplaced *rows;
    DlTouched *touched; /* by address: a table of `places`, a power of two */
    size_t n_touched, places;
    PyObject *latest; /* borrowed: a list of which nothing has to be noted any more */
    int loud;         /* something was put into a list whose death could be noticed */
} DlJournal;

/* A list is about to get another item at `index`, or to become longer (index: its length), or anything else (-1): 0, or
 * -1 with MemoryError; 1 where the old item's death could be noticed. */
int dl_journal_change(DlJournal *journal, PyObject *list, Py_ssize_t index);

/* An object is about to be put into a list. */
void dl_journal_take(DlJournal *journal, PyObject *object);

/* The same as a change, of the item under a key of a dict, which is `old`, or none (NULL). */
int dl_journal_replace(DlJournal *journal, PyObject *dict, PyObject *key, PyObject *old);

/* Put all back, the latest change first; errors are reported as unraisable. */
void dl_journal_undo(DlJournal *journal);

/* Let go of what is noted. */
void dl_journal_clear(DlJournal *journal);

/* A new list that garbage collection does not run for: `size` items, which are yet to be set; or NULL. */
PyObject *dl_journal_list(DlJournal *journal, Py_ssize_t size);

#endif
