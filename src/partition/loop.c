/* loop.c: what the text says about a `while`: the leaves of its state that it leaves as they are, and how often it
 * runs.
 *
 * Needs a verified instruction; leaves nothing. A leaf is invariant where the body returns it unchanged. The number of
 * iterations is known where the condition compares a leaf with a constant, the body adds a constant to that leaf, and
 * the leaf begins with a constant.
 *
 *     while((i, x, n) tuple(0, p, 5)), condition: i < n, body: tuple(i + 1, x * x, n)
 *         =>   n and nothing else is invariant; 5 iterations counted by leaf 0, from 0 in steps of 1
 */
#include "partition/partition.h"

#include <string.h>

const HloComputation *part_called(const HloInstruction *i, const char *attribute)
{
    for (uint32_t k = 0; k < i->n_called; k++)
        if (!strcmp(i->called_by[k], attribute)) return i->called[k];
    return i->called[0];
}

bool part_loop_keeps(const HloInstruction *loop, uint32_t leaf)
{
    const PartValue v = part_value(part_called(loop, "body")->root, leaf);
    return v.i->opcode == HLO_PARAMETER && v.part == leaf;
}

typedef struct {
    const HloInstruction *loop;
    const HloShape *shape; /* of the counter */
} Counting;

/* A constant of the counter's type: in the condition or the body, or a leaf of the state that begins with one and
 * keeps it. `begin`: v belongs to the computation around the loop. */
static bool is_constant(const Counting *c, PartValue v, bool begin, WbbI128 *value)
{
    if (!begin && v.i->opcode == HLO_PARAMETER) {
        if (!part_loop_keeps(c->loop, v.part)) return false;
        v = part_value(c->loop->operands[0], v.part);
    }
    while (v.i->opcode == HLO_COPY) v = part_value(v.i->operands[0], 0);
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
    const HloInstruction *i = part_value(part_called(c->loop, "body")->root, leaf).i;
    if (i->opcode != HLO_ADD && i->opcode != HLO_SUBTRACT) return false;
    const PartValue x = part_value(i->operands[0], 0), y = part_value(i->operands[1], 0);
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

PartLoop part_loop(const HloInstruction *loop)
{
    static const HloDirection swapped[] = {[HLO_EQ] = HLO_EQ, [HLO_NE] = HLO_NE, [HLO_LT] = HLO_GT,
                                           [HLO_LE] = HLO_GE, [HLO_GT] = HLO_LT, [HLO_GE] = HLO_LE};
    const PartLoop unknown = {.trips = -1};
    const HloInstruction *test = part_value(part_called(loop, "condition")->root, 0).i;
    if (test->opcode != HLO_COMPARE) return unknown;
    for (uint32_t side = 0; side < 2; side++) {
        const PartValue x = part_value(test->operands[side], 0), y = part_value(test->operands[1 - side], 0);
        const ScType t = test->operands[0]->shape->type;
        Counting c = {.loop = loop, .shape = test->operands[0]->shape};
        WbbI128 limit, first, step;
        const bool counts = t == SC_I32 || t == SC_U32 || t == SC_I64 || t == SC_U64;
        if (!counts || x.i->opcode != HLO_PARAMETER || part_loop_keeps(loop, x.part)) continue;
        if (!is_constant(&c, y, false, &limit) || !find_step(&c, x.part, &step)) continue;
        if (!is_constant(&c, part_value(loop->operands[0], x.part), true, &first)) continue;
        const int64_t trips = trips_until(side ? swapped[test->direction] : test->direction, first, step, limit);
        /* every value of the counter is one of its type, and an index */
        const WbbI128 last = first + step * trips, most = ((WbbI128)1 << (sc_type_info[t].bits - sc_is_signed(t))) - 1;
        if (trips < 0 || last > most || last > INT64_MAX / 4 || first > INT64_MAX / 4) continue;
        if (last < (sc_is_signed(t) ? -most - 1 : 0) || last < INT64_MIN / 4 || first < INT64_MIN / 4) continue;
        return (PartLoop){.counter = x.part, .first = (int64_t)first, .step = (int64_t)step, .trips = trips};
    }
    return unknown;
}

static bool is_open(const HloInstruction *i) { return i->opcode == HLO_WHILE && part_loop(i).trips < 0; }
static bool is_branch(const HloInstruction *i) { return i->opcode == HLO_CONDITIONAL || i->opcode == HLO_WHILE; }

/* Computations stand behind those that they call. */
static bool has(WbbArena *a, const HloComputation *c, const bool *needed, bool (*is)(const HloInstruction *))
{
    bool *found = WBB_NEW_N(a, bool, c->id + 1);
    for (uint32_t of = 0; of <= c->id; of++) {
        const HloComputation *x = of == c->id ? c : c->module->computations[of];
        for (uint32_t n = 0; n < x->n_instructions && !found[of]; n++) {
            if (x == c && needed && !needed[n]) continue;
            found[of] = is(x->instructions[n]);
            for (uint32_t k = 0; k < x->instructions[n]->n_called; k++)
                found[of] = found[of] || found[x->instructions[n]->called[k]->id];
        }
    }
    return found[c->id];
}

bool part_has_open_loop(WbbArena *a, const HloComputation *c, const bool *needed) { return has(a, c, needed, is_open); }
bool part_has_branch(WbbArena *a, const HloComputation *c) { return has(a, c, NULL, is_branch); }

bool part_is_control(HloOpcode op)
{
    return op == HLO_WHILE || op == HLO_CONDITIONAL || op == HLO_CALL || op == HLO_FUSION;
}

int64_t part_operations(WbbArena *a, const HloComputation *c, const bool *needed)
{
    int64_t *sum = WBB_NEW_N(a, int64_t, c->id + 1);
    for (uint32_t of = 0; of <= c->id; of++) {
        const HloComputation *x = of == c->id ? c : c->module->computations[of];
        for (uint32_t n = 0; n < x->n_instructions; n++) {
            const HloInstruction *i = x->instructions[n];
            if (x == c && needed && !needed[n]) continue;
            sum[of] += i->opcode != HLO_PARAMETER && i->opcode != HLO_CONSTANT && i->opcode != HLO_TUPLE &&
                       i->opcode != HLO_GET_TUPLE_ELEMENT;
            for (uint32_t k = 0; part_is_control(i->opcode) && k < i->n_called; k++)
                sum[of] = WBB_MIN(sum[of] + sum[i->called[k]->id], INT64_C(1) << 40);
        }
    }
    return sum[c->id];
}
