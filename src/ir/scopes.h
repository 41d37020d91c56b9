/* scopes.h: the tree of scopes: where a variable, a value or a node may be used.
 *
 * A scope is a block of the kernel; scope 0 encloses all others. The bodies of functions follow, then the body of the
 * kernel, each before the blocks inside it: scopes have the numbers of their blocks in the text. emit/ opens scopes as
 * it goes, one more at each binding: the rest of the block from there on.
 *
 *     if c {  let d = i - 3 in 0..8   yield load %p[d]  }      d and the load: from statement 1 of the branch on
 */
#ifndef IR_SCOPES_H
#define IR_SCOPES_H

#include "ir/uses.h"

typedef struct {
    uint32_t parent, depth;
    uint32_t blocks;      /* around it: fewer than its depth where bindings have scopes of their own */
    uint32_t root;        /* the body around it: the scope of depth 1 */
    uint32_t partner;     /* of a branch: the other branch; else 0 */
    uint32_t stmt;        /* number, in its parent, of the statement that the block is part of */
    const IrStmt *of;     /* that statement; NULL: a body */
    IrBlock *block;
    bool loop;            /* the body of a loop */
    bool open;            /* of those who open and close scopes as they go: the current scope is in it */
} IrScope;

/* From a statement of a block on; the number of its statements: at its end. */
typedef struct {
    uint32_t scope, stmt;
} IrPlace;

typedef struct {
    WbbArena *arena;
    struct { IrScope *items; uint32_t n, capacity; } scopes;
    IrPlace *variables, *values; /* by number: from where on each is bound; of unbound ones scope 0 */
} IrScopes;

IrScopes ir_scopes(WbbArena *a, const IrKernel *k); /* of a whole kernel */
IrScopes ir_scopes_of_block(WbbArena *a, const IrGraph *g, const IrBlock *b); /* of one body, which is scope 1 */
uint32_t ir_open_scope(IrScopes *t, uint32_t parent, const IrStmt *of, IrBlock *b);
/* Closes all scopes of `from` and opens all of `to`, which then is the current one. */
void ir_switch_scope(IrScopes *t, uint32_t from, uint32_t to);
uint32_t ir_common_scope(const IrScopes *t, uint32_t x, uint32_t y); /* the innermost that encloses both */
IrPlace ir_common_place(const IrScopes *t, IrPlace x, IrPlace y);    /* the last one that is before both */
/* Is what is bound at `bound` in scope at `use`? */
bool ir_is_visible(const IrScopes *t, IrPlace bound, IrPlace use);

#endif
