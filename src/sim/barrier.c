/* barrier: bar and barrier in all their forms: named, of a part of the block, that only arrive, that reduce a
 * predicate, of a cluster.
 *
 * Needs: table.c for operands; a warp whose live lanes have all come (groups.c). Leaves: warps that wait
 * (Warp.at_barrier) until the last one that a barrier expects has come. Accesses before the barrier are then ordered
 * before those after it (shadow.c).
 *
 * A barrier counts whole warps, 32 threads each, even where lanes have ended (PTX ISA 9.7.13.1). Without a number of
 * threads it expects every warp of the block that has not ended. bar.arrive does not wait.
 *
 *     bar.sync 1, 64;   ->   the second warp to come to barrier 1 lets both go
 */
#include "sim/inner.h"

enum { BAR_SYNC, BAR_ARRIVE, BAR_POPC, BAR_AND, BAR_OR, BAR_CLUSTER_ARRIVE, BAR_CLUSTER_WAIT };

static bool modifiers_known(const Inst *inst)
{
    static const char *const known[] = {"cta", "cluster", "sync", "arrive", "red", "wait", "popc", "and", "or", "aligned", "acquire", "release", "relaxed", "pred", "u32"};
    for (int i = 1; i < inst->n_parts; i++) {
        size_t k = 0;
        while (k < WBB_LEN(known) && strcmp(inst->part[i], known[k])) k++;
        if (k == WBB_LEN(known)) return false;
    }
    return true;
}

static void decode_cluster(Parser *p, const Inst *inst)
{
    const bool arrive = sim_has(inst, "arrive");
    if (inst->n || arrive == sim_has(inst, "wait")) sim_unknown(p, inst, "unknown form of a barrier");
    const uint8_t order = sim_order_of(inst, SCOPE_CLUSTER);
    SimOp *op = sim_emit(p, OP_BARRIER);
    op->mode = arrive ? BAR_CLUSTER_ARRIVE : BAR_CLUSTER_WAIT;
    op->order = (uint8_t)(order | (sim_has(inst, "relaxed") ? 0 : arrive ? ORDER_RELEASE : ORDER_ACQUIRE));
    p->m->barrier = p->func->orders = true;
}

void sim_decode_barrier(Parser *p, const Inst *inst)
{
    if (sim_has(inst, "warp")) {
        if (inst->n != 1 || inst->n_parts != 3 || !sim_has(inst, "sync"))
            sim_unknown(p, inst, "unknown form of a barrier");
        const uint32_t mask = sim_read(p, &inst->opd[0], 'w');
        sim_emit(p, OP_WARP_SYNC)->e = mask;
        return;
    }
    if (!modifiers_known(inst)) sim_unknown(p, inst, "unknown form of a barrier");
    if (sim_has(inst, "cluster")) {
        decode_cluster(p, inst);
        return;
    }
    const bool red = sim_has(inst, "red"), arrive = sim_has(inst, "arrive"), popc = sim_has(inst, "popc");
    if (red + arrive + sim_has(inst, "sync") != 1 || sim_has(inst, "wait"))
        sim_unknown(p, inst, "unknown form of a barrier");
    const int first = red ? 1 : 0, most = red ? 4 : 2, least = red ? 3 : arrive ? 2 : 1;
    if (inst->n < least || inst->n > most) sim_unknown(p, inst, "wrong number of operands");
    if (inst->opd[first].kind == OPD_INT && inst->opd[first].bits >= BARRIERS)
        sim_unknown(p, inst, "a block has 16 barriers");
    const uint32_t id = sim_read(p, &inst->opd[first], 'w');
    const uint32_t count = inst->n == most || arrive ? sim_read(p, &inst->opd[first + 1], 'w') : 0;
    const uint32_t pred = red ? sim_read(p, &inst->opd[inst->n - 1], 'p') : 0;
    const char letter = popc ? 'w' : 'p';
    const uint32_t d = red ? sim_result(p, &inst->opd[0], letter) : 0;
    SimOp *op = sim_emit(p, OP_BARRIER);
    op->mode = arrive ? BAR_ARRIVE : !red ? BAR_SYNC : popc ? BAR_POPC : sim_has(inst, "and") ? BAR_AND : BAR_OR;
    op->width = (uint8_t)(popc ? 4 : 1);
    op->d = d, op->a = pred, op->b = id, op->c = count;
    p->m->barrier = true;
    if (red) sim_done(p, &inst->opd[0], d, letter, false);
}

/* The value of a column, which must be the same in all lanes of `mask`. */
static uint32_t uniform(Block *b, const Warp *w, const SimOp *op, uint32_t col, uint32_t mask, const char *what)
{
    uint32_t first = 0, v = 0;
    bool any = false;
    for (uint32_t rest = mask; rest; rest &= rest - 1) {
        const int l = __builtin_ctz(rest);
        memcpy(&v, w->regs + col + 4 * (size_t)l, 4);
        if (any && v != first) {
            sim_fault(b, w, op, l, "lanes of one warp name %s %u and %u of a barrier", what, first, v);
            return first;
        }
        first = v, any = true;
    }
    return first;
}

/* Complete: every waiting warp goes on, with the result of bar.red. */
static void release_warps(Block *b, Barrier *bar)
{
    for (uint32_t rest = bar->waiting; rest; rest &= rest - 1) {
        Warp *w = &b->warps[__builtin_ctz(rest)];
        const SimOp *op = w->wait;
        w->at_barrier = 0;
        if (b->options->check) sim_acquire(b, w, bar->clock);
        sim_order_take(b, w, w->live, bar->view);
        if (op->mode == BAR_SYNC) continue;
        const uint32_t r = op->mode == BAR_POPC  ? bar->set
                           : op->mode == BAR_AND ? bar->set == bar->lanes
                                                 : bar->set != 0;
        sim_fill(b->scratch, r, op->width);
        sim_blend(w->regs + op->d, b->scratch, w->live, op->width);
    }
    sim_view_drop(b, &bar->view);
    *bar = (Barrier){.phase = bar->phase + 1};
}

/* Warps that have not ended, as a mask. */
static uint32_t open_warps(const Block *b)
{
    uint32_t r = 0;
    for (int i = 0; i < b->n_warps; i++)
        if (!b->warps[i].done) r |= 1u << i;
    return r;
}

void sim_barriers_open(Block *b)
{
    for (uint32_t rest = b->busy; rest; rest &= rest - 1) {
        const int i = __builtin_ctz(rest);
        Barrier *bar = &b->barriers[i];
        const bool complete = bar->expected ? bar->arrived == bar->expected : !(open_warps(b) & ~bar->came);
        if (!complete) continue;
        release_warps(b, bar);
        b->busy &= ~(1u << i);
    }
}

/* The cluster's barrier: arrive counts a warp, wait waits for the phase that was open when the warp arrived. */
static bool cluster_barrier(Block *b, Warp *w, const SimOp *op)
{
    Cluster *c = b->cluster;
    b->all->changes++;
    if (op->mode == BAR_CLUSTER_WAIT) {
        w->wait = op;
        if (w->cluster_phase == c->phase) w->at_barrier = AT_CLUSTER;
        else sim_order_wait(b, w);
        return w->at_barrier != 0;
    }
    w->cluster_phase = c->phase;
    sim_order_arrive(b, w, op);
    c->arrived++;
    return false;
}

bool sim_barrier(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->mode >= BAR_CLUSTER_ARRIVE) return cluster_barrier(b, w, op);
    const int index = (int)w->first_thread / LANES, lane = __builtin_ctz(mask);
    const uint32_t id = uniform(b, w, op, op->b, mask, "numbers"),
                   count = op->c ? uniform(b, w, op, op->c, mask, "thread counts") : 0;
    if (id >= BARRIERS) {
        sim_fault(b, w, op, lane, "barrier %u: a block has 16", id);
        return b->stop = true;
    }
    if (op->c && (!count || count % LANES || count > (uint32_t)b->n_warps * LANES)) {
        sim_fault(b, w, op, lane,
                  "barrier %u for %u threads: must be a multiple of 32, at most the threads of the block", id, count);
        return b->stop = true;
    }
    Barrier *bar = &b->barriers[id];
    if (bar->came && bar->expected != count) {
        sim_fault(b, w, op, lane, "barrier %u for %u threads, where a warp before came for %u (0: all)", id, count,
                  bar->expected);
        return b->stop = true;
    }
    if (bar->came >> index & 1) {
        sim_fault(b, w, op, lane, "the warp comes to barrier %u again before it is complete", id);
        return b->stop = true;
    }
    b->all->changes++;
    bar->expected = count;
    bar->arrived += LANES;
    bar->came |= 1u << index;
    b->busy |= 1u << id;
    for (uint32_t rest = op->a ? mask : 0; rest; rest &= rest - 1, bar->lanes++)
        bar->set += w->regs[op->a + (uint32_t)__builtin_ctz(rest)];
    sim_order_give(b, w, w->live, &bar->view);
    if (b->options->check) sim_release(b, w, bar->clock);
    if (op->mode == BAR_ARRIVE) return false;
    bar->waiting |= 1u << index;
    w->wait = op;
    w->at_barrier = id + 1;
    return true;
}

/* No warp of the block can go on: report which barriers they wait at. */
void sim_deadlock(Block *b)
{
    const Warp *first = NULL;
    for (int i = 0; i < b->n_warps; i++) {
        const Warp *w = &b->warps[i];
        if (w->done) continue;
        if (first && first->at_barrier != w->at_barrier && first->at_barrier <= BARRIERS && w->at_barrier <= BARRIERS) {
            sim_fault(b, w, w->wait, 0, "warps of one block wait at barriers %u and %u", first->at_barrier - 1,
                      w->at_barrier - 1);
            break;
        }
        if (!first) first = w;
    }
    b->stop = true;
    if (!first || b->all->faults.n) return;
    const int lane = first->live ? __builtin_ctz(first->live) : 0;
    const Barrier *bar = &b->barriers[(first->at_barrier - 1) % BARRIERS];
    if (first->at_barrier == AT_CLUSTER)
        sim_fault(b, first, first->wait, lane, "deadlock: not all warps of the cluster arrive at its barrier");
    else if (first->at_barrier == AT_MBARRIER)
        sim_fault(b, first, first->wait, lane, "deadlock: no thread completes the phase of the mbarrier");
    else
        sim_fault(b, first, first->wait, lane, "deadlock: barrier %u has %u of %u threads, and no other thread comes",
                  first->at_barrier - 1, bar->arrived, bar->expected);
}
