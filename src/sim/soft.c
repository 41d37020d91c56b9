/* soft: float arithmetic of one value in integers, for rounding modes and formats that the host does not have.
 *
 * Needs: nothing. Leaves: bits. Everything is exact until one rounding at the end: a value is (-1)^n * m * 2^e with
 * a sticky bit for what was cut off below.
 *
 *     sim_round(FMT_BF16, false, 0x10101, -16, false, RN)     // 1.00392... -> 0x3f80 (ties to even)
 */
#include "sim/lanes.h"

static const struct {
    int precision, least; /* bits of the significand; exponent of the smallest normal */
    u64 infinity, largest, nan;
    int bits;
} formats[] = {
    [FMT_E2M1] = {2, 0, 0, 7, 7, 4}, /* no infinity and no nan: both become the largest */
    [FMT_E2M3] = {4, 0, 0, 0x1f, 0x1f, 6},
    [FMT_E3M2] = {3, -2, 0, 0x1f, 0x1f, 6},
    [FMT_E4M3] = {4, -6, 0x7f, 0x7e, 0x7f, 8}, /* no infinity: what would be it is the nan */
    [FMT_E5M2] = {3, -14, 0x7c, 0x7b, 0x7f, 8},
    [FMT_F16] = {11, -14, 0x7c00, 0x7bff, 0x7fff, 16},
    [FMT_BF16] = {8, -126, 0x7f80, 0x7f7f, 0x7fff, 16},
    [FMT_TF32] = {11, -126, 0x3fc00, 0x3fbff, 0x3ffff, 19},
    [FMT_F32] = {24, -126, 0x7f800000, 0x7f7fffff, 0x7fffffff, 32},
    [FMT_F64] = {53, -1022, UINT64_C(0x7ff0000000000000), UINT64_C(0x7fefffffffffffff), UINT64_C(0x7ff8000000000000), 64},
};

static int bit_length(WbbU128 m)
{
    u64 high = (u64)(m >> 64), low = (u64)m;
    return high ? 128 - __builtin_clzll(high) : low ? 64 - __builtin_clzll(low) : 0;
}

static u64 signed_bits(Format f, bool negative, u64 magnitude)
{
    return magnitude | (u64)negative << (formats[f].bits - 1);
}

u64 sim_round(Format f, bool negative, WbbU128 m, int e, bool sticky, Round mode)
{
    if (!m && !sticky) return signed_bits(f, negative, 0);
    if (!m) m = 1, e -= 1, sticky = true; /* below everything: only its sign and that it is not zero count */
    int length = bit_length(m), top = length - 1 + e;
    int unit = WBB_MAX(top, formats[f].least) - (formats[f].precision - 1);
    int cut = unit - e;
    u64 kept = 0;
    bool half = false, rest = sticky;
    if (cut <= 0) {
        kept = (u64)(m << -cut);
    } else if (cut <= 127) {
        kept = (u64)(m >> cut);
        half = (m >> (cut - 1)) & 1;
        rest = rest || (m & (((WbbU128)1 << (cut - 1)) - 1)) != 0;
    } else {
        half = cut == 128 && (m >> 127);
        rest = rest || (half ? (m << 1) != 0 : m != 0);
    }
    bool up = mode == RN    ? half && (rest || (kept & 1))
              : mode == RNA ? half
              : mode == RZ  ? false
                            : (half || rest) && negative == (mode == RM);
    kept += up;
    u64 bits = top < formats[f].least ? kept : ((u64)(top - formats[f].least) << (formats[f].precision - 1)) + kept;
    if (top > 2000 || bits > formats[f].largest) {
        bool away = mode == RN || mode == RNA || (mode != RZ && negative == (mode == RM));
        bits = away && formats[f].infinity ? formats[f].infinity : formats[f].largest;
    }
    return signed_bits(f, negative, bits);
}

typedef struct {
    bool negative, zero, inf, nan;
    u64 m;
    int e;
} Parts;

static Parts parts(u64 bits)
{
    Parts p = {.negative = bits >> 63};
    u64 exponent = (bits >> 52) & 0x7ff, fraction = bits & UINT64_C(0xfffffffffffff);
    if (exponent == 0x7ff) {
        p.nan = fraction != 0;
        p.inf = fraction == 0;
    } else {
        p.m = exponent ? fraction | UINT64_C(1) << 52 : fraction;
        p.e = (exponent ? (int)exponent : 1) - 1075;
        p.zero = !p.m;
    }
    return p;
}

u64 sim_round_f64(Format f, double value, Round mode)
{
    Parts p = parts(raw_f64(value));
    if (p.nan) return formats[f].nan;
    if (p.inf) return signed_bits(f, p.negative, formats[f].infinity ? formats[f].infinity : formats[f].largest);
    return sim_round(f, p.negative, p.m, p.e, false, mode);
}

double sim_widen(Format f, u64 bits)
{
    int precision = formats[f].precision, total = formats[f].bits;
    u64 magnitude = bits & (((UINT64_C(1) << (total - 1)) - 1));
    double sign = bits >> (total - 1) & 1 ? -1.0 : 1.0;
    if (f == FMT_F64) return as_f64(bits);
    if ((formats[f].infinity && magnitude > formats[f].infinity) || (f == FMT_E4M3 && magnitude == 0x7f))
        return (double)NAN;
    if (formats[f].infinity && magnitude == formats[f].infinity) return sign * (double)INFINITY;
    u64 field = magnitude >> (precision - 1), fraction = magnitude & ((UINT64_C(1) << (precision - 1)) - 1);
    if (field) fraction |= UINT64_C(1) << (precision - 1);
    return sign * ldexp((double)fraction, (field ? (int)field : 1) - 1 + formats[f].least - (precision - 1));
}

/* Move the highest bit of m to 125; two of them can then be added. */
static void normalise(WbbU128 *m, int *e)
{
    int up = 126 - bit_length(*m);
    *m = up >= 0 ? *m << up : *m >> -up;
    *e -= up;
}

/* a * b + c rounded once to a format no wider than f64. */
static u64 fma_to(Format f, Parts a, Parts b, Parts c, Round mode)
{
    if (a.nan || b.nan || c.nan || (a.inf && b.zero) || (a.zero && b.inf)) return formats[f].nan;
    bool negative = a.negative != b.negative;
    if (a.inf || b.inf) {
        if (c.inf && c.negative != negative) return formats[f].nan;
        return signed_bits(f, negative, formats[f].infinity);
    }
    if (c.inf) return signed_bits(f, c.negative, formats[f].infinity);
    if (a.zero || b.zero) {
        if (!c.zero) return sim_round(f, c.negative, c.m, c.e, false, mode);
        return signed_bits(f, negative == c.negative ? negative : mode == RM, 0);
    }
    WbbU128 x = (WbbU128)a.m * b.m, y = c.m;
    int ex = a.e + b.e, ey = c.e;
    if (c.zero) return sim_round(f, negative, x, ex, false, mode);
    normalise(&x, &ex);
    normalise(&y, &ey);
    bool nx = negative, ny = c.negative;
    if (ey > ex || (ey == ex && y > x)) { /* x is the larger */
        WbbU128 t = x;
        x = y, y = t;
        int te = ex;
        ex = ey, ey = te;
        nx = c.negative, ny = negative;
    }
    int d = ex - ey;
    bool sticky = d > 127 ? true : d > 0 && (y & (((WbbU128)1 << d) - 1)) != 0;
    y = d > 127 ? 0 : y >> d;
    WbbU128 sum = nx == ny ? x + y : x - y - (sticky ? 1 : 0);
    if (!sum && !sticky) return signed_bits(f, mode == RM, 0);
    return sim_round(f, nx, sum, ex, sticky, mode);
}

static Parts parts32(u32 a) { return parts(raw_f64((double)as_f32(a))); }

u64 sim_fma64(u64 a, u64 b, u64 c, Round mode)
{
    u64 r = fma_to(FMT_F64, parts(a), parts(b), parts(c), mode);
    /* A nan keeps the payload of the first operand that has one. */
    if (nan64(r)) {
        u64 from = nan64(a) ? a : nan64(b) ? b : nan64(c) ? c : r;
        return from | UINT64_C(0x0008000000000000);
    }
    return r;
}

u32 sim_div32(u32 a, u32 b, Round mode)
{
    Parts x = parts32(a), y = parts32(b);
    if (x.nan || y.nan || x.inf || y.inf || x.zero || y.zero) return bits_f32(as_f32(a) / as_f32(b));
    WbbU128 n = (WbbU128)x.m << 64;
    return (u32)sim_round(FMT_F32, x.negative != y.negative, n / y.m, x.e - y.e - 64, n % y.m != 0, mode);
}

u32 sim_sqrt32(u32 a, Round mode)
{
    double x = (double)as_f32(a);
    if (!(x > 0) || x > 1e300) return bits_f32(sqrtf(as_f32(a)));
    double s = sqrt(x), rest = fma(-s, s, x);
    u64 bits = raw_f64(s);
    if (rest != 0 && !(bits & 1)) bits = rest > 0 ? bits + 1 : bits - 1;
    return (u32)sim_round_f64(FMT_F32, as_f64(bits), mode);
}

u64 sim_div64(u64 a, u64 b, Round mode)
{
    const Parts x = parts(a), y = parts(b);
    if (x.nan || y.nan || x.inf || y.inf || x.zero || y.zero) return bits_f64(as_f64(a) / as_f64(b));
    const WbbU128 n = (WbbU128)x.m << 64;
    const int shift = bit_length(y.m) < 53 ? 53 - bit_length(y.m)
                                           : 0; /* keeps enough bits of the quotient below a small dividend */
    const WbbU128 d = (WbbU128)y.m << shift;
    const int up = bit_length(x.m) < 53 ? 53 - bit_length(x.m) : 0;
    return sim_round(FMT_F64, x.negative != y.negative, (n << up) / d, x.e - y.e - 64 - up + shift, (n << up) % d != 0,
                     mode);
}

/* Bit by bit: the root of m * 2^(2k), m of at most 54 bits, is a whole number of 54 bits and more, and a rest. */
u64 sim_sqrt64(u64 a, Round mode)
{
    Parts x = parts(a);
    if (x.nan || x.inf || x.zero || x.negative) return bits_f64(sqrt(as_f64(a)));
    int up = 110 - bit_length(x.m);
    if ((x.e - up) % 2) up++;
    WbbU128 rest = (WbbU128)x.m << up, root = 0;
    for (WbbU128 bit = (WbbU128)1 << 110; bit; bit >>= 2) {
        const bool fits = rest >= root + bit;
        if (fits) rest -= root + bit;
        root = fits ? (root >> 1) + bit : root >> 1;
    }
    return sim_round(FMT_F64, false, root, (x.e - up) / 2, rest != 0, mode);
}

double sim_noise(u64 seed, u64 bits, double value, double relative, double absolute)
{
    if (!seed || (raw_f64(value) & UINT64_C(0xfffffffffffff)) == 0)
        return value; /* powers of two are exact: libdevice scales by ex2 */
    double u = (double)(int64_t)(wbb_hash(&bits, sizeof bits, seed) >> 11) / 4503599627370496.0 - 1.0;
    return value + value * relative * u + absolute * u;
}
