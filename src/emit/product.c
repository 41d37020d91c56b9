/* product.c: a dot whose products tensor cores add, with elementwise work before it and after it.
 *
 * Needs a range with a product (plan/product.h); leaves its statements. Each lane computes the elements of both
 * operands that it has, as any value at an index is computed, so that what comes before the dot is part of it, and
 * accesses.c makes one wide access of neighbours. Sums stay in registers; after the loop they are the dot's values at
 * their indices, from which the outputs follow.
 *
 *     let k = ..    x = pack.bf16x8(..)    y = pack.bf16x4(..)    c = do mma.f32x4.bf16x8(x, y, c)
 */
#include "emit/product_rows.h"

static IrRef plus(const EmitProduct *m, IrRef x, int64_t n) { return emit_product_plus(m, x, n); }

static uint32_t fragments(const PlanProduct *p) { return (p->row_tiles + p->column_tiles) * p->steps; }

/* The operands of an iteration whose first product is k, as tensor cores take them: of the left one row_tiles for each
 * step, then column_tiles of the right one. */
static void load(const EmitProduct *m, IrRef k, IrRef *to)
{
    const PlanProduct *p = m->p;
    const uint32_t each = 4 * p->steps;
    const ScType type = p->i->operands[0]->shape->type;
    IrRef *x = WBB_NEW_N(m->a, IrRef, m->rows * each), *y = WBB_NEW_N(m->a, IrRef, p->column_tiles * each);
    k = rw_add(m->rw, k, rw_scale(m->rw, m->pair, each));
    for (uint32_t r = 0; r < m->rows; r++)
        for (uint32_t j = 0; j < each; j++)
            x[r * each + j] = emit_product_element(m, 0, plus(m, m->row, r), plus(m, k, j));
    for (uint32_t c = 0; c < p->column_tiles; c++)
        for (uint32_t j = 0; j < each; j++)
            y[c * each + j] =
                emit_product_element(m, 1, emit_product_column(m, c, m->group[0]), plus(m, k, j));
    for (uint32_t s = 0; s < p->steps; s++) {
        for (uint32_t r = 0; r < p->row_tiles; r++) {
            const IrRef *upper = x + 2 * r * each + 4 * s, *lower = upper + each;
            const IrRef of_row[8] = {upper[0], upper[1], lower[0], lower[1], upper[2], upper[3], lower[2], lower[3]};
            *to++ = emit_packed(m->e, of_row, type, 8, 8);
        }
        for (uint32_t c = 0; c < p->column_tiles; c++) *to++ = emit_packed(m->e, y + c * each + 4 * s, type, 4, 4);
    }
}

static void multiply(const EmitProduct *m, const IrRef *of, IrRef *sums)
{
    const PlanProduct *p = m->p;
    for (uint32_t s = 0; s < p->steps; s++) emit_product_step(m, of + s * (p->row_tiles + p->column_tiles), sums);
}

/* The first product of iteration n of the warp. */
static IrRef first_of(const EmitProduct *m, IrRef n)
{
    const IrRef number = rw_add(m->rw, rw_scale(m->rw, n, m->p->depth_warps), m->depth_warp);
    return rw_add(m->rw, m->start, rw_scale(m->rw, number, m->depth));
}

/* Iterations whose products all exist. */
static void iterate(const EmitProduct *m, int64_t n, IrRef *sums)
{
    EmitValues *e = m->e;
    const uint32_t n_sums = plan_sums(m->p), n_loaded = m->p->ahead ? fragments(m->p) : 0;
    IrRef *carried = WBB_NEW_N(m->a, IrRef, n_sums + fragments(m->p)), *of = carried + n_sums, var;
    for (uint32_t k = 0; k < n_sums; k++) carried[k] = sums[k];
    if (n_loaded) load(m, first_of(m, ir_index(m->g, 0)), of);
    const EmitLoop l = emit_for(e, "k", n_loaded ? n - 1 : n, n_sums + n_loaded, carried, &var);
    if (l.s) l.s->ahead = n_loaded > 0;
    if (n_loaded) {
        IrRef *next = WBB_NEW_N(m->a, IrRef, n_loaded);
        load(m, first_of(m, plus(m, var, 1)), next);
        multiply(m, of, carried);
        for (uint32_t k = 0; k < n_loaded; k++) of[k] = next[k];
    } else {
        load(m, first_of(m, var), of);
        multiply(m, of, carried);
    }
    emit_end_for(e, &l, n_sums + n_loaded, carried);
    if (n_loaded) multiply(m, of, carried);
    for (uint32_t k = 0; k < n_sums; k++) sums[k] = carried[k];
}

/* All products, whose operands each lane has from memory. */
static void add_products(const EmitProduct *m, IrRef *sums)
{
    const PlanProduct *p = m->p;
    const int64_t whole = plan_depth(p) / m->depth / p->depth_warps;
    IrRef *last = WBB_NEW_N(m->a, IrRef, fragments(p));
    if (whole) iterate(m, whole, sums);
    if (plan_depth(p) % m->depth == 0) return;
    load(m, ir_index(m->g, whole * m->depth), last);
    multiply(m, last, sums);
}

enum { EACH = 4, OF_TILE = 32 * EACH /* elements of a lane, of a tile */ };
static const IrType four = IR_TYPE(SC_F32, 2);

/* Elements of all tiles of the warps that have results. */
static int64_t of_block(const PlanProduct *p) { return (int64_t)plan_tile_warps(p) * plan_sums(p) * OF_TILE; }

/* Where the thread has tile 0 of its warp, so that lanes have neighbours; first: of one of the first warps. */
static IrRef own_sums(const EmitProduct *m, bool first)
{
    IrRef warp = rw_floordiv(m->rw, m->tid, 32);
    if (first) warp = rw_mod(m->rw, warp, plan_tile_warps(m->p));
    return rw_add(m->rw, rw_scale(m->rw, warp, (int64_t)plan_sums(m->p) * OF_TILE),
                  rw_scale(m->rw, rw_mod(m->rw, m->tid, 32), EACH));
}

static IrRef read_sum(const EmitProduct *m, uint32_t buffer, IrRef at)
{
    const IrRef read = ir_node(m->g, OP_READ, four, 0, 0, 0, 0, 0);
    const IrRef x = ir_do_at(m->g, emit_block(m->e), emit_name(m->e, "m"), read, four, buffer, at);
    emit_bound(m->e, x);
    return x;
}

/* Opens the `if` of the warps that have results. */
static EmitIf if_first(const EmitProduct *m)
{
    const IrRef firsts = ir_index(m->g, 32 * (int64_t)plan_tile_warps(m->p));
    return emit_if(m->e, m->p->depth_warps > 1 ? rw_compare(m->rw, OP_LT, m->tid, firsts) : 0);
}

/* Adds the sums of warps that share results, in their order; opens the `if` of the first one, which has them. */
static EmitIf add_warps(const EmitProduct *m, IrRef *sums)
{
    EmitValues *e = m->e;
    const uint32_t n = plan_sums(m->p);
    const int64_t all = of_block(m->p); /* of the warps that have a part of an iteration */
    const uint32_t shared = emit_add_buffer(e, "sums", IR_SHARED, SC_F32, (m->p->depth_warps - 1) * all, false);
    const IrRef firsts = ir_index(m->g, 32 * (int64_t)plan_tile_warps(m->p)), own = own_sums(m, true);
    EmitIf others = emit_if(e, rw_compare(m->rw, OP_GE, m->tid, firsts));
    for (uint32_t k = 0; k < n; k++)
        emit_store(e, shared, plus(m, own_sums(m, false), (int64_t)k * OF_TILE - all), sums[k]);
    emit_close_if(m->e, &others);
    emit_barrier(e);
    EmitIf c = if_first(m);
    for (uint32_t w = 0; w + 1 < m->p->depth_warps; w++)
        for (uint32_t k = 0; k < n; k++) {
            const IrRef more = read_sum(m, shared, plus(m, own, k * OF_TILE + w * all));
            sums[k] = ir_node(m->g, OP_ADD, four, 0, sums[k], more, 0, 0);
        }
    return c;
}

/* --- blocks that share results ------------------------------------------------------------------------------------ */
/* The buffers through which they do. */
typedef struct {
    uint32_t parts;
    EmitTickets tickets;
} Shared;

static Shared add_buffers(const EmitProduct *m)
{
    const PlanProduct *p = m->p;
    Shared s = {0};
    if (p->depth_blocks == 1) return s;
    const int64_t blocks = plan_blocks(p);
    s.parts = emit_add_buffer(m->e, "part", IR_TEMP, SC_F32, blocks * of_block(p), false);
    s.tickets = emit_add_tickets(m->e, blocks / p->depth_blocks);
    return s;
}

/* Where part number n of the thread's sums is. */
static IrRef part_at(const EmitProduct *m, IrRef n)
{
    const IrRef block = rw_add(m->rw, rw_scale(m->rw, m->result, m->p->depth_blocks), n);
    return rw_add(m->rw, rw_scale(m->rw, block, of_block(m->p)), own_sums(m, true));
}

/* Leaves the sums of the block, and opens the `if` of the block that is the last to do so. */
static EmitIf leave_sums(const EmitProduct *m, const Shared *s, EmitIf *firsts, const IrRef *sums)
{
    const IrRef own = part_at(m, m->part);
    for (uint32_t k = 0; k < plan_sums(m->p); k++) emit_store(m->e, s->parts, plus(m, own, k * OF_TILE), sums[k]);
    emit_close_if(m->e, firsts);
    return emit_if(m->e, emit_is_last(m->e, &s->tickets, m->tid, m->result, m->p->depth_blocks));
}

/* The sums of all blocks in the order of their parts. */
static void add_blocks(const EmitProduct *m, const Shared *s, IrRef *sums)
{
    const uint32_t n = plan_sums(m->p), blocks = m->p->depth_blocks;
    const uint32_t at_once = WBB_MIN(WBB_MAX(PLAN_AT_ONCE / n, 1), blocks);
    IrRef var;
    for (uint32_t k = 0; k < n; k++) sums[k] = ir_const(m->g, four, 0);
    const EmitLoop l = emit_for(m->e, "q", blocks / at_once, n, sums, &var);
    for (uint32_t q = 0; q < at_once; q++) {
        const IrRef at = part_at(m, plus(m, rw_scale(m->rw, var, at_once), q));
        for (uint32_t k = 0; k < n; k++) {
            const IrRef more = read_sum(m, s->parts, plus(m, at, k * OF_TILE));
            sums[k] = !l.s && !q ? more : ir_node(m->g, OP_ADD, four, 0, sums[k], more, 0, 0);
        }
    }
    emit_end_for(m->e, &l, n, sums);
}

/* The element of output number o of the stage at a result, which is a lane of a sum. */
void emit_product_store(const EmitProduct *m, uint32_t o, IrRef row, IrRef column, IrRef sum, uint32_t lane)
{
    const PlanProduct *p = m->p;
    const PlanStage *s = m->range->stages;
    const PlanValue root = m->e->plan->roots[s->outputs[o]];
    const IrRef part = ir_node(m->g, OP_PART, IR_TYPE(SC_F32, 0), 0, sum, 0, 0, lane);
    IrRef *at = emit_product_result(m, row, column), *to = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    emit_give(m->e, (PlanValue){p->i, 0}, at, emit_as(m->e, part, p->i->shape->type));
    plan_path_index(m->rw, m->a, &s->paths[o], at, to);
    const IrRef value = emit_value(m->e, root, to);
    emit_store(m->e, m->e->plan->n_operands + s->outputs[o], ix_linear(m->rw, plan_shape(root.i, root.part), to),
               value);
}

/* Each output at the results of a row of the lane. */
static void store_row(const EmitProduct *m, const EmitProductRows *rows, uint32_t r, const IrRef *sums)
{
    const PlanProduct *p = m->p;
    const PlanStage *s = m->range->stages;
    const uint32_t n = 2 * p->column_tiles;
    const IrRef row = emit_product_row(m, r), all = ir_index(m->g, p->of.columns);
    const bool whole = p->of.columns % plan_warp_columns(p) == 0; /* then the warp has all of its columns, or none */
    EmitIf in_row = emit_if(m->e, rw_compare(m->rw, OP_LT, row, ir_index(m->g, p->of.rows)));
    EmitIf in_all = emit_if(m->e, whole ? rw_compare(m->rw, OP_LT, m->column, all) : 0);
    if (p->rows) emit_rows_give_known(&rows->of, r, row);
    for (uint32_t o = 0; o < s->n_outputs && !emit_never(&in_row) && !emit_never(&in_all); o++)
        for (uint32_t c = 0; c < n && !s->paths[o].kept; c++) {
            const EmitResult x = emit_product_at(m, r, c);
            EmitIf inside = emit_if(m->e, whole ? 0 : rw_compare(m->rw, OP_LT, x.column, all));
            if (!emit_never(&inside)) emit_product_store(m, o, row, x.column, sums[x.sum], x.lane);
            emit_close_if(m->e, &inside);
        }
    emit_close_if(m->e, &in_all);
    emit_close_if(m->e, &in_row);
}

static void find_lane(EmitProduct *m, IrRef block, IrRef tid)
{
    const PlanProduct *p = m->p;
    const uint32_t warps = plan_tile_warps(p);
    const IrRef bid = rw_floordiv(m->rw, block, p->depth_blocks);
    const IrRef lane = rw_mod(m->rw, tid, 32), warp = rw_mod(m->rw, rw_floordiv(m->rw, tid, 32), warps);
    const IrRef group = rw_floordiv(m->rw, lane, 4), column_block = rw_mod(m->rw, bid, p->column_blocks);
    const IrRef others = rw_floordiv(m->rw, bid, p->column_blocks);
    const IrRef row_warp = rw_floordiv(m->rw, warp, p->column_warps),
                column_warp = rw_mod(m->rw, warp, p->column_warps), row_block = rw_mod(m->rw, others, p->row_blocks);
    const IrRef first_row = rw_add(m->rw, rw_scale(m->rw, row_block, p->row_warps), row_warp);
    const IrRef first_column = rw_add(m->rw, rw_scale(m->rw, column_block, p->column_warps), column_warp);
    const IrRef of_warp = rw_scale(m->rw, first_column, plan_warp_columns(p));
    m->tid = tid, m->lane = lane;
    m->part = rw_mod(m->rw, block, p->depth_blocks), m->result = bid;
    m->start = rw_scale(m->rw, m->part, plan_depth(p));
    m->pair = rw_mod(m->rw, lane, 4);
    m->depth_warp = rw_floordiv(m->rw, tid, 32 * (int64_t)warps);
    m->batch = rw_floordiv(m->rw, others, p->row_blocks);
    m->row = rw_add(m->rw, rw_scale(m->rw, first_row, plan_warp_rows(p)),
                    rw_scale(m->rw, group, p->stages ? 1 : m->rows));
    m->column = of_warp;
    m->first[0] = rw_scale(m->rw, row_block, plan_side(p, 0));
    m->first[1] = rw_scale(m->rw, column_block, plan_side(p, 1));
    m->of_warp[0] = rw_scale(m->rw, row_warp, plan_warp_rows(p));
    m->of_warp[1] = rw_scale(m->rw, column_warp, plan_warp_columns(p));
    m->group[0] = rw_add(m->rw, rw_scale(m->rw, rw_mod(m->rw, group, 2), 4), rw_floordiv(m->rw, group, 2));
    m->group[1] = m->pair, m->group[2] = plus(m, m->pair, 4);
    if (plan_in_a_row(p)) m->group[1] = rw_scale(m->rw, m->pair, 2), m->group[2] = plus(m, m->group[1], 1);
}

void emit_product(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid)
{
    const PlanProduct *p = range->product;
    const uint32_t origin = e->g->making_origin, n = plan_sums(p);
    EmitProduct m = {.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .p = p, .range = range,
                 .rows = 2 * p->row_tiles,
                     .depth = (uint32_t)(p->stages ? plan_tile_depth(p) : plan_iteration(p))};
    e->g->making_origin = p->i->id + 1;
    find_lane(&m, bid, tid);
    Shared between = add_buffers(&m); /* what is in memory comes before what is shared */
    EmitProductRows rows;
    emit_product_rows_in_memory(&rows, &m);
    if (p->depth_blocks > 1 || plan_shares_rows(p)) between.tickets.last = emit_add_last(e);
    emit_product_rows_shared(&rows, between.tickets.last);
    IrRef *sums = WBB_NEW_N(e->arena, IrRef, n);
    for (uint32_t k = 0; k < n; k++) sums[k] = ir_const(e->g, IR_TYPE(SC_F32, 2), 0);
    if (p->stages) emit_product_tiles(&m, sums);
    else add_products(&m, sums);
    EmitIf c = {.known = true}, last = {.known = true};
    if (p->depth_warps > 1) c = add_warps(&m, sums);
    if (p->depth_blocks > 1) {
        last = leave_sums(&m, &between, &c, sums);
        c = if_first(&m);
        add_blocks(&m, &between, sums);
    }
    if (p->rows) e->reduced = range->reduced, e->inlines = true, emit_product_rows(&rows, sums);
    for (uint32_t r = 0; r < m.rows; r++) store_row(&m, &rows, r, sums);
    if (p->rows) emit_product_rows_store(&rows);
    e->reduced = NULL, e->inlines = false;
    emit_close_if(e, &c);
    if (p->depth_blocks > 1) emit_close_if(e, &last);
    e->g->making_origin = origin;
}
