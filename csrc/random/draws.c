/* Random generators that a program draws from: it draws from a twin, whose state becomes the user's when it succeeds.
 *
 * A NumPy bit generator, as Python's own random.Random, keeps its whole state in its own object, behind what all of them
 * have in common: one like it that gets these bytes yields the same stream. What a RandomState keeps besides, a normal
 * number for the next draw, lies behind the only pointer of the object into itself. ops/draws.py tries both out before it
 * allows a type.
 * Nobody sees the twin, so that a program that declines has nothing to undo, whatever other threads have drawn meanwhile;
 * one that succeeds declines after all where the user's state is not what it began with. Its draws appear at once.
 * INVARIANT: the GIL is held from the comparison to the last write, and the locks of all generators if there are other
 * threads. They are tried, never waited for.
 */
#include "program/program.h"

#include "mersenne.h"
#include "frame/pyframe.h"
#include "variates.h"

enum {
    MOST_OWN = 8, /* pointers of a state into its own object */
    KEPT = 16,    /* bytes of what a RandomState keeps: has_gauss, gauss */
    MOST_TYPES = 16,
};

struct DlDraws {
    struct DlDraws *next;
    PyObject *bits, *generator, *legacy; /* owned: the twins, made when needed */
    bitgen_t *interface;                 /* of `bits` */
    bitgen_t mersenne;                   /* that of one of Python's */
    size_t offset, size;                 /* where in the object the state lies */
    size_t own[MOST_OWN];                /* the words of it that are pointers into the object, which stay what they are */
    int n_own;
    PyObject *user, *user_legacy; /* owned, during a run: whose twins these are; a RandomState, if there is one */
    int locked;
    char *before; /* owned: the user's state, and what the RandomState kept */
};

static PyTypeObject *generator_type, *legacy_type; /* owned; NULL until a type is allowed */
static PyTypeObject *python_type;                  /* owned: random.Random; NULL until it is allowed */
static PyObject *allowed[MOST_TYPES];              /* owned: types of bit generators */
static size_t kept_offset;                         /* in a RandomState; 0: none is allowed */
static struct DlDraws *spare;                      /* twins that no run has */

static char *
state_of(PyObject *bits, const struct DlDraws *twin)
{
    return (char *)bits + twin->offset;
}

static char *
kept_of(PyObject *legacy)
{
    return (char *)legacy + kept_offset;
}

/* Copy a state from one object to another, but for its pointers into itself. */
static void
copy_state(const struct DlDraws *twin, PyObject *to, PyObject *from)
{
    char *dst = state_of(to, twin);
    const char *src = state_of(from, twin);
    size_t begin = 0;
    for (int i = 0; i < twin->n_own; i++) {
        memcpy(dst + begin, src + begin, twin->own[i] - begin);
        begin = twin->own[i] + sizeof(void *);
    }
    memcpy(dst + begin, src + begin, twin->size - begin);
}

/* Whether the word is a pointer into the object. */
static int
points_into(const char *word, PyObject *object)
{
    uintptr_t pointer;
    memcpy(&pointer, word, sizeof pointer);
    return pointer >= (uintptr_t)object && pointer < (uintptr_t)object + (uintptr_t)Py_TYPE(object)->tp_basicsize;
}

/* What a bit generator draws with, which lives as long as it does; NULL with an error set. */
static bitgen_t *
find_interface(PyObject *bits)
{
    PyObject *capsule = PyObject_GetAttrString(bits, "capsule");
    bitgen_t *interface = capsule ? PyCapsule_GetPointer(capsule, "BitGenerator") : NULL;
    Py_XDECREF(capsule);
    return interface;
}

/* Find the state of a fresh bit generator: 0, or -1 with an error set. */
static int
find_state(struct DlDraws *twin)
{
    bitgen_t *interface = twin->interface = find_interface(twin->bits);
    if (interface == NULL) {
        return -1;
    }
    uintptr_t start = (uintptr_t)twin->bits, state = (uintptr_t)interface->state;
    uintptr_t end = start + (uintptr_t)Py_TYPE(twin->bits)->tp_basicsize;
    if (state <= start || state >= end || (end - state) % sizeof(void *) != 0) {
        PyErr_SetString(PyExc_TypeError, "its state does not lie in the object");
        return -1;
    }
    twin->offset = state - start;
    twin->size = end - state;
    for (size_t at = 0; at < twin->size; at += sizeof(void *)) {
        if (points_into(state_of(twin->bits, twin) + at, twin->bits)) {
            if (twin->n_own == MOST_OWN) {
                PyErr_SetString(PyExc_TypeError, "its state has many pointers");
                return -1;
            }
            twin->own[twin->n_own++] = at;
        }
    }
    return 0;
}

static void
free_twin(struct DlDraws *twin)
{
    Py_XDECREF(twin->bits);
    Py_XDECREF(twin->generator);
    Py_XDECREF(twin->legacy);
    PyMem_Free(twin->before);
    PyMem_Free(twin);
}

/* Twins of a type of bit generators, or of random.Random, which is its own; or NULL with an error set. */
static struct DlDraws *
make_twin(PyTypeObject *type)
{
    struct DlDraws *twin = PyMem_Calloc(1, sizeof *twin);
    if (twin == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    twin->bits = PyObject_CallFunction((PyObject *)type, "i", 0); /* NB: a seed, so that the system is not asked for one */
    if (twin->bits != NULL && type == python_type) {
        twin->offset = DL_MERSENNE_AT;
        twin->size = DL_MERSENNE_SIZE;
        twin->generator = Py_NewRef(twin->bits);
        twin->mersenne = dl_mersenne_interface(twin->bits);
        twin->interface = &twin->mersenne;
    }
    else if (twin->bits == NULL || find_state(twin) < 0) {
        free_twin(twin);
        return NULL;
    }
    twin->before = PyMem_Malloc(twin->size + KEPT);
    if (twin->before == NULL) {
        PyErr_NoMemory();
        free_twin(twin);
        return NULL;
    }
    return twin;
}

/* Twins that no run has. */
static struct DlDraws *
get_twin(PyTypeObject *type)
{
    for (struct DlDraws **place = &spare; *place != NULL; place = &(*place)->next) {
        if (Py_IS_TYPE((*place)->bits, type)) {
            struct DlDraws *twin = *place;
            *place = twin->next;
            return twin;
        }
    }
    return make_twin(type);
}

static void
put_back(struct DlDraws *twin)
{
    Py_CLEAR(twin->user);
    Py_CLEAR(twin->user_legacy);
    twin->next = spare;
    spare = twin;
}

/* Take the lock of the user's bit generator if it is free: 1, 0, or -1 with an error set. One of Python's has none, it
   draws under the GIL. */
static int
try_lock(struct DlDraws *twin)
{
    if (twin->interface == &twin->mersenne) {
        return 1;
    }
    PyObject *lock = PyObject_GetAttrString(twin->user, "lock");
    PyObject *taken = lock ? PyObject_CallMethod(lock, "acquire", "O", Py_False) : NULL;
    twin->locked = taken ? PyObject_IsTrue(taken) : -1;
    Py_XDECREF(lock);
    Py_XDECREF(taken);
    return twin->locked;
}

static void
unlock(struct DlDraws *twin)
{
    if (twin->locked <= 0) {
        return;
    }
    PyObject *lock = PyObject_GetAttrString(twin->user, "lock");
    PyObject *done = lock ? PyObject_CallMethod(lock, "release", NULL) : NULL;
    if (done == NULL) {
        PyErr_WriteUnraisable(twin->user);
    }
    Py_XDECREF(lock);
    Py_XDECREF(done);
    twin->locked = 0;
}

/* The twin begins with the user's state. */
static void
load(struct DlDraws *twin)
{
    memcpy(twin->before, state_of(twin->user, twin), twin->size);
    copy_state(twin, twin->bits, twin->user);
}

/* The twin of a generator among those of the run: borrowed; NULL where there is none, with or without an error set.
 * any: its bit generator need not be allowed. */
static PyObject *
take(struct DlDraws **taken, PyObject *object, int threads, int any)
{
    int is_legacy = Py_IS_TYPE(object, legacy_type);
    PyObject *user = Py_IS_TYPE(object, python_type) ? Py_NewRef(object) : PyObject_GetAttrString(object, "_bit_generator");
    if (user == NULL) {
        return NULL;
    }
    struct DlDraws *twin = *taken;
    while (twin != NULL && twin->user != user) {
        twin = twin->next;
    }
    if (twin == NULL) {
        int known = any;
        for (int i = 0; i < MOST_TYPES && allowed[i] != NULL; i++) {
            known |= (PyObject *)Py_TYPE(user) == allowed[i];
        }
        twin = known ? get_twin(Py_TYPE(user)) : NULL;
        if (twin == NULL) {
            Py_DECREF(user);
            return NULL;
        }
        twin->user = Py_NewRef(user);
        twin->locked = 0;
        if (threads && try_lock(twin) != 1) { /* another thread draws from it, without the GIL */
            Py_DECREF(user);
            put_back(twin);
            return NULL;
        }
        load(twin);
        unlock(twin);
        twin->next = *taken;
        *taken = twin;
    }
    Py_DECREF(user);
    PyObject **place = is_legacy ? &twin->legacy : &twin->generator;
    if (*place == NULL) {
        *place = PyObject_CallOneArg((PyObject *)(is_legacy ? legacy_type : generator_type), twin->bits);
    }
    if (*place != NULL && is_legacy) {
        if (kept_offset == 0 || (twin->user_legacy != NULL && twin->user_legacy != object)) {
            return NULL; /* two that share a bit generator: each keeps a number of its own */
        }
        if (twin->user_legacy == NULL) {
            twin->user_legacy = Py_NewRef(object);
            memcpy(twin->before + twin->size, kept_of(object), KEPT);
            memcpy(kept_of(twin->legacy), kept_of(object), KEPT);
        }
    }
    return *place;
}

int
dl_draws_has(PyObject *object)
{
    return (generator_type != NULL && (Py_IS_TYPE(object, generator_type) || Py_IS_TYPE(object, legacy_type)))
           || Py_IS_TYPE(object, python_type);
}

DlStatus
dl_draws_take(DlRun *run, DlReg *reg, PyObject *object)
{
    PyObject *twin = take(&run->draws, object, dl_pyframe_has_other_threads(), 0);
    if (twin == NULL) {
        PyErr_Clear(); /* plain Python draws from it, or raises */
        return dl_decline(run, DL_REASON_DRAWS);
    }
    dl_reg_take(reg, Py_NewRef(twin));
    return 0;
}

bitgen_t *
dl_draws_interface(const DlRun *run, PyObject *generator, char **kept)
{
    const struct DlDraws *twin = run->outermost->draws;
    while (twin->generator != generator && twin->legacy != generator) {
        twin = twin->next;
    }
    *kept = twin->legacy == generator ? kept_of(generator) : NULL;
    return twin->interface;
}

/* Whether the user's state is what the run began with. */
static int
is_as_before(const struct DlDraws *twin)
{
    return memcmp(twin->before, state_of(twin->user, twin), twin->size) == 0
           && (twin->user_legacy == NULL
               || memcmp(twin->before + twin->size, kept_of(twin->user_legacy), KEPT) == 0);
}

/* Give the user's generators the states of their twins, all of them or none: 1 or 0. */
static int
commit(struct DlDraws *taken)
{
    int threads = dl_pyframe_has_other_threads(), same = 1;
    for (struct DlDraws *twin = taken; twin != NULL && same; twin = twin->next) {
        same = !threads || try_lock(twin) == 1;
    }
    PyErr_Clear();
    for (struct DlDraws *twin = taken; twin != NULL && same; twin = twin->next) {
        same = is_as_before(twin);
    }
    for (struct DlDraws *twin = taken; twin != NULL && same; twin = twin->next) {
        copy_state(twin, twin->user, twin->bits);
        if (twin->user_legacy != NULL) {
            memcpy(kept_of(twin->user_legacy), kept_of(twin->legacy), KEPT);
        }
    }
    for (struct DlDraws *twin = taken; twin != NULL; twin = twin->next) {
        unlock(twin);
    }
    return same;
}

DlStatus
dl_draws_commit(DlRun *run)
{
    return commit(run->draws) ? 0 : dl_decline(run, DL_REASON_DRAWS);
}

void
dl_draws_end(DlRun *run)
{
    while (run->draws != NULL) {
        struct DlDraws *twin = run->draws;
        run->draws = twin->next;
        put_back(twin);
    }
}

/* ---- which types are allowed ---- */

/* Where a RandomState keeps a number: behind its only pointer into itself. 0 or -1. */
static int
find_kept(PyObject *legacy)
{
    size_t found = 0, size = (size_t)Py_TYPE(legacy)->tp_basicsize;
    for (size_t at = sizeof(PyObject); at + sizeof(void *) + KEPT <= size; at += sizeof(void *)) {
        if (points_into((char *)legacy + at, legacy)) {
            if (found != 0) {
                return -1;
            }
            found = at + sizeof(void *);
        }
    }
    kept_offset = found;
    return found ? 0 : -1;
}

/* learn_draws(Generator, legacy): the types that programs draw from; legacy: a RandomState. */
static PyObject *
learn_draws(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *generator, *legacy;
    if (!PyArg_ParseTuple(args, "O!O:learn_draws", &PyType_Type, &generator, &legacy)) {
        return NULL;
    }
    if (find_kept(legacy) < 0) {
        PyErr_SetString(PyExc_TypeError, "what it keeps lies elsewhere");
        return NULL;
    }
    Py_XSETREF(generator_type, (PyTypeObject *)Py_NewRef(generator));
    Py_XSETREF(legacy_type, (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(legacy)));
    Py_RETURN_NONE;
}

/* learn_python_draws(generator, words): programs draw from generators of that type, a random.Random, if its state, which
   `words` is as getstate() tells it, lies where we look for it; None, (): from none. Whether they do. */
static PyObject *
learn_python_draws(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *generator, *words;
    if (!PyArg_ParseTuple(args, "OO!:learn_python_draws", &generator, &PyTuple_Type, &words)) {
        return NULL;
    }
    int fits = generator == Py_None ? 0 : dl_mersenne_lies(generator, words);
    Py_XSETREF(python_type, fits ? (PyTypeObject *)Py_NewRef((PyObject *)Py_TYPE(generator)) : NULL);
    return PyBool_FromLong(fits);
}

/* allow_draws(type): programs may draw from generators with such a bit generator. */
static PyObject *
allow_draws(PyObject *Py_UNUSED(module), PyObject *type)
{
    for (int i = 0; i < MOST_TYPES; i++) {
        if (allowed[i] == NULL || allowed[i] == type) {
            Py_XSETREF(allowed[i], Py_NewRef(type));
            Py_RETURN_NONE;
        }
    }
    PyErr_SetString(PyExc_RuntimeError, "too many types of bit generators");
    return NULL;
}

/* draw_twin(generator, function): function(its twin), whose state then is the generator's; of any bit generator. */
static PyObject *
draw_twin(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *object, *function;
    if (!PyArg_ParseTuple(args, "OO:draw_twin", &object, &function)) {
        return NULL;
    }
    struct DlDraws *taken = NULL;
    PyObject *twin = dl_draws_has(object) ? take(&taken, object, 0, 1) : NULL;
    PyObject *result = twin ? PyObject_CallOneArg(function, twin) : NULL;
    if (result != NULL && !commit(taken)) {
        Py_CLEAR(result);
    }
    while (taken != NULL) {
        struct DlDraws *next = taken->next;
        put_back(taken);
        taken = next;
    }
    if (result == NULL && !PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "it has no twin");
    }
    return result;
}

/* draw_numbers(generator, kind, a, b, out, weights=None): fill a packed array as machine code would; whether it could.
   weights: of positions. */
static PyObject *
draw_numbers(PyObject *Py_UNUSED(module), PyObject *args)
{
    PyObject *generator;
    PyArrayObject *out, *weights = NULL;
    int kind;
    double a, b;
    if (!PyArg_ParseTuple(args, "OiddO!|O!:draw_numbers", &generator, &kind, &a, &b, &PyArray_Type, &out, &PyArray_Type,
                          &weights)) {
        return NULL;
    }
    int is_python = Py_IS_TYPE(generator, python_type);
    bitgen_t mersenne = dl_mersenne_interface(generator);
    PyObject *bits = is_python ? NULL : PyObject_GetAttrString(generator, "_bit_generator");
    bitgen_t *interface = is_python ? &mersenne : bits ? find_interface(bits) : NULL;
    int32_t failed = 1;
    if (interface != NULL) {
        char *kept = Py_IS_TYPE(generator, legacy_type) ? kept_of(generator) : NULL;
        npy_intp n = PyArray_SIZE(out);
        if (kind == DL_DRAW_INTEGERS) {
            failed = dl_variates_fill_integers(interface, kept, (int64_t)a, (int64_t)b, PyArray_DATA(out), n);
        }
        else if (kind == DL_DRAW_ORDER) {
            failed = dl_variates_order(interface, PyArray_DATA(out), n);
        }
        else if (kind == DL_DRAW_WEIGHTED) {
            failed = weights == NULL || dl_variates_choose(interface, PyArray_DATA(weights), PyArray_SIZE(weights),
                                                           sizeof(double), PyArray_DATA(out), n);
        }
        else {
            failed = dl_variates_fill(interface, kept, kind, a, b, PyArray_DATA(out), n);
        }
    }
    Py_XDECREF(bits);
    return interface ? PyBool_FromLong(failed == 0) : NULL;
}

PyMethodDef dl_draws_functions[] = {
    {"draw_numbers", draw_numbers, METH_VARARGS,
     "draw_numbers(generator, kind, a, b, out, weights=None): fill an array as machine code would; whether it could."},
    {"learn_draws", learn_draws, METH_VARARGS, "learn_draws(Generator, legacy): the types that programs draw from."},
    {"learn_python_draws", learn_python_draws, METH_VARARGS,
     "learn_python_draws(generator, words): whether programs draw from those of its type, by where its state lies."},
    {"allow_draws", allow_draws, METH_O, "allow_draws(type): a type of bit generators that programs draw from."},
    {"draw_twin", draw_twin, METH_VARARGS,
     "draw_twin(generator, function): function(its twin), whose state then is the generator's."},
    {NULL, NULL, 0, NULL},
};
