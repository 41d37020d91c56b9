/* share.c: a reduction whose terms the threads share: partial results of a thread, of a warp by shuffles, of a block
 * through shared memory, of the grid through a temporary and a ticket.
 *
 * Needs a stage with a layout; leaves its statements. A thread combines its terms, those of unrolled iterations apart
 * from each other, then neighbours of these. A partial result of which no term may be there carries that as a pred. The
 * neighbour that comes first is always the left operand, so an order of levels that keeps the order of the terms is
 * enough for a computation that does not commute. The block that draws the last ticket of its tile reads the partial
 * results of all, its threads a stretch each. The initial value is combined once, with the result.
 *
 *     reduce(f32[8192,1024]), {1}    rows: grid 8192; columns: vector 4, lane 32, warp 2, register 4
 *       =>  16 terms a thread, 5 shuffles, %s0[2 warps], barrier
 */
#include "emit/inner.h"

typedef struct {
    IrRef *x;      /* [arrays] */
    IrRef present; /* a pred; 0: some term is there */
} Partial;

/* A variable of the map's iterations. */
typedef struct {
    uint32_t dim;
    PartLevel level;
    int64_t size;
} Iteration;

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const PartStage *s;
    const PartLayout *l;
    const HloInstruction *i;
    const HloShape *operand;
    uint32_t n; /* arrays */
    IrRef bid, tid, lane, warp, *t;
    Iteration *iterations;
    uint32_t n_iterations;
    uint32_t kept, terms;    /* elements of a thread: of the kept dimensions, and of the reduced ones in an iteration */
    int64_t loop;            /* iterations */
    int64_t blocks;          /* that share a result */
    int64_t chunk;           /* partial results of those that a thread of the last one reads */
    int64_t whole;           /* elements of the kept dimensions */
    bool absent;             /* a partial result may lack every term */
    bool stretch_absent;     /* so may one of a thread's stretch of the blocks' results */
    uint32_t shared, partial; /* buffers: of each array, then, if `absent`, of preds */
    uint32_t turn, last;     /* buffers: tickets, the number drawn */
} Share;

static IrRef node(const Share *m, ScOp op, ScType t, IrRef x, IrRef y)
{
    return ir_node(m->g, op, IR_TYPE(t, 0), 0, x, y, 0, 0);
}

static IrRef both(const Share *m, IrRef x, IrRef y) { return !x ? y : !y ? x : node(m, OP_BAND, SC_PRED, x, y); }

static IrRef number(const Share *m, uint32_t x) { return ir_const(m->g, IR_TYPE(SC_U32, 0), x); }

/* x < bound; 0: that always holds. */
static IrRef below(const Share *m, IrRef x, int64_t bound)
{
    const IrRef r = rw_compare(m->rw, OP_LT, x, ir_index(m->g, bound));
    return ir_is_const(m->g, r) && ir_at(m->g, r)->imm ? 0 : r;
}

static ScType type_of(const Share *m, uint32_t array) { return part_shape(m->i, array)->type; }

/* --- numbers of threads ------------------------------------------------------------------------------------------- */
/* How many there are of a level, of the reduced dimensions or of the kept ones. */
static int64_t count_of(const Share *m, PartLevel level, bool reduced)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < m->l->n_dims; d++)
        if (m->l->dims[d].reduced == reduced) n *= part_size(&m->l->dims[d], level);
    return n;
}

/* Which one of them the thread is, or is in. */
static IrRef number_of(const Share *m, PartLevel level, bool reduced)
{
    const IrRef n = level == PART_LANE ? m->lane : level == PART_WARP ? m->warp : m->bid;
    IrRef sum = ir_index(m->g, 0);
    int64_t below = 1;
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        const int64_t size = part_size(&m->l->dims[d], level);
        if (m->l->dims[d].reduced != reduced || size == 1) continue;
        const IrRef digit = rw_mod(m->rw, rw_floordiv(m->rw, n, part_weight(m->l, d, level)), size);
        sum = rw_add(m->rw, sum, rw_scale(m->rw, digit, below));
        below *= size;
    }
    return sum;
}

/* Is it, of the threads that share a result, the first one? 0: there is one alone. */
static IrRef is_first(const Share *m, PartLevel level)
{
    if (count_of(m, level, true) == 1) return 0;
    return rw_compare(m->rw, OP_EQ, number_of(m, level, true), ir_index(m->g, 0));
}

static IrRef owns_result(const Share *m) { return both(m, is_first(m, PART_LANE), is_first(m, PART_WARP)); }

/* --- elements ----------------------------------------------------------------------------------------------------- */
/* Element number `kept` of the thread's kept ones, its term number `term` in iteration `loop`: its position in each
 * dimension; returns the condition under which it exists, 0: always. */
static IrRef position_of(const Share *m, uint32_t kept, uint32_t term, IrRef loop, IrRef *position)
{
    const IxMap *map = m->s->maps.elements;
    IrRef *point = WBB_NEW_N(m->a, IrRef, map->vars.n + 1u), exists = 0;
    IrRef *bounded = WBB_NEW_N(m->a, IrRef, map->constraints.n + 1u);
    for (uint32_t d = 0; d < m->l->n_dims; d++) point[d] = m->t[d];
    for (uint32_t k = m->n_iterations; k-- > 0;) { /* vectors are the lowest digits */
        const Iteration *x = &m->iterations[k];
        uint32_t *rest = m->l->dims[x->dim].reduced ? &term : &kept;
        point[m->l->n_dims + k] = x->level == PART_LOOP ? loop : ir_index(m->g, *rest % x->size);
        if (x->level != PART_LOOP) *rest /= (uint32_t)x->size;
    }
    ix_map_at(m->rw, m->a, rw_graph(m->e->plan->rw), map, point, position, bounded);
    for (uint32_t d = 0; d < m->l->n_dims; d++) exists = both(m, exists, below(m, m->t[d], map->vars.items[d].hi + 1));
    for (uint32_t k = 0; k < map->constraints.n; k++)
        exists = both(m, exists, below(m, bounded[k], map->constraints.items[k].hi + 1));
    return exists;
}

/* The index in the operand; inside: the position is in the space. */
static void operand_index(const Share *m, const IrRef *position, IrRef *index)
{
    for (uint32_t d = 0; d < m->operand->rank; d++) index[d] = ir_index(m->g, 0);
    for (uint32_t d = 0; d < m->l->n_dims; d++)
        for (uint32_t k = 0; k < m->s->n_space; k++) {
            const PartGroup *x = &m->s->space[k];
            if (x->dim.name != m->l->dims[d].name) continue;
            IrRef rest = emit_let(m->e, "p", position[d], 0, x->dim.size - 1);
            for (uint32_t j = x->n; j-- > 0;) {
                const int64_t size = m->operand->dims[x->of[j]];
                index[x->of[j]] = j ? rw_mod(m->rw, rest, size) : rest;
                rest = rw_floordiv(m->rw, rest, size);
            }
        }
}

static Partial new_partial(const Share *m) { return (Partial){.x = WBB_NEW_N(m->a, IrRef, m->n)}; }

/* The values and preds of n partial results, one after the other; returns how many. */
static uint32_t pack(const Share *m, const Partial *p, uint32_t n, IrRef *values)
{
    uint32_t at = 0;
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t x = 0; x < m->n; x++) values[at++] = p[k].x[x];
        if (p[k].present) values[at++] = p[k].present;
    }
    return at;
}

static void unpack(const Share *m, Partial *p, uint32_t n, const IrRef *values)
{
    for (uint32_t k = 0; k < n; k++) {
        for (uint32_t x = 0; x < m->n; x++) p[k].x[x] = *values++;
        if (p[k].present) p[k].present = *values++;
    }
}

/* Begins an `if` whose body alone uses partial results from now on: they become what they are there. */
static EmitIf if_using(const Share *m, IrRef condition, Partial *p, uint32_t n)
{
    IrRef *values = WBB_NEW_N(m->a, IrRef, (size_t)n * (m->n + 1u));
    const uint32_t n_values = pack(m, p, n, values);
    const EmitIf c = emit_if_using(m->e, condition, n_values, values);
    for (uint32_t k = 0; k < n_values; k++) values[k] = emit_in_branch(m->e, &c, true, values[k]);
    unpack(m, p, n, values);
    return c;
}

/* Ends an `if` that results in nothing. */
static void end_if(const Share *m, EmitIf *c)
{
    emit_else(m->e, c);
    emit_end_if(m->e, c, 0, NULL, NULL, NULL);
}

/* Ends an `if` whose body has the values of p; elsewhere p is absent. */
static void end_guarded(const Share *m, EmitIf *c, Partial *p, IrRef condition)
{
    IrRef *values = WBB_NEW_N(m->a, IrRef, m->n + 1u), *zero = WBB_NEW_N(m->a, IrRef, m->n + 1u);
    const uint32_t n = pack(m, p, 1, values);
    emit_else(m->e, c);
    for (uint32_t k = 0; k < n; k++) zero[k] = ir_const(m->g, ir_at(m->g, values[k])->type, 0);
    emit_end_if(m->e, c, n, values, zero, values);
    unpack(m, p, 1, values);
    if (!p->present) p->present = condition;
}

/* Where the thread has elements, the numbers that say which are within what the map says of them. */
static Share with_elements(const Share *m)
{
    Share inside = *m;
    inside.t = WBB_NEW_N(m->a, IrRef, m->l->n_dims + 1u);
    for (uint32_t d = 0; d < m->l->n_dims; d++)
        inside.t[d] = emit_let(m->e, "t", m->t[d], 0, m->s->maps.elements->vars.items[d].hi);
    return inside;
}

/* One term of each array. */
static Partial term(const Share *m, uint32_t kept, uint32_t number, IrRef loop)
{
    Partial p = new_partial(m);
    IrRef *position = WBB_NEW_N(m->a, IrRef, m->l->n_dims + 1u);
    IrRef *index = WBB_NEW_N(m->a, IrRef, m->operand->rank + 1u);
    const IrRef exists = position_of(m, kept, number, loop, position);
    EmitIf c = emit_if(m->e, exists);
    const Share inside = with_elements(m);
    position_of(&inside, kept, number, loop, position);
    operand_index(m, position, index);
    for (uint32_t k = 0; k < m->n; k++)
        p.x[k] = emit_as(m->e, emit_value(m->e, part_value(m->i->operands[k], 0), index), type_of(m, k));
    if (exists) end_guarded(m, &c, &p, exists);
    return p;
}

/* --- combining ---------------------------------------------------------------------------------------------------- */
static Partial combine(const Share *m, const Partial *x, const Partial *y)
{
    const HloComputation *c = m->i->called[0];
    const bool apart = x->present != y->present; /* one may be there without the other */
    Partial p = new_partial(m);
    IrRef *args = WBB_NEW_N(m->a, IrRef, 2 * m->n);
    for (uint32_t k = 0; k < m->n; k++) {
        args[k] = emit_as(m->e, x->x[k], c->parameters[k]->shape->type);
        args[m->n + k] = emit_as(m->e, y->x[k], c->parameters[m->n + k]->shape->type);
    }
    const uint32_t env = emit_env(m->e, 2 * m->n, args);
    for (uint32_t k = 0; k < m->n; k++) {
        const IrType t = IR_TYPE(type_of(m, k), 0);
        IrRef r = emit_as(m->e, emit_value_in(m->e, env, (PartValue){c->root, k}, NULL), type_of(m, k));
        if (apart && y->present) r = ir_node(m->g, OP_SELECT, t, 0, y->present, r, x->x[k], 0);
        if (apart && x->present) r = ir_node(m->g, OP_SELECT, t, 0, x->present, r, y->x[k], 0);
        p.x[k] = r;
    }
    p.present = !apart ? x->present : x->present && y->present ? node(m, OP_BOR, SC_PRED, x->present, y->present) : 0;
    return p;
}

/* Neighbours, then neighbours of these: leaves the result in p[0]. */
static void fold(const Share *m, Partial *p, uint32_t n)
{
    for (; n > 1; n = (n + 1) / 2) {
        for (uint32_t k = 0; k < n / 2; k++) p[k] = combine(m, &p[2 * k], &p[2 * k + 1]);
        if (n % 2) p[n / 2] = p[n - 1];
    }
}

/* The terms of one iteration, one kept element after the other; those of a computation that keeps the order are
 * combined at once, others are apart. Returns how many partial results there are. */
static uint32_t terms(const Share *m, IrRef loop, Partial *p)
{
    const uint32_t apart = m->s->commutes ? m->terms : 1;
    Partial *all = WBB_NEW_N(m->a, Partial, m->terms);
    for (uint32_t c = 0; c < m->kept; c++) {
        for (uint32_t k = 0; k < m->terms; k++) all[k] = term(m, c, k, loop);
        if (apart == 1) fold(m, all, m->terms);
        for (uint32_t k = 0; k < apart; k++) p[c * apart + k] = all[k];
    }
    return m->kept * apart;
}

typedef uint32_t (*Iterate)(const Share *m, IrRef loop, Partial *p);

/* Iterations 0 .. count - 1 of `one`, each of which has partial results, which are combined from iteration to
 * iteration. The first one starts them. Returns how many there are. */
static uint32_t iterate(const Share *m, Iterate one, int64_t count, Partial *p)
{
    const uint32_t n = one(m, ir_index(m->g, 0), p);
    if (count == 1) return n;
    IrRef *acc = WBB_NEW_N(m->a, IrRef, (size_t)n * (m->n + 1u)), var;
    Partial *next = WBB_NEW_N(m->a, Partial, n);
    const uint32_t n_acc = pack(m, p, n, acc);
    EmitLoop l = emit_for(m->e, "k", count - 1, n_acc, acc, &var);
    unpack(m, p, n, acc);
    one(m, rw_add(m->rw, var, ir_index(m->g, 1)), next);
    for (uint32_t k = 0; k < n; k++) {
        const bool carried = p[k].present;
        p[k] = combine(m, &p[k], &next[k]);
        if (carried && !p[k].present) p[k].present = ir_const(m->g, IR_TYPE(SC_PRED, 0), 1);
    }
    pack(m, p, n, acc);
    emit_end_for(m->e, &l, n_acc, acc);
    unpack(m, p, n, acc);
    return n;
}

/* --- warps -------------------------------------------------------------------------------------------------------- */
static IrRef bound(const Share *m, IrRef value)
{
    emit_bound(m->e, value);
    return value;
}

/* 32 bits of another thread. */
static IrRef shuffle(const Share *m, IrRef word, uint32_t down)
{
    const IrType u32 = IR_TYPE(SC_U32, 0);
    const IrRef op = ir_node(m->g, OP_SHUFFLE_DOWN, u32, 0, word, number(m, down), 0, 0);
    return bound(m, ir_do(m->g, emit_block(m->e), emit_name(m->e, "s"), op, u32));
}

static IrRef shuffle_value(const Share *m, IrRef x, ScType t, uint32_t down)
{
    if (t == SC_PRED) {
        const IrRef word = shuffle(m, node(m, OP_CVT, SC_U32, x, 0), down);
        return node(m, OP_NE, SC_PRED, word, number(m, 0));
    }
    const uint32_t bits = sc_type_info[t].bits;
    const ScType as = emit_unsigned(bits);
    const IrRef whole = t == as ? x : node(m, OP_BITS, as, x, 0);
    IrRef back;
    if (bits == 64) {
        const IrRef half = ir_const(m->g, IR_TYPE(as, 0), 32);
        const IrRef high = node(m, OP_SHRL, as, whole, half);
        const IrRef low_back = shuffle(m, node(m, OP_CVT, SC_U32, whole, 0), down);
        const IrRef high_back = shuffle(m, node(m, OP_CVT, SC_U32, high, 0), down);
        back = node(m, OP_BOR, as, node(m, OP_SHL, as, node(m, OP_CVT, as, high_back, 0), half),
                    node(m, OP_CVT, as, low_back, 0));
    } else {
        const IrRef word = shuffle(m, bits == 32 ? whole : node(m, OP_CVT, SC_U32, whole, 0), down);
        back = bits == 32 ? word : node(m, OP_CVT, as, word, 0);
    }
    return t == as ? back : node(m, OP_BITS, t, back, 0);
}

/* Leaves the result of the warp in the threads whose reduced digits are 0. */
static void combine_lanes(const Share *m, Partial *p)
{
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        if (!m->l->dims[d].reduced) continue;
        const int64_t weight = part_weight(m->l, d, PART_LANE);
        for (int64_t k = 1; k < part_size(&m->l->dims[d], PART_LANE); k *= 2)
            for (uint32_t c = 0; c < m->kept; c++) {
                Partial other = new_partial(m);
                for (uint32_t x = 0; x < m->n; x++)
                    other.x[x] = shuffle_value(m, p[c].x[x], type_of(m, x), (uint32_t)(k * weight));
                if (p[c].present) other.present = shuffle_value(m, p[c].present, SC_PRED, (uint32_t)(k * weight));
                p[c] = combine(m, &p[c], &other);
            }
    }
}

/* --- memory ------------------------------------------------------------------------------------------------------- */
static void store(const Share *m, uint32_t buffer, IrRef index, IrRef value)
{
    IrStmt *s = ir_stmt(m->g, emit_block(m->e), IR_STORE);
    s->buffer = buffer, s->index = index, s->value = value;
}

static IrRef read(const Share *m, uint32_t buffer, ScType t, IrRef index)
{
    const IrRef op = ir_node(m->g, OP_READ, IR_TYPE(t, 0), 0, 0, 0, 0, 0);
    return bound(m, ir_do_at(m->g, emit_block(m->e), emit_name(m->e, "r"), op, IR_TYPE(t, 0), buffer, index));
}

static void barrier(const Share *m)
{
    ir_do(m->g, emit_block(m->e), NULL, ir_node(m->g, OP_BARRIER, 0, 0, 0, 0, 0, 0), 0);
}

/* A partial result in the buffers from `first` on, and back. */
static void put(const Share *m, uint32_t first, IrRef index, const Partial *p)
{
    for (uint32_t k = 0; k < m->n; k++) store(m, first + k, index, p->x[k]);
    const IrRef present = p->present ? p->present : ir_const(m->g, IR_TYPE(SC_PRED, 0), 1);
    if (m->absent) store(m, first + m->n, index, present);
}

static Partial get(const Share *m, uint32_t first, IrRef index)
{
    Partial p = new_partial(m);
    for (uint32_t k = 0; k < m->n; k++) p.x[k] = read(m, first + k, type_of(m, k), index);
    if (m->absent) p.present = read(m, first + m->n, SC_PRED, index);
    return p;
}

/* Through shared memory: the first thread of each warp that shares a result stores it, every thread reads those of all
 * warps that share its own. */
static void combine_warps(const Share *m, Partial *p)
{
    const int64_t lanes = count_of(m, PART_LANE, false), warps = count_of(m, PART_WARP, true);
    const int64_t kept_warps = count_of(m, PART_WARP, false);
    if (warps == 1) return;
    const IrRef lane = number_of(m, PART_LANE, false), warp = number_of(m, PART_WARP, true);
    const IrRef kept = number_of(m, PART_WARP, false);
    IrRef *slot = WBB_NEW_N(m->a, IrRef, m->kept);
    for (uint32_t c = 0; c < m->kept; c++) /* [c, kept warps, kept lanes, warps] */
        slot[c] = rw_scale(m->rw,
                           rw_add(m->rw, rw_scale(m->rw, rw_add(m->rw, kept, ir_index(m->g, c * kept_warps)), lanes),
                                  lane),
                           warps);
    EmitIf first = if_using(m, is_first(m, PART_LANE), p, m->kept);
    for (uint32_t c = 0; c < m->kept; c++) put(m, m->shared, rw_add(m->rw, slot[c], warp), &p[c]);
    end_if(m, &first);
    barrier(m);
    Partial *all = WBB_NEW_N(m->a, Partial, (size_t)warps);
    for (uint32_t c = 0; c < m->kept; c++) {
        for (int64_t w = 0; w < warps; w++) all[w] = get(m, m->shared, rw_add(m->rw, slot[c], ir_index(m->g, w)));
        fold(m, all, (uint32_t)warps);
        p[c] = all[0];
    }
}

/* --- results ------------------------------------------------------------------------------------------------------ */
/* The number of a kept element among all of them; *exists: the condition that there is one, 0: always. */
static IrRef kept_element(const Share *m, uint32_t kept, IrRef *position, IrRef *exists)
{
    IrRef sum = ir_index(m->g, 0);
    position_of(m, kept, 0, ir_index(m->g, 0), position);
    *exists = 0;
    for (uint32_t d = 0; d < m->l->n_dims; d++) {
        const PartDim *x = &m->l->dims[d];
        if (x->reduced) position[d] = ir_index(m->g, 0);
        else *exists = both(m, *exists, below(m, position[d], x->size));
        if (!x->reduced) sum = rw_add(m->rw, rw_scale(m->rw, sum, x->size), position[d]);
    }
    return sum;
}

static void store_result(const Share *m, const Partial *p, const IrRef *position)
{
    Partial init = new_partial(m);
    IrRef *index = WBB_NEW_N(m->a, IrRef, m->operand->rank + 1u), *at = WBB_NEW_N(m->a, IrRef, m->operand->rank + 1u);
    uint32_t rank = 0;
    for (uint32_t k = 0; k < m->n; k++)
        init.x[k] = emit_as(m->e, emit_value(m->e, part_value(m->i->operands[m->n + k], 0), NULL), type_of(m, k));
    const Partial result = combine(m, &init, p);
    operand_index(m, position, index);
    for (uint32_t d = 0; d < m->operand->rank; d++)
        if (!part_is_reduced(m->i, d)) at[rank++] = index[d];
    for (uint32_t k = 0; k < m->n; k++)
        store(m, m->e->plan->n_operands + k, ix_linear(m->rw, part_shape(m->i, k), at), result.x[k]);
}

/* Each kept element that exists, by the thread that owns it: its result, or the block's part of it. */
static void store_kept(const Share *m, Partial *p, bool result)
{
    const IrRef block = number_of(m, PART_GRID, true);
    IrRef *position = WBB_NEW_N(m->a, IrRef, m->l->n_dims + 1u), exists;
    const uint32_t outer = m->e->scope;
    EmitIf owner = if_using(m, owns_result(m), p, m->kept);
    for (uint32_t c = 0; c < m->kept; c++) {
        const IrRef at = kept_element(m, c, position, &exists);
        EmitIf inside = if_using(m, exists, &p[c], 1);
        if (result) store_result(m, &p[c], position);
        else put(m, m->partial, rw_add(m->rw, rw_scale(m->rw, block, m->whole), at), &p[c]);
        end_if(m, &inside);
    }
    end_if(m, &owner);
    emit_switch(m->e, outer);
}

/* --- blocks ------------------------------------------------------------------------------------------------------- */
/* Partial result number `loop` of the thread's stretch, of each kept element. */
static uint32_t partial_results(const Share *m, IrRef loop, Partial *p)
{
    const IrRef lane = number_of(m, PART_LANE, true), warp = number_of(m, PART_WARP, true);
    const IrRef thread = rw_add(m->rw, lane, rw_scale(m->rw, warp, count_of(m, PART_LANE, true)));
    const IrRef block = rw_add(m->rw, rw_scale(m->rw, thread, m->chunk), loop), drawn = below(m, block, m->blocks);
    IrRef *position = WBB_NEW_N(m->a, IrRef, m->l->n_dims + 1u), exists;
    for (uint32_t c = 0; c < m->kept; c++) {
        const IrRef at = kept_element(m, c, position, &exists), there = both(m, drawn, exists);
        EmitIf inside = emit_if(m->e, there);
        const IrRef of = emit_let(m->e, "q", rw_add(m->rw, rw_scale(m->rw, block, m->whole), at), 0,
                                  m->blocks * m->whole - 1);
        p[c] = get(m, m->partial, of);
        if (there) end_guarded(m, &inside, &p[c], there);
    }
    return m->kept;
}

/* The blocks of a tile store their parts; the last one to do so combines them. */
static void combine_blocks(const Share *m, Partial *p)
{
    const IrRef tile = number_of(m, PART_GRID, false);
    const IrType u32 = IR_TYPE(SC_U32, 0);
    store_kept(m, p, false);
    barrier(m);
    EmitIf one = emit_if(m->e, rw_compare(m->rw, OP_EQ, m->tid, ir_index(m->g, 0)));
    const IrRef op = ir_node(m->g, OP_TICKET, u32, 0, number(m, (uint32_t)m->blocks - 1), 0, 0, 0);
    const IrRef drawn = bound(m, ir_do_at(m->g, emit_block(m->e), emit_name(m->e, "n"), op, u32, m->turn, tile));
    store(m, m->last, ir_index(m->g, 0), drawn);
    end_if(m, &one);
    barrier(m);
    const IrRef mine = read(m, m->last, SC_U32, ir_index(m->g, 0));
    EmitIf last = emit_if(m->e, node(m, OP_EQ, SC_PRED, mine, number(m, (uint32_t)m->blocks - 1)));
    iterate(m, partial_results, m->chunk, p);
    Share stretches = *m;
    stretches.absent = m->stretch_absent;
    combine_lanes(&stretches, p);
    combine_warps(&stretches, p);
    store_kept(m, p, true);
    end_if(m, &last);
}

/* --- the stage ---------------------------------------------------------------------------------------------------- */
static uint32_t add_buffer(const Share *m, const char *stem, IrSpace space, ScType t, int64_t elements, bool zeroed)
{
    IrKernel *k = m->e->k;
    k->buffers = wbb_grow(m->a, k->buffers, k->n_buffers * sizeof *k->buffers, (k->n_buffers + 1) * sizeof *k->buffers);
    k->buffers[k->n_buffers] = (IrBuffer){.name = emit_name(m->e, stem), .space = space, .type = t,
                                          .elements = elements, .align = 16, .zeroed = zeroed};
    return k->n_buffers++;
}

/* A buffer for each array, and one for preds. */
static uint32_t add_buffers(const Share *m, const char *stem, IrSpace space, int64_t elements, bool absent)
{
    const uint32_t first = m->e->k->n_buffers;
    for (uint32_t k = 0; k < m->n; k++) add_buffer(m, stem, space, type_of(m, k), elements, false);
    if (absent) add_buffer(m, stem, space, SC_PRED, elements, false);
    return first;
}

/* In the order of the map's variables: iterations of each dimension, the outermost first, then vectors. */
static void find_iterations(Share *m)
{
    m->iterations = WBB_NEW_N(m->a, Iteration, m->l->n_dims * PART_LEVELS + 1u);
    m->kept = m->terms = 1, m->loop = 1;
    for (int vectors = 0; vectors < 2; vectors++)
        for (uint32_t d = 0; d < m->l->n_dims; d++)
            for (uint32_t k = m->l->dims[d].n_factors; k-- > 0;) {
                const PartFactor *f = &m->l->dims[d].factors[k];
                if (f->level >= PART_LANE || (f->level == PART_VECTOR) != vectors) continue;
                if (vectors && f->size == 1) continue;
                m->iterations[m->n_iterations++] = (Iteration){d, f->level, f->size};
                if (f->level == PART_LOOP) m->loop = f->size;
                else if (m->l->dims[d].reduced) m->terms *= (uint32_t)f->size;
                else m->kept *= (uint32_t)f->size;
            }
    assert(m->l->n_dims + m->n_iterations == m->s->maps.elements->vars.n);
}

static void find_sizes(Share *m)
{
    const int64_t lanes = count_of(m, PART_LANE, true), warps = count_of(m, PART_WARP, true);
    const int64_t kept_lanes = count_of(m, PART_LANE, false), kept_warps = count_of(m, PART_WARP, false);
    const int64_t tiles = count_of(m, PART_GRID, false), blocks = m->blocks = count_of(m, PART_GRID, true);
    m->chunk = (blocks + lanes * warps - 1) / (lanes * warps);
    m->whole = 1;
    for (uint32_t d = 0; d < m->l->n_dims; d++)
        if (!m->l->dims[d].reduced) m->whole *= m->l->dims[d].size;
    m->absent = m->s->maps.elements->constraints.n;
    for (uint32_t d = 0; d < m->l->n_dims; d++) /* threads after the last element */
        m->absent = m->absent || below(m, m->t[d], m->s->maps.elements->vars.items[d].hi + 1);
    m->stretch_absent = m->absent || (blocks > 1 && m->chunk * lanes * warps != blocks);
    if (blocks > 1) m->partial = add_buffers(m, "part", IR_TEMP, blocks * m->whole, m->absent);
    if (blocks > 1) m->turn = add_buffer(m, "turn", IR_TEMP, SC_U32, tiles, true);
    if (blocks > 1) m->last = add_buffer(m, "last", IR_SHARED, SC_U32, 1, false);
    if (warps > 1)
        m->shared =
            add_buffers(m, "shared", IR_SHARED, m->kept * kept_lanes * kept_warps * warps, m->stretch_absent);
}

void emit_shared_reduce(EmitValues *e, const PartStage *s, IrRef bid, IrRef tid)
{
    Share m = {.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .s = s, .l = &s->layout, .i = s->reduce,
               .operand = s->reduce->operands[0]->shape, .n = s->n_outputs, .bid = bid, .tid = tid};
    const uint32_t origin = e->g->making_origin;
    const int64_t lanes = part_layout_size(m.l, PART_LANE);
    e->g->making_origin = s->reduce->id + 1;
    m.lane = rw_mod(m.rw, tid, lanes), m.warp = rw_floordiv(m.rw, tid, lanes);
    m.t = WBB_NEW_N(m.a, IrRef, m.l->n_dims + 1u);
    ix_map_at(m.rw, m.a, rw_graph(e->plan->rw), s->maps.launched, (IrRef[]){bid, tid}, m.t, NULL);
    find_iterations(&m);
    find_sizes(&m);
    Partial *p = WBB_NEW_N(m.a, Partial, (size_t)m.kept * m.terms);
    const uint32_t apart = iterate(&m, terms, m.loop, p) / m.kept;
    for (uint32_t c = 0; c < m.kept; c++) {
        fold(&m, p + (size_t)c * apart, apart);
        p[c] = p[(size_t)c * apart];
    }
    combine_lanes(&m, p);
    combine_warps(&m, p);
    if (m.blocks > 1) combine_blocks(&m, p);
    else store_kept(&m, p, true);
    e->g->making_origin = origin;
}
