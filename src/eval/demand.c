/* demand: computes the elements that are wanted, and the elements of operands that these need.
 *
 * Needs: an evaluation (frame.c). Leaves: the lanes of any array at any set of positions.
 *
 * There is no recursion over instructions, however long their chain. A step that lacks the lanes of an operand pushes a
 * task for them and returns NULL; it is repeated when they are known. Computed lanes are memos of the block, so an
 * instruction is computed once for each set. Operations that move elements ask for other sets than their own.
 *
 *     r = f32[8] add(x, broadcast(s))     at {3, 4}: asks x at {3, 4}, s at {0}; then adds two lanes
 */
#include "eval/inner.h"

#include <string.h>

static const EvSet *intern_set(Ev *e, uint64_t hash, EvSet s)
{
    WbbEntry *first = wbb_map_put(&e->sets, hash);
    for (EvSet *p = first->pointer; p; p = p->next) {
        if (p->n != s.n || p->start != s.start || !p->list != !s.list) continue;
        if (!s.list || memcmp(p->list, s.list, (size_t)s.n * sizeof *s.list) == 0) return p;
    }
    EvSet *made = WBB_NEW(e->block, EvSet);
    *made = s;
    made->next = first->pointer;
    first->pointer = made;
    return made;
}

const EvSet *ev_range_set(Ev *e, int64_t start, int64_t n)
{
    int64_t key[2] = {start, n};
    return intern_set(e, wbb_hash(key, sizeof key, 1), (EvSet){.n = n, .start = start});
}

/* Of some of the positions; sets of the same hash are compared in full. */
static uint64_t hash_list(const int64_t *list, int64_t n)
{
    enum { SOME = 64 };
    uint64_t hash = wbb_mix((uint64_t)n) ^ (uint64_t)list[n - 1];
    const int64_t step = n / SOME + 1;
    for (int64_t k = 0; k < n; k += step) hash = wbb_mix(hash ^ (uint64_t)list[k]);
    return hash;
}

const EvSet *ev_list_set(Ev *e, const int64_t *list, int64_t n)
{
    int64_t k = 1;
    while (k < n && list[k] == list[0] + k) k++;
    if (n == 0 || k == n) return ev_range_set(e, n ? list[0] : 0, n);
    return intern_set(e, hash_list(list, n), (EvSet){.n = n, .start = list[0], .list = list});
}

static void *find(EvRef r, const EvSet *set)
{
    for (EvMemo *m = r.frame->memo[r.i->id]; m; m = m->next)
        if (m->set == set && m->leaf == r.leaf) return m->data;
    return NULL;
}

void ev_put_memo(Ev *e, EvRef r, uint32_t leaf, const EvSet *set, void *data)
{
    EvMemo *m = WBB_NEW(e->block, EvMemo);
    *m = (EvMemo){set, leaf, data, r.frame->memo[r.i->id]};
    r.frame->memo[r.i->id] = m;
}

void ev_keep(Ev *e, EvRef r, uint32_t leaf, void *data)
{
    EvMemo *m = WBB_NEW(e->kept_arena, EvMemo);
    *m = (EvMemo){NULL, leaf, data, r.frame->kept[r.i->id]};
    r.frame->kept[r.i->id] = m;
}

void *ev_kept(EvRef r, uint32_t leaf)
{
    for (EvMemo *m = r.frame->kept[r.i->id]; m; m = m->next)
        if (m->leaf == leaf) return m->data;
    return NULL;
}

/* Elements of a parameter of the root computation. */
static void *parameter(Ev *e, EvRef r, const EvSet *set)
{
    ScType t = ev_ref_shape(r)->type;
    if (e->state) {
        const char *all = e->state[hlo_leaves_before(e->root->c, r.i->number) + r.leaf];
        size_t bytes = ev_lane_bytes(e->mode, t);
        if (!set->list) return (void *)(all + (size_t)set->start * bytes);
        void *lanes = ev_lanes(e, (size_t)set->n * bytes);
        ev_gather(lanes, all, bytes, set);
        return lanes;
    }
    int64_t number = hlo_leaves_before(e->root->c, r.i->number) + r.leaf;
    if (!e->source) return ev_import(e, t, e->inputs[number], set);
    void *raw = ev_lanes(e, wbb_mul_size(e->arena, (size_t)set->n, sc_bytes(t)));
    e->source->read(e->source->arg, number, set->list, set->start, set->n, raw);
    const EvSet made = {.n = set->n};
    return ev_import(e, t, raw, &made);
}

/* Lanes that need no operand: kept data, parameters, constants; else NULL. */
static void *leaf_lanes(Ev *e, EvRef r, const EvSet *set)
{
    ScType t = ev_ref_shape(r)->type;
    void *kept = ev_kept(r, r.leaf);
    if (kept) {
        size_t bytes = ev_lane_bytes(e->mode, t);
        if (!set->list) return (char *)kept + (size_t)set->start * bytes;
        void *lanes = ev_lanes(e, (size_t)set->n * bytes);
        ev_gather(lanes, kept, bytes, set);
        return lanes;
    }
    if (r.i->opcode == HLO_PARAMETER) return parameter(e, r, set);
    if (r.i->opcode != HLO_CONSTANT) return NULL;
    if (r.i->shape->type == SC_TUPLE) wbb_decline(e->cx, r.i->loc, WHY_TYPE, "the evaluator takes no constant tuple");
    if (!r.i->literal)
        wbb_decline(e->cx, r.i->loc, WHY_OPERATION, "the text leaves out the value of constant %s", r.i->name);
    if (r.i->literal_splat) {
        const EvSet one = {.n = 1};
        void *value = ev_import(e, t, r.i->literal, &one);
        size_t bytes = ev_lane_bytes(e->mode, t);
        char *lanes = ev_lanes(e, (size_t)set->n * bytes);
        ev_fill(lanes, value, bytes, set->n);
        return lanes;
    }
    return ev_import(e, t, r.i->literal, set);
}

void *ev_need(Ev *e, EvRef r, const EvSet *set)
{
    void *lanes = find(r, set);
    if (lanes) return lanes;
    lanes = leaf_lanes(e, r, set);
    if (lanes) {
        ev_put_memo(e, r, r.leaf, set, lanes);
        return lanes;
    }
    EvTask *t = WBB_NEW(e->block, EvTask);
    *t = (EvTask){r, set, NULL, e->top};
    e->top = t;
    return NULL;
}

EvRef ev_operand(Ev *e, const EvTask *t, uint32_t k)
{
    return ev_resolve(e, t->ref.frame, t->ref.i->operands[k], NULL, 0);
}

void *ev_leaf_result(Ev *e, EvTask *t, void **lanes, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (k != t->ref.leaf) ev_put_memo(e, t->ref, k, t->set, lanes[k]);
    return lanes[t->ref.leaf];
}

/* n copies of one lane: the bounds of clamp and the predicate of select may be scalars where the result is an array. */
static void *spread(Ev *e, ScType t, int64_t n, const void *one)
{
    size_t bytes = ev_lane_bytes(e->mode, t);
    char *lanes = ev_lanes(e, (size_t)n * bytes);
    ev_fill(lanes, one, bytes, n);
    return lanes;
}

/* The set of an operand some of whose dimensions are 1 where the result's are not: their coordinate is 0. */
static const EvSet *of_degenerate(Ev *e, const HloShape *from, const HloShape *to, const EvSet *set)
{
    int64_t *list = ev_list(e, set->n);
    EvWalk walk = ev_walk(to);
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(set, k));
        list[k] = 0;
        for (uint32_t d = 0; d < from->rank; d++) list[k] = list[k] * from->dims[d] + (from->dims[d] == 1 ? 0 : at[d]);
    }
    return ev_list_set(e, list, set->n);
}

static void *elementwise(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    void **x = WBB_NEW_N(e->block, void *, i->n_operands);
    bool all = true;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        EvRef r = ev_operand(e, t, k);
        const HloShape *s = ev_ref_shape(r);
        bool scalar = s->rank == 0 && i->shape->rank != 0,
             degenerate = !scalar && s->rank == i->shape->rank && !hlo_same_dims(s, i->shape);
        x[k] = ev_need(e, r,
                       scalar       ? ev_range_set(e, 0, 1)
                       : degenerate ? of_degenerate(e, s, i->shape, t->set)
                                    : t->set);
        if (x[k] && scalar) x[k] = spread(e, s->type, t->set->n, x[k]);
        all = all && x[k];
    }
    return all ? ev_elementwise(e, i, t->set->n, x) : NULL;
}

/* Declines an operation that has no value in the text, is a library call, or is not known. */
static void refuse(WbbCx *cx, const HloInstruction *i)
{
    const char *name = i->spelling ? i->spelling : hlo_opcode_name(i->opcode);
    switch (i->opcode) {
    case HLO_RNG:
    case HLO_RNG_GET_AND_UPDATE_STATE:
        wbb_decline(cx, i->loc, WHY_OPERATION, "the result of %s differs from call to call", name);
    case HLO_DYNAMIC_RESHAPE:
    case HLO_SET_DIMENSION_SIZE:
        wbb_decline(cx, i->loc, WHY_SHAPE, "%s makes a shape that is known at run time only", name);
    case HLO_CUSTOM_CALL:
        wbb_decline(cx, i->loc, WHY_LIBRARY, "the text does not define custom-call \"%s\"",
                    i->target ? i->target : "");
    case HLO_ALL_GATHER:
    case HLO_ALL_GATHER_DONE:
    case HLO_ALL_GATHER_START:
    case HLO_ALL_REDUCE:
    case HLO_ALL_REDUCE_DONE:
    case HLO_ALL_REDUCE_START: case HLO_ALL_TO_ALL: case HLO_COLLECTIVE_BROADCAST: case HLO_COLLECTIVE_PERMUTE:
    case HLO_COLLECTIVE_PERMUTE_DONE:
    case HLO_COLLECTIVE_PERMUTE_START:
    case HLO_RAGGED_ALL_TO_ALL:
    case HLO_REDUCE_SCATTER:
    case HLO_INFEED: case HLO_OUTFEED: case HLO_SEND: case HLO_SEND_DONE: case HLO_RECV: case HLO_RECV_DONE:
    case HLO_PARTITION_ID:
    case HLO_REPLICA_ID:
    case HLO_FFT:
    case HLO_CHOLESKY:
    case HLO_TRIANGULAR_SOLVE:
    case HLO_RAGGED_DOT:
    case HLO_SCALED_DOT:
        wbb_decline(cx, i->loc, WHY_LIBRARY, "%s is a library call or a collective, and is not evaluated", name);
    default: wbb_decline(cx, i->loc, WHY_OPERATION, "the evaluator has no %s", name);
    }
}

static bool other_width(const HloInstruction *i)
{
    return sc_type_info[i->operands[0]->shape->type].bits != sc_type_info[i->shape->type].bits;
}

typedef void *Compute(Ev *e, EvTask *t);

/* What computes elements of i; NULL: nothing does. *costs: so much that its results are kept. */
static Compute *compute_of(const HloInstruction *i, bool *costs)
{
    *costs = true;
    switch (i->opcode) {
    case HLO_REDUCE: return ev_reduce;
    case HLO_REDUCE_WINDOW: return ev_reduce_window;
    case HLO_SELECT_AND_SCATTER: return ev_select_and_scatter;
    case HLO_SCATTER: return ev_scatter;
    case HLO_DOT: return ev_dot;
    case HLO_CONVOLUTION: return ev_convolution;
    case HLO_SORT: return ev_sort;
    default: break;
    }
    *costs = false;
    switch (i->opcode) {
    case HLO_BITCAST:
    case HLO_BITCAST_CONVERT:
        if (other_width(i)) return ev_rewidth;
        break;
    case HLO_GATHER: return ev_gather_op;
    case HLO_MAP: return ev_map;
    case HLO_WHILE: return ev_while;
    case HLO_SCAN: return ev_scan;
    case HLO_CONDITIONAL: return ev_conditional;
    case HLO_RNG_BIT_GENERATOR: return ev_random_bits;
    case HLO_STOCHASTIC_CONVERT: return ev_stochastic_convert;
    case HLO_GET_DIMENSION_SIZE: return ev_dimension_size;
    default: break;
    }
    return ev_moves(i->opcode) ? ev_move : hlo_is_elementwise(i->opcode) ? elementwise : NULL;
}

static void *step(Ev *e, EvTask *t)
{
    bool costs;
    Compute *compute = compute_of(t->ref.i, &costs);
    if (!compute) refuse(e->cx, t->ref.i);
    if (costs && ev_is_open(e, t->ref.i)) return ev_bound_unknown(e, ev_ref_shape(t->ref)->type, t->set->n);
    return costs && ev_recalls(e, t) ? ev_recall(e, t, compute) : compute(e, t);
}

void ev_check(WbbCx *cx, const HloComputation *c)
{
    bool costs;
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (!ev_is_resolved(i) && !compute_of(i, &costs)) refuse(cx, i);
        for (uint32_t j = 0; j < i->n_called; j++) ev_check(cx, i->called[j]);
    }
}

void *ev_demand(Ev *e, EvRef r, const EvSet *set)
{
    e->top = NULL;
    void *lanes = ev_need(e, r, set);
    if (lanes) return lanes;
    while (e->top) {
        EvTask *t = e->top;
        void *made = find(t->ref, t->set);
        if (!made) {
            wbb_work_on(e->cx, t->ref.i->loc);
            made = step(e, t);
            if (!made) continue; /* the tasks that it waits for are above it */
            if (!find(t->ref, t->set)) ev_put_memo(e, t->ref, t->ref.leaf, t->set, made);
        }
        assert(e->top == t);
        e->top = t->below;
    }
    return find(r, set);
}
