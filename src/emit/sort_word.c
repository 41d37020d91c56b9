/* sort_word.c: an element of a sort as one unsigned integer: the number that decides over its order, and its position.
 *
 * Needs a Sort with a word (plan/sort_word.c); leaves nodes. The number is as large as the compared type. It rises
 * where elements come later: the sign of an integer becomes the opposite, and the bits of a float become an integer.
 *
 *     f32 -2.0, GT, at position 7    bits c0000000, in total order bfffffff, with its sign 3fffffff, falling c0000000;
 *                                    the word c000000000000007
 */
#include "emit/sort.h"

static IrRef constant(const Sort *s, ScType t, uint64_t x) { return ir_const(s->m.g, IR_TYPE(t, 0), x); }
static IrRef op(const Sort *s, ScOp o, ScType t, IrRef x, uint64_t y)
{
    return emit_share_node(&s->m, o, t, x, constant(s, t, y));
}

/* What is added to a number without carry: its own sign, and where it falls all bits. */
static uint64_t turned(const Sort *s, ScType integer)
{
    const uint64_t mask = sc_mask(integer);
    return (sc_is_signed(integer) ? mask / 2 + 1 : 0) ^ (s->s->falls ? mask : 0);
}

/* The number of an element, in the type of the word; x: of the operand. */
static IrRef number_of(const Sort *s, IrRef x)
{
    const PlanSort *p = s->s;
    IrRef *args = emit_sort_no_arguments(s);
    args[2 * p->word_operand] = emit_as(s->m.e, x, p->i->operands[p->word_operand]->shape->type);
    const uint32_t env = emit_env(s->m.e, 2 * p->i->n_operands, args);
    ScType t = p->word->shape->type;
    IrRef v = emit_as(s->m.e, emit_value_in(s->m.e, env, (PlanValue){p->word, 0}, NULL), t);
    if (sc_is_float(t)) v = gr_order_key(s->m.g, &t, v);
    v = gr_convert(s->m.g, p->position, t, v);
    if (sc_is_signed(t)) v = op(s, OP_BAND, p->position, v, sc_mask(t));
    return op(s, OP_BXOR, p->position, v, turned(s, t));
}

IrRef emit_sort_word(const Sort *s, IrRef x, IrRef at)
{
    const ScType t = s->s->position;
    const IrRef number = number_of(s, x);
    if (!s->s->position_bits) return number;
    const IrRef high = op(s, OP_SHL, t, number, s->s->position_bits);
    return emit_share_node(&s->m, OP_BOR, t, high, gr_convert(s->m.g, t, SC_U32, emit_sort_number_of(s, at)));
}

IrRef emit_sort_position(const Sort *s, IrRef word)
{
    const uint32_t bits = s->s->position_bits;
    if (!bits) return 0;
    const IrRef low = gr_convert(s->m.g, SC_U32, s->s->position, word);
    return bits == 32 ? low : op(s, OP_BAND, SC_U32, low, (1u << bits) - 1);
}

IrRef emit_sort_told(const Sort *s, IrRef word)
{
    const ScType t = s->s->word->shape->type, of_word = s->s->position;
    ScType integer = t;
    if (sc_is_float(t)) gr_order_key(s->m.g, &integer, constant(s, t, 0));
    IrRef v = op(s, OP_SHRL, of_word, word, s->s->position_bits);
    v = gr_convert(s->m.g, integer, of_word, op(s, OP_BXOR, of_word, v, turned(s, integer)));
    if (!sc_is_float(t)) return v;
    if (sc_is_signed(integer)) v = gr_order_bits(s->m.g, integer, v);
    return ir_node(s->m.g, OP_BITS, IR_TYPE(t, 0), 0, v, 0, 0, 0);
}
