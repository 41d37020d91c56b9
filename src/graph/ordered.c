/* ordered.c: scatters whose updates come in the order in which elements take them.
 *
 * Needs: a normalised HLO module. Leaves: no scatter whose result depends on the order of its updates, but those with a
 * stable sort before them: of the number of the operand's row that each update is for, whole rows where windows are
 * such, else elements; what does not fit has the number after the last. Updates are read where the sort found them, and
 * the scatter states that its indices are sorted. Neighbours of one row are then in the order of the text.
 *
 *     f32[10,8] scatter(x, s32[300,1] at, f32[300,1,8] u), add
 *         s = sort(select(in(at), at, 10), iota()), is_stable=true
 *         f32[10,8] scatter(x, s.0, gather(u, s.1)), add, indices_are_sorted=true
 */
#include "hlo/normalise.h"

#include "graph/inner.h"

/* The operand as rows of elements that windows take or leave as a whole. */
typedef struct {
    HloScatterDims d;
    const HloShape *to, *from; /* the first operand, its updates */
    uint32_t columns;
    bool rows;                 /* false: rows are elements */
    int64_t n, row, updates;   /* rows; elements of one; updates of a row each */
    ScType type;               /* that holds the numbers of rows, and all starts */
} Rows;

static Rows rows_of(WbbArena *a, const HloInstruction *i)
{
    const uint32_t n = i->n_operands / 2;
    const HloShape *indices = i->operands[n]->shape;
    Rows r = {.d = hlo_scatter_dims(a, i), .to = i->operands[0]->shape, .from = i->operands[n + 1]->shape,
              .columns = (uint32_t)indices->dims[1], .rows = true, .n = 1, .row = 1, .type = SC_I64};
    for (uint32_t d = 0; d < r.to->rank; d++)
        r.rows = r.rows && r.from->dims[d + 1] == (d < r.columns ? 1 : r.to->dims[d]);
    for (uint32_t d = 0; d < r.to->rank; d++) *(r.rows && d >= r.columns ? &r.row : &r.n) *= r.to->dims[d];
    r.updates = hlo_elements(r.from) / r.row;
    const uint32_t bits = sc_type_info[indices->type].bits;
    if (r.n < INT32_MAX && (bits < 32 || indices->type == SC_I32)) r.type = SC_I32;
    return r;
}

/* Elements between neighbours in dimension d of the operand, in rows. */
static int64_t stride_of(const Rows *r, uint32_t d)
{
    int64_t stride = 1;
    for (uint32_t k = d + 1; k < (r->rows ? r->columns : r->to->rank); k++) stride *= r->to->dims[k];
    return stride;
}

/* The rows that the window of each index vector begins with, and does it fit? NULL: each does. */
static HloInstruction *starts_of(HloBuilder *b, const Rows *r, HloInstruction *indices, HloInstruction **fits)
{
    const int64_t n = indices->shape->dims[0];
    const HloShape *line = hlo_make_array(b->arena, r->type, 1, &n);
    HloInstruction *at = hlo_new_number(b, r->type, 0, line);
    *fits = NULL;
    for (uint32_t d = 0; d < r->columns; d++) {
        HloInstruction *x = hlo_new_reshape(b, hlo_new_column(b, indices, d), 1, &n);
        x = hlo_new_convert(b, x, r->type);
        HloInstruction *low = hlo_new_compare(b, HLO_GE, x, hlo_new_number(b, r->type, 0, line));
        HloInstruction *last = hlo_new_number(b, r->type, (double)(r->to->dims[d] - r->from->dims[d + 1]), line);
        HloInstruction *in = hlo_new_binary(b, HLO_AND, low, hlo_new_compare(b, HLO_LE, x, last));
        *fits = *fits ? hlo_new_binary(b, HLO_AND, *fits, in) : in;
        x = hlo_new_binary(b, HLO_MULTIPLY, x, hlo_new_number(b, r->type, (double)stride_of(r, d), line));
        at = d ? hlo_new_binary(b, HLO_ADD, at, x) : x;
    }
    return at;
}

/* [updates] the row of each update, r->n where its window does not fit. */
static HloInstruction *keys_of(HloBuilder *b, const Rows *r, HloInstruction *indices)
{
    const int64_t first = 0;
    HloInstruction *fits, *at = starts_of(b, r, indices, &fits);
    if (!r->rows) {
        at = hlo_new_broadcast(b, at, r->from, &first, 1);
        if (fits) fits = hlo_new_broadcast(b, fits, r->from, &first, 1);
        for (uint32_t d = 0; d < r->to->rank; d++) {
            if (r->from->dims[d + 1] == 1) continue;
            HloInstruction *step = hlo_new_iota(b, r->type, r->from->rank, r->from->dims, d + 1);
            step = hlo_new_binary(b, HLO_MULTIPLY, step, hlo_new_number(b, r->type, (double)stride_of(r, d), r->from));
            at = hlo_new_binary(b, HLO_ADD, at, step);
        }
    }
    if (fits) at = hlo_new_select(b, fits, at, hlo_new_number(b, r->type, (double)r->n, at->shape));
    at = hlo_new_reshape(b, at, 1, &r->updates);
    return hlo_new_convert(b, at, r->n < INT32_MAX ? SC_I32 : SC_I64);
}

/* (row, row, place, place) -> the first row comes before */
static HloComputation *before(HloBuilder *b, ScType type, ScType place)
{
    const HloShape *x = hlo_make_array(b->arena, type, 0, NULL), *p = hlo_make_array(b->arena, place, 0, NULL);
    const HloShape *shapes[] = {x, x, p, p};
    HloBuilder in = hlo_begin_computation(b, 4, shapes);
    HloInstruction *lower = hlo_new_compare(&in, HLO_LT, in.list.items[0], in.list.items[1]);
    return hlo_end_computation(&in, "rows", lower);
}

/* (rows in order, the place that each had) */
static HloInstruction *sorted_keys(HloBuilder *b, HloInstruction *keys)
{
    const int64_t n = keys->shape->dims[0];
    const ScType place = n < INT32_MAX ? SC_I32 : SC_I64;
    HloInstruction *operands[] = {keys, hlo_new_iota(b, place, 1, &n, 0)};
    return hlo_new_sort(b, 2, operands, 0, before(b, keys->shape->type, place));
}

/* A view, so that outputs can still be updated in place. */
static HloInstruction *viewed(HloBuilder *b, HloInstruction *x, uint32_t rank, const int64_t *dims)
{
    const HloShape *s = hlo_make_array(b->arena, x->shape->type, rank, dims);
    const HloShape *plain = hlo_make_array(b->arena, x->shape->type, x->shape->rank, x->shape->dims);
    if (hlo_same_dims(x->shape, s)) return x;
    return hlo_new(b, hlo_same_layout(x->shape, plain) ? HLO_BITCAST : HLO_RESHAPE, s, 1, &x);
}

/* Updates in the order of their rows. */
static HloInstruction *in_order(HloBuilder *b, const Rows *r, HloInstruction *updates, HloInstruction *places)
{
    const int64_t dims[] = {r->updates, r->row}, column[] = {r->updates, 1}, window[] = {r->updates, 1, r->row};
    HloInstruction *operands[] = {hlo_new_reshape(b, updates, 2, dims), hlo_new_reshape(b, places, 2, column)};
    const HloShape *s = hlo_make_array(b->arena, updates->shape->type, 3, window);
    HloInstruction *g = hlo_new(b, HLO_GATHER, s, 2, operands);
    hlo_set_attributes(b, g, wbb_format(b->arena, ", offset_dims={1,2}, collapsed_slice_dims={}, start_index_map={0}, "
                                        "index_vector_dim=1, slice_sizes={1,%lld}", (long long)r->row));
    return g;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!b->same || !b->same[i->id]) return NULL;
    const uint32_t n = i->n_operands / 2;
    const Rows r = rows_of(b->arena, i);
    if (!hlo_elements(r.from) || !hlo_elements(r.to)) return NULL;
    const int64_t dims[] = {r.n, r.row}, column[] = {r.updates, 1};
    HloInstruction *sorted = sorted_keys(b, keys_of(b, &r, hlo_mapped(b, i->operands[n])));
    HloInstruction *places = hlo_new_get_tuple_element(b, sorted, 1);
    HloInstruction **operands = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands), **parts = operands;
    const HloShape **shapes = WBB_NEW_N(b->arena, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) {
        const ScType t = i->operands[k]->shape->type;
        if (sc_type_info[t].bits < 8)
            wbb_decline(b->cx, i->loc, WHY_TYPE,
                        "a scatter of %s whose updates are combined in order: elements share bytes",
                        sc_type_info[t].hlo);
        operands[k] = viewed(b, hlo_mapped(b, i->operands[k]), 2, dims);
        operands[n + 1 + k] = in_order(b, &r, hlo_mapped(b, i->operands[n + 1 + k]), places);
        shapes[k] = hlo_make_array(b->arena, t, 2, dims);
    }
    operands[n] = hlo_new_reshape(b, hlo_new_get_tuple_element(b, sorted, 0), 2, column);
    HloInstruction *s = hlo_copy_with_operands(b, i, operands);
    s->shape = i->shape->type == SC_TUPLE ? hlo_make_tuple(b->arena, n, shapes) : shapes[0];
    hlo_set_attributes(b, s, ", update_window_dims={1,2}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
                             "index_vector_dim=1, indices_are_sorted=true");
    if (i->shape->type != SC_TUPLE) return viewed(b, s, r.to->rank, r.to->dims);
    parts = WBB_NEW_N(b->arena, HloInstruction *, n);
    for (uint32_t k = 0; k < n; k++)
        parts[k] = viewed(b, hlo_new_get_tuple_element(b, s, k), r.to->rank, r.to->dims);
    return hlo_new_tuple(b, n, parts);
}

const HloModule *gr_ordered(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    const uint32_t **all = WBB_NEW_N(a, const uint32_t *, m->n_computations + 1);
    bool any = false;
    for (uint32_t k = 0; k < m->n_computations; k++) {
        const HloComputation *c = m->computations[k];
        uint32_t *of = WBB_NEW_N(a, uint32_t, c->n_instructions + 1);
        GrGraph *x = NULL;
        for (uint32_t j = 0; j < c->n_instructions; j++) {
            of[j] = gr_needs_order(cx, a, c, c->instructions[j], &x);
            any = any || of[j];
        }
        all[k] = of;
    }
    return any ? hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .same = all}) : m;
}
