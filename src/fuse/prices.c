/* prices: what kernels of a computation take, each asked once.
 *
 * Needs: who knows what the text of a kernel takes. Leaves: what each group that is looked up takes, by its roots and
 * members, so that a grouping that is tried asks for the kernels alone that none before it had.
 *
 *     fuse_price(p, {roots y, members x y})     1.2e-6, planned the first time
 */
#include "fuse/priced.h"

FusePrices *fuse_prices(WbbCx *cx, WbbArena *a, const HloComputation *c, const FuseHow *how)
{
    FusePrices *p = WBB_NEW(a, FusePrices);
    *p = (FusePrices){.cx = cx, .arena = a, .c = c, .how = how, .numbers = {.arena = a}, .asks = true};
    return p;
}

/* Of a value in memory that a group reads: what the member that needs most of it needs. */
static double bytes_read(const FusePrices *p, const FuseGroup *g, const HloInstruction *x)
{
    double most = 0;
    for (uint32_t k = 0; k < g->n_members; k++)
        for (uint32_t o = 0; o < g->members[k]->n_operands; o++)
            if (g->members[k]->operands[o] == x)
                most = WBB_MAX(most, fuse_bytes_read(p->arena, &p->how->rates, g->members[k], o));
    return most;
}

FusePrice *fuse_price_of(FusePrices *p, const FuseGroup *g)
{
    WbbArena *scratch = wbb_arena_new(p->cx);
    uint32_t *key = WBB_NEW_N(scratch, uint32_t, g->n_roots + g->n_members + 1), n = 0;
    key[n++] = g->n_roots;
    for (uint32_t k = 0; k < g->n_roots; k++) key[n++] = g->roots[k]->id;
    for (uint32_t k = 0; k < g->n_members; k++) key[n++] = g->members[k]->id;
    WbbEntry *known = wbb_map_put_bytes(&p->numbers, key, n * sizeof *key);
    if (!known->value) {
        const FuseText t = fuse_write(scratch, p->c, g);
        const FuseRates *r = &p->how->rates;
        FusePrice x = {.text = wbb_format(p->arena, "%s", t.text), .least = r->launch};
        for (uint32_t k = 0; k < t.n_reads; k++) x.least += bytes_read(p, g, t.reads[k]) * r->byte;
        for (uint32_t k = 0; k < g->n_roots; k++) x.least += (double)hlo_bytes(g->roots[k]->shape) * r->byte;
        WBB_PUSH(p->arena, &p->kernels, x);
        known->value = p->kernels.n;
    }
    wbb_arena_free(scratch);
    return &p->kernels.items[known->value - 1];
}

double fuse_ask(FusePrices *p, FusePrice *x)
{
    if (!x->asked && p->asks) {
        x->seconds = p->how->seconds(p->how->arg, x->text);
        x->asked = true;
    }
    p->missed = p->missed || !x->asked;
    return x->seconds;
}

double fuse_price(FusePrices *p, const FuseGroup *g) { return fuse_ask(p, fuse_price_of(p, g)); }
