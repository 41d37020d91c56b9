/* sums.c: patterns over sums. A sum is matched by how its terms relate to constants, not by their order.
 *
 * SPLIT, where k is bound elsewhere in the pattern, has no choice: v[d] has every term that k divides; where v[d] is
 * not used, v[r] is the whole sum reduced modulo k. GROUP, where k is free, offers the common divisors of the larger
 * terms, the largest first, as long as the other terms stay within one k; that takes a few passes over the terms. PICK
 * takes single terms; match.c asks for the next one if what follows fails. The rest is built only if it is used.
 *
 *     8*a + 4*b + c + 7, k = 4:         split gives 2*a + b + 1 and c + 3
 *     8*a + 4*b + c, c in 0..4, k free: group gives (k = 4) 2*a + b and c; not (k = 8) a and 4*b + c: may exceed 7
 *     8*a + 4*b + c:                    pick gives (a, 8), then (b, 4), then (c, 1)
 *
 * A coefficient that exceeds 64 bits fails the match.
 */
#include "ir/facts.h"
#include "rewrite/inner.h"

#include <stdlib.h>

static uint64_t size_of(int64_t k) { return k < 0 ? 0 - (uint64_t)k : (uint64_t)k; }
static bool fits(WbbI128 x) { return x >= INT64_MIN && x <= INT64_MAX; }

static bool divides(uint64_t k, IrTerm t) { return size_of(t.coefficient) % k == 0; }

/* v[s] = v[d] * k + v[r]: in v[d] the terms that k divides, and `whole` of the constant; in v[r] the others. Terms
 * are copied before sums are made, since their pool may move. */
static bool divide(RwCx *rw, Match *m, const IrNode *n, uint32_t d, int64_t k, int64_t whole, uint32_t r)
{
    IrTerm *yes = WBB_NEW_N(rw->arena, IrTerm, n->a[1]), *no = WBB_NEW_N(rw->arena, IrTerm, n->a[1]);
    uint32_t n_yes = 0, n_no = 0;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = rw->g->terms[n->a[0] + i];
        if (t.coefficient % k == 0) yes[n_yes++] = (IrTerm){t.coefficient / k, t.ref};
        else no[n_no++] = t;
    }
    const WbbI128 constant = (WbbI128)(int64_t)n->imm - (WbbI128)whole * k;
    if ((n_yes == 0 && whole == 0) || !fits(constant)) return false; /* nothing is divisible: the rule would not end */
    m->value[d] = rw_try_sum(rw, whole, yes, n_yes);
    m->value[r] = rw_try_sum(rw, (int64_t)constant, no, n_no);
    return m->value[d] && m->value[r];
}

/* v[r] = a sum that is v[s] modulo k: coefficients are reduced modulo k, and a term x % m becomes x where that
 * changes nothing modulo k and products stay within 2^61. */
static bool reduce_modulo(RwCx *rw, Match *m, const IrNode *n, uint32_t s, int64_t k, uint32_t r)
{
    static const int64_t large = (int64_t)1 << 40, few = 1 << 21;
    const int64_t constant = (int64_t)n->imm - (int64_t)ir_floor_div((int64_t)n->imm, k) * k;
    IrTerm *terms = WBB_NEW_N(rw->arena, IrTerm, n->a[1]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        IrTerm t = rw->g->terms[n->a[0] + i];
        const IrNode *x = ir_at(rw->g, t.ref);
        t.coefficient %= k;
        if (t.coefficient == 0) continue;
        if (k == 2) t.coefficient = 1;
        if (x->op == OP_MOD && ir_is_const(rw->g, x->a[1])) {
            const WbbI128 whole = (WbbI128)t.coefficient * (int64_t)ir_at(rw->g, x->a[1])->imm;
            if (whole % k == 0 && t.coefficient < few && t.coefficient > -few &&
                ir_within(rw->g, x->a[0], -large, large))
                t.ref = x->a[0];
        }
        terms[count++] = t;
    }
    return (m->value[r] = rw_try_sum(rw, constant, terms, count)) != 0 && m->value[r] != m->value[s];
}

bool rw_split(RwCx *rw, Match *m, uint32_t d, uint32_t s, WbbI128 k, uint32_t r, bool only_rest)
{
    const IrNode n = *ir_at(rw->g, m->value[s]);
    if (n.op != OP_SUM || k <= 0 || k > INT64_MAX) return false;
    if (only_rest) return reduce_modulo(rw, m, &n, s, (int64_t)k, r);
    return divide(rw, m, &n, d, (int64_t)k, (int64_t)ir_floor_div((int64_t)n.imm, k), r);
}

/* The next common divisor to try after k: of the terms that k divides and the largest of the others, where each
 * coefficient counts as its greatest common divisor with `by`. 0: k divides all terms. */
static uint64_t next_divisor(const IrGraph *g, const IrNode *n, uint64_t by, uint64_t k)
{
    uint64_t largest = 0;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = g->terms[n->a[0] + i];
        if (k && divides(k, t)) continue;
        const uint64_t size = ir_gcd(by, size_of(t.coefficient));
        largest = WBB_MAX(largest, size);
    }
    return largest ? ir_gcd(k, largest) : 0;
}

/* Do the terms that k does not divide, with the constant, stay between two neighbouring multiples of k? *whole: the
 * lower one, by k. */
static bool rest_fits(IrGraph *g, const IrNode *n, int64_t k, WbbI128 *whole)
{
    static const WbbI128 limit = (WbbI128)1 << 100;
    WbbI128 lo = (int64_t)n->imm, hi = lo;
    for (uint32_t i = 0; i < n->a[1]; i++) {
        const IrTerm t = g->terms[n->a[0] + i];
        if (t.coefficient % k == 0) continue;
        const IrFact f = ir_fact(g, t.ref);
        if (!fits(f.lo) || !fits(f.hi)) return false;
        lo += t.coefficient * (t.coefficient > 0 ? f.lo : f.hi);
        hi += t.coefficient * (t.coefficient > 0 ? f.hi : f.lo);
        if (hi - lo >= k || lo < -limit || hi > limit) return false;
    }
    *whole = ir_floor_div(lo, k);
    return *whole == ir_floor_div(hi, k) && fits(*whole);
}

bool rw_group(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t k, uint32_t more, uint32_t *next)
{
    const uint32_t r = more & 255, divisor = more >> 8;
    const IrNode n = *ir_at(rw->g, m->value[s]);
    const WbbI128 by = divisor == 255 ? 0 : m->konst[divisor];
    if (n.op != OP_SUM || by < 0 || by > INT64_MAX) return false;
    uint64_t g = 0;
    for (uint32_t i = 0; (g = next_divisor(rw->g, &n, (uint64_t)by, g)) > 1; i++) {
        WbbI128 whole;
        if (i < *next || g > INT64_MAX || !rest_fits(rw->g, &n, (int64_t)g, &whole)) continue;
        *next = i + 1;
        m->konst[k] = g;
        if (divide(rw, m, &n, d, (int64_t)g, (int64_t)whole, r)) return true;
    }
    return false;
}

static bool is_taken(const uint32_t *picks, uint32_t n, uint32_t term)
{
    for (uint32_t i = 0; i < n; i++)
        if (picks[i] == term) return true;
    return false;
}

/* The first term whose coefficient's size is at most k; terms are sorted by it, the largest first. */
static uint32_t first_of(const IrGraph *g, const IrNode *n, uint64_t k)
{
    uint32_t low = 0, high = n->a[1];
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2;
        if (size_of(g->terms[n->a[0] + middle].coefficient) > k) low = middle + 1;
        else high = middle;
    }
    return low;
}

/* Binds the next term of a sum, *term or a later one, to v[d] and its coefficient to k[k]; false: none. how: 1 if
 * k[k] is bound already, plus the operation that the term must be, << 8 (0: any). */
bool rw_pick(RwCx *rw, Match *m, uint32_t d, uint32_t s, uint32_t k, uint32_t how, uint32_t *term)
{
    const IrGraph *g = rw->g;
    const IrNode *n = ir_at(g, m->value[s]);
    const bool fixed = how & 1;
    const uint32_t op = how >> 8;
    if (n->op != OP_SUM || m->n_picks == MAX_PICKS || (fixed && !fits(m->konst[k]))) return false;
    const int64_t wanted = fixed ? (int64_t)m->konst[k] : 0;
    if (m->n_picks == 0) m->picked_constant = 0;
    if (fixed && *term == 0) *term = first_of(g, n, size_of(wanted));
    for (; *term < n->a[1]; ++*term) {
        const IrTerm t = g->terms[n->a[0] + *term];
        if (fixed && size_of(t.coefficient) != size_of(wanted)) return false;
        if ((op && ir_at(g, t.ref)->op != op) || (fixed && t.coefficient != wanted) ||
            is_taken(m->picks, m->n_picks, *term))
            continue;
        if (!fixed) m->konst[k] = t.coefficient;
        m->value[d] = t.ref;
        m->picks[m->n_picks++] = (*term)++;
        return true;
    }
    return false;
}

static bool pick_one(const IrGraph *g, Match *m, const IrNode *n, WbbI128 k, IrRef r)
{
    if (m->n_picks == MAX_PICKS || !fits(k)) return false;
    for (uint32_t i = first_of(g, n, size_of((int64_t)k)); i < n->a[1]; i++) {
        const IrTerm t = g->terms[n->a[0] + i];
        if (size_of(t.coefficient) != size_of((int64_t)k)) return false;
        if (t.ref != r || t.coefficient != k || is_taken(m->picks, m->n_picks, i)) continue;
        m->picks[m->n_picks++] = i;
        return true;
    }
    return false;
}

/* Picks k times v[x]: a term, or all terms of a sum and k times its constant. */
bool rw_pick_bound(RwCx *rw, Match *m, uint32_t x, uint32_t s, WbbI128 k)
{
    const IrGraph *g = rw->g;
    const IrNode *n = ir_at(g, m->value[s]), *y = ir_at(g, m->value[x]);
    if (n->op != OP_SUM || k == 0 || !fits(k)) return false;
    m->picked_constant = 0;
    if (y->op != OP_SUM) return pick_one(g, m, n, k, m->value[x]);
    for (uint32_t i = 0; i < y->a[1]; i++)
        if (!pick_one(g, m, n, k * g->terms[y->a[0] + i].coefficient, g->terms[y->a[0] + i].ref)) return false;
    m->picked_constant = k * (int64_t)y->imm;
    return fits((int64_t)n->imm - m->picked_constant);
}

void rw_rest_terms(const RwCx *rw, const Match *m, IrTerm *terms, uint32_t *n_terms, int64_t *constant)
{
    const IrNode *n = ir_at(rw->g, m->rest.sum);
    for (uint32_t i = 0; i < n->a[1]; i++)
        if (!is_taken(m->rest.picks, m->rest.n_picks, i)) terms[(*n_terms)++] = rw->g->terms[n->a[0] + i];
    *constant = (int64_t)((int64_t)n->imm - m->rest.constant);
}

/* The value that a term is a quotient or remainder of, of quotients and remainders. */
static IrRef base_of(const IrGraph *g, IrRef r)
{
    while (ir_at(g, r)->op == OP_MOD || ir_at(g, r)->op == OP_FLOORDIV) r = ir_at(g, r)->a[0];
    return r;
}

typedef struct {
    IrRef base;
    IrTerm term;
} Based;

static int by_base(const void *x, const void *y)
{
    const Based *p = x, *q = y;
    if (p->base != q->base) return p->base < q->base ? -1 : 1;
    return p->term.ref < q->term.ref ? -1 : p->term.ref > q->term.ref;
}

IrRef rw_regroup(RwCx *rw, IrRef sum)
{
    IrGraph *g = rw->g;
    const IrNode n = *ir_at(g, sum);
    Based *based = WBB_NEW_N(rw->arena, Based, n.a[1]);
    IrTerm *terms = WBB_NEW_N(rw->arena, IrTerm, n.a[1]);
    uint32_t count = 0;
    for (uint32_t i = 0; i < n.a[1]; i++) {
        const IrTerm t = g->terms[n.a[0] + i];
        based[i] = (Based){base_of(g, t.ref), t};
    }
    qsort(based, n.a[1], sizeof *based, by_base);
    for (uint32_t i = 0, end; i < n.a[1]; i = end) {
        IrTerm *group = terms + count;
        uint32_t size = 0;
        for (end = i; end < n.a[1] && based[end].base == based[i].base; end++) group[size++] = based[end].term;
        if (size == n.a[1]) return sum;
        if (size > 1) group[0] = (IrTerm){1, rw_sum(rw, 0, group, size)};
        count++;
    }
    bool overflow = false;
    const IrRef made = ir_sum(g, (int64_t)n.imm, terms, count, &overflow);
    return overflow ? sum : made;
}

IrRef rw_rest(RwCx *rw, Match *m, uint32_t slot)
{
    if (slot != m->rest_slot || slot == 0) return m->value[slot];
    IrTerm *terms = WBB_NEW_N(rw->arena, IrTerm, ir_at(rw->g, m->rest.sum)->a[1]);
    uint32_t n = 0;
    int64_t constant;
    rw_rest_terms(rw, m, terms, &n, &constant);
    m->rest_slot = 0;
    return m->value[slot] = rw_sum(rw, constant, terms, n);
}
