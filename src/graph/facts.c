/* facts.c: what follows from definitions: which elements they read, and how often they are evaluated.
 *
 * Needs a graph; leaves numbers.
 *
 *     w[d0 < 6] := add(x[d0], x[d0 + 1])      y[d0 < 4] := add(w[d0], w[d0 + 2])
 *     for each element of y: w twice, x four times
 */
#include "graph/graph.h"

typedef struct {
    WbbArena *a;
    const GrGraph *x;
    uint8_t *mark;
    IrRefs nodes; /* of one definition */
} Facts;

static Facts facts_of(WbbArena *a, const GrGraph *x)
{
    return (Facts){.a = a, .x = x, .mark = WBB_NEW_N(a, uint8_t, rw_graph(x->rw)->n)};
}

void gr_nodes(WbbArena *a, const GrGraph *x, const GrDef *d, uint8_t *mark, IrRefs *nodes)
{
    WBB_PUSH(a, nodes, d->value);
    for (uint32_t k = 0; k < d->n_starts; k++) WBB_PUSH(a, nodes, gr_start_of(x, d->starts[k])->value);
    ir_gather(rw_graph(x->rw), a, nodes, mark);
}

/* Is it a read at the definition's own index? */
static bool is_own(const IrGraph *g, const GrDef *d, const IrNode *read)
{
    if (read->a[1] != d->i->shape->rank) return false;
    for (uint32_t k = 0; k < read->a[1]; k++)
        if (g->terms[read->a[0] + k].ref != d->at[k]) return false;
    return true;
}

/* Is it a read at the index of one term of a fold, which no other term has? */
static bool is_of_term(const IrGraph *g, const GrDef *d, const IrNode *read)
{
    uint32_t ranges = 0;
    for (uint32_t k = 0; k < read->a[1]; k++) {
        const IrRef x = g->terms[read->a[0] + k].ref;
        if (ir_at(g, x)->op != OP_VAR && !ir_is_const(g, x)) return false;
        for (uint32_t r = 0; r < d->n_ranges; r++) ranges += d->ranges[r] == x;
    }
    return ranges == d->n_ranges;
}

double gr_terms(const GrGraph *x, const GrDef *d)
{
    double n = 1;
    for (uint32_t k = 0; k < d->n_ranges; k++) {
        const IrNode *v = ir_at(rw_graph(x->rw), d->ranges[k]);
        if (v->op == OP_VAR) n *= (double)rw_graph(x->rw)->vars[v->imm].hi + 1;
    }
    return n;
}

static bool is_operation(const IrNode *n)
{
    return n->op != OP_VAR && n->op != OP_CONST && n->op != OP_CALL && IR_SC(n->type) != SC_INDEX;
}

/* Adds what n evaluations of the nodes of a definition read to `same` and `other`; returns operations and reads of
 * one. */
static double add_reads(Facts *f, const GrDef *d, double n, bool shared, double *same, double *other)
{
    const IrGraph *g = rw_graph(f->x->rw);
    double operations = 0;
    for (uint32_t k = 0; k < f->nodes.n; k++) {
        const IrNode *x = ir_at(g, f->nodes.items[k]);
        operations += is_operation(x);
        if (x->op != OP_CALL) continue;
        const uint32_t of = IR_CALLEE(x->imm);
        operations++;
        if (shared ? is_of_term(g, d, x) : d->form == GR_TERM && is_own(g, d, x)) same[of] = WBB_MAX(same[of], n);
        else other[of] += n;
    }
    return operations;
}

/* The same of a whole definition; of a fold that is whole `one` of the terms. */
static void add_operands(WbbArena *a, const HloInstruction *i, double n, bool one, double *same, double *other)
{
    const double terms = one ? 1 : WBB_MAX(hlo_terms(a, i), 1);
    for (uint32_t o = 0; o < i->n_operands; o++) {
        const uint32_t of = i->operands[o]->id;
        if (hlo_kind(i->opcode) == HLO_IS_GROUP) same[of] = WBB_MAX(same[of], n);
        else other[of] += hlo_is_term(i, o) ? n * terms : n;
    }
}

double gr_evaluations(WbbArena *a, const GrGraph *x, bool shared, double *n)
{
    const HloComputation *c = x->c;
    Facts f = facts_of(a, x);
    double *same = n, *other = WBB_NEW_N(a, double, c->n_instructions + 1u), all = 0;
    for (uint32_t k = c->n_instructions; k-- > 0;) {
        const GrDef *d = &x->defs[k];
        const HloInstruction *i = d->i;
        n[k] += other[k];
        if (d->form == GR_VANISHED || d->form == GR_INPUT || n[k] <= 0) continue;
        if (d->form == GR_WHOLE) {
            all += n[k];
            add_operands(a, i, n[k], shared && n[k] <= 1, same, other);
            continue;
        }
        const bool once = shared && n[k] <= 1 && d->form == GR_FOLD;
        const double terms = once ? n[k] : n[k] * gr_terms(x, d);
        f.nodes.n = 0;
        gr_nodes(a, x, d, f.mark, &f.nodes);
        all += terms * add_reads(&f, d, terms, once, same, other);
        if (d->form != GR_FOLD) continue;
        f.nodes.n = 0;
        WBB_PUSH(a, &f.nodes, d->init);
        ir_gather(rw_graph(x->rw), a, &f.nodes, f.mark);
        add_reads(&f, d, n[k], false, same, other);
    }
    return all;
}

double gr_operations(WbbCx *cx, WbbArena *a, const HloComputation *c)
{
    double *n = WBB_NEW_N(a, double, c->n_instructions + 1u);
    n[c->root->id] = 1;
    return gr_evaluations(a, gr_make(cx, a, c), true, n);
}
