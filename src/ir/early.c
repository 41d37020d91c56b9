/* early.c: loads stand before the first exchange with other threads, before an `if` that only chooses values (those of
 * vector/rare.c), and in a loop before the first branch.
 *
 * Needs a block of statements that is being written up to a shuffle, barrier or another effect, or up to such an `if`;
 * leaves the loads that the rest of the block's own statements need and that can be made now. Written where they are
 * first used they would stand on both sides of it: neighbours become one wide access only where nothing with an effect
 * lies between them, and each exchange, or branch, would wait for loads of its own.
 *
 *     s0 = do shuffle(load %p[4*t]); s1 = do shuffle(load %p[4*t + 1])   =>   both loads, then the shuffles
 */
#include "ir/demand.h"
#include "ir/uses.h"

/* The nodes below n statements, and below what a loop yields, operands before users. */
static IrRefs below(const IrDemand *d, IrStmt **items, uint32_t n, const IrStmt *loop)
{
    IrRefs refs = {0};
    const IrBlock some = {.items = items, .n = n};
    ir_roots(d->g, d->arena, &some, &refs);
    for (uint32_t k = 0; loop && k < loop->n_results; k++) WBB_PUSH(d->arena, &refs, loop->results[k].yield);
    ir_gather(d->g, d->arena, &refs, WBB_NEW_N(d->arena, uint8_t, d->g->n + 1));
    ir_sort(d->arena, &refs);
    return refs;
}

/* Of a kernel with a scatter: an operation on its result, or on what blocks combine before. */
static bool has_update(const IrKernel *k, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const bool access = s->kind == IR_STORE || (s->kind == IR_DO && s->index);
        if (ir_is_update(k, s) || (access && k->buffers[s->buffer].space == IR_SHARED)) return true;
        if (has_update(k, &s->body) || has_update(k, &s->otherwise)) return true;
    }
    return false;
}

/* Is it an exchange or another effect, an `if` with results and nothing else, or one around updates of a scatter? */
static bool waits(const IrKernel *k, const IrPlacement *p, const IrStmt *s)
{
    if (s->kind != IR_IF) return s->kind == IR_DO;
    return ir_only_chooses(s) || (p->updates && (has_update(k, &s->body) || has_update(k, &s->otherwise)));
}

/* Do loads stand before it? */
static bool is_behind_loads(const IrKernel *k, const IrPlacement *p, const IrStmt *s, uint32_t scope)
{
    return waits(k, p, s) || (s->kind == IR_IF && p->items[scope].loop);
}

/* Is a variable or value bound before this place? */
static bool is_bound(const IrDemand *d, IrRef r, IrPlace place)
{
    const IrNode *n = ir_at(d->g, r);
    const IrScopes *t = &d->places->tree;
    return (n->op != OP_VAR && n->op != OP_VALUE) ||
           ir_is_visible(t, n->op == OP_VAR ? t->variables[n->imm] : t->values[n->imm], place);
}

IrRefs ir_loads_first(IrDemand *d, const IrKernel *k, const IrBlock *block, uint32_t from, uint32_t scope)
{
    const IrGraph *g = d->g;
    const IrStmt *of = d->places->items[scope].of, *s = block->items[from];
    IrRefs later = {0};
    if (!is_behind_loads(k, d->places, s, scope)) return later;
    for (uint32_t i = 0; i < from; i++)
        if (is_behind_loads(k, d->places, block->items[i], scope)) return later;
    const bool effect = waits(k, d->places, s), branches = effect && s->kind == IR_IF && !ir_only_chooses(s);
    bool *ready = WBB_NEW_N(d->arena, bool, g->n + 1), *now = WBB_NEW_N(d->arena, bool, g->n + 1); /* by ref */
    const IrRefs first = below(d, block->items + from, 1, NULL);
    const IrRefs refs = below(d, block->items + from, block->n - from, of && ir_is_loop(of) ? of : NULL);
    for (uint32_t i = 0; i < first.n; i++) now[first.items[i]] = true;
    for (uint32_t i = 0; i < refs.n; i++) {
        const IrRef r = refs.items[i];
        ready[r] = is_bound(d, r, (IrPlace){scope, from});
        for (uint32_t o = 0; o < ir_arity(g, r); o++) ready[r] = ready[r] && ready[ir_operand(g, r, o)];
        if (!ready[r] || ir_at(g, r)->op != OP_LOAD || !ir_is_placed_in(d->places, r, scope)) continue;
        ir_demand(d, r, false);
        if (effect && (!now[r] || branches)) WBB_PUSH(d->arena, &later, r);
    }
    return later;
}

void ir_values_first(IrDemand *d, const IrBlock *block, uint32_t from)
{
    for (uint32_t i = from; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        if (s->kind != IR_STORE || s->buffer != block->items[from]->buffer) break;
        ir_demand(d, s->value, false);
    }
}
