/* demand.h: nodes are emitted when the first statement needs one of them, operands before users, each in the scope that
 * the placement chose.
 *
 *     d = ir_demands(arena, graph, &places, open, emit, build);
 *     ir_demand(&d, s->condition, false);        // emit(build, node, scope) of what is not there yet
 */
#ifndef IR_DEMAND_H
#define IR_DEMAND_H

#include "ir/placement.h"

typedef void IrEmit(void *of, IrRef r, uint32_t scope);
typedef struct {
    IrGraph *g;
    WbbArena *arena;
    IrPlacement *places; /* scopes that are finished are taken off its lists */
    const bool *open;    /* by scope: its statements are being emitted */
    IrEmit *emit;
    void *of;
    bool *made;          /* by ref: it is emitted in a scope that is open */
    IrRefs stack;        /* nodes to emit */
} IrDemand;
IrDemand ir_demands(WbbArena *a, IrGraph *g, IrPlacement *places, const bool *open, IrEmit *emit, void *of);
/* Emits r and its operands where they are not available. address: r is the index of an access, whose sum is computed by
 * the address: the terms are emitted, not the sum. */
void ir_demand(IrDemand *d, IrRef r, bool address);
bool ir_is_made(const IrDemand *d, IrRef r); /* is its value there, in a scope that is open? */
/* What a `do` needs: the operands of its operation, and its indices. */
void ir_demand_operands(IrDemand *d, const IrStmt *s);
/* Calls of one function with the same arguments have one entry. */
WbbEntry *ir_call_entry(WbbMap *called, const IrGraph *g, IrRef call);

/* early.c: before statement `from` of the block of a scope: if this is the first of them that loads stand before, emits
 * what the statements from it on load, as far as that can be emitted now. Returns what is loaded so for later ones
 * alone. */
IrRefs ir_loads_first(IrDemand *d, const IrKernel *k, const IrBlock *block, uint32_t from, uint32_t scope);
/* early.c: emits the values of a store, and of those behind it to the same buffer: no load waits behind one of them. */
void ir_values_first(IrDemand *d, const IrBlock *block, uint32_t from);

#endif
