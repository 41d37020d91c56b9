/* access_start.c: operations that move elements to or from positions that are values: dynamic-slice,
 * dynamic-update-slice, gather, scatter. Both directions.
 *
 * Needs a query with a node for each start. Leaves the operand's index. Starts are clamped by their intervals;
 * conditions exclude the windows that do not fit into the operand of a scatter.
 *
 *     dynamic-update-slice of u[4] into x[10] at t in 0..7:   operand 1: d0 - t where d0 - t in [0, 3]; operand 0: d0
 *     gather x[100,8] at k[5,1]:                      (d0, d1)   =>   (t, d1), t in 0..100 is element (d0, 0) of k
 *     scatter u[5] into x[100] at k[5,1]:                   d0   =>   operand 2: s0 where d0 - t in [0, 0],
 *                                                                     t is element (s0, 0) of k
 */
#include "index/access.h"

/* --- dynamic-slice, dynamic-update-slice -------------------------------------------------------------------------- */

/* Start indices are scalars, operand `first` and those after it, or one vector. */
static bool is_vector(const HloInstruction *i, uint32_t first)
{
    return i->n_operands == first + 1 && i->operands[first]->shape->rank == 1;
}

static void list_slice_starts(IxList *l, uint32_t first, const HloShape *whole, const HloShape *part)
{
    for (uint32_t d = 0; d < whole->rank; d++)
        ix_list_start(l, is_vector(l->i, first) ? first : first + d, d, whole->dims[d] - part->dims[d], false);
}

static void slice_start(IxQuery *q, uint32_t k, IrRef component, IrRef *at)
{
    const uint32_t first = (uint32_t)hlo_op_info[q->i->opcode].starts;
    (void)k;
    if (is_vector(q->i, first)) at[0] = component;
}

static void list_slice(IxList *l) { list_slice_starts(l, 1, l->i->operands[0]->shape, l->i->shape); }

static void slice(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    assert(q->operand == 0);
    for (uint32_t d = 0; d < s->rank; d++) q->index[d] = rw_add(q->rw, q->from[d], q->starts[d]);
}

static void list_update(IxList *l) { list_slice_starts(l, 2, l->i->shape, l->i->operands[1]->shape); }

static void update(IxQuery *q)
{
    const HloShape *s = q->i->operands[q->operand]->shape;
    assert(q->operand < 2);
    for (uint32_t d = 0; d < s->rank; d++)
        q->index[d] =
            q->operand == 0 ? q->from[d] : ix_quotient(q, rw_sub(q->rw, q->from[d], q->starts[d]), 1, s->dims[d]);
}

/* --- gather ------------------------------------------------------------------------------------------------------- */

static void list_gather(IxList *l)
{
    const HloGatherDims d = hlo_gather_dims(l->a, l->i);
    const HloShape *s = l->i->operands[0]->shape;
    for (uint32_t k = 0; k < d.start_map.n; k++) {
        const int64_t dim = d.start_map.items[k];
        ix_list_start(l, 1, (uint32_t)dim, s->dims[dim] - WBB_MAX(d.slice_sizes.items[dim], 1), false);
    }
}

/* The index of a component of the index vector: the batch dimensions of the result, in order, are the dimensions of the
 * indices without that of the vectors. */
static void vector_at(IxQuery *q, const HloGatherDims *d, IrRef component, IrRef *at)
{
    const uint32_t rank = q->i->operands[1]->shape->rank;
    for (uint32_t p = 0, out = 0; p < rank; p++) {
        if (p == d->index_vector_dim) {
            at[p] = component;
            continue;
        }
        while (hlo_holds(d->offset, out)) out++;
        at[p] = q->from[out++];
    }
}

static void gather_start(IxQuery *q, uint32_t k, IrRef component, IrRef *at)
{
    const HloGatherDims d = hlo_gather_dims(q->a, q->i);
    (void)k;
    vector_at(q, &d, component, at);
}

static void gather(IxQuery *q)
{
    const HloGatherDims d = hlo_gather_dims(q->a, q->i);
    const HloShape *s = q->i->operands[0]->shape;
    IrRef batch[HLO_RANK_LIMIT + 1];
    assert(q->operand == 0);
    for (uint32_t p = 0; p < s->rank; p++) q->index[p] = ix_index(q, 0);
    for (uint32_t k = 0; k < d.start_map.n; k++) q->index[d.start_map.items[k]] = q->starts[k];
    vector_at(q, &d, ix_index(q, 0), batch);
    for (uint32_t k = 0; k < d.operand_batching.n; k++)
        q->index[d.operand_batching.items[k]] = batch[d.indices_batching.items[k]];
    for (uint32_t p = 0, next = 0; p < s->rank; p++)
        if (!hlo_holds(d.collapsed, p) && !hlo_holds(d.operand_batching, p) && next < d.offset.n)
            q->index[p] = rw_add(q->rw, q->index[p], q->from[d.offset.items[next++]]);
}

/* --- scatter ------------------------------------------------------------------------------------------------------ */

/* By dimension of the operand: the size of the window, and the dimension of the updates that runs over it; -1: none. */
typedef struct {
    int64_t size[HLO_RANK_LIMIT];
    int window[HLO_RANK_LIMIT];
} Windows;

static Windows windows_of(const HloInstruction *i, const HloScatterDims *d)
{
    const HloShape *s = i->operands[0]->shape, *updates = i->operands[i->n_operands - 1]->shape;
    Windows w;
    for (uint32_t p = 0, next = 0; p < s->rank; p++) {
        const bool none = hlo_holds(d->inserted_window, p) || hlo_holds(d->input_batching, p);
        w.window[p] = none ? -1 : (int)d->update_window.items[next++];
        w.size[p] = none ? 1 : updates->dims[w.window[p]];
    }
    return w;
}

/* The dimension of the operand that is paired with dimension p of the indices; -1: none. */
static int paired(const HloScatterDims *d, uint32_t p)
{
    for (uint32_t k = 0; k < d->indices_batching.n; k++)
        if (d->indices_batching.items[k] == (int64_t)p) return (int)d->input_batching.items[k];
    return -1;
}

static uint32_t indices_of(const HloInstruction *i) { return i->n_operands / 2; }

/* Loops over the index vectors, except in dimensions that are paired with the operand's. */
static void list_scatter(IxList *l)
{
    const HloScatterDims d = hlo_scatter_dims(l->a, l->i);
    const Windows w = windows_of(l->i, &d);
    const HloShape *indices = l->i->operands[indices_of(l->i)]->shape, *s = l->i->operands[0]->shape;
    for (uint32_t p = 0; p < indices->rank; p++)
        if (p != d.index_vector_dim && paired(&d, p) < 0) ix_list_size(l, indices->dims[p]);
    for (uint32_t k = 0; k < d.operand_map.n; k++) {
        const int64_t dim = d.operand_map.items[k];
        ix_list_start(l, indices_of(l->i), (uint32_t)dim, s->dims[dim] - w.size[dim], true);
    }
}

static void scatter_start(IxQuery *q, uint32_t k, IrRef component, IrRef *at)
{
    const HloScatterDims d = hlo_scatter_dims(q->a, q->i);
    const HloShape *indices = q->i->operands[indices_of(q->i)]->shape;
    (void)k;
    for (uint32_t p = 0, next = 0; p < indices->rank; p++)
        at[p] = p == d.index_vector_dim ? component : paired(&d, p) >= 0 ? q->from[paired(&d, p)] : q->loops[next++];
}

static void scatter(IxQuery *q)
{
    const HloScatterDims d = hlo_scatter_dims(q->a, q->i);
    const Windows w = windows_of(q->i, &d);
    const HloShape *s = q->i->operands[0]->shape, *updates = q->i->operands[q->i->n_operands - 1]->shape;
    IrRef start[HLO_RANK_LIMIT], vector[HLO_RANK_LIMIT + 1];
    if (q->operand < indices_of(q->i)) {
        for (uint32_t p = 0; p < s->rank; p++) q->index[p] = q->from[p];
        return;
    }
    assert(q->operand > indices_of(q->i));
    for (uint32_t p = 0; p < s->rank; p++) start[p] = hlo_holds(d.input_batching, p) ? q->from[p] : ix_index(q, 0);
    for (uint32_t k = 0; k < d.operand_map.n; k++) start[d.operand_map.items[k]] = q->starts[k];
    for (uint32_t p = 0; p < s->rank; p++) ix_require(q, start[p], 0, s->dims[p] - w.size[p]);
    for (uint32_t p = 0; p < s->rank; p++) {
        const IrRef within = ix_quotient(q, rw_sub(q->rw, q->from[p], start[p]), 1, w.size[p]);
        if (w.window[p] >= 0) q->index[w.window[p]] = within;
    }
    scatter_start(q, 0, ix_index(q, 0), vector);
    for (uint32_t p = 0, outer = 0; p < updates->rank; p++) {
        if (hlo_holds(d.update_window, p)) continue;
        if (outer == d.index_vector_dim) outer++;
        q->index[p] = vector[outer++];
    }
}

/* --- input to output ---------------------------------------------------------------------------------------------- */

static void to_slice_of(IxQuery *q)
{
    for (uint32_t d = 0; d < q->i->shape->rank; d++)
        q->index[d] = ix_quotient(q, rw_sub(q->rw, q->from[d], q->starts[d]), 1, q->i->shape->dims[d]);
}

static void to_update(IxQuery *q)
{
    for (uint32_t d = 0; d < q->i->shape->rank; d++) q->index[d] = rw_add(q->rw, q->from[d], q->starts[d]);
}

/* The dimension of a gather's operand that is paired with dimension p of the indices; -1: none. */
static int gather_paired(const HloGatherDims *d, uint32_t p)
{
    for (uint32_t k = 0; k < d->indices_batching.n; k++)
        if (d->indices_batching.items[k] == (int64_t)p) return (int)d->operand_batching.items[k];
    return -1;
}

/* An element is in the slices of all index vectors that reach it: loops over the vectors. */
static void list_to_gather(IxList *l)
{
    const HloGatherDims d = hlo_gather_dims(l->a, l->i);
    const HloShape *indices = l->i->operands[1]->shape;
    for (uint32_t p = 0; p < indices->rank; p++)
        if (p != d.index_vector_dim && gather_paired(&d, p) < 0) ix_list_size(l, indices->dims[p]);
    list_gather(l);
}

static void to_gather_start(IxQuery *q, uint32_t k, IrRef component, IrRef *at)
{
    const HloGatherDims d = hlo_gather_dims(q->a, q->i);
    (void)k;
    for (uint32_t p = 0, next = 0; p < q->i->operands[1]->shape->rank; p++)
        at[p] = p == d.index_vector_dim     ? component
                : gather_paired(&d, p) >= 0 ? q->from[gather_paired(&d, p)]
                                            : q->loops[next++];
}

static void to_gather(IxQuery *q)
{
    const HloGatherDims d = hlo_gather_dims(q->a, q->i);
    const HloShape *s = q->i->operands[0]->shape, *to = q->i->shape;
    IrRef start[HLO_RANK_LIMIT], vector[HLO_RANK_LIMIT + 1];
    for (uint32_t p = 0; p < s->rank; p++) start[p] = ix_index(q, 0);
    for (uint32_t k = 0; k < d.start_map.n; k++) start[d.start_map.items[k]] = q->starts[k];
    for (uint32_t p = 0, next = 0; p < s->rank; p++) {
        if (hlo_holds(d.operand_batching, p)) continue;
        const bool collapsed = hlo_holds(d.collapsed, p);
        const IrRef within =
            ix_quotient(q, rw_sub(q->rw, q->from[p], start[p]), 1, collapsed ? 1 : d.slice_sizes.items[p]);
        if (!collapsed) q->index[d.offset.items[next++]] = within;
    }
    to_gather_start(q, 0, ix_index(q, 0), vector);
    for (uint32_t out = 0, p = 0; out < to->rank; out++) {
        if (hlo_holds(d.offset, out)) continue;
        if (p == d.index_vector_dim) p++;
        q->index[out] = vector[p++];
    }
}

/* A component of an index vector determines a whole slice. */
static void list_gathered_by(IxList *l)
{
    const HloGatherDims d = hlo_gather_dims(l->a, l->i);
    for (uint32_t k = 0; k < d.offset.n; k++) ix_list_size(l, l->i->shape->dims[d.offset.items[k]]);
}

static void to_gathered_by(IxQuery *q)
{
    const HloGatherDims d = hlo_gather_dims(q->a, q->i);
    for (uint32_t out = 0, p = 0, loop = 0; out < q->i->shape->rank; out++) {
        if (hlo_holds(d.offset, out)) {
            q->index[out] = q->loops[loop++];
            continue;
        }
        if (p == d.index_vector_dim) p++;
        q->index[out] = q->from[p++];
    }
}

static void list_to_scatter(IxList *l)
{
    IxList all = *l;
    list_scatter(&all);
    l->starts.items = all.starts.items, l->starts.n = all.starts.n, l->starts.capacity = all.starts.capacity;
}

/* The index vector of an element of the updates: its index in the dimensions that are not of the window. */
static void to_scatter_start(IxQuery *q, uint32_t k, IrRef component, IrRef *at)
{
    const HloScatterDims d = hlo_scatter_dims(q->a, q->i);
    (void)k;
    for (uint32_t p = 0, from = 0; p < q->i->operands[indices_of(q->i)]->shape->rank; p++) {
        if (p == d.index_vector_dim) {
            at[p] = component;
            continue;
        }
        while (hlo_holds(d.update_window, from)) from++;
        at[p] = q->from[from++];
    }
}

static void to_scatter(IxQuery *q)
{
    const HloScatterDims d = hlo_scatter_dims(q->a, q->i);
    const Windows w = windows_of(q->i, &d);
    const HloShape *s = q->i->operands[0]->shape;
    IrRef vector[HLO_RANK_LIMIT + 1];
    for (uint32_t p = 0; p < s->rank; p++) q->index[p] = ix_index(q, 0);
    to_scatter_start(q, 0, ix_index(q, 0), vector);
    for (uint32_t k = 0; k < d.input_batching.n; k++)
        q->index[d.input_batching.items[k]] = vector[d.indices_batching.items[k]];
    for (uint32_t k = 0; k < d.operand_map.n; k++) q->index[d.operand_map.items[k]] = q->starts[k];
    for (uint32_t p = 0; p < s->rank; p++) {
        if (!hlo_holds(d.input_batching, p)) ix_require(q, q->index[p], 0, s->dims[p] - w.size[p]);
        if (w.window[p] >= 0) q->index[p] = rw_add(q->rw, q->index[p], q->from[w.window[p]]);
    }
}

int ix_vector_dimension(WbbArena *a, const HloInstruction *i, uint32_t operand)
{
    if (!hlo_is_start(i, operand)) return -1;
    const int64_t d = i->opcode == HLO_GATHER    ? hlo_gather_dims(a, i).index_vector_dim
                      : i->opcode == HLO_SCATTER ? hlo_scatter_dims(a, i).index_vector_dim
                                                 : (is_vector(i, operand) ? 0 : -1);
    return d < (int64_t)i->operands[operand]->shape->rank ? (int)d : -1;
}

const IxFamily ix_dynamic_slice = {list_slice, slice_start, slice};
const IxFamily ix_dynamic_update = {list_update, slice_start, update};
const IxFamily ix_gather = {list_gather, gather_start, gather};
const IxFamily ix_scatter = {list_scatter, scatter_start, scatter};
const IxFamily ix_to_slice_of = {list_slice, slice_start, to_slice_of};
const IxFamily ix_to_update = {list_update, slice_start, to_update};
const IxFamily ix_to_gather = {list_to_gather, to_gather_start, to_gather};
const IxFamily ix_to_gathered_by = {list_gathered_by, NULL, to_gathered_by};
const IxFamily ix_to_scatter = {list_to_scatter, to_scatter_start, to_scatter};
