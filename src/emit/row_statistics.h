/* row_statistics.h: values that follow from results of a product, and statistics of its rows (plan/row_statistics.h),
 * for the lanes that have the results: four neighbouring lanes of a warp have a row. */
#ifndef EMIT_ROW_STATISTICS_H
#define EMIT_ROW_STATISTICS_H

#include "emit/product.h"
#include "plan/row_statistics.h"

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const PlanStatistics *of;
    const EmitProduct *scores, *results; /* whose rows they are; from whose results outputs follow (or the same) */
    uint32_t weights;                    /* which operand of `results` chains begin with that begin with no output */
    int64_t columns;
    uint32_t rows;     /* of the lane */
    const IrRef *near; /* [rows] the nearest ones that exist */
    IrRef **result;    /* [statistics][rows] what is known of them: f32 */
} EmitRows;

IrRef emit_rows_node(const EmitRows *t, ScOp op, IrRef x, IrRef y); /* of f32 */
/* The nearest column; and the value of a column, or the other one where the column is none. */
IrRef emit_rows_nearest(const EmitRows *t, IrRef column);
IrRef emit_rows_if_column(const EmitRows *t, IrRef column, IrRef value, IrRef other);
/* The index [rank] of an operand of `results`, and at the end of a chain, for a row and column. */
IrRef *emit_rows_weight(const EmitRows *t, IrRef row, IrRef column);
IrRef *emit_rows_index(const EmitRows *t, const PlanChain *c, IrRef row, IrRef column);

/* From now on the result at a row and column is known, which is a lane of a sum; a statistic of row number r of the
 * lane; all statistics that have a result, of a row. */
void emit_rows_give(const EmitRows *t, uint32_t r, IrRef column, IrRef sum, uint32_t lane);
void emit_rows_give_one(const EmitRows *t, const PlanStatistic *s, IrRef row, IrRef x);
void emit_rows_give_known(const EmitRows *t, uint32_t r, IrRef row);

IrRef emit_rows_identity(const EmitRows *t, const PlanStatistic *s);
/* The terms of row number r at these columns, combined: neighbours, then neighbours of these. A column that is none has
 * none. */
IrRef emit_rows_terms(const EmitRows *t, const PlanStatistic *s, uint32_t r, const IrRef *columns, uint32_t n);
/* The four lanes of a row combine what they have. */
IrRef emit_rows_of_lanes(const EmitRows *t, ScOp op, IrRef x);
/* The result, of all terms combined: with the initial value on the left, rounded to its type. */
IrRef emit_rows_result(const EmitRows *t, const PlanStatistic *s, IrRef x);

#endif
