/* loop_windows.c: a loop over elements that need windows of an array: shifted slices of it, padded or not, added up.
 *
 * Needs a loop's layout; leaves those whose threads have vectors of neighbouring rows, to be priced: what windows of
 * neighbours share is loaded once. A block has a row, so that a thread's next vector is in the next row.
 *
 *     y[2048,1024] = x[i] + x[i + 1] + x[i + 2]    elements: vector 4, lane 32, warp 4, grid 4096
 *                                            =>    elements: vector 4, lane 32, warp 8, register 4, grid 512
 */
#include "plan/loop_choice.h"
#include "plan/work.h"
#include "price/time.h"

/* An array of as many elements in memory that a light value is made of; NULL: there is none. */
static const HloInstruction *array_below(const HloInstruction *i, int64_t elements)
{
    const HloInstruction *found = NULL;
    if (i->opcode == HLO_PARAMETER) return hlo_elements(i->shape) >= elements ? i : NULL;
    for (uint32_t k = 0; k < i->n_operands && !found; k++) found = array_below(i->operands[k], elements);
    return found;
}

const bool *plan_window_pads(WbbArena *a, const HloComputation *body, const int64_t *work, int64_t light)
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

bool plan_has_windows(const LayWork *w)
{
    for (uint32_t k = 0; k < w->n_loads; k++)
        for (uint32_t d = 0; w->loads[k].gap && d + 1 < w->n_dims; d++)
            if (w->loads[k].gap[d] && w->loads[k].step[d] > 1) return true;
    return false;
}

/* The fastest dimension of the space that has more than one element, + 1; 0 or 1: it has no rows. */
static uint32_t minor_of(const HloShape *space)
{
    uint32_t minor = space->rank;
    while (minor > 1 && space->dims[minor - 1] == 1) minor--;
    return minor;
}

/* The vectors of a thread are a row apart, which the threads of a block have. */
Layout plan_window_layout(WbbArena *a, const Layout *near, const TgTarget *t, const HloShape *space,
                          int64_t vector, int64_t n)
{
    const int64_t row = space->dims[minor_of(space) - 1];
    LayDim *d = WBB_NEW(a, LayDim);
    Layout l = *near;
    *d = near->dims[0], d->n_factors = 0, l.dims = d;
    lay_add_factor(d, LAY_VECTOR, vector);
    lay_add_factor(d, LAY_LANE, t->warp);
    lay_add_factor(d, LAY_WARP, row / vector / t->warp);
    lay_add_factor(d, LAY_REGISTER, n);
    lay_add_factor(d, LAY_GRID, d->size / row / n);
    return l;
}

/* The least bytes of an element that is read or stored, at most so many. */
static int64_t narrow_of(const LayWork *w, int64_t least)
{
    for (uint32_t k = 0; k < w->n_loads + w->n_stores; k++) {
        const LayAccess *x = k < w->n_loads ? &w->loads[k] : &w->stores[k - w->n_loads];
        least = WBB_MIN(least, WBB_MAX(x->bits / 8, 1));
    }
    return least;
}

/* Bytes of n rows that a block comes back to, as elements beside a vector are in others' vectors; 0: it does not. */
static int64_t beside(const LayWork *w, uint32_t minor, int64_t row, int64_t n)
{
    int64_t sum = 0;
    for (uint32_t k = 0; k < w->n_loads; k++) {
        const LayAccess *x = &w->loads[k];
        if (x->gap && x->gap[minor] && x->gap[minor] < row && x->step[minor] == 1)
            sum = WBB_MAX(sum, row * n * x->bits / 8);
    }
    return sum;
}

bool plan_windows_fit(const LayWork *w, const PlanExchange *x, const PlanLoopChoice *c, uint32_t vector, int64_t n)
{
    const TgTarget *t = x->t;
    const uint32_t minor = minor_of(x->space);
    if (minor < 2) return false;
    const int64_t row = x->space->dims[minor - 1], rows = x->space->dims[minor - 2], v = vector;
    const int64_t least = tg_tuned(t, "loop.narrow"); /* bytes of an access */
    if (v != c->vector && (v % 2 || v * narrow_of(w, least) < least)) return false;
    if (row % (v * t->warp) || row / v > TG_MAX_THREADS || v % c->s->packed_group) return false;
    const int64_t blocks = price_occupancy(t, (uint64_t)(row / v), 0, 0, 0).blocks; /* of an SM */
    return rows % n == 0 && c->r->elements >= n * v * tg_tuned(t, "loop.min_threads") &&
           blocks * beside(w, minor - 1, row, n) <= tg_tuned(t, "loop.windows");
}
