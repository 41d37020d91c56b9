/* access_move.c: operations that move elements independently of values: those of operand.c, and pad, concatenate, and
 * bitcast-convert to another width, whose operands have only some of the elements.
 *
 * Needs a query; leaves the operand's index and the conditions under which it has the element.
 *
 *     pad, padding=1_0_1      d0   =>   (d0 - 1) / 2, where (d0 - 1) mod 2 in [0, 0] and d0 - 1 in [0, 2*n - 2]
 *     concatenate of 5 and 3  d0   =>   operand 1: d0 - 5, where d0 - 5 in [0, 2]
 */
#include "index/access.h"

/* An operand with the result's dimensions, or a scalar for all elements. */
static void elementwise(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = q->from[d];
}

static void moving(IxQuery *q)
{
    if (ix_has_map(q->i, q->operand)) ix_operand(q->rw, q->a, q->i, q->operand, q->from, q->index);
    else if (q->operand == 0) elementwise(q); /* an operation that forwards its operand */
    else q->never = true;
}

static void pad(IxQuery *q)
{
    const HloShape *s = q->i->operands[0]->shape;
    if (q->operand) return; /* the padding value is a scalar */
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloPadding *p = &q->i->paddings[d];
        q->index[d] = ix_quotient(q, ix_minus(q, q->from[d], p->low), ix_pad_step(p), s->dims[d]);
    }
}

static void concatenate(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    const int64_t dim = q->i->dimensions[0];
    elementwise(q);
    q->index[dim] = ix_quotient(q, ix_minus(q, q->from[dim], ix_concat_offset(q->i, q->operand)), 1, s->dims[dim]);
}

/* Several narrow elements, along a last dimension, are one wide element. */
static void list_parts(IxList *l)
{
    const HloShape *s = l->i->operands[0]->shape;
    if (s->rank > l->i->shape->rank) ix_list_size(l, s->dims[s->rank - 1u]);
}

static void bitcast_convert(IxQuery *q)
{
    const HloShape *s = q->i->operands[0]->shape;
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = d < q->i->shape->rank ? q->from[d] : q->loops[0];
}

const IxFamily ix_elementwise = {NULL, NULL, elementwise};
const IxFamily ix_moving = {NULL, NULL, moving};
const IxFamily ix_pad = {NULL, NULL, pad};
const IxFamily ix_concatenate = {NULL, NULL, concatenate};
const IxFamily ix_bitcast_convert = {list_parts, NULL, bitcast_convert};
