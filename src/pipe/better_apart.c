/* better_apart.c: is a module that one kernel may compute better several?
 *
 * Needs: the HLO text of a module that one kernel may compute. Leaves: why launches of their own are better. One kernel
 * may compute again and again what they compute once; or the cut by price has kernels that take less time together, as
 * where all elements of an array need a number that is a sum of all of it, and a cluster of blocks would have it alone,
 * or where a thread would evaluate many operations one after the other, for values that it needs at several indices.
 *
 *     u = f32[4096,4096] ..  ROOT y = u / sqrt(reduce(u * u, 0), {0,1}, add)    ->    two kernels
 */
#include "graph/graph.h"
#include "pipe/pipe.h"

#include <string.h>

typedef struct {
    const PipeOptions *o;
    const char *file, *text;
    size_t n;
    WbbCx *cx;
    WbbArena *arena;
    PipeResult one;  /* the plan of one kernel */
    bool made;       /* the next ones are known */
    double work, us; /* what a thread evaluates one after the other, and how long that takes; 0: not known */
    const char *why; /* NULL: it is not */
} Question;

/* The time of the kernels and library calls of the cut by price, and of a launch more for each, as a program is more to
 * hold; 0: it is one kernel, or has other steps. */
static double cut_us(WbbCx *cx, WbbArena *a, const Question *q, const TgTarget *t)
{
    const PipeModuleOptions how = {.target = q->o->target, .accuracy = q->o->accuracy, .disable = q->o->disable,
                                   .n_disable = q->o->n_disable,
                                   .kernels = {.align = q->o->align, .flush = q->o->accuracy != SC_EXACT,
                                               .deterministic = q->o->deterministic}};
    const PipeModule m = pipe_module(cx, a, &how, q->file, q->text, q->n);
    const FuseCut cut = fuse_cut(cx, a, fuse_prepare(cx, a, m.module, &m.how)->entry, &m.how);
    double us = 0;
    for (uint32_t k = 0; k < cut.n; k++)
        if (cut.n < 2 || (cut.steps[k].kind != FUSE_STEP_KERNEL && cut.steps[k].kind != FUSE_STEP_LIBRARY)) return 0;
    for (uint32_t k = 0; k < cut.n; k++) {
        const char *text = cut.steps[k].text;
        double seconds;
        if (cut.steps[k].kind == FUSE_STEP_LIBRARY) {
            const HloModule *call = hlo_parse(cx, a, "call.hlo", text, strlen(text));
            seconds = pipe_product_seconds(a, t, call->entry) > 0 ? pipe_call_seconds(a, t, call->entry) : 0;
        } else {
            seconds = pipe_seconds(m.fuse, text);
        }
        if (seconds <= 0) return 0;
        us += 1e6 * seconds + plan_least_us(t);
    }
    return us;
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
    const TgTarget *t = q->one.target;
    const HloComputation *body = q->one.plan.fusion->body;
    const double wait_us = 1e6 * pipe_fuse(q->cx, q->arena, t, NULL, 0)->how.rates.wait;
    const bool few = body->n_instructions < tg_tuned(t, "apart.few");
    if (few && gr_operations(q->cx, q->arena, body) * wait_us <= plan_least_us(t)) return;
    PipeOptions o = *q->o;
    PipeResult r;
    o.stage = PIPE_AT_IR;
    pipe_compile(q->cx, q->arena, &o, q->file, q->text, q->n, &r);
    q->work = r.work, q->us = r.work * wait_us;
}

/* --- rows at 'module' of patterns/strategies.py: why it is better several kernels, or NULL ------------------------ */
static const char *row_again(Question *q, const TgStrategy *row)
{
    const TgTarget *t = q->one.target;
    (void)row;
    if (!plan_better_apart(q->arena, &q->one.plan, t)) {
        make(q);
        if (q->work <= (double)tg_tuned(t, "work.apart")) return NULL;
    }
    return "launches of their own compute once what one kernel would compute again and again";
}

static const char *row_apart(Question *q, const TgStrategy *row)
{
    const TgTarget *t = q->one.target;
    const Plan *p = &q->one.plan;
    if (!tg_find_rate(t, "clock") || !has_price(p->fusion->body, plan_has_product(p))) return NULL;
    make(q);
    const double us = cut_us(q->cx, q->arena, q, t), most = WBB_MAX(plan_us(q->arena, p, t), q->us);
    if (us <= 0 || us >= plan_to_beat(row, NULL, most)) return NULL;
    return "several kernels take less time than the one that could compute it";
}

static const struct {
    const char *name;
    const char *(*why)(Question *q, const TgStrategy *row);
} rows[] = {
#define MODULE(function, name) {name, row_##function},
#include "strategies.def"
#undef MODULE
};

static void ask(WbbCx *cx, void *arg)
{
    Question *q = arg;
    q->cx = cx, q->arena = wbb_arena_new(cx);
    if (is_given(cx, q->arena, q)) return;
    pipe_compile(cx, q->arena, q->o, q->file, q->text, q->n, &q->one);
    for (size_t k = 0; k < WBB_LEN(rows) && !q->why; k++) {
        const TgStrategy *row = tg_strategy(q->one.target, rows[k].name);
        if (!row->off) q->why = rows[k].why(q, row);
    }
}

const char *pipe_better_apart(WbbCx *cx, const PipeOptions *o, const char *file, const char *text, size_t n)
{
    PipeOptions planned = *o;
    planned.stage = PIPE_AT_PLAN;
    Question q = {.o = &planned, .file = file, .text = text, .n = n};
    return wbb_aside(cx, ask, &q) ? q.why : NULL; /* why it is no kernel is said elsewhere */
}
