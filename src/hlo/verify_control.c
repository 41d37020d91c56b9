/* verify_control: tuples, calls, loops, branches and asynchronous operations.
 *
 * Needs: the checks of verify_require.c; called computations verified. Leaves: the result's shape, set or compared.
 *
 * X-start returns ((operands), result, contexts ..), X-update the same, X-done the result.
 *
 *     ((f32[8]), f32[8], u32[]) negate-start(p)      negate-done of it is f32[8]
 */
#include "hlo/inner.h"

#include <string.h>

static void require_layout(HloVerifier *v, const HloInstruction *i, const char *what, const HloShape *s,
                           const HloShape *inner)
{
    if (s == inner) return;
    if (s->type == SC_TUPLE) {
        if (hlo_known_equal(&v->laid, s, inner)) return;
        for (uint32_t k = 0; k < s->n_elements; k++) require_layout(v, i, what, s->elements[k], inner->elements[k]);
        hlo_remember_equal(&v->laid, s, inner);
        return;
    }
    if (s->rank == 0 || memcmp(s->minor_to_major, inner->minor_to_major, s->rank) == 0) return;
    WbbBuf outside = wbb_buf(v->scratch), inside = wbb_buf(v->scratch);
    hlo_print_shape(&outside, s);
    hlo_print_shape(&inside, inner);
    hlo_invalid(v, i, "%s has layout %s, %s expected inside", what, outside.text, inside.text);
}

/* The operands have the shapes, and if `layouts` the layouts, of c's parameters. */
static void require_arguments(HloVerifier *v, const HloInstruction *i, const HloComputation *c, bool layouts)
{
    if (c->n_parameters != i->n_operands)
        hlo_invalid(v, i, "%u operands found, '%s' has %u parameters", i->n_operands, c->name, c->n_parameters);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *s = i->operands[k]->shape;
        hlo_require_shape(v, i, hlo_operand_name(v, k), s, c->parameters[k]->shape);
        if (layouts) require_layout(v, i, hlo_operand_name(v, k), s, c->parameters[k]->shape);
    }
}

static void verify_call(HloVerifier *v, HloInstruction *i)
{
    const HloComputation *c = hlo_only_computation(v, i);
    bool fusion = i->opcode == HLO_FUSION;
    static const char *const kinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};
    bool known = !i->kind;
    for (size_t k = 0; !known && k < WBB_LEN(kinds); k++) known = strcmp(i->kind, kinds[k]) == 0;
    if (!known) hlo_invalid(v, i, "kind is %s, kLoop, kInput, kOutput or kCustom expected", i->kind);
    require_arguments(v, i, c, fusion);
    hlo_set_result_shape(v, i, c->root->shape);
    if (fusion) require_layout(v, i, "the result", i->shape, c->root->shape);
}

static void verify_while(HloVerifier *v, HloInstruction *i)
{
    const HloShape *state = i->operands[0]->shape;
    bool two = i->n_called == 2 && i->called_by[0] != i->called_by[1];
    if (!two || (strcmp(i->called_by[0], "body") != 0 && strcmp(i->called_by[1], "body") != 0))
        hlo_invalid(v, i, "%u computations are named, a condition and a body expected", i->n_called);
    hlo_set_result_shape(v, i, state);
    for (uint32_t k = 0; k < 2; k++) {
        const HloComputation *c = i->called[k];
        if (c->n_parameters != 1) hlo_invalid(v, i, "'%s' has %u parameters, one expected", c->name, c->n_parameters);
        hlo_require_shape(v, i, wbb_format(v->scratch, "the parameter of the %s", i->called_by[k]),
                          c->parameters[0]->shape, state);
        bool body = strcmp(i->called_by[k], "body") == 0;
        if (body) hlo_require_shape(v, i, "the root of the body", c->root->shape, state);
        else if (c->root->shape->type != SC_PRED || c->root->shape->rank)
            hlo_invalid(v, i, "the condition has shape %s, pred[] expected", hlo_short_shape(v, c->root->shape));
    }
}

/* Operand 0 is the branch index: a pred for two branches, an s32 for any number. Operand k + 1 is the argument of
 * branch k. */
static void verify_conditional(HloVerifier *v, HloInstruction *i)
{
    const HloShape *index = hlo_array_operand(v, i, 0);
    bool fits = index->rank == 0 && (index->type == SC_PRED || index->type == SC_I32);
    if (!fits) hlo_invalid(v, i, "operand 0 has shape %s, pred[] or s32[] expected", hlo_short_shape(v, index));
    if (i->n_called == 0 || i->n_operands != i->n_called + 1)
        hlo_invalid(v, i, "%u computations are named for %u operands", i->n_called, i->n_operands);
    if (index->type == SC_PRED && i->n_called != 2)
        hlo_invalid(v, i, "%u branches for a pred, two expected", i->n_called);
    for (uint32_t k = 0; k < i->n_called; k++) {
        const HloComputation *c = i->called[k];
        if (c->n_parameters != 1) hlo_invalid(v, i, "'%s' has %u parameters, one expected", c->name, c->n_parameters);
        hlo_require_shape(v, i, hlo_operand_name(v, k + 1), i->operands[k + 1]->shape, c->parameters[0]->shape);
        if (k)
            hlo_require_shape(v, i, wbb_format(v->scratch, "the root of '%s'", c->name), c->root->shape,
                              i->called[0]->root->shape);
    }
    hlo_set_result_shape(v, i, i->called[0]->root->shape);
}

static const HloShape **operand_shapes(HloVerifier *v, const HloInstruction *i)
{
    const HloShape **shapes = WBB_NEW_N(v->scratch, const HloShape *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) shapes[k] = i->operands[k]->shape;
    return shapes;
}

/* A tuple of one element is a tuple, which hlo_set_result_parts would not make. */
static void verify_tuple(HloVerifier *v, HloInstruction *i)
{
    if (i->shape) {
        if (i->shape->type != SC_TUPLE || i->shape->n_elements != i->n_operands)
            hlo_invalid(v, i, "%u operands found, but the shape is %s", i->n_operands, hlo_short_shape(v, i->shape));
        for (uint32_t k = 0; k < i->n_operands; k++)
            hlo_require_shape(v, i, hlo_operand_name(v, k), i->operands[k]->shape, i->shape->elements[k]);
    } else if (i->n_operands == 1) {
        const HloShape **one = WBB_NEW_N(v->arena, const HloShape *, 1);
        one[0] = i->operands[0]->shape;
        if (one[0]->depth >= HLO_NESTING_LIMIT) hlo_invalid(v, i, "nested more than %d levels deep", HLO_NESTING_LIMIT);
        i->shape = hlo_make_tuple(v->arena, 1, one);
    } else {
        hlo_set_result_parts(v, i, i->n_operands, operand_shapes(v, i));
    }
}

/* ((operands), result, contexts ..) */
static void verify_async_start(HloVerifier *v, HloInstruction *i)
{
    hlo_require_written_shape(v, i);
    const HloShape *s = i->shape, *in = s->type == SC_TUPLE && s->n_elements >= 2 ? s->elements[0] : NULL;
    if (!in || in->type != SC_TUPLE)
        hlo_invalid(v, i, "the result has shape %s, ((operands), result, contexts ..) expected", hlo_short_shape(v, s));
    if (in->n_elements != i->n_operands)
        hlo_invalid(v, i, "%u operands found, but the shape begins with %s", i->n_operands, hlo_short_shape(v, in));
    for (uint32_t k = 0; k < i->n_operands; k++)
        hlo_require_shape(v, i, hlo_operand_name(v, k), i->operands[k]->shape, in->elements[k]);
    if (i->spelling) return; /* verify.c verifies the operation that it starts */
    const HloComputation *c = hlo_only_computation(v, i);
    require_arguments(v, i, c, false);
    hlo_require_shape(v, i, "element 1 of the result", s->elements[1], c->root->shape);
}

/* NEGATE of negate-start, negate-update and negate-done. */
static HloOpcode stem(const HloInstruction *i)
{
    return hlo_opcode_named(i->spelling, (size_t)(strrchr(i->spelling, '-') - i->spelling));
}

static void verify_async_rest(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 1, 1);
    const HloInstruction *before = i->operands[0];
    bool async = before->opcode == HLO_ASYNC_START || before->opcode == HLO_ASYNC_UPDATE;
    if (async && i->spelling && before->spelling && stem(i) != stem(before))
        hlo_invalid(v, i, "operand 0 is '%s', which is %s", before->name, before->spelling);
    if (i->opcode == HLO_ASYNC_UPDATE) hlo_set_result_shape(v, i, i->operands[0]->shape);
    else hlo_set_result_shape(v, i, hlo_operand_element(v, i, 1));
}

/* (destination, source, context) */
static void verify_copy_start(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    if (!i->shape) {
        const HloShape *parts[3] = {s, s, hlo_make_array(v->arena, SC_U32, 0, NULL)};
        hlo_set_result_parts(v, i, 3, parts);
        return;
    }
    bool fits = i->shape->type == SC_TUPLE && i->shape->n_elements >= 2;
    if (!fits)
        hlo_invalid(v, i, "the result has shape %s, (destination, source, context) expected",
                    hlo_short_shape(v, i->shape));
    hlo_require_shape(v, i, "element 0 of the result", i->shape->elements[0], s);
    hlo_require_shape(v, i, "element 1 of the result", i->shape->elements[1], s);
}

bool hlo_verify_control(HloVerifier *v, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_PARAMETER: case HLO_CONSTANT: case HLO_CUSTOM_CALL: hlo_require_written_shape(v, i); return true;
    case HLO_TUPLE: verify_tuple(v, i); return true;
    case HLO_GET_TUPLE_ELEMENT: hlo_set_result_shape(v, i, hlo_operand_element(v, i, i->number)); return true;
    case HLO_FUSION: case HLO_CALL: verify_call(v, i); return true;
    case HLO_WHILE: verify_while(v, i); return true;
    case HLO_CONDITIONAL: verify_conditional(v, i); return true;
    case HLO_ASYNC_START: verify_async_start(v, i); return true;
    case HLO_ASYNC_UPDATE: case HLO_ASYNC_DONE: verify_async_rest(v, i); return true;
    case HLO_COPY_START: verify_copy_start(v, i); return true;
    case HLO_COPY_DONE: hlo_set_result_shape(v, i, hlo_operand_element(v, i, 0)); return true;
    case HLO_OPT_BARRIER: case HLO_DOMAIN: hlo_set_result_shape(v, i, i->operands[0]->shape); return true;
    default: return false;
    }
}
