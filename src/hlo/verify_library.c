/* verify_library: operations that XLA hands to a library, and the normalisations: products, convolutions, transforms, solvers,
 * random numbers.
 *
 * Needs: the helpers of verify.c and the lists of dims.c. Leaves: the result's shape, given or checked; or a wbb_fail.
 *
 * The element type of a product may be wider than its operands' (preferred_element_type of XLA); where the text gives none, it is
 * the wider of the operands' types.
 *
 *     dot(f32[2,4], f32[5,3]), lhs_contracting_dims={1}, rhs_contracting_dims={0}
 *         error: dot: contracting dimension 1 of f32[2,4] is paired with dimension 0 of f32[5,3]
 */
#include "hlo/inner.h"

#include <string.h>

/* Products of integers are integers or floats, of floats floats, of complexes complexes. */
static void want_product_type(HloJudge *j, const HloInstruction *i, const HloShape *x, const HloShape *y)
{
    char result = sc_type_info[i->shape->type].cls, xs = sc_type_info[x->type].cls, ys = sc_type_info[y->type].cls;
    bool complex = xs == 'C' || ys == 'C', floating = xs == 'F' || ys == 'F';
    bool right = i->shape->type != SC_TUPLE && strchr(complex ? "C" : floating ? "FC" : "PIUF", result);
    if (!right)
        hlo_bad(j, i, "the result has shape %s, which cannot hold products of %s and %s", hlo_brief(j, i->shape), hlo_brief(j, x),
                hlo_brief(j, y));
}

static ScType product_type(const HloInstruction *i, const HloShape *x, const HloShape *y)
{
    if (i->shape) return i->shape->type;
    return sc_type_info[x->type].bits >= sc_type_info[y->type].bits ? x->type : y->type;
}

static void give_product(HloJudge *j, HloInstruction *i, const HloShape *x, const HloShape *y, uint32_t rank, const WbbI128 *dims)
{
    hlo_want_class(j, i, 0, "PIUFC");
    hlo_want_class(j, i, 1, "PIUFC");
    hlo_give(j, i, product_type(i, x, y), rank, dims);
    want_product_type(j, i, x, y);
}

/* Dimensions of the two operands in pairs of one size. */
static void want_pairs(HloJudge *j, const HloInstruction *i, const char *kind, const HloShape *x, HloInts xs, const HloShape *y, HloInts ys)
{
    if (xs.n != ys.n) hlo_bad(j, i, "%u %s dimensions of %s, %u of %s", xs.n, kind, hlo_brief(j, x), ys.n, hlo_brief(j, y));
    for (uint32_t k = 0; k < xs.n; k++)
        if (x->dims[xs.items[k]] != y->dims[ys.items[k]])
            hlo_bad(j, i, "%s dimension %lld of %s is paired with dimension %lld of %s", kind, (long long)xs.items[k], hlo_brief(j, x),
                    (long long)ys.items[k], hlo_brief(j, y));
}

static uint64_t want_separate(HloJudge *j, const HloInstruction *i, const char *batch_name, HloInts batch, const char *name, HloInts list,
                              const HloShape *s)
{
    uint64_t b = hlo_want_dimensions(j, i, batch_name, batch, s->rank), c = hlo_want_dimensions(j, i, name, list, s->rank);
    if (b & c) hlo_bad(j, i, "%s and %s both name dimension %d", batch_name, name, __builtin_ctzll(b & c));
    return b | c;
}

static uint32_t put_free(const HloShape *s, uint64_t taken, uint32_t rank, WbbI128 *dims)
{
    for (uint32_t d = 0; d < s->rank; d++)
        if (!(taken >> d & 1)) dims[rank++] = s->dims[d];
    return rank;
}

/* dot, scaled-dot and ragged-dot: batch dimensions, those of the left that are free, those of the right. */
static void judge_dot(HloJudge *j, HloInstruction *i)
{
    bool sparse = i->opcode == HLO_DOT && hlo_attribute(j->scratch, i, "sparsity") != NULL;
    bool ragged = i->opcode == HLO_RAGGED_DOT;
    const HloShape *x = hlo_array(j, i, 0), *y = hlo_array(j, i, 1);
    HloDotDims dot = hlo_dot_dims(j->scratch, i);
    uint64_t xs = want_separate(j, i, "lhs_batch_dims", dot.lhs_batch, "lhs_contracting_dims", dot.lhs_contracting, x);
    uint64_t ys = want_separate(j, i, "rhs_batch_dims", dot.rhs_batch, "rhs_contracting_dims", dot.rhs_contracting, y);
    WbbI128 dims[3 * HLO_RANK_LIMIT];
    uint32_t rank = 0;
    if (sparse) { /* a compressed operand's contracting dimension is shorter by a factor that its attribute tells */
        hlo_want_count(j, i, 3, 4);
    } else {
        want_pairs(j, i, "contracting", x, dot.lhs_contracting, y, dot.rhs_contracting);
        if (!ragged) hlo_want_count(j, i, i->opcode == HLO_DOT ? 2 : 3, i->opcode == HLO_DOT ? 2 : 4);
    }
    want_pairs(j, i, "batch", x, dot.lhs_batch, y, dot.rhs_batch);
    if (ragged) {
        hlo_want_count(j, i, 3, 3);
        const HloShape *sizes = hlo_array(j, i, 2);
        hlo_want_class(j, i, 2, "IU");
        HloInts group = {0}, split = {0};
        group.items = hlo_attribute_ints(j->scratch, i, "rhs_group_dims", &group.n);
        split.items = hlo_attribute_ints(j->scratch, i, "lhs_ragged_dims", &split.n);
        if (split.n != 1) hlo_bad(j, i, "lhs_ragged_dims names %u dimensions, one expected", split.n);
        hlo_want_dimensions(j, i, "lhs_ragged_dims", split, x->rank);
        ys |= hlo_want_dimensions(j, i, "rhs_group_dims", group, y->rank);
        /* Ragged along a contracting dimension: one product for each group. */
        for (uint32_t k = 0; k < dot.lhs_contracting.n; k++)
            if (dot.lhs_contracting.items[k] == split.items[0] && sizes->rank) dims[rank++] = sizes->dims[sizes->rank - 1];
    }
    for (uint32_t k = 0; k < dot.lhs_batch.n; k++) dims[rank++] = x->dims[dot.lhs_batch.items[k]];
    rank = put_free(x, xs, rank, dims);
    rank = put_free(y, ys, rank, dims);
    give_product(j, i, x, y, rank, dims);
}

static void want_divides(HloJudge *j, const HloInstruction *i, const char *groups_name, int64_t groups, const char *what, int64_t size)
{
    if (groups < 1 || size % groups)
        hlo_bad(j, i, "%s is %lld, which does not divide %s, %lld", groups_name, (long long)groups, what, (long long)size);
}

static void judge_convolution(HloJudge *j, HloInstruction *i)
{
    const HloShape *x = hlo_array(j, i, 0), *y = hlo_array(j, i, 1);
    const char *labels = hlo_attribute(j->scratch, i, "dim_labels");
    HloConvDims c = hlo_conv_dims(j->scratch, i);
    if (!labels) hlo_bad(j, i, "the attribute dim_labels= is missing");
    /* Labels of '?' are dimensions that play no part; a sparse operand's are shorter than they say. */
    if (strchr(labels, '?') || hlo_attribute(j->scratch, i, "sparsity_config")) {
        hlo_given(j, i);
        return;
    }
    if (!c.known) hlo_bad(j, i, "dim_labels=%s, something like b01f_01io->b01f expected", labels);
    if (x->rank != c.n_spatial + 2 || y->rank != c.n_spatial + 2 || i->n_windows != c.n_spatial)
        hlo_bad(j, i, "dim_labels=%s for %s and %s with a window of %u dimensions", labels, hlo_brief(j, x), hlo_brief(j, y),
                i->n_windows);
    int64_t batch = x->dims[c.lhs_batch], features = x->dims[c.lhs_feature], outputs = y->dims[c.rhs_output];
    want_divides(j, i, "batch_group_count", c.batch_groups, "the batch", batch);
    want_divides(j, i, "batch_group_count", c.batch_groups, "the number of output features", outputs);
    want_divides(j, i, "feature_group_count", c.feature_groups, "the number of input features", features);
    want_divides(j, i, "feature_group_count", c.feature_groups, "the number of output features", outputs);
    if (y->dims[c.rhs_input] != features / c.feature_groups)
        hlo_bad(j, i, "operand 1 has shape %s: %lld input features expected", hlo_brief(j, y), (long long)(features / c.feature_groups));
    WbbI128 dims[HLO_RANK_LIMIT];
    dims[c.out_batch] = batch / c.batch_groups;
    dims[c.out_feature] = outputs;
    for (uint32_t d = 0; d < c.n_spatial; d++) {
        if (i->windows[d].size != y->dims[c.rhs_spatial[d]])
            hlo_bad(j, i, "the window has size %lld in dimension %u, operand 1 has shape %s", (long long)i->windows[d].size, d,
                    hlo_brief(j, y));
        dims[c.out_spatial[d]] = y->dims[c.rhs_spatial[d]] ? hlo_window_count(j, i, d, x->dims[c.lhs_spatial[d]]) : 0;
    }
    give_product(j, i, x, y, c.n_spatial + 2, dims);
}

/* Transforms of the last 1 to 3 dimensions. Real to complex keeps length/2+1 of the last, and back. */
static void judge_fft(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    const char *type = hlo_attribute(j->scratch, i, "fft_type");
    HloInts length;
    length.items = hlo_attribute_ints(j->scratch, i, "fft_length", &length.n);
    if (!type || !length.items) hlo_bad(j, i, "fft_type and fft_length are needed");
    bool forward = strcmp(type, "RFFT") == 0, back = strcmp(type, "IRFFT") == 0;
    if (!forward && !back && strcmp(type, "FFT") != 0 && strcmp(type, "IFFT") != 0)
        hlo_bad(j, i, "fft_type is %s, FFT, IFFT, RFFT or IRFFT expected", type);
    if (length.n < 1 || length.n > 3 || length.n > s->rank)
        hlo_bad(j, i, "fft_length names %u dimensions of %s, 1 to 3 expected", length.n, hlo_brief(j, s));
    if (forward ? s->type != SC_F32 && s->type != SC_F64 : s->type != SC_C64 && s->type != SC_C128)
        hlo_bad(j, i, "operand 0 has shape %s, %s type expected", hlo_brief(j, s), forward ? "f32 or f64" : "a complex");
    ScType to = forward ? (s->type == SC_F32 ? SC_C64 : SC_C128) : back ? (s->type == SC_C64 ? SC_F32 : SC_F64) : s->type;
    WbbI128 dims[HLO_RANK_LIMIT];
    for (uint32_t d = 0; d < s->rank; d++) dims[d] = s->dims[d];
    for (uint32_t k = 0; k < length.n; k++) {
        uint32_t d = s->rank - length.n + k;
        bool last = k + 1 == length.n;
        int64_t half = length.items[k] / 2 + (length.items[k] != 0), want = back && last ? half : length.items[k];
        if (s->dims[d] != want && !(length.items[k] == 0 && s->dims[d] == 0))
            hlo_bad(j, i, "dimension %u of %s, %lld expected", d, hlo_brief(j, s), (long long)want);
        if (last && (forward || back)) dims[d] = forward ? half : length.items[k];
    }
    hlo_give(j, i, to, s->rank, dims);
}

/* Square matrices in the last two dimensions. */
static const HloShape *want_square(HloJudge *j, const HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    hlo_want_class(j, i, 0, "FC");
    if (s->rank < 2 || s->dims[s->rank - 1] != s->dims[s->rank - 2])
        hlo_bad(j, i, "operand 0 has shape %s, square matrices expected", hlo_brief(j, s));
    return s;
}

static void judge_triangular_solve(HloJudge *j, HloInstruction *i)
{
    const HloShape *a = want_square(j, i), *b = hlo_array(j, i, 1);
    const char *transpose = hlo_attribute(j->scratch, i, "transpose_a");
    if (transpose && strcmp(transpose, "NO_TRANSPOSE") != 0 && strcmp(transpose, "TRANSPOSE") != 0 && strcmp(transpose, "ADJOINT") != 0)
        hlo_bad(j, i, "transpose_a is %s, NO_TRANSPOSE, TRANSPOSE or ADJOINT expected", transpose);
    uint32_t rank = a->rank, side = hlo_attribute_true(j->scratch, i, "left_side") ? 2 : 1;
    bool fits = b->type == a->type && b->rank == rank && b->dims[rank - side] == a->dims[rank - 1];
    for (uint32_t d = 0; fits && d + 2 < rank; d++) fits = a->dims[d] == b->dims[d];
    if (!fits) hlo_bad(j, i, "operand 1 has shape %s, which does not fit the matrices %s", hlo_brief(j, b), hlo_brief(j, a));
    hlo_give_shape(j, i, b);
}

/* One value a feature for all operands but the first, and for batch-norm-grad the last. */
static void judge_batch_norm(HloJudge *j, HloInstruction *i)
{
    const HloShape *s = hlo_array(j, i, 0);
    int64_t feature = hlo_attribute_int(j->scratch, i, "feature_index", -1);
    if (!hlo_attribute(j->scratch, i, "epsilon") || !hlo_attribute(j->scratch, i, "feature_index"))
        hlo_bad(j, i, "epsilon and feature_index are needed");
    if (feature < 0 || feature >= s->rank)
        hlo_bad(j, i, "feature_index is %lld, %s has %u dimensions", (long long)feature, hlo_brief(j, s), s->rank);
    hlo_want_class(j, i, 0, "FC");
    WbbI128 dims[1] = {s->dims[feature]};
    for (uint32_t k = 1; k < i->n_operands; k++) {
        const HloShape *x = hlo_array(j, i, k);
        ScType type = hlo_joins(x->type, s->type) ? x->type : s->type;
        if (i->opcode == HLO_BATCH_NORM_GRAD && k == 4) hlo_want_dims(j, i, "operand 4", x, s);
        else hlo_want_array(j, i, hlo_operand_name(j, k), x, type, 1, dims);
    }
    if (i->opcode == HLO_BATCH_NORM_INFERENCE) {
        hlo_give_shape(j, i, s);
    } else {
        const HloShape *of_feature = i->operands[1]->shape, *parts[3] = {s, of_feature, of_feature};
        hlo_give_parts(j, i, 3, parts);
    }
}

static void judge_rng(HloJudge *j, HloInstruction *i)
{
    const char *distribution = hlo_attribute(j->scratch, i, "distribution");
    hlo_given(j, i);
    if (i->shape->type == SC_TUPLE) hlo_bad(j, i, "the result is a tuple, an array expected");
    if (!distribution || (strcmp(distribution, "rng_uniform") != 0 && strcmp(distribution, "rng_normal") != 0))
        hlo_bad(j, i, "distribution is %s, rng_uniform or rng_normal expected", distribution ? distribution : "missing");
    hlo_want_count(j, i, 2, 2);
    for (uint32_t k = 0; k < 2; k++) hlo_want_scalar(j, i, k, i->shape->type);
}

/* The new state, of the operand's shape, and integers. */
static void judge_rng_bit_generator(HloJudge *j, HloInstruction *i)
{
    const HloShape *state = hlo_array(j, i, 0);
    const char *algorithm = hlo_attribute(j->scratch, i, "algorithm");
    bool known = !algorithm || strcmp(algorithm, "rng_default") == 0 || strcmp(algorithm, "rng_philox") == 0 ||
                 strcmp(algorithm, "rng_three_fry") == 0;
    if (!known)
        hlo_bad(j, i, "algorithm is %s, rng_default, rng_philox or rng_three_fry expected", algorithm);
    hlo_given(j, i);
    bool fits = i->shape->type == SC_TUPLE && i->shape->n_elements == 2;
    if (!fits) hlo_bad(j, i, "the result has shape %s, a tuple of the state and the bits expected", hlo_brief(j, i->shape));
    hlo_want_shape(j, i, "element 0 of the result", i->shape->elements[0], state);
    const HloShape *bits = i->shape->elements[1];
    if (bits->type == SC_TUPLE || !strchr("PIUF", sc_type_info[bits->type].cls))
        hlo_bad(j, i, "element 1 of the result has shape %s, numbers expected", hlo_brief(j, bits));
}

bool hlo_judge_library(HloJudge *j, HloInstruction *i)
{
    WbbI128 state[1] = {2};
    switch (i->opcode) {
    case HLO_DOT: case HLO_RAGGED_DOT: case HLO_SCALED_DOT: judge_dot(j, i); return true;
    case HLO_CONVOLUTION: judge_convolution(j, i); return true;
    case HLO_FFT: judge_fft(j, i); return true;
    case HLO_CHOLESKY: hlo_give_shape(j, i, want_square(j, i)); return true;
    case HLO_TRIANGULAR_SOLVE: judge_triangular_solve(j, i); return true;
    case HLO_BATCH_NORM_GRAD: case HLO_BATCH_NORM_INFERENCE: case HLO_BATCH_NORM_TRAINING: judge_batch_norm(j, i); return true;
    case HLO_RNG: judge_rng(j, i); return true;
    case HLO_RNG_BIT_GENERATOR: judge_rng_bit_generator(j, i); return true;
    case HLO_RNG_GET_AND_UPDATE_STATE: hlo_give(j, i, SC_U64, 1, state); return true;
    default: return false;
    }
}
