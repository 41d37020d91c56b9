/* verify_remote: operations that talk to other devices or to the host, and the tokens that order them.
 *
 * Needs: the helpers of verify.c. Leaves: the result's shape, given or checked; or a wbb_fail.
 *
 * A size that the devices of a group share is a multiple: of their number where the text says it, and counts no partitions besides.
 *
 *     f32[16] all-gather(f32[6] p), dimensions={0}    error: all-gather: dimension 0 of f32[16] is no multiple of that of f32[6]
 */
#include "hlo/inner.h"

#include <string.h>

static void want_token(HloJudge *j, const HloInstruction *i, uint32_t k)
{
    hlo_want_type(j, i, hlo_operand_name(j, k), i->operands[k]->shape, SC_TOKEN);
}

static const HloShape *token(HloJudge *j) { return hlo_make_array(j->arena, SC_TOKEN, 0, NULL); }

/* One shape, or a tuple of n. A tuple of one is taken for its element where the text gives one. */
static const HloShape *part_of(HloJudge *j, const HloInstruction *i, const HloShape *s, uint32_t k, uint32_t n)
{
    if (n == 1 && s->type != SC_TUPLE) return s;
    if (s->type != SC_TUPLE || s->n_elements != n)
        hlo_bad(j, i, "the result has shape %s, one for each of %u operands expected", hlo_brief(j, s), n);
    return s->elements[k];
}

/* The result is as the first n operands. */
static void give_operands(HloJudge *j, HloInstruction *i, uint32_t n)
{
    if (i->shape) {
        for (uint32_t k = 0; k < n; k++)
            hlo_want_shape(j, i, n == 1 ? "the result" : wbb_format(j->scratch, "element %u of the result", k),
                           part_of(j, i, i->shape, k, n), i->operands[k]->shape);
        return;
    }
    const HloShape **parts = WBB_NEW_N(j->scratch, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) parts[k] = i->operands[k]->shape;
    hlo_give_parts(j, i, n, parts);
}

/* Two scalars to one: the types of all operands are the same, or floats. */
static void want_reducer(HloJudge *j, const HloInstruction *i)
{
    const HloShape *first = hlo_array(j, i, 0);
    hlo_want_combiner(j, i, hlo_one_called(j, i), 1, &first);
}

/* Small and large agree but along dimension d, where the large one is a multiple. */
static void want_multiple(HloJudge *j, const HloInstruction *i, const HloShape *small, const HloShape *large, int64_t d, int64_t devices)
{
    bool fits = small->type == large->type && small->type != SC_TUPLE && small->rank == large->rank;
    for (uint32_t k = 0; fits && k < small->rank; k++) fits = k == d || small->dims[k] == large->dims[k];
    if (!fits) hlo_bad(j, i, "%s and %s do not agree but along dimension %lld", hlo_brief(j, small), hlo_brief(j, large), (long long)d);
    if (small->dims[d] ? large->dims[d] % small->dims[d] != 0 : large->dims[d] != 0)
        hlo_bad(j, i, "dimension %lld of %s is no multiple of that of %s", (long long)d, hlo_brief(j, large), hlo_brief(j, small));
    if (devices && (WbbI128)small->dims[d] * devices != large->dims[d])
        hlo_bad(j, i, "dimension %lld of %s is not that of %s for each of %lld devices", (long long)d, hlo_brief(j, large),
                hlo_brief(j, small), (long long)devices);
}

/* With a channel and without use_global_device_ids each partition of a named replica takes part: how many these are is not said here. */
static int64_t devices_of(HloJudge *j, const HloInstruction *i)
{
    int64_t size = hlo_group_size(j, i, true);
    bool partitions = hlo_attribute(j->scratch, i, "channel_id") && !hlo_attribute_true(j->scratch, i, "use_global_device_ids");
    return partitions ? 0 : size;
}

/* `gathered` has the results of all-gather or the operands of reduce-scatter. */
static void judge_gathered(HloJudge *j, HloInstruction *i, const HloShape *result, bool gathers)
{
    int64_t d = hlo_want_dimension(j, i, hlo_array(j, i, 0)->rank), devices = devices_of(j, i);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *in = hlo_array(j, i, k), *out = part_of(j, i, result, k, i->n_operands);
        if (gathers) want_multiple(j, i, in, out, d, devices);
        else want_multiple(j, i, out, in, d, devices);
    }
}

/* (operands, results): each a tuple if they are several. */
static void judge_all_gather_start(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = i->shape;
    if (s->type != SC_TUPLE || s->n_elements < 2) hlo_bad(j, i, "the result has shape %s, (operands, results) expected", hlo_brief(j, s));
    for (uint32_t k = 0; k < i->n_operands; k++)
        hlo_want_shape(j, i, hlo_operand_name(j, k), i->operands[k]->shape, part_of(j, i, s->elements[0], k, i->n_operands));
    judge_gathered(j, i, s->elements[1], true);
}

/* With dimensions= the operand is cut, otherwise it comes in pieces of one shape. */
static void judge_all_to_all(HloJudge *j, HloInstruction *i)
{
    const HloShape *first = hlo_array(j, i, 0);
    int64_t devices = hlo_group_size(j, i, true);
    if (i->dimensions) {
        int64_t d = hlo_want_dimension(j, i, first->rank);
        if (devices && first->dims[d] % devices)
            hlo_bad(j, i, "dimension %lld of %s cannot be split over %lld devices", (long long)d, hlo_brief(j, first), (long long)devices);
    }
    for (uint32_t k = 1; k < i->n_operands; k++) hlo_want_shape(j, i, hlo_operand_name(j, k), i->operands[k]->shape, first);
    give_operands(j, i, i->n_operands);
}

/* slice_sizes: of operand 0 into operand 1, at the places that the others tell. */
static void judge_collective_permute(HloJudge *j, HloInstruction *i)
{
    hlo_want_count(j, i, 1, UINT32_MAX);
    hlo_want_pairs_of_devices(j, i);
    if (!hlo_attribute(j->scratch, i, "slice_sizes")) {
        give_operands(j, i, i->n_operands);
        return;
    }
    hlo_want_count(j, i, 4, 4);
    hlo_give_shape(j, i, i->operands[1]->shape);
}

static void judge_collective(HloJudge *j, HloInstruction *i)
{
    hlo_want_count(j, i, 1, UINT32_MAX);
    switch (i->opcode) {
    case HLO_ALL_REDUCE: case HLO_ALL_REDUCE_START:
        want_reducer(j, i);
        (void)hlo_group_size(j, i, false);
        give_operands(j, i, i->n_operands);
        break;
    case HLO_ALL_GATHER: case HLO_REDUCE_SCATTER:
        hlo_given(j, i);
        if (i->opcode == HLO_REDUCE_SCATTER) want_reducer(j, i);
        judge_gathered(j, i, i->shape, i->opcode == HLO_ALL_GATHER);
        break;
    case HLO_ALL_GATHER_START:
        hlo_given(j, i);
        judge_all_gather_start(j, i);
        break;
    case HLO_ALL_TO_ALL: judge_all_to_all(j, i); break;
    case HLO_RAGGED_ALL_TO_ALL: /* input, output, and offsets and sizes of both */
        hlo_want_count(j, i, 6, 6);
        for (uint32_t k = 2; k < 6; k++) hlo_want_class(j, i, k, "IU");
        hlo_give_shape(j, i, i->operands[1]->shape);
        break;
    default: { /* collective-broadcast; a dynamic root is the last operand */
        uint32_t roots = hlo_attribute_true(j->scratch, i, "has_dynamic_root");
        hlo_want_count(j, i, 1 + roots, UINT32_MAX);
        give_operands(j, i, i->n_operands - roots);
        break;
    }
    }
}

/* (what is on its way, .., token) */
static void want_travelling(HloJudge *j, const HloInstruction *i, const HloShape *s)
{
    bool fits = s->type == SC_TUPLE && s->n_elements >= 2 && s->elements[s->n_elements - 1]->type == SC_TOKEN;
    if (!fits) hlo_bad(j, i, "the result has shape %s, (value, .., token[]) expected", hlo_brief(j, s));
}

static void judge_send(HloJudge *j, HloInstruction *i)
{
    hlo_want_count(j, i, 2, 2);
    want_token(j, i, 1);
    if (i->shape) {
        want_travelling(j, i, i->shape);
        hlo_want_shape(j, i, "element 0 of the result", i->shape->elements[0], i->operands[0]->shape);
    } else {
        const HloShape *parts[3] = {i->operands[0]->shape, hlo_make_array(j->arena, SC_U32, 0, NULL), token(j)};
        hlo_give_parts(j, i, 3, parts);
    }
}

static void judge_recv(HloJudge *j, HloInstruction *i)
{
    hlo_want_count(j, i, i->opcode == HLO_INFEED ? 0 : 1, 1);
    if (i->n_operands) want_token(j, i, 0);
    hlo_given(j, i);
    want_travelling(j, i, i->shape);
}

static void judge_recv_done(HloJudge *j, HloInstruction *i)
{
    const HloShape *parts[2] = {hlo_element_of(j, i, 0), token(j)};
    hlo_give_parts(j, i, 2, parts);
}

/* What is sent, then a token. */
static void judge_outfeed(HloJudge *j, HloInstruction *i)
{
    hlo_want_count(j, i, 1, 2);
    if (i->n_operands == 2) want_token(j, i, 1);
    hlo_give_shape(j, i, token(j));
}

bool hlo_judge_remote(HloJudge *j, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_ALL_REDUCE: case HLO_ALL_REDUCE_START: case HLO_ALL_GATHER: case HLO_ALL_GATHER_START: case HLO_REDUCE_SCATTER:
    case HLO_ALL_TO_ALL: case HLO_RAGGED_ALL_TO_ALL: case HLO_COLLECTIVE_BROADCAST:
        judge_collective(j, i);
        return true;
    case HLO_ALL_REDUCE_DONE: hlo_give_shape(j, i, i->operands[0]->shape); return true;
    case HLO_ALL_GATHER_DONE: case HLO_COLLECTIVE_PERMUTE_DONE: hlo_give_shape(j, i, hlo_element_of(j, i, 1)); return true;
    case HLO_COLLECTIVE_PERMUTE: judge_collective_permute(j, i); return true;
    case HLO_COLLECTIVE_PERMUTE_START:
        hlo_given(j, i);
        hlo_want_pairs_of_devices(j, i);
        if (i->shape->type != SC_TUPLE || i->shape->n_elements < 2)
            hlo_bad(j, i, "the result has shape %s, (operand, result, contexts ..) expected", hlo_brief(j, i->shape));
        return true;
    case HLO_SEND: judge_send(j, i); return true;
    case HLO_RECV: case HLO_INFEED: judge_recv(j, i); return true;
    case HLO_RECV_DONE: judge_recv_done(j, i); return true;
    case HLO_SEND_DONE:
        (void)hlo_element_of(j, i, 0);
        hlo_give_shape(j, i, token(j));
        return true;
    case HLO_OUTFEED: judge_outfeed(j, i); return true;
    case HLO_AFTER_ALL: hlo_give_shape(j, i, token(j)); return true; /* of tokens, or of whatever must have happened */
    case HLO_ADD_DEPENDENCY: /* operand 1 is a token, or whatever must have happened */
        hlo_give_shape(j, i, i->operands[0]->shape);
        return true;
    case HLO_PARTITION_ID: case HLO_REPLICA_ID: hlo_give(j, i, SC_U32, 0, NULL); return true;
    default: return false;
    }
}
