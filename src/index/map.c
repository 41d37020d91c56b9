/* map.c: builds index maps, and replaces their variables by other nodes.
 *
 * Needs nodes of one graph; leaves maps whose variables are in order: dimensions, then ranges, then run-time variables.
 * A map that was read from text holds nodes as they were written. Every function that replaces a node builds the nodes
 * above it with the functions of rewrite.h, so that the result is simplified as far as facts about single nodes go.
 *
 *     (d0)[s0] -> (d0 * 4 + s0), d0 := 2 * d0 + 1    =>   (d0)[s0] -> (d0 * 8 + s0 + 4)
 */
#include "index/inner.h"

#include <stdio.h>
#include <string.h>

static const char *const prefixes[] = {[IX_DIMENSION] = "d", [IX_RANGE] = "s", [IX_RUNTIME] = "rt"};

RwCx *ix_engine(WbbCx *cx, WbbArena *a)
{
    static const RwTables no_tables = {.name = "none"};
    return rw_new(cx, a, ir_graph_new(cx, a), &ix_tables, &no_tables, false);
}

IxMap *ix_map_new(WbbArena *a) { return WBB_NEW(a, IxMap); }

IxMap *ix_map_of_state(WbbArena *a, IxState state)
{
    IxMap *m = ix_map_new(a);
    m->state = state;
    return m;
}

uint32_t ix_map_find(const IxMap *m, const char *name)
{
    uint32_t i = 0;
    while (i < m->vars.n && strcmp(m->vars.items[i].name, name)) i++;
    return i;
}

uint32_t ix_map_count(const IxMap *m, IxKind kind)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->vars.n; i++) n += m->vars.items[i].kind == kind;
    return n;
}

/* Is `name` one that ix_map_name gives to variables of the kind? */
static bool is_usual(IxKind kind, const char *name)
{
    const char *prefix = prefixes[kind], *p = name + strlen(prefix);
    if (strncmp(name, prefix, strlen(prefix)) || *p < '0' || *p > '9' || (*p == '0' && p[1])) return false;
    while (*p >= '0' && *p <= '9') p++;
    return *p == 0;
}

const char *ix_map_name(WbbArena *a, const IxMap *m, IxKind kind)
{
    for (uint32_t n = ix_map_count(m, kind);; n++) {
        const char *name = wbb_format(a, "%s%u", prefixes[kind], n);
        if (ix_map_find(m, name) == m->vars.n) return name;
    }
}

void ix_map_insert(WbbArena *a, IxMap *m, IxVar v)
{
    WBB_PUSH(a, &m->vars, v);
    uint32_t at = m->vars.n - 1;
    for (; at > 0 && m->vars.items[at - 1].kind > v.kind; at--) m->vars.items[at] = m->vars.items[at - 1];
    m->vars.items[at] = v;
    if (v.lo > v.hi) m->state = IX_EMPTY;
}

IrRef ix_variable(IrGraph *g, const char *name, int64_t lo, int64_t hi)
{
    return ir_var(g, ir_var_new(g, name, IR_LOOP, lo, WBB_MAX(lo, hi), 0));
}

IrRef ix_map_var(RwCx *rw, WbbArena *a, IxMap *m, IxKind kind, const char *name, int64_t lo, int64_t hi)
{
    const IrRef node = ix_variable(rw_graph(rw), name, lo, hi);
    assert(ix_map_find(m, name) == m->vars.n);
    ix_map_insert(a, m, (IxVar){.name = name, .kind = kind, .lo = lo, .hi = hi, .node = node});
    return node;
}

void ix_map_result(WbbArena *a, IxMap *m, IrRef result) { WBB_PUSH(a, &m->results, result); }

void ix_map_constrain(WbbArena *a, IxMap *m, IrRef expression, int64_t lo, int64_t hi)
{
    const IxConstraint c = {expression, lo, hi};
    if (lo > hi) m->state = IX_EMPTY;
    WBB_PUSH(a, &m->constraints, c);
}

IxMap *ix_map_copy(WbbArena *a, const IxMap *m)
{
    IxMap *c = ix_map_of_state(a, m->state);
    for (uint32_t i = 0; i < m->vars.n; i++) WBB_PUSH(a, &c->vars, m->vars.items[i]);
    for (uint32_t i = 0; i < m->results.n; i++) WBB_PUSH(a, &c->results, m->results.items[i]);
    for (uint32_t i = 0; i < m->constraints.n; i++) WBB_PUSH(a, &c->constraints, m->constraints.items[i]);
    return c;
}

/* --- substitution ------------------------------------------------------------------------------------------------- */
IrRef ix_substitute_of(const IxSubstitution *s, IrRef from)
{
    const WbbEntry *e = wbb_map_get(&s->nodes, from);
    return e ? (IrRef)e->value : 0;
}

void ix_substitute(IxSubstitution *s, IrRef from, IrRef to) { wbb_map_put(&s->nodes, from)->value = to; }

/* No rule is about products of two factors, neither a constant; only the coefficients of single terms move out of
 * them. */
IrRef ix_product(IrGraph *g, IrRef x, IrRef y, WbbI128 *coefficient)
{
    IrRef factor[2] = {x, y};
    *coefficient = 1;
    for (uint32_t i = 0; i < 2; i++) {
        const IrNode *n = ir_at(g, factor[i]);
        if (n->op != OP_SUM || n->a[1] != 1 || n->imm) continue;
        const IrTerm t = g->terms[n->a[0]];
        *coefficient *= t.coefficient; /* at most two factors of 64 bits */
        factor[i] = t.ref;
    }
    return ir_node(g, OP_MUL, IR_TYPE(SC_INDEX, 0), 0, factor[0], factor[1], 0, 0);
}

static IrRef product(RwCx *rw, IrRef x, IrRef y)
{
    IrGraph *g = rw_graph(rw);
    if (ir_is_const(g, x)) return rw_scale(rw, y, (int64_t)ir_at(g, x)->imm);
    if (ir_is_const(g, y)) return rw_scale(rw, x, (int64_t)ir_at(g, y)->imm);
    WbbI128 k;
    const IrRef both = ix_product(g, x, y, &k);
    if (k < INT64_MIN || k > INT64_MAX) wbb_fail(g->cx, (WbbLoc){0}, "index arithmetic leaves 64 bits");
    return rw_scale(rw, both, (int64_t)k);
}

IrRef ix_rebuild(IxSubstitution *s, IrRef r)
{
    const IrRef known = ix_substitute_of(s, r);
    if (known) return known;
    const IrGraph *from = s->from ? s->from : rw_graph(s->rw);
    const IrNode n = *ir_at(from, r);
    IrRef made = r;
    if (n.op == OP_SUM) {
        IrTerm *terms = WBB_NEW_N(s->nodes.arena, IrTerm, n.a[1]);
        for (uint32_t i = 0; i < n.a[1]; i++) {
            const IrTerm t = from->terms[n.a[0] + i];
            terms[i] = (IrTerm){.coefficient = t.coefficient, .ref = ix_rebuild(s, t.ref)};
        }
        made = rw_sum(s->rw, (int64_t)n.imm, terms, n.a[1]);
    } else if (n.op != OP_VAR && n.op != OP_CONST) {
        const IrRef x = ix_rebuild(s, n.a[0]), y = ix_rebuild(s, n.a[1]);
        const bool choice = n.op == OP_MIN || n.op == OP_MAX;
        made = choice && x == y ? x
               : n.op == OP_MUL ? product(s->rw, x, y)
                                : rw_make(s->rw, (ScOp)n.op, n.type, 0, x, y, 0, 0);
    } else if (n.op == OP_CONST && s->from) {
        made = ir_index(rw_graph(s->rw), (int64_t)n.imm);
    }
    ix_substitute(s, r, made);
    return made;
}

static void rebuild_map(IxSubstitution *s, IxMap *m)
{
    for (uint32_t i = 0; i < m->results.n; i++) m->results.items[i] = ix_rebuild(s, m->results.items[i]);
    for (uint32_t i = 0; i < m->constraints.n; i++)
        m->constraints.items[i].expression = ix_rebuild(s, m->constraints.items[i].expression);
    for (uint32_t i = 0; i < m->vars.n; i++) {
        IxVar *v = &m->vars.items[i];
        if (!v->at) continue;
        IrRef *at = WBB_NEW_N(s->nodes.arena, IrRef, v->n_at + 1);
        for (uint32_t k = 0; k < v->n_at; k++) at[k] = ix_rebuild(s, v->at[k]);
        v->at = at;
    }
}

IxMap *ix_map_renew(RwCx *rw, WbbArena *a, const IxMap *m, const IxVar *vars)
{
    IxMap *made = ix_map_of_state(a, m->state);
    IxSubstitution s = {.rw = rw, .nodes = {.arena = a}};
    for (uint32_t i = 0; i < m->vars.n; i++) {
        IxVar v = vars[i];
        v.node = ix_variable(rw_graph(rw), v.name, v.lo, v.hi);
        ix_substitute(&s, m->vars.items[i].node, v.node);
        ix_map_insert(a, made, v);
    }
    for (uint32_t i = 0; i < m->results.n; i++) WBB_PUSH(a, &made->results, m->results.items[i]);
    for (uint32_t i = 0; i < m->constraints.n; i++) WBB_PUSH(a, &made->constraints, m->constraints.items[i]);
    rebuild_map(&s, made);
    return made;
}

void ix_map_at(RwCx *rw, WbbArena *a, const IrGraph *of, const IxMap *m, const IrRef *point, IrRef *results,
               IrRef *constraints)
{
    IxSubstitution s = {.rw = rw, .from = of, .nodes = {.arena = a}};
    for (uint32_t i = 0; i < m->vars.n; i++) ix_substitute(&s, m->vars.items[i].node, point[i]);
    for (uint32_t i = 0; i < m->results.n; i++) results[i] = ix_rebuild(&s, m->results.items[i]);
    for (uint32_t i = 0; constraints && i < m->constraints.n; i++)
        constraints[i] = ix_rebuild(&s, m->constraints.items[i].expression);
}

/* --- which variables are used ------------------------------------------------------------------------------------- */
typedef struct {
    const IrGraph *g;
    const IxMap *m;
    uint8_t *used; /* by number of the map's variable */
    WbbMap seen; /* nodes */
} Uses;

static void mark(Uses *u, IrRef r)
{
    if (wbb_map_get(&u->seen, r)) return;
    wbb_map_put(&u->seen, r);
    const IrNode *n = ir_at(u->g, r);
    if (n->op == OP_SUM) {
        for (uint32_t i = 0; i < n->a[1]; i++) mark(u, u->g->terms[n->a[0] + i].ref);
    } else if (n->op == OP_VAR) {
        for (uint32_t i = 0; i < u->m->vars.n; i++) u->used[i] |= u->m->vars.items[i].node == r;
    } else if (n->op != OP_CONST) {
        mark(u, n->a[0]);
        mark(u, n->a[1]);
    }
}

void ix_map_uses(RwCx *rw, WbbArena *a, const IxMap *m, const IrRef *expressions, uint32_t n, uint8_t *used)
{
    Uses u = {.g = rw_graph(rw), .m = m, .used = used, .seen = {.arena = a}};
    for (uint32_t i = 0; i < n; i++) mark(&u, expressions[i]);
}

/* --- names -------------------------------------------------------------------------------------------------------- */
void ix_map_renumber(WbbArena *a, IxMap *m, IxKind kind)
{
    for (uint32_t i = 0; i < m->vars.n; i++)
        if (m->vars.items[i].kind == kind && !is_usual(kind, m->vars.items[i].name)) return;
    for (uint32_t i = 0, n = 0; i < m->vars.n; i++)
        if (m->vars.items[i].kind == kind) m->vars.items[i].name = wbb_format(a, "%s%u", prefixes[kind], n++);
}

bool ix_is_usual_name(const IxVar *v) { return is_usual(v->kind, v->name); }
