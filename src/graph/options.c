/* options.c: options of patterns/arrays.py, which a plan asks for with a number of its own.
 *
 * Needs a normalised module, and for folds of a computation a number each; leaves these as the first option that
 * matches has them, made of instructions again by build.c. An option counts terms by parts of an index, i // m and
 * i % m, each of which is a range here. Whether the result takes less time is the plan's business.
 *
 *     s[d0 < 1024] := fold_add.f32(x[k0, d0], 0.0, k0)      k0 < 8192, m = 16
 *                  => fold_add.f32(fold_add.f32(x[16*p + q, d0], 0.0, q), 0.0, p)      p < 512, q < 16
 */
#include "hlo/normalise.h"

#include "graph/inner.h"

static IrRef range_of(IrGraph *g, const char *name, int64_t size)
{
    return size == 1 ? ir_index(g, 0) : ir_var(g, ir_var_new(g, name, IR_LOOP, 0, size - 1, 0));
}

/* The definition over one range, of which its own are the digits. */
static GrDef of_one_range(WbbArena *a, GrGraph *x, const GrDef *d)
{
    if (d->n_ranges == 1) return *d;
    IrGraph *g = rw_graph(x->rw);
    GrDef out = *d;
    const int64_t all = (int64_t)gr_terms(x, d);
    IrRef *to = WBB_NEW_N(a, IrRef, d->n_ranges + 1u);
    out.ranges = WBB_NEW_N(a, IrRef, 1);
    out.ranges[0] = range_of(g, "k", all), out.n_ranges = 1;
    int64_t step = 1;
    for (uint32_t k = d->n_ranges; k-- > 0;) {
        const IrNode *v = ir_at(g, d->ranges[k]);
        const int64_t size = v->op == OP_VAR ? g->vars[v->imm].hi + 1 : 1;
        to[k] = rw_mod(x->rw, rw_floordiv(x->rw, out.ranges[0], step), size);
        step *= size;
    }
    out.value = gr_replaced(a, x, d->value, d->ranges, to, d->n_ranges);
    if (d->condition) out.condition = gr_replaced(a, x, d->condition, d->ranges, to, d->n_ranges);
    return out;
}

/* Folds over i // m and i % m as folds over ranges of their own. */
static IrRef in_parts(WbbArena *a, GrGraph *x, IrRef root, IrRef i, int64_t n, int64_t m)
{
    IrGraph *g = rw_graph(x->rw);
    const IrRef outer = range_of(g, "p", n / m), inner = range_of(g, "q", m), by = ir_index(g, m);
    const IrTerm terms[] = {{.coefficient = m, .ref = outer}, {.coefficient = 1, .ref = inner}};
    const IrType t = IR_TYPE(SC_INDEX, 0);
    const IrRef from[] = {ir_node(g, OP_FLOORDIV, t, 0, i, by, 0, 0), ir_node(g, OP_MOD, t, 0, i, by, 0, 0), i};
    const IrRef to[] = {outer, inner, rw_sum(x->rw, 0, terms, 2)};
    return gr_replaced(a, x, root, from, to, 3);
}

/* What an option makes of a fold; 0: none takes it. */
static IrRef taken(WbbArena *a, GrGraph *x, const GrDef *d, int64_t number)
{
    const double terms = d->form == GR_FOLD ? gr_terms(x, d) : 0;
    if (number <= 1 || (double)number >= terms || terms > (double)INT64_MAX / 2) return 0;
    const GrDef one = of_one_range(a, x, d);
    const IrRef fold = gr_as_term(x->rw, &one, one.value, one.condition);
    const IrRef made = fold ? rw_option(x->rw, fold, number) : 0;
    return made ? in_parts(a, x, made, one.ranges[0], (int64_t)terms, number) : 0;
}

const HloModule *gr_option(WbbCx *cx, WbbArena *a, const HloModule *m, const uint32_t *const *numbers, RwCx *with,
                           bool counted)
{
    GrChanged *of = WBB_NEW_N(a, GrChanged, m->n_computations);
    uint32_t n = 0;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        const HloComputation *from = m->computations[c];
        if (!numbers[c]) continue;
        GrGraph *x = gr_make(cx, a, from);
        if (with) rw_join(x->rw, with, gr_names(a, x));
        if (with && !counted) rw_leave(x->rw);
        of[c] = (GrChanged){.graph = x, .value = WBB_NEW_N(a, IrRef, from->n_instructions + 1u), .of_option = true};
        for (uint32_t k = 0; k < from->n_instructions; k++) {
            rw_graph(x->rw)->making_origin = k + 1;
            if (numbers[c][k]) of[c].value[k] = taken(a, x, &x->defs[k], numbers[c][k]);
            of[c].n += of[c].value[k] != 0;
        }
        n += of[c].n;
    }
    return n ? gr_built(cx, a, m, of) : m;
}
