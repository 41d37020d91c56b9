/* decline.c: why an operation cannot be code of a fusion: a reason of the closed list, and a sentence that says what
 * was seen.
 *
 * Needs a verified instruction that no emitter handles; does not return. The reason is the column `declined` of
 * gen/hlo_ops.py, or of a custom-call its own; a unit test checks every opcode.
 *
 *     ROOT d = f32[8] sort(a), ..   =>   "x.hlo:5:3: declined: library: sort of f32[8]: a sort is the work of a .."
 */
#include "plan/plan.h"

/* " of f32[64,128], f32[128,32]"; the many operands of a collective would drown the message. */
static const char *operands(WbbCx *cx, const HloInstruction *i)
{
    WbbBuf b = wbb_buf(cx->arena);
    for (uint32_t k = 0; k < i->n_operands && k < 3; k++) {
        const HloShape *s = i->operands[k]->shape;
        wbb_put(&b, k ? ", " : " of ");
        if (s->n_leaves > 4) wbb_putf(&b, "a tuple of %u arrays", s->n_leaves);
        else hlo_print_shape(&b, s);
    }
    if (i->n_operands > 3) wbb_putf(&b, " and %u more", i->n_operands - 3);
    return b.text;
}

void plan_decline_as(WbbCx *cx, const HloInstruction *i, WbbWhy why, const char *sentence)
{
    const char *name = i->spelling ? i->spelling : hlo_opcode_name(i->opcode);
    wbb_decline(cx, i->loc, why, "%s%s: %s", name, operands(cx, i), sentence);
}

void plan_decline(WbbCx *cx, const HloInstruction *i)
{
    if (i->opcode == HLO_CUSTOM_CALL)
        wbb_decline(cx, i->loc, WHY_LIBRARY, "custom-call of '%s'%s: its code is not in the text",
                    i->target ? i->target : "", operands(cx, i));
    plan_decline_as(cx, i, hlo_op_info[i->opcode].why, hlo_op_info[i->opcode].sentence);
}
