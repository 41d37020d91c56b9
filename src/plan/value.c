/* value.c: the values of a fusion, seen through tuples, and what holds of single instructions.
 *
 * Needs a verified computation; leaves nothing.
 *
 *     get-tuple-element(tuple(x, reduce(..)), index=1), leaf 0   =>   leaf 0 of the reduce
 */
#include "plan/plan.h"

bool plan_same_width(const HloInstruction *i)
{
    const HloShape *from = i->operands[0]->shape;
    return hlo_elements(i->shape) == hlo_elements(from) &&
           sc_type_info[i->shape->type].bits == sc_type_info[from->type].bits &&
           (hlo_has(i->opcode, HLO_RENAMES) || hlo_same_dims(i->shape, from));
}

bool plan_is_rotation(const HloInstruction *i)
{
    const bool slices = i->opcode == HLO_CONCATENATE && i->n_operands && i->operands[0]->opcode == HLO_SLICE;
    const HloInstruction *whole = slices ? i->operands[0]->operands[0] : NULL;
    if (!whole || !hlo_same_dims(whole->shape, i->shape)) return false;
    const uint32_t dim = (uint32_t)i->dimensions[0];
    int64_t next = -1; /* where the next slice must begin, modulo the size */
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloInstruction *s = i->operands[k];
        if (s->opcode != HLO_SLICE || s->operands[0] != whole || s->shape->dims[dim] == 0) return false;
        for (uint32_t d = 0; d < s->shape->rank; d++)
            if (s->slices[d].stride != 1 || (d != dim && s->shape->dims[d] != i->shape->dims[d])) return false;
        if (next >= 0 && s->slices[dim].start != next % whole->shape->dims[dim]) return false;
        next = s->slices[dim].limit;
    }
    return true;
}


uint32_t plan_packed_group(ScType t) { return ir_is_packed(t) ? 8u / sc_type_info[t].bits : 1; }

/* One element is an access: a buffer is never aligned to less. */
uint32_t plan_align(const Plan *p, ScType t) { return WBB_MAX(p->align, sc_type_info[t].bits / 8u); }

const HloShape *plan_shape(const HloInstruction *i, uint32_t part)
{
    const HloShape *s = i->shape;
    while (s->type == SC_TUPLE && s->n_leaves) {
        uint32_t k = 0;
        for (; part >= s->elements[k]->n_leaves; k++) part -= s->elements[k]->n_leaves;
        s = s->elements[k];
    }
    return s;
}
