/* updates.c: what is replaced of an array, and by what: facts of scatters and of updates in place.
 *
 * Needs a verified instruction; leaves nothing.
 *
 *     scatter(x, i, u), to_apply: add(p0, p1)     =>   result 0 is operand 0 with some elements replaced; an `add`
 *     scatter(x, i, u), to_apply: p1              =>   update 0 itself
 */
#include "hlo/hlo.h"

int64_t hlo_replaced(const HloInstruction *i, uint32_t leaf)
{
    if (i->opcode == HLO_DYNAMIC_UPDATE_SLICE) return 0;
    return i->opcode == HLO_SCATTER && leaf < i->n_operands / 2 ? (int64_t)leaf : -1;
}

const HloInstruction *hlo_scatter_root(const HloInstruction *s, uint32_t k)
{
    return hlo_value(s->called[0]->root, k).i;
}

static bool is_parameter(const HloInstruction *i, uint32_t number)
{
    return i->opcode == HLO_PARAMETER && i->number == (int64_t)number;
}

bool hlo_scatter_is_operation(const HloInstruction *s, uint32_t k)
{
    const HloInstruction *i = hlo_scatter_root(s, k);
    const uint32_t n = s->n_operands / 2;
    const HloShape *of = s->shape->type == SC_TUPLE ? s->shape->elements[k] : s->shape;
    if (i->n_operands != 2 || i->shape->type != of->type) return false;
    const HloInstruction *x = i->operands[0], *y = i->operands[1];
    return (is_parameter(x, k) && is_parameter(y, n + k)) || (is_parameter(y, k) && is_parameter(x, n + k));
}

int64_t hlo_scatter_takes(const HloInstruction *s, uint32_t k)
{
    const HloInstruction *i = hlo_scatter_root(s, k);
    const int64_t n = s->n_operands / 2;
    return i->opcode == HLO_PARAMETER && i->number >= n ? i->number - n : -1;
}

bool hlo_scatters_rows(const HloInstruction *i, const HloScatterDims *d)
{
    const uint32_t n = i->n_operands / 2, rank = i->operands[0]->shape->rank;
    return i->operands[n]->shape->rank == 2 && d->index_vector_dim == 1 && d->inserted_window.n == 0 &&
           d->input_batching.n == 0 && hlo_counts_up(d->operand_map, 0, d->operand_map.n) &&
           hlo_counts_up(d->update_window, 1, rank);
}
