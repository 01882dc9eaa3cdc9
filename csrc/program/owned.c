/* What a Program owns: memory, which goes with it, and objects, which the garbage collector visits.
 *
 * All that steps, kernels and code hold is taken here while it is built, or when code is compiled, and is freed at once; so a
 * program that was refused halfway is freed like any other.
 */
#include "program.h"

#include <stddef.h>

enum {
    ALIGNMENT = DL_SCRATCH_ALIGNMENT,
#ifdef __SANITIZE_ADDRESS__
    CHUNK = 0, /* each piece is memory of its own, so that what goes beyond it shows */
#else
    CHUNK = 4096 - ALIGNMENT,
#endif
};

struct DlMemory {
    struct DlMemory *next;
    size_t used, size;
    char bytes[] __attribute__((aligned(ALIGNMENT)));
};

struct DlOwned {
    struct DlOwned *next;
    PyObject *object;
};

void *
dl_program_take(DlProgram *self, size_t n, size_t size)
{
    size_t bytes = n * size, align = bytes > CHUNK / 8 ? ALIGNMENT : _Alignof(max_align_t);
    struct DlMemory *chunk = self->memory;
    size_t at = chunk ? (chunk->used + align - 1) / align * align : 0;
    if (chunk == NULL || at > chunk->size || bytes > chunk->size - at) {
        void *room = NULL;
        size_t whole = bytes > CHUNK ? bytes : CHUNK;
        if (whole > PY_SSIZE_T_MAX / 2 || posix_memalign(&room, ALIGNMENT, sizeof *chunk + whole) != 0) {
            PyErr_NoMemory();
            return NULL;
        }
        chunk = room;
        *chunk = (struct DlMemory){.next = self->memory, .size = whole};
        self->memory = chunk;
        at = 0;
    }
    chunk->used = at + bytes;
    return memset(chunk->bytes + at, 0, bytes);
}

PyObject *
dl_program_own(DlProgram *self, PyObject *object)
{
    struct DlOwned *owned = object ? dl_program_take(self, 1, sizeof *owned) : NULL;
    if (owned == NULL) {
        Py_XDECREF(object);
        return NULL;
    }
    *owned = (struct DlOwned){self->owned, object};
    self->owned = owned;
    return object;
}

int
dl_program_traverse(DlProgram *self, visitproc visit, void *arg)
{
    Py_VISIT(self->schedule);
    Py_VISIT(self->compile_kernel);
    Py_VISIT(self->failure);
    for (struct DlOwned *owned = self->owned; owned != NULL; owned = owned->next) {
        Py_VISIT(owned->object);
    }
    return 0;
}

void
dl_program_clear(DlProgram *self)
{
    struct DlMemory *memory = self->memory;
    struct DlOwned *owned = self->owned;
    self->never = DL_REASON_INPUT; /* a cleared program runs no more */
    self->memory = NULL;
    self->owned = NULL;
    self->steps = NULL;
    self->n_steps = self->n_constants = self->n_outputs = 0;
    self->single = NULL;
    self->straight = NULL;
    self->small = NULL;
    self->tries_short = 0;
    self->body = NULL;
    for (; owned != NULL; owned = owned->next) {
        Py_DECREF(owned->object);
    }
    while (memory != NULL) {
        struct DlMemory *next = memory->next;
        free(memory);
        memory = next;
    }
    dl_scalar_clear(&self->numbers);
    Py_CLEAR(self->schedule);
    Py_CLEAR(self->compile_kernel);
    Py_CLEAR(self->failure);
}
