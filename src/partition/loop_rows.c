/* loop_rows.c: a loop over elements whose threads have elements that are whole rows apart.
 *
 * Needs a loop's layout, of which the vectors of a thread are neighbours of those of other threads; leaves one of which
 * they are rows of the space apart, if that takes less time. What is the same in all rows, as a bias is, is then loaded
 * once for all vectors of a thread, where it would be asked of L2 for each.
 *
 *     x[4096,1024] + bias[1024]    elements: vector 4, lane 32, warp 4, register 4, grid 2048
 *                             =>   elements: vector 4, lane 32, warp 4, grid 2048, register 4
 */
#include "partition/exchange.h"

#include "ir/facts.h"

typedef struct {
    const PartExchange *x;
    const PartRates *rates;
    PartWork work;
    const PartLayout *near; /* the layout that it had */
    int64_t elements, block; /* all; those that a block has at once */
    int64_t over;           /* elements that threads may count beyond the last one, per mille */
} Rows;

static int64_t common_multiple(int64_t x, int64_t y)
{
    return x / (int64_t)ir_gcd((uint64_t)x, (uint64_t)y) * y;
}

/* How far apart n vectors of a thread are: a multiple of what a block has, and of rows of as many of the space's
 * dimensions as are possible. 0: there is no such distance. */
static int64_t distance(const Rows *r, int64_t n)
{
    const HloShape *space = r->x->space;
    int64_t row = r->elements;
    for (uint32_t d = 0; d + 1 < space->rank; d++) {
        row /= space->dims[d];
        if (row == 1) break;
        const int64_t unit = common_multiple(row, r->block), apart = part_up(r->elements, n * unit) * unit;
        if ((n - 1) * apart < r->elements && (n * apart - r->elements) * 1000 <= r->over * r->elements) return apart;
    }
    return 0;
}

static PartLayout layout_of(const Rows *r, int64_t n, int64_t apart)
{
    PartDim *d = WBB_NEW(r->x->a, PartDim);
    *d = r->near->dims[0];
    d->n_factors = 0;
    for (uint32_t k = 0; k < r->near->dims[0].n_factors; k++) {
        const PartFactor *f = &r->near->dims[0].factors[k];
        if (f->level != PART_REGISTER && f->level != PART_GRID) d->factors[d->n_factors++] = *f;
    }
    if (apart > r->block) d->factors[d->n_factors++] = (PartFactor){.level = PART_GRID, .size = apart / r->block};
    d->factors[d->n_factors++] = (PartFactor){.level = PART_REGISTER, .size = n};
    PartLayout l = *r->near;
    l.dims = d;
    return l;
}

/* Is there an array that several elements of the loop read? */
static bool has_shared(const PartPlan *p, const bool *read, int64_t elements)
{
    for (uint32_t k = 0; k < p->n_operands; k++)
        if (read[k] && p->buffers[k].elements > 1 && p->buffers[k].elements < elements) return true;
    return false;
}

bool part_loop_rows(WbbArena *a, const PartPlan *p, PartRange *range, const TgTarget *t, const bool *read,
                    int64_t most_vectors)
{
    PartStage *s = &range->stages[0];
    PartExchange x;
    const PartLayout near = s->layout;
    const PartDim *d = &near.dims[0];
    const int64_t vector = part_size(d, PART_VECTOR), lanes = part_size(d, PART_LANE), warps = part_size(d, PART_WARP);
    Rows r = {.x = &x, .near = &near, .elements = range->elements, .block = vector * lanes * warps};
    const int64_t least = tg_tuned(t, "loop.min_threads") * vector; /* elements of all threads at once */
    if (!tg_find_rate(t, "clock") || r.elements < 2 * least || !has_shared(p, read, r.elements)) return false;
    if (!part_loop_space(a, p, range, t, &x)) return false;
    r.rates = part_rates(a, t);
    r.work = part_loop_work(&x);
    PartPrice of_near = part_loop_price(a, r.rates, &r.work, r.near);
    part_price_blocks(r.rates, &of_near, 0); /* what is shared is to pay, not that fewer blocks start */
    const double us = of_near.us;
    double best = us * (double)(1000 - tg_tuned(t, "loop.rows_tie")) / 1000;
    bool found = false;
    for (int exact = 1; exact >= 0 && !found; exact--) { /* a vector under a mask loads what it shares once more */
        r.over = exact ? 0 : tg_tuned(t, "loop.rows_over");
        for (int64_t n = 2; n <= most_vectors && r.elements >= n * least; n *= 2) {
            const int64_t apart = distance(&r, n);
            if (!apart) continue;
            const PartLayout l = layout_of(&r, n, apart);
            const double of_rows = part_loop_price(a, r.rates, &r.work, &l).us;
            if (of_rows >= best) continue;
            best = of_rows, found = true, s->layout = l;
            range->blocks = (uint32_t)(apart / r.block);
            s->why_register = wbb_format(a, "whole rows apart share what is the same in them: %.2f us instead of %.2f",
                                         of_rows, us);
        }
    }
    return found;
}
