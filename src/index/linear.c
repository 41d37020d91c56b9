/* linear.c: between the index of an element and its number, and between two ways to count the same elements.
 *
 * Needs indices within their dimensions; leaves simplified nodes. Dimensions of size 1 have index 0 whatever was given, so that
 * they never tie a group together.
 *
 *     f32[4,6]{0,1}, index (i, j)   =>   4*j + i
 *     regroup [4,6] -> [2,2,6]      =>   (i // 2, i % 2, j)
 */
#include "index/index.h"

/* Dimension at position p, counted from the minor one. */
static uint32_t minor_at(const HloShape *s, uint32_t p) { return s->minor_to_major ? s->minor_to_major[p] : s->rank - 1u - p; }

IrRef ix_linear(RwCx *rw, const HloShape *s, const IrRef *index)
{
    IrRef sum = ir_index(rw_graph(rw), 0);
    int64_t stride = 1;
    for (uint32_t p = 0; p < s->rank; p++) {
        const uint32_t d = minor_at(s, p);
        if (s->dims[d] != 1) sum = rw_add(rw, sum, rw_scale(rw, index[d], stride));
        stride *= s->dims[d];
    }
    return sum;
}

/* The most major dimension that is not 1: its quotient needs no remainder. */
static uint32_t major_position(const HloShape *s)
{
    uint32_t major = 0;
    for (uint32_t p = 0; p < s->rank; p++)
        if (s->dims[minor_at(s, p)] != 1) major = p;
    return major;
}

void ix_delinear(RwCx *rw, const HloShape *s, IrRef element, IrRef *index)
{
    const uint32_t major = s->rank ? major_position(s) : 0;
    int64_t stride = 1;
    for (uint32_t p = 0; p < s->rank; p++) {
        const uint32_t d = minor_at(s, p);
        assert(s->dims[d] > 0);
        if (s->dims[d] == 1) {
            index[d] = ir_index(rw_graph(rw), 0);
            continue;
        }
        const IrRef quotient = rw_floordiv(rw, element, stride);
        index[d] = p == major ? quotient : rw_mod(rw, quotient, s->dims[d]);
        stride *= s->dims[d];
    }
}

/* One group: the `n` dimensions `from` and the `m` dimensions `to` have the same product, and no shorter prefix of both has. */
static void regroup_piece(RwCx *rw, uint32_t n, const int64_t *from_dims, const IrRef *from, uint32_t m, const int64_t *to_dims,
                          IrRef *to)
{
    IrRef element = ir_index(rw_graph(rw), 0);
    int64_t stride = 1;
    for (uint32_t i = n; i-- > 0;) {
        if (from_dims[i] != 1) element = rw_add(rw, element, rw_scale(rw, from[i], stride));
        stride *= from_dims[i];
    }
    uint32_t major = 0;
    while (major < m && to_dims[major] == 1) major++;
    stride = 1;
    for (uint32_t i = m; i-- > 0;) {
        if (to_dims[i] == 1) {
            to[i] = ir_index(rw_graph(rw), 0);
            continue;
        }
        const IrRef quotient = rw_floordiv(rw, element, stride);
        to[i] = i == major ? quotient : rw_mod(rw, quotient, to_dims[i]);
        stride *= to_dims[i];
    }
}

void ix_regroup(RwCx *rw, uint32_t from_rank, const int64_t *from_dims, const IrRef *from, uint32_t to_rank, const int64_t *to_dims,
                IrRef *to)
{
    uint32_t i = 0, j = 0;
    while (i < from_rank || j < to_rank) {
        const uint32_t first_i = i, first_j = j;
        int64_t product_i = i < from_rank ? from_dims[i++] : 1, product_j = j < to_rank ? to_dims[j++] : 1;
        assert(product_i > 0 && product_j > 0);
        while (product_i != product_j) {
            if (product_i < product_j) {
                assert(i < from_rank);
                product_i *= from_dims[i++];
            } else {
                assert(j < to_rank);
                product_j *= to_dims[j++];
            }
        }
        regroup_piece(rw, i - first_i, from_dims + first_i, from + first_i, j - first_j, to_dims + first_j, to + first_j);
    }
}
