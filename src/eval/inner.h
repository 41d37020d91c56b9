/* What the files of eval/ share: how a run is held together.
 *
 * Evaluation is by demand, a block of elements at a time. A set is a list of positions; `ev_demand` gives the lanes of an
 * instruction at a set: one element for each position, in the set's order. Everything made for a block is dropped with it.
 */
#ifndef EV_INNER_H
#define EV_INNER_H

#include "eval/eval.h"

#include <math.h>

/* Positions start, start + 1, .. (list NULL) or list[0], list[1], ..; equal sets of one block are one pointer. */
typedef struct EvSet {
    int64_t n, start;
    const int64_t *list;
    struct EvSet *next; /* of the same hash */
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
    uint32_t branch;         /* which of the computations that `call` names */
    struct EvFrame *sibling; /* the frame of another branch */
    struct EvFrame **callee; /* by instruction; made when first needed */
    EvMemo **memo;           /* by instruction; of this block */
    EvMemo **kept;           /* by instruction; of the whole run */
    struct EvFrame *origin;  /* the same use in the run that this one is part of; NULL if this is it */
    struct EvFrame *next;
} EvFrame;

/* An array: an instruction in a frame, and which of its leaves (depth first) where it has several. */
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

enum { EV_FIRST_SLAB = 1 << 12, EV_SLAB = 1 << 20, EV_BLOCK = 8192, EV_MANY = 1 << 16, EV_PATH = HLO_NESTING_LIMIT,
       EV_DEPTH = 100 };

/* Memory for lanes and lists: used again by each block. */
typedef struct EvSlab {
    char *bytes;
    size_t capacity, used;
    struct EvSlab *next;
} EvSlab;

typedef struct Ev {
    WbbCx *cx;
    WbbArena *arena; /* of the run, its own */
    WbbArena *block; /* NULL between blocks */
    struct Ev *part; /* the run inside this one that is going on; NULL if none */
    EvMode mode; /* EV_BOUNDS for EV_BOUNDS_APPROX as well */
    bool approx;
    const EvOrder *order; /* that a kernel documents; NULL: any */
    uint64_t *noise; /* EV_PLAIN: chance decides what is open; its state. NULL: no */
    const void *const *inputs;
    const EvSource *source;   /* instead of `inputs` */
    void *const *state;       /* instead of both: lanes of each leaf of each parameter */
    struct Ev *whole;         /* the run that this is a part of; NULL if it has frames of its own */
    WbbArena *home;           /* of what is kept: the arena of the run whose frames these are */
    unsigned depth;           /* runs around this one */
    int64_t *iterations;      /* of loops, in all runs together */
    const HloInstruction *filling; /* all of it is being made, block by block; NULL: nothing is */
    EvSlab *slabs, *slab; /* all; the one in use, those behind it are free */
    EvFrame *root, *frames;
    EvTask *top;
    WbbMap sets; /* of the block, by hash */
} Ev;

/* frame.c */
Ev *ev_new(WbbCx *cx, const HloComputation *c, const void *const *inputs, EvMode mode);
Ev *ev_part(Ev *whole); /* a run of its own, over what `whole` keeps; in an arena of its own */
Ev *ev_sub(Ev *outer, const HloComputation *c, void *const *state); /* a run of another computation; ended as a part is */
void ev_part_end(Ev *whole);
void ev_free(Ev *e); /* a run, with what it has left if it failed: its block, its part */
EvRef ev_part_ref(Ev *part, EvRef of_whole);
void ev_begin(Ev *e); /* a block */
void ev_end(Ev *e);
EvFrame *ev_callee(Ev *e, EvFrame *f, const HloInstruction *call, uint32_t branch);
/* The array that leaf `path` of an instruction is, through tuples, calls and parameters. */
EvRef ev_resolve(Ev *e, EvFrame *f, const HloInstruction *i, const uint32_t *path, uint32_t depth);
EvRef ev_resolve_leaf(Ev *e, EvFrame *f, const HloInstruction *i, uint32_t leaf); /* by its number, depth first */
const HloShape *ev_leaf_shape(const HloShape *s, uint32_t leaf);
const HloShape *ev_ref_shape(EvRef r);
uint32_t ev_first_leaf(const HloComputation *c, int64_t parameter); /* among the leaves of all parameters */

/* expand.c: operations that are a computation of others */
bool ev_is_expanded(const HloInstruction *i);
const HloComputation *ev_expansion(Ev *e, const HloInstruction *i); /* NULL: it is not expanded */

/* demand.c */
const EvSet *ev_run_set(Ev *e, int64_t start, int64_t n);
const EvSet *ev_list_set(Ev *e, const int64_t *list, int64_t n); /* the list stays the caller's, in the block's arena */
/* Inside a step: lanes that are there, or NULL after asking for them; the step is then taken again. */
void *ev_need(Ev *e, EvRef r, const EvSet *set);
void *ev_demand(Ev *e, EvRef r, const EvSet *set);
void ev_put_memo(Ev *e, EvRef r, uint32_t leaf, const EvSet *set, void *data);
void ev_keep(Ev *e, EvRef r, uint32_t leaf, void *data);
void *ev_kept(EvRef r, uint32_t leaf);

/* recall.c: a step of a costly operation, which `compute` does for what the run does not know yet */
bool ev_recalls(const Ev *e, const EvTask *t);
void *ev_recall(Ev *e, EvTask *t, void *(*compute)(Ev *, EvTask *));

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
/* Mixed precision: XLA lets an operand be of another float type than the operation's, and converts it. Others: the lanes themselves. */
void *ev_as(Ev *e, ScType to, ScType from, int64_t n, void *lanes);
void *ev_elementwise(Ev *e, const HloInstruction *i, int64_t n, void *const *x);
/* bounds.c; the rest of it in bounds.h */
EvBound ev_bound_exact(ScType t, uint64_t bits);
EvBound ev_bound_any(ScType t);
EvBound ev_bound_union(ScType t, EvBound a, EvBound b);
bool ev_bound_single(ScType t, const EvBound *b, uint64_t *bits);
EvBound *ev_bound_unknown(Ev *e, ScType t, int64_t n); /* lanes that may be anything */
/* complex.c */
void *ev_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x);
/* One element, exact: x[operand] as (re, im). False: no such operation of complex values. */
bool ev_complex_value(const HloInstruction *i, const double (*x)[2], double *r);
/* bounds_complex.c: units of the last place by which a power may miss besides its budget; 0 of others */
double ev_complex_units(const HloInstruction *i, const double (*x)[2]);
/* perturb.c: nothing where e->noise is NULL is asked of these */
uint64_t ev_random(Ev *e);
void ev_perturb(Ev *e, ScOp op, ScType t, int64_t n, void *const *x, void *r); /* r = op(x), moved within the budget */
void ev_perturb_complex(Ev *e, const HloInstruction *i, const double (*x)[2], double *r);
void ev_shuffle(Ev *e, int64_t *list, int64_t n); /* an order of a sum */
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
const int64_t *ev_by_layout(Ev *e, const HloShape *to, const HloShape *from, const EvSet *set);
/* apply.c: a computation of scalars on n lanes at once: x: lanes of each leaf of its parameters; out: of its root */
void ev_apply(Ev *e, const HloComputation *c, int64_t n, void *const *x, void **out);

/* exact.c: the terms of a sum of floats, and whether the order of its additions can matter */
typedef struct {
    double magnitude; /* the sum of the absolute values of the finite ones */
    double unit;      /* a power of two that divides every term; infinity: all are 0 so far; 0: some term is not one known number */
    int64_t n;        /* terms that may be other than 0: adding a 0 rounds nothing */
} EvTerms;
#define EV_NO_TERMS ((EvTerms){0, (double)INFINITY, 0})
void ev_add_term(EvTerms *terms, double lo, double hi); /* a term in [lo, hi], neither nan */
/* The interval [a->lo, a->hi] of the sums of the terms' exact values, in double, becomes what any order of that many additions, each
 * rounded to type t or wider, may give; each term may be off by `absolute` besides. */
void ev_close_sum(ScType t, EvBound *a, EvTerms terms, int64_t additions, double absolute);
/* Bits from the first to the last that is 1 in a finite x; 0 of 0. */
int ev_digits(double x);

/* order.c: what an order says of one reduction */
typedef struct {
    const char *name; /* of the instruction */
    bool fused;       /* products are added by fused multiply-adds .. */
    ScType type;      /* .. of this type */
} EvSerial;
const EvSerial *ev_serial(const Ev *e, const HloInstruction *i); /* NULL: any order */

/* fold.c: elements folded into accumulators, one for each lane. See there. */
typedef struct EvFold EvFold;
EvFold *ev_fold_new(Ev *e, const HloComputation *c, uint32_t n_arrays, const ScType *types, int64_t n);
void ev_fold_init(Ev *e, EvFold *f, uint32_t array, const void *lanes, int64_t n); /* n lanes, or 1 for all */
/* When all are set. `serial`: the steps come in the order of the kernel, and each is rounded. True: a sum or product whose order is to
 * be shuffled. */
bool ev_fold_begin(Ev *e, EvFold *f, bool serial);
/* An operand of the task's, demanded in `part`, as elements of the array. */
void *ev_fold_lanes(Ev *e, Ev *part, const EvTask *t, const EvFold *f, uint32_t array, uint32_t operand, const EvSet *set);
/* x[array]: element k goes to lane lanes[k] (NULL: lane k), each lane at most once. Memory of `part` only. */
void ev_fold(Ev *part, EvFold *f, const uint32_t *lanes, int64_t n, void *const *x);
void **ev_fold_end(Ev *e, EvFold *f);

/* reduce.c, window.c, select_scatter.c, scatter.c, dot.c, conv.c, sort.c, control.c, scan.c, random.c, bits.c: one step of the operation */
EvFold *ev_fold_of(Ev *e, EvTask *t); /* of operands x.., init..; NULL: a start value was asked for */
void *ev_fold_result(Ev *e, EvTask *t, void **lanes, uint32_t n); /* lanes of one leaf; those of the others are remembered */
void *ev_reduce(Ev *e, EvTask *t);
void *ev_reduce_window(Ev *e, EvTask *t);
void *ev_select_and_scatter(Ev *e, EvTask *t);
void *ev_scatter(Ev *e, EvTask *t);
void *ev_dot(Ev *e, EvTask *t);
void *ev_convolution(Ev *e, EvTask *t);
void *ev_sort(Ev *e, EvTask *t);
void *ev_map(Ev *e, EvTask *t);
void *ev_while(Ev *e, EvTask *t);
void *ev_scan(Ev *e, EvTask *t);
/* Lanes of all leaves of the computation's root on a state, made in `to`; a leaf that one tuple hands on keeps its place. */
void ev_iterate(Ev *e, const HloComputation *c, void *const *state, WbbArena *to, void **out);
void *ev_conditional(Ev *e, EvTask *t);
void *ev_random_bits(Ev *e, EvTask *t);
void *ev_stochastic_convert(Ev *e, EvTask *t);
void *ev_dimension_size(Ev *e, EvTask *t);
void *ev_rewidth(Ev *e, EvTask *t); /* bitcast, bitcast-convert to a type of another width */

/* window.c: where the elements of a window lie */
typedef struct {
    uint32_t n;                /* window dimensions */
    const HloWindow *windows;
    const int64_t *in;         /* size of each dimension of the input */
} EvWindows;
/* The input coordinate of window element `w` at result coordinate `out` in dimension d; -1 outside, or between dilated ones. */
int64_t ev_window_at(const EvWindows *w, uint32_t d, int64_t out, int64_t element);

/* mac.c: sums of products, for dot and convolution */
typedef struct {
    int64_t at[2]; /* where the products start in each operand */
} EvSegment;
typedef struct {
    int64_t count, step[2];   /* products of a segment, and the distance of one from the next in each operand */
    int64_t segments;         /* at most that many a result */
    uint32_t (*find)(const void *arg, const int64_t *at, EvSegment *list); /* those of the result at these coordinates */
    const void *arg;
} EvProducts;
void *ev_products(Ev *e, EvTask *t, const EvProducts *p);

/* eval.c */
void *ev_all(Ev *e, EvRef r);               /* all lanes of an array; kept for the run where they had to be made */
void ev_copy_all(Ev *e, EvRef r, void *to); /* all lanes, block by block: no block is going on */
void ev_keep_heavy(Ev *e, EvFrame *f);      /* of a whole run: what blocks would compute again and again, once */

#endif
