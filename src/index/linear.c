/* linear.c: from the index of an element to its number and back, and to its index in an array of other dimensions.
 *
 * Needs indices within their dimensions; leaves simplified nodes. Dimensions of size 1 have index 0 whatever was given,
 * so that they never join two groups.
 *
 *     f32[4,6]{0,1}, index (i, j)   =>   4*j + i
 *     regroup [4,6] -> [2,2,6]      =>   (i // 2, i % 2, j)
 */
#include "index/index.h"

/* Dimension at position p, counted from the minor one; `order` NULL: row-major. */
static uint32_t minor_at(uint32_t rank, const uint8_t *order, uint32_t p) { return order ? order[p] : rank - 1u - p; }

/* Digits of a number that were made of it stand for it, or for a part of it, however each was simplified. */
static IrRef linear(RwCx *rw, uint32_t rank, const int64_t *dims, const uint8_t *order, const IrRef *index)
{
    IrRef sum = ir_index(rw_graph(rw), 0), digits[HLO_RANK_LIMIT];
    int64_t stride = 1, sizes[HLO_RANK_LIMIT];
    uint32_t n = 0;
    for (uint32_t p = 0; p < rank; p++) {
        const uint32_t d = minor_at(rank, order, p);
        if (dims[d] != 1) digits[n] = index[d], sizes[n++] = dims[d];
    }
    for (uint32_t k = 0; k < n;) {
        IrRef number = digits[k];
        const uint32_t known = rw_known_digits(rw, digits + k, sizes + k, n - k, &number);
        sum = rw_add(rw, sum, rw_scale(rw, number, stride));
        for (const uint32_t to = k + WBB_MAX(known, 1); k < to; k++) stride *= sizes[k];
    }
    return sum;
}

/* The index in the most major dimension whose size is not 1 is a quotient without a remainder operation. */
static void delinear(RwCx *rw, uint32_t rank, const int64_t *dims, const uint8_t *order, IrRef element, IrRef *index)
{
    IrRef digits[HLO_RANK_LIMIT], quotients[HLO_RANK_LIMIT];
    int64_t stride = 1, sizes[HLO_RANK_LIMIT];
    uint32_t major = 0, n = 0;
    for (uint32_t p = 0; p < rank; p++)
        if (dims[minor_at(rank, order, p)] != 1) major = p;
    for (uint32_t p = 0; p < rank; p++) {
        const uint32_t d = minor_at(rank, order, p);
        assert(dims[d] > 0);
        if (dims[d] == 1) {
            index[d] = ir_index(rw_graph(rw), 0);
            continue;
        }
        quotients[n] = rw_floordiv(rw, element, stride);
        digits[n] = index[d] = p == major ? quotients[n] : rw_mod(rw, quotients[n], dims[d]);
        stride *= dims[d], sizes[n++] = dims[d];
    }
    for (uint32_t k = 0; k + 1 < n; k++) rw_know_digits(rw, digits + k, sizes + k, n - k, quotients[k]);
}

IrRef ix_linear(RwCx *rw, const HloShape *s, const IrRef *index)
{
    return linear(rw, s->rank, s->dims, s->minor_to_major, index);
}

void ix_delinear(RwCx *rw, const HloShape *s, IrRef element, IrRef *index)
{
    delinear(rw, s->rank, s->dims, s->minor_to_major, element, index);
}

void ix_regroup(RwCx *rw, uint32_t from_rank, const int64_t *from_dims, const IrRef *from, uint32_t to_rank,
                const int64_t *to_dims, IrRef *to)
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
        /* a group: the shortest runs of dimensions from here on with the same product */
        const IrRef element = linear(rw, i - first_i, from_dims + first_i, NULL, from + first_i);
        delinear(rw, j - first_j, to_dims + first_j, NULL, element, to + first_j);
    }
}
