/* product_tiles.c: the operands of a product of matrices on their way through shared memory.
 *
 * Needs where a warp's results are; leaves its sums. All threads of a block bring what an iteration needs to one of
 * `stages` places: by asynchronous copies of 16 bytes of an operand that is in memory as it is, else as values, which
 * are loaded before the products of the iteration at hand and stored after them. Warps take fragments from there
 * (product_operand.c). One barrier an iteration is enough: behind it all threads have brought what this one needs, and
 * are done with the place of the one before, which is filled next.
 *
 *     do copy_wait<0>()   do barrier()   if k + 1 < n { do copy_async(..) }   do copy_commit()
 *     x = do read_matrix.bf16x8(%left[..])    y = do read_matrix_turned.bf16x8(%right[..])    c = do mma(..)
 */
#include "emit/product.h"

typedef struct {
    const EmitProduct *m;
    EmitOperand of[2];
    int64_t n; /* iterations whose products all exist */
} Tiles;

/* Where the tile of an operand begins in an iteration. */
static EmitCorner corner(const Tiles *t, uint32_t operand, IrRef iteration)
{
    const EmitProduct *m = t->m;
    return (EmitCorner){m->first[operand], rw_add(m->rw, m->start, rw_scale(m->rw, iteration, m->depth))};
}

/* Starts the copies of an iteration whose products all exist. */
static void copy(const Tiles *t, IrRef iteration, IrRef stage)
{
    for (uint32_t o = 0; o < 2; o++)
        if (t->of[o].bring.copied) emit_operand_copy(&t->of[o], corner(t, o, iteration), stage);
}

/* The values of an iteration that are not copied, or where `all` is true of all operands. A thread that has none of a
 * group computes one, too, and does not store it. */
static void values(const Tiles *t, IrRef iteration, bool all, IrRef *to)
{
    const EmitCorner first[] = {corner(t, 0, iteration), corner(t, 1, iteration)};
    emit_operands_values(t->of, first, 2, all, to);
}

/* A row tile, or two column tiles, at a step. */
static IrRef read(const Tiles *t, uint32_t operand, IrRef stage, uint32_t tile, uint32_t step)
{
    const EmitProduct *m = t->m;
    const int64_t of_tile = operand ? PLAN_TILE_COLUMNS : PLAN_TILE_ROWS;
    const IrRef first = emit_product_plus(m, m->of_warp[operand], tile * of_tile);
    const IrRef steps = emit_product_plus(m, rw_scale(m->rw, m->depth_warp, m->p->steps), step); /* of the iteration */
    return emit_operand_read(&t->of[operand], stage, first, steps);
}

static void multiply(const Tiles *t, IrRef stage, IrRef *sums)
{
    const PlanProduct *p = t->m->p;
    IrRef *of = WBB_NEW_N(t->m->a, IrRef, p->row_tiles + p->column_tiles);
    for (uint32_t s = 0; s < p->steps; s++) {
        for (uint32_t r = 0; r < p->row_tiles; r++) of[r] = read(t, 0, stage, r, s);
        for (uint32_t c = 0; c < p->column_tiles; c += 2) {
            const IrRef two = read(t, 1, stage, c, s);
            for (uint32_t k = 0; k < 2; k++) of[p->row_tiles + c + k] = emit_product_half(t->m, two, k);
        }
        emit_product_step(t->m, of, sums);
    }
}

/* --- the loop ----------------------------------------------------------------------------------------------------- */
static void group_of_copies(const Tiles *t, ScOp op, uint64_t left)
{
    if (t->of[0].bring.copied || t->of[1].bring.copied) emit_product_copies(t->m, op, left);
}

/* Iterations whose products all exist. Each fills the place that is needed stages - 1 later; the last ones store values
 * of the last iteration again, which nothing reads. */
static void iterate(const Tiles *t, IrRef *sums)
{
    const EmitProduct *m = t->m;
    const PlanProduct *p = m->p;
    const uint32_t n_sums = plan_sums(p), before = p->stages - 1;
    const uint32_t n_values = emit_operand_groups(&t->of[0]) + emit_operand_groups(&t->of[1]);
    IrRef *brought = WBB_NEW_N(m->a, IrRef, n_values), var;
    for (uint32_t s = 0; s < before; s++) {
        const IrRef first = ir_index(m->g, s);
        if (s < t->n) {
            copy(t, first, first);
            values(t, first, false, brought);
            emit_operands_store(t->of, 2, first, false, brought);
        }
        group_of_copies(t, OP_COPY_COMMIT, 0);
    }
    const EmitLoop l = emit_for(m->e, "k", t->n, n_sums, sums, &var);
    if (l.s) l.s->rolled = true; /* an iteration is long: its code comes to an SM sooner once than several times */
    const IrRef later = emit_product_plus(m, var, before), next = rw_mod(m->rw, later, p->stages);
    values(t, emit_nearest(m->e, later, t->n), false, brought);
    group_of_copies(t, OP_COPY_WAIT, before - 1);
    emit_barrier(m->e);
    EmitIf more = emit_if(m->e, rw_compare(m->rw, OP_LT, later, ir_index(m->g, t->n)));
    if (!emit_never(&more)) copy(t, later, next);
    emit_close_if(m->e, &more);
    group_of_copies(t, OP_COPY_COMMIT, 0);
    multiply(t, rw_mod(m->rw, var, p->stages), sums);
    emit_operands_store(t->of, 2, next, false, brought);
    emit_end_for(m->e, &l, n_sums, sums);
}

void emit_product_tiles(const EmitProduct *m, IrRef *sums)
{
    const PlanProduct *p = m->p;
    Tiles t = {.m = m, .n = plan_depth(p) / m->depth};
    for (uint32_t o = 0; o < 2; o++) {
        t.of[o] = (EmitOperand){.m = m, .operand = o, .left = !o, .run = o ? p->column_run : 0, .bring = p->bring[o],
                                .side = plan_side(p, o), .depth = plan_tile_depth(p), .stages = p->stages,
                                .threads = (int64_t)32 * plan_tile_warps(p) * p->depth_warps};
        emit_operand_begin(&t.of[o], o ? "right" : "left");
    }
    if (t.n) iterate(&t, sums);
    if (plan_depth(p) % m->depth == 0) return;
    IrRef *rest = WBB_NEW_N(m->a, IrRef, emit_operand_groups(&t.of[0]) + emit_operand_groups(&t.of[1]));
    const IrRef place = ir_index(m->g, t.n % p->stages); /* with which all are done */
    values(&t, ir_index(m->g, t.n), true, rest);
    emit_operands_store(t.of, 2, place, true, rest);
    emit_barrier(m->e);
    multiply(&t, place, sums);
}
