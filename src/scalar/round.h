/* What round.c and the generated sc_functions.c share: single roundings, written so that the compiler vectorises loops
 * of them. */
#ifndef SC_ROUND_H
#define SC_ROUND_H

#include "base/base.h"
#include "sc_tables.h"

#include <math.h>
#include <string.h>

static inline uint32_t sc_bits_of_float(float x)
{
    uint32_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline float sc_float_of_bits(uint32_t u)
{
    float x;
    memcpy(&x, &u, sizeof x);
    return x;
}

static inline uint64_t sc_bits_of_double(double x)
{
    uint64_t u;
    memcpy(&u, &x, sizeof u);
    return u;
}

static inline double sc_double_of_bits(uint64_t u)
{
    double x;
    memcpy(&x, &u, sizeof x);
    return x;
}

/* bf16 is the upper half of a float. */
static inline float sc_bf16_to_float(uint16_t h) { return sc_float_of_bits((uint32_t)h << 16); }

static inline uint16_t sc_bf16_of_float(float x)
{
    uint32_t u = sc_bits_of_float(x);
    uint32_t nan = u >> 16 | 0x40, rounded = (u + 0x7fff + (u >> 16 & 1)) >> 16;
    return (uint16_t)((u & 0x7fffffff) > 0x7f800000 ? nan : rounded);
}

/* The exponent and fraction of f16, shifted to those of float, make a number that is 2^112 too small; subnormals too.
 */
static inline float sc_f16_to_float(uint16_t h)
{
    uint32_t sign = (uint32_t)(h & 0x8000) << 16, rest = (uint32_t)(h & 0x7fff) << 13;
    uint32_t finite = sc_bits_of_float(sc_float_of_bits(rest) * 0x1p112f);
    return sc_float_of_bits(sign | (rest >= 0x7c00u << 13 ? rest | 0x7f800000 : finite));
}

static inline uint16_t sc_f16_of_float(float x)
{
    uint32_t u = sc_bits_of_float(x), sign = u >> 16 & 0x8000, mag = u & 0x7fffffff;
    /* Subnormal results: adding 0.5 makes the float addition round at 2^-24, the last place of f16. */
    uint32_t small = sc_bits_of_float(sc_float_of_bits(mag) + 0.5f) - 0x3f000000;
    uint32_t normal = (mag + 0xfff + (mag >> 13 & 1) - (112u << 23)) >> 13;
    uint32_t finite = mag < 113u << 23 ? small : normal;
    uint32_t large = mag > 0x7f800000 ? 0x7e00 | (mag >> 13 & 0x3ff) : 0x7c00;
    return (uint16_t)(sign | (mag >= 0x477ff000 ? large : finite));
}

/* x rounded to odd: where x is not a float, the neighbour with an odd last bit. A second rounding to fewer bits then
 * gives the same as one rounding. */
static inline float sc_float_odd(double x)
{
    float f = (float)x;
    double back = (double)f;
    uint32_t u = sc_bits_of_float(f);
    uint32_t even = ~u & 1;
    uint32_t up = fabs(back) < fabs(x) ? even : 0, down = fabs(back) > fabs(x) ? even : 0;
    return sc_float_of_bits(u + up - down);
}

static inline uint16_t sc_bf16_of_double(double x) { return sc_bf16_of_float(sc_float_odd(x)); }
static inline uint16_t sc_f16_of_double(double x) { return sc_f16_of_float(sc_float_odd(x)); }

/* 64-bit integers to double, rounded to odd: the last bit kept is set where a lower bit is. */
static inline double sc_double_odd_unsigned(uint64_t x)
{
    uint64_t sticky = (x & 0xfff) != 0 ? 0x1000 : 0;
    return (double)(x >> 53 ? (x & ~UINT64_C(0xfff)) | sticky : x);
}

static inline double sc_double_odd_signed(int64_t x)
{
    double d = sc_double_odd_unsigned(x < 0 ? 0 - (uint64_t)x : (uint64_t)x);
    return x < 0 ? -d : d;
}

/* nan if either is; -0 is below +0. Operands that compare equal differ at most in the sign. */
static inline float sc_maxf(float a, float b)
{
    float equal = sc_float_of_bits(sc_bits_of_float(a) & sc_bits_of_float(b));
    return a != a ? a : b != b ? b : a > b ? a : a < b ? b : equal;
}

static inline float sc_minf(float a, float b)
{
    float equal = sc_float_of_bits(sc_bits_of_float(a) | sc_bits_of_float(b));
    return a != a ? a : b != b ? b : a < b ? a : a > b ? b : equal;
}

static inline double sc_max(double a, double b)
{
    double equal = sc_double_of_bits(sc_bits_of_double(a) & sc_bits_of_double(b));
    return a != a ? a : b != b ? b : a > b ? a : a < b ? b : equal;
}

static inline double sc_min(double a, double b)
{
    double equal = sc_double_of_bits(sc_bits_of_double(a) | sc_bits_of_double(b));
    return a != a ? a : b != b ? b : a < b ? a : a > b ? b : equal;
}

static inline unsigned sc_popcnt(uint64_t x)
{
    x -= x >> 1 & UINT64_C(0x5555555555555555);
    x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
    x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)((x * UINT64_C(0x0101010101010101)) >> 56);
}

/* Position of the highest 1 bit, from 1; 0 of 0. */
static inline unsigned sc_length(uint64_t x)
{
    for (unsigned s = 1; s < 64; s *= 2) x |= x >> s;
    return sc_popcnt(x);
}

/* round.c */
double sc_fma_odd(double a, double b, double c); /* a * b must be exact; the sum is rounded to odd */
uint64_t sc_pow_unsigned(uint64_t x, uint64_t n);
uint64_t sc_pow_signed(int64_t x, int64_t n);
uint64_t sc_mulhi_unsigned(uint64_t x, uint64_t y, unsigned width); /* the product's bits above the low `width` */
uint64_t sc_mulhi_signed(int64_t x, int64_t y, unsigned width);
uint64_t sc_small_from_f64(ScType t, double x); /* types of 8 bits and below */
double sc_small_to_f64(ScType t, uint64_t bits);

/* As float with subnormals flushed to zero. */
static inline float sc_normal(double x)
{
    const float f = (float)x;
    return fabsf(f) < 0x1p-126f ? copysignf(0.0f, f) : f;
}

/* The upper word of a double, with subnormals flushed to zero. */
static inline double sc_upper(double x)
{
    const uint64_t bits = sc_bits_of_double(x), normal = bits & UINT64_C(0x7ff0000000000000);
    return isnan(x) ? x : sc_double_of_bits(bits & (normal ? UINT64_C(0xffffffff00000000) : UINT64_C(1) << 63));
}

/* 64 bits of a table from byte k modulo 256: 12 zero bytes, 146 of 2/pi, as many as the exponents of f64 need, and
 * zeros. */
static inline uint64_t sc_two_over_pi_word(uint32_t k)
{
    static const uint64_t words[33] = {
        UINT64_C(0x0000000000000000), UINT64_C(0x00000000a2f9836e), UINT64_C(0x4e441529fc2757d1),
        UINT64_C(0xf534ddc0db629599), UINT64_C(0x3c439041fe5163ab), UINT64_C(0xdebbc561b7246e3a),
        UINT64_C(0x424dd2e006492eea), UINT64_C(0x09d1921cfe1deb1c), UINT64_C(0xb129a73ee88235f5),
        UINT64_C(0x2ebb4484e99c7026), UINT64_C(0xb45f7e413991d639), UINT64_C(0x835339f49c845f8b),
        UINT64_C(0xbdf9283b1ff897ff), UINT64_C(0xde05980fef2f118b), UINT64_C(0x5a0a6d1f6d367ecf),
        UINT64_C(0x27cb09b74f463f66), UINT64_C(0x9e5fea2d7527bac7), UINT64_C(0xebe5f17b3d0739f7),
        UINT64_C(0x8a5292ea6bfb5fb1), UINT64_C(0x1f8d5d0856030000),
    };
    const uint64_t *at = words + (k & 255) / 8;
    const uint32_t bits = k % 8 * 8;
    return bits ? at[0] << bits | at[1] >> (64 - bits) : at[0];
}

/* 32 bits of 2/pi after 19 zero bytes, from byte k modulo 64: Payne and Hanek, "Radian Reduction for Trigonometric
 * Functions" (1983). */
static inline uint32_t sc_two_over_pi(uint32_t k)
{
    const uint32_t zeros = 19 - 12; /* more than the table above has */
    return (k & 63) < zeros ? 0 : (uint32_t)(sc_two_over_pi_word((k & 63) - zeros) >> 32);
}

/* 2/pi as a sum of two doubles, from byte k modulo 32 of the above or its first that is not zero: the bytes before it
 * give multiples of 4 in a product with a float whose exponent field is 8 k or more. k modulo 128 below 64: 53 bits;
 * else the next 53. */
static inline uint64_t sc_two_over_pi_part(uint32_t k)
{
    const uint32_t at = WBB_MAX(k & 31, 19u);
    const uint64_t u = (uint64_t)sc_two_over_pi(at) << 32 | sc_two_over_pi(at + 4),
                   v = (uint64_t)sc_two_over_pi(at + 8) << 32 | sc_two_over_pi(at + 12);
    const int unit = 8 * (19 - (int)at) - 53;
    return sc_bits_of_double(k & 64 ? ldexp((double)((u & 0x7ff) << 42 | v >> 22), unit - 53)
                                    : ldexp((double)(u >> 11), unit));
}

#endif
