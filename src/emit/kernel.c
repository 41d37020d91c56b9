/* kernel.c: a kernel of a plan: its threads, the stages of its launch ranges, the stores.
 *
 * Needs a plan; leaves a kernel whose elements are raw nodes and whose index nodes are in normal form. A block finds
 * its range by its number, which is the same in all its threads. Which elements a thread has is said by the maps of the
 * stage's layout: their results at this thread are indices, their domain is the bounds checks. Checks that facts prove
 * are left out; inside the others `let` states what they prove.
 *
 *     [7,33,129] f32, elements: vector 4, lane 32, warp 4, grid 59:
 *         if lt.index(128*bid + tid, 7449) {
 *           let t = 128*bid + tid in 0..7449
 *           for v in 0..4 lanes 4 { store %out[4*t + v], .. }
 *         } else {
 *           if lt.index(128*bid + tid, 7452) { let r = 128*bid + tid + 22347 in 29796..29799  store %out[r], .. }
 *         }
 */
#include "emit/inner.h"

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *arena;
    const Plan *plan;
    const PlanKernel *kernel;
    const PlanRange *r;  /* the range .. */
    const PlanStage *s;  /* .. and the stage that is being made */
    IrRef bid, tid;
    IrRef thread; /* its number in the layout */
    IrRef starts[HLO_RANK_LIMIT]; /* of an update, in every dimension; 0: not known yet */
} Emitter;

static void map_at(Emitter *m, const IxMap *map, const IrRef *point, IrRef *results, IrRef *constraints)
{
    ix_map_at(m->rw, m->arena, rw_graph(m->plan->rw), map, point, results, constraints);
}

static void store(Emitter *m, uint32_t output, const HloShape *shape, const IrRef *at, IrRef value)
{
    emit_store(m->e, m->plan->n_operands + output, ix_linear(m->rw, shape, at), value);
}

/* Bitcast the value to the output's element type. */
static IrRef in_type(Emitter *m, IrRef value, ScType t)
{
    return IR_SC(ir_at(m->g, value)->type) == t ? value : ir_node(m->g, OP_BITS, IR_TYPE(t, 0), 0, value, 0, 0, 0);
}

/* What an output of the stage has as its element of this number. */
static IrRef value_at(Emitter *m, uint32_t k, IrRef element)
{
    const PlanStage *s = m->s;
    const PlanValue v = s->values ? s->values[k] : m->plan->roots[s->outputs[k]];
    const HloShape *shape = s->values ? s->shapes[k] : plan_shape(v.i, v.part);
    IrRef *index = WBB_NEW_N(m->arena, IrRef, shape->rank + 1u);
    ix_delinear(m->rw, shape, element, index);
    const IrRef value = emit_value(m->e, v, index);
    if (!s->values) return value;
    const ScType t = m->plan->buffers[m->plan->n_operands + s->outputs[k]].shape->type;
    return in_type(m, emit_as(m->e, value, shape->type), t);
}

/* Compute every value before the first store: an in-place output may alias another value's operand. */
static void store_elements(Emitter *m, IrRef element)
{
    const PlanStage *r = m->s;
    IrRef *values = WBB_NEW_N(m->arena, IrRef, r->n_outputs);
    for (uint32_t k = 0; k < r->n_outputs; k++) values[k] = value_at(m, k, element);
    for (uint32_t k = 0; k < r->n_outputs; k++)
        emit_store(m->e, m->plan->n_operands + r->outputs[k], element, values[k]);
}

/* The same element of each operand. */
static void store_concatenate(Emitter *m, IrRef element)
{
    const PlanStage *r = m->s;
    const PlanValue root = m->plan->roots[r->outputs[0]];
    const uint32_t rank = m->r->space->rank;
    IrRef *values = WBB_NEW_N(m->arena, IrRef, r->n_starts);
    IrRef *at = WBB_NEW_N(m->arena, IrRef, r->n_starts * (rank + 1u));
    for (uint32_t k = 0; k < r->n_starts; k++) {
        IrRef *index = at + k * (rank + 1u);
        ix_delinear(m->rw, m->r->space, element, index);
        index[r->dim] = rw_add(m->rw, index[r->dim], ir_index(m->g, r->starts[k]));
        values[k] = emit_value(m->e, root, index);
    }
    for (uint32_t k = 0; k < r->n_starts; k++)
        store(m, r->outputs[0], plan_shape(root.i, root.part), at + k * (rank + 1u), values[k]);
}

/* The indices at which an update begins: run-time values, clamped, the same for all elements. */
static void find_starts(Emitter *m)
{
    const HloInstruction *u = m->s->update;
    const IxNeeds needs = ix_needs(m->arena, u);
    for (uint32_t d = 0; d < u->shape->rank; d++) m->starts[d] = ir_index(m->g, 0);
    for (uint32_t k = 0; k < needs.n_starts; k++) {
        IrRef at[HLO_RANK_LIMIT];
        const PlanValue v = {u->operands[needs.starts[k].operand], 0};
        ix_start(m->rw, m->arena, u, k, m->starts, NULL, at);
        m->starts[needs.starts[k].dimension] =
            emit_start(m->e, emit_value(m->e, v, at), needs.starts[k].lo, needs.starts[k].hi);
    }
}

static void store_update(Emitter *m, IrRef element)
{
    const HloInstruction *u = m->s->update;
    IrRef *index = WBB_NEW_N(m->arena, IrRef, u->shape->rank + 1u);
    IrRef *at = WBB_NEW_N(m->arena, IrRef, u->shape->rank + 1u);
    ix_delinear(m->rw, m->r->space, element, index);
    const IrRef value = emit_value(m->e, (PlanValue){u->operands[1], 0}, index);
    for (uint32_t d = 0; d < u->shape->rank; d++) at[d] = rw_add(m->rw, index[d], m->starts[d]);
    const uint32_t output = m->s->outputs[0];
    store(m, output, u->shape, at,
          in_type(m, emit_as(m->e, value, u->shape->type), m->plan->buffers[m->plan->n_operands + output].shape->type));
}

/* The thread's element of each step of a loop, which stores them as it goes; then what has its last state. */
static void store_steps(Emitter *m, IrRef element)
{
    EmitValues *e = m->e;
    const PlanStage *stage = m->s;
    const PlanSteps *of = stage->steps;
    const uint32_t leaves = of->loop->shape->n_leaves;
    IrRef *at = WBB_NEW_N(m->arena, IrRef, HLO_RANK_LIMIT), *index = WBB_NEW_N(m->arena, IrRef, HLO_RANK_LIMIT);
    ix_delinear(m->rw, m->r->space, element, at);
    EmitSteps s = {.of = of, .at = at, .now = WBB_NEW_N(m->arena, IrRef, leaves + 1),
                   .outputs = WBB_NEW_N(m->arena, uint32_t, stage->n_outputs + 1),
                   .elements = WBB_NEW_N(m->arena, IrRef, stage->n_outputs + 1),
                   .values = WBB_NEW_N(m->arena, IrRef, stage->n_outputs + 1)};
    for (uint32_t k = 0; k < stage->n_outputs; k++)
        if (of->stepped[stage->outputs[k]]) s.outputs[s.n_outputs++] = stage->outputs[k];
    e->steps = &s;
    uint32_t leaf = 0;
    while (!of->stacks[leaf].update) leaf++;
    plan_stack_index(m->rw, of, leaf, at, ir_index(m->g, 0), index);
    emit_value(e, (PlanValue){of->loop, leaf}, index); /* which runs the loop */
    e->steps = NULL;
    for (uint32_t k = 0; k < stage->n_outputs; k++) {
        const uint32_t output = stage->outputs[k];
        const PlanValue v = m->plan->roots[output];
        if (!of->stepped[output]) store(m, output, plan_shape(v.i, v.part), at, emit_value(e, v, at));
    }
}

static void store_all(Emitter *m, IrRef element)
{
    if (m->s->kind == PLAN_ELEMENTS) store_elements(m, element);
    else if (m->s->kind == PLAN_CONCATENATE) store_concatenate(m, element);
    else if (m->s->kind == PLAN_STEPS) store_steps(m, element);
    else if (m->s->kind == PLAN_SCATTER) emit_scatter(m->e, m->s, m->r->space, element);
    else store_update(m, element);
}

/* Opens an `if` for x < bound; NULL: that always holds. */
static IrStmt *only_below(Emitter *m, IrRef x, int64_t bound)
{
    const IrRef below = rw_compare(m->rw, OP_LT, x, ir_index(m->g, bound));
    if (ir_is_const(m->g, below)) return NULL;
    IrStmt *s = ir_stmt(m->g, emit_block(m->e), IR_IF);
    s->condition = below;
    emit_enter(m->e, &s->body);
    return s;
}

/* The number of the thread as one variable, so that index rules see at once what is a multiple of the elements of a
 * thread. Where a block has one row the sum stands as it is: the row is the block's number, the column the thread's. */
static IrRef number_of_thread(Emitter *m, bool exact)
{
    const IxVar *t = &m->s->maps.elements->vars.items[0];
    if (exact && m->s->plain_number) return m->thread;
    if (t->hi == 0 || ir_at(m->g, m->thread)->op == OP_VAR) return emit_let(m->e, "t", m->thread, 0, t->hi);
    const IrRef var = ir_let(m->g, emit_block(m->e), emit_name(m->e, "t"), m->thread, 0, t->hi);
    emit_bound(m->e, var);
    return var;
}

/* The elements of a vector: those of a map at the values of its variables, of which the last is the element of the
 * vector if that has several, `lanes`; a loop over these. */
static void store_vector(Emitter *m, const IxMap *map, IrRef *point, uint32_t lanes)
{
    const uint32_t last = map->vars.n - 1, outside = m->e->scope;
    IrRef element, *bounded = WBB_NEW_N(m->arena, IrRef, map->constraints.n + 1u);
    if (lanes > 1) point[last] = ir_index(m->g, 0);
    if (lanes == 1 || map->constraints.n) map_at(m, map, point, &element, bounded);
    for (uint32_t k = 0; k < map->constraints.n; k++) only_below(m, bounded[k], map->constraints.items[k].hi + 1);
    if (lanes > 1) {
        point[last] = emit_lanes(m->e, lanes);
        map_at(m, map, point, &element, NULL);
    }
    store_all(m, element);
    emit_switch(m->e, outside);
}

/* All vectors of the thread. */
static void store_vectors(Emitter *m, bool exact)
{
    const IxMap *map = m->s->maps.elements;
    const LayDim *d = &m->s->layout.dims[0];
    const LayFactor *vector = lay_factor(d, LAY_VECTOR), *registers = lay_factor(d, LAY_REGISTER);
    IrRef *point = WBB_NEW_N(m->arena, IrRef, map->vars.n);
    point[0] = number_of_thread(m, exact);
    if (m->s->kind == PLAN_UPDATE) find_starts(m);
    for (int64_t k = 0; k < (registers ? registers->size : 1); k++) {
        if (registers) point[1] = ir_index(m->g, k);
        store_vector(m, map, point, vector ? (uint32_t)vector->size : 1);
    }
}

/* The tail where each element has bytes of its own: a thread for each. */
static void store_tail(Emitter *m)
{
    const IxMap *map = m->s->maps.tail;
    IrRef element;
    map_at(m, map, &m->thread, &element, NULL);
    const IrFact of_map = ir_fact(rw_graph(m->plan->rw), map->results.items[0]);
    element = emit_let(m->e, "r", element, (int64_t)of_map.lo, (int64_t)of_map.hi);
    if (m->s->kind == PLAN_UPDATE) find_starts(m);
    store_all(m, element);
}

/* The last n elements, which do not fill their bytes. Computes every value before the first store. */
static void store_partial(Emitter *m, int64_t first, uint32_t n)
{
    const PlanStage *r = m->s;
    IrRef *values = WBB_NEW_N(m->arena, IrRef, r->n_outputs * n);
    for (uint32_t k = 0; k < r->n_outputs; k++)
        for (uint32_t j = 0; j < n; j++) values[k * n + j] = value_at(m, k, ir_index(m->g, first + j));
    for (uint32_t k = 0; k < r->n_outputs; k++) {
        const uint32_t buffer = m->plan->n_operands + r->outputs[k];
        const ScType t = m->plan->buffers[buffer].shape->type;
        const uint32_t each = plan_packed_group(t);
        for (uint32_t j = 0; j < n; j += each)
            emit_store(m->e, buffer, ir_index(m->g, first + j),
                       emit_packed(m->e, values + k * n + j, t, each, n - j));
    }
}

/* The tail where several elements share a byte: a thread for each packed group, the last of which may be short. */
static void store_packed_tail(Emitter *m)
{
    const IxMap *map = m->s->maps.tail;
    const IxVar *t = &map->vars.items[0];
    const bool rest = map->constraints.n != 0;
    const int64_t full = t->hi - t->lo + !rest;
    const uint32_t outer = m->e->scope;
    IrStmt *s = full && rest ? only_below(m, m->thread, t->hi) : NULL;
    IrRef point[2], first;
    if (full) {
        const IrRef group = emit_let(m->e, "r", rw_sub(m->rw, m->thread, ir_index(m->g, t->lo)), 0, full - 1);
        point[0] = rw_add(m->rw, group, ir_index(m->g, t->lo));
        store_vector(m, map, point, m->s->packed_group);
    }
    emit_switch(m->e, outer);
    if (!rest) return;
    if (s) emit_enter(m->e, &s->otherwise);
    point[0] = ir_index(m->g, t->hi), point[1] = ir_index(m->g, 0);
    map_at(m, map, point, &first, NULL);
    const int64_t element = (int64_t)ir_at(m->g, first)->imm;
    store_partial(m, element, (uint32_t)(m->r->elements - element));
}

static void stage(Emitter *m, IrRef block, const PlanStage *s)
{
    const uint32_t outer = m->e->scope;
    const LayMaps *maps = &s->maps;
    m->s = s;
    map_at(m, maps->launched, (IrRef[]){block, m->tid}, &m->thread, NULL);
    IrStmt *bounded = maps->elements ? only_below(m, m->thread, maps->elements->vars.items[0].hi + 1) : NULL;
    if (maps->elements) store_vectors(m, !bounded && !maps->tail);
    emit_switch(m->e, outer);
    if (maps->tail) {
        assert(bounded || !maps->elements);
        if (bounded) emit_enter(m->e, &bounded->otherwise);
        only_below(m, m->thread, maps->tail->vars.items[0].hi + 1);
        if (s->packed_group > 1) store_packed_tail(m);
        else store_tail(m);
    }
    emit_switch(m->e, outer);
}

static void range(Emitter *m, const PlanRange *r)
{
    const uint32_t outer = m->e->scope;
    m->r = r;
    const IrRef block =
        emit_let(m->e, "b", rw_sub(m->rw, m->bid, ir_index(m->g, r->first_block)), 0, (int64_t)r->blocks - 1);
    if (r->tile) emit_tiles(m->e, r, block, m->tid);
    else if (r->product) emit_product(m->e, r, block, m->tid);
    else if (r->attention) emit_attention(m->e, r, block, m->tid);
    else if (r->stages[0].sort) emit_sort(m->e, r, block, m->tid);
    else if (r->stages[0].space) emit_shared(m->e, r, block, m->tid);
    else if (r->stages[0].cells) emit_scatter_cells(m->e, r, block, m->tid);
    else for (uint32_t k = 0; k < r->n_stages; k++) stage(m, block, &r->stages[k]);
    emit_switch(m->e, outer);
}

/* Ranges lo .. hi-1, by bisection over the blocks. C calls nest as deep as the logarithm of their number. */
static void ranges(Emitter *m, uint32_t lo, uint32_t hi)
{
    if (hi - lo == 1) {
        range(m, &m->kernel->ranges[lo]);
        return;
    }
    const uint32_t middle = lo + (hi - lo) / 2, outer = m->e->scope;
    IrStmt *s = only_below(m, m->bid, m->kernel->ranges[middle].first_block);
    assert(s);
    ranges(m, lo, middle);
    emit_switch(m->e, outer);
    emit_enter(m->e, &s->otherwise);
    ranges(m, middle, hi);
    emit_switch(m->e, outer);
}

static IrKernel *new_kernel(WbbArena *a, IrGraph *g, const Plan *p, const PlanKernel *of)
{
    IrKernel *k = WBB_NEW(a, IrKernel);
    k->name = emit_identifier(a, p->fusion->name);
    if (of->number) k->name = wbb_format(a, "%s_%u", k->name, of->number);
    k->g = g;
    k->n_buffers = p->n_operands + p->n_outputs + p->n_temps;
    k->buffers = WBB_NEW_N(a, IrBuffer, k->n_buffers);
    for (uint32_t i = 0; i < k->n_buffers; i++) {
        const PlanBuffer *from = &p->buffers[i];
        const ScType t = from->shape->type, view = i < of->n_views && of->views[i] != SC_NONE ? of->views[i] : t;
        const int64_t each = plan_packed_group(t);
        const int64_t whole = (from->elements + each - 1) / each * each;
        const bool temporary = from->temporary || i >= p->n_operands + p->n_outputs;
        k->buffers[i] = (IrBuffer){.name = from->name, .type = view, .align = from->temporary ? 16 : plan_align(p, t),
                                   .elements = whole * sc_type_info[t].bits / sc_type_info[view].bits};
        k->buffers[i].space = temporary ? IR_TEMP : !from->output ? IR_IN : from->alias < 0 ? IR_OUT : IR_INOUT;
        k->buffers[i].alias = (uint32_t)(from->alias + 1);
        k->buffers[i].zeroed = from->zeroed;
    }
    for (uint32_t n = 0; n < of->n_made; n++) {
        IrBuffer *b = &k->buffers[of->made[n].buffer];
        b->space = IR_IN, b->alias = 0;
    }
    k->block = of->block, k->grid = of->grid, k->cluster = of->cluster;
    return k;
}

IrKernel *emit_kernel(WbbCx *cx, WbbArena *a, RwCx *rw, const Plan *plan, const PlanKernel *kernel)
{
    plan = plan_of_kernel(plan, kernel);
    IrGraph *g = rw_graph(rw);
    IrKernel *k = new_kernel(a, g, plan, kernel);
    if (kernel->grid == 0) return k;
    Emitter *m = WBB_NEW(a, Emitter);
    *m = (Emitter){.e = emit_values(cx, a, rw, k, plan, kernel), .rw = rw, .g = g, .arena = a, .plan = plan,
                     .kernel = kernel};
    m->bid = ir_var(g, ir_var_new(g, "bid", IR_BID, 0, (int64_t)kernel->grid - 1, 0));
    m->tid = ir_var(g, ir_var_new(g, "tid", IR_TID, 0, (int64_t)kernel->block - 1, 0));
    if (kernel->grid == 1) m->bid = ir_index(g, 0);
    ranges(m, 0, kernel->n_ranges);
    return k;
}
