/* loop_rows.c: a loop over elements whose threads have elements that are whole rows apart.
 *
 * Needs a loop's layout in which a thread's vectors lie side by side with those of its neighbours. Leaves one in which
 * a thread's vectors lie whole rows apart, if that takes less time: a thread then loads a value that all rows share,
 * such as a bias, once for all its vectors, and computes a function of such a value, such as the sine of a position,
 * once.
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

static Rows rows_of(const PartExchange *x, const PartLayout *near, int64_t elements)
{
    const PartDim *d = &near->dims[0];
    const int64_t block = part_size(d, PART_VECTOR) * part_size(d, PART_LANE) * part_size(d, PART_WARP);
    return (Rows){.x = x, .near = near, .elements = elements, .block = block};
}

/* Elements that all threads have at once, at least. */
static int64_t least_of(const Rows *r, const TgTarget *t)
{
    return tg_tuned(t, "loop.min_threads") * part_size(&r->near->dims[0], PART_VECTOR);
}

/* Is there an array that several elements of the loop read? */
static bool has_shared(const PartPlan *p, const bool *read, int64_t elements)
{
    for (uint32_t k = 0; k < p->n_operands; k++)
        if (read[k] && p->buffers[k].elements > 1 && p->buffers[k].elements < elements) return true;
    return false;
}

bool part_loop_rows(WbbArena *a, const PartPlan *p, PartRange *range, const TgTarget *t, const bool *read,
                    int64_t limit)
{
    PartStage *s = &range->stages[0];
    PartExchange x;
    const PartLayout near = s->layout;
    Rows r = rows_of(&x, &near, range->elements);
    const int64_t most_vectors = WBB_MIN(limit, tg_tuned(t, "loop.rows")), least = least_of(&r, t);
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

/* --- functions ---------------------------------------------------------------------------------------------------- */
/* Instructions of an element; those of them that are the same in all rows of the first dimension. */
typedef struct {
    double all, shared;
} Slots;

/* What a position of the space, the slowest dimension first, is as an index of the output. */
static void root_index(const PartRange *range, const Rows *r, const PartWalk *w, const HloShape *root, IrRef *index)
{
    const HloShape *own = range->space;
    if (range->stages[0].kind == PART_ELEMENTS) {
        ix_delinear(w->rw, root, ix_linear(w->rw, r->x->space, w->at), index);
        return;
    }
    for (uint32_t d = 0; d < own->rank; d++) index[own->minor_to_major[own->rank - 1 - d]] = w->at[d];
}

static Slots slots_of(const Rows *r, const PartPlan *p, const PartRange *range, const TgTarget *t)
{
    const PartStage *s = &range->stages[0];
    const HloShape *space = r->x->space;
    const double vector = (double)part_size(&r->near->dims[0], PART_VECTOR);
    PartWalk w = {.a = r->x->a, .p = p, .rw = p->rw, .t = t, .space = part_exchange_groups(r->x->a, space),
                  .n_space = space->rank, .shape = space,
                  .stop = WBB_NEW_N(r->x->a, bool, p->fusion->body->n_instructions + 1u)};
    Slots sum = {0};
    part_walk_begin(&w);
    for (uint32_t o = 0; o < s->n_outputs; o++) {
        IrRef index[HLO_RANK_LIMIT];
        const PartValue root = p->roots[s->outputs[o]];
        root_index(range, r, &w, part_shape(root.i, root.part), index);
        part_walk_need(&w, root, index);
    }
    part_walk_run(&w);
    for (uint32_t k = 0; k < w.needs.n && w.complete; k++) {
        const PartNeed *x = &w.needs.items[k];
        const HloShape *of = part_shape(x->value.i, x->value.part);
        const double slots = part_cost_of(t, x->value.i).slots * x->times;
        if (slots == 0) continue;
        const int64_t *step = part_access_of(&w, of, ix_linear(w.rw, of, x->index), x->far, x->anywhere).step;
        bool moves = false; /* else it is one value for the whole loop */
        for (uint32_t d = 0; d < space->rank; d++) moves = moves || step[d];
        const double each = step[space->rank - 1] ? slots : slots / vector;
        sum.all += moves ? each : 0;
        sum.shared += moves && !step[0] ? each : 0;
    }
    return w.complete ? sum : (Slots){0};
}

bool part_loop_functions(WbbArena *a, const PartPlan *p, PartRange *range, const TgTarget *t, int64_t bytes)
{
    PartStage *s = &range->stages[0], elements = *s;
    PartRange space = *range;
    PartExchange x;
    const PartLayout near = s->layout;
    const PartDim *d = &near.dims[0];
    const int64_t vector = part_size(d, PART_VECTOR);
    elements.kind = PART_ELEMENTS, space.stages = &elements; /* an operand of a concatenate has a space as well */
    const Rows r = rows_of(&x, &near, range->elements);
    const int64_t least = least_of(&r, t);
    if (s->kind != PART_ELEMENTS && s->kind != PART_CONCATENATE) return false;
    if (!tg_find_rate(t, "clock") || r.elements < 2 * least || part_size(d, PART_REGISTER) > 1) return false;
    if (!part_loop_space(a, p, &space, t, &x) || x.space->rank < 2) return false;
    const Slots each = slots_of(&r, p, range, t);
    const double slot = /* microseconds of one instruction of every element */
        1e6 * (double)r.elements / (tg_rate(t, "issue")->value * t->warp * tg_rate(t, "clock")->value * t->sms);
    const int64_t most = WBB_MIN(tg_tuned(t, "loop.max_bytes") / WBB_MAX(bytes * vector, 1), tg_tuned(t, "loop.rows"));
    const double dram = 1e6 * (double)(bytes * r.elements) / tg_rate(t, "dram")->value, rest = each.all - each.shared;
    if (2 * each.shared < each.all || 2 * each.all * slot < dram) return false;
    int64_t best = 1;
    for (int64_t n = 2; n <= most && n <= x.space->dims[0] && r.elements >= n * least; n *= 2) {
        if (each.shared * 2 / (double)n <= rest || 2 * (rest + each.shared * 2 / (double)n) * slot < dram) break;
        if (x.space->dims[0] % n == 0 && r.elements / n % r.block == 0) best = n;
    }
    if (best == 1) return false;
    s->layout = layout_of(&r, best, r.elements / best);
    range->blocks = (uint32_t)(r.elements / best / r.block);
    s->why_register = wbb_format(a, "whole rows apart share %.3g of %.3g instructions, which compute the same in them",
                                 each.shared, each.all);
    return true;
}
