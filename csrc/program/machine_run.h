/* One run of a machine loop under way: what the functions that its code calls know of it (machine.c,
 * machine_objects.c). */
#ifndef DL_MACHINE_RUN_H
#define DL_MACHINE_RUN_H

#include "program.h"

/* Memory for a vector that the code makes; kept for the next one. NB: abi.def has it as words. */
typedef struct {
    char *memory;
    npy_intp bytes;
} DlRoom;

/* One run under way. */
typedef struct {
    DlRun *run;
    int64_t budget, read;
    DlStatus status; /* of the last look */
    int leaves;      /* it is the loop that can be left */
    DlRoom rooms[DL_MOST_ROOMS];
    const DlLoopStep *step;
    PyObject **made; /* owned: the NumPy scalars and arrays that appends have made */
    npy_intp n_made, room_made;
    PyObject *lists; /* the lists that the code has made, or NULL */
    PyObject *kept[DL_MOST_KEPT]; /* owned, or NULL: what it keeps until it keeps something else in that place */
} DlMachineRun;

/* That of the code with this block. */
static inline DlMachineRun *
dl_machine_run_of(const npy_intp *block)
{
    return (DlMachineRun *)block[DL_WORD_RUN];
}

/* The object with that origin, borrowed, or NULL. */
PyObject *dl_machine_object_of(const DlMachineRun *watch, npy_intp origin);

#endif
