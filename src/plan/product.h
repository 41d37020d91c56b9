/* product.h: a dot whose products tensor cores add, with what comes before it and after it.
 *
 * The result has batches of rows x columns, and a result sums `depth` products. A warp has 16 * row_tiles rows and
 * 8 * column_tiles columns of one batch, and takes 16 * steps products of each in an iteration; a block is row_warps x
 * column_warps of these, and of each depth_warps, whose sums are added through shared memory. So that a lane has
 * neighbours in memory, whatever the order of the dimensions, it has of the warp's, with g = lane / 4 and t = lane % 4,
 *
 *     rows      2 * row_tiles * g ..         half h of tile n is row 2 * n + h of these
 *     columns   c * run .., of each 8 * run columns: tile n is column n % run of these, of columns number n / run; c is
 *               4 * (g % 2) + g / 2 for the right operand, and t and 4 + t for the two elements of the result
 *     products  4 * steps * t ..             of both operands: step s has 4 * s .. 4 * s + 3 of these
 *
 * which is one way to number what PTX ISA 9.7.14.5.8 says a lane has of each tile.
 *
 * With `stages` the block brings what an iteration needs to shared memory first, into one of so many places, and lanes
 * take what they have from there, in the order of PTX: rows 16 * n + g and 8 more, columns 8 * n + 2 * t and 1 more. A
 * tile has lines of elements that are neighbours in memory. Where those of the right operand lie along the products,
 * any column may be any line, and columns are numbered as above. Groups of eight elements of a line are turned
 * (plan_line_skew), so that the same group of eight lines in a row lies in eight different groups of four banks:
 *
 *     group c of line l of n groups lies at n * l + (c + l / skew) % n, in groups
 */
#ifndef PLAN_PRODUCT_H
#define PLAN_PRODUCT_H

#include "plan/row_statistics.h"

enum { PLAN_TILE_ROWS = 16, PLAN_TILE_COLUMNS = 8, PLAN_TILE_DEPTH = 16 };

/* How a block brings an operand to shared memory. */
typedef struct {
    bool side;   /* lines of a tile lie along the rows (columns) of the result, else along the products */
    bool copied; /* by asynchronous copies of 16 bytes; else its values are computed and stored */
} PlanBring;

typedef struct PlanProduct {
    const HloInstruction *i;
    HloProduct of;
    uint32_t row_tiles, column_tiles, steps, row_warps, column_warps;
    uint32_t column_run;  /* neighbours along the columns */
    uint32_t depth_warps; /* that share a result: each has every so many iterations; more than 1: these divide all */
    /* that share a result, each of which has a part of the products, and how many iterations of it divides that; the
     * last one to end adds their sums */
    uint32_t depth_blocks;
    bool ahead;           /* an iteration loads what the next one multiplies */
    uint32_t stages;      /* iterations whose tiles are in shared memory; 0: lanes have operands from memory */
    const TgTune *shared, *split; /* the rows that let operands go there, and parts of the products to several blocks */
    PlanBring bring[2];
    int64_t row_blocks, column_blocks;
    /* Reductions of rows of results (NULL: there are none), and whether an element of an output, or another one of
     * them, needs one: then a block has whole rows. Else the last block of a row combines what all have. */
    const PlanStatistics *rows;
    bool whole;
    double row_slots;           /* issue slots of their terms, of a result */
    const TgTune *of_rows;
} PlanProduct;

static inline int64_t plan_warp_rows(const PlanProduct *p) { return (int64_t)PLAN_TILE_ROWS * p->row_tiles; }
static inline int64_t plan_warp_columns(const PlanProduct *p) { return (int64_t)PLAN_TILE_COLUMNS * p->column_tiles; }
static inline uint32_t plan_tile_warps(const PlanProduct *p) { return p->row_warps * p->column_warps; }
static inline uint32_t plan_sums(const PlanProduct *p) { return p->row_tiles * p->column_tiles; } /* of a warp: tiles */
static inline int64_t plan_iteration(const PlanProduct *p) { return (int64_t)PLAN_TILE_DEPTH * p->steps; }
static inline int64_t plan_depth(const PlanProduct *p) { return p->of.depth / p->depth_blocks; } /* of a block */
/* products of a tile: of an iteration of all warps that share results, side by side */
static inline int64_t plan_tile_depth(const PlanProduct *p) { return plan_iteration(p) * p->depth_warps; }

/* Are columns of a tile neighbours? */
static inline bool plan_in_a_row(const PlanProduct *p) { return p->stages && p->bring[1].side; }
/* Do blocks share rows that are reduced? */
static inline bool plan_shares_rows(const PlanProduct *p) { return p->rows && p->column_blocks > 1; }
static inline int64_t plan_blocks(const PlanProduct *p)
{
    return p->of.batches * p->row_blocks * p->column_blocks * p->depth_blocks;
}

/* Of the tile of an operand: rows, or columns, of the block; elements of a line; lines; lines that are turned alike. */
enum {
    PLAN_GROUP = 8,   /* elements, of a copy */
    PLAN_COPY = 16,   /* its bytes */
    PLAN_AT_ONCE = 8, /* partial sums that a lane reads at once */
};
static inline int64_t plan_side(const PlanProduct *p, uint32_t operand)
{
    return operand ? plan_warp_columns(p) * p->column_warps : plan_warp_rows(p) * p->row_warps;
}
static inline int64_t plan_line(const PlanProduct *p, uint32_t operand)
{
    return p->bring[operand].side ? plan_side(p, operand) : plan_tile_depth(p);
}
static inline int64_t plan_tile(const PlanProduct *p, uint32_t operand)
{
    return plan_side(p, operand) * plan_tile_depth(p);
}
static inline int64_t plan_line_skew(int64_t line) { return WBB_MAX(PLAN_GROUP / (line / PLAN_GROUP), 1); }

/* product.c: the index of a result, 0 for a row or column: any; that at which an operand has its element in a row or
 * column, for product number k; how tiles bring the operands. */
void plan_product_result(RwCx *rw, const PlanProduct *p, IrRef batch, IrRef row, IrRef column, IrRef *to);
/* The index of its row, of that of a result. */
void plan_product_row(const PlanProduct *p, const IrRef *result, IrRef *to);
void plan_product_index(RwCx *rw, WbbArena *a, const PlanProduct *p, uint32_t operand, IrRef batch, IrRef free, IrRef k,
                        IrRef *to);
void plan_find_bring(RwCx *rw, WbbArena *a, PlanProduct *p, uint32_t align);
/* The parameter that has the elements of x, as they are, and the index there in place of that in x; NULL: none has. */
const HloInstruction *plan_source(RwCx *rw, WbbArena *a, const HloInstruction *x, IrRef *index);

/* Rows of patterns/strategies.py, read once for many prices: registers of a thread beside tiles, and all that it may
 * have; issue slots of an iteration, of the ring of tiles, of a copy; steps that follow each other; clocks of a sum
 * that another warp has; of a statistic of a row, what lanes combine. */
typedef struct { double regs, most_regs, slots, ring, copy, chain, parts, row_slots, row_chain; } PlanProductNumbers;
PlanProductNumbers plan_product_numbers(const TgTarget *t);

/* product_price.c: launch, latency, and the time, of a price whose other terms are known. */
void plan_add_up_product(const LayRates *r, LayPrice *x);
/* chooses tiles, warps and blocks, and leaves the price. */
void plan_product_choose(WbbArena *a, const Plan *plan, const TgTarget *t, PlanProduct *p, LayPrice *price);
void plan_print_product(WbbBuf *out, const PlanProduct *p);

#endif
