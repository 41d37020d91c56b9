/* normalise_stacked: an array in which a loop stacks concatenations is one array for each of their operands.
 *
 * Needs: a normalised HLO module. Leaves: one with the same outputs, in which such a loop of elementwise operations
 * stacks the operands, and their arrays are concatenated after it. The gradient of a step that takes its gates out of
 * one row (jnp.split) stacks a row of all their gradients: a thread that has its element of each gate can store that of
 * each array, step by step, but has no element of the concatenation.
 *
 *     while((i, h, f32[T,B,3*H] s)), body: (i + 1, h', dynamic-update-slice(s, concatenate(a, b, c), i))
 *         while((i, h, f32[T,B,H] s, t, u)), ..   concatenate(s, t, u), dimensions={2}
 */
#include "hlo/normalise.h"

#include <string.h>

/* Of an element of the state: what it stacks, and the dimension of the stack along which that is concatenated. */
typedef struct {
    const HloInstruction *update, *whole; /* update NULL: it stays as it is */
    uint32_t dimension, first;            /* first: number of its second part in the wider state */
} Stacked;

typedef struct {
    const HloInstruction *loop;
    const HloComputation *body;
    Stacked *of; /* [elements of the state] */
    uint32_t n;  /* elements of the wider state */
} Split;

/* The dimension of `to` that is dimension d of `from`, seen through a reshape that moves dimensions of size 1; -1: it
 * is none. */
static int64_t dimension_in(const HloShape *from, uint32_t d, const HloShape *to)
{
    if (!hlo_is_row_major(from) || !hlo_is_row_major(to)) return -1;
    uint32_t k = 0;
    int64_t found = -1;
    for (uint32_t j = 0; j < from->rank; j++) {
        if (from->dims[j] == 1) continue;
        while (k < to->rank && to->dims[k] == 1) k++;
        if (k == to->rank || to->dims[k] != from->dims[j]) return -1;
        if (j == d) found = k;
        k++;
    }
    return found;
}

static Stacked stacked_at(const HloInstruction *loop, const HloCount *count, uint32_t k)
{
    Stacked s = {0};
    if (loop->shape->elements[k]->type == SC_TUPLE || !hlo_is_row_major(loop->shape->elements[k])) return s;
    if (!hlo_is_stacked(loop, count, k)) return s;
    const HloInstruction *update = hlo_called(loop, "body")->root->operands[k], *x = update->operands[1];
    while (x->n_users == 1 && (x->opcode == HLO_RESHAPE || x->opcode == HLO_BITCAST)) x = x->operands[0];
    if (x->opcode != HLO_CONCATENATE || x->n_users > 1) return s;
    for (uint32_t p = 1; p < x->n_operands; p++) /* of other sizes no thread has an element of each */
        if (!hlo_same_dims(x->operands[p]->shape, x->operands[0]->shape)) return s;
    const int64_t d = dimension_in(x->shape, (uint32_t)x->dimensions[0], update->operands[1]->shape);
    if (d < 0) return s;
    return (Stacked){.update = update, .whole = x, .dimension = (uint32_t)d};
}

/* Has a body nothing but what a thread computes for its own element? */
static bool is_elementwise_loop(const Split *x)
{
    for (uint32_t k = 0; k < x->body->n_instructions; k++) {
        const HloInstruction *i = x->body->instructions[k];
        if (i->n_predecessors || (i->opcode == HLO_PARAMETER && i->shape->type != SC_TUPLE)) return false;
        bool known = hlo_is_elementwise(i->opcode) && !i->n_called;
        switch (i->opcode) {
        case HLO_PARAMETER: case HLO_TUPLE: case HLO_GET_TUPLE_ELEMENT: case HLO_CONSTANT: case HLO_BROADCAST:
        case HLO_RESHAPE: case HLO_BITCAST: case HLO_DYNAMIC_SLICE: case HLO_DYNAMIC_UPDATE_SLICE: known = true; break;
        default: break;
        }
        for (uint32_t e = 0; e < x->loop->shape->n_elements; e++)
            known = known || (x->of[e].update && x->of[e].whole == i);
        if (!known) return false;
    }
    return true;
}

/* Does a computation take elements of its state alone, and none of those that are parted? */
static bool takes_others(const Split *x, const HloComputation *c)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        for (uint32_t o = 0; o < i->n_operands; o++)
            if (i->operands[o]->opcode == HLO_PARAMETER && i->opcode != HLO_GET_TUPLE_ELEMENT) return false;
        const bool state = i->opcode == HLO_GET_TUPLE_ELEMENT && i->operands[0]->opcode == HLO_PARAMETER;
        if (state && x->of[i->number].update && i->n_users && c != x->body) return false;
    }
    return true;
}

static bool find_split(WbbArena *a, const HloInstruction *i, Split *x)
{
    HloCount count;
    if (i->opcode != HLO_WHILE || i->n_predecessors || !hlo_counts(i, &count)) return false;
    const uint32_t n = i->shape->n_elements;
    *x = (Split){.loop = i, .body = hlo_called(i, "body"), .of = WBB_NEW_N(a, Stacked, n + 1), .n = n};
    for (uint32_t k = 0; k < n; k++) {
        x->of[k] = stacked_at(i, &count, k);
        x->of[k].first = x->n;
        if (x->of[k].update) x->n += x->of[k].whole->n_operands - 1;
    }
    return x->n > n && is_elementwise_loop(x) && takes_others(x, x->body) &&
           takes_others(x, hlo_called(i, "condition"));
}

/* --- the wider loop ----------------------------------------------------------------------------------------------- */
static uint32_t place_of(const Split *x, uint32_t k, uint32_t part)
{
    return part ? x->of[k].first + part - 1 : k;
}

/* The state before the loop: of an array that is parted, its parts, each position of which the loop replaces. */
static HloInstruction *wide_state(HloBuilder *b, const Split *x)
{
    HloInstruction *begin = hlo_mapped(b, x->loop->operands[0]), **parts;
    parts = WBB_NEW_N(b->arena, HloInstruction *, x->n + 1);
    for (uint32_t k = 0; k < x->loop->shape->n_elements; k++) {
        const Stacked *s = &x->of[k];
        parts[k] = begin->operands[k];
        if (!s->update) continue;
        const HloShape *all = begin->operands[k]->shape;
        const int64_t each = all->dims[s->dimension] / s->whole->n_operands;
        for (uint32_t p = 0; p < s->whole->n_operands; p++) {
            HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, all->rank + 1u);
            for (uint32_t d = 0; d < all->rank; d++) slices[d] = (HloSlice){0, all->dims[d], 1};
            slices[s->dimension] = (HloSlice){p * each, (p + 1) * each, 1};
            parts[place_of(x, k, p)] = hlo_new_slice(b, begin->operands[k], slices);
        }
    }
    return hlo_new_tuple(b, x->n, parts);
}

/* The array of part p after an iteration. */
static HloInstruction *updated(HloBuilder *b, const Stacked *s, uint32_t p, HloInstruction *array,
                               HloInstruction *const *map)
{
    const HloInstruction *i = s->update;
    const HloShape *of = i->operands[1]->shape;
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands + 1);
    int64_t dims[HLO_RANK_LIMIT];
    memcpy(dims, of->dims, of->rank * sizeof *dims);
    dims[s->dimension] /= s->whole->n_operands;
    operands[0] = array;
    operands[1] = hlo_new_reshape(b, map[s->whole->operands[p]->id], of->rank, dims);
    for (uint32_t k = 2; k < i->n_operands; k++) operands[k] = map[i->operands[k]->id];
    HloInstruction *out = hlo_copy_with_operands(b, i, operands);
    out->shape = array->shape, out->name = hlo_unique_name(b, i->name);
    return out;
}

/* Condition or body with the parameter of the wider state. */
static HloComputation *widened(HloBuilder *caller, const Split *x, const HloComputation *c, const HloShape *wide)
{
    HloBuilder b = hlo_begin_computation(caller, 1, &wide);
    HloInstruction *state = b.list.items[0], **map = WBB_NEW_N(b.arena, HloInstruction *, c->n_instructions + 1);
    HloInstruction **parts = WBB_NEW_N(b.arena, HloInstruction *, x->n + 1);
    for (uint32_t k = 0; k < x->n; k++) parts[k] = hlo_new_get_tuple_element(&b, state, k);
    bool *gone = WBB_NEW_N(b.arena, bool, c->n_instructions + 1); /* what the array before had alone */
    for (uint32_t k = 0; k < x->loop->shape->n_elements && c == x->body; k++)
        for (const HloInstruction *i = x->of[k].update; i && !gone[i->id]; i = i->operands[1]) {
            gone[i->id] = true;
            if (i == x->of[k].whole) break;
        }
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->opcode == HLO_PARAMETER || gone[k] || (c == x->body && i == c->root)) continue;
        if (i->opcode == HLO_GET_TUPLE_ELEMENT && i->operands[0]->opcode == HLO_PARAMETER) map[k] = parts[i->number];
        else map[k] = hlo_copy_by(&b, map, i);
    }
    if (c != x->body) return hlo_end_computation(&b, c->name, map[c->root->id]);
    HloInstruction **after = WBB_NEW_N(b.arena, HloInstruction *, x->n + 1);
    for (uint32_t k = 0; k < x->loop->shape->n_elements; k++) {
        const Stacked *s = &x->of[k];
        if (!s->update) after[k] = map[c->root->operands[k]->id];
        for (uint32_t p = 0; s->update && p < s->whole->n_operands; p++)
            after[place_of(x, k, p)] = updated(&b, s, p, parts[place_of(x, k, p)], map);
    }
    return hlo_end_computation(&b, c->name, hlo_new_tuple(&b, x->n, after));
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    Split x;
    if (!find_split(b->arena, i, &x)) return NULL;
    HloInstruction *begin = wide_state(b, &x), *loop;
    HloComputation **called = WBB_NEW_N(b->arena, HloComputation *, i->n_called);
    for (uint32_t k = 0; k < i->n_called; k++) called[k] = widened(b, &x, i->called[k], begin->shape);
    loop = hlo_copy_with_operands(b, i, &begin);
    loop->name = hlo_unique_name(b, i->name), loop->shape = begin->shape, loop->called = called;
    const uint32_t n = i->shape->n_elements;
    HloInstruction **results = WBB_NEW_N(b->arena, HloInstruction *, n + 1);
    for (uint32_t k = 0; k < n; k++) {
        const Stacked *s = &x.of[k];
        results[k] = hlo_new_get_tuple_element(b, loop, k);
        if (!s->update) continue;
        HloInstruction **parts = WBB_NEW_N(b->arena, HloInstruction *, s->whole->n_operands + 1);
        for (uint32_t p = 0; p < s->whole->n_operands; p++)
            parts[p] = p ? hlo_new_get_tuple_element(b, loop, place_of(&x, k, p)) : results[k];
        results[k] = hlo_new_concatenate(b, s->whole->n_operands, parts, s->dimension);
    }
    return hlo_new_tuple(b, n, results);
}

static bool applies(const HloInstruction *i) { return i->opcode == HLO_WHILE; }

const HloModule *hlo_pass_stacked(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const HloModule *made = hlo_rewrite(cx, a, m, &(HloRewriter){.applies = applies, .rewrite = rewrite});
    return made == m ? m : hlo_pass_dead(cx, a, hlo_pass_tuple(cx, a, made));
}
