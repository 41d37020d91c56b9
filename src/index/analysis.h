/* analysis.h: what analysis.c and analysis_flow.c share: the maps that reach a value of a computation. */
#ifndef IX_ANALYSIS_H
#define IX_ANALYSIS_H

#include "index/access.h"
#include "index/inner.h"

/* Limits. More maps to one value than this make it unknown; calls of calls may double the steps of a query at each
 * level. */
enum { IX_MAX_MAPS = 128, IX_MAX_STEPS = 1 << 20 };

/* The maps to one value, an array or a leaf of a tuple. unknown: some path to it has no map, or there are too many. */
typedef struct {
    IxMap **items;
    uint32_t n, capacity;
    bool unknown;
} IxReached;

/* The state of one query. pool: one graph variable for each name and interval (of a run-time variable also its source
 * and index), so that equal maps of different paths are equal nodes. */
typedef struct {
    RwCx *rw;
    WbbArena *a;
    IrGraph *g;
    struct { IxVar *items; uint32_t n, capacity; } pool;
    uint32_t steps;
} IxFlow;

/* Where a step adds maps: those of leaf l of operand or result k to to[first[k] + l]. */
typedef struct {
    IxReached *to;
    uint32_t *first;
} IxSink;

/* analysis_flow.c */
/* From leaf `leaf` of i's result, which the maps in `from` reach, to the leaves of its operands. */
void ix_step_back(IxFlow *w, const HloInstruction *i, uint32_t leaf, const IxReached *from, IxSink sink);
/* From leaf `leaf` of operand number `operand` to the leaves of i's result. */
void ix_step_forward(IxFlow *w, const HloInstruction *i, uint32_t operand, uint32_t leaf, const IxReached *from,
                     IxSink sink);
/* All steps of a computation, users before operands, or operands before users. at: the maps that reach each leaf;
 * first: where the leaves of each instruction begin in it (ix_leaf_numbers). */
void ix_flow_back(IxFlow *w, const HloComputation *c, IxReached *at, const uint32_t *first);
void ix_flow_forward(IxFlow *w, const HloComputation *c, IxReached *at, const uint32_t *first);
/* By instruction of c: the number of its first leaf among all leaves. [n_instructions + 1], the last is their count. */
uint32_t *ix_leaf_numbers(WbbArena *a, const HloComputation *c);
/* The map from an array to itself, (d0, ..) to (d0, ..); physical: d0, .. are the dimensions in the order of memory,
 * major first. NULL: a tuple, or no elements. */
IxMap *ix_identity(IxFlow *w, const HloShape *s, bool physical);
void ix_reach(IxFlow *w, IxReached *r, IxMap *m); /* adds m, unless r has it */

#endif
