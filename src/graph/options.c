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

static int64_t size_of(const IrGraph *g, IrRef range)
{
    const IrNode *v = ir_at(g, range);
    return v->op == OP_VAR ? g->vars[v->imm].hi + 1 : 1;
}

/* The ranges as digits, the slowest first. Of a window the longest is the fastest: its neighbours share most. */
static const IrRef *digits_of(WbbArena *a, const IrGraph *g, const GrDef *d)
{
    if (d->i->opcode != HLO_REDUCE_WINDOW) return d->ranges;
    IrRef *out = WBB_NEW_N(a, IrRef, d->n_ranges + 1u);
    uint32_t longest = 0, n = 0;
    for (uint32_t k = 1; k < d->n_ranges; k++)
        if (size_of(g, d->ranges[k]) > size_of(g, d->ranges[longest])) longest = k;
    for (uint32_t k = 0; k < d->n_ranges; k++)
        if (k != longest) out[n++] = d->ranges[k];
    out[n] = d->ranges[longest];
    return out;
}

/* The definition over one range, of which its own are the digits. */
static GrDef of_one_range(WbbArena *a, GrGraph *x, const GrDef *d)
{
    if (d->n_ranges == 1) return *d;
    IrGraph *g = rw_graph(x->rw);
    GrDef out = *d;
    const int64_t all = (int64_t)gr_terms(x, d);
    const IrRef *from = digits_of(a, g, d);
    IrRef *to = WBB_NEW_N(a, IrRef, d->n_ranges + 1u);
    out.ranges = WBB_NEW_N(a, IrRef, 1);
    out.ranges[0] = range_of(g, "k", all), out.n_ranges = 1;
    int64_t step = 1;
    for (uint32_t k = d->n_ranges; k-- > 0;) {
        const int64_t size = size_of(g, from[k]);
        to[k] = rw_mod(x->rw, rw_floordiv(x->rw, out.ranges[0], step), size);
        step *= size;
    }
    out.value = gr_replaced(a, x, d->value, from, to, d->n_ranges);
    if (d->condition) out.condition = gr_replaced(a, x, d->condition, from, to, d->n_ranges);
    return out;
}

/* The slower digits of a window, which are i // m where the fastest one has m values, are ranges of their own:
 * neighbours share along each. Else one range is. */
static IrRef outer_of(WbbArena *a, GrGraph *x, const GrDef *d, int64_t n, int64_t m)
{
    IrGraph *g = rw_graph(x->rw);
    const IrRef *digits = digits_of(a, g, d);
    if (d->i->opcode != HLO_REDUCE_WINDOW || d->n_ranges < 2 || size_of(g, digits[d->n_ranges - 1]) != m)
        return range_of(g, "p", n / m);
    IrTerm *terms = WBB_NEW_N(a, IrTerm, d->n_ranges);
    int64_t step = 1;
    for (uint32_t k = d->n_ranges - 1; k-- > 0; step *= size_of(g, digits[k]))
        terms[k] = (IrTerm){.coefficient = step, .ref = range_of(g, wbb_format(a, "p%u", k), size_of(g, digits[k]))};
    return rw_sum(x->rw, 0, terms, d->n_ranges - 1u);
}

/* Folds over i // m and i % m as folds over ranges of their own. */
static IrRef in_parts(WbbArena *a, GrGraph *x, const GrDef *d, IrRef root, IrRef i, int64_t n, int64_t m)
{
    IrGraph *g = rw_graph(x->rw);
    const IrRef outer = outer_of(a, x, d, n, m), inner = range_of(g, "q", m), by = ir_index(g, m);
    const IrTerm terms[] = {{.coefficient = m, .ref = outer}, {.coefficient = 1, .ref = inner}};
    const IrType t = IR_TYPE(SC_INDEX, 0);
    const IrRef from[] = {ir_node(g, OP_FLOORDIV, t, 0, i, by, 0, 0), ir_node(g, OP_MOD, t, 0, i, by, 0, 0), i};
    const IrRef to[] = {outer, inner, rw_sum(x->rw, 0, terms, 2)};
    return gr_replaced(a, x, root, from, to, 3);
}

/* --- conditions --------------------------------------------------------------------------------------------------- */
/* Is some variable of the index of a fold among those below r? */
static bool depends(WbbArena *a, const GrGraph *x, IrRef r, IrRef number)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrRefs of = ir_variables(g, a, r, rw_marks(x->rw)), ranges = ir_variables(g, a, number, rw_marks(x->rw));
    for (uint32_t k = 0; k < ranges.n; k++)
        if (ir_among(&of, ranges.items[k])) return true;
    return false;
}

static IrRef both(IrGraph *g, IrRef c, IrRef d)
{
    return !c ? d : !d ? c : ir_node(g, OP_BAND, IR_TYPE(SC_PRED, 0), 0, c, d, 0, 0);
}

/* The conjuncts of c that the ranges of a fold decide, and those that they do not. */
static void part(WbbArena *a, GrGraph *x, IrRef c, IrRef number, IrRef *inside, IrRef *outside)
{
    IrGraph *g = rw_graph(x->rw);
    const IrNode n = *ir_at(g, c);
    if (n.op == OP_BAND) {
        part(a, x, n.a[0], number, inside, outside);
        part(a, x, n.a[1], number, inside, outside);
    } else if (depends(a, x, c, number)) {
        *inside = both(g, *inside, c);
    } else {
        *outside = both(g, *outside, c);
    }
}

/* Terms of a fold that stand under a condition, select(c, x, identity), as they are in gr_as_term, also converted. What
 * the ranges do not decide is pulled out, in the inner fold of a fold of folds by one combiner: where it does not hold,
 * all terms are the identity, and so the inner fold is it, or the init, which the outer one has anyway. */
static IrRef pulled_out(WbbArena *a, GrGraph *x, IrRef fold)
{
    IrGraph *g = rw_graph(x->rw);
    IrNode n = *ir_at(g, fold);
    if (n.op == OP_CVT) {
        const IrRef made = pulled_out(a, x, n.a[0]);
        return made == n.a[0] ? fold : ir_node(g, OP_CVT, n.type, n.flags, made, 0, 0, 0);
    }
    if (sc_op_info[n.op].combiner == OP_NONE) return fold;
    IrRef term = pulled_out(a, x, n.a[0]);
    const IrNode of = *ir_at(g, term), inner = of.op == OP_CVT ? *ir_at(g, of.a[0]) : of;
    if (inner.op == OP_SELECT && ir_is_const(g, inner.a[2])) {
        IrRef inside = 0, outside = 0, value = inner.a[1], other = inner.a[2];
        if (of.op == OP_CVT) {
            value = ir_node(g, OP_CVT, of.type, of.flags, value, 0, 0, 0);
            other = ir_node(g, OP_CVT, of.type, of.flags, other, 0, 0, 0);
            other = gr_replaced(a, x, other, NULL, NULL, 0);
        }
        part(a, x, inner.a[0], n.a[2], &inside, &outside);
        term = inside ? ir_node(g, OP_SELECT, n.type, 0, inside, value, other, 0) : value;
        fold = ir_node(g, n.op, n.type, n.flags, term, n.a[1], n.a[2], 0);
        return outside ? ir_node(g, OP_SELECT, n.type, 0, outside, fold, other, 0) : fold;
    }
    return term == n.a[0] ? fold : ir_node(g, n.op, n.type, n.flags, term, n.a[1], n.a[2], 0);
}

/* --- scans -------------------------------------------------------------------------------------------------------- */
/* A window of all terms up to its own, or from its own on, as a fold over the terms themselves, of which a condition
 * leaves those out that are none of it. *j counts whole pieces of m terms: the last ones may be beyond the array. */
static IrRef scan_of(WbbArena *a, GrGraph *x, const GrDef *d, int64_t m, IrRef *j, IrRef *variable)
{
    IrGraph *g = rw_graph(x->rw);
    IrRef value = d->value, condition = d->condition;
    GrWindow w;
    if (d->i->opcode != HLO_REDUCE_WINDOW || d->n_ranges != 1 || d->n_starts) return 0;
    if (ir_at(g, d->ranges[0])->op != OP_VAR) return 0;
    if (!condition || !gr_find_window(a, x, (uint32_t)ir_at(g, d->ranges[0])->imm, &value, &condition, &w)) return 0;
    if (w.step != 1 || w.dilation != 1 || !gr_bound(x, condition, &w, 1)) return 0;
    const int64_t n = size_of(g, d->ranges[0]), up = (n + m - 1) / m * m;
    *variable = ir_var(g, w.variable);
    if (size_of(g, *variable) != n || w.high - w.low != n || (w.low && w.low != n - 1)) return 0;
    uint64_t bits = 0; /* of a sum, whose sign of zero is not seen */
    if (d->op != OP_ADD && !gr_identity(d->op, d->type, &bits)) return 0;
    const IrRef zero = gr_is_idempotent(d->op) ? d->init : ir_const(g, IR_TYPE(d->type, 0), bits);
    *j = range_of(g, "j", up);
    const IrRef at = rw_sum(x->rw, w.low, (IrTerm[]){{.coefficient = 1, .ref = *j}}, 1);
    value = gr_replaced(a, x, value, &w.number, &at, 1);
    const IrType t = IR_TYPE(d->type, 0), pred = IR_TYPE(SC_PRED, 0);
    const IrRef fill = gr_is_neutral(g, d->op, d->type, d->init, d->init) ? d->init : zero;
    if (up > n) value = ir_node(g, OP_SELECT, t, 0, rw_compare(x->rw, OP_LT, *j, ir_index(g, n)), value, fill, 0);
    const IrRef outside = w.low ? ir_node(g, OP_LT, pred, 0, *variable, *j, 0, 0) /* as rules have it */
                                : ir_node(g, OP_LT, pred, 0, *j, *variable, 0, 0);
    value = ir_node(g, OP_SELECT, t, 0, outside, zero, value, 0);
    const IrRef fold = ir_node(g, gr_fold_of(d->op), t, 0, value, d->init, *j, 0);
    return gr_convert(g, d->i->shape->type, d->type, fold);
}

/* Folds of which one term counts, where p = D, are that term. */
static IrRef picked(WbbArena *a, GrGraph *x, IrRef root, IrRef p, IrRef slow)
{
    IrGraph *g = rw_graph(x->rw);
    IrRefs nodes = {0};
    const IrRef place = rw_compare(x->rw, OP_EQ, p, slow);
    WBB_PUSH(a, &nodes, root);
    ir_gather(g, a, &nodes, rw_marks(x->rw));
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrNode fold = *ir_at(g, nodes.items[k]), term = *ir_at(g, fold.a[0]);
        if (sc_op_info[fold.op].combiner == OP_NONE || fold.a[2] != p || term.op != OP_SELECT) continue;
        if (term.a[0] != place) continue;
        const IrRef there = gr_replaced(a, x, term.a[1], &p, &slow, 1);
        return gr_replaced(a, x, root, &nodes.items[k], &there, 1);
    }
    return root;
}

/* What an option makes of a scan, of pieces: no fold any more, as it would be by one that knows no scans. */
static IrRef scan_taken(WbbArena *a, GrGraph *x, const GrDef *d, IrRef fold, IrRef j, IrRef variable, int64_t m,
                        GrDigits *digits)
{
    IrGraph *g = rw_graph(x->rw);
    const IrRef made = rw_option(x->rw, fold, m);
    if (!made || ir_at(g, ir_at(g, made)->op == OP_CVT ? ir_at(g, made)->a[0] : made)->op != d->op) return 0;
    const int64_t pieces = size_of(g, j) / m;
    const IrType t = IR_TYPE(SC_INDEX, 0);
    const IrRef by = ir_index(g, m), p = range_of(g, "p", pieces), q = range_of(g, "q", m);
    const IrRef slow = range_of(g, "d", pieces), fast = range_of(g, "r", m);
    const IrTerm terms[] = {{.coefficient = m, .ref = p}, {.coefficient = 1, .ref = q}};
    const IrRef from[] = {ir_node(g, OP_FLOORDIV, t, 0, j, by, 0, 0), ir_node(g, OP_MOD, t, 0, j, by, 0, 0), j,
                          ir_node(g, OP_FLOORDIV, t, 0, variable, by, 0, 0),
                          ir_node(g, OP_MOD, t, 0, variable, by, 0, 0)};
    const IrRef to[] = {p, q, rw_sum(x->rw, 0, terms, 2), slow, fast};
    *digits = (GrDigits){.variable = variable, .slow = slow, .fast = fast};
    return picked(a, x, gr_replaced(a, x, made, from, to, 5), p, slow);
}

/* What an option makes of a fold; 0: none takes it. */
static IrRef taken(WbbArena *a, GrGraph *x, const GrDef *d, int64_t number, GrDigits *digits)
{
    const double terms = d->form == GR_FOLD ? gr_terms(x, d) : 0;
    if (number <= 1 || (double)number >= terms || terms > (double)INT64_MAX / 2) return 0;
    IrRef j, variable;
    const IrRef scan = scan_of(a, x, d, number, &j, &variable);
    if (scan) return scan_taken(a, x, d, scan, j, variable, number, digits);
    const GrDef one = of_one_range(a, x, d);
    const IrRef fold = gr_as_term(x->rw, &one, one.value, one.condition);
    const IrRef made = fold ? rw_option(x->rw, fold, number) : 0;
    return made ? pulled_out(a, x, in_parts(a, x, d, made, one.ranges[0], (int64_t)terms, number)) : 0;
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
        of[c].digits = WBB_NEW_N(a, GrDigits, from->n_instructions + 1u);
        for (uint32_t k = 0; k < from->n_instructions; k++) {
            rw_graph(x->rw)->making_origin = k + 1;
            if (numbers[c][k]) of[c].value[k] = taken(a, x, &x->defs[k], numbers[c][k], &of[c].digits[k]);
            of[c].n += of[c].value[k] != 0;
        }
        n += of[c].n;
    }
    return n ? gr_built(cx, a, m, of) : m;
}
