/* placement.h: in which scopes each node of a selected kernel is evaluated, for the modules that write code of it. */
#ifndef IR_PLACEMENT_H
#define IR_PLACEMENT_H

#include "ir/scopes.h"

typedef struct IrScopeList {
    uint32_t scope;
    struct IrScopeList *next; /* in ascending order; no scope of a list encloses another */
} IrScopeList;
typedef struct {
    IrScope *items; /* those of `tree` */
    uint32_t n;
    IrScopes tree;
    IrScopeList **emitted; /* by ref: the scopes in which a node is emitted; NULL: no statement needs it */
    uint32_t *bound_in;    /* by ref: the innermost scope that binds a variable or value the node depends on */
    bool updates;          /* the kernel has an operation of a scatter */
} IrPlacement;

/* Is it worth a branch not to evaluate the selected instruction of which this is the `imm`? */
typedef bool IrCostly(const void *arg, uint64_t imm);
/* alone: no SM has a second block. */
IrPlacement ir_place(WbbArena *a, const IrKernel *k, IrCostly *costly, const void *arg, bool alone);
bool ir_is_placed_in(const IrPlacement *p, IrRef r, uint32_t scope);
/* The outermost scope to which a node that `scope` uses, bound in `bound`, can move: out of loops, and of branches with
 * them. */
uint32_t ir_hoisted(const IrPlacement *p, uint32_t scope, uint32_t bound);
uint32_t ir_count_scopes(const IrBlock *block); /* that its statements have inside it */

#endif
