/* epilogue.c: what a library adds to a product of matrices before it stores the result.
 *
 * Needs: a verified instruction. Leaves: the dot, an array of its shape and a row that are added to it, in this order.
 * The library sums in f32 and rounds each addition to f32, so the result has to be f32: a dot that the text rounds to
 * 16 bits before it adds would have another value. A maximum with 0 is no part of it: the library does not say that a
 * nan stays one, nor how near its GELU is to the formula.
 *
 *     d = f32[8,64] dot(x, w)  r = f32[8,64] add(d, residual)  ROOT y = f32[8,64] add(r, broadcast(bias))
 */
#include "hlo/normalise.h"

/* The row that a broadcast repeats for all rows of a product, or NULL. */
static const HloInstruction *row_of(WbbArena *a, const HloInstruction *x, const HloInstruction *dot)
{
    if (x->opcode != HLO_BROADCAST || !hlo_is_row_major(x->shape) || !hlo_is_row_major(x->operands[0]->shape))
        return NULL;
    const HloProduct p = hlo_product(a, dot);
    if (x->n_dimensions != p.n_columns || !p.n_columns) return NULL;
    for (uint32_t k = 0; k < p.n_columns; k++)
        if (x->dimensions[k] != p.n_batch + p.n_rows + k) return NULL;
    return x->operands[0];
}

bool hlo_epilogue_add(WbbArena *a, HloEpilogue *e, const HloInstruction *add)
{
    const HloInstruction *x = e->root ? e->root : e->product;
    if (add->opcode != HLO_ADD || add->shape->type != SC_F32 || e->product->n_operands != 2 || e->bias) return false;
    if (!hlo_same_layout(add->shape, x->shape) || (add->operands[0] == x) == (add->operands[1] == x)) return false;
    const HloInstruction *other = add->operands[add->operands[0] == x], *row = row_of(a, other, e->product);
    if (row) e->bias = row, e->repeated = other;
    else if (e->residual || !hlo_same_layout(other->shape, x->shape)) return false;
    else e->residual = other;
    e->root = add;
    return true;
}

HloEpilogue hlo_epilogue_of(WbbArena *a, const HloComputation *call)
{
    HloEpilogue e = {0};
    for (uint32_t k = 0; k < call->n_instructions; k++) {
        const HloInstruction *i = call->instructions[k];
        if (i->opcode == HLO_DOT) e = (HloEpilogue){.product = i};
        else if (e.product) hlo_epilogue_add(a, &e, i);
    }
    if (e.product && call->root != (e.root ? e.root : e.product)) e = (HloEpilogue){0};
    return e;
}
