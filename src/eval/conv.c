/* conv: convolutions: any order of dimensions, groups, strides, padding, dilation of both operands, reversal.
 *
 * Needs: the verified dimension numbers and window. Leaves: the positions of the products of a result; mac.c adds them.
 *
 * Feature groups: output feature o belongs to group o / (outputs / groups) and reads the inputs of that group only.
 * Batch groups: it reads the part of the batch that belongs to its group. (ConvWithGeneralPadding in XLA's operation
 * semantics.)
 *
 *     f32[1,3,1] convolution(f32[1,4,1] x, f32[2,1,1] k), window={size=2}, dim_labels=b0f_0io->b0f
 *         at (0, 1, 0): x[1] k[0] + x[2] k[1]
 */
#include "eval/inner.h"

typedef struct {
    HloConvDims d;
    EvWindows w;
    int64_t in[HLO_CONV_SPATIAL];
    int64_t stride[2][HLO_RANK_LIMIT];
    int64_t features;   /* inputs of a group */
    int64_t per_group;  /* outputs of a feature group */
    int64_t per_batch;  /* outputs of a batch group */
    int64_t batch;      /* of the result */
    int64_t elements;   /* of the window */
} Conv;

static bool find(const void *arg, const int64_t *at, int64_t segment, int64_t *position)
{
    const Conv *c = arg;
    int64_t o = at[c->d.out_feature];
    int64_t lhs = (at[c->d.out_batch] + o / c->per_batch * c->batch) * c->stride[0][c->d.lhs_batch];
    lhs += o / c->per_group * c->features * c->stride[0][c->d.lhs_feature];
    int64_t rhs = o * c->stride[1][c->d.rhs_output];
    bool inside = true;
    for (uint32_t d = c->d.n_spatial; d-- > 0; segment /= c->w.windows[d].size) {
        const HloWindow *w = &c->w.windows[d];
        int64_t k = segment % w->size, p = ev_window_at(&c->w, d, at[c->d.out_spatial[d]], k);
        inside = inside && p >= 0;
        lhs += p * c->stride[0][c->d.lhs_spatial[d]];
        rhs += (w->reversal ? w->size - 1 - k : k) * c->stride[1][c->d.rhs_spatial[d]];
    }
    position[0] = lhs;
    position[1] = rhs;
    return inside;
}

void *ev_convolution(Ev *e, EvTask *t)
{
    const HloInstruction *i = t->ref.i;
    Conv c = {.d = hlo_conv_dims(e->block, i), .elements = 1};
    if (!c.d.known)
        wbb_decline(e->cx, i->loc, WHY_OPERATION, "the evaluator needs dim_labels of %s that name every dimension",
                    i->name);
    for (int p = 0; p < 2; p++) ev_strides(i->operands[p]->shape, c.stride[p]);
    for (uint32_t d = 0; d < c.d.n_spatial; d++) {
        c.in[d] = i->operands[0]->shape->dims[c.d.lhs_spatial[d]];
        c.elements *= i->windows[d].size;
    }
    c.w = (EvWindows){c.d.n_spatial, i->windows, c.in};
    int64_t outputs = i->shape->dims[c.d.out_feature];
    c.features = i->operands[1]->shape->dims[c.d.rhs_input];
    c.per_group = WBB_MAX(outputs / WBB_MAX(c.d.feature_groups, 1), 1);
    c.per_batch = WBB_MAX(outputs / WBB_MAX(c.d.batch_groups, 1), 1);
    c.batch = i->shape->dims[c.d.out_batch];
    const uint32_t right = UINT32_C(1) << c.d.out_feature;
    EvProducts products = {.count = c.features, .step = {c.stride[0][c.d.lhs_feature], c.stride[1][c.d.rhs_input]},
                           .segments = c.elements, .find = find, .arg = &c, .padded = true,
                           .left = ~right, .right = right, .group = WBB_MIN(c.per_group, c.per_batch)};
    if (c.elements == 0) products.segments = 1, products.count = 0;
    return ev_products(e, t, &products);
}
