/* target_window.c: input to output of operations that combine many elements: reduce, reduce-window, dot, convolution,
 * select-and-scatter.
 *
 * Needs a query with the index of an operand's element. Leaves the index of a result that it takes part in, over loops,
 * and conditions.
 *
 *     reduce dimensions={1}                  (d0, d1)           =>   (d0)
 *     reduce-window size=3 stride=2 pad=1_1  (d0) over s0       =>   (d0 - s0 + 1) / 2, where there is no remainder
 *     dot of [m,k] and [k,n], operand 0      (d0, d1) over s0   =>   (d0, s0)
 */
#include "index/access.h"

static void to_reduce(IxQuery *q)
{
    const HloInts reduced = {q->i->dimensions, q->i->n_dimensions};
    const HloShape *s = q->i->operands[0]->shape;
    for (uint32_t d = 0, out = 0; d < s->rank; d++)
        if (!hlo_holds(reduced, d)) q->index[out++] = q->from[d];
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

static void list_window(IxList *l)
{
    for (uint32_t d = 0; d < l->i->n_windows; d++) ix_list_size(l, l->i->windows[d].size);
}

/* The number of the window, of n, in which the element is number `at`. */
static IrRef window_of(IxQuery *q, const HloWindow *w, IrRef element, IrRef at, int64_t n)
{
    const IrRef position = rw_sub(q->rw, rw_scale(q->rw, element, w->lhs_dilate), rw_scale(q->rw, at, w->rhs_dilate));
    return ix_quotient(q, ix_plus(q, position, w->low), w->stride, n);
}

static IrRef element_of(IxQuery *q, const HloWindow *w, IrRef window, IrRef at, int64_t n)
{
    const IrRef position = rw_add(q->rw, rw_scale(q->rw, window, w->stride), rw_scale(q->rw, at, w->rhs_dilate));
    return ix_quotient(q, ix_minus(q, position, w->low), w->lhs_dilate, n);
}

static void to_window(IxQuery *q)
{
    const HloShape *s = ix_leaf(q->a, q->i->shape, q->output);
    for (uint32_t d = 0; d < s->rank; d++)
        q->index[d] = window_of(q, &q->i->windows[d], q->from[d], q->loops[d], s->dims[d]);
}

/* A value of the source goes to some element of its window; an element of the operand may change what the windows
 * select that contain it. */
static void list_select_scatter(IxList *l)
{
    list_window(l);
    if (l->operand == 0) list_window(l);
}

static void to_select_scatter(IxQuery *q)
{
    const HloShape *s = q->i->shape, *source = q->i->operands[1]->shape;
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloWindow *w = &q->i->windows[d];
        IrRef window = q->from[d];
        if (q->operand == 0) window = window_of(q, w, window, q->loops[s->rank + d], source->dims[d]);
        q->index[d] = element_of(q, w, window, q->loops[d], s->dims[d]);
    }
}

/* --- dot ---------------------------------------------------------------------------------------------------------- */

/* How many elements of its operand one scale of a scaled-dot is for; 1 for the operands themselves. */
static int64_t factor(const HloInstruction *i, uint32_t operand, uint32_t d)
{
    const HloShape *s = i->operands[operand % 2]->shape, *scale = i->operands[operand]->shape;
    return scale->dims[d] ? WBB_MAX(s->dims[d] / scale->dims[d], 1) : 1;
}

/* Loops over the free dimensions of the other side; for scales, also over the elements that share a scale, in batch and
 * free dimensions. */
static void list_dot(IxList *l)
{
    const HloDotDims d = hlo_dot_dims(l->a, l->i);
    const uint32_t side = l->operand % 2;
    const HloInts batch = side ? d.lhs_batch : d.rhs_batch, contracting = side ? d.lhs_contracting : d.rhs_contracting;
    const HloInts own = side ? d.rhs_contracting : d.lhs_contracting;
    const HloShape *other = l->i->operands[!side]->shape, *s = l->i->operands[side]->shape;
    for (uint32_t p = 0; p < other->rank; p++)
        if (!hlo_holds(batch, p) && !hlo_holds(contracting, p)) ix_list_size(l, other->dims[p]);
    if (l->operand < 2) return;
    const bool shared = l->i->operands[l->operand]->shape->rank != s->rank;
    for (uint32_t p = 0; p < s->rank; p++)
        if (!hlo_holds(own, p)) ix_list_size(l, shared ? s->dims[p] : factor(l->i, l->operand, p));
}

static void to_dot(IxQuery *q)
{
    const HloDotDims d = hlo_dot_dims(q->a, q->i);
    const uint32_t side = q->operand % 2, n_batch = d.lhs_batch.n;
    const HloInts batch = side ? d.rhs_batch : d.lhs_batch, contracting = side ? d.rhs_contracting : d.lhs_contracting;
    const uint32_t n_left = q->i->operands[0]->shape->rank - n_batch - d.lhs_contracting.n;
    const uint32_t n_right = q->i->operands[1]->shape->rank - n_batch - d.rhs_contracting.n;
    const uint32_t n_other = side ? n_left : n_right;
    const HloShape *s = q->i->operands[side]->shape;
    uint32_t own_free = n_batch + (side ? n_left : 0), other = n_batch + (side ? 0 : n_left), block = n_other;
    const bool shared = q->i->operands[q->operand]->shape->rank != s->rank;
    for (uint32_t k = 0; k < n_other; k++) q->index[other + k] = q->loops[k];
    for (uint32_t p = 0; p < s->rank; p++) {
        if (hlo_holds(contracting, p)) continue;
        IrRef element = shared ? q->loops[block] : q->from[p];
        if (q->operand > 1 && !shared)
            element = rw_add(q->rw, rw_scale(q->rw, element, factor(q->i, q->operand, p)), q->loops[block]);
        block++;
        uint32_t at = own_free;
        for (uint32_t k = 0; k < batch.n; k++)
            if (batch.items[k] == (int64_t)p) at = k;
        if (!hlo_holds(batch, p)) own_free++;
        q->index[at] = element;
    }
}

/* --- convolution -------------------------------------------------------------------------------------------------- */

/* Operand 0: over the window and the output features of the element's group. Operand 1: over all windows and the
 * batch. */
static void list_convolution(IxList *l)
{
    const HloConvDims d = hlo_conv_dims(l->a, l->i);
    const HloShape *s = l->i->shape;
    if (l->operand == 0) {
        list_window(l);
        ix_list_size(l, WBB_MAX(s->dims[d.out_feature] / (d.feature_groups * d.batch_groups), 1));
        return;
    }
    for (uint32_t k = 0; k < d.n_spatial; k++) ix_list_size(l, s->dims[d.out_spatial[k]]);
    ix_list_size(l, s->dims[d.out_batch]);
}

static void from_input(IxQuery *q, const HloConvDims *d)
{
    const HloShape *s = q->i->shape;
    const int64_t outputs = s->dims[d->out_feature], batch = s->dims[d->out_batch];
    const IrRef b = q->from[d->lhs_batch], f = q->from[d->lhs_feature], o = q->loops[d->n_spatial];
    const IrRef features = rw_floordiv(q->rw, f, q->i->operands[1]->shape->dims[d->rhs_input]);
    const IrRef first = rw_add(q->rw, rw_scale(q->rw, features, WBB_MAX(outputs / d->feature_groups, 1)),
                               rw_scale(q->rw, rw_floordiv(q->rw, b, batch), WBB_MAX(outputs / d->batch_groups, 1)));
    q->index[d->out_feature] = rw_add(q->rw, first, o);
    q->index[d->out_batch] = rw_mod(q->rw, b, batch);
    for (uint32_t k = 0; k < d->n_spatial; k++)
        q->index[d->out_spatial[k]] =
            window_of(q, &q->i->windows[k], q->from[d->lhs_spatial[k]], q->loops[k], s->dims[d->out_spatial[k]]);
}

static void from_kernel(IxQuery *q, const HloConvDims *d)
{
    const HloShape *x = q->i->operands[0]->shape;
    for (uint32_t k = 0; k < d->n_spatial; k++) {
        const HloWindow *w = &q->i->windows[k];
        const IrRef at = q->from[d->rhs_spatial[k]],
                    element = w->reversal ? rw_sub(q->rw, ix_index(q, w->size - 1), at) : at;
        q->index[d->out_spatial[k]] = q->loops[k];
        /* for its condition: the element is in the input */
        element_of(q, w, q->loops[k], element, x->dims[d->lhs_spatial[k]]);
    }
    q->index[d->out_batch] = q->loops[d->n_spatial];
    q->index[d->out_feature] = q->from[d->rhs_output];
}

static void to_convolution(IxQuery *q)
{
    const HloConvDims d = hlo_conv_dims(q->a, q->i);
    if (q->operand == 0) from_input(q, &d);
    else from_kernel(q, &d);
}

const IxFamily ix_to_reduce = {NULL, NULL, to_reduce};
const IxFamily ix_to_window = {list_window, NULL, to_window};
const IxFamily ix_to_select_scatter = {list_select_scatter, NULL, to_select_scatter};
const IxFamily ix_to_dot = {list_dot, NULL, to_dot};
const IxFamily ix_to_convolution = {list_convolution, NULL, to_convolution};
