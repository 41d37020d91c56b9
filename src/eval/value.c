/* value: what operations do to one value, where sc_eval has no function for it.
 *
 * Needs: the bits of operands. Leaves: the bits of the result. Types under 8 bits are computed in a wider type and cut
 * or rounded.
 *
 *     ev_value(OP_ADD, SC_U4, SC_U4, {15, 2}, &r)      r = 1
 */
#include "eval/bounds.h"

#include <math.h>

bool ev_value(ScOp op, ScType t, ScType from, const uint64_t *x, uint64_t *r)
{
    if (sc_eval(op, t, from, x, r)) return true;
    if (op == OP_CVT) {
        *r = sc_is_float(from) ? sc_from_f64(t, sc_to_f64(from, x[0])) : sc_from_i128(t, sc_to_i128(from, x[0]));
        return true;
    }
    uint64_t wide[3] = {0};
    ScSignature sig = (ScSignature)sc_op_info[op].signature;
    bool is_float = sc_is_float(t),
         by_bits = op == OP_CLZ || op == OP_POPCNT || op == OP_SHRL; /* independent of the sign */
    bool by_sign = op == OP_SHRA; /* the top bit is the sign, even in an unsigned type */
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

int64_t ev_total_key(ScType t, uint64_t bits)
{
    uint64_t sign = (sc_mask(t) >> 1) + 1;
    if (t == SC_F8E8M0FNU) return (int64_t)bits; /* it has no sign */
    return bits & sign ? -(int64_t)(bits & ~sign) - 1 : (int64_t)bits;
}

/* reduce-precision on the bits: the fraction is rounded to nearest even; an exponent out of range gives infinity or
 * zero. */
static uint64_t reduced(unsigned exponent, unsigned fraction, uint64_t bits, unsigned to_exponent, unsigned to_fraction)
{
    uint64_t sign = UINT64_C(1) << (exponent + fraction), infinity = ((UINT64_C(1) << exponent) - 1) << fraction;
    uint64_t mag = bits & (sign - 1), s = bits & sign;
    if (mag > infinity) return bits;
    if (to_fraction < fraction) {
        uint64_t last = UINT64_C(1) << (fraction - to_fraction);
        mag = (mag + (last >> 1) - 1 + (mag & last ? 1 : 0)) & ~(last - 1);
    }
    if (to_exponent < exponent) {
        uint64_t bias = (UINT64_C(1) << (exponent - 1)) - 1, to_bias = (UINT64_C(1) << (to_exponent - 1)) - 1;
        if (mag >> fraction > bias + to_bias) mag = infinity;
        else if (mag >> fraction <= bias - to_bias) mag = 0;
    }
    return s | mag;
}

uint64_t ev_reduced(ScType t, uint64_t bits, const HloInstruction *i)
{
    unsigned fraction = (unsigned)-ilogb(ev_ulp(t, 1.0)), exponent = sc_type_info[t].bits - 1u - fraction;
    unsigned to_exponent = (unsigned)i->number, to_fraction = (unsigned)i->number2;
    if (sc_type_info[t].bits >= 16) return reduced(exponent, fraction, bits, to_exponent, to_fraction);
    /* Types of 8 bits and below, some without an infinity, go through f64, which holds all of their exponents. */
    uint64_t wide = reduced(11, 52, sc_from_f64(SC_F64, sc_to_f64(t, bits)), to_exponent < exponent ? to_exponent : 11,
                            to_fraction);
    return sc_from_f64(t, sc_to_f64(SC_F64, wide));
}

double ev_complex_units(const HloInstruction *i, const double (*x)[2])
{
    if (i->opcode != HLO_POWER) return 0;
    double m = hypot(x[0][0], x[0][1]);
    return m > 0 && isfinite(m) ? 16 * hypot(x[1][0], x[1][1]) * hypot(log(m), atan2(x[0][1], x[0][0])) : 0;
}
