/* work.c: what the stages of a shared range load, store and compute, for their price.
 *
 * Needs the plan of a fusion and its range without a layout; leaves a LayWork. Every value that the terms and the
 * outputs need is visited from the reductions back to the parameters (walk.c).
 *
 *     reduce(x[rows, columns] + bias[columns]), {1}   =>   x: steps 1024, 1; bias: steps 0, 1; 1 slot a term, 1 to add
 */
#include "graph/graph.h"
#include "plan/walk.h"

enum { MAX_PASSES = 63 };

static double rate(const PlanWalk *w, const char *name) { return tg_rate(w->t, name)->value; }

/* --- the stages --------------------------------------------------------------------------------------------------- */
/* Does it join what comparisons say? The machine does so as it compares. */
static bool is_logic(const HloInstruction *i)
{
    bool logic = i->shape->type == SC_PRED && (i->opcode == HLO_AND || i->opcode == HLO_OR || i->opcode == HLO_NOT);
    for (uint32_t k = 0; k < i->n_operands; k++) logic = logic && i->operands[k]->opcode != HLO_PARAMETER;
    return logic;
}

/* Instructions and dependent ones of combining two partial results. Of the terms of a thread numbers are constants,
 * in order: comparing these takes nothing. */
static void add_combining(PlanWalk *w, LayWork *work, const PlanReduce *r)
{
    const HloComputation *c = r->i->called[0];
    const uint32_t arrays = r->i->n_operands / 2;
    double slots = 0, clocks = 0;
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        const bool f64 = plan_shape(i, 0)->type == SC_F64;
        const double own = i->opcode == HLO_PARAMETER || is_logic(i) ? 0 : plan_cost_of(w->t, i).slots;
        bool numbers = i->opcode == HLO_COMPARE;
        for (uint32_t k = 0; k < i->n_operands && numbers; k++) {
            const HloInstruction *x = i->operands[k];
            numbers = x->opcode == HLO_PARAMETER && hlo_source(r->i->operands[x->number % arrays])->opcode == HLO_IOTA;
        }
        slots += own;
        work->within_slots += numbers ? 0 : own;
        clocks += own * w->t->warp / rate(w, f64 ? "pipe.f64" : "pipe.fma");
    }
    if (r->number) { /* what other threads have is put in order */
        slots += 1 + 2 * arrays;
        clocks += (1 + 2 * arrays) * w->t->warp / rate(w, "pipe.alu");
    }
    const bool f64 = c->parameters[0]->shape->type == SC_F64;
    work->combine_slots += slots;
    work->combine_clocks += clocks;
    const double waits = slots > 2 ? (double)tg_tuned(w->t, "work.waits") / 100 : 1; /* of one or two, each does */
    const double latency = slots * waits * rate(w, f64 ? "latency.f64" : "latency.fma");
    work->combine_latency = WBB_MAX(work->combine_latency, latency);
}

static bool rounds(const PlanReduce *r)
{
    const HloOpcode op = r->i->called[0]->root->opcode;
    const ScTypeInfo *t = &sc_type_info[r->sum != SC_NONE ? r->sum : plan_shape(r->i, 0)->type];
    if (r->commutes && hlo_orders(op)) return false;
    return (t->cls == 'F' && t->bits <= 32) || (t->cls == 'C' && t->bits <= 64);
}

static void add_reduction(PlanWalk *w, LayWork *work, const PlanReduce *r, uint32_t *partials)
{
    for (uint32_t k = 0; k < r->i->n_operands / 2; k++) {
        plan_walk_need(w, plan_value(r->i->operands[k], 0), w->at);
        const ScType t = r->sum != SC_NONE ? r->sum : plan_shape(r->i, k)->type;
        partials[work->n_partials++] = WBB_MAX(sc_type_info[t].bits, 8);
    }
    add_combining(w, work, r);
    work->commutes = work->commutes && r->commutes;
    work->redux = work->redux && plan_redux(r, w->t) != OP_NONE;
    work->presence = work->presence || !r->commutes || r->number;
    work->rounds = work->rounds || rounds(r);
    work->scan = r->i->opcode == HLO_REDUCE_WINDOW;
}

static void add_outputs(PlanWalk *w, LayWork *work, const PlanStage *s, const IrRef *kept, LayAccess *stores)
{
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        const PlanValue root = w->p->roots[s->outputs[k]];
        const HloShape *x = plan_shape(root.i, root.part);
        IrRef index[HLO_RANK_LIMIT];
        plan_path_index(w->rw, w->a, &s->paths[k], s->paths[k].kept ? kept : w->at, index);
        plan_walk_need(w, root, index);
        LayAccess store = plan_access_of(w, x, ix_linear(w->rw, x, index), NULL);
        store.buffer = w->p->n_operands + s->outputs[k];
        stores[work->n_stores++] = store;
    }
}

/* Sums across rows: their terms, and one instruction to add each. */
static void add_across(PlanWalk *w, LayWork *work, const PlanStage *s, const HloShape *space)
{
    for (uint32_t k = 0; k < s->n_reduces; k++) {
        const HloInstruction *i = s->reduces[k].i, *terms = i->operands[0];
        IrRef index[HLO_RANK_LIMIT];
        ix_bitcast(w->rw, w->a, space, terms->shape, w->at, index);
        plan_walk_need(w, plan_value(terms, 0), index);
        work->across++;
        work->across_blocks = i->shape->dims[0];
        work->across_bytes += (double)hlo_elements(i->shape) * sc_bytes(i->shape->type);
    }
}

/* Along which dimensions terms follow each other, if they keep their order. */
static void find_sequence(const PlanWalk *w, LayWork *work)
{
    uint32_t *s = plan_sequence(w->a, w->space, w->n_space), n = 0;
    for (uint32_t k = 0; k < w->n_space; k++)
        if (w->space[s[k]].dim.reduced) s[n++] = s[k];
    if (n > 1) work->sequence = s, work->n_sequence = n;
}

/* Where the larger factor of products is the same along a kept dimension, a thread has several results for what it
 * loads of it, and as many loads of the other one: those are one access where the terms of a thread are neighbours,
 * along a reduced dimension in which the other factor has neighbours, and the larger one rows. */
static void find_neighbours(LayWork *w)
{
    const LayAccess *most = NULL;
    bool repeated = false;
    for (uint32_t k = 0; k < w->n_loads; k++)
        if (!most || w->loads[k].elements * w->loads[k].bits > most->elements * most->bits) most = &w->loads[k];
    for (uint32_t d = 0; d < w->n_dims && most; d++) repeated = repeated || (!w->dims[d].reduced && !most->step[d]);
    if (!repeated || !w->commutes || w->scan || w->across) return;
    for (uint32_t d = 0; d < w->n_dims; d++)
        for (uint32_t k = 0; k < w->n_loads && w->dims[d].reduced; k++)
            if (w->loads[k].step[d] == 1 && most->step[d] > 1 && most->step[d] != LAY_FAR)
                w->neighbours |= UINT64_C(1) << d;
}

LayWork plan_work_of(WbbArena *a, const Plan *p, const PlanRange *r, const TgTarget *t)
{
    const PlanStage *first = &r->stages[0];
    PlanWalk w = {.a = a, .p = p, .rw = p->rw, .t = t, .space = first->space, .n_space = first->n_space,
                  .shape = r->space, .stop = r->reduced};
    LayDim *dims = WBB_NEW_N(a, LayDim, w.n_space + 1u);
    for (uint32_t d = 0; d < w.n_space; d++) dims[d] = w.space[d].dim;
    LayWork work = {.dims = dims, .n_dims = w.n_space, .commutes = true, .splits = true,
                    .redux = true, .reads = lay_reads(t)};
    uint32_t arrays = 0, outputs = 0;
    for (uint32_t k = 0; k < r->n_stages; k++) {
        for (uint32_t j = 0; j < r->stages[k].n_reduces; j++) arrays += r->stages[k].reduces[j].i->n_operands / 2;
        outputs += r->stages[k].n_outputs;
    }
    uint32_t *partials = WBB_NEW_N(a, uint32_t, arrays + 1u);
    LayAccess *stores = WBB_NEW_N(a, LayAccess, outputs + 1u);
    IrRef *kept = WBB_NEW_N(a, IrRef, r->space->rank + 1u);
    plan_walk_begin(&w);
    plan_kept_index(r->hero, w.at, kept);
    for (uint32_t k = 0; k < r->n_stages; k++) {
        const PlanStage *s = &r->stages[k];
        if (s->kind != PLAN_RESULTS) {
            w.pass = WBB_MIN(work.passes, (uint32_t)MAX_PASSES);
            work.passes++;
        }
        w.results = s->kind == PLAN_RESULTS;
        if (s->kind == PLAN_ACROSS) add_across(&w, &work, s, r->space);
        work.splits = work.splits && (k == 0 || s->kind == PLAN_RESULTS) && s->kind != PLAN_SCAN;
        work.reductions += s->n_reduces != 0 && s->kind != PLAN_ACROSS;
        work.packed_group = WBB_MAX(work.packed_group, s->packed_group);
        for (uint32_t j = 0; j < s->n_reduces && s->kind != PLAN_ACROSS; j++)
            add_reduction(&w, &work, &s->reduces[j], partials);
        if (s->kind != PLAN_ACROSS) add_outputs(&w, &work, s, kept, stores);
        plan_walk_run(&w);
    }
    work.redux = work.redux && !work.scan;
    if (!work.scan && plan_in_order(r)) find_sequence(&w, &work);
    work.partials = partials, work.stores = stores;
    plan_walk_work(&w, &work);
    find_neighbours(&work);
    work.along = w.along.items, work.n_along = w.along.n;
    work.of_results = w.of_results, work.of_results.slots += work.across;
    work.term_slots += work.across, work.again_slots = w.again_slots;
    return work;
}

double plan_sharing_clocks(const PlanRange *r, const TgTarget *t)
{
    const Layout *l = &r->choice->best[0].layout;
    const double alu = tg_rate(t, "latency.alu")->value;
    double each = 0, n = 0;
    for (int64_t k = lay_part(l, LAY_LANE, true); k > 1; k /= 2)
        each += tg_rate(t, "latency.shuffle")->value + alu;
    if (lay_part(l, LAY_WARP, true) > 1)
        each += tg_rate(t, "latency.barrier")->value + 2 * tg_rate(t, "latency.shared")->value;
    if (lay_part(l, LAY_CLUSTER, true) > 1) each += 3 * tg_rate(t, "latency.cluster")->value;
    for (uint32_t k = 0; k < r->n_stages; k++) n += r->stages[k].kind == PLAN_REDUCE ? r->stages[k].n_reduces : 0;
    return n * each;
}

void plan_price_given(WbbArena *a, const Plan *p, PlanRange *r, const TgTarget *t)
{
    if (!r->hero) return;
    const LayWork work = plan_work_of(a, p, r, t);
    LayPrice *price = WBB_NEW(a, LayPrice);
    *price = lay_price_layout(a, &work, &r->stages[0].layout, lay_rates(a, t));
    r->given = price, r->rolled = price->rolled;
}

bool plan_choose_shared(WbbArena *a, Plan *p, PlanRange *r, const TgTarget *t)
{
    for (uint32_t k = 0; k < r->n_stages; k++)
        for (uint32_t j = 0; j < r->stages[k].n_reduces; j++) {
            const PlanReduce *reduce = &r->stages[k].reduces[j];
            if (reduce->commutes) continue;
            if (gr_associates(rw_graph(p->rw)->cx, a, reduce->i->called[0]) == GR_NO) return false;
        }
    const LayWork work = plan_work_of(a, p, r, t);
    LayChoice *choice = WBB_NEW(a, LayChoice);
    *choice = lay_choose_layout(a, &work, t);
    r->choice = choice, r->rolled = choice->n && choice->best[0].price.rolled;
    return choice->n;
}
