/* Threads that share the elements of a big kernel or reduction.
 *
 * The pool is made at first use, in C: its threads know no Python, need no GIL and hold nothing between two pieces of
 * work. One caller has the pool at a time; others meanwhile run alone, and so does a caller whose work is too little. Who
 * takes which part is left to chance, what a part is is not: so results, statuses and floating-point flags are those of
 * one thread. After a fork the child has no threads, and makes new ones. INVARIANT: a worker that has not begun when the
 * last part is taken never does, so nobody waits for a thread that the system has not woken.
 */
#include "threads.h"

#include <fenv.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "program/fpflags.h"

enum {
    SPIN_NS = 15000,    /* for so long a thread that waits looks again and again, before it sleeps */
    LEAST_NS = 300000,  /* and nanoseconds from which on it is shared */
    SHARE_NS = 75000,   /* what each thread should have to do */
    RUNS = 2,           /* timed in a trial, alone and shared */
    MOST_SLOW = 4,      /* shared runs in a row that took longer than alone, before there is a new trial */
    MOST_RESTS = 500,   /* runs alone, before there is a new trial */
    STACK_BYTES = 1 << 20,
};
/* What each thread has to add to the rate of one, for threads to be used: with less, most of what they do is wait for
 * memory, and processor time is spent. */
static const double GAIN = 0.25;

/* ---- how many ---- */

static PyObject *followed; /* owned: whose attribute num_threads is asked, or NULL */
static int automatic;      /* the number where that is 0; 0 itself: not known yet */

enum { LOOKED_AT = 20000 };
double dl_threads_least = LOOKED_AT;

/* For tests: share whatever can be cut, at once. */
static int always;

/* The numbers that a file begins with, "max" being -1; how many of at most two. */
static int
read_numbers(const char *path, double *numbers)
{
    FILE *file = fopen(path, "r");
    char text[128];
    int count = 0;
    if (file == NULL) {
        return 0;
    }
    if (fgets(text, sizeof text, file) != NULL) {
        char *end = text;
        for (char *next = text; count < 2; next = end, count++) {
            numbers[count] = strtod(next, &end);
            if (end == next && strncmp(next, "max", 3) == 0) {
                numbers[count] = -1;
                end = next + 3;
            }
            else if (end == next) {
                break;
            }
        }
    }
    fclose(file);
    return count;
}

/* The processors that a control group's quota comes to, where it has one that is below `least`; else `least`. */
static double
limited(double least, const char *folder, const char *group)
{
    char path[4200];
    double numbers[2] = {0}, period[2] = {0};
    snprintf(path, sizeof path, "%s%s/cpu.max", folder, group);
    int found = read_numbers(path, numbers);
    if (found != 2) {
        snprintf(path, sizeof path, "%s%s/cpu.cfs_quota_us", folder, group);
        found = read_numbers(path, numbers);
        snprintf(path, sizeof path, "%s%s/cpu.cfs_period_us", folder, group);
        found = found && read_numbers(path, period) ? 2 : 0;
        numbers[1] = period[0];
    }
    if (found == 2 && numbers[0] > 0 && numbers[1] > 0 && numbers[0] / numbers[1] < least) {
        return numbers[0] / numbers[1];
    }
    return least;
}

/* The same over all control groups that this process is in. */
static double
limited_by_groups(double least)
{
    FILE *file = fopen("/proc/self/cgroup", "r");
    char line[4096];
    least = limited(least, "/sys/fs/cgroup", "");
    while (file != NULL && fgets(line, sizeof line, file) != NULL) {
        char *names = strchr(line, ':'), *group = names ? strchr(names + 1, ':') : NULL;
        if (group == NULL) {
            continue;
        }
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        const char *folder = names[1] == '\0' ? "/sys/fs/cgroup" : strstr(names, "cpu") ? "/sys/fs/cgroup/cpu" : NULL;
        for (char *last = group; folder != NULL && last != NULL;) { /* the group, and all around it */
            least = limited(least, folder, group);
            last = strrchr(group, '/');
            if (last != NULL) {
                *last = '\0';
            }
        }
    }
    if (file != NULL) {
        fclose(file);
    }
    return least;
}

/* What the environment tells libraries that have threads: what joblib and dask set for their workers. 0: nothing. */
static int
told_by_environment(void)
{
    static const char *const names[] = {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS"};
    for (size_t i = 0; i < Py_ARRAY_LENGTH(names); i++) {
        const char *text = getenv(names[i]);
        long number = text ? strtol(text, NULL, 10) : 0;
        if (number > 0) {
            return number < DL_MOST_THREADS ? (int)number : DL_MOST_THREADS;
        }
    }
    return 0;
}

/* As many as this process has processors, or fewer where the environment says so. */
static int
count_automatic(void)
{
    double processors = (double)sysconf(_SC_NPROCESSORS_ONLN);
#ifdef __linux__
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) {
        processors = CPU_COUNT(&set);
    }
    processors = limited_by_groups(processors);
#endif
    int number = processors < 1 ? 1 : processors > DL_MOST_THREADS ? DL_MOST_THREADS : (int)processors;
    int told = told_by_environment();
    return told && told < number ? told : number;
}

int
dl_threads_count(int limit)
{
    long number = limit;
    if (number == 0 && followed != NULL) {
        PyObject *value = PyObject_GetAttrString(followed, "num_threads");
        number = value ? PyLong_AsLong(value) : 0;
        Py_XDECREF(value);
        if (PyErr_Occurred()) {
            PyErr_Clear(); /* an option that is no number was refused; one of another kind of object is not ours to judge */
            number = 1;
        }
    }
    if (number == 0) {
        automatic = automatic ? automatic : count_automatic();
        number = automatic;
    }
    return number < 1 ? 1 : number > DL_MOST_THREADS ? DL_MOST_THREADS : (int)number;
}

/* ---- the pool ---- */

/* What is shared now; it lies on the caller's stack. */
typedef struct {
    DlPartFunction *function;
    void *work;
    int n_parts;
    atomic_int next;
    atomic_uint flags;
    fenv_t environment;
} Job;

/* job: NULL where it has nothing to do, what it is asked to do, or &begun while it does that. */
typedef struct {
    int number;
    _Atomic(Job *) job;
    atomic_int sleeps, is_awaited;
    pthread_mutex_t lock;
    pthread_cond_t is_asked, has_done;
} Worker;

static Job begun;
static struct {
    atomic_int busy;
    int n_workers, watches_forks;
    Worker *workers[DL_MOST_THREADS];
} pool;
static unsigned long long shared_runs; /* under the GIL, like most_used */
static int most_used = 1;

static int64_t
now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

static inline void
breathe(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

/* Take parts until there are none. */
static void
run_parts(Job *job, int thread)
{
    for (int part; (part = atomic_fetch_add(&job->next, 1)) < job->n_parts;) {
        job->function(job->work, part, thread);
    }
}

/* Look for a job for a moment, then sleep until there is one. */
static Job *
await_job(Worker *self)
{
    Job *job = NULL;
    for (int64_t end = now() + SPIN_NS; job == NULL && now() < end;) {
        for (int i = 0; i < 32 && (job = atomic_load(&self->job)) == NULL; i++) {
            breathe();
        }
    }
    if (job == NULL) {
        pthread_mutex_lock(&self->lock);
        atomic_store(&self->sleeps, 1);
        while ((job = atomic_load(&self->job)) == NULL) {
            pthread_cond_wait(&self->is_asked, &self->lock);
        }
        atomic_store(&self->sleeps, 0);
        pthread_mutex_unlock(&self->lock);
    }
    return job;
}

static void *
work(void *argument)
{
    Worker *self = argument;
    for (;;) {
        Job *job = await_job(self);
        if (!atomic_compare_exchange_strong(&self->job, &job, &begun)) {
            continue; /* the caller has taken it back */
        }
        fesetenv(&job->environment);
        dl_fp_set(0);
        dl_fp_clear_x87();
        run_parts(job, self->number);
        atomic_fetch_or(&job->flags, dl_fp_get());
        atomic_store(&self->job, NULL);
        if (atomic_load(&self->is_awaited)) {
            pthread_mutex_lock(&self->lock);
            pthread_cond_signal(&self->has_done);
            pthread_mutex_unlock(&self->lock);
        }
    }
    return NULL;
}

static void
ask(Worker *worker, Job *job)
{
    atomic_store(&worker->job, job);
    if (atomic_load(&worker->sleeps)) {
        pthread_mutex_lock(&worker->lock);
        pthread_cond_signal(&worker->is_asked);
        pthread_mutex_unlock(&worker->lock);
    }
}

/* Take the job back, or wait until the worker has done with it. */
static void
await_worker(Worker *worker, Job *job)
{
    Job *expected = job;
    if (atomic_compare_exchange_strong(&worker->job, &expected, NULL)) {
        return;
    }
    for (int64_t end = now() + SPIN_NS; now() < end;) {
        for (int i = 0; i < 32; i++, breathe()) {
            if (atomic_load(&worker->job) == NULL) {
                return;
            }
        }
    }
    pthread_mutex_lock(&worker->lock);
    atomic_store(&worker->is_awaited, 1);
    while (atomic_load(&worker->job) != NULL) {
        pthread_cond_wait(&worker->has_done, &worker->lock);
    }
    atomic_store(&worker->is_awaited, 0);
    pthread_mutex_unlock(&worker->lock);
}

/* In the child of a fork: its only thread is the one that forked, which shares nothing now. */
static void
forget_workers(void)
{
    for (int i = 0; i < pool.n_workers; i++) {
        pool.workers[i] = NULL; /* NB: never freed, a lock may have been held */
    }
    pool.n_workers = 0;
    automatic = 0; /* it may be told another number */
    atomic_store(&pool.busy, 0);
}

/* Start one more worker; 0, or -1 where there cannot be one. No signal's handler runs in it. */
static int
start_worker(void)
{
    Worker *worker = calloc(1, sizeof *worker);
    pthread_attr_t attributes;
    pthread_t thread;
    sigset_t all, before;
    if (worker == NULL || pthread_attr_init(&attributes) != 0) {
        free(worker);
        return -1;
    }
    worker->number = pool.n_workers + 1;
    pthread_mutex_init(&worker->lock, NULL);
    pthread_cond_init(&worker->is_asked, NULL);
    pthread_cond_init(&worker->has_done, NULL);
    pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&thread, &attributes, work, worker);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    pthread_attr_destroy(&attributes);
    if (error != 0) {
        free(worker);
        return -1;
    }
    pool.workers[pool.n_workers++] = worker;
    return 0;
}

/* Get the pool for up to `wanted` threads; how many there are, 1 where another has the pool. */
static int
take_pool(int wanted)
{
    if (wanted < 2 || atomic_exchange(&pool.busy, 1)) {
        return 1;
    }
    if (!pool.watches_forks) {
        pool.watches_forks = pthread_atfork(NULL, NULL, forget_workers) == 0;
    }
    while (pool.watches_forks && pool.n_workers < wanted - 1 && start_worker() == 0) {
    }
    int threads = wanted - 1 < pool.n_workers ? wanted : pool.n_workers + 1;
    if (threads == 1) {
        atomic_store(&pool.busy, 0);
    }
    return threads;
}

/* ---- trials ---- */

/* Whether to share work this time. */
static int
try_shared(DlPace *trial, double size, double guess, int threads)
{
    double alone = trial->n_alone ? (double)trial->alone * size : guess;
    if (always) {
        return 1;
    }
    if (alone < LEAST_NS) {
        return 0;
    }
    if (trial->n_alone < RUNS || trial->n_shared < RUNS) {
        return trial->n_alone + trial->n_shared == 0 || trial->n_shared < trial->n_alone;
    }
    if (trial->shared * (1 + GAIN * threads) < trial->alone) {
        return 1;
    }
    if (++trial->rests >= MOST_RESTS) {
        *trial = (DlPace){.alone = 0};
    }
    return 0;
}

/* Note a run's nanoseconds an element. */
static void
note_run(DlPace *trial, int shared, float took)
{
    float *best = shared ? &trial->shared : &trial->alone;
    uint8_t *count = shared ? &trial->n_shared : &trial->n_alone;
    int decided = trial->n_alone >= RUNS && trial->n_shared >= RUNS;
    if (!decided) {
        *best = *count == 0 || took < *best ? took : *best;
        *count += *count < RUNS;
    }
    else if (shared) {
        trial->slow = took > trial->alone ? trial->slow + 1 : 0;
        if (trial->slow >= MOST_SLOW) {
            *trial = (DlPace){.alone = 0};
        }
    }
}

void
dl_threads_open(DlShare *share, DlPaces *trials, npy_intp size, double guess, npy_intp times, int limit)
{
    *share = (DlShare){.threads = 1, .size = (double)size * (double)times};
    int threads = dl_threads_count(limit);
    int level = 63 - __builtin_clzll((unsigned long long)size | 1) - 11;
    if (threads == 1) {
        return;
    }
    level = level < 0 ? 0 : level < DL_PACES ? level : DL_PACES - 1;
    share->trial = &trials->by_size[level];
    double alone = share->trial->n_alone ? (double)share->trial->alone * share->size : guess;
    if (!always && alone < (double)threads * SHARE_NS) {
        threads = alone > 2.0 * SHARE_NS ? (int)(alone / SHARE_NS) : 2;
    }
    if (try_shared(share->trial, share->size, guess, threads)) {
        share->threads = take_pool(threads);
        if (share->threads == 1) {
            share->trial = NULL; /* a run that tells nothing: somebody else is at work */
        }
    }
}

void
dl_threads_run(DlShare *share, DlPartFunction *function, void *work, int n_parts)
{
    int64_t began = share->trial ? now() : 0;
    if (share->threads == 1) {
        function(work, DL_ALL_PARTS, 0);
    }
    else {
        Job job = {.function = function, .work = work, .n_parts = n_parts};
        int n = (share->threads < n_parts ? share->threads : n_parts) - 1;
        fegetenv(&job.environment);
        for (int i = 0; i < n; i++) {
            ask(pool.workers[i], &job);
        }
        run_parts(&job, 0);
        for (int i = 0; i < n; i++) {
            await_worker(pool.workers[i], &job);
        }
        dl_fp_set(dl_fp_get() | atomic_load(&job.flags));
    }
    share->took = share->trial ? now() - began : 0;
}

void
dl_threads_close(DlShare *share)
{
    if (share->threads > 1) {
        shared_runs++;
        most_used = share->threads > most_used ? share->threads : most_used;
        atomic_store(&pool.busy, 0);
    }
    if (share->trial != NULL && share->took > 0) {
        note_run(share->trial, share->threads > 1, (float)((double)share->took / share->size));
    }
}

int
dl_threads_workers(void)
{
    return pool.n_workers;
}

int
dl_threads_cut(npy_intp length, npy_intp unit, npy_intp least, npy_intp *few)
{
    npy_intp each = (length + DL_MOST_PARTS - 1) / DL_MOST_PARTS;
    each = each < least ? least : each;
    *few = (each + unit - 1) / unit * unit;
    return (int)((length + *few - 1) / *few);
}

/* ---- for Python ---- */

/* threads_follow(config) */
static PyObject *
threads_follow(PyObject *Py_UNUSED(module), PyObject *config)
{
    Py_XSETREF(followed, Py_NewRef(config));
    Py_RETURN_NONE;
}

static PyObject *
threads_count(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    automatic = 0;
    return PyLong_FromLong(dl_threads_count(0));
}

static PyObject *
threads_stats(PyObject *Py_UNUSED(module), PyObject *Py_UNUSED(args))
{
    return Py_BuildValue("{s:i,s:K,s:i}", "workers", pool.n_workers, "shared_runs", shared_runs, "most_used", most_used);
}

static PyObject *
threads_always(PyObject *Py_UNUSED(module), PyObject *on)
{
    int truth = PyObject_IsTrue(on), before = always;
    if (truth < 0) {
        return NULL;
    }
    always = truth;
    dl_threads_least = always ? 0 : LOOKED_AT;
    return PyBool_FromLong(before);
}

PyMethodDef dl_threads_functions[] = {
    {"threads_follow", threads_follow, METH_O, "threads_follow(config): its num_threads says how many threads share work."},
    {"threads_count", threads_count, METH_NOARGS, "threads_count(): how many threads share big work now, 1: none do."},
    {"threads_stats", threads_stats, METH_NOARGS,
     "threads_stats(): the workers there are, how often work was shared, and by how many threads at most."},
    {"threads_always", threads_always, METH_O,
     "threads_always(on): for tests, share whatever can be cut, whether that gains or not; what was before."},
    {NULL, NULL, 0, NULL},
};
