/* carry.c: a loop loads what its next iteration needs, and carries it there.
 *
 * Needs a kernel whose selects have their branches; leaves loops that carry a state with their loads an iteration
 * ahead. Such an iteration waits for the one before, and a thread that has a scheduler nearly for itself for each load,
 * too: an assembler moves a load down to its use to save registers, but not from one iteration into the next.
 *
 * A load is carried if what says where it is are the number of the iteration and what is known before the loop. The
 * last iteration loads once more what it has. A loop takes them all, or none where registers would not hold them.
 *
 *     for k in 0..256 carry h = 0.0 { yield fma(h, 0.9, load %x[4096*k + t]) }
 *       =>   for k in 0..256 carry h = 0.0, x = load %x[t] {
 *              yield fma(h, 0.9, x), load %x[4096*min(k + 1, 255) + t] }
 */
#include "ir/uses.h"
#include "vector/vector.h"

typedef struct {
    RwCx *rw;
    IrKernel *k;
    IrGraph *g;
    WbbArena *arena;
    uint8_t *mark; /* by ref: all 0 */
    uint32_t registers; /* for loads of one loop, at most */
    IrRef *carried;     /* by ref, below n: the value that a load becomes; 0: it stays */
    uint32_t n;
    bool any;
} Carry;

static bool binds(const IrBlock *b, uint32_t var)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (ir_binds_variable(s) && s->var == var) return true;
        if (binds(&s->body, var) || binds(&s->otherwise, var)) return true;
    }
    return false;
}

static bool has_loop(const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        if (ir_is_loop(s) || has_loop(&s->body) || has_loop(&s->otherwise)) return true;
    }
    return false;
}

/* Does the index of a load follow from the number of the iteration, and from nothing else of the loop? */
static bool follows(Carry *c, const IrStmt *s, IrRef index)
{
    const IrRefs vars = ir_variables(c->g, c->arena, index, c->mark);
    bool varies = false;
    for (uint32_t i = 0; i < vars.n; i++) {
        const uint32_t var = (uint32_t)ir_at(c->g, vars.items[i])->imm;
        if (binds(&s->body, var)) return false;
        varies = varies || var == s->var;
    }
    return varies;
}

/* Loads that each iteration makes, whichever branches it takes. */
static IrRefs loads_of(Carry *c, const IrStmt *s)
{
    IrRefs nodes = {0}, loads = {0};
    for (uint32_t i = 0; i < s->body.n; i++)
        for (IrUses u = ir_uses(c->g, s->body.items[i]); ir_next_use(&u);)
            if (u.where == IR_OUTSIDE) WBB_PUSH(c->arena, &nodes, u.ref);
    for (uint32_t k = 0; k < s->n_results; k++) WBB_PUSH(c->arena, &nodes, s->results[k].yield);
    ir_gather(c->g, c->arena, &nodes, c->mark);
    for (uint32_t i = 0; i < nodes.n; i++) {
        const IrNode *n = ir_at(c->g, nodes.items[i]);
        if (n->op == OP_LOAD && c->k->buffers[ir_at(c->g, n->a[0])->imm].space == IR_IN && follows(c, s, n->a[1]))
            WBB_PUSH(c->arena, &loads, nodes.items[i]);
    }
    return loads;
}

static uint32_t registers_of(const Carry *c, const IrRefs *loads)
{
    uint32_t sum = 0;
    for (uint32_t i = 0; i < loads->n; i++) {
        const IrType type = ir_at(c->g, loads->items[i])->type;
        sum += (IR_LANES(type) * sc_type_info[IR_SC(type)].bits + 31) / 32;
    }
    return sum;
}

/* The load, with this number of the iteration. */
static IrRef load_at(Carry *c, const IrStmt *s, IrRef load, IrRef iteration)
{
    const IrRef var = ir_var(c->g, s->var);
    c->g->making_origin = c->g->origin[load];
    rw_replace(c->rw, c->arena, &load, 1, &var, &iteration, 1);
    c->g->making_origin = 0;
    return load;
}

static void carry(Carry *c, IrStmt *s)
{
    const IrVar v = c->g->vars[s->var];
    if (s->lanes || !s->n_results || v.lo >= v.hi || has_loop(&s->body)) return;
    c->mark = WBB_NEW_N(c->arena, uint8_t, c->g->n);
    const IrRefs loads = loads_of(c, s);
    if (!loads.n || registers_of(c, &loads) > c->registers) return;
    const IrType index = IR_TYPE(SC_INDEX, 0);
    const IrRef next = rw_make(c->rw, OP_MIN, index, 0, rw_add(c->rw, ir_var(c->g, s->var), ir_index(c->g, 1)),
                               ir_index(c->g, v.hi), 0, 0);
    for (uint32_t i = 0; i < loads.n; i++) {
        const IrRef r = loads.items[i];
        const uint32_t n = ir_carry(c->g, s, "next", load_at(c, s, r, ir_index(c->g, v.lo)));
        s->results[n].yield = load_at(c, s, r, next);
        c->carried[r] = ir_value(c->g, s->results[n].carried);
    }
    s->ahead = c->any = true;
}

static void visit(Carry *c, const IrBlock *b)
{
    for (uint32_t i = 0; i < b->n; i++) {
        IrStmt *s = b->items[i];
        visit(c, &s->body);
        visit(c, &s->otherwise);
        if (s->kind == IR_FOR) carry(c, s);
    }
}

static IrRef with_carried(void *arg, IrRef r, const IrRef *made, const uint8_t *need)
{
    (void)need;
    const Carry *c = arg;
    return r < c->n && c->carried[r] ? c->carried[r] : ir_copy(c->g, r, made, ir_at(c->g, r)->flags);
}

void vec_carry(RwCx *rw, IrKernel *k, uint32_t registers)
{
    /* Threads that meet share the terms of a fold: none waits for the iteration before, and layouts say how many loads
     * of a thread are under way. */
    if (!registers || ir_converges(k)) return;
    const uint32_t n = k->g->n;
    Carry c = {.rw = rw, .k = k, .g = k->g, .arena = wbb_arena_new(k->g->cx), .registers = registers, .n = n};
    c.carried = WBB_NEW_N(c.arena, IrRef, n);
    visit(&c, &k->body);
    if (c.any) ir_remake(k, with_carried, &c);
    wbb_arena_free(c.arena);
}
