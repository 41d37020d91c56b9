/* associative.c: is the computation of a reduction associative on small integers?
 *
 * Needs the computation of a reduction; evaluates f(f(a, b), c) and f(a, f(b, c)) on a fixed sequence of small values,
 * on which sums and products are exact. Where they differ, HLO leaves the result open, and only one thread that takes
 * the terms one after the other gives what the text says. Computations of other operations than those below are taken
 * to be associative, as HLO asks.
 *
 *     max(a + b, a)   =>   false: of 0, -1, 2 it makes 2 or 1
 */
#include "partition/partition.h"

#include <string.h>

enum { TRIPLES = 200, LARGEST = 3 };

typedef struct {
    const HloComputation *c;
    uint64_t *value; /* by id */
    uint32_t n;      /* values of a partial result */
} Evaluating;

static ScOp operation_of(const HloInstruction *i)
{
    static const ScOp ops[] = {[HLO_EQ] = OP_EQ, [HLO_NE] = OP_NE, [HLO_LT] = OP_LT,
                               [HLO_LE] = OP_LE, [HLO_GT] = OP_GT, [HLO_GE] = OP_GE};
    switch (i->opcode) {
    case HLO_COMPARE: return i->total_order ? OP_NONE : ops[i->direction];
    case HLO_CONVERT: return OP_CVT;
    case HLO_ADD: case HLO_SUBTRACT: case HLO_MULTIPLY: case HLO_MAXIMUM: case HLO_MINIMUM: case HLO_NEGATE:
    case HLO_ABS: case HLO_AND: case HLO_OR: case HLO_XOR: case HLO_NOT: case HLO_SELECT:
        return sc_op_of_hlo(hlo_opcode_name(i->opcode));
    default: return OP_NONE;
    }
}

/* The value of an instruction whose operands have theirs; false: it is none of the operations above. */
static bool evaluate_one(const Evaluating *e, const HloInstruction *i, const uint64_t *x, const uint64_t *y)
{
    uint64_t args[3] = {0};
    if (i->opcode == HLO_PARAMETER) {
        const uint64_t *from = i->number < (int64_t)e->n ? x : y;
        e->value[i->id] = from[(uint64_t)i->number % e->n];
        return true;
    }
    if (i->opcode == HLO_TUPLE) return true;
    const uint32_t bytes = i->shape->type == SC_TUPLE ? 0 : sc_bytes(i->shape->type);
    if (i->opcode == HLO_CONSTANT && i->literal && bytes && bytes <= sizeof(uint64_t)) {
        memcpy(&e->value[i->id], i->literal, bytes);
        return true;
    }
    const ScOp op = operation_of(i);
    if (op == OP_NONE || i->n_operands > 3) return false;
    for (uint32_t k = 0; k < i->n_operands; k++) args[k] = e->value[i->operands[k]->id];
    const ScType from = i->n_operands ? i->operands[0]->shape->type : SC_NONE;
    const ScType type = i->opcode == HLO_COMPARE ? from : i->shape->type;
    return sc_eval(op, type, from, args, &e->value[i->id]);
}

static bool evaluate(const Evaluating *e, const uint64_t *x, const uint64_t *y, uint64_t *result)
{
    for (uint32_t k = 0; k < e->c->n_instructions; k++)
        if (!evaluate_one(e, e->c->instructions[k], x, y)) return false;
    for (uint32_t k = 0; k < e->n; k++) result[k] = e->value[part_value(e->c->root, k).i->id];
    return true;
}

/* A value of -LARGEST .. LARGEST, and the same value in its type. */
static void some_values(const Evaluating *e, uint64_t *seed, uint64_t *x)
{
    for (uint32_t k = 0; k < e->n; k++) {
        *seed += UINT64_C(0x9e3779b97f4a7c15);
        const int64_t v = (int64_t)(wbb_mix(*seed) % (2 * LARGEST + 1)) - LARGEST;
        x[k] = sc_from_f64(e->c->parameters[k]->shape->type, (double)v);
    }
}

/* Equal in value: 0 is -0. */
static bool equal(const Evaluating *e, const uint64_t *x, const uint64_t *y)
{
    for (uint32_t k = 0; k < e->n; k++) {
        const ScType t = e->c->parameters[k]->shape->type;
        if (x[k] != y[k] && !(sc_is_float(t) && sc_to_f64(t, x[k]) == sc_to_f64(t, y[k]))) return false;
    }
    return true;
}

bool part_is_associative(WbbArena *a, const HloComputation *c)
{
    Evaluating e = {.c = c, .n = c->n_parameters / 2, .value = WBB_NEW_N(a, uint64_t, c->n_instructions + 1u)};
    uint64_t *v[7], seed = 1;
    for (uint32_t k = 0; k < e.n; k++)
        if (!sc_type_info[c->parameters[k]->shape->type].compute) return true;
    for (size_t k = 0; k < WBB_LEN(v); k++) v[k] = WBB_NEW_N(a, uint64_t, e.n + 1u);
    for (int n = 0; n < TRIPLES; n++) {
        for (int k = 0; k < 3; k++) some_values(&e, &seed, v[k]);
        const bool known = evaluate(&e, v[0], v[1], v[3]) && evaluate(&e, v[3], v[2], v[4]) &&
                           evaluate(&e, v[1], v[2], v[5]) && evaluate(&e, v[0], v[5], v[6]);
        if (!known) return true;
        if (!equal(&e, v[4], v[6])) return false;
    }
    return true;
}
