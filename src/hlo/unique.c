/* unique: do the indices of a scatter differ, as the text has them?
 *
 * Needs a scatter in canonical form (normalise_gather.c), whose indices are an array of rows, one for each update.
 * Leaves a proof that no two updates reach the same element: in some column, indices are a + b * row, where b is at
 * least the size of the window in that dimension (iotas, constants, and sums, products, views of them, none of which
 * wraps around), or are constants that lie so far apart. An index beyond the operand is left out, which harms nothing.
 *
 *     s32[128,1] multiply(iota(), broadcast(3)), windows of up to 3 elements        =>   true
 *     s32[4,2] constant({ {0, 1}, {2, 0}, {0, 0}, {1, 1} }), of single elements     =>   true
 */
#include "hlo/hlo.h"

#include <stdlib.h>

/* The value of an element: a plus, for each dimension, b times the coordinate; never beyond its type. */
typedef struct {
    WbbI128 a, b[HLO_RANK_LIMIT];
} Affine;

enum { DEEP = 32, MOST_ROWS = 1 << 16 };

static bool affine_of(const HloInstruction *i, uint32_t depth, Affine *r);

static void range_of(const HloShape *s, const Affine *x, WbbI128 *lo, WbbI128 *hi)
{
    *lo = *hi = x->a;
    for (uint32_t d = 0; d < s->rank; d++) *(x->b[d] < 0 ? lo : hi) += x->b[d] * (WbbI128)(s->dims[d] - 1);
}

/* Are all values of the type? Then no operation before has wrapped around. */
static bool fits(const HloShape *s, const Affine *x)
{
    const ScType t = s->type;
    WbbI128 lo, hi;
    if (!sc_is_int(t) || !hlo_elements(s)) return false;
    range_of(s, x, &lo, &hi);
    const uint32_t bits = sc_type_info[t].bits - sc_is_signed(t);
    const WbbI128 most = ((WbbI128)1 << bits) - 1, least = sc_is_signed(t) ? -most - 1 : 0;
    return lo >= least && hi <= most;
}

static WbbI128 literal_at(const HloInstruction *i, int64_t k)
{
    return sc_to_i128(i->shape->type, hlo_literal_bits(i, k));
}

static bool is_literal(const HloInstruction *i)
{
    return i->opcode == HLO_CONSTANT && i->literal && sc_is_int(i->shape->type) && hlo_elements(i->shape) > 0;
}

/* A view that adds or leaves out dimensions of one element. */
static bool reshaped(const HloShape *from, const HloShape *to, const Affine *x, Affine *r)
{
    uint32_t d = 0;
    for (uint32_t k = 0; k < to->rank; k++) {
        if (to->dims[k] == 1) continue;
        while (d < from->rank && from->dims[d] == 1) d++;
        if (d == from->rank || from->dims[d] != to->dims[k]) return false;
        r->b[k] = x->b[d++];
    }
    while (d < from->rank && from->dims[d] == 1) d++;
    r->a = x->a;
    return d == from->rank;
}

static bool is_fixed(const HloShape *s, const Affine *x)
{
    for (uint32_t d = 0; d < s->rank; d++)
        if (x->b[d] && s->dims[d] > 1) return false;
    return true;
}

static bool arithmetic(const HloInstruction *i, uint32_t depth, Affine *r)
{
    Affine x = {0}, y = {0};
    if (!affine_of(i->operands[0], depth, &x) || !affine_of(i->operands[1], depth, &y)) return false;
    if (i->opcode == HLO_MULTIPLY) {
        if (is_fixed(i->shape, &x)) { const Affine of = x; x = y, y = of; }
        if (!is_fixed(i->shape, &y)) return false;
        r->a = x.a * y.a;
        for (uint32_t d = 0; d < i->shape->rank; d++) r->b[d] = x.b[d] * y.a;
        return true;
    }
    const WbbI128 sign = i->opcode == HLO_SUBTRACT ? -1 : 1;
    r->a = x.a + sign * y.a;
    for (uint32_t d = 0; d < i->shape->rank; d++) r->b[d] = x.b[d] + sign * y.b[d];
    return true;
}

/* The side of a select whose condition, x < y or x >= y, is the same everywhere: jax counts negative indices from the
 * end. */
static bool selected(const HloInstruction *i, uint32_t depth, Affine *r)
{
    const HloInstruction *c = i->operands[0];
    Affine x = {0}, y = {0};
    WbbI128 x_lo, x_hi, y_lo, y_hi;
    if (c->opcode != HLO_COMPARE || (c->direction != HLO_LT && c->direction != HLO_GE)) return false;
    if (!affine_of(c->operands[0], depth, &x) || !affine_of(c->operands[1], depth, &y)) return false;
    range_of(c->shape, &x, &x_lo, &x_hi);
    range_of(c->shape, &y, &y_lo, &y_hi);
    if (x_lo < y_hi && x_hi >= y_lo) return false;
    const bool less = x_hi < y_lo;
    return affine_of(i->operands[less == (c->direction == HLO_LT) ? 1 : 2], depth, r);
}

static bool moved(const HloInstruction *i, uint32_t depth, Affine *r)
{
    Affine x = {0};
    const HloShape *from = i->operands[0]->shape;
    if (!affine_of(i->operands[0], depth, &x)) return false;
    if (i->opcode == HLO_RESHAPE || i->opcode == HLO_BITCAST) {
        const bool same = i->opcode == HLO_RESHAPE || (hlo_is_row_major(from) && hlo_is_row_major(i->shape));
        return same && from->type == i->shape->type && reshaped(from, i->shape, &x, r);
    }
    r->a = x.a;
    for (uint32_t d = 0; d < from->rank; d++) {
        HloRead read = {d, 1, 0, 0};
        (void)hlo_reads(i, d, &read); /* a copy and a conversion read at their own index */
        if (read.modulus) return false;
        r->a += x.b[d] * read.offset;
        if (read.dim >= 0) r->b[read.dim] += x.b[d] * read.scale;
    }
    return true;
}

static bool affine_of(const HloInstruction *i, uint32_t depth, Affine *r)
{
    bool known = false;
    if (!depth || i->shape->type == SC_TUPLE || !sc_is_int(i->shape->type)) return false;
    switch (i->opcode) {
    case HLO_IOTA: r->b[i->number] = 1, known = true; break;
    case HLO_CONSTANT:
        known = is_literal(i) && (i->literal_splat || hlo_elements(i->shape) == 1);
        if (known) r->a = literal_at(i, 0);
        break;
    case HLO_ADD: case HLO_SUBTRACT: case HLO_MULTIPLY: known = arithmetic(i, depth - 1, r); break;
    case HLO_SELECT: known = selected(i, depth - 1, r); break;
    case HLO_COPY: case HLO_CONVERT: known = moved(i, depth - 1, r); break;
    default: known = hlo_kind(i->opcode) == HLO_IS_MOVE && moved(i, depth - 1, r); break;
    }
    return known && fits(i->shape, r);
}

static int by_value(const void *x, const void *y)
{
    const int64_t a = *(const int64_t *)x, b = *(const int64_t *)y;
    return (a > b) - (a < b);
}

/* Sorts the values; are any two at least `apart` from each other? */
static bool all_apart(int64_t *values, int64_t n, int64_t apart)
{
    qsort(values, (size_t)n, sizeof *values, by_value);
    for (int64_t k = 1; k < n; k++)
        if ((WbbI128)values[k] - values[k - 1] < apart) return false;
    return true;
}

/* Constants: one column, or, of windows of one element, all columns as a number. */
static bool constants_differ(WbbArena *a, const HloInstruction *i, const HloShape *to, const HloShape *from)
{
    const int64_t n = i->shape->dims[0], columns = i->shape->dims[1];
    if (n > MOST_ROWS || sc_type_info[i->shape->type].bits > 32) return false;
    int64_t *values = WBB_NEW_N(a, int64_t, n + 1), *all = WBB_NEW_N(a, int64_t, n + 1);
    bool single = true;
    for (int64_t c = 0; c < columns; c++) {
        single = single && from->dims[c + 1] == 1;
        for (int64_t k = 0; k < n; k++) {
            values[k] = (int64_t)literal_at(i, k * columns + c);
            single = single && values[k] >= 0 && values[k] < to->dims[c];
            if (single) all[k] = all[k] * to->dims[c] + values[k];
        }
        if (all_apart(values, n, from->dims[c + 1])) return true;
    }
    return single && all_apart(all, n, 1);
}

/* Column c of the indices, through a concatenate of columns. */
static const HloInstruction *column_of(const HloInstruction *i, int64_t *c)
{
    while (i->opcode == HLO_CONCATENATE && i->n_dimensions == 1 && i->dimensions[0] == 1) {
        uint32_t k = 0;
        for (; k < i->n_operands && *c >= i->operands[k]->shape->dims[1]; k++) *c -= i->operands[k]->shape->dims[1];
        i = i->operands[k];
    }
    return i;
}

bool hlo_counts_rows(const HloInstruction *column)
{
    Affine x = {0};
    return affine_of(column, DEEP, &x) && x.a == 0 && x.b[0] == 1;
}

bool hlo_indices_differ(WbbArena *a, const HloInstruction *s)
{
    const HloInstruction *indices = s->operands[s->n_operands / 2];
    const HloShape *from = s->operands[s->n_operands / 2 + 1]->shape, *to = s->operands[0]->shape;
    if (indices->shape->rank != 2 || !hlo_elements(indices->shape)) return false;
    if (is_literal(indices) && constants_differ(a, indices, to, from)) return true;
    for (int64_t c = 0; c < indices->shape->dims[1]; c++) {
        int64_t at = c;
        Affine x = {0};
        if (!affine_of(column_of(indices, &at), DEEP, &x)) continue;
        const WbbI128 step = x.b[0] < 0 ? -x.b[0] : x.b[0];
        if (step >= from->dims[c + 1]) return true;
    }
    return false;
}
