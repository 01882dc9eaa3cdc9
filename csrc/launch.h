/* Program: a Schedule (dynamo_lite/schedule/steps.py) compiled to steps in C, run without Python in between.
 *
 * A program either succeeds or declines; a declined one has restored every array it wrote.
 */
#ifndef DL_LAUNCH_H
#define DL_LAUNCH_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

/* Add the types Program and CompiledKernel to the module (which has Declined already); 0 or -1. */
int dl_launch_register(PyObject *module);

/* Run: 0 with new references in `outputs`, 1 when it declined (no error set), -1 with an error set.
 * program: a Program; inputs: borrowed, as many as its schedule says. */
int dl_program_run(PyObject *program, PyObject *const *inputs, PyObject **outputs);

/* How many outputs a run yields. */
Py_ssize_t dl_program_n_outputs(PyObject *program);

#endif
