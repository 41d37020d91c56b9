/* exact: the functions by libm in double and long double, and by MPFR with 200 bits.
 *
 * Needs MPFR; leaves exact.h. libm's double is off by less than 2^-28 units of an f32, its long double by a few thousandths
 * of a unit of an f64: enough to find where an error is largest, which MPFR then measures.
 *
 *     ex_double(OP_LOGISTIC, -800, 0) = 0; ex_long of the same = 3.67e-348
 */
#include "exact.h"

#include <math.h>
#include <mpfr.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;
    int op;
} formulas[] = {{"erfc", EX_ERFC}, {"erf_inv", EX_ERF_INV}, {"lgamma", EX_LGAMMA}, {"digamma", EX_DIGAMMA}};

ScOp ex_named(const char *name)
{
    for (size_t i = 0; i < sizeof formulas / sizeof *formulas; i++)
        if (!strcmp(formulas[i].name, name)) return (ScOp)formulas[i].op;
    return sc_op_named(name, strlen(name));
}

int ex_arity(ScOp op) { return (int)op >= OP_COUNT ? 1 : sc_op_info[op].arity; }

/* Newton's steps on whichever of erf and 1 - erf keeps its digits, from an approximation that is off by a few thousandths. */
static long double erf_inverse(long double x)
{
    const long double size = fabsl(x), half_root_pi = 0.8862269254527580136490837416705726L;
    if (!(size < 1)) return size == 1 ? copysignl(INFINITY, x) : NAN;
    if (size < 1e-3L) return x == 0 ? x : x * half_root_pi * (1 + 0.2617993877991494365385536152732919L * x * x + 0.14393173084921978L * x * x * x * x);
    const long double l = logl(1 - size * size), m = 4.3307467508L + l / 2; /* Winitzki's */
    long double y = sqrtl(sqrtl(m * m - l / 0.147L) - m);
    for (int i = 0; i < 5; i++) y += (size < 0.5L ? size - erfl(y) : erfcl(y) - (1 - size)) * half_root_pi * expl(y * y);
    return copysignl(y, x);
}

/* By the recurrence to where the asymptotic series is exact, by reflection below 0: Abramowitz and Stegun, 6.3.5, 6.3.7, 6.3.18. */
static long double digamma(long double x)
{
    const long double pi = 3.1415926535897932384626433832795029L;
    if (x == 0) return copysignl(INFINITY, -x);
    if (x < 0) return x == floorl(x) ? NAN : digamma(1 - x) - pi / tanl(pi * (x - roundl(x)));
    long double less = 0;
    for (; x < 30; x++) less += 1 / x;
    const long double z = 1 / (x * x);
    return logl(x) - 0.5L / x - z * (1 / 12.0L - z * (1 / 120.0L - z * (1 / 252.0L - z * (1 / 240.0L - z * (1 / 132.0L - z * (691 / 32760.0L - z / 12)))))) - less;
}

/* Both zeros and infinities as IEEE 754-2008, 9.2.1 has them. */
static long double rsqrt_long(long double x) { return x == 0 ? copysignl(INFINITY, x) : 1 / sqrtl(x); }

#define OF(NAME, T, s)                                                                                       \
    static T NAME(ScOp op, T x, T y)                                                                         \
    {                                                                                                        \
        switch ((int)op) {                                                                                   \
        case EX_ERFC: return erfc##s(x);                                                                     \
        case EX_LGAMMA: return lgamma##s(x);                                                                 \
        case EX_ERF_INV: return (T)erf_inverse((long double)x);                                              \
        case EX_DIGAMMA: return (T)digamma((long double)x);                                                  \
        case OP_EXP: return exp##s(x);                                                                       \
        case OP_EXPM1: return expm1##s(x);                                                                   \
        case OP_EXP2: return exp2##s(x);                                                                     \
        case OP_LOG: return log##s(x);                                                                       \
        case OP_LOG1P: return log1p##s(x);                                                                   \
        case OP_LOG2: return log2##s(x);                                                                     \
        case OP_LOGISTIC: return x < 0 ? exp##s(x) / (1 + exp##s(x)) : 1 / (1 + exp##s(-x));                 \
        case OP_TANH: return tanh##s(x);                                                                     \
        case OP_TAN: return tan##s(x);                                                                       \
        case OP_SIN: return sin##s(x);                                                                       \
        case OP_COS: return cos##s(x);                                                                       \
        case OP_SINH: return sinh##s(x);                                                                     \
        case OP_COSH: return cosh##s(x);                                                                     \
        case OP_ASIN: return asin##s(x);                                                                     \
        case OP_ACOS: return acos##s(x);                                                                     \
        case OP_ATAN: return atan##s(x);                                                                     \
        case OP_ASINH: return asinh##s(x);                                                                   \
        case OP_ACOSH: return acosh##s(x);                                                                   \
        case OP_ATANH: return atanh##s(x);                                                                   \
        case OP_ERF: return erf##s(x);                                                                       \
        case OP_SQRT: return sqrt##s(x);                                                                     \
        case OP_RSQRT: return (T)rsqrt_long((long double)x);                                                 \
        case OP_CBRT: return cbrt##s(x);                                                                     \
        case OP_RCP: return 1 / x;                                                                           \
        case OP_POW: return isinf(x) ? (T)pow((double)x, (double)y) : pow##s(x, y); /* glibc's powl errs at -inf */ \
        case OP_ATAN2: return atan2##s(x, y);                                                                \
        case OP_HYPOT: return hypot##s(x, y);                                                                \
        case OP_DIV: return x / y;                                                                           \
        case OP_REM: return fmod##s(x, y);                                                                   \
        case OP_FLOOR: return floor##s(x);                                                                   \
        case OP_CEIL: return ceil##s(x);                                                                     \
        case OP_TRUNC: return trunc##s(x);                                                                   \
        case OP_ROUND_EVEN: return rint##s(x);                                                               \
        case OP_ROUND_AFZ: return round##s(x);                                                               \
        case OP_SIGN: return x > 0 ? 1 : x < 0 ? -1 : x;                                                     \
        case OP_ABS: return fabs##s(x);                                                                      \
        case OP_NEG: return -x;                                                                              \
        case OP_ADD: return x + y;                                                                           \
        case OP_SUB: return x - y;                                                                           \
        case OP_MUL: return x * y;                                                                           \
        case OP_COPYSIGN: return copysign##s(x, y);                                                          \
        default: fprintf(stderr, "no reference for %s\n", (int)op < OP_COUNT ? sc_op_info[op].name : "a formula"); exit(2);                     \
        }                                                                                                    \
    }
OF(of_double, double, )
OF(of_long, long double, l)

double ex_double(ScOp op, double x, double y) { return of_double(op, x, y); }
long double ex_long(ScOp op, double x, double y) { return of_long(op, (long double)x, (long double)y); }

/* --- types -------------------------------------------------------------------------------------------------------------------- */
typedef struct {
    int fraction, least; /* bits of it; exponent of the last place of subnormals */
    long double largest;
    bool known;
} Format;

/* Read off the type's values: the distance of 2 and its next, the smallest value, the largest. */
static Format format_of(ScType t)
{
    static Format all[SC_TYPE_COUNT];
    Format *f = &all[t];
    if (f->known) return *f;
    const int bits = sc_type_info[t].bits;
    f->known = true;
    if (bits > 8) {
        f->fraction = t == SC_F16 ? 10 : t == SC_BF16 ? 7 : t == SC_F32 ? 23 : 52;
        f->least = t == SC_F16 ? -24 : t == SC_BF16 ? -133 : t == SC_F32 ? -149 : -1074;
        const uint64_t infinity = sc_from_f64(t, (double)INFINITY);
        f->largest = (long double)sc_to_f64(t, infinity - 1);
        return *f;
    }
    f->fraction = __builtin_ctzll(sc_from_f64(t, 2) - sc_from_f64(t, 1));
    f->least = t == SC_F8E8M0FNU ? -127 : ilogb(sc_to_f64(t, 1));
    for (uint64_t u = 0; u <= sc_mask(t); u++)
        if (isfinite(sc_to_f64(t, u))) f->largest = fmaxl(f->largest, (long double)sc_to_f64(t, u));
    return *f;
}

long double ex_unit(ScType t, long double x)
{
    const Format f = format_of(t);
    int e = 0;
    frexpl(x, &e);
    return ldexpl(1, x == 0 || e - 1 - f.fraction < f.least ? f.least : e - 1 - f.fraction);
}

long double ex_largest(ScType t) { return format_of(t).largest; }

/* --- 200 bits ------------------------------------------------------------------------------------------------------------------- */
enum { PRECISION = 200 };

typedef int One(mpfr_t, const mpfr_t, mpfr_rnd_t);
typedef int Two(mpfr_t, const mpfr_t, const mpfr_t, mpfr_rnd_t);

static One *one_of(ScOp op)
{
    switch ((int)op) {
    case EX_ERFC: return mpfr_erfc;
    case EX_DIGAMMA: return mpfr_digamma;
    case OP_EXP: return mpfr_exp;
    case OP_EXPM1: return mpfr_expm1;
    case OP_EXP2: return mpfr_exp2;
    case OP_LOG: return mpfr_log;
    case OP_LOG1P: return mpfr_log1p;
    case OP_LOG2: return mpfr_log2;
    case OP_TANH: return mpfr_tanh;
    case OP_TAN: return mpfr_tan;
    case OP_SIN: return mpfr_sin;
    case OP_COS: return mpfr_cos;
    case OP_SINH: return mpfr_sinh;
    case OP_COSH: return mpfr_cosh;
    case OP_ASIN: return mpfr_asin;
    case OP_ACOS: return mpfr_acos;
    case OP_ATAN: return mpfr_atan;
    case OP_ASINH: return mpfr_asinh;
    case OP_ACOSH: return mpfr_acosh;
    case OP_ATANH: return mpfr_atanh;
    case OP_ERF: return mpfr_erf;
    case OP_SQRT: return mpfr_sqrt;
    case OP_RSQRT: return mpfr_rec_sqrt;
    case OP_CBRT: return mpfr_cbrt;
    default: return NULL;
    }
}

static Two *two_of(ScOp op)
{
    switch (op) {
    case OP_POW: return mpfr_pow;
    case OP_ATAN2: return mpfr_atan2;
    case OP_HYPOT: return mpfr_hypot;
    case OP_DIV: return mpfr_div;
    case OP_REM: return mpfr_fmod;
    default: return NULL;
    }
}

static bool precise(mpfr_t r, ScOp op, const mpfr_t x, const mpfr_t y)
{
    if (one_of(op)) one_of(op)(r, x, MPFR_RNDN);
    else if (two_of(op)) two_of(op)(r, x, y, MPFR_RNDN);
    else if (op == OP_RCP) mpfr_ui_div(r, 1, x, MPFR_RNDN);
    else if (op == OP_LOGISTIC) { /* 1 / (1 + e^-x): nothing cancels */
        mpfr_neg(r, x, MPFR_RNDN);
        mpfr_exp(r, r, MPFR_RNDN);
        mpfr_add_ui(r, r, 1, MPFR_RNDN);
        mpfr_ui_div(r, 1, r, MPFR_RNDN);
    } else return false;
    return true;
}

double ex_distance(ScOp op, double x, double y, double got, double otherwise)
{
    static bool ready;
    static mpfr_t r, p, q;
    if (!ready) mpfr_inits2(PRECISION, r, p, q, (mpfr_ptr)0);
    ready = true;
    mpfr_set_d(p, x, MPFR_RNDN);
    mpfr_set_d(q, y, MPFR_RNDN);
    if (!isfinite(got) || !precise(r, op, p, q) || !mpfr_number_p(r) || mpfr_zero_p(r)) return otherwise;
    const long e = mpfr_get_exp(r) - 1; /* 2^e <= |r| < 2^(e + 1) */
    if (e > 1023) return otherwise;
    mpfr_sub_d(r, r, got, MPFR_RNDN);
    mpfr_mul_2si(r, r, e - 52 < -1074 ? 1074 : 52 - e, MPFR_RNDN);
    return fabs(mpfr_get_d(r, MPFR_RNDN));
}
