/* exchange_work.c: what a stage of an exchange, or the loop in its place, loads, stores and computes.
 *
 * Needs the values that go through the tile, and which outputs a stage stores; leaves a PartWork over groups of the
 * space's dimensions. The first stage needs what these values and its outputs need, the second what its outputs need
 * but these values, a loop all of it.
 *
 *     transpose(p0[d1, d0]) + p1[d0, d1]    =>    put: p0, step 1 along d0; get: p1, step 1 along d1; 1 slot
 */
#include "plan/exchange.h"

#include <string.h>

PartGroup *part_exchange_groups(WbbArena *a, const HloShape *space)
{
    PartGroup *groups = WBB_NEW_N(a, PartGroup, space->rank + 1u);
    for (uint32_t d = 0; d < space->rank; d++) {
        groups[d] = (PartGroup){.dim = {.name = wbb_format(a, "d%u", d), .size = space->dims[d]}, .n = 1};
        groups[d].of = WBB_NEW(a, uint32_t);
        groups[d].of[0] = d;
    }
    return groups;
}

void part_own_index(const HloShape *own, const IrRef *at, IrRef *index)
{
    for (uint32_t d = 0; d < own->rank; d++) index[own->minor_to_major[own->rank - 1 - d]] = at[d];
}

/* A loop over operands of a concatenate, each at its start; else NULL. */
static const PartStage *parts_of(const PartExchange *x)
{
    const PartStage *s = x->range ? &x->range->stages[0] : NULL;
    return s && s->kind == PART_CONCATENATE ? s : NULL;
}

/* part: of those at starts of a concatenate. */
static void root_index(const PartExchange *x, RwCx *rw, const HloShape *space, uint32_t output, const IrRef *at,
                       uint32_t part, IrRef *index)
{
    const PartValue root = x->p->roots[output];
    if (parts_of(x)) {
        const PartStage *s = parts_of(x);
        part_own_index(x->range->space, at, index);
        index[s->dim] = rw_add(rw, index[s->dim], ir_index(rw_graph(rw), s->starts[part]));
        return;
    }
    ix_delinear(rw, part_shape(root.i, root.part), ix_linear(rw, space, at), index);
}

static uint32_t need(const PartExchange *x, PartWalk *w, const HloShape *space, uint32_t output, uint32_t part)
{
    IrRef index[HLO_RANK_LIMIT];
    root_index(x, w->rw, space, output, w->at, part, index);
    return part_walk_need(w, x->p->roots[output], index);
}

uint32_t part_exchange_output(const PartExchange *x, PartWalk *w, const HloShape *space, uint32_t output)
{
    return need(x, w, space, output, 0);
}

static PartAccess store_of(const PartExchange *x, PartWalk *w, const HloShape *space, uint32_t output, uint32_t part)
{
    const PartValue root = x->p->roots[output];
    const HloShape *s = part_shape(root.i, root.part);
    IrRef index[HLO_RANK_LIMIT];
    root_index(x, w->rw, space, output, w->at, part, index);
    return part_access_of(w, s, ix_linear(w->rw, s, index), NULL);
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

void part_exchange_values(const PartExchange *x, PartWalk *w)
{
    for (uint32_t k = 0; k < x->n_values; k++) {
        IrRef index[HLO_RANK_LIMIT], at[HLO_RANK_LIMIT];
        root_index(x, w->rw, x->space, x->values[k].output, w->at, 0, index);
        part_carried_index(w->rw, x->a, &x->values[k], index, at);
        part_walk_need(w, x->values[k].value, at);
    }
}

PartWalk part_exchange_walk(const PartExchange *x, const PartGroup *groups, uint32_t n)
{
    return (PartWalk){.a = x->a, .p = x->p, .rw = x->p->rw, .t = x->t, .space = groups, .n_space = n,
                      .shape = x->space, .made = x->made, .n_made = x->n_made};
}

PartDim *part_group_dims(WbbArena *a, const PartGroup *groups, uint32_t n)
{
    PartDim *dims = WBB_NEW_N(a, PartDim, n + 1u);
    for (uint32_t d = 0; d < n; d++) dims[d] = groups[d].dim;
    return dims;
}

PartWork part_exchange_work(const PartExchange *x, PartKind kind, const PartGroup *groups, uint32_t n)
{
    bool *stop = WBB_NEW_N(x->a, bool, x->p->fusion->body->n_instructions + 1u);
    PartWalk w = part_exchange_walk(x, groups, n);
    const uint32_t n_parts = parts_of(x) ? parts_of(x)->n_starts : 1;
    PartAccess *stores = WBB_NEW_N(x->a, PartAccess, x->n_outputs * n_parts + 1u);
    PartWork work = {.dims = part_group_dims(x->a, groups, n), .n_dims = n, .commutes = true, .passes = 1,
                     .stores = stores, .placed = true, .linear = kind == PART_ELEMENTS};
    w.stop = stop, w.linear = work.linear;
    part_walk_begin(&w);
    for (uint32_t k = 0; kind == PART_GET && k < x->n_values; k++) stop[x->values[k].value.i->id] = true;
    if (kind == PART_PUT) part_exchange_values(x, &w);
    const HloShape *order = kind == PART_PUT ? x->read_space : x->space;
    const int side = kind == PART_PUT ? PART_TO : PART_FROM;
    const uint32_t *outputs = kind == PART_ELEMENTS ? x->outputs : x->stored[side];
    const uint32_t n_outputs = kind == PART_ELEMENTS ? x->n_outputs : x->n_stored[side];
    for (uint32_t k = 0; k < n_outputs * n_parts; k++) need(x, &w, order, outputs[k / n_parts], k % n_parts);
    for (uint32_t k = 0; k < n_outputs * n_parts; k++)
        stores[work.n_stores++] = store_of(x, &w, order, outputs[k / n_parts], k % n_parts);
    part_walk_run(&w);
    part_walk_work(&w, &work);
    work.along = w.along.items, work.n_along = w.along.n;
    return work;
}

