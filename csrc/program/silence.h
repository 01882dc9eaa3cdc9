/* Whether what NumPy warns of goes unseen, and programs in which the filters of `warnings` change. */
#ifndef DL_SILENCE_H
#define DL_SILENCE_H

#include "program.h"

int dl_silence_register(void);

/* Whether all that NumPy warns of of floating-point errors goes unseen now. */
int dl_silence(const DlRun *run);

/* Whether a warning that is ignored leaves nothing new in the module. */
int dl_silence_leaves_nothing(const DlRun *run);

/* A `with warnings.catch_warnings()` begins, of which the program has the effects when it ends: 0, 1 to decline, -1. */
DlStatus dl_filters_enter(DlRun *run, PyObject *are_own);

/* Let Python count the changes of the filters that a program has been through. */
DlStatus dl_filters_commit(DlRun *run);

#endif
