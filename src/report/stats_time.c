/* stats_time.c: the modelled time of a kernel for its record, from a sample of its blocks.
 *
 * Needs a compiled bundle and its module. Runs a sample of the blocks in the simulator on values of case n, seed 0;
 * leaves profiles, which are priced when ptxas has said how many registers a thread has. Bundles of several launches,
 * or with tickets, have no sample: they run whole if they are small, else the record has no time. Issue slots and pipes
 * are by the prices of PTX.
 *
 *     "us": 12.755, "work": 10.692, "executed": 2.94912e+06, "binds": "dram"
 */
#include "judge/judge.h"
#include "report/stats.h"
#include "price/price.h"

#include <string.h>

enum { WHOLE_THREADS = 1 << 15, WHOLE_BYTES = 1 << 25 };

struct ReportStatTime {
    int n;
    const BdLaunch *launches;
    SimProfile *profiles;
    PriceKernel *kernels;
};

static bool has_tickets(const Bundle *b)
{
    for (int i = 0; i < b->n_buffers; i++)
        if (b->buffers[i].init == BD_INIT_TICKET) return true;
    return false;
}

static bool is_small(const Bundle *b)
{
    uint64_t threads = 0, bytes = 0;
    for (int i = 0; i < b->n_launches; i++) {
        const BdLaunch *l = &b->launches[i];
        threads += (uint64_t)l->grid[0] * l->grid[1] * l->grid[2] * l->block[0] * l->block[1] * l->block[2];
    }
    for (int i = 0; i < b->n_buffers; i++) bytes += (uint64_t)b->buffers[i].bytes;
    return threads <= WHOLE_THREADS && bytes <= WHOLE_BYTES;
}

/* A copy of what pricing reads, from memory that ends with the run. */
static void keep(WbbArena *a, SimProfile *p)
{
    SimSite *sites = WBB_NEW_N(a, SimSite, p->n_sites + 1);
    SimUse *uses = WBB_NEW_N(a, SimUse, p->n_uses + 1);
    for (uint32_t i = 0; i < p->n_sites; i++) {
        sites[i] = p->sites[i];
        sites[i].name = wbb_format(a, "%s", p->sites[i].name);
    }
    memcpy(uses, p->uses, (size_t)p->n_uses * sizeof *uses);
    p->sites = sites, p->uses = uses;
}

typedef struct {
    WbbArena *arena, *run; /* of the record; of the run */
    const TgTarget *target;
    const Bundle *b;
    const HloModule *m;
    uint64_t blocks;
    ReportStatTime *time;
} Job;

static void run_sample(WbbCx *cx, void *arg)
{
    Job *j = arg;
    ReportStatTime *t = WBB_NEW(j->arena, ReportStatTime);
    *t = (ReportStatTime){.n = j->b->n_launches, .launches = j->b->launches,
                        .profiles = WBB_NEW_N(j->arena, SimProfile, j->b->n_launches + 1),
                        .kernels = WBB_NEW_N(j->arena, PriceKernel, j->b->n_launches + 1)};
    const SimModule *ptx = sim_parse(cx, j->run, "kernel.ptx", j->b->ptx);
    uint32_t block[3];
    for (int i = 0; i < t->n; i++) {
        t->kernels[i] = (PriceKernel){.target = j->target, .launch = &t->launches[i],
                                      .static_shared = sim_block_needs(ptx, t->launches[i].entry, block)};
        price_ask(j->run, &t->kernels[i], &t->profiles[i]);
    }
    const JudgeRun run = {.which = 'n', .blocks = j->blocks, .profiles = t->profiles, .threads = 1};
    const JudgeVerdict v = judge_run(cx, j->run, j->b, j->m, &run);
    if (v.report.n_faults) return;
    for (int i = 0; i < t->n; i++) keep(j->arena, &t->profiles[i]);
    j->time = t;
}

ReportStatTime *report_stat_run(WbbCx *cx, WbbArena *a, const TgTarget *t, const Bundle *b, const HloModule *m,
                                uint32_t blocks)
{
    const bool whole = b->n_launches > 1 || has_tickets(b);
    if (!blocks || !b->n_launches || (whole && !is_small(b))) return NULL;
    Job j = {.arena = a, .run = wbb_arena_new(cx), .target = t, .b = b, .m = m, .blocks = whole ? 0 : blocks};
    const WbbStatus s = wbb_guard(cx, run_sample, &j); /* inputs may be too large, or the evaluator declines them */
    wbb_arena_free(j.run);
    return s == WBB_OK ? j.time : NULL;
}

void report_stat_put_time(WbbBuf *out, ReportStatTime *t, uint32_t regs)
{
    double seconds = 0, work = 0, executed = 0, longest = -1, occupancy = 0;
    const char *binds = "";
    for (int i = 0; i < t->n; i++) {
        t->kernels[i].regs = regs;
        const PriceReport r = price_report(out->arena, &t->kernels[i], &t->profiles[i]);
        seconds += r.seconds, work += r.work, executed += r.term[PRICE_ISSUE].amount;
        if (r.seconds <= longest) continue;
        longest = r.seconds;
        binds = r.term[r.binds].name;
        occupancy = (double)r.occupancy.warps / WBB_MAX(r.occupancy.most, 1u);
    }
    wbb_json_putf(out, "us", "%.4f", 1e6 * seconds);
    wbb_json_putf(out, "work", "%.4f", 1e6 * work);
    wbb_json_putf(out, "executed", "%.6g", executed);
    wbb_json_text(out, "binds", binds);
    wbb_json_putf(out, "occupancy", "%.3f", occupancy);
}
