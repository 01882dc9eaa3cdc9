/* The memory of arrays: a bounded pool of recently freed blocks under NumPy's default allocator (see memory.c). */
#ifndef DL_MEMORY_H
#define DL_MEMORY_H

#include <stdatomic.h>

#include "numpy_api.h"

/* Whether compiled functions are at work. Written with the GIL held, read by any thread. */
typedef struct {
    atomic_int calls; /* compiled calls under way */
    atomic_int used;  /* one has begun since memory.c last looked */
} DlMemoryWork;

extern DlMemoryWork dl_memory_work;

/* Around each call of a compiled function. Needs the GIL. */
static inline void
dl_memory_enter(void)
{
    int calls = atomic_load_explicit(&dl_memory_work.calls, memory_order_relaxed);
    atomic_store_explicit(&dl_memory_work.calls, calls + 1, memory_order_relaxed);
    atomic_store_explicit(&dl_memory_work.used, 1, memory_order_relaxed);
}

static inline void
dl_memory_leave(void)
{
    int calls = atomic_load_explicit(&dl_memory_work.calls, memory_order_relaxed);
    atomic_store_explicit(&dl_memory_work.calls, calls - 1, memory_order_relaxed);
}

/* The bytes that an array which owns its memory may use there, 0 where that is not known. */
size_t dl_memory_room(PyArrayObject *array);

/* Memory for copies as large as arrays, from the pool where that serves them; NULL where there is none. Any thread. */
void *dl_memory_take(size_t size);
void dl_memory_give(void *data);

#endif
