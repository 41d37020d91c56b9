/* float_reference.h: units in the last place, largest values, and reference values of functions in long double. Part of
 * driver.c, whose EXACT is above all numbers of types.
 *
 *     unit_at(SC_F32, 1) = 2^-23; function(OP_EXP, 1, 0) = 2.718281828459045235
 */

/* unit_at for types of 8 bits and below, whose values are few. */
static double small_unit_at(int t, long double x)
{
    static struct { bool known; int fraction, least; } of[EXACT];
    if (!of[t].known) {
        of[t].known = true;
        of[t].fraction = __builtin_ctzll(sc_from_f64((ScType)t, 2) - sc_from_f64((ScType)t, 1));
        of[t].least = t == SC_F8E8M0FNU ? -127 : ilogb(sc_to_f64((ScType)t, 1));
    }
    const int fraction = of[t].fraction, least = of[t].least;
    int e = 0;
    frexpl(x, &e);
    return ldexp(1, x == 0 || e - 1 - fraction < least ? least : e - 1 - fraction);
}

static long double find_largest(int t)
{
    if (t == SC_F64) return 0x1.fffffffffffffp1023L;
    if (sc_type_info[t].bits > 8)
        return (long double)sc_to_f64((ScType)t, t == SC_F16 ? 0x7bff : t == SC_BF16 ? 0x7f7f : 0x7f7fffff);
    double most = 0;
    for (uint64_t u = 0; u <= sc_mask((ScType)t); u++)
        if (isfinite(sc_to_f64((ScType)t, u))) most = fmax(most, sc_to_f64((ScType)t, u));
    return (long double)most;
}

static long double largest_of(int t) /* computed once for each type */
{
    static long double found[EXACT];
    if (found[t] == 0) found[t] = find_largest(t);
    return found[t];
}

/* The unit in the last place of a float type at x. */
static double unit_at(int t, long double x)
{
    if (sc_type_info[t].bits <= 8) return small_unit_at(t, x);
    const int fraction = t == SC_F16 ? 10 : t == SC_BF16 ? 7 : t == SC_F32 ? 23 : 52;
    const int least = t == SC_F16 ? -24 : t == SC_BF16 ? -133 : t == SC_F32 ? -149 : -1074;
    int e = 0;
    frexpl(x, &e);
    return ldexp(1, x == 0 || e - 1 - fraction < least ? least : e - 1 - fraction);
}

/* unit_at the value that x rounds to: if x rounds up to a power of two, the power's unit. */
static double unit_near(int t, long double x)
{
    const double unit = unit_at(t, x);
    return sc_type_info[t].bits <= 8 ? unit : unit_at(t, fabsl(x) + (long double)unit / 2);
}

static long double function(int op, long double x, long double y)
{
    switch (op) {
    case OP_EXP: return expl(x);
    case OP_EXPM1: return expm1l(x);
    case OP_EXP2: return exp2l(x);
    case OP_LOG: return logl(x);
    case OP_LOG1P: return log1pl(x);
    case OP_LOG2: return log2l(x);
    case OP_LOGISTIC: return x < 0 ? expl(x) / (1 + expl(x)) : 1 / (1 + expl(-x));
    case OP_TANH: return tanhl(x);
    case OP_TAN: return tanl(x);
    case OP_SIN: return sinl(x);
    case OP_COS: return cosl(x);
    case OP_SINH: return sinhl(x);
    case OP_COSH: return coshl(x);
    case OP_ASIN: return asinl(x);
    case OP_ACOS: return acosl(x);
    case OP_ATAN: return atanl(x);
    case OP_ASINH: return asinhl(x);
    case OP_ACOSH: return acoshl(x);
    case OP_ATANH: return atanhl(x);
    case OP_ERF: return erfl(x);
    case OP_SQRT: return sqrtl(x);
    case OP_RSQRT: return 1 / sqrtl(x);
    case OP_CBRT: return cbrtl(x);
    case OP_RCP: return 1 / x;
    case OP_POW: return powl(x, y);
    case OP_ATAN2: return atan2l(x, y);
    case OP_HYPOT: return hypotl(x, y);
    case OP_DIV: return x / y;
    case OP_ADD: return x + y;
    case OP_SUB: return x - y;
    case OP_MUL: return x * y;
    case OP_NEG: return -x;
    case OP_ABS: return fabsl(x);
    default: fprintf(stderr, "no reference for %s\n", sc_op_info[op].name); exit(2);
    }
}
