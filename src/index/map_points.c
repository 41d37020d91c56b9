/* map_points.c: evaluates maps at points, enumerates the points of a domain, and compares two maps point by point.
 *
 * Needs maps; leaves values, computed exactly in 128 bits from the nodes, using no fact and no rule. At a point where
 * some operation leaves 64 bits the map has no value.
 *
 *     (d0)[s0] -> (d0 * 4 + s0) at (2)[1]   =>   9
 */
#include "index/inner.h"

/* --- one point ---------------------------------------------------------------------------------------------------- */
typedef struct {
    const IrGraph *g;
    const IxMap *m;
    const int64_t *point;
    bool defined;
} Eval;

static WbbI128 defined(Eval *e, WbbI128 x)
{
    if (x >= INT64_MIN && x <= INT64_MAX) return x;
    e->defined = false;
    return 0;
}

static WbbI128 eval(Eval *e, IrRef r)
{
    const IrNode *n = ir_at(e->g, r);
    if (n->op == OP_CONST) return (int64_t)n->imm;
    if (n->op == OP_VAR) {
        for (uint32_t i = 0; i < e->m->vars.n; i++)
            if (e->m->vars.items[i].node == r) return e->point[i];
        assert(!"a variable of another map");
        return 0;
    }
    if (n->op == OP_SUM) {
        WbbI128 sum = (int64_t)n->imm;
        for (uint32_t i = 0; i < n->a[1]; i++) {
            const IrTerm t = e->g->terms[n->a[0] + i];
            sum += t.coefficient * eval(e, t.ref); /* up to 2**94 terms fit */
        }
        return defined(e, sum);
    }
    const WbbI128 x = eval(e, n->a[0]), y = eval(e, n->a[1]);
    switch (n->op) {
    case OP_MUL: return defined(e, x * y);
    case OP_FLOORDIV: return x / y - (x % y < 0);
    case OP_MOD: return x % y + (x % y < 0 ? y : 0);
    case OP_MIN: return WBB_MIN(x, y);
    default: assert(n->op == OP_MAX); return WBB_MAX(x, y);
    }
}

IxValue ix_map_eval(const IrGraph *g, const IxMap *m, const int64_t *point, int64_t *results)
{
    Eval e = {.g = g, .m = m, .point = point, .defined = true};
    if (m->state == IX_EMPTY) return IX_OUTSIDE;
    for (uint32_t i = 0; i < m->vars.n; i++)
        if (point[i] < m->vars.items[i].lo || point[i] > m->vars.items[i].hi) return IX_OUTSIDE;
    for (uint32_t i = 0; i < m->constraints.n; i++) {
        const IxConstraint c = m->constraints.items[i];
        const WbbI128 x = eval(&e, c.expression);
        if (!e.defined) return IX_OVERFLOW;
        if (x < c.lo || x > c.hi) return IX_OUTSIDE;
    }
    for (uint32_t i = 0; i < m->results.n; i++) results[i] = (int64_t)eval(&e, m->results.items[i]);
    return e.defined ? IX_INSIDE : IX_OVERFLOW;
}

/* --- all points, or a sample of them ------------------------------------------------------------------------------ */
static WbbU128 width(const IxVar *v) { return (WbbU128)((WbbI128)v->hi - v->lo) + 1; }

uint64_t ix_map_box(const IxMap *m)
{
    WbbU128 n = m->state != IX_EMPTY;
    for (uint32_t i = 0; i < m->vars.n; i++)
        n = WBB_MIN(n * WBB_MIN(width(&m->vars.items[i]), UINT64_MAX), (WbbU128)UINT64_MAX);
    return (uint64_t)n;
}

IxWalk ix_walk(WbbArena *a, const IxMap *m, uint64_t most, uint64_t seed)
{
    const uint64_t box = ix_map_box(m);
    IxWalk w = {.m = m, .remaining = WBB_MIN(box, most), .sampled = box > most, .random = seed};
    w.point = WBB_NEW_N(a, int64_t, m->vars.n + 1u);
    for (uint32_t i = 0; i < m->vars.n; i++) w.point[i] = m->vars.items[i].lo;
    return w;
}

static uint64_t random(IxWalk *w)
{
    return wbb_mix(w->random += UINT64_C(0x9e3779b97f4a7c15)); /* splitmix64 */
}

/* Half of the values are near an end of their interval, where errors are likely. */
static int64_t some_value(IxWalk *w, const IxVar *v)
{
    const WbbU128 n = width(v), near = random(w) % 4, far = random(w) % n;
    const uint64_t kind = random(w) % 4;
    const WbbU128 offset = kind == 0 ? WBB_MIN(near, n - 1) : kind == 1 ? n - 1 - WBB_MIN(near, n - 1) : far;
    return (int64_t)(v->lo + (WbbI128)offset);
}

bool ix_walk_next(IxWalk *w)
{
    if (w->remaining == 0) return false;
    w->remaining--;
    if (w->sampled) {
        for (uint32_t i = 0; i < w->m->vars.n; i++) w->point[i] = some_value(w, &w->m->vars.items[i]);
        return true;
    }
    if (!w->started) {
        w->started = true;
        return true;
    }
    for (uint32_t i = w->m->vars.n; i-- > 0;) {
        if (w->point[i]++ < w->m->vars.items[i].hi) break;
        w->point[i] = w->m->vars.items[i].lo;
    }
    return true;
}

/* --- two maps ----------------------------------------------------------------------------------------------------- */
void ix_put_point(WbbBuf *out, const IxMap *m, const int64_t *point)
{
    static const char brackets[][2] = {{'(', ')'}, {'[', ']'}, {'{', '}'}};
    for (uint32_t kind = IX_DIMENSION; kind <= IX_RUNTIME; kind++) {
        const char *comma = "";
        if (kind != IX_DIMENSION && ix_map_count(m, (IxKind)kind) == 0) continue;
        wbb_putf(out, "%c", brackets[kind][0]);
        for (uint32_t i = 0; i < m->vars.n; i++) {
            if (m->vars.items[i].kind != (IxKind)kind) continue;
            wbb_putf(out, "%s%lld", comma, (long long)point[i]);
            comma = ", ";
        }
        wbb_putf(out, "%c", brackets[kind][1]);
    }
}

void ix_put_values(WbbBuf *out, const int64_t *values, uint32_t n)
{
    wbb_put(out, "(");
    for (uint32_t i = 0; i < n; i++) wbb_putf(out, "%s%lld", i ? ", " : "", (long long)values[i]);
    wbb_put(out, ")");
}

static const char *described(WbbArena *a, IxValue v, const int64_t *values, uint32_t n)
{
    WbbBuf b = wbb_buf(a);
    if (v == IX_INSIDE) ix_put_values(&b, values, n);
    else wbb_put(&b, v == IX_OUTSIDE ? "outside the domain" : "outside 64 bits");
    return b.text;
}

const char *ix_map_differ(WbbArena *a, const IrGraph *g, const IxMap *x, const IxMap *y, uint64_t most, uint64_t seed,
                          uint64_t *compared)
{
    const uint32_t n = WBB_MAX(x->results.n, y->results.n);
    int64_t *p = WBB_NEW_N(a, int64_t, n + 1u), *q = WBB_NEW_N(a, int64_t, n + 1u);
    /* points of x's intervals, then of y's, which may be a small part of those */
    for (uint32_t round = 0; round < 2; round++) {
        const IxMap *of = round ? y : x;
        if (of->state != IX_KNOWN || (round && ix_map_box(x) <= most)) continue;
        for (IxWalk w = ix_walk(a, of, most, seed); ix_walk_next(&w);) {
            const IxValue v = ix_map_eval(g, x, w.point, p);
            if (v == IX_OVERFLOW) continue; /* x has no value, so y may have any */
            const IxValue u = ix_map_eval(g, y, w.point, q);
            bool same = v == u && (v != IX_INSIDE || x->results.n == y->results.n);
            for (uint32_t i = 0; i < n && same && v == IX_INSIDE; i++) same = p[i] == q[i];
            ++*compared;
            if (same) continue;
            WbbBuf b = wbb_buf(a);
            ix_put_point(&b, of, w.point);
            wbb_putf(&b, " gives %s, then %s", described(a, v, p, x->results.n), described(a, u, q, y->results.n));
            return b.text;
        }
    }
    return NULL;
}
