/* rare.c: selects whose condition seldom holds become branches, one for all such selects of a thread that can share it.
 *
 * Needs straight code after vectorising, in which the flag `rare` marks a select with a costly second operand; leaves
 * no select with that flag. The selects of a block that do not depend on each other are results of one `if` on any of
 * their conditions, before the first statement that needs one of them: a thread waits once, and every chain has one
 * branch. A select that a loop does not change leaves the loop. What several branches use alike would have to stand
 * before them all, where loads may not be legal: such a select becomes its second operand, which needs no branch, and
 * so do those of a group that is too small for its branch to pay. A group has at most as many selects as limits say;
 * where the registers of a thread hold far fewer, those of one element are taken after those of the element before, so
 * that the values of few elements are there together.
 *
 * Where the two ways differ in the last bits, the second operand is a select by the same condition, so that a value
 * does not depend on what the others of its branch are; without a branch that select is of no use.
 *
 *     store %out[2*t], pack(select.f32.rare(p, x, y), select.f32.rare(q, z, w))
 *       =>   a, b = if bor.pred(p, q) { yield x, z } else { yield y, w }
 *            store %out[2*t], pack(a, b)
 */
#include "ir/scopes.h"
#include "vector/vector.h"

#include <stdlib.h>

/* A place, and how many branches before the statement there must stand first. */
typedef struct {
    IrPlace at;
    uint32_t after;
} Bound;

/* Selects that become the results of one `if`. */
typedef struct {
    uint32_t number, n; /* n: members */
    IrPlace at;       /* the `if` stands before this statement */
    uint32_t first;   /* of the block: no member has its operands before it */
    IrStmt *s;
    IrRefs conditions; /* of the new nodes */
} Group;

typedef struct {
    IrKernel *k;
    IrGraph *g;
    WbbArena *arena;
    IrScopes tree;
    uint32_t next;    /* number of the scope that is walked next */
    VecBranches limits;
    IrPlace *use;     /* by ref: before all that uses it; of scope UNUSED where nothing does */
    bool *split;      /* by ref: branches use it, and no statement before them all */
    Bound *bound;     /* by ref: from where on its operands are known */
    uint32_t *group;  /* by ref: of a select, number + 1 of its group; 0: it has none */
    IrRefs roots, order; /* what statements use; all nodes of these, operands first */
    struct { Group *items; uint32_t n, capacity; } groups;
} Rare;
#define UNUSED UINT32_MAX

static bool is_rare(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    return n->op == OP_SELECT && (n->flags & SC_FLAG_RARE) != 0;
}

IrRef vec_long_way(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r), *of = ir_at(g, n->a[1]);
    const bool own = of->op == OP_SELECT && of->a[0] == n->a[0] && of->a[2] == n->a[2];
    return own ? of->a[1] : n->a[1];
}

/* --- where nodes are used ----------------------------------------------------------------------------------------- */
/* One scope outwards; true if that leaves the branch of an `if`, or a function. */
static bool leave(const Rare *x, IrPlace *p)
{
    const IrScope *s = &x->tree.scopes.items[p->scope];
    *p = (IrPlace){s->parent, s->stmt};
    return !s->loop;
}

static void add_use(Rare *x, IrRef r, IrPlace at, bool split)
{
    if (r == 0) return;
    IrPlace *use = &x->use[r];
    const IrScope *s = x->tree.scopes.items;
    x->split[r] = x->split[r] || split;
    if (use->scope == UNUSED) *use = at;
    while (use->scope != at.scope)
        if (leave(x, s[use->scope].depth >= s[at.scope].depth ? use : &at)) x->split[r] = true;
    use->stmt = WBB_MIN(use->stmt, at.stmt);
}

static void walk(Rare *x, uint32_t scope)
{
    const IrBlock *b = x->tree.scopes.items[scope].block;
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        IrPlace places[3] = {[IR_OUTSIDE] = {scope, i}};
        for (IrWhere w = IR_BODY; ir_has_blocks(s) && w <= (ir_is_loop(s) ? IR_BODY : IR_OTHERWISE); w++) {
            places[w] = (IrPlace){x->next, w == IR_BODY ? s->body.n : s->otherwise.n};
            walk(x, x->next++);
        }
        for (IrUses u = ir_uses(x->g, s); ir_next_use(&u);) {
            add_use(x, u.ref, places[u.where], false);
            WBB_PUSH(x->arena, &x->roots, u.ref);
        }
    }
}

static void walk_kernel(Rare *x)
{
    const IrKernel *k = x->k;
    x->next = 1;
    for (uint32_t i = 0; i <= k->n_functions; i++) {
        const uint32_t scope = x->next;
        walk(x, x->next++);
        for (uint32_t y = 0; i < k->n_functions && y < k->functions[i]->n_yields; y++) {
            add_use(x, k->functions[i]->yields[y], (IrPlace){scope, k->functions[i]->body.n}, false);
            WBB_PUSH(x->arena, &x->roots, k->functions[i]->yields[y]);
        }
    }
    for (IrRef r = x->g->n - 1; r > 0; r--)
        for (uint32_t i = 0; x->use[r].scope != UNUSED && i < ir_arity(x->g, r); i++)
            add_use(x, ir_operand(x->g, r, i), x->use[r], x->split[r]);
}

/* --- groups ------------------------------------------------------------------------------------------------------- */
static bool is_later(const Rare *x, const Bound *a, const Bound *b)
{
    const uint32_t depth[2] = {x->tree.scopes.items[a->at.scope].depth, x->tree.scopes.items[b->at.scope].depth};
    if (depth[0] != depth[1]) return depth[0] > depth[1];
    if (a->at.stmt != b->at.stmt) return a->at.stmt > b->at.stmt;
    return a->after > b->after;
}

/* What binds r, and its operands: all are in scopes around one use. */
static Bound bound_of(const Rare *x, IrRef r)
{
    const IrNode *n = ir_at(x->g, r);
    Bound last = {{0, 0}, 0};
    if (n->op == OP_VAR) last.at = x->tree.variables[n->imm];
    if (n->op == OP_VALUE) last.at = x->tree.values[n->imm];
    for (uint32_t i = 0; i < ir_arity(x->g, r); i++) {
        const Bound *of = &x->bound[ir_operand(x->g, r, i)];
        if (is_later(x, of, &last)) last = *of;
    }
    return last;
}

/* The number of branches that must stand before an `if` with r is not beyond `number`; statements before `first` are
 * needed. */
static bool joins(const Rare *x, const Group *g, IrPlace at, const Bound *b)
{
    const uint32_t stmt = WBB_MIN(g->at.stmt, at.stmt);
    if (g->at.scope != at.scope || g->n >= x->limits.most || g->first > stmt) return false;
    return b->at.scope != at.scope || (b->at.stmt <= stmt && b->after <= g->number);
}

static void find_group(Rare *x, IrRef r)
{
    const IrScope *s = x->tree.scopes.items;
    IrPlace at = x->use[r];
    const Bound *b = &x->bound[r];
    while (s[at.scope].loop && s[b->at.scope].depth < s[at.scope].depth) leave(x, &at);
    Group *g = NULL;
    for (uint32_t i = 0; i < x->groups.n && !g; i++)
        if (joins(x, &x->groups.items[i], at, b)) g = &x->groups.items[i];
    if (!g) {
        const Group new = {.number = x->groups.n, .at = at};
        WBB_PUSH(x->arena, &x->groups, new);
        g = &x->groups.items[x->groups.n - 1];
    }
    g->at.stmt = WBB_MIN(g->at.stmt, at.stmt);
    if (b->at.scope == at.scope) g->first = WBB_MAX(g->first, b->at.stmt);
    g->n++;
    x->group[r] = g->number + 1;
}

/* The nodes that statements use, those of one element after those of the element before. */
static void put_in_turn(Rare *x)
{
    bool *seen = WBB_NEW_N(x->arena, bool, x->g->n);
    IrRefs open = {0};
    seen[0] = true;
    for (uint32_t i = 0; i < x->roots.n; i++) {
        WBB_PUSH(x->arena, &open, x->roots.items[i]);
        while (open.n) {
            const IrRef r = open.items[open.n - 1];
            const uint32_t n = seen[r] ? 0 : ir_arity(x->g, r);
            uint32_t k = 0;
            while (k < n && seen[ir_operand(x->g, r, k)]) k++;
            if (k < n) {
                WBB_PUSH(x->arena, &open, ir_operand(x->g, r, k));
                continue;
            }
            if (!seen[r]) WBB_PUSH(x->arena, &x->order, r);
            seen[r] = true;
            open.n--;
        }
    }
}

/* The order in which selects are given to groups: operands before users. */
static void put_in_order(Rare *x)
{
    if (x->limits.in_turn) put_in_turn(x);
    for (IrRef r = 1; r < x->g->n && !x->limits.in_turn; r++)
        if (x->use[r].scope != UNUSED) WBB_PUSH(x->arena, &x->order, r);
}

/* Groups of all selects; what depends on a select is bound by its group. */
static void group_all(Rare *x)
{
    for (uint32_t i = 0; i < x->order.n; i++) {
        const IrRef r = x->order.items[i];
        x->bound[r] = bound_of(x, r);
        if (!is_rare(x->g, r) || x->split[r] || IR_LANES(ir_at(x->g, r)->type) > 1) continue;
        find_group(x, r);
        const Group *g = &x->groups.items[x->group[r] - 1];
        x->bound[r] = (Bound){g->at, g->number + 1};
    }
}

/* --- the new nodes ------------------------------------------------------------------------------------------------ */
static IrRef replaced(void *arg, IrRef r, const IrRef *made, const uint8_t *need)
{
    Rare *x = arg;
    const IrNode n = *ir_at(x->g, r);
    (void)need;
    if (!is_rare(x->g, r)) return ir_copy(x->g, r, made, n.flags);
    Group *g = x->group[r] ? &x->groups.items[x->group[r] - 1] : NULL;
    if (!g || g->n < x->limits.least) return made[vec_long_way(x->g, r)];
    const IrRef v = ir_value_new(x->g, "usual", n.type);
    IrResult *result = ir_result_new(x->g, g->s);
    *result = (IrResult){.value = (uint32_t)ir_at(x->g, v)->imm, .yield = made[n.a[1]], .otherwise = made[n.a[2]]};
    WBB_PUSH(x->arena, &g->conditions, made[n.a[0]]);
    return v;
}

/* Any of the conditions, by a tree. */
static IrRef any(IrGraph *g, IrRefs *of)
{
    while (of->n > 1) {
        uint32_t n = 0;
        for (uint32_t i = 0; i + 1 < of->n; i += 2)
            of->items[n++] = ir_node(g, OP_BOR, IR_TYPE(SC_PRED, 0), 0, of->items[i], of->items[i + 1], 0, 0);
        if (of->n % 2) of->items[n++] = of->items[of->n - 1];
        of->n = n;
    }
    return of->items[0];
}

static int last_first(const void *p, const void *q)
{
    const Group *a = p, *b = q;
    if (a->at.scope != b->at.scope) return a->at.scope < b->at.scope ? 1 : -1;
    if (a->at.stmt != b->at.stmt) return a->at.stmt < b->at.stmt ? 1 : -1;
    return a->number < b->number ? 1 : -1;
}

/* Each condition once. Where there is one, it holds in the branch, whose selects by it are decided. */
static void decide(Rare *x, Group *g)
{
    uint32_t n = 0;
    for (uint32_t i = 0, k; i < g->conditions.n; i++) {
        for (k = 0; k < n && g->conditions.items[k] != g->conditions.items[i];) k++;
        if (k == n) g->conditions.items[n++] = g->conditions.items[i];
    }
    g->conditions.n = n;
    for (uint32_t i = 0; n == 1 && i < g->s->n_results; i++) {
        const IrNode *yes = ir_at(x->g, g->s->results[i].yield);
        if (yes->op == OP_SELECT && yes->a[0] == g->conditions.items[0]) g->s->results[i].yield = yes->a[1];
    }
}

static void insert(Rare *x, Group *g)
{
    IrBlock *b = x->tree.scopes.items[g->at.scope].block;
    decide(x, g);
    g->s->condition = any(x->g, &g->conditions);
    WBB_PUSH(x->g->arena, b, g->s);
    for (uint32_t i = b->n - 1; i > g->at.stmt; i--) b->items[i] = b->items[i - 1];
    b->items[g->at.stmt] = g->s;
}

static bool has_any(const IrGraph *g)
{
    for (IrRef r = 1; r < g->n; r++)
        if (is_rare(g, r)) return true;
    return false;
}

void vec_rare(IrKernel *k, VecBranches limits)
{
    if (!has_any(k->g)) return;
    const uint32_t n = k->g->n;
    Rare x = {.k = k, .g = k->g, .arena = wbb_arena_new(k->g->cx), .limits = limits};
    x.tree = ir_scopes(x.arena, k);
    x.use = WBB_NEW_N(x.arena, IrPlace, n);
    for (IrRef r = 0; r < n; r++) x.use[r].scope = UNUSED;
    x.split = WBB_NEW_N(x.arena, bool, n);
    x.bound = WBB_NEW_N(x.arena, Bound, n);
    x.group = WBB_NEW_N(x.arena, uint32_t, n);
    walk_kernel(&x);
    put_in_order(&x);
    group_all(&x);
    IrBlock detached = {0};
    for (uint32_t i = 0; i < x.groups.n; i++) x.groups.items[i].s = ir_stmt(k->g, &detached, IR_IF);
    ir_remake(k, replaced, &x);
    if (x.groups.n) qsort(x.groups.items, x.groups.n, sizeof *x.groups.items, last_first);
    for (uint32_t i = 0; i < x.groups.n; i++)
        if (x.groups.items[i].conditions.n) insert(&x, &x.groups.items[i]);
    wbb_arena_free(x.arena);
}
