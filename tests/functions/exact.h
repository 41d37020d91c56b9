/* exact: what functions of floats are, as exactly as measuring an error to a thousandth of a unit in the last place needs.
 *
 *     ex_double(OP_EXP, 1, 0)                      2.718281828459045, for results of up to 32 bits
 *     ex_distance(OP_EXP, 1, 0, 2.71828182845904509, d)   0.1557 units of f64, by 200 bits
 */
#ifndef EXACT_H
#define EXACT_H

#include "scalar/scalar.h"

/* Functions that HLO has as formulas alone, besides the operations of scalar/. */
enum { EX_ERFC = OP_COUNT, EX_ERF_INV, EX_LGAMMA, EX_DIGAMMA };

/* exact.c. An operation or one of these by name, OP_NONE if unknown; how many operands it has. */
ScOp ex_named(const char *name);
int ex_arity(ScOp op);

/* Operands beyond the operation's arity are ignored. */
double ex_double(ScOp op, double x, double y);
long double ex_long(ScOp op, double x, double y);

/* |got - op(x, y)| in units of the last place of an f64 at the exact result, by 200 bits; `otherwise` where those bits give
 * no distance: for infinities, zeros, results above the largest value, and functions that MPFR lacks. */
double ex_distance(ScOp op, double x, double y, double got, double otherwise);

/* The last place of a type at x, and its largest finite value. */
long double ex_unit(ScType t, long double x);
long double ex_largest(ScType t);

/* sieve.c. Marks which of n results of an f32 function of one operand may be off by more than `worst` units. Returns false,
 * and marks nothing, where it does not know the function or n is not a multiple of 256. */
bool ex_sieve(ScOp op, const float *x, const float *got, uint64_t n, double worst, uint8_t *suspect);

#endif
