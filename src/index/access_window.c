/* access_window.c: operations whose elements each combine many: reduce, reduce-window, dot, convolution,
 * select-and-scatter.
 *
 * Needs a query with a node for each loop. Leaves the operands' indices and the conditions under which an element takes
 * part.
 *
 *     reduce dimensions={1}                       (d0) over s0   =>   (d0, s0)
 *     reduce-window size=3 stride=2 pad=1_1       (d0) over s0   =>   2*d0 + s0 - 1, where that is in [0, n-1]
 *     dot of [m,k] and [k,n]                      (d0, d1) over s0   =>   (d0, s0) and (s0, d1)
 */
#include "index/access.h"

/* --- reduce ------------------------------------------------------------------------------------------------------- */

static HloInts reduced(const HloInstruction *i) { return (HloInts){i->dimensions, i->n_dimensions}; }

static void list_reduce(IxList *l)
{
    const HloShape *s = l->i->operands[0]->shape;
    for (uint32_t d = 0; d < s->rank; d++)
        if (hlo_holds(reduced(l->i), d)) ix_list_size(l, s->dims[d]);
}

static void reduce(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    if (q->operand >= q->i->n_operands / 2) return; /* an init value is a scalar */
    for (uint32_t d = 0, loop = 0, out = 0; d < s->rank; d++)
        q->index[d] = hlo_holds(reduced(q->i), d) ? q->loops[loop++] : q->from[out++];
}

/* --- windows ------------------------------------------------------------------------------------------------------ */

/* The index, in a dimension of n elements, of element `at` of window number `out`. */
static IrRef in_window(IxQuery *q, const HloWindow *w, IrRef out, IrRef at, int64_t n)
{
    const IrRef position = rw_add(q->rw, rw_scale(q->rw, out, w->stride), rw_scale(q->rw, at, w->rhs_dilate));
    return ix_quotient(q, ix_minus(q, position, w->low), w->lhs_dilate, n);
}

static void list_window(IxList *l)
{
    for (uint32_t d = 0; d < l->i->n_windows; d++) ix_list_size(l, l->i->windows[d].size);
}

static void window(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    if (q->operand >= q->i->n_operands / 2) return;
    for (uint32_t d = 0; d < s->rank; d++)
        q->index[d] = in_window(q, &q->i->windows[d], q->from[d], q->loops[d], s->dims[d]);
}

/* An element gets the values of the windows that select it, and may be in as many windows as a window has elements. The
 * loops run over its position in the window, then, for operand 0, over all elements of that window. */
static void list_select_scatter(IxList *l)
{
    list_window(l);
    list_window(l);
}

static void select_scatter(IxQuery *q)
{
    const HloShape *source = q->i->operands[1]->shape;
    if (q->operand == 2) return;
    for (uint32_t d = 0; d < source->rank; d++) {
        const HloWindow *w = &q->i->windows[d];
        const IrRef first = rw_sub(q->rw, q->from[d], rw_scale(q->rw, q->loops[d], w->rhs_dilate));
        q->index[d] = ix_quotient(q, ix_plus(q, first, w->low), w->stride, source->dims[d]);
        if (q->operand == 0)
            q->index[d] = in_window(q, w, q->index[d], q->loops[source->rank + d], q->i->shape->dims[d]);
    }
}

/* --- dot ---------------------------------------------------------------------------------------------------------- */

static void list_dot(IxList *l)
{
    const HloDotDims d = hlo_dot_dims(l->a, l->i);
    for (uint32_t k = 0; k < d.lhs_contracting.n; k++)
        ix_list_size(l, l->i->operands[0]->shape->dims[d.lhs_contracting.items[k]]);
}

/* The result has the batch dimensions, then the free ones of the left operand, then those of the right one. The scales
 * of a scaled-dot, operands 2 and 3, have the dimensions of operands 0 and 1 divided by a factor: one scale for several
 * elements. */
static void dot(IxQuery *q)
{
    const HloDotDims d = hlo_dot_dims(q->a, q->i);
    const uint32_t side = q->operand % 2;
    const HloInts batch = side ? d.rhs_batch : d.lhs_batch, contracting = side ? d.rhs_contracting : d.lhs_contracting;
    const HloShape *s = q->i->operands[side]->shape, *scale = q->i->operands[q->operand]->shape;
    uint32_t next = d.lhs_batch.n;
    if (side) next = q->i->operands[0]->shape->rank - d.lhs_contracting.n;
    if (scale->rank != s->rank) return; /* one scale for all elements */
    for (uint32_t p = 0; p < s->rank; p++)
        if (!hlo_holds(batch, p) && !hlo_holds(contracting, p)) q->index[p] = q->from[next++];
    for (uint32_t k = 0; k < batch.n; k++) q->index[batch.items[k]] = q->from[k];
    for (uint32_t k = 0; k < contracting.n; k++) q->index[contracting.items[k]] = q->loops[k];
    for (uint32_t p = 0; q->operand > 1 && p < s->rank; p++)
        if (scale->dims[p] && scale->dims[p] != s->dims[p])
            q->index[p] = rw_floordiv(q->rw, q->index[p], WBB_MAX(s->dims[p] / scale->dims[p], 1));
}

/* --- convolution -------------------------------------------------------------------------------------------------- */

static void list_convolution(IxList *l)
{
    const HloConvDims d = hlo_conv_dims(l->a, l->i);
    list_window(l);
    ix_list_size(l, l->i->operands[1]->shape->dims[d.rhs_input]);
}

/* Output feature o is of group o / (outputs / groups). It needs the inputs of that feature group and that batch group.
 * Both operands have the conditions of operand 0: a product takes part only where they hold. */
static void convolution(IxQuery *q)
{
    const HloConvDims d = hlo_conv_dims(q->a, q->i);
    const HloShape *x = q->i->operands[0]->shape, *kernel = q->i->operands[1]->shape;
    const int64_t outputs = q->i->shape->dims[d.out_feature];
    const IrRef o = q->from[d.out_feature], f = q->loops[d.n_spatial];
    IrRef spatial[HLO_CONV_SPATIAL];
    for (uint32_t k = 0; k < d.n_spatial; k++)
        spatial[k] = in_window(q, &q->i->windows[k], q->from[d.out_spatial[k]], q->loops[k], x->dims[d.lhs_spatial[k]]);
    if (q->operand == 0) {
        const IrRef features = rw_floordiv(q->rw, o, WBB_MAX(outputs / d.feature_groups, 1));
        const IrRef batches = rw_floordiv(q->rw, o, WBB_MAX(outputs / d.batch_groups, 1));
        q->index[d.lhs_feature] = rw_add(q->rw, rw_scale(q->rw, features, kernel->dims[d.rhs_input]), f);
        q->index[d.lhs_batch] =
            rw_add(q->rw, rw_scale(q->rw, batches, q->i->shape->dims[d.out_batch]), q->from[d.out_batch]);
        for (uint32_t k = 0; k < d.n_spatial; k++) q->index[d.lhs_spatial[k]] = spatial[k];
        return;
    }
    q->index[d.rhs_input] = f;
    q->index[d.rhs_output] = o;
    for (uint32_t k = 0; k < d.n_spatial; k++) {
        const HloWindow *w = &q->i->windows[k];
        q->index[d.rhs_spatial[k]] = w->reversal ? rw_sub(q->rw, ix_index(q, w->size - 1), q->loops[k]) : q->loops[k];
    }
}

const IxFamily ix_reduce = {list_reduce, NULL, reduce};
const IxFamily ix_window = {list_window, NULL, window};
const IxFamily ix_select_scatter = {list_select_scatter, NULL, select_scatter};
const IxFamily ix_dot = {list_dot, NULL, dot};
const IxFamily ix_convolution = {list_convolution, NULL, convolution};
