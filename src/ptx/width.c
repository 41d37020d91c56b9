/* width.c: the register of an index in 32 or 64 bits.
 *
 * Needs an emitted index node, whose width is SC_FLAG_WIDE; leaves the register of the width that a use needs.
 *
 *     %r3 of a node of 32 bits, for an address   ->   cvt.u64.u32 %rd1, %r3;
 */
#include "ptx/inner.h"

PtxReg ptx_resize(PtxBuild *b, PtxReg x, bool wide, bool negative)
{
    if (x.kind == PTX_NUMBER) return ptx_number(wide ? 64 : 32, wide && x.bits == 32 ? (uint64_t)(int32_t)x.n : x.n);
    if ((x.kind == PTX_B64) == wide) return x;
    const PtxReg d = ptx_new(b, wide ? PTX_B64 : PTX_B32);
    ptx_line(b, !wide ? "cvt.u32.u64 %R, %R;" : negative ? "cvt.s64.s32 %R, %R;" : "cvt.u64.u32 %R, %R;", d, x);
    return d;
}

PtxReg ptx_index(PtxBuild *b, IrRef r, bool wide)
{
    const IrNode *n = ir_at(b->g, r);
    if (n->op == OP_CONST) return ptx_number(wide ? 64 : 32, n->imm);
    PtxValue *v = b->values[r];
    const PtxReg x = v->words[0];
    if ((x.kind == PTX_B64) == wide) return x;
    if (!wide) return ptx_resize(b, x, false, false);
    if (!v->pairs) { /* the same in 64 bits, once */
        const uint32_t at = b->at;
        b->at = v->scope;
        v->pairs = WBB_NEW(b->arena, PtxReg);
        v->pairs[0] = ptx_resize(b, x, true, ir_fact(b->g, r).lo < 0);
        b->at = at;
    }
    return v->pairs[0];
}
