/* complex_reference.h: reference values of functions of complex values, in long double, with C's principal branches.
 * Part of driver.c. */
#include <complex.h>

typedef long double complex Z;

static Z pair_of(long double x, long double y)
{
    union {
        long double part[2];
        Z z;
    } both = {{x, y}};
    return both.z;
}

/* e^z - 1 without cancellation of the real part. */
static Z complex_expm1(Z a)
{
    const long double x = creall(a), y = cimagl(a), half = sinl(y / 2);
    return pair_of(x > 60 ? creall(cexpl(a)) : expm1l(x) * cosl(y) - 2 * half * half, y == 0 ? y : expl(x) * sinl(y));
}

static Z complex_log1p(Z a)
{
    const long double x = creall(a), y = cimagl(a), square = x * (x + 2) + y * y;
    return pair_of(fabsl(square) < 0.5L ? log1pl(square) / 2 : logl(hypotl(x + 1, y)), atan2l(y, x + 1));
}

static Z complex_power(Z a, Z b)
{
    if (b == 0) return 1;
    if (a == 0 && cimagl(b) == 0) return creall(b) > 0 ? 0 : (long double)INFINITY;
    if (a == 0) return creall(b) > 0 ? 0 : pair_of((long double)NAN, (long double)NAN);
    const Z l = clogl(a);
    return cexpl(pair_of(creall(b) * creall(l) - cimagl(b) * cimagl(l), creall(b) * cimagl(l) + cimagl(b) * creall(l)));
}

static Z complex_function(int op, Z a, Z b)
{
    switch (op) {
    case OP_DIV: return a / b;
    case OP_POW: return complex_power(a, b);
    case OP_SIGN: return a == 0 ? a : pair_of(creall(a) / cabsl(a), cimagl(a) / cabsl(a));
    case OP_EXP: return cexpl(a);
    case OP_EXPM1: return complex_expm1(a);
    case OP_LOG: return clogl(a);
    case OP_LOG1P: return complex_log1p(a);
    case OP_LOGISTIC: return creall(a) < -60 ? cexpl(a) : 1 / (1 + cexpl(-a));
    case OP_SQRT: return csqrtl(a);
    case OP_RSQRT: return 1 / csqrtl(a);
    case OP_CBRT: return a == 0 ? 0 : cbrtl(cabsl(a)) * cexpl(pair_of(0, cargl(a) / 3));
    case OP_SIN: return csinl(a);
    case OP_COS: return ccosl(a);
    case OP_TAN: return ctanl(a);
    case OP_SINH: return csinhl(a);
    case OP_COSH: return ccoshl(a);
    case OP_TANH: return ctanhl(a);
    case OP_ASIN: return casinl(a);
    case OP_ACOS: return cacosl(a);
    case OP_ASINH: return casinhl(a);
    case OP_ACOSH: return cacoshl(a);
    case OP_ATANH: return catanhl(a);
    default: fprintf(stderr, "no complex reference for %s\n", sc_op_info[op].name); exit(2);
    }
}

/* More units in the last place by which a power may be off: the exponent multiplies the error of the logarithm. */
static double complex_units(int op, Z a, Z b)
{
    if (op != OP_POW || a == 0) return 0;
    return (double)(16 * cabsl(b) * cabsl(clogl(a)));
}
