/* The steps of a program (program.h), and what they work on: values in registers, kernels, operands. */
#ifndef DL_STEPS_H
#define DL_STEPS_H

#include "abi.h"
#include "arrays/fancy.h"
#include "geometry.h"
#include "launch.h"
#include "numpy_api.h"
#include "numbers/scalar.h"
#include "kernels/threads.h"

#include <numpy/random/bitgen.h>

enum { DL_PAUSE_AHEAD = 64 }; /* `ahead` of a loop at first */

enum {
    DL_CELL = 16,            /* bytes of the largest number */
    DL_RELEASE_GIL = 100000, /* elements from which on a kernel runs without the GIL */
};

typedef enum { DL_EMPTY, DL_ARRAY, DL_SCALAR, DL_OTHER } DlRegKind;

/* A value during a run. An array is its geometry; its object is made when somebody needs it. */
typedef struct {
    DlRegKind kind;
    int nd;
    int16_t writeable;
    int16_t fresh;        /* object is an array that dl_pool_array made */
    int16_t bordered;     /* it lies between borders (lower/pad.py), where NumPy has made an array */
    PyObject *object;     /* owned: the ndarray or NumPy scalar or number; NULL for a view not made yet */
    PyObject *owner;      /* borrowed: whose memory a view without object shows */
    PyArray_Descr *descr; /* borrowed: the owner's or the program's */
    char *data;           /* NULL for a NumPy scalar not read yet */
    const npy_intp *shape, *strides; /* the object's, or own_shape and own_strides */
    npy_intp own_shape[DL_MAX_DIMS], own_strides[DL_MAX_DIMS];
    union {
        char bytes[DL_CELL];
        double align[2];
    } cell; /* a NumPy scalar's value */
} DlReg;

/* Machine code for one stride pattern of a kernel. */
typedef struct DlVariant {
    struct DlVariant *next;
    struct DlKernel *kernel; /* whose it is */
    int rows;         /* it goes through rows of elements */
    int care;         /* how careful it is (kernel_code.h) */
    int32_t (*address)(npy_intp *block, npy_intp n);
    npy_intp scratch_bytes;
    int n_loops, needs_gil, is_quick; /* is_quick: it is not optimised */
    int one_thread;   /* a loop that it calls may raise, or is not NumPy's own */
    double guess;     /* nanoseconds that an element takes, roughly */
    DlPaces trials;  /* whether it gains by threads */
    double quick_ns;  /* for which it has run, if it is_quick */
    npy_intp *loops;  /* six words each; the flags pointer is filled in at the call */
    uint8_t classes[]; /* of the strides, one an operand and result */
} DlVariant;

/* How an operation's fresh result would lie in memory (layout.c). */
typedef enum { DL_LAYOUT_UFUNC, DL_LAYOUT_WHERE, DL_LAYOUT_CAST, DL_LAYOUT_COPY, DL_LAYOUT_CONST } DlLayoutRule;

typedef struct {
    DlLayoutRule rule;
    NPY_ORDER order;  /* of a copy */
    int n_operands, n_outs, first_out;
    int *operands;    /* value numbers */
} DlKernelOp;

typedef struct DlKernel {
    PyObject *object; /* the Kernel */
    int care;         /* how careful code for its data has to be (kernel_code.h) */
    int inverts;      /* it multiplies by the inverse of what it is to divide by */
    int n_operands, n_results, n_ops, n_values;
    int copies;       /* some result's layout is that of a copy, not of an operation */
    uint8_t *forward; /* which operands a loop reads for which NumPy computes otherwise if they are reversed; NULL: none */
    int iterates;     /* results are what is carried: one that is an operand keeps that array */
    int folds;        /* it has code that folds its values itself */
    PyArray_Descr **descrs; /* of the operands, then of the results; NULL until all else is built */
    int *itemsizes;   /* of each value */
    int *results;     /* value numbers */
    DlKernelOp *ops;
    DlVariant *variants;
} DlKernel;

typedef enum { DL_FROM_REG, DL_FROM_NUMBER, DL_FROM_CELL } DlOperandKind;

/* A kernel's operand: a register, a number of the program's table, or a constant already converted. */
typedef struct {
    DlOperandKind kind;
    int32_t index;
    char cell[DL_CELL];
} DlOperand;

/* Sizes: indices of values in the program's table of numbers. */
typedef struct {
    int n;
    int32_t *values;
} DlDims;

typedef enum { DL_INDEX_NEWAXIS, DL_INDEX_INTEGER, DL_INDEX_SLICE } DlIndexKind;

typedef struct {
    DlIndexKind kind;
    int32_t value[3]; /* the integer, or start, stop, step; -1 for None */
} DlIndex;

typedef struct {
    DlViewKind kind;
    int32_t dst, src;
    int scalar;
    int n;            /* indices or axes */
    DlIndex *indices;
    int *axes;
    DlDims dims;
} DlViewStep;

typedef struct {
    int32_t dst;
    PyArray_Descr *descr;
    DlDims shape;
    int filled, fortran;
    int n_like;           /* so many arrays say in which order the new one's axes lie; 0: C or Fortran order */
    int32_t *like;        /* their registers */
    int common;           /* all have that order, and maybe other shapes; otherwise there is one, of the same shape */
    DlOperand fill;
} DlAllocStep;

typedef struct {
    DlKernel kernel;
    DlOperand *operands;
    DlDims shape;
    int32_t *outs;
    uint8_t *into, *scalar;
    int quick;          /* results are fresh, and lie packed in C order if all operands do */
    DlVariant *dense;   /* the code last used for packed arrays and single numbers (borrowed from the kernel) */
    struct DlPlan *plans[2]; /* how the last geometry is run, and packed arrays of any shape (map_plan.c), or NULL */
} DlMapStep;

typedef struct {
    DlMapStep map;        /* the kernel over the operand's shape; its one output is not a register */
    const struct DlFold *fold; /* how to do it here; NULL: only NumPy can */
    int same_type;        /* the kernel's result is of the accumulator's dtype */
    DlPaces trials;      /* whether reading memory gains by threads */
    PyObject *reduce;     /* the bound ufunc.reduce */
    PyObject *args_tail;  /* (axes, dtype, None, keepdims) */
    PyArray_Descr *descr;
    uint8_t reduced[DL_MAX_DIMS];
    int keepdims, scalar, looks; /* looks: at NaNs that it adds, or zeros, for it has met some; -1: no more */
    int in_vain, left; /* calls in a row whose result was unsure although it looked; calls that NumPy does for that */
    int32_t dst;
} DlReduceStep;

typedef struct {
    PyArray_Descr *descr;
    int scalar;
    DlDims shape;
} DlType;

/* The numbers that a step computes for those behind it, and the instructions that wait for them. */
typedef struct {
    int n;
    int32_t *values;
    int32_t first, last;
} DlYields;

typedef enum { DL_PRODUCT_NONE, DL_PRODUCT_MATMUL, DL_PRODUCT_DOT, DL_PRODUCT_LINALG } DlProduct;

typedef struct {
    int n_dsts;
    int32_t *dsts;
    DlType *types;
    PyObject *function;
    DlProduct product;   /* product.c, or linalg.c, may do it */
    int32_t left, right; /* the operands of that; both are the only one */
    int linalg;          /* which of linalg.c's */
    DlFancy fancy;       /* fancy.c may do it */
    PyObject *template; /* args + kwargs values, with Slots where registers and numbers go */
    PyObject *names;    /* keyword names, or NULL */
    DlYields yields;    /* of one number at most: how long a result is along an axis */
    int size_of, axis;
    int number;         /* it gives a Python number, where a NumPy scalar of that value is meant */
    int invalid_alone;  /* of floating-point errors it reports invalid values, whatever else is ignored or not */
} DlCallStep;

typedef struct DlProgram DlProgram;
typedef struct DlSingle DlSingle;
typedef struct DlStraight DlStraight;
typedef struct DlMachine DlMachine;

/* What an operand or result is in every iteration: the same, a number or element of its own, a row of an array. */
typedef enum { DL_VARIES_NOT, DL_VARIES_NUMBER, DL_VARIES_ROW } DlVarying;

/* What one kernel does of many iterations of a loop (loop_kernel.c): its results lie in the registers `outs`. */
typedef struct {
    DlMapStep map;   /* into: what is there is written, otherwise an array of the loop's own is */
    uint8_t *varies; /* DlVarying of each operand and result */
    int n_varying, n_rows;
    int numbers;     /* there are numbers to evaluate, or views to make, in every iteration */
    int failures;    /* loops in a row that it could not run */
    int n_views;     /* steps of the body that read an element of an array out, or view a row */
    int *views;
} DlLoopKernel;

typedef struct {
    DlProgram *body;
    DlMachine *machine;      /* how it runs as machine code (machine.c), or NULL */
    int32_t start, stop, by; /* numbers */
    int n_carried, n_operands;
    DlOperand *operands;     /* the initial carried values, then what the body captures: registers and numbers */
    uint8_t *moves;          /* of each carried: nobody else needs the initial value, the loop may free it */
    int32_t *dsts, *lengths; /* lengths: of each carried array, the carried number that it is as long as, or -1 */
    int leaves;              /* a Leave step follows: it may end between two iterations */
    int checked;             /* what it writes shares memory with nothing else that goes in: the body around it has looked */
    DlYields yields;
    int32_t pause;           /* a number: whether to leave the loop in front of the iteration of the index in `pausing` */
    DlYields pausing;        /* n is 0 where it never pauses */
    uint32_t ahead;          /* how often it is asked before the loop runs, whether it will in a later iteration */
} DlLoopStep;

/* What a mask selects (masked.c). count: a number; what a count yields. places: a register for where the true elements are,
 * which a count may set, or -1. */
typedef enum { DL_MASKED_COUNT, DL_MASKED_GET, DL_MASKED_PUT } DlMaskedKind;
typedef struct {
    DlMaskedKind kind;
    int32_t mask, src, value, dst, count, places;
    DlYields yields;
} DlMaskedStep;

typedef struct {
    int exit, n_outputs;
    DlOperand *outputs;
    PyObject **objects; /* of those that are constant */
} DlLeaveStep;

typedef struct {
    DlProgram *branches[2];  /* of a true and of a false condition */
    DlOperand condition;
    int checked[2];          /* of each branch: as of a loop */
    int n_operands, n_dsts;
    DlOperand *operands;     /* registers and numbers */
    int32_t *dsts;
    DlYields yields;
} DlCondStep;

/* A number of the table is what a register with a NumPy scalar, or a Python number, holds; or how long its list is. */
typedef struct {
    int32_t src, value;
    DlKind kind;
    int of;        /* DL_READ_... */
    int32_t table; /* of objects, for DL_READ_TAG */
    DlYields yields; /* of `value` */
} DlReadStep;

/* What a list or dict gets: the object of a register, a number, or a constant. */
typedef struct {
    DlOperand operand;
    PyObject *constant; /* or NULL */
} DlItem;

/* A register gets a new list or dict: an empty one, or a list of `count` times one item; or a table of numbers' objects
 * (objects.c), with those from before the loop. */
typedef struct {
    int32_t dst;
    int is_dict, is_table, repeats;
    DlItem value, count;
    int n_firsts;
    DlItem *firsts;
} DlNewStep;

/* The list or dict in a register gets an item, under a key or at its end: the only one of `values`, a tuple or list of
 * all, or the text that a format makes of them. */
typedef struct {
    int32_t list;
    int n, has_key;
    DlItem *values;
    DlItem key;
    PyObject *packed; /* the type of tuples or lists, or a format; or NULL */
    int32_t table;    /* of the objects of numbers, or -1 */
    int n_tags;       /* n and has_key, or 0 */
    DlItem *tags;     /* of the key, then of the values */
} DlPutStep;

/* A register gets what a list holds at an index, or what is taken out of it there; or a copy of the items from an index on
 * to another one. */
typedef struct {
    int32_t dst, list;
    int n, kind;    /* DL_TAKE_... */
    DlItem *places; /* ints */
} DlTakeStep;

/* From here on other floating-point errors are reported: bits in the order of error_rows (errstate.c). What was noted up to
 * here, the warner is told of (ops/warner.py). */
typedef struct {
    unsigned ignored, reported, noted;
    int silent, changes; /* nobody sees what NumPy warns of; how often the filters of warnings change here */
    PyObject *warner;    /* or NULL; of a step with changes what tells whether these are Python's own */
} DlErrorsStep;

typedef struct {
    DlStepKind kind;
    int n_dead;
    int fixed;     /* in a loop's body: run once, before the first iteration */
    int32_t *dead; /* registers that no later step needs */
    union {
        DlViewStep view;
        DlAllocStep alloc;
        DlMapStep map;
        DlReduceStep reduce;
        DlCallStep call;
        int32_t save;      /* register */
        int32_t condition; /* number */
        DlLoopStep loop;
        DlLeaveStep leave;
        DlCondStep cond;
        DlMaskedStep masked;
        DlReadStep read;
        DlNewStep new;
        DlPutStep put;
        DlTakeStep take;
        DlErrorsStep errors;
    };
} DlStep;

#endif
