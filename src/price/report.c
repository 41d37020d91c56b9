/* report: the terms of a launch's time, and what each instruction has in them.
 *
 * Needs: a profile of the simulator, rates and prices of the target. Leaves: PriceReport.
 *
 * Work is spread over as many SMs as the launch has blocks, at most all. An SM issues `issue` warp instructions a
 * clock; an instruction keeps a pipe of one of its four sub-partitions busy for TgPrice.cycles. DRAM moves each sector
 * that a launch touches once, and again where L2 lost it. Chains: blocks that run at a time wait for their own
 * dependent instructions side by side, one wave after the other.
 *
 * Blocks start one after the other, while others work: work is at least the time that they take to start.
 *
 * Spilled registers have places of their own for each thread that runs at a time. Stores of them go through L1 to L2;
 * loads find them in L1 where it holds those of all threads of an SM beside what its blocks load. Where L2 cannot hold
 * them beside what a wave of blocks touches, it writes them to DRAM, though nobody will read them again.
 *
 *     latency   the first wave waits for its first bytes, or for its whole chain if that is shorter
 *     code      machine instructions that come to an SM for the first time; launches before have run others
 *     chain     the longest chain of a block and for each wave but one the mean of all, less the latency
 *     tail      SMs that have a block less than others wait for them: as long as the busiest term of an SM takes for
 *               its part of a block, at most a block's chain
 *     clusters  blocks of a cluster wait until all have started, each time SMs are filled
 *
 *     64 MiB read and written by 16,384 blocks on an H200: 2 * 64 MiB / 4.8 TB/s = 28 us, bound by dram
 */
#include "price/inner.h"

#include <math.h>
#include <string.h>

static uint64_t threads_of(const BdLaunch *l) { return (uint64_t)l->block[0] * l->block[1] * l->block[2]; }

static PriceOccupancy occupancy_of(const PriceKernel *k)
{
    const BdLaunch *l = k->launch;
    const uint64_t grid = (uint64_t)l->grid[0] * l->grid[1] * l->grid[2];
    return price_occupancy(k->target, threads_of(l), grid, k->regs, k->static_shared + (uint64_t)l->shared);
}

/* What the simulator asks for ------------------------------------------------------------------- */

typedef struct {
    WbbArena *arena;
    const PriceKernel *kernel;
} Ask;

static bool is_atomic(const char *name) { return !strncmp(name, "atom.", 5) || !strncmp(name, "red.", 4); }

static bool is_cas(const char *name) { return strstr(name, ".cas.") != NULL; }

/* What the assembler makes a loop with a cas: an operation on one element of 16 bits. */
static bool is_loop(const char *name)
{
    const char *type = strrchr(name, '.');
    const bool is_half = type && (!strcmp(type, ".f16") || !strcmp(type, ".bf16"));
    return is_half && !strstr(name, ".v");
}

/* Clocks until another atomic operation at the same address can be done. A cas fails unless it was sent after its SM
 * had the value that the one before has made. */
static double turn(const TgTarget *t, const char *name)
{
    static const char *const floats[] = {".f16", ".bf16", ".f32", ".f64"};
    bool is_float = false;
    for (size_t i = 0; i < WBB_LEN(floats); i++) is_float |= strstr(name, floats[i]) != NULL;
    const bool waits = is_cas(name) || is_loop(name);
    return tg_rate(t, waits ? "latency.atomic" : is_float ? "atomic.float" : "atomic.int")->value;
}

static void pace(void *arg, const SimSite *site, SimPace *out)
{
    const Ask *ask = arg;
    const TgTarget *t = ask->kernel->target;
    const TgPrice *p = *site->name ? price_of(ask->arena, t, price_form(ask->arena, site->text)) : NULL;
    out->issue = p ? p->issue : 1;
    out->latency = p ? p->latency : tg_rate(t, "latency.alu")->value;
    if (site->loop) out->ahead = price_ahead(ask->kernel, (uint32_t)site->loop, (uint32_t)site->line);
    if (!is_atomic(site->name)) return;
    const double loop = p && strstr(site->name, ".shared") ? p->cycles[TG_PIPE_CONTROL] : 0;
    if (loop > 0) out->iteration = 2 * tg_rate(t, "latency.shared")->value + 3 * tg_rate(t, "latency.alu")->value;
    out->again = turn(t, site->name);
    out->together = is_cas(site->name); /* its loop is in the text: each time that it fails is a request of its own */
}

void price_ask(WbbArena *a, const PriceKernel *k, SimProfile *p)
{
    static const char *const latencies[SIM_FROM] = {"latency.shared", "latency.l1", "latency.l2", "latency.dram", "latency.atomic"};
    const TgTarget *t = k->target;
    const PriceOccupancy o = occupancy_of(k);
    Ask *ask = WBB_NEW(a, Ask);
    *ask = (Ask){a, k};
    *p = (SimProfile){.pace = pace, .arg = ask, .together = o.together, .sms = (uint64_t)t->sms};
    for (int i = 0; i < SIM_FROM; i++) p->latency[i] = tg_rate(t, latencies[i])->value;
    p->window = (uint32_t)tg_rate(t, "window")->value;
    const uint64_t shared = (k->static_shared + (uint64_t)k->launch->shared) * o.blocks;
    p->l1_bytes = shared < t->sm_smem ? (t->sm_smem - shared) / o.blocks : 0; /* L1 and shared memory are one memory */
    p->l2_bytes = (uint64_t)price_l2_kept(t);
}

/* Terms ----------------------------------------------------------------------------------------- */

static bool is_plain_store(const char *name) { return !strncmp(name, "st.", 3); }
static bool is_store(const char *name) { return !strncmp(name, "st.", 3) || !strncmp(name, "red.", 4); }

/* What one instruction adds to each term; `scale` is for the blocks that did not run. */
static void add_site(PriceReport *r, const TgTarget *t, PriceSite *s, double scale)
{
    const SimSite *x = s->site;
    const SimFlow *g = &x->flow[SIM_GLOBAL];
    double wavefronts = 0;
    for (int i = 0; i <= SIM_LOCAL; i++) wavefronts += (double)x->flow[i].wavefronts;
    s->executed = scale * (double)(x->warps + x->iterations);
    s->amount[PRICE_DRAM] = scale * (double)g->dram * TG_SECTOR;
    s->amount[PRICE_L2] = scale * (double)g->l2 * TG_SECTOR;
    if (is_atomic(x->name)) s->amount[PRICE_ATOMICS] = s->amount[PRICE_CONTENDED] = scale * (double)g->l2;
    s->amount[PRICE_FILL] = is_store(x->name) ? 0 : s->amount[PRICE_L2];
    s->amount[PRICE_WAVEFRONTS] = scale * wavefronts * TG_LINE;
    s->amount[PRICE_ISSUE] = (s->executed + scale * (double)x->passed) * (s->price ? s->price->issue : 1);
    s->amount[PRICE_CHAIN] = x->stalls;
    for (int i = 0; i < TG_PIPES && s->price; i++)
        s->amount[PRICE_PIPE + i] = s->executed * (double)s->price->cycles[i] / tg_schedulers(t);
    r->executed += s->executed;
    if (!s->price) r->unpriced += s->executed;
    r->lanes += (double)x->threads;
}

/* Bytes that DRAM moves besides, where a request stores its sectors in parts and has so many that L2 does not have the
 * others soon: the share is measured (`layout.parts`). */
static double stored_in_parts(const PriceKernel *k, const PriceReport *r)
{
    const PriceParts parts = price_parts(k->target);
    double bytes = 0;
    for (uint32_t i = 0; i < r->n_sites; i++) {
        const SimSite *x = r->sites[i].site;
        const SimFlow *g = &x->flow[SIM_GLOBAL];
        if (!is_plain_store(x->name) || !g->requests || !g->needed) continue;
        const double times = (double)g->sectors / (double)g->needed, sectors = (double)g->sectors / (double)g->requests;
        if (price_in_parts(&parts, times, sectors)) bytes += (double)g->needed * TG_SECTOR;
    }
    return parts.more * r->scale * bytes;
}

/* Bytes of DRAM: a sample of blocks touches at most all of a buffer, however many blocks there are. */
static void add_uses(PriceReport *r, const SimProfile *p, int n_buffers, double scale)
{
    for (int i = 0; i <= n_buffers; i++) {
        const SimUse *u = &p->uses[i];
        r->distinct += TG_SECTOR * (WBB_MIN(scale * (double)u->loaded, (double)u->size) +
                                 WBB_MIN(scale * (double)u->stored, (double)u->size));
        r->again += TG_SECTOR * scale * (double)u->again;
    }
}

/* Clocks for which the line that is updated most often is busy. Of a sample of blocks its part of all requests is that
 * of the sample, where enough of them met there to tell; else what it were if all were updated equally often. */
static double contended(const TgTarget *t, const SimUpdates *u, double scale)
{
    if (u->hottest <= 0 || scale <= 1) return u->longest;
    const bool tells = u->hottest > (double)tg_tuned(t, "price.requests");
    const double n = u->requests, part = tells ? u->hottest / n : u->pairs / (n * n);
    return WBB_MAX(scale * n * part * u->longest / u->hottest, u->longest);
}

/* Where spilled registers go; `loaded`: bytes that the SMs load else. */
static void set_spilled(PriceReport *r, const PriceKernel *k, double loaded)
{
    const TgTarget *t = k->target;
    const PriceOccupancy *o = &r->occupancy;
    const double shared = (double)(k->static_shared + (uint64_t)k->launch->shared) * o->blocks;
    const double of_sm = r->spilled.thread * (double)(threads_of(k->launch) * o->blocks);
    const double beside = loaded / ((double)o->together * o->waves) * o->blocks;
    const bool in_l1 = of_sm + beside + shared <= (double)t->sm_smem;
    const double of_wave = of_sm * t->sms + (r->distinct + r->again) / o->waves;
    r->spilled.l2 = r->spilled.stored + (in_l1 ? 0 : r->spilled.loaded);
    r->spilled.dram = of_wave > price_l2_kept(t) ? r->spilled.stored : 0;
    r->term[PRICE_DRAM].amount += r->spilled.dram;
    r->term[PRICE_L2].amount += r->spilled.l2;
    r->term[PRICE_FILL].amount += r->spilled.l2 - r->spilled.stored;
}

static void set_rate(PriceReport *r, PriceKind kind, const char *name, const char *unit, double rate)
{
    PriceTerm *t = &r->term[kind];
    t->name = name, t->unit = unit, t->rate = rate;
    t->seconds = t->amount / rate;
}

/* The time of chains is what is left of them after the latency, which is a part of the sum. */
static void set_chain(PriceReport *r, const SimProfile *p, double clock)
{
    PriceTerm *t = &r->term[PRICE_CHAIN];
    const double mean = p->timed ? p->sum / (double)p->timed : 0;
    *t = (PriceTerm){.name = "chain", .unit = "clocks", .amount = p->longest + mean * (r->occupancy.waves - 1),
                     .rate = clock};
    t->seconds = WBB_MAX(t->amount / clock - r->latency, 0);
}

/* Blocks of a cluster start together: each time SMs are filled they wait for one another. */
static double clusters(const PriceReport *r, const PriceKernel *k)
{
    const uint32_t *of = k->launch->cluster;
    if (of[0] * of[1] * of[2] <= 1) return 0;
    return r->occupancy.waves * (double)tg_tuned(k->target, "layout.cluster.wave") * 1e-9;
}

static double tail(const PriceReport *r, const PriceKernel *k, double blocks, double chain)
{
    double busiest = 0;
    for (int i = PRICE_FILL; i < PRICE_TERMS; i++)
        if (i != PRICE_CHAIN) busiest = WBB_MAX(busiest, r->term[i].seconds);
    return price_tail(busiest, blocks / k->target->sms, chain);
}

/* Machine instructions of the text, without slow paths; by prices of PTX those of all lines that a warp came to. */
static double instructions(const PriceReport *r, const PriceKernel *k)
{
    double n = 0;
    for (uint32_t i = 0; i < k->n_code; i++) n += !k->code[i].slow;
    for (uint32_t i = 0; i < r->n_sites && !k->n_code; i++)
        if (r->sites[i].site->warps) n += r->sites[i].price ? r->sites[i].price->issue : 1;
    return n;
}

static int norm_of(const TgTarget *t) { return (int)tg_tuned(t, "price.norm"); }

static void set_terms(PriceReport *r, WbbArena *a, const PriceKernel *k, const SimProfile *p)
{
    const TgTarget *t = k->target;
    const double clock = tg_rate(t, "clock")->value, sms = (double)WBB_MIN(p->grid, (uint64_t)t->sms);
    r->launch = tg_rate(t, "launch")->value;
    r->latency = WBB_MIN(p->longest, tg_rate(t, "latency.dram")->value) / clock;
    r->term[PRICE_DRAM].amount = r->distinct + r->again + r->parts;
    if (r->spilled.stored > 0) set_spilled(r, k, r->term[PRICE_FILL].amount);
    set_rate(r, PRICE_DRAM, "dram", "bytes", tg_rate(t, "dram")->value);
    set_rate(r, PRICE_L2, "l2", "bytes", tg_rate(t, "l2")->value);
    r->term[PRICE_BLOCKS].amount = (double)p->grid;
    set_rate(r, PRICE_BLOCKS, "blocks", "blocks", tg_rate(t, "blocks")->value * clock);
    set_rate(r, PRICE_ATOMICS, "atomics", "sectors", tg_rate(t, "atomics")->value * clock);
    r->term[PRICE_CONTENDED].amount = contended(t, &p->updates, r->scale);
    set_rate(r, PRICE_CONTENDED, "contended", "clocks", clock);
    set_rate(r, PRICE_FILL, "fill", "bytes", tg_rate(t, "sm.fill")->value * sms * clock);
    set_rate(r, PRICE_WAVEFRONTS, "wavefronts", "bytes", tg_rate(t, "l1.wavefront")->value * sms * clock);
    set_rate(r, PRICE_ISSUE, "issue", "instructions", tg_rate(t, "issue")->value * sms * clock);
    for (int i = 0; i < TG_PIPES; i++)
        set_rate(r, (PriceKind)(PRICE_PIPE + i), wbb_format(a, "pipe.%s", tg_pipe_name[i]), "clocks", sms * clock);
    set_chain(r, p, clock);
    double terms[PRICE_TERMS];
    for (int i = 0; i < PRICE_TERMS; i++) {
        terms[i] = i == PRICE_BLOCKS ? 0 : r->term[i].seconds;
        if (r->term[i].seconds > r->term[r->binds].seconds) r->binds = (PriceKind)i;
    }
    r->tail = tail(r, k, (double)p->grid, p->longest / clock);
    r->code = TG_CODE * instructions(r, k) / (tg_rate(t, "sm.code")->value * clock);
    r->clusters = clusters(r, k);
    const PriceTime all = {
        .together = price_together(terms, PRICE_TERMS, norm_of(t)), .blocks = r->term[PRICE_BLOCKS].seconds,
        .launch = r->launch, .latency = r->latency, .code = r->code, .tail = r->tail, .clusters = r->clusters};
    r->work = price_work(&all);
    r->seconds = price_time(&all);
}

/* A site's part of the work: by how much the work would shrink with its amounts, which sums to the work. */
static void set_parts(PriceReport *r, const TgTarget *t, const double *amounts)
{
    const int norm = norm_of(t);
    double sum = 0;
    for (int i = 0; i < PRICE_TERMS; i++)
        if (amounts[i] > 0) sum += price_power(r->term[i].seconds, norm);
    for (uint32_t k = 0; k < r->n_sites; k++)
        for (int i = 0; i < PRICE_TERMS && sum > 0; i++)
            if (amounts[i] > 0)
                r->sites[k].seconds +=
                    r->work * price_power(r->term[i].seconds, norm) / sum * r->sites[k].amount[i] / amounts[i];
}

static void add_amounts(const PriceReport *r, double amounts[PRICE_TERMS])
{
    for (uint32_t k = 0; k < r->n_sites; k++)
        for (int i = 0; i < PRICE_TERMS; i++) amounts[i] += r->sites[k].amount[i];
}

PriceReport price_report(WbbArena *a, const PriceKernel *k, const SimProfile *p)
{
    PriceReport r = {.occupancy = occupancy_of(k),
                     .regs = k->regs,
                     .n_sites = p->n_sites,
                     .text = p->text,
                     .sites = WBB_NEW_N(a, PriceSite, p->n_sites + 1),
                     .scale = (double)p->grid / (double)WBB_MAX(p->blocks, 1)};
    for (uint32_t i = 0; i < p->n_sites; i++) {
        PriceSite *s = &r.sites[i];
        s->site = &p->sites[i];
        s->form = price_form(a, p->sites[i].text);
        s->price = *s->form ? price_of(a, k->target, s->form) : NULL;
        add_site(&r, k->target, s, r.scale);
    }
    r.lanes = r.executed > 0 ? r.lanes * r.scale / (k->target->warp * r.executed) : 1;
    double amounts[PRICE_TERMS] = {0}, rest[PRICE_TERMS] = {0}, by_ptx[PRICE_TERMS] = {0};
    const double warps = (double)p->grid * (double)(((threads_of(k->launch) + k->target->warp - 1) / k->target->warp));
    if (k->code) {
        add_amounts(&r, by_ptx);
        price_machine_code(a, k, &r, warps, rest);
    }
    add_amounts(&r, amounts);
    for (int i = 0; i < PRICE_TERMS; i++) r.term[i].amount = amounts[i] + rest[i];
    add_uses(&r, p, p->n_uses - 1, r.scale);
    r.parts = stored_in_parts(k, &r);
    set_terms(&r, a, k, p);
    for (int i = PRICE_ISSUE; i < PRICE_TERMS && k->code; i++)
        if (i != PRICE_CHAIN) r.term[i].by_ptx = by_ptx[i] / r.term[i].rate;
    set_parts(&r, k->target, amounts);
    return r;
}
