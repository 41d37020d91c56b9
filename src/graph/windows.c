/* windows.c: how the terms of a fold depend on a range and another variable by one number alone, and which of them a
 * condition leaves.
 *
 * Needs a term, the condition under which it is one, and a range; leaves both as terms of that number, a new variable,
 * and which numbers are elements. What neighbours share of a window is an array over the number. Windows overlap, so
 * the number is none that there was; parts of a range (GrParts) do not, and are digits of it.
 *
 *     add.f32[k0 < 3] x[2*d0 + k0 - 1] where -2*d0 - k0 < 0
 *         x[z - 1], 1 <= z, of z = 2*d0 + k0
 */
#include "graph/inner.h"

static int64_t coefficient_of(const IrGraph *g, const IrNode *sum, uint32_t var)
{
    for (uint32_t k = 0; k < sum->a[1]; k++) {
        const IrTerm *t = &g->terms[sum->a[0] + k];
        if (ir_at(g, t->ref)->op == OP_VAR && ir_at(g, t->ref)->imm == var) return t->coefficient;
    }
    return 0;
}

static bool is_range(const IrGraph *g, const IrRefs *nodes, IrRef variable)
{
    for (uint32_t k = 0; k < nodes->n; k++) {
        const IrNode *fold = ir_at(g, nodes->items[k]);
        if (sc_op_info[fold->op].combiner != OP_NONE && fold->a[2] == variable) return true;
    }
    return false;
}

/* The one variable that stands beside the range in sums, and is of no fold among the nodes; false: there is none. */
static bool find_variable(const IrGraph *g, const IrRefs *nodes, GrWindow *w)
{
    bool any = false;
    for (uint32_t k = 0; k < nodes->n; k++) {
        const IrNode *n = ir_at(g, nodes->items[k]);
        if (n->op != OP_SUM || !coefficient_of(g, n, w->range)) continue;
        for (uint32_t t = 0; t < n->a[1]; t++) {
            const IrRef r = g->terms[n->a[0] + t].ref;
            const IrNode *v = ir_at(g, r);
            if (v->op != OP_VAR || v->imm == w->range || is_range(g, nodes, r)) continue;
            if (any && w->variable != v->imm) return false;
            w->variable = (uint32_t)v->imm, any = true;
        }
    }
    return any;
}

static int64_t divisor(int64_t x, int64_t y) { return y ? divisor(y, x % y) : x < 0 ? -x : x; }

static bool uses(const IrGraph *g, IrRef node, IrRef operand)
{
    for (uint32_t k = 0; k < ir_arity(g, node); k++)
        if (ir_operand(g, node, k) == operand) return true;
    return false;
}

/* What each sum that has the range or the variable becomes; false: they stand elsewhere, or in another proportion. */
static bool find_sums(WbbArena *a, GrGraph *x, const IrRefs *nodes, GrWindow *w, IrRefs *from, IrRefs *to)
{
    IrGraph *g = rw_graph(x->rw);
    const IrRef range = ir_var(g, w->range), variable = ir_var(g, w->variable);
    for (uint32_t k = 0; k < nodes->n; k++) {
        const IrNode n = *ir_at(g, nodes->items[k]);
        if (n.op != OP_SUM && (uses(g, nodes->items[k], range) || uses(g, nodes->items[k], variable))) return false;
        const int64_t of_variable = n.op == OP_SUM ? coefficient_of(g, &n, w->variable) : 0;
        const int64_t of_range = n.op == OP_SUM ? coefficient_of(g, &n, w->range) : 0;
        if (!of_variable && !of_range) continue;
        if (!w->number) {
            const int64_t by = divisor(of_variable, of_range) * (of_range < 0 ? -1 : 1);
            w->step = of_variable / by, w->dilation = of_range / by;
            if (w->step <= 0 || w->dilation <= 0) return false;
            w->high = w->step * g->vars[w->variable].hi + w->dilation * g->vars[w->range].hi + 1;
            w->number = ir_var(g, ir_var_new(g, "z", IR_LOOP, 0, w->high - 1, 0));
        }
        if (of_variable % w->step || of_variable / w->step * w->dilation != of_range) return false;
        IrTerm *terms = WBB_NEW_N(a, IrTerm, n.a[1] + 1u);
        for (uint32_t t = 0; t < n.a[1]; t++) {
            terms[t] = g->terms[n.a[0] + t];
            if (terms[t].ref == range) terms[t] = (IrTerm){of_variable / w->step, w->number};
            else if (terms[t].ref == variable) terms[t].coefficient = 0;
        }
        const IrRef made = rw_sum(x->rw, (int64_t)n.imm, terms, n.a[1]);
        WBB_PUSH(a, from, nodes->items[k]);
        WBB_PUSH(a, to, made);
    }
    return w->number != 0;
}

bool gr_find_window(WbbArena *a, GrGraph *x, uint32_t range, IrRef *value, IrRef *condition, GrWindow *w)
{
    IrRefs nodes = {0}, from = {0}, to = {0};
    *w = (GrWindow){.range = range};
    WBB_PUSH(a, &nodes, *value);
    if (*condition) WBB_PUSH(a, &nodes, *condition);
    ir_gather(rw_graph(x->rw), a, &nodes, rw_marks(x->rw));
    if (!find_variable(rw_graph(x->rw), &nodes, w) || !find_sums(a, x, &nodes, w, &from, &to)) return false;
    *value = gr_replaced(a, x, *value, from.items, to.items, from.n);
    if (*condition) *condition = gr_replaced(a, x, *condition, from.items, to.items, from.n);
    return true;
}

/* As a bound of one of the numbers, -z < 3 or z - 5 < 0; false: it is another condition. */
bool gr_bound(const GrGraph *x, IrRef condition, GrWindow *windows, uint32_t n)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrNode c = *ir_at(g, condition);
    if (c.op == OP_BAND) return gr_bound(x, c.a[0], windows, n) && gr_bound(x, c.a[1], windows, n);
    if (c.op != OP_LT || !ir_is_const(g, c.a[1])) return false;
    const int64_t than = (int64_t)ir_at(g, c.a[1])->imm;
    const IrNode *sum = ir_at(g, c.a[0]);
    for (uint32_t k = 0; k < n; k++) {
        GrWindow *w = &windows[k];
        const bool alone = c.a[0] == w->number, one = sum->op == OP_SUM && sum->a[1] == 1;
        const int64_t by = alone ? 1 : one ? coefficient_of(g, sum, (uint32_t)ir_at(g, w->number)->imm) : 0;
        const int64_t most = than - (alone ? 0 : (int64_t)sum->imm); /* by * z < most */
        if (by == 1) w->high = WBB_MIN(w->high, most);
        else if (by == -1) w->low = WBB_MAX(w->low, 1 - most);
        else continue;
        return w->high > w->low;
    }
    return false;
}

bool gr_find_prefix(const GrGraph *x, uint32_t range, IrRef condition, GrPrefix *p)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrNode c = *ir_at(g, condition), sum = *ir_at(g, c.a[0]);
    if (c.op != OP_LT || !ir_is_const(g, c.a[1]) || sum.op != OP_SUM || sum.a[1] != 2) return false;
    const int64_t by = coefficient_of(g, &sum, range), than = (int64_t)ir_at(g, c.a[1])->imm - (int64_t)sum.imm;
    for (uint32_t k = 0; k < 2; k++) {
        const IrTerm *t = &g->terms[sum.a[0] + k];
        if (ir_at(g, t->ref)->op != OP_VAR || ir_at(g, t->ref)->imm == range) continue;
        p->variable = (uint32_t)ir_at(g, t->ref)->imm;
        p->suffix = by < 0; /* range - variable < than: up to variable + than - 1; else from variable - than + 1 on */
        p->offset = than - 1;
        return (by == 1 || by == -1) && t->coefficient == -by;
    }
    return false;
}
