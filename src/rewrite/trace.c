/* trace.c: what fired, always on: a ring of the last firings and a count per rule; rule names; the audit of a wrong kernel.
 *
 * The audit evaluates both sides of each firing on sampled values by the reference meaning of the operations, so that a kernel
 * that came out wrong leads to the line of the rule that made it so:
 *
 *     patterns/arith.py:121: mul.bf16(load %p[i], 0.5) became fma.bf16(load %p[i], 0.5, 1.0): 1.25 expected, 2.25 found
 */
#include "rewrite/inner.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rw_record(RwCx *rw, const RwTables *t, uint32_t rule, IrRef root, IrRef result)
{
    rw->counts[t == rw->index][rule]++;
    const RwEvent e = {.tables = t, .rule = rule, .root = root, .result = result};
    rw->trace[rw->n_events++ % TRACE_EVENTS] = e;
    if (rw->watch) rw->watch(rw->watch_arg, &e);
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
    fprintf(stderr, "rewriting does not end; the last rules that fired:\n%s\n", b.text);
    abort();
}

uint32_t rw_trace(const RwCx *rw, const RwEvent **events)
{
    const uint32_t n = WBB_MIN(rw->n_events, TRACE_EVENTS), first = rw->n_events - n;
    RwEvent *out = WBB_NEW_N(rw->arena, RwEvent, n + 1);
    for (uint32_t i = 0; i < n; i++) out[i] = rw->trace[(first + i) % TRACE_EVENTS];
    *events = out;
    return n;
}

void rw_watch(RwCx *rw, RwWatch watch, void *arg)
{
    rw->watch = watch;
    rw->watch_arg = arg;
}

uint32_t rw_visits(const RwCx *rw) { return rw->visits; }

const uint32_t *rw_counts(const RwCx *rw, bool index) { return rw->counts[index]; }

char *rw_rule_name(WbbArena *a, const RwTables *t, uint32_t rule)
{
    const RwRule *r = &t->rules[rule];
    return wbb_format(a, "%s:%u%s", r->file, r->line, r->instance);
}

static bool disable_in(RwCx *rw, const RwTables *t, const char *rule)
{
    bool found = false;
    for (uint32_t i = 0; i < t->n_rules; i++) {
        const char *name = rw_rule_name(rw->arena, t, i), *tail = strchr(name, '/');
        if (strcmp(name, rule) && (!tail || strcmp(tail + 1, rule))) continue;
        rw->disabled[t == rw->index][i] = 1;
        found = true;
    }
    return found;
}

void rw_disable(RwCx *rw, const char *rule)
{
    if (!disable_in(rw, rw->target, rule) && !disable_in(rw, rw->index, rule))
        wbb_fail(rw->cx, (WbbLoc){0}, "--disable %s: no rule has that name; `warpburg rules list` prints all", rule);
}

/* --- audit -------------------------------------------------------------------------------------------------------------------- */
enum { SAMPLES = 24 };

typedef struct {
    uint32_t sample;
} Sampling;

static uint64_t sample_leaf(void *arg, const IrGraph *g, IrRef leaf)
{
    const IrNode *n = ir_at(g, leaf);
    const ScType t = IR_SC(n->type);
    const uint64_t key[2] = {leaf, ((const Sampling *)arg)->sample};
    const uint64_t h = wbb_hash(key, sizeof key, 7);
    if (n->op == OP_VAR) {
        const IrVar v = g->vars[n->imm];
        return (uint64_t)v.lo + h % ((uint64_t)v.hi - (uint64_t)v.lo + 1);
    }
    if (!sc_is_float(t)) return h >> 8 & sc_mask(t);
    static const double edges[] = {0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-30, -3.5};
    return sc_from_f64(t, h % 3 == 0 ? edges[h / 3 % WBB_LEN(edges)] : (double)(h >> 20 & 0xffff) / 4096.0 - 8.0);
}

/* Far more than any function's budget, far less than what a wrong rule does. */
static bool differs(ScType t, uint64_t x, uint64_t y)
{
    if (x == y) return false;
    if (!sc_is_float(t)) return true;
    const double p = sc_to_f64(t, x), q = sc_to_f64(t, y);
    if (p != p || q != q) return (p != p) != (q != q);
    const double d = p > q ? p - q : q - p, size = p < 0 ? -p : p;
    return !(d <= size * 0.02 + 1e-6) && p != q;
}

bool rw_audit(RwCx *rw, WbbArena *a, char **message)
{
    const RwEvent *events;
    const uint32_t n = rw_trace(rw, &events);
    for (uint32_t i = 0; i < n; i++) {
        const ScType t = IR_SC(ir_at(rw->g, events[i].root)->type);
        for (Sampling s = {0}; s.sample < SAMPLES; s.sample++) {
            uint64_t x, y;
            if (!ir_eval(rw->g, events[i].root, sample_leaf, &s, &x) || !ir_eval(rw->g, events[i].result, sample_leaf, &s, &y)) break;
            if (!differs(t, x, y)) continue;
            WbbBuf b = wbb_buf(a);
            wbb_putf(&b, "%s: ", rw_rule_name(a, events[i].tables, events[i].rule));
            ir_print_node(&b, rw->g, events[i].root);
            wbb_put(&b, " became ");
            ir_print_node(&b, rw->g, events[i].result);
            if (t == SC_INDEX) wbb_putf(&b, ": %lld expected, %lld found", (long long)x, (long long)y);
            else wbb_putf(&b, ": %g expected, %g found", sc_to_f64(t, x), sc_to_f64(t, y));
            *message = b.text;
            return true;
        }
    }
    return false;
}
