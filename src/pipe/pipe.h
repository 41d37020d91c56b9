/* pipe: a fusion compiled by all passes in their order, and priced.
 *
 * Needs HLO text; leaves PTX and a bundle. profile.h has the time of a bundle, stats.h makes the records of shaderdb.
 *
 *     PipeOptions o = {.target = "sm_90"};
 *     PipeResult r;
 *     pipe_compile(cx, arena, &o, "gelu.hlo", text, n, &r);      // r.ptx, r.bundle, r.kernel, r.ms[..]
 */
#ifndef PIPE_PIPE_H
#define PIPE_PIPE_H

#include "base/base.h"
#include "base/store.h"
#include "bundle/bundle.h"
#include "emit/emit.h"
#include "fuse/fuse.h"
#include "hlo/hlo.h"
#include "plan/given.h"
#include "ptx/ptx.h"
#include "rewrite/rewrite.h"
#include "target/target.h"
#include "vector/vector.h"

/* The steps that are timed, in milliseconds: processor time of this thread, but for TARGET, which waits for ptxas and
 * is elapsed time. PLAN includes normalising, EMIT index arithmetic; REWRITE is all passes over the IR. BUILD
 * makes LLVM IR; the three steps after it are LLVM's own. */
typedef enum {
    PIPE_HLO, PIPE_PLAN, PIPE_EMIT, PIPE_REWRITE, PIPE_BUILD, PIPE_LINK, PIPE_OPTIMISE, PIPE_CODEGEN, PIPE_BUNDLE,
    PIPE_TARGET, PIPE_STEPS
} PipeStep;
extern const char *const pipe_step_name[PIPE_STEPS];

/* The texts that --emit names, in the order in which a compile makes them. */
typedef enum {
    PIPE_AT_HLO, PIPE_AT_MAPS, PIPE_AT_GRAPH, PIPE_AT_PLAN, PIPE_AT_IR, PIPE_AT_LLVM, PIPE_AT_PTX, PIPE_AT_CUBIN,
    PIPE_AT_JSON, PIPE_STAGES
} PipeStage;
extern const char *const pipe_stage_name[PIPE_STAGES];

/* What writes the PTX of selected kernels: LLVM; the tables (src/ptx); or these, and LLVM, in a build that has it,
 * where they have no text for something in a kernel of the module. */
typedef enum { PIPE_BY_DEFAULT, PIPE_BY_LLVM, PIPE_BY_PTX, PIPE_BY_EITHER } PipeBackend;
/* backend.c: what is taken where none is asked for: the tables, and LLVM in a build that has it. */
PipeBackend pipe_backend(PipeBackend asked);
/* Do the tables write it? only_llvm: what is asked for LLVM alone has, LLVM IR. */
bool pipe_by_ptx(PipeBackend asked, bool only_llvm);
/* One kernel by the tables. False: they have no text for it, and LLVM writes it. */
bool pipe_write_ptx(WbbCx *cx, WbbArena *a, PipeBackend asked, const IrKernel *k, const TgTarget *t,
                    const PtxOptions *o, PtxOutput *out);

typedef struct {
    const char *target; /* "sm_90" */
    ScAccuracy accuracy; /* of functions */
    uint32_t align;     /* of every buffer; 0: 16 */
    WbbSource plan;     /* that is followed (given.h); none: one is chosen */
    const char *layout; /* text of the layout that the kernel must have; NULL: chosen */
    bool deterministic; /* updates of scatters are combined in their order, so that a result has the same bits always */
    PipeBackend backend;
    bool lines;         /* the PTX has `.loc` of patterns and of the HLO file */
    bool comments;      /* each instruction of an `emitted` LLVM or PTX text has a comment: what made it */
    const char *const *disable; /* rules that may not fire */
    uint32_t n_disable;
    const char *print_after; /* a pass, or "all": the IR after it goes to `printed`; NULL: none */
    PipeStage stage;         /* the text to fill `emitted` with; up to PIPE_AT_IR nothing after it is made */
    bool assemble;           /* make a cubin, if ptxas is found */
    struct LlCache *cache;   /* of llvm/, shared by several compiles; NULL: none */
    WbbStore *store;         /* of what pipe_make makes, and of machine code; NULL: none */
    bool makes;              /* PIPE_AT_PLAN: makes the kernels, too: whether they can follow the plan shows there */
    bool rules_only;         /* stop before LLVM: only `kernel` and `rw` are needed */
    bool check_thread_map;   /* enumerate the stores of all threads: fill thread_map_fault and stored_elements */
    RwWatch watch;           /* called for every firing; NULL: none */
    void *watch_arg;
    bool watch_steps;        /* and for every step of a right side */
} PipeOptions;

/* What a kernel does with values of which a rule has two ways, cheaper(..) (branch.c). */
typedef struct {
    uint32_t rule;    /* as in IrGraph.rule */
    uint32_t values;  /* of a thread that it made */
    bool second;      /* the second way is taken */
    double clocks[2]; /* of a warp, for all it computes, by the way of this rule */
} PipeChoice;

typedef struct {
    PipeChoice *items;
    uint32_t n, capacity;
} PipeChoices;

/* What a kernel does with values that have a quick way and a long one (branch.c). */
typedef struct {
    uint32_t values;  /* of a thread that have both */
    double times;     /* that they are computed, all together */
    bool branches;    /* the quick way is taken, with branches to the long one */
    bool few;         /* there are too few warps for that to pay */
    bool large;       /* registers do not hold all values, for little time less */
    VecBranches limits;
    double quick[TG_PIPES + 1], lengthy[TG_PIPES + 1]; /* clocks of each pipe, and of issue, for a warp */
    double table; /* clocks of latency of memory, where only the long way reads a table; else 0 */
    PipeChoices choices;
} PipeBranch;

/* A kernel of a fusion. Each has a graph and an engine of its own. */
typedef struct {
    RwCx *rw;
    IrKernel *ir;         /* after the last pass over the IR */
    VecAccesses accesses; /* loads and stores that vectorize made */
    PipeBranch branch;
} PipeKernel;

/* A note about the compiled text. */
typedef struct {
    WbbLoc loc;
    const char *text;
} PipeNote;

typedef struct {
    HloModule *module;       /* as parsed: kernels are judged by it */
    const HloModule *normal; /* normalised: this one is compiled */
    HloFusion fusion, whole; /* whole: the same as it was written */
    Plan plan;
    const PlanOutcome *texts; /* [n_texts] of strategies that write the text anew; those of the fusion are the plan's */
    uint32_t n_texts;
    const TgTarget *target;
    RwCx *rw;         /* of the first kernel; there before the kernel is */
    IrKernel *kernel; /* the first one */
    PipeKernel *kernels; /* [n_kernels] in the order of their launches */
    uint32_t n_kernels;
    const char *ptx;
    const char **libdevice; /* names of the functions linked */
    uint32_t n_libdevice;
    TgCubin cubin;
    Bundle *bundle;
    const char *emitted, *printed; /* the texts of `stage` and `print_after`; "" if none */
    /* with check_thread_map: the first fault of the stores; NULL: each element is stored once */
    const char *thread_map_fault;
    int64_t stored_elements;      /* with check_thread_map: how many elements are stored */
    bool scatters;                /* with check_thread_map: a kernel scatters: its stores are not enumerated */
    double work; /* pipe_work of the kernels with functions */
    PipeNote notes[3]; /* [n_notes] that were said */
    uint32_t n_notes;
    const char *again; /* plan_again, plan_apart; NULL: nothing is computed or asked for far too often */
    double ms[PIPE_STEPS];
} PipeResult;

/* compile.c: fails or declines as the modules do. */
void pipe_compile(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n,
                  PipeResult *r);

/* made.c: what a kernel is when it is compiled, from the store of the options if it is there. */
typedef struct {
    const char *name;             /* of the first kernel */
    Bundle *bundle;
    const char *missing;          /* why there is no cubin, where one was asked for; NULL: there is one */
    const char *emitted, *explain; /* the PTX, with comments where they were asked for; the report of --explain */
    HloModule *module;            /* as parsed; NULL: it was not */
    double ms[PIPE_STEPS];        /* 0 of what was not done */
} PipeMade;
PipeMade pipe_make(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n);
/* The text of all that the kernel depends on; NULL: it is not kept. */
const char *pipe_make_key(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n);
/* cubin.c: tg_assemble, by way of a store, which may be NULL. */
TgCubin pipe_cubin(WbbCx *cx, WbbArena *a, WbbStore *store, const TgTarget *t, const char *ptx, const char *name);

/* library.c: of a library call, as the entry of its text has it: seconds by the roofline; of it what products of dots,
 * convolutions and calls of cuBLAS take; the bytes of its operands and its result. */
double pipe_product_seconds(WbbArena *a, const TgTarget *t, const HloComputation *call);
uint64_t pipe_call_bytes(const HloComputation *call);
double pipe_call_seconds(WbbArena *a, const TgTarget *t, const HloComputation *call);
/* better_apart.c: the row by which several kernels are better than the one that a module may become; NULL: they are
 * not. `cx` is told how far that is, and has no messages. explain: takes what became of the rows at 'module'; NULL:
 * nobody asks. */
const TgStrategy *pipe_better_apart(WbbCx *cx, const PipeOptions *o, const char *file, const char *text, size_t n,
                                    WbbBuf *explain);

/* passes.c: names of the passes over the IR, in order, for --print-after and `ir --pass`; NULL after the last. */
extern const char *const pipe_passes[];
/* Runs one of them, by name; asserts that it exists. */
void pipe_pass(RwCx *rw, IrKernel *k, const TgTarget *t, const char *pass, VecAccesses *accesses, PipeBranch *branch);
/* row_price.c: of a row of instructions at a type: clocks of each pipe and of issue for a warp, and those from operand
 * to result. from: the type of its first operand; op: what it computes. All 0 of a call, and of what has no price. */
enum { PIPE_ISSUE = TG_PIPES };
typedef struct {
    double clocks[TG_PIPES + 1], latency;
    bool branches; /* to a slow path: what follows waits */
} PipeRowPrice;
PipeRowPrice pipe_row_price(WbbArena *a, const TgTarget *t, const RwInstr *row, IrType type, ScType from, ScOp op);
/* branch.c: takes one of both ways of each value that has two; then, of those that are long for some values, which way
 * is shorter, and the limits of vec_rare. */
PipeChoices pipe_choose(RwCx *rw, IrKernel *k, const TgTarget *t);
PipeBranch pipe_branch(RwCx *rw, IrKernel *k, const TgTarget *t);
void pipe_explain_branch(WbbBuf *out, const PipeBranch *b, const RwTables *tables);
/* NULL if the table of all passes is in order: each finds the forms that it needs, and has a reason; else a message. */
const char *pipe_check_passes(WbbArena *a);
/* The forms after a pass, from those before it (0: only the text); asserts that the pass finds what it needs. */
uint32_t pipe_begin_pass(const char *name, uint32_t forms);

/* thread_map.c: the first fault in what all threads of a kernel store, after `width`: an element stored twice, or
 * never, or outside its buffer; NULL: none. *stored: number of elements stored. Of an output that is updated in place
 * the elements of the kernel's launch ranges count, without a plan all of them. `of`: the kernel's plan in `plan`. */
const char *pipe_thread_map(WbbCx *cx, WbbArena *a, const IrKernel *k, const Plan *plan, const PlanKernel *of,
                            int64_t *stored);

/* compile.c: leaves out the rules that some places name; what tg_without leaves out are choices of the target. */
void pipe_disable(RwCx *rw, const TgTarget *t, const char *const *places, uint32_t n);
/* An engine without these rules. */
RwCx *pipe_engine(WbbCx *cx, WbbArena *a, const TgTarget *t, ScAccuracy accuracy, const char *const *places,
                  uint32_t n);

/* fuse.c: how a module is cut for a target, by price: `how` is for fuse_cut. Lives as long as the arena. */
typedef struct {
    FuseHow how;
    WbbCx *cx;
    const TgTarget *target;
    const char *const *places; /* [n_places] rules that are left out */
    uint32_t n_places;
    PlanOptions kernels; /* with which kernels are planned */
    /* By interned text: 1: it does not compile, takes no less time than two kernels; else it does (fuse.c). */
    WbbMap texts, across;
    WbbStore *store; /* of the answers for the module; NULL: none */
    const char *key;
    WbbMap known;    /* answers of an earlier run, by name */
    WbbBuf answers;  /* those that were asked for now */
    bool news;       /* one of them was not known */
} PipeFuse;
/* t: without the choices that `places` leave out. */
PipeFuse *pipe_fuse(WbbCx *cx, WbbArena *a, const TgTarget *t, const char *const *places, uint32_t n);
/* Seconds of a kernel as the cut prices it, which plans each text once; 0: they are not known. */
double pipe_seconds(PipeFuse *f, const char *text);
/* Answers that an earlier cut of this module's text got, so that none is planned again; and, after the cut, keeps those
 * that this one got. The store may be NULL. */
void pipe_fuse_recall(PipeFuse *f, WbbArena *a, WbbStore *store, const char *text);
void pipe_fuse_keep(PipeFuse *f, WbbArena *a);

/* module.c: a module that is to be cut: normalised, with notes of what a kernel does not see that has indices from
 * another. with: as in gr_arrays. */
const HloModule *pipe_normalise(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with);
typedef enum { PIPE_CUT_PRICED, PIPE_CUT_PLAIN, PIPE_CUT_EXHAUSTIVE, PIPE_CUT_GIVEN } PipeCutBy;
PipeCutBy pipe_cut_named(const char *word); /* "plain"; NULL: by price */
typedef struct {
    const char *target;
    PipeCutBy by;
    const char *plan; /* a file with the plan that a cut by price follows (fuse.h); NULL: one is chosen */
    ScAccuracy accuracy;
    PlanOptions kernels; /* with which kernels are planned */
    const char *const *disable; /* rules and strategies that are left out */
    uint32_t n_disable;
    WbbStore *store; /* of what a cut by price found out; NULL: none */
} PipeModuleOptions;
typedef struct {
    const TgTarget *target; /* without the choices that are left out */
    RwCx *rules;            /* without the rules that are */
    const HloModule *module;
    FuseHow how;
    PipeFuse *fuse;         /* NULL: it is not cut by price */
} PipeModule;
PipeModule pipe_module(WbbCx *cx, WbbArena *a, const PipeModuleOptions *o, const char *file, const char *text,
                       size_t n);
void pipe_module_end(const PipeModule *m, WbbArena *a); /* after the cut: what it found out is kept */

/* touches.c: ends the compile where a kernel that is as emit made it reads or writes what the plan does not say of it.
 */
void pipe_check_touches(WbbCx *cx, const Plan *p, const PlanKernel *of, const IrKernel *k);
/* work.c: the operations that one thread evaluates at most, if it takes all branches. For a kernel after any pass. */
double pipe_work(WbbCx *cx, const IrKernel *k);

/* loop_time.c: microseconds of a kernel after the last pass, whose threads run loops; 0: how often one runs the text
 * does not say. */
double pipe_loop_us(WbbCx *cx, const IrKernel *k, const TgTarget *t);

/* explain.c: the report of --explain. */
void pipe_explain(WbbBuf *out, const PipeResult *r);
/* One line for each of the first `limit` firings in the trace: "patterns/functions.py:12: tanh.bf16(x) -> ..". If there
 * are more, each rule is listed once, rules on elements before rules on indices. */
void pipe_trace(WbbBuf *out, WbbArena *a, const RwCx *rw, uint32_t limit);

/* How often rule number k of the target, or of index arithmetic, has fired in all kernels. */
uint32_t pipe_firings(const PipeResult *r, bool index, uint32_t k);

/* audit.c: evaluates both sides of every firing in the trace on sampled values. True: some rule's result differs from
 * its root by far more than rounding; *message names the first such rule. */
bool pipe_audit(RwCx *rw, WbbArena *a, char **message);

#endif
