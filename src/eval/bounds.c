/* bounds: for each element the interval of results that HLO allows.
 *
 * Needs: intervals of the operands. Leaves: intervals that hold every allowed result, as tight as the ends tell: monotone
 * operations are taken at the ends, others give a larger interval or everything. Nan is told apart: never, maybe, must.
 *
 * Single values (both ends equal) go through an operation exactly as they do in EV_PLAIN, whatever the operation is, as long as
 * its budget is 0. The others are in bounds_int.c, bounds_float.c and bounds_complex.c. An operation whose operands are the same
 * array knows that they are the same value.
 *
 *     s32 lt([1, 3], [2, 2]) = false or true;   select([0, 1], [1, 2], [5, 6]) = [1, 6];   f32 subtract(x, x) = [0, 0]
 */
#include "eval/bounds.h"

#include <math.h>
#include <string.h>

static const ScOp compare_op[] = {[HLO_EQ] = OP_EQ, [HLO_NE] = OP_NE, [HLO_LT] = OP_LT,
                                  [HLO_LE] = OP_LE, [HLO_GT] = OP_GT, [HLO_GE] = OP_GE};

EvBound ev_bound_nan(void)
{
    return (EvBound){{.f = (double)INFINITY}, {.f = -(double)INFINITY}, EV_MUST_NAN | EV_MAYBE_NAN};
}

EvBound ev_bound_exact(ScType t, uint64_t bits)
{
    EvBound b = {{.u = bits}, {.u = bits}, 0};
    if (sc_is_float(t)) {
        b.lo.f = b.hi.f = sc_to_f64(t, bits);
        if (isnan(b.lo.f)) return ev_bound_nan();
    } else if (sc_is_signed(t)) {
        b.lo.i = b.hi.i = (int64_t)sc_to_i128(t, bits);
    }
    return b;
}

EvBound ev_bound_any(ScType t)
{
    if (t == SC_F8E8M0FNU) return (EvBound){{.f = 0x1p-127}, {.f = 0x1p127}, EV_MAYBE_NAN};
    if (sc_is_float(t)) return (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, t == SC_F4E2M1FN ? 0 : EV_MAYBE_NAN};
    EvBound b = {{.u = 0}, {.u = sc_mask(t)}, 0};
    if (sc_is_signed(t)) {
        b.hi.i = (int64_t)(sc_mask(t) >> 1);
        b.lo.i = -b.hi.i - 1;
    }
    return b;
}

EvBound *ev_bound_unknown(Ev *e, ScType t, int64_t n)
{
    ScType p = ev_part_type(t);
    const EvBound any = ev_bound_any(p);
    EvBound *r = ev_lanes(e, wbb_mul_size(e->arena, (size_t)n, ev_lane_bytes(EV_BOUNDS, t)));
    ev_fill(r, &any, sizeof any, p == t ? n : 2 * n);
    return r;
}

bool ev_bound_single(ScType t, const EvBound *b, uint64_t *bits)
{
    if (sc_is_float(t)) {
        if (b->flags || b->lo.f != b->hi.f || signbit(b->lo.f) != signbit(b->hi.f)) return false;
        *bits = sc_from_f64(t, b->lo.f);
        return true;
    }
    *bits = b->lo.u & sc_mask(t);
    return b->lo.u == b->hi.u;
}

/* As above, but nan is a value: the operations that compute do not look at its payload. */
static bool value_of(ScType t, const EvBound *b, uint64_t *bits)
{
    if (!(b->flags & EV_MUST_NAN)) return ev_bound_single(t, b, bits);
    *bits = sc_from_f64(t, (double)NAN);
    return true;
}

/* Ends of type t compared: -1, 0, 1. */
typedef union {
    double f;
    int64_t i;
    uint64_t u;
} End;

static End lo(const EvBound *b) { return (End){.u = b->lo.u}; }
static End hi(const EvBound *b) { return (End){.u = b->hi.u}; }

static int order(ScType t, End a, End b)
{
    if (sc_is_float(t)) return (a.f > b.f) - (a.f < b.f);
    if (sc_is_signed(t)) return (a.i > b.i) - (a.i < b.i);
    return (a.u > b.u) - (a.u < b.u);
}

/* As ends of intervals, where -0 is below +0. */
static bool below(ScType t, End a, End b)
{
    return order(t, a, b) < 0 || (sc_is_float(t) && a.f == 0 && b.f == 0 && signbit(a.f) && !signbit(b.f));
}

EvBound ev_bound_union(ScType t, EvBound a, EvBound b)
{
    uint32_t flags = (a.flags | b.flags) & EV_MAYBE_NAN;
    if (a.flags & b.flags & EV_MUST_NAN) return a;
    EvBound r = a.flags & EV_MUST_NAN ? b : a;
    if (!((a.flags | b.flags) & EV_MUST_NAN)) {
        if (below(t, lo(&b), lo(&r))) r.lo = b.lo;
        if (below(t, hi(&r), hi(&b))) r.hi = b.hi;
    }
    r.flags = flags;
    return r;
}

bool ev_value(ScOp op, ScType t, ScType from, const uint64_t *x, uint64_t *r)
{
    if (sc_eval(op, t, from, x, r)) return true;
    if (op == OP_CVT) {
        *r = sc_is_float(from) ? sc_from_f64(t, sc_to_f64(from, x[0])) : sc_from_i128(t, sc_to_i128(from, x[0]));
        return true;
    }
    uint64_t wide[3] = {0};
    ScSignature sig = (ScSignature)sc_op_info[op].signature;
    bool is_float = sc_is_float(t), by_bits = op == OP_CLZ || op == OP_POPCNT || op == OP_SHRL; /* look at no sign */
    bool by_sign = op == OP_SHRA; /* whatever the type says, the top bit is one */
    ScType in = is_float ? SC_F64 : (sc_is_signed(t) && !by_bits) || by_sign ? SC_I8 : SC_U8;
    unsigned above = 8u - sc_type_info[t].bits;
    if (sc_type_info[t].bits > 8) return false;
    for (unsigned k = 0; k < sc_op_info[op].arity; k++) {
        if (sig == SC_SELECT && k == 0) wide[k] = x[k];
        else if (is_float) wide[k] = sc_from_f64(SC_F64, sc_to_f64(t, x[k]));
        else if (by_sign && k == 0) wide[k] = (uint64_t)((int8_t)(uint8_t)(x[k] << above) >> above) & 0xff;
        else wide[k] = by_bits || by_sign ? x[k] & sc_mask(t) : (uint64_t)sc_to_i128(t, x[k]) & 0xff;
    }
    if (!sc_eval(op, in, in, wide, r)) return false;
    if (sig == SC_COMPARE || sig == SC_TEST) return true;
    if (op == OP_CLZ) *r -= above;
    *r = is_float ? sc_from_f64(t, sc_to_f64(SC_F64, *r)) : *r & sc_mask(t);
    return true;
}

EvBound ev_bound_pred(bool may_be_false, bool may_be_true)
{
    return (EvBound){{.u = may_be_false ? 0 : 1}, {.u = may_be_true ? 1 : 0}, 0};
}

/* What a comparison of numbers may say; then what nan adds. */
static EvBound compare(ScOp op, ScType t, const EvBound *a, const EvBound *b)
{
    if (op == OP_GT) return compare(OP_LT, t, b, a);
    if (op == OP_GE) return compare(OP_LE, t, b, a);
    bool yes = false, no = false, numbers = !((a->flags | b->flags) & EV_MUST_NAN);
    if (numbers) {
        bool apart = order(t, lo(a), hi(b)) > 0 || order(t, lo(b), hi(a)) > 0;
        bool same = order(t, lo(a), hi(a)) == 0 && order(t, lo(b), hi(b)) == 0 && order(t, lo(a), lo(b)) == 0;
        switch (op) {
        case OP_LT: yes = order(t, lo(a), hi(b)) < 0, no = order(t, hi(a), lo(b)) >= 0; break;
        case OP_LE: yes = order(t, lo(a), hi(b)) <= 0, no = order(t, hi(a), lo(b)) > 0; break;
        case OP_EQ: yes = !apart, no = !same; break;
        default: yes = !same, no = !apart; break;
        }
    }
    if ((a->flags | b->flags) & EV_MAYBE_NAN) {
        yes = yes || op == OP_NE;
        no = no || op != OP_NE;
    }
    return ev_bound_pred(no, yes);
}

static WbbI128 wide(ScType t, End e) { return sc_is_signed(t) ? (WbbI128)e.i : (WbbI128)e.u; }

/* The value 0 may be told from others by its sign: -0 is false too. */
EvBound ev_bound_convert(ScType t, ScType from, const EvBound *x)
{
    uint64_t ends[2], r[2];
    if (t == from) return *x;
    if (t == SC_PRED) {
        EvBound zero = {0};
        return compare(OP_NE, from, x, &zero);
    }
    if (sc_is_float(from) && sc_is_float(t)) return ev_bound_narrow(t, *x);
    if (!sc_is_float(from) && !sc_is_float(t)) return ev_bound_wrapped(t, wide(from, lo(x)), wide(from, hi(x)));
    if (x->flags & EV_MUST_NAN) return ev_bound_exact(t, 0);
    for (int k = 0; k < 2; k++) {
        End e = k ? hi(x) : lo(x);
        ends[k] = sc_is_float(from) ? sc_from_f64(from, e.f) : e.u & sc_mask(from);
        if (sc_is_float(from) && isnan(sc_to_f64(from, ends[k]))) ends[k] = sc_from_f64(from, copysign(ev_largest(from), e.f)); /* no infinity */
        ev_value(OP_CVT, t, from, &ends[k], &r[k]);
    }
    if (sc_is_float(t)) {
        EvBound b = {{.f = sc_to_f64(t, r[0])}, {.f = sc_to_f64(t, r[1])}, 0};
        if (isnan(b.lo.f)) b = (EvBound){{.f = -ev_largest(t)}, b.hi, EV_MAYBE_NAN};
        if (isnan(b.hi.f)) b = (EvBound){b.lo, {.f = ev_largest(t)}, EV_MAYBE_NAN};
        return b;
    }
    EvBound b = {ev_bound_exact(t, r[0]).lo, ev_bound_exact(t, r[1]).hi, 0};
    return x->flags & EV_MAYBE_NAN ? ev_bound_union(t, b, ev_bound_exact(t, 0)) : b;
}

EvBound ev_bound_op(ScOp op, ScType t, ScType from, const EvBound *x, bool approx)
{
    const ScOpInfo *info = &sc_op_info[op];
    if (op == OP_SELECT) return x[0].lo.u == x[0].hi.u ? x[x[0].lo.u ? 1 : 2] : ev_bound_union(t, x[1], x[2]);
    uint64_t bits[3] = {0}, r = 0;
    ScType in = info->signature == SC_CONVERT ? from : t;
    ScBudget budget = sc_budget(op, t, approx);
    bool known = budget.ulp == 0 && budget.absolute == 0;
    for (unsigned k = 0; k < info->arity; k++) known = known && value_of(in, &x[k], &bits[k]);
    if (known && ev_value(op, t, from, bits, &r))
        return ev_bound_exact(info->signature == SC_COMPARE || info->signature == SC_TEST ? SC_PRED : t, r);
    if (info->signature == SC_COMPARE) return compare(op, t, &x[0], &x[1]);
    if (op == OP_IS_FINITE) {
        bool numbers = !(x->flags & EV_MUST_NAN), ends = isinf(x->lo.f) || isinf(x->hi.f);
        bool finite = numbers && x->lo.f < (double)INFINITY && x->hi.f > -(double)INFINITY;
        return ev_bound_pred(x->flags || ends, finite);
    }
    if (op == OP_CVT) return ev_bound_convert(t, from, x);
    return sc_is_float(t) ? ev_bound_float(op, t, x, approx) : ev_bound_int(op, t, x);
}

/* compare type=TOTALORDER. Nothing is known of the sign of a nan: it may be below everything or above it. */
static EvBound compare_total(ScOp op, ScType t, const EvBound *x)
{
    EvBound key[2];
    if (!sc_is_float(t)) return compare(op, t, &x[0], &x[1]);
    for (int k = 0; k < 2; k++) {
        if (x[k].flags) return ev_bound_pred(true, true);
        key[k].lo.i = ev_total_key(t, sc_from_f64(t, x[k].lo.f));
        key[k].hi.i = ev_total_key(t, sc_from_f64(t, x[k].hi.f));
        key[k].flags = 0;
    }
    return compare(op, SC_I64, &key[0], &key[1]);
}

/* Operations that are no ScOp. */
static EvBound special(const HloInstruction *i, const EvBound *x)
{
    ScType t = i->shape->type, from = i->operands[0]->shape->type;
    switch (i->opcode) {
    case HLO_CLAMP: {
        EvBound low[2] = {x[0], x[1]};
        EvBound high[2] = {x[2], ev_bound_op(OP_MAX, t, t, low, false)};
        return ev_bound_op(OP_MIN, t, t, high, false);
    }
    case HLO_REAL: return x[0];
    case HLO_IMAG: return ev_bound_exact(t, 0);
    case HLO_REDUCE_PRECISION: {
        if (x->flags & EV_MUST_NAN) return *x;
        EvBound r = *x;
        r.lo.f = sc_to_f64(t, ev_reduced(t, sc_from_f64(t, x->lo.f), i));
        r.hi.f = sc_to_f64(t, ev_reduced(t, sc_from_f64(t, x->hi.f), i));
        return r;
    }
    case HLO_MULHI: return ev_bound_mulhi(t, x);
    default: return compare_total(compare_op[i->direction], from, x);
    }
}

/* One element of a comparison or operation of a value with itself. */
static bool same(ScOp op, ScType t, const EvBound *x, bool approx, EvBound *r)
{
    if (sc_op_info[op].signature == SC_COMPARE) {
        bool holds = op == OP_EQ || op == OP_LE || op == OP_GE, nan = x->flags != 0;
        *r = x->flags & EV_MUST_NAN ? ev_bound_pred(op != OP_NE, op == OP_NE)
             : op == OP_NE          ? ev_bound_pred(true, nan)
                                    : ev_bound_pred(nan || !holds, holds);
        return true;
    }
    if (sc_is_float(t)) return ev_bound_same(op, t, x, approx, r);
    if (op == OP_SUB || op == OP_BXOR) *r = ev_bound_exact(t, 0);
    else if (op == OP_MAX || op == OP_MIN || op == OP_BAND || op == OP_BOR) *r = *x;
    else return false;
    return true;
}

void ev_bounds(const HloInstruction *i, ScOp op, bool approx, int64_t n, EvBound *r, void *const *x)
{
    ScType t = i->shape->type, from = i->operands[0]->shape->type;
    if (op != OP_NONE && (sc_op_info[op].signature == SC_COMPARE || sc_op_info[op].signature == SC_TEST)) t = from;
    bool twice = op != OP_NONE && i->n_operands == 2 && x[0] == x[1];
    for (int64_t k = 0; k < n; k++) {
        EvBound operands[3];
        uint64_t bits;
        for (uint32_t p = 0; p < i->n_operands && p < 3; p++) operands[p] = ((const EvBound *)x[p])[k];
        if (twice && !value_of(t, &operands[0], &bits) && same(op, t, operands, approx, &r[k])) continue;
        r[k] = op == OP_NONE ? special(i, operands) : ev_bound_op(op, t, from, operands, approx);
    }
}
