/* shape: the shapes of values: made, compared, counted.
 *
 * Needs: an arena for the shapes that are made. Leaves: shapes with the default layout (the last dimension moves
 * fastest).
 *
 *     hlo_make_array(a, SC_F32, 2, (int64_t[]){2, 3})     f32[2,3]{1,0}, of 6 elements
 */
#include "hlo/inner.h"

#include <string.h>

const uint8_t *hlo_default_layout(WbbArena *a, uint32_t rank)
{
    uint8_t *order = WBB_NEW_N(a, uint8_t, rank ? rank : 1);
    for (uint32_t k = 0; k < rank; k++) order[k] = (uint8_t)(rank - 1 - k);
    return order;
}

const HloShape *hlo_make_array(WbbArena *a, ScType type, uint32_t rank, const int64_t *dims)
{
    HloShape *s = WBB_NEW(a, HloShape);
    int64_t *kept = WBB_NEW_N(a, int64_t, rank ? rank : 1);
    for (uint32_t d = 0; d < rank; d++) kept[d] = dims[d];
    s->type = type;
    s->n_leaves = 1;
    s->rank = (uint8_t)rank;
    s->dims = kept;
    s->minor_to_major = hlo_default_layout(a, rank);
    return s;
}

const HloShape *hlo_make_tuple(WbbArena *a, uint32_t n, const HloShape *const *elements)
{
    HloShape *s = WBB_NEW(a, HloShape);
    s->type = SC_TUPLE;
    s->elements = elements;
    s->n_elements = n;
    uint64_t leaves = 0;
    for (uint32_t k = 0; k < n; k++) {
        leaves += elements[k]->n_leaves;
        s->depth = (uint8_t)WBB_MAX(s->depth, elements[k]->depth);
    }
    s->n_leaves = (uint32_t)WBB_MIN(leaves, UINT32_MAX);
    s->depth++;
    return s;
}

ScType hlo_type_named(const char *name, size_t n)
{
    ScType t = sc_type_named(name, n);
    if (t == SC_NONE || t == SC_TUPLE) return SC_NONE;
    const char *hlo = sc_type_info[t].hlo;
    return strlen(hlo) == n && memcmp(hlo, name, n) == 0 ? t : SC_NONE; /* the fusion IR may have another name */
}

bool hlo_is_border(const HloInstruction *i)
{
    if (i->opcode != HLO_PAD) return false;
    const int64_t inside = hlo_elements(i->operands[0]->shape), all = hlo_elements(i->shape);
    for (uint32_t d = 0; d < i->shape->rank; d++)
        if (i->paddings[d].interior) return false;
    return inside > 0 && inside >= all - all / 4;
}

bool hlo_is_row_major(const HloShape *s)
{
    for (uint32_t k = 0; k < s->rank; k++)
        if (s->minor_to_major[k] != s->rank - 1 - k) return false;
    return true;
}

int64_t hlo_elements(const HloShape *s)
{
    int64_t n = 1;
    for (uint32_t d = 0; d < s->rank; d++) n *= s->dims[d];
    return n;
}

uint64_t hlo_bytes(const HloShape *s)
{
    if (s->type != SC_TUPLE) return ((uint64_t)hlo_elements(s) * sc_type_info[s->type].bits + 7) / 8;
    uint64_t sum = 0;
    for (uint32_t k = 0; k < s->n_elements; k++) sum += hlo_bytes(s->elements[k]); /* as deep as shapes nest */
    return sum;
}

bool hlo_same_dims(const HloShape *x, const HloShape *y)
{
    return x->rank == y->rank && (x->rank == 0 || memcmp(x->dims, y->dims, x->rank * sizeof *x->dims) == 0);
}

bool hlo_same_shape(const HloShape *x, const HloShape *y)
{
    if (x == y) return true;
    if (x->type != y->type) return false;
    if (x->type != SC_TUPLE) return hlo_same_dims(x, y);
    if (x->n_elements != y->n_elements) return false;
    for (uint32_t k = 0; k < x->n_elements; k++)
        if (!hlo_same_shape(x->elements[k], y->elements[k])) return false;
    return true;
}

static const HloShape **put_leaves(const HloShape *s, const HloShape **out)
{
    if (s->type != SC_TUPLE) {
        *out = s;
        return out + 1;
    }
    for (uint32_t k = 0; k < s->n_elements; k++) out = put_leaves(s->elements[k], out);
    return out;
}

uint32_t hlo_leaves(WbbArena *a, const HloShape *s, const HloShape ***leaves)
{
    *leaves = WBB_NEW_N(a, const HloShape *, s->n_leaves);
    put_leaves(s, *leaves);
    return s->n_leaves;
}

uint32_t hlo_leaves_before(const HloComputation *c, int64_t parameter)
{
    uint32_t n = 0;
    for (int64_t k = 0; k < parameter; k++) n += c->parameters[k]->shape->n_leaves;
    return n;
}
