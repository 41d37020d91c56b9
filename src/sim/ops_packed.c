/* ops_packed: the rows of the instruction table on the two halves or four bytes of a register, each by itself.
 *
 * Needs: lanes.h. Leaves: sim_rows_packed. PTX ISA 9.7.1.1, .2, .11, .12 and .13; those of bytes, and sums of halves
 * that saturate, since version 9.2.
 *
 *     add.u8x4 of 0x80f0ff01 and 0x80200102   ->   0x00100003; with .sat 0xffffff03
 */
#include "sim/lanes.h"

SIM_INLINE i32 smaller(i32 x, i32 y) { return x < y ? x : y; }
SIM_INLINE i32 larger(i32 x, i32 y) { return x > y ? x : y; }

/* Parts of type T, which holds `least` to `most`. */
#define BOUNDED(PARTS, t, T, least, most)                                                                                \
    PARTS(add_sat_##t, "add.sat." #t, "www", T, T, T, T, smaller(larger(a + b, least), most))                            \
    PARTS(min_##t, "min." #t, "www", T, T, T, T, smaller(a, b))                                                          \
    PARTS(max_##t, "max." #t, "www", T, T, T, T, larger(a, b))
#define BYTES(PARTS, t, T, least, most)                                                                                  \
    BOUNDED(PARTS, t, T, least, most)                                                                                    \
    PARTS(sub_sat_##t, "sub.sat." #t, "www", T, T, T, T, smaller(larger(a - b, least), most))

/* Sums and differences that wrap have the same bits signed or not. */
#define ROWS(PARTS)                                                                                                      \
    PARTS(add_8x4, "add.s8x4 add.u8x4", "www", u8, u8, u8, u8, a + b)                                                    \
    PARTS(sub_8x4, "sub.s8x4 sub.u8x4", "www", u8, u8, u8, u8, a - b)                                                    \
    PARTS(neg_s8x4, "neg.s8x4", "ww", u8, u8, u8, u8, 0 - a)                                                             \
    PARTS(relu_s8x4, "%relu.s8x4", "ww", i8, i8, i8, i8, larger(a, 0))                                                   \
    PARTS(add_16x2, "add.s16x2 add.u16x2", "www", u16, u16, u16, u16, a + b)                                             \
    BYTES(PARTS, u8x4, u8, 0, UINT8_MAX) BYTES(PARTS, s8x4, i8, INT8_MIN, INT8_MAX)                                      \
    BOUNDED(PARTS, u16x2, u16, 0, UINT16_MAX) BOUNDED(PARTS, s16x2, i16, INT16_MIN, INT16_MAX)
ROWS(SIM_PARTS)

const SimRow sim_rows_packed[] = {ROWS(SIM_ROW){NULL, NULL, NULL}};
