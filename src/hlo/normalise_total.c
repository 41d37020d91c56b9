/* normalise_total: of a cumulative sum, product, maximum .. along a dimension, the last element alone, as a reduction.
 *
 * Needs: windows that hold all elements up to their own, or from it on. Leaves, of those of which a slice of the one
 * that holds all is the only user: that slice as a reduction of the dimension. Threads share the terms of a reduction,
 * and read each of them once. Such slices are what is left where long cumulative sums are split into pieces.
 *
 *     w = f32[8,16] reduce-window(x, 0), window={size=1x16 pad=0_0x15_0}   f32[4,1] slice(w), slice={[2:6], [15:16]}
 *         y = f32[4,16] slice(x), slice={[2:6], [0:16]}   r = f32[4] reduce(y, 0), dimensions={1}   f32[4,1] reshape(r)
 */
#include "hlo/normalise.h"

/* The dimension of the windows, of which the slice has the place with all elements; -1: it is no such slice. */
static int64_t total_of(const HloInstruction *i)
{
    if (i->opcode != HLO_SLICE || i->shape->dynamic) return -1;
    const HloInstruction *w = i->operands[0];
    HloScan scan;
    if (w->opcode != HLO_REDUCE_WINDOW || w->n_operands != 2 || w->n_users != 1 || w->n_predecessors) return -1;
    const HloShape *from = w->operands[0]->shape;
    if (!hlo_is_scan(w, &scan) || scan.shift || w->shape->dynamic) return -1;
    const int64_t d = scan.dim, n = from->dims[d], whole = scan.reverse ? 0 : n - 1; /* whose window holds all */
    if (n < 2 || w->shape->dims[d] != n || w->windows[d].size != n) return -1;
    return i->slices[d].start == whole && i->slices[d].limit == whole + 1 ? d : -1;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const int64_t dim = total_of(i);
    if (dim < 0) return NULL;
    const HloInstruction *w = i->operands[0];
    HloInstruction *x = hlo_mapped(b, w->operands[0]);
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, i->shape->rank + 1u);
    for (uint32_t d = 0; d < i->shape->rank; d++)
        slices[d] = d == dim ? (HloSlice){0, x->shape->dims[d], 1} : i->slices[d];
    x = hlo_new_slice(b, x, slices);
    x = hlo_new_reduce(b, x, hlo_mapped(b, w->operands[1]), &dim, 1, b->made[w->called[0]->id]);
    return hlo_new_reshape(b, x, i->shape->rank, i->shape->dims);
}

static bool applies(const HloInstruction *i) { return total_of(i) >= 0; }

const HloModule *hlo_pass_total(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = applies, .rewrite = rewrite});
}
