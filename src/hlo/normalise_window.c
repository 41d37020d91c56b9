/* normalise_window: select-and-scatter as a search in windows and a scatter.
 *
 * Needs: a verified module. Leaves: a reduce-window of two inputs, the operand and the number of each of its elements, that finds
 * which element each window selects; and a scatter of the source to those numbers, into an array of the initial value. Both are
 * operations that later modules have emitters for. The other form, for each element a search among the windows that hold it, needs
 * no atomics but reads each window as often as it has elements.
 *
 * A window that lies in the padding alone selects number -1, which is out of range: the scatter drops it. Where windows neither
 * overlap nor reach into padding no number comes twice, and the scatter says so: it then needs no atomics either.
 *
 *     select-and-scatter(f32[4] x, f32[2] s, f32[] z), window={size=2 stride=2}, select=ge, scatter=add
 *         n = s32[4] iota(), w = (f32[2], s32[2]) reduce-window(x, n, 0, -1), window={..}, to_apply=(keep what ge keeps)
 *         f32[4] scatter(broadcast(z), s32[2,1] reshape(w.1), s), .., unique_indices=true, to_apply=add
 */
#include "hlo/normalise.h"

#include <string.h>

static HloInstruction *parameter(HloBuilder *b, uint32_t k) { return b->list.items[k]; }

/* (kept, its number, next, its number) -> the one that stays. Numbers below 0 are those of no element: the initial value, padding. */
static HloComputation *chooser(HloBuilder *b, const HloComputation *select, ScType type, ScType index)
{
    const HloShape *value = hlo_make_array(b->arena, type, 0, NULL), *number = hlo_make_array(b->arena, index, 0, NULL);
    const HloShape *shapes[] = {value, number, value, number};
    HloBuilder in = hlo_begin_computation(b, 4, shapes);
    HloInstruction *kept = parameter(&in, 0), *kept_number = parameter(&in, 1), *next = parameter(&in, 2), *next_number = parameter(&in, 3);
    HloInstruction *zero = hlo_new_scalar(&in, index, 0), *operands[] = {kept, next};
    HloInstruction *chosen = hlo_inline(&in, select, operands);
    if (!chosen) return NULL;
    HloInstruction *some = hlo_new_compare(&in, HLO_GE, kept_number, zero), *none = hlo_new_compare(&in, HLO_LT, next_number, zero);
    HloInstruction *stays = hlo_new_binary(&in, HLO_OR, hlo_new_binary(&in, HLO_AND, some, chosen), none);
    HloInstruction *chosen_value = hlo_new_select(&in, stays, kept, next);
    HloInstruction *parts[] = {chosen_value, hlo_new_select(&in, stays, kept_number, next_number)};
    return hlo_end_computation(&in, wbb_format(b->arena, "%s.kept", select->name), hlo_new_tuple(&in, 2, parts));
}

static HloInstruction *searched(HloBuilder *b, const HloInstruction *i, HloInstruction *x, HloInstruction *numbers, HloComputation *c)
{
    const HloShape *source = i->operands[1]->shape;
    HloInstruction *zero = hlo_new_scalar(b, x->shape->type, 0), *none = hlo_new_scalar(b, numbers->shape->type, -1);
    HloInstruction *operands[] = {x, numbers, zero, none};
    const HloShape **parts = WBB_NEW_N(b->arena, const HloShape *, 2);
    parts[0] = hlo_make_array(b->arena, x->shape->type, source->rank, source->dims);
    parts[1] = hlo_make_array(b->arena, numbers->shape->type, source->rank, source->dims);
    HloInstruction *w = hlo_new(b, HLO_REDUCE_WINDOW, hlo_make_tuple(b->arena, 2, parts), 4, operands);
    w->windows = i->windows;
    w->n_windows = i->n_windows;
    hlo_set_computation(b, w, "to_apply", c);
    return w;
}

static bool apart(const HloInstruction *i)
{
    for (uint32_t d = 0; d < i->n_windows; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->low > 0 || w->high > 0 || w->lhs_dilate != 1 || (w->size - 1) * w->rhs_dilate >= w->stride) return false;
    }
    return true;
}

static HloComputation *called(const HloBuilder *b, const HloInstruction *i, const char *attribute)
{
    for (uint32_t k = 0; k < i->n_called; k++)
        if (strcmp(i->called_by[k], attribute) == 0) return b->made[i->called[k]->id];
    return NULL;
}

static const HloComputation *source_of(const HloInstruction *i, const char *attribute)
{
    for (uint32_t k = 0; k < i->n_called; k++)
        if (strcmp(i->called_by[k], attribute) == 0) return i->called[k];
    return NULL;
}

static bool is_select_and_scatter(const HloInstruction *i)
{
    const HloShape *x = i->opcode == HLO_SELECT_AND_SCATTER ? i->operands[0]->shape : NULL;
    return x && x->rank && i->windows && i->n_windows == x->rank && source_of(i, "select") && source_of(i, "scatter");
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!is_select_and_scatter(i)) return NULL;
    HloInstruction *x = hlo_mapped(b, i->operands[0]), *source = hlo_mapped(b, i->operands[1]), *init = hlo_mapped(b, i->operands[2]);
    const int64_t n = hlo_elements(x->shape), many = hlo_elements(source->shape), column[] = {many, 1};
    const ScType index = n > INT32_MAX ? SC_I64 : SC_I32;
    HloComputation *c = chooser(b, source_of(i, "select"), x->shape->type, index);
    if (!c) return NULL;
    HloInstruction *numbers = hlo_new_reshape(b, hlo_new_iota(b, index, 1, &n, 0), x->shape->rank, x->shape->dims);
    HloInstruction *found = hlo_new_get_tuple_element(b, searched(b, i, x, numbers, c), 1);
    HloInstruction *start = hlo_new_splat(b, hlo_new_convert(b, init, x->shape->type), 1, &n), *rows = hlo_new_reshape(b, found, 2, column);
    HloInstruction *operands[] = {start, rows, hlo_new_reshape(b, source, 1, &many)};
    HloInstruction *result = hlo_new(b, HLO_SCATTER, operands[0]->shape, 3, operands);
    hlo_set_computation(b, result, "to_apply", called(b, i, "scatter"));
    const char *unique = apart(i) ? ", unique_indices=true" : "";
    hlo_set_attributes(b, result,
                       wbb_format(b->arena, ", update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "
                                            "index_vector_dim=1%s", unique));
    return hlo_new_reshape(b, result, x->shape->rank, x->shape->dims);
}

const HloModule *hlo_pass_select_and_scatter(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_select_and_scatter, .rewrite = rewrite});
}
