/* What the files of index/ share. */
#ifndef IX_INNER_H
#define IX_INNER_H

#include "index/index.h"

/* Nodes and what becomes of them: from variables to what is put there, and every node built anew since. */
typedef struct {
    RwCx *rw;
    WbbMap nodes; /* by old node, the new one */
} IxSwap;

/* map.c */
void ix_swap(IxSwap *s, IrRef from, IrRef to);
IrRef ix_swapped(const IxSwap *s, IrRef from); /* 0: not yet */
IrRef ix_rebuild(IxSwap *s, IrRef r);         /* r with what was swapped, through the doors */
IrRef ix_product(IrGraph *g, IrRef x, IrRef y, WbbI128 *coefficient); /* x * y, neither constant, is the result times coefficient */
IrRef ix_variable(IrGraph *g, const char *name, int64_t lo, int64_t hi); /* a new graph variable */
void ix_map_insert(WbbArena *a, IxMap *m, IxVar v);                      /* where its kind stands */
/* The same map over new graph variables with the names and intervals of vars[m->vars.n], everything built anew. */
IxMap *ix_map_renew(RwCx *rw, WbbArena *a, const IxMap *m, const IxVar *vars);
/* used[i] |= does an expression use variable i of m? */
void ix_map_uses(RwCx *rw, WbbArena *a, const IxMap *m, const IrRef *expressions, uint32_t n, uint8_t *used);
void ix_map_renumber(WbbArena *a, IxMap *m, IxKind kind); /* d0, d1, .. in order, unless one of them has a name of its own */
bool ix_is_usual_name(const IxVar *v);                    /* d0, s0, rt0, .. by its kind */

/* map_solve.c: the variables, and the constraints that say more than their intervals; no results. `points`: a variable of one value
 * is that value in them. */
IxMap *ix_map_solve(RwCx *rw, WbbArena *a, const IxMap *m, bool points);
WbbI128 ix_gcd(WbbI128 x, WbbI128 y); /* at least 0 */

#endif
