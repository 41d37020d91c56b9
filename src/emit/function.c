/* function.c: what is costly and read at several indices is a function of the index.
 *
 * Needs an instruction of the fusion whose value was made once and took more nodes than may be made again; leaves a function of the
 * kernel and a call of it. Whoever wants it from then on calls it, unless the value at that index is there. Functions whose bodies
 * are made while others' are end first, so a function calls only those with smaller numbers.
 *
 *     %a.9 at (i) was made, is now wanted at (i + 1)    =>    func @a.9(d0 in 0..64) { .. yield x }      call @a.9(i + 1)
 */
#include "emit/inner.h"

typedef struct {
    IrFunction *f;
    uint32_t outer, leaf, n; /* n leaves: all of the instruction's results */
    IrRef *params;
    uint32_t nodes, apart; /* before it */
} Growing;

void emit_call(EmitValues *e, EmitFrame *f, const HloInstruction *x, uint32_t part, const IrRef *index)
{
    const HloShape *s = part_shape(x, part);
    const uint32_t origin = e->g->making_origin;
    e->g->making_origin = x->id + 1;
    f->answer = ir_call(e->g, e->info[x->id].function - 1, part, IR_TYPE(s->type, 0), index, s->rank);
    e->g->making_origin = origin;
}

static Growing *begin(EmitValues *e, EmitFrame *f)
{
    Growing *w = f->own = WBB_NEW(e->arena, Growing);
    const HloShape *s = part_shape(f->i, f->part);
    w->f = WBB_NEW(e->arena, IrFunction);
    w->f->name = emit_name(e, wbb_format(e->arena, "%s.", emit_identifier(e->arena, f->i->name)));
    w->outer = e->scope;
    w->nodes = e->g->n, w->apart = e->apart;
    w->n = f->i->shape->type == SC_TUPLE ? f->i->shape->n_elements : 1;
    w->params = WBB_NEW_N(e->arena, IrRef, s->rank + 1u);
    emit_switch(e, 0);
    emit_enter(e, &w->f->body);
    for (uint32_t d = 0; d < s->rank; d++) {
        w->params[d] = ir_param(e->g, w->f, emit_name(e, "p"), 0, s->dims[d] - 1);
        emit_bound(e, w->params[d]);
    }
    e->info[f->i->id].growing = true;
    return w;
}

static void finish(EmitValues *e, EmitFrame *f, const Growing *w)
{
    const uint32_t number = ir_function_new(e->k, w->f->name);
    *e->k->functions[number] = *w->f;
    e->info[f->i->id].function = number + 1;
    e->info[f->i->id].growing = false;
    emit_switch(e, w->outer);
    e->apart = w->apart + (e->g->n - w->nodes);
    emit_call(e, f, f->i, f->part, f->index);
    emit_done(e, f, f->answer);
}

/* Step k asks for leaf k of the results and takes in leaf k - 1. */
void emit_step_function(EmitValues *e, EmitFrame *f)
{
    Growing *w = f->at ? f->own : begin(e, f);
    if (f->at) ir_yield(e->g, w->f, f->answer);
    if (f->at < w->n) emit_want(e, f, f->i, f->at++, w->params);
    else finish(e, f, w);
}
