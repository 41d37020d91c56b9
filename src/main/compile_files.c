/* compile_files.c: the files of `compile`, by several threads.
 *
 * Needs files of HLO text. Leaves on stdout what each of them prints, in their order, their messages, and the worst
 * status: one bad file does not stop the others, a failed one counts before a declined one.
 *
 *     warpburg compile fusions -o out -j 2
 */
#include "llvm/llvm.h"
#include "main/compile.h"

#include <stdio.h>
#include <string.h>

/* The JSON line of a file that failed or was declined, in a context that has the file's messages alone. */
static void put_refusal(const WbbCx *cx, const CompileOptions *o, const char *file, WbbStatus s, WbbBuf *b)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", file);
    wbb_json_text(b, "target", o->target);
    wbb_json_text(b, "status", s == WBB_DECLINED ? "declined" : "failed");
    wbb_json_text(b, "reason", s == WBB_DECLINED ? wbb_why_name(cx->why) : "");
    wbb_json_text(b, "message", cx->messages);
    wbb_json_end(b, "compile.1");
    wbb_put(b, "\n");
}

/* Files are compiled by several threads. Each has a context of its own, and keeps what its files print until that can
 * be printed in the order of the files. */
enum { AT_ONCE = 256 /* files */ };

typedef struct {
    const char *text, *messages;
    WbbStatus status;
    WbbWhy why;
} Outcome;

typedef struct {
    WbbCx *cx;
    CompileTools tools;
    WbbArena *texts; /* of outcomes that are not printed */
} Worker;

typedef struct {
    const Call *call;
    const CompileOptions *o;
    const Words *files;
    const char **folders;
    uint32_t first; /* of the files that are being compiled */
    Worker workers[WBB_POOL_THREADS];
    Outcome outcomes[AT_ONCE];
} Compile;

typedef struct {
    Compile *c;
    Worker *w;
    WbbPool *pool;
    bool first;
} Turn;

static void begin_worker(WbbCx *cx, void *arg)
{
    Turn *t = arg;
    Worker *w = t->w;
    if (!w->tools.cache) {
        w->tools.cache = ll_cache_new(cx);
        w->tools.store = main_store(cx, t->c->o->no_cache);
    }
    w->texts = wbb_arena_new(cx);
}

static void compile_one(WbbCx *cx, void *arg)
{
    Turn *t = arg;
    Compile *c = t->c;
    for (uint64_t k, end; wbb_pool_take(t->pool, &k, &end);) {
        const uint32_t number = c->first + (uint32_t)k;
        WbbBuf out = wbb_buf(t->w->texts);
        CompileFile f = {.o = c->o, .file = c->files->items[number], .output = c->folders[number],
                         .tools = &t->w->tools, .out = &out};
        if (t->first && c->files->n > 1) wbb_progress(c->call->cx, "files", number, c->files->n);
        wbb_cx_clear(cx);
        cx->about = c->files->n > 1 ? f.file : NULL;
        const WbbStatus s = main_compile_file(cx, &f);
        if (s == WBB_DECLINED) wbb_note(cx, (WbbLoc){.file = f.file}, "%s", wbb_why_text(cx->why));
        if (c->o->json && s != WBB_OK && s != WBB_CHECK) put_refusal(cx, c->o, f.file, s, &out);
        c->outcomes[k] = (Outcome){out.text, wbb_format(t->w->texts, "%s", cx->messages), s, cx->why};
    }
}

static void work(WbbPool *pool, void *arg, uint32_t number)
{
    Turn t = {.c = arg, .pool = pool, .first = number == 0};
    t.w = &t.c->workers[number];
    if (!t.w->cx) t.w->cx = wbb_cx_new();
    if (t.w->cx && wbb_guard(t.w->cx, begin_worker, &t) == WBB_OK) (void)wbb_guard(t.w->cx, compile_one, &t);
}

static void end_worker(Worker *w)
{
    if (w->tools.store) wbb_store_close(w->cx, w->tools.store);
    if (w->tools.cache) ll_cache_free(w->tools.cache);
    if (w->cx) wbb_cx_free(w->cx);
}

static WbbStatus compile(const Call *call)
{
    WbbCx *cx = call->cx;
    const CompileOptions *o = call->options;
    const Words files = main_files(cx, call->arena, &o->files, false);
    Compile *c = WBB_NEW(call->arena, Compile);
    *c = (Compile){.call = call, .o = o, .files = &files};
    c->folders = main_folders(cx, call->arena, &o->files, &files, o->output, "bundle");
    const uint32_t threads = wbb_pool_threads(o->jobs, files.n);
    WbbStatus worst = WBB_OK;
    Outcomes outcomes = {0};
    for (; c->first < files.n; c->first += AT_ONCE) {
        const uint32_t n = WBB_MIN(files.n - c->first, (uint32_t)AT_ONCE);
        for (uint32_t k = 0; k < n; k++)
            c->outcomes[k] = (Outcome){"", "error: out of memory\n", WBB_FAILED, WHY_NONE};
        wbb_pool_run(threads, n, 1, work, c);
        for (uint32_t k = 0; k < n; k++) {
            const Outcome *x = &c->outcomes[k];
            fputs(x->text, stdout);
            main_count(&outcomes, x->status, x->why);
            wbb_take_messages(cx, &(WbbCx){.messages = x->messages, .why = x->why});
            if (x->status != WBB_OK && (worst == WBB_OK || x->status == WBB_FAILED)) worst = x->status;
        }
        for (uint32_t w = 0; w < threads; w++)
            if (c->workers[w].texts) wbb_arena_free(c->workers[w].texts), c->workers[w].texts = NULL;
    }
    if (files.n > 1) {
        wbb_progress(cx, "files", files.n, files.n);
        main_note_outcomes(cx, &outcomes, "files", "compiled");
    }
    for (uint32_t w = 0; w < threads; w++) end_worker(&c->workers[w]);
    return worst;
}

/* --- tables ----------------------------------------------------------------------------------- */
static const char *stage_names(WbbArena *a)
{
    WbbBuf b = wbb_buf(a);
    for (int i = 0; i < PIPE_STAGES; i++) wbb_putf(&b, "%s%s", i ? " " : "", pipe_stage_name[i]);
    return b.text;
}

static const char *printed_passes(WbbArena *a) { return wbb_format(a, "emit %s all", main_pass_names(a)); }

static const Positional compile_positionals[] = {
    {SEVERAL("FILE.hlo|PROGRAM", CompileOptions, files,
             "HLO text of a fusion or a module, or its protocol buffer (- for standard input), a folder of such files, of "
             "XLA's dumps, or one that `fuse -o` wrote"),
     .value = VALUE_FILE},
    {0}};
static const Option compile_table[] = {
    MAIN_OPTION_TARGET(CompileOptions),
    {WORD("--emit", CompileOptions, emit, "STAGE", "print what the compile is at this stage"),
     .choices = {.list = stage_names}},
    {WORD("--output", CompileOptions, output, "DIR",
          "write a bundle to DIR: kernel.json, kernel.ptx, fusion.hlo and, where ptxas is found, a cubin; of a module a "
          "program with its bundles; of several files to DIR/NAME each"),
     .letter = 'o', .value = VALUE_FOLDER},
    MAIN_OPTION_ACCURACY(CompileOptions),
    MAIN_OPTION_ASSUME(CompileOptions),
    MAIN_OPTION_DETERMINISTIC(CompileOptions),
    MAIN_OPTION_BACKEND(CompileOptions),
    MAIN_OPTION_ALIGN(CompileOptions),
    MAIN_OPTION_LAYOUT(CompileOptions),
    MAIN_OPTION_PLAN(CompileOptions),
    MAIN_OPTION_LINES(CompileOptions),
    MAIN_OPTION_CUT(CompileOptions),
    {WORD("--print-after", CompileOptions, print_after, "PASS", "print the kernel as it is after a pass"),
     .choices = {.list = printed_passes}},
    {FLAG("--trace", CompileOptions, trace, "print the rules that fired, in order")},
    {FLAG("--explain", CompileOptions, explain,
          "print what kept accesses from being wider, and which functions are linked")},
    {FLAG("--bijection", CompileOptions, bijection,
          "go through the stores of all threads: each element of an output must be stored exactly once")},
    {FLAG("--time", CompileOptions, time, "print the milliseconds that each part of the compile took")},
    MAIN_OPTION_JSON(CompileOptions),
    MAIN_OPTION_JOBS(CompileOptions, "files at once", "64"),
    MAIN_OPTION_NO_CACHE(CompileOptions),
    MAIN_OPTION_DISABLE(CompileOptions),
    {0}};
static const Example compile_examples[] = {
    {"compile gelu.hlo --target sm_80 --emit ir", "the kernel that the fusion becomes, before rewriting"},
    {"compile gelu.hlo -o out --explain", "a bundle, and the reasons for its shape"},
    {"compile dump", "every module that --xla_dump_to=dump left"},
    {"compile fusions -o out", "a bundle in out/NAME of each fusions/NAME.hlo"},
    {0}};
const Command main_compile = {
    .name = "compile",
    .summary = "compile fusions to PTX and machine code",
    .details = "Prints PTX, unless an option asks for something else.\nA module that takes several kernels is cut as "
               "`fuse` cuts it, and becomes a program.",
    .positionals = compile_positionals,
    .options = compile_table,
    .examples = compile_examples,
    .declined = "a fusion is declined; the message has the reason",
    .check = "with --bijection: an element is not stored exactly once",
    .size = sizeof(CompileOptions),
    .run = compile,
};
