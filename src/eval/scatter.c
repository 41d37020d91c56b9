/* scatter: updates combined into an array at positions that indices give.
 *
 * Needs: the verified dimension numbers. Leaves: the wanted lanes, of all arrays of a variadic scatter.
 *
 * An index vector gives the start of a window of the updates; a window that does not fit is skipped as a whole (XLA's
 * operation semantics). All indices are read whatever is wanted, but only the updates that reach a wanted element.
 * Updates are combined in the order of the index vectors. HLO leaves that order open, unless the kernel documents it:
 * in EV_BOUNDS an element that is overwritten more than once may have any of the values; sums, differences, products
 * and quotients are taken in any order (accumulate.c); and where the order of any other updates shows, an element that
 * several of them reach may be anything.
 *
 *     scatter(f32[4] x, s32[2] {3, 9}, f32[2] u), to_apply=add     at {3}: x[3] + u[0]; the index 9 is out of range
 */
#include "eval/bounds.h"

#include <string.h>

/* One update that reaches a wanted element. */
typedef struct {
    uint32_t lane;
    int64_t update; /* position in the updates */
} Hit;

typedef struct {
    Hit *items;
    uint32_t n, capacity;
} Hits;

typedef struct {
    HloScatterDims d;
    const HloShape *in, *indices, *updates;
    uint32_t n_arrays;
    bool unknown; /* EV_BOUNDS: some index is an interval */
    Hits hits;
    /* [n_acc] one for each array where each result is one operation on its own element and update; else one for all */
    EvAccumulator **acc;
    uint32_t n_acc;
    bool *open; /* [n_acc] the accumulator's bounds hold one order of the updates alone */
} State;

/* A map from wanted positions to lanes. Several lanes may want the same position. */
typedef struct {
    const EvSet *set; /* a range needs no map */
    WbbMap lanes;     /* position -> first lane + 1 */
    uint32_t *next;   /* by lane: the next lane + 1 of the same position */
    int64_t least, largest;
} Wanted;

static Wanted want(Ev *e, const EvSet *set)
{
    Wanted w = {.set = set, .lanes = {.arena = e->block}, .least = set->start, .largest = set->start + set->n - 1};
    if (!set->list) return w;
    w.next = WBB_NEW_N(e->block, uint32_t, set->n);
    w.least = INT64_MAX, w.largest = INT64_MIN;
    for (int64_t k = set->n; k-- > 0;) {
        int64_t p = set->list[k];
        WbbEntry *lane = wbb_map_put(&w.lanes, (uint64_t)p);
        w.least = WBB_MIN(w.least, p);
        w.largest = WBB_MAX(w.largest, p);
        w.next[k] = (uint32_t)lane->value;
        lane->value = (uint64_t)k + 1;
    }
    return w;
}

static void hit(Ev *e, const Wanted *w, Hits *hits, int64_t position, int64_t update)
{
    Hit one = {(uint32_t)(position - w->least), update};
    if (position < w->least || position > w->largest) return;
    if (!w->set->list) {
        WBB_PUSH(e->block, hits, one);
        return;
    }
    const WbbEntry *first = wbb_map_get(&w->lanes, (uint64_t)position);
    for (uint32_t lane = first ? (uint32_t)first->value : 0; lane; lane = w->next[lane - 1]) {
        one.lane = lane - 1;
        WBB_PUSH(e->block, hits, one);
    }
}

/* The dimensions of the updates: those outside the window, those of the window, and the operand's dimension of each of
 * these. */
typedef struct {
    uint32_t n_outer, n_window;
    uint32_t outer[HLO_RANK_LIMIT], window[HLO_RANK_LIMIT], operand[HLO_RANK_LIMIT];
} Parts;

static Parts parts_of(const State *s)
{
    Parts p = {0, 0, {0}, {0}, {0}};
    for (uint32_t d = 0; d < s->updates->rank; d++)
        if (!hlo_holds(s->d.update_window, d)) p.outer[p.n_outer++] = d;
    for (uint32_t d = 0; d < s->in->rank; d++) {
        if (hlo_holds(s->d.inserted_window, d) || hlo_holds(s->d.input_batching, d)) continue;
        p.window[p.n_window] = (uint32_t)s->d.update_window.items[p.n_window];
        p.operand[p.n_window++] = d;
    }
    return p;
}

/* The start of the window of an index vector; false if the window is skipped. `at`: coordinates in the outer
 * dimensions. */
static bool find_start(Ev *e, State *s, const Parts *p, const int64_t *at, const void *indices, int64_t *start)
{
    int64_t index[HLO_RANK_LIMIT + 1] = {0};
    for (uint32_t k = 0, d = 0; k < p->n_outer; k++, d++) {
        if (d == s->d.index_vector_dim) d++;
        index[d] = at[k];
    }
    memset(start, 0, s->in->rank * sizeof *start);
    for (uint32_t k = 0; k < s->d.input_batching.n; k++)
        start[s->d.input_batching.items[k]] = index[s->d.indices_batching.items[k]];
    for (uint32_t k = 0; k < s->d.operand_map.n; k++) {
        if (s->d.index_vector_dim < s->indices->rank) index[s->d.index_vector_dim] = k;
        if (!ev_int_of(e, s->indices->type, indices, ev_linear(s->indices, index), &start[s->d.operand_map.items[k]])) {
            s->unknown = true;
            return false;
        }
    }
    for (uint32_t d = 0; d < s->in->rank; d++)
        if (start[d] < 0 || start[d] >= s->in->dims[d]) return false;
    for (uint32_t k = 0; k < p->n_window; k++)
        if (start[p->operand[k]] > s->in->dims[p->operand[k]] - s->updates->dims[p->window[k]]) return false;
    return true;
}

/* The next coordinates among `n` dimensions of a shape; false after the last. */
static bool advance(const HloShape *shape, const uint32_t *dims, uint32_t n, int64_t *at)
{
    for (uint32_t k = n; k-- > 0; at[k] = 0)
        if (++at[k] < shape->dims[dims[k]]) return true;
    return false;
}

/* Coordinates of the wanted elements. Used where a window has more elements than are wanted: each is searched in the
 * window. */
typedef struct {
    int64_t n, *at; /* [n][rank] */
    int64_t size[HLO_RANK_LIMIT]; /* of the window in each dimension of the operand */
    int64_t step[HLO_RANK_LIMIT]; /* stride of that dimension in the updates */
} Few;

static Few few_of(Ev *e, const State *s, const Parts *p, const int64_t *stride, const EvSet *set)
{
    const uint32_t rank = s->in->rank;
    Few f = {.n = set->n, .at = ev_list(e, set->n * WBB_MAX(rank, 1u))};
    EvWalk walk = ev_walk(s->in);
    for (int64_t k = 0; k < set->n; k++)
        memcpy(f.at + k * rank, ev_walk_to(&walk, ev_position(set, k)), rank * sizeof *f.at);
    for (uint32_t d = 0; d < rank; d++) f.size[d] = 1;
    for (uint32_t k = 0; k < p->n_window; k++) {
        f.size[p->operand[k]] = s->updates->dims[p->window[k]];
        f.step[p->operand[k]] = stride[p->window[k]];
    }
    return f;
}

static void hit_few(Ev *e, const Few *f, uint32_t rank, Hits *hits, const int64_t *start, int64_t update)
{
    for (int64_t k = 0; k < f->n; k++) {
        Hit one = {(uint32_t)k, update};
        uint32_t d = 0;
        for (; d < rank; d++) {
            const int64_t x = f->at[k * rank + d] - start[d];
            if (x < 0 || x >= f->size[d]) break;
            one.update += x * f->step[d];
        }
        if (d == rank) WBB_PUSH(e->block, hits, one);
    }
}

static void find_hits(Ev *e, State *s, const EvSet *set, const void *indices)
{
    const Parts p = parts_of(s);
    const Wanted w = want(e, set);
    int64_t outer[HLO_RANK_LIMIT] = {0}, stride[HLO_RANK_LIMIT], in_stride[HLO_RANK_LIMIT], start[HLO_RANK_LIMIT];
    if (hlo_elements(s->updates) == 0 || set->n == 0) return;
    ev_strides(s->updates, stride);
    ev_strides(s->in, in_stride);
    Few few = {.n = 0};
    int64_t window = 1;
    for (uint32_t k = 0; k < p.n_window; k++) window *= s->updates->dims[p.window[k]];
    if (set->n < window) few = few_of(e, s, &p, stride, set);
    do {
        if (!find_start(e, s, &p, outer, indices, start)) {
            if (s->unknown) return;
            continue;
        }
        int64_t at[HLO_RANK_LIMIT] = {0}, position = ev_linear(s->in, start), last = position, update = 0;
        for (uint32_t k = 0; k < p.n_outer; k++) update += outer[k] * stride[p.outer[k]];
        for (uint32_t k = 0; k < p.n_window; k++) last += (s->updates->dims[p.window[k]] - 1) * in_stride[p.operand[k]];
        if (last < w.least || position > w.largest) continue;
        if (few.n) {
            hit_few(e, &few, s->in->rank, &s->hits, start, update);
            continue;
        }
        do {
            int64_t there = position, from = update;
            for (uint32_t k = 0; k < p.n_window; k++) {
                there += at[k] * in_stride[p.operand[k]];
                from += at[k] * stride[p.window[k]];
            }
            hit(e, &w, &s->hits, there, from);
        } while (advance(s->updates, p.window, p.n_window, at));
    } while (advance(s->updates, p.outer, p.n_outer, outer));
}

static void shuffle_hits(Ev *e, Hits *hits)
{
    int64_t *order = ev_list(e, hits->n);
    Hit *taken = WBB_NEW_N(e->block, Hit, hits->n);
    for (uint32_t k = 0; k < hits->n; k++) order[k] = k;
    ev_shuffle(e, order, hits->n);
    for (uint32_t k = 0; k < hits->n; k++) taken[k] = hits->items[order[k]];
    hits->items = taken;
}

/* Sorts hits stably into groups in which each lane occurs at most once; (*ends)[k] is the end of group k. Returns the
 * number of groups. */
static uint32_t sort_into_groups(Ev *e, Hits *hits, int64_t lanes, uint32_t **ends)
{
    uint32_t *seen = WBB_NEW_N(e->block, uint32_t, lanes), groups = 0;
    uint32_t *group = WBB_NEW_N(e->block, uint32_t, hits->n);
    for (uint32_t k = 0; k < hits->n; k++) {
        group[k] = seen[hits->items[k].lane]++;
        groups = WBB_MAX(groups, group[k] + 1);
    }
    uint32_t *end = WBB_NEW_N(e->block, uint32_t, groups + 1), *next = WBB_NEW_N(e->block, uint32_t, groups + 1);
    for (uint32_t k = 0; k < hits->n; k++) end[group[k]]++;
    for (uint32_t k = 0; k < groups; k++) {
        next[k] = k ? end[k - 1] : 0;
        end[k] += next[k];
    }
    Hit *sorted = WBB_NEW_N(e->block, Hit, hits->n);
    for (uint32_t k = 0; k < hits->n; k++) sorted[next[group[k]]++] = hits->items[k];
    hits->items = sorted;
    *ends = end;
    return groups;
}

/* The accumulator of an array, and the array's number in it. */
static EvAccumulator *of_array(const State *s, uint32_t k) { return s->acc[s->n_acc > 1 ? k : 0]; }
static uint32_t number_in(const State *s, uint32_t k) { return s->n_acc > 1 ? 0 : k; }

static void combine(Ev *e, Ev *part, EvTask *t, State *s, const Hit *hits, uint32_t n)
{
    ev_begin(part);
    int64_t *list = ev_list(part, n);
    uint32_t *lanes = ev_lanes(part, n * sizeof *lanes);
    void **x = WBB_NEW_N(part->block, void *, s->n_arrays);
    for (uint32_t k = 0; k < n; k++) {
        list[k] = hits[k].update;
        lanes[k] = hits[k].lane;
    }
    const EvSet *set = ev_list_set(part, list, n);
    for (uint32_t k = 0; k < s->n_arrays; k++)
        x[k] = ev_acc_lanes(part, of_array(s, k), number_in(s, k), ev_operand(e, t, s->n_arrays + 1 + k), set);
    for (uint32_t k = 0; k < s->n_acc; k++) ev_acc_add(part, s->acc[k], lanes, n, x + k);
    ev_end(part);
}

/* Does the computation return the updates themselves? In EV_BOUNDS each result is then any of several updates. */
static bool overwrites(const HloComputation *c, uint32_t n)
{
    bool all = true;
    for (uint32_t k = 0; k < n; k++) {
        const HloInstruction *i = n > 1 && c->root->opcode == HLO_TUPLE ? c->root->operands[k] : c->root;
        while (hlo_forwards_operand(i) || i->opcode == HLO_COPY) i = i->operands[0];
        all = all && i->opcode == HLO_PARAMETER && i->number == (int64_t)(n + k);
    }
    return all;
}

static void any_of(Ev *e, EvTask *t, State *s, uint32_t of, void *lanes, const Hit *hits, uint32_t n, bool first)
{
    ScType type = t->ref.i->operands[of]->shape->type, part_type = ev_part_type(type);
    int64_t per = part_type == type ? 1 : 2, *list = ev_list(e, n);
    EvBound *r = lanes;
    for (uint32_t k = 0; k < n; k++) list[k] = hits[k].update;
    Ev *part = ev_part(e);
    ev_begin(part);
    const EvBound *x = ev_acc_lanes(part, of_array(s, of), number_in(s, of),
                                     ev_operand(e, t, s->n_arrays + 1 + of), ev_list_set(part, list, n));
    for (int64_t k = 0; k < n; k++)
        for (int64_t p = 0; p < per; p++) {
            EvBound *to = &r[hits[k].lane * per + p];
            *to = first ? x[k * per + p] : ev_bound_union(part_type, *to, x[k * per + p]);
        }
    ev_part_end(e);
}

static bool prepare(Ev *e, EvTask *t, State *s)
{
    const HloInstruction *i = t->ref.i;
    ScType *types = WBB_NEW_N(e->block, ScType, s->n_arrays);
    for (uint32_t k = 0; k < s->n_arrays; k++) types[k] = i->operands[k]->shape->type;
    const int64_t n = t->set->n;
    bool all = true;
    s->acc = WBB_NEW_N(e->block, EvAccumulator *, s->n_arrays);
    for (; s->n_acc < s->n_arrays; s->n_acc++)
        if (!(s->acc[s->n_acc] = ev_acc_of_result(e, i->called[0], s->n_acc, s->n_arrays, types, n))) break;
    if (s->n_acc < s->n_arrays) {
        s->n_acc = 1;
        s->acc[0] = ev_acc_new(e, i->called[0], s->n_arrays, types, n);
    }
    for (uint32_t k = 0; k < s->n_arrays; k++) {
        const void *x = ev_need(e, ev_operand(e, t, k), t->set);
        if (x) ev_acc_init(e, of_array(s, k), number_in(s, k), x, n);
        all = all && x;
    }
    return all;
}

/* Lanes that several updates reach may have any value, where the order of these shows. */
static void forget_collisions(Ev *e, EvTask *t, State *s, void *const *lanes, const Hit *again, uint32_t n)
{
    const HloComputation *c = t->ref.i->called[0];
    bool open = false;
    for (uint32_t k = 0; k < s->n_acc; k++) open = open || s->open[k];
    if (!open || !ev_order_shows(e, c, s->n_arrays)) return;
    for (uint32_t k = 0; k < s->n_arrays; k++) {
        if (!s->open[s->n_acc > 1 ? k : 0]) continue;
        const ScType type = t->ref.i->operands[k]->shape->type;
        const int64_t per = ev_part_type(type) == type ? 1 : 2;
        const EvBound *unknown = ev_bound_unknown(e, type, 1);
        for (uint32_t h = 0; h < n; h++)
            memcpy((EvBound *)lanes[k] + again[h].lane * per, unknown, (size_t)per * sizeof *unknown);
    }
}

static void **end_all(Ev *e, const State *s)
{
    if (s->n_acc < s->n_arrays) return ev_acc_end(e, s->acc[0]);
    void **lanes = WBB_NEW_N(e->block, void *, s->n_arrays);
    for (uint32_t k = 0; k < s->n_arrays; k++) lanes[k] = ev_acc_end(e, s->acc[k])[0];
    return lanes;
}

void *ev_scatter(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    uint32_t n = i->n_operands / 2;
    State *s = WBB_NEW(e->block, State);
    *s = (State){.d = hlo_scatter_dims(e->block, i), .in = i->operands[0]->shape, .indices = i->operands[n]->shape,
                 .updates = i->operands[n + 1]->shape, .n_arrays = n};
    if (!prepare(e, t, s)) return NULL;
    if (t->set->n > UINT32_MAX) wbb_decline(e->cx, i->loc, WHY_SIZE, "a scatter into more than 2^32 elements");
    EvRef indices = ev_operand(e, t, n);
    find_hits(e, s, t->set, ev_all(e, indices));
    void **lanes = NULL;
    uint32_t *ends = NULL;
    if (s->unknown) {
        for (uint32_t k = 0; k < n; k++)
            if (k != t->ref.leaf)
                ev_put_memo(e, t->ref, k, t->set, ev_bound_unknown(e, i->operands[k]->shape->type, t->set->n));
        return ev_bound_unknown(e, i->operands[t->ref.leaf]->shape->type, t->set->n);
    }
    const EvSerial *serial = ev_serial(e, i);
    const bool one = !serial && overwrites(i->called[0], n);
    const bool either = e->mode == EV_BOUNDS && one;
    s->open = WBB_NEW_N(e->block, bool, s->n_acc);
    for (uint32_t k = 0; !either && k < s->n_acc; k++) {
        s->open[k] = !serial && !ev_acc_any_order(s->acc[k]);
        ev_acc_begin(e, s->acc[k], serial);
        if (e->mode == EV_BOUNDS && e->accuracy != SC_EXACT) ev_acc_flush(e, s->acc[k]);
    }
    if (either) lanes = end_all(e, s);
    if (e->noise && !serial) shuffle_hits(e, &s->hits);
    uint32_t groups = sort_into_groups(e, &s->hits, t->set->n, &ends);
    Ev *part = either ? NULL : ev_part(e);
    for (uint32_t r = 0, from = 0; r < groups; from = ends[r++]) {
        for (uint32_t k = 0; either && k < n; k++)
            any_of(e, t, s, k, lanes[k], s->hits.items + from, ends[r] - from, r == 0);
        if (!either) combine(e, part, t, s, s->hits.items + from, ends[r] - from);
    }
    if (!either) {
        ev_part_end(e);
        lanes = end_all(e, s);
        if (e->mode == EV_BOUNDS && groups > 1)
            forget_collisions(e, t, s, lanes, s->hits.items + ends[0], ends[1] - ends[0]);
    }
    return ev_leaf_result(e, t, lanes, n);
}
