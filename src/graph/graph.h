/* graph: HLO as nodes of src/ir: one operation on elements.
 *
 *     clamp(0.0, x, 6.0)   =>   min.f32(max.f32(x, 0.0), 6.0)
 */
#ifndef GR_GRAPH_H
#define GR_GRAPH_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "index/index.h"
#include "ir/ir.h"
#include "rewrite/rewrite.h"

/* element.c */
IrRef gr_element(RwCx *rw, const HloInstruction *i, const IrRef *operands); /* one elementwise operation, or a move */
/* HLO's convert; x itself where the types are equal */
IrRef gr_convert(IrGraph *g, ScType to, ScType from, IrRef x);
/* Signed integers that are the bits of floats: with all but the sign flipped below zero; its own inverse. */
IrRef gr_order_bits(IrGraph *g, ScType t, IrRef bits);
/* The total order of floats as that of integers, of *type, which becomes theirs. */
IrRef gr_order_key(IrGraph *g, ScType *type, IrRef x);
IrRef gr_leaf(RwCx *rw, const HloInstruction *i, const IrRef *index); /* constant or iota */
/* The number of an element of a literal, which is stored row by row, whatever the layout. */
IrRef gr_row_major(RwCx *rw, const HloShape *s, const IrRef *index);
/* rounding.c: operations that are arithmetic on a float's own bits */
ScType gr_unsigned(uint32_t bits); /* the unsigned integer type of that width */
IrRef gr_reduce_precision(RwCx *rw, ScType t, IrRef x, uint32_t exponent_bits, uint32_t mantissa_bits);
IrRef gr_stochastic_convert(RwCx *rw, ScType to, ScType from, ScType random, IrRef x, IrRef bits);

#endif
