/* Machine loops: see machine.c. */
#ifndef DL_MACHINE_H
#define DL_MACHINE_H

#include "program.h"

/* Add machine_block to the module; 0 or -1. */
int dl_machine_register(PyObject *module);

/* Make the machine form of a step whose body and operands are built, of a Machine; what is made so far is freed by
 * dl_machine_clear in any case. 0 or -1. */
int dl_machine_build(PyObject *object, const DlLoopStep *step, DlMachine **machine);
int dl_machine_traverse(const DlMachine *self, visitproc visit, void *arg);
void dl_machine_clear(DlMachine *self);

/* Run `planned`, at least 1, of a loop's `length` iterations as machine code, and leave it where these are not all; 2 when
 * it has to run step by step. */
DlStatus dl_machine_run(DlRun *run, DlLoopStep *step, int64_t start, int64_t by, uint64_t length, uint64_t planned);

#endif
