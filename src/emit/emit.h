/* emit: turns a plan into IR. No rules are applied to elements here and no target is known; index nodes are born
 * simplified.
 *
 *     IrKernel *k = emit_kernel(cx, arena, rw, &plan, &plan.kernels[0]);
 *
 *     kernel @gelu(%p0: bf16[12582912], %out: out bf16[12582912]) block 128 grid 12288 {
 *       let t = 128*bid + tid in 0..1572864
 *       for v in 0..8 lanes 8 {
 *         store %out[8*t + v], mul.bf16(load %p0[8*t + v], ..)
 *       }
 *     }
 */
#ifndef EMIT_EMIT_H
#define EMIT_EMIT_H

#include "base/base.h"
#include "graph/graph.h"
#include "index/index.h"
#include "ir/ir.h"
#include "plan/plan.h"

/* kernel.c: a kernel of a plan, in the graph of rw. Parameters are the plan's buffers in their order. A plan without
 * elements gives an empty kernel with grid 0. Declines (size) a body of more than EMIT_MAX_NODES nodes: a
 * bound on memory and time. */
enum { EMIT_MAX_NODES = 4000000 };
IrKernel *emit_kernel(WbbCx *cx, WbbArena *a, RwCx *rw, const Plan *plan, const PlanKernel *kernel);
/* share_terms.c: does a sum take products before they are rounded? Those of a thread are added one after the other. */
bool emit_contracts(const HloInstruction *reduce);
/* order.c: the order in which a stage combines the terms of one of its reductions, for kernel.json. */
const char *emit_order(WbbArena *a, const PlanStage *s, const PlanReduce *reduce);
/* .. of i, whose terms are those of parts (share_rows_columns.c), combined under the first layout, and then of these,
 * under the second one; NULL: it has no such text. */
const char *emit_order_across(WbbArena *a, const HloInstruction *i, const Layout *rows, const Layout *parts);
const char *emit_scan_order(WbbArena *a, const PlanStage *s, const PlanReduce *reduce);
/* row_order.c: statistic number n of the rows of a range that is a product, or attention, and how it combines its terms
 * (NULL: in no order that text can say); NULL: there is none. */
const HloInstruction *emit_row_order(WbbArena *a, const PlanRange *r, uint32_t n, const char **text);
/* names.c */
const char *emit_identifier(WbbArena *a, const char *wish); /* letters, digits and '_', no digit first */

/* value.c: the value of an instruction of the fusion at an index; one that is asked for twice is computed once.
 * Statements that it needs go to the end of the open block. */
typedef struct EmitValues EmitValues;
/* the kernel's body is open */
EmitValues *emit_values(WbbCx *cx, WbbArena *a, RwCx *rw, IrKernel *k, const Plan *plan,
                        const PlanKernel *kernel);
IrRef emit_value(EmitValues *e, PlanValue v, const IrRef *index);             /* index: [rank], logical */
/* memory.c: an element of a buffer of the kernel */
IrRef emit_load(RwCx *rw, ScType type, uint32_t buffer, IrRef offset);
/* An element of a constant with too many elements for selects: from buffer number `table` of the kernel, row by row. */
IrRef emit_table_element(RwCx *rw, const HloShape *s, uint32_t table, const IrRef *index);

#endif
