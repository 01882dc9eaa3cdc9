/* The dispatch loop (see dispatch.h): segments, one after the other, without deepening any stack. */
#include "dispatch.h"

#include "chain.h"
#include "eval_hook.h"
#include "guards/guards.h"
#include "interrupts.h"
#include "jump.h"
#include "program/launch.h"
#include "pyframe.h"
#include "residual.h"
#include "resumed.h"
#include "numbers/values.h"

/* ---- values ---- */

/* Take over the items of `sequence`, whose reference is consumed (NULL: an error is set): 0 or -1. */
static int
values_take(DlValues *values, PyObject *sequence, const char *what)
{
    PyObject *fast = sequence ? PySequence_Fast(sequence, what) : NULL;
    Py_XDECREF(sequence);
    if (fast == NULL) {
        return -1;
    }
    Py_ssize_t n = PySequence_Fast_GET_SIZE(fast);
    if (dl_values_init(values, n) < 0) {
        Py_DECREF(fast);
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++) {
        values->items[i] = Py_NewRef(PySequence_Fast_GET_ITEM(fast, i));
    }
    values->n = n;
    Py_DECREF(fast);
    return 0;
}

/* The slots as a tuple. */
static PyObject *
slots_tuple(PyObject *const *slots, Py_ssize_t n_slots)
{
    PyObject *tuple = PyTuple_New(n_slots);
    for (Py_ssize_t i = 0; tuple != NULL && i < n_slots; i++) {
        PyTuple_SET_ITEM(tuple, i, Py_NewRef(slots[i]));
    }
    return tuple;
}

/* ---- one entry ---- */

int
dl_dispatch_is_guards(PyObject *value)
{
    return Py_IS_TYPE(value, &dl_guards_type);
}

void
dl_dispatch_bind_entry(DlEntry *entry)
{
    if (entry->guards != NULL && dl_dispatch_is_guards(entry->guards)) {
        entry->guards_native = 1;
        entry->n_inputs = dl_guards_n_inputs(entry->guards);
    }
    if (entry->program != NULL && Py_IS_TYPE(entry->program, &dl_program_type)) {
        entry->program_native = 1;
        entry->n_outputs = dl_program_n_outputs(entry->program);
        entry->n_most_outputs = dl_program_n_most_outputs(entry->program);
    }
    int gives = entry->residual == NULL ? entry->n_outputs == 1 : entry->n_returns > 0 && !entry->stores;
    entry->quick = entry->guards_native && entry->program_native && gives && entry->exits == NULL
                   && entry->n_most_outputs == entry->n_outputs && entry->n_outputs <= DL_SMALL && entry->n_inputs <= DL_SMALL
                   && dl_guards_are_plain(entry->guards);
}

/* Does entry pass? 1 with *inputs, 0, or -1 with an error set. inputs need clearing only after 1. */
static int
check_guards(DlEntry *entry, PyObject *func, PyObject *const *slots, Py_ssize_t n_slots, DlValues *inputs)
{
    if (entry->guards_native) {
        if (dl_values_init(inputs, entry->n_inputs) < 0) {
            return -1;
        }
        int passed = dl_guards_check(entry->guards, func, slots, n_slots, inputs->items);
        if (passed == 1) {
            inputs->n = entry->n_inputs;
            return 1;
        }
        dl_values_clear(inputs);
        return passed;
    }
    PyObject *tuple = slots_tuple(slots, n_slots);
    if (tuple == NULL || entry->guards == NULL) {
        return values_take(inputs, tuple, "") < 0 ? -1 : 1;
    }
    DlDeferral deferral;
    dl_hook_pause();
    dl_interrupts_defer(&deferral, NULL);
    PyObject *passed = PyObject_CallFunctionObjArgs(entry->guards, func, tuple, NULL);
    passed = dl_interrupts_resume(&deferral, passed);
    dl_hook_resume();
    Py_DECREF(tuple);
    if (passed == Py_None) {
        Py_DECREF(passed);
        return 0;
    }
    return values_take(inputs, passed, "CacheEntry: guards must return a sequence of inputs or None") < 0 ? -1 : 1;
}

/* The text of the Declined exception that is set, which is cleared; NULL (no error) when it cannot be had. */
static PyObject *
take_decline_text(void)
{
    PyObject *type, *value, *traceback;
    PyErr_Fetch(&type, &value, &traceback);
    PyObject *text = value ? PyObject_Str(value) : NULL;
    Py_XDECREF(type);
    Py_XDECREF(value);
    Py_XDECREF(traceback);
    if (text == NULL) {
        PyErr_Clear();
    }
    return text;
}

/* Note that entry's program declined after that time: DL_PLAIN, or DL_ERROR with an error set. */
static DlOutcome
note_decline(DlCache *cache, DlEntry *entry, double time)
{
    PyObject *reason;
    if (entry->program_native) {
        reason = PyObject_GetAttrString(entry->program, "last_decline");
        if (reason == NULL) {
            PyErr_Clear();
        }
    }
    else {
        reason = take_decline_text();
    }
    dl_cache_note_decline(cache, entry, time, reason);
    Py_XDECREF(reason);
    int failed = entry->program_native && dl_program_reports(entry->program) && dl_entry_look_again(entry) < 0;
    return failed ? DL_ERROR : DL_PLAIN;
}

/* Run entry's program on inputs, for the call that world tells: DL_RAN with *outputs and what takes them, DL_PLAIN when it declined, DL_ERROR. */
static DlOutcome
run_program(DlCache *cache, DlEntry *entry, const DlWorld *world, DlValues *inputs, DlValues *outputs,
            PyObject **residual, DlChain *chain)
{
    *residual = entry->residual;
    if (entry->program == NULL) {
        entry->hits++;
        return dl_values_init(outputs, 0) < 0 ? DL_ERROR : DL_RAN;
    }
    double time = 1.0;
    if (entry->program_native) {
        if (dl_values_init(outputs, entry->n_most_outputs) < 0) {
            return DL_ERROR;
        }
        DlEnd end = {-1, entry->n_outputs, .most = chain->most, .within = chain->within,
                     .retreats = dl_chain_retreats(chain)};
        int status = dl_program_run(entry->program, inputs->items, outputs->items, entry->exits ? &end : NULL,
                                    entry->guards_native ? world : NULL);
        time = dl_program_time(entry->program);
        if (status != 0) {
            dl_values_clear(outputs);
            /* NB: where the chain goes on, it is the chain that asks what is gained. */
            int goes_on = entry->at_loop && chain->barren == 0 && dl_chain_goes_on(chain, entry);
            return status < 0 ? DL_ERROR : note_decline(cache, entry, goes_on ? 0.0 : time + end.lost);
        }
        outputs->n = end.n_outputs;
        if (entry->exits != NULL) {
            dl_chain_note_end(chain, cache, entry, &end);
        }
        if (end.exit >= 0) {
            *residual = PyTuple_GetItem(entry->exits, end.exit);
            if (*residual == NULL) {
                dl_values_clear(outputs);
                return DL_ERROR;
            }
            DL_COUNT(cache, leaves);
        }
    }
    else {
        dl_hook_pause(); /* a backend in Python: its frames are not the user's */
        PyObject *result = PyObject_Vectorcall(entry->program, inputs->items, (size_t)inputs->n, NULL);
        dl_hook_resume();
        if (result == NULL && PyErr_ExceptionMatches(dl_declined_error)) {
            return note_decline(cache, entry, time);
        }
        if (values_take(outputs, result, "CacheEntry: a program must return a sequence of outputs") < 0) {
            return DL_ERROR;
        }
        if (outputs->n < 1 && entry->residual == NULL) {
            dl_values_clear(outputs);
            PyErr_SetString(PyExc_ValueError, "CacheEntry: a program without outputs needs residual code");
            return DL_ERROR;
        }
    }
    entry->hits++;
    entry->ran += time;
    DL_COUNT(cache, native_calls);
    dl_thread.ran++;
    return DL_RAN;
}

/* ---- choosing an entry ---- */

/* The first entry that passes: 1 with a new reference in *found and *inputs, 0 none, -1 error. */
static int
find_entry(DlCache *cache, PyObject *func, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss,
           DlEntry **found, DlValues *inputs)
{
    /* NB: guards written in Python may add or clear entries, so the table is read anew in every round. */
    for (Py_ssize_t i = 0; i < cache->n_entries; i++) {
        DlEntry *entry = cache->entries[i];
        if (entry->owner != NULL && entry->owner != on_miss) {
            continue;
        }
        Py_INCREF(entry);
        int passed = check_guards(entry, func, slots, n_slots, inputs);
        if (passed > 0) {
            if (i != 0 && i < cache->n_entries && cache->entries[i] == entry) {
                dl_cache_promote(cache, i);
            }
            *found = entry;
            return 1;
        }
        Py_DECREF(entry);
        if (passed < 0) {
            return -1;
        }
    }
    return 0;
}

/* Ask on_miss for an entry and check its guards: like find_entry(). */
static int
ask_for_entry(DlCache *cache, PyObject *func, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss,
              DlEntry **found, DlValues *inputs)
{
    PyObject *tuple = slots_tuple(slots, n_slots);
    if (tuple == NULL) {
        return -1;
    }
    DlDeferral deferral;
    dl_thread.gains++;
    dl_thread.asked++;
    uint64_t began = dl_now();
    dl_hook_pause();
    dl_interrupts_defer(&deferral, func);
    PyObject *answer = PyObject_CallFunctionObjArgs(on_miss, func, tuple, NULL);
    answer = dl_interrupts_resume(&deferral, answer);
    dl_hook_resume();
    dl_thread.answering += dl_now() - began;
    Py_DECREF(tuple);
    if (answer == NULL || answer == Py_None) {
        Py_XDECREF(answer);
        return answer == NULL ? -1 : 0;
    }
    if (!Py_IS_TYPE(answer, &dl_entry_type)) {
        PyErr_Format(PyExc_TypeError, "on_miss must return a CacheEntry or None, not %.100s", Py_TYPE(answer)->tp_name);
        Py_DECREF(answer);
        return -1;
    }
    int passed = -1;
    ((DlEntry *)answer)->owner = on_miss;
    /* NB: what waited while this was compiled comes before the guards: it may change what they look at. Where it is held
     * (hold_interrupts), the user's code is to handle it. */
    if ((dl_stress == DL_STRESS_MISS || dl_cache_add(cache, (DlEntry *)answer) == 0)
        && (deferral.func == NULL || !dl_pyframe_is_interrupted() || dl_interrupts_deliver(func) == 0)) {
        passed = check_guards((DlEntry *)answer, func, slots, n_slots, inputs);
    }
    if (passed == 1) {
        *found = (DlEntry *)answer;
    }
    else {
        Py_DECREF(answer);
    }
    return passed;
}

/* ---- calls that run plainly again and again ---- */

/* What calls are told apart by where guards are not asked: types, and an array's dtype, number of axes and
 * about its size. */
static uint64_t
hash_types(PyObject *const *slots, Py_ssize_t n_slots)
{
    uint64_t hash = 0;
    for (Py_ssize_t i = 0; i < n_slots; i++) {
        uint64_t part = 0;
        if (slots[i] != NULL) {
            PyTypeObject *type = Py_TYPE(slots[i]);
            int by_value = type == &PyBool_Type || type == &PyLong_Type || type == &PyUnicode_Type;
            part = by_value ? (uint64_t)(uintptr_t)slots[i] : (uint64_t)(uintptr_t)type;
            if (type == &PyArray_Type) {
                PyArrayObject *array = (PyArrayObject *)slots[i];
                npy_intp size = PyArray_SIZE(array);
                uint64_t magnitude = (uint64_t)(64 - __builtin_clzll((uint64_t)size | 1)) / 2;
                part += magnitude << 16 | (uint64_t)PyArray_TYPE(array) << 8 | (uint64_t)PyArray_NDIM(array);
            }
        }
        hash = (hash ^ part) * 0x9E3779B97F4A7C15u;
    }
    return hash;
}

/* Whether a call like many before it may run plainly unasked. */
static inline int
stays_plain(DlCache *cache, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss)
{
    DlPlainWatch *watch = &cache->plain;
    if (watch->streak < DL_BARREN || watch->owner != on_miss || dl_stress != DL_STRESS_NONE
        || watch->rested >= DL_REST || hash_types(slots, n_slots) != watch->types) {
        return 0;
    }
    watch->rested++;
    return 1;
}

int
dl_dispatch_stays_plain(DlCache *cache, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss)
{
    int plain = stays_plain(cache, slots, n_slots, on_miss);
    if (plain) {
        DL_COUNT(cache, plain_calls);
    }
    return plain;
}

/* Note that a call was asked about and runs plainly, or (plain 0) that it does not. */
static void
note_plain(DlCache *cache, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss, int plain)
{
    DlPlainWatch *watch = &cache->plain;
    if (!plain) {
        watch->streak = 0;
        return;
    }
    uint64_t types = hash_types(slots, n_slots);
    if (watch->streak == 0 || watch->types != types || watch->owner != on_miss) {
        *watch = (DlPlainWatch){.types = types, .owner = on_miss};
    }
    watch->rested = 0;
    watch->streak += watch->streak < DL_BARREN;
}

/* Whether the condition of calls that pay holds. */
static int
meets_condition(const DlEntry *entry, const DlValues *inputs)
{
    const DlScalars *table = &entry->numbers;
    DlNumber values[DL_PAYS_VALUES];
    memcpy(values, table->initial, (size_t)table->n_values * sizeof *values);
    for (int32_t i = 0; i < table->n_loads; i++) {
        if (dl_scalar_load(table, &table->loads[i], inputs->items[table->loads[i].input], values)) {
            return 0;
        }
    }
    return dl_scalar_eval(table, 0, table->n_instrs, values) == 0 && values[entry->pays].i != 0;
}

/* Whether a call of this size runs plainly although the guards of entry pass. */
static inline int
is_out_of_range(const DlEntry *entry, const DlValues *inputs)
{
    if (entry->pays >= 0 && !meets_condition(entry, inputs)) {
        return 1;
    }
    if (entry->least == 0 && entry->most == PY_SSIZE_T_MAX) {
        return 0;
    }
    npy_intp largest = 0;
    for (Py_ssize_t i = 0; i < inputs->n; i++) {
        int counts = i >= 64 || !(entry->unsized >> i & 1);
        if (counts && PyArray_Check(inputs->items[i])) {
            npy_intp size = PyArray_SIZE((PyArrayObject *)inputs->items[i]);
            largest = size > largest ? size : largest;
        }
    }
    return largest < entry->least || largest > entry->most;
}

/* ---- the loop ---- */

/* Run func, whose program declines before the second iteration of its loop, or is known to, plainly up to a back edge of
   that: as run_entry(), of which this is a part; DL_PLAIN where it cannot. waits: interrupts do, until that loop of its own
   begins, from 1 on; 0: they do not. */
static DlOutcome
run_with_polls(DlCache *cache, DlEntry *entry, PyObject *func, PyObject **slots, Py_ssize_t n_slots, int owned,
               PyObject *on_miss, DlHookScope *scope, DlChain *chain, int waits, PyObject **value)
{
    PyObject *made = dl_resumed_with_polls(entry->restart, func);
    PyObject *polled = made ? dl_residual_bind(made, func) : NULL;
    Py_XDECREF(made);
    DlValues args;
    if (polled == NULL || dl_values_init(&args, n_slots) < 0) {
        Py_XDECREF(polled);
        return PyErr_Occurred() ? DL_ERROR : DL_PLAIN;
    }
    for (Py_ssize_t i = 0; i < n_slots; i++) {
        args.items[i] = owned ? slots[i] : Py_NewRef(slots[i]);
        slots[i] = owned ? NULL : slots[i];
    }
    DL_COUNT(cache, plain_rounds);
    if (!waits) {
        chain->most = 1;
        chain->within = 0;
        chain->barren++;
    }
    int goes_on;
    uint64_t gains = dl_thread.gains;
    int tried = dl_hook_try(&cache->watch, scope, on_miss);
    DlRounds rounds = dl_chain_begin_round(chain);
    DlDeferral deferral;
    if (waits) {
        dl_interrupts_defer_to_loop(&deferral, waits);
    }
    *value = dl_resumed_call(polled, args.items, n_slots, on_miss, &rounds, &goes_on);
    if (waits) {
        *value = dl_interrupts_resume(&deferral, *value);
    }
    dl_chain_end_round(chain, &rounds);
    if (tried) {
        dl_hook_judge(&cache->watch, gains);
    }
    dl_values_clear(&args);
    Py_DECREF(polled);
    return *value == NULL ? DL_ERROR : DL_RAN;
}

/* Whether that can run. */
static int
is_bound(PyObject *const *slots, Py_ssize_t n_slots)
{
    for (Py_ssize_t i = 0; i < n_slots; i++) {
        if (slots[i] == NULL) {
            return 0;
        }
    }
    return 1;
}

/* Whether to do so. */
static int
restarts(const DlEntry *entry, const DlChain *chain, PyObject *const *slots, Py_ssize_t n_slots)
{
    return is_bound(slots, n_slots) && dl_chain_goes_on(chain, entry)
           && (!entry->retired || (entry->retired == DL_RETIRED_BY_DECLINES && !entry->at_loop));
}

/* Run entry, whose guards have passed, for a call; the references to it and to the inputs are consumed. owned: the slots are
   references that go over to its residual code; they may be NULL unless it ends as DL_PLAIN. */
static DlOutcome
run_entry(DlCache *cache, DlEntry *entry, PyObject *func, PyObject **slots, Py_ssize_t n_slots, int owned, PyObject *on_miss,
          DlHookScope *scope, DlValues *inputs, DlChain *chain, PyObject **value)
{
    int plain = entry->retired || is_out_of_range(entry, inputs);
    int with_polls = entry->retired && restarts(entry, chain, slots, n_slots);
    note_plain(cache, slots, n_slots, on_miss, plain && !with_polls);
    DlValues outputs;
    PyObject *residual = NULL;
    DlWorld world = {entry->guards, func, slots, n_slots, entry->stores, entry->defers};
    uint64_t began = dl_thread.timing ? dl_now() : 0;
    DlOutcome outcome = plain ? DL_PLAIN : run_program(cache, entry, &world, inputs, &outputs, &residual, chain);
    if (began != 0) {
        dl_thread.native += dl_now() - began;
        dl_thread.programs++;
    }
    dl_values_clear(inputs);
    if (outcome == DL_PLAIN) {
        dl_thread.why_plain = plain ? DL_REASON_RETIRED : DL_REASON_DECLINED;
        int is_held = !plain && entry->restart != NULL && entry->program_native && dl_pyframe_is_interrupted();
        int waits = is_held && is_bound(slots, n_slots) ? dl_program_is_interrupted(entry->program) : 0;
        if (with_polls || waits || (!plain && restarts(entry, chain, slots, n_slots))) {
            outcome = run_with_polls(cache, entry, func, slots, n_slots, owned, on_miss, scope, chain, waits, value);
        }
    }
    else if (outcome == DL_RAN) {
        if (residual == NULL) {
            *value = Py_NewRef(outputs.items[0]);
        }
        else if (entry->n_returns > 0 && !entry->stores && !owned && residual == entry->residual
                 && ((*value = dl_residual_returned(entry, slots, n_slots, &outputs)) != NULL || PyErr_Occurred())) {
            ; /* it is made */
        }
        else {
            uint64_t gains = dl_thread.gains;
            int tried = entry->calls_python && dl_hook_try(&entry->watch, scope, on_miss);
            DlDeferral deferral;
            int defers = entry->defers == DL_DEFERS_ALL || (entry->defers && residual != entry->residual);
            if (entry->stores || defers) {
                dl_interrupts_defer(&deferral, NULL);
                deferral.to_the_end = defers;
            }
            *value = dl_residual_call(residual, func, slots, n_slots, owned, &outputs);
            if (entry->stores || defers) {
                *value = dl_interrupts_resume(&deferral, *value);
            }
            if (defers && dl_pyframe_is_interrupted()) {
                Py_XSETREF(chain->restart, Py_NewRef(entry->restart && !entry->polled ? entry->restart : Py_None));
            }
            if (tried) {
                dl_hook_judge(&entry->watch, gains);
            }
        }
        dl_values_clear(&outputs);
        outcome = *value == NULL ? DL_ERROR : DL_RAN;
    }
    Py_DECREF(entry);
    return outcome;
}

/* Run the segment that starts at the entry of func's code; slots and owned: as of run_entry(). */
static DlOutcome
run_segment(DlCache *cache, PyObject *func, PyObject **slots, Py_ssize_t n_slots, int owned, PyObject *on_miss,
            DlHookScope *scope, DlChain *chain, PyObject **value)
{
    DlEntry *entry = NULL;
    DlValues inputs;
    int found = 0;
    if (stays_plain(cache, slots, n_slots, on_miss)) {
        dl_thread.why_plain = DL_REASON_LIKE_BEFORE;
        return DL_PLAIN;
    }
    if (dl_stress != DL_STRESS_MISS) {
        found = find_entry(cache, func, slots, n_slots, on_miss, &entry, &inputs);
    }
    if (found == 0) {
        dl_thread.why_plain = DL_REASON_NO_ENTRY;
        int cool = cache->cool_until != 0 && dl_now() < cache->cool_until;
        if (dl_cache_skips(cache, on_miss) || on_miss == NULL || dl_thread.paused || cool) {
            if (cache->n_entries > 0 && dl_cache_skips(cache, on_miss)) {
                note_plain(cache, slots, n_slots, on_miss, 1);
            }
            return DL_PLAIN;
        }
        if (dl_cache_is_put_off(cache, on_miss)) {
            dl_thread.why_plain = DL_REASON_PUT_OFF;
            return DL_PLAIN;
        }
        DL_COUNT(cache, misses);
        found = ask_for_entry(cache, func, slots, n_slots, on_miss, &entry, &inputs);
        if (found == 0) {
            dl_thread.why_plain = DL_REASON_NO_ENTRY; /* compiling may have dispatched other calls */
            return DL_PLAIN;
        }
    }
    else if (found > 0) {
        DL_COUNT(cache, hits);
    }
    return found < 0 ? DL_ERROR
                     : run_entry(cache, entry, func, slots, n_slots, owned, on_miss, scope, &inputs, chain, value);
}

/* Call resume plainly; its frame gets what state holds. *goes_on: what it gives is a Continuation behind it. */
static PyObject *
call_resumed(PyObject *resume, DlContinuation *state, PyObject *on_miss, DlRounds *rounds, int *goes_on)
{
    DlValues args;
    if (dl_rests_begin(state->args, Py_SIZE(state)) < 0 || dl_values_init(&args, Py_SIZE(state)) < 0) {
        return NULL;
    }
    memcpy(args.items, state->args, (size_t)Py_SIZE(state) * sizeof *args.items);
    memset(state->args, 0, (size_t)Py_SIZE(state) * sizeof *args.items);
    PyObject *value = dl_resumed_call(resume, args.items, Py_SIZE(state), on_miss, rounds, goes_on);
    dl_values_clear(&args);
    return value;
}

/* Replace resume by what runs plainly up to the end of an iteration, if there is such a thing: 0, or -1 with an error set. */
static int
take_polls(DlChain *chain, PyObject **resume, PyObject *user)
{
    PyObject *restart = chain->restart;
    chain->restart = NULL;
    PyObject *made = restart == Py_None ? NULL : dl_resumed_with_polls(restart, *resume);
    Py_DECREF(restart);
    if (made == NULL) {
        return PyErr_Occurred() ? -1 : 0; /* NB: of a program that is run as a whole it has polls */
    }
    Py_SETREF(*resume, dl_residual_bind(made, user));
    Py_DECREF(made);
    return *resume == NULL ? -1 : 0;
}

/* Go on behind a break, and behind all further ones: consumes *value, a Continuation, and replaces it. */
static DlOutcome
run_continuations(DlCache *cache, PyObject *func, PyObject *on_miss, DlHookScope *scope, DlChain *chain, PyObject **value)
{
    static uint64_t n_runs;
    uint64_t run = ++n_runs;
    PyObject *user = Py_NewRef(func); /* whose closure and globals the resume functions get */
    DlOutcome outcome = DL_RAN;
    Py_INCREF(cache);
    while (outcome == DL_RAN && Py_IS_TYPE(*value, &dl_continuation_type)) {
        DlContinuation *state = (DlContinuation *)*value;
        *value = NULL;
        DL_COUNT(cache, breaks);
        PyObject *resume = dl_residual_bind(state->target, user);
        DlCache *next = resume ? dl_cache_get((PyCodeObject *)PyFunction_GET_CODE(resume)) : NULL;
        if (next == NULL) {
            outcome = DL_ERROR;
        }
        else {
            Py_INCREF(next);
            if (next->waits && next->heat == 0) {
                next->heat = cache->heat; /* where the way here was hot, this is */
            }
            Py_SETREF(cache, next);
            /* NB: residual code may have started a debugger; and Python raises the TypeError of a wrong state. */
            outcome = DL_PLAIN;
            int counts = next->round != NULL && next->iterator >= 0 && next->iterator < Py_SIZE(state);
            PyObject *iterator = counts ? state->args[next->iterator] : NULL;
            int goes_on = next->round == NULL || dl_round_note(next->round, &next->visits, run, iterator);
            int cold = dl_cache_is_cold(next);
            int is_round = chain->restart != NULL;
            if (is_round) {
                outcome = take_polls(chain, &resume, user) < 0 ? DL_ERROR : DL_PLAIN;
            }
            else if (goes_on && !cold && next->n_slots == Py_SIZE(state)
                     && !dl_pyframe_is_traced(PyThreadState_Get(), NULL)) {
                outcome = run_segment(next, resume, state->args, Py_SIZE(state), 1, on_miss, scope, chain, value);
                cold = outcome == DL_PLAIN && dl_thread.why_plain == DL_REASON_PUT_OFF;
            }
            if (outcome == DL_PLAIN) {
                DL_COUNT(next, plain_calls);
                uint64_t gains = dl_thread.gains;
                int tried = dl_hook_try(&next->watch, scope, on_miss);
                int goes_on_behind = 0;
                DlHeating heating;
                if (cold) {
                    dl_cache_start_heating(&heating, 1);
                }
                DlRounds rounds = is_round ? dl_chain_begin_round(chain) : (DlRounds){.wanted = 1};
                *value = call_resumed(resume, state, on_miss, &rounds, &goes_on_behind);
                if (is_round) {
                    dl_chain_end_round(chain, &rounds);
                }
                if (cold) {
                    dl_cache_end_heating(next, &heating);
                }
                if (tried) {
                    dl_hook_judge(&next->watch, gains);
                }
                outcome = *value == NULL ? DL_ERROR : DL_RAN;
                if (!goes_on_behind) { /* NB: what plain code returns is the user's own value */
                    Py_DECREF(resume);
                    Py_DECREF(state);
                    break;
                }
            }
        }
        Py_XDECREF(resume);
        Py_DECREF(state);
    }
    Py_DECREF(cache);
    Py_DECREF(user);
    return outcome;
}

void
dl_dispatch_try(DlCache *cache, PyObject *on_miss)
{
    int has_owner = cache->trials != NULL && cache->trials->owner != NULL;
    if (!has_owner && cache->n_entries > 0 && cache->entries[0]->judged) {
        dl_cache_trials(cache, on_miss);
    }
}

enum { OPEN = 2 }; /* no DlOutcome */

/* dl_dispatch() where little is to be done: the first entry passes, and its program's one output is the value. OPEN: nothing
   has happened. */
static inline int
dispatch_quickly(DlCache *cache, PyObject *func, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss,
                 PyObject **value)
{
    DlValues inputs;
    DlEntry *entry = cache->n_entries > 0 ? cache->entries[0] : NULL;
    if (entry == NULL || !entry->quick || entry->retired || (entry->owner != NULL && entry->owner != on_miss)
        || cache->plain.streak != 0 || dl_stress != DL_STRESS_NONE) {
        return OPEN;
    }
    int passed = dl_guards_borrow(entry->guards, func, slots, n_slots, inputs.small);
    if (passed != 1) {
        return passed < 0 ? DL_ERROR : OPEN;
    }
    inputs.items = inputs.small;
    inputs.n = entry->n_inputs;
    DL_COUNT(cache, hits);
    DlValues outputs;
    if (dl_n_timing == 0 && !is_out_of_range(entry, &inputs)
        && dl_program_run_short(entry->program, inputs.items, outputs.small)) {
        entry->hits++;
        entry->ran += 1.0;
        DL_COUNT(cache, native_calls);
        dl_thread.ran++;
        if (entry->residual == NULL) {
            *value = outputs.small[0];
            return DL_RAN;
        }
        outputs.items = outputs.small;
        outputs.n = entry->n_outputs;
        *value = dl_residual_returned(entry, slots, n_slots, &outputs);
        if (*value == NULL && !PyErr_Occurred()) {
            *value = dl_residual_call(entry->residual, func, (PyObject **)slots, n_slots, 0, &outputs);
        }
        dl_values_clear(&outputs);
        return *value != NULL ? DL_RAN : DL_ERROR;
    }
    for (Py_ssize_t i = 0; i < inputs.n; i++) {
        Py_INCREF(inputs.items[i]);
    }
    Py_INCREF(cache);
    Py_INCREF(entry);
    DlHookScope scope = {0}; /* which nobody enters: there is no residual code */
    DlChain chain = dl_chain_begin(cache);
    DlOutcome outcome =
        run_entry(cache, entry, func, (PyObject **)slots, n_slots, 0, on_miss, &scope, &inputs, &chain, value);
    dl_chain_end(&chain, cache);
    if (outcome == DL_PLAIN) {
        DL_COUNT(cache, plain_calls);
    }
    Py_DECREF(cache);
    return outcome;
}

DlOutcome
dl_dispatch(DlCache *cache, PyObject *func, PyObject *const *slots, Py_ssize_t n_slots, PyObject *on_miss,
            PyObject **value)
{
    *value = NULL;
    int quick = dispatch_quickly(cache, func, slots, n_slots, on_miss, value);
    if (quick != OPEN) {
        return (DlOutcome)quick;
    }
    DlHookScope scope = {0};
    DlChain chain = dl_chain_begin(cache);
    Py_INCREF(cache);
    DlOutcome outcome = run_segment(cache, func, (PyObject **)slots, n_slots, 0, on_miss, &scope, &chain, value);
    if (outcome == DL_RAN && Py_IS_TYPE(*value, &dl_continuation_type)) {
        dl_dispatch_try(cache, on_miss);
        outcome = run_continuations(cache, func, on_miss, &scope, &chain, value);
    }
    dl_chain_end(&chain, cache);
    if (outcome == DL_PLAIN) {
        DL_COUNT(cache, plain_calls);
    }
    dl_hook_leave(&scope);
    Py_DECREF(cache);
    return outcome;
}

PyObject *
dl_dispatch_go_on(DlCache *cache, PyObject *func, PyObject *on_miss, PyObject *value)
{
    if (!Py_IS_TYPE(value, &dl_continuation_type)) {
        return value;
    }
    DlHookScope scope = {0};
    DlChain chain = dl_chain_begin(cache);
    Py_INCREF(cache);
    DlOutcome outcome = run_continuations(cache, func, on_miss, &scope, &chain, &value);
    dl_chain_end(&chain, cache);
    dl_hook_leave(&scope);
    Py_DECREF(cache);
    return outcome == DL_RAN ? value : NULL;
}
