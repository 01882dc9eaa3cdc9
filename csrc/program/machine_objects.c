/* The objects of NumPy scalars and arrays that machine code puts into lists and dicts, and takes of them (machine.c).
 *
 * An object has an origin: the number of the input that it is, or of the one that an append has made (DL_FIRST_ORIGIN and
 * upwards), or minus its address if it is kept; 0 if there is none yet.
 */
#include "machine_run.h"

#include "journal.h"
#include "machine_lists.h"

/* The object with that origin, borrowed, or NULL. */
PyObject *
dl_machine_object_of(const DlMachineRun *watch, npy_intp origin)
{
    if (origin < 0) {
        return (PyObject *)-origin; /* NB: which is kept */
    }
    if (origin >= DL_FIRST_ORIGIN) {
        return watch->made[origin - DL_FIRST_ORIGIN];
    }
    return dl_reg_object(&watch->run->regs[watch->step->operands[origin - 1].index]);
}

/* Append an object, whose reference is taken: its origin from now on, 0 where there is no memory. */
static npy_intp
append_made(DlMachineRun *watch, PyObject *list, PyObject *object)
{
    if (watch->n_made == watch->room_made) {
        npy_intp room = watch->room_made ? 2 * watch->room_made : 64;
        PyObject **made = PyMem_Realloc(watch->made, (size_t)room * sizeof *made);
        if (made == NULL) {
            Py_XDECREF(object);
            return 0;
        }
        watch->made = made;
        watch->room_made = room;
    }
    watch->made[watch->n_made] = Py_XNewRef(object);
    npy_intp made = DL_FIRST_ORIGIN + watch->n_made++;
    return dl_append_object(list, object) ? 0 : made;
}

/* Append a NumPy scalar to a list: that with that origin, or (0) a new one. As append_made. */
npy_intp
dl_machine_append_scalar(npy_intp *block, PyObject *list, npy_intp type, npy_intp origin, int64_t bits)
{
    DlMachineRun *watch = dl_machine_run_of(block);
    if (origin != 0) {
        return dl_append_object(list, Py_XNewRef(dl_machine_object_of(watch, origin))) ? 0 : origin;
    }
    return append_made(watch, list, dl_make_object((int)type, bits));
}

/* The NumPy scalar with that origin, or (0) a new one, which is kept in a place; 1 where there is no memory. */
int32_t
dl_machine_scalar_object(npy_intp *block, npy_intp place, npy_intp type, npy_intp origin, PyObject **object, int64_t bits)
{
    DlMachineRun *watch = dl_machine_run_of(block);
    *object = origin ? dl_machine_object_of(watch, origin) : dl_make_object((int)type, bits);
    int32_t failed = *object == NULL || dl_machine_keep(block, place, *object);
    if (origin == 0) {
        Py_XDECREF(*object);
    }
    return failed;
}

/* The same of an array, a new one with a copy of packed memory. */
npy_intp
dl_machine_append_array(npy_intp *block, PyObject *list, npy_intp type, npy_intp origin, const char *data, npy_intp nd,
                        npy_intp first, npy_intp second, npy_intp third)
{
    DlMachineRun *watch = dl_machine_run_of(block);
    if (origin != 0) {
        return dl_append_object(list, Py_XNewRef(dl_machine_object_of(watch, origin))) ? 0 : origin;
    }
    npy_intp shape[] = {first, second, third};
    PyObject *array = PyArray_SimpleNew((int)nd, shape, (int)type);
    if (array != NULL) {
        memcpy(PyArray_DATA((PyArrayObject *)array), data, (size_t)PyArray_NBYTES((PyArrayObject *)array));
    }
    return append_made(watch, list, array);
}

/* The array with that origin, or (0) a new one with a copy of packed memory, as scalar_object. */
int32_t
dl_machine_array_object(npy_intp *block, npy_intp place, npy_intp type, npy_intp origin, PyObject **object,
                        const char *data, npy_intp nd, npy_intp first, npy_intp second, npy_intp third)
{
    DlMachineRun *watch = dl_machine_run_of(block);
    npy_intp shape[] = {first, second, third};
    *object = origin ? dl_machine_object_of(watch, origin) : PyArray_SimpleNew((int)nd, shape, (int)type);
    if (*object != NULL && origin == 0) {
        memcpy(PyArray_DATA((PyArrayObject *)*object), data, (size_t)PyArray_NBYTES((PyArrayObject *)*object));
    }
    int32_t failed = *object == NULL || dl_machine_keep(block, place, *object);
    if (origin == 0) {
        Py_XDECREF(*object);
    }
    PyErr_Clear();
    return failed;
}

/* What a dict has under an int, which is kept in a place, or in none (-1); 1 where it has nothing, or is no dict. */
int32_t
dl_machine_dict_item(npy_intp *block, npy_intp place, PyObject *dict, int64_t key, PyObject **item)
{
    PyObject *number = PyDict_CheckExact(dict) ? PyLong_FromLongLong(key) : NULL;
    *item = number ? PyDict_GetItemWithError(dict, number) : NULL;
    Py_XDECREF(number);
    PyErr_Clear();
    return *item == NULL || (place >= 0 && dl_machine_keep(block, place, *item));
}

/* Put an object into a list or dict under an int; 1 where the run has to decline. */
int32_t
dl_machine_container_put(npy_intp *block, PyObject *container, int64_t key, PyObject *object)
{
    DlRun *run = dl_machine_run_of(block)->run;
    if (!PyDict_CheckExact(container)) {
        return dl_machine_list_put(block, container, key, object);
    }
    PyObject *number = PyLong_FromLongLong(key);
    int32_t failed = number == NULL || dl_dict_store(run, container, number, object) != 0;
    Py_XDECREF(number);
    PyErr_Clear();
    return failed;
}

/* Copy the elements of the array that an object is, of that type and shape, into packed memory; 1 where it is no such
 * array. */
int32_t
dl_machine_object_array(npy_intp *block, PyObject *object, npy_intp type, char *to, npy_intp nd,
                        npy_intp first, npy_intp second, npy_intp third)
{
    npy_intp shape[] = {first, second, third};
    if (dl_object_is_other_array(dl_machine_run_of(block)->run, object, (int)type, (int)nd, shape)) {
        return 1;
    }
    memcpy(to, PyArray_DATA((PyArrayObject *)object), (size_t)PyArray_NBYTES((PyArrayObject *)object));
    return 0;
}

/* A new list, borrowed; None, which takes no items, where there is no memory. */
PyObject *
dl_machine_new_list(npy_intp *block)
{
    DlMachineRun *watch = dl_machine_run_of(block);
    PyObject *list = dl_journal_list(&watch->run->outermost->journal, 0);
    watch->lists = watch->lists ? watch->lists : PyList_New(0);
    if (list != NULL && watch->lists != NULL && !dl_append_object(watch->lists, Py_NewRef(list))) {
        Py_DECREF(list);
        return list;
    }
    PyErr_Clear();
    Py_XDECREF(list);
    return Py_None;
}
