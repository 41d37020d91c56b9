/* plan.c: the plan of a fusion: the limits of its code, and what buffers.c and strategies.c say.
 *
 * Needs a verified fusion and a target's TUNE table; leaves a plan, each number with its reason.
 *
 *     gelu bf16[6,512,4096]   =>   loop of 12582912 elements: vector 8, lane 32, warp 4, grid 12288
 */
#include "plan/strategies.h"

static uint64_t instructions_of(const HloModule *m)
{
    uint64_t n = 0;
    for (uint32_t c = 0; c < m->n_computations; c++) n += m->computations[c]->n_instructions;
    return n;
}

/* Limits of the code of one element. */
static void set_limits(WbbArena *a, Plan *p, const TgTarget *t)
{
    const TgTune *inlined = tg_tune(t, "call.min_nodes", 0);
    const uint32_t instructions = p->fusion->body->n_instructions;
    const uint64_t text = instructions_of(p->fusion->body->module);
    p->inline_limit = (uint32_t)inlined->value;
    p->why_inline = inlined->because;
    /* 64 more: a small fusion may repeat more of its values; 2^24 at most: the product stays within 32 bits */
    p->inline_budget = (uint32_t)(tg_tuned(t, "call.budget") * (int64_t)WBB_MIN(instructions + 64, 1u << 24));
    p->call_nodes = (uint32_t)tg_tuned(t, "call.nodes");
    p->constant_selects = (uint32_t)tg_tuned(t, "constant.selects");
    p->select_nodes = (uint32_t)tg_tuned(t, "select.max_nodes");
    p->select_neighbours = (uint32_t)tg_tuned(t, "select.neighbours");
    p->element_work = plan_element_work(a, p->fusion->body, t);
    p->window_pads = plan_window_pads(a, p->fusion->body, p->element_work, p->select_nodes);
    p->reduce_nodes = (uint32_t)tg_tuned(t, "reduce.max_nodes");
    p->reduce_straight = (uint32_t)tg_tuned(t, "reduce.straight");
    p->reduce_unroll = (uint32_t)tg_tuned(t, "reduce.unroll");
    p->while_straight = (uint32_t)tg_tuned(t, "while.straight");
    p->while_most = (uint32_t)tg_tuned(t, "while.most");
    p->called_most = (uint32_t)WBB_MAX((uint64_t)tg_tuned(t, "called.most"), 2 * text);
    p->called_branches = (uint32_t)WBB_MAX((uint64_t)tg_tuned(t, "called.branches"), text / 2);
    p->while_state = (uint32_t)tg_tuned(t, "while.state");
}

Plan plan_fusion(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PlanOptions options)
{
    Plan base = {.fusion = fusion, .align = options.align ? options.align : 16, .flush = options.flush,
                     .deterministic = options.deterministic, .reads = lay_reads(target), .rw = ix_engine(cx, a)};
    plan_find_roots(cx, a, &base, fusion->body->root);
    plan_find_buffers(a, &base);
    set_limits(a, &base, target);
    PlanTry x = {.cx = cx, .a = a, .t = target, .options = &options, .base = &base, .plan = plan_fusion};
    return plan_best(&x);
}

int64_t plan_stored(const Plan *p, const PlanKernel *k, uint32_t buffer)
{
    const Plan *of = plan_of_kernel(p, k);
    bool any = false;
    int64_t n = 0;
    for (const PlanRange *r = k->ranges; r < k->ranges + k->n_ranges; r++)
        for (const PlanStage *s = r->stages; s < r->stages + r->n_stages; s++)
            for (uint32_t o = 0; o < s->n_outputs && !(s->sort && s->sort->pass < s->sort->passes); o++) {
                const uint32_t number = of->n_operands + s->outputs[o];
                if ((of != p ? k->memory[number] : number) != buffer) continue;
                any = true;
                n += r->elements;
            }
    return any && p->buffers[buffer].alias < 0 ? p->buffers[buffer].elements : n;
}
