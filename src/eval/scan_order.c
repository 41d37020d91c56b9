/* scan_order: prefixes, or suffixes, in the order in which the threads of a kernel combine them.
 *
 * Needs: a documented order (scan_text.c), and a reduce-window whose windows along one dimension are prefixes or
 * suffixes. Leaves: the wanted lanes; all results are computed at the first call.
 *
 * A position of the dimension is a number with these digits, the lowest first; counted from the other end where the
 * scan begins at the last position. At each the term joins by which its window is larger than the one before, or none.
 *
 *     thread    x(0), x(0) x(1), ..: each term joins what the thread has so far
 *     lane      a thread's last one, with that of the thread one lane before it, then two before, then four, ..
 *     warp      those of the last lanes, one after the other
 *     loop      what is before an iteration is the initial value, with those of the last warps of the earlier ones
 *
 * A result is ((what is before the iteration, what is before the warp), what is before the lane), and then what the
 * thread has. Where a thread is alone, its first term joins what is before the iteration. Partial results from the last
 * on stand right of those behind them; a computation that does not commute then has the initial value left of all.
 *
 *     f32[8], thread 2; lane 2; loop 2:    at 6: ((init + ((0 + 1) + (2 + 3))) + (4 + 5)) + 6
 */
#include "eval/inner.h"

#include <string.h>

/* Is the instruction a scan of this direction, of no more positions? */
static void check(WbbCx *cx, const EvScan *s, const HloInstruction *i)
{
    EvCumulative c = {0};
    const char *why = NULL;
    if (!ev_cumulative(i, &c)) why = "only windows that are prefixes or suffixes are a scan";
    else if (s->from_last ? !c.suffixes : !c.prefixes) why = "its windows grow in the other direction";
    else if (s->thread * s->lane * s->warp * s->loop < c.results) why = "has fewer positions than results";
    else if (s->type != SC_NONE && (i->n_operands != 2 || !hlo_is_operation(i->called[0])))
        why = "only one operation is taken in a type";
    if (why) wbb_fail(cx, i->loc, "order \"%s: %s\": %s", i->name, s->text, why);
}

/* --- combining ---------------------------------------------------------------------------------------------------- */
typedef struct {
    const EvScan *order;
    EvCumulative c;
    EvCombine how;
    EvRows r;
    int64_t n, threads, warps;               /* positions; threads and warps of all iterations */
    int64_t thread, warp, carry, before;     /* numbers of the first row of each kind, behind those of positions */
    int64_t *first, *second, *into, n_pairs; /* pairs that are combined at once, in the order of the scan */
} Scan;

static void pair(Scan *s, int64_t first, int64_t second, int64_t into)
{
    s->first[s->n_pairs] = first, s->second[s->n_pairs] = second, s->into[s->n_pairs++] = into;
}

static void combine(Ev *e, Scan *s)
{
    const bool turned = s->order->from_last;
    const int64_t *left = turned ? s->second : s->first, *right = turned ? s->first : s->second;
    if (s->n_pairs) ev_rows_pairs(e, &s->r, s->n_pairs, left, right, s->into);
    s->n_pairs = 0;
}

static void copy(Scan *s, int64_t from, int64_t to)
{
    for (uint32_t a = 0; a < s->how.arrays; a++) s->r.row[a][to] = s->r.row[a][from];
}

/* One after the other, from what is before the first. */
static void chain(Ev *e, Scan *s)
{
    for (int64_t k = 0; k < s->n; k++) {
        pair(s, k ? k - 1 : s->carry, k, k);
        combine(e, s);
    }
}

static void threads(Ev *e, Scan *s)
{
    const int64_t each = s->order->thread, lanes = s->order->lane;
    for (int64_t k = 1; k < each; k++, combine(e, s))
        for (int64_t g = 0; g < s->threads; g++) pair(s, g * each + k - 1, g * each + k, g * each + k);
    for (int64_t g = 0; g < s->threads; g++) copy(s, g * each + each - 1, s->thread + g);
    for (int64_t by = 1; by < lanes; by *= 2, combine(e, s))
        for (int64_t g = 0; g < s->threads; g++)
            if (g % lanes >= by) pair(s, s->thread + g - by, s->thread + g, s->thread + g);
}

static void warps(Ev *e, Scan *s)
{
    const int64_t lanes = s->order->lane, each = s->order->warp, loop = s->order->loop;
    for (int64_t w = 0; w < s->warps; w++) copy(s, s->thread + w * lanes + lanes - 1, s->warp + w);
    for (int64_t k = 1; k < each; k++, combine(e, s))
        for (int64_t i = 0, at = s->warp + k; i < loop; i++, at += each) pair(s, at - 1, at, at);
    for (int64_t i = 0; i + 1 < loop; i++) {
        pair(s, s->carry + i, s->warp + i * each + each - 1, s->carry + i + 1);
        combine(e, s);
    }
}

static void results(Ev *e, Scan *s)
{
    const int64_t lanes = s->order->lane, each = s->order->warp;
    for (int64_t g = 0; g < s->threads; g++) copy(s, s->carry + g / (lanes * each), s->before + g);
    for (int64_t g = 0; g < s->threads; g++)
        if (g / lanes % each) pair(s, s->before + g, s->warp + g / lanes - 1, s->before + g);
    combine(e, s);
    for (int64_t g = 0; g < s->threads; g++)
        if (g % lanes) pair(s, s->before + g, s->thread + g - 1, s->before + g);
    combine(e, s);
    for (int64_t k = 0; k < s->n; k++) pair(s, s->before + k / s->order->thread, k, k);
    combine(e, s);
}

/* --- rows of the operands and of the results ---------------------------------------------------------------------- */
static void find_sizes(Ev *e, Scan *s)
{
    const EvScan *o = s->order;
    s->n = o->thread * o->lane * o->warp * o->loop;
    s->threads = s->n / o->thread, s->warps = s->threads / o->lane;
    s->thread = s->n, s->warp = s->thread + s->threads, s->carry = s->warp + s->warps;
    s->before = s->carry + o->loop + 1;
    s->r = ev_rows(e, &s->how, s->before + s->threads + 1, s->c.outer * s->c.inner);
    s->first = ev_list(e, s->n), s->second = ev_list(e, s->n), s->into = ev_list(e, s->n);
}

/* The position of the dimension that is number k in the order of the scan. */
static int64_t position_of(const Scan *s, int64_t k) { return s->order->from_last ? s->n - 1 - k : k; }

/* Terms of array a: at position p the element p + shift joins. */
static void put_terms(Ev *e, Scan *s, uint32_t a, const char *x)
{
    const EvCumulative *c = &s->c;
    const int64_t shift = s->order->from_last ? -c->low : c->size - 1 - c->low;
    const size_t run = (size_t)c->inner * s->how.bytes[a];
    for (int64_t k = 0; k < s->n; k++) {
        const int64_t at = position_of(s, k) + shift;
        if (position_of(s, k) >= c->results || at < 0 || at >= c->length) continue;
        char *row = s->r.row[a][k] = ev_lanes(e, (size_t)c->outer * run);
        for (int64_t o = 0; o < c->outer; o++)
            memcpy(row + (size_t)o * run, x + (size_t)(o * c->length + at) * run, run);
    }
}

static void take_results(Ev *e, const Scan *s, uint32_t a, const HloShape *to, char *array)
{
    const EvCumulative *c = &s->c;
    const int64_t lanes = c->outer * c->inner;
    const size_t run = (size_t)c->inner * ev_lane_bytes(e->mode, to->type);
    for (int64_t k = 0; k < s->n; k++) {
        if (position_of(s, k) >= c->results) continue;
        const char *row = ev_as(e, to->type, s->how.types[a], lanes, s->r.row[a][k]);
        for (int64_t o = 0; o < c->outer; o++)
            memcpy(array + (size_t)(o * c->results + position_of(s, k)) * run, row + (size_t)o * run, run);
    }
}

/* Does the initial value stand where the scan begins? Else it is left of all terms, whose scan begins at the last. */
static bool begins_with_init(const Scan *s)
{
    if (s->how.arrays == 1 && hlo_combiner(s->how.c) != OP_NONE) return true;
    return !s->order->from_last;
}

static void run(Ev *e, Scan *s, char *const *init)
{
    const bool begins = begins_with_init(s);
    for (uint32_t a = 0; a < s->how.arrays; a++) s->r.row[a][s->carry] = begins ? init[a] : NULL;
    if (s->order->lane == 1 && s->order->warp == 1) {
        chain(e, s);
    } else {
        threads(e, s);
        warps(e, s);
        results(e, s);
    }
    if (begins) return;
    for (uint32_t a = 0; a < s->how.arrays; a++) s->r.row[a][s->before] = init[a];
    for (int64_t k = 0; k < s->n; k++) s->first[k] = s->before, s->second[k] = s->into[k] = k;
    ev_rows_pairs(e, &s->r, s->n, s->first, s->second, s->into);
}

void *ev_window_in_order(Ev *e, EvTask *t, const EvScan *order)
{
    const HloInstruction *i = t->ref.i;
    const uint32_t n = i->n_operands / 2;
    Scan s = {.order = order, .how = {.c = i->called[0], .arrays = n}};
    char **init = WBB_NEW_N(e->block, char *, n);
    check(e->cx, order, i);
    ev_cumulative(i, &s.c);
    if (order->type != SC_NONE) s.how.op = hlo_scalar(s.how.c->root->opcode);
    s.how.types = WBB_NEW_N(e->block, ScType, n), s.how.bytes = WBB_NEW_N(e->block, size_t, n);
    ev_must_keep(e);
    for (uint32_t a = 0; a < n; a++) {
        s.how.types[a] = order->type != SC_NONE ? order->type : ev_leaf_shape(i->shape, a)->type;
        s.how.bytes[a] = ev_lane_bytes(e->mode, s.how.types[a]);
        void *x = ev_need(e, ev_operand(e, t, n + a), ev_range_set(e, 0, 1));
        if (!x) return NULL;
        init[a] = ev_lanes(e, (size_t)(s.c.outer * s.c.inner) * s.how.bytes[a]);
        ev_fill(init[a], ev_as(e, s.how.types[a], i->operands[n + a]->shape->type, 1, x), s.how.bytes[a],
                s.c.outer * s.c.inner);
    }
    find_sizes(e, &s);
    for (uint32_t a = 0; a < n; a++) {
        const HloShape *in = i->operands[a]->shape;
        put_terms(e, &s, a, ev_as(e, s.how.types[a], in->type, hlo_elements(in), ev_all(e, ev_operand(e, t, a))));
    }
    run(e, &s, init);
    void *wanted = NULL;
    for (uint32_t a = 0; a < n; a++) {
        const HloShape *to = ev_leaf_shape(i->shape, a);
        const size_t bytes = ev_lane_bytes(e->mode, to->type);
        char *all = wbb_alloc(e->kept_arena, wbb_mul_size(e->kept_arena, (size_t)hlo_elements(to), bytes));
        take_results(e, &s, a, to, all);
        ev_keep(e, (EvRef){t->ref.frame, i, a}, a, all);
        if (a != t->ref.leaf) continue;
        wanted = ev_lanes(e, (size_t)t->set->n * bytes);
        ev_gather(wanted, all, bytes, t->set);
    }
    return wanted;
}
