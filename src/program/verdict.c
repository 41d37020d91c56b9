/* verdict.c: what a run of a program found, as lines and as JSON.
 *
 * Needs a verdict of run.c. The command line and the library print the same.
 *
 *     out: 20 kernels, 6 library calls ran; 20 kernels judged: 5180 elements inside the bounds, no fault
 *     out: 224 elements of the results inside the bounds of the module, 12 ulp from f64 at most
 */
#include "program/run.h"

#include <inttypes.h>

void prog_put_verdict(WbbBuf *b, const char *name, const ProgVerdict *v)
{
    wbb_putf(b, "%s: %" PRIu64 " kernels, %" PRIu64 " library calls, %" PRIu64 " copies and %" PRIu64
             " iterations of loops ran", name, v->kernels, v->library, v->copies, v->iterations);
    if (v->on_gpu) wbb_put(b, " on a GPU");
    if (v->blas) wbb_putf(b, ", %" PRIu64 " library calls by cuBLAS", v->blas);
    if (v->on_gpu && v->library > v->blas)
        wbb_putf(b, ", %" PRIu64 " library calls on the host", v->library - v->blas);
    if (v->moved) wbb_putf(b, "; %" PRIu64 " kernels were run out of place and copied", v->moved);
    wbb_put(b, "\n");
    if (v->first) wbb_putf(b, "%s: fault: %s\n", name, v->first);
    else if (v->checked) {
        wbb_putf(b, "%s: %" PRIu64 " kernels judged: %lld elements inside the bounds", name, v->judged,
                 (long long)v->compared);
        judge_put_distance(b, v->max_ulp, v->share, ", no fault");
        wbb_put(b, "\n");
    }
    if (v->whole.outside)
        wbb_putf(b, "%s: %lld of %lld elements of the results outside the bounds of the module; first: %s\n", name,
                 (long long)v->whole.outside, (long long)v->whole.compared, v->whole.first);
    else if (v->checked && v->whole_skipped)
        wbb_putf(b, "%s: the results were not compared: %s\n", name, v->whole_skipped);
    else if (v->checked) {
        wbb_putf(b, "%s: %lld elements of the results inside the bounds of the module", name,
                 (long long)v->whole.compared);
        judge_put_distance(b, v->whole.max_ulp, v->whole.share, "");
        wbb_put(b, "\n");
    }
    if (v->checked && v->whole_open)
        wbb_putf(b, "%s: their bounds are open where they depend on %s, whose order in the kernels is not that of the "
                 "module; each kernel was held to its own\n", name, v->whole_open);
}

void prog_put_verdict_json(WbbBuf *b, const char *name, const ProgModule *p, const ProgVerdict *v)
{
    const ProgMemory m = prog_memory(p);
    wbb_json_open(b, NULL, '{');
    wbb_json_text(b, "file", name);
    wbb_json_bool(b, "on_gpu", v->on_gpu);
    wbb_json_uint(b, "kernels", v->kernels);
    wbb_json_uint(b, "library", v->library);
    wbb_json_uint(b, "blas", v->blas);
    wbb_json_uint(b, "copies", v->copies);
    wbb_json_uint(b, "iterations", v->iterations);
    wbb_json_uint(b, "moved", v->moved);
    wbb_json_uint(b, "judged", v->judged);
    wbb_json_int(b, "compared", v->compared);
    wbb_json_int(b, "outside", v->outside);
    wbb_json_putf(b, "max_ulp", "%.17g", v->max_ulp);
    wbb_json_text(b, "first", v->first);
    wbb_json_text(b, "whole_skipped", v->whole_skipped);
    wbb_json_text(b, "whole_open", v->whole_open);
    wbb_json_int(b, "whole_compared", v->whole.compared);
    wbb_json_int(b, "whole_outside", v->whole.outside);
    wbb_json_putf(b, "whole_max_ulp", "%.17g", v->whole.max_ulp);
    wbb_json_text(b, "whole_first", v->whole.first);
    wbb_json_int(b, "peak", m.peak);
    wbb_json_putf(b, "ms_run", "%.3f", v->ms_run);
    wbb_json_putf(b, "ms_library", "%.3f", v->ms_library);
    wbb_json_putf(b, "ms_judge", "%.3f", v->ms_judge);
    wbb_json_end(b, "run-program.1");
}
