/* beside: small kernels that have nothing to do with each other become one, to save a launch.
 *
 * Needs: all kernels of a computation. Leaves: fewer of them. Two become one where their spaces are the same, or one
 * has the space of the other's results, and neither waits for the other, if each would be over before another one could
 * be launched: more than that, and a kernel gains nothing but registers. Those that read a value in common have become
 * one before (grouping.c).
 *
 *     values = slice(v), indices = slice(w)     of the two results of a sort: one kernel with two outputs
 */
#include "fuse/kernels.h"

enum { NEIGHBOURS = 8 }; /* later kernels of the same size that are tried, at most */

/* Seconds for what it reads and writes. */
static double memory_time(FuseWork *w, const FuseKernel *k)
{
    double bytes = 0;
    w->stamp++;
    for (uint32_t j = 0; j < k->members.n; j++) w->seen[k->members.items[j]] = w->stamp;
    for (uint32_t j = 0; j < k->roots.n; j++) bytes += fuse_bytes(w->c->instructions[k->roots.items[j]]->shape);
    for (uint32_t j = 0; j < k->members.n; j++) {
        const HloInstruction *i = w->c->instructions[k->members.items[j]];
        for (uint32_t x = 0; x < i->n_operands; x++) {
            if (w->seen[i->operands[x]->id] == w->stamp) continue;
            w->seen[i->operands[x]->id] = w->stamp;
            bytes += fuse_bytes_read(w->arena, w->rates, i, x);
        }
    }
    return bytes * w->rates->byte;
}

static bool is_short(FuseWork *w, const FuseKernel *k)
{
    return !k->into && !k->fixed && k->space.known && memory_time(w, k) < w->rates->launch;
}

uint32_t fuse_merge_beside(FuseWork *w)
{
    uint32_t merged = 0;
    bool *is_candidate = WBB_NEW_N(w->arena, bool, w->kernels.n + 1);
    for (uint32_t k = 0; k < w->kernels.n; k++) is_candidate[k] = is_short(w, &w->kernels.items[k]);
    for (uint32_t x = 0; x < w->kernels.n; x++) {
        uint32_t tried = 0;
        for (uint32_t y = x + 1; y < w->kernels.n && is_candidate[x] && tried < NEIGHBOURS; y++) {
            const FuseKernel *a = &w->kernels.items[x], *b = &w->kernels.items[y];
            if (!is_candidate[y]) continue;
            const FusePos p = b->hero ? a->space : fuse_kept(w, a), q = a->hero ? b->space : fuse_kept(w, b);
            if (fuse_count(&w->atoms, &p) != fuse_count(&w->atoms, &q)) continue;
            tried++;
            if (fuse_merge(w, x, y, &p, &q)) continue;
            const uint32_t gone = w->kernels.items[x].into ? x : y, stays = gone == x ? y : x;
            is_candidate[gone] = false;
            is_candidate[stays] = is_short(w, &w->kernels.items[stays]);
            merged++;
        }
    }
    return merged;
}
