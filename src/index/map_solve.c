/* map_solve.c: what the constraints of a map imply: bounds of variables, residues, contradictions, or nothing.
 *
 * Needs a map; leaves one of the same points. In a round every constraint is examined with the same facts, and what
 * they imply is merged afterwards, so that their order does not matter:
 *
 *   6*d0 + 2 in [3, 40]         =>  d0 in [1, 6]                    constants and common factors move into the interval
 *   s0 / 3 in [-11, -5]         =>  s0 in [-33, -13]
 *   8*d0 + s0 in [0, 63]        =>  d0 in [0, 7]                    as s0 in [0, 7] makes no difference
 *   d0 + s0 in [0, 20]          =>  nothing if the intervals imply it; else d0 <= 20 - least s0 (`narrow`)
 *   (5*d0 + 1) mod 6 in [0, 0]  =>  d0 mod 6 in [1, 1]
 *   d0 mod 4 in [1, 1], d0 mod 6 in [3, 3]  =>  d0 mod 12 in [9, 9]; d0's bounds move to such values
 *
 * Narrowing can go on for ever in small steps. Its result is used only if it reaches a fixed point within NARROWINGS
 * rounds; so a result does not change when it is simplified again.
 */
#include "index/inner.h"
#include "ir/facts.h"

enum { NARROWINGS = 24, ROUNDS = 200 };

#define FAR ((WbbI128)1 << 100) /* no bound */

typedef struct {
    RwCx *rw;
    WbbArena *a;
    IrGraph *g;
    const IxMap *m;
    IxMap *next; /* the variables with tightened intervals; the constraints that say more than these */
    bool narrow;
} Round;

static WbbI128 ceil_div(WbbI128 x, WbbI128 k) { return -ir_floor_div(-x, k); }
static WbbI128 floor_mod(WbbI128 x, WbbI128 k) { return x - ir_floor_div(x, k) * k; }
static WbbI128 times(WbbI128 x, WbbI128 y)
{
    WbbI128 p;
    const bool over = __builtin_mul_overflow(x, y, &p);
    return over || p >= FAR || p <= -FAR ? ((x < 0) == (y < 0) ? FAR : -FAR) : p;
}
static bool is_far(WbbI128 x) { return x <= -FAR || x >= FAR; }
static int64_t cut(WbbI128 x) { return x < INT64_MIN ? INT64_MIN : x > INT64_MAX ? INT64_MAX : (int64_t)x; }

WbbI128 ix_gcd(WbbI128 x, WbbI128 y)
{
    x = x < 0 ? -x : x;
    for (y = y < 0 ? -y : y; y;) {
        const WbbI128 t = x % y;
        x = y;
        y = t;
    }
    return x;
}

/* --- variables ---------------------------------------------------------------------------------------------------- */
static void bound(Round *r, IrRef variable, WbbI128 lo, WbbI128 hi)
{
    for (uint32_t i = 0; i < r->m->vars.n; i++) {
        IxVar *v = &r->next->vars.items[i];
        if (r->m->vars.items[i].node != variable) continue;
        v->lo = cut(WBB_MAX(lo, v->lo));
        v->hi = cut(WBB_MIN(hi, v->hi));
        if (v->lo > v->hi) r->next->state = IX_EMPTY;
    }
}

/* The first value from x on, upwards (or downwards), that modulo k is in [lo, hi]. */
static WbbI128 snap(WbbI128 x, bool up, WbbI128 k, WbbI128 lo, WbbI128 hi)
{
    const WbbI128 rem = floor_mod(x, k);
    if (rem >= lo && rem <= hi) return x;
    if (up) return x + (rem < lo ? lo - rem : k - rem + lo);
    return x - (rem > hi ? rem - hi : rem + k - hi);
}

/* Bounds the variables in e, given that e is in [lo, hi]. */
static void narrow(Round *r, IrRef e, WbbI128 lo, WbbI128 hi)
{
    IrGraph *g = r->g;
    const IrNode n = *ir_at(g, e);
    const IrFact f = ir_fact(g, e);
    if (lo <= f.lo) lo = -FAR;
    if (hi >= f.hi) hi = FAR;
    if (lo > WBB_MIN(hi, f.hi) || hi < f.lo) {
        r->next->state = IX_EMPTY;
        return;
    }
    if (is_far(lo) && is_far(hi)) return;
    switch (n.op) {
    case OP_VAR: bound(r, e, lo, hi); break;
    case OP_SUM: {
        WbbI128 least = (int64_t)n.imm, most = least;
        for (uint32_t i = 0; i < n.a[1]; i++) {
            const IrTerm t = g->terms[n.a[0] + i];
            const IrFact x = ir_fact(g, t.ref);
            if (is_far(x.lo) || is_far(x.hi)) return;
            least += times(t.coefficient, t.coefficient > 0 ? x.lo : x.hi);
            most += times(t.coefficient, t.coefficient > 0 ? x.hi : x.lo);
        }
        if (is_far(least) || is_far(most)) return;
        for (uint32_t i = 0; i < n.a[1]; i++) {
            const IrTerm t = g->terms[n.a[0] + i];
            const IrFact x = ir_fact(g, t.ref);
            const WbbI128 k = t.coefficient, size = k < 0 ? -k : k;
            /* of k * x */
            const WbbI128 low = lo - most + k * (k > 0 ? x.hi : x.lo), high = hi - least + k * (k > 0 ? x.lo : x.hi);
            const WbbI128 from = k > 0 ? ceil_div(low, size) : ceil_div(-high, size),
                          to = k > 0 ? ir_floor_div(high, size) : ir_floor_div(-low, size);
            narrow(r, t.ref, is_far(k > 0 ? lo : hi) ? -FAR : from, is_far(k > 0 ? hi : lo) ? FAR : to);
        }
        break;
    }
    case OP_FLOORDIV: {
        const WbbI128 k = (int64_t)ir_at(g, n.a[1])->imm;
        narrow(r, n.a[0], is_far(lo) ? -FAR : lo * k, is_far(hi) ? FAR : hi * k + k - 1);
        break;
    }
    case OP_MOD: {
        const WbbI128 k = (int64_t)ir_at(g, n.a[1])->imm;
        const IrFact x = ir_fact(g, n.a[0]);
        if (is_far(x.lo) || ir_floor_div(x.lo, k) != ir_floor_div(x.hi, k)) break;
        const WbbI128 start = ir_floor_div(x.lo, k) * k;
        narrow(r, n.a[0], is_far(lo) ? -FAR : start + lo, is_far(hi) ? FAR : start + hi);
        break;
    }
    case OP_MIN:
    case OP_MAX:
        for (uint32_t i = 0; i < 2; i++) {
            const IrFact other = ir_fact(g, n.a[1 - i]);
            const bool low = n.op == OP_MIN || other.hi < lo, high = n.op == OP_MAX || other.lo > hi;
            narrow(r, n.a[i], low ? lo : -FAR, high ? hi : FAR);
        }
        break;
    default: break;
    }
}

/* --- one constraint ----------------------------------------------------------------------------------------------- */
static void learn(Round *r, IrRef e, WbbI128 lo, WbbI128 hi);

static void keep(Round *r, IrRef e, WbbI128 lo, WbbI128 hi)
{
    ix_map_constrain(r->a, r->next, e, cut(lo), cut(hi));
    if (r->narrow) narrow(r, e, lo, hi);
}

/* Terms from .. to of a sum, divided by g. */
static IrRef part_of(Round *r, const IrNode *n, uint32_t from, uint32_t to, int64_t g)
{
    IrTerm *terms = WBB_NEW_N(r->a, IrTerm, to - from + 1);
    for (uint32_t i = from; i < to; i++) {
        const IrTerm t = r->g->terms[n->a[0] + i];
        terms[i - from] = (IrTerm){.coefficient = t.coefficient / g, .ref = t.ref};
    }
    return rw_sum(r->rw, 0, terms, to - from);
}

/* g*a + rest in [lo, hi], where rest makes no difference: bounds a alone. */
static bool split(Round *r, const IrNode *n, const IrFact *f, WbbI128 lo, WbbI128 hi)
{
    WbbI128 g = 0;
    for (uint32_t p = 1; p < n->a[1]; p++) {
        g = ix_gcd(g, r->g->terms[n->a[0] + p - 1].coefficient);
        if (g == 1) return false;
        const WbbI128 next = r->g->terms[n->a[0] + p].coefficient;
        if (next % g == 0 || g > INT64_MAX) continue;
        const IrFact rest = ir_fact(r->g, part_of(r, n, p, n->a[1], 1));
        if (is_far(rest.lo) || is_far(rest.hi)) return false;
        const bool low = lo > f->lo, high = hi < f->hi;
        if (low && ceil_div(lo - rest.hi, g) != ceil_div(lo - rest.lo, g)) continue;
        if (high && ir_floor_div(hi - rest.lo, g) != ir_floor_div(hi - rest.hi, g)) continue;
        learn(r, part_of(r, n, 0, p, (int64_t)g), low ? ceil_div(lo - rest.lo, g) : -FAR,
              high ? ir_floor_div(hi - rest.hi, g) : FAR);
        return true;
    }
    return false;
}

static void learn_sum(Round *r, IrRef e, const IrFact *f, WbbI128 lo, WbbI128 hi)
{
    const IrNode n = *ir_at(r->g, e);
    const WbbI128 c = (int64_t)n.imm;
    WbbI128 g = 0;
    for (uint32_t i = 0; i < n.a[1]; i++) g = ix_gcd(g, r->g->terms[n.a[0] + i].coefficient);
    const bool minus = r->g->terms[n.a[0]].coefficient < 0;
    if (c == 0 && g == 1 && !minus) {
        if (!split(r, &n, f, lo, hi)) keep(r, e, lo, hi);
        return;
    }
    if (g > INT64_MAX) { /* g = 2**63: all coefficients are -2**63 */
        keep(r, e, lo, hi);
        return;
    }
    const WbbI128 low = ceil_div(lo - c, g), high = ir_floor_div(hi - c, g);
    for (uint32_t i = 0; i < n.a[1] && minus; i++)
        if (r->g->terms[n.a[0] + i].coefficient / (int64_t)g == INT64_MIN) {
            keep(r, e, lo, hi);
            return;
        }
    learn(r, part_of(r, &n, 0, n.a[1], minus ? -(int64_t)g : (int64_t)g), minus ? -high : low, minus ? -low : high);
}

/* The x with x * c = 1 modulo k; c and k have no common factor. */
static WbbI128 inverse(WbbI128 c, WbbI128 k)
{
    WbbI128 a = floor_mod(c, k), b = k, x = 1, y = 0;
    while (b) {
        const WbbI128 q = a / b, t = a - q * b, u = x - q * y;
        a = b, b = t;
        x = y, y = u;
    }
    return floor_mod(x, k);
}

/* Rewrites x mod k = rem, where x is a sum, to small coefficients, no constant and no common factor with k. False: it
 * has that form already. */
static bool learn_residue(Round *r, IrRef x, WbbI128 k, WbbI128 rem)
{
    const IrNode n = *ir_at(r->g, x);
    IrTerm *terms = WBB_NEW_N(r->a, IrTerm, n.a[1] + 1u);
    uint32_t count = 0;
    WbbI128 g = k;
    bool changed = n.imm != 0;
    rem = floor_mod(rem - (int64_t)n.imm, k);
    for (uint32_t i = 0; i < n.a[1]; i++) {
        const IrTerm t = r->g->terms[n.a[0] + i];
        WbbI128 c = floor_mod(t.coefficient, k);
        if (c * 2 > k) c -= k;
        changed |= c != t.coefficient;
        g = ix_gcd(g, c);
        if (c) terms[count++] = (IrTerm){.coefficient = (int64_t)c, .ref = t.ref};
    }
    if (rem % g) {
        r->next->state = IX_EMPTY;
        return true;
    }
    if (g == k) return true; /* all terms are multiples of k: 0 mod k = 0 */
    WbbI128 factor = terms[0].coefficient < 0 ? -1 : 1;
    if (count == 1) factor = inverse(terms[0].coefficient / g, k / g);
    if (!changed && g == 1 && factor == 1) return false;
    for (uint32_t i = 0; i < count; i++)
        terms[i].coefficient = count == 1 ? 1 : (int64_t)(terms[i].coefficient / g * factor);
    const IrRef sum = rw_sum(r->rw, 0, terms, count), made = rw_mod(r->rw, sum, (int64_t)(k / g));
    if (made == rw_mod(r->rw, x, (int64_t)k)) return false;
    rem = floor_mod(rem / g * factor, k / g);
    learn(r, made, rem, rem);
    return true;
}

static void learn_mod(Round *r, IrRef e, WbbI128 lo, WbbI128 hi)
{
    const IrNode n = *ir_at(r->g, e);
    const WbbI128 k = (int64_t)ir_at(r->g, n.a[1])->imm;
    if (lo == hi && ir_at(r->g, n.a[0])->op == OP_SUM && learn_residue(r, n.a[0], k, lo)) return;
    if (ir_at(r->g, n.a[0])->op == OP_VAR) {
        const IrFact x = ir_fact(r->g, n.a[0]);
        const bool low = x.lo > INT64_MIN, high = x.hi < INT64_MAX;
        bound(r, n.a[0], low ? snap(x.lo, true, k, lo, hi) : -FAR, high ? snap(x.hi, false, k, lo, hi) : FAR);
    }
    keep(r, e, lo, hi);
}

static void learn(Round *r, IrRef e, WbbI128 lo, WbbI128 hi)
{
    const IrFact f = ir_fact(r->g, e);
    const IrNode n = *ir_at(r->g, e);
    if (lo <= f.lo && hi >= f.hi) return;
    lo = WBB_MAX(lo, f.lo);
    hi = WBB_MIN(hi, f.hi);
    if (f.mod > 1) {
        if (!is_far(lo)) lo = snap(lo, true, f.mod, f.rem, f.rem);
        if (!is_far(hi)) hi = snap(hi, false, f.mod, f.rem, f.rem);
    }
    if (lo > hi) {
        r->next->state = IX_EMPTY;
        return;
    }
    if (lo <= f.lo && hi >= f.hi) return;
    switch (n.op) {
    case OP_VAR: bound(r, e, lo, hi); return;
    case OP_SUM: learn_sum(r, e, &f, lo, hi); return;
    case OP_MOD: learn_mod(r, e, lo, hi); return;
    case OP_FLOORDIV: {
        const WbbI128 k = (int64_t)ir_at(r->g, n.a[1])->imm;
        learn(r, n.a[0], lo <= f.lo ? -FAR : lo * k, hi >= f.hi ? FAR : hi * k + k - 1);
        return;
    }
    case OP_MIN:
    case OP_MAX: {
        const bool both = n.op == OP_MIN ? hi >= f.hi : lo <= f.lo;
        for (uint32_t i = 0; i < 2 && both; i++)
            learn(r, n.a[i], n.op == OP_MIN ? lo : -FAR, n.op == OP_MIN ? FAR : hi);
        if (!both) keep(r, e, lo, hi);
        return;
    }
    default: keep(r, e, lo, hi);
    }
}

/* --- all constraints ---------------------------------------------------------------------------------------------- */
static bool is_residue(const IrGraph *g, const IxConstraint *c)
{
    return ir_at(g, c->expression)->op == OP_MOD && c->lo == c->hi;
}

/* Merges two residues of one value into c, a residue modulo the least common multiple; false if they are of different
 * values. */
static bool merge_residues(Round *r, IxConstraint *c, const IxConstraint *d)
{
    const IrNode m = *ir_at(r->g, c->expression), n = *ir_at(r->g, d->expression);
    if (m.a[0] != n.a[0]) return false;
    const WbbI128 k = (int64_t)ir_at(r->g, m.a[1])->imm, l = (int64_t)ir_at(r->g, n.a[1])->imm, g = ix_gcd(k, l),
                  both = k / g * l;
    if (both > INT64_MAX) return false;
    if (floor_mod(c->lo - d->lo, g)) {
        r->next->state = IX_EMPTY;
        return true;
    }
    /* c->lo + k*t = d->lo modulo l */
    const WbbI128 t = l == g ? 0 : floor_mod((d->lo - c->lo) / g * inverse(k / g, l / g), l / g);
    const WbbI128 rem = floor_mod(c->lo + k * t, both);
    *c = (IxConstraint){rw_mod(r->rw, m.a[0], (int64_t)both), (int64_t)rem, (int64_t)rem};
    return true;
}

/* x mod k in [a, b] moves the bounds of x in [lo, hi]. */
static void snap_bounds(const Round *r, IxConstraint *c, const IxConstraint *d)
{
    const IrNode n = *ir_at(r->g, d->expression);
    if (n.op != OP_MOD || n.a[0] != c->expression) return;
    const WbbI128 k = (int64_t)ir_at(r->g, n.a[1])->imm;
    c->lo = cut(snap(c->lo, true, k, d->lo, d->hi));
    c->hi = cut(snap(c->hi, false, k, d->lo, d->hi));
    if (c->lo > c->hi) r->next->state = IX_EMPTY;
}

/* Sorts constraints by expression and leaves one for each. */
static void merge(Round *r)
{
    IxMap *m = r->next;
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->constraints.n; i++) {
        const IxConstraint c = m->constraints.items[i];
        uint32_t at = 0;
        while (at < n && ir_compare(r->g, m->constraints.items[at].expression, c.expression) < 0) at++;
        IxConstraint *d = &m->constraints.items[at];
        if (at < n && d->expression == c.expression) {
            d->lo = WBB_MAX(d->lo, c.lo);
            d->hi = WBB_MIN(d->hi, c.hi);
            if (d->lo > d->hi) m->state = IX_EMPTY;
            continue;
        }
        for (uint32_t k = n++; k > at; k--) m->constraints.items[k] = m->constraints.items[k - 1];
        m->constraints.items[at] = c;
    }
    m->constraints.n = n;
    for (uint32_t i = 0; i < m->constraints.n; i++)
        for (uint32_t k = i + 1; k < m->constraints.n && is_residue(r->g, &m->constraints.items[i]);) {
            const IxConstraint *d = &m->constraints.items[k];
            if (!is_residue(r->g, d) || !merge_residues(r, &m->constraints.items[i], d)) {
                k++;
                continue;
            }
            if (m->state == IX_EMPTY) return;
            m->constraints.n--;
            for (uint32_t t = k; t < m->constraints.n; t++) m->constraints.items[t] = m->constraints.items[t + 1];
            k = i + 1;
        }
    for (uint32_t i = 0; i < m->constraints.n; i++)
        for (uint32_t k = 0; k < m->constraints.n && m->state != IX_EMPTY; k++)
            snap_bounds(r, &m->constraints.items[i], &m->constraints.items[k]);
}

static bool equal_maps(const IxMap *x, const IxMap *y)
{
    if (x->constraints.n != y->constraints.n || x->state != y->state) return false;
    for (uint32_t i = 0; i < x->vars.n; i++)
        if (x->vars.items[i].lo != y->vars.items[i].lo || x->vars.items[i].hi != y->vars.items[i].hi) return false;
    for (uint32_t i = 0; i < x->constraints.n; i++) {
        const IxConstraint c = x->constraints.items[i], d = y->constraints.items[i];
        if (c.expression != d.expression || c.lo != d.lo || c.hi != d.hi) return false;
    }
    return true;
}

/* The variables and constraints of m over graph variables with its current intervals. */
static IxMap *fresh(RwCx *rw, WbbArena *a, const IxMap *m, bool points)
{
    IxMap *made = ix_map_of_state(a, m->state);
    IxSubstitution s = {.rw = rw, .nodes = {.arena = a}};
    bool moved = false;
    for (uint32_t i = 0; i < m->vars.n; i++) {
        const IxVar *v = &m->vars.items[i];
        const IrVar *known = &rw_graph(rw)->vars[ir_at(rw_graph(rw), v->node)->imm];
        moved |= known->lo != v->lo || known->hi != v->hi;
    }
    for (uint32_t i = 0; i < m->vars.n; i++) { /* all are new or none, as sums are sorted by the variables' numbers */
        IxVar v = m->vars.items[i];
        const IrRef old = v.node;
        if (moved) v.node = ix_variable(rw_graph(rw), v.name, v.lo, v.hi);
        ix_substitute(&s, old, points && v.lo == v.hi ? ir_index(rw_graph(rw), v.lo) : v.node);
        ix_map_insert(a, made, v);
    }
    for (uint32_t i = 0; i < m->constraints.n; i++) {
        const IxConstraint c = m->constraints.items[i];
        ix_map_constrain(a, made, ix_rebuild(&s, c.expression), c.lo, c.hi);
    }
    return made;
}

/* Rounds until nothing changes; NULL: that takes more than `rounds`. */
static IxMap *solve(RwCx *rw, WbbArena *a, const IxMap *m, bool points, bool narrowing, uint32_t rounds)
{
    IxMap *now = fresh(rw, a, m, points);
    for (uint32_t i = 0; i < rounds; i++) {
        Round r = {.rw = rw, .a = a, .g = rw_graph(rw), .m = now, .narrow = narrowing};
        r.next = ix_map_of_state(a, now->state);
        for (uint32_t k = 0; k < now->vars.n; k++) ix_map_insert(a, r.next, now->vars.items[k]);
        for (uint32_t k = 0; k < now->constraints.n && r.next->state != IX_EMPTY; k++)
            learn(&r, now->constraints.items[k].expression, now->constraints.items[k].lo, now->constraints.items[k].hi);
        if (r.next->state != IX_EMPTY) merge(&r);
        if (r.next->state == IX_EMPTY || equal_maps(now, r.next)) return r.next;
        now = fresh(rw, a, r.next, points);
    }
    return NULL;
}

IxMap *ix_map_solve(RwCx *rw, WbbArena *a, const IxMap *m, bool points)
{
    if (m->constraints.n == 0) return fresh(rw, a, m, points);
    IxMap *direct = solve(rw, a, m, points, false, ROUNDS);
    /* max(a, b) mod 4 = 0 beside a mod 40 in 26..27 takes a step of 40 a round */
    if (!direct) return fresh(rw, a, m, points);
    IxMap *narrowed = direct->state == IX_EMPTY ? NULL : solve(rw, a, direct, points, true, NARROWINGS);
    return narrowed ? narrowed : direct;
}
