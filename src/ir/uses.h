/* uses.h: what one statement uses and binds: the walk that every pass stands on, so that no pass has to know the kinds
 * of statements.
 *
 *     for (IrUses u = ir_uses(g, s); ir_next_use(&u);) need(u.ref);
 *     for (IrDefs d = ir_defs(s); ir_next_def(&d);) bind(d.is_variable, d.number);
 *
 * The statements in its blocks have uses and definitions of their own.
 */
#ifndef IR_USES_H
#define IR_USES_H

#include "ir/ir.h"

/* Where a statement needs a node, or where what it binds is in scope: in front of it or after it; in its body, or at
 * the end of that; at the end of its other branch. */
typedef enum { IR_OUTSIDE, IR_BODY, IR_OTHERWISE } IrWhere;
#define IR_NO_RESULT UINT32_MAX

typedef struct {
    IrRef ref;
    IrRef *at;       /* where the ref is written */
    IrWhere where;
    uint32_t result; /* number of the result that the node becomes; or IR_NO_RESULT */
    bool definition; /* of the variable that the statement binds: written in the variable, not in the statement */
    const IrGraph *g;
    const IrStmt *s;
    uint32_t next;
} IrUses;

typedef struct {
    bool is_variable;
    uint32_t number; /* of the variable, or of the value */
    IrWhere where;
    uint32_t result; /* number of the result that this is the value of; of a variable IR_NO_RESULT */
    const IrStmt *s;
    uint32_t next;
} IrDefs;

static inline IrUses ir_uses(const IrGraph *g, const IrStmt *s) { return (IrUses){.g = g, .s = s}; }
bool ir_next_use(IrUses *u); /* false: there is none left */

static inline IrDefs ir_defs(const IrStmt *s) { return (IrDefs){.s = s}; }
bool ir_next_def(IrDefs *d);

static inline bool ir_binds_variable(const IrStmt *s) { return s->kind == IR_FOR || s->kind == IR_BIND; }
static inline bool ir_is_loop(const IrStmt *s) { return s->kind == IR_FOR || s->kind == IR_REPEAT; }
static inline bool ir_has_blocks(const IrStmt *s) { return ir_is_loop(s) || s->kind == IR_IF; }
/* An `if` without statements, as vector/rare.c makes: it has results, and nothing else. */
static inline bool ir_only_chooses(const IrStmt *s) { return s->kind == IR_IF && !s->body.n && !s->otherwise.n; }
/* An operation on memory that is for others than the kernel's own threads: of a scatter. */
static inline bool ir_is_update(const IrKernel *k, const IrStmt *s)
{
    const IrBuffer *b = &k->buffers[s->buffer];
    return s->kind == IR_DO && s->index && ir_is_changed(b) && b->space != IR_SHARED && !b->zeroed;
}

#endif
