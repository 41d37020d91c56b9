/* normalise_new: the instructions that passes make, one function each.
 *
 * Needs: a builder. Leaves: a new instruction at its end, of the shape that follows from the operands, with the default
 * layout.
 *
 *     hlo_new_splat(b, zero, 2, dims)      x.broadcast = f32[2,3] broadcast(zero), dimensions={}
 */
#include "hlo/normalise.h"

#include <string.h>

static int64_t *keep_ints(HloBuilder *b, const int64_t *list, uint32_t n)
{
    int64_t *kept = WBB_NEW_N(b->arena, int64_t, n ? n : 1);
    for (uint32_t k = 0; k < n; k++) kept[k] = list[k];
    return kept;
}

static const HloShape *array(HloBuilder *b, ScType type, uint32_t rank, const int64_t *dims)
{
    return hlo_make_array(b->arena, type, rank, dims);
}

HloInstruction *hlo_new_unary(HloBuilder *b, HloOpcode op, HloInstruction *x)
{
    return hlo_new(b, op, array(b, x->shape->type, x->shape->rank, x->shape->dims), 1, &x);
}

HloInstruction *hlo_new_binary(HloBuilder *b, HloOpcode op, HloInstruction *x, HloInstruction *y)
{
    HloInstruction *operands[] = {x, y};
    return hlo_new(b, op, array(b, x->shape->type, x->shape->rank, x->shape->dims), 2, operands);
}

HloInstruction *hlo_new_compare(HloBuilder *b, HloDirection d, HloInstruction *x, HloInstruction *y)
{
    HloInstruction *operands[] = {x, y};
    HloInstruction *i = hlo_new(b, HLO_COMPARE, array(b, SC_PRED, x->shape->rank, x->shape->dims), 2, operands);
    i->direction = d;
    return i;
}

HloInstruction *hlo_new_select(HloBuilder *b, HloInstruction *predicate, HloInstruction *x, HloInstruction *y)
{
    HloInstruction *operands[] = {predicate, x, y};
    return hlo_new(b, HLO_SELECT, array(b, x->shape->type, x->shape->rank, x->shape->dims), 3, operands);
}

HloInstruction *hlo_new_convert(HloBuilder *b, HloInstruction *x, ScType type)
{
    if (x->shape->type == type) return x;
    return hlo_new(b, HLO_CONVERT, array(b, type, x->shape->rank, x->shape->dims), 1, &x);
}

HloInstruction *hlo_new_scalar(HloBuilder *b, ScType type, double value)
{
    return hlo_new_bits(b, type, sc_from_f64(type, value));
}

HloInstruction *hlo_new_bits(HloBuilder *b, ScType type, uint64_t bits)
{
    HloInstruction *i = hlo_new(b, HLO_CONSTANT, array(b, type, 0, NULL), 0, NULL);
    char *bytes = wbb_alloc(b->arena, sc_bytes(type));
    memcpy(bytes, &bits, WBB_MIN(sc_bytes(type), sizeof bits));
    i->literal = bytes;
    return i;
}

HloInstruction *hlo_new_reverse(HloBuilder *b, HloInstruction *x, const int64_t *dimensions, uint32_t n)
{
    if (!n) return x;
    HloInstruction *i = hlo_new(b, HLO_REVERSE, array(b, x->shape->type, x->shape->rank, x->shape->dims), 1, &x);
    i->dimensions = keep_ints(b, dimensions, n);
    i->n_dimensions = n;
    return i;
}

HloInstruction *hlo_new_broadcast(HloBuilder *b, HloInstruction *x, const HloShape *like, const int64_t *dimensions,
                                  uint32_t n)
{
    HloInstruction *i = hlo_new(b, HLO_BROADCAST, array(b, x->shape->type, like->rank, like->dims), 1, &x);
    i->dimensions = keep_ints(b, dimensions, n);
    i->n_dimensions = n;
    return i;
}

HloInstruction *hlo_new_splat(HloBuilder *b, HloInstruction *scalar, uint32_t rank, const int64_t *dims)
{
    if (rank == 0) return scalar;
    return hlo_new_broadcast(b, scalar, array(b, scalar->shape->type, rank, dims), NULL, 0);
}

HloInstruction *hlo_new_number(HloBuilder *b, ScType type, double value, const HloShape *like)
{
    return hlo_new_splat(b, hlo_new_scalar(b, type, value), like->rank, like->dims);
}

HloInstruction *hlo_new_iota(HloBuilder *b, ScType type, uint32_t rank, const int64_t *dims, int64_t dimension)
{
    HloInstruction *i = hlo_new(b, HLO_IOTA, array(b, type, rank, dims), 0, NULL);
    i->number = dimension;
    return i;
}

HloInstruction *hlo_new_reshape(HloBuilder *b, HloInstruction *x, uint32_t rank, const int64_t *dims)
{
    const HloShape *s = array(b, x->shape->type, rank, dims);
    return hlo_same_dims(x->shape, s) ? x : hlo_new(b, HLO_RESHAPE, s, 1, &x);
}

HloInstruction *hlo_new_transpose(HloBuilder *b, HloInstruction *x, const int64_t *permutation)
{
    uint32_t rank = x->shape->rank;
    int64_t dims[HLO_RANK_LIMIT];
    bool moves = false;
    for (uint32_t d = 0; d < rank; d++) {
        dims[d] = x->shape->dims[permutation[d]];
        moves = moves || permutation[d] != d;
    }
    if (!moves) return x;
    HloInstruction *i = hlo_new(b, HLO_TRANSPOSE, array(b, x->shape->type, rank, dims), 1, &x);
    i->dimensions = keep_ints(b, permutation, rank);
    i->n_dimensions = rank;
    return i;
}

HloInstruction *hlo_new_column(HloBuilder *b, HloInstruction *matrix, int64_t column)
{
    return hlo_new_place(b, matrix, 1, column);
}

HloInstruction *hlo_new_place(HloBuilder *b, HloInstruction *x, int64_t dimension, int64_t k)
{
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, x->shape->rank);
    for (uint32_t d = 0; d < x->shape->rank; d++)
        slices[d] = d == dimension ? (HloSlice){k, k + 1, 1} : (HloSlice){0, x->shape->dims[d], 1};
    return hlo_new_slice(b, x, slices);
}

HloInstruction *hlo_new_sort(HloBuilder *b, uint32_t n, HloInstruction *const *operands, int64_t dimension,
                             HloComputation *c)
{
    const HloShape **shapes = WBB_NEW_N(b->arena, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) {
        const HloShape *s = operands[k]->shape;
        shapes[k] = array(b, s->type, s->rank, s->dims);
    }
    const HloShape *all = n == 1 ? shapes[0] : hlo_make_tuple(b->arena, n, shapes);
    HloInstruction *i = hlo_new(b, HLO_SORT, all, n, operands);
    i->dimensions = keep_ints(b, &dimension, 1);
    i->n_dimensions = 1;
    hlo_set_computation(b, i, "to_apply", c);
    hlo_set_attributes(b, i, ", is_stable=true");
    return i;
}

HloInstruction *hlo_new_slice(HloBuilder *b, HloInstruction *x, const HloSlice *slices)
{
    const HloShape *s = x->shape;
    int64_t dims[HLO_RANK_LIMIT];
    bool whole = true;
    for (uint32_t d = 0; d < s->rank; d++) {
        dims[d] = (slices[d].limit - slices[d].start + slices[d].stride - 1) / slices[d].stride;
        whole = whole && dims[d] == s->dims[d];
    }
    if (whole) return x;
    HloInstruction *i = hlo_new(b, HLO_SLICE, array(b, s->type, s->rank, dims), 1, &x);
    i->slices = slices;
    i->n_windows = s->rank;
    return i;
}

HloInstruction *hlo_new_pad(HloBuilder *b, HloInstruction *x, HloInstruction *value, const HloPadding *paddings)
{
    const HloShape *s = x->shape;
    int64_t dims[HLO_RANK_LIMIT];
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloPadding *p = &paddings[d];
        dims[d] = s->dims[d] + (s->dims[d] ? s->dims[d] - 1 : 0) * p->interior + p->low + p->high;
    }
    HloInstruction *operands[] = {x, value};
    HloInstruction *i = hlo_new(b, HLO_PAD, array(b, s->type, s->rank, dims), 2, operands);
    i->paddings = paddings;
    i->n_windows = s->rank;
    return i;
}

HloInstruction *hlo_new_concatenate(HloBuilder *b, uint32_t n, HloInstruction *const *parts, int64_t dimension)
{
    if (n == 1) return parts[0];
    const HloShape *s = parts[0]->shape;
    int64_t dims[HLO_RANK_LIMIT];
    memcpy(dims, s->dims, s->rank * sizeof *dims);
    for (uint32_t k = 1; k < n; k++) dims[dimension] += parts[k]->shape->dims[dimension];
    HloInstruction *i = hlo_new(b, HLO_CONCATENATE, array(b, s->type, s->rank, dims), n, parts);
    i->dimensions = keep_ints(b, &dimension, 1);
    i->n_dimensions = 1;
    return i;
}

void hlo_set_computation(HloBuilder *b, HloInstruction *i, const char *attribute, HloComputation *c)
{
    HloComputation **called = WBB_NEW(b->arena, HloComputation *);
    const char **by = WBB_NEW(b->arena, const char *);
    called[0] = c;
    by[0] = wbb_intern_z(b->cx, attribute);
    i->called = called;
    i->called_by = by;
    i->n_called = 1;
}

HloInstruction *hlo_new_reduce(HloBuilder *b, HloInstruction *x, HloInstruction *init, const int64_t *dimensions,
                               uint32_t n, HloComputation *c)
{
    HloInstruction *operands[] = {x, init};
    int64_t dims[HLO_RANK_LIMIT];
    uint64_t reduced = 0;
    uint32_t rank = 0;
    for (uint32_t k = 0; k < n; k++) reduced |= UINT64_C(1) << dimensions[k];
    for (uint32_t d = 0; d < x->shape->rank; d++)
        if (!(reduced >> d & 1)) dims[rank++] = x->shape->dims[d];
    HloInstruction *i = hlo_new(b, HLO_REDUCE, array(b, init->shape->type, rank, dims), 2, operands);
    i->dimensions = keep_ints(b, dimensions, n);
    i->n_dimensions = n;
    hlo_set_computation(b, i, "to_apply", c);
    return i;
}

HloInstruction *hlo_new_tuple(HloBuilder *b, uint32_t n, HloInstruction *const *parts)
{
    const HloShape **elements = WBB_NEW_N(b->arena, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) elements[k] = parts[k]->shape;
    return hlo_new(b, HLO_TUPLE, hlo_make_tuple(b->arena, n, elements), n, parts);
}

const char *hlo_ints_attribute(HloBuilder *b, const char *name, HloInts list)
{
    WbbBuf text = wbb_buf(b->arena);
    wbb_putf(&text, ", %s={", name);
    hlo_put_ints(&text, list.items, list.n);
    wbb_put(&text, "}");
    return text.text;
}

HloComputation *hlo_new_combiner(HloBuilder *b, HloOpcode op, const HloShape *s, const char *name)
{
    HloBuilder in = hlo_begin_computation(b, 2, (const HloShape *[]){s, s});
    HloInstruction *root = hlo_new_binary(&in, op, in.list.items[0], in.list.items[1]);
    return hlo_end_computation(&in, name, root);
}
