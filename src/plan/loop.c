/* loop.c: loops and branches in a computation, and how many operations it has.
 *
 * Needs a verified computation; leaves nothing. What the text says about a loop itself is in hlo/count.c.
 *
 *     while(..), condition: i < n, n a parameter     =>   an open loop
 */
#include "plan/plan.h"

#include <string.h>

const HloComputation *plan_called(const HloInstruction *i, const char *attribute)
{
    for (uint32_t k = 0; k < i->n_called; k++)
        if (!strcmp(i->called_by[k], attribute)) return i->called[k];
    return i->called[0];
}

static bool is_open(const HloInstruction *i) { return i->opcode == HLO_WHILE && hlo_count_of(i).trips < 0; }
static bool is_branch(const HloInstruction *i) { return i->opcode == HLO_CONDITIONAL || i->opcode == HLO_WHILE; }

/* Computations stand behind those that they call. */
static bool has(WbbArena *a, const HloComputation *c, const bool *needed, bool (*is)(const HloInstruction *))
{
    bool *found = WBB_NEW_N(a, bool, c->id + 1);
    for (uint32_t of = 0; of <= c->id; of++) {
        const HloComputation *x = of == c->id ? c : c->module->computations[of];
        for (uint32_t n = 0; n < x->n_instructions && !found[of]; n++) {
            if (x == c && needed && !needed[n]) continue;
            found[of] = is(x->instructions[n]);
            for (uint32_t k = 0; k < x->instructions[n]->n_called; k++)
                found[of] = found[of] || found[x->instructions[n]->called[k]->id];
        }
    }
    return found[c->id];
}

bool plan_has_open_loop(WbbArena *a, const HloComputation *c, const bool *needed) { return has(a, c, needed, is_open); }
bool plan_has_branch(WbbArena *a, const HloComputation *c) { return has(a, c, NULL, is_branch); }

int64_t plan_operations(WbbArena *a, const HloComputation *c, const bool *needed)
{
    int64_t *sum = WBB_NEW_N(a, int64_t, c->id + 1);
    for (uint32_t of = 0; of <= c->id; of++) {
        const HloComputation *x = of == c->id ? c : c->module->computations[of];
        for (uint32_t n = 0; n < x->n_instructions; n++) {
            const HloInstruction *i = x->instructions[n];
            if (x == c && needed && !needed[n]) continue;
            sum[of] += i->n_operands && hlo_kind(i->opcode) != HLO_IS_GROUP; /* a place costs nothing, either */
            for (uint32_t k = 0; hlo_kind(i->opcode) == HLO_IS_CONTROL && k < i->n_called; k++)
                sum[of] = WBB_MIN(sum[of] + sum[i->called[k]->id], INT64_C(1) << 40);
        }
    }
    return sum[c->id];
}
