/* reduce: reductions over whole dimensions.
 *
 * Needs: the set of wanted results. Leaves: their lanes, for all arrays of a variadic reduction.
 *
 * The operands are demanded piece by piece, in a part whose memory is dropped after each piece, and combined in
 * row-major order into one accumulator for each result (accumulate.c).
 *
 *     r = f32[2] reduce(f32[2,3] x, f32[] 0), dimensions={1}, to_apply=add     at {1}: x at {3, 4, 5}
 */
#include "eval/inner.h"

/* The reduced elements of result k are at base[k] + offset[0], base[k] + offset[1], .. */
typedef struct {
    int64_t *base;    /* [results] */
    int64_t *offset;  /* [reduced] */
    int64_t reduced;
} Paths;

static Paths find_paths(Ev *e, const HloInstruction *i, const EvSet *set, const HloShape *result)
{
    const HloShape *in = i->operands[0]->shape;
    int64_t stride[HLO_RANK_LIMIT];
    EvWalk walk = ev_walk(result);
    bool reduced[HLO_RANK_LIMIT] = {false};
    Paths p = {WBB_NEW_N(e->block, int64_t, set->n), NULL, 1};
    for (uint32_t k = 0; k < i->n_dimensions; k++) {
        reduced[i->dimensions[k]] = true;
        p.reduced *= in->dims[i->dimensions[k]];
    }
    ev_strides(in, stride);
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(set, k));
        for (uint32_t d = 0, kept = 0; d < in->rank; d++)
            if (!reduced[d]) p.base[k] += at[kept++] * stride[d];
    }
    p.offset = WBB_NEW_N(e->block, int64_t, p.reduced);
    for (int64_t k = 0; k < p.reduced; k++) {
        int64_t rest = k;
        for (int d = in->rank - 1; d >= 0; d--) {
            if (!reduced[d]) continue;
            p.offset[k] += rest % in->dims[d] * stride[d];
            rest /= in->dims[d];
        }
    }
    return p;
}

/* Adds reduced elements [from, from + count). */
static void add_part(Ev *e, Ev *part, EvTask *t, EvAccumulator *acc, const Paths *p, int64_t from, int64_t count)
{
    const HloInstruction *i = t->ref.i;
    uint32_t n_arrays = i->n_operands / 2;
    int64_t n = t->set->n;
    ev_begin(part);
    int64_t *list = ev_list(part, count * n);
    for (int64_t r = 0; r < count; r++)
        for (int64_t k = 0; k < n; k++) list[r * n + k] = p->base[k] + p->offset[from + r];
    const EvSet *set = ev_list_set(part, list, count * n);
    char **lanes = WBB_NEW_N(part->block, char *, n_arrays);
    void **x = WBB_NEW_N(part->block, void *, n_arrays);
    for (uint32_t k = 0; k < n_arrays; k++) lanes[k] = ev_acc_lanes(e, part, t, acc, k, k, set);
    for (int64_t r = 0; r < count; r++) {
        for (uint32_t k = 0; k < n_arrays; k++)
            x[k] = lanes[k] + (size_t)(r * n) * ev_lane_bytes(e->mode, ev_leaf_shape(i->shape, k)->type);
        ev_acc_add(part, acc, NULL, n, x);
    }
    ev_end(part);
}

EvAccumulator *ev_acc_of_operands(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    uint32_t n_arrays = i->n_operands / 2;
    ScType *types = WBB_NEW_N(e->block, ScType, n_arrays);
    for (uint32_t k = 0; k < n_arrays; k++) types[k] = ev_leaf_shape(i->shape, k)->type;
    EvAccumulator *acc = ev_acc_new(e, i->called[0], n_arrays, types, t->set->n);
    bool all = true;
    for (uint32_t k = 0; k < n_arrays; k++) {
        void *init = ev_need(e, ev_operand(e, t, n_arrays + k), ev_range_set(e, 0, 1));
        if (init) ev_acc_init(e, acc, k, ev_as(e, types[k], i->operands[n_arrays + k]->shape->type, 1, init), 1);
        all = all && init;
    }
    return all ? acc : NULL;
}

void *ev_reduce(Ev *e, EvTask *t)
{
    EvAccumulator *acc = ev_acc_of_operands(e, t);
    if (!acc) return NULL;
    bool shuffle = ev_acc_begin(e, acc, ev_serial(e, t->ref.i) != NULL);
    Paths p = find_paths(e, t->ref.i, t->set, ev_ref_shape(t->ref));
    if (shuffle) ev_shuffle(e, p.offset, p.reduced);
    Ev *part = ev_part(e);
    int64_t size = WBB_MAX(EV_BLOCK / WBB_MAX(t->set->n, 1), 1);
    for (int64_t at = 0; at < p.reduced; at += size) add_part(e, part, t, acc, &p, at, WBB_MIN(size, p.reduced - at));
    ev_part_end(e);
    return ev_leaf_result(e, t, ev_acc_end(e, acc), t->ref.i->n_operands / 2);
}
