/* What the files of eval/ share: the state of an evaluation, and how an operation gets the elements of its operands.
 *
 * An evaluation (Ev) proceeds by demand, one block of elements at a time. A set is a list of positions of an array;
 * ev_demand returns the lanes of an array at a set: one element for each position, in the order of the set. Lanes,
 * lists and memos live as long as the block.
 *
 * The files of operations (reduce.c, dot.c, sort.c, ..) and demand.c call each other in a circle, and are one thing:
 * step() of demand.c dispatches to the operation, the operation demands elements of its operands, and these are
 * computed by step() again. Files that only compute on lanes (compute.c, complex.c, the bounds, lanes.c, walk.c) are
 * outside of the circle.
 */
#ifndef EV_INNER_H
#define EV_INNER_H

#include "eval/eval.h"

#include <math.h>
#include <stdatomic.h>

/* Positions start, start + 1, .. (list NULL) or list[0], list[1], ..; equal sets of a block are one pointer. */
typedef struct EvSet {
    int64_t n, start;
    const int64_t *list;
    struct EvSet *next; /* set with the same hash */
} EvSet;

/* The lanes of one leaf of an instruction at a set; `set` NULL: data kept for the whole evaluation, see ev_keep. */
typedef struct EvMemo {
    const EvSet *set;
    uint32_t leaf;
    void *data;
    struct EvMemo *next;
} EvMemo;

/* One use of a computation: the evaluated one, or one that a fusion or call instruction of `caller` names. */
typedef struct EvFrame {
    const HloComputation *c;
    struct EvFrame *caller;
    const HloInstruction *call;
    uint32_t branch;         /* index among the computations that `call` names */
    struct EvFrame *sibling; /* frame of another branch of `call` */
    struct EvFrame **callee; /* by instruction; made on first use */
    EvMemo **memo;           /* by instruction; lanes of the current block */
    EvMemo **kept;           /* by instruction; data of the whole evaluation */
    struct EvFrame *origin;  /* in a part: the same frame of the evaluation that the part belongs to; else NULL */
    struct EvFrame *next;
} EvFrame;

/* An array: an instruction in a frame, and which of its leaves (depth first) where it has several. */
typedef struct {
    EvFrame *frame;
    const HloInstruction *i;
    uint32_t leaf;
} EvRef;

/* An operation to be computed at a set. `state` holds what the operation found before it asked for operands. */
typedef struct EvTask {
    EvRef ref;
    const EvSet *set;
    void *state;
    struct EvTask *below;
} EvTask;

enum {
    EV_FIRST_SLAB = 1 << 12,
    EV_SLAB = 1 << 20,
    EV_BLOCK = 8192,
    EV_ROW = 4096,
    EV_MANY = 1 << 16,
    EV_PATH = HLO_NESTING_LIMIT,
    EV_DEPTH = 100
};

/* Memory for lanes and lists; each block uses it again. */
typedef struct EvSlab {
    char *bytes;
    size_t capacity, used;
    struct EvSlab *next;
} EvSlab;

/* An evaluation. Work inside a step runs in an evaluation of its own, whose blocks can be dropped while the block of
 * the step goes on. There are three kinds:
 *
 *   - a part of `whole` computes elements of the same computation: its frames mirror those of `whole`, and it shares
 * what `whole` keeps (frames' `kept`, in `kept_arena`);
 *   - a chunk (spread.c) is a part that may run on another thread: it finds what `whole` keeps, and its own memories of
 * costly operations end with it;
 *   - a sub-evaluation (`whole` NULL, `state` set) evaluates another computation, whose parameters are lanes: an
 * iteration of a loop, or a computation applied to one element. */
typedef struct Ev {
    WbbCx *cx;
    WbbArena *arena;               /* frames and slabs of this evaluation */
    WbbArena *block;               /* memory of the current block; NULL between blocks */
    WbbArena *kept_arena;          /* data kept for the whole evaluation; a part uses that of `whole` */
    struct Ev *part;               /* evaluation inside a step of this one, of either kind, while it runs; else NULL */
    struct Ev *whole;              /* the evaluation that this is a part of; NULL if it is none */
    struct Ev *chunk;              /* the chunk that this is, or is a part of; else NULL */
    bool gave_up;                  /* a chunk: the whole evaluation must compute it, see ev_must_keep */
    EvMode mode;                   /* EV_BOUNDS for EV_BOUNDS_XLA and EV_BOUNDS_APPROX as well */
    ScAccuracy accuracy;           /* EV_BOUNDS: by whose budgets */
    const EvOrder *order;          /* that a kernel documents; NULL: any */
    uint64_t *noise; /* EV_PLAIN: state of the random numbers that decide what HLO leaves open; NULL: none */
    const void *const *inputs;     /* one array for each leaf of each parameter, or */
    const EvSource *source;        /* a function that makes elements of them, or */
    void *const *state;            /* the lanes of all elements of each leaf of each parameter */
    unsigned depth;                /* number of evaluations around this one */
    uint64_t copies;               /* instructions of the computations of all frames but the root's */
    _Atomic int64_t *iterations;   /* of loops, counted over all nested evaluations */
    const HloInstruction *filling; /* instruction whose elements are all being computed, block by block; else NULL */
    EvSlab *slabs, *slab;          /* all; the one in use, those behind it are free */
    EvFrame *root, *frames;
    EvTask *top;
    WbbMap sets;                   /* of the block, by hash */
} Ev;

/* frame.c */
Ev *ev_new(WbbCx *cx, const HloComputation *c, const void *const *inputs, EvMode mode);
Ev *ev_part(Ev *whole);
/* A sub-evaluation; ends as a part does, by ev_part_end(outer). */
Ev *ev_sub(Ev *outer, const HloComputation *c, void *const *state);
void ev_part_end(Ev *whole);
Ev *ev_chunk(Ev *whole, WbbCx *cx);
void ev_chunk_again(Ev *chunk); /* forget what it remembers: the next one begins */
void ev_free(Ev *e); /* also frees the block and the part that a failure left open */
EvRef ev_part_ref(Ev *part, EvRef of_whole);
void ev_begin(Ev *e); /* begin a block */
void ev_end(Ev *e);
EvFrame *ev_callee(Ev *e, EvFrame *f, const HloInstruction *call, uint32_t branch);
/* The array that leaf `path` of an instruction is, through tuples, calls and parameters. */
EvRef ev_resolve(Ev *e, EvFrame *f, const HloInstruction *i, const uint32_t *path, uint32_t depth);
EvRef ev_resolve_leaf(Ev *e, EvFrame *f, const HloInstruction *i, uint32_t leaf); /* leaf by number, depth first */
const HloShape *ev_leaf_shape(const HloShape *s, uint32_t leaf);
const HloShape *ev_ref_shape(EvRef r);

/* spread.c: work(part, arg, k) for k in [first, end), on the threads that the context has; results must not depend on
 * the order. Each call gets a part without a block; `e` has no open part. Where several calls would compute the same
 * operations on demand, the caller first does one of them by itself, so that they are remembered for all. */
typedef void EvWork(Ev *part, void *arg, int64_t k);
void ev_spread(Ev *e, const char *name, int64_t first, int64_t end, EvWork *work, void *arg);
/* What the caller is about to compute is kept for the whole evaluation: a chunk ends here, and is computed later by the
 * whole evaluation itself. */
void ev_must_keep(Ev *e);

/* expand.c: operations that are defined by a computation of others */
bool ev_is_resolved(const HloInstruction *i); /* frame.c: its value is that of others, or is given */
bool ev_is_expanded(const HloInstruction *i);
const HloComputation *ev_expansion(Ev *e, const HloInstruction *i); /* NULL if the operation is not expanded */

/* demand.c */
const EvSet *ev_range_set(Ev *e, int64_t start, int64_t n);
const EvSet *ev_list_set(Ev *e, const int64_t *list,
                         int64_t n); /* `list` is not copied; it must live as long as the block */
/* Inside a step: the lanes if they are known; else NULL, a task that computes them is pushed, and the step is repeated
 * when they are known. */
void *ev_need(Ev *e, EvRef r, const EvSet *set);
void *ev_demand(Ev *e, EvRef r,
                const EvSet *set); /* the lanes; computes them; not inside a step of the same evaluation */
EvRef ev_operand(Ev *e, const EvTask *t, uint32_t k);
/* lanes[leaf] for the leaf that the task wants; those of the other n - 1 leaves become memos. */
void *ev_leaf_result(Ev *e, EvTask *t, void **lanes, uint32_t n);
void ev_put_memo(Ev *e, EvRef r, uint32_t leaf, const EvSet *set, void *data);
void ev_keep(Ev *e, EvRef r, uint32_t leaf, void *data);
void *ev_kept(EvRef r, uint32_t leaf);

/* sort.c: all positions of the rows of the result that a set has positions in; the set itself if it has as many */
const EvSet *ev_sorted_rows(Ev *e, const HloInstruction *i, const EvSet *set);
/* recall.c: a step of a costly operation; `compute` is called only for elements that were not computed before */
bool ev_recalls(const Ev *e, const EvTask *t);
void *ev_recall(Ev *e, EvTask *t, void *(*compute)(Ev *, EvTask *));

/* lanes.c: how elements are held */
void *ev_lanes(Ev *e, size_t bytes); /* memory of this block, not initialised, 16-byte aligned */
int64_t *ev_list(Ev *e, int64_t n);
void ev_fill(void *to, const void *one, size_t bytes, int64_t n); /* n copies of one element */
size_t ev_lane_bytes(EvMode mode, ScType t);
ScType ev_lane_type(EvMode mode, ScType t); /* EV_PLAIN and EV_F64 */
uint64_t ev_get(ScType t, const void *data, int64_t k);
void ev_set(ScType t, void *data, int64_t k, uint64_t bits);
void ev_gather(void *to, const void *from, size_t bytes, const EvSet *set);
void *ev_import(Ev *e, ScType t, const void *raw, const EvSet *set); /* values of type t at positions -> lanes */
void ev_doubles(ScType t, double *to, const void *values, int64_t n); /* n real values of type t */
void *ev_bits(Ev *e, ScType to, ScType from, int64_t n, void *lanes); /* bitcast to another type of the same width */
bool ev_int_of(const Ev *e, ScType t, const void *lanes, int64_t k,
               int64_t *value);                        /* false: an interval, not one value */
EvBound *ev_bound_unknown(Ev *e, ScType t, int64_t n); /* n lanes that may be anything */

/* walk.c */
typedef struct {
    const HloShape *shape;
    int64_t at[HLO_RANK_LIMIT], stride[HLO_RANK_LIMIT]; /* coordinates of `position`; row-major strides */
    int64_t position;                                   /* -1: none yet */
    bool narrow;                                        /* positions fit 32 bits */
} EvWalk;
EvWalk ev_walk(const HloShape *s);
const int64_t *ev_walk_to(EvWalk *w, int64_t position); /* its coordinates, until the next call */
int64_t ev_linear(const HloShape *s, const int64_t *at);
int64_t ev_position(const EvSet *s, int64_t k);
int64_t ev_strides(const HloShape *s, int64_t *stride); /* row-major strides; returns the number of elements */

/* compute.c */
/* Mixed precision: an operand of another float type than the operation's is converted to `to`. Other lanes are returned
 * as they are. */
void *ev_as(Ev *e, ScType to, ScType from, int64_t n, void *lanes);
void *ev_elementwise(Ev *e, const HloInstruction *i, int64_t n, void *const *x);
/* interval.c; operations on intervals are in bounds.h */
EvBound ev_bound_exact(ScType t, uint64_t bits);
EvBound ev_bound_any(ScType t);
EvBound ev_bound_union(ScType t, EvBound a, EvBound b);
bool ev_bound_single(ScType t, const EvBound *b, uint64_t *bits);
/* complex.c */
void *ev_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x);
/* One element, exact: x[operand] as (re, im). False: no such operation of complex values. */
bool ev_complex_value(const HloInstruction *i, const double (*x)[2], double *r);
/* perturb.c: ev_perturb, ev_perturb_complex and ev_shuffle are called only where e->noise is set */
uint64_t ev_random(Ev *e);
void ev_perturb(Ev *e, ScOp op, ScType t, int64_t n, void *const *x, void *r); /* r = op(x), moved within the budget */
void ev_perturb_complex(Ev *e, const HloInstruction *i, const double (*x)[2], double *r);
void ev_shuffle(Ev *e, int64_t *list, int64_t n); /* a random order */
/* move.c: one step of an operation that moves elements */
bool ev_moves(HloOpcode op);
void *ev_move(Ev *e, EvTask *t);
typedef struct EvMove EvMove;
EvMove *ev_move_new(Ev *e, int64_t n, uint32_t sources);
void ev_move_source(Ev *e, EvMove *m, EvRef r, const int64_t *positions, const uint32_t *lanes, int64_t n);
void *ev_move_finish(Ev *e, ScType t, EvMove *m);
const int64_t *ev_by_layout(Ev *e, const HloShape *to, const HloShape *from, const EvSet *set);
/* commute.c: in EV_BOUNDS, does the order of two updates of one element show: does the computation round, or do values
 * that are tried tell? */
bool ev_order_shows(Ev *e, const HloComputation *c, uint32_t n);
/* apply.c: a computation of scalars on n lanes. x: lanes of each leaf of its parameters; out: of its root */
void ev_apply(Ev *e, const HloComputation *c, int64_t n, void *const *x, void **out);

/* exact.c: the terms of a sum of floats, and whether the order of its additions can matter */
typedef struct {
    double magnitude; /* sum of the absolute values of the finite terms */
    double unit; /* a power of two that divides every term; infinity: all are 0; 0: some term is not a known number */
    int64_t n;        /* terms other than 0, whose addition may round */
} EvTerms;
#define EV_NO_TERMS ((EvTerms){0, (double)INFINITY, 0})
void ev_add_term(EvTerms *terms, double lo, double hi); /* a term in [lo, hi], neither nan */
/* [a->lo, a->hi] holds the exact sums of the terms, in double; it becomes the interval of what any order of that many
 * additions, each rounded to type t or wider, may give: by so many half units of the last place. Each term may also be
 * off by `absolute`. */
void ev_close_sum(ScType t, EvBound *a, EvTerms terms, int64_t additions, double roundings, double absolute);
/* The same for a sum of products; each may underflow. roundings: of an addition, 1 or EV_MMA_ROUNDINGS. */
void ev_close_products(ScType t, EvBound *a, EvTerms terms, int64_t products, double roundings);
/* The largest power of two that divides x; infinity for 0, 0 where x is not finite. */
double ev_unit(double x);
/* Bits from the first to the last that is 1 in a finite x; 0 of 0. */
int ev_digits(double x);

/* order.c: the documented order of one reduction: terms one after the other .. */
typedef struct {
    bool fused;     /* products are added by fused multiply-adds of `type` */
    ScType type;    /* else that of the steps; SC_NONE: those of the computation */
    bool from_last; /* suffixes: window_scan.c */
} EvSerial;
const EvSerial *ev_serial(const Ev *e, const HloInstruction *i); /* NULL: any order, a tree, or tensor cores */
double ev_roundings(const Ev *e, const HloInstruction *i); /* of an addition of a product: ev_close_products */

/* .. or a tree of them. In each reduced dimension of its space the position of a term has digits, the first the
 * lowest; each step combines the partial results that differ in its digits alone, and these are a number, cut into
 * parts that are combined one after the other, the lowest first. */
typedef struct {
    uint32_t dim;         /* of the tree */
    const char *level;    /* its name */
    int64_t size, weight; /* a unit of it is so many positions */
} EvDigit;

typedef struct {
    const char *name;
    uint32_t *of, n; /* dimensions of the operand, the slowest first */
    int64_t covered; /* product of the digits; positions from the size of the dimension on are absent */
} EvTreeDim;

typedef enum {
    EV_FOLD,   /* neighbours, then neighbours of these; the last of an odd number waits */
    EV_HALVES, /* element k of the first half, which is the larger one, with element k of the second; then again */
    EV_CHAIN,  /* the first with the second, the result with the third, .. */
} EvPairing;

typedef struct {
    EvPairing pairing;
    int64_t size;
} EvTreePart;

typedef struct {
    EvTreePart *parts;
    uint32_t *digits; /* of the tree */
    uint32_t n_parts, n_digits;
    int64_t size;     /* product of the digits; numbers from there on are absent */
} EvTreeStep;

typedef struct {
    const char *text;
    ScType type; /* in which terms and partial results are held; SC_NONE: that of the results */
    EvTreeDim *dims;
    EvDigit *digits;
    EvTreeStep *steps;
    uint32_t n_dims, n_digits, n_steps;
} EvTree;
const EvTree *ev_tree(const Ev *e, const HloInstruction *i); /* NULL: none is documented */
/* tree_text.c: what follows "NAME: " in a text that begins with "tree"; fails where it cannot be read. */
const EvTree *ev_tree_parse(WbbCx *cx, WbbArena *arena, const char *where, const char *text);
/* Fails where the tree does not have each term of the instruction exactly once. */
void ev_tree_check(WbbCx *cx, const EvTree *tree, const HloInstruction *i);
/* Are the terms combined in row-major order of the reduced dimensions? Of a tree that passed the check. */
bool ev_tree_keeps_order(const EvTree *tree, const HloInstruction *i);
/* rows.c: partial results, of each array a row of lanes of each number; NULL: absent */
typedef struct {
    const HloComputation *c;
    uint32_t arrays;
    ScType *types; /* [arrays] of terms and partial results */
    size_t *bytes; /* [arrays] of a lane */
    ScOp op;       /* by this operation on that type; OP_NONE: by the computation */
} EvCombine;
typedef struct {
    const EvCombine *how;
    char ***row; /* [arrays][numbers] */
    int64_t numbers, lanes;
} EvRows;
EvRows ev_rows(Ev *e, const EvCombine *how, int64_t numbers, int64_t lanes); /* all are absent */
/* n lanes x[array] with n lanes of each of `steps` steps, side by side, in y[array]. */
void **ev_combine(Ev *e, const EvCombine *how, int64_t n, int64_t steps, void *const *x, void *const *y);
/* The rows at numbers[0 .. count) side by side, of each array. */
void **ev_rows_beside(Ev *e, const EvRows *r, const int64_t *numbers, int64_t count);
/* Rows `into` become left and right combined, all pairs at once; of an absent one the other is the result. */
void ev_rows_pairs(Ev *e, EvRows *r, int64_t count, const int64_t *left, const int64_t *right, const int64_t *into);
/* tree.c: one step of a reduction in this order */
void *ev_reduce_tree(Ev *e, EvTask *t, const EvTree *tree);

/* accumulate.c: accumulators of a reduction, one for each lane */
typedef struct EvAccumulator EvAccumulator;
EvAccumulator *ev_acc_new(Ev *e, const HloComputation *c, uint32_t n_arrays, const ScType *types, int64_t n);
/* Of result `which` alone, where that is one operation on its own accumulator and element; NULL: it is not. */
EvAccumulator *ev_acc_of_result(Ev *e, const HloComputation *c, uint32_t which, uint32_t n_arrays, const ScType *types,
                                int64_t n);
void ev_acc_init(Ev *e, EvAccumulator *a, uint32_t array, const void *lanes, int64_t n); /* n lanes, or 1 for all */
/* Of the updates of an element, before ev_acc_begin: do the bounds hold what each order gives, also of a computation
 * that subtracts the update, or divides by it? Not of reductions, which combine partial results. */
bool ev_acc_any_order(EvAccumulator *a);
/* After all arrays are initialised. `serial`: the steps come in the documented order of the kernel, and each is
 * rounded; NULL: in any. True: a sum or product whose terms are to be added in a random order. */
bool ev_acc_begin(Ev *e, EvAccumulator *a, const EvSerial *serial);
/* Of a lane, from then on. */
size_t ev_acc_bytes(const Ev *e, const EvAccumulator *a, uint32_t array);
/* EV_BOUNDS, sums of f32: additions may take subnormal terms and sums for 0, as atomic instructions do. */
void ev_acc_flush(Ev *e, EvAccumulator *a);
/* Lanes of an operand, demanded in `part` and converted to the type of accumulator array `array`. */
void *ev_acc_lanes(Ev *part, const EvAccumulator *a, uint32_t array, EvRef operand, const EvSet *set);
/* One step: element k of x[array] is combined into lane lanes[k] (NULL: lane k); each lane occurs at most once.
 * Allocates in `part` only. */
void ev_acc_add(Ev *part, EvAccumulator *a, const uint32_t *lanes, int64_t n, void *const *x);
/* `steps` steps of n elements each, side by side: element s * n + k of x[array] is combined into lane `lane` + k. */
int64_t ev_acc_wide(const Ev *e, const EvAccumulator *a); /* lanes that make a step worth its call */
void ev_acc_add_steps(Ev *part, EvAccumulator *a, int64_t lane, int64_t n, int64_t steps, void *const *x);
void **ev_acc_end(Ev *e, EvAccumulator *a);
/* Rows of lanes, without demands: where the computation is one operation on real values, and no random orders are
 * asked for. */
bool ev_acc_takes_rows(const Ev *e, const HloComputation *c, uint32_t n_arrays, ScType type);
void ev_acc_elements(Ev *e, EvAccumulator *a, void *lanes, int64_t n); /* all elements that may be added */
/* Combines elements position, position + step, .. into lanes [lane, lane + n), n <= EV_ROW; in `part`, which several
 * threads may do for lanes of their own. */
void ev_acc_add_row(Ev *part, EvAccumulator *a, int64_t lane, int64_t n, int64_t position, int64_t step);
void ev_acc_copy_row(const Ev *e, EvAccumulator *a, int64_t to, int64_t from, int64_t n);

/* One step of an operation, in the file of its name. */
/* reduce.c: accumulators for operands x.., init..; NULL: a start value was asked for. */
EvAccumulator *ev_acc_of_operands(Ev *e, EvTask *t);
void *ev_reduce(Ev *e, EvTask *t);
void *ev_reduce_window(Ev *e, EvTask *t);      /* window.c */
bool ev_window_at_once(const Ev *e,
                       const HloInstruction *i); /* all results are computed faster together than in blocks */
void *ev_select_and_scatter(Ev *e, EvTask *t);
void *ev_scatter(Ev *e, EvTask *t);
void *ev_gather_op(Ev *e, EvTask *t);
void *ev_dot(Ev *e, EvTask *t);
void *ev_convolution(Ev *e, EvTask *t);        /* conv.c */
void *ev_sort(Ev *e, EvTask *t);
void *ev_scan(Ev *e, EvTask *t);
void *ev_map(Ev *e, EvTask *t);                /* control.c */
void *ev_while(Ev *e, EvTask *t);
void *ev_conditional(Ev *e, EvTask *t);
/* move.c: the start indices of a dynamic-slice or dynamic-update-slice, from operand `first` on, clamped so that
 * `window` fits in `in`; lanes_of: ev_need inside a step, else ev_demand. 1: known. 0: asked for. -1: some index is an
 * interval. */
typedef void *EvLanesOf(Ev *e, EvRef r, const EvSet *set);
int ev_starts(Ev *e, EvRef of, uint32_t first, const HloShape *in, const HloShape *window, int64_t *start,
              EvLanesOf *lanes_of);
/* iterate.c. Leaves of a loop's state that stay where they are from iteration to iteration, in `arena`: those whose
 * body updates a part of them. */
typedef struct {
    WbbArena *arena;
    void **at; /* by leaf; NULL: it was never there */
} EvStays;
/* Lanes of all leaves of the computation's root, allocated in `to`; a leaf that is returned unchanged is state[k]
 * itself, and so is one that stays, which the iteration changes. stays NULL: none does. */
void ev_iterate(Ev *e, const HloComputation *c, void *const *state, WbbArena *to, void **out, EvStays *stays);
void *ev_random_bits(Ev *e, EvTask *t);        /* random.c */
void *ev_stochastic_convert(Ev *e, EvTask *t);
void *ev_dimension_size(Ev *e, EvTask *t);     /* bits.c */
void *ev_rewidth(Ev *e, EvTask *t);            /* bitcast and bitcast-convert to a type of another width */

/* window_scan.c: windows along one dimension each of which has the elements of that before, or after, it */
enum { EV_LONG_SUFFIX = 1024 };
typedef struct {
    int64_t length, results, low, size; /* of that dimension, and of its windows */
    int64_t outer, inner;               /* elements of the dimensions before it, and after it */
    bool prefixes, suffixes;
} EvCumulative;
bool ev_cumulative(const HloInstruction *i, EvCumulative *c); /* false: these are other windows */
/* Terms of the result number `step` of the order in which results follow each other. */
int64_t ev_cumulative_terms(const EvCumulative *c, int64_t step, bool prefixes);
void *ev_window_scan(Ev *e, EvTask *t, const EvCumulative *c, bool prefixes);

/* the order in which threads of a kernel combine prefixes or suffixes */
typedef struct {
    const char *text;
    ScType type; /* of terms and partial results; SC_NONE: that of the results */
    bool from_last;
    int64_t thread, lane, warp, loop; /* digits of a position, the lowest first */
} EvScan;
bool ev_is_open(const Ev *e, const HloInstruction *i); /* order.c: a reduction whose order nobody says */
const EvScan *ev_scan_order(const Ev *e, const HloInstruction *i); /* order.c; NULL: none is documented */
/* scan_text.c: what follows "NAME: " in a text that begins with "scan"; NULL: it cannot be read. */
const EvScan *ev_scan_parse(WbbArena *arena, const char *text);
/* scan_order.c; fails where the instruction is no scan of this direction, or has more positions. */
void *ev_window_in_order(Ev *e, EvTask *t, const EvScan *s);

/* window.c: positions of the elements of a window */
typedef struct {
    uint32_t n;                /* window dimensions */
    const HloWindow *windows;
    const int64_t *in;         /* size of each dimension of the input */
} EvWindows;
/* The input coordinate in dimension d of a window element at result coordinate `out`; -1: in the padding, or between
 * dilated elements. */
int64_t ev_window_at(const EvWindows *w, uint32_t d, int64_t out, int64_t element);

/* mac.c: sums of products, for dot and convolution. The products of a result are those of its segments, in order. */
typedef struct {
    int64_t count, step[2]; /* products of a segment; distance from one factor to the next in each operand */
    int64_t segments;
    /* The positions of the first factors of a segment of the result at coordinates `at`. False: the result lacks the
     * segment; position[1] is set all the same. */
    bool (*find)(const void *arg, const int64_t *at, int64_t segment, int64_t *position);
    const void *arg;
    bool padded; /* some results may lack some segments */
    /* Sets of dimensions of the result (bit d: dimension d). The positions in the right operand do not depend on the
     * dimensions in `left`, nor those in the left operand on those in `right`, within `group` neighbouring results. */
    uint32_t left, right;
    int64_t group;
} EvProducts;
void *ev_products(Ev *e, EvTask *t, const EvProducts *p);
/* matrix.c: all results at once, from all lanes of the operands; in EV_BOUNDS floats of up to 32 bits or integers.
 * False: not computed, since the operation or an element does not fit. */
bool ev_matrix_fits(const Ev *e, const HloInstruction *i);
bool ev_matrix(Ev *e, const HloInstruction *i, const EvProducts *p, bool float_products, void *const *x, void *lanes);

/* eval.c */
void *ev_all(Ev *e, EvRef r);               /* all lanes of an array; computed once and kept */
void ev_copy_all(Ev *e, EvRef r, void *to); /* all lanes, block by block; not inside a block */
void ev_keep_costly(Ev *e, EvFrame *f); /* computes and keeps all costly operations that the root of the frame needs */

#endif
