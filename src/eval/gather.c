/* gather: elements of an operand at positions that the values of another operand give.
 *
 * Needs: the attributes of HLO's gather. Leaves: the wanted lanes: first the indices that they depend on, then the
 * elements.
 *
 * An output coordinate is a batch coordinate (which index vector) or an offset (where in the slice). The slice starts
 * at the values of the index vector, clamped so that the slice fits.
 *
 *     f32[5,8] gather(f32[100,8] x, s32[5,1] k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
 *         index_vector_dim=1, slice_sizes={1,8}         at (2, 3): x at (clamp(k[2,0], 0, 99), 3)
 */
#include "eval/inner.h"

typedef struct {
    HloInts offset_dims, collapsed, start_map, slice_sizes, operand_batch, index_batch;
    int64_t vector_dim;
} Dims;

typedef struct {
    EvMove *indices, *elements;
} State;

static HloInts ints(Ev *e, const HloInstruction *i, const char *name)
{
    HloInts list = {NULL, 0};
    list.items = hlo_attribute_ints(e->block, i, name, &list.n);
    if (!list.items) list.n = 0;
    return list;
}

static Dims dims_of(Ev *e, const HloInstruction *i)
{
    Dims d = {ints(e, i, "offset_dims"),
              ints(e, i, "collapsed_slice_dims"),
              ints(e, i, "start_index_map"),
              ints(e, i, "slice_sizes"),
              ints(e, i, "operand_batching_dims"),
              ints(e, i, "start_indices_batching_dims"),
              0};
    HloInts vector = ints(e, i, "index_vector_dim");
    if (vector.n != 1 || d.slice_sizes.n != i->operands[0]->shape->rank)
        wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator cannot read the attributes of %s", i->name);
    d.vector_dim = vector.items[0];
    return d;
}

/* Sets the coordinates of the index array, except for that of the vector dimension, from the batch coordinates of an
 * output element. */
static void index_coordinates(const HloInstruction *i, const Dims *d, const int64_t *out, int64_t *at)
{
    uint32_t rank = i->operands[1]->shape->rank, next = 0;
    for (uint32_t k = 0; k < i->shape->rank; k++) {
        if (hlo_holds(d->offset_dims, k)) continue;
        if (next == d->vector_dim) next++;
        if (next < rank) at[next++] = out[k];
    }
}

/* The move that reads the index vectors: for each wanted element one index for each entry of start_index_map. */
static EvMove *want_indices(Ev *e, EvTask *t, const Dims *d)
{
    const HloInstruction *i = t->ref.i;
    int64_t n = t->set->n, m = d->start_map.n, at[HLO_RANK_LIMIT + 1] = {0};
    EvWalk walk = ev_walk(i->shape);
    int64_t *list = WBB_NEW_N(e->block, int64_t, n * m);
    for (int64_t k = 0; k < n; k++) {
        const int64_t *out = ev_walk_to(&walk, ev_position(t->set, k));
        index_coordinates(i, d, out, at);
        for (int64_t p = 0; p < m; p++) {
            if (d->vector_dim < i->operands[1]->shape->rank) at[d->vector_dim] = p;
            list[k * m + p] = ev_linear(i->operands[1]->shape, at);
        }
    }
    EvMove *move = ev_move_new(e, n * m, 1);
    ev_move_source(e, move, ev_operand(e, t, 1), list, NULL, n * m);
    return move;
}

/* The move that reads the elements, from the values of the indices; NULL where some index is an interval. */
static EvMove *want_elements(Ev *e, EvTask *t, const Dims *d, const void *indices)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *in = i->operands[0]->shape;
    int64_t n = t->set->n, m = d->start_map.n, batch[HLO_RANK_LIMIT + 1] = {0};
    EvWalk walk = ev_walk(i->shape);
    int64_t *list = WBB_NEW_N(e->block, int64_t, n);
    for (int64_t k = 0; k < n; k++) {
        int64_t at[HLO_RANK_LIMIT] = {0};
        const int64_t *out = ev_walk_to(&walk, ev_position(t->set, k));
        for (int64_t p = 0; p < m; p++) {
            int64_t dim = d->start_map.items[p], start = 0;
            if (!ev_int_of(e, i->operands[1]->shape->type, indices, k * m + p, &start)) return NULL;
            at[dim] = WBB_MAX(WBB_MIN(start, in->dims[dim] - d->slice_sizes.items[dim]), 0);
        }
        index_coordinates(i, d, out, batch);
        for (uint32_t p = 0; p < d->operand_batch.n; p++)
            at[d->operand_batch.items[p]] = batch[d->index_batch.items[p]];
        for (uint32_t dim = 0, next = 0; dim < in->rank; dim++)
            if (!hlo_holds(d->collapsed, dim) && !hlo_holds(d->operand_batch, dim) && next < d->offset_dims.n)
                at[dim] += out[d->offset_dims.items[next++]];
        list[k] = ev_linear(in, at);
    }
    EvMove *move = ev_move_new(e, n, 1);
    ev_move_source(e, move, ev_operand(e, t, 0), list, NULL, n);
    return move;
}

void *ev_gather_op(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    State *s = t->state;
    Dims d = dims_of(e, i);
    if (!s) {
        t->state = s = WBB_NEW(e->block, State);
        if (d.start_map.n) s->indices = want_indices(e, t, &d);
    }
    if (!s->elements) {
        void *indices = s->indices ? ev_move_finish(e, i->operands[1]->shape->type, s->indices) : NULL;
        if (s->indices && !indices) return NULL;
        s->elements = want_elements(e, t, &d, indices);
        if (!s->elements) return ev_bound_unknown(e, i->shape->type, t->set->n);
    }
    return ev_move_finish(e, i->shape->type, s->elements);
}
