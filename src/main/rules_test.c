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
    static const char *const without_rule[] = {[TERM_FOLDED] = "constants", [TERM_APPROX] = "--accuracy"};
    const char *rule = s->tables ? rw_rule_name(c->arena, s->tables, s->rule) : without_rule[s->rule];
    const int depth = s->phase == RW_ISEL ? MAIN_SHALLOW : MAIN_DEEP;
    const char *before = main_node_text(c->arena, t->g, s->before, depth),
               *after = main_result_text(c->arena, t->g, t->target, s->after, depth);
    if (!c->json) {
        wbb_putf(c->out, "%-9s %s: %s -> %s\n", heading, rule, before, after);
        return;
    }
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "phase", main_phase_name[s->phase]);
    wbb_json_text(b, "rule", rule);
    wbb_json_text(b, "before", before);
    wbb_json_text(b, "after", after);
    main_json_end(c, "rules-test.1");
}

/* Steps from `first` on; the first of each phase has its name in front. */
static void put_steps(RulesCall *c, Term *t, RwPhase pass, uint32_t first)
{
    const char *last = "";
    for (uint32_t i = first; i < t->steps.n; i++) {
        const char *name = main_phase_name[t->steps.items[i].phase];
        put_step(c, t, &t->steps.items[i], strcmp(name, last) ? name : "");
        last = name;
    }
    if (first == t->steps.n && !c->json) wbb_putf(c->out, "%-9s nothing fires\n", main_phase_name[pass]);
}

/* One pass: prints its single steps; returns what the engine makes of the term. */
static IrRef one_pass(RulesCall *c, Term *t, RwPhase pass, IrRef r)
{
    const uint32_t first = t->steps.n;
    IrRef result = 0;
    if (pass != RW_ISEL) result = main_term_normal(t, pass, r);
    fputs(c->out->text, stdout); /* printed even if the pass declines */
    *c->out = wbb_buf(c->arena);
    const IrRef engine = main_term_pass(t, pass, r);
    put_steps(c, t, pass, first);
    if (result && engine != result && !c->json)
        wbb_putf(c->out,
                 "%-9s the engine, which rewrites the parts of a right side while it makes them, ends with %s\n", "",
                 main_node_text(c->arena, t->g, engine, MAIN_DEEP));
    return engine;
}

static void put_result(RulesCall *c, Term *t, IrRef r)
{
    const char *text = main_term_text(t, r);
    if (!c->json) {
        wbb_putf(c->out, "%-9s %s\n", "result", text);
        return;
    }
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "result", text);
    wbb_json_uint(b, "steps", t->steps.n);
    main_json_end(c, "rules-test.1");
}

typedef struct {
    const char *term, *target, *phase;
    Words lets, disable;
    const char *accuracy;
    bool approx, json;
} TestOptions;

static WbbStatus test(const Call *call)
{
    const TestOptions *o = call->options;
    RulesCall *c = main_rules_call(call, o->target, o->json);
    const int only = main_phase(o->phase);
    IrGraph *g = ir_graph_new(c->cx, c->arena);
    IrRef r = ir_parse_term(c->cx, c->arena, g, "term", o->term, o->lets.items, o->lets.n);
    Term t = main_term_new(c->cx, c->arena, g, c->target, main_accuracy(o->accuracy, o->approx));
    for (uint32_t i = 0; i < o->disable.n; i++) rw_disable(t.rw, o->disable.items[i]);
    const ScType type = IR_SC(ir_at(g, r)->type);
    const ScType first = ir_at(g, r)->a[0] && ir_at(g, r)->op != OP_SUM ? IR_SC(ir_at(g, ir_at(g, r)->a[0])->type)
                                                                        : type;
    if (type == SC_INDEX || first == SC_INDEX || only == RW_INDEX) {
        if (only > RW_INDEX)
            wbb_fail(c->cx, (WbbLoc){0},
                     "--phase %s: the term is index arithmetic, which the index rules alone rewrite",
                     main_phase_name[only]);
        r = one_pass(c, &t, RW_INDEX, r);
    } else {
        for (RwPhase s = RW_SIMPLIFY; s <= RW_ISEL; s++)
            if (only < 0 || only == (int)s) r = one_pass(c, &t, s, r);
    }
    put_result(c, &t, r);
    return main_rules_end(c, WBB_OK);
}

static const Positional positionals[] = {
    {ONE("TERM", TestOptions, term, "a term as in IR text: add.bf16(x, 0.0), (8*i + j) // 8")}, {0}};
static const Option options[] = {
    MAIN_OPTION_TARGET(TestOptions),
    MAIN_OPTION_PHASE(TestOptions),
    {LIST("--let", TestOptions, lets, "LET", "what a name is: 'j in 0..8' bounds an index, 'x: bf16' gives a type")},
    MAIN_OPTION_ACCURACY(TestOptions),
    MAIN_OPTION_DISABLE(TestOptions),
    MAIN_OPTION_JSON(TestOptions),
    {0}};
static const Example examples[] = {
    {"rules test 'mul.bf16(a, b)' --target sm_80", "what sm_80, which cannot multiply bf16, does instead"},
    {"rules test '(i*8 + j) // 8' --let 'j in 0..8'", "index arithmetic"},
    {0}};
const Command main_rules_test = {
    .name = "test",
    .summary = "rewrite a term step by step",
    .details = "A name is any value of the type that its place has. Without --phase the term is simplified, lowered "
               "and selected; index arithmetic is rewritten by the index rules.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "no rule selects an instruction for an operation",
    .size = sizeof(TestOptions),
    .run = test,
};
