/* Whether nobody would see a warning of NumPy's of a floating-point error: the first of the filters of `warnings` that any
 * RuntimeWarning passes ignores all of them, whatever they say and wherever they come from. And what is done where somebody
 * would, again and again: dl_entry_look_again.
 *
 * The rule is that of CPython's Python/_warnings.c (get_filter); the filters are a list, which a program changes in place.
 */
#include "frame/cache.h"
#include "frame/interrupts.h"
#include "program.h"
#include "frame/pyframe.h"
#include "silence.h"

static PyObject *count_change; /* _warnings._filters_mutated */
static PyObject *warnings_name, *filters_name, *registry_name;
static PyObject *pattern_type; /* re.Pattern */
static int knows_all; /* no context has filters of its own (CPython 3.14: sys.flags.context_aware_warnings) */

int
dl_silence_register(void)
{
    if (registry_name != NULL) {
        return 0;
    }
    PyObject *flags = PySys_GetObject("flags"); /* borrowed */
    PyObject *aware = flags ? PyObject_GetAttrString(flags, "context_aware_warnings") : NULL;
    PyErr_Clear();
    int is_aware = aware ? PyObject_IsTrue(aware) : 0;
    Py_XDECREF(aware);
    knows_all = is_aware == 0;
    warnings_name = PyUnicode_InternFromString("warnings");
    filters_name = PyUnicode_InternFromString("filters");
    PyObject *re = PyImport_ImportModule("re");
    pattern_type = re ? PyObject_GetAttrString(re, "Pattern") : NULL;
    Py_XDECREF(re);
    if (is_aware < 0 || pattern_type == NULL || !PyType_Check(pattern_type) || !warnings_name || !filters_name) {
        return -1;
    }
    PyObject *own = PyImport_ImportModule("_warnings");
    count_change = own ? PyObject_GetAttrString(own, "_filters_mutated") : NULL; /* from 3.14 on it has another name */
    Py_XDECREF(own);
    PyErr_Clear();
    registry_name = PyUnicode_InternFromString("__warningregistry__");
    return registry_name ? 0 : -1;
}

/* Whether that is nothing, a regular expression of Python's own, or a text, which is to be equal. */
static int
is_pattern(PyObject *object)
{
    return object == Py_None || PyUnicode_CheckExact(object) || Py_IS_TYPE(object, (PyTypeObject *)pattern_type);
}

/* Whether a filter, (action, message, category, module, line), lets any RuntimeWarning go on to the next one: 1; 0 where it
 * ignores all of them, and -1 for any other. */
static int
passes(PyObject *filter)
{
    if (!PyTuple_CheckExact(filter) || PyTuple_GET_SIZE(filter) != 5) {
        return -1;
    }
    PyObject *action = PyTuple_GET_ITEM(filter, 0), *category = PyTuple_GET_ITEM(filter, 2);
    if (!PyType_CheckExact(category)) { /* whose class may say what is a subclass */
        return -1;
    }
    if (!PyType_IsSubtype((PyTypeObject *)PyExc_RuntimeWarning, (PyTypeObject *)category)) {
        return 1;
    }
    if (!PyUnicode_CheckExact(action) || PyUnicode_CompareWithASCIIString(action, "ignore") != 0) {
        return -1;
    }
    PyObject *message = PyTuple_GET_ITEM(filter, 1), *module = PyTuple_GET_ITEM(filter, 3), *line = PyTuple_GET_ITEM(filter, 4);
    if (!is_pattern(message) || !is_pattern(module) || !PyLong_CheckExact(line)) {
        return -1;
    }
    return message == Py_None && module == Py_None && !PyObject_IsTrue(line) ? 0 : 1; /* NB: it may ignore some of them */
}

int
dl_silence_leaves_nothing(const DlRun *run)
{
    const DlWorld *world = run->outermost ? run->outermost->world : NULL;
    if (!knows_all || world == NULL || world->func == NULL || !PyFunction_Check(world->func)) {
        return 0;
    }
    /* NB: the first warning of a module leaves a dict in it, ignored or not */
    int has_registry = PyDict_GetItemWithError(PyFunction_GET_GLOBALS(world->func), registry_name) != NULL;
    PyErr_Clear();
    return has_registry;
}

int
dl_silence(const DlRun *run)
{
    if (!dl_silence_leaves_nothing(run)) {
        return 0;
    }
    PyObject *warnings = PyImport_GetModule(warnings_name);
    PyObject *names = warnings && PyModule_CheckExact(warnings) ? PyModule_GetDict(warnings) : NULL;
    PyObject *filters = names ? PyDict_GetItemWithError(names, filters_name) : NULL; /* borrowed */
    int passed = filters != NULL && PyList_CheckExact(filters) ? 1 : -1;
    for (Py_ssize_t i = 0; passed > 0; i++) {
        passed = i < PyList_GET_SIZE(filters) ? passes(PyList_GET_ITEM(filters, i)) : -1;
    }
    Py_XDECREF(warnings);
    PyErr_Clear();
    return passed == 0;
}

DlStatus
dl_filters_enter(DlRun *run, PyObject *are_own)
{
    /* NB: what Python code runs here may let other threads run */
    if (count_change == NULL || (run->strict && dl_pyframe_has_other_threads())) {
        return dl_decline(run, DL_REASON_FILTERS);
    }
    DlDeferral deferral;
    dl_interrupts_defer(&deferral, NULL);
    PyObject *told = dl_interrupts_resume(&deferral, PyObject_CallNoArgs(are_own));
    int are = told ? PyObject_IsTrue(told) : -1;
    Py_XDECREF(told);
    return are < 0 ? -1 : are ? 0 : dl_decline(run, DL_REASON_FILTERS);
}

DlStatus
dl_filters_commit(DlRun *run)
{
    for (; run->changes > 0; run->changes--) {
        PyObject *counted = PyObject_CallNoArgs(count_change);
        if (counted == NULL) {
            return -1;
        }
        Py_DECREF(counted);
    }
    return 0;
}

int
dl_entry_look_again(DlEntry *entry)
{
    uint64_t n = ++entry->reports;
    if (entry->look_again == NULL || n < 2 || (n & (n - 1)) != 0) {
        return 0;
    }
    DlDeferral deferral;
    dl_interrupts_defer(&deferral, NULL);
    dl_hook_pause();
    PyObject *asked = Py_NewRef(entry->look_again), *done = PyObject_CallOneArg(asked, (PyObject *)entry);
    dl_hook_resume();
    done = dl_interrupts_resume(&deferral, done);
    Py_DECREF(asked);
    Py_XDECREF(done);
    return done ? 0 : -1;
}
