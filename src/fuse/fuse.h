/* fuse: decides which operations of an unfused HLO module become one kernel. README.md has the rules.
 *
 * The HLO module of a framework is a graph of single operations. Here each computation is cut into parts: fusions, each
 * written as an HLO module of its own with names that depend on its content alone, and library calls. Equal parts are
 * one part with a count: forty layers of a model give the kernels of one.
 *
 *     FuseParts parts = fuse_parts(cx, arena, hlo_normalise(cx, arena, module));
 *     parts.items[0].text     "body { p0 = f32[8] parameter(0) .. }  ENTRY main { .. fusion(p0), .. }"
 *
 * Parts forget which of them reads what another one makes. A cut keeps it:
 *
 *     FuseCut cut = fuse_cut(cx, arena, module->entry, &(FuseHow){.mode = FUSE_PLAIN});
 *     cut.steps[3].reads[0]   the value that memory must hold for the first parameter of kernel 3
 */
#ifndef FUSE_FUSE_H
#define FUSE_FUSE_H

#include "base/base.h"
#include "hlo/hlo.h"

/* What becomes of an instruction. */
typedef enum {
    FUSE_NOTHING, /* no code: names a value in memory (parameters, constants, tuples, their elements), or is dead */
    FUSE_INLINE,  /* computed in every kernel that uses it */
    FUSE_ALIAS,   /* a reshape or bitcast of a value in memory, or a part of it: no code */
    FUSE_ROOT,    /* the result of a kernel */
    FUSE_FIXED,   /* a fusion instruction of the HLO module */
    FUSE_LIBRARY, /* a library call */
    FUSE_COPY,    /* a copy in the same order of dimensions; only of FUSE_GIVEN */
    FUSE_CONTROL, /* calls computations that are cut by themselves */
} FuseRole;

/* Is it a step of its own? Of the others the code is in steps, or there is none. */
static inline bool fuse_is_step(FuseRole role)
{
    return role == FUSE_ROOT || role == FUSE_FIXED || role == FUSE_LIBRARY || role == FUSE_COPY || role == FUSE_CONTROL;
}

/* A cut: what runs, with its data flow ---------------------------------------------------------------------------- */
typedef enum {
    FUSE_STEP_KERNEL,
    FUSE_STEP_LIBRARY,
    FUSE_STEP_COPY,    /* of memory as it is */
    FUSE_STEP_CONTROL, /* a loop, a branch, a call: the computations that it calls are cut by themselves */
} FuseStepKind;

/* One step reads values that memory holds and leaves others there. Output k of a kernel is makes[k]; where there are
 * several, its result is a tuple of them. */
typedef struct {
    FuseStepKind kind;
    const HloInstruction *at;            /* that names it: the first of `makes` */
    const char *operation;               /* that of `at`; of a library call that adds something "dot, residual, bias" */
    const HloInstruction *const *makes;  /* [n_makes] in the order of the outputs; of tuple shape: all its arrays */
    const HloInstruction *const *reads;  /* [n_reads] in the order of the parameters of `text`; may be views */
    uint32_t n_makes, n_reads;
    const char *text; /* kernel: an HLO module whose entry holds one fusion; library: one whose entry holds the call */
    const WbbLoc *lines; /* [n_lines] where in the module each line of `text` comes from; .line 0: from nowhere */
    uint32_t n_lines;
    WbbSource plan; /* kernel: the choices that the plan of the module states for it; none: they are made */
} FuseStep;

/* Each value is made before a step reads it. Steps neither make nor read what names or views values in memory:
 * tuples and their elements, bitcasts and reshapes (fuse_is_view). */
typedef struct {
    const HloComputation *of;
    FuseStep *steps;
    uint32_t n;
} FuseCut;

typedef enum {
    FUSE_PLAIN,  /* decide.c: the same on every target and every day */
    FUSE_PRICED, /* grouping.c: by what kernels cost on a target */
    FUSE_GIVEN,  /* decide.c: another compiler's: fusions are kernels, and so is what is in none */
    FUSE_STATED, /* plan.c: as the text of a plan says */
} FuseMode;

/* plan.c: the text of a plan of a prepared module, which `fuse --emit plan` prints; bad text fails at its line. */
typedef struct FuseStated FuseStated;
bool fuse_is_plan(WbbArena *a, const char *text, size_t n); /* of a module: else it may be one of a fusion */
FuseStated *fuse_read_plan(WbbCx *cx, WbbArena *a, const HloModule *m, const WbbSource *from);
/* [*n] the choices that it states for kernels; of one that it states none for, .text is NULL. */
WbbSource *const *fuse_stated_choices(const FuseStated *s, uint32_t *n);

/* What is chosen for a value, right either way: a row at 'edge' of patterns/strategies.py each, in their order. Of row
 * 'edge.join' it is FUSE_JOIN, and fuse_move_join (kernels.h) makes it. */
#define EDGE(move, choice, name) FUSE_##choice,
typedef enum {
#include "strategies.def"
    FUSE_CHOICES
} FuseChoice;
#undef EDGE
extern const char *const fuse_choice_name[FUSE_CHOICES]; /* grouping.c: of the row */

/* What a kernel costs on a target; times are seconds of the whole machine. */
typedef struct {
    double byte, slot, launch;      /* a byte of DRAM, an instruction of one thread, a kernel */
    double sector;                  /* bytes that DRAM moves at least */
    /* instructions of an element that an index in memory decides; of a pad's; of a term of a window */
    double place, move, window;
    double f64;                     /* times as long as f32 */
    /* Instructions of an operation for one element, by the prices of the target `of`. */
    double (*slots)(const void *of, const HloInstruction *i);
    double (*together)(const void *of, const double *terms, size_t n); /* how terms that overlap add up there */
    const void *of;
    double wait;                    /* an operation of a thread, for those that wait for it */
    double loop;                    /* operations that an element of a loop takes, as far as the text says nothing */
    double block, side;             /* terms of a block; columns side by side of those that it has */
    double straight;                /* elements of a reduction that each thread computes by itself, at most */
    double tie;                     /* of a launch: what computing a value again must save where a kernel leaves it */
    double again;                   /* times that terms may take which few blocks read, before a launch is better */
    double sms, cluster;            /* multiprocessors; blocks that see each other's shared memory */
    struct { bool off; double save; } edges[FUSE_CHOICES]; /* is it left out? Of kernels' time: what it must save */
    double save;                    /* of kernels' time: what choices must save that are not the walk's */
    double beside;                  /* launches of kernels that become one beside each other */
    double small;                   /* .. and of those that do, whatever their spaces, where they share a value */
    uint32_t partners;              /* with how many such one is tried */
    double worth;                   /* of all kernels' time: what other choices near a kernel could save at most */
    double vector, products;        /* neighbours of a thread; times what follows that a library call may take */
    uint32_t tries;                 /* kernels that are priced in a row without one that takes less */
    /* limits: TUNE rows fuse.* */
    uint32_t members, roots, leaves, cone, rounds, neighbours, positions, readers, look, walk;
} FuseRates;

typedef struct {
    FuseMode mode;
    FuseRates rates; /* of FUSE_PRICED, as the next ones */
    /* Is this a kernel that compiles? One that does not is cut again, smaller. NULL: all do. */
    bool (*compiles)(void *arg, const char *text);
    /* Takes this kernel, which reduces rows and sums up columns, less time than two would? */
    bool (*across)(void *arg, const char *text);
    /* Seconds of a kernel; 0: they are not known. NULL: the walk's choices stand. */
    double (*seconds)(void *arg, const char *text);
    /* Puts the choices of a kernel as lines with this indentation, those that are stated (.text NULL: none are) or
     * made, and returns its seconds; 0: they are not known. */
    double (*choices)(void *arg, WbbBuf *out, const char *text, const WbbSource *stated, int indent);
    double (*library)(void *arg, const char *text); /* seconds of a library call */
    bool multiplies; /* may kernels multiply matrices? */
    void *arg;
    uint32_t combinations; /* 0: choices near slow kernels; else all combinations of choices, at most so many */
    WbbBuf *explain; /* takes a line for each decision; NULL: nobody asks */
    uint64_t *taken; /* [FUSE_CHOICES] counts choices of FUSE_PRICED that were made; NULL: nobody asks */
    const FuseStated *stated; /* of FUSE_STATED */
    WbbBuf *plan; /* of FUSE_PRICED and FUSE_STATED: takes the text of the plan; NULL: nobody asks */
} FuseHow;

/* The HLO module that is to be cut: for FUSE_PRICED, values that it computes twice are one. */
const HloModule *fuse_prepare(WbbCx *cx, WbbArena *a, const HloModule *m, const FuseHow *how);
/* cut.c: the steps of a computation of a verified, normalised, prepared HLO module. */
FuseCut fuse_cut(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how);

/* One kernel, before it is written: `roots` are the values that it leaves in memory, `members` all that it computes,
 * roots included; both in the order of the computation. What members read and does not belong to them is a parameter.
 */
typedef struct {
    const HloInstruction **roots, **members;
    uint32_t n_roots, n_members;
    bool across;  /* it reduces rows, and sums up columns of the same arrays */
    bool library; /* a library computes it: a product, and what it adds to its results (hlo/epilogue.c) */
    WbbLoc at;   /* where the text of a plan states it; .line 0: nowhere */
} FuseGroup;

/* cut.c: writes the kernels of `groups` and puts them, the library calls and the control flow of `roles` in order: the
 * order of the instructions where that is one, else each step waits for what it reads. Instructions of other roles make
 * no step. */
FuseCut fuse_steps(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseRole *roles, const FuseGroup *groups,
                   uint32_t n);

/* Parts: equal steps counted once ------------------------------------------------------------------------------- */
typedef struct {
    const char *name; /* of the instruction whose value it makes; unique among the parts */
    const char *text; /* an HLO module whose entry holds one fusion; NULL: a library call */
    const char *call; /* of a library call: one whose entry holds it */
    const HloInstruction *at; /* the instruction; the first one of equal parts */
    const char *operation;    /* as of a FuseStep */
    uint64_t count;   /* occurrences, each counted as often as its computation is called in the text */
} FusePart;

typedef struct {
    FusePart *items;
    uint32_t n, capacity;
} FuseParts;

/* fuse.c: the parts of a verified, normalised HLO module, the entry's first. A fusion instruction of it is a part as it
 * is. */
FuseParts fuse_parts(WbbCx *cx, WbbArena *a, const HloModule *m, const FuseHow *how);

/* decide.c --------------------------------------------------------------------------------------------------------- */
/* The role of each instruction of c, by id. */
FuseRole *fuse_decide(WbbArena *a, const HloComputation *c);

/* decide.c: likewise for FUSE_GIVEN. */
FuseRole *fuse_decide_given(WbbArena *a, const HloComputation *c);

/* decide.c: as if it were not needed in memory, and no other computed it. */
FuseRole fuse_first_role(const HloInstruction *i);
/* cut.c: the kernel of a root by these roles: the root, and the inlined values and small constants that it reaches. */
FuseGroup fuse_reach(WbbArena *a, const FuseRole *roles, const HloInstruction *root);
/* view.c: its value is that of its operand, whose memory it may have: a bitcast, a reshape of row-major arrays. */
bool fuse_is_view(const HloInstruction *i);
/* Bytes of the operand's memory at which a slice begins, and what an iteration adds; multiples of
 * HLO_LIMIT_PART_ALIGN, as whoever reads a value may load vectors. */
enum { FUSE_MOST_TRIPS = 1 << 24 };
typedef struct { int64_t at, each; } FuseSlab;
/* Is it a slice that is a part of its operand's memory? loop: that runs the computation of i, NULL: none does. */
bool fuse_is_slab(const HloInstruction *i, const HloInstruction *loop, FuseSlab *slab);
/* The one loop whose body c is; NULL: there is none, or others call it. */
const HloInstruction *fuse_loop_of(const HloComputation *c);
/* decide.c: a constant that is written into kernels. */
bool fuse_is_small_constant(const HloInstruction *i);

/* write.c ---------------------------------------------------------------------------------------------------------- */
typedef struct {
    const char *text;
    const HloInstruction **reads; /* [n_reads] the values of its parameters */
    uint32_t n_reads;
    const WbbLoc *lines; /* [n_lines] as of a FuseStep */
    uint32_t n_lines;
} FuseText;

/* A kernel as an HLO module. */
FuseText fuse_write(WbbArena *a, const HloComputation *c, const FuseGroup *g);
/* A fusion instruction of the HLO module as one of its own. */
FuseText fuse_write_fusion(WbbArena *a, const HloInstruction *i);
/* A library call as an HLO module whose entry is the call, an operand a parameter; likewise a group of a library. */
FuseText fuse_write_library(WbbArena *a, const HloComputation *c, const HloInstruction *i);
FuseText fuse_write_library_group(WbbArena *a, const HloComputation *c, const FuseGroup *g);

#endif
