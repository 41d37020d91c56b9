/* inner.h: what the files of index/ share. */
#ifndef IX_INNER_H
#define IX_INNER_H

#include "index/index.h"

/* Which node replaces which: those that the caller sets, and every node that ix_rebuild has built from them since. */
typedef struct {
    RwCx *rw;
    const IrGraph *from; /* of the old nodes; NULL: that of rw */
    WbbMap nodes; /* by old node, the new one */
} IxSubstitution;

/* map.c */
void ix_substitute(IxSubstitution *s, IrRef from, IrRef to);
IrRef ix_substitute_of(const IxSubstitution *s, IrRef from); /* 0: none so far */
IrRef ix_rebuild(IxSubstitution *s, IrRef r); /* r with its nodes replaced, simplified by the functions of rewrite.h */
/* x * y, neither a constant, is the returned node times *coefficient. */
IrRef ix_product(IrGraph *g, IrRef x, IrRef y, WbbI128 *coefficient);
IrRef ix_variable(IrGraph *g, const char *name, int64_t lo, int64_t hi); /* a new graph variable */
void ix_map_insert(WbbArena *a, IxMap *m, IxVar v);                      /* after the variables of its kind */
/* The same map over new graph variables, with the names and intervals of vars [m->vars.n]; every node is built anew. */
IxMap *ix_map_renew(RwCx *rw, WbbArena *a, const IxMap *m, const IxVar *vars);
/* Sets used[i] to 1 for each variable i of m that an expression uses. */
void ix_map_uses(RwCx *rw, WbbArena *a, const IxMap *m, const IrRef *expressions, uint32_t n, uint8_t *used);
/* names d0, d1, .. in order, unless one of them has another name */
void ix_map_renumber(WbbArena *a, IxMap *m, IxKind kind);
bool ix_is_usual_name(const IxVar *v);                    /* d0, .. of a dimension, s0, .. of a range, rt0, .. */

/* map_solve.c: the variables with tightened intervals, and the constraints that say more than those; no results.
 * points: in constraints a variable of one value is replaced by it. */
IxMap *ix_map_solve(RwCx *rw, WbbArena *a, const IxMap *m, bool points);
WbbI128 ix_gcd(WbbI128 x, WbbI128 y); /* at least 0 */

#endif
