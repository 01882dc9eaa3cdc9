/* What the files of a native program share: launch.c runs the steps, build.c makes them from a Schedule, views.c,
 * layout.c, kernel_map.c, reduce.c, calls.c, loop.c, cond.c, masked.c and lists.c carry out one kind each, blocks.c
 * and bands.c several by rows; draws.c has the random generators; registers.c and errstate.c serve them all; world.c lets
 * others run in between. What a step is, steps.h says. What steps and kernels hold, memory and objects, belongs to their
 * program (owned.c).
 *
 * A DlProgram is immutable once built, but for the kernels compiled on demand and its counters (both under the GIL). All
 * state of one run stands in a DlRun on the C stack: a program may run in several threads and re-enter. The body of a loop
 * (loop.c) is a program of its own, run by the same code in a run of its own; so is a branch (cond.c).
 */
#ifndef DL_PROGRAM_H
#define DL_PROGRAM_H

#include "abi.h"
#include "arrays/fancy.h"
#include "fpflags.h"
#include "geometry.h"
#include "journal.h"
#include "launch.h"
#include "numpy_api.h"
#include "numbers/scalar.h"
#include "steps.h"
#include "kernels/threads.h"

#include <numpy/random/bitgen.h>

/* Why a run declines; the words stand in launch.c. */
typedef enum {
    DL_REASON_NONE,
#define REASON(id, words) id,
#include "declines.def"
#undef REASON
    DL_N_DECLINES
} DlDecline;

/* What a program is part of. */
typedef enum { DL_WHOLE, DL_LOOP_BODY, DL_WHILE_BODY, DL_BRANCH } DlPart;

/* What a program that is the body of a loop knows besides. Its inputs are the index, what is carried, what is captured.
 * Of a branch it is `returned` and `needs_object`, n_carried counting its outputs but for numbers. */
typedef struct {
    int n_carried;         /* arrays and NumPy scalars; numbers are the last outputs and the last inputs */
    int n_numbers;
    int32_t number_in[DL_MAX_CARRIED_NUMBERS];  /* values of the table: before an iteration, -1 where it is not read */
    int32_t number_out[DL_MAX_CARRIED_NUMBERS]; /* and after it */
    int32_t index;         /* the number that is the index, or -1 */
    int32_t n_fixed;       /* instructions of numbers that are the same in every iteration; they come first */
    uint8_t *returned;     /* of each input: the body hands it on as it is, or a list gets it, so it needs its object */
    uint8_t *needs_object; /* of each output: its register is handed on twice, or to an input that is `returned` */
    uint8_t *moved;        /* of each output: its register is needed no more */
    int simple, lingers;   /* all outputs are moved, and none is a view; its maps may wait for those of later iterations */
    int n_left;            /* registers that are still full behind the last step */
    int32_t *left;
    DlLoopKernel *kernel;  /* or NULL */
    int has_condition;
    DlOperand condition;   /* to go on: a number or a register */
    int drops_condition;   /* whose register nobody needs any more, and hand_on does not empty */
} DlBody;

/* Of maps that wait (bands.c): how many have done so for nothing of late, and how many that come do not wait therefore;
 * whether more is gained by threads, one map after the other. */
typedef struct {
    int in_vain, rests;
    DlPaces trials;
} DlBandCounts;

/* Steps that may run some rows at a time (blocks.c). */
typedef struct {
    int first, count, n_inputs, n_made, n_results;
    int *inputs, *made, *results; /* registers */
    DlDims leading;
} DlRowBlock;

struct DlProgram {
    PyObject_HEAD
    vectorcallfunc vectorcall;
    int n_inputs, n_registers, n_steps, n_outputs, n_written, n_constants;
    int has_calls;     /* some step runs NumPy's Python-level functions */
    int kept;          /* the first step that writes to an input what nothing undoes; or -1 */
    int has_loops;
    int n_maps;        /* of its own steps: maps */
    DlBandCounts bands;
    int n_closed_loops; /* of its own steps: loops that no Leave follows */
    int n_most_outputs; /* the largest number of outputs, of all its ends */
    int32_t n_early;    /* instructions of numbers that wait for no step */
    DlDecline never;    /* if set: every run declines for it at once */
    int care;           /* how careful the code of all its kernels has to be (kernel_code.h) */
    int inverts;        /* a kernel of it, or of a body, multiplies by the inverse of what it is to divide by */
    int num_threads;    /* its own limit; 0: the process's */
    PyObject *failure; /* owned: the words of the error of a kernel that could not be compiled, or NULL */
    DlStep *steps;
    DlScalars numbers;
    DlOperand *outputs;
    PyObject **output_objects; /* constant outputs; NULL where it is a register or number */
    int32_t *written;
    int32_t *constant_regs;
    PyObject **constants;
    PyObject *schedule, *compile_kernel;
    unsigned long long declines[DL_N_DECLINES];
    DlDecline last_decline;
    int interrupted; /* which of the loops that can be left was under way then, from 1 on */
    double time; /* of the last run: nanoseconds where it has loops, else 1 */
    DlRowBlock *blocks;
    int n_blocks;
    struct DlMemory *memory; /* what all of the above, and the steps, consist of (owned.c) */
    struct DlOwned *owned;   /* and the objects there */
    DlSingle *single; /* it is one map, for which the short way is prepared (map_single.c); or NULL */
    DlStraight *straight; /* it is one call of machine code, the same (straight.c); or NULL */
    struct DlSmall *small; /* what runs small arrays once they are often there (small.c); or NULL */
    int tries_short;   /* that way is tried first */
    DlBody *body;      /* NULL but for the body of a loop, or a branch */
};

typedef struct DlSaved DlSaved;
typedef struct DlDraws DlDraws;

/* Arrays that died during a loop and wait for a result of their geometry (pool.c). */
enum { DL_POOL = 8 };
typedef struct {
    int n;
    PyObject *arrays[DL_POOL]; /* owned */
} DlPool;

/* One run. */
typedef struct DlRun {
    DlProgram *program;
    PyObject *const *inputs;
    DlReg *regs;
    DlNumber *numbers;
    unsigned flags;        /* floating-point flags gathered so far */
    DlDecline reason;       /* why it declines */
    DlSaved *saved;        /* what to write back when it declines */
    DlJournal journal;     /* of the outermost run: the items to put back then */
    DlDraws *draws;        /* of the outermost run: the twins of the random generators that go in */
    PyObject *errstate;    /* owned: token of the context variable while errors raise, or NULL */
    int knows_reported;
    unsigned reported;     /* flags that the caller's state does not ignore, once that is known */
    unsigned warned;       /* those of which NumPy warns */
    DlErrorsStep scope;    /* of the outermost run: how the state differs from the caller's now */
    int64_t changes;       /* of the outermost run: of the filters of warnings, which are to be counted (silence.h) */
    DlPool *pool;          /* of a loop; or NULL */
    struct DlBands *bands; /* maps that wait (bands.c), or NULL */
    int keep_gil;          /* the program has loops: it does not let other threads run */
    int strict;            /* nor may anything that it calls, since some loop cannot be left */
    int ends;              /* of the outermost run: it may end at a Leave */
    int64_t most;          /* and has to after so many iterations, or DL_ALL */
    int repeats;           /* of this loop of those that can be left: it runs again what it has run; or 0: of any */
    int leaves;            /* of the outermost run: the loop under way may be left */
    int number;            /* of the latest such loop, from 1 on */
    int64_t done;          /* so many of its iterations have ended */
    int64_t deadline;      /* until when it has to be left, or 0: nobody says */
    int64_t wanted;        /* and since when somebody waits for that, in ns; or 0 */
    unsigned long switches; /* how often the GIL had changed hands when the run began */
    int64_t left;          /* the loop was left */
    int64_t taken;         /* after so many iterations */
    DlLeaveStep *end;      /* the Leave at which the run ended; or NULL */
    int64_t began;         /* when, without the time that compiling took; of the outermost run, if it has loops */
    int64_t compiling;     /* and how long that was, in ns; of the outermost run */
    const DlWorld *world;  /* how to ask whether the world is as the guards found it; of the outermost run, or NULL */
    int64_t let_in, cost;  /* when others were let in last, and how long it took to see what they have changed, in ns */
    int impatient;         /* an iteration of the outermost loop is too long for others to wait for its end */
    DlDecline stale;       /* others have changed something: the loop is to be left, or the program declines for that */
    int keeps_writes;      /* writes are not undone, whatever happens */
    int at;                /* of the outermost run: the step under way, or n_steps behind the last one */
    int raised;            /* a handler of a signal raised: the error that is set is the user's */
    int n_leading;         /* in a block: so many first axes are */
    npy_intp n_rows;       /* these rows, all along the last of them */
    struct DlBlockRows *block; /* of its results, or NULL (block_rows.c) */
    struct DlRun *outermost; /* of the bodies of loops: the run around them all */
} DlRun;

/* What a step returns: 0 done, 1 declined (run->reason says why), -1 with an error set. */
typedef int DlStatus;

/* Decline for that reason. */
static inline DlStatus
dl_decline(DlRun *run, DlDecline reason)
{
    run->reason = reason;
    return 1;
}

/* ---- launch.c: steps and registers ---- */

/* Make a program of a Schedule. A new reference, or NULL. */
DlProgram *dl_program_make(PyObject *schedule, PyObject *compile_kernel, DlPart part);
/* Run one step. */
DlStatus dl_step_run(DlRun *run, DlStep *step);
/* Run all steps that are fixed, or all that are not. */
DlStatus dl_steps_run(DlRun *run, int fixed);
/* ---- errstate.c ---- */

/* Turn floating-point errors that are not ignored into exceptions, until the run ends. */
DlStatus dl_errstate_enter(DlRun *run);
void dl_errstate_leave(DlRun *run);
/* Make sure that judging flags later runs no Python code to tell which are reported. */
DlStatus dl_errstate_learn(DlRun *run);
/* Judge the flags gathered so far, and let another state be in force. */
DlStatus dl_errstate_set(DlRun *run, const DlErrorsStep *step);
/* Whether NumPy's buffers are as large as ever; -1 with an error set. is_known: if no Python code is run to tell. */
int dl_errstate_is_buffered(void), dl_errstate_is_known(int *is_buffered);
/* Decline when one of the flags gathered so far is such that NumPy would report it. */
DlStatus dl_flags_judge(DlRun *run);
/* Decline when a floating-point error happened that NumPy would report. */
static inline DlStatus
dl_flags_check(DlRun *run)
{
    run->flags |= dl_fp_get();
    return run->flags == 0 ? 0 : dl_flags_judge(run);
}
/* After a Python call (result NULL: it raised): 0, 1 to decline, -1. */
DlStatus dl_call_done(DlRun *run, PyObject *result);
/* Import what calls need of NumPy; 0 or -1. */
int dl_errstate_register(void);

/* Let invalid values alone raise in what NumPy is called for, until dl_errstate_back; a token, or NULL with an error. */
PyObject *dl_errstate_invalid_alone(void);
void dl_errstate_back(PyObject *token);

/* ---- pool.c ---- */
/* A fresh array: strides NULL for C order; its memory is not initialised. A new reference, or NULL. */
PyObject *dl_pool_array(DlRun *run, PyArray_Descr *descr, int nd, const npy_intp *shape, const npy_intp *strides);
/* Drop a reference (stolen) to such an array; if nobody else has one it waits in the pool. */
void dl_pool_give(DlPool *pool, PyObject *object);
/* Drop the big arrays, before memory is asked for that cannot come from the pool. */
void dl_pool_drop_big(DlPool *pool);
void dl_pool_clear(DlPool *pool);

/* ---- registers.c ---- */

/* A step's Python code raised: decline for that reason with the error cleared, or -1 for MemoryError and what is no
 * Exception. A program whose kernel cannot be compiled never runs again. */
DlStatus dl_failed(DlRun *run, DlDecline reason);
/* Put an object into a register, stealing the reference; or an exact ndarray; or an array that dl_pool_array made. */
void dl_reg_take(DlReg *reg, PyObject *object);
static inline void
dl_reg_take_array(DlReg *reg, PyArrayObject *array)
{
    reg->object = (PyObject *)array;
    reg->fresh = reg->bordered = 0;
    reg->owner = NULL;
    reg->descr = PyArray_DESCR(array);
    reg->nd = PyArray_NDIM(array);
    reg->data = PyArray_BYTES(array);
    reg->shape = PyArray_DIMS(array);
    reg->strides = PyArray_STRIDES(array);
    reg->writeable = PyArray_ISWRITEABLE(array);
    int usable = reg->nd <= DL_MAX_DIMS && PyArray_ISALIGNED(array) && dl_numpy_plain(reg->descr);
    reg->kind = usable ? DL_ARRAY : DL_OTHER;
}
static inline void
dl_reg_take_fresh(DlReg *reg, PyObject *array)
{
    dl_reg_take_array(reg, (PyArrayObject *)array);
    reg->fresh = 1;
}
/* Put the value of a NumPy scalar, of a builtin dtype, into an empty register; or a number, as a NumPy scalar. */
void dl_reg_take_cell(DlReg *reg, PyArray_Descr *descr, const void *value);
void dl_reg_take_number(DlReg *reg, DlNumber number, int kind);
/* Copy a register without what it owns; its geometry does not depend on src any more. */
void dl_reg_copy(DlReg *dst, const DlReg *src);
/* Whether an array's elements lie side by side, in C order. */
static inline int
dl_reg_is_packed(const DlReg *reg)
{
    return dl_is_packed(PyDataType_ELSIZE(reg->descr), reg->nd, reg->shape, reg->strides);
}
/* The bytes of an array, and whether two may have some in common. */
static inline DlBytes
dl_reg_bytes(const DlReg *reg)
{
    return dl_bytes_of(reg->data, PyDataType_ELSIZE(reg->descr), reg->nd, reg->shape, reg->strides);
}
static inline int
dl_regs_may_share(const DlReg *one, const DlReg *other)
{
    return dl_bytes_meet(dl_reg_bytes(one), dl_reg_bytes(other));
}
/* The object of a register, made if need be: borrowed, NULL with an error set. */
PyObject *dl_reg_make_object(DlReg *reg);
static inline PyObject *
dl_reg_object(DlReg *reg)
{
    return reg->object != NULL ? reg->object : dl_reg_make_object(reg);
}
/* Drop what a register owns. */
static inline void
dl_reg_release(DlRun *run, DlReg *reg)
{
    PyObject *object = reg->object;
    reg->kind = DL_EMPTY;
    if (object == NULL) {
        return;
    }
    reg->object = NULL;
    if (run->pool != NULL && reg->fresh) {
        dl_pool_give(run->pool, object);
    }
    else {
        Py_DECREF(object);
    }
}
/* Where a NumPy scalar register's value lies; NULL when it is no plain number. */
static inline char *
dl_reg_cell(DlReg *reg)
{
    if (reg->data == NULL) {
        PyArray_ScalarAsCtype(reg->object, reg->cell.bytes);
        reg->data = reg->cell.bytes;
    }
    return reg->data;
}
/* One size. */
static inline npy_intp
dl_dims_at(const DlRun *run, const DlDims *dims, int i)
{
    if (i < run->n_leading) {
        return i == run->n_leading - 1 ? run->n_rows : 1;
    }
    return (npy_intp)run->numbers[dims->values[i]].i;
}
/* Write sizes into shape; 1 when one is negative. */
int dl_dims_get(const DlRun *run, const DlDims *dims, npy_intp *shape);
/* Convert a number of a table to descr's type as NumPy does with a Python number; 1 to decline. */
int dl_number_fill(const DlScalars *table, const DlNumber *numbers, int32_t value, PyArray_Descr *descr, char *cell);
static inline int
dl_cell_fill(const DlRun *run, int32_t value, PyArray_Descr *descr, char *cell)
{
    return dl_number_fill(&run->program->numbers, run->numbers, value, descr, cell);
}

/* Set the numbers that a step yields, and all that waits for them; 0 or 1. */
DlStatus dl_yields_set(DlRun *run, const DlYields *yields, const DlNumber *numbers);

/* ---- overlap.c ---- */
/* Decline when input `written` cannot be written element by element. */
DlStatus dl_overlap_check_target(DlRun *run, int written);
/* Decline when inputs `written` and `other` may share memory; `same`: also where they are one object. */
DlStatus dl_overlap_check_pair(DlRun *run, int written, int other, int same);
/* Decline when an input that the run's program writes may share memory with another one (the index, before `first`, is
 * none). Only inputs from `first` up to `end` are new: a pair of others has been looked at. */
DlStatus dl_overlap_check_inputs(DlRun *run, int first, int end, int same);
/* Keep a copy of what a register's array holds. */
DlStatus dl_overlap_save(DlRun *run, const DlReg *reg);
/* Free the copies, the latest first; `restore` writes them back. */
void dl_overlap_end_saved(DlRun *run, int restore);

/* Note what the arrays hold of which there are copies, before others may write them; 0, or -1 without memory. Compare: what
 * others have written is part of the copies, or (reads 0) is not looked at. */
int dl_overlap_note(DlRun *run);
void dl_overlap_compare(DlRun *run, int reads);
/* How many bytes the copies have. */
npy_intp dl_overlap_saved_bytes(const DlRun *run);

/* ---- world.c ---- */
/* What is noted while others may run. */
typedef struct {
    struct DlLying *lying; /* owned, or NULL */
} DlWatch;

/* Around Python code, or NumPy's own, which may let other threads run where a loop cannot be left afterwards: see whether
 * they change something. open declines where nobody could tell (any_size: however much there is to note); close gives
 * `status`, or declines. */
DlStatus dl_world_open(DlRun *run, DlWatch *watch, int any_size);
DlStatus dl_world_close(DlRun *run, DlWatch *watch, DlStatus status);
/* See whether a signal or another thread waits, now (a time in ns): then let it in, or have outermost->wanted set if the
 * outermost loop can be left; 0, -1 where a handler of a signal raised, or a decline for that reason. */
DlStatus dl_world_look(DlRun *run, int64_t time);
/* A loop that can be left has ended, after so many iterations: let signals in that wait, if something may handle them. */
DlStatus dl_world_end_loop(DlRun *run, int64_t taken);
/* Nanoseconds since some time in the past. */
int64_t dl_world_clock(void);
/* For tests: leave loops that may be left behind every so many iterations, and decline in each of theirs whose number
 * modulo this is the last; 0: neither. */
extern unsigned dl_world_leave_every, dl_world_decline_every;

/* ---- product.c ---- */
/* Note in the step, which is built, if it is a product of two registers; 0 or -1. */
int dl_product_build(DlCallStep *step);
/* Do it without a call; 2 when only the call will do. */
DlStatus dl_product_run(DlRun *run, const DlCallStep *step);
/* The product of two vectors of n and m elements of a dtype that some step multiplies, for machine code. what:
 * DL_VECTOR_PRODUCTS times the type number, and DL_VECTOR_DOT more for np.dot. 0, or 1 to decline. */
int32_t dl_product_vectors(npy_intp what, char *result, char *a, npy_intp n, npy_intp a_stride, char *b, npy_intp m,
                           npy_intp b_stride);

/* The same of a matrix and a matrix or vector (one row, or one column), into packed memory; the sizes and strides of both. */
int32_t dl_product_arrays(npy_intp what, char *result, char *a, char *b, npy_intp m, npy_intp n, npy_intp a_row,
                          npy_intp a_column, npy_intp b_rows, npy_intp p, npy_intp b_row, npy_intp b_column);

/* ---- accumulate.c ---- */
/* Cumulative sums or products of n elements, into packed memory; 1 where NumPy's own result is in doubt. what:
 * DL_ACCUMULATES times the type number, and DL_ACCUMULATE_MULTIPLY more for products. */
int32_t dl_accumulate_vector(npy_intp what, char *out, const char *x, npy_intp n, npy_intp stride);

/* ---- positions.c ---- */
int32_t dl_positions_find(npy_intp what, int64_t *out, const char *x, npy_intp rows, npy_intp n, npy_intp row_stride,
                          npy_intp stride);

/* Sort n packed elements of that dtype, by NumPy's own function; 1 where it fails. */
int32_t dl_positions_sort(npy_intp type_num, char *x, npy_intp n);

/* Where *key belongs in a sorted vector of doubles or int64. what: DL_SEARCHES times the type number, and which place. */
int64_t dl_positions_search(npy_intp what, const char *x, npy_intp n, npy_intp stride, const char *key);

/* ---- statistics.c ---- */
/* The median of n packed doubles or integers, which are sorted; 1 where NumPy's own result is in doubt. */
int32_t dl_statistics_median(npy_intp type_num, char *x, npy_intp n, double *out);

/* ---- loop.c ---- */
DlStatus dl_loop_run(DlRun *run, DlLoopStep *step);

/* ---- cond.c ---- */
DlStatus dl_cond_run(DlRun *run, DlCondStep *step);
/* Have a number of the table be what a register holds. */
DlStatus dl_read_run(DlRun *run, const DlReadStep *step);
/* The truth of a condition: 1 or 0, or -1 to decline. */
int dl_cond_truth(DlRun *run, const DlOperand *condition);

/* ---- blocks.c ---- */
/* Run the block that begins with step number `first`, if there is one and it can run by rows: *count is its steps. */
DlStatus dl_blocks_run(DlRun *run, int first, int *count);

/* ---- masked.c ---- */
DlStatus dl_masked_run(DlRun *run, const DlMaskedStep *step);

/* ---- lists.c ---- */
DlStatus dl_list_new(DlRun *run, const DlNewStep *step);
DlStatus dl_list_put(DlRun *run, const DlPutStep *step);
DlStatus dl_list_take(DlRun *run, const DlTakeStep *step);

/* ---- draws.c ---- */
/* Whether an input is a random generator; put its twin into the register. */
int dl_draws_has(PyObject *object);
DlStatus dl_draws_take(DlRun *run, DlReg *reg, PyObject *object);
/* Give the user's generators the states of their twins, or decline; let go of them. */
DlStatus dl_draws_commit(DlRun *run);
void dl_draws_end(DlRun *run);
/* What the twin of a generator draws with; kept: as dl_variates_fill takes it. */
bitgen_t *dl_draws_interface(const DlRun *run, PyObject *generator, char **kept);

/* ---- build.c, owned.c ---- */

/* Fill self from its schedule; 0 or -1. What is built so far is freed by dl_program_clear in any case. */
int dl_program_build(DlProgram *self, DlPart part);
/* Zeroed memory for n items that lives as long as the program, or NULL with an error set. */
void *dl_program_take(DlProgram *self, size_t n, size_t size);
/* Have the program keep an object, whose reference is stolen (NULL: an error is set): the object, or NULL. */
PyObject *dl_program_own(DlProgram *self, PyObject *object);
int dl_program_traverse(DlProgram *self, visitproc visit, void *arg);
void dl_program_clear(DlProgram *self);

/* ---- views.c ---- */
DlStatus dl_view_run(DlRun *run, const DlViewStep *step);

/* ---- layout.c ---- */

/* An array's geometry, without its data. */
typedef struct {
    int nd;
    int cast;      /* read through a cast: not iterated trivially */
    int made;      /* made by the program, in memory of its own: for NumPy it may be a temporary */
    int itemsize;
    npy_intp shape[DL_MAX_DIMS], strides[DL_MAX_DIMS];
} DlLayout;

/* Strides of contiguous memory. */
void dl_layout_contiguous(int nd, const npy_intp *shape, npy_intp itemsize, int fortran, npy_intp *strides);
/* The axes of one array as NumPy's iterator orders them, innermost first. */
void dl_layout_order(const DlLayout *layout, int *order);
/* The strides of a copy of reg's array, of that itemsize, in its memory order. */
void dl_layout_of_copy(const DlReg *reg, int itemsize, npy_intp *strides);
/* The strides of a packed array of that shape whose axes have the order that they have in all of the n arrays
 * (ops/borders.py): 0, or 1 if they have no common one, or if it is open what NumPy takes for one. */
int dl_layout_common(const DlReg *regs, const int32_t *like, int n, int nd, const npy_intp *shape, int itemsize,
                     npy_intp *strides);
/* The layouts of a kernel's results that NumPy's operations would give; operands: one layout each. into: which results
 * go into arrays that are there, and have none; or NULL. 1: not of `shape`. */
int dl_layout_results(const DlKernel *kernel, const DlLayout *operands, const uint8_t *into, int nd,
                      const npy_intp *shape, DlLayout *results);

/* Whether no element of one array over `shape` has a byte of the other's: bounds that meet say little of columns, or of
 * the halves of a matrix. 0 where that takes long to tell. */
int dl_layout_disjoint(const char *one, npy_intp itemsize, const npy_intp *strides, const char *other,
                    npy_intp other_itemsize, const npy_intp *other_strides, int nd, const npy_intp *shape);

/* ---- reduce.c ---- */
/* Choose how a built step reduces; ufunc: its name. 0 or -1. */
int dl_reduce_plan(DlReduceStep *step, const char *ufunc);
DlStatus dl_reduce_run(DlRun *run, DlReduceStep *step);

/* ---- calls.c ---- */
DlStatus dl_call_run(DlRun *run, const DlCallStep *step);

#endif
