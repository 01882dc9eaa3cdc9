/* One pool of threads for all big work (see threads.c).
 *
 * Work is cut into parts that do not depend on how many threads there are. A function runs part number `part` of it, on
 * thread number `thread` of those that share it (0: the caller); part DL_ALL_PARTS: all of it, on the caller alone. It
 * calls no Python, needs no GIL, and writes nothing that another part reads or writes.
 */
#ifndef DL_THREADS_H
#define DL_THREADS_H

#include "numpy_api.h"

enum {
    DL_MOST_THREADS = 64,
    DL_MOST_PARTS = 64,
    DL_ALL_PARTS = -1,
    DL_PACES = 16,
};

typedef void DlPartFunction(void *work, int part, int thread);

/* Whether some work of about one size gains by threads: nanoseconds an element, the best of the runs counted. */
typedef struct {
    float alone, shared;
    uint8_t n_alone, n_shared, slow;
    uint16_t rests;
} DlPace;

/* The same for one place in a program, by size; zeroed at first. */
typedef struct {
    DlPace by_size[DL_PACES];
} DlPaces;

/* One piece of work under way. */
typedef struct {
    int threads; /* that will share it */
    DlPace *trial;
    double size; /* elements, each as often as it is computed */
    int64_t took;
} DlShare;

/* Decide how many threads run work of so many elements, so many times over, which takes about `guess` nanoseconds, as the
 * trials have shown. limit: of the program, 0: none. Where share->threads is above 1 the pool is the caller's until dl_threads_close.
 * Both need the GIL; dl_threads_run does not. */
void dl_threads_open(DlShare *share, DlPaces *trials, npy_intp size, double guess, npy_intp times, int limit);
void dl_threads_close(DlShare *share);

/* Run all parts. The floating-point environment is the caller's in each, and their flags are set in the caller's. */
void dl_threads_run(DlShare *share, DlPartFunction *function, void *work, int n_parts);

/* The guessed nanoseconds from which on work is timed, and may be shared. */
extern double dl_threads_least;

/* How many threads there are to share with, 1: none. Needs the GIL. */
int dl_threads_count(int limit);

/* How many workers there are besides the callers. */
int dl_threads_workers(void);

/* How a length is cut: parts of *few (a multiple of `unit`), but for the last; how many. */
int dl_threads_cut(npy_intp length, npy_intp unit, npy_intp least, npy_intp *few);

#endif
