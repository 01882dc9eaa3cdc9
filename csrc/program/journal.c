/* What a program changes in lists and dicts that are not its own, and how that is undone.
 *
 * Of a list the items that are replaced are noted one by one; where these become many, the list as it is then, once, and
 * nothing any more from then on, if all that it held dies unnoticed. Lists that the program has made are known by their addresses, and are not undone: nobody
 * else has seen them. NB: the address of a list of its own that has died can only be another one's of its own, since all
 * others live throughout.
 */
#include "journal.h"

#include "numpy_api.h"
#include "guards/quiet.h"

enum { FIRST_PLACES = 16, FEW_ITEMS = 8, PART = 8 };

/* Where a list stands in the table, or would. */
static DlTouched *
place_of(const DlJournal *journal, PyObject *list)
{
    size_t mask = journal->places - 1, at = ((size_t)list >> 4) * 0x9E3779B97F4A7C15u >> 20;
    for (at &= mask; journal->touched[at].list != NULL && journal->touched[at].list != list; at = (at + 1) & mask) {
    }
    return &journal->touched[at];
}

/* Make room for one more list: 0, or -1 with MemoryError. */
static int
grow(DlJournal *journal)
{
    if (4 * (journal->n_touched + 1) <= 3 * journal->places) {
        return 0;
    }
    DlJournal wider = *journal;
    wider.places = journal->places ? 2 * journal->places : FIRST_PLACES;
    wider.touched = PyMem_Calloc(wider.places, sizeof *wider.touched);
    if (wider.touched == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (size_t i = 0; i < journal->places; i++) {
        if (journal->touched[i].list != NULL) {
            *place_of(&wider, journal->touched[i].list) = journal->touched[i];
        }
    }
    PyMem_Free(journal->touched);
    *journal = wider;
    return 0;
}

/* Note that the program has made a list; 0, or -1 with MemoryError. */
static int
note_made(DlJournal *journal, PyObject *list)
{
    if (grow(journal) < 0) {
        return -1;
    }
    DlTouched *one = place_of(journal, list);
    journal->n_touched += one->list == NULL;
    *one = (DlTouched){.list = list, .own = 1};
    return 0;
}

PyObject *
dl_journal_list(DlJournal *journal, Py_ssize_t size)
{
    int collects = PyGC_Disable(); /* NB: up to 3.11 a new list may start a collection, which runs finalisers */
    PyObject *list = PyList_New(size);
    if (collects) {
        PyGC_Enable();
    }
    if (list != NULL && note_made(journal, list) < 0) {
        Py_CLEAR(list);
    }
    return list;
}

/* Append a row, of which the references are taken: 0, or -1 with MemoryError. */
static int
note(DlJournal *journal, DlReplaced row)
{
    if (journal->n == journal->room) {
        Py_ssize_t room = journal->room ? 2 * journal->room : 32;
        DlReplaced *rows = PyMem_Realloc(journal->rows, (size_t)room * sizeof *rows);
        if (rows == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        journal->rows = rows;
        journal->room = room;
    }
    Py_INCREF(row.container);
    Py_XINCREF(row.key);
    Py_XINCREF(row.old);
    journal->rows[journal->n++] = row;
    return 0;
}

int
dl_journal_replace(DlJournal *journal, PyObject *dict, PyObject *key, PyObject *old)
{
    if (!dl_quiet_dies(old, 0, NULL)) {
        return 1;
    }
    return note(journal, (DlReplaced){.container = dict, .key = key, .old = old});
}

int
dl_journal_change(DlJournal *journal, PyObject *list, Py_ssize_t index)
{
    if (list == journal->latest) {
        return 0;
    }
    DlTouched *one = journal->places ? place_of(journal, list) : NULL;
    Py_ssize_t size = PyList_GET_SIZE(list);
    if (one == NULL || one->list == NULL) {
        if (grow(journal) < 0) {
            return -1;
        }
        one = place_of(journal, list);
        *one = (DlTouched){.list = Py_NewRef(list), .size = size};
        journal->n_touched++;
    }
    if (one->own || (one->quiet && !journal->loud)) {
        journal->latest = list;
        return 0;
    }
    if (index >= size) {
        return 0; /* what is appended is cut off */
    }
    if (index >= 0 && !dl_quiet_dies(PyList_GET_ITEM(list, index), 2, NULL)) {
        return 1;
    }
    if (index >= 0 && one->held == NULL && one->replaced < one->size / PART + FEW_ITEMS) {
        one->replaced++;
        return note(journal, (DlReplaced){.container = list, .index = index, .old = PyList_GET_ITEM(list, index)});
    }
    if (one->held == NULL) {
        one->held = PyList_GetSlice(list, 0, size);
        if (one->held == NULL) {
            return -1;
        }
        one->quiet = dl_quiet_dies(list, 3, NULL);
    }
    return index < 0 && !dl_quiet_dies(list, 3, NULL);
}

void
dl_journal_take(DlJournal *journal, PyObject *object)
{
    if (!PyFloat_CheckExact(object) && !journal->loud && !dl_quiet_dies(object, 2, NULL)) {
        journal->loud = 1;
        journal->latest = NULL;
    }
}

void
dl_journal_undo(DlJournal *journal)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    for (size_t i = 0; i < journal->places; i++) {
        const DlTouched *one = &journal->touched[i];
        if (one->held != NULL && PyList_SetSlice(one->list, 0, NPY_MAX_INTP, one->held) < 0) {
            PyErr_WriteUnraisable(one->list);
        }
    }
    for (Py_ssize_t i = journal->n - 1; i >= 0; i--) {
        const DlReplaced *row = &journal->rows[i];
        int status = row->key == NULL   ? PyList_SetItem(row->container, row->index, Py_NewRef(row->old))
                     : row->old == NULL ? PyObject_DelItem(row->container, row->key)
                                        : PyObject_SetItem(row->container, row->key, row->old);
        if (status < 0) {
            PyErr_WriteUnraisable(row->container);
        }
    }
    for (size_t i = 0; i < journal->places; i++) {
        const DlTouched *one = &journal->touched[i];
        if (one->list != NULL && !one->own && PyList_SetSlice(one->list, one->size, NPY_MAX_INTP, NULL) < 0) {
            PyErr_WriteUnraisable(one->list);
        }
    }
    PyErr_Restore(type, value, traceback);
}

void
dl_journal_clear(DlJournal *journal)
{
    for (Py_ssize_t i = 0; i < journal->n; i++) {
        Py_DECREF(journal->rows[i].container);
        Py_XDECREF(journal->rows[i].key);
        Py_XDECREF(journal->rows[i].old);
    }
    for (size_t i = 0; i < journal->places; i++) {
        const DlTouched *one = &journal->touched[i];
        if (one->list != NULL && !one->own) {
            Py_DECREF(one->list);
            Py_XDECREF(one->held);
        }
    }
    PyMem_Free(journal->rows);
    PyMem_Free(journal->touched);
    *journal = (DlJournal){0};
}
