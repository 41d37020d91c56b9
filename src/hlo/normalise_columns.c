/* normalise_columns: sums over the rows of an array as sums of so many neighbouring rows, and then of these.
 *
 * Needs: an HLO module, and for sums over the slowest dimensions of an array, of f32 or narrower floats, the number of
 * parts (HloRewriter.same), which divides that of the rows. Leaves: the sums of each part, from 0, as one array, and
 * the sums of that, from the initial value. A kernel that reads rows for results of their own then computes a part of
 * the first sums in passing: a block has the rows of a part. The terms of a result are those of the text, grouped; sums
 * of floats under 32 bits are of f32.
 *
 *     s = f32[1024] reduce(f32[8192,1024] x, 0), {0}, add          in 512 parts
 *         p = f32[512,1024] reduce(f32[512,16,1024] reshape(x), 0), {1}, add
 *         s = f32[1024] reduce(p, 0), {0}, add
 */
#include "hlo/normalise.h"

bool hlo_may_split_columns(const HloInstruction *i)
{
    if (i->opcode != HLO_REDUCE || i->n_operands != 2 || i->shape->type == SC_TUPLE) return false;
    const HloShape *x = i->operands[0]->shape;
    const ScType t = x->type;
    if (!sc_is_float(t) || sc_type_info[t].bits > 32 || i->shape->type != t || x->rank + 1u >= HLO_RANK_LIMIT)
        return false;
    if (x->dynamic || !hlo_is_row_major(x) || !hlo_is_row_major(i->shape) || !i->n_dimensions) return false;
    for (uint32_t d = 0; d < x->rank; d++)
        if (hlo_is_reduced(i, d) != (d < i->n_dimensions)) return false;
    const HloComputation *c = i->called[0];
    return hlo_is_operation(c) && c->root->opcode == HLO_ADD;
}

static HloInstruction *summed(HloBuilder *b, const HloInstruction *i, HloInstruction *x, HloInstruction *init,
                              int64_t dimension, HloComputation *c, const char *stem)
{
    HloInstruction *y = hlo_new_reduce(b, x, init, &dimension, 1, c);
    y->name = hlo_unique_name(b, wbb_format(b->arena, "%s.%s", i->name, stem));
    return y;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const int64_t parts = b->same ? b->same[i->id] : 0;
    if (!parts) return NULL;
    const HloShape *s = i->operands[0]->shape;
    int64_t dims[HLO_RANK_LIMIT], rows = 1;
    for (uint32_t d = 0; d < i->n_dimensions; d++) rows *= s->dims[d];
    assert(rows % parts == 0);
    uint32_t rank = 2;
    dims[0] = parts, dims[1] = rows / parts;
    for (uint32_t d = i->n_dimensions; d < s->rank; d++) dims[rank++] = s->dims[d];
    HloComputation *wide = hlo_wider(b, i), *c = wide ? wide : b->made[i->called[0]->id];
    HloInstruction *x = hlo_new_convert(b, hlo_mapped(b, i->operands[0]), SC_F32);
    HloInstruction *zero = hlo_new_scalar(b, SC_F32, 0), *init = zero;
    if (!hlo_is_zero(i->operands[1])) init = hlo_new_convert(b, hlo_mapped(b, i->operands[1]), SC_F32);
    x = summed(b, i, hlo_new_reshape(b, x, rank, dims), zero, 1, c, "part");
    x = summed(b, i, x, init, 0, c, "whole");
    if (wide) return hlo_new_convert(b, x, i->shape->type);
    return hlo_new_unary(b, HLO_COPY, x); /* what is returned has the name of i, whose order is another */
}

const HloModule *hlo_split_columns(WbbCx *cx, WbbArena *a, const HloModule *m, const uint32_t *const *parts)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .same = parts});
}
