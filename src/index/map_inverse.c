/* map_inverse.c: from the results of a map back to its variables, where the results determine them; whether a map is a
 * bijection.
 *
 * Needs a map; leaves its inverse over new dimensions, one for each result. Every equation `expression = result` is
 * decomposed:
 *
 *   8*d0 + d1 = y, d1 in [0, 7]               =>  d0 = y / 8, d1 = y mod 8
 *   x mod 4 = y0, x / 4 mod 8 = y1, x in [0, 31]  =>  x = 4*y1 + y0          digits of one value, put together
 *
 * Each step derives what must hold, so the values found are right where the equations have a solution. That they lead
 * back to the results is a constraint of the inverse, which is dropped where the rules prove it.
 */
#include "index/inner.h"

#include <stdlib.h>
#include <string.h>

typedef struct {
    IrRef e, value; /* e over variables of the map; value over the inverse's */
} Equation;

/* value = x / weight mod modulus; modulus 0: the whole quotient */
typedef struct {
    IrRef x, value;
    WbbI128 weight, modulus;
} Digit;

typedef struct {
    RwCx *rw;
    WbbArena *a;
    IrGraph *g;
    struct { Equation *items; uint32_t n, capacity; } equations;
    struct { Digit *items; uint32_t n, capacity; } digits;
    IxSubstitution known; /* by variable, or by a value with digits: the node over the inverse's dimensions */
} Solver;

static void equate(Solver *s, IrRef e, IrRef value)
{
    const Equation q = {e, value};
    WBB_PUSH(s->a, &s->equations, q);
}

/* k * value + c for any k but -2**63 */
static IrRef line(Solver *s, IrRef value, int64_t k, int64_t c) { return rw_sum(s->rw, c, (IrTerm[]){{k, value}}, 1); }

static IrRef terms_of(Solver *s, const IrTerm *terms, uint32_t n, int64_t g)
{
    IrTerm *part = WBB_NEW_N(s->a, IrTerm, n + 1u);
    for (uint32_t i = 0; i < n; i++) part[i] = (IrTerm){terms[i].coefficient / g, terms[i].ref};
    return rw_sum(s->rw, 0, part, n);
}

/* Moves known terms of a sum to the other side; then splits the terms of large coefficients from the rest, if the rest
 * is smaller than their common factor. */
static bool take_sum(Solver *s, const Equation *q)
{
    const IrNode n = *ir_at(s->g, q->e);
    IrTerm *unknown = WBB_NEW_N(s->a, IrTerm, n.a[1] + 1u), *moved = WBB_NEW_N(s->a, IrTerm, n.a[1] + 2u);
    uint32_t count = 0, gone = 0;
    moved[gone++] = (IrTerm){1, q->value};
    for (uint32_t i = 0; i < n.a[1]; i++) {
        const IrTerm t = s->g->terms[n.a[0] + i];
        const IrRef known = ix_substitute_of(&s->known, t.ref);
        if (t.coefficient == INT64_MIN) return false;
        if (known) moved[gone++] = (IrTerm){-t.coefficient, known};
        else unknown[count++] = t;
    }
    if (count == 0 || (int64_t)n.imm == INT64_MIN) return false;
    const IrRef value = rw_sum(s->rw, -(int64_t)n.imm, moved, gone);
    WbbI128 g = 0;
    for (uint32_t p = 1; p <= count; p++) {
        g = ix_gcd(g, unknown[p - 1].coefficient);
        if (p < count && unknown[p].coefficient % g == 0) continue;
        const IrRef rest = terms_of(s, unknown + p, count - p, 1);
        const IrFact f = ir_fact(s->g, rest);
        if (f.hi - f.lo >= g || f.lo < INT64_MIN / 2 || f.hi > INT64_MAX / 2) continue;
        if (p == count && g == 1 && count > 1) return false;
        const IrRef shifted = line(s, value, 1, -(int64_t)f.lo);
        const int64_t sign = p == 1 && unknown[0].coefficient < 0 ? -1 : 1; /* prefer a variable to minus a variable */
        equate(s, terms_of(s, unknown, p, sign * (int64_t)g),
               line(s, rw_floordiv(s->rw, shifted, (int64_t)g), sign, 0));
        if (p < count) equate(s, rest, line(s, rw_mod(s->rw, shifted, (int64_t)g), 1, (int64_t)f.lo));
        return true;
    }
    return false;
}

static bool take_digit(Solver *s, const Equation *q)
{
    IrNode n = *ir_at(s->g, q->e);
    Digit d = {.x = q->e, .value = q->value, .weight = 1};
    if (n.op == OP_MOD) {
        d.modulus = (int64_t)ir_at(s->g, n.a[1])->imm;
        d.x = n.a[0];
        n = *ir_at(s->g, d.x);
    }
    if (n.op == OP_FLOORDIV) {
        d.weight = (int64_t)ir_at(s->g, n.a[1])->imm;
        d.x = n.a[0];
    }
    if (d.x == q->e) return false;
    WBB_PUSH(s->a, &s->digits, d);
    return true;
}

/* Computes x from its digits, the least significant first, until they cover its interval. */
static bool assemble(Solver *s, IrRef x)
{
    const IrFact f = ir_fact(s->g, x);
    IrRef value = ir_index(s->g, 0);
    WbbI128 weight = 1;
    if (ix_substitute_of(&s->known, x)) return false;
    for (bool more = true; more;) {
        if (f.lo >= 0 && f.hi < weight) break;
        more = false;
        for (uint32_t i = 0; i < s->digits.n && !more; i++) {
            const Digit d = s->digits.items[i];
            if (d.x != x || d.weight != weight || weight > INT64_MAX) continue;
            value = rw_sum(s->rw, 0, (IrTerm[]){{1, value}, {(int64_t)weight, d.value}}, 2);
            if (d.modulus == 0) {
                weight = 0;
                break;
            }
            weight *= d.modulus;
            more = true;
        }
        if (weight == 0) break;
        if (!more || weight > (WbbI128)1 << 64) return false;
    }
    ix_substitute(&s->known, x, value);
    equate(s, x, value);
    return true;
}

static void solve(Solver *s)
{
    for (bool more = true; more;) {
        more = false;
        for (uint32_t i = 0; i < s->equations.n; i++) {
            const Equation q = s->equations.items[i];
            if (!q.e) continue;
            const ScOp op = (ScOp)ir_at(s->g, q.e)->op;
            bool done = false;
            if (op == OP_VAR) {
                if (!ix_substitute_of(&s->known, q.e)) ix_substitute(&s->known, q.e, q.value);
                done = true;
            } else if (op == OP_SUM) {
                done = take_sum(s, &q);
            } else if (op == OP_FLOORDIV || op == OP_MOD) {
                done = take_digit(s, &q);
            }
            if (done) s->equations.items[i].e = 0;
            more |= done;
        }
        for (uint32_t i = 0; i < s->digits.n; i++) more |= assemble(s, s->digits.items[i].x);
    }
}

static bool in_i64(IrFact f) { return f.lo >= INT64_MIN && f.hi <= INT64_MAX; }

/* Of a simplified map. */
static IxMap *inverse_of(RwCx *rw, WbbArena *a, const IxMap *m)
{
    Solver s = {.rw = rw, .a = a, .g = rw_graph(rw), .known = {.rw = rw, .nodes = {.arena = a}}};
    if (m->state != IX_KNOWN) return ix_map_of_state(a, m->state);
    IxMap *made = ix_map_new(a);
    for (uint32_t i = 0; i < m->results.n; i++) {
        const IrFact f = ir_fact(s.g, m->results.items[i]);
        if (!in_i64(f)) return NULL;
        equate(&s, m->results.items[i],
               ix_map_var(rw, a, made, IX_DIMENSION, ix_map_name(a, made, IX_DIMENSION), (int64_t)f.lo, (int64_t)f.hi));
    }
    for (uint32_t i = 0; i < m->vars.n; i++)
        if (m->vars.items[i].lo == m->vars.items[i].hi)
            ix_substitute(&s.known, m->vars.items[i].node, ir_index(s.g, m->vars.items[i].lo));
    solve(&s);
    IxSubstitution back = {.rw = rw, .nodes = {.arena = a}};
    for (uint32_t i = 0; i < m->vars.n; i++) {
        const IxVar *v = &m->vars.items[i];
        const IrRef found = ix_substitute_of(&s.known, v->node);
        if (!found) return NULL;
        ix_substitute(&back, v->node, found);
        ix_map_result(a, made, found);
        ix_map_constrain(a, made, found, v->lo, v->hi);
    }
    for (uint32_t i = 0; i < m->constraints.n; i++) {
        const IxConstraint c = m->constraints.items[i];
        ix_map_constrain(a, made, ix_rebuild(&back, c.expression), c.lo, c.hi);
    }
    for (uint32_t i = 0; i < m->results.n; i++)
        ix_map_constrain(a, made, rw_sub(rw, ix_rebuild(&back, m->results.items[i]), made->vars.items[i].node), 0, 0);
    return ix_map_simplify(rw, a, made, false);
}

IxMap *ix_map_inverse(RwCx *rw, WbbArena *a, const IxMap *map)
{
    return inverse_of(rw, a, ix_map_simplify(rw, a, map, false));
}

/* --- bijections --------------------------------------------------------------------------------------------------- */
typedef struct {
    const int64_t *values, *point; /* n_values, n_vars */
    uint32_t n_values;
} Image;

static int by_values(const void *x, const void *y)
{
    const Image *p = x, *q = y;
    for (uint32_t i = 0; i < p->n_values; i++)
        if (p->values[i] != q->values[i]) return p->values[i] < q->values[i] ? -1 : 1;
    return 0;
}

static void put_box(WbbBuf *out, const int64_t *lo, const int64_t *hi, uint32_t n)
{
    wbb_put(out, "(");
    for (uint32_t i = 0; i < n; i++) wbb_putf(out, "%s[%lld, %lld]", i ? ", " : "", (long long)lo[i], (long long)hi[i]);
    wbb_put(out, ")");
}

/* Enumerates all points and sorts them by their values. */
static IxAnswer by_points(WbbArena *a, const IrGraph *g, const IxMap *m, const char **why)
{
    const uint32_t n = m->results.n, n_vars = m->vars.n;
    struct { Image *items; uint32_t n, capacity; } all = {0};
    int64_t *values = WBB_NEW_N(a, int64_t, n + 1u);
    WbbBuf b = wbb_buf(a);
    for (IxWalk w = ix_walk(a, m, UINT64_MAX, 0); ix_walk_next(&w);) {
        const IxValue v = ix_map_eval(g, m, w.point, values);
        if (v == IX_OVERFLOW) return IX_OPEN;
        if (v == IX_OUTSIDE) continue;
        int64_t *kept = WBB_NEW_N(a, int64_t, n + n_vars + 1u);
        memcpy(kept, values, n * sizeof *kept);
        memcpy(kept + n, w.point, n_vars * sizeof *kept);
        const Image image = {kept, kept + n, n};
        WBB_PUSH(a, &all, image);
    }
    if (all.n == 0) return *why = "the domain is empty", IX_YES;
    if (all.n) qsort(all.items, all.n, sizeof *all.items, by_values);
    int64_t *lo = WBB_NEW_N(a, int64_t, n + 1u), *hi = WBB_NEW_N(a, int64_t, n + 1u);
    for (uint32_t i = 0; i < all.n; i++) {
        const Image *p = &all.items[i];
        if (i && by_values(p - 1, p) == 0) {
            ix_put_point(&b, m, p[-1].point);
            wbb_put(&b, " and ");
            ix_put_point(&b, m, p->point);
            wbb_put(&b, " both give ");
            ix_put_values(&b, p->values, n);
            return *why = b.text, IX_NO;
        }
        for (uint32_t k = 0; k < n; k++)
            lo[k] = i ? WBB_MIN(lo[k], p->values[k]) : p->values[k],
            hi[k] = i ? WBB_MAX(hi[k], p->values[k]) : p->values[k];
    }
    memcpy(values, lo, n * sizeof *values);
    for (uint32_t i = 0; i < all.n; i++) { /* sorted: the values must enumerate the box */
        if (memcmp(values, all.items[i].values, n * sizeof *values)) {
            wbb_put(&b, "nothing gives ");
            ix_put_values(&b, values, n);
            wbb_put(&b, " of ");
            put_box(&b, lo, hi, n);
            return *why = b.text, IX_NO;
        }
        for (uint32_t k = n; k-- > 0;) {
            if (values[k]++ < hi[k]) break;
            values[k] = lo[k];
        }
    }
    wbb_put(&b, "onto ");
    put_box(&b, lo, hi, n);
    return *why = b.text, IX_YES;
}

IxAnswer ix_map_bijection(RwCx *rw, WbbArena *a, const IxMap *map, uint64_t most, const char **why)
{
    const IxMap *m = ix_map_simplify(rw, a, map, false);
    *why = "it could not be decided";
    if (m->state == IX_UNKNOWN) return IX_OPEN;
    if (m->state == IX_EMPTY) return *why = "the domain is empty", IX_YES;
    if (ix_map_box(m) <= most) return by_points(a, rw_graph(rw), m, why);
    const IxMap *inverse = inverse_of(rw, a, m);
    if (!inverse || inverse->state != IX_KNOWN) return IX_OPEN;
    const uint32_t n = inverse->vars.n;
    int64_t *lo = WBB_NEW_N(a, int64_t, n + 1u), *hi = WBB_NEW_N(a, int64_t, n + 1u);
    for (uint32_t i = 0; i < n; i++) lo[i] = inverse->vars.items[i].lo, hi[i] = inverse->vars.items[i].hi;
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, inverse->constraints.n ? "each point gives other values; whether all of " : "onto ");
    put_box(&b, lo, hi, n);
    if (inverse->constraints.n) wbb_put(&b, " are given could not be decided");
    *why = b.text;
    return inverse->constraints.n ? IX_OPEN : IX_YES;
}

/* The inverse of results without their constants has shorter quotients. */
bool ix_map_onto(RwCx *rw, WbbArena *a, const IxMap *map, const int64_t *lo, const int64_t *hi)
{
    IxMap *m = ix_map_simplify(rw, a, map, false);
    WbbI128 *constants = WBB_NEW_N(a, WbbI128, m->results.n + 1u);
    for (uint32_t i = 0; i < m->results.n; i++) {
        const IrNode *n = ir_at(rw_graph(rw), m->results.items[i]);
        if ((n->op != OP_SUM && n->op != OP_CONST) || (int64_t)n->imm == INT64_MIN) continue;
        constants[i] = (int64_t)n->imm;
        m->results.items[i] = line(&(Solver){.rw = rw}, m->results.items[i], 1, -(int64_t)n->imm);
    }
    const IxMap *inverse = inverse_of(rw, a, m);
    if (!inverse || inverse->state != IX_KNOWN || inverse->constraints.n) return false;
    for (uint32_t i = 0; i < inverse->vars.n; i++) {
        const IxVar *v = &inverse->vars.items[i];
        if (v->lo + constants[i] != lo[i] || v->hi + constants[i] != hi[i]) return false;
    }
    return true;
}
