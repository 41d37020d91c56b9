/* change.c: other nodes in the statements of a kernel, and the nodes that its statements need.
 *
 * Needs any kernel; leaves it with each node that its statements, functions and variables name replaced. ir_remake is
 * the loop of a pass that builds nodes anew, one after the other.
 */
#include "ir/uses.h"

static void map_block(const IrGraph *g, IrBlock *b, IrMap map, void *arg)
{
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        for (IrUses u = ir_uses(g, s); ir_next_use(&u);)
            if (!u.definition) *u.at = map(arg, u.ref);
        map_block(g, &s->body, map, arg);
        map_block(g, &s->otherwise, map, arg);
    }
}

void ir_map_statements(IrKernel *k, IrMap map, void *arg)
{
    for (uint32_t i = 0; i < k->n_functions; i++) {
        IrFunction *f = k->functions[i];
        map_block(k->g, &f->body, map, arg);
        for (uint32_t y = 0; y < f->n_yields; y++) f->yields[y] = map(arg, f->yields[y]);
    }
    map_block(k->g, &k->body, map, arg);
}

static IrRef mark_root(void *arg, IrRef r)
{
    ((uint8_t *)arg)[r] = 1;
    return r;
}

static inline void need_one(WbbArena *a, IrRef x, IrRef r, uint8_t *need, IrRefs *stack)
{
    if (x > r && !need[x]) WBB_PUSH(a, stack, x);
    need[x] = 1;
}

/* Marks the operands of i. Those that the loop of ir_needed, now at r, has passed go on the stack. */
static inline void need_operands(const IrGraph *g, WbbArena *a, IrRef i, IrRef r, uint8_t *need, IrRefs *stack)
{
    const IrNode *n = ir_at(g, i);
    if (ir_in_pool(n))
        for (uint32_t o = 0; o < n->a[1]; o++) need_one(a, g->terms[n->a[0] + o].ref, r, need, stack);
    else
        for (uint32_t o = 0; o < 3; o++) need_one(a, n->a[o], r, need, stack);
    if (n->op == OP_VAR) need_one(a, g->vars[n->imm].definition, r, need, stack);
}

/* Operands are older than their users, so one loop over refs, newest first, marks them all, except that a definition
 * may be younger than its variable. */
uint8_t *ir_needed(const IrGraph *g, WbbArena *a, const IrKernel *k)
{
    uint8_t *need = WBB_NEW_N(a, uint8_t, g->n);
    IrKernel same = *k; /* mark_root maps each ref to itself */
    IrRefs stack = {0};
    ir_map_statements(&same, mark_root, need);
    for (IrRef r = g->n - 1; r > 0; r--) {
        if (!need[r]) continue;
        need_operands(g, a, r, r, need, &stack);
        while (stack.n) need_operands(g, a, stack.items[--stack.n], r, need, &stack);
    }
    need[0] = 0;
    return need;
}

static IrRef replacement(void *made, IrRef old) { return ((const IrRef *)made)[old]; }

void ir_replace(IrKernel *k, IrRef *made)
{
    ir_map_statements(k, replacement, made);
    for (uint32_t v = 0; v < k->g->n_vars; v++)
        if (made[k->g->vars[v].definition]) k->g->vars[v].definition = made[k->g->vars[v].definition];
}

void ir_remake(IrKernel *k, IrRemake remake, void *arg)
{
    IrGraph *g = k->g;
    WbbArena *scratch = wbb_arena_new(g->cx);
    const uint32_t n = g->n;
    const uint8_t *need = ir_needed(g, scratch, k);
    IrRef *made = WBB_NEW_N(scratch, IrRef, n);
    for (IrRef r = 1; r < n; r++) {
        if (!need[r]) continue;
        g->making_rule = g->rule[r];
        g->making_origin = g->origin[r];
        made[r] = remake(arg, r, made, need);
    }
    g->making_rule = g->making_origin = 0;
    ir_replace(k, made);
    wbb_arena_free(scratch);
}
