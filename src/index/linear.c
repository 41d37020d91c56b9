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

static IrRef linear(RwCx *rw, uint32_t rank, const int64_t *dims, const uint8_t *order, const IrRef *index)
{
    IrRef sum = ir_index(rw_graph(rw), 0);
    int64_t stride = 1;
    for (uint32_t p = 0; p < rank; p++) {
        const uint32_t d = minor_at(rank, order, p);
        if (dims[d] != 1) sum = rw_add(rw, sum, rw_scale(rw, index[d], stride));
        stride *= dims[d];
    }
    return sum;
}

/* The index in the most major dimension whose size is not 1 is a quotient without a remainder operation. */
static void delinear(RwCx *rw, uint32_t rank, const int64_t *dims, const uint8_t *order, IrRef element, IrRef *index)
{
    uint32_t major = 0;
    for (uint32_t p = 0; p < rank; p++)
        if (dims[minor_at(rank, order, p)] != 1) major = p;
    int64_t stride = 1;
    for (uint32_t p = 0; p < rank; p++) {
        const uint32_t d = minor_at(rank, order, p);
        assert(dims[d] > 0);
        if (dims[d] == 1) {
            index[d] = ir_index(rw_graph(rw), 0);
            continue;
        }
        const IrRef quotient = rw_floordiv(rw, element, stride);
        index[d] = p == major ? quotient : rw_mod(rw, quotient, dims[d]);
        stride *= dims[d];
    }
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
