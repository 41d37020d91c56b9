/* What the files of eval/ share: how a run is held together.
 *
 * Evaluation is by demand, a block of elements at a time. A set is a list of positions; `ev_demand` gives the lanes of an
 * instruction at a set: one element for each position, in the set's order. Everything made for a block is dropped with it.
 */
#ifndef EV_INNER_H
#define EV_INNER_H

#include "eval/eval.h"

/* Positions start, start + 1, .. (list NULL) or list[0], list[1], ..; equal sets of one block are one pointer. */
typedef struct EvSet {
    int64_t n, start;
    const int64_t *list;
    uint64_t hash;
    struct EvSet *next;
} EvSet;

/* What is known of one instruction: its lanes at a set. `set` NULL: all elements. */
typedef struct EvMemo {
    const EvSet *set;
    uint32_t leaf;
    void *data;
    struct EvMemo *next;
} EvMemo;

/* One use of a computation: the one evaluated, or one that a fusion or call instruction of `caller` names. */
typedef struct EvFrame {
    const HloComputation *c;
    struct EvFrame *caller;
    const HloInstruction *call;
    struct EvFrame **callee; /* by instruction; made when first needed */
    EvMemo **memo;           /* by instruction; of this block */
    EvMemo **kept;           /* by instruction; of the whole run */
    struct EvFrame *origin;  /* the same use in the run that this one is part of; NULL if this is it */
    struct EvFrame *next;
} EvFrame;

/* An array: an instruction in a frame, and which leaf of it where it has several. */
typedef struct {
    EvFrame *frame;
    const HloInstruction *i;
    uint32_t leaf;
} EvRef;

/* Work that waits for its operands. `state` is the operation's own. */
typedef struct EvTask {
    EvRef ref;
    const EvSet *set;
    void *state;
    struct EvTask *below;
} EvTask;

enum { EV_SLAB = 1 << 20, EV_BUCKETS = 1024, EV_BLOCK = 8192, EV_MANY = 1 << 16, EV_PATH = HLO_NESTING_LIMIT };

/* Memory for lanes and lists: used again by each block. */
typedef struct EvSlab {
    char *bytes;
    size_t room, used;
    struct EvSlab *next;
} EvSlab;

typedef struct Ev {
    WbbCx *cx;
    WbbArena *arena; /* of the run, its own */
    WbbArena *block; /* NULL between blocks */
    struct Ev *part; /* the run inside this one that is going on; NULL if none */
    EvMode mode; /* EV_BOUNDS for EV_BOUNDS_APPROX as well */
    bool approx;
    const void *const *inputs;
    EvSlab *slabs, *slab; /* all; the one in use, those behind it are free */
    EvFrame *root, *frames;
    EvTask *top;
    EvSet *buckets[EV_BUCKETS];
} Ev;

/* demand.c */
Ev *ev_new(WbbCx *cx, const HloComputation *c, const void *const *inputs, EvMode mode);
Ev *ev_part(Ev *whole); /* a run of its own, over what `whole` keeps; in an arena of its own */
void ev_part_end(Ev *whole);
void ev_free(Ev *e); /* a run, with what it has left if it failed: its block, its part */
EvRef ev_part_ref(Ev *part, EvRef of_whole);
void ev_begin(Ev *e); /* a block */
void ev_end(Ev *e);
EvFrame *ev_callee(Ev *e, EvFrame *f, const HloInstruction *call);
/* The array that leaf `path` of an instruction is, through tuples, calls and parameters. */
EvRef ev_resolve(Ev *e, EvFrame *f, const HloInstruction *i, const uint32_t *path, uint32_t depth);
const HloShape *ev_ref_shape(EvRef r);
const EvSet *ev_run_set(Ev *e, int64_t start, int64_t n);
const EvSet *ev_list_set(Ev *e, const int64_t *list, int64_t n); /* the list stays the caller's, in the block's arena */
/* Inside a step: lanes that are there, or NULL after asking for them; the step is then taken again. */
void *ev_need(Ev *e, EvRef r, const EvSet *set);
void *ev_demand(Ev *e, EvRef r, const EvSet *set);
void ev_put_memo(Ev *e, EvRef r, uint32_t leaf, const EvSet *set, void *data);
void ev_keep(Ev *e, EvRef r, uint32_t leaf, void *data);
void *ev_kept(EvRef r, uint32_t leaf);

/* lanes.c: how elements are held */
void *ev_lanes(Ev *e, size_t bytes); /* of this block; any contents, 16-byte aligned */
int64_t *ev_list(Ev *e, int64_t n);
void ev_fill(void *to, const void *one, size_t bytes, int64_t n); /* n times the same element */
size_t ev_lane_bytes(EvMode mode, ScType t);
ScType ev_lane_type(EvMode mode, ScType t); /* EV_PLAIN and EV_F64 */
uint64_t ev_get(ScType t, const void *data, int64_t k);
void ev_set(ScType t, void *data, int64_t k, uint64_t bits);
void ev_gather(void *to, const void *from, size_t bytes, const EvSet *set);
void *ev_import(Ev *e, ScType t, const void *raw, const EvSet *set); /* values of type t at positions -> lanes */
void *ev_bits(Ev *e, ScType to, ScType from, int64_t n, void *lanes); /* the same bits as another type of the same width */
bool ev_int_of(const Ev *e, ScType t, const void *lanes, int64_t k, int64_t *value); /* false: not one value */

/* walk.c */
typedef struct {
    const HloShape *shape;
    int64_t at[HLO_RANK_LIMIT], stride[HLO_RANK_LIMIT]; /* coordinates of `position`; elements a step in each dimension */
    int64_t position;                                   /* -1: none yet */
    bool narrow;                                        /* positions fit 32 bits */
} EvWalk;
EvWalk ev_walk(const HloShape *s);
const int64_t *ev_walk_to(EvWalk *w, int64_t position); /* its coordinates, until the next call */
int64_t ev_linear(const HloShape *s, const int64_t *at);
int64_t ev_position(const EvSet *s, int64_t k);

/* compute.c */
void *ev_elementwise(Ev *e, const HloInstruction *i, int64_t n, void *const *x);
/* bounds.c; the rest of it in bounds.h */
EvBound ev_bound_exact(ScType t, uint64_t bits);
EvBound ev_bound_any(ScType t);
EvBound ev_bound_union(ScType t, EvBound a, EvBound b);
bool ev_bound_single(ScType t, const EvBound *b, uint64_t *bits);
/* complex.c */
void *ev_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x);
/* move.c: one step of an operation that moves elements */
bool ev_moves(HloOpcode op);
void *ev_move(Ev *e, EvTask *t);
/* gather.c */
void *ev_gather_op(Ev *e, EvTask *t);
typedef struct EvMove EvMove;
EvMove *ev_move_new(Ev *e, int64_t n, uint32_t sources);
void ev_move_source(Ev *e, EvMove *m, EvRef r, const int64_t *positions, const uint32_t *lanes, int64_t n);
void *ev_move_finish(Ev *e, ScType t, EvMove *m);
EvRef ev_operand(Ev *e, const EvTask *t, uint32_t k);
/* reduce.c */
void *ev_reduce(Ev *e, EvTask *t);

#endif
