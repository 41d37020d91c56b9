/* atomic.c: what one instruction combines of the updates of a scatter, and how many.
 *
 * Needs a scatter, and a stage with the way in which updates are combined (scatter.c); leaves its operation, and how
 * many neighbours in the updates' order are neighbours in memory, too, and begin at a multiple of their number wherever
 * the window lies.
 *
 * A sum of 16 bits that is alone is taken with its neighbour where the buffer has whole pairs. A thread then has no
 * vector of updates.
 *
 *     f32[50,64] x[k,:] += u[k,:], sm_90   =>   4: atomic_add.f32x4; f32[50,66]: 2; f32[50,63] or sm_80: 1
 */
#include "plan/scatter.h"

bool plan_may_combine(const PlanStage *s)
{
    const HloOpcode op = hlo_scatter_root(s->update, s->first)->opcode;
    const bool way = s->combine == PLAN_ATOMIC || s->combine == PLAN_SUM || s->combine == PLAN_FLOAT_ORDER ||
                     s->combine == PLAN_CAS;
    return way && hlo_scatter_is_operation(s->update, s->first) && hlo_combines(op);
}

/* The most elements of a type that one instruction combines, of numbers that divide `of`. */
static uint32_t lanes_of(const TgTarget *t, ScOp op, ScType type, int64_t of)
{
    uint32_t lanes = 1;
    for (uint32_t k = 0; k < t->tables->n_packed; k++) {
        const RwPacked *p = &t->tables->packed[k];
        if (p->op == op && p->type == type && of % p->lanes == 0) lanes = WBB_MAX(lanes, p->lanes);
    }
    return lanes;
}

static uint32_t minor_dimension(const HloShape *s)
{
    uint32_t k = 0;
    while (k + 1 < s->rank && s->dims[s->minor_to_major[k]] == 1) k++;
    return s->rank ? s->minor_to_major[k] : 0;
}

uint32_t plan_update_lanes(const Plan *p, const TgTarget *t, const PlanStage *s)
{
    if (s->kind != PLAN_SCATTER || (s->combine != PLAN_ATOMIC && s->combine != PLAN_SUM)) return 1;
    const HloInstruction *i = s->update;
    const uint32_t results = i->n_operands / 2;
    const HloShape *to = plan_shape(i, s->first), *from = i->operands[results + 1 + s->first]->shape;
    const int64_t columns = i->operands[results]->shape->dims[1];
    const uint32_t minor = minor_dimension(to), bits = sc_type_info[to->type].bits;
    if (to->type != s->word || !to->rank || minor_dimension(from) != minor + 1) return 1;
    const int64_t row = from->dims[minor + 1];
    if (minor < columns && to->dims[minor] != row) return 1; /* starts that are not 0 may part what is aligned */
    int64_t near = (row | to->dims[minor]) & -(row | to->dims[minor]); /* the power of two that divides both */
    return lanes_of(t, s->atomic, s->word, WBB_MIN(near, (int64_t)(8 * p->align / bits)));
}

bool plan_update_in_pair(const Plan *p, const TgTarget *t, const PlanStage *s)
{
    if (s->kind != PLAN_SCATTER || s->combine != PLAN_ATOMIC) return false;
    const HloShape *to = plan_shape(s->update, s->first);
    const uint32_t bits = sc_type_info[to->type].bits;
    return to->type == s->word && bits == 16 && hlo_elements(to) % 2 == 0 && p->align >= 4 &&
           lanes_of(t, s->atomic, s->word, 2) == 2;
}
