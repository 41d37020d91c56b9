/* scatter.h: what the files of scatters have in common: an update, and nodes of its computation.
 *
 *     scatter.c      how updates that threads may make at the same time are combined with an element
 *     scatter_run.c  the updates of a thread: one, all of an element, or neighbours
 *     scatter_cells.c  the updates of a block, in shared memory
 */
#ifndef EMIT_SCATTER_H
#define EMIT_SCATTER_H

#include "emit/inner.h"
#include "plan/scatter.h"

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    const PlanStage *s;
    const HloInstruction *i;
    uint32_t results, n; /* of the scatter, of the stage */
    const IrRef *index;  /* of the element, in each dimension */
    const IrRef *update; /* of the update */
    IrRef at;            /* its number in result `first` */
    IrRef *x;            /* [n] the updates, in the types of the results */
    IrRef fits;          /* is the window inside the operand? 0: always */
    IrRef *start;        /* of the window: the integers of the indices' row */
} Scatter;

static inline const HloShape *emit_scatter_updates(const Scatter *m)
{
    return m->i->operands[m->results + 1 + m->s->first]->shape;
}

static inline IrRef node(const Scatter *m, ScOp op, ScType t, IrRef x, IrRef y)
{
    return ir_node(m->g, op, IR_TYPE(t, 0), 0, x, y, 0, 0);
}

static inline IrRef as_bits(const Scatter *m, IrRef x, ScType t)
{
    return IR_SC(ir_at(m->g, x)->type) == t ? x : node(m, OP_BITS, t, x, 0);
}

static inline IrRef number(const Scatter *m, ScType t, uint64_t bits)
{
    return ir_const(m->g, IR_TYPE(t, 0), bits);
}

static inline IrRef compare(const Scatter *m, ScOp op, IrRef x, IrRef y) { return node(m, op, SC_PRED, x, y); }

static inline ScType type_of(const Scatter *m, uint32_t k) { return plan_shape(m->i, m->s->first + k)->type; }

static inline uint32_t buffer_of(const Scatter *m, uint32_t k) { return m->e->plan->n_operands + m->s->outputs[k]; }

/* scatter.c */
void emit_scatter_row(Scatter *m, const IrRef *update); /* an update's values, where it goes, and whether it fits */
void emit_scatter_element(Scatter *m);                  /* combines it with its element, if it fits */
/* Opens an `if` for an update that fits, in which the element is known; false: none does. */
bool emit_scatter_open(Scatter *m, EmitIf *c);
void emit_scatter_close(const Scatter *m, EmitIf *c);
void emit_scatter_combine(const Scatter *m); /* with an element that is known */
/* Results of the computation for elements as they are, of which those are 0 that it does not need. */
void emit_scatter_combined(const Scatter *m, const IrRef *old, IrRef *result);
IrRef emit_scatter_effect(const Scatter *m, const char *stem, uint32_t buffer, IrRef at, IrRef operation);

#endif
