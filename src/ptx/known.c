/* known.c: bits of registers that are never set.
 *
 * Needs the operands of a row; leaves a mask for its result, the same for all lanes. What is known saves an extension
 * of 8 bits or less, and the mask of a table's index. A row is known by the name that it has in patterns/tiles.py.
 *
 *     select(p, 1, 0) of u8 shifted left by 7: only bit 7, so the register is the zero-extended value
 */
#include "ptx/inner.h"

#include <string.h>

static uint64_t low(uint32_t bits) { return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1; }

/* Of an operand after its extension. */
static uint64_t extended(const PtxValue *x, uint32_t i, char how)
{
    const uint32_t bits = ptx_bits(x->type);
    const uint64_t zero = ptx_zero(x, i), own = zero & low(bits);
    const bool positive = zero >> (bits - 1) & 1;
    if (how == 'o') how = sc_is_signed(IR_SC(x->type)) ? 's' : 'z';
    if (bits >= 16 || (how != 'z' && how != 's')) return zero;
    return how == 'z' || positive ? own | ~low(bits) : own;
}

/* Of one lane of a row's result. */
static uint64_t of_row(const char *name, const uint64_t *z, PtxReg second, uint32_t from_bits)
{
    if (!strcmp(name, "select")) return z[1] & z[2];
    if (!strcmp(name, "and")) return z[0] | z[1];
    if (!strcmp(name, "or") || !strcmp(name, "xor")) return z[0] & z[1];
    if (!strcmp(name, "add")) return ~(z[0] | z[1]) == 0 ? z[0] & z[1] : 0; /* no carries */
    if (!strcmp(name, "bitcast") || !strcmp(name, "trunc")) return z[0];
    if (!strcmp(name, "zext")) return z[0] | ~low(from_bits);
    if (second.kind != PTX_NUMBER || second.n >= 64) return 0;
    if (!strcmp(name, "shl")) return z[0] << second.n | low((uint32_t)second.n);
    if (!strcmp(name, "lshr")) return z[0] >> second.n | ~(UINT64_MAX >> second.n);
    return 0;
}

uint64_t ptx_zero_of_row(const char *name, const char *extend, PtxValue **x, uint32_t count, uint32_t lanes,
                         uint32_t register_bits)
{
    uint64_t all = UINT64_MAX;
    for (uint32_t i = 0; i < lanes && count && all; i++) {
        uint64_t z[3] = {0, 0, 0};
        for (uint32_t k = 0; k < count; k++) {
            const uint32_t lane = IR_LANES(x[k]->type) == 1 ? 0 : i;
            z[k] = extended(x[k], lane, extend[0] ? extend[k] : 0) | ~low(register_bits);
        }
        const PtxReg second = count > 1 && x[1]->elements ? x[1]->elements[0] : (PtxReg){0};
        all &= of_row(name, z, second, ptx_bits(x[0]->type));
    }
    return count ? all : 0;
}
