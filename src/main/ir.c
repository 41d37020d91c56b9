/* ir.c: `ir FILE.ir`: a kernel of the fusion IR as text.
 *
 * Needs IR text. Without options it is parsed, verified and printed; with `--pass NAME` one pass runs before.
 * `--emit llvm|ptx|cubin` compiles the kernel, beginning with the pass that `--from PASS` names. `--check` compiles
 * it, runs it in the simulator and compares the outputs with what the text means (judge/ir_check.h). Several files
 * are taken one by one, as `compile` takes them.
 *
 *     warpburg ir add.ir --check --target sm_80
 *     add.ir: @add: 5252 elements agree
 *         made by patterns/tiles.py:10[add.f32]
 */
#include "index/index.h"
#include "llvm/llvm.h"
#include "main/main.h"
#include "main/program_compile.h"
#include "judge/ir_check.h"
#include "pipe/pipe.h"
#include "ptx/ptx.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    Words files, disable, assume, values;
    const char *target, *pass, *from, *emit, *output, *err;
    int64_t samples, seed;
    const char *accuracy, *backend;
    bool approx, lines, trace, check, ulp_noise, json;
} IrOptions;

typedef struct {
    const IrOptions *o;
    const TgTarget *t;
    LlCache *cache;
    const char *file;
    WbbStatus status;
} Job;

/* The number of a pass; of "llvm" the number of passes. */
static uint32_t pass_number(const char *name)
{
    uint32_t i = 0;
    while (pipe_passes[i] && strcmp(pipe_passes[i], name)) i++;
    return i;
}

static RwCx *engine(WbbCx *cx, WbbArena *a, const Job *j, IrKernel *k)
{
    RwCx *rw = rw_new(cx, a, k->g, &ix_tables, j->t->tables,
                      main_accuracy(j->o->accuracy, j->o->approx));
    pipe_disable(rw, j->t, j->o->disable.items, j->o->disable.n);
    for (uint32_t i = 0; i < j->o->assume.n; i++) rw_assume(rw, j->o->assume.items[i]);
    return rw;
}

/* Text to text, with one pass or none. */
static void one_pass(WbbCx *cx, WbbArena *a, Job *j, IrKernel *k)
{
    RwCx *rw = engine(cx, a, j, k);
    if (j->o->pass) {
        const uint32_t pass = pass_number(j->o->pass);
        rw_index(rw, k);
        if (pipe_passes[pass]) pipe_pass(rw, k, j->t, pipe_passes[pass], &(VecAccesses){0}, &(PipeBranch){0});
        ir_verify(k);
    }
    WbbBuf b = wbb_buf(a);
    ir_print(&b, k);
    if (j->o->trace) pipe_trace(&b, a, rw, UINT32_MAX);
    fputs(b.text, stdout);
}

/* A kernel to PTX. */
static LlOutput compile(WbbCx *cx, WbbArena *a, const Job *j, IrKernel *k, RwCx *rw)
{
    rw_index(rw, k);
    for (uint32_t i = j->o->from ? pass_number(j->o->from) : 0; pipe_passes[i]; i++) {
        pipe_pass(rw, k, j->t, pipe_passes[i], &(VecAccesses){0}, &(PipeBranch){0});
        ir_verify(k);
    }
    const LlOptions ll = {.cache = j->cache,
                          .index_tables = &ix_tables,
                          .lines = j->o->lines,
                          .comments = j->o->emit && !j->o->lines,
                          .keep_llvm = j->o->emit && !strcmp(j->o->emit, "llvm")};
    const PipeBackend asked = (PipeBackend)main_backend(j->o->backend);
    const bool by_ptx = pipe_by_ptx(asked, ll.keep_llvm);
    const PtxOptions o = {.index_tables = &ix_tables, .lines = ll.lines, .comments = ll.comments};
    PtxOutput out;
    if (by_ptx && ll.keep_llvm)
        wbb_fail(cx, (WbbLoc){.file = j->file}, "the tables of rules write PTX without LLVM IR");
    if (by_ptx && pipe_write_ptx(cx, a, asked, k, j->t, &o, &out))
        return (LlOutput){.ptx = out.ptx, .n_ptx = strlen(out.ptx), .ptx_commented = out.ptx_commented};
    return ll_compile(cx, a, k, j->t, &ll);
}

static void emit(WbbCx *cx, WbbArena *a, const Job *j, const IrKernel *k, const LlOutput *out)
{
    const char *what = j->o->emit;
    if (strcmp(what, "cubin")) {
        fputs(*what == 'l' ? out->llvm_after : out->ptx_commented ? out->ptx_commented : out->ptx, stdout);
        return;
    }
    const TgCubin c = tg_assemble(cx, a, j->t, out->ptx, k->name);
    if (!c.bytes) wbb_fail(cx, (WbbLoc){.file = j->file}, "no machine code: %s", c.missing);
    const char *path = wbb_format(a, "%s.%s.cubin", k->name, j->t->name);
    if (!j->o->output) {
        printf("%s: assembled for %s, %zu bytes; -o DIR writes it\n", j->file, j->t->name, c.n);
        return;
    }
    wbb_make_dir(cx, j->o->output);
    wbb_write_file(cx, wbb_format(a, "%s/%s", j->o->output, path), c.bytes, c.n);
}

/* Names of the rules that fired, instruction selection first. */
static Words rules_fired(WbbArena *a, const RwCx *rw, const TgTarget *t)
{
    Words names = {0};
    const uint32_t *counts = rw_counts(rw, false);
    for (int selecting = 1; selecting >= 0; selecting--)
        for (uint32_t i = 0; i < t->tables->n_rules; i++) {
            if (!counts[i] || (t->tables->rules[i].phase == RW_ISEL) != selecting) continue;
            const char *name = rw_rule_name(a, t->tables, i);
            WBB_PUSH(a, &names, name);
        }
    return names;
}

static void put_json(WbbArena *a, const Job *j, const char *kernel, const JudgeIrCheck *c, const Words *rules)
{
    WbbBuf b = wbb_buf(a);
    wbb_json_open(&b, NULL, '{');
    wbb_json_text(&b, "file", j->file);
    wbb_json_text(&b, "kernel", kernel);
    wbb_json_text(&b, "target", j->t->name);
    wbb_json_text(&b, "status", c->report.n_faults ? "fault" : c->wrong ? "wrong" : "ok");
    wbb_json_int(&b, "compared", c->compared);
    wbb_json_int(&b, "skipped", c->skipped);
    wbb_json_int(&b, "wrong", c->wrong);
    wbb_json_bool(&b, "all", c->all);
    wbb_json_open(&b, "rules", '[');
    for (uint32_t i = 0; i < rules->n; i++) wbb_json_text(&b, NULL, rules->items[i]);
    wbb_json_close(&b, ']');
    if (c->first || c->report.n_faults) wbb_json_text(&b, "first", c->report.n_faults ? c->report.faults[0] : c->first);
    wbb_json_end(&b, "ir.1");
    puts(b.text);
}

static void put_text(const Job *j, const char *kernel, const JudgeIrCheck *c, const Words *rules)
{
    for (int i = 0; i < c->report.n_faults; i++) printf("%s: fault: %s\n", j->file, c->report.faults[i]);
    if (c->wrong) {
        printf("%s: %lld of %lld elements differ; with the plainest operands:\n  %s\n", j->file, (long long)c->wrong,
               (long long)c->compared, c->first);
    } else if (!c->report.n_faults) {
        printf("%s: @%s: %lld elements agree%s", j->file, kernel, (long long)c->compared,
               c->all ? ", every possible value" : "");
        if (c->skipped) printf(", %lld where the operation leaves the result open", (long long)c->skipped);
        puts("");
    }
    printf("    made by");
    for (uint32_t i = 0; i < rules->n; i++) printf("%s %s", i ? "," : "", rules->items[i]);
    puts(rules->n ? "" : " ");
}

/* "1e-6", "2ulp" */
static JudgeErr err_of(WbbCx *cx, const char *text)
{
    if (!text) return (JudgeErr){0};
    char *end;
    const double x = strtod(text, &end);
    const bool ulp = !strcmp(end, "ulp");
    if (end == text || (*end && !ulp) || !(x >= 0 && x < 1e9))
        wbb_fail(cx, (WbbLoc){0}, "--err %s: a relative error, or as many ulp, expected: 2e-7, 2ulp", text);
    return ulp ? (JudgeErr){.ulp = x} : (JudgeErr){.relative = x};
}

static JudgeIrValues values_of(WbbCx *cx, WbbArena *a, const Words *text)
{
    uint64_t *items = WBB_NEW_N(a, uint64_t, text->n + 1);
    for (size_t i = 0; i < text->n; i++) {
        char *end;
        const char *word = text->items[i], *digits = word + (*word == '-');
        const uint64_t x = strtoull(digits, &end, 0);
        if (*digits < '0' || *digits > '9' || *end)
            wbb_fail(cx, (WbbLoc){0}, "--try %s: an integer expected: 145249, -1, 0x3f800000", word);
        items[i] = digits == word ? x : 0 - x;
    }
    return (JudgeIrValues){items, (uint32_t)text->n};
}

static WbbStatus check(WbbCx *cx, WbbArena *a, const Job *j, const char *text, size_t n, const IrKernel *k,
                       const LlOutput *out, const RwCx *rw)
{
    const JudgeIrOptions p = {.seed = (uint64_t)j->o->seed,
                             .samples = j->o->samples,
                             .err = err_of(cx, j->o->err),
                             .values = values_of(cx, a, &j->o->values),
                             .ulp_noise = j->o->ulp_noise};
    const JudgeIrCheck c = judge_ir_check(cx, a, j->file, text, n, out->ptx, &p);
    const Words rules = rules_fired(a, rw, j->t);
    if (j->o->json) put_json(a, j, k->name, &c, &rules);
    else put_text(j, k->name, &c, &rules);
    return c.wrong || c.report.n_faults ? WBB_CHECK : WBB_OK;
}

static void one_file(WbbCx *cx, void *arg)
{
    Job *j = arg;
    WbbArena *a = wbb_arena_new(cx);
    size_t n;
    j->t = tg_without(cx, a, j->t, j->o->disable.items, j->o->disable.n);
    const char *text = wbb_read_file(cx, a, j->file, &n);
    IrKernel *k = ir_parse(cx, a, j->file, text, n);
    ir_verify(k);
    if (!j->o->check && !j->o->emit) {
        one_pass(cx, a, j, k);
    } else {
        RwCx *rw = engine(cx, a, j, k);
        const LlOutput out = compile(cx, a, j, k, rw);
        if (j->o->emit) emit(cx, a, j, k, &out);
        if (j->o->output && !(j->o->emit && !strcmp(j->o->emit, "cubin"))) {
            wbb_make_dir(cx, j->o->output);
            wbb_write_file(cx, wbb_format(a, "%s/%s.ptx", j->o->output, k->name), out.ptx, out.n_ptx);
        }
        if (j->o->check) j->status = check(cx, a, j, text, n, k, &out, rw);
    }
    wbb_arena_free(a);
}

/* The JSON line of a file that failed or was declined. `before`: length of cx->messages before the file. */
static void print_refusal(WbbCx *cx, const Job *j, WbbStatus s, size_t before)
{
    WbbBuf b = wbb_buf(cx->arena);
    wbb_json_open(&b, NULL, '{');
    wbb_json_text(&b, "file", j->file);
    wbb_json_text(&b, "target", j->t->name);
    wbb_json_text(&b, "status", s == WBB_DECLINED ? "declined" : "failed");
    wbb_json_text(&b, "message", cx->messages + before);
    wbb_json_end(&b, "ir.1");
    puts(b.text);
}

static WbbStatus ir(const Call *call)
{
    WbbCx *cx = call->cx;
    const IrOptions *o = call->options;
    const TgTarget *t = tg_find(o->target);
    LlCache *cache = ll_cache_new(cx);
    WbbStatus worst = WBB_OK;
    for (uint32_t i = 0; i < o->files.n; i++) {
        Job j = {.o = o, .t = t, .cache = cache, .file = o->files.items[i]};
        const size_t before = strlen(cx->messages);
        WbbStatus s = wbb_guard(cx, one_file, &j);
        if (s == WBB_OK) s = j.status;
        else if (o->json) print_refusal(cx, &j, s, before);
        if (s != WBB_OK && (worst == WBB_OK || s == WBB_FAILED)) worst = s;
    }
    ll_cache_free(cache);
    return worst;
}

static const char *passes_to_llvm(WbbArena *a) { return wbb_format(a, "%s llvm", main_pass_names(a)); }

static const Positional positionals[] = {
    {SEVERAL("FILE.ir", IrOptions, files, "text of a kernel of the fusion IR"), .value = VALUE_FILE}, {0}};
static const Option options[] = {
    MAIN_OPTION_TARGET(IrOptions),
    {WORD("--pass", IrOptions, pass, "PASS", "run one pass and print the kernel"),
     .choices = {.list = main_pass_names}},
    {WORD("--from", IrOptions, from, "PASS", "with --emit or --check: the kernel is as before this pass"),
     .choices = {.list = passes_to_llvm}},
    {WORD("--emit", IrOptions, emit, "STAGE", "compile the kernel and print this stage"),
     .choices = {.words = "llvm ptx cubin"}},
    {FLAG("--check", IrOptions, check,
          "compile the kernel, run it in the simulator and compare it with what the text means")},
    {NUMBER("--samples", IrOptions, samples, "N",
            "with --check: values of each operand at least (default: all combinations of edge values, and 4096 more)")},
    MAIN_OPTION_SEED(IrOptions, "with --check: values follow from N"),
    {LIST("--try", IrOptions, values, "N",
          "with --check: operands are also near this value or bit pattern, its multiples and its negative")},
    {WORD("--err", IrOptions, err, "E",
          "with --check: the error that functions may have, 2e-7 or 2ulp, instead of their budget")},
    {FLAG("--ulp-noise", IrOptions, ulp_noise,
          "with --check: let approximate instructions miss by as much as the PTX manual allows")},
    {WORD("--output", IrOptions, output, "DIR", "write KERNEL.ptx, or with --emit cubin the cubin, to DIR"),
     .letter = 'o', .value = VALUE_FOLDER},
    MAIN_OPTION_ACCURACY(IrOptions),
    MAIN_OPTION_BACKEND(IrOptions),
    MAIN_OPTION_LINES(IrOptions),
    {FLAG("--trace", IrOptions, trace, "with --pass: print the rules that fired, in order")},
    MAIN_OPTION_JSON(IrOptions),
    MAIN_OPTION_DISABLE(IrOptions),
    {LIST("--assume", IrOptions, assume, "RULE", "the facts that this instruction rule asks for hold")},
    {0}};
static const Example examples[] = {
    {"ir add.ir --pass simplify --trace", "the kernel after one pass, and the rules that fired"},
    {"ir add.ir --check --target sm_80", "is what is made of the kernel what its text means?"},
    {0}};
const Command main_ir = {
    .name = "ir",
    .summary = "parse, rewrite, compile and check kernels of the fusion IR",
    .details = "Without --pass, --emit or --check the kernel is verified and printed.",
    .positionals = positionals,
    .options = options,
    .examples = examples,
    .declined = "no rule selects an instruction for an operation",
    .check = "with --check: an element differs, or the simulator found a fault",
    .size = sizeof(IrOptions),
    .run = ir,
};
