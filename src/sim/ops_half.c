/* ops_half: the rows of the instruction table on f16, bf16 and their pairs, and the conversions that need speed.
 *
 * Needs: lanes.h. Leaves: sim_rows_half, sim_rows_cvt. Sums and products of two 16-bit values are taken in f32 and
 * rounded again: f32 has more than twice their bits plus two, so that gives the same as one rounding (Figueroa,
 * "When is double rounding innocuous?", 1995). fma goes through an odd-rounded double. Comparisons look at the bits
 * alone. Conversions that have no row go to convert.c.
 *
 *     mul.rn.bf16x2 %r3, %r1, %r2   ->   each half: to_bf(of_bf(a) * of_bf(b))
 */
#include "sim/lanes.h"

/* One of two values; where both are nan, the nan that is computed. */
SIM_INLINE u32 one_of(u32 a, u32 b, bool first, u32 infinity)
{
    const bool na = nan16(a, infinity), nb = nan16(b, infinity);
    return selected(na & nb, 0x7fffu, selected(nb | (first & !na), a, b));
}

SIM_INLINE u32 min_16(u32 a, u32 b, u32 infinity) { return one_of(a, b, order16(a) < order16(b), infinity); }
SIM_INLINE u32 max_16(u32 a, u32 b, u32 infinity) { return one_of(a, b, order16(a) > order16(b), infinity); }
SIM_INLINE u32 or_nan(u32 a, u32 b, u32 r, u32 infinity)
{
    return selected(nan16(a, infinity) | nan16(b, infinity), 0x7fffu, r);
}
SIM_INLINE u32 relu_16(u32 a, u32 infinity) { return nan16(a, infinity) ? 0x7fffu : a & 0x8000u ? 0 : a; }
SIM_INLINE u32 sat_h(u32 a) { return nan16(a, INF_F16) || a & 0x8000u ? 0 : a > 0x3c00u ? 0x3c00u : a; }
SIM_INLINE u32 ftz_h(u32 a) { return a & 0x7c00u ? a : a & 0x8000u; }
SIM_INLINE u32 ex2_h(u32 a) { return to_h((float)exp2_f32((double)of_h(a))); }

SIM_INLINE u32 ex2_bf(u32 a)
{
    u32 r = to_bf((float)exp2_f32((double)of_bf(selected((a & 0x7f80u) != 0, a, 0))));
    return selected((r & 0x7f80u) != 0, r, 0);
}

/* What is done to a half, and to each half of a pair. */
#define ONE(OP, PARTS, id, names, names2, value)                                                                         \
    OP(id, names, "hh", u16, u16, u16, u16, value) PARTS(id##x2, names2, "ww", u16, u16, u16, u16, value)
#define TWO(OP, PARTS, id, names, names2, value)                                                                         \
    OP(id, names, "hhh", u16, u16, u16, u16, value) PARTS(id##x2, names2, "www", u16, u16, u16, u16, value)
#define FMA(OP, PARTS, id, names, names2, value)                                                                         \
    OP(id, names, "hhhh", u16, u16, u16, u16, value) PARTS(id##x2, names2, "wwww", u16, u16, u16, u16, value)
#define SUM(OP, PARTS, id, F, value)                                                                                     \
    TWO(OP, PARTS, id##_##F, #id ".rn." #F " " #id "." #F, #id ".rn." #F "x2 " #id "." #F "x2", value)

/* How two numbers stand to each other, one bit each; a comparison names those for which it holds. */
enum { LESS = 1, EQUAL = 2, GREATER = 4, UNORDERED = 8 };

SIM_INLINE u32 relation(u32 a, u32 b, u32 infinity)
{
    const i16 x = number16(a), y = number16(b);
    const u32 ordered = selected(x < y, LESS, selected(x == y, EQUAL, GREATER));
    return selected(nan16(a, infinity) | nan16(b, infinity), UNORDERED, ordered);
}

WBB_CLONES static void compare(u8 *to, const u16 *a, const u16 *b, u32 infinity, u32 wanted)
{
    SIM_EACH to[l] = (relation(a[l], b[l], infinity) & wanted) != 0;
}

/* Of pairs: their low halves, or with a and b one further their high ones. */
WBB_CLONES static void compare_halves(u8 *to, const u16 *a, const u16 *b, u32 infinity, u32 wanted)
{
    SIM_EACH to[l] = (relation(a[2 * l], b[2 * l], infinity) & wanted) != 0;
}

/* Of pairs, "setp" compares the low halves and "%high" the high ones. */
#define COMPARE_ROW(id, F, infinity, wanted)                                                                             \
    {"setp." #id "." #F, "phh", setp_##id##_##F},                                                                        \
    {"setp." #id "." #F "x2", "pww", low_##id##_##F},                                                                    \
    {"%high." #id "." #F "x2", "pww", high_##id##_##F},
#define COMPARE_OP1(id, function, high, infinity, wanted)                                                                \
    static void id(uint8_t *d, const uint8_t *regs, const SimOp *op)                                                     \
    {                                                                                                                    \
        const u16 *a = (const u16 *)(const void *)(regs + op->a), *b = (const u16 *)(const void *)(regs + op->b);        \
        function(d, a + (high), b + (high), infinity, wanted);                                                           \
    }
#define COMPARE_OP(id, F, infinity, wanted)                                                                              \
    COMPARE_OP1(setp_##id##_##F, compare, 0, infinity, wanted)                                                           \
    COMPARE_OP1(low_##id##_##F, compare_halves, 0, infinity, wanted)                                                     \
    COMPARE_OP1(high_##id##_##F, compare_halves, 1, infinity, wanted)
#define COMPARE2(COMPARE, id, F, infinity, wanted)                                                                       \
    COMPARE(id, F, infinity, wanted) COMPARE(id##u, F, infinity, (wanted) | UNORDERED)
#define COMPARES(COMPARE, F, infinity)                                                                                   \
    COMPARE2(COMPARE, eq, F, infinity, EQUAL) COMPARE2(COMPARE, ne, F, infinity, LESS | GREATER)                         \
    COMPARE2(COMPARE, lt, F, infinity, LESS) COMPARE2(COMPARE, le, F, infinity, LESS | EQUAL)                            \
    COMPARE2(COMPARE, gt, F, infinity, GREATER) COMPARE2(COMPARE, ge, F, infinity, GREATER | EQUAL)                      \
    COMPARE(num, F, infinity, LESS | EQUAL | GREATER) COMPARE(nan, F, infinity, UNORDERED)
#define ALL_COMPARES(COMPARE) COMPARES(COMPARE, f16, INF_F16) COMPARES(COMPARE, bf16, INF_BF16)
ALL_COMPARES(COMPARE_OP)

#define BOTH(OP, PARTS, F, infinity, of, to)                                                                             \
    SUM(OP, PARTS, add, F, to(of(a) + of(b)))                                                                            \
    SUM(OP, PARTS, sub, F, to(of(a) - of(b)))                                                                            \
    SUM(OP, PARTS, mul, F, to(of(a) * of(b)))                                                                            \
    TWO(OP, PARTS, max_##F, "max." #F, "max." #F "x2", max_16(a, b, infinity))                                           \
    TWO(OP, PARTS, min_##F, "min." #F, "min." #F "x2", min_16(a, b, infinity))                                           \
    TWO(OP, PARTS, maxn_##F, "max.NaN." #F, "max.NaN." #F "x2", or_nan(a, b, max_16(a, b, infinity), infinity))          \
    TWO(OP, PARTS, minn_##F, "min.NaN." #F, "min.NaN." #F "x2", or_nan(a, b, min_16(a, b, infinity), infinity))          \
    ONE(OP, PARTS, relu_##F, "%relu." #F, "%relu." #F "x2", relu_16(a, infinity))                                        \
    ONE(OP, PARTS, tanh_##F, "tanh.approx." #F, "tanh.approx." #F "x2", to((float)tanh_f32(raw_f32(of(a)))))

#define ROWS(OP, PARTS)                                                                                                  \
    BOTH(OP, PARTS, f16, INF_F16, of_h, to_h)                                                                            \
    BOTH(OP, PARTS, bf16, INF_BF16, of_bf, to_bf)                                                                        \
    FMA(OP, PARTS, fma_f16, "fma.rn.f16", "fma.rn.f16x2", fma_h(a, b, c))                                                \
    FMA(OP, PARTS, fma_bf16, "fma.rn.bf16", "fma.rn.bf16x2", fma_bf(a, b, c))                                            \
    ONE(OP, PARTS, sat_f16, "%sat.f16", "%sat.f16x2", sat_h(a))                                                          \
    ONE(OP, PARTS, ftz_f16, "%ftz.f16", "%ftz.f16x2", ftz_h(a))                                                          \
    ONE(OP, PARTS, ex2_f16, "ex2.approx.f16", "ex2.approx.f16x2", ex2_h(a))                                              \
    ONE(OP, PARTS, ex2_bf16, "ex2.approx.ftz.bf16", "ex2.approx.ftz.bf16x2", ex2_bf(a))                                  \
    ONE(OP, PARTS, neg_f16, "neg.f16 neg.bf16", "neg.f16x2 neg.bf16x2", a ^ 0x8000u)                                     \
    ONE(OP, PARTS, abs_f16, "abs.f16 abs.bf16", "abs.f16x2 abs.bf16x2", a & 0x7fffu)
ROWS(SIM_OP, SIM_PARTS)

const SimRow sim_rows_half[] = {ROWS(SIM_ROW, SIM_ROW) ALL_COMPARES(COMPARE_ROW){NULL, NULL, NULL}};

/* f32 to a whole number, as cvt does it: nan is 0, and what does not fit is the nearest that does. */
SIM_INLINE i32 to_s32(float f)
{
    bool high = f >= 0x1p31f, low = f < -0x1p31f;
    float inside = high || low || f != f ? 0.0f : f;
    i32 r = (i32)inside;
    return high ? INT32_MAX : low ? INT32_MIN : r;
}

SIM_INLINE u32 to_u32(float f)
{
    const bool high = f >= 0x1p32f, low = f < 0.0f;
    const float inside = high || low || f != f ? 0.0f : f;
    const u32 r = (u32)inside;
    return high ? UINT32_MAX : low ? 0 : r;
}

/* To a whole number in the four modes; nearbyint as the host rounds, which is to the nearest even. */
#define WHOLE_FLOAT(OP, mode, f32, f64)                                                                                  \
    OP(cvt_f32_##mode, "cvt." #mode "i.f32.f32", "ff", u32, u32, u32, u32, bits_f32(f32(as_f32(a))))                     \
    OP(cvt_f64_##mode, "cvt." #mode "i.f64.f64", "gg", u64, u64, u64, u64, selected64(nan64(a), a | UINT64_C(0x0008000000000000), raw_f64(f64(as_f64(a)))))\
    OP(cvt_s32_##mode, "cvt." #mode "i.s32.f32", "wf", i32, u32, u32, u32, to_s32(f32(as_f32(a))))                       \
    OP(cvt_u32_##mode, "cvt." #mode "i.u32.f32", "wf", u32, u32, u32, u32, to_u32(f32(as_f32(a))))

/* Whole numbers to wider ones and to narrower ones; a column of 16 bits holds 8, extended as their type says. */
#define WIDER(OP, to, from, types, T, F)                                                                                 \
    OP(cvt_u##to##_u##from, "cvt.u" #to ".u" #from " cvt.s" #to ".u" #from, types, T, u##F, u##F, u##F, (u##from)a)      \
    OP(cvt_s##to##_s##from, "cvt.s" #to ".s" #from " cvt.u" #to ".s" #from, types, T, u##F, u##F, u##F, (i64)(i##from)a)
#define NARROWER(OP, to, from, types, T, F)                                                                              \
    OP(cvt_u##to##_##from, "cvt.u" #to ".u" #from " cvt.u" #to ".s" #from, types, T, F, F, F, (u##to)a)                  \
    OP(cvt_s##to##_##from, "cvt.s" #to ".u" #from " cvt.s" #to ".s" #from, types, T, F, F, F, (i64)(i##to)a)
#define WHOLE(OP)                                                                                                        \
    WIDER(OP, 16, 8, "hh", u16, 16) WIDER(OP, 32, 8, "wh", u32, 16) WIDER(OP, 64, 8, "dh", u64, 16)                      \
    WIDER(OP, 32, 16, "wh", u32, 16) WIDER(OP, 64, 16, "dh", u64, 16) WIDER(OP, 64, 32, "dw", u64, 32)                   \
    NARROWER(OP, 8, 16, "hh", u16, u16) NARROWER(OP, 8, 32, "hw", u16, u32) NARROWER(OP, 8, 64, "hd", u16, u64)          \
    NARROWER(OP, 16, 32, "hw", u16, u32) NARROWER(OP, 16, 64, "hd", u16, u64) NARROWER(OP, 32, 64, "wd", u32, u64)

#define CVT(OP) WHOLE(OP)                                                                                                \
    OP(cvt_f32_bf16, "cvt.f32.bf16", "fh", u32, u16, u16, u16, (u32)a << 16)                                             \
    OP(cvt_f32_f16, "cvt.f32.f16", "fh", u32, u16, u16, u16, bits_f32(of_h(a)))                                          \
    OP(cvt_bf16_f32, "cvt.rn.bf16.f32", "hf", u16, u32, u32, u32, to_bf(as_f32(a)))                                      \
    OP(cvt_f16_f32, "cvt.rn.f16.f32", "hf", u16, u32, u32, u32, to_h(as_f32(a)))                                         \
    OP(cvt_bf16x2_f32, "cvt.rn.bf16x2.f32", "wff", u32, u32, u32, u32, PAIR(to_bf(as_f32(b)), to_bf(as_f32(a))))         \
    OP(cvt_f16x2_f32, "cvt.rn.f16x2.f32", "wff", u32, u32, u32, u32, PAIR(to_h(as_f32(b)), to_h(as_f32(a))))             \
    OP(cvt_f32_s32, "cvt.rn.f32.s32", "fw", u32, i32, i32, i32, raw_f32((float)a))                                       \
    OP(cvt_f32_u32, "cvt.rn.f32.u32", "fw", u32, u32, u32, u32, raw_f32((float)a))                                       \
    OP(cvt_f64_f32, "cvt.f64.f32", "gf", u64, u32, u32, u32, raw_f64((double)as_f32(a)))                                 \
    OP(cvt_f32_f64, "cvt.rn.f32.f64", "fg", u32, u64, u64, u64, bits_f32((float)as_f64(a)))                              \
    OP(cvt_f64_s32, "cvt.rn.f64.s32", "gw", u64, i32, i32, i32, raw_f64((double)a))                                      \
    OP(cvt_f64_u32, "cvt.rn.f64.u32", "gw", u64, u32, u32, u32, raw_f64((double)a))                                      \
    OP(cvt_f64_s64, "cvt.rn.f64.s64", "gd", u64, i64, i64, i64, raw_f64((double)a))                                      \
    OP(cvt_sat, "cvt.sat.f32.f32", "ff", u32, u32, u32, u32, as_f32(a) > 0.0f ? (as_f32(a) < 1.0f ? a : 0x3f800000u) : 0)\
    WHOLE_FLOAT(OP, rn, nearbyintf, nearbyint) WHOLE_FLOAT(OP, rz, truncf, trunc)                                        \
    WHOLE_FLOAT(OP, rm, floorf, floor) WHOLE_FLOAT(OP, rp, ceilf, ceil)
CVT(SIM_OP)

const SimRow sim_rows_cvt[] = {CVT(SIM_ROW){NULL, NULL, NULL}};
