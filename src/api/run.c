/* run.c: a kernel in the simulator: run, checked, profiled, counted.
 *
 * Needs a kernel, whose text is parsed anew for each call, so that the kernel is only read. Leaves outputs, a verdict
 * or a time, and the texts of the result.
 *
 *     wb_kernel_check(k, NULL, &(wb_run_options){.inputs = 'e'}, &verdict, &result)   ->   verdict.outside == 0
 */
#include "api/inner.h"
#include "report/profile.h"
#include "report/stats.h"

#include <string.h>

typedef struct {
    WbRun base;
    const void *const *inputs;
    void *const *outputs;
    wb_run_options o;
    bool check, on_gpu;
    uint32_t repeat;
    wb_verdict *verdict;
    wb_time *time;
} Job;

static JudgeRun run_of(WbbCx *cx, const Job *j)
{
    const char which = j->o.inputs ? j->o.inputs : 'w';
    if (!strchr("nepdtsuwc", which))
        wbb_fail(cx, (WbbLoc){0}, "inputs '%c': one of the cases w, n, e, p, d, t, u, s and c expected", which);
    return (JudgeRun){.check = j->check, .seed = j->o.seed, .which = which, .arrays = j->inputs,
                     .n_inputs = j->base.k->n_inputs, .outputs = j->outputs, .blocks = j->o.blocks,
                     .accuracy = j->base.k->options.accuracy, .threads = j->o.threads, .on_gpu = j->on_gpu,
                     .repeat = j->repeat};
}

static const HloModule *module_of(WbbCx *cx, const wb_kernel *k)
{
    const char *text = k->made.bundle->hlo;
    return hlo_parse(cx, cx->arena, k->file, text, strlen(text));
}

static void run(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const wb_kernel *k = j->base.k;
    const JudgeRun options = run_of(cx, j);
    const JudgeVerdict v = judge_run(cx, cx->arena, k->made.bundle, module_of(cx, k), &options);
    WbbBuf text = wbb_buf(cx->arena), json = wbb_buf(cx->arena);
    judge_put_verdict(&text, k->file, &v);
    wbb_json_open(&json, NULL, '{');
    judge_put_verdict_json(&json, &v);
    wbb_json_end(&json, "run.1");
    j->base.r->text = text.text, j->base.r->json = json.text;
    wb_result_faults(&j->base, &v);
    if (v.exact && v.differ) {
        j->base.status = WB_CHECK;
        j->base.r->faults = text.text;
    }
    if (j->verdict)
        *j->verdict = (wb_verdict){.compared = (uint64_t)v.compared, .outside = (uint64_t)v.outside,
                                   .max_ulp = v.max_ulp, .faults = (uint32_t)v.report.n_faults};
    judge_need_judged(cx, k->file, &v);
}

static wb_status shown(const wb_kernel *k, void (*body)(WbbCx *, void *), Job *j, wb_result **result)
{
    j->base.shown = &j->o;
    return wb_result_of(k, body, &j->base, result);
}

wb_status wb_kernel_run(const wb_kernel *k, const void *const *inputs, void *const *outputs, const wb_run_options *o,
                        wb_result **result)
{
    Job j = {.inputs = inputs, .outputs = outputs, .o = o ? *o : (wb_run_options){0}};
    j.o.blocks = 0;
    return shown(k, run, &j, result);
}

wb_status wb_kernel_check(const wb_kernel *k, const void *const *inputs, const wb_run_options *o, wb_verdict *verdict,
                          wb_result **result)
{
    Job j = {.inputs = inputs, .o = o ? *o : (wb_run_options){0}, .check = true, .verdict = verdict};
    if (verdict) *verdict = (wb_verdict){0};
    return shown(k, run, &j, result);
}

wb_status wb_gpu_run(const wb_kernel *k, const void *const *inputs, void *const *outputs, uint32_t repeat,
                     wb_result **result)
{
    Job j = {.inputs = inputs, .outputs = outputs, .on_gpu = true, .repeat = repeat};
    return shown(k, run, &j, result);
}

/* --- profile ------------------------------------------------------------------------------------------------------ */

static wb_time time_of(const ReportProfile *p)
{
    wb_time t = {.seconds = p->seconds};
    double longest = -1;
    for (int i = 0; i < p->bundle->n_launches; i++) {
        const PriceReport *r = &p->reports[i];
        if (r->seconds <= longest) continue;
        longest = r->seconds;
        t.launch = r->launch, t.latency = r->latency, t.work = r->work, t.tail = r->tail;
    }
    const char *binds = p->bundle->n_launches ? report_profile_binds(p) : "";
    for (size_t i = 0; binds[i] && i + 1 < sizeof t.binds; i++) t.binds[i] = binds[i];
    return t;
}

/* The kernel is compiled once more, with comments, which tell lines apart by rule and HLO instruction. */
static void profile(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const wb_kernel *k = j->base.k;
    const char *hlo = k->made.bundle->hlo;
    WbbArena *a = cx->arena;
    PipeOptions o = k->options;
    PipeResult r;
    o.comments = true, o.lines = o.assemble = false, o.cache = NULL;
    pipe_compile(cx, a, &o, k->file, hlo, strlen(hlo), &r);
    Bundle b = *r.bundle;
    b.ptx = r.emitted;
    WbbBuf text = wbb_buf(a), json = wbb_buf(a), html = wbb_buf(a);
    ReportProfile p = {.name = k->file, .bundle = &b, .ir = report_kernels_text(a, &r)};
    const JudgeRun options = run_of(cx, j);
    report_profile(cx, a, r.module, &options, true, &p);
    wb_result_faults(&j->base, &p.verdict);
    if (p.verdict.report.n_faults) return;
    report_put_profiles(&text, &p, 1);
    report_put_profiles_json(&json, &p, 1);
    report_put_profiles_html(&html, hlo, &p, 1);
    j->base.r->text = text.text, j->base.r->json = json.text, j->base.r->html = html.text;
    if (j->time) *j->time = time_of(&p);
}

wb_status wb_kernel_profile(const wb_kernel *k, const void *const *inputs, const wb_run_options *o, wb_time *time,
                            wb_result **result)
{
    Job j = {.inputs = inputs, .o = o ? *o : (wb_run_options){0}, .time = time};
    if (time) *time = (wb_time){0};
    return shown(k, profile, &j, result);
}

/* --- statistics --------------------------------------------------------------------------------------------------- */

static void statistics(WbbCx *cx, void *arg)
{
    WbRun *job = arg;
    const wb_kernel *k = job->k;
    const char *text = k->made.bundle->hlo;
    ReportStat s = {.target = tg_find(k->made.bundle->target), .text = text, .n = strlen(text)};
    const ReportStatOptions o = {.accuracy = k->options.accuracy, .align = k->options.align};
    report_stats_begin(cx, cx->arena, &o, &s);
    report_stats_end(cx, cx->arena, &s, 1);
    job->r->json = wbb_format(cx->arena, "{%s}", s.body);
}

wb_status wb_kernel_statistics(const wb_kernel *k, wb_result **result)
{
    WbRun job = {0};
    return wb_result_of(k, statistics, &job, result);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */

typedef struct {
    WbRun base;
    const char *stage;
} Emit;

static void emit(WbbCx *cx, void *arg)
{
    Emit *j = arg;
    const wb_kernel *k = j->base.k;
    const bool trace = !strcmp(j->stage, "trace");
    if (k->plan && !strcmp(j->stage, "plan")) {
        j->base.r->text = wbb_format(cx->arena, "%s", k->plan);
        return;
    }
    WbbBuf text = wbb_buf(cx->arena);
    PipeOptions o = k->options;
    PipeResult r;
    int stage = trace ? PIPE_AT_PTX : 0;
    while (stage < PIPE_STAGES && !trace && strcmp(pipe_stage_name[stage], j->stage)) stage++;
    if (stage == PIPE_STAGES || stage == PIPE_AT_CUBIN)
        wbb_fail(cx, (WbbLoc){0}, "stage '%s': hlo, maps, graph, plan, ir, llvm, ptx, json or trace expected",
                 j->stage);
    o.stage = (PipeStage)stage;
    o.comments = !o.lines, o.assemble = false, o.cache = NULL;
    pipe_compile(cx, cx->arena, &o, k->file, k->made.bundle->hlo, strlen(k->made.bundle->hlo), &r);
    for (uint32_t i = 0; trace && i < r.n_kernels; i++) pipe_trace(&text, cx->arena, r.kernels[i].rw, UINT32_MAX);
    j->base.r->text = trace ? text.text : r.emitted;
}

wb_status wb_kernel_emit(const wb_kernel *k, const char *stage, wb_result **result)
{
    Emit job = {.stage = stage};
    return wb_result_of(k, emit, &job.base, result);
}
