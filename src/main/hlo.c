/* hlo.c: `hlo FILE.hlo`: parsed, verified and printed; with --pass one pass between, with --normalise all of them.
 * With --time instead what reading costs. */
#include "hlo/hlo.h"
#include "main/main.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

static void refuse_pass(WbbCx *cx, WbbArena *a, const char *name)
{
    WbbBuf names = wbb_buf(a);
    for (const HloPass *p = hlo_passes; p->name; p++)
        wbb_putf(&names, "%s%s", p == hlo_passes ? "" : p[1].name ? ", " : " or ", p->name);
    wbb_fail(cx, (WbbLoc){0}, "--pass %s: %s expected", name, names.text);
}

WbbStatus main_hlo(WbbCx *cx, WbbArena *a, const Options *o)
{
    if (o->files.n != 1) return fputs("hlo: one file expected\n", stderr), WBB_USAGE;
    if (o->pass && o->normalise) return fputs("hlo: --pass NAME or --normalise, not both\n", stderr), WBB_USAGE;
    size_t n;
    const char *text = wbb_read_file(cx, a, o->files.list[0], &n);
    HloModule **modules;
    const clock_t since = clock();
    const size_t before = wbb_arena_bytes(a) + wbb_arena_bytes(cx->arena);
    const uint32_t count = hlo_parse_all(cx, a, o->files.list[0], text, n, &modules);
    if (o->time) {
        printf("parsed and verified: %.3f ms of CPU time, %zu bytes of text, %zu bytes of memory\n", 1000.0 * (double)(clock() - since) / CLOCKS_PER_SEC, n,
               wbb_arena_bytes(a) + wbb_arena_bytes(cx->arena) - before);
        return WBB_OK;
    }
    WbbBuf b = wbb_buf(a);
    for (uint32_t k = 0; k < count; k++) {
        const HloModule *m = modules[k];
        if (o->pass) m = hlo_run_pass(cx, a, m, o->pass);
        if (!m) refuse_pass(cx, a, o->pass);
        if (o->normalise) m = hlo_normalise(cx, a, m);
        if (k) wbb_put(&b, "\n// -----\n\n");
        hlo_print(&b, m);
    }
    fputs(b.text, stdout);
    return WBB_OK;
}
