/* What machine code does with lists: see machine_lists.c. The int32 results are 1 where there is no memory. */
#ifndef DL_MACHINE_LISTS_H
#define DL_MACHINE_LISTS_H

#include "program.h"

/* An object of these bits: a new reference, or NULL. type: NumPy's type number, or a PYTHON_ one. */
PyObject *dl_make_object(int type, int64_t bits);

/* Append an object, whose reference is taken, to a list; 1 where there is no memory. */
int32_t dl_append_object(PyObject *list, PyObject *object);

/* Append a new number to a list. */
int32_t dl_append_number(PyObject *list, npy_intp type, int64_t bits);

/* The same of a number that something else may hold, too: the object with that tag (objects.c). */
int32_t dl_append_tagged(PyObject *list, npy_intp type, PyObject *table, int64_t tag, int64_t bits);

/* Append an object that there is; 1 where there is no memory. */
int32_t dl_append_held(PyObject *list, PyObject *object);

/* Make one list, or tuple, of the last items of a list, n of them, which stands in their place; 1 where there is no
 * memory. */
int32_t dl_append_pack(PyObject *list, npy_intp n, npy_intp is_tuple);

/* The bits of a NumPy scalar of that type (or of an item of a list), in the first bytes of `bits`; 1 where the object is
 * none. */
int32_t dl_object_scalar(PyObject *object, npy_intp type, int64_t *bits);
int32_t dl_list_scalar(PyObject *list, int64_t index, npy_intp type, int64_t *bits);

/* Write the elements of the array of that type that NumPy makes of a list of n numbers; 1 where it makes another one. */
int32_t dl_list_numbers(PyObject *list, npy_intp type, char *to, npy_intp n);

/* dict[key] = item, which a decline undoes if the dict is not the program's own (lists.c). */
DlStatus dl_dict_store(DlRun *run, PyObject *dict, PyObject *key, PyObject *item);

/* Whether an object is no array of that type and shape with the strides of a new one in C order, or one that may show
 * memory which the program writes. */
int dl_object_is_other_array(const DlRun *run, PyObject *object, int type, int nd, const npy_intp *shape);

/* The origin (abi.def) of an object that is kept. */
int64_t dl_object_origin(PyObject *object);

/* The number that an object is, as an int64 or the bits of a double, or the length of a list: of: DL_READ_... 1 where the
 * object is of another type, or does not fit. */
int32_t dl_object_number(PyObject *object, npy_intp of, int64_t *bits);

/* The same of an item of a list; 1 also where it has none at that index. */
int32_t dl_list_number(PyObject *list, int64_t index, npy_intp of, int64_t *bits);

/* A new list of the items from one index on to another, as a slice has them, or of one item so many times; or NULL. */
PyObject *dl_list_part(DlJournal *journal, PyObject *list, Py_ssize_t first, Py_ssize_t last);
PyObject *dl_list_joined(DlJournal *journal, PyObject *one, PyObject *other);
PyObject *dl_list_filled(DlJournal *journal, PyObject *item, Py_ssize_t n);

/* What the code calls with its block. Objects are kept, each in a place of its own, until another one is kept there. All
 * give 1 where a list or tuple has not what is asked for, or there is no memory. */
int32_t dl_machine_keep(npy_intp *block, npy_intp place, PyObject *object);
int32_t dl_machine_keep_origin(npy_intp *block, npy_intp place, int64_t origin);
int32_t dl_machine_list_item(npy_intp *block, npy_intp place, PyObject *list, int64_t index, PyObject **item);
int32_t dl_machine_list_touch(npy_intp *block, PyObject *list);
int32_t dl_machine_tuple_item(npy_intp *block, npy_intp place, PyObject *tuple, int64_t index, int64_t size, PyObject **item);
int32_t dl_machine_list_put(npy_intp *block, PyObject *list, int64_t index, PyObject *object);
int32_t dl_machine_list_put_number(npy_intp *block, PyObject *list, int64_t index, npy_intp type, int64_t bits);
int32_t dl_machine_list_put_tagged(npy_intp *block, PyObject *list, int64_t index, npy_intp type, PyObject *table, int64_t tag,
                                   int64_t bits);
int32_t dl_machine_list_repeated(npy_intp *block, npy_intp place, PyObject *object, npy_intp n, PyObject **list);
int32_t dl_machine_list_copy(npy_intp *block, npy_intp place, PyObject *of, npy_intp first, npy_intp last, PyObject **list);
int32_t dl_machine_list_join(npy_intp *block, npy_intp place, PyObject *one, PyObject *other, PyObject **list);
int32_t dl_machine_list_pop(npy_intp *block, npy_intp place, PyObject *list, int64_t index, PyObject **item);

/* What the code calls (machine_objects.c). */
npy_intp dl_machine_append_scalar(npy_intp *block, PyObject *list, npy_intp type, npy_intp origin, int64_t bits);
int32_t dl_machine_scalar_object(npy_intp *block, npy_intp place, npy_intp type, npy_intp origin, PyObject **object, int64_t bits);
npy_intp dl_machine_append_array(npy_intp *block, PyObject *list, npy_intp type, npy_intp origin, const char *data, npy_intp nd,
                                 npy_intp first, npy_intp second, npy_intp third);
int32_t dl_machine_array_object(npy_intp *block, npy_intp place, npy_intp type, npy_intp origin, PyObject **object,
                                const char *data, npy_intp nd, npy_intp first, npy_intp second, npy_intp third);
int32_t dl_machine_dict_item(npy_intp *block, npy_intp place, PyObject *dict, int64_t key, PyObject **item);
int32_t dl_machine_container_put(npy_intp *block, PyObject *container, int64_t key, PyObject *object);
int32_t dl_machine_object_array(npy_intp *block, PyObject *object, npy_intp type, char *to, npy_intp nd, npy_intp first,
                                npy_intp second, npy_intp third);
PyObject *dl_machine_new_list(npy_intp *block);

#endif
