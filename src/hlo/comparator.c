/* comparator.c: what the comparator of a sort reads of two elements, and the number by which it orders them.
 *
 *     compare(f(a), f(b)), direction=GT, type=TOTALORDER, of operand 1    by f(a), of operand 1, falling
 */
#include "hlo/hlo.h"

enum { MOST_STEPS = 256 };

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
static bool is_twin(Pair *p, const HloInstruction *x, const HloInstruction *y)
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
    case HLO_COPY: break;
    default: /* operations on elements have no attributes, those apart that are no single one */
        if (hlo_scalar(x->opcode) == OP_NONE) return false;
    }
    for (uint32_t k = 0; k < x->n_operands; k++)
        if (!is_twin(p, x->operands[k], y->operands[k])) return false;
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

bool hlo_is_sort(const HloInstruction *i)
{
    return i->opcode == HLO_SORT && i->n_dimensions == 1 && !i->spelling;
}

bool hlo_comparator_order(const HloInstruction *sort, HloSortOrder *order)
{
    const HloInstruction *root = sort->called[0]->root;
    if (root->opcode != HLO_COMPARE || (root->direction != HLO_LT && root->direction != HLO_GT)) return false;
    const ScType t = root->operands[0]->shape->type;
    if (sc_type_info[t].cls == 'C' || (sc_is_float(t) && !root->total_order)) return false;
    Pair p = {0};
    const int64_t first = parameter_of(root->operands[0], &p.steps);
    if (first < 0) return false;
    const bool swapped = first % 2;
    p = (Pair){.x = first, .y = swapped ? first - 1 : first + 1};
    if (!is_twin(&p, root->operands[0], root->operands[1])) return false;
    order->operand = (uint32_t)first / 2, order->number = root->operands[swapped];
    order->falls = (root->direction == HLO_GT) != swapped;
    return true;
}

bool *hlo_comparator_reads(WbbArena *a, const HloInstruction *sort)
{
    const HloComputation *c = sort->called[0];
    bool *needed = WBB_NEW_N(a, bool, c->n_instructions + 1), *reads = WBB_NEW_N(a, bool, sort->n_operands + 1);
    needed[c->root->id] = true;
    hlo_mark_operands(c, needed);
    for (uint32_t k = 0; k < sort->n_operands; k++)
        reads[k] = needed[c->parameters[2 * k]->id] || needed[c->parameters[2 * k + 1]->id];
    return reads;
}
