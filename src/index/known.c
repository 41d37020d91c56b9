/* known.c: integers that a text computes from where they stand.
 *
 * Needs a verified instruction and an index of it; leaves an index node, or none. What only facts of the element's
 * operations show is asked of src/graph (gr_index_of), which has these as terms.
 *
 *     s32[8,2] concatenate(s32[8,1] iota, l), dimensions={1}    at (d0, 0)   =>   d0
 */
#include "index/access.h"

/* The operand that has the element, whose index in it *at becomes; NULL: that depends on the index. */
static const HloInstruction *operand_at(RwCx *rw, WbbArena *a, const HloInstruction *i, const IrRef **at)
{
    IxAccess in;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        ix_access(rw, a, i, k, *at, NULL, NULL, &in);
        if (in.never || in.n_conditions) continue;
        *at = in.index;
        return i->operands[k];
    }
    return NULL;
}

static IrRef constant(IrGraph *g, const HloInstruction *i, const IrRef *at)
{
    int64_t element = 0;
    for (uint32_t d = 0; d < i->shape->rank && !i->literal_splat; d++) {
        if (!ir_is_const(g, at[d])) return 0;
        element = element * i->shape->dims[d] + (int64_t)ir_at(g, at[d])->imm;
    }
    if (!i->literal) return 0;
    const WbbI128 value = sc_to_i128(i->shape->type, hlo_literal_bits(i, element) & sc_mask(i->shape->type));
    return value > INT64_MAX || value < INT64_MIN ? 0 : ir_index(g, (int64_t)value);
}

IrRef ix_known(RwCx *rw, WbbArena *a, const HloInstruction *i, const IrRef *at)
{
    IrGraph *g = rw_graph(rw);
    WbbI128 least = INT64_MIN, most = INT64_MAX; /* values that every type on the way has */
    while (i && sc_is_int(i->shape->type) && hlo_elements(i->shape) > 0) {
        const ScType t = i->shape->type;
        const WbbI128 last = (WbbI128)(sc_is_signed(t) ? sc_mask(t) >> 1 : sc_mask(t));
        least = WBB_MAX(least, sc_is_signed(t) ? -last - 1 : 0), most = WBB_MIN(most, last);
        if (hlo_kind(i->opcode) == HLO_IS_LEAF) {
            const IrRef x = i->opcode == HLO_IOTA ? at[i->number] : i->opcode == HLO_CONSTANT ? constant(g, i, at) : 0;
            return x && ir_within(g, x, least, most + 1) ? x : 0;
        }
        const bool moves = hlo_is_move(i->opcode) && i->operands[0]->shape->type == t && ix_has_map(i, 0);
        if (!moves && i->opcode != HLO_CONVERT && i->opcode != HLO_CONCATENATE) return 0;
        i = operand_at(rw, a, i, &at);
    }
    return 0;
}
