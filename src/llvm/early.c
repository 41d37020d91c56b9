/* early.c: loads stand before the first exchange with other threads, before an `if` that only chooses values (those of
 * vector/rare.c), and in a loop before the first branch.
 *
 * Needs a block of statements that is being built up to a shuffle, barrier or another effect, or up to such an `if`;
 * leaves the loads that the rest of the block's own statements need and that can be made now. Built where they are
 * first used they would stand on both sides of it: LLVM makes one wide access of neighbours only where nothing with an
 * effect lies between them, and each exchange, or branch, would wait for loads of its own.
 *
 *     s0 = do shuffle(load %p[4*t]); s1 = do shuffle(load %p[4*t + 1])   =>   both loads, then the shuffles
 */
#include "ir/uses.h"
#include "llvm/inner.h"

#include <string.h>

/* Can it be made now, given its operands? */
static bool is_bound(const LlBuild *b, IrRef r)
{
    const IrNode *n = ir_at(b->g, r);
    if (n->op == OP_VALUE) return b->results[n->imm];
    if (n->op != OP_VAR) return true;
    const IrVarKind kind = b->g->vars[n->imm].kind;
    return kind == IR_BID || kind == IR_TID || b->vars[n->imm];
}

/* LLVM moves a load on to the block that needs it unless something else uses it before: this makes no code. */
static void keep(LlBuild *b, IrRef r)
{
    const unsigned id = LLVMLookupIntrinsicID("llvm.fake.use", strlen("llvm.fake.use"));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(b->module, id, NULL, 0);
    LLVMValueRef v = ll_to_keep(b, r);
    if (v) LLVMBuildCall2(b->builder, LLVMGlobalGetValueType(f), f, &v, 1, "");
}

/* The nodes below n statements, and below what a loop yields, operands before users. */
static IrRefs below(const LlBuild *b, IrStmt **items, uint32_t n, const IrStmt *loop)
{
    IrRefs refs = {0};
    const IrBlock some = {.items = items, .n = n};
    ir_roots(b->g, b->arena, &some, &refs);
    for (uint32_t k = 0; loop && k < loop->n_results; k++) WBB_PUSH(b->arena, &refs, loop->results[k].yield);
    ir_gather(b->g, b->arena, &refs, WBB_NEW_N(b->arena, uint8_t, b->g->n + 1));
    ir_sort(b->arena, &refs);
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

bool ll_waits(const LlBuild *b, const IrStmt *s)
{
    if (s->kind != IR_IF) return s->kind == IR_DO;
    return ir_only_chooses(s) || (b->scopes.updates && (has_update(b->k, &s->body) || has_update(b->k, &s->otherwise)));
}

void ll_loads_first(LlBuild *b, const IrBlock *block, uint32_t from, uint32_t scope)
{
    const IrGraph *g = b->g;
    const IrStmt *of = b->scopes.items[scope].of;
    bool *ready = WBB_NEW_N(b->arena, bool, g->n + 1), *now = WBB_NEW_N(b->arena, bool, g->n + 1); /* by ref */
    const IrRefs first = below(b, block->items + from, 1, NULL);
    const IrRefs refs = below(b, block->items + from, block->n - from, of && ir_is_loop(of) ? of : NULL);
    for (uint32_t k = 0; k < first.n; k++) now[first.items[k]] = true;
    for (uint32_t k = 0; k < refs.n; k++) {
        const IrRef r = refs.items[k];
        ready[r] = is_bound(b, r);
        for (uint32_t o = 0; o < ir_arity(g, r); o++) ready[r] = ready[r] && ready[ir_operand(g, r, o)];
        if (ready[r] && ir_at(g, r)->op == OP_LOAD && ir_is_placed_in(&b->scopes, r, scope))
            ir_demand(&b->demand, r, false);
    }
    ll_at_scope(b, scope);
    const IrStmt *s = block->items[from];
    const bool waits = ll_waits(b, s), branches = waits && s->kind == IR_IF && !ir_only_chooses(s);
    for (uint32_t k = 0; k < refs.n && waits; k++) {
        const IrRef r = refs.items[k];
        if (ir_at(g, r)->op == OP_LOAD && ready[r] && (!now[r] || branches) &&
            ir_is_placed_in(&b->scopes, r, scope))
            keep(b, r);
    }
}
