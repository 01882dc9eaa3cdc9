/* Which threads want their frames seen by the hook, and putting it in place: what eval_hook.c, the evaluator, and those
   who only pause it or lend it their C stack have in common. All of it is protected by the GIL. */
#ifndef DL_HOOK_STATE_H
#define DL_HOOK_STATE_H

#include "eval_hook.h"
#include "pyframe.h"

typedef struct {
    int active_threads;   /* threads that want their frames seen */
    int paused_threads;   /* threads that let them pass */
    int aside_threads;    /* threads in which it stepped aside: then it is installed for nobody */
    int stands_in;        /* whole programs are watched without the hook: scopes show no frames */
    int enabled;          /* whole-program mode: every thread that is not paused is active */
    int installed;        /* we put the hook in place and have not taken it off */
    DlEvaluator evaluator; /* ours */
    DlEvaluator previous;  /* what it replaced */
    PyObject *frame_callback, *rewrite_callback;
    uint64_t seen, captured, rewritten, plain_rests, skipped[DL_MAX_REASONS];
} DlHookState;

extern DlHookState dl_hook;

/* Put the hook in place or take it off, as the counts want it. */
void dl_hook_update(void);
/* One more reason for frames of this thread to be seen; one less. */
void dl_hook_want(void);
void dl_hook_unwant(void);
/* Learn the evaluator; in the child of fork() only this thread counts. */
void dl_hook_state_register(DlEvaluator evaluator);

#endif
