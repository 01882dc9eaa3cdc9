/* The arguments of a frame that has just begun, when no inner function has its cells yet: the values are in them.

   cells: a bit for each argument slot that holds a cell. */
#ifndef DL_FRAME_ARGUMENTS_H
#define DL_FRAME_ARGUMENTS_H

#include <stdint.h>

#include "pyframe.h"

/* The first n slots of frame, borrowed references; they lie in the frame, or are written to room, which has place for n. */
PyObject *const *dl_frame_arguments(DlFrame *frame, uint64_t cells, PyObject **room, Py_ssize_t n);

/* What function, of that code, gives for what lies in the argument slots of its frame, out of which it is taken: it is
   called plainly. */
PyObject *dl_frame_arguments_call(DlFrame *frame, uint64_t cells, PyObject *function, PyCodeObject *code);

#endif
