/* exchange_work.c: what a stage of an exchange, or the loop in its place, loads, stores and computes.
 *
 * Needs the values that go through the tile; leaves a PartWork over groups of the space's dimensions. The first stage
 * needs what these values need, the second what the outputs need but them, a loop all of it.
 *
 *     transpose(p0[d1, d0]) + p1[d0, d1]    =>    put: p0, step 1 along d0; get: p1, step 1 along d1; 1 slot
 */
#include "partition/exchange.h"

#include <string.h>

static void root_index(const PartExchange *x, RwCx *rw, uint32_t output, const IrRef *at, IrRef *index)
{
    const PartValue root = x->p->roots[output];
    ix_delinear(rw, part_shape(root.i, root.part), ix_linear(rw, x->space, at), index);
}

void part_exchange_outputs(const PartExchange *x, PartWalk *w, uint32_t *need)
{
    for (uint32_t k = 0; k < x->n_outputs; k++) {
        IrRef index[HLO_RANK_LIMIT];
        root_index(x, w->rw, x->outputs[k], w->at, index);
        const uint32_t number = part_walk_need(w, x->p->roots[x->outputs[k]], index);
        if (need) need[k] = number;
    }
}

void part_carried_index(RwCx *rw, WbbArena *a, const PartCarried *c, const IrRef *from, IrRef *to)
{
    IrRef next[HLO_RANK_LIMIT];
    memcpy(to, from, part_shape(c->path[0], 0)->rank * sizeof *to);
    for (uint32_t k = 0; k + 1 < c->n; k++) {
        ix_operand(rw, a, c->path[k], c->operands[k], to, next);
        memcpy(to, next, part_shape(c->path[k + 1], 0)->rank * sizeof *to);
    }
}

PartWork part_exchange_work(const PartExchange *x, PartKind kind, const PartGroup *groups, uint32_t n)
{
    bool *stop = WBB_NEW_N(x->a, bool, x->p->fusion->body->n_instructions + 1u);
    PartWalk w = {.a = x->a, .p = x->p, .rw = x->p->rw, .t = x->t, .space = groups, .n_space = n, .shape = x->space,
                  .stop = stop};
    PartDim *dims = WBB_NEW_N(x->a, PartDim, n + 1u);
    PartAccess *stores = WBB_NEW_N(x->a, PartAccess, x->n_outputs + 1u);
    for (uint32_t d = 0; d < n; d++) dims[d] = groups[d].dim;
    PartWork work = {.dims = dims, .n_dims = n, .commutes = true, .passes = 1, .stores = stores, .placed = true};
    part_walk_begin(&w);
    for (uint32_t k = 0; k < x->n_values; k++) {
        IrRef index[HLO_RANK_LIMIT], at[HLO_RANK_LIMIT];
        if (kind == PART_GET) stop[x->values[k].value.i->id] = true;
        if (kind != PART_PUT) continue;
        root_index(x, w.rw, x->values[k].output, w.at, index);
        part_carried_index(w.rw, x->a, &x->values[k], index, at);
        part_walk_need(&w, x->values[k].value, at);
    }
    if (kind != PART_PUT) part_exchange_outputs(x, &w, NULL);
    for (uint32_t k = 0; kind != PART_PUT && k < x->n_outputs; k++) {
        const PartValue root = x->p->roots[x->outputs[k]];
        const HloShape *s = part_shape(root.i, root.part);
        IrRef index[HLO_RANK_LIMIT];
        root_index(x, w.rw, x->outputs[k], w.at, index);
        stores[work.n_stores++] = part_access_of(&w, s, ix_linear(w.rw, s, index), 0, false);
    }
    part_walk_run(&w);
    work.loads = w.loads.items, work.n_loads = w.loads.n;
    work.term_slots = w.slots;
    work.term_clocks = WBB_MAX(WBB_MAX(w.clocks, w.f64_clocks), w.special_clocks);
    work.term_latency = WBB_MIN(w.slots, (double)tg_tuned(x->t, "work.long_function")) *
                        tg_rate(x->t, "latency.alu")->value;
    return work;
}

