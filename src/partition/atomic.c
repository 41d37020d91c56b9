/* atomic.c: how many updates of a scatter one instruction of the target combines.
 *
 * Needs a stage with the way in which updates are combined (scatter.c); leaves a number of neighbours in the updates'
 * order that are neighbours in memory, too, and begin at a multiple of their number wherever the window lies.
 *
 *     f32[50,64] x[k,:] += u[k,:], sm_90   =>   4: atomic_add.f32x4; f32[50,66]: 2; f32[50,63] or sm_80: 1
 */
#include "partition/partition.h"

static uint32_t minor_dimension(const HloShape *s)
{
    uint32_t k = 0;
    while (k + 1 < s->rank && s->dims[s->minor_to_major[k]] == 1) k++;
    return s->rank ? s->minor_to_major[k] : 0;
}

uint32_t part_update_lanes(const PartPlan *p, const TgTarget *t, const PartStage *s)
{
    if (s->kind != PART_SCATTER || (s->combine != PART_ATOMIC && s->combine != PART_SUM)) return 1;
    const HloInstruction *i = s->update;
    const uint32_t results = i->n_operands / 2;
    const HloShape *to = part_shape(i, s->first), *from = i->operands[results + 1 + s->first]->shape;
    const int64_t columns = i->operands[results]->shape->dims[1];
    const uint32_t minor = minor_dimension(to), bits = sc_type_info[to->type].bits;
    if (to->type != s->word || !to->rank || minor_dimension(from) != minor + 1) return 1;
    const int64_t row = from->dims[minor + 1];
    if (minor < columns && to->dims[minor] != row) return 1; /* starts that are not 0 may part what is aligned */
    uint32_t lanes = 1;
    for (uint32_t k = 0; k < t->tables->n_packed; k++) {
        const RwPacked *of = &t->tables->packed[k];
        const bool fits = row % of->lanes == 0 && to->dims[minor] % of->lanes == 0 && of->lanes * bits <= 8 * p->align;
        if (of->op == s->atomic && of->type == s->word && fits) lanes = WBB_MAX(lanes, of->lanes);
    }
    return lanes;
}
