/* terms.c: how many elements of its operands an element of an instruction's result needs, and which windows are scans.
 * Every price of computing a value again asks here: fuse, and plan for loops, cuts and what is computed again.
 *
 * Needs a verified instruction; leaves nothing. A fold needs each of its terms; others at most an element of an
 * operand, and of an operand that has the part of the result, in the mean that part.
 *
 *     reduce f32[64,128], {1}  =>  128 terms;    concatenate of f32[30] and f32[10]  =>  3/4 of one, 1/4 of the other
 */
#include "hlo/hlo.h"

double hlo_terms(WbbArena *a, const HloInstruction *i)
{
    double n = 1;
    switch (i->opcode) {
    case HLO_REDUCE:
        for (uint32_t k = 0; k < i->n_dimensions; k++) n *= (double)i->operands[0]->shape->dims[i->dimensions[k]];
        return n;
    case HLO_REDUCE_WINDOW:
        for (uint32_t d = 0; d < i->n_windows; d++) n *= (double)i->windows[d].size;
        return n;
    case HLO_DOT: {
        const HloInts dims = hlo_dot_dims(a, i).lhs_contracting;
        for (uint32_t k = 0; k < dims.n; k++) n *= (double)i->operands[0]->shape->dims[dims.items[k]];
        return n;
    }
    case HLO_CONVOLUTION: {
        const HloConvDims dims = hlo_conv_dims(a, i);
        for (uint32_t d = 0; d < i->n_windows; d++) n *= (double)i->windows[d].size;
        return dims.known ? n * (double)i->operands[1]->shape->dims[dims.rhs_input] : n;
    }
    default: return 0;
    }
}

bool hlo_has_starts(HloOpcode op) { return hlo_kind(op) == HLO_IS_CHOOSE && hlo_op_info[op].starts; }

bool hlo_joins(HloOpcode op) { return hlo_kind(op) == HLO_IS_CHOOSE && !hlo_op_info[op].starts; }

bool hlo_branches(HloOpcode op) { return hlo_kind(op) == HLO_IS_CHOOSE && hlo_op_info[op].starts != 1; }

bool hlo_is_start(const HloInstruction *i, uint32_t k)
{
    const int starts = hlo_op_info[i->opcode].starts;
    return starts < 0 ? k == i->n_operands / 2 : starts && k >= (uint32_t)starts;
}

bool hlo_is_term(const HloInstruction *i, uint32_t k)
{
    return k < (hlo_has(i->opcode, HLO_PRODUCTS) ? 2 : i->n_operands / 2);
}

/* Of a tuple its first array. */
static const HloShape *first_array(const HloShape *s)
{
    for (uint32_t e; s->type == SC_TUPLE && s->n_leaves; s = s->elements[e])
        for (e = 0; !s->elements[e]->n_leaves;) e++;
    return s;
}

double hlo_operand_share(const HloInstruction *i, uint32_t k)
{
    const HloShape *result = first_array(i->shape);
    const double of = (double)WBB_MAX(hlo_elements(i->operands[k]->shape), 1);
    const double n = (double)WBB_MAX(hlo_elements(result), 1);
    if (hlo_is_elementwise(i->opcode) || i->opcode == HLO_TUPLE || i->opcode == HLO_GET_TUPLE_ELEMENT) return -1;
    switch (i->opcode) {
    case HLO_CONCATENATE: return of / n;
    case HLO_PAD: return k ? 0 : WBB_MIN(of / n, 1);
    case HLO_DYNAMIC_UPDATE_SLICE: return k == 0 ? 1 : k == 1 ? of / n : 0;
    case HLO_DYNAMIC_SLICE: return k == 0;
    case HLO_GATHER: return 1;
    default: return hlo_is_move(i->opcode) ? 1 : WBB_MIN(of / n, 1); /* of others each element of an operand once */
    }
}

double hlo_needed(const HloInstruction *i, uint32_t k, double n, double terms, bool *same)
{
    const double share = hlo_operand_share(i, k);
    *same = !(terms > 0) && (share < 0 || hlo_has(i->opcode, HLO_IN_ORDER));
    if (terms > 0) return hlo_is_term(i, k) ? n * terms : n;
    if (i->opcode == HLO_SORT || i->opcode == HLO_SCATTER || i->opcode == HLO_SELECT_AND_SCATTER)
        return (double)hlo_elements(first_array(i->operands[k]->shape));
    return *same ? n : share > 0 ? n * share : 1;
}

int64_t hlo_split_length(const HloInstruction *i, uint32_t *slowest, uint32_t *run)
{
    const HloShape *s = i->operands[0]->shape;
    int64_t n = 1;
    *slowest = s->rank, *run = 0;
    for (uint32_t k = 0; k < i->n_dimensions; k++) *slowest = WBB_MIN(*slowest, (uint32_t)i->dimensions[k]);
    for (uint32_t d = *slowest; d < s->rank && hlo_is_reduced(i, d); d++) n *= s->dims[d], ++*run;
    return n;
}

/* --- scans -------------------------------------------------------------------------------------------------------- */
/* Cumulative sums, products, maxima, from either end: along one dimension the windows are prefixes of the operand, or
 * suffixes, and each has at most one element more than the one before; in all others they are of one element. Then each
 * result is the one before, combined with one element, and the work is linear in their number.
 *
 *     f32[8,100], size=1x100 pad=0_0x99_0      prefixes: at p element p joins
 *     f32[8,100], size=1x100 pad=0_0x100_0     f32[8,101], exclusive: at p element p - 1 joins
 *     f32[8,100], size=1x100 pad=0_0x0_99      suffixes: from the last p on, element p joins
 */

/* Is the result along dimension d the operand itself? */
static bool is_single(const HloWindow *w) { return w->size == 1 && w->low == 0 && w->high == 0; }

bool hlo_is_scan(const HloInstruction *i, HloScan *scan)
{
    bool found = false;
    if (i->opcode != HLO_REDUCE_WINDOW) return false;
    const HloShape *in = i->operands[0]->shape, *out = first_array(i->shape);
    for (uint32_t d = 0; d < in->rank; d++) {
        const HloWindow *w = &i->windows[d];
        if (w->stride != 1 || w->lhs_dilate != 1 || w->rhs_dilate != 1 || w->reversal) return false;
        if (is_single(w)) continue;
        if (found) return false;
        found = true, scan->dim = d;
    }
    if (!found || !hlo_elements(in) || !hlo_elements(out)) return false;
    const HloWindow *w = &i->windows[scan->dim];
    const int64_t n = in->dims[scan->dim], results = out->dims[scan->dim];
    /* window p is elements p - low .. p - low + size - 1 of the operand */
    const bool prefixes = results - 1 - w->low <= 0 && w->size - 1 - w->low <= 0;
    const bool suffixes = w->size - 1 - w->low >= n - 1 && results - 1 - w->low >= n - 1;
    scan->reverse = !prefixes;
    scan->shift = prefixes ? w->size - 1 - w->low : -w->low;
    return prefixes || suffixes;
}
