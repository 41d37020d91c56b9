/* steps.c: what a loop stores of each step, whose steps a thread stores one by one (plan/steps.h).
 *
 * Needs the results of a step; leaves a store in the open block for each output that has an element of each step.
 *
 *     c = 0.0   for k { c = add(mul(c, 0.9), load %x[512*k + n])   store %out[512*k + n], c }
 */
#include "emit/inner.h"

const IrRef *emit_step_result(EmitValues *e, uint32_t leaf)
{
    const PlanSteps *of = e->steps->of;
    IrRef *index = WBB_NEW_N(e->arena, IrRef, HLO_RANK_LIMIT);
    plan_stack_index(e->rw, of, leaf, e->steps->at, ir_index(e->g, 0), index);
    index[of->stacks[leaf].dim] = ir_index(e->g, 0); /* of the one position that it has */
    return index;
}

void emit_want_stepped(EmitValues *e, EmitFrame *f, uint32_t n, IrRef iteration)
{
    const EmitSteps *s = e->steps;
    const PlanValue v = e->plan->roots[s->outputs[n]];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, HLO_RANK_LIMIT);
    plan_step_index(e->rw, e->arena, e->plan, s->of, s->outputs[n], s->at, iteration, index);
    s->elements[n] = ix_linear(e->rw, plan_shape(v.i, v.part), index);
    emit_want_in(e, f, 0, v.i, v.part, index);
}

void emit_store_stepped(EmitValues *e)
{
    const EmitSteps *s = e->steps;
    for (uint32_t n = 0; n < s->n_outputs; n++)
        emit_store(e, e->plan->n_operands + s->outputs[n], s->elements[n], s->values[n]);
}
