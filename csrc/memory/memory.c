/* Memory of arrays that died serves the next ones: a bounded pool of blocks under NumPy's default allocator.
 *
 * Enters: requests of NumPy for array data. Leaves: blocks of the C library. Above some 64 KB that library often gives
 * freed memory back to the system at once, and takes new pages for the next array; writing to these for the first time
 * costs more than simple arithmetic on them.
 *
 * NumPy asks its default handler (NEP 49) through a capsule, each time. Installing puts our functions into that capsule.
 * So all threads and contexts are served, whose handlers are context variables; a handler that the user sets stays in
 * charge; nothing that can be asked of an array changes, its handler's name included; and there is nothing to set or
 * reset around a call. The pool takes and gives blocks while it is awake: always (`stay`), or while compiled functions
 * are at work and IDLE_MS afterwards. Asleep it holds nothing, and requests pass through.
 *
 * INVARIANT: every block is one that NumPy's own functions made, at the same alignment, and these may free it, also after
 * the pool is uninstalled. There is no header and no record of blocks in use: a block's size is asked from the C library,
 * since the size that NumPy names when it frees one may be less than was asked for (an array whose shape was set).
 * INVARIANT: nobody else has a pointer into a block of the pool, and the pool holds at most `limit` bytes.
 */
#include "memory.h"

#ifdef __GLIBC__
#include <dlfcn.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <time.h>
#endif

DlMemoryWork dl_memory_work;

#ifdef __GLIBC__

enum {
    SLOTS = 64,
    SLACK = 8,   /* a block serves requests down to 1 - 1/SLACK of its size */
    SHARE = 2,   /* no block is larger than this part of the limit */
    STALE = 256, /* a block that so many requests passed over goes back, as a program's sizes change */
    TICKS = 256, /* other requests between two looks at the clock */
    HEAP = 32 * 1024 * 1024, /* bytes of a block that the C library may take from its heap */
    MAPPED = 256, /* blocks that the C library mapped each by itself and that go back to it, in the process */
    FILL = 0xFF, /* NaN as any floating-point number, -1 as any signed integer */
};

/* Measured with glibc 2.36: below, its own lists serve temporaries without a system call. */
static const size_t LEAST = 32 * 1024;
/* A block that nobody asked for in this time goes back to the C library. */
static const int64_t IDLE_MS = 1000;

typedef struct {
    void *data;
    size_t room;       /* bytes */
    int64_t since;     /* ms; when it was given */
    uint64_t requests; /* and how many there had been */
} Block;

/* Blocks in the order they were given, the latest last: that one is most likely in the cache. */
static struct {
    Block blocks[SLOTS];
    int n;
    size_t held; /* bytes */
    uint64_t hits, misses;
    int64_t worked; /* ms; when compiled functions were last seen at work */
} pool;

static atomic_flag busy = ATOMIC_FLAG_INIT; /* who set it may use `pool`; others do without the pool */
static atomic_size_t limit;                 /* bytes; 0: the pool is off */
static atomic_int stays;                    /* it is awake whoever is at work */
static atomic_int awake;                    /* as of the last look */
static atomic_int fills;                    /* check mode: freed blocks are filled with FILL */
static atomic_uint ticks;
static atomic_int mapped;
static atomic_int has_blocks;
static PyDataMem_Handler *plain; /* NumPy's own; NULL until first installed */

static int64_t
now_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

static int
try_lock(void)
{
    return !atomic_flag_test_and_set_explicit(&busy, memory_order_acquire);
}

static void
lock(void)
{
    while (!try_lock()) {
        sched_yield();
    }
}

static void
unlock(void)
{
    atomic_store_explicit(&has_blocks, pool.n > 0, memory_order_relaxed);
    atomic_flag_clear_explicit(&busy, memory_order_release);
}

/* Decide whether the pool is awake; the time. The lock is held. */
static int64_t
look(void)
{
    int64_t now = now_ms();
    if (atomic_exchange_explicit(&dl_memory_work.used, 0, memory_order_relaxed)
        || atomic_load_explicit(&dl_memory_work.calls, memory_order_relaxed)) {
        pool.worked = now;
    }
    atomic_store_explicit(&awake,
                          atomic_load_explicit(&stays, memory_order_relaxed) || now - pool.worked <= IDLE_MS,
                          memory_order_relaxed);
    return now;
}

/* Take block i out of the pool; the lock is held. */
static Block
take(int i)
{
    Block block = pool.blocks[i];
    pool.n--;
    memmove(pool.blocks + i, pool.blocks + i + 1, (size_t)(pool.n - i) * sizeof *pool.blocks);
    pool.held -= block.room;
    return block;
}

/* Take the oldest blocks out until the others come to at most `bytes`, and what is stale or idle, all of them where the
 * pool is asleep; their number. The lock is held, and the caller frees them after it: the C library may be slow about
 * it. */
static int
evict(Block *evicted, size_t bytes, int64_t now)
{
    int n = 0;
    uint64_t requests = pool.hits + pool.misses;
    int asleep = !atomic_load_explicit(&awake, memory_order_relaxed);
    while (pool.n > 0
           && (asleep || pool.held > bytes || pool.blocks[0].since < now - IDLE_MS
               || requests - pool.blocks[0].requests > STALE)) {
        evicted[n++] = take(0);
    }
    return n;
}

static void
release(const Block *blocks, int n)
{
    for (int i = 0; i < n; i++) {
        plain->allocator.free(plain->allocator.ctx, blocks[i].data, blocks[i].room);
    }
}

/* Give back all blocks; their number. Waits for the lock. */
static int
drain(void)
{
    Block evicted[SLOTS];
    lock();
    int n = evict(evicted, 0, 0);
    unlock();
    release(evicted, n);
    return n;
}

/* Give back the blocks that have been idle. NB: not inlined, like all that needs room on the stack: requests for small
 * arrays pass through in some nanoseconds. */
__attribute__((noinline)) static void
give_back_idle(void)
{
    if (try_lock()) {
        Block evicted[SLOTS];
        int n = evict(evicted, SIZE_MAX, look());
        unlock();
        release(evicted, n);
    }
}

/* Give back what is idle, seldom: the clock costs more than a small array.
 * NB: two threads may count one tick; an exact count would cost as much as the clock. */
static inline void
tick(void)
{
    if (atomic_load_explicit(&has_blocks, memory_order_relaxed)) {
        unsigned count = atomic_load_explicit(&ticks, memory_order_relaxed);
        atomic_store_explicit(&ticks, count + 1, memory_order_relaxed);
        if (count % TICKS == 0) {
            give_back_idle();
        }
    }
}

/* Whether blocks of that size go through the pool now. */
static int
is_pooled(size_t size)
{
    return size >= LEAST && size <= atomic_load_explicit(&limit, memory_order_relaxed) / SHARE
           && (atomic_load_explicit(&awake, memory_order_relaxed)
               || atomic_load_explicit(&dl_memory_work.used, memory_order_relaxed));
}

/* Take the latest block that serves `size` out of the pool, NULL where there is none; the lock is held. */
static void *
find(size_t size)
{
    for (int i = pool.n - 1; i >= 0; i--) {
        size_t room = pool.blocks[i].room;
        if (room >= size && room - size <= room / SLACK) {
            return take(i).data;
        }
    }
    return NULL;
}

/* Memory of the pool's, or new. */
__attribute__((noinline)) static void *
find_or_make(size_t size)
{
    if (is_pooled(size) && try_lock()) {
        void *found = find(size);
        pool.hits += found != NULL;
        pool.misses += found == NULL;
        Block evicted[SLOTS];
        int n = found == NULL && pool.n > 0 ? evict(evicted, SIZE_MAX, look()) : 0;
        unlock();
        if (found != NULL) {
            return found;
        }
        release(evicted, n);
    }
    void *made = plain->allocator.malloc(plain->allocator.ctx, size);
    if (made == NULL && drain() > 0) {
        made = plain->allocator.malloc(plain->allocator.ctx, size);
    }
    return made;
}

static void *
pool_malloc(void *Py_UNUSED(context), size_t size)
{
    if (size >= LEAST) {
        return find_or_make(size);
    }
    tick();
    void *made = plain->allocator.malloc(plain->allocator.ctx, size);
    return made != NULL ? made : find_or_make(size);
}

/* Zeroed memory: a block of the pool's is set to zero, which costs a tenth of taking its pages anew (1.8 us each, where the C
 * library has given the end of its heap back); above what the library takes from its heap it comes from there as ever, as
 * fresh pages that cost nothing until touched, and gets a block of that size back before: else a loop that makes zeros would
 * add one to the pool in each iteration. */
static void *
pool_calloc(void *Py_UNUSED(context), size_t n, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(n, size, &bytes) || !is_pooled(bytes)) {
        tick();
    }
    else if (try_lock()) {
        void *found = find(bytes);
        int kept = found != NULL && bytes <= HEAP;
        pool.hits += kept;
        unlock();
        if (kept) {
            return memset(found, 0, bytes);
        }
        if (found != NULL) {
            plain->allocator.free(plain->allocator.ctx, found, bytes);
        }
    }
    void *made = plain->allocator.calloc(plain->allocator.ctx, n, size);
    if (made == NULL && drain() > 0) {
        made = plain->allocator.calloc(plain->allocator.ctx, n, size);
    }
    return made;
}

static void *
pool_realloc(void *Py_UNUSED(context), void *data, size_t size)
{
    tick();
    void *made = plain->allocator.realloc(plain->allocator.ctx, data, size);
    if (made == NULL && drain() > 0) {
        made = plain->allocator.realloc(plain->allocator.ctx, data, size);
    }
    return made;
}

/* Whether to give a block back because the C library mapped it by itself (pages of its own, 16 bytes of header). All of
 * those begin at one offset in a page, and the processor takes loads from one array to depend on stores into another at
 * the same offset: np.roll's copies took twice the time. Freed once, as plain Python would, a block of up to 32 MB makes the
 * library take blocks of that size from its heap, where they begin anywhere. Where it was told to map as ever, this ends. */
static int
is_mapped(const void *data, size_t room)
{
    enum { PAGE = 4096, HEADER = 16 };
    return ((uintptr_t)data - HEADER) % PAGE == 0 && (room + HEADER) % PAGE == 0
           && atomic_load_explicit(&mapped, memory_order_relaxed) < MAPPED
           && atomic_fetch_add_explicit(&mapped, 1, memory_order_relaxed) < MAPPED;
}

/* Keep a block for the next request; 0 where it has to be freed. */
__attribute__((noinline)) static int
keep(void *data, size_t room)
{
    if (atomic_load_explicit(&fills, memory_order_relaxed)) {
        memset(data, FILL, room);
    }
    Block evicted[SLOTS];
    if (!try_lock()) {
        return 0;
    }
    int64_t now = look();
    size_t most = atomic_load_explicit(&limit, memory_order_relaxed);
    int kept = is_pooled(room); /* asked again: it may have changed before the lock was held */
    int n = evict(evicted, kept ? most - room : most, now);
    if (kept) {
        if (pool.n == SLOTS) {
            evicted[n++] = take(0);
        }
        pool.blocks[pool.n++] = (Block){data, room, now, pool.hits + pool.misses};
        pool.held += room;
    }
    unlock();
    release(evicted, n);
    return kept;
}

static void
pool_free(void *Py_UNUSED(context), void *data, size_t size)
{
    if (size < LEAST) {
        tick();
    }
    else if (data != NULL && is_pooled(size)) {
        size_t room = malloc_usable_size(data);
        if (room >= size && is_pooled(room) && !is_mapped(data, room) && keep(data, room)) {
            return;
        }
    }
    plain->allocator.free(plain->allocator.ctx, data, size);
}

/* NB: by the name that NumPy gives its own, whose blocks these are: whoever asks whether an array is of the default
 * allocator, NumPy's tests among them, gets the answer that holds. */
static PyDataMem_Handler handler = {
    "default_allocator", 1, {NULL, pool_malloc, pool_calloc, pool_realloc, pool_free},
};

/* Whether both addresses are in the same library or program. */
static int
is_same_object(const void *one, const void *other)
{
    Dl_info first, second;
    return dladdr(one, &first) && dladdr(other, &second) && first.dli_fbase == second.dli_fbase;
}

/* Whether the default handler is NumPy's own and its blocks are the C library's, so that it knows their sizes: not under
 * PYTHONMALLOC=debug, whose blocks begin elsewhere (documented at PyMem_SetupDebugHooks: filled with 0xCD, 0xFD after the
 * end), nor where an embedding program set an allocator of its own. */
static int
is_native(const PyDataMem_Handler *numpys)
{
    PyMemAllocatorEx raw;
    PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
    if (!is_same_object((void *)(uintptr_t)raw.malloc, (void *)(uintptr_t)PyMem_RawMalloc)
        || !is_same_object((void *)(uintptr_t)numpys->allocator.malloc, (void *)(uintptr_t)PyDataMem_GetHandler)) {
        return 0;
    }
    enum { PROBE = 64 };
    unsigned char *probe = PyMem_RawMalloc(PROBE);
    if (probe == NULL) {
        return 0;
    }
    int filled = 0;
    for (int i = 0; i < PROBE; i++) {
        filled += probe[i] == 0xCD;
    }
    size_t room = filled < PROBE ? malloc_usable_size(probe) : 0;
    PyMem_RawFree(probe);
    return room >= PROBE && room < 2 * PROBE;
}

/* Whether the C library knows the sizes of the default handler's blocks; sets `plain`. Needs the GIL. */
static int
prepare(void)
{
    static int native = -1;
    if (native < 0) {
        plain = PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler");
        if (plain == NULL) {
            PyErr_Clear(); /* another NumPy, which keeps it otherwise */
        }
        /* A process that is forked meanwhile must not inherit a pool in the middle of a change. */
        native = plain != NULL && is_native(plain) && pthread_atfork(lock, unlock, unlock) == 0;
    }
    return native;
}

/* Whether NumPy's requests come here. */
static int
is_installed(void)
{
    return plain != NULL && PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler") == &handler;
}

/* Whether NumPy asks the capsule for each array, as it does in all versions known. The limit is 0. */
static int
is_asked(void)
{
    npy_intp n = TICKS;
    atomic_store(&has_blocks, 1); /* so that requests are counted */
    unsigned before = atomic_load(&ticks);
    PyObject *set = PyDataMem_GetHandler();
    PyObject *array = set != NULL && set == PyDataMem_DefaultHandler ? PyArray_SimpleNew(1, &n, NPY_UINT8) : NULL;
    int asked = array != NULL ? atomic_load(&ticks) != before : set != NULL && !PyErr_Occurred();
    Py_XDECREF(array);
    Py_XDECREF(set);
    PyErr_Clear();
    lock();
    unlock(); /* which puts has_blocks right */
    return asked;
}

/* Put our functions in the place of NumPy's: whether they are there now. Needs the GIL. */
static int
install(void)
{
    if (!prepare()) {
        return 0;
    }
    if (is_installed()) {
        return 1;
    }
    if (PyCapsule_GetPointer(PyDataMem_DefaultHandler, "mem_handler") != plain /* somebody did as we do */
        || PyCapsule_SetPointer(PyDataMem_DefaultHandler, &handler) < 0) {
        PyErr_Clear();
        return 0;
    }
    if (!is_asked()) {
        PyCapsule_SetPointer(PyDataMem_DefaultHandler, plain);
        return 0;
    }
    return 1;
}

static void
set_limit(size_t bytes)
{
    if (atomic_exchange(&limit, bytes) > bytes) {
        drain();
    }
}

static void
uninstall(void)
{
    set_limit(0);
    atomic_store(&stays, 0);
    if (is_installed()) {
        PyCapsule_SetPointer(PyDataMem_DefaultHandler, plain);
    }
}

/* Held bytes, blocks, hits, misses. */
static PyObject *
stats(void)
{
    lock();
    unsigned long long hits = pool.hits, misses = pool.misses;
    Py_ssize_t held = (Py_ssize_t)pool.held;
    int blocks = pool.n;
    unlock();
    return Py_BuildValue("{sn,si,sK,sK,sn,sO}", "held_bytes", held, "blocks", blocks, "hits", hits, "misses", misses,
                         "limit", (Py_ssize_t)atomic_load(&limit), "installed", is_installed() ? Py_True : Py_False);
}

size_t
dl_memory_room(PyArrayObject *array)
{
    return PyArray_CHKFLAGS(array, NPY_ARRAY_OWNDATA) && PyArray_HANDLER(array) == PyDataMem_DefaultHandler && prepare()
               ? malloc_usable_size(PyArray_DATA(array))
               : 0;
}

void *
dl_memory_take(size_t size)
{
    return size >= LEAST && plain != NULL ? find_or_make(size) : malloc(size);
}

void
dl_memory_give(void *data)
{
    size_t room = malloc_usable_size(data);
    if (room >= LEAST && plain != NULL) {
        pool_free(NULL, data, room);
    }
    else {
        free(data);
    }
}

#else /* What the C library calls the size of a block, and what it unmaps when, are not known. */

static atomic_int stays, fills;

static int
install(void)
{
    return 0;
}

static void
set_limit(size_t bytes)
{
    (void)bytes;
}

static void
uninstall(void)
{
}

static int
drain(void)
{
    return 0;
}

static PyObject *
stats(void)
{
    return Py_BuildValue("{si,si,si,si,si,sO}", "held_bytes", 0, "blocks", 0, "hits", 0, "misses", 0, "limit", 0,
                         "installed", Py_False);
}

size_t
dl_memory_room(PyArrayObject *array)
{
    (void)array;
    return 0;
}

void *
dl_memory_take(size_t size)
{
    return malloc(size);
}

void
dl_memory_give(void *data)
{
    free(data);
}

#endif

static PyObject *
memory_install(PyObject *Py_UNUSED(module), PyObject *args, PyObject *keywords)
{
    static char *names[] = {"limit", "fill", "stay", NULL};
    Py_ssize_t bytes;
    int fill = 0, stay = 0;
    if (!PyArg_ParseTupleAndKeywords(args, keywords, "n|pp:memory_install", names, &bytes, &fill, &stay)) {
        return NULL;
    }
    if (bytes < 0) {
        return PyErr_Format(PyExc_ValueError, "limit is a number of bytes, not %zd", bytes);
    }
    if (bytes == 0) {
        uninstall();
        Py_RETURN_FALSE;
    }
    if (!install()) {
        Py_RETURN_FALSE;
    }
    atomic_store(&fills, fill);
    if (stay) {
        atomic_store(&stays, 1);
        atomic_store(&dl_memory_work.used, 1); /* awake from now on */
    }
    set_limit((size_t)bytes);
    Py_RETURN_TRUE;
}

static PyObject *
memory_uninstall(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    uninstall();
    Py_RETURN_NONE;
}

static PyObject *
memory_stays(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyBool_FromLong(atomic_load(&stays));
}

static PyObject *
memory_release(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return PyLong_FromLong(drain());
}

static PyObject *
memory_stats(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(none))
{
    return stats();
}

PyMethodDef dl_memory_functions[] = {
    {"memory_install", (PyCFunction)(void (*)(void))memory_install, METH_VARARGS | METH_KEYWORDS,
     "memory_install(limit, fill=False, stay=False): let arrays reuse the memory of dead ones; whether they do."},
    {"memory_uninstall", memory_uninstall, METH_NOARGS, "memory_uninstall(): give back what is held, keep no more."},
    {"memory_stays", memory_stays, METH_NOARGS, "memory_stays(): whether the pool is awake whoever is at work."},
    {"memory_release", memory_release, METH_NOARGS, "memory_release(): give back what is held; how many blocks."},
    {"memory_stats", memory_stats, METH_NOARGS, "memory_stats(): held_bytes, blocks, hits, misses, limit, installed."},
    {NULL, NULL, 0, NULL},
};
