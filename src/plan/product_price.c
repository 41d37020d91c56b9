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
#include "plan/product.h"

#include "layout/counts.h"
#include "layout/rates.h"

#include <math.h>

enum {
    OF_A = 4, OF_B = 2, OF_C = 4, /* registers of a tile */
    ACCESS = 16,                  /* bytes of the widest one */
    /* wavefronts for 128 bytes: lanes of a quarter of a warp have products side by side in two rows, or rows side by
     * side of four products, which are in the same banks; or each element is loaded by itself */
    IN_DEPTH = 2, IN_ROWS = 4, APART = 32,
    LINE = 128, WARP = 32
};

static double number(const TgTarget *t, const char *name) { return (double)tg_tuned(t, name); }

PlanProductNumbers plan_product_numbers(const TgTarget *t)
{
    return (PlanProductNumbers){.regs = number(t, "product.regs"), .slots = number(t, "product.slots"),
                                .chain = number(t, "product.chain"), .ring = number(t, "product.ring"),
                                .copy = number(t, "product.copy"), .parts = number(t, "product.parts"),
                                .row_slots = number(t, "product.row_slots"),
                                .row_chain = number(t, "product.row_chain"),
                                .most_regs = (double)t->regs - number(t, "product.spare")};
}

static int64_t threads_of(const PlanProduct *p) { return (int64_t)32 * plan_tile_warps(p) * p->depth_warps; }

/* Groups of an operand that a thread brings to shared memory in an iteration. */
static double groups_of(const PlanProduct *p, uint32_t operand)
{
    return (double)lay_up(plan_tile(p, operand) / PLAN_GROUP, threads_of(p));
}

/* Registers of a thread: sums, an iteration's operands or those of two, indices; with tiles the operands of a step, and
 * the values that go there. */
static double registers_of(const PlanProduct *p, const PlanProductNumbers *n)
{
    double operands = OF_A * p->row_tiles + OF_B * p->column_tiles;
    if (!p->stages) operands *= p->steps * (p->ahead ? 2 : 1);
    for (uint32_t o = 0; o < 2 && p->stages; o++)
        if (!p->bring[o].copied) operands += groups_of(p, o) * ACCESS / 4;
    return OF_C * plan_sums(p) + operands + n->regs;
}

static int64_t shared_of(const PlanProduct *p)
{
    const int64_t sums = 512 * (int64_t)plan_sums(p) * plan_tile_warps(p) * (p->depth_warps - 1);
    const int64_t rows = p->rows && p->column_warps > 1 ? 4 * p->rows->n * p->column_warps * plan_side(p, 0) : 0;
    return sums + rows + 2 * p->stages * (plan_tile(p, 0) + plan_tile(p, 1));
}

/* Bytes of an element of each output that has one for each result. */
static double bytes_stored(const Plan *plan, const PlanProduct *p)
{
    double bytes = 0;
    for (uint32_t o = 0; o < plan->n_outputs; o++)
        if (hlo_elements(plan->buffers[plan->n_operands + o].shape) >= hlo_elements(p->i->shape))
        bytes += (double)sc_type_info[plan->buffers[plan->n_operands + o].shape->type].bits / 8;
    return bytes;
}

/* The type of the first of these; of the product, where there is none. */
static ScType type_stored(const Plan *plan, const PlanProduct *p)
{
    for (uint32_t o = 0; o < plan->n_outputs; o++) {
        const HloShape *x = plan->buffers[plan->n_operands + o].shape;
        if (hlo_elements(x) >= hlo_elements(p->i->shape)) return x->type;
    }
    return p->i->shape->type;
}

/* What is side by side in memory along the last dimension of an operand. */
typedef enum { OF_BATCHES, OF_DEPTH, OF_SIDE /* its rows, or columns */ } Along;

/* What all choices of tiles have in common. */
typedef struct {
    const LayRates *r;
    PlanProductNumbers n;
    Along along[2];
    double bytes, stored, after; /* of all arrays; of an element of each output; work on a result behind the sum */
    double before[2];            /* work on an element of an operand */
    double run;                  /* bytes that lanes of a row store side by side, each two columns */
} Common;

static Common common_of(WbbArena *a, const Plan *plan, const TgTarget *t, const PlanProduct *p)
{
    const HloDotDims d = hlo_dot_dims(a, p->i);
    const HloInts batch[2] = {d.lhs_batch, d.rhs_batch}, contracting[2] = {d.lhs_contracting, d.rhs_contracting};
    const int64_t *work = plan->element_work;
    Common c = {.r = lay_rates(a, t), .n = plan_product_numbers(t), .bytes = plan_bytes(plan),
                .stored = bytes_stored(plan, p),
                .after = p->rows ? p->row_slots
                                 : (double)WBB_MAX(work[plan->fusion->body->root->id] - work[p->i->id], 0)};
    c.run = PLAN_TILE_COLUMNS * sc_bytes(type_stored(plan, p));
    for (uint32_t o = 0; o < 2; o++) {
        const int64_t minor = p->i->operands[o]->shape->minor_to_major[0];
        c.before[o] = (double)WBB_MIN(work[p->i->operands[o]->id], tg_tuned(t, "product.work"));
        c.along[o] = hlo_holds(batch[o], minor) ? OF_BATCHES : hlo_holds(contracting[o], minor) ? OF_DEPTH : OF_SIDE;
    }
    return c;
}

/* How an iteration loads an operand: bytes of an access, and wavefronts for each 128 bytes. */
typedef struct {
    double access, wavefronts;
} Loads;

/* side: neighbours that a lane has along the rows of the left operand, or the columns of the right one. */
static Loads loads_of(const PlanProduct *p, Along along, uint32_t side)
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

/* What a warp does in an iteration beside its products: wavefronts of L1 and shared memory, instructions; of these to
 * bring tiles, as are before the loop for each place; and on values that it brings, between their load and their store.
 */
typedef struct {
    double wavefronts, slots, brings, values;
} Moved;

/* Operands from memory, as each lane has them. */
static Moved moved_by_lanes(const Common *c, const PlanProduct *p)
{
    Moved m = {0};
    for (uint32_t o = 0; o < 2; o++) {
        const Loads x = loads_of(p, c->along[o], o ? p->column_run : 2 * p->row_tiles);
        const double bytes = 2.0 * (double)(plan_iteration(p) * (o ? plan_warp_columns(p) : plan_warp_rows(p)));
        m.wavefronts += bytes / LINE * x.wavefronts;
        m.slots += 2 * bytes / (x.access * WARP) + c->before[o] * bytes / (2 * WARP);
        if (x.access < ACCESS) m.slots += bytes / LINE; /* halves become words */
    }
    return m;
}

/* Through shared memory: its part of what the block brings, and the fragments. */
static Moved moved_by_tiles(const Common *c, const PlanProduct *p)
{
    Moved m = {.slots = c->n.ring};
    for (uint32_t o = 0; o < 2; o++) {
        const double fragments = 2.0 * (double)(plan_iteration(p) * (o ? plan_warp_columns(p) : plan_warp_rows(p)));
        const double brought = 2.0 * (double)plan_tile(p, o) * WARP / (double)threads_of(p), groups = groups_of(p, o);
        m.wavefronts += (fragments + brought) / LINE;
        m.slots += fragments / (ACCESS * WARP);
        m.brings += groups * c->n.copy;
        if (p->bring[o].copied) continue;
        const bool apart = c->along[o] == OF_BATCHES; /* each element is loaded by itself */
        const double lines = WBB_MAX((double)WARP * PLAN_GROUP / (double)plan_line(p, o), ACCESS * WARP / LINE);
        m.wavefronts += groups * (apart ? PLAN_GROUP * WARP : lines); /* each line is one of memory at least */
        m.values += groups * PLAN_GROUP * (1 + c->before[o]) + groups * (apart ? 3 * PLAN_GROUP : 1);
    }
    m.brings += m.values;
    m.slots += m.brings;
    return m;
}

/* Clocks of a warp alone for an iteration: it waits for what it has loaded, or copied so many iterations ago, and for
 * its products. */
static double chain_of(const Common *c, const PlanProduct *p, const Moved *m, double tensor, double way)
{
    const LayRates *r = c->r;
    const double work = tensor * tg_schedulers(r->target) + r->alu * c->n.chain;
    const double wait = way + m->wavefronts * LINE / r->wavefront;
    if (p->stages && m->values > 0) return WBB_MAX(wait, work) + m->values + r->barrier + r->shared_latency;
    if (p->stages) return WBB_MAX(wait / (p->stages - 1), work) + r->barrier + r->shared_latency;
    return p->ahead ? WBB_MAX(wait, work) : wait + work;
}

/* Sums through shared memory, and through memory: a ticket each time SMs are filled, then so many parts at once. */
static double split_of(const Common *c, const PlanProduct *p, double waves)
{
    const LayRates *r = c->r;
    double clocks = 0, us = 0;
    if (p->depth_warps > 1) clocks += r->barrier + 2 * r->shared_latency + p->depth_warps * plan_sums(p) * c->n.parts;
    if (p->depth_blocks > 1) {
        const double rounds = lay_ceiling((double)p->depth_blocks * plan_sums(p) / PLAN_AT_ONCE);
        clocks += 2 * r->barrier + r->atomic + r->fence + rounds * r->l2_latency;
        us = r->timed.ticket * lay_ceiling(waves);
    }
    return clocks / r->clock + us;
}

/* Statistics of rows: terms, and what lanes, warps and blocks combine; of each SM's blocks that run at once. */
static double rows_of(const Common *c, const PlanProduct *p, double of_sm, double waves)
{
    const LayRates *r = c->r;
    if (!p->rows) return 0;
    const double results = (double)(plan_side(p, 0) * plan_side(p, 1)), n = 2 * p->row_tiles * p->rows->n;
    const double slots = results / WARP * p->row_slots + plan_tile_warps(p) * n * (p->column_warps + c->n.row_slots);
    double clocks = of_sm * slots / r->issue, us = 0;
    const double rounds = lay_ceiling((double)p->column_blocks / (4 * PLAN_AT_ONCE)); /* of four lanes */
    clocks += lay_ceiling(waves) * p->rows->passes * (c->n.row_chain * r->alu + 2 * r->shared_latency);
    if (p->column_warps > 1) clocks += lay_ceiling(waves) * p->rows->passes * (r->barrier + r->shared_latency);
    if (p->column_blocks > 1) {
        clocks += 2 * r->barrier + r->atomic + r->fence + rounds * r->l2_latency;
        us = r->timed.ticket * lay_ceiling(waves);
    }
    return clocks / r->clock + us;
}

void plan_add_up_product(const LayRates *r, LayPrice *x)
{
    const LayTerm together[] = {LAY_DRAM, LAY_L2, LAY_PIPE, LAY_L1, LAY_ISSUE, LAY_CHAIN};
    double terms[WBB_LEN(together)];
    x->term[LAY_LAUNCH] = r->launch;
    x->term[LAY_LATENCY] = r->dram_latency / r->clock;
    for (size_t k = 0; k < WBB_LEN(together); k++) terms[k] = x->term[together[k]];
    x->us = x->term[LAY_LAUNCH] + x->term[LAY_LATENCY] + x->term[LAY_CODE] + x->term[LAY_SPLIT] +
            price_together(terms, WBB_LEN(terms), r->norm);
    x->plain = x->us;
}

static LayPrice price_of(const Common *c, const PlanProduct *p)
{
    const LayRates *r = c->r;
    const TgTarget *t = r->target;
    const double warps = plan_tile_warps(p) * p->depth_warps;
    const double blocks = (double)plan_blocks(p), regs = registers_of(p, &c->n);
    const double iterations = (double)lay_up(plan_depth(p), plan_iteration(p)) / p->depth_warps;
    const PriceOccupancy held =
        price_occupancy(t, (uint64_t)threads_of(p), (uint64_t)blocks, (uint64_t)regs, (uint64_t)shared_of(p));
    const double of_sm = (double)lay_up((int64_t)blocks, t->sms); /* blocks of the busiest SM */
    const double at_once = WBB_MIN(of_sm, held.blocks) * warps;
    const double products = plan_sums(p) * p->steps, tensor = products * t->warp / tg_rate(t, "pipe.tensor")->value;
    const Moved moved = p->stages ? moved_by_tiles(c, p) : moved_by_lanes(c, p);
    const double slots = products + moved.slots + c->n.slots;
    const double all = of_sm * warps * iterations; /* iterations of the busiest SM */
    const double of_block = (double)(plan_side(p, 0) + plan_side(p, 1));
    /* where all blocks run at once, what an iteration loads comes from DRAM for all of them */
    const double way = of_sm <= held.blocks ? r->dram_latency : r->l2_latency;
    const double of_results = (double)(plan_side(p, 0) * plan_side(p, 1)); /* of a block */
    const double left = p->depth_blocks > 1 ? OF_C * blocks * of_results : 0; /* bytes, for the last one */
    /* the body, and what follows for each result of a lane */
    const double code = slots + p->stages * moved.brings + OF_C * plan_sums(p) * (2 + c->after);
    LayPrice x = {.registers = regs};
    x.term[LAY_CODE] = TG_CODE * code / (r->code.rate * r->clock);
    x.term[LAY_PIPE] = all * tensor / r->clock;
    const double stored = of_results * c->stored / p->depth_blocks, all_stored = blocks * stored;
    const bool runs = plan_in_a_row(p), parts = runs && c->run < TG_SECTOR; /* L2 has each sector twice */
    x.term[LAY_DRAM] = (c->bytes + (parts ? price_parts(t).more * all_stored : 0)) / r->dram;
    x.term[LAY_L2] = (blocks * 2 * (double)plan_depth(p) * of_block + 2 * left + (1 + parts) * all_stored) / r->l2;
    x.term[LAY_L1] = (all * moved.wavefronts * LINE + of_sm * stored * (runs ? LINE / c->run : IN_DEPTH)) /
                      r->wavefront / r->clock;
    x.term[LAY_ISSUE] = all * slots / r->issue / r->clock;
    x.term[LAY_CHAIN] = all / at_once * chain_of(c, p, &moved, tensor, way) / r->clock;
    x.term[LAY_SPLIT] = split_of(c, p, of_sm / held.blocks) + rows_of(c, p, of_sm, of_sm / held.blocks);
    plan_add_up_product(r, &x);
    return x;
}

/* What all ways are held against. */
typedef struct {
    Common c;
    const TgTarget *t;
    int64_t threads, shared, tiles; /* of a block: threads, bytes of shared memory for sums, and for tiles */
    int64_t blocks;                 /* of an SM, of which several may share results */
    uint32_t run; /* neighbours that one store takes, so that the lanes of a row fill sectors with it */
} Limits;

/* Blocks of these tiles; false: no block may have them. */
static bool divide(PlanProduct *p, const Limits *l, int64_t most_shared)
{
    const int64_t warps = plan_tile_warps(p) * p->depth_warps, all = p->stages ? plan_tile_depth(p) : plan_iteration(p);
    const int64_t whole = plan_depth(p) / all;
    if (p->of.depth % (p->depth_blocks * (p->depth_blocks > 1 ? plan_tile_depth(p) : 1))) return false;
    if (warps * l->t->warp > l->threads || registers_of(p, &l->c.n) > l->c.n.most_regs) return false;
    if (p->ahead && whole / p->depth_warps < 2) return false;
    if ((p->depth_warps > 1 || p->stages || p->rows) && shared_of(p) > most_shared) return false;
    if (p->depth_warps > 1 && !p->stages && (plan_depth(p) % all || whole % p->depth_warps)) return false;
    if (p->stages && (p->column_tiles < 2 || whole < p->stages)) return false;
    p->row_blocks = lay_up(p->of.rows, plan_warp_rows(p) * p->row_warps);
    p->column_blocks = lay_up(p->of.columns, plan_warp_columns(p) * p->column_warps);
    if (p->rows && p->whole && p->column_blocks > 1) return false;
    /* all warps combine what they have of a row, so all must have results */
    if (p->rows && p->depth_warps > 1 && (p->column_warps > 1 || p->column_blocks > 1)) return false;
    return true;
}

/* What of the ways to bring operands is tried: loads when they are needed, loads before, warps that share results, and
 * tiles in shared memory. */
typedef struct {
    bool ahead;
    uint32_t depth_warps, stages, most_steps;
} Way;

static const Way ways[] = {{false, 1, 0, 2}, {false, 2, 0, 2}, {false, 4, 0, 2}, {false, 8, 0, 2},
                           {true, 1, 0, 2},  {true, 2, 0, 2},  {true, 4, 0, 2},  {true, 8, 0, 2},
                           {false, 1, 2, 4}, {false, 1, 3, 4}, {false, 1, 4, 4}, {false, 2, 2, 4},
                           {false, 2, 4, 4}, {false, 4, 2, 4}, {false, 4, 4, 4}, {false, 8, 3, 4}};

/* Takes the cheapest of all numbers of tiles and warps, where that is less than what `price` has. */
static void try_way(const Limits *l, const Way *w, const PlanProduct *of, PlanProduct *best, LayPrice *price)
{
    static const uint32_t counts[] = {1, 2, 4, 8};
    enum { ROWS = 3, COLUMNS = 4, STEPS = 3, WARPS = 3, ALL = ROWS * COLUMNS * STEPS * WARPS * WARPS };
    for (uint32_t k = 0; k < ALL; k++) {
        PlanProduct one = *of;
        uint32_t rest = k;
        one.row_tiles = counts[rest % ROWS], rest /= ROWS;
        one.column_tiles = counts[rest % COLUMNS], rest /= COLUMNS;
        one.steps = counts[rest % STEPS], rest /= STEPS;
        one.row_warps = counts[rest % WARPS], rest /= WARPS;
        one.column_warps = counts[rest];
        one.ahead = w->ahead, one.depth_warps = w->depth_warps, one.stages = w->stages;
        one.column_run = WBB_MIN(one.column_tiles, l->run);
        const int64_t shared = w->stages ? l->tiles : l->shared;
        for (one.depth_blocks = 1; one.steps <= w->most_steps; one.depth_blocks *= 2) {
            if (!divide(&one, l, shared)) break;
            if (one.depth_blocks > 1 && plan_blocks(&one) > l->blocks * l->t->sms) break;
            const LayPrice x = price_of(&l->c, &one);
            if (x.us < price->us) *price = x, *best = one;
        }
    }
}

void plan_product_choose(WbbArena *a, const Plan *plan, const TgTarget *t, PlanProduct *p, LayPrice *price)
{
    const ScType stored = type_stored(plan, p);
    const uint32_t direct = (uint32_t)tg_tuned(t, "product.direct");
    const Limits l = {.c = common_of(a, plan, t, p), .t = t, .threads = tg_tuned(t, "product.threads"),
                      .shared = tg_tuned(t, "layout.max_shared"),
                      .blocks = tg_tuned(t, "product.blocks"),
                      .tiles = tg_has(t, "cp.async") ? tg_tuned(t, "product.shared") : 0,
                      .run = (uint32_t)lay_power_below(WBB_MAX(ACCESS / sc_bytes(stored), 1))};
    p->shared = tg_tune(t, "product.shared", 0), p->split = tg_tune(t, "product.blocks", 0);
    const PlanProduct of = *p;
    price->us = INFINITY;
    for (const Way *w = ways; w < ways + WBB_LEN(ways); w++)
        if (w->stages ? l.tiles > 0 : w->depth_warps <= direct) try_way(&l, w, &of, p, price);
    if (price->us == INFINITY && !p->rows) try_way(&l, ways, &of, p, price);
}
