/* index: where each element comes from. Pure mathematics: no threads, no targets.
 *
 * An index of a shape is an array of rank nodes of type `index`, one a dimension, in logical order, each within its dimension.
 * Every node is made through the doors of rewrite.h, so it is born simplified.
 *
 *     IrRef i[2], j[2];
 *     ix_delinear(rw, shape, element, i);                    // logical index of a physical element number
 *     ix_operand(rw, arena, transpose, 0, i, j);             // where the transpose reads its operand
 *     load(arg, ix_linear(rw, operand->shape, j));           // physical element number of the operand
 *
 * A shape without elements has no index; whoever has one leaves out the code.
 */
#ifndef IX_INDEX_H
#define IX_INDEX_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "rewrite/rewrite.h"

extern const RwTables ix_tables; /* generated from patterns/indexing.py; what rw_new needs for index nodes */

/* linear.c: numbers of elements in the order in which they lie in memory (minor_to_major; row-major without a layout). */
IrRef ix_linear(RwCx *rw, const HloShape *s, const IrRef *index);
void ix_delinear(RwCx *rw, const HloShape *s, IrRef element, IrRef *index); /* element within 0 .. elements of s */
/* The index of the same element, counted row-major, in an array of other dimensions. Only dimensions that really mix are
 * linearised: [2,3,8,5] as [6,8,5] leaves the last two alone. The numbers of elements are equal and not 0. */
void ix_regroup(RwCx *rw, uint32_t from_rank, const int64_t *from_dims, const IrRef *from, uint32_t to_rank, const int64_t *to_dims,
                IrRef *to);

/* operand.c */
/* Does operand number `operand` of i have a map of its own: is the element that it needs a function of the output's index? */
bool ix_has_map(const HloInstruction *i, uint32_t operand);
/* The index `in` of the operand's element that element `out` of the result needs. [rank of the operand] */
void ix_operand(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand, const IrRef *out, IrRef *in);

/* maps.c: one line for every operand with a map:
 *     %t.0 transpose operand 0 %p: (d0, d1) -> (d1, d0), domain: d0 in [0, 19], d1 in [0, 9] */
void ix_print_maps(WbbBuf *out, RwCx *rw, WbbArena *a, const HloComputation *c);

#endif
