/* Compiled kernels (see kernel_code.h). */
#include "frame/eval_hook.h"
#include "maps.h"
#include "kernel_code.h"

#include <structmember.h>

#include "program/fpflags.h"
#include "frame/interrupts.h"
#include "arrays/power.h"

enum {
    SPARE_LIMIT = 1 << 20,
    COMPILING_NS = 50000000, /* so long interrupts may wait for the kernels of one run */
};

/* The ns that a loop's code runs before it is made anew, optimised, in five to ten times that time; and a kernel's, which
 * takes a fifth longer than optimised code, made in 3 to 6 ms. Under the GIL. */
static struct {
    double loop, kernel;
} lasting = {2e6, 6e6};

/* ---- NumPy's inner loops ---- */

/* What ufunc._get_strided_loop fills in (NumPy's documented capsule "numpy_1.24_ufunc_call_info"). */
typedef struct {
    PyArrayMethod_StridedLoop *strided_loop;
    PyArrayMethod_Context *context;
    NpyAuxData *auxdata;
    npy_bool requires_pyapi;
    npy_bool no_floatingpoint_errors;
} CallInfo;

/* Bits of the word behind auxdata: no flag that the loop sets is meant; its results are complex, and where both operands
 * are NaN NumPy keeps the one or the other by position. */
enum { NO_FP_ERRORS = 1, KEEPS_A_NAN = 2 };

#if defined(__x86_64__) && defined(__linux__) && defined(__GNUC__) && !defined(__clang__)
#define WIDE_VECTORS __attribute__((target_clones("avx2", "default")))
#else
#define WIDE_VECTORS
#endif

/* Whether any of n complex numbers has a NaN. NB: a mask as wide as the numbers is what vectors of them give. */
#define HAS_NAN(name, type, mask)                                                                                      \
    WIDE_VECTORS static int name(const char *data, npy_intp stride, npy_intp n)                                        \
    {                                                                                                                  \
        mask found = 0;                                                                                                \
        if (stride == 2 * (npy_intp)sizeof(type)) {                                                                    \
            const type *parts = (const type *)data;                                                                    \
            for (npy_intp i = 0; i < 2 * n; i++) {                                                                     \
                found |= (mask)-(mask)(parts[i] != parts[i]);                                                          \
            }                                                                                                          \
            return found != 0;                                                                                         \
        }                                                                                                              \
        for (npy_intp i = 0; i < n; i++, data += stride) {                                                             \
            const type *part = (const type *)data;                                                                     \
            found |= (part[0] != part[0]) | (part[1] != part[1]);                                                      \
        }                                                                                                              \
        return found != 0;                                                                                             \
    }
HAS_NAN(has_nan_float, float, uint32_t)
HAS_NAN(has_nan_double, double, uint64_t)

/* Call the NumPy loop that the six words at `slot` describe.
 * NB: some loops clear the processor's flags, so those set before are gathered first. */
static int32_t
invoke_loop(const npy_intp *slot, char **args, npy_intp n, const npy_intp *strides)
{
    unsigned before = dl_fp_get();
    *(unsigned *)slot[DL_LOOP_FLAGS] |= before;
    dl_fp_clear_x87();
    PyArrayMethod_StridedLoop *loop = (PyArrayMethod_StridedLoop *)slot[DL_LOOP_FUNCTION];
    int32_t status = loop((PyArrayMethod_Context *)slot[DL_LOOP_CONTEXT], args, &n, strides, (NpyAuxData *)slot[DL_LOOP_AUXDATA]);
    if (slot[DL_LOOP_TRAITS] & NO_FP_ERRORS) {
        dl_fp_set(before);
    }
    else {
        unsigned met = dl_fp_get(), more = dl_fp_get_x87();
        unsigned under = ((met & ~before) | more) & DL_FP_UNDER;
        *(unsigned *)slot[DL_LOOP_FLAGS] |= (more & ~(unsigned)DL_FP_UNDER) | (under ? DL_FP_UNDER_CALLED : 0);
        if (met & ~before & DL_FP_UNDER) {
            dl_fp_set(met & ~(unsigned)DL_FP_UNDER);
        }
    }
    if (slot[DL_LOOP_TRAITS] & KEEPS_A_NAN && status == 0) {
        PyArray_Descr *descr = ((PyArrayMethod_Context *)slot[DL_LOOP_CONTEXT])->descriptors[2];
        int found = descr->type_num == NPY_CDOUBLE ? has_nan_double(args[2], strides[2], n)
                                                   : has_nan_float(args[2], strides[2], n);
        status = found ? DL_RETURNED_MET_NAN : 0;
    }
    return status;
}

/* Whether a ufunc is NumPy's own (1) or not (0), and its name, a new reference; -1 with an error set. */
static int
is_own(PyObject *ufunc, PyObject **name)
{
    static PyObject *own; /* owned: NumPy's namespace of ufuncs */
    *name = PyObject_GetAttrString(ufunc, "__name__");
    own = own ? own : PyImport_ImportModule("numpy._core.umath");
    PyObject *found = *name && own ? PyObject_GetAttr(own, *name) : NULL;
    if (found == NULL && *name != NULL && own != NULL && PyErr_ExceptionMatches(PyExc_AttributeError)) {
        PyErr_Clear();
    }
    Py_XDECREF(found);
    if (PyErr_Occurred()) {
        Py_CLEAR(*name);
        return -1;
    }
    return found == ufunc;
}

/* Whether NumPy's loop may run in a thread that Python does not know: it is NumPy's own, and raises nothing. NB: powers of
 * integers take the GIL to raise, which the thread that waits for them may hold. -1 with an error set. */
static int
may_share(PyObject *ufunc, const PyArrayMethod_Context *context)
{
    PyObject *name;
    int owned = is_own(ufunc, &name);
    if (owned > 0 && PyTypeNum_ISINTEGER(context->descriptors[0]->type_num)) {
        owned = PyUnicode_CompareWithASCIIString(name, "power") != 0;
    }
    Py_XDECREF(name);
    return owned;
}

/* What computes as invoke_loop, and faster, for one of NumPy's own functions; or that; NULL with an error set. */
static DlInvoke
find_nearest(PyObject *ufunc, const PyArrayMethod_Context *context, const npy_intp *words)
{
    PyObject *name;
    int owned = is_own(ufunc, &name);
    if (owned < 0) {
        return NULL;
    }
    const char *text = owned ? PyUnicode_AsUTF8(name) : NULL;
    DlInvoke found = text != NULL ? dl_nearest_find(text, context->descriptors[0]->type_num, &invoke_loop, words) : NULL;
    Py_DECREF(name);
    return PyErr_Occurred() ? NULL : found != NULL ? found : &invoke_loop;
}

/* Whether this is the addition or multiplication of complex numbers; -1 with an error set. */
static int
keeps_a_nan(PyObject *ufunc, const PyArrayMethod_Context *context)
{
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    if (name == NULL) {
        return -1;
    }
    int named = PyUnicode_Check(name) && (!PyUnicode_CompareWithASCIIString(name, "add")
                                          || !PyUnicode_CompareWithASCIIString(name, "multiply"));
    Py_DECREF(name);
    int type = named ? context->descriptors[2]->type_num : 0;
    return named && (type == NPY_CFLOAT || type == NPY_CDOUBLE);
}

/* Of what type of numbers this is the power, NPY_DOUBLE or NPY_FLOAT; 0 where it is none, -1 with an error set. */
static int
type_of_power(PyObject *ufunc, const PyArrayMethod_Context *context)
{
    PyObject *name = PyObject_GetAttrString(ufunc, "__name__");
    if (name == NULL) {
        return -1;
    }
    int named = PyUnicode_Check(name) && !PyUnicode_CompareWithASCIIString(name, "power");
    Py_DECREF(name);
    int type = context->descriptors[0]->type_num;
    int served = (type == NPY_DOUBLE || type == NPY_FLOAT) && context->descriptors[1]->type_num == type;
    return named && served ? type : 0;
}

PyObject *
dl_loop_resolve(PyObject *item, npy_intp *words, int *needs_gil, int *one_thread)
{
    PyObject *ufunc, *dtypes;
    if (!PyArg_ParseTuple(item, "OO:loop", &ufunc, &dtypes)) {
        return NULL;
    }
    PyObject *resolved = PyObject_CallMethod(ufunc, "_resolve_dtypes_and_context", "(O)", dtypes);
    if (resolved == NULL) {
        return NULL;
    }
    PyObject *got = NULL, *actual, *capsule;
    if (!PyArg_ParseTuple(resolved, "OO", &actual, &capsule)) {
        goto fail;
    }
    int same = PyObject_RichCompareBool(actual, dtypes, Py_EQ);
    if (same <= 0) {
        if (same == 0) {
            PyErr_Format(PyExc_ValueError, "%R has no loop %R", ufunc, dtypes);
        }
        goto fail;
    }
    got = PyObject_CallMethod(ufunc, "_get_strided_loop", "(O)", capsule);
    CallInfo *info = got ? PyCapsule_GetPointer(capsule, DL_UFUNC_CALL_INFO) : NULL;
    if (info == NULL) {
        goto fail;
    }
    Py_DECREF(got);
    words[DL_LOOP_FUNCTION] = (npy_intp)info->strided_loop;
    words[DL_LOOP_CONTEXT] = (npy_intp)info->context;
    words[DL_LOOP_AUXDATA] = (npy_intp)info->auxdata;
    int keeps = keeps_a_nan(ufunc, info->context), shares = may_share(ufunc, info->context);
    if (keeps < 0 || shares < 0) {
        goto fail;
    }
    words[DL_LOOP_TRAITS] = (info->no_floatingpoint_errors ? NO_FP_ERRORS : 0) | (keeps ? KEEPS_A_NAN : 0);
    words[DL_LOOP_FLAGS] = 0;
    int power = type_of_power(ufunc, info->context);
    if (power < 0) {
        goto fail;
    }
    unsigned before = dl_fp_get(), flags = 0;
    words[DL_LOOP_FLAGS] = (npy_intp)&flags;
    words[DL_LOOP_INVOKE] = (npy_intp)find_nearest(ufunc, info->context, words);
    DlInvoke powers = power ? dl_power_find(power, &invoke_loop, words) : NULL;
    if (powers != NULL) {
        words[DL_LOOP_INVOKE] = (npy_intp)powers;
    }
    words[DL_LOOP_FLAGS] = 0;
    dl_fp_set(before);
    if (words[DL_LOOP_INVOKE] == 0) {
        goto fail;
    }
    *needs_gil |= info->requires_pyapi != 0;
    *one_thread |= !shares || info->requires_pyapi != 0;
    return resolved;
fail:
    Py_XDECREF(got);
    Py_DECREF(resolved);
    return NULL;
}

/* ---- variants ---- */

/* Read an integer attribute. */
static npy_intp
int_attribute(PyObject *object, const char *name)
{
    PyObject *value = PyObject_GetAttrString(object, name);
    npy_intp number = value ? PyLong_AsSsize_t(value) : -1;
    Py_XDECREF(value);
    return number;
}

/* A variant of a program's kernel, for n classes, from what compile_kernel returned (borrowed), or NULL with an error
 * set. */
static DlVariant *
new_variant(DlProgram *program, PyObject *code, int n)
{
    DlVariant *variant = dl_program_take(program, 1, sizeof *variant + (size_t)n);
    if (variant == NULL) {
        return NULL;
    }
    PyObject *loops = PyObject_GetAttrString(code, "loops");
    PyObject *sequence = loops ? PySequence_Tuple(loops) : NULL;
    Py_XDECREF(loops);
    npy_intp address = sequence ? int_attribute(code, "address") : -1;
    variant->address = (int32_t(*)(npy_intp *, npy_intp))address;
    variant->scratch_bytes = address == -1 ? -1 : int_attribute(code, "scratch_bytes");
    variant->is_quick = address == -1 ? -1 : (int)int_attribute(code, "is_quick");
    if (PyErr_Occurred() || sequence == NULL) {
        goto fail;
    }
    variant->n_loops = (int)PyTuple_GET_SIZE(sequence);
    variant->loops = dl_program_take(program, (size_t)variant->n_loops, DL_LOOP_WORDS * sizeof *variant->loops);
    if (variant->loops == NULL || dl_program_own(program, Py_NewRef(code)) == NULL) {
        goto fail;
    }
    for (int i = 0; i < variant->n_loops; i++) {
        PyObject *held =
            dl_loop_resolve(PyTuple_GET_ITEM(sequence, i), variant->loops + DL_LOOP_WORDS * i, &variant->needs_gil,
                            &variant->one_thread);
        if (dl_program_own(program, held) == NULL) {
            goto fail;
        }
    }
    Py_DECREF(sequence);
    return variant;
fail:
    if (!PyErr_Occurred()) {
        PyErr_NoMemory();
    }
    Py_XDECREF(sequence);
    return NULL;
}

/* Behind a kernel: decline when an interrupt has waited for the compiler for long; what is compiled serves the next run. */
static DlStatus
look_after_compiling(DlRun *run, int64_t time)
{
    if (run->outermost->compiling < COMPILING_NS || !dl_pyframe_is_interrupted()) {
        return 0;
    }
    return run->keep_gil ? dl_world_look(run, time) : dl_decline(run, DL_REASON_SIGNAL);
}

/* How many nanoseconds code for these classes takes for an element, roughly, but for NumPy's loops. */
static double
guess(const DlKernel *kernel, const uint8_t *classes)
{
    static const double compiled = 0.06, moved = 0.03; /* an operation; a byte */
    double each = compiled * kernel->n_ops;
    for (int i = 0; kernel->descrs != NULL && i < kernel->n_operands + kernel->n_results; i++) { /* NULL: of a loop */
        each += classes[i] == DL_CLASS_SINGLE ? 0 : moved * (double)PyDataType_ELSIZE(kernel->descrs[i]);
    }
    return each;
}

/* Ask compile_kernel for the code of these classes, with care. */
static DlStatus
compile(DlRun *run, DlKernel *kernel, const uint8_t *classes, int rows, int care, DlVariant **found)
{
    static const double called = 1.0; /* ns that a loop takes for an element, roughly */
    static const char class_letters[][2] = {
#define STRIDE_CLASS(name, letter, words) letter,
#include "abi.def"
    };
    char letters[DL_MAX_OPERANDS + 8];
    int n = kernel->n_operands + kernel->n_results;
    for (int i = 0; i < n; i++) {
        letters[i] = class_letters[classes[i]][0];
    }
    snprintf(letters + n, 8, "%s%s%s%s%s%s%s", rows ? DL_ASKS_ROWS : "", care & DL_BY_LOOPS ? DL_ASKS_LOOPS : "",
             care & DL_STRICT ? DL_ASKS_STRICT : "", care & DL_ARISEN ? DL_ASKS_ARISEN : "",
             care & DL_EACH ? DL_ASKS_EACH : "", care & DL_DIVIDES ? DL_ASKS_DIVISION : "",
             care & DL_LASTS ? DL_ASKS_LASTING : "");
    DlProgram *program = run->program;
    DlWatch watch;
    DlStatus status = dl_world_open(run, &watch, 1); /* if it declines, the code serves the next run */
    run->flags |= dl_fp_get(); /* NB: the compiler computes, too; its flags are not the program's */
    DlDeferral deferral;
    dl_hook_pause(); /* the compiler's frames are not the user's */
    dl_interrupts_defer(&deferral, NULL);
    int64_t began = dl_world_clock();
    dl_thread.asked++;
    PyObject *code = PyObject_CallFunction(program->compile_kernel, "Os", kernel->object, letters);
    DlVariant *variant = code ? new_variant(program, code, n) : NULL;
    int64_t ended = dl_world_clock();
    run->outermost->began += ended - began;
    run->outermost->compiling += ended - began;
    dl_thread.answering += (uint64_t)(ended - began);
    code = dl_interrupts_resume(&deferral, code);
    dl_hook_resume();
    Py_XDECREF(code);
    dl_fp_set(0);
    if (variant == NULL) {
        return dl_world_close(run, &watch, dl_failed(run, DL_REASON_COMPILE));
    }
    variant->kernel = kernel;
    variant->rows = rows;
    memcpy(variant->classes, classes, (size_t)n);
    variant->guess = guess(kernel, classes) + called * variant->n_loops;
    variant->care = care;
    variant->next = kernel->variants;
    kernel->variants = variant;
    *found = variant;
    status = dl_world_close(run, &watch, status);
    return status ? status : look_after_compiling(run, ended);
}

DlStatus
dl_kernel_variant(DlRun *run, DlKernel *kernel, const uint8_t *classes, int rows, double elements, DlVariant **variant)
{
    size_t n = (size_t)kernel->n_operands + (size_t)kernel->n_results;
    int care = dl_kernel_care(run, kernel);
    for (DlVariant *each = kernel->variants; each != NULL; each = each->next) {
        if (each->care == care && each->rows == rows && memcmp(each->classes, classes, n) == 0) {
            *variant = each;
            return 0;
        }
    }
    if (elements * guess(kernel, classes) > lasting.kernel) {
        kernel->care |= DL_LASTS;
        care = dl_kernel_care(run, kernel);
    }
    return compile(run, kernel, classes, rows, care, variant);
}

void
dl_variant_ran(DlVariant *variant, double time)
{
    dl_thread.quick += time;
    variant->quick_ns += time;
    if (variant->quick_ns > (variant->kernel->descrs ? lasting.kernel : lasting.loop)) {
        variant->kernel->care |= DL_LASTS;
    }
}

/* ---- the argument block ---- */

/* Scratch areas are kept for the next kernels, one a thread that may share one, and one for the reduction around it; taken and given back under the GIL. */
static struct {
    char *memory;
    npy_intp bytes;
} spares[DL_MOST_THREADS + 1];
static int n_spares;

char *
dl_scratch_take(npy_intp bytes, npy_intp *taken)
{
    for (int i = n_spares - 1; i >= 0; i--) {
        if (spares[i].bytes >= bytes) {
            char *memory = spares[i].memory;
            *taken = spares[i].bytes;
            spares[i] = spares[--n_spares];
            return memory;
        }
    }
    bytes = (bytes + DL_SCRATCH_ALIGNMENT - 1) / DL_SCRATCH_ALIGNMENT * DL_SCRATCH_ALIGNMENT;
    char *memory = aligned_alloc(DL_SCRATCH_ALIGNMENT, (size_t)bytes);
    if (memory == NULL) {
        PyErr_NoMemory();
    }
    *taken = bytes;
    return memory;
}

void
dl_scratch_give(char *memory, npy_intp bytes)
{
    int most = dl_threads_workers() + 2;
    if (bytes <= SPARE_LIMIT && n_spares < most) {
        spares[n_spares].memory = memory;
        spares[n_spares++].bytes = bytes;
        return;
    }
    for (int i = 0; i < n_spares && bytes <= SPARE_LIMIT; i++) {
        if (spares[i].bytes < bytes) { /* keeps the larger one */
            char *smaller = spares[i].memory;
            spares[i].memory = memory;
            spares[i].bytes = bytes;
            memory = smaller;
            break;
        }
    }
    free(memory);
}

int
dl_block_open(DlBlock *block, const DlVariant *variant, int n, const DlIterations *iterations)
{
    npy_intp words = dl_word_loop(n, variant->n_loops) + (variant->rows ? DL_ROWS_STEPS + n : DL_ITERATION_WORDS);
    block->block = block->small;
    block->scratch = NULL;
    block->flags = 0;
    if (words > DL_BLOCK_WORDS) {
        block->block = PyMem_New(npy_intp, words);
        if (block->block == NULL) {
            PyErr_NoMemory();
            return -1;
        }
    }
    if (variant->scratch_bytes > 0) {
        block->scratch = dl_scratch_take(variant->scratch_bytes, &block->scratch_bytes);
        if (block->scratch == NULL) {
            if (block->block != block->small) {
                PyMem_Free(block->block);
            }
            return -1;
        }
    }
    npy_intp *word = block->block + dl_word_scratch(n);
    *word++ = (npy_intp)block->scratch;
    for (int i = 0; i < variant->n_loops; i++, word += DL_LOOP_WORDS) {
        memcpy(word, variant->loops + DL_LOOP_WORDS * i, DL_LOOP_WORDS * sizeof *word);
        word[DL_LOOP_FLAGS] = (npy_intp)&block->flags;
    }
    block->behind = word;
    if (iterations != NULL) {
        word[DL_ITERATION_COUNT] = iterations->n;
        word[DL_ITERATION_ROW_BYTES] = iterations->row_bytes;
    }
    return 0;
}

void
dl_kernel_learn(DlRun *run, DlKernel *kernel, int32_t failed)
{
    DlProgram *program = run->outermost->program;
    if (failed & (DL_RETURNED_MET_NAN | DL_RETURNED_MET_CLIPPED)) { /* by code that is not strict */
        kernel->care |= DL_STRICT;
        program->care |= DL_HAS_STRICT;
    }
    if (failed & DL_RETURNED_NAN) {
        program->care |= DL_EACH;
    }
    else if (failed & DL_RETURNED_MET_NAN && !(failed & DL_RETURNED_MET_CLIPPED) /* which compares NaNs */
             && (run->flags | dl_fp_get()) & DL_FP_INVALID) {
        program->care |= DL_ARISEN;
    }
}

/* Decline because the kernel returned `failed`, which is not 0. */
static DlStatus
decline(DlRun *run, const DlVariant *variant, int32_t failed)
{
    dl_kernel_learn(run, variant->kernel, failed);
    if (failed & DL_RETURNED_MET_DOUBT) {
        run->outermost->program->care |= DL_BY_LOOPS;
    }
    return dl_decline(run, failed & DL_RETURNED_FAILED      ? DL_REASON_KERNEL
                           : failed & DL_RETURNED_MET_DOUBT ? DL_REASON_DOUBT
                                                            : DL_REASON_NAN);
}

static void
free_block(DlBlock *block)
{
    if (block->scratch != NULL) {
        dl_scratch_give(block->scratch, block->scratch_bytes);
    }
    if (block->block != block->small) {
        PyMem_Free(block->block);
    }
}

DlStatus
dl_block_close(DlBlock *block, DlRun *run, const DlVariant *variant, int32_t failed)
{
    free_block(block);
    run->flags |= block->flags;
    if (variant->n_loops && PyErr_Occurred()) {
        PyErr_Clear(); /* NB: old-style loops set an exception and return 0; plain Python will raise it */
        failed = DL_RETURNED_FAILED;
    }
    return failed ? decline(run, variant, failed) : 0;
}

DlBlock *
dl_blocks_open(int threads, const DlVariant *variant, int n, const DlIterations *iterations)
{
    DlBlock *blocks = PyMem_New(DlBlock, threads);
    if (blocks == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    for (int i = 0; i < threads; i++) {
        if (dl_block_open(&blocks[i], variant, n, iterations) < 0) {
            while (i > 0) {
                free_block(&blocks[--i]);
            }
            PyMem_Free(blocks);
            return NULL;
        }
    }
    return blocks;
}

DlStatus
dl_blocks_close(DlBlock *blocks, int threads, DlRun *run, const DlVariant *variant, int32_t failed)
{
    for (int i = 1; i < threads; i++) {
        run->flags |= blocks[i].flags;
        free_block(&blocks[i]);
    }
    DlStatus status = dl_block_close(&blocks[0], run, variant, failed);
    PyMem_Free(blocks);
    return status;
}

/* ---- CompiledKernel ---- */

typedef struct {
    PyObject_HEAD
    npy_intp address, scratch_bytes;
    PyObject *loops, *keep, *weakrefs;
    char is_quick;
} DlCompiledKernel;

static PyObject *
compiled_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"address", "loops", "scratch_bytes", "keep", "is_quick", NULL};
    npy_intp address, scratch_bytes;
    PyObject *loops, *keep;
    int is_quick = 0;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "nOnO|p:CompiledKernel", names, &address, &loops, &scratch_bytes,
                                     &keep, &is_quick)) {
        return NULL;
    }
    if (address == 0 || scratch_bytes < 0) {
        PyErr_SetString(PyExc_ValueError, "CompiledKernel: an address and a size are needed");
        return NULL;
    }
    PyObject *tuple = PySequence_Tuple(loops);
    DlCompiledKernel *self = tuple ? (DlCompiledKernel *)type->tp_alloc(type, 0) : NULL;
    if (self == NULL) {
        Py_XDECREF(tuple);
        return NULL;
    }
    self->address = address;
    self->scratch_bytes = scratch_bytes;
    self->loops = tuple;
    self->keep = Py_NewRef(keep);
    self->is_quick = (char)is_quick;
    return (PyObject *)self;
}

static int
compiled_traverse(PyObject *object, visitproc visit, void *arg)
{
    DlCompiledKernel *self = (DlCompiledKernel *)object;
    Py_VISIT(self->loops);
    Py_VISIT(self->keep);
    return 0;
}

static int
compiled_clear(PyObject *object)
{
    DlCompiledKernel *self = (DlCompiledKernel *)object;
    Py_CLEAR(self->loops);
    Py_CLEAR(self->keep);
    return 0;
}

static void
compiled_dealloc(PyObject *object)
{
    PyObject_GC_UnTrack(object);
    PyObject_ClearWeakRefs(object);
    compiled_clear(object);
    Py_TYPE(object)->tp_free(object);
}

static PyMemberDef compiled_members[] = {
    {"address", T_PYSSIZET, offsetof(DlCompiledKernel, address), READONLY, "where the machine code starts"},
    {"scratch_bytes", T_PYSSIZET, offsetof(DlCompiledKernel, scratch_bytes), READONLY, "memory for tiles"},
    {"loops", T_OBJECT, offsetof(DlCompiledKernel, loops), READONLY, "(ufunc, dtypes) of each NumPy loop it calls"},
    {"keep", T_OBJECT, offsetof(DlCompiledKernel, keep), READONLY, "what keeps the machine code alive"},
    {"is_quick", T_BOOL, offsetof(DlCompiledKernel, is_quick), READONLY, "not optimised: made in a fraction of the time"},
    {NULL, 0, 0, 0, NULL},
};

static PyTypeObject compiled_type = {
    PyVarObject_HEAD_INIT(NULL, 0)
    .tp_name = "dynamo_lite._C.CompiledKernel",
    .tp_doc = "CompiledKernel(address, loops, scratch_bytes, keep, is_quick=False): machine code for one pattern of strides.",
    .tp_basicsize = sizeof(DlCompiledKernel),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC,
    .tp_new = compiled_new,
    .tp_dealloc = compiled_dealloc,
    .tp_traverse = compiled_traverse,
    .tp_clear = compiled_clear,
    .tp_weaklistoffset = offsetof(DlCompiledKernel, weakrefs),
    .tp_members = compiled_members,
};

/* kernel_block(places, loops): the words of the scratch, the first loop, and what stands behind the loops. */
static PyObject *
kernel_block(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t places, loops;
    if (!PyArg_ParseTuple(args, "nn:kernel_block", &places, &loops)) {
        return NULL;
    }
    return Py_BuildValue("nnn", (Py_ssize_t)dl_word_scratch(places), (Py_ssize_t)dl_word_loop(places, 0),
                         (Py_ssize_t)dl_word_loop(places, loops));
}

/* optimise_after(loop, kernel): see `lasting`. */
static PyObject *
optimise_after(PyObject *module, PyObject *args)
{
    (void)module;
    double loop, kernel;
    if (!PyArg_ParseTuple(args, "dd:optimise_after", &loop, &kernel)) {
        return NULL;
    }
    PyObject *before = Py_BuildValue("dd", lasting.loop, lasting.kernel);
    lasting.loop = before ? loop : lasting.loop;
    lasting.kernel = before ? kernel : lasting.kernel;
    return before;
}

/* run_pieces(loop, context, auxdata, arrays, strides, bounds): run one of NumPy's loops over elements begin to end of
 * vectors, as if they were so many bytes apart from `begin` on, for each (begin, end); False at the first failure. */
static PyObject *
run_pieces(PyObject *module, PyObject *args)
{
    (void)module;
    Py_ssize_t loop, context, auxdata;
    PyObject *arrays, *strides, *bounds;
    if (!PyArg_ParseTuple(args, "nnnO!O!O!:run_pieces", &loop, &context, &auxdata, &PyList_Type, &arrays, &PyList_Type,
                          &strides, &PyList_Type, &bounds)) {
        return NULL;
    }
    npy_intp steps[NPY_MAXARGS], n_arrays = PyList_GET_SIZE(arrays);
    if (n_arrays > NPY_MAXARGS || PyList_GET_SIZE(strides) != n_arrays) {
        return PyErr_Format(PyExc_ValueError, "run_pieces: a stride for each array, of which there are not too many");
    }
    for (npy_intp i = 0; i < n_arrays; i++) {
        PyObject *array = PyList_GET_ITEM(arrays, i);
        steps[i] = PyLong_AsSsize_t(PyList_GET_ITEM(strides, i));
        if (PyErr_Occurred() || !PyArray_Check(array) || PyArray_NDIM((PyArrayObject *)array) != 1) {
            return PyErr_Occurred() ? NULL : PyErr_Format(PyExc_TypeError, "run_pieces: expected vectors");
        }
    }
    for (Py_ssize_t k = 0; k < PyList_GET_SIZE(bounds); k++) {
        Py_ssize_t begin, end;
        if (!PyArg_ParseTuple(PyList_GET_ITEM(bounds, k), "nn", &begin, &end)) {
            return NULL;
        }
        char *at[NPY_MAXARGS];
        for (npy_intp i = 0; i < n_arrays; i++) {
            PyArrayObject *array = (PyArrayObject *)PyList_GET_ITEM(arrays, i);
            at[i] = PyArray_BYTES(array) + begin * PyArray_STRIDE(array, 0);
        }
        npy_intp length = end - begin;
        if (((PyArrayMethod_StridedLoop *)loop)((PyArrayMethod_Context *)context, at, &length, steps,
                                                (NpyAuxData *)auxdata) != 0) {
            Py_RETURN_FALSE;
        }
    }
    Py_RETURN_TRUE;
}

PyMethodDef dl_kernel_code_functions[] = {
    {"kernel_block", kernel_block, METH_VARARGS,
     "kernel_block(places, loops): the words of the scratch, of the first loop, and behind the loops."},
    {"run_pieces", run_pieces, METH_VARARGS,
     "run_pieces(loop, context, auxdata, arrays, strides, bounds): run one of NumPy's loops over pieces of vectors."},
    {"optimise_after", optimise_after, METH_VARARGS,
     "optimise_after(loop, kernel): for tests, optimise code that has run for so many ns (0: at once); what was before."},
    {NULL, NULL, 0, NULL},
};

int
dl_kernel_register(PyObject *module)
{
    PyObject *address = PyLong_FromVoidPtr((void *)&invoke_loop);
    int status = address ? PyModule_AddObjectRef(module, "INVOKE_LOOP", address) : -1;
    Py_XDECREF(address);
    return status < 0 ? -1 : PyModule_AddType(module, &compiled_type);
}
