/* index: which element of an operand an element of the result comes from. It knows neither threads nor targets.
 *
 * An index of a shape is an array of nodes of type `index`, one a dimension, in logical order, each within its
 * dimension. Every node is made by the functions of rewrite.h, which simplify it.
 *
 *     IrRef i[2], j[2];
 *     ix_delinear(rw, shape, element, i);                    // logical index of a physical element number
 *     ix_operand(rw, arena, transpose, 0, i, j);             // where the transpose reads its operand
 *     load(arg, ix_linear(rw, operand->shape, j));           // physical element number of the operand
 *
 * A shape without elements has no index: callers generate no code for it.
 */
#ifndef IX_INDEX_H
#define IX_INDEX_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "ir/ir.h"
#include "rewrite/rewrite.h"


/* --- maps ------------------------------------------------------------------------------------------------------------
 * A map takes a point, which has a value for each of its variables, to its results. The point must be in the domain:
 * every variable is in its interval and every constraint's expression in its own. The nodes of a map are of one graph;
 * each variable has a graph variable of the same name and interval, so that facts about nodes hold everywhere in the
 * domain. Maps are values: the functions below return new maps and do not change their arguments, but for those that
 * build one (ix_map_var, ix_map_result, ix_map_constrain).
 *
 *     (d0)[s0]{rt0} -> (d0 * 4 + s0 + rt0), domain: d0 in [0, 7], s0 in [0, 3], rt0 in [0, 9], d0 + s0 in [0, 8]
 *
 * Dimensions are the given element; ranges run over several elements; run-time variables are values read from
 * memory. */
typedef enum { IX_DIMENSION, IX_RANGE, IX_RUNTIME } IxKind;
typedef enum {
    IX_KNOWN,
    IX_EMPTY,  /* no point satisfies the domain */
    IX_UNKNOWN /* nothing is known; the map has no variables and no results */
} IxState;

typedef struct {
    const char *name; /* unique in its map */
    IxKind kind;
    int64_t lo, hi; /* inclusive; INT64_MIN and INT64_MAX: any integer */
    IrRef node;     /* the graph variable */
    /* IX_RUNTIME of a module: its value is the element of `source` at index `at`, clamped. NULL: the map was read from
     * text. */
    const HloInstruction *source;
    IrRef *at; /* [n_at], nodes over the map's other variables; n_at is the rank of source */
    uint32_t n_at;
    int64_t clamp_lo, clamp_hi; /* the value is clamped to these; a narrower [lo, hi] is part of the domain */
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

/* map.c: builds maps. */
RwCx *ix_engine(WbbCx *cx, WbbArena *a); /* a graph for maps alone, and the rules of index nodes */
IxMap *ix_map_new(WbbArena *a); /* no variables, no results: () -> () */
IxMap *ix_map_of_state(WbbArena *a, IxState state);
/* Adds a variable after the others of its kind and returns its node. The name, which is not copied, must be new in the
 * map (ix_map_name gives one). An empty interval makes the map empty. */
IrRef ix_map_var(RwCx *rw, WbbArena *a, IxMap *m, IxKind kind, const char *name, int64_t lo, int64_t hi);
const char *ix_map_name(WbbArena *a, const IxMap *m, IxKind kind); /* the first free of d0, d1, ..; s0, ..; rt0, .. */
void ix_map_result(WbbArena *a, IxMap *m, IrRef result);
/* Adds the constraint that expression is in [lo, hi]; an empty interval makes the map empty. */
void ix_map_constrain(WbbArena *a, IxMap *m, IrRef expression, int64_t lo, int64_t hi);
uint32_t ix_map_find(const IxMap *m, const char *name); /* number of the variable; m->vars.n: none */
uint32_t ix_map_count(const IxMap *m, IxKind kind);     /* variables of a kind */
IxMap *ix_map_copy(WbbArena *a, const IxMap *m);
/* The results of m, whose nodes are of graph `of`, and the expressions of its constraints unless `constraints` is NULL,
 * where its variables have these values: nodes of rw's graph, by number of variable. */
void ix_map_at(RwCx *rw, WbbArena *a, const IrGraph *of, const IxMap *m, const IrRef *point, IrRef *results,
               IrRef *constraints);

/* map_parse.c: reads the text of a map; fails with file:line:col. No rule is applied to its nodes. */
IxMap *ix_map_parse(RwCx *rw, WbbArena *a, const char *file, const char *text, size_t n);

/* map_simplify.c: the same points and values in a shorter form; simplifying again changes nothing. Unless keep_points,
 * a variable of one value is replaced by it. A map without points becomes IX_EMPTY if that is found. */
IxMap *ix_map_simplify(RwCx *rw, WbbArena *a, const IxMap *m, bool keep_points);

/* map_transform.c. Variables named d0, s0, rt0 .. are numbered again; other names stay unless two variables would have
 * them. */
/* second(first(x)). Its variables: the dimensions of `first`; the ranges of `second`, then of `first`; run-time
 * variables likewise. Its domain: where the results of `first` are in the domain of `second`. Fails if these are not as
 * many as second's dimensions. */
IxMap *ix_map_compose(RwCx *rw, WbbArena *a, const IxMap *first, const IxMap *second);
/* Without the variables that neither results nor constraints on other variables use; dimensions go only if
 * `dimensions`. */
IxMap *ix_map_remove_unused(RwCx *rw, WbbArena *a, const IxMap *m, bool dimensions);
IxMap *ix_map_symbols_to_dimensions(RwCx *rw, WbbArena *a, const IxMap *m); /* ranges and run-time variables */
/* Ranges given by their numbers among the ranges; fails if there is no such range. */
IxMap *ix_map_ranges_to_dimensions(RwCx *rw, WbbArena *a, const IxMap *m, const uint32_t *ranges, uint32_t n);
/* a range with s mod k in [c, c] becomes s * k + c */
IxMap *ix_map_rescale_symbols(RwCx *rw, WbbArena *a, const IxMap *m);

/* map_inverse.c */
/* From the results back to the variables. Its dimensions are the results of m, its results the variables of m in order,
 * its domain exactly the values that m gives. NULL: none was found. */
IxMap *ix_map_inverse(RwCx *rw, WbbArena *a, const IxMap *m);
typedef enum { IX_NO, IX_YES, IX_OPEN /* not decided */ } IxAnswer;
/* Do different points give different values, and are these all points of a box? *why says which box, or names points or
 * values that prove the opposite. All points are enumerated if the intervals have at most `most` of them, else the
 * inverse decides. */
IxAnswer ix_map_bijection(RwCx *rw, WbbArena *a, const IxMap *m, uint64_t most, const char **why);
/* Does the inverse prove that different points give different values, which are all points of the box lo .. hi,
 * inclusive? */
bool ix_map_onto(RwCx *rw, WbbArena *a, const IxMap *m, const int64_t *lo, const int64_t *hi);

/* map_union.c: fewer maps that together give the same elements at every point; returns their number. made: [n], at
 * least [1]. All maps have the same dimensions, by number and name. */
uint32_t ix_map_union(RwCx *rw, WbbArena *a, const IxMap *const *maps, uint32_t n, IxMap **made);

/* map_print.c */
void ix_put_expression(WbbBuf *out, const IrGraph *g, IrRef r);
void ix_map_print(WbbBuf *out, const IrGraph *g, const IxMap *m); /* no line end; constraints sorted by their text */
void ix_map_json(WbbBuf *out, const char *key, IrGraph *g, const IxMap *m); /* one object; key as in base.h */

/* map_points.c: evaluates maps at points, using no fact and no rule. */
typedef enum { IX_OUTSIDE, IX_INSIDE, IX_OVERFLOW /* an operation leaves 64 bits, so the map has no value */ } IxValue;
/* point: by number of variable */
IxValue ix_map_eval(const IrGraph *g, const IxMap *m, const int64_t *point, int64_t *results);
uint64_t ix_map_box(const IxMap *m); /* number of points in the intervals, constraints ignored; at most UINT64_MAX */
/* All points of the intervals in order, the last variable fastest; if there are more than `most`, that many at
 * random. */
typedef struct {
    const IxMap *m;
    int64_t *point;
    uint64_t remaining, random;
    bool sampled, started;
} IxWalk;
IxWalk ix_walk(WbbArena *a, const IxMap *m, uint64_t most, uint64_t seed);
bool ix_walk_next(IxWalk *w);
void ix_put_point(WbbBuf *out, const IxMap *m, const int64_t *point); /* (1, 2)[3]{4} */
void ix_put_values(WbbBuf *out, const int64_t *values, uint32_t n);
/* The first point found at which two maps over the same variables differ, in words; NULL: none. Points at which x
 * leaves 64 bits are not compared. */
const char *ix_map_differ(WbbArena *a, const IrGraph *g, const IxMap *x, const IxMap *y, uint64_t most, uint64_t seed,
                          uint64_t *compared);

/* linear.c: an element's number in the order of memory (minor_to_major; row-major without a layout). */
IrRef ix_linear(RwCx *rw, const HloShape *s, const IrRef *index);
void ix_delinear(RwCx *rw, const HloShape *s, IrRef element, IrRef *index); /* element within 0 .. elements of s */
/* The index of the element with the same row-major number in an array of other dimensions, with as many elements, not
 * 0. Only dimensions that really mix are linearised: [2,3,8,5] as [6,8,5] leaves the last two alone. */
void ix_regroup(RwCx *rw, uint32_t from_rank, const int64_t *from_dims, const IrRef *from, uint32_t to_rank,
                const int64_t *to_dims, IrRef *to);

/* operand.c */
/* Does each element of the result need one element of this operand, at an index that is a function of the result's? */
bool ix_has_map(const HloInstruction *i, uint32_t operand);
/* The index `in` of the operand's element that element `out` of the result needs. [rank of the operand] */
void ix_operand(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand, const IrRef *out, IrRef *in);
/* The index in `to` of the element at the same address, whatever the layouts. */
void ix_bitcast(RwCx *rw, WbbArena *a, const HloShape *from, const HloShape *to, const IrRef *index, IrRef *result);

/* --- accesses --------------------------------------------------------------------------------------------------------
 * Which element of an operand the element `out` of the result needs, for operations of every kind. Besides `out` it may
 * depend on ranges, over which the operation loops (the dimensions that a reduce removes, the window of a
 * reduce-window, what a dot or a convolution contracts), and on starts, which are values read from memory. Ranges and
 * starts belong to the instruction: all operands share them. A range never has size 1. The caller makes a node for each
 * and passes them:
 *
 *     const IxNeeds needs = ix_needs(a, i);            // dynamic-slice f32[8,5] of f32[32,5]: no range, one start
 *     IrRef out[2] = {x, y}, at[1], starts[1];
 *     ix_start(rw, a, i, 0, out, NULL, at);            // element `at` of operand needs.starts[0].operand (1) is it
 *     starts[0] = t;                                   // let t = that element, clamped to 0..25
 *     ix_access(rw, a, i, 0, out, NULL, starts, &access);  // index (x + t, y), no conditions
 *
 * By operation:
 * - pad: no range, no start; operand 0 at the index where the conditions hold, else operand 1, whose index is ().
 * - concatenate: operand k at its index where its conditions hold, which is true of exactly one operand.
 * - dynamic-update-slice: operand 1 (the update) where its conditions hold, else operand 0, at `out` itself.
 * - reduce: N operands over the ranges, N init values at ().
 * - reduce-window: the same; the conditions exclude elements outside the operand.
 * - dot, convolution: operands 0 and 1 over the ranges; a product exists where the conditions, equal for both, hold.
 * - sort: operands along the sorted dimension.
 * - scatter: operand k at `out`; the updates over ranges, with starts that say which index vectors reach `out`.
 */
typedef struct {
    uint32_t operand; /* the start is an element of this operand, at the index that ix_start gives */
    /* The value is clamped to this interval, inclusive. Of a scatter it is one wider on each side than what the
     * conditions allow, since an update that does not fit is not made. */
    int64_t lo, hi;
    int64_t last;       /* the last one at which the slice or window fits, whatever its type holds */
    uint32_t dimension; /* in which the start is an index: of the operand that is sliced, updated or gathered from */
} IxStart;

typedef struct {
    bool known; /* false: indices do not tell which elements are needed (custom calls, control flow, collectives, ..) */
    uint32_t n_ranges, n_starts;
    const int64_t *sizes; /* [n_ranges] range k is in 0 .. sizes[k]; size 0: nothing is needed */
    const IxStart *starts; /* [n_starts] */
} IxNeeds;

typedef struct {
    /* [rank of the operand]. Where the conditions hold, each node is within its dimension. Where facts do not prove
     * that (ir_within), the caller states it with a `let` in the `if` of the conditions. */
    IrRef *index;
    uint32_t n_conditions;
    IxConstraint *conditions; /* all must hold; those that facts prove are left out */
    bool never; /* no element is needed, as a condition is false or the operand is empty; `index` is not valid */
} IxAccess;

/* access.c, with a file for each family of operations: access_move.c, access_start.c, access_window.c, access_row.c. */
IxNeeds ix_needs(WbbArena *a, const HloInstruction *i);
/* All starts of an operation, also those of one value: of each operand in the order of a vector of them. */
const IxStart *ix_starts(WbbArena *a, const HloInstruction *i, uint32_t *n);
/* The dimension of an operand along which a vector of starts lies; -1: it holds no vector. */
int ix_vector_dimension(WbbArena *a, const HloInstruction *i, uint32_t operand);
/* The index `at` [rank] of start number k in its operand. Only a scatter uses `ranges`; else it may be NULL. */
void ix_start(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t k, const IrRef *out, const IrRef *ranges,
              IrRef *at);
/* out: [rank of the result, or of its first leaf]; ranges and starts: as many as ix_needs says, NULL if none. */
void ix_access(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t operand, const IrRef *out, const IrRef *ranges,
               const IrRef *starts, IxAccess *access);
/* The index node that equals element `at` of i, of integers, where that is a constant, an iota, or one of these through
 * moves, conversions and concatenates; else 0. */
IrRef ix_known(RwCx *rw, WbbArena *a, const HloInstruction *i, const IrRef *at);
/* The index `out` in the result of the element `in` of operand 0, of a move that has each once (hlo_permutes). */
void ix_result(RwCx *rw, WbbArena *a, const HloInstruction *i, const IrRef *in, IrRef *out);
/* Where operand k of a concatenate begins in its dimension; of k = n_operands, the size of the result. */
int64_t ix_concat_offset(const HloInstruction *i, uint32_t k);

/* --- analysis --------------------------------------------------------------------------------------------------------
 * Maps between the elements of two values, across one operation, a fusion or a computation. Several maps together name
 * the elements that are needed, each some of them; no map: no element is needed. Where values decide
 * (dynamic-update-slice, scatter, the padding value of a pad, sort), they name all elements that may be needed. */
typedef struct {
    IxMap **items; /* IX_KNOWN, simplified, without unused ranges and run-time variables */
    uint32_t n, capacity;
    bool unknown; /* some path has no map (custom calls, control flow, collectives), or there are too many maps */
} IxMaps;

typedef struct {
    uint32_t operand; /* of an input: its number; of an output 0 */
    uint32_t leaf;    /* of a tuple; 0 of an array */
} IxEnd;

/* analysis.c, analysis_flow.c. physical: the dimensions of both ends are in the order of memory, major first. */
/* From a leaf of the result to all leaves of all operands, one operand after the other; from a leaf of an operand to
 * all leaves of the result. [number of leaves] */
IxMaps *ix_inputs_of(RwCx *rw, WbbArena *a, const HloInstruction *i, uint32_t output_leaf, bool physical);
IxMaps *ix_outputs_of(RwCx *rw, WbbArena *a, const HloInstruction *i, IxEnd input, bool physical);
/* Between two instructions of a computation: the elements of `to` that `from` needs if `to` stands first, else those of
 * `to` that need from's. */
IxMaps ix_between(RwCx *rw, WbbArena *a, const HloComputation *c, const HloInstruction *from, const HloInstruction *to,
                  bool physical);

/* maps.c: a line for every map of every operand, and one for each run-time variable. view NULL: output to input,
 * logical.
 *     %t.0 transpose operand 0 %p: (d0, d1) -> (d1, d0), domain: d0 in [0, 19], d1 in [0, 9] */
typedef struct {
    bool targets; /* input to output */
    bool physical;
    bool json;     /* an object a line, with all maps of one operand */
} IxView;
void ix_print_maps(WbbBuf *out, RwCx *rw, WbbArena *a, const HloComputation *c, const IxView *view);
/* Between two instructions given by NAME or COMPUTATION/NAME, in the last computation that has both; fails if none
 * has. */
void ix_print_between(WbbBuf *out, WbbCx *cx, RwCx *rw, WbbArena *a, const HloModule *m, const char *from,
                      const char *to, const IxView *view);

#endif
