/* window_scan: reductions of windows that are prefixes, or suffixes, of an array, in work linear in its elements.
 *
 * Needs: a reduce-window of any computation and number of arrays, whose windows along one dimension each have the
 * elements of the one before and further ones. Leaves: the wanted lanes; all results are computed at the first call.
 *
 * A prefix takes its terms from the first on, as the text has it: s(p) = f(s(p - 1), x(p)), s(-1) the initial value. A
 * suffix takes them from the last on, with the same terms left and right: s(p) = f(x(p), s(p + 1)), the initial value
 * behind the last. That is so where a kernel documents it, and from EV_LONG_SUFFIX elements on, where the terms from
 * the first on would take work quadratic in the elements.
 *
 *     f32[8,4096] reduce-window(x, -inf), window={size=1x4096 pad=0_0x0_4095}, to_apply=log of a sum of exponentials
 *         4096 steps of 8 lanes
 */
#include "eval/inner.h"

#include <string.h>

bool ev_cumulative(const HloInstruction *i, EvCumulative *c)
{
    const HloShape *in = i->operands[0]->shape, *out = ev_leaf_shape(i->shape, 0);
    uint32_t along = in->rank;
    for (uint32_t d = 0; d < in->rank; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->stride != 1 || w->lhs_dilate != 1 || w->rhs_dilate != 1) return false;
        if (w->size == 1 && w->low == 0 && in->dims[d] == out->dims[d]) continue;
        if (along < in->rank) return false;
        along = d;
    }
    if (along == in->rank) return false;
    const HloWindow *w = &i->windows[along];
    *c = (EvCumulative){.length = in->dims[along], .results = out->dims[along], .outer = 1, .inner = 1,
                        .low = w->low, .size = w->size};
    for (uint32_t d = 0; d < in->rank; d++) *(d < along ? &c->outer : &c->inner) *= d == along ? 1 : in->dims[d];
    c->prefixes = c->results - 1 - w->low <= 0 && w->size - 1 - w->low <= 0;
    c->suffixes = w->size - 1 - w->low >= c->length - 1;
    return c->prefixes || c->suffixes;
}

int64_t ev_cumulative_terms(const EvCumulative *c, int64_t step, bool prefixes)
{
    return prefixes ? WBB_MIN(WBB_MAX(step - c->low + c->size, 0), c->length)
                    : c->length - WBB_MIN(WBB_MAX(c->results - 1 - step - c->low, 0), c->length);
}

/* Rows of lanes of one array: outer times inner lanes of each position. */
typedef struct {
    char *x;       /* the elements */
    char *results;
    char *state;   /* what is combined so far, in the type of the result */
    ScType from, to;
    size_t bytes_in, bytes;
} Array;

static void take(const EvCumulative *c, int64_t at, int64_t length, size_t bytes, const char *array, char *rows)
{
    const size_t run = (size_t)c->inner * bytes;
    for (int64_t o = 0; o < c->outer; o++)
        memcpy(rows + (size_t)o * run, array + (size_t)((o * length + at) * c->inner) * bytes, run);
}

static void put(const EvCumulative *c, int64_t at, size_t bytes, const char *rows, char *array)
{
    const size_t run = (size_t)c->inner * bytes;
    for (int64_t o = 0; o < c->outer; o++)
        memcpy(array + (size_t)((o * c->results + at) * c->inner) * bytes, rows + (size_t)o * run, run);
}

/* Combines the elements at a position with what is there. */
static void combine(Ev *part, const HloComputation *f, const EvCumulative *c, Array *all, uint32_t n, int64_t at,
                    bool prefixes)
{
    const int64_t lanes = c->outer * c->inner;
    void **operands = WBB_NEW_N(part->block, void *, 2 * n), **made = WBB_NEW_N(part->block, void *, n);
    for (uint32_t k = 0; k < n; k++) {
        char *x = ev_lanes(part, (size_t)lanes * all[k].bytes_in);
        take(c, at, c->length, all[k].bytes_in, all[k].x, x);
        const uint32_t left = k, right = n + k, state = prefixes ? left : right, term = prefixes ? right : left;
        void *as_result = ev_as(part, all[k].to, all[k].from, lanes, x);
        operands[term] = ev_as(part, f->parameters[term]->shape->type, all[k].to, lanes, as_result);
        operands[state] = ev_as(part, f->parameters[state]->shape->type, all[k].to, lanes, all[k].state);
    }
    ev_apply(part, f, lanes, operands, made);
    for (uint32_t k = 0; k < n; k++) {
        const void *now = ev_as(part, all[k].to, ev_leaf_shape(f->root->shape, k)->type, lanes, made[k]);
        memcpy(all[k].state, now, (size_t)lanes * all[k].bytes);
    }
}

void *ev_window_scan(Ev *e, EvTask *t, const EvCumulative *c, bool prefixes)
{
    const HloInstruction *i = t->ref.i;
    const uint32_t n = i->n_operands / 2;
    const int64_t lanes = c->outer * c->inner, all = lanes * c->results;
    Array *arrays = WBB_NEW_N(e->block, Array, n);
    ev_must_keep(e);
    for (uint32_t k = 0; k < n; k++) {
        Array *a = &arrays[k];
        *a = (Array){.from = i->operands[k]->shape->type, .to = ev_leaf_shape(i->shape, k)->type};
        a->bytes_in = ev_lane_bytes(e->mode, a->from), a->bytes = ev_lane_bytes(e->mode, a->to);
        void *init = ev_need(e, ev_operand(e, t, n + k), ev_range_set(e, 0, 1));
        if (!init) return NULL;
        a->state = ev_lanes(e, (size_t)lanes * a->bytes);
        ev_fill(a->state, ev_as(e, a->to, i->operands[n + k]->shape->type, 1, init), a->bytes, lanes);
    }
    for (uint32_t k = 0; k < n; k++) {
        arrays[k].x = ev_all(e, ev_operand(e, t, k));
        arrays[k].results = wbb_alloc(e->kept_arena, wbb_mul_size(e->kept_arena, (size_t)all, arrays[k].bytes));
    }
    Ev *part = ev_part(e);
    for (int64_t step = 0, taken = 0; step < c->results; step++) {
        ev_begin(part);
        for (const int64_t wanted = ev_cumulative_terms(c, step, prefixes); taken < wanted; taken++)
            combine(part, i->called[0], c, arrays, n, prefixes ? taken : c->length - 1 - taken, prefixes);
        for (uint32_t k = 0; k < n; k++)
            put(c, prefixes ? step : c->results - 1 - step, arrays[k].bytes, arrays[k].state, arrays[k].results);
        ev_end(part);
    }
    ev_part_end(e);
    for (uint32_t k = 0; k < n; k++) ev_keep(e, (EvRef){t->ref.frame, i, k}, k, arrays[k].results);
    const size_t bytes = arrays[t->ref.leaf].bytes;
    void *wanted = ev_lanes(e, (size_t)t->set->n * bytes);
    ev_gather(wanted, arrays[t->ref.leaf].results, bytes, t->set);
    return wanted;
}
