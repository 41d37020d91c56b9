/* complex: operations on c64 and c128, in EV_PLAIN and EV_F64.
 *
 * Needs: lanes as pairs (re, im). Leaves: the same; each operation is computed in double and its parts rounded once.
 *
 *     c64 multiply((1, 2), (3, 4)) = (-5, 10)
 */
#include "eval/inner.h"

#include <complex.h>
#include <math.h>

typedef double complex Z;

static Z pair(double re, double im)
{
    union {
        double part[2];
        Z z;
    } both = {{re, im}};
    return both.z;
}

static ScType part_type(ScType t) { return t == SC_C64 ? SC_F32 : t == SC_C128 ? SC_F64 : t; }

static Z load(ScType t, const void *lanes, int64_t k)
{
    ScType p = part_type(t);
    if (p == t) return pair(sc_is_float(t) ? sc_to_f64(t, ev_get(t, lanes, k)) : (double)sc_to_i128(t, ev_get(t, lanes, k)), 0);
    return pair(sc_to_f64(p, ev_get(p, lanes, 2 * k)), sc_to_f64(p, ev_get(p, lanes, 2 * k + 1)));
}

static void store(ScType t, void *lanes, int64_t k, Z z)
{
    ScType p = part_type(t);
    if (p == t) {
        ev_set(t, lanes, k, sc_from_f64(t, creal(z)));
        return;
    }
    ev_set(p, lanes, 2 * k, sc_from_f64(p, creal(z)));
    ev_set(p, lanes, 2 * k + 1, sc_from_f64(p, cimag(z)));
}

static Z product(Z a, Z b)
{
    return pair(creal(a) * creal(b) - cimag(a) * cimag(b), creal(a) * cimag(b) + cimag(a) * creal(b));
}

static Z expm1_of(Z a)
{
    double e = expm1(creal(a)), half = sin(cimag(a) / 2), c = cos(cimag(a));
    return pair(e * c - 2 * half * half, (e + 1) * sin(cimag(a)));
}

static Z log1p_of(Z a)
{
    double x = creal(a), y = cimag(a);
    return pair(log1p(x * (x + 2) + y * y) / 2, atan2(y, x + 1));
}

static Z sign_of(Z a)
{
    double m = cabs(a);
    if (isnan(creal(a)) || isnan(cimag(a))) return pair((double)NAN, (double)NAN);
    return m == 0 ? a : pair(creal(a) / m, cimag(a) / m);
}

/* One element; false where there is no such operation. */
static bool one(const HloInstruction *i, const Z *x, Z *r)
{
    switch (i->opcode) {
    case HLO_COPY:
    case HLO_CONVERT: *r = x[0]; return true;
    case HLO_ADD: *r = x[0] + x[1]; return true;
    case HLO_SUBTRACT: *r = x[0] - x[1]; return true;
    case HLO_MULTIPLY: *r = product(x[0], x[1]); return true;
    case HLO_DIVIDE: *r = x[0] / x[1]; return true;
    case HLO_NEGATE: *r = -x[0]; return true;
    case HLO_ABS: *r = cabs(x[0]); return true;
    case HLO_REAL: *r = creal(x[0]); return true;
    case HLO_IMAG: *r = cimag(x[0]); return true;
    case HLO_COMPLEX: *r = pair(creal(x[0]), creal(x[1])); return true;
    case HLO_SIGN: *r = sign_of(x[0]); return true;
    case HLO_EXPONENTIAL: *r = cexp(x[0]); return true;
    case HLO_EXPONENTIAL_MINUS_ONE: *r = expm1_of(x[0]); return true;
    case HLO_LOG: *r = clog(x[0]); return true;
    case HLO_LOG_PLUS_ONE: *r = log1p_of(x[0]); return true;
    case HLO_LOGISTIC: *r = 1 / (1 + cexp(-x[0])); return true;
    case HLO_SQRT: *r = csqrt(x[0]); return true;
    case HLO_RSQRT: *r = 1 / csqrt(x[0]); return true;
    case HLO_CBRT: *r = cpow(x[0], 1.0 / 3); return true;
    case HLO_TANH: *r = ctanh(x[0]); return true;
    case HLO_TAN: *r = ctan(x[0]); return true;
    case HLO_SINE: *r = csin(x[0]); return true;
    case HLO_COSINE: *r = ccos(x[0]); return true;
    case HLO_SINH: *r = csinh(x[0]); return true;
    case HLO_COSH: *r = ccosh(x[0]); return true;
    case HLO_ASIN: *r = casin(x[0]); return true;
    case HLO_ACOS: *r = cacos(x[0]); return true;
    case HLO_ASINH: *r = casinh(x[0]); return true;
    case HLO_ACOSH: *r = cacosh(x[0]); return true;
    case HLO_ATANH: *r = catanh(x[0]); return true;
    case HLO_POWER: *r = cpow(x[0], x[1]); return true;
    case HLO_COMPARE: *r = (x[0] == x[1]) == (i->direction == HLO_EQ) ? 1 : 0; return true;
    default: return false;
    }
}

void *ev_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x)
{
    ScType t = ev_lane_type(e->mode, i->shape->type);
    void *r = ev_lanes(e, (size_t)n * sc_bytes(t));
    if (i->opcode == HLO_SELECT) {
        ScType p = part_type(t);
        for (int64_t k = 0; k < 2 * n; k++) ev_set(p, r, k, ev_get(p, ev_get(SC_PRED, x[0], k / 2) ? x[1] : x[2], k));
        return r;
    }
    for (int64_t k = 0; k < n; k++) {
        Z z = 0, operand[2] = {0, 0};
        for (uint32_t p = 0; p < i->n_operands && p < 2; p++)
            operand[p] = load(ev_lane_type(e->mode, i->operands[p]->shape->type), x[p], k);
        if (i->n_operands > 2 || !one(i, operand, &z))
            wbb_decline(e->cx, i->loc, WHY_TYPE, "the evaluator has no %s of complex values", hlo_opcode_name(i->opcode));
        store(t, r, k, z);
    }
    return r;
}
