/* straight: stretches of plain arithmetic, whose operations run one after the other without dispatch.
 *
 * Needs: all operations of a module, with branches resolved. Leaves: for each operation the end of its stretch and
 * how many instructions come before it, so that a stretch is counted by one subtraction.
 *
 * A stretch has no guard, no branch, no memory access and no column that may be undefined. Another group of lanes
 * may wait in its middle, so the caller gives its end. All live lanes of the warp must be active: results go to
 * their columns at once.
 *
 *     mul, add, @%p1 mov, ld, sub   ->   stretches 0..2, none, none, 4..5
 */
#include "sim/inner.h"

void sim_straight_open(WbbArena *a, SimModule *m)
{
    const uint32_t n = m->ops.n;
    m->stretch = WBB_NEW_N(a, uint32_t, n + 1);
    m->counted = WBB_NEW_N(a, uint32_t, n + 1);
    for (uint32_t i = 0; i < n; i++) m->counted[i + 1] = m->counted[i] + m->ops.items[i].counts;
    m->stretch[n] = n;
    for (uint32_t i = n; i-- > 0;) {
        const SimOp *op = &m->ops.items[i];
        const bool plain = op->kind == OP_ALU && !op->pred && !op->tracked;
        m->stretch[i] = !plain ? i : m->stretch[i + 1] > i + 1 ? m->stretch[i + 1] : i + 1;
    }
}

uint32_t sim_straight(Block *b, Warp *w, uint32_t end)
{
    const SimOp *op = &b->m->ops.items[w->pc], *last = &b->m->ops.items[end];
    uint8_t *regs = w->regs;
    if (b->tally) {
        const uint64_t active = (uint64_t)__builtin_popcount(w->mask);
        SimTally *from = &b->runs[w->pc], *to = &b->runs[end];
        from->threads += active, from->warps++;
        to->threads -= active, to->warps--; /* modulo 2^64: sums from the first operation on are right */
        for (uint32_t i = w->pc; i < end && b->timed; i++) sim_meter_step(b, w, &b->m->ops.items[i], false);
    }
    do op->fn(regs + op->d, regs, op);
    while (++op < last);
    const uint32_t n = b->m->counted[end] - b->m->counted[w->pc];
    w->pc = end;
    return n;
}
