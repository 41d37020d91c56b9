/* What the files of eval/ know of each other's bounds: see bounds.c.
 *
 * An interval of floats orders -0 below +0: [-0, 1] holds both zeros, [+0, 1] only the positive one, which is what 1/x asks.
 */
#ifndef EV_BOUNDS_H
#define EV_BOUNDS_H

#include "eval/inner.h"

/* bounds.c */
/* `approx`: by the looser budgets. OP_NONE: clamp and its like. x[k]: the lanes of operand k; equal pointers: equal values. */
void ev_bounds(const HloInstruction *i, ScOp op, bool approx, int64_t n, EvBound *r, void *const *x);
/* One element of any operation that has a function. */
EvBound ev_bound_op(ScOp op, ScType t, ScType from, const EvBound *x, bool approx);
EvBound ev_bound_nan(void);
EvBound ev_bound_pred(bool may_be_false, bool may_be_true);
EvBound ev_bound_convert(ScType t, ScType from, const EvBound *x);
bool ev_value(ScOp op, ScType t, ScType from, const uint64_t *x, uint64_t *r); /* sc_eval, and small types as well */

/* bounds_int.c: integers and pred */
EvBound ev_bound_int(ScOp op, ScType t, const EvBound *x);
EvBound ev_bound_mulhi(ScType t, const EvBound *x);
/* The values [least, largest], wrapped to the type. */
EvBound ev_bound_wrapped(ScType t, WbbI128 least, WbbI128 largest);

/* bounds_float.c: operations on floats that are not single values, or whose function has a budget */
EvBound ev_bound_float(ScOp op, ScType t, const EvBound *x, bool approx);
/* op(x, x), where x is one value that is not known: x - x is 0 and x * x is not negative. False: nothing better is known. */
bool ev_bound_same(ScOp op, ScType t, const EvBound *x, bool approx, EvBound *r);
/* An interval of f64 rounded to a type; overflow to nan, where the type does that, is told. */
EvBound ev_bound_narrow(ScType t, EvBound x);
double ev_largest(ScType t); /* finite value */
/* What may be given for an exact y by a function with that budget: values of the type. */
EvBound ev_bound_allowed(ScOp op, ScType t, ScBudget budget, double y);
/* The neighbour of x that is larger, or smaller. */
double ev_step(ScType t, double x, bool up);

/* bounds_complex.c: lanes of pairs (re, im) */
void *ev_bounds_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x);

/* compute.c */
uint64_t ev_reduced(ScType t, uint64_t bits, const HloInstruction *reduce_precision);
int64_t ev_total_key(ScType t, uint64_t bits); /* floats ordered as integers: -nan, -inf, .., -0, +0, .., inf, nan */

#endif
