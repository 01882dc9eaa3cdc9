/* What is put together at a call, inside its constant arguments: see slot.c. */
#ifndef DL_SLOT_H
#define DL_SLOT_H

#include "numpy_api.h"

typedef enum { DL_SLOT_REG, DL_SLOT_NUMBER, DL_SLOT_TUPLE, DL_SLOT_LIST, DL_SLOT_SLICE } DlSlotKind;

typedef struct {
    PyObject_HEAD
    DlSlotKind kind;
    int32_t index;   /* register or number */
    PyObject *items; /* owned: the parts of a container, a tuple */
} DlSlot;

/* object as a Slot, or NULL when it is a constant. */
const DlSlot *dl_slot_cast(PyObject *object);
/* A new Slot; steals items. */
PyObject *dl_slot_new(DlSlotKind kind, int32_t index, PyObject *items);
/* Make the Slot type ready; 0 or -1. */
int dl_slot_register(void);

#endif
