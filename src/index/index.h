/* index: where each element comes from. Pure mathematics: no threads, no targets.
 *
 * An index of a shape is an array of rank nodes of type `index`, one a dimension, in logical order, each within its dimension.
 * Every node is made through the doors of rewrite.h, so it is born simplified.
 *
 *     IrRef i[2], j[2];
 *     ix_delinear(rw, shape, element, i);                    // logical index of a physical element number
 *     ix_operand(rw, arena, transpose, 0, i, j);             // where the transpose reads its operand
 *     load(arg, ix_linear(rw, operand->shape, j));           // physical element number of the operand
 *
 * A shape without elements has no index; whoever has one leaves out the code.
 */
#ifndef IX_INDEX_H
#define IX_INDEX_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "rewrite/rewrite.h"

extern const RwTables ix_tables; /* generated from patterns/indexing.py; what rw_new needs for index nodes */

/* --- maps -------------------------------------------------------------------------------------------------------------------------
 * A map takes a point, one value for each of its variables, to its results, where the point satisfies the domain: every variable
 * within its interval and every constraint's expression within its own. It is built of nodes of one graph; each variable has a
 * graph variable with the same name and interval, so that facts about nodes hold everywhere in the domain. Maps are values: the
 * functions below leave their arguments alone and return new ones.
 *
 *     (d0)[s0]{rt0} -> (d0 * 4 + s0 + rt0), domain: d0 in [0, 7], s0 in [0, 3], rt0 in [0, 9], d0 + s0 in [0, 8]
 *
 * Dimensions name the point asked for; ranges are loops over several elements; run-time variables are values read from memory. */
typedef enum { IX_DIMENSION, IX_RANGE, IX_RUNTIME } IxKind;
typedef enum {
    IX_KNOWN,
    IX_EMPTY,  /* no point satisfies the domain */
    IX_UNKNOWN /* nothing is known: no variables, no results */
} IxState;

typedef struct {
    const char *name; /* unique in its map */
    IxKind kind;
    int64_t lo, hi; /* inclusive; INT64_MIN and INT64_MAX: any integer */
    IrRef node;     /* the graph variable */
    /* IX_RUNTIME from a module: its value is the element of `source` at `at`, index nodes over the map's other variables, clamped.
     * NULL where the map came from text. */
    const HloInstruction *source;
    IrRef *at; /* [n_at]; the rank of source */
    uint32_t n_at;
    int64_t clamp_lo, clamp_hi; /* of a source: what its value is clamped to; where [lo, hi] is narrower, other values are outside */
} IxVar;

typedef struct {
    IrRef expression;
    int64_t lo, hi; /* inclusive */
} IxConstraint;

typedef struct {
    IxState state;
    struct { IxVar *items; uint32_t n, capacity; } vars; /* dimensions, then ranges, then run-time variables */
    struct { IrRef *items; uint32_t n, capacity; } results;
    struct { IxConstraint *items; uint32_t n, capacity; } constraints; /* their order means nothing */
} IxMap;

/* map.c: making one. */
IxMap *ix_map_new(WbbArena *a); /* no variables, no results: () -> () */
IxMap *ix_map_of_state(WbbArena *a, IxState state);
/* A new variable, after the others of its kind, and its node; an interval without values makes the map empty. The name is kept as
 * it is and must be new: ix_map_name gives one. */
IrRef ix_map_var(RwCx *rw, WbbArena *a, IxMap *m, IxKind kind, const char *name, int64_t lo, int64_t hi);
const char *ix_map_name(WbbArena *a, const IxMap *m, IxKind kind); /* the first free of d0, d1, ..; s0, ..; rt0, .. */
void ix_map_result(WbbArena *a, IxMap *m, IrRef result);
/* expression in [lo, hi] as one more constraint. */
void ix_map_constrain(WbbArena *a, IxMap *m, IrRef expression, int64_t lo, int64_t hi);
uint32_t ix_map_find(const IxMap *m, const char *name); /* number of the variable; m->vars.n: there is none */
uint32_t ix_map_count(const IxMap *m, IxKind kind);     /* variables of a kind */
IxMap *ix_map_copy(WbbArena *a, const IxMap *m);

/* map_parse.c: the text of a map; fails with file:line:col. Its nodes are as they were written. */
IxMap *ix_map_parse(RwCx *rw, WbbArena *a, const char *file, const char *text, size_t n);

/* map_simplify.c: the same points and values, shorter; a second time changes nothing. A variable of one value is replaced by it, but
 * with keep_points. A map without points becomes IX_EMPTY where that is seen. */
IxMap *ix_map_simplify(RwCx *rw, WbbArena *a, const IxMap *m, bool keep_points);

/* map_transform.c. Variables named d0, s0, rt0 .. are numbered again; other names stay unless they would stand twice. */
/* second(first(x)): the dimensions of `first`; the ranges of `second`, then of `first`; run-time variables likewise. The results of
 * `first` must lie in the intervals of second's dimensions. Fails if they are not as many. */
IxMap *ix_map_compose(RwCx *rw, WbbArena *a, const IxMap *first, const IxMap *second);
/* Without the variables that neither results nor constraints on other variables use; `dimensions`: these may go, too. */
IxMap *ix_map_remove_unused(RwCx *rw, WbbArena *a, const IxMap *m, bool dimensions);
IxMap *ix_map_symbols_to_dimensions(RwCx *rw, WbbArena *a, const IxMap *m); /* ranges and run-time variables */
/* Ranges by their number among the ranges; fails if there is no such. */
IxMap *ix_map_ranges_to_dimensions(RwCx *rw, WbbArena *a, const IxMap *m, const uint32_t *ranges, uint32_t n);
IxMap *ix_map_rescale_symbols(RwCx *rw, WbbArena *a, const IxMap *m); /* a range with s mod k in [c, c] becomes s * k + c */

/* map_inverse.c */
/* From the results back to all variables, in their order; its dimensions are the results, its domain exactly the values that the map
 * gives. NULL where none was found. */
IxMap *ix_map_inverse(RwCx *rw, WbbArena *a, const IxMap *m);
typedef enum { IX_NO, IX_YES, IX_OPEN } IxAnswer;
/* Do different points give different values, and are these all of a box? *why says which box, or which points or values speak
 * against it. Decided by definition where the intervals hold `most` points at most, else by the inverse. */
IxAnswer ix_map_bijection(RwCx *rw, WbbArena *a, const IxMap *m, uint64_t most, const char **why);

/* map_union.c: the same elements at every point by as few maps as are found; their number. made: [n], at least 1. Dimensions are the
 * same in all maps, by number and name. */
uint32_t ix_map_union(RwCx *rw, WbbArena *a, const IxMap *const *maps, uint32_t n, IxMap **made);

/* map_print.c */
void ix_put_expression(WbbBuf *out, const IrGraph *g, IrRef r);
void ix_map_print(WbbBuf *out, const IrGraph *g, const IxMap *m); /* no line end; constraints sorted by their text */
void ix_map_json(WbbBuf *out, IrGraph *g, const IxMap *m);  /* one object */

/* map_points.c: maps by definition, with no fact and no rule. */
typedef enum { IX_OUTSIDE, IX_INSIDE, IX_OVERFLOW /* an operation leaves 64 bits: no value */ } IxValue;
IxValue ix_map_eval(const IrGraph *g, const IxMap *m, const int64_t *point, int64_t *results); /* point: by number of variable */
uint64_t ix_map_box(const IxMap *m); /* points of the intervals alone, constraints aside; at most UINT64_MAX */
/* Every point of the intervals in order, the last variable fastest, or `most` of them at random if there are more. */
typedef struct {
    const IxMap *m;
    int64_t *point;
    uint64_t left, random;
    bool sampled, started;
} IxWalk;
IxWalk ix_walk(WbbArena *a, const IxMap *m, uint64_t most, uint64_t seed);
bool ix_walk_next(IxWalk *w);
void ix_put_point(WbbBuf *out, const IxMap *m, const int64_t *point); /* (1, 2)[3]{4} */
void ix_put_values(WbbBuf *out, const int64_t *values, uint32_t n);
/* Two maps over the same variables: the first point at which they differ, in words; NULL if none was met. Points at which x leaves
 * 64 bits are passed over. */
const char *ix_map_differ(WbbArena *a, const IrGraph *g, const IxMap *x, const IxMap *y, uint64_t most, uint64_t seed, uint64_t *compared);

/* linear.c: numbers of elements in the order in which they lie in memory (minor_to_major; row-major without a layout). */
IrRef ix_linear(RwCx *rw, const HloShape *s, const IrRef *index);
void ix_delinear(RwCx *rw, const HloShape *s, IrRef element, IrRef *index); /* element within 0 .. elements of s */
/* The index of the same element, counted row-major, in an array of other dimensions. Only dimensions that really mix are
 * linearised: [2,3,8,5] as [6,8,5] leaves the last two alone. The numbers of elements are equal and not 0. */
void ix_regroup(RwCx *rw, uint32_t from_rank, const int64_t *from_dims, const IrRef *from, uint32_t to_rank, const int64_t *to_dims,
                IrRef *to);

/* operand.c */
/* Does operand number `operand` of i have a map of its own: is the element that it needs a function of the output's index? */
bool ix_has_map(const HloInstruction *i, uint32_t operand);
/* The index `in` of the operand's element that element `out` of the result needs. [rank of the operand] */
void ix_operand(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand, const IrRef *out, IrRef *in);

/* --- accesses ---------------------------------------------------------------------------------------------------------------------
 * Which element of an operand the element `out` of the result needs, for operations of every kind. Besides `out` it may depend on
 * ranges, over each of which the operation loops (the dimensions that a reduce takes away, the window of a reduce-window, what a dot
 * or a convolution contracts), and on starts, values read from memory. Ranges and starts are of the instruction, so that all operands
 * share them; none has size 1. Whoever asks makes a node for each and passes them on:
 *
 *     const IxNeeds needs = ix_needs(a, i);                    // dynamic-slice f32[8,5] of f32[32,5]: no range, one start
 *     IrRef out[2] = {x, y}, at[1], starts[1];
 *     ix_start(rw, a, i, 0, out, NULL, at);                    // element `at` of operand needs.starts[0].operand (1) holds it
 *     starts[0] = t;                                           // let t = its value clamped to 0..25
 *     ix_access(rw, a, i, 0, out, NULL, starts, &access);      // index (x + t, y), no conditions
 *
 * pad: no range, no start; operand 0 at the index where the conditions hold, else operand 1, whose index is ().
 * concatenate: operand k at its index where its conditions hold; they exclude each other and one operand's always hold.
 * dynamic-update-slice: operand 1 (the update) where its conditions hold, else operand 0, at `out` itself.
 * reduce: N operands over the ranges, N init values at (). reduce-window: the same, an element outside the operand takes no part:
 * conditions. dot, convolution: operands 0 and 1 over the ranges, with the same conditions: a product takes part where they hold.
 * sort: operands along the sorted dimension. scatter: operand k at `out`, and the updates, over ranges and with starts that say which
 * index vectors reach `out`; who writes a scatter asks ix_target for the element that an update goes to.
 */
typedef struct {
    uint32_t operand; /* the start is an element of this operand, at ix_start's index */
    int64_t lo, hi;   /* the variable's interval, inclusive, to which the value is clamped. (Of a scatter it is a value wider on
                         each side than what the conditions let through: an update that does not fit is not made.) */
    uint32_t dimension; /* of the operand that is sliced, updated or gathered from: where it starts there */
} IxStart;

typedef struct {
    bool known; /* false: which elements are needed is not a matter of indices (custom calls, control flow, collectives, ..) */
    uint32_t n_ranges, n_starts;
    const int64_t *sizes; /* [n_ranges] range k is in 0 .. sizes[k]; 0: it has no value, and nothing is needed */
    const IxStart *starts; /* [n_starts] */
} IxNeeds;

typedef struct {
    IrRef *index;   /* [rank of the operand]. Where the conditions hold each is within its dimension; where facts do not show it
                       (ir_within), a `let` behind the conditions' `if` states it */
    uint32_t n_conditions;
    IxConstraint *conditions; /* all must hold; what facts prove is left out */
    bool never;     /* no element is needed: a condition is proved false, or the operand has no elements. index is not to be used */
} IxAccess;

/* access.c, and a file for each family of operations: access_move.c, access_start.c, access_window.c, access_row.c, target_*.c */
IxNeeds ix_needs(WbbArena *a, const HloInstruction *i);
/* The index `at` [rank] of start number k in its operand. `ranges` is looked at for scatter only: else it may be NULL. */
void ix_start(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t k, const IrRef *out, const IrRef *ranges, IrRef *at);
/* out: [rank of the result; of a tuple result, of its leaves]; ranges and starts as ix_needs says. */
void ix_access(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand, const IrRef *out, const IrRef *ranges,
               const IrRef *starts, IxAccess *access);
/* Along the dimension of a concatenate: where operand k begins; of k = n_operands, the size of the result. */
int64_t ix_concat_offset(const HloInstruction *i, uint32_t k);

/* --- analysis ---------------------------------------------------------------------------------------------------------------------
 * Maps between the elements of two values, a fusion's as well as a single operation's. Several maps hold all at once: each names some
 * of the elements that are needed. Of an update in place (dynamic-update-slice, scatter), of pad's fill and of what is sorted, they name
 * what may be needed, depending on values. None: no element is needed. */
typedef struct {
    IxMap **items; /* IX_KNOWN, simplified, ranges and run-time variables that nothing uses left out */
    uint32_t n, capacity;
    bool unknown; /* there is a way without a map (custom calls, control flow, collectives), or there are too many */
} IxMaps;

typedef struct {
    uint32_t operand; /* of an input: which; of an output 0 */
    uint32_t leaf;    /* of a tuple; 0 of an array */
} IxEnd;

/* analysis.c, analysis_step.c. physical: indices of both ends run over the dimensions in the order of memory, major first. */
IxMaps *ix_inputs_of(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t output_leaf, bool physical);
IxMaps *ix_outputs_of(RwCx *rw, WbbArena *a, const HloInstruction *i, IxEnd input, bool physical);
/* Between two instructions of a computation: what `from` needs of `to` if that stands before it, else where from's elements go in `to`. */
IxMaps ix_between(RwCx *rw, WbbArena *a, const HloComputation *c, const HloInstruction *from, const HloInstruction *to, bool physical);

/* maps.c: a line for every map of every operand, and one for each run-time variable; view NULL: output to input, logical.
 *     %t.0 transpose operand 0 %p: (d0, d1) -> (d1, d0), domain: d0 in [0, 19], d1 in [0, 9] */
typedef struct {
    bool targets; /* input to output */
    bool physical;
    bool json;     /* an object a line: all maps of one operand */
} IxView;
void ix_print_maps(WbbBuf *out, RwCx *rw, WbbArena *a, const HloComputation *c, const IxView *view);
/* Between two instructions by name, NAME or COMPUTATION/NAME: of the last computation that has both; fails if none has. */
void ix_print_between(WbbBuf *out, WbbCx *cx, RwCx *rw, WbbArena *a, const HloModule *m, const char *from, const char *to, const IxView *view);

#endif
