/* lanes_ahead.c: what lanes load for an effect on memory that each of them has under a condition of its own, loaded
 * before the conditions are tested: by all lanes at once, and as wide as accesses allow.
 *
 * Needs an `if` whose condition differs from lane to lane, before its branches are written; leaves requests for the
 * nodes that stand on loads, bind nothing that the branches bind, and are in bounds whatever the condition says.
 *
 *     for v in 0..4 lanes 4 { if in_range(k_v) { do atomic_add.f32(%out[k_v], load %u[4*t + v]) } }
 * =>  x = load.f32x4 %u[4*t]   if in_range(k_0) { do atomic_add.f32(%out[k_0], part<0>(x)) }   ..
 */
#include "ir/uses.h"
#include "vector/lanes.h"

/* Of a node, by its number. */
typedef struct {
    bool free;  /* needs nothing that the branches bind, accesses what is there, and has no effect */
    bool loads; /* free, and stands on a load that differs from lane to lane */
    bool seen;
} Ahead;

static bool has_effect(const Lanes *l, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const bool accesses = s->kind == IR_STORE || (s->kind == IR_DO && s->index);
        if (accesses && l->k->buffers[s->buffer].space != IR_SHARED) return true;
        if (has_effect(l, &s->body) || has_effect(l, &s->otherwise)) return true;
    }
    return false;
}

/* Is a load in bounds wherever its index can be computed? */
static bool is_safe(const Lanes *l, const IrNode *load)
{
    const IrBuffer *b = &l->k->buffers[ir_at(l->g, load->a[0])->imm];
    return !ir_is_changed(b) && ir_within(l->g, load->a[1], 0, b->elements);
}

/* Leaves that the branches bind have no value yet. */
static bool is_bound(Lanes *l, const IrNode *n)
{
    const LaneBinding *b = n->op == OP_VAR ? vec_variable(l, (uint32_t)n->imm) : vec_value(l, (uint32_t)n->imm);
    return !b->varies || b->value;
}

static Ahead judge(Lanes *l, const Ahead *all, IrRef r)
{
    const IrNode n = *ir_at(l->g, r);
    const LaneNode *node = vec_node(l, r);
    if (node->chained || n.op == OP_CALL || sc_op_info[n.op].effects) return (Ahead){0};
    const bool varies = node->varies;
    if (n.op == OP_VAR || n.op == OP_VALUE) return (Ahead){.free = is_bound(l, &n)};
    Ahead a = {.free = n.op != OP_LOAD || is_safe(l, &n), .loads = n.op == OP_LOAD && varies};
    for (uint32_t i = 0; i < ir_arity(l->g, r); i++) {
        const Ahead *x = &all[vec_node(l, ir_operand(l->g, r, i))->number];
        a.free = a.free && x->free, a.loads = a.loads || x->loads;
    }
    a.loads = a.loads && a.free;
    return a;
}

static void push(Lanes *l, IrRefs *stack, Ahead *all, IrRef r)
{
    Ahead *a = &all[vec_node(l, r)->number];
    if (!a->seen) WBB_PUSH(l->arena, stack, r);
    a->seen = true;
}

static void push_uses(Lanes *l, IrRefs *stack, Ahead *all, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        for (IrUses u = ir_uses(l->g, b->items[i]); ir_next_use(&u);) push(l, stack, all, u.ref);
        push_uses(l, stack, all, &b->items[i]->body);
        push_uses(l, stack, all, &b->items[i]->otherwise);
    }
}

void vec_load_ahead(Lanes *l, const IrStmt *s)
{
    if (s->n_results || !has_effect(l, &s->body)) return;
    Ahead *all = WBB_NEW_N(l->arena, Ahead, l->nodes.n + 1);
    for (uint32_t i = 0; i < l->nodes.n; i++) all[i + 1] = judge(l, all, l->nodes.items[i]);
    IrRefs stack = {0};
    push_uses(l, &stack, all, &s->body);
    while (stack.n) {
        const IrRef r = stack.items[--stack.n];
        if (all[vec_node(l, r)->number].loads) vec_request(l, r);
        else if (ir_at(l->g, r)->op != OP_VAR && ir_at(l->g, r)->op != OP_VALUE)
            for (uint32_t i = 0; i < ir_arity(l->g, r); i++) push(l, &stack, all, ir_operand(l->g, r, i));
    }
    vec_make_requested(l);
}
