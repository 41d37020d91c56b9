/* block: runs the warps of a block, and the blocks of a cluster, in rounds.
 *
 * Needs: a launch set up by run.c. Leaves: memory and registers as the block left them, counts and faults.
 *
 * Where no warp can wait for another, one register file serves all warps, one after the other. Else, and in a profile
 * (profile.c), every warp has its own and runs until it waits, yields or ends. turns.c asks for rounds over all warps;
 * if no warp can run, the block is in deadlock.
 *
 *     two warps and a bar.sync: warp 0 to the barrier, warp 1 to the barrier, warp 0 to its end, warp 1 to its end
 */
#include "sim/inner.h"

static void special(const Block *b, uint8_t *regs, int which, uint64_t value, int width)
{
    if (b->m->special[which]) sim_fill(regs + b->m->special[which], value, width);
}

/* Columns that hold the same in every block. */
static void fill_constants(const Block *b, uint8_t *regs, const uint8_t *params)
{
    const uint64_t noise = b->options->ulp_noise ? b->options->seed * 2 + 1 : 0;
    const uint64_t fixed = (b->m->shared_bytes + b->m->shared_align - 1) / b->m->shared_align * b->m->shared_align;
    memcpy(regs, &noise, sizeof noise);
    for (uint32_t i = 0; i < b->m->consts.n; i++) {
        const SimConst *c = &b->m->consts.items[i];
        uint64_t v = c->value;
        if (c->from == 1) {
            v = 0;
            if (c->value + c->width <= b->entry->param_bytes) memcpy(&v, params + c->value, c->width);
        } else if (c->from == 2) {
            v = fixed;
        } else if (c->from == 3) {
            v = c->value < b->entry->param_bytes ? params[c->value] : 0;
        }
        sim_fill(regs + c->col, v, c->width);
    }
    for (int i = 0; i < 3; i++) {
        special(b, regs, SP_NTID_X + i, b->launch->block[i], 4);
        special(b, regs, SP_NCTAID_X + i, b->launch->grid[i], 4);
        special(b, regs, SP_NCLUSTERID_X + i, b->launch->grid[i] / b->launch->cluster[i], 4);
        special(b, regs, SP_CLUSTER_NCTAID_X + i, b->launch->cluster[i], 4);
    }
    special(b, regs, SP_NWARPID, (uint64_t)b->n_warps, 4);
    special(b, regs, SP_CLUSTER_NCTARANK, (uint64_t)b->cluster->n, 4);
    special(b, regs, SP_EXPLICIT_CLUSTER, b->cluster->n > 1, 1);
    special(b, regs, SP_DYNAMIC_SHARED, (uint64_t)b->launch->shared, 4);
    special(b, regs, SP_TOTAL_SHARED, b->shared_size, 4);
    for (uint32_t l = 0; l < LANES; l++) {
        const uint32_t values[] = {l, 1u << l, l == 31 ? FULL : (1u << (l + 1)) - 1, (1u << l) - 1, FULL << l, l == 31 ? 0 : FULL << (l + 1)};
        const int names[] = {SP_LANEID, SP_MASK_EQ, SP_MASK_LE, SP_MASK_LT, SP_MASK_GE, SP_MASK_GT};
        for (int k = 0; k < 6; k++)
            if (b->m->special[names[k]]) memcpy(regs + b->m->special[names[k]] + 4 * l, &values[k], 4);
    }
}

void sim_block_open(Block *b, const uint8_t *params)
{
    b->abreast = b->meter && b->n_warps > 1;
    const bool own = b->m->barrier || b->options->order == SIM_SHUFFLED || b->abreast, check = b->options->check;
    const size_t local = (size_t)b->m->local_bytes * LANES;
    b->own = own;
    if (b->orders) b->threads = WBB_NEW_N(b->arena, SimThread, b->n_warps * LANES);
    b->slice = b->m->polls ? 1 << 11 : 1 << 16;
    b->warps = WBB_NEW_N(b->arena, Warp, b->n_warps);
    for (int i = 0; i < b->n_warps; i++) {
        Warp *w = &b->warps[i];
        if (i && !own) {
            w->regs = b->warps[0].regs, w->local = b->warps[0].local, w->local_written = b->warps[0].local_written;
            w->undefined = b->warps[0].undefined;
            sim_meter_warps(b, w, false);
            continue;
        }
        uint8_t *raw = wbb_alloc(b->arena, b->m->file_bytes + 64);
        w->regs = raw + (64 - (uintptr_t)raw % 64) % 64;
        w->local = wbb_alloc(b->arena, local + 1);
        w->undefined = check && b->m->n_undefined ? WBB_NEW_N(b->arena, UndefinedLanes, b->m->n_undefined + 1) : NULL;
        w->local_written = check ? wbb_alloc(b->arena, local + 1) : NULL;
        sim_meter_warps(b, w, true);
        fill_constants(b, w->regs, params);
    }
}

static void start_warp(Block *b, Warp *w, int index, const uint32_t *table, uint32_t threads)
{
    const uint32_t *column = b->m->special;
    for (int i = 0; i < 3; i++) {
        if (column[SP_TID_X + i]) memcpy(w->regs + column[SP_TID_X + i], table + (index * 3 + i) * LANES, 4 * LANES);
        special(b, w->regs, SP_CTAID_X + i, b->id[i], 4);
        special(b, w->regs, SP_CLUSTERID_X + i, b->id[i] / b->launch->cluster[i], 4);
        special(b, w->regs, SP_CLUSTER_CTAID_X + i, b->id[i] % b->launch->cluster[i], 4);
    }
    special(b, w->regs, SP_WARPID, (uint64_t)index, 4);
    special(b, w->regs, SP_CLUSTER_CTARANK, b->rank, 4);
    const uint32_t left = threads - (uint32_t)index * LANES;
    w->all = w->live = w->mask = left >= LANES ? FULL : (1u << left) - 1;
    w->pc = b->entry->start;
    w->next_pc = UINT32_MAX;
    w->n_groups = 0, w->yields = 0, w->waits = false;
    w->at_barrier = 0;
    w->wait = NULL;
    w->done = false;
    w->executed = w->look = 0;
    w->slice = b->slice;
    w->polls = 0, w->poll = NULL;
    memset(w->polled, 0, sizeof w->polled);
    w->first_thread = (uint32_t)index * LANES;
    memset(w->copy_group, 0, sizeof w->copy_group);
    if (w->undefined) sim_undefined_reset(b->m, w);
    sim_meter_warp(b, w);
    const size_t local = (size_t)b->m->local_bytes * LANES;
    if (local) memset(w->local, 0, local);
    if (local && w->local_written) memset(w->local_written, 0, local);
    b->report.warps++;
}

static uint32_t divisor(uint32_t x, uint32_t y) { return y ? divisor(y, x % y) : x; }

/* The k-th of n warps, or blocks of a cluster, in this round. A shuffled round never begins with number 0, so it always
 * differs from the plain order. */
static int of_round(const Block *b, int k, int count)
{
    const uint32_t n = (uint32_t)count, key[2] = {b->number, b->round};
    if (b->options->order == SIM_FORWARD || n < 2) return k;
    if (b->options->order == SIM_REVERSE) return count - 1 - k;
    const uint64_t h = wbb_hash(key, sizeof key, b->options->order_seed);
    uint32_t step = 1 + (uint32_t)(h % (n - 1));
    while (divisor(step, n) != 1) step = step % (n - 1) + 1; /* so that every warp comes once */
    return (int)(((uint32_t)k * step + 1 + (uint32_t)(h >> 40) % (n - 1)) % n);
}

static void start_block(Block *b)
{
    b->round = 0;
    if (b->shared_size) memset(b->shared, 0, b->shared_size);
    if (b->shared_size && b->shared_written) memset(b->shared_written, 0, b->shared_size);
    if (b->options->check) sim_clock_reset(b);
    if (b->shared_shadow) sim_shadow_reset(b, b->shared_shadow);
    sim_order_reset(b);
    for (int i = 0; i < BARRIERS; i++) sim_view_drop(b, &b->barriers[i].view);
    memset(b->barriers, 0, sizeof b->barriers);
    b->busy = 0, b->met = false;
    b->copies.n = 0;
    b->mbarriers.n = 0;
}

/* What happened in a round: warps that have not ended; some ran; one of those that ran did not wait for memory. */
typedef struct {
    int open;
    bool ran, busy;
} Round;

/* Every warp of the block that can run runs. */
static void round_of(Block *b, Round *r)
{
    b->round++;
    for (int i = 0; i < b->n_warps && !b->stop; i++) {
        Warp *w = &b->warps[of_round(b, i, b->n_warps)];
        if (w->done) continue;
        if (w->at_barrier == AT_CLUSTER && w->cluster_phase != b->cluster->phase) {
            w->at_barrier = 0;
            sim_order_wait(b, w);
        }
        if (w->at_barrier && w->at_barrier != AT_MBARRIER) {
            r->open++;
            continue;
        }
        const uint64_t executed = w->executed, polls = w->polls;
        w->at_barrier = 0;
        sim_run_warp(b, w);
        r->open += !w->done;
        if (w->done || w->executed != executed) r->ran = true, r->busy |= w->done || w->at_barrier || w->polls == polls;
        if (b->busy) sim_barriers_open(b);
    }
}

/* The cluster's barrier is complete if every warp of the cluster that has not ended has arrived. */
static bool cluster_opens(Cluster *c, int open)
{
    if (!c->arrived || (int)c->arrived < open) return false;
    c->arrived = 0;
    c->phase++;
    sim_view_drop(c->blocks[0], &c->came);
    c->came = c->arriving, c->arriving = NULL;
    return true;
}

bool sim_cluster_stopped(const Cluster *c)
{
    for (int k = 0; k < c->n; k++)
        if (c->blocks[k]->stop) return true;
    return false;
}

void sim_cluster_start(Cluster *c, const uint32_t *table, uint32_t threads)
{
    c->phase = 1, c->arrived = 0, c->unwatched = false;
    sim_view_drop(c->blocks[0], &c->arriving);
    sim_view_drop(c->blocks[0], &c->came);
    for (int k = 0; k < c->n; k++) {
        start_block(c->blocks[k]);
        for (int i = 0; i < c->blocks[k]->n_warps && c->blocks[k]->own; i++)
            start_warp(c->blocks[k], &c->blocks[k]->warps[i], i, table, threads);
    }
    c->table = table, c->threads = threads;
}

/* Warps that share one register file run one after the other, each to its end. */
static void run_through(Cluster *c)
{
    for (int k = 0; k < c->n; k++) {
        Block *b = c->blocks[k];
        for (int i = 0; i < b->n_warps && !b->stop; i++) {
            const int index = of_round(b, i, b->n_warps);
            start_warp(b, &b->warps[index], index, c->table, c->threads);
            sim_run_warp(b, &b->warps[index]);
        }
    }
}

Turn sim_cluster_turn(Cluster *c)
{
    Block *first = c->blocks[0];
    const uint64_t changes = first->all->changes;
    Round r = {.open = 0};
    if (!first->own) {
        run_through(c);
        return TURN_ENDED;
    }
    int order[MAX_CLUSTER];
    for (int k = 0; k < c->n; k++) order[k] = of_round(first, k, c->n); /* before round_of counts the round */
    for (int k = 0; k < c->n; k++) round_of(c->blocks[order[k]], &r);
    if (!r.open || sim_cluster_stopped(c)) return TURN_ENDED;
    const bool opened = cluster_opens(c, r.open);
    if (!r.ran && !opened)
        for (int k = 0; k < c->n; k++) sim_deadlock(c->blocks[k]);
    return r.busy || opened || first->all->changes != changes ? TURN_MOVED : TURN_WAITS;
}
