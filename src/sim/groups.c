/* groups: lanes of a warp that branched differently: which group of them runs next, and where groups wait for each
 * other.
 *
 * Needs: a warp and its operations. Leaves: the running group in Warp.pc and Warp.mask, the others in Warp.groups.
 *
 * The group at the lowest operation runs, and groups that meet join. That alone is not enough: a rare branch may be
 * placed after the operation where the lanes meet. So a group that comes to an operation of several lanes parks
 * there until all live lanes that it names have come. If every group is parked and none is complete, the program is
 * wrong.
 *
 *     @%p bra A; (lanes 0 to 15)   ->   lanes 16 to 31 run on; at A, which is further down, both are one group again
 */
#include "sim/inner.h"

void sim_group_add(Warp *w, uint32_t pc, uint32_t mask, bool parked)
{
    if (!mask) return;
    for (int i = 0; i < w->n_groups; i++) {
        if (w->groups[i].pc != pc) continue;
        w->groups[i].mask |= mask; /* the group may be complete now: `parked` is set anew */
        w->groups[i].parked = parked;
        w->groups[i].waits = false;
        return;
    }
    w->groups[w->n_groups++] = (Group){pc, mask, parked, false, w->yields};
}

/* The live lanes that must have come before the operation can run for the first lane of `mask`. */
static uint32_t needed(const Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->kind == OP_BARRIER) return w->live;
    return sim_lane32(w->regs + op->e, __builtin_ctz(mask)) & w->live;
}

/* The lanes of `mask` that can run the operation now. Each lane waits for the lanes that its own mask names. */
static uint32_t ready(Block *b, Warp *w, const SimOp *op, uint32_t mask)
{
    if (op->kind == OP_MBARRIER_WAIT) return sim_mbarrier_ready(b, w, op, mask);
    const uint32_t missing = needed(w, op, mask) & ~mask;
    if (op->kind == OP_BARRIER || op->kind == OP_MATRIX || op->kind == OP_MMA) return missing ? 0 : mask;
    const uint32_t first = sim_lane32(w->regs + op->e, __builtin_ctz(mask));
    uint32_t same = 0, r = 0;
    for (int l = 0; l < LANES; l++) same |= (uint32_t)(sim_lane32(w->regs + op->e, l) == first) << l;
    if (!(mask & ~same)) return missing ? 0 : mask;
    for (uint32_t rest = mask; rest; rest &= rest - 1)
        if (!(needed(w, op, rest) & ~mask)) r |= rest & -rest;
    return r;
}

/* Choose the group that runs next; false if none can. */
bool sim_group_pick(Block *b, Warp *w)
{
    int best = -1;
    for (int i = 0; i < w->n_groups; i++)
        if (!w->groups[i].parked && (best < 0 || w->groups[i].pc < w->groups[best].pc)) best = i;
    for (int i = 0; best < 0 && i < w->n_groups; i++) {
        const SimOp *op = &b->m->ops.items[w->groups[i].pc];
        if (ready(b, w, op, w->groups[i].mask)) best = i;
    }
    if (best < 0) return false;
    w->pc = w->groups[best].pc;
    w->mask = w->groups[best].mask;
    w->groups[best] = w->groups[--w->n_groups];
    w->next_pc = UINT32_MAX;
    for (int i = 0; i < w->n_groups; i++)
        if (!w->groups[i].parked || w->groups[i].pc > w->pc) w->next_pc = WBB_MIN(w->next_pc, w->groups[i].pc);
    return true;
}

/* The running group has ended or waits: run another group, or wait for other warps, or end the warp. */
bool sim_group_next(Block *b, Warp *w)
{
    if (sim_group_pick(b, w)) return true;
    w->mask = 0;
    for (int i = 0; i < w->n_groups; i++) {
        const SimOp *op = &b->m->ops.items[w->groups[i].pc];
        if (op->kind != OP_MBARRIER_WAIT) continue;
        w->wait = op;
        w->at_barrier = AT_MBARRIER;
        return false;
    }
    if (w->n_groups) {
        const Group *g = &w->groups[0];
        const SimOp *op = &b->m->ops.items[g->pc];
        uint32_t missing = needed(w, op, g->mask) & ~g->mask;
        sim_fault(b, w, op, __builtin_ctz(g->mask),
                  "lanes 0x%08x wait for lanes 0x%08x, which wait elsewhere: the warp is divergent here", g->mask,
                  missing);
        b->stop = true;
    }
    w->done = true;
    return false;
}

/* Does group g go before the group `than`? One that does not wait, unless the other has been passed over too often;
 * then the one that has waited longest, of several the one that is furthest on. */
static bool goes_before(const Warp *w, const Group *g, const Group *than)
{
    enum { PASSED_OVER = 64 };
    const Group *patient = g->waits ? g : than;
    if (g->waits != than->waits && w->yields - patient->since < PASSED_OVER) return than->waits;
    return g->since < than->since || (g->since == than->since && g->pc > than->pc);
}

/* A group that loops may wait for lanes that are elsewhere, as at a lock: another group runs. True if that one is not
 * known to wait, too. */
bool sim_group_yield(Warp *w)
{
    int best = -1;
    for (int i = 0; i < w->n_groups; i++) {
        const Group *g = &w->groups[i];
        if (g->parked || g->pc == w->pc) continue;
        if (best < 0 || goes_before(w, g, &w->groups[best])) best = i;
    }
    if (best < 0) return false;
    const Group g = w->groups[best];
    w->groups[best] = w->groups[--w->n_groups];
    w->yields++;
    sim_group_add(w, w->pc, w->mask, false);
    for (int i = 0; i < w->n_groups; i++)
        if (w->groups[i].pc == w->pc) w->groups[i].waits = w->waits && w->groups[i].mask == w->mask;
    w->waits = false;
    w->pc = g.pc, w->mask = g.mask;
    w->next_pc = UINT32_MAX;
    for (int i = 0; i < w->n_groups; i++)
        if (w->groups[i].pc > w->pc) w->next_pc = WBB_MIN(w->next_pc, w->groups[i].pc);
    return !g.waits;
}

void sim_group_split(Block *b, Warp *w, uint32_t pc, uint32_t mask, uint32_t pc2, uint32_t mask2)
{
    b->report.divergent++;
    if (b->tally) b->tally[w->pc].splits++;
    sim_group_add(w, pc, mask, false);
    sim_group_add(w, pc2, mask2, false);
    sim_group_pick(b, w);
}

/* The warp comes to an operation of several lanes: lanes that can run it are left in *mask, the others park. False
 * if none can. */
bool sim_group_join(Block *b, Warp *w, const SimOp *op, uint32_t *mask)
{
    const uint32_t can = ready(b, w, op, *mask), rest = *mask & ~can;
    if (!rest) return true;
    const uint32_t passing = w->mask & ~*mask; /* lanes whose guard is false */
    if (can) {
        sim_group_add(w, w->pc, rest, true);
        w->mask = can | passing;
        *mask = can;
        return true;
    }
    sim_group_add(w, w->pc + 1, passing, false);
    sim_group_add(w, w->pc, rest, true);
    sim_group_next(b, w);
    return false;
}
