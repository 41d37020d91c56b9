/* graph.c: making nodes. Hash-consing, canonical operand order, and sums.
 *
 * Needs nothing; leaves a graph in which equal nodes have equal refs. A sum is the one form of `+` and `*` on indices: its terms
 * are never sums or constants, each appears once, sorted by descending |coefficient| and then by structure, with operations
 * compared by name, so that 8 + t*4 + 4*t prints as 8*t + 8 whatever the order in which it was made.
 */
#include "ir/ir.h"

#include <string.h>

enum { FIRST_SLOTS = 256 };

static uint64_t hash_node(const IrGraph *g, const IrNode *n)
{
    uint64_t head[4] = {(uint64_t)n->op | (uint64_t)n->type << 10 | (uint64_t)n->flags << 20, n->a[0] | (uint64_t)n->a[1] << 32,
                        n->a[2], n->imm};
    if (n->op != OP_SUM) return wbb_hash(head, sizeof head, 1);
    head[1] = n->a[1];
    uint64_t h = wbb_hash(head, sizeof head, 2);
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const uint64_t term[2] = {(uint64_t)g->terms[n->a[0] + i].coefficient, g->terms[n->a[0] + i].ref};
        h = wbb_hash(term, sizeof term, h);
    }
    return h;
}

static bool same_node(const IrGraph *g, const IrNode *x, const IrNode *y)
{
    if (x->op != y->op || x->type != y->type || x->flags != y->flags || x->imm != y->imm) return false;
    if (x->op != OP_SUM) return x->a[0] == y->a[0] && x->a[1] == y->a[1] && x->a[2] == y->a[2];
    if (x->a[1] != y->a[1]) return false;
    for (uint32_t i = 0; i < x->a[1]; i++) {
        const IrTerm *s = &g->terms[x->a[0] + i], *t = &g->terms[y->a[0] + i];
        if (s->coefficient != t->coefficient || s->ref != t->ref) return false;
    }
    return true;
}

static void grow_nodes(IrGraph *g)
{
    const uint32_t old = g->room, room = old * 2;
    g->nodes = wbb_grow(g->arena, g->nodes, old * sizeof *g->nodes, wbb_mul_size(g->arena, room, sizeof *g->nodes));
    g->rule = wbb_grow(g->arena, g->rule, old * sizeof *g->rule, room * sizeof *g->rule);
    g->origin = wbb_grow(g->arena, g->origin, old * sizeof *g->origin, room * sizeof *g->origin);
    g->room = room;
}

static void rehash(IrGraph *g)
{
    const uint32_t n = g->n_slots * 2;
    uint32_t *slots = WBB_NEW_N(g->arena, uint32_t, n);
    for (IrRef r = 1; r < g->n; r++) {
        uint64_t h = hash_node(g, &g->nodes[r]);
        while (slots[h & (n - 1)]) h++;
        slots[h & (n - 1)] = r;
    }
    g->slots = slots;
    g->n_slots = n;
}

/* The ref of a node equal to `n`, made now if there is none. */
static IrRef cons(IrGraph *g, const IrNode *n)
{
    uint64_t h = hash_node(g, n);
    for (uint32_t r; (r = g->slots[h & (g->n_slots - 1)]) != 0; h++)
        if (same_node(g, &g->nodes[r], n)) return r;
    if (g->n == g->room) grow_nodes(g);
    const IrRef r = g->n++;
    g->nodes[r] = *n;
    g->rule[r] = g->making_rule;
    g->origin[r] = g->making_origin;
    g->slots[h & (g->n_slots - 1)] = r;
    if (g->n * 2 > g->n_slots) rehash(g);
    return r;
}

IrGraph *ir_graph_new(WbbCx *cx, WbbArena *a)
{
    IrGraph *g = WBB_NEW(a, IrGraph);
    g->cx = cx;
    g->arena = a;
    g->room = FIRST_SLOTS / 2;
    g->nodes = WBB_NEW_N(a, IrNode, g->room);
    g->rule = WBB_NEW_N(a, uint32_t, g->room);
    g->origin = WBB_NEW_N(a, uint32_t, g->room);
    g->n = 1; /* ref 0 means none */
    g->n_slots = FIRST_SLOTS;
    g->slots = WBB_NEW_N(a, uint32_t, g->n_slots);
    return g;
}

/* Commutative operands: constants right, else the smaller ref first. */
static bool must_swap(const IrGraph *g, IrRef a, IrRef b)
{
    const bool ca = ir_is_const(g, a), cb = ir_is_const(g, b);
    return ca != cb ? ca : b < a;
}

IrRef ir_node(IrGraph *g, ScOp op, IrType type, uint32_t flags, IrRef a, IrRef b, IrRef c, uint64_t imm)
{
    assert(op != OP_SUM && a < g->n && b < g->n && c < g->n);
    IrNode n = {.op = (uint32_t)op & 0x3ffu, .type = type & 0x3ffu, .flags = flags & 0xfffu, .a = {a, b, c}, .imm = imm};
    if (sc_op_info[op].commutative && must_swap(g, a, b)) n.a[0] = b, n.a[1] = a;
    return cons(g, &n);
}

IrRef ir_const(IrGraph *g, IrType type, uint64_t bits)
{
    return ir_node(g, OP_CONST, type, 0, 0, 0, 0, bits & sc_mask(IR_SC(type)));
}

IrRef ir_index(IrGraph *g, int64_t value)
{
    return ir_node(g, OP_CONST, IR_TYPE(SC_INDEX, 0), 0, 0, 0, 0, (uint64_t)value);
}

uint32_t ir_var_new(IrGraph *g, const char *name, IrVarKind kind, int64_t lo, int64_t hi, IrRef definition)
{
    if (g->n_vars == g->vars_room) {
        const uint32_t room = g->vars_room ? g->vars_room * 2 : 8;
        g->vars = wbb_grow(g->arena, g->vars, g->vars_room * sizeof *g->vars, room * sizeof *g->vars);
        g->vars_room = room;
    }
    g->vars[g->n_vars] = (IrVar){.name = name, .kind = kind, .lo = lo, .hi = hi, .definition = definition};
    return g->n_vars++;
}

IrRef ir_var(IrGraph *g, uint32_t number)
{
    assert(number < g->n_vars);
    return ir_node(g, OP_VAR, IR_TYPE(SC_INDEX, 0), 0, 0, 0, 0, number);
}

uint32_t ir_operands(const IrGraph *g, IrRef r, IrRef out[3])
{
    const IrNode *n = ir_at(g, r);
    assert(n->op != OP_SUM);
    uint32_t k = 0;
    for (uint32_t i = 0; i < 3; i++)
        if (n->a[i]) out[k++] = n->a[i];
    return k;
}

int ir_compare(const IrGraph *g, IrRef x, IrRef y)
{
    if (x == y) return 0;
    const IrNode *p = ir_at(g, x), *q = ir_at(g, y);
    if (p->op != q->op) return strcmp(sc_op_info[p->op].name, sc_op_info[q->op].name);
    if (p->type != q->type) return p->type < q->type ? -1 : 1;
    if (p->flags != q->flags) return p->flags < q->flags ? -1 : 1;
    if (p->op == OP_SUM) {
        if (p->a[1] != q->a[1]) return p->a[1] < q->a[1] ? -1 : 1;
        for (uint32_t i = 0; i < p->a[1]; i++) {
            const IrTerm s = g->terms[p->a[0] + i], t = g->terms[q->a[0] + i];
            if (s.coefficient != t.coefficient) return s.coefficient > t.coefficient ? -1 : 1;
            const int c = ir_compare(g, s.ref, t.ref);
            if (c) return c;
        }
    } else {
        for (uint32_t i = 0; i < 3; i++)
            if (p->a[i] != q->a[i]) return !p->a[i] ? -1 : !q->a[i] ? 1 : ir_compare(g, p->a[i], q->a[i]);
    }
    return p->imm < q->imm ? -1 : p->imm > q->imm;
}

/* A sum under construction. The coefficients are exact until it is finished. */
typedef struct {
    IrGraph *g;
    WbbI128 constant;
    IrTerm *terms;
    WbbI128 *coefficients;
    uint32_t n, room;
    bool overflow;
} Adding;

static void add_term(Adding *s, WbbI128 k, IrRef r)
{
    const IrNode *n = ir_at(s->g, r);
    if (n->op == OP_CONST) {
        s->constant += k * (int64_t)n->imm;
        return;
    }
    if (n->op == OP_SUM) {
        s->constant += k * (int64_t)n->imm;
        const uint32_t first = n->a[0], count = n->a[1];
        for (uint32_t i = 0; i < count; i++) add_term(s, k * s->g->terms[first + i].coefficient, s->g->terms[first + i].ref);
        return;
    }
    for (uint32_t i = 0; i < s->n; i++)
        if (s->terms[i].ref == r) {
            s->coefficients[i] += k;
            return;
        }
    if (s->n == s->room) {
        const uint32_t room = s->room ? s->room * 2 : 8;
        s->terms = wbb_grow(s->g->arena, s->terms, s->room * sizeof *s->terms, room * sizeof *s->terms);
        s->coefficients = wbb_grow(s->g->arena, s->coefficients, s->room * sizeof *s->coefficients, room * sizeof *s->coefficients);
        s->room = room;
    }
    s->terms[s->n].ref = r;
    s->coefficients[s->n++] = k;
}

static bool fits_i64(WbbI128 x) { return x >= INT64_MIN && x <= INT64_MAX; }

static bool before(const IrGraph *g, IrTerm x, IrTerm y)
{
    const WbbI128 i = x.coefficient, j = y.coefficient, p = i < 0 ? -i : i, q = j < 0 ? -j : j;
    return p != q ? p > q : ir_compare(g, x.ref, y.ref) < 0;
}

/* Drop zero terms, check the range, sort (sums are short: insertion). */
static void finish(Adding *s)
{
    uint32_t n = 0;
    s->overflow |= !fits_i64(s->constant);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->coefficients[i] == 0) continue;
        s->overflow |= !fits_i64(s->coefficients[i]);
        IrTerm t = {.coefficient = (int64_t)s->coefficients[i], .ref = s->terms[i].ref};
        uint32_t at = n++;
        for (; at > 0 && before(s->g, t, s->terms[at - 1]); at--) s->terms[at] = s->terms[at - 1];
        s->terms[at] = t;
    }
    s->n = n;
}

static uint32_t keep_terms(IrGraph *g, const IrTerm *terms, uint32_t n)
{
    if (g->n_terms + n > g->terms_room) {
        const uint32_t room = WBB_MAX(g->terms_room * 2, g->n_terms + n + 32);
        g->terms = wbb_grow(g->arena, g->terms, g->terms_room * sizeof *g->terms, room * sizeof *g->terms);
        g->terms_room = room;
    }
    memcpy(g->terms + g->n_terms, terms, n * sizeof *terms);
    return g->n_terms;
}

/* The ref of a sum with these n.a[1] terms, which are copied into the pool. */
static IrRef cons_sum(IrGraph *g, const IrNode *sum, const IrTerm *terms)
{
    IrNode n = *sum;
    n.a[0] = keep_terms(g, terms, n.a[1]);
    const uint32_t before = g->n;
    const IrRef r = cons(g, &n);
    if (g->n > before) g->n_terms += n.a[1]; /* new: its terms stay */
    return r;
}

IrRef ir_sum(IrGraph *g, int64_t constant, const IrTerm *terms, uint32_t n, bool *overflow)
{
    Adding s = {.g = g, .constant = constant};
    for (uint32_t i = 0; i < n; i++) add_term(&s, terms[i].coefficient, terms[i].ref);
    finish(&s);
    if (s.overflow) {
        if (!overflow) wbb_fail(g->cx, (WbbLoc){0}, "index arithmetic leaves 64 bits");
        *overflow = true;
        return 0;
    }
    if (s.n == 0) return ir_index(g, (int64_t)s.constant);
    if (s.n == 1 && s.constant == 0 && s.terms[0].coefficient == 1) return s.terms[0].ref;
    const IrNode node = {.op = OP_SUM, .type = IR_TYPE(SC_INDEX, 0), .a = {0, s.n, 0}, .imm = (uint64_t)(int64_t)s.constant};
    return cons_sum(g, &node, s.terms);
}

IrRef ir_copy(IrGraph *g, IrRef r, const IrRef *made, uint32_t flags)
{
    IrNode n = *ir_at(g, r);
    n.flags = flags & 0xfffu;
    if (n.op != OP_SUM) {
        for (uint32_t i = 0; i < 3; i++) n.a[i] = n.a[i] ? made[n.a[i]] : 0;
        return cons(g, &n);
    }
    IrTerm *terms = WBB_NEW_N(g->arena, IrTerm, n.a[1]);
    for (uint32_t i = 0; i < n.a[1]; i++) {
        const IrTerm t = g->terms[n.a[0] + i];
        terms[i] = (IrTerm){.coefficient = t.coefficient, .ref = made[t.ref]};
    }
    return cons_sum(g, &n, terms);
}

IrStmt *ir_stmt(IrGraph *g, IrBlock *block, IrStmtKind kind)
{
    IrStmt *s = WBB_NEW(g->arena, IrStmt);
    s->kind = kind;
    WBB_PUSH(g->arena, block, s);
    return s;
}
