/* ops_int: the rows of the instruction table on integers, bits and predicates.
 *
 * Needs: lanes.h. Leaves: sim_rows_int. What the manual leaves open is settled as the hardware does it: a division
 * by zero gives all ones, a remainder by zero its first operand; shifts past the width give 0 or the sign.
 *
 *     OP(add_32, "add.s32 add.u32", "www", u32, u32, u32, u32, a + b)
 *         -> add.s32 %r3, %r1, %r2; runs op_add_32 over the lanes of three 32-bit columns
 */
#include "sim/lanes.h"

SIM_INLINE u32 reverse(u32 v)
{
    v = (v >> 1 & 0x55555555u) | (v & 0x55555555u) << 1;
    v = (v >> 2 & 0x33333333u) | (v & 0x33333333u) << 2;
    v = (v >> 4 & 0x0f0f0f0fu) | (v & 0x0f0f0f0fu) << 4;
    v = (v >> 8 & 0x00ff00ffu) | (v & 0x00ff00ffu) << 8;
    return v >> 16 | v << 16;
}

SIM_INLINE u64 reverse64(u64 v) { return (u64)reverse((u32)v) << 32 | reverse((u32)(v >> 32)); }
SIM_INLINE u32 leading(u32 v) { return v ? (u32)__builtin_clz(v) : 32; }
SIM_INLINE u32 leading64(u64 v) { return v ? (u32)__builtin_clzll(v) : 64; }

SIM_INLINE u32 count(u32 v)
{
    v -= v >> 1 & 0x55555555u;
    v = (v & 0x33333333u) + (v >> 2 & 0x33333333u);
    return (((v + (v >> 4)) & 0x0f0f0f0fu) * 0x01010101u) >> 24;
}

/* The lowest n bits, n up to 64. */
SIM_INLINE u64 low_bits(u32 n) { return n > 63 ? UINT64_MAX : (UINT64_C(1) << n) - 1; }

/* Bit field extract, PTX ISA 9.7.1.21: the sign is the field's highest bit, at most the operand's. */
SIM_INLINE u64 extract(u64 a, u32 position, u32 length, u32 width, bool is_signed)
{
    position &= 255, length &= 255;
    u32 last = WBB_MIN(position + length - 1, width - 1);
    u64 sign = is_signed && length ? UINT64_C(0) - (a >> last & 1) : 0;
    u64 field = position < width ? (a & low_bits(width)) >> position : 0;
    u32 there = position < width ? WBB_MIN(length, width - position) : 0; /* bits of the field that the operand has */
    return (field & low_bits(there)) | (sign & ~low_bits(there));
}

SIM_INLINE u64 insert(u64 a, u64 b, u32 position, u32 length, u32 width)
{
    position &= 255, length &= 255;
    u64 field = position < width ? low_bits(WBB_MIN(length, width - position)) << position : 0;
    return (b & ~field) | (position < width ? a << position & field : 0);
}

/* One result byte of prmt: a selector's bit 3 replicates the sign of the byte it picks. */
SIM_INLINE u32 permuted(u64 ab, u32 selector)
{
    u32 byte = (u32)(ab >> (8 * (selector & 7))) & 255;
    return selector & 8 ? (byte & 128 ? 255 : 0) : byte;
}

SIM_INLINE u32 permute(u32 a, u32 b, u32 c)
{
    u64 ab = a | (u64)b << 32;
    return permuted(ab, c) | permuted(ab, c >> 4) << 8 | permuted(ab, c >> 8) << 16 | permuted(ab, c >> 12) << 24;
}

/* Bits of the result by minterm of the table. */
SIM_INLINE u32 lop3(u32 a, u32 b, u32 c, u32 table)
{
    u32 r = 0;
    for (u32 i = 0; i < 8; i++) {
        u32 term = (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
        r |= table >> i & 1 ? term : 0;
    }
    return r;
}

SIM_INLINE i32 clamp64(i64 v) { return v > INT32_MAX ? INT32_MAX : v < INT32_MIN ? INT32_MIN : (i32)v; }

SIM_INLINE u32 dot4(u32 a, u32 b, u32 c, bool sa, bool sb)
{
    for (int i = 0; i < 4; i++) {
        u32 x = a >> (8 * i) & 255, y = b >> (8 * i) & 255;
        i32 p = (sa ? (i8)x : (i32)x) * (sb ? (i8)y : (i32)y);
        c += (u32)p;
    }
    return c;
}

/* One operation over 16, 32 and 64 bits. */
#define SAME(OP, id, name, expr)                                                                                         \
    OP(id##_16, name ".s16 " name ".u16 " name ".b16", "hhh", u16, u16, u16, u16, expr)                                  \
    OP(id##_32, name ".s32 " name ".u32 " name ".b32", "www", u32, u32, u32, u32, expr)                                  \
    OP(id##_64, name ".s64 " name ".u64 " name ".b64", "ddd", u64, u64, u64, u64, expr)
#define SAME1(OP, id, name, expr)                                                                                        \
    OP(id##_16, name ".s16 " name ".u16 " name ".b16", "hh", u16, u16, u16, u16, expr)                                   \
    OP(id##_32, name ".s32 " name ".u32 " name ".b32", "ww", u32, u32, u32, u32, expr)                                   \
    OP(id##_64, name ".s64 " name ".u64 " name ".b64", "dd", u64, u64, u64, u64, expr)
#define BOTH(OP, id, name, expr)                                                                                         \
    OP(id##_s16, name ".s16", "hhh", i16, i16, i16, i16, expr) OP(id##_u16, name ".u16", "hhh", u16, u16, u16, u16, expr) \
    OP(id##_s32, name ".s32", "www", i32, i32, i32, i32, expr) OP(id##_u32, name ".u32", "www", u32, u32, u32, u32, expr) \
    OP(id##_s64, name ".s64", "ddd", i64, i64, i64, i64, expr)                                                            \
    OP(id##_u64, name ".u64", "ddd", u64, u64, u64, u64, expr)
#define COMPARE(OP, id, expr)                                                                                            \
    OP(setp_##id##_s16, "setp." #id ".s16", "phh", u8, i16, i16, i16, expr)                                              \
    OP(setp_##id##_s32, "setp." #id ".s32", "pww", u8, i32, i32, i32, expr)                                              \
    OP(setp_##id##_s64, "setp." #id ".s64", "pdd", u8, i64, i64, i64, expr)                                              \
    OP(setp_##id##_u16, "setp." #id ".u16 setp." #id ".b16", "phh", u8, u16, u16, u16, expr)                             \
    OP(setp_##id##_u32, "setp." #id ".u32 setp." #id ".b32", "pww", u8, u32, u32, u32, expr)                             \
    OP(setp_##id##_u64, "setp." #id ".u64 setp." #id ".b64", "pdd", u8, u64, u64, u64, expr)
#define UNSIGNED(OP, id, name, expr)                                                                                     \
    OP(setp_##id##_u16, "setp." name ".u16", "phh", u8, u16, u16, u16, expr)                                             \
    OP(setp_##id##_u32, "setp." name ".u32", "pww", u8, u32, u32, u32, expr)                                             \
    OP(setp_##id##_u64, "setp." name ".u64", "pdd", u8, u64, u64, u64, expr)

#define ARITHMETIC(OP)                                                                                                   \
    SAME(OP, add, "add", a + b)                                                                                          \
    SAME(OP, sub, "sub", a - b)                                                                                          \
    SAME(OP, mul, "mul.lo", 1u * a * b)                                                                                  \
    OP(mad_16, "mad.lo.s16 mad.lo.u16", "hhhh", u16, u16, u16, u16, 1u * a * b + c)                                      \
    OP(mad_32, "mad.lo.s32 mad.lo.u32", "wwww", u32, u32, u32, u32, a * b + c)                                           \
    OP(mad_64, "mad.lo.s64 mad.lo.u64", "dddd", u64, u64, u64, u64, a * b + c)                                           \
    OP(mul_hi_s16, "mul.hi.s16", "hhh", i16, i16, i16, i16, (i32)a * b >> 16)                                            \
    OP(mul_hi_u16, "mul.hi.u16", "hhh", u16, u16, u16, u16, (u32)a * b >> 16)                                            \
    OP(mul_hi_s32, "mul.hi.s32", "www", i32, i32, i32, i32, (i64)a * b >> 32)                                            \
    OP(mul_hi_u32, "mul.hi.u32", "www", u32, u32, u32, u32, (u64)a * b >> 32)                                            \
    OP(mul_hi_s64, "mul.hi.s64", "ddd", i64, i64, i64, i64, (WbbI128)a * b >> 64)                                        \
    OP(mul_hi_u64, "mul.hi.u64", "ddd", u64, u64, u64, u64, (WbbU128)a * b >> 64)                                        \
    OP(mad_hi_s32, "mad.hi.s32", "wwww", u32, i32, i32, u32, (u32)((i64)a * b >> 32) + c)                                \
    OP(mad_hi_u32, "mad.hi.u32", "wwww", u32, u32, u32, u32, (u32)((u64)a * b >> 32) + c)                                \
    OP(mad_hi_s64, "mad.hi.s64", "dddd", u64, i64, i64, u64, (u64)((WbbI128)a * b >> 64) + c)                            \
    OP(mad_hi_u64, "mad.hi.u64", "dddd", u64, u64, u64, u64, (u64)((WbbU128)a * b >> 64) + c)                            \
    OP(mul_wide_s16, "mul.wide.s16", "whh", i32, i16, i16, i16, (i32)a * b)                                              \
    OP(mul_wide_u16, "mul.wide.u16", "whh", u32, u16, u16, u16, (u32)a * b)                                              \
    OP(mul_wide_s32, "mul.wide.s32", "dww", i64, i32, i32, i32, (i64)a * b)                                              \
    OP(mul_wide_u32, "mul.wide.u32", "dww", u64, u32, u32, u32, (u64)a * b)                                              \
    OP(mad_wide_s16, "mad.wide.s16", "whhw", u32, i16, i16, u32, (u32)((i32)a * b) + c)                                  \
    OP(mad_wide_u16, "mad.wide.u16", "whhw", u32, u16, u16, u32, (u32)a * b + c)                                         \
    OP(mad_wide_s32, "mad.wide.s32", "dwwd", u64, i32, i32, u64, (u64)((i64)a * b) + c)                                  \
    OP(mad_wide_u32, "mad.wide.u32", "dwwd", u64, u32, u32, u64, (u64)a * b + c)                                         \
    OP(div_s16, "div.s16", "hhh", i16, i16, i16, i16, b == 0 ? -1 : a / b)                                               \
    OP(div_u16, "div.u16", "hhh", u16, u16, u16, u16, b == 0 ? 0xffff : a / b)                                           \
    OP(div_s32, "div.s32", "www", i32, i32, i32, i32, b == 0 ? -1 : (i64)a / b)                                          \
    OP(div_u32, "div.u32", "www", u32, u32, u32, u32, b == 0 ? UINT32_MAX : a / b)                                       \
    OP(div_s64, "div.s64", "ddd", u64, i64, i64, i64, b == 0 ? UINT64_MAX : b == -1 ? 0 - (u64)a : (u64)(a / b))         \
    OP(div_u64, "div.u64", "ddd", u64, u64, u64, u64, b == 0 ? UINT64_MAX : a / b)                                       \
    OP(rem_s16, "rem.s16", "hhh", i16, i16, i16, i16, b == 0 ? a : a % b)                                                \
    OP(rem_u16, "rem.u16", "hhh", u16, u16, u16, u16, b == 0 ? a : a % b)                                                \
    OP(rem_s32, "rem.s32", "www", i32, i32, i32, i32, b == 0 ? a : (i64)a % b)                                           \
    OP(rem_u32, "rem.u32", "www", u32, u32, u32, u32, b == 0 ? a : a % b)                                                \
    OP(rem_s64, "rem.s64", "ddd", i64, i64, i64, i64, b == 0 ? a : b == -1 ? 0 : a % b)                                  \
    OP(rem_u64, "rem.u64", "ddd", u64, u64, u64, u64, b == 0 ? a : a % b)                                                \
    BOTH(OP, min, "min", a < b ? a : b)                                                                                  \
    BOTH(OP, max, "max", a > b ? a : b)                                                                                  \
    SAME1(OP, neg, "neg", 0u - a)                                                                                        \
    OP(abs_s16, "abs.s16", "hh", u16, i16, i16, i16, a < 0 ? 0u - (u32)a : (u32)a)                                       \
    OP(abs_s32, "abs.s32", "ww", u32, i32, i32, i32, a < 0 ? 0u - (u32)a : (u32)a)                                       \
    OP(abs_s64, "abs.s64", "dd", u64, i64, i64, i64, a < 0 ? 0u - (u64)a : (u64)a)                                       \
    OP(add_sat, "add.sat.s32", "www", i32, i32, i32, i32, clamp64((i64)a + b))                                           \
    OP(add_sat_u32, "add.sat.u32", "www", u32, u32, u32, u32, a + b < a ? UINT32_MAX : a + b)                            \
    OP(sub_sat, "sub.sat.s32", "www", i32, i32, i32, i32, clamp64((i64)a - b))                                           \
    OP(sad_s32, "sad.s32", "wwww", u32, i32, i32, u32, c + (a < b ? (u32)b - (u32)a : (u32)a - (u32)b))                  \
    OP(sad_u32, "sad.u32", "wwww", u32, u32, u32, u32, c + (a < b ? b - a : a - b))                                      \
    OP(dp4a_ss, "dp4a.s32.s32", "wwww", u32, u32, u32, u32, dot4(a, b, c, true, true))                                   \
    OP(dp4a_su, "dp4a.s32.u32", "wwww", u32, u32, u32, u32, dot4(a, b, c, true, false))                                  \
    OP(dp4a_us, "dp4a.u32.s32", "wwww", u32, u32, u32, u32, dot4(a, b, c, false, true))                                  \
    OP(dp4a_uu, "dp4a.u32.u32", "wwww", u32, u32, u32, u32, dot4(a, b, c, false, false))

#define BITS(OP)                                                                                                         \
    SAME(OP, and, "and", a & b)                                                                                          \
    SAME(OP, or, "or", a | b)                                                                                            \
    SAME(OP, xor, "xor", a ^ b)                                                                                          \
    SAME1(OP, not, "not", ~a)                                                                                            \
    SAME1(OP, cnot, "cnot", a == 0)                                                                                      \
    OP(and_p, "and.pred", "ppp", u8, u8, u8, u8, a & b)                                                                  \
    OP(or_p, "or.pred", "ppp", u8, u8, u8, u8, a | b)                                                                    \
    OP(xor_p, "xor.pred", "ppp", u8, u8, u8, u8, a ^ b)                                                                  \
    OP(not_p, "not.pred", "pp", u8, u8, u8, u8, a ^ 1)                                                                   \
    OP(shl_16, "shl.b16", "hhw", u16, u16, u32, u32, b > 15 ? 0 : (u32)a << b)                                           \
    OP(shl_32, "shl.b32", "www", u32, u32, u32, u32, b > 31 ? 0 : a << (b & 31))                                         \
    OP(shl_64, "shl.b64", "ddw", u64, u64, u32, u32, b > 63 ? 0 : a << (b & 63))                                         \
    OP(shr_u16, "shr.u16 shr.b16", "hhw", u16, u16, u32, u32, b > 15 ? 0 : a >> b)                                       \
    OP(shr_u32, "shr.u32 shr.b32", "www", u32, u32, u32, u32, b > 31 ? 0 : a >> (b & 31))                                \
    OP(shr_u64, "shr.u64 shr.b64", "ddw", u64, u64, u32, u32, b > 63 ? 0 : a >> (b & 63))                                \
    OP(shr_s16, "shr.s16", "hhw", i16, i16, u32, u32, a >> (b > 15 ? 15 : b))                                            \
    OP(shr_s32, "shr.s32", "www", i32, i32, u32, u32, a >> (b > 31 ? 31 : b))                                            \
    OP(shr_s64, "shr.s64", "ddw", i64, i64, u32, u32, a >> (b > 63 ? 63 : b))                                            \
    OP(shf_lw, "shf.l.wrap.b32", "wwww", u32, u32, u32, u32, ((u64)b << 32 | a) << (c & 31) >> 32)                       \
    OP(shf_lc, "shf.l.clamp.b32", "wwww", u32, u32, u32, u32, c > 31 ? a : ((u64)b << 32 | a) << (c & 31) >> 32)         \
    OP(shf_rw, "shf.r.wrap.b32", "wwww", u32, u32, u32, u32, ((u64)b << 32 | a) >> (c & 31))                             \
    OP(shf_rc, "shf.r.clamp.b32", "wwww", u32, u32, u32, u32, c > 31 ? b : ((u64)b << 32 | a) >> (c & 31))               \
    OP(popc_32, "popc.b32", "ww", u32, u32, u32, u32, count(a))                                                          \
    OP(popc_64, "popc.b64", "wd", u32, u64, u64, u64, count((u32)a) + count((u32)(a >> 32)))                             \
    OP(clz_32, "clz.b32", "ww", u32, u32, u32, u32, leading(a))                                                          \
    OP(clz_64, "clz.b64", "wd", u32, u64, u64, u64, leading64(a))                                                        \
    OP(brev_32, "brev.b32", "ww", u32, u32, u32, u32, reverse(a))                                                        \
    OP(brev_64, "brev.b64", "dd", u64, u64, u64, u64, reverse64(a))                                                      \
    OP(bfind_u32, "bfind.u32", "ww", u32, u32, u32, u32, 31 - leading(a))                                                \
    OP(bfind_s32, "bfind.s32", "ww", u32, u32, u32, u32, 31 - leading(a >> 31 ? ~a : a))                                 \
    OP(bfind_u64, "bfind.u64", "wd", u32, u64, u64, u64, 63 - leading64(a))                                              \
    OP(bfind_s64, "bfind.s64", "wd", u32, u64, u64, u64, 63 - leading64(a >> 63 ? ~a : a))                               \
    OP(bfe_u32, "bfe.u32", "wwww", u32, u32, u32, u32, extract(a, b, c, 32, false))                                      \
    OP(bfe_s32, "bfe.s32", "wwww", u32, u32, u32, u32, extract(a, b, c, 32, true))                                       \
    OP(bfe_u64, "bfe.u64", "ddww", u64, u64, u32, u32, extract(a, b, c, 64, false))                                      \
    OP(bfe_s64, "bfe.s64", "ddww", u64, u64, u32, u32, extract(a, b, c, 64, true))                                       \
    OP(bfi_32, "bfi.b32", "wwwwe", u32, u32, u32, u32, insert(a, b, c, ((const u32 *)(const void *)(regs + op->e))[l], 32)) \
    OP(bfi_64, "bfi.b64", "dddwe", u64, u64, u64, u32, insert(a, b, c, ((const u32 *)(const void *)(regs + op->e))[l], 64)) \
    OP(bmsk_clamp, "bmsk.clamp.b32", "www", u32, u32, u32, u32, insert(UINT64_MAX, 0, WBB_MIN(a, 255), WBB_MIN(b, 255), 32)) \
    OP(prmt, "prmt.b32", "wwww", u32, u32, u32, u32, permute(a, b, c))                                                   \
    OP(lop3, "lop3.b32", "wwwwi", u32, u32, u32, u32, lop3(a, b, c, (u32)imm))

#define CHOICE(OP)                                                                                                       \
    COMPARE(OP, eq, a == b)                                                                                              \
    COMPARE(OP, ne, a != b)                                                                                              \
    COMPARE(OP, lt, a < b)                                                                                               \
    COMPARE(OP, le, a <= b)                                                                                              \
    COMPARE(OP, gt, a > b)                                                                                               \
    COMPARE(OP, ge, a >= b)                                                                                              \
    UNSIGNED(OP, lo, "lo", a < b)                                                                                        \
    UNSIGNED(OP, ls, "ls", a <= b)                                                                                       \
    UNSIGNED(OP, hi, "hi", a > b)                                                                                        \
    UNSIGNED(OP, hs, "hs", a >= b)                                                                                       \
    OP(selp_16, "selp.b16 selp.u16 selp.s16", "hhhp", u16, u16, u16, u8, c ? a : b)                                      \
    OP(selp_32, "selp.b32 selp.u32 selp.s32", "wwwp", u32, u32, u32, u8, c ? a : b)                                      \
    OP(selp_64, "selp.b64 selp.u64 selp.s64", "dddp", u64, u64, u64, u8, c ? a : b)                                      \
    OP(selp_f32, "selp.f32", "fffp", u32, u32, u32, u8, c ? a : b)                                                       \
    OP(selp_f64, "selp.f64", "gggp", u64, u64, u64, u8, c ? a : b)                                                       \
    OP(selp_p, "%selp.pred", "pppp", u8, u8, u8, u8, c ? a : b)                                                          \
    OP(slct_32, "slct.b32.s32 slct.u32.s32 slct.s32.s32", "wwww", u32, u32, u32, i32, c >= 0 ? a : b)                    \
    OP(slct_64, "slct.b64.s32 slct.u64.s32 slct.s64.s32", "dddw", u64, u64, u64, i32, c >= 0 ? a : b)                    \
    OP(slct_f, "slct.b32.f32 slct.f32.f32", "ffff", u32, u32, u32, u32, as_f32(c) >= 0.0f ? a : b)

/* Moves, and what decode.c puts around other instructions (names with %). */
#define MOVES(OP)                                                                                                        \
    OP(mov_p, "mov.pred", "pp", u8, u8, u8, u8, a)                                                                       \
    OP(mov_16, "mov.b16 mov.u16 mov.s16 mov.f16 mov.bf16", "hh", u16, u16, u16, u16, a)                                  \
    OP(mov_32, "mov.b32 mov.u32 mov.s32", "ww", u32, u32, u32, u32, a)                                                   \
    OP(mov_f32, "mov.f32", "ff", u32, u32, u32, u32, a)                                                                  \
    OP(mov_64, "mov.b64 mov.u64 mov.s64", "dd", u64, u64, u64, u64, a)                                                   \
    OP(mov_f64, "mov.f64", "gg", u64, u64, u64, u64, a)                                                                  \
    OP(pack_8, "%pack.b16", "hhh", u16, u16, u16, u16, (a & 255) | b << 8)                                               \
    OP(lo_8, "%lo.b16", "hh", u16, u16, u16, u16, a & 255)                                                               \
    OP(hi_8, "%hi.b16", "hh", u16, u16, u16, u16, a >> 8)                                                                \
    OP(pack_32, "%pack.b32", "whh", u32, u16, u16, u16, PAIR(a, b))                                                      \
    OP(pack_64, "%pack.b64", "dww", u64, u32, u32, u32, a | (u64)b << 32)                                                \
    OP(lo_32, "%lo.b32", "hw", u16, u32, u32, u32, a)                                                                    \
    OP(hi_32, "%hi.b32", "hw", u16, u32, u32, u32, a >> 16)                                                                \
    OP(lo_64, "%lo.b64", "wd", u32, u64, u64, u64, a)                                                                    \
    OP(hi_64, "%hi.b64", "wd", u32, u64, u64, u64, a >> 32)                                                              \
    OP(trunc_16_64, "%trunc.b16.b64", "hd", u16, u64, u64, u64, a)                                                       \
    OP(zext_32_16, "%zext.b32.b16", "wh", u32, u16, u16, u16, a)                                                         \
    OP(zext_64_16, "%zext.b64.b16", "dh", u64, u16, u16, u16, a)                                                         \
    OP(zext_64_32, "%zext.b64.b32", "dw", u64, u32, u32, u32, a)                                                         \
    OP(sext_32_16, "%sext.b32.b16", "wh", i32, i16, i16, i16, a)                                                         \
    OP(sext_64_16, "%sext.b64.b16", "dh", i64, i16, i16, i16, a)                                                         \
    OP(sext_64_32, "%sext.b64.b32", "dw", i64, i32, i32, i32, a)                                                         \
    OP(zext_16_p, "%zext.b16.pred", "hp", u16, u8, u8, u8, a)

#define ROWS(OP) ARITHMETIC(OP) BITS(OP) CHOICE(OP) MOVES(OP)
ROWS(SIM_OP)

const SimRow sim_rows_int[] = {ROWS(SIM_ROW){NULL, NULL, NULL}};
