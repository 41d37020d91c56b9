/* collective: what operations that exchange data between devices do where one device takes part.
 *
 * Needs: for hlo_find_alone a verified instruction and the numbers of devices in the header (1 where it has none).
 * Leaves: HloInstruction.alone, by which the evaluator and the pass `alone` take a collective for its operands.
 *
 * Groups of one device make all of them the identity, whatever their reduction is: a sum of one term, parts of one
 * array. Where the header names several devices, groups count replicas, or all devices with use_global_device_ids; what
 * counts partitions (channel_id alone) is left as it is.
 *
 *     s = f32[8] all-reduce(a), replica_groups={{0}}, to_apply=add      a
 *     p = f32[8] collective-permute(a), source_target_pairs={}          zeros: nobody sends to device 0
 *     i = u32[] partition-id()                                          0
 */
#include "hlo/inner.h"

#include <string.h>

/* Without pairs, every device gets zeros. */
static bool gets_nothing(const HloInstruction *i)
{
    const bool permutes = i->opcode == HLO_COLLECTIVE_PERMUTE || i->opcode == HLO_COLLECTIVE_PERMUTE_START;
    return permutes && !strstr(i->attributes, "source_target_pairs={{");
}

/* Has each leaf of the result the type and the dimensions of what it would be? */
static bool fits(HloVerifier *v, const HloInstruction *i)
{
    const HloShape **leaves;
    const uint32_t n = hlo_leaves(v->scratch, i->shape, &leaves);
    for (uint32_t k = 0; k < n; k++) {
        const int64_t operand = hlo_alone_operand(i, k);
        if (operand != HLO_ZERO && !hlo_same_shape(leaves[k], i->operands[operand]->shape)) return false;
    }
    return true;
}

static bool is_one_group(HloVerifier *v, const HloInstruction *i)
{
    const char *groups = hlo_attribute(v->scratch, i, "replica_groups");
    const bool all = !groups || !strcmp(groups, "{}"), one = v->partitions == 1 && v->replicas == 1;
    if (all) return one;
    if (hlo_group_size(v, i, false) != 1) return false;
    return one || hlo_attribute_true(v->scratch, i, "use_global_device_ids") ||
           !hlo_attribute(v->scratch, i, "channel_id");
}

bool hlo_find_alone(HloVerifier *v, const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_PARTITION_ID: return v->partitions == 1;
    case HLO_REPLICA_ID: return v->replicas == 1;
    case HLO_COLLECTIVE_PERMUTE: case HLO_COLLECTIVE_PERMUTE_START: {
        const char *pairs = hlo_attribute(v->scratch, i, "source_target_pairs");
        const bool itself = pairs && (!strcmp(pairs, "{{0,0}}") || !strcmp(pairs, "{}"));
        return v->partitions == 1 && v->replicas == 1 && itself && i->n_operands == 1 && fits(v, i);
    }
    case HLO_COLLECTIVE_BROADCAST:
        if (hlo_attribute_true(v->scratch, i, "has_dynamic_root") || hlo_group_size(v, i, false) != 1) return false;
        return is_one_group(v, i) && fits(v, i);
    case HLO_ALL_REDUCE: case HLO_ALL_REDUCE_START: case HLO_ALL_GATHER: case HLO_ALL_GATHER_START:
    case HLO_REDUCE_SCATTER: case HLO_ALL_TO_ALL:
        return is_one_group(v, i) && fits(v, i);
    default: return false;
    }
}

int64_t hlo_alone_operand(const HloInstruction *i, uint32_t leaf)
{
    if (i->opcode == HLO_PARTITION_ID || i->opcode == HLO_REPLICA_ID) return HLO_ZERO;
    if (i->opcode == HLO_COLLECTIVE_PERMUTE_START && leaf > 1) return HLO_ZERO; /* a context, which nobody reads */
    if (gets_nothing(i) && (i->opcode == HLO_COLLECTIVE_PERMUTE || leaf)) return HLO_ZERO;
    return leaf % i->n_operands; /* of a start, operands and then results */
}

bool hlo_is_alone_done(const HloInstruction *i)
{
    const bool done = i->opcode == HLO_ALL_REDUCE_DONE || i->opcode == HLO_ALL_GATHER_DONE ||
                      i->opcode == HLO_COLLECTIVE_PERMUTE_DONE;
    return done && i->operands[0]->alone;
}
