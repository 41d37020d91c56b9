/* attention_price.c: the time of two products of matrices in one kernel, in closed form, for each choice of tiles.
 *
 * Needs the sizes of both products, and the work on a score in each pass; leaves the tiles and warps that take the
 * least time, and the price.
 *
 * Terms that overlap are the tensor cores', the unit of exponentials', the issue slots of the busiest SM, wavefronts of
 * shared memory, the bytes that blocks ask L2 for, those of arrays that memory has, and the chain: a tile is a barrier,
 * fragments, products, and what follows for its scores, one after the other, while other warps of the SM work.
 *
 *     f16[128,2048,64], sm_90:  4 warps of 32 rows, tiles of 64 columns in 2 places
 */
#include "plan/attention.h"
#include "layout/counts.h"
#include "layout/rates.h"

#include <math.h>

enum {
    OF_A = 4, OF_C = 4, /* registers of a tile */
    WARP = 32, ACCESS = 16
};

/* What all choices of tiles have in common. */
typedef struct {
    const LayRates *r;
    PlanProductNumbers n; /* .regs, .slots, .chain: of attention */
    double result;        /* issue slots of one */
} Common;

static int64_t up(int64_t n, int64_t to) { return lay_up(n, to) * to; }
/* Products of a score, columns of results, as tiles have them. */
static int64_t depth_of(const PlanAttention *t) { return up(t->of[0].of.depth, PLAN_TILE_DEPTH); }
static int64_t width_of(const PlanAttention *t) { return up(plan_width_of(t), 2 * PLAN_TILE_COLUMNS); }

static double groups_of(const PlanAttention *t, uint32_t product)
{
    const int64_t side = product ? width_of(t) : depth_of(t);
    return (double)lay_up(side * t->keys / PLAN_GROUP, (int64_t)WARP * t->warps);
}

static bool is_copied(const PlanAttention *t, uint32_t product)
{
    return t->of[product].bring[plan_brought(t, product)].copied;
}

static double registers_of(const PlanAttention *t, double others)
{
    double x = others + OF_A * t->row_tiles * (double)depth_of(t) / PLAN_TILE_DEPTH;
    x += OF_C * t->row_tiles * (double)(t->keys + width_of(t)) / PLAN_TILE_COLUMNS;
    x += 2 * 2 * t->row_tiles * (double)t->rows.n;
    for (uint32_t k = 0; k < 2; k++)
        if (!is_copied(t, k)) x += groups_of(t, k) * ACCESS / 4;
    return x;
}

static int64_t shared_of(const PlanAttention *t) { return 2 * t->stages * t->keys * (depth_of(t) + width_of(t)); }

/* The part of the tiles of which a warp has scores. */
static double seen_of(const PlanAttention *t)
{
    const int64_t rows = (int64_t)PLAN_TILE_ROWS * t->row_tiles, tiles = lay_up(plan_columns_of(t), t->keys);
    const int64_t warps = lay_up(plan_rows_of(t), rows);
    double sum = 0;
    for (int64_t w = 0; w < warps && t->causal; w++)
        sum += (double)WBB_MIN(WBB_MAX((w + 1) * rows - 1 + t->reach, 0) / t->keys + 1, tiles);
    return t->causal ? sum / ((double)warps * (double)tiles) : 1;
}

static LayPrice price_of(const Plan *plan, const Common *c, const PlanAttention *t)
{
    const LayRates *r = c->r;
    const TgTarget *target = r->target;
    const double rows = PLAN_TILE_ROWS * t->row_tiles, passes = t->rows.passes + 1; /* rows: of a warp */
    const double blocks = (double)plan_attention_blocks(t), regs = registers_of(t, c->n.regs);
    const double tiles = (double)lay_up(plan_columns_of(t), t->keys), keys = (double)t->keys;
    const double depth = (double)depth_of(t), width = (double)width_of(t);
    const PriceOccupancy held = price_occupancy(target, (uint64_t)t->warps * WARP, (uint64_t)blocks, (uint64_t)regs,
                                                (uint64_t)shared_of(t));
    const double of_sm = (double)lay_up((int64_t)blocks, target->sms) * t->warps; /* warps of the busiest SM */
    const double at_once = WBB_MIN(of_sm, (double)held.blocks * t->warps);
    /* of a warp, in all tiles of all passes */
    const double seen = seen_of(t), along = seen * passes * depth + width;
    const double products = t->row_tiles * keys * along / (PLAN_TILE_COLUMNS * PLAN_TILE_DEPTH);
    const double tensor = products * target->warp / tg_rate(target, "pipe.tensor")->value;
    const double fragments = 2 * keys * along; /* bytes */
    const double brought = fragments / t->warps;
    const double scores = seen * rows * keys / WARP; /* of a lane */
    double slots = products + passes * c->n.slots + fragments / (ACCESS * WARP), special = 0;
    for (uint32_t k = 0; k < 2; k++)
        slots += (k ? 1 : passes) * groups_of(t, k) * (is_copied(t, k) ? c->n.copy : PLAN_GROUP * 2);
    for (uint32_t k = 0; k <= t->rows.passes; k++) {
        slots += scores * t->work[k].slots;
        special += scores * t->work[k].special;
    }
    const double all = of_sm * tiles; /* of these, on the busiest SM */
    const double results = rows * width / WARP;
    const double chain = tensor * tg_schedulers(target) + slots + passes * (r->barrier + 4 * r->shared_latency) +
                         passes * r->alu * c->n.chain;
    LayPrice x = {.registers = regs};
    x.term[LAY_CODE] = TG_CODE * (slots + results * c->result) / (r->code.rate * r->clock);
    const double pipe = WBB_MAX(tensor, special * target->warp / tg_rate(target, "pipe.xu")->value);
    x.term[LAY_PIPE] = all * pipe / r->clock;
    x.term[LAY_DRAM] = plan_bytes(plan) / r->dram;
    x.term[LAY_L2] = (blocks * tiles * brought * t->warps + plan_bytes(plan)) / r->l2;
    x.term[LAY_L1] = all * (fragments + brought) / r->wavefront / r->clock;
    x.term[LAY_ISSUE] = (all * slots + of_sm * results * c->result) / r->issue / r->clock;
    x.term[LAY_CHAIN] = all / at_once * chain / r->clock;
    plan_add_up_product(r, &x);
    return x;
}

/* What tiles and warps make of both products. */
static void divide(PlanAttention *t)
{
    for (uint32_t k = 0; k < 2; k++) {
        PlanProduct *p = &t->of[k];
        p->row_tiles = t->row_tiles, p->row_warps = t->warps, p->column_warps = p->depth_warps = p->depth_blocks = 1;
        p->column_run = 1, p->stages = t->stages;
        p->column_tiles = (uint32_t)((k ? width_of(t) : t->keys) / PLAN_TILE_COLUMNS);
        p->steps = (uint32_t)((k ? t->keys : depth_of(t)) / PLAN_TILE_DEPTH);
    }
    t->row_blocks = lay_up(plan_rows_of(t), plan_block_rows(t));
}

bool plan_attention_choose(WbbArena *a, const Plan *plan, const TgTarget *target, PlanAttention *t,
                           LayPrice *price)
{
    Common c = {.r = lay_rates(a, target), .n = plan_product_numbers(target),
                .result = (double)tg_tuned(target, "attention.result")};
    const PlanAttention of = *t;
    c.n.regs = (double)tg_tuned(target, "attention.regs");
    c.n.slots = (double)tg_tuned(target, "attention.slots");
    c.n.chain = (double)tg_tuned(target, "attention.chain");
    price->us = INFINITY;
    for (uint32_t k = 0; k < 2 * 4 * 4 * 3; k++) {
        PlanAttention one = of;
        one.row_tiles = 1 + k % 2, one.warps = 1u << k / 2 % 4, one.keys = PLAN_TILE_DEPTH << k / 8 % 4;
        one.stages = 2 + k / 32;
        divide(&one);
        if (one.warps * WARP > tg_tuned(target, "product.threads") || registers_of(&one, c.n.regs) > c.n.most_regs ||
            shared_of(&one) > one.shared->value || one.keys > plan_columns_of(&one))
            continue;
        const LayPrice x = price_of(plan, &c, &one);
        if (x.us < price->us) *price = x, *t = one;
    }
    return price->us < INFINITY;
}
