/* module: facts about operations, and the fusion of an HLO module.
 *
 * Needs: a parsed HLO module. Leaves: nothing; these functions only read.
 *
 * The fusion of an HLO module is the one fusion instruction of its entry. The entry may also hold instructions that
 * need no code of their own: parameters, constants, bitcasts, a tuple of the results, and a `copy` of an operand that
 * an in-place fusion overwrites. If the entry has no fusion instruction, the entry itself is the fusion.
 *
 *     ENTRY e { p = f32[8] parameter(0)  ROOT gelu = f32[8] fusion(p), kind=kLoop, calls=f }
 *         body f, fusion gelu, name "gelu"
 */
#include "hlo/inner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *hlo_opcode_name(HloOpcode op) { return op < HLO_OPCODE_COUNT ? hlo_op_info[op].text : "?"; }
HloKind hlo_kind(HloOpcode op) { return hlo_op_info[op].kind; }
ScOp hlo_scalar(HloOpcode op) { return hlo_op_info[op].scalar; }
ScOp hlo_comparison(HloDirection d)
{
    static const ScOp ops[] = {[HLO_EQ] = OP_EQ, [HLO_NE] = OP_NE, [HLO_LT] = OP_LT,
                               [HLO_LE] = OP_LE, [HLO_GT] = OP_GT, [HLO_GE] = OP_GE};
    return ops[d];
}
bool hlo_is_elementwise(HloOpcode op) { return hlo_kind(op) == HLO_IS_ELEMENT; }
bool hlo_combines(HloOpcode op) { return hlo_op_info[op].identity != HLO_NO_IDENTITY; }
bool hlo_has(HloOpcode op, HloFact fact) { return hlo_op_info[op].facts & fact; }

bool hlo_orders(HloOpcode op)
{
    return hlo_op_info[op].identity == HLO_IDENTITY_LEAST || hlo_op_info[op].identity == HLO_IDENTITY_MOST;
}

int64_t hlo_place(const HloInstruction *i, int64_t d)
{
    for (uint32_t k = 0; k < i->n_dimensions; k++)
        if (i->dimensions[k] == d) return k;
    return -1;
}

bool hlo_among(const HloInstruction *i, int64_t d) { return hlo_place(i, d) >= 0; }

HloOpcode hlo_opcode_named(const char *name, size_t n)
{
    size_t low = 0, high = HLO_OPCODE_COUNT;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int order = strncmp(hlo_op_info[middle].text, name, n);
        if (order == 0) order = hlo_op_info[middle].text[n] != 0;
        if (order == 0) return (HloOpcode)middle;
        if (order < 0) low = middle + 1;
        else high = middle;
    }
    return HLO_OPCODE_COUNT;
}

const char *hlo_opcode_text(const HloInstruction *i) { return i->spelling ? i->spelling : hlo_opcode_name(i->opcode); }

HloOpcode hlo_started_opcode(const HloInstruction *i)
{
    if (i->opcode != HLO_ASYNC_START || !i->spelling) return i->opcode;
    return hlo_opcode_named(i->spelling, strlen(i->spelling) - strlen("-start"));
}

/* Users stand after their operands, so one walk from the end suffices. */
void hlo_mark_operands(const HloComputation *c, bool *marks)
{
    for (uint32_t k = c->n_instructions; k-- > 0;)
        for (uint32_t o = 0; marks[k] && o < c->instructions[k]->n_operands; o++)
            marks[c->instructions[k]->operands[o]->id] = true;
}

bool hlo_is_pure(HloOpcode op)
{
    switch (hlo_kind(op)) {
    case HLO_IS_ELEMENT: case HLO_IS_MOVE: case HLO_IS_CHOOSE: case HLO_IS_FOLD: case HLO_IS_WHOLE: return true;
    default: return op == HLO_IOTA;
    }
}

/* Custom calls that state where a value lives or how it is split over devices, and return it unchanged. */
static bool is_identity_call(const HloInstruction *i)
{
    static const char *const targets[] = {
        "Sharding", "SPMDFullToShardShape", "SPMDShardToFullShape", "annotate_device_placement", "MoveToHost",
        "MoveToDevice", "Pin", "Unpin", "LayoutConstraint", "xla.sdy.FuncResultSharding", "xla.sdy.GlobalToLocalShape",
        "xla.sdy.LocalToGlobalShape",
    };
    if (i->opcode != HLO_CUSTOM_CALL || !i->target || i->n_operands != 1 ||
        !hlo_same_shape(i->shape, i->operands[0]->shape))
        return false; /* a shard of another shape is computed */
    for (size_t k = 0; k < WBB_LEN(targets); k++)
        if (strcmp(i->target, targets[k]) == 0) return true;
    return false;
}

/* Operations that only order others and return operand 0 unchanged. */
bool hlo_forwards_operand(const HloInstruction *i)
{
    return hlo_kind(i->opcode) == HLO_IS_FORWARD ? i->opcode != HLO_AFTER_ALL : is_identity_call(i);
}

uint64_t hlo_literal_bits(const HloInstruction *constant, int64_t k)
{
    uint64_t bits = 0;
    const uint32_t bytes = sc_bytes(constant->shape->type);
    memcpy(&bits, (const char *)constant->literal + (constant->literal_splat ? 0 : (size_t)k * bytes), bytes);
    return bits;
}

ScOp hlo_combiner(const HloComputation *c)
{
    return hlo_combines(c->root->opcode) && hlo_is_operation(c) ? hlo_scalar(c->root->opcode) : OP_NONE;
}

bool hlo_is_operation(const HloComputation *c)
{
    const HloInstruction *r = c->root;
    return c->n_parameters == 2 && r->n_operands == 2 && hlo_is_elementwise(r->opcode) && r->opcode != HLO_COMPARE &&
           r->operands[0]->opcode == HLO_PARAMETER && r->operands[1]->opcode == HLO_PARAMETER &&
           r->operands[0] != r->operands[1];
}

int64_t hlo_header_number(const HloModule *m, const char *name, int64_t otherwise)
{
    HloAttribute at;
    for (const char *p = m->attributes; hlo_next_attribute(&p, &at);)
        if (at.n_name == strlen(name) && !memcmp(at.name, name, at.n_name)) return strtoll(at.value, NULL, 10);
    return otherwise;
}

static bool may_surround_fusion(HloOpcode op)
{
    switch (op) {
    case HLO_PARAMETER: case HLO_CONSTANT: case HLO_BITCAST: case HLO_COPY: case HLO_TUPLE: case HLO_GET_TUPLE_ELEMENT:
        return true;
    default:
        return false;
    }
}

HloFusion hlo_fusion(WbbCx *cx, const HloModule *m)
{
    const HloInstruction *fusion = NULL, *other = NULL;
    for (uint32_t k = 0; k < m->entry->n_instructions; k++) {
        const HloInstruction *i = m->entry->instructions[k];
        if (i->opcode == HLO_FUSION) {
            if (fusion)
                wbb_decline(cx, i->loc, WHY_MANY_FUSIONS, "the entry holds more than one fusion: '%s' and '%s'",
                            fusion->name, i->name);
            fusion = i;
        } else if (!may_surround_fusion(i->opcode) && !hlo_forwards_operand(i)) {
            other = i;
        }
    }
    if (!fusion) return (HloFusion){m->entry, NULL, m->entry->name};
    if (other)
        wbb_decline(cx, other->loc, WHY_NO_FUSION, "the entry holds '%s', which is %s, beside the fusion '%s'",
                    other->name, hlo_opcode_name(other->opcode), fusion->name);
    return (HloFusion){fusion->called[0], fusion, fusion->name};
}

const HloComputation *hlo_called(const HloInstruction *i, const char *attribute)
{
    for (uint32_t k = 0; k < i->n_called; k++)
        if (!strcmp(i->called_by[k], attribute)) return i->called[k];
    return NULL;
}

bool hlo_is_place(const HloInstruction *i, int64_t d)
{
    const HloInstruction *x = i->opcode == HLO_BROADCAST ? i->operands[0] : i;
    return x->opcode == HLO_IOTA && (x == i ? x->number : i->dimensions[x->number]) == d;
}

bool hlo_is_number(const HloInstruction *i, double value)
{
    float x;
    if (i->opcode != HLO_CONSTANT || !i->literal || i->shape->rank || i->shape->type != SC_F32) return false;
    memcpy(&x, i->literal, sizeof x);
    return (double)x == value;
}

const HloInstruction *hlo_source(const HloInstruction *i)
{
    while (hlo_is_move(i->opcode) && i->n_operands == 1 && i->operands[0]->shape->type == i->shape->type)
        i = i->operands[0];
    return i;
}

/* The row of a power's exponent, a constant, at its type: lowerings of narrower floats compute in f32. NULL: none. */
static const HloPower *power_of(const HloInstruction *i)
{
    if (i->opcode != HLO_POWER) return NULL;
    const HloInstruction *x = hlo_source(i->operands[1]);
    const ScType t = x->shape->type;
    if (x->opcode != HLO_CONSTANT || !x->literal || hlo_elements(x->shape) != 1 || !sc_is_float(t)) return NULL;
    const double exponent = sc_to_f64(t, hlo_literal_bits(x, 0));
    for (uint32_t narrow = 0; narrow < 2; narrow++)
        for (const HloPower *p = hlo_powers; p->type != SC_NONE; p++)
            if (p->exponent == exponent && p->type == (narrow && sc_type_info[t].bits < 32 ? SC_F32 : t)) return p;
    return NULL;
}

ScOp hlo_function(const HloInstruction *i)
{
    const HloPower *power = power_of(i);
    const ScOp op = power ? power->op : hlo_scalar(i->opcode);
    return sc_op_info[op].costly ? op : OP_NONE;
}

bool hlo_is_move(HloOpcode op)
{
    return hlo_kind(op) == HLO_IS_MOVE || op == HLO_COPY || op == HLO_BITCAST_CONVERT;
}

bool hlo_permutes(const HloInstruction *i)
{
    return hlo_is_move(i->opcode) && hlo_elements(i->shape) == hlo_elements(i->operands[0]->shape);
}

bool hlo_reduces(const HloInstruction *i, HloOpcode op)
{
    if (i->opcode != HLO_REDUCE || i->n_operands != 2 || i->shape->type != SC_F32 || !i->n_dimensions) return false;
    if (i->operands[0]->shape->type != SC_F32 || !hlo_is_row_major(i->operands[0]->shape)) return false;
    if (i->operands[0]->shape->rank >= HLO_RANK_LIMIT || i->operands[0]->shape->dynamic) return false;
    const HloComputation *c = i->called[0];
    return hlo_is_operation(c) && c->root->opcode == op && hlo_is_number(i->operands[1], op == HLO_ADD ? 0 : -INFINITY);
}

bool hlo_is_reduced(const HloInstruction *i, int64_t d)
{
    bool found = false;
    for (uint32_t k = 0; k < i->n_dimensions; k++) found = found || i->dimensions[k] == d;
    return found;
}

bool hlo_is_of_results(const HloInstruction *c, const HloInstruction *i)
{
    if (c->opcode != HLO_BROADCAST || !hlo_same_dims(c->operands[0]->shape, i->shape)) return false;
    for (uint32_t k = 0, at = 0; at < c->shape->rank; at++)
        if (!hlo_is_reduced(i, at) && c->dimensions[k++] != at) return false;
    return true;
}
