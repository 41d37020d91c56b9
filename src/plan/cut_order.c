/* cut_order.c: the sort or scan that a kernel is for, and the sorts, scans and scatters that launches of their own make
 * before the rest of a fusion.
 *
 * Needs the body of a fusion; leaves instructions of it.
 *
 *     s = f32[9,999] scatter(..)   ROOT r = f32[9] reduce(tanh(s)), {1}    =>   s: beside it a thread would fold a row
 */
#include "plan/sort.h"

/* Is it a sort of elements? */
static bool is_sort(WbbArena *a, const HloInstruction *i, const TgTarget *t)
{
    return hlo_is_sort(i) && hlo_elements(plan_shape(i, 0)) && plan_shape(i, 0)->rank <= HLO_RANK_LIMIT &&
           plan_sort_fits(a, i, t);
}

/* Is it a scan that is worth a kernel of its own? */
static bool is_long_scan(const HloInstruction *i, const TgTarget *t)
{
    HloScan scan;
    return plan_scan_of(i, t, &scan) && plan_shape(i, 0)->dims[scan.dim] > tg_tuned(t, "scan.cut");
}

const HloInstruction *plan_ordered_hero(WbbArena *a, const HloComputation *body, const TgTarget *t, bool *alone)
{
    const HloInstruction *most = NULL;
    HloScan scan;
    *alone = true;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (most && most->opcode == HLO_SORT) break;
        if (!is_sort(a, i, t) && !plan_scan_of(i, t, &scan)) continue;
        if (!most || i->opcode == HLO_SORT ||
            hlo_elements(plan_shape(i, 0)) > hlo_elements(plan_shape(most, 0)))
            most = i;
    }
    for (uint32_t k = 0; most && k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        const bool other = is_sort(a, i, t) || is_long_scan(i, t);
        *alone = *alone && (!other || i == most || plan_same_space(most, i));
    }
    return most;
}

/* Marks what an instruction needs. */
static bool *below(WbbArena *a, const HloComputation *body, const HloInstruction *i)
{
    bool *needed = WBB_NEW_N(a, bool, body->n_instructions + 1);
    for (uint32_t o = 0; o < i->n_operands; o++) needed[i->operands[o]->id] = true;
    hlo_mark_operands(body, needed);
    return needed;
}

static bool needs_scatter(WbbArena *a, const HloComputation *body, const HloInstruction *i)
{
    const bool *needed = below(a, body, i);
    bool any = i->opcode == HLO_SCATTER;
    for (uint32_t k = 0; k < body->n_instructions; k++)
        any = any || (needed[k] && body->instructions[k]->opcode == HLO_SCATTER);
    return any;
}

uint32_t plan_first_to_cut(WbbArena *a, const HloComputation *body, const TgTarget *t,
                           const HloInstruction **found)
{
    const int64_t most = tg_tuned(t, "reduce.straight");
    const int64_t *trips = plan_trips(a, body);
    uint32_t n = 0;
    const bool *needed = below(a, body, body->root);
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (!(needed[k] || i == body->root) || !(is_sort(a, i, t) || is_long_scan(i, t))) continue;
        if (n && !plan_same_space(found[0], i)) continue;
        const bool *terms = below(a, body, i);
        bool other = false;
        for (uint32_t x = 0; x < n; x++) other = other || terms[found[x]->id];
        if (!other) found[n++] = i;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t o = 0; o < found[k]->n_operands; o++) {
            const HloInstruction *x = found[k]->operands[o];
            if (x->opcode == HLO_PARAMETER || (trips[x->id] <= most && !needs_scatter(a, body, x))) continue;
            found[0] = x;
            return 1;
        }
    return n;
}

const HloInstruction *plan_cut_scatter(WbbArena *a, const HloComputation *body, const TgTarget *t)
{
    const int64_t *trips = plan_trips(a, body), most = tg_tuned(t, "reduce.straight");
    const bool *needed = below(a, body, body->root);
    const HloInstruction *found = NULL;
    for (uint32_t k = 0; k < body->n_instructions; k++) {
        const HloInstruction *i = body->instructions[k];
        if (!(needed[k] || i == body->root) || i->opcode != HLO_REDUCE || trips[k] <= most) continue;
        const bool *terms = below(a, body, i);
        for (uint32_t s = 0; s < k && (!found || s < found->id); s++)
            if (terms[s] && body->instructions[s]->opcode == HLO_SCATTER) found = body->instructions[s];
    }
    return found;
}
