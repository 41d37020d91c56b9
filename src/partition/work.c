/* work.c: what the stages of a shared range load, store and compute, for their price.
 *
 * Needs the plan of a fusion and its range without a layout; leaves a PartWork. Every value that the terms and the
 * outputs need is visited once for each index at which it is needed, from the reductions back to the parameters, as the
 * emitter does. A step along a dimension is the difference of two element numbers, taken at five places; where most of
 * these differ, or values read from memory decide, the elements are far apart.
 *
 *     reduce(x[rows, columns] + bias[columns]), {1}   =>   x: steps 1024, 1; bias: steps 0, 1; 1 slot a term, 1 to add
 */
#include "partition/pricing.h"

#include <string.h>

/* A value that is needed at an index. */
typedef struct {
    PartValue value;
    const IrRef *index; /* [rank] */
    uint64_t far;       /* dimensions of the space along which values from memory decide where it is */
    double times;       /* for an element of the space: more than once under a reduction of its own */
    bool anywhere;      /* values from memory decide where its rows begin */
} Need;

typedef struct {
    WbbArena *a;
    const PartPlan *p;
    const PartRange *range;
    RwCx *rw;
    const TgTarget *t;
    const PartGroup *space;
    uint32_t n_space;
    IxMap *map;            /* its variables are positions in the dimensions of the space */
    IrRef *at, *kept;      /* such a position as an index of the terms, and of the results */
    int64_t *point, elements;
    struct { Need *items; uint32_t n, capacity; } stack;
    struct { PartAccess *items; uint32_t n, capacity; } loads;
    struct { uint64_t *items; uint32_t n, capacity; } in_pass; /* of each load: a bit for each pass */
    WbbMap seen, load_of;  /* by hash of a need: bits of passes; by buffer and index: number of the load, from 1 on */
    uint32_t pass;
    double slots, again_slots, clocks, f64_clocks, special_clocks;
    uint32_t steps;
} Working;

enum { PLACES = 5, MAX_STEPS = 4096, MAX_PASSES = 63 };

static double rate(const Working *w, const char *name) { return tg_rate(w->t, name)->value; }
static double tuned(const Working *w, const char *name) { return (double)tg_tune(w->t, name, 0)->value; }

/* --- positions ---------------------------------------------------------------------------------------------------- */
static void find_position(Working *w)
{
    const HloShape *x = w->range->space;
    w->map = ix_map_new(w->a);
    w->at = WBB_NEW_N(w->a, IrRef, x->rank + 1u), w->kept = WBB_NEW_N(w->a, IrRef, x->rank + 1u);
    w->point = WBB_NEW_N(w->a, int64_t, w->n_space + 1u);
    for (uint32_t d = 0; d < x->rank; d++) w->at[d] = ir_index(rw_graph(w->rw), 0);
    for (uint32_t k = 0; k < w->n_space; k++) {
        const PartGroup *g = &w->space[k];
        const IrRef position = ix_map_var(w->rw, w->a, w->map, IX_DIMENSION,
                                          ix_map_name(w->a, w->map, IX_DIMENSION), 0, g->dim.size - 1);
        part_group_index(w->rw, g, x, position, w->at);
    }
    part_kept_index(w->range->hero, w->at, w->kept);
}

/* The value of an index node at w->point. */
static int64_t value_at(const Working *w, IrRef node)
{
    IxMap m = *w->map;
    int64_t value = 0;
    m.results.items = &node, m.results.n = 1;
    ix_map_eval(rw_graph(w->rw), &m, w->point, &value);
    return value;
}

/* What a node gains from one position to the next along dimension d, if that is the same at most places: a dimension
 * of the space may be several of the operand, so that a few steps lead to its next row. */
static int64_t step_along(const Working *w, IrRef node, uint32_t d)
{
    int64_t steps[PLACES];
    if (w->space[d].dim.size == 1) return 0;
    for (uint32_t place = 0; place < PLACES; place++) {
        for (uint32_t k = 0; k < w->n_space; k++) /* any place but the last; the first is the origin */
            w->point[k] = (int64_t)(place * wbb_mix(place + 8 * k) % (uint64_t)WBB_MAX(w->space[k].dim.size - 1, 1));
        const int64_t here = value_at(w, node);
        w->point[d]++;
        const int64_t next = value_at(w, node);
        steps[place] = next < here ? here - next : next - here;
    }
    for (uint32_t k = 0; k < PLACES; k++) {
        uint32_t equal = 0;
        for (uint32_t j = 0; j < PLACES; j++) equal += steps[j] == steps[k];
        if (equal > PLACES / 2) return steps[k];
    }
    return PART_FAR;
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */
/* `node`: the number of the element in memory. */
static PartAccess access_of(const Working *w, const HloShape *s, IrRef node, uint64_t far, bool anywhere)
{
    int64_t *step = WBB_NEW_N(w->a, int64_t, w->n_space + 1u);
    const uint32_t bits = sc_type_info[s->type].bits;
    PartAccess x = {.bits = bits < 8 && !part_is_packed(s->type) ? 8 : bits, .elements = 1, .step = step, .passes = 1,
                    .memory = hlo_elements(s)};
    for (uint32_t d = 0; d < w->n_space; d++) w->point[d] = 0;
    int64_t offsets = value_at(w, node) | 8 * (int64_t)w->p->align / WBB_MAX(x.bits, 1u); /* whose low bits count */
    for (uint32_t d = 0; d < w->n_space; d++) {
        step[d] = far >> WBB_MIN(d, 63u) & 1 ? PART_FAR : step_along(w, node, d);
        if (step[d] && x.elements < INT64_MAX / w->space[d].dim.size) x.elements *= w->space[d].dim.size;
        if (step[d] != 1) offsets |= step[d];
    }
    x.elements = WBB_MIN(x.elements, x.memory);
    x.align = anywhere ? 1 : offsets & -offsets;
    return x;
}

static void add_load(Working *w, const Need *x)
{
    const HloInstruction *i = x->value.i;
    const HloShape *s = part_shape(i, x->value.part);
    const IrRef node = ix_linear(w->rw, s, x->index);
    const uint64_t key = (uint64_t)(w->p->first_leaf[i->number] + x->value.part) << 32 | node;
    WbbEntry *e = wbb_map_put(&w->load_of, key);
    if (!e->value) {
        const PartAccess load = access_of(w, s, node, x->far, x->anywhere);
        WBB_PUSH(w->a, &w->loads, load);
        WBB_PUSH(w->a, &w->in_pass, 0);
        e->value = w->loads.n;
    }
    uint64_t *passes = &w->in_pass.items[e->value - 1];
    if (!(*passes >> w->pass & 1) && *passes) w->loads.items[e->value - 1].passes++;
    *passes |= UINT64_C(1) << w->pass;
}

/* --- operations --------------------------------------------------------------------------------------------------- */
typedef struct {
    double slots, special; /* instructions; those of the unit of roots and exponentials */
} Cost;

static Cost cost_of(const Working *w, const HloInstruction *i)
{
    const double function = (double)part_function_work(w->t, i->opcode);
    if (function > 0) return (Cost){function, tuned(w, "layout.special")};
    switch (i->opcode) {
    case HLO_PARAMETER: case HLO_CONSTANT: case HLO_TUPLE: case HLO_GET_TUPLE_ELEMENT: case HLO_BROADCAST:
    case HLO_BITCAST: case HLO_RESHAPE: case HLO_TRANSPOSE: case HLO_COPY: case HLO_SLICE: case HLO_REVERSE:
        return (Cost){0, 0};
    default: return (Cost){1, 0};
    }
}

static void add_cost(Working *w, const HloInstruction *i, double times, bool again)
{
    const Cost c = cost_of(w, i);
    const bool f64 = part_shape(i, 0)->type == SC_F64;
    if (again) {
        w->again_slots += c.slots * times;
        return;
    }
    w->slots += c.slots * times;
    *(f64 ? &w->f64_clocks : &w->clocks) += c.slots * times * w->t->warp / rate(w, f64 ? "pipe.f64" : "pipe.fma");
    w->special_clocks += c.special * times * w->t->warp / rate(w, "pipe.xu");
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */
static void need(Working *w, const HloInstruction *i, uint32_t part, const IrRef *index, const Need *by)
{
    Need x = by ? *by : (Need){.times = 1};
    x.value = part_value(i, part);
    const uint32_t rank = part_shape(x.value.i, x.value.part)->rank;
    const uint64_t key = wbb_hash(index, rank * sizeof *index, (uint64_t)x.value.i->id << 32 | x.value.part);
    WbbEntry *e = wbb_map_put(&w->seen, key);
    if (e->value >> w->pass & 1) return;
    IrRef *copy = WBB_NEW_N(w->a, IrRef, rank + 1u);
    if (rank) memcpy(copy, index, rank * sizeof *copy);
    x.index = copy;
    const int64_t n = hlo_elements(part_shape(x.value.i, x.value.part));
    const double share = n < w->elements ? (double)n / (double)w->elements : 1; /* of what is computed for results */
    add_cost(w, x.value.i, x.times * share, e->value != 0);
    e->value |= UINT64_C(1) << w->pass;
    WBB_PUSH(w->a, &w->stack, x);
}

/* Is operand k where a slice starts, and not what it is of? One whose slices are whole starts at 0, and needs none. */
static bool is_position(const HloInstruction *i, uint32_t k)
{
    const bool slices = i->opcode == HLO_DYNAMIC_SLICE || i->opcode == HLO_GATHER;
    return (slices && k >= 1) || (i->opcode == HLO_DYNAMIC_UPDATE_SLICE && k >= 2);
}

/* An operand at an index that values from memory and loops of the operation itself decide, too: as if these were 0. */
static void need_access(Working *w, const Need *x, uint32_t k)
{
    const HloInstruction *i = x->value.i;
    const IxNeeds needs = ix_needs(w->a, i);
    if (!needs.known) return;
    Need by = *x;
    IrRef *ranges = WBB_NEW_N(w->a, IrRef, needs.n_ranges + 1u), *starts = WBB_NEW_N(w->a, IrRef, needs.n_starts + 1u);
    for (uint32_t r = 0; r < needs.n_ranges; r++) {
        ranges[r] = ir_index(rw_graph(w->rw), 0);
        by.times *= (double)needs.sizes[r];
    }
    for (uint32_t s = 0; s < needs.n_starts; s++) {
        const HloShape *of = i->operands[needs.starts[s].operand]->shape;
        IrRef *at = WBB_NEW_N(w->a, IrRef, of->rank + 1u);
        starts[s] = ir_index(rw_graph(w->rw), 0);
        ix_start(w->rw, w->a, i, s, x->index, ranges, at);
        if (needs.starts[s].operand == k) need(w, i->operands[k], 0, at, x);
        const IrRef node = ix_linear(w->rw, of, at);
        for (uint32_t d = 0; d < w->n_space && d < 64; d++)
            if (step_along(w, node, d)) by.far |= UINT64_C(1) << d;
        const HloShape *sliced = i->operands[0]->shape;
        by.anywhere = by.anywhere || (sliced->rank && needs.starts[s].dimension == sliced->minor_to_major[0]);
    }
    if (is_position(i, k)) return;
    IxAccess access;
    ix_access(w->rw, w->a, i, k, x->index, ranges, starts, &access);
    if (!access.never) need(w, i->operands[k], 0, access.index, &by);
}

static void walk(Working *w)
{
    while (w->stack.n) {
        const Need x = w->stack.items[--w->stack.n];
        const HloInstruction *i = x.value.i;
        if (w->range->reduced[i->id] || ++w->steps > MAX_STEPS) continue;
        if (i->opcode == HLO_PARAMETER) {
            add_load(w, &x);
            continue;
        }
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const HloInstruction *of = part_value(i->operands[k], 0).i;
            if (of->opcode == HLO_CONSTANT || part_shape(of, 0)->type == SC_TUPLE) continue;
            if (!ix_has_map(i, k)) {
                need_access(w, &x, k);
                continue;
            }
            IrRef *in = WBB_NEW_N(w->a, IrRef, i->operands[k]->shape->rank + 1u);
            ix_operand(w->rw, w->a, i, k, x.index, in);
            need(w, i->operands[k], 0, in, &x);
        }
    }
}

/* --- the stages --------------------------------------------------------------------------------------------------- */
/* Instructions and dependent ones of combining two partial results. */
static void add_combining(Working *w, PartWork *work, const HloComputation *c)
{
    double slots = 0, clocks = 0;
    for (uint32_t n = 0; n < c->n_instructions; n++) {
        const HloInstruction *i = c->instructions[n];
        const bool f64 = part_shape(i, 0)->type == SC_F64;
        const double own = i->opcode == HLO_PARAMETER ? 0 : cost_of(w, i).slots;
        slots += own;
        clocks += own * w->t->warp / rate(w, f64 ? "pipe.f64" : "pipe.fma");
    }
    const bool f64 = c->parameters[0]->shape->type == SC_F64;
    work->combine_slots += slots;
    work->combine_clocks += clocks;
    /* about half of a longer computation's instructions wait for others */
    const double latency = (slots > 2 ? slots / 2 : slots) * rate(w, f64 ? "latency.f64" : "latency.fma");
    work->combine_latency = WBB_MAX(work->combine_latency, latency);
}

static void add_reduction(Working *w, PartWork *work, const PartReduce *r, uint32_t *partials)
{
    for (uint32_t k = 0; k < r->i->n_operands / 2; k++) {
        need(w, r->i->operands[k], 0, w->at, NULL);
        const ScType t = r->sum != SC_NONE ? r->sum : part_shape(r->i, k)->type;
        partials[work->n_partials++] = WBB_MAX(sc_type_info[t].bits, 8);
    }
    add_combining(w, work, r->i->called[0]);
    work->commutes = work->commutes && r->commutes;
    work->presence = work->presence || !r->commutes;
    work->scan = r->i->opcode == HLO_REDUCE_WINDOW;
}

static void add_outputs(Working *w, PartWork *work, const PartStage *s, PartAccess *stores)
{
    for (uint32_t k = 0; k < s->n_outputs; k++) {
        const PartValue root = w->p->roots[s->outputs[k]];
        const HloShape *x = part_shape(root.i, root.part);
        IrRef index[HLO_RANK_LIMIT];
        part_path_index(w->rw, w->a, &s->paths[k], s->paths[k].kept ? w->kept : w->at, index);
        need(w, root.i, root.part, index, NULL);
        stores[work->n_stores++] = access_of(w, x, ix_linear(w->rw, x, index), 0, false);
    }
}

PartWork part_work_of(WbbArena *a, const PartPlan *p, const PartRange *r, const TgTarget *t)
{
    const PartStage *first = &r->stages[0];
    Working w = {.a = a, .p = p, .range = r, .rw = p->rw, .t = t, .space = first->space,
                 .n_space = first->n_space, .elements = r->elements, .seen = {.arena = a}, .load_of = {.arena = a}};
    PartDim *dims = WBB_NEW_N(a, PartDim, w.n_space + 1u);
    for (uint32_t d = 0; d < w.n_space; d++) dims[d] = w.space[d].dim;
    PartWork work = {.dims = dims, .n_dims = w.n_space, .commutes = true, .splits = true};
    uint32_t arrays = 0, outputs = 0;
    for (uint32_t k = 0; k < r->n_stages; k++) {
        for (uint32_t j = 0; j < r->stages[k].n_reduces; j++) arrays += r->stages[k].reduces[j].i->n_operands / 2;
        outputs += r->stages[k].n_outputs;
    }
    uint32_t *partials = WBB_NEW_N(a, uint32_t, arrays + 1u);
    PartAccess *stores = WBB_NEW_N(a, PartAccess, outputs + 1u);
    find_position(&w);
    for (uint32_t k = 0; k < r->n_stages; k++) {
        const PartStage *s = &r->stages[k];
        if (s->kind != PART_RESULTS) {
            w.pass = WBB_MIN(work.passes, (uint32_t)MAX_PASSES);
            work.passes++;
        }
        work.splits = work.splits && (k == 0 || s->kind == PART_RESULTS) && s->kind != PART_SCAN;
        work.reductions += s->n_reduces != 0;
        for (uint32_t j = 0; j < s->n_reduces; j++) add_reduction(&w, &work, &s->reduces[j], partials);
        add_outputs(&w, &work, s, stores);
        walk(&w);
    }
    work.partials = partials, work.stores = stores;
    work.loads = w.loads.items, work.n_loads = w.loads.n;
    work.term_slots = w.slots, work.again_slots = w.again_slots;
    work.term_clocks = WBB_MAX(WBB_MAX(w.clocks, w.f64_clocks), w.special_clocks);
    work.term_latency = WBB_MIN(w.slots, tuned(&w, "work.long_function")) * rate(&w, "latency.alu");
    return work;
}
