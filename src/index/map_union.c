/* map_union.c: merges maps, such as all accesses of one instruction to one operand, into fewer.
 *
 * Needs maps whose dimensions are the same; leaves maps that together give the same elements at every point. It merges
 * two maps that are equal, of which one contains the other, or that are adjacent in one variable, and several at equal
 * distances:
 *
 *     (d0) -> (d0), (d0) -> (d0 + 1), (d0) -> (d0 + 2)   =>   (d0)[s0] -> (d0 + s0), s0 in [0, 2]
 */
#include "index/inner.h"

#include <string.h>

typedef struct {
    WbbArena *a;
    RwCx *rw;
    IxMap **maps;
    uint32_t n;
} Union;

/* A text of all of a map but the constants of its results and the intervals of its variables: maps with the same text
 * differ in these alone. */
static const char *skeleton(const Union *u, const IxMap *m)
{
    IrGraph *g = rw_graph(u->rw);
    WbbBuf b = wbb_buf(u->a);
    IxMap bare = *m;
    bare.results.n = 0;
    ix_map_print(&b, g, &bare);
    char *domain = strstr(b.text, ", domain: "); /* intervals stand first, one a variable */
    for (uint32_t i = 0; domain && i <= m->vars.n; i++) domain = i ? strchr(domain, ']') + 1 : domain;
    WbbBuf all = wbb_buf(u->a);
    for (uint32_t i = 0; i < m->vars.n; i++)
        wbb_putf(&all, "%u%s ", (unsigned)m->vars.items[i].kind, m->vars.items[i].name);
    wbb_put(&all, domain ? domain : "");
    for (uint32_t i = 0; i < m->results.n; i++) {
        const IrNode n = *ir_at(g, m->results.items[i]);
        wbb_put(&all, " -> ");
        if (n.op == OP_SUM) ix_put_expression(&all, g, ir_sum(g, 0, g->terms + n.a[0], n.a[1], NULL));
        else if (n.op != OP_CONST) ix_put_expression(&all, g, m->results.items[i]);
    }
    return all.text;
}

static int64_t constant_of(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    return n->op == OP_SUM || n->op == OP_CONST ? (int64_t)n->imm : 0;
}

static bool same_constants(const IrGraph *g, const IxMap *x, const IxMap *y)
{
    for (uint32_t i = 0; i < x->results.n; i++)
        if (constant_of(g, x->results.items[i]) != constant_of(g, y->results.items[i])) return false;
    return true;
}

/* Do the intervals of at most one variable differ? *differs is its number; vars.n: all are equal. */
static bool one_differs(const IxMap *x, const IxMap *y, uint32_t *differs)
{
    *differs = x->vars.n;
    for (uint32_t i = 0; i < x->vars.n; i++) {
        if (x->vars.items[i].lo == y->vars.items[i].lo && x->vars.items[i].hi == y->vars.items[i].hi) continue;
        if (*differs != x->vars.n) return false;
        *differs = i;
    }
    return true;
}

static bool holds(const IxMap *x, const IxMap *y)
{
    for (uint32_t i = 0; i < x->vars.n; i++)
        if (y->vars.items[i].lo < x->vars.items[i].lo || y->vars.items[i].hi > x->vars.items[i].hi) return false;
    return true;
}

static void drop(Union *u, uint32_t k)
{
    u->n--;
    for (uint32_t i = k; i < u->n; i++) u->maps[i] = u->maps[i + 1];
}

/* Merges map k into map i; false if they cannot be one map. */
static bool join(Union *u, uint32_t i, uint32_t k)
{
    IrGraph *g = rw_graph(u->rw);
    const IxMap *x = u->maps[i], *y = u->maps[k];
    uint32_t at;
    if (x->results.n != y->results.n || x->vars.n != y->vars.n || strcmp(skeleton(u, x), skeleton(u, y)) ||
        !same_constants(g, x, y))
        return false;
    if (holds(x, y)) return true;
    if (holds(y, x)) return u->maps[i] = u->maps[k], true;
    if (!one_differs(x, y, &at)) return false;
    const IxVar *v = &x->vars.items[at], *w = &y->vars.items[at];
    if ((WbbI128)v->hi + 1 < w->lo || (WbbI128)w->hi + 1 < v->lo) return false;
    IxMap *both = ix_map_copy(u->a, x);
    both->vars.items[at].lo = WBB_MIN(v->lo, w->lo);
    both->vars.items[at].hi = WBB_MAX(v->hi, w->hi);
    u->maps[i] = ix_map_renew(u->rw, u->a, both, both->vars.items);
    return true;
}

/* --- equal distances ---------------------------------------------------------------------------------------------- */
static int by_constants(const IrGraph *g, const IxMap *x, const IxMap *y)
{
    for (uint32_t i = 0; i < x->results.n; i++) {
        const int64_t c = constant_of(g, x->results.items[i]), d = constant_of(g, y->results.items[i]);
        if (c != d) return c < d ? -1 : 1;
    }
    return 0;
}

/* The numbers of the maps that differ from maps[i] in constants alone, i among them, sorted by the constants. */
static uint32_t group_of(const Union *u, uint32_t i, uint32_t *members)
{
    const IrGraph *g = rw_graph(u->rw);
    const char *mine = skeleton(u, u->maps[i]);
    uint32_t n = 0, differs;
    for (uint32_t k = 0; k < u->n; k++) {
        const IxMap *x = u->maps[i], *y = u->maps[k];
        if (x->results.n != y->results.n || x->vars.n != y->vars.n || strcmp(mine, skeleton(u, y))) continue;
        if (!one_differs(x, y, &differs) || differs != x->vars.n) continue;
        uint32_t at = n++;
        for (; at > 0 && by_constants(g, u->maps[members[at - 1]], y) > 0; at--) members[at] = members[at - 1];
        members[at] = k;
    }
    return n;
}

static bool step(const Union *u, const uint32_t *members, uint32_t n, IxMap *made)
{
    IrGraph *g = rw_graph(u->rw);
    const IxMap *first = u->maps[members[0]];
    const IrRef s = ix_map_var(u->rw, u->a, made, IX_RANGE, ix_map_name(u->a, made, IX_RANGE), 0, n - 1);
    for (uint32_t i = 0; i < first->results.n; i++) {
        int64_t delta;
        const int64_t c = constant_of(g, first->results.items[i]);
        if (__builtin_sub_overflow(constant_of(g, u->maps[members[1]]->results.items[i]), c, &delta)) return false;
        for (uint32_t k = 1; k < n; k++)
            if ((WbbI128)constant_of(g, u->maps[members[k]]->results.items[i]) != (WbbI128)c + (WbbI128)delta * k)
                return false;
        made->results.items[i] = rw_add(u->rw, first->results.items[i], rw_scale(u->rw, s, delta));
    }
    return true;
}

static void join_steps(Union *u)
{
    uint32_t *members = WBB_NEW_N(u->a, uint32_t, u->n + 1u);
    for (uint32_t i = 0; i < u->n; i++) {
        const uint32_t n = group_of(u, i, members);
        if (n < 2) continue;
        IxMap *made = ix_map_copy(u->a, u->maps[members[0]]);
        if (!step(u, members, n, made)) continue;
        u->maps[i] = ix_map_renew(u->rw, u->a, made, made->vars.items);
        for (uint32_t k = u->n; k-- > 0;)
            for (uint32_t j = 0; j < n; j++)
                if (members[j] == k && k != i) drop(u, k);
    }
}

uint32_t ix_map_union(RwCx *rw, WbbArena *a, const IxMap *const *maps, uint32_t n, IxMap **made)
{
    Union u = {.a = a, .rw = rw, .maps = made};
    for (uint32_t i = 0; i < n; i++) {
        IxMap *m = ix_map_simplify(rw, a, maps[i], false);
        if (m->state == IX_UNKNOWN) return made[0] = m, 1;
        if (m->state == IX_KNOWN) made[u.n++] = m;
    }
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < u.n; i++)
            for (uint32_t k = i + 1; k < u.n;) {
                if (!join(&u, i, k)) {
                    k++;
                    continue;
                }
                drop(&u, k);
                more = true;
            }
    }
    join_steps(&u);
    for (uint32_t i = 0; i < u.n; i++) made[i] = ix_map_simplify(rw, a, made[i], false);
    if (u.n == 0 && n) return made[0] = ix_map_of_state(a, IX_EMPTY), 1;
    return u.n;
}
