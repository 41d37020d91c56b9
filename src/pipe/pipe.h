/* pipe: the order of the passes, as a straight list of calls that one can read.
 *
 *     PipeOptions o = {.target = "sm_90"};
 *     PipeResult r;
 *     pipe_compile(cx, arena, &o, "gelu.hlo", text, n, &r);      // r.ptx, r.bundle, r.kernel, r.ms[..]
 */
#ifndef PIPE_PIPE_H
#define PIPE_PIPE_H

#include "base/base.h"
#include "bundle/bundle.h"
#include "emit/emit.h"
#include "hlo/hlo.h"
#include "partition/partition.h"
#include "rewrite/rewrite.h"
#include "target/target.h"
#include "vector/vector.h"

/* Where milliseconds go: those of this thread alone, but for TARGET, which waits for ptxas, by the clock on the wall. Modules are timed
 * from outside: index arithmetic is part of emit. BUILD makes LLVM IR; the three after it are LLVM's own. */
typedef enum {
    PIPE_HLO, PIPE_PARTITION, PIPE_EMIT, PIPE_REWRITE, PIPE_BUILD, PIPE_LINK, PIPE_OPTIMISE, PIPE_CODEGEN, PIPE_BUNDLE, PIPE_TARGET, PIPE_STEPS
} PipeStep;
extern const char *const pipe_step_name[PIPE_STEPS];

/* What --emit names, in the order in which it comes to be. */
typedef enum { PIPE_AT_HLO, PIPE_AT_MAPS, PIPE_AT_PLAN, PIPE_AT_IR, PIPE_AT_LLVM, PIPE_AT_PTX, PIPE_AT_CUBIN, PIPE_AT_JSON, PIPE_STAGES } PipeStage;
extern const char *const pipe_stage_name[PIPE_STAGES];

typedef struct {
    const char *target; /* "sm_90" */
    bool approx;
    uint32_t align;     /* of every buffer; 0: 16 */
    bool lines;         /* `.loc` of patterns and of the HLO file in the PTX */
    bool comments;      /* `emitted` says behind each instruction of LLVM's or PTX text what made it */
    const char *const *disable; /* rules that may not fire */
    uint32_t n_disable;
    const char *print_after; /* a pass, or "all": its IR goes to `printed`; NULL: none */
    PipeStage stage;         /* the text to make besides: `emitted` */
    bool assemble;           /* also a cubin, where ptxas is found */
    struct LlCache *cache; /* of llvm/, shared by several compiles; NULL: none */
    bool rules_only;       /* stop where LLVM would begin, with nothing printed: kernel and rw are all that is asked for */
    bool check_thread_map; /* enumerate the stores of all threads: fill thread_map_fault */
    RwWatch watch;         /* told of every firing; NULL: nobody */
    void *watch_arg;
} PipeOptions;

typedef struct {
    HloModule *module;       /* of the text: what judges look at */
    const HloModule *normal; /* normalised: what is compiled */
    HloFusion fusion;
    PartPlan plan;
    const TgTarget *target;
    RwCx *rw;
    IrKernel *kernel; /* as LLVM got it */
    const char *ptx;
    const char *const *libdevice; /* functions linked */
    uint32_t n_libdevice;
    TgCubin cubin;
    VecAccesses accesses; /* that vectorising made */
    Bundle *bundle;
    const char *emitted, *printed; /* texts asked for; "" if none */
    const char *thread_map_fault; /* with check_thread_map: the first fault of the stores; NULL: each element is stored once */
    int64_t stored_elements;      /* with check_thread_map: how many elements are stored */
    double work; /* of a kernel with functions: pipe_work of it; else 0 */
    double ms[PIPE_STEPS];
} PipeResult;

/* compile.c: fails or declines as the modules do. */
void pipe_compile(WbbCx *cx, WbbArena *a, const PipeOptions *o, const char *file, const char *text, size_t n, PipeResult *r);
/* Names of the passes, in order, for --print-after and `ir --pass`; NULL after the last. */
extern const char *const pipe_passes[];
void pipe_pass(RwCx *rw, IrKernel *k, const TgTarget *t, const char *pass, VecAccesses *accesses); /* one pass, by name; asserts that it exists */

/* thread_map.c: the fault in what all threads of a kernel store, after `width`: an element twice or never, or none of a buffer's; NULL where
 * each is stored once. *stored: how many are. Of an output in place, those that its sections have. No plan: all of every output. */
const char *pipe_thread_map(WbbCx *cx, WbbArena *a, const IrKernel *k, const PartPlan *plan, int64_t *stored);

/* work.c: operations that one thread evaluates at most, all branches taken. Of a kernel after any pass. */
double pipe_work(WbbCx *cx, const IrKernel *k);

/* explain.c: the report of --explain. */
void pipe_explain(WbbBuf *out, const PipeResult *r);
/* "patterns/functions.py:12: tanh.bf16(x) -> ..", the last `limit` firings of element rules, one line each */
void pipe_trace(WbbBuf *out, WbbArena *a, const RwCx *rw, uint32_t limit);

/* audit.c: The audit of a kernel that came out wrong: evaluate both sides of every firing that is still in the trace on sampled values; the
 * first rule whose result differs from its root by far more than rounding is named in *message. False: none does. */
bool pipe_audit(RwCx *rw, WbbArena *a, char **message);

#endif
