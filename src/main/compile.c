/* compile.c: `compile FILE.hlo`, and `run FILE.hlo`, which compiles first. */
#include "llvm/llvm.h"
#include "main/verdict.h"
#include "pipe/pipe.h"

#include <stdio.h>
#include <string.h>

static PipeOptions pipe_options(WbbCx *cx, const Options *o)
{
    PipeOptions p = {.target = o->target, .approx = o->approx, .align = (uint32_t)o->align, .lines = o->lines, .disable = o->disable.list,
                     .n_disable = o->disable.n, .print_after = o->print_after, .stage = PIPE_AT_PTX};
    if (o->print_after && strcmp(o->print_after, "all") && strcmp(o->print_after, "emit")) {
        const char *const *pass = pipe_passes;
        while (*pass && strcmp(*pass, o->print_after)) pass++;
        if (!*pass) wbb_fail(cx, (WbbLoc){0}, "--print-after %s: emit, simplify, lower, vectorize, width, isel or all expected", o->print_after);
    }
    if (!o->emit) return p;
    p.stage = PIPE_STAGES;
    for (int i = 0; i < PIPE_STAGES; i++)
        if (!strcmp(o->emit, pipe_stage_name[i])) p.stage = (PipeStage)i;
    if (p.stage == PIPE_STAGES) wbb_fail(cx, (WbbLoc){0}, "--emit %s: hlo, maps, plan, ir, llvm, ptx, cubin or json expected", o->emit);
    return p;
}

static void put_time(WbbBuf *b, const PipeResult *r)
{
    double all = 0;
    wbb_put(b, "ms:");
    for (int i = 0; i < PIPE_STEPS; i++) {
        wbb_putf(b, " %s %.3f", pipe_step_name[i], r->ms[i]);
        all += r->ms[i];
    }
    wbb_putf(b, " all %.3f\n", all);
}

static void put_json(WbbCx *cx, WbbArena *a, WbbBuf *b, const char *file, const PipeResult *r, bool covers)
{
    wbb_put(b, "{\"file\": ");
    wbb_put_json(b, file);
    wbb_putf(b, ", \"kernel\": \"%s\", \"target\": \"%s\", \"status\": \"ok\", \"block\": %u, \"grid\": %u", r->kernel->name, r->target->name, r->plan.block, r->plan.grid);
    if (r->cubin.bytes && r->plan.grid) {
        const TgSass s = tg_sass(cx, &r->cubin, r->kernel->name);
        wbb_putf(b, ", \"sass\": %u, \"regs\": %u, \"stack_bytes\": %u, \"branch\": %u, \"mufu\": %u, \"ldl\": %u, \"stl\": %u", s.sass, s.regs,
                 s.stack_bytes, s.branch, s.mufu, s.ldl, s.stl);
        for (int store = 0; store < 2; store++) {
            wbb_putf(b, ", \"%s\": {", store ? "stg" : "ldg");
            const char *comma = "";
            for (int w = 0; w < 6; w++) {
                const uint32_t n = store ? s.stg[w] : s.ldg[w];
                if (n) wbb_putf(b, "%s\"%d\": %u", comma, 1 << w, n), comma = ", ";
            }
            wbb_put(b, "}");
        }
    }
    const VecAccess *x = r->accesses.items;
    const uint32_t n = r->accesses.n;
    wbb_put(b, ", \"accesses\": [");
    for (uint32_t i = 0; i < n; i++) {
        const IrBuffer *buffer = &r->kernel->buffers[x[i].buffer];
        wbb_putf(b, "%s{\"kind\": \"%s\", \"buffer\": \"%s\", \"bytes\": %u, \"count\": %u, \"why\": ", i ? ", " : "", x[i].store ? "store" : "load", buffer->name,
                 x[i].lanes * sc_bytes(buffer->type), x[i].count);
        wbb_put_json(b, x[i].why);
        wbb_put(b, "}");
    }
    wbb_put(b, "], \"libdevice\": [");
    for (uint32_t i = 0; i < r->n_libdevice; i++) wbb_putf(b, "%s\"%s\"", i ? ", " : "", r->libdevice[i]);
    wbb_put(b, "], \"trace\": [");
    WbbBuf trace = wbb_buf(a);
    pipe_trace(&trace, a, r->rw, 5);
    const char *line = trace.text;
    for (int i = 0; *line; i++) {
        const char *end = strchr(line, '\n');
        if (i) wbb_put(b, ", ");
        wbb_put_json(b, wbb_format(a, "%.*s", (int)(end - line), line));
        line = end + 1;
    }
    wbb_put(b, "], \"ms\": {");
    for (int i = 0; i < PIPE_STEPS; i++) wbb_putf(b, "%s\"%s\": %.3f", i ? ", " : "", pipe_step_name[i], r->ms[i]);
    wbb_put(b, "}");
    if (covers) {
        wbb_put(b, ", \"stores\": ");
        wbb_put_json(b, r->thread_map_fault ? r->thread_map_fault : "");
    }
    wbb_put(b, "}\n");
}

/* --bijection, for people. */
static void put_cover(WbbBuf *b, const char *file, const PipeResult *r)
{
    if (r->thread_map_fault) wbb_putf(b, "%s: fault: %s\n", file, r->thread_map_fault);
    else wbb_putf(b, "%s: %lld elements, each stored once\n", file, (long long)r->stored_elements);
}

/* One file; `judge`: run what came out and say what fired wrongly. */
static WbbStatus one_file(WbbCx *cx, WbbArena *a, const Options *o, const char *file, LlCache *cache)
{
    size_t n;
    const char *text = wbb_read_file(cx, a, file, &n);
    PipeOptions p = pipe_options(cx, o);
    p.cache = cache;
    p.check_thread_map = o->bijection;
    p.assemble = o->output != NULL || o->json;
    const bool prints = o->emit || (!o->output && !o->json && !o->explain && !o->trace && !o->time && !o->print_after && !o->bijection);
    p.comments = prints && !p.lines;
    PipeResult r;
    pipe_compile(cx, a, &p, file, text, n, &r);
    WbbBuf b = wbb_buf(a);
    if (o->output && r.bundle) bd_write(cx, r.bundle, o->output);
    if (p.assemble && r.bundle && r.cubin.missing) wbb_note(cx, (WbbLoc){.file = file}, "no machine code: %s", r.cubin.missing);
    wbb_put(&b, r.printed);
    if (o->emit && p.stage == PIPE_AT_CUBIN && o->output == NULL)
        wbb_putf(&b, "%s\n", r.cubin.bytes ? "assembled; -o DIR writes it" : r.cubin.missing);
    else if (prints) wbb_put(&b, r.emitted);
    if (r.bundle) {
        if (o->explain) pipe_explain(&b, &r);
        if (o->bijection && !o->json) put_cover(&b, file, &r);
        if (o->trace) pipe_trace(&b, a, r.rw, UINT32_MAX);
        if (o->json) put_json(cx, a, &b, file, &r, o->bijection);
    }
    if (o->time) put_time(&b, &r);
    fputs(b.text, stdout);
    return r.thread_map_fault ? WBB_CHECK : WBB_OK;
}

/* Several files in one process: one bad file does not stop the others; the worst status is the answer. */
typedef struct {
    const Options *o;
    const char *file;
    LlCache *cache;
    WbbStatus status;
} File;

static void guarded_file(WbbCx *cx, void *arg)
{
    File *f = arg;
    WbbArena *a = wbb_arena_new(cx);
    f->status = one_file(cx, a, f->o, f->file, f->cache);
    wbb_arena_free(a);
}

/* One JSON line; the message is what was said of this file. */
static void print_refusal(WbbCx *cx, const Options *o, const char *file, WbbStatus s, size_t before)
{
    WbbArena *a = wbb_arena_new(cx);
    WbbBuf b = wbb_buf(a);
    wbb_put(&b, "{\"file\": ");
    wbb_put_json(&b, file);
    wbb_putf(&b, ", \"target\": \"%s\", \"status\": \"%s\", \"reason\": \"%s\", \"message\": ", o->target,
             s == WBB_DECLINED ? "declined" : "failed", s == WBB_DECLINED ? wbb_why_name(cx->why) : "");
    wbb_put_json(&b, cx->messages + before);
    wbb_put(&b, "}\n");
    fputs(b.text, stdout);
    wbb_arena_free(a);
}

WbbStatus main_compile(WbbCx *cx, WbbArena *a, const Options *o)
{
    (void)a;
    if (o->files.n == 0) return fputs("compile: a file expected\n", stderr), WBB_USAGE;
    if (o->output && o->files.n > 1) return fputs("compile: -o DIR takes one file\n", stderr), WBB_USAGE;
    LlCache *cache = ll_cache_new(cx);
    WbbStatus worst = WBB_OK;
    for (uint32_t i = 0; i < o->files.n; i++) {
        File f = {.o = o, .file = o->files.list[i], .cache = cache};
        const size_t before = strlen(cx->messages);
        WbbStatus s = wbb_guard(cx, guarded_file, &f);
        if (s == WBB_OK) s = f.status;
        if (s == WBB_DECLINED) wbb_note(cx, (WbbLoc){.file = f.file}, "%s", wbb_why_text(cx->why));
        if (o->json && s != WBB_OK && s != WBB_CHECK) print_refusal(cx, o, f.file, s, before);
        if (s != WBB_OK && (worst == WBB_OK || s == WBB_FAILED)) worst = s;
    }
    ll_cache_free(cache);
    return worst;
}

WbbStatus main_run(WbbCx *cx, WbbArena *a, const Options *o)
{
    if (o->files.n != 1) return fputs("run: one file or bundle expected\n", stderr), WBB_USAGE;
    const char *file = o->files.list[0];
    if (o->ptx || wbb_is_dir(file)) return main_run_bundle(cx, a, o);
    main_check_on(cx, o);
    size_t n;
    const char *text = wbb_read_file(cx, a, file, &n);
    PipeOptions p = pipe_options(cx, o);
    p.comments = o->check && !p.lines; /* a fault shows its line, with the rule and the HLO instruction that made it */
    PipeResult r;
    pipe_compile(cx, a, &p, file, text, n, &r);
    const PipeRun run = main_run_options(o);
    Bundle b = *r.bundle;
    if (p.comments) b.ptx = r.emitted;
    const PipeVerdict v = pipe_run(cx, a, &b, r.module, &run);
    const WbbStatus s = main_verdict(a, o, file, &v);
    char *culprit;
    if (s == WBB_CHECK && pipe_audit(r.rw, a, &culprit)) fprintf(stderr, "wrong rule: %s\n", culprit);
    return s;
}
