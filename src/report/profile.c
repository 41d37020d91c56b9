/* profile.c: runs a bundle in the simulator once and models its time on the GPU.
 *
 * Needs a bundle, its module, and how inputs are made. The machine code is that which ptxas makes of the very text, so
 * that registers and instructions are known; without ptxas prices of PTX are used. Leaves a report for each launch.
 *
 *     gelu.hlo: 12 blocks of 12,288 run
 *     ->  20.3 us = launch 1.1 + latency 0.34 + code 0.11 + work 18.6 + tail 0.18, bound by dram
 */
#include "report/profile.h"
#include "judge/judge.h"

#include <string.h>

/* The target of a PTX text, sm_90 of ".target sm_90a", and that name for ptxas. */
static const TgTarget *target_of(WbbCx *cx, WbbArena *a, const char *file, const char *ptx, const char **arch)
{
    const char *at = strstr(ptx, "\n.target");
    if (!at) wbb_fail(cx, (WbbLoc){.file = file, .line = 1, .col = 1}, "no .target in it");
    at += strlen("\n.target") + strspn(at + strlen("\n.target"), " \t");
    *arch = wbb_format(a, "%.*s", (int)strcspn(at, " \t\r\n,"), at);
    const TgTarget *t = tg_find(wbb_format(a, "sm_%d", bd_target_number(*arch)));
    if (!t) wbb_fail(cx, (WbbLoc){.file = file, .line = 1, .col = 1}, "no rates are known of target %s", *arch);
    return t;
}

/* Machine code of each entry, where ptxas is at hand and takes the text. */
typedef struct {
    WbbArena *arena;
    const char *arch;
    ReportProfile *p;
    PriceKernel *kernels;
    bool text; /* as text, too */
} Machine;

static void assemble(WbbCx *cx, void *arg)
{
    Machine *m = arg;
    TgTarget own = *m->p->target;
    const Bundle *b = m->p->bundle;
    own.name = m->arch;
    const TgCubin cubin = tg_assemble_lines(cx, m->arena, &own, b->ptx, m->p->name);
    m->p->no_machine_code = cubin.missing;
    for (int i = 0; i < b->n_launches && cubin.bytes; i++) {
        PriceKernel *k = &m->kernels[i];
        TgSassAt *code;
        k->regs = tg_sass(cx, m->p->target, &cubin, b->launches[i].entry).regs;
        k->n_code = tg_sass_lines(cx, m->arena, m->p->target, &cubin, b->launches[i].entry, &code);
        k->code = code;
    }
    if (m->text && cubin.bytes) m->p->sass = tg_sass_text(cx, m->arena, &cubin);
}

void report_profile(WbbCx *cx, WbbArena *a, const HloModule *m, const JudgeRun *options, bool sass, ReportProfile *p)
{
    const Bundle *b = p->bundle;
    const char *arch;
    PriceKernel *kernels = WBB_NEW_N(a, PriceKernel, b->n_launches + 1);
    p->target = target_of(cx, a, p->name, b->ptx, &arch);
    p->profiles = WBB_NEW_N(a, SimProfile, b->n_launches + 1);
    p->reports = WBB_NEW_N(a, PriceReport, b->n_launches + 1);
    p->kernels = kernels;
    Machine machine = {.arena = a, .arch = arch, .p = p, .kernels = kernels, .text = sass};
    const SimModule *ptx = sim_parse(cx, a, p->name, b->ptx);
    uint32_t block[3];
    for (int i = 0; i < b->n_launches; i++)
        kernels[i] = (PriceKernel){.target = p->target, .launch = &b->launches[i],
                                   .static_shared = sim_block_needs(ptx, b->launches[i].entry, block)};
    if (!wbb_aside(cx, assemble, &machine)) p->no_machine_code = "ptxas refuses the text"; /* a fact, and no failure */
    for (int i = 0; i < b->n_launches; i++) price_ask(a, &kernels[i], &p->profiles[i]);
    JudgeRun run = *options;
    run.profiles = p->profiles;
    run.ptx_name = p->name;
    if (!b->n_launches || !judge_may_sample(b) || run.blocks >= b->launches[0].grid[0]) run.blocks = 0;
    p->verdict = judge_run(cx, a, b, m, &run);
    for (int i = 0; i < b->n_launches && p->verdict.report.n_faults == 0; i++) {
        p->reports[i] = price_report(a, &kernels[i], &p->profiles[i]);
        p->seconds += p->reports[i].seconds;
    }
}

const char *report_kernels_text(WbbArena *a, const PipeResult *r)
{
    WbbBuf ir = wbb_buf(a);
    for (uint32_t k = 0; k < r->n_kernels; k++) ir_print(&ir, r->kernels[k].ir);
    return ir.text;
}

enum { TEXT_MEMORY = 1 << 4 /* GiB */ };

/* Does the step give the output the memory of an operand? */
static bool shares(const ProgStep *s, int output)
{
    for (uint32_t k = 0; k < s->n_shares; k++)
        if (s->shares[k].output == (uint32_t)output) return true;
    return false;
}

static void add_copies(WbbCx *cx, WbbArena *a, const PipeOptions *o, const ProgStep *s, const JudgeRun *asked,
                       const Bundle *b, ReportTextTime *t)
{
    const double own = t->seconds;
    PipeOptions plain = *o;
    plain.plan = (WbbSource){0};
    for (int i = 0; i < b->n_buffers; i++) {
        const BdBuffer *x = &b->buffers[i];
        if (x->role != BD_OUT || x->init != BD_INIT_COPY || !x->bytes || shares(s, x->arg)) continue;
        const ProgStep copy = prog_copy_kernel(a, x, x);
        const ReportTextTime c = report_profile_step(cx, a, &plain, &copy, asked, NULL);
        t->seconds += c.seconds, t->launch += c.launch, t->launches += c.launches;
    }
    if (t->seconds > 2 * own) t->binds = "a copy before it";
}

ReportTextTime report_profile_step(WbbCx *cx, WbbArena *a, const PipeOptions *o, const ProgStep *s,
                                   const JudgeRun *asked, WbbBuf *page)
{
    const char *file = s->file, *text = s->text;
    WbbArena *own = wbb_arena_new(cx);
    wbb_arena_limit(own, (size_t)TEXT_MEMORY << 30);
    PipeResult r;
    PipeOptions with_comments = *o;
    with_comments.comments = page != NULL;
    pipe_compile(cx, own, &with_comments, file, text, strlen(text), &r);
    JudgeRun run = *asked;
    run.output_dir = NULL, run.check = false;
    Bundle b = *r.bundle;
    if (page) b.ptx = r.emitted;
    ReportProfile p = {.name = file, .bundle = &b, .ir = page ? report_kernels_text(own, &r) : NULL};
    report_profile(cx, own, r.module, &run, page != NULL, &p);
    if (p.verdict.report.n_faults) wbb_fail(cx, (WbbLoc){.file = file}, "fault: %s", p.verdict.report.faults[0]);
    ReportTextTime t = {.seconds = p.seconds, .launches = (uint32_t)r.bundle->n_launches};
    for (int i = 0; i < r.bundle->n_launches; i++) t.launch += p.reports[i].launch;
    if (page) report_put_kernel_html(page, text, &p);
    t.binds = t.launches ? wbb_format(a, "%s", report_profile_binds(&p)) : "nothing";
    add_copies(cx, own, o, s, asked, &b, &t);
    wbb_arena_free(own);
    return t;
}
