/* beside: kernels that have nothing to do with each other become one, to save a launch.
 *
 * Needs: all kernels of a computation. Leaves: fewer of them. Two become one where their spaces are the same, or one
 * has the space of the other's results or terms, and neither waits for the other. If each would be over before another
 * one could be launched, they surely gain by it, but for terms; others, up to some launches, where prices say so: the
 * registers and the order of one may not suit the other. Those that read a value in common have become one before
 * (grouping.c).
 *
 *     values = slice(v), indices = slice(w)     of the two results of a sort: one kernel with two outputs
 *     q = transpose(slice(x)), k = transpose(slice(x))     other elements of one array, 17 us each: one launch less
 */
#include "fuse/kernels.h"

/* Seconds of what a kernel reads and leaves. */
static double memory_time(FuseWork *w, const FuseKernel *k)
{
    double bytes = 0;
    w->stamp++;
    for (uint32_t j = 0; j < k->members.n; j++) w->seen[k->members.items[j]] = w->stamp;
    for (uint32_t j = 0; j < k->roots.n; j++) bytes += (double)hlo_bytes(w->c->instructions[k->roots.items[j]]->shape);
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

static bool is_shorter(FuseWork *w, const FuseKernel *k, double launches)
{
    return !k->into && !k->fixed && k->space.known && memory_time(w, k) < launches * w->rates->launch;
}

/* Has one of them, without a reduction, the space of the other one's terms? Threads then have all that is reduced. */
static bool of_terms(const FuseWork *w, const FuseKernel *a, const FuseKernel *b)
{
    return !a->hero != !b->hero && fuse_count(&w->atoms, &a->space) == fuse_count(&w->atoms, &b->space);
}

/* Is one kernel sure to take less time than two, or do prices say so? */
static bool agrees(FuseWork *w, uint32_t x, uint32_t y)
{
    const FuseKernel *a = &w->kernels.items[x], *b = &w->kernels.items[y];
    double two = 0, one = 0;
    if (of_terms(w, a, b) || !is_shorter(w, a, 1) || !is_shorter(w, b, 1)) {
        if (!w->prices) return false;
        const FuseKernel all = fuse_both(w, a, b);
        const double of_a = fuse_kernel_seconds(w, a), of_b = of_a > 0 ? fuse_kernel_seconds(w, b) : 0;
        two = of_a + of_b, one = of_b > 0 ? fuse_kernel_seconds(w, &all) : 0;
        if (one <= 0 || one > two * (1 - w->rates->edges[FUSE_BESIDE].save)) return false;
    }
    const HloInstruction *later = w->c->instructions[WBB_MAX(a->roots.items[0], b->roots.items[0])];
    if (two > 0 && !fuse_choose(w, later, FUSE_BESIDE, true)) return false;
    w->merged = w->merged || two > 0;
    if (!w->explain) return true;
    wbb_putf(w->explain, "  the kernels of %s and %s, which do not need each other, become one",
             fuse_kernel_name(w, x), fuse_kernel_name(w, y));
    if (two > 0) wbb_putf(w->explain, ": %.2f us for %.2f us", one * 1e6, two * 1e6);
    wbb_put(w->explain, "\n");
    return true;
}

static void merge_beside(FuseWork *w)
{
    const double most = w->prices ? w->rates->beside : 1;
    bool *is_candidate = WBB_NEW_N(w->arena, bool, w->kernels.n + 1);
    for (uint32_t k = 0; k < w->kernels.n; k++) is_candidate[k] = is_shorter(w, &w->kernels.items[k], most);
    w->agrees = agrees;
    for (uint32_t x = 0; x < w->kernels.n; x++) {
        uint32_t tried = 0;
        for (uint32_t y = x + 1; y < w->kernels.n && is_candidate[x] && tried < w->rates->neighbours; y++) {
            const FuseKernel *a = &w->kernels.items[x], *b = &w->kernels.items[y];
            if (!is_candidate[y]) continue;
            const bool terms = of_terms(w, a, b);
            const FusePos p = terms || b->hero ? a->space : fuse_kept(w, a);
            const FusePos q = terms || a->hero ? b->space : fuse_kept(w, b);
            if (fuse_count(&w->atoms, &p) != fuse_count(&w->atoms, &q)) continue;
            tried++;
            if (fuse_merge(w, x, y, &p, &q)) continue;
            const uint32_t gone = w->kernels.items[x].into ? x : y, stays = gone == x ? y : x;
            is_candidate[gone] = false;
            is_candidate[stays] = is_shorter(w, &w->kernels.items[stays], most);
        }
    }
    w->agrees = NULL;
}

const FuseMove fuse_move_beside = {.merge = merge_beside};
