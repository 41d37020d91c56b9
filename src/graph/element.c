/* element.c: one HLO operation on one element, as IR nodes.
 *
 * Needs the operands' nodes; leaves the node of the result. Most operations are one node of the same meaning, found by
 * gen/hlo_ops.py; here are those that are several nodes or none, and constants and iota.
 *
 *     clamp(0.0, x, 6.0)   =>   min.f32(max.f32(x, 0.0), 6.0)
 *     f32[8] iota()        =>   cvt.f32.i32(idx.i32(d0))
 */
#include "graph/graph.h"

#include <string.h>

static IrRef node(IrGraph *g, ScOp op, ScType t, IrRef x, IrRef y)
{
    return ir_node(g, op, IR_TYPE(t, 0), 0, x, y, 0, 0);
}

/* The same for an instruction, whose flags it carries. */
static IrRef permitted(IrGraph *g, const HloInstruction *i, ScOp op, ScType t, IrRef x, IrRef y)
{
    return ir_node(g, op, IR_TYPE(t, 0), i->permits, x, y, 0, 0);
}

ScType gr_part_type(ScType t) { return t == SC_C64 ? SC_F32 : t == SC_C128 ? SC_F64 : t; }
static bool is_complex(ScType t) { return gr_part_type(t) != t; }
static IrRef re(IrGraph *g, ScType t, IrRef z) { return node(g, OP_RE, gr_part_type(t), z, 0); }
static IrRef im(IrGraph *g, ScType t, IrRef z) { return node(g, OP_IM, gr_part_type(t), z, 0); }

/* A real value becomes a complex one with imaginary part 0, a complex one its real part. */
IrRef gr_convert(IrGraph *g, ScType t, ScType from, IrRef x)
{
    if (t == from) return x;
    if (is_complex(from) && !is_complex(t)) return gr_convert(g, t, gr_part_type(from), re(g, from, x));
    if (!is_complex(t)) return node(g, OP_CVT, t, x, 0);
    const ScType part = gr_part_type(t);
    if (!is_complex(from))
        return node(g, OP_COMPLEX, t, gr_convert(g, part, from, x), ir_const(g, IR_TYPE(part, 0), 0));
    const IrRef a = gr_convert(g, part, gr_part_type(from), re(g, from, x));
    const IrRef b = gr_convert(g, part, gr_part_type(from), im(g, from, x));
    return node(g, OP_COMPLEX, t, a, b);
}

IrRef gr_order_bits(IrGraph *g, ScType t, IrRef bits)
{
    const IrRef flipped = node(g, OP_BXOR, t, bits, ir_const(g, IR_TYPE(t, 0), sc_mask(t) >> 1));
    const IrRef negative = node(g, OP_LT, SC_PRED, bits, ir_const(g, IR_TYPE(t, 0), 0));
    return ir_node(g, OP_SELECT, IR_TYPE(t, 0), 0, negative, flipped, bits, 0);
}

IrRef gr_order_key(IrGraph *g, ScType *type, IrRef x)
{
    const ScType t = *type, as = *type = t == SC_F8E8M0FNU ? SC_U8 : sc_signed(sc_type_info[t].bits);
    const IrRef bits = node(g, OP_BITS, as, x, 0);
    return t == SC_F8E8M0FNU ? bits : gr_order_bits(g, as, bits); /* it has no sign */
}

static IrRef compare(IrGraph *g, const HloInstruction *i, IrRef x, IrRef y)
{
    const ScType t = i->operands[0]->shape->type;
    if (i->total_order && sc_is_float(t)) {
        ScType of_x = t, of_y = t;
        x = gr_order_key(g, &of_x, x), y = gr_order_key(g, &of_y, y);
    }
    return permitted(g, i, hlo_comparison(i->direction), SC_PRED, x, y);
}

IrRef gr_element(RwCx *rw, const HloInstruction *i, const IrRef *x)
{
    IrGraph *g = rw_graph(rw);
    const ScType t = i->shape->type, from = i->n_operands ? i->operands[0]->shape->type : t;
    switch (i->opcode) {
    case HLO_COMPARE: return compare(g, i, x[0], x[1]);
    case HLO_CLAMP: return permitted(g, i, OP_MIN, t, permitted(g, i, OP_MAX, t, x[1], x[0]), x[2]);
    case HLO_CONVERT:
        return i->permits && t != from ? permitted(g, i, OP_CVT, t, x[0], 0) : gr_convert(g, t, from, x[0]);
    case HLO_COMPLEX: return node(g, OP_COMPLEX, t, x[0], x[1]);
    case HLO_REAL: return is_complex(from) ? re(g, from, x[0]) : x[0];
    case HLO_IMAG: return is_complex(from) ? im(g, from, x[0]) : ir_const(g, IR_TYPE(t, 0), 0);
    case HLO_REDUCE_PRECISION: return gr_reduce_precision(rw, t, x[0], (uint32_t)i->number, (uint32_t)i->number2);
    case HLO_STOCHASTIC_CONVERT: return gr_stochastic_convert(rw, t, from, i->operands[1]->shape->type, x[0], x[1]);
    case HLO_ABS:
        if (is_complex(from)) return node(g, OP_MODULUS, t, x[0], 0);
        break;
    case HLO_BITCAST:
    case HLO_BITCAST_CONVERT: return from == t ? x[0] : node(g, OP_BITS, t, x[0], 0);
    case HLO_DYNAMIC_SLICE:
    case HLO_GATHER: return x[0];
    default:
        if (hlo_is_move(i->opcode)) return x[0];
        break;
    }
    const ScOp op = hlo_scalar(i->opcode);
    assert(op != OP_NONE && i->n_operands == sc_op_info[op].arity);
    const IrRef y = i->n_operands > 1 ? x[1] : 0, z = i->n_operands > 2 ? x[2] : 0;
    return ir_node(g, op, IR_TYPE(t, 0), i->permits, x[0], y, z, 0);
}

ScType gr_product_type(const HloInstruction *i)
{
    ScType t = i->shape->type;
    const ScType x = i->operands[0]->shape->type, y = i->operands[1]->shape->type;
    if (sc_type_info[t].cls == 'C') return x == SC_C128 || y == SC_C128 ? SC_C128 : t;
    if (!sc_is_float(t) && !sc_is_float(x) && !sc_is_float(y)) return t;
    return t == SC_F64 || x == SC_F64 || y == SC_F64 ? SC_F64 : SC_F32;
}

/* Part `part` of an element: 0 the real part or the number, 1 the imaginary part. */
static IrRef literal_part(IrGraph *g, const HloInstruction *i, int64_t element, uint32_t part)
{
    const ScType t = gr_part_type(i->shape->type);
    const uint32_t bytes = sc_bytes(i->shape->type), plan_bytes = sc_bytes(t);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)i->literal + (i->literal_splat ? 0 : element * bytes) + part * plan_bytes, plan_bytes);
    return ir_const(g, IR_TYPE(t, 0), bits & sc_mask(t));
}

static IrRef literal(IrGraph *g, const HloInstruction *i, int64_t element)
{
    const IrRef x = literal_part(g, i, element, 0);
    return is_complex(i->shape->type) ? node(g, OP_COMPLEX, i->shape->type, x, literal_part(g, i, element, 1)) : x;
}

/* The element of a constant whose number is `element`, in lo .. hi-1: selects, by bisection. */
static IrRef choose(RwCx *rw, const HloInstruction *i, IrRef element, int64_t lo, int64_t hi)
{
    IrGraph *g = rw_graph(rw);
    const IrType t = IR_TYPE(i->shape->type, 0);
    if (hi - lo == 1) return literal(g, i, lo);
    const int64_t middle = lo + (hi - lo) / 2;
    const IrRef below = rw_compare(rw, OP_LT, element, ir_index(g, middle));
    if (ir_is_const(g, below))
        return ir_at(g, below)->imm ? choose(rw, i, element, lo, middle) : choose(rw, i, element, middle, hi);
    const IrRef low = choose(rw, i, element, lo, middle), high = choose(rw, i, element, middle, hi);
    return low == high ? low : ir_node(g, OP_SELECT, t, 0, below, low, high, 0);
}

IrRef gr_row_major(RwCx *rw, const HloShape *s, const IrRef *index)
{
    HloShape rows = *s;
    rows.minor_to_major = NULL;
    return ix_linear(rw, &rows, index);
}

static IrRef constant(RwCx *rw, const HloInstruction *i, const IrRef *index)
{
    const int64_t n = hlo_elements(i->shape);
    if (i->literal_splat || n == 1) return literal(rw_graph(rw), i, 0);
    return choose(rw, i, gr_row_major(rw, i->shape, index), 0, n);
}

/* The index in one dimension, as an integer of the result's type where that holds it, else converted from one that
 * does. */
static IrRef iota(RwCx *rw, const HloInstruction *i, const IrRef *index)
{
    IrGraph *g = rw_graph(rw);
    const ScType t = i->shape->type;
    const int64_t size = i->shape->dims[i->number];
    const bool small = size <= (int64_t)INT32_MAX + 1;
    const bool direct = t == SC_I64 || t == SC_U64 || (small && (t == SC_I32 || t == SC_U32));
    const ScType as = direct ? t : small ? SC_I32 : SC_I64;
    if (direct && ir_is_const(g, index[i->number]))
        return ir_const(g, IR_TYPE(t, 0), ir_at(g, index[i->number])->imm & sc_mask(t));
    const IrRef number = ir_node(g, OP_IDX, IR_TYPE(as, 0), 0, index[i->number], 0, 0, 0);
    return gr_convert(g, t, as, number);
}

IrRef gr_leaf(RwCx *rw, const HloInstruction *i, const IrRef *index)
{
    if (i->opcode == HLO_CONSTANT) return constant(rw, i, index);
    assert(i->opcode == HLO_IOTA);
    return iota(rw, i, index);
}
