/* demand.c: emits the nodes of a selected kernel in the order in which statements need them.
 *
 * Needs the scopes of each node (placement.c), and a function that emits one whose operands are there.
 *
 *     store %out[i], max(load %in[i], 0.0)   ->   i, load, 0.0, max
 */
#include "ir/demand.h"

#include "ir/sums.h"

IrDemand ir_demands(WbbArena *a, IrGraph *g, IrPlacement *places, const bool *open, IrEmit *emit, void *of)
{
    return (IrDemand){.g = g, .arena = a, .places = places, .open = open, .emit = emit, .of = of,
                      .made = WBB_NEW_N(a, bool, g->n + 1)};
}

/* Index constants are made by each use; an `arg` is a buffer. */
static bool has_no_value(const IrDemand *d, IrRef r)
{
    const IrNode *n = ir_at(d->g, r);
    return n->op == OP_ARG || (n->op == OP_CONST && IR_SC(n->type) == SC_INDEX);
}

/* Is nothing to emit for r? Every use of a node is inside one of the scopes that emit it, so a scope of its list that
 * is not open is finished: drop it. */
static bool is_there(IrDemand *d, IrRef r)
{
    if (has_no_value(d, r)) return true;
    IrScopeList **list = &d->places->emitted[r];
    while (*list && !d->open[(*list)->scope]) {
        *list = (*list)->next;
        d->made[r] = false;
    }
    return d->made[r];
}

static void push(IrDemand *d, IrRef r)
{
    if (!is_there(d, r)) WBB_PUSH(d->arena, &d->stack, r);
}

static void push_operands(IrDemand *d, IrRef r, bool address)
{
    const IrNode *n = ir_at(d->g, r);
    if (address && n->op != OP_SUM) {
        push(d, r);
        return;
    }
    if (n->op == OP_LOAD && !ir_is_packed(IR_SC(n->type))) {
        push_operands(d, n->a[1], true);
        return;
    }
    for (uint32_t i = ir_arity(d->g, r); i-- > 0;) push(d, ir_operand(d->g, r, i));
}

/* Emit what is on the stack above its first n entries, operands before users. */
static void emit_stack(IrDemand *d, uint32_t n)
{
    while (d->stack.n > n) {
        const IrRef r = d->stack.items[d->stack.n - 1];
        const uint32_t before = d->stack.n;
        if (!is_there(d, r)) push_operands(d, r, false);
        if (d->stack.n > before) continue;
        d->stack.n--;
        if (is_there(d, r)) continue;
        assert(d->places->emitted[r]);
        d->emit(d->of, r, d->places->emitted[r]->scope);
        d->made[r] = true;
    }
}

void ir_demand(IrDemand *d, IrRef r, bool address)
{
    const uint32_t n = d->stack.n;
    if (address) push_operands(d, r, true);
    else WBB_PUSH(d->arena, &d->stack, r);
    emit_stack(d, n);
}

bool ir_is_made(const IrDemand *d, IrRef r)
{
    return d->made[r] && d->places->emitted[r] && d->open[d->places->emitted[r]->scope];
}

void ir_demand_operands(IrDemand *d, const IrStmt *s)
{
    const bool packed = s->index && ir_is_packed(IR_SC(ir_at(d->g, s->value)->type));
    for (uint32_t i = 0; i < ir_arity(d->g, s->value); i++) ir_demand(d, ir_operand(d->g, s->value, i), false);
    if (s->index && (!packed || !ir_is_const(d->g, s->index))) ir_demand(d, s->index, !packed);
    if (s->from_index) ir_demand(d, s->from_index, true);
}

WbbEntry *ir_call_entry(WbbMap *called, const IrGraph *g, IrRef call)
{
    const uint32_t n = ir_arity(g, call);
    uint32_t *key = WBB_NEW_N(called->arena, uint32_t, n + 1);
    key[0] = IR_CALLEE(ir_at(g, call)->imm);
    for (uint32_t i = 0; i < n; i++) key[i + 1] = ir_operand(g, call, i);
    return wbb_map_put_bytes(called, key, (n + 1) * sizeof *key);
}
