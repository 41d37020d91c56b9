/* loop: a `while` that a thread runs for its elements, inside a kernel.
 *
 * Needs: a verified instruction. Leaves: nothing. The state has arrays of one shape, whose elements do not meet, and
 * few other elements, which decide how often the loop runs.
 *
 *     while((i, x f32[1024], keys u32[4]))  i < 5:  (i + 1, x + broadcast(keys[i]), keys)
 */
#include "fuse/priced.h"

#include <string.h>

enum { FEW = 64 }; /* elements of the other arrays of a state */

static bool is_few(const HloShape *s) { return s->type != SC_TUPLE && hlo_elements(s) <= FEW; }

/* Each instruction is of few elements, or elementwise in arrays of the shape. */
static bool is_pointwise(const HloComputation *c, const HloShape *shape)
{
    for (uint32_t k = 0; k < c->n_instructions; k++) {
        const HloInstruction *i = c->instructions[k];
        const HloShape *s = i->shape;
        const HloOpcode op = i->opcode;
        if (op == HLO_PARAMETER || (op == HLO_TUPLE && i == c->root)) continue;
        if (op == HLO_GET_TUPLE_ELEMENT && i->operands[0]->opcode == HLO_PARAMETER) continue;
        bool few = is_few(s);
        for (uint32_t x = 0; x < i->n_operands; x++) few = few && is_few(i->operands[x]->shape);
        const bool moves = op == HLO_SLICE || op == HLO_RESHAPE || op == HLO_DYNAMIC_SLICE || op == HLO_BROADCAST ||
                           op == HLO_CONSTANT || op == HLO_IOTA;
        if (few && (moves || hlo_is_elementwise(op))) continue;
        if (s->type == SC_TUPLE || !hlo_same_dims(s, shape)) return false;
        if (op == HLO_BROADCAST && hlo_elements(i->operands[0]->shape) == 1) continue;
        if (!hlo_is_elementwise(op)) return false;
        for (uint32_t x = 0; x < i->n_operands; x++)
            if (hlo_elements(i->operands[x]->shape) != 1 && !hlo_same_dims(i->operands[x]->shape, shape)) return false;
    }
    return true;
}

bool fuse_is_pointwise_loop(const HloInstruction *loop, const HloShape **shape)
{
    if (loop->opcode != HLO_WHILE || loop->operands[0]->opcode != HLO_TUPLE) return false;
    const HloComputation *body = hlo_called(loop, "body"), *condition = hlo_called(loop, "condition");
    if (!body || !condition || body->root->opcode != HLO_TUPLE || condition->root->opcode != HLO_COMPARE) return false;
    *shape = NULL;
    for (uint32_t k = 0; k < loop->shape->n_elements; k++) {
        const HloShape *s = loop->shape->elements[k];
        if (is_few(s)) continue;
        if (s->type == SC_TUPLE || (*shape && !hlo_same_dims(*shape, s))) return false;
        *shape = s;
    }
    if (!*shape) return false;
    for (uint32_t k = 0; k < condition->n_instructions; k++) {
        const HloInstruction *i = condition->instructions[k];
        if (i->opcode != HLO_PARAMETER && !(i->opcode == HLO_GET_TUPLE_ELEMENT && i->n_users == 0) && !is_few(i->shape))
            return false;
    }
    return is_pointwise(body, *shape) && is_pointwise(condition, *shape);
}
