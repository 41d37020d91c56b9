/* loop_choice.c: how the threads of a kernel share the elements of its launch ranges: the layout of each stage, the
 * threads of a block, the blocks.
 *
 * Needs launch ranges; leaves layouts, their maps, block and grid, each number with its reason: loop_numbers.c has the
 * numbers, and where layouts have a price, loop_layout.c chooses.
 *
 *     gelu bf16[6,512,4096]     =>   elements: vector 8, lane 32, warp 4, grid 12288
 */
#include "plan/loop_choice.h"
#include "plan/scatter.h"

/* What the outputs of the kernel need. Where it is the only one, all. */
static void find_needed(PlanChoosing *c)
{
    const Plan *p = c->p;
    const HloComputation *body = p->fusion->body;
    const int64_t *trips = plan_trips(c->arena, body);
    bool *needed = plan_needed(c->arena, p, c->k), *read = WBB_NEW_N(c->arena, bool, p->n_operands + 1);
    c->trips = 1;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        needed[k] = needed[k] || p->n_kernels == 1;
        if (!needed[k]) continue;
        c->trips = WBB_MAX(c->trips, trips[k]);
        if (i->opcode != HLO_PARAMETER) continue;
        for (uint32_t leaf = 0; leaf < i->shape->n_leaves; leaf++) read[p->first_leaf[i->number] + leaf] = true;
    }
    c->needed = needed, c->read = read;
}

/* atomic operations ------------------------------------------------------------------------------------------- */
/* Are updates combined with memory one by one? */
static bool is_atomic(const PlanStage *s)
{
    return s->kind == PLAN_SCATTER && s->combine != PLAN_PLAIN && s->combine != PLAN_RUN && s->combine != PLAN_LOCK;
}

/* An atomic operation takes as many neighbours as the target has instructions for. Those of a longer vector would be
 * apart in each lane, and reach four times as many sectors as bytes need: lanes take neighbours instead, where these
 * are of one window, in as many registers; threads with runs of updates have enough to do, and are more instead. */
static void spread_atomics(PlanChoosing *c, PlanLoopChoice *x)
{
    const int64_t row = x->r->space->rank ? x->r->space->dims[x->r->space->minor_to_major[0]] : 1;
    if (!is_atomic(x->s) || x->vector == 1) return;
    const uint32_t lanes = WBB_MIN(plan_update_lanes(c->p, c->t, x->s), x->vector), registers = x->vector / lanes;
    const bool spreads = row > 1 && !x->tail && (x->s->run > 1 || x->vectors % c->k->block == 0);
    if (lanes == 1 && !spreads && plan_update_in_pair(c->p, c->t, x->s)) {
        x->vector = 1;
        plan_count_vectors(x);
        x->s->why_vector = "an update takes fewer instructions with what is beside its element";
    }
    if (row == 1 || x->vector == 1) return;
    if (registers == 1) x->s->why_vector = "an atomic operation takes as many neighbours";
    if (registers == 1 || !spreads) return;
    x->spread = x->s->run < 2;
    if (x->spread) x->registers = registers;
    x->vectors *= registers, x->vector = lanes;
    x->s->why_vector = "atomic operations of neighbouring lanes reach neighbours";
    x->s->why_register = "what a longer vector would have";
}

/* layouts ----------------------------------------------------------------------------------------------------- */

/* A thread with several vectors starts once and has several accesses in flight: worth it while the machine stays full
 * and a vector takes little work. */
static void choose_registers(PlanChoosing *c, PlanLoopChoice *x)
{
    const TgTune *tune = tg_tune(c->t, "loop.coarsening", 0);
    x->registers = 1;
    if (!plan_may_have_registers(c, x)) return;
    for (x->registers = (uint32_t)tune->value; !plan_registers_fit(c, x, x->registers);) x->registers /= 2;
    x->s->why_register = tune->because;
}

/* By exactly as many digits as it has elements. */
static bool is_covered(const LayDim *d)
{
    int64_t n = 1;
    for (uint32_t k = 0; k < d->n_factors; k++) n *= d->factors[k].size;
    return n == d->size;
}

/* Are the numbers of the kernel those of the layout? A last warp may have fewer lanes. */
static bool agrees(const PlanChoosing *c, const PlanLoopChoice *x)
{
    const Layout *l = &x->s->layout;
    const int64_t warp = c->t->warp, threads = lay_level_size(l, LAY_LANE) * lay_level_size(l, LAY_WARP);
    const bool all = threads == c->k->block || threads == (c->k->block + warp - 1) / warp * warp;
    return all && lay_level_size(l, LAY_GRID) == WBB_MAX(x->r->blocks, 1u);
}

static void choose_layouts(PlanChoosing *c)
{
    PlanKernel *k = c->k;
    int64_t grid = 0;
    bool exact = true;
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        plan_choose_vector(c, &c->choices[n]);
        plan_count_vectors(&c->choices[n]);
    }
    plan_choose_block(c, 1);
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        PlanLoopChoice *x = &c->choices[n];
        choose_registers(c, x);
        spread_atomics(c, x);
        const int64_t threads = x->vectors / x->registers + x->tail;
        const int64_t blocks = threads / k->block + (threads % k->block != 0);
        if (grid + blocks > INT32_MAX)
            wbb_decline(c->cx, c->p->fusion->body->root->loc, WHY_SIZE, "%lld blocks and more",
                        (long long)(grid + blocks));
        x->r->first_block = (uint32_t)grid;
        x->r->blocks = (uint32_t)blocks;
        x->s->layout = plan_loop_layout(c, x);
        if (k->n_ranges == 1) plan_choose_loop(c, x);
        assert(agrees(c, x));
        exact = exact && x->tail == 0 && is_covered(&x->s->layout.dims[0]);
        grid += x->r->blocks;
    }
    k->grid = (uint32_t)grid;
    k->why_grid = exact ? "exactly the threads: no bounds check" : "rounded up: threads beyond the end do nothing";
    if (grid == 0) k->why_grid = "no elements: no launch";
}

/* Fails where the stage cannot have the layout that it is given. */
static void check_stage(const PlanChoosing *c, const PlanLoopChoice *x)
{
    const LayDim *d = &x->s->layout.dims[0];
    uint32_t narrow, wide;
    plan_width_of_buffers(c, x->s, &narrow, &wide);
    const TgTune *widest = tg_tune(c->t, "loop.unroll", narrow);
    bool in_place = x->s->kind == PLAN_UPDATE || (x->s->kind == PLAN_SCATTER && !is_atomic(x->s));
    for (uint32_t k = 0; k < x->s->n_outputs && !is_atomic(x->s); k++)
        in_place = in_place || c->p->buffers[c->p->n_operands + x->s->outputs[k]].alias >= 0;
    for (uint32_t k = 0; k < d->n_factors; k++) {
        const LayFactor *f = &d->factors[k];
        if ((f->level == LAY_LOOP && !x->s->cells) || f->level == LAY_CLUSTER)
            lay_fail(c->cx, f->column, "%s: only a reduction has that level", lay_level_name[f->level]);
        if (f->level == LAY_REGISTER && in_place)
            lay_fail(c->cx, f->column, "register: an output is updated in place, one vector a thread");
    }
    const int column = lay_factor(d, LAY_VECTOR) ? lay_factor(d, LAY_VECTOR)->column : d->column;
    plan_check_packed(c->cx, d, x->s->packed_group);
    const int64_t row = x->r->space->rank ? x->r->space->dims[x->r->space->minor_to_major[0]] : 1;
    const bool rows = row > 1 && x->vector % row == 0 && x->vector <= tg_tuned(c->t, "loop.max_row");
    if (x->vector > 1 && x->vector % 2 != 0)
        lay_fail(c->cx, column, "vector %u: 1 or an even number, as lanes are vectorised", x->vector);
    if (x->vector > widest->value && !rows)
        lay_fail(c->cx, column, "vector %u: at most %lld of %u bits (%s), or whole rows of at most %lld",
                 x->vector, (long long)widest->value, narrow, widest->because,
                 (long long)tg_tuned(c->t, "loop.max_row"));
}

/* The layout that was asked for. */
static void read_layout(PlanChoosing *c, const char *text)
{
    if (c->k->n_ranges != 1)
        wbb_fail(c->cx, (WbbLoc){.file = "layout"},
                 "the kernel has %u launch ranges; only the layout of a single one can be given", c->k->n_ranges);
    PlanLoopChoice *x = &c->choices[0];
    const LayDim space = {.name = "elements", .size = x->r->elements};
    x->s->packed_group = x->s->kind == PLAN_SCATTER ? 1 : plan_group_of_outputs(c, x);
    x->s->layout = lay_parse(c->cx, c->arena, text, &space, 1);
    x->s->layout.tail = x->s->packed_group;
    const LayFactor *vector = lay_factor(&x->s->layout.dims[0], LAY_VECTOR);
    x->vector = vector ? (uint32_t)vector->size : 1;
    lay_check(c->cx, c->arena, &x->s->layout, c->t);
    if (x->s->kind == PLAN_SCATTER && lay_size(&x->s->layout.dims[0], LAY_LOOP) > 1 && plan_cells_may_be(c->p, x->s))
        x->s->cells = plan_cells_of(c->arena, c->t, x->s, &x->s->layout);
    check_stage(c, x);
    c->k->block = lay_threads(&x->s->layout);
    c->k->grid = x->r->blocks = (uint32_t)lay_level_size(&x->s->layout, LAY_GRID);
    c->k->why_block = c->k->why_grid = x->s->why_vector = x->s->why_register = "the layout was given";
}

void plan_choose(WbbCx *cx, WbbArena *a, const Plan *p, PlanKernel *k, const TgTarget *t, const char *layout)
{
    PlanChoosing c = {.cx = cx, .arena = a, .p = p, .k = k, .t = t};
    c.choices = WBB_NEW_N(a, PlanLoopChoice, k->n_ranges + 1u);
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        c.choices[n] = (PlanLoopChoice){.r = &k->ranges[n], .s = &k->ranges[n].stages[0]};
        c.elements += k->ranges[n].elements;
    }
    find_needed(&c);
    if (layout) read_layout(&c, layout);
    else choose_layouts(&c);
    for (uint32_t n = 0; n < k->n_ranges; n++) {
        PlanStage *s = c.choices[n].s;
        s->maps = lay_maps(cx, p->rw, a, &s->layout);
        s->plain_number = c.choices[n].spread || plan_row_threads(&c.choices[n]) == k->block;
    }
}
