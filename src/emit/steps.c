/* steps.c: what a loop stores of each step, whose steps a thread stores one by one (partition/steps.h).
 *
 * Needs the results of a step; leaves a store in the open block for each output that has an element of each step.
 *
 *     c = 0.0   for k { c = add(mul(c, 0.9), load %x[512*k + n])   store %out[512*k + n], c }
 */
#include "emit/inner.h"

IrRef emit_as_stored(EmitValues *e, uint32_t output, IrRef value)
{
    const PartPlan *p = e->plan;
    const ScType t = p->buffers[p->n_operands + output].shape->type;
    const PartValue v = p->roots[output];
    value = emit_as(e, value, part_shape(v.i, v.part)->type);
    return IR_SC(ir_at(e->g, value)->type) == t ? value : ir_node(e->g, OP_BITS, IR_TYPE(t, 0), 0, value, 0, 0, 0);
}

const IrRef *emit_step_result(EmitValues *e, uint32_t leaf)
{
    const EmitSteps *s = e->steps;
    const PartStack *x = &s->of->stacks[leaf];
    const uint32_t rank = x->update->shape->rank;
    IrRef *index = WBB_NEW_N(e->arena, IrRef, rank + 1u);
    for (uint32_t d = 0, n = 0; d < rank; d++) index[d] = d == x->dim ? ir_index(e->g, 0) : s->at[n++];
    return index;
}

void emit_want_stepped(EmitValues *e, EmitFrame *f, uint32_t n, IrRef iteration)
{
    const EmitSteps *s = e->steps;
    const PartValue v = e->plan->roots[s->outputs[n]];
    IrRef *index = WBB_NEW_N(e->arena, IrRef, HLO_RANK_LIMIT);
    part_step_index(e->rw, e->arena, e->plan, s->of, s->outputs[n], s->at, iteration, index);
    s->elements[n] = ix_linear(e->rw, part_shape(v.i, v.part), index);
    emit_want_in(e, f, 0, v.i, v.part, index);
}

void emit_store_stepped(EmitValues *e)
{
    const EmitSteps *s = e->steps;
    for (uint32_t n = 0; n < s->n_outputs; n++) {
        const IrRef value = emit_as_stored(e, s->outputs[n], s->values[n]);
        emit_store(e, e->plan->n_operands + s->outputs[n], s->elements[n], value);
    }
}
