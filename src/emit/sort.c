/* sort.c: a launch of a sort: rows or tiles of rows in the shared memory of a block; or a merge of sorted runs.
 *
 * Needs a stage with a PartSort; leaves its statements. A block sorts by a bitonic network all of whose comparators put
 * the element that comes first at the lower place, so that places after the end of a row need no filler. Elements that
 * the comparator calls equal come in the order that they had, which makes every sort stable and every two elements
 * different. A comparator that contradicts itself (LT where there are nans) still leaves each element once.
 *
 * A merge finds for each element how many of the other run come before it, by bisection; that and its place in its own
 * run is where it goes. This takes a comparator that does not contradict itself: in rows that are merged, a plain
 * comparison of floats has nans last.
 *
 *     row of 100: pairs (i, j) of 28 steps, (i, i ^ 1); (i, i ^ 3), (i, i ^ 1); (i, i ^ 7), (i, i ^ 2), (i, i ^ 1); ..
 */
#include "emit/share.h"

typedef struct {
    Share m;
    const PartSort *s;
    Reduction element; /* the keys of an element, and its position */
    int64_t tiles;     /* of a row */
    int64_t threads;
    bool minor;        /* rows are contiguous in memory */
    IrRef start;       /* of the tile in its row; 0 where a tile is a row */
} Sort;

static IrRef u32(const Sort *s, uint32_t x) { return emit_share_number(&s->m, x); }
static IrRef op(const Sort *s, ScOp o, IrRef x, IrRef y) { return emit_share_node(&s->m, o, SC_U32, x, y); }
static IrRef compare(const Sort *s, ScOp o, IrRef x, IrRef y) { return emit_share_node(&s->m, o, SC_PRED, x, y); }
static IrRef number_of(const Sort *s, IrRef i) { return ir_node(s->m.g, OP_IDX, IR_TYPE(SC_U32, 0), 0, i, 0, 0, 0); }

static IrRef choose(const Sort *s, ScType t, IrRef condition, IrRef x, IrRef y)
{
    return ir_node(s->m.g, OP_SELECT, IR_TYPE(t, 0), 0, condition, x, y, 0);
}

/* An integer that is in 0 .. bound, as an index. */
static IrRef index_of(const Sort *s, IrRef integer, int64_t bound)
{
    if (bound == 1) return ir_index(s->m.g, 0);
    const IrRef var = ir_let_value(s->m.g, emit_block(s->m.e), emit_name(s->m.e, "i"), integer, 0, bound - 1);
    emit_bound(s->m.e, var);
    return var;
}

/* --- elements ----------------------------------------------------------------------------------------------------- */
/* Where element `at` of a row is in the arrays. */
static IrRef *index_at(const Sort *s, IrRef row, IrRef at)
{
    const Share *m = &s->m;
    IrRef *index = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    for (uint32_t d = 0; d < m->terms_shape->rank; d++) index[d] = ir_index(m->g, 0);
    for (uint32_t k = m->s->n_space; k-- > 0;) {
        const PartGroup *g = &m->s->space[k];
        if (!g->n) continue;
        if (g->dim.reduced) {
            part_group_index(m->rw, g, m->terms_shape, at, index);
            continue;
        }
        part_group_index(m->rw, g, m->terms_shape, rw_mod(m->rw, row, g->dim.size), index);
        row = rw_floordiv(m->rw, row, g->dim.size);
    }
    return index;
}

static IrRef operand_at(const Sort *s, uint32_t operand, const IrRef *index)
{
    return emit_value(s->m.e, part_value(s->s->i->operands[operand], 0), index);
}

static IrRef *values_of(const Sort *s) { return WBB_NEW_N(s->m.a, IrRef, s->element.n); }

/* Is x before y? Of two keys each. */
static IrRef is_before(const Sort *s, const IrRef *x, const IrRef *y)
{
    const HloInstruction *i = s->s->i;
    const HloComputation *c = i->called[0];
    const HloInstruction *root = c->root;
    IrRef *args = WBB_NEW_N(s->m.a, IrRef, 2 * i->n_operands);
    for (uint32_t k = 0; k < 2 * i->n_operands; k++) args[k] = ir_const(s->m.g, IR_TYPE(SC_PRED, 0), 0);
    for (uint32_t k = 0; k < s->s->n_keys; k++) {
        args[2 * s->s->keys[k]] = emit_as(s->m.e, x[k], c->parameters[2 * s->s->keys[k]]->shape->type);
        args[2 * s->s->keys[k] + 1] = emit_as(s->m.e, y[k], c->parameters[2 * s->s->keys[k] + 1]->shape->type);
    }
    const uint32_t env = emit_env(s->m.e, 2 * i->n_operands, args);
    const IrRef before = emit_value_in(s->m.e, env, (PartValue){root, 0}, NULL);
    const bool plain = root->opcode == HLO_COMPARE && !root->total_order &&
                       (root->direction == HLO_LT || root->direction == HLO_GT) &&
                       root->operands[0]->opcode == HLO_PARAMETER && root->operands[1]->opcode == HLO_PARAMETER;
    if (!plain || !s->s->passes || s->s->n_keys != 1 || !sc_is_float(s->element.type[0])) return before;
    const IrRef number = compare(s, OP_EQ, x[0], x[0]), nan = compare(s, OP_NE, y[0], y[0]);
    return compare(s, OP_BOR, before, compare(s, OP_BAND, number, nan));
}

static Partial element(IrRef *values) { return (Partial){.x = values}; }

static void get(const Sort *s, SharePlace place, IrRef at, IrRef *values)
{
    Partial p;
    emit_share_get(&s->m, &s->element, place, at, 1, &p);
    for (uint32_t k = 0; k < s->element.n; k++) values[k] = p.x[k];
}

static void put(const Sort *s, SharePlace place, IrRef at, IrRef *values)
{
    const Partial p = element(values);
    emit_share_put(&s->m, &s->element, place, at, &p);
}

/* --- the network -------------------------------------------------------------------------------------------------- */
/* What a step does with a pair: half is that of a stretch, `other` what the places of a pair differ by. */
typedef struct {
    IrRef size, half, other;
} Step;

/* Exchanges the elements at the places of pair number h of a row, if the second one comes first. */
static void exchange(const Sort *s, const Step *step, IrRef row, IrRef h)
{
    const Share *m = &s->m;
    const int64_t n = s->s->tile;
    const IrRef low = op(s, OP_BAND, h, op(s, OP_SUB, step->half, u32(s, 1)));
    const IrRef i = op(s, OP_SUB, op(s, OP_ADD, h, h), low);
    const IrRef j = op(s, OP_BXOR, i, step->other);
    const IrRef last = s->start ? op(s, OP_ADD, j, number_of(s, s->start)) : j;
    const bool whole = !(n & (n - 1)) && s->s->length % n == 0;
    EmitIf inside = emit_if(m->e, whole ? 0 : compare(s, OP_LT, last, u32(s, (uint32_t)s->s->length)));
    const IrRef base = rw_scale(m->rw, row, n);
    const IrRef at_i = rw_add(m->rw, base, index_of(s, i, n)), at_j = rw_add(m->rw, base, index_of(s, j, n));
    IrRef *x = values_of(s), *y = values_of(s), *first = values_of(s), *second = values_of(s);
    get(s, SHARE_WARPS, at_i, x);
    get(s, SHARE_WARPS, at_j, y);
    const uint32_t position = s->s->n_keys;
    const IrRef later = compare(s, OP_LT, y[position], x[position]); /* y was before x */
    for (uint32_t k = 0; k < s->element.n; k++) {
        first[k] = choose(s, s->element.type[k], later, y[k], x[k]);
        second[k] = choose(s, s->element.type[k], later, x[k], y[k]);
    }
    /* the second comes first only if the comparator says so; then the pair is in order if it was not before */
    const IrRef overtakes = is_before(s, second, first);
    EmitIf swap = emit_if(m->e, compare(s, OP_NE, overtakes, later));
    put(s, SHARE_WARPS, at_i, y);
    put(s, SHARE_WARPS, at_j, x);
    emit_share_end_if(m, &swap);
    emit_share_end_if(m, &inside);
}

/* All steps, each in all pairs of the block: of stretches of 2, 4, 8, .. places. */
static void network(const Sort *s)
{
    const Share *m = &s->m;
    int64_t steps = 0, stretches = 0, places = 1;
    for (; places < s->s->tile; places *= 2) steps += ++stretches;
    if (!steps) return;
    const int64_t pairs = places / 2 * s->s->block_rows / s->threads; /* of a thread */
    IrRef acc[3] = {u32(s, 2), u32(s, 1), u32(s, 1)}, var, number = ir_index(m->g, 0);
    EmitLoop l = emit_for(m->e, "k", steps, 3, acc, &var), of_pairs = {0};
    const Step step = {acc[0], acc[1], acc[2]};
    if (pairs > 1) of_pairs = emit_for(m->e, "k", pairs, 0, NULL, &number);
    const IrRef pair = rw_add(m->rw, rw_scale(m->rw, number, s->threads), m->tid);
    const int64_t of_row = places / 2;
    const IrRef used = pairs ? 0 : rw_compare(m->rw, OP_LT, m->tid, ir_index(m->g, of_row * s->s->block_rows));
    EmitIf inside = emit_if(m->e, used);
    const IrRef bounded = emit_let(m->e, "h", pair, 0, of_row * s->s->block_rows - 1);
    exchange(s, &step, rw_floordiv(m->rw, bounded, of_row), number_of(s, rw_mod(m->rw, bounded, of_row)));
    emit_share_end_if(m, &inside);
    if (pairs > 1) emit_end_for(m->e, &of_pairs, 0, NULL);
    emit_share_barrier(m);
    const IrRef last = compare(s, OP_EQ, step.half, u32(s, 1)), half = op(s, OP_SHRL, step.half, u32(s, 1));
    acc[0] = choose(s, SC_U32, last, op(s, OP_ADD, step.size, step.size), step.size);
    acc[1] = choose(s, SC_U32, last, step.size, half);
    acc[2] = choose(s, SC_U32, last, op(s, OP_SUB, acc[0], u32(s, 1)), half);
    emit_end_for(m->e, &l, 3, acc);
}

/* --- a block's rows ----------------------------------------------------------------------------------------------- */
/* An element of a block in turn of its threads: the row in the block, and the place in the row. */
static EmitLoop open_elements(const Sort *s, IrRef *row, IrRef *place, EmitIf *inside)
{
    const Share *m = &s->m;
    const int64_t n = s->s->tile, all = n * s->s->block_rows, each = (all + s->threads - 1) / s->threads;
    IrRef number = ir_index(m->g, 0);
    EmitLoop l = {0};
    if (each > 1) l = emit_for(m->e, "k", each, 0, NULL, &number);
    const IrRef q = rw_add(m->rw, rw_scale(m->rw, number, s->threads), m->tid);
    const IrRef below = rw_compare(m->rw, OP_LT, q, ir_index(m->g, all));
    *inside = emit_if(m->e, ir_is_const(m->g, below) ? 0 : below);
    const IrRef within = emit_let(m->e, "q", q, 0, all - 1);
    const int64_t rows = s->s->block_rows;
    *row = s->minor ? rw_floordiv(m->rw, within, n) : rw_mod(m->rw, within, rows);
    *place = s->minor ? rw_mod(m->rw, within, n) : rw_floordiv(m->rw, within, rows);
    return l;
}

static void close_elements(const Sort *s, const EmitLoop *l, EmitIf *inside)
{
    emit_share_end_if(&s->m, inside);
    if (l->s) emit_end_for(s->m.e, l, 0, NULL);
}

/* Opens an `if` for places of the tile that are in the row. */
static EmitIf in_row(const Sort *s, IrRef *at)
{
    const Share *m = &s->m;
    const IrRef below = rw_compare(m->rw, OP_LT, *at, ir_index(m->g, s->s->length));
    const EmitIf c = emit_if(m->e, ir_is_const(m->g, below) ? 0 : below);
    *at = emit_let(m->e, "e", *at, 0, s->s->length - 1);
    return c;
}

static IrRef row_of_block(const Sort *s, IrRef row, IrRef *inside)
{
    const Share *m = &s->m;
    const IrRef first = rw_scale(m->rw, rw_floordiv(m->rw, m->bid, s->tiles), s->s->block_rows);
    return emit_clamp(m->e, "r", rw_add(m->rw, first, row), s->s->rows, inside);
}

static IrRef place_in_row(const Sort *s, IrRef place) { return s->start ? rw_add(s->m.rw, s->start, place) : place; }

static void load(const Sort *s)
{
    const Share *m = &s->m;
    IrRef row, place, exists;
    EmitIf inside;
    const EmitLoop l = open_elements(s, &row, &place, &inside);
    IrRef at = place_in_row(s, place);
    EmitIf there = in_row(s, &at);
    const IrRef *index = index_at(s, row_of_block(s, row, &exists), at);
    IrRef *x = values_of(s);
    for (uint32_t k = 0; k < s->s->n_keys; k++) x[k] = operand_at(s, s->s->keys[k], index);
    x[s->s->n_keys] = emit_as(m->e, number_of(s, at), s->s->position);
    put(s, SHARE_WARPS, rw_add(m->rw, rw_scale(m->rw, row, s->s->tile), place), x);
    emit_share_end_if(m, &there);
    close_elements(s, &l, &inside);
}

/* The results at place `at` of a row, and what is computed from them there. */
static void store_results(const Sort *s, IrRef row, IrRef at, const IrRef *values)
{
    const Share *m = &s->m;
    const IrRef *index = index_at(s, row, at);
    const IrRef from = emit_start(m->e, values[s->s->n_keys], 0, s->s->length - 1);
    for (uint32_t k = 0; k < s->s->i->n_operands; k++) {
        IrRef v = 0;
        for (uint32_t x = 0; x < s->s->n_keys; x++)
            if (s->s->keys[x] == k) v = values[x];
        if (!v) v = operand_at(s, k, index_at(s, row, from));
        emit_give(m->e, (PartValue){s->s->i, k}, index, emit_as(m->e, v, part_shape(s->s->i, k)->type));
    }
    const Position everywhere = {0};
    emit_share_outputs(m, 1, &everywhere, &index);
}

static void store(const Sort *s)
{
    const Share *m = &s->m;
    IrRef row, place, exists = 0;
    EmitIf inside;
    const EmitLoop l = open_elements(s, &row, &place, &inside);
    const IrRef global = row_of_block(s, row, &exists);
    EmitIf of_rows = emit_if(m->e, exists);
    IrRef at = place_in_row(s, place), *x = values_of(s);
    EmitIf there = in_row(s, &at);
    get(s, SHARE_WARPS, rw_add(m->rw, rw_scale(m->rw, row, s->s->tile), place), x);
    if (s->s->passes) put(s, SHARE_BLOCKS, rw_add(m->rw, rw_scale(m->rw, global, s->s->length), at), x);
    else store_results(s, global, at, x);
    emit_share_end_if(m, &there);
    emit_share_end_if(m, &of_rows);
    close_elements(s, &l, &inside);
}

/* --- merging ------------------------------------------------------------------------------------------------------ */
/* How many elements of the other run, which begins at `low` and ends before `high`, come before x. second: x is of the
 * second run, and of equal elements comes after. */
static IrRef count_before(const Sort *s, IrRef row, IrRef low, IrRef high, IrRef second, const IrRef *x)
{
    const Share *m = &s->m;
    int64_t steps = 1;
    for (int64_t run = s->s->tile << (s->s->pass - 1); run; run /= 2) steps++;
    IrRef acc[2] = {low, high}, var;
    EmitLoop l = emit_for(m->e, "k", steps, 2, acc, &var);
    const IrRef middle = op(s, OP_SHRL, op(s, OP_ADD, acc[0], acc[1]), u32(s, 1));
    const IrRef at = emit_start(m->e, middle, 0, s->s->length - 1);
    IrRef *other = values_of(s), *a = values_of(s), *b = values_of(s);
    get(s, SHARE_PEERS, rw_add(m->rw, rw_scale(m->rw, row, s->s->length), at), other);
    for (uint32_t k = 0; k < s->s->n_keys; k++) {
        a[k] = choose(s, s->element.type[k], second, x[k], other[k]);
        b[k] = choose(s, s->element.type[k], second, other[k], x[k]);
    }
    const IrRef open = compare(s, OP_LT, acc[0], acc[1]);
    const IrRef comes_first = compare(s, OP_NE, is_before(s, a, b), second);
    const IrRef up = choose(s, SC_U32, comes_first, op(s, OP_ADD, middle, u32(s, 1)), acc[0]);
    const IrRef down = choose(s, SC_U32, comes_first, acc[1], middle);
    acc[0] = choose(s, SC_U32, open, up, acc[0]);
    acc[1] = choose(s, SC_U32, open, down, acc[1]);
    emit_end_for(m->e, &l, 2, acc);
    return op(s, OP_SUB, acc[0], low);
}

static void merge(const Sort *s)
{
    const Share *m = &s->m;
    const int64_t n = s->s->length, run = s->s->tile << (s->s->pass - 1), all = s->s->rows * n;
    const IrRef q = rw_add(m->rw, rw_scale(m->rw, m->bid, s->threads), m->tid);
    const IrRef below = rw_compare(m->rw, OP_LT, q, ir_index(m->g, all));
    EmitIf inside = emit_if(m->e, ir_is_const(m->g, below) ? 0 : below);
    const IrRef g = emit_let(m->e, "q", q, 0, all - 1), row = rw_floordiv(m->rw, g, n), at = rw_mod(m->rw, g, n);
    IrRef *x = values_of(s);
    get(s, SHARE_PEERS, g, x);
    const IrRef number = rw_floordiv(m->rw, at, run), odd = rw_mod(m->rw, number, 2);
    const IrRef second = rw_compare(m->rw, OP_EQ, odd, ir_index(m->g, 1)), end = u32(s, (uint32_t)n);
    const IrRef own = number_of(s, rw_scale(m->rw, number, run)), width = u32(s, (uint32_t)run);
    const IrRef other = choose(s, SC_U32, second, op(s, OP_SUB, own, width), op(s, OP_ADD, own, width));
    const IrRef low = op(s, OP_MIN, other, end), high = op(s, OP_MIN, op(s, OP_ADD, other, width), end);
    const IrRef before = count_before(s, row, low, high, second, x);
    const IrRef first = choose(s, SC_U32, second, op(s, OP_SUB, number_of(s, at), width), number_of(s, at));
    const IrRef to = index_of(s, op(s, OP_ADD, first, before), n);
    if (s->s->pass == s->s->passes) store_results(s, row, to, x);
    else put(s, SHARE_BLOCKS, rw_add(m->rw, rw_scale(m->rw, row, n), to), x);
    emit_share_end_if(m, &inside);
}

/* --- the launch --------------------------------------------------------------------------------------------------- */
static void find_element(Sort *s)
{
    Share *m = &s->m;
    Reduction *e = &s->element;
    e->n = s->s->n_keys + 1;
    e->type = WBB_NEW_N(m->a, ScType, e->n);
    for (uint32_t k = 0; k < s->s->n_keys; k++) e->type[k] = s->s->i->operands[s->s->keys[k]]->shape->type;
    e->type[s->s->n_keys] = s->s->position;
    e->buffer[SHARE_BLOCKS] = s->s->temps[s->s->pass % 2];
    e->buffer[SHARE_PEERS] = s->s->temps[(s->s->pass + 1) % 2];
    e->buffer[SHARE_WARPS] = m->e->k->n_buffers;
    for (uint32_t k = 0; k < e->n && !s->s->pass; k++)
        for (uint32_t part = 0; part < part_memory_parts(e->type[k]); part++)
            emit_add_buffer(m->e, "shared", IR_SHARED, part_memory_type(e->type[k]), s->s->tile * s->s->block_rows,
                            false);
}

void emit_sort(EmitValues *e, const PartRange *range, IrRef bid, IrRef tid)
{
    Sort s = {.m = {.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .range = range, .s = range->stages,
                    .terms_shape = range->space, .bid = bid, .tid = tid},
              .s = range->stages[0].sort, .threads = e->k->block};
    const uint32_t origin = e->g->making_origin;
    e->g->making_origin = s.s->i->id + 1;
    e->reduced = range->reduced;
    s.tiles = (s.s->length + s.s->tile - 1) / s.s->tile;
    s.minor = range->space->minor_to_major[0] == s.s->dim;
    find_element(&s);
    if (s.s->pass) {
        merge(&s);
    } else {
        if (s.tiles > 1) s.start = rw_scale(e->rw, rw_mod(e->rw, bid, s.tiles), s.s->tile);
        load(&s);
        emit_share_barrier(&s.m);
        network(&s);
        store(&s);
    }
    e->reduced = NULL, e->place = NULL;
    e->g->making_origin = origin;
}
