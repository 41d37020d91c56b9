/* bounds_int: intervals of integers and of pred.
 *
 * Needs: intervals of the operands. Leaves: an interval that holds every result. Arithmetic is exact in 128 bits and
 * then wrapped: the interval stays one where all of it wraps by the same multiple of 2^width, else it becomes every
 * value. Logical operations use the leading bits that both ends share; shifts are united over all possible amounts.
 *
 *     s32 add([1, 3], [10, 10]) = [11, 13];   u8 add([250, 252], [10, 10]) = [4, 6];   u8 and([16, 23], [7, 7]) = [0,
 * 7]
 */
#include "eval/bounds.h"

static WbbI128 low_of(ScType t, const EvBound *b) { return sc_is_signed(t) ? (WbbI128)b->lo.i : (WbbI128)b->lo.u; }
static WbbI128 high_of(ScType t, const EvBound *b) { return sc_is_signed(t) ? (WbbI128)b->hi.i : (WbbI128)b->hi.u; }

static EvBound interval(WbbI128 low, WbbI128 high)
{
    return (EvBound){{.u = (uint64_t)low}, {.u = (uint64_t)high}, 0};
}

static unsigned width(ScType t) { return t == SC_PRED ? 1 : sc_type_info[t].bits; }

static WbbI128 floor_divide(WbbI128 x, WbbI128 by) { return x / by - (x % by < 0); }

EvBound ev_bound_wrapped(ScType t, WbbI128 least, WbbI128 largest)
{
    EvBound any = ev_bound_any(t);
    WbbI128 from = low_of(t, &any), modulus = (WbbI128)1 << width(t);
    WbbI128 wraps = floor_divide(least - from, modulus);
    if (wraps != floor_divide(largest - from, modulus)) return any;
    return interval(least - wraps * modulus, largest - wraps * modulus);
}

static EvBound extremes(ScType t, const WbbI128 *v, unsigned n)
{
    WbbI128 least = v[0], largest = v[0];
    for (unsigned k = 1; k < n; k++) {
        least = WBB_MIN(least, v[k]);
        largest = WBB_MAX(largest, v[k]);
    }
    return ev_bound_wrapped(t, least, largest);
}

/* The four products of ends; false: u64 by u64 may exceed 127 bits. */
static bool products(ScType t, const EvBound *x, WbbI128 *v)
{
    if (high_of(t, &x[0]) > INT64_MAX && high_of(t, &x[1]) > INT64_MAX) return false;
    for (unsigned k = 0; k < 4; k++)
        v[k] = (k & 1 ? high_of(t, &x[0]) : low_of(t, &x[0])) * (k & 2 ? high_of(t, &x[1]) : low_of(t, &x[1]));
    return true;
}

EvBound ev_bound_mulhi(ScType t, const EvBound *x)
{
    WbbI128 v[4];
    if (!sc_is_signed(t)) {
        WbbU128 low = (WbbU128)x[0].lo.u * x[1].lo.u, high = (WbbU128)x[0].hi.u * x[1].hi.u;
        return interval((WbbI128)(low >> width(t)), (WbbI128)(high >> width(t)));
    }
    products(t, x, v);
    for (unsigned k = 0; k < 4; k++) v[k] = floor_divide(v[k], (WbbI128)1 << width(t));
    return extremes(t, v, 4);
}

/* a / b for b in [c, d], which does not hold 0: monotone in each operand where signs are fixed, so the corners suffice.
 */
static EvBound quotients(ScType t, const EvBound *x, WbbI128 c, WbbI128 d)
{
    WbbI128 a = low_of(t, x), b = high_of(t, x);
    const WbbI128 v[5] = {a / c, a / d, b / c, b / d, a <= 0 && b >= 0 ? 0 : a / c};
    return extremes(t, v, 5);
}

static EvBound division(ScType t, const EvBound *x)
{
    WbbI128 c = low_of(t, &x[1]), d = high_of(t, &x[1]);
    EvBound r = {0};
    bool none = true;
    for (unsigned part = 0; part < 3; part++) {
        EvBound one = {0};
        if (part == 0 && c < 0) one = quotients(t, x, c, WBB_MIN(d, -1));
        else if (part == 1 && d > 0) one = quotients(t, x, WBB_MAX(c, 1), d);
        else if (part == 2 && c <= 0 && d >= 0) one = ev_bound_exact(t, sc_mask(t)); /* by zero: all ones */
        else continue;
        r = none ? one : ev_bound_union(t, r, one);
        none = false;
    }
    return r;
}

/* The sign is that of the dividend; the magnitude is below that of the divisor and at most that of the dividend. A
 * remainder by zero is the dividend. */
static EvBound remainders(ScType t, const EvBound *x)
{
    WbbI128 a = low_of(t, &x[0]), b = high_of(t, &x[0]), c = low_of(t, &x[1]), d = high_of(t, &x[1]);
    WbbI128 most = WBB_MAX(c < 0 ? -c : c, d < 0 ? -d : d) - 1;
    WbbI128 closest = c > 0 ? c : d < 0 ? -d : 0; /* the least magnitude of a divisor */
    if (a > -closest && b < closest) return x[0];
    if (c <= 0 && d >= 0) most = WBB_MAX(most, WBB_MAX(-a, b));
    return interval(a < 0 ? WBB_MAX(a, -most) : 0, b > 0 ? WBB_MIN(b, most) : 0);
}

/* The known bits of a value: those above the highest bit in which the ends differ. */
typedef struct {
    uint64_t known, value;
} Bits;

static Bits bits_of(ScType t, const EvBound *b)
{
    uint64_t low = b->lo.u & sc_mask(t), high = b->hi.u & sc_mask(t), differ = low ^ high;
    for (unsigned s = 1; s < 64; s *= 2) differ |= differ >> s;
    return (Bits){~differ & sc_mask(t), low & ~differ};
}

/* The interval of all values with these known bits. */
static EvBound of_bits(ScType t, Bits b)
{
    uint64_t sign = (sc_mask(t) >> 1) + 1, least = b.value, largest = b.value | (~b.known & sc_mask(t));
    if (sc_is_signed(t) && !(b.known & sign)) { /* negative is smallest */
        least |= sign;
        largest &= ~sign;
    }
    EvBound low = ev_bound_exact(t, least), high = ev_bound_exact(t, largest);
    return (EvBound){low.lo, high.hi, 0};
}

static EvBound logical(ScOp op, ScType t, const EvBound *x)
{
    Bits a = bits_of(t, &x[0]), b = bits_of(t, &x[1]), r = {a.known & b.known, 0};
    uint64_t zero_a = a.known & ~a.value, zero_b = b.known & ~b.value;
    switch (op) {
    case OP_BAND:
        r.value = a.value & b.value;
        r.known |= zero_a | zero_b;
        break;
    case OP_BOR:
        r.value = a.value | b.value;
        r.known |= a.value | b.value;
        break;
    default: r.value = (a.value ^ b.value) & r.known; break;
    }
    EvBound found = of_bits(t, r);
    bool natural = low_of(t, &x[0]) >= 0 && low_of(t, &x[1]) >= 0;
    if (natural && op == OP_BAND) found.hi.u = WBB_MIN(found.hi.u, WBB_MIN(x[0].hi.u, x[1].hi.u));
    if (natural && op == OP_BOR) found.lo.u = WBB_MAX(found.lo.u, WBB_MAX(x[0].lo.u, x[1].lo.u));
    return found;
}

/* A shift by s, which is at most the width. */
static EvBound shifted(ScOp op, ScType t, const EvBound *x, unsigned s)
{
    WbbI128 a = low_of(t, x), b = high_of(t, x);
    bool out = s >= width(t);
    switch (op) {
    case OP_SHL: return out ? ev_bound_exact(t, 0) : ev_bound_wrapped(t, a * ((WbbI128)1 << s), b * ((WbbI128)1 << s));
    case OP_SHRA:
        if (!sc_is_signed(t) && (a ^ b) >> (width(t) - 1)) return ev_bound_any(t);
        if (!sc_is_signed(t) && a >> (width(t) - 1)) { /* the top bit is a sign even in an unsigned type */
            WbbI128 modulus = (WbbI128)1 << width(t);
            s = out ? width(t) - 1 : s;
            return interval(floor_divide(a - modulus, (WbbI128)1 << s) + modulus,
                            floor_divide(b - modulus, (WbbI128)1 << s) + modulus);
        }
        s = out ? width(t) - 1 : s;
        return interval(floor_divide(a, (WbbI128)1 << s), floor_divide(b, (WbbI128)1 << s));
    default:
        if (out) return ev_bound_exact(t, 0);
        if (s == 0) return *x;
        if (a < 0 && b >= 0) return interval(0, (WbbI128)(sc_mask(t) >> s));
        return interval((WbbI128)((x->lo.u & sc_mask(t)) >> s), (WbbI128)((x->hi.u & sc_mask(t)) >> s));
    }
}

static EvBound shift(ScOp op, ScType t, const EvBound *x)
{
    WbbI128 c = low_of(t, &x[1]), d = high_of(t, &x[1]), most = (WbbI128)width(t);
    EvBound r = {0};
    bool none = true;
    for (WbbI128 s = 0; s <= most; s++) {
        bool beyond = s == most && (d >= most || c < 0); /* a negative amount counts as a large one */
        if (!beyond && (s < c || s > d)) continue;
        EvBound one = shifted(op, t, x, (unsigned)s);
        r = none ? one : ev_bound_union(t, r, one);
        none = false;
    }
    return r;
}

/* x^n for a known n: rises with x where x is not negative. */
static EvBound power(ScType t, const EvBound *x)
{
    WbbI128 a = low_of(t, x), b = high_of(t, x), n = low_of(t, &x[1]), low = 1, high = 1;
    if (a < 0 || n != high_of(t, &x[1]) || n < 0 || n > 64) return ev_bound_any(t);
    for (WbbI128 k = 0; k < n; k++) {
        if (high > INT64_MAX || b > INT64_MAX) return ev_bound_any(t);
        low *= a;
        high *= b;
    }
    return ev_bound_wrapped(t, low, high);
}

static unsigned ones(uint64_t x)
{
    unsigned n = 0;
    for (; x; x &= x - 1) n++;
    return n;
}

static unsigned zeros_above(ScType t, uint64_t x)
{
    unsigned n = width(t);
    for (; x; x >>= 1) n--;
    return n;
}

static EvBound counts(ScOp op, ScType t, const EvBound *x)
{
    Bits b = bits_of(t, x);
    uint64_t least = b.value, largest = b.value | (~b.known & sc_mask(t));
    if (op == OP_POPCNT) return ev_bound_wrapped(t, ones(least), ones(largest));
    return ev_bound_wrapped(t, zeros_above(t, largest), zeros_above(t, least));
}

static EvBound pred_op(ScOp op, const EvBound *x)
{
    switch (op) {
    case OP_ADD:
    case OP_MAX:
    case OP_BOR: return (EvBound){{.u = x[0].lo.u | x[1].lo.u}, {.u = x[0].hi.u | x[1].hi.u}, 0};
    case OP_MUL:
    case OP_MIN:
    case OP_BAND: return (EvBound){{.u = x[0].lo.u & x[1].lo.u}, {.u = x[0].hi.u & x[1].hi.u}, 0};
    case OP_BNOT: return (EvBound){{.u = !x->hi.u}, {.u = !x->lo.u}, 0};
    default: return ev_bound_pred(true, true);
    }
}

EvBound ev_bound_int(ScOp op, ScType t, const EvBound *x)
{
    if (t == SC_PRED) return pred_op(op, x);
    WbbI128 a = low_of(t, &x[0]), b = high_of(t, &x[0]), c = 0, d = 0, v[4];
    if (sc_op_info[op].arity > 1) c = low_of(t, &x[1]), d = high_of(t, &x[1]);
    switch (op) {
    case OP_ADD: return ev_bound_wrapped(t, a + c, b + d);
    case OP_SUB: return ev_bound_wrapped(t, a - d, b - c);
    case OP_MUL: return products(t, x, v) ? extremes(t, v, 4) : ev_bound_any(t);
    case OP_DIV: return division(t, x);
    case OP_REM: return remainders(t, x);
    case OP_POW: return power(t, x);
    case OP_MAX: return interval(WBB_MAX(a, c), WBB_MAX(b, d));
    case OP_MIN: return interval(WBB_MIN(a, c), WBB_MIN(b, d));
    case OP_NEG: return ev_bound_wrapped(t, -b, -a);
    case OP_ABS: return ev_bound_wrapped(t, a > 0 ? a : b < 0 ? -b : 0, WBB_MAX(-a, b));
    case OP_SIGN: return interval((a > 0) - (a < 0), (b > 0) - (b < 0));
    case OP_BNOT:
        return sc_is_signed(t) ? interval(-1 - b, -1 - a) : interval((WbbI128)sc_mask(t) - b, (WbbI128)sc_mask(t) - a);
    case OP_BAND:
    case OP_BOR:
    case OP_BXOR: return logical(op, t, x);
    case OP_SHL:
    case OP_SHRA:
    case OP_SHRL: return shift(op, t, x);
    case OP_POPCNT:
    case OP_CLZ: return counts(op, t, x);
    default: return ev_bound_any(t);
    }
}
