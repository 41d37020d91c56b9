/* run.c: `run BUNDLE`: run a bundle in the simulator and judge it. Needs no compiler. */
#include "main/verdict.h"

#include <stdio.h>
#include <string.h>

PipeRun main_run_options(const Options *o)
{
    return (PipeRun){.check = o->check, .seed = (uint64_t)o->seed, .order = (uint64_t)o->order, .which = o->which ? o->which[0] : 'n',
                     .inputs = o->inputs.n ? o->inputs.list : NULL, .n_inputs = o->inputs.n, .blocks = (uint64_t)o->blocks,
                     .shuffle = o->has_order, .ulp_noise = o->ulp_noise, .approx = o->approx, .output_dir = o->output};
}

static void put_counts(WbbBuf *b, const SimReport *r)
{
    wbb_putf(b, "executed: %llu thread instructions in %llu warps", (unsigned long long)r->instructions, (unsigned long long)r->warps);
    for (int store = 0; store < 2; store++)
        for (int w = 0; w < 6; w++) {
            const uint64_t n = store ? r->stores[SIM_GLOBAL][w] : r->loads[SIM_GLOBAL][w];
            if (n) wbb_putf(b, ", %llu %s of %d bytes", (unsigned long long)n, store ? "stores" : "loads", 1 << w);
        }
    wbb_put(b, "\n");
}

static void put_json(WbbBuf *b, const char *name, const PipeVerdict *v)
{
    wbb_put(b, "{\"file\": ");
    wbb_put_json(b, name);
    wbb_putf(b, ", \"compared\": %lld, \"outside\": %lld, \"max_ulp\": %.17g, \"instructions\": %llu, \"ms_run\": %.3f, \"ms_eval\": %.3f, \"faults\": [",
             (long long)v->compared, (long long)v->outside, v->max_ulp, (unsigned long long)v->report.instructions, v->ms_run, v->ms_eval);
    for (int i = 0; i < v->report.n_faults; i++) {
        if (i) wbb_put(b, ", ");
        wbb_put_json(b, v->report.faults[i]);
    }
    wbb_put(b, "], \"first\": ");
    if (v->first) wbb_put_json(b, v->first);
    else wbb_put(b, "null");
    wbb_put(b, "}\n");
}

WbbStatus main_verdict(WbbArena *a, const Options *o, const char *name, const PipeVerdict *v)
{
    WbbBuf b = wbb_buf(a);
    if (o->json) {
        put_json(&b, name, v);
    } else {
        for (int i = 0; i < v->report.n_faults; i++) wbb_putf(&b, "%s: fault: %s\n", name, v->report.faults[i]);
        if (v->outside) wbb_putf(&b, "%s: %lld of %lld elements outside the bounds; first: %s\n", name, (long long)v->outside, (long long)v->compared, v->first);
        if (o->check && !v->outside && !v->report.n_faults)
            wbb_putf(&b, "%s: %lld elements inside the bounds, %.3g ulp from f64 at most, no fault\n", name, (long long)v->compared, v->max_ulp);
        if (o->counts) put_counts(&b, &v->report);
        if (o->time) wbb_putf(&b, "ms: run %.1f, judge %.1f\n", v->ms_run, v->ms_eval);
    }
    fputs(b.text, stdout);
    return v->outside || v->report.n_faults ? WBB_CHECK : WBB_OK;
}

WbbStatus main_run_bundle(WbbCx *cx, WbbArena *a, const Options *o)
{
    if (o->files.n != 1) return fputs("run: one bundle expected\n", stderr), WBB_USAGE;
    if (o->on && strcmp(o->on, "sim")) wbb_fail(cx, (WbbLoc){0}, "--on %s: this version runs on the simulator, --on sim", o->on);
    const Bundle *b = bd_read(cx, a, o->files.list[0]);
    const HloModule *m = hlo_parse(cx, a, wbb_format(a, "%s/fusion.hlo", o->files.list[0]), b->hlo, strlen(b->hlo));
    const PipeRun run = main_run_options(o);
    const PipeVerdict v = pipe_run(cx, a, b, m, &run);
    return main_verdict(a, o, o->files.list[0], &v);
}
