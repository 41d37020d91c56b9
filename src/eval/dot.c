/* dot: matrix products, with any number of batch, contracted and free dimensions.
 *
 * Needs: the verified dimension numbers. Leaves: the positions of the products of a result; mac.c adds them.
 *
 * The dimensions of the result are the batch dimensions, then the free ones of each operand, in order.
 *
 *     f32[2,4] dot(f32[2,3] a, f32[3,4] b), lhs_contracting_dims={1}, rhs_contracting_dims={0}     at (1, 2): a[1,:] .
 * b[:,2]
 */
#include "eval/inner.h"

typedef struct {
    uint32_t rank;                     /* of the result */
    int64_t factor[2][HLO_RANK_LIMIT]; /* stride of the result's dimension d in each operand */
    uint32_t n_outer;                  /* contracted dimensions except for the last */
    int64_t size[HLO_RANK_LIMIT], step[2][HLO_RANK_LIMIT];
} Dot;

static bool find(const void *arg, const int64_t *at, int64_t segment, int64_t *position)
{
    const Dot *d = arg;
    position[0] = position[1] = 0;
    for (uint32_t k = 0; k < d->rank; k++)
        for (int p = 0; p < 2; p++) position[p] += at[k] * d->factor[p][k];
    for (uint32_t k = d->n_outer; k-- > 0; segment /= d->size[k])
        for (int p = 0; p < 2; p++) position[p] += segment % d->size[k] * d->step[p][k];
    return true;
}

void *ev_dot(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    if (i->n_operands != 2)
        wbb_decline(e->cx, i->loc, WHY_LIBRARY, "a sparse dot is a library call, and is not evaluated");
    HloDotDims n = hlo_dot_dims(e->block, i);
    HloInts batch[2] = {n.lhs_batch, n.rhs_batch}, contracting[2] = {n.lhs_contracting, n.rhs_contracting};
    Dot d = {.rank = i->shape->rank};
    EvProducts products = {.count = 1, .segments = 1, .find = find, .arg = &d, .group = INT64_MAX};
    uint32_t next = batch[0].n;
    for (int p = 0; p < 2; p++) {
        const HloShape *s = i->operands[p]->shape;
        int64_t stride[HLO_RANK_LIMIT];
        ev_strides(s, stride);
        for (uint32_t k = 0; k < batch[p].n; k++) d.factor[p][k] = stride[batch[p].items[k]];
        for (uint32_t k = 0; k < s->rank; k++)
            if (!hlo_holds(batch[p], k) && !hlo_holds(contracting[p], k)) {
                *(p ? &products.right : &products.left) |= UINT32_C(1) << next;
                d.factor[p][next++] = stride[k];
            }
        for (uint32_t k = 0; k < contracting[p].n; k++) {
            int64_t dim = contracting[p].items[k];
            bool last = k + 1 == contracting[p].n;
            if (last) products.step[p] = stride[dim];
            else d.step[p][k] = stride[dim];
            if (p) continue;
            if (last) products.count = s->dims[dim];
            else products.segments *= d.size[k] = s->dims[dim];
        }
    }
    d.n_outer = contracting[0].n ? contracting[0].n - 1 : 0;
    if (products.segments == 0) products.count = 0, products.segments = 1, d.n_outer = 0;
    return ev_products(e, t, &products);
}
