/* ops_packed: the rows of the instruction table on the two halves or four bytes of a register, each by itself.
 *
 * Needs: lanes.h. Leaves: sim_rows_packed. PTX ISA 9.7.1.1, .2, .11, .12 and .13; those of bytes, and sums of halves
 * that saturate, since version 9.2.
 *
 *     add.u8x4 of 0x80f0ff01 and 0x80200102   ->   0x00100003; with .sat 0xffffff03
 */
#include "sim/lanes.h"

/* Part k of a register, as a number. */
SIM_INLINE i32 u8_of(u32 v, int k) { return (i32)(v >> (8 * k) & 255); }
SIM_INLINE i32 s8_of(u32 v, int k) { return (i8)(v >> (8 * k)); }
SIM_INLINE i32 u16_of(u32 v, int k) { return (i32)(v >> (16 * k) & 65535); }
SIM_INLINE i32 s16_of(u32 v, int k) { return (i16)(v >> (16 * k)); }

SIM_INLINE i32 sum(i32 x, i32 y) { return x + y; }
SIM_INLINE i32 difference(i32 x, i32 y) { return x - y; }
SIM_INLINE i32 smaller(i32 x, i32 y) { return x < y ? x : y; }
SIM_INLINE i32 larger(i32 x, i32 y) { return x > y ? x : y; }

/* What a type can hold. */
SIM_INLINE i32 u8_held(i32 x) { return smaller(larger(x, 0), 255); }
SIM_INLINE i32 s8_held(i32 x) { return smaller(larger(x, -128), 127); }
SIM_INLINE i32 u16_held(i32 x) { return smaller(larger(x, 0), 65535); }
SIM_INLINE i32 s16_held(i32 x) { return smaller(larger(x, -32768), 32767); }
SIM_INLINE i32 wrapped(i32 x) { return x; }

#define BYTE(t, f, held, k) ((u32)(u8)held(f(t##_of(a, k), t##_of(b, k))) << (8 * (k)))
#define QUAD(t, f, held) (BYTE(t, f, held, 0) | BYTE(t, f, held, 1) | BYTE(t, f, held, 2) | BYTE(t, f, held, 3))
#define TWO(t, f, held) PAIR((u16)held(f(t##_of(a, 0), t##_of(b, 0))), (u16)held(f(t##_of(a, 1), t##_of(b, 1))))

#define BYTES(OP, t)                                                                                                     \
    OP(add_sat_##t##x4, "add.sat." #t "x4", "www", u32, u32, u32, u32, QUAD(t, sum, t##_held))                           \
    OP(sub_sat_##t##x4, "sub.sat." #t "x4", "www", u32, u32, u32, u32, QUAD(t, difference, t##_held))                    \
    OP(min_##t##x4, "min." #t "x4", "www", u32, u32, u32, u32, QUAD(t, smaller, wrapped))                                \
    OP(max_##t##x4, "max." #t "x4", "www", u32, u32, u32, u32, QUAD(t, larger, wrapped))

#define HALVES(OP, t)                                                                                                    \
    OP(add_sat_##t##x2, "add.sat." #t "x2", "www", u32, u32, u32, u32, TWO(t, sum, t##_held))                            \
    OP(min_##t##x2, "min." #t "x2", "www", u32, u32, u32, u32, TWO(t, smaller, wrapped))                                 \
    OP(max_##t##x2, "max." #t "x2", "www", u32, u32, u32, u32, TWO(t, larger, wrapped))

SIM_INLINE u32 differences(u32 a, u32 b) { return QUAD(u8, difference, wrapped); }
SIM_INLINE u32 larger_bytes(u32 a, u32 b) { return QUAD(s8, larger, wrapped); }

/* Sums and differences that wrap have the same bits signed or not. */
#define ROWS(OP)                                                                                                         \
    OP(add_8x4, "add.s8x4 add.u8x4", "www", u32, u32, u32, u32, QUAD(u8, sum, wrapped))                                  \
    OP(sub_8x4, "sub.s8x4 sub.u8x4", "www", u32, u32, u32, u32, differences(a, b))                                       \
    OP(neg_s8x4, "neg.s8x4", "ww", u32, u32, u32, u32, differences(0, a))                                                \
    OP(relu_s8x4, "%relu.s8x4", "ww", u32, u32, u32, u32, larger_bytes(a, 0))                                            \
    OP(add_16x2, "add.s16x2 add.u16x2", "www", u32, u32, u32, u32, TWO(u16, sum, wrapped))                               \
    BYTES(OP, u8) BYTES(OP, s8) HALVES(OP, u16) HALVES(OP, s16)
ROWS(SIM_OP)

const SimRow sim_rows_packed[] = {ROWS(SIM_ROW){NULL, NULL, NULL}};
