/* operand.c: the operand's element for each operation that only moves elements or is elementwise.
 *
 * Needs a verified instruction and an index of its result; leaves the index of the operand's element.
 *
 *     slice={[2:10:3]}    d0   =>   3*d0 + 2
 */
#include "index/access.h"

bool ix_has_map(const HloInstruction *i, uint32_t operand)
{
    switch (i->opcode) {
    case HLO_BITCAST:
        return hlo_elements(i->shape) == hlo_elements(i->operands[0]->shape);
    case HLO_BITCAST_CONVERT:
        return hlo_same_dims(i->shape, i->operands[0]->shape);
    default:
        return (hlo_is_move(i->opcode) || hlo_is_elementwise(i->opcode)) && operand < i->n_operands;
    }
}

/* The dimensions of a shape and an index in the order of memory, major first. */
typedef struct {
    int64_t *dims;
    IrRef *index;
} Physical;

static Physical physical(WbbArena *a, const HloShape *s)
{
    Physical p = {WBB_NEW_N(a, int64_t, s->rank + 1u), WBB_NEW_N(a, IrRef, s->rank + 1u)};
    for (uint32_t i = 0; i < s->rank; i++) p.dims[i] = s->dims[s->minor_to_major[s->rank - 1u - i]];
    return p;
}

void ix_bitcast(RwCx *rw, WbbArena *a, const HloShape *from, const HloShape *to, const IrRef *index, IrRef *result)
{
    const Physical x = physical(a, from), y = physical(a, to);
    for (uint32_t i = 0; i < from->rank; i++) x.index[i] = index[from->minor_to_major[from->rank - 1u - i]];
    ix_regroup(rw, from->rank, x.dims, x.index, to->rank, y.dims, y.index);
    for (uint32_t i = 0; i < to->rank; i++) result[to->minor_to_major[to->rank - 1u - i]] = y.index[i];
}

void ix_operand(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand, const IrRef *out, IrRef *in)
{
    const HloShape *result = i->shape, *s = i->operands[operand]->shape;
    IrGraph *g = rw_graph(rw);
    assert(ix_has_map(i, operand));
    switch (i->opcode) {
    case HLO_BITCAST: ix_bitcast(rw, a, result, s, out, in); return;
    case HLO_RESHAPE: ix_regroup(rw, result->rank, result->dims, out, s->rank, s->dims, in); return;
    default: break;
    }
    for (uint32_t d = 0; d < s->rank; d++) {
        HloRead r;
        if (!hlo_reads(i, d, &r)) {
            in[d] = out[d]; /* elementwise; a scalar operand has no dimensions */
            continue;
        }
        in[d] = ir_index(g, r.offset);
        if (r.dim >= 0 && s->dims[d] != 1) in[d] = rw_add(rw, rw_scale(rw, out[r.dim], r.scale), in[d]);
        if (r.modulus) in[d] = rw_mod(rw, in[d], r.modulus);
    }
}
