/* plan_price.c: the time of a plan: of its launches one after the other, the ranges of each side by side.
 *
 * Needs a plan; leaves microseconds, and what they are made of. A kernel that has no price takes what its bytes take,
 * each read or written once.
 *
 *     softmax f32[1,1048576], rows     2.9 + 2.2 + 7.4 us: launch 6.1, DRAM 2.6, ..
 */
#include "layout/chooser.h"
#include "plan/exchange.h"

static double launch_us(const TgTarget *t) { return tg_rate(t, "launch")->value * 1e6; }

static double first_bytes_us(const TgTarget *t)
{
    return tg_rate(t, "latency.dram")->value / tg_rate(t, "clock")->value * 1e6;
}

double plan_least_us(const TgTarget *t) { return launch_us(t) + first_bytes_us(t); }

double plan_bytes(const Plan *p)
{
    double bytes = 0;
    for (uint32_t k = 0; k < p->n_operands + p->n_outputs; k++)
        bytes += (double)p->buffers[k].elements * sc_type_info[p->buffers[k].shape->type].bits / 8;
    return bytes;
}

/* What the bytes of a kernel take that may read and write each once: of one that has no price. */
static LayPrice price_of_bytes(const Plan *p, const TgTarget *t)
{
    LayPrice x = {.term = {[LAY_DRAM] = 1e6 * plan_bytes(p) / tg_rate(t, "dram")->value, [LAY_LAUNCH] = launch_us(t),
                           [LAY_LATENCY] = first_bytes_us(t)}};
    x.us = plan_least_us(t) + x.term[LAY_DRAM];
    x.bytes_alone = true;
    return x;
}

/* The time of a launch range, as if it were alone. */
static LayPrice price_of_range(WbbArena *a, const Plan *p, const PlanKernel *k, const PlanRange *r,
                               const TgTarget *t)
{
    if (r->choice) return r->choice->best[0].price;
    if (r->given) return *r->given;
    if (r->price) return *r->price;
    const LayPrice x = plan_loop_range_price(a, p, k, r, t);
    return x.us > 0 ? x : price_of_bytes(p, t);
}

/* Adds a price; of ranges beside the first the launch is shared. */
static void add(LayPrice *sum, const LayPrice *x, bool beside, const TgTarget *t)
{
    sum->issue += x->issue;
    sum->bytes_alone = sum->bytes_alone || x->bytes_alone;
    sum->us += beside ? WBB_MAX(x->us - plan_least_us(t), 0) : x->us;
    for (int k = 0; k < LAY_TERMS; k++)
        if (!beside || (k != LAY_LAUNCH && k != LAY_LATENCY)) sum->term[k] += x->term[k];
}

LayPrice plan_kernel_price(WbbArena *a, const Plan *p, const PlanKernel *k, const TgTarget *t)
{
    LayPrice sum = {.us = 0};
    if (!k->n_ranges) sum = price_of_bytes(p, t);
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        const LayPrice x = price_of_range(a, p, k, &k->ranges[n], t);
        add(&sum, &x, n > 0, t);
    }
    return sum;
}

LayPrice plan_price(WbbArena *a, const Plan *p, const TgTarget *t)
{
    LayPrice sum = {.us = 0};
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const LayPrice x = plan_kernel_price(a, plan_of_kernel(p, &p->kernels[k]), &p->kernels[k], t);
        add(&sum, &x, false, t);
    }
    return sum;
}

double plan_us(WbbArena *a, const Plan *p, const TgTarget *t) { return plan_price(a, p, t).us; }

/* A smaller difference may come from the model, which prices loops and reductions in different ways. At full rates,
 * too: the profile has no rates of short runs. */
double plan_to_beat(const TgStrategy *row, const PlanRange *shared, double us)
{

    if (row->full_rates && shared) us = WBB_MIN(us, shared->choice->best[0].price.plain);
    return us * (double)(100 - row->save) / 100;
}

bool plan_takes_less(const TgTarget *t, const TgStrategy *row, const PlanRange *shared, const LayPrice *x,
                     const LayPrice *of)
{
    if (x->bytes_alone || of->bytes_alone) return false;
    if (row->save || row->full_rates) {
        if (x->us < plan_to_beat(row, shared, of->us)) return true;
    } else if (of->us > lay_as_long(t, x)) {
        return true;
    }
    return x->us <= lay_as_long(t, of) && x->issue * 100 < of->issue * (double)row->fewer;
}

double plan_bound_us(const Plan *p, const LayPrice *of, const TgStrategy *row, const TgTarget *t)
{
    const LayPrice least = price_of_bytes(p, t);
    return (double)row->launches * plan_least_us(t) + WBB_MIN(least.term[LAY_DRAM], of->term[LAY_DRAM]);
}
