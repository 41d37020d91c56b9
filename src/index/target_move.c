/* target_move.c: input to output of operations that move elements independently of values.
 *
 * Needs a query with the index of an operand's element. Leaves the index in the result, and the conditions under which
 * the element is in it. Dimensions that the operand does not determine are loops.
 *
 *     broadcast dimensions={1} into [3,8]   (d0) over s0   =>   (s0, d0)
 *     slice={[2:10:3]}                      d0             =>   (d0 - 2) / 3 if (d0 - 2) mod 3 = 0, d0 - 2 in [0, 6]
 */
#include "index/access.h"

/* --- to all elements, and to the same index ----------------------------------------------------------------------- */

static void list_all(IxList *l)
{
    const HloShape *s = ix_leaf(l->a, l->i->shape, l->output);
    for (uint32_t d = 0; d < s->rank; d++) ix_list_size(l, s->dims[d]);
}

static void to_all(IxQuery *q)
{
    const HloShape *s = ix_leaf(q->a, q->i->shape, q->output);
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = q->loops[d];
}

/* All elements share a scalar operand of an elementwise operation. */
static bool is_shared(const HloInstruction *i, uint32_t operand)
{
    return i->operands[operand]->shape->rank == 0 && i->shape->rank != 0;
}

static void list_same(IxList *l)
{
    if (is_shared(l->i, l->operand)) list_all(l);
}

static void to_same(IxQuery *q)
{
    if (is_shared(q->i, q->operand)) to_all(q);
    else
        for (uint32_t d = 0; d < q->i->shape->rank; d++) q->index[d] = q->from[d];
}

static void list_batch_norm(IxList *l)
{
    const int64_t feature = hlo_attribute_int(l->a, l->i, "feature_index", 0);
    for (uint32_t d = 0; l->operand && d < l->i->shape->rank; d++)
        if (d != feature) ix_list_size(l, l->i->shape->dims[d]);
}

static void to_batch_norm(IxQuery *q)
{
    const int64_t feature = hlo_attribute_int(q->a, q->i, "feature_index", 0);
    for (uint32_t d = 0, loop = 0; d < q->i->shape->rank; d++)
        q->index[d] = q->operand == 0 ? q->from[d] : d == feature ? q->from[0] : q->loops[loop++];
}

/* --- to another index --------------------------------------------------------------------------------------------- */

static void list_broadcast(IxList *l)
{
    const HloShape *s = l->i->operands[0]->shape;
    for (uint32_t d = 0; d < l->i->shape->rank; d++) {
        const int64_t k = hlo_place(l->i, d);
        if (k < 0 || s->dims[k] != l->i->shape->dims[d]) ix_list_size(l, l->i->shape->dims[d]);
    }
}

static void to_broadcast(IxQuery *q)
{
    const HloShape *s = q->i->operands[0]->shape;
    for (uint32_t d = 0, loop = 0; d < q->i->shape->rank; d++) {
        const int64_t k = hlo_place(q->i, d);
        q->index[d] = k < 0 || s->dims[k] != q->i->shape->dims[d] ? q->loops[loop++] : q->from[k];
    }
}

/* The index in the result's dimension that reads x in the operand's: what is read, the other way. */
static IrRef read_by(IxQuery *q, const HloRead *r, IrRef x)
{
    const int64_t n = q->i->shape->dims[r->dim];
    const bool falls = r->scale < 0;
    const IrRef at = falls ? rw_sub(q->rw, ix_index(q, r->offset), x) : ix_minus(q, x, r->offset);
    assert(!r->modulus || (r->modulus == n && (r->scale == 1 || r->scale == -1)));
    return r->modulus ? rw_mod(q->rw, at, n) : ix_quotient(q, at, falls ? -r->scale : r->scale, n);
}

static void to_moved(IxQuery *q)
{
    const HloShape *s = q->i->operands[0]->shape, *to = q->i->shape;
    HloRead r;
    switch (q->i->opcode) {
    case HLO_BITCAST: ix_bitcast(q->rw, q->a, s, to, q->from, q->index); return;
    case HLO_RESHAPE: ix_regroup(q->rw, s->rank, s->dims, q->from, to->rank, to->dims, q->index); return;
    default: break;
    }
    for (uint32_t d = 0; d < s->rank; d++)
        if (hlo_reads(q->i, d, &r) && r.dim >= 0) q->index[r.dim] = read_by(q, &r, q->from[d]);
}

static void to_pad(IxQuery *q)
{
    for (uint32_t d = 0; d < q->i->shape->rank; d++) {
        const HloPadding *p = &q->i->paddings[d];
        q->index[d] =
            ix_quotient(q, ix_plus(q, rw_scale(q->rw, q->from[d], ix_pad_step(p)), p->low), 1, q->i->shape->dims[d]);
    }
}

static void to_concatenate(IxQuery *q)
{
    const int64_t dim = q->i->dimensions[0];
    for (uint32_t d = 0; d < q->i->shape->rank; d++) q->index[d] = q->from[d];
    q->index[dim] = ix_plus(q, q->from[dim], ix_concat_offset(q->i, q->operand));
}

static void list_parts(IxList *l)
{
    const HloShape *s = l->i->operands[0]->shape;
    if (l->i->shape->rank > s->rank) ix_list_size(l, l->i->shape->dims[s->rank]);
}

static void to_bitcast_convert(IxQuery *q)
{
    const uint32_t rank = q->i->operands[0]->shape->rank;
    for (uint32_t d = 0; d < q->i->shape->rank; d++) q->index[d] = d < rank ? q->from[d] : q->loops[0];
}

const IxFamily ix_to_all = {list_all, NULL, to_all};
const IxFamily ix_to_same = {list_same, NULL, to_same};
const IxFamily ix_to_batch_norm = {list_batch_norm, NULL, to_batch_norm};
const IxFamily ix_to_broadcast = {list_broadcast, NULL, to_broadcast};
const IxFamily ix_to_moved = {NULL, NULL, to_moved};
const IxFamily ix_to_pad = {NULL, NULL, to_pad};
const IxFamily ix_to_concatenate = {NULL, NULL, to_concatenate};
const IxFamily ix_to_bitcast_convert = {list_parts, NULL, to_bitcast_convert};
