/* attention.c: two products of matrices, and rows of the first one's result that are weighed between them.
 *
 * Needs a range with an attention (plan/attention.h); leaves its statements. A warp has the fragments of its rows
 * of the left matrix in registers. A pass goes through tiles of columns: asynchronous copies bring keys, in the last
 * pass values, too, as product_tiles.c brings its operands; tensor cores make the scores of a tile; what follows from a
 * score is computed as any value at an index is (emit_value), the score itself being given. So all that the text rounds
 * between the products is rounded, and masks, scales and conversions need no code here.
 *
 * Statistics: each lane combines the terms of its own columns, in all tiles, and four lanes of a row then combine
 * theirs.
 * A sum of exp(x - m) whose m is the maximum of x is found in the pass of m, relative to a number k near it:
 *
 *     sum exp(x - m)  =  exp(k - m) sum exp(x - k)    for any finite k
 *
 * When the greatest x of a lane has risen more than RISE above its k, it is the new one, and what the lane has is
 * multiplied by exp(k - k'). What that rounds lies in the bounds of a sum of so many terms in any order, permission
 * `within` (plan/products.md).
 *
 * Weights are packed as they lie: lanes of a tile of results have what tensor cores take as the left matrix.
 */
#include "emit/row_statistics.h"
#include "plan/attention.h"

#include <float.h>
#include <string.h>

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const PlanAttention *of;
    EmitProduct m[2];
    EmitOperand brought[2]; /* keys, values */
    IrRef *left;            /* [steps * row_tiles] fragments of the scores' left matrix */
    IrRef *row, *near;      /* [rows] of the lane; the nearest ones that exist */
    EmitRows of_rows;       /* what follows from scores */
    IrRef *reciprocal;      /* [rows] of the divisor of a quotient */
    IrRef last, of_block;   /* of a causal mask: the last column that the warp, and the block, have scores of */
    uint32_t rows, tiles;   /* of the lane; of 8 columns, of a tile of the scores */
    int64_t n;              /* iterations whose columns all exist */
} Attention;

enum { RISE = 8 }; /* exp(RISE) times the number of columns is far from overflow */

static const IrType f32 = IR_TYPE(SC_F32, 0);

static IrRef plus(const Attention *t, IrRef x, int64_t n) { return emit_product_plus(&t->m[0], x, n); }
static IrRef node(const Attention *t, ScOp op, IrRef x, IrRef y) { return emit_rows_node(&t->of_rows, op, x, y); }

/* Column number c of those that a lane has of a tile of the scores. */
static IrRef column_of(const Attention *t, IrRef first, uint32_t c)
{
    const IrRef pair = rw_scale(t->rw, t->m[0].pair, 2);
    return plus(t, rw_add(t->rw, first, pair), c / 2 * PLAN_TILE_COLUMNS + c % 2);
}

/* --- tiles -------------------------------------------------------------------------------------------------------- */
static EmitCorner corner(const Attention *t, uint32_t product, IrRef iteration)
{
    const IrRef column = rw_scale(t->rw, iteration, t->of->keys), zero = ir_index(t->g, 0);
    return product ? (EmitCorner){zero, column} : (EmitCorner){column, zero};
}

/* What is brought beside copies, of the first n products; all: of those that are copied, too. */
static void values(const Attention *t, uint32_t n, IrRef iteration, bool all, IrRef *to)
{
    const EmitCorner first[] = {corner(t, 0, iteration), corner(t, 1, iteration)};
    emit_operands_values(t->brought, first, n, all, to);
}

static void store(const Attention *t, uint32_t n, IrRef stage, bool all, const IrRef *of)
{
    emit_operands_store(t->brought, n, stage, all, of);
}

/* Keys (0), or values. */
static void copy(const Attention *t, uint32_t k, IrRef iteration, IrRef stage)
{
    if (t->brought[k].bring.copied) emit_operand_copy(&t->brought[k], corner(t, k, iteration), stage);
}

static bool any_copied(const Attention *t, uint32_t n)
{
    return t->brought[0].bring.copied || (n > 1 && t->brought[1].bring.copied);
}

/* The left matrix of the scores, whose elements each lane has from where they are. */
static void load_left(Attention *t)
{
    const EmitProduct *m = &t->m[0];
    const uint32_t operand = t->of->turned[0], row_tiles = m->p->row_tiles;
    const ScType type = m->p->i->operands[operand]->shape->type;
    t->left = WBB_NEW_N(t->a, IrRef, m->p->steps * row_tiles);
    for (uint32_t s = 0; s < m->p->steps; s++)
        for (uint32_t r = 0; r < row_tiles; r++) {
            IrRef x[8];
            for (uint32_t j = 0; j < 8; j++) {
                const IrRef k = plus(t, rw_scale(t->rw, m->pair, 2),
                                     s * PLAN_TILE_DEPTH + j / 4 * PLAN_TILE_DEPTH / 2 + j % 2);
                x[j] = emit_product_element(m, operand, t->row[2 * r + j / 2 % 2], k);
            }
            t->left[s * row_tiles + r] = emit_packed(t->e, x, type, 8, 8);
        }
}

/* Adds products of the fragments of a left matrix, [steps * row_tiles], and of what tiles bring of product k. */
static void multiply(const Attention *t, uint32_t k, IrRef stage, const IrRef *left, IrRef *sums)
{
    const PlanProduct *p = t->m[k].p;
    IrRef *of = WBB_NEW_N(t->a, IrRef, p->row_tiles + p->column_tiles);
    for (uint32_t s = 0; s < p->steps; s++) {
        for (uint32_t r = 0; r < p->row_tiles; r++) of[r] = left[s * p->row_tiles + r];
        for (uint32_t c = 0; c < p->column_tiles; c += 2) {
            const IrRef first = ir_index(t->g, c * PLAN_TILE_COLUMNS);
            const IrRef two = emit_operand_read(&t->brought[k], stage, first, ir_index(t->g, s));
            for (uint32_t h = 0; h < 2; h++) of[p->row_tiles + c + h] = emit_product_half(&t->m[k], two, h);
        }
        emit_product_step(&t->m[k], of, sums);
    }
}

/* Of the tile in this stage: sums[row tile * tiles + tile]. */
static void find_scores(const Attention *t, IrRef stage, IrRef *sums)
{
    for (uint32_t k = 0; k < plan_sums(t->m[0].p); k++) sums[k] = ir_const(t->g, IR_TYPE(SC_F32, 2), 0);
    multiply(t, 0, stage, t->left, sums);
}

/* --- values of a row and column ----------------------------------------------------------------------------------- */
/* Gives the scores of a tile, and what statistics earlier passes have found; forgets all other values. */
static void give_all(const Attention *t, IrRef first, const IrRef *sums)
{
    t->e->memo = (WbbMap){.arena = t->e->memo.arena};
    for (uint32_t r = 0; r < t->rows; r++) {
        for (uint32_t c = 0; c < 2 * t->tiles; c++)
            emit_rows_give(&t->of_rows, r, column_of(t, first, c), sums[r / 2 * t->tiles + c / 2], r % 2 * 2 + c % 2);
        emit_rows_give_known(&t->of_rows, r, t->near[r]);
    }
}

/* --- statistics --------------------------------------------------------------------------------------------------- */
/* The terms of a row in a tile, combined. */
static IrRef terms_of(const Attention *t, const PlanStatistic *s, uint32_t r, IrRef first)
{
    IrRef *columns = WBB_NEW_N(t->a, IrRef, 2 * t->tiles);
    for (uint32_t c = 0; c < 2 * t->tiles; c++) columns[c] = column_of(t, first, c);
    return emit_rows_terms(&t->of_rows, s, r, columns, 2 * t->tiles);
}

/* A number of f32 made finite; a nan stays one. */
static IrRef finite(const Attention *t, IrRef x)
{
    const uint32_t most = 0x7f7fffff, sign = 0x80000000;
    return node(t, OP_MAX, node(t, OP_MIN, x, ir_const(t->g, f32, most)), ir_const(t->g, f32, most | sign));
}

static IrRef exponential(const Attention *t, IrRef x, IrRef y)
{
    return node(t, OP_EXP, node(t, OP_SUB, x, y), 0);
}

/* The base of a sum of exponentials: `former`, unless `top` is far above. A comparison with a nan does not hold. */
static IrRef base_of(const Attention *t, IrRef former, IrRef top)
{
    const float rise = RISE;
    uint32_t bits;
    memcpy(&bits, &rise, sizeof bits);
    const IrRef above = node(t, OP_ADD, former, ir_const(t->g, f32, bits));
    const IrRef rises = ir_node(t->g, OP_GT, IR_TYPE(SC_PRED, 0), 0, top, above, 0, 0);
    return ir_node(t->g, OP_SELECT, f32, 0, rises, finite(t, top), former, 0);
}

/* A sum relative to base[r], with the terms of a tile, which are relative to what the base is then. top: the greatest x
 * so far, with that tile. */
static void add_exponentials(const Attention *t, const PlanStatistic *s, IrRef first, const IrRef *top, IrRef *sum,
                             IrRef *base)
{
    for (uint32_t r = 0; r < t->rows; r++) {
        const IrRef now = base_of(t, base[r], top[r]);
        emit_rows_give_one(&t->of_rows, &t->of->rows.all[s->base], t->near[r], now);
        sum[r] = node(t, OP_ADD, node(t, OP_MUL, sum[r], exponential(t, base[r], now)), terms_of(t, s, r, first));
        base[r] = now;
    }
}

/* The statistics of a pass, with the terms of a tile: acc[statistic][row], and bases behind them. A maximum comes
 * before the sum that is relative to it. */
static void add_terms(const Attention *t, uint32_t pass, IrRef first, IrRef **acc)
{
    for (uint32_t n = 0; n < t->of->rows.n; n++) {
        const PlanStatistic *s = &t->of->rows.all[n];
        if (s->pass != pass) continue;
        if (s->base >= 0) add_exponentials(t, s, first, acc[s->base], acc[n], acc[t->of->rows.n + n]);
        for (uint32_t r = 0; r < t->rows && s->base < 0; r++)
            acc[n][r] = node(t, s->op, acc[n][r], terms_of(t, s, r, first));
    }
}

/* The results of the statistics of a pass, rounded to their types. */
static void finish(const Attention *t, uint32_t pass, IrRef **acc)
{
    for (uint32_t n = 0; n < t->of->rows.n; n++) {
        const PlanStatistic *s = &t->of->rows.all[n];
        if (s->pass != pass) continue;
        t->of_rows.result[n] = WBB_NEW_N(t->a, IrRef, t->rows);
        for (uint32_t r = 0; r < t->rows; r++) {
            IrRef x = acc[n][r];
            if (s->base >= 0)
                x = node(t, OP_MUL, x, exponential(t, acc[t->of->rows.n + n][r], t->of_rows.result[s->base][r]));
            t->of_rows.result[n][r] = emit_rows_result(&t->of_rows, s, emit_rows_of_lanes(&t->of_rows, s->op, x));
        }
    }
}

/* --- results ------------------------------------------------------------------------------------------------------ */
static void find_reciprocals(Attention *t)
{
    const IrRef one = ir_const(t->g, f32, 0x3f800000);
    t->reciprocal = WBB_NEW_N(t->a, IrRef, t->rows);
    for (uint32_t r = 0; r < t->rows; r++)
        t->reciprocal[r] = node(t, OP_DIV, one, t->of_rows.result[t->of->divisor][r]);
}

/* From now on the quotient of a row and column is known: the product of its dividend and the reciprocal. */
static void give_quotient(const Attention *t, uint32_t r, IrRef column)
{
    const HloInstruction *i = t->of->quotient;
    const IrRef *at = emit_rows_index(&t->of_rows, &t->of->to_quotient, t->near[r], column);
    const IrRef x = emit_as(t->e, emit_value(t->e, (PlanValue){i->operands[0], 0}, at), SC_F32);
    emit_give(t->e, (PlanValue){i, 0}, at, node(t, OP_MUL, x, t->reciprocal[r]));
}

/* The weight of a row and column; of a column that is none: 0. */
static IrRef weight_of(const Attention *t, uint32_t r, IrRef column)
{
    const HloInstruction *x = t->m[1].p->i->operands[t->of->weights];
    const ScType type = x->shape->type;
    const IrRef *at = emit_rows_weight(&t->of_rows, t->near[r], emit_rows_nearest(&t->of_rows, column));
    if (t->reciprocal) give_quotient(t, r, emit_rows_nearest(&t->of_rows, column));
    const IrRef value = emit_as(t->e, emit_value(t->e, (PlanValue){x, 0}, at), type);
    return emit_rows_if_column(&t->of_rows, column, value, ir_const(t->g, IR_TYPE(type, 0), 0));
}

/* The weights of a tile as fragments of the left matrix: of step s and row tile r, [s * row_tiles + r]. */
static void pack_weights(const Attention *t, IrRef first, IrRef *to)
{
    const PlanProduct *p = t->m[1].p;
    const ScType type = p->i->operands[t->of->weights]->shape->type;
    for (uint32_t s = 0; s < p->steps; s++)
        for (uint32_t r = 0; r < p->row_tiles; r++) {
            IrRef x[8];
            for (uint32_t j = 0; j < 8; j++)
                x[j] = weight_of(t, 2 * r + j / 2 % 2, column_of(t, first, 4 * s + j / 4 * 2 + j % 2));
            *to++ = emit_packed(t->e, x, type, 8, 8);
        }
}

/* --- passes ------------------------------------------------------------------------------------------------------- */
/* What a pass carries from tile to tile: sums of results, or statistics, each of all rows; behind all of these, of
 * those that have a base, the base that they are relative to. */
typedef struct {
    uint32_t pass;
    bool last;
    IrRef *sums;
    IrRef **acc;
} Pass;

static uint32_t pack(const Attention *t, const Pass *p, bool back, IrRef *all)
{
    uint32_t n = 0;
    for (uint32_t k = 0; p->last && k < plan_sums(t->m[1].p); k++, n++)
        if (back) p->sums[k] = all[n];
        else all[n] = p->sums[k];
    for (uint32_t s = 0; !p->last && s < 2 * t->of->rows.n; s++)
        for (uint32_t r = 0; p->acc[s] && r < t->rows; r++, n++)
            if (back) p->acc[s][r] = all[n];
            else all[n] = p->acc[s][r];
    return n;
}

/* Opens the `if` of tiles of which the warp has a score that no causal mask hides; 0: all. */
static EmitIf if_seen(const Attention *t, IrRef first)
{
    return emit_if(t->e, t->of->causal ? rw_compare(t->rw, OP_LE, first, t->last) : 0);
}

/* values[k] = what a tile that is seen makes of it; one that is hidden makes nothing of it, or 0. */
static void end_if_seen(const Attention *t, EmitIf *c, uint32_t n, const IrRef *hidden, IrRef *values)
{
    IrRef *then = WBB_NEW_N(t->a, IrRef, n + 1);
    memcpy(then, values, n * sizeof *then);
    emit_else(t->e, c);
    emit_end_if(t->e, c, n, then, hidden, values);
}

/* Scores of a tile, and the weights that follow; where a mask hides all of them: weights 0, whose products with values
 * that are no numbers are nan, as in the text. */
static void weigh_tile(const Attention *t, Pass *p, IrRef first, IrRef stage)
{
    const PlanProduct *o = t->m[1].p;
    const uint32_t n = o->steps * o->row_tiles;
    IrRef *scores = WBB_NEW_N(t->a, IrRef, plan_sums(t->m[0].p)), *weights = WBB_NEW_N(t->a, IrRef, n);
    IrRef *none = WBB_NEW_N(t->a, IrRef, n);
    for (uint32_t k = 0; k < n; k++)
        none[k] = ir_const(t->g, IR_TYPE(o->i->operands[t->of->weights]->shape->type, 3), 0);
    EmitIf seen = if_seen(t, first);
    find_scores(t, stage, scores);
    give_all(t, first, scores);
    pack_weights(t, first, weights);
    end_if_seen(t, &seen, n, none, weights);
    multiply(t, 1, stage, weights, p->sums);
}

static void one_tile(const Attention *t, Pass *p, IrRef iteration, IrRef stage)
{
    const IrRef first = rw_scale(t->rw, iteration, t->of->keys);
    if (p->last) {
        weigh_tile(t, p, first, stage);
        return;
    }
    IrRef *scores = WBB_NEW_N(t->a, IrRef, plan_sums(t->m[0].p));
    const uint32_t most = 2 * t->of->rows.n * t->rows + 1;
    IrRef *before = WBB_NEW_N(t->a, IrRef, most), *after = WBB_NEW_N(t->a, IrRef, most);
    const uint32_t n = pack(t, p, false, before);
    EmitIf seen = if_seen(t, first);
    find_scores(t, stage, scores);
    give_all(t, first, scores);
    add_terms(t, p->pass, first, p->acc);
    pack(t, p, false, after);
    end_if_seen(t, &seen, n, before, after);
    pack(t, p, true, after);
}

/* Iterations whose columns all exist. Each fills the place that is needed stages - 1 later. */
static void iterate(const Attention *t, Pass *p, IrRef *all, uint32_t n_all)
{
    const uint32_t n = p->last ? 2 : 1, before = t->of->stages - 1;
    const EmitProduct *m = &t->m[0];
    IrRef *brought = WBB_NEW_N(t->a, IrRef, emit_operand_groups(&t->brought[0]) + emit_operand_groups(&t->brought[1]));
    IrRef var;
    for (uint32_t s = 0; s < before; s++) {
        const IrRef first = ir_index(t->g, s);
        for (uint32_t k = 0; k < n && s < t->n; k++) copy(t, k, first, first);
        if (s < t->n) values(t, n, first, false, brought), store(t, n, first, false, brought);
        if (any_copied(t, n)) emit_product_copies(m, OP_COPY_COMMIT, 0);
    }
    /* Fragments that a branch alone uses would be loaded in it, each time: loops carry them. */
    const uint32_t n_left = t->of->causal ? t->m[0].p->steps * t->m[0].p->row_tiles : 0;
    IrRef *left = all + n_all;
    for (uint32_t k = 0; k < n_left; k++) left[k] = t->left[k];
    const EmitLoop l = emit_for(t->e, "k", t->n, n_all + n_left, all, &var);
    if (l.s) l.s->rolled = true;
    for (uint32_t k = 0; k < n_left; k++) t->left[k] = left[k];
    pack(t, p, true, all);
    const IrRef later = plus(t, var, before), next = rw_mod(t->rw, later, t->of->stages);
    values(t, n, emit_nearest(t->e, later, t->n), false, brought);
    if (any_copied(t, n)) emit_product_copies(m, OP_COPY_WAIT, before - 1);
    emit_barrier(t->e);
    for (uint32_t k = 0; k < n; k++) { /* keys that a mask hides are not needed */
        EmitIf more = emit_if(t->e, rw_compare(t->rw, OP_LT, later, ir_index(t->g, t->n)));
        const bool hides = t->of->causal && !k && !emit_never(&more);
        const IrRef first = rw_scale(t->rw, later, t->of->keys);
        EmitIf seen = emit_if(t->e, hides ? rw_compare(t->rw, OP_LE, first, t->of_block) : 0);
        if (!emit_never(&more) && !emit_never(&seen)) copy(t, k, emit_let(t->e, "i", later, 0, t->n - 1), next);
        emit_close_if(t->e, &seen);
        emit_close_if(t->e, &more);
    }
    if (any_copied(t, n)) emit_product_copies(m, OP_COPY_COMMIT, 0);
    one_tile(t, p, var, rw_mod(t->rw, var, t->of->stages));
    store(t, n, next, false, brought);
    pack(t, p, false, all);
    emit_end_for(t->e, &l, n_all + n_left, all);
    for (uint32_t k = 0; k < n_left; k++) t->left[k] = left[k];
    pack(t, p, true, all);
}

static void go_through(const Attention *t, Pass *p)
{
    const uint32_t n = p->last ? 2 : 1;
    const uint32_t n_left = t->m[0].p->steps * t->m[0].p->row_tiles;
    IrRef *all = WBB_NEW_N(t->a, IrRef, plan_sums(t->m[1].p) + 2 * t->of->rows.n * t->rows + n_left + 1);
    const uint32_t n_all = pack(t, p, false, all);
    /* The first copies go to all places but the last one; of the pass before, warps may still read the last tile. */
    const int64_t tiles = lay_up(plan_columns_of(t->of), t->of->keys);
    if (p->pass && tiles % t->of->stages) emit_barrier(t->e);
    if (t->n) iterate(t, p, all, n_all);
    if (plan_columns_of(t->of) % t->of->keys == 0) return;
    IrRef *rest = WBB_NEW_N(t->a, IrRef, emit_operand_groups(&t->brought[0]) + emit_operand_groups(&t->brought[1]));
    const IrRef iteration = ir_index(t->g, t->n), place = ir_index(t->g, t->n % t->of->stages); /* which is free */
    values(t, n, iteration, true, rest);
    store(t, n, place, true, rest);
    emit_barrier(t->e);
    one_tile(t, p, iteration, place);
}

static void find_statistics(Attention *t, uint32_t pass)
{
    const uint32_t n = t->of->rows.n;
    Pass p = {.pass = pass, .acc = WBB_NEW_N(t->a, IrRef *, 2 * n + 1)};
    for (uint32_t s = 0; s < n; s++) {
        const PlanStatistic *x = &t->of->rows.all[s];
        if (x->pass != pass) continue;
        p.acc[s] = WBB_NEW_N(t->a, IrRef, t->rows);
        if (x->base >= 0) p.acc[n + s] = WBB_NEW_N(t->a, IrRef, t->rows);
        for (uint32_t r = 0; r < t->rows; r++) {
            p.acc[s][r] = x->base >= 0 ? ir_const(t->g, f32, 0) : emit_rows_identity(&t->of_rows, x);
            if (x->base >= 0) p.acc[n + s][r] = finite(t, emit_rows_identity(&t->of_rows, &t->of->rows.all[x->base]));
        }
    }
    go_through(t, &p);
    finish(t, pass, p.acc);
}

static void store_results(const Attention *t, const IrRef *sums)
{
    const EmitProduct *m = &t->m[1];
    const IrRef rows = ir_index(t->g, plan_rows_of(t->of)), width = ir_index(t->g, plan_width_of(t->of));
    t->e->memo = (WbbMap){.arena = t->e->memo.arena};
    for (uint32_t r = 0; r < t->rows; r++) {
        EmitIf in_row = emit_if(t->e, rw_compare(t->rw, OP_LT, t->row[r], rows));
        emit_rows_give_known(&t->of_rows, r, t->row[r]);
        for (uint32_t o = 0; o < m->range->stages->n_outputs && !emit_never(&in_row); o++)
            for (uint32_t c = 0; c < 2 * m->p->column_tiles; c++) {
                const IrRef column = column_of(t, ir_index(t->g, 0), c);
                EmitIf inside = emit_if(t->e, rw_compare(t->rw, OP_LT, column, width));
                if (!emit_never(&inside))
                    emit_product_store(m, o, t->row[r], column, sums[r / 2 * m->p->column_tiles + c / 2],
                                       r % 2 * 2 + c % 2);
                emit_close_if(t->e, &inside);
            }
        emit_close_if(t->e, &in_row);
    }
}

/* The last columns of a causal mask. The number of the warp is a variable: rules leave it what all its lanes have. */
static void find_reach(Attention *t, IrRef block, IrRef warp)
{
    const int64_t rows = (int64_t)PLAN_TILE_ROWS * t->of->row_tiles, reach = t->of->reach - 1;
    const IrRef first = rw_scale(t->rw, block, plan_block_rows(t->of)), zero = ir_index(t->g, 0);
    const IrRef own = t->of->warps > 1 ? emit_variable(t->e, "w", warp, 0, t->of->warps - 1) : zero;
    const IrRef of_warp = plus(t, rw_add(t->rw, first, rw_scale(t->rw, own, rows)), rows + reach);
    const IrRef of_block = plus(t, first, plan_block_rows(t->of) + reach);
    t->last = rw_make(t->rw, OP_MAX, IR_TYPE(SC_INDEX, 0), 0, of_warp, zero, 0, 0);
    t->of_block = rw_make(t->rw, OP_MAX, IR_TYPE(SC_INDEX, 0), 0, of_block, zero, 0, 0);
}

static void find_lane(Attention *t, const PlanRange *range, IrRef bid, IrRef tid)
{
    const PlanAttention *of = t->of;
    const IrRef lane = rw_mod(t->rw, tid, 32), warp = rw_floordiv(t->rw, tid, 32), group = rw_floordiv(t->rw, lane, 4);
    IrRef block = rw_mod(t->rw, bid, of->row_blocks);
    if (of->causal) block = rw_sub(t->rw, ir_index(t->g, of->row_blocks - 1), block); /* the longest ones first */
    const IrRef batch = rw_floordiv(t->rw, bid, of->row_blocks);
    const IrRef first = rw_add(t->rw, rw_scale(t->rw, block, plan_block_rows(of)),
                               rw_scale(t->rw, warp, (int64_t)PLAN_TILE_ROWS * of->row_tiles));
    t->rows = 2 * of->row_tiles, t->tiles = of->of[0].column_tiles, t->n = plan_columns_of(of) / of->keys;
    for (uint32_t k = 0; k < 2; k++)
        t->m[k] = (EmitProduct){.e = t->e, .rw = t->rw, .g = t->g, .a = t->a, .p = &of->of[k], .range = range,
                                .tid = tid, .lane = lane, .batch = batch, .pair = rw_mod(t->rw, lane, 4),
                                .rows = t->rows, .turned = of->turned[k]};
    if (of->causal) find_reach(t, block, warp);
    t->row = WBB_NEW_N(t->a, IrRef, t->rows), t->near = WBB_NEW_N(t->a, IrRef, t->rows);
    for (uint32_t r = 0; r < t->rows; r++) {
        t->row[r] = rw_add(t->rw, first, plus(t, group, r / 2 * PLAN_TILE_ROWS + r % 2 * PLAN_TILE_ROWS / 2));
        t->near[r] = emit_nearest(t->e, t->row[r], plan_rows_of(of));
    }
}

void emit_attention(EmitValues *e, const PlanRange *range, IrRef bid, IrRef tid)
{
    const PlanAttention *of = range->attention;
    const uint32_t origin = e->g->making_origin;
    Attention t = {.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .of = of};
    e->g->making_origin = of->of[1].i->id + 1;
    find_lane(&t, range, bid, tid);
    t.of_rows = (EmitRows){.e = e, .rw = e->rw, .g = e->g, .a = e->arena, .of = &of->rows, .scores = &t.m[0],
                           .results = &t.m[1], .weights = of->weights, .columns = plan_columns_of(of), .rows = t.rows,
                           .near = t.near, .result = WBB_NEW_N(e->arena, IrRef *, of->rows.n + 1)};
    for (uint32_t k = 0; k < 2; k++) {
        const uint32_t operand = plan_brought(of, k);
        const PlanProduct *p = &of->of[k];
        t.brought[k] = (EmitOperand){.m = &t.m[k], .operand = operand, .bring = p->bring[operand],
                                     .side = k ? plan_warp_columns(p) : of->keys,
                                     .depth = k ? of->keys : plan_iteration(p), .stages = of->stages,
                                     .threads = (int64_t)32 * of->warps};
        emit_operand_begin(&t.brought[k], k ? "values" : "keys");
    }
    load_left(&t);
    e->reduced = range->reduced, e->inlines = true;
    for (uint32_t pass = 0; pass < of->rows.passes; pass++) find_statistics(&t, pass);
    if (of->quotient) find_reciprocals(&t);
    Pass last = {.pass = of->rows.passes, .last = true, .sums = WBB_NEW_N(e->arena, IrRef, plan_sums(&of->of[1]))};
    for (uint32_t k = 0; k < plan_sums(&of->of[1]); k++) last.sums[k] = ir_const(e->g, IR_TYPE(SC_F32, 2), 0);
    go_through(&t, &last);
    store_results(&t, last.sums);
    e->reduced = NULL, e->inlines = false;
    e->g->making_origin = origin;
}
