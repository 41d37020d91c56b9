/* result.c: what a call leaves beside its numbers: messages and texts, in a context of their own.
 *
 * Needs a kernel, which it only reads; leaves a result that the caller frees. So threads share kernels and no memory.
 *
 *     wb_result_of(k, run, &job.base, &result)    ->    run(result->cx, &job)
 */
#include "api/inner.h"

static void make(WbbCx *cx, void *arg)
{
    wb_result *r = WBB_NEW(cx->arena, wb_result);
    *r = (wb_result){.cx = cx, .faults = "", .text = "", .json = "", .html = ""};
    *(wb_result **)arg = r;
}

static wb_result *new_result(void)
{
    WbbCx *cx = wbb_cx_new();
    wb_result *r = NULL;
    if (cx && wbb_guard(cx, make, &r) != WBB_OK) wbb_cx_free(cx);
    return r;
}

wb_status wb_status_of(WbbStatus s)
{
    return s == WBB_OK ? WB_OK : s == WBB_DECLINED ? WB_DECLINED : s == WBB_CHECK ? WB_CHECK : WB_FAILED;
}

enum { EVERY = 50 /* ms */ };

bool wb_report(void *arg, const char *what, int64_t done, int64_t total)
{
    WbListener *r = arg;
    const double now = wbb_now_ms();
    if (now - r->said < EVERY && done < total) return false;
    r->said = now;
    wbb_float_of_host(r->cx);
    const bool stop = r->progress(r->arg, what, done, total) != 0;
    wbb_float_default();
    return stop;
}

wb_status wb_result_of(const wb_kernel *k, void (*body)(WbbCx *, void *), WbRun *job, wb_result **result)
{
    wb_result *r = new_result();
    if (result) *result = r;
    if (!r) return WB_FAILED;
    job->k = k, job->r = r, job->status = WB_OK;
    WbListener listener = {.cx = r->cx};
    if (job->shown) listener.progress = job->shown->progress, listener.arg = job->shown->progress_arg;
    if (listener.progress) wbb_on_progress(r->cx, wb_report, &listener);
    const WbbStatus s = wbb_guard(r->cx, body, job);
    wbb_on_progress(r->cx, NULL, NULL); /* the job ends here, and the result's context does not */
    const wb_status status = s == WBB_OK ? job->status : wb_status_of(s);
    r->declined = s == WBB_DECLINED ? (wb_reason)r->cx->why : WB_WHY_NONE;
    if (!result) wb_result_free(r);
    return status;
}

void wb_result_faults(WbRun *job, const JudgeVerdict *v)
{
    WbbBuf b = wbb_buf(job->r->cx->arena);
    for (int i = 0; i < v->report.n_faults; i++) wbb_putf(&b, "fault: %s\n", v->report.faults[i]);
    if (v->outside)
        wbb_putf(&b, "%lld of %lld elements outside the bounds; first: %s\n", (long long)v->outside,
                 (long long)v->compared, v->first);
    if (!b.n) return;
    job->r->faults = b.text;
    job->status = WB_CHECK;
}

const char *wb_result_messages(const wb_result *r) { return *r->faults ? r->faults : r->cx->messages; }
const char *wb_result_text(const wb_result *r) { return r->text; }
const char *wb_result_json(const wb_result *r) { return r->json; }
const char *wb_result_html(const wb_result *r) { return r->html; }
wb_reason wb_result_declined(const wb_result *r) { return r->declined; }

void wb_result_free(wb_result *r)
{
    if (r) wbb_cx_free(r->cx);
}
