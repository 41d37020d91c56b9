/* select.c: may this fusion be a loop? The first of its instructions that may not is declined with its reason: decline.c.
 *
 * Needs a verified computation; leaves nothing. An operation is handled where it moves elements (reshape, pad, gather, ..), makes them
 * (constant, iota, parameter), works on each alone with a meaning of its own in gen/ops.py, or folds no more of them than one thread
 * does in reasonable time.
 *
 *     %r = f32[8] reduce(f32[8,65536] ..)   =>   "gelu.hlo:7:3: declined: reduction: ..."
 */
#include "partition/partition.h"

static bool has_emitter(HloOpcode op)
{
    switch (op) {
    case HLO_BITCAST:
    case HLO_BROADCAST:
    case HLO_CLAMP:
    case HLO_COMPARE:
    case HLO_COMPLEX:
    case HLO_CONCATENATE:
    case HLO_CONSTANT:
    case HLO_CONVERT:
    case HLO_CONVOLUTION:
    case HLO_COPY:
    case HLO_DOT:
    case HLO_DYNAMIC_SLICE:
    case HLO_DYNAMIC_UPDATE_SLICE:
    case HLO_GATHER:
    case HLO_GET_TUPLE_ELEMENT:
    case HLO_IMAG:
    case HLO_IOTA:
    case HLO_MAP:
    case HLO_MULHI:
    case HLO_PAD:
    case HLO_PARAMETER:
    case HLO_REAL:
    case HLO_REDUCE:
    case HLO_REDUCE_PRECISION:
    case HLO_REDUCE_WINDOW:
    case HLO_RESHAPE:
    case HLO_REVERSE:
    case HLO_SLICE:
    case HLO_STOCHASTIC_CONVERT:
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
        const bool several = i->opcode == HLO_REDUCE || i->opcode == HLO_REDUCE_WINDOW || i->opcode == HLO_PARAMETER;
        if (several || i->opcode == HLO_TUPLE || i->opcode == HLO_GET_TUPLE_ELEMENT) return;
        wbb_decline(cx, i->loc, WHY_TYPE, "%s of a tuple", hlo_opcode_name(i->opcode));
    }
    const ScTypeInfo *t = &sc_type_info[i->shape->type];
    if (!t->compute && t->cls != 'C') wbb_decline(cx, i->loc, WHY_TYPE, "%s of %s", hlo_opcode_name(i->opcode), t->hlo);
}

static void check_constant(WbbCx *cx, const HloInstruction *i)
{
    if (!i->literal) wbb_decline(cx, i->loc, WHY_OPERATION, "a constant whose value the text leaves out");
    if (!i->literal_splat && hlo_elements(i->shape) > PART_DENSE_LIMIT)
        wbb_decline(cx, i->loc, WHY_OPERATION, "a constant of %lld elements", (long long)hlo_elements(i->shape));
}

bool part_same_width(const HloInstruction *i)
{
    const HloShape *from = i->operands[0]->shape;
    return hlo_elements(i->shape) == hlo_elements(from) && sc_type_info[i->shape->type].bits == sc_type_info[from->type].bits &&
           (i->opcode == HLO_BITCAST || hlo_same_dims(i->shape, from));
}

/* A bitcast to elements of another width reads parts of elements, or puts them together: as integers of that width. */
static void check_bitcast(WbbCx *cx, const HloInstruction *i)
{
    const ScTypeInfo *to = &sc_type_info[i->shape->type], *from = &sc_type_info[i->operands[0]->shape->type];
    if (part_same_width(i)) return;
    if (to->bits == from->bits || to->cls == 'C' || from->cls == 'C' || to->cls == 'P' || from->cls == 'P')
        wbb_decline(cx, i->loc, WHY_OPERATION, "%s of %s to %s", hlo_opcode_name(i->opcode), from->hlo, to->hlo);
}

/* Folds within folds: what one thread does for one element. */
static void check_turns(WbbCx *cx, const HloInstruction *i, int64_t turns, const TgTarget *t)
{
    const char *name = hlo_opcode_name(i->opcode);
    const bool library = i->opcode == HLO_DOT || i->opcode == HLO_CONVOLUTION;
    const TgTune *most = tg_tune(t, library ? "product.max_turns" : "reduce.max_turns", 0);
    if (turns > most->value)
        wbb_decline(cx, i->loc, library ? WHY_LIBRARY : WHY_REDUCTION, "%s: an element takes %lld others, one thread folds %lld at most: %s", name,
                    (long long)turns, (long long)most->value, most->because);
    if (!library) return;
    const TgTune *all = tg_tune(t, "product.most", 0);
    const WbbI128 products = (WbbI128)hlo_elements(i->shape) * turns;
    if (products > all->value)
        wbb_decline(cx, i->loc, WHY_LIBRARY, "%s: %lld results of %lld products each, %lld in all are left to a library: %s", name,
                    (long long)hlo_elements(i->shape), (long long)turns, (long long)all->value, all->because);
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
    return !i->spelling && (has_emitter(i->opcode) || sc_op_of_hlo(hlo_opcode_name(i->opcode)) != OP_NONE);
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

static void check_body(WbbCx *cx, WbbArena *a, const HloComputation *body, const TgTarget *t)
{
    check_operations(cx, body);
    const int64_t *turns = NULL;
    for (uint32_t n = 0; n < body->n_instructions; n++) {
        const HloInstruction *i = body->instructions[n];
        check_type(cx, i);
        const bool folds = i->opcode == HLO_REDUCE || i->opcode == HLO_REDUCE_WINDOW || i->opcode == HLO_DOT || i->opcode == HLO_CONVOLUTION;
        if (folds && !turns) turns = part_trips(a, body);
        if (folds || i->opcode == HLO_MAP) check_turns(cx, i, turns ? turns[n] : 1, t);
        if (i->opcode == HLO_CONSTANT) check_constant(cx, i);
        else if (i->opcode == HLO_BITCAST || i->opcode == HLO_BITCAST_CONVERT) check_bitcast(cx, i);
        else if (!has_emitter(i->opcode)) check_elementwise(cx, i, sc_op_of_hlo(hlo_opcode_name(i->opcode)));
    }
}

void part_check(WbbCx *cx, WbbArena *a, const HloComputation *body, const TgTarget *t)
{
    bool *wanted = WBB_NEW_N(a, bool, body->id + 1);
    wanted[body->id] = true;
    for (uint32_t k = body->id + 1; k-- > 0;) { /* callers before callees */
        const HloComputation *c = body->module->computations[k];
        if (!wanted[k]) continue;
        check_body(cx, a, c, t);
        for (uint32_t n = 0; n < c->n_instructions; n++)
            for (uint32_t j = 0; j < c->instructions[n]->n_called; j++) wanted[c->instructions[n]->called[j]->id] = true;
    }
}

bool part_is_packed(ScType t) { return t != SC_PRED && sc_type_info[t].bits > 0 && sc_type_info[t].bits < 8; }

const HloShape *part_shape(const HloInstruction *i, uint32_t part)
{
    const HloShape *s = i->shape;
    while (s->type == SC_TUPLE) {
        uint32_t k = 0;
        for (; part >= s->elements[k]->n_leaves; k++) part -= s->elements[k]->n_leaves;
        s = s->elements[k];
    }
    return s;
}

PartValue part_value(const HloInstruction *i, uint32_t part)
{
    for (;;) {
        if (i->opcode == HLO_TUPLE) {
            uint32_t k = 0;
            for (; part >= i->operands[k]->shape->n_leaves; k++) part -= i->operands[k]->shape->n_leaves;
            i = i->operands[k];
        } else if (i->opcode == HLO_GET_TUPLE_ELEMENT) {
            const HloShape *tuple = i->operands[0]->shape;
            for (int64_t k = 0; k < i->number; k++) part += tuple->elements[k]->n_leaves;
            i = i->operands[0];
        } else {
            return (PartValue){i, part};
        }
    }
}
