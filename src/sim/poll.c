/* poll: reads that may wait for another thread, and where a shuffled order ends a warp's turn.
 *
 * Needs: strong loads (memory.c) and atomic operations (atomic.c) as they happen. Leaves: by which turns.c tells a loop
 * that waits from one that computes.
 *
 *     wait: ld.acquire.gpu.global.u32 %r1, [flag]; setp.eq.u32 %p1, %r1, 0; @%p1 bra wait;
 *         ->   polls go up with each load, Machine.news when the flag is another than the time before
 */
#include "sim/inner.h"

enum { POLL_SLICE = 32 }; /* operations after such a read, before a loop gives way: what it waits for may be near */

void sim_polled(Block *b, Warp *w, const SimOp *op, uint32_t mask, uint64_t seen)
{
    uint64_t *last = &w->polled[(size_t)(op - b->m->ops.items) % POLLS];
    w->polls++;
    w->waits = true;
    w->poll = op;
    w->poll_lane = (uint8_t)__builtin_ctz(mask);
    b->all->news += *last != seen;
    w->slice = WBB_MIN(w->slice, w->executed + POLL_SLICE);
    *last = seen;
}

bool sim_turn_ends(const Block *b, const Warp *w)
{
    const uint64_t key[] = {b->number, w->first_thread, w->executed};
    return b->options->order == SIM_SHUFFLED && wbb_hash(key, sizeof key, b->options->order_seed) % 4 == 0;
}
