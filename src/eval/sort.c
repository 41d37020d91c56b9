/* sort: rows put in the order of a comparator.
 *
 * Needs: the set of wanted elements. Leaves: their lanes, of all operands. Only the rows that hold them are sorted.
 *
 * The sort is always stable, which is one of the orders that HLO allows where is_stable is not set. All rows are sorted
 * together, by merging runs whose length doubles, in stretches: bisection finds where each begins in the two runs, then
 * all take one element after the other, so that the comparator is applied to many lanes, about once for each element
 * and doubling. In EV_BOUNDS, where a comparison is not decided, or the comparator calls x equal to y and y to z, but
 * not x to z, each element of the row may be any of the row's.
 *
 *     sort(s32[4] {3, 1, 2, 1}), comparator LT     runs 3|1|2|1 -> 1 3|1 2 -> 1 1 2 3
 */
#include "eval/bounds.h"

#include <string.h>

typedef struct {
    Ev *e;
    const HloInstruction *i;
    int64_t rows, length;
    void *const *x;  /* [operand]: lanes of all rows, row by row */
    bool *open;      /* [row]: some comparison is not decided */
    bool *odd;       /* [row]: the comparator contradicts itself, as LT does for nans */
    bool *read;      /* [operand]: the comparator depends on it */
} Rows;

/* less[k]: does the comparator put element a[k] before b[k]? */
static void compare(Rows *s, Ev *part, int64_t n, const int64_t *a, const int64_t *b, bool *less)
{
    const HloInstruction *i = s->i;
    void **operands = WBB_NEW_N(part->block, void *, 2 * i->n_operands), *out;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        size_t bytes = ev_lane_bytes(part->mode, i->operands[k]->shape->type);
        const EvSet from_a = {.n = n, .list = a}, from_b = {.n = n, .list = b};
        for (uint32_t p = 0; p < 2; p++) {
            void *lanes = operands[2 * k + p] = ev_lanes(part, (size_t)n * bytes);
            if (s->read[k]) ev_gather(lanes, s->x[k], bytes, p ? &from_b : &from_a);
        }
    }
    ev_apply(part, i->called[0], n, operands, &out);
    for (int64_t k = 0; k < n; k++) {
        int64_t value = 0;
        if (!ev_int_of(part, SC_PRED, out, k, &value)) s->open[a[k] / s->length] = true;
        less[k] = value != 0;
    }
}

/* A stretch of the run that two neighbouring runs become: its elements are those from `a` to `a_end` of the first run
 * and from `b` to `b_end` of the second. */
typedef struct {
    int64_t a, a_end, b, b_end, to;
    int64_t first, second, end; /* where the runs begin, and the second one ends */
} Stretch;

enum { STRETCH = 64, AT_ONCE = EV_MANY / STRETCH }; /* elements of one, at most; stretches */

/* The stretches of runs of `width` that become runs of twice that. */
static Stretch *stretches_of(const Rows *s, WbbArena *arena, int64_t width, int64_t *n)
{
    const int64_t each = WBB_MIN(2 * width, (int64_t)STRETCH), in_row = (s->length + each - 1) / each;
    Stretch *list = WBB_NEW_N(arena, Stretch, s->rows * in_row + 1);
    *n = 0;
    for (int64_t row = 0; row < s->rows; row++)
        for (int64_t at = 0; at < s->length; at += each) {
            const int64_t before = row * s->length, first = at / (2 * width) * 2 * width;
            const int64_t second = WBB_MIN(first + width, s->length), end = WBB_MIN(first + 2 * width, s->length);
            list[(*n)++] = (Stretch){.first = before + first, .second = before + second, .end = before + end,
                                     .to = before + at};
        }
    return list;
}

/* Finds where each of n stretches begins in the first run: f elements of it and d - f of the second come before. */
static void find_starts(Rows *s, Ev *part, Stretch *list, int64_t n, const int64_t *order)
{
    ev_begin(part);
    int64_t *low = ev_list(part, n), *high = ev_list(part, n), *a = ev_list(part, n), *b = ev_list(part, n),
            *who = ev_list(part, n);
    bool *less = ev_lanes(part, (size_t)n * sizeof *less);
    for (int64_t k = 0; k < n; k++) {
        const int64_t d = list[k].to - list[k].first;
        low[k] = WBB_MAX(d - (list[k].end - list[k].second), 0);
        high[k] = WBB_MIN(d, list[k].second - list[k].first);
    }
    for (;;) {
        int64_t open = 0;
        for (int64_t k = 0; k < n; k++) {
            if (low[k] >= high[k]) continue;
            const int64_t middle = low[k] + (high[k] - low[k]) / 2, d = list[k].to - list[k].first;
            who[open] = k;
            a[open] = order[list[k].second + d - 1 - middle];
            b[open++] = order[list[k].first + middle];
        }
        if (!open) break;
        compare(s, part, open, a, b, less);
        for (int64_t k = 0; k < open; k++) {
            const int64_t w = who[k], middle = low[w] + (high[w] - low[w]) / 2;
            if (less[k]) high[w] = middle; /* of equal elements those of the first run come first */
            else low[w] = middle + 1;
        }
    }
    for (int64_t k = 0; k < n; k++) {
        list[k].a = list[k].first + low[k];
        list[k].b = list[k].second + list[k].to - list[k].first - low[k];
    }
    ev_end(part);
}

/* A stretch ends where the next one begins. If that is before it begins, the comparator contradicts itself. */
static void find_ends(Rows *s, Stretch *list, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        Stretch *x = &list[k];
        const bool last = k + 1 == n || list[k + 1].first != x->first;
        x->a_end = last ? x->second : list[k + 1].a, x->b_end = last ? x->end : list[k + 1].b;
        if (x->a_end < x->a || x->b_end < x->b) s->odd[x->first / s->length] = true;
    }
}

/* Puts the elements of n stretches in order, one of each after the other. */
static void merge(Rows *s, Ev *part, Stretch *list, int64_t n, const int64_t *order, int64_t *merged)
{
    ev_begin(part);
    int64_t *a = ev_list(part, n), *b = ev_list(part, n), *who = ev_list(part, n), open = 0;
    bool *less = ev_lanes(part, (size_t)n * sizeof *less);
    for (int64_t k = 0; k < n; k++)
        if (!s->odd[list[k].first / s->length]) who[open++] = k;
    while (open) {
        int64_t both = 0;
        for (int64_t k = 0; k < open; k++) {
            const Stretch *x = &list[who[k]];
            const int64_t of_a = x->a_end - x->a, of_b = x->b_end - x->b;
            if (of_a && of_b) {
                a[both] = order[x->b], b[both] = order[x->a], who[both++] = who[k];
                continue;
            }
            memcpy(merged + x->to, order + x->a, (size_t)of_a * sizeof *order);
            memcpy(merged + x->to + of_a, order + x->b, (size_t)of_b * sizeof *order);
        }
        if (both) compare(s, part, both, a, b, less);
        for (int64_t k = 0; k < both; k++) {
            Stretch *x = &list[who[k]];
            merged[x->to++] = less[k] ? a[k] : b[k];
            if (less[k]) x->b++;
            else x->a++;
        }
        open = both;
    }
    ev_end(part);
}

/* Runs of `width` become runs of twice that, of rows whose comparator does not contradict itself. */
static void merge_runs(Rows *s, Ev *part, int64_t width, const int64_t *order, int64_t *merged)
{
    int64_t n;
    WbbArena *arena = wbb_arena_new(s->e->cx);
    Stretch *list = stretches_of(s, arena, width, &n);
    for (int64_t from = 0; from < n; from += AT_ONCE)
        find_starts(s, part, list + from, WBB_MIN((int64_t)AT_ONCE, n - from), order);
    find_ends(s, list, n);
    for (int64_t from = 0; from < n; from += AT_ONCE)
        merge(s, part, list + from, WBB_MIN((int64_t)AT_ONCE, n - from), order, merged);
    wbb_arena_free(arena);
}

/* Sorts one row by plain merging, one comparison at a time: the result is a permutation whatever the comparator
 * returns. */
static void one_by_one(Rows *s, Ev *part, int64_t *order, int64_t *merged)
{
    for (int64_t width = 1; width < s->length; width *= 2) {
        for (int64_t from = 0; from < s->length; from += 2 * width) {
            const int64_t middle = WBB_MIN(from + width, s->length), end = WBB_MIN(from + 2 * width, s->length);
            int64_t a = from, b = middle;
            for (int64_t to = from; to < end; to++) {
                bool second = a == middle;
                if (!second && b < end) {
                    ev_begin(part);
                    compare(s, part, 1, &order[b], &order[a], &second);
                    ev_end(part);
                }
                merged[to] = order[second ? b++ : a++];
            }
        }
        memcpy(order, merged, (size_t)s->length * sizeof *order);
    }
}

/* Comparisons whose results an order of all elements would have: less[k] is wanted of a[k] and b[k]. */
typedef struct {
    Rows *s;
    Ev *part;
    int64_t n, *a, *b;
    bool *less, *wanted;
} Checks;

static void check_all(Checks *c)
{
    if (!c->n) return;
    ev_begin(c->part);
    compare(c->s, c->part, c->n, c->a, c->b, c->less);
    for (int64_t k = 0; k < c->n; k++)
        if (c->less[k] != c->wanted[k]) c->s->open[c->a[k] / c->s->length] = true;
    ev_end(c->part);
    c->n = 0;
}

static void check(Checks *c, int64_t a, int64_t b, bool wanted)
{
    c->a[c->n] = a, c->b[c->n] = b, c->wanted[c->n++] = wanted;
    if (c->n == EV_MANY) check_all(c);
}

/* Of each row, by place: whether an element comes after the one before it, so that a class of equal ones begins. */
static void find_classes(Checks *c, const int64_t *order, bool *begins)
{
    const int64_t length = c->s->length, all = c->s->rows * length;
    for (int64_t from = 0; from < all; from += EV_MANY) {
        const int64_t n = WBB_MIN((int64_t)EV_MANY, all - from);
        ev_begin(c->part);
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = from + k;
            c->a[k] = order[at % length ? at - 1 : at], c->b[k] = order[at];
        }
        compare(c->s, c->part, n, c->a, c->b, c->less);
        for (int64_t k = 0; k < n; k++) begins[from + k] = c->less[k] || (from + k) % length == 0;
        ev_end(c->part);
    }
}

/* Marks rows whose order the comparator leaves open. Elements that are equal to their neighbours, in the order that was
 * found, are a class. No element may come before the one that it follows; each must be equal to the first of its class,
 * after the first of the class before and of the first class of the row, and before the first of the next class. */
static void find_open(Rows *s, Ev *part, const int64_t *order)
{
    const int64_t length = s->length;
    Checks c = {s, part, 0, ev_list(s->e, EV_MANY), ev_list(s->e, EV_MANY), ev_lanes(s->e, EV_MANY),
                ev_lanes(s->e, EV_MANY)};
    bool *begins = ev_lanes(s->e, (size_t)(s->rows * length));
    find_classes(&c, order, begins);
    for (int64_t row = 0; row < s->rows; row++) {
        const int64_t *x = order + row * length;
        const bool *first = begins + row * length;
        int64_t own = 0, before = -1, next = 0;
        for (int64_t k = 0; k < length; k++) {
            if (k && first[k]) before = own, own = k;
            if (next <= k)
                for (next = k + 1; next < length && !first[next];) next++;
            if (k) check(&c, x[k], x[k - 1], false);
            if (own < k) check(&c, x[own], x[k], false);
            if (own + 1 < k) check(&c, x[k], x[own], false);
            if (before >= 0 && before != k - 1) check(&c, x[before], x[k], true);
            if (next < length && next != k + 1) check(&c, x[k], x[next], true);
            if (before > 0) check(&c, x[0], x[k], true);
        }
    }
    check_all(&c);
}

static int64_t *sorted(Ev *e, Rows *s)
{
    int64_t n = s->rows * s->length, *order = ev_list(e, n), *merged = ev_list(e, n);
    for (int64_t k = 0; k < n; k++) order[k] = k;
    Ev *part = ev_part(e);
    for (int64_t width = 1; width < s->length; width *= 2) {
        merge_runs(s, part, width, order, merged);
        for (int64_t k = 0; k < n; k++)
            if (s->odd[k / s->length]) merged[k] = k;
        int64_t *swap = order;
        order = merged;
        merged = swap;
    }
    for (int64_t r = 0; r < s->rows; r++) {
        if (!s->odd[r]) continue;
        if (e->mode == EV_BOUNDS) s->open[r] = true;
        else one_by_one(s, part, order + r * s->length, merged + r * s->length);
    }
    if (e->mode == EV_BOUNDS) find_open(s, part, order);
    ev_part_end(e);
    return order;
}

/* The rows that hold the wanted elements: for lane k its row and its index in the row; the positions of all elements of
 * the rows. */
typedef struct {
    int64_t n, length, *row, *index, *positions;
} Wanted;

static Wanted find_rows(Ev *e, const HloInstruction *i, const EvSet *set)
{
    const HloShape *shape = i->operands[0]->shape;
    const int64_t dim = i->n_dimensions ? i->dimensions[0] : shape->rank - 1;
    int64_t length = shape->dims[dim], stride = 1;
    for (uint32_t d = (uint32_t)dim + 1; d < shape->rank; d++) stride *= shape->dims[d];
    Wanted w = {0, length, ev_list(e, set->n), ev_list(e, set->n), NULL};
    WbbMap rows = {.arena = e->block}; /* by their first positions */
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t p = ev_position(set, k), index = p / stride % length;
        const WbbEntry *row = wbb_map_put(&rows, (uint64_t)(p - index * stride));
        w.row[k] = row - rows.entries;
        w.index[k] = index;
    }
    w.n = rows.n;
    w.positions = ev_list(e, w.n * length);
    for (int64_t r = 0; r < w.n; r++)
        for (int64_t k = 0; k < length; k++) w.positions[r * length + k] = (int64_t)rows.entries[r].key + k * stride;
    return w;
}

const EvSet *ev_sorted_rows(Ev *e, const HloInstruction *i, const EvSet *set)
{
    const Wanted w = find_rows(e, i, set);
    const int64_t n = w.n * w.length;
    return n == set->n ? set : ev_list_set(e, w.positions, n);
}

/* EV_BOUNDS: the union of the elements of a row. */
static EvBound *union_of_row(Ev *e, ScType t, const EvBound *row, int64_t length)
{
    ScType p = ev_part_type(t);
    int64_t per = p == t ? 1 : 2;
    EvBound *to = WBB_NEW_N(e->block, EvBound, per);
    for (int64_t j = 0; j < per; j++) {
        to[j] = row[j];
        for (int64_t k = 1; k < length; k++) to[j] = ev_bound_union(p, to[j], row[k * per + j]);
    }
    return to;
}

typedef struct {
    Wanted w;
    const EvSet *set;
} State;

void *ev_sort(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    State *s = t->state;
    if (!s) {
        t->state = s = WBB_NEW(e->block, State);
        s->w = find_rows(e, i, t->set);
        s->set = ev_list_set(e, s->w.positions, s->w.n * s->w.length);
    }
    void **x = WBB_NEW_N(e->block, void *, i->n_operands);
    bool all = true;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        x[k] = ev_need(e, ev_operand(e, t, k), s->set);
        all = all && x[k];
    }
    if (!all) return NULL;
    Rows rows = {e,
                 i,
                 s->w.n,
                 s->w.length,
                 x,
                 WBB_NEW_N(e->block, bool, s->w.n + 1),
                 WBB_NEW_N(e->block, bool, s->w.n + 1),
                 hlo_comparator_reads(e->block, i)};
    const int64_t *order = sorted(e, &rows);
    void **lanes = WBB_NEW_N(e->block, void *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        ScType type = i->operands[k]->shape->type;
        size_t bytes = ev_lane_bytes(e->mode, type);
        char *r = lanes[k] = ev_lanes(e, (size_t)t->set->n * bytes);
        EvBound **any = WBB_NEW_N(e->block, EvBound *, s->w.n + 1); /* of each row that is open */
        for (int64_t j = 0; j < t->set->n; j++) {
            int64_t row = s->w.row[j];
            char *to = r + (size_t)j * bytes;
            const int64_t first = row * rows.length * (int64_t)(bytes / sizeof(EvBound));
            if (rows.open[row] && !any[row]) any[row] = union_of_row(e, type, (EvBound *)x[k] + first, rows.length);
            if (rows.open[row]) memcpy(to, any[row], bytes);
            else memcpy(to, (char *)x[k] + (size_t)order[row * rows.length + s->w.index[j]] * bytes, bytes);
        }
    }
    return ev_leaf_result(e, t, lanes, i->n_operands);
}
