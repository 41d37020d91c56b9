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

double part_least_us(const TgTarget *t) { return launch_us(t) + first_bytes_us(t); }

double part_bytes(const PartPlan *p)
{
    double bytes = 0;
    for (uint32_t k = 0; k < p->n_operands + p->n_outputs; k++)
        bytes += (double)p->buffers[k].elements * sc_type_info[p->buffers[k].shape->type].bits / 8;
    return bytes;
}

/* What the bytes of a kernel take that may read and write each once: of one that has no price. */
static PartPrice price_of_bytes(const PartPlan *p, const TgTarget *t)
{
    PartPrice x = {.term = {[PART_DRAM] = 1e6 * part_bytes(p) / tg_rate(t, "dram")->value, [PART_LAUNCH] = launch_us(t),
                            [PART_LATENCY] = first_bytes_us(t)}};
    x.us = part_least_us(t) + x.term[PART_DRAM];
    x.bytes_alone = true;
    return x;
}

/* The time of a launch range, as if it were alone. */
static PartPrice price_of_range(WbbArena *a, const PartPlan *p, const PartKernel *k, const PartRange *r,
                                const TgTarget *t)
{
    if (r->choice) return r->choice->best[0].price;
    if (r->given) return *r->given;
    if (r->price) return *r->price;
    const PartPrice x = part_loop_range_price(a, p, k, r, t);
    return x.us > 0 ? x : price_of_bytes(p, t);
}

/* Adds a price; of ranges beside the first the launch is shared. */
static void add(PartPrice *sum, const PartPrice *x, bool beside, const TgTarget *t)
{
    sum->issue += x->issue;
    sum->bytes_alone = sum->bytes_alone || x->bytes_alone;
    sum->us += beside ? WBB_MAX(x->us - part_least_us(t), 0) : x->us;
    for (int k = 0; k < PART_TERMS; k++)
        if (!beside || (k != PART_LAUNCH && k != PART_LATENCY)) sum->term[k] += x->term[k];
}

PartPrice part_kernel_price(WbbArena *a, const PartPlan *p, const PartKernel *k, const TgTarget *t)
{
    PartPrice sum = {.us = 0};
    if (!k->n_ranges) sum = price_of_bytes(p, t);
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        const PartPrice x = price_of_range(a, p, k, &k->ranges[n], t);
        add(&sum, &x, n > 0, t);
    }
    return sum;
}

PartPrice part_plan_price(WbbArena *a, const PartPlan *p, const TgTarget *t)
{
    PartPrice sum = {.us = 0};
    for (uint32_t k = 0; k < p->n_kernels; k++) {
        const PartPrice x = part_kernel_price(a, part_plan_of(p, &p->kernels[k]), &p->kernels[k], t);
        add(&sum, &x, false, t);
    }
    return sum;
}

double part_plan_us(WbbArena *a, const PartPlan *p, const TgTarget *t) { return part_plan_price(a, p, t).us; }

/* A smaller difference may come from the model, which prices loops and reductions in different ways. At full rates,
 * too: the profile has no rates of short runs. */
double part_to_beat(const TgStrategy *row, const PartRange *shared, double us)
{

    if (row->full_rates && shared) us = WBB_MIN(us, shared->choice->best[0].price.plain);
    return us * (double)(100 - row->save) / 100;
}

bool part_takes_less(const TgTarget *t, const TgStrategy *row, const PartRange *shared, const PartPrice *x,
                     const PartPrice *of)
{
    if (x->bytes_alone || of->bytes_alone) return false;
    if (row->save || row->full_rates) {
        if (x->us < part_to_beat(row, shared, of->us)) return true;
    } else if (of->us > part_as_long(t, x)) {
        return true;
    }
    return x->us <= part_as_long(t, of) && x->issue * 100 < of->issue * (double)row->fewer;
}

double part_bound_us(const PartPlan *p, const PartPrice *of, const TgStrategy *row, const TgTarget *t)
{
    const PartPrice least = price_of_bytes(p, t);
    return (double)row->launches * part_least_us(t) + WBB_MIN(least.term[PART_DRAM], of->term[PART_DRAM]);
}
