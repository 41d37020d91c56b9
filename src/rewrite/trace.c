/* trace.c: which rules fired, always recorded: a ring of the last firings and a count per rule; names of rules; rules
 * that are disabled.
 *
 * Needs to be told of each firing; keeps them for --trace, `rules` and the audit of a wrong kernel.
 */
#include "rewrite/inner.h"

#include <stdlib.h>
#include <string.h>

static void keep(RwCx *rw, RwEvent e)
{
    if (rw->trace.n < TRACE_EVENTS) WBB_PUSH(rw->arena, &rw->trace, e);
    else rw->trace.items[rw->n_events % TRACE_EVENTS] = e;
    rw->n_events++;
    if (rw->watch) rw->watch(rw->watch_arg, &e);
}

void rw_record(RwCx *rw, const RwTables *t, uint32_t rule, IrRef root, IrRef result)
{
    const RwEvent e = {.tables = t, .rule = rule, .g = rw->g, .root = root, .result = result, .names = rw->names};
    rw->counts[t == rw->index][rule]++;
    keep(rw, e);
    if (!rw->of) return;
    rw->of->counts[t == rw->index][rule]++;
    if (t->rules[rule].phase == RW_ARRAYS || t->rules[rule].phase == RW_OPTIONS) keep(rw->of, e);
}

void rw_record_step(RwCx *rw, const RwTables *t, uint32_t rule, uint32_t n, IrRef root, IrRef made)
{
    const RwRule *r = &t->rules[rule];
    if (n >= r->n_made || !r->made[n] || (n + 1 < r->n_made && r->made[n + 1] == r->made[n])) return;
    const RwEvent e = {.tables = t, .rule = rule, .g = rw->g, .root = root, .result = made, .names = rw->names,
                       .step = &t->steps[r->made[n] - 1]};
    const RwCx *told = rw->of ? rw->of : rw;
    if (told->watch) told->watch(told->watch_arg, &e);
}

void rw_out_of_fuel(RwCx *rw, IrRef r)
{
    const RwEvent *events;
    const uint32_t n = rw_trace(rw, &events);
    WbbBuf b = wbb_buf(rw->arena);
    for (uint32_t i = n > 8 ? n - 8 : 0; i < n; i++) {
        wbb_putf(&b, "%s: ", rw_rule_name(rw->arena, events[i].tables, events[i].rule));
        ir_print_node(&b, rw->g, events[i].root);
        wbb_put(&b, " -> ");
        ir_print_node(&b, rw->g, events[i].result);
        wbb_put(&b, "\n");
    }
    wbb_put(&b, "at ");
    ir_print_node(&b, rw->g, r);
    wbb_fail(rw->cx, (WbbLoc){0}, "rewriting does not end; the last rules that fired:\n%s", b.text);
}

uint32_t rw_trace(const RwCx *rw, const RwEvent **events)
{
    const uint32_t n = WBB_MIN(rw->n_events, TRACE_EVENTS), first = rw->n_events - n;
    RwEvent *out = WBB_NEW_N(rw->arena, RwEvent, n + 1);
    for (uint32_t i = 0; i < n; i++) out[i] = rw->trace.items[(first + i) % TRACE_EVENTS];
    *events = out;
    return n;
}

void rw_watch(RwCx *rw, RwWatch watch, void *arg)
{
    rw->watch = watch;
    rw->watch_arg = arg;
}

void rw_watch_steps(RwCx *rw) { rw->watch_steps = true; }

uint32_t rw_visits(const RwCx *rw) { return rw->visits; }

const uint32_t *rw_counts(const RwCx *rw, bool index) { return rw->counts[index]; }

char *rw_rule_name(WbbArena *a, const RwTables *t, uint32_t rule)
{
    const RwRule *r = &t->rules[rule];
    return wbb_format(a, "%s:%u%s", r->file, r->line, r->instance);
}

/* Does `name` begin with the file, with or without its folder? The rest of `name`; NULL if not. */
static const char *after_file(const char *file, const char *name)
{
    const char *slash = strchr(file, '/');
    if (slash && !strchr(name, '/')) file = slash + 1;
    const size_t n = strlen(file);
    return !strncmp(file, name, n) && name[n] == ':' ? name + n + 1 : NULL;
}

bool rw_step_is(const RwStep *s, const char *name)
{
    const char *line = after_file(s->file, name);
    char *end = NULL;
    const unsigned long n = line ? strtoul(line, &end, 10) : 0;
    return n && !*end && (n == s->line || n == s->head);
}

static bool has_step(const RwTables *t, const RwRule *r, const char *name)
{
    bool found = false;
    for (uint32_t i = 0; i < r->n_made && !found; i++)
        found = r->made[i] && rw_step_is(&t->steps[r->made[i] - 1], name);
    return found;
}

bool rw_rule_is_named(WbbArena *a, const RwTables *t, uint32_t rule, const char *name)
{
    const char *full = rw_rule_name(a, t, rule);
    const char *slash = strchr(full, '/');
    if (slash && !strchr(name, '/')) full = slash + 1;
    const size_t n = strlen(name);
    return !strncmp(full, name, n) && (full[n] == 0 || (full[n] == '[' && !strchr(name, '[')));
}

bool rw_rule_is(WbbArena *a, const RwTables *t, uint32_t rule, const char *name)
{
    return rw_rule_is_named(a, t, rule, name) || has_step(t, &t->rules[rule], name);
}

static bool disable_in(RwCx *rw, const RwTables *t, const char *rule)
{
    bool found = false;
    for (uint32_t i = 0; i < t->n_rules; i++) {
        if (!rw_rule_is(rw->arena, t, i, rule)) continue;
        rw->disabled[t == rw->index][i] = 1;
        found = true;
    }
    return found;
}

void rw_assume(RwCx *rw, const char *rule)
{
    if (!rw->assumed) rw->assumed = WBB_NEW_N(rw->arena, uint8_t, rw->target->n_rules + 1);
    for (uint32_t i = 0; i < rw->target->n_rules; i++)
        if (rw_rule_is(rw->arena, rw->target, i, rule)) rw->assumed[i] = 1;
}

void rw_join(RwCx *rw, RwCx *of, const char *const *names)
{
    for (uint32_t i = 0; i < rw->index->n_rules; i++) {
        rw->disabled[1][i] = of->disabled[1][i];
        of->counts[1][i] += rw->counts[1][i];
    }
    rw->of = of, rw->names = names, rw->watch_steps = of->watch_steps;
    rw->joined = of->joined, of->joined = rw;
}

void rw_leave(RwCx *rw) { rw->of = NULL; }

RwCx *rw_joined(const RwCx *rw) { return rw->joined; }

const char *const *rw_names(const RwCx *rw) { return rw->names; }

void rw_disable(RwCx *rw, const char *rule)
{
    if (!disable_in(rw, rw->target, rule) && !disable_in(rw, rw->index, rule))
        wbb_fail(rw->cx, (WbbLoc){0}, "%s: no rule has that name; `warpburg rules list` prints all", rule);
}

bool rw_is_costly(const void *tables, uint64_t imm)
{
    const RwTables *t = tables;
    const RwInstr *row = &t->instrs[RW_ROW(imm)];
    return row->n_texts ? row->texts[0].costly : row->kind != RW_LLVM && row->kind != RW_INTR;
}

const RwRule *rw_rule_of(const RwTables *index, const RwTables *target, const IrGraph *g, IrMaker m)
{
    if (!m.node || m.what == IR_BY_LOAD || m.what == IR_BY_STORE) return NULL;
    const uint32_t said = g->rule[m.node], number = said & ~IR_INDEX_RULE;
    const RwTables *t = said & IR_INDEX_RULE ? index : ir_at(g, m.node)->op == OP_INSTR ? target : NULL;
    return number && t && number <= t->n_rules ? &t->rules[number - 1] : NULL;
}

void rw_put_root(WbbBuf *out, const RwRule *rule, ScType type, uint32_t lanes)
{
    const size_t n = strcspn(rule->text, "(");
    for (size_t i = 0; i < n; i++) {
        const bool word = i > 0 && rule->text[i - 1] == '.' && rule->text[i] >= 'A' && rule->text[i] <= 'Z';
        if (!word) {
            wbb_put_n(out, rule->text + i, 1);
            continue;
        }
        while (i + 1 < n && rule->text[i + 1] != '.') i++;
        wbb_put(out, sc_type_info[type].name);
        if (lanes > 1) wbb_putf(out, "x%u", lanes);
    }
}

void rw_put_maker(WbbBuf *out, const IrKernel *k, IrMaker m, const RwRule *rule, const IrOrigin *origins,
                  uint32_t n_origins)
{
    const IrType type = m.node ? ir_at(k->g, m.node)->type : 0;
    WbbBuf text = wbb_buf(out->arena);
    if (rule) wbb_putf(&text, "%s:%u%s", rule->file, rule->line, rule->instance);
    if (rule && m.what == IR_BY_NODE && !rule->instance[0]) {
        wbb_put(&text, " ");
        rw_put_root(&text, rule, IR_SC(type), IR_LANES(type));
    }
    ir_put_maker(out, k, m, rule ? text.text : NULL, origins, n_origins);
}
