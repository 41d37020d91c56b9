/* eval_ops: operations that read more than one element of an operand: dot, convolution, windows, scatter, sort, scan,
 * control flow. Each is evaluated whole and at single positions, plain, in f64 and as bounds. */
#include "eval_run.h"

#include <math.h>

/* Output `leaf` must have these n values: evaluated whole, by position from last to first, in f64, and inside its
 * bounds. */
static void expect(WbbCx *cx, const char *text, const void *const *inputs, uint32_t leaf, const float *wanted, int n)
{
    const EvResult *r = run_eval(cx, text, inputs, EV_PLAIN, NULL);
    int64_t positions[64];
    const float *got = r->outputs[leaf].data;
    for (int k = 0; k < n; k++) {
        positions[k] = n - 1 - k;
        if (got[k] != wanted[k])
            fail_msg("element %d is %g, not %g in\n%s", k, (double)got[k], (double)wanted[k], text);
    }
    EvPositions *at = WBB_NEW_N(cx->arena, EvPositions, r->n);
    for (uint32_t k = 0; k < r->n; k++) at[k] = (EvPositions){positions, k == leaf ? n : 0};
    got = run_eval(cx, text, inputs, EV_PLAIN, at)->outputs[leaf].data;
    for (int k = 0; k < n; k++)
        if (got[k] != wanted[n - 1 - k])
            fail_msg("by position, element %d is %g, not %g in\n%s", n - 1 - k, (double)got[k],
                     (double)wanted[n - 1 - k], text);
    const double *exact = run_eval(cx, text, inputs, EV_F64, NULL)->outputs[leaf].data;
    const EvBound *bounds = run_eval(cx, text, inputs, EV_BOUNDS, NULL)->outputs[leaf].data;
    for (int k = 0; k < n; k++) {
        uint32_t bits;
        memcpy(&bits, &wanted[k], sizeof bits);
        if (fabs(exact[k] - (double)wanted[k]) > 1e-6 * fabs(exact[k]))
            fail_msg("in f64, element %d is %g in\n%s", k, exact[k], text);
        if (!ev_bounds_contains(SC_F32, bits, &bounds[k]))
            fail_msg("element %d, %g, is not in its bounds [%g, %g] in\n%s", k, (double)wanted[k], bounds[k].lo.f,
                     bounds[k].hi.f, text);
    }
}

static void expect_ints(WbbCx *cx, const char *text, const void *const *inputs, uint32_t leaf, const int32_t *wanted,
                        int n)
{
    const int32_t *got = run_eval(cx, text, inputs, EV_PLAIN, NULL)->outputs[leaf].data;
    const EvBound *bounds = run_eval(cx, text, inputs, EV_BOUNDS, NULL)->outputs[leaf].data;
    for (int k = 0; k < n; k++) {
        if (got[k] != wanted[k]) fail_msg("element %d is %d, not %d in\n%s", k, got[k], wanted[k], text);
        if (!ev_bounds_contains(SC_I32, (uint32_t)wanted[k], &bounds[k]))
            fail_msg("element %d, %d, is not in its bounds in\n%s", k, wanted[k], text);
    }
}

#define ADD "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
#define WITH(...) (const float[]){__VA_ARGS__}, (int)(sizeof((const float[]){__VA_ARGS__}) / sizeof(float))
#define INTS(...) (const int32_t[]){__VA_ARGS__}, (int)(sizeof((const int32_t[]){__VA_ARGS__}) / sizeof(int32_t))

static const float six[6] = {1, 2, 3, 4, 5, 6};
static const void *const six_input[] = {six, six};

static void test_dot(void **state)
{
    expect(*state,
           "e { x = f32[2,3] parameter(0) y = f32[3,2] parameter(1) ROOT d = f32[2,2] dot(x, y), "
           "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
           six_input, 0, WITH(22, 28, 49, 64));
    /* Two contracted dimensions; a batch dimension that is not the first. */
    expect(*state,
           "e { x = f32[2,3] parameter(0) y = f32[3,2] parameter(1) ROOT d = f32[] dot(x, y), "
           "lhs_contracting_dims={0,1}, rhs_contracting_dims={1,0} }",
           six_input, 0, WITH(1 + 6 + 15 + 8 + 20 + 36));
    expect(*state,
           "e { x = f32[2,3] parameter(0) y = f32[3,2] parameter(1) ROOT d = f32[3] dot(x, y), lhs_batch_dims={1}, "
           "rhs_batch_dims={0}, lhs_contracting_dims={0}, rhs_contracting_dims={1} }",
           six_input, 0, WITH(1 + 8, 6 + 20, 15 + 36));
    const int8_t bytes[4] = {-128, 127, -128, 100};
    const void *const in[] = {bytes, bytes};
    expect_ints(*state,
                "e { x = s8[4] parameter(0) y = s8[4] parameter(1) ROOT d = s32[] dot(x, y), lhs_contracting_dims={0}, "
                "rhs_contracting_dims={0} }",
                in, 0, INTS(16384 + 16129 + 16384 + 10000));
    const float parts[4] = {1, 2, 3, -1}; /* 1 + 2i, 3 - i */
    const void *const complex[] = {parts, parts};
    const float *z = run_eval(*state,
                              "e { x = c64[2] parameter(0) y = c64[2] parameter(1) ROOT d = c64[] dot(x, y), "
                              "lhs_contracting_dims={0}, rhs_contracting_dims={0} }",
                              complex, EV_PLAIN, NULL)
                         ->outputs[0]
                         .data;
    assert_true(z[0] == -3 + 8 && z[1] == 4 - 6);
    /* An empty contracted dimension gives zero. f8 operands, f32 result. */
    expect(*state,
           "e { x = f32[2,0] constant({{},{}}) y = f32[0,1] constant({}) ROOT d = f32[2,1] dot(x, y), "
           "lhs_contracting_dims={1}, rhs_contracting_dims={0} }",
           NULL, 0, WITH(0, 0));
    const uint8_t f8[2] = {0x38, 0x40}; /* 1, 2 */
    const void *const small[] = {f8, f8};
    expect(*state,
           "e { x = f8e4m3fn[2] parameter(0) y = f8e4m3fn[2] parameter(1) ROOT d = f32[] dot(x, y), "
           "lhs_contracting_dims={0}, rhs_contracting_dims={0} }",
           small, 0, WITH(5));
}

static void test_convolution(void **state)
{
    expect(*state,
           "e { x = f32[1,6,1] parameter(0) k = f32[2,1,1] constant({{{10}},{{1}}}) ROOT c = f32[1,5,1] convolution(x, "
           "k), window={size=2}, dim_labels=b0f_0io->b0f }",
           six_input, 0, WITH(12, 23, 34, 45, 56));
    expect(*state,
           "e { x = f32[1,6,1] parameter(0) k = f32[2,1,1] constant({{{10}},{{1}}}) ROOT c = f32[1,5,1] convolution(x, "
           "k), window={size=2 rhs_reversal=1}, dim_labels=b0f_0io->b0f }",
           six_input, 0, WITH(21, 32, 43, 54, 65));
    /* A dilated kernel with negative padding at the end and a stride; then a dilated input. */
    expect(*state,
           "e { x = f32[1,6,1] parameter(0) k = f32[2,1,1] constant({{{10}},{{1}}}) ROOT c = f32[1,2,1] convolution(x, "
           "k), window={size=2 stride=2 pad=1_-1 rhs_dilate=2}, dim_labels=b0f_0io->b0f }",
           six_input, 0, WITH(2, 24));
    expect(*state,
           "e { x = f32[1,2,3] parameter(0) k = f32[2,3,1] constant({{{1},{1},{1}},{{0},{0},{1}}}) ROOT c = f32[1,3,1] "
           "convolution(x, k), window={size=2 pad=0_1 lhs_dilate=2}, dim_labels=b0f_0io->b0f }",
           six_input, 0, WITH(6, 6, 15));
    /* Feature groups: each output feature reads its own input feature. Batch groups: each reads its own part of the
     * batch. */
    expect(*state,
           "e { x = f32[1,1,6] parameter(0) k = f32[1,1,6] constant({{{1,2,3,4,5,6}}}) ROOT c = f32[1,1,6] "
           "convolution(x, k), window={size=1}, dim_labels=b0f_0io->b0f, feature_group_count=6 }",
           six_input, 0, WITH(1, 4, 9, 16, 25, 36));
    expect(*state,
           "e { x = f32[6,1,1] parameter(0) k = f32[1,1,2] constant({{{1,10}}}) ROOT c = f32[3,1,2] convolution(x, k), "
           "window={size=1}, dim_labels=b0f_0io->b0f, batch_group_count=2 }",
           six_input, 0, WITH(1, 40, 2, 50, 3, 60));
}

static void test_windows(void **state)
{
    expect(*state,
           ADD "ENTRY e { x = f32[6] parameter(0) z = f32[] constant(0) ROOT w = f32[6] reduce-window(x, z), "
               "window={size=6 pad=5_0}, to_apply=add }",
           six_input, 0, WITH(1, 3, 6, 10, 15, 21));
    expect(*state,
           ADD "ENTRY e { x = f32[6] parameter(0) z = f32[] constant(0) ROOT w = f32[3] reduce-window(x, z), "
               "window={size=2 stride=2 pad=-1_2}, to_apply=add }",
           six_input, 0, WITH(5, 9, 6));
    expect(*state,
           ADD "ENTRY e { p = f32[6] parameter(0) x = f32[3] slice(p), slice={[0:3]} z = f32[] constant(0) ROOT w = "
               "f32[3] reduce-window(x, z), window={size=2 lhs_dilate=2 rhs_dilate=2}, to_apply=add }",
           six_input, 0, WITH(3, 0, 5));
    /* Two arrays: the largest element and its index. */
    const char *variadic = "pick { a = f32[] parameter(0) i = s32[] parameter(1) b = f32[] parameter(2) j = s32[] "
                           "parameter(3) p = pred[] compare(a, b), direction=GE v = f32[] select(p, a, b) k = s32[] "
                           "select(p, i, j) ROOT r = (f32[], s32[]) tuple(v, k) }\n"
                           "ENTRY e { x = f32[4] constant({3, 9, 9, 1}) i = s32[4] iota(), iota_dimension=0 z = f32[] "
                           "constant(-inf) m = s32[] constant(-1) ROOT w = (f32[2], s32[2]) reduce-window(x, i, z, m), "
                           "window={size=2 stride=2}, to_apply=pick }";
    expect(*state, variadic, NULL, 0, WITH(9, 9));
    expect_ints(*state, variadic, NULL, 1, INTS(1, 2));
    expect(*state,
           "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }\n" ADD
           "ENTRY e { x = f32[6] constant({5, 5, 2, 7, 1, 0}) s = f32[3] constant({10, 20, 30}) z = f32[] constant(1) "
           "ROOT w = f32[6] select-and-scatter(x, s, z), window={size=2 stride=2}, select=ge, scatter=add }",
           NULL, 0, WITH(11, 1, 1, 21, 31, 1));
    /* Overlapping windows that select the same element. */
    expect(*state,
           "ge { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GE }\n" ADD
           "ENTRY e { x = f32[3] constant({1, 7, 2}) s = f32[2] constant({10, 20}) z = f32[] constant(0) ROOT w = "
           "f32[3] select-and-scatter(x, s, z), window={size=2}, select=ge, scatter=add }",
           NULL, 0, WITH(0, 30, 0));
}

static void test_scatter(void **state)
{
    const int32_t at[3] = {1, 5, 1};
    const void *const in[] = {six, at};
    const char *sum = ADD
        "ENTRY e { x = f32[6] parameter(0) i = s32[3] parameter(1) u = f32[3,2] constant({{10,20},{30,40},{50,60}}) "
        "ROOT s = f32[6] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={}, "
        "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }";
    expect(*state, sum, in, 0,
           WITH(1, 62, 83, 4, 5, 6)); /* the window at 5 exceeds the operand, so all of it is skipped */
    const char *last =
        "set { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }\nENTRY e { x = f32[6] parameter(0) i = s32[3,1] "
        "parameter(1) u = f32[3] constant({10,20,30}) ROOT s = f32[6] scatter(x, i, u), update_window_dims={}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=set }";
    expect(*state, last, in, 0, WITH(1, 30, 3, 4, 5, 20));
    const EvBound *b = run_eval(*state, last, in, EV_BOUNDS, NULL)->outputs[0].data;
    assert_true(b[1].lo.f == 10 && b[1].hi.f == 30); /* either update may be the last */
    const char *two =
        "f { a = f32[] parameter(0) b = f32[] parameter(1) c = f32[] parameter(2) d = f32[] parameter(3) s = f32[] "
        "add(a, c) m = f32[] maximum(b, d) ROOT r = (f32[], f32[]) tuple(s, m) }\n"
        "ENTRY e { x = f32[6] parameter(0) i = s32[3] parameter(1) u = f32[3] constant({10,20,30}) v = f32[3] "
        "constant({1, 9, 0}) ROOT s = (f32[6], f32[6]) scatter(x, x, i, u, v), update_window_dims={}, "
        "inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=f }";
    expect(*state, two, in, 0, WITH(1, 42, 3, 4, 5, 26));
    expect(*state, two, in, 1, WITH(1, 2, 3, 4, 5, 9));
    /* A batching dimension: row k of the indices applies to row k of the operand. */
    const int32_t rows[2] = {2, 0};
    const void *const batch[] = {six, rows};
    expect(
        *state,
        ADD
        "ENTRY e { x = f32[2,3] parameter(0) i = s32[2,1] parameter(1) u = f32[2] constant({10,20}) ROOT s = f32[2,3] "
        "scatter(x, i, u), update_window_dims={}, inserted_window_dims={1}, scatter_dims_to_operand_dims={1}, "
        "input_batching_dims={0}, scatter_indices_batching_dims={0}, index_vector_dim=1, to_apply=add }",
        batch, 0, WITH(1, 2, 13, 24, 5, 6));
}

static void test_sort(void **state)
{
    const float keys[6] = {3, 1, 2, 1, 9, 0};
    const void *const in[] = {keys};
    const char *text = "lt { a = f32[] parameter(0) b = f32[] parameter(1) i = s32[] parameter(2) j = s32[] "
                       "parameter(3) ROOT r = pred[] compare(a, b), direction=LT }\n"
                       "ENTRY e { x = f32[6] parameter(0) i = s32[6] iota(), iota_dimension=0 ROOT s = (f32[6], "
                       "s32[6]) sort(x, i), dimensions={0}, is_stable=true, to_apply=lt }";
    expect(*state, text, in, 0, WITH(0, 1, 1, 2, 3, 9));
    expect_ints(*state, text, in, 1, INTS(5, 1, 3, 2, 0, 4));
    expect(*state,
           "gt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = pred[] compare(a, b), direction=GT }\nENTRY e "
           "{ x = f32[3,2] parameter(0) ROOT s = f32[3,2] sort(x), dimensions={0}, to_apply=gt }",
           in, 0, WITH(9, 1, 3, 1, 2, 0));
    expect(*state,
           "e { x = f32[6] parameter(0) t = (f32[2], s32[2]) topk(x), k=2, largest=true ROOT g = f32[2] "
           "get-tuple-element(t), index=0 }",
           in, 0, WITH(9, 3));
}

static void test_control(void **state)
{
    const char *loop =
        "cond { s = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(5) ROOT r "
        "= pred[] compare(i, n), direction=LT }\n"
        "body { s = (s32[], f32[3]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[3] "
        "get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one) y = f32[3] add(x, x) ROOT r = "
        "(s32[], f32[3]) tuple(j, y) }\n"
        "ENTRY e { i = s32[] constant(2) x = f32[3] constant({1, 2, 3}) s = (s32[], f32[3]) tuple(i, x) w = (s32[], "
        "f32[3]) while(s), condition=cond, body=body ROOT g = f32[3] get-tuple-element(w), index=1 }";
    expect(*state, loop, NULL, 0, WITH(8, 16, 24));
    const char *branch = "a { p = f32[2] parameter(0) ROOT n = f32[2] negate(p) }\nb { p = f32[2] parameter(0) ROOT n "
                         "= f32[2] add(p, p) }\n"
                         "ENTRY e { i = s32[] constant(%d) x = f32[2] constant({1, 2}) ROOT c = f32[2] conditional(i, "
                         "x, x), branch_computations={a, b} }";
    WbbCx *cx = *state;
    expect(cx, wbb_format(cx->arena, branch, 0), NULL, 0, WITH(-1, -2));
    expect(cx, wbb_format(cx->arena, branch, 1), NULL, 0, WITH(2, 4));
    expect(cx, wbb_format(cx->arena, branch, -7), NULL, 0, WITH(2, 4)); /* out of range selects the last branch */
    expect(
        cx,
        "a { p = f32[] parameter(0) ROOT n = f32[] negate(p) }\nb { p = f32[] parameter(0) ROOT n = f32[] add(p, p) }\n"
        "ENTRY e { i = pred[] constant(true) x = f32[] constant(3) ROOT c = f32[] conditional(i, x, x), "
        "true_computation=a, false_computation=b }",
        NULL, 0, WITH(-3));
    /* If the predicate may be either, the bounds contain the results of both branches. */
    const float x = 0.5f;
    const void *const in[] = {&x};
    const EvBound *both = run_eval(cx,
                                   "a { p = f32[] parameter(0) ROOT n = f32[] negate(p) }\nb { p = f32[] parameter(0) "
                                   "ROOT n = f32[] add(p, p) }\n"
                                   "ENTRY e { x = f32[] parameter(0) t = f32[] tanh(x) y = f32[] multiply(x, x) u = "
                                   "f32[] tanh(x) k = pred[] compare(t, u), direction=LE ROOT c = f32[] conditional(k, "
                                   "x, x), true_computation=a, false_computation=b }",
                                   in, EV_BOUNDS, NULL)
                              ->outputs[0]
                              .data;
    assert_true(both->lo.f == -0.5 && both->hi.f == 1);
    expect(cx,
           "f { p = f32[] parameter(0) q = f32[] parameter(1) m = f32[] multiply(p, q) ROOT r = f32[] add(m, p) "
           "}\nENTRY e { x = f32[6] parameter(0) ROOT m = f32[6] map(x, x), dimensions={0}, to_apply=f }",
           six_input, 0, WITH(2, 6, 12, 20, 30, 42));
    /* A reducer with a loop is applied element by element. */
    expect(cx,
           "c { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 n = s32[] constant(2) ROOT r = "
           "pred[] compare(i, n), direction=LT }\n"
           "b { s = (s32[], f32[]) parameter(0) i = s32[] get-tuple-element(s), index=0 x = f32[] "
           "get-tuple-element(s), index=1 one = s32[] constant(1) j = s32[] add(i, one) y = f32[] add(x, x) ROOT r = "
           "(s32[], f32[]) tuple(j, y) }\n"
           "f { p = f32[] parameter(0) q = f32[] parameter(1) z = s32[] constant(0) s = (s32[], f32[]) tuple(z, p) w = "
           "(s32[], f32[]) while(s), condition=c, body=b v = f32[] get-tuple-element(w), index=1 ROOT r = f32[] add(v, "
           "q) }\n"
           "ENTRY e { x = f32[2,3] parameter(0) z = f32[] constant(0) ROOT r = f32[2] reduce(x, z), dimensions={1}, "
           "to_apply=f }",
           six_input, 0, WITH(16 + 8 + 3, 64 + 20 + 6));
}

static void test_scan(void **state)
{
    const char *scan = "f { p = f32[2] parameter(0) c = f32[2] parameter(1) s = f32[2] add(p, c) m = f32[2] "
                       "multiply(s, s) ROOT t = (f32[2], f32[2]) tuple(m, s) }\n"
                       "ENTRY e { x = f32[2,3] parameter(0) z = f32[2] constant({0, 1}) ROOT s = (f32[2,3], f32[2]) "
                       "scan(x, z), dimensions={1}, num_carries=1%s, to_apply=f }";
    WbbCx *cx = *state;
    expect(cx, wbb_format(cx->arena, scan, ""), six_input, 0, WITH(1, 9, 36, 25, 100, 256));
    expect(cx, wbb_format(cx->arena, scan, ""), six_input, 1, WITH(6, 16));
    expect(cx, wbb_format(cx->arena, scan, ", is_reverse=true"), six_input, 0, WITH(36, 25, 9, 256, 144, 49));
}

static void test_norm(void **state)
{
    const char *training = "e { x = f32[4,1] constant({{1},{3},{5},{7}}) s = f32[1] constant({2}) o = f32[1] "
                           "constant({10}) t = (f32[4,1], f32[1], f32[1]) batch-norm-training(x, s, o), epsilon=11, "
                           "feature_index=1 ROOT g = f32[%s] get-tuple-element(t), index=%d }";
    WbbCx *cx = *state;
    expect(cx, wbb_format(cx->arena, training, "4,1", 0), NULL, 0,
           WITH(8.5f, 9.5f, 10.5f, 11.5f)); /* variance 5, 1 / sqrt(5 + 11) = 0.25 */
    expect(cx, wbb_format(cx->arena, training, "1", 1), NULL, 0, WITH(4));
    expect(cx, wbb_format(cx->arena, training, "1", 2), NULL, 0, WITH(5));
    expect(cx,
           "e { x = f32[2,1] constant({{1},{3}}) s = f32[1] constant({2}) o = f32[1] constant({10}) m = f32[1] "
           "constant({1}) v = f32[1] constant({3}) ROOT t = f32[2,1] batch-norm-inference(x, s, o, m, v), epsilon=1, "
           "feature_index=1 }",
           NULL, 0, WITH(10, 12));
    /* grad_offset is the sum of the gradients, grad_scale that of the gradients times the normalised values. */
    const char *grad =
        "e { x = f32[2,1] constant({{1},{3}}) s = f32[1] constant({2}) m = f32[1] constant({2}) v = f32[1] "
        "constant({1}) d = f32[2,1] constant({{4},{8}}) t = (f32[2,1], f32[1], f32[1]) batch-norm-grad(x, s, m, v, d), "
        "epsilon=3, feature_index=1 ROOT g = f32[1] get-tuple-element(t), index=%d }";
    expect(cx, wbb_format(cx->arena, grad, 1), NULL, 0, WITH(2));
    expect(cx, wbb_format(cx->arena, grad, 2), NULL, 0, WITH(12));
}

/* Known answers of Random123 (kat_vectors), and XLA's assignment of counters to elements. */
static void test_random(void **state)
{
    const uint64_t zero[3] = {0}, ones[3] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};
    const void *const in[] = {zero}, *const high[] = {ones};
    const char *philox =
        "e { s = u64[3] parameter(0) ROOT r = (u64[3], u32[6]) rng-bit-generator(s), algorithm=rng_philox }";
    const EvResult *r = run_eval(*state, philox, in, EV_PLAIN, NULL);
    const uint32_t *bits = r->outputs[1].data;
    assert_true(bits[0] == 0x6627e8d5 && bits[1] == 0xe169c58d && bits[2] == 0xbc57ac4c && bits[3] == 0x9b00dbd8);
    const uint64_t *next = r->outputs[0].data;
    assert_true(next[0] == 0 && next[1] == 2 && next[2] == 0); /* six elements use two counters */
    bits = run_eval(*state, philox, high, EV_PLAIN, NULL)->outputs[1].data;
    assert_true(bits[0] == 0x408f276d && bits[1] == 0x41c83b0e && bits[2] == 0xa20bc7c6 && bits[3] == 0x6d5451fd);
    const char *threefry =
        "e { s = u64[2] parameter(0) ROOT r = (u64[2], u32[2]) rng-bit-generator(s), algorithm=rng_three_fry }";
    bits = run_eval(*state, threefry, in, EV_PLAIN, NULL)->outputs[1].data;
    assert_true(bits[0] == 0x6b200159 && bits[1] == 0x99ba4efe);
    bits = run_eval(*state, threefry, high, EV_PLAIN, NULL)->outputs[1].data;
    assert_true(bits[0] == 0x1cb996fc && bits[1] == 0xbb002be7);
    const uint64_t *wide =
        run_eval(
            *state,
            "e { s = u64[2] parameter(0) ROOT r = (u64[2], u64[3]) rng-bit-generator(s), algorithm=rng_three_fry }", in,
            EV_PLAIN, NULL)
            ->outputs[1]
            .data;
    assert_true(wide[0] == UINT64_C(0x99ba4efe6b200159));
    const int64_t five = 5;
    const EvPositions at[2] = {{&five, 0}, {&five, 1}};
    const uint32_t *one = run_eval(*state, philox, in, EV_PLAIN, at)->outputs[1].data;
    assert_int_equal(one[0], ((const uint32_t *)run_eval(*state, philox, in, EV_PLAIN, NULL)->outputs[1].data)[5]);
}

static void test_widths(void **state)
{
    const void *const in[] = {six};
    const uint8_t *bytes = run_eval(*state, "e { x = f32[6] parameter(0) ROOT r = u8[6,4] bitcast-convert(x) }", in,
                                    EV_PLAIN, NULL)
                               ->outputs[0]
                               .data;
    assert_memory_equal(bytes, six, sizeof six);
    expect(*state, "e { x = f32[6] parameter(0) b = u16[6,2] bitcast-convert(x) ROOT r = f32[6] bitcast-convert(b) }",
           in, 0, WITH(1, 2, 3, 4, 5, 6));
    expect(*state, "e { x = f32[6] parameter(0) b = u16[12] bitcast(x) ROOT r = f32[2,3]{0,1} bitcast(b) }", in, 0,
           WITH(1, 3, 5, 2, 4, 6));
    const uint8_t byte = 0xa3;
    const void *const one[] = {&byte};
    const int8_t *nibbles = run_eval(*state, "e { x = u8[] parameter(0) ROOT r = s4[2] bitcast-convert(x) }", one,
                                     EV_PLAIN, NULL)
                                ->outputs[0]
                                .data;
    assert_true(nibbles[0] == 3 && nibbles[1] == -6); /* low bits first */
}

static void test_tuples(void **state)
{
    expect(*state,
           "f { p = f32[2] parameter(0) q = f32[2] negate(p) t = (f32[2], f32[2]) tuple(p, q) u = f32[2] add(p, p) "
           "ROOT r = ((f32[2], f32[2]), f32[2]) tuple(t, u) }\n"
           "ENTRY e { x = f32[2] constant({1, 2}) c = ((f32[2], f32[2]), f32[2]) call(x), to_apply=f t = (f32[2], "
           "f32[2]) get-tuple-element(c), index=0 o = (f32[2], f32[2]) opt-barrier(t) ROOT g = f32[2] "
           "get-tuple-element(o), index=1 }",
           NULL, 0, WITH(-1, -2));
    /* A parameter that is a tuple has an input for each leaf. */
    const float a[1] = {3}, b[1] = {4};
    const void *const in[] = {a, b};
    expect(*state,
           "e { p = (f32[1], (f32[1])) parameter(0) x = f32[1] get-tuple-element(p), index=0 t = (f32[1]) "
           "get-tuple-element(p), index=1 y = f32[1] get-tuple-element(t), index=0 ROOT r = f32[1] subtract(x, y) }",
           in, 0, WITH(-1));
    expect(*state, "e { x = f32[6] parameter(0) ROOT r = f32[6] custom-call(x), custom_call_target=\"Sharding\" }",
           six_input, 0, WITH(1, 2, 3, 4, 5, 6));
}

/* XLA accepts operands of another float type than the operation, and converts them. */
static void test_mixed_precision(void **state)
{
    static const char update[] =
        "e { x = f32[4] parameter(0) b = bf16[4] convert(x) u = f32[2] constant({%s}) i = s32[] constant(1) d = "
        "bf16[4] dynamic-update-slice(b, u, i) ROOT r = f32[4] convert(d) }";
    WbbCx *cx = *state;
    expect(cx, wbb_format(cx->arena, update, "9, 8"), six_input, 0, WITH(1, 9, 8, 4));
    const float *got =
        run_eval(cx, wbb_format(cx->arena, update, "9, 1.00390625"), six_input, EV_PLAIN, NULL)->outputs[0].data;
    assert_true(got[1] == 9 && got[2] == 1); /* 1 + 2^-8 is a tie and rounds to even */
    expect(*state,
           "e { x = f32[2] parameter(0) b = bf16[2] convert(x) v = f32[] constant(7) d = bf16[4] pad(b, v), "
           "padding=1_1 ROOT r = f32[4] convert(d) }",
           six_input, 0, WITH(7, 1, 2, 7));
    expect(*state,
           ADD "ENTRY e { x = f32[6] parameter(0) b = bf16[6] convert(x) z = f32[] constant(0.001953125) ROOT r = "
               "f32[] reduce(b, z), dimensions={0}, to_apply=add }",
           six_input, 0, WITH(21.001953125f)); /* a sum in bf16 would lose the initial value */
    expect(*state,
           ADD "ENTRY e { x = f32[6] parameter(0) b = bf16[6] convert(x) z = f32[] constant(0) ROOT r = f32[5] "
               "reduce-window(b, z), window={size=2}, to_apply=add }",
           six_input, 0, WITH(3, 5, 7, 9, 11));
    expect(*state,
           ADD "ENTRY e { x = f32[4] parameter(0) u = bf16[2] constant({10, 20}) i = s32[2,1] constant({{0},{3}}) ROOT "
               "r = f32[4] scatter(x, i, u), update_window_dims={}, inserted_window_dims={0}, "
               "scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }",
           six_input, 0, WITH(11, 2, 3, 24));
    /* Where the text gives no shape, a dimension of size 1 is broadcast. */
    expect(*state,
           "e { x = f32[2,3] parameter(0) y = f32[2,1] parameter(1) s = add(x, y) ROOT r = f32[2,3] negate(s) }",
           six_input, 0, WITH(-2, -3, -4, -6, -7, -8));
}

typedef struct {
    int64_t asked;
} Counter;

/* Element p of every input is p % 7 - 3. */
static void counted(void *arg, int64_t number, const int64_t *positions, int64_t start, int64_t n, void *out)
{
    (void)number;
    ((Counter *)arg)->asked += n;
    for (int64_t k = 0; k < n; k++) ((float *)out)[k] = (float)((positions ? positions[k] : start + k) % 7 - 3);
}

typedef struct {
    const char *text;
    EvSource source;
    EvPositions at;
    WbbArena *arena;
    const EvResult *result;
} Demand;

static void demand_body(WbbCx *cx, void *arg)
{
    Demand *d = arg;
    HloModule *m = hlo_parse(cx, d->arena, "test.hlo", d->text, strlen(d->text));
    d->result = ev_run_from(cx, d->arena, m->entry, &d->source, EV_PLAIN, &d->at);
}

/* Three nested sums, each over rows that depend on the one before. Evaluating a few rows reads the input a few times,
 * not once for each element. */
static void test_nested_demand(void **state)
{
    WbbCx *cx = *state;
    static const char text[] = ADD "ENTRY e { x = f32[512,256] parameter(0) z = f32[] constant(0)\n"
                                   "s = f32[512] reduce(x, z), dimensions={1}, to_apply=add  bs = f32[512,256] "
                                   "broadcast(s), dimensions={0}  y = f32[512,256] subtract(x, bs)\n"
                                   "t = f32[512] reduce(y, z), dimensions={1}, to_apply=add  bt = f32[512,256] "
                                   "broadcast(t), dimensions={0}  u = f32[512,256] add(y, bt)\n"
                                   "ROOT r = f32[512] reduce(u, z), dimensions={1}, to_apply=add }";
    const int64_t rows[5] = {400, 3, 400, 77, 511};
    Counter counter = {0};
    Demand d = {text, {counted, &counter}, {rows, 5}, cx->arena, NULL};
    assert_int_equal(wbb_guard(cx, demand_body, &d), WBB_OK);
    const float *some = d.result->outputs[0].data;
    assert_true(counter.asked <= 3 * 5 * 256);
    float *x = WBB_NEW_N(cx->arena, float, 512 * 256);
    counted(&counter, 0, NULL, 0, 512 * 256, x);
    const void *const in[] = {x};
    const float *all = run_eval(cx, text, in, EV_PLAIN, NULL)->outputs[0].data;
    for (int k = 0; k < 5; k++) assert_true(some[k] == all[rows[k]]);
}

static void sound_body(WbbCx *cx, void *arg)
{
    const EvalJob *j = arg;
    const HloModule *m = hlo_parse(cx, cx->arena, "test.hlo", j->text, strlen(j->text));
    const EvSoundness s = ev_soundness(cx, cx->arena, m->entry, j->inputs, NULL, false, NULL, 5, 60);
    if (s.outside) wbb_fail(cx, (WbbLoc){0}, "%s", s.first);
    assert_true(s.compared > 0);
}

/* Sums of products and windows in random order lie inside the bounds, although small types overflow, cancel and
 * underflow on the way. */
static void test_any_order(void **state)
{
    static const char *const texts[] = {
        "e { x = f32[2,3] parameter(0) c = f16[2,3] convert(x) t = f16[] constant(0.0001) b = f16[2,3] broadcast(t), dimensions={} y = f16[2,3] multiply(c, b) ROOT d = f16[2,2] dot(y, y), lhs_contracting_dims={1}, rhs_contracting_dims={1} }",
        "e { x = f32[1,6,1] parameter(0) c = f8e4m3fn[1,6,1] convert(x) k = f8e4m3fn[3,1,1] constant({{{2.5}},{{-1.125}},{{1.75}}}) ROOT v = f8e4m3fn[1,6,1] convolution(c, k), window={size=3 pad=1_1}, dim_labels=b0f_0io->b0f }",
        "mul { a = f8e4m3fnuz[] parameter(0) b = f8e4m3fnuz[] parameter(1) ROOT r = f8e4m3fnuz[] multiply(a, b) }\n"
        "ENTRY e { x = f32[6] parameter(0) c = f8e4m3fnuz[6] convert(x) q = f8e4m3fnuz[] constant(0.5) w = f8e4m3fnuz[4] reduce-window(c, q), window={size=3}, to_apply=mul ROOT r = f8e4m3fnuz[] reduce(c, q), dimensions={0}, to_apply=mul }",
        "add { a = bf16[] parameter(0) b = bf16[] parameter(1) ROOT r = bf16[] add(a, b) }\n"
        "ENTRY e { x = f32[6] parameter(0) u = bf16[6] convert(x) z = bf16[2] constant({1000, -3}) i = s32[6,1] constant({{0},{1},{0},{0},{1},{0}}) ROOT r = bf16[2] scatter(z, i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=add }",
        "over { a = f32[] parameter(0) ROOT b = f32[] parameter(1) }\n"
        "ENTRY e { x = f32[6] parameter(0) z = f32[2] constant({1000, -3}) i = s32[6,1] constant({{0},{1},{0},{0},{1},{0}}) ROOT r = f32[2] scatter(z, i, x), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=over }",
    };
    WbbCx *cx = *state;
    for (size_t k = 0; k < WBB_LEN(texts); k++) {
        EvalJob j = {.text = texts[k], .inputs = six_input};
        succeed_on(cx, sound_body, &j, texts[k]);
    }
}

/* LT is no order on nans; sorting must still return a permutation. */
static void test_odd_comparator(void **state)
{
    const float x[7] = {3, NAN, 1, NAN, -INFINITY, 2, 0};
    const void *const in[] = {x};
    static const char text[] =
        "lt { a = f32[] parameter(0) b = f32[] parameter(1) ROOT l = pred[] compare(a, b), direction=LT }\n"
        "ENTRY e { x = f32[7] parameter(0) ROOT r = f32[7] sort(x), dimensions={0}, to_apply=lt }";
    const float *got = run_eval(*state, text, in, EV_PLAIN, NULL)->outputs[0].data;
    float sum = 0;
    int nans = 0, infinities = 0;
    for (int k = 0; k < 7; k++) {
        nans += isnan(got[k]) ? 1 : 0;
        infinities += isinf(got[k]) ? 1 : 0;
        if (isfinite(got[k])) sum += got[k];
    }
    assert_true(nans == 2 && infinities == 1 && sum == 6);
    const EvBound *b = run_eval(*state, text, in, EV_BOUNDS, NULL)->outputs[0].data;
    for (int k = 0; k < 7; k++) assert_true(b[k].flags == EV_MAYBE_NAN && isinf(b[k].lo.f) && b[k].hi.f == 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_dot),
        TEST(test_convolution),
        TEST(test_windows),
        TEST(test_scatter),
        TEST(test_sort),
        TEST(test_control),
        TEST(test_scan),
        TEST(test_norm),
        TEST(test_random),
        TEST(test_widths),
        TEST(test_tuples),
        TEST(test_mixed_precision),
        TEST(test_nested_demand),
        TEST(test_any_order),
        TEST(test_odd_comparator),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
