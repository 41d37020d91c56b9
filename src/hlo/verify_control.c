/* verify_control: tuples, calls, loops, branches and asynchronous halves of operations.
 *
 * Needs: the helpers of verify.c; called computations judged already. Leaves: the result's shape, given or checked; or a wbb_fail.
 *
 * X-start returns ((operands), result, contexts ..), X-update the same, X-done the result.
 *
 *     ((f32[8]), f32[8], u32[]) negate-start(p)      negate-done of it is f32[8]
 */
#include "hlo/inner.h"

#include <string.h>

static void want_layout(HloJudge *j, const HloInstruction *i, const char *what, const HloShape *s, const HloShape *inner)
{
    if (s == inner) return;
    if (s->type == SC_TUPLE) {
        if (hlo_paired(j->laid, s, inner)) return;
        for (uint32_t k = 0; k < s->n_elements; k++) want_layout(j, i, what, s->elements[k], inner->elements[k]);
        hlo_pair(j->laid, s, inner);
        return;
    }
    if (s->rank == 0 || memcmp(s->minor_to_major, inner->minor_to_major, s->rank) == 0) return;
    WbbBuf outside = wbb_buf(j->scratch), inside = wbb_buf(j->scratch);
    hlo_print_shape(&outside, s);
    hlo_print_shape(&inside, inner);
    hlo_bad(j, i, "%s has layout %s, %s expected inside", what, outside.text, inside.text);
}

/* Operands against the parameters of the computation that they are handed to. */
static void want_arguments(HloJudge *j, const HloInstruction *i, const HloComputation *c, bool layouts)
{
    if (c->n_parameters != i->n_operands)
        hlo_bad(j, i, "%u operands found, '%s' has %u parameters", i->n_operands, c->name, c->n_parameters);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *s = i->operands[k]->shape;
        hlo_want_shape(j, i, hlo_operand_name(j, k), s, c->parameters[k]->shape);
        if (layouts) want_layout(j, i, hlo_operand_name(j, k), s, c->parameters[k]->shape);
    }
}

static void judge_call(HloJudge *j, HloInstruction *i)
{
    const HloComputation *c = hlo_one_called(j, i);
    bool fusion = i->opcode == HLO_FUSION;
    static const char *const kinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};
    bool known = !i->kind;
    for (size_t k = 0; !known && k < WBB_LEN(kinds); k++) known = strcmp(i->kind, kinds[k]) == 0;
    if (!known) hlo_bad(j, i, "kind is %s, kLoop, kInput, kOutput or kCustom expected", i->kind);
    want_arguments(j, i, c, fusion);
    hlo_give_shape(j, i, c->root->shape);
    if (fusion) want_layout(j, i, "the result", i->shape, c->root->shape);
}

static void judge_while(HloJudge *j, HloInstruction *i)
{
    const HloShape *state = i->operands[0]->shape;
    bool two = i->n_called == 2 && i->called_by[0] != i->called_by[1];
    if (!two || (strcmp(i->called_by[0], "body") != 0 && strcmp(i->called_by[1], "body") != 0))
        hlo_bad(j, i, "%u computations are named, a condition and a body expected", i->n_called);
    hlo_give_shape(j, i, state);
    for (uint32_t k = 0; k < 2; k++) {
        const HloComputation *c = i->called[k];
        if (c->n_parameters != 1) hlo_bad(j, i, "'%s' has %u parameters, one expected", c->name, c->n_parameters);
        hlo_want_shape(j, i, wbb_format(j->scratch, "the parameter of the %s", i->called_by[k]), c->parameters[0]->shape, state);
        bool body = strcmp(i->called_by[k], "body") == 0;
        if (body) hlo_want_shape(j, i, "the root of the body", c->root->shape, state);
        else if (c->root->shape->type != SC_PRED || c->root->shape->rank)
            hlo_bad(j, i, "the condition has shape %s, pred[] expected", hlo_brief(j, c->root->shape));
    }
}

/* Operand 0 chooses: a pred between true and false, an s32 among any number. Operand k + 1 is the argument of branch k. */
static void judge_conditional(HloJudge *j, HloInstruction *i)
{
    const HloShape *choice = hlo_array(j, i, 0);
    bool chooses = choice->rank == 0 && (choice->type == SC_PRED || choice->type == SC_I32);
    if (!chooses) hlo_bad(j, i, "operand 0 has shape %s, pred[] or s32[] expected", hlo_brief(j, choice));
    if (i->n_called == 0 || i->n_operands != i->n_called + 1)
        hlo_bad(j, i, "%u computations are named for %u operands", i->n_called, i->n_operands);
    if (choice->type == SC_PRED && i->n_called != 2) hlo_bad(j, i, "%u branches for a pred, two expected", i->n_called);
    for (uint32_t k = 0; k < i->n_called; k++) {
        const HloComputation *c = i->called[k];
        if (c->n_parameters != 1) hlo_bad(j, i, "'%s' has %u parameters, one expected", c->name, c->n_parameters);
        hlo_want_shape(j, i, hlo_operand_name(j, k + 1), i->operands[k + 1]->shape, c->parameters[0]->shape);
        if (k) hlo_want_shape(j, i, wbb_format(j->scratch, "the root of '%s'", c->name), c->root->shape, i->called[0]->root->shape);
    }
    hlo_give_shape(j, i, i->called[0]->root->shape);
}

static const HloShape **operand_shapes(HloJudge *j, const HloInstruction *i)
{
    const HloShape **shapes = WBB_NEW_N(j->scratch, const HloShape *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) shapes[k] = i->operands[k]->shape;
    return shapes;
}

/* A tuple of one is a tuple too: hlo_give_parts is of no use here. */
static void judge_tuple(HloJudge *j, HloInstruction *i)
{
    if (i->shape) {
        if (i->shape->type != SC_TUPLE || i->shape->n_elements != i->n_operands)
            hlo_bad(j, i, "%u operands found, but the shape is %s", i->n_operands, hlo_brief(j, i->shape));
        for (uint32_t k = 0; k < i->n_operands; k++)
            hlo_want_shape(j, i, hlo_operand_name(j, k), i->operands[k]->shape, i->shape->elements[k]);
    } else if (i->n_operands == 1) {
        const HloShape **one = WBB_NEW_N(j->arena, const HloShape *, 1);
        one[0] = i->operands[0]->shape;
        if (one[0]->depth >= HLO_NESTING_LIMIT) hlo_bad(j, i, "nested more than %d levels deep", HLO_NESTING_LIMIT);
        i->shape = hlo_make_tuple(j->arena, 1, one);
    } else {
        hlo_give_parts(j, i, i->n_operands, operand_shapes(j, i));
    }
}

const HloShape *hlo_element_of(HloJudge *j, const HloInstruction *i, int64_t index)
{
    const HloShape *s = i->operands[0]->shape;
    hlo_want_type(j, i, "operand 0", s, SC_TUPLE);
    if (index < 0 || index >= s->n_elements)
        hlo_bad(j, i, "element %lld of operand 0, a tuple of %u elements", (long long)index, s->n_elements);
    return s->elements[index];
}

/* ((operands), result, contexts ..) */
static void judge_async_start(HloJudge *j, HloInstruction *i)
{
    hlo_given(j, i);
    const HloShape *s = i->shape, *in = s->type == SC_TUPLE && s->n_elements >= 2 ? s->elements[0] : NULL;
    if (!in || in->type != SC_TUPLE) hlo_bad(j, i, "the result has shape %s, ((operands), result, contexts ..) expected", hlo_brief(j, s));
    if (in->n_elements != i->n_operands)
        hlo_bad(j, i, "%u operands found, but the shape begins with %s", i->n_operands, hlo_brief(j, in));
    for (uint32_t k = 0; k < i->n_operands; k++)
        hlo_want_shape(j, i, hlo_operand_name(j, k), i->operands[k]->shape, in->elements[k]);
    if (i->spelling) { /* negate-start(x) is judged as negate(x) */
        HloInstruction inner = *i;
        inner.opcode = hlo_started(i);
        inner.shape = s->elements[1];
        hlo_judge(j, &inner);
        return;
    }
    const HloComputation *c = hlo_one_called(j, i);
    want_arguments(j, i, c, false);
    hlo_want_shape(j, i, "element 1 of the result", s->elements[1], c->root->shape);
}

/* NEGATE of negate-start, negate-update and negate-done. */
static HloOpcode stem(const HloInstruction *i) { return hlo_opcode_named(i->spelling, (size_t)(strrchr(i->spelling, '-') - i->spelling)); }

static void judge_async_rest(HloJudge *j, HloInstruction *i)
{
    hlo_want_count(j, i, 1, 1);
    const HloInstruction *before = i->operands[0];
    bool async = before->opcode == HLO_ASYNC_START || before->opcode == HLO_ASYNC_UPDATE;
    if (async && i->spelling && before->spelling && stem(i) != stem(before))
        hlo_bad(j, i, "operand 0 is '%s', which is %s", before->name, before->spelling);
    if (i->opcode == HLO_ASYNC_UPDATE) hlo_give_shape(j, i, i->operands[0]->shape);
    else hlo_give_shape(j, i, hlo_element_of(j, i, 1));
}

/* (destination, source, context) */
static void judge_copy_start(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    if (!i->shape) {
        const HloShape *parts[3] = {s, s, hlo_make_array(j->arena, SC_U32, 0, NULL)};
        hlo_give_parts(j, i, 3, parts);
        return;
    }
    bool fits = i->shape->type == SC_TUPLE && i->shape->n_elements >= 2;
    if (!fits) hlo_bad(j, i, "the result has shape %s, (destination, source, context) expected", hlo_brief(j, i->shape));
    hlo_want_shape(j, i, "element 0 of the result", i->shape->elements[0], s);
    hlo_want_shape(j, i, "element 1 of the result", i->shape->elements[1], s);
}

/* The text gives each its shape: a literal and a parameter have been read against it, a custom call may return anything. */
static void judge_given(HloJudge *j, HloInstruction *i) { hlo_given(j, i); }

bool hlo_judge_control(HloJudge *j, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_PARAMETER: case HLO_CONSTANT: case HLO_CUSTOM_CALL: judge_given(j, i); return true;
    case HLO_TUPLE: judge_tuple(j, i); return true;
    case HLO_GET_TUPLE_ELEMENT: hlo_give_shape(j, i, hlo_element_of(j, i, i->number)); return true;
    case HLO_FUSION: case HLO_CALL: judge_call(j, i); return true;
    case HLO_WHILE: judge_while(j, i); return true;
    case HLO_CONDITIONAL: judge_conditional(j, i); return true;
    case HLO_ASYNC_START: judge_async_start(j, i); return true;
    case HLO_ASYNC_UPDATE: case HLO_ASYNC_DONE: judge_async_rest(j, i); return true;
    case HLO_COPY_START: judge_copy_start(j, i); return true;
    case HLO_COPY_DONE: hlo_give_shape(j, i, hlo_element_of(j, i, 0)); return true;
    case HLO_OPT_BARRIER: case HLO_DOMAIN: hlo_give_shape(j, i, i->operands[0]->shape); return true;
    default: return false;
    }
}
