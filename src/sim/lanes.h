/* lanes: how one operation runs over the 32 lanes of a warp, and the arithmetic of one lane.
 *
 * OP(id, names, types, D, A, B, C, expr) makes the function op_id, which computes `expr` of a, b and c for each
 * lane; the tables in ops_*.c list it once more to make the rows of the instruction table. Columns hold bits; floats
 * are read and made by as_f32, bits_f32 and the like. Destinations and sources are the same column or apart, never
 * overlapping. SIM_PARTS is the same for what is done to each part of a register by itself: a column of 32 bits is
 * 64 halves or 128 bytes, one of 64 bits is 64 words, the low part of lane 0 first.
 */
#ifndef SIM_LANES_H
#define SIM_LANES_H

#include "sim/inner.h"

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int8_t i8;
typedef int16_t i16;
typedef int32_t i32;
typedef int64_t i64;

/* The arithmetic of one lane must be inlined into the loop over lanes. */
#if defined(__GNUC__)
#define SIM_INLINE static inline __attribute__((always_inline))
#else
#define SIM_INLINE static inline
#endif
#if defined(__GNUC__) && !defined(__clang__)
#define SIM_EACH_OF(count) _Pragma("GCC ivdep") for (int l = 0; l < (count); l++)
#else
#define SIM_EACH_OF(count) for (int l = 0; l < (count); l++)
#endif
#define SIM_EACH SIM_EACH_OF(LANES)

#ifndef SIM_CLONES
#define SIM_CLONES WBB_CLONES
#endif
#define SIM_LOOP(id, count, D, A, B, C, expr)                                                                            \
    SIM_CLONES static void op_##id(uint8_t *d, const uint8_t *regs, const SimOp *op)                                     \
    {                                                                                                                    \
        D *to = (D *)(void *)d;                                                                                          \
        const A *from_a = (const A *)(const void *)(regs + op->a);                                                       \
        const B *from_b = (const B *)(const void *)(regs + op->b);                                                       \
        const C *from_c = (const C *)(const void *)(regs + op->c);                                                       \
        const uint64_t imm = (uint64_t)op->imm, seed = *(const uint64_t *)(const void *)regs;                            \
        (void)imm, (void)seed;                                                                                           \
        SIM_EACH_OF(count)                                                                                               \
        {                                                                                                                \
            const A a = from_a[l];                                                                                       \
            const B b = from_b[l];                                                                                       \
            const C c = from_c[l];                                                                                       \
            (void)a, (void)b, (void)c;                                                                                   \
            to[l] = (D)(expr);                                                                                           \
        }                                                                                                                \
    }
#define SIM_OP(id, names, types, D, A, B, C, expr) SIM_LOOP(id, LANES, D, A, B, C, expr)
#define SIM_PARTS(id, names, types, D, A, B, C, expr)                                                                    \
    SIM_LOOP(id, LANES * (int)((sizeof(D) < 4 ? 4 : 8) / sizeof(D)), D, A, B, C, expr)
#define SIM_ROW(id, names, types, D, A, B, C, expr) {names, types, op_##id},

SIM_INLINE float as_f32(u32 u)
{
    float f;
    memcpy(&f, &u, 4);
    return f;
}

SIM_INLINE double as_f64(u64 u)
{
    double d;
    memcpy(&d, &u, 8);
    return d;
}

SIM_INLINE u32 raw_f32(float f)
{
    u32 u;
    memcpy(&u, &f, 4);
    return u;
}

SIM_INLINE u64 raw_f64(double d)
{
    u64 u;
    memcpy(&u, &d, 8);
    return u;
}

/* A computed nan has one form: PTX ISA, 9.7.3. */
SIM_INLINE u32 bits_f32(float f) { return f != f ? 0x7fffffffu : raw_f32(f); }
/* f64 keeps the payload of an input; the manual names none for a new nan, and the host's is taken. */
SIM_INLINE u64 bits_f64(double d) { return raw_f64(d); }

SIM_INLINE bool nan32(u32 a) { return (a & 0x7fffffffu) > 0x7f800000u; }
SIM_INLINE bool nan64(u64 a) { return (a & UINT64_C(0x7fffffffffffffff)) > UINT64_C(0x7ff0000000000000); }
/* f16 and bf16 differ in their infinity; the order of their bits is the same. */
#define INF_F16 0x7c00u
#define INF_BF16 0x7f80u
SIM_INLINE bool nan16(u32 a, u32 infinity) { return (a & 0x7fffu) > infinity; }

/* The number that bits stand for, among those of its type; zeros of both signs are one. */
SIM_INLINE i16 number16(u32 a) { return (i16)(a & 0x8000u ? 0u - (a & 0x7fffu) : a); }
/* The same with -0 below +0. */
SIM_INLINE i16 order16(u32 a) { return (i16)(a & 0x8000u ? a ^ 0x7fffu : a); }

/* A choice without a branch: with one the loop over lanes is not vectorised. */
SIM_INLINE u32 selected(bool c, u32 yes, u32 no)
{
    const u32 mask = 0u - (u32)c;
    return (yes & mask) | (no & ~mask);
}

SIM_INLINE u64 selected64(bool c, u64 yes, u64 no)
{
    const u64 mask = UINT64_C(0) - (u64)c;
    return (yes & mask) | (no & ~mask);
}

SIM_INLINE u32 flush32(u32 a) { return (a & 0x7f800000u) ? a : a & 0x80000000u; }

/* bf16 is the upper half of an f32. */
SIM_INLINE float of_bf(u32 h) { return as_f32(h << 16); }

SIM_INLINE u32 to_bf(float f)
{
    u32 u = raw_f32(f);
    u32 r = (u + 0x7fffu + ((u >> 16) & 1u)) >> 16;
    return f != f ? 0x7fffu : r;
}

/* f16 to f32, exact: normals by moving the exponent, subnormals by one exact subtraction. */
SIM_INLINE float of_h(u32 h)
{
    u32 sign = (h & 0x8000u) << 16, rest = (h & 0x7fffu) << 13;
    float sub = as_f32(rest + (113u << 23)) - as_f32(113u << 23);
    u32 normal = rest + (112u << 23), special = rest | 0x7f800000u;
    u32 u = selected(rest >= (31u << 23), special, selected(rest < (1u << 23), raw_f32(sub), normal));
    return as_f32(u | sign);
}

/* f32 to f16, ties to even. Adding a power of two makes the addition round at the last bit of a subnormal. */
SIM_INLINE u32 to_h(float f)
{
    u32 u = raw_f32(f), sign = (u >> 16) & 0x8000u, a = u & 0x7fffffffu;
    u32 sub = raw_f32(as_f32(a) + as_f32(126u << 23)) - (126u << 23);
    u32 odd = (a >> 13) & 1u;
    u32 normal = (a - (112u << 23) + 0xfffu + odd) >> 13;
    u32 r = selected(a >= 0x477ff000u, 0x7c00u, selected(a < (113u << 23), sub, normal));
    return selected(a > 0x7f800000u, 0x7fffu, r | sign);
}

/* a * b + c of f32 or narrower values, with the last bit of the double odd where the sum is inexact, so that one more
 * rounding to 24 bits or fewer gives what a single rounding would (Boldo and Melquiond, "Emulation of FMA and correctly
 * rounded sums", 2008). The product is exact; the error of the sum is Knuth's. */
SIM_INLINE double fma_odd(double a, double b, double c)
{
    double p = a * b, s = p + c;
    double bb = s - p, err = (p - (s - bb)) + (c - bb);
    u64 u = raw_f64(s);
    /* Toward the error: one step of the bits up if error and sum agree in sign, down if not; only from an even
     * pattern. */
    u64 differ = (raw_f64(err) ^ u) >> 63;
    u64 moved = differ ? u - 1 : u + 1;
    bool inexact = err != 0.0 && err == err && !(u & 1u);
    return as_f64(inexact ? moved : u);
}

/* 2^-126 .. : a double that already holds the exact value to the sticky bit, to f32. */
SIM_INLINE float fma_f32(u32 a, u32 b, u32 c)
{
    return (float)fma_odd((double)as_f32(a), (double)as_f32(b), (double)as_f32(c));
}

typedef enum { RN, RZ, RM, RP, RNA } Round; /* RNA: to nearest, ties away from zero */

/* a * b + c rounded once to f32 as RZ, RM or RP say: to nearest, then one step back where that went the wrong way.
 * An exact zero is -0 toward minus infinity unless both terms are +0; infinities count as values to step to. */
SIM_INLINE u32 fma_directed(u32 a, u32 b, u32 c, Round mode)
{
    const double d = fma_odd((double)as_f32(a), (double)as_f32(b), (double)as_f32(c));
    const u32 u = raw_f32((float)d), out = u + 1u, in = u - 1u, negative = u >> 31;
    const double back = (double)as_f32(u);
    const bool wrong = mode == RM ? back > d : mode == RP ? back < d : fabs(back) > fabs(d);
    const u32 moved = mode == RM ? (negative ? out : in) : mode == RP ? (negative ? in : out) : in;
    const u32 zero = ((a ^ b) | c) & 0x80000000u;
    return selected(d != d, 0x7fffffffu, selected((mode == RM) & (d == 0.0), zero, selected(wrong, moved, u)));
}

SIM_INLINE u32 mul_directed(u32 a, u32 b, Round mode) { return fma_directed(a, b, (a ^ b) & 0x80000000u, mode); }

/* Double (odd-rounded) to f16 and bf16: through f32 with a sticky bit again. */
SIM_INLINE float odd_f32(double d)
{
    /* Truncate to f32 toward zero and keep the rest as its lowest bit. */
    float f = (float)d;
    double back = (double)f;
    u32 u = raw_f32(f);
    bool away = fabs(back) > fabs(d);
    u32 truncated = away ? u - 1u : u;
    bool inexact = back != d && d == d;
    return as_f32(inexact ? truncated | 1u : u);
}

/* bf16 and f16 fma, one rounding. */
SIM_INLINE u32 fma_bf(u32 a, u32 b, u32 c)
{
    return to_bf(odd_f32(fma_odd((double)of_bf(a), (double)of_bf(b), (double)of_bf(c))));
}
SIM_INLINE u32 fma_h(u32 a, u32 b, u32 c)
{
    return to_h(odd_f32(fma_odd((double)of_h(a), (double)of_h(b), (double)of_h(c))));
}

/* Order of floats with -0 below +0, for min and max. */
SIM_INLINE u32 max32(u32 a, u32 b)
{
    float x = as_f32(a), y = as_f32(b);
    u32 r = x > y ? a : x < y ? b : a & b; /* equal: +0 unless both are -0 */
    return nan32(a) ? (nan32(b) ? 0x7fffffffu : b) : nan32(b) ? a : r;
}

SIM_INLINE u32 min32(u32 a, u32 b)
{
    float x = as_f32(a), y = as_f32(b);
    u32 r = x < y ? a : x > y ? b : a | b;
    return nan32(a) ? (nan32(b) ? 0x7fffffffu : b) : nan32(b) ? a : r;
}

SIM_INLINE u64 max64(u64 a, u64 b)
{
    double x = as_f64(a), y = as_f64(b);
    u64 r = x > y ? a : x < y ? b : a & b;
    return nan64(a) ? (nan64(b) ? UINT64_C(0x7fffffffffffffff) : b) : nan64(b) ? a : r;
}

SIM_INLINE u64 min64(u64 a, u64 b)
{
    double x = as_f64(a), y = as_f64(b);
    u64 r = x < y ? a : x > y ? b : a | b;
    return nan64(a) ? (nan64(b) ? UINT64_C(0x7fffffffffffffff) : b) : nan64(b) ? a : r;
}

/* Of two halves, the first in the low bits. */
#define PAIR(lo, hi) ((u32)(lo) | (u32)(hi) << 16)

/* exp(r) - 1 for |r| <= ln 2 / 2: the Taylor sum, whose rest is below r^13 / 13! = 2^-51 r. Its terms are joined in
 * pairs, so that few of them wait for others (Estrin's order). */
SIM_INLINE double exp_less_one(double r)
{
    const double r2 = r * r, r4 = r2 * r2, r8 = r4 * r4;
    const double a = 1.0 / 2 + r * (1.0 / 6), b = 1.0 / 24 + r * (1.0 / 120);
    const double c = 1.0 / 720 + r * (1.0 / 5040), d = 1.0 / 40320 + r * (1.0 / 362880);
    const double e = (1.0 / 3628800 + r * (1.0 / 39916800)) + r2 * (1.0 / 479001600);
    return r + r2 * (((a + r2 * b) + r4 * (c + r2 * d)) + r8 * e);
}

/* 2^x as 2^n * exp(r ln 2), n whole and |r| <= 1/2, off by less than 2^-48 of itself, without a call or a branch.
 * Beyond 1000 every f32 result is 0 or infinite; nan goes through. */
SIM_INLINE double exp2_f32(double x)
{
    const i64 u = (i64)raw_f64(x), m = u & INT64_MAX, most = (i64)raw_f64(1000.0);
    /* A mask: a choice may become a branch. */
    const i64 far = -(i64)((m > most) & (m <= INT64_C(0x7ff0000000000000)));
    const double near = as_f64((u64)(u - ((m - most) & far)));
    double shifted = near + 0x1.8p52, n = shifted - 0x1.8p52, r = (near - n) * 0x1.62e42fefa39efp-1;
    const double p = exp_less_one(r) + 1.0;
    return as_f64((raw_f64(shifted) << 52) + UINT64_C(0x3ff0000000000000)) * p;
}

/* tanh as e / (e + 2), e = exp(2|x|) - 1, off by less than 2^-48 of itself: no call, no branch and no choice (which a
 * compiler may make a branch), so lanes run side by side.
 * 2|x| = n ln 2 + r with |r| <= ln 2 / 2. From 20 on, tanh rounds to 1. */
SIM_INLINE double tanh_f32(u32 bits)
{
    u32 m = bits & 0x7fffffffu, twenty = 0x41a00000u;
    u32 far = 0u - (u32)((m > twenty) & (m <= 0x7f800000u)), near = m - ((m - twenty) & far); /* nan goes through */
    double y = 2.0 * (double)as_f32(near);
    double shifted = y * 0x1.71547652b82fep0 + 0x1.8p52, n = shifted - 0x1.8p52; /* y / ln 2, rounded */
    double r = (y - n * 0x1.62e42fefa38p-1) - n * 0x1.ef35793c7673p-45;  /* the first product is exact */
    const double p = exp_less_one(r);
    double power = as_f64((raw_f64(shifted) << 52) + UINT64_C(0x3ff0000000000000)); /* 2^n */
    double e = power * p + (power - 1.0);
    return copysign(e / (e + 2.0), (double)as_f32(bits));
}

/* soft.c --------------------------------------------------------------------------------------- */
typedef enum { FMT_E2M1, FMT_E2M3, FMT_E3M2, FMT_E4M3, FMT_E5M2, FMT_F16, FMT_BF16, FMT_TF32, FMT_F32, FMT_F64 } Format;

/* The exact value (-1)^negative * mantissa * 2^exponent, with `sticky` set if something not zero below it was cut off,
 * rounded to a format; its bits. Overflow gives infinity or the largest value as the mode says. */
u64 sim_round(Format format, bool negative, WbbU128 mantissa, int exponent, bool sticky, Round mode);
u64 sim_round_f64(Format format, double value, Round mode); /* nan: the format's own */
double sim_widen(Format format, u64 bits);
u64 sim_fma64(u64 a, u64 b, u64 c, Round mode);
u32 sim_div32(u32 a, u32 b, Round mode);
u32 sim_sqrt32(u32 a, Round mode);
u64 sim_div64(u64 a, u64 b, Round mode);
u64 sim_sqrt64(u64 a, Round mode);
double sim_noise(u64 seed, u64 bits, double value, double relative, double absolute);

#endif
