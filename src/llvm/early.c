/* early.c: loads stand before the first exchange with other threads.
 *
 * Needs a block of statements that is being built up to a shuffle, barrier or another effect; leaves the loads that the
 * rest of the block's own statements need and that can be made now. Built where they are first used they would stand on
 * both sides of it: LLVM makes one wide access of neighbours only where nothing with an effect lies between them, and
 * each exchange would wait for loads of its own.
 *
 *     s0 = do shuffle(load %p[4*t]); s1 = do shuffle(load %p[4*t + 1])   =>   both loads, then the shuffles
 */
#include "ir/uses.h"
#include "llvm/inner.h"

static bool is_emitted_in(const LlBuild *b, IrRef r, uint32_t scope)
{
    for (const LlScopeList *l = b->scopes.emitted[r]; l; l = l->next)
        if (l->scope == scope) return true;
    return false;
}

/* Can it be made now, given its operands? */
static bool is_bound(const LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    if (n->op == OP_VALUE) return b->results[n->imm];
    if (n->op != OP_VAR) return true;
    const IrVarKind kind = b->g->vars[n->imm].kind;
    return kind == IR_BID || kind == IR_TID || b->vars[n->imm];
}

void ll_loads_first(LlBuild *b, const IrBlock *block, uint32_t from, uint32_t scope)
{
    const IrGraph *g = b->g;
    IrRefs refs = {0};
    bool *ready = WBB_NEW_N(b->arena, bool, g->n + 1); /* by ref */
    for (uint32_t k = from; k < block->n; k++) {
        const IrStmt *s = block->items[k];
        for (IrUses u = ir_uses(g, s); ir_next_use(&u);)
            if (u.where == IR_OUTSIDE && u.ref && !(s->kind == IR_DO && u.at == &s->value))
                WBB_PUSH(b->arena, &refs, u.ref);
        for (uint32_t o = 0; s->kind == IR_DO && o < ir_arity(g, s->value); o++)
            WBB_PUSH(b->arena, &refs, ir_operand(g, s->value, o));
    }
    ir_gather(g, b->arena, &refs, WBB_NEW_N(b->arena, uint8_t, g->n + 1));
    ir_sort(b->arena, &refs); /* operands before users */
    for (uint32_t k = 0; k < refs.n; k++) {
        const IrRef r = refs.items[k];
        ready[r] = is_bound(b, r);
        for (uint32_t o = 0; o < ir_arity(g, r); o++) ready[r] = ready[r] && ready[ir_operand(g, r, o)];
        if (ready[r] && ir_at(g, r)->op == OP_LOAD && is_emitted_in(b, r, scope)) ll_demand(b, r, false);
    }
}
