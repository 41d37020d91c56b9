/* loop_functions.c: a loop over elements whose threads have elements that are whole rows apart, as functions that take
 * long are the same in all of them.
 *
 * Needs a loop's layout with a vector a thread. Leaves one in which a thread has several, whole rows apart, where most
 * of its instructions compute what depends on no row, such as the sine of a position, and take longer than memory.
 *
 *     x[4096,1024] * sin(iota[1024])    elements: vector 4, lane 32, warp 4, grid 8192
 *                                 =>    elements: vector 4, lane 32, warp 4, grid 2048, register 4
 */
#include "partition/loop_choice.h"

/* Instructions of an element; those of them that are the same in all rows of the first dimension. */
typedef struct {
    double all, shared;
} Slots;

/* What a position of the space, the slowest dimension first, is as an index of the output. */
static void root_index(const PartRange *range, const PartExchange *x, const PartWalk *w, const HloShape *root,
                       IrRef *index)
{
    const HloShape *own = range->space;
    if (range->stages[0].kind == PART_ELEMENTS) {
        ix_delinear(w->rw, root, ix_linear(w->rw, x->space, w->at), index);
        return;
    }
    for (uint32_t d = 0; d < own->rank; d++) index[own->minor_to_major[own->rank - 1 - d]] = w->at[d];
}

/* vector: elements side by side of a thread. */
static Slots slots_of(const PartExchange *x, const PartPlan *p, const PartRange *range, const TgTarget *t,
                      double vector)
{
    const PartStage *s = &range->stages[0];
    const HloShape *space = x->space;
    PartWalk w = {.a = x->a, .p = p, .rw = p->rw, .t = t, .space = part_exchange_groups(x->a, space),
                  .n_space = space->rank, .shape = space,
                  .stop = WBB_NEW_N(x->a, bool, p->fusion->body->n_instructions + 1u)};
    Slots sum = {0};
    part_walk_begin(&w);
    for (uint32_t o = 0; o < s->n_outputs; o++) {
        IrRef index[HLO_RANK_LIMIT];
        const PartValue root = p->roots[s->outputs[o]];
        root_index(range, x, &w, part_shape(root.i, root.part), index);
        part_walk_need(&w, root, index);
    }
    part_walk_run(&w);
    for (uint32_t k = 0; k < w.needs.n && w.complete; k++) {
        const PartNeed *need = &w.needs.items[k];
        const HloShape *of = part_shape(need->value.i, need->value.part);
        const double slots = part_cost_of(t, need->value.i).slots * need->times;
        if (slots == 0) continue;
        const IrRef at = ix_linear(w.rw, of, need->index);
        const int64_t *step = part_access_of(&w, of, at, need).step;
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
    const int64_t vector = part_size(d, PART_VECTOR), all = range->elements, block = part_loop_block(&near);
    const int64_t least = tg_tuned(t, "loop.min_threads") * vector;
    elements.kind = PART_ELEMENTS, space.stages = &elements; /* an operand of a concatenate has a space as well */
    if (s->kind != PART_ELEMENTS && s->kind != PART_CONCATENATE) return false;
    if (!tg_find_rate(t, "clock") || all < 2 * least || part_size(d, PART_REGISTER) > 1) return false;
    if (!part_loop_space(a, p, &space, t, &x) || x.space->rank < 2) return false;
    const Slots each = slots_of(&x, p, range, t, (double)vector);
    const double slot = /* microseconds of one instruction of every element */
        1e6 * (double)all / (tg_rate(t, "issue")->value * t->warp * tg_rate(t, "clock")->value * t->sms);
    const int64_t most = WBB_MIN(tg_tuned(t, "loop.max_bytes") / WBB_MAX(bytes * vector, 1), tg_tuned(t, "loop.rows"));
    const double dram = 1e6 * (double)(bytes * all) / tg_rate(t, "dram")->value, rest = each.all - each.shared;
    if (2 * each.shared < each.all || 2 * each.all * slot < dram) return false;
    int64_t best = 1;
    for (int64_t n = 2; n <= most && n <= x.space->dims[0] && all >= n * least; n *= 2) {
        if (each.shared * 2 / (double)n <= rest || 2 * (rest + each.shared * 2 / (double)n) * slot < dram) break;
        if (x.space->dims[0] % n == 0 && all / n % block == 0) best = n;
    }
    if (best == 1) return false;
    s->layout = part_rows_layout(a, &near, best, all / best);
    range->blocks = (uint32_t)(all / best / block);
    s->why_register = wbb_format(a, "whole rows apart share %.3g of %.3g instructions, which compute the same in them",
                                 each.shared, each.all);
    return true;
}
