/* verify_moves: operations that move, repeat or gather elements, and reductions.
 *
 * Needs: the helpers of verify.c. Leaves: nothing, or a wbb_fail.
 *
 * Each function works out the dimensions that the result must have and compares; sums and products of sizes are exact (128 bits).
 *
 *     slice(f32[8]), slice={[0:9]}    error: slice: dimension 0 is sliced [0:9:1], but has size 8
 */
#include "hlo/inner.h"

#include <string.h>

static const HloShape *array(WbbCx *cx, const HloInstruction *i, uint32_t k)
{
    hlo_want_operands(cx, i, k + 1);
    const HloShape *s = i->operands[k]->shape;
    if (s->type == SC_TUPLE) hlo_bad(cx, i, "operand %u is a tuple, an array expected", k);
    return s;
}

static void want_result_type(WbbCx *cx, const HloInstruction *i, ScType type)
{
    if (i->shape->type == type) return;
    hlo_bad(cx, i, "the result has shape %s, element type %s expected", hlo_shape_text(cx, i->shape),
            sc_type_info[type].hlo);
}

/* The result has these dimensions and this type. */
static void want_result(WbbCx *cx, const HloInstruction *i, ScType type, uint32_t rank, const WbbI128 *dims)
{
    if (i->shape->type == SC_TUPLE) hlo_bad(cx, i, "the result is a tuple, an array expected");
    want_result_type(cx, i, type);
    bool right = i->shape->rank == rank;
    for (uint32_t d = 0; right && d < rank; d++) right = i->shape->dims[d] == dims[d];
    if (right) return;
    WbbBuf text = wbb_buf(cx->arena);
    for (uint32_t d = 0; d < rank; d++) {
        if (d) wbb_put(&text, ",");
        wbb_put_i128(&text, dims[d]);
    }
    hlo_bad(cx, i, "the result has shape %s, %s[%s] expected", hlo_shape_text(cx, i->shape), sc_type_info[type].hlo,
            text.text);
}

/* dimensions={..}: each in [0, rank), none twice. Bit d of the answer: d is among them. */
static uint64_t want_dimensions(WbbCx *cx, const HloInstruction *i, const char *name, const int64_t *list, uint32_t n, uint32_t rank)
{
    uint64_t seen = 0;
    for (uint32_t k = 0; k < n; k++) {
        if (list[k] < 0 || list[k] >= rank) hlo_bad(cx, i, "%s names dimension %lld of %u", name, (long long)list[k], rank);
        if (seen >> list[k] & 1) hlo_bad(cx, i, "%s names dimension %lld twice", name, (long long)list[k]);
        seen |= UINT64_C(1) << list[k];
    }
    return seen;
}

/* An attribute has one entry for each dimension of the operand. */
static void want_rank(WbbCx *cx, const HloInstruction *i, const char *name, uint32_t n, const HloShape *s)
{
    if (n != s->rank) hlo_bad(cx, i, "%s names %u dimensions, the operand %s has %u", name, n, hlo_shape_text(cx, s), s->rank);
}

static void verify_broadcast(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    want_rank(cx, i, "dimensions", i->n_dimensions, s);
    want_result_type(cx, i, s->type);
    want_dimensions(cx, i, "dimensions", i->dimensions, i->n_dimensions, i->shape->rank);
    for (uint32_t d = 0; d < s->rank; d++)
        if (s->dims[d] != i->shape->dims[i->dimensions[d]])
            hlo_bad(cx, i, "dimension %u of the operand %s becomes dimension %lld of the result %s", d, hlo_shape_text(cx, s),
                    (long long)i->dimensions[d], hlo_shape_text(cx, i->shape));
}

static void verify_iota(WbbCx *cx, const HloInstruction *i)
{
    if (i->shape->type == SC_TUPLE || !strchr("IUFC", sc_type_info[i->shape->type].cls))
        hlo_bad(cx, i, "the result has shape %s, numbers expected", hlo_shape_text(cx, i->shape));
    if (i->number < 0 || i->number >= i->shape->rank)
        hlo_bad(cx, i, "iota_dimension is %lld, the result %s has %u dimensions", (long long)i->number,
                hlo_shape_text(cx, i->shape), i->shape->rank);
}

static void verify_reshape(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    if (i->shape->type == SC_TUPLE) hlo_bad(cx, i, "the result is a tuple, an array expected");
    want_result_type(cx, i, s->type);
    if (hlo_elements(s) != hlo_elements(i->shape))
        hlo_bad(cx, i, "%lld elements in %s, %lld in the result %s", (long long)hlo_elements(s), hlo_shape_text(cx, s),
                (long long)hlo_elements(i->shape), hlo_shape_text(cx, i->shape));
}

/* A bitcast keeps the bytes, whatever it calls them. Types under 8 bits may be packed or not: only their count is judged. */
static void verify_bitcast(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = i->operands[0]->shape;
    if (s->type == SC_TUPLE || i->shape->type == SC_TUPLE) {
        hlo_want_shape(cx, i, "the result", i->shape, s);
        return;
    }
    uint32_t from = sc_type_info[s->type].bits, to = sc_type_info[i->shape->type].bits;
    bool packed = from != to && (from < 8 || to < 8);
    if (!packed && (WbbI128)hlo_elements(s) * from != (WbbI128)hlo_elements(i->shape) * to)
        hlo_bad(cx, i, "%s and the result %s differ in size", hlo_shape_text(cx, s), hlo_shape_text(cx, i->shape));
}

/* bitcast-convert between types of different width: the wider has one dimension less. */
static void verify_bitcast_convert(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0), *t = i->shape;
    if (t->type == SC_TUPLE) hlo_bad(cx, i, "the result is a tuple, an array expected");
    uint32_t from = sc_type_info[s->type].bits, to = sc_type_info[t->type].bits;
    if (from == to) {
        hlo_want_dims(cx, i, "the result", t, s);
        return;
    }
    const HloShape *wide = from > to ? s : t, *narrow = from > to ? t : s;
    uint32_t many = WBB_MIN(from, to), ratio = many ? WBB_MAX(from, to) / many : 0;
    bool fits = narrow->rank == wide->rank + 1 && memcmp(narrow->dims, wide->dims, wide->rank * sizeof(int64_t)) == 0 &&
                narrow->dims[wide->rank] == ratio;
    if (!fits) hlo_bad(cx, i, "%s cannot be read as %s", hlo_shape_text(cx, s), hlo_shape_text(cx, t));
}

static void verify_slice(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    want_rank(cx, i, "slice", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        HloSlice x = i->slices[d];
        if (x.start < 0 || x.limit < x.start || x.limit > s->dims[d] || x.stride < 1)
            hlo_bad(cx, i, "dimension %u is sliced [%lld:%lld:%lld], but has size %lld", d, (long long)x.start, (long long)x.limit,
                    (long long)x.stride, (long long)s->dims[d]);
        dims[d] = ((WbbI128)x.limit - x.start + x.stride - 1) / x.stride;
    }
    want_result(cx, i, s->type, s->rank, dims);
}

static void verify_transpose(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    want_rank(cx, i, "dimensions", i->n_dimensions, s);
    want_dimensions(cx, i, "dimensions", i->dimensions, i->n_dimensions, s->rank);
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[i->dimensions[d]];
    want_result(cx, i, s->type, s->rank, dims);
}

static void verify_concatenate(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    if (i->n_dimensions != 1) hlo_bad(cx, i, "dimensions names %u dimensions, one expected", i->n_dimensions);
    want_dimensions(cx, i, "dimensions", i->dimensions, 1, s->rank);
    int64_t along = i->dimensions[0];
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[d];
    for (uint32_t k = 1; k < i->n_operands; k++) {
        const HloShape *x = array(cx, i, k);
        bool fits = x->type == s->type && x->rank == s->rank;
        for (uint32_t d = 0; fits && d < s->rank; d++) fits = d == along || x->dims[d] == s->dims[d];
        if (!fits)
            hlo_bad(cx, i, "operand %u has shape %s, which does not join %s along dimension %lld", k, hlo_shape_text(cx, x),
                    hlo_shape_text(cx, s), (long long)along);
        dims[along] += x->dims[along];
    }
    want_result(cx, i, s->type, s->rank, dims);
}

static void want_scalar(WbbCx *cx, const HloInstruction *i, uint32_t k, ScType type)
{
    const HloShape *s = array(cx, i, k);
    if (s->rank || s->type != type)
        hlo_bad(cx, i, "operand %u has shape %s, %s[] expected", k, hlo_shape_text(cx, s), sc_type_info[type].hlo);
}

/* XLA lets padding and updates be floats of another precision than the operand; the result has the operand's. */
static bool joins(ScType type, ScType into) { return type == into || (sc_is_float(type) && sc_is_float(into)); }

static void verify_pad(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    WbbI128 dims[HLO_RANK_LIMIT];
    want_scalar(cx, i, 1, joins(array(cx, i, 1)->type, s->type) ? array(cx, i, 1)->type : s->type);
    want_rank(cx, i, "padding", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloPadding *p = &i->paddings[d];
        if (p->interior < 0) hlo_bad(cx, i, "the interior padding of dimension %u is %lld", d, (long long)p->interior);
        dims[d] = (WbbI128)s->dims[d] + p->low + p->high;
        if (s->dims[d] > 1) dims[d] += (WbbI128)(s->dims[d] - 1) * p->interior;
        dims[d] = WBB_MAX(dims[d], 0);
    }
    want_result(cx, i, s->type, s->rank, dims);
}

/* Start indices: one integer scalar a dimension from operand `first` on, or a vector of them. */
static void want_starts(WbbCx *cx, const HloInstruction *i, uint32_t first, uint32_t rank)
{
    uint32_t n = i->n_operands - first;
    bool vector = n == 1 && i->operands[first]->shape->rank == 1;
    if (vector ? i->operands[first]->shape->dims[0] != rank : n != rank)
        hlo_bad(cx, i, "%u start indices found, %u expected", n, rank);
    for (uint32_t k = first; k < i->n_operands; k++) {
        const HloShape *s = array(cx, i, k);
        if (!sc_is_int(s->type) || (s->rank && !vector))
            hlo_bad(cx, i, "operand %u has shape %s, an integer scalar expected", k, hlo_shape_text(cx, s));
    }
}

static void verify_dynamic_slice(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    uint32_t n = 0;
    const int64_t *sizes = hlo_attribute_ints(cx->arena, i, "dynamic_slice_sizes", &n);
    if (!sizes) hlo_bad(cx, i, "the attribute dynamic_slice_sizes= is missing");
    want_rank(cx, i, "dynamic_slice_sizes", n, s);
    WbbI128 dims[HLO_RANK_LIMIT];
    want_starts(cx, i, 1, s->rank);
    for (uint32_t d = 0; d < n; d++) {
        if (sizes[d] < 0 || sizes[d] > s->dims[d])
            hlo_bad(cx, i, "size %lld of dimension %u, which has %lld", (long long)sizes[d], d, (long long)s->dims[d]);
        dims[d] = sizes[d];
    }
    want_result(cx, i, s->type, n, dims);
}

static void verify_dynamic_update_slice(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0), *update = array(cx, i, 1);
    bool fits = joins(update->type, s->type) && update->rank == s->rank;
    for (uint32_t d = 0; fits && d < s->rank; d++) fits = update->dims[d] <= s->dims[d];
    if (!fits)
        hlo_bad(cx, i, "operand 1 has shape %s, which does not fit into %s", hlo_shape_text(cx, update), hlo_shape_text(cx, s));
    want_starts(cx, i, 2, s->rank);
    hlo_want_shape(cx, i, "the result", i->shape, s);
}

/* The dimensions of s that are not in `taken`. */
static uint32_t remaining(const HloShape *s, uint64_t taken, WbbI128 *dims)
{
    uint32_t rank = 0;
    for (uint32_t d = 0; d < s->rank; d++)
        if (!(taken >> d & 1)) dims[rank++] = s->dims[d];
    return rank;
}

/* n inputs of the dimensions of the first and n initial values; the computation takes and returns scalars; each result has these
 * dimensions and the type of its initial value. */
static void verify_reduction(WbbCx *cx, const HloInstruction *i, uint32_t rank, const WbbI128 *dims)
{
    uint32_t n = i->n_operands / 2;
    if (i->n_called != 1) hlo_bad(cx, i, "%u computations are named, one expected", i->n_called);
    const HloComputation *c = i->called[0];
    if (c->n_parameters != 2 * n) hlo_bad(cx, i, "'%s' has %u parameters, %u expected", c->name, c->n_parameters, 2 * n);
    if (n > 1 && (i->shape->type != SC_TUPLE || i->shape->n_elements != n))
        hlo_bad(cx, i, "the result has shape %s, a tuple of %u expected", hlo_shape_text(cx, i->shape), n);
    for (uint32_t k = 0; k < n; k++) {
        ScType type = array(cx, i, n + k)->type;
        hlo_want_dims(cx, i, "an input", array(cx, i, k), array(cx, i, 0));
        want_scalar(cx, i, n + k, type);
        HloInstruction part = *i;
        if (n > 1) part.shape = i->shape->elements[k];
        want_result(cx, &part, type, rank, dims);
        for (uint32_t p = k; p < 2 * n; p += n)
            if (c->parameters[p]->shape->type == SC_TUPLE || c->parameters[p]->shape->rank)
                hlo_bad(cx, i, "parameter %u of '%s' has shape %s, a scalar expected", p, c->name,
                        hlo_shape_text(cx, c->parameters[p]->shape));
    }
}

static const HloShape *first_input(WbbCx *cx, const HloInstruction *i)
{
    if (i->n_operands == 0 || i->n_operands % 2)
        hlo_bad(cx, i, "%u operands found, as many inputs as initial values expected", i->n_operands);
    return array(cx, i, 0);
}

static void verify_reduce(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = first_input(cx, i);
    uint64_t reduced = want_dimensions(cx, i, "dimensions", i->dimensions, i->n_dimensions, s->rank);
    WbbI128 dims[HLO_RANK_LIMIT];
    uint32_t rank = remaining(s, reduced, dims);
    verify_reduction(cx, i, rank, dims);
}

/* How often a window fits: dilation puts gaps between elements, padding goes around what that gives. */
static void verify_reduce_window(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = first_input(cx, i);
    WbbI128 dims[HLO_RANK_LIMIT];
    want_rank(cx, i, "window", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->size < 1 || w->stride < 1 || w->lhs_dilate < 1 || w->rhs_dilate < 1)
            hlo_bad(cx, i, "size, stride and dilation of a window are at least 1: dimension %u", d);
        WbbI128 base = s->dims[d] ? (WbbI128)(s->dims[d] - 1) * w->lhs_dilate + 1 : 0;
        WbbI128 window = (WbbI128)(w->size - 1) * w->rhs_dilate + 1;
        base += (WbbI128)w->low + w->high;
        dims[d] = base < window ? 0 : (base - window) / w->stride + 1;
    }
    verify_reduction(cx, i, s->rank, dims);
}

typedef struct { const int64_t *items; uint32_t n; } List;

static List attribute(WbbCx *cx, const HloInstruction *i, const char *name)
{
    List l = {0};
    l.items = hlo_attribute_ints(cx->arena, i, name, &l.n);
    return l;
}

/* Result: the batch dimensions of the indices, with the slice's dimensions that stay set in at offset_dims. */
static void verify_gather(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0), *indices = array(cx, i, 1);
    List offset = attribute(cx, i, "offset_dims"), collapsed = attribute(cx, i, "collapsed_slice_dims");
    List batching = attribute(cx, i, "operand_batching_dims"), starts = attribute(cx, i, "start_index_map");
    List sizes = attribute(cx, i, "slice_sizes"), vector = attribute(cx, i, "index_vector_dim");
    if (!offset.items || !starts.items || !sizes.items || vector.n != 1)
        hlo_bad(cx, i, "offset_dims, start_index_map, slice_sizes and index_vector_dim are needed");
    if (!sc_is_int(indices->type)) hlo_bad(cx, i, "operand 1 has shape %s, integers expected", hlo_shape_text(cx, indices));
    if (vector.items[0] < 0 || vector.items[0] > indices->rank)
        hlo_bad(cx, i, "index_vector_dim is %lld", (long long)vector.items[0]);
    want_rank(cx, i, "slice_sizes", sizes.n, s);
    uint64_t gone = want_dimensions(cx, i, "collapsed_slice_dims", collapsed.items, collapsed.n, s->rank) |
                    want_dimensions(cx, i, "operand_batching_dims", batching.items, batching.n, s->rank);
    want_dimensions(cx, i, "start_index_map", starts.items, starts.n, s->rank);
    int64_t depth = vector.items[0] == indices->rank ? 1 : indices->dims[vector.items[0]];
    if (depth != starts.n) hlo_bad(cx, i, "start_index_map names %u dimensions, an index has %lld", starts.n, (long long)depth);
    WbbI128 kept[HLO_RANK_LIMIT], batch[HLO_RANK_LIMIT], dims[HLO_RANK_LIMIT];
    uint32_t n_kept = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        if (sizes.items[d] < 0 || sizes.items[d] > s->dims[d])
            hlo_bad(cx, i, "slice size %lld of dimension %u, which has %lld", (long long)sizes.items[d], d, (long long)s->dims[d]);
        if ((gone >> d & 1) && sizes.items[d] > 1)
            hlo_bad(cx, i, "dimension %u is dropped with slice size %lld", d, (long long)sizes.items[d]);
        if (!(gone >> d & 1)) kept[n_kept++] = sizes.items[d];
    }
    uint64_t index_bit = vector.items[0] < indices->rank ? UINT64_C(1) << vector.items[0] : 0;
    uint32_t n_batch = remaining(indices, index_bit, batch), rank = n_batch + n_kept, k = 0, b = 0;
    if (offset.n != n_kept) hlo_bad(cx, i, "offset_dims names %u dimensions, %u stay of a slice", offset.n, n_kept);
    if (rank > HLO_RANK_LIMIT) hlo_bad(cx, i, "the result would have %u dimensions", rank);
    uint64_t at = want_dimensions(cx, i, "offset_dims", offset.items, offset.n, rank);
    for (uint32_t d = 0; d < rank; d++) dims[d] = at >> d & 1 ? kept[k++] : batch[b++];
    want_result(cx, i, s->type, rank, dims);
}

static void verify_reverse(WbbCx *cx, const HloInstruction *i)
{
    const HloShape *s = array(cx, i, 0);
    want_dimensions(cx, i, "dimensions", i->dimensions, i->n_dimensions, s->rank);
    hlo_want_shape(cx, i, "the result", i->shape, s);
}

bool hlo_verify_move(WbbCx *cx, const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_BROADCAST: verify_broadcast(cx, i); return true;
    case HLO_IOTA: verify_iota(cx, i); return true;
    case HLO_RESHAPE: verify_reshape(cx, i); return true;
    case HLO_BITCAST: verify_bitcast(cx, i); return true;
    case HLO_BITCAST_CONVERT: verify_bitcast_convert(cx, i); return true;
    case HLO_SLICE: verify_slice(cx, i); return true;
    case HLO_REVERSE: verify_reverse(cx, i); return true;
    case HLO_TRANSPOSE: verify_transpose(cx, i); return true;
    case HLO_CONCATENATE: verify_concatenate(cx, i); return true;
    case HLO_PAD: verify_pad(cx, i); return true;
    case HLO_DYNAMIC_SLICE: verify_dynamic_slice(cx, i); return true;
    case HLO_DYNAMIC_UPDATE_SLICE: verify_dynamic_update_slice(cx, i); return true;
    case HLO_REDUCE: verify_reduce(cx, i); return true;
    case HLO_REDUCE_WINDOW: verify_reduce_window(cx, i); return true;
    case HLO_GATHER: verify_gather(cx, i); return true;
    default: return false;
    }
}
