/* rules_test.c: `rules test TERM`: each rewrite of a term typed on the command line, phase by phase.
 *
 *     $ warpburg rules test 'mul.bf16(a, b)' --target sm_80
 *     simplify  nothing fires
 *     lower     patterns/arith.py:121: mul.bf16(a, b) -> fma.bf16(a, b, -0.0)
 *     isel      patterns/tiles.py:13: fma.bf16(a, b, -0.0) -> intr 'llvm.fma'
 *     result    llvm.fma(a, b, -0.0)
 */
#include "main/rules_term.h"

#include <stdio.h>
#include <string.h>

static void put_step(RulesCall *c, Term *t, const TermStep *s, const char *heading)
{
    static const char *const silent[] = {"constants", "--approx"};
    const char *rule = s->tables ? rw_rule_name(c->arena, s->tables, s->rule) : silent[s->rule];
    const int depth = s->phase == RW_ISEL ? MAIN_SHALLOW : MAIN_DEEP;
    const char *before = main_node_text(c->arena, t->g, s->before, depth), *after = main_result_text(c->arena, t->g, t->target, s->after, depth);
    if (!c->o->json) {
        wbb_putf(c->out, "%-9s %s: %s -> %s\n", heading, rule, before, after);
        return;
    }
    wbb_putf(c->out, "{\"phase\": \"%s\", \"rule\": ", main_phase_name[s->phase]);
    wbb_put_json(c->out, rule);
    wbb_put(c->out, ", \"before\": ");
    wbb_put_json(c->out, before);
    wbb_put(c->out, ", \"after\": ");
    wbb_put_json(c->out, after);
    wbb_put(c->out, "}\n");
}

/* Steps from `first` on, under the name of their phase where that changes. */
static void put_steps(RulesCall *c, Term *t, RwPhase pass, uint32_t first)
{
    const char *last = "";
    for (uint32_t i = first; i < t->steps.n; i++) {
        const char *name = main_phase_name[t->steps.items[i].phase];
        put_step(c, t, &t->steps.items[i], strcmp(name, last) ? name : "");
        last = name;
    }
    if (first == t->steps.n && !c->o->json) wbb_putf(c->out, "%-9s nothing fires\n", main_phase_name[pass]);
}

/* One pass: single steps, and the engine's own result, which decides. */
static IrRef one_pass(RulesCall *c, Term *t, RwPhase pass, IrRef r)
{
    const uint32_t first = t->steps.n;
    IrRef result = 0;
    if (pass != RW_ISEL) result = main_term_normal(t, pass, r);
    fputs(c->out->text, stdout); /* what there is so far, should the pass decline */
    *c->out = wbb_buf(c->arena);
    const IrRef engine = main_term_pass(t, pass, r);
    put_steps(c, t, pass, first);
    if (result && engine != result && !c->o->json)
        wbb_putf(c->out, "%-9s the engine, which applies rules within a right side while it makes it, ends with %s\n", "", main_node_text(c->arena, t->g, engine, MAIN_DEEP));
    return engine;
}

static void put_result(RulesCall *c, Term *t, IrRef r)
{
    const char *text = main_term_text(t, r);
    if (!c->o->json) {
        wbb_putf(c->out, "%-9s %s\n", "result", text);
        return;
    }
    wbb_put(c->out, "{\"result\": ");
    wbb_put_json(c->out, text);
    wbb_putf(c->out, ", \"steps\": %u}\n", t->steps.n);
}

WbbStatus main_rules_test(RulesCall *c)
{
    const int only = main_phase(c);
    IrGraph *g = ir_graph_new(c->cx, c->arena);
    IrRef r = ir_parse_term(c->cx, c->arena, g, "term", c->o->files.list[1], c->o->lets.list, c->o->lets.n);
    Term t = main_term_new(c->cx, c->arena, g, c->target, c->o->approx);
    for (uint32_t i = 0; i < c->o->disable.n; i++) rw_disable(t.rw, c->o->disable.list[i]);
    const ScType type = IR_SC(ir_at(g, r)->type);
    const ScType first = ir_at(g, r)->a[0] && ir_at(g, r)->op != OP_SUM ? IR_SC(ir_at(g, ir_at(g, r)->a[0])->type) : type;
    if (type == SC_INDEX || first == SC_INDEX || only == RW_INDEX) {
        if (only > RW_INDEX) wbb_fail(c->cx, (WbbLoc){0}, "--phase %s: the term is index arithmetic, which the index rules alone rewrite", main_phase_name[only]);
        r = one_pass(c, &t, RW_INDEX, r);
    } else {
        for (RwPhase s = RW_SIMPLIFY; s <= RW_ISEL; s++)
            if (only < 0 || only == (int)s) r = one_pass(c, &t, s, r);
    }
    put_result(c, &t, r);
    return WBB_OK;
}
