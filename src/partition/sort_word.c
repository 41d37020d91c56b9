/* sort_word.c: comparators that order by one number: it and the position of an element are one unsigned word.
 *
 * Needs the comparator of a sort; leaves what is to be computed of an element. The comparator must compute the same of
 * its two elements and compare that as integers or in total order of floats, so that it puts elements in the order of a
 * number. Of at most 32 bits it is part of a word, above the position, and no two words of a row are the same: their
 * order is that of a stable sort. Where nothing but the number is sorted, elements that it does not tell apart are the
 * same, and the word is the number, of 64 bits too.
 *
 *     LT(f(a), f(b)) of f32, totally, rows of 1000    =>   u64: f as an integer that rises with it, 32 bits of position
 *     GT(a, b) of s16, with another operand           =>   u32: the complement of a + 32768, 16 bits of position
 *     LT(a, b) of s32, which is all that is sorted    =>   u32: a + 2^31
 *     LT(a, b) of f32, or by two keys                 =>   none
 */
#include "partition/sort.h"

enum { MOST_STEPS = 256, KEY_BITS = 32, SHORT = 16 };

typedef struct {
    int64_t x, y;       /* parameters: of the first element, of the second */
    uint32_t steps;     /* looked at */
} Pair;

static bool same_constant(const HloInstruction *x, const HloInstruction *y)
{
    return x->literal && y->literal && x->shape->rank == 0 && x->shape->type == y->shape->type &&
           sc_type_info[x->shape->type].cls != 'C' && hlo_literal_bits(x, 0) == hlo_literal_bits(y, 0);
}

/* Is x of the first element what y is of the second? */
static bool same(Pair *p, const HloInstruction *x, const HloInstruction *y)
{
    if (++p->steps > MOST_STEPS || x->opcode != y->opcode || x->shape->rank > 0 ||
        x->shape->type != y->shape->type || x->n_operands != y->n_operands)
        return false;
    switch (x->opcode) {
    case HLO_PARAMETER: return x->number == p->x && y->number == p->y;
    case HLO_CONSTANT: return same_constant(x, y);
    case HLO_COMPARE:
        if (x->direction != y->direction || x->total_order != y->total_order) return false;
        break;
    case HLO_ABS:
    case HLO_ADD:
    case HLO_AND:
    case HLO_BITCAST_CONVERT:
    case HLO_CONVERT:
    case HLO_COPY:
    case HLO_MAXIMUM:
    case HLO_MINIMUM:
    case HLO_MULTIPLY:
    case HLO_NEGATE:
    case HLO_NOT:
    case HLO_OR:
    case HLO_SELECT:
    case HLO_SUBTRACT:
    case HLO_XOR: break;
    default: return false;
    }
    for (uint32_t k = 0; k < x->n_operands; k++)
        if (!same(p, x->operands[k], y->operands[k])) return false;
    return true;
}

/* The first parameter below x; -1: none in so many steps. */
static int64_t parameter_of(const HloInstruction *x, uint32_t *steps)
{
    if (x->opcode == HLO_PARAMETER) return x->number;
    for (uint32_t k = 0; k < x->n_operands && ++*steps <= MOST_STEPS; k++) {
        const int64_t p = parameter_of(x->operands[k], steps);
        if (p >= 0) return p;
    }
    return -1;
}

void part_sort_word(PartSort *s)
{
    const HloInstruction *root = s->i->called[0]->root;
    if (root->opcode != HLO_COMPARE || (root->direction != HLO_LT && root->direction != HLO_GT)) return;
    const ScType t = root->operands[0]->shape->type;
    const uint32_t bits = sc_type_info[t].bits;
    if (sc_type_info[t].cls == 'C' || (sc_is_float(t) && !root->total_order)) return;
    Pair p = {0};
    const int64_t first = parameter_of(root->operands[0], &p.steps);
    if (first < 0) return;
    const bool swapped = first % 2;
    p = (Pair){.x = first, .y = swapped ? first - 1 : first + 1};
    if (!same(&p, root->operands[0], root->operands[1])) return;
    const HloInstruction *word = root->operands[swapped];
    const bool alone = s->i->n_operands == 1 && word->opcode == HLO_PARAMETER;
    if (bits > KEY_BITS && !alone) return;
    const bool half = alone ? bits <= KEY_BITS : bits <= SHORT && s->length <= UINT16_MAX;
    s->n_keys = 0, s->position = half ? SC_U32 : SC_U64, s->position_bits = alone ? 0 : half ? SHORT : 2 * SHORT;
    s->word_operand = (uint32_t)first / 2, s->word = word;
    s->falls = (root->direction == HLO_GT) != swapped;
}

bool part_sort_word_tells(const PartSort *s, uint32_t operand)
{
    return s->word && s->word_operand == operand && s->word->opcode == HLO_PARAMETER;
}
