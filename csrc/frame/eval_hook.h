/* The PEP 523 frame hook: sees the frames of functions that compiled code calls, or of a whole program.

   It is installed only while somebody needs it: a thread runs residual or plain code under a CompiledFunction and a
   frame callback is set (dl_hook_enter), or whole-program mode is on. It chains to the evaluator it found. Everything
   here is protected by the GIL; dl_thread belongs to its thread. */
#ifndef DL_EVAL_HOOK_H
#define DL_EVAL_HOOK_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#include "abi.h"

/* Why a frame ran in the previous evaluator. Numbers from DL_FIRST_PIPELINE_REASON on are dynamo_lite's own. */
#define DL_REASONS(ROW) \
    ROW(DL_REASON_SKIP, "marked: never ask for this code") \
    ROW(DL_REASON_PLAIN, "its plain run had just been decided") \
    ROW(DL_REASON_GENERATOR, "generator, coroutine or asynchronous generator") \
    ROW(DL_REASON_NAMESPACE, "body of a module, a class or exec()") \
    ROW(DL_REASON_TRACED, "a tracer, profiler, debugger or monitoring tool watches") \
    ROW(DL_REASON_NO_CALLBACK, "no frame callback is set") \
    ROW(DL_REASON_NO_ENTRY, "no entry for this call") \
    ROW(DL_REASON_RETIRED, "its entry is retired") \
    ROW(DL_REASON_DECLINED, "its program declined") \
    ROW(DL_REASON_COLD, "it has not taken long yet") \
    ROW(DL_REASON_PUT_OFF, "compiling it took too long; it is tried again after a while") \
    ROW(DL_REASON_LOSES, "its compiled calls took longer than plain ones") \
    ROW(DL_REASON_LIKE_BEFORE, "many calls like it ran plainly") \
    ROW(DL_REASON_STRESS, "stress mode: pass-through") \
    ROW(DL_REASON_NOT_REWRITTEN, "stress mode: the re-encoded code does not fit the frame") \
    ROW(DL_REASON_DEEP, "deep in the C stack: it and all frames below it run unseen")

typedef enum {
#define ROW(id, text) id,
    DL_REASONS(ROW)
#undef ROW
    DL_N_REASONS,
} DlReason;

typedef enum { DL_STRESS_NONE, DL_STRESS_HOOK, DL_STRESS_REWRITE, DL_STRESS_MISS, DL_STRESS_ALL } DlStress;

typedef struct {
    int depth;           /* dl_hook_enter()s that were not left */
    int paused;          /* dl_hook_pause()s: dynamo_lite itself runs Python code */
    int own_frames;      /* that it may have meanwhile, beyond the recursion limit */
    int active;          /* counted as depth > 0 and not paused */
    enum { DL_STAYED, DL_RAISED, DL_LEFT } left; /* what the latest question at a back edge came to: back_edge.c */
    int nested;          /* evaluators of ours on this thread's C stack */
    int lent;            /* the next frame's caller has lent it its C stack (dl_hook_lend) */
    int aside;           /* the hook had to go for the time of a frame: deep C stack, or a tracer watches */
    int why_plain;       /* the DlReason of the last DL_PLAIN that dispatch gave */
    PyObject *on_miss;   /* of the innermost call that shows frames: asked for its callees' entries; borrowed */
    PyCodeObject *plain; /* the next frame of this code runs plainly; borrowed, compared only */
    uint64_t gains;      /* frames that were captured, and questions asked about frames */
    uint64_t asked;      /* questions asked: for entries, and for the code of kernels */
    uint64_t answering;  /* ns that the answers took */
    uint64_t timing_taken; /* ns that the looks at clocks took with which calls are timed */
    int timing;          /* calls under way that are timed: what programs take is noted */
    uint64_t cold;       /* ns that frames took which wait for that, while something was timed */
    uint64_t segment;    /* the plain rest of a function that is under way, by a number that no other has */
    int heating;         /* plain runs under way of cold code behind breaks */
    uint64_t frames;     /* ns that frames took which the hook dispatched or let wait, while something was heating */
    uint64_t native;     /* ns that programs took while something was timed, and how many ran */
    uint64_t programs;
    uint64_t ran;        /* programs that have run to their end */
    double quick;        /* ns, about, that code took which is not optimised yet */
} DlThread;

extern _Thread_local DlThread dl_thread;
extern int dl_n_timing; /* the sum of `timing` of all threads */
extern DlStress dl_stress;

/* A stretch of C code that may run the user's Python functions; starts zeroed. */
typedef struct {
    char entered, counted;
    PyObject *outer; /* the on_miss that was asked before */
} DlHookScope;

/* Show the frames of this thread to the hook and ask on_miss (borrowed; NULL: nobody) about them, until the scope is
   left; entering a scope again changes nothing. */
void dl_hook_enter(DlHookScope *scope, PyObject *on_miss);

/* Leave the scope, if it was entered. */
void dl_hook_leave(DlHookScope *scope);

/* How much showing frames has brought for one stretch of code; starts zeroed. The hook makes every Python call slower,
   so where nothing was captured or asked about for DL_BARREN calls on end, it is tried again every DL_REST calls only. */
typedef struct {
    uint8_t barren, rested;
} DlHookWatch;

enum { DL_BARREN = 8, DL_REST = 100 };

/* dl_hook_enter() where it may bring something; true when dl_hook_judge() is to be told. */
int dl_hook_try(DlHookWatch *watch, DlHookScope *scope, PyObject *on_miss);

/* Note what the stretch brought; gains: dl_thread.gains before it. */
static inline void
dl_hook_judge(DlHookWatch *watch, uint64_t gains)
{
    watch->barren = dl_thread.gains != gains ? 0 : watch->barren < DL_BARREN ? watch->barren + 1 : DL_BARREN;
}

/* Callees are watched otherwise (watch.h): no scope shows frames, as long as `others` is true. */
void dl_hook_stand_in(int others);

extern int dl_force_plain; /* compiled functions and watched code run plainly: set_stance("force_plain") */

/* Let all frames of this thread pass while dynamo_lite itself runs Python code on it, and have room for that: the user's
   code may be near Python's recursion limit, and is not to meet it earlier than plain Python would. */
void dl_hook_pause(void);

/* Undo one dl_hook_pause(). */
void dl_hook_resume(void);

/* Have the frames of this thread run without the hook until dl_hook_step_back(), which is told what this gave. */
int dl_hook_step_aside(void);
void dl_hook_step_back(int was_aside);

/* Around a call of ours that evaluates one Python frame where plain Python would have used no C stack: lends the frame its
   share (dl_pyframe_lend_c_stack), once, though it comes by the hook as well, which lends to the others. */
void dl_hook_lend(PyThreadState *tstate);
void dl_hook_take_back(PyThreadState *tstate);

/* Call func as plain Python: its own frame is not dispatched, those of its callees may be. As PyObject_Vectorcall;
   owned: the arguments (all positional) are references that go over to the frame, consumed in every case. */
PyObject *dl_hook_call_plainly(PyObject *func, PyObject *const *args, size_t nargsf, PyObject *kwnames, int owned);

/* Add the hook's functions to module: 0, or -1 with an error set. */
int dl_hook_register(PyObject *module);

#endif
