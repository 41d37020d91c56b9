/* fuse.c: `fuse FILE.hlo`: an unfused module cut into kernels and library calls: as text, as files, as a program.
 *
 *     warpburg fuse model.hlo -o program       program.json, which says what runs in which order on which memory
 *     warpburg fuse model.hlo --parts parts    each kernel once, and index.tsv
 */
#include "fuse/fuse.h"
#include "main/main.h"
#include "main/program_compile.h"
#include "pipe/pipe.h"
#include "program/program.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    Words files, disable;
    const char *assume, *output, *parts, *cut, *like, *target, *emit, *plan;
    bool explain;
} FuseOptions;

/* "12 of fusion.3: multiply" */
static void put_part(WbbBuf *b, const FusePart *p)
{
    wbb_putf(b, "// %" PRIu64 " of %s: %s%s\n", p->count, p->name, p->operation, p->text ? "" : ", a library call");
    if (p->text) wbb_put(b, p->text);
}

static void write_parts(WbbCx *cx, WbbArena *a, const FuseParts *parts, const char *folder)
{
    WbbBuf index = wbb_buf(a);
    wbb_put(&index, "file\tcount\tlibrary\toperation\n");
    if (prog_is_folder(folder))
        wbb_fail(cx, (WbbLoc){.file = folder}, "the folder holds a program, and parts would be mixed with it");
    wbb_make_dir(cx, folder);
    for (uint32_t k = 0; k < parts->n; k++) {
        const FusePart *p = &parts->items[k];
        wbb_putf(&index, "%s%s\t%" PRIu64 "\t%s\t%s\n", p->name, p->text ? ".hlo" : "", p->count, p->text ? "" : "yes",
                 p->operation);
        if (!p->text) continue;
        WbbBuf b = wbb_buf(a);
        put_part(&b, p);
        wbb_write_file(cx, wbb_format(a, "%s/%s.hlo", folder, p->name), b.text, b.n);
    }
    wbb_write_file(cx, wbb_format(a, "%s/index.tsv", folder), index.text, index.n);
}

static void write_program(WbbCx *cx, WbbArena *a, const HloModule *m, const char *text, const FuseHow *how,
                          const char *folder)
{
    ProgModule *p = prog_build(cx, a, m, how);
    p->source = text;
    prog_write(cx, p, folder);
    WbbBuf b = wbb_buf(a);
    wbb_putf(&b, "%s: ", folder);
    prog_summary(&b, p);
    puts(b.text);
}

/* What XLA's passes leave has an order; what they take has none. */
static void check_optimised(WbbCx *cx, const HloModule *m, const char *file)
{
    if (!main_is_optimised(m))
        wbb_fail(cx, (WbbLoc){.file = file, .line = 1, .col = 1},
                 "--like xla takes a module that XLA's passes have optimised, whose header has is_scheduled=true");
}

static WbbStatus print_plan(WbbCx *cx, WbbArena *a, const PipeModule *m)
{
    WbbBuf choices = wbb_buf(a);
    main_put_plan(cx, a, &choices, m);
    if (m->how.explain) fputs(m->how.explain->text, stdout);
    fputs(choices.text, stdout);
    return WBB_OK;
}

static WbbStatus fuse_file(const Call *call, const char *file, const char *output)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const FuseOptions *o = call->options;
    const char *cut = o->cut ? o->cut : output || o->emit || o->plan ? "priced" : "plain";
    const bool priced = !o->like && strcmp(cut, "plain") != 0;
    if (o->plan && (o->cut || o->like))
        return main_usage(call, "--plan is a cut, and --cut and --like make another one");
    if (o->emit && !priced) return main_usage(call, "--emit plan needs --cut priced");
    if (o->like && o->cut) return main_usage(call, "--like keeps the cut of the module, and --cut makes another one");
    if (o->explain && (!priced || o->plan)) return main_usage(call, "--explain needs --cut priced");
    if (o->disable.n && !priced) return main_usage(call, "--disable needs --cut priced");
    size_t n;
    const char *text = main_read_hlo(cx, a, file, o->assume, &n);
    const PipeModuleOptions by = {.target = o->target, .by = pipe_cut_named(o->like ? "given" : cut), .plan = o->plan,
                                  .disable = o->disable.items, .n_disable = o->disable.n};
    PipeModule module = pipe_module(cx, a, &by, file, text, n);
    const HloModule *m = module.module;
    if (o->like) check_optimised(cx, m, file);
    else main_note_optimised(cx, m, file, "");
    WbbBuf explain = wbb_buf(a);
    FuseHow *how = &module.how;
    if (o->explain) how->explain = &explain;
    if (o->emit) return print_plan(cx, a, &module);
    if (output) write_program(cx, a, m, text, how, output);
    if (output && !o->parts) {
        fputs(explain.text, stdout);
        return WBB_OK;
    }
    if (output) how->explain = NULL; /* the program's cut has said it */
    const FuseParts parts = fuse_parts(cx, a, m, how);
    if (o->parts) write_parts(cx, a, &parts, o->parts);
    if (o->parts || o->explain) {
        fputs(explain.text, stdout);
        return WBB_OK;
    }
    WbbBuf b = wbb_buf(a);
    for (uint32_t k = 0; k < parts.n; k++) {
        if (k) wbb_put(&b, "\n// -----\n\n");
        put_part(&b, &parts.items[k]);
    }
    fputs(b.text, stdout);
    return WBB_OK;
}

static WbbStatus fuse(const Call *call)
{
    const FuseOptions *o = call->options;
    return main_each_file(call, &(Each){.words = &o->files, .output = o->output, .done = "cut",
                                   .single = o->parts ? "--parts" : NULL, .one = fuse_file});
}

static const Positional positionals[] = {
    {SEVERAL("FILE.hlo", FuseOptions, files, "HLO text of an unfused module, or a folder of such files or of XLA's dumps"),
     .value = VALUE_FILE},
    {0}};
static const Option options[] = {
    {WORD("--cut", FuseOptions, cut, "HOW",
          "plain: the same kernels on every target; priced: by modelled time; exhaustive: the best of all combinations of "
          "choices, of small modules (default: priced with -o, else plain)"),
     .choices = {.words = "plain priced exhaustive"}},
    {WORD("--like", FuseOptions, like, "WHOM",
          "xla: keep the fusions of a module that XLA has optimised; what is in none is a kernel of its own"),
     .choices = {.words = "xla"}},
    MAIN_OPTION_TARGET(FuseOptions),
    MAIN_OPTION_ASSUME(FuseOptions),
    MAIN_OPTION_DISABLE(FuseOptions),
    {WORD("--emit", FuseOptions, emit, "WHAT", "plan: print which kernel computes and leaves what, by price, as a text that --plan takes"),
     .choices = {.words = "plan"}},
    {WORD("--plan", FuseOptions, plan, "FILE", "cut as this plan says, which --emit plan has printed, or one like it"),
     .value = VALUE_FILE},
    {FLAG("--explain", FuseOptions, explain, "with --cut priced: print why operations are or are not in one kernel")},
    {WORD("--output", FuseOptions, output, "DIR", "write a program to DIR: program.json, and the text of each kernel; of several files to DIR/NAME each"),
     .letter = 'o', .value = VALUE_FOLDER},
    {WORD("--parts", FuseOptions, parts, "DIR", "write a file for each part, and their list to DIR/index.tsv"),
     .value = VALUE_FOLDER},
    {0}};
static const Example examples[] = {
    {"fuse model.hlo -o program", "a program, which `run` runs: kernels and library calls in order, and their memory"},
    {"fuse model.gpu.hlo --like xla -o theirs", "the same, with the fusions that XLA chose"},
    {"fuse model.hlo --emit plan > cut.plan; fuse model.hlo --plan cut.plan -o program", "the same in two steps, with a text between them to change"},
    {"fuse model.hlo --parts parts", "a folder of fusions that `compile` takes one by one"},
    {0}};
const Command main_fuse = {
    .name = "fuse",
    .summary = "cut an unfused module into kernels and library calls",
    .details = "Prints the parts, one module after the other, each with the number of times it occurs.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "an operation is not supported",
    .size = sizeof(FuseOptions),
    .run = fuse,
};
