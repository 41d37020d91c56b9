/* soundness: the bounds of a computation held against perturbed evaluations of it.
 *
 * Needs: a computation and its inputs. Leaves: how many results of N perturbed evaluations lie outside their intervals,
 * and how wide the intervals are.
 */
#include "eval/inner.h"

#include <math.h>

static double width(ScType t, const EvBound *b)
{
    if (b->flags & EV_MUST_NAN) return 0;
    if (b->flags || isinf(b->lo.f) || isinf(b->hi.f)) return (double)INFINITY;
    return (b->hi.f - b->lo.f) / ev_ulp(t, fmax(fabs(b->lo.f), fabs(b->hi.f)));
}

static void compare(WbbArena *a, const EvValue *bounds, const EvValue *got, uint32_t leaf, int64_t n, EvSoundness *s)
{
    ScType t = ev_part_type(got->type);
    const EvBound *b = bounds->data;
    for (int64_t k = 0; k < n; k++) {
        uint64_t bits = ev_get(t, got->data, k);
        s->compared++;
        if (ev_bounds_contains(t, bits, &b[k]) || s->outside++) continue;
        WbbBuf text = wbb_buf(a);
        wbb_putf(&text, "output %u (%s) element %lld is 0x%llx", leaf, sc_type_info[got->type].hlo, (long long)k,
                 (unsigned long long)bits);
        if (sc_is_float(t)) wbb_putf(&text, " (%.9g)", sc_to_f64(t, bits));
        wbb_put(&text, ", allowed ");
        ev_put_bounds(&text, t, &b[k]);
        s->first = text.text;
    }
}

/* By Shell sort; n is up to some millions. */
static double median(double *x, int64_t n)
{
    for (int64_t gap = n / 2; gap > 0; gap /= 2)
        for (int64_t k = gap; k < n; k++)
            for (int64_t j = k; j >= gap && x[j] < x[j - gap]; j -= gap) {
                double kept = x[j];
                x[j] = x[j - gap];
                x[j - gap] = kept;
            }
    return n ? x[n / 2] : 0;
}

static int64_t parts_of(const EvValue *v)
{
    int64_t n = sc_type_info[v->type].cls == 'C' ? 2 : 1;
    for (int d = 0; d < v->rank; d++) n *= v->dims[d];
    return n;
}

EvSoundness ev_soundness(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs,
                         const EvSource *source, ScAccuracy accuracy, const EvPositions *at, uint64_t seed,
                         uint32_t runs)
{
    EvSoundness s = {0};
    const EvMode mode = ev_bounds_mode(accuracy);
    const EvResult *bounds =
        inputs ? ev_run_at(cx, arena, c, inputs, mode, at) : ev_run_from(cx, arena, c, source, mode, at);
    int64_t floats = 0;
    for (uint32_t k = 0; k < bounds->n; k++)
        if (sc_is_float(ev_part_type(bounds->outputs[k].type))) floats += parts_of(&bounds->outputs[k]);
    double *widths = WBB_NEW_N(arena, double, floats + 1);
    for (uint32_t k = 0; k < bounds->n; k++) {
        const EvValue *v = &bounds->outputs[k];
        ScType t = ev_part_type(v->type);
        for (int64_t p = 0; sc_is_float(t) && p < parts_of(v); p++)
            widths[s.floats++] = width(t, (const EvBound *)v->data + p);
    }
    s.median = median(widths, floats);
    for (int64_t p = 0; p < floats; p++) s.open += isinf(widths[p]) ? 1 : 0;
    for (uint32_t run = 0; run < runs; run++) {
        const EvResult *got = ev_run_perturbed(cx, arena, c, inputs, source, accuracy, at, seed * 1000003 + run);
        for (uint32_t k = 0; k < got->n; k++)
            compare(arena, &bounds->outputs[k], &got->outputs[k], k, parts_of(&got->outputs[k]), &s);
    }
    return s;
}
