/* loop_price.c: the time that a loop over elements takes under a layout.
 *
 * Needs what the loop's outputs are; leaves microseconds. The factors of its one dimension, the number of an element,
 * are dealt out to the dimensions of the space, so that it is seen which arrays are the same along them.
 *
 *     x[4096,1024] + bias[1024]    elements: vector 4, lane 32, warp 4, grid 2048, register 4
 *                                  d1: vector 4, lane 32, warp 4, grid 2; d0: grid 1024, register 4
 */
#include "plan/exchange.h"

/* Gives the digits of a factor to the fastest dimensions that are left, or to the slowest ones. */
static void deal(const LayWork *w, const LayFactor *f, bool slowest, int64_t *rest, int64_t *sizes)
{
    int64_t left = f->size;
    for (uint32_t k = 0; left > 1 && k < w->n_dims; k++) {
        const uint32_t d = slowest ? k : w->n_dims - 1 - k;
        const int64_t taken = WBB_MIN(left, rest[d]);
        sizes[d * LAY_LEVELS + f->level] *= taken;
        rest[d] = lay_up(rest[d], taken);
        left = lay_up(left, taken);
    }
}

void plan_loop_sizes(WbbArena *a, const LayWork *w, const Layout *loop, int64_t *sizes)
{
    const uint32_t n = w->n_dims;
    int64_t *rest = WBB_NEW_N(a, int64_t, n + 1u);
    for (uint32_t d = 0; d < n; d++) {
        rest[d] = w->dims[d].size;
        for (int k = 0; k < LAY_LEVELS; k++) sizes[d * LAY_LEVELS + (uint32_t)k] = 1;
    }
    uint32_t fastest = loop->dims[0].n_factors; /* factors whose digits are the fastest */
    const LayFactor *f = loop->dims[0].factors;
    if (fastest > 1 && f[fastest - 1].level == LAY_REGISTER) deal(w, &f[--fastest], true, rest, sizes);
    for (uint32_t k = 0; k < fastest; k++)
        if (f[k].level != LAY_GRID) deal(w, &f[k], false, rest, sizes); /* the grid has what is left */
    for (uint32_t d = 0; d < n; d++) sizes[d * LAY_LEVELS + LAY_GRID] = rest[d];
}

LayPrice plan_loop_price_of(const LayRates *rates, const LayWork *w, const Layout *loop, const int64_t *sizes,
                            const LayNeeds *needs)
{
    const LayDim *l = &loop->dims[0];
    LayNeeds of_loop = *needs;
    double of_block = 1; /* elements; the dimensions may be no multiples of the factors that are dealt out to them */
    for (uint32_t k = 0; k < l->n_factors; k++)
        if (l->factors[k].level != LAY_GRID) of_block *= (double)l->factors[k].size;
    of_loop.counts.blocks = (double)l->size / of_block;
    return lay_price(rates, w, sizes, &of_loop);
}

LayPrice plan_loop_price(WbbArena *a, const LayRates *rates, const LayWork *w, const Layout *loop)
{
    int64_t *sizes = WBB_NEW_N(a, int64_t, (size_t)w->n_dims * LAY_LEVELS + 1);
    plan_loop_sizes(a, w, loop, sizes);
    const LayNeeds needs = lay_needs(rates, w, sizes);
    return plan_loop_price_of(rates, w, loop, sizes, &needs);
}

LayPrice plan_loop_range_price(WbbArena *a, const Plan *p, const PlanKernel *k, const PlanRange *r,
                               const TgTarget *t)
{
    PlanExchange x;
    if (!plan_loop_space(a, p, k, r, t, &x)) return (LayPrice){.us = 0};
    const LayWork work = plan_loop_work(&x);
    return plan_loop_price(a, lay_rates(a, t), &work, &r->stages[0].layout);
}
