/* rules.c: `rules list` and `rules trace FILE.hlo`. */
#include "index/index.h"
#include "main/main.h"
#include "pipe/pipe.h"

#include <stdio.h>
#include <string.h>

static const char *const stratum_name[] = {"index", "simplify", "lower", "select"};

static void list(WbbBuf *b, WbbArena *a, const RwTables *t, bool json)
{
    for (uint32_t i = 0; i < t->n_rules; i++) {
        const RwRule *r = &t->rules[i];
        if (!json) {
            wbb_putf(b, "%-9s %s: %s\n", stratum_name[r->stratum], rw_rule_name(a, t, i), r->text);
            continue;
        }
        wbb_putf(b, "{\"stratum\": \"%s\", \"name\": ", stratum_name[r->stratum]);
        wbb_put_json(b, rw_rule_name(a, t, i));
        wbb_put(b, ", \"text\": ");
        wbb_put_json(b, r->text);
        wbb_put(b, "}\n");
    }
}

static void trace(WbbCx *cx, WbbArena *a, WbbBuf *b, const Options *o, const char *file)
{
    size_t n;
    const char *text = wbb_read_file(cx, a, file, &n);
    const PipeOptions p = {.target = o->target, .approx = o->approx, .stage = PIPE_AT_IR, .disable = o->disable.list, .n_disable = o->disable.n};
    PipeResult r;
    pipe_compile(cx, a, &p, file, text, n, &r);
    const RwEvent *events;
    const uint32_t count = rw_trace(r.rw, &events);
    for (uint32_t i = 0; i < count; i++) {
        const RwEvent *e = &events[i];
        wbb_putf(b, "%s: ", rw_rule_name(a, e->tables, e->rule));
        ir_print_node(b, r.kernel->g, e->root);
        wbb_put(b, " -> ");
        ir_print_node(b, r.kernel->g, e->result);
        wbb_put(b, "\n");
    }
}

WbbStatus main_rules(WbbCx *cx, WbbArena *a, const Options *o)
{
    const TgTarget *t = tg_find(o->target);
    if (!t) wbb_fail(cx, (WbbLoc){0}, "--target %s: no such target", o->target);
    const char *what = o->files.n ? o->files.list[0] : "";
    WbbBuf b = wbb_buf(a);
    if (!strcmp(what, "list") && o->files.n == 1) {
        list(&b, a, &ix_tables, o->json);
        list(&b, a, t->tables, o->json);
    } else if (!strcmp(what, "trace") && o->files.n == 2) {
        trace(cx, a, &b, o, o->files.list[1]);
    } else {
        return fputs("rules: list, or trace FILE.hlo expected\n", stderr), WBB_USAGE;
    }
    fputs(b.text, stdout);
    return WBB_OK;
}
