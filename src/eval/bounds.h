/* What the files of eval/ know of each other's bounds: see bounds.c. */
#ifndef EV_BOUNDS_H
#define EV_BOUNDS_H

#include "eval/inner.h"

/* bounds.c */
/* `approx`: by the looser budgets. OP_NONE: clamp and its like. */
void ev_bounds(const HloInstruction *i, ScOp op, bool approx, int64_t n, EvBound *r, void *const *x);
/* One element of any operation that has a function. */
EvBound ev_bound_op(ScOp op, ScType t, ScType from, const EvBound *x, bool approx);
EvBound ev_bound_nan(void);
bool ev_value(ScOp op, ScType t, ScType from, const uint64_t *x, uint64_t *r); /* sc_eval, and small types as well */

/* bounds_float.c: operations on floats that are not single values, or whose function has a budget */
EvBound ev_bound_float(ScOp op, ScType t, const EvBound *x, bool approx);

/* compute.c */
uint64_t ev_reduced(ScType t, uint64_t bits, const HloInstruction *reduce_precision);
int64_t ev_total_key(ScType t, uint64_t bits); /* floats ordered as integers: -nan, -inf, .., -0, +0, .., inf, nan */

#endif
