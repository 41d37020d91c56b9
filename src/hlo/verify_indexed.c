/* verify_indexed: gather and scatter, which index with an operand.
 *
 * Needs: the checks of verify_require.c and the dimensions of dims.c. Leaves: the result's shape, set or compared.
 *
 * An index array holds vectors along index_vector_dim; its other dimensions are the batch. A window (slice) of the
 * operand starts at each vector. XLA requires most lists of dimensions to ascend; a set of dimensions therefore
 * represents its list.
 *
 *     f32[5,8] gather(f32[100,8] x, s32[5,1] k), offset_dims={1}, collapsed_slice_dims={0}, start_index_map={0},
 *         index_vector_dim=1, slice_sizes={1,8}       batch [5], slice [1,8] less dimension 0: the result is [5,8]
 */
#include "hlo/inner.h"

#include <string.h>

static void require_attributes(HloVerifier *v, const HloInstruction *i, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n; k++)
        if (!hlo_attribute(v->scratch, i, names[k]))
            hlo_invalid(v, i, "the attribute %s= is missing", names[k]);
}

static uint64_t require_ascending(HloVerifier *v, const HloInstruction *i, const char *name, HloInts list,
                                  uint32_t rank)
{
    for (uint32_t k = 1; k < list.n; k++)
        if (list.items[k] < list.items[k - 1]) hlo_invalid(v, i, "%s does not ascend", name);
    return hlo_require_dimensions(v, i, name, list, rank);
}

/* The dimensions of s that are not in `taken`. */
static uint32_t remaining(const HloShape *s, uint64_t taken, WbbI128 *dims)
{
    uint32_t rank = 0;
    for (uint32_t d = 0; d < s->rank; d++)
        if (!(taken >> d & 1)) dims[rank++] = s->dims[d];
    return rank;
}

/* The indices are integers, in vectors of map.n entries. Returns the set of the vectors' dimension; empty if it is
 * implicit. */
static uint64_t require_indices(HloVerifier *v, const HloInstruction *i, uint32_t operand, int64_t vector_dim,
                                const char *map_name, HloInts map)
{
    const HloShape *s = hlo_array_operand(v, i, operand);
    if (!sc_is_int(s->type))
        hlo_invalid(v, i, "operand %u has shape %s, integers expected", operand, hlo_short_shape(v, s));
    if (vector_dim < 0 || vector_dim > s->rank)
        hlo_invalid(v, i, "index_vector_dim is %lld, the indices %s have %u dimensions", (long long)vector_dim,
                    hlo_short_shape(v, s), s->rank);
    int64_t depth = vector_dim == s->rank ? 1 : s->dims[vector_dim];
    if (depth != map.n)
        hlo_invalid(v, i, "%s names %u dimensions, an index has %lld", map_name, map.n, (long long)depth);
    return vector_dim < s->rank ? UINT64_C(1) << vector_dim : 0;
}

/* Batching dimensions of operand and indices are paired, have equal sizes, and exclude the vectors' dimension. */
static void require_batching(HloVerifier *v, const HloInstruction *i, const HloShape *s, HloInts of_operand,
                             const HloShape *indices, HloInts of_indices, uint64_t vector)
{
    if (of_operand.n != of_indices.n)
        hlo_invalid(v, i, "%u batching dimensions of the operand, %u of the indices", of_operand.n, of_indices.n);
    if (hlo_require_dimensions(v, i, "the list of batching dimensions of the indices", of_indices, indices->rank) &
        vector)
        hlo_invalid(v, i, "index_vector_dim is a batching dimension of the indices");
    for (uint32_t k = 0; k < of_operand.n; k++)
        if (s->dims[of_operand.items[k]] != indices->dims[of_indices.items[k]])
            hlo_invalid(v, i,
                        "batching dimension %lld of the operand %s is paired with dimension %lld of the indices %s",
                        (long long)of_operand.items[k], hlo_short_shape(v, s), (long long)of_indices.items[k],
                        hlo_short_shape(v, indices));
}

static void require_disjoint(HloVerifier *v, const HloInstruction *i, const char *x, uint64_t xs, const char *y,
                             uint64_t ys)
{
    if (xs & ys) hlo_invalid(v, i, "%s and %s both name dimension %d", x, y, __builtin_ctzll(xs & ys));
}

/* The result has the batch dimensions in order, and the slice's remaining dimensions at offset_dims. */
static void verify_gather(HloVerifier *v, HloInstruction *i)
{
    static const char *const needed[] = {"offset_dims", "collapsed_slice_dims", "start_index_map", "index_vector_dim",
                                         "slice_sizes"};
    const HloShape *s = hlo_array_operand(v, i, 0), *indices = hlo_array_operand(v, i, 1);
    require_attributes(v, i, needed, WBB_LEN(needed));
    HloGatherDims g = hlo_gather_dims(v->scratch, i);
    uint64_t vector = require_indices(v, i, 1, g.index_vector_dim, "start_index_map", g.start_map);
    hlo_require_rank(v, i, "slice_sizes", g.slice_sizes.n, s);
    uint64_t collapsed = require_ascending(v, i, "collapsed_slice_dims", g.collapsed, s->rank);
    uint64_t batching = require_ascending(v, i, "operand_batching_dims", g.operand_batching, s->rank);
    uint64_t starts = hlo_require_dimensions(v, i, "start_index_map", g.start_map, s->rank);
    require_disjoint(v, i, "collapsed_slice_dims", collapsed, "operand_batching_dims", batching);
    require_disjoint(v, i, "start_index_map", starts, "operand_batching_dims", batching);
    require_batching(v, i, s, g.operand_batching, indices, g.indices_batching, vector);
    WbbI128 kept[HLO_RANK_LIMIT], batch[HLO_RANK_LIMIT], dims[2 * HLO_RANK_LIMIT];
    uint32_t n_kept = 0;
    for (uint32_t d = 0; d < s->rank; d++) {
        int64_t size = g.slice_sizes.items[d];
        bool gone = (collapsed | batching) >> d & 1;
        if (size < 0 || size > s->dims[d])
            hlo_invalid(v, i, "slice size %lld of dimension %u, which has %lld", (long long)size, d,
                        (long long)s->dims[d]);
        if (gone && size > 1) hlo_invalid(v, i, "dimension %u is dropped with slice size %lld", d, (long long)size);
        if (!gone) kept[n_kept++] = size;
    }
    uint32_t n_batch = remaining(indices, vector, batch), rank = n_batch + n_kept, k = 0, b = 0;
    if (g.offset.n != n_kept)
        hlo_invalid(v, i, "offset_dims names %u dimensions, a slice keeps %u", g.offset.n, n_kept);
    if (rank > HLO_RANK_LIMIT) hlo_invalid(v, i, "the result would have %u dimensions", rank);
    uint64_t at = require_ascending(v, i, "offset_dims", g.offset, rank);
    for (uint32_t d = 0; d < rank; d++) dims[d] = at >> d & 1 ? kept[k++] : batch[b++];
    hlo_set_result(v, i, s->type, rank, dims);
}

/* The updates of one input have the batch dimensions in order, and a window no larger than the input at
 * update_window_dims. */
static void require_updates(HloVerifier *v, const HloInstruction *i, uint32_t operand, const HloScatterDims *g,
                            const HloShape *s, uint64_t dropped, const HloShape *indices, uint64_t vector)
{
    const HloShape *u = hlo_array_operand(v, i, operand);
    WbbI128 window[HLO_RANK_LIMIT], batch[HLO_RANK_LIMIT];
    uint32_t n_window = remaining(s, dropped, window), n_batch = remaining(indices, vector, batch), k = 0, b = 0;
    if (g->update_window.n != n_window)
        hlo_invalid(v, i, "update_window_dims names %u dimensions, the window in %s has %u", g->update_window.n,
                    hlo_short_shape(v, s), n_window);
    if (u->rank != n_window + n_batch)
        hlo_invalid(v, i, "operand %u has shape %s, %u dimensions expected", operand, hlo_short_shape(v, u),
                    n_window + n_batch);
    uint64_t at = require_ascending(v, i, "update_window_dims", g->update_window, u->rank);
    for (uint32_t d = 0; d < u->rank; d++) {
        bool in_window = at >> d & 1;
        WbbI128 limit = in_window ? window[k++] : batch[b++];
        if (in_window ? u->dims[d] > limit : u->dims[d] != limit)
            hlo_invalid(v, i, "operand %u has shape %s: dimension %u is %lld, %s%lld expected", operand,
                        hlo_short_shape(v, u), d, (long long)u->dims[d], in_window ? "at most " : "", (long long)limit);
    }
    if (!hlo_compatible_types(u->type, s->type))
        hlo_invalid(v, i, "operand %u has shape %s, element type %s expected", operand, hlo_short_shape(v, u),
                    sc_type_info[s->type].hlo);
}

/* Operands: N inputs of one shape, the indices, N updates. The computation combines N values with N updates. */
static void verify_scatter(HloVerifier *v, HloInstruction *i)
{
    static const char *const needed[] = {"update_window_dims", "inserted_window_dims", "scatter_dims_to_operand_dims",
                                         "index_vector_dim"};
    uint32_t n = i->n_operands / 2;
    if (i->n_operands < 3 || i->n_operands % 2 == 0)
        hlo_invalid(v, i, "%u operands found, as many updates as inputs and the indices expected", i->n_operands);
    require_attributes(v, i, needed, WBB_LEN(needed));
    HloScatterDims g = hlo_scatter_dims(v->scratch, i);
    const HloShape *first = hlo_array_operand(v, i, 0), *indices = hlo_array_operand(v, i, n);
    uint64_t vector = require_indices(v, i, n, g.index_vector_dim, "scatter_dims_to_operand_dims", g.operand_map);
    uint64_t inserted = require_ascending(v, i, "inserted_window_dims", g.inserted_window, first->rank);
    uint64_t batching = require_ascending(v, i, "input_batching_dims", g.input_batching, first->rank);
    uint64_t map = hlo_require_dimensions(v, i, "scatter_dims_to_operand_dims", g.operand_map, first->rank);
    require_disjoint(v, i, "inserted_window_dims", inserted, "input_batching_dims", batching);
    require_disjoint(v, i, "scatter_dims_to_operand_dims", map, "input_batching_dims", batching);
    require_batching(v, i, first, g.input_batching, indices, g.indices_batching, vector);
    const HloShape **parts = WBB_NEW_N(v->scratch, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) {
        parts[k] = hlo_array_operand(v, i, k);
        hlo_require_dims(v, i, hlo_operand_name(v, k), parts[k], first);
        require_updates(v, i, n + 1 + k, &g, parts[k], inserted | batching, indices, vector);
        hlo_require_dims(v, i, hlo_operand_name(v, n + 1 + k), i->operands[n + 1 + k]->shape,
                         i->operands[n + 1]->shape);
    }
    hlo_require_combiner(v, i, hlo_only_computation(v, i), n, parts);
    hlo_set_result_parts(v, i, n, parts);
}

bool hlo_verify_indexed(HloVerifier *v, HloInstruction *i)
{
    if (i->opcode == HLO_GATHER) verify_gather(v, i);
    else if (i->opcode == HLO_SCATTER) verify_scatter(v, i);
    else return false;
    return true;
}
