/* exchange.c: a kernel that exchanges layouts through shared memory.
 *
 * Needs a kernel that loops over elements, with its layout; leaves two stages and a tile between them in its place,
 * with the layouts under which that takes the least time. Whether a loop takes less is strategies.c's question.
 *
 *     transpose f32[4096,4096]    =>    put %p to the tile along its rows; get it along those of %out
 */
#include "plan/exchange.h"

/* May a move leave elements in another order than its operand's? */
static bool may_reorder(const HloInstruction *i)
{
    int64_t before = -1;
    HloRead r;
    for (uint32_t d = 0; hlo_kind(i->opcode) == HLO_IS_MOVE && d < i->operands[0]->shape->rank; d++) {
        if (!hlo_reads(i, d, &r) || r.dim < before) return true;
        before = r.dim;
    }
    return false;
}

/* May an array be read in another order than that of the outputs? */
static bool may_transpose(const Plan *p, const PlanStage *s, const TgTarget *t)
{
    const HloComputation *body = p->fusion->body;
    bool moves = false;
    if (!tg_find_rate(t, "clock")) return false; /* a target without rates has no prices */
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        moves = moves || i->shape->has_layout || may_reorder(i);
    }
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        const PlanBuffer *b = &p->buffers[p->n_operands + s->outputs[k]];
        moves = moves && b->alias < 0;
    }
    return moves;
}

static void set_layout(WbbCx *cx, const PlanExchange *x, PlanStage *s)
{
    lay_check(cx, x->a, &s->layout, x->t);
    s->maps = lay_maps(cx, x->p->rw, x->a, &s->layout);
    s->packed_group = plan_exchange_group(x, s->kind == PLAN_PUT ? PLAN_TO : PLAN_FROM);
    s->why_vector = s->why_register = "the cheapest layouts of both stages";
}

bool plan_exchange(WbbCx *cx, WbbArena *a, const Plan *p, PlanKernel *k, const TgTarget *t)
{
    const PlanStage *loop = k->ranges ? k->ranges->stages : NULL;
    if (k->n_ranges != 1 || loop->kind != PLAN_ELEMENTS || k->grid == 0 || !may_transpose(p, loop, t)) return false;
    PlanExchange x = {.a = a, .p = p, .t = t, .outputs = loop->outputs, .n_outputs = loop->n_outputs};
    if (!plan_exchange_find(&x)) return false;
    PlanTile *tile = WBB_NEW(a, PlanTile);
    PlanStage *stages = WBB_NEW_N(a, PlanStage, 2);
    stages[0] = (PlanStage){.kind = PLAN_PUT}, stages[1] = (PlanStage){.kind = PLAN_GET};
    for (int n = 0; n < 2; n++) stages[n].outputs = x.stored[n], stages[n].n_outputs = x.n_stored[n];
    *tile = (PlanTile){.space = x.space, .read_space = x.read_space, .values = x.values, .n_values = x.n_values};
    LayChoice *choice = WBB_NEW(a, LayChoice);
    if (!plan_exchange_layouts(&x, &loop->layout, stages, tile, choice)) return false;
    PlanRange *r = k->ranges;
    r->stages = stages, r->n_stages = 2, r->tile = tile, r->choice = choice;
    for (int n = 0; n < 2; n++) set_layout(cx, &x, &stages[n]);
    tile->sides_last = plan_exchange_sides_last(&x, &stages[0].layout);
    const Layout *l = &stages[0].layout;
    k->block = (uint32_t)(lay_level_size(l, LAY_LANE) * lay_level_size(l, LAY_WARP));
    k->grid = r->blocks = (uint32_t)lay_level_size(&stages[0].layout, LAY_GRID);
    k->why_block = k->why_grid = "the cheapest layouts of both stages";
    return true;
}
