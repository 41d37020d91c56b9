/* share: which outputs of a kernel may have the memory of an operand.
 *
 * Needs: the text of the kernel. Leaves: pairs of an output and an operand: the output is the operand with some
 * elements replaced (dynamic-update-slice, scatter), and nothing else reads the operand. The bundle has the last word
 * (`may_alias`, `copy_of` of kernel.json): where it says no, a run uses other memory and copies. Elementwise kernels
 * share nothing: they load operands as memory that nobody writes, which is faster.
 *
 *     y = f32[8] dynamic-update-slice(p0, p1, p2)    y in the memory of p0
 */
#include "program/program.h"

#include <string.h>

static bool same_memory(const HloShape *x, const HloShape *y)
{
    return x->type != SC_TUPLE && y->type != SC_TUPLE && hlo_same_dims(x, y) &&
           sc_type_info[x->type].bits == sc_type_info[y->type].bits &&
           (!x->rank || !memcmp(x->minor_to_major, y->minor_to_major, x->rank));
}

static bool is_update(const HloInstruction *i, const HloInstruction *parameter)
{
    const int64_t of = i->shape->type == SC_TUPLE ? -1 : hlo_replaced(i, 0);
    return of >= 0 && i->operands[of] == parameter && parameter->n_users == 1;
}

const ProgShare *prog_shares(WbbCx *cx, WbbArena *a, const ProgStep *s, uint32_t *n)
{
    struct { ProgShare *items; uint32_t n, capacity; } list = {0};
    WbbArena *scratch = wbb_arena_new(cx);
    const HloFusion f = hlo_fusion(cx, hlo_parse(cx, scratch, s->name, s->text, strlen(s->text)));
    const HloComputation *c = f.body;
    const bool several = c->root->opcode == HLO_TUPLE;
    uint32_t operand = 0;
    for (uint32_t j = 0; j < c->n_parameters; operand += c->parameters[j++]->shape->n_leaves) {
        const HloInstruction *p = c->parameters[j];
        if (p->shape->type == SC_TUPLE || !p->n_users) continue;
        uint32_t output = 0;
        for (uint32_t o = 0; o < (several ? c->root->n_operands : 1); o++) {
            const HloInstruction *root = several ? c->root->operands[o] : c->root;
            if (root != p && same_memory(root->shape, p->shape) && is_update(root, p))
                WBB_PUSH(a, &list, ((ProgShare){output, operand}));
            output += root->shape->n_leaves;
        }
    }
    wbb_arena_free(scratch);
    *n = list.n;
    return list.items;
}
