/* plan: which blocks of a launch run, in which order they start, and the blocks of one cluster made.
 *
 * Needs: a launch set up by run.c. Leaves: blocks that can run, and their reports added up. The list of blocks is the
 * whole grid or a sample spread over it, upwards, downwards or in an order that the seed decides.
 *
 *     grid 100, blocks 3            ->   blocks 0, one of 33..65, 99; for a profile one of 1..32, .., and of 66..98
 *     grid 100, order SIM_REVERSE   ->   blocks 99, 98, .., 0
 */
#include "sim/inner.h"

static uint64_t gcd(uint64_t a, uint64_t b) { return b ? gcd(b, a % b) : a; }

uint64_t sim_grid_blocks(const BdLaunch *launch)
{
    return (uint64_t)launch->grid[0] * launch->grid[1] * launch->grid[2];
}

/* Which of n blocks is the i-th to start. */
static uint64_t place(const SimOptions *options, uint64_t n, uint64_t i)
{
    if (options->order == SIM_FORWARD || n < 2) return i;
    if (options->order == SIM_REVERSE) return n - 1 - i;
    uint64_t step = wbb_mix(options->order_seed) % n;
    while (!step || gcd(step, n) != 1) step = step + 1 < n ? step + 1 : 1;
    return (uint64_t)(((WbbU128)i * step + wbb_mix(options->order_seed + 1)) % n);
}

uint64_t sim_block(const BdLaunch *launch, const SimOptions *options, uint64_t i)
{
    const uint64_t all = sim_grid_blocks(launch);
    const bool sample = options->blocks && options->blocks < all;
    const uint64_t n = sample ? options->blocks : all;
    i = place(options, n, i);
    /* One from each of n equal parts. The first and the last block are among them to be checked, and not to be counted:
     * one of them stands for many, and they have the borders and the rest of the work. */
    const bool ends = !options->profile;
    if (!sample || (i == 0 && ends)) return i;
    if (i == n - 1 && ends) return all - 1;
    uint64_t low = (uint64_t)((WbbU128)all * i / n), high = (uint64_t)((WbbU128)all * (i + 1) / n);
    if (i == 0 && high - low > 1) low++;
    if (i == n - 1 && high - low > 1) high--;
    return low + wbb_mix(options->seed + (i ? i : n)) % (high - low); /* mix(0) is 0, the very border */
}

/* One block of a cluster; `rank` is its number there. */
static void make_block(const Block *model, Cluster *c, uint32_t rank, const uint8_t *params)
{
    Block *b = WBB_NEW(model->arena, Block);
    *b = *model;
    b->rank = rank;
    b->cluster = c;
    b->shared = wbb_alloc(b->arena, b->shared_size + 1);
    b->shared_written = b->options->check ? wbb_alloc(b->arena, b->shared_size + 1) : NULL;
    b->shared_shadow = b->options->check ? sim_shadow(b->arena, b->shared_size, true, false) : NULL;
    b->scratch = wbb_alloc(b->arena, LANES * 16);
    c->blocks[rank] = b;
    sim_block_open(b, params);
}

void sim_plan_open(const Block *model, const SimPlan *p, Cluster *c)
{
    *c = (Cluster){.n = (int)p->size};
    for (uint32_t r = 0; r < p->size; r++) make_block(model, c, r, p->params);
}

static void set_block_ids(Cluster *c, const BdLaunch *launch, uint64_t k)
{
    for (uint32_t r = 0; r < (uint32_t)c->n; r++) {
        Block *b = c->blocks[r];
        sim_block_ids(launch, k, r, b->id);
        b->number = b->id[0] + launch->grid[0] * (b->id[1] + launch->grid[1] * b->id[2]);
        b->serial = (uint32_t)(k * MAX_CLUSTER + r + 1);
    }
}

void sim_plan_start(Cluster *c, const SimPlan *p, uint64_t i)
{
    set_block_ids(c, p->launch, sim_block(&p->groups, p->options, i));
    for (int r = 0; r < c->n; r++) sim_meter_block(c->blocks[r], true);
    sim_cluster_start(c, p->table, p->threads);
    for (int r = 0; r < c->n; r++) c->blocks[r]->report.blocks++;
}

void sim_report_add(SimReport *to, const SimReport *from)
{
    to->blocks += from->blocks, to->warps += from->warps;
    to->instructions += from->instructions, to->warp_instructions += from->warp_instructions,
        to->divergent += from->divergent;
    for (int s = 0; s < SIM_SPACES; s++)
        for (int k = 0; k < 6; k++) to->loads[s][k] += from->loads[s][k], to->stores[s][k] += from->stores[s][k];
    to->ran_away = to->ran_away || from->ran_away;
    for (int i = 0; i < from->n_faults && to->n_faults < SIM_MAX_FAULTS; i++)
        to->faults[to->n_faults++] = from->faults[i];
}

void sim_faults_report(const Block *b, SimReport *r)
{
    const Faults *f = &b->all->faults;
    for (int i = 0; i < f->n && r->n_faults < SIM_MAX_FAULTS; i++) r->faults[r->n_faults++] = f->texts[i];
}

void sim_plan_report(const Cluster *c, SimReport *r)
{
    for (int k = 0; k < c->n; k++) {
        sim_meter_block(c->blocks[k], false);
        sim_report_add(r, &c->blocks[k]->report);
    }
}
