/* emit: decisions turned into IR. No rules are applied to elements here and no target is known; index nodes are born simplified.
 *
 *     IrKernel *k = emit_kernel(cx, arena, rw, &plan);
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
#include "index/index.h"
#include "ir/ir.h"
#include "partition/partition.h"

/* loop.c: the kernel of a loop fusion, in the graph of rw. Parameters are the plan's buffers in their order. A plan without
 * elements gives a kernel with grid 0 and nothing in it. Declines (size) a body that would need more than EMIT_MAX_NODES nodes. */
enum { EMIT_MAX_NODES = 200000 };
IrKernel *emit_kernel(WbbCx *cx, WbbArena *a, RwCx *rw, const PartPlan *plan);

/* value.c, element.c: the value of an instruction of the fusion at an index; a value asked for twice is made once. */
typedef struct EmitValues EmitValues;
EmitValues *emit_values(WbbCx *cx, WbbArena *a, RwCx *rw);
IrRef emit_value(EmitValues *e, const HloInstruction *i, const IrRef *index); /* index: [rank], logical */
IrRef emit_element(RwCx *rw, const HloInstruction *i, const IrRef *operands); /* one elementwise operation */
IrRef emit_leaf(RwCx *rw, const HloInstruction *i, const IrRef *index);       /* parameter, constant or iota */

#endif
