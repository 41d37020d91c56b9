/* bounds: for each element the interval of results that HLO allows.
 *
 * Needs: intervals of the operands. Leaves: intervals that hold every allowed result, as tight as the ends tell: monotone
 * operations are taken at the ends, others give a larger interval or everything. Nan is told apart: never, maybe, must.
 *
 * Single values (both ends equal) go through an operation exactly as they do in EV_PLAIN, whatever the operation is, as long as
 * its budget is 0. Floats that are not single are in bounds_float.c.
 *
 *     s32 add([1, 3], [10, 10]) = [11, 13];  s32 xor([1, 3], [7, 7]) = anything;  s32 xor([3, 3], [7, 7]) = [4, 4]
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
    if (sc_is_float(t)) return (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, EV_MAYBE_NAN};
    EvBound b = {{.u = 0}, {.u = sc_mask(t)}, 0};
    if (sc_is_signed(t)) {
        b.hi.i = (int64_t)(sc_mask(t) >> 1);
        b.lo.i = -b.hi.i - 1;
    }
    return b;
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

EvBound ev_bound_union(ScType t, EvBound a, EvBound b)
{
    uint32_t flags = (a.flags | b.flags) & EV_MAYBE_NAN;
    if (a.flags & b.flags & EV_MUST_NAN) return a;
    EvBound r = a.flags & EV_MUST_NAN ? b : a;
    if (!((a.flags | b.flags) & EV_MUST_NAN)) {
        if (order(t, lo(&b), lo(&r)) < 0) r.lo = b.lo;
        if (order(t, hi(&b), hi(&r)) > 0) r.hi = b.hi;
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
    bool is_float = sc_is_float(t);
    ScType in = is_float ? SC_F64 : sc_is_signed(t) ? SC_I8 : SC_U8;
    if (sc_type_info[t].bits > 8) return false;
    for (unsigned k = 0; k < sc_op_info[op].arity; k++) {
        if (sig == SC_SELECT && k == 0) wide[k] = x[k];
        else wide[k] = is_float ? sc_from_f64(SC_F64, sc_to_f64(t, x[k])) : (uint64_t)sc_to_i128(t, x[k]) & 0xff;
    }
    if (!sc_eval(op, in, in, wide, r)) return false;
    if (sig == SC_COMPARE || sig == SC_TEST) return true;
    *r = is_float ? sc_from_f64(t, sc_to_f64(SC_F64, *r)) : *r & sc_mask(t);
    return true;
}

static EvBound pred_bound(bool may_be_false, bool may_be_true)
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
    return pred_bound(no, yes);
}

static EvBound pred_op(ScOp op, const EvBound *x)
{
    switch (op) {
    case OP_ADD:
    case OP_MAX:
    case OP_BOR: return (EvBound){{.u = x[0].lo.u | x[1].lo.u}, {.u = x[0].hi.u | x[1].hi.u}, 0};
    case OP_MUL:
    case OP_MIN:
    case OP_BAND: return (EvBound){{.u = x[0].lo.u & x[1].lo.u}, {.u = x[0].hi.u & x[1].hi.u}, 0};
    default: return pred_bound(true, true);
    }
}

/* The interval if it fits the type, else everything: integers wrap. */
static EvBound fitting(ScType t, WbbI128 least, WbbI128 largest)
{
    EvBound any = ev_bound_any(t);
    WbbI128 from = sc_is_signed(t) ? any.lo.i : 0, to = sc_is_signed(t) ? (WbbI128)any.hi.i : (WbbI128)any.hi.u;
    if (least < from || largest > to) return any;
    return (EvBound){{.u = (uint64_t)least}, {.u = (uint64_t)largest}, 0};
}

static WbbI128 wide(ScType t, End e) { return sc_is_signed(t) ? (WbbI128)e.i : (WbbI128)e.u; }

static EvBound int_product(ScType t, const EvBound *x)
{
    WbbI128 least = 0, largest = 0;
    for (int k = 0; k < 4; k++) {
        WbbI128 a = wide(t, k & 1 ? hi(&x[0]) : lo(&x[0])), b = wide(t, k & 2 ? hi(&x[1]) : lo(&x[1]));
        if (WBB_MAX(a, b) > INT64_MAX) return ev_bound_any(t);
        WbbI128 p = a * b;
        least = k ? WBB_MIN(least, p) : p;
        largest = k ? WBB_MAX(largest, p) : p;
    }
    return fitting(t, least, largest);
}

static EvBound int_op(ScOp op, ScType t, const EvBound *x)
{
    WbbI128 a = wide(t, lo(&x[0])), b = wide(t, hi(&x[0])), c = 0, d = 0;
    if (sc_op_info[op].arity > 1) c = wide(t, lo(&x[1])), d = wide(t, hi(&x[1]));
    switch (op) {
    case OP_ADD: return fitting(t, a + c, b + d);
    case OP_SUB: return fitting(t, a - d, b - c);
    case OP_MUL: return int_product(t, x);
    case OP_MAX: return fitting(t, WBB_MAX(a, c), WBB_MAX(b, d));
    case OP_MIN: return fitting(t, WBB_MIN(a, c), WBB_MIN(b, d));
    case OP_NEG: return fitting(t, -b, -a);
    case OP_ABS: return fitting(t, a > 0 ? a : b < 0 ? -b : 0, WBB_MAX(-a, b));
    case OP_SIGN: return fitting(t, (a > 0) - (a < 0), (b > 0) - (b < 0));
    case OP_DIV: return c == d && c > 0 ? fitting(t, a / c, b / c) : ev_bound_any(t);
    default: return ev_bound_any(t);
    }
}

static EvBound convert(ScType t, ScType from, const EvBound *x)
{
    uint64_t ends[2], r[2];
    if (t == from) return *x;
    if (t == SC_PRED) {
        EvBound zero = {0};
        return compare(OP_NE, from, x, &zero);
    }
    if (!sc_is_float(from) && !sc_is_float(t)) return fitting(t, wide(from, lo(x)), wide(from, hi(x)));
    if (x->flags & EV_MUST_NAN) return sc_is_float(t) ? *x : ev_bound_exact(t, 0);
    for (int k = 0; k < 2; k++) {
        End e = k ? hi(x) : lo(x);
        ends[k] = sc_is_float(from) ? sc_from_f64(from, e.f) : e.u & sc_mask(from);
        ev_value(OP_CVT, t, from, &ends[k], &r[k]);
    }
    EvBound b = ev_bound_exact(t, r[0]);
    EvBound high = ev_bound_exact(t, r[1]);
    if ((b.flags | high.flags) & EV_MUST_NAN) return ev_bound_any(t); /* a type whose overflow is nan */
    b.hi = high.hi;
    if (!(x->flags & EV_MAYBE_NAN)) return b;
    if (!sc_is_float(t)) return ev_bound_union(t, b, ev_bound_exact(t, 0));
    b.flags |= EV_MAYBE_NAN;
    return b;
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
        return pred_bound(x->flags || ends, finite);
    }
    if (op == OP_CVT) return convert(t, from, x);
    if (sc_is_float(t)) return ev_bound_float(op, t, x, approx);
    return t == SC_PRED ? pred_op(op, x) : int_op(op, t, x);
}

/* Operations that are no ScOp. */
static EvBound special(const HloInstruction *i, const EvBound *x)
{
    ScType t = i->shape->type, from = i->operands[0]->shape->type;
    uint64_t bits[2] = {0};
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
    case HLO_MULHI: {
        if (!ev_bound_single(t, &x[0], &bits[0]) || !ev_bound_single(t, &x[1], &bits[1])) return ev_bound_any(t);
        WbbU128 product = (WbbU128)sc_to_i128(t, bits[0]) * (WbbU128)sc_to_i128(t, bits[1]);
        return ev_bound_exact(t, (uint64_t)(product >> sc_type_info[t].bits) & sc_mask(t));
    }
    default: /* compare type=TOTALORDER: nothing is known of the sign of a nan */
        if (!ev_bound_single(from, &x[0], &bits[0]) || !ev_bound_single(from, &x[1], &bits[1])) return pred_bound(true, true);
        if (sc_is_float(from)) {
            int64_t key[2] = {ev_total_key(from, bits[0]), ev_total_key(from, bits[1])};
            EvBound a = {{.i = key[0]}, {.i = key[0]}, 0}, b = {{.i = key[1]}, {.i = key[1]}, 0};
            return compare(compare_op[i->direction], SC_I64, &a, &b);
        }
        return compare(compare_op[i->direction], from, &x[0], &x[1]);
    }
}

void ev_bounds(const HloInstruction *i, ScOp op, bool approx, int64_t n, EvBound *r, void *const *x)
{
    ScType t = i->shape->type, from = i->operands[0]->shape->type;
    if (op != OP_NONE && (sc_op_info[op].signature == SC_COMPARE || sc_op_info[op].signature == SC_TEST)) t = from;
    for (int64_t k = 0; k < n; k++) {
        EvBound operands[3];
        for (uint32_t p = 0; p < i->n_operands && p < 3; p++) operands[p] = ((const EvBound *)x[p])[k];
        r[k] = op == OP_NONE ? special(i, operands) : ev_bound_op(op, t, from, operands, approx);
    }
}
