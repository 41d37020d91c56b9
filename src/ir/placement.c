/* placement.c: decides in which scopes each node is emitted.
 *
 * Needs a kernel after `isel`; leaves IrPlacement. A cheap node is emitted in the innermost scope that encloses all its
 * uses, moved out of every loop that it does not depend on. Loads, calls, costly operations and all nodes that use them
 * are anchored: they never move above an `if`, so a node that only some branches need is emitted in each of those
 * branches. A node that both branches of one `if` need is emitted before the `if`. Each function emits its own nodes. A
 * node that more than MAX_COPIES branches need is emitted once, around them all, if it cannot fault (facts prove that
 * every load below it is inside its buffer): the size of the code then does not grow with the number of branches. So is
 * a load of which two branches need different elements: each would load those of the other.
 *
 * Where threads exchange values, a load that cannot fault leaves its branch, up to the loop around it, if it reads one
 * element for all threads, or no SM has a second block: nothing else would hide its latency behind an exchange. So does
 * each load of a scatter, whose branch waits for indices: few are outside, and both latencies become one.
 *
 *     if c { store out[i], f(x); }             f(x) is costly: emitted in the branch
 *     if c { .. f(x) .. } if d { .. f(x) .. }  emitted in both branches
 *     for v in 0..4 { .. y + v .. }            y: emitted before the loop
 */
#include "ir/placement.h"

#include <stdlib.h>

enum { MAX_COPIES = 4 };

/* A list of the scopes that use a node. */
typedef struct Use {
    uint32_t scope;
    uint32_t lanes; /* of a load of up to 32 elements: a bit for each that is used */
    struct Use *next;
} Use;

typedef struct {
    const IrKernel *k;
    const IrGraph *g;
    IrCostly *costly;
    const void *arg; /* of costly */
    WbbArena *arena;
    IrPlacement out;
    IrScopes tree;
    uint32_t next; /* number of the scope that is walked next */
    Use **uses;                        /* by ref */
    bool *anchored;                    /* by ref: never moved above an `if` */
    bool *may_fault;                   /* by ref: a load or call below it may fault where the branch is not taken */
    bool exchanges, updates, alone;    /* the kernel has a `do`, one of a scatter; no SM has a second block */
    struct { uint32_t *items; uint32_t n, capacity; } set; /* the scopes chosen for the current node */
    uint32_t *mark;                    /* by scope: the last node whose set the scope is in */
} Assignment;

static void add_lanes(Assignment *x, IrRef r, uint32_t scope, uint32_t lanes)
{
    if (r && x->uses[r] && x->uses[r]->scope == scope) x->uses[r]->lanes |= lanes;
    if (r == 0 || (x->uses[r] && x->uses[r]->scope == scope)) return;
    Use *u = WBB_NEW(x->arena, Use);
    *u = (Use){scope, lanes, x->uses[r]};
    x->uses[r] = u;
}

static void add_use(Assignment *x, IrRef r, uint32_t scope) { add_lanes(x, r, scope, UINT32_MAX); }

/* The elements of its operand that a node uses. */
static uint32_t lanes_of(const IrNode *user)
{
    const uint32_t n = IR_LANES(user->type);
    return user->op != OP_PART || n >= 32 || user->imm >= 32 ? UINT32_MAX : ((1u << n) - 1) << user->imm;
}

/* --- statements --------------------------------------------------------------------------------------------------- */
/* Records what the statements of a scope and of those in it use. The operation of a `do` is the statement itself. */
static void walk(Assignment *x, uint32_t scope)
{
    const IrBlock *block = x->tree.scopes.items[scope].block;
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        uint32_t scopes[3] = {[IR_OUTSIDE] = scope};
        x->exchanges = x->exchanges || s->kind == IR_DO;
        x->updates = x->updates || ir_is_update(x->k, s);
        for (IrUses u = ir_uses(x->g, s); ir_next_use(&u);)
            if (u.where == IR_OUTSIDE && !(s->kind == IR_DO && u.at == &s->value)) add_use(x, u.ref, scope);
        for (uint32_t o = 0; s->kind == IR_DO && o < ir_arity(x->g, s->value); o++)
            add_use(x, ir_operand(x->g, s->value, o), scope);
        for (IrWhere w = IR_BODY; ir_has_blocks(s) && w <= (ir_is_loop(s) ? IR_BODY : IR_OTHERWISE); w++)
            walk(x, scopes[w] = x->next++);
        for (IrUses u = ir_uses(x->g, s); ir_next_use(&u);)
            if (u.where != IR_OUTSIDE) add_use(x, u.ref, scopes[u.where]);
    }
}

static void walk_kernel(Assignment *x)
{
    const IrKernel *k = x->k;
    x->next = 1;
    for (uint32_t i = 0; i <= k->n_functions; i++) {
        const uint32_t scope = x->next++;
        walk(x, scope);
        for (uint32_t y = 0; i < k->n_functions && y < k->functions[i]->n_yields; y++)
            add_use(x, k->functions[i]->yields[y], scope);
    }
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */
static bool is_costly(const Assignment *x, const IrNode *n)
{
    if (n->op == OP_LOAD || n->op == OP_CALL) return true;
    return n->op == OP_INSTR ? x->costly(x->arg, n->imm) : sc_op_info[n->op].costly;
}

static bool is_in_buffer(const Assignment *x, const IrNode *load)
{
    const IrBuffer *b = &x->k->buffers[ir_at(x->g, load->a[0])->imm];
    return ir_within(x->k->g, load->a[1], 0, (WbbI128)b->elements - IR_LANES(load->type) + 1);
}

/* Fill bound_in, anchored and may_fault of r; its operands are filled already. */
static void analyse(Assignment *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const IrScope *s = x->tree.scopes.items;
    uint32_t deepest = 0;
    if (n->op == OP_VAR) deepest = x->tree.variables[n->imm].scope;
    if (n->op == OP_VALUE) deepest = x->tree.values[n->imm].scope;
    x->anchored[r] = is_costly(x, n);
    x->may_fault[r] = n->op == OP_CALL || (n->op == OP_LOAD && !is_in_buffer(x, n));
    for (uint32_t i = 0; i < ir_arity(x->g, r); i++) {
        const IrRef o = ir_operand(x->g, r, i);
        if (s[x->out.bound_in[o]].depth > s[deepest].depth) deepest = x->out.bound_in[o];
        if (x->anchored[o]) x->anchored[r] = true;
        if (x->may_fault[o]) x->may_fault[r] = true;
    }
    x->out.bound_in[r] = deepest;
}

/* The outermost scope to which a node that `scope` uses can move: out of loops inside `bound`, and out of branches if
 * it is not anchored and an enclosing loop is left. */
static uint32_t hoist(const Assignment *x, uint32_t scope, uint32_t bound, bool anchored)
{
    const IrScope *s = x->tree.scopes.items;
    uint32_t best = scope;
    for (uint32_t t = scope; s[t].depth > WBB_MAX(s[bound].depth, 1u); t = s[t].parent) {
        if (s[t].loop) best = s[t].parent;
        else if (anchored) break;
    }
    return best;
}

/* The scope to which a load leaves the branches around it. */
static uint32_t leave_branches(const Assignment *x, uint32_t scope, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    const IrScope *s = x->tree.scopes.items;
    const uint32_t bound = x->out.bound_in[r];
    if (!x->exchanges || n->op != OP_LOAD || x->may_fault[r]) return scope;
    if (!x->alone && !x->updates && !ir_is_const(x->g, n->a[1])) return scope;
    if (x->updates) scope = hoist(x, scope, bound, true);
    while (s[scope].partner && s[scope].depth > WBB_MAX(s[bound].depth, 1u)) scope = s[scope].parent;
    return scope;
}

/* Is `scope` (proper: only a scope around it), or a scope around it, in the set of r? */
static bool is_emitted_around(const Assignment *x, uint32_t scope, IrRef r, bool proper)
{
    const IrScope *s = x->tree.scopes.items;
    const uint32_t top = s[x->out.bound_in[r]].depth;
    for (uint32_t t = proper ? s[scope].parent : scope; t && s[t].depth >= top; t = s[t].parent)
        if (x->mark[t] == r) return true;
    return false;
}

/* Add a scope that uses the anchored node r. If both branches of an `if` are in the set, the scope of the `if` replaces
 * them. */
static void insert(Assignment *x, uint32_t scope, IrRef r)
{
    for (;;) {
        scope = hoist(x, leave_branches(x, scope, r), x->out.bound_in[r], true);
        if (is_emitted_around(x, scope, r, false)) return;
        const IrScope *s = &x->tree.scopes.items[scope];
        if (!s->partner || x->mark[s->partner] != r || x->out.bound_in[r] == scope) break;
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

/* A load of several elements: does each of the scopes in which it would be emitted need the same of them? */
static bool uses_alike(const Assignment *x, const Use *uses, uint32_t n)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t lanes = 0;
        for (const Use *u = uses; u; u = u->next)
            if (ir_common_scope(&x->tree, u->scope, x->set.items[i]) == x->set.items[i]) lanes |= u->lanes;
        if (i && lanes != first) return false;
        first = lanes;
    }
    return true;
}

/* Choose the scopes in which r is emitted: x->set, in ascending order. */
static void choose_scopes(Assignment *x, IrRef r)
{
    const Use *uses = x->uses[r];
    const IrScope *s = x->tree.scopes.items;
    x->set.n = 0;
    if (!uses->next) { /* most nodes */
        const uint32_t from = leave_branches(x, uses->scope, r);
        const uint32_t scope = hoist(x, from, x->out.bound_in[r], x->anchored[r]);
        WBB_PUSH(x->arena, &x->set, scope);
        return;
    }
    uint32_t n = 0;
    if (x->anchored[r]) {
        for (; uses; uses = uses->next) insert(x, uses->scope, r);
        for (uint32_t i = 0; i < x->set.n; i++)
            if (x->mark[x->set.items[i]] == r && !is_emitted_around(x, x->set.items[i], r, true))
                x->set.items[n++] = x->set.items[i];
        x->set.n = n;
    } else {
        for (; uses; uses = uses->next) WBB_PUSH(x->arena, &x->set, uses->scope);
    }
    if (x->set.n) qsort(x->set.items, x->set.n, sizeof *x->set.items, by_number);
    const bool load = ir_at(x->g, r)->op == OP_LOAD;
    const bool copied = n <= MAX_COPIES && (n <= 1 || !load || uses_alike(x, x->uses[r], n));
    if (x->anchored[r] && (copied || x->may_fault[r])) return;
    n = 0;
    for (uint32_t i = 0; i < x->set.n; i++) {
        const uint32_t scope = x->set.items[i];
        if (n && s[x->set.items[n - 1]].root == s[scope].root)
            x->set.items[n - 1] = ir_common_scope(&x->tree, x->set.items[n - 1], scope);
        else x->set.items[n++] = scope;
    }
    x->set.n = n;
    for (uint32_t i = 0; i < n; i++) x->set.items[i] = hoist(x, x->set.items[i], x->out.bound_in[r], false);
}

IrPlacement ir_place(WbbArena *a, const IrKernel *k, IrCostly *costly, const void *arg, bool alone)
{
    Assignment x = {.k = k, .g = k->g, .costly = costly, .arg = arg, .arena = a, .alone = alone};
    const uint32_t n = k->g->n;
    x.out.emitted = WBB_NEW_N(a, IrScopeList *, n);
    x.out.bound_in = WBB_NEW_N(a, uint32_t, n);
    x.tree = ir_scopes(a, k);
    x.uses = WBB_NEW_N(a, Use *, n);
    x.anchored = WBB_NEW_N(a, bool, n);
    x.may_fault = WBB_NEW_N(a, bool, n);
    walk_kernel(&x);
    x.mark = WBB_NEW_N(a, uint32_t, x.tree.scopes.n);
    for (IrRef r = 1; r < n; r++) analyse(&x, r);
    for (IrRef r = n; r-- > 1;) { /* users before operands: a user's scopes are uses of its operands */
        if (!x.uses[r]) continue;
        choose_scopes(&x, r);
        IrScopeList **next = &x.out.emitted[r];
        for (uint32_t i = 0; i < x.set.n; i++) {
            *next = WBB_NEW(a, IrScopeList);
            **next = (IrScopeList){x.set.items[i], NULL};
            next = &(*next)->next;
            const uint32_t lanes = lanes_of(ir_at(x.g, r));
            for (uint32_t o = 0; o < ir_arity(x.g, r); o++)
                add_lanes(&x, ir_operand(x.g, r, o), x.set.items[i], lanes);
        }
    }
    x.out.tree = x.tree, x.out.items = x.tree.scopes.items;
    x.out.n = x.tree.scopes.n, x.out.updates = x.updates;
    return x.out;
}

bool ir_is_placed_in(const IrPlacement *p, IrRef r, uint32_t scope)
{
    const IrScopeList *l = p->emitted[r];
    while (l && l->scope != scope) l = l->next;
    return l != NULL;
}

uint32_t ir_hoisted(const IrPlacement *p, uint32_t scope, uint32_t bound)
{
    uint32_t best = scope;
    for (uint32_t t = scope; p->items[t].depth > WBB_MAX(p->items[bound].depth, 1u); t = p->items[t].parent)
        if (p->items[t].loop) best = p->items[t].parent;
    return best;
}

uint32_t ir_count_scopes(const IrBlock *block)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < block->n; i++) {
        const IrStmt *s = block->items[i];
        if (!ir_has_blocks(s)) continue;
        n += (ir_is_loop(s) ? 1 : 2) + ir_count_scopes(&s->body) + ir_count_scopes(&s->otherwise);
    }
    return n;
}
