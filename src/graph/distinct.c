/* distinct.c: do the updates of a scatter reach different elements, and are its results the same in any order?
 *
 * Needs a scatter in canonical form (hlo/normalise_scatter.c), whose indices are an array of rows, one for each update,
 * and the graph of its computation. Leaves a proof: in some column, the integer is an index (start.c) that moves by at
 * least the size of the window from row to row, or the columns are constants that lie so far apart. An index beyond the
 * operand is left out, which harms nothing.
 *
 *     s32[128,1] multiply(iota(), broadcast(3)), windows of up to 3 elements        =>   true
 *     s32[4,2] constant({ {0, 1}, {2, 0}, {0, 0}, {1, 1} }), of single elements     =>   true
 */
#include "graph/inner.h"

#include <stdlib.h>

enum { DEEP = 32, MOST_ROWS = 1 << 16, MOST_NODES = 1 << 12 };

/* --- columns as indices ------------------------------------------------------------------------------------------- */
/* The terms of definitions in place of their reads; what inputs decide stays a read. */
static IrRef opened(WbbArena *a, GrGraph *x, IrRef root)
{
    const IrGraph *g = rw_graph(x->rw);
    for (uint32_t round = 0; round < DEEP; round++) {
        IrRefs nodes = {0}, from = {0}, to = {0};
        WBB_PUSH(a, &nodes, root);
        ir_gather(g, a, &nodes, rw_marks(x->rw));
        for (uint32_t k = 0; k < nodes.n; k++) {
            const IrNode *n = ir_at(g, nodes.items[k]);
            const GrDef *d = n->op == OP_CALL ? &x->defs[IR_CALLEE(n->imm)] : NULL;
            if (!d || d->form != GR_TERM || d->n_starts) continue;
            WBB_PUSH(a, &from, nodes.items[k]);
        }
        if (!from.n || nodes.n > MOST_NODES) return root;
        for (uint32_t k = 0; k < from.n; k++) {
            const GrDef *d = &x->defs[IR_CALLEE(ir_at(g, from.items[k])->imm)];
            WBB_PUSH(a, &to, gr_element_at(a, x, d, d->value, from.items[k]));
        }
        root = gr_replaced(a, x, root, from.items, to.items, from.n);
    }
    return root;
}

IrRef gr_column(WbbArena *a, GrGraph *x, const HloInstruction *indices, int64_t c, IrRef *row)
{
    const GrDef *d = &x->defs[indices->id];
    if (d->form != GR_TERM || d->n_starts || indices->shape->rank != 2) return 0;
    const IrRef at = ir_index(rw_graph(x->rw), c);
    *row = d->at[0];
    return gr_index_through(x->rw, a, opened(a, x, gr_replaced(a, x, d->value, &d->at[1], &at, 1)));
}

/* How far an index moves from row to row; 0: that is not the same everywhere, or it stays. */
static int64_t step_of(GrGraph *x, WbbArena *a, IrRef index, IrRef row)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrNode *n = ir_at(g, index);
    int64_t step = index == row;
    for (uint32_t k = 0; n->op == OP_SUM && k < n->a[1]; k++) {
        const IrTerm *t = &g->terms[n->a[0] + k];
        const IrRefs variables = ir_variables(g, a, t->ref, rw_marks(x->rw));
        if (t->ref == row) step = t->coefficient;
        else if (ir_among(&variables, row)) return 0;
    }
    return step < 0 ? -step : step;
}

/* --- constants ---------------------------------------------------------------------------------------------------- */
static bool is_literal(const HloInstruction *i)
{
    return i->opcode == HLO_CONSTANT && i->literal && sc_is_int(i->shape->type) && hlo_elements(i->shape) > 0;
}

static int by_value(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Sorts the values; are any two at least `apart` from each other? */
static bool all_apart(int64_t *values, int64_t n, int64_t apart)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    for (int64_t k = 1; k < n; k++)
        if ((WbbI128)values[k] - values[k - 1] < apart) return false;
    return true;
}

/* Constants: one column, or, of windows of one element, all columns as a number. */
static bool constants_differ(WbbArena *a, const HloInstruction *i, const HloShape *to, const HloShape *from)
{
    const int64_t n = i->shape->dims[0], columns = i->shape->dims[1];
    if (n > MOST_ROWS || sc_type_info[i->shape->type].bits > 32) return false;
    int64_t *values = WBB_NEW_N(a, int64_t, n + 1), *all = WBB_NEW_N(a, int64_t, n + 1);
    bool single = true;
    for (int64_t c = 0; c < columns; c++) {
        single = single && from->dims[c + 1] == 1;
        for (int64_t k = 0; k < n; k++) {
            values[k] = (int64_t)sc_to_i128(i->shape->type, hlo_literal_bits(i, k * columns + c));
            single = single && values[k] >= 0 && values[k] < to->dims[c];
            if (single) all[k] = all[k] * to->dims[c] + values[k];
        }
        if (all_apart(values, n, from->dims[c + 1])) return true;
    }
    return single && all_apart(all, n, 1);
}

/* --- scatters ----------------------------------------------------------------------------------------------------- */
/* Do the values of the indices, as far as the text has them, keep all updates apart? */
static bool indices_differ(WbbCx *cx, WbbArena *a, const HloComputation *of, const HloInstruction *s, GrGraph **x)
{
    const HloInstruction *indices = s->operands[s->n_operands / 2];
    const HloShape *from = s->operands[s->n_operands / 2 + 1]->shape, *to = s->operands[0]->shape;
    if (indices->shape->rank != 2 || !hlo_elements(indices->shape)) return false;
    if (indices->shape->dims[0] == 1) return true;
    if (is_literal(indices) && constants_differ(a, indices, to, from)) return true;
    if (indices->opcode == HLO_PARAMETER) return false;
    if (!*x) *x = gr_make(cx, a, of);
    for (int64_t c = 0; c < indices->shape->dims[1]; c++) {
        IrRef row;
        const IrRef index = gr_column(a, *x, indices, c, &row);
        if (index && step_of(*x, a, index, row) >= from->dims[c + 1]) return true;
    }
    return false;
}

bool gr_is_unique(WbbCx *cx, WbbArena *a, const HloComputation *of, const HloInstruction *s, GrGraph **x)
{
    const HloShape *indices = s->operands[s->n_operands / 2]->shape;
    return (hlo_scatter_dims(a, s).unique && (indices->dims[1] > 0 || indices->dims[0] <= 1)) ||
           indices_differ(cx, a, of, s, x);
}

/* Is result k combined by an operation that takes its updates in any order? */
static bool takes_any_order(const HloInstruction *s, uint32_t k)
{
    const HloInstruction *i = hlo_scatter_root(s, k);
    const char class = sc_type_info[i->shape->type].cls;
    const bool rounds = class == 'F' && !hlo_op_info[i->opcode].idempotent; /* a maximum of floats does not */
    return hlo_scatter_is_operation(s, k) && hlo_combines(i->opcode) && class != 'C' && !rounds;
}

bool gr_needs_order(WbbCx *cx, WbbArena *a, const HloComputation *of, const HloInstruction *i, GrGraph **x)
{
    if (i->opcode != HLO_SCATTER) return false;
    bool any = true;
    for (uint32_t k = 0; k < i->n_operands / 2; k++) any = any && takes_any_order(i, k);
    return !any && !gr_is_unique(cx, a, of, i, x);
}
