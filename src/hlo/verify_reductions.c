/* verify_reductions: operations that call a computation for elements: reductions, windows, sort, map, scan; and top-k.
 *
 * Needs: the checks of verify_require.c; called computations verified. Leaves: the result's shape, set or compared.
 *
 * A combiner of n values takes n accumulators and n inputs, all scalars, and returns n scalars (a tuple if n > 1).
 *
 *     reduce(f32[8], f32[]), dimensions={0}, to_apply=m      where m takes one parameter
 *         error: reduce: 'm' has 1 parameters, 2 expected
 */
#include "hlo/inner.h"

#include <string.h>

const HloComputation *hlo_only_computation(HloVerifier *v, const HloInstruction *i)
{
    if (i->n_called != 1) hlo_invalid(v, i, "%u computations are named, one expected", i->n_called);
    return i->called[0];
}

/* Parameter k of c is a scalar of a type compatible with `type`. */
static void require_parameter(HloVerifier *v, const HloInstruction *i, const HloComputation *c, uint32_t k, ScType type)
{
    const HloShape *s = c->parameters[k]->shape;
    if (s->type != SC_TUPLE && s->rank == 0 && hlo_compatible_types(type, s->type)) return;
    hlo_invalid(v, i, "parameter %u of '%s' has shape %s, %s[] expected", k, c->name, hlo_short_shape(v, s),
                sc_type_info[type].hlo);
}

static void require_parameters(HloVerifier *v, const HloInstruction *i, const HloComputation *c, uint32_t n)
{
    if (c->n_parameters != n) hlo_invalid(v, i, "'%s' has %u parameters, %u expected", c->name, c->n_parameters, n);
}

static void require_root(HloVerifier *v, const HloInstruction *i, const HloComputation *c, const HloShape *s,
                         ScType type)
{
    if (s->type != SC_TUPLE && s->rank == 0 && hlo_compatible_types(s->type, type)) return;
    hlo_invalid(v, i, "'%s' returns %s, %s[] expected", c->name, hlo_short_shape(v, s), sc_type_info[type].hlo);
}

void hlo_require_combiner(HloVerifier *v, const HloInstruction *i, const HloComputation *c, uint32_t n,
                          const HloShape *const *values)
{
    const HloShape *root = c->root->shape;
    require_parameters(v, i, c, 2 * n);
    for (uint32_t k = 0; k < 2 * n; k++) require_parameter(v, i, c, k, values[k % n]->type);
    if (n == 1) {
        require_root(v, i, c, root, values[0]->type);
        return;
    }
    if (root->type != SC_TUPLE || root->n_elements != n)
        hlo_invalid(v, i, "'%s' returns %s, a tuple of %u scalars expected", c->name, hlo_short_shape(v, root), n);
    for (uint32_t k = 0; k < n; k++) require_root(v, i, c, root->elements[k], values[k]->type);
}

/* c takes two scalars of each value's type, and returns a pred. */
static void require_predicate(HloVerifier *v, const HloInstruction *i, const HloComputation *c, uint32_t n,
                              const HloShape *const *values)
{
    require_parameters(v, i, c, 2 * n);
    for (uint32_t k = 0; k < 2 * n; k++) require_parameter(v, i, c, k, values[k / 2]->type);
    if (c->root->shape->type != SC_PRED || c->root->shape->rank)
        hlo_invalid(v, i, "'%s' returns %s, pred[] expected", c->name, hlo_short_shape(v, c->root->shape));
}

static const HloShape *first_input(HloVerifier *v, const HloInstruction *i)
{
    if (i->n_operands == 0 || i->n_operands % 2)
        hlo_invalid(v, i, "%u operands found, as many inputs as initial values expected", i->n_operands);
    return hlo_array_operand(v, i, 0);
}

/* Operands: n inputs of equal dimensions, n initial values. Result k has dimensions `dims` and the type of initial
 * value k. */
static void verify_inputs(HloVerifier *v, HloInstruction *i, uint32_t rank, const WbbI128 *dims)
{
    uint32_t n = i->n_operands / 2;
    const HloShape **parts = WBB_NEW_N(v->scratch, const HloShape *, n);
    for (uint32_t k = 0; k < n; k++) {
        const HloShape *s = hlo_array_operand(v, i, k);
        ScType type = hlo_array_operand(v, i, n + k)->type;
        hlo_require_dims(v, i, hlo_operand_name(v, k), s, hlo_array_operand(v, i, 0));
        if (!hlo_compatible_types(type, s->type)) hlo_require_scalar(v, i, n + k, s->type);
        hlo_require_scalar(v, i, n + k, type);
        parts[k] = hlo_make_result(v, i, type, rank, dims);
    }
    hlo_require_combiner(v, i, hlo_only_computation(v, i), n, parts);
    hlo_set_result_parts(v, i, n, parts);
}

static void verify_reduce(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = first_input(v, i);
    uint64_t reduced = hlo_require_dimensions(v, i, "dimensions", (HloInts){i->dimensions, i->n_dimensions}, s->rank);
    WbbI128 dims[HLO_RANK_LIMIT];
    uint32_t rank = 0;
    for (uint32_t d = 0; d < s->rank; d++)
        if (!(reduced >> d & 1)) dims[rank++] = s->dims[d];
    verify_inputs(v, i, rank, dims);
}

WbbI128 hlo_window_count(HloVerifier *v, const HloInstruction *i, uint32_t d, int64_t size)
{
    const HloWindow *w = &i->windows[d];
    if (w->size < 1 || w->stride < 1 || w->lhs_dilate < 1 || w->rhs_dilate < 1)
        hlo_invalid(v, i, "size, stride and dilation of a window are at least 1: dimension %u", d);
    WbbI128 base = size ? (WbbI128)(size - 1) * w->lhs_dilate + 1 : 0;
    WbbI128 window = (WbbI128)(w->size - 1) * w->rhs_dilate + 1;
    base += (WbbI128)w->low + w->high;
    return base < window ? 0 : (base - window) / w->stride + 1;
}

static void verify_reduce_window(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = first_input(v, i);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_require_rank(v, i, "window", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = hlo_window_count(v, i, d, s->dims[d]);
    verify_inputs(v, i, s->rank, dims);
}

/* `select` chooses an element of each window of operand 0; `scatter` combines the window's element of operand 1 into
 * it. */
static void verify_select_and_scatter(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0), *source = hlo_array_operand(v, i, 1);
    WbbI128 dims[HLO_RANK_LIMIT];
    hlo_require_rank(v, i, "window", i->n_windows, s);
    for (uint32_t d = 0; d < s->rank; d++) {
        dims[d] = hlo_window_count(v, i, d, s->dims[d]);
        if (i->windows[d].lhs_dilate != 1 || i->windows[d].rhs_dilate != 1)
            hlo_invalid(v, i, "the window is dilated: dimension %u", d);
    }
    hlo_require_array(v, i, "operand 1", source, hlo_compatible_types(source->type, s->type) ? source->type : s->type,
                      s->rank, dims);
    ScType init = hlo_array_operand(v, i, 2)->type;
    hlo_require_scalar(v, i, 2, hlo_compatible_types(init, s->type) ? init : s->type);
    if (i->n_called != 2 || i->called_by[0] == i->called_by[1])
        hlo_invalid(v, i, "%u computations are named, one for select= and one for scatter= expected", i->n_called);
    for (uint32_t k = 0; k < 2; k++) {
        if (strcmp(i->called_by[k], "select") == 0) require_predicate(v, i, i->called[k], 1, &s);
        else hlo_require_combiner(v, i, i->called[k], 1, &source);
    }
    hlo_set_result_shape(v, i, s);
}

/* The comparator takes two elements of each operand: x0, y0, x1, y1, .. */
static void verify_sort(HloVerifier *v, HloInstruction *i)
{
    uint32_t n = i->n_operands;
    const HloShape *first = hlo_array_operand(v, i, 0);
    const HloShape **parts = WBB_NEW_N(v->scratch, const HloShape *, n);
    hlo_require_dimension(v, i, first->rank);
    for (uint32_t k = 0; k < n; k++) {
        parts[k] = hlo_array_operand(v, i, k);
        hlo_require_dims(v, i, hlo_operand_name(v, k), parts[k], first);
    }
    require_predicate(v, i, hlo_only_computation(v, i), n, parts);
    hlo_set_result_parts(v, i, n, parts);
}

/* dimensions= is a relic: a map always applies to every element. */
static void verify_map(HloVerifier *v, HloInstruction *i)
{
    const HloShape *first = hlo_array_operand(v, i, 0);
    const HloComputation *c = hlo_only_computation(v, i);
    require_parameters(v, i, c, i->n_operands);
    for (uint32_t k = 0; k < i->n_operands; k++) {
        hlo_require_dims(v, i, hlo_operand_name(v, k), hlo_array_operand(v, i, k), first);
        require_parameter(v, i, c, k, i->operands[k]->shape->type);
    }
    hlo_require_dimensions(v, i, "dimensions", (HloInts){i->dimensions, i->n_dimensions}, first->rank);
    const HloShape *root = c->root->shape;
    if (root->type == SC_TUPLE || root->rank)
        hlo_invalid(v, i, "'%s' returns %s, a scalar expected", c->name, hlo_short_shape(v, root));
    hlo_set_result_type(v, i, root->type, first);
}

/* s without dimension d. */
static const HloShape *row_of(HloVerifier *v, const HloShape *s, int64_t d)
{
    int64_t dims[HLO_RANK_LIMIT];
    uint32_t rank = 0;
    for (uint32_t k = 0; k < s->rank; k++)
        if (k != d) dims[rank++] = s->dims[k];
    return hlo_make_array(v->scratch, s->type, rank, dims);
}

/* Inputs are scanned row by row along a dimension; the last num_carries operands are the initial carries. The
 * computation takes a row of each input and the carries, and returns a row of each output and the carries. The result
 * holds the outputs and the carries. */
static void verify_scan(HloVerifier *v, HloInstruction *i)
{
    const HloComputation *c = hlo_only_computation(v, i);
    int64_t carries = hlo_attribute_int(v->scratch, i, "num_carries", -1);
    hlo_require_written_shape(v, i);
    if (carries < 0 || carries > i->n_operands)
        hlo_invalid(v, i, "num_carries is %lld of %u operands", (long long)carries, i->n_operands);
    uint32_t inputs = i->n_operands - (uint32_t)carries;
    require_parameters(v, i, c, i->n_operands);
    int64_t dimension = 0;
    for (uint32_t k = 0; k < i->n_operands; k++) {
        const HloShape *s = hlo_array_operand(v, i, k);
        if (k < inputs) dimension = hlo_require_dimension(v, i, s->rank);
        hlo_require_shape(v, i, wbb_format(v->scratch, "parameter %u of '%s'", k, c->name), c->parameters[k]->shape,
                          k < inputs ? row_of(v, s, dimension) : s);
    }
    const HloShape *root = c->root->shape, *result = i->shape;
    uint32_t n = root->type == SC_TUPLE ? root->n_elements : 1,
             made = result->type == SC_TUPLE ? result->n_elements : 1;
    if (n != made || n < carries)
        hlo_invalid(v, i, "the result has shape %s, but '%s' returns %s", hlo_short_shape(v, result), c->name,
                    hlo_short_shape(v, root));
    for (uint32_t k = 0; k < n; k++) {
        const HloShape *part = result->type == SC_TUPLE ? result->elements[k] : result;
        const HloShape *row = root->type == SC_TUPLE ? root->elements[k] : root;
        bool output = k < n - carries;
        if (output && (part->type == SC_TUPLE || part->rank <= dimension))
            hlo_invalid(v, i, "element %u of the result has shape %s", k, hlo_short_shape(v, part));
        hlo_require_shape(v, i, wbb_format(v->scratch, "element %u of what '%s' returns", k, c->name), row,
                          output ? row_of(v, part, dimension) : part);
    }
}

/* The k largest or smallest elements of each row, and their indices. */
static void verify_topk(HloVerifier *v, HloInstruction *i)
{
    hlo_require_count(v, i, 1, 1);
    const HloShape *s = hlo_array_operand(v, i, 0);
    int64_t k = hlo_attribute_int(v->scratch, i, "k", -1);
    WbbI128 dims[HLO_RANK_LIMIT];
    if (s->rank == 0 || k < 0 || k > s->dims[s->rank - 1])
        hlo_invalid(v, i, "k is %lld for rows of %s", (long long)k, hlo_short_shape(v, s));
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = d + 1u < s->rank ? s->dims[d] : k;
    const HloShape *parts[2] = {hlo_make_result(v, i, s->type, s->rank, dims),
                                hlo_make_result(v, i, SC_I32, s->rank, dims)};
    hlo_set_result_parts(v, i, 2, parts);
}

bool hlo_verify_reduction(HloVerifier *v, HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_REDUCE: verify_reduce(v, i); return true;
    case HLO_REDUCE_WINDOW: verify_reduce_window(v, i); return true;
    case HLO_SELECT_AND_SCATTER: verify_select_and_scatter(v, i); return true;
    case HLO_SORT: verify_sort(v, i); return true;
    case HLO_MAP: verify_map(v, i); return true;
    case HLO_SCAN: verify_scan(v, i); return true;
    case HLO_TOPK: verify_topk(v, i); return true;
    default: return false;
    }
}
