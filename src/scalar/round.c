/* round: the small floats, and scalar functions that need more than one expression.
 *
 * Needs: C's double. Leaves: conversions of every float type of 8 bits and below, through double, which holds all of
 * their values exactly; the integer power; the fused multiply-add that f16 and bf16 share.
 *
 * A row of format_of has the numbers of exponent and fraction bits, the bias, and the use of special codes: infinities
 * and nans as in IEEE 754, one nan of all ones (fn), one nan in place of -0 (fnuz), or neither (f4). f8e8m0fnu has
 * exponents alone.
 *
 *     sc_small_from_f64(SC_F8E4M3FN, 448.0)    // 0x7e; 1e9 is 0x7f, nan
 */
#include "scalar/round.h"

#include "scalar/scalar.h"

typedef enum { IEEE, NAN_ONES, NAN_MINUS_ZERO, NO_NAN } Special;

typedef struct {
    uint8_t exponent, fraction; /* bits */
    int16_t bias;
    Special special;
} Format;

static const Format format_of[SC_TYPE_COUNT] = {
    [SC_F4E2M1FN] = {2, 1, 1, NO_NAN},
    [SC_F8E3M4] = {3, 4, 3, IEEE},
    [SC_F8E4M3] = {4, 3, 7, IEEE},
    [SC_F8E4M3FN] = {4, 3, 7, NAN_ONES},
    [SC_F8E4M3B11FNUZ] = {4, 3, 11, NAN_MINUS_ZERO},
    [SC_F8E4M3FNUZ] = {4, 3, 8, NAN_MINUS_ZERO},
    [SC_F8E5M2] = {5, 2, 15, IEEE},
    [SC_F8E5M2FNUZ] = {5, 2, 16, NAN_MINUS_ZERO},
};

static uint64_t sign_bit(Format f) { return UINT64_C(1) << (f.exponent + f.fraction); }

/* The code of nan; for f4, which has none, -0. */
static uint64_t nan_code(Format f)
{
    switch (f.special) {
    case IEEE: return (((UINT64_C(1) << f.exponent) - 1) << f.fraction) | UINT64_C(1) << (f.fraction - 1);
    case NAN_ONES: return sign_bit(f) - 1;
    case NAN_MINUS_ZERO:
    case NO_NAN: break;
    }
    return sign_bit(f);
}

/* The code after that of the largest finite value: infinity where the type has one. */
static uint64_t first_beyond(Format f)
{
    switch (f.special) {
    case IEEE: return ((UINT64_C(1) << f.exponent) - 1) << f.fraction;
    case NAN_ONES: return sign_bit(f) - 1;
    case NAN_MINUS_ZERO:
    case NO_NAN: break;
    }
    return sign_bit(f);
}

/* Exponents alone: 2^(code - 127), with no zero, sign or infinity: 0, negative numbers and numbers that are too large
 * are nan. The conversion goes through float, as in ml_dtypes and XLA: to the nearer of two powers, to the larger in a
 * tie, and to the larger just above 2^-127 as well. */
static uint64_t e8m0_from_f64(double x)
{
    const float f = (float)x;
    if (!(f > 0)) return 0xff;
    const uint32_t u = sc_bits_of_float(f);
    return u < 0x800000 ? u > 0x400000 : (u + 0x400000) >> 23;
}

uint64_t sc_small_from_f64(ScType t, double x)
{
    if (t == SC_F8E8M0FNU) return e8m0_from_f64(x);
    const Format f = format_of[t];
    uint64_t sign = signbit(x) ? sign_bit(f) : 0;
    double mag = fabs(x);
    if (mag != mag) return f.special == NAN_MINUS_ZERO || f.special == NO_NAN ? nan_code(f) : sign | nan_code(f);
    uint64_t code = first_beyond(f);
    if (mag < 0x1p200) {
        int e = 0;
        frexp(mag, &e);
        int least = 1 - f.bias;
        int unit = (mag == 0 || e - 1 < least ? least : e - 1) - f.fraction; /* exponent of the last place */
        double steps = rint(ldexp(mag, -unit));                             /* at most 2^(fraction+1) */
        uint64_t full = UINT64_C(1) << f.fraction, n = (uint64_t)steps;
        code = n < full ? n : (((uint64_t)(unit + f.fraction + f.bias) << f.fraction) + n - full);
        code = WBB_MIN(code, first_beyond(f));
    }
    if (code == first_beyond(f)) {
        if (f.special == NO_NAN) code--;
        if (f.special == NAN_MINUS_ZERO) return nan_code(f);
    }
    return f.special == NAN_MINUS_ZERO && code == 0 ? 0 : sign | code;
}

double sc_small_to_f64(ScType t, uint64_t bits)
{
    if (t == SC_F8E8M0FNU) return bits == 0xff ? (double)NAN : ldexp(1, (int)bits - 127);
    const Format f = format_of[t];
    if (f.special == NAN_MINUS_ZERO && bits == sign_bit(f)) return (double)NAN;
    uint64_t mag = bits & (sign_bit(f) - 1);
    double value;
    if (f.special == IEEE && mag >= first_beyond(f)) value = mag == first_beyond(f) ? (double)INFINITY : (double)NAN;
    else if (f.special == NAN_ONES && mag == nan_code(f)) value = (double)NAN;
    else {
        uint64_t exponent = mag >> f.fraction, fraction = mag & ((UINT64_C(1) << f.fraction) - 1);
        uint64_t full = exponent ? fraction | UINT64_C(1) << f.fraction : fraction;
        value = ldexp((double)full, (int)(exponent ? exponent : 1) - f.bias - f.fraction);
    }
    return bits & sign_bit(f) ? -value : value;
}

double sc_fma_odd(double a, double b, double c)
{
    double p = a * b, s = p + c;
    if (!isfinite(s)) return s;
    /* s + error is p + c exactly (Knuth's two-sum). */
    double q = s - p, error = (p - (s - q)) + (c - q);
    uint64_t u = sc_bits_of_double(s);
    if (error == 0 || (u & 1)) return s;
    bool outward = (error > 0) == (s > 0);
    return sc_double_of_bits(outward ? u + 1 : u - 1);
}

uint64_t sc_pow_unsigned(uint64_t x, uint64_t n)
{
    uint64_t r = 1;
    for (; n; n >>= 1, x *= x)
        if (n & 1) r *= x;
    return r;
}

uint64_t sc_mulhi_unsigned(uint64_t x, uint64_t y, unsigned width)
{
    return (uint64_t)(((WbbU128)x * (WbbU128)y) >> width);
}
uint64_t sc_mulhi_signed(int64_t x, int64_t y, unsigned width)
{
    return (uint64_t)(((WbbI128)x * (WbbI128)y) >> width);
}

uint64_t sc_pow_signed(int64_t x, int64_t n)
{
    if (n >= 0) return sc_pow_unsigned((uint64_t)x, (uint64_t)n);
    if (x == 1) return 1;
    return x == -1 ? (n & 1 ? UINT64_MAX : 1) : 0;
}
