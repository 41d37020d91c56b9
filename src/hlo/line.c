/* line.c: integers of a loop's body that grow by the same amount in each iteration.
 *
 * Needs a verified body whose parameter is a tuple of arrays; leaves nothing. The graph says which index an integer is
 * at an index of its array (graph/start.c); how it goes on from iteration to iteration no term says, since a loop is
 * whole there, and the passes `independent` and `stacked` ask before there is a graph.
 *
 *     i counts 0, 1, .. 99;  select(99 - i < 0, 99 - i + 100, 99 - i)     =>   99 - iteration
 */
#include "hlo/inner.h"

#include <string.h>

enum { DEPTH = 8 };

typedef struct {
    int64_t counter, trips;
    HloLine of_counter;
} Counting;

static bool constant_of(const HloInstruction *i, WbbI128 *value)
{
    if (i->opcode != HLO_CONSTANT || !i->literal) return false;
    uint64_t bits = 0;
    memcpy(&bits, i->literal, sc_bytes(i->shape->type));
    *value = sc_to_i128(i->shape->type, bits);
    return true;
}

static bool holds(HloDirection d, WbbI128 difference)
{
    switch (d) {
    case HLO_EQ: return difference == 0;
    case HLO_NE: return difference != 0;
    case HLO_LT: return difference < 0;
    case HLO_LE: return difference <= 0;
    case HLO_GT: return difference > 0;
    default: return difference >= 0;
    }
}

static bool find(const Counting *c, const HloInstruction *i, uint32_t depth, HloLine *out);

/* Of the operand that a select takes in every iteration. */
static bool selected(const Counting *c, const HloInstruction *i, uint32_t depth, HloLine *out)
{
    const HloInstruction *test = i->operands[0];
    HloLine x, y;
    if (test->opcode != HLO_COMPARE || test->direction == HLO_EQ || test->direction == HLO_NE) return false;
    if (!find(c, test->operands[0], depth + 1, &x) || !find(c, test->operands[1], depth + 1, &y)) return false;
    const WbbI128 first = x.first - y.first, last = first + (x.step - y.step) * (c->trips - 1);
    const bool taken = holds(test->direction, first);
    return taken == holds(test->direction, last) && find(c, i->operands[taken ? 1 : 2], depth + 1, out);
}

static bool find(const Counting *c, const HloInstruction *i, uint32_t depth, HloLine *out)
{
    const ScType t = i->shape->type;
    if (depth == DEPTH || t == SC_TUPLE || (sc_type_info[t].cls != 'I' && sc_type_info[t].cls != 'U')) return false;
    if (hlo_elements(i->shape) != 1) return false;
    HloLine x, y;
    if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
        if (i->operands[0]->opcode != HLO_PARAMETER || i->number != c->counter) return false;
        *out = c->of_counter;
    } else if (constant_of(i, &x.first)) {
        *out = (HloLine){x.first, 0};
    } else if (i->opcode == HLO_ADD || i->opcode == HLO_SUBTRACT) {
        const WbbI128 sign = i->opcode == HLO_ADD ? 1 : -1;
        if (!find(c, i->operands[0], depth + 1, &x) || !find(c, i->operands[1], depth + 1, &y)) return false;
        *out = (HloLine){x.first + sign * y.first, x.step + sign * y.step};
    } else if (i->opcode == HLO_CONVERT || hlo_is_move(i->opcode)) { /* of one element */
        if (!find(c, i->operands[0], depth + 1, out)) return false;
    } else if (i->opcode != HLO_SELECT || !selected(c, i, depth, out)) {
        return false;
    }
    const WbbI128 end = out->first + out->step * (c->trips - 1);
    const WbbI128 most = ((WbbI128)1 << (sc_type_info[t].bits - sc_is_signed(t))) - 1;
    const WbbI128 least = sc_is_signed(t) ? -most - 1 : 0;
    return out->first <= most && end <= most && out->first >= least && end >= least;
}

bool hlo_line_of(const HloInstruction *i, int64_t counter, HloLine of_counter, int64_t trips, HloLine *line)
{
    const Counting c = {.counter = counter, .trips = trips, .of_counter = of_counter};
    return find(&c, i, 0, line);
}

bool hlo_is_state(const HloInstruction *i, int64_t k)
{
    return i->opcode == HLO_GET_TUPLE_ELEMENT && i->number == k && i->operands[0]->opcode == HLO_PARAMETER;
}

/* --- positions ---------------------------------------------------------------------------------------------------- */
int64_t hlo_stepped_along(const HloInstruction *i, int64_t counter, HloLine of_counter, int64_t trips, bool *down)
{
    const bool updates = i->opcode == HLO_DYNAMIC_UPDATE_SLICE;
    const HloShape *whole = i->operands[0]->shape, *part = updates ? i->operands[1]->shape : i->shape;
    const uint32_t starts = (uint32_t)hlo_op_info[i->opcode].starts;
    int64_t found = -1;
    HloLine at;
    if (i->n_operands != starts + whole->rank) return -1;
    for (uint32_t d = 0; d < whole->rank; d++) {
        if (part->dims[d] == whole->dims[d] && !(part->dims[d] == 1 && trips == 1)) continue; /* begins at 0 */
        if (found >= 0 || part->dims[d] != 1) return -1;
        found = d;
    }
    if (found < 0 || whole->dims[found] != trips) return -1;
    if (!hlo_line_of(i->operands[starts + (uint32_t)found], counter, of_counter, trips, &at)) return -1;
    *down = at.step == -1;
    return (*down ? at.first == trips - 1 : at.step == 1 && at.first == 0) ? found : -1;
}

int64_t hlo_stacked_along(const HloInstruction *loop, const HloCount *count, int64_t k)
{
    const HloInstruction *i = hlo_called(loop, "body")->root->operands[k];
    bool down;
    if (i->opcode != HLO_DYNAMIC_UPDATE_SLICE || i->n_users > 1) return -1;
    if (!hlo_is_state(i->operands[0], k) || i->operands[0]->n_users > 1) return -1;
    return hlo_stepped_along(i, count->counter, (HloLine){count->first, count->step}, count->trips, &down);
}

bool hlo_is_stacked(const HloInstruction *loop, const HloCount *count, int64_t k)
{
    return hlo_stacked_along(loop, count, k) >= 0;
}
