/* loop_windows.c: a loop over elements that need windows of an array: shifted slices of it, padded or not, added up.
 *
 * Needs a loop's layout; leaves one whose threads have vectors of neighbouring rows, if that takes less time: what
 * windows of neighbours share is loaded once. A block has a row, so that a thread's next vector is in the next row.
 *
 *     y[2048,1024] = x[i] + x[i + 1] + x[i + 2]    elements: vector 4, lane 32, warp 4, grid 4096
 *                                            =>    elements: vector 4, lane 32, warp 8, register 4, grid 512
 */
#include "partition/exchange.h"
#include "price/time.h"

/* An array of as many elements in memory that a light value is made of; NULL: there is none. */
static const HloInstruction *array_below(const HloInstruction *i, int64_t elements)
{
    const HloInstruction *found = NULL;
    if (i->opcode == HLO_PARAMETER) return hlo_elements(i->shape) >= elements ? i : NULL;
    for (uint32_t k = 0; k < i->n_operands && !found; k++) found = array_below(i->operands[k], elements);
    return found;
}

const bool *part_window_pads(WbbArena *a, const HloComputation *body, const int64_t *work, int64_t light)
{
    bool *out = WBB_NEW_N(a, bool, body->n_instructions + 1);
    const HloInstruction **of = WBB_NEW_N(a, const HloInstruction *, body->n_instructions + 1);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (!hlo_is_border(i) || work[i->operands[0]->id] > light) continue;
        of[k] = array_below(i->operands[0], hlo_elements(i->operands[0]->shape));
        out[k] = of[k] && i->n_users > 1;
        for (uint32_t j = 0; j < k; j++)
            if (of[k] && of[j] == of[k]) out[j] = out[k] = true;
    }
    return out;
}

/* Do elements of neighbouring rows need the same ones of an array? */
static bool has_windows(const PartWork *w)
{
    for (uint32_t k = 0; k < w->n_loads; k++)
        for (uint32_t d = 0; w->loads[k].gap && d + 1 < w->n_dims; d++)
            if (w->loads[k].gap[d] && w->loads[k].step[d] > 1) return true;
    return false;
}

/* n vectors of a thread are so many elements apart, which the threads of a block have. */
static PartLayout layout_of(WbbArena *a, const PartLayout *near, const TgTarget *t, int64_t row, int64_t vector,
                            int64_t n)
{
    PartDim *d = WBB_NEW(a, PartDim);
    PartLayout l = *near;
    *d = near->dims[0], d->n_factors = 0, l.dims = d;
    part_add_factor(d, PART_VECTOR, vector);
    part_add_factor(d, PART_LANE, t->warp);
    part_add_factor(d, PART_WARP, row / vector / t->warp);
    part_add_factor(d, PART_REGISTER, n);
    part_add_factor(d, PART_GRID, d->size / row / n);
    return l;
}

enum { LEAST = 8 }; /* bytes of an access of a thread */

/* The least bytes of an element that is read or stored. */
static int64_t narrow_of(const PartWork *w)
{
    int64_t least = LEAST;
    for (uint32_t k = 0; k < w->n_loads + w->n_stores; k++) {
        const PartAccess *x = k < w->n_loads ? &w->loads[k] : &w->stores[k - w->n_loads];
        least = WBB_MIN(least, WBB_MAX(x->bits / 8, 1));
    }
    return least;
}

/* Bytes of n rows that a block comes back to, as elements beside a vector are in others' vectors; 0: it does not. */
static int64_t beside(const PartWork *w, uint32_t minor, int64_t row, int64_t n)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < w->n_loads; k++) {
        const PartAccess *x = &w->loads[k];
        if (x->gap && x->gap[minor] && x->gap[minor] < row && x->step[minor] == 1)
            sum = WBB_MAX(sum, row * n * x->bits / 8);
    }
    return sum;
}

bool part_loop_windows(WbbArena *a, const PartPlan *p, PartRange *range, const TgTarget *t, int64_t limit)
{
    PartStage *s = &range->stages[0];
    PartExchange x;
    const PartLayout near = s->layout;
    const int64_t usual = part_size(&near.dims[0], PART_VECTOR), threads = tg_tuned(t, "loop.min_threads");
    if (!tg_find_rate(t, "clock") || !part_loop_space(a, p, range, t, &x)) return false;
    uint32_t minor = x.space->rank; /* .. + 1 */
    while (minor > 1 && x.space->dims[minor - 1] == 1) minor--;
    if (minor < 2) return false;
    const int64_t row = x.space->dims[minor - 1], rows = x.space->dims[minor - 2];
    const PartWork work = part_loop_work(&x);
    if (!has_windows(&work)) return false;
    const PartRates *rates = part_rates(a, t);
    const double us = part_loop_price(a, rates, &work, &near).us;
    double best = us * (double)(1000 - tg_tuned(t, "loop.rows_tie")) / 1000;
    bool found = false;
    for (int64_t v = usual; v >= WBB_MAX(usual / 2, 1); v /= 2) {
        if (v != usual && (v % 2 || v * narrow_of(&work) < LEAST)) continue;
        if (row % (v * t->warp) || row / v > TG_MAX_THREADS || v % s->packed_group) continue;
        const int64_t blocks = price_occupancy(t, (uint64_t)(row / v), 0, 0, 0).blocks; /* of an SM */
        for (int64_t n = 2; n * v <= limit && rows % n == 0 && range->elements >= n * v * threads; n *= 2) {
            const PartLayout l = layout_of(a, &near, t, row, v, n);
            if (blocks * beside(&work, minor - 1, row, n) > tg_tuned(t, "loop.windows")) break;
            const double of_rows = part_loop_price(a, rates, &work, &l).us;
            if (of_rows >= best) continue;
            best = of_rows, found = true, s->layout = l;
            if (v != usual) s->why_vector = "fewer elements, of more rows";
            range->blocks = (uint32_t)(range->elements / row / n);
            s->why_register = wbb_format(a, "neighbouring rows share what their windows do: %.2f us instead of %.2f",
                                         of_rows, us);
        }
    }
    return found;
}
