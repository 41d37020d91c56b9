/* eval: the reference evaluator: what a computation of HLO means.
 *
 * Three readings of the same text. EV_PLAIN: every operation rounds to its type. EV_F64: every float is a double from
 * the inputs to the end, which approximates the exact result. EV_BOUNDS: for each element the interval of results that
 * HLO allows: an operation rounds to its type, a function may be off by its sc_budget, and a sum of floats in a reduce
 * may be taken in any order; everything else is exact. EV_BOUNDS_XLA, EV_BOUNDS_APPROX: the same with the looser
 * budgets of --accuracy xla and approx.
 *
 * Arrays are logical and row-major whatever the layouts, sc_bytes(type) an element; s2 and s4 are sign-extended to
 * their byte.
 *
 *     const void *inputs[] = {x, y};                                          // one for each leaf of a parameter
 *     EvResult *r = ev_run(cx, arena, fusion.body, inputs, EV_PLAIN);          // r->outputs[k]: leaf k of the root
 */
#ifndef EV_EVAL_H
#define EV_EVAL_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "scalar/scalar.h"

typedef enum { EV_PLAIN, EV_F64, EV_BOUNDS, EV_BOUNDS_XLA, EV_BOUNDS_APPROX } EvMode;
EvMode ev_bounds_mode(ScAccuracy accuracy); /* EV_BOUNDS by the budgets of an accuracy */

enum { EV_MAYBE_NAN = 1, EV_MUST_NAN = 2 };

/* What an element may be; a complex one has an interval for each part (re, im). Floats: numbers in [lo.f, hi.f], and
 * nan if the flags say so; EV_MUST_NAN: only nan. Signed integers: [lo.i, hi.i]; unsigned and pred: [lo.u, hi.u]. */
typedef struct {
    union {
        double f;
        int64_t i;
        uint64_t u;
    } lo, hi;
    uint32_t flags;
} EvBound;

typedef struct {
    ScType type; /* of the data: in EV_F64 f64 for floats and c128 for complex, else that of the leaf */
    uint8_t rank;
    const int64_t *dims;
    void *data; /* with bounds: EvBound for each element, two for a complex one */
} EvValue;

typedef struct {
    uint32_t n;
    EvValue *outputs; /* leaf by leaf, depth first; from ev_run_at: rank 1, one element for each position */
} EvResult;

/* Which elements of one leaf are wanted: linear logical positions, repeats allowed. */
typedef struct {
    const int64_t *positions;
    int64_t n;
} EvPositions;

/* Inputs that are made on demand: `read` stores elements of input `number`, in its own type, at positions[0..n) (NULL:
 * start, start + 1, ..) to `out`. */
typedef struct {
    void (*read)(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out);
    void *arg;
} EvSource;

/* The order in which a kernel combines the terms of its reductions, as it documents it: src/eval/README.md. Reductions
 * that it does not name may take any order. */
typedef struct EvOrder EvOrder;

/* eval.c ------------------------------------------------------------------------------------------------------------
 * `inputs` has one array for each leaf of each parameter, in the type of the leaf. The result lives in `arena`.
 * Operations that the evaluator lacks are declined with WHY_OPERATION, types with WHY_TYPE. ev_run_at computes what the
 * elements at[leaf] need and no more. */
EvResult *ev_run(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode);
EvResult *ev_run_at(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode,
                    const EvPositions *at);

/* demand.c: declines at the first operation of c, or of what it calls, that no evaluation knows. */
void ev_check(WbbCx *cx, const HloComputation *c);

/* Elements of leaf `leaf` of an instruction inside c, at positions: of c itself, or where `call` is not NULL of the
 * computation that this fusion or call of c names. */
EvValue ev_value_at(WbbCx *cx, WbbArena *arena, const HloComputation *c, const HloInstruction *call,
                    const HloInstruction *i, uint32_t leaf, const EvSource *source, EvMode mode, EvPositions at);

/* As ev_run_from, or on `inputs` where `source` is NULL, in the order that the kernel documents: sums are taken term by
 * term, each addition rounded. EV_PLAIN and EV_BOUNDS only. */
EvResult *ev_run_in_order(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs,
                          const EvSource *source, EvMode mode, const EvPositions *at, const EvOrder *order);

/* What a tensor core rounds by, of a product, in half units of the last place of f32 of the sum of magnitudes: sums of
 * eight products and a ninth term, each cut off below 24 bits of the largest, and once more (sim/mma.c has the source).
 */
#define EV_MMA_ROUNDINGS 2.5
/* order.c: the meaning of n texts about instructions of c, "reduce.3: serial" or "dot.4: serial fma f32". What bodies
 * of its loops call by the same name is another one. A wbb_fail on any other text; `where` names it. */
const EvOrder *ev_order(WbbCx *cx, WbbArena *arena, const char *where, const char *const *texts, uint32_t n,
                        const HloComputation *c);

/* Fails where a tree takes the terms of a reduction of c in another order than the row-major one, and its computation
 * is not one operation that commutes. */
void ev_order_check(WbbCx *cx, const EvOrder *order, const HloComputation *c);

/* The trees of those reductions of c whose bounds do not hold the results of every order: their computation is not one
 * such operation. NULL: there are none. */
const EvOrder *ev_order_needed(WbbArena *arena, const EvOrder *order, const HloComputation *c);

/* A kernel of a module: its fusion in normal form, and the order that it documents (NULL: none). */
typedef struct {
    const HloComputation *c;
    const EvOrder *order;
} EvPart;
/* The order of the module's reductions whose bounds do not hold every order, by the kernels' reductions of such terms.
 * One of which no kernel has such terms, or several kernels that disagree, may have any value. NULL: all have the order
 * of the text. */
const EvOrder *ev_order_of_module(WbbArena *arena, const HloModule *m, const EvPart *parts, uint32_t n_parts);
/* The names of those that may have any value; NULL: none. */
const char *ev_order_open(WbbArena *arena, const EvOrder *order);

/* As ev_run_at; `at` NULL: all elements. */
EvResult *ev_run_from(WbbCx *cx, WbbArena *arena, const HloComputation *c, const EvSource *source, EvMode mode,
                      const EvPositions *at);

/* As ev_run_at in EV_PLAIN, but random numbers decide what HLO leaves open: functions are off within their budgets,
 * sums are taken in any order. The same seed gives the same result. The inputs are arrays, or a source where they are
 * NULL. */
EvResult *ev_run_perturbed(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs,
                           const EvSource *source, ScAccuracy accuracy, const EvPositions *at, uint64_t seed);

/* soundness.c
 * ------------------------------------------------------------------------------------------------------------- */
typedef struct {
    int64_t compared, outside; /* elements of all evaluations; complex ones count twice */
    int64_t floats, open;      /* results that are floats; of these, intervals with infinity or nan */
    double median;             /* width of the intervals of floats in units of the last place */
    const char *first;         /* the first one outside, NULL if none */
} EvSoundness;

/* Compares `runs` perturbed evaluations with the bounds. */
EvSoundness ev_soundness(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs,
                         const EvSource *source, ScAccuracy accuracy, const EvPositions *at, uint64_t seed,
                         uint32_t runs);

/* judge.c
 * ----------------------------------------------------------------------------------------------------------------- */
/* Do the bounds allow the value with these bits? -0 is below +0; all nans are equal. */
bool ev_bounds_contains(ScType type, uint64_t bits, const EvBound *bounds);
/* |value - exact| in units in the last place of `type` at `exact`; 0 where both are nan or the same infinity, infinity
 * where only one is. Floats only. */
double ev_ulp_distance(ScType type, uint64_t bits, double exact);
/* The distance between the neighbours of `type` around x (at a power of two, above it); of the least subnormal at 0. */
double ev_ulp(ScType type, double x);
/* The type of a part: f32 for c64, f64 for c128; a real type is its own part. */
ScType ev_part_type(ScType t);
/* "[1, 1.0078125]", "nan", "[0, 3] or nan" */
void ev_put_bounds(WbbBuf *out, ScType type, const EvBound *bounds);

#endif
