/* sort: rows put in the order of a comparator.
 *
 * Needs: the set of wanted elements. Leaves: their lanes, of all operands. Only the rows that hold them are sorted.
 *
 * The sort is always stable, which is one of the orders that HLO allows where is_stable is not set. All rows are sorted
 * together, by merging runs whose length doubles: the position of an element in the merged run is its position in its
 * own run plus the number of elements of the other run that precede it, which bisection finds for all elements at once,
 * so that the comparator is applied to many lanes. In EV_BOUNDS, where a comparison is not decided, or the comparator
 * calls x equal to y and y to z, but not x to z, each element of the row may be any of the row's.
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
} Rows;

/* less[k]: does the comparator put element a[k] before b[k]? */
static void compare(Rows *s, Ev *part, int64_t n, const int64_t *a, const int64_t *b, bool *less)
{
    const HloInstruction *i = s->i;
    void **operands = WBB_NEW_N(part->block, void *, 2 * i->n_operands), *out;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        size_t bytes = ev_lane_bytes(part->mode, i->operands[k]->shape->type);
        const EvSet from_a = {.n = n, .list = a}, from_b = {.n = n, .list = b};
        ev_gather(operands[2 * k] = ev_lanes(part, (size_t)n * bytes), s->x[k], bytes, &from_a);
        ev_gather(operands[2 * k + 1] = ev_lanes(part, (size_t)n * bytes), s->x[k], bytes, &from_b);
    }
    ev_apply(part, i->called[0], n, operands, &out);
    for (int64_t k = 0; k < n; k++) {
        int64_t value = 0;
        if (!ev_int_of(part, SC_PRED, out, k, &value)) s->open[a[k] / s->length] = true;
        less[k] = value != 0;
    }
}

/* A piece of one level: elements [from, from + n) of `order` go to their positions in `merged`. */
static void merge(Rows *s, Ev *part, int64_t width, int64_t from, int64_t n, const int64_t *order, int64_t *merged)
{
    ev_begin(part);
    int64_t *low = ev_list(part, n), *high = ev_list(part, n), *a = ev_list(part, n), *b = ev_list(part, n),
            *who = ev_list(part, n);
    bool *less = ev_lanes(part, (size_t)n * sizeof *less);
    for (int64_t k = 0; k < n; k++) {
        int64_t at = from + k, row = at / s->length * s->length, in_row = at - row, run = in_row / width;
        int64_t other = run % 2 ? run - 1 : run + 1; /* its elements lie at [low, high) */
        low[k] = row + WBB_MIN(other * width, s->length);
        high[k] = row + WBB_MIN((other + 1) * width, s->length);
    }
    for (;;) {
        int64_t open = 0;
        for (int64_t k = 0; k < n; k++) {
            if (low[k] >= high[k]) continue;
            bool second = (from + k) % s->length / width % 2;
            int64_t middle = low[k] + (high[k] - low[k]) / 2, this = order[from + k], other = order[middle];
            who[open] = k;
            a[open] = second ? this : other; /* of equal elements those of the first run come first */
            b[open++] = second ? other : this;
        }
        if (!open) break;
        compare(s, part, open, a, b, less);
        for (int64_t k = 0; k < open; k++) {
            int64_t w = who[k], middle = low[w] + (high[w] - low[w]) / 2;
            bool second = (from + w) % s->length / width % 2;
            if (less[k] != second) low[w] = middle + 1; /* the other element comes first */
            else high[w] = middle;
        }
    }
    for (int64_t k = 0; k < n; k++) {
        int64_t at = from + k, row = at / s->length * s->length, run = (at - row) / width,
                other = run % 2 ? run - 1 : run + 1;
        int64_t before = low[k] - (row + WBB_MIN(other * width, s->length));
        merged[row + run / 2 * 2 * width + (at - row - run * width) + before] = order[at];
    }
    ev_end(part);
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

/* Marks rows whose order the comparator leaves open. Elements that are equal to their neighbours, in the order that was
 * found, are a class; each must be equal to the first of its class, and no element may come before the one that it
 * follows. */
static void find_open(Rows *s, Ev *part, const int64_t *order)
{
    const int64_t all = s->rows * s->length;
    int64_t first = 0; /* of the class of element `from` */
    for (int64_t from = 0; from < all; from += EV_MANY) {
        const int64_t n = WBB_MIN((int64_t)EV_MANY, all - from);
        ev_begin(part);
        int64_t *before = ev_list(part, n), *after = ev_list(part, n), *start = ev_list(part, n);
        bool *less = ev_lanes(part, (size_t)n * sizeof *less), *more = ev_lanes(part, (size_t)n * sizeof *more);
        for (int64_t k = 0; k < n; k++) {
            const int64_t at = from + k, previous = at % s->length ? at - 1 : at;
            before[k] = order[previous], after[k] = order[at];
        }
        compare(s, part, n, before, after, less);
        compare(s, part, n, after, before, more);
        for (int64_t k = 0; k < n; k++) {
            if (less[k] || (from + k) % s->length == 0) first = from + k;
            if (more[k] && before[k] != after[k]) s->open[(from + k) / s->length] = true;
            start[k] = order[first];
        }
        compare(s, part, n, start, after, less);
        for (int64_t k = 0; k < n; k++)
            if (less[k] && start[k] != after[k]) s->open[(from + k) / s->length] = true;
        ev_end(part);
    }
}

static int64_t *sorted(Ev *e, Rows *s)
{
    int64_t n = s->rows * s->length, *order = ev_list(e, n), *merged = ev_list(e, n);
    for (int64_t k = 0; k < n; k++) order[k] = k;
    Ev *part = ev_part(e);
    for (int64_t width = 1; width < s->length; width *= 2) {
        memset(merged, -1, (size_t)n * sizeof *merged);
        for (int64_t from = 0; from < n; from += EV_MANY)
            merge(s, part, width, from, WBB_MIN((int64_t)EV_MANY, n - from), order, merged);
        for (int64_t k = 0; k < n; k++) s->odd[k / s->length] = s->odd[k / s->length] || merged[k] < 0;
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
                 WBB_NEW_N(e->block, bool, s->w.n + 1)};
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
