/* arrays.c: the rules of patterns/arrays.py on the definitions of a module.
 *
 * Needs a normalised module; leaves it where no rule fires. A fold is one node here, whose operands are a term, an init
 * and the number of the term; what takes part only under a condition is else the combiner's identity. A read of a fold
 * that nothing else reads is that fold at the index, where that is less: the last element of a prefix sum is a sum. A
 * product that is the same along a dimension is a sum that is computed once. What changed is made of instructions again
 * by build.c.
 *
 *     m[d0 < 8] := fold_max.f32(x[d0], -inf, k0)                                =>   max.f32(-inf, x[d0])
 *     c[d0 < 8] := add.f32[k0 < 8] x[k0 + d0 - 7] where ..   y[] := c[7]        =>   y[] := add.f32[k0 < 8] x[k0]
 */
#include "hlo/normalise.h"

#include "graph/inner.h"

ScOp gr_fold_of(ScOp combiner)
{
    uint32_t op = OP_NONE;
    while (op < OP_COUNT && (sc_op_info[op].combiner != combiner || combiner == OP_NONE)) op++;
    return op < OP_COUNT ? (ScOp)op : OP_NONE;
}

/* The number of a term: its ranges as digits, the last one the lowest. */
static IrRef number_of(RwCx *rw, const GrDef *d)
{
    const IrGraph *g = rw_graph(rw);
    IrTerm *terms = WBB_NEW_N(g->arena, IrTerm, d->n_ranges + 1u);
    int64_t step = 1;
    uint32_t n = 0;
    for (uint32_t k = d->n_ranges; k-- > 0;) {
        const IrNode *v = ir_at(g, d->ranges[k]);
        if (v->op != OP_VAR) continue;
        terms[n++] = (IrTerm){.coefficient = step, .ref = d->ranges[k]};
        step *= g->vars[v->imm].hi + 1;
    }
    return rw_sum(rw, 0, terms, n);
}

/* Is the read at a place that this index, a variable, names? */
static bool reads_at(const IrGraph *g, const IrNode *read, IrRef index)
{
    for (uint32_t k = 0; k < read->a[1]; k++)
        if (g->terms[read->a[0] + k].ref == index) return true;
    return false;
}

/* Reads of what several read, but anyone computes again, as a comparison of indices, are what is computed; `at`: reads
 * of one element at that variable, whatever is computed there. */
static IrRef opened(WbbArena *a, GrGraph *x, IrRef r, IrRef at)
{
    enum { ROUNDS = 6, MOST = 8 };
    const IrGraph *g = rw_graph(x->rw);
    for (uint32_t round = 0; round < ROUNDS && r; round++) {
        IrRef from[MOST], to[MOST];
        uint32_t n = 0;
        IrRefs nodes = {0};
        WBB_PUSH(a, &nodes, r);
        ir_gather(g, a, &nodes, rw_marks(x->rw));
        for (uint32_t k = 0; k < nodes.n && n < MOST; k++) {
            const IrRef read = nodes.items[k];
            if (ir_at(g, read)->op != OP_CALL) continue;
            const GrDef *d = &x->defs[IR_CALLEE(ir_at(g, read)->imm)];
            if (d->form != GR_TERM || d->n_starts) continue;
            if (at ? !reads_at(g, ir_at(g, read), at) : !hlo_has(d->i->opcode, HLO_AGAIN)) continue;
            from[n] = read, to[n] = gr_element_at(a, x, d, d->value, read);
            if (!at) gr_put_place(x, to[n], read);
            n++;
        }
        if (!n) return r;
        r = gr_replaced(a, x, r, from, to, n);
    }
    return r;
}

IrRef gr_as_term(RwCx *rw, const GrDef *d, IrRef value, IrRef condition)
{
    IrGraph *g = rw_graph(rw);
    const ScType t = d->type;
    const ScOp op = gr_fold_of(d->op);
    if (op == OP_NONE || sc_type_info[t].cls == 'C' || d->n_starts) return 0;
    if (condition && !(ir_is_const(g, condition) && ir_at(g, condition)->imm)) {
        uint64_t identity;
        if (!gr_identity(d->op, t, &identity)) return 0;
        value = ir_node(g, OP_SELECT, IR_TYPE(t, 0), 0, condition, value, ir_const(g, IR_TYPE(t, 0), identity), 0);
    }
    const IrRef fold = ir_node(g, op, IR_TYPE(t, 0), 0, value, d->init, number_of(rw, d), 0);
    return gr_convert(g, d->i->shape->type, t, fold);
}

/* --- folds in their readers --------------------------------------------------------------------------------------- */
static double elements(const IrGraph *g, const IrRef *at, uint32_t n)
{
    double all = 1;
    for (uint32_t k = 0; k < n; k++)
        if (ir_at(g, at[k])->op == OP_VAR) all *= (double)g->vars[ir_at(g, at[k])->imm].hi + 1;
    return all;
}

/* The fold of which a definition reads elements and nothing else, if it alone does; else NULL. */
static const GrDef *read_fold(const GrGraph *x, const GrDef *d)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrNode *read = d->form == GR_TERM ? ir_at(g, d->value) : NULL;
    if (!read || read->op != OP_CALL) return NULL;
    const GrDef *f = &x->defs[IR_CALLEE(read->imm)];
    return f->form == GR_FOLD && f->i->n_users == 1 && !f->n_starts && f->i != x->c->root ? f : NULL;
}

/* That fold at the index of the read, of fewer elements, where its terms stand under no condition any more; else 0. */
static IrRef at_index(WbbArena *a, GrGraph *x, const GrDef *d, const GrDef *f)
{
    const IrGraph *g = rw_graph(x->rw);
    if (!f->condition || elements(g, d->at, d->i->shape->rank) >= elements(g, f->at, f->i->shape->rank)) return 0;
    const IrRef condition = gr_element_at(a, x, f, f->condition, d->value);
    if (!ir_is_const(g, condition) || !ir_at(g, condition)->imm) return 0;
    return gr_as_term(x->rw, f, gr_element_at(a, x, f, f->value, d->value), 0);
}

/* --- elements that a rule takes ----------------------------------------------------------------------------------- */
/* A term in which a range has the value of an integer: a variable stands for it, as for the start of a gather. 0: the
 * range is not one variable. */
static IrRef taken(WbbArena *a, GrGraph *x, IrRef take)
{
    IrGraph *g = rw_graph(x->rw);
    const IrNode n = *ir_at(g, take), range = *ir_at(g, n.a[1]);
    if (range.op == OP_CONST) return n.a[0];
    if (range.op != OP_VAR) return 0;
    const int64_t most = g->vars[range.imm].hi;
    IrRef value, at = gr_start(x->rw, n.a[2], 0, most, &value);
    if (!at) {
        at = ir_var(g, ir_var_new(g, wbb_format(g->arena, "s%u", x->starts.n), IR_LET, 0, most, 0));
        const GrStart s = {at, value};
        WBB_PUSH(g->arena, &x->starts, s);
    }
    return opened(a, x, gr_replaced(a, x, n.a[0], &n.a[1], &at, 1), at);
}

static IrRef without_takes(WbbArena *a, GrGraph *x, IrRef root)
{
    IrGraph *g = rw_graph(x->rw);
    for (;;) {
        IrRefs nodes = {0};
        WBB_PUSH(a, &nodes, root);
        ir_gather(g, a, &nodes, rw_marks(x->rw));
        uint32_t k = 0;
        while (k < nodes.n && ir_at(g, nodes.items[k])->op != OP_TAKE) k++;
        if (k == nodes.n) return root;
        const IrRef made = taken(a, x, nodes.items[k]);
        if (!made) return 0;
        root = gr_replaced(a, x, root, &nodes.items[k], &made, 1);
    }
}

/* Is a product the same at all values of a variable of its index? Then it is the sum of the other factor, and no
 * product. Reductions stay: they are planned beside others of the same array. */
static bool is_repeated(WbbArena *a, const GrGraph *x, const GrDef *d, IrRef value)
{
    if (d->i->opcode == HLO_REDUCE || d->i->opcode == HLO_REDUCE_WINDOW) return false;
    const IrGraph *g = rw_graph(x->rw);
    const IrRefs variables = ir_variables(g, a, value, rw_marks(x->rw));
    for (uint32_t k = 0; k < d->i->shape->rank; k++)
        if (ir_at(g, d->at[k])->op == OP_VAR && !ir_among(&variables, d->at[k])) return true;
    return false;
}

/* Has each element of a reduction of windows many terms that no other one has, all of them elements? Then it is a
 * reduction of an array of windows, whose terms threads may share: a thread that reads a window alone reads far from
 * its neighbours. */
static bool is_apart(const GrGraph *x, const GrDef *d)
{
    const HloInstruction *i = d->i;
    if (i->opcode != HLO_REDUCE_WINDOW || d->condition || gr_terms(x, d) < HLO_LIMIT_WINDOW_APART) return false;
    for (uint32_t k = 0; k < i->shape->rank; k++) {
        const HloWindow *w = &i->windows[k];
        if (w->lhs_dilate != 1 || w->rhs_dilate != 1) return false;
        if (w->size > 1 && i->shape->dims[k] > 1 && w->stride != w->size) return false;
    }
    return true;
}

static bool is_product(const GrGraph *x, const GrDef *d)
{
    const uint32_t op = ir_at(rw_graph(x->rw), d->value)->op; /* of preds it is `and` */
    return d->i->opcode == HLO_DOT && (op == OP_MUL || op == OP_BAND);
}

/* Does each element of the larger factor of a product count in so few results that threads which multiply and add for
 * all of them read it at the rate of memory? Then the product is a sum that they share, fused with what is around it;
 * a library fills tiles that are empty. In a fusion all products are sums, as no library computes them, but those that
 * fill tiles of tensor cores. */
static bool is_thin(WbbArena *a, const GrGraph *x, const GrDef *d)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrNode *term = ir_at(g, d->value);
    double own[] = {1, 1}; /* results along variables that the other factor lacks */
    for (uint32_t f = 0; f < 2; f++) {
        const IrRefs variables = ir_variables(g, a, term->a[f], rw_marks(x->rw));
        const IrRefs others = ir_variables(g, a, term->a[1 - f], rw_marks(x->rw));
        for (uint32_t k = 0; k < d->i->shape->rank; k++)
            if (ir_among(&variables, d->at[k]) && !ir_among(&others, d->at[k]))
                own[f] *= (double)g->vars[ir_at(g, d->at[k])->imm].hi + 1;
        const uint32_t bits = sc_type_info[d->i->operands[1 - f]->shape->type].bits;
        if (own[f] * HLO_LIMIT_PRODUCT_BITS <= bits) return true; /* two results of bf16, four of f32 */
    }
    return false;
}

/* A term over ranges of their own names, which *ranges become: it may be one of several folds, whose ranges have the
 * same. */
static IrRef renamed(WbbArena *a, GrGraph *x, IrRef value, IrRef **ranges, uint32_t n, char letter)
{
    IrGraph *g = rw_graph(x->rw);
    IrRef *own = WBB_NEW_N(a, IrRef, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        const IrNode *v = ir_at(g, (*ranges)[k]);
        const char *name = wbb_format(g->arena, "%c%u", letter, k);
        own[k] = (*ranges)[k];
        if (v->op == OP_VAR) own[k] = ir_var(g, ir_var_new(g, name, IR_LOOP, 0, g->vars[v->imm].hi, 0));
    }
    value = gr_replaced(a, x, value, *ranges, own, n);
    *ranges = own;
    return value;
}

/* Is each element of a reduction read at most once, and by these terms alone? Then it is computed where it is read, and
 * nothing is computed twice. Windows overlap: a term of one is a term of others. */
static bool is_read_once(const GrGraph *x, const GrDef *d, const GrDef *f)
{
    const IrGraph *g = rw_graph(x->rw);
    if (f->i->opcode != HLO_REDUCE || f->i->n_users != 1 || f->i == x->c->root) return false;
    return gr_terms(x, d) * elements(g, d->at, d->i->shape->rank) <= elements(g, f->at, f->i->shape->rank);
}

/* Where each term of a fold is an element of another one, and there is one term or nothing else reads that: the other
 * fold in its place. Rules say what a fold of folds is; where none does, both stay. */
static IrRef with_fold(WbbArena *a, GrGraph *x, const GrDef *d)
{
    const IrNode *read = ir_at(rw_graph(x->rw), d->value);
    if (read->op != OP_CALL) return d->value;
    const GrDef *f = &x->defs[IR_CALLEE(read->imm)];
    if (f->form != GR_FOLD || (gr_terms(x, d) != 1 && !is_read_once(x, d, f))) return d->value;
    const IrRef inner = gr_as_term(x->rw, f, f->value, f->condition);
    if (!inner) return d->value;
    IrRef *ranges = f->ranges;
    const IrRef at = renamed(a, x, gr_element_at(a, x, f, inner, d->value), &ranges, f->n_ranges, 'j');
    gr_put_place(x, at, d->value);
    return at;
}

/* A fold, its constants folded. */
static IrRef folded(WbbArena *a, GrGraph *x, const GrDef *d)
{
    const IrRef r = opened(a, x, gr_as_term(x->rw, d, with_fold(a, x, d), d->condition), 0);
    return r ? gr_replaced(a, x, r, NULL, NULL, 0) : 0;
}

/* --- a graph ------------------------------------------------------------------------------------------------------ */
/* By id, what the rules make of each fold; *before: what each was, 0: it is none that rules are about. */
static IrRef *after_rules(WbbArena *a, GrGraph *x, IrRef **before)
{
    const uint32_t n = x->c->n_instructions;
    IrRef *value = WBB_NEW_N(a, IrRef, n + 1u);
    *before = WBB_NEW_N(a, IrRef, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        const GrDef *d = &x->defs[k], *f = read_fold(x, d);
        rw_graph(x->rw)->making_origin = k + 1;
        if (d->form == GR_FOLD) (*before)[k] = value[k] = folded(a, x, d);
        else if (f) value[k] = at_index(a, x, d, f);
    }
    rw_graph(x->rw)->making_origin = 0;
    rw_arrays(x->rw, a, value, n);
    return value;
}

/* A definition as a term, or as a fold where the term is one; with folds inside of it there is no text for it. */
static void redefine(WbbArena *a, GrGraph *x, GrDef *d, IrRef value)
{
    const IrGraph *g = rw_graph(x->rw);
    const IrNode n = *ir_at(g, value);
    const ScOp op = sc_op_info[n.op].combiner;
    GrDef made = {.i = d->i, .at = d->at, .form = op ? GR_FOLD : GR_TERM, .value = op ? n.a[0] : value};
    if (op) {
        const IrNode number = *ir_at(g, n.a[2]);
        made.op = op, made.type = IR_SC(n.type), made.init = n.a[1];
        made.ranges = WBB_NEW_N(a, IrRef, number.a[1] + 1u);
        if (number.op == OP_VAR) made.ranges[made.n_ranges++] = n.a[2];
        for (uint32_t k = 0; number.op == OP_SUM && k < number.a[1]; k++)
            made.ranges[made.n_ranges++] = g->terms[number.a[0] + k].ref;
        made.value = renamed(a, x, made.value, &made.ranges, made.n_ranges, 'k');
    }
    IrRefs nodes = {0};
    WBB_PUSH(a, &nodes, made.value);
    if (op) WBB_PUSH(a, &nodes, made.init);
    ir_gather(g, a, &nodes, rw_marks(x->rw));
    for (uint32_t k = 0; k < nodes.n; k++)
        if (sc_op_info[ir_at(g, nodes.items[k])->op].combiner) return;
    made.n_starts = x->starts.n, made.starts = WBB_NEW_N(a, IrRef, made.n_starts + 1u);
    for (uint32_t k = 0; k < made.n_starts; k++) made.starts[k] = x->starts.items[k].variable;
    gr_drop_starts(a, x, &made);
    *d = made;
}

/* What no definition that the root needs reads has no definition any more; parameters stay. */
static void drop_unread(WbbArena *a, GrGraph *x)
{
    const HloComputation *c = x->c;
    const IrGraph *g = rw_graph(x->rw);
    bool *wanted = WBB_NEW_N(a, bool, c->n_instructions + 1u);
    uint8_t *mark = WBB_NEW_N(a, uint8_t, g->n);
    wanted[c->root->id] = true;
    for (uint32_t k = c->n_instructions; k-- > 0;) {
        GrDef *d = &x->defs[k];
        if (!wanted[k] && d->form != GR_INPUT) d->form = GR_VANISHED;
        if (d->form == GR_VANISHED || d->form == GR_INPUT) continue;
        for (uint32_t o = 0; d->form == GR_WHOLE && o < d->i->n_operands; o++) wanted[d->i->operands[o]->id] = true;
        IrRefs nodes = {0};
        if (d->form != GR_WHOLE) gr_nodes(a, x, d, mark, &nodes);
        for (uint32_t j = 0; j < nodes.n; j++) {
            const IrNode *read = ir_at(g, nodes.items[j]);
            if (read->op == OP_CALL) wanted[IR_CALLEE(read->imm)] = true;
        }
    }
}

void gr_apply(WbbArena *a, GrGraph *x)
{
    IrRef *before;
    const IrRef *value = after_rules(a, x, &before);
    for (uint32_t k = 0; k < x->c->n_instructions; k++) {
        const IrRef made = value[k] && value[k] != before[k] ? without_takes(a, x, value[k]) : 0;
        if (made) redefine(a, x, &x->defs[k], made);
    }
    drop_unread(a, x);
}

/* --- a module ----------------------------------------------------------------------------------------------------- */
/* all_sums: products of matrices are sums, too; then `with` says what is disabled, and counts nothing. */
static GrChanged changed(WbbCx *cx, WbbArena *a, const HloComputation *c, bool fused, bool all_sums, RwCx *with)
{
    GrGraph *x = gr_make(cx, a, c);
    if (with) rw_join(x->rw, with, gr_names(a, x));
    if (with && all_sums) rw_leave(x->rw);
    IrRef *before;
    GrChanged out = {.graph = x, .value = after_rules(a, x, &before)};
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const GrDef *d = &x->defs[k];
        const bool fills = !all_sums && hlo_is_matrix_product(a, d->i); /* tensor cores, with what is around it */
        const bool sum = before[k] && is_product(x, d) && ((fused && !fills) || is_thin(a, x, d));
        const bool again = sum || (before[k] && (is_repeated(a, x, d, before[k]) || is_apart(x, d)));
        if (out.value[k] == before[k] && !again) out.value[k] = 0;
        if (out.value[k]) out.value[k] = without_takes(a, x, out.value[k]);
        out.n += out.value[k] != 0;
    }
    return out;
}

static bool has_folds(const HloComputation *c)
{
    for (uint32_t k = 0; k < c->n_instructions; k++)
        if (hlo_kind(c->instructions[k]->opcode) == HLO_IS_FOLD) return true;
    return false;
}

/* A module whose folds have changed; the one given, where none has. */
static const HloModule *once(WbbCx *cx, WbbArena *a, const HloModule *m, bool all_sums, RwCx *with)
{
    GrChanged *of = WBB_NEW_N(a, GrChanged, m->n_computations);
    const bool *fused = hlo_find_fused(a, m);
    uint32_t n = 0;
    for (uint32_t k = 0; k < m->n_computations; k++) {
        if (has_folds(m->computations[k])) of[k] = changed(cx, a, m->computations[k], fused[k], all_sums, with);
        n += of[k].n;
    }
    return n ? gr_built(cx, a, m, of) : m;
}

/* A fold that is one value, or a product that is a sum, can be what another fold needs to be one. */
const HloModule *gr_arrays(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with)
{
    for (const HloModule *before = NULL; m != before;) before = m, m = once(cx, a, m, false, with);
    return m;
}

const HloModule *gr_sums(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with)
{
    bool any = false;
    const bool *fused = hlo_find_fused(a, m);
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; fused[c] && k < m->computations[c]->n_instructions; k++)
            any = any || hlo_is_matrix_product(a, m->computations[c]->instructions[k]);
    if (!any) return m;
    for (const HloModule *before = NULL; m != before;) before = m, m = once(cx, a, m, true, with);
    return m;
}

const HloModule *gr_prepared(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return gr_labels(cx, a, hlo_normalise(cx, a, m));
}

const HloModule *gr_normalise(WbbCx *cx, WbbArena *a, const HloModule *m, RwCx *with)
{
    return gr_arrays(cx, a, gr_prepared(cx, a, m), with);
}
