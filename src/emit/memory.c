/* memory.c: how a value stands in memory that threads share, and buffers for it.
 *
 * A complex value has two parts, in arrays of their own; one of a type under 8 bits has a byte.
 *
 *     c64 =>  two arrays of f32;   u4  =>  u8;   bf16  =>  bf16
 */
#include "emit/inner.h"

ScType emit_part_type(ScType t)
{
    return plan_memory_type(t);
}

IrRef emit_load(RwCx *rw, ScType type, uint32_t buffer, IrRef offset)
{
    IrGraph *g = rw_graph(rw);
    return ir_node(g, OP_LOAD, IR_TYPE(type, 0), 0, ir_node(g, OP_ARG, 0, 0, 0, 0, 0, buffer), offset, 0, 0);
}

IrRef emit_table_element(RwCx *rw, const HloShape *s, uint32_t table, const IrRef *index)
{
    return emit_load(rw, s->type, table, gr_row_major(rw, s, index));
}

uint32_t emit_parts_of(ScType t) { return plan_memory_parts(t); }

static IrRef node(const EmitValues *e, ScOp op, ScType t, IrRef x, IrRef y)
{
    return ir_node(e->g, op, IR_TYPE(t, 0), 0, x, y, 0, 0);
}

uint32_t emit_split(const EmitValues *e, IrRef x, ScType t, IrRef *parts)
{
    if (sc_type_info[t].cls == 'C') {
        parts[0] = node(e, OP_RE, emit_part_type(t), x, 0);
        parts[1] = node(e, OP_IM, emit_part_type(t), x, 0);
        return 2;
    }
    const ScType as = gr_unsigned(sc_type_info[t].bits);
    if (ir_is_packed(t) && t != as) x = node(e, OP_BITS, as, x, 0);
    parts[0] = ir_is_packed(t) ? node(e, OP_CVT, SC_U8, x, 0) : x;
    return 1;
}

IrRef emit_join(const EmitValues *e, const IrRef *parts, ScType t)
{
    if (sc_type_info[t].cls == 'C') return node(e, OP_COMPLEX, t, parts[0], parts[1]);
    if (!ir_is_packed(t)) return parts[0];
    const ScType as = gr_unsigned(sc_type_info[t].bits);
    const IrRef x = node(e, OP_CVT, as, parts[0], 0);
    return t == as ? x : node(e, OP_BITS, t, x, 0);
}

IrRef emit_word_of_complex(const EmitValues *e, IrRef z)
{
    IrRef half[2];
    for (uint32_t k = 0; k < 2; k++) {
        const IrRef part = node(e, k ? OP_IM : OP_RE, SC_F32, z, 0);
        half[k] = node(e, OP_CVT, SC_U64, node(e, OP_BITS, SC_U32, part, 0), 0);
    }
    return node(e, OP_BOR, SC_U64, half[0], node(e, OP_SHL, SC_U64, half[1], ir_const(e->g, IR_TYPE(SC_U64, 0), 32)));
}

IrRef emit_complex_of_word(const EmitValues *e, IrRef word)
{
    const IrRef high = node(e, OP_SHRL, SC_U64, word, ir_const(e->g, IR_TYPE(SC_U64, 0), 32));
    const IrRef re = node(e, OP_BITS, SC_F32, node(e, OP_CVT, SC_U32, word, 0), 0);
    const IrRef im = node(e, OP_BITS, SC_F32, node(e, OP_CVT, SC_U32, high, 0), 0);
    return node(e, OP_COMPLEX, SC_C64, re, im);
}

IrRef emit_packed(const EmitValues *e, const IrRef *values, ScType t, uint32_t n, uint32_t n_values)
{
    if (n == 1) return n_values ? values[0] : ir_const(e->g, IR_TYPE(t, 0), 0);
    const uint32_t half = n / 2;
    const IrRef low = emit_packed(e, values, t, half, WBB_MIN(n_values, half));
    const IrRef high = emit_packed(e, values + half, t, half, n_values - WBB_MIN(n_values, half));
    return ir_node(e->g, OP_PACK, IR_TYPE(t, (uint32_t)__builtin_ctz(n)), 0, low, high, 0, 0);
}

void emit_barrier(EmitValues *e)
{
    ir_do(e->g, emit_block(e), NULL, ir_node(e->g, OP_BARRIER, 0, 0, 0, 0, 0, 0), 0);
}

uint32_t emit_add_buffer(EmitValues *e, const char *stem, IrSpace space, ScType t, int64_t elements, bool zeroed)
{
    IrKernel *k = e->k;
    k->buffers =
        wbb_grow(e->arena, k->buffers, k->n_buffers * sizeof *k->buffers, (k->n_buffers + 1) * sizeof *k->buffers);
    k->buffers[k->n_buffers] = (IrBuffer){.name = emit_name(e, stem), .space = space, .type = t,
                                          .elements = elements, .align = 16, .zeroed = zeroed};
    return k->n_buffers++;
}
