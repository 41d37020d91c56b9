/* scopes.c: decides for every node the scopes in which it is emitted.
 *
 * Needs a kernel after `isel`; leaves LlPlaces. A node goes into the innermost block that dominates all its uses, and from there
 * outside every loop it does not depend on. Loads, calls and costly operations, and what is made of them, never move above their
 * `if`: where two branches need one and no block that runs anyway does, each has its own. What both branches of one `if` need runs
 * anyway. What two functions need, each has. Where more than MAX_COPIES branches need a node and nothing of it can go wrong (every load
 * below it lies in its buffer, by facts), it is made once, around them all: code does not grow with the number of branches.
 *
 *     if c { store out[i], f(x); }             f(x) costly: emitted in the branch
 *     if c { .. f(x) .. } if d { .. f(x) .. }  in both
 *     for v in 0..4 { .. y + v .. }            y: outside of the loop
 */
#include "llvm/inner.h"

#include <stdlib.h>

enum { MAX_COPIES = 4 };

/* A scope that needs a node. */
typedef struct Use {
    uint32_t scope;
    struct Use *next;
} Use;

typedef struct {
    const IrKernel *k;
    const IrGraph *g;
    const RwTables *tables;
    WbbArena *arena;
    LlPlaces p;
    struct { LlScope *items; uint32_t n, capacity; } scopes;
    uint32_t *binder, *brought; /* by variable, by value: the scope that binds it */
    Use **uses;                 /* by ref */
    bool *anchored;             /* by ref: not above its `if` */
    bool *risky;                /* by ref: a load or a call below it may go wrong where it is not asked for */
    struct { uint32_t *items; uint32_t n, capacity; } set; /* scopes of the node at hand */
    uint32_t *mark;             /* by scope: the last node of whose set it is one */
} Placing;

static uint32_t open_scope(Placing *x, uint32_t parent, bool loop)
{
    const uint32_t number = x->scopes.n, depth = number ? x->scopes.items[parent].depth + 1 : 0;
    const LlScope scope = {.parent = parent, .depth = depth, .root = depth < 2 ? number : x->scopes.items[parent].root, .loop = loop};
    WBB_PUSH(x->arena, &x->scopes, scope);
    return number;
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
    if (r == 0 || (x->uses[r] && x->uses[r]->scope == scope)) return;
    Use *u = WBB_NEW(x->arena, Use);
    *u = (Use){scope, x->uses[r]};
    x->uses[r] = u;
}

/* --- statements ------------------------------------------------------------------------------------------------------------------ */
static void walk(Placing *x, const IrBlock *block, uint32_t scope);

static void walk_if(Placing *x, const IrStmt *s, uint32_t scope)
{
    use(x, s->condition, scope);
    const uint32_t then = open_scope(x, scope, false);
    walk(x, &s->body, then);
    const uint32_t otherwise = open_scope(x, scope, false);
    walk(x, &s->otherwise, otherwise);
    x->scopes.items[then].partner = otherwise;
    x->scopes.items[otherwise].partner = then;
    for (uint32_t i = 0; i < s->n_results; i++) {
        use(x, s->results[i].yield, then);
        use(x, s->results[i].otherwise, otherwise);
    }
}

static void walk_for(Placing *x, const IrStmt *s, uint32_t scope)
{
    const uint32_t inner = open_scope(x, scope, true);
    x->binder[s->var] = inner;
    for (uint32_t i = 0; i < s->n_results; i++) {
        use(x, s->results[i].init, scope);
        x->brought[s->results[i].carried] = inner;
    }
    walk(x, &s->body, inner);
    for (uint32_t i = 0; i < s->n_results; i++) use(x, s->results[i].yield, inner);
}

/* The statements' own uses, and which scope binds what. Scopes are numbered as ll_build enters them. */
static void walk(Placing *x, const IrBlock *block, uint32_t scope)
{
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        switch (s->kind) {
        case IR_STORE:
            use(x, s->index, scope);
            use(x, s->value, scope);
            break;
        case IR_IF: walk_if(x, s, scope); break;
        case IR_FOR: walk_for(x, s, scope); break;
        case IR_BIND:
            use(x, s->value ? s->value : x->g->vars[s->var].definition, scope);
            x->binder[s->var] = scope;
            break;
        }
        for (uint32_t r = 0; r < s->n_results; r++) x->brought[s->results[r].value] = scope;
    }
}

/* Scope 0 holds what is there anyway; in it stand the functions and the kernel. */
static void walk_kernel(Placing *x)
{
    const IrKernel *k = x->k;
    open_scope(x, 0, false);
    for (uint32_t i = 0; i < k->n_functions; i++) {
        const IrFunction *f = k->functions[i];
        const uint32_t scope = open_scope(x, 0, false);
        for (uint32_t p = 0; p < f->n_params; p++) x->binder[f->params[p]] = scope;
        walk(x, &f->body, scope);
        for (uint32_t y = 0; y < f->n_yields; y++) use(x, f->yields[y], scope);
    }
    walk(x, &k->body, open_scope(x, 0, false));
}

/* --- nodes ------------------------------------------------------------------------------------------------------------------------ */
static bool is_heavy(const Placing *x, const IrNode *n)
{
    if (n->op == OP_LOAD || n->op == OP_CALL) return true;
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

static bool lies_within(const Placing *x, const IrNode *load)
{
    const IrBuffer *b = &x->k->buffers[ir_at(x->g, load->a[0])->imm];
    return ir_within(x->k->g, load->a[1], 0, (WbbI128)b->elements - IR_LANES(load->type) + 1);
}

/* The innermost scope that binds what r depends on, and whether it is anchored; operands are done. */
static void depend(Placing *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const LlScope *s = x->scopes.items;
    uint32_t deepest = 0;
    if (n->op == OP_VAR) deepest = x->binder[n->imm];
    if (n->op == OP_VALUE) deepest = x->brought[n->imm];
    x->anchored[r] = is_heavy(x, n);
    x->risky[r] = n->op == OP_CALL || (n->op == OP_LOAD && !lies_within(x, n));
    for (uint32_t i = 0; i < ir_arity(x->g, r); i++) {
        const IrRef o = ir_operand(x->g, r, i);
        if (s[x->p.depth[o]].depth > s[deepest].depth) deepest = x->p.depth[o];
        if (x->anchored[o]) x->anchored[r] = true;
        if (x->risky[o]) x->risky[r] = true;
    }
    x->p.depth[r] = deepest;
}

static uint32_t hoist(const Placing *x, uint32_t scope, uint32_t bound, bool anchored)
{
    const LlScope *s = x->scopes.items;
    uint32_t best = scope;
    for (uint32_t t = scope; s[t].depth > WBB_MAX(s[bound].depth, 1u); t = s[t].parent) {
        if (s[t].loop) best = s[t].parent;
        else if (anchored) break;
    }
    return best;
}

/* Is it in the set, or a scope around it? */
static bool covered(const Placing *x, uint32_t scope, IrRef r, bool proper)
{
    const LlScope *s = x->scopes.items;
    const uint32_t top = s[x->p.depth[r]].depth;
    for (uint32_t t = proper ? s[scope].parent : scope; t && s[t].depth >= top; t = s[t].parent)
        if (x->mark[t] == r) return true;
    return false;
}

/* One more scope that needs the anchored node r. */
static void insert(Placing *x, uint32_t scope, IrRef r)
{
    for (;;) {
        scope = hoist(x, scope, x->p.depth[r], true);
        if (covered(x, scope, r, false)) return;
        const LlScope *s = &x->scopes.items[scope];
        if (!s->partner || x->mark[s->partner] != r || x->p.depth[r] == scope) break;
        x->mark[s->partner] = 0;
        scope = s->parent;
    }
    x->mark[scope] = r;
    WBB_PUSH(x->arena, &x->set, scope);
}

static int by_number(const void *x, const void *y)
{
    const uint32_t p = *(const uint32_t *)x, q = *(const uint32_t *)y;
    return p < q ? -1 : p > q;
}

/* Where r is emitted: x->set, in order. */
static void choose(Placing *x, IrRef r)
{
    const Use *uses = x->uses[r];
    const LlScope *s = x->scopes.items;
    x->set.n = 0;
    if (!uses->next) { /* most nodes */
        const uint32_t home = hoist(x, uses->scope, x->p.depth[r], x->anchored[r]);
        WBB_PUSH(x->arena, &x->set, home);
        return;
    }
    uint32_t n = 0;
    if (x->anchored[r]) {
        for (; uses; uses = uses->next) insert(x, uses->scope, r);
        for (uint32_t i = 0; i < x->set.n; i++)
            if (x->mark[x->set.items[i]] == r && !covered(x, x->set.items[i], r, true)) x->set.items[n++] = x->set.items[i];
        x->set.n = n;
    } else {
        for (; uses; uses = uses->next) WBB_PUSH(x->arena, &x->set, uses->scope);
    }
    qsort(x->set.items, x->set.n, sizeof *x->set.items, by_number);
    if (x->anchored[r] && (n <= MAX_COPIES || x->risky[r])) return;
    n = 0;
    for (uint32_t i = 0; i < x->set.n; i++) {
        const uint32_t scope = x->set.items[i];
        if (n && s[x->set.items[n - 1]].root == s[scope].root) x->set.items[n - 1] = common(s, x->set.items[n - 1], scope);
        else x->set.items[n++] = scope;
    }
    x->set.n = n;
    for (uint32_t i = 0; i < n; i++) x->set.items[i] = hoist(x, x->set.items[i], x->p.depth[r], false);
}

LlPlaces ll_place(WbbArena *a, const IrKernel *k, const RwTables *t)
{
    Placing x = {.k = k, .g = k->g, .tables = t, .arena = a};
    const uint32_t n = k->g->n;
    x.p.home = WBB_NEW_N(a, LlHome *, n);
    x.p.depth = WBB_NEW_N(a, uint32_t, n);
    x.binder = WBB_NEW_N(a, uint32_t, k->g->n_vars + 1);
    x.brought = WBB_NEW_N(a, uint32_t, k->g->n_values + 1);
    x.uses = WBB_NEW_N(a, Use *, n);
    x.anchored = WBB_NEW_N(a, bool, n);
    x.risky = WBB_NEW_N(a, bool, n);
    walk_kernel(&x);
    x.mark = WBB_NEW_N(a, uint32_t, x.scopes.n);
    for (IrRef r = 1; r < n; r++) depend(&x, r);
    for (IrRef r = n; r-- > 1;) { /* users before operands */
        if (!x.uses[r]) continue;
        choose(&x, r);
        LlHome **next = &x.p.home[r];
        for (uint32_t i = 0; i < x.set.n; i++) {
            *next = WBB_NEW(a, LlHome);
            **next = (LlHome){x.set.items[i], NULL};
            next = &(*next)->next;
            for (uint32_t o = 0; o < ir_arity(x.g, r); o++) use(&x, ir_operand(x.g, r, o), x.set.items[i]);
        }
    }
    x.p.scopes = x.scopes.items;
    x.p.n_scopes = x.scopes.n;
    return x.p;
}
