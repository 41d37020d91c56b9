/* normalise_short: sorts of rows of a few elements as exchanges of neighbours.
 *
 * Needs: sorts of at most MOST elements whose comparator is elementwise. Leaves: a slice for each place of the rows;
 * comparisons of neighbours, the later one with the earlier, and selects, in as many rounds as there are places; and a
 * concatenation. Only neighbours change places, and only where the later one comes first: equal ones stay in their
 * order, and whatever the comparator says, a row has the elements that it had. Rows of one element, and sorts of none,
 * are their operands.
 *
 *     sort(f32[3,N]), dimensions={0}      rounds: 0 with 1, 1 with 2, 0 with 1
 */
#include "hlo/normalise.h"

enum { MOST = WBB_MAX(HLO_LIMIT_SORT_SHORT, HLO_LIMIT_SORT_LIGHT) }; /* elements */

/* Is there no pair of elements to compare? */
static bool is_sorted(const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    return s->dims[i->dimensions[0]] < 2 || !hlo_elements(s);
}

static bool is_short(const HloInstruction *i)
{
    if (!hlo_is_sort(i)) return false;
    if (is_sorted(i)) return true;
    const int64_t n = i->operands[0]->shape->dims[i->dimensions[0]];
    const bool light = i->n_operands <= HLO_LIMIT_SORT_LIGHT_OPERANDS &&
                       i->called[0]->n_instructions <= HLO_LIMIT_SORT_LIGHT_STEPS;
    return n <= (light ? MOST : HLO_LIMIT_SORT_SHORT);
}

/* Exchanges x[.][k] with x[.][k + 1] where the latter comes first; false: the comparator is not elementwise. */
static bool exchange(HloBuilder *b, const HloInstruction *i, HloInstruction *(*x)[MOST], int64_t k)
{
    HloInstruction **args = WBB_NEW_N(b->arena, HloInstruction *, 2 * i->n_operands);
    for (uint32_t o = 0; o < i->n_operands; o++) args[2 * o] = x[o][k + 1], args[2 * o + 1] = x[o][k];
    HloInstruction *first = hlo_map_body(b, b->made[i->called[0]->id], args, x[0][k]->shape);
    if (!first) return false;
    for (uint32_t o = 0; o < i->n_operands; o++) {
        HloInstruction *earlier = x[o][k], *later = x[o][k + 1];
        x[o][k] = hlo_new_select(b, first, later, earlier);
        x[o][k + 1] = hlo_new_select(b, first, earlier, later);
    }
    return true;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!is_short(i)) return NULL;
    const int64_t dim = i->dimensions[0], n = i->operands[0]->shape->dims[dim];
    HloInstruction *(*x)[MOST] = wbb_alloc(b->arena, i->n_operands * sizeof *x);
    HloInstruction **results = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    if (is_sorted(i)) {
        for (uint32_t o = 0; o < i->n_operands; o++) results[o] = hlo_mapped(b, i->operands[o]);
        return i->n_operands == 1 ? results[0] : hlo_new_tuple(b, i->n_operands, results);
    }
    for (uint32_t o = 0; o < i->n_operands; o++)
        for (int64_t k = 0; k < n; k++) x[o][k] = hlo_new_place(b, hlo_mapped(b, i->operands[o]), dim, k);
    for (int64_t round = 0; round < n; round++)
        for (int64_t k = round % 2; k + 1 < n; k += 2)
            if (!exchange(b, i, x, k)) return NULL;
    for (uint32_t o = 0; o < i->n_operands; o++) results[o] = hlo_new_concatenate(b, (uint32_t)n, x[o], dim);
    return i->n_operands == 1 ? results[0] : hlo_new_tuple(b, i->n_operands, results);
}

const HloModule *hlo_pass_short_sorts(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_short, .rewrite = rewrite});
}
