/* product_values.c: the elements that a product of matrices takes, and its products.
 *
 * Needs rows, columns and products by their numbers; leaves the index of an operand, or of the result, and the element
 * there, computed as any value is, so that what comes before the dot is part of it.
 *
 *     row 5, product 70 of lhs_contracting_dims={0}    =>    load %a[1024*70 + 5]
 */
#include "emit/product.h"

IrRef emit_product_plus(const EmitProduct *m, IrRef x, int64_t n) { return rw_add(m->rw, x, ir_index(m->g, n)); }

IrRef emit_product_row(const EmitProduct *m, uint32_t r)
{
    const bool apart = m->p->stages != 0;
    return emit_product_plus(m, m->row, apart ? r / 2 * PLAN_TILE_ROWS + r % 2 * PLAN_TILE_ROWS / 2 : r);
}

IrRef emit_product_column(const EmitProduct *m, uint32_t n, IrRef group)
{
    const uint32_t run = plan_in_a_row(m->p) ? 1 : m->p->column_run;
    const IrRef first = emit_product_plus(m, m->column, n / run * PLAN_TILE_COLUMNS * run + n % run);
    return rw_add(m->rw, first, rw_scale(m->rw, group, run));
}

EmitResult emit_product_at(const EmitProduct *m, uint32_t r, uint32_t c)
{
    const PlanProduct *p = m->p;
    const bool row = plan_in_a_row(p);
    const uint32_t tile = row ? c / 2 : c % p->column_tiles, half = row ? c % 2 : c / p->column_tiles;
    return (EmitResult){.column = emit_product_column(m, tile, m->group[1 + half]),
                        .sum = r / 2 * p->column_tiles + tile, .lane = r % 2 * 2 + half};
}

IrRef *emit_product_result(const EmitProduct *m, IrRef row, IrRef column)
{
    IrRef *at = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    plan_product_result(m->rw, m->p, m->batch, m->turned ? column : row, m->turned ? row : column, at);
    return at;
}

IrRef *emit_product_index(const EmitProduct *m, uint32_t operand, IrRef free, IrRef k)
{
    const HloShape *x = m->p->i->operands[operand]->shape;
    IrRef *index = WBB_NEW_N(m->a, IrRef, HLO_RANK_LIMIT);
    plan_product_index(m->rw, m->a, m->p, operand, m->batch, free, k, index);
    for (uint32_t d = 0; d < x->rank; d++) index[d] = emit_let(m->e, "d", index[d], 0, x->dims[d] - 1);
    return index;
}

IrRef emit_product_element(const EmitProduct *m, uint32_t operand, IrRef free, IrRef k)
{
    const PlanProduct *p = m->p;
    const HloInstruction *x = p->i->operands[operand];
    const IrType t = IR_TYPE(x->shape->type, 0);
    const IrRef below = rw_compare(m->rw, OP_LT, k, ir_index(m->g, p->of.depth));
    if (ir_is_const(m->g, below) && !ir_at(m->g, below)->imm) return ir_const(m->g, t, 0);
    free = emit_nearest(m->e, free, operand ? p->of.columns : p->of.rows);
    const IrRef *index = emit_product_index(m, operand, free, emit_nearest(m->e, k, p->of.depth));
    const IrRef value = emit_as(m->e, emit_value(m->e, (PlanValue){x, 0}, index), x->shape->type);
    return emit_either(m->e, below, value, ir_const(m->g, t, 0));
}

IrRef emit_product_half(const EmitProduct *m, IrRef two, uint32_t k)
{
    const ScType type = m->p->i->operands[0]->shape->type;
    return ir_node(m->g, OP_PART, IR_TYPE(type, 2), 0, two, 0, 0, k * PLAN_GROUP / 2);
}

void emit_product_copies(const EmitProduct *m, ScOp op, uint64_t left)
{
    ir_do(m->g, emit_block(m->e), NULL, ir_node(m->g, op, 0, 0, 0, 0, 0, left), 0);
}

void emit_product_step(const EmitProduct *m, const IrRef *of, IrRef *sums)
{
    const PlanProduct *p = m->p;
    const IrType t = IR_TYPE(SC_F32, 2);
    for (uint32_t n = 0; n < plan_sums(p); n++) {
        const IrRef left = of[n / p->column_tiles], right = of[p->row_tiles + n % p->column_tiles];
        sums[n] = ir_do(m->g, emit_block(m->e), emit_name(m->e, "c"),
                        ir_node(m->g, OP_MMA, t, 0, left, right, sums[n], 0), t);
        emit_bound(m->e, sums[n]);
    }
}
