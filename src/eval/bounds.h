/* What the files of eval/ share about intervals: see bounds.c.
 *
 * An interval of floats orders -0 below +0: [-0, 1] holds both zeros, [+0, 1] only the positive one. 1/x needs the
 * difference.
 */
#ifndef EV_BOUNDS_H
#define EV_BOUNDS_H

#include "eval/inner.h"

#include <math.h>

/* interval.c */
EvBound ev_bound_nan(void);
EvBound ev_bound_pred(bool may_be_false, bool may_be_true);

/* One end of an interval. */
typedef union {
    double f;
    int64_t i;
    uint64_t u;
} EvEnd;

static inline EvEnd ev_lo(const EvBound *b) { return (EvEnd){.u = b->lo.u}; }
static inline EvEnd ev_hi(const EvBound *b) { return (EvEnd){.u = b->hi.u}; }

/* The smaller and the larger of two numbers; -0 is below +0. */
static inline double ev_least(double a, double b) { return a < b || (a == b && signbit(a)) ? a : b; }
static inline double ev_most(double a, double b) { return a > b || (a == b && !signbit(a)) ? a : b; }

/* -1, 0 or 1 as a is below, equal to or above b; -0 equals +0. */
static inline int ev_order_ends(ScType t, EvEnd a, EvEnd b)
{
    if (sc_is_float(t)) return (a.f > b.f) - (a.f < b.f);
    if (sc_is_signed(t)) return (a.i > b.i) - (a.i < b.i);
    return (a.u > b.u) - (a.u < b.u);
}

/* value.c: operations on one value */
bool ev_value(ScOp op, ScType t, ScType from, const uint64_t *x, uint64_t *r); /* sc_eval, for small types as well */
uint64_t ev_reduced(ScType t, uint64_t bits, const HloInstruction *reduce_precision);
int64_t ev_total_key(ScType t, uint64_t bits); /* an integer that orders floats: -nan, -inf, .., -0, +0, .., inf, nan */
/* Units in the last place by which a power of complex values may be off besides its budget; 0 for other operations. */
double ev_complex_units(const HloInstruction *i, const double (*x)[2]);

/* bounds.c */
/* By the budgets of `accuracy`. OP_NONE: clamp and other operations without a ScOp. x[k]: lanes of operand k; equal
 * pointers mean equal values. */
void ev_bounds(const HloInstruction *i, ScOp op, ScAccuracy accuracy, int64_t n, EvBound *r, void *const *x);
/* One element of any operation that has a scalar function. */
EvBound ev_bound_op(ScOp op, ScType t, ScType from, const EvBound *x, ScAccuracy accuracy);
EvBound ev_bound_convert(ScType t, ScType from, const EvBound *x);

/* bounds_int.c: integers and pred */
EvBound ev_bound_int(ScOp op, ScType t, const EvBound *x);
EvBound ev_bound_mulhi(ScType t, const EvBound *x);
/* The values [least, largest], wrapped to the type. */
EvBound ev_bound_wrapped(ScType t, WbbI128 least, WbbI128 largest);

/* bounds_float.c: operations on floats that are not single values, or whose function has a budget */
EvBound ev_bound_float(ScOp op, ScType t, const EvBound *x, ScAccuracy accuracy);
/* op(x, x) where both operands are the same unknown value: x - x is 0, and x * x is not negative. False: no better
 * bound than for two different operands. */
bool ev_bound_same(ScOp op, ScType t, const EvBound *x, ScAccuracy accuracy, EvBound *r);
/* An interval of f64 rounded to a type; sets EV_MAYBE_NAN where overflow gives nan in that type. */
EvBound ev_bound_narrow(ScType t, EvBound x);
double ev_largest(ScType t); /* largest finite value */
/* What a function with that budget may return for an exact y: an interval with ends in the type. */
EvBound ev_bound_allowed(ScOp op, ScType t, ScBudget budget, double y);
/* The neighbour of x that is larger, or smaller. */
double ev_step(ScType t, double x, bool up);

/* product.c: products of several factors in any order; a product of one factor is {0} and EV_UNIT_DISC before it */
typedef struct {
    double above, below; /* log2 of the product of the magnitudes over 1, and of those under 1 */
    double digits;       /* binary ones that the exact product may need; infinity: some factor is not a known number */
    double factors;
} EvProduct;
/* Products of complex values, the exact one being at most `radius` from (re, im), and what an order rounds. */
typedef struct {
    long double re, im, radius;
    bool nan; /* some factor must be nan */
} EvDisc;
#define EV_UNIT_DISC ((EvDisc){1, 0, 0, false})
void ev_note_factor(EvProduct *p, const EvBound *x);
void ev_note_divisor(EvProduct *p, const EvBound *x); /* real: the factor is 1 / x, and the quotient rounded once */
void ev_note_complex_factor(ScType t, EvProduct *p, EvDisc *d, const EvBound *x); /* t: of the parts; x: both of them */
/* b: what one order gives, which is widened to what all give; a complex one has two. */
void ev_close_product(ScType t, const EvProduct *p, EvBound *b);
void ev_close_complex_product(ScType t, const EvProduct *p, const EvDisc *d, EvBound *b);

/* bounds_complex.c: lanes of pairs (re, im) */
void *ev_bounds_complex(Ev *e, const HloInstruction *i, int64_t n, void *const *x);

#endif
