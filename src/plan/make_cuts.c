/* make_cuts.c: strategies that cut a fusion: the results of some instructions are in memory before the rest is
 * computed, and both parts are planned as if they were written so.
 *
 * Needs what is known of the fusion; leaves a plan that joins those of its parts, or why there is none.
 *
 *     s = f32[8,100] sort(x), {1}   ROOT r = f32[8,10] slice(s)     order: a plan of s, a plan of r
 */
#include "plan/given.h"
#include "plan/sort.h"
#include "plan/strategies.h"

static const char not_here[] =
    "its layout is given, an output must have the memory of an operand, or no result has elements";
static const char all_are_results[] = "it would be the same again: all results are among them";

static bool may_cut(const PlanTry *x)
{
    const HloInstruction *of = x->base->fusion->fusion;
    bool empty = true; /* what another launch would compute is of no use */
    for (uint32_t o = 0; o < x->base->n_outputs && empty; o++)
        empty = !hlo_elements(plan_shape(x->base->roots[o].i, x->base->roots[o].part));
    return !x->options->layout && !empty && !(of && hlo_attribute(x->a, of, "output_to_operand_aliasing"));
}

/* What part number `part` of the cut is planned with. */
static PlanOptions options_of(const PlanTry *x, int part)
{
    PlanOptions o = *x->options;
    o.without |= x->row->parts | (part ? 0 : x->row->first);
    o.given = NULL, o.layout = NULL;
    if (!x->given) return o;
    if (x->given->n_parts != 2)
        wbb_fail(x->cx, x->given->at, "%s cuts the fusion: the strategies of its two parts are expected below it",
                 x->row->name);
    o.given = x->given->parts[part];
    return o;
}

/* Room for all instructions of the fusion. */
static const HloInstruction **found_for(const PlanTry *x)
{
    return WBB_NEW_N(x->a, const HloInstruction *, x->base->fusion->body->n_instructions + 1);
}

/* Cuts the fusion at n instructions, whose results are in memory before the rest is computed. */
static bool cut_at(PlanTry *x, Plan *p, const HloInstruction *const *found, uint32_t n, const char *why)
{
    if (plan_only_asked(x)) return false;
    const HloInstruction *root = p->fusion->body->root;
    PlanOptions of_first = options_of(x, 0), of_second = options_of(x, 1);
    of_first.no_in_place = true;
    p->reduced = NULL;
    plan_find_buffers(x->a, p);
    /* else the last kernels may leave outputs in place */
    of_second.no_in_place = of_second.no_in_place || !plan_operands_are_free(p);
    const HloFusion *before = plan_cut_out(x->cx, x->a, p->fusion, found, n, NULL, 0);
    const HloFusion *after = plan_cut_out(x->cx, x->a, p->fusion, &root, 1, found, n);
    Plan *parts = WBB_NEW_N(x->a, Plan, 2);
    parts[0] = x->plan(x->cx, x->a, before, x->t, of_first);
    parts[1] = x->plan(x->cx, x->a, after, x->t, of_second);
    plan_join(x->a, p, &parts[0], &parts[1]);
    p->parts = parts;
    if (why) p->why_kind = why;
    return true;
}

/* Are the results of the fusion all among these? Cut there, it would be the same again. */
static bool all_found(const Plan *p, const HloInstruction *const *found, uint32_t n)
{
    bool all = true;
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        bool is_found = false;
        for (uint32_t k = 0; k < n; k++) is_found = is_found || p->roots[o].i == found[k];
        all = all && is_found;
    }
    return all;
}

/* --- loops that store their steps --------------------------------------------------------------------------------- */
bool plan_make_steps_before(PlanTry *x, Plan *p)
{
    const PlanSteps *steps = plan_know_steps(x);
    if (!steps) return plan_not(x, "it has no loop that keeps a result of each iteration");
    if (!may_cut(x)) return plan_not(x, not_here);
    const HloInstruction **found = WBB_NEW_N(x->a, const HloInstruction *, steps->loop->shape->n_leaves + 1u);
    const uint32_t n = plan_step_operands(x->a, p, steps, x->t, found);
    if (!n) return plan_not(x, "the loop reads nothing step by step that is worth a launch");
    return cut_at(x, p, found, n, "what the few threads of a loop read step by step is in memory before it begins");
}

bool plan_make_steps_after(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    PlanSteps *steps = plan_know_steps(x) ? x->steps : NULL;
    if (!steps) return plan_not(x, "it has no loop that keeps a result of each iteration");
    if (!x->hero && !x->scatters && plan_fit_steps(x->a, p, steps, true))
        return plan_not(x, "all that follows from the loop does so step by step");
    if (!may_cut(x)) return plan_not(x, not_here);
    const HloInstruction **found = found_for(x);
    const uint32_t n = plan_step_results(p, steps, found);
    bool all = true; /* of the results are the loop's: cut there, it would be the same again */
    for (uint32_t o = 0; o < p->n_outputs; o++) all = all && p->roots[o].i == steps->loop;
    if (!n || all) return plan_not(x, all_are_results);
    return cut_at(x, p, found, n, "the results of a loop's iterations are in memory before the rest is computed");
}

/* --- scans, sorts, scatters, windows ------------------------------------------------------------------------------ */
/* At the first instructions that threads compute together, where the whole is no kernel. */
bool plan_make_order(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    if (!x->hero) return plan_not(x, "it has no scan or sort");
    if (x->scanned) return plan_not(x, "a scan or sort and what follows from its elements is a kernel");
    if (!may_cut(x)) return plan_not(x, not_here);
    const HloInstruction **found = found_for(x);
    const uint32_t n = plan_first_to_cut(x->a, p->fusion->body, x->t, found);
    if (!n) return plan_not(x, "scans are shorter than scan.cut");
    if (all_found(p, found, n)) return plan_not(x, all_are_results);
    return cut_at(x, p, found, n, NULL);
}

/* At the first product of matrices, of which tensor cores make an array. */
bool plan_make_product_apart(PlanTry *x, Plan *p)
{
    const HloComputation *body = p->fusion->body;
    const HloInstruction *found = NULL;
    for (uint32_t k = 0; k < body->n_instructions && !found; k++)
        if (hlo_is_matrix_product(x->a, body->instructions[k])) found = body->instructions[k];
    if (!found) return plan_not(x, "it has no product of matrices of f16 or bf16");
    if (!tg_has(x->t, "mma.bf16")) return plan_not(x, "the target has no tensor cores for it");
    if (!may_cut(x)) return plan_not(x, not_here);
    if (all_found(p, &found, 1)) return plan_not(x, all_are_results);
    return cut_at(x, p, &found, 1, "results of a product are in memory before the next kernel");
}

bool plan_make_scatter_apart(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    if (!x->scatters) return plan_not(x, "it has no scatter");
    const HloInstruction *found = may_cut(x) ? plan_cut_scatter(x->a, p->fusion->body, x->t) : NULL;
    if (!found) return plan_not(x, "no thread folds many terms that a scatter has left");
    return cut_at(x, p, &found, 1, NULL);
}

/* Operations and types that no kernel has are declined before a part of the fusion is. */
static bool may_fold(PlanTry *x, const Plan *p)
{
    if (!x->scanned && !x->scatters && !plan_know_sharing(x, false)->n) plan_check(x->cx, x->a, p, x->t, false);
    return may_cut(x);
}

bool plan_make_window(PlanTry *x, Plan *p)
{
    if (plan_know_sharing(x, false)->n || x->scanned || x->scatters)
        return plan_not(x, "threads share something: no loop computes windows again");
    if (plan_only_asked(x)) return false;
    const HloInstruction *found = may_fold(x, p) ? plan_cut_window(x->cx, x->a, p, x->t) : NULL;
    if (!found) return plan_not(x, "no window is computed again often enough");
    return cut_at(x, p, &found, 1, NULL);
}

/* --- reductions --------------------------------------------------------------------------------------------------- */
/* Do threads share all reductions of these results, in one kernel or several? */
static bool are_shared(const PlanTry *x, const Plan *p, const HloInstruction *const *found, uint32_t n)
{
    Plan of = {.fusion = plan_cut_out(x->cx, x->a, p->fusion, found, n, NULL, 0), .align = p->align,
                   .rw = ix_engine(x->cx, x->a)};
    PlanRange **shared;
    bool *others;
    plan_find_roots(x->cx, x->a, &of, of.fusion->body->root);
    const uint32_t kernels = plan_shared(x->a, &of, x->t, false, &shared, &others);
    bool all = kernels > 0;
    plan_find_buffers(x->a, &of);
    for (uint32_t k = 0; all && k < kernels; k++) all = plan_choose_shared(x->a, &of, shared[k], x->t);
    return all;
}

/* At reductions, as many as one kernel has: at long ones, or, where no kernel has these, at any. A scan or sort is cut
 * at those that each thread would fold by itself, for longer than another launch takes. */
bool plan_make_reductions(PlanTry *x, Plan *p)
{
    static const struct { bool single, few, shared; } ways[] = {{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 0, 0}};
    plan_know_order(x);
    if (plan_only_asked(x)) return false;
    if (!may_fold(x, p)) return plan_not(x, not_here);
    const HloInstruction **found = found_for(x);
    for (uint32_t w = 0; w < WBB_LEN(ways); w++) {
        const uint32_t n = plan_cut_reductions(x->a, p, x->t, ways[w].single, ways[w].few, found);
        bool roots = all_found(p, found, n); /* nothing is gained, unless they have wider elements in memory */
        for (uint32_t o = 0; o < p->n_outputs; o++)
            roots = roots && !ir_is_packed(plan_shape(p->roots[o].i, p->roots[o].part)->type);
        if (!n || roots || (ways[w].shared && !are_shared(x, p, found, n))) continue;
        return cut_at(x, p, found, n, NULL);
    }
    return plan_not(x, "no reduction is folded again and again for longer than a launch takes");
}

/* --- rivals of threads that share --------------------------------------------------------------------------------- */
/* Where threads compute short reductions by themselves, again for each of their terms: at the first of these. */
bool plan_make_short(PlanTry *x, Plan *p)
{
    if (!x->shared) return plan_not(x, "no kernel whose threads share");
    if (!may_cut(x)) return plan_not(x, not_here);
    if (plan_only_asked(x)) return false;
    const HloInstruction **found = found_for(x);
    p->reduced = x->found->reduced;
    const uint32_t n = plan_cut_reductions(x->a, p, x->t, false, true, found);
    if (!n || x->shared->reduced[found[0]->id]) return plan_not(x, "no thread computes a reduction again and again");
    if (all_found(p, found, n)) return plan_not(x, all_are_results);
    if (!are_shared(x, p, found, n)) return plan_not(x, "threads do not share these reductions either");
    return cut_at(x, p, found, n,
                  "results of few terms are in memory before the next kernel, which would compute them again");
}

/* Few long rows: at the first reductions. */
bool plan_make_rows(PlanTry *x, Plan *p)
{
    if (!x->shared) return plan_not(x, "no kernel whose threads share");
    if (!may_cut(x)) return plan_not(x, not_here);
    const HloInstruction **found = found_for(x);
    const uint32_t n = plan_cut_rows(x->shared, x->t, found);
    if (!n) return plan_not(x, "its rows are held, not read again, or take less than launches do");
    if (all_found(p, found, n)) return plan_not(x, all_are_results);
    return cut_at(x, p, found, n,
                  "few long rows: launches that fill the machine take less time than one that does not");
}

/* Outputs that need no reduction, and those that do: direct [outputs] says which are of the first part. False: one is a
 * tuple, whose leaves are of both. */
static bool part_outputs(const Plan *p, const bool *needs, bool direct_needs, bool *direct)
{
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        if (p->roots[o].i->shape->type == SC_TUPLE) return false;
        direct[o] = needs[p->roots[o].i->id] == direct_needs;
    }
    return true;
}

/* The roots of the outputs whose `direct` is such; returns their number. */
static uint32_t roots_of(const Plan *p, const bool *direct, bool such, const HloInstruction **roots)
{
    uint32_t n = 0;
    for (uint32_t o = 0; o < p->n_outputs; o++)
        if (direct[o] == such) roots[n++] = p->roots[o].i;
    return n;
}

/* Outputs that need no reduction have a kernel of their own: one that is stored in another order than the terms are
 * read goes through a tile there. */
bool plan_make_sides(PlanTry *x, Plan *p)
{
    if (!x->shared) return plan_not(x, "no kernel whose threads share");
    if (!may_cut(x)) return plan_not(x, not_here);
    const HloComputation *body = p->fusion->body;
    bool *needs = WBB_NEW_N(x->a, bool, body->n_instructions + 1), *direct = WBB_NEW_N(x->a, bool, p->n_outputs + 1);
    for (uint32_t k = 0; k < body->n_instructions; k++) needs[k] = x->shared->reduced[k];
    plan_mark_users(body, needs);
    if (!part_outputs(p, needs, true, direct)) return plan_not(x, "a result is several arrays");
    Plan *parts = WBB_NEW_N(x->a, Plan, 2);
    for (int k = 0; k < 2; k++) {
        const HloInstruction **roots = WBB_NEW_N(x->a, const HloInstruction *, p->n_outputs + 1);
        const uint32_t n = roots_of(p, direct, k == 0, roots);
        if (!n || n == p->n_outputs) return plan_not(x, "all outputs need a reduction");
        if (plan_only_asked(x)) return false;
        PlanOptions options = options_of(x, k);
        options.no_in_place = true;
        parts[k] = x->plan(x->cx, x->a, plan_cut_out(x->cx, x->a, p->fusion, roots, n, NULL, 0), x->t, options);
    }
    plan_find_buffers(x->a, p);
    plan_join_direct(x->a, p, &parts[0], &parts[1], direct);
    p->parts = parts;
    p->why_kind = "outputs that need no reduction are stored in another order: with it they would take longer";
    return true;
}

/* --- rows and columns --------------------------------------------------------------------------------------------- */
/* Rows and columns of one array that are reduced: sums of the rows of a block in the kernel of the rows, then of these.
 * Results that need none of them are outputs of the first kernel. */
bool plan_make_across(PlanTry *x, Plan *p)
{
    plan_know_order(x);
    if (x->scatters || x->hero) return plan_not(x, "beside a scan, sort or scatter threads share no rows");
    const HloComputation *body = p->fusion->body;
    const HloInstruction **found = found_for(x);
    const uint32_t n = may_cut(x) ? plan_across(p, found) : 0;
    const TgStrategy *sums = plan_row(x->t, sums);
    if (!n) return plan_not(x, "it has no sums of parts of columns");
    if (sums->off) return plan_not(x, "sums is left out, which makes its first part");
    bool *needs = WBB_NEW_N(x->a, bool, body->n_instructions + 1), *direct = WBB_NEW_N(x->a, bool, p->n_outputs + 1);
    for (uint32_t k = 0; k < n; k++) needs[found[k]->id] = true;
    plan_mark_users(body, needs);
    if (!part_outputs(p, needs, false, direct)) return plan_not(x, "a result is several arrays");
    const HloInstruction **of_first = WBB_NEW_N(x->a, const HloInstruction *, p->n_outputs + n + 1);
    const HloInstruction **of_second = WBB_NEW_N(x->a, const HloInstruction *, p->n_outputs + 1);
    const uint32_t n_first = roots_of(p, direct, true, of_first), n_second = roots_of(p, direct, false, of_second);
    for (uint32_t k = 0; k < n; k++) of_first[n_first + k] = found[k];
    PlanOptions rows = options_of(x, 0);
    rows.no_in_place = true, rows.column_sums = n;
    rows.without = ~(UINT32_C(1) << (sums - x->t->strategies));
    Plan *parts = WBB_NEW_N(x->a, Plan, 2);
    parts[0] = x->plan(x->cx, x->a, plan_cut_out(x->cx, x->a, p->fusion, of_first, n_first + n, NULL, 0), x->t, rows);
    if (!parts[0].n_kernels) return plan_not(x, "no kernel has its rows and these sums");
    parts[1] = x->plan(x->cx, x->a, plan_cut_out(x->cx, x->a, p->fusion, of_second, n_second, found, n), x->t,
                         options_of(x, 1));
    plan_find_buffers(x->a, p);
    plan_join_direct(x->a, p, &parts[0], &parts[1], direct);
    p->parts = parts;
    p->why_kind = "a kernel that reduces rows sums columns of its own rows, too, and another one sums these";
    return true;
}
