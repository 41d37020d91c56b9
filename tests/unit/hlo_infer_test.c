/* hlo_infer: the shape of every operation whose operands and attributes determine it, where the text gives none. */
#include "hlo_texts.h"

static void test_infer(void **state)
{
    WbbCx *cx = *state;
    static const struct { const char *text, *shape; } cases[] = {
        {P8 "ROOT r = sine(p)", "f32[8]"},
        {P8 "z = f32[] parameter(1)\nROOT r = add(p, p)", "f32[8]"},
        {"p = c64[8] parameter(0)\nROOT r = abs(p)", "f32[8]"},
        {"p = c128[8] parameter(0)\nROOT r = imag(p)", "f64[8]"},
        {"p = f64[8] parameter(0)\nROOT r = complex(p, p)", "c128[8]"},
        {P8 "ROOT r = compare(p, p), direction=EQ", "pred[8]"},
        {P8 "ROOT r = is-finite(p)", "pred[8]"},
        {P8 "c = pred[] parameter(1)\nROOT r = select(c, p, p)", "f32[8]"},
        {P8 "c = f32[] parameter(1)\nROOT r = clamp(c, p, c)", "f32[8]"},
        {P8 "ROOT r = reduce-precision(p), exponent_bits=8, mantissa_bits=7", "f32[8]"},
        {"p = f32[2,3,4] parameter(0)\nROOT r = transpose(p), dimensions={2,0,1}", "f32[4,2,3]"},
        {P24 "ROOT r = reverse(p), dimensions={0,1}", "f32[2,4]"},
        {P24 "ROOT r = slice(p), slice={[0:2], [1:4:2]}", "f32[2,2]"},
        {P24 "q = f32[3,4] parameter(1)\nROOT r = concatenate(p, q), dimensions={0}", "f32[5,4]"},
        {P24 "z = f32[] constant(0)\nROOT r = pad(p, z), padding=-1_0x1_2_3", "f32[1,16]"},
        {P24 "z = s32[] constant(0)\nROOT r = dynamic-slice(p, z, z), dynamic_slice_sizes={1,4}", "f32[1,4]"},
        {P24 "z = s32[] constant(0)\nq = f32[1,2] parameter(1)\nROOT r = dynamic-update-slice(p, q, z, z)", "f32[2,4]"},
        {P8 "ROOT r = get-dimension-size(p), dimensions={0}", "s32[]"},
        {P8 "z = s32[] constant(4)\nROOT r = set-dimension-size(p, z), dimensions={0}", "f32[8]"},
        {"p = f32[30,20] parameter(0)\nq = s32[10,2] parameter(1)\nROOT r = gather(p, q), offset_dims={1,2}, "
         "collapsed_slice_dims={}, start_index_map={1,0}, index_vector_dim=1, slice_sizes={4,8}", "f32[10,4,8]"},
        {"p = f32[30,20] parameter(0)\nq = s32[10] parameter(1)\nROOT r = gather(p, q), offset_dims={0}, "
         "collapsed_slice_dims={0}, start_index_map={0}, index_vector_dim=1, slice_sizes={1,8}", "f32[8,10]"},
        {"p = f32[3,20] parameter(0)\nq = s32[3,5,1] parameter(1)\nROOT r = gather(p, q), offset_dims={2}, "
         "collapsed_slice_dims={}, start_index_map={1}, operand_batching_dims={0}, start_indices_batching_dims={0}, "
         "index_vector_dim=2, slice_sizes={1,8}", "f32[3,5,8]"},
        {ADD E P24 "q = s32[3,1] parameter(1)\nu = f32[3,4] parameter(2)\nROOT r = scatter(p, q, u), update_window_dims={1}, "
         "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=m }", "f32[2,4]"},
        {"m { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3) ROOT t = tuple(c, d) "
         "}\n" E P8 "i = s32[8] parameter(1)\nq = s32[] parameter(2)\nu = f32[2] parameter(3)\nv = s32[2] parameter(4)\nROOT r "
         "= scatter(p, i, q, u, v), update_window_dims={0}, inserted_window_dims={}, scatter_dims_to_operand_dims={0}, "
         "index_vector_dim=0, to_apply=m }", "(f32[8], s32[8])"},
        {ADD E P24 "z = f32[] constant(0)\nROOT r = reduce(p, z), dimensions={0}, to_apply=m }", "f32[4]"},
        {ADD E P24 "z = f32[] constant(0)\nROOT r = reduce(p, z), dimensions={}, to_apply=m }", "f32[2,4]"},
        {"m { a = f32[] parameter(0) b = s32[] parameter(1) c = f32[] parameter(2) d = s32[] parameter(3) ROOT t = tuple(a, d) "
         "}\n" E P24 "i = s32[2,4] parameter(1)\nz = f32[] constant(0)\nk = s32[] constant(0)\nROOT r = reduce(p, i, z, k), "
         "dimensions={1}, to_apply=m }", "(f32[2], s32[2])"},
        {ADD E P8 "z = f32[] constant(0)\nROOT r = reduce-window(p, z), window={size=3 stride=2 pad=1_-1 lhs_dilate=2 "
         "rhs_dilate=2}, to_apply=m }", "f32[6]"},
        {ADD LT E P8 "z = f32[] constant(0)\nq = f32[4] parameter(1)\nROOT r = select-and-scatter(p, q, z), window={size=2 "
         "stride=2}, select=l, scatter=m }", "f32[8]"},
        {LT E P8 "ROOT r = sort(p), dimensions={0}, to_apply=l }", "f32[8]"},
        {"l { a = f32[] parameter(0) b = f32[] parameter(1) c = s32[] parameter(2) d = s32[] parameter(3) ROOT s = compare(a, "
         "b), direction=LT }\n" E P8 "i = s32[8] parameter(1)\nROOT r = sort(p, i), dimensions={0}, is_stable=true, to_apply=l "
         "}", "(f32[8], s32[8])"},
        {LT E P24 "ROOT r = map(p, p), dimensions={0,1}, to_apply=l }", "pred[2,4]"},
        {P24 "ROOT r = topk(p), k=3, largest=true", "(f32[2,3], s32[2,3])"},
        {P24 "q = f32[4,3] parameter(1)\nROOT r = dot(p, q), lhs_contracting_dims={1}, rhs_contracting_dims={0}", "f32[2,3]"},
        {"p = bf16[7,2,4] parameter(0)\nq = f32[4,3,7] parameter(1)\nROOT r = dot(p, q), lhs_batch_dims={0}, "
         "rhs_batch_dims={2}, lhs_contracting_dims={2}, rhs_contracting_dims={0}", "f32[7,2,3]"},
        {"p = f32[11,5] parameter(0)\nq = f32[3,5,7] parameter(1)\ng = s32[3] parameter(2)\nROOT r = ragged-dot(p, q, g), "
         "lhs_contracting_dims={1}, rhs_contracting_dims={1}, lhs_ragged_dims={0}, rhs_group_dims={0}", "f32[11,7]"},
        {"p = f32[11,5] parameter(0)\nq = f32[5,7] parameter(1)\ng = s32[3] parameter(2)\nROOT r = ragged-dot(p, q, g), "
         "lhs_contracting_dims={1}, rhs_contracting_dims={0}, lhs_ragged_dims={1}", "f32[3,11,7]"},
        {"x = f32[1,8,8,6] parameter(0)\nk = f32[3,3,3,16] parameter(1)\nROOT r = convolution(x, k), window={size=3x3 "
         "stride=2x1 pad=1_1x0_0}, dim_labels=b01f_01io->bf01, feature_group_count=2", "f32[1,16,4,6]"},
        {"x = f32[4,3] parameter(0)\nk = f32[3,5] parameter(1)\nROOT r = convolution(x, k), dim_labels=bf_io->bf", "f32[4,5]"},
        {"p = c64[3,8] parameter(0)\nROOT r = fft(p), fft_type=IFFT, fft_length={3,8}", "c64[3,8]"},
        {"p = f32[3,8] parameter(0)\nROOT r = fft(p), fft_type=RFFT, fft_length={8}", "c64[3,5]"},
        {"p = c128[3,5] parameter(0)\nROOT r = fft(p), fft_type=IRFFT, fft_length={9}", "f64[3,9]"},
        {"p = f32[4,4] parameter(0)\nROOT r = cholesky(p), lower=true", "f32[4,4]"},
        {"p = f32[4,4] parameter(0)\nq = f32[4,3] parameter(1)\nROOT r = triangular-solve(p, q), left_side=true, "
         "lower=true", "f32[4,3]"},
        {P24 "s = f32[4] parameter(1)\nROOT r = batch-norm-training(p, s, s), epsilon=1e-05, "
         "feature_index=1", "(f32[2,4], f32[4], f32[4])"},
        {P24 "s = f32[4] parameter(1)\nROOT r = batch-norm-inference(p, s, s, s, s), epsilon=1e-05, "
         "feature_index=1", "f32[2,4]"},
        {P24 "s = f32[4] parameter(1)\nROOT r = batch-norm-grad(p, s, s, s, p), epsilon=1e-05, "
         "feature_index=1", "(f32[2,4], f32[4], f32[4])"},
        {"ROOT r = rng-get-and-update-state(), delta=1", "u64[2]"},
        {ID E P8 "ROOT r = call(p), to_apply=i }", "f32[8]"},
        {ID E P8 "ROOT r = fusion(p), kind=kLoop, calls=i }", "f32[8]"},
        {"c { a = f32[8] parameter(0) ROOT t = pred[] constant(1) }\n" ID E P8 "ROOT r = while(p), body=i, condition=c "
         "}", "f32[8]"},
        {ID E P8 "c = s32[] constant(1)\nROOT r = conditional(c, p, p, p), branch_computations={i, i, i} }", "f32[8]"},
        {P8 "t = tuple()\nROOT r = tuple(p, t)", "(f32[8], ())"},
        {P8 "t = tuple(p)\nROOT r = get-tuple-element(t), index=0", "f32[8]"},
        {P8 "s = ((f32[8]), f32[8], u32[]) negate-start(p)\nROOT r = negate-done(s)", "f32[8]"},
        {P8 "ROOT r = copy-start(p)", "(f32[8], f32[8], u32[])"},
        {P8 "s = copy-start(p)\nROOT r = copy-done(s)", "f32[8]"},
        {P8 "ROOT r = opt-barrier(p)", "f32[8]"},
        {ADD E P8 "ROOT r = all-reduce(p, p), to_apply=m }", "(f32[8], f32[8])"},
        {ADD E P8 "s = all-reduce-start(p), to_apply=m\nROOT r = all-reduce-done(s) }", "f32[8]"},
        {P8 "s = (f32[8], f32[16]) all-gather-start(p), dimensions={0}\nROOT r = all-gather-done(s)", "f32[16]"},
        {P8 "ROOT r = all-to-all(p, p)", "(f32[8], f32[8])"},
        {P8 "ROOT r = collective-permute(p), source_target_pairs={{0,1}}", "f32[8]"},
        {P8 "ROOT r = collective-broadcast(p), replica_groups={{0,1}}", "f32[8]"},
        {P8 "k = token[] after-all()\nROOT r = send(p, k), channel_id=1", "(f32[8], u32[], token[])"},
        {P8 "k = token[] after-all()\ns = send(p, k), channel_id=1\nROOT r = send-done(s), channel_id=1", "token[]"},
        {"k = token[] after-all()\ns = (f32[8], u32[], token[]) recv(k), channel_id=1\nROOT r = recv-done(s), "
         "channel_id=1", "(f32[8], token[])"},
        {P8 "k = token[] after-all()\nROOT r = outfeed(p, k), outfeed_shape=f32[8]", "token[]"},
        {"k = token[] parameter(0)\nROOT r = after-all(k, k)", "token[]"},
        {"ROOT r = replica-id()", "u32[]"},
        {P8 "k = token[] after-all()\nROOT r = add-dependency(p, k)", "f32[8]"},
    };
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        Job j = job(cx, cases[k].text);
        wbb_cx_clear(cx);
        if (wbb_guard(cx, parse, &j) != WBB_OK) fail_msg("%s in: %s", cx->messages, cases[k].text);
        WbbBuf shape = wbb_buf(cx->arena);
        hlo_print_shape(&shape, j.module->entry->root->shape);
        assert_string_equal(shape.text, cases[k].shape);
    }
}

/* Operations whose shape the operands and attributes do not determine are refused. */
static void test_not_inferred(void **state)
{
    WbbCx *cx = *state;
    static const char *const operations[] = {
        "convert(p)", "broadcast(p), dimensions={0}", "iota(), iota_dimension=0", "reshape(p)", "bitcast(p)", "bitcast-convert(p)",
        "parameter(1)", "custom-call(p), custom_call_target=\"x\"", "infeed()", "rng(z, z), distribution=rng_uniform",
        "all-gather(p), dimensions={0}", "negate-start(p)", "stochastic-convert(p, u)",
    };
    for (size_t k = 0; k < WBB_LEN(operations); k++) {
        Job j = job(
            cx, wbb_format(cx->arena, P8 "z = f32[] constant(0)\nu = u32[8] constant({...})\nr = %s", operations[k]));
        wbb_cx_clear(cx);
        assert_int_equal(wbb_guard(cx, parse, &j), WBB_FAILED);
        if (!strstr(cx->messages, "its shape is missing and does not follow from its operands"))
            fail_msg("%s for: %s", cx->messages, operations[k]);
    }
}

static const HloInstruction *root_of(WbbCx *cx, const char *text)
{
    Job j = job(cx, text);
    if (wbb_guard(cx, parse, &j) != WBB_OK) fail_msg("%s in: %s", cx->messages, text);
    return j.module->entry->root;
}

static void assert_ints(HloInts list, uint32_t n, const int64_t *want)
{
    assert_int_equal(list.n, n);
    assert_non_null(list.items);
    for (uint32_t k = 0; k < n; k++) assert_int_equal(list.items[k], want[k]);
}

#define INTS(...) (uint32_t)(sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (int64_t[]){__VA_ARGS__}

/* The roles of dimensions, with their names. */
static void test_dims(void **state)
{
    WbbCx *cx = *state;
    HloDotDims dot = hlo_dot_dims(cx->arena, root_of(cx, "p = bf16[7,2,4] parameter(0)\nq = f32[4,3,7] parameter(1)\n"
                                                        "r = dot(p, q), lhs_batch_dims={0}, rhs_batch_dims={2}, "
                                                        "lhs_contracting_dims={2}, rhs_contracting_dims={0}"));
    assert_ints(dot.lhs_batch, INTS(0));
    assert_ints(dot.rhs_batch, INTS(2));
    assert_ints(dot.lhs_contracting, INTS(2));
    assert_ints(dot.rhs_contracting, INTS(0));
    HloConvDims c = hlo_conv_dims(cx->arena,
                                  root_of(cx, "x = f32[1,9,8,6] parameter(0)\nk = f32[16,2,3,3] parameter(1)\n"
                                              "r = convolution(x, k), dim_labels=b10f_o1i0->f0b1, "
                                              "feature_group_count=2, window={size=3x2}"));
    assert_true(c.known);
    assert_int_equal(c.n_spatial, 2);
    assert_int_equal(c.feature_groups, 2);
    assert_int_equal(c.batch_groups, 1);
    const int8_t want[6] = {0, 3, 2, 0, 2, 0}, got[6] = {c.lhs_batch, c.lhs_feature, c.rhs_input, c.rhs_output, c.out_batch, c.out_feature};
    assert_memory_equal(got, want, 6);
    assert_int_equal(c.lhs_spatial[0], 2);
    assert_int_equal(c.rhs_spatial[0], 3);
    assert_int_equal(c.out_spatial[1], 3);
    HloGatherDims g = hlo_gather_dims(cx->arena, root_of(cx, "p = f32[3,20] parameter(0)\nq = s32[3,5,1] parameter(1)\n"
        "r = gather(p, q), offset_dims={2}, collapsed_slice_dims={}, start_index_map={1}, operand_batching_dims={0}, "
        "start_indices_batching_dims={0}, index_vector_dim=2, slice_sizes={1,8}, indices_are_sorted=true"));
    assert_ints(g.offset, INTS(2));
    assert_int_equal(g.collapsed.n, 0);
    assert_ints(g.start_map, INTS(1));
    assert_ints(g.operand_batching, INTS(0));
    assert_ints(g.indices_batching, INTS(0));
    assert_ints(g.slice_sizes, INTS(1, 8));
    assert_int_equal(g.index_vector_dim, 2);
    assert_true(g.sorted);
    HloScatterDims s = hlo_scatter_dims(
        cx->arena, root_of(cx, ADD E P24 "q = s32[3,1] parameter(1)\nu = f32[3,4] parameter(2)\n"
                                         "ROOT r = scatter(p, q, u), update_window_dims={1}, inserted_window_dims={0}, "
                                         "scatter_dims_to_operand_dims={0}, "
                                         "index_vector_dim=1, unique_indices=true, to_apply=m }"));
    assert_ints(s.update_window, INTS(1));
    assert_ints(s.inserted_window, INTS(0));
    assert_ints(s.operand_map, INTS(0));
    assert_int_equal(s.input_batching.n, 0);
    assert_true(s.unique);
    assert_false(s.sorted);
    const HloInstruction *bn = root_of(cx,
                                       P24 "s = f32[4] parameter(1)\n"
                                           "r = batch-norm-inference(p, s, s, s, s), epsilon=1e-05, feature_index=1");
    assert_true(hlo_attribute_f64(cx->arena, bn, "epsilon", 0) == 1e-05);
    assert_int_equal(hlo_attribute_int(cx->arena, bn, "feature_index", -1), 1);
    assert_int_equal(hlo_attribute_int(cx->arena, bn, "epsilon", -1), -1);
    assert_false(hlo_attribute_true(cx->arena, bn, "lower"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_infer), TEST(test_not_inferred), TEST(test_dims),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
