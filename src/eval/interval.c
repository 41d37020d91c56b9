/* interval: the intervals that EV_BOUNDS holds for each element: made from values, compared, united.
 *
 * Needs: values of a type as bits. Leaves: EvBounds. It computes no operation; see bounds.c for those.
 *
 *     ev_bound_union(SC_I32, [1, 2], [5, 6]) = [1, 6];   ev_bound_any(SC_U8) = [0, 255]
 */
#include "eval/bounds.h"

#include <math.h>

EvBound ev_bound_nan(void)
{
    return (EvBound){{.f = (double)INFINITY}, {.f = -(double)INFINITY}, EV_MUST_NAN | EV_MAYBE_NAN};
}

EvBound ev_bound_exact(ScType t, uint64_t bits)
{
    EvBound b = {{.u = bits}, {.u = bits}, 0};
    if (sc_is_float(t)) {
        b.lo.f = b.hi.f = sc_to_f64(t, bits);
        if (isnan(b.lo.f)) return ev_bound_nan();
    } else if (sc_is_signed(t)) {
        b.lo.i = b.hi.i = (int64_t)sc_to_i128(t, bits);
    }
    return b;
}

EvBound ev_bound_any(ScType t)
{
    if (t == SC_F8E8M0FNU) return (EvBound){{.f = 0x1p-127}, {.f = 0x1p127}, EV_MAYBE_NAN};
    if (sc_is_float(t))
        return (EvBound){{.f = -(double)INFINITY}, {.f = (double)INFINITY}, t == SC_F4E2M1FN ? 0 : EV_MAYBE_NAN};
    EvBound b = {{.u = 0}, {.u = sc_mask(t)}, 0};
    if (sc_is_signed(t)) {
        b.hi.i = (int64_t)(sc_mask(t) >> 1);
        b.lo.i = -b.hi.i - 1;
    }
    return b;
}

bool ev_bound_single(ScType t, const EvBound *b, uint64_t *bits)
{
    if (sc_is_float(t)) {
        if (b->flags || b->lo.f != b->hi.f || signbit(b->lo.f) != signbit(b->hi.f)) return false;
        *bits = sc_from_f64(t, b->lo.f);
        return true;
    }
    *bits = b->lo.u & sc_mask(t);
    return b->lo.u == b->hi.u;
}

EvBound ev_bound_pred(bool may_be_false, bool may_be_true)
{
    return (EvBound){{.u = may_be_false ? 0 : 1}, {.u = may_be_true ? 1 : 0}, 0};
}

/* Is a below b, where -0 is below +0? */
static bool below(ScType t, EvEnd a, EvEnd b)
{
    return ev_order_ends(t, a, b) < 0 || (sc_is_float(t) && a.f == 0 && b.f == 0 && signbit(a.f) && !signbit(b.f));
}

EvBound ev_bound_union(ScType t, EvBound a, EvBound b)
{
    uint32_t flags = (a.flags | b.flags) & EV_MAYBE_NAN;
    if (a.flags & b.flags & EV_MUST_NAN) return a;
    EvBound r = a.flags & EV_MUST_NAN ? b : a;
    if (!((a.flags | b.flags) & EV_MUST_NAN)) {
        if (below(t, ev_lo(&b), ev_lo(&r))) r.lo = b.lo;
        if (below(t, ev_hi(&r), ev_hi(&b))) r.hi = b.hi;
    }
    r.flags = flags;
    return r;
}
