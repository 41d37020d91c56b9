/* normalise_reduce: a reduction of several arrays that are combined apart from each other, as one of each.
 *
 * Needs: a verified HLO module. Leaves: of a reduce whose results are each one operation on their own accumulator and
 * element, a tuple of reduces of one array, whose computations are known to commute, have identities, and may be held
 * in wider types.
 *
 *     (f32[8], f32[8]) reduce(x, y, 0, -inf), to_apply=(add(a0, b0), maximum(a1, b1))
 *         tuple(reduce(x, 0), to_apply=add, reduce(y, -inf), to_apply=maximum)
 */
#include "hlo/normalise.h"

/* Is result k one operation on parameters k and n + k, in any order where the operation commutes? */
static bool is_own(const HloInstruction *r, int64_t k, int64_t n)
{
    if (!hlo_combines(r->opcode)) return false;
    const HloInstruction *x = r->operands[0], *y = r->operands[1];
    if (x->opcode != HLO_PARAMETER || y->opcode != HLO_PARAMETER) return false;
    if (x->shape->type != r->shape->type || y->shape->type != r->shape->type) return false;
    return (x->number == k && y->number == n + k) || (x->number == n + k && y->number == k);
}

static bool is_apart(const HloInstruction *i)
{
    if (i->opcode != HLO_REDUCE || i->n_operands < 4 || i->n_called != 1 || i->shape->type != SC_TUPLE) return false;
    const HloInstruction *root = i->called[0]->root;
    const uint32_t n = i->n_operands / 2;
    if (root->opcode != HLO_TUPLE || root->n_operands != n) return false;
    for (uint32_t k = 0; k < n; k++)
        if (i->operands[k]->shape->dynamic || !is_own(root->operands[k], k, n)) return false;
    return true;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!is_apart(i)) return NULL;
    const uint32_t n = i->n_operands / 2;
    HloInstruction **results = WBB_NEW_N(b->arena, HloInstruction *, n);
    for (uint32_t k = 0; k < n; k++) {
        const HloInstruction *r = i->called[0]->root->operands[k];
        const char *name = wbb_format(b->arena, "%s.%u", i->called[0]->name, k);
        HloComputation *c = hlo_new_combiner(b, r->opcode, r->shape, name);
        HloInstruction *x = hlo_mapped(b, i->operands[k]), *init = hlo_mapped(b, i->operands[n + k]);
        results[k] = hlo_new_reduce(b, x, init, i->dimensions, i->n_dimensions, c);
        results[k]->shape = i->shape->elements[k]; /* with its layout */
    }
    return hlo_new_tuple(b, n, results);
}

const HloModule *hlo_pass_reduce(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_apart, .rewrite = rewrite});
}
