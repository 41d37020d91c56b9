/* compile.c: `compile FILE.hlo`, and `run FILE.hlo`, which compiles first. */
#include "llvm/llvm.h"
#include "main/run.h"
#include "pipe/pipe.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    Words files, disable;
    const char *target, *emit, *output, *print_after;
    int64_t align;
    bool approx, lines, trace, explain, bijection, time, json;
} CompileOptions;

static PipeOptions pipe_options(const CompileOptions *o)
{
    PipeOptions p = {.target = o->target, .approx = o->approx, .align = (uint32_t)o->align, .lines = o->lines, .disable = o->disable.items,
                     .n_disable = o->disable.n, .print_after = o->print_after, .stage = PIPE_AT_PTX};
    for (int i = 0; o->emit && i < PIPE_STAGES; i++)
        if (!strcmp(o->emit, pipe_stage_name[i])) p.stage = (PipeStage)i;
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
static WbbStatus one_file(WbbCx *cx, WbbArena *a, const CompileOptions *o, const char *file, LlCache *cache)
{
    size_t n;
    const char *text = wbb_read_file(cx, a, file, &n);
    PipeOptions p = pipe_options(o);
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
    const CompileOptions *o;
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
static void print_refusal(WbbCx *cx, const CompileOptions *o, const char *file, WbbStatus s, size_t before)
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

static WbbStatus compile(const Call *call)
{
    WbbCx *cx = call->cx;
    const CompileOptions *o = call->options;
    if (o->output && o->files.n > 1) return main_usage(call, "--output takes one file");
    LlCache *cache = ll_cache_new(cx);
    WbbStatus worst = WBB_OK;
    for (uint32_t i = 0; i < o->files.n; i++) {
        File f = {.o = o, .file = o->files.items[i], .cache = cache};
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

/* Compile, run and judge; a bundle, or PTX of another compiler, is only run. */
static WbbStatus run(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const RunOptions *o = call->options;
    if (o->ptx || wbb_is_dir(o->file)) return main_run_without_compiling(call);
    size_t n;
    const char *text = wbb_read_file(cx, a, o->file, &n);
    const CompileOptions c = {.target = o->target, .approx = o->approx, .align = o->align, .lines = o->lines, .disable = o->disable};
    PipeOptions p = pipe_options(&c);
    p.comments = o->check && !p.lines; /* a fault shows its line, with the rule and the HLO instruction that made it */
    PipeResult r;
    pipe_compile(cx, a, &p, o->file, text, n, &r);
    const PipeRun options = main_run_options(o);
    Bundle b = *r.bundle;
    if (p.comments) b.ptx = r.emitted;
    const PipeVerdict v = pipe_run(cx, a, &b, r.module, &options);
    const WbbStatus s = main_verdict(a, o, o->file, &v);
    char *culprit;
    if (s == WBB_CHECK && pipe_audit(r.rw, a, &culprit)) fprintf(stderr, "wrong rule: %s\n", culprit);
    return s;
}

/* --- tables ------------------------------------------------------------------------------------------------------------------------ */
const char *main_target_names(WbbArena *a)
{
    uint32_t n;
    const TgTarget *const *all = tg_all(&n);
    WbbBuf b = wbb_buf(a);
    for (uint32_t i = 0; i < n; i++) wbb_putf(&b, "%s%s", i ? " " : "", all[i]->name);
    return b.text;
}

const char *main_pass_names(WbbArena *a)
{
    WbbBuf b = wbb_buf(a);
    for (const char *const *p = pipe_passes; *p; p++) wbb_putf(&b, "%s%s", p == pipe_passes ? "" : " ", *p);
    return b.text;
}

static const char *stage_names(WbbArena *a)
{
    WbbBuf b = wbb_buf(a);
    for (int i = 0; i < PIPE_STAGES; i++) wbb_putf(&b, "%s%s", i ? " " : "", pipe_stage_name[i]);
    return b.text;
}

static const char *printed_passes(WbbArena *a) { return wbb_format(a, "emit %s all", main_pass_names(a)); }

static const Positional compile_positionals[] = {
    {SEVERAL("FILE.hlo", CompileOptions, files, "HLO text of one fusion"), .value = VALUE_FILE}, {0}};
static const Option compile_table[] = {
    MAIN_OPTION_TARGET(CompileOptions),
    {WORD("--emit", CompileOptions, emit, "STAGE", "print what the compile is at this stage"), .choices = {.list = stage_names}},
    {WORD("--output", CompileOptions, output, "DIR", "write a bundle to DIR: kernel.json, kernel.ptx, fusion.hlo and, where ptxas is found, a cubin"), .letter = 'o', .value = VALUE_FOLDER},
    MAIN_OPTION_APPROX(CompileOptions),
    MAIN_OPTION_ALIGN(CompileOptions),
    MAIN_OPTION_LINES(CompileOptions),
    {WORD("--print-after", CompileOptions, print_after, "PASS", "print the kernel as it is after a pass"), .choices = {.list = printed_passes}},
    {FLAG("--trace", CompileOptions, trace, "print the rules that fired, in order")},
    {FLAG("--explain", CompileOptions, explain, "print what kept accesses from being wider, and which functions are linked")},
    {FLAG("--bijection", CompileOptions, bijection, "go through the stores of all threads: each element of an output must be stored exactly once")},
    {FLAG("--time", CompileOptions, time, "print the milliseconds that each part of the compile took")},
    MAIN_OPTION_JSON(CompileOptions),
    MAIN_OPTION_DISABLE(CompileOptions),
    {0}};
static const Example compile_examples[] = {
    {"compile gelu.hlo --target sm_80 --emit ir", "the kernel that the fusion becomes, before rewriting"},
    {"compile gelu.hlo -o out --explain", "a bundle, and the reasons for its shape"},
    {0}};
const Command main_compile = {
    .name = "compile", .summary = "compile fusions to PTX and machine code",
    .details = "Prints PTX, unless an option asks for something else.", .positionals = compile_positionals, .options = compile_table,
    .examples = compile_examples, .declined = "a fusion is declined; the message has the reason",
    .check = "with --bijection: an element is not stored exactly once", .size = sizeof(CompileOptions), .run = compile};

static const Positional run_positionals[] = {
    {ONE("FILE.hlo|BUNDLE", RunOptions, file, "HLO text of a fusion, or a folder that `compile -o` wrote"), .value = VALUE_FILE},
    {0}};
static const Option run_compiling[] = {
    MAIN_OPTION_TARGET(RunOptions), MAIN_OPTION_ALIGN(RunOptions), MAIN_OPTION_LINES(RunOptions), MAIN_OPTION_DISABLE(RunOptions), {0}};
static const Example run_examples[] = {
    {"run gelu.hlo --check --case e", "compile a fusion, run it on edge values and judge every element"},
    {"run gelu.hlo --ptx theirs.ptx --grid 512 --block 128 --check", "the same for PTX of another compiler"},
    {0}};
const Command main_run = {
    .name = "run", .summary = "run a fusion in the simulator or on a GPU, and judge what it computes",
    .details = "Compiles HLO text first; a bundle is run as it is. Where an element is wrong, both sides of every rule that fired are "
               "evaluated, and the message names the rule at fault.",
    .positionals = run_positionals, .options = run_compiling, .more_options = main_run_table, .examples = run_examples,
    .declined = "the fusion is declined; the message has the reason",
    .check = "a fault, an element outside the bounds, or a GPU that differs from the simulator", .size = sizeof(RunOptions), .run = run};
