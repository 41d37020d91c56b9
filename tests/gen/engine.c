/* engine.c: the engine on tables of a test's own pattern files: `engine FILE.ir PASS..` prints the kernel after index
 * and these passes (simplify, lower, isel). `engine FILE.ir why RULE` says of each node why the rule does not match it.
 */
#include "rewrite/rewrite.h"
#include "target/target.h"

#include <stdio.h>
#include <string.h>

typedef struct { int n; char **args; } Call;

static void why(WbbArena *a, RwCx *rw, const RwTables *t, const char *name)
{
    for (uint32_t r = 0; r < t->n_rules; r++) {
        if (!strstr(rw_rule_name(a, t, r), name)) continue;
        for (IrRef i = 1; i < rw_graph(rw)->n; i++) {
            RwWhy y;
            const bool ok = rw_why(rw, t, r, i, a, &y);
            if (y.passed) printf("%u of %u: %s%s\n", y.passed, y.total, y.text, ok ? "!" : "");
        }
    }
}

static void body(WbbCx *cx, void *arg)
{
    const Call *c = arg;
    WbbArena *a = wbb_arena_new(cx);
    size_t n;
    const char *text = wbb_read_file(cx, a, c->args[1], &n);
    IrKernel *k = ir_parse(cx, a, c->args[1], text, n);
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, tg_find("sm_80")->tables, false);
    if (!strcmp(c->args[2], "why")) {
        why(a, rw, &ix_tables, c->args[3]);
        why(a, rw, tg_find("sm_80")->tables, c->args[3]);
        return;
    }
    rw_index(rw, k);
    for (int i = 2; i < c->n; i++)
        rw_run(rw, k,
               !strcmp(c->args[i], "simplify") ? RW_SIMPLIFY
               : !strcmp(c->args[i], "lower")  ? RW_LOWER
                                               : RW_ISEL);
    WbbBuf b = wbb_buf(a);
    ir_print(&b, k);
    fputs(b.text, stdout);
}

int main(int argc, char **argv)
{
    WbbCx *cx = wbb_cx_new();
    if (argc < 3 || wbb_guard(cx, body, &(Call){argc, argv}) != WBB_OK) return fputs(cx->messages, stdout), 1;
    wbb_cx_free(cx);
    return 0;
}
