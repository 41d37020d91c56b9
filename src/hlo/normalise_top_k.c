/* normalise_top_k: a search for the largest or smallest elements as a sort.
 *
 * Needs: a verified HLO module. Leaves: a stable sort of the operand and of the place of each element in its row, by
 * the total order of floats (nan above infinity, -0 below +0), and a slice of the first k of both. Equal elements keep
 * their order, which is what XLA's decomposition of topk says.
 *
 *     (f32[8,2], s32[8,2]) topk(f32[8,100] x), k=2, largest=true
 *         s = sort(x, s32[8,100] iota(), iota_dimension=1), dimensions={1}, is_stable=true, to_apply=(GT, TOTALORDER)
 *         tuple(slice(s.0), [0:8], [0:2], slice(s.1), [0:8], [0:2])
 */
#include "hlo/normalise.h"

#include <string.h>

/* The operation, or the custom call that some frameworks write for it. */
static bool is_top_k(const HloInstruction *i)
{
    if (i->opcode != HLO_TOPK &&
        (i->opcode != HLO_CUSTOM_CALL || !i->target || strcmp(i->target, "TopK") != 0 || i->n_operands != 1))
        return false;
    const HloShape *r = i->shape, *s = i->operands[0]->shape;
    if (s->type == SC_TUPLE || !s->rank || sc_type_info[s->type].cls == 'C') return false;
    if (r->type != SC_TUPLE || r->n_elements != 2) return false;
    for (uint32_t k = 0; k < 2; k++) {
        const HloShape *part = r->elements[k];
        if (part->type == SC_TUPLE || part->rank != s->rank) return false;
        if (part->dims[s->rank - 1] > s->dims[s->rank - 1]) return false;
        for (uint32_t d = 0; d + 1u < s->rank; d++)
            if (part->dims[d] != s->dims[d]) return false;
    }
    return r->elements[0]->type == s->type && sc_is_int(r->elements[1]->type);
}

/* (x, y, place of x, place of y) -> x comes before y */
static HloComputation *comparator(HloBuilder *b, ScType type, ScType place, bool smallest)
{
    const HloShape *x = hlo_make_array(b->arena, type, 0, NULL), *p = hlo_make_array(b->arena, place, 0, NULL);
    const HloShape *shapes[] = {x, x, p, p};
    HloBuilder in = hlo_begin_computation(b, 4, shapes);
    HloInstruction *before = hlo_new_compare(&in, smallest ? HLO_LT : HLO_GT, in.list.items[0], in.list.items[1]);
    before->total_order = sc_is_float(type);
    return hlo_end_computation(&in, wbb_format(b->arena, "%s.%s", smallest ? "below" : "above", sc_type_info[type].hlo),
                               before);
}

static HloInstruction *first_of_rows(HloBuilder *b, HloInstruction *sorted, uint32_t k, const HloShape *to)
{
    HloInstruction *x = hlo_new_get_tuple_element(b, sorted, k);
    HloInstruction *i = hlo_new(b, HLO_SLICE, hlo_make_array(b->arena, to->type, to->rank, to->dims), 1, &x);
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, to->rank);
    for (uint32_t d = 0; d < to->rank; d++) slices[d] = (HloSlice){0, to->dims[d], 1};
    i->slices = slices;
    i->n_windows = to->rank;
    return i;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!is_top_k(i)) return NULL;
    HloInstruction *x = hlo_mapped(b, i->operands[0]);
    const HloShape *s = x->shape;
    const int64_t row = s->rank - 1;
    const ScType place = i->shape->elements[1]->type;
    const char *largest = hlo_attribute(b->arena, i, "largest");
    HloComputation *c = comparator(b, s->type, place, largest && strcmp(largest, "false") == 0);
    HloInstruction *operands[] = {x, hlo_new_iota(b, place, s->rank, s->dims, row)};
    HloInstruction *sorted = hlo_new_sort(b, 2, operands, row, c), *results[2];
    for (uint32_t k = 0; k < 2; k++) results[k] = first_of_rows(b, sorted, k, i->shape->elements[k]);
    return hlo_new_tuple(b, 2, results);
}

const HloModule *hlo_pass_top_k(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_top_k, .rewrite = rewrite});
}
