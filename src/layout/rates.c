/* rates.c: reads the rates of a target and the tuned numbers of patterns/layouts.py.
 *
 *     LayRates r = *lay_rates(arena, target);   r.dram of sm_90: 4.6e6 bytes a microsecond
 */
#include "layout/rates.h"

enum { BLOCK_RUNS = 3 };
static const char *const run_name[BLOCK_RUNS] = {"layout.run.32", "layout.run.64", "layout.run.128"};
static const char *const warp_run_name[LAY_RUNS] = {"layout.warp_run.32", "layout.warp_run.64", "layout.warp_run.128",
                                                    "layout.warp_run.256", "layout.warp_run.512"};

static double rate(const TgTarget *t, const char *name) { return tg_rate(t, name)->value; }
static double number(const TgTarget *t, const char *name) { return (double)tg_tuned(t, name); }

static LayCode code_of(const TgTarget *t)
{
    return (LayCode){
        .rate = rate(t, "sm.code"), .access = number(t, "layout.code.access") / 100,
        .mask = number(t, "layout.code.mask") / 100, .term = number(t, "layout.code.term") / 100,
        .combine = number(t, "layout.code.combine") / 100,
        .shuffle = number(t, "layout.code.shuffle") / 100, .store = number(t, "layout.code.store") / 100,
        .carried = number(t, "layout.code.carried") / 100, .array = number(t, "layout.code.array"),
        .digit = number(t, "layout.code.digit") / 100, .warps = number(t, "layout.code.warps"),
        .split = number(t, "layout.code.split"), .repeated = number(t, "layout.code.repeated"),
    };
}

static LayTimed timed_of(const TgTarget *t)
{
    return (LayTimed){
        .stay = number(t, "layout.stay"), .again = number(t, "layout.again") / 100,
        .repeat = number(t, "layout.repeat"), .ticket = number(t, "layout.ticket") * 1e-3,
        .l2 = number(t, "layout.part.l2") / 100,
        .issue = number(t, "layout.part.issue") / 100, .pipe = number(t, "layout.part.pipe") / 100,
        .code = number(t, "layout.part.code") / 100, .tail = number(t, "layout.part.tail") / 100,
    };
}

const LayRates *lay_rates(WbbArena *a, const TgTarget *t)
{
    LayRates *r = WBB_NEW(a, LayRates);
    *r = (LayRates){
        .target = t, .clock = rate(t, "clock") * 1e-6, .dram = rate(t, "dram") * 1e-6, .l2 = rate(t, "l2") * 1e-6,
        .l2_kept = price_l2_kept(t), .launch = rate(t, "launch") * 1e6, .wavefront = rate(t, "l1.wavefront"),
        .fill = rate(t, "sm.fill"), .in_flight = number(t, "layout.in_flight"), .issue = rate(t, "issue"),
        .shuffle = t->warp / rate(t, "pipe.shuffle"),
        .redux = tg_has(t, "redux") ? t->warp / rate(t, "pipe.redux") : 0,
        .redux_latency = tg_has(t, "redux") ? rate(t, "latency.redux") : 0,
        .lsu = t->warp / rate(t, "pipe.lsu"), .alu = rate(t, "latency.alu"), .l1_latency = rate(t, "latency.l1"),
        .l2_latency = rate(t, "latency.l2"), .dram_latency = rate(t, "latency.dram"),
        .cluster_latency = tg_has(t, "cluster") ? rate(t, "latency.cluster") : 0,
        .shared_latency = rate(t, "latency.shared"), .shuffle_latency = rate(t, "latency.shuffle"),
        .barrier = rate(t, "latency.barrier"), .atomic = rate(t, "latency.atomic"),
        .access_slots = number(t, "layout.slots.access"), .thread_slots = number(t, "layout.slots.thread"),
        .thread_chain = number(t, "layout.chain.thread"), .presence_chain = number(t, "layout.chain.presence"),
        .iteration_slots = number(t, "layout.slots.iteration"), .mask_slots = number(t, "layout.slots.mask"),
        .exchange_mask = number(t, "exchange.mask"), .address_slots = number(t, "exchange.address"),
        .packed_slots = number(t, "exchange.packed"),
        .base_regs = number(t, "layout.regs.base"), .transient = number(t, "layout.regs.once"),
        .fence = number(t, "layout.fence"), .l1_bytes = number(t, "layout.l1_bytes"),
        .code = code_of(t), .timed = timed_of(t), .blocks = rate(t, "blocks"),
        .atomics = rate(t, "atomics"),
        .parts = price_parts(t),
        .cluster = number(t, "layout.cluster.wave") * 1e-3, .few_warps = number(t, "layout.few_warps") / 100,
        .few_latency = number(t, "layout.few_latency") / 100,
        .norm = (int)number(t, "price.norm"), .norm_together = (int)number(t, "price.norm.together"),
        .norm_apart = (int)number(t, "price.norm.apart"), .busy_warps = number(t, "layout.busy_warps"),
        .few_blocks = number(t, "layout.few_blocks") / 100,
    };
    for (int k = 0; k < LAY_RUNS; k++) r->warp_run[k] = number(t, warp_run_name[k]) / 100;
    for (int k = 0; k < LAY_RUNS; k++) r->run[k] = k < BLOCK_RUNS ? number(t, run_name[k]) / 100 : 1;
    return r;
}
