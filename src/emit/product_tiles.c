/* product_tiles.c: the operands of a product of matrices on their way through shared memory.
 *
 * Needs where a warp's results are; leaves its sums. All threads of a block bring what an iteration needs to one of
 * `stages` places: by asynchronous copies of 16 bytes of an operand that is in memory as it is, else as values, which
 * are loaded before the products of the iteration at hand and stored after them. Warps take fragments from there, a
 * matrix of 8 x 8 by the address of each of its rows. One barrier an iteration is enough: behind it all threads have
 * brought what this one needs, and are done with the place of the one before, which is filled next.
 *
 *     do copy_wait<0>()   do barrier()   if k + 1 < n { do copy_async(..) }   do copy_commit()
 *     x = do read_matrix.bf16x8(%left[..])    y = do read_matrix_turned.bf16x8(%right[..])    c = do mma(..)
 */
#include "emit/product.h"

typedef struct {
    const EmitProduct *m;
    uint32_t buffer[2];
    ScType type;
    int64_t threads, n; /* n: iterations whose products all exist */
} Tiles;

/* A group of elements of a line of an operand's tile. */
typedef struct {
    IrRef line, group;
} Place;

static IrRef add(const Tiles *t, IrRef x, IrRef y) { return rw_add(t->m->rw, x, y); }
static IrRef plus(const Tiles *t, IrRef x, int64_t n) { return emit_product_plus(t->m, x, n); }
static IrRef times(const Tiles *t, IrRef x, int64_t n) { return rw_scale(t->m->rw, x, n); }
static IrRef over(const Tiles *t, IrRef x, int64_t n) { return rw_floordiv(t->m->rw, x, n); }
static IrRef modulo(const Tiles *t, IrRef x, int64_t n) { return rw_mod(t->m->rw, x, n); }
static IrType eight(const Tiles *t) { return IR_TYPE(t->type, 3); }

/* The element of the buffer at which a group lies, in a stage. */
static IrRef element_of(const Tiles *t, uint32_t operand, IrRef stage, Place at)
{
    const PartProduct *p = t->m->p;
    const int64_t line = part_line(p, operand);
    const IrRef turned = add(t, at.group, over(t, at.line, part_skew(p, operand)));
    const IrRef group = modulo(t, turned, line / PART_GROUP);
    const IrRef inside = add(t, times(t, at.line, line), times(t, group, PART_GROUP));
    return add(t, times(t, stage, part_tile(p, operand)), inside);
}

/* --- bringing ----------------------------------------------------------------------------------------------------- */
/* The column of the block that is line number `line`: product.h. */
static IrRef column_of_line(const Tiles *t, IrRef line)
{
    const uint32_t run = t->m->p->column_run, of_run = PART_TILE_COLUMNS * run;
    const IrRef tile = over(t, modulo(t, line, of_run), PART_TILE_COLUMNS), g = modulo(t, line, PART_TILE_COLUMNS);
    const IrRef number = add(t, times(t, modulo(t, g, 2), 4), over(t, g, 2));
    return add(t, times(t, over(t, line, of_run), of_run), add(t, times(t, number, run), tile));
}

/* The row or column, and the product, of element j of a group. first: the first product of the tile. */
static void position_of(const Tiles *t, uint32_t operand, Place at, IrRef first, uint32_t j, IrRef *free, IrRef *k)
{
    const EmitProduct *m = t->m;
    const bool side = m->p->bring[operand].side;
    const IrRef along = plus(t, times(t, at.group, PART_GROUP), j);
    const IrRef line = !side && operand ? column_of_line(t, at.line) : at.line;
    *free = add(t, m->first[operand], side ? along : line);
    *k = add(t, first, side ? line : along);
}

static void copy_group(const Tiles *t, uint32_t operand, IrRef stage, Place at, IrRef first)
{
    const EmitProduct *m = t->m;
    const PartProduct *p = m->p;
    const HloInstruction *x = p->i->operands[operand];
    const int64_t size = operand ? p->of.columns : p->of.rows;
    IrRef free, k;
    position_of(t, operand, at, first, 0, &free, &k);
    const int64_t unit = p->bring[operand].side ? PART_GROUP : 1; /* whole groups are beyond the end */
    free = times(t, emit_nearest(m->e, over(t, free, unit), size / unit), unit);
    const IrRef *index = emit_product_index(m, operand, free, k);
    const IrRef op = ir_node(m->g, OP_COPY_ASYNC, eight(t), 0, 0, 0, 0, 0);
    const IrRef from = emit_address(m->e, ix_linear(m->rw, x->shape, index));
    IrBlock *block = emit_block(m->e);
    ir_do_at(m->g, block, NULL, op, 0, t->buffer[operand], element_of(t, operand, stage, at));
    block->items[block->n - 1]->from = m->e->plan->first_leaf[x->number];
    block->items[block->n - 1]->from_index = from;
}

static IrRef values_of_group(const Tiles *t, uint32_t operand, Place at, IrRef first)
{
    IrRef x[PART_GROUP];
    for (uint32_t j = 0; j < PART_GROUP; j++) {
        IrRef free, k;
        position_of(t, operand, at, first, j, &free, &k);
        x[j] = emit_product_element(t->m, operand, free, k);
    }
    return emit_packed(t->m->e, x, t->type, PART_GROUP, PART_GROUP);
}

/* Groups of an operand that a thread brings; the last one not of all threads, where they do not divide its groups. */
static uint32_t groups_of(const Tiles *t, uint32_t operand)
{
    return (uint32_t)part_up(part_tile(t->m->p, operand) / PART_GROUP, t->threads);
}

/* Group number i of the thread. */
static Place place_of(const Tiles *t, uint32_t operand, uint32_t i)
{
    const IrRef number = plus(t, t->m->tid, i * t->threads);
    const int64_t of_line = part_line(t->m->p, operand) / PART_GROUP;
    return (Place){over(t, number, of_line), modulo(t, number, of_line)};
}

static EmitIf if_in_tile(const Tiles *t, uint32_t operand, uint32_t i)
{
    const int64_t rest = part_tile(t->m->p, operand) / PART_GROUP - i * t->threads;
    return emit_if(t->m->e, rest < t->threads ? rw_compare(t->m->rw, OP_LT, t->m->tid, ir_index(t->m->g, rest)) : 0);
}

/* Starts the copies of an iteration whose products all exist. */
static void copy(const Tiles *t, IrRef iteration, IrRef stage)
{
    const IrRef first = add(t, t->m->start, times(t, iteration, t->m->depth));
    for (uint32_t o = 0; o < 2; o++) {
        if (!t->m->p->bring[o].copied) continue;
        for (uint32_t i = 0; i < groups_of(t, o); i++) {
            EmitIf inside = if_in_tile(t, o, i);
            copy_group(t, o, stage, place_of(t, o, i), first);
            emit_close_if(t->m->e, &inside);
        }
    }
}

/* The values of an iteration that are not copied, or where `all` is true of all operands. A thread that has none of a
 * group computes one, too, and does not store it. */
static void values(const Tiles *t, IrRef iteration, bool all, IrRef *to)
{
    const IrRef first = add(t, t->m->start, times(t, iteration, t->m->depth));
    for (uint32_t o = 0; o < 2; o++)
        for (uint32_t i = 0; (all || !t->m->p->bring[o].copied) && i < groups_of(t, o); i++)
            *to++ = values_of_group(t, o, place_of(t, o, i), first);
}

static void store(const Tiles *t, IrRef stage, bool all, const IrRef *of)
{
    for (uint32_t o = 0; o < 2; o++)
        for (uint32_t i = 0; (all || !t->m->p->bring[o].copied) && i < groups_of(t, o); i++) {
            EmitIf inside = if_in_tile(t, o, i);
            emit_store(t->m->e, t->buffer[o], element_of(t, o, stage, place_of(t, o, i)), *of++);
            emit_close_if(t->m->e, &inside);
        }
}

/* --- taking ------------------------------------------------------------------------------------------------------- */
/* Where the lane's row of the four matrices of a read begins: a row tile, or two column tiles, at a step. The matrices
 * lie side by side along the products second for the left operand, and first for the right one. */
static Place matrices(const Tiles *t, uint32_t operand, uint32_t tile, uint32_t step)
{
    const EmitProduct *m = t->m;
    const bool side = m->p->bring[operand].side;
    const int64_t of_tile = operand ? PART_TILE_COLUMNS : PART_TILE_ROWS;
    const IrRef low = modulo(t, m->lane, 8), second = modulo(t, over(t, m->lane, 8), 2), third = over(t, m->lane, 16);
    const IrRef free = operand ? third : second, along = operand ? second : third;
    const IrRef first = plus(t, m->of_warp[operand], tile * of_tile);
    const IrRef steps = plus(t, times(t, m->depth_warp, m->p->steps), step); /* of the iteration, before this one */
    if (side) /* a row of a matrix has neighbours along the rows, or columns, of one product */
        return (Place){add(t, add(t, times(t, along, 8), low), times(t, steps, PART_TILE_DEPTH)),
                       add(t, over(t, first, PART_GROUP), free)};
    return (Place){add(t, first, add(t, times(t, free, 8), low)),
                   add(t, along, times(t, steps, PART_TILE_DEPTH / PART_GROUP))};
}

static IrRef read(const Tiles *t, uint32_t operand, IrRef stage, uint32_t tile, uint32_t step)
{
    const EmitProduct *m = t->m;
    const ScOp op = m->p->bring[operand].side ? OP_READ_MATRIX_TURNED : OP_READ_MATRIX;
    const IrRef at = element_of(t, operand, stage, matrices(t, operand, tile, step));
    const IrRef x = ir_do_at(m->g, emit_block(m->e), emit_name(m->e, operand ? "y" : "x"),
                             ir_node(m->g, op, eight(t), 0, 0, 0, 0, 0), eight(t), t->buffer[operand], at);
    emit_bound(m->e, x);
    return x;
}

static void multiply(const Tiles *t, IrRef stage, IrRef *sums)
{
    const PartProduct *p = t->m->p;
    IrRef *of = WBB_NEW_N(t->m->a, IrRef, p->row_tiles + p->column_tiles);
    for (uint32_t s = 0; s < p->steps; s++) {
        for (uint32_t r = 0; r < p->row_tiles; r++) of[r] = read(t, 0, stage, r, s);
        for (uint32_t c = 0; c < p->column_tiles; c += 2) {
            const IrRef two = read(t, 1, stage, c, s);
            for (uint32_t k = 0; k < 2; k++)
                of[p->row_tiles + c + k] =
                    ir_node(t->m->g, OP_PART, IR_TYPE(t->type, 2), 0, two, 0, 0, k * PART_GROUP / 2);
        }
        emit_product_step(t->m, of, sums);
    }
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */
static void group_of_copies(const Tiles *t, ScOp op, uint64_t left)
{
    const PartBring *b = t->m->p->bring;
    if (!b[0].copied && !b[1].copied) return;
    ir_do(t->m->g, emit_block(t->m->e), NULL, ir_node(t->m->g, op, 0, 0, 0, 0, 0, left), 0);
}

/* Iterations whose products all exist. Each fills the place that is needed stages - 1 later; the last ones store values
 * of the last iteration again, which nothing reads. */
static void iterate(const Tiles *t, IrRef *sums)
{
    const EmitProduct *m = t->m;
    const PartProduct *p = m->p;
    const uint32_t n_sums = part_sums(p), before = p->stages - 1, n_values = groups_of(t, 0) + groups_of(t, 1);
    IrRef *brought = WBB_NEW_N(m->a, IrRef, n_values), var;
    for (uint32_t s = 0; s < before; s++) {
        const IrRef first = ir_index(m->g, s);
        if (s < t->n) copy(t, first, first), values(t, first, false, brought), store(t, first, false, brought);
        group_of_copies(t, OP_COPY_COMMIT, 0);
    }
    const EmitLoop l = emit_for(m->e, "k", t->n, n_sums, sums, &var);
    if (l.s) l.s->rolled = true; /* an iteration is long: its code comes to an SM sooner once than several times */
    const IrRef later = plus(t, var, before), next = modulo(t, later, p->stages);
    values(t, emit_nearest(m->e, later, t->n), false, brought);
    group_of_copies(t, OP_COPY_WAIT, before - 1);
    emit_barrier(m->e);
    EmitIf more = emit_if(m->e, rw_compare(m->rw, OP_LT, later, ir_index(m->g, t->n)));
    if (!emit_never(&more)) copy(t, later, next);
    emit_close_if(m->e, &more);
    group_of_copies(t, OP_COPY_COMMIT, 0);
    multiply(t, modulo(t, var, p->stages), sums);
    store(t, next, false, brought);
    emit_end_for(m->e, &l, n_sums, sums);
}

void emit_product_tiles(const EmitProduct *m, IrRef *sums)
{
    const PartProduct *p = m->p;
    Tiles t = {.m = m, .type = p->i->operands[0]->shape->type, .n = part_depth(p) / m->depth,
               .threads = (int64_t)32 * part_tile_warps(p) * p->depth_warps};
    for (uint32_t o = 0; o < 2; o++) {
        const int64_t elements = p->stages * part_tile(p, o);
        t.buffer[o] = emit_add_buffer(m->e, o ? "right" : "left", IR_SHARED, t.type, elements, false);
    }
    if (t.n) iterate(&t, sums);
    if (part_depth(p) % m->depth == 0) return;
    IrRef *rest = WBB_NEW_N(m->a, IrRef, groups_of(&t, 0) + groups_of(&t, 1));
    const IrRef place = ir_index(m->g, t.n % p->stages); /* with which all are done */
    values(&t, ir_index(m->g, t.n), true, rest);
    store(&t, place, true, rest);
    emit_barrier(m->e);
    multiply(&t, place, sums);
}
