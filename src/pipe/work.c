/* work.c: how much a thread may have to do.
 *
 * Needs a kernel in which functions call only those with smaller numbers; leaves the most operations that one thread evaluates: every
 * branch taken, every loop run to its end, every call as much as its function. What is read at several indices is code once, a
 * function, and is computed at each of them, so code that is linear in a fusion may be work that is exponential in it: a fusion of
 * 40 diamonds, each of which reads the one below at two indices, is a few thousand instructions, and up to 2^40 of them are run.
 * Nothing in one kernel that keeps no intermediate array can avoid that, and whoever fused it wants to know.
 *
 *     func @a(p) { .. 50 operations .. }    kernel { for k in 0..64 { .. 3 operations, call @a(k) .. } }    =>   3,456
 */
#include "pipe/pipe.h"

typedef struct {
    const IrGraph *g;
    double *vars, *values; /* by number: how often what binds it is reached, for one call of the function that it is in */
    double *nodes;         /* by ref: the same */
    uint8_t *mark;
} Work;

/* `times`: how often the block is reached. */
static void reach(Work *w, const IrBlock *b, double times)
{
    for (uint32_t i = 0; i < b->n; i++) {
        const IrStmt *s = b->items[i];
        const bool loop = s->kind == IR_FOR;
        const double turns = loop ? (double)(w->g->vars[s->var].hi - w->g->vars[s->var].lo + 1) : 1;
        if (loop || s->kind == IR_BIND) w->vars[s->var] = times * turns;
        for (uint32_t r = 0; r < s->n_results; r++) {
            w->values[s->results[r].value] = times;
            if (loop) w->values[s->results[r].carried] = times * turns;
        }
        reach(w, &s->body, times * turns);
        reach(w, &s->otherwise, times);
    }
}

/* Of a body and what it yields; `calls`: what each function does for one call. */
static double of_body(Work *w, WbbArena *a, const IrBlock *body, const IrRef *yields, uint32_t n_yields, const double *calls)
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
        double times = n->op == OP_VAR ? WBB_MAX(w->vars[n->imm], 1) : n->op == OP_VALUE ? WBB_MAX(w->values[n->imm], 1) : 1;
        const bool leaf = n->op == OP_VAR || n->op == OP_VALUE || n->op == OP_CONST || n->op == OP_ARG;
        for (uint32_t i = 0, count = leaf ? 0 : ir_arity(g, r); i < count; i++) times = WBB_MAX(times, w->nodes[ir_operand(g, r, i)]);
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
