/* ir.c: `ir FILE.ir --pass NAME`: one pass, text to text. Without --pass: parsed, verified and printed. */
#include "index/index.h"
#include "main/main.h"
#include "pipe/pipe.h"

#include <stdio.h>
#include <string.h>

WbbStatus main_ir(WbbCx *cx, WbbArena *a, const Options *o)
{
    if (o->files.n != 1) return fputs("ir: one file expected\n", stderr), WBB_USAGE;
    const TgTarget *t = tg_find(o->target);
    if (!t) wbb_fail(cx, (WbbLoc){0}, "--target %s: no such target", o->target);
    size_t n;
    const char *text = wbb_read_file(cx, a, o->files.list[0], &n);
    IrKernel *k = ir_parse(cx, a, o->files.list[0], text, n);
    ir_verify(k);
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, t->tables, o->approx);
    for (uint32_t i = 0; i < o->disable.n; i++) rw_disable(rw, o->disable.list[i]);
    if (o->pass) {
        const char *const *pass = pipe_passes;
        while (*pass && strcmp(*pass, o->pass)) pass++;
        if (!*pass) wbb_fail(cx, (WbbLoc){0}, "--pass %s: simplify, lower, vectorize, width or select expected", o->pass);
        rw_index(rw, k);
        pipe_pass(rw, k, t, *pass);
        ir_verify(k);
    }
    WbbBuf b = wbb_buf(a);
    ir_print(&b, k);
    if (o->trace) pipe_trace(&b, a, rw, UINT32_MAX);
    fputs(b.text, stdout);
    return WBB_OK;
}
