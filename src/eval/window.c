/* window: reductions of windows that slide over an array, and the positions of the elements of a window.
 *
 * Needs: window={size, stride, pad, lhs_dilate, rhs_dilate}. Leaves: for reduce-window the wanted lanes.
 *
 * Padding may be negative; the input may be dilated (elements are lhs_dilate apart), and the window too. Positions
 * outside the input, and between dilated elements, take no part: the reduction of an empty window is its init value.
 *
 * Results at positions take one element of each window a step, demanded for all of them together. All results at once,
 * where the computation is one operation, are combined row by row; where the window of a result is that of the one
 * before and one more element (a cumulative sum), the result is the one before and that element, which is the same
 * order. The order of additions is in both cases that of the steps, so the bits are equal.
 *
 *     f32[4] reduce-window(f32[4] x, 0), window={size=3 pad=1_1}, to_apply=add     at {0}: x[0] + x[1]
 */
#include "eval/inner.h"

#include <string.h>

int64_t ev_window_at(const EvWindows *w, uint32_t d, int64_t out, int64_t element)
{
    const HloWindow *v = &w->windows[d];
    int64_t x = out * v->stride + element * v->rhs_dilate - v->low;
    if (x < 0 || x % v->lhs_dilate) return -1;
    x /= v->lhs_dilate;
    return x < w->in[d] ? x : -1;
}

/* One step: the lanes that take an element, and its positions in the input. */
typedef struct {
    uint32_t *lanes;
    int64_t *positions, n;
} Step;

/* For each dimension d, part[d][coordinate * size + element] is the summand of the position in the input, or -1. */
typedef struct {
    uint32_t n;
    int64_t *part[HLO_RANK_LIMIT];
    int64_t elements; /* of the window */
    int64_t *order;   /* order of its elements; NULL: row-major */
} Table;

static Table new_table(Ev *e, const HloInstruction *i, const HloShape *in, const HloShape *out)
{
    const EvWindows w = {in->rank, i->windows, in->dims};
    Table t = {.elements = 1};
    int64_t stride[HLO_RANK_LIMIT];
    ev_strides(in, stride);
    for (uint32_t d = 0; d < in->rank; d++) {
        int64_t size = i->windows[d].size;
        t.elements *= size;
        int64_t *part = t.part[t.n++] = WBB_NEW_N(e->block, int64_t, out->dims[d] * size);
        for (int64_t o = 0; o < out->dims[d]; o++)
            for (int64_t k = 0; k < size; k++) {
                int64_t x = ev_window_at(&w, d, o, k);
                part[o * size + k] = x < 0 ? -1 : x * stride[d];
            }
    }
    return t;
}

static Step find_step(Ev *part, const HloInstruction *i, const Table *table, const EvSet *set, const HloShape *out,
                      int64_t element)
{
    Step s = {ev_lanes(part, (size_t)set->n * sizeof *s.lanes), ev_list(part, set->n), 0};
    int64_t at_element[HLO_RANK_LIMIT];
    for (int d = out->rank - 1; d >= 0; d--) {
        at_element[d] = element % i->windows[d].size;
        element /= i->windows[d].size;
    }
    EvWalk walk = ev_walk(out);
    for (int64_t k = 0; k < set->n; k++) {
        const int64_t *at = ev_walk_to(&walk, ev_position(set, k));
        int64_t position = 0;
        for (uint32_t d = 0; d < table->n; d++) {
            int64_t p = table->part[d][at[d] * i->windows[d].size + at_element[d]];
            position += p;
            if (p < 0) {
                position = -1;
                break;
            }
        }
        if (position < 0) continue;
        s.lanes[s.n] = (uint32_t)k;
        s.positions[s.n++] = position;
    }
    return s;
}

/* Some steps at once: their elements are demanded together. */
static int64_t add_steps(Ev *e, Ev *part, EvTask *t, EvAccumulator *acc, const Table *table, int64_t from)
{
    const HloInstruction *i = t->ref.i;
    uint32_t n_arrays = i->n_operands / 2;
    int64_t most = WBB_MIN(WBB_MAX(EV_BLOCK / WBB_MAX(t->set->n, 1), 1), table->elements - from), n = 0;
    ev_begin(part);
    Step *steps = WBB_NEW_N(part->block, Step, most);
    int64_t *list = ev_list(part, most * t->set->n);
    for (int64_t k = 0; k < most; k++) {
        steps[k] =
            find_step(part, i, table, t->set, ev_ref_shape(t->ref), table->order ? table->order[from + k] : from + k);
        for (int64_t j = 0; j < steps[k].n; j++) list[n++] = steps[k].positions[j];
    }
    if (n) {
        char **lanes = WBB_NEW_N(part->block, char *, n_arrays);
        void **x = WBB_NEW_N(part->block, void *, n_arrays);
        const EvSet *set = ev_list_set(part, list, n);
        for (uint32_t k = 0; k < n_arrays; k++) lanes[k] = ev_acc_lanes(part, acc, k, ev_operand(e, t, k), set);
        for (int64_t k = 0, done = 0; k < most; done += steps[k++].n) {
            for (uint32_t j = 0; j < n_arrays; j++)
                x[j] = lanes[j] + (size_t)done * ev_acc_bytes(e, acc, j);
            if (steps[k].n) ev_acc_add(part, acc, steps[k].n == t->set->n ? NULL : steps[k].lanes, steps[k].n, x);
        }
    }
    ev_end(part);
    return most;
}

bool ev_window_at_once(const Ev *e, const HloInstruction *i)
{
    const HloShape *in = i->operands[0]->shape;
    return i->n_operands == 2 && in->rank > 0 && i->windows[in->rank - 1].lhs_dilate == 1 &&
           !ev_serial(e, i) && !ev_scan_order(e, i) && ev_acc_takes_rows(e, i->called[0], 1, i->shape->type);
}

/* All results of a reduction of windows. */
typedef struct {
    EvAccumulator *acc;
    const HloInstruction *i;
    const HloShape *in, *out;
    int64_t rows, row;       /* rows of results; results of one */
    int64_t at_once, strip;  /* rows that a thread computes at once; results of a row, so that they stay in the cache */
} AllWindows;

/* Lanes [from, end) of a row of results that begins at `lane`: element k of the last dimension of their windows, which
 * are in the row of the input that begins at position `base`. */
static void add_row(Ev *part, const AllWindows *a, int64_t k, int64_t lane, int64_t from, int64_t end, int64_t base)
{
    const HloWindow *w = &a->i->windows[a->in->rank - 1];
    const int64_t in = a->in->dims[a->in->rank - 1];
    const int64_t shift = k * w->rhs_dilate - w->low; /* result o reads element o * stride + shift */
    if (shift > in - 1) return;
    from = WBB_MAX(from, shift < 0 ? (w->stride - 1 - shift) / w->stride : 0);
    end = WBB_MIN(end, (in - 1 - shift) / w->stride + 1);
    if (from < end)
        ev_acc_add_row(part, a->acc, lane + from, end - from, base + from * w->stride + shift, w->stride);
}

/* One row of results. */
static void add_windows(Ev *part, const AllWindows *a, EvWalk *walk, int64_t lane)
{
    const HloInstruction *i = a->i;
    const uint32_t last = a->in->rank - 1u;
    const EvWindows windows = {a->in->rank, i->windows, a->in->dims};
    int64_t stride[HLO_RANK_LIMIT], elements = 1; /* of the window, in the dimensions before the last */
    ev_strides(a->in, stride);
    for (uint32_t d = 0; d < last; d++) elements *= i->windows[d].size;
    const int64_t *at = ev_walk_to(walk, lane);
    for (int64_t from = 0; from < a->row; from += a->strip)
        for (int64_t element = 0; element < elements; element++) {
            int64_t rest = element, base = 0, x = 0;
            for (uint32_t d = last; d-- > 0 && x >= 0; rest /= i->windows[d].size) {
                x = ev_window_at(&windows, d, at[d], rest % i->windows[d].size);
                base += x * stride[d];
            }
            for (int64_t k = 0; k < i->windows[last].size && x >= 0; k++)
                add_row(part, a, k, lane, from, WBB_MIN(from + a->strip, a->row), base);
        }
}

static void add_rows(Ev *part, void *arg, int64_t k)
{
    const AllWindows *a = arg;
    EvWalk walk = ev_walk(a->out);
    for (int64_t r = k * a->at_once; r < WBB_MIN((k + 1) * a->at_once, a->rows); r++)
        add_windows(part, a, &walk, r * a->row);
}

/* Is the result of the operation on integers the same in every order? */
static bool any_order(ScOp op, ScType t)
{
    return sc_is_int(t) && (op == OP_ADD || op == OP_MUL || op == OP_MIN || op == OP_MAX || op == OP_BAND ||
                            op == OP_BOR || op == OP_BXOR);
}

/* Results each of whose windows is that of the result before (of integers and long windows also: after) it and further
 * elements: of suffixes of floats, the bounds hold both orders. False: these are other windows. */
static bool add_cumulative(Ev *e, EvAccumulator *acc, const HloInstruction *i, const HloShape *in)
{
    EvCumulative c;
    if (!ev_cumulative(i, &c)) return false;
    const ScOp op = hlo_scalar(i->called[0]->root->opcode);
    const bool prefixes = c.prefixes, long_enough = any_order(op, in->type) || c.length >= EV_LONG_SUFFIX;
    if (!prefixes && !long_enough) return false;
    for (int64_t o = 0; o < c.outer; o++)
        for (int64_t k = 0, added = 0; k < c.results; k++) { /* `added` elements from the first, or from the last */
            const int64_t lane = o * c.results + (prefixes ? k : c.results - 1 - k);
            const int64_t before = prefixes ? lane - 1 : lane + 1, wanted = ev_cumulative_terms(&c, k, prefixes);
            if (k > 0) ev_acc_copy_row(e, acc, lane * c.inner, before * c.inner, c.inner);
            for (; added < wanted; added++) {
                const int64_t x = o * c.length + (prefixes ? added : c.length - 1 - added);
                for (int64_t j = 0; j < c.inner; j += EV_ROW)
                    ev_acc_add_row(e, acc, lane * c.inner + j, WBB_MIN(c.inner - j, (int64_t)EV_ROW), x * c.inner + j,
                                   1);
            }
        }
    return true;
}

static void add_all(Ev *e, EvTask *t, EvAccumulator *acc)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *in = i->operands[0]->shape, *out = ev_ref_shape(t->ref);
    const int64_t n = hlo_elements(in);
    void *x = ev_as(e, out->type, in->type, n, ev_all(e, ev_operand(e, t, 0)));
    ev_acc_elements(e, acc, x, n);
    if (add_cumulative(e, acc, i, in)) return;
    const int64_t row = out->dims[out->rank - 1], rows = row ? hlo_elements(out) / row : 0;
    AllWindows all = {acc, i, in, out, rows, row, WBB_MAX(EV_BLOCK / WBB_MAX(row, 1), 1),
                      e->mode == EV_BOUNDS ? EV_ROW / 4 : EV_ROW};
    ev_spread(e, i->name, 0, (rows + all.at_once - 1) / all.at_once, add_rows, &all);
}

/* Would single results of these windows take more than all of them? */
static bool is_wide(const HloInstruction *i, const HloShape *out)
{
    enum { WIDE = 4096 };
    const HloShape *in = i->operands[0]->shape;
    int64_t terms = 1;
    for (uint32_t d = 0; d < in->rank; d++) terms = WBB_MIN(terms, INT32_MAX) * i->windows[d].size;
    return terms > WIDE && hlo_elements(out) <= INT32_MAX;
}

/* All results, of which any that are wanted later are taken; the ones that are wanted now. */
static void *keep_all(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    const HloShape *out = ev_ref_shape(t->ref);
    const EvSet all = {.n = hlo_elements(out)};
    const size_t bytes = ev_lane_bytes(e->mode, out->type);
    EvTask whole = *t;
    whole.set = &all;
    ev_must_keep(e);
    EvAccumulator *acc = ev_acc_of_operands(e, &whole);
    if (!acc) return NULL;
    ev_acc_begin(e, acc, NULL);
    if (hlo_elements(i->operands[0]->shape) > 0) add_all(e, &whole, acc);
    char *kept = wbb_alloc(e->kept_arena, wbb_mul_size(e->kept_arena, (size_t)all.n, bytes));
    memcpy(kept, ev_acc_end(e, acc)[0], (size_t)all.n * bytes);
    ev_keep(e, t->ref, t->ref.leaf, kept);
    void *lanes = ev_lanes(e, (size_t)t->set->n * bytes);
    ev_gather(lanes, kept, bytes, t->set);
    return lanes;
}

/* Are these prefixes or suffixes whose terms are combined one after the other, by any computation? */
static bool is_scan(const Ev *e, const HloInstruction *i, EvCumulative *c, bool *prefixes)
{
    const EvSerial *serial = ev_serial(e, i);
    if (serial && serial->type != SC_NONE) return false; /* window by window, in that type */
    if ((!serial && hlo_is_operation(i->called[0])) || !ev_cumulative(i, c) || !c->length || !c->results) return false;
    *prefixes = c->prefixes;
    return c->prefixes || (serial ? serial->from_last : c->length >= EV_LONG_SUFFIX);
}

void *ev_reduce_window(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    EvCumulative scan;
    bool prefixes;
    const EvScan *order = ev_scan_order(e, i);
    if (order) return ev_window_in_order(e, t, order);
    if (is_scan(e, i, &scan, &prefixes)) return ev_window_scan(e, t, &scan, prefixes);
    if ((t->set->list || t->set->n < hlo_elements(ev_ref_shape(t->ref))) && ev_window_at_once(e, i) &&
        is_wide(i, ev_ref_shape(t->ref)))
        return keep_all(e, t);
    EvAccumulator *acc = ev_acc_of_operands(e, t);
    if (!acc) return NULL;
    const bool shuffle = ev_acc_begin(e, acc, ev_serial(e, i));
    const HloShape *in = i->operands[0]->shape;
    if (!t->set->list && t->set->n == hlo_elements(ev_ref_shape(t->ref)) && ev_window_at_once(e, i)) {
        if (hlo_elements(in) > 0) add_all(e, t, acc);
        return ev_leaf_result(e, t, ev_acc_end(e, acc), 1);
    }
    Table table = new_table(e, i, in, ev_ref_shape(t->ref));
    if (shuffle) {
        table.order = ev_list(e, table.elements);
        for (int64_t k = 0; k < table.elements; k++) table.order[k] = k;
        ev_shuffle(e, table.order, table.elements);
    }
    bool empty = hlo_elements(in) == 0;
    Ev *part = ev_part(e);
    for (int64_t at = 0; at < table.elements && !empty;) at += add_steps(e, part, t, acc, &table, at);
    ev_part_end(e);
    return ev_leaf_result(e, t, ev_acc_end(e, acc), i->n_operands / 2);
}
