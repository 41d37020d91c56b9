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

/* Does the computation give the same result in every order of terms, as far as single operations can tell? A sum of
 * floats does not, but what it may be is known for any order. */
static bool is_serial(const HloComputation *c)
{
    if (hlo_is_operation(c)) return false;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        const ScType t = i->shape->type;
        if (t == SC_TUPLE || !(sc_is_float(t) || sc_type_info[t].cls == 'C')) continue;
        switch (i->opcode) {
        case HLO_PARAMETER: case HLO_CONSTANT: case HLO_SELECT: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_NEGATE:
        case HLO_ABS: case HLO_COPY: case HLO_GET_TUPLE_ELEMENT: break;
        default: return true;
        }
    }
    return false;
}

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
    scan->serial = is_serial(i->called[0]);
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
