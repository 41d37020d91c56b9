/* reduce: reductions over whole dimensions.
 *
 * Needs: the set of wanted results. Leaves: their lanes, for all arrays of a variadic reduction.
 *
 * The operands are demanded piece by piece, on several threads, in chunks whose memory is dropped after each piece. The
 * pieces are combined in row-major order into one accumulator for each result (accumulate.c), so that the order does
 * not depend on the pieces. A piece has the same reduced elements of several results. Where these lie side by side in
 * the operand it has as many of few results as it can; else as many results as it can.
 *
 *     r = f32[2] reduce(f32[2,3] x, f32[] 0), dimensions={1}, to_apply=add     at {1}: x at {3, 4, 5}
 */
#include "eval/inner.h"

#include <string.h>

enum { ROUND = 32 }; /* pieces that are computed before they are added */

/* The reduced elements of result k are at base[k] + offset[0], base[k] + offset[1], .. */
typedef struct {
    int64_t *base;    /* [results] */
    int64_t *offset;  /* [reduced]; NULL: 0, 1, .. */
    int64_t reduced;
    bool side_by_side; /* neighbouring offsets are neighbours in the operand, or often so */
} Paths;

static void find_offsets(Ev *e, const HloShape *in, const bool *reduced, const int64_t *stride, Paths *p)
{
    p->offset = WBB_NEW_N(e->block, int64_t, p->reduced);
    for (int64_t k = 0; k < p->reduced; k++) {
        int64_t rest = k;
        for (int d = in->rank - 1; d >= 0; d--) {
            if (!reduced[d]) continue;
            p->offset[k] += rest % in->dims[d] * stride[d];
            rest /= in->dims[d];
        }
    }
}

static Paths find_paths(Ev *e, const HloInstruction *i, const EvSet *set, const HloShape *result, bool shuffle)
{
    const HloShape *in = i->operands[0]->shape;
    int64_t stride[HLO_RANK_LIMIT], inner = 1; /* elements of the last dimensions, which are reduced */
    EvWalk walk = ev_walk(result);
    bool reduced[HLO_RANK_LIMIT] = {false};
    Paths p = {WBB_NEW_N(e->block, int64_t, set->n), NULL, 1, false};
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
    for (int d = in->rank - 1; d >= 0 && reduced[d]; d--) inner *= in->dims[d];
    p.side_by_side = !shuffle && (inner > 1 || inner == p.reduced);
    if (inner != p.reduced || shuffle) find_offsets(e, in, reduced, stride, &p);
    if (shuffle) ev_shuffle(e, p.offset, p.reduced);
    return p;
}

/* Pieces of a reduction: piece k has the results and the reduced elements of a group of each, `parts` groups of the
 * latter for one of the former. */
typedef struct {
    EvTask *t;
    EvAccumulator *acc;
    const EvRef *operands; /* [arrays] */
    const Paths *paths;
    uint32_t first, arrays; /* of the reduction's arrays, those of the accumulator */
    int64_t n;              /* results */
    int64_t results, steps; /* of a group */
    int64_t parts, count;   /* groups of steps; pieces */
    char ***lanes;          /* [ROUND][arrays] elements, those of each step side by side */
} Pieces;

typedef struct {
    int64_t result, n, step, steps;
} Piece;

static Piece piece_at(const Pieces *p, int64_t k)
{
    const int64_t result = k / p->parts * p->results, step = k % p->parts * p->steps;
    return (Piece){result, WBB_MIN(p->results, p->n - result), step, WBB_MIN(p->steps, p->paths->reduced - step)};
}

/* The positions of a piece in the operands, step by step, or result by result. */
static const EvSet *positions_of(Ev *part, const Paths *p, Piece q)
{
    int64_t *list = ev_list(part, q.n * q.steps), *at = list;
    if (p->side_by_side) {
        for (int64_t k = 0; k < q.n; k++)
            for (int64_t s = 0; s < q.steps; s++)
                *at++ = p->base[q.result + k] + (p->offset ? p->offset[q.step + s] : q.step + s);
    } else {
        for (int64_t s = 0; s < q.steps; s++)
            for (int64_t k = 0; k < q.n; k++) *at++ = p->base[q.result + k] + p->offset[q.step + s];
    }
    return ev_list_set(part, list, q.n * q.steps);
}

#define TRANSPOSE(T)                                                                              \
    do {                                                                                          \
        T *r = (T *)(void *)to;                                                                   \
        const T *x = (const T *)(const void *)from;                                               \
        for (int64_t s = 0; s < steps; s++)                                                       \
            for (int64_t k = 0; k < n; k++) *r++ = x[k * steps + s];                              \
    } while (0)

/* From n times `steps` elements to `steps` times n. */
static void transpose(char *to, const char *from, size_t bytes, int64_t n, int64_t steps)
{
    switch (n == 1 ? 0 : bytes) {
    case 0: memcpy(to, from, (size_t)steps * bytes); return;
    case 1: TRANSPOSE(uint8_t); return;
    case 2: TRANSPOSE(uint16_t); return;
    case 4: TRANSPOSE(uint32_t); return;
    case 8: TRANSPOSE(uint64_t); return;
    default: break;
    }
    for (int64_t s = 0; s < steps; s++)
        for (int64_t k = 0; k < n; k++, to += bytes) memcpy(to, from + (size_t)(k * steps + s) * bytes, bytes);
}

static void compute_piece(Ev *part, void *arg, int64_t k)
{
    const Pieces *p = arg;
    const Piece q = piece_at(p, k);
    ev_begin(part);
    const EvSet *set = positions_of(part, p->paths, q);
    for (uint32_t a = 0; a < p->arrays; a++) {
        const size_t bytes = ev_acc_bytes(part, p->acc, a);
        const char *x = ev_acc_lanes(part, p->acc, a, p->operands[a], set);
        char *to = p->lanes[k % ROUND][a];
        if (p->paths->side_by_side) transpose(to, x, bytes, q.n, q.steps);
        else memcpy(to, x, (size_t)(q.n * q.steps) * bytes);
    }
    ev_end(part);
}

static void add_pieces(Ev *part, const Pieces *p, int64_t from, int64_t end)
{
    for (int64_t k = from; k < end; k++) {
        const Piece q = piece_at(p, k);
        ev_begin(part);
        ev_acc_add_steps(part, p->acc, q.result, q.n, q.steps, (void **)p->lanes[k % ROUND]);
        ev_end(part);
    }
}

static Pieces new_pieces(Ev *e, EvTask *t, EvAccumulator *acc, const Paths *paths, uint32_t first, uint32_t arrays)
{
    const int64_t n = t->set->n, most = WBB_MAX(EV_BLOCK, n);
    Pieces p = {.t = t, .acc = acc, .paths = paths, .first = first, .arrays = arrays, .n = n};
    const int64_t whole_rows = EV_BLOCK / WBB_MAX(paths->reduced, 1);
    const int64_t wide = paths->side_by_side ? WBB_MAX(whole_rows, ev_acc_wide(e, acc)) : n;
    p.results = WBB_MAX(WBB_MIN(wide, n), 1);
    p.steps = WBB_MIN(WBB_MAX(EV_BLOCK / p.results, 1), paths->reduced);
    p.parts = p.steps ? (paths->reduced + p.steps - 1) / p.steps : 0;
    p.count = p.parts * ((n + p.results - 1) / p.results);
    EvRef *operands = WBB_NEW_N(e->block, EvRef, p.arrays);
    p.lanes = WBB_NEW_N(e->block, char **, ROUND);
    for (uint32_t a = 0; a < p.arrays; a++) operands[a] = ev_operand(e, t, first + a);
    for (int64_t k = 0; k < WBB_MIN(p.count, (int64_t)ROUND); k++) {
        p.lanes[k] = WBB_NEW_N(e->block, char *, p.arrays);
        for (uint32_t a = 0; a < p.arrays; a++) {
            p.lanes[k][a] = ev_lanes(e, wbb_mul_size(e->arena, (size_t)most, ev_acc_bytes(e, acc, a)));
        }
    }
    p.operands = operands;
    return p;
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

/* The arrays from `from` on that the accumulator has. */
static void **reduce(Ev *e, EvTask *t, EvAccumulator *acc, uint32_t from, uint32_t arrays)
{
    const bool shuffle = ev_acc_begin(e, acc, ev_serial(e, t->ref.i));
    const Paths paths = find_paths(e, t->ref.i, t->set, ev_ref_shape(t->ref), shuffle);
    Pieces p = new_pieces(e, t, acc, &paths, from, arrays);
    const bool all =
        e->depth <= 1 && t->set->n == hlo_elements(ev_ref_shape(t->ref)); /* else the blocks are what counts */
    const int64_t group = p.parts >= ROUND ? p.parts : p.count; /* pieces, the first of which computes what all need */
    for (int64_t at = 0, end = 0; at < p.count; at = end) {
        const bool first = at % group == 0;
        end = first ? at + 1 : WBB_MIN(at + ROUND, WBB_MIN(p.count, (at / group + 1) * group));
        if (all && wbb_progress(e->cx, t->ref.i->name, at, p.count)) wbb_stop(e->cx);
        if (!first) ev_spread(e, NULL, at, end, compute_piece, &p);
        Ev *part = ev_part(e);
        if (first) compute_piece(part, &p, at);
        add_pieces(part, &p, at, end);
        ev_part_end(e);
    }
    return ev_acc_end(e, acc);
}

/* An accumulator for each array, where results are single operations on their own ones, as if they were written apart;
 * NULL: one for all. */
static EvAccumulator **one_each(Ev *e, const EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const uint32_t n = i->n_operands / 2;
    ScType *types = WBB_NEW_N(e->block, ScType, n);
    EvAccumulator **acc = WBB_NEW_N(e->block, EvAccumulator *, n);
    for (uint32_t k = 0; k < n; k++) types[k] = ev_leaf_shape(i->shape, k)->type;
    if (n == 1 || ev_serial(e, i)) return NULL;
    for (uint32_t k = 0; k < n; k++)
        if (!(acc[k] = ev_acc_of_result(e, i->called[0], k, n, types, t->set->n))) return NULL;
    return acc;
}

void *ev_reduce(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const EvTree *tree = ev_tree(e, i);
    const uint32_t n = i->n_operands / 2;
    if (tree) return ev_reduce_tree(e, t, tree);
    EvAccumulator *acc = ev_acc_of_operands(e, t), **each = acc ? one_each(e, t) : NULL;
    if (!acc) return NULL;
    if (!each) return ev_leaf_result(e, t, reduce(e, t, acc, 0, n), n);
    void **lanes = WBB_NEW_N(e->block, void *, n);
    for (uint32_t k = 0; k < n; k++) {
        const void *init = ev_need(e, ev_operand(e, t, n + k), ev_range_set(e, 0, 1));
        const ScType type = ev_leaf_shape(i->shape, k)->type;
        ev_acc_init(e, each[k], 0, ev_as(e, type, i->operands[n + k]->shape->type, 1, (void *)init), 1);
        lanes[k] = reduce(e, t, each[k], k, 1)[0];
    }
    return ev_leaf_result(e, t, lanes, n);
}
