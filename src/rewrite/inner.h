/* What the files of rewrite/ share. */
#ifndef RW_INNER_H
#define RW_INNER_H

#include "rewrite/rewrite.h"

enum { MAX_VALUES = 256, MAX_KONSTS = 64, MAX_TYPES = 4, MAX_CHOICES = 64, MAX_PICKS = 16, TRACE_EVENTS = 4096 };

typedef enum {
#define WORD(name) W_##name,
#include "code.def"
#undef WORD
    W_COUNT
} Word;

/* What is left of a sum: built only when a condition or the right side asks. */
typedef struct {
    IrRef sum;
    uint32_t n_picks;
    uint32_t picks[MAX_PICKS];
} Rest;

/* What a match binds. Slots are written along one path of a trie, so that going back to a choice needs no undoing: whatever lies
 * behind it is written again before it is read. */
typedef struct {
    IrRef value[MAX_VALUES];
    WbbI128 konst[MAX_KONSTS];
    ScType type[MAX_TYPES];
    Rest rest;
    uint32_t rest_slot; /* slot of `rest` while it is not built; 0: none */
    IrRef picked_sum;
    uint32_t n_picks, picks[MAX_PICKS];
    uint32_t flags; /* that all matched nodes share */
    uint32_t rule;
    int64_t after; /* only rules behind this one are accepted; -1: all */
} Match;

struct RwCx {
    WbbCx *cx;
    WbbArena *arena;
    IrGraph *g;
    const RwTables *index, *target;
    bool approx;
    int stratum; /* of the running pass; -1: none */
    IrRef *normal; /* by ref: what a node becomes in this pass (index nodes: for ever); 0: not yet */
    uint32_t normal_room;
    uint32_t *counts[2]; /* firings by rule: [0] target, [1] index */
    uint8_t *disabled[2];
    RwEvent trace[TRACE_EVENTS];
    uint32_t n_events; /* all that ever happened */
    uint32_t depth;
    struct { RwAccess *items; uint32_t n, room; } accesses;
};

/* match.c: the first rule of `stratum` whose left side matches `root`; false if none. */
bool rw_match(RwCx *rw, const RwTables *t, RwStratum stratum, IrRef root, Match *m, const uint32_t **build);
/* build.c: the right side; 0 if constant arithmetic failed, which fails the rule. Selected tiles: `row` and operands instead. */
IrRef rw_build(RwCx *rw, const RwTables *t, IrRef root, Match *m, const uint32_t *build);
bool rw_konst(WbbI128 x, WbbI128 y, uint32_t fn, WbbI128 *result);
IrRef rw_rest(RwCx *rw, Match *m, uint32_t slot);
void rw_record(RwCx *rw, const RwTables *t, uint32_t rule, IrRef root, IrRef result);
void rw_out_of_fuel(RwCx *rw, IrRef at); /* rewriting does not end: our own bug; prints the last firings and aborts */
/* sweep.c */
bool rw_is_index(const IrGraph *g, IrRef r); /* built through the index tables */
uint8_t *rw_needed(RwCx *rw, WbbArena *a, const IrKernel *k); /* by ref: 1 if some statement needs it */
typedef IrRef (*RwMap)(void *arg, IrRef old);
void rw_map_statements(IrBlock *b, RwMap map, void *arg);
/* Statements and definitions of variables from old refs to made[old]; a definition that was not made anew stays. */
void rw_replace(IrKernel *k, IrRef *made);

#endif
