/* What the files that build a program share (build.c, build_kernel.c, build_call.c, build_loop.c,
 * build_cond.c).
 *
 * Functions return 0, or -1 with an error set, unless said otherwise; objects are borrowed. What a step holds belongs to
 * the program (owned.c), also where that was refused halfway.
 */
#ifndef DL_BUILD_H
#define DL_BUILD_H

#include "program/program.h"

/* What building knows beside the program. */
typedef struct {
    DlProgram *program;
    int step;       /* the step being built */
    DlPart part;
    uint8_t *is_set;
    int *parent;    /* the register that a view shows, or -1 */
    int *last;      /* the last step that needs a register; n_steps: an output */
    uint8_t *lasting; /* in a body: registers that all iterations have in common */
    uint8_t *shown; /* registers whose objects a list gets, or a body that hands them on */
} DlBuilder;

/* Set ValueError about the step being built. */
int dl_build_refuse(const DlBuilder *builder, const char *why, PyObject *what);

/* Attributes of Python objects: as a tuple (a new reference, NULL), as an int (INT32_MIN on error), as a truth
 * value, and whether it is that text (-1 on error). */
PyObject *dl_build_tuple(PyObject *object, const char *name);
int32_t dl_build_int(PyObject *object, const char *name);
int dl_build_bool(PyObject *object, const char *name);
int dl_build_is_text(PyObject *object, const char *name, const char *text);

/* object, or its attribute, as a dtype that kernels handle, which the program keeps; or NULL. */
PyArray_Descr *dl_build_plain(const DlBuilder *builder, PyObject *object);
PyArray_Descr *dl_build_descr(const DlBuilder *builder, PyObject *object, const char *name);
/* Zeroed memory for n items and one more, which lives as long as the program; or NULL. */
void *dl_build_rows(const DlBuilder *builder, Py_ssize_t n, size_t size);

/* Numbers of values or registers from a tuple attribute, each below `limit`, and how many; NULL with an error set. */
int *dl_build_numbers(const DlBuilder *builder, PyObject *object, const char *name, int limit, int *n);

/* Learn the classes of steps, before all else. */
int dl_build_learn(void);
/* The DlStepKind of a step; the number of kinds where it is none. */
int dl_build_step_kind(PyObject *object);
/* Whether object is a Reg. */
int dl_build_is_reg(PyObject *object);
/* Note that the current step needs, or sets, a register; `what` is named in the error. */
int dl_build_use(DlBuilder *builder, int32_t reg, PyObject *what);
int dl_build_set(DlBuilder *builder, int32_t reg, PyObject *what);

/* Sizes from attribute `name`. */
int dl_build_dims(DlBuilder *builder, PyObject *object, const char *name, DlDims *dims);
/* An operand of that dtype: a Reg, a Scalar, or a constant that is converted now. */
int dl_build_operand(DlBuilder *builder, PyObject *object, PyArray_Descr *descr, DlOperand *operand);

/* Steps. */
int dl_build_map(DlBuilder *builder, PyObject *object, DlMapStep *step);
int dl_build_reduce(DlBuilder *builder, PyObject *object, DlReduceStep *step);
int dl_build_call(DlBuilder *builder, PyObject *object, DlCallStep *step);
int dl_build_loop(DlBuilder *builder, PyObject *object, DlLoopStep *step);
int dl_build_leave(DlBuilder *builder, PyObject *object, DlLeaveStep *step);

/* Attribute "outputs": registers, numbers, and constants, whose objects are new references. */
int dl_build_outputs(DlBuilder *builder, PyObject *object, DlOperand **operands, PyObject ***objects, int *count);
/* Attribute "iterated" of a body: what one kernel does of many iterations, a Map, or None. */
int dl_build_iterated(DlBuilder *builder, PyObject *schedule, DlLoopKernel **kernel);
int dl_build_cond(DlBuilder *builder, PyObject *object, DlCondStep *step);
int dl_build_masked(DlBuilder *builder, PyObject *object, DlMaskedStep *step);
/* The registers that a step sets, of a tuple. */
int dl_build_dsts(DlBuilder *builder, PyObject *object, PyObject *registers, int32_t *dsts);
/* Check what goes into a program inside this one, from its input `first` on. */
int dl_build_goes_in(DlBuilder *builder, PyObject *object, const DlOperand *operands, int n, const DlProgram *program, int first);
/* Whether what goes into `inner` (from its input `first` on) are inputs of the body around it, each once, which has looked
 * already whether what it writes may share memory with another of them. */
int dl_build_is_checked(const DlBuilder *builder, const DlOperand *operands, int n, const DlProgram *inner, int first);
/* One value that goes into a body: a register or a number. */
int dl_build_input(DlBuilder *builder, PyObject *object, DlOperand *operand);
/* The Symbols of `n` numbers that a step yields, if it has them. */
int dl_build_yields(DlBuilder *builder, PyObject *object, DlYields *yields, int n);
/* A Read step. */
int dl_build_read(DlBuilder *builder, PyObject *object, DlReadStep *step);
/* A New and a Put step (lists.c). */
int dl_build_new(DlBuilder *builder, PyObject *object, DlNewStep *step);
int dl_build_put(DlBuilder *builder, PyObject *object, DlPutStep *step);
int dl_build_take(DlBuilder *builder, PyObject *object, DlTakeStep *step);
/* What a step yields, or NULL. */
DlYields *dl_build_yields_of(DlStep *step);
/* Order the instructions of numbers by the step that they wait for: how many depend neither on one nor on `value`, or
 * -1. varies as for dl_scalar_split. */
int32_t dl_build_stages(DlBuilder *builder, int32_t value, uint8_t *varies);

/* Whether register `reg` dies during a run: what a body's iterations have in common does not. */
int dl_build_is_mortal(const DlBuilder *builder, int reg);
/* In a body, once all is built but the deaths: find what is fixed and how its values are handed on. */
int dl_build_body(DlBuilder *builder);
/* Find the initial values that step `index`, a loop, may free. */
void dl_build_moves(const DlBuilder *builder, int index, DlLoopStep *step);
/* The same for a branch. */
int dl_build_branch(DlBuilder *builder);

/* Attribute "blocks", once the steps are built. */
int dl_blocks_build(DlBuilder *builder, PyObject *schedule);

#endif
