/* scatter.h: what the files of scatters have in common: how updates are combined before they go to memory.
 *
 *     scatter.c        the launches, and how updates are combined with their elements
 *     atomic.c         how many updates one instruction combines
 *     scatter_price.c  how many one thread does
 *     scatter_cells.c  and whether a block does
 */
#ifndef PLAN_SCATTER_H
#define PLAN_SCATTER_H

#include "plan/plan.h"

/* Of a scatter with many updates for each element: a block combines its own in cells of shared memory, and what these
 * have with the elements. The result is `rows` of `width` elements side by side, of which each window is one. There are
 * as many rows of cells, each of `columns` cells: element e of the updates goes to column e % columns. */
typedef struct PlanCells {
    ScType type;      /* of a cell: wider than the element's where that rounds less */
    int64_t rows, width, columns;
    int64_t unroll;   /* cells that a thread reads before it combines them, where it has so many */
    bool own;         /* no two threads have a cell in common; else it is updated by .. */
    ScOp atomic;
    const char *why;
} PlanCells;

/* scatter_price.c: how many neighbours of sorted updates a thread combines before it goes to memory; 1: none. *price is
 * that of the launch then; us 0: the target states no rates. */
uint32_t plan_update_run(WbbArena *a, const Plan *p, const TgTarget *t, const PlanStage *s, const char **why,
                         struct LayPrice *price);
/* scatter_cells.c: may a block combine the updates of a stage in shared memory first? In less than so many
 * microseconds: gives the stage cells and the kernel a layout. */
bool plan_cells_may_be(const Plan *p, const PlanStage *s);
void plan_choose_cells(WbbArena *a, const Plan *p, const TgTarget *t, PlanKernel *k, double us);
/* The cells of a layout that was given; NULL: it can have none. */
const PlanCells *plan_cells_of(WbbArena *a, const TgTarget *t, const PlanStage *s, const Layout *l);
/* atomic.c: may updates of an element be combined with each other before they are with the element? */
bool plan_may_combine(const PlanStage *s);
/* How many updates of a row one instruction combines with neighbours in memory. */
uint32_t plan_update_lanes(const Plan *p, const TgTarget *t, const PlanStage *s);
/* Takes an update of 16 bits fewer instructions with its neighbour, to which -0 is added? */
bool plan_update_in_pair(const Plan *p, const TgTarget *t, const PlanStage *s);

/* scatter.c: for --explain */
void plan_print_scatter(WbbBuf *out, const PlanStage *s);

#endif
