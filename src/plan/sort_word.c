/* sort_word.c: comparators that order by one number: it and the position of an element are one unsigned word.
 *
 * Needs the comparator of a sort; leaves what is to be computed of an element. Where it puts elements in the order of a
 * number (hlo/comparator.c), one of at most 32 bits is part of a word, above the position, and no two words
 * of a row are the same: their order is that of a stable sort. Where nothing but the number is sorted, elements that it
 * does not tell apart are the same, and the word is the number, of 64 bits too.
 *
 *     LT(f(a), f(b)) of f32, totally, rows of 1000    =>   u64: f as an integer that rises with it, 32 bits of position
 *     GT(a, b) of s16, with another operand           =>   u32: the complement of a + 32768, 16 bits of position
 *     LT(a, b) of s32, which is all that is sorted    =>   u32: a + 2^31
 *     LT(a, b) of f32, or by two keys                 =>   none
 */
#include "plan/sort.h"

enum { KEY_BITS = 32, SHORT = 16 };

void plan_sort_word(PlanSort *s)
{
    HloSortOrder order;
    if (!hlo_comparator_order(s->i, &order)) return;
    const uint32_t bits = sc_type_info[order.number->shape->type].bits;
    const bool alone = s->i->n_operands == 1 && order.number->opcode == HLO_PARAMETER;
    if (bits > KEY_BITS && !alone) return;
    const bool half = alone ? bits <= KEY_BITS : bits <= SHORT && s->length <= UINT16_MAX;
    s->n_keys = 0, s->position = half ? SC_U32 : SC_U64, s->position_bits = alone ? 0 : half ? SHORT : 2 * SHORT;
    s->word_operand = order.operand, s->word = order.number, s->falls = order.falls;
}

bool plan_sort_word_tells(const PlanSort *s, uint32_t operand)
{
    return s->word && s->word_operand == operand && s->word->opcode == HLO_PARAMETER;
}
