/* CacheEntry and the caches that hang on code objects (see cache.h). */
#include "cache.h"

#include <structmember.h>

#include "dispatch.h"
#include "eval_hook.h"
#include "pyframe.h"
#include "watch/watch.h"

enum { RETIRE_AFTER = 16 };
static const double FADE = 1.0 - 1.0 / 64; /* so that about the last 64 declines and what ran among them count */

DlCounters dl_counters;

static Py_ssize_t extra_index = -1;

/* ---- CacheEntry ---- */

/* The code object that thing, a code object or a Python function, stands for, borrowed; NULL with TypeError set. */
static PyCodeObject *
code_of(PyObject *thing)
{
    if (PyFunction_Check(thing)) {
        return (PyCodeObject *)PyFunction_GET_CODE(thing);
    }
    if (!PyCode_Check(thing)) {
        PyErr_Format(PyExc_TypeError, "expected a code object or a Python function, not %.100s", Py_TYPE(thing)->tp_name);
        return NULL;
    }
    return (PyCodeObject *)thing;
}

/* None as NULL, anything else as a new reference. */
static PyObject *
or_null(PyObject *value)
{
    return value == Py_None ? NULL : Py_NewRef(value);
}

/* Note that what is called is residual code, if it is Python's; 0 or -1. */
static int
mark_residual(PyObject *residual)
{
    if (PyFunction_Check(residual) || PyCode_Check(residual)) {
        DlCache *cache = dl_cache_get(code_of(residual));
        if (cache == NULL) {
            return -1;
        }
        cache->residual = 1;
    }
    return 0;
}

/* Read the condition of calls that pay; 0 or -1 with an error set. */
static int
take_condition(DlEntry *self, PyObject *condition)
{
    self->pays = -1;
    if (condition == NULL || condition == Py_None) {
        return 0;
    }
    self->pays = dl_scalar_add(&self->numbers, condition);
    int fits = self->pays < 0 || (self->guards_native && self->numbers.n_values <= DL_PAYS_VALUES);
    for (int32_t i = 0; i < self->numbers.n_loads; i++) {
        fits &= self->numbers.loads[i].input >= 0 && self->numbers.loads[i].input < self->n_inputs;
    }
    if (!fits) {
        PyErr_Format(PyExc_ValueError, "CacheEntry: %R is no short condition of the inputs", condition);
    }
    return self->pays < 0 || !fits ? -1 : 0;
}

/* Read a row of what residual code gives: the number of an argument, or a tuple with a constant; 0 or -1. */
static int
take_row(DlEntry *self, PyObject *item, Py_ssize_t flag)
{
    struct DlReturned *row = &self->returns[self->n_returns];
    row->flag = flag;
    row->index = PyLong_Check(item) ? PyLong_AsSsize_t(item) : -1;
    row->constant = PyTuple_Check(item) && PyTuple_GET_SIZE(item) == 1 ? Py_NewRef(PyTuple_GET_ITEM(item, 0)) : NULL;
    self->n_returns++;
    if (row->constant == NULL && row->index < 0) {
        PyErr_Format(PyExc_ValueError, "CacheEntry: %R is no item of what is returned", item);
        return -1;
    }
    return 0;
}

/* Whether an item is a choice: a tuple of flags, each with what it is where that is True, and what it is otherwise. */
static int
is_choice(PyObject *item)
{
    return PyTuple_Check(item) && PyTuple_GET_SIZE(item) > 1 && PyTuple_GET_SIZE(item) % 2 == 1;
}

/* Read one item; 0 or -1. */
static int
take_returned(DlEntry *self, PyObject *item)
{
    if (!is_choice(item)) {
        return take_row(self, item, -1);
    }
    Py_ssize_t last = PyTuple_GET_SIZE(item) - 1;
    for (Py_ssize_t i = 0; i < last; i += 2) {
        Py_ssize_t flag = PyLong_AsSsize_t(PyTuple_GET_ITEM(item, i));
        if (flag < 0) {
            return PyErr_Occurred() ? -1 : (PyErr_SetString(PyExc_ValueError, "CacheEntry: a flag is an argument"), -1);
        }
        if (take_row(self, PyTuple_GET_ITEM(item, i + 1), flag) < 0) {
            return -1;
        }
    }
    return take_row(self, PyTuple_GET_ITEM(item, last), -1);
}

/* Read what residual code gives, a list for a tuple; 0 or -1 with an error set. */
static int
take_returns(DlEntry *self, PyObject *returns)
{
    if (returns == NULL || returns == Py_None) {
        return 0;
    }
    self->returns_tuple = PyList_Check(returns);
    Py_ssize_t n = self->n_items = self->returns_tuple ? PyList_GET_SIZE(returns) : 1, n_rows = n;
    for (Py_ssize_t i = 0; i < n; i++) {
        PyObject *item = self->returns_tuple ? PyList_GET_ITEM(returns, i) : returns;
        n_rows += is_choice(item) ? PyTuple_GET_SIZE(item) / 2 : 0;
    }
    self->returns = PyMem_Calloc((size_t)n_rows + 1, sizeof *self->returns);
    if (self->returns == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    int status = 0;
    for (Py_ssize_t i = 0; i < n && status == 0; i++) {
        status = take_returned(self, self->returns_tuple ? PyList_GET_ITEM(returns, i) : returns);
    }
    return status;
}

/* CacheEntry(guards, program, residual, calls_python=True, least=0, most=sys.maxsize, exits=(), pays=None, stores=False,
 *            returns=None). */
static PyObject *
entry_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"guards", "program", "residual", "calls_python", "least",
                            "most",   "exits",   "pays",     "stores",       "returns", NULL};
    PyObject *guards, *program, *residual, *exits = NULL, *pays = NULL, *returns = NULL;
    int calls_python = 1, stores = 0;
    Py_ssize_t least = 0, most = PY_SSIZE_T_MAX;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO|pnnO!OpO:CacheEntry", names, &guards, &program, &residual,
                                     &calls_python, &least, &most, &PyTuple_Type, &exits, &pays, &stores, &returns)) {
        return NULL;
    }
    PyObject *parts[] = {guards, program, residual};
    for (int i = 0; i < 3; i++) {
        int known = i == 0 ? dl_dispatch_is_guards(guards) : i == 2 && PyCode_Check(residual);
        if (parts[i] != Py_None && !PyCallable_Check(parts[i]) && !known) {
            return PyErr_Format(PyExc_TypeError, "CacheEntry: %s must be callable or None, not %.100s", names[i],
                                Py_TYPE(parts[i])->tp_name);
        }
    }
    DlEntry *self = (DlEntry *)type->tp_alloc(type, 0);
    if (self == NULL) {
        return NULL;
    }
    self->guards = or_null(guards);
    self->program = or_null(program);
    self->residual = or_null(residual);
    self->exits = exits && PyTuple_GET_SIZE(exits) > 0 ? Py_NewRef(exits) : NULL;
    self->calls_python = (char)calls_python;
    self->stores = (char)stores;
    self->least = least;
    self->most = most;
    self->retired = program == Py_None && residual == Py_None; /* nothing to run: what passes the guards runs plainly */
    int status = take_returns(self, returns);
    dl_dispatch_bind_entry(self);
    status = status < 0 || take_condition(self, pays) < 0 ? -1 : mark_residual(residual);
    for (Py_ssize_t i = 0; self->exits != NULL && i < PyTuple_GET_SIZE(exits) && status == 0; i++) {
        status = mark_residual(PyTuple_GET_ITEM(exits, i));
    }
    if (status < 0) {
        Py_DECREF(self);
        return NULL;
    }
    if (self->residual == NULL && self->program_native && self->n_outputs < 1) {
        Py_DECREF(self);
        PyErr_SetString(PyExc_ValueError, "CacheEntry: a program without outputs needs residual code");
        return NULL;
    }
    return (PyObject *)self;
}

static int
entry_traverse(DlEntry *self, visitproc visit, void *arg)
{
    Py_VISIT(self->guards);
    Py_VISIT(self->program);
    Py_VISIT(self->residual);
    Py_VISIT(self->exits);
    Py_VISIT(self->look_again);
    Py_VISIT(self->restart);
    for (Py_ssize_t i = 0; i < self->n_returns; i++) {
        Py_VISIT(self->returns[i].constant);
    }
    Py_VISIT(self->retired_reason);
    return 0;
}

static void
entry_dealloc(DlEntry *self)
{
    PyObject_GC_UnTrack(self);
    Py_CLEAR(self->guards);
    Py_CLEAR(self->program);
    Py_CLEAR(self->residual);
    Py_CLEAR(self->exits);
    Py_CLEAR(self->look_again);
    Py_CLEAR(self->restart);
    while (self->n_returns > 0) {
        self->n_returns--; /* NB: CPython 3.11's Py_CLEAR evaluates its argument twice */
        Py_CLEAR(self->returns[self->n_returns].constant);
    }
    PyMem_Free(self->returns);
    Py_CLEAR(self->retired_reason);
    dl_scalar_clear(&self->numbers);
    Py_TYPE(self)->tp_free(self);
}

static PyObject *
entry_repr(DlEntry *self)
{
    return PyUnicode_FromFormat("<CacheEntry guards=%R program=%R residual=%R hits=%llu declines=%llu%s>",
                                self->guards ? self->guards : Py_None, self->program ? self->program : Py_None,
                                self->residual ? self->residual : Py_None, (unsigned long long)self->hits,
                                (unsigned long long)self->declines, self->retired ? " retired" : "");
}

/* retire(reason): from now on calls that pass the guards run plainly. */
static PyObject *
entry_retire(DlEntry *self, PyObject *reason)
{
    self->retired = 1;
    Py_XSETREF(self->retired_reason, Py_NewRef(reason));
    Py_RETURN_NONE;
}

static PyMethodDef entry_methods[] = {
    {"retire", (PyCFunction)entry_retire, METH_O, "retire(reason): calls that pass the guards run plainly from now on."},
    {NULL, NULL, 0, NULL},
};

static PyMemberDef entry_members[] = {
    {"guards", T_OBJECT, offsetof(DlEntry, guards), READONLY, "what must hold for this entry to run"},
    {"program", T_OBJECT, offsetof(DlEntry, program), READONLY, "what computes the outputs from the inputs"},
    {"residual", T_OBJECT, offsetof(DlEntry, residual), READONLY, "what makes the value from slots and outputs"},
    {"exits", T_OBJECT, offsetof(DlEntry, exits), READONLY, "what goes on where a loop was left, by exit; or None"},
    {"look_again", T_OBJECT, offsetof(DlEntry, look_again), 0, "called at the 2nd, 4th, 8th ... such report; or None"},
    {"restart", T_OBJECT, offsetof(DlEntry, restart), 0, "gives a function's code that comes back at a back edge; or None"},
    {"at_loop", T_BOOL, offsetof(DlEntry, at_loop), 0, "whether it begins with an iteration of a loop"},
    {"calls_python", T_BOOL, offsetof(DlEntry, calls_python), READONLY, "whether residual may call Python functions"},
    {"defers", T_BYTE, offsetof(DlEntry, defers), 0, "1: interrupts wait while residual code of exits runs, 2: of any"},
    {"polled", T_BOOL, offsetof(DlEntry, polled), 0, "whether the function's code comes back at back edges by itself"},
    {"judged", T_BOOL, offsetof(DlEntry, judged), 0, "whether calls that begin with it are timed, and rest where they lose"},
    {"least", T_PYSSIZET, offsetof(DlEntry, least), 0, "fewest elements of the largest input for which it runs"},
    {"most", T_PYSSIZET, offsetof(DlEntry, most), 0, "most elements of the largest input for which it runs"},
    {"unsized", T_ULONGLONG, offsetof(DlEntry, unsized), 0, "a bit for each input that does not count for that"},
    {"hits", T_ULONGLONG, offsetof(DlEntry, hits), READONLY, "how often the program ran to its end"},
    {"declines", T_ULONGLONG, offsetof(DlEntry, declines), READONLY, "how often the program declined"},
    {"retired", T_BOOL, offsetof(DlEntry, retired), READONLY, "whether calls that pass the guards now run plainly"},
    {"retired_reason", T_OBJECT, offsetof(DlEntry, retired_reason), READONLY, "the last decline's reason, or None"},
    {NULL, 0, 0, 0, NULL},
};

PyTypeObject dl_entry_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.CacheEntry",
    .tp_doc = "CacheEntry(guards, program, residual, calls_python=True, least=0, most=sys.maxsize, exits=())",
    .tp_basicsize = sizeof(DlEntry),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = entry_new,
    .tp_dealloc = (destructor)entry_dealloc,
    .tp_traverse = (traverseproc)entry_traverse,
    .tp_repr = (reprfunc)entry_repr,
    .tp_members = entry_members,
    .tp_methods = entry_methods,
};

/* ---- the cache of a code object ---- */

/* Drop the entries of owner (NULL: all); the references go last, since dropping them may run Python code. */
static void
cache_clear(DlCache *cache, PyObject *owner)
{
    DlEntry **entries = cache->entries, *kept;
    Py_ssize_t n = cache->n_entries;
    cache->entries = NULL;
    cache->n_entries = cache->capacity = 0;
    cache->plain.streak = cache->watch.barren = 0;
    cache->heat = cache->waits = 0;
    if (owner == NULL || cache->put_off.owner == owner) {
        cache->put_off = (DlPutOff){0};
    }
    if (cache->trials != NULL && (owner == NULL || cache->trials->owner == owner)) {
        memset(cache->trials, 0, sizeof *cache->trials);
    }
    for (Py_ssize_t i = n - 1; i >= 0; i--) { /* backwards: adding puts an entry first */
        kept = entries[i];
        if (owner != NULL && kept->owner != owner && dl_cache_add(cache, kept) < 0) {
            PyErr_Clear(); /* no memory: the entry is made again when it is missed */
        }
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        Py_DECREF(entries[i]);
    }
    PyMem_Free(entries);
}

static void
cache_dealloc(DlCache *cache)
{
    cache_clear(cache, NULL);
    Py_CLEAR(cache->rewritten);
    Py_CLEAR(cache->user);
    Py_CLEAR(cache->round);
    PyMem_Free(cache->trials);
    PyObject_Free(cache);
}

static PyTypeObject cache_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C._Cache",
    .tp_basicsize = sizeof(DlCache),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = (destructor)cache_dealloc,
};

DlCache *
dl_cache_find(PyCodeObject *code)
{
    return dl_pyframe_get_extra(code, extra_index);
}

DlCache *
dl_cache_get(PyCodeObject *code)
{
    DlCache *cache = dl_pyframe_get_extra(code, extra_index);
    if (cache != NULL) {
        return cache;
    }
    cache = PyObject_New(DlCache, &cache_type);
    if (cache == NULL) {
        return NULL;
    }
    memset((char *)cache + sizeof(PyObject), 0, sizeof(DlCache) - sizeof(PyObject));
    int flags = code->co_flags;
    cache->n_slots = (Py_ssize_t)code->co_argcount + code->co_kwonlyargcount + ((flags & CO_VARARGS) != 0) +
                     ((flags & CO_VARKEYWORDS) != 0);
    cache->n_exact = cache->n_slots == code->co_argcount ? cache->n_slots : -1;
    const int generator = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
    cache->uncapturable = (flags & generator) != 0 || (flags & CO_NEWLOCALS) == 0;
    if (dl_pyframe_set_extra(code, extra_index, cache) < 0) {
        Py_DECREF(cache);
        return NULL;
    }
    return cache; /* the code object owns it */
}

void
dl_cache_start_heating(DlHeating *heating, int is_rest)
{
    dl_thread.heating += is_rest;
    *heating = (DlHeating){.asked = dl_thread.asked,
                           .answering = dl_thread.answering,
                           .cold = dl_thread.cold,
                           .frames = dl_thread.frames,
                           .is_rest = is_rest};
    heating->began = dl_now();
}

void
dl_cache_end_heating(DlCache *cache, const DlHeating *heating)
{
    uint64_t time = dl_now() - heating->began, own = heating->is_rest ? time - (dl_thread.frames - heating->frames) : time;
    dl_thread.heating -= heating->is_rest;
    if (dl_thread.asked == heating->asked) { /* nothing was compiled meanwhile */
        cache->heat += (double)own;
        dl_thread.cold = heating->is_rest ? dl_thread.cold + own : heating->cold + time;
    }
    uint64_t answering = dl_thread.answering - heating->answering;
    if (cache->put_off.owner != NULL && time > answering) {
        cache->put_off.taken += (double)(time - answering);
    }
    dl_thread.gains++; /* it may come */
}

DlTrials *
dl_cache_trials(DlCache *cache, PyObject *on_miss)
{
    if (cache->trials == NULL && (cache->trials = PyMem_Calloc(1, sizeof *cache->trials)) == NULL) {
        return NULL;
    }
    if (cache->trials->owner == NULL) {
        cache->trials->owner = on_miss;
    }
    return cache->trials->owner == on_miss ? cache->trials : NULL;
}

int
dl_cache_add(DlCache *cache, DlEntry *entry)
{
    cache->plain.streak = 0;
    for (Py_ssize_t i = 0; i < cache->n_entries; i++) {
        if (cache->entries[i] == entry) {
            dl_cache_promote(cache, i);
            return 0;
        }
    }
    if (cache->n_entries == cache->capacity) {
        Py_ssize_t capacity = cache->capacity ? 2 * cache->capacity : 4;
        DlEntry **entries = PyMem_Resize(cache->entries, DlEntry *, capacity);
        if (entries == NULL) {
            PyErr_NoMemory();
            return -1;
        }
        cache->entries = entries;
        cache->capacity = capacity;
    }
    cache->entries[cache->n_entries] = (DlEntry *)Py_NewRef((PyObject *)entry);
    dl_cache_promote(cache, cache->n_entries++);
    return 0;
}

void
dl_cache_promote(DlCache *cache, Py_ssize_t i)
{
    DlEntry *entry = cache->entries[i];
    memmove(cache->entries + 1, cache->entries, (size_t)i * sizeof(DlEntry *));
    cache->entries[0] = entry;
}

void
dl_cache_note_decline(DlCache *cache, DlEntry *entry, double time, PyObject *reason)
{
    DL_COUNT(cache, declines);
    entry->declines++;
    entry->lost += time;
    int mostly = entry->ran < entry->lost;
    entry->ran *= FADE;
    entry->lost *= FADE;
    if (entry->declines >= RETIRE_AFTER && mostly && !entry->retired) {
        entry->retired = DL_RETIRED_BY_DECLINES;
        entry->retired_reason = Py_XNewRef(reason);
        DL_COUNT(cache, retired);
    }
}

/* ---- Python functions ---- */

/* add_entry(code, entry). */
static PyObject *
add_entry(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *thing, *entry;
    if (!PyArg_ParseTuple(args, "OO!:add_entry", &thing, &dl_entry_type, &entry)) {
        return NULL;
    }
    PyCodeObject *code = code_of(thing);
    DlCache *cache = code ? dl_cache_get(code) : NULL;
    if (cache == NULL || dl_cache_add(cache, (DlEntry *)entry) < 0) {
        return NULL;
    }
    Py_RETURN_NONE;
}

/* wait(code): it runs plainly until it has taken some time, and is asked about then. */
static PyObject *
wait_for_heat(PyObject *module, PyObject *thing)
{
    (void)module;
    PyCodeObject *code = code_of(thing);
    DlCache *cache = code ? dl_cache_get(code) : NULL;
    if (cache == NULL) {
        return NULL;
    }
    cache->waits = 1;
    Py_RETURN_NONE;
}

/* put_off(code, owner, seconds): owner is asked about it once it has taken so many seconds plainly. */
static PyObject *
put_off(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *thing, *owner;
    double seconds;
    if (!PyArg_ParseTuple(args, "OOd:put_off", &thing, &owner, &seconds)) {
        return NULL;
    }
    PyCodeObject *code = code_of(thing);
    DlCache *cache = code ? dl_cache_get(code) : NULL;
    if (cache == NULL) {
        return NULL;
    }
    cache->put_off = (DlPutOff){.owner = owner, .needed = seconds * 1e9};
    Py_RETURN_NONE;
}

/* plain_seconds(code, owner): what it has taken plainly since put_off(), for this owner; and it is put off no more. */
static PyObject *
plain_seconds(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *thing, *owner;
    if (!PyArg_ParseTuple(args, "OO:plain_seconds", &thing, &owner)) {
        return NULL;
    }
    PyCodeObject *code = code_of(thing);
    DlCache *cache = code ? dl_cache_get(code) : NULL;
    if (cache == NULL) {
        return NULL;
    }
    double taken = cache->put_off.owner == owner ? cache->put_off.taken : 0;
    if (cache->put_off.owner == owner) {
        cache->put_off = (DlPutOff){0};
    }
    return PyFloat_FromDouble(taken * 1e-9);
}

/* trials(code, owner) -> [(plain s, n, compiled s, n, stays plain), ...] of its calls, by size of arrays. */
static PyObject *
get_trials(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *thing, *owner;
    if (!PyArg_ParseTuple(args, "OO:trials", &thing, &owner)) {
        return NULL;
    }
    PyCodeObject *code = code_of(thing);
    if (code == NULL) {
        return NULL;
    }
    DlCache *cache = dl_cache_find(code);
    if (cache == NULL || cache->trials == NULL || cache->trials->owner != owner) {
        return PyList_New(0);
    }
    return dl_trial_rows(cache->trials->trials);
}

/* time_calls(code, owner, doubts=True): the calls that owner is asked for are timed from now on. */
static PyObject *
time_calls(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *thing, *owner;
    int doubts = 1;
    if (!PyArg_ParseTuple(args, "OO|p:time_calls", &thing, &owner, &doubts)) {
        return NULL;
    }
    PyCodeObject *code = code_of(thing);
    DlCache *cache = code != NULL ? dl_cache_get(code) : NULL;
    if (cache == NULL) {
        return NULL;
    }
    DlTrials *trials = dl_cache_trials(cache, owner);
    for (int i = 0; trials != NULL && i < DL_SIZE_CLASSES; i++) {
        trials->trials[i].doubtful |= (char)doubts;
    }
    Py_RETURN_NONE;
}

/* entries(code) -> tuple of CacheEntry, most recently hit first. */
static PyObject *
entries(PyObject *module, PyObject *thing)
{
    (void)module;
    PyCodeObject *code = code_of(thing);
    if (code == NULL) {
        return NULL;
    }
    DlCache *cache = dl_cache_find(code);
    Py_ssize_t n = cache ? cache->n_entries : 0;
    PyObject *result = PyTuple_New(n);
    if (result == NULL) {
        return NULL;
    }
    for (Py_ssize_t i = 0; i < n; i++) { /* NB: no Python code may have run since n was read: PyTuple_New can collect */
        if (i >= cache->n_entries) {
            if (_PyTuple_Resize(&result, i) < 0) {
                return NULL;
            }
            break;
        }
        PyTuple_SET_ITEM(result, i, Py_NewRef((PyObject *)cache->entries[i]));
    }
    return result;
}

/* drop(code, entry): forget that entry; whether it was one of code's. */
static PyObject *
drop(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *thing, *entry;
    if (!PyArg_ParseTuple(args, "OO!:drop", &thing, &dl_entry_type, &entry)) {
        return NULL;
    }
    PyCodeObject *code = code_of(thing);
    DlCache *cache = code ? dl_cache_find(code) : NULL;
    for (Py_ssize_t i = 0; cache != NULL && i < cache->n_entries; i++) {
        if ((PyObject *)cache->entries[i] == entry) {
            cache->n_entries--;
            memmove(cache->entries + i, cache->entries + i + 1, (size_t)(cache->n_entries - i) * sizeof(DlEntry *));
            Py_DECREF(entry); /* NB: the caller has it, too */
            Py_RETURN_TRUE;
        }
    }
    if (code == NULL) {
        return NULL;
    }
    Py_RETURN_FALSE;
}

/* clear(code, owner=None): forget entries, counters, the skip mark and the re-encoded code; or the owner's entries
   and skip mark alone, since the counters are everybody's. */
static PyObject *
clear(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"code", "owner", NULL};
    PyObject *thing, *owner = Py_None;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O|O:clear", names, &thing, &owner)) {
        return NULL;
    }
    PyCodeObject *code = code_of(thing);
    if (code == NULL) {
        return NULL;
    }
    DlCache *cache = dl_cache_find(code);
    if (cache != NULL) {
        owner = owner == Py_None ? NULL : owner;
        Py_INCREF(cache);
        if (owner == NULL || owner == cache->skip_owner) {
            cache->skip = 0;
            cache->skip_owner = NULL;
        }
        cache_clear(cache, owner);
        if (owner == NULL) {
            memset(&cache->counters, 0, sizeof cache->counters);
        }
        if (owner == NULL || (cache->n_entries == 0 && !cache->skip)) {
            Py_CLEAR(cache->rewritten);
        }
        Py_DECREF(cache);
    }
    Py_RETURN_NONE;
}

/* set_skip(code, skip, reason=DL_REASON_SKIP, owner=None). */
static PyObject *
set_skip(PyObject *module, PyObject *args, PyObject *kwargs)
{
    (void)module;
    static char *names[] = {"code", "skip", "reason", "owner", NULL};
    PyObject *thing, *owner = Py_None;
    int skip, reason = DL_REASON_SKIP;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "Op|iO:set_skip", names, &thing, &skip, &reason, &owner)) {
        return NULL;
    }
    if (reason < 0 || reason >= DL_MAX_REASONS) {
        return PyErr_Format(PyExc_ValueError, "set_skip: reason must be in 0..%d, not %d", DL_MAX_REASONS - 1, reason);
    }
    PyCodeObject *code = code_of(thing);
    DlCache *cache = code ? dl_cache_get(code) : NULL;
    if (cache == NULL) {
        return NULL;
    }
    cache->plain.streak = 0;
    cache->skip = skip ? reason + 1 : 0;
    cache->skip_owner = owner == Py_None ? NULL : owner;
    Py_RETURN_NONE;
}

/* counters(code=None) -> dict: of one code object, or of the whole process. */
static PyObject *
counters(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *thing = Py_None;
    if (!PyArg_ParseTuple(args, "|O:counters", &thing)) {
        return NULL;
    }
    DlCounters values = dl_counters;
    if (thing != Py_None) {
        PyCodeObject *code = code_of(thing);
        if (code == NULL) {
            return NULL;
        }
        DlCache *cache = dl_cache_find(code);
        memset(&values, 0, sizeof values);
        if (cache != NULL) {
            values = cache->counters;
        }
    }
    PyObject *result = PyDict_New();
    if (result == NULL) {
        return NULL;
    }
#define ROW(name) {#name, values.name},
    struct { const char *name; uint64_t value; } rows[] = {DL_COUNTERS(ROW)};
#undef ROW
    for (size_t i = 0; i < Py_ARRAY_LENGTH(rows); i++) {
        PyObject *value = PyLong_FromUnsignedLongLong(rows[i].value);
        if (value == NULL || PyDict_SetItemString(result, rows[i].name, value) < 0) {
            Py_XDECREF(value);
            Py_DECREF(result);
            return NULL;
        }
        Py_DECREF(value);
    }
    return result;
}

/* set_round(function, round, iterator): compiled code that goes on with `function` does so in a loop, whose iterator is
   that argument; -1: it has none. */
static PyObject *
set_round(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *function, *round;
    int iterator;
    if (!PyArg_ParseTuple(args, "O!O!i:set_round", &PyFunction_Type, &function, &dl_round_type, &round, &iterator)) {
        return NULL;
    }
    DlCache *cache = dl_cache_get((PyCodeObject *)PyFunction_GET_CODE(function));
    if (cache == NULL) {
        return NULL;
    }
    Py_XSETREF(cache->round, (DlRound *)Py_NewRef(round));
    cache->iterator = iterator;
    Py_RETURN_NONE;
}

/* same_code(code, user): both do the same, but for polls: guards take one for the other. */
static PyObject *
same_code(PyObject *module, PyObject *args)
{
    (void)module;
    PyObject *code, *user;
    if (!PyArg_ParseTuple(args, "O!O!:same_code", &PyCode_Type, &code, &PyCode_Type, &user)) {
        return NULL;
    }
    DlCache *cache = dl_cache_get((PyCodeObject *)code);
    if (cache == NULL) {
        return NULL;
    }
    user = dl_cache_user_code(user);
    Py_XSETREF(cache->user, user == code ? NULL : Py_NewRef(user));
    Py_RETURN_NONE;
}

PyMethodDef dl_cache_functions[] = {
    {"same_code", same_code, METH_VARARGS, "same_code(code, user): it does what the user's code does, but for polls."},
    {"set_round", set_round, METH_VARARGS, "set_round(function, round, iterator): a resume function goes on in that loop."},
    {"wait", wait_for_heat, METH_O, "wait(code): it is asked about once it has taken some time plainly."},
    {"put_off", put_off, METH_VARARGS, "put_off(code, owner, seconds): owner is asked once it has taken these plainly."},
    {"plain_seconds", plain_seconds, METH_VARARGS, "plain_seconds(code, owner): taken since put_off(), which ends."},
    {"time_calls", time_calls, METH_VARARGS, "time_calls(code, owner, doubts=True): time its calls, see _C.pyi."},
    {"trials", get_trials, METH_VARARGS, "trials(code, owner): times of its calls for that on_miss, as Poll.times."},
    {"add_entry", add_entry, METH_VARARGS, "add_entry(code, entry): put a CacheEntry first in the cache of code."},
    {"entries", entries, METH_O, "entries(code) -> tuple of its CacheEntries, most recently hit first."},
    {"drop", drop, METH_VARARGS, "drop(code, entry): forget that entry; whether it was one of code's."},
    {"clear", (PyCFunction)(void (*)(void))clear, METH_VARARGS | METH_KEYWORDS,
     "clear(code, owner=None): forget its entries, counters and skip mark, or the entries and skip mark of one on_miss."},
    {"set_skip", (PyCFunction)(void (*)(void))set_skip, METH_VARARGS | METH_KEYWORDS,
     "set_skip(code, skip, reason=..., owner=None): whether never to ask (owner, or anybody) for an entry again."},
    {"counters", counters, METH_VARARGS, "counters(code=None) -> dict of what happened to code, or in the process."},
    {NULL, NULL, 0, NULL},
};

/* Release the cache of a dying code object. */
static void
release(void *cache)
{
    Py_XDECREF((PyObject *)cache);
}

int
dl_cache_register(PyObject *module)
{
    if (PyType_Ready(&cache_type) < 0 || PyModule_AddType(module, &dl_entry_type) < 0) {
        return -1;
    }
    if (extra_index < 0) {
        extra_index = dl_pyframe_request_extra(release);
    }
    return extra_index < 0 ? -1 : 0;
}
