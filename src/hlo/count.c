/* count.c: what the text says about a `while`: the leaves of its state that it leaves as they are, and how often it
 * runs. Every reader of loops asks here: normalisation, fuse, program and plan.
 *
 * Needs a verified instruction; leaves nothing. A leaf is invariant where the body returns it unchanged. The number of
 * iterations is known where the condition compares a leaf with a constant, the body adds a constant to that leaf, and
 * the leaf begins with a constant.
 *
 *     while((i, x, n) tuple(0, p, 5)), condition: i < n, body: tuple(i + 1, x * x, n)
 *         =>   n and nothing else is invariant; 5 iterations counted by leaf 0, from 0 in steps of 1
 */
#include "hlo/hlo.h"

#include <string.h>

HloValue hlo_value(const HloInstruction *i, uint32_t part)
{
    while (i->shape->type != SC_TUPLE || i->shape->n_leaves) {
        if (i->opcode == HLO_TUPLE) {
            uint32_t k = 0;
            for (; part >= i->operands[k]->shape->n_leaves; k++) part -= i->operands[k]->shape->n_leaves;
            i = i->operands[k];
        } else if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
            const HloShape *tuple = i->operands[0]->shape;
            for (int64_t k = 0; k < i->number; k++) part += tuple->elements[k]->n_leaves;
            i = i->operands[0];
        } else {
            break;
        }
    }
    return (HloValue){i, part};
}

bool hlo_loop_keeps(const HloInstruction *loop, uint32_t leaf)
{
    const HloComputation *body = hlo_called(loop, "body");
    const HloValue v = body ? hlo_value(body->root, leaf) : (HloValue){0};
    return body && v.i->opcode == HLO_PARAMETER && v.part == leaf;
}

typedef struct {
    const HloInstruction *loop;
    const HloShape *shape; /* of the counter */
} Counting;

/* A constant of the counter's type: in the condition or the body, or a leaf of the state that begins with one and
 * keeps it. `begin`: v belongs to the computation around the loop. */
static bool is_constant(const Counting *c, HloValue v, bool begin, WbbI128 *value)
{
    if (!begin && v.i->opcode == HLO_PARAMETER) {
        if (!hlo_loop_keeps(c->loop, v.part)) return false;
        v = hlo_value(c->loop->operands[0], v.part);
    }
    while (v.i->opcode == HLO_COPY) v = hlo_value(v.i->operands[0], 0);
    if (v.i->opcode != HLO_CONSTANT || v.i->shape->type != c->shape->type || v.i->shape->rank || !v.i->literal)
        return false;
    uint64_t bits = 0;
    memcpy(&bits, v.i->literal, sc_bytes(v.i->shape->type));
    *value = sc_to_i128(v.i->shape->type, bits);
    return true;
}

/* What an iteration adds to the leaf. */
static bool find_step(const Counting *c, uint32_t leaf, WbbI128 *step)
{
    const HloInstruction *i = hlo_value(hlo_called(c->loop, "body")->root, leaf).i;
    if (i->opcode != HLO_ADD && i->opcode != HLO_SUBTRACT) return false;
    const HloValue x = hlo_value(i->operands[0], 0), y = hlo_value(i->operands[1], 0);
    const bool first = x.i->opcode == HLO_PARAMETER && x.part == leaf;
    const bool second = i->opcode == HLO_ADD && y.i->opcode == HLO_PARAMETER && y.part == leaf;
    if ((!first && !second) || !is_constant(c, first ? y : x, false, step)) return false;
    if (i->opcode == HLO_SUBTRACT) *step = -*step;
    return true;
}

/* Iterations until the counter, from `first` on, no longer is in that relation to the limit; -1: that is not before
 * it leaves its type. */
static int64_t trips_until(HloDirection d, WbbI128 first, WbbI128 step, WbbI128 limit)
{
    if (d == HLO_LE) limit++, d = HLO_LT;
    if (d == HLO_GE) limit--, d = HLO_GT;
    if (d == HLO_EQ) return first != limit ? 0 : step ? 1 : -1;
    const WbbI128 way = limit - first;
    if (d == HLO_NE) return !way ? 0 : step && way % step == 0 && way / step > 0 ? (int64_t)(way / step) : -1;
    if (d == HLO_LT ? way <= 0 : way >= 0) return 0;
    if (d == HLO_LT ? step <= 0 : step >= 0) return -1;
    return (int64_t)((way + step + (step > 0 ? -1 : 1)) / step);
}

HloCount hlo_count_of(const HloInstruction *loop)
{
    static const HloDirection swapped[] = {[HLO_EQ] = HLO_EQ, [HLO_NE] = HLO_NE, [HLO_LT] = HLO_GT,
                                           [HLO_LE] = HLO_GE, [HLO_GT] = HLO_LT, [HLO_GE] = HLO_LE};
    const HloCount unknown = {.trips = -1};
    const HloComputation *condition = hlo_called(loop, "condition");
    if (loop->opcode != HLO_WHILE || !condition || !hlo_called(loop, "body")) return unknown;
    const HloInstruction *test = hlo_value(condition->root, 0).i;
    if (test->opcode != HLO_COMPARE) return unknown;
    for (uint32_t side = 0; side < 2; side++) {
        const HloValue x = hlo_value(test->operands[side], 0), y = hlo_value(test->operands[1 - side], 0);
        const ScType t = test->operands[0]->shape->type;
        Counting c = {.loop = loop, .shape = test->operands[0]->shape};
        WbbI128 limit, first, step;
        const bool counts = t == SC_I32 || t == SC_U32 || t == SC_I64 || t == SC_U64;
        if (!counts || x.i->opcode != HLO_PARAMETER || hlo_loop_keeps(loop, x.part)) continue;
        if (!is_constant(&c, y, false, &limit) || !find_step(&c, x.part, &step)) continue;
        if (!is_constant(&c, hlo_value(loop->operands[0], x.part), true, &first)) continue;
        const int64_t trips = trips_until(side ? swapped[test->direction] : test->direction, first, step, limit);
        /* every value of the counter is one of its type, and an index */
        const WbbI128 last = first + step * trips, most = ((WbbI128)1 << (sc_type_info[t].bits - sc_is_signed(t))) - 1;
        if (trips < 0 || last > most || last > INT64_MAX / 4 || first > INT64_MAX / 4) continue;
        if (last < (sc_is_signed(t) ? -most - 1 : 0) || last < INT64_MIN / 4 || first < INT64_MIN / 4) continue;
        return (HloCount){.counter = x.part, .first = (int64_t)first, .step = (int64_t)step, .trips = trips};
    }
    return unknown;
}

int64_t hlo_repeats(const HloInstruction *i) { return i->opcode == HLO_WHILE ? WBB_MAX(hlo_count_of(i).trips, 1) : 1; }

bool hlo_counts(const HloInstruction *loop, HloCount *count)
{
    const HloShape *state = loop->shape;
    if (loop->opcode != HLO_WHILE || state->type != SC_TUPLE || loop->operands[0]->opcode != HLO_TUPLE) return false;
    if (hlo_called(loop, "body")->root->opcode != HLO_TUPLE) return false;
    for (uint32_t k = 0; k < state->n_elements; k++)
        if (state->elements[k]->type == SC_TUPLE) return false;
    *count = hlo_count_of(loop);
    return count->trips > 0;
}
