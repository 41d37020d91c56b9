/* rules_trace.c: `rules trace FILE.hlo`: every firing of a compile, in order, with the HLO instruction it served.
 *
 *     $ warpburg rules trace swish.hlo --rule arith.py:25
 *     simplify  patterns/arith.py:25: neg.bf16(neg.bf16(load.bf16 %x[t])) -> load.bf16 %x[t]  <- %n
 *     1 firing of 1 rule
 */
#include "main/rules.h"

#include <string.h>

static void watch(void *arg, const RwEvent *e)
{
    Firings *f = arg;
    WBB_PUSH(f->c->arena, &f->events, *e);
}

void main_firings(WbbCx *cx, void *firings)
{
    Firings *f = firings;
    size_t n;
    const char *text = main_read_hlo(cx, f->c->arena, f->file, f->assume, &n);
    const PipeOptions p = {.target = f->c->target->name, .accuracy = f->accuracy, .rules_only = true,
                           .disable = f->disable->items, .n_disable = f->disable->n,
                           .stage = PIPE_AT_PTX, .watch = watch, .watch_arg = f, .watch_steps = f->steps};
    pipe_compile(cx, f->c->arena, &p, f->file, text, n, &f->result);
}

/* A step of a right side, before the firing: the line that makes it, the function, and the value. */
static void put_step(RulesCall *c, const PipeResult *r, const RwEvent *e)
{
    const char *made = main_reads_text(c->arena, e->g, e->names, e->result, MAIN_SHALLOW);
    if (!e->names) made = main_kernel_text(c->arena, r->kernel, made);
    const char *line = wbb_format(c->arena, "%s:%u", e->step->file, e->step->line);
    if (!c->json) {
        wbb_putf(c->out, "%-9s %s: %s = %s\n", "  step", line, e->step->name, made);
        return;
    }
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "step", line);
    wbb_json_text(b, "function", e->step->name);
    wbb_json_text(b, "rule", rw_rule_name(c->arena, e->tables, e->rule));
    wbb_json_text(b, "made", made);
    main_json_end(c, "rules-trace.1");
}

/* With --rule: the steps of the rules that are named, or those that are named themselves. */
static bool is_wanted(WbbArena *a, const RwEvent *e, const Words *rules)
{
    bool wanted = !rules->n;
    for (uint32_t i = 0; i < rules->n && !wanted; i++)
        wanted = rw_step_is(e->step, rules->items[i]) || rw_rule_is_named(a, e->tables, e->rule, rules->items[i]);
    return wanted;
}

static void put_event(RulesCall *c, const PipeResult *r, const RwEvent *e)
{
    const char *phase = main_phase_name[e->tables->rules[e->rule].phase],
               *name = rw_rule_name(c->arena, e->tables, e->rule);
    const char *before = main_reads_text(c->arena, e->g, e->names, e->root, MAIN_SHALLOW),
               *after = e->names ? main_reads_text(c->arena, e->g, e->names, e->result, MAIN_SHALLOW)
                                 : main_result_text(c->arena, e->g, e->tables, e->result, MAIN_SHALLOW);
    if (!e->names) before = main_kernel_text(c->arena, r->kernel, before);
    if (!e->names) after = main_kernel_text(c->arena, r->kernel, after);
    const char *origin = main_origin(c->arena, r, e->g, e->names, e->root);
    if (!c->json) {
        wbb_putf(c->out, "%-9s %s: %s -> %s%s%s\n", phase, name, before, after, *origin ? "  <- " : "", origin);
        return;
    }
    WbbBuf *b = main_json_begin(c);
    wbb_json_text(b, "phase", phase);
    wbb_json_text(b, "rule", name);
    wbb_json_text(b, "before", before);
    wbb_json_text(b, "after", after);
    wbb_json_text(b, "hlo", origin);
    main_json_end(c, "rules-trace.1");
}

typedef struct {
    const char *file, *target;
    Words rules, disable;
    const char *accuracy, *assume;
    bool approx, steps, json;
} TraceOptions;

static WbbStatus trace(const Call *call)
{
    const TraceOptions *o = call->options;
    RulesCall *c = main_rules_call(call, o->target, o->json);
    main_rules_must_exist(c, &o->rules);
    Firings f = {.c = c, .file = o->file, .accuracy = main_accuracy(o->accuracy, o->approx), .assume = o->assume,
                 .disable = &o->disable,
                 .steps = o->steps};
    main_firings(c->cx, &f);
    uint32_t shown = 0, distinct = 0;
    uint8_t *met[2]; /* by table and rule */
    for (int which = 0; which < 2; which++)
        met[which] = WBB_NEW_N(c->arena, uint8_t, main_tables(c->target, which)->n_rules + 1);
    for (uint32_t i = 0; i < f.events.n; i++) {
        const RwEvent *e = &f.events.items[i];
        if (!main_rule_is_one_of(c->arena, e->tables, e->rule, &o->rules)) continue;
        if (e->step) {
            if (is_wanted(c->arena, e, &o->rules)) put_step(c, &f.result, e);
            continue;
        }
        uint8_t *before = &met[e->tables == c->target->tables][e->rule];
        distinct += !*before;
        *before = 1;
        shown++;
        put_event(c, &f.result, e);
    }
    if (c->json) return main_rules_end(c, WBB_OK);
    wbb_putf(c->out, "%u firing%s of %u rule%s\n", shown, shown == 1 ? "" : "s", distinct, distinct == 1 ? "" : "s");
    if (!shown && o->rules.n)
        wbb_putf(c->out, "`warpburg rules why %s %s` says what failed\n", o->rules.items[0], o->file);
    return main_rules_end(c, WBB_OK);
}

static const Positional positionals[] = {
    {ONE("FILE.hlo", TraceOptions, file, "HLO text of a fusion"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    MAIN_OPTION_TARGET(TraceOptions),
    MAIN_OPTION_RULE(TraceOptions, "only the firings of this rule"),
    {FLAG("--steps", TraceOptions, steps, "before each firing the lines of functions that made its right side, with their values")},
    MAIN_OPTION_ACCURACY(TraceOptions),
    MAIN_OPTION_ASSUME(TraceOptions),
    MAIN_OPTION_DISABLE(TraceOptions),
    MAIN_OPTION_JSON(TraceOptions),
    {0}};
static const Example examples[] = {{"rules trace gelu.hlo --rule arith.py:29", "where the rules of that line fired"},
                                   {0}};
const Command main_rules_trace = {
    .name = "trace",
    .summary = "print which rules fired where, in order, with the HLO instruction they served",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "the fusion is declined; the message has the reason",
    .size = sizeof(TraceOptions),
    .run = trace,
};
