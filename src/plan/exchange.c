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
static bool may_transpose(const PartPlan *p, const PartStage *s, const TgTarget *t)
{
    const HloComputation *body = p->fusion->body;
    bool moves = false;
    if (!tg_find_rate(t, "clock")) return false; /* a target without rates has no prices */
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        moves = moves || i->shape->has_layout || may_reorder(i);
    }
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        const PartBuffer *b = &p->buffers[p->n_operands + s->outputs[k]];
        moves = moves && b->alias < 0;
    }
    return moves;
}

static void set_layout(WbbCx *cx, const PartExchange *x, PartStage *s)
{
    part_layout_check(cx, x->a, &s->layout, x->t);
    s->maps = part_layout_maps(cx, x->p->rw, x->a, &s->layout);
    s->packed_group = part_exchange_group(x, s->kind == PART_PUT ? PART_TO : PART_FROM);
    s->why_vector = s->why_register = "the cheapest layouts of both stages";
}

bool part_exchange(WbbCx *cx, WbbArena *a, const PartPlan *p, PartKernel *k, const TgTarget *t)
{
    const PartStage *loop = k->ranges ? k->ranges->stages : NULL;
    if (k->n_ranges != 1 || loop->kind != PART_ELEMENTS || k->grid == 0 || !may_transpose(p, loop, t)) return false;
    PartExchange x = {.a = a, .p = p, .t = t, .outputs = loop->outputs, .n_outputs = loop->n_outputs};
    if (!part_exchange_find(&x)) return false;
    PartTile *tile = WBB_NEW(a, PartTile);
    PartStage *stages = WBB_NEW_N(a, PartStage, 2);
    stages[0] = (PartStage){.kind = PART_PUT}, stages[1] = (PartStage){.kind = PART_GET};
    for (int n = 0; n < 2; n++) stages[n].outputs = x.stored[n], stages[n].n_outputs = x.n_stored[n];
    *tile = (PartTile){.space = x.space, .read_space = x.read_space, .values = x.values, .n_values = x.n_values};
    PartChoice *choice = WBB_NEW(a, PartChoice);
    if (!part_exchange_layouts(&x, &loop->layout, stages, tile, choice)) return false;
    PartRange *r = k->ranges;
    r->stages = stages, r->n_stages = 2, r->tile = tile, r->choice = choice;
    for (int n = 0; n < 2; n++) set_layout(cx, &x, &stages[n]);
    tile->sides_last = part_exchange_sides_last(&x, &stages[0].layout);
    const PartLayout *l = &stages[0].layout;
    k->block = (uint32_t)(part_layout_size(l, PART_LANE) * part_layout_size(l, PART_WARP));
    k->grid = r->blocks = (uint32_t)part_layout_size(&stages[0].layout, PART_GRID);
    k->why_block = k->why_grid = "the cheapest layouts of both stages";
    return true;
}
