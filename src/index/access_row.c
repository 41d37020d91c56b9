/* access_row.c: operations whose elements may each need a whole row, matrix or feature: sort, topk, scan, cholesky,
 * triangular-solve, fft, batch-norm-*. Both directions.
 *
 * Needs a query with a node for each loop; leaves the index of every element that may be needed.
 *
 *     sort dimensions={0}                (d0, d1) over s0   =>   (s0, d1), of all operands
 *     scan dimensions={0}, output 0      (d0) over s0       =>   (s0), where d0 - s0 in [0, n-1]
 */
#include "index/access.h"

static int64_t sorted_dimension(const HloInstruction *i)
{
    return i->opcode == HLO_TOPK ? i->operands[0]->shape->rank - 1 : i->dimensions[0];
}

static void list_sort(IxList *l) { ix_list_size(l, l->i->operands[0]->shape->dims[sorted_dimension(l->i)]); }

static void sort(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = d == sorted_dimension(q->i) ? q->loops[0] : q->from[d];
}

static void list_to_sort(IxList *l)
{
    ix_list_size(l, ix_leaf(l->a, l->i->shape, l->output)->dims[sorted_dimension(l->i)]);
}

static void to_sort(IxQuery *q)
{
    const HloShape *s = ix_leaf(q->a, q->i->shape, q->output);
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = d == sorted_dimension(q->i) ? q->loops[0] : q->from[d];
}

/* --- scan --------------------------------------------------------------------------------------------------------- */

static bool is_input(WbbArena *a, const HloInstruction *i, uint32_t operand)
{
    return (int64_t)operand < (int64_t)i->n_operands - hlo_attribute_int(a, i, "num_carries", 0);
}

/* Is the leaf an output, which has the scanned dimension? Else it is the last carried value. */
static bool is_output(WbbArena *a, const HloInstruction *i, uint32_t leaf)
{
    return (int64_t)leaf < (int64_t)i->shape->n_leaves - hlo_attribute_int(a, i, "num_carries", 0);
}

/* The computation of a scan may use all elements of a slice and, by its carried values, of the slices before. */
static void list_scan(IxList *l)
{
    const HloShape *s = l->i->operands[l->operand]->shape;
    for (uint32_t d = 0; d < s->rank; d++) ix_list_size(l, s->dims[d]);
}

static void scan(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    const int64_t dim = q->i->dimensions[0];
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = q->loops[d];
    if (!is_input(q->a, q->i, q->operand) || !is_output(q->a, q->i, q->output)) return;
    const bool reverse = hlo_attribute_true(q->a, q->i, "is_reverse");
    const IrRef out = q->from[dim], in = q->loops[dim];
    ix_require(q, reverse ? rw_sub(q->rw, in, out) : rw_sub(q->rw, out, in), 0, WBB_MAX(s->dims[dim] - 1, 0));
}

static void list_to_scan(IxList *l)
{
    const HloShape *s = ix_leaf(l->a, l->i->shape, l->output);
    for (uint32_t d = 0; d < s->rank; d++) ix_list_size(l, s->dims[d]);
}

static void to_scan(IxQuery *q)
{
    const HloShape *s = ix_leaf(q->a, q->i->shape, q->output);
    const int64_t dim = q->i->dimensions[0];
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = q->loops[d];
    if (!is_input(q->a, q->i, q->operand) || !is_output(q->a, q->i, q->output)) return;
    const bool reverse = hlo_attribute_true(q->a, q->i, "is_reverse");
    const IrRef out = q->loops[dim], in = q->from[dim];
    ix_require(q, reverse ? rw_sub(q->rw, in, out) : rw_sub(q->rw, out, in), 0, WBB_MAX(s->dims[dim] - 1, 0));
}

/* --- matrices ----------------------------------------------------------------------------------------------------- */

/* Any element of the matrix, which has the last two dimensions. */
static void list_matrix(IxList *l)
{
    const HloShape *s = l->i->operands[l->operand]->shape;
    for (uint32_t d = s->rank - 2u; d < s->rank; d++) ix_list_size(l, s->dims[d]);
}

static void matrix(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = d + 2 < s->rank ? q->from[d] : q->loops[d + 2 - s->rank];
}

static void list_to_matrix(IxList *l)
{
    const HloShape *s = l->i->shape;
    for (uint32_t d = s->rank - 2u; d < s->rank; d++) ix_list_size(l, s->dims[d]);
}

static void to_matrix(IxQuery *q)
{
    const HloShape *s = q->i->shape;
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = d + 2 < s->rank ? q->from[d] : q->loops[d + 2 - s->rank];
}

static uint32_t transformed(WbbArena *a, const HloInstruction *i)
{
    uint32_t n = 0;
    hlo_attribute_ints(a, i, "fft_length", &n);
    return WBB_MIN(n, i->shape->rank);
}

static void list_transform(IxList *l)
{
    const HloShape *s = l->i->operands[0]->shape;
    for (uint32_t d = s->rank - transformed(l->a, l->i); d < s->rank; d++) ix_list_size(l, s->dims[d]);
}

static void transform(IxQuery *q)
{
    const uint32_t rank = q->i->operands[0]->shape->rank, kept = rank - transformed(q->a, q->i);
    for (uint32_t d = 0; d < rank; d++) q->index[d] = d < kept ? q->from[d] : q->loops[d - kept];
}

static void list_to_transform(IxList *l)
{
    const HloShape *s = l->i->shape;
    for (uint32_t d = s->rank - transformed(l->a, l->i); d < s->rank; d++) ix_list_size(l, s->dims[d]);
}

static void batch_norm(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    if (q->operand) q->index[0] = q->from[hlo_attribute_int(q->a, q->i, "feature_index", 0)];
    for (uint32_t d = 0; q->operand == 0 && d < s->rank; d++) q->index[d] = q->from[d];
}

/* batch-norm-training and -grad: results of a feature need all of that feature. A value has the dimensions of operand
 * 0, or is a vector of features. */
static int64_t feature_of(WbbArena *a, const HloInstruction *i, const HloShape *s)
{
    return s->rank == i->operands[0]->shape->rank ? hlo_attribute_int(a, i, "feature_index", 0) : 0;
}

static void list_others(IxList *l, const HloShape *s)
{
    for (int64_t d = 0; d < s->rank; d++)
        if (d != feature_of(l->a, l->i, s)) ix_list_size(l, s->dims[d]);
}

static void feature(IxQuery *q, const HloShape *from, const HloShape *to)
{
    const int64_t there = feature_of(q->a, q->i, to);
    for (int64_t d = 0, loop = 0; d < to->rank; d++)
        q->index[d] = d == there ? q->from[feature_of(q->a, q->i, from)] : q->loops[loop++];
}

static void list_features(IxList *l) { list_others(l, l->i->operands[l->operand]->shape); }
static void features(IxQuery *q)
{
    feature(q, ix_leaf(q->a, q->i->shape, q->output), q->i->operands[q->operand]->shape);
}
static void list_to_features(IxList *l) { list_others(l, ix_leaf(l->a, l->i->shape, l->output)); }
static void to_features(IxQuery *q)
{
    feature(q, q->i->operands[q->operand]->shape, ix_leaf(q->a, q->i->shape, q->output));
}

const IxFamily ix_sort = {list_sort, NULL, sort};
const IxFamily ix_scan = {list_scan, NULL, scan};
const IxFamily ix_matrix = {list_matrix, NULL, matrix};
const IxFamily ix_transform = {list_transform, NULL, transform};
const IxFamily ix_batch_norm = {NULL, NULL, batch_norm};
const IxFamily ix_features = {list_features, NULL, features};
const IxFamily ix_to_features = {list_to_features, NULL, to_features};
const IxFamily ix_to_sort = {list_to_sort, NULL, to_sort};
const IxFamily ix_to_scan = {list_to_scan, NULL, to_scan};
const IxFamily ix_to_matrix = {list_to_matrix, NULL, to_matrix};
const IxFamily ix_to_transform = {list_to_transform, NULL, transform};
