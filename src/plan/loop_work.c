/* loop_work.c: what a loop over elements loads, stores and computes.
 *
 * Needs a launch range whose one stage computes elements that a thread has alone; leaves a LayWork over the dimensions
 * of its space. Most loops store roots, each element at its own place (exchange_work.c); others
 *
 *     values   what a scatter works on, in the memory of its result
 *     update   a dynamic-update-slice in place: elements of the update, where its starts say
 *     scatter  updates that no instruction combines: elements of the result, where indices from memory say
 *
 * What another launch has left in memory is loaded. The starts of an update in place are the same for all threads, so
 * that its elements are in rows that may begin anywhere; of scattered rows each is elsewhere.
 *
 *     bf16[8,2048,128] dynamic-update-slice(x, u bf16[8,1,128], 0, i, 0)    =>   u: 2048 bytes loaded, as many stored
 */
#include "plan/exchange.h"
#include "plan/loop_choice.h"
#include "plan/scatter.h"

#include "index/access.h"

typedef struct {
    const PlanExchange *x;
    const PlanStage *s;
    PlanWalk w;
    LayWork work;
    LayAccess *stores, *reads; /* reads: accesses of memory beside the loads of the walk */
    uint32_t n_reads;
    IrRef at[HLO_RANK_LIMIT]; /* the position as an index of the range's space */
} Sites;

static void store(Sites *m, const HloShape *s, const IrRef *index, const PlanNeed *by)
{
    m->stores[m->work.n_stores++] = plan_access_of(&m->w, s, ix_linear(m->w.rw, s, index), by);
}

static void add_values(Sites *m)
{
    RwCx *rw = m->w.rw;
    for (uint32_t k = 0; k < m->s->n_outputs; k++) {
        IrRef index[HLO_RANK_LIMIT];
        ix_delinear(rw, m->s->shapes[k], ix_linear(rw, m->x->space, m->w.at), index);
        plan_walk_need(&m->w, m->s->values[k], index);
        store(m, m->s->shapes[k], index, NULL);
    }
}

static void add_update(Sites *m)
{
    const HloInstruction *u = m->s->update;
    const IxNeeds needs = ix_needs(m->x->a, u);
    IrRef none[HLO_RANK_LIMIT];
    PlanNeed by = {.value = plan_value(u, 0), .times = 1};
    for (uint32_t d = 0; d < u->shape->rank; d++) none[d] = ir_index(rw_graph(m->w.rw), 0);
    plan_walk_need(&m->w, plan_value(u->operands[1], 0), m->at);
    for (uint32_t k = 0; k < needs.n_starts; k++) {
        const IxStart *s = &needs.starts[k];
        const HloInstruction *start = u->operands[s->operand];
        IrRef at[HLO_RANK_LIMIT];
        if (start->opcode == HLO_CONSTANT) { /* emit_start takes as much of it */
            const WbbI128 value = sc_to_i128(start->shape->type, hlo_literal_bits(start, 0));
            const int64_t known = (int64_t)WBB_MAX(WBB_MIN(value, s->hi), s->lo);
            m->at[s->dimension] = rw_add(m->w.rw, m->at[s->dimension], ir_index(rw_graph(m->w.rw), known));
            continue;
        }
        ix_start(m->w.rw, m->x->a, u, k, none, NULL, at);
        plan_walk_need(&m->w, plan_value(start, 0), at);
        by.anywhere = by.anywhere || s->dimension == u->shape->minor_to_major[0];
    }
    store(m, u->shape, m->at, &by);
}

/* --- updates of a scatter ----------------------------------------------------------------------------------------- */
/* In the mean: lanes of a warp that have the same element one after the other take as many turns as the most lanes
 * that meet, of elements that are spread evenly. */
static double turns_of_warp(double lanes, double elements)
{
    double turns = 1, meet = lanes;
    for (double k = 1; k < lanes; k++) {
        meet *= (lanes - k) / ((k + 1) * elements);
        if (meet < 0.01) break;
        turns += WBB_MIN(meet, 1.0);
    }
    return turns;
}

/* A lock for each element: taken, and given back. */
static void add_lock(Sites *m, const HloShape *to, const PlanNeed *by, double updates, double window)
{
    const PlanWalk *w = &m->w;
    const double elements = (double)hlo_elements(to), alu = tg_rate(w->t, "latency.alu")->value;
    const double turns = turns_of_warp(WBB_MAX(w->t->warp / window, 1.0), elements / window);
    const double of_line = WBB_MIN(TG_LINE / (double)sizeof(uint32_t), elements);
    const double of_turn = WBB_MIN(window, 16 / (double)sizeof(uint32_t)); /* of one operation */
    HloShape *lock = WBB_NEW(m->x->a, HloShape);
    *lock = *to;
    lock->type = SC_U32;
    const IrRef node = ix_linear(w->rw, to, m->at);
    m->reads[m->n_reads++] = plan_access_of(w, lock, node, by);
    m->stores[m->work.n_stores++] = plan_access_of(w, lock, node, by);
    m->work.turns = (LayTurns){
        .sectors = 2 * updates / WBB_MIN(window, TG_SECTOR / (double)sizeof(uint32_t)),
        .clocks = 2 * updates / elements * tg_rate(w->t, "atomic.int")->value * of_line / of_turn,
        .latency = turns * (2 * tg_rate(w->t, "latency.atomic")->value + tg_rate(w->t, "latency.l2")->value +
                            m->work.term_slots * alu)};
}

static void add_updates(Sites *m)
{
    const HloInstruction *i = m->s->update, *indices = i->operands[i->n_operands / 2];
    const HloShape *to = plan_shape(i, m->s->first), *own = m->x->range->space;
    const uint32_t results = i->n_operands / 2, columns = (uint32_t)indices->shape->dims[1];
    const IrRef row = m->at[0];
    PlanNeed by = {.value = plan_value(i, m->s->first), .times = 1, .sliced = to};
    double window = 1;
    for (uint32_t k = 0; k < m->s->n_outputs; k++)
        plan_walk_need(&m->w, plan_value(i->operands[results + 1 + m->s->first + k], 0), m->at);
    for (uint32_t c = 0; c < columns; c++) {
        const IrRef at[] = {row, ir_index(rw_graph(m->w.rw), c)};
        int64_t below = 1;
        plan_walk_need(&m->w, plan_value(indices, 0), at);
        for (uint32_t d = 0; d < to->rank && to->minor_to_major[d] != c; d++) below *= to->dims[to->minor_to_major[d]];
        by.apart = c ? WBB_MIN(by.apart, below) : below;
        by.anywhere = by.anywhere || (c == to->minor_to_major[0] && to->rank && own->dims[1 + c] < to->dims[c]);
    }
    for (uint32_t d = 0; d < own->rank; d++)
        if (own->minor_to_major[own->rank - 1 - d] == 0) by.far |= UINT64_C(1) << d;
    for (uint32_t d = 0; d < to->rank; d++) m->at[d] = m->at[d + 1], window *= (double)own->dims[d + 1];
    for (uint32_t k = 0; k < m->s->n_outputs; k++) {
        const uint32_t n = m->s->first + k;
        store(m, plan_shape(i, n), m->at, &by);
        if (hlo_scatter_takes(i, n) != n) m->reads[m->n_reads++] = m->stores[m->work.n_stores - 1];
    }
    const HloComputation *combine = i->called[0];
    for (uint32_t k = 0; k < combine->n_instructions; k++)
        m->work.term_slots += plan_cost_of(m->x->t, combine->instructions[k]).slots;
    if (m->s->combine == PLAN_LOCK) add_lock(m, to, &by, (double)hlo_elements(own), window);
}

/* --- the work ----------------------------------------------------------------------------------------------------- */
static bool has_own_sites(const PlanStage *s) { return s->values || s->kind == PLAN_UPDATE || s->kind == PLAN_SCATTER; }

/* The loads of the walk, then those beside them. */
static void take_work(Sites *m)
{
    const LayWork own = m->work;
    plan_walk_run(&m->w);
    plan_walk_work(&m->w, &m->work);
    m->work.term_latency += plan_walk_waits(&m->w);
    m->work.term_slots += own.term_slots;
    LayAccess *loads = WBB_NEW_N(m->x->a, LayAccess, m->work.n_loads + m->n_reads + 1u);
    for (uint32_t k = 0; k < m->work.n_loads; k++) loads[k] = m->work.loads[k];
    for (uint32_t k = 0; k < m->n_reads; k++) loads[m->work.n_loads++] = m->reads[k];
    m->work.loads = loads;
}

/* --- rows that follow each other ---------------------------------------------------------------------------------- */
/* Is dimension d + 1 of the access, and what is beside it, as if d were more of it? */
static bool is_one(const LayWork *w, const LayAccess *x, uint32_t d)
{
    const bool repeats = x->repeat && (x->repeat[d] > 1 || x->repeat[d + 1] > 1);
    if (x->share.dim == d + 1 || x->share.dim == d + 2 || repeats || x->step[d] == LAY_FAR) return false;
    return x->step[d + 1] != LAY_FAR && x->step[d] == x->step[d + 1] * w->dims[d + 1].size;
}

static bool may_join(const LayWork *w, uint32_t d)
{
    bool one = true;
    for (uint32_t k = 0; one && k < w->n_loads; k++) one = is_one(w, &w->loads[k], d);
    for (uint32_t k = 0; one && k < w->n_stores; k++) one = is_one(w, &w->stores[k], d);
    for (uint32_t k = 0; one && k < w->n_along; k++)
        one = (w->along[k].along >> d & 1) == (w->along[k].along >> (d + 1) & 1);
    return one;
}

static const int64_t *without(WbbArena *a, const int64_t *of, uint32_t n, uint32_t d)
{
    int64_t *to = WBB_NEW_N(a, int64_t, n + 1u);
    for (uint32_t k = 0; of && k + 1 < n; k++) to[k] = of[k < d ? k : k + 1];
    return of ? to : NULL;
}

static const LayAccess *joined(WbbArena *a, const LayAccess *of, uint32_t n, uint32_t n_dims, uint32_t d)
{
    LayAccess *to = WBB_NEW_N(a, LayAccess, n + 1u);
    for (uint32_t k = 0; k < n; k++) {
        to[k] = of[k];
        to[k].step = without(a, of[k].step, n_dims, d), to[k].repeat = without(a, of[k].repeat, n_dims, d);
        to[k].gap = without(a, of[k].gap, n_dims, d);
        if (of[k].share.dim > d + 1) to[k].share.dim--;
    }
    return to;
}

/* Joins dimensions that all accesses have one after the other: a thread's neighbours are over the ends of their rows,
 * f32[262144,3] is as f32[786432]. Windows are of rows. */
static void join_dims(WbbArena *a, LayWork *w)
{
    for (uint32_t d = w->n_dims; d-- > 1 && !plan_has_windows(w);) {
        if (!may_join(w, d - 1)) continue;
        LayDim *dims = WBB_NEW_N(a, LayDim, w->n_dims);
        LaySlots *along = WBB_NEW_N(a, LaySlots, w->n_along + 1u);
        w->loads = joined(a, w->loads, w->n_loads, w->n_dims, d - 1);
        w->stores = joined(a, w->stores, w->n_stores, w->n_dims, d - 1);
        for (uint32_t k = 0; k + 1 < w->n_dims; k++) dims[k] = w->dims[k < d ? k : k + 1];
        dims[d - 1].size *= w->dims[d].size;
        const uint64_t low = (UINT64_C(1) << d) - 1;
        for (uint32_t k = 0; k < w->n_along; k++) {
            along[k] = w->along[k];
            along[k].along = (along[k].along & low) | (along[k].along >> 1 & ~low);
        }
        w->dims = dims, w->along = along, w->n_dims--;
    }
}

static LayWork work_of(const PlanExchange *x)
{
    const PlanGroup *groups = plan_exchange_groups(x->a, x->space);
    const uint32_t n = x->space->rank;
    if (!x->range || !has_own_sites(&x->range->stages[0])) return plan_exchange_work(x, PLAN_ELEMENTS, groups, n);
    Sites m = {.x = x, .s = &x->range->stages[0], .w = plan_exchange_walk(x, groups, n)};
    m.stores = WBB_NEW_N(x->a, LayAccess, m.s->n_outputs + 1u); /* and of a lock */
    m.reads = WBB_NEW_N(x->a, LayAccess, m.s->n_outputs + 1u);
    m.work = (LayWork){.dims = plan_group_dims(x->a, groups, n), .n_dims = n, .commutes = true, .passes = 1,
                       .stores = m.stores, .placed = true, .linear = true};
    m.w.linear = true;
    plan_walk_begin(&m.w);
    plan_own_index(x->range->space, m.w.at, m.at);
    if (m.s->kind == PLAN_UPDATE) add_update(&m);
    else if (m.s->kind == PLAN_SCATTER) add_updates(&m);
    else add_values(&m);
    take_work(&m);
    return m.work;
}

LayWork plan_loop_work(const PlanExchange *x)
{
    LayWork w = work_of(x);
    join_dims(x->a, &w);
    return w;
}

/* Updates that instructions combine have a price of their own, which knows of runs (scatter_price.c). */
static bool is_loop(const PlanStage *s)
{
    if (s->kind == PLAN_SCATTER) return !plan_may_combine(s);
    return s->kind == PLAN_ELEMENTS || s->kind == PLAN_CONCATENATE || s->kind == PLAN_UPDATE;
}

bool plan_loop_space(WbbArena *a, const Plan *p, const PlanKernel *k, const PlanRange *r, const TgTarget *t,
                     PlanExchange *x)
{
    const PlanStage *s = &r->stages[0];
    const uint32_t rank = WBB_MAX(r->space->rank, 1u); /* a number is a row of one */
    HloShape *space = WBB_NEW(a, HloShape);
    int64_t *dims = WBB_NEW_N(a, int64_t, rank + 1u);
    uint8_t *order = WBB_NEW_N(a, uint8_t, rank + 1u);
    if (!is_loop(s) || rank > PLAN_EXCHANGE_DIMS) return false;
    for (uint32_t d = 0; d < rank; d++) { /* the slowest first */
        order[d] = (uint8_t)(rank - 1 - d);
        dims[d] = r->space->rank ? r->space->dims[r->space->minor_to_major[order[d]]] : 1;
    }
    *space = (HloShape){.type = r->space->type, .rank = (uint8_t)rank, .dims = dims, .minor_to_major = order};
    *x = (PlanExchange){.a = a, .p = p, .t = t, .outputs = s->outputs, .n_outputs = s->n_outputs, .space = space,
                        .range = r, .made = k->made, .n_made = k->n_made};
    return true;
}
