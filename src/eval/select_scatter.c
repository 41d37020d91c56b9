/* select_scatter: select-and-scatter: each window selects one of its elements, to whose position a value is scattered.
 *
 * Needs: the window, a computation that decides of two elements whether the first stays selected, and one that combines
 * values. Leaves: the wanted lanes. Only the windows that cover a wanted element are evaluated.
 *
 * Elements of padding take no part; a window without any other selects nothing. Values are combined in the order of
 * their windows, which HLO leaves open: in EV_BOUNDS as the updates of a scatter are (scatter.c).
 *
 *     x = {1, 5, 2, 7}, source = {10, 20}, window={size=2 stride=2}, select GE, scatter add     0 10 0 20
 */
#include "eval/inner.h"

#include <string.h>

/* Positions of windows in the source, and the position that each selects: -1 none, -2 not known. */
typedef struct {
    int64_t n, *source, *selected;
    char *value; /* of the selected element: lanes */
} Windows;

/* The windows that cover a wanted position, in order. */
static Windows find_windows(Ev *e, const HloInstruction *i, const EvSet *set)
{
    const HloShape *in = i->shape, *source = i->operands[1]->shape;
    int64_t total = hlo_elements(source), n = 0;
    bool *covers = WBB_NEW_N(e->block, bool, total);
    bool all = !set->list && set->n == hlo_elements(in);
    memset(covers, all, (size_t)total);
    EvWalk walk = ev_walk(in);
    for (int64_t k = 0; k < set->n && !all; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(set, k));
        int64_t low[HLO_RANK_LIMIT], high[HLO_RANK_LIMIT], w[HLO_RANK_LIMIT];
        bool none = false;
        for (uint32_t d = 0; d < in->rank; d++) { /* window w covers w * stride - pad + [0, size) */
            const HloWindow *v = &i->windows[d];
            int64_t x = at[d] * v->lhs_dilate + v->low, reach = (v->size - 1) * v->rhs_dilate;
            low[d] = x <= reach ? 0 : (x - reach + v->stride - 1) / v->stride;
            high[d] = x < 0 ? -1 : WBB_MIN(x / v->stride, source->dims[d] - 1);
            none = none || low[d] > high[d];
            w[d] = low[d];
        }
        while (!none) {
            covers[ev_linear(source, w)] = true;
            uint32_t d = in->rank;
            while (d-- > 0 && ++w[d] > high[d]) w[d] = low[d];
            none = d == UINT32_MAX;
        }
    }
    for (int64_t k = 0; k < total; k++) n += covers[k];
    Windows w = {0, ev_list(e, n), ev_list(e, n), NULL};
    for (int64_t k = 0; k < total; k++)
        if (covers[k]) w.source[w.n++] = k;
    w.value = ev_lanes(e, (size_t)w.n * ev_lane_bytes(e->mode, in->type));
    for (int64_t k = 0; k < w.n; k++) w.selected[k] = -1;
    return w;
}

/* Compares one element of each window with the element that is selected so far. */
static void look_at(Ev *e, Ev *part, EvTask *t, Windows *w, int64_t element)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *in = i->shape;
    const EvWindows windows = {in->rank, i->windows, in->dims};
    size_t bytes = ev_lane_bytes(e->mode, in->type);
    int64_t at_element[HLO_RANK_LIMIT], n = 0, *list = ev_list(part, w->n), *who = ev_list(part, w->n);
    for (int d = in->rank - 1; d >= 0; element /= i->windows[d--].size) at_element[d] = element % i->windows[d].size;
    EvWalk walk = ev_walk(i->operands[1]->shape);
    for (int64_t k = 0; k < w->n; k++) {
        const int64_t *at = ev_walk_to(&walk, w->source[k]);
        int64_t x[HLO_RANK_LIMIT];
        bool inside = true;
        for (uint32_t d = 0; d < in->rank && inside; d++)
            inside = (x[d] = ev_window_at(&windows, d, at[d], at_element[d])) >= 0;
        if (!inside) continue;
        who[n] = k;
        list[n++] = ev_linear(in, x);
    }
    if (n == 0) return;
    char *x = ev_demand(part, ev_part_ref(part, ev_operand(e, t, 0)), ev_list_set(part, list, n));
    char *selected = ev_lanes(part, (size_t)n * bytes);
    const EvSet these = {.n = n, .list = who};
    ev_gather(selected, w->value, bytes, &these);
    for (int64_t k = 0; k < n; k++) /* a window that has selected nothing compares the element with itself */
        if (w->selected[who[k]] == -1) memcpy(selected + (size_t)k * bytes, x + (size_t)k * bytes, bytes);
    void *operands[2] = {selected, x}, *stays = NULL;
    ev_apply(part, i->called[0], n, operands, &stays);
    for (int64_t k = 0; k < n; k++) {
        int64_t keep = 0, *selects = &w->selected[who[k]];
        if (*selects == -2) continue;
        if (*selects != -1 && !ev_int_of(part, SC_PRED, stays, k, &keep)) {
            *selects = -2;
            continue;
        }
        if (*selects != -1 && keep) continue;
        *selects = list[k];
        memcpy(w->value + (size_t)who[k] * bytes, x + (size_t)k * bytes, bytes);
    }
}

static void shuffle_windows(Ev *e, Windows *w)
{
    int64_t *order = ev_list(e, w->n), *source = ev_list(e, w->n), *selected = ev_list(e, w->n);
    for (int64_t k = 0; k < w->n; k++) order[k] = k;
    ev_shuffle(e, order, w->n);
    for (int64_t k = 0; k < w->n; k++) {
        source[k] = w->source[order[k]];
        selected[k] = w->selected[order[k]];
    }
    w->source = source;
    w->selected = selected;
}

/* Adds the values to the accumulators; one round has at most one value for each lane. */
static void scatter(Ev *e, Ev *part, EvTask *t, EvAccumulator *acc, const Windows *w)
{
    const HloInstruction *i = t->ref.i;
    int64_t total = hlo_elements(i->shape), remaining = w->n;
    const EvSet *set = t->set;
    uint32_t *first = WBB_NEW_N(e->block, uint32_t, total); /* by position: a lane + 1 */
    uint32_t *next = WBB_NEW_N(e->block, uint32_t, set->n), *seen = WBB_NEW_N(e->block, uint32_t, total);
    bool *done = WBB_NEW_N(e->block, bool, w->n);
    for (int64_t k = set->n; k-- > 0;) {
        next[k] = first[ev_position(set, k)];
        first[ev_position(set, k)] = (uint32_t)k + 1;
    }
    for (uint32_t round = 1; remaining > 0; round++) {
        int64_t n = 0, most = 0;
        for (int64_t k = 0; k < w->n; k++)
            if (!done[k] && w->selected[k] >= 0)
                for (uint32_t l = first[w->selected[k]]; l; l = next[l - 1]) most++;
        ev_begin(part);
        int64_t *list = ev_list(part, most);
        uint32_t *lanes = ev_lanes(part, (size_t)most * sizeof *lanes);
        for (int64_t k = 0; k < w->n; k++) {
            int64_t position = w->selected[k];
            if (done[k] || (position >= 0 && seen[position] == round)) continue;
            done[k] = true;
            remaining--;
            if (position < 0) continue;
            seen[position] = round;
            for (uint32_t l = first[position]; l; l = next[l - 1]) {
                lanes[n] = l - 1;
                list[n++] = w->source[k];
            }
        }
        if (n) {
            void *x = ev_acc_lanes(part, acc, 0, ev_operand(e, t, 1), ev_list_set(part, list, n));
            ev_acc_add(part, acc, lanes, n, &x);
        }
        ev_end(part);
    }
}

/* Where the order of the values shows, an element that several windows select may be anything. */
static void forget_collisions(Ev *e, EvTask *t, const Windows *w, EvBound *lanes)
{
    const HloShape *s = t->ref.i->shape;
    const int64_t per = ev_part_type(s->type) == s->type ? 1 : 2;
    uint32_t *hits = WBB_NEW_N(e->block, uint32_t, hlo_elements(s));
    for (int64_t k = 0; k < w->n; k++)
        if (w->selected[k] >= 0) hits[w->selected[k]]++;
    const EvBound *unknown = ev_bound_unknown(e, s->type, 1);
    for (int64_t k = 0; k < t->set->n; k++)
        if (hits[ev_position(t->set, k)] > 1) memcpy(lanes + k * per, unknown, (size_t)per * sizeof *unknown);
}

void *ev_select_and_scatter(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    void *init = ev_need(e, ev_operand(e, t, 2), ev_range_set(e, 0, 1));
    if (!init) return NULL;
    ScType *type = WBB_NEW(e->block, ScType);
    *type = i->shape->type;
    EvAccumulator *acc = ev_acc_new(e, i->called[1], 1, type, t->set->n);
    ev_acc_init(e, acc, 0, ev_as(e, *type, i->operands[2]->shape->type, 1, init), 1);
    const bool any_order = ev_acc_any_order(acc), shuffle = ev_acc_begin(e, acc, NULL);
    Windows w = find_windows(e, i, t->set);
    int64_t elements = 1;
    for (uint32_t d = 0; d < i->n_windows; d++) elements *= i->windows[d].size;
    Ev *part = ev_part(e);
    for (int64_t k = 0; k < elements && w.n; k++) {
        ev_begin(part);
        look_at(e, part, t, &w, k);
        ev_end(part);
    }
    bool unknown = false;
    for (int64_t k = 0; k < w.n; k++) unknown = unknown || w.selected[k] == -2;
    if (shuffle || e->noise) shuffle_windows(e, &w);
    if (!unknown) scatter(e, part, t, acc, &w);
    ev_part_end(e);
    if (unknown) return ev_bound_unknown(e, i->shape->type, t->set->n);
    void *lanes = ev_acc_end(e, acc)[0];
    if (e->mode == EV_BOUNDS && !any_order && ev_order_shows(e, i->called[1], 1))
        forget_collisions(e, t, &w, lanes);
    return lanes;
}
