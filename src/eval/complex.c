/* complex: operations on c64 and c128, in EV_PLAIN and EV_F64.
 *
 * Needs: lanes as pairs (re, im). Leaves: the same. The result of an operation is the exact complex number, each part
 * rounded once. It is computed in long double, with principal branches as in C (C11 7.3.5 to 7.3.9; Annex G: a cut is
 * continuous from the side that the sign of zero names), and overflows only where the result does. bounds_complex.c
 * says which other results a kernel may give. A product follows its formula, without C's repair of infinities, as in
 * XLA; a quotient has it; 0 to a power is 0, 1 or inf by the exponent.
 *
 *     c64 multiply((1, 2), (3, 4)) = (-5, 10);   c64 abs((3e38, 0)) = 3e38;   c64 log((-1, -0)) = (0, -pi)
 */
#include "eval/inner.h"

#include <complex.h>
#include <math.h>

typedef long double Real;
typedef long double complex Z;

static Z pair(Real re, Real im)
{
    union {
        Real part[2];
        Z z;
    } both = {{re, im}};
    return both.z;
}

static Real re_of(Z z) { return creall(z); }
static Real im_of(Z z) { return cimagl(z); }

/* a * b + s * c * d, s 1 or -1, corrected by the rounding errors of both products, so that cancellation loses no
 * digits. */
static Real two_products(Real a, Real b, Real s, Real c, Real d)
{
    Real p = a * b, q = s * c * d, r = p + q;
    if (!isfinite(r)) return r;
    const Real missing = fmal(a, b, -p) + fmal(s * c, d, -q);
    return missing == 0 ? r : r + missing; /* -0 + 0 is 0 */
}

static Z product(Z a, Z b)
{
    return pair(two_products(re_of(a), re_of(b), -1, im_of(a), im_of(b)),
                two_products(re_of(a), im_of(b), 1, im_of(a), re_of(b)));
}

static bool has_infinity(Z a) { return isinf(re_of(a)) || isinf(im_of(a)); }
static bool is_finite(Z a) { return isfinite(re_of(a)) && isfinite(im_of(a)); }
static Real boxed(Real x) { return copysignl(isinf(x) ? 1 : 0, x); }

/* Of C11 G.5.1, example 1: where the quotient of parts a conj(b) / |b|^2 is nan twice. Not left to the compiler's
 * library, which divides by the larger part first and so has nan in other parts: (1 - inf i) / (1e3000 + 1e-3000 i). */
static Z special_quotient(Z a, Z b)
{
    const Real x = re_of(a), y = im_of(a), u = re_of(b), v = im_of(b), size = u * u + v * v;
    const Real re = (x * u + y * v) / size, im = (y * u - x * v) / size;
    if (!isnan(re) || !isnan(im)) return pair(re, im);
    if (u == 0 && v == 0) return pair(copysignl((Real)INFINITY, u) * x, copysignl((Real)INFINITY, u) * y);
    if (has_infinity(a) && is_finite(b)) {
        const Real p = boxed(x), q = boxed(y);
        return pair((Real)INFINITY * (p * u + q * v), (Real)INFINITY * (q * u - p * v));
    }
    if (has_infinity(b) && is_finite(a)) {
        const Real p = boxed(u), q = boxed(v);
        return pair(0 * (x * p + y * q), 0 * (y * p - x * q));
    }
    return pair(re, im);
}

static Z quotient(Z a, Z b) { return is_finite(a) && is_finite(b) && b != 0 ? a / b : special_quotient(a, b); }

/* e^x cos y - 1 = expm1(x) cos y - 2 sin(y/2)^2 */
static Z expm1_of(Z a)
{
    Real x = re_of(a), y = im_of(a);
    if (y == 0 || x == -(Real)INFINITY) return pair(expm1l(x), y == 0 ? y : copysignl(0, y));
    if (x > 60) return cexpl(a);
    Real e = expm1l(x), half = sinl(y / 2);
    return pair(two_products(e, cosl(y), -1, 2 * half, half), (e + 1) * sinl(y));
}

/* log |1 + a| = log1p(x (x + 2) + y^2) / 2, which is accurate near a = 0 and not near a = -1. */
static Z log1p_of(Z a)
{
    Real x = re_of(a), y = im_of(a), square = two_products(x, x + 2, 1, y, y);
    bool near = fabsl(square) < 0.5L;
    return pair(near ? log1pl(square) / 2 : logl(hypotl(x + 1, y)), atan2l(y, x + 1));
}

static Z sign_of(Z a)
{
    Real m = cabsl(a);
    if (isnan(re_of(a)) || isnan(im_of(a))) return pair((Real)NAN, (Real)NAN);
    return m == 0 ? a : pair(re_of(a) / m, im_of(a) / m);
}

static Z logistic_of(Z a)
{
    if (re_of(a) < -60) return cexpl(a); /* 1 + e^-a is e^-a, which may overflow */
    return 1 / (1 + cexpl(-a));
}

static Z power_of(Z a, Z b)
{
    if (b == 0) return 1;
    if (a == 0) return re_of(b) > 0 ? pair(0, 0) : im_of(b) == 0 ? pair((Real)INFINITY, 0) : pair((Real)NAN, (Real)NAN);
    return cexpl(product(b, clogl(a)));
}

/* One element; false where the operation is not defined for complex values. */
static bool one(const HloInstruction *i, const Z *x, Z *r)
{
    switch (i->opcode) {
    case HLO_COPY:
    case HLO_CONVERT: *r = x[0]; return true;
    case HLO_ADD: *r = x[0] + x[1]; return true;
    case HLO_SUBTRACT: *r = x[0] - x[1]; return true;
    case HLO_MULTIPLY: *r = product(x[0], x[1]); return true;
    case HLO_DIVIDE: *r = quotient(x[0], x[1]); return true;
    case HLO_NEGATE: *r = -x[0]; return true;
    case HLO_ABS: *r = pair(cabsl(x[0]), 0); return true;
    case HLO_REAL: *r = pair(re_of(x[0]), 0); return true;
    case HLO_IMAG: *r = pair(im_of(x[0]), 0); return true;
    case HLO_COMPLEX: *r = pair(re_of(x[0]), re_of(x[1])); return true;
    case HLO_SIGN: *r = sign_of(x[0]); return true;
    case HLO_EXPONENTIAL: *r = cexpl(x[0]); return true;
    case HLO_EXPONENTIAL_MINUS_ONE: *r = expm1_of(x[0]); return true;
    case HLO_LOG: *r = clogl(x[0]); return true;
    case HLO_LOG_PLUS_ONE: *r = log1p_of(x[0]); return true;
    case HLO_LOGISTIC: *r = logistic_of(x[0]); return true;
    case HLO_SQRT: *r = csqrtl(x[0]); return true;
    case HLO_RSQRT: *r = 1 / csqrtl(x[0]); return true;
    case HLO_CBRT: *r = power_of(x[0], 1 / 3.0L); return true;
    case HLO_TANH: *r = ctanhl(x[0]); return true;
    case HLO_TAN: *r = ctanl(x[0]); return true;
    case HLO_SINE: *r = csinl(x[0]); return true;
    case HLO_COSINE: *r = ccosl(x[0]); return true;
    case HLO_SINH: *r = csinhl(x[0]); return true;
    case HLO_COSH: *r = ccoshl(x[0]); return true;
    case HLO_ASIN: *r = casinl(x[0]); return true;
    case HLO_ACOS: *r = cacosl(x[0]); return true;
    case HLO_ASINH: *r = casinhl(x[0]); return true;
    case HLO_ACOSH: *r = cacoshl(x[0]); return true;
    case HLO_ATANH: *r = catanhl(x[0]); return true;
    case HLO_POWER: *r = power_of(x[0], x[1]); return true;
    case HLO_CLAMP: { /* by real parts, as XLA compares: see normalise_broadcast.c */
        const Z raised = re_of(x[0]) >= re_of(x[1]) ? x[0] : x[1];
        *r = re_of(raised) <= re_of(x[2]) ? raised : x[2];
        return true;
    }
    case HLO_COMPARE: *r = (x[0] == x[1]) == (i->direction == HLO_EQ) ? 1 : 0; return true;
    default: return false;
    }
}

bool ev_complex_value(const HloInstruction *i, const double (*x)[2], double *r)
{
    Z operand[3] = {0, 0, 0}, z = 0;
    if (i->n_operands > 3) return false;
    for (uint32_t p = 0; p < i->n_operands; p++) operand[p] = pair((Real)x[p][0], (Real)x[p][1]);
    if (!one(i, operand, &z)) return false;
    r[0] = (double)re_of(z);
    r[1] = (double)im_of(z);
    return true;
}

static void load(ScType t, const void *lanes, int64_t k, double *parts)
{
    ScType p = ev_part_type(t);
    parts[1] = 0;
    if (p == t)
        parts[0] = sc_is_float(t) ? sc_to_f64(t, ev_get(t, lanes, k)) : (double)sc_to_i128(t, ev_get(t, lanes, k));
    else for (int64_t q = 0; q < 2; q++) parts[q] = sc_to_f64(p, ev_get(p, lanes, 2 * k + q));
}

static void store(ScType t, void *lanes, int64_t k, const double *parts)
{
    ScType p = ev_part_type(t);
    if (p == t) ev_set(t, lanes, k, sc_from_f64(t, parts[0]));
    else for (int64_t q = 0; q < 2; q++) ev_set(p, lanes, 2 * k + q, sc_from_f64(p, parts[q]));
}

void *ev_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x)
{
    ScType t = ev_lane_type(e->mode, i->shape->type);
    void *r = ev_lanes(e, (size_t)n * sc_bytes(t));
    if (i->opcode == HLO_SELECT) {
        ScType p = ev_part_type(t);
        for (int64_t k = 0; k < 2 * n; k++) ev_set(p, r, k, ev_get(p, ev_get(SC_PRED, x[0], k / 2) ? x[1] : x[2], k));
        return r;
    }
    for (int64_t k = 0; k < n; k++) {
        double operand[3][2] = {{0, 0}, {0, 0}, {0, 0}}, z[2];
        for (uint32_t p = 0; p < i->n_operands && p < 3; p++)
            load(ev_lane_type(e->mode, i->operands[p]->shape->type), x[p], k, operand[p]);
        if (!ev_complex_value(i, (const double (*)[2])operand, z))
            wbb_decline(e->cx, i->loc, WHY_TYPE, "the evaluator has no %s of complex values",
                        hlo_opcode_name(i->opcode));
        if (e->noise) ev_perturb_complex(e, i, (const double (*)[2])operand, z);
        store(t, r, k, z);
    }
    return r;
}
