/* better_apart.c: is a module that one kernel may compute better several?
 *
 * Needs the HLO text of a module that one kernel may compute. Leaves what became of the rows at 'module' of
 * patterns/strategies.py, which the loop of all strategies tries (plan/strategies.c): one kernel may compute again and
 * again what launches of their own compute once; or the cut by price has kernels that take less time together, as where
 * all elements of an array need a number that is a sum of all of it, and a cluster of blocks would have it alone, or
 * where a thread would evaluate many operations one after the other, for values that it needs at several indices.
 *
 *     u = f32[4096,4096] ..  ROOT y = u / sqrt(reduce(u * u, 0), {0,1}, add)    ->    two kernels
 */
#include "graph/graph.h"
#include "pipe/pipe.h"
#include "plan/strategies.h"

#include <string.h>

typedef struct {
    PlanTry x; /* the first field: a maker has its address */
    const PipeOptions *o;
    const char *file, *text;
    size_t n;
    PipeResult one;  /* the plan of one kernel */
    bool made;       /* the next ones are known */
    double work, us; /* what a thread evaluates one after the other, and how long that takes; 0: not known */
    LayPrice cut;    /* of the kernels of the cut by price */
    WbbBuf *explain; /* NULL: nobody asks */
    const TgStrategy *row; /* that makes several; NULL: none does */
} Question;

/* What a step takes that reads and makes so many bytes, and a launch more, as a program is more to hold; .us 0: that is
 * not known. */
static LayPrice step_price(const TgTarget *t, const FuseStep *s, double seconds)
{
    const double least = plan_least_us(t), launch = 1e6 * tg_rate(t, "launch")->value;
    LayPrice x = {.us = seconds > 0 ? 1e6 * seconds + least : 0};
    double bytes = 0;
    for (uint32_t k = 0; k < s->n_reads; k++) bytes += (double)hlo_bytes(s->reads[k]->shape);
    for (uint32_t k = 0; k < s->n_makes; k++) bytes += (double)hlo_bytes(s->makes[k]->shape);
    x.term[LAY_LAUNCH] = launch + least, x.term[LAY_LATENCY] = least - launch;
    x.term[LAY_DRAM] = WBB_MIN(1e6 * bytes / tg_rate(t, "dram")->value, WBB_MAX(x.us - 2 * least, 0));
    return x;
}

/* The time of the kernels and library calls of the cut by price; .us 0: it is one kernel, or has other steps. */
static LayPrice cut_price(WbbCx *cx, WbbArena *a, const Question *q, const TgTarget *t)
{
    const PipeModuleOptions how = {.target = q->o->target, .accuracy = q->o->accuracy, .disable = q->o->disable,
                                   .n_disable = q->o->n_disable,
                                   .kernels = {.align = q->o->align, .flush = q->o->accuracy != SC_EXACT,
                                               .deterministic = q->o->deterministic}};
    const PipeModule m = pipe_module(cx, a, &how, q->file, q->text, q->n);
    const FuseCut cut = fuse_cut(cx, a, fuse_prepare(cx, a, m.module, &m.how)->entry, &m.how);
    LayPrice sum = {0};
    const LayPrice none = {0};
    for (uint32_t k = 0; k < cut.n; k++)
        if (cut.n < 2 || (cut.steps[k].kind != FUSE_STEP_KERNEL && cut.steps[k].kind != FUSE_STEP_LIBRARY)) return none;
    for (uint32_t k = 0; k < cut.n; k++) {
        const char *text = cut.steps[k].text;
        double seconds;
        if (cut.steps[k].kind == FUSE_STEP_LIBRARY) {
            const HloModule *call = hlo_parse(cx, a, "call.hlo", text, strlen(text));
            seconds = pipe_product_seconds(a, t, call->entry) > 0 ? pipe_call_seconds(a, t, call->entry) : 0;
        } else {
            seconds = pipe_seconds(m.fuse, text);
        }
        const LayPrice x = step_price(t, &cut.steps[k], seconds);
        if (x.us <= 0) return none;
        sum.us += x.us;
        for (int n = 0; n < LAY_TERMS; n++) sum.term[n] += x.term[n];
    }
    return sum;
}

/* Loops, reductions and products of matrices alone have prices that are alike enough. */
static bool has_price(const HloComputation *body, bool product)
{
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        const bool windows = hlo_kind(i->opcode) == HLO_IS_FOLD && i->windows;
        if (hlo_kind(i->opcode) == HLO_IS_WHOLE || windows || i->opcode == HLO_WHILE) return false;
        if (hlo_has(i->opcode, HLO_PRODUCTS) && !product) return false;
    }
    return true;
}

/* Is it a fusion that another compiler has chosen? That is to be one kernel. */
static bool is_given(WbbCx *cx, WbbArena *a, const Question *q)
{
    const HloModule *m = hlo_parse(cx, a, q->file, q->text, q->n);
    for (uint32_t k = 0; k < m->entry->n_instructions; k++)
        if (m->entry->instructions[k]->opcode == HLO_FUSION) return true;
    return false;
}

/* What a thread takes that evaluates operations one after the other. Functions that call functions are known when the
 * kernel is made. */
static void make(Question *q)
{
    if (q->made) return;
    q->made = true;
    WbbCx *cx = q->x.cx;
    WbbArena *a = q->x.a;
    const TgTarget *t = q->x.t;
    const HloComputation *body = q->one.plan.fusion->body;
    const double wait_us = 1e6 * pipe_fuse(cx, a, t, NULL, 0)->how.rates.wait;
    const bool few = body->n_instructions < tg_tuned(t, "apart.few");
    if (few && gr_operations(cx, a, body) * wait_us <= plan_least_us(t)) return;
    PipeOptions o = *q->o;
    PipeResult r;
    o.stage = PIPE_AT_IR;
    pipe_compile(cx, a, &o, q->file, q->text, q->n, &r);
    q->work = r.work, q->us = r.work * wait_us;
}

/* --- the rows ----------------------------------------------------------------------------------------------------- */
/* The one kernel that others are held against. Where it cannot be made, that is all there is to say. */
static bool make_one(PlanTry *x, Plan *p)
{
    Question *q = (Question *)x;
    pipe_compile(x->cx, x->a, q->o, q->file, q->text, q->n, &q->one);
    *p = q->one.plan;
    if (!plan_better_apart(x->a, p, x->t)) make(q);
    return true;
}

static bool make_again(PlanTry *x, Plan *p)
{
    const Question *q = (Question *)x;
    (void)p;
    return plan_better_apart(x->a, &q->one.plan, x->t) || q->work > (double)tg_tuned(x->t, "work.apart") ||
           plan_not(x, "one kernel computes no value so often that launches would take less");
}

static bool make_apart(PlanTry *x, Plan *p)
{
    Question *q = (Question *)x;
    const Plan *one = &q->one.plan;
    (void)p;
    if (!has_price(one->fusion->body, plan_has_product(one)))
        return plan_not(x, "its loops, windows, sorts or products are priced in other ways than kernels of their own");
    if (plan_only_asked(x)) return false;
    q->cut = cut_price(x->cx, x->a, q, x->t);
    return q->cut.us > 0 || plan_not(x, "the cut by price is one kernel, or has a step without a price");
}

static LayPrice price(const PlanTry *x, const Plan *p)
{
    const Question *q = (const Question *)x;
    if (p != x->found) return q->cut;
    LayPrice one = plan_price(x->a, p, x->t);
    if (q->us > one.us) one.us = one.term[LAY_CHAIN] = q->us;
    one.bytes_alone = false;
    return one;
}

static const PlanMaker makers[] = {
    {NULL, make_one},
#define MODULE(function, name) {name, make_##function},
#include "strategies.def"
#undef MODULE
};
static const PlanOthers others = {makers, WBB_LEN(makers), price};

static void ask(WbbCx *cx, void *arg)
{
    static const PlanOptions options = {0};
    Question *q = arg;
    PlanTry *x = &q->x;
    WbbArena *a = wbb_arena_new(cx);
    const TgTarget *t = tg_without(cx, a, tg_named(cx, (WbbLoc){0}, q->o->target), q->o->disable, q->o->n_disable);
    *x = (PlanTry){.cx = cx, .a = a, .t = t, .options = &options, .at = TG_AT_MODULE, .others = &others};
    if (is_given(cx, a, q)) return;
    (void)plan_best(x);
    for (uint32_t k = 0; k < x->n_tried; k++)
        if (x->tried[k].taken && x->tried[k].row) q->row = tg_strategy(tg_find(t->name), x->tried[k].row->name);
    if (q->explain)
        plan_print_outcomes(q->explain, "strategies by which a module is several kernels, as written one", x->tried,
                            x->n_tried, t);
}

const TgStrategy *pipe_better_apart(WbbCx *cx, const PipeOptions *o, const char *file, const char *text, size_t n,
                                    WbbBuf *explain)
{
    PipeOptions planned = *o;
    planned.stage = PIPE_AT_PLAN;
    Question q = {.o = &planned, .file = file, .text = text, .n = n, .explain = explain};
    return wbb_aside(cx, ask, &q) ? q.row : NULL; /* why it is no kernel is said elsewhere */
}
