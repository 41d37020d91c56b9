/* normalise_first: a sort of which but the first element of each row is read, or the last, as a reduction.
 *
 * Needs: sorts by one operand, of integers, or of floats by their total order. Leaves, of those whose results are read
 * as slices of one place alone: the least or greatest of each row, or of pairs of value and place. Floats are compared
 * as integers, whose order is the total order of the bits, and made of these again: no two different values are equal
 * in it, so the result has the bits that the sort has there. Of equal values the sort, which is stable, has that of the
 * lowest place first and that of the highest last.
 *
 *     s = (f32[8,100], s32[8,100]) sort(x, iota), dimensions={1}, to_apply=(GT, TOTALORDER)    slices [0:8], [0:1]
 *         k = s32[8,100] select(b < 0, b ^ max, b) of b = bitcast-convert(x)
 *         r = (s32[8], s32[8]) reduce(k, iota, min, max), to_apply=(x > y or (x = y and i < j) ? (x, i) : (y, j))
 */
#include "hlo/normalise.h"

typedef enum { NEITHER, FIRST, LAST } End;

/* The operand that a sort is by, and whether the greatest of it come first; -1: it is none of these sorts. */
static int64_t key_of(const HloInstruction *i, bool *falls)
{
    if (!hlo_is_sort(i)) return -1;
    HloSortOrder order;
    if (!hlo_comparator_order(i, &order) || order.number->opcode != HLO_PARAMETER) return -1;
    const ScType t = order.number->shape->type;
    if (!(sc_is_int(t) || sc_is_float(t)) || t == SC_F8E8M0FNU || sc_type_info[t].bits < 8) return -1;
    *falls = order.falls;
    return order.operand;
}

/* Result number k of sort s, if i is one. */
static bool is_result(const HloInstruction *s, const HloInstruction *i, int64_t *k)
{
    *k = i->opcode == HLO_GET_TUPLE_ELEMENT ? i->number : 0;
    return i == s ? s->n_operands == 1 : i->opcode == HLO_GET_TUPLE_ELEMENT && i->operands[0] == s;
}

/* The end of its rows at which all of the results' users read one element; needed: [operands] of the sort. */
static End end_of(const HloComputation *c, const HloInstruction *s, bool *needed)
{
    End end = NEITHER;
    const int64_t dim = s->dimensions[0];
    for (uint32_t u = s->id + 1; u < c->n_instructions; u++)
        for (uint32_t o = 0; o < c->instructions[u]->n_operands; o++) {
            const HloInstruction *user = c->instructions[u], *of = user->operands[o];
            int64_t k;
            if (of == s && is_result(s, user, &k)) continue;
            if (!is_result(s, of, &k)) {
                if (of == s) return NEITHER;
                continue;
            }
            if (user->opcode != HLO_SLICE) return NEITHER;
            const HloSlice *slice = &user->slices[dim];
            const End here = slice->limit != slice->start + 1          ? NEITHER
                             : slice->start == 0                       ? FIRST
                             : slice->limit == of->shape->dims[dim]    ? LAST
                                                                       : NEITHER;
            if (here == NEITHER || (end && end != here)) return NEITHER;
            end = here, needed[k] = true;
        }
    int64_t k;
    return is_result(s, c->root, &k) || c->root == s ? NEITHER : end;
}

/* The end that is read of a sort that becomes a reduction. */
static End reduced_end(WbbArena *a, const HloComputation *c, const HloInstruction *i, bool **needed)
{
    bool falls;
    const int64_t key = key_of(i, &falls);
    *needed = NULL;
    if (key < 0 || i->operands[0]->shape->dims[i->dimensions[0]] > INT32_MAX) return NEITHER;
    *needed = WBB_NEW_N(a, bool, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++)
        if (!hlo_is_row_major(i->operands[k]->shape)) return NEITHER;
    const End end = end_of(c, i, *needed);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloInstruction *x = i->operands[k];
        if ((*needed)[k] && k != key && !(hlo_is_place(x, i->dimensions[0]) && sc_bytes(x->shape->type) >= 4))
            return NEITHER;
    }
    return end;
}

/* --- what replaces it --------------------------------------------------------------------------------------------- */
static ScType integer_of(ScType t)
{
    return sc_is_int(t) ? t : sc_signed(sc_type_info[t].bits);
}

/* The least or the greatest of an integer type, which a conversion saturates at. */
static HloInstruction *limit_of(HloBuilder *b, ScType t, bool greatest)
{
    return hlo_new_scalar(b, t, greatest ? 0x1p64 : -0x1p64);
}

/* Of the bits of a float the integer that has their place in the total order, and the bits of such an integer. */
static HloInstruction *ordered(HloBuilder *b, HloInstruction *bits)
{
    const HloShape *s = bits->shape;
    HloInstruction *most = hlo_new_splat(b, limit_of(b, s->type, true), s->rank, s->dims);
    HloInstruction *zero = hlo_new_number(b, s->type, 0, s);
    HloInstruction *flipped = hlo_new_binary(b, HLO_XOR, bits, most);
    return hlo_new_select(b, hlo_new_compare(b, HLO_LT, bits, zero), flipped, bits);
}

static HloInstruction *as_type(HloBuilder *b, HloInstruction *x, ScType t)
{
    if (x->shape->type == t) return x;
    return hlo_new(b, HLO_BITCAST_CONVERT, hlo_make_array(b->arena, t, x->shape->rank, x->shape->dims), 1, &x);
}

/* (x, i, y, j) -> the pair that stands at the end: of the greater value, and of the place that is nearer to it. */
static HloComputation *chooser(HloBuilder *b, ScType key, bool greatest, End end)
{
    const HloShape *x = hlo_make_array(b->arena, key, 0, NULL), *i = hlo_make_array(b->arena, SC_I32, 0, NULL);
    const HloShape *shapes[] = {x, i, x, i};
    HloBuilder in = hlo_begin_computation(b, 4, shapes);
    HloInstruction **p = in.list.items;
    HloInstruction *of[] = {p[0], p[1], p[2], p[3]};
    HloInstruction *before = hlo_new_compare(&in, greatest ? HLO_GT : HLO_LT, of[0], of[2]);
    HloInstruction *equal = hlo_new_compare(&in, HLO_EQ, of[0], of[2]);
    HloInstruction *nearer = hlo_new_compare(&in, end == FIRST ? HLO_LT : HLO_GT, of[1], of[3]);
    HloInstruction *takes = hlo_new_binary(&in, HLO_OR, before, hlo_new_binary(&in, HLO_AND, equal, nearer));
    HloInstruction *parts[2];
    for (uint32_t k = 0; k < 2; k++) parts[k] = hlo_new_select(&in, takes, of[k], of[2 + k]);
    return hlo_end_computation(&in, "end", hlo_new_tuple(&in, 2, parts));
}

static HloComputation *operation(HloBuilder *b, ScType key, bool greatest)
{
    const HloShape *x = hlo_make_array(b->arena, key, 0, NULL);
    return hlo_new_combiner(b, greatest ? HLO_MAXIMUM : HLO_MINIMUM, x, "end");
}

/* The values at the end of each row, and, if `places`, where in the row they are. */
static void reduce(HloBuilder *b, const HloInstruction *i, HloInstruction *key, bool greatest, End end, bool places,
                   HloInstruction **found)
{
    const int64_t dim = i->dimensions[0];
    const HloShape *of = key->shape;
    HloInstruction *least = limit_of(b, of->type, !greatest);
    if (!places) {
        found[0] = hlo_new_reduce(b, key, least, &dim, 1, operation(b, of->type, greatest));
        return;
    }
    HloInstruction *none = limit_of(b, SC_I32, end == FIRST);
    HloInstruction *operands[] = {key, hlo_new_iota(b, SC_I32, of->rank, of->dims, dim), least, none};
    const HloShape **parts = WBB_NEW_N(b->arena, const HloShape *, 2);
    int64_t dims[HLO_RANK_LIMIT], *reduced = WBB_NEW(b->arena, int64_t);
    for (uint32_t d = 0; d + 1u < of->rank; d++) dims[d] = of->dims[d < dim ? d : d + 1];
    for (uint32_t k = 0; k < 2; k++)
        parts[k] = hlo_make_array(b->arena, k ? SC_I32 : of->type, of->rank - 1, dims);
    HloInstruction *pair = hlo_new(b, HLO_REDUCE, hlo_make_tuple(b->arena, 2, parts), 4, operands);
    *reduced = dim;
    pair->dimensions = reduced, pair->n_dimensions = 1;
    hlo_set_computation(b, pair, "to_apply", chooser(b, of->type, greatest, end));
    for (uint32_t k = 0; k < 2; k++) found[k] = hlo_new_get_tuple_element(b, pair, k);
}

/* Rows of one element in place of those that are sorted. */
static HloInstruction *rows_of_one(HloBuilder *b, const HloInstruction *i)
{
    bool falls, *needed;
    const int64_t dim = i->dimensions[0], by = key_of(i, &falls);
    const End end = reduced_end(b->arena, b->source, i, &needed);
    HloInstruction *x = hlo_mapped(b, i->operands[by]), *found[2], **results;
    const ScType t = x->shape->type, integer = integer_of(t);
    int64_t dims[HLO_RANK_LIMIT];
    bool places = false;
    for (uint32_t d = 0; d < x->shape->rank; d++) dims[d] = d == dim ? 1 : x->shape->dims[d];
    for (uint32_t k = 0; k < i->n_operands; k++) places = places || (needed[k] && k != by);
    if (t != integer) x = ordered(b, as_type(b, x, integer));
    reduce(b, i, x, falls == (end == FIRST), end, places, found);
    if (t != integer) found[0] = as_type(b, ordered(b, found[0]), t);
    results = WBB_NEW_N(b->arena, HloInstruction *, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        HloInstruction *r = found[places && k != by];
        r = hlo_new_convert(b, r, needed[k] ? i->operands[k]->shape->type : r->shape->type);
        results[k] = hlo_new_reshape(b, r, i->operands[0]->shape->rank, dims);
    }
    return i->n_operands == 1 ? results[0] : hlo_new_tuple(b, i->n_operands, results);
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    if (!b->marks) return NULL;
    if (b->marks[i->id]) return i->n_operands == 1 ? hlo_dropped : rows_of_one(b, i);
    const HloInstruction *x = i->n_operands == 1 ? i->operands[0] : NULL;
    if (i->opcode == HLO_GET_TUPLE_ELEMENT && b->marks[x->id])
        return hlo_mapped(b, x)->operands[i->number];
    if (i->opcode != HLO_SLICE) return NULL;
    const HloInstruction *s = x->opcode == HLO_GET_TUPLE_ELEMENT ? x->operands[0] : x;
    if (!b->marks[s->id]) return NULL;
    HloSlice *slices = WBB_NEW_N(b->arena, HloSlice, i->n_windows);
    for (uint32_t d = 0; d < i->n_windows; d++)
        slices[d] = d == s->dimensions[0] ? (HloSlice){0, 1, 1} : i->slices[d];
    return hlo_new_slice(b, x == s ? rows_of_one(b, s) : hlo_mapped(b, x), slices);
}

static bool has_sort(const HloModule *m)
{
    for (uint32_t c = 0; c < m->n_computations; c++)
        for (uint32_t k = 0; k < m->computations[c]->n_instructions; k++)
            if (m->computations[c]->instructions[k]->opcode == HLO_SORT) return true;
    return false;
}

const HloModule *hlo_pass_first(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    if (!has_sort(m)) return m;
    m = hlo_pass_dead(cx, a, m); /* what nothing needs reads no place */
    const bool **marks = WBB_NEW_N(a, const bool *, m->n_computations);
    bool any = false;
    for (uint32_t c = 0; c < m->n_computations; c++) {
        const HloComputation *of = m->computations[c];
        bool *list = NULL;
        for (uint32_t k = 0; k < of->n_instructions; k++) {
            bool *needed;
            if (of->instructions[k]->opcode != HLO_SORT || !reduced_end(a, of, of->instructions[k], &needed)) continue;
            if (!list) list = WBB_NEW_N(a, bool, of->n_instructions + 1);
            list[k] = any = true;
        }
        marks[c] = list;
    }
    if (!any) return m;
    return hlo_pass_dead(cx, a, hlo_rewrite(cx, a, m, &(HloRewriter){.rewrite = rewrite, .marks = marks}));
}
