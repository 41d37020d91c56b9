/* width.c: 32 or 64 bits for each index expression, by proof.
 *
 * Needs final sums (after vectorising); leaves SC_FLAG_WIDE on every index node that may leave 32 signed bits, or a
 * partial result of which may. All others are computed in 32 bits. Nodes are copied and not simplified again.
 *
 *     8*t + v, t in 0..2**28   =>   sum.wide(8*wide(t) + v)
 */
#include "vector/vector.h"

static IrRef with_width(void *graph, IrRef r, const IrRef *made, const uint8_t *need)
{
    IrGraph *g = graph;
    (void)need;
    const bool wide = IR_SC(ir_at(g, r)->type) == SC_INDEX && !ir_fits_i32(g, r);
    return ir_copy(g, r, made, ir_at(g, r)->flags | (wide ? (uint32_t)SC_FLAG_WIDE : 0));
}

void vec_width(IrKernel *k) { ir_remake(k, with_width, k->g); }
