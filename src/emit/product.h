/* product.h: what the files of products of matrices share: product_values.c, product_operand.c, product_tiles.c,
 * product_rows.c, product.c and attention.c. */
#ifndef EMIT_PRODUCT_H
#define EMIT_PRODUCT_H

#include "emit/inner.h"
#include "plan/product.h"

typedef struct {
    EmitValues *e;
    RwCx *rw;
    IrGraph *g;
    WbbArena *a;
    const PlanProduct *p;
    const PlanRange *range;
    IrRef tid, lane;
    IrRef part, result;        /* which of the blocks that share results, and number of these blocks */
    IrRef start;               /* first product of the block */
    IrRef batch, row, column;  /* the first ones of the lane, of the warp's columns */
    IrRef first[2];            /* row and column of the block .. */
    IrRef of_warp[2];          /* .. and from there of the warp */
    IrRef group[3];            /* numbers of a tile's columns: of the right operand, and two of the result */
    IrRef pair, depth_warp;    /* lane % 4; which of the warps that share a result */
    uint32_t rows, depth;      /* of the lane; products of an iteration */
    bool turned;               /* what is called a row is a column of the dot, and the other way round */
} EmitProduct;

/* An operand of a product in shared memory, `stages` tiles of it that a block's threads bring. */
typedef struct {
    const EmitProduct *m;
    uint32_t operand; /* of the dot */
    bool left;        /* tensor cores take it as the left matrix */
    uint32_t run;     /* lines along the products are columns, of which a lane has so many neighbours; 0: as they are */
    PlanBring bring;
    int64_t side, depth, stages, threads; /* rows or columns of a tile, and its products */
    uint32_t buffer;
    ScType type;
} EmitOperand;

/* Where a tile begins: a row or column, and a product. */
typedef struct {
    IrRef free, k;
} EmitCorner;

/* A result of a lane's row: its column, and which lane of which sum it is. */
typedef struct {
    IrRef column;
    uint32_t sum, lane;
} EmitResult;

/* product_values.c */
IrRef emit_product_plus(const EmitProduct *m, IrRef x, int64_t n);
/* Row number r of the lane; column number `group` of tile n of the warp; result number c of row number r. */
IrRef emit_product_row(const EmitProduct *m, uint32_t r);
IrRef emit_product_column(const EmitProduct *m, uint32_t n, IrRef group);
EmitResult emit_product_at(const EmitProduct *m, uint32_t r, uint32_t c);
/* The index [rank] of a result; 0 for a row or column: any. */
IrRef *emit_product_result(const EmitProduct *m, IrRef row, IrRef column);
/* The index [rank] at which an operand has its element in a row or column, for product number k. */
IrRef *emit_product_index(const EmitProduct *m, uint32_t operand, IrRef free, IrRef k);
/* The element. Rows, columns and products beyond the ends are computed at the nearest ones; such a product is 0. */
IrRef emit_product_element(const EmitProduct *m, uint32_t operand, IrRef free, IrRef k);
/* A step: row_tiles fragments of the left operand, then column_tiles of the right one. */
void emit_product_step(const EmitProduct *m, const IrRef *of, IrRef *sums);

/* Of two fragments of the right operand that are read together, number k. */
IrRef emit_product_half(const EmitProduct *m, IrRef two, uint32_t k);
/* Ends a group of asynchronous copies, or waits until so many of them are left. */
void emit_product_copies(const EmitProduct *m, ScOp op, uint64_t left);
/* product_operand.c */
void emit_operand_begin(EmitOperand *t, const char *name); /* makes its buffer */
/* Groups of eight elements that a thread brings; the last one not of all threads, where they do not divide a tile. */
uint32_t emit_operand_groups(const EmitOperand *t);
void emit_operand_copy(const EmitOperand *t, EmitCorner first, IrRef stage); /* by copies of 16 bytes */
/* The values of a tile that the thread brings, [groups]; and their way there. */
void emit_operand_values(const EmitOperand *t, EmitCorner first, IrRef *to);
void emit_operand_store(const EmitOperand *t, IrRef stage, const IrRef *of);
/* The same of n operands, one behind the other; all: of those that are copied, too. */
void emit_operands_values(const EmitOperand *of, const EmitCorner *first, uint32_t n, bool all, IrRef *to);
void emit_operands_store(const EmitOperand *of, uint32_t n, IrRef stage, bool all, const IrRef *values);
/* A fragment of the left matrix, 16 rows from the first one on, or two of the right one, 16 columns; step: which 16
 * products of the tile. */
IrRef emit_operand_read(const EmitOperand *t, IrRef stage, IrRef first, IrRef step);

/* product_tiles.c: all products, through tiles in shared memory. */
void emit_product_tiles(const EmitProduct *m, IrRef *sums);

/* product.c: stores the element of output number o of the stage at a result; lane: which part of the sum it has. */
void emit_product_store(const EmitProduct *m, uint32_t o, IrRef row, IrRef column, IrRef sum, uint32_t lane);

#endif
