/* verify_remote: operations that communicate with other devices or the host, and the tokens that order them.
 *
 * Needs: the checks of verify_require.c. Leaves: the result's shape, set or compared.
 *
 * A dimension that is gathered from devices is a multiple of each device's part. If the text says how many devices a
 * group has, and does not count partitions too, it is exactly that multiple.
 *
 *     f32[16] all-gather(f32[6] p), dimensions={0}     dimension 0 of f32[16] is not a multiple of that of f32[6]
 */
#include "hlo/inner.h"

#include <string.h>

static void require_token(HloVerifier *v, const HloInstruction *i, uint32_t k)
{
    hlo_require_type(v, i, hlo_operand_name(v, k), i->operands[k]->shape, SC_TOKEN);
}

static const HloShape *token(HloVerifier *v) { return hlo_make_array(v->arena, SC_TOKEN, 0, NULL); }

/* Element k of a result that has n parts: a tuple, or for n = 1 the shape itself. */
static const HloShape *part_of(HloVerifier *v, const HloInstruction *i, const HloShape *s, uint32_t k, uint32_t n)
{
    if (n == 1 && s->type != SC_TUPLE) return s;
    if (s->type != SC_TUPLE || s->n_elements != n)
        hlo_invalid(v, i, "the result has shape %s, one for each of %u operands expected", hlo_short_shape(v, s), n);
    return s->elements[k];
}

/* The result has the shapes of the first n operands. */
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

/* The computation combines two scalars of operand 0's type. */
static void require_reducer(HloVerifier *v, const HloInstruction *i)
{
    const HloShape *first = hlo_array_operand(v, i, 0);
    hlo_require_combiner(v, i, hlo_only_computation(v, i), 1, &first);
}

/* The shapes are equal except in dimension d, where the large one is a multiple of the small one. */
static void require_multiple(HloVerifier *v, const HloInstruction *i, const HloShape *small, const HloShape *large,
                             int64_t d, int64_t devices)
{
    bool fits = small->type == large->type && small->type != SC_TUPLE && small->rank == large->rank;
    for (uint32_t k = 0; fits && k < small->rank; k++) fits = k == d || small->dims[k] == large->dims[k];
    if (!fits)
        hlo_invalid(v, i, "%s and %s must differ only in dimension %lld", hlo_short_shape(v, small),
                    hlo_short_shape(v, large), (long long)d);
    if (small->dims[d] ? large->dims[d] % small->dims[d] != 0 : large->dims[d] != 0)
        hlo_invalid(v, i, "dimension %lld of %s is not a multiple of that of %s", (long long)d,
                    hlo_short_shape(v, large), hlo_short_shape(v, small));
    if (devices && (WbbI128)small->dims[d] * devices != large->dims[d])
        hlo_invalid(v, i, "dimension %lld of %s is not that of %s times %lld devices", (long long)d,
                    hlo_short_shape(v, large), hlo_short_shape(v, small), (long long)devices);
}

/* The devices of a group, 0 if unknown: with a channel and without use_global_device_ids every partition of each
 * replica takes part, and the text does not say how many partitions there are. */
static int64_t devices_of(HloVerifier *v, const HloInstruction *i)
{
    int64_t size = hlo_group_size(v, i, true);
    bool partitions = hlo_attribute(v->scratch, i, "channel_id") &&
                      !hlo_attribute_true(v->scratch, i, "use_global_device_ids");
    return partitions ? 0 : size;
}

/* all-gather joins the devices' operands into `result`; reduce-scatter splits the operands over the devices. */
static void verify_gathered(HloVerifier *v, HloInstruction *i, const HloShape *result, bool gathers)
{
    int64_t d = hlo_require_dimension(v, i, hlo_array_operand(v, i, 0)->rank), devices = devices_of(v, i);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *in = hlo_array_operand(v, i, k), *out = part_of(v, i, result, k, i->n_operands);
        if (gathers) require_multiple(v, i, in, out, d, devices);
        else require_multiple(v, i, out, in, d, devices);
    }
}

/* The result is (operands, results), each a tuple if there are several. */
static void verify_all_gather_start(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->shape;
    if (s->type != SC_TUPLE || s->n_elements < 2)
        hlo_invalid(v, i, "the result has shape %s, (operands, results) expected", hlo_short_shape(v, s));
    for (uint32_t k = 0; k < i->n_operands; k++)
        hlo_require_shape(v, i, hlo_operand_name(v, k), i->operands[k]->shape,
                          part_of(v, i, s->elements[0], k, i->n_operands));
    verify_gathered(v, i, s->elements[1], true);
}

/* With dimensions= the operand is split; without, the operands are the pieces. */
static void verify_all_to_all(HloVerifier *v, HloInstruction *i)
{
    const HloShape *first = hlo_array_operand(v, i, 0);
    int64_t devices = hlo_group_size(v, i, true);
    if (i->dimensions) {
        int64_t d = hlo_require_dimension(v, i, first->rank);
        if (devices && first->dims[d] % devices)
            hlo_invalid(v, i, "dimension %lld of %s cannot be split over %lld devices", (long long)d,
                        hlo_short_shape(v, first), (long long)devices);
    }
    for (uint32_t k = 1; k < i->n_operands; k++)
        hlo_require_shape(v, i, hlo_operand_name(v, k), i->operands[k]->shape, first);
    set_result_like_operands(v, i, i->n_operands);
}

/* With slice_sizes= a slice of operand 0 goes into operand 1, at the start indices that the other operands give. */
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
    case HLO_RAGGED_ALL_TO_ALL: /* input, output, then offsets and sizes of both */
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

/* (value, .., token): the state of an operation under way. */
static void require_pending(HloVerifier *v, const HloInstruction *i, const HloShape *s)
{
    bool fits = s->type == SC_TUPLE && s->n_elements >= 2 && s->elements[s->n_elements - 1]->type == SC_TOKEN;
    if (!fits) hlo_invalid(v, i, "the result has shape %s, (value, .., token[]) expected", hlo_short_shape(v, s));
}

static void verify_send(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 2, 2);
    require_token(v, i, 1);
    if (i->shape) {
        require_pending(v, i, i->shape);
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
    require_pending(v, i, i->shape);
}

static void verify_recv_done(HloVerifier *v, HloInstruction *i)
{
    const HloShape *parts[2] = {hlo_operand_element(v, i, 0), token(v)};
    hlo_set_result_parts(v, i, 2, parts);
}

/* Operands: the value, and optionally a token. */
static void verify_outfeed(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 1, 2);
    if (i->n_operands == 2) require_token(v, i, 1);
    hlo_set_result_shape(v, i, token(v));
}

bool hlo_verify_remote(HloVerifier *v, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_ALL_REDUCE: case HLO_ALL_REDUCE_START: case HLO_ALL_GATHER: case HLO_ALL_GATHER_START:
    case HLO_REDUCE_SCATTER: case HLO_ALL_TO_ALL: case HLO_RAGGED_ALL_TO_ALL: case HLO_COLLECTIVE_BROADCAST:
        verify_collective(v, i);
        return true;
    case HLO_ALL_REDUCE_DONE: hlo_set_result_shape(v, i, i->operands[0]->shape); return true;
    case HLO_ALL_GATHER_DONE: case HLO_COLLECTIVE_PERMUTE_DONE:
        hlo_set_result_shape(v, i, hlo_operand_element(v, i, 1));
        return true;
    case HLO_COLLECTIVE_PERMUTE: verify_collective_permute(v, i); return true;
    case HLO_COLLECTIVE_PERMUTE_START:
        hlo_require_written_shape(v, i);
        hlo_require_device_pairs(v, i);
        if (i->shape->type != SC_TUPLE || i->shape->n_elements < 2)
            hlo_invalid(v, i, "the result has shape %s, (operand, result, contexts ..) expected",
                        hlo_short_shape(v, i->shape));
        return true;
    case HLO_SEND: verify_send(v, i); return true;
    case HLO_RECV: case HLO_INFEED: verify_recv(v, i); return true;
    case HLO_RECV_DONE: verify_recv_done(v, i); return true;
    case HLO_SEND_DONE:
        (void)hlo_operand_element(v, i, 0);
        hlo_set_result_shape(v, i, token(v));
        return true;
    case HLO_OUTFEED: verify_outfeed(v, i); return true;
    case HLO_AFTER_ALL: hlo_set_result_shape(v, i, token(v)); return true; /* operands: tokens or any values */
    case HLO_ADD_DEPENDENCY: /* operand 1 is a token or any value */
        hlo_set_result_shape(v, i, i->operands[0]->shape);
        return true;
    case HLO_PARTITION_ID: case HLO_REPLICA_ID: hlo_set_result(v, i, SC_U32, 0, NULL); return true;
    default: return false;
    }
}
