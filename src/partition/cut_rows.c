/* cut_rows.c: few long rows that are read again, which leave most of the machine empty: blocks of different clusters do
 * not wait for each other, so one launch of them has an SM or a cluster for each row. Launches of their own have all of
 * the machine: the first results of the rows, by blocks that share them through memory, then what needs these.
 *
 * Needs the chosen layout of the one launch; leaves the reductions at which it may be cut, and says whether launches
 * take less time. Each is planned as if it were a fusion, and may be cut again.
 *
 *     softmax f32[1,1048576]   one launch, a cluster of 8 SMs: 30.3 us   maxima; sums; quotients: 12.5 us
 */
#include "partition/exchange.h"

/* A launch, and the first bytes from memory. */
static double least_us(const TgTarget *t)
{
    return tg_rate(t, "launch")->value * 1e6 + tg_rate(t, "latency.dram")->value / tg_rate(t, "clock")->value * 1e6;
}

uint32_t part_cut_rows(const PartRange *shared, const TgTarget *t, const HloInstruction **found)
{
    const PartPriced *best = &shared->choice->best[0];
    const int64_t blocks = part_layout_size(&best->layout, PART_GRID) * part_layout_size(&best->layout, PART_CLUSTER);
    const PartStage *first = &shared->stages[0];
    const bool again = shared->n_stages > 1 && shared->stages[1].kind != PART_RESULTS;
    const bool held = part_layout_size(&best->layout, PART_LOOP) == 1;
    if (!again || first->kind != PART_REDUCE || (held && blocks >= t->sms)) return 0;
    if (best->price.us < 2 * least_us(t)) return 0;
    for (uint32_t k = 0; k < first->n_reduces; k++) {
        const HloInstruction *i = first->reduces[k].i;
        for (uint32_t l = 0; l < i->n_operands / 2; l++)
            if (part_is_packed(part_shape(i, l)->type)) return 0;
        found[k] = i;
    }
    return first->n_reduces;
}

bool part_rows_apart(WbbArena *a, const PartPlan *cut, const PartRange *shared, const TgTarget *t)
{
    const double limit = shared->choice->best[0].price.us * (double)(1000 - tg_tune(t, "layout.tie", 0)->value) / 1000;
    double us = 0;
    for (uint32_t k = 0; k < cut->n_kernels; k++) {
        const PartKernel *kernel = &cut->kernels[k];
        const PartRange *r = kernel->ranges;
        if (kernel->n_ranges != 1 || r->tile) return false; /* no price is at hand */
        const PartPlan *of = part_plan_of(cut, kernel);
        const double of_kernel = r->choice ? r->choice->best[0].price.us : part_loop_us(a, of, r, t);
        if (of_kernel <= 0) return false;
        us += of_kernel;
    }
    return us < limit;
}
