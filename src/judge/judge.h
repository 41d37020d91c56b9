/* judge.h: runs a bundle in the simulator, or on a GPU, and compares its outputs with the evaluator's bounds.
 *
 * Needs a bundle and its HLO module; leaves a verdict. No part of the compiler is used.
 *
 *     JudgeVerdict v = judge_run(cx, arena, bundle, module, &(JudgeRun){.check = true, .which = 'e'});
 *     v.outside == 0 && v.report.n_faults == 0
 */
#ifndef JUDGE_JUDGE_H
#define JUDGE_JUDGE_H

#include "base/base.h"
#include "bundle/bundle.h"
#include "eval/eval.h"
#include "gpu/gpu.h"
#include "hlo/hlo.h"
#include "judge/spikes.h"
#include "sim/sim.h"

/* How inputs are made, and how the simulator runs. */
typedef struct {
    bool check;                /* memory checks and comparison; else the kernels are only run */
    uint64_t seed;
    char which; /* e, n, p, t, u, w: case of bd_make_input; d: dominant.h; s: spikes.h; c: corners.h; 0: w */
    const EvSource *made;      /* elements of the inputs of the entry; NULL: by seed and case */
    const char *const *inputs; /* .npy files in parameter order; NULL: inputs are `arrays`, or made */
    uint32_t n_inputs;
    const void *const *arrays; /* logical arrays, one for each leaf of the entry's parameters; NULL: as above */
    void *const *outputs;      /* logical arrays to fill, one for each leaf of the result; NULL: none */
    uint64_t blocks;           /* run a sample of this many blocks; 0: all */
    SimOrder order;            /* of blocks and warps, and its seed */
    uint64_t order_seed;
    bool ulp_noise;
    bool counts;               /* fill JudgeVerdict.counts */
    SimProfile *profiles;      /* of each launch, which the first run fills; NULL: none */
    bool on_gpu;               /* run on a GPU as well, and judge its outputs */
    bool alone;                /* on a GPU: not in the simulator */
    uint32_t repeat;           /* on a GPU: time this many runs */
    ScAccuracy accuracy;       /* judge by its budgets */
    size_t padding;            /* SimOptions.padding */
    uint32_t threads;          /* of the simulator and the evaluator; 0: one */
    const char *ptx_name;      /* of the PTX, in messages; NULL: kernel.ptx */
    const char *output_dir;    /* write out0.npy ..; NULL: nowhere */
} JudgeRun;

typedef struct {
    bool checked;              /* JudgeRun.check */
    uint64_t seed;             /* of the inputs */
    const JudgeSpikes *spikes;  /* case s: which reductions are judged exactly; else NULL */
    int64_t compared, outside; /* elements compared with the bounds; elements outside them */
    double max_ulp;            /* largest distance from the evaluation in f64, of a million floats of each output */
    double share;              /* largest part of the way from the plain evaluation to a bound: 1 is on the bound */
    SimReport report;          /* of the launch */
    SimCounts counts;          /* of all launches */
    GpuReport gpu;             /* of a run on a GPU */
    bool exact;                /* they must be equal, but for the bits of NaNs */
    bool beside;               /* the GPU's outputs were compared with the simulator's */
    int64_t differ, nans;      /* numbers that differ; NaNs whose bits do, which the bounds judge */
    const char *first_differ;  /* the first of them; NULL: none */
    const char *order;         /* with check: first output that another order of blocks and warps changes; NULL: none */
    const char *first;         /* the first element outside its bounds: its value and the bounds; NULL: none */
    const char *unjudged;      /* of a sample of blocks: outputs that were not compared, and why; NULL: none */
    double ms_run, ms_eval;
    double ms_cpu;             /* processor time of all threads during ms_run */
} JudgeVerdict;

/* inputs.c */
/* The run with its inputs chosen: in case s those of *spikes if some reduction is judged by them, else those of case n;
 * in case c those of corners.h for this PTX, which may be NULL. In other cases it is the run as it was, and *spikes is
 * NULL in all but case s. */
JudgeRun judge_with_case(WbbCx *cx, WbbArena *a, const HloModule *m, const char *ptx, JudgeRun run,
                         const JudgeSpikes **spikes);
/* Fails if so many bytes are more than three quarters of the machine's memory. what: "the inputs" */
void judge_check_memory(WbbCx *cx, WbbLoc loc, const char *what, double bytes);
/* One logical array for each parameter of the entry, read or made. Fails on a wrong number, type or shape, and if the
 * machine's memory is too small. NULL: a large input of a run on a sample of blocks, which judge_pages and
 * judge_evaluate make in parts. */
const void **judge_inputs(WbbCx *cx, WbbArena *a, const HloModule *m, const JudgeRun *run);
/* Values for a constant of n elements that the text leaves out, {...}: the same for all of a type. */
const void *judge_left_out(WbbArena *a, const char *type, int64_t n);
void judge_fill_left_out(WbbCx *cx, WbbArena *a, const HloModule *m); /* gives them to all of m; a note names one */
/* Makes those of them anew that are indices of a gather or scatter of the entry, or of one of its fusions, which states
 * that they are unique, or in the usual case sorted, where they are not. */
void judge_make_as_stated(WbbArena *a, const HloModule *m, const JudgeRun *run, const void **inputs);
/* A source that makes input elements on demand; `run` must outlive it. */
EvSource judge_made_inputs(WbbCx *cx, WbbArena *a, const HloModule *m, const JudgeRun *run);

/* Values of the parameters of the fused computation, leaf by leaf, from those of the entry. */
typedef struct {
    uint32_t n;
    const void **arrays; /* [n], logical; NULL: made in parts */
    bool made;           /* some array is NULL */
    const struct JudgeOrigin *origin;
} JudgeOperands;
JudgeOperands judge_operands(WbbCx *cx, WbbArena *a, const HloFusion *f, const HloModule *m, const JudgeRun *run);
/* The same from one array for each leaf of the parameters of c. */
JudgeOperands judge_given_operands(WbbCx *cx, WbbArena *a, const HloComputation *c, const void *const *arrays);
/* Evaluates c on these operands: with `at` NULL all elements of the outputs, else those at the positions;
 * with an order ev_run_in_order. */
EvResult *judge_evaluate(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                         const EvOrder *order, EvMode mode, const EvPositions *at);
/* Where an operand of the fused computation comes from: an input of the entry, by number; else -1, and `constant` has
 * its elements, or NULL if the entry computes it. */
typedef struct {
    int64_t input;
    const void *constant;
} JudgeLeaf;
/* Of each leaf of the parameters of the fused computation; *n is their number. */
const JudgeLeaf *judge_leaves(WbbCx *cx, WbbArena *a, const HloFusion *f, uint32_t *n);
/* A source for the memory of a buffer whose operand is made in parts. */
const SimSource *judge_pages(WbbArena *a, const JudgeOperands *operands, const BdBuffer *d);

/* agree.c: a bundle whose operands or outputs are not those of the module's fusion is a wbb_fail; `file` is the name of
 * its kernel.json. */
void judge_check_bundle(WbbCx *cx, WbbArena *a, const char *file, const Bundle *b, const HloModule *m);

/* judge.c */
/* Writes output leaf k as DIR/outK.npy. */
void judge_write_outputs(WbbCx *cx, WbbArena *a, const char *dir, uint32_t n, const EvValue *outputs);
/* May some of its blocks run without the others, which is where none waits for another's result? */
bool judge_may_sample(const Bundle *b);
/* Declines where a check of a sample of blocks compared no element: nothing says then that the kernel is right. */
void judge_need_judged(WbbCx *cx, const char *name, const JudgeVerdict *v);
/* Declines where all that is wrong with a run is that the simulator stopped a loop, and the evaluator gives up on
 * computation c, too: nothing says then that the kernel is wrong. at: elements of its leaves, NULL: all. */
void judge_need_end(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                    const SimReport *report, const EvPositions *at);
/* The normal form of a kernel's module whose instructions the bundle's order names. */
const HloModule *judge_normal_of(WbbCx *cx, WbbArena *a, const HloModule *m, const Bundle *b);
JudgeVerdict judge_run(WbbCx *cx, WbbArena *a, const Bundle *b, const HloModule *m, const JudgeRun *run);
/* n values against the bounds of computation c, in an order where one is not NULL; adds to the verdict. */
void judge_values(WbbCx *cx, WbbArena *a, const HloComputation *c, const JudgeOperands *operands,
                       const EvOrder *order, const JudgeRun *run, uint32_t n, const EvValue *got, JudgeVerdict *v);
/* The outputs of a bundle, which is that of the module, as judge_run judges them. */
void judge_outputs(WbbCx *cx, WbbArena *a, const Bundle *b, const HloModule *m, const JudgeOperands *operands,
                        const JudgeRun *run, uint32_t n, const EvValue *got, JudgeVerdict *v);

/* there.c: one run on memory of the caller: memory[i] is that of buffer i of the bundle (NULL: a temporary), in its
 * layout. An output may have the memory of an operand; where the bundle does not allow that, it is run elsewhere and
 * copied, and *copied says so. With run->check accesses are checked and, with `judged`, the outputs compared with the
 * bounds on what the operands held. `ptx` is the bundle's. */
JudgeVerdict judge_run_there(WbbCx *cx, WbbArena *a, const Bundle *b, const SimModule *ptx, const HloModule *m,
                             const JudgeRun *run, void *const *memory, bool judged, bool *copied);

/* verdict.c: of elements that are right: ", 2 ulp from f64 at most", the text `fault`, "; the farthest is 3 % of the
 * way to its bound". */
void judge_put_distance(WbbBuf *b, double max_ulp, double share, const char *fault);
/* As lines that begin with the name; as members of a JSON object. */
void judge_put_verdict(WbbBuf *b, const char *name, const JudgeVerdict *v);
void judge_put_verdict_json(WbbBuf *b, const JudgeVerdict *v);

/* foreign.c: a bundle around PTX that another compiler made of the module's fusion. `launch`: its grid, block and
 * shared memory. */
Bundle *judge_foreign(WbbCx *cx, WbbArena *a, const HloModule *m, const char *ptx, const char *entry,
                      const BdLaunch *launch);

#endif
