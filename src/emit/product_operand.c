/* product_operand.c: an operand of a product of matrices in shared memory: tiles that a block brings, and fragments
 * that its warps take from there.
 *
 * Needs what a tile has (plan/product.h), and where it begins; leaves asynchronous copies of 16 bytes, or stores
 * of values, and statements that read matrices of 8 x 8 by the address of each of their rows.
 *
 *     do copy_async(%left[..], %a[..])    x = do read_matrix.bf16x8(%left[..])
 */
#include "emit/product.h"

/* A group of elements of a line of a tile. */
typedef struct {
    IrRef line, group;
} Place;

static IrRef add(const EmitOperand *t, IrRef x, IrRef y) { return rw_add(t->m->rw, x, y); }
static IrRef plus(const EmitOperand *t, IrRef x, int64_t n) { return emit_product_plus(t->m, x, n); }
static IrRef times(const EmitOperand *t, IrRef x, int64_t n) { return rw_scale(t->m->rw, x, n); }
static IrRef over(const EmitOperand *t, IrRef x, int64_t n) { return rw_floordiv(t->m->rw, x, n); }
static IrRef modulo(const EmitOperand *t, IrRef x, int64_t n) { return rw_mod(t->m->rw, x, n); }
static IrType eight(const EmitOperand *t) { return IR_TYPE(t->type, 3); }
static int64_t line_of(const EmitOperand *t) { return t->bring.side ? t->side : t->depth; }
static int64_t tile_of(const EmitOperand *t) { return t->side * t->depth; }

void emit_operand_begin(EmitOperand *t, const char *name)
{
    t->type = t->m->p->i->operands[0]->shape->type;
    t->buffer = emit_add_buffer(t->m->e, name, IR_SHARED, t->type, t->stages * tile_of(t), false);
}

/* The element of the buffer at which a group lies, in a stage. */
static IrRef element_of(const EmitOperand *t, IrRef stage, Place at)
{
    const int64_t line = line_of(t);
    const IrRef turned = add(t, at.group, over(t, at.line, plan_line_skew(line)));
    const IrRef group = modulo(t, turned, line / PLAN_GROUP);
    const IrRef inside = add(t, times(t, at.line, line), times(t, group, PLAN_GROUP));
    return add(t, times(t, stage, tile_of(t)), inside);
}

/* --- bringing ----------------------------------------------------------------------------------------------------- */
/* The column of the block that is line number `line`: product.h. */
static IrRef column_of_line(const EmitOperand *t, IrRef line)
{
    const uint32_t run = t->run, of_run = PLAN_TILE_COLUMNS * run;
    const IrRef tile = over(t, modulo(t, line, of_run), PLAN_TILE_COLUMNS), g = modulo(t, line, PLAN_TILE_COLUMNS);
    const IrRef number = add(t, times(t, modulo(t, g, 2), 4), over(t, g, 2));
    return add(t, times(t, over(t, line, of_run), of_run), add(t, times(t, number, run), tile));
}

/* The row or column, and the product, of element j of a group. */
static EmitCorner position_of(const EmitOperand *t, Place at, EmitCorner first, uint32_t j)
{
    const bool side = t->bring.side;
    const IrRef along = plus(t, times(t, at.group, PLAN_GROUP), j);
    const IrRef line = !side && t->run ? column_of_line(t, at.line) : at.line;
    return (EmitCorner){add(t, first.free, side ? along : line), add(t, first.k, side ? line : along)};
}

static void copy_group(const EmitOperand *t, IrRef stage, Place at, EmitCorner first)
{
    const EmitProduct *m = t->m;
    const int64_t size = t->operand ? m->p->of.columns : m->p->of.rows;
    const EmitCorner of = position_of(t, at, first, 0);
    const int64_t unit = t->bring.side ? PLAN_GROUP : 1; /* whole groups are beyond the end */
    const IrRef free = times(t, emit_nearest(m->e, over(t, of.free, unit), size / unit), unit);
    IrRef *index = emit_product_index(m, t->operand, free, of.k);
    const HloInstruction *x = plan_source(m->rw, m->a, m->p->i->operands[t->operand], index);
    const IrRef op = ir_node(m->g, OP_COPY_ASYNC, eight(t), 0, 0, 0, 0, 0);
    const IrRef from = emit_address(m->e, ix_linear(m->rw, x->shape, index));
    IrBlock *block = emit_block(m->e);
    ir_do_at(m->g, block, NULL, op, 0, t->buffer, element_of(t, stage, at));
    block->items[block->n - 1]->from = m->e->plan->first_leaf[x->number];
    block->items[block->n - 1]->from_index = from;
}

static IrRef values_of_group(const EmitOperand *t, Place at, EmitCorner first)
{
    IrRef x[PLAN_GROUP];
    for (uint32_t j = 0; j < PLAN_GROUP; j++) {
        const EmitCorner of = position_of(t, at, first, j);
        x[j] = emit_product_element(t->m, t->operand, of.free, of.k);
    }
    return emit_packed(t->m->e, x, t->type, PLAN_GROUP, PLAN_GROUP);
}

uint32_t emit_operand_groups(const EmitOperand *t) { return (uint32_t)lay_up(tile_of(t) / PLAN_GROUP, t->threads); }

/* Group number i of the thread. */
static Place place_of(const EmitOperand *t, uint32_t i)
{
    const IrRef number = plus(t, t->m->tid, i * t->threads);
    const int64_t of_line = line_of(t) / PLAN_GROUP;
    return (Place){over(t, number, of_line), modulo(t, number, of_line)};
}

static EmitIf if_in_tile(const EmitOperand *t, uint32_t i)
{
    const int64_t rest = tile_of(t) / PLAN_GROUP - i * t->threads;
    return emit_if(t->m->e, rest < t->threads ? rw_compare(t->m->rw, OP_LT, t->m->tid, ir_index(t->m->g, rest)) : 0);
}

void emit_operand_copy(const EmitOperand *t, EmitCorner first, IrRef stage)
{
    for (uint32_t i = 0; i < emit_operand_groups(t); i++) {
        EmitIf inside = if_in_tile(t, i);
        copy_group(t, stage, place_of(t, i), first);
        emit_close_if(t->m->e, &inside);
    }
}

void emit_operand_values(const EmitOperand *t, EmitCorner first, IrRef *to)
{
    for (uint32_t i = 0; i < emit_operand_groups(t); i++) to[i] = values_of_group(t, place_of(t, i), first);
}

void emit_operand_store(const EmitOperand *t, IrRef stage, const IrRef *of)
{
    for (uint32_t i = 0; i < emit_operand_groups(t); i++) {
        EmitIf inside = if_in_tile(t, i);
        emit_store(t->m->e, t->buffer, element_of(t, stage, place_of(t, i)), of[i]);
        emit_close_if(t->m->e, &inside);
    }
}

void emit_operands_values(const EmitOperand *of, const EmitCorner *first, uint32_t n, bool all, IrRef *to)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!all && of[k].bring.copied) continue;
        emit_operand_values(&of[k], first[k], to);
        to += emit_operand_groups(&of[k]);
    }
}

void emit_operands_store(const EmitOperand *of, uint32_t n, IrRef stage, bool all, const IrRef *values)
{
    for (uint32_t k = 0; k < n; k++) {
        if (!all && of[k].bring.copied) continue;
        emit_operand_store(&of[k], stage, values);
        values += emit_operand_groups(&of[k]);
    }
}

/* --- taking ------------------------------------------------------------------------------------------------------- */
/* Where the lane's row of the four matrices of a read begins. The matrices lie side by side along the products second
 * for the left matrix, and first for the right one. */
static Place matrices(const EmitOperand *t, IrRef first, IrRef steps)
{
    const EmitProduct *m = t->m;
    const IrRef low = modulo(t, m->lane, 8), second = modulo(t, over(t, m->lane, 8), 2), third = over(t, m->lane, 16);
    const IrRef free = t->left ? second : third, along = t->left ? third : second;
    if (t->bring.side) /* a row of a matrix has neighbours along the rows, or columns, of one product */
        return (Place){add(t, add(t, times(t, along, 8), low), times(t, steps, PLAN_TILE_DEPTH)),
                       add(t, over(t, first, PLAN_GROUP), free)};
    return (Place){add(t, first, add(t, times(t, free, 8), low)),
                   add(t, along, times(t, steps, PLAN_TILE_DEPTH / PLAN_GROUP))};
}

IrRef emit_operand_read(const EmitOperand *t, IrRef stage, IrRef first, IrRef step)
{
    const EmitProduct *m = t->m;
    const ScOp op = t->bring.side ? OP_READ_MATRIX_TURNED : OP_READ_MATRIX;
    const IrRef at = element_of(t, stage, matrices(t, first, step));
    const IrRef x = ir_do_at(m->g, emit_block(m->e), emit_name(m->e, t->left ? "x" : "y"),
                             ir_node(m->g, op, eight(t), 0, 0, 0, 0, 0), eight(t), t->buffer, at);
    emit_bound(m->e, x);
    return x;
}
