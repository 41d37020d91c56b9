/* normalise_batch_norm: the three batch-norm operations as elementwise operations and sums.
 *
 * Needs: a verified HLO module. Leaves: subtract, multiply, rsqrt, .. on arrays, and reduces over all dimensions but
 * the feature's. Types narrower than f32 are computed in f32 and rounded once, at the end, because a batch-norm is
 * defined as one operation.
 *
 * With n elements per feature, e = epsilon, and sums over all other dimensions (Ioffe and Szegedy, Batch Normalization,
 * 2015, section 3):
 *
 *     inference(x, scale, offset, mean, variance)
 *         (x - mean) * rsqrt(variance + e) * scale + offset
 *     training(x, scale, offset)
 *         mean = sum(x) / n, variance = sum((x - mean)^2) / n; (inference, mean, variance)
 *     grad(x, scale, mean, variance, g)
 *         scale' = sum(g * (x - mean)) * rsqrt(variance + e), offset' = sum(g),
 *         x' = scale * rsqrt(variance + e) / n * (n * g - offset' - (x - mean) * sum(g * (x - mean)) / (variance + e))
 */
#include "hlo/normalise.h"

typedef struct {
    HloBuilder *b;
    const HloShape *shape;   /* of x */
    ScType type;             /* of the computation */
    int64_t feature;
    int64_t others[HLO_RANK_LIMIT]; /* dimensions to sum over */
    uint32_t n_others;
    double n;                /* elements per feature */
    HloInstruction *epsilon; /* a scalar */
    HloComputation *adder;
} Norm;

static Norm open_norm(HloBuilder *b, const HloInstruction *i)
{
    Norm m = {
        .b = b, .shape = i->operands[0]->shape, .feature = hlo_attribute_int(b->arena, i, "feature_index", 0), .n = 1};
    m.type = sc_type_info[m.shape->type].bits < 32 ? SC_F32 : m.shape->type;
    for (uint32_t d = 0; d < m.shape->rank; d++) {
        if (d == m.feature) continue;
        m.others[m.n_others++] = d;
        m.n *= (double)m.shape->dims[d];
    }
    m.epsilon = hlo_new_scalar(b, m.type, hlo_attribute_f64(b->arena, i, "epsilon", 0));
    return m;
}

static HloInstruction *operand(const Norm *m, const HloInstruction *i, uint32_t k)
{
    return hlo_new_convert(m->b, hlo_mapped(m->b, i->operands[k]), m->type);
}

/* Broadcasts one value per feature to all elements. */
static HloInstruction *spread(const Norm *m, HloInstruction *x)
{
    return hlo_new_broadcast(m->b, x, m->shape, &m->feature, 1);
}

/* op on x and y; the one of smaller rank, a scalar or one value per feature, is broadcast. */
static HloInstruction *binary(const Norm *m, HloOpcode op, HloInstruction *x, HloInstruction *y)
{
    if (x->shape->rank < y->shape->rank)
        x = x->shape->rank ? spread(m, x) : hlo_new_splat(m->b, x, y->shape->rank, y->shape->dims);
    if (y->shape->rank < x->shape->rank)
        y = y->shape->rank ? spread(m, y) : hlo_new_splat(m->b, y, x->shape->rank, x->shape->dims);
    return hlo_new_binary(m->b, op, x, y);
}

static HloInstruction *sum(Norm *m, HloInstruction *x)
{
    HloInstruction *zero = hlo_new_scalar(m->b, m->type, 0);
    const char *name = wbb_format(m->b->arena, "add.%s", sc_type_info[m->type].hlo);
    if (!m->adder) m->adder = hlo_new_combiner(m->b, HLO_ADD, zero->shape, name);
    return hlo_new_reduce(m->b, x, zero, m->others, m->n_others, m->adder);
}

static HloInstruction *count(const Norm *m) { return hlo_new_scalar(m->b, m->type, m->n); }

/* Each instruction is built by its own statement here: C leaves the order of arguments open, and names depend on it. */
static HloInstruction *normalised(const Norm *m, HloInstruction *centred, HloInstruction *variance,
                                  HloInstruction *scale, HloInstruction *offset)
{
    HloInstruction *shifted = binary(m, HLO_ADD, variance, m->epsilon);
    HloInstruction *inverse = hlo_new_unary(m->b, HLO_RSQRT, shifted);
    HloInstruction *x = binary(m, HLO_MULTIPLY, centred, inverse);
    x = binary(m, HLO_MULTIPLY, x, scale);
    return binary(m, HLO_ADD, x, offset);
}

static HloInstruction *inference(HloBuilder *b, const HloInstruction *i)
{
    Norm m = open_norm(b, i);
    HloInstruction *x[5];
    for (uint32_t k = 0; k < 5; k++) x[k] = operand(&m, i, k);
    HloInstruction *centred = binary(&m, HLO_SUBTRACT, x[0], x[3]);
    return hlo_new_convert(b, normalised(&m, centred, x[4], x[1], x[2]), i->shape->type);
}

static HloInstruction *triple(HloBuilder *b, const HloInstruction *i, HloInstruction *x, HloInstruction *y,
                              HloInstruction *z)
{
    HloInstruction *parts[] = {x, y, z};
    for (uint32_t k = 0; k < 3; k++) parts[k] = hlo_new_convert(b, parts[k], i->shape->elements[k]->type);
    return hlo_new_tuple(b, 3, parts);
}

static HloInstruction *training(HloBuilder *b, const HloInstruction *i)
{
    Norm m = open_norm(b, i);
    HloInstruction *x = operand(&m, i, 0), *scale = operand(&m, i, 1), *offset = operand(&m, i, 2), *n = count(&m);
    HloInstruction *total = sum(&m, x);
    HloInstruction *mean = binary(&m, HLO_DIVIDE, total, n);
    HloInstruction *centred = binary(&m, HLO_SUBTRACT, x, mean);
    HloInstruction *squares = sum(&m, hlo_new_binary(b, HLO_MULTIPLY, centred, centred));
    HloInstruction *variance = binary(&m, HLO_DIVIDE, squares, n);
    HloInstruction *y = normalised(&m, centred, variance, scale, offset);
    return triple(b, i, y, mean, variance);
}

static HloInstruction *grad(HloBuilder *b, const HloInstruction *i)
{
    Norm m = open_norm(b, i);
    HloInstruction *x[5];
    for (uint32_t k = 0; k < 5; k++) x[k] = operand(&m, i, k);
    HloInstruction *n = count(&m), *g = x[4], *centred = binary(&m, HLO_SUBTRACT, x[0], x[2]);
    HloInstruction *shifted = binary(&m, HLO_ADD, x[3], m.epsilon);
    HloInstruction *inverse = hlo_new_unary(b, HLO_RSQRT, shifted);
    HloInstruction *sum_g = sum(&m, g);
    HloInstruction *sum_gx = sum(&m, hlo_new_binary(b, HLO_MULTIPLY, g, centred));
    HloInstruction *factor = binary(&m, HLO_MULTIPLY, x[1], inverse);
    factor = binary(&m, HLO_DIVIDE, factor, n);
    HloInstruction *rest = binary(&m, HLO_MULTIPLY, g, n);
    rest = binary(&m, HLO_SUBTRACT, rest, sum_g);
    HloInstruction *slope = binary(&m, HLO_DIVIDE, sum_gx, shifted);
    slope = binary(&m, HLO_MULTIPLY, centred, slope);
    rest = binary(&m, HLO_SUBTRACT, rest, slope);
    HloInstruction *dx = binary(&m, HLO_MULTIPLY, rest, factor), *dscale = binary(&m, HLO_MULTIPLY, sum_gx, inverse);
    return triple(b, i, dx, dscale, sum_g);
}

static bool is_batch_norm(const HloInstruction *i)
{
    return i->opcode == HLO_BATCH_NORM_INFERENCE || i->opcode == HLO_BATCH_NORM_TRAINING ||
           i->opcode == HLO_BATCH_NORM_GRAD;
}

static HloInstruction *rewrite(HloBuilder *b, const HloInstruction *i)
{
    switch (i->opcode) {
    case HLO_BATCH_NORM_INFERENCE: return inference(b, i);
    case HLO_BATCH_NORM_TRAINING: return training(b, i);
    case HLO_BATCH_NORM_GRAD: return grad(b, i);
    default: return NULL;
    }
}

const HloModule *hlo_pass_batch_norm(WbbCx *cx, WbbArena *a, const HloModule *m)
{
    return hlo_rewrite(cx, a, m, &(HloRewriter){.applies = is_batch_norm, .rewrite = rewrite});
}
