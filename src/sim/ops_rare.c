/* ops_rare: the rows of instructions that few programs have, each as its table or formula in the manual.
 *
 * Needs: lanes.h; soft.c for rounding modes. Leaves: sim_rows_rare. Here are the modes of prmt,
 * sums of absolute differences, fields and masks, dot products of halves, pairs of f32 (sm_100), .xorsign.abs, f64
 * divisions and roots in the three directed modes, and the clamps of integers.
 *
 *     prmt.b32.rc16 %r3, %r1, %r2, %r4   ->   bytes 1,0,1,0 of %r1 where the lowest bit of %r4 is 0, else bytes 3,2,3,2
 */
/* What is rare does not pay for a version for each kind of host. */
#define SIM_CLONES
#include "sim/lanes.h"

SIM_INLINE i64 low24s(u32 a) { return (i32)(a << 8) >> 8; }
SIM_INLINE i32 clamped(i64 v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (i32)v; }
SIM_INLINE u32 top(u32 a) { return a ? 31 - (u32)__builtin_clz(a) : UINT32_MAX; }
SIM_INLINE u32 top64(u64 a) { return a ? 63 - (u32)__builtin_clzll(a) : UINT32_MAX; }

/* How far to the left the highest bit that is not the sign must move; all ones if there is none (PTX ISA 9.7.1.18). */
SIM_INLINE u32 shift_amount(u32 a) { return a ? 31 - top(a) : UINT32_MAX; }
SIM_INLINE u32 shift_amount64(u64 a) { return a ? 63 - top64(a) : UINT32_MAX; }

/* The n-th bit set from `base` on, upward or downward (PTX ISA 9.7.1.19). */
SIM_INLINE u32 nth_set(u32 mask, u32 base, i32 offset)
{
    if (base > 31) return UINT32_MAX;
    if (!offset) return mask >> base & 1 ? base : UINT32_MAX;
    i64 left = (offset < 0 ? -(i64)offset : offset) - 1;
    for (i32 at = (i32)base; at >= 0 && at < 32; at += offset > 0 ? 1 : -1)
        if (mask >> at & 1 && left-- == 0) return (u32)at;
    return UINT32_MAX;
}

SIM_INLINE u32 field_mask(u32 a, u32 b)
{
    const u32 at = a & 31, n = b & 31;
    return (u32)(((UINT64_C(1) << n) - 1) << at);
}

SIM_INLINE u32 dot2(u32 a, u32 b, u32 c, bool sa, bool sb)
{
    for (int i = 0; i < 2; i++) {
        const u32 x = a >> (16 * i) & 0xffff, y = b >> (8 * i) & 255;
        c += (u32)((sa ? (i64)(i16)x : (i64)x) * (sb ? (i64)(i8)y : (i64)y));
    }
    return c;
}

/* prmt with a mode: four selectors, lowest byte first, by the two lowest bits of c (PTX ISA 9.7.9.7, table). */
SIM_INLINE u32 chosen(u32 a, u32 b, u32 selectors)
{
    const u64 ab = a | (u64)b << 32;
    u32 r = 0;
    for (int i = 0; i < 4; i++) r |= (u32)(ab >> (8 * (selectors >> (4 * i) & 7)) & 255) << (8 * i);
    return r;
}

SIM_INLINE u32 by_mode(u32 a, u32 b, u32 c, u64 table) { return chosen(a, b, (u32)(table >> (16 * (c & 3)) & 0xffff)); }
#define F4E UINT64_C(0x6543543243213210)
#define B4E UINT64_C(0x0123701267015670)
#define RC8 UINT64_C(0x3333222211110000)
#define ECL UINT64_C(0x3333322232113210)
#define ECR UINT64_C(0x3210221011100000)
#define RC16 UINT64_C(0x3232101032321010)

SIM_INLINE u32 sum(u32 a, u32 b) { return bits_f32(as_f32(a) + as_f32(b)); }
SIM_INLINE u32 difference(u32 a, u32 b) { return bits_f32(as_f32(a) - as_f32(b)); }
SIM_INLINE u32 product(u32 a, u32 b) { return bits_f32(as_f32(a) * as_f32(b)); }
SIM_INLINE u32 fused(u32 a, u32 b, u32 c) { return bits_f32(fma_f32(a, b, c)); }
#define DIRECTED(mode, MODE)                                                                                             \
    SIM_INLINE u32 sum_##mode(u32 a, u32 b) { return fma_directed(a, 0x3f800000u, b, MODE); }                            \
    SIM_INLINE u32 difference_##mode(u32 a, u32 b)                                                                       \
    {                                                                                                                    \
        return fma_directed(a, 0x3f800000u, nan32(b) ? b : b ^ 0x80000000u, MODE);                                       \
    }                                                                                                                    \
    SIM_INLINE u32 product_##mode(u32 a, u32 b) { return mul_directed(a, b, MODE); }                                     \
    SIM_INLINE u32 fused_##mode(u32 a, u32 b, u32 c) { return fma_directed(a, b, c, MODE); }
DIRECTED(rz, RZ)
DIRECTED(rm, RM)
DIRECTED(rp, RP)

/* The smaller or larger magnitude under the exclusive or of the signs. */
SIM_INLINE u32 xorsign32(u32 a, u32 b, bool larger, bool nan)
{
    const u32 x = a & 0x7fffffffu, y = b & 0x7fffffffu;
    if (nan32(a) && nan32(b)) return 0x7fffffffu;
    if ((nan32(a) || nan32(b)) && nan) return 0x7fffffffu;
    const u32 r = nan32(a) ? y : nan32(b) ? x : (x < y) == larger ? y : x;
    return r | ((a ^ b) & 0x80000000u);
}

SIM_INLINE u32 xorsign16(u32 a, u32 b, u32 infinity, bool larger, bool nan)
{
    const u32 x = a & 0x7fffu, y = b & 0x7fffu;
    const bool nx = x > infinity, ny = y > infinity;
    if ((nx && ny) || ((nx || ny) && nan)) return 0x7fffu;
    const u32 r = nx ? y : ny ? x : (x < y) == larger ? y : x;
    return r | ((a ^ b) & 0x8000u);
}

/* A value held between the ends of a type of `bits`, as cvt.pack does. */
SIM_INLINE u32 packed(i32 a, int bits, bool is_signed)
{
    const i64 least = is_signed ? -(INT64_C(1) << (bits - 1)) : 0, most = (INT64_C(1) << (bits - is_signed)) - 1;
    return (u32)WBB_MAX(least, WBB_MIN(most, (i64)a)) & (u32)((UINT64_C(1) << bits) - 1);
}
#define PACK(OP, type, bits, is_signed)                                                                                  \
    OP(pack_##type, "cvt.pack.sat." #type ".s32.b32", "wwww", u32, i32, i32, u32,                                        \
       packed(b, bits, is_signed) | packed(a, bits, is_signed) << bits | (u32)((u64)c << (2 * bits)))

#define DOT2(OP, id, types, sa, sb)                                                                                      \
    OP(dp2a_lo_##id, "dp2a.lo." types, "wwww", u32, u32, u32, u32, dot2(a, b, c, sa, sb))                                \
    OP(dp2a_hi_##id, "dp2a.hi." types, "wwww", u32, u32, u32, u32, dot2(a, b >> 16, c, sa, sb))

#define XORSIGN_16(OP, PARTS, id, name, F, infinity, larger, nan)                                                        \
    OP(id##_##F, name "." #F, "hhh", u16, u16, u16, u16, xorsign16(a, b, infinity, larger, nan))                         \
    PARTS(id##_##F##x2, name "." #F "x2", "www", u16, u16, u16, u16, xorsign16(a, b, infinity, larger, nan))
#define XORSIGN(OP, PARTS, id, name, larger, nan)                                                                        \
    OP(id##_f32, name ".f32", "fff", u32, u32, u32, u32, xorsign32(a, b, larger, nan))                                   \
    XORSIGN_16(OP, PARTS, id, name, f16, INF_F16, larger, nan)                                                           \
    XORSIGN_16(OP, PARTS, id, name, bf16, INF_BF16, larger, nan)

#define MODES(OP, PARTS, mode, MODE)                                                                                     \
    OP(div64_##mode, "div." #mode ".f64", "ggg", u64, u64, u64, u64, sim_div64(a, b, MODE))                              \
    OP(rcp64_##mode, "rcp." #mode ".f64", "gg", u64, u64, u64, u64, sim_div64(UINT64_C(0x3ff0000000000000), a, MODE))    \
    OP(sqrt64_##mode, "sqrt." #mode ".f64", "gg", u64, u64, u64, u64, sim_sqrt64(a, MODE))                               \
    PARTS(add_two_##mode, "add." #mode ".f32x2", "ddd", u32, u32, u32, u32, sum_##mode(a, b))                            \
    PARTS(sub_two_##mode, "sub." #mode ".f32x2", "ddd", u32, u32, u32, u32, difference_##mode(a, b))                     \
    PARTS(mul_two_##mode, "mul." #mode ".f32x2", "ddd", u32, u32, u32, u32, product_##mode(a, b))                        \
    PARTS(fma_two_##mode, "fma." #mode ".f32x2", "dddd", u32, u32, u32, u32, fused_##mode(a, b, c))

#define INTEGERS(OP, PARTS)                                                                                              \
    OP(mad24_sat, "mad24.hi.sat.s32", "wwww", u32, u32, u32, i32, clamped(((low24s(a) * low24s(b)) >> 16) + c))          \
    OP(mad_sat, "mad.hi.sat.s32", "wwww", u32, i32, i32, i32, clamped(((i64)a * b >> 32) + c))                           \
    OP(mad_hi_s16, "mad.hi.s16", "hhhh", u16, i16, i16, u16, ((i32)a * b >> 16) + c)                                     \
    OP(mad_hi_u16, "mad.hi.u16", "hhhh", u16, u16, u16, u16, ((u32)a * b >> 16) + c)                                     \
    OP(sad_s16, "sad.s16", "hhhh", u16, i16, i16, u16, c + (a < b ? b - a : a - b))                                      \
    OP(sad_u16, "sad.u16", "hhhh", u16, u16, u16, u16, c + (a < b ? b - a : a - b))                                      \
    OP(sad_s64, "sad.s64", "dddd", u64, i64, i64, u64, c + (a < b ? (u64)b - (u64)a : (u64)a - (u64)b))                  \
    OP(sad_u64, "sad.u64", "dddd", u64, u64, u64, u64, c + (a < b ? b - a : a - b))                                      \
    OP(relu_s32, "%relu.s32", "ww", u32, i32, i32, i32, a > 0 ? a : 0)                                                   \
    PARTS(relu_s16x2, "%relu.s16x2", "ww", i16, i16, i16, i16, a > 0 ? a : 0)                                            \
    OP(amount_u32, "bfind.shiftamt.u32", "ww", u32, u32, u32, u32, shift_amount(a))                                      \
    OP(amount_s32, "bfind.shiftamt.s32", "ww", u32, u32, u32, u32, shift_amount(a >> 31 ? ~a : a))                       \
    OP(amount_u64, "bfind.shiftamt.u64", "wd", u32, u64, u64, u64, shift_amount64(a))                                    \
    OP(amount_s64, "bfind.shiftamt.s64", "wd", u32, u64, u64, u64, shift_amount64(a >> 63 ? ~a : a))                     \
    OP(fns, "fns.b32", "wwww", u32, u32, u32, i32, nth_set(a, b, c))                                                     \
    OP(bmsk_wrap, "bmsk.wrap.b32", "www", u32, u32, u32, u32, field_mask(a, b))                                          \
    OP(prmt_f4e, "prmt.b32.f4e", "wwww", u32, u32, u32, u32, by_mode(a, b, c, F4E))                                      \
    OP(prmt_b4e, "prmt.b32.b4e", "wwww", u32, u32, u32, u32, by_mode(a, b, c, B4E))                                      \
    OP(prmt_rc8, "prmt.b32.rc8", "wwww", u32, u32, u32, u32, by_mode(a, b, c, RC8))                                      \
    OP(prmt_ecl, "prmt.b32.ecl", "wwww", u32, u32, u32, u32, by_mode(a, b, c, ECL))                                      \
    OP(prmt_ecr, "prmt.b32.ecr", "wwww", u32, u32, u32, u32, by_mode(a, b, c, ECR))                                      \
    OP(prmt_rc16, "prmt.b32.rc16", "wwww", u32, u32, u32, u32, by_mode(a, b, c, RC16))                                   \
    DOT2(OP, ss, "s32.s32", true, true) DOT2(OP, su, "s32.u32", true, false)                                             \
    DOT2(OP, us, "u32.s32", false, true) DOT2(OP, uu, "u32.u32", false, false)                                           \
    OP(pack_u16, "cvt.pack.sat.u16.s32", "www", u32, i32, i32, i32, packed(b, 16, false) | packed(a, 16, false) << 16)   \
    OP(pack_s16, "cvt.pack.sat.s16.s32", "www", u32, i32, i32, i32, packed(b, 16, true) | packed(a, 16, true) << 16)     \
    PACK(OP, u8, 8, false) PACK(OP, s8, 8, true) PACK(OP, u4, 4, false) PACK(OP, s4, 4, true)                            \
    PACK(OP, u2, 2, false) PACK(OP, s2, 2, true)                                                                         \
    OP(slct_16, "slct.b16.s32 slct.u16.s32 slct.s16.s32", "hhhw", u16, u16, u16, i32, c >= 0 ? a : b)                    \
    OP(slct_f32s, "slct.f32.s32", "fffw", u32, u32, u32, i32, c >= 0 ? a : b)                                            \
    OP(slct_f64s, "slct.f64.s32", "gggw", u64, u64, u64, i32, c >= 0 ? a : b)                                            \
    OP(slct_16f, "slct.b16.f32 slct.u16.f32 slct.s16.f32", "hhhf", u16, u16, u16, u32, as_f32(c) >= 0.0f ? a : b)        \
    OP(slct_32f, "slct.u32.f32 slct.s32.f32", "wwwf", u32, u32, u32, u32, as_f32(c) >= 0.0f ? a : b)                     \
    OP(slct_64f, "slct.b64.f32 slct.u64.f32 slct.s64.f32", "dddf", u64, u64, u64, u32, as_f32(c) >= 0.0f ? a : b)        \
    OP(slct_f64f, "slct.f64.f32", "gggf", u64, u64, u64, u32, as_f32(c) >= 0.0f ? a : b)                                 \
    OP(and_not0, "%nonzero.b32", "pw", u8, u32, u32, u32, a != 0)                                                        \
    OP(space_shared, "isspacep.shared isspacep.shared::cta", "pd", u8, u64, u64, u64, a >> RANK_SHIFT == (u64)SEG_SHARED << (SEG_SHIFT - RANK_SHIFT)) \
    OP(space_cluster, "isspacep.shared::cluster", "pd", u8, u64, u64, u64, a >> SEG_SHIFT == SEG_SHARED)                 \
    OP(space_local, "isspacep.local", "pd", u8, u64, u64, u64, a >> SEG_SHIFT == SEG_LOCAL)                              \
    OP(space_global, "isspacep.global", "pd", u8, u64, u64, u64, a >> SEG_SHIFT < SEG_SHARED)                            \
    OP(mapa_32, "%mapa.u32", "www", u32, u32, u32, u32, (a & ((1u << RANK_SHIFT) - 1)) | (b + 1) << RANK_SHIFT)          \
    OP(mapa_64, "%mapa.u64", "ddw", u64, u64, u32, u32, (a & ~(UINT64_C(255) << RANK_SHIFT)) | (u64)((b + 1) & 255) << RANK_SHIFT) \
    OP(rank_32, "%rank.u32", "www", u32, u32, u32, u32, a >> RANK_SHIFT ? (a >> RANK_SHIFT) - 1 : b)                     \
    OP(rank_64, "%rank.u64", "wdw", u32, u64, u32, u32, (a >> RANK_SHIFT & 255) ? (a >> RANK_SHIFT & 255) - 1 : b)

#define FLOATS(OP, PARTS)                                                                                                \
    PARTS(add_two, "add.f32x2 add.rn.f32x2", "ddd", u32, u32, u32, u32, sum(a, b))                                       \
    PARTS(sub_two, "sub.f32x2 sub.rn.f32x2", "ddd", u32, u32, u32, u32, difference(a, b))                                \
    PARTS(mul_two, "mul.f32x2 mul.rn.f32x2", "ddd", u32, u32, u32, u32, product(a, b))                                   \
    PARTS(fma_two, "fma.rn.f32x2", "dddd", u32, u32, u32, u32, fused(a, b, c))                                           \
    PARTS(ftz_two, "%ftz.f32x2", "dd", u32, u32, u32, u32, flush32(a))                                                   \
    XORSIGN(OP, PARTS, min_x, "min.xorsign.abs", false, false) XORSIGN(OP, PARTS, max_x, "max.xorsign.abs", true, false) \
    XORSIGN(OP, PARTS, min_nx, "min.NaN.xorsign.abs", false, true) XORSIGN(OP, PARTS, max_nx, "max.NaN.xorsign.abs", true, true) \
    MODES(OP, PARTS, rz, RZ) MODES(OP, PARTS, rm, RM) MODES(OP, PARTS, rp, RP)

#define ROWS(OP, PARTS) INTEGERS(OP, PARTS) FLOATS(OP, PARTS)
ROWS(SIM_OP, SIM_PARTS)

const SimRow sim_rows_rare[] = {ROWS(SIM_ROW, SIM_ROW){NULL, NULL, NULL}};
