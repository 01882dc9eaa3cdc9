/* Frames that hand over at the back edge of a loop (see back_edge.c). */
#ifndef DL_BACK_EDGE_H
#define DL_BACK_EDGE_H

#include "cache.h"
#include "pyframe.h"

extern PyObject *dl_go_on; /* _C.GO_ON: what poll() gives where the frame is to run on */

/* What on_hot(poll, function, stack, own, names, values, sole) answers: what a frame holds that is at the header of a loop,
   and whether nobody else has that; stack slots up to depth. frame: hidden. makes: the answer takes the time of making code. */
PyObject *dl_back_edge_ask(PyObject *on_hot, PyObject *poll, DlFrame *frame, PyCodeObject *code, int depth, int makes);

/* What that frame, of `function`, is to return where the answer is a Continuation, which alone holds from here on what has
   lived in it: the Continuation, to a chain of on_miss's that has called the frame, or the value in the end. */
PyObject *dl_back_edge_take_over(PyObject *answer, DlFrame *frame, int depth, DlCache *cache, PyObject *function,
                               PyObject *on_miss);

/* Add GO_ON and BackEdge to module: 0, or -1 with an error set. */
int dl_back_edge_register(PyObject *module);

#endif
