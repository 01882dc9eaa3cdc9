/* How a kernel runs over arrays, once alone or many iterations: what the files that do it ask of each other. */
#ifndef DL_MAPS_H
#define DL_MAPS_H

#include "program/program.h"

/* ---- kernel_map.c ---- */

/* An operand or result spread over a map's shape. */
typedef struct {
    char *data;
    npy_intp itemsize;
    int is_array;
    npy_intp strides[DL_MAX_DIMS];
} DlSpread;

/* A loop nest: axes outermost first, neighbours merged. */
typedef struct {
    int n_operands, nd;
    npy_intp size;
    npy_intp shape[DL_MAX_DIMS];
    DlSpread spread[DL_MAX_OPERANDS];
} DlNest;

DlStatus dl_map_run(DlRun *run, DlMapStep *step);
/* Prepare the short way of a program that is one map, if it is one: 0, or -1 with MemoryError. */
int dl_single_build(DlProgram *program);
/* Run it if its inputs are small packed arrays of one shape: 1 with new references in `outputs`, or 0 (no error set, and
 * nothing happened) when it is to be run the long way (map_single.c). */
int dl_single_run(DlProgram *program, PyObject *const *inputs, PyObject **outputs);
/* The same of a program that one call of machine code does (straight.c). */
int dl_straight_build(DlProgram *program);
int dl_straight_run(DlProgram *program, PyObject *const *inputs, PyObject **outputs);
/* Whether its code is compiled, for what went in last. */
int dl_straight_is_ready(const DlProgram *program);
/* For a program that has steps, to have a routine of small arrays beside them; make_small gives it, or None: 0 or -1
 * (small.c). */
typedef struct DlSmall DlSmall;
enum { DL_SMALL_ELEMENTS = 256 }; /* of a vector there */
int dl_small_begin(DlProgram *program, PyObject *make_small);
/* That routine, borrowed, or NULL: there is none, or it has not stayed. */
PyObject *dl_small_routine(const DlProgram *program);
/* The short way by it. */
int dl_small_run(DlProgram *program, PyObject *const *inputs, PyObject **outputs);
/* Ask for it where it is time, and try it: as dl_program_run; 2: nothing has happened. by_steps: runs a program so. */
typedef int DlBySteps(PyObject *program, PyObject *const *inputs, PyObject **outputs, DlEnd *end, const DlWorld *world);
int dl_small_try(DlProgram *program, PyObject *const *inputs, PyObject **outputs, const DlWorld *world,
                 DlBySteps *by_steps);
/* What dl_map_run does before any code runs: spread the operands, make and find the results. fresh: new references, to
 * be dropped in any case, NULL for those that are none; clashes: what some target holds is read at other positions. */
DlStatus dl_map_open(DlRun *run, DlMapStep *step, DlNest *nest, npy_intp *shape, char (*cells)[DL_CELL],
                     PyObject **fresh, int *clashes);
/* Order a nest over `shape` and run it; or order it and find its code, 2 where dl_map_launch will not do. */
DlStatus dl_map_run_nest(DlRun *run, DlMapStep *step, DlNest *nest, int nd, const npy_intp *shape);
DlStatus dl_map_prepare(DlRun *run, DlMapStep *step, DlNest *nest, int nd, const npy_intp *shape, DlVariant **used);
/* Whether no operand is reversed that must not be. */
int dl_map_lies_forward(const DlRun *run, const DlMapStep *step);
/* Drop axes of size 1 and merge neighbours that one loop covers; order: the n axes, outermost first. */
void dl_nest_merge(DlNest *nest, const int *order, int n, const npy_intp *shape);
/* Take the array that register `reg` holds as a result of the nest, to be written. */
DlStatus dl_map_spread_target(DlRun *run, const DlReg *reg, PyArray_Descr *descr, int nd, const npy_intp *shape,
                              DlSpread *spread);
/* Spread the operands over `shape`; numbers are converted into `cells`. */
DlStatus dl_map_spread(DlRun *run, DlMapStep *step, int nd, const npy_intp *shape, DlNest *nest,
                       char (*cells)[DL_CELL]);
/* Layouts of the kernel's fresh results over shape (of `size` elements), given the spread operands. */
DlStatus dl_map_layouts(DlRun *run, const DlMapStep *step, const DlNest *nest, int nd, const npy_intp *shape,
                        npy_intp size, DlLayout *results);
/* Run the kernel into one fresh array, which gets NumPy's layout: a new reference in *result. */
DlStatus dl_map_fresh(DlRun *run, DlMapStep *step, int nd, const npy_intp *shape, PyObject **result);
/* Order the axes by their strides, those of size 1 left out, and merge neighbours that one loop covers. */
void dl_nest_order(DlNest *nest, int first_result, int nd, const npy_intp *shape);
/* Copy between two arrays of one shape and dtype. */
void dl_copy_strided(char *dst, const npy_intp *dst_strides, const char *src, const npy_intp *src_strides, int nd,
                     const npy_intp *shape, npy_intp itemsize);

/* ---- map_launch.c ---- */
/* Call the kernel's code over an ordered nest; iterations: of one that iterates, otherwise NULL. */
struct DlIterations;
DlStatus dl_map_launch(DlRun *run, const DlNest *nest, DlVariant *variant, const struct DlIterations *iterations);
/* Whether the rows of an ordered nest are so short that they had better run as one long one, by code for packed arrays. */
int dl_map_merges_rows(const DlNest *nest, int first_result);
DlStatus dl_map_launch_merged(DlRun *run, const DlNest *nest, DlVariant *variant);
/* Hand the results to their registers: the arrays in `fresh`, whose references are taken, and scalars in their cells. */
void dl_map_take_results(DlRun *run, const DlMapStep *step, PyObject **fresh);

/* ---- loop_kernel.c ---- */

/* A loop's kernel about to run: on the body's carried arrays, which it changes in place. */
typedef struct {
    DlVariant *variant;
    DlNest nest;
    double cells[DL_MAX_OPERANDS][DL_CELL / sizeof(double)];
} DlIteration;

/* Make ready to run iterations in place; 2 when the arrays that are carried now are no such as iterations would make. */
DlStatus dl_iterate_prepare(DlRun *run, DlLoopKernel *kernel, DlIteration *iteration);
/* Write the numbers of iteration `row` into the table, of which rows * dl_iterate_row_bytes(kernel) bytes are there. */
npy_intp dl_iterate_row_bytes(const DlLoopKernel *kernel);
DlStatus dl_iterate_fill(DlRun *run, const DlLoopKernel *kernel, char *row);
/* Run `n` iterations, at least one, with these numbers. */
DlStatus dl_iterate_run(DlRun *run, const DlLoopKernel *kernel, DlIteration *iteration, npy_intp n, char *table);

/* ---- map_plan.c ---- */
/* Run a map as it was planned; 2 when its operands or targets are not as they were then. */
DlStatus dl_plan_run(DlRun *run, DlMapStep *step);
/* Remember how a map has just been run, over `shape`. */
void dl_plan_note(const DlRun *run, DlMapStep *step, const DlNest *nest, DlVariant *variant, const npy_intp *shape);

#endif
