/* select.c: may this fusion be a loop? The first of its instructions that may not is declined with its reason: decline.c.
 *
 * Needs a verified computation; leaves nothing. An operation is handled where it moves elements (reshape, slice, ...), makes them
 * (constant, iota, parameter), or works on each alone with a meaning of its own in gen/ops.py.
 *
 *     %r = f32[8] reduce(..)   =>   "gelu.hlo:7:3: declined (reduction): ..."
 */
#include "partition/partition.h"

static bool moves_or_makes(HloOpcode op)
{
    switch (op) {
    case HLO_BITCAST:
    case HLO_BROADCAST:
    case HLO_CLAMP:
    case HLO_COMPARE:
    case HLO_CONSTANT:
    case HLO_COPY:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_IOTA:
    case HLO_PARAMETER:
    case HLO_RESHAPE:
    case HLO_REVERSE:
    case HLO_SLICE:
    case HLO_TRANSPOSE:
    case HLO_TUPLE:
        return true;
    default:
        return false;
    }
}

static void check_type(WbbCx *cx, const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE) {
        if (i->opcode == HLO_TUPLE || i->opcode == HLO_GET_TUPLE_ELEMENT) return;
        wbb_decline(cx, i->loc, WHY_TYPE, "%s of a tuple", hlo_opcode_name(i->opcode));
    }
    const ScTypeInfo *t = &sc_type_info[i->shape->type];
    if (!t->compute) wbb_decline(cx, i->loc, WHY_TYPE, "%s of %s", hlo_opcode_name(i->opcode), t->hlo);
}

static void check_constant(WbbCx *cx, const HloInstruction *i)
{
    if (!i->literal) wbb_decline(cx, i->loc, WHY_OPERATION, "a constant whose value the text leaves out");
    if (!i->literal_splat && hlo_elements(i->shape) > PART_DENSE_LIMIT)
        wbb_decline(cx, i->loc, WHY_OPERATION, "a constant of %lld elements", (long long)hlo_elements(i->shape));
}

/* A bitcast to elements of another width reads parts of elements. */
static void check_bitcast(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *from = i->operands[0]->shape;
    if (hlo_elements(i->shape) != hlo_elements(from) || sc_type_info[i->shape->type].bits != sc_type_info[from->type].bits ||
        (i->opcode == HLO_BITCAST_CONVERT && !hlo_same_dims(i->shape, from)))
        wbb_decline(cx, i->loc, WHY_OPERATION, "%s between types of different width", hlo_opcode_name(i->opcode));
}

/* The type in the name of the operation: of what it takes, for conversions of the result. */
static void check_elementwise(WbbCx *cx, const HloInstruction *i, ScOp op)
{
    const ScType result = i->shape->type, first = i->n_operands ? i->operands[0]->shape->type : result;
    const uint8_t signature = sc_op_info[op].signature;
    const ScType named = signature == SC_TEST || signature == SC_COMPARE ? first : result;
    bool there = false;
    for (const char *c = sc_op_info[op].classes; *c; c++) there |= *c == sc_type_info[named].cls;
    if (!there) wbb_decline(cx, i->loc, WHY_OPERATION, "%s of %s", hlo_opcode_name(i->opcode), sc_type_info[named].hlo);
}

static bool handled(const HloInstruction *i)
{
    return !i->spelling && (moves_or_makes(i->opcode) || sc_op_of_hlo(hlo_opcode_name(i->opcode)) != OP_NONE);
}

/* An operation that nobody handles says more than the type of what it is given, or the token. */
static void check_operations(WbbCx *cx, const HloComputation *body)
{
    const HloInstruction *token = NULL;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        if (handled(i)) continue;
        if (i->opcode != HLO_AFTER_ALL) part_decline(cx, i);
        token = i;
    }
    if (token) part_decline(cx, token);
}

void part_check(WbbCx *cx, const HloComputation *body)
{
    check_operations(cx, body);
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        check_type(cx, i);
        if (i->opcode == HLO_CONSTANT) check_constant(cx, i);
        else if (i->opcode == HLO_BITCAST || i->opcode == HLO_BITCAST_CONVERT) check_bitcast(cx, i);
        else if (!moves_or_makes(i->opcode)) check_elementwise(cx, i, sc_op_of_hlo(hlo_opcode_name(i->opcode)));
    }
}

const HloInstruction *part_value(WbbCx *cx, const HloInstruction *i)
{
    while (i->opcode == HLO_GET_TUPLE_ELEMENT) { /* the recursion is as deep as tuples nest */
        const HloInstruction *tuple = part_value(cx, i->operands[0]);
        if (tuple->opcode != HLO_TUPLE) wbb_decline(cx, i->loc, WHY_TYPE, "an element of a tuple that is not made here");
        i = tuple->operands[i->number];
    }
    return i;
}
