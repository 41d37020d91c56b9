/* judge: whether a value is allowed, and how far it is off; precisions of types.
 *
 * Needs: the bits of a value and the result of the evaluator. Leaves: an answer, or text for a report.
 *
 *     ev_ulp_distance(SC_BF16, bits of 1.0078125, 1.0)     // 1
 */
#include "eval/eval.h"

#include <math.h>

static int fraction_bits(ScType t)
{
    switch (t) {
    case SC_F16: return 10;
    case SC_BF16: return 7;
    case SC_F32: return 23;
    case SC_F64: return 52;
    case SC_F4E2M1FN: return 1;
    case SC_F8E3M4: return 4;
    case SC_F8E5M2:
    case SC_F8E5M2FNUZ: return 2;
    case SC_F8E8M0FNU: return 0;
    default: return 3;
    }
}

/* The exponent of the least subnormal. */
static int least_exponent(ScType t)
{
    switch (t) {
    case SC_F16: return -24;
    case SC_BF16: return -133;
    case SC_F32: return -149;
    case SC_F64: return -1074;
    case SC_F4E2M1FN: return -1;
    case SC_F8E3M4: return -6;
    case SC_F8E5M2: return -16;
    case SC_F8E5M2FNUZ: return -17;
    case SC_F8E4M3B11FNUZ: return -13;
    case SC_F8E4M3FNUZ: return -10;
    case SC_F8E8M0FNU: return -127;
    default: return -9;
    }
}

ScType ev_part_type(ScType t) { return t == SC_C64 ? SC_F32 : t == SC_C128 ? SC_F64 : t; }

double ev_ulp(ScType t, double x)
{
    int e = 0;
    if (!isfinite(x)) return 0;
    frexp(x, &e); /* |x| in [2^(e-1), 2^e) */
    int unit = e - 1 - fraction_bits(t);
    return ldexp(1, x == 0 || unit < least_exponent(t) ? least_exponent(t) : unit);
}

double ev_ulp_distance(ScType t, uint64_t bits, double exact)
{
    double value = sc_to_f64(t, bits);
    if (isnan(value) || isnan(exact)) return isnan(value) && isnan(exact) ? 0 : (double)INFINITY;
    if (value == exact) return 0;
    if (isinf(exact)) return (double)INFINITY;
    /* Infinity is right for an exact value that the type rounds to infinity. */
    if (isinf(value)) return sc_to_f64(t, sc_from_f64(t, exact)) == value ? 0 : (double)INFINITY;
    return fabs(value - exact) / ev_ulp(t, exact);
}

bool ev_bounds_contains(ScType t, uint64_t bits, const EvBound *b)
{
    if (sc_is_float(t)) {
        double value = sc_to_f64(t, bits);
        if (isnan(value)) return (b->flags & (EV_MAYBE_NAN | EV_MUST_NAN)) != 0;
        if (b->flags & EV_MUST_NAN || value < b->lo.f || value > b->hi.f) return false;
        if (value != 0) return true;
        return signbit(value) ? b->lo.f < 0 || signbit(b->lo.f) : b->hi.f > 0 || !signbit(b->hi.f);
    }
    if (sc_is_signed(t)) {
        int64_t value = (int64_t)sc_to_i128(t, bits);
        return b->lo.i <= value && value <= b->hi.i;
    }
    return b->lo.u <= bits && bits <= b->hi.u;
}

void ev_put_bounds(WbbBuf *out, ScType t, const EvBound *b)
{
    if (b->flags & EV_MUST_NAN) {
        wbb_put(out, "nan");
        return;
    }
    if (sc_is_float(t)) wbb_putf(out, "[%.17g, %.17g]", b->lo.f, b->hi.f);
    else if (sc_is_signed(t)) wbb_putf(out, "[%lld, %lld]", (long long)b->lo.i, (long long)b->hi.i);
    else wbb_putf(out, "[%llu, %llu]", (unsigned long long)b->lo.u, (unsigned long long)b->hi.u);
    if (b->flags & EV_MAYBE_NAN) wbb_put(out, " or nan");
}
