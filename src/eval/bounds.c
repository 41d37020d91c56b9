/* bounds: for each element the interval of results that HLO allows.
 *
 * Needs: intervals of the operands. Leaves: intervals that hold every allowed result. Monotone operations are evaluated
 * at the ends, which gives the tightest interval; others give a larger interval, or anything. Flags say whether the
 * result may be nan or must be nan.
 *
 * Single values (both ends equal) are computed exactly as in EV_PLAIN, for every operation whose budget is 0. Other
 * operands are in bounds_int.c, bounds_float.c and bounds_complex.c. An operation whose operands are the same array
 * knows that they are the same value.
 *
 *     s32 lt([1, 3], [2, 2]) = false or true;   select([0, 1], [1, 2], [5, 6]) = [1, 6];   f32 subtract(x, x) = [0, 0]
 */
#include "eval/bounds.h"

#include <math.h>
#include <string.h>

/* As ev_bound_single, but nan is a value as well: arithmetic does not depend on its payload. */
static bool value_of(ScType t, const EvBound *b, uint64_t *bits)
{
    if (!(b->flags & EV_MUST_NAN)) return ev_bound_single(t, b, bits);
    *bits = sc_from_f64(t, (double)NAN);
    return true;
}

/* First the outcomes that numbers allow, then those that nan adds. */
static EvBound compare(ScOp op, ScType t, const EvBound *a, const EvBound *b)
{
    if (op == OP_GT) return compare(OP_LT, t, b, a);
    if (op == OP_GE) return compare(OP_LE, t, b, a);
    bool yes = false, no = false, numbers = !((a->flags | b->flags) & EV_MUST_NAN);
    if (numbers) {
        bool apart = ev_order_ends(t, ev_lo(a), ev_hi(b)) > 0 || ev_order_ends(t, ev_lo(b), ev_hi(a)) > 0;
        bool same = ev_order_ends(t, ev_lo(a), ev_hi(a)) == 0 && ev_order_ends(t, ev_lo(b), ev_hi(b)) == 0 &&
                    ev_order_ends(t, ev_lo(a), ev_lo(b)) == 0;
        switch (op) {
        case OP_LT:
            yes = ev_order_ends(t, ev_lo(a), ev_hi(b)) < 0, no = ev_order_ends(t, ev_hi(a), ev_lo(b)) >= 0;
            break;
        case OP_LE:
            yes = ev_order_ends(t, ev_lo(a), ev_hi(b)) <= 0, no = ev_order_ends(t, ev_hi(a), ev_lo(b)) > 0;
            break;
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

static WbbI128 wide(ScType t, EvEnd e) { return sc_is_signed(t) ? (WbbI128)e.i : (WbbI128)e.u; }

/* To pred: whether the value differs from 0; -0 is 0 too. */
EvBound ev_bound_convert(ScType t, ScType from, const EvBound *x)
{
    uint64_t ends[2], r[2];
    if (t == from) return *x;
    if (t == SC_PRED) {
        EvBound zero = {0};
        return compare(OP_NE, from, x, &zero);
    }
    if (sc_is_float(from) && sc_is_float(t)) return ev_bound_narrow(t, *x);
    if (!sc_is_float(from) && !sc_is_float(t)) return ev_bound_wrapped(t, wide(from, ev_lo(x)), wide(from, ev_hi(x)));
    if (x->flags & EV_MUST_NAN) return ev_bound_exact(t, 0);
    for (int k = 0; k < 2; k++) {
        EvEnd e = k ? ev_hi(x) : ev_lo(x);
        ends[k] = sc_is_float(from) ? sc_from_f64(from, e.f) : e.u & sc_mask(from);
        if (sc_is_float(from) && isnan(sc_to_f64(from, ends[k])))
            ends[k] = sc_from_f64(from, copysign(ev_largest(from), e.f)); /* no infinity */
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

EvBound ev_bound_op(ScOp op, ScType t, ScType from, const EvBound *x, ScAccuracy accuracy)
{
    const ScOpInfo *info = &sc_op_info[op];
    if (op == OP_SELECT) return x[0].lo.u == x[0].hi.u ? x[x[0].lo.u ? 1 : 2] : ev_bound_union(t, x[1], x[2]);
    uint64_t bits[3] = {0}, r = 0;
    ScType in = info->signature == SC_CONVERT ? from : t;
    ScBudget budget = sc_budget(op, t, accuracy);
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
    return sc_is_float(t) ? ev_bound_float(op, t, x, accuracy) : ev_bound_int(op, t, x);
}

/* compare type=TOTALORDER. The sign of a nan is not known, so a nan may be below or above everything. */
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

/* Operations without a ScOp. */
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
    default: return compare_total(hlo_comparison(i->direction), from, x);
    }
}

/* A comparison or operation of a value with itself; false: no better bound than for two different operands. */
static bool of_one_value(ScOp op, ScType t, const EvBound *x, ScAccuracy accuracy, EvBound *r)
{
    if (sc_op_info[op].signature == SC_COMPARE) {
        bool holds = op == OP_EQ || op == OP_LE || op == OP_GE, nan = x->flags != 0;
        *r = x->flags & EV_MUST_NAN ? ev_bound_pred(op != OP_NE, op == OP_NE)
             : op == OP_NE          ? ev_bound_pred(true, nan)
                                    : ev_bound_pred(nan || !holds, holds);
        return true;
    }
    if (sc_is_float(t)) return ev_bound_same(op, t, x, accuracy, r);
    if (op == OP_SUB || op == OP_BXOR) *r = ev_bound_exact(t, 0);
    else if (op == OP_MAX || op == OP_MIN || op == OP_BAND || op == OP_BOR) *r = *x;
    else return false;
    return true;
}

/* What a product may have been before it was rounded: within a unit, as the ends of bounds are values of the type;
 * beyond the largest one where it became infinite. */
static EvBound unrounded(ScType t, const EvBound *of, EvBound x)
{
    const EvBound *p = &of[0], *q = &of[1];
    const double most = sc_to_f64(t, sc_from_f64(t, INFINITY) - 1);
    const bool finite = isfinite(p->lo.f) && isfinite(p->hi.f) && isfinite(q->lo.f) && isfinite(q->hi.f);
    const bool numbers = p->lo.f == p->hi.f && q->lo.f == q->hi.f;
    if (x.flags & EV_MUST_NAN || (numbers && !finite)) return x;
    if (numbers && (p->lo.f == 0 || q->lo.f == 0)) return x;
    const double smallest = 0x1p-960; /* below, what a product of f64 lost may be less than any number */
    if (numbers && fabs(x.lo.f) > smallest && fma(p->lo.f, q->lo.f, -x.lo.f) == 0) return x; /* it is exact */
    const ScBudget unit = {.ulp = 1, .absolute = ev_ulp(t, 0)};
    x.lo.f = isinf(x.lo.f) ? fmin(x.lo.f, most) : ev_bound_allowed(OP_MUL, t, unit, x.lo.f).lo.f;
    x.hi.f = isinf(x.hi.f) ? fmax(x.hi.f, -most) : ev_bound_allowed(OP_MUL, t, unit, x.hi.f).hi.f;
    return x;
}

/* What its flags permit besides r: anything, where nnan promises that it has no nan and it has one (of a select, as
 * its result); under nsz zeros of either sign. x: bounds of its operands. */
static EvBound permitted(const HloInstruction *i, ScOp op, ScType from, const EvBound *x, EvBound r)
{
    const ScType t = i->shape->type;
    bool nan = sc_is_float(t) && r.flags;
    for (uint32_t k = 0; op != OP_SELECT && k < i->n_operands && sc_is_float(from); k++) nan = nan || x[k].flags;
    if (i->permits & SC_FLAG_NNAN && nan) return ev_bound_any(t);
    if (!(i->permits & SC_FLAG_NSZ) || !sc_is_float(t) || r.flags & EV_MUST_NAN) return r;
    if (r.lo.f == 0) r.lo.f = -0.0;
    if (r.hi.f == 0) r.hi.f = 0.0;
    return r;
}

void ev_bounds(const HloInstruction *i, ScOp op, ScAccuracy accuracy, int64_t n, EvBound *r, void *const *x)
{
    ScType t = i->shape->type, from = i->operands[0]->shape->type;
    if (op != OP_NONE && (sc_op_info[op].signature == SC_COMPARE || sc_op_info[op].signature == SC_TEST)) t = from;
    const bool contracts = op == OP_MUL && sc_is_float(t) && hlo_contracts(i);
    /* a sum of a product and itself may take it rounded and unrounded */
    const bool apart = contracts || (i->permits & SC_FLAG_CONTRACT && (op == OP_ADD || op == OP_SUB));
    bool twice = op != OP_NONE && i->n_operands == 2 && x[0] == x[1] && !apart;
    for (int64_t k = 0; k < n; k++) {
        EvBound operands[3];
        uint64_t bits;
        for (uint32_t p = 0; p < i->n_operands && p < 3; p++) operands[p] = ((const EvBound *)x[p])[k];
        if (!twice || value_of(t, &operands[0], &bits) || !of_one_value(op, t, operands, accuracy, &r[k]))
            r[k] = op == OP_NONE ? special(i, operands) : ev_bound_op(op, t, from, operands, accuracy);
        if (contracts) r[k] = unrounded(t, operands, r[k]);
        if (i->permits) r[k] = permitted(i, op, from, operands, r[k]);
    }
}
