/* run.c: `run BUNDLE`, `run FILE.hlo --ptx THEIRS.ptx`, and what `run` prints. Needs no compiler.
 *
 * Needs a bundle, or PTX with its launch, and the HLO text of its fusion. Leaves a verdict on stdout: faults,
 * elements outside the bounds, with a GPU what differs from the simulator; exit status 4 if there is any.
 *
 *     warpburg-run run out --check
 *     out: 12582912 elements inside the bounds, 2 ulp from f64 at most, no fault
 */
#include "main/run.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const Option main_run_table[] = {
    {WORD("--on", RunOptions, on, "WHERE", "run in the simulator, or on a GPU as well and compare"), .standard = "sim",
     .choices = {.words = "sim gpu"}},
    {NUMBER("--repeat", RunOptions, repeat, "N", "with --on gpu: time N runs"), .most = 1000000},
    {FLAG("--alone", RunOptions, alone, "with --on gpu: not in the simulator too; with --check judge by the bounds")},
    {FLAG("--check", RunOptions, check,
          "check every access to memory, and every element of the outputs by the bounds of `eval --bounds`")},
    MAIN_OPTION_ACCURACY(RunOptions),
    MAIN_OPTION_ASSUME(RunOptions),
    MAIN_OPTION_INPUTS(RunOptions),
    {WORD("--output", RunOptions, output, "DIR", "write the outputs to DIR/out0.npy and so on"), .letter = 'o',
     .value = VALUE_FOLDER},
    MAIN_OPTION_SEED(RunOptions, "made values, and the choice of --blocks, follow from N"),
    {NUMBER("--seeds", RunOptions, seeds, "N", "run on the values of N seeds from --seed on, until one fails"),
     .standard = "1", .most = 1000000},
    MAIN_OPTION_CASE(RunOptions),
    {NUMBER("--blocks", RunOptions, blocks, "N", "run a sample of N blocks and judge what they wrote; a profile takes all where it needs them")},
    {WORD("--order", RunOptions, order, "ORDER",
          "run blocks and warps by their numbers (forward, reverse), or in turns that a seed decides (shuffle:SEED)"),
     .standard = "forward", .choices = {.words = "forward reverse shuffle:1", .open = true}},
    {FLAG("--ulp-noise", RunOptions, ulp_noise,
          "let approximate instructions miss by as much as the PTX manual allows")},
    {FLAG("--counts", RunOptions, counts, "print the instructions and memory accesses that were executed")},
    MAIN_OPTION_JOBS(RunOptions, "threads of the host that run blocks and judge", "16"),
    {FLAG("--time", RunOptions, time, "print the milliseconds of running and of judging")},
    MAIN_OPTION_JSON(RunOptions),
    {FLAG("--edited", RunOptions, edited, "run a bundle though a file in it is not the one that was written")},
    {WORD("--ptx", RunOptions, ptx, "THEIRS.ptx", "run this PTX, of any compiler, on the inputs of FILE.hlo"),
     .value = VALUE_FILE},
    {WORD("--cubin", RunOptions, cubin, "THEIRS.cubin", "with --ptx and --on gpu: its machine code"),
     .value = VALUE_FILE},
    {WORD("--grid", RunOptions, grid, "X,Y,Z", "with --ptx: blocks of the launch (default: 1,1,1)")},
    {WORD("--block", RunOptions, block, "X,Y,Z", "with --ptx: threads of a block (default: 1,1,1)")},
    {NUMBER("--shared", RunOptions, shared, "BYTES", "with --ptx: dynamic shared memory of a block")},
    {NUMBER("--padding", RunOptions, padding, "BYTES", "zeros behind each buffer that loads may read")},
    {0}};

ScAccuracy main_accuracy(const char *accuracy, bool approx)
{
    return accuracy ? sc_accuracy_named(accuracy) : approx ? SC_APPROX : SC_EXACT;
}

const char *main_read_hlo(WbbCx *cx, WbbArena *a, const char *file, const char *assume, size_t *n)
{
    uint32_t permits = 0;
    if (assume && !hlo_read_permits(assume, strlen(assume), &permits))
        wbb_fail(cx, (WbbLoc){0}, "--assume %s: some of contract, nnan and nsz expected, as in contract,nnan", assume);
    return hlo_assume(a, hlo_read_file(cx, a, file, n), n, permits);
}

/* forward, reverse, or shuffle:SEED */
static SimOrder read_order(WbbCx *cx, const char *text, uint64_t *seed)
{
    char *end;
    if (!strcmp(text, "forward")) return SIM_FORWARD;
    if (!strcmp(text, "reverse")) return SIM_REVERSE;
    if (strncmp(text, "shuffle:", 8) || text[8] < '0' || text[8] > '9' ||
        (errno = 0, *seed = strtoull(text + 8, &end, 10), *end || errno))
        wbb_fail(cx, (WbbLoc){0}, "--order %s: forward, reverse or shuffle:SEED expected", text);
    return SIM_SHUFFLED;
}

JudgeRun main_run_options(WbbCx *cx, const RunOptions *o)
{
    uint64_t order_seed = 0;
    const SimOrder order = read_order(cx, o->order, &order_seed);
    return (JudgeRun){.order = order, .order_seed = order_seed,
                     .check = o->check, .seed = (uint64_t)o->seed, .which = o->which[0],
                     .inputs = o->inputs.n ? o->inputs.items : NULL, .n_inputs = o->inputs.n,
                     .blocks = (uint64_t)o->blocks, .ulp_noise = o->ulp_noise,
                     .counts = o->counts, .on_gpu = !strcmp(o->on, "gpu"), .alone = o->alone,
                     .repeat = (uint32_t)o->repeat,
                     .accuracy = main_accuracy(o->accuracy, o->approx), .padding = (size_t)o->padding,
                     .ptx_name = o->ptx, .output_dir = o->output,
                     .threads = wbb_pool_threads(o->jobs, MAIN_THREADS)};
}

static void put_json(WbbBuf *b, const RunOptions *o, const char *name, const JudgeVerdict *v)
{
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", name);
    if (o->seeds > 1) wbb_json_uint(b, "seed", v->seed);
    judge_put_verdict_json(b, v);
    if (o->counts) main_put_counts_json(b, "counts", &v->counts);
    wbb_json_end(b, "run.1");
    wbb_put(b, "\n");
}

static void put_text(WbbBuf *b, const RunOptions *o, const char *name, const JudgeVerdict *v)
{
    judge_put_verdict(b, name, v);
    if (o->counts) main_put_counts(b, &v->counts);
    if (o->time) wbb_putf(b, "ms: run %.1f, judge %.1f\n", v->ms_run, v->ms_eval);
}

static void print_verdict(WbbArena *a, const RunOptions *o, const char *name, const JudgeVerdict *v)
{
    WbbBuf b = wbb_buf(a);
    if (o->json) put_json(&b, o, name, v);
    else if (o->seeds > 1) put_text(&b, o, wbb_format(a, "%s, seed %llu", name, (unsigned long long)v->seed), v);
    else put_text(&b, o, name, v);
    main_put_text(stdout, b.text);
}

WbbStatus main_run_seeds(WbbCx *cx, const RunOptions *o, const char *name, const Bundle *b, const HloModule *m)
{
    if (o->alone && strcmp(o->on, "gpu")) wbb_fail(cx, (WbbLoc){0}, "--alone: only with --on gpu");
    if (o->alone && (o->blocks || o->counts))
        wbb_fail(cx, (WbbLoc){0}, "--alone: the simulator counts, and runs samples");
    JudgeRun run = main_run_options(cx, o);
    if (!o->accuracy && !o->approx && b->accuracy) run.accuracy = sc_accuracy_named(b->accuracy);
    for (int64_t k = 0;; k++, run.seed++) {
        WbbArena *a = wbb_arena_new(cx);
        wbb_arena_limit(a, MAIN_MEMORY);
        const JudgeVerdict v = judge_run(cx, a, b, m, &run);
        const bool failed = v.outside || v.report.n_faults || (v.exact && v.differ);
        if (failed || k + 1 >= o->seeds) print_verdict(a, o, name, &v);
        if (!failed) judge_need_judged(cx, name, &v);
        wbb_arena_free(a);
        if (failed) return WBB_CHECK;
        if (k + 1 >= o->seeds) return WBB_OK;
    }
}

void main_read_extent(WbbCx *cx, const char *option, const char *text, uint32_t extent[3])
{
    for (int d = 0; d < 3; d++) extent[d] = 1;
    for (int d = 0; text && *text && d < 3; d++) {
        char *end;
        const long long n = strtoll(text, &end, 10);
        if (end == text || n < 0 || n > INT32_MAX || (*end && *end != ','))
            wbb_fail(cx, (WbbLoc){0}, "%s %s: up to three numbers expected, as in 128,1,1", option, text);
        extent[d] = (uint32_t)n;
        text = *end ? end + 1 : end;
    }
}

/* `run FILE.hlo --ptx THEIRS.ptx --grid .. --block ..`: PTX of any origin, for the inputs of the fusion. */
static const Bundle *foreign(WbbCx *cx, WbbArena *a, const RunOptions *o, const HloModule *m)
{
    size_t n;
    const char *ptx = wbb_read_file(cx, a, o->ptx, &n);
    BdLaunch launch = {.cluster = {1, 1, 1}, .shared = o->shared};
    main_read_extent(cx, "--grid", o->grid, launch.grid);
    main_read_extent(cx, "--block", o->block, launch.block);
    const char *entry = sim_entry(sim_parse(cx, a, o->ptx, ptx), 0);
    if (!entry) wbb_fail(cx, (WbbLoc){.file = o->ptx, .line = 1, .col = 1}, "no kernel in it");
    Bundle *b = judge_foreign(cx, a, m, ptx, entry, &launch);
    if (o->cubin) b->cubin = wbb_read_file(cx, a, o->cubin, &b->cubin_bytes);
    return b;
}

const Bundle *main_run_bundle_of(WbbCx *cx, WbbArena *a, const RunOptions *o, const HloModule **m, const char **hlo)
{
    size_t n;
    if (o->ptx) {
        *hlo = main_read_hlo(cx, a, o->file, o->assume, &n);
        *m = hlo_parse(cx, a, o->file, *hlo, n);
        return foreign(cx, a, o, *m);
    }
    const Bundle *b = bd_read(cx, a, o->file);
    if (!b->hlo)
        wbb_fail(cx, (WbbLoc){.file = o->file}, "the bundle has no fusion.hlo, which says what its inputs are");
    if (b->edited && !o->edited)
        wbb_fail(cx, (WbbLoc){.file = wbb_format(a, "%s/%s", o->file, b->edited)},
                 "this is not the file whose hash kernel.json states; --edited runs it");
    *hlo = b->hlo;
    *m = hlo_parse(cx, a, wbb_format(a, "%s/fusion.hlo", o->file), *hlo, strlen(*hlo));
    judge_check_bundle(cx, a, wbb_format(a, "%s/kernel.json", o->file), b, *m);
    return b;
}

/* The options of one file's run. */
typedef struct {
    RunOptions o; /* first: what Call.options points to */
    WbbStatus (*one)(const Call *call);
} OneRun;

static WbbStatus run_one(const Call *call, const char *file, const char *output)
{
    const OneRun *each = call->options;
    RunOptions o = each->o;
    o.file = file;
    o.output = output;
    Call one = *call;
    one.options = &o;
    return each->one(&one);
}

WbbStatus main_run_each(const Call *call, WbbStatus (*one)(const Call *call))
{
    const OneRun run = {*(const RunOptions *)call->options, one};
    const RunOptions *o = &run.o;
    const char *single = o->ptx         ? "--ptx"
                         : o->html      ? "--html"
                         : o->against.n ? "--against"
                         : o->inputs.n  ? "--input"
                                        : NULL;
    Call each = *call;
    each.options = &run;
    return main_each_file(&each, &(Each){.words = &o->files, .output = o->output, .done = "run", .single = single,
                                    .bundles = true, .one = run_one});
}

WbbStatus main_run_without_compiling(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const RunOptions *o = call->options;
    const HloModule *m;
    const char *hlo;
    const Bundle *b = main_run_bundle_of(cx, a, o, &m, &hlo);
    return main_run_seeds(cx, o, o->ptx ? o->ptx : o->file, b, m);
}
