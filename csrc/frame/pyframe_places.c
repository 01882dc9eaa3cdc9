/* Where attributes lie in objects of one class, version by version: in slots, or beside the object under the keys that all
 * objects of the class share. Everything else (an object whose dictionary has been made) is left to pyframe_any.c. */
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <stdint.h>

#include "pyframe_core.h"

#include <structmember.h>

#include "pyframe.h"

#if DL_KNOWN_PYTHON
/* The values that lie beside an object; NULL where it has a dictionary. */
static PyDictValues *
values_of(PyObject *object)
{
#if PY_VERSION_HEX >= 0x030D0000
    if (_PyObject_GetManagedDict(object) != NULL || !_PyObject_InlineValues(object)->valid) {
        return NULL;
    }
    return _PyObject_InlineValues(object);
#elif PY_VERSION_HEX >= 0x030C0000
    uintptr_t own = (uintptr_t)((PyObject **)object)[-3]; /* NB: as in pyframe.c; odd: that of the values, less one */
    return own & 1 ? (PyDictValues *)(own + 1) : NULL;
#else
    return ((PyDictValues **)object)[-4];
#endif
}

/* Whether objects of a type may have values beside them. */
static int
has_values(PyTypeObject *type)
{
#if PY_VERSION_HEX >= 0x030D0000
    return PyType_HasFeature(type, Py_TPFLAGS_INLINE_VALUES);
#else
    return PyType_HasFeature(type, Py_TPFLAGS_MANAGED_DICT);
#endif
}
#endif

void
dl_attribute_find(DlAttribute *self, PyTypeObject *type, PyObject *name)
{
    *self = (DlAttribute){.name = name, .index = -1};
    PyObject *found = _PyType_Lookup(type, name);
    if (found != NULL && Py_IS_TYPE(found, &PyMemberDescr_Type)) {
        const PyMemberDef *member = ((PyMemberDescrObject *)found)->d_member;
        if (member->type == T_OBJECT_EX && PyType_IsSubtype(type, PyDescr_TYPE(found))) {
            self->slot = member->offset;
        }
        return;
    }
#if DL_KNOWN_PYTHON
    PyDictKeysObject *keys = has_values(type) ? ((PyHeapTypeObject *)type)->ht_cached_keys : NULL;
    if (keys == NULL || keys->dk_kind == DICT_KEYS_GENERAL) {
        return;
    }
    const PyDictUnicodeEntry *entries = DK_UNICODE_ENTRIES(keys);
    for (Py_ssize_t i = 0; i < keys->dk_nentries; i++) {
        if (entries[i].me_key == name) {
            self->index = i;
        }
    }
#endif
}

PyObject **
dl_attribute_place(const DlAttribute *self, PyObject *object)
{
    if (self->slot) {
        return (PyObject **)((char *)object + self->slot);
    }
#if DL_KNOWN_PYTHON
    PyDictValues *values = self->index >= 0 ? values_of(object) : NULL;
    if (values != NULL) {
        return &values->values[self->index];
    }
#else
    (void)object;
#endif
    return NULL;
}

int
dl_attribute_lies_beside(PyObject *object)
{
#if DL_KNOWN_PYTHON
    return has_values(Py_TYPE(object)) && values_of(object) != NULL;
#else
    (void)object;
    return 0;
#endif
}
