/* graph.c: making nodes. Hash-consing, canonical operand order, and sums.
 *
 * Needs nothing; leaves a graph in which equal nodes have equal refs. A sum is the one form of `+` and `*` on indices:
 * its terms are never sums or constants, each appears once, sorted by descending |coefficient| and then by structure,
 * with operations compared by name, so that 8 + t*4 + 4*t prints as 8*t + 8 in whatever order it was made.
 */
#include "ir/ir.h"

#include <string.h>

enum { FIRST_SLOTS = 256 };

/* A node as three words, which tell nodes apart except by the terms of a sum or a call. */
typedef struct {
    uint64_t w[3];
} Words;

static Words words_of(const IrNode *n)
{
    Words x;
    static_assert(sizeof x == sizeof *n, "a node has no padding");
    memcpy(&x, n, sizeof x);
    return x;
}

/* One multiplication, both halves: every bit of the operands reaches the middle of the result. */
static uint64_t mix(uint64_t x, uint64_t y)
{
    const WbbU128 p = (WbbU128)(x ^ UINT64_C(0x9e3779b97f4a7c15)) * (y ^ UINT64_C(0xd6e8feb86659fd93));
    return (uint64_t)p ^ (uint64_t)(p >> 64);
}

static uint32_t hash_node(const IrGraph *g, const IrNode *n)
{
    Words x = words_of(n);
    if (ir_in_pool(n)) {
        x.w[0] &= UINT32_MAX; /* without a[0], where its terms begin */
        for (uint32_t i = 0; i < n->a[1]; i++) {
            const IrTerm t = g->terms[n->a[0] + i];
            x.w[2] = mix(x.w[2] ^ t.ref, (uint64_t)t.coefficient);
        }
    }
    const uint64_t h = mix(x.w[0] ^ x.w[2] * UINT64_C(0xa0761d6478bd642f), x.w[1]);
    return (uint32_t)(h ^ h >> 32);
}

static bool same_node(const IrGraph *g, const IrNode *x, const IrNode *y)
{
    const Words v = words_of(x), w = words_of(y);
    if (!ir_in_pool(x)) return v.w[0] == w.w[0] && v.w[1] == w.w[1] && v.w[2] == w.w[2];
    if ((uint32_t)v.w[0] != (uint32_t)w.w[0] || x->a[1] != y->a[1] || x->imm != y->imm) return false;
    for (uint32_t i = 0; i < x->a[1]; i++) {
        const IrTerm *s = &g->terms[x->a[0] + i], *t = &g->terms[y->a[0] + i];
        if (s->coefficient != t->coefficient || s->ref != t->ref) return false;
    }
    return true;
}

static void grow_nodes(IrGraph *g)
{
    const uint32_t old = g->capacity, capacity = old * 2;
    g->nodes = wbb_grow(g->arena, g->nodes, old * sizeof *g->nodes, wbb_mul_size(g->arena, capacity, sizeof *g->nodes));
    g->rule = wbb_grow(g->arena, g->rule, old * sizeof *g->rule, capacity * sizeof *g->rule);
    g->origin = wbb_grow(g->arena, g->origin, old * sizeof *g->origin, capacity * sizeof *g->origin);
    g->capacity = capacity;
}

/* The table of slots is made of lines. A node is looked for first in the line of its newest operand, so that nodes made
 * one after the other, as nearly all are, are found in the same few lines of the cache; where that line is full, from a
 * line of its hash on. A slot holds a ref, and above it as many bits of the hash as fit; 0 is free. Half of the slots
 * at least are free. A wbb_map, which knows nothing of operands, costs a third more time a node (rewrite_nodes
 * random). */
enum { LINE = 16 };

/* The slot of `n`, whose hash is h, or the free slot where it belongs. */
static uint32_t find_slot(const IrGraph *g, const IrNode *n, uint32_t h)
{
    const uint32_t low = g->n_slots - 1, lines = low / LINE;
    IrRef newest = WBB_MAX(n->a[0], WBB_MAX(n->a[1], n->a[2]));
    if (ir_in_pool(n)) newest = n->a[1] ? g->terms[n->a[0]].ref : 0;
    uint32_t line = newest ? newest / (LINE / 2) & lines : h / LINE & lines;
    for (bool own = true;; own = false) {
        for (uint32_t i = 0; i < LINE; i++) {
            const uint32_t at = line * LINE + ((h + i) & (LINE - 1)), slot = g->slots[at];
            if (slot == 0 || (((slot ^ h) & ~low) == 0 && same_node(g, &g->nodes[slot & low], n))) return at;
        }
        line = own ? h / LINE & lines : (line + 1) & lines;
    }
}

static void grow_slots(IrGraph *g)
{
    g->n_slots *= 2;
    g->slots = WBB_NEW_N(g->arena, uint32_t, g->n_slots);
    for (IrRef r = 1; r < g->n; r++) {
        const uint32_t h = hash_node(g, &g->nodes[r]);
        g->slots[find_slot(g, &g->nodes[r], h)] = (h & ~(g->n_slots - 1)) | r;
    }
}

/* The ref of a node equal to `n`, which is added if there is none. */
static IrRef cons(IrGraph *g, const IrNode *n)
{
    const uint32_t h = hash_node(g, n), at = find_slot(g, n, h), low = g->n_slots - 1;
    if (g->slots[at]) return g->slots[at] & low;
    if (g->n == g->capacity) grow_nodes(g);
    const IrRef r = g->n++;
    g->nodes[r] = *n;
    g->rule[r] = g->making_rule;
    g->origin[r] = g->making_origin;
    g->slots[at] = (h & ~low) | r;
    if (g->n * 2 > g->n_slots) grow_slots(g);
    return r;
}

IrGraph *ir_graph_new(WbbCx *cx, WbbArena *a)
{
    IrGraph *g = WBB_NEW(a, IrGraph);
    g->cx = cx;
    g->arena = a;
    g->capacity = FIRST_SLOTS / 2;
    g->nodes = WBB_NEW_N(a, IrNode, g->capacity);
    g->rule = WBB_NEW_N(a, uint32_t, g->capacity);
    g->origin = WBB_NEW_N(a, uint32_t, g->capacity);
    g->n = 1; /* ref 0 means none */
    g->n_slots = FIRST_SLOTS;
    g->slots = WBB_NEW_N(a, uint32_t, g->n_slots);
    return g;
}

/* Commutative operands: constants right, else the smaller ref first. Indices are ordered by structure, so that their
 * form does not depend on what was made before. */
static bool must_swap(const IrGraph *g, IrRef a, IrRef b)
{
    const bool ca = ir_is_const(g, a), cb = ir_is_const(g, b);
    if (ca != cb) return ca;
    return IR_SC(ir_at(g, a)->type) == SC_INDEX ? ir_compare(g, b, a) < 0 : b < a;
}

IrRef ir_node(IrGraph *g, ScOp op, IrType type, uint32_t flags, IrRef a, IrRef b, IrRef c, uint64_t imm)
{
    assert(op != OP_SUM && a < g->n && b < g->n && c < g->n);
    IrNode n = {
        .op = (uint32_t)op & 0x3ffu, .type = type & 0x3ffu, .flags = flags & 0xfffu, .a = {a, b, c}, .imm = imm};
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
    if (g->n_vars == g->vars_capacity) {
        const uint32_t capacity = g->vars_capacity ? g->vars_capacity * 2 : 8;
        g->vars = wbb_grow(g->arena, g->vars, g->vars_capacity * sizeof *g->vars, capacity * sizeof *g->vars);
        g->vars_capacity = capacity;
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
    assert(!ir_in_pool(n));
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
    /* permissions last: a kernel that does not use one is the same with it */
    const uint32_t own = ~(uint32_t)SC_PERMISSIONS;
    if ((p->flags & own) != (q->flags & own)) return (p->flags & own) < (q->flags & own) ? -1 : 1;
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
    if (p->imm != q->imm) return p->imm < q->imm ? -1 : 1;
    return p->flags < q->flags ? -1 : p->flags > q->flags;
}

/* A sum under construction. Coefficients have 128 bits until it is finished. */
typedef struct {
    IrGraph *g;
    WbbI128 constant;
    IrTerm *terms;
    WbbI128 *coefficients;
    uint32_t n, capacity;
    WbbMap numbers; /* of long sums: their refs, in the order of `terms` */
    bool overflow;
} SumBuilder;

enum { SHORT_SUM = 32 };

/* The number of r among the terms; s->n, the number of a new term, if it is none of them. */
static uint32_t term_number(SumBuilder *s, IrRef r)
{
    if (s->n < SHORT_SUM) {
        uint32_t i = 0;
        while (i < s->n && s->terms[i].ref != r) i++;
        return i;
    }
    while (s->numbers.n < s->n) wbb_map_put(&s->numbers, s->terms[s->numbers.n].ref); /* those of the short sum */
    const WbbEntry *e = wbb_map_put(&s->numbers, r);
    return (uint32_t)(e - s->numbers.entries);
}

static void add_term(SumBuilder *s, WbbI128 k, IrRef r)
{
    const IrNode *n = ir_at(s->g, r);
    if (n->op == OP_CONST) {
        s->overflow |= __builtin_add_overflow(s->constant, k * (int64_t)n->imm, &s->constant);
        return;
    }
    if (n->op == OP_SUM) {
        s->overflow |= __builtin_add_overflow(s->constant, k * (int64_t)n->imm, &s->constant);
        const uint32_t first = n->a[0], count = n->a[1];
        for (uint32_t i = 0; i < count; i++)
            add_term(s, k * s->g->terms[first + i].coefficient, s->g->terms[first + i].ref);
        return;
    }
    const uint32_t at = term_number(s, r);
    if (at < s->n) {
        s->overflow |= __builtin_add_overflow(s->coefficients[at], k, &s->coefficients[at]);
        return;
    }
    if (s->n == s->capacity) {
        const uint32_t capacity = s->capacity ? s->capacity * 2 : 8;
        s->terms = wbb_grow(s->g->arena, s->terms, s->capacity * sizeof *s->terms, capacity * sizeof *s->terms);
        s->coefficients = wbb_grow(s->g->arena, s->coefficients, s->capacity * sizeof *s->coefficients,
                                   capacity * sizeof *s->coefficients);
        s->capacity = capacity;
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

/* A merge sort from the bottom up; runs of SHORT_SUM terms are sorted by insertion. */
static void sort_terms(IrGraph *g, IrTerm *terms, uint32_t n)
{
    for (uint32_t start = 0; start < n; start += SHORT_SUM)
        for (uint32_t i = start + 1; i < n && i < start + SHORT_SUM; i++) {
            const IrTerm t = terms[i];
            uint32_t at = i;
            for (; at > start && before(g, t, terms[at - 1]); at--) terms[at] = terms[at - 1];
            terms[at] = t;
        }
    if (n <= SHORT_SUM) return;
    IrTerm *other = WBB_NEW_N(g->arena, IrTerm, n);
    for (uint32_t run = SHORT_SUM; run < n; run *= 2)
        for (uint32_t start = 0; start + run < n; start += run * 2) {
            const uint32_t middle = start + run, end = WBB_MIN(middle + run, n);
            uint32_t x = start, y = middle;
            if (!before(g, terms[middle], terms[middle - 1])) continue;
            for (uint32_t i = start; i < end; i++)
                other[i] = y == end || (x < middle && !before(g, terms[y], terms[x])) ? terms[x++] : terms[y++];
            memcpy(terms + start, other + start, (end - start) * sizeof *terms);
        }
}

/* Drop zero terms, check the range, sort. */
static void finish(SumBuilder *s)
{
    uint32_t n = 0;
    s->overflow |= !fits_i64(s->constant);
    for (uint32_t i = 0; i < s->n; i++) {
        if (s->coefficients[i] == 0) continue;
        s->overflow |= !fits_i64(s->coefficients[i]);
        s->terms[n++] = (IrTerm){.coefficient = (int64_t)s->coefficients[i], .ref = s->terms[i].ref};
    }
    s->n = n;
    sort_terms(s->g, s->terms, n);
}

static uint32_t keep_terms(IrGraph *g, const IrTerm *terms, uint32_t n)
{
    if (g->n_terms + n > g->terms_capacity) {
        const uint32_t capacity = WBB_MAX(g->terms_capacity * 2, g->n_terms + n + 32);
        g->terms = wbb_grow(g->arena, g->terms, g->terms_capacity * sizeof *g->terms, capacity * sizeof *g->terms);
        g->terms_capacity = capacity;
    }
    if (n) memcpy(g->terms + g->n_terms, terms, n * sizeof *terms); /* of nothing, the pool may not be there */
    return g->n_terms;
}

/* The ref of a sum with these n.a[1] terms, which are copied into the pool. */
static IrRef cons_sum(IrGraph *g, const IrNode *sum, const IrTerm *terms)
{
    IrNode n = *sum;
    n.a[0] = keep_terms(g, terms, n.a[1]);
    const uint32_t before = g->n;
    const IrRef r = cons(g, &n);
    if (g->n > before) g->n_terms += n.a[1]; /* a new node: keep its terms */
    return r;
}

IrRef ir_sum(IrGraph *g, int64_t constant, const IrTerm *terms, uint32_t n, bool *overflow)
{
    SumBuilder s = {.g = g, .constant = constant, .numbers = {.arena = g->arena}};
    for (uint32_t i = 0; i < n; i++) add_term(&s, terms[i].coefficient, terms[i].ref);
    finish(&s);
    if (s.overflow) {
        if (!overflow) wbb_fail(g->cx, (WbbLoc){0}, "index arithmetic leaves 64 bits");
        *overflow = true;
        return 0;
    }
    if (s.n == 0) return ir_index(g, (int64_t)s.constant);
    if (s.n == 1 && s.constant == 0 && s.terms[0].coefficient == 1) return s.terms[0].ref;
    const IrNode node = {
        .op = OP_SUM, .type = IR_TYPE(SC_INDEX, 0), .a = {0, s.n, 0}, .imm = (uint64_t)(int64_t)s.constant};
    return cons_sum(g, &node, s.terms);
}

IrRef ir_call(IrGraph *g, uint32_t callee, uint32_t which, IrType type, const IrRef *args, uint32_t n)
{
    const IrNode node = {.op = OP_CALL, .type = type & 0x3ffu, .a = {0, n, 0}, .imm = callee | (uint64_t)which << 32};
    IrTerm *terms = WBB_NEW_N(g->arena, IrTerm, n + 1);
    for (uint32_t i = 0; i < n; i++) terms[i] = (IrTerm){.coefficient = 1, .ref = args[i]};
    return cons_sum(g, &node, terms);
}

IrRef ir_copy(IrGraph *g, IrRef r, const IrRef *made, uint32_t flags)
{
    IrNode n = *ir_at(g, r);
    n.flags = flags & 0xfffu;
    if (!ir_in_pool(&n)) {
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
