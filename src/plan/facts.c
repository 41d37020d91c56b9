/* facts.c: what several strategies ask of a fusion, each found once, when it is first asked for.
 *
 * Needs a fusion with its roots and buffers; leaves facts in PlanTry, which no maker changes.
 *
 *     softmax    plan_know_sharing: one kernel, whose stages are %max, %sum and the outputs; nothing is ordered
 */
#include "plan/sort.h"
#include "plan/strategies.h"

#include <string.h>

const char plan_why_too_long[] = "not tried: its launches and bytes alone take longer than it may";

bool plan_not(PlanTry *x, const char *why)
{
    x->why_not = why;
    return false;
}

bool plan_only_asked(PlanTry *x) { return x->asks && !plan_not(x, plan_why_too_long); }

/* A sort or scan has a kernel for itself, where nothing else must have one. */
void plan_know_order(PlanTry *x)
{
    if (x->knows_order) return;
    x->knows_order = true;
    x->scatters = plan_has_scatter(x->base);
    x->hero = plan_ordered_hero(x->a, x->base->fusion->body, x->t, &x->alone);
    if (!x->hero || !x->alone || x->scatters) return;
    Plan p = *x->base;
    x->scanned = plan_scanned(x->a, &p, x->t, x->hero, NULL);
    x->scanned_reduced = p.reduced;
}

const PlanSteps *plan_know_steps(PlanTry *x)
{
    if (!x->knows_steps) x->steps = plan_find_steps(x->a, x->base, x->t);
    x->knows_steps = true;
    return x->steps;
}

const PlanSharing *plan_know_sharing(PlanTry *x, bool alone)
{
    PlanSharing *s = &x->sharing[alone];
    plan_know_order(x);
    if (s->known) return s;
    s->known = true;
    if (x->scatters || x->scanned) return s;
    Plan p = *x->base;
    s->n = plan_shared(x->a, &p, x->t, alone, &s->ranges, &s->others);
    s->reduced = p.reduced;
    return s;
}

bool plan_is_in_place(const Plan *p)
{
    for (uint32_t o = 0; o < p->n_outputs; o++)
        if (p->buffers[p->n_operands + o].alias >= 0) return true;
    return false;
}

const HloInstruction **plan_begin_kernels(PlanTry *x, Plan *p)
{
    const uint32_t n = p->n_operands + p->n_outputs;
    if (!p->n_outputs) wbb_decline(x->cx, p->fusion->body->root->loc, WHY_SHAPE, "the fusion has no output");
    plan_find_buffers(x->a, p);
    p->n_kernels = 1;
    p->kernels = WBB_NEW(x->a, PlanKernel);
    if (!x->updates) {
        const HloInstruction **none = WBB_NEW_N(x->a, const HloInstruction *, p->n_outputs + 1);
        x->updates = x->options->no_in_place ? none : plan_updates(x->cx, x->a, p);
        PlanBuffer *placed = WBB_NEW_N(x->a, PlanBuffer, n + 1);
        memcpy(placed, p->buffers, n * sizeof *placed);
        x->placed = placed;
    }
    memcpy(p->buffers, x->placed, n * sizeof *p->buffers);
    return x->updates;
}

#define STRATEGY(function, name) name,
const char *const plan_row_name[PLAN_ROWS] = {
#include "strategies.def"
};
#undef STRATEGY
