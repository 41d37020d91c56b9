/* rounding.c: reduce-precision and stochastic-convert: operations whose widths are attributes of the program, so that
 * no one rule can express them.
 *
 * Needs the operands' nodes; leaves the node of the result. eval/ has the same definitions: reduce-precision rounds the
 * fraction to even, on the bits, and an exponent out of range becomes infinity or zero; a nan stays as it is.
 *
 *     reduce-precision(f32 x), exponent_bits=8, mantissa_bits=7
 *       =>   bits.f32.u32(.. band.u32(add.u32(m, 32767 + odd), ~0xffff) ..)
 */
#include "graph/graph.h"

#include <math.h>

typedef struct {
    IrGraph *g;
    ScType t; /* the type that is computed in */
} Bits;

static IrRef op(const Bits *b, ScOp o, IrRef x, IrRef y) { return ir_node(b->g, o, IR_TYPE(b->t, 0), 0, x, y, 0, 0); }
static IrRef number(const Bits *b, uint64_t n) { return ir_const(b->g, IR_TYPE(b->t, 0), n & sc_mask(b->t)); }
static IrRef test(const Bits *b, ScOp o, IrRef x, uint64_t n)
{
    return ir_node(b->g, o, SC_PRED, 0, x, number(b, n), 0, 0);
}

static IrRef choose(IrGraph *g, IrRef p, IrRef x, IrRef y)
{
    return ir_node(g, OP_SELECT, ir_at(g, x)->type, 0, p, x, y, 0);
}

ScType gr_unsigned(uint32_t bits)
{
    switch (bits) {
    case 2: return SC_U2;
    case 4: return SC_U4;
    case 8: return SC_U8;
    case 16: return SC_U16;
    case 32: return SC_U32;
    default: return SC_U64;
    }
}

/* Fraction bits of a type of 16 bits or more. */
static uint32_t fraction_of(ScType t)
{
    return (uint32_t)__builtin_ctzll(sc_from_f64(t, 2) - sc_from_f64(t, 1));
}

static IrRef reduced(IrGraph *g, ScType t, IrRef x, uint32_t to_exponent, uint32_t to_fraction)
{
    const uint32_t width = sc_type_info[t].bits, fraction = fraction_of(t), exponent = width - 1 - fraction;
    const Bits b = {g, width == 16 ? SC_U16 : width == 32 ? SC_U32 : SC_U64};
    const uint64_t sign = (uint64_t)1 << (width - 1), infinity = (((uint64_t)1 << exponent) - 1) << fraction;
    const IrRef whole = op(&b, OP_BITS, x, 0), magnitude = op(&b, OP_BAND, whole, number(&b, sign - 1));
    IrRef m = magnitude;
    if (to_fraction < fraction) {
        const uint64_t last = (uint64_t)1 << (fraction - to_fraction);
        const IrRef odd =
            choose(g, test(&b, OP_NE, op(&b, OP_BAND, m, number(&b, last)), 0), number(&b, 1), number(&b, 0));
        m = op(&b, OP_BAND, op(&b, OP_ADD, op(&b, OP_ADD, m, number(&b, (last >> 1) - 1)), odd),
               number(&b, ~(last - 1)));
    }
    if (to_exponent < exponent) {
        const uint64_t bias = ((uint64_t)1 << (exponent - 1)) - 1;
        const uint64_t to_bias = to_exponent ? ((uint64_t)1 << (to_exponent - 1)) - 1 : 0;
        const IrRef large = test(&b, OP_GE, m, (bias + to_bias + 1) << fraction);
        const IrRef small = test(&b, OP_LT, m, (bias - to_bias + 1) << fraction);
        m = choose(g, large, number(&b, infinity), choose(g, small, number(&b, 0), m));
    }
    const IrRef result = op(&b, OP_BOR, m, op(&b, OP_BAND, whole, number(&b, sign)));
    const IrRef kept = choose(g, test(&b, OP_GT, magnitude, infinity), whole, result); /* a nan as it is */
    return ir_node(g, OP_BITS, IR_TYPE(t, 0), 0, kept, 0, 0, 0);
}

/* Types of 8 bits and fewer, some of which have no infinity, are rounded in f64, which has all their exponents. */
IrRef gr_reduce_precision(RwCx *rw, ScType t, IrRef x, uint32_t exponent_bits, uint32_t mantissa_bits)
{
    IrGraph *g = rw_graph(rw);
    if (sc_type_info[t].bits >= 16) return reduced(g, t, x, exponent_bits, mantissa_bits);
    const uint32_t exponent = sc_type_info[t].bits - 1u - fraction_of(t);
    const IrRef wide = ir_node(g, OP_CVT, SC_F64, 0, x, 0, 0, 0);
    return ir_node(g, OP_CVT, IR_TYPE(t, 0), 0,
                   reduced(g, SC_F64, wide, exponent_bits < exponent ? exponent_bits : 11, mantissa_bits), 0, 0, 0);
}

/* The magnitude's integer part, plus 1 where the random bits, as a fraction, are less than its fraction. What is not
 * finite has none. */
IrRef gr_stochastic_convert(RwCx *rw, ScType to, ScType from, ScType random, IrRef x, IrRef bits)
{
    IrGraph *g = rw_graph(rw);
    const Bits b = {g, SC_F64};
    const uint32_t width = sc_type_info[random].bits;
    const ScType unsigned_random = gr_unsigned(width);
    const IrRef wide = from == SC_F64 ? x : op(&b, OP_CVT, x, 0), size = op(&b, OP_ABS, wide, 0);
    const IrRef below = op(&b, OP_FLOOR, size, 0);
    const IrRef one = ir_const(g, SC_F64, sc_from_f64(SC_F64, 1)), zero = ir_const(g, SC_F64, 0);
    const IrRef scale = ir_const(g, SC_F64, sc_from_f64(SC_F64, ldexp(1, (int)width)));
    const IrRef threshold = op(&b, OP_FLOOR, op(&b, OP_MUL, op(&b, OP_SUB, size, below), scale), 0);
    const IrRef plain =
        random == unsigned_random ? bits : ir_node(g, OP_BITS, IR_TYPE(unsigned_random, 0), 0, bits, 0, 0, 0);
    const IrRef above = ir_node(g, OP_LT, SC_PRED, 0, op(&b, OP_CVT, plain, 0), threshold, 0, 0);
    const IrRef rounded = op(&b, OP_COPYSIGN, op(&b, OP_ADD, below, choose(g, above, one, zero)), wide);
    return ir_node(g, OP_CVT, IR_TYPE(to, 0), 0, rounded, 0, 0, 0);
}
