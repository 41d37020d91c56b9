/* ops_half: the rows of the instruction table on f16, bf16 and their pairs, and the conversions that need speed.
 *
 * Needs: lanes.h. Leaves: sim_rows_half, sim_rows_cvt. Sums and products of two 16-bit values are taken in f32 and
 * rounded again: f32 has more than twice their bits plus two, so that gives the same as one rounding (Figueroa,
 * "When is double rounding innocuous?", 1995). fma goes through an odd-rounded double. Conversions that have no row
 * go to convert.c.
 *
 *     mul.rn.bf16x2 %r3, %r1, %r2   ->   each half: to_bf(of_bf(a) * of_bf(b))
 */
#include "sim/lanes.h"

#define SIGNS 0x80008000u

SIM_INLINE u32 min_h(u32 a, u32 b)
{
    u32 r = selected(of_h(a) < of_h(b), a, selected(of_h(a) > of_h(b), b, a | b));
    return selected(nan16(a), selected(nan16(b), 0x7fffu, b), selected(nan16(b), a, r));
}

SIM_INLINE u32 max_h(u32 a, u32 b)
{
    u32 r = selected(of_h(a) > of_h(b), a, selected(of_h(a) < of_h(b), b, a & b));
    return selected(nan16(a), selected(nan16(b), 0x7fffu, b), selected(nan16(b), a, r));
}

SIM_INLINE u32 min_bf(u32 a, u32 b)
{
    u32 r = selected(of_bf(a) < of_bf(b), a, selected(of_bf(a) > of_bf(b), b, a | b));
    return selected(nanbf(a), selected(nanbf(b), 0x7fffu, b), selected(nanbf(b), a, r));
}

SIM_INLINE u32 max_bf(u32 a, u32 b)
{
    u32 r = selected(of_bf(a) > of_bf(b), a, selected(of_bf(a) < of_bf(b), b, a & b));
    return selected(nanbf(a), selected(nanbf(b), 0x7fffu, b), selected(nanbf(b), a, r));
}

SIM_INLINE u32 maxn_h(u32 a, u32 b) { return selected(nan16(a) | nan16(b), 0x7fffu, max_h(a, b)); }
SIM_INLINE u32 minn_h(u32 a, u32 b) { return selected(nan16(a) | nan16(b), 0x7fffu, min_h(a, b)); }
SIM_INLINE u32 maxn_bf(u32 a, u32 b) { return selected(nanbf(a) | nanbf(b), 0x7fffu, max_bf(a, b)); }
SIM_INLINE u32 minn_bf(u32 a, u32 b) { return selected(nanbf(a) | nanbf(b), 0x7fffu, min_bf(a, b)); }
SIM_INLINE u32 add_h(u32 a, u32 b) { return to_h(of_h(a) + of_h(b)); }
SIM_INLINE u32 sub_h(u32 a, u32 b) { return to_h(of_h(a) - of_h(b)); }
SIM_INLINE u32 mul_h(u32 a, u32 b) { return to_h(of_h(a) * of_h(b)); }
SIM_INLINE u32 add_bf(u32 a, u32 b) { return to_bf(of_bf(a) + of_bf(b)); }
SIM_INLINE u32 sub_bf(u32 a, u32 b) { return to_bf(of_bf(a) - of_bf(b)); }
SIM_INLINE u32 mul_bf(u32 a, u32 b) { return to_bf(of_bf(a) * of_bf(b)); }
SIM_INLINE u32 relu_h(u32 a) { return nan16(a) ? 0x7fffu : a & 0x8000u ? 0 : a; }
SIM_INLINE u32 relu_bf(u32 a) { return nanbf(a) ? 0x7fffu : a & 0x8000u ? 0 : a; }
SIM_INLINE u32 sat_h(u32 a) { return nan16(a) || a & 0x8000u ? 0 : a > 0x3c00u ? 0x3c00u : a; }
SIM_INLINE u32 ftz_h(u32 a) { return a & 0x7c00u ? a : a & 0x8000u; }
SIM_INLINE u32 tanh_h(u32 a) { return to_h((float)tanh_f32(raw_f32(of_h(a)))); }
SIM_INLINE u32 tanh_bf(u32 a) { return to_bf((float)tanh_f32(raw_f32(of_bf(a)))); }
SIM_INLINE u32 ex2_h(u32 a) { return to_h((float)exp2_f32((double)of_h(a))); }

SIM_INLINE u32 ex2_bf(u32 a)
{
    u32 r = to_bf((float)exp2_f32((double)of_bf(selected((a & 0x7f80u) != 0, a, 0))));
    return selected((r & 0x7f80u) != 0, r, 0);
}

/* A function of two halves, one alone and as a pair. */
#define TWO(OP, id, names, names2, fn)                                                                                   \
    OP(id, names, "hhh", u16, u16, u16, u16, fn(a, b))                                                                   \
    OP(id##x2, names2, "www", u32, u32, u32, u32, PAIR(fn(LO(a), LO(b)), fn(HI(a), HI(b))))
#define ONE(OP, id, names, names2, fn)                                                                                   \
    OP(id, names, "hh", u16, u16, u16, u16, fn(a))                                                                       \
    OP(id##x2, names2, "ww", u32, u32, u32, u32, PAIR(fn(LO(a)), fn(HI(a))))
#define FMA(OP, id, names, names2, fn)                                                                                   \
    OP(id, names, "hhhh", u16, u16, u16, u16, fn(a, b, c))                                                               \
    OP(id##x2, names2, "wwww", u32, u32, u32, u32, PAIR(fn(LO(a), LO(b), LO(c)), fn(HI(a), HI(b), HI(c))))

/* Of pairs, "setp" compares the low halves and "%high" the high ones. */
#define COMPARE0(OP, id, F, test)                                                                                        \
    OP(setp_##id##_##F, "setp." #id "." #F, "phh", u8, u16, u16, u16, test(a, b))                                        \
    OP(setp_##id##_##F##x2, "setp." #id "." #F "x2", "pww", u8, u32, u32, u32, test(LO(a), LO(b)))                       \
    OP(high_##id##_##F##x2, "%high." #id "." #F "x2", "pww", u8, u32, u32, u32, test(HI(a), HI(b)))
#define COMPARE1(OP, id, F) COMPARE0(OP, id, F, id##_##F) COMPARE0(OP, id##u, F, id##u_##F)
#define COMPARES(OP, F)                                                                                                  \
    COMPARE1(OP, eq, F) COMPARE1(OP, ne, F) COMPARE1(OP, lt, F) COMPARE1(OP, le, F) COMPARE1(OP, gt, F)                  \
    COMPARE1(OP, ge, F) COMPARE0(OP, num, F, num_##F) COMPARE0(OP, nan, F, nan_##F)

#define TEST1(id, op, F, read, nan)                                                                                      \
    SIM_INLINE bool id##_##F(u32 a, u32 b) { return (read(a) op read(b)) & !nan(a) & !nan(b); }                       \
    SIM_INLINE bool id##u_##F(u32 a, u32 b) { return (read(a) op read(b)) | nan(a) | nan(b); }
#define TESTS(F, read, nan)                                                                                              \
    TEST1(eq, ==, F, read, nan) TEST1(ne, !=, F, read, nan) TEST1(lt, <, F, read, nan) TEST1(le, <=, F, read, nan)       \
    TEST1(gt, >, F, read, nan) TEST1(ge, >=, F, read, nan)                                                               \
    SIM_INLINE bool num_##F(u32 a, u32 b) { return !nan(a) & !nan(b); }                                               \
    SIM_INLINE bool nan_##F(u32 a, u32 b) { return nan(a) | nan(b); }
TESTS(f16, of_h, nan16)
TESTS(bf16, of_bf, nanbf)

#define HALF(OP)                                                                                                         \
    TWO(OP, add_f16, "add.rn.f16 add.f16", "add.rn.f16x2 add.f16x2", add_h)                                              \
    TWO(OP, sub_f16, "sub.rn.f16 sub.f16", "sub.rn.f16x2 sub.f16x2", sub_h)                                              \
    TWO(OP, mul_f16, "mul.rn.f16 mul.f16", "mul.rn.f16x2 mul.f16x2", mul_h)                                              \
    TWO(OP, max_f16, "max.f16", "max.f16x2", max_h)                                                                      \
    TWO(OP, min_f16, "min.f16", "min.f16x2", min_h)                                                                      \
    TWO(OP, maxn_f16, "max.NaN.f16", "max.NaN.f16x2", maxn_h)                                                            \
    TWO(OP, minn_f16, "min.NaN.f16", "min.NaN.f16x2", minn_h)                                                            \
    FMA(OP, fma_f16, "fma.rn.f16", "fma.rn.f16x2", fma_h)                                                                \
    ONE(OP, relu_f16, "%relu.f16", "%relu.f16x2", relu_h)                                                                \
    ONE(OP, sat_f16, "%sat.f16", "%sat.f16x2", sat_h)                                                                    \
    ONE(OP, ftz_f16, "%ftz.f16", "%ftz.f16x2", ftz_h)                                                                    \
    ONE(OP, tanh_f16, "tanh.approx.f16", "tanh.approx.f16x2", tanh_h)                                                    \
    ONE(OP, ex2_f16, "ex2.approx.f16", "ex2.approx.f16x2", ex2_h)                                                        \
    OP(neg_f16, "neg.f16 neg.bf16", "hh", u16, u16, u16, u16, a ^ 0x8000u)                                               \
    OP(neg_f16x2, "neg.f16x2 neg.bf16x2", "ww", u32, u32, u32, u32, a ^ SIGNS)                                           \
    OP(abs_f16, "abs.f16 abs.bf16", "hh", u16, u16, u16, u16, a & 0x7fffu)                                               \
    OP(abs_f16x2, "abs.f16x2 abs.bf16x2", "ww", u32, u32, u32, u32, a & ~SIGNS)                                          \
    COMPARES(OP, f16)

#define BFLOAT(OP)                                                                                                       \
    TWO(OP, add_bf16, "add.rn.bf16 add.bf16", "add.rn.bf16x2 add.bf16x2", add_bf)                                        \
    TWO(OP, sub_bf16, "sub.rn.bf16 sub.bf16", "sub.rn.bf16x2 sub.bf16x2", sub_bf)                                        \
    TWO(OP, mul_bf16, "mul.rn.bf16 mul.bf16", "mul.rn.bf16x2 mul.bf16x2", mul_bf)                                        \
    TWO(OP, max_bf16, "max.bf16", "max.bf16x2", max_bf)                                                                  \
    TWO(OP, min_bf16, "min.bf16", "min.bf16x2", min_bf)                                                                  \
    TWO(OP, maxn_bf16, "max.NaN.bf16", "max.NaN.bf16x2", maxn_bf)                                                        \
    TWO(OP, minn_bf16, "min.NaN.bf16", "min.NaN.bf16x2", minn_bf)                                                        \
    FMA(OP, fma_bf16, "fma.rn.bf16", "fma.rn.bf16x2", fma_bf)                                                            \
    ONE(OP, relu_bf16, "%relu.bf16", "%relu.bf16x2", relu_bf)                                                            \
    ONE(OP, tanh_bf16, "tanh.approx.bf16", "tanh.approx.bf16x2", tanh_bf)                                                \
    ONE(OP, ex2_bf16, "ex2.approx.ftz.bf16", "ex2.approx.ftz.bf16x2", ex2_bf)                                            \
    COMPARES(OP, bf16)

#define ROWS(OP) HALF(OP) BFLOAT(OP)
ROWS(SIM_OP)

const SimRow sim_rows_half[] = {ROWS(SIM_ROW){NULL, NULL, NULL}};

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
    OP(cvt_f64_##mode, "cvt." #mode "i.f64.f64", "gg", u64, u64, u64, u64, selected64(nan64(a), a | UINT64_C(0x0008000000000000), raw_f64(f64(as_f64(a))))) \
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
    NARROWER(OP, 8, 16, "hh", u16, u16) NARROWER(OP, 8, 32, "hw", u16, u32) NARROWER(OP, 8, 64, "hd", u16, u64)    \
    NARROWER(OP, 16, 32, "hw", u16, u32) NARROWER(OP, 16, 64, "hd", u16, u64) NARROWER(OP, 32, 64, "wd", u32, u64)

#define CVT(OP) WHOLE(OP)                                                                                                          \
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
    OP(cvt_sat, "cvt.sat.f32.f32", "ff", u32, u32, u32, u32, as_f32(a) > 0.0f ? (as_f32(a) < 1.0f ? a : 0x3f800000u) : 0) \
    WHOLE_FLOAT(OP, rn, nearbyintf, nearbyint) WHOLE_FLOAT(OP, rz, truncf, trunc)                                        \
    WHOLE_FLOAT(OP, rm, floorf, floor) WHOLE_FLOAT(OP, rp, ceilf, ceil)
CVT(SIM_OP)

const SimRow sim_rows_cvt[] = {CVT(SIM_ROW){NULL, NULL, NULL}};
