/* row_statistics.h: reductions of rows of a product's results, whose terms lanes have in registers.
 *
 *     m = max of d's row    l = sum of exp(d - m) of its row    =>    pass 0: m; pass 1: l, whose terms need m
 *
 * A term follows, element by element and through views, from the result of its row and column, from what needs no
 * result, and from other reductions of the row. So a walk from the values that are wanted down to the product has an
 * index for each value, made of variables for batch, row and column; one that has several is needed by no such kernel.
 */
#ifndef PLAN_ROW_STATISTICS_H
#define PLAN_ROW_STATISTICS_H

#include "plan/strategies.h"

/* From a value, or from an output's root, down: path[k + 1] is operand operands[k] of path[k]; of a reduction the
 * operand at one of its terms. */
typedef struct {
    int32_t output; /* -1: from the value */
    const HloInstruction **path;
    uint32_t *operands, n;
} PlanChain;

/* A reduction of rows: the greatest or least value, or a sum, in f32. */
typedef struct {
    const HloInstruction *i;
    ScOp op;
    uint32_t pass;
    int32_t base; /* of a sum of exp(x - m): the statistic m, found in the same pass; -1: there is none */
    PlanChain way;
} PlanStatistic;

typedef struct {
    PlanChain way;      /* to the product's results */
    PlanStatistic *all; /* in the order in which one needs another */
    uint32_t n, passes; /* each is in the first pass that has what its terms need */
} PlanStatistics;

/* The walk. */
typedef struct {
    PlanTry *x;
    WbbArena *a;
    RwCx *rw;
    const HloComputation *body;
    const HloInstruction *of, *last; /* the product; another one, below which the walk does not go (NULL: none) */
    const HloInstruction *value;     /* where chains begin that begin with no output */
    int64_t columns;
    IrRef row, column;
    bool *needs;       /* by id: it needs the product */
    IrRef **seen;      /* by id: the index at which it is needed */
    uint32_t *from;    /* by id: 1 + the id of what needs it there .. */
    uint32_t *operand; /* .. as this operand */
    int32_t *output;   /* by id of a root: which output it was taken for */
} PlanRows;

PlanRows plan_rows(PlanTry *x, const HloInstruction *of, const HloInstruction *last);
/* A variable of n values; 0 of one value. */
IrRef plan_rows_variable(const PlanRows *w, IxMap *variables, int64_t n);
/* x is needed at this index as an operand of i (NULL: it is where the walk begins); false: it was at another one. */
bool plan_rows_need(PlanRows *w, const HloInstruction *x, const IrRef *index, const HloInstruction *i,
                    uint32_t operand);
/* Begins with the roots of outputs of a stage, at the elements that follow from a result, or from a row. */
bool plan_rows_need_outputs(PlanRows *w, const Plan *plan, const PlanStage *s, const IrRef *result, const IrRef *row);
/* From there down to the product; is that needed at this index [rank]? *found: it is not, but at another one. */
bool plan_rows_follow(PlanRows *w, const IrRef *at, bool *found);
PlanChain plan_rows_way(const PlanRows *w, const HloInstruction *x);
/* least: columns from which on a sum of exponentials may be relative to any number (products.md). */
PlanStatistics plan_rows_statistics(const PlanRows *w, int64_t least);
/* What a value of rows is through moves, and through maxima with -inf. */
const HloInstruction *plan_row_source(const HloInstruction *x);
/* Issue slots of an element, and of the unit of exponentials: of what lies between terms of a pass, and values that are
 * marked by id, and results and statistics. cheap: one operation, whatever it is. */
PlanCost plan_rows_work(const PlanRows *w, const PlanStatistics *s, uint32_t pass, bool *used,
                        const HloInstruction *cheap);
/* The index at the end of a chain, from that at its beginning; column: of a term. */
void plan_chain_index(RwCx *rw, WbbArena *a, const PlanChain *c, const IrRef *from, IrRef column, IrRef *to);

#endif
