/* verify_library: operations that XLA calls a library for: products, convolutions, transforms, solvers, random numbers;
 * and batch normalisation.
 *
 * Needs: the checks of verify_require.c and the dimensions of dims.c. Leaves: the result's shape, set or compared.
 *
 * The element type of a product may be wider than its operands' (preferred_element_type of XLA). If the text has none,
 * it is the wider of the operands' types.
 *
 *     dot(f32[2,4], f32[5,3]), lhs_contracting_dims={1}, rhs_contracting_dims={0}
 *         error: dot: contracting dimension 1 of f32[2,4] is paired with dimension 0 of f32[5,3]
 */
#include "hlo/inner.h"

#include <string.h>

/* The products' type: for integers an integer or float, for floats a float or complex, for complex operands complex. */
static void require_product_type(HloVerifier *v, const HloInstruction *i, const HloShape *x, const HloShape *y)
{
    char result = sc_type_info[i->shape->type].cls, xs = sc_type_info[x->type].cls, ys = sc_type_info[y->type].cls;
    bool complex = xs == 'C' || ys == 'C', floating = xs == 'F' || ys == 'F';
    bool right = i->shape->type != SC_TUPLE && strchr(complex ? "C" : floating ? "FC" : "PIUF", result);
    if (!right)
        hlo_invalid(v, i, "the result has shape %s, which cannot hold products of %s and %s",
                    hlo_short_shape(v, i->shape), hlo_short_shape(v, x), hlo_short_shape(v, y));
}

static ScType product_type(const HloInstruction *i, const HloShape *x, const HloShape *y)
{
    if (i->shape) return i->shape->type;
    return sc_type_info[x->type].bits >= sc_type_info[y->type].bits ? x->type : y->type;
}

static void set_product_result(HloVerifier *v, HloInstruction *i, const HloShape *x, const HloShape *y, uint32_t rank,
                               const WbbI128 *dims)
{
    hlo_require_class(v, i, 0, "PIUFC");
    hlo_require_class(v, i, 1, "PIUFC");
    hlo_set_result(v, i, product_type(i, x, y), rank, dims);
    require_product_type(v, i, x, y);
}

/* Paired dimensions of the two operands have equal sizes. */
static void require_pairs(HloVerifier *v, const HloInstruction *i, const char *kind, const HloShape *x, HloInts xs,
                          const HloShape *y, HloInts ys)
{
    if (xs.n != ys.n)
        hlo_invalid(v, i, "%u %s dimensions of %s, %u of %s", xs.n, kind, hlo_short_shape(v, x), ys.n,
                    hlo_short_shape(v, y));
    for (uint32_t k = 0; k < xs.n; k++)
        if (x->dims[xs.items[k]] != y->dims[ys.items[k]])
            hlo_invalid(v, i, "%s dimension %lld of %s is paired with dimension %lld of %s", kind,
                        (long long)xs.items[k], hlo_short_shape(v, x), (long long)ys.items[k], hlo_short_shape(v, y));
}

static uint64_t require_separate(HloVerifier *v, const HloInstruction *i, const char *batch_name, HloInts batch,
                                 const char *name, HloInts list, const HloShape *s)
{
    uint64_t b = hlo_require_dimensions(v, i, batch_name, batch, s->rank),
             c = hlo_require_dimensions(v, i, name, list, s->rank);
    if (b & c) hlo_invalid(v, i, "%s and %s both name dimension %d", batch_name, name, __builtin_ctzll(b & c));
    return b | c;
}

static uint32_t put_free(const HloShape *s, uint64_t taken, uint32_t rank, WbbI128 *dims)
{
    for (uint32_t d = 0; d < s->rank; d++)
        if (!(taken >> d & 1)) dims[rank++] = s->dims[d];
    return rank;
}

/* dot, scaled-dot and ragged-dot. The result has the batch dimensions, the free ones of operand 0, then those of
 * operand 1. */
static void verify_dot(HloVerifier *v, HloInstruction *i)
{
    bool sparse = i->opcode == HLO_DOT && hlo_attribute(v->scratch, i, "sparsity") != NULL;
    bool ragged = i->opcode == HLO_RAGGED_DOT;
    const HloShape *x = hlo_array_operand(v, i, 0), *y = hlo_array_operand(v, i, 1);
    HloDotDims dot = hlo_dot_dims(v->scratch, i);
    uint64_t xs = require_separate(v, i, "lhs_batch_dims", dot.lhs_batch, "lhs_contracting_dims", dot.lhs_contracting,
                                   x);
    uint64_t ys = require_separate(v, i, "rhs_batch_dims", dot.rhs_batch, "rhs_contracting_dims", dot.rhs_contracting,
                                   y);
    WbbI128 dims[3 * HLO_RANK_LIMIT];
    uint32_t rank = 0;
    if (sparse) { /* the contracting dimension of a compressed operand is shorter, by a factor in the attribute */
        hlo_require_count(v, i, 3, 4);
    } else {
        require_pairs(v, i, "contracting", x, dot.lhs_contracting, y, dot.rhs_contracting);
        if (!ragged) hlo_require_count(v, i, i->opcode == HLO_DOT ? 2 : 3, i->opcode == HLO_DOT ? 2 : 4);
    }
    require_pairs(v, i, "batch", x, dot.lhs_batch, y, dot.rhs_batch);
    if (ragged) {
        hlo_require_count(v, i, 3, 3);
        const HloShape *sizes = hlo_array_operand(v, i, 2);
        hlo_require_class(v, i, 2, "IU");
        HloInts group = {0}, split = {0};
        group.items = hlo_attribute_ints(v->scratch, i, "rhs_group_dims", &group.n);
        split.items = hlo_attribute_ints(v->scratch, i, "lhs_ragged_dims", &split.n);
        if (split.n != 1) hlo_invalid(v, i, "lhs_ragged_dims names %u dimensions, one expected", split.n);
        hlo_require_dimensions(v, i, "lhs_ragged_dims", split, x->rank);
        ys |= hlo_require_dimensions(v, i, "rhs_group_dims", group, y->rank);
        /* Ragged along a contracting dimension: one product for each group. */
        for (uint32_t k = 0; k < dot.lhs_contracting.n; k++)
            if (dot.lhs_contracting.items[k] == split.items[0] && sizes->rank)
                dims[rank++] = sizes->dims[sizes->rank - 1];
    }
    for (uint32_t k = 0; k < dot.lhs_batch.n; k++) dims[rank++] = x->dims[dot.lhs_batch.items[k]];
    rank = put_free(x, xs, rank, dims);
    rank = put_free(y, ys, rank, dims);
    set_product_result(v, i, x, y, rank, dims);
}

static void require_divides(HloVerifier *v, const HloInstruction *i, const char *groups_name, int64_t groups,
                            const char *what, int64_t size)
{
    if (groups < 1 || size % groups)
        hlo_invalid(v, i, "%s is %lld, which does not divide %s, %lld", groups_name, (long long)groups, what,
                    (long long)size);
}

static void verify_convolution(HloVerifier *v, HloInstruction *i)
{
    const HloShape *x = hlo_array_operand(v, i, 0), *y = hlo_array_operand(v, i, 1);
    const char *labels = hlo_attribute(v->scratch, i, "dim_labels");
    HloConvDims c = hlo_conv_dims(v->scratch, i);
    if (!labels) hlo_invalid(v, i, "the attribute dim_labels= is missing");
    /* Dimensions labelled '?' have no role; those of a sparse operand are shorter than their labels imply. */
    if (strchr(labels, '?') || hlo_attribute(v->scratch, i, "sparsity_config")) {
        hlo_require_written_shape(v, i);
        return;
    }
    if (!c.known) hlo_invalid(v, i, "dim_labels=%s, a form like b01f_01io->b01f expected", labels);
    if (x->rank != c.n_spatial + 2 || y->rank != c.n_spatial + 2 || i->n_windows != c.n_spatial)
        hlo_invalid(v, i, "dim_labels=%s for %s and %s with a window of %u dimensions", labels, hlo_short_shape(v, x),
                    hlo_short_shape(v, y), i->n_windows);
    int64_t batch = x->dims[c.lhs_batch], features = x->dims[c.lhs_feature], outputs = y->dims[c.rhs_output];
    require_divides(v, i, "batch_group_count", c.batch_groups, "the batch", batch);
    require_divides(v, i, "batch_group_count", c.batch_groups, "the number of output features", outputs);
    require_divides(v, i, "feature_group_count", c.feature_groups, "the number of input features", features);
    require_divides(v, i, "feature_group_count", c.feature_groups, "the number of output features", outputs);
    if (y->dims[c.rhs_input] != features / c.feature_groups)
        hlo_invalid(v, i, "operand 1 has shape %s: %lld input features expected", hlo_short_shape(v, y),
                    (long long)(features / c.feature_groups));
    WbbI128 dims[HLO_RANK_LIMIT];
    dims[c.out_batch] = batch / c.batch_groups;
    dims[c.out_feature] = outputs;
    for (uint32_t d = 0; d < c.n_spatial; d++) {
        if (i->windows[d].size != y->dims[c.rhs_spatial[d]])
            hlo_invalid(v, i, "the window has size %lld in dimension %u, operand 1 has shape %s",
                        (long long)i->windows[d].size, d, hlo_short_shape(v, y));
        dims[c.out_spatial[d]] = y->dims[c.rhs_spatial[d]] ? hlo_window_count(v, i, d, x->dims[c.lhs_spatial[d]]) : 0;
    }
    set_product_result(v, i, x, y, c.n_spatial + 2, dims);
}

/* Transforms the last 1 to 3 dimensions. The last dimension of a real transform's complex side has size length/2+1. */
static void verify_fft(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    const char *type = hlo_attribute(v->scratch, i, "fft_type");
    HloInts length;
    length.items = hlo_attribute_ints(v->scratch, i, "fft_length", &length.n);
    if (!type || !length.items) hlo_invalid(v, i, "fft_type and fft_length are needed");
    bool forward = strcmp(type, "RFFT") == 0, back = strcmp(type, "IRFFT") == 0;
    if (!forward && !back && strcmp(type, "FFT") != 0 && strcmp(type, "IFFT") != 0)
        hlo_invalid(v, i, "fft_type is %s, FFT, IFFT, RFFT or IRFFT expected", type);
    if (length.n < 1 || length.n > 3 || length.n > s->rank)
        hlo_invalid(v, i, "fft_length names %u dimensions of %s, 1 to 3 expected", length.n, hlo_short_shape(v, s));
    if (forward ? s->type != SC_F32 && s->type != SC_F64 : s->type != SC_C64 && s->type != SC_C128)
        hlo_invalid(v, i, "operand 0 has shape %s, %s type expected", hlo_short_shape(v, s),
                    forward ? "f32 or f64" : "a complex");
    ScType to = forward ? (s->type == SC_F32 ? SC_C64 : SC_C128)
                : back  ? (s->type == SC_C64 ? SC_F32 : SC_F64)
                        : s->type;
    WbbI128 dims[HLO_RANK_LIMIT];
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[d];
    for (uint32_t k = 0; k < length.n; k++) {
        uint32_t d = s->rank - length.n + k;
        bool last = k + 1 == length.n;
        int64_t half = length.items[k] / 2 + (length.items[k] != 0), want = back && last ? half : length.items[k];
        if (s->dims[d] != want && !(length.items[k] == 0 && s->dims[d] == 0))
            hlo_invalid(v, i, "dimension %u of %s, %lld expected", d, hlo_short_shape(v, s), (long long)want);
        if (last && (forward || back)) dims[d] = forward ? half : length.items[k];
    }
    hlo_set_result(v, i, to, s->rank, dims);
}

/* The last two dimensions of operand 0 are square matrices. */
static const HloShape *require_square(HloVerifier *v, const HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    hlo_require_class(v, i, 0, "FC");
    if (s->rank < 2 || s->dims[s->rank - 1] != s->dims[s->rank - 2])
        hlo_invalid(v, i, "operand 0 has shape %s, square matrices expected", hlo_short_shape(v, s));
    return s;
}

static void verify_triangular_solve(HloVerifier *v, HloInstruction *i)
{
    const HloShape *a = require_square(v, i), *b = hlo_array_operand(v, i, 1);
    const char *transpose = hlo_attribute(v->scratch, i, "transpose_a");
    if (transpose && strcmp(transpose, "NO_TRANSPOSE") != 0 && strcmp(transpose, "TRANSPOSE") != 0 &&
        strcmp(transpose, "ADJOINT") != 0)
        hlo_invalid(v, i, "transpose_a is %s, NO_TRANSPOSE, TRANSPOSE or ADJOINT expected", transpose);
    uint32_t rank = a->rank, side = hlo_attribute_true(v->scratch, i, "left_side") ? 2 : 1;
    bool fits = b->type == a->type && b->rank == rank && b->dims[rank - side] == a->dims[rank - 1];
    for (uint32_t d = 0; fits && d + 2 < rank; d++) fits = a->dims[d] == b->dims[d];
    if (!fits)
        hlo_invalid(v, i, "operand 1 has shape %s, which does not fit the matrices %s", hlo_short_shape(v, b),
                    hlo_short_shape(v, a));
    hlo_set_result_shape(v, i, b);
}

/* Operands after the first have one value per feature; operand 4 of batch-norm-grad has the shape of the first. */
static void verify_batch_norm(HloVerifier *v, HloInstruction *i)
{
    const HloShape *s = hlo_array_operand(v, i, 0);
    int64_t feature = hlo_attribute_int(v->scratch, i, "feature_index", -1);
    if (!hlo_attribute(v->scratch, i, "epsilon") || !hlo_attribute(v->scratch, i, "feature_index"))
        hlo_invalid(v, i, "epsilon and feature_index are needed");
    if (feature < 0 || feature >= s->rank)
        hlo_invalid(v, i, "feature_index is %lld, %s has %u dimensions", (long long)feature, hlo_short_shape(v, s),
                    s->rank);
    hlo_require_class(v, i, 0, "FC");
    WbbI128 dims[1] = {s->dims[feature]};
    for (uint32_t k = 1; k < i->n_operands; k++) {
        const HloShape *x = hlo_array_operand(v, i, k);
        ScType type = hlo_compatible_types(x->type, s->type) ? x->type : s->type;
        if (i->opcode == HLO_BATCH_NORM_GRAD && k == 4) hlo_require_dims(v, i, "operand 4", x, s);
        else hlo_require_array(v, i, hlo_operand_name(v, k), x, type, 1, dims);
    }
    if (i->opcode == HLO_BATCH_NORM_INFERENCE) {
        hlo_set_result_shape(v, i, s);
    } else {
        const HloShape *of_feature = i->operands[1]->shape, *parts[3] = {s, of_feature, of_feature};
        hlo_set_result_parts(v, i, 3, parts);
    }
}

static void verify_rng(HloVerifier *v, HloInstruction *i)
{
    const char *distribution = hlo_attribute(v->scratch, i, "distribution");
    hlo_require_written_shape(v, i);
    if (i->shape->type == SC_TUPLE) hlo_invalid(v, i, "the result is a tuple, an array expected");
    if (!distribution || (strcmp(distribution, "rng_uniform") != 0 && strcmp(distribution, "rng_normal") != 0))
        hlo_invalid(v, i, "distribution is %s, rng_uniform or rng_normal expected",
                    distribution ? distribution : "missing");
    hlo_require_count(v, i, 2, 2);
    for (uint32_t k = 0; k < 2; k++) hlo_require_scalar(v, i, k, i->shape->type);
}

/* The result: the new state, of the operand's shape, and the random bits. */
static void verify_rng_bit_generator(HloVerifier *v, HloInstruction *i)
{
    const HloShape *state = hlo_array_operand(v, i, 0);
    const char *algorithm = hlo_attribute(v->scratch, i, "algorithm");
    bool known = !algorithm || strcmp(algorithm, "rng_default") == 0 || strcmp(algorithm, "rng_philox") == 0 ||
                 strcmp(algorithm, "rng_three_fry") == 0;
    if (!known)
        hlo_invalid(v, i, "algorithm is %s, rng_default, rng_philox or rng_three_fry expected", algorithm);
    hlo_require_written_shape(v, i);
    bool fits = i->shape->type == SC_TUPLE && i->shape->n_elements == 2;
    if (!fits)
        hlo_invalid(v, i, "the result has shape %s, a tuple of the state and the bits expected",
                    hlo_short_shape(v, i->shape));
    hlo_require_shape(v, i, "element 0 of the result", i->shape->elements[0], state);
    const HloShape *bits = i->shape->elements[1];
    if (bits->type == SC_TUPLE || !strchr("PIUF", sc_type_info[bits->type].cls))
        hlo_invalid(v, i, "element 1 of the result has shape %s, numbers expected", hlo_short_shape(v, bits));
}

bool hlo_verify_library(HloVerifier *v, HloInstruction *i)
{
    WbbI128 state[1] = {2};
    switch (i->opcode) {
    case HLO_DOT: case HLO_RAGGED_DOT: case HLO_SCALED_DOT: verify_dot(v, i); return true;
    case HLO_CONVOLUTION: verify_convolution(v, i); return true;
    case HLO_FFT: verify_fft(v, i); return true;
    case HLO_CHOLESKY: hlo_set_result_shape(v, i, require_square(v, i)); return true;
    case HLO_TRIANGULAR_SOLVE: verify_triangular_solve(v, i); return true;
    case HLO_BATCH_NORM_GRAD: case HLO_BATCH_NORM_INFERENCE: case HLO_BATCH_NORM_TRAINING:
        verify_batch_norm(v, i);
        return true;
    case HLO_RNG: verify_rng(v, i); return true;
    case HLO_RNG_BIT_GENERATOR: verify_rng_bit_generator(v, i); return true;
    case HLO_RNG_GET_AND_UPDATE_STATE: hlo_set_result(v, i, SC_U64, 1, state); return true;
    default: return false;
    }
}
