/* access_move.c: operations that place elements without looking at values, as operand.c has them, and those that also leave some out:
 * pad, concatenate, bitcast-convert to another width.
 *
 * Needs a question; leaves the operand's index and when there is one.
 *
 *     pad, padding=1_0_1      d0   =>   (d0 - 1) / 2, where (d0 - 1) mod 2 in [0, 0] and d0 - 1 in [0, 2*n - 2]
 *     concatenate of 5 and 3  d0   =>   operand 1: d0 - 5, where d0 - 5 in [0, 2]
 */
#include "index/access.h"

/* Operands of the result's dimensions, and scalars that all elements share. */
static void elementwise(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = q->from[d];
}

static void moving(IxQuery *q)
{
    if (ix_has_map(q->i, q->operand)) ix_operand(q->rw, q->a, q->i, q->operand, q->from, q->index);
    else if (q->operand == 0) elementwise(q); /* an operation that hands its operand on */
    else q->never = true;
}

static void pad(IxQuery *q)
{
    const HloShape *s = q->i->operands[0]->shape;
    if (q->operand) return; /* the value that fills is a scalar */
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloPadding *p = &q->i->paddings[d];
        q->index[d] = ix_quotient(q, ix_minus(q, q->from[d], p->low), ix_pad_step(p), s->dims[d]);
    }
}

static void concatenate(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    const int64_t along = q->i->dimensions[0];
    elementwise(q);
    q->index[along] = ix_quotient(q, ix_minus(q, q->from[along], ix_concat_offset(q->i, q->operand)), 1, s->dims[along]);
}

/* Elements of another width: several of the narrow ones, along a last dimension, are one of the wide ones. */
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
