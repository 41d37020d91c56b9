/* product_price.c: the time of a product of matrices by tensor cores, in closed form, for each choice of tiles.
 *
 * Needs the sizes of a product; leaves the tiles, warps and blocks that take the least time, and the price.
 *
 * Terms that overlap are the tensor cores' and the issue slots of the busiest SM, the wavefronts of L1 for what warps
 * load, the bytes that blocks ask L2 for, those of arrays that memory has, and the chain: an iteration waits for its
 * loads and for its products, one after the other or, where it loads ahead, for the longer of both, and the other warps
 * of an SM work meanwhile.
 *
 *     bf16[4096,4096] x bf16[4096,4096], sm_90:  64 x 64 a warp, 8 warps
 */
#include "partition/product.h"

#include "partition/rates.h"

#include <math.h>

enum {
    OF_A = 4, OF_B = 2, OF_C = 4, /* registers of a tile */
    OTHERS = 40,                  /* of indices and addresses */
    ACCESS = 16,                  /* bytes of the widest one */
    /* wavefronts for 128 bytes: lanes of a quarter of a warp have products side by side in two rows, or rows side by
     * side of four products, which are in the same banks; or each element is loaded by itself */
    IN_DEPTH = 2, IN_ROWS = 4, APART = 32,
    SLOTS = 12                    /* of an iteration, beside loads and products */
};

/* Registers of a thread: sums, an iteration's operands or those of two, indices. */
static double registers_of(const PartProduct *p)
{
    const uint32_t iteration = (OF_A * p->row_tiles + OF_B * p->column_tiles) * p->steps;
    return OF_C * part_sums(p) + iteration * (p->ahead ? 2 : 1) + OTHERS;
}

/* Bytes of an element of each output. */
static double bytes_stored(const PartPlan *plan)
{
    double bytes = 0;
    for (uint32_t o = 0; o < plan->n_outputs; o++)
        bytes += (double)sc_type_info[plan->buffers[plan->n_operands + o].shape->type].bits / 8;
    return bytes;
}

/* What is side by side in memory along the last dimension of an operand. */
typedef enum { OF_BATCHES, OF_DEPTH, OF_SIDE /* its rows, or columns */ } Along;

/* What all choices of tiles have in common. */
typedef struct {
    const PartRates *r;
    Along along[2];
    double bytes, stored, after; /* of all arrays; of an element of each output; work on a result behind the sum */
} Common;

static Common common_of(WbbArena *a, const PartPlan *plan, const TgTarget *t, const PartProduct *p)
{
    const HloDotDims d = hlo_dot_dims(a, p->i);
    const HloInts batch[2] = {d.lhs_batch, d.rhs_batch}, contracting[2] = {d.lhs_contracting, d.rhs_contracting};
    const int64_t *work = plan->element_work;
    Common c = {.r = part_rates(a, t), .bytes = part_bytes(plan), .stored = bytes_stored(plan),
                .after = (double)WBB_MAX(work[plan->fusion->body->root->id] - work[p->i->id], 0)};
    for (uint32_t o = 0; o < 2; o++) {
        const int64_t minor = p->i->operands[o]->shape->minor_to_major[0];
        c.along[o] = hlo_holds(batch[o], minor) ? OF_BATCHES : hlo_holds(contracting[o], minor) ? OF_DEPTH : OF_SIDE;
    }
    return c;
}

/* How an iteration loads an operand: bytes of an access, and wavefronts for each 128 bytes. */
typedef struct {
    double access, wavefronts;
} Loads;

/* side: neighbours that a lane has along the rows of the left operand, or the columns of the right one. */
static Loads loads_of(const PartProduct *p, Along along, uint32_t side)
{
    const double bytes = sc_bytes(p->i->operands[0]->shape->type); /* of both */
    if (along == OF_BATCHES) return (Loads){bytes, APART};
    if (along == OF_DEPTH) {
        const double access = WBB_MIN((double)ACCESS, 4 * p->steps * bytes);
        return (Loads){access, IN_DEPTH * ACCESS / access};
    }
    const double access = WBB_MIN((double)ACCESS, side * bytes);
    return (Loads){access, IN_ROWS * WBB_MAX(1, 4 / access)};
}

static PartPrice price_of(const Common *c, const PartProduct *p)
{
    const PartRates *r = c->r;
    const TgTarget *t = r->target;
    const double warps = part_tile_warps(p) * p->depth_warps;
    const double blocks = (double)(p->of.batches * p->row_blocks * p->column_blocks), regs = registers_of(p);
    const double iterations = (double)part_up(p->of.depth, part_iteration(p)) / p->depth_warps;
    const PriceOccupancy held = price_occupancy(t, (uint64_t)warps * t->warp, (uint64_t)blocks, (uint64_t)regs, 0);
    const double of_sm = (double)part_up((int64_t)blocks, t->sms); /* blocks of the busiest SM */
    const double at_once = WBB_MIN(of_sm, held.blocks) * warps;
    /* of a warp's iteration: bytes, accesses, wavefronts, clocks of tensor cores, slots */
    const double products = part_sums(p) * p->steps, tensor = products * t->warp / tg_rate(t, "pipe.tensor")->value;
    double all_bytes = 0, accesses = 0, wavefronts = 0;
    for (uint32_t o = 0; o < 2; o++) {
        const Loads x = loads_of(p, c->along[o], o ? p->column_run : 2 * p->row_tiles);
        const double bytes = 2.0 * (double)(part_iteration(p) * (o ? part_warp_columns(p) : part_warp_rows(p)));
        all_bytes += bytes;
        accesses += bytes / (x.access * t->warp);
        wavefronts += bytes / 128 * x.wavefronts;
    }
    /* halves of other accesses than those side by side in the depth become words */
    const double packs = accesses * ACCESS * t->warp > all_bytes ? all_bytes / 128 : 0;
    const double slots = products + 2 * accesses + packs + SLOTS;
    const double all = of_sm * warps * iterations; /* iterations of the busiest SM */
    const double of_block = (double)(p->row_warps * part_warp_rows(p) + p->column_warps * part_warp_columns(p));
    /* where all blocks run at once, what an iteration loads comes from DRAM for all of them */
    const double way = of_sm <= held.blocks ? r->dram_latency : r->l2_latency;
    const double wait = way + wavefronts * 128 / r->wavefront, work = tensor * tg_schedulers(t) + r->alu * 8;
    /* the body, and what follows for each result of a lane */
    const double code = slots + OF_C * part_sums(p) * (2 + c->after);
    PartPrice x = {.registers = regs};
    x.term[PART_CODE] = TG_CODE * code / (r->code.rate * r->clock);
    x.term[PART_DRAM] = c->bytes / r->dram;
    x.term[PART_L2] = blocks * 2 * (double)p->of.depth * of_block / r->l2;
    x.term[PART_PIPE] = all * tensor / r->clock;
    const double results = of_sm * part_tile_warps(p) * (double)(part_warp_rows(p) * part_warp_columns(p));
    const double stored = results * c->stored;
    x.term[PART_L1] = (all * wavefronts * 128 + IN_DEPTH * stored) / r->wavefront / r->clock;
    x.term[PART_ISSUE] = all * slots / r->issue / r->clock;
    x.term[PART_CHAIN] = all / at_once * (p->ahead ? WBB_MAX(wait, work) : wait + work) / r->clock;
    if (p->depth_warps > 1) /* sums through shared memory */
        x.term[PART_SPLIT] = (r->barrier + 2 * r->shared_latency + p->depth_warps * part_sums(p) * 8) / r->clock;
    x.term[PART_LAUNCH] = r->launch;
    x.term[PART_LATENCY] = r->dram_latency / r->clock;
    const PartTerm together[] = {PART_DRAM, PART_L2, PART_PIPE, PART_L1, PART_ISSUE, PART_CHAIN};
    double terms[WBB_LEN(together)];
    for (size_t k = 0; k < WBB_LEN(together); k++) terms[k] = x.term[together[k]];
    x.us = x.term[PART_LAUNCH] + x.term[PART_LATENCY] + x.term[PART_CODE] + x.term[PART_SPLIT] +
           price_together(terms, WBB_LEN(terms), r->norm);
    x.plain = x.us;
    return x;
}

/* Blocks of these tiles; false: no block may have them. */
static bool divide(PartProduct *p, const TgTarget *t, int64_t most_threads, int64_t most_shared)
{
    const int64_t warps = part_tile_warps(p) * p->depth_warps, whole = p->of.depth / part_iteration(p);
    if (warps * t->warp > most_threads || registers_of(p) > (double)t->regs - 15) return false;
    if (p->ahead && whole / p->depth_warps < 2) return false;
    const int64_t shared = 512 * (int64_t)part_sums(p) * part_tile_warps(p) * (p->depth_warps - 1);
    if (p->depth_warps > 1 && (p->of.depth % part_iteration(p) || whole % p->depth_warps || shared > most_shared))
        return false;
    p->row_blocks = part_up(p->of.rows, part_warp_rows(p) * p->row_warps);
    p->column_blocks = part_up(p->of.columns, part_warp_columns(p) * p->column_warps);
    return true;
}

void part_product_choose(WbbArena *a, const PartPlan *plan, const TgTarget *t, PartProduct *p, PartPrice *price)
{
    static const uint32_t counts[] = {1, 2, 4, 8};
    enum {
        ROWS = 3, COLUMNS = 4, STEPS = 2, WARPS = 3, DEPTHS = 4,
        ALL = ROWS * COLUMNS * STEPS * WARPS * WARPS * DEPTHS * 2
    };
    const Common c = common_of(a, plan, t, p);
    const int64_t most_threads = tg_tuned(t, "product.threads"), most_shared = tg_tuned(t, "layout.max_shared");
    /* neighbours that one store takes, so that the lanes of a row fill sectors with it */
    const ScType stored = plan->buffers[plan->n_operands].shape->type;
    const uint32_t most_run = (uint32_t)part_power_below(WBB_MAX(ACCESS / sc_bytes(stored), 1));
    PartProduct one = *p;
    price->us = INFINITY;
    for (uint32_t k = 0; k < ALL; k++) {
        uint32_t rest = k;
        one.row_tiles = counts[rest % ROWS], rest /= ROWS;
        one.column_tiles = counts[rest % COLUMNS], rest /= COLUMNS;
        one.steps = counts[rest % STEPS], rest /= STEPS;
        one.row_warps = counts[rest % WARPS], rest /= WARPS;
        one.column_warps = counts[rest % WARPS], rest /= WARPS;
        one.depth_warps = counts[rest % DEPTHS], rest /= DEPTHS;
        one.ahead = rest;
        one.column_run = WBB_MIN(one.column_tiles, most_run);
        if (!divide(&one, t, most_threads, most_shared)) continue;
        const PartPrice x = price_of(&c, &one);
        if (x.us < price->us) *price = x, *p = one;
    }
}
