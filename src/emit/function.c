/* function.c: what is costly and read at several indices becomes a function of the index.
 *
 * Needs an instruction of the fusion that was computed once and took more nodes than the plan inlines; leaves a
 * function of the kernel and a call of it. Later readers call it, unless the value at their index is available. A
 * function whose body is made while another's is ends first, so functions call only those with smaller numbers.
 *
 *     %a.9 at (i) was computed, is wanted at (i + 1)   =>   func @a.9(d0 in 0..64) { .. yield x }, call @a.9(i + 1)
 */
#include "emit/inner.h"

typedef struct {
    IrFunction *f;
    uint32_t outer, n; /* scope to go back to; leaves: all of the instruction's results */
    IrRef *params;
    uint32_t nodes, function_nodes; /* there were before it */
} Function;

static Function *begin(EmitValues *e, EmitFrame *f)
{
    Function *w = f->data = WBB_NEW(e->arena, Function);
    const HloShape *s = plan_shape(f->i, f->part);
    w->f = WBB_NEW(e->arena, IrFunction);
    w->f->name = emit_name(e, wbb_format(e->arena, "%s.", emit_identifier(e->arena, f->i->name)));
    w->outer = e->scope;
    w->nodes = e->g->n, w->function_nodes = e->function_nodes;
    w->n = f->i->shape->type == SC_TUPLE && !emit_is_apart(f->i) ? f->i->shape->n_elements : 1;
    w->params = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
    emit_switch(e, 0);
    emit_enter(e, &w->f->body);
    for (uint32_t d = 0; d < s->rank; d++) {
        w->params[d] = ir_param(e->g, w->f, emit_name(e, "p"), 0, s->dims[d] - 1);
        emit_bound(e, w->params[d]);
    }
    emit_info(e, f->i, f->part)->in_progress = true;
    return w;
}

static void finish(EmitValues *e, EmitFrame *f, const Function *w)
{
    const uint32_t number = ir_function_new(e->k, w->f->name);
    *e->k->functions[number] = *w->f;
    emit_info(e, f->i, f->part)->function = number + 1;
    emit_info(e, f->i, f->part)->in_progress = false;
    emit_switch(e, w->outer);
    e->function_nodes = w->function_nodes + (e->g->n - w->nodes);
    emit_call(e, f, f->i, f->part, f->index);
    emit_done(e, f, f->result);
}

/* Asks for each leaf of the results, and yields it. */
void emit_step_function(EmitValues *e, EmitFrame *f)
{
    Function *w = f->data ? f->data : begin(e, f);
    if (f->asked > 0) ir_yield(e->g, w->f, f->result);
    if (f->asked == w->n) finish(e, f, w);
    else emit_want(e, f, f->i, emit_is_apart(f->i) ? f->part + f->asked++ : f->asked++, w->params);
}
