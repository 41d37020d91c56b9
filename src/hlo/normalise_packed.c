/* normalise_packed: sorts of elements that share a byte as sorts of elements of a byte or two.
 *
 * Needs: sorts with operands of less than 8 bits, whose comparator is elementwise. Leaves: conversions of these to the
 * types of WIDER, which have each of their values; a sort by the same comparator of the values converted back; and
 * conversions back of its results.
 *
 *     s = s4[9,100] sort(x), dimensions={1}, to_apply=c
 *         y = s8[9,100] sort(convert(x)), to_apply=(c(convert(a), convert(b)))     s = s4[9,100] convert(y)
 */
#include "hlo/normalise.h"

static ScType wider(ScType t)
{
    const ScTypeInfo *info = &sc_type_info[t];
    if (t == SC_PRED || info->bits >= 8 || info->bits == 0) return t;
    return info->cls == 'I' ? SC_I8 : info->cls == 'U' ? SC_U8 : SC_BF16;
}

static bool is_packed(const HloInstruction *i)
{
    bool packed = false;
    if (!hlo_is_sort(i)) return false;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const ScType t = i->operands[k]->shape->type;
        packed = packed || wider(t) != t;
    }
    return packed;
}

/* The comparator of i for wider operands; NULL: it is not elementwise. */
static HloComputation *comparator(HloBuilder *b, const HloInstruction *i)
{
    const uint32_t n = 2 * i->n_operands;
    const HloShape **shapes = WBB_NEW_N(b->arena, const HloShape *, n);
    HloInstruction **args = WBB_NEW_N(b->arena, HloInstruction *, n);
    for (uint32_t k = 0; k < n; k++)
        shapes[k] = hlo_make_array(b->arena, wider(i->operands[k / 2]->shape->type), 0, NULL);
    HloBuilder in = hlo_begin_computation(b, n, shapes);
    for (uint32_t k = 0; k < n; k++)
        args[k] = hlo_new_convert(&in, in.list.items[k], i->operands[k / 2]->shape->type);
    HloInstruction *root = hlo_map_body(&in, b->made[i->called[0]->id], args, shapes[0]);
    return root ? hlo_end_computation(&in, wbb_format(b->arena, "%s.wide", i->called[0]->name), root) : NULL;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!is_packed(i)) return NULL;
    HloComputation *c = comparator(b, i);
    if (!c) return NULL;
    HloInstruction **x = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++)
        x[k] = hlo_new_convert(b, hlo_mapped(b, i->operands[k]), wider(i->operands[k]->shape->type));
    HloInstruction *sorted = hlo_new_sort(b, i->n_operands, x, i->dimensions[0], c);
    if (i->n_operands == 1) return hlo_new_convert(b, sorted, i->operands[0]->shape->type);
    for (uint32_t k = 0; k < i->n_operands; k++)
        x[k] = hlo_new_convert(b, hlo_new_get_tuple_element(b, sorted, k), i->operands[k]->shape->type);
    return hlo_new_tuple(b, i->n_operands, x);
}

const HloModule *hlo_pass_packed_sorts(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_packed, .rewrite = rewrite});
}
