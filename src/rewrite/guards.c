/* guards.c: constants and conditions of a match: `when=`.
 *
 * Needs what the match has bound; decides one step. Constants are exact in 128 bits; an overflow, a divisor that is
 * not positive, and the logarithm of what is no power of two fail the match. Each fact of gen/guards.py has one case
 * in fact; it holds only if it is proved for every value of the node.
 *
 *   KIMM d, imm             k[d] = a number
 *   KWIDTH d t              k[d] = width in bits of the class bound in t
 *   KARITH d x y, fn        k[d] = k[x] fn k[y]
 *   CREL x y rel            k[x] rel k[y]
 *   CFACT v x y, n|no<<8    fact n about v[v], k[x], k[y]; no: it must not be proved
 *   CAPART v u x, no        k[x] <= v[u] - v[v]
 *   CPERIOD d v x           k[d] = v[v] // k[x], which is one number
 *   CFIXED v u, no          v[v] does not depend on what v[u] depends on
 *   CCOUNTS d v             k[d] = how many values v[v] has, the numbers from 0 on
 *   CGIVEN d                k[d] = the number that a plan gives
 *   CFLAG mask no           all matched nodes carry the flags; no: the root has none of them
 */
#include "rewrite/inner.h"

#include <math.h>
#include <stdlib.h>

enum { FACT_DEPTH = 6 }; /* operands of operands that a fact of an element is derived from: bounds its time */

bool rw_konst(WbbI128 x, WbbI128 y, uint32_t fn, WbbI128 *r)
{
    switch (fn) {
    case 0: return !__builtin_add_overflow(x, y, r);
    case 1: return !__builtin_sub_overflow(x, y, r);
    case 2: return !__builtin_mul_overflow(x, y, r);
    case 3: /* floor */
        if (y <= 0) return false;
        *r = x / y - (x % y < 0);
        return true;
    case 4:
        if (y <= 0) return false;
        *r = x % y + (x % y < 0 ? y : 0);
        return true;
    case 5: return y >= 0 && y < 64 && !__builtin_mul_overflow(x, (WbbI128)1 << y, r);
    default: /* log2 */
        if (x <= 0 || (x & (x - 1)) != 0) return false;
        for (*r = 0; x > 1; x >>= 1) ++*r;
        return true;
    }
}

static bool relation(WbbI128 x, WbbI128 y, uint32_t rel)
{
    switch (rel) {
    case 0: return x == y;
    case 1: return x != y;
    case 2: return x < y;
    case 3: return x <= y;
    case 4: return x > y;
    default: return x >= y;
    }
}

/* The bits of a mask that are not among the `known` bits of an integer of type t; all ones if the mask is wider
 * than t. */
static uint64_t open_bits(ScType t, WbbI128 mask, uint64_t known)
{
    const WbbI128 top = (WbbI128)sc_mask(t) + 1;
    if (!sc_is_int(t) || mask >= top || mask < -top / 2) return UINT64_MAX;
    return (uint64_t)mask & sc_mask(t) & ~known;
}

/* 2^k or -2^k of which the reciprocal is one too, neither subnormal. */
static bool is_power_of_two(ScType t, uint64_t bits)
{
    const int most = t == SC_F16 ? 15 : t == SC_F64 ? 1023 : t == SC_F32 || t == SC_BF16 ? 127 : 0;
    int e;
    return frexp(fabs(sc_to_f64(t, bits)), &e) == 0.5 && abs(e - 1) < most;
}

/* May an f32 be divided by b with two products, as gen/reciprocals.py says and shows? b has its parts high, towards 0,
 * and low of 1 / b; the dividends of which a * high + a * low may be rounded elsewhere than a / b are tried. */
static bool is_reciprocal_in_two(double value)
{
    enum { DIGITS = 24, MOST = 8 };
    int e;
    const double fraction = frexp(fabs(value), &e);
    if (!(fabs(value) >= 0x1p-20 && fabs(value) <= 0x1p20) || fraction == 0.5) return false;
    const float b = (float)ldexp(fraction, DIGITS), near = 1 / b;
    const float high = fmaf(-b, near, 1) < 0 ? nextafterf(near, 0) : near, low = fmaf(-b, high, 1) / b;
    const int zeros = __builtin_ctz((unsigned)b), odd = (int)b >> zeros;
    for (int k = DIGITS; k <= DIGITS + 1; k++)
        for (int d = -MOST; d <= MOST; d++) {
            if (d == 0 || d % (1 << zeros) != 0) continue;
            int a = (d / (1 << zeros) % odd + odd) % odd;
            for (int i = zeros; i < k; i++) a = (a % 2 ? a + odd : a) / 2; /* a 2^-1 modulo odd */
            for (; a < 1 << DIGITS; a += odd)
                if (a >= 1 << (DIGITS - 1) && fmaf((float)a, high, (float)a * low) != (float)a / b) return false;
        }
    return true;
}

static bool fact(RwCx *rw, Guard guard, IrRef x, WbbI128 k, WbbI128 m)
{
    const ScType t = IR_SC(ir_at(rw->g, x)->type);
    switch (guard) {
    case GUARD_within: return t == SC_INDEX && ir_within(rw->g, x, k, m);
    case GUARD_multiple: return t == SC_INDEX && ir_multiple(rw->g, x, k);
    case GUARD_known_zero: return open_bits(t, k, ir_element_bits(rw->g, x, FACT_DEPTH).zero) == 0;
    case GUARD_known_one: return open_bits(t, k, ir_element_bits(rw->g, x, FACT_DEPTH).one) == 0;
    case GUARD_finite: return sc_is_float(t) && !(ir_float_may(rw->g, x, FACT_DEPTH) & (MAY_NAN | MAY_INF));
    case GUARD_never_nan: return sc_is_float(t) && !(ir_float_may(rw->g, x, FACT_DEPTH) & MAY_NAN);
    case GUARD_never_negzero: return sc_is_float(t) && !(ir_float_may(rw->g, x, FACT_DEPTH) & MAY_NEGZERO);
    case GUARD_integral: return sc_is_float(t) && !(ir_float_may(rw->g, x, FACT_DEPTH) & (MAY_NAN | MAY_FRACTION));
    case GUARD_unit:
        return sc_is_float(t) && !(ir_float_may(rw->g, x, FACT_DEPTH) & (MAY_NAN | MAY_NEGATIVE | MAY_EXCEED_1));
    case GUARD_nonnegative:
        return sc_is_float(t) && !(ir_float_may(rw->g, x, FACT_DEPTH) & (MAY_NAN | MAY_NEGATIVE | MAY_NEGZERO));
    case GUARD_literal: return ir_is_const(rw->g, x);
    case GUARD_power_of_two: return ir_is_const(rw->g, x) && is_power_of_two(t, ir_at(rw->g, x)->imm);
    case GUARD_reciprocal_in_two:
        return ir_is_const(rw->g, x) && t == SC_F32 && is_reciprocal_in_two(sc_to_f64(t, ir_at(rw->g, x)->imm));
    case GUARD_once: return rw->uses && x < rw->n_uses && rw->uses[x] == 1;
    case GUARD_few_warps: return rw->few_warps;
    case GUARD_no_llvm: return rw->no_llvm;
    case GUARD_apart: case GUARD_period: case GUARD_fixed: case GUARD_counts: /* have steps of their own */
    case GUARD_COUNT: break;
    }
    return false;
}

static bool differ_by(RwCx *rw, IrRef x, IrRef y, WbbI128 k)
{
    bool overflow = false;
    const IrRef difference = ir_sum(rw->g, 0, (IrTerm[]){{1, y}, {-1, x}}, 2, &overflow);
    return !overflow && ir_fact(rw->g, difference).lo >= k;
}

static bool period(RwCx *rw, IrRef n, WbbI128 k, WbbI128 *q)
{
    const IrFact f = ir_fact(rw->g, n);
    if (k <= 0 || f.lo < INT64_MIN || f.hi > INT64_MAX) return false;
    *q = f.lo / k - (f.lo % k < 0);
    return *q == f.hi / k - (f.hi % k < 0);
}

/* Does no variable of index n occur in x? */
static bool fixed(RwCx *rw, IrRef x, IrRef n)
{
    const IrRefs of_n = ir_variables(rw->g, rw->arena, n, rw_marks(rw));
    const IrRefs of_x = ir_variables(rw->g, rw->arena, x, rw_marks(rw));
    uint32_t k = 0;
    while (k < of_n.n && !ir_among(&of_x, of_n.items[k])) k++;
    return k == of_n.n;
}

/* A number that a variable, or several as its digits, have all values of. */
static bool counts(RwCx *rw, IrRef n, WbbI128 *k)
{
    const IrNode *at = ir_at(rw->g, n);
    WbbI128 digits = 1;
    if (at->op == OP_VAR) digits = (WbbI128)rw->g->vars[at->imm].hi + 1;
    for (uint32_t t = at->op == OP_SUM ? at->a[1] : 0; t-- > 0;) { /* the lowest stands last */
        const IrTerm *term = &rw->g->terms[at->a[0] + t];
        const IrNode *v = ir_at(rw->g, term->ref);
        if (v->op != OP_VAR || term->coefficient != digits) return false;
        digits *= (WbbI128)rw->g->vars[v->imm].hi + 1;
    }
    *k = digits;
    return ir_fact(rw->g, n).lo == 0 && ir_fact(rw->g, n).hi == digits - 1;
}

bool rw_condition(RwCx *rw, Match *m, const uint32_t **pc, uint32_t w, const uint64_t *imm)
{
    const uint32_t a = w >> 8 & 255, b = w >> 16 & 255, c = w >> 24;
    switch (w & 63) {
    case W_KIMM: m->konst[a] = (int64_t)imm[*(*pc)++]; return true;
    case W_KWIDTH: m->konst[a] = sc_type_info[m->type[b]].bits; return true;
    case W_KARITH: return rw_konst(m->konst[b], m->konst[c], *(*pc)++, &m->konst[a]);
    case W_CREL: return relation(m->konst[a], m->konst[b], c);
    case W_CFACT: {
        const uint32_t asked = *(*pc)++;
        if (fact(rw, (Guard)(asked & 255), rw_rest(rw, m, a), m->konst[b], m->konst[c]) == !(asked >> 8)) return true;
        return rw->assumed && rw->phase == RW_ISEL && !(asked >> 8) ? (m->assumed = true) : false;
    }
    case W_CAPART: return differ_by(rw, rw_rest(rw, m, a), rw_rest(rw, m, b), m->konst[c]) == !*(*pc)++;
    case W_CPERIOD: return period(rw, rw_rest(rw, m, b), m->konst[c], &m->konst[a]);
    case W_CFIXED: return fixed(rw, rw_rest(rw, m, a), rw_rest(rw, m, b)) == !c;
    case W_CCOUNTS: return counts(rw, rw_rest(rw, m, b), &m->konst[a]);
    case W_CGIVEN: m->konst[a] = rw->given; return rw->given > 0;
    case W_CFLAG: return b ? (ir_at(rw->g, m->value[0])->flags & a) == 0 : (m->flags & a) == a;
    default: assert(!"a match program holds a build step"); return false;
    }
}
