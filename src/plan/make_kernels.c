/* make_kernels.c: strategies whose kernels compute the whole fusion: threads that share terms, sort, scan, combine
 * updates, or have elements of their own.
 *
 * Needs what is known of the fusion; leaves a plan, or why there is none.
 *
 *     gelu bf16[6,512,4096]   share: no reduction; loop: elements: vector 8, lane 32, warp 4, grid 12288
 */
#include "plan/sort.h"
#include "plan/strategies.h"

#include <string.h>

/* --- threads that share ------------------------------------------------------------------------------------------- */
/* A kernel with a tile in place of one of the loops beside threads that share, where that takes less. */
static void exchange_rest(PlanTry *x, const Plan *p, PlanKernel *k)
{
    const TgStrategy *row = plan_row(x->t, exchange);
    PlanKernel tile = *k;
    tile.ranges = WBB_NEW_N(x->a, PlanRange, k->n_ranges + 1);
    for (uint32_t n = 0; n < k->n_ranges; n++) tile.ranges[n] = k->ranges[n];
    if (row->off || !plan_exchange(x->cx, x->a, p, &tile, x->t)) return;
    const LayPrice own = plan_kernel_price(x->a, p, &tile, x->t);
    if (plan_takes_less(x->t, row, NULL, &own, tile.ranges[0].tile->loop)) *k = tile;
}

/* A kernel for each range, and one for the outputs that need no reduction. */
static void share_kernels(PlanTry *x, Plan *p, PlanRange **shared, uint32_t n, const bool *others)
{
    const char *layout = x->options->layout;
    bool rest = false;
    for (uint32_t o = 0; others && o < p->n_outputs; o++) rest = rest || others[o];
    if (layout && n + rest > 1) lay_fail(x->cx, 1, "%u kernels take no given layout", n + rest);
    p->n_kernels = n + rest;
    p->kernels = WBB_NEW_N(x->a, PlanKernel, p->n_kernels);
    if (rest) {
        PlanKernel *k = &p->kernels[n];
        *k = plan_ranges(x->a, p, x->t, x->updates, others);
        plan_choose(x->cx, x->a, p, k, x->t, NULL);
        exchange_rest(x, p, k);
    }
    for (uint32_t k = 0; k < n; k++) {
        p->kernels[k] = plan_share(x->cx, x->a, p, shared[k], x->t, layout);
        if (layout) plan_price_given(x->a, p, shared[k], x->t);
    }
    for (uint32_t k = 0; k < p->n_kernels; k++) p->kernels[k].number = k;
}

/* Kernels of these ranges, if each has a legal layout. */
static bool of_ranges(PlanTry *x, Plan *p, PlanRange **ranges, uint32_t n, const bool *others, bool *reduced)
{
    if (plan_only_asked(x)) return false;
    p->reduced = reduced;
    plan_check(x->cx, x->a, p, x->t, false);
    plan_check(x->cx, x->a, p, x->t, true);
    plan_begin_kernels(x, p);
    if (plan_is_in_place(p))
        return plan_not(x, "an operand would be read again after an output in its place is written");
    for (uint32_t k = 0; k < n && !x->options->layout; k++)
        if (!plan_choose_shared(x->a, p, ranges[k], x->t))
            return plan_not(x, "no layout is legal, or a computation is not associative");
    share_kernels(x, p, ranges, n, others);
    return true;
}

static bool share(PlanTry *x, Plan *p, bool alone)
{
    const PlanSharing *s = plan_know_sharing(x, alone);
    if (x->scatters || x->scanned)
        return plan_not(x, x->scatters ? "beside a scatter threads share no terms" : "a scan or sort shares otherwise");
    if (!s->n) return plan_not(x, "it has no reduction whose results are all needed at their own kept elements");
    return of_ranges(x, p, s->ranges, s->n, s->others, s->reduced);
}

bool plan_make_share(PlanTry *x, Plan *p) { return share(x, p, false); }

bool plan_make_share_alone(PlanTry *x, Plan *p)
{
    if (plan_know_sharing(x, false)->n) return plan_not(x, "threads would share all reductions, as in share");
    return share(x, p, true);
}

/* The one kernel of a fusion whose last results are sums across rows. */
bool plan_make_sums(PlanTry *x, Plan *p)
{
    const uint32_t n = x->options->column_sums;
    PlanRange *r = n ? plan_shared_across(x->a, p, x->t, n) : NULL;
    if (!r) return plan_not(x, n ? "its columns are not those of the rows" : "no plan of rows and columns asks for it");
    plan_check(x->cx, x->a, p, x->t, true);
    if (!plan_choose_shared(x->a, p, r, x->t)) return plan_not(x, "no layout is legal");
    share_kernels(x, p, &r, 1, NULL);
    return true;
}

/* --- scatters, sorts, scans --------------------------------------------------------------------------------------- */
bool plan_make_scatter(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    if (!x->scatters) return plan_not(x, "it has no scatter");
    plan_check(x->cx, x->a, p, x->t, false);
    plan_check(x->cx, x->a, p, x->t, true);
    plan_scatter(x->cx, x->a, p, x->t, plan_begin_kernels(x, p), x->options->layout);
    return true;
}

bool plan_make_sort(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    if (!x->scanned || x->hero->opcode != HLO_SORT) return plan_not(x, "it is no sort with what follows from it");
    p->reduced = x->scanned_reduced;
    plan_check(x->cx, x->a, p, x->t, false);
    plan_check(x->cx, x->a, p, x->t, true);
    plan_begin_kernels(x, p);
    if (x->options->layout) lay_fail(x->cx, 1, "a sort takes no layout");
    plan_sort(x->cx, x->a, p, x->scanned, x->t);
    return true;
}

bool plan_make_scan(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    if (!x->scanned || x->hero->opcode == HLO_SORT) return plan_not(x, "it is no scan with what follows from it");
    return of_ranges(x, p, &x->scanned, 1, NULL, x->scanned_reduced);
}

/* --- loops -------------------------------------------------------------------------------------------------------- */
bool plan_has_few_warps(const PlanKernel *k, const TgTarget *t, int64_t warps)
{
    return (int64_t)k->grid * k->block <= (int64_t)t->sms * tg_schedulers(t) * t->warp * warps;
}

/* Where a scheduler has one warp at most, it has issue slots to spare, and a branch that parts the warp waits for
 * memory once more: both ways are computed. */
static void select_where_few(Plan *p, const TgTarget *t)
{
    if (plan_has_few_warps(&p->kernels[0], t, 1))
        p->select_nodes = (uint32_t)tg_tuned(t, "select.few_warps");
}

/* The kernel of a plan that is begun, as a loop. */
static void as_loop(PlanTry *x, Plan *p, const char *layout)
{
    p->kernels[0] = plan_ranges(x->a, p, x->t, x->updates, NULL);
    plan_choose(x->cx, x->a, p, &p->kernels[0], x->t, layout);
}

static bool asks_for_exchange(const PlanTry *x)
{
    return x->options->layout && !strcmp(x->options->layout, "exchange");
}

/* How long a thread may take is no question where the strategies are left out that would take less. */
static bool loop(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    if (x->found && (x->scatters || x->scanned))
        return plan_not(x, "its scan, sort or scatter has a kernel");
    if (plan_only_asked(x)) return false;
    plan_check(x->cx, x->a, p, x->t, false);
    if (!tg_leaves_out(x->t)) plan_check(x->cx, x->a, p, x->t, true);
    plan_begin_kernels(x, p);
    as_loop(x, p, asks_for_exchange(x) ? NULL : x->options->layout);
    select_where_few(p, x->t);
    return true;
}

bool plan_make_loop(PlanTry *x, Plan *p) { return loop(x, p); }

bool plan_make_steps(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    PlanSteps *steps = plan_know_steps(x) ? x->steps : NULL;
    if (!steps) return plan_not(x, "it has no loop that keeps a result of each iteration");
    if (x->hero || x->scatters) return plan_not(x, "beside a scan, sort or scatter threads have no steps");
    if (plan_know_sharing(x, false)->n || plan_know_sharing(x, true)->n)
        return plan_not(x, "threads would share its reductions");
    if (!plan_fit_steps(x->a, p, steps, false)) return plan_not(x, "an output does not follow from steps one by one");
    plan_begin_kernels(x, p);
    if (plan_is_in_place(p)) return plan_not(x, "an output has the memory of an operand");
    p->steps = steps;
    return loop(x, p);
}

/* --- rivals: a thread in place of threads that share -------------------------------------------------------------- */
/* Results of few terms each that are stored in another order than their terms are read: a thread may combine those of a
 * result, and results go through a tile, where that takes less time than a shared range. */
bool plan_make_tile_results(PlanTry *x, Plan *p)
{
    if (!x->shared) return plan_not(x, "no kernel whose threads share");
    const int64_t most = tg_tuned(x->t, "layout.few_terms");
    const PlanStage *s = &x->shared->stages[0];
    int64_t terms = 1;
    for (uint32_t d = 0; d < s->n_space; d++)
        if (s->space[d].dim.reduced) terms = WBB_MIN(terms, most) * WBB_MIN(s->space[d].dim.size, most + 1);
    if (terms > most) return plan_not(x, "results have more terms than layout.few_terms");
    if (x->shared->n_stages > 2 || s->kind != PLAN_REDUCE || s->n_outputs)
        return plan_not(x, "its terms are read again, or stored");
    if (plan_only_asked(x)) return false;
    plan_begin_kernels(x, p);
    as_loop(x, p, NULL);
    if (!plan_exchange(x->cx, x->a, p, &p->kernels[0], x->t))
        return plan_not(x, "nothing is stored in another order than it is read");
    p->kind = "exchange";
    p->why_kind = "values are read in one order and stored in another, through a tile of shared memory";
    return true;
}

/* Terms that a thread takes of a reduction, which is computed `trips` times over: a single result is the same each
 * time, so that it is computed once. */
static int64_t own_terms(const HloInstruction *i, int64_t trips)
{
    return hlo_elements(plan_shape(i, 0)) == 1 ? hlo_elements(i->operands[0]->shape) : trips;
}

/* Is a thread that takes all terms by itself done before threads have told each other theirs? */
static bool is_sooner(PlanTry *x, int64_t terms)
{
    const PlanRange *shared = x->shared;
    if (shared->stages[shared->n_stages - 1].kind != PLAN_MAP) return false;
    const double told = plan_sharing_clocks(shared, x->t);
    const Layout *l = &shared->choice->best[0].layout;
    int64_t own = 1; /* terms of a result that a thread has: where it has all, it makes these elements as well */
    for (LayLevel k = LAY_VECTOR; k <= LAY_LOOP; k++) own *= lay_part(l, k, true);
    if (told == 0) return own == 1;
    return (double)(terms * tg_tuned(x->t, "layout.term")) < told;
}

/* A few elements whose reductions have a few terms, as the parameters of a small model in an optimiser's step. */
bool plan_make_loop_few(PlanTry *x, Plan *p)
{
    if (!x->shared) return plan_not(x, "no kernel whose threads share");
    const HloComputation *body = p->fusion->body;
    const int64_t *trips = plan_trips(x->a, body);
    int64_t terms = 0, stored = 0; /* of a thread; saturated */
    for (uint32_t k = 0; k < body->n_instructions; k++)
        if (trips[k] > 1 && body->instructions[k]->opcode == HLO_REDUCE)
            terms = WBB_MIN(terms, p->reduce_straight) + WBB_MIN(own_terms(body->instructions[k], trips[k]),
                                                                 p->reduce_straight + 1);
    for (uint32_t o = 0; o < p->n_outputs; o++)
        stored = WBB_MAX(stored, p->buffers[p->n_operands + o].elements);
    if (terms > p->reduce_straight) return plan_not(x, "a thread would take more terms than reduce.straight");
    if (stored > tg_tuned(x->t, "loop.block")) return plan_not(x, "it has more elements than a block has threads");
    if (!is_sooner(x, terms)) return plan_not(x, "threads that share terms are done as soon");
    plan_begin_kernels(x, p);
    as_loop(x, p, NULL);
    return true;
}

/* --- rivals: a tile in place of a loop ---------------------------------------------------------------------------- */
bool plan_make_exchange(PlanTry *x, Plan *p)
{
    const bool always = asks_for_exchange(x);
    const PlanKernel *k = x->found->kernels;
    const bool is_loop = x->found->n_kernels == 1 && !k->of && k->n_ranges == 1 && !k->ranges[0].hero &&
                         k->ranges[0].stages[0].kind == PLAN_ELEMENTS && !x->found->scattered;
    if (x->options->layout && !always) return plan_not(x, "the layout was given");
    if (is_loop && plan_only_asked(x)) return false;
    if (is_loop) {
        *p = *x->found;
        p->select_nodes = x->base->select_nodes;
        p->kernels = WBB_NEW(x->a, PlanKernel);
        p->kernels[0] = *k;
        p->kernels[0].ranges = WBB_NEW(x->a, PlanRange);
        p->kernels[0].ranges[0] = k->ranges[0];
        if (plan_exchange(x->cx, x->a, p, &p->kernels[0], x->t)) {
            p->kind = "exchange";
            p->why_kind = "values are read in one order and stored in another, through a tile of shared memory";
            select_where_few(p, x->t);
            return true;
        }
    }
    if (always) lay_fail(x->cx, 1, "exchange: nothing is read in another order, or no layout is legal");
    return plan_not(x, is_loop ? "nothing is read in another order, or no layout is legal" : "no loop");
}
