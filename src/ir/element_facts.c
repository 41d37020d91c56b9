/* element_facts.c: what is known of an element wherever it is evaluated: bits of integers, classes of floats.
 *
 * Each transfer function is sound for every value of its operands; "nothing known" is always sound. A question looks
 * only a few operations deep, so that its time is bounded.
 *
 *     band.u32(x, 0xf0): bits 0..3 and 8..31 are never set
 *     max.f32(x, 0.0): never -0 and never negative (nan it may be)
 */
#include "ir/ir.h"

/* --- integers ----------------------------------------------------------------------------------------------------- */
static IrBits either(IrBits x, IrBits y) { return (IrBits){x.zero & y.zero, x.one & y.one}; }

/* All bits above the highest that may be set. */
static uint64_t above(uint64_t may_be_set)
{
    return may_be_set ? ~(UINT64_MAX >> __builtin_clzll(may_be_set)) : UINT64_MAX;
}

/* the known zeros from bit 0 up to the first other bit */
static uint64_t low_zeros(uint64_t zero) { return zero & ~(zero + 1); }

static IrBits shifted(ScOp op, IrBits x, uint64_t by, uint64_t mask, uint32_t width)
{
    if (by >= width) return op == OP_SHL || op == OP_SHRL ? (IrBits){mask, 0} : (IrBits){0, 0};
    if (op == OP_SHL || op == OP_SHLX) return (IrBits){(x.zero << by | ((1ull << by) - 1)) & mask, x.one << by & mask};
    const uint64_t high = mask & ~(mask >> by);
    if (op == OP_SHRL || op == OP_SHRLX) return (IrBits){(x.zero & mask) >> by | high, (x.one & mask) >> by};
    const uint64_t sign = 1ull << (width - 1);
    return (IrBits){(x.zero & mask) >> by | (x.zero & sign ? high : 0),
                    (x.one & mask) >> by | (x.one & sign ? high : 0)};
}

static IrBits converted(IrGraph *g, const IrNode *n, uint64_t mask, uint32_t depth)
{
    const ScType from = IR_SC(ir_at(g, n->a[0])->type);
    if (from == SC_PRED) return (IrBits){mask & ~1ull, 0};
    if (!sc_is_int(from)) return (IrBits){0, 0};
    IrBits x = ir_element_bits(g, n->a[0], depth);
    const uint64_t own = sc_mask(from), sign = 1ull << (sc_type_info[from].bits - 1);
    const bool zeros = !sc_is_signed(from) || x.zero & sign, ones = sc_is_signed(from) && x.one & sign;
    return (IrBits){((x.zero & own) | (zeros ? ~own : 0)) & mask, ((x.one & own) | (ones ? ~own : 0)) & mask};
}

/* An index of at least 0 has zeros above the highest bit of its largest value; one that is r modulo 2**j has the low j
 * bits of r. */
static IrBits of_index(IrGraph *g, IrRef index, uint64_t mask)
{
    const IrFact f = ir_fact(g, index);
    IrBits b = {0, 0};
    if (f.lo >= 0 && f.hi <= INT64_MAX) b.zero = above((uint64_t)f.hi) & mask;
    const uint64_t low = f.mod ? (f.mod & ~(f.mod - 1)) - 1 : 0;
    b.zero |= low & ~f.rem & mask;
    b.one |= low & f.rem & mask;
    return b;
}

IrBits ir_element_bits(IrGraph *g, IrRef r, uint32_t depth)
{
    const IrNode n = *ir_at(g, r);
    const ScType t = IR_SC(n.type);
    const uint64_t mask = sc_mask(t);
    if (n.op == OP_CONST) return (IrBits){~n.imm & mask, n.imm & mask};
    if (depth-- == 0 || !sc_is_int(t)) return (IrBits){0, 0};
    const bool two = n.a[1] && n.op != OP_SELECT && sc_op_info[n.op].signature == SC_SAME;
    const IrBits x = two ? ir_element_bits(g, n.a[0], depth) : (IrBits){0, 0},
                 y = two ? ir_element_bits(g, n.a[1], depth) : (IrBits){0, 0};
    switch (n.op) {
    case OP_BAND: return (IrBits){x.zero | y.zero, x.one & y.one};
    case OP_BOR: return (IrBits){x.zero & y.zero, x.one | y.one};
    case OP_BXOR: return (IrBits){(x.zero & y.zero) | (x.one & y.one), (x.zero & y.one) | (x.one & y.zero)};
    case OP_MAX:
    case OP_MIN: return either(x, y);
    case OP_ADD: { /* low zeros of both stay; a carry reaches one bit above what either can have */
        const uint64_t top = above(~(x.zero & y.zero) & mask);
        return (IrBits){(low_zeros(x.zero & y.zero) | (top << 1 & top)) & mask, 0};
    }
    case OP_MUL: return (IrBits){(low_zeros(x.zero) | low_zeros(y.zero)) & mask, 0};
    case OP_SHL: case OP_SHRL: case OP_SHRA: case OP_SHLX: case OP_SHRLX: case OP_SHRAX:
        return ir_is_const(g, n.a[1]) ? shifted((ScOp)n.op, x, ir_at(g, n.a[1])->imm, mask, sc_type_info[t].bits)
                                      : (IrBits){0, 0};
    case OP_SELECT: return either(ir_element_bits(g, n.a[1], depth), ir_element_bits(g, n.a[2], depth));
    case OP_BNOT: {
        const IrBits a = ir_element_bits(g, n.a[0], depth);
        return (IrBits){a.one, a.zero};
    }
    case OP_CVT: return converted(g, &n, mask, depth);
    case OP_BITS: return sc_is_int(IR_SC(ir_at(g, n.a[0])->type)) ? ir_element_bits(g, n.a[0], depth) : (IrBits){0, 0};
    case OP_IDX: return of_index(g, n.a[0], mask);
    case OP_SPLAT: return ir_element_bits(g, n.a[0], depth);
    case OP_PACK: return either(ir_element_bits(g, n.a[0], depth), ir_element_bits(g, n.a[1], depth));
    default: return (IrBits){0, 0};
    }
}

/* --- floats ------------------------------------------------------------------------------------------------------- */
static uint32_t of_constant(ScType t, uint64_t bits)
{
    const double x = sc_to_f64(t, bits);
    if (x != x) return MAY_NAN;
    const bool infinite = x - x != 0;
    uint32_t may = infinite ? MAY_INF : 0;
    if (x < 0) may |= MAY_NEGATIVE;
    if (x > 1) may |= MAY_EXCEED_1;
    if (x == 0 && 1 / x < 0) may |= MAY_NEGZERO;
    const double size = x < 0 ? -x : x;
    if (!infinite && size < 0x1p53 && (double)(int64_t)x != x) may |= MAY_FRACTION;
    return may;
}

static uint32_t of_conversion(IrGraph *g, const IrNode *n, ScType t, uint32_t depth)
{
    const ScType from = IR_SC(ir_at(g, n->a[0])->type);
    if (from == SC_PRED) return 0;
    if (sc_is_int(from)) { /* in f16, whose exponents are fewest, 65,520 and more are inf */
        const bool finite = t == SC_F32 || t == SC_F64 || t == SC_BF16 || (t == SC_F16 && sc_type_info[from].bits < 16);
        const uint32_t negative = sc_is_signed(from) ? MAY_NEGATIVE : 0;
        return MAY_EXCEED_1 | negative | (finite ? 0 : (uint32_t)(MAY_ALL & ~MAY_NEGZERO));
    }
    if (!sc_is_float(from) || !(t == SC_F16 || t == SC_BF16 || t == SC_F32 || t == SC_F64)) return MAY_ALL;
    const uint32_t x = ir_float_may(g, n->a[0], depth);
    const bool exact = t == SC_F64 || (t == SC_F32 && from != SC_F64);
    return exact ? x : x | MAY_INF | (x & MAY_NEGATIVE ? (uint32_t)MAY_NEGZERO : 0);
}

static uint32_t of_pair(ScOp op, uint32_t x, uint32_t y)
{
    const uint32_t both = x & y, any = x | y;
    switch (op) {
    case OP_MAX: { /* negative only if both are; -0 stands below +0 */
        const uint32_t least = MAY_NEGZERO | MAY_NEGATIVE;
        const bool negzero = (x & MAY_NEGZERO && y & least) || (y & MAY_NEGZERO && x & least);
        return (any & (MAY_NAN | MAY_INF | MAY_FRACTION | MAY_EXCEED_1)) | (both & MAY_NEGATIVE) |
               (negzero ? (uint32_t)MAY_NEGZERO : 0);
    }
    case OP_MIN: return (any & ~(uint32_t)MAY_EXCEED_1) | (both & MAY_EXCEED_1);
    case OP_ADD: /* -0 is the sum of two -0 only; a sum of integers that rounds is still one */
        return (any & (MAY_NAN | MAY_NEGATIVE | MAY_FRACTION)) | (both & MAY_INF ? (uint32_t)MAY_NAN : 0) | MAY_INF |
               MAY_EXCEED_1 | (both & MAY_NEGZERO);
    case OP_MUL:
        return (any & (MAY_NAN | MAY_FRACTION | MAY_EXCEED_1)) | (any & MAY_INF ? (uint32_t)MAY_NAN : 0) | MAY_INF |
               (any & (MAY_NEGATIVE | MAY_NEGZERO) ? (uint32_t)(MAY_NEGATIVE | MAY_NEGZERO | MAY_EXCEED_1) : 0);
    default: return MAY_ALL;
    }
}

static uint32_t of_one(ScOp op, uint32_t x)
{
    const uint32_t nan = x & MAY_NAN;
    switch (op) {
    case OP_NEG:
        return (x & (MAY_NAN | MAY_INF | MAY_FRACTION)) | MAY_NEGZERO | MAY_NEGATIVE |
               (x & MAY_NEGATIVE ? (uint32_t)MAY_EXCEED_1 : 0);
    case OP_ABS:
        return (x & (MAY_NAN | MAY_INF | MAY_FRACTION | MAY_EXCEED_1)) |
               (x & MAY_NEGATIVE ? (uint32_t)MAY_EXCEED_1 : 0);
    case OP_FLOOR: case OP_CEIL: case OP_TRUNC: case OP_ROUND_EVEN: case OP_ROUND_AFZ:
        return (x & ~(uint32_t)MAY_FRACTION) | (x & MAY_NEGATIVE ? (uint32_t)MAY_NEGZERO : 0);
    case OP_LOGISTIC: return nan | MAY_FRACTION;
    case OP_EXP: case OP_EXP2: return nan | MAY_INF | MAY_FRACTION | MAY_EXCEED_1;
    case OP_TANH: case OP_ERF: case OP_SIGN: {
        const uint32_t kept = x & (MAY_NAN | MAY_NEGZERO | MAY_NEGATIVE);
        return MAY_FRACTION | kept | (kept ? (uint32_t)MAY_NEGZERO : 0);
    }
    default: return MAY_ALL;
    }
}

uint32_t ir_float_may(IrGraph *g, IrRef r, uint32_t depth)
{
    const IrNode n = *ir_at(g, r);
    const ScType t = IR_SC(n.type);
    if (n.op == OP_CONST) return of_constant(t, n.imm);
    if (depth-- == 0 || !(t == SC_F16 || t == SC_BF16 || t == SC_F32 || t == SC_F64)) return MAY_ALL;
    const uint32_t known = n.flags & SC_FLAG_NNAN ? (uint32_t)(MAY_ALL & ~MAY_NAN) : (uint32_t)MAY_ALL;
    if (n.flags & SC_FLAG_APPROX) return known; /* the hardware's function may overshoot */
    if (n.op == OP_CVT) return known & of_conversion(g, &n, t, depth);
    if (n.op == OP_SELECT) return known & (ir_float_may(g, n.a[1], depth) | ir_float_may(g, n.a[2], depth));
    if (n.op == OP_PACK) return known & (ir_float_may(g, n.a[0], depth) | ir_float_may(g, n.a[1], depth));
    if (n.op == OP_SPLAT) return known & ir_float_may(g, n.a[0], depth);
    if (sc_op_info[n.op].signature != SC_SAME || n.a[2]) return known;
    const uint32_t x = ir_float_may(g, n.a[0], depth);
    return known & (n.a[1] ? of_pair((ScOp)n.op, x, ir_float_may(g, n.a[1], depth)) : of_one((ScOp)n.op, x));
}
