/* product.h: what the files of products of matrices share: product_values.c, product_tiles.c and product.c. Each calls
 * those before it. */
#ifndef EMIT_PRODUCT_H
#define EMIT_PRODUCT_H

#include "emit/inner.h"
#include "plan/product.h"

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const PartProduct *p;
    const PartRange *range;
    IxNeeds needs;
    IrRef tid, lane;
    IrRef part, result;        /* which of the blocks that share results, and number of these blocks */
    IrRef start;               /* first product of the block */
    IrRef batch, row, column;  /* the first ones of the lane, of the warp's columns */
    IrRef first[2];            /* row and column of the block .. */
    IrRef of_warp[2];          /* .. and from there of the warp */
    IrRef group[3];            /* numbers of a tile's columns: of the right operand, and two of the result */
    IrRef pair, depth_warp;    /* lane % 4; which of the warps that share a result */
    uint32_t rows, depth;      /* of the lane; products of an iteration */
} EmitProduct;

/* product_values.c */
IrRef emit_product_plus(const EmitProduct *m, IrRef x, int64_t n);
/* The index [rank] of a result; 0 for a row or column: any. */
IrRef *emit_product_result(const EmitProduct *m, IrRef row, IrRef column);
/* The index [rank] at which an operand has its element in a row or column, for product number k. */
IrRef *emit_product_index(const EmitProduct *m, uint32_t operand, IrRef free, IrRef k);
/* The element. Rows, columns and products beyond the ends are computed at the nearest ones; such a product is 0. */
IrRef emit_product_element(const EmitProduct *m, uint32_t operand, IrRef free, IrRef k);
/* A step: row_tiles fragments of the left operand, then column_tiles of the right one. */
void emit_product_step(const EmitProduct *m, const IrRef *of, IrRef *sums);

/* product_tiles.c: all products, through tiles in shared memory. */
void emit_product_tiles(const EmitProduct *m, IrRef *sums);

#endif
