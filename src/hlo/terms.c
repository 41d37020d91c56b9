/* terms.c: how many elements of its operands an element of an instruction's result needs. Every price of computing a
 * value again asks here: fuse, and partition for loops, cuts and what is computed again.
 *
 * Needs a verified instruction; leaves nothing. A fold needs each of its terms; others at most an element of an
 * operand, and of an operand that has the part of the result, in the mean that part.
 *
 *     reduce f32[64,128], {1}  =>  128 terms;    concatenate of f32[30] and f32[10]  =>  3/4 of one, 1/4 of the other
 */
#include "hlo/hlo.h"

double hlo_terms(WbbArena *a, const HloInstruction *i)
{
    double n = 1;
    switch (i->opcode) {
    case HLO_REDUCE:
        for (uint32_t k = 0; k < i->n_dimensions; k++) n *= (double)i->operands[0]->shape->dims[i->dimensions[k]];
        return n;
    case HLO_REDUCE_WINDOW:
        for (uint32_t d = 0; d < i->n_windows; d++) n *= (double)i->windows[d].size;
        return n;
    case HLO_DOT: {
        const HloInts dims = hlo_dot_dims(a, i).lhs_contracting;
        for (uint32_t k = 0; k < dims.n; k++) n *= (double)i->operands[0]->shape->dims[dims.items[k]];
        return n;
    }
    case HLO_CONVOLUTION: {
        const HloConvDims dims = hlo_conv_dims(a, i);
        for (uint32_t d = 0; d < i->n_windows; d++) n *= (double)i->windows[d].size;
        return dims.known ? n * (double)i->operands[1]->shape->dims[dims.rhs_input] : n;
    }
    default: return 0;
    }
}

bool hlo_is_term(const HloInstruction *i, uint32_t k)
{
    return k < (i->opcode == HLO_DOT || i->opcode == HLO_CONVOLUTION ? 2 : i->n_operands / 2);
}

double hlo_operand_share(const HloInstruction *i, uint32_t k)
{
    const HloShape *result = i->shape;
    for (uint32_t e; result->type == SC_TUPLE && result->n_leaves; result = result->elements[e]) /* its first array */
        for (e = 0; !result->elements[e]->n_leaves;) e++;
    const double of = (double)WBB_MAX(hlo_elements(i->operands[k]->shape), 1);
    const double n = (double)WBB_MAX(hlo_elements(result), 1);
    if (hlo_is_elementwise(i->opcode) || i->opcode == HLO_TUPLE || i->opcode == HLO_GET_TUPLE_ELEMENT) return -1;
    switch (i->opcode) {
    case HLO_CONCATENATE: return of / n;
    case HLO_PAD: return k ? 0 : WBB_MIN(of / n, 1);
    case HLO_DYNAMIC_UPDATE_SLICE: return k == 0 ? 1 : k == 1 ? of / n : 0;
    case HLO_DYNAMIC_SLICE: return k == 0;
    case HLO_GATHER: return 1;
    default: return hlo_is_move(i->opcode) ? 1 : WBB_MIN(of / n, 1); /* of others each element of an operand once */
    }
}
