/* bounds_float: intervals of floats through arithmetic and functions.
 *
 * Needs: intervals whose ends are values of the type. Leaves: the interval of results that rounding and the budgets of
 * functions allow, and whether nan is among them.
 *
 * Rounding is monotone, so the ends of a correctly rounded operation are the rounded ends. A function with a budget of
 * k may return any value of the type within k units in the last place of the exact result, which is computed in a wider
 * type. Types of 8 bits and below are computed in f64 and rounded at the end, as their operations are.
 *
 *     f32 exp([0, 1]), budget 7: [1 - 7 ulp, e + 7 ulp];   f32 div([1, 2], [-1, 1]) = [-inf, inf];   f32 x * x = [0,
 * inf]
 */
#include "eval/bounds.h"

#include <math.h>

#define INF ((double)INFINITY)
#define PI 3.14159265358979323846

static EvBound between_values(double low, double high) { return (EvBound){{.f = low}, {.f = high}, 0}; }

double ev_step(ScType t, double x, bool up)
{
    uint64_t bits = sc_from_f64(t, x), sign = (sc_mask(t) >> 1) + 1;
    if (t == SC_F8E8M0FNU) return sc_to_f64(t, up ? WBB_MIN(bits + 1, 254) : bits - (bits > 0));
    if (x == 0) bits = (up ? 0 : sign) + 1;
    else bits = (x > 0) == up ? bits + 1 : bits - 1;
    double next = sc_to_f64(t, bits);
    return isnan(next) || (isfinite(x) && x != 0 && (next > x) != up)
               ? x
               : next; /* past the largest of a type without infinity */
}

double ev_largest(ScType t)
{
    switch (t) {
    case SC_F16: return 65504;
    case SC_BF16: return 0x1.fep127;
    case SC_F32: return 0x1.fffffep127;
    case SC_F64: return 0x1.fffffffffffffp1023;
    case SC_F4E2M1FN: return 6;
    case SC_F8E3M4: return 15.5;
    case SC_F8E4M3:
    case SC_F8E4M3FNUZ: return 240;
    case SC_F8E4M3B11FNUZ: return 30;
    case SC_F8E5M2:
    case SC_F8E5M2FNUZ: return 57344;
    case SC_F8E8M0FNU: return 0x1p127;
    default: return 448;
    }
}

EvBound ev_bound_narrow(ScType t, EvBound x)
{
    if (x.flags & EV_MUST_NAN) return t == SC_F4E2M1FN ? ev_bound_exact(t, sc_from_f64(t, (double)NAN)) : x;
    EvBound r = {{.f = sc_to_f64(t, sc_from_f64(t, x.lo.f))}, {.f = sc_to_f64(t, sc_from_f64(t, x.hi.f))}, x.flags};
    double largest = ev_largest(t), lowest = t == SC_F8E8M0FNU ? 0x1p-127 : -largest;
    bool nan = isnan(r.lo.f) || isnan(r.hi.f);
    if (nan && (x.hi.f < lowest || x.lo.f > largest) && isnan(r.lo.f) && isnan(r.hi.f)) return ev_bound_nan();
    if (nan) r.flags |= EV_MAYBE_NAN;
    if (isnan(r.lo.f)) r.lo.f = lowest;
    if (isnan(r.hi.f)) r.hi.f = largest;
    if (t == SC_F4E2M1FN && x.flags & EV_MAYBE_NAN) { /* which has no nan: it becomes -0 */
        r.flags = 0;
        r.lo.f = ev_least(r.lo.f, -0.0);
        r.hi.f = ev_most(r.hi.f, -0.0);
    }
    return r;
}

static double rounded_up(ScType t, double x)
{
    double r = sc_to_f64(t, sc_from_f64(t, x));
    return r < x ? ev_step(t, r, true) : r;
}

static double rounded_down(ScType t, double x)
{
    double r = sc_to_f64(t, sc_from_f64(t, x));
    return r > x && isfinite(r) ? ev_step(t, r, false) : r;
}

/* The function in f64. */
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

/* Functions that approach 0 without reaching it. */
static bool vanishing(ScOp op) { return op == OP_EXP || op == OP_EXP2 || op == OP_LOGISTIC || op == OP_POW; }
/* Functions that are nowhere negative. */
static bool natural(ScOp op)
{
    return op == OP_EXP || op == OP_EXP2 || op == OP_LOGISTIC || op == OP_SQRT || op == OP_COSH || op == OP_ACOSH ||
           op == OP_ACOS;
}

/* In f64 the budget has one unit more, since y itself may be a unit off. */
EvBound ev_bound_allowed(ScOp op, ScType t, ScBudget budget, double y)
{
    if (isnan(y)) return ev_bound_nan();
    if (budget.ulp == 0 && budget.absolute == 0) {
        double r = sc_to_f64(t, sc_from_f64(t, y));
        return between_values(r, r);
    }
    bool f64 = t == SC_F64;
    if (isinf(y)) {
        double nearest = f64 ? copysign(0x1.fffffffffffffp1023, y) : y;
        return between_values(fmin(nearest, y), fmax(nearest, y));
    }
    if (y == 0 && budget.absolute == 0 && !vanishing(op)) return between_values(y, y);
    double miss = (f64 ? budget.ulp + 1 : budget.ulp * (1 + 1e-9)) * ev_ulp(t, y) + budget.absolute;
    EvBound b = between_values(rounded_up(t, y - miss), rounded_down(t, y + miss));
    bool positive = !signbit(y) && (natural(op) || (op == OP_POW && y >= 0)); /* the root of -0 is -0 */
    double nearest = sc_to_f64(t, sc_from_f64(t, y)); /* beyond the largest value it is infinity */
    b = between_values(ev_least(b.lo.f, nearest), ev_most(b.hi.f, nearest));
    if (b.lo.f == 0) b.lo.f = -0.0;
    if (positive && b.lo.f <= 0) b.lo.f = 0.0;
    if (b.hi.f == 0 && !signbit(y)) b.hi.f = 0.0;
    return b;
}

static EvBound allowed(Function f, double y) { return ev_bound_allowed(f.op, f.type, f.budget, y); }

/* The first power of two above a positive x. */
static double power_above(double x)
{
    int e;
    frexp(x, &e);
    return ldexp(1, e);
}

/* The results allowed where the exact values are all of [low, high]. The last place doubles at a power of two, so a
 * result for an exact value just above it may lie lower than one for a value below it. Values next to an exact 0 may be
 * off by units as well. */
static EvBound spread(Function f, double low, double high)
{
    EvBound r = {allowed(f, low).lo, allowed(f, high).hi, 0};
    double by = f.budget.ulp * (1 + 1e-9), step = ev_ulp(f.type, 0);
    if (low > 0 && power_above(low) <= high) r.lo.f = ev_least(r.lo.f, allowed(f, power_above(low)).lo.f);
    if (high < 0 && power_above(-high) <= -low) r.hi.f = ev_most(r.hi.f, allowed(f, -power_above(-high)).hi.f);
    if (low == 0 && high > 0 && !natural(f.op) && f.op != OP_POW) r.lo.f = ev_least(r.lo.f, -floor(by) * step);
    if (high == 0 && low < 0) r.hi.f = ev_most(r.hi.f, floor(by) * step);
    return r;
}

/* [a, b] through a function that is monotone there, rising or falling. */
static EvBound between(Function f, double a, double b, bool rising)
{
    bool once = correctly_rounded(f);
    double x = once ? at(f.op, f.type, a, 0) : exact(f.op, a, 0), y = once ? at(f.op, f.type, b, 0) : exact(f.op, b, 0);
    if (once) return rising ? between_values(x, y) : between_values(y, x);
    return rising ? spread(f, x, y) : spread(f, y, x);
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
    case OP_LOG2: return (Domain){0, INF, true};
    case OP_SQRT: return (Domain){-0.0, INF, true};
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
    Domain d = domain(f.op);
    if (x->hi.f < d.from || x->lo.f > d.to) return ev_bound_nan();
    bool outside = x->lo.f < d.from || x->hi.f > d.to;
    double a = ev_most(x->lo.f, d.from), b = ev_least(x->hi.f, d.to);
    if (b < a || (b == 0 && signbit(b) && !signbit(a))) b = a; /* b is -0, and the domain begins at +0 */
    EvBound r = between(f, a, b, d.rising);
    if (f.op == OP_RSQRT && (x->lo.f < 0 || (x->lo.f == 0 && signbit(x->lo.f)))) r.lo.f = -INF; /* rsqrt(-0) */
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
    if (op == OP_TAN) r = between_values(-INF, INF);
    bool far = infinite || b - a >= 6 || fabs(a) > 1e6 || fabs(b) > 1e6;
    if (op == OP_TAN && !far && !reaches(a, b, PI / 2, PI)) r = between(f, a, b, true);
    if (op != OP_TAN && !far) {
        double shift = op == OP_SIN ? PI / 2 : 0;
        double p = exact(op, a, 0), q = exact(op, b, 0);
        r = spread(f, ev_least(p, q), ev_most(p, q));
        if (reaches(a, b, shift, 2 * PI)) r.hi = top.hi;
        if (reaches(a, b, shift + PI, 2 * PI)) r.lo = bottom.lo;
    }
    r.flags = infinite ? EV_MAYBE_NAN : 0;
    return r;
}

/* abs and cosh, which fall below zero and rise above it. */
static EvBound even(Function f, const EvBound *x)
{
    double a = fabs(x->lo.f), b = fabs(x->hi.f);
    double closest = x->lo.f <= 0 && x->hi.f >= 0 ? 0 : fmin(a, b);
    return between(f, closest, fmax(a, b), true);
}

static bool has(const EvBound *x, double v) { return x->lo.f <= v && v <= x->hi.f; }
static bool has_inf(const EvBound *x) { return isinf(x->lo.f) || isinf(x->hi.f); }

/* The extremes of an operation that is monotone in each operand: its results at all pairs of ends. */
static EvBound corners(Function f, const EvBound *x)
{
    double low = INF, high = -INF;
    for (int k = 0; k < 4; k++) {
        double a = k & 1 ? x[0].hi.f : x[0].lo.f, b = k & 2 ? x[1].hi.f : x[1].lo.f;
        double y = correctly_rounded(f) ? at(f.op, f.type, a, b) : exact(f.op, a, b);
        if (isnan(y) && f.op == OP_DIV && isinf(a))
            y = copysign(0.0, a) * copysign(1.0, b); /* inf / inf: its neighbours are finite / inf */
        if (isnan(y) && f.op != OP_MUL) continue;
        low = ev_least(low, isnan(y) ? -0.0 : y); /* 0 * inf: its neighbours are zeros and the other corners */
        high = ev_most(high, isnan(y) ? 0.0 : y);
    }
    return correctly_rounded(f) || low > high ? between_values(low, high) : spread(f, low, high);
}

static EvBound sum(ScOp op, ScType t, const EvBound *a, const EvBound *b)
{
    EvBound other = op == OP_SUB ? (EvBound){{.f = -b->hi.f}, {.f = -b->lo.f}, b->flags} : *b;
    bool opposite = (a->hi.f == INF && other.lo.f == -INF) || (a->lo.f == -INF && other.hi.f == INF);
    double low = at(OP_ADD, t, a->lo.f, other.lo.f), high = at(OP_ADD, t, a->hi.f, other.hi.f);
    return (EvBound){{.f = isnan(low) ? -INF : low}, {.f = isnan(high) ? INF : high}, opposite ? EV_MAYBE_NAN : 0};
}

static bool is_plus(const EvBound *x) { return x->lo.f > 0 || (x->lo.f == 0 && !signbit(x->lo.f)); }
static bool is_minus(const EvBound *x) { return x->hi.f < 0 || (x->hi.f == 0 && signbit(x->hi.f)); }

static EvBound quotient(Function division, const EvBound *x)
{
    bool nan = (has(&x[0], 0) && has(&x[1], 0)) || (has_inf(&x[0]) && has_inf(&x[1]));
    bool plus = is_plus(&x[1]), minus = is_minus(&x[1]);
    EvBound r = between_values(-INF, INF);
    if ((plus || minus) && has(&x[1], 0) && has(&x[0], 0)) {
        double low = x[0].lo.f < 0 ? -INF : x[0].lo.f, high = x[0].hi.f > 0 ? INF : x[0].hi.f;
        r = plus ? between_values(low, high) : between_values(-high, -low);
    } else if (plus || minus) {
        r = corners(division, x);
    }
    if (r.lo.f > r.hi.f) r = between_values(-INF, INF);
    r.flags = nan ? EV_MAYBE_NAN : 0;
    return r;
}

/* fmod: the sign is that of the dividend; the magnitude is below that of the divisor and at most that of the dividend.
 */
static EvBound remainder_of(const EvBound *x)
{
    double a = fmax(fabs(x[0].lo.f), fabs(x[0].hi.f)), b = fmax(fabs(x[1].lo.f), fabs(x[1].hi.f));
    double closest = x[1].lo.f > 0 ? x[1].lo.f : x[1].hi.f < 0 ? -x[1].hi.f : 0;
    if (a < closest) return x[0];
    EvBound r = between_values(is_plus(x) ? 0.0 : -fmin(a, b), is_minus(x) ? -0.0 : fmin(a, b));
    r.flags = has(&x[1], 0) || has_inf(&x[0]) ? EV_MAYBE_NAN : 0;
    return r;
}

/* x^y on bases [a, b] of one sign: monotone in each operand; 1 is added where the base 1 or the exponent 0 lies inside.
 */
static EvBound power_part(Function f, double a, double b, const EvBound *y)
{
    const EvBound x[2] = {between_values(a, b), *y};
    EvBound r = corners(f, x), one = allowed(f, 1);
    if ((has(&x[0], 1) || has(&x[0], -1)) && has(y, 0)) r = ev_bound_union(f.type, r, one);
    return r;
}

static EvBound power(Function f, const EvBound *x)
{
    double y = x[1].lo.f;
    bool whole = y == x[1].hi.f && floor(y) == y && isfinite(y);
    if (is_plus(x)) {
        EvBound r = power_part(f, x[0].lo.f, x[0].hi.f, &x[1]);
        if (x[0].lo.f == 0 && x[1].lo.f < 0) r.hi.f = INF;
        if (x[0].lo.f == 0 && x[1].hi.f > 0) r.lo.f = 0.0;
        return r;
    }
    if (!whole) return ev_bound_any(f.type);
    if (y < 0 && has(x, 0)) return between_values(fmod(y, 2) == 0 ? 0.0 : -INF, INF);
    if (is_minus(x)) return power_part(f, x[0].lo.f, x[0].hi.f, &x[1]);
    EvBound minus = power_part(f, x[0].lo.f, -0.0, &x[1]), plus = power_part(f, 0.0, x[0].hi.f, &x[1]);
    return ev_bound_union(f.type, minus, plus);
}

/* The angle of a rectangle that does not meet the cut is extreme at the corners. */
static EvBound angle(Function f, const EvBound *x)
{
    const EvBound *y = &x[0];
    if (is_plus(y) || is_minus(y) || x[1].lo.f > 0) return corners(f, x);
    return (EvBound){allowed(f, -PI).lo, allowed(f, PI).hi, 0};
}

static EvBound two_operands(Function f, const EvBound *x)
{
    ScType t = f.type;
    EvBound r;
    switch (f.op) {
    case OP_ADD:
    case OP_SUB: return sum(f.op, t, &x[0], &x[1]);
    case OP_MUL:
        r = corners(f, x);
        if ((has(&x[0], 0) && has_inf(&x[1])) || (has(&x[1], 0) && has_inf(&x[0]))) r.flags = EV_MAYBE_NAN;
        return r;
    case OP_DIV: return quotient(f, x);
    case OP_REM: return remainder_of(x);
    case OP_POW: return power(f, x);
    case OP_MAX:
    case OP_MIN: return between_values(at(f.op, t, x[0].lo.f, x[1].lo.f), at(f.op, t, x[0].hi.f, x[1].hi.f));
    case OP_ATAN2: return angle(f, x);
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
        EvBound operands[2] = {between_values(1, 1), *x};
        return quotient((Function){OP_DIV, f.type, f.budget}, operands);
    }
    default: return monotone(f, x);
    }
}

/* The lowest value that is off from one of [low, high] by `ulp` units. The factor covers an error of f64 next to a
 * power of two. */
static double lowest_miss(ScType t, double ulp, double low, double high)
{
    double r = low - ulp * ev_ulp(t, low * (1 + 1e-9)), power = low > 0 ? power_above(low) : INF;
    return power <= high ? fmin(r, power - ulp * ev_ulp(t, power)) : r;
}

bool ev_bound_same(ScOp op, ScType t, const EvBound *x, ScAccuracy accuracy, EvBound *r)
{
    if (x->flags & EV_MUST_NAN) return false;
    bool infinite = has_inf(x), small = sc_type_info[t].bits <= 8;
    uint32_t flags = x->flags;
    switch (op) {
    case OP_SUB: *r = between_values(0.0, 0.0), flags |= infinite ? EV_MAYBE_NAN : 0; break;
    case OP_MAX:
    case OP_MIN: *r = *x; break;
    case OP_MUL: {
        double a = fmin(fabs(x->lo.f), fabs(x->hi.f)), b = fmax(fabs(x->lo.f), fabs(x->hi.f));
        if (small) return false;
        if (has(x, 0)) a = 0.0;
        *r = between_values(at(op, t, a, a), at(op, t, b, b));
        break;
    }
    case OP_DIV: {
        ScBudget budget = sc_budget(op, t, accuracy);
        *r = ev_bound_allowed(op, t, budget, 1);
        flags |= infinite || has(x, 0) ? EV_MAYBE_NAN : 0;
        break;
    }
    case OP_REM: return false;
    default: return false;
    }
    r->flags = flags;
    return true;
}

EvBound ev_bound_float(ScOp op, ScType t, const EvBound *x, ScAccuracy accuracy)
{
    unsigned arity = sc_op_info[op].arity;
    Function f = {op, t, sc_budget(op, t, accuracy)};
    if (sc_type_info[t].bits <= 8) { /* in f64, widened by the budget and rounded once */
        EvBound r = ev_bound_float(op, SC_F64, x, false);
        if (!(r.flags & EV_MUST_NAN)) {
            double low = r.lo.f, high = r.hi.f;
            r.lo.f = lowest_miss(t, f.budget.ulp, low, high);
            r.hi.f = -lowest_miss(t, f.budget.ulp, -high, -low);
            if (natural(op) && f.budget.ulp > 0 && !(r.lo.f > 0)) r.lo.f = 0.0;
        }
        r = ev_bound_narrow(t, r);
        /* Without a 0, the least value may come of a 0 that a function gives within its budget, and be nan. */
        if (t == SC_F8E8M0FNU && f.budget.ulp > 0 && !(r.flags & EV_MUST_NAN) && r.lo.f <= 0x1p-127)
            r.flags |= EV_MAYBE_NAN;
        return r;
    }
    uint32_t flags = 0;
    uint64_t bits[2];
    bool single = true;
    for (unsigned k = 0; k < arity; k++) {
        if (x[k].flags & EV_MUST_NAN && op != OP_POW) return ev_bound_nan();
        flags |= x[k].flags & EV_MAYBE_NAN;
        single = single && k < 2 && ev_bound_single(t, &x[k], &bits[k]);
    }
    if (op == OP_POW && flags) return ev_bound_any(t); /* 1^nan and nan^0 are 1 */
    const Domain d = arity == 1 ? domain(op) : (Domain){-INF, INF, true};
    if (x->hi.f < d.from || x->lo.f > d.to) return ev_bound_nan(); /* the C library takes long to find that */
    if (single && arity <= 2) {
        const double a = x[0].lo.f, b = arity > 1 ? x[1].lo.f : 1, y = exact(op, a, b);
        const bool limit = isinf(a) || isinf(b) || (op == OP_POW && a == 0); /* 0 exactly, not by underflow */
        return limit && y == 0 ? between_values(y, y) : allowed(f, y);
    }
    EvBound r = arity == 1 ? one_operand(f, x) : two_operands(f, x);
    if (!(r.flags & EV_MUST_NAN)) r.flags |= flags;
    return r;
}
