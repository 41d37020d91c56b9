/* product_rows.c: statistics of rows of a product's results.
 *
 * Needs the sums of a product's lanes, after all products; leaves each reduction of rows given, in the lanes that have
 * the row, or its parts in memory. A lane combines the terms of its columns, four lanes of a row theirs, and warps that
 * have columns of the same row theirs through shared memory, in their order. Where several blocks have a row, each
 * leaves its part in memory; the last one combines all: lane t of the row's four has blocks t, t + 4, .. in their
 * order. row_order.c has this order as text.
 *
 *     fold of the terms    do shuffle_xor(1)    do store %rows[..]   do barrier()   do read %rows[..]
 */
#include "emit/product_rows.h"

static const IrType f32 = IR_TYPE(SC_F32, 0);

enum { LANES = 4, GROUPS = 8 /* of a row; rows of a warp that different lanes have */ };

static IrRef plus(const EmitProduct *m, IrRef x, int64_t n) { return emit_product_plus(m, x, n); }

void emit_product_rows_in_memory(EmitProductRows *t, const EmitProduct *m)
{
    const PlanProduct *p = m->p;
    *t = (EmitProductRows){.m = m};
    if (!plan_shares_rows(p)) return;
    const int64_t groups = p->of.batches * p->row_blocks;
    t->parts = emit_add_buffer(m->e, "rows", IR_TEMP, SC_F32, groups * p->rows->n * p->column_blocks * plan_side(p, 0),
                               false);
    t->tickets = emit_add_tickets(m->e, groups);
}

void emit_product_rows_shared(EmitProductRows *t, uint32_t last)
{
    const PlanProduct *p = t->m->p;
    t->tickets.last = last;
    if (!p->rows || p->column_warps == 1) return;
    t->shared = emit_add_buffer(t->m->e, "rows", IR_SHARED, SC_F32, p->rows->n * p->column_warps * plan_side(p, 0),
                                false);
}

/* --- where things are --------------------------------------------------------------------------------------------- */
static IrRef warp_of(const EmitProduct *m)
{
    return rw_mod(m->rw, rw_floordiv(m->rw, m->tid, 32), plan_tile_warps(m->p));
}

/* The place of row number r of the lane, of the block's. */
static IrRef row_place(const EmitProduct *m, uint32_t r)
{
    const IrRef warp = rw_floordiv(m->rw, warp_of(m), m->p->column_warps);
    const IrRef group = rw_add(m->rw, rw_scale(m->rw, warp, GROUPS), rw_floordiv(m->rw, m->lane, LANES));
    return plus(m, rw_scale(m->rw, group, m->rows), r);
}

/* Of statistic number s, in part number n of so many: where row number r of the lane is. */
static IrRef part_place(const EmitProductRows *t, uint32_t s, IrRef n, int64_t parts, uint32_t r)
{
    const int64_t rows = plan_side(t->m->p, 0);
    return plus(t->m, rw_add(t->m->rw, rw_scale(t->m->rw, n, rows), row_place(t->m, r)), s * parts * rows);
}

static IrRef column_warp(const EmitProduct *m) { return rw_mod(m->rw, warp_of(m), m->p->column_warps); }

/* Opens the `if` of one lane of each row, of one warp. */
static EmitIf if_owner(const EmitProduct *m, bool one_warp)
{
    const IrRef zero = ir_index(m->g, 0), lane = rw_compare(m->rw, OP_EQ, m->pair, zero);
    if (!one_warp || m->p->column_warps == 1) return emit_if(m->e, lane);
    const IrRef warp = rw_compare(m->rw, OP_EQ, column_warp(m), zero);
    return emit_if(m->e, ir_node(m->g, OP_BAND, IR_TYPE(SC_PRED, 0), 0, lane, warp, 0, 0));
}

static IrRef read(const EmitProduct *m, uint32_t buffer, IrRef at)
{
    const IrRef x = ir_do_at(m->g, emit_block(m->e), emit_name(m->e, "p"), ir_node(m->g, OP_READ, f32, 0, 0, 0, 0, 0),
                             f32, buffer, at);
    emit_bound(m->e, x);
    return x;
}

/* --- combining ---------------------------------------------------------------------------------------------------- */
/* What warps have of the same rows, in their order. */
static void of_warps(const EmitProductRows *t, uint32_t pass, IrRef **acc)
{
    const EmitProduct *m = t->m;
    const PlanStatistics *of = m->p->rows;
    const uint32_t warps = m->p->column_warps;
    if (warps == 1) return;
    EmitIf owner = if_owner(m, false);
    for (uint32_t s = 0; s < of->n; s++)
        for (uint32_t r = 0; r < m->rows && of->all[s].pass == pass; r++)
            emit_store(m->e, t->shared, part_place(t, s, column_warp(m), warps, r), acc[s][r]);
    emit_close_if(m->e, &owner);
    emit_barrier(m->e);
    for (uint32_t s = 0; s < of->n; s++)
        for (uint32_t r = 0; r < m->rows && of->all[s].pass == pass; r++)
            for (uint32_t w = 0; w < warps; w++) {
                const IrRef x = read(m, t->shared, part_place(t, s, ir_index(m->g, w), warps, r));
                acc[s][r] = w ? emit_rows_node(&t->of, of->all[s].op, acc[s][r], x) : x;
            }
}

static void finish(EmitProductRows *t, uint32_t pass, IrRef **acc)
{
    const PlanStatistics *of = t->m->p->rows;
    for (uint32_t s = 0; s < of->n; s++) {
        if (of->all[s].pass != pass) continue;
        t->of.result[s] = acc[s];
        for (uint32_t r = 0; r < t->m->rows; r++) {
            acc[s][r] = emit_rows_result(&t->of, &of->all[s], acc[s][r]);
            emit_rows_give_one(&t->of, &of->all[s], t->of.near[r], acc[s][r]);
        }
    }
}

static IrRef **accumulators(const EmitProduct *m)
{
    IrRef **acc = WBB_NEW_N(m->a, IrRef *, m->p->rows->n + 1u);
    for (uint32_t s = 0; s < m->p->rows->n; s++) acc[s] = WBB_NEW_N(m->a, IrRef, m->rows);
    return acc;
}

void emit_product_rows(EmitProductRows *t, const IrRef *sums)
{
    const EmitProduct *m = t->m;
    const PlanStatistics *of = m->p->rows;
    const uint32_t n = 2 * m->p->column_tiles;
    IrRef *near = WBB_NEW_N(m->a, IrRef, m->rows), *columns = WBB_NEW_N(m->a, IrRef, n);
    for (uint32_t r = 0; r < m->rows; r++) near[r] = emit_nearest(m->e, emit_product_row(m, r), m->p->of.rows);
    t->of = (EmitRows){.e = m->e, .rw = m->rw, .g = m->g, .a = m->a, .of = of, .scores = m, .results = m,
                       .columns = m->p->of.columns, .rows = m->rows, .near = near,
                       .result = WBB_NEW_N(m->a, IrRef *, of->n + 1u)};
    for (uint32_t r = 0; r < m->rows; r++)
        for (uint32_t c = 0; c < n; c++) {
            const EmitResult x = emit_product_at(m, r, c);
            columns[c] = x.column;
            emit_rows_give(&t->of, r, x.column, sums[x.sum], x.lane);
        }
    IrRef **acc = accumulators(m);
    for (uint32_t pass = 0; pass < of->passes; pass++) {
        for (uint32_t s = 0; s < of->n; s++)
            for (uint32_t r = 0; r < m->rows && of->all[s].pass == pass; r++) {
                acc[s][r] = emit_rows_terms(&t->of, &of->all[s], r, columns, n);
                acc[s][r] = emit_rows_of_lanes(&t->of, of->all[s].op, acc[s][r]);
            }
        of_warps(t, pass, acc);
        if (!plan_shares_rows(m->p)) finish(t, pass, acc);
    }
    t->acc = acc;
}

/* --- blocks that share rows --------------------------------------------------------------------------------------- */
/* Number of part n of a row's. */
static IrRef block_part(const EmitProduct *m, IrRef n)
{
    const IrRef rows = rw_floordiv(m->rw, m->result, m->p->column_blocks);
    return rw_add(m->rw, rw_scale(m->rw, rows, m->p->rows->n * m->p->column_blocks), n);
}

/* What all blocks of a row have: a lane has each fourth of their parts, then the four lanes combine theirs. */
static void of_blocks(EmitProductRows *t)
{
    const EmitProduct *m = t->m;
    const PlanStatistics *of = m->p->rows;
    const int64_t blocks = m->p->column_blocks;
    const uint32_t n = of->n * m->rows;
    IrRef *all = WBB_NEW_N(m->a, IrRef, n), var;
    for (uint32_t k = 0; k < n; k++) all[k] = emit_rows_identity(&t->of, &of->all[k / m->rows]);
    const EmitLoop l = emit_for(m->e, "q", lay_up(blocks, LANES), n, all, &var);
    const IrRef number = rw_add(m->rw, rw_scale(m->rw, var, LANES), m->pair);
    const IrRef part = block_part(m, emit_nearest(m->e, number, blocks));
    const IrRef exists = rw_compare(m->rw, OP_LT, number, ir_index(m->g, blocks));
    for (uint32_t k = 0; k < n; k++) {
        const PlanStatistic *s = &of->all[k / m->rows];
        const IrRef x = read(m, t->parts, part_place(t, k / m->rows, part, blocks, k % m->rows));
        all[k] = emit_rows_node(&t->of, s->op, all[k], emit_either(m->e, exists, x, emit_rows_identity(&t->of, s)));
    }
    emit_end_for(m->e, &l, n, all);
    for (uint32_t k = 0; k < n; k++)
        t->acc[k / m->rows][k % m->rows] = emit_rows_of_lanes(&t->of, of->all[k / m->rows].op, all[k]);
    finish(t, 0, t->acc);
}

/* Outputs that have an element for each row. */
static void store_rows(const EmitProductRows *t)
{
    const EmitProduct *m = t->m;
    const PlanStage *s = m->range->stages;
    const IrRef rows = ir_index(m->g, m->p->of.rows);
    EmitIf owner = if_owner(m, true);
    for (uint32_t r = 0; r < m->rows; r++) {
        const IrRef row = emit_product_row(m, r);
        EmitIf inside = emit_if(m->e, rw_compare(m->rw, OP_LT, row, rows));
        emit_rows_give_known(&t->of, r, row);
        for (uint32_t o = 0; o < s->n_outputs && !emit_never(&inside); o++) {
            const PlanValue root = m->e->plan->roots[s->outputs[o]];
            IrRef at[HLO_RANK_LIMIT], *to = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
            if (!s->paths[o].kept) continue;
            plan_product_row(m->p, emit_product_result(m, row, 0), at);
            plan_path_index(m->rw, m->a, &s->paths[o], at, to);
            emit_store(m->e, m->e->plan->n_operands + s->outputs[o],
                       ix_linear(m->rw, plan_shape(root.i, root.part), to), emit_value(m->e, root, to));
        }
        emit_close_if(m->e, &inside);
    }
    emit_close_if(m->e, &owner);
}

void emit_product_rows_store(EmitProductRows *t)
{
    const EmitProduct *m = t->m;
    const PlanStatistics *of = m->p->rows;
    EmitIf last = {.known = true};
    if (plan_shares_rows(m->p)) {
        const int64_t blocks = m->p->column_blocks;
        const IrRef own = block_part(m, rw_mod(m->rw, m->result, blocks));
        EmitIf owner = if_owner(m, true);
        for (uint32_t s = 0; s < of->n; s++)
            for (uint32_t r = 0; r < m->rows; r++)
                emit_store(m->e, t->parts, part_place(t, s, own, blocks, r), t->acc[s][r]);
        emit_close_if(m->e, &owner);
        const IrRef rows = rw_floordiv(m->rw, m->result, blocks);
        last = emit_if(m->e, emit_is_last(m->e, &t->tickets, m->tid, rows, blocks));
        if (!emit_never(&last)) of_blocks(t);
    }
    store_rows(t);
    emit_close_if(m->e, &last);
}
