/* print.c: definitions as text, operands before their readers.
 *
 *     y[d0 < 8, d1 < 16]: f32 := exp.f32(sub.f32(x[d0, d1], m[d0]))
 *     r[d0 < 8, d1 < 16]: f32 := y[s0, d1] let s0 = max.i32(l[d0], 0) in 0..8
 */
#include "graph/graph.h"

static void put_variables(WbbBuf *b, const IrGraph *g, const IrRef *at, uint32_t n)
{
    wbb_put(b, "[");
    for (uint32_t k = 0; k < n; k++) {
        const IrNode *x = ir_at(g, at[k]);
        if (k) wbb_put(b, ", ");
        if (x->op == OP_VAR) wbb_putf(b, "%s < %lld", g->vars[x->imm].name, (long long)g->vars[x->imm].hi + 1);
        else wbb_put(b, "0");
    }
    wbb_put(b, "]");
}

static void put_fold(WbbBuf *b, IrPrinter *p, const IrGraph *g, const GrDef *d)
{
    wbb_putf(b, "%s.%s", sc_op_info[d->op].name, sc_type_info[d->type].name);
    put_variables(b, g, d->ranges, d->n_ranges);
    wbb_put(b, " ");
    ir_print_next(p, d->value);
    if (d->condition) {
        wbb_put(b, " where ");
        ir_print_next(p, d->condition);
    }
    wbb_put(b, " from ");
    ir_print_next(p, d->init);
}

static void put_starts(WbbBuf *b, IrPrinter *p, const GrGraph *x, const GrDef *d)
{
    const IrGraph *g = rw_graph(x->rw);
    for (uint32_t k = 0; k < d->n_starts; k++) {
        const GrStart *s = gr_start_of(x, d->starts[k]);
        const IrVar *v = &g->vars[ir_at(g, s->variable)->imm];
        wbb_putf(b, "%s%s = ", k ? ", " : " let ", v->name);
        ir_print_next(p, s->value);
        wbb_putf(b, " in %lld..%lld", (long long)v->lo, (long long)v->hi + 1);
    }
}

static void put_whole(WbbBuf *b, const HloInstruction *i)
{
    wbb_putf(b, "%s: ", i->name);
    hlo_print_shape(b, i->shape);
    if (i->opcode == HLO_PARAMETER) wbb_putf(b, " is parameter %lld", (long long)i->number);
    else wbb_putf(b, " is %s", i->spelling ? i->spelling : hlo_opcode_name(i->opcode));
    for (uint32_t k = 0; k < i->n_operands; k++) wbb_putf(b, "%s %s", k ? "," : " of", i->operands[k]->name);
}

const char *const *gr_names(WbbArena *a, const GrGraph *x)
{
    const char **names = WBB_NEW_N(a, const char *, x->c->n_instructions + 1u);
    for (uint32_t k = 0; k < x->c->n_instructions; k++) names[k] = x->c->instructions[k]->name;
    return names;
}

void gr_print(WbbBuf *out, const GrGraph *x)
{
    const IrGraph *g = rw_graph(x->rw);
    WbbArena *scratch = wbb_arena_new(g->cx);
    IrPrinter *p = ir_reads_printer(out, scratch, g, gr_names(scratch, x));
    for (uint32_t k = 0; k < x->c->n_instructions; k++) {
        const GrDef *d = &x->defs[k];
        if (d->form == GR_VANISHED) continue;
        if (d->form == GR_INPUT || d->form == GR_WHOLE) {
            put_whole(out, d->i);
        } else {
            wbb_put(out, d->i->name);
            put_variables(out, g, d->at, d->i->shape->rank);
            wbb_putf(out, ": %s := ", sc_type_info[d->i->shape->type].name);
            if (d->form == GR_FOLD) put_fold(out, p, g, d);
            else ir_print_next(p, d->value);
            put_starts(out, p, x, d);
        }
        wbb_put(out, "\n");
    }
    wbb_arena_free(scratch);
}
