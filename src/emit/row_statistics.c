/* row_statistics.c: terms of statistics of a product's rows, from the results that a lane has.
 *
 * Needs results of tensor cores, and the chains that lead to them (plan/row_statistics.c); leaves f32. A value that
 * follows from a result is computed as any value at an index is (emit_value), the result itself being given, so that
 * all is rounded that the text rounds.
 *
 *     give d at [row, column]    fold emit_value(d * d) over the lane's columns    two shuffles
 */
#include "emit/row_statistics.h"

#include <string.h>

static const IrType f32 = IR_TYPE(SC_F32, 0);

IrRef emit_rows_node(const EmitRows *t, ScOp op, IrRef x, IrRef y) { return ir_node(t->g, op, f32, 0, x, y, 0, 0); }

IrRef emit_rows_nearest(const EmitRows *t, IrRef column) { return emit_nearest(t->e, column, t->columns); }

IrRef emit_rows_if_column(const EmitRows *t, IrRef column, IrRef value, IrRef other)
{
    const IrRef below = rw_compare(t->rw, OP_LT, column, ir_index(t->g, t->columns));
    return emit_either(t->e, below, value, other);
}

IrRef *emit_rows_weight(const EmitRows *t, IrRef row, IrRef column)
{
    IrRef *at = WBB_NEW_N(t->a, IrRef, HLO_RANK_LIMIT);
    plan_product_index(t->rw, t->a, t->results->p, t->weights, t->results->batch, row, column, at);
    return at;
}

IrRef *emit_rows_index(const EmitRows *t, const PlanChain *c, IrRef row, IrRef column)
{
    const PlanStage *s = t->results->range->stages;
    IrRef *at = WBB_NEW_N(t->a, IrRef, HLO_RANK_LIMIT), *from = at;
    if (c->output < 0) {
        from = emit_rows_weight(t, row, column);
    } else {
        const PlanPath *path = &s->paths[c->output];
        IrRef *result = emit_product_result(t->results, row, t->scores == t->results ? column : 0);
        if (path->kept) plan_product_row(t->results->p, result, result);
        plan_path_index(t->rw, t->a, path, result, from);
    }
    IrRef *to = WBB_NEW_N(t->a, IrRef, HLO_RANK_LIMIT);
    plan_chain_index(t->rw, t->a, c, from, column, to);
    return to;
}

/* --- what is known ------------------------------------------------------------------------------------------------ */
void emit_rows_give(const EmitRows *t, uint32_t r, IrRef column, IrRef sum, uint32_t lane)
{
    const HloInstruction *i = t->scores->p->i;
    const IrRef part = ir_node(t->g, OP_PART, f32, 0, sum, 0, 0, lane);
    const IrRef *at = emit_rows_index(t, &t->of->way, t->near[r], emit_rows_nearest(t, column));
    emit_give(t->e, (PlanValue){i, 0}, at, emit_as(t->e, part, i->shape->type));
}

void emit_rows_give_one(const EmitRows *t, const PlanStatistic *s, IrRef row, IrRef x)
{
    const IrRef *at = emit_rows_index(t, &s->way, row, ir_index(t->g, 0));
    emit_give(t->e, (PlanValue){s->i, 0}, at, emit_as(t->e, x, s->i->shape->type));
}

void emit_rows_give_known(const EmitRows *t, uint32_t r, IrRef row)
{
    for (uint32_t s = 0; s < t->of->n; s++)
        if (t->result[s]) emit_rows_give_one(t, &t->of->all[s], row, t->result[s][r]);
}

/* --- terms -------------------------------------------------------------------------------------------------------- */
IrRef emit_rows_identity(const EmitRows *t, const PlanStatistic *s)
{
    IrRef x = 0;
    const bool known = emit_find_identity(t->e, s->op, SC_F32, &x);
    assert(known);
    return x;
}

/* The term of a statistic at a row and column, in f32; where the column is none, what changes nothing. */
static IrRef term_of(const EmitRows *t, const PlanStatistic *s, uint32_t r, IrRef column)
{
    const HloInstruction *x = s->i->operands[0];
    PlanChain way = s->way;
    way.path = WBB_NEW_N(t->a, const HloInstruction *, way.n + 1u);
    memcpy(way.path, s->way.path, way.n * sizeof *way.path);
    way.path[way.n++] = x;
    const IrRef *at = emit_rows_index(t, &way, t->near[r], emit_rows_nearest(t, column));
    const IrRef value = emit_as(t->e, emit_value(t->e, (PlanValue){x, 0}, at), SC_F32);
    return emit_rows_if_column(t, column, value, emit_rows_identity(t, s));
}

IrRef emit_rows_terms(const EmitRows *t, const PlanStatistic *s, uint32_t r, const IrRef *columns, uint32_t n)
{
    IrRef *x = WBB_NEW_N(t->a, IrRef, n);
    for (uint32_t c = 0; c < n; c++) x[c] = term_of(t, s, r, columns[c]);
    for (; n > 1; n = (n + 1) / 2) {
        for (uint32_t k = 0; k < n / 2; k++) x[k] = emit_rows_node(t, s->op, x[2 * k], x[2 * k + 1]);
        if (n % 2) x[n / 2] = x[n - 1];
    }
    return x[0];
}

/* Of the lane that differs in bit `by` of its number. */
static IrRef shuffled(const EmitRows *t, IrRef x, uint32_t by)
{
    const IrType u32 = IR_TYPE(SC_U32, 0);
    const IrRef word = ir_node(t->g, OP_BITS, u32, 0, x, 0, 0, 0);
    const IrRef op = ir_node(t->g, OP_SHUFFLE_XOR, u32, 0, word, ir_const(t->g, u32, by), 0, 0);
    const IrRef other = ir_do(t->g, emit_block(t->e), emit_name(t->e, "s"), op, u32);
    emit_bound(t->e, other);
    return ir_node(t->g, OP_BITS, f32, 0, other, 0, 0, 0);
}

IrRef emit_rows_of_lanes(const EmitRows *t, ScOp op, IrRef x)
{
    for (uint32_t by = 1; by < 4; by *= 2) x = emit_rows_node(t, op, x, shuffled(t, x, by));
    return x;
}

IrRef emit_rows_result(const EmitRows *t, const PlanStatistic *s, IrRef x)
{
    const IrRef initial = emit_as(t->e, emit_value(t->e, (PlanValue){s->i->operands[1], 0}, NULL), SC_F32);
    x = emit_rows_node(t, s->op, initial, x);
    return emit_as(t->e, emit_as(t->e, x, s->i->shape->type), SC_F32);
}
