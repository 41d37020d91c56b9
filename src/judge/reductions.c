/* reductions.c: the reductions of a fusion, and which elements of the inputs are terms of which result.
 *
 * Needs: a module in normal form. Leaves: for each reduction that a result of the fusion needs how many terms a result
 * has, by which operation they are combined, and which inputs of the entry they depend on; cases of inputs that are
 * made for the fusion (spikes.c, dominant.c) put something else into single terms.
 *
 *     max of f32[4,700] along 1      700 terms; element 1403 of an input of the same dimensions is term 3 of result 2
 */
#include "judge/reductions.h"

#include "eval/eval.h"
#include "graph/graph.h"

#include <string.h>

void judge_place_in(const JudgeReduction *t, const HloShape *s, int64_t position, int64_t *result, int64_t *term)
{
    for (uint32_t k = 0; k < t->n_operands; k++) {
        const JudgeReduced *o = &t->operands[k];
        if (!o->reduced || !hlo_same_dims(o->shape, s)) continue;
        int64_t rest = position, terms = 1, results = 1;
        *result = *term = 0;
        for (int d = s->rank - 1; d >= 0; d--) {
            const int64_t at = rest % s->dims[d];
            rest /= s->dims[d];
            if (o->reduced >> d & 1) *term += at * terms, terms *= s->dims[d];
            else *result += at * results, results *= s->dims[d];
        }
        return;
    }
    *result = position / t->terms;
    *term = position % t->terms;
}

void judge_put_element(ScType type, double value, int64_t k, void *out)
{
    const ScType part = ev_part_type(type);
    uint64_t bits = sc_from_f64(part, value);
    if (sc_is_signed(part) && sc_type_info[part].bits < 8) bits = (uint64_t)sc_to_i128(part, bits);
    memcpy((char *)out + (size_t)k * sc_bytes(type), &bits, sc_bytes(part));
}

/* A reduction of several operands that compares keeps the largest or the smallest, as argmax does: the spikes of maxima
 * and minima judge it. */
static ScOp compared_op(const HloComputation *c)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (i->opcode != HLO_COMPARE || i->direction == HLO_EQ || i->direction == HLO_NE) continue;
        return i->direction == HLO_GT || i->direction == HLO_GE ? OP_MAX : OP_MIN;
    }
    return OP_NONE;
}

/* Of the operands of a fold that is no window: the dimensions whose index is none of the result's are reduced. */
static void find_reduced(GrSight *sight, const HloInstruction *i, JudgeReduction *t)
{
    const uint32_t n = hlo_has(i->opcode, HLO_PRODUCTS) ? 2 : 1; /* arrays beside each other are reduced alike */
    for (uint32_t k = 0; k < n; k++) {
        const HloShape *s = i->operands[k]->shape;
        const GrAxes axes = gr_axes(sight, i, k);
        JudgeReduced *o = &t->operands[t->n_operands++];
        *o = (JudgeReduced){s, 0};
        for (uint32_t d = 0; d < s->rank; d++)
            if (axes.of[d] == GR_OTHER) o->reduced |= UINT64_C(1) << d;
    }
}

static bool is_target(WbbArena *a, GrSight *sight, const HloInstruction *i, JudgeReduction *t)
{
    const bool fold = hlo_kind(i->opcode) == HLO_IS_FOLD;
    if (!fold && i->opcode != HLO_SCATTER && i->opcode != HLO_SELECT_AND_SCATTER) return false;
    for (uint32_t k = 0; k < i->shape->n_leaves; k++)
        if (hlo_elements(i->shape->type == SC_TUPLE ? i->shape->elements[k] : i->shape) == 0) return false;
    const HloComputation *c = i->n_called ? i->called[i->n_called - 1] : NULL;
    const ScOp op = !c ? OP_ADD : hlo_is_operation(c) ? hlo_scalar(c->root->opcode) : OP_NONE;
    *t = (JudgeReduction){.i = i, .terms = 1, .op = op};
    if (fold) {
        t->terms = WBB_MAX((int64_t)hlo_terms(a, i), 1);
        if (t->op == OP_NONE && !i->windows) t->op = compared_op(c);
        if (!i->windows) find_reduced(sight, i, t);
        return true;
    }
    if (i->opcode == HLO_SCATTER) t->terms = 4;
    for (uint32_t k = 0; i->opcode == HLO_SELECT_AND_SCATTER && k < i->n_windows; k++) t->terms *= i->windows[k].size;
    return true;
}

/* The leaves of the entry's inputs that an operand of the fusion may be: an input, or a tuple of them. */
static void mark_inputs(const JudgeReductions *x, const HloInstruction *i, bool *needs)
{
    while (i->opcode != HLO_PARAMETER && i->n_operands == 1) i = i->operands[0];
    for (uint32_t k = 0; i->opcode == HLO_TUPLE && k < i->n_operands; k++) mark_inputs(x, i->operands[k], needs);
    if (i->opcode != HLO_PARAMETER) return;
    const uint32_t first = hlo_leaves_before(x->entry, i->number);
    for (uint32_t k = 0; k < i->shape->n_leaves; k++) needs[first + k] = true;
}

static void find_needs(WbbArena *a, const JudgeReductions *x, JudgeReduction *t)
{
    const HloComputation *c = x->fusion.body;
    bool *live = WBB_NEW_N(a, bool, c->n_instructions);
    t->needs = WBB_NEW_N(a, bool, x->n_inputs + 1);
    live[t->i->id] = true;
    hlo_mark_operands(c, live);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        if (live[k] && i->opcode == HLO_PARAMETER)
            mark_inputs(x, x->fusion.fusion ? x->fusion.fusion->operands[i->number] : i, t->needs);
    }
}

static void find_reductions(WbbCx *cx, WbbArena *a, JudgeReductions *x)
{
    GrSight *sight = gr_sight(cx, a);
    const HloComputation *c = x->fusion.body;
    bool *live = WBB_NEW_N(a, bool, c->n_instructions);
    live[c->root->id] = true;
    hlo_mark_operands(c, live);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        JudgeReduction t;
        if (!live[k] || !is_target(a, sight, c->instructions[k], &t)) continue;
        find_needs(a, x, &t);
        WBB_PUSH(a, x, t);
    }
}

static void find_inputs(WbbArena *a, JudgeReductions *x)
{
    x->n_inputs = hlo_leaves_before(x->entry, x->entry->n_parameters);
    x->inputs = WBB_NEW_N(a, const HloShape *, x->n_inputs + 1);
    for (uint32_t i = 0, at = 0; i < x->entry->n_parameters; i++) {
        const HloShape **leaves;
        const uint32_t n = hlo_leaves(a, x->entry->parameters[i]->shape, &leaves);
        for (uint32_t k = 0; k < n; k++) x->inputs[at++] = leaves[k];
    }
}

JudgeReductions *judge_reductions(WbbCx *cx, WbbArena *a, const HloModule *normal)
{
    JudgeReductions *x = WBB_NEW(a, JudgeReductions);
    *x = (JudgeReductions){.entry = normal->entry, .fusion = hlo_fusion(cx, normal)};
    find_inputs(a, x);
    find_reductions(cx, a, x);
    return x;
}
