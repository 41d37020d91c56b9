/* normalise_windows: large windows as windows of windows.
 *
 * Needs: an HLO module, and for reductions of windows of one array by one operation, with its identity as initial
 * value, how many neighbours of a window come first (HloRewriter.same; where a window has several dimensions, all of
 * its largest one). Leaves: a reduction of so many elements, at each place where a window has such a part, and a
 * reduction of these parts. The terms of a result are those of the text, grouped; sums and products of floats under 32
 * bits are of f32.
 *
 *     f32[64,3841] reduce-window(x, 0), window={size=1x256}, add
 *         t = f32[64,4081] reduce-window(x, 0), window={size=1x16}, add
 *         f32[64,3841] reduce-window(t, 0), window={size=1x16 rhs_dilate=1x16}, add
 */
#include "hlo/normalise.h"

static HloWindow single(void) { return (HloWindow){.size = 1, .stride = 1, .lhs_dilate = 1, .rhs_dilate = 1}; }

static HloInstruction *reduced(HloBuilder *b, const HloInstruction *i, HloInstruction *x, HloInstruction *init,
                               HloComputation *wide, const HloWindow *windows, const char *stem)
{
    HloInstruction *operands[] = {x, init}, *y = hlo_copy_with_operands(b, i, operands);
    int64_t dims[HLO_RANK_LIMIT];
    for (uint32_t d = 0; d < x->shape->rank; d++) {
        const HloWindow *w = &windows[d];
        dims[d] = (x->shape->dims[d] + w->low + w->high - (w->size - 1) * w->rhs_dilate - 1) / w->stride + 1;
    }
    if (wide) hlo_set_computation(b, y, "to_apply", wide);
    y->shape = hlo_make_array(b->arena, x->shape->type, x->shape->rank, dims);
    y->windows = windows, y->n_windows = x->shape->rank;
    y->name = hlo_unique_name(b, wbb_format(b->arena, "%s.%s", i->name, stem));
    return y;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    const int64_t first = b->same ? b->same[i->id] : 0;
    if (!first) return NULL;
    const uint32_t rank = i->operands[0]->shape->rank;
    HloWindow *inner = WBB_NEW_N(b->arena, HloWindow, rank), *outer = WBB_NEW_N(b->arena, HloWindow, rank);
    uint32_t dim = 0, several = 0;
    for (uint32_t d = 0; d < rank; d++) {
        if (i->windows[d].size > i->windows[dim].size) dim = d;
        several += i->windows[d].size > 1;
        inner[d] = single(), outer[d] = i->windows[d];
    }
    inner[dim] = i->windows[dim];
    if (several > 1) {
        outer[dim] = single();
    } else {
        HloWindow *w = &outer[dim];
        const int64_t step = first * w->rhs_dilate;
        inner[dim].size = first;
        w->size /= first, w->rhs_dilate = step, w->low = w->high = 0;
        if (step % w->stride == 0) w->rhs_dilate /= w->stride, w->stride = 1;
        else inner[dim].stride = 1;
    }
    HloComputation *wide = hlo_wider(b, i);
    HloInstruction *x = hlo_mapped(b, i->operands[0]), *init = hlo_mapped(b, i->operands[1]);
    if (wide) x = hlo_new_convert(b, x, SC_F32), init = hlo_new_convert(b, init, SC_F32);
    HloInstruction *parts = reduced(b, i, x, init, wide, inner, "parts");
    HloInstruction *whole = reduced(b, i, parts, init, wide, outer, "whole");
    if (wide) return hlo_new_convert(b, whole, i->shape->type);
    return hlo_new(b, HLO_COPY, i->shape, 1, &whole); /* what is returned has the name of i, whose order is another */
}

const HloModule *hlo_split_windows(WbbCx *cx, WbbArena *a, const HloModule *m, const uint32_t *const *first)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .same = first});
}
