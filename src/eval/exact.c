/* exact: sums of floats whose order cannot matter, and bounds of those whose order can.
 *
 * Needs: the terms of a sum, one after the other. Leaves: the interval of what any order of additions may give.
 *
 * Let every term be a multiple of q, a power of two, and the magnitudes add up to at most 2^p q, where p is the number
 * of digits of the type. Then every partial sum of every order is a multiple of q with at most p digits: no addition
 * rounds, and the bound is a point. All other sums are widened by (number of additions of terms other than 0) * (half a
 * unit at 1) * (sum of magnitudes), which bounds the error of every order (Higham, Accuracy and Stability of Numerical
 * Algorithms, 2nd ed., section 4.2).
 *
 *     bf16, 1024 terms: 64 of them 1, the others 0     q = 1, magnitudes 64 <= 2^8: the sum is 64, in every order
 *     bf16, 1024 terms of about 0.5                    [465, 559]
 */
#include "eval/bounds.h"

#include <float.h>

int ev_digits(double x)
{
    if (x == 0) return 0;
    int exponent;
    const uint64_t m = (uint64_t)ldexp(frexp(fabs(x), &exponent), 53);
    return 53 - __builtin_ctzll(m);
}

double ev_unit(double x)
{
    const uint64_t bits = sc_from_f64(SC_F64, x), fraction = bits & ((UINT64_C(1) << 52) - 1);
    const int exponent = (int)(bits >> 52 & 2047), zeros = fraction ? __builtin_ctzll(fraction) : 52;
    if (exponent == 2047 || (exponent == 0 && fraction == 0)) return exponent ? 0 : (double)INFINITY;
    if (exponent + zeros > 52) return sc_to_f64(SC_F64, (uint64_t)(exponent + zeros - 52) << 52);
    return ldexp(1, WBB_MAX(exponent, 1) + zeros - 1075);
}

void ev_add_term(EvTerms *terms, double lo, double hi)
{
    /* Rounding is monotone: how far a sum may fall below that of its lower ends does not depend on the upper ones. */
    const double low = isfinite(lo) ? fabs(lo) : 0, high = isfinite(hi) ? fabs(hi) : 0;
    terms->magnitude += ev_most(low, high);
    terms->n += lo != 0 || hi != 0;
    if (terms->unit == 0) return;
    const double unit = lo == hi ? ev_unit(lo) : 0;
    if (unit < terms->unit) terms->unit = unit;
}

/* Is no addition of the terms rounded, whatever the order? A magnitude beyond 2^53 units was itself rounded; it fails
 * the test. */
static bool is_exact(ScType t, EvTerms terms)
{
    if (t == SC_F8E8M0FNU || terms.unit == 0) return false; /* a type without 0 has no empty sum */
    if (terms.magnitude == 0) return true;
    const double most = terms.unit * (2 / ev_ulp(t, 1.0)); /* the other way round, small numbers of f64 would vanish */
    return terms.unit >= ev_ulp(t, 0) && (t == SC_F64 ? terms.magnitude < most : terms.magnitude <= most) &&
           terms.magnitude <= ev_largest(t);
}

void ev_close_products(ScType t, EvBound *a, EvTerms terms, int64_t products, double roundings)
{
    ev_close_sum(t, a, terms, products + 1, roundings, ev_ulp(t, 0) / 2);
    if (a->lo.f == 0) a->lo.f = -0.0; /* the sum may begin with 0 or a product, and have zeros from padding */
    if (a->hi.f == 0) a->hi.f = 0.0;
}

void ev_close_sum(ScType t, EvBound *a, EvTerms terms, int64_t additions, double roundings, double absolute)
{
    const double unit = roundings * (ev_ulp(t, 1.0) / 2 + 0x1p-53);
    if (a->flags & EV_MUST_NAN) return;
    if (is_exact(t, terms)) return; /* a sum that is 0 is -0 if all terms are, as that of the ends is */
    if (a->lo.f == 0) a->lo.f = -0.0; /* terms that vanish in f64 have a sign */
    if (a->hi.f == 0) a->hi.f = 0.0;
    additions = WBB_MIN(additions, terms.n);
    const double error = terms.magnitude * ((double)additions * unit * 1.125) + (double)additions * absolute;
    if (!(terms.magnitude + error <= ev_largest(t)))
        *a = (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, EV_MAYBE_NAN};
    if (isfinite(a->lo.f)) a->lo.f = sc_to_f64(t, sc_from_f64(t, a->lo.f - error));
    if (isfinite(a->hi.f)) a->hi.f = sc_to_f64(t, sc_from_f64(t, a->hi.f + error));
}
