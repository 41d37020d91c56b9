/* division.c: quotients and remainders by a constant, which ptxas does not make products.
 *
 * Needs the dividend in a register, and how large it may be; leaves registers. A quotient is the high half of a product
 * and a shift. Of elements of 32 bits, of which nothing is known, that is so for most divisors; an even one is halved
 * first, and for others the product with 2^32 more is added behind it.
 *
 *     x / 22 of any u32   ->   mul.hi.u32 %r2, %r1, -1171354717; shr.u32 %r3, %r2, 4;
 */
#include "ptx/inner.h"

#include <string.h>

/* A multiplier and a shift such that x * m >> (bits + shift) is x / d for all x up to `most`; false: there are none
 * that fit in the word. After Granlund and Montgomery, Division by invariant integers using multiplication, theorem
 * 4.2: m = ceil(2^(bits+shift) / d) will do if its excess times the largest x stays below 2^(bits+shift). */
static bool multiplier(uint64_t d, uint64_t most, uint32_t bits, uint64_t *m, uint32_t *shift)
{
    for (uint32_t k = 0; k < bits; k++) {
        const WbbU128 power = (WbbU128)1 << (bits + k);
        const WbbU128 up = (power + d - 1) / d, excess = up * d - power;
        if (up >> bits) return false;
        if (excess * most < power) {
            *m = (uint64_t)up, *shift = k;
            return true;
        }
    }
    return false;
}

PtxReg ptx_quotient(PtxBuild *b, PtxReg x, uint64_t k, WbbI128 most, bool wide)
{
    const PtxKind kind = wide ? PTX_B64 : PTX_B32;
    const uint32_t bits = wide ? 64 : 32;
    const uint64_t key[3] = {4 + wide, x.n, k};
    PtxMade *made = ptx_made(b, key, WBB_LEN(key));
    uint64_t m;
    uint32_t shift = 0;
    if (k == 1) return x;
    if (made->reg.kind != PTX_NONE) return made->reg;
    PtxReg d = ptx_new(b, kind);
    if ((k & (k - 1)) == 0) ptx_line(b, "shr.u%u %R, %R, %u;", bits, d, x, (uint32_t)__builtin_ctzll(k));
    else if (multiplier(k, (uint64_t)most, bits, &m, &shift)) {
        ptx_line(b, "mul.hi.u%u %R, %R, %R;", bits, d, x, ptx_number(bits, m));
        const PtxReg high = d;
        if (shift) d = ptx_new(b, kind), ptx_line(b, "shr.u%u %R, %R, %u;", bits, d, high, shift);
    } else ptx_line(b, "div.u%u %R, %R, %l;", bits, d, x, (int64_t)k);
    *made = (PtxMade){.reg = d, .scope = b->at};
    return d;
}

PtxReg ptx_rest(PtxBuild *b, PtxReg x, uint64_t k, PtxReg q, bool wide)
{
    const PtxReg d = ptx_new(b, wide ? PTX_B64 : PTX_B32);
    ptx_line(b, "mad.lo.%s %R, %R, %l, %R;", wide ? "s64" : "s32", d, q, -(int64_t)k, x);
    return d;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */
/* x / k of any x up to `most`, of 32 bits. */
static PtxReg of_any(PtxBuild *b, PtxReg x, uint32_t k, uint32_t most)
{
    uint64_t m;
    uint32_t shift;
    if ((k & (k - 1)) == 0 || multiplier(k, most, 32, &m, &shift)) return ptx_quotient(b, x, k, most, false);
    const uint32_t even = (uint32_t)__builtin_ctz(k);
    if (even) {
        const PtxReg half = ptx_new(b, PTX_B32);
        ptx_line(b, "shr.u32 %R, %R, %u;", half, x, even);
        return ptx_quotient(b, half, k >> even, most >> even, false);
    }
    /* ceil(2^(32+s) / k) has 33 bits, of which the first is left to an addition: (x + p) / 2^s of the product p with
     * the others, without its carry: (x - p) / 2 + p is (x + p) / 2. After Granlund and Montgomery, figure 4.1. */
    uint32_t s = 0;
    while (((uint64_t)1 << s) < k) s++;
    m = (uint64_t)(((((WbbU128)1 << s) - k) << 32) / k + 1);
    const PtxReg p = ptx_new(b, PTX_B32), less = ptx_new(b, PTX_B32), half = ptx_new(b, PTX_B32);
    const PtxReg sum = ptx_new(b, PTX_B32), d = ptx_new(b, PTX_B32);
    ptx_line(b, "mul.hi.u32 %R, %R, %R;", p, x, ptx_number(32, m));
    ptx_line(b, "sub.s32 %R, %R, %R;", less, x, p);
    ptx_line(b, "shr.u32 %R, %R, 1;", half, less);
    ptx_line(b, "add.s32 %R, %R, %R;", sum, half, p);
    ptx_line(b, "shr.u32 %R, %R, %u;", d, sum, s - 1);
    return d;
}

/* Towards zero: the quotient of magnitudes, with the sign of both. */
static PtxReg of_signed(PtxBuild *b, PtxReg x, int32_t k)
{
    const uint32_t size = k < 0 ? 0 - (uint32_t)k : (uint32_t)k;
    const PtxReg above = ptx_new(b, PTX_B32), sign = ptx_new(b, PTX_PRED), less = ptx_new(b, PTX_B32);
    const PtxReg d = ptx_new(b, PTX_B32);
    ptx_line(b, "abs.s32 %R, %R;", above, x);
    const PtxReg q = of_any(b, above, size, UINT32_C(1) << 31);
    ptx_line(b, k < 0 ? "setp.ge.s32 %R, %R, 0;" : "setp.lt.s32 %R, %R, 0;", sign, x);
    ptx_line(b, "sub.s32 %R, 0, %R;", less, q);
    ptx_line(b, "selp.b32 %R, %R, %R, %R;", d, less, q, sign);
    return d;
}

bool ptx_division(PtxBuild *b, const char *row, ScType type, PtxReg x, uint64_t divisor, PtxReg *out)
{
    static const char *const rows[] = {"udiv", "urem", "sdiv", "srem"};
    const uint32_t k = (uint32_t)divisor;
    if (!sc_is_int(type) || sc_type_info[type].bits != 32 || x.kind != PTX_B32 || k == 0) return false;
    uint32_t i = 0;
    while (i < WBB_LEN(rows) && strcmp(row, rows[i]) != 0) i++;
    if (i == WBB_LEN(rows)) return false;
    const PtxReg q = i < 2 ? of_any(b, x, k, UINT32_MAX) : of_signed(b, x, (int32_t)k);
    *out = i % 2 ? ptx_rest(b, x, i < 2 ? k : (uint64_t)(int64_t)(int32_t)k, q, false) : q;
    return true;
}
