/* exchange_work.c: what a stage of an exchange, or the loop in its place, loads, stores and computes.
 *
 * Needs the values that go through the tile, and which outputs a stage stores; leaves a LayWork over groups of the
 * space's dimensions. The first stage needs what these values and its outputs need, the second what its outputs need
 * but these values, a loop all of it.
 *
 *     transpose(p0[d1, d0]) + p1[d0, d1]    =>    put: p0, step 1 along d0; get: p1, step 1 along d1; 1 slot
 */
#include "plan/exchange.h"

#include <string.h>

PlanGroup *plan_exchange_groups(WbbArena *a, const HloShape *space)
{
    PlanGroup *groups = WBB_NEW_N(a, PlanGroup, space->rank + 1u);
    for (uint32_t d = 0; d < space->rank; d++) {
        groups[d] = (PlanGroup){.dim = {.name = wbb_format(a, "d%u", d), .size = space->dims[d]}, .n = 1};
        groups[d].of = WBB_NEW(a, uint32_t);
        groups[d].of[0] = d;
    }
    return groups;
}

void plan_own_index(const HloShape *own, const IrRef *at, IrRef *index)
{
    for (uint32_t d = 0; d < own->rank; d++) index[own->minor_to_major[own->rank - 1 - d]] = at[d];
}

/* A loop over operands of a concatenate, each at its start; else NULL. */
static const PlanStage *parts_of(const PlanExchange *x)
{
    const PlanStage *s = x->range ? &x->range->stages[0] : NULL;
    return s && s->kind == PLAN_CONCATENATE ? s : NULL;
}

/* part: of those at starts of a concatenate. */
static void root_index(const PlanExchange *x, RwCx *rw, const HloShape *space, uint32_t output, const IrRef *at,
                       uint32_t part, IrRef *index)
{
    const PlanValue root = x->p->roots[output];
    if (parts_of(x)) {
        const PlanStage *s = parts_of(x);
        plan_own_index(x->range->space, at, index);
        index[s->dim] = rw_add(rw, index[s->dim], ir_index(rw_graph(rw), s->starts[part]));
        return;
    }
    ix_delinear(rw, plan_shape(root.i, root.part), ix_linear(rw, space, at), index);
}

static uint32_t need(const PlanExchange *x, PlanWalk *w, const HloShape *space, uint32_t output, uint32_t part)
{
    IrRef index[HLO_RANK_LIMIT];
    root_index(x, w->rw, space, output, w->at, part, index);
    return plan_walk_need(w, x->p->roots[output], index);
}

uint32_t plan_exchange_output(const PlanExchange *x, PlanWalk *w, const HloShape *space, uint32_t output)
{
    return need(x, w, space, output, 0);
}

static LayAccess store_of(const PlanExchange *x, PlanWalk *w, const HloShape *space, uint32_t output, uint32_t part)
{
    const PlanValue root = x->p->roots[output];
    const HloShape *s = plan_shape(root.i, root.part);
    IrRef index[HLO_RANK_LIMIT];
    root_index(x, w->rw, space, output, w->at, part, index);
    return plan_access_of(w, s, ix_linear(w->rw, s, index), NULL);
}

void plan_carried_index(RwCx *rw, WbbArena *a, const PlanCarried *c, const IrRef *from, IrRef *to)
{
    IrRef next[HLO_RANK_LIMIT];
    memcpy(to, from, plan_shape(c->path[0], 0)->rank * sizeof *to);
    for (uint32_t k = 0; k + 1 < c->n; k++) {
        ix_operand(rw, a, c->path[k], c->operands[k], to, next);
        memcpy(to, next, plan_shape(c->path[k + 1], 0)->rank * sizeof *to);
    }
}

void plan_exchange_values(const PlanExchange *x, PlanWalk *w)
{
    for (uint32_t k = 0; k < x->n_values; k++) {
        IrRef index[HLO_RANK_LIMIT], at[HLO_RANK_LIMIT];
        root_index(x, w->rw, x->space, x->values[k].output, w->at, 0, index);
        plan_carried_index(w->rw, x->a, &x->values[k], index, at);
        plan_walk_need(w, x->values[k].value, at);
    }
}

PlanWalk plan_exchange_walk(const PlanExchange *x, const PlanGroup *groups, uint32_t n)
{
    return (PlanWalk){.a = x->a, .p = x->p, .rw = x->p->rw, .t = x->t, .space = groups, .n_space = n,
                      .shape = x->space, .made = x->made, .n_made = x->n_made};
}

LayDim *plan_group_dims(WbbArena *a, const PlanGroup *groups, uint32_t n)
{
    LayDim *dims = WBB_NEW_N(a, LayDim, n + 1u);
    for (uint32_t d = 0; d < n; d++) dims[d] = groups[d].dim;
    return dims;
}

LayWork plan_exchange_work(const PlanExchange *x, PlanKind kind, const PlanGroup *groups, uint32_t n)
{
    bool *stop = WBB_NEW_N(x->a, bool, x->p->fusion->body->n_instructions + 1u);
    PlanWalk w = plan_exchange_walk(x, groups, n);
    const uint32_t n_parts = parts_of(x) ? parts_of(x)->n_starts : 1;
    LayAccess *stores = WBB_NEW_N(x->a, LayAccess, x->n_outputs * n_parts + 1u);
    LayWork work = {.dims = plan_group_dims(x->a, groups, n), .n_dims = n, .commutes = true, .passes = 1,
                    .stores = stores, .placed = true, .linear = kind == PLAN_ELEMENTS};
    w.stop = stop, w.linear = work.linear;
    plan_walk_begin(&w);
    for (uint32_t k = 0; kind == PLAN_GET && k < x->n_values; k++) stop[x->values[k].value.i->id] = true;
    if (kind == PLAN_PUT) plan_exchange_values(x, &w);
    const HloShape *order = kind == PLAN_PUT ? x->read_space : x->space;
    const int side = kind == PLAN_PUT ? PLAN_TO : PLAN_FROM;
    const uint32_t *outputs = kind == PLAN_ELEMENTS ? x->outputs : x->stored[side];
    const uint32_t n_outputs = kind == PLAN_ELEMENTS ? x->n_outputs : x->n_stored[side];
    for (uint32_t k = 0; k < n_outputs * n_parts; k++) need(x, &w, order, outputs[k / n_parts], k % n_parts);
    for (uint32_t k = 0; k < n_outputs * n_parts; k++)
        stores[work.n_stores++] = store_of(x, &w, order, outputs[k / n_parts], k % n_parts);
    plan_walk_run(&w);
    plan_walk_work(&w, &work);
    work.term_latency += plan_walk_waits(&w);
    work.along = w.along.items, work.n_along = w.along.n;
    return work;
}

