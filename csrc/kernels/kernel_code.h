/* Compiled kernels: found or compiled for the strides at hand, and the argument block they take.
 *
 * A kernel is `int32 kernel(npy_intp *block, npy_intp n)`; abi.def says what the words of the block are, the classes of
 * strides, and what it returns. No address stands in the code itself. Of a kernel that goes through rows n is the
 * elements of a row.
 */
#ifndef DL_KERNEL_CODE_H
#define DL_KERNEL_CODE_H

#include "program/program.h"
#include "maps.h"

enum { DL_BLOCK_WORDS = 3 * DL_MAX_OPERANDS + 2 + 8 * DL_LOOP_WORDS };

/* Where the words of a block stand: of place i, the scratch behind n places, NumPy loop k behind that. */
static inline npy_intp
dl_word_pointer(npy_intp i)
{
    return DL_PLACE_WORDS * i + DL_PLACE_POINTER;
}

static inline npy_intp
dl_word_stride(npy_intp i)
{
    return DL_PLACE_WORDS * i + DL_PLACE_STRIDE;
}

static inline npy_intp
dl_word_scratch(npy_intp n)
{
    return DL_PLACE_WORDS * n;
}

static inline npy_intp
dl_word_loop(npy_intp n, npy_intp k)
{
    return dl_word_scratch(n) + 1 + DL_LOOP_WORDS * k;
}

typedef struct {
    npy_intp small[DL_BLOCK_WORDS];
    npy_intp *block;  /* small, or allocated for a kernel of many loops */
    npy_intp *behind; /* the words behind those of the loops */
    char *scratch;
    npy_intp scratch_bytes;
    unsigned flags;   /* gathered by invoke_loop */
} DlBlock;

/* How careful code is, as bits: it asks whether NaNs go in that differ, of which NumPy may keep either; it computes by
 * NumPy's loops what may be in doubt; it divides by numbers; it is optimised;
 * it asks whether NaNs go in that differ from those that arise, for some do; it asks of each operation which NaNs meet. And
 * of a program, that some code is strict. */
enum {
    DL_STRICT = 1,
    DL_BY_LOOPS = 2,
    DL_DIVIDES = 4,
    DL_LASTS = 8,
    DL_ARISEN = 16,
    DL_EACH = 32,
    DL_HAS_STRICT = 64,
};

/* As careful as a kernel, or a program that is so careful, needs it. */
static inline int
dl_care_of(const DlKernel *kernel, int care)
{
    int all = kernel->care | (care & ~DL_HAS_STRICT);
    return all & ~((kernel->inverts ? 0 : DL_DIVIDES) | (all & DL_STRICT ? 0 : DL_ARISEN | DL_EACH));
}

/* As careful as a kernel's data have shown it must be. What one kernel meets, the program's others will. */
static inline int
dl_kernel_care(const DlRun *run, const DlKernel *kernel)
{
    return dl_care_of(kernel, run->outermost->program->care);
}

static inline uint8_t
dl_kernel_class(npy_intp stride, npy_intp itemsize)
{
    return stride == itemsize ? DL_CLASS_PACKED : stride == 0 ? DL_CLASS_SINGLE : DL_CLASS_SPREAD;
}

/* The machine code for these classes (one an operand and result), over rows or not, compiled if need be: 0, 1 or -1.
 * elements: over which it is to run, as often as it does; 0: of a loop compiled whole. Code is optimised at once only
 * where that run is long. */
DlStatus dl_kernel_variant(DlRun *run, DlKernel *kernel, const uint8_t *classes, int rows, double elements, DlVariant **variant);

/* Behind a run, of so many ns, of code that is not optimised: it is asked for anew, by DL_LASTS, once its runs have taken
 * long enough. */
void dl_variant_ran(DlVariant *variant, double time);

/* The same of a kernel, over so many elements. */
static inline void
dl_kernel_ran(DlVariant *variant, double elements)
{
    static const double call = 50.0; /* ns */
    if (variant->is_quick) {
        dl_variant_ran(variant, call + variant->guess * elements);
    }
}

/* Have later code of this kernel, and of the program, be as careful as what was returned asks for. */
void dl_kernel_learn(DlRun *run, DlKernel *kernel, int32_t failed);

/* How often a kernel that iterates does so, and its last word. */
typedef struct DlIterations {
    npy_intp n, row_bytes;
} DlIterations;

/* Call code on a block that is filled, without NumPy loops: whether it has done its work and met nothing to report. */
static inline int
dl_variant_try(const DlVariant *variant, npy_intp *block, npy_intp n)
{
    unsigned before = dl_fp_get();
    if (before != 0) {
        dl_fp_set(0);
    }
    int failed = variant->address(block, n) != 0;
    unsigned raised = dl_fp_get();
    if (raised != before) {
        dl_fp_set(before);
    }
    return !failed && raised == 0;
}

/* Fill the words behind n operands and results (iterations NULL: a kernel that does not); 0 or -1 with MemoryError. */
int dl_block_open(DlBlock *block, const DlVariant *variant, int n, const DlIterations *iterations);

/* Give the scratch back, gather the flags, and judge the kernel's status. */
DlStatus dl_block_close(DlBlock *block, DlRun *run, const DlVariant *variant, int32_t failed);

/* Aligned memory for tiles, of at least `bytes` (how many: *taken); NULL with MemoryError. Needs the GIL, also to give
 * it back. */
char *dl_scratch_take(npy_intp bytes, npy_intp *taken);
void dl_scratch_give(char *memory, npy_intp bytes);

/* Fill six words for loop `item` = (ufunc, dtypes), and set *needs_gil if it needs that, *one_thread if only a thread that
 * Python knows may call it; a new reference to what keeps them valid, or NULL. */
PyObject *dl_loop_resolve(PyObject *item, npy_intp *words, int *needs_gil, int *one_thread);

/* The blocks that threads use: as many as there are, filled alike; NULL with MemoryError. close gives `status` joined with
 * what they have met. */
DlBlock *dl_blocks_open(int threads, const DlVariant *variant, int n, const DlIterations *iterations);
DlStatus dl_blocks_close(DlBlock *blocks, int threads, DlRun *run, const DlVariant *variant, int32_t failed);

/* Add the type CompiledKernel and the constant INVOKE_LOOP to the module; 0 or -1. */
int dl_kernel_register(PyObject *module);

#endif
