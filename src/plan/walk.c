/* walk.c: the values that an element of a space needs.
 *
 * Needs the plan of a fusion and a space; leaves needs, the accesses of memory among them and the work of the others. A
 * step along a dimension is the difference of two element numbers, taken at five places; where most of these differ, or
 * values read from memory decide, the elements are far apart. Which element is needed src/index says, as it does in the
 * graph; this asks how far in memory it lies from the neighbour's, and what is computed on the way: terms have no
 * memory, and the graph does not know what a plan stores.
 *
 *     add(x[rows, columns], bias[columns])    =>    x: steps 1024, 1; bias: steps 0, 1; 1 slot
 */
#include "plan/walk.h"

#include "index/access.h"

#include <stdlib.h>
#include <string.h>

#define DIMENSIONS_KNOWN (UINT64_C(1) << 63)
enum { NOWHERE = UINT32_MAX };
enum { PLACES = PLAN_PLACES, MAX_STEPS = 4096, MAX_NODES = 1000, MAX_ALIGN = PLAN_MAX_ALIGN };

static double rate(const PlanWalk *w, const char *name) { return tg_rate(w->t, name)->value; }

/* --- positions ---------------------------------------------------------------------------------------------------- */
void plan_walk_begin(PlanWalk *w)
{
    const HloShape *x = w->shape;
    w->elements = hlo_elements(x);
    w->complete = true;
    w->per_clock[0] = rate(w, "pipe.fma"), w->per_clock[1] = rate(w, "pipe.f64");
    w->special_per_clock = rate(w, "pipe.xu");
    w->seen.arena = w->load_of.arena = w->along_of.arena = w->a;
    w->vars = WBB_NEW_N(w->a, IrRef, w->n_space + 1u);
    w->map = ix_map_new(w->a);
    w->at = WBB_NEW_N(w->a, IrRef, x->rank + 1u);
    w->point = WBB_NEW_N(w->a, int64_t, w->n_space + 1u);
    w->called = WBB_NEW_N(w->a, bool, w->p->fusion->body->n_instructions + 1u);
    for (uint32_t d = 0; d < x->rank; d++) w->at[d] = ir_index(rw_graph(w->rw), 0);
    for (uint32_t k = 0; k < w->n_space; k++) {
        const PlanGroup *g = &w->space[k];
        const IrRef position = ix_map_var(w->rw, w->a, w->map, IX_DIMENSION,
                                          ix_map_name(w->a, w->map, IX_DIMENSION), 0, g->dim.size - 1);
        plan_group_index(w->rw, g, x, position, w->at);
        w->vars[k] = position;
    }
}

/* The dimensions of the space that an index depends on, a bit each. */
static uint64_t dimensions_of(PlanWalk *w, IrRef node)
{
    const IrGraph *g = rw_graph(w->rw);
    const WbbEntry *known = wbb_map_get(&w->along_of, node);
    if (known) return known->value & ~DIMENSIONS_KNOWN;
    uint64_t along = 0;
    for (uint32_t d = 0; d < w->n_space; d++) along |= w->vars[d] == node ? UINT64_C(1) << WBB_MIN(d, 62u) : 0;
    for (uint32_t k = 0, n = ir_arity(g, node); k < n; k++) along |= dimensions_of(w, ir_operand(g, node, k));
    wbb_map_put(&w->along_of, node)->value = along | DIMENSIONS_KNOWN;
    return along;
}

/* The value of an index node at w->point. */
static int64_t value_at(const PlanWalk *w, IrRef node)
{
    IxMap m = *w->map;
    int64_t value = 0;
    m.results.items = &node, m.results.n = 1;
    ix_map_eval(rw_graph(w->rw), &m, w->point, &value);
    return value;
}

/* Is an expression one of few nodes, each counted as often as it is an operand? Others are not evaluated. */
static bool has_few(const IrGraph *g, IrRef node, uint32_t *left)
{
    if (!*left) return false;
    --*left;
    for (uint32_t k = 0, n = ir_arity(g, node); k < n; k++)
        if (!has_few(g, ir_operand(g, node, k), left)) return false;
    return true;
}

static bool is_small(const PlanWalk *w, IrRef node)
{
    uint32_t left = MAX_NODES;
    return has_few(rw_graph(w->rw), node, &left);
}

/* w->point: any place but the last along each dimension; the first one is the origin. */
static void go_to_place(const PlanWalk *w, uint32_t place)
{
    for (uint32_t k = 0; k < w->n_space; k++)
        w->point[k] = (int64_t)(place * wbb_mix(place + 8 * k) % (uint64_t)WBB_MAX(w->space[k].dim.size - 1, 1));
}

/* What a node gains from one position to the next along dimension d, if that is the same at most places: a dimension
 * of the space may be several of the operand, so that a few steps lead to its next row. */
static int64_t step_along(const PlanWalk *w, IrRef node, uint32_t d)
{
    int64_t steps[PLACES];
    if (w->space[d].dim.size == 1) return 0;
    if (!is_small(w, node)) return LAY_FAR;
    for (uint32_t place = 0; place < PLACES; place++) {
        go_to_place(w, place);
        const int64_t here = value_at(w, node);
        w->point[d]++;
        const int64_t next = value_at(w, node);
        steps[place] = next < here ? here - next : next - here;
    }
    return plan_usual_of(steps);
}

/* Where most positions along dimension d have the element of the one before: how many have the same, and how far ahead
 * the next one is. 1: the node leads elsewhere than ahead, or less far than one element for each position. */
static int64_t repeats_along(const PlanWalk *w, IrRef node, uint32_t d, int64_t *ahead)
{
    int64_t below = 0, from = w->space[d].dim.size - 1; /* the first element is at `below`, and not at `from` */
    if (from < 1) return 1;
    w->point[d] = below;
    const int64_t first = value_at(w, node);
    w->point[d] = from;
    *ahead = value_at(w, node) - first;
    while (*ahead > 0 && from - below > 1) {
        w->point[d] = below + (from - below) / 2;
        const int64_t value = value_at(w, node);
        if (value < first) return 1;
        if (value == first) below = w->point[d];
        else from = w->point[d], *ahead = value - first;
    }
    return *ahead >= from ? from : 1;
}

/* Do the steps of one element along d lead down, from the last element of a reversed row? Its vectors end where others
 * begin. w->point is the origin. */
static bool leads_down(const PlanWalk *w, IrRef node, uint32_t d, int64_t origin)
{
    w->point[d] = 1;
    const int64_t next = value_at(w, node);
    w->point[d] = 0;
    return next < origin;
}

/* --- accesses ----------------------------------------------------------------------------------------------------- */
/* What the places that values from memory decide are multiples of: of gathered rows a row. */
static int64_t apart_of(const HloShape *s, const PlanNeed *by)
{
    if (!by->sliced || !hlo_same_dims(s, by->sliced)) return 1;
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->minor_to_major[d] != by->sliced->minor_to_major[d]) return 1;
    return by->apart;
}

/* Fastest dimensions along which the array goes on from the end of a row as the space does, where neighbours of a
 * thread do so too; `row`: the elements of these. */
static uint32_t goes_on(const PlanWalk *w, const int64_t *step, int64_t *row)
{
    uint32_t n = 0;
    *row = 1;
    for (; w->linear && n < w->n_space; n++) {
        const uint32_t d = w->n_space - 1 - n;
        if (w->space[d].dim.size > 1 && step[d] != *row) break;
        *row *= w->space[d].dim.size;
    }
    return n;
}

LayAccess plan_access_of(const PlanWalk *w, const HloShape *s, IrRef node, const PlanNeed *by)
{
    const uint64_t far = by ? by->far : 0;
    bool anywhere = by && by->anywhere;
    int64_t *step = WBB_NEW_N(w->a, int64_t, w->n_space + 1u), *repeat = WBB_NEW_N(w->a, int64_t, w->n_space + 1u);
    const uint32_t bits = sc_type_info[s->type].bits;
    LayAccess x = {.bits = bits < 8 && !ir_is_packed(s->type) ? 8 : bits, .elements = 1, .step = step, .passes = 1,
                   .memory = hlo_elements(s), .repeat = repeat, .beside = LAY_FAR};
    for (uint32_t d = 0; d < w->n_space; d++) w->point[d] = 0;
    anywhere = anywhere || !is_small(w, node);
    const int64_t origin = anywhere ? 1 : value_at(w, node);
    int64_t offsets = 0; /* whose low bits count */
    for (uint32_t d = 0; d < w->n_space; d++) {
        step[d] = far >> WBB_MIN(d, 63u) & 1 ? LAY_FAR : step_along(w, node, d);
        int64_t ahead = step[d];
        repeat[d] = step[d] || anywhere ? 1 : repeats_along(w, node, d, &ahead);
        if (repeat[d] > 1) step[d] = ahead / repeat[d];
        const int64_t different = lay_up(w->space[d].dim.size, repeat[d]);
        if (step[d] && x.elements < INT64_MAX / different) x.elements *= different;
        if (repeat[d] > 1 && ahead != 1) offsets |= ahead;
    }
    int64_t row; /* where it does not go on, a thread's neighbours begin anywhere in it */
    const uint32_t first = w->n_space - goes_on(w, step, &row);
    if (first && first < w->n_space && row > 1) offsets |= x.straight = row;
    for (uint32_t d = 0; d < first; d++) {
        if (far >> WBB_MIN(d, 63u) & 1) offsets |= apart_of(s, by);
        else if (step[d] && step[d] != 1 && repeat[d] == 1) offsets |= step[d];
    }
    for (uint32_t d = 0; d < w->n_space; d++) w->point[d] = 0;
    bool down = false;
    for (uint32_t d = 0; d < w->n_space && !anywhere; d++)
        down = down || (step[d] == 1 && leads_down(w, node, d, origin));
    const int64_t apart = offsets | 8 * (int64_t)w->p->align / WBB_MAX(x.bits, 1u);
    offsets |= origin + down;
    x.elements = WBB_MIN(x.elements, x.memory);
    const int64_t known = offsets | 8 * (int64_t)w->p->align / WBB_MAX(x.bits, 1u);
    offsets |= 8 * tg_tuned(w->t, "layout.base") / WBB_MAX(x.bits, 1u);
    x.align = known & -known, x.apart = apart & -apart, x.row_align = WBB_MAX(offsets & -offsets, x.align);
    return x;
}

/* Where a load is in its array, relative to others of it. */
static PlanPlaced placed(const PlanWalk *w, IrRef node, const LayAccess *x, uint32_t leaf)
{
    PlanPlaced p = {.leaf = leaf};
    for (uint32_t d = 0; d < w->n_space; d++) p.anywhere = p.anywhere || x->step[d] == LAY_FAR;
    p.anywhere = p.anywhere || !is_small(w, node);
    for (uint32_t place = 0; place < PLACES && !p.anywhere; place++) {
        go_to_place(w, place);
        p.at[place] = value_at(w, node);
    }
    go_to_place(w, 1);
    for (uint32_t d = 0; d < w->n_space; d++) w->point[d] -= w->point[d] % MAX_ALIGN;
    if (!p.anywhere) p.origin = value_at(w, node);
    return p;
}

/* The buffer of a parameter, or of what an earlier launch has left there; NOWHERE: it is computed. */
static uint32_t buffer_of(const PlanWalk *w, PlanValue v)
{
    if (v.i->opcode == HLO_PARAMETER) return w->p->first_leaf[v.i->number] + v.part;
    for (uint32_t k = 0; k < w->n_made; k++)
        if (w->made[k].value.i == v.i && w->made[k].value.part == v.part) return w->made[k].buffer;
    return NOWHERE;
}

static void add_load(PlanWalk *w, PlanNeed *x, uint32_t leaf)
{
    const HloShape *s = plan_shape(x->value.i, x->value.part);
    const IrRef node = ix_linear(w->rw, s, x->index);
    const uint64_t key = (uint64_t)leaf << 32 | node;
    WbbEntry *e = wbb_map_put(&w->load_of, key);
    if (!e->value) {
        LayAccess load = plan_access_of(w, s, node, x);
        load.times = x->times, load.share = x->share, load.buffer = leaf;
        WBB_PUSH(w->a, &w->loads, load);
        const PlanPlaced place = placed(w, node, &load, leaf);
        WBB_PUSH(w->a, &w->in_pass, 0);
        WBB_PUSH(w->a, &w->places, place);
        e->value = w->loads.n;
    }
    x->load = (uint32_t)e->value;
    if (!x->share.dim) w->loads.items[e->value - 1].share.dim = 0;
    uint64_t *passes = &w->in_pass.items[e->value - 1];
    if (!(*passes >> w->pass & 1) && *passes) w->loads.items[e->value - 1].passes++;
    *passes |= UINT64_C(1) << w->pass;
}

/* --- operations --------------------------------------------------------------------------------------------------- */
static LaySlots *slots_along(PlanWalk *w, uint64_t along)
{
    for (uint32_t k = 0; k < w->along.n; k++)
        if (w->along.items[k].along == along) return &w->along.items[k];
    WBB_PUSH(w->a, &w->along, (LaySlots){.along = along});
    return &w->along.items[w->along.n - 1];
}

/* share: of the elements of the space those of the value, each of which is computed once if threads share terms. */
static void add_cost(PlanWalk *w, const PlanNeed *x, double share, bool again)
{
    const HloInstruction *i = x->value.i;
    PlanCost c = plan_cost_of(w->t, i);
    if ((i->opcode == HLO_WHILE || i->opcode == HLO_CONDITIONAL) && w->linear && !w->called[i->id]) {
        const double once = plan_called_slots(w->a, i, w->t);
        c.slots += once, w->called[i->id] = true;
        w->trip_slots += once * (double)(hlo_repeats(i) - 1);
    }
    const bool folds = i->opcode == HLO_REDUCE || i->opcode == HLO_REDUCE_WINDOW;
    if (folds && w->linear && !(w->stop && w->stop[i->id])) /* a thread has all of its terms */
        c.slots = hlo_terms(w->a, i) * plan_called_slots(w->a, i, w->t);
    const bool f64 = plan_shape(i, 0)->type == SC_F64;
    const double times = x->times * share;
    if (buffer_of(w, x->value) != NOWHERE) return;
    if (c.slots > 0 && !again) {
        uint64_t along = x->far;
        for (uint32_t d = 0; d < plan_shape(i, x->value.part)->rank; d++) along |= dimensions_of(w, x->index[d]);
        LaySlots *to = w->results ? &w->of_results : slots_along(w, along);
        const double n = w->results ? times : x->times;
        to->slots += c.slots * n;
        to->clocks[f64] += c.slots * n * w->t->warp / w->per_clock[f64];
        to->clocks[2] += c.special * n * w->t->warp / w->special_per_clock;
    }
    if (again) {
        w->again_slots += c.slots * times;
        return;
    }
    w->slots += c.slots * times;
    *(f64 ? &w->f64_clocks : &w->clocks) += c.slots * times * w->t->warp / w->per_clock[f64];
    w->special_clocks += c.special * times * w->t->warp / w->special_per_clock;
}

/* --- the walk ----------------------------------------------------------------------------------------------------- */
/* edge.user: number of the need that reads it, from 1 on; 0: it is a root. */
static uint32_t need(PlanWalk *w, PlanValue v, const IrRef *index, const PlanNeed *by, PlanEdge edge)
{
    const uint32_t rank = plan_shape(v.i, v.part)->rank;
    const uint64_t key = wbb_hash(index, rank * sizeof *index, (uint64_t)v.i->id << 32 | v.part);
    WbbEntry *e = wbb_map_put(&w->seen, key);
    const bool again = e->value != 0;
    if (!again) {
        IrRef *copy = WBB_NEW_N(w->a, IrRef, rank + 1u);
        if (rank) memcpy(copy, index, rank * sizeof *copy);
        const PlanNeed new = {.value = v, .index = copy};
        WBB_PUSH(w->a, &w->needs, new);
        e->value = w->needs.n;
    }
    edge.of = (uint32_t)e->value - 1;
    if (edge.user) {
        edge.user--;
        WBB_PUSH(w->a, &w->edges, edge);
    }
    PlanNeed *x = &w->needs.items[edge.of];
    if (x->passes >> w->pass & 1) return edge.of;
    x->far = by ? by->far : 0, x->anywhere = by && by->anywhere, x->times = by ? by->times : 1;
    x->apart = by ? by->apart : 1, x->sliced = by ? by->sliced : NULL;
    if (by) x->share = by->share;
    const int64_t n = hlo_elements(plan_shape(v.i, v.part));
    const double share = n < w->elements ? (double)n / (double)w->elements : 1; /* of what is computed for results */
    add_cost(w, x, share, again);
    x->passes |= UINT64_C(1) << w->pass;
    WBB_PUSH(w->a, &w->stack, edge.of);
    return edge.of;
}

uint32_t plan_walk_need(PlanWalk *w, PlanValue v, const IrRef *index)
{
    return need(w, plan_value(v.i, v.part), index, NULL, (PlanEdge){0});
}

/* The dimension of a concatenate, or of a pad that pads only one; -1: it is no such. */
static int64_t parted_of(const PlanWalk *w, const HloInstruction *i)
{
    int64_t dim = -1;
    if (i->opcode == HLO_CONCATENATE) return i->dimensions[0];
    if (i->opcode != HLO_PAD || !w->linear) return -1; /* parts of shared terms are those of concatenates */
    for (uint32_t d = 0; d < i->shape->rank; d++) {
        if (i->shape->dims[d] == i->operands[0]->shape->dims[d]) continue;
        if (dim >= 0 || i->paddings[d].interior || i->shape->dims[d] < i->operands[0]->shape->dims[d]) return -1;
        dim = d;
    }
    return dim;
}

/* Which positions need operand k of what need x is, along dimension `dim` of that: one of the space may decide. */
static struct LayShare share_of(const PlanWalk *w, const PlanNeed *x, uint32_t k, int64_t dim)
{
    const HloInstruction *i = x->value.i;
    const double size = (double)i->shape->dims[dim];
    struct LayShare s = {0};
    for (uint32_t d = 0; d < w->n_space; d++) {
        const int64_t step = step_along(w, x->index[dim], d);
        if (!step) continue;
        if (s.dim || step == LAY_FAR) return x->share;
        s = (struct LayShare){d + 1, hlo_operand_share(i, k), (double)step / size};
    }
    return x->share.dim && x->share.part < s.part ? x->share : s;
}

/* Elements from one position of a dimension to the next, in memory. */
static int64_t below(const HloShape *s, int64_t dimension)
{
    int64_t n = 1;
    for (uint32_t k = 0; k < s->rank && s->minor_to_major[k] != dimension; k++) n *= s->dims[s->minor_to_major[k]];
    return n;
}

/* Term `number` of a fold along a dimension of `size` terms. */
static IrRef term_of(PlanWalk *w, uint32_t number, int64_t size)
{
    for (uint32_t k = 0; k < w->terms.n; k++)
        if (w->terms.items[k].number == number && w->terms.items[k].size == size) return w->terms.items[k].node;
    const IrRef node = ix_map_var(w->rw, w->a, w->map, IX_RANGE, ix_map_name(w->a, w->map, IX_RANGE), 0,
                                  WBB_MAX(size, 1) - 1);
    WBB_PUSH(w->a, &w->terms, ((PlanTerm){number, size, node}));
    int64_t *point = WBB_NEW_N(w->a, int64_t, w->n_space + w->terms.n + 1u);
    memcpy(point, w->point, (w->n_space + w->terms.n) * sizeof *point);
    w->point = point;
    return node;
}

/* Does the term of a fold decide an index? */
static bool has_term(const PlanWalk *w, IrRef node)
{
    const IrRefs of = ir_variables(rw_graph(w->rw), w->a, node, rw_marks(w->rw));
    for (uint32_t v = 0; v < of.n; v++)
        for (uint32_t k = 0; k < w->terms.n; k++)
            if (w->terms.items[k].node == of.items[v]) return true;
    return false;
}

/* Of the terms of a fold that has them, those that take operand k of a pad or a concatenate. */
static double share_of_terms(const PlanWalk *w, const PlanNeed *x, uint32_t k)
{
    const HloInstruction *i = x->value.i;
    bool any = false;
    if (!hlo_joins(i->opcode) || (k && i->opcode == HLO_PAD)) return 1;
    for (uint32_t d = 0; d < i->shape->rank; d++)
        if (i->shape->dims[d] != i->operands[k]->shape->dims[d])
            any = any || (is_small(w, x->index[d]) && has_term(w, x->index[d]));
    return any ? hlo_operand_share(i, k) : 1;
}

/* An operand at an index that values from memory decide, too: as if these were 0. */
static void need_access(PlanWalk *w, uint32_t user, uint32_t k)
{
    const PlanNeed x = w->needs.items[user];
    const HloInstruction *i = x.value.i;
    const IxNeeds needs = ix_needs(w->a, i);
    const PlanValue of = plan_value(i->operands[k], 0);
    const PlanEdge edge = {.user = user + 1, .operand = k};
    if (!needs.known) return;
    PlanNeed by = x;
    const int64_t parted = k == 0 || i->opcode == HLO_CONCATENATE ? parted_of(w, i) : -1;
    if (parted >= 0) by.share = share_of(w, &x, k, parted);
    IrRef *ranges = WBB_NEW_N(w->a, IrRef, needs.n_ranges + 1u), *starts = WBB_NEW_N(w->a, IrRef, needs.n_starts + 1u);
    for (uint32_t r = 0; r < needs.n_ranges; r++) {
        ranges[r] = term_of(w, r, needs.sizes[r]);
        by.times *= (double)needs.sizes[r];
    }
    by.times *= share_of_terms(w, &x, k);
    const HloShape *sliced = i->operands[0]->shape;
    for (uint32_t s = 0; s < needs.n_starts; s++) {
        const HloShape *from = i->operands[needs.starts[s].operand]->shape;
        IrRef *at = WBB_NEW_N(w->a, IrRef, from->rank + 1u);
        starts[s] = ir_index(rw_graph(w->rw), 0);
        ix_start(w->rw, w->a, i, s, x.index, ranges, at);
        if (needs.starts[s].operand == k) need(w, of, at, &x, edge);
        const IrRef node = ix_linear(w->rw, from, at);
        for (uint32_t d = 0; d < w->n_space && d < 64; d++)
            if (step_along(w, node, d)) by.far |= UINT64_C(1) << d;
        by.anywhere = by.anywhere || (sliced->rank && needs.starts[s].dimension == sliced->minor_to_major[0]);
        const int64_t apart = below(sliced, needs.starts[s].dimension);
        by.apart = x.sliced ? 1 : by.sliced ? WBB_MIN(by.apart, apart) : apart;
        by.sliced = sliced;
    }
    if (hlo_is_start(i, k)) return; /* where it starts, not what it is of: whole slices start at 0 and need none */
    IxAccess access;
    ix_access(w->rw, w->a, i, k, x.index, ranges, starts, &access);
    if (!access.never) need(w, of, access.index, &by, edge);
}

void plan_walk_run(PlanWalk *w)
{
    while (w->stack.n) {
        const uint32_t user = w->stack.items[--w->stack.n];
        const PlanNeed x = w->needs.items[user];
        const HloInstruction *i = x.value.i;
        if (w->stop && w->stop[i->id]) continue;
        if (++w->steps > MAX_STEPS) {
            w->complete = false;
            continue;
        }
        const uint32_t buffer = buffer_of(w, x.value);
        if (buffer != NOWHERE) {
            add_load(w, &w->needs.items[user], buffer);
            continue;
        }
        for (uint32_t k = 0; k < i->n_operands; k++) {
            const PlanValue of = plan_value(i->operands[k], 0);
            if (of.i->opcode == HLO_CONSTANT || plan_shape(of.i, 0)->type == SC_TUPLE) continue;
            if (!ix_has_map(i, k)) {
                need_access(w, user, k);
                continue;
            }
            IrRef *in = WBB_NEW_N(w->a, IrRef, i->operands[k]->shape->rank + 1u);
            ix_operand(w->rw, w->a, i, k, x.index, in);
            need(w, of, in, &x, (PlanEdge){.user = user + 1, .operand = k, .mapped = true});
        }
    }
    plan_walk_near(w);
}

void plan_walk_work(const PlanWalk *w, LayWork *work)
{
    work->loads = w->loads.items, work->n_loads = w->loads.n;
    work->term_slots = w->slots, work->trip_slots = w->trip_slots;
    work->term_clocks = WBB_MAX(WBB_MAX(w->clocks, w->f64_clocks), w->special_clocks);
    work->term_latency = WBB_MIN(w->slots, (double)tg_tuned(w->t, "work.chain")) * rate(w, "latency.alu");
}
