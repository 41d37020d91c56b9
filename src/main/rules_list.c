/* rules_list.c: `rules list`, `rules size`, `rules budget`: the contents of the tables that rules become.
 *
 *     warpburg rules list --phase lower --flat
 *     patterns/arith.py:152: mul.bf16(a, b) -> fma.bf16(a, b, -0.0)
 */
#include "main/rules.h"

#include <string.h>

typedef struct {
    const char *target, *phase;
    Words rules;
    bool flat, json, strategies;
} ListOptions;

typedef struct {
    const char *target;
    bool json;
} TableOptions; /* of size and budget */

/* A rule as JSON, or as in the .rules file of a target. */
static void put_flat(RulesCall *c, const RwTables *t, uint32_t i)
{
    const RwRule *r = &t->rules[i];
    const char *name = rw_rule_name(c->arena, t, i);
    if (!c->json) {
        wbb_putf(c->out, "%s: %s\n", name, r->text);
        return;
    }
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "phase", main_phase_name[r->phase]);
    wbb_json_text(b, "name", name);
    wbb_json_text(b, "text", r->text);
    wbb_json_text(b, "ledger", r->ledger);
    main_json_end(c, "rules-list.1");
}

static void put_with_ledger(RulesCall *c, const RwTables *t, uint32_t i)
{
    const RwRule *r = &t->rules[i];
    wbb_putf(c->out, "%-9s %s: %s", main_phase_name[r->phase], rw_rule_name(c->arena, t, i), r->text);
    wbb_putf(c->out, "%s%s\n", r->ledger[0] ? "  # " : "", r->ledger);
}

/* The lines of functions that make the rule's right side, in the order of computing, each with how many operations it
 * makes. */
static void put_made(RulesCall *c, const RwTables *t, uint32_t rule)
{
    const RwRule *r = &t->rules[rule];
    for (uint32_t i = 0; i < r->n_made; i++) {
        uint32_t n = 0, before = 0;
        for (uint32_t k = 0; k < r->n_made; k++) n += r->made[k] == r->made[i];
        while (r->made[before] != r->made[i]) before++;
        if (!r->made[i] || before < i) continue;
        const RwStep *s = &t->steps[r->made[i] - 1];
        wbb_putf(c->out, "  step      %s:%u: %s, %u operation%s\n", s->file, s->line, s->name, n, n == 1 ? "" : "s");
    }
}

/* The rows of patterns/strategies.py, in the order of trying. */
static void put_strategy(RulesCall *c, const TgStrategy *s)
{
    static const char *const place[] = {"fusion", "text", "module", "edge"}, *const taken[] = {"first", "cheaper", "tested"};
    const char *name = wbb_format(c->arena, "%s:%u", s->file, s->line);
    if (c->json) {
        WbbBuf *b = main_json_begin(c);
        wbb_json_text(b, "strategy", s->name);
        wbb_json_text(b, "place", name);
        wbb_json_text(b, "at", place[s->at]);
        wbb_json_text(b, "taken", taken[s->taken]);
        wbb_json_int(b, "save", s->save);
        wbb_json_text(b, "needed", s->needed);
        wbb_json_text(b, "because", s->because);
        main_json_end(c, "rules-list.1");
        return;
    }
    wbb_putf(c->out, "%-6s %s: %s: %s", place[s->at], name, s->name, s->because);
    if (s->taken == TG_CHEAPER) wbb_putf(c->out, "  # must save %lld %%", (long long)s->save);
    if (s->taken == TG_TESTED) wbb_putf(c->out, "  # where its own test holds: %s", s->tested);
    if (*s->needed) wbb_putf(c->out, "  # cannot be left out: %s", s->needed);
    wbb_put(c->out, "\n");
}

static WbbStatus list(const Call *call)
{
    const ListOptions *o = call->options;
    RulesCall *c = main_rules_call(call, o->target, o->json);
    for (uint32_t i = 0; o->strategies && i < c->target->n_strategies; i++) put_strategy(c, &c->target->strategies[i]);
    if (o->strategies) return main_rules_end(c, WBB_OK);
    const int only = main_phase(o->phase);
    main_rules_must_exist(c, &o->rules);
    for (int which = 0; which < 2; which++) {
        const RwTables *t = main_tables(c->target, which);
        for (uint32_t i = 0; i < t->n_rules; i++) {
            const bool of_phase = o->rules.n || only < 0 || t->rules[i].phase == only;
            if (!of_phase || !main_rule_is_one_of(c->arena, t, i, &o->rules)) continue;
            if (o->flat || o->json) put_flat(c, t, i);
            else put_with_ledger(c, t, i);
            if (o->rules.n && !c->json) put_made(c, t, i);
        }
    }
    return main_rules_end(c, WBB_OK);
}

/* --- size ------------------------------------------------------------------------------------- */
/* Bytes of texts. Strings that several rules share are counted once, as a linker keeps them. */
static size_t text_bytes(const RwTables *t)
{
    size_t bytes = 0;
    for (uint32_t i = 0; i < t->n_rules; i++) {
        const RwRule *r = &t->rules[i];
        bytes += strlen(r->text) + strlen(r->names) + strlen(r->when) + strlen(r->ledger) + 4;
        if (r->instance[0]) bytes += strlen(r->instance) + 1;
        if (i == 0 || strcmp(r->file, t->rules[i - 1].file)) bytes += strlen(r->file) + 1;
    }
    for (uint32_t i = 0; i < t->n_instrs; i++) bytes += strlen(t->instrs[i].text) + 1;
    return bytes;
}

typedef struct {
    const char *name;
    size_t bytes;
    const char *meaning;
} Part;
enum { PARTS = 10, HOT = 5 }; /* HOT: parts that matching and building read */

static void parts_of(const RwTables *t, Part parts[PARTS])
{
    const size_t code = sizeof *t->code, imm = sizeof *t->imm;
    const Part all[PARTS] = {
        {"tries", (t->n_code - t->n_build - t->n_filter) * code, "match programs, shared prefixes once"},
        {"filters", t->n_filter * code + t->n_rows * imm, "which rules of a long list are worth trying"},
        {"builds", t->n_build * code, "programs that make right sides"},
        {"immediates", (t->n_imm - t->n_rows) * imm, "numbers that they name"},
        {"entries", sizeof(uint32_t[RW_PHASE_COUNT][OP_COUNT]), "where an operation's trie starts"},
        {"tiles", t->n_instrs * sizeof *t->instrs, "rows of the instruction table"},
        {"packed", t->n_packed * sizeof *t->packed, "what vectorising may build"},
        {"free", t->n_free * sizeof *t->free, "modifiers that cost nothing"},
        {"cold", t->n_rules * sizeof *t->rules, "file, line, phase of a rule"},
        {"texts", text_bytes(t), "texts of rules and tiles"}};
    memcpy(parts, all, sizeof all);
}

static void put_size_json(RulesCall *c, const RwTables *t, const Part *parts, size_t hot)
{
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "tables", t->name);
    wbb_json_uint(b, "rules", t->n_rules);
    for (int i = 0; i < PARTS; i++) wbb_json_uint(b, parts[i].name, parts[i].bytes);
    wbb_json_uint(b, "hot", hot);
    main_json_end(c, "rules-size.1");
}

static void put_size(RulesCall *c, const RwTables *t)
{
    Part parts[PARTS];
    size_t hot = 0;
    parts_of(t, parts);
    for (int i = 0; i < HOT; i++) hot += parts[i].bytes;
    if (c->json) {
        put_size_json(c, t, parts, hot);
        return;
    }
    uint32_t by_phase[RW_PHASE_COUNT] = {0};
    for (uint32_t i = 0; i < t->n_rules; i++) by_phase[t->rules[i].phase]++;
    wbb_putf(c->out, "%s: %u rules (", t->name, t->n_rules);
    const char *comma = "";
    for (int s = 0; s < RW_PHASE_COUNT; s++)
        if (by_phase[s]) wbb_putf(c->out, "%s%u %s", comma, by_phase[s], main_phase_name[s]), comma = ", ";
    wbb_put(c->out, ")\n");
    for (int i = 0; i < PARTS; i++)
        wbb_putf(c->out, "  %-11s %7zu bytes  %s\n", parts[i].name, parts[i].bytes, parts[i].meaning);
    wbb_putf(c->out, "  %-11s %7zu bytes  the first five: what matching and building read; %.1f a rule\n", "hot", hot,
             t->n_rules ? (double)hot / t->n_rules : 0.0);
}

static WbbStatus size(const Call *call)
{
    const TableOptions *o = call->options;
    RulesCall *c = main_rules_call(call, NULL, o->json);
    uint32_t n;
    const TgTarget *const *all = tg_all(&n);
    put_size(c, main_tables(all[0], 0));
    for (uint32_t i = 0; i < n; i++) put_size(c, all[i]->tables);
    return main_rules_end(c, WBB_OK);
}

/* --- budget ----------------------------------------------------------------------------------- */
/* What computes a function: the text of the instruction, or what its rule makes of it. */
static const char *made_by(RulesCall *c, const TgLowering *l)
{
    const RwTables *t = c->target->tables;
    const char *arrow = strstr(t->rules[l->rule].text, " -> ");
    return arrow ? wbb_format(c->arena, "%.60s", arrow + 4) : t->rules[l->rule].text;
}

static void put_lowering(RulesCall *c, const TgLowering *l)
{
    const char *rule = rw_rule_name(c->arena, c->target->tables, l->rule);
    wbb_putf(c->out, "    %-9s", l->approx ? "approx" : "");
    if (l->ulp < 0) wbb_put(c->out, "     not measured");
    else wbb_putf(c->out, "%8.2f ulp", l->ulp);
    if (l->sass) wbb_putf(c->out, " %5u sass", l->sass);
    wbb_putf(c->out, "  %s  %s\n", rule, made_by(c, l));
}

static void put_lowering_json(RulesCall *c, const TgLowering *l)
{
    WbbBuf *b = c->out;
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "rule", rw_rule_name(c->arena, c->target->tables, l->rule));
    wbb_json_bool(b, "approx", l->approx);
    wbb_json_putf(b, "ulp", "%.4f", l->ulp);
    wbb_json_putf(b, "noise_ulp", "%.4f", l->noise);
    wbb_json_uint(b, "sass", l->sass);
    wbb_json_close(b, '}');
}

static void put_looser(RulesCall *c, const char *level, ScBudget b)
{
    wbb_putf(c->out, "   %s %g ulp", level, b.ulp);
    if (b.absolute > 0) wbb_putf(c->out, " plus %.3g absolute", b.absolute);
}

static void put_budget(RulesCall *c, ScOp op, ScType t)
{
    const ScBudget plain = sc_budget(op, t, SC_EXACT), xla = sc_budget(op, t, SC_XLA);
    const ScBudget approx = sc_budget(op, t, SC_APPROX);
    if (c->json) {
        WbbBuf *b = main_json_begin(c);
        wbb_json_text(b, "op", sc_op_info[op].name);
        wbb_json_text(b, "type", sc_type_info[t].name);
        wbb_json_putf(b, "ulp", "%g", plain.ulp);
        wbb_json_putf(b, "xla_ulp", "%g", xla.ulp);
        wbb_json_putf(b, "xla_absolute", "%g", xla.absolute);
        wbb_json_bool(b, "xla_marked", sc_is_marked(op, t, SC_XLA));
        wbb_json_putf(b, "approx_ulp", "%g", approx.ulp);
        wbb_json_putf(b, "approx_absolute", "%g", approx.absolute);
        wbb_json_open(b, "lowerings", '[');
    } else {
        wbb_putf(c->out, "%-10s %-5s %4g ulp", sc_op_info[op].name, sc_type_info[t].name, plain.ulp);
        put_looser(c, "xla", xla);
        if (sc_is_marked(op, t, SC_XLA)) wbb_put(c->out, ", computed as under approx");
        put_looser(c, "approx", approx);
        wbb_put(c->out, "\n");
    }
    for (uint32_t i = 0; i < c->target->n_lowerings; i++) {
        const TgLowering *l = &c->target->lowerings[i];
        if (l->op != op || l->type != t) continue;
        if (c->json) put_lowering_json(c, l);
        else put_lowering(c, l);
    }
    if (!c->json) return;
    wbb_json_close(c->out, ']');
    main_json_end(c, "rules-budget.1");
}

static WbbStatus budget(const Call *call)
{
    const TableOptions *o = call->options;
    RulesCall *c = main_rules_call(call, o->target, o->json);
    static const ScType types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    if (!c->json)
        wbb_putf(c->out,
                 "the error that a function may have, in units in the last place of its type; other operations are "
                 "correctly rounded\n"
                 "below each function the ways to compute it on %s, best first: measured error, machine instructions, "
                 "rule\n",
                 c->target->name);
    for (int op = 0; op < OP_COUNT; op++)
        for (size_t t = 0; t < WBB_LEN(types); t++) {
            bool may_be_off = false;
            for (int level = 0; level < SC_ACCURACIES; level++) {
                const ScBudget b = sc_budget((ScOp)op, types[t], (ScAccuracy)level);
                may_be_off = may_be_off || b.ulp > 0 || b.absolute > 0;
            }
            if (may_be_off) put_budget(c, (ScOp)op, types[t]);
        }
    return main_rules_end(c, WBB_OK);
}

/* --- tables ----------------------------------------------------------------------------------- */
static const Option list_table[] = {
    MAIN_OPTION_TARGET(ListOptions),
    MAIN_OPTION_PHASE(ListOptions),
    MAIN_OPTION_RULE(ListOptions, "only this rule, of whatever phase"),
    {FLAG("--flat", ListOptions, flat, "one line for each rule, `NAME: TEXT`, for diff and grep")},
    {FLAG("--strategies", ListOptions, strategies, "the strategies of plans instead, in the order of trying")},
    MAIN_OPTION_JSON(ListOptions),
    {0}};
static const Example list_examples[] = {
    {"rules list --phase simplify", "the rules that simplify, and what is proved of each"}, {0}};
const Command main_rules_list = {
    .name = "list",
    .summary = "print all rules, and what is proved of each",
    .options = list_table,
    .examples = list_examples,
    .size = sizeof(ListOptions),
    .run = list,
};

static const Option size_table[] = {MAIN_OPTION_JSON(TableOptions), {0}};
static const Example size_examples[] = {{"rules size", "bytes of each part of each table"}, {0}};
const Command main_rules_size = {
    .name = "size",
    .summary = "print the bytes of the tables that rules become",
    .options = size_table,
    .examples = size_examples,
    .size = sizeof(TableOptions),
    .run = size,
};

static const Option budget_table[] = {MAIN_OPTION_TARGET(TableOptions), MAIN_OPTION_JSON(TableOptions), {0}};
static const Example budget_examples[] = {
    {"rules budget --target sm_80", "functions of sm_80, and every way to compute each"}, {0}};
const Command main_rules_budget = {
    .name = "budget",
    .summary = "print how far functions may be off, what computes them, and how far off that is",
    .options = budget_table,
    .examples = budget_examples,
    .size = sizeof(TableOptions),
    .run = budget,
};
