/* verify_moves: operations that move or repeat elements.
 *
 * Needs: the checks of verify_require.c. Leaves: the result's shape, set or compared.
 *
 * Each function computes the dimensions of the result; sums and products of sizes are exact (128 bits).
 *
 *     slice(f32[8]), slice={[0:9]}    error: slice: dimension 0 is sliced [0:9:1], but has size 8
 */
#include "hlo/inner.h"

#include <string.h>

static HloInts dimensions(const HloInstruction *i) { return (HloInts){i->dimensions, i->n_dimensions}; }

static void verify_broadcast(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    hlo_require_rank(v, i, "dimensions", i->n_dimensions, s);
    hlo_require_written_shape(v, i);
    if (i->shape->type == SC_TUPLE) hlo_invalid(v, i, "the result is a tuple, an array expected");
    hlo_require_type(v, i, "the result", i->shape, s->type);
    hlo_require_dimensions(v, i, "dimensions", dimensions(i), i->shape->rank);
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d] != i->shape->dims[i->dimensions[d]])
            hlo_invalid(v, i, "dimension %u of the operand %s becomes dimension %lld of the result %s", d,
                        hlo_short_shape(v, s), (long long)i->dimensions[d], hlo_short_shape(v, i->shape));
}

static void verify_iota(HloVerifier *v, HloInstruction *i)
{
    hlo_require_written_shape(v, i);
    if (i->shape->type == SC_TUPLE || !strchr("IUFC", sc_type_info[i->shape->type].cls))
        hlo_invalid(v, i, "the result has shape %s, numbers expected", hlo_short_shape(v, i->shape));
    if (i->number < 0 || i->number >= i->shape->rank)
        hlo_invalid(v, i, "iota_dimension is %lld, the result %s has %u dimensions", (long long)i->number,
                    hlo_short_shape(v, i->shape), i->shape->rank);
}

static void verify_reshape(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    hlo_require_written_shape(v, i);
    if (i->shape->type == SC_TUPLE) hlo_invalid(v, i, "the result is a tuple, an array expected");
    hlo_require_type(v, i, "the result", i->shape, s->type);
    if (hlo_elements(s) != hlo_elements(i->shape))
        hlo_invalid(v, i, "%lld elements in %s, %lld in the result %s", (long long)hlo_elements(s),
                    hlo_short_shape(v, s), (long long)hlo_elements(i->shape), hlo_short_shape(v, i->shape));
}

/* Operands: the array, and a size for each dimension of the result. */
static void verify_dynamic_reshape(HloVerifier *v, HloInstruction *i)
{
    verify_reshape(v, i);
    hlo_require_count(v, i, i->shape->rank + 1u, i->shape->rank + 1u);
    for (uint32_t k = 1; k < i->n_operands; k++) hlo_require_scalar(v, i, k, SC_I32);
}

/* A bitcast keeps the bytes. With a type under 8 bits, which may be packed or not, the sizes are not compared. */
static void verify_bitcast(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    hlo_require_written_shape(v, i);
    if (s->type == SC_TUPLE || i->shape->type == SC_TUPLE) {
        hlo_require_shape(v, i, "the result", i->shape, s);
        return;
    }
    uint32_t from = sc_type_info[s->type].bits, to = sc_type_info[i->shape->type].bits;
    bool packed = from != to && (from < 8 || to < 8);
    if (!packed && (WbbI128)hlo_elements(s) * from != (WbbI128)hlo_elements(i->shape) * to)
        hlo_invalid(v, i, "%s and the result %s differ in size", hlo_short_shape(v, s), hlo_short_shape(v, i->shape));
}

static void verify_slice(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_require_rank(v, i, "slice", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        HloSlice x = i->slices[d];
        if (x.start < 0 || x.limit < x.start || x.limit > s->dims[d] || x.stride < 1)
            hlo_invalid(v, i, "dimension %u is sliced [%lld:%lld:%lld], but has size %lld", d, (long long)x.start,
                        (long long)x.limit, (long long)x.stride, (long long)s->dims[d]);
        dims[d] = ((WbbI128)x.limit - x.start + x.stride - 1) / x.stride;
    }
    hlo_set_result(v, i, s->type, s->rank, dims);
}

static void verify_transpose(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_require_rank(v, i, "dimensions", i->n_dimensions, s);
    hlo_require_dimensions(v, i, "dimensions", dimensions(i), s->rank);
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[i->dimensions[d]];
    hlo_set_result(v, i, s->type, s->rank, dims);
}

static void verify_reverse(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    hlo_require_dimensions(v, i, "dimensions", dimensions(i), s->rank);
    hlo_set_result_shape(v, i, s);
}

static void verify_concatenate(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    int64_t axis = hlo_require_dimension(v, i, s->rank);
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[d];
    for (uint32_t k = 1; k < i->n_operands; k++) {
        const HloShape *x = hlo_array_operand(v, i, k);
        bool fits = x->type == s->type && x->rank == s->rank;
        for (uint32_t d = 0; fits && d < s->rank; d++) fits = d == axis || x->dims[d] == s->dims[d];
        if (!fits)
            hlo_invalid(v, i, "operand %u has shape %s, which does not join %s along dimension %lld", k,
                        hlo_short_shape(v, x), hlo_short_shape(v, s), (long long)axis);
        dims[axis] += x->dims[axis];
    }
    hlo_set_result(v, i, s->type, s->rank, dims);
}

/* XLA allows a padding value of another float type than the operand's; the result has the operand's. */
static void verify_pad(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_require_scalar(
        v, i, 1,
        hlo_compatible_types(hlo_array_operand(v, i, 1)->type, s->type) ? hlo_array_operand(v, i, 1)->type : s->type);
    hlo_require_rank(v, i, "padding", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloPadding *p = &i->paddings[d];
        if (p->interior < 0)
            hlo_invalid(v, i, "the interior padding of dimension %u is %lld", d, (long long)p->interior);
        dims[d] = (WbbI128)s->dims[d] + p->low + p->high;
        if (s->dims[d] > 1) dims[d] += (WbbI128)(s->dims[d] - 1) * p->interior;
        dims[d] = WBB_MAX(dims[d], 0);
    }
    hlo_set_result(v, i, s->type, s->rank, dims);
}

/* Start indices: from operand `first` on an integer scalar for each dimension, or one vector of all. */
static void require_starts(HloVerifier *v, const HloInstruction *i, uint32_t first, uint32_t rank)
{
    uint32_t n = i->n_operands - first;
    bool vector = n == 1 && i->operands[first]->shape->rank == 1;
    if (vector ? i->operands[first]->shape->dims[0] != rank : n != rank)
        hlo_invalid(v, i, "%u start indices found, %u expected", n, rank);
    for (uint32_t k = first; k < i->n_operands; k++) {
        const HloShape *s = hlo_array_operand(v, i, k);
        if (!sc_is_int(s->type) || (s->rank && !vector))
            hlo_invalid(v, i, "operand %u has shape %s, an integer scalar expected", k, hlo_short_shape(v, s));
    }
}

static void verify_dynamic_slice(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    HloInts sizes;
    sizes.items = hlo_attribute_ints(v->scratch, i, "dynamic_slice_sizes", &sizes.n);
    if (!sizes.items)
        hlo_invalid(v, i, "the attribute dynamic_slice_sizes= is missing");
    hlo_require_rank(v, i, "dynamic_slice_sizes", sizes.n, s);
    WbbI128 dims[HLO_RANK_LIMIT];
    require_starts(v, i, 1, s->rank);
    for (uint32_t d = 0; d < sizes.n; d++) {
        if (sizes.items[d] < 0 || sizes.items[d] > s->dims[d])
            hlo_invalid(v, i, "size %lld of dimension %u, which has %lld", (long long)sizes.items[d], d,
                        (long long)s->dims[d]);
        dims[d] = sizes.items[d];
    }
    hlo_set_result(v, i, s->type, sizes.n, dims);
}

static void verify_dynamic_update_slice(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0), *update = hlo_array_operand(v, i, 1);
    bool fits = hlo_compatible_types(update->type, s->type) && update->rank == s->rank;
    for (uint32_t d = 0; fits && d < s->rank; d++) fits = update->dims[d] <= s->dims[d];
    if (!fits)
        hlo_invalid(v, i, "operand 1 has shape %s, which does not fit into %s", hlo_short_shape(v, update),
                    hlo_short_shape(v, s));
    require_starts(v, i, 2, s->rank);
    hlo_set_result_shape(v, i, s);
}

static void verify_dimension_size(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    hlo_require_dimension(v, i, s->rank);
    if (i->opcode == HLO_GET_DIMENSION_SIZE) {
        hlo_set_result(v, i, SC_I32, 0, NULL);
    } else {
        hlo_require_scalar(v, i, 1, SC_I32);
        hlo_set_result_shape(v, i, s);
    }
}

bool hlo_verify_move(HloVerifier *v, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_BROADCAST: verify_broadcast(v, i); return true;
    case HLO_IOTA: verify_iota(v, i); return true;
    case HLO_RESHAPE: verify_reshape(v, i); return true;
    case HLO_DYNAMIC_RESHAPE: verify_dynamic_reshape(v, i); return true;
    case HLO_BITCAST: verify_bitcast(v, i); return true;
    case HLO_SLICE: verify_slice(v, i); return true;
    case HLO_REVERSE: verify_reverse(v, i); return true;
    case HLO_TRANSPOSE: verify_transpose(v, i); return true;
    case HLO_CONCATENATE: verify_concatenate(v, i); return true;
    case HLO_PAD: verify_pad(v, i); return true;
    case HLO_DYNAMIC_SLICE: verify_dynamic_slice(v, i); return true;
    case HLO_DYNAMIC_UPDATE_SLICE: verify_dynamic_update_slice(v, i); return true;
    case HLO_GET_DIMENSION_SIZE: case HLO_SET_DIMENSION_SIZE: verify_dimension_size(v, i); return true;
    default: return false;
    }
}
