/* element.c: one HLO operation on one element, as IR nodes.
 *
 * Needs operands that are nodes; leaves the node of the result. Most operations are one node of the same meaning, found by its name
 * in gen/ops.py; what follows are those that are several nodes or none, and the three that make values.
 *
 *     clamp(0.0, x, 6.0)   =>   min.f32(max.f32(x, 0.0), 6.0)
 *     f32[8] iota()        =>   cvt.f32.i32(idx.i32(d0))
 */
#include "emit/emit.h"

#include <string.h>

static IrRef node(IrGraph *g, ScOp op, ScType t, IrRef x, IrRef y) { return ir_node(g, op, IR_TYPE(t, 0), 0, x, y, 0, 0); }

/* Total order of floats as order of integers: the bits, with all but the sign flipped below zero. */
static IrRef order_key(IrGraph *g, ScType t, IrRef x, ScType as)
{
    const IrRef bits = node(g, OP_BITS, as, x, 0), zero = ir_const(g, IR_TYPE(as, 0), 0);
    const IrRef flipped = node(g, OP_BXOR, as, bits, ir_const(g, IR_TYPE(as, 0), sc_mask(t) >> 1));
    const IrRef negative = node(g, OP_LT, SC_PRED, bits, zero);
    return ir_node(g, OP_SELECT, IR_TYPE(as, 0), 0, negative, flipped, bits, 0);
}

static IrRef compare(IrGraph *g, const HloInstruction *i, IrRef x, IrRef y)
{
    static const ScOp ops[] = {[HLO_EQ] = OP_EQ, [HLO_NE] = OP_NE, [HLO_LT] = OP_LT,
                               [HLO_LE] = OP_LE, [HLO_GT] = OP_GT, [HLO_GE] = OP_GE};
    const ScType t = i->operands[0]->shape->type;
    if (i->total_order && sc_is_float(t)) {
        const uint32_t bits = sc_type_info[t].bits;
        const ScType as = bits == 16 ? SC_I16 : bits == 32 ? SC_I32 : SC_I64;
        x = order_key(g, t, x, as);
        y = order_key(g, t, y, as);
    }
    return node(g, ops[i->direction], SC_PRED, x, y);
}

IrRef emit_element(RwCx *rw, const HloInstruction *i, const IrRef *x)
{
    IrGraph *g = rw_graph(rw);
    const ScType t = i->shape->type, from = i->n_operands ? i->operands[0]->shape->type : t;
    switch (i->opcode) {
    case HLO_COMPARE: return compare(g, i, x[0], x[1]);
    case HLO_CLAMP: return node(g, OP_MIN, t, node(g, OP_MAX, t, x[1], x[0]), x[2]);
    case HLO_CONVERT: return from == t ? x[0] : node(g, OP_CVT, t, x[0], 0);
    case HLO_BITCAST:
    case HLO_BITCAST_CONVERT: return from == t ? x[0] : node(g, OP_BITS, t, x[0], 0);
    case HLO_BROADCAST:
    case HLO_COPY:
    case HLO_RESHAPE:
    case HLO_REVERSE:
    case HLO_SLICE:
    case HLO_TRANSPOSE: return x[0];
    default: break;
    }
    const ScOp op = sc_op_of_hlo(hlo_opcode_name(i->opcode));
    assert(op != OP_NONE && i->n_operands == sc_op_info[op].arity);
    return ir_node(g, op, IR_TYPE(t, 0), 0, x[0], i->n_operands > 1 ? x[1] : 0, i->n_operands > 2 ? x[2] : 0, 0);
}

static uint64_t literal_bits(const HloInstruction *i, int64_t element)
{
    const uint32_t bytes = sc_bytes(i->shape->type);
    uint64_t bits = 0;
    memcpy(&bits, (const char *)i->literal + (i->literal_splat ? 0 : element * bytes), bytes);
    return bits;
}

/* Elements lo .. hi-1 of a constant, told apart by bisection. */
static IrRef choose(RwCx *rw, const HloInstruction *i, IrRef element, int64_t lo, int64_t hi)
{
    IrGraph *g = rw_graph(rw);
    const IrType t = IR_TYPE(i->shape->type, 0);
    if (hi - lo == 1) return ir_const(g, t, literal_bits(i, lo));
    const int64_t middle = lo + (hi - lo) / 2;
    const IrRef below = rw_compare(rw, OP_LT, element, ir_index(g, middle));
    if (ir_is_const(g, below)) return ir_at(g, below)->imm ? choose(rw, i, element, lo, middle) : choose(rw, i, element, middle, hi);
    const IrRef low = choose(rw, i, element, lo, middle), high = choose(rw, i, element, middle, hi);
    return low == high ? low : ir_node(g, OP_SELECT, t, 0, below, low, high, 0);
}

static IrRef constant(RwCx *rw, const HloInstruction *i, const IrRef *index)
{
    const int64_t n = hlo_elements(i->shape);
    if (i->literal_splat || n == 1) return ir_const(rw_graph(rw), IR_TYPE(i->shape->type, 0), literal_bits(i, 0));
    HloShape row_major = *i->shape; /* as literals are, whatever the layout */
    row_major.minor_to_major = NULL;
    return choose(rw, i, ix_linear(rw, &row_major, index), 0, n);
}

/* The number along one dimension: exact in an integer that holds it, else rounded from one that does. */
static IrRef iota(RwCx *rw, const HloInstruction *i, const IrRef *index)
{
    IrGraph *g = rw_graph(rw);
    const ScType t = i->shape->type;
    const int64_t size = i->shape->dims[i->number];
    const bool small = size <= (int64_t)INT32_MAX + 1;
    const bool direct = t == SC_I64 || t == SC_U64 || (small && (t == SC_I32 || t == SC_U32));
    const ScType as = direct ? t : small ? SC_I32 : SC_I64;
    const IrRef number = ir_node(g, OP_IDX, IR_TYPE(as, 0), 0, index[i->number], 0, 0, 0);
    return direct ? number : node(g, OP_CVT, t, number, 0);
}

IrRef emit_leaf(RwCx *rw, const HloInstruction *i, const IrRef *index)
{
    IrGraph *g = rw_graph(rw);
    if (i->opcode == HLO_CONSTANT) return constant(rw, i, index);
    if (i->opcode == HLO_IOTA) return iota(rw, i, index);
    assert(i->opcode == HLO_PARAMETER);
    const IrRef arg = ir_node(g, OP_ARG, 0, 0, 0, 0, 0, (uint64_t)i->number);
    return ir_node(g, OP_LOAD, IR_TYPE(i->shape->type, 0), 0, arg, ix_linear(rw, i->shape, index), 0, 0);
}
