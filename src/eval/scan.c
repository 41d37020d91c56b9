/* scan: a computation carried along one dimension.
 *
 * Needs: scan(inputs.., starts..), dimensions={d}, num_carries=n. to_apply takes a slice of each input, without
 * dimension d, and the carried values; it returns a slice of each output and the next carried values. Leaves: the
 * wanted lanes of the outputs and of the last carried values. A scan runs as a whole the first time that any element of
 * it is wanted.
 *
 *     (f32[3], f32[]) scan(f32[3] {1, 2, 3}, 0), dimensions={0}, num_carries=1, to_apply={ s = add(p0, p1) ROOT t =
 * tuple(s, s) }
 *         ({1, 3, 6}, 6)
 */
#include "eval/inner.h"

#include <string.h>

/* The layout of an array around dimension d. */
typedef struct {
    int64_t outer, length, inner; /* elements of the dimensions before d, of d, of the dimensions after d */
    size_t bytes;                 /* of a lane */
} Rows;

static Rows rows_of(const Ev *e, const HloShape *s, int64_t d)
{
    Rows r = {1, s->dims[d], 1, ev_lane_bytes(e->mode, s->type)};
    for (int64_t k = 0; k < d; k++) r.outer *= s->dims[k];
    for (int64_t k = d + 1; k < s->rank; k++) r.inner *= s->dims[k];
    return r;
}

static void take_slice(const Rows *r, int64_t at, const char *array, char *slice)
{
    size_t run = (size_t)r->inner * r->bytes;
    for (int64_t o = 0; o < r->outer; o++)
        memcpy(slice + (size_t)o * run, array + (size_t)(o * r->length + at) * run, run);
}

static void put_slice(const Rows *r, int64_t at, char *array, const char *slice)
{
    size_t run = (size_t)r->inner * r->bytes;
    for (int64_t o = 0; o < r->outer; o++)
        memcpy(array + (size_t)(o * r->length + at) * run, slice + (size_t)o * run, run);
}

static void *new_array(Ev *e, const HloShape *s)
{
    return wbb_alloc(e->kept_arena,
                     wbb_mul_size(e->kept_arena, (size_t)hlo_elements(s), ev_lane_bytes(e->mode, s->type)));
}

/* Applies the computation at every coordinate of d. made: the outputs, then the last carried values. */
static void run_all(Ev *e, EvTask *t, int64_t d, uint32_t carries, void **made)
{
    const HloInstruction *i = t->ref.i;
    const HloComputation *c = i->called[0];
    uint32_t inputs = i->n_operands - carries, outputs = c->root->shape->n_leaves - carries;
    void **state = WBB_NEW_N(e->block, void *, i->n_operands + 1),
         **next = WBB_NEW_N(e->block, void *, outputs + carries + 1);
    char **array = WBB_NEW_N(e->block, char *, inputs + 1);
    Rows *in = WBB_NEW_N(e->block, Rows, inputs + 1), *out = WBB_NEW_N(e->block, Rows, outputs + 1);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        void *all = ev_all(e, ev_operand(e, t, k));
        if (k >= inputs) {
            state[k] = all;
            continue;
        }
        array[k] = all;
        in[k] = rows_of(e, i->operands[k]->shape, d);
        state[k] = ev_lanes(e, (size_t)(in[k].outer * in[k].inner) * in[k].bytes);
    }
    for (uint32_t k = 0; k < outputs; k++) out[k] = rows_of(e, ev_leaf_shape(i->shape, k), d);
    int64_t length = inputs ? in[0].length : outputs ? out[0].length : 0;
    const char *reverse = hlo_attribute(e->block, i, "is_reverse");
    WbbArena *now = wbb_arena_new(e->cx), *then = wbb_arena_new(e->cx);
    for (int64_t step = 0; step < length; step++) {
        int64_t at = reverse && strcmp(reverse, "true") == 0 ? length - 1 - step : step;
        for (uint32_t k = 0; k < inputs; k++) take_slice(&in[k], at, array[k], state[k]);
        ev_iterate(e, c, state, then, next, NULL);
        for (uint32_t k = 0; k < outputs; k++) put_slice(&out[k], at, made[k], next[k]);
        memcpy(state + inputs, next + outputs, carries * sizeof *state);
        wbb_arena_free(now);
        now = then;
        then = wbb_arena_new(e->cx);
    }
    for (uint32_t k = 0; k < carries; k++) {
        const HloShape *s = ev_leaf_shape(i->shape, outputs + k);
        memcpy(made[outputs + k], state[inputs + k], (size_t)hlo_elements(s) * ev_lane_bytes(e->mode, s->type));
    }
    wbb_arena_free(now);
    wbb_arena_free(then);
}

void *ev_scan(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    uint32_t n = 0, leaves = i->shape->n_leaves;
    const int64_t *carries = hlo_attribute_ints(e->block, i, "num_carries", &n);
    bool fits = n == 1 && carries[0] >= 0 && carries[0] <= i->n_operands && i->n_dimensions == 1 && i->n_called == 1 &&
                i->called[0]->n_parameters == i->n_operands && i->called[0]->root->shape->n_leaves == leaves &&
                carries[0] <= leaves;
    int64_t d = i->n_dimensions ? i->dimensions[0] : 0;
    for (uint32_t k = 0; fits && k < i->n_operands - carries[0]; k++)
        fits = i->operands[k]->shape->type != SC_TUPLE && d < i->operands[k]->shape->rank;
    for (uint32_t k = 0; fits && k < leaves - carries[0]; k++) fits = d < ev_leaf_shape(i->shape, k)->rank;
    if (!fits) wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator cannot read the attributes of %s", i->name);
    void **made = WBB_NEW_N(e->block, void *, leaves);
    ev_must_keep(e);
    for (uint32_t k = 0; k < leaves; k++) made[k] = new_array(e, ev_leaf_shape(i->shape, k));
    run_all(e, t, d, (uint32_t)carries[0], made);
    for (uint32_t k = 0; k < leaves; k++) ev_keep(e, (EvRef){t->ref.frame, i, k}, k, made[k]);
    size_t bytes = ev_lane_bytes(e->mode, ev_ref_shape(t->ref)->type);
    void *lanes = ev_lanes(e, (size_t)t->set->n * bytes);
    ev_gather(lanes, made[t->ref.leaf], bytes, t->set);
    return lanes;
}
