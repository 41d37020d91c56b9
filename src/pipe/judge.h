/* judge.h: running a bundle and judging what comes out, without a compiler: simulator and evaluator only.
 *
 *     PipeVerdict v = pipe_run(cx, arena, bundle, module, &(PipeRun){.check = true, .which = 'e'});
 *     v.outside == 0 && v.report.n_faults == 0
 */
#ifndef PIPE_JUDGE_H
#define PIPE_JUDGE_H

#include "base/base.h"
#include "bundle/bundle.h"
#include "eval/eval.h"
#include "gpu/gpu.h"
#include "hlo/hlo.h"
#include "pipe/spikes.h"
#include "sim/sim.h"

/* How inputs come to be, and how the simulator runs. */
typedef struct {
    bool check;                /* memory checks and comparison; else the kernels are only run */
    uint64_t seed;
    char which;                /* e, n, p or s: how inputs are made */
    const EvSource *made;      /* instead: elements of the inputs of the entry; NULL: by seed and case */
    const char *const *inputs; /* .npy files in parameter order; NULL: made */
    uint32_t n_inputs;
    uint64_t blocks;           /* run a sample of so many blocks; 0: all */
    uint64_t order;            /* where `shuffle` is set: the order in which blocks run */
    bool shuffle;
    bool ulp_noise;
    bool counts;               /* fill PipeVerdict.counts */
    bool on_gpu;               /* run on a GPU too: its outputs are the ones that are judged */
    uint32_t repeat;           /* there, time that many runs */
    bool approx;               /* judge by the looser budgets */
    size_t padding;            /* SimOptions.padding */
    uint32_t threads;          /* SimOptions.threads */
    const char *ptx_name;      /* of the PTX, in messages; NULL: kernel.ptx */
    const char *output_dir;    /* write out0.npy ..; NULL: nowhere */
} PipeRun;

typedef struct {
    const PipeSpikes *spikes;  /* case s: which reductions are judged exactly; else NULL */
    int64_t compared, outside; /* elements compared with the bounds; how many were not inside */
    double max_ulp;            /* distance from the f64 reading; of a million floats an output at most */
    SimReport report;          /* of the launch */
    SimCounts counts;          /* of all launches */
    GpuReport gpu;             /* of a run on a GPU */
    bool exact;                /* its outputs had to be the simulator's bit for bit */
    int64_t differ;            /* bytes of its outputs that were not */
    const char *first_differ;  /* the first of them; NULL: none */
    const char *order;         /* check: where another order of blocks and warps gave other bits; NULL: nowhere */
    const char *first;         /* the first element outside: what was seen, what is allowed; NULL: none */
    double ms_run, ms_eval;
    double ms_cpu;             /* of ms_run, what this process computed on all its threads */
} PipeVerdict;

/* inputs.c */
/* The run with its inputs chosen: in case s those of *spikes where some reduction is judged by them, else those of case n. Other cases stay
 * as they are, and *spikes is NULL. */
PipeRun pipe_with_spikes(WbbCx *cx, WbbArena *a, const HloModule *m, PipeRun run, const PipeSpikes **spikes);
/* One logical array for each parameter of the entry, read or made; fails on a wrong number, type or shape, and where the machine has
 * no room for them. NULL for those of a sample of the blocks that pipe_pages and pipe_evaluate make in parts. */
const void **pipe_inputs(WbbCx *cx, WbbArena *a, const HloModule *m, const PipeRun *run);
/* Made inputs, each element when it is asked for; `run` must outlive it. */
EvSource pipe_made_inputs(WbbCx *cx, WbbArena *a, const HloModule *m, const PipeRun *run);

/* Values of the parameters of the fused computation, leaf by leaf, from those of the entry. */
typedef struct {
    uint32_t n;
    const void **arrays; /* [n], logical; NULL for what is made in parts */
    bool made;           /* some are NULL */
    const struct PipeOrigin *origin;
} PipeOperands;
PipeOperands pipe_operands(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const PipeRun *run);
/* ev_run, or with positions ev_run_at, on these; with an order ev_run_in_order. */
EvResult *pipe_evaluate(WbbCx *cx, WbbArena *a, const HloComputation *c, const PipeOperands *operands, const EvOrder *order, EvMode mode,
                        const EvPositions *at);
/* The memory of a buffer whose operand is made in parts. */
const SimSource *pipe_pages(WbbArena *a, const PipeOperands *operands, const BdBuffer *d);

/* judge.c */
/* Write leaf k as DIR/outK.npy. */
void pipe_write_outputs(WbbCx *cx, WbbArena *a, const char *dir, uint32_t n, const EvValue *outputs);
PipeVerdict pipe_run(WbbCx *cx, WbbArena *a, const Bundle *b, const HloModule *m, const PipeRun *run);

/* foreign.c: a bundle around PTX that somebody else made of the module's fusion; grid, block and shared of `launch` are theirs. */
Bundle *pipe_foreign(WbbCx *cx, WbbArena *a, const HloModule *m, const char *ptx, const char *entry, const BdLaunch *launch);

#endif
