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

static void require_token(HloVerifier *v, const HloInstruction *i, uint32_t k)
{
    hlo_require_type(v, i, hlo_operand_name(v, k), i->operands[k]->shape, SC_TOKEN);
}

static const HloShape *token(HloVerifier *v) { return hlo_make_array(v->arena, SC_TOKEN, 0, NULL); }

/* One shape, or a tuple of n. A tuple of one is taken for its element where the text gives one. */
static const HloShape *part_of(HloVerifier *v, const HloInstruction *i, const HloShape *s, uint32_t k, uint32_t n)
{
    if (n == 1 && s->type != SC_TUPLE) return s;
    if (s->type != SC_TUPLE || s->n_elements != n)
        hlo_invalid(v, i, "the result has shape %s, one for each of %u operands expected", hlo_short_shape(v, s), n);
    return s->elements[k];
}

/* The result is as the first n operands. */
static void set_result_like_operands(HloVerifier *v, HloInstruction *i, uint32_t n)
{
    if (i->shape) {
        for (uint32_t k = 0; k < n; k++)
            hlo_require_shape(v, i, n == 1 ? "the result" : wbb_format(v->scratch, "element %u of the result", k),
                           part_of(v, i, i->shape, k, n), i->operands[k]->shape);
        return;
    }
    const HloShape **parts = WBB_NEW_N(v->scratch, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) parts[k] = i->operands[k]->shape;
    hlo_set_result_parts(v, i, n, parts);
}

/* Two scalars to one: the types of all operands are the same, or floats. */
static void require_reducer(HloVerifier *v, const HloInstruction *i)
{
    const HloShape *first = hlo_array_operand(v, i, 0);
    hlo_require_combiner(v, i, hlo_only_computation(v, i), 1, &first);
}

/* Small and large agree but along dimension d, where the large one is a multiple. */
static void require_multiple(HloVerifier *v, const HloInstruction *i, const HloShape *small, const HloShape *large, int64_t d, int64_t devices)
{
    bool fits = small->type == large->type && small->type != SC_TUPLE && small->rank == large->rank;
    for (uint32_t k = 0; fits && k < small->rank; k++) fits = k == d || small->dims[k] == large->dims[k];
    if (!fits) hlo_invalid(v, i, "%s and %s do not agree but along dimension %lld", hlo_short_shape(v, small), hlo_short_shape(v, large), (long long)d);
    if (small->dims[d] ? large->dims[d] % small->dims[d] != 0 : large->dims[d] != 0)
        hlo_invalid(v, i, "dimension %lld of %s is no multiple of that of %s", (long long)d, hlo_short_shape(v, large), hlo_short_shape(v, small));
    if (devices && (WbbI128)small->dims[d] * devices != large->dims[d])
        hlo_invalid(v, i, "dimension %lld of %s is not that of %s for each of %lld devices", (long long)d, hlo_short_shape(v, large),
                hlo_short_shape(v, small), (long long)devices);
}

/* With a channel and without use_global_device_ids each partition of a named replica takes part: how many these are is not said here. */
static int64_t devices_of(HloVerifier *v, const HloInstruction *i)
{
    int64_t size = hlo_group_size(v, i, true);
    bool partitions = hlo_attribute(v->scratch, i, "channel_id") && !hlo_attribute_true(v->scratch, i, "use_global_device_ids");
    return partitions ? 0 : size;
}

/* `gathered` has the results of all-gather or the operands of reduce-scatter. */
static void verify_gathered(HloVerifier *v, HloInstruction *i, const HloShape *result, bool gathers)
{
    int64_t d = hlo_require_dimension(v, i, hlo_array_operand(v, i, 0)->rank), devices = devices_of(v, i);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *in = hlo_array_operand(v, i, k), *out = part_of(v, i, result, k, i->n_operands);
        if (gathers) require_multiple(v, i, in, out, d, devices);
        else require_multiple(v, i, out, in, d, devices);
    }
}

/* (operands, results): each a tuple if they are several. */
static void verify_all_gather_start(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->shape;
    if (s->type != SC_TUPLE || s->n_elements < 2) hlo_invalid(v, i, "the result has shape %s, (operands, results) expected", hlo_short_shape(v, s));
    for (uint32_t k = 0; k < i->n_operands; k++)
        hlo_require_shape(v, i, hlo_operand_name(v, k), i->operands[k]->shape, part_of(v, i, s->elements[0], k, i->n_operands));
    verify_gathered(v, i, s->elements[1], true);
}

/* With dimensions= the operand is cut, otherwise it comes in pieces of one shape. */
static void verify_all_to_all(HloVerifier *v, HloInstruction *i)
{
    const HloShape *first = hlo_array_operand(v, i, 0);
    int64_t devices = hlo_group_size(v, i, true);
    if (i->dimensions) {
        int64_t d = hlo_require_dimension(v, i, first->rank);
        if (devices && first->dims[d] % devices)
            hlo_invalid(v, i, "dimension %lld of %s cannot be split over %lld devices", (long long)d, hlo_short_shape(v, first), (long long)devices);
    }
    for (uint32_t k = 1; k < i->n_operands; k++) hlo_require_shape(v, i, hlo_operand_name(v, k), i->operands[k]->shape, first);
    set_result_like_operands(v, i, i->n_operands);
}

/* slice_sizes: of operand 0 into operand 1, at the places that the others tell. */
static void verify_collective_permute(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 1, UINT32_MAX);
    hlo_require_device_pairs(v, i);
    if (!hlo_attribute(v->scratch, i, "slice_sizes")) {
        set_result_like_operands(v, i, i->n_operands);
        return;
    }
    hlo_require_count(v, i, 4, 4);
    hlo_set_result_shape(v, i, i->operands[1]->shape);
}

static void verify_collective(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 1, UINT32_MAX);
    switch (i->opcode) {
    case HLO_ALL_REDUCE: case HLO_ALL_REDUCE_START:
        require_reducer(v, i);
        (void)hlo_group_size(v, i, false);
        set_result_like_operands(v, i, i->n_operands);
        break;
    case HLO_ALL_GATHER: case HLO_REDUCE_SCATTER:
        hlo_require_written_shape(v, i);
        if (i->opcode == HLO_REDUCE_SCATTER) require_reducer(v, i);
        verify_gathered(v, i, i->shape, i->opcode == HLO_ALL_GATHER);
        break;
    case HLO_ALL_GATHER_START:
        hlo_require_written_shape(v, i);
        verify_all_gather_start(v, i);
        break;
    case HLO_ALL_TO_ALL: verify_all_to_all(v, i); break;
    case HLO_RAGGED_ALL_TO_ALL: /* input, output, and offsets and sizes of both */
        hlo_require_count(v, i, 6, 6);
        for (uint32_t k = 2; k < 6; k++) hlo_require_class(v, i, k, "IU");
        hlo_set_result_shape(v, i, i->operands[1]->shape);
        break;
    default: { /* collective-broadcast; a dynamic root is the last operand */
        uint32_t roots = hlo_attribute_true(v->scratch, i, "has_dynamic_root");
        hlo_require_count(v, i, 1 + roots, UINT32_MAX);
        set_result_like_operands(v, i, i->n_operands - roots);
        break;
    }
    }
}

/* (what is on its way, .., token) */
static void require_travelling(HloVerifier *v, const HloInstruction *i, const HloShape *s)
{
    bool fits = s->type == SC_TUPLE && s->n_elements >= 2 && s->elements[s->n_elements - 1]->type == SC_TOKEN;
    if (!fits) hlo_invalid(v, i, "the result has shape %s, (value, .., token[]) expected", hlo_short_shape(v, s));
}

static void verify_send(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 2, 2);
    require_token(v, i, 1);
    if (i->shape) {
        require_travelling(v, i, i->shape);
        hlo_require_shape(v, i, "element 0 of the result", i->shape->elements[0], i->operands[0]->shape);
    } else {
        const HloShape *parts[3] = {i->operands[0]->shape, hlo_make_array(v->arena, SC_U32, 0, NULL), token(v)};
        hlo_set_result_parts(v, i, 3, parts);
    }
}

static void verify_recv(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, i->opcode == HLO_INFEED ? 0 : 1, 1);
    if (i->n_operands) require_token(v, i, 0);
    hlo_require_written_shape(v, i);
    require_travelling(v, i, i->shape);
}

static void verify_recv_done(HloVerifier *v, HloInstruction *i)
{
    const HloShape *parts[2] = {hlo_operand_element(v, i, 0), token(v)};
    hlo_set_result_parts(v, i, 2, parts);
}

/* What is sent, then a token. */
static void verify_outfeed(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 1, 2);
    if (i->n_operands == 2) require_token(v, i, 1);
    hlo_set_result_shape(v, i, token(v));
}

bool hlo_verify_remote(HloVerifier *v, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_ALL_REDUCE: case HLO_ALL_REDUCE_START: case HLO_ALL_GATHER: case HLO_ALL_GATHER_START: case HLO_REDUCE_SCATTER:
    case HLO_ALL_TO_ALL: case HLO_RAGGED_ALL_TO_ALL: case HLO_COLLECTIVE_BROADCAST:
        verify_collective(v, i);
        return true;
    case HLO_ALL_REDUCE_DONE: hlo_set_result_shape(v, i, i->operands[0]->shape); return true;
    case HLO_ALL_GATHER_DONE: case HLO_COLLECTIVE_PERMUTE_DONE: hlo_set_result_shape(v, i, hlo_operand_element(v, i, 1)); return true;
    case HLO_COLLECTIVE_PERMUTE: verify_collective_permute(v, i); return true;
    case HLO_COLLECTIVE_PERMUTE_START:
        hlo_require_written_shape(v, i);
        hlo_require_device_pairs(v, i);
        if (i->shape->type != SC_TUPLE || i->shape->n_elements < 2)
            hlo_invalid(v, i, "the result has shape %s, (operand, result, contexts ..) expected", hlo_short_shape(v, i->shape));
        return true;
    case HLO_SEND: verify_send(v, i); return true;
    case HLO_RECV: case HLO_INFEED: verify_recv(v, i); return true;
    case HLO_RECV_DONE: verify_recv_done(v, i); return true;
    case HLO_SEND_DONE:
        (void)hlo_operand_element(v, i, 0);
        hlo_set_result_shape(v, i, token(v));
        return true;
    case HLO_OUTFEED: verify_outfeed(v, i); return true;
    case HLO_AFTER_ALL: hlo_set_result_shape(v, i, token(v)); return true; /* of tokens, or of whatever must have happened */
    case HLO_ADD_DEPENDENCY: /* operand 1 is a token, or whatever must have happened */
        hlo_set_result_shape(v, i, i->operands[0]->shape);
        return true;
    case HLO_PARTITION_ID: case HLO_REPLICA_ID: hlo_set_result(v, i, SC_U32, 0, NULL); return true;
    default: return false;
    }
}
