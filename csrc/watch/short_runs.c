/* Loops that begin anew again and again for few and short rounds, as the inner one of

       for site in order:
           for near in neighbours[site]:
               ...

   Of such a loop each run would be looked at from its begin on, in each of its rounds, since what lies between two runs is
   not its own time: the clock takes as long as a short round. Where one run like the others has been seen, some pass
   without a look, twice as many each time, and are taken to be like it. Protected by the GIL. */
#include "short_runs.h"

#include "numpy_api.h"

enum { SEEN = 2, MOST_PASSING = 16, LONGEST = 1 << 16 };

/* Set *found to `item` if that is an array. */
static int
array_of(PyObject *item, void *found)
{
    if (PyArray_CheckExact(item)) {
        *(PyObject **)found = item;
    }
    return 0;
}

/* Lessen *left to the items that `iterator` has left, where that is of a kind whose length hint runs no code of the user's,
   an enumerate or zip of such, or the tuple in which a zip has them. */
static int
least_left(PyObject *iterator, void *left)
{
    PyTypeObject *type = Py_TYPE(iterator);
    if (type == &PyEnum_Type || type == &PyZip_Type) {
        return type->tp_traverse(iterator, least_left, left);
    }
    if (type == &PyTuple_Type) {
        for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(iterator); i++) {
            least_left(PyTuple_GET_ITEM(iterator, i), left);
        }
        return 0;
    }
    PyObject *array = NULL;
    if (type == &PySeqIter_Type) { /* goes by index over whatever has one */
        type->tp_traverse(iterator, array_of, &array);
    }
    if (array != NULL || type == &PyRangeIter_Type || type == &PyListIter_Type || type == &PyTupleIter_Type) {
        Py_ssize_t hint = PyObject_LengthHint(iterator, -1), *least = left;
        PyErr_Clear(); /* more than fit */
        *least = hint >= 0 && hint < *least ? hint : *least;
    }
    return 0;
}

int
dl_short_runs_are_told(DlShortRuns *runs, DlFrame *frame, int depth, uint64_t rounds, int *begins)
{
    Py_ssize_t before = runs->left, left = PY_SSIZE_T_MAX;
    PyObject *names = dl_pyframe_slot_names(dl_pyframe_code(frame));
    int is_given = PyTuple_GET_SIZE(names) > 0 && PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(names, 0), ".0") == 0;
    if (depth > 0 && is_given) {
        PyObject *iterator = dl_pyframe_stack_item(frame, depth - 1);
        least_left(iterator, &left);
        Py_DECREF(iterator);
    }
    runs->left = left;
    *begins |= left < PY_SSIZE_T_MAX && before - left < (Py_ssize_t)rounds; /* a round may take several */
    return left < PY_SSIZE_T_MAX;
}

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
