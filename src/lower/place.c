/* place.c: decides for every node the scope in which it is emitted.
 *
 * Needs a kernel after `select`; leaves LlPlaces. A node goes into the innermost block that dominates all its uses, and from there
 * outside every loop it does not depend on. Loads and costly operations never move above their `if`.
 *
 *     if c { store out[i], f(x); }         f(x) costly: emitted in the branch
 *     for v in 0..4 { .. y + v .. }        y: outside of the loop
 */
#include "lower/inner.h"

typedef struct {
    const IrKernel *k;
    const IrGraph *g;
    const RwTables *tables;
    WbbArena *arena;
    LlPlaces p;
    uint32_t scopes_room;
    uint32_t *binder; /* by variable: the scope that binds it */
} Placing;

static uint32_t open_scope(Placing *x, uint32_t parent, bool loop)
{
    struct {
        LlScope *items;
        uint32_t n, room;
    } list = {x->p.scopes, x->p.n_scopes, x->scopes_room};
    const LlScope scope = {parent, list.n ? list.items[parent].depth + 1 : 0, loop};
    WBB_PUSH(x->arena, &list, scope);
    x->p.scopes = list.items;
    x->p.n_scopes = list.n;
    x->scopes_room = list.room;
    return list.n - 1;
}

static uint32_t common(const LlScope *s, uint32_t x, uint32_t y)
{
    while (x != y) {
        if (s[x].depth >= s[y].depth) x = s[x].parent;
        else y = s[y].parent;
    }
    return x;
}

static void use(Placing *x, IrRef r, uint32_t scope)
{
    if (r == 0) return;
    uint32_t *home = &x->p.home[r];
    *home = *home == LL_UNUSED ? scope : common(x->p.scopes, *home, scope);
}

/* The statements' own uses, and which scope binds which variable. Scopes are numbered as ll_build enters them. */
static void walk(Placing *x, const IrBlock *block, uint32_t scope)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        switch (s->kind) {
        case IR_STORE:
            use(x, s->index, scope);
            use(x, s->value, scope);
            break;
        case IR_IF:
            use(x, s->condition, scope);
            walk(x, &s->body, open_scope(x, scope, false));
            walk(x, &s->otherwise, open_scope(x, scope, false));
            break;
        case IR_FOR: {
            const uint32_t inner = open_scope(x, scope, true);
            x->binder[s->var] = inner;
            walk(x, &s->body, inner);
            break;
        }
        case IR_BIND:
            use(x, x->g->vars[s->var].definition, scope);
            x->binder[s->var] = scope;
            break;
        }
    }
}

static bool is_heavy(const Placing *x, const IrNode *n)
{
    if (n->op == OP_LOAD) return true;
    if (n->op != OP_INSTR) return sc_op_info[n->op].costly;
    const RwInstr *row = &x->tables->instrs[n->imm];
    size_t length = 0;
    while (row->text[length] && row->text[length] != '(') length++;
    if (row->kind == RW_LLVM) {
        const LlOpcode *o = ll_opcode(row->text, length);
        return o && o->costly;
    }
    if (row->kind == RW_INTR) {
        const LlIntrinsic *in = ll_intrinsic(row->text, length);
        return in && in->costly;
    }
    return true;
}

/* The innermost scope that binds a variable of r; operands are done. */
static uint32_t dependence(const Placing *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const LlScope *s = x->p.scopes;
    uint32_t deepest = 0;
    if (n->op == OP_VAR) return x->binder[n->imm];
    IrRef operands[3];
    const uint32_t count = n->op == OP_SUM ? n->a[1] : ir_operands(x->g, r, operands);
    for (uint32_t i = 0; i < count; i++) {
        const IrRef o = n->op == OP_SUM ? x->g->terms[n->a[0] + i].ref : operands[i];
        if (s[x->p.depth[o]].depth > s[deepest].depth) deepest = x->p.depth[o];
    }
    return deepest;
}

static uint32_t hoist(const Placing *x, uint32_t scope, uint32_t bound, bool heavy)
{
    const LlScope *s = x->p.scopes;
    uint32_t best = scope;
    for (uint32_t t = scope; s[t].depth > s[bound].depth; t = s[t].parent) {
        if (s[t].loop) best = s[t].parent;
        else if (heavy) break;
    }
    return best;
}

LlPlaces ll_place(WbbArena *a, const IrKernel *k, const RwTables *t)
{
    Placing x = {.k = k, .g = k->g, .tables = t, .arena = a};
    x.p.home = WBB_NEW_N(a, uint32_t, k->g->n);
    x.p.depth = WBB_NEW_N(a, uint32_t, k->g->n);
    x.binder = WBB_NEW_N(a, uint32_t, k->g->n_vars + 1);
    for (IrRef r = 0; r < k->g->n; r++) x.p.home[r] = LL_UNUSED;
    walk(&x, &k->body, open_scope(&x, 0, false));
    for (IrRef r = 1; r < k->g->n; r++) x.p.depth[r] = dependence(&x, r);
    for (IrRef r = k->g->n; r-- > 1;) { /* users before operands */
        const uint32_t scope = x.p.home[r];
        if (scope == LL_UNUSED) continue;
        const IrNode *n = ir_at(x.g, r);
        const uint32_t home = hoist(&x, scope, x.p.depth[r], is_heavy(&x, n));
        x.p.home[r] = home;
        IrRef operands[3];
        const uint32_t count = n->op == OP_SUM ? n->a[1] : ir_operands(x.g, r, operands);
        for (uint32_t i = 0; i < count; i++) use(&x, n->op == OP_SUM ? x.g->terms[n->a[0] + i].ref : operands[i], home);
    }
    return x.p;
}
