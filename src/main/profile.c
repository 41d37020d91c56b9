/* profile.c: `run --profile`: what a kernel's time is made of, and another compiler's kernels beside it.
 *
 * Needs a bundle, its module and, with --against, PTX of other compilers. Runs each of them once in the simulator, on
 * the same inputs; leaves reports of src/price. docs/profile.md explains what is printed.
 *
 *     warpburg run gelu.hlo --profile --against xla.ptx:12288:128
 */
#include "main/run.h"
#include "report/profile.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { THEIR_PADDING = 256 /* bytes behind buffers that kernels of other compilers may read */ };

/* Another compiler's PTX: FILE, FILE:GRID, FILE:GRID:BLOCK or FILE:GRID:BLOCK:SHARED. What is not said is that of
 * --grid, --block and --shared, a block's threads those of .reqntid. */
static ReportProfile against(WbbCx *cx, WbbArena *a, const RunOptions *o, const HloModule *m, const char *word)
{
    const char *part[4] = {word, o->grid, o->block, NULL};
    size_t n = 0;
    char *text = wbb_format(a, "%s", word);
    for (int i = 0; i < 4 && text; i++) {
        char *colon = strchr(text, ':');
        if (colon) *colon = 0;
        if (*text) part[i] = text;
        text = colon ? colon + 1 : NULL;
    }
    if (text) wbb_fail(cx, (WbbLoc){0}, "--against %s: FILE:GRID:BLOCK:SHARED expected", word);
    const char *ptx = wbb_read_file(cx, a, part[0], &n);
    const SimModule *module = sim_parse(cx, a, part[0], ptx);
    BdLaunch launch = {.cluster = {1, 1, 1}, .shared = part[3] ? atoll(part[3]) : o->shared};
    const char *entry = sim_entry(module, 0);
    if (!entry) wbb_fail(cx, (WbbLoc){.file = part[0], .line = 1, .col = 1}, "no kernel in it");
    main_read_extent(cx, "--against", part[1], launch.grid);
    main_read_extent(cx, "--against", part[2], launch.block);
    uint32_t required[3];
    sim_block_needs(module, entry, required);
    if (!part[2] && required[0]) memcpy(launch.block, required, sizeof required);
    return (ReportProfile){.name = part[0], .bundle = judge_foreign(cx, a, m, ptx, entry, &launch)};
}

static WbbStatus faults(const ReportProfile *p)
{
    const JudgeVerdict *v = &p->verdict;
    for (int i = 0; i < v->report.n_faults; i++) printf("%s: fault: %s\n", p->name, v->report.faults[i]);
    if (v->outside)
        printf("%s: %lld of %lld elements outside the bounds; first: %s\n", p->name, (long long)v->outside,
               (long long)v->compared, v->first);
    return v->report.n_faults || v->outside ? WBB_CHECK : WBB_OK;
}

WbbStatus main_run_profile(const Call *call, const char *name, const Bundle *b, const HloModule *m, const char *hlo,
                           const char *ir)
{
    WbbCx *cx = call->cx;
    WbbArena *a = call->arena;
    const RunOptions *o = call->options;
    const uint32_t n = o->against.n + 1;
    ReportProfile *p = WBB_NEW_N(a, ReportProfile, n);
    JudgeRun run = main_run_options(cx, o);
    run.on_gpu = false;
    p[0] = (ReportProfile){.name = name, .bundle = b, .ir = ir};
    if (!b->n_launches && n > 1) wbb_fail(cx, (WbbLoc){0}, "--against: %s has no kernel to compare with", name);
    for (uint32_t i = 1; i < n; i++) p[i] = against(cx, a, o, m, o->against.items[i - 1]);
    WbbStatus status = WBB_OK;
    for (uint32_t i = 0; i < n; i++) {
        if (i) run.padding = WBB_MAX(run.padding, (size_t)THEIR_PADDING);
        report_profile(cx, a, m, &run, o->html != NULL, &p[i]);
        if (faults(&p[i]) != WBB_OK) status = WBB_CHECK;
    }
    if (status != WBB_OK) return status;
    WbbBuf text = wbb_buf(a);
    if (o->json) report_put_profiles_json(&text, p, n);
    else report_put_profiles(&text, p, n);
    if (o->time && !o->json)
        for (uint32_t i = 0; i < n; i++) wbb_putf(&text, "ms: run %.1f (%s)\n", p[i].verdict.ms_cpu, p[i].name);
    fputs(text.text, stdout);
    if (o->html) {
        WbbBuf page = wbb_buf(a);
        report_put_profiles_html(&page, hlo, p, n);
        wbb_write_file(cx, o->html, page.text, page.n);
    }
    return status;
}
