/* bounds_complex: intervals of complex values: one for the real part and one for the imaginary part.
 *
 * Needs: lanes of two EvBounds each. Leaves: the same (one where the result is real). What a kernel may return:
 *
 *   - add, subtract, negate, conversions, real, imag, complex, select: each part as for the type of the parts.
 *   - multiply: each part by its formula of two products and a sum; each product is rounded or not, the sum is rounded.
 *   - abs, divide and functions: each part within the budget, in units of the last place *of the larger part*, since a
 * part that cancels loses digits in every formula. For a power, whose exponent y log x multiplies the error, 16 |y log
 * x| units more.
 *   - where a part of an operand is inf or nan, or a divisor is 0, HLO leaves the result of divide and functions open.
 *     Programs rely on C11 Annex G for quotients, as XLA computes them: a part that is 0 or inf there must be, and one
 *     that is nan stays open. A finite number by one that may be infinite is small, or 0.
 *
 * Single values are computed exactly and then widened by the budget. For intervals the formula is evaluated in
 * intervals of f64, whose error is far less than a budget; functions without a formula here may return anything.
 *
 *     c64 log((-1, [-1, 1])) : re in [0, 0.35], im in [-3.15, 3.15]
 */
#include "eval/bounds.h"

#include <math.h>

#define INF ((double)INFINITY)

typedef struct {
    EvBound re, im;
} Pair;

static EvBound number(double x) { return (EvBound){{.f = x}, {.f = x}, 0}; }
static EvBound from_to(double a, double b) { return (EvBound){{.f = a}, {.f = b}, 0}; }

static EvBound f1(ScOp op, EvBound a) { return ev_bound_op(op, SC_F64, SC_F64, &a, false); }

static EvBound f2(ScOp op, EvBound a, EvBound b)
{
    const EvBound x[2] = {a, b};
    return ev_bound_op(op, SC_F64, SC_F64, x, false);
}

static EvBound square(EvBound a)
{
    EvBound r;
    return ev_bound_same(OP_MUL, SC_F64, &a, false, &r) ? r : f2(OP_MUL, a, a);
}

static EvBound sum(EvBound a, EvBound b) { return f2(OP_ADD, a, b); }
static EvBound times(EvBound a, EvBound b) { return f2(OP_MUL, a, b); }
static EvBound minus(EvBound a) { return f1(OP_NEG, a); }
static EvBound half(EvBound a) { return times(a, number(0.5)); }
static bool any_part(const EvBound *a) { return a->flags || isinf(a->lo.f) || isinf(a->hi.f); }
static double size(const EvBound *a) { return fmax(fabs(a->lo.f), fabs(a->hi.f)); }

static EvBound magnitude(Pair z)
{
    EvBound a = f1(OP_ABS, z.re), b = f1(OP_ABS, z.im);
    return from_to(hypot(a.lo.f, b.lo.f) * (1 - 0x1p-52), hypot(a.hi.f, b.hi.f) * (1 + 0x1p-52));
}

/* Times 2^k. Each part may be off by units, which cover what underflows here. */
static EvBound by_power(EvBound a, int k) { return a.flags ? a : from_to(ldexp(a.lo.f, k), ldexp(a.hi.f, k)); }
static Pair pair_by_power(Pair z, int k) { return (Pair){by_power(z.re, k), by_power(z.im, k)}; }

static int exponent(const Pair *z)
{
    const double most = fmax(size(&z->re), size(&z->im));
    int k = 0;
    if (most > 0 && isfinite(most)) frexp(most, &k);
    return k;
}

/* Both operands are scaled to at most 1, so that no square of a part overflows. */
static Pair divided(Pair a, Pair b)
{
    const int of_a = exponent(&a), of_b = exponent(&b);
    a = pair_by_power(a, -of_a), b = pair_by_power(b, -of_b);
    EvBound den = sum(square(b.re), square(b.im));
    EvBound re = sum(times(a.re, b.re), times(a.im, b.im)), im = f2(OP_SUB, times(a.im, b.re), times(a.re, b.im));
    return pair_by_power((Pair){f2(OP_DIV, re, den), f2(OP_DIV, im, den)}, of_a - of_b);
}

static Pair exp_of(Pair z)
{
    EvBound m = f1(OP_EXP, z.re);
    return (Pair){times(m, f1(OP_COS, z.im)), times(m, f1(OP_SIN, z.im))};
}

static Pair log_of(Pair z) { return (Pair){f1(OP_LOG, magnitude(z)), f2(OP_ATAN2, z.im, z.re)}; }

static Pair log1p_of(Pair z)
{
    EvBound s = sum(times(z.re, sum(z.re, number(2))), square(z.im));
    s.lo.f = fmax(s.lo.f, -1);
    return (Pair){half(f1(OP_LOG1P, s)), f2(OP_ATAN2, z.im, sum(z.re, number(1)))};
}

static Pair expm1_of(Pair z)
{
    EvBound e = f1(OP_EXPM1, z.re), s = square(f1(OP_SIN, half(z.im)));
    return (Pair){f2(OP_SUB, times(e, f1(OP_COS, z.im)), times(number(2), s)),
                  times(f1(OP_EXP, z.re), f1(OP_SIN, z.im))};
}

static Pair sinh_of(Pair z)
{
    return (Pair){times(f1(OP_SINH, z.re), f1(OP_COS, z.im)), times(f1(OP_COSH, z.re), f1(OP_SIN, z.im))};
}

static Pair cosh_of(Pair z)
{
    return (Pair){times(f1(OP_COSH, z.re), f1(OP_COS, z.im)), times(f1(OP_SINH, z.re), f1(OP_SIN, z.im))};
}

static Pair tanh_of(Pair z)
{
    if (z.re.lo.f > 20 || z.re.hi.f < -20) return (Pair){number(z.re.lo.f > 0 ? 1 : -1), from_to(-1e-15, 1e-15)};
    EvBound sh = f1(OP_SINH, z.re), ch = f1(OP_COSH, z.re), s = f1(OP_SIN, z.im), c = f1(OP_COS, z.im);
    EvBound den = sum(square(sh), square(c));
    return (Pair){f2(OP_DIV, times(sh, ch), den), f2(OP_DIV, times(s, c), den)};
}

/* Its absolute value may be above the largest number though both parts are not. */
static bool is_near_largest(const Pair *z) { return exponent(z) > 1020; }

/* sqrt: t = sqrt((|z| + |re|) / 2), and the other part is im / 2t. */
static Pair sqrt_of(Pair z)
{
    if (is_near_largest(&z)) return pair_by_power(sqrt_of(pair_by_power(z, -4)), 2);
    EvBound m = magnitude(z), t = f1(OP_SQRT, half(sum(m, f1(OP_ABS, z.re))));
    double most = sqrt(m.hi.f) * (1 + 0x1p-50);
    if (z.re.lo.f > 0) return (Pair){t, f2(OP_DIV, z.im, times(number(2), t))};
    bool above = z.im.lo.f > 0, below = z.im.hi.f < 0;
    if (z.re.hi.f < 0 && (above || below))
        return (Pair){f2(OP_DIV, f1(OP_ABS, z.im), times(number(2), t)), above ? t : minus(t)};
    return (Pair){from_to(0, most), from_to(-most, most)};
}

static Pair sign_of(Pair z)
{
    if (is_near_largest(&z)) z = pair_by_power(z, -4);
    EvBound m = magnitude(z);
    if (m.lo.f <= 0) return (Pair){from_to(-1, 1), from_to(-1, 1)};
    return (Pair){f2(OP_DIV, z.re, m), f2(OP_DIV, z.im, m)};
}

static Pair power_exponent(Pair a, Pair b)
{
    Pair l = log_of(a);
    return (Pair){f2(OP_SUB, times(b.re, l.re), times(b.im, l.im)), sum(times(b.re, l.im), times(b.im, l.re))};
}

/* Intervals through the formula of a function; false where there is none. */
static bool several(const HloInstruction *i, const Pair *x, Pair *r)
{
    const Pair one = {number(1), number(0)};
    Pair z = x[0];
    switch (i->opcode) {
    case HLO_DIVIDE: *r = divided(x[0], x[1]); return true;
    case HLO_EXPONENTIAL: *r = exp_of(z); return true;
    case HLO_EXPONENTIAL_MINUS_ONE: *r = expm1_of(z); return true;
    case HLO_LOG: *r = log_of(z); return true;
    case HLO_LOG_PLUS_ONE: *r = log1p_of(z); return true;
    case HLO_SINH: *r = sinh_of(z); return true;
    case HLO_COSH: *r = cosh_of(z); return true;
    case HLO_SINE:
        z = sinh_of((Pair){minus(x->im), x->re}), *r = (Pair){z.im, minus(z.re)};
        return true; /* -i sinh(iz) */
    case HLO_COSINE: *r = cosh_of((Pair){minus(x->im), x->re}); return true;
    case HLO_TANH: *r = tanh_of(z); return true;
    case HLO_TAN: z = tanh_of((Pair){minus(x->im), x->re}), *r = (Pair){z.im, minus(z.re)}; return true;
    case HLO_LOGISTIC:
        z = exp_of((Pair){minus(z.re), minus(z.im)});
        z.re = sum(z.re, number(1));
        *r = divided(one, z);
        return true;
    case HLO_SQRT: *r = sqrt_of(z); return true;
    case HLO_RSQRT: *r = divided(one, sqrt_of(z)); return true;
    case HLO_SIGN: *r = sign_of(z); return true;
    case HLO_POWER: *r = exp_of(power_exponent(x[0], x[1])); return true;
    default: return false;
    }
}

static bool known(ScType p, const Pair *x, double *parts)
{
    uint64_t bits[2];
    if (!ev_bound_single(p, &x->re, &bits[0]) || !ev_bound_single(p, &x->im, &bits[1])) return false;
    parts[0] = x->re.lo.f;
    parts[1] = x->im.lo.f;
    return true;
}

/* The largest value of |y log x|. */
static double exponent_size(const Pair *x)
{
    Pair l = log_of(x[0]);
    return hypot(size(&x[1].re), size(&x[1].im)) * hypot(size(&l.re), size(&l.im));
}

static EvBound widened(ScType p, EvBound x, double miss)
{
    if (any_part(&x) || !isfinite(miss)) return ev_bound_any(p);
    x.lo.f -= miss;
    x.hi.f += miss;
    if (x.lo.f == 0) x.lo.f = -0.0;
    return ev_bound_narrow(p, x);
}

static bool is_number(const EvBound *a) { return a->flags & EV_MUST_NAN || (!a->flags && a->lo.f == a->hi.f); }
static double number_of(const EvBound *a) { return a->flags & EV_MUST_NAN ? (double)NAN : a->lo.f; }
static bool is_zero(const EvBound *a) { return is_number(a) && number_of(a) == 0; }
static bool is_finite(EvBound a) { return isfinite(a.lo.f) && isfinite(a.hi.f); }

static bool any_of(const Pair *z) { return any_part(&z->re) || any_part(&z->im); }
static bool is_by_zero(const Pair *x) { return is_zero(&x[1].re) && is_zero(&x[1].im); }

/* Of a quotient whose operands are not finite, or by 0: a zero of either sign, an infinity, or anything for nan. */
static EvBound part_of_annex_g(ScType p, double x)
{
    return isnan(x) ? ev_bound_any(p) : x == 0 ? from_to(-0.0, 0.0) : number(x);
}

static double least(const EvBound *a) { return a->lo.f > 0 ? a->lo.f : a->hi.f < 0 ? -a->hi.f : 0; }

/* A quotient with a part that is or may be infinite or nan, or by 0. Of known numbers it is that of C11 Annex G; a
 * finite number by one that may be infinite is at most as large as that by the least of these. */
static Pair special_quotient(const HloInstruction *i, ScType p, const Pair *x, ScBudget budget)
{
    const Pair any = {ev_bound_any(p), ev_bound_any(p)};
    if (is_number(&x[0].re) && is_number(&x[0].im) && is_number(&x[1].re) && is_number(&x[1].im)) {
        double parts[2][2], exact[2];
        const EvBound u = x[1].re;
        for (int k = 0; k < 2; k++) parts[k][0] = number_of(&x[k].re), parts[k][1] = number_of(&x[k].im);
        if (is_by_zero(x) && signbit(u.lo.f) != signbit(u.hi.f)) return any; /* it is the sign of the infinities */
        if (!ev_complex_value(i, (const double (*)[2])parts, exact)) return any;
        return (Pair){part_of_annex_g(p, exact[0]), part_of_annex_g(p, exact[1])};
    }
    const double below = fmax(least(&x[1].re), least(&x[1].im));
    if (any_of(&x[0]) || x[1].re.flags || x[1].im.flags || below == 0) return any;
    const double most = hypot(size(&x[0].re), size(&x[0].im)) / below;
    const double miss = (budget.ulp + 4) * ev_ulp(p, most) + budget.absolute * fmax(1, most);
    if (!(most + miss < ev_largest(p))) return any;
    const EvBound small = ev_bound_narrow(p, from_to(-most - miss, most + miss));
    return (Pair){small, small};
}

static Pair function(const HloInstruction *i, ScType p, const Pair *x, ScAccuracy accuracy)
{
    const Pair any = {ev_bound_any(p), ev_bound_any(p)};
    double parts[2][2] = {{0, 0}, {0, 0}}, exact[2];
    bool single = true;
    const ScBudget budget = sc_budget(hlo_scalar(i->opcode), i->shape->type, accuracy);
    if (i->opcode == HLO_DIVIDE && (any_of(&x[0]) || any_of(&x[1]) || is_by_zero(x)))
        return special_quotient(i, p, x, budget);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        if (any_of(&x[k])) return any;
        single = single && known(p, &x[k], parts[k]);
    }
    double units = budget.ulp;
    Pair r;
    if (single) {
        if (!ev_complex_value(i, (const double (*)[2])parts, exact)) return any;
        r = (Pair){number(exact[0]), number(exact[1])};
        units += ev_complex_units(i, (const double (*)[2])parts);
    } else {
        if (!several(i, x, &r)) return any;
        if (i->opcode == HLO_POWER) units += 16 * exponent_size(x);
    }
    if (any_part(&r.re) || any_part(&r.im)) return any;
    double larger = fmax(size(&r.re), size(&r.im));
    double miss = (units + (p == SC_F64 ? 2 : 0)) * (1 + 1e-9) * ev_ulp(p, larger) + budget.absolute * fmax(1, larger);
    return (Pair){widened(p, r.re, miss), widened(p, r.im, miss)};
}

static EvBound absolute(ScType p, ScType t, const Pair *z, ScAccuracy accuracy)
{
    bool infinite = isinf(size(&z->re)) || isinf(size(&z->im));
    if (z->re.flags || z->im.flags)
        return ev_bound_any(p); /* C defines the absolute value of (inf, nan) as inf; other libraries do not */
    EvBound m = magnitude(*z);
    ScBudget budget = sc_budget(OP_ABS, t, accuracy);
    EvBound low = ev_bound_allowed(OP_ABS, p, budget, m.lo.f), high = ev_bound_allowed(OP_ABS, p, budget, m.hi.f);
    return infinite ? from_to(fmin(low.lo.f, ev_largest(p)), INF) : from_to(fmax(low.lo.f, 0), high.hi.f);
}

/* Is p the product of two known numbers, without rounding? Then its sign is known where it is 0. */
static bool is_product(EvBound a, EvBound b, double p)
{
    if (a.lo.f != a.hi.f || b.lo.f != b.hi.f || !isfinite(p)) return false;
    if (a.lo.f == 0 || b.lo.f == 0) return true;
    return fabs(p) > 0x1p-900 && fma(a.lo.f, b.lo.f, -p) == 0;
}

/* A product of parts that is rounded or not: beyond the largest value it is infinite or not. */
static EvBound outward(ScType p, EvBound a, EvBound b)
{
    const EvBound x[2] = {a, b};
    EvBound r = ev_bound_op(OP_MUL, p, p, x, false);
    if (r.flags & EV_MUST_NAN) return r;
    if (is_product(a, b, r.lo.f)) return r;
    if (is_finite(a) && is_finite(b) && r.lo.f > ev_largest(p)) r.lo.f = ev_largest(p);
    if (is_finite(a) && is_finite(b) && r.hi.f < -ev_largest(p)) r.hi.f = -ev_largest(p);
    if (isfinite(r.lo.f)) r.lo.f = ev_step(p, r.lo.f, false);
    if (isfinite(r.hi.f)) r.hi.f = ev_step(p, r.hi.f, true);
    return r;
}

static EvBound products(ScType p, ScOp op, EvBound a, EvBound b, EvBound c, EvBound d)
{
    const EvBound x[2] = {outward(p, a, b), outward(p, c, d)};
    return ev_bound_op(op, p, p, x, false);
}

static EvBound parts_op(ScOp op, ScType p, EvBound a, EvBound b)
{
    const EvBound x[2] = {a, b};
    return ev_bound_op(op, p, p, x, false);
}

/* x where `takes` holds, else y; both where it is open. */
static Pair either(ScType p, EvBound takes, Pair x, Pair y)
{
    if (takes.lo.u == takes.hi.u) return takes.lo.u ? x : y;
    return (Pair){ev_bound_union(p, x.re, y.re), ev_bound_union(p, x.im, y.im)};
}

/* By real parts, as XLA compares: see normalise_broadcast.c. */
static Pair clamp(ScType p, const Pair *x)
{
    const Pair raised = either(p, parts_op(OP_GE, p, x[0].re, x[1].re), x[0], x[1]);
    return either(p, parts_op(OP_LE, p, raised.re, x[2].re), raised, x[2]);
}

static Pair one(Ev *e, const HloInstruction *i, ScType p, const Pair *x)
{
    ScOp op = hlo_scalar(i->opcode);
    switch (i->opcode) {
    case HLO_COPY: return x[0];
    case HLO_CLAMP: return clamp(p, x);
    case HLO_ADD:
    case HLO_SUBTRACT: return (Pair){parts_op(op, p, x[0].re, x[1].re), parts_op(op, p, x[0].im, x[1].im)};
    case HLO_NEGATE: return (Pair){ev_bound_op(OP_NEG, p, p, &x->re, false), ev_bound_op(OP_NEG, p, p, &x->im, false)};
    case HLO_MULTIPLY:
        return (Pair){products(p, OP_SUB, x[0].re, x[1].re, x[0].im, x[1].im),
                      products(p, OP_ADD, x[0].re, x[1].im, x[0].im, x[1].re)};
    default: return function(i, p, x, e->accuracy);
    }
}

/* Operations with a real result. */
static EvBound real_result(Ev *e, const HloInstruction *i, ScType from, const Pair *x)
{
    ScType p = ev_part_type(from);
    if (i->opcode == HLO_REAL) return x->re;
    if (i->opcode == HLO_IMAG) return x->im;
    if (i->opcode == HLO_ABS) return absolute(p, from, x, e->accuracy);
    if (i->opcode != HLO_COMPARE)
        wbb_decline(e->cx, i->loc, WHY_TYPE, "the evaluator has no %s of complex values", hlo_opcode_name(i->opcode));
    EvBound re = parts_op(OP_EQ, p, x[0].re, x[1].re), im = parts_op(OP_EQ, p, x[0].im, x[1].im);
    bool yes = re.hi.u && im.hi.u, no = !re.lo.u || !im.lo.u;
    return i->direction == HLO_EQ ? ev_bound_pred(no, yes) : ev_bound_pred(yes, no);
}

static Pair load(ScType t, const void *lanes, int64_t k)
{
    const EvBound *b = lanes;
    if (ev_part_type(t) == t) return (Pair){b[k], number(0)};
    return (Pair){b[2 * k], b[2 * k + 1]};
}

void *ev_bounds_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x)
{
    ScType t = i->shape->type, p = ev_part_type(t);
    EvBound *r = ev_lanes(e, (size_t)n * (p == t ? 1 : 2) * sizeof *r);
    for (int64_t k = 0; k < n; k++) {
        Pair operand[3], z;
        for (uint32_t q = 0; q < i->n_operands && q < 3; q++) operand[q] = load(i->operands[q]->shape->type, x[q], k);
        if (p == t) {
            r[k] = real_result(e, i, i->operands[0]->shape->type, operand);
            continue;
        }
        ScType from = ev_part_type(i->operands[0]->shape->type);
        if (i->opcode == HLO_COMPLEX) z = (Pair){operand[0].re, operand[1].re};
        else if (i->opcode == HLO_CONVERT)
            z = (Pair){ev_bound_convert(p, from, &operand->re),
                       from == i->operands[0]->shape->type ? number(0) : ev_bound_convert(p, from, &operand->im)};
        else if (i->opcode == HLO_SELECT) z = either(p, operand->re, operand[1], operand[2]);
        else z = one(e, i, p, operand);
        r[2 * k] = z.re;
        r[2 * k + 1] = z.im;
    }
    return r;
}
