/* graph_terms: definitions of fusions against the emitter's own terms: graph_terms FILE.hlo.. prints for each file how
 * many stores were compared, and each that differs. Run by graph_values.py.
 *
 * The value of each store that no statement has computed before must be the node that comes of the graph where the
 * root's variables are the index of the store: reads replaced by the definitions they read, and those of inputs by
 * loads.
 */
#include "emit/emit.h"
#include "graph/graph.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    WbbCx *cx;
    WbbArena *a;
    const GrGraph *x;
    const Plan *plan;
    RwCx *rw; /* of the kernel */
    IrGraph *g;
    const IrKernel *kernel;
    bool other; /* a definition is neither a term nor an input */
    uint64_t compared, failed;
} Check;

static IrRef composed(Check *k, const GrDef *d, const IrRef *at);

static IrRef read(Check *k, const IrNode *n, const IrRef *made)
{
    const IrGraph *from = rw_graph(k->x->rw);
    const GrDef *d = &k->x->defs[(uint32_t)n->imm];
    const HloShape *s = d->i->shape;
    IrRef *at = WBB_NEW_N(k->a, IrRef, s->rank + 1u);
    for (uint32_t r = 0; r < s->rank; r++) at[r] = made[from->terms[n->a[0] + r].ref];
    if (d->form != GR_INPUT) return composed(k, d, at);
    return emit_load(k->rw, s->type, k->plan->first_leaf[d->i->number], ix_linear(k->rw, s, at));
}

/* The variable that a statement binds to an integer of that interval; 0: none does. */
static IrRef bound(const Check *k, const IrBlock *b, IrRef value, int64_t lo, int64_t hi)
{
    IrRef found = 0;
    for (uint32_t n = 0; n < b->n && !found; n++) {
        const IrStmt *s = b->items[n];
        const IrVar *v = s->kind == IR_BIND ? &k->g->vars[s->var] : NULL;
        if (v && s->value == value && v->lo == lo && v->hi == hi) return ir_var(k->g, s->var);
        found = bound(k, &s->body, value, lo, hi);
        if (!found) found = bound(k, &s->otherwise, value, lo, hi);
    }
    return found;
}

static IrRef remade(Check *k, const GrDef *d, const IrRef *at, IrRef r, const IrRef *made)
{
    const IrGraph *from = rw_graph(k->x->rw);
    const IrNode *n = ir_at(from, r);
    const bool of_index = n->a[0] && IR_SC(ir_at(from, n->a[0])->type) == SC_INDEX && !ir_in_pool(n);
    if (n->op == OP_CONST) return ir_const(k->g, n->type, n->imm);
    if (n->op == OP_CALL) return read(k, n, made);
    const GrStart *start = gr_start_of(k->x, r);
    if (start) return bound(k, &k->kernel->body, made[start->value], from->vars[n->imm].lo, from->vars[n->imm].hi);
    if (n->op == OP_VAR)
        for (uint32_t v = 0; v < d->i->shape->rank; v++)
            if (d->at[v] == r) return at[v];
    if (n->op == OP_SUM) {
        IrRef sum = ir_index(k->g, (int64_t)n->imm);
        for (uint32_t t = 0; t < n->a[1]; t++) {
            const IrTerm *x = &from->terms[n->a[0] + t];
            sum = rw_add(k->rw, sum, rw_scale(k->rw, made[x->ref], x->coefficient));
        }
        return sum;
    }
    if (n->op == OP_FLOORDIV) return rw_floordiv(k->rw, made[n->a[0]], (int64_t)ir_at(from, n->a[1])->imm);
    if (n->op == OP_MOD) return rw_mod(k->rw, made[n->a[0]], (int64_t)ir_at(from, n->a[1])->imm);
    if (of_index && n->op != OP_IDX) return rw_compare(k->rw, (ScOp)n->op, made[n->a[0]], made[n->a[1]]);
    if (n->op == OP_BAND && ir_is_const(k->g, made[n->a[0]]) && ir_is_const(k->g, made[n->a[1]]))
        return ir_at(k->g, made[n->a[0]])->imm ? made[n->a[1]] : made[n->a[0]];
    if (n->op == OP_SELECT && ir_is_const(k->g, made[n->a[0]])) /* a loop over one part of a concatenate */
        return made[ir_at(k->g, made[n->a[0]])->imm ? n->a[1] : n->a[2]];
    return ir_node(k->g, (ScOp)n->op, n->type, n->flags, made[n->a[0]], made[n->a[1]], made[n->a[2]], n->imm);
}

/* Marks, by ref, what r needs; in the graph of x also what its starts are. */
static bool *needed_by(WbbArena *a, const IrGraph *g, const GrGraph *x, IrRef r)
{
    bool *needed = WBB_NEW_N(a, bool, r + 1);
    needed[r] = true;
    for (; r > 0; r--) {
        const IrNode *n = ir_at(g, r);
        const GrStart *start = needed[r] && x ? gr_start_of(x, r) : NULL;
        if (start) needed[start->value] = true;
        for (uint32_t t = 0; needed[r] && ir_in_pool(n) && t < n->a[1]; t++) needed[g->terms[n->a[0] + t].ref] = true;
        for (uint32_t o = 0; needed[r] && !ir_in_pool(n) && o < 3; o++) needed[n->a[o]] = true;
    }
    return needed;
}

/* Is it what a statement has computed, as the branches of a choice, or lanes that are packed? */
static bool is_of_statements(Check *k, IrRef r)
{
    const bool *needed = needed_by(k->a, k->g, NULL, r);
    for (IrRef x = 1; x <= r; x++) {
        const ScOp op = (ScOp)ir_at(k->g, x)->op;
        if (needed[x] && (op == OP_VALUE || op == OP_PACK || op == OP_CALL)) return true;
    }
    return false;
}

/* The emitter branches there. */
static bool is_choice(const HloInstruction *i)
{
    return i->opcode == HLO_PAD || i->opcode == HLO_CONCATENATE || i->opcode == HLO_DYNAMIC_UPDATE_SLICE;
}

/* The node of a definition at an index of the kernel's graph. */
static IrRef composed(Check *k, const GrDef *d, const IrRef *at)
{
    const IrGraph *from = rw_graph(k->x->rw);
    if (d->form != GR_TERM || is_choice(d->i)) k->other = true;
    if (k->other) return 0;
    const bool *needed = needed_by(k->a, from, k->x, d->value);
    IrRef *made = WBB_NEW_N(k->a, IrRef, d->value + 1);
    for (IrRef r = 1; r <= d->value && !k->other; r++)
        if (needed[r]) made[r] = remade(k, d, at, r, made);
    return k->other ? 0 : made[d->value];
}

static void check_store(Check *k, const IrStmt *s)
{
    if (s->buffer < k->plan->n_operands || s->buffer >= k->plan->n_operands + k->plan->n_outputs) return;
    const PlanValue root = k->plan->roots[s->buffer - k->plan->n_operands];
    const HloShape *shape = root.i->shape;
    if (shape->type == SC_TUPLE || IR_SC(ir_at(k->g, s->value)->type) != shape->type) return;
    if (is_of_statements(k, s->value)) return;
    IrRef *at = WBB_NEW_N(k->a, IrRef, shape->rank + 1u);
    ix_delinear(k->rw, shape, s->index, at);
    const GrDef *d = &k->x->defs[root.i->id];
    k->other = false;
    const IrRef value = composed(k, d, at);
    if (k->other) return;
    k->compared++;
    if (value == s->value) return;
    k->failed++;
    WbbBuf b = wbb_buf(k->a);
    ir_print_shallow(&b, k->g, value, 6);
    wbb_put(&b, "\n   not ");
    ir_print_shallow(&b, k->g, s->value, 6);
    printf("%s: %s: %s\n", d->i->loc.file, d->i->name, b.text);
}

static void walk(Check *k, const IrBlock *b)
{
    for (uint32_t n = 0; n < b->n; n++) {
        const IrStmt *s = b->items[n];
        if (s->kind == IR_STORE) check_store(k, s);
        walk(k, &s->body), walk(k, &s->otherwise);
    }
}

static void check_file(WbbCx *cx, void *arg)
{
    const char *file = arg;
    size_t n;
    const char *text = wbb_read_file(cx, cx->arena, file, &n);
    const HloModule *m = hlo_normalise(cx, cx->arena, hlo_parse(cx, cx->arena, file, text, n));
    const HloFusion f = hlo_fusion(cx, m);
    const TgTarget *t = tg_find("sm_90");
    const Plan p = plan_fusion(cx, cx->arena, &f, t, (PlanOptions){.align = 16});
    Check k = {.cx = cx, .a = cx->arena, .plan = &p, .x = gr_make(cx, cx->arena, f.body)};
    for (uint32_t n_kernel = 0; n_kernel < p.n_kernels && p.n_kernels == 1; n_kernel++) {
        k.g = ir_graph_new(cx, cx->arena);
        k.rw = rw_new(cx, cx->arena, k.g, &ix_tables, t->tables, SC_EXACT);
        const IrKernel *kernel = emit_kernel(cx, cx->arena, k.rw, &p, &p.kernels[n_kernel]);
        k.kernel = kernel;
        walk(&k, &kernel->body);
    }
    printf("%s: %llu compared, %llu differ\n", file, (unsigned long long)k.compared, (unsigned long long)k.failed);
}

int main(int argc, char **argv)
{
    for (int f = 1; f < argc; f++) {
        WbbCx *cx = wbb_cx_new();
        const WbbStatus status = wbb_guard(cx, check_file, argv[f]);
        if (status != WBB_OK) printf("%s: 0 compared, 0 differ, status %d\n", argv[f], (int)status);
        wbb_cx_free(cx);
    }
    return 0;
}
