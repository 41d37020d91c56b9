/* bits.c: bitcasts between elements of different widths: several narrow elements are joined to a wide one, or a part of
 * one is taken.
 *
 * Leaves shifts of unsigned integers, little end first. The narrow elements of a wide one are the last dimension of a
 * bitcast-convert, and neighbours in memory order of a bitcast.
 *
 *     bitcast-convert(f16[4,2]) to f32[4] at i
 *       =>    bits.f32.u32(bor.u32(cvt.u32.u16(bits.u16.f16(load %p[2*i])),
 *                                  shl.u32(cvt.u32.u16(bits.u16.f16(load %p[2*i + 1])), 16)))
 */
#include "emit/inner.h"

typedef struct {
    ScType narrow, wide; /* unsigned integers of these widths */
    uint32_t n;          /* elements of the operand that one of the result takes */
    uint32_t step;       /* bits of the narrow one */
    IrRef which;         /* narrow result: number of its part in the wide element; else 0 */
    IrRef joined;
} Bits;

/* The index of the operand's element k of those that the result's element takes. */
static const IrRef *bits_index(EmitValues *e, EmitFrame *f, Bits *b, uint32_t k)
{
    const HloShape *to = f->i->shape, *from = f->i->operands[0]->shape;
    const int64_t parts = (int64_t)(sc_type_info[b->wide].bits / b->step);
    IrRef *index = WBB_NEW_N(e->arena, IrRef, from->rank + 1u);
    if (f->i->opcode == HLO_BITCAST_CONVERT) {
        for (uint32_t d = 0; d < from->rank; d++) index[d] = d < to->rank ? f->index[d] : ir_index(e->g, k);
        if (b->which == 0 && b->n == 1) b->which = f->index[to->rank - 1];
        return index;
    }
    const IrRef number = ix_linear(e->rw, to, f->index);
    if (b->n > 1) {
        ix_delinear(e->rw, from, rw_add(e->rw, rw_scale(e->rw, number, parts), ir_index(e->g, k)), index);
    } else {
        b->which = rw_mod(e->rw, number, parts);
        ix_delinear(e->rw, from, rw_floordiv(e->rw, number, parts), index);
    }
    return index;
}

static Bits *bits_begin(EmitValues *e, EmitFrame *f)
{
    Bits *b = f->data = WBB_NEW(e->arena, Bits);
    const uint32_t to = sc_type_info[f->i->shape->type].bits, from = sc_type_info[f->i->operands[0]->shape->type].bits;
    b->step = WBB_MIN(to, from);
    b->n = to > from ? to / from : 1;
    b->narrow = gr_unsigned(b->step), b->wide = gr_unsigned(WBB_MAX(to, from));
    return b;
}

static IrRef bits_as(EmitValues *e, IrRef x, ScType t)
{
    return IR_SC(ir_at(e->g, x)->type) == t ? x : ir_node(e->g, OP_BITS, IR_TYPE(t, 0), 0, x, 0, 0, 0);
}

/* Little end first: part k of a wide element is its bits from k * step on. */
void emit_step_bits(EmitValues *e, EmitFrame *f)
{
    Bits *b = f->data ? f->data : bits_begin(e, f);
    const IrType wide = IR_TYPE(b->wide, 0);
    if (f->asked > 0 && b->n > 1) {
        const IrRef part = emit_as(e, bits_as(e, f->result, b->narrow), b->wide);
        const IrRef shift = ir_const(e->g, wide, (f->asked - 1) * b->step);
        const IrRef moved = f->asked == 1 ? part : ir_node(e->g, OP_SHL, wide, 0, part, shift, 0, 0);
        b->joined = b->joined ? ir_node(e->g, OP_BOR, wide, 0, b->joined, moved, 0, 0) : moved;
    }
    if (f->asked < b->n) {
        const IrRef *index = bits_index(e, f, b, f->asked++);
        emit_want(e, f, f->i->operands[0], 0, index);
        return;
    }
    if (b->n == 1) {
        const IrRef shift = ir_node(e->g, OP_IDX, wide, 0, rw_scale(e->rw, b->which, b->step), 0, 0, 0);
        b->joined = emit_as(e, ir_node(e->g, OP_SHRL, wide, 0, bits_as(e, f->result, b->wide), shift, 0, 0), b->narrow);
    }
    emit_done(e, f, bits_as(e, b->joined, f->i->shape->type));
}
