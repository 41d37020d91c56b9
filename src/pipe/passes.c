/* passes.c: the passes of a compile in their order, as data, and the passes over the IR by name.
 *
 * Each row says which forms of the input a pass needs, which it makes, which no longer hold after it, and why it runs
 * directly after the pass of the row above. pipe_check_passes verifies that each pass finds what it needs; pipe_compile
 * checks the same of the calls that it makes, in pipe_begin_pass.
 *
 *     width needs STRAIGHT, which vectorize makes; swapped: "pass width needs a form that no pass above it leaves"
 */
#include "pipe/pipe.h"

#include <string.h>

/* Forms of the input, as far as it is compiled. */
enum {
    MODULE = 1 << 0,   /* the HLO module, parsed and verified */
    NORMAL = 1 << 1,   /* the module in normal form, and its fusion */
    PLAN = 1 << 2,     /* grid, block and the elements of each thread */
    KERNEL = 1 << 3,   /* a kernel of IR whose index nodes are in normal form */
    CHOSEN = 1 << 15,  /* no select asks what one around it has asked */
    SIMPLE = 1 << 4,   /* no rule of phase simplify applies to an element node */
    LOWERED = 1 << 5,  /* every element operation is one that the target has */
    STRAIGHT = 1 << 6, /* no loop over lanes */
    WIDTHS = 1 << 7,   /* SC_FLAG_WIDE on the index nodes that need 64 bits */
    INSTRS = 1 << 8,   /* every element operation is a row of the target's instruction table */
    PTX = 1 << 9,
    CUBIN = 1 << 10,   /* machine code, where ptxas was asked for and found */
    BUNDLE = 1 << 11,
    BRANCHED = 1 << 12, /* no select is marked `rare` */
    CARRIED = 1 << 13,  /* loops with few threads have their loads an iteration ahead */
    ACCESSES = 1 << 14, /* loads of neighbours in one scope are one */
};

/* The arguments of a pass over the IR. */
typedef struct {
    RwCx *rw;
    IrKernel *kernel;
    const TgTarget *target;
    VecAccesses *accesses;
    PipeBranch *branch;
} Ir;

static void choices(const Ir *p) { rw_choices(p->kernel); }
static void simplify(const Ir *p) { rw_run(p->rw, p->kernel, RW_SIMPLIFY); }
static void lower(const Ir *p) { rw_run(p->rw, p->kernel, RW_LOWER); }
static void vectorize(const Ir *p) { *p->accesses = vec_vectorize(p->rw, p->kernel, p->target->vector_bytes); }
static void to_branches(const Ir *p)
{
    const PipeChoices choices = pipe_choose(p->rw, p->kernel, p->target);
    *p->branch = pipe_branch(p->rw, p->kernel, p->target);
    p->branch->choices = choices;
    vec_rare(p->kernel, p->branch->limits);
}

/* Where a scheduler has few warps, they do not hide each other's loads, and a thread has the registers. */
static void carry(const Ir *p)
{
    const IrKernel *k = p->kernel;
    const int64_t warps = (int64_t)k->grid * ((k->block + p->target->warp - 1) / p->target->warp);
    const int64_t few = (int64_t)p->target->sms * tg_schedulers(p->target) * tg_tuned(p->target, "carry.warps");
    if (warps <= few) vec_carry(p->rw, p->kernel, (uint32_t)tg_tuned(p->target, "carry.registers"));
}

static void width(const Ir *p)
{
    vec_balance(p->kernel);
    vec_width(p->kernel);
}
static void isel(const Ir *p) { rw_run(p->rw, p->kernel, RW_ISEL); }
static void accesses(const Ir *p)
{
    vec_accesses(p->kernel, rw_target(p->rw), p->target->vector_bytes, p->target->sms);
}

typedef struct {
    const char *name;
    uint32_t needs, makes, ends;
    void (*run)(const Ir *p); /* NULL: pipe_compile calls it */
    const char *because;      /* why it runs directly after the pass above */
} Pass;

static const Pass passes[] = {
    {"parse", 0, MODULE, 0, NULL,
     "it reads the input"},
    {"normalise", MODULE, NORMAL, 0, NULL,
     "it rewrites instructions, whose types and shapes parsing has verified"},
    {"plan", NORMAL, PLAN, 0, NULL,
     "it knows the few instructions of normal form, and no others"},
    {"emit", PLAN | NORMAL, KERNEL, 0, NULL,
     "of a plan that is wrong about memory no kernel is made, and plan makes none"},
    {"choices", KERNEL, CHOSEN, 0, choices,
     "emit translates instruction by instruction, and makes a select of each"},
    {"simplify", KERNEL | CHOSEN, SIMPLE, 0, simplify,
     "what is left of a decided select may be redundant, as much of what emit makes is"},
    {"lower", SIMPLE, LOWERED, SIMPLE, lower,
     "algebra matches HLO's operations, not the many nodes that lowering makes of one"},
    {"vectorize", LOWERED, STRAIGHT, 0, vectorize,
     "the target's table of packed operations lists lowered operations"},
    {"branch", STRAIGHT, BRANCHED, 0, to_branches,
     "vectorize puts the elements of a thread side by side, and one branch serves them all"},
    {"carry", STRAIGHT | BRANCHED, CARRIED, 0, carry,
     "which loads an iteration makes, and which only some of its ways, the branches say"},
    {"width", STRAIGHT | BRANCHED | CARRIED, WIDTHS, 0, width,
     "no later pass makes index nodes: each copy of a loop over lanes has its own"},
    {"isel", LOWERED | WIDTHS, INSTRS, LOWERED, isel,
     "no other pass can read instructions, and width copies what it reads"},
    {"accesses", INSTRS | STRAIGHT | WIDTHS, ACCESSES, 0, accesses,
     "in which scopes an element is loaded depends on which selected instructions are worth a branch"},
    {"llvm", INSTRS | STRAIGHT | WIDTHS | ACCESSES, PTX, 0, NULL,
     "each instruction is a row that has its text, each access as wide as it can be"},
    {"assemble", PTX, CUBIN, 0, NULL,
     "ptxas reads PTX"},
    {"bundle", PLAN | PTX, BUNDLE, 0, NULL,
     "it holds the machine code beside the PTX"},
};

const char *const pipe_passes[] = {"choices", "simplify", "lower", "vectorize", "branch",
                                   "carry", "width", "isel", "accesses", NULL};

static const Pass *find(const char *name)
{
    for (size_t i = 0; i < WBB_LEN(passes); i++)
        if (!strcmp(passes[i].name, name)) return &passes[i];
    return NULL;
}

const char *pipe_check_passes(WbbArena *a)
{
    uint32_t forms = 0, n = 0;
    for (size_t i = 0; i < WBB_LEN(passes); i++) {
        const Pass *p = &passes[i];
        if (p->needs & ~forms) return wbb_format(a, "pass %s needs a form that no pass above it leaves", p->name);
        forms = (forms | p->makes) & ~p->ends;
        if (!p->because[0]) return wbb_format(a, "pass %s has no reason", p->name);
        if (!p->run) continue;
        if (!pipe_passes[n] || strcmp(pipe_passes[n], p->name))
            return wbb_format(a, "pass %s is not in pipe_passes", p->name);
        n++;
    }
    return pipe_passes[n] ? wbb_format(a, "pass %s has no row", pipe_passes[n]) : NULL;
}

uint32_t pipe_begin_pass(const char *name, uint32_t forms)
{
    const Pass *p = find(name);
    assert(p && "a pass without a row");
    assert(!(p->needs & ~forms) && "a pass that needs what no pass before it has left");
    return (forms | p->makes) & ~p->ends;
}

void pipe_pass(RwCx *rw, IrKernel *k, const TgTarget *t, const char *pass, VecAccesses *accesses,
               PipeBranch *branch)
{
    const Pass *p = find(pass);
    assert(p && p->run && "not a pass over the IR");
    p->run(&(Ir){rw, k, t, accesses, branch});
}
