/* normalise_independent: loops whose iterations need nothing of each other, as jax.lax.map makes them.
 *
 * Needs: an HLO module without calls. Leaves: one in which such a loop is what its iterations compute, with a dimension
 * for them in front. A loop is such a one if it counts from a constant to a constant (count.c), and each other
 * array of its state either stays as it is, or has one position replaced by each iteration and is not read. Bodies have
 * operations that fuse: products of matrices and loops, whose intermediate arrays would all be in memory, stay.
 *
 *     while((i, xs, ys)), body: y = tanh(xs[i]), (i + 1, xs, dynamic-update-slice(ys, y, i))    =>   ys = tanh(xs)
 */
#include "hlo/normalise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    const HloInstruction *loop;
    const HloComputation *body;
    HloCount count;
    bool *kept;            /* [elements of the state] */
    bool *varies;          /* [id of the body] the value is another one in each iteration */
    HloInstruction **map;  /* [id of the body] its value, or those of all iterations */
} Loop;

/* Its counter, once it has run. */
static int64_t after(const HloCount *c) { return c->first + c->step * c->trips; }

static int64_t along(const Loop *l, const HloInstruction *i, bool *down)
{
    return hlo_stepped_along(i, l->count.counter, (HloLine){l->count.first, l->count.step}, l->count.trips, down);
}

/* May the operation have a dimension for the iterations? */
static bool may_vary(const Loop *l, const HloInstruction *i)
{
    bool down;
    if (i->shape->type == SC_TUPLE || i->shape->dynamic || i->n_predecessors) return false;
    if (i->shape->rank + 1 > HLO_RANK_LIMIT) return false;
    if ((double)hlo_elements(i->shape) * (double)l->count.trips > INT32_MAX) return false;
    switch (i->opcode) {
    case HLO_BROADCAST: case HLO_CONCATENATE: case HLO_RESHAPE: case HLO_SLICE: case HLO_TRANSPOSE: return true;
    case HLO_REDUCE: return i->n_operands == 2 && !l->varies[i->operands[1]->id];
    case HLO_DYNAMIC_SLICE:
        return !l->varies[i->operands[0]->id] && along(l, i, &down) >= 0;
    default: break;
    }
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (!hlo_same_dims(i->operands[k]->shape, i->shape)) return false;
    return hlo_is_elementwise(i->opcode) && i->n_operands > 0 && !i->n_called;
}

/* May it stand outside of the loop as it is? */
static bool may_stay(const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE || i->shape->dynamic || i->n_predecessors) return false;
    switch (i->opcode) {
    case HLO_BROADCAST: case HLO_CONCATENATE: case HLO_IOTA: case HLO_REDUCE: case HLO_RESHAPE: case HLO_SLICE:
    case HLO_TRANSPOSE: return true;
    case HLO_CONSTANT: return i->literal != NULL;
    default: return hlo_is_elementwise(i->opcode) && !i->n_called;
    }
}

/* Sets what varies; false: something cannot. */
static bool find_varying(Loop *l)
{
    for (uint32_t k = 0; k < l->body->n_instructions; k++) {
        const HloInstruction *i = l->body->instructions[k];
        if (i == l->body->root || i->opcode == HLO_PARAMETER || !i->n_users) continue;
        if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
            if (i->operands[0]->opcode != HLO_PARAMETER) return false;
            l->varies[k] = !l->kept[i->number]; /* of what is stacked no value is asked for */
            continue;
        }
        if (i->opcode == HLO_DYNAMIC_UPDATE_SLICE) { /* one that the root alone reads */
            bool stacked = false;
            for (uint32_t e = 0; e < l->body->root->n_operands; e++)
                stacked = stacked || l->body->root->operands[e] == i;
            if (!stacked) return false;
            continue;
        }
        for (uint32_t o = 0; o < i->n_operands; o++) l->varies[k] = l->varies[k] || l->varies[i->operands[o]->id];
        if (!(l->varies[k] ? may_vary(l, i) : may_stay(i))) return false;
    }
    return true;
}

static bool find_loop(WbbArena *a, const HloInstruction *i, Loop *l)
{
    if (i->opcode != HLO_WHILE || i->n_predecessors || i->operands[0]->opcode != HLO_TUPLE) return false;
    const HloComputation *body = hlo_called(i, "body");
    *l = (Loop){.loop = i, .body = body};
    if (!hlo_counts(i, &l->count)) return false;
    if (llabs(l->count.first) > INT32_MAX || llabs(after(&l->count)) > INT32_MAX) return false; /* exact as a double */
    const uint32_t n = i->shape->n_elements;
    bool any = false;
    l->kept = WBB_NEW_N(a, bool, n + 1);
    l->varies = WBB_NEW_N(a, bool, body->n_instructions + 1);
    for (uint32_t k = 0; k < n; k++) {
        if (i->shape->elements[k]->type == SC_TUPLE) return false;
        l->kept[k] = hlo_is_state(body->root->operands[k], k);
        const bool stacked = !l->kept[k] && k != l->count.counter && hlo_is_stacked(i, &l->count, k) &&
                             hlo_is_row_major(i->shape->elements[k]);
        if (!l->kept[k] && k != l->count.counter && !stacked) return false;
        any = any || stacked;
    }
    return any && find_varying(l);
}

/* --- what takes its place ----------------------------------------------------------------------------------------- */
static int64_t *with_trips(HloBuilder *b, const Loop *l, const HloShape *s)
{
    int64_t *dims = WBB_NEW_N(b->arena, int64_t, s->rank + 2u);
    dims[0] = l->count.trips;
    memcpy(dims + 1, s->dims, s->rank * sizeof *dims);
    return dims;
}

/* The values of all iterations. */
static HloInstruction *all_of(HloBuilder *b, const Loop *l, const HloInstruction *i)
{
    HloInstruction *x = l->map[i->id];
    if (l->varies[i->id]) return x;
    int64_t dims[HLO_RANK_LIMIT];
    for (uint32_t d = 0; d < i->shape->rank; d++) dims[d] = d + 1;
    const HloShape *like = hlo_make_array(b->arena, i->shape->type, i->shape->rank + 1u, with_trips(b, l, i->shape));
    return hlo_new_broadcast(b, x, like, dims, i->shape->rank);
}

/* Dimensions of an instruction in an array that has one more in front. */
static int64_t *one_later(HloBuilder *b, const HloInstruction *i)
{
    int64_t *dims = WBB_NEW_N(b->arena, int64_t, i->n_dimensions + 1);
    for (uint32_t k = 0; k < i->n_dimensions; k++) dims[k + 1] = i->dimensions[k] + 1;
    return dims; /* the first one is 0, that of the iterations */
}

static HloInstruction *turned(HloBuilder *b, HloInstruction *x, int64_t dimension)
{
    const HloShape *s = hlo_make_array(b->arena, x->shape->type, x->shape->rank, x->shape->dims);
    HloInstruction *i = hlo_new(b, HLO_REVERSE, s, 1, &x);
    int64_t *dims = WBB_NEW(b->arena, int64_t);
    *dims = dimension;
    i->dimensions = dims, i->n_dimensions = 1;
    return i;
}

/* Moves a dimension, from the first place or to it. */
static HloInstruction *moved(HloBuilder *b, HloInstruction *x, int64_t dim, bool to_front)
{
    int64_t order[HLO_RANK_LIMIT];
    for (uint32_t d = 0, next = 0; d < x->shape->rank; d++) {
        if (to_front) order[d] = d == 0 ? dim : d <= dim ? d - 1 : d;
        else order[d] = d == dim ? 0 : ++next;
    }
    return hlo_new_transpose(b, x, order);
}

static HloInstruction *sliced(HloBuilder *b, const Loop *l, const HloInstruction *i)
{
    bool down;
    const int64_t dim = along(l, i, &down);
    HloInstruction *x = moved(b, l->map[i->operands[0]->id], dim, true);
    if (down) x = turned(b, x, 0);
    return hlo_new_reshape(b, x, i->shape->rank + 1u, with_trips(b, l, i->shape));
}

static HloInstruction *varying(HloBuilder *b, const Loop *l, const HloInstruction *i)
{
    const HloShape *s = i->shape;
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands + 1);
    if (i->opcode == HLO_DYNAMIC_SLICE) return sliced(b, l, i);
    for (uint32_t k = 0; k < i->n_operands; k++)
        operands[k] = i->opcode == HLO_REDUCE && k ? l->map[i->operands[k]->id] : all_of(b, l, i->operands[k]);
    const HloShape *all = hlo_make_array(b->arena, s->type, s->rank + 1u, with_trips(b, l, s));
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, s->rank + 1u);
    switch (i->opcode) {
    case HLO_BROADCAST: return hlo_new_broadcast(b, operands[0], all, one_later(b, i), i->n_dimensions + 1);
    case HLO_CONCATENATE: return hlo_new_concatenate(b, i->n_operands, operands, i->dimensions[0] + 1);
    case HLO_RESHAPE: return hlo_new_reshape(b, operands[0], all->rank, all->dims);
    case HLO_TRANSPOSE: return hlo_new_transpose(b, operands[0], one_later(b, i));
    case HLO_REDUCE:
        return hlo_new_reduce(b, operands[0], operands[1], one_later(b, i) + 1, i->n_dimensions,
                              b->made[i->called[0]->id]);
    case HLO_SLICE:
        slices[0] = (HloSlice){0, l->count.trips, 1};
        memcpy(slices + 1, i->slices, s->rank * sizeof *slices);
        return hlo_new_slice(b, operands[0], slices);
    default: break;
    }
    HloInstruction *x = hlo_copy_with_operands(b, i, operands);
    x->shape = all;
    x->name = hlo_unique_name(b, i->name);
    return x;
}

/* first + k * step, with no negative constant of a type that has none. */
static HloInstruction *counter_of(HloBuilder *b, const Loop *l, const HloInstruction *i)
{
    const HloCount *c = &l->count;
    HloInstruction *k = hlo_new_iota(b, i->shape->type, 1, &c->trips, 0);
    if (c->step != 1 && c->step != -1) {
        HloInstruction *step = hlo_new_scalar(b, i->shape->type, fabs((double)c->step));
        k = hlo_new_binary(b, HLO_MULTIPLY, k, hlo_new_splat(b, step, 1, &c->trips));
    }
    if (c->first == 0 && c->step > 0) return k;
    HloInstruction *first = hlo_new_scalar(b, i->shape->type, (double)c->first);
    first = hlo_new_splat(b, first, 1, &c->trips);
    return c->step > 0 ? hlo_new_binary(b, HLO_ADD, k, first) : hlo_new_binary(b, HLO_SUBTRACT, first, k);
}

/* What an array of the state is after the loop. */
static HloInstruction *stacked(HloBuilder *b, const Loop *l, uint32_t k)
{
    const HloInstruction *update = l->body->root->operands[k], *value = update->operands[1];
    bool down;
    const int64_t dim = along(l, update, &down);
    int64_t dims[HLO_RANK_LIMIT] = {l->count.trips};
    for (uint32_t d = 0, n = 1; d < update->shape->rank; d++)
        if (d != dim) dims[n++] = update->shape->dims[d];
    HloInstruction *x = hlo_new_reshape(b, all_of(b, l, value), update->shape->rank, dims);
    if (down) x = turned(b, x, 0);
    return moved(b, x, dim, false);
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    Loop l;
    if (!find_loop(b->arena, i, &l)) return NULL;
    const uint32_t n = i->shape->n_elements;
    HloInstruction *begin = hlo_mapped(b, i->operands[0]), **state = WBB_NEW_N(b->arena, HloInstruction *, n + 1);
    l.map = WBB_NEW_N(b->arena, HloInstruction *, l.body->n_instructions + 1);
    for (uint32_t k = 0; k < l.body->n_instructions; k++) {
        const HloInstruction *x = l.body->instructions[k];
        if (x == l.body->root || x->opcode == HLO_PARAMETER || !x->n_users) continue;
        if (x->opcode == HLO_DYNAMIC_UPDATE_SLICE) continue;
        if (x->opcode != HLO_GET_TUPLE_ELEMENT) l.map[k] = l.varies[k] ? varying(b, &l, x) : hlo_copy_by(b, l.map, x);
        else if (l.kept[x->number]) l.map[k] = begin->operands[x->number];
        else if (x->number == l.count.counter) l.map[k] = counter_of(b, &l, x);
    }
    for (uint32_t k = 0; k < n; k++) {
        if (l.kept[k]) state[k] = begin->operands[k];
        else if (k == l.count.counter)
            state[k] = hlo_new_scalar(b, i->shape->elements[k]->type, (double)after(&l.count));
        else state[k] = stacked(b, &l, k);
    }
    return hlo_new_tuple(b, n, state);
}

static bool applies(const HloInstruction *i) { return i->opcode == HLO_WHILE; }

const HloModule *hlo_pass_independent(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = applies, .rewrite = rewrite});
}
