/* rules_why.c: `rules why RULE FILE.hlo`: where a rule fired; else the node at which most of it matched, and what
 * failed there.
 *
 *     $ warpburg rules why arith.py:25 swish.hlo
 *     patterns/arith.py:25: neg.F(neg.F(a)) -> a
 *     did not fire. Nearest of 3 nodes with its root:
 *       neg.bf16(mul.bf16(load.bf16 %x[t], ...))  <- %n
 *       operand 1 is mul, not neg
 */
#include "main/rules.h"

#include <string.h>

typedef struct {
    const char *rule, *file, *target;
    Words disable;
    const char *accuracy, *assume;
    bool approx, json;
} WhyOptions;

static const char *text_of(const Firings *x, const IrGraph *g, const char *const *names, IrRef r)
{
    const char *text = main_reads_text(x->c->arena, g, names, r, MAIN_SHALLOW + 1);
    return x->result.kernel && !names ? main_kernel_text(x->c->arena, x->result.kernel, text) : text;
}

/* --- a rule that fired ------------------------------------------------------------------------ */
static uint32_t put_firings(const Firings *x, const char *name)
{
    enum { SHOWN = 10 };
    RulesCall *c = x->c;
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->events.n; i++) {
        const RwEvent *e = &x->events.items[i];
        if (!rw_rule_is(c->arena, e->tables, e->rule, name)) continue;
        const char *origin = main_origin(c->arena, &x->result, e->g, e->names, e->root),
                   *rule = rw_rule_name(c->arena, e->tables, e->rule);
        n++;
        if (c->json) {
            WbbBuf *b = main_json_begin(c);
            wbb_json_text(b, "rule", rule);
            wbb_json_bool(b, "fired", true);
            wbb_json_text(b, "node", text_of(x, e->g, e->names, e->root));
            wbb_json_text(b, "hlo", origin);
            main_json_end(c, "rules-why.1");
        } else if (n <= SHOWN) {
            wbb_putf(c->out, "fired: %s: %s%s%s\n", rule, text_of(x, e->g, e->names, e->root),
                     *origin ? "  <- " : "", origin);
        }
    }
    if (n > SHOWN && !c->json)
        wbb_putf(c->out, "and %u times more; `warpburg rules trace %s --rule %s` shows them all\n", n - SHOWN,
                 x->file, name);
    return n;
}

/* --- a rule that did not fire ----------------------------------------------------------------- */
typedef struct {
    const RwTables *tables;
    uint32_t rule;
    RwCx *rw;   /* whose graph has .. */
    IrRef node; /* 0: none */
    RwWhy why;
    uint32_t n_roots; /* nodes at which the rule begins to match */
    bool matches;     /* the whole rule matches */
    bool taken;       /* another rule of the same phase fired at the node */
} Nearest;

/* Does the rule match more of x than of y? Of equal ones, x if no other rule took it. */
static bool nearer(const Nearest *x, const Nearest *y)
{
    if (x->matches != y->matches) return x->matches;
    const uint64_t p = x->why.passed * (uint64_t)y->why.total, q = y->why.passed * (uint64_t)x->why.total;
    return p != q ? p > q : y->taken && !x->taken;
}

/* The firing of a rule of a phase at a node; NULL: none. */
static const RwEvent *firing_at(const Firings *x, const IrGraph *g, IrRef node, RwPhase phase)
{
    for (uint32_t i = 0; i < x->events.n; i++) {
        const RwEvent *e = &x->events.items[i];
        if (e->g == g && e->root == node && e->tables->rules[e->rule].phase == phase) return e;
    }
    return NULL;
}

/* The operation at the root of a rule, from its text; OP_NONE for index arithmetic, which has operators. */
static ScOp root_of(const RwRule *r) { return sc_op_named(r->text, strcspn(r->text, ".(")); }

/* The node, of all of a graph, at which most of the rule matches, or the best so far. */
static void look(const Firings *x, RwCx *rw, Nearest *best)
{
    const IrGraph *g = rw_graph(rw);
    const RwRule *rule = &best->tables->rules[best->rule];
    const ScOp op = root_of(rule);
    const IrRef n = g->n; /* rw_why makes nodes, too */
    uint32_t roots = best->n_roots;
    for (IrRef r = 1; r < n; r++) {
        if (op != OP_NONE && ir_at(g, r)->op != op) continue;
        WbbArena *scratch = wbb_arena_new(x->c->cx);
        Nearest now = {.tables = best->tables, .rule = best->rule, .rw = rw, .node = r};
        now.matches = rw_why(rw, now.tables, now.rule, r, scratch, &now.why);
        const bool begins = now.matches || now.why.passed > 0;
        roots += begins;
        now.taken = begins && firing_at(x, g, r, (RwPhase)rule->phase) != NULL;
        if (begins && (!best->node || nearer(&now, best))) {
            *best = now;
            best->why.text = wbb_format(x->c->arena, "%s", now.why.text ? now.why.text : "");
        }
        wbb_arena_free(scratch);
    }
    best->n_roots = roots;
}

static bool is_about_arrays(RwPhase phase) { return phase == RW_ARRAYS || phase == RW_OPTIONS; }

/* The same of all that the compile made: a rule about arrays is about terms of no kernel. */
static Nearest nearest_of(const Firings *x, const RwTables *t, uint32_t rule)
{
    Nearest best = {.tables = t, .rule = rule, .rw = x->result.rw, .why = {.total = 1}};
    if (!is_about_arrays((RwPhase)t->rules[rule].phase)) look(x, x->result.rw, &best);
    else
        for (RwCx *rw = rw_joined(x->result.rw); rw; rw = rw_joined(rw)) look(x, rw, &best);
    return best;
}

/* Why the rule did not fire at a node that it matches. */
static const char *instead(const Firings *x, const Nearest *b)
{
    WbbArena *a = x->c->arena;
    const RwEvent *e = firing_at(x, rw_graph(b->rw), b->node, (RwPhase)b->tables->rules[b->rule].phase);
    if (e)
        return wbb_format(a, "the whole rule matches, but %s: %s, which is tried first, fired",
                          rw_rule_name(a, e->tables, e->rule), e->tables->rules[e->rule].text);
    return wbb_format(a, "the whole rule matches, but the node does not exist when the pass with this rule, %s, runs",
                      main_phase_name[b->tables->rules[b->rule].phase]);
}

static void put_nearest_json(const Firings *x, const Nearest *n, const char *what, const char *origin)
{
    RulesCall *c = x->c;
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "rule", rw_rule_name(c->arena, n->tables, n->rule));
    wbb_json_bool(b, "fired", false);
    wbb_json_text(b, "node", n->node ? text_of(x, rw_graph(n->rw), rw_names(n->rw), n->node) : "");
    wbb_json_text(b, "hlo", origin);
    wbb_json_uint(b, "roots", n->n_roots);
    wbb_json_uint(b, "passed", n->why.passed);
    wbb_json_uint(b, "of", n->why.total);
    wbb_json_text(b, "why", what);
    main_json_end(c, "rules-why.1");
}

static void put_nearest(const Firings *x, const Nearest *n)
{
    RulesCall *c = x->c;
    const RwRule *rule = &n->tables->rules[n->rule];
    const char *what = n->matches ? instead(x, n) : n->node ? n->why.text : "";
    const char *origin = n->node ? main_origin(c->arena, &x->result, rw_graph(n->rw), rw_names(n->rw), n->node) : "";
    if (x->result.kernel && !rw_names(n->rw)) what = main_kernel_text(c->arena, x->result.kernel, what);
    if (c->json) {
        put_nearest_json(x, n, what, origin);
        return;
    }
    wbb_putf(c->out, "%s: %s\n", rw_rule_name(c->arena, n->tables, n->rule), rule->text);
    if (!n->node) {
        wbb_put(c->out, "did not fire: no node has the operation and type of its root\n");
        return;
    }
    wbb_putf(c->out, "did not fire. Nearest of %u node%s with its root:\n", n->n_roots, n->n_roots == 1 ? "" : "s");
    wbb_putf(c->out, "  %s%s%s\n  %s", text_of(x, rw_graph(n->rw), rw_names(n->rw), n->node), *origin ? "  <- " : "",
             origin, what);
    if (!n->matches) wbb_putf(c->out, " (%u of %u steps hold)", n->why.passed, n->why.total);
    const RwEvent *e = n->taken && !n->matches ? firing_at(x, rw_graph(n->rw), n->node, (RwPhase)rule->phase) : NULL;
    if (e) wbb_putf(c->out, "\n  %s fired at that node", rw_rule_name(c->arena, e->tables, e->rule));
    wbb_put(c->out, "\n");
}

/* --- a number or strategy that plans are chosen by --------------------------------------------- */
typedef struct {
    const WhyOptions *o;
    TgPlace at; /* of the strategy; a number is at TG_AT_FUSION */
    Words disable;
    const char *text;
} Planned;

static void plan_of(WbbCx *cx, void *arg)
{
    Planned *x = arg;
    PipeResult r;
    const PipeOptions p = {.target = x->o->target,
                           .accuracy = main_accuracy(x->o->accuracy, x->o->approx),
                           .stage = PIPE_AT_PLAN,
                           .disable = x->disable.items,
                           .n_disable = x->disable.n};
    if (x->at == TG_AT_MODULE || x->at == TG_AT_EDGE) {
        x->text = main_rules_kernels(cx, cx->arena, &p, x->o->file, x->o->assume).plan;
        if (x->text) return;
    }
    size_t n;
    const char *text = main_read_hlo(cx, cx->arena, x->o->file, x->o->assume, &n);
    pipe_compile(cx, cx->arena, &p, x->o->file, text, n, &r);
    x->text = r.emitted;
}

/* The lines of a text that another one lacks, each with a word before it. */
static void put_lines(RulesCall *c, const char *word, const char *text, const char *other)
{
    for (const char *p = text; *p;) {
        const size_t n = strcspn(p, "\n");
        const char *line = wbb_format(c->arena, "%.*s\n", (int)n, p);
        if (!strstr(other, line)) wbb_putf(c->out, "%s%s", word, line);
        p += n + (p[n] != 0);
    }
}

/* What it is, of either kind. */
static void put_choice_json(RulesCall *c, WbbBuf *out, const TgTune *t, const TgStrategy *s)
{
    wbb_json_text(out, "rule", wbb_format(c->arena, "%s:%u", t ? t->file : s->file, t ? t->line : s->line));
    wbb_json_text(out, t ? "number" : "strategy", t ? t->name : s->name);
    if (t) wbb_json_int(out, "value", t->value);
    if (t) wbb_json_int(out, "off", t->off);
}

/* What the plan is with the number or strategy, and what it is without it. */
static WbbStatus why_choice(RulesCall *c, const WhyOptions *o, const TgTune *t, const TgStrategy *strategy)
{
    const char **items = WBB_NEW_N(c->arena, const char *, o->disable.n + 1);
    for (uint32_t i = 0; i < o->disable.n; i++) items[i] = o->disable.items[i];
    items[o->disable.n] = o->rule;
    const TgPlace at = strategy ? strategy->at : TG_AT_FUSION;
    Planned with = {.o = o, .at = at, .disable = o->disable};
    Planned without = {.o = o, .at = at, .disable = {items, o->disable.n + 1}};
    const WbbStatus s = wbb_guard(c->cx, plan_of, &with);
    if (s != WBB_OK) wbb_rethrow(c->cx, s);
    const WbbStatus other = wbb_guard(c->cx, plan_of, &without);
    if (other == WBB_FAILED) wbb_rethrow(c->cx, other);
    const char *a = with.text, *b = other == WBB_OK ? without.text : "declined\n";
    const bool decides = strcmp(a, b) != 0;
    if (c->json) {
        WbbBuf *out = main_json_begin(c);
        put_choice_json(c, out, t, strategy);
        wbb_json_bool(out, "decides", decides);
        wbb_json_text(out, "with", a);
        wbb_json_text(out, "without", b);
        main_json_end(c, "rules-why.1");
        return main_rules_end(c, WBB_OK);
    }
    if (t) wbb_putf(c->out, "%s:%u: %s = %lld: %s\n", t->file, t->line, t->name, (long long)t->value, t->because);
    else wbb_putf(c->out, "%s:%u: %s: %s\n", strategy->file, strategy->line, strategy->name, strategy->because);
    if (!decides) wbb_put(c->out, "decides nothing here: the plan is the same without it\n");
    else wbb_put(c->out, "decides. With it, and without it:\n");
    if (decides) put_lines(c, "  + ", a, b), put_lines(c, "  - ", b, a);
    return main_rules_end(c, WBB_OK);
}

/* Where the name is that of a step: the step, and the rules whose right sides it helps to make. */
static void put_step(RulesCall *c, const char *name)
{
    const RwTables *t = c->target->tables;
    for (uint32_t i = 0; i < t->n_steps && !c->json; i++) {
        const RwStep *s = &t->steps[i];
        if (!rw_step_is(s, name)) continue;
        wbb_putf(c->out, "%s:%u: a step of %s, which helps to make the right sides of", s->file, s->line, s->name);
        for (uint32_t k = 0; k < t->n_rules; k++)
            if (rw_rule_is(c->arena, t, k, name)) wbb_putf(c->out, " %s", rw_rule_name(c->arena, t, k));
        wbb_put(c->out, "\n");
        return;
    }
}

static WbbStatus why(const Call *call)
{
    const WhyOptions *o = call->options;
    RulesCall *c = main_rules_call(call, o->target, o->json);
    const char *name = o->rule;
    if (tg_is_choice(c->target, name))
        return why_choice(c, o, tg_tune_at(c->target, name), tg_strategy_at(c->target, name));
    main_rule_must_exist(c, name);
    Firings x = {.c = c, .file = o->file, .accuracy = main_accuracy(o->accuracy, o->approx), .assume = o->assume,
                 .disable = &o->disable};
    const WbbStatus s = wbb_guard(c->cx, main_firings, &x);
    if (s == WBB_FAILED || !x.result.rw) wbb_rethrow(c->cx, s);
    put_step(c, name);
    if (put_firings(&x, name)) return main_rules_end(c, s);
    Nearest best = {.why = {.total = 1}};
    for (int which = 0; which < 2; which++) {
        const RwTables *t = main_tables(c->target, which);
        for (uint32_t i = 0; i < t->n_rules; i++) {
            if (!rw_rule_is(c->arena, t, i, name)) continue;
            const Nearest b = nearest_of(&x, t, i);
            if (!best.tables || nearer(&b, &best)) best = b;
        }
    }
    put_nearest(&x, &best);
    return main_rules_end(c, s);
}

static const Positional positionals[] = {
    {ONE("RULE", WhyOptions, rule, "FILE.py:LINE or FILE.py:LINE[INSTANCE]")},
    {ONE("FILE.hlo", WhyOptions, file, "HLO text of a fusion"), .value = VALUE_FILE},
    {0}};
static const Option options[] = {MAIN_OPTION_TARGET(WhyOptions),
                                 MAIN_OPTION_ACCURACY(WhyOptions),
                                 MAIN_OPTION_ASSUME(WhyOptions),
                                 MAIN_OPTION_DISABLE(WhyOptions),
                                 MAIN_OPTION_JSON(WhyOptions),
                                 {0}};
static const Example examples[] = {
    {"rules why arith.py:25 swish.hlo", "the node at which most of that rule matched, and what failed there"}, {0}};
const Command main_rules_why = {
    .name = "why",
    .summary = "say why a rule did not fire: the nearest miss, and what failed there",
    .details = "Of all nodes that were ever made, the one at which most of the rule matched. Where the rule did fire: "
               "where. Of a number that plans are chosen by (patterns/layouts.py), or a strategy "
               "(patterns/strategies.py): the plan with and without it.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "the fusion is declined; the message has the reason",
    .size = sizeof(WhyOptions),
    .run = why,
};
