/* normalise_window: select-and-scatter as a gather of its windows, or as a scatter.
 *
 * Needs: a verified HLO module. Leaves: a reduce-window of two inputs, the operand and the linear index of each of its
 * elements, that computes which element each window selects; a window that lies entirely in the padding selects index
 * -1, which belongs to no element. Then, where few windows hold an element: for each place that one of them can have,
 * from the first window to the last, a selection of the combined value where the window has selected this element.
 * Nothing is written twice, and the order is that of the windows. Else, a scatter of the source to the indices, into
 * an array of the initial value; it drops -1, and if windows neither overlap nor reach into padding, all indices differ
 * and the scatter has unique_indices=true.
 *
 * Element x of a dimension is in the windows x' = (x + low) / stride - k, for k = 0 .. (size - 1) / stride: an array of
 * windows is padded so that its element 0 is the x' of x = 0, repeated stride times, and cut to the operand's size.
 *
 *     select-and-scatter(f32[4] x, f32[2] s, f32[] z), window={size=2 stride=2}, select=ge, scatter=add
 *         n = s32[4] iota(), w = (f32[2], s32[2]) reduce-window(x, n, 0, -1), window={..}, to_apply=(ge on pairs)
 *         found = s32[4] reshape(s32[2,2] broadcast(w.1)), from = f32[4] reshape(f32[2,2] broadcast(s))
 *         select(compare(found, n), EQ, map(broadcast(z), from, add), broadcast(z))
 */
#include "hlo/normalise.h"

#include <string.h>

static HloInstruction *parameter(const HloBuilder *b, uint32_t k) { return b->list.items[k]; }

/* (kept, its index, next, its index) -> the selected pair. A negative index belongs to no element: the initial value,
 * padding. */
static HloComputation *chooser(HloBuilder *b, const HloComputation *select, ScType type, ScType index)
{
    const HloShape *value = hlo_make_array(b->arena, type, 0, NULL),
                   *position = hlo_make_array(b->arena, index, 0, NULL);
    const HloShape *shapes[] = {value, position, value, position};
    HloBuilder in = hlo_begin_computation(b, 4, shapes);
    HloInstruction *kept = parameter(&in, 0), *kept_index = parameter(&in, 1), *next = parameter(&in, 2),
                   *next_index = parameter(&in, 3);
    HloInstruction *zero = hlo_new_scalar(&in, index, 0), *operands[] = {kept, next};
    HloInstruction *chosen = hlo_inline(&in, select, operands);
    if (!chosen) return NULL;
    HloInstruction *is_element = hlo_new_compare(&in, HLO_GE, kept_index, zero),
                   *none = hlo_new_compare(&in, HLO_LT, next_index, zero);
    HloInstruction *keep = hlo_new_binary(&in, HLO_OR, hlo_new_binary(&in, HLO_AND, is_element, chosen), none);
    HloInstruction *chosen_value = hlo_new_select(&in, keep, kept, next);
    HloInstruction *parts[] = {chosen_value, hlo_new_select(&in, keep, kept_index, next_index)};
    return hlo_end_computation(&in, wbb_format(b->arena, "%s.kept", select->name), hlo_new_tuple(&in, 2, parts));
}

/* The reduce-window: per window the selected value and its index. */
static HloInstruction *select_in_windows(HloBuilder *b, const HloInstruction *i, HloInstruction *x,
                                         HloInstruction *indices, HloComputation *c)
{
    const HloShape *source = i->operands[1]->shape;
    HloInstruction *zero = hlo_new_scalar(b, x->shape->type, 0), *none = hlo_new_scalar(b, indices->shape->type, -1);
    HloInstruction *operands[] = {x, indices, zero, none};
    const HloShape **parts = WBB_NEW_N(b->arena, const HloShape *, 2);
    parts[0] = hlo_make_array(b->arena, x->shape->type, source->rank, source->dims);
    parts[1] = hlo_make_array(b->arena, indices->shape->type, source->rank, source->dims);
    HloInstruction *w = hlo_new(b, HLO_REDUCE_WINDOW, hlo_make_tuple(b->arena, 2, parts), 4, operands);
    w->windows = i->windows;
    w->n_windows = i->n_windows;
    hlo_set_computation(b, w, "to_apply", c);
    return w;
}

/* No two windows share an element, and none reaches into padding. */
static bool windows_are_disjoint(const HloInstruction *i)
{
    for (uint32_t d = 0; d < i->n_windows; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->low > 0 || w->high > 0 || w->lhs_dilate != 1 || (w->size - 1) * w->rhs_dilate >= w->stride) return false;
    }
    return true;
}

/* The computation that an attribute of i names. */
static const HloComputation *computation_of(const HloInstruction *i, const char *attribute)
{
    for (uint32_t k = 0; k < i->n_called; k++)
        if (strcmp(i->called_by[k], attribute) == 0) return i->called[k];
    return NULL;
}

static bool is_select_and_scatter(const HloInstruction *i)
{
    const HloShape *x = i->opcode == HLO_SELECT_AND_SCATTER ? i->operands[0]->shape : NULL;
    return x && x->rank && i->windows && i->n_windows == x->rank && computation_of(i, "select") &&
           computation_of(i, "scatter");
}

/* Windows that may hold one element; 0: too many, or they are no gather. */
static int64_t covers(const HloInstruction *i)
{
    int64_t n = 1;
    if (i->operands[1]->shape->type != i->shape->type || i->shape->rank == HLO_RANK_LIMIT) return 0;
    if (!hlo_elements(i->shape) || !hlo_elements(i->operands[1]->shape)) return 0;
    for (uint32_t d = 0; d < i->n_windows; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->size > HLO_LIMIT_WINDOW_COVERS * w->stride) return 0;
        n *= (w->size - 1) / w->stride + 1;
        if (n > HLO_LIMIT_WINDOW_COVERS) return 0;
    }
    return n;
}

/* Rounds down, also below 0. */
static int64_t divided(int64_t x, int64_t by) { return x >= 0 ? x / by : -((by - 1 - x) / by); }

/* An array of windows at each element of the operand i: that of the window at `places` among those that may hold the
 * element, `none` where there is no such window. */
static HloInstruction *at_elements(HloBuilder *b, const HloInstruction *i, HloInstruction *x, HloInstruction *none,
                                   const int64_t *places)
{
    const uint32_t rank = i->n_windows;
    HloPadding *paddings = WBB_NEW_N(b->arena, HloPadding, rank);
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, rank);
    bool whole = true;
    int64_t dims[HLO_RANK_LIMIT];
    for (uint32_t d = 0; d < rank; d++) {
        const HloWindow *w = &i->windows[d];
        const int64_t size = i->shape->dims[d], first = divided(w->low, w->stride),
                      n = divided(size - 1 + w->low, w->stride) - first + 1, start = w->low - first * w->stride;
        paddings[d] = (HloPadding){places[d] - first, n - x->shape->dims[d] - places[d] + first, 0};
        slices[d] = (HloSlice){start, start + size, 1};
        whole = whole && paddings[d].low == 0 && paddings[d].high == 0;
    }
    if (!whole) x = hlo_new_pad(b, x, none, paddings);
    for (uint32_t d = 0; d < rank; d++) { /* [.., n, ..] to [.., n, stride, ..] to [.., n * stride, ..] */
        const int64_t stride = i->windows[d].stride;
        if (stride == 1) continue;
        int64_t from[HLO_RANK_LIMIT];
        for (uint32_t k = 0; k <= rank; k++) {
            dims[k] = k == d + 1 ? stride : x->shape->dims[k <= d ? k : k - 1];
            if (k < rank) from[k] = k <= d ? k : k + 1;
        }
        const HloShape *split = hlo_make_array(b->arena, x->shape->type, rank + 1, dims);
        HloInstruction *repeated = hlo_new_broadcast(b, x, split, from, rank);
        memcpy(dims, x->shape->dims, rank * sizeof *dims);
        dims[d] *= stride;
        x = hlo_new_reshape(b, repeated, rank, dims);
    }
    return hlo_new_slice(b, x, slices);
}

/* The elements of the operand, each with what the windows that have selected it bring. */
static HloInstruction *gather(HloBuilder *b, const HloInstruction *i, HloInstruction *indices, HloInstruction *found,
                              HloInstruction *source, HloInstruction *init, int64_t n_covers)
{
    const HloShape *s = indices->shape;
    HloInstruction *sum = hlo_new_splat(b, init, s->rank, s->dims), *none = hlo_new_scalar(b, s->type, -1);
    int64_t *all = WBB_NEW_N(b->arena, int64_t, s->rank);
    for (uint32_t d = 0; d < s->rank; d++) all[d] = d;
    for (int64_t n = n_covers; n-- > 0;) {
        int64_t places[HLO_RANK_LIMIT], rest = n;
        for (uint32_t d = s->rank; d-- > 0;) {
            const int64_t covered = (i->windows[d].size - 1) / i->windows[d].stride + 1;
            places[d] = rest % covered, rest /= covered;
        }
        HloInstruction *selected = at_elements(b, i, found, none, places),
                       *operands[] = {sum, at_elements(b, i, source, init, places)};
        HloInstruction *more = hlo_new(b, HLO_MAP, sum->shape, 2, operands);
        more->dimensions = all, more->n_dimensions = s->rank;
        hlo_set_computation(b, more, "to_apply", b->made[computation_of(i, "scatter")->id]);
        sum = hlo_new_select(b, hlo_new_compare(b, HLO_EQ, selected, indices), more, sum);
    }
    return sum;
}

/* The source at the indices that the windows have selected. */
static HloInstruction *scatter(HloBuilder *b, const HloInstruction *i, HloInstruction *found, HloInstruction *source,
                               HloInstruction *init)
{
    const HloShape *s = i->shape;
    const int64_t n = hlo_elements(s), n_windows = hlo_elements(source->shape), column[] = {n_windows, 1};
    HloInstruction *operands[] = {hlo_new_splat(b, init, 1, &n), hlo_new_reshape(b, found, 2, column),
                                  hlo_new_reshape(b, source, 1, &n_windows)};
    HloInstruction *result = hlo_new(b, HLO_SCATTER, operands[0]->shape, 3, operands);
    hlo_set_computation(b, result, "to_apply", b->made[computation_of(i, "scatter")->id]);
    const char *unique = windows_are_disjoint(i) ? ", unique_indices=true" : "";
    hlo_set_attributes(
        b, result,
        wbb_format(b->arena,
                   ", update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                   "index_vector_dim=1%s",
                   unique));
    return hlo_new_reshape(b, result, s->rank, s->dims);
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!is_select_and_scatter(i)) return NULL;
    HloInstruction *x = hlo_mapped(b, i->operands[0]), *source = hlo_mapped(b, i->operands[1]);
    const int64_t n = hlo_elements(x->shape), n_covers = covers(i);
    const ScType index = n > INT32_MAX ? SC_I64 : SC_I32;
    HloComputation *c = chooser(b, computation_of(i, "select"), x->shape->type, index);
    if (!c) return NULL;
    HloInstruction *indices = hlo_new_reshape(b, hlo_new_iota(b, index, 1, &n, 0), x->shape->rank, x->shape->dims);
    HloInstruction *found = hlo_new_get_tuple_element(b, select_in_windows(b, i, x, indices, c), 1);
    HloInstruction *init = hlo_new_convert(b, hlo_mapped(b, i->operands[2]), x->shape->type);
    return n_covers ? gather(b, i, indices, found, source, init, n_covers) : scatter(b, i, found, source, init);
}

const HloModule *hlo_pass_select_and_scatter(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_select_and_scatter, .rewrite = rewrite});
}
