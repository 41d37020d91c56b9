/* options.c: options of patterns/arrays.py, which a plan asks for with a number of its own.
 *
 * Needs a normalised module, and for folds of a computation a number each; leaves these as the first option that
 * matches has them, made of instructions again by build.c. An option counts terms by parts of an index, i // m and
 * i % m, each of which is a range here. The last part of a reduction may lack terms: in their place stands what leaves
 * the others as they are. What terms are relative to is another fold over the same index, where that has such parts,
 * too. Whether the result takes less time is the plan's business.
 *
 *     s[d0 < 1024] := fold_add.f32(x[k0, d0], 0.0, k0)      k0 < 8192, m = 16
 *                  => fold_add.f32(fold_add.f32(x[16*p + q, d0], 0.0, q), 0.0, p)      p < 512, q < 16
 *     exp.f32(sub.f32(x[d0, k0], m[d0]))      stands for exp.f32(sub.f32(x[d0, k0], fold_max.f32(x[d0, k0], -inf, k0)))
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

/* Is some variable of the index of a fold among those below r? */
static bool depends(WbbArena *a, const GrGraph *x, IrRef r, IrRef number)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrRefs of = ir_variables(g, a, r, rw_marks(x->rw)), ranges = ir_variables(g, a, number, rw_marks(x->rw));
    for (uint32_t k = 0; k < ranges.n; k++)
        if (ir_among(&of, ranges.items[k])) return true;
    return false;
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

/* A fold over one index i, in parts of m terms. */
typedef struct {
    const GrDef *d;
    IrRef i;
    int64_t m, slow, fast; /* terms are slow * fast: those of the dimension that is in parts, and of all others */
    uint32_t run;          /* which is so many that follow each other */
    IrRef there;           /* of a last part that lacks terms: which ones there are; 0: all are */
} Parts;

/* What stands in the place of terms that are not there: it leaves the others as they are. 0: nothing does. */
static IrRef filling(const GrGraph *x, const GrDef *d)
{
    uint64_t bits;
    if (gr_is_neutral(rw_graph(x->rw), d->op, d->type, d->init, d->init)) return d->init;
    return gr_identity(d->op, d->type, &bits) ? ir_const(rw_graph(x->rw), IR_TYPE(d->type, 0), bits) : 0;
}

static Parts parts_of(const GrGraph *x, const GrDef *d, int64_t m)
{
    IrGraph *g = rw_graph(x->rw);
    const int64_t n = (int64_t)gr_terms(x, d);
    Parts p = {.d = d, .m = m, .slow = n, .fast = 1, .i = d->ranges[0]};
    uint32_t slowest;
    if (d->i->opcode == HLO_REDUCE) p.slow = hlo_split_length(d->i, &slowest, &p.run), p.fast = n / p.slow;
    if (m % p.fast) p.slow = n, p.fast = 1, p.run = 0;
    const bool lacks = n % m && d->i->opcode == HLO_REDUCE && m > p.fast && filling(x, d);
    if (d->n_ranges > 1 || lacks) p.i = range_of(g, "k", lacks ? (n + m - 1) / m * m : n);
    if (lacks) p.there = ir_node(g, OP_LT, IR_TYPE(SC_PRED, 0), 0, p.i, ir_index(g, n), 0, 0); /* as rules have it */
    return p;
}

/* A term of a fold over the same ranges, of which each is a digit of i. */
static IrRef over_index(WbbArena *a, GrGraph *x, const Parts *p, const GrDef *d, IrRef term)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrRef *from = digits_of(a, g, d);
    IrRef *to = WBB_NEW_N(a, IrRef, d->n_ranges + 1u);
    int64_t step = 1;
    for (uint32_t k = d->n_ranges; k-- > 0; step *= size_of(g, from[k])) {
        to[k] = step == 1 ? p->i : rw_floordiv(x->rw, p->i, step);
        if (k) to[k] = rw_mod(x->rw, to[k], size_of(g, from[k]));
    }
    return gr_replaced(a, x, term, from, to, d->n_ranges);
}

static IrRef masked(const GrGraph *x, const Parts *p, const GrDef *d, IrRef term)
{
    IrGraph *g = rw_graph(x->rw);
    return p->there ? ir_node(g, OP_SELECT, IR_TYPE(d->type, 0), 0, p->there, term, filling(x, d), 0) : term;
}

/* A number of digits of these sizes, the slowest first, each a range of its own. */
static IrRef number_of(WbbArena *a, GrGraph *x, const char *stem, const int64_t *sizes, uint32_t n)
{
    IrTerm *terms = WBB_NEW_N(a, IrTerm, n + 1u);
    int64_t step = 1;
    for (uint32_t k = n; k-- > 0; step *= sizes[k]) {
        const char *name = n == 1 ? stem : wbb_format(a, "%s%u", stem, k);
        terms[k] = (IrTerm){.coefficient = step, .ref = range_of(rw_graph(x->rw), name, sizes[k])};
    }
    return rw_sum(x->rw, 0, terms, n);
}

static void note(WbbArena *a, GrParts *parts, IrRef node, IrRef value)
{
    WBB_PUSH(a, &parts->nodes, node);
    WBB_PUSH(a, &parts->values, value);
    WBB_PUSH(a, &parts->parts, parts->of.slow);
}

/* Notes what a root has of the terms that are there, and what it reads, where that is no part alone, over index z of
 * all that is there in place of i. from, to: what the root becomes; in from: parts of i, i itself, and last which terms
 * there are (0: all). */
static void note_parts(WbbArena *a, GrGraph *x, IrRef root, IrRef z, const IrRef *from, const IrRef *to, uint32_t n,
                       GrParts *parts)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrRef there = from[n - 1], i = from[2];
    IrRefs nodes = {0};
    WBB_PUSH(a, &nodes, root);
    ir_gather(g, a, &nodes, rw_marks(x->rw));
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrNode node = *ir_at(g, nodes.items[k]);
        const bool select = node.op == OP_SELECT && there && node.a[0] == there && ir_is_const(g, node.a[2]);
        const IrRef read = node.op == OP_CALL ? nodes.items[k] : gr_place_of(x, nodes.items[k]);
        if (read && !there && depends(a, x, read, i))
            note(a, parts, gr_replaced(a, x, read, from, to, n), gr_replaced(a, x, read, &i, &z, 1));
        IrRefs of = {0};
        if (!select) continue;
        WBB_PUSH(a, &of, node.a[1]);
        ir_gather(g, a, &of, rw_marks(x->rw));
        if (ir_among(&of, from[0]) || ir_among(&of, from[1])) continue;
        note(a, parts, gr_replaced(a, x, nodes.items[k], from, to, n), gr_replaced(a, x, node.a[1], &i, &z, 1));
    }
    parts->there = to[n - 1];
}

/* The same where a part is another one. */
static void note_part(WbbArena *a, GrGraph *x, IrRef part, GrParts *parts)
{
    for (uint32_t k = 0, n = parts->nodes.n; k < n; k++) {
        note(a, parts, gr_replaced(a, x, parts->nodes.items[k], &parts->of.slow, &part, 1), parts->values.items[k]);
        parts->parts.items[n + k] = part;
    }
}

/* i // m and i % m: of a window whose fastest digit has m values, and of several dimensions of which one is in parts,
 * each digit is a range of its own. Neighbours share along each; and no reshape says both. */
static void parts_as_numbers(WbbArena *a, GrGraph *x, const Parts *p, IrRef *outer, IrRef *inner)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrRef *digits = digits_of(a, g, p->d);
    const uint32_t n = p->d->n_ranges;
    int64_t *sizes = WBB_NEW_N(a, int64_t, n + 1u);
    for (uint32_t k = 0; k < n; k++) sizes[k] = size_of(g, digits[k]);
    const int64_t parts = size_of(g, p->i) / p->m;
    const bool window = p->d->i->opcode == HLO_REDUCE_WINDOW && n > 1 && sizes[n - 1] == p->m;
    *outer = window ? number_of(a, x, "p", sizes, n - 1) : number_of(a, x, "p", &parts, 1);
    uint32_t first = n;
    for (int64_t fast = 1; fast < p->fast; fast *= sizes[first]) first--;
    if (first == n) first = 1;
    sizes[first - 1] = p->m / p->fast;
    *inner = number_of(a, x, "q", sizes + first - 1, p->fast == 1 ? 1 : n - first + 1);
}

/* Sums of one number wherever there are terms: how many there are of a part. */
static IrRef counted(WbbArena *a, GrGraph *x, const Parts *p, IrRef root, IrRef there, IrRef outer, IrRef inner)
{
    IrGraph *g = rw_graph(x->rw);
    IrRefs nodes = {0}, from = {0}, to = {0};
    WBB_PUSH(a, &nodes, root);
    ir_gather(g, a, &nodes, rw_marks(x->rw));
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrNode fold = *ir_at(g, nodes.items[k]), term = *ir_at(g, fold.a[0]);
        const bool select = term.op == OP_SELECT && term.a[0] == there;
        const IrRef one = select ? term.a[1] : fold.a[0];
        const ScType t = IR_SC(fold.type);
        if (fold.op != OP_FOLD_ADD || fold.a[2] != inner || t != SC_F32 || !ir_is_const(g, one)) continue;
        if (sc_to_f64(t, ir_at(g, one)->imm) != 1 || sc_to_f64(t, ir_at(g, fold.a[1])->imm) != 0) continue;
        const int64_t parts = size_of(g, p->i) / p->m, last = p->slow * p->fast - (parts - 1) * p->m;
        IrRef n = ir_const(g, fold.type, sc_from_f64(t, (double)p->m));
        if (select)
            n = ir_node(g, OP_SELECT, fold.type, 0, rw_compare(x->rw, OP_LT, outer, ir_index(g, parts - 1)), n,
                        ir_const(g, fold.type, sc_from_f64(t, (double)last)), 0);
        WBB_PUSH(a, &from, nodes.items[k]);
        WBB_PUSH(a, &to, n);
    }
    return from.n ? gr_replaced(a, x, root, from.items, to.items, from.n) : root;
}

/* Folds over i // m and i % m as folds over ranges of their own. counts: what is made of them may count terms. */
static IrRef in_parts(WbbArena *a, GrGraph *x, const Parts *p, IrRef root, bool counts, GrParts *parts)
{
    IrGraph *g = rw_graph(x->rw);
    IrRef outer, inner, there = 0;
    parts_as_numbers(a, x, p, &outer, &inner);
    const IrRef by = ir_index(g, p->m);
    const IrTerm terms[] = {{.coefficient = p->m, .ref = outer}, {.coefficient = 1, .ref = inner}};
    const IrType t = IR_TYPE(SC_INDEX, 0);
    const IrRef number = rw_sum(x->rw, 0, terms, 2);
    if (p->there) there = rw_compare(x->rw, OP_LT, rw_floordiv(x->rw, number, p->fast), ir_index(g, p->slow));
    const IrRef from[] = {ir_node(g, OP_FLOORDIV, t, 0, p->i, by, 0, 0), ir_node(g, OP_MOD, t, 0, p->i, by, 0, 0), p->i,
                          p->there};
    const IrRef to[] = {outer, inner, number, there};
    if (p->there || p->run > 1) {
        const IrNode digits = *ir_at(g, inner);
        const IrTerm *low = digits.op == OP_SUM ? &g->terms[digits.a[0]] : NULL; /* of those in a part the slowest */
        parts->of = (GrDigits){.variable = range_of(g, "z", p->slow), .slow = outer, .fast = low ? low->ref : inner};
        const IrTerm of[] = {{p->fast, parts->of.variable}, {1, inner}, {low ? -low->coefficient : -1, parts->of.fast}};
        note_parts(a, x, root, rw_sum(x->rw, 0, of, 3), from, to, 4, parts);
    }
    root = gr_replaced(a, x, root, from, to, p->there ? 4 : 3);
    return counts ? counted(a, x, p, root, there, outer, inner) : root;
}

/* --- conditions --------------------------------------------------------------------------------------------------- */
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
 * leaves those out that are none of it. *j counts whole pieces of m terms: the last ones may be beyond the array,
 * *there says which are not. */
static IrRef scan_of(WbbArena *a, GrGraph *x, const GrDef *d, int64_t m, IrRef *j, IrRef *there, IrRef *variable)
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
    *there = up > n ? rw_compare(x->rw, OP_LT, *j, ir_index(g, n)) : 0;
    if (*there) value = ir_node(g, OP_SELECT, t, 0, *there, value, fill, 0);
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
static IrRef scan_taken(WbbArena *a, GrGraph *x, const GrDef *d, IrRef fold, IrRef j, IrRef there, IrRef variable,
                        int64_t m, GrDigits *digits, GrParts *parts)
{
    IrGraph *g = rw_graph(x->rw);
    const IrRef made = rw_option(x->rw, fold, m);
    if (!made || ir_at(g, ir_at(g, made)->op == OP_CVT ? ir_at(g, made)->a[0] : made)->op != d->op) return 0;
    const int64_t pieces = size_of(g, j) / m;
    const IrType t = IR_TYPE(SC_INDEX, 0);
    const IrRef by = ir_index(g, m), p = range_of(g, "p", pieces), q = range_of(g, "q", m);
    const IrRef slow = range_of(g, "d", pieces), fast = range_of(g, "r", m);
    const IrTerm terms[] = {{.coefficient = m, .ref = p}, {.coefficient = 1, .ref = q}};
    const IrRef number = rw_sum(x->rw, 0, terms, 2), n = ir_index(g, size_of(g, variable));
    const IrRef from[] = {ir_node(g, OP_FLOORDIV, t, 0, j, by, 0, 0), ir_node(g, OP_MOD, t, 0, j, by, 0, 0), j,
                          ir_node(g, OP_FLOORDIV, t, 0, variable, by, 0, 0),
                          ir_node(g, OP_MOD, t, 0, variable, by, 0, 0), there};
    const IrRef to[] = {p, q, number, slow, fast, there ? rw_compare(x->rw, OP_LT, number, n) : 0};
    *digits = (GrDigits){.variable = variable, .slow = slow, .fast = fast};
    if (there) {
        parts->of = (GrDigits){.variable = range_of(g, "z", size_of(g, variable)), .slow = p, .fast = q};
        note_parts(a, x, made, parts->of.variable, from, to, 6, parts);
        note_part(a, x, slow, parts);
    }
    return picked(a, x, gr_replaced(a, x, made, from, to, there ? 6 : 5), p, slow);
}

/* --- what terms are relative to ----------------------------------------------------------------------------------- */
/* Folds that stand in the place of reads of them. */
typedef struct {
    IrRefs reads, folds;
} Opened;

/* A fold with parts of the same size, over the same ranges? */
static bool is_beside(const GrGraph *x, const Parts *p, const GrDef *f, const uint32_t *numbers)
{
    if (f->form != GR_FOLD || f->i->opcode != HLO_REDUCE || f->i == p->d->i) return false;
    if (f->condition || f->n_starts) return false;
    if (numbers && numbers[f->i->id] != p->m) return false;
    return gr_same_reduced(f->i, p->d->i) && f->n_ranges == p->d->n_ranges && filling(x, f);
}

/* Is a value computed of such a fold, as a mean is, and what is relative to that? */
static bool is_of_beside(WbbArena *a, const GrGraph *x, const Parts *p, const GrDef *d, const uint32_t *numbers,
                         uint32_t depth)
{
    const IrGraph *g = rw_graph(x->rw);
    IrRefs nodes = {0};
    if (d->form != GR_TERM || d->n_starts) return false;
    WBB_PUSH(a, &nodes, d->value);
    ir_gather(g, a, &nodes, rw_marks(x->rw));
    for (uint32_t k = 0; k < nodes.n; k++) {
        const IrNode *read = ir_at(g, nodes.items[k]);
        if (read->op != OP_CALL) continue;
        const GrDef *f = &x->defs[IR_CALLEE(read->imm)];
        if (is_beside(x, p, f, numbers) || (depth && is_of_beside(a, x, p, f, numbers, depth - 1))) return true;
    }
    return false;
}

/* Reads of folds beside this one, the same for all terms, as these folds; reads of what is computed of one, as that. */
static IrRef opened(WbbArena *a, GrGraph *x, const Parts *p, IrRef term, const uint32_t *numbers, Opened *o)
{
    enum { ROUNDS = 3 };
    IrGraph *g = rw_graph(x->rw);
    for (uint32_t round = 0; round < ROUNDS && p->d->i->opcode == HLO_REDUCE; round++) {
        IrRefs nodes = {0}, from = {0}, to = {0};
        WBB_PUSH(a, &nodes, term);
        ir_gather(g, a, &nodes, rw_marks(x->rw));
        for (uint32_t k = 0; k < nodes.n; k++) {
            const IrRef read = nodes.items[k];
            if (ir_at(g, read)->op != OP_CALL) continue;
            const GrDef *f = &x->defs[IR_CALLEE(ir_at(g, read)->imm)];
            IrRef made;
            if (is_beside(x, p, f, numbers) && !depends(a, x, read, p->i)) {
                made = over_index(a, x, p, f, gr_element_at(a, x, f, f->value, read));
                made = ir_node(g, gr_fold_of(f->op), IR_TYPE(f->type, 0), 0, masked(x, p, f, made), f->init, p->i, 0);
                WBB_PUSH(a, &o->reads, read);
                WBB_PUSH(a, &o->folds, made);
            } else if (is_of_beside(a, x, p, f, numbers, ROUNDS - 2 - round)) {
                made = gr_element_at(a, x, f, f->value, read);
                gr_put_place(x, made, read);
            } else {
                continue;
            }
            WBB_PUSH(a, &from, read);
            WBB_PUSH(a, &to, made);
        }
        if (!from.n) break;
        term = gr_replaced(a, x, term, from.items, to.items, from.n);
    }
    return term;
}

/* A fold over its index; 0: no rule is about it. */
static IrRef over_parts(WbbArena *a, GrGraph *x, const Parts *p, const uint32_t *numbers, Opened *o)
{
    GrDef one = *p->d;
    one.ranges = (IrRef[]){p->i}, one.n_ranges = 1;
    IrRef term = over_index(a, x, p, p->d, p->d->value), condition = p->d->condition;
    if (condition) condition = over_index(a, x, p, p->d, condition);
    if (o) term = opened(a, x, p, term, numbers, o);
    return gr_as_term(x->rw, &one, masked(x, p, p->d, term), condition);
}

/* What an option makes of a fold; 0: none takes it. *shares: with what it is relative to. */
static IrRef taken(WbbArena *a, GrGraph *x, const GrDef *d, const uint32_t *numbers, GrDigits *digits, GrParts *parts,
                   bool *shares)
{
    const double terms = d->form == GR_FOLD ? gr_terms(x, d) : 0;
    const int64_t m = numbers[d->i->id];
    if (m <= 1 || (double)m >= terms || terms > (double)INT64_MAX / 2) return 0;
    IrRef j, there, variable;
    const IrRef scan = scan_of(a, x, d, m, &j, &there, &variable);
    if (scan) return scan_taken(a, x, d, scan, j, there, variable, m, digits, parts);
    const Parts p = parts_of(x, d, m);
    Opened o = {0};
    const IrRef fold = over_parts(a, x, &p, numbers, &o);
    IrRef made = fold ? rw_option(x->rw, fold, m) : 0;
    if (!made) return 0;
    *shares = *shares || o.reads.n;
    const bool relative = o.reads.n > 0;
    if (relative && p.there) { /* which stays as rules have it */
        WBB_PUSH(a, &o.folds, p.there);
        WBB_PUSH(a, &o.reads, p.there);
    }
    if (relative) made = gr_replaced(a, x, made, o.folds.items, o.reads.items, o.reads.n);
    return pulled_out(a, x, in_parts(a, x, &p, made, relative, parts));
}

const HloInstruction **gr_bases(WbbCx *cx, WbbArena *a, const HloComputation *c)
{
    GrGraph *x = NULL;
    const HloInstruction **out = WBB_NEW_N(a, const HloInstruction *, c->n_instructions + 1u);
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        if (!hlo_reduces(c->instructions[k], HLO_ADD)) continue;
        x = x ? x : gr_make(cx, a, c);
        const GrDef *d = &x->defs[k];
        const double terms = d->form == GR_FOLD ? gr_terms(x, d) : 0;
        if (!(terms > 1) || terms > UINT32_MAX) continue;
        const Parts p = parts_of(x, d, (int64_t)terms);
        Opened o = {0};
        const IrRef relative = over_parts(a, x, &p, NULL, &o), fold = over_parts(a, x, &p, NULL, NULL);
        if (!o.reads.n || !relative || !fold) continue;
        if (rw_option_of(x->rw, relative, p.m) == rw_option_of(x->rw, fold, p.m)) continue;
        out[k] = x->defs[IR_CALLEE(ir_at(rw_graph(x->rw), o.reads.items[0])->imm)].i;
    }
    return out;
}

const HloModule *gr_option(WbbCx *cx, WbbArena *a, const HloModule *m, const uint32_t *const *numbers, RwCx *with,
                           bool counted)
{
    GrChanged *of = WBB_NEW_N(a, GrChanged, m->n_computations);
    uint32_t n = 0;
    bool shares = false;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        const HloComputation *from = m->computations[c];
        if (!numbers[c]) continue;
        GrGraph *x = gr_make(cx, a, from);
        if (with) rw_join(x->rw, with, gr_names(a, x));
        if (with && !counted) rw_leave(x->rw);
        of[c] = (GrChanged){.graph = x, .value = WBB_NEW_N(a, IrRef, from->n_instructions + 1u), .of_option = true};
        of[c].digits = WBB_NEW_N(a, GrDigits, from->n_instructions + 1u);
        of[c].parts = WBB_NEW_N(a, GrParts, from->n_instructions + 1u);
        for (uint32_t k = 0; k < from->n_instructions; k++) {
            rw_graph(x->rw)->making_origin = k + 1;
            if (numbers[c][k]) of[c].value[k] = taken(a, x, &x->defs[k], numbers[c], &of[c].digits[k], &of[c].parts[k],
                                                     &shares);
            of[c].n += of[c].value[k] != 0;
        }
        n += of[c].n;
    }
    const HloModule *made = n ? gr_built(cx, a, m, of) : m;
    return shares ? hlo_cleaned(cx, a, hlo_pass_equal(cx, a, made), made) : made; /* one number of a part for both */
}
