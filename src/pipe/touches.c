/* touches.c: no kernel reads or writes other memory than its plan says.
 *
 * Needs a plan, and the kernels that emit makes of it, before any pass. Leaves nothing: a fault is a bug of warpburg,
 * and ends the compile with a message. That the launches of a plan are right by what it says that each of them does, is
 * checked when it is made (plan/order.c); that this is true is checked here, on the code.
 *
 *     kernel 0 loads %p, and its plan does not say so    "a bug of warpburg: kernel 0 reads p, which its plan .."
 */
#include "pipe/pipe.h"

typedef struct {
    const IrKernel *k;
    uint8_t *touches; /* by buffer: PLAN_READS, PLAN_WRITES_SOME */
} Found;

static void add_statements(Found *f, const IrBlock *b)
{
    for (uint32_t n = 0; n < b->n; n++) {
        const IrStmt *s = b->items[n];
        const uint8_t effects = s->kind == IR_DO ? sc_op_info[ir_at(f->k->g, s->value)->op].effects : 0;
        if (s->kind == IR_STORE) f->touches[s->buffer] |= PLAN_WRITES_SOME;
        if (s->index && effects & SC_READS) f->touches[s->buffer] |= PLAN_READS;
        if (s->index && effects & SC_WRITES) f->touches[s->buffer] |= PLAN_WRITES_SOME;
        if (s->kind == IR_DO && s->from_index) f->touches[s->from] |= PLAN_READS;
        add_statements(f, &s->body);
        add_statements(f, &s->otherwise);
    }
}

static void add_loads(Found *f, WbbArena *a, const IrBlock *body, const IrRef *yields, uint32_t n_yields, uint8_t *mark)
{
    const IrGraph *g = f->k->g;
    IrRefs list = {0};
    ir_roots(g, a, body, &list);
    for (uint32_t k = 0; k < n_yields; k++) WBB_PUSH(a, &list, yields[k]);
    ir_gather(g, a, &list, mark);
    for (uint32_t k = 0; k < list.n; k++) {
        const IrNode *n = ir_at(g, list.items[k]);
        if (n->op == OP_LOAD) f->touches[ir_at(g, n->a[0])->imm] |= PLAN_READS;
    }
}

void pipe_check_touches(WbbCx *cx, const Plan *p, const PlanKernel *of, const IrKernel *k)
{
    WbbArena *a = wbb_arena_new(cx);
    const Plan *own = plan_of_kernel(p, of);
    const uint8_t *planned = plan_touches(a, p, of);
    Found f = {.k = k, .touches = WBB_NEW_N(a, uint8_t, k->n_buffers + 1)};
    uint8_t *mark = WBB_NEW_N(a, uint8_t, k->g->n);
    add_statements(&f, &k->body);
    add_loads(&f, a, &k->body, NULL, 0, mark);
    for (uint32_t n = 0; n < k->n_functions; n++)
        add_loads(&f, a, &k->functions[n]->body, k->functions[n]->yields, k->functions[n]->n_yields, mark);
    for (uint32_t b = 0; b < own->n_operands + own->n_outputs + own->n_temps; b++) {
        const bool writes = planned[b] & (PLAN_WRITES | PLAN_WRITES_SOME);
        const bool reads = planned[b] & (PLAN_READS | PLAN_WRITES_SOME);
        const char *what = f.touches[b] & PLAN_READS && !reads          ? "reads"
                           : f.touches[b] & PLAN_WRITES_SOME && !writes ? "writes"
                                                                        : NULL;
        if (what)
            wbb_fail(cx, p->fusion->body->root->loc, "a bug of warpburg: kernel %u %s %s, which its plan does not say",
                     of->number, what, own->buffers[b].name);
    }
    wbb_arena_free(a);
}
