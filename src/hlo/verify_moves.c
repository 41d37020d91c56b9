/* verify_moves: operations that move or repeat elements to places that the text tells.
 *
 * Needs: the helpers of verify.c. Leaves: the result's shape, given or checked; or a wbb_fail.
 *
 * Each function works out the dimensions that the result must have; sums and products of sizes are exact (128 bits).
 *
 *     slice(f32[8]), slice={[0:9]}    error: slice: dimension 0 is sliced [0:9:1], but has size 8
 */
#include "hlo/inner.h"

#include <string.h>

static HloInts dimensions(const HloInstruction *i) { return (HloInts){i->dimensions, i->n_dimensions}; }

static void judge_broadcast(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    hlo_want_rank(j, i, "dimensions", i->n_dimensions, s);
    hlo_given(j, i);
    if (i->shape->type == SC_TUPLE) hlo_bad(j, i, "the result is a tuple, an array expected");
    hlo_want_type(j, i, "the result", i->shape, s->type);
    hlo_want_dimensions(j, i, "dimensions", dimensions(i), i->shape->rank);
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d] != i->shape->dims[i->dimensions[d]])
            hlo_bad(j, i, "dimension %u of the operand %s becomes dimension %lld of the result %s", d, hlo_brief(j, s),
                    (long long)i->dimensions[d], hlo_brief(j, i->shape));
}

static void judge_iota(HloJudge *j, HloInstruction *i)
{
    hlo_given(j, i);
    if (i->shape->type == SC_TUPLE || !strchr("IUFC", sc_type_info[i->shape->type].cls))
        hlo_bad(j, i, "the result has shape %s, numbers expected", hlo_brief(j, i->shape));
    if (i->number < 0 || i->number >= i->shape->rank)
        hlo_bad(j, i, "iota_dimension is %lld, the result %s has %u dimensions", (long long)i->number, hlo_brief(j, i->shape),
                i->shape->rank);
}

static void judge_reshape(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    hlo_given(j, i);
    if (i->shape->type == SC_TUPLE) hlo_bad(j, i, "the result is a tuple, an array expected");
    hlo_want_type(j, i, "the result", i->shape, s->type);
    if (hlo_elements(s) != hlo_elements(i->shape))
        hlo_bad(j, i, "%lld elements in %s, %lld in the result %s", (long long)hlo_elements(s), hlo_brief(j, s),
                (long long)hlo_elements(i->shape), hlo_brief(j, i->shape));
}

/* Operand 0 and one size for each dimension of the result. */
static void judge_dynamic_reshape(HloJudge *j, HloInstruction *i)
{
    judge_reshape(j, i);
    hlo_want_count(j, i, i->shape->rank + 1u, i->shape->rank + 1u);
    for (uint32_t k = 1; k < i->n_operands; k++) hlo_want_scalar(j, i, k, SC_I32);
}

/* A bitcast keeps the bytes, whatever it calls them. Types under 8 bits may be packed or not: only their count is judged. */
static void judge_bitcast(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    hlo_given(j, i);
    if (s->type == SC_TUPLE || i->shape->type == SC_TUPLE) {
        hlo_want_shape(j, i, "the result", i->shape, s);
        return;
    }
    uint32_t from = sc_type_info[s->type].bits, to = sc_type_info[i->shape->type].bits;
    bool packed = from != to && (from < 8 || to < 8);
    if (!packed && (WbbI128)hlo_elements(s) * from != (WbbI128)hlo_elements(i->shape) * to)
        hlo_bad(j, i, "%s and the result %s differ in size", hlo_brief(j, s), hlo_brief(j, i->shape));
}

static void judge_slice(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_want_rank(j, i, "slice", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        HloSlice x = i->slices[d];
        if (x.start < 0 || x.limit < x.start || x.limit > s->dims[d] || x.stride < 1)
            hlo_bad(j, i, "dimension %u is sliced [%lld:%lld:%lld], but has size %lld", d, (long long)x.start, (long long)x.limit,
                    (long long)x.stride, (long long)s->dims[d]);
        dims[d] = ((WbbI128)x.limit - x.start + x.stride - 1) / x.stride;
    }
    hlo_give(j, i, s->type, s->rank, dims);
}

static void judge_transpose(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_want_rank(j, i, "dimensions", i->n_dimensions, s);
    hlo_want_dimensions(j, i, "dimensions", dimensions(i), s->rank);
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[i->dimensions[d]];
    hlo_give(j, i, s->type, s->rank, dims);
}

static void judge_reverse(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    hlo_want_dimensions(j, i, "dimensions", dimensions(i), s->rank);
    hlo_give_shape(j, i, s);
}

static void judge_concatenate(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    int64_t along = hlo_want_dimension(j, i, s->rank);
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[d];
    for (uint32_t k = 1; k < i->n_operands; k++) {
        const HloShape *x = hlo_array(j, i, k);
        bool fits = x->type == s->type && x->rank == s->rank;
        for (uint32_t d = 0; fits && d < s->rank; d++) fits = d == along || x->dims[d] == s->dims[d];
        if (!fits)
            hlo_bad(j, i, "operand %u has shape %s, which does not join %s along dimension %lld", k, hlo_brief(j, x),
                    hlo_brief(j, s), (long long)along);
        dims[along] += x->dims[along];
    }
    hlo_give(j, i, s->type, s->rank, dims);
}

/* XLA lets padding and updates be floats of another precision than the operand; the result has the operand's. */
static void judge_pad(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_want_scalar(j, i, 1, hlo_joins(hlo_array(j, i, 1)->type, s->type) ? hlo_array(j, i, 1)->type : s->type);
    hlo_want_rank(j, i, "padding", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloPadding *p = &i->paddings[d];
        if (p->interior < 0) hlo_bad(j, i, "the interior padding of dimension %u is %lld", d, (long long)p->interior);
        dims[d] = (WbbI128)s->dims[d] + p->low + p->high;
        if (s->dims[d] > 1) dims[d] += (WbbI128)(s->dims[d] - 1) * p->interior;
        dims[d] = WBB_MAX(dims[d], 0);
    }
    hlo_give(j, i, s->type, s->rank, dims);
}

/* Start indices: one integer scalar a dimension from operand `first` on, or a vector of them. */
static void want_starts(HloJudge *j, const HloInstruction *i, uint32_t first, uint32_t rank)
{
    uint32_t n = i->n_operands - first;
    bool vector = n == 1 && i->operands[first]->shape->rank == 1;
    if (vector ? i->operands[first]->shape->dims[0] != rank : n != rank)
        hlo_bad(j, i, "%u start indices found, %u expected", n, rank);
    for (uint32_t k = first; k < i->n_operands; k++) {
        const HloShape *s = hlo_array(j, i, k);
        if (!sc_is_int(s->type) || (s->rank && !vector))
            hlo_bad(j, i, "operand %u has shape %s, an integer scalar expected", k, hlo_brief(j, s));
    }
}

static void judge_dynamic_slice(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    HloInts sizes;
    sizes.items = hlo_attribute_ints(j->scratch, i, "dynamic_slice_sizes", &sizes.n);
    if (!sizes.items) hlo_bad(j, i, "the attribute dynamic_slice_sizes= is missing%s", hlo_meant_attribute(j->scratch, i, "dynamic_slice_sizes"));
    hlo_want_rank(j, i, "dynamic_slice_sizes", sizes.n, s);
    WbbI128 dims[HLO_RANK_LIMIT];
    want_starts(j, i, 1, s->rank);
    for (uint32_t d = 0; d < sizes.n; d++) {
        if (sizes.items[d] < 0 || sizes.items[d] > s->dims[d])
            hlo_bad(j, i, "size %lld of dimension %u, which has %lld", (long long)sizes.items[d], d, (long long)s->dims[d]);
        dims[d] = sizes.items[d];
    }
    hlo_give(j, i, s->type, sizes.n, dims);
}

static void judge_dynamic_update_slice(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0), *update = hlo_array(j, i, 1);
    bool fits = hlo_joins(update->type, s->type) && update->rank == s->rank;
    for (uint32_t d = 0; fits && d < s->rank; d++) fits = update->dims[d] <= s->dims[d];
    if (!fits)
        hlo_bad(j, i, "operand 1 has shape %s, which does not fit into %s", hlo_brief(j, update), hlo_brief(j, s));
    want_starts(j, i, 2, s->rank);
    hlo_give_shape(j, i, s);
}

static void judge_dimension_size(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    hlo_want_dimension(j, i, s->rank);
    if (i->opcode == HLO_GET_DIMENSION_SIZE) {
        hlo_give(j, i, SC_I32, 0, NULL);
    } else {
        hlo_want_scalar(j, i, 1, SC_I32);
        hlo_give_shape(j, i, s);
    }
}

bool hlo_judge_move(HloJudge *j, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_BROADCAST: judge_broadcast(j, i); return true;
    case HLO_IOTA: judge_iota(j, i); return true;
    case HLO_RESHAPE: judge_reshape(j, i); return true;
    case HLO_DYNAMIC_RESHAPE: judge_dynamic_reshape(j, i); return true;
    case HLO_BITCAST: judge_bitcast(j, i); return true;
    case HLO_SLICE: judge_slice(j, i); return true;
    case HLO_REVERSE: judge_reverse(j, i); return true;
    case HLO_TRANSPOSE: judge_transpose(j, i); return true;
    case HLO_CONCATENATE: judge_concatenate(j, i); return true;
    case HLO_PAD: judge_pad(j, i); return true;
    case HLO_DYNAMIC_SLICE: judge_dynamic_slice(j, i); return true;
    case HLO_DYNAMIC_UPDATE_SLICE: judge_dynamic_update_slice(j, i); return true;
    case HLO_GET_DIMENSION_SIZE: case HLO_SET_DIMENSION_SIZE: judge_dimension_size(j, i); return true;
    default: return false;
    }
}
