/* normalise_scatter: one canonical form of scatter.
 *
 * Needs: a verified HLO module. Leaves scatters with
 *   - indices [n,k]: row r is the r-th index, column d its start in dimension d of the operand:
 *     scatter_dims_to_operand_dims={0,..}, index_vector_dim=1, no batching dimensions;
 *   - updates [n, window]: the window has all dimensions of the operand, none inserted: update_window_dims={1,..,rank}.
 * Other forms become this one with transposes and reshapes before it, and with the columns of the indices reordered: a
 * dimension without an index that precedes one with an index gets a column of zeros, a batching dimension a column that
 * counts. The operand itself is not moved, so a scatter can still work in place. unique_indices is kept;
 * indices_are_sorted is kept if the columns are. A gather has no such form: what it reads is an index of its operand,
 * whatever its dimensions are called (index/access_start.c).
 *
 *     f32[3,6] scatter(f32[3,6] x, s32[5] at, f32[5,6] u), update_window_dims={1}, inserted_window_dims={0},
 *                      scatter_dims_to_operand_dims={0}, index_vector_dim=1
 *         f32[3,6] scatter(x, s32[5,1] reshape(at), f32[5,1,6] reshape(u)), update_window_dims={1,2}, ..
 */
#include "hlo/normalise.h"

/* The roles of the index array's dimensions. */
typedef struct {
    HloInts map;              /* column k is a start in dimension map[k] of the operand */
    HloInts operand_batching, indices_batching;
    int64_t vector;           /* index_vector_dim */
} Starts;

typedef struct {
    HloInstruction *matrix;   /* [n,k] */
    int64_t batch[HLO_RANK_LIMIT]; /* dimensions of the indices but the vector's; n is their product */
    uint32_t n_batch, k;
    bool kept;                /* the columns are the original ones, in order */
} Indices;

static HloInts count_up(HloBuilder *b, int64_t from, uint32_t n)
{
    int64_t *items = WBB_NEW_N(b->arena, int64_t, n + 1);
    for (uint32_t k = 0; k < n; k++) items[k] = from + k;
    return (HloInts){items, n};
}

/* The indices as a matrix: index_vector_dim last, all other dimensions flattened. */
static Indices make_matrix(HloBuilder *b, HloInstruction *x, const Starts *s)
{
    const HloShape *shape = x->shape;
    Indices r = {.k = s->map.n};
    int64_t order[HLO_RANK_LIMIT], dims[2] = {1, s->map.n};
    for (uint32_t d = 0; d < shape->rank; d++) {
        if (d == s->vector) continue;
        order[r.n_batch] = d;
        r.batch[r.n_batch++] = shape->dims[d];
        dims[0] *= shape->dims[d];
    }
    if (s->vector < shape->rank) order[r.n_batch] = s->vector;
    r.matrix = hlo_new_reshape(b, hlo_new_transpose(b, x, order), 2, dims);
    return r;
}

/* A type that can count the batching dimensions: that of the indices, or s64 if it is too narrow. */
static ScType counting_type(const Indices *r, const Starts *s, ScType type)
{
    const uint32_t bits = sc_type_info[type].bits;
    if (bits >= 64) return type;
    const int64_t most = (INT64_C(1) << (bits - sc_is_signed(type))) - 1;
    for (uint32_t k = 0; k < s->indices_batching.n; k++) {
        const int64_t d = s->indices_batching.items[k], at = d - (d > s->vector);
        if (r->batch[at] - 1 > most) return SC_I64;
    }
    return type;
}

/* The column of starts in dimension d of the operand. */
static HloInstruction *column(HloBuilder *b, const Indices *r, const Starts *s, int64_t d)
{
    const int64_t dims[] = {r->matrix->shape->dims[0], 1};
    const ScType type = r->matrix->shape->type;
    for (uint32_t k = 0; k < s->map.n; k++)
        if (s->map.items[k] == d) return hlo_new_column(b, r->matrix, k);
    for (uint32_t k = 0; k < s->operand_batching.n; k++) {
        if (s->operand_batching.items[k] != d) continue;
        const int64_t dimension = s->indices_batching.items[k];
        HloInstruction *count = hlo_new_iota(b, type, r->n_batch, r->batch, dimension - (dimension > s->vector));
        return hlo_new_reshape(b, count, 2, dims);
    }
    return hlo_new_splat(b, hlo_new_scalar(b, type, 0), 2, dims);
}

/* The indices as a matrix whose column d holds the starts in dimension d. */
static Indices canonical_indices(HloBuilder *b, HloInstruction *x, const Starts *s)
{
    Indices r = make_matrix(b, x, s);
    r.kept = hlo_counts_up(s->map, 0, s->map.n) && s->operand_batching.n == 0;
    if (r.kept) return r;
    HloInstruction *columns[HLO_RANK_LIMIT];
    r.matrix = hlo_new_convert(b, r.matrix, counting_type(&r, s, x->shape->type));
    r.k = 0;
    for (uint32_t j = 0; j < s->map.n; j++) r.k = WBB_MAX(r.k, (uint32_t)s->map.items[j] + 1);
    for (uint32_t j = 0; j < s->operand_batching.n; j++) r.k = WBB_MAX(r.k, (uint32_t)s->operand_batching.items[j] + 1);
    for (uint32_t d = 0; d < r.k; d++) columns[d] = column(b, &r, s, d);
    r.matrix = hlo_new_concatenate(b, r.k, columns, 1);
    return r;
}

/* The operands of one scatter have the same dimensions. No window fits into an array without elements. */
static bool scatters_into_nothing(const HloInstruction *i) { return hlo_elements(i->operands[0]->shape) == 0; }

/* The operands, as a tuple if they are several. */
static HloInstruction *untouched(HloBuilder *b, const HloInstruction *i)
{
    const uint32_t n = i->n_operands / 2;
    if (n == 1) return hlo_mapped(b, i->operands[0]);
    HloInstruction **parts = WBB_NEW_N(b->arena, HloInstruction *, n);
    for (uint32_t k = 0; k < n; k++) parts[k] = hlo_mapped(b, i->operands[k]);
    return hlo_new_tuple(b, n, parts);
}

/* The updates as rows of whole windows. */
static HloInstruction *window_rows(HloBuilder *b, HloInstruction *updates, const HloScatterDims *d, uint32_t rank)
{
    const HloShape *s = updates->shape;
    int64_t order[HLO_RANK_LIMIT], dims[HLO_RANK_LIMIT];
    uint32_t n = 0, at = 0;
    dims[0] = 1;
    for (uint32_t k = 0; k < s->rank; k++) {
        if (hlo_holds(d->update_window, k)) continue;
        order[n++] = k;
        dims[0] *= s->dims[k];
    }
    for (uint32_t k = 0; k < s->rank; k++)
        if (hlo_holds(d->update_window, k)) order[n++] = k;
    for (uint32_t k = 0; k < rank; k++) {
        const bool one = hlo_holds(d->inserted_window, k) || hlo_holds(d->input_batching, k);
        dims[k + 1] = one ? 1 : s->dims[d->update_window.items[at++]];
    }
    return hlo_new_reshape(b, hlo_new_transpose(b, updates, order), rank + 1, dims);
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (i->opcode != HLO_SCATTER) return NULL;
    const HloScatterDims d = hlo_scatter_dims(b->arena, i);
    const uint32_t n = i->n_operands / 2, rank = i->operands[0]->shape->rank;
    if (scatters_into_nothing(i)) return untouched(b, i);
    if (hlo_scatters_rows(i, &d) || rank == HLO_RANK_LIMIT) return NULL;
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    const Starts starts = {d.operand_map, d.input_batching, d.indices_batching, d.index_vector_dim};
    const Indices r = canonical_indices(b, hlo_mapped(b, i->operands[n]), &starts);
    for (uint32_t k = 0; k < n; k++) {
        operands[k] = hlo_mapped(b, i->operands[k]);
        operands[n + 1 + k] = window_rows(b, hlo_mapped(b, i->operands[n + 1 + k]), &d, rank);
    }
    operands[n] = r.matrix;
    HloInstruction *s = hlo_copy_with_operands(b, i, operands);
    hlo_set_attributes(b, s,
                       wbb_format(b->arena, "%s%s%s, index_vector_dim=1%s%s%s",
                                  hlo_ints_attribute(b, "update_window_dims", count_up(b, 1, rank)),
                                  hlo_ints_attribute(b, "inserted_window_dims", count_up(b, 0, 0)),
                                  hlo_ints_attribute(b, "scatter_dims_to_operand_dims", count_up(b, 0, r.k)),
                                  d.sorted && r.kept ? ", indices_are_sorted=true" : "",
                                  d.unique ? ", unique_indices=true" : "",
                                  d.sorted && r.kept ? "" : hlo_neighbours_attribute(b->arena, d.neighbours)));
    return s;
}

static bool differs(WbbArena *a, const HloInstruction *i)
{
    if (i->opcode != HLO_SCATTER) return false;
    const HloScatterDims d = hlo_scatter_dims(a, i);
    return scatters_into_nothing(i) || !hlo_scatters_rows(i, &d);
}

const HloModule *hlo_pass_scatter(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    bool any = false;
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions && !any; k++)
            any = differs(a, m->computations[c]->instructions[k]);
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite}) : m;
}
