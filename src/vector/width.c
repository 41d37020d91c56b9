/* width.c: 32 or 64 bits for each index expression, by proof.
 *
 * Needs final sums (after vectorising); leaves SC_FLAG_WIDE on every index node that may leave 32 signed bits, or a
 * partial result of which may. All others are computed in 32 bits. Nodes are copied and not simplified again.
 *
 *     8*t + v, t in 0..2**28   =>   sum.wide(8*wide(t) + v)
 */
#include "vector/vector.h"

void vec_width(IrKernel *k)
{
    IrGraph *g = k->g;
    WbbArena *scratch = wbb_arena_new(g->cx);
    const uint32_t n = g->n;
    const uint8_t *need = ir_needed(g, scratch, k);
    IrRef *made = WBB_NEW_N(scratch, IrRef, n);
    for (IrRef r = 1; r < n; r++) {
        if (!need[r]) continue;
        const bool index = IR_SC(ir_at(g, r)->type) == SC_INDEX;
        const uint32_t wide = index && !ir_fits_i32(g, r) ? (uint32_t)SC_FLAG_WIDE : 0;
        g->making_rule = g->rule[r];
        g->making_origin = g->origin[r];
        made[r] = ir_copy(g, r, made, ir_at(g, r)->flags | wide);
    }
    g->making_rule = g->making_origin = 0;
    ir_replace(k, made);
    wbb_arena_free(scratch);
}
