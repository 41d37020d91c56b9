/* work.c: an upper bound of the operations that one thread of a kernel evaluates.
 *
 * Needs a kernel in which functions call only functions with smaller numbers; leaves the number of operations if every
 * branch is taken, every loop runs to its end and a call counts as much as its function. A value that is read at
 * several indices becomes a function, which is called for each index: the code is linear in the size of the fusion, the
 * work may be exponential. A fusion of 40 diamonds, each of which reads the one below at two indices, has a few
 * thousand instructions and executes up to 2^40. One kernel without intermediate arrays cannot avoid that, so the
 * compiler notes it.
 *
 *     func @a(p) { .. 50 operations .. }    kernel { for k in 0..64 { .. 3 operations, call @a(k) .. } }    =>   3,456
 */
#include "ir/uses.h"
#include "pipe/pipe.h"

typedef struct {
    const IrGraph *g;
    double *vars, *values; /* by number: how often its binding statement runs in one call of the function around it */
    double *nodes;         /* by ref: how often the node is evaluated in one call */
    uint8_t *mark;
} Work;

/* Fill vars and values for the statements of a block that runs `times` times. */
static void reach(Work *w, const IrBlock *b, double times)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const bool loop = s->kind == IR_FOR;
        const double iterations = loop ? (double)(w->g->vars[s->var].hi - w->g->vars[s->var].lo + 1) : 1;
        for (IrDefs d = ir_defs(s); ir_next_def(&d);)
            (d.is_variable ? w->vars : w->values)[d.number] = d.where == IR_BODY ? times * iterations : times;
        reach(w, &s->body, times * iterations);
        reach(w, &s->otherwise, times);
    }
}

/* The operations of a body and its yields; calls[f]: the operations of one call of function f. */
static double of_body(Work *w, WbbArena *a, const IrBlock *body, const IrRef *yields, uint32_t n_yields,
                      const double *calls)
{
    const IrGraph *g = w->g;
    IrRefs list = {0};
    reach(w, body, 1);
    ir_roots(g, a, body, &list);
    for (uint32_t i = 0; i < n_yields; i++) WBB_PUSH(a, &list, yields[i]);
    ir_gather(g, a, &list, w->mark);
    double all = 0;
    for (uint32_t k = 0; k < list.n; k++) {
        const IrRef r = list.items[k];
        const IrNode *n = ir_at(g, r);
        const bool leaf = n->op == OP_VAR || n->op == OP_VALUE || n->op == OP_CONST || n->op == OP_ARG;
        const uint32_t count = leaf ? 0 : ir_arity(g, r);
        double times = 1;
        if (n->op == OP_VAR) times = WBB_MAX(w->vars[n->imm], 1);
        if (n->op == OP_VALUE) times = WBB_MAX(w->values[n->imm], 1);
        for (uint32_t i = 0; i < count; i++) times = WBB_MAX(times, w->nodes[ir_operand(g, r, i)]);
        w->nodes[r] = times;
        if (n->op == OP_CALL) all += times * calls[IR_CALLEE(n->imm)];
        else if (!leaf) all += times;
    }
    return all;
}

double pipe_work(WbbCx *cx, const IrKernel *k)
{
    WbbArena *a = wbb_arena_new(cx);
    const IrGraph *g = k->g;
    Work w = {.g = g, .vars = WBB_NEW_N(a, double, g->n_vars + 1), .values = WBB_NEW_N(a, double, g->n_values + 1),
              .nodes = WBB_NEW_N(a, double, g->n), .mark = WBB_NEW_N(a, uint8_t, g->n)};
    double *calls = WBB_NEW_N(a, double, k->n_functions + 1);
    for (uint32_t f = 0; f < k->n_functions; f++) {
        const IrFunction *x = k->functions[f];
        calls[f] = of_body(&w, a, &x->body, x->yields, x->n_yields, calls);
    }
    const double all = of_body(&w, a, &k->body, NULL, 0, calls);
    wbb_arena_free(a);
    return all;
}
