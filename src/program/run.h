/* run.h: a program run step by step, and judged.
 *
 * Needs the bundles of its kernels, from wherever they come. Leaves the results, and a verdict: what each kernel did
 * on the very buffers, and how the results compare with the meaning of the whole module.
 *
 *     ProgVerdict v = prog_run(cx, arena, p, &(ProgRun){.kernel = compile, .run = {.check = true, .which = 'n'}});
 */
#ifndef PROG_RUN_H
#define PROG_RUN_H

#include "gpu/context.h"
#include "judge/judge.h"
#include "program/program.h"

typedef struct {
    const Bundle *bundle;
    const HloModule *module; /* of its text, by which it is judged */
} ProgKernel;

typedef struct {
    /* The kernel of a step, asked for once for each text. It fails or declines with the reason. */
    ProgKernel (*kernel)(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s);
    void *arg;
    const char *file; /* of the text in messages; NULL: source.hlo */
    bool made_constants; /* those that the text leaves out have made values; else they are declined */
    JudgeRun run; /* check, threads, inputs; blocks and profiles must be unset; on_gpu: all kernels run there */
} ProgRun;

typedef struct {
    bool checked, on_gpu;      /* as ProgRun.run says */
    uint64_t kernels, library, copies, iterations; /* that ran; kernels: steps, each of which may be several launches */
    uint64_t blas;             /* library calls that cuBLAS computed on a GPU; the others are computed on the host */
    uint64_t judged;           /* kernels whose outputs were compared with the bounds */
    int64_t compared, outside; /* their elements */
    double max_ulp, share;     /* of JudgeVerdict, the largest of their outputs on their inputs */
    uint64_t moved;            /* kernels that could not run in place, and were copied */
    const char *first;         /* the first fault or element outside the bounds, with the step; NULL: none */
    JudgeVerdict whole;         /* with check: the results, by the bounds of the module */
    const char *whole_open;    /* reductions of the module that may have any value, as no kernel says their order */
    const char *whole_skipped; /* why the results were not compared; NULL: they were */
    SimCounts counts;
    EvValue *results;          /* [n_results], logical */
    uint32_t n_results;
    double ms_run, ms_judge, ms_library;
} ProgVerdict;

/* run.c: stops at the first step with a fault or an element outside the bounds. A step in a loop is judged when it runs
 * for the first, second, fourth, eighth time and so on. */
ProgVerdict prog_run(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgRun *o);

/* run.c: a program in the memory of a GPU, and runs of it on streams of a host. Its kernels, those of o->kernel, and
 * its constants are loaded into the context that is current in this thread, else into the primary one of device 0. `a`,
 * `p` and the bundles live as long as the result. Declines with WHY_NO_GPU without a driver or a device. */
typedef struct ProgLoaded ProgLoaded;
ProgLoaded *prog_load(WbbCx *cx, WbbArena *a, const ProgModule *p, const ProgRun *o);
void prog_unload(WbbCx *cx, ProgLoaded *l);
const GpuContext *prog_context(const ProgLoaded *l);
/* Enqueues a run, whose arrays have the program's orders of dimensions: addresses of the parameters, then of the
 * results. It waits for the GPU where the host computes a library call or asks where to go. One call at a time. */
void prog_enqueue(WbbCx *cx, ProgLoaded *l, void *stream, const uint64_t *addresses);

/* verdict.c: as lines that begin with the name; as an object. */
void prog_put_verdict(WbbBuf *b, const char *name, const ProgVerdict *v);
void prog_put_verdict_json(WbbBuf *b, const char *name, const ProgModule *p, const ProgVerdict *v);

#endif
