/* verdict.c: verdicts as text and as JSON.
 *
 * Needs what judge_run left; prints it.
 *
 *     gelu.hlo: 12582912 elements inside the bounds, 2 ulp from f64 at most, no fault
 */
#include "judge/judge.h"

/* More units say only that the result is near 0, or the sum long: the way to the bound says how good it is. */
enum { MOST_ULP = 1000 };

static void put_gpu(WbbBuf *b, const char *name, const JudgeVerdict *v)
{
    const GpuReport *g = &v->gpu;
    wbb_putf(b, "%s: ran on %s (%s) from %s\n", name, g->device, g->arch,
             g->cubin ? "the bundle's cubin" : "PTX, by the driver's compiler");
    if (v->beside && !v->differ && v->nans)
        wbb_putf(b, "%s: every number as in the simulator, but for the bits of %lld NaNs\n", name, (long long)v->nans);
    else if (v->beside && !v->differ)
        wbb_putf(b, "%s: every bit as in the simulator\n", name);
    else if (v->exact)
        wbb_putf(b, "%s: fault: %lld numbers differ from the simulator's; first: %s\n", name, (long long)v->differ,
                 v->first_differ);
    else if (v->beside)
        wbb_putf(b, "%s: %lld numbers differ from the simulator's, as approximate instructions and atomic operations "
                 "may; judged by the bounds\n", name, (long long)v->differ);
    if (g->copies)
        wbb_putf(b, "%s: %.6f ms a run over %u sets of buffers, %.1f GB/s, %.3f of a copy's %.1f\n", name, g->ms,
                 g->copies, g->gb_per_s, g->share, g->copy_gb_per_s);
}

static void put_gpu_json(WbbBuf *b, const JudgeVerdict *v)
{
    const GpuReport *g = &v->gpu;
    wbb_json_open(b, "gpu", '{');
    wbb_json_text(b, "device", g->device);
    wbb_json_text(b, "arch", g->arch);
    wbb_json_text(b, "from", g->cubin ? "cubin" : "ptx");
    wbb_json_bool(b, "beside", v->beside);
    wbb_json_bool(b, "exact", v->exact);
    wbb_json_int(b, "differ", v->differ);
    wbb_json_int(b, "nans", v->nans);
    wbb_json_text(b, "first_differ", v->first_differ);
    wbb_json_putf(b, "ms", "%.6f", g->ms);
    wbb_json_putf(b, "gb_per_s", "%.3f", g->gb_per_s);
    wbb_json_putf(b, "copy_gb_per_s", "%.3f", g->copy_gb_per_s);
    wbb_json_putf(b, "share", "%.5f", g->share);
    wbb_json_close(b, '}');
}

static void put_spikes_json(WbbBuf *b, const JudgeSpikes *s)
{
    wbb_json_open(b, "spikes", '{');
    wbb_json_uint(b, "reductions", s->n);
    wbb_json_uint(b, "judged", s->judged);
    wbb_json_uint(b, "here", s->here);
    wbb_json_uint(b, "assignments", s->assignments);
    wbb_json_text(b, "unjudged", s->unjudged);
    wbb_json_close(b, '}');
}

void judge_put_verdict_json(WbbBuf *b, const JudgeVerdict *v)
{
    wbb_json_int(b, "compared", v->compared);
    wbb_json_int(b, "outside", v->outside);
    wbb_json_putf(b, "max_ulp", "%.17g", v->max_ulp);
    wbb_json_putf(b, "share", "%.6g", v->share);
    wbb_json_uint(b, "instructions", v->report.instructions);
    wbb_json_putf(b, "ms_run", "%.3f", v->ms_run);
    wbb_json_putf(b, "ms_cpu", "%.3f", v->ms_cpu);
    wbb_json_putf(b, "ms_eval", "%.3f", v->ms_eval);
    wbb_json_open(b, "faults", '[');
    for (int i = 0; i < v->report.n_faults; i++) wbb_json_text(b, NULL, v->report.faults[i]);
    wbb_json_close(b, ']');
    wbb_json_text(b, "first", v->first);
    if (v->order) wbb_json_text(b, "order", v->order);
    if (v->unjudged) wbb_json_text(b, "unjudged", v->unjudged);
    if (v->spikes) put_spikes_json(b, v->spikes);
    if (v->gpu.device) put_gpu_json(b, v);
}

static bool is_vacuous(const JudgeVerdict *v)
{
    return v->checked && v->unjudged && !v->compared && !v->report.n_faults;
}

void judge_need_judged(WbbCx *cx, const char *name, const JudgeVerdict *v)
{
    if (is_vacuous(v)) wbb_decline(cx, (WbbLoc){.file = name}, WHY_FEATURE, "no element was compared: %s", v->unjudged);
}

void judge_put_distance(WbbBuf *b, double max_ulp, double share, const char *fault)
{
    if (max_ulp < MOST_ULP) wbb_putf(b, ", %.3g ulp from f64 at most", max_ulp);
    wbb_put(b, fault);
    if (share >= 1) wbb_put(b, "; the farthest is on its bound");
    else if (share >= 1e-4) wbb_putf(b, "; the farthest is %.3g %% of the way to its bound", 100 * share);
    else if (share > 0) wbb_put(b, "; the farthest is under 0.01 % of the way to its bound");
}

void judge_put_verdict(WbbBuf *b, const char *name, const JudgeVerdict *v)
{
    for (int i = 0; i < v->report.n_faults; i++) wbb_putf(b, "%s: fault: %s\n", name, v->report.faults[i]);
    if (v->gpu.device) put_gpu(b, name, v);
    if (v->order) wbb_putf(b, "%s: %s%s\n", name, v->outside ? "fault: " : "", v->order);
    if (v->outside)
        wbb_putf(b, "%s: %lld of %lld elements outside the bounds; first: %s\n", name, (long long)v->outside,
                 (long long)v->compared, v->first);
    if (v->checked && v->unjudged && !is_vacuous(v)) wbb_putf(b, "%s: %s\n", name, v->unjudged);
    if (v->checked && !v->outside && !v->report.n_faults && !is_vacuous(v)) {
        wbb_putf(b, "%s: %lld elements inside the bounds", name, (long long)v->compared);
        judge_put_distance(b, v->max_ulp, v->share, ", no fault");
        wbb_put(b, "\n");
    }
    if (v->spikes && v->spikes->n)
        wbb_putf(b, "%s: %u of %u reductions have one possible result each on these inputs%s%s\n", name,
                 v->spikes->here, v->spikes->n, *v->spikes->unjudged ? "; no inputs were found for " : "",
                 v->spikes->unjudged);
}
