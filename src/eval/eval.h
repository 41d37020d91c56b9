/* eval: what a computation of HLO means, the slow and obvious way.
 *
 * Three readings of the same text. EV_PLAIN: every operation rounds to its type. EV_F64: every float is a double from the inputs
 * to the end, which tells what the exact result is about. EV_BOUNDS: for each element the interval of results that HLO allows
 * under the contract that an operation rounds to its type, a function may miss by its sc_budget, and a sum of floats in a reduce
 * may be taken in any order; all else is exact. EV_BOUNDS_APPROX: the same by the looser budgets of --approx.
 *
 * Arrays are logical and row-major whatever the layouts, sc_bytes(type) an element; s2 and s4 are sign-extended to their byte.
 *
 *     const void *inputs[] = {x, y};                                          // one for each leaf of a parameter
 *     EvResult *r = ev_run(cx, arena, fusion.body, inputs, EV_PLAIN);          // r->outputs[k]: leaf k of the root
 */
#ifndef EV_EVAL_H
#define EV_EVAL_H

#include "base/base.h"
#include "hlo/hlo.h"
#include "scalar/scalar.h"

typedef enum { EV_PLAIN, EV_F64, EV_BOUNDS, EV_BOUNDS_APPROX } EvMode;

enum { EV_MAYBE_NAN = 1, EV_MUST_NAN = 2 };

/* What an element may be; of a complex one, each part by itself (re, im). Floats: numbers in [lo.f, hi.f], and nan as the flags say; EV_MUST_NAN: nothing but nan. Signed
 * integers: [lo.i, hi.i]; unsigned and pred: [lo.u, hi.u]. */
typedef struct {
    union {
        double f;
        int64_t i;
        uint64_t u;
    } lo, hi;
    uint32_t flags;
} EvBound;

typedef struct {
    ScType type; /* of the data: the leaf's own; in EV_F64 f64 for floats and c128 for complex; with bounds the leaf's own */
    uint8_t rank;
    const int64_t *dims;
    void *data; /* with bounds: EvBound for each element, two for a complex one */
} EvValue;

typedef struct {
    uint32_t n;
    EvValue *outputs; /* leaf by leaf, depth first; of ev_run_at: rank 1, an element a position */
} EvResult;

/* Which elements of one leaf are wanted: linear logical positions, repeats allowed. */
typedef struct {
    const int64_t *positions;
    int64_t n;
} EvPositions;

/* Inputs that are made when they are asked for: elements of input `number` at positions[0..n) (NULL: start, start + 1, ..),
 * in its own type, to `out`. */
typedef struct {
    void (*read)(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out);
    void *arg;
} EvSource;

/* The order in which a kernel combines the terms of its reductions, as it documents it: src/eval/README.md. Reductions that it does not
 * name may take any order. */
typedef struct EvOrder EvOrder;

/* eval.c ------------------------------------------------------------------------------------------------------------------
 * `inputs[k]` holds parameter k in its own type; a parameter that is a tuple has one for each leaf. The result lives in `arena`. Operations without an
 * evaluator are wbb_decline(WHY_OPERATION), types without one WHY_TYPE. ev_run_at evaluates what the elements at[leaf] need
 * and no more. */
EvResult *ev_run(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode);
EvResult *ev_run_at(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, EvMode mode,
                    const EvPositions *at);

/* Elements of leaf `leaf` of an instruction inside c, at positions: of c itself, or where `call` is not NULL of the computation that this
 * fusion or call of c names. */
EvValue ev_value_at(WbbCx *cx, WbbArena *arena, const HloComputation *c, const HloInstruction *call, const HloInstruction *i, uint32_t leaf,
                    const EvSource *source, EvMode mode, EvPositions at);

/* As ev_run_from, or on `inputs` where `source` is NULL, in the order that the kernel documents: sums are taken term by term, each addition
 * rounded. EV_PLAIN and EV_BOUNDS alone. */
EvResult *ev_run_in_order(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, const EvSource *source, EvMode mode,
                          const EvPositions *at, const EvOrder *order);

/* order.c: what `n` texts say, "reduce.3: serial" or "dot.4: serial fma f32". A wbb_fail on any other text; `where` names it. */
const EvOrder *ev_order(WbbCx *cx, WbbArena *arena, const char *where, const char *const *texts, uint32_t n);

/* As ev_run_at; `at` NULL: all elements. */
EvResult *ev_run_from(WbbCx *cx, WbbArena *arena, const HloComputation *c, const EvSource *source, EvMode mode, const EvPositions *at);

/* perturb.c -----------------------------------------------------------------------------------------------------------------
 * As ev_run_at in EV_PLAIN, but what HLO leaves open is decided by chance: functions miss within their budgets, sums are taken in
 * any order. The same seed gives the same result. The inputs are arrays, or a source where they are NULL. */
EvResult *ev_run_perturbed(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs, const EvSource *source,
                           bool approx, const EvPositions *at, uint64_t seed);

typedef struct {
    int64_t compared, outside; /* elements of all runs; complex ones count twice */
    int64_t floats, open;      /* results that are floats; of these, intervals with infinity or nan */
    double median;             /* width of the intervals of floats in units of the last place */
    const char *first;         /* the first one outside, NULL if none */
} EvSoundness;

/* `runs` perturbed evaluations held against the bounds. */
EvSoundness ev_soundness(WbbCx *cx, WbbArena *arena, const HloComputation *c, const void *const *inputs,
                         const EvSource *source, bool approx, const EvPositions *at, uint64_t seed, uint32_t runs);

/* judge.c ----------------------------------------------------------------------------------------------------------------- */
/* Is the value with these bits one that the bounds allow? -0 and +0 are one value, and so are nans. */
bool ev_bounds_contains(ScType type, uint64_t bits, const EvBound *bounds);
/* |value - exact| in units in the last place of `type` at `exact`; 0 where both are nan or the same infinity, infinity where
 * only one is. Floats only. */
double ev_ulp_distance(ScType type, uint64_t bits, double exact);
/* The distance between the neighbours of `type` around x (at a power of two, above it); of the least subnormal at 0. */
double ev_ulp(ScType type, double x);
/* The type of a part: f32 of c64, f64 of c128, others themselves. */
ScType ev_part_type(ScType t);
/* "[1, 1.0078125]", "nan", "[0, 3] or nan" */
void ev_put_bounds(WbbBuf *out, ScType type, const EvBound *bounds);

#endif
