/* Objects of numbers, by tag (objects.c). */
#ifndef DL_OBJECTS_H
#define DL_OBJECTS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

extern PyTypeObject dl_objects_type;

#define DL_OBJECTS_CHECK(object) Py_IS_TYPE(object, &dl_objects_type)

/* A new table; firsts: a tuple of the objects from before the loop. NULL with an error set. */
PyObject *dl_objects_new(PyObject *firsts);

/* The object with a tag, borrowed; NULL where there is none. */
PyObject *dl_objects_find(PyObject *table, int64_t tag);

/* Let `number` be the object with a tag that has none; 0, or -1 with an error set. */
int dl_objects_note(PyObject *table, int64_t tag, PyObject *number);

/* The tag of an object that a list holds, which has it from now on: 0, or 1 where there is no memory. */
int32_t dl_object_tag(PyObject *table, PyObject *object, int64_t *tag);

/* The tag of an object that lives as long as the table is asked. */
int64_t dl_object_own_tag(PyObject *object);

#endif
