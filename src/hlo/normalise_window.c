/* normalise_window: select-and-scatter as a reduce-window and a scatter.
 *
 * Needs: a verified HLO module. Leaves: a reduce-window of two inputs, the operand and the linear index of each of its
 * elements, that computes which element each window selects; and a scatter of the source to those indices, into an
 * array of the initial value. The alternative, a search per element among the windows that hold it, needs no atomics
 * but reads each window once per element.
 *
 * A window that lies entirely in the padding selects index -1, which is out of range: the scatter drops it. If windows
 * neither overlap nor reach into padding, all indices differ, and the scatter has unique_indices=true: it then needs no
 * atomics either.
 *
 *     select-and-scatter(f32[4] x, f32[2] s, f32[] z), window={size=2 stride=2}, select=ge, scatter=add
 *         n = s32[4] iota(), w = (f32[2], s32[2]) reduce-window(x, n, 0, -1), window={..}, to_apply=(ge on pairs)
 *         f32[4] scatter(broadcast(z), s32[2,1] reshape(w.1), s), .., unique_indices=true, to_apply=add
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

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!is_select_and_scatter(i)) return NULL;
    HloInstruction *x = hlo_mapped(b, i->operands[0]), *source = hlo_mapped(b, i->operands[1]),
                   *init = hlo_mapped(b, i->operands[2]);
    const int64_t n = hlo_elements(x->shape), n_windows = hlo_elements(source->shape), column[] = {n_windows, 1};
    const ScType index = n > INT32_MAX ? SC_I64 : SC_I32;
    HloComputation *c = chooser(b, computation_of(i, "select"), x->shape->type, index);
    if (!c) return NULL;
    HloInstruction *indices = hlo_new_reshape(b, hlo_new_iota(b, index, 1, &n, 0), x->shape->rank, x->shape->dims);
    HloInstruction *found = hlo_new_get_tuple_element(b, select_in_windows(b, i, x, indices, c), 1);
    HloInstruction *start = hlo_new_splat(b, hlo_new_convert(b, init, x->shape->type), 1, &n),
                   *rows = hlo_new_reshape(b, found, 2, column);
    HloInstruction *operands[] = {start, rows, hlo_new_reshape(b, source, 1, &n_windows)};
    HloInstruction *result = hlo_new(b, HLO_SCATTER, operands[0]->shape, 3, operands);
    hlo_set_computation(b, result, "to_apply", b->made[computation_of(i, "scatter")->id]);
    const char *unique = windows_are_disjoint(i) ? ", unique_indices=true" : "";
    hlo_set_attributes(
        b, result,
        wbb_format(b->arena,
                   ", update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                   "index_vector_dim=1%s",
                   unique));
    return hlo_new_reshape(b, result, x->shape->rank, x->shape->dims);
}

const HloModule *hlo_pass_select_and_scatter(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_select_and_scatter, .rewrite = rewrite});
}
