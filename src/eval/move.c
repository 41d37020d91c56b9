/* move: operations that take elements from elsewhere and change none: broadcast, reshape, bitcast, slice, transpose,
 * ...
 *
 * Needs: the set of wanted positions. Leaves: for each operand the positions wanted of it, then its elements in order.
 *
 * A move is a list of sources: an array, the positions wanted of it, and the lanes of the result that they go to. Where
 * the operand has no more elements than are wanted, each is demanded once; where one position is wanted several times
 * in a row (a broadcast), it is demanded once.
 *
 *     r = f32[2,3] broadcast(f32[2] x), dimensions={0}     at {0, .., 5}: x at {0, 1}, taken as 0 0 0 1 1 1
 */
#include "eval/inner.h"

#include <string.h>

typedef struct {
    EvRef ref;
    const EvSet *set;
    const int64_t *take;   /* element k of the source is lane take[k] of the set; NULL: lane k */
    const uint32_t *lanes; /* element k of the source is lane lanes[k] of the result; NULL: lane k */
    int64_t n;
    bool one; /* the set is one position, which all n elements are */
    void *data;
} Source;

struct EvMove {
    int64_t n; /* lanes of the result */
    uint32_t n_sources;
    Source *sources;
    const void *anything; /* EV_BOUNDS: the result where no source is known, one EvBound for all lanes */
};

EvMove *ev_move_new(Ev *e, int64_t n, uint32_t sources)
{
    EvMove *m = WBB_NEW(e->block, EvMove);
    m->n = n;
    m->sources = WBB_NEW_N(e->block, Source, sources);
    return m;
}

/* Demands each position once, in ascending order; all elements, as a range, where every position occurs. */
static void take_distinct(Ev *e, Source *s, const int64_t *positions, int64_t n, int64_t elements)
{
    int64_t *rank = ev_list(e, elements), count = 0;
    memset(rank, 0, (size_t)elements * sizeof *rank);
    for (int64_t k = 0; k < n; k++) rank[positions[k]] = 1;
    for (int64_t p = 0; p < elements; p++) count += rank[p];
    if (count == elements) {
        s->set = ev_range_set(e, 0, elements);
        s->take = positions;
        return;
    }
    int64_t *distinct = ev_list(e, count), *take = ev_list(e, n);
    count = 0;
    for (int64_t p = 0; p < elements; p++) {
        if (!rank[p]) continue;
        distinct[count] = p;
        rank[p] = count++;
    }
    for (int64_t k = 0; k < n; k++) take[k] = rank[positions[k]];
    s->set = ev_list_set(e, distinct, count);
    s->take = take;
}

void ev_move_source(Ev *e, EvMove *m, EvRef r, const int64_t *positions, const uint32_t *lanes, int64_t n)
{
    if (n == 0) return;
    Source *s = &m->sources[m->n_sources++];
    *s = (Source){.ref = r, .lanes = lanes, .n = n};
    int64_t elements = hlo_elements(ev_ref_shape(r)), steps = 1;
    if (elements == 1) {
        s->set = ev_range_set(e, 0, 1);
        s->one = true;
        return;
    }
    for (int64_t k = 1; k < n; k++) steps += positions[k] != positions[k - 1];
    if (elements < n && elements <= steps) {
        take_distinct(e, s, positions, n, elements);
    } else if (steps <= n / 2) {
        int64_t *distinct = ev_list(e, steps), *take = ev_list(e, n), last = -1;
        for (int64_t k = 0; k < n; k++) {
            if (k == 0 || positions[k] != positions[k - 1]) distinct[++last] = positions[k];
            take[k] = last;
        }
        s->set = ev_list_set(e, distinct, steps);
        s->take = take;
    } else {
        s->set = ev_list_set(e, positions, n);
    }
}

/* Copies the elements of a source to their lanes. */
static void put_elements(char *to, const Source *s, size_t bytes)
{
    const char *from = s->data;
    for (int64_t k = 0; k < s->n; k++) {
        size_t lane = s->lanes ? s->lanes[k] : (size_t)k, at = s->one ? 0 : (size_t)(s->take ? s->take[k] : k);
        memcpy(to + lane * bytes, from + at * bytes, bytes);
    }
}

void *ev_move_finish(Ev *e, ScType t, EvMove *m)
{
    bool all = true;
    for (uint32_t k = 0; k < m->n_sources; k++) {
        Source *s = &m->sources[k];
        s->data = ev_need(e, s->ref, s->set);
        all = all && s->data;
    }
    if (!all) return NULL;
    for (uint32_t k = 0; k < m->n_sources; k++) {
        Source *s = &m->sources[k];
        s->data = ev_as(e, t, ev_ref_shape(s->ref)->type, s->set->n, s->data);
    }
    const Source *one = &m->sources[0];
    if (m->n_sources == 1 && !one->lanes && !one->take && (!one->one || m->n == 1)) return one->data;
    size_t bytes = ev_lane_bytes(e->mode, t);
    char *made = ev_lanes(e, (size_t)m->n * bytes);
    if (m->n_sources == 1 && !one->lanes && one->one) {
        ev_fill(made, one->data, bytes, m->n);
        return made;
    }
    if (m->n_sources == 1 && !one->lanes) {
        const EvSet take = {.n = one->n, .list = one->take};
        ev_gather(made, one->data, bytes, &take);
        return made;
    }
    for (uint32_t k = 0; k < m->n_sources; k++) put_elements(made, &m->sources[k], bytes);
    return made;
}

/* For each position of a set of `shape`: offset + the sum over d of factor[d] * coordinate d. */
static int64_t *affine(Ev *e, const EvSet *set, const HloShape *shape, int64_t offset, const int64_t *factor)
{
    int64_t *list = ev_list(e, set->n);
    EvWalk walk = ev_walk(shape);
    int last = shape->rank - 1;
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(set, k));
        int64_t sum = offset;
        for (int d = 0; d <= last; d++) sum += factor[d] * at[d];
        list[k] = sum;
        if (set->list || last < 0) continue;
        int64_t row = WBB_MIN(shape->dims[last] - at[last], set->n - k);
        for (int64_t c = 1; c < row; c++) list[++k] = sum += factor[last]; /* along the row */
    }
    return list;
}

/* broadcast, transpose, slice, reverse: the positions of operand 0. */
static const int64_t *by_strides(Ev *e, const HloInstruction *i, const HloShape *from, const EvSet *set)
{
    int64_t strides[HLO_RANK_LIMIT], factor[HLO_RANK_LIMIT] = {0}, offset = 0;
    ev_strides(from, strides);
    for (uint32_t d = 0; d < from->rank; d++) {
        switch (i->opcode) {
        case HLO_BROADCAST: factor[i->dimensions[d]] += strides[d]; break;
        case HLO_SLICE:
            factor[d] = strides[d] * i->slices[d].stride;
            offset += strides[d] * i->slices[d].start;
            break;
        default: factor[d] = strides[d]; break;
        }
    }
    if (i->opcode == HLO_TRANSPOSE)
        for (uint32_t d = 0; d < i->shape->rank; d++) factor[d] = strides[i->dimensions[d]];
    if (i->opcode == HLO_REVERSE) {
        for (uint32_t k = 0; k < i->n_dimensions; k++) {
            int64_t d = i->dimensions[k];
            offset += strides[d] * (from->dims[d] - 1);
            factor[d] = -strides[d];
        }
    }
    return affine(e, set, i->shape, offset, factor);
}

static bool row_major(const HloShape *s)
{
    for (uint32_t d = 0; s->minor_to_major && d < s->rank; d++)
        if (s->minor_to_major[d] != s->rank - 1 - d) return false;
    return true;
}

/* The positions in `from` of elements at the same offsets in memory as the positions of the set in `to`: those that a
 * bitcast reads. */
const int64_t *ev_by_layout(Ev *e, const HloShape *to, const HloShape *from, const EvSet *set)
{
    int64_t factor[HLO_RANK_LIMIT], strides[HLO_RANK_LIMIT], n = 1;
    for (uint32_t k = 0; k < to->rank; k++) {
        uint32_t d = to->minor_to_major ? to->minor_to_major[k] : to->rank - 1 - k;
        factor[d] = n;
        n *= to->dims[d];
    }
    int64_t *list = affine(e, set, to, 0, factor);
    if (row_major(from)) return list;
    ev_strides(from, strides);
    for (int64_t k = 0; k < set->n; k++) {
        int64_t rest = list[k], sum = 0;
        for (uint32_t m = 0; m < from->rank; m++) {
            uint32_t d = from->minor_to_major[m];
            sum += rest % from->dims[d] * strides[d];
            rest /= from->dims[d];
        }
        list[k] = sum;
    }
    return list;
}

static EvMove *one_source(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *from = i->operands[0]->shape;
    EvMove *m = ev_move_new(e, t->set->n, 1);
    bool same = i->opcode == HLO_RESHAPE ||
                (i->opcode != HLO_BROADCAST && i->opcode != HLO_TRANSPOSE && i->opcode != HLO_SLICE &&
                 i->opcode != HLO_REVERSE && row_major(from) && row_major(i->shape));
    if (same) {
        m->sources[m->n_sources++] = (Source){.ref = ev_operand(e, t, 0), .set = t->set, .n = t->set->n};
        return m;
    }
    bool by_layout = i->opcode == HLO_BITCAST;
    bool one = hlo_elements(from) == 1;
    const int64_t *positions = one         ? NULL
                               : by_layout ? ev_by_layout(e, i->shape, from, t->set)
                                           : by_strides(e, i, from, t->set);
    ev_move_source(e, m, ev_operand(e, t, 0), positions, NULL, t->set->n);
    return m;
}

/* For each operand: the positions wanted of it, and the lanes that they go to. */
typedef struct {
    uint32_t n; /* operands */
    int64_t **positions;
    uint32_t **lanes;
    int64_t *count;
} Split;

static Split new_split(Ev *e, uint32_t operands)
{
    Split s = {operands, WBB_NEW_N(e->block, int64_t *, operands), WBB_NEW_N(e->block, uint32_t *, operands),
               WBB_NEW_N(e->block, int64_t, operands)};
    return s;
}

static void assign(Ev *e, Split *s, uint32_t operand, int64_t position, int64_t lane, int64_t n)
{
    if (!s->positions[operand]) {
        s->positions[operand] = ev_list(e, n);
        s->lanes[operand] = ev_lanes(e, (size_t)n * sizeof(uint32_t));
    }
    int64_t k = s->count[operand]++;
    s->positions[operand][k] = position;
    s->lanes[operand][k] = (uint32_t)lane;
}

static EvMove *of_split(Ev *e, EvTask *t, const Split *s)
{
    EvMove *m = ev_move_new(e, t->set->n, s->n);
    for (uint32_t k = 0; k < s->n; k++) {
        bool whole = s->count[k] == t->set->n;
        ev_move_source(e, m, ev_operand(e, t, k), s->positions[k], whole ? NULL : s->lanes[k], s->count[k]);
    }
    return m;
}

static EvMove *concatenate(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    int64_t dim = i->dimensions[0], n = t->set->n;
    EvWalk walk = ev_walk(i->shape);
    Split s = new_split(e, i->n_operands);
    for (int64_t k = 0; k < n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(t->set, k));
        int64_t before = 0; /* coordinate at which the operand begins */
        uint32_t operand = 0;
        while (at[dim] - before >= i->operands[operand]->shape->dims[dim])
            before += i->operands[operand++]->shape->dims[dim];
        const HloShape *from = i->operands[operand]->shape;
        int64_t position = 0;
        for (uint32_t d = 0; d < from->rank; d++)
            position = position * from->dims[d] + at[d] - ((int64_t)d == dim ? before : 0);
        assign(e, &s, operand, position, k, n);
    }
    return of_split(e, t, &s);
}

static EvMove *pad(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *from = i->operands[0]->shape;
    int64_t n = t->set->n;
    EvWalk walk = ev_walk(i->shape);
    Split s = new_split(e, 2);
    for (int64_t k = 0; k < n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(t->set, k));
        int64_t position = 0;
        bool inside = true;
        for (uint32_t d = 0; d < from->rank && inside; d++) {
            int64_t x = at[d] - i->paddings[d].low, step = i->paddings[d].interior + 1;
            inside = x >= 0 && (step == 1 || x % step == 0);
            if (step != 1) x /= step;
            inside = inside && x < from->dims[d];
            position = position * from->dims[d] + x;
        }
        assign(e, &s, inside ? 0 : 1, inside ? position : 0, k, n);
    }
    return of_split(e, t, &s);
}

int ev_starts(Ev *e, EvRef of, uint32_t first, const HloShape *in, const HloShape *window, int64_t *start,
              EvLanesOf *lanes_of)
{
    int state = 1;
    for (uint32_t d = 0; d < in->rank; d++) {
        bool vector = of.i->operands[first]->shape->rank == 1; /* the old form: one array of all indices */
        EvRef r = ev_resolve(e, of.frame, of.i->operands[vector ? first : first + d], NULL, 0);
        void *lanes = lanes_of(e, r, ev_range_set(e, vector ? d : 0, 1));
        if (!lanes) state = 0;
        else if (!ev_int_of(e, ev_ref_shape(r)->type, lanes, 0, &start[d])) state = state ? -1 : 0;
        start[d] = WBB_MAX(WBB_MIN(start[d], in->dims[d] - window->dims[d]), 0);
    }
    return state;
}

static EvMove *unknown(Ev *e, EvTask *t)
{
    EvMove *m = ev_move_new(e, t->set->n, 1);
    m->anything = ev_bound_unknown(e, t->ref.i->shape->type, t->set->n);
    return m;
}

static EvMove *dynamic_slice(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *in = i->operands[0]->shape;
    int64_t start[HLO_RANK_LIMIT] = {0}, strides[HLO_RANK_LIMIT], offset = 0;
    int known = ev_starts(e, t->ref, 1, in, i->shape, start, ev_need);
    if (known <= 0) return known ? unknown(e, t) : NULL;
    ev_strides(in, strides);
    for (uint32_t d = 0; d < in->rank; d++) offset += start[d] * strides[d];
    EvMove *m = ev_move_new(e, t->set->n, 1);
    ev_move_source(e, m, ev_operand(e, t, 0), affine(e, t->set, i->shape, offset, strides), NULL, t->set->n);
    return m;
}

static EvMove *dynamic_update_slice(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *window = i->operands[1]->shape;
    int64_t start[HLO_RANK_LIMIT] = {0}, n = t->set->n;
    int known = ev_starts(e, t->ref, 2, i->shape, window, start, ev_need);
    if (known <= 0) return known ? unknown(e, t) : NULL;
    EvWalk walk = ev_walk(i->shape);
    Split s = new_split(e, 2);
    for (int64_t k = 0; k < n; k++) {
        int64_t position = ev_position(t->set, k), in_window = 0;
        const int64_t *at = ev_walk_to(&walk, position);
        bool inside = true;
        for (uint32_t d = 0; d < window->rank; d++) {
            int64_t x = at[d] - start[d];
            inside = inside && x >= 0 && x < window->dims[d];
            in_window = in_window * window->dims[d] + x;
        }
        assign(e, &s, inside ? 1 : 0, inside ? in_window : position, k, n);
    }
    return of_split(e, t, &s);
}

bool ev_moves(HloOpcode op)
{
    switch (op) {
    case HLO_BROADCAST: case HLO_RESHAPE: case HLO_BITCAST: case HLO_SLICE: case HLO_REVERSE: case HLO_TRANSPOSE:
    case HLO_CONCATENATE: case HLO_PAD: case HLO_DYNAMIC_SLICE: case HLO_DYNAMIC_UPDATE_SLICE: case HLO_IOTA:
        return true;
    default: return false;
    }
}

static void *iota(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    ScType type = i->shape->type, held = e->mode == EV_BOUNDS ? type : ev_lane_type(e->mode, type);
    int64_t n = t->set->n;
    EvWalk walk = ev_walk(i->shape);
    char *lanes = ev_lanes(e, (size_t)n * ev_lane_bytes(e->mode, type));
    for (int64_t k = 0; k < n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(t->set, k));
        if (sc_type_info[held].cls == 'C') {
            double parts[2] = {(double)at[i->number], 0};
            for (int64_t p = 0; p < 2; p++) {
                ScType part = ev_part_type(held);
                uint64_t bits = sc_from_f64(part, parts[p]);
                if (e->mode == EV_BOUNDS) ((EvBound *)(void *)lanes)[2 * k + p] = ev_bound_exact(part, bits);
                else ev_set(part, lanes, 2 * k + p, bits);
            }
            continue;
        }
        uint64_t bits = sc_from_i128(held, at[i->number]);
        if (e->mode == EV_BOUNDS) ((EvBound *)(void *)lanes)[k] = ev_bound_exact(type, bits);
        else ev_set(held, lanes, k, bits);
    }
    return lanes;
}

void *ev_move(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    if (i->opcode == HLO_IOTA) return iota(e, t);
    EvMove *m = t->state;
    if (!m) {
        switch (i->opcode) {
        case HLO_CONCATENATE: m = concatenate(e, t); break;
        case HLO_PAD: m = pad(e, t); break;
        case HLO_DYNAMIC_SLICE: m = dynamic_slice(e, t); break;
        case HLO_DYNAMIC_UPDATE_SLICE: m = dynamic_update_slice(e, t); break;
        default: m = one_source(e, t); break;
        }
        t->state = m;
        if (!m) return NULL;
    }
    if (m->anything) return (void *)m->anything;
    ScType from = i->operands[0]->shape->type;
    void *lanes = ev_move_finish(e, from, m);
    return lanes && i->opcode == HLO_BITCAST ? ev_bits(e, i->shape->type, from, t->set->n, lanes) : lanes;
}
