/* program_profile.c: `run --profile` of a program: the modelled time of all its kernels.
 *
 * Needs a program's folder or a module's text. Each text of a kernel is compiled and profiled by itself, on made
 * inputs; leaves the sum over the steps, launches included, and the kernels that cost most; with --html a page.
 *
 *     warpburg run model.hlo --profile --blocks 12
 */
#include "main/program_compile.h"

#include "llvm/llvm.h"
#include "report/profile.h"

#include <stdio.h>
#include <string.h>

typedef struct {
    const RunOptions *o;
    LlCache *cache;
} Job;

static ReportTextTime profile(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s, WbbBuf *page)
{
    const Job *j = arg;
    const RunOptions *o = j->o;
    const PipeOptions p = {.target = o->target, .accuracy = main_accuracy(o->accuracy, o->approx),
                           .deterministic = o->deterministic, .backend = (PipeBackend)main_backend(o->backend),
                           .align = (uint32_t)o->align, .disable = o->disable.items, .n_disable = o->disable.n,
                           .stage = PIPE_AT_PTX, .cache = j->cache, .plan = s->plan};
    JudgeRun run = main_run_options(cx, o);
    run.inputs = NULL, run.n_inputs = 0;
    return report_profile_step(cx, a, &p, s, &run, page);
}

WbbStatus main_profile_program(const Call *call)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const RunOptions *o = call->options;
    if (o->against.n)
        wbb_fail(cx, (WbbLoc){.file = o->file}, "--against is about one kernel, and this is a program");
    wbb_arena_limit(a, MAIN_MEMORY);
    const ProgramCut cut = MAIN_PROGRAM_CUT(o);
    const ProgModule *p = main_program_of(cx, a, o->file, &cut, NULL);
    Job j = {.o = o, .cache = ll_cache_new(cx)};
    const ReportSteps steps = {profile, &j};
    const ProgCosts c = report_program_costs(cx, a, tg_find(o->target), p, &steps);
    WbbBuf b = wbb_buf(a), page = wbb_buf(a);
    if (o->html) {
        report_put_program_page(cx, &page, o->file, tg_find(o->target), p, &c, &steps);
        wbb_write_file(cx, o->html, page.text, page.n);
    }
    ll_cache_free(j.cache);
    if (o->json) prog_put_costs_json(&b, o->file, o->target, &c), wbb_put(&b, "\n");
    else prog_put_costs(&b, o->file, o->target, &c);
    fputs(b.text, stdout);
    return c.status;
}
