/* sums.c: indices as sums of terms: what they are made of, how large they are, in which order they are added.
 *
 * Needs a selected kernel, and in which scopes its nodes are. Terms of outer scopes come first, so that partial sums
 * leave loops.
 *
 *     1024*bid + 8*tid + 8   ->   constant 8; terms 1024 * bid, 8 * tid; common factor 8
 */
#include "ir/sums.h"

void ir_split(IrSplit *s, const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    s->constant = 0;
    if (n->op == OP_SUM) {
        s->terms = g->terms + n->a[0];
        s->n = n->a[1];
        s->constant = (int64_t)n->imm;
    } else if (n->op == OP_CONST) {
        s->n = 0;
        s->constant = (int64_t)n->imm;
    } else {
        s->one = (IrTerm){1, r};
        s->terms = &s->one;
        s->n = 1;
    }
}

IrBounds ir_bounds_of(IrGraph *g, const IrSplit *s)
{
    IrBounds x = {0, 0, 0, 0, true};
    for (uint32_t i = 0; i < s->n; i++) {
        const IrFact f = ir_fact(g, s->terms[i].ref);
        const WbbI128 c = s->terms[i].coefficient;
        const WbbI128 p = c * f.lo, q = c * f.hi, low = WBB_MIN(p, q), high = WBB_MAX(p, q);
        x.first += low;
        x.last += high;
        x.low += WBB_MIN(low, 0);
        x.high += WBB_MAX(high, 0);
        if (!ir_is_i32(c)) x.narrow_factors = false;
    }
    return x;
}

/* Replaces a variable that is defined as a multiple of one index and a constant by that, and adds the constant to the
 * sum's: false where it is none. */
static bool expand(const IrGraph *g, IrTerm *term, int64_t *constant)
{
    const IrNode *n = ir_at(g, term->ref);
    IrSplit d;
    int64_t moved, coefficient;
    if (n->op != OP_VAR || !g->vars[n->imm].definition) return false;
    ir_split(&d, g, g->vars[n->imm].definition);
    if (d.n != 1 || __builtin_mul_overflow(d.terms->coefficient, term->coefficient, &coefficient)) return false;
    if (__builtin_mul_overflow(d.constant, term->coefficient, &moved)) return false;
    if (__builtin_add_overflow(*constant, moved, constant)) return false;
    *term = (IrTerm){coefficient, d.terms->ref};
    return true;
}

static bool fits(IrGraph *g, const IrSplit *s)
{
    const IrBounds x = ir_bounds_of(g, s);
    return x.narrow_factors && ir_is_i32(x.first) && ir_is_i32(x.last);
}

/* The terms of the sum that the only term, a variable, is defined as. */
static IrSplit of_sum(WbbArena *a, IrGraph *g, IrSplit s, IrIsThere *is_there, const void *of)
{
    const IrTerm whole = s.terms[0];
    const IrNode *n = ir_at(g, whole.ref);
    IrSplit d;
    int64_t moved;
    if (n->op != OP_VAR || !g->vars[n->imm].definition) return s;
    ir_split(&d, g, g->vars[n->imm].definition);
    if (__builtin_mul_overflow(d.constant, whole.coefficient, &moved) ||
        __builtin_add_overflow(s.constant, moved, &moved))
        return s;
    IrTerm *terms = WBB_NEW_N(a, IrTerm, d.n + 1);
    for (uint32_t i = 0; i < d.n; i++) {
        terms[i] = d.terms[i];
        if (__builtin_mul_overflow(terms[i].coefficient, whole.coefficient, &terms[i].coefficient)) return s;
        if (is_there && !is_there(of, terms[i].ref)) return s;
    }
    const IrSplit all = {.terms = terms, .n = d.n, .constant = moved};
    return fits(g, &all) || !fits(g, &s) ? all : s;
}

IrSplit ir_expanded(WbbArena *a, IrGraph *g, IrRef index, IrIsThere *is_there, const void *of)
{
    IrSplit s;
    ir_split(&s, g, index);
    IrTerm *terms = WBB_NEW_N(a, IrTerm, s.n + 1);
    for (uint32_t i = 0; i < s.n; i++) {
        IrTerm next = terms[i] = s.terms[i];
        int64_t constant = s.constant;
        while (expand(g, &next, &constant))
            if (!is_there || is_there(of, next.ref)) terms[i] = next, s.constant = constant;
    }
    s.terms = terms;
    return s.n == 1 ? of_sum(a, g, s, is_there, of) : s;
}

uint32_t ir_next_term(const IrPlacement *p, const IrSplit *s, const bool *done)
{
    uint32_t best = s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        if (done[i]) continue;
        if (best == s->n) {
            best = i;
            continue;
        }
        const uint32_t depth = p->items[p->bound_in[s->terms[i].ref]].depth;
        const uint32_t best_depth = p->items[p->bound_in[s->terms[best].ref]].depth;
        const bool plus = s->terms[i].coefficient > 0, best_plus = s->terms[best].coefficient > 0;
        if (depth < best_depth || (depth == best_depth && plus && !best_plus)) best = i;
    }
    return best;
}

int64_t ir_common_factor(const IrSplit *s)
{
    uint64_t g = 0;
    for (uint32_t i = 0; i < s->n; i++) {
        const uint64_t c = (uint64_t)s->terms[i].coefficient;
        g = ir_gcd(s->terms[i].coefficient < 0 ? 0 - c : c, g);
    }
    return g && g <= INT32_MAX ? (int64_t)g : 1;
}

bool ir_is_wide(const IrGraph *g, IrRef r)
{
    const IrNode *n = ir_at(g, r);
    return (n->flags & SC_FLAG_WIDE) || (n->op == OP_CONST && !ir_is_i32((int64_t)n->imm));
}

IrRef ir_digit_of_quotient(IrGraph *g, IrRef x, uint64_t k, bool wide, uint64_t *divisor)
{
    const IrNode *n = ir_at(g, x);
    if (n->op == OP_VAR && g->vars[n->imm].definition) n = ir_at(g, g->vars[n->imm].definition);
    if (!k || !(k & (k - 1)) || n->op != OP_FLOORDIV || !ir_is_const(g, n->a[1])) return 0;
    const IrRef y = n->a[0];
    *divisor = ir_at(g, n->a[1])->imm * k;
    return ir_fact(g, y).lo >= 0 && *divisor <= INT32_MAX && ir_is_wide(g, y) == wide ? y : 0;
}
