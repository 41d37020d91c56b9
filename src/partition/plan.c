/* plan.c: the plan of a fusion: its buffers, its outputs, and what the other files decide.
 *
 * Needs a verified fusion and a target's TUNE table; leaves a plan, each number with its reason.
 *
 *     gelu bf16[6,512,4096]   =>   loop of 12582912 elements: vector 8, lane 32, warp 4, grid 12288
 */
#include "partition/sort.h"
#include "partition/steps.h"

#include <string.h>

/* buffers ----------------------------------------------------------------------------------------------------- */
typedef struct {
    PartPlan *p;
    WbbMap taken; /* names of the buffers so far, in their order */
} Names;

static void add_buffer(Names *names, const char *wish, const HloShape *s, bool output)
{
    char *name = wbb_format(names->taken.arena, "%s", wish);
    for (char *c = name; *c; c++) {
        const bool fine =
            (*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z') || (*c >= '0' && *c <= '9') || strchr("_.-", *c);
        if (!fine) *c = '_';
    }
    char *result = name;
    for (uint32_t k = 1; wbb_map_get_bytes(&names->taken, result, strlen(result)); k++)
        result = wbb_format(names->taken.arena, "%s.%u", name, k);
    wbb_map_put_bytes(&names->taken, result, strlen(result));
    names->p->buffers[names->taken.n - 1] = (PartBuffer){result, s, hlo_elements(s), output, -1, false, false, false};
}

/* A bound on the memory of a plan; a launch takes far fewer parameters. */
enum { MAX_OUTPUTS = 100000 };

/* The value of each output: the leaves of the root, depth first. */
static void find_roots(WbbCx *cx, WbbArena *a, PartPlan *p, const HloInstruction *root)
{
    struct { const HloInstruction **items; uint32_t n, capacity; } stack = {0};
    struct { PartValue *items; uint32_t n, capacity; } roots = {0};
    WBB_PUSH(a, &stack, root);
    while (stack.n) {
        const HloInstruction *i = stack.items[--stack.n];
        const uint32_t leaves = i->shape->type == SC_TUPLE ? i->shape->n_leaves : 0;
        if (i->opcode == HLO_TUPLE) {
            for (uint32_t k = i->n_operands; k-- > 0;) WBB_PUSH(a, &stack, i->operands[k]);
        } else if (leaves) { /* a reduction of several arrays, or a get-tuple-element that is a tuple */
            for (uint32_t k = 0; k < leaves; k++) {
                const PartValue v = part_value(i, k);
                WBB_PUSH(a, &roots, v);
            }
        } else {
            const PartValue v = part_value(i, 0);
            WBB_PUSH(a, &roots, v);
        }
        if (roots.n + stack.n > MAX_OUTPUTS) wbb_decline(cx, root->loc, WHY_SIZE, "more than %d outputs", MAX_OUTPUTS);
    }
    p->roots = roots.items;
    p->n_outputs = roots.n;
}

/* A buffer for each leaf of each operand, then one for each output. */
static void find_buffers(WbbArena *a, PartPlan *p)
{
    const HloComputation *body = p->fusion->body;
    p->n_operands = 0;
    p->first_leaf = WBB_NEW_N(a, uint32_t, body->n_parameters + 1);
    for (uint32_t k = 0; k < body->n_parameters; k++) {
        p->first_leaf[k] = p->n_operands;
        p->n_operands += body->parameters[k]->shape->n_leaves;
    }
    Names names = {.p = p, .taken = {.arena = a}};
    p->buffers = WBB_NEW_N(a, PartBuffer, p->n_operands + p->n_outputs + 1);
    for (uint32_t k = 0; k < body->n_parameters; k++) {
        const HloInstruction *x = body->parameters[k];
        const HloShape **leaves;
        const uint32_t n = hlo_leaves(a, x->shape, &leaves);
        for (uint32_t l = 0; l < n; l++)
            add_buffer(&names, n == 1 ? x->name : wbb_format(a, "%s.%u", x->name, l), leaves[l], false);
    }
    for (uint32_t k = 0; k < p->n_outputs; k++)
        add_buffer(&names, p->n_outputs == 1 ? "out" : wbb_format(a, "out%u", k),
                   part_shape(p->roots[k].i, p->roots[k].part), true);
}

static uint64_t instructions_of(const HloModule *m)
{
    uint64_t n = 0;
    for (uint32_t c = 0; c < m->n_computations; c++) n += m->computations[c]->n_instructions;
    return n;
}

/* Limits of the code of one element. */
static void set_limits(WbbArena *a, PartPlan *p, const TgTarget *t)
{
    const TgTune *inlined = tg_tune(t, "call.min_nodes", 0);
    const uint32_t instructions = p->fusion->body->n_instructions;
    const uint64_t text = instructions_of(p->fusion->body->module);
    p->inline_limit = (uint32_t)inlined->value;
    p->why_inline = inlined->because;
    /* 64 more: a small fusion may repeat more of its values; 2^24 at most: the product stays within 32 bits */
    p->inline_budget = (uint32_t)(tg_tuned(t, "call.budget") * (int64_t)WBB_MIN(instructions + 64, 1u << 24));
    p->call_nodes = (uint32_t)tg_tuned(t, "call.nodes");
    p->constant_selects = (uint32_t)tg_tuned(t, "constant.selects");
    p->select_nodes = (uint32_t)tg_tuned(t, "select.max_nodes");
    p->element_work = part_element_work(a, p->fusion->body, t);
    p->window_pads = part_window_pads(a, p->fusion->body, p->element_work, p->select_nodes);
    p->reduce_nodes = (uint32_t)tg_tuned(t, "reduce.max_nodes");
    p->reduce_straight = (uint32_t)tg_tuned(t, "reduce.straight");
    p->reduce_unroll = (uint32_t)tg_tuned(t, "reduce.unroll");
    p->while_straight = (uint32_t)tg_tuned(t, "while.straight");
    p->while_most = (uint32_t)tg_tuned(t, "while.most");
    p->called_most = (uint32_t)WBB_MAX((uint64_t)tg_tuned(t, "called.most"), 2 * text);
    p->called_branches = (uint32_t)WBB_MAX((uint64_t)tg_tuned(t, "called.branches"), text / 2);
    p->while_state = (uint32_t)tg_tuned(t, "while.state");
}

bool part_has_few_warps(const PartKernel *k, const TgTarget *t, int64_t warps)
{
    return (int64_t)k->grid * k->block <= (int64_t)t->sms * tg_schedulers(t) * t->warp * warps;
}

/* Where a scheduler has one warp at most, it has issue slots to spare, and a branch that parts the warp waits for
 * memory once more: both ways are computed. */
static void select_where_few(PartPlan *p, const TgTarget *t)
{
    if (part_has_few_warps(&p->kernels[0], t, 1))
        p->select_nodes = (uint32_t)tg_tuned(t, "select.few_warps");
}

/* A kernel for each range, and one for the outputs that need no reduction. */
static void share_kernels(WbbCx *cx, WbbArena *a, PartPlan *p, PartRange **shared, uint32_t n, const bool *others,
                          const TgTarget *t, const HloInstruction *const *updates, const char *layout)
{
    bool rest = false;
    for (uint32_t o = 0; o < p->n_outputs; o++) rest = rest || others[o];
    if (layout && n + rest > 1) part_layout_fail(cx, 1, "%u kernels take no given layout", n + rest);
    p->n_kernels = n + rest;
    p->kernels = WBB_NEW_N(a, PartKernel, p->n_kernels);
    if (rest) {
        p->kernels[n] = part_ranges(a, p, t, updates, others);
        part_choose(cx, a, p, &p->kernels[n], t, NULL);
        part_exchange(cx, a, p, &p->kernels[n], t, false, 0);
    }
    for (uint32_t k = 0; k < n; k++) {
        p->kernels[k] = part_share(cx, a, p, shared[k], t, layout);
        if (layout) part_price_given(a, p, shared[k], t);
    }
    for (uint32_t k = 0; k < p->n_kernels; k++) p->kernels[k].number = k;
}

/* --- fusions that are cut ----------------------------------------------------------------------------------------- */
/* Cuts a fusion at n instructions, whose results are in memory before the rest is computed. */
static void cut_at(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartOptions options,
                   const HloInstruction *const *found, uint32_t n, bool whole)
{
    const HloInstruction *root = p->fusion->body->root;
    PartOptions of_first = options;
    of_first.no_in_place = true;
    of_first.uncut = whole;
    find_buffers(a, p);
    /* else the last kernels may leave outputs in place */
    options.no_in_place = options.no_in_place || !part_operands_are_free(p);
    const HloFusion *before = part_cut_out(cx, a, p->fusion, found, n, NULL, 0);
    const HloFusion *after = part_cut_out(cx, a, p->fusion, &root, 1, found, n);
    PartPlan *first = WBB_NEW(a, PartPlan), *second = WBB_NEW(a, PartPlan);
    *first = part_plan(cx, a, before, t, of_first);
    *second = part_plan(cx, a, after, t, options);
    set_limits(a, p, t);
    part_join(a, p, first, second);
}

static bool may_cut(WbbArena *a, const PartPlan *p, PartOptions options)
{
    const HloInstruction *of = p->fusion->fusion;
    return !options.layout && !(of && hlo_attribute(a, of, "output_to_operand_aliasing"));
}

/* Are the results of the fusion all among these? Cut there, it would be the same again. */
static bool all_found(const PartPlan *p, const HloInstruction *const *found, uint32_t n)
{
    bool all = true;
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        bool is_found = false;
        for (uint32_t k = 0; k < n; k++) is_found = is_found || p->roots[o].i == found[k];
        all = all && is_found;
    }
    return all;
}

/* Cuts a fusion at the first instructions that threads compute together, where the whole is no kernel. */
static bool cut(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartOptions options)
{
    const HloComputation *body = p->fusion->body;
    const HloInstruction **found = WBB_NEW_N(a, const HloInstruction *, body->n_instructions + 1);
    const uint32_t n = part_first_to_cut(a, body, t, found);
    if (!n || all_found(p, found, n) || !may_cut(a, p, options)) return false;
    cut_at(cx, a, p, t, options, found, n, false);
    return true;
}

/* Cuts a fusion at a scatter: beside one, threads share no terms. */
static bool cut_scatter(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartOptions options)
{
    const HloInstruction *found = may_cut(a, p, options) ? part_cut_scatter(a, p->fusion->body, t) : NULL;
    if (!found) return false;
    cut_at(cx, a, p, t, options, &found, 1, false);
    return true;
}

/* Do threads share all reductions of these results, in one kernel or several? */
static bool are_shared(WbbCx *cx, WbbArena *a, const PartPlan *p, const TgTarget *t,
                       const HloInstruction *const *found, uint32_t n)
{
    PartPlan x = {.fusion = part_cut_out(cx, a, p->fusion, found, n, NULL, 0), .align = p->align,
                  .rw = ix_engine(cx, a)};
    PartRange **shared;
    bool *others;
    find_roots(cx, a, &x, x.fusion->body->root);
    const uint32_t kernels = part_shared(a, &x, t, false, &shared, &others);
    bool all = kernels > 0;
    find_buffers(a, &x);
    for (uint32_t k = 0; all && k < kernels; k++) all = part_choose_shared(a, &x, shared[k], t);
    return all;
}

/* Cuts a fusion at reductions, as many as one kernel has: at long ones, or, where no kernel has these, at any. */
static bool cut_reductions(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartOptions options)
{
    const HloComputation *body = p->fusion->body;
    const HloInstruction **found = WBB_NEW_N(a, const HloInstruction *, body->n_instructions + 1);
    if (options.uncut || !may_cut(a, p, options)) return false;
    static const struct { bool single, few, shared; } ways[] = {{0, 0, 1}, {1, 0, 1}, {0, 1, 1}, {1, 0, 0}};
    for (uint32_t w = 0; w < WBB_LEN(ways); w++) {
        const uint32_t n = part_cut_reductions(a, p, t, ways[w].single, ways[w].few, found);
        bool roots = all_found(p, found, n); /* nothing is gained, unless they have wider elements in memory */
        for (uint32_t o = 0; o < p->n_outputs; o++)
            roots = roots && !ir_is_packed(part_shape(p->roots[o].i, p->roots[o].part)->type);
        if (!n || roots || (ways[w].shared && !are_shared(cx, a, p, t, found, n))) continue;
        cut_at(cx, a, p, t, options, found, n, true);
        return true;
    }
    return false;
}

/* Cuts a scan or sort at reductions that each thread would fold by itself, for longer than another launch takes. */
static bool cut_folds(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartOptions options)
{
    bool *reduced = p->reduced;
    p->reduced = NULL;
    const bool found = cut_reductions(cx, a, p, t, options);
    if (!found) p->reduced = reduced;
    return found;
}

/* Cuts a fusion at windows that hold an element of many outputs. */
static bool cut_window(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartOptions options)
{
    const HloInstruction *found = may_cut(a, p, options) ? part_cut_window(cx, a, p, t) : NULL;
    if (!found) return false;
    cut_at(cx, a, p, t, options, &found, 1, false);
    return true;
}

/* Cuts a kernel whose threads compute short reductions by themselves, again for each of their terms, at the first of
 * these, if launches take less time. */
static bool cut_short(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *shared, const TgTarget *t,
                      PartOptions options)
{
    const HloInstruction **found = WBB_NEW_N(a, const HloInstruction *, p->fusion->body->n_instructions + 1);
    if (options.no_rival || options.uncut || !may_cut(a, p, options)) return false;
    const uint32_t n = part_cut_reductions(a, p, t, false, true, found);
    PartPlan apart = *p;
    if (!n || shared->reduced[found[0]->id] || all_found(p, found, n)) return false;
    if (!are_shared(cx, a, p, t, found, n)) return false;
    apart.reduced = NULL;
    options.no_rival = true;
    cut_at(cx, a, &apart, t, options, found, n, true);
    if (!part_takes_less(a, &apart, shared, t)) return false;
    *p = apart;
    p->why_kind = "results of few terms are in memory before the next kernel, which would compute them again";
    return true;
}

/* Cuts a kernel of few long rows at its first reductions, if launches that fill the machine take less time. */
static bool cut_rows(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *shared, const TgTarget *t,
                     PartOptions options)
{
    const HloInstruction **found = WBB_NEW_N(a, const HloInstruction *, p->fusion->body->n_instructions + 1);
    const uint32_t n = may_cut(a, p, options) ? part_cut_rows(shared, t, found) : 0;
    PartPlan apart = *p;
    if (!n || all_found(p, found, n)) return false;
    apart.reduced = NULL;
    cut_at(cx, a, &apart, t, options, found, n, false);
    if (!part_takes_less(a, &apart, shared, t)) return false;
    *p = apart;
    p->why_kind = "few long rows: launches that fill the machine take less time than one that does not";
    return true;
}

/* Puts outputs that need no reduction into a kernel of their own, if that and the reductions alone take less time: one
 * that is stored in another order than the terms are read goes through a tile there. */
static bool cut_sides(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *shared, const TgTarget *t,
                      PartOptions options)
{
    const HloComputation *body = p->fusion->body;
    if (options.no_rival || options.uncut || !may_cut(a, p, options) || !part_may_be_apart(p, shared, t)) return false;
    bool *needs = WBB_NEW_N(a, bool, body->n_instructions + 1), *direct = WBB_NEW_N(a, bool, p->n_outputs + 1);
    const HloInstruction **of[2]; /* roots: of the second kernel, of the first */
    uint32_t n[2] = {0};
    for (int k = 0; k < 2; k++) of[k] = WBB_NEW_N(a, const HloInstruction *, p->n_outputs + 1);
    for (uint32_t k = 0; k < body->n_instructions; k++) needs[k] = shared->reduced[k];
    part_mark_users(body, needs);
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const HloInstruction *i = p->roots[o].i;
        if (i->shape->type == SC_TUPLE) return false;
        direct[o] = needs[i->id];
        of[direct[o]][n[direct[o]]++] = i;
    }
    if (!n[0] || !n[1]) return false;
    options.no_rival = options.no_in_place = true;
    PartPlan apart = *p, *plans = WBB_NEW_N(a, PartPlan, 2);
    for (int k = 0; k < 2; k++)
        plans[k] = part_plan(cx, a, part_cut_out(cx, a, p->fusion, of[1 - k], n[1 - k], NULL, 0), t, options);
    apart.reduced = NULL;
    set_limits(a, &apart, t);
    part_join_direct(a, &apart, &plans[0], &plans[1], direct);
    if (!part_is_less_apart(a, &apart, shared, t)) return false;
    *p = apart;
    p->why_kind = "outputs that need no reduction are stored in another order: with it they would take longer";
    return true;
}

static const char exchanged[] = "values are read in one order and stored in another, through a tile of shared memory";

/* Rows and columns of one array that are reduced: sums of the rows of a block in the kernel of the rows, then of these.
 * Results that need none of them are outputs of the first kernel. */
static bool cut_across(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartOptions options)
{
    const HloComputation *body = p->fusion->body;
    const HloInstruction **found = WBB_NEW_N(a, const HloInstruction *, body->n_instructions + 1);
    const uint32_t n = may_cut(a, p, options) ? part_across(p, found) : 0;
    if (!n) return false;
    bool *needs = WBB_NEW_N(a, bool, body->n_instructions + 1), *direct = WBB_NEW_N(a, bool, p->n_outputs + 1);
    const HloInstruction **of_first = WBB_NEW_N(a, const HloInstruction *, p->n_outputs + n + 1);
    const HloInstruction **of_second = WBB_NEW_N(a, const HloInstruction *, p->n_outputs + 1);
    uint32_t n_first = 0, n_second = 0;
    for (uint32_t k = 0; k < n; k++) needs[found[k]->id] = true;
    part_mark_users(body, needs);
    for (uint32_t o = 0; o < p->n_outputs; o++) {
        const HloInstruction *i = p->roots[o].i;
        if (i->shape->type == SC_TUPLE) return false;
        direct[o] = !needs[i->id];
        if (direct[o]) of_first[n_first++] = i;
        else of_second[n_second++] = i;
    }
    for (uint32_t k = 0; k < n; k++) of_first[n_first + k] = found[k];
    PartOptions rows = options;
    rows.no_in_place = true, rows.column_sums = n;
    PartPlan *first = WBB_NEW(a, PartPlan), *second = WBB_NEW(a, PartPlan);
    *first = part_plan(cx, a, part_cut_out(cx, a, p->fusion, of_first, n_first + n, NULL, 0), t, rows);
    if (!first->n_kernels) return false;
    *second = part_plan(cx, a, part_cut_out(cx, a, p->fusion, of_second, n_second, found, n), t, options);
    find_buffers(a, p);
    set_limits(a, p, t);
    part_join_direct(a, p, first, second, direct);
    p->why_kind = "a kernel that reduces rows sums columns of its own rows, too, and another one sums these";
    return true;
}

/* Results of few terms each that are stored in another order than their terms are read: a thread may combine those of a
 * result, and results go through a tile, where that takes less time than a shared range. */
static bool exchange_results(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *shared, const TgTarget *t,
                             const HloInstruction *const *updates)
{
    const int64_t most = tg_tuned(t, "layout.few_terms");
    const PartStage *s = &shared->stages[0];
    int64_t terms = 1;
    for (uint32_t d = 0; d < s->n_space; d++)
        if (s->space[d].dim.reduced) terms = WBB_MIN(terms, most) * WBB_MIN(s->space[d].dim.size, most + 1);
    if (terms > most || shared->n_stages > 2 || s->kind != PART_REDUCE || s->n_outputs) return false;
    const PartPlan before = *p;
    p->reduced = NULL;
    p->kernels[0] = part_ranges(a, p, t, updates, NULL);
    part_choose(cx, a, p, &p->kernels[0], t, NULL);
    if (part_exchange(cx, a, p, &p->kernels[0], t, false, shared->choice->best[0].price.us)) return true;
    *p = before;
    return false;
}

/* Terms that a thread takes of a reduction, which is computed `trips` times over: a single result is the same each
 * time, so that it is computed once. */
static int64_t own_terms(const HloInstruction *i, int64_t trips)
{
    return hlo_elements(part_shape(i, 0)) == 1 ? hlo_elements(i->operands[0]->shape) : trips;
}

/* A few elements whose reductions have a few terms: a thread of each that takes all terms by itself may be done before
 * threads have told each other theirs, as the parameters of a small model in an optimiser's step. */
static bool loop_is_shorter(WbbCx *cx, WbbArena *a, PartPlan *p, const PartRange *shared, const TgTarget *t,
                            const HloInstruction *const *updates)
{
    const HloComputation *body = p->fusion->body;
    const int64_t *trips = part_trips(a, body);
    int64_t terms = 0, stored = 0; /* of a thread; saturated */
    for (uint32_t k = 0; k < body->n_instructions; k++)
        if (trips[k] > 1 && body->instructions[k]->opcode == HLO_REDUCE)
            terms = WBB_MIN(terms, p->reduce_straight) + WBB_MIN(own_terms(body->instructions[k], trips[k]),
                                                                 p->reduce_straight + 1);
    for (uint32_t o = 0; o < p->n_outputs; o++)
        stored = WBB_MAX(stored, p->buffers[p->n_operands + o].elements);
    if (terms > p->reduce_straight || stored > tg_tuned(t, "loop.block")) return false;
    if (shared->stages[shared->n_stages - 1].kind != PART_MAP) return false;
    const double told = part_sharing_clocks(shared, t);
    const PartLayout *l = &shared->choice->best[0].layout;
    int64_t own = 1; /* terms of a result that a thread has: where it has all, it makes these elements as well */
    for (PartLevel k = PART_VECTOR; k <= PART_LOOP; k++) own *= part_layout_part(l, k, true);
    if (told == 0 && own > 1) return false;
    if (told > 0 && (double)(terms * tg_tuned(t, "layout.term")) >= told) return false;
    p->reduced = NULL;
    p->kernels[0] = part_ranges(a, p, t, updates, NULL);
    part_choose(cx, a, p, &p->kernels[0], t, NULL);
    return true;
}

/* Cuts a fusion after a loop whose steps are stored one by one. */
static bool cut_after_steps(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, const PartSteps *steps,
                            PartOptions options)
{
    const HloInstruction **found = WBB_NEW_N(a, const HloInstruction *, p->fusion->body->n_instructions + 1);
    const uint32_t n = may_cut(a, p, options) ? part_step_results(p, steps, found) : 0;
    bool all = true; /* of the results are the loop's: cut there, it would be the same again */
    for (uint32_t o = 0; o < p->n_outputs; o++) all = all && p->roots[o].i == steps->loop;
    if (!n || all) return false;
    cut_at(cx, a, p, t, options, found, n, false);
    p->why_kind = "the results of a loop's iterations are in memory before the rest is computed";
    return true;
}

/* Cuts it before such a loop, at what the loop reads. */
static bool cut_before_steps(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, const PartSteps *steps,
                             PartOptions options)
{
    const HloInstruction **found = WBB_NEW_N(a, const HloInstruction *, steps->loop->shape->n_leaves + 1u);
    const uint32_t n = may_cut(a, p, options) ? part_step_operands(a, p, steps, t, found) : 0;
    if (!n) return false;
    cut_at(cx, a, p, t, options, found, n, false);
    p->why_kind = "what the few threads of a loop read step by step is in memory before it begins";
    return true;
}

/* Cuts a fusion that is more than such a loop and what follows from its steps one by one. */
static bool cut_steps(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, PartSteps *steps, bool more,
                      PartOptions options)
{
    if (cut_before_steps(cx, a, p, t, steps, options)) return true;
    return (more || !part_fit_steps(a, p, steps, true)) && cut_after_steps(cx, a, p, t, steps, options);
}

/* Has each output memory of its own? */
static bool owns_outputs(const PartPlan *p)
{
    for (uint32_t o = 0; o < p->n_outputs; o++)
        if (p->buffers[p->n_operands + o].alias >= 0) return false;
    return true;
}

/* The one kernel of a fusion whose last results are sums across rows; or none. */
static void plan_across(WbbCx *cx, WbbArena *a, PartPlan *p, const TgTarget *t, uint32_t across)
{
    PartRange *r = part_shared_across(a, p, t, across);
    if (!r) return;
    part_check(cx, a, p, t, true);
    find_buffers(a, p);
    set_limits(a, p, t);
    if (!part_choose_shared(a, p, r, t)) return;
    share_kernels(cx, a, p, &r, 1, WBB_NEW_N(a, bool, p->n_outputs + 1), t, NULL, NULL);
}

PartPlan part_plan(WbbCx *cx, WbbArena *a, const HloFusion *fusion, const TgTarget *target, PartOptions options)
{
    PartPlan p = {.fusion = fusion, .align = options.align ? options.align : 16, .flush = options.flush,
                  .deterministic = options.deterministic, .reads = part_reads(target),
                  .rw = ix_engine(cx, a)};
    find_roots(cx, a, &p, fusion->body->root);
    PartRange **shared;
    bool *others;
    const bool scatters = part_has_scatter(&p);
    bool alone;
    if (options.column_sums) {
        plan_across(cx, a, &p, target, options.column_sums);
        return p;
    }
    const HloInstruction *hero = part_ordered_hero(a, fusion->body, target, &alone);
    PartSteps *steps = part_find_steps(a, &p, target);
    if (steps && cut_steps(cx, a, &p, target, steps, hero || scatters, options)) return p;
    if (steps && (hero || scatters || !part_fit_steps(a, &p, steps, false))) steps = NULL;
    if (!scatters && !hero && cut_across(cx, a, &p, target, options)) return p;
    PartRange *scanned = hero && alone && !scatters ? part_scanned(a, &p, hero) : NULL;
    if (hero && !scanned && cut(cx, a, &p, target, options)) return p;
    if (scatters && (cut_scatter(cx, a, &p, target, options) || cut_reductions(cx, a, &p, target, options))) return p;
    if (scanned && cut_folds(cx, a, &p, target, options)) return p;
    uint32_t n_shared = !scatters;
    if (scanned) {
        shared = WBB_NEW(a, PartRange *), others = WBB_NEW_N(a, bool, p.n_outputs + 1);
        shared[0] = scanned;
    } else if (!scatters) {
        n_shared = part_shared(a, &p, target, false, &shared, &others);
    }
    part_check(cx, a, &p, target, false);
    if (!scanned && !scatters && !n_shared) {
        if (cut_window(cx, a, &p, target, options) || cut_reductions(cx, a, &p, target, options)) return p;
        n_shared = part_shared(a, &p, target, true, &shared, &others);
    }
    part_check(cx, a, &p, target, true);
    find_buffers(a, &p);
    if (p.n_outputs == 0) wbb_decline(cx, fusion->body->root->loc, WHY_SHAPE, "the fusion has no output");
    set_limits(a, &p, target);
    p.n_kernels = 1;
    p.kernels = WBB_NEW(a, PartKernel);
    const HloInstruction **updates = options.no_in_place ? WBB_NEW_N(a, const HloInstruction *, p.n_outputs + 1)
                                                   : part_updates(cx, a, &p);
    if (scatters) {
        part_scatter(cx, a, &p, target, updates, options.layout);
        return p;
    }
    if (scanned && hero->opcode == HLO_SORT) {
        if (options.layout) part_layout_fail(cx, 1, "a sort takes no layout");
        part_sort(cx, a, &p, scanned, target);
        return p;
    }
    if (steps && n_shared && !scanned) steps = NULL;
    bool shares = n_shared > 0;
    for (uint32_t k = 0; k < p.n_outputs; k++) /* an operand would be read again after it is written */
        shares = shares && p.buffers[p.n_operands + k].alias < 0;
    for (uint32_t k = 0; k < n_shared && !options.layout; k++)
        shares = shares && part_choose_shared(a, &p, shared[k], target);
    bool rest = false;
    for (uint32_t o = 0; o < p.n_outputs && shares; o++) rest = rest || others[o];
    if (shares && n_shared == 1 && !rest && !scanned && !options.layout &&
        exchange_results(cx, a, &p, shared[0], target, updates)) {
        p.kind = "exchange", p.why_kind = exchanged;
        return p;
    }
    if (shares && n_shared == 1 && !rest && !scanned && !options.layout &&
        loop_is_shorter(cx, a, &p, shared[0], target, updates))
        return p;
    if (shares && n_shared == 1 && !rest && !scanned && !options.layout &&
        (cut_short(cx, a, &p, shared[0], target, options) || cut_rows(cx, a, &p, shared[0], target, options) ||
         cut_sides(cx, a, &p, shared[0], target, options)))
        return p;
    if (shares) {
        share_kernels(cx, a, &p, shared, n_shared, others, target, updates, options.layout);
        return p;
    }
    if (p.reduced) {
        p.reduced = NULL;
        if (!options.layout && cut_reductions(cx, a, &p, target, options)) return p;
        part_check(cx, a, &p, target, true);
    }
    if (steps && owns_outputs(&p)) p.steps = steps;
    p.kernels[0] = part_ranges(a, &p, target, updates, NULL);
    const bool exchange = options.layout && !strcmp(options.layout, "exchange");
    part_choose(cx, a, &p, &p.kernels[0], target, exchange ? NULL : options.layout);
    const bool may = exchange || !options.layout;
    if (may && part_exchange(cx, a, &p, &p.kernels[0], target, exchange, 0)) {
        p.kind = "exchange";
        p.why_kind = exchanged;
    } else if (exchange) {
        part_layout_fail(cx, 1, "exchange: nothing is read in another order, or no layout is legal");
    }
    select_where_few(&p, target);
    return p;
}

int64_t part_stored(const PartPlan *p, const PartKernel *k, uint32_t buffer)
{
    const PartPlan *of = part_plan_of(p, k);
    bool any = false;
    int64_t n = 0;
    for (const PartRange *r = k->ranges; r < k->ranges + k->n_ranges; r++)
        for (const PartStage *s = r->stages; s < r->stages + r->n_stages; s++)
            for (uint32_t o = 0; o < s->n_outputs && !(s->sort && s->sort->pass < s->sort->passes); o++) {
                const uint32_t number = of->n_operands + s->outputs[o];
                if ((of != p ? k->memory[number] : number) != buffer) continue;
                any = true;
                n += r->elements;
            }
    return any && p->buffers[buffer].alias < 0 ? p->buffers[buffer].elements : n;
}
