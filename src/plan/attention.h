/* attention.h: two products of matrices in one kernel: the scores, of which each row is weighed, and the results, which
 * sum so weighted rows of a third matrix.
 *
 *     s = q k'    p = rounded(exp(s - max of its row) / sum over its row)    o = p v
 *
 * A block has rows of one batch, its warps 16 * row_tiles of these each, with their fragments of q in registers. It
 * goes several times through tiles of `keys` columns of the scores: in each pass but the last one it combines terms of
 * statistics, reductions of rows whose terms need scores and results of earlier passes; in the last one it computes the
 * weights, as the text rounds them, and multiplies. Lane 4 g + t has of a tile of scores rows g and g + 8, columns 2 t
 * and 2 t + 1: what tensor cores leave there is what they take as the left matrix, so weights stay in registers.
 */
#ifndef PLAN_ATTENTION_H
#define PLAN_ATTENTION_H

#include "plan/product.h"
#include "plan/row_statistics.h"

typedef struct PlanAttention {
    PlanProduct of[2]; /* the scores, the results */
    bool turned[2];    /* rows are those of the right operand */
    uint32_t weights;  /* which operand of the results the weights are */
    /* A quotient by a sum of exponentials on the way to the weights, the number of that sum, and the way to it; NULL:
     * there is none, or it must be rounded itself. */
    const HloInstruction *quotient;
    uint32_t divisor;
    PlanChain to_quotient;
    PlanStatistics rows; /* of scores */
    /* Scores of columns beyond row + reach are -inf, of which no maximum and no sum of exponentials knows: tiles of
     * these alone are left out, but for the first, where a row without any score shows. */
    bool causal;
    int64_t reach;
    uint32_t warps, row_tiles, stages;
    int64_t keys, row_blocks;
    PlanCost *work; /* [passes + 1] of an element of a pass */
    const TgTune *shared, *within; /* the rows that let operands go to shared memory, and sums have any base */
} PlanAttention;

static inline int64_t plan_rows_of(const PlanAttention *t)
{
    return t->turned[0] ? t->of[0].of.columns : t->of[0].of.rows;
}
static inline int64_t plan_columns_of(const PlanAttention *t)
{
    return t->turned[0] ? t->of[0].of.rows : t->of[0].of.columns;
}
/* Columns of the results. */
static inline int64_t plan_width_of(const PlanAttention *t)
{
    return t->turned[1] ? t->of[1].of.rows : t->of[1].of.columns;
}
static inline int64_t plan_block_rows(const PlanAttention *t)
{
    return (int64_t)PLAN_TILE_ROWS * t->row_tiles * t->warps;
}
static inline int64_t plan_attention_blocks(const PlanAttention *t) { return t->of[0].of.batches * t->row_blocks; }
/* The operand of product k that tiles bring: keys, values. */
static inline uint32_t plan_brought(const PlanAttention *t, uint32_t k) { return k ? !t->weights : !t->turned[0]; }

/* attention.c */
void plan_print_attention(WbbBuf *out, const PlanAttention *t);
/* attention_price.c: chooses tiles and warps, and leaves the price; false: no block may have them. */
bool plan_attention_choose(WbbArena *a, const Plan *plan, const TgTarget *target, PlanAttention *t,
                           LayPrice *price);

#endif
