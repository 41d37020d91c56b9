/* program_run.c: a program in the simulator or on a GPU: run, checked, its time modelled.
 *
 * Needs a program, which is only read. Leaves results, a verdict or a time, and the texts of the result.
 *
 *     wb_program_check(p, NULL, NULL, &verdict, &result)   ->   verdict.outside == 0
 */
#include "api/gpu.h"
#include "api/program.h"
#include "report/profile.h"

#include <string.h>

enum { MEMORY = 1 << 6 /* GiB of one run */ };

typedef struct {
    WbRun base;
    const wb_program *p;
    const void *const *inputs;
    void *const *outputs;
    wb_run_options o;
    bool check, page;
    wb_program_verdict *verdict;
    wb_program_time *time;
} Job;

static JudgeRun run_of(WbbCx *cx, const Job *j)
{
    const char which = j->o.inputs ? j->o.inputs : 'w';
    if (!strchr("neptuw", which))
        wbb_fail(cx, (WbbLoc){0}, "inputs '%c': of a program one of the cases w, n, e, p, t and u expected", which);
    return (JudgeRun){.check = j->check, .seed = j->o.seed, .which = which, .arrays = j->inputs,
                     .n_inputs = j->p->n_inputs, .accuracy = j->p->options.accuracy, .threads = j->o.threads,
                     .on_gpu = j->o.on_gpu};
}

/* The kernel of a step, which is declined where it was left out. */
static const wb_kernel *compiled(WbbCx *cx, const wb_program *p, const ProgStep *s)
{
    const WbStepKernel *k = &p->kernels[wb_program_kernel_of(p, s)];
    if (!k->kernel) wbb_decline(cx, (WbbLoc){.file = s->file}, k->why, "the kernel of step %s was left out", s->name);
    return k->kernel;
}

/* Its text is parsed anew, as its module belongs to the program. */
static ProgKernel kernel_of(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s)
{
    const Job *j = arg;
    return (ProgKernel){.bundle = compiled(cx, j->p, s)->made.bundle,
                        .module = hlo_parse(cx, a, s->file, s->text, strlen(s->text))};
}

static wb_program_verdict verdict_of(const ProgVerdict *v)
{
    return (wb_program_verdict){.kernels = v->kernels, .library = v->library, .copies = v->copies,
                                .iterations = v->iterations, .judged = v->judged, .compared = (uint64_t)v->compared,
                                .outside = (uint64_t)v->outside, .max_ulp = v->max_ulp,
                                .whole_compared = (uint64_t)v->whole.compared,
                                .whole_outside = (uint64_t)v->whole.outside, .whole_max_ulp = v->whole.max_ulp};
}

static void run(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const wb_program *p = j->p;
    wb_result *r = j->base.r;
    wbb_arena_limit(cx->arena, (size_t)MEMORY << 30);
    const ProgRun how = {.kernel = kernel_of, .arg = j, .file = p->file, .run = run_of(cx, j)};
    const ProgVerdict v = prog_run(cx, cx->arena, p->p, &how);
    for (uint32_t k = 0; j->outputs && k < v.n_results; k++)
        if (p->outputs[k].bytes) memcpy(j->outputs[k], v.results[k].data, p->outputs[k].bytes);
    WbbBuf text = wbb_buf(cx->arena), json = wbb_buf(cx->arena), faults = wbb_buf(cx->arena);
    prog_put_verdict(&text, p->file, &v);
    prog_put_verdict_json(&json, p->file, p->p, &v);
    r->text = text.text, r->json = json.text;
    if (j->verdict) *j->verdict = verdict_of(&v);
    if (v.first) wbb_putf(&faults, "fault: %s\n", v.first);
    if (v.whole.outside)
        wbb_putf(&faults, "%lld of %lld elements of the results outside the bounds of the module; first: %s\n",
                 (long long)v.whole.outside, (long long)v.whole.compared, v.whole.first);
    if (!faults.n) return;
    r->faults = faults.text;
    j->base.status = WB_CHECK;
}

static wb_status shown(void (*body)(WbbCx *, void *), Job *j, wb_result **result)
{
    j->base.shown = &j->o;
    return wb_result_of(NULL, body, &j->base, result);
}

wb_status wb_program_run(const wb_program *p, const void *const *inputs, void *const *outputs, const wb_run_options *o,
                         wb_result **result)
{
    Job j = {.p = p, .inputs = inputs, .outputs = outputs, .o = o ? *o : (wb_run_options){0}};
    return shown(run, &j, result);
}

wb_status wb_program_check(const wb_program *p, const void *const *inputs, const wb_run_options *o,
                           wb_program_verdict *verdict, wb_result **result)
{
    Job j = {.p = p, .inputs = inputs, .o = o ? *o : (wb_run_options){0}, .check = true, .verdict = verdict};
    if (verdict) *verdict = (wb_program_verdict){0};
    return shown(run, &j, result);
}

static void fill(WbbCx *cx, const void *what, wb_loaded *l)
{
    Job *j = WBB_NEW(cx->arena, Job); /* kernels are asked for as long as it is loaded */
    j->p = what;
    const ProgRun how = {.kernel = kernel_of, .arg = j};
    l->program = prog_load(cx, cx->arena, j->p->p, &how);
    l->context = prog_context(l->program);
}

wb_status wb_gpu_load_program(const wb_program *p, wb_loaded **loaded, wb_result **result)
{
    return wb_load(fill, p, loaded, result);
}

/* --- profile ------------------------------------------------------------------------------------------------------ */

static ReportTextTime profile_step(WbbCx *cx, WbbArena *a, void *arg, const ProgStep *s, WbbBuf *page)
{
    const Job *j = arg;
    if (s->kind == PROG_KERNEL) compiled(cx, j->p, s);
    PipeOptions o = j->p->options;
    JudgeRun run = run_of(cx, j);
    run.arrays = NULL, run.n_inputs = 0, run.blocks = j->o.blocks, run.on_gpu = false;
    o.lines = o.assemble = false, o.cache = NULL, o.plan = s->plan;
    return report_profile_step(cx, a, &o, s, &run, page);
}

static void profile(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const wb_program *p = j->p;
    const ReportSteps steps = {profile_step, j};
    const TgTarget *t = tg_find(p->options.target);
    const ProgCosts c = report_program_costs(cx, cx->arena, t, p->p, &steps);
    WbbBuf text = wbb_buf(cx->arena), json = wbb_buf(cx->arena);
    if (c.status == WBB_FAILED || c.status == WBB_CHECK) wbb_rethrow(cx, c.status);
    prog_put_costs(&text, p->file, p->options.target, &c);
    prog_put_costs_json(&json, p->file, p->options.target, &c);
    j->base.r->text = text.text, j->base.r->json = json.text;
    if (j->page) {
        WbbBuf page = wbb_buf(cx->arena);
        report_put_program_page(cx, &page, p->file, t, p->p, &c, &steps);
        j->base.r->html = page.text;
    }
    if (j->time)
        *j->time = (wb_program_time){.seconds = c.seconds, .library_seconds = c.library_seconds, .launch = c.launch,
                                     .kernels = c.kernels,
                                     .copies = c.copies, .launches = c.launches, .library = c.library,
                                     .loops = c.loops, .open_loops = c.open, .refused = c.refused};
}

wb_status wb_program_profile(const wb_program *p, const wb_run_options *o, wb_program_time *time, wb_result **result)
{
    Job j = {.p = p, .o = o ? *o : (wb_run_options){0}, .time = time};
    if (time) *time = (wb_program_time){0};
    return shown(profile, &j, result);
}

wb_status wb_program_page(const wb_program *p, const wb_run_options *o, wb_result **result)
{
    Job j = {.p = p, .o = o ? *o : (wb_run_options){0}, .page = true};
    return shown(profile, &j, result);
}
