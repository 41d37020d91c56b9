/* scan.c: which reductions of windows are scans: cumulative sums, products, maxima, from either end.
 *
 * Needs a verified reduce-window. Along one dimension its windows are prefixes of the operand, or suffixes, and each
 * has at most one element more than the one before; in all others they are of one element. Then each result is the one
 * before, combined with one element, and the work is linear in their number.
 *
 *     f32[8,100], size=1x100 pad=0_0x99_0      prefixes: at p element p joins
 *     f32[8,100], size=1x100 pad=0_0x100_0     f32[8,101], exclusive: at p element p - 1 joins
 *     f32[8,100], size=1x100 pad=0_0x0_99      suffixes: from the last p on, element p joins
 */
#include "partition/partition.h"

/* Is the result along dimension d the operand itself? */
static bool is_single(const HloWindow *w) { return w->size == 1 && w->low == 0 && w->high == 0; }

bool part_is_scan(const HloInstruction *i, PartScan *scan)
{
    bool found = false;
    if (i->opcode != HLO_REDUCE_WINDOW) return false;
    const HloShape *in = i->operands[0]->shape, *out = part_shape(i, 0);
    for (uint32_t d = 0; d < in->rank; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->stride != 1 || w->lhs_dilate != 1 || w->rhs_dilate != 1 || w->reversal) return false;
        if (is_single(w)) continue;
        if (found) return false;
        found = true, scan->dim = d;
    }
    if (!found || !hlo_elements(in) || !hlo_elements(out)) return false;
    const HloWindow *w = &i->windows[scan->dim];
    const int64_t n = in->dims[scan->dim], results = out->dims[scan->dim];
    /* window p is elements p - low .. p - low + size - 1 of the operand */
    const bool prefixes = results - 1 - w->low <= 0 && w->size - 1 - w->low <= 0;
    const bool suffixes = w->size - 1 - w->low >= n - 1 && results - 1 - w->low >= n - 1;
    scan->reverse = !prefixes;
    scan->shift = prefixes ? w->size - 1 - w->low : -w->low;
    return prefixes || suffixes;
}

bool part_scan_of(const HloInstruction *i, const TgTarget *t, PartScan *scan)
{
    return part_is_scan(i, scan) && part_shape(i, 0)->rank <= HLO_RANK_LIMIT &&
           part_shape(i, 0)->dims[scan->dim] > tg_tuned(t, "scan.straight");
}

const HloShape *part_space_shape(const HloInstruction *hero)
{
    return hero->opcode == HLO_REDUCE ? hero->operands[0]->shape : part_shape(hero, 0);
}
