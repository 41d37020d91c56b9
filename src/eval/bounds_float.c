/* bounds_float: intervals of floats through arithmetic and functions.
 *
 * Needs: intervals whose ends are values of the type. Leaves: the interval of results that rounding and the functions' budgets
 * allow, and whether nan is among them.
 *
 * Rounding is monotone, so the ends of a correctly rounded operation are the rounded ends. A function with a budget of k may
 * give any value of the type within k units in the last place of what is exact; the exact value is taken from a wider type.
 *
 *     f32 exp([0, 1]), budget 7: [1 - 7 ulp, e + 7 ulp];   f32 div([1, 2], [-1, 1]) = [-inf, inf]
 */
#include "eval/bounds.h"

#include <math.h>

#define INF ((double)INFINITY)
#define PI 3.14159265358979323846

/* One step of the type away from zero or towards it: codes of one sign are ordered as their values. */
static double step(ScType t, double x, bool up)
{
    uint64_t bits = sc_from_f64(t, x), sign = (sc_mask(t) >> 1) + 1;
    if (x == 0) bits = (up ? 0 : sign) + 1;
    else bits = (x > 0) == up ? bits + 1 : bits - 1;
    return sc_to_f64(t, bits);
}

static double rounded_up(ScType t, double x)
{
    double r = sc_to_f64(t, sc_from_f64(t, x));
    return r < x ? step(t, r, true) : r;
}

static double rounded_down(ScType t, double x)
{
    double r = sc_to_f64(t, sc_from_f64(t, x));
    return r > x && isfinite(r) ? step(t, r, false) : r;
}

/* f of doubles, as exact as there is. */
static double exact(ScOp op, double a, double b)
{
    uint64_t x[2] = {sc_from_f64(SC_F64, a), sc_from_f64(SC_F64, b)}, r = 0;
    sc_eval(op, SC_F64, SC_F64, x, &r);
    return sc_to_f64(SC_F64, r);
}

/* The operation on values of the type, rounded. */
static double at(ScOp op, ScType t, double a, double b)
{
    uint64_t x[2] = {sc_from_f64(t, a), sc_from_f64(t, b)}, r = 0;
    ev_value(op, t, t, x, &r);
    return sc_to_f64(t, r);
}

/* A function on values of a type, and how far it may be off. */
typedef struct {
    ScOp op;
    ScType type;
    ScBudget budget;
} Function;

static bool correctly_rounded(Function f) { return f.budget.ulp == 0 && f.budget.absolute == 0; }

/* What an implementation may give where y is exact. In f64, y itself may be a unit off. */
static EvBound allowed(Function f, double y)
{
    ScOp op = f.op;
    ScType t = f.type;
    if (isnan(y)) return ev_bound_nan();
    if (correctly_rounded(f)) {
        double r = sc_to_f64(t, sc_from_f64(t, y));
        return (EvBound){{.f = r}, {.f = r}, 0};
    }
    bool wide = t == SC_F64, vanishing = op == OP_EXP || op == OP_EXP2 || op == OP_LOGISTIC || op == OP_POW;
    if (isinf(y)) {
        double nearest = wide ? copysign(0x1.fffffffffffffp1023, y) : y;
        return (EvBound){{.f = fmin(nearest, y)}, {.f = fmax(nearest, y)}, 0};
    }
    if (y == 0 && f.budget.absolute == 0 && !(wide && vanishing)) return (EvBound){{.f = y}, {.f = y}, 0};
    double miss = (wide ? f.budget.ulp + 1 : f.budget.ulp) * ev_ulp(t, y) + f.budget.absolute;
    EvBound b = {{.f = rounded_up(t, y - miss)}, {.f = rounded_down(t, y + miss)}, 0};
    if ((vanishing && op != OP_POW) || (op == OP_POW && y >= 0)) b.lo.f = fmax(b.lo.f, 0);
    return b;
}

/* [a, b] through a function that is monotone there, rising or falling. */
static EvBound between(Function f, double a, double b, bool rising)
{
    EvBound first, last;
    if (correctly_rounded(f)) {
        double x = at(f.op, f.type, a, 0), y = at(f.op, f.type, b, 0);
        first = (EvBound){{.f = x}, {.f = x}, 0};
        last = (EvBound){{.f = y}, {.f = y}, 0};
    } else {
        first = allowed(f, exact(f.op, a, 0));
        last = allowed(f, exact(f.op, b, 0));
    }
    if (rising) return (EvBound){first.lo, last.hi, 0};
    return (EvBound){last.lo, first.hi, 0};
}

/* Where a function of one operand is defined and monotone. */
typedef struct {
    double from, to;
    bool rising;
} Domain;

static Domain domain(ScOp op)
{
    switch (op) {
    case OP_LOG:
    case OP_LOG2:
    case OP_SQRT: return (Domain){0, INF, true};
    case OP_RSQRT: return (Domain){0, INF, false};
    case OP_LOG1P: return (Domain){-1, INF, true};
    case OP_ASIN:
    case OP_ATANH: return (Domain){-1, 1, true};
    case OP_ACOS: return (Domain){-1, 1, false};
    case OP_ACOSH: return (Domain){1, INF, true};
    case OP_NEG: return (Domain){-INF, INF, false};
    default: return (Domain){-INF, INF, true};
    }
}

static EvBound monotone(Function f, const EvBound *x)
{
    ScOp op = f.op;
    Domain d = domain(op);
    if (x->hi.f < d.from || x->lo.f > d.to) return ev_bound_nan();
    double a = fmax(x->lo.f, d.from), b = fmin(x->hi.f, d.to);
    bool outside = x->lo.f < d.from || x->hi.f > d.to;
    if (a == 0 && op == OP_RSQRT) a = 0.0; /* +0; -0 is dealt with below */
    EvBound r = between(f, a, b, d.rising);
    if (op == OP_RSQRT && x->lo.f <= 0 && signbit(x->lo.f)) r.lo.f = -INF;
    r.flags = outside ? EV_MAYBE_NAN : 0;
    return r;
}

/* Is there an integer n with phase + n * period in [a, b], allowing for the error of these doubles? */
static bool reaches(double a, double b, double phase, double period)
{
    double slack = 1e-12 * (1 + fabs(a) + fabs(b));
    return ceil((a - slack - phase) / period) <= floor((b + slack - phase) / period);
}

static EvBound waves(Function f, const EvBound *x)
{
    ScOp op = f.op;
    double a = x->lo.f, b = x->hi.f;
    bool infinite = isinf(a) || isinf(b);
    if (infinite && a == b) return ev_bound_nan();
    EvBound top = allowed(f, 1), bottom = allowed(f, -1), r = {bottom.lo, top.hi, 0};
    if (op == OP_TAN) r = (EvBound){{.f = -INF}, {.f = INF}, 0};
    bool far = infinite || b - a >= 6 || fabs(a) > 1e6 || fabs(b) > 1e6;
    if (op == OP_TAN && !far && !reaches(a, b, PI / 2, PI)) r = between(f, a, b, true);
    if (op != OP_TAN && !far) {
        double shift = op == OP_SIN ? PI / 2 : 0;
        EvBound p = allowed(f, exact(op, a, 0)), q = allowed(f, exact(op, b, 0));
        r = ev_bound_union(f.type, p, q);
        if (reaches(a, b, shift, 2 * PI)) r.hi = top.hi;
        if (reaches(a, b, shift + PI, 2 * PI)) r.lo = bottom.lo;
    }
    r.flags = infinite ? EV_MAYBE_NAN : 0;
    return r;
}

/* abs and cosh: falling below zero, rising above. */
static EvBound even(Function f, const EvBound *x)
{
    double a = fabs(x->lo.f), b = fabs(x->hi.f);
    double least = x->lo.f <= 0 && x->hi.f >= 0 ? 0 : fmin(a, b);
    return between(f, least, fmax(a, b), true);
}

static bool has(const EvBound *x, double v) { return x->lo.f <= v && v <= x->hi.f; }
static bool has_inf(const EvBound *x) { return isinf(x->lo.f) || isinf(x->hi.f); }

/* Ends combined: the extremes of an operation that is monotone in each operand where the other is fixed. */
static EvBound corners(Function f, const EvBound *x)
{
    EvBound r = {{.f = INF}, {.f = -INF}, 0};
    for (int k = 0; k < 4; k++) {
        double a = k & 1 ? x[0].hi.f : x[0].lo.f, b = k & 2 ? x[1].hi.f : x[1].lo.f;
        double low, high;
        if (correctly_rounded(f)) {
            low = high = at(f.op, f.type, a, b);
        } else {
            EvBound one = allowed(f, exact(f.op, a, b));
            low = one.flags ? (double)NAN : one.lo.f;
            high = one.hi.f;
        }
        if (isnan(low)) {
            if (f.op == OP_MUL) low = high = 0; /* 0 * inf: next to it lie 0 and inf, which other corners give */
            else continue;
        }
        r.lo.f = fmin(r.lo.f, low);
        r.hi.f = fmax(r.hi.f, high);
    }
    return r;
}

static EvBound sum(ScOp op, ScType t, const EvBound *a, const EvBound *b)
{
    EvBound other = op == OP_SUB ? (EvBound){{.f = -b->hi.f}, {.f = -b->lo.f}, b->flags} : *b;
    bool opposite = (a->hi.f == INF && other.lo.f == -INF) || (a->lo.f == -INF && other.hi.f == INF);
    double low = at(OP_ADD, t, a->lo.f, other.lo.f), high = at(OP_ADD, t, a->hi.f, other.hi.f);
    EvBound r = {{.f = isnan(low) ? -INF : low}, {.f = isnan(high) ? INF : high}, opposite ? EV_MAYBE_NAN : 0};
    return r;
}

static EvBound quotient(Function division, const EvBound *x)
{
    bool nan = (has(&x[0], 0) && has(&x[1], 0)) || (has_inf(&x[0]) && has_inf(&x[1]));
    EvBound r = {{.f = -INF}, {.f = INF}, 0};
    bool one_sided = x[1].lo.f > 0 || x[1].hi.f < 0 || (x[1].lo.f == 0 && !signbit(x[1].lo.f) && x[1].hi.f > 0);
    if (one_sided) r = corners(division, x);
    if (one_sided && has(&x[1], 0) && has(&x[0], 0)) {
        r.lo.f = x[0].lo.f < 0 ? -INF : 0;
        r.hi.f = x[0].hi.f > 0 ? INF : 0;
    }
    if (r.lo.f > r.hi.f) r = (EvBound){{.f = -INF}, {.f = INF}, 0};
    r.flags = nan ? EV_MAYBE_NAN : 0;
    return r;
}

/* fmod: below the divisor and not above the dividend, of its sign. */
static EvBound remainder_of(const EvBound *x)
{
    double most = fmin(fmax(fabs(x[0].lo.f), fabs(x[0].hi.f)), fmax(fabs(x[1].lo.f), fabs(x[1].hi.f)));
    return (EvBound){{.f = x[0].lo.f < 0 ? -most : 0}, {.f = x[0].hi.f > 0 ? most : 0},
                     has(&x[1], 0) || has_inf(&x[0]) ? EV_MAYBE_NAN : 0};
}

static EvBound power(Function f, const EvBound *x)
{
    if (x[0].lo.f > 0) {
        EvBound r = corners(f, x);
        if (has(&x[0], 1)) { /* at the base 1 and the exponent 0 it is 1: between the corners */
            r.lo.f = fmin(r.lo.f, 1);
            r.hi.f = fmax(r.hi.f, 1);
        }
        return r;
    }
    if (x[0].lo.f == 0 && !signbit(x[0].lo.f)) {
        EvBound r = corners(f, x);
        if (x[1].lo.f <= 0) r.hi.f = INF;
        r.lo.f = fmin(r.lo.f, 0);
        return r;
    }
    return ev_bound_any(f.type);
}

static EvBound two_operands(Function f, const EvBound *x)
{
    ScOp op = f.op;
    ScType t = f.type;
    EvBound r;
    switch (op) {
    case OP_ADD:
    case OP_SUB: return sum(op, t, &x[0], &x[1]);
    case OP_MUL:
        r = corners(f, x);
        if ((has(&x[0], 0) && has_inf(&x[1])) || (has(&x[1], 0) && has_inf(&x[0]))) r.flags = EV_MAYBE_NAN;
        return r;
    case OP_DIV: return quotient(f, x);
    case OP_REM: return remainder_of(x);
    case OP_POW: return power(f, x);
    case OP_MAX:
    case OP_MIN: return (EvBound){{.f = at(op, t, x[0].lo.f, x[1].lo.f)}, {.f = at(op, t, x[0].hi.f, x[1].hi.f)}, 0};
    case OP_ATAN2: return (EvBound){allowed(f, -PI).lo, allowed(f, PI).hi, 0};
    default: return ev_bound_any(t);
    }
}

static EvBound one_operand(Function f, const EvBound *x)
{
    switch (f.op) {
    case OP_SIN:
    case OP_COS:
    case OP_TAN: return waves(f, x);
    case OP_ABS:
    case OP_COSH: return even(f, x);
    case OP_RCP: {
        EvBound operands[2] = {{{.f = 1}, {.f = 1}, 0}, *x};
        return quotient((Function){OP_DIV, f.type, f.budget}, operands);
    }
    default: return monotone(f, x);
    }
}

EvBound ev_bound_float(ScOp op, ScType t, const EvBound *x, bool approx)
{
    Function f = {op, t, sc_budget(op, t, approx)};
    unsigned arity = sc_op_info[op].arity;
    uint32_t flags = 0;
    uint64_t bits[2];
    bool single = true;
    for (unsigned k = 0; k < arity; k++) {
        if (x[k].flags & EV_MUST_NAN && op != OP_POW) return ev_bound_nan();
        flags |= x[k].flags & EV_MAYBE_NAN;
        single = single && k < 2 && ev_bound_single(t, &x[k], &bits[k]);
    }
    if (op == OP_POW && flags) return ev_bound_any(t); /* 1^nan and nan^0 are 1 */
    if (single && arity <= 2) return allowed(f, exact(op, x[0].lo.f, arity > 1 ? x[1].lo.f : 0));
    EvBound r = arity == 1 ? one_operand(f, x) : two_operands(f, x);
    if (!(r.flags & EV_MUST_NAN)) r.flags |= flags;
    return r;
}
