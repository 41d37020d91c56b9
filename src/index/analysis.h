/* What the files analysis_*.c share: maps on their way through a computation. */
#ifndef IX_ANALYSIS_H
#define IX_ANALYSIS_H

#include "index/access.h"
#include "index/inner.h"

/* More maps than this to one value are not told apart: what lies behind is unknown. */
enum { IX_MANY = 128, IX_STEPS = 1 << 20 /* of one walk: calls of calls can double at each level */ };

/* Maps to one value, an array or a leaf of a tuple; what reached it without a map makes it unknown. */
typedef struct {
    IxMap **items;
    uint32_t n, capacity;
    bool unknown;
} IxReached;

/* One graph variable for each name and interval (a run-time variable's also by where it stands), so that maps that came another way
 * to the same end are the same nodes. */
typedef struct {
    RwCx *rw;
    WbbArena *a;
    IrGraph *g;
    struct { IxVar *items; uint32_t n, capacity; } pool;
    uint32_t steps;
} IxFlow;

/* Where what a step finds is put: leaf l of value number k is at to[first[k] + l]. */
typedef struct {
    IxReached *to;
    uint32_t *first;
} IxSink;

/* analysis_step.c: from leaf `leaf` of i's result, reached by m, to the leaves of its operands; and from an operand's to i's. */
void ix_step_back(IxFlow *w, const HloInstruction *i, uint32_t leaf, const IxReached *from, IxSink sink);
void ix_step_on(IxFlow *w, const HloInstruction *i, uint32_t operand, uint32_t leaf, const IxReached *from, IxSink sink);
/* The map from a shape's leaf to itself, d0 .. to (d0, ..), physical: dimensions in the order of memory, major first. NULL: it has no elements. */
IxMap *ix_identity(IxFlow *w, const HloShape *s, bool physical);
void ix_reach(IxFlow *w, IxReached *r, IxMap *m); /* one more, unless it is there */

/* analysis.c */
void ix_flow_back(IxFlow *w, const HloComputation *c, IxReached *at, const uint32_t *first);
void ix_flow_on(IxFlow *w, const HloComputation *c, IxReached *at, const uint32_t *first);
/* For each instruction of c, where its leaves begin in a list of all; [n_instructions + 1], the last is their number. */
uint32_t *ix_leaf_numbers(WbbArena *a, const HloComputation *c);
/* Does the value of i come from a computation that is called once, with i's operands as its parameters? */
bool ix_is_call(const HloInstruction *i);

#endif
