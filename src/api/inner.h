/* inner.h: what the files of the library share: the kernel, and calls that leave a result. */
#ifndef API_INNER_H
#define API_INNER_H

#include "judge/judge.h"
#include "pipe/pipe.h"
#include "warpburg.h"

/* Whom long work tells how far it is. */
typedef struct {
    wb_progress *progress; /* NULL: nobody */
    void *arg;
    WbbCx *cx;   /* that works */
    double said; /* when, in ms */
} WbListener;

struct wb_context {
    WbbCx *cx;
    WbListener listener; /* of compiles */
    struct LlCache *cache;
    WbbStore *store;
    wb_reason declined; /* of the last compile */
};

struct wb_kernel {
    WbbArena *arena; /* it and all that belongs to it */
    const char *file;
    PipeOptions options; /* that it was compiled with; texts are in the arena */
    PipeMade made;
    const char *json, *plan; /* plan: as it was saved; NULL: it is made when it is asked for */
    const JudgeLeaf *operands; /* [n_operands] */
    uint32_t n_operands;
    const wb_array *inputs, *outputs;
    uint32_t n_inputs, n_outputs;
};

struct wb_result {
    WbbCx *cx; /* its arena has the result and its texts */
    const char *faults, *text, *json, *html;
    wb_reason declined;
};

/* result.c: calls body(r->cx, job) with a new result, which goes to *result or is freed. The job has a WbRun first. */
typedef struct {
    const wb_kernel *k;
    wb_result *r;
    wb_status status; /* that the call ends with, where the body succeeds */
    const wb_run_options *shown; /* whose progress is called; NULL: none */
} WbRun;
bool wb_report(void *report, const char *what, int64_t done, int64_t total); /* a WbbReport of a WbListener */
wb_status wb_result_of(const wb_kernel *k, void (*body)(WbbCx *, void *), WbRun *job, wb_result **result);
/* Faults of a run, a message each, and elements outside their bounds: WB_CHECK if there are any. */
void wb_result_faults(WbRun *job, const JudgeVerdict *v);

/* interrupt.c: Ctrl-C is counted from wb_interrupts_begin to wb_interrupts_end; the first gives the count so far. */
unsigned wb_interrupts_begin(void);
void wb_interrupts_end(void);
/* A wb_progress: stops once there is one more than *since, an unsigned. */
int wb_interrupted(void *since, const char *what, int64_t done, int64_t total);

/* api.c: the kernel of a text, in an arena of its own, which also has a copy of the text. */
wb_kernel *wb_kernel_made(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n);
/* The kernel that was made of a text before. */
wb_kernel *wb_kernel_of(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const PipeMade *made);
PipeOptions wb_pipe_options(const wb_context *c, const wb_options *o);
void wb_check_options(WbbCx *cx, const wb_options *o); /* numbers that are none of their enumerations' fail */
/* A call whose progress the context's listener is told. */
WbbStatus wb_watched(wb_context *c, void (*body)(WbbCx *, void *), void *arg);
/* The same that leaves messages, and the reason of a decline, in the context. */
wb_status wb_guarded(wb_context *c, void (*body)(WbbCx *, void *), void *arg);
/* kernel.c: the elements of operand i as an array on the host, where it is a constant; else NULL. */
const void *wb_kernel_constant(const wb_kernel *k, uint32_t i);
wb_status wb_status_of(WbbStatus s);

#endif
