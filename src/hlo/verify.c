/* verify: shapes and types of every instruction fit, and so do calls.
 *
 * Needs: a resolved module. Leaves: nothing; the first instruction that does not fit is a wbb_fail at its place.
 *
 * Operations on elements and calls are judged here, operations that move elements in verify_moves.c. Library operations (dot, sort,
 * collectives, ..) have their operands counted by the parser and are judged no further: no kernel is made of them here.
 *
 *     x.hlo:4:18: error: add: operand 1 has shape f32[4], f32[8] expected
 */
#include "hlo/inner.h"

#include <stdio.h>
#include <string.h>

void hlo_bad(WbbCx *cx, const HloInstruction *i, const char *format, ...)
{
    char text[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    wbb_fail(cx, i->loc, "%s: %s", i->spelling ? i->spelling : hlo_opcode_name(i->opcode), text);
}

/* Tuples of hundreds of elements would drown the message. */
static const char *brief(WbbCx *cx, const HloShape *s)
{
    return s->n_leaves > 8 ? wbb_format(cx->arena, "a tuple of %u arrays", s->n_leaves) : hlo_shape_text(cx, s);
}

void hlo_want_shape(WbbCx *cx, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *expected)
{
    if (hlo_same_shape(s, expected)) return;
    hlo_bad(cx, i, "%s has shape %s, %s expected", what, brief(cx, s), brief(cx, expected));
}

void hlo_want_dims(WbbCx *cx, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *expected)
{
    if (s->type != SC_TUPLE && hlo_same_dims(s, expected)) return;
    ScType type = s->type == SC_TUPLE ? expected->type : s->type;
    hlo_bad(cx, i, "%s has shape %s, %s expected", what, brief(cx, s),
            hlo_shape_text(cx, hlo_make_array(cx->arena, type, expected->rank, expected->dims)));
}

void hlo_want_operands(WbbCx *cx, const HloInstruction *i, uint32_t at_least)
{
    if (i->n_operands < at_least) hlo_bad(cx, i, "%u operands found, at least %u expected", i->n_operands, at_least);
}

static const char *operand_name(char text[32], uint32_t k)
{
    snprintf(text, 32, "operand %u", k);
    return text;
}

/* Classes of element types (gen/ops.py) that an operation takes; NULL for operations whose types are judged one by one. */
static const char *classes_of(HloOpcode op)
{
    switch (op) {
    case HLO_ADD: case HLO_MULTIPLY: case HLO_SUBTRACT: return "PIUFC";
    case HLO_MAXIMUM: case HLO_MINIMUM: return "PIUF";
    case HLO_DIVIDE: case HLO_POWER: case HLO_NEGATE: case HLO_SIGN: return "IUFC";
    case HLO_REMAINDER: return "IUF";
    case HLO_AND: case HLO_OR: case HLO_XOR: case HLO_NOT: return "PIU";
    case HLO_MULHI: case HLO_POPCNT: case HLO_COUNT_LEADING_ZEROS: case HLO_SHIFT_LEFT: case HLO_SHIFT_RIGHT_ARITHMETIC:
    case HLO_SHIFT_RIGHT_LOGICAL: return "IU";
    case HLO_FLOOR: case HLO_CEIL: case HLO_ROUND_NEAREST_AFZ: case HLO_ROUND_NEAREST_EVEN: case HLO_ERF: case HLO_REDUCE_PRECISION:
        return "F";
    case HLO_COPY: return "PIUFC-";
    case HLO_ABS: case HLO_BITCAST_CONVERT: case HLO_CLAMP: case HLO_COMPARE: case HLO_COMPLEX: case HLO_CONVERT: case HLO_IMAG:
    case HLO_IS_FINITE: case HLO_REAL: case HLO_SELECT: case HLO_STOCHASTIC_CONVERT: return NULL;
    default: return "FC";
    }
}

static char class_of(const HloShape *s) { return sc_type_info[s->type].cls; }

static void want_class(WbbCx *cx, const HloInstruction *i, uint32_t k, const char *classes)
{
    const HloShape *s = i->operands[k]->shape;
    if (strchr(classes, class_of(s)) && s->type != SC_TUPLE) return;
    const char *kind = strcmp(classes, "F") == 0    ? "a float"
                       : strcmp(classes, "FC") == 0 ? "a float or a complex"
                       : strcmp(classes, "IU") == 0 ? "an integer"
                       : strcmp(classes, "PIU") == 0 ? "an integer or pred"
                       : strcmp(classes, "IUF") == 0 ? "an integer or a float"
                                                    : "another";
    hlo_bad(cx, i, "operand %u has shape %s, %s type expected", k, brief(cx, s), kind);
}

/* All operands agree with the first, and the result with them. */
static void verify_same(WbbCx *cx, const HloInstruction *i)
{
    char text[32];
    const HloShape *first = i->operands[0]->shape;
    if (i->opcode == HLO_COPY && first->type == SC_TUPLE) {
        hlo_want_shape(cx, i, "the result", i->shape, first);
        return;
    }
    const HloShape *expected = i->n_operands > 1 && hlo_same_shape(i->operands[1]->shape, i->shape) ? i->shape : first;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        hlo_want_shape(cx, i, operand_name(text, k), i->operands[k]->shape, expected);
        want_class(cx, i, k, classes_of(i->opcode));
    }
    hlo_want_shape(cx, i, "the result", i->shape, expected);
}

static void want_type(WbbCx *cx, const HloInstruction *i, const char *what, const HloShape *s, ScType type)
{
    if (s->type != type)
        hlo_bad(cx, i, "%s has shape %s, element type %s expected", what, brief(cx, s),
                type == SC_TUPLE ? "tuple" : sc_type_info[type].hlo);
}

static ScType part_of(ScType t) { return t == SC_C64 ? SC_F32 : t == SC_C128 ? SC_F64 : t; }

static void verify_abs_real_imag(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    want_class(cx, i, 0, i->opcode == HLO_ABS ? "IUFC" : "FC");
    hlo_want_dims(cx, i, "the result", i->shape, s);
    want_type(cx, i, "the result", i->shape, part_of(s->type));
}

static void verify_select(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *choice = i->operands[0]->shape;
    if (choice->type == SC_TUPLE || i->shape->type == SC_TUPLE) hlo_bad(cx, i, "a tuple cannot be selected");
    want_type(cx, i, "operand 0", choice, SC_PRED);
    if (choice->rank) hlo_want_dims(cx, i, "operand 0", choice, i->operands[1]->shape);
    hlo_want_shape(cx, i, "operand 2", i->operands[2]->shape, i->operands[1]->shape);
    hlo_want_shape(cx, i, "the result", i->shape, i->operands[1]->shape);
}

static void verify_clamp(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = i->operands[1]->shape;
    want_class(cx, i, 1, "PIUF");
    for (uint32_t k = 0; k <= 2; k += 2) {
        const HloShape *bound = i->operands[k]->shape;
        char text[32];
        if (bound->rank || bound->type == SC_TUPLE) hlo_want_shape(cx, i, operand_name(text, k), bound, s);
        want_type(cx, i, operand_name(text, k), bound, s->type);
    }
    hlo_want_shape(cx, i, "the result", i->shape, s);
}

static void verify_compare(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    want_class(cx, i, 0, i->direction == HLO_EQ || i->direction == HLO_NE ? "PIUFC" : "PIUF");
    hlo_want_shape(cx, i, "operand 1", i->operands[1]->shape, s);
    hlo_want_dims(cx, i, "the result", i->shape, s);
    want_type(cx, i, "the result", i->shape, SC_PRED);
}

static void verify_complex(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    if (s->type != SC_F32 && s->type != SC_F64) hlo_bad(cx, i, "operand 0 has shape %s, type f32 or f64 expected", brief(cx, s));
    hlo_want_shape(cx, i, "operand 1", i->operands[1]->shape, s);
    hlo_want_dims(cx, i, "the result", i->shape, s);
    want_type(cx, i, "the result", i->shape, s->type == SC_F32 ? SC_C64 : SC_C128);
}

static void verify_elementwise(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    switch (i->opcode) {
    case HLO_ABS: case HLO_REAL: case HLO_IMAG: verify_abs_real_imag(cx, i); break;
    case HLO_SELECT: verify_select(cx, i); break;
    case HLO_CLAMP: verify_clamp(cx, i); break;
    case HLO_COMPARE: verify_compare(cx, i); break;
    case HLO_COMPLEX: verify_complex(cx, i); break;
    case HLO_CONVERT:
        want_class(cx, i, 0, "PIUFC");
        hlo_want_dims(cx, i, "the result", i->shape, s);
        if (class_of(i->shape) == '-') hlo_bad(cx, i, "the result has shape %s, which holds no values", brief(cx, i->shape));
        if (class_of(s) == 'C' && class_of(i->shape) != 'C')
            hlo_bad(cx, i, "a complex operand, but a result of shape %s", brief(cx, i->shape));
        break;
    case HLO_IS_FINITE:
        want_class(cx, i, 0, "FC");
        hlo_want_dims(cx, i, "the result", i->shape, s);
        want_type(cx, i, "the result", i->shape, SC_PRED);
        break;
    case HLO_STOCHASTIC_CONVERT:
        want_class(cx, i, 0, "F");
        want_class(cx, i, 1, "U");
        hlo_want_dims(cx, i, "operand 1", i->operands[1]->shape, s);
        hlo_want_dims(cx, i, "the result", i->shape, s);
        break;
    case HLO_REDUCE_PRECISION:
        if (i->number < 1 || i->number > 31 || i->number2 < 0 || i->number2 > 63)
            hlo_bad(cx, i, "%lld exponent and %lld mantissa bits", (long long)i->number, (long long)i->number2);
        verify_same(cx, i);
        break;
    default: verify_same(cx, i); break;
    }
}

static void want_layout(WbbCx *cx, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *inner)
{
    if (s->type == SC_TUPLE) {
        for (uint32_t k = 0; k < s->n_elements; k++) want_layout(cx, i, what, s->elements[k], inner->elements[k]);
        return;
    }
    if (s->rank == 0 || memcmp(s->minor_to_major, inner->minor_to_major, s->rank) == 0) return;
    WbbBuf outside = wbb_buf(cx->arena), inside = wbb_buf(cx->arena);
    hlo_print_shape(&outside, s);
    hlo_print_shape(&inside, inner);
    hlo_bad(cx, i, "%s has layout %s, %s expected inside", what, outside.text, inside.text);
}

/* Operands against the parameters of the computation that they are handed to. */
static void verify_call(WbbCx *cx, const HloInstruction *i, bool layouts)
{
    char text[32];
    if (i->n_called != 1) hlo_bad(cx, i, "%u computations are named, one expected", i->n_called);
    const HloComputation *c = i->called[0];
    if (c->n_parameters != i->n_operands)
        hlo_bad(cx, i, "%u operands found, '%s' has %u parameters", i->n_operands, c->name, c->n_parameters);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *s = i->operands[k]->shape;
        hlo_want_shape(cx, i, operand_name(text, k), s, c->parameters[k]->shape);
        if (layouts) want_layout(cx, i, operand_name(text, k), s, c->parameters[k]->shape);
    }
    hlo_want_shape(cx, i, "the result", i->shape, c->root->shape);
    if (layouts) want_layout(cx, i, "the result", i->shape, c->root->shape);
}

static void verify_while(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *state = i->operands[0]->shape;
    if (i->n_called != 2) hlo_bad(cx, i, "%u computations are named, a condition and a body expected", i->n_called);
    hlo_want_shape(cx, i, "the result", i->shape, state);
    for (uint32_t k = 0; k < 2; k++) {
        const HloComputation *c = i->called[k];
        if (c->n_parameters != 1) hlo_bad(cx, i, "'%s' has %u parameters, one expected", c->name, c->n_parameters);
        hlo_want_shape(cx, i, i->called_by[k], c->parameters[0]->shape, state);
        bool body = strcmp(i->called_by[k], "body") == 0;
        if (body) hlo_want_shape(cx, i, "the root of the body", c->root->shape, state);
        else if (c->root->shape->type != SC_PRED || c->root->shape->rank)
            hlo_bad(cx, i, "the condition has shape %s, pred[] expected", brief(cx, c->root->shape));
    }
}

static void verify_tuple(WbbCx *cx, const HloInstruction *i)
{
    char text[32];
    if (i->shape->type != SC_TUPLE || i->shape->n_elements != i->n_operands)
        hlo_bad(cx, i, "%u operands found, but the shape is %s", i->n_operands, brief(cx, i->shape));
    for (uint32_t k = 0; k < i->n_operands; k++)
        hlo_want_shape(cx, i, operand_name(text, k), i->operands[k]->shape, i->shape->elements[k]);
}

static void verify_element(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    want_type(cx, i, "operand 0", s, SC_TUPLE);
    if (i->number < 0 || i->number >= s->n_elements)
        hlo_bad(cx, i, "index %lld of a tuple of %u elements", (long long)i->number, s->n_elements);
    hlo_want_shape(cx, i, "the result", i->shape, s->elements[i->number]);
}

static void verify_instruction(WbbCx *cx, const HloInstruction *i)
{
    if (i->spelling) return;
    switch (i->opcode) {
    case HLO_TUPLE: verify_tuple(cx, i); return;
    case HLO_GET_TUPLE_ELEMENT: verify_element(cx, i); return;
    case HLO_FUSION: verify_call(cx, i, true); return;
    case HLO_CALL: verify_call(cx, i, false); return;
    case HLO_WHILE: verify_while(cx, i); return;
    default: break;
    }
    if (hlo_verify_move(cx, i)) return;
    if (hlo_is_elementwise(i->opcode)) verify_elementwise(cx, i);
}

void hlo_verify(WbbCx *cx, const HloModule *m)
{
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++)
            verify_instruction(cx, m->computations[c]->instructions[k]);
}
