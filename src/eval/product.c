/* product: what the products of floats, or of complex values, may be in any order of their factors.
 *
 * Needs: the factors, one after the other, as intervals. Leaves: the interval that one order gave, widened by what
 * others may round, overflow or lose.
 *
 * Where the magnitudes over 1, or those under 1, multiply out of the range of the type, some order overflows or
 * vanishes, and the result may be anything. Where the factors have so few digits together that no order rounds, all
 * orders agree. Else a product of real values is widened by one relative rounding for each factor. A product of complex
 * values, whose parts may cancel, lies in a disc: an order's error is relative to the magnitude of the product, not to
 * its parts, and discs multiply as well in every order.
 *
 *     3 factors of f32 near 2     [8 (1 - 2 * 2^-22), 8 (1 + 2 * 2^-22)]
 */
#include "eval/bounds.h"

#include <math.h>

#define INF ((double)INFINITY)

static bool has_zero(const EvBound *x) { return x->lo.f <= 0 && x->hi.f >= 0; }
static double smallest(const EvBound *x) { return has_zero(x) ? 0 : fmin(fabs(x->lo.f), fabs(x->hi.f)); }
static double largest(const EvBound *x) { return fmax(fabs(x->lo.f), fabs(x->hi.f)); }
static bool is_single(const EvBound *x) { return x->lo.f == x->hi.f && isfinite(x->lo.f); }

/* A magnitude in low .. high. */
static void note(EvProduct *p, double low, double high, double digits)
{
    p->factors++;
    p->digits += digits;
    p->above += log2(fmax(high, 1));
    p->below += low == 0 && high == 0 ? 0 : log2(fmin(low, 1));
}

void ev_note_factor(EvProduct *p, const EvBound *x)
{
    if (x->flags & EV_MUST_NAN) {
        p->factors++, p->digits = INF;
        return;
    }
    const int digits = is_single(x) ? ev_digits(x->lo.f) : -1;
    note(p, smallest(x), largest(x), digits < 0 ? INF : digits > 1 ? digits : 0);
}

void ev_note_divisor(EvProduct *p, const EvBound *x)
{
    if (x->flags & EV_MUST_NAN) {
        p->factors++, p->digits = INF;
        return;
    }
    const bool power = is_single(x) && ev_digits(x->lo.f) == 1; /* of two: the quotient is exact */
    note(p, 1 / largest(x), 1 / smallest(x), power ? 0 : INF);
}

/* Do the magnitudes of all partial products stay where the type rounds relatively? */
static bool in_range(ScType t, const EvProduct *p)
{
    const double top = log2(ev_largest(t)) - 1, least = log2(ev_ulp(t, 0)) - log2(ev_ulp(t, 1.0)) + 1;
    return p->above <= top && p->below >= least;
}

static bool is_exact(ScType t, const EvProduct *p)
{
    return p->digits <= 1 - log2(ev_ulp(t, 1.0)) && in_range(t, p);
}

void ev_close_product(ScType t, const EvProduct *p, EvBound *b)
{
    if (p->factors < 3 || is_exact(t, p)) return; /* one product is rounded once */
    if (!in_range(t, p)) {                        /* also where this order made nan of an overflow */
        *b = (EvBound){{.f = -INF}, {.f = INF}, EV_MAYBE_NAN};
        return;
    }
    if (b->flags & EV_MUST_NAN) return;
    const double grow = 1 + (p->factors - 1) * 2 * ev_ulp(t, 1.0);
    b->lo.f = sc_to_f64(t, sc_from_f64(t, b->lo.f > 0 ? b->lo.f / grow : b->lo.f * grow));
    b->hi.f = sc_to_f64(t, sc_from_f64(t, b->hi.f > 0 ? b->hi.f * grow : b->hi.f / grow));
}

/* --- complex values ----------------------------------------------------------------------------------------------- */
/* log2 of the magnitude in units of which both parts are multiples: so is each part of a product, in those of its
 * factors, and the magnitude is the product's. */
static double common_digits(double re, double im)
{
    const double unit = fmin(re != 0 ? ev_unit(re) : INF, im != 0 ? ev_unit(im) : INF);
    return isinf(unit) ? 0 : log2(hypot(re / unit, im / unit));
}

void ev_note_complex_factor(ScType t, EvProduct *p, EvDisc *d, const EvBound *x)
{
    if ((x[0].flags | x[1].flags) & EV_MUST_NAN) d->nan = true;
    if (x[0].flags || x[1].flags) {
        p->factors++, p->digits = p->above = INF;
        return;
    }
    const double digits = is_single(&x[0]) && is_single(&x[1]) ? common_digits(x[0].lo.f, x[1].lo.f) : INF;
    note(p, hypot(smallest(&x[0]), smallest(&x[1])), hypot(largest(&x[0]), largest(&x[1])), digits);
    if (isinf(p->above)) return; /* which leaves the product open */
    const long double re = ((long double)x[0].lo.f + x[0].hi.f) / 2, im = ((long double)x[1].lo.f + x[1].hi.f) / 2;
    const long double radius = hypotl((long double)x[0].hi.f - re, (long double)x[1].hi.f - im);
    const long double size = hypotl(re, im), before = hypotl(d->re, d->im);
    /* Each part of a product rounds three times, all relative to the magnitude: less than 2.5 half units for both parts
     * together, and as much again for what is subnormal. The first factor is no product. */
    const long double rounded = p->factors > 1 ? 2.5L * ev_ulp(t, 1.0) * (size + radius) : 0;
    d->radius = before * (radius + rounded) + d->radius * (size + radius + rounded);
    const long double product = d->re * re - d->im * im;
    d->im = d->re * im + d->im * re;
    d->re = product;
}

static EvBound around(ScType t, long double x, long double radius)
{
    EvBound b = {{.f = (double)(x - radius)}, {.f = (double)(x + radius)}, 0};
    b.lo.f = ev_step(SC_F64, b.lo.f, false), b.hi.f = ev_step(SC_F64, b.hi.f, true);
    return ev_bound_narrow(t, b);
}

void ev_close_complex_product(ScType t, const EvProduct *p, const EvDisc *d, EvBound *b)
{
    if (p->factors < 3 || d->nan) return; /* a nan spoils both parts in every order */
    if (is_exact(t, p)) {
        for (uint32_t k = 0; k < 2; k++) /* the sign of a part that cancels depends on the order */
            if (b[k].lo.f == 0 && b[k].hi.f == 0) b[k].lo.f = -0.0, b[k].hi.f = 0.0;
        return;
    }
    for (uint32_t k = 0; k < 2; k++)
        b[k] = in_range(t, p) ? around(t, k ? d->im : d->re, d->radius)
                              : (EvBound){{.f = -INF}, {.f = INF}, EV_MAYBE_NAN};
}
