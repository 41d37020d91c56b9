/* tile.c: kernels that exchange layouts through a tile of shared memory.
 *
 * Needs a range of two stages and their tile; leaves its statements. In the first stage each thread computes values at
 * its elements and stores them in the tile, outputs that need the same operands in memory; after a barrier it reads the
 * values of its elements of the second stage, which are remembered as those of their instructions, and stores what
 * outputs make of them. Elements that follow each other in the tile are lanes of a loop, so that accesses of the tile
 * are wide; a thread's elements that follow each other in memory alone become wide accesses when PTX is made. What a
 * thread has beyond the end of a dimension it takes from the last element there is, and does not store in memory;
 * threads that are all beyond it do nothing in the second stage, and nothing in the first one if the tile is guarded.
 *
 *     for v in 0..4 lanes 4 { store %tile[v + ..], load %in[4096*v + ..]  store %tile[v + 64 + ..], load .. }
 *     do barrier()
 *     for v in 0..4 lanes 4 { x = do read(%tile[v + ..])  store %out[v + ..], x }
 */
#include "emit/inner.h"

/* A variable of the map's iterations. */
typedef struct {
    uint32_t dim;
    LayLevel level;
    int64_t size;
} Iteration;

enum { MAX_LANES = 32 }; /* of a loop of lanes, an even number */

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const PlanTile *tile;
    const PlanStage *s;
    IrRef bid, tid;
    uint32_t *buffer;      /* [values] the first of its parts */
    Iteration *iterations;
    uint32_t n_iterations;
    uint32_t lanes;        /* number of the iteration that is a loop of lanes; n_iterations: none */
    /* [dims] of the map: the thread's numbers in all elements, and where none is cut off; and in the first tile */
    IrRef *t, *t_any, *t_tile;
    IrRef inside;          /* a condition; 0: always: t are not those of the last thread again */
    bool at_once;          /* all elements of a thread are computed before the first is stored */
    bool puts, stores;     /* what the first stage does with its elements now */
} Tiling;

/* An element of a thread. */
typedef struct {
    IrRef number;   /* in the order of the outputs' memory */
    IrRef side;     /* .. in that of outputs which the first stage stores */
    IrRef inside;   /* a condition; 0: always: it is an element of the outputs, and not the last one again */
    IrRef place;    /* in the tile */
} Element;

/* --- elements ----------------------------------------------------------------------------------------------------- */
static void find_iterations(Tiling *m)
{
    const Layout *l = &m->s->layout;
    m->iterations = WBB_NEW_N(m->a, Iteration, l->n_dims * LAY_LEVELS + 1u);
    m->n_iterations = 0;
    for (uint32_t d = 0; d < l->n_dims; d++)
        for (uint32_t k = l->dims[d].n_factors; k-- > 0;) {
            const LayFactor *f = &l->dims[d].factors[k];
            if (f->level == LAY_REGISTER) m->iterations[m->n_iterations++] = (Iteration){d, f->level, f->size};
        }
    for (uint32_t d = 0; d < l->n_dims; d++) {
        const LayFactor *f = lay_factor(&l->dims[d], LAY_VECTOR);
        if (f && f->size > 1) m->iterations[m->n_iterations++] = (Iteration){d, LAY_VECTOR, f->size};
    }
    assert(l->n_dims + m->n_iterations == m->s->maps.elements->vars.n);
}

static void map_at(const Tiling *m, const IxMap *map, const IrRef *point, IrRef *results)
{
    ix_map_at(m->rw, m->a, rw_graph(m->e->plan->rw), map, point, results, NULL);
}

/* Conditions; 0: always true. */
static IrRef both(const Tiling *m, IrRef x, IrRef y)
{
    return !x ? y : !y || x == y ? x : ir_node(m->g, OP_BAND, IR_TYPE(SC_PRED, 0), 0, x, y, 0, 0);
}

static void find_thread(Tiling *m)
{
    const uint32_t n = m->s->layout.n_dims;
    m->t = WBB_NEW_N(m->a, IrRef, n + 1u), m->t_tile = WBB_NEW_N(m->a, IrRef, n + 1u);
    m->t_any = WBB_NEW_N(m->a, IrRef, n + 1u);
    map_at(m, m->s->maps.launched, (IrRef[]){m->bid, m->tid}, m->t);
    map_at(m, m->s->maps.launched, (IrRef[]){ir_index(m->g, 0), m->tid}, m->t_tile);
    m->inside = 0;
    for (uint32_t d = 0; d < n; d++) {
        IrRef below;
        m->t_any[d] = m->t[d];
        m->t[d] = emit_clamp(m->e, "t", m->t[d], m->s->maps.elements->vars.items[d].hi + 1, &below);
        m->inside = both(m, m->inside, below);
    }
}

/* In a branch of threads inside: their numbers are those of elements. */
static void find_inside(Tiling *m)
{
    for (uint32_t d = 0; d < m->s->layout.n_dims; d++)
        m->t[d] = m->t_any[d] = emit_let(m->e, "t", m->t_any[d], 0, m->s->maps.elements->vars.items[d].hi);
    m->inside = 0;
}

/* Neighbours that are the innermost iterations of a dimension: they are inside or not together. */
static int64_t together(const LayDim *d)
{
    const LayFactor *f = d->n_factors ? &d->factors[0] : NULL;
    return f && f->level <= LAY_REGISTER && d->size % f->size == 0 ? f->size : 1;
}

/* The position in dimension d, the last one where it is beyond the end. */
static IrRef clamped(const Tiling *m, uint32_t d, IrRef p, IrRef *inside)
{
    const LayDim *x = &m->s->layout.dims[d];
    const int64_t each = together(x);
    IrRef below;
    const IrRef n = emit_clamp(m->e, "p", rw_floordiv(m->rw, p, each), x->size / each, &below);
    *inside = both(m, *inside, below);
    return rw_add(m->rw, rw_scale(m->rw, n, each), rw_mod(m->rw, p, each));
}

static bool is_one_tile(const LayDim *d) { return lay_size(d, LAY_GRID) == 1; }

/* Positions in each dimension, at these numbers of the thread and of the iterations. */
static IrRef *positions(const Tiling *m, const IrRef *t, const IrRef *numbers)
{
    const uint32_t n = m->s->layout.n_dims;
    IrRef *point = WBB_NEW_N(m->a, IrRef, n + m->n_iterations + 1u), *p = WBB_NEW_N(m->a, IrRef, n + 1u);
    for (uint32_t d = 0; d < n; d++) point[d] = t[d];
    for (uint32_t k = 0; k < m->n_iterations; k++) point[n + k] = numbers[k];
    map_at(m, m->s->maps.elements, point, p);
    return p;
}

/* Do the dimensions of a group follow each other in the tile as they do in the group? Then they need not be told
 * apart. */
static bool follow_in_tile(const Tiling *m, const PlanGroup *g)
{
    const int64_t *stride = m->tile->stride, *size = m->tile->space->dims;
    for (uint32_t k = 1; k < g->n; k++)
        if (stride[g->of[k - 1]] != stride[g->of[k]] * size[g->of[k]]) return false;
    return true;
}

static IrRef place_of(const Tiling *m, const IrRef *p)
{
    const uint32_t rank = m->tile->space->rank;
    IrRef place = ir_index(m->g, 0), *local = WBB_NEW_N(m->a, IrRef, rank + 1u);
    for (uint32_t d = 0; d < m->s->layout.n_dims; d++) {
        const PlanGroup *g = &m->s->space[d];
        if (follow_in_tile(m, g)) {
            place = rw_add(m->rw, place, rw_scale(m->rw, p[d], m->tile->stride[g->of[g->n - 1]]));
            continue;
        }
        plan_group_index(m->rw, g, m->tile->space, p[d], local);
        for (uint32_t k = 0; k < g->n; k++)
            place = rw_add(m->rw, place, rw_scale(m->rw, local[g->of[k]], m->tile->stride[g->of[k]]));
    }
    const IrRef number = place;
    for (uint32_t k = 0; k < PLAN_PADS && m->tile->pads[k].pad; k++) {
        const PlanPad *pad = &m->tile->pads[k];
        place = rw_add(m->rw, place, rw_scale(m->rw, rw_floordiv(m->rw, number, pad->period), pad->pad));
    }
    return place;
}

/* Elements from one position of a dimension to the next, in the order of memory. */
static int64_t weight_of(const HloShape *space, uint32_t d)
{
    int64_t weight = 1;
    for (uint32_t k = 0; space->minor_to_major[k] != d; k++) weight *= space->dims[space->minor_to_major[k]];
    return weight;
}

/* What positions in a group of dimensions add to the number of an element. Neighbours that are one dimension need not
 * be told apart. */
static IrRef number_of(const Tiling *m, const HloShape *space, const PlanGroup *g, IrRef position)
{
    IrRef *at = WBB_NEW_N(m->a, IrRef, space->rank + 1u), number = ir_index(m->g, 0);
    bool neighbours = true;
    for (uint32_t k = 1; k < g->n; k++)
        neighbours = neighbours &&
                     weight_of(space, g->of[k - 1]) == weight_of(space, g->of[k]) * space->dims[g->of[k]];
    if (neighbours) return rw_scale(m->rw, position, weight_of(space, g->of[g->n - 1]));
    plan_group_index(m->rw, g, space, position, at);
    for (uint32_t k = 0; k < g->n; k++)
        number = rw_add(m->rw, number, rw_scale(m->rw, at[g->of[k]], weight_of(space, g->of[k])));
    return number;
}

/* Do the digits of a position by n make up the position again, by the rules? Not 8*t // 3 and 8*t % 3: the latter is
 * 2*t % 3. */
static bool digits_join(const Tiling *m, IrRef p, int64_t n)
{
    return rw_add(m->rw, rw_scale(m->rw, rw_floordiv(m->rw, p, n), n), rw_mod(m->rw, p, n)) == p;
}

/* The same for what parts it on the way to the tile, or to an array that is read: dimensions of the space, and of the
 * array. each: of all numbers by which it is parted, the largest power of two that divides them. */
static bool all_digits_join(const Tiling *m, uint32_t d, IrRef p, bool in_tile, int64_t *each)
{
    const PlanGroup *g = &m->s->space[d];
    const HloComputation *body = m->e->plan->fusion->body;
    int64_t n = 1, all = 0;
    bool join = true;
    for (uint32_t k = g->n; k-- > 1;) {
        n *= m->tile->space->dims[g->of[k]];
        join = join && digits_join(m, p, n);
        all |= n;
    }
    for (uint32_t i = 0; i < body->n_instructions && !in_tile; i++) {
        const HloShape *s = body->instructions[i]->shape;
        if (body->instructions[i]->opcode != HLO_PARAMETER || s->type == SC_TUPLE) continue;
        n = 1;
        for (uint32_t k = 0; k < s->rank && n > 0; k++) {
            n *= s->dims[s->minor_to_major[k]];
            if (n >= m->s->layout.dims[d].size) break;
            if (n == 1) continue;
            join = join && digits_join(m, p, n);
            all |= n;
        }
    }
    *each = all & -all;
    return join;
}

/* A position where values are read, as a variable if need be: then what moves elements parts
 * one n into n // 3 and n % 3, and the number of the element that is read is n again. Elements that are never parted
 * have one variable: of 4*t + v, which is parted by 12, t. */
static IrRef position(const Tiling *m, uint32_t d, IrRef p, bool in_tile)
{
    int64_t each;
    if (m->s->kind != PLAN_PUT || all_digits_join(m, d, p, in_tile, &each)) return p;
    each = WBB_MAX(WBB_MIN(each, lay_size(&m->s->layout.dims[d], LAY_VECTOR)), 1);
    const IrRef first = rw_floordiv(m->rw, p, each), rest = rw_mod(m->rw, p, each);
    const IrRef n = emit_variable(m->e, "p", first, 0, (m->s->layout.dims[d].size - 1) / each);
    return rw_add(m->rw, rw_scale(m->rw, n, each), rest);
}

static Element element_at(const Tiling *m, const IrRef *numbers)
{
    Element x = {.number = ir_index(m->g, 0), .side = ir_index(m->g, 0), .inside = m->inside};
    IrRef *p = positions(m, m->t, numbers), *p_tile = positions(m, m->t_tile, numbers);
    const bool guarded = m->s->kind == PLAN_GET && m->tile->guarded; /* nothing was put where threads have no element */
    const IrRef *any = guarded ? positions(m, m->t_any, numbers) : p;
    for (uint32_t d = 0; d < m->s->layout.n_dims; d++) {
        p[d] = clamped(m, d, p[d], &x.inside);
        if (m->s->kind == PLAN_GET && is_one_tile(&m->s->layout.dims[d])) p_tile[d] = p[d];
        else if (guarded) p_tile[d] = rw_add(m->rw, p_tile[d], rw_sub(m->rw, p[d], any[d]));
        p[d] = position(m, d, p[d], false), p_tile[d] = position(m, d, p_tile[d], true);
        x.number = rw_add(m->rw, x.number, number_of(m, m->tile->space, &m->s->space[d], p[d]));
        if (m->s->kind == PLAN_PUT && m->s->n_outputs)
            x.side = rw_add(m->rw, x.side, number_of(m, m->tile->read_space, &m->s->space[d], p[d]));
    }
    x.place = place_of(m, p_tile);
    return x;
}

/* Does the stage access memory in which elements share bytes? Then lanes are a vector, which has whole bytes. */
static bool has_packed(const Tiling *m)
{
    const HloComputation *body = m->e->plan->fusion->body;
    bool packed = m->s->packed_group > 1;
    for (uint32_t k = 0; k < body->n_instructions && m->s->kind == PLAN_PUT; k++)
        packed = packed || (body->instructions[k]->opcode == HLO_PARAMETER &&
                            ir_is_packed(plan_shape(body->instructions[k], 0)->type));
    return packed;
}

/* The iteration whose steps are by one element of the tile; if there is none, the one over a vector. */
static void find_lanes(Tiling *m)
{
    const bool packed = has_packed(m);
    IrRef *numbers = WBB_NEW_N(m->a, IrRef, m->n_iterations + 1u);
    for (uint32_t k = 0; k < m->n_iterations; k++) numbers[k] = ir_index(m->g, 0);
    const IrRef first = place_of(m, positions(m, m->t_tile, numbers));
    m->lanes = m->n_iterations;
    for (uint32_t k = 0; k < m->n_iterations; k++) {
        numbers[k] = ir_index(m->g, 1);
        const bool next = rw_sub(m->rw, place_of(m, positions(m, m->t_tile, numbers)), first) == ir_index(m->g, 1);
        numbers[k] = ir_index(m->g, 0);
        if (m->iterations[k].size % 2 || m->iterations[k].size > MAX_LANES) continue;
        if (packed && m->iterations[k].level != LAY_VECTOR) continue;
        if (next || (m->lanes == m->n_iterations && m->iterations[k].level == LAY_VECTOR)) m->lanes = k;
        if (next) return;
    }
}

/* --- values ------------------------------------------------------------------------------------------------------- */
static const IrRef *root_index(const Tiling *m, uint32_t output, IrRef number)
{
    const PlanValue root = m->e->plan->roots[output];
    IrRef *index = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    ix_delinear(m->rw, plan_shape(root.i, root.part), number, index);
    return index;
}

static const IrRef *carried_index(const Tiling *m, const PlanCarried *c, const Element *x)
{
    IrRef *index = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    plan_carried_index(m->rw, m->a, c, root_index(m, c->output, x->number), index);
    return index;
}

/* A complex value of two words is one element of a tile, so that accesses have both parts; a wider one has a tile for
 * each part. */
static uint32_t parts_of(ScType t) { return t == SC_C64 ? 1 : emit_parts_of(t); }
static ScType part_type(ScType t) { return t == SC_C64 ? SC_U64 : emit_part_type(t); }

static void split(const Tiling *m, IrRef x, ScType t, IrRef *parts)
{
    if (t == SC_C64) parts[0] = emit_word_of_complex(m->e, x);
    else emit_split(m->e, x, t, parts);
}

static IrRef join(const Tiling *m, const IrRef *parts, ScType t)
{
    return t == SC_C64 ? emit_complex_of_word(m->e, parts[0]) : emit_join(m->e, parts, t);
}

static void add_buffers(Tiling *m)
{
    m->buffer = WBB_NEW_N(m->a, uint32_t, m->tile->n_values + 1u);
    for (uint32_t k = 0; k < m->tile->n_values; k++) {
        const PlanValue v = m->tile->values[k].value;
        const ScType t = plan_shape(v.i, v.part)->type;
        m->buffer[k] = m->e->k->n_buffers;
        for (uint32_t j = 0; j < parts_of(t); j++)
            emit_add_buffer(m->e, "tile", IR_SHARED, part_type(t), m->tile->elements, false);
    }
}

/* The stage's outputs at n elements: values [n * outputs]. */
static void find_outputs(const Tiling *m, const Element *x, uint32_t n, IrRef *values)
{
    const uint32_t outputs = m->s->n_outputs;
    for (uint32_t j = 0; j < n; j++)
        for (uint32_t k = 0; k < outputs; k++) {
            const uint32_t o = m->s->outputs[k];
            const IrRef number = m->s->kind == PLAN_PUT ? x[j].side : x[j].number;
            values[j * outputs + k] = emit_value(m->e, m->e->plan->roots[o], root_index(m, o, number));
        }
}

static void store_outputs(const Tiling *m, const Element *x, uint32_t n, const IrRef *values)
{
    const uint32_t outputs = m->s->n_outputs;
    for (uint32_t j = 0; j < n && outputs; j++) {
        EmitIf inside = emit_if_using(m->e, x[j].inside, outputs, values + j * outputs);
        for (uint32_t k = 0; k < outputs && !emit_never(&inside); k++)
            emit_store(m->e, m->e->plan->n_operands + m->s->outputs[k],
                       m->s->kind == PLAN_PUT ? x[j].side : x[j].number,
                       emit_in_branch(m->e, &inside, true, values[j * outputs + k]));
        emit_close_if(m->e, &inside);
    }
}

/* Values of all elements before the first store: conditions among them are joined, so that what they guard can become
 * wide accesses. */
static void put(const Tiling *m, const Element *x, uint32_t n)
{
    IrRef *values = WBB_NEW_N(m->a, IrRef, n * m->tile->n_values + 1u);
    for (uint32_t k = 0; k < m->tile->n_values; k++)
        for (uint32_t j = 0; j < n; j++) {
            const PlanCarried *c = &m->tile->values[k];
            values[k * n + j] = emit_value(m->e, c->value, carried_index(m, c, &x[j]));
        }
    for (uint32_t k = 0; k < m->tile->n_values; k++)
        for (uint32_t j = 0; j < n; j++) {
            const PlanValue v = m->tile->values[k].value;
            const ScType t = plan_shape(v.i, v.part)->type;
            IrRef parts[2];
            split(m, values[k * n + j], t, parts);
            for (uint32_t i = 0; i < parts_of(t); i++) emit_store(m->e, m->buffer[k] + i, x[j].place, parts[i]);
        }
}

/* What an element needs of the tile. */
static void read_values(const Tiling *m, const Element *x)
{
    for (uint32_t k = 0; k < m->tile->n_values; k++) {
        const PlanCarried *c = &m->tile->values[k];
        const ScType t = plan_shape(c->value.i, c->value.part)->type;
        IrRef parts[2];
        for (uint32_t j = 0; j < parts_of(t); j++) {
            const IrType type = IR_TYPE(part_type(t), 0);
            const IrRef read = ir_node(m->g, OP_READ, type, 0, 0, 0, 0, 0);
            parts[j] = ir_do_at(m->g, emit_block(m->e), emit_name(m->e, "r"), read, type, m->buffer[k] + j, x->place);
            emit_bound(m->e, parts[j]);
        }
        emit_give(m->e, c->value, carried_index(m, c, x), join(m, parts, t));
    }
}

static void compute(const Tiling *m, const Element *x, uint32_t n)
{
    IrRef *values = WBB_NEW_N(m->a, IrRef, n * m->s->n_outputs + 1u);
    const bool first = m->s->kind == PLAN_PUT;
    for (uint32_t j = 0; j < n && !first; j++) read_values(m, &x[j]);
    if (first && m->puts) put(m, x, n);
    if (first && !m->stores) return;
    find_outputs(m, x, n, values);
    store_outputs(m, x, n, values);
}

/* --- stages ------------------------------------------------------------------------------------------------------- */
/* Is an iteration over elements that are computed one after the other, before the first of them is stored? */
static bool is_inner(const Tiling *m, uint32_t k)
{
    return k != m->lanes && (m->iterations[k].level == LAY_VECTOR || m->at_once);
}

/* Elements of all inner iterations from k on, at these numbers of the others: added to the n elements of x. */
static uint32_t inner(const Tiling *m, IrRef *numbers, uint32_t k, Element *x, uint32_t n)
{
    while (k < m->n_iterations && !is_inner(m, k)) k++;
    if (k == m->n_iterations) {
        x[n] = element_at(m, numbers);
        return n + 1;
    }
    for (int64_t i = 0; i < m->iterations[k].size; i++) {
        numbers[k] = ir_index(m->g, i);
        n = inner(m, numbers, k + 1, x, n);
    }
    return n;
}

/* At these numbers of the registers: a loop of lanes over elements that follow each other in the tile. */
static void lanes(const Tiling *m, IrRef *numbers)
{
    const uint32_t outer = m->e->scope;
    if (m->lanes < m->n_iterations)
        numbers[m->lanes] = emit_lanes(m->e, (uint32_t)m->iterations[m->lanes].size);
    size_t most = 1;
    for (uint32_t k = 0; k < m->n_iterations; k++)
        if (is_inner(m, k)) most *= (size_t)m->iterations[k].size;
    Element *x = WBB_NEW_N(m->a, Element, most);
    compute(m, x, inner(m, numbers, 0, x, 0));
    emit_switch(m->e, outer);
}

/* All elements of a thread, from iteration k on. */
static void visit(const Tiling *m, IrRef *numbers, uint32_t k)
{
    while (k < m->n_iterations && (k == m->lanes || is_inner(m, k))) k++;
    if (k == m->n_iterations) {
        lanes(m, numbers);
        return;
    }
    for (int64_t n = 0; n < m->iterations[k].size; n++) {
        numbers[k] = ir_index(m->g, n);
        visit(m, numbers, k + 1);
    }
}

/* Operands that positions choose among: the branches of all elements of a thread are then one. */
static bool has_choice(const HloComputation *body)
{
    bool found = false;
    for (uint32_t k = 0; k < body->n_instructions; k++)
        found = found || hlo_joins(body->instructions[k]->opcode);
    return found;
}

static void stage(Tiling *m, const PlanStage *s)
{
    m->s = s;
    m->at_once = s->kind == PLAN_PUT && has_choice(m->e->plan->fusion->body);
    find_iterations(m);
    find_thread(m);
    find_lanes(m);
    IrRef *numbers = WBB_NEW_N(m->a, IrRef, m->n_iterations + 1u);
    const bool last = s->kind == PLAN_PUT && m->tile->sides_last;
    EmitIf inside = emit_if(m->e, s->kind == PLAN_GET || m->tile->guarded ? m->inside : 0);
    if (inside.s) find_inside(m);
    m->puts = true, m->stores = !last;
    visit(m, numbers, 0);
    m->puts = false, m->stores = true;
    if (last) visit(m, numbers, 0);
    emit_close_if(m->e, &inside);
}

void emit_tiles(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid)
{
    Tiling m = {.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .tile = range->tile, .bid = bid, .tid = tid};
    add_buffers(&m);
    stage(&m, &range->stages[0]);
    emit_barrier(e);
    stage(&m, &range->stages[1]);
}
