/* eval_modes: small computations with known results, in each of the evaluator's modes: plain, in f64, and as bounds. */
#include "eval_run.h"

#include <math.h>

/* The one output of the text; lives as long as the context. */
static const void *run(WbbCx *cx, const char *text, const void *const *inputs, EvMode mode)
{
    return run_eval(cx, text, inputs, mode, NULL)->outputs[0].data;
}

static void expect(const float *got, const float *wanted, int n)
{
    for (int k = 0; k < n; k++)
        if (got[k] != wanted[k]) fail_msg("element %d is %g, not %g", k, (double)got[k], (double)wanted[k]);
}

static const float six[6] = {1, 2, 3, 4, 5, 6};
static const void *const six_input[] = {six};

static void test_moves(void **state)
{
    const void *r = run(*state, "e { x = f32[2,3] parameter(0) ROOT t = f32[3,2] transpose(x), dimensions={1,0} }",
                        six_input, EV_PLAIN);
    expect(r, (const float[]){1, 4, 2, 5, 3, 6}, 6);
    r = run(*state, "e { x = f32[6] parameter(0) ROOT t = f32[2] slice(x), slice={[1:6:3]} }", six_input, EV_PLAIN);
    expect(r, (const float[]){2, 5}, 2);
    r = run(*state, "e { x = f32[2,3] parameter(0) ROOT t = f32[2,3] reverse(x), dimensions={1} }", six_input,
            EV_PLAIN);
    expect(r, (const float[]){3, 2, 1, 6, 5, 4}, 6);
    r = run(*state, "e { x = f32[3] parameter(0) c = f32[] constant(9) ROOT t = f32[6] pad(x, c), padding=-1_2_1 }",
            six_input, EV_PLAIN);
    expect(r, (const float[]){9, 2, 9, 3, 9, 9}, 6);
    r = run(*state,
            "e { x = f32[2] parameter(0) y = f32[1] constant({7}) ROOT t = f32[3] concatenate(y, x), dimensions={0} }",
            six_input, EV_PLAIN);
    expect(r, (const float[]){7, 1, 2}, 3);
    r = run(*state, "e { x = f32[2] parameter(0) ROOT t = f32[2,3] broadcast(x), dimensions={0} }", six_input,
            EV_PLAIN);
    expect(r, (const float[]){1, 1, 1, 2, 2, 2}, 6);
    /* A bitcast reads the same memory in another order. */
    r = run(*state, "e { x = f32[2,3]{0,1} parameter(0) ROOT t = f32[3,2]{1,0} bitcast(x) }", six_input, EV_PLAIN);
    expect(r, (const float[]){1, 4, 2, 5, 3, 6}, 6);
}

static void test_dynamic(void **state)
{
    const int32_t start = 5;
    const void *const in[] = {six, &start};
    const void *r = run(*state,
                        "e { x = f32[6] parameter(0) i = s32[] parameter(1) ROOT t = f32[2] dynamic-slice(x, i), "
                        "dynamic_slice_sizes={2} }",
                        in, EV_PLAIN);
    expect(r, (const float[]){5, 6}, 2);
    r = run(*state,
            "e { x = f32[6] parameter(0) u = f32[2] constant({8, 9}) i = s32[] parameter(1) ROOT t = f32[6] "
            "dynamic-update-slice(x, u, i) }",
            in, EV_PLAIN);
    expect(r, (const float[]){1, 2, 3, 4, 8, 9}, 6);
    const int32_t rows[2] = {1, -4};
    const void *const gather_in[] = {six, rows};
    r = run(*state,
            "e { x = f32[2,3] parameter(0) i = s32[2,1] parameter(1) ROOT t = f32[2,3] gather(x, i), offset_dims={1}, "
            "collapsed_slice_dims={0}, "
            "start_index_map={0}, index_vector_dim=1, slice_sizes={1,3} }",
            gather_in, EV_PLAIN);
    expect(r, (const float[]){4, 5, 6, 1, 2, 3}, 6);
}

static const char *sum_text = "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"
                              "ENTRY e { x = f32[2,3] parameter(0) z = f32[] constant(0) ROOT s = f32[3] reduce(x, z), "
                              "dimensions={0}, to_apply=add }";

static void test_reduce_and_calls(void **state)
{
    expect(run(*state, sum_text, six_input, EV_PLAIN), (const float[]){5, 7, 9}, 3);
    const EvBound *b = run(*state, sum_text, six_input, EV_BOUNDS);
    assert_true(b[0].lo.f <= 5 && 5 <= b[0].hi.f && b[0].hi.f - b[0].lo.f < 1e-5);
    const void *r = run(*state,
                        "f { a = f32[6] parameter(0) b = f32[6] negate(a) ROOT t = (f32[6], f32[6]) tuple(a, b) }\n"
                        "ENTRY e { x = f32[6] parameter(0) c = (f32[6], f32[6]) fusion(x), kind=kLoop, calls=f ROOT g "
                        "= f32[6] get-tuple-element(c), index=1 }",
                        six_input, EV_PLAIN);
    expect(r, (const float[]){-1, -2, -3, -4, -5, -6}, 6);
}

static void test_modes(void **state)
{
    const char *text = "e { x = bf16[1] parameter(0) ROOT r = bf16[1] exponential(x) }";
    const uint16_t one = 0x3f80;
    const void *const in[] = {&one};
    assert_int_equal(*(const uint16_t *)run(*state, text, in, EV_PLAIN), 0x402e); /* 2.71875 */
    assert_true(fabs(*(const double *)run(*state, text, in, EV_F64) - exp(1)) < 1e-15);
    const EvBound *b = run(*state, text, in, EV_BOUNDS);
    assert_true(b->lo.f == 2.703125 && b->hi.f == 2.71875 && !b->flags); /* one ulp below and above e */
    assert_true(ev_bounds_contains(SC_BF16, 0x402e, b));
    assert_false(ev_bounds_contains(SC_BF16, 0x402c, b));
    assert_true(ev_ulp_distance(SC_BF16, 0x3f81, 1.0) == 1);
    assert_true(ev_ulp_distance(SC_F32, 0x7fc00000, (double)NAN) == 0);
}

/* If a comparison may go either way, the bounds of a select contain both sides; where a divisor may be 0, the bounds
 * contain everything. */
static void test_bounds(void **state)
{
    const float x = 0.5f;
    const void *const in[] = {&x};
    const EvBound *b = run(
        *state,
        "e { x = f32[] parameter(0) y = f32[] tanh(x) z = f32[] tanh(x) p = pred[] compare(y, z), direction=EQ "
        "one = f32[] constant(1) two = f32[] constant(2) ROOT r = f32[] select(p, one, two) }",
        in, EV_BOUNDS);
    assert_true(b->lo.f == 1 && b->hi.f == 2);
    b = run(*state,
            "e { x = f32[] parameter(0) y = f32[] tanh(x) z = f32[] tanh(x) d = f32[] subtract(y, z) l = f32[] log(d) "
            "ROOT r = f32[] add(l, x) }",
            in, EV_BOUNDS);
    assert_true(b->lo.f == -(double)INFINITY && b->hi.f < 0 && b->flags == EV_MAYBE_NAN);
    assert_true(ev_bounds_contains(SC_F32, 0x7fc00000, b));
    b = run(*state, "e { x = f32[] parameter(0) ROOT r = f32[] add(x, x) }", in, EV_BOUNDS);
    assert_true(b->lo.f == 1 && b->hi.f == 1 && !b->flags);
    /* Budgets with an absolute part: it counts where the result is near 0, and not where the result is exact. */
    const float pi = 3.14159274f;
    const void *const angle[] = {&pi};
    const char *sine = "e { x = f32[] parameter(0) ROOT r = f32[] sine(x) }";
    b = run(*state, sine, angle, EV_BOUNDS);
    assert_true(b->lo.f > -8.75e-8 && b->hi.f < -8.74e-8);
    b = run(*state, sine, angle, EV_BOUNDS_APPROX);
    assert_true(b->lo.f < -3e-5 && b->hi.f > 3e-5);
    b = run(*state, "e { x = f32[] parameter(0) ROOT r = f32[] add(x, x) }", angle, EV_BOUNDS_APPROX);
    assert_true(b->lo.f == b->hi.f);
    const int32_t k = 7;
    const void *const ints[] = {&k};
    b = run(*state,
            "e { x = s32[] parameter(0) c = f32[] convert(x) z = f32[] subtract(c, c) t = f32[] exponential(z) i = "
            "s32[] convert(t) ROOT r = s32[] xor(x, i) }",
            ints, EV_BOUNDS);
    assert_true(b->lo.i <= 6 && b->hi.i >= 7); /* i is 0 or 1 */
}

static void test_positions(void **state)
{
    const int64_t wanted[3] = {2, 0, 2};
    const EvPositions at = {wanted, 3};
    const EvResult *r = run_eval(*state, sum_text, six_input, EV_PLAIN, &at);
    assert_int_equal(r->outputs[0].dims[0], 3);
    expect(r->outputs[0].data, (const float[]){9, 5, 9}, 3);
}

static void test_declines(void **state)
{
    WbbCx *cx = *state;
    EvalJob j = {.text = "e { x = f32[6] parameter(0) ROOT r = f32[6] custom-call(x), custom_call_target=\"t\" }",
                 .inputs = six_input};
    assert_int_equal(wbb_guard(cx, evaluate_text, &j), WBB_DECLINED);
    assert_int_equal(cx->why, WHY_LIBRARY);
    static const struct {
        const char *text;
        WbbWhy why;
    } others[] = {
        {"a { p = f32[] parameter(0) q = f32[] parameter(1) ROOT r = f32[] add(p, q) }\nENTRY e { x = f32[6] parameter(0) ROOT r = f32[6] all-reduce(x), replica_groups={{0,1}}, to_apply=a }", WHY_LIBRARY},
        {"e { l = f32[] constant(0) h = f32[] constant(1) ROOT r = f32[6] rng(l, h), distribution=rng_uniform }", WHY_OPERATION},
        {"e { x = f32[6] parameter(0) n = s32[] constant(3) ROOT r = f32[<=6] set-dimension-size(x, n), dimensions={0} }", WHY_SHAPE},
        {"e { ROOT c = f32[6] constant({...}) }", WHY_OPERATION},
    };
    for (size_t i = 0; i < WBB_LEN(others); i++) {
        EvalJob w = {.text = others[i].text, .inputs = six_input};
        if (wbb_guard(cx, evaluate_text, &w) != WBB_DECLINED || cx->why != others[i].why)
            fail_msg("%s\n%s", others[i].text, cx->messages);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_moves),
        TEST(test_dynamic),
        TEST(test_reduce_and_calls),
        TEST(test_modes),
        TEST(test_bounds),
        TEST(test_positions),
        TEST(test_declines),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
