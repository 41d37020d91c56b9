/* scalar: names, conversions and the values of single operations, where languages and machines differ. */
#include "scalar/scalar.h"

#include "unit.h"

#include <math.h>

#define PI 3.14159265358979323846

static uint64_t f(ScType t, double x) { return sc_from_f64(t, x); }

static uint64_t op1(ScOp op, ScType t, ScType from, uint64_t a)
{
    uint64_t r = 0;
    assert_true(sc_eval(op, t, from, &a, &r));
    return r;
}

static uint64_t op2(ScOp op, ScType t, uint64_t a, uint64_t b)
{
    uint64_t x[2] = {a, b}, r = 0;
    assert_true(sc_eval(op, t, t, x, &r));
    return r;
}

static void test_names(void **state)
{
    (void)state;
    assert_int_equal(sc_type_named("bf16", 4), SC_BF16);
    assert_int_equal(sc_type_named("s32", 3), SC_I32);
    assert_int_equal(sc_type_named("i32x", 3), SC_I32);
    assert_int_equal(sc_type_named("", 0), SC_NONE);
    assert_int_equal(sc_op_named("band", 4), OP_BAND);
    assert_int_equal(sc_op_named("and", 3), OP_NONE);
    for (int t = SC_NONE + 1; t < SC_TYPE_COUNT; t++)
        assert_int_equal(sc_type_named(sc_type_info[t].name, strlen(sc_type_info[t].name)), t);
}

static void test_integers(void **state)
{
    (void)state;
    assert_int_equal(op2(OP_DIV, SC_I8, 5, 0), 0xff);
    assert_int_equal(op2(OP_REM, SC_I8, 5, 0), 5);
    assert_int_equal(op2(OP_DIV, SC_I8, 0x80, 0xff), 0x80);
    assert_int_equal(op2(OP_REM, SC_I8, 0x80, 0xff), 0);
    assert_int_equal(op2(OP_DIV, SC_I64, UINT64_C(1) << 63, UINT64_MAX), UINT64_C(1) << 63);
    assert_int_equal(op2(OP_DIV, SC_U32, 7, 0), 0xffffffff);
    assert_int_equal(op2(OP_DIV, SC_I32, 0xfffffff9, 2), 0xfffffffd); /* -7 / 2 = -3 */
    assert_int_equal(op2(OP_MUL, SC_U16, 0xffff, 0xffff), 1);
    assert_int_equal(op2(OP_SHL, SC_I32, 1, 32), 0);
    assert_int_equal(op2(OP_SHL, SC_I32, 1, 0xffffffff), 0); /* by -1 */
    assert_int_equal(op2(OP_SHRA, SC_I32, 0x80000000, 40), 0xffffffff);
    assert_int_equal(op2(OP_SHRA, SC_U32, 0x80000000, 4), 0xf8000000);
    assert_int_equal(op2(OP_SHRL, SC_I8, 0x80, 7), 1);
    assert_int_equal(op2(OP_POW, SC_I32, 3, 4), 81);
    assert_int_equal(op2(OP_POW, SC_I32, 0xffffffff, 0xfffffffd), 0xffffffff); /* -1 ^ -3 */
    assert_int_equal(op2(OP_POW, SC_I32, 2, 0xffffffff), 0);
    assert_int_equal(op2(OP_FLOORDIV, SC_INDEX, (uint64_t)-7, 2), (uint64_t)-4);
    assert_int_equal(op2(OP_MOD, SC_INDEX, (uint64_t)-7, 2), 1);
    assert_int_equal(op1(OP_CLZ, SC_U8, SC_U8, 1), 7);
    assert_int_equal(op1(OP_CLZ, SC_I16, SC_I16, 0), 16);
    assert_int_equal(op1(OP_POPCNT, SC_I8, SC_I8, 0xff), 8);
    assert_int_equal(op1(OP_ABS, SC_I8, SC_I8, 0x80), 0x80);
    assert_int_equal(op2(OP_ADD, SC_PRED, 1, 1), 1);
    assert_int_equal(op1(OP_BNOT, SC_PRED, SC_PRED, 1), 0);
}

static void test_floats(void **state)
{
    (void)state;
    uint64_t nan = f(SC_F32, (double)NAN), zero = f(SC_F32, 0.0), minus = f(SC_F32, -0.0);
    assert_true(isnan(sc_to_f64(SC_F32, op2(OP_MAX, SC_F32, nan, zero))));
    assert_true(isnan(sc_to_f64(SC_F32, op2(OP_MIN, SC_F32, zero, nan))));
    assert_int_equal(op2(OP_MAX, SC_F32, minus, zero), zero);
    assert_int_equal(op2(OP_MIN, SC_F32, zero, minus), minus);
    assert_int_equal(op2(OP_NE, SC_F32, nan, nan), 1);
    assert_int_equal(op2(OP_LE, SC_F32, nan, nan), 0);
    assert_int_equal(op1(OP_SIGN, SC_F32, SC_F32, minus), minus);
    assert_true(sc_to_f64(SC_F32, op2(OP_REM, SC_F32, f(SC_F32, -7), f(SC_F32, 2))) == -1);
    assert_true(sc_to_f64(SC_F32, op1(OP_ROUND_AFZ, SC_F32, SC_F32, f(SC_F32, -2.5))) == -3);
    assert_true(sc_to_f64(SC_F32, op1(OP_ROUND_EVEN, SC_F32, SC_F32, f(SC_F32, 2.5))) == 2);
    assert_int_equal(op1(OP_IS_FINITE, SC_F16, SC_F16, 0x7c00), 0);
    assert_int_equal(op2(OP_ADD, SC_BF16, f(SC_BF16, 256), f(SC_BF16, 1)), f(SC_BF16, 256)); /* a tie to even */
    assert_int_equal(op2(OP_MUL, SC_F16, 0x7bff, f(SC_F16, 2)), 0x7c00);
}

/* 1 + 2^-8 is a tie of bf16, which a tiny third operand decides; rounding to f32 in between would lose it. */
static void test_fma_rounds_once(void **state)
{
    (void)state;
    uint64_t x[3] = {f(SC_BF16, 1), f(SC_BF16, 0x1p-8), f(SC_BF16, 1)}, r = 0;
    assert_true(sc_eval(OP_FMA, SC_BF16, SC_BF16, x, &r));
    assert_true(sc_to_f64(SC_BF16, r) == 1);
    x[0] = f(SC_BF16, 0x1p-100), x[1] = f(SC_BF16, 1), x[2] = f(SC_BF16, 1.0);
    assert_true(sc_eval(OP_FMA, SC_BF16, SC_BF16, x, &r));
    assert_true(sc_to_f64(SC_BF16, r) == 1);
    uint64_t y[3] = {f(SC_F16, 1 + 0x1p-10), f(SC_F16, 1 + 0x1p-10), f(SC_F16, 0x1p-24)};
    assert_true(sc_eval(OP_FMA, SC_F16, SC_F16, y, &r));
    assert_true(sc_to_f64(SC_F16, r) == 1 + 0x1p-9);
}

static void test_conversions(void **state)
{
    (void)state;
    assert_int_equal(op1(OP_CVT, SC_I8, SC_F32, f(SC_F32, 200)), 0x7f);
    assert_int_equal(op1(OP_CVT, SC_I8, SC_F32, f(SC_F32, -200)), 0x80);
    assert_int_equal(op1(OP_CVT, SC_U8, SC_F32, f(SC_F32, -3)), 0);
    assert_int_equal(op1(OP_CVT, SC_I64, SC_F32, f(SC_F32, 1e30)), INT64_MAX);
    assert_int_equal(op1(OP_CVT, SC_U64, SC_F64, f(SC_F64, 1e30)), UINT64_MAX);
    assert_int_equal(op1(OP_CVT, SC_I32, SC_BF16, f(SC_BF16, (double)NAN)), 0);
    assert_int_equal(op1(OP_CVT, SC_PRED, SC_F32, f(SC_F32, 0.5)), 1);
    assert_int_equal(op1(OP_CVT, SC_I8, SC_I32, 0x1ff), 0xff);
    assert_int_equal(op1(OP_CVT, SC_I64, SC_I8, 0x80), (uint64_t)-128);
    /* 2^60 + 2^52 is a tie of bf16, which the 1 decides; converting to double would lose it. */
    uint64_t just_above = (UINT64_C(1) << 60) + (UINT64_C(1) << 52) + 1;
    assert_true(sc_to_f64(SC_BF16, op1(OP_CVT, SC_BF16, SC_I64, just_above)) == 0x1p60 + 0x1p53);
    assert_true(sc_to_f64(SC_BF16, op1(OP_CVT, SC_BF16, SC_I64, just_above - 1)) == 0x1p60);
    assert_true(sc_to_f64(SC_BF16, sc_from_i128(SC_BF16, (WbbI128)just_above)) == 0x1p60 + 0x1p53);
    assert_true(sc_to_f64(SC_BF16, op1(OP_CVT, SC_BF16, SC_F64, f(SC_F64, 1 + 0x1p-8 + 0x1p-50))) == 1 + 0x1p-7);
    assert_int_equal(op1(OP_BITS, SC_I16, SC_BF16, 0x3f80), 0x3f80);
    uint64_t x = 0, r = 0;
    assert_false(sc_eval(OP_BITS, SC_I32, SC_BF16, &x, &r));
    assert_false(sc_eval(OP_TANH, SC_I32, SC_I32, &x, &r));
}

/* Every code of the small types survives conversion to f64 and back, and values between two codes round to the nearer
 * one. */
static void test_small_floats(void **state)
{
    (void)state;
    for (int t = SC_NONE + 1; t < SC_TYPE_COUNT; t++) {
        if (!sc_is_float((ScType)t) || sc_type_info[t].bits > 16) continue;
        for (uint64_t bits = 0; bits <= sc_mask((ScType)t); bits++) {
            double x = sc_to_f64((ScType)t, bits);
            if (isnan(x)) assert_true(isnan(sc_to_f64((ScType)t, sc_from_f64((ScType)t, x))));
            else assert_int_equal(sc_from_f64((ScType)t, x), bits);
        }
    }
    assert_int_equal(f(SC_F8E4M3FN, 448), 0x7e);
    assert_int_equal(f(SC_F8E4M3FN, 480), 0x7f); /* no infinity: nan */
    assert_int_equal(f(SC_F8E5M2, 1e9), 0x7c);
    assert_int_equal(f(SC_F8E4M3FNUZ, -0.0), 0);
    assert_int_equal(f(SC_F8E4M3FNUZ, (double)NAN), 0x80);
    assert_int_equal(f(SC_F4E2M1FN, 100), 7); /* saturates at 6 */
    assert_true(sc_to_f64(SC_F4E2M1FN, 7) == 6);
    assert_int_equal(f(SC_F8E8M0FNU, 1), 127);
    assert_int_equal(sc_parse_float(SC_BF16, "1.00390625000000000001"), f(SC_BF16, 1 + 0x1p-7));
    assert_int_equal(sc_parse_float(SC_BF16, "1.00390625"), f(SC_BF16, 1));
}

static void test_loops_and_budgets(void **state)
{
    (void)state;
    float a[5] = {1, 2, 3, 4, 5}, b[5] = {10, 20, 30, 40, 50};
    sc_loop(OP_ADD, SC_F32, SC_F32)(5, a, a, b, NULL);
    assert_true(a[0] == 11 && a[4] == 55);
    assert_null(sc_loop(OP_FMA, SC_I32, SC_I32));
    assert_true(sc_budget(OP_ADD, SC_F32, SC_APPROX).ulp == 0);
    assert_true(sc_budget(OP_EXP, SC_F32, SC_EXACT).ulp == 4.5);
    assert_true(sc_budget(OP_TANH, SC_BF16, SC_EXACT).ulp == 1);
    assert_true(sc_budget(OP_SIN, SC_F32, SC_APPROX).absolute > 0 && sc_budget(OP_SIN, SC_F32, SC_EXACT).absolute == 0);
    assert_true(sc_budget(OP_DIV, SC_F32, SC_EXACT).ulp == 0 && sc_budget(OP_DIV, SC_F32, SC_XLA).ulp > 0);
    assert_true(sc_is_marked(OP_DIV, SC_F32, SC_XLA) && !sc_is_marked(OP_DIV, SC_F32, SC_EXACT));
    assert_true(!sc_is_marked(OP_SIN, SC_F32, SC_XLA) && sc_is_marked(OP_SIN, SC_F32, SC_APPROX));
    assert_int_equal(sc_accuracy_named("xla"), SC_XLA);
    assert_int_equal(sc_accuracy_named("fast"), SC_ACCURACIES);
    for (int op = OP_NONE; op < OP_COUNT; op++)
        for (int t = SC_NONE; t < SC_TYPE_COUNT; t++)
            for (int level = SC_XLA; level < SC_ACCURACIES; level++)
                assert_true(sc_budget((ScOp)op, (ScType)t, (ScAccuracy)level).ulp >=
                            sc_budget((ScOp)op, (ScType)t, SC_EXACT).ulp);
}

/* Correctly rounded results from 400-bit arithmetic: for each function the hardest of some thousands of arguments, and
 * two others. */
static const struct {
    ScOp op;
    uint64_t a, b, result;
} f64_results[] = {
    {OP_EXP, UINT64_C(0x3e1e57562034d0ce), UINT64_C(0x0), UINT64_C(0x3ff0000000795d59)}, {OP_EXP, UINT64_C(0xbea2da2ab693238c), UINT64_C(0x0), UINT64_C(0x3feffffed25d5a24)},
    {OP_EXP, UINT64_C(0xbc9a950693ce39ee), UINT64_C(0x0), UINT64_C(0x3fefffffffffffff)}, {OP_EXPM1, UINT64_C(0x4080c7e1f0a984de), UINT64_C(0x0), UINT64_C(0x705a19fcbf3e24b0)},
    {OP_EXPM1, UINT64_C(0xbfeea72cf93b2d30), UINT64_C(0x0), UINT64_C(0xbfe3b8c5298d573e)}, {OP_EXPM1, UINT64_C(0xc00fb3763192956a), UINT64_C(0x0), UINT64_C(0xbfef643eaafa1e68)},
    {OP_EXP2, UINT64_C(0x3fe2ac4970d453b8), UINT64_C(0x0), UINT64_C(0x3ff7f9e83cca2308)}, {OP_EXP2, UINT64_C(0x3fff94160fb04354), UINT64_C(0x0), UINT64_C(0x400f6bc1e3b4aae9)},
    {OP_EXP2, UINT64_C(0x3fe489ed93a58a34), UINT64_C(0x0), UINT64_C(0x3ff8f70c69e3d5a3)}, {OP_LOG, UINT64_C(0x3feffffffff4a718), UINT64_C(0x0), UINT64_C(0xbdd6b1d000040617)},
    {OP_LOG, UINT64_C(0x676208ae4f55a63f), UINT64_C(0x0), UINT64_C(0x407b57edb73b7e90)}, {OP_LOG, UINT64_C(0x3feffffffffe8f5f), UINT64_C(0x0), UINT64_C(0xbda70a10000084b4)},
    {OP_LOG1P, UINT64_C(0x3e4a940898487008), UINT64_C(0x0), UINT64_C(0x3e4a9408958608b0)}, {OP_LOG1P, UINT64_C(0x4ce63810f01a8f37), UINT64_C(0x0), UINT64_C(0x4061f9ea17d2a830)},
    {OP_LOG1P, UINT64_C(0xbe307c2cbe635e24), UINT64_C(0x0), UINT64_C(0xbe307c2cbeeb3f0e)}, {OP_LOG2, UINT64_C(0x403d196fb8a2aa34), UINT64_C(0x0), UINT64_C(0x401373a0236c7fb0)},
    {OP_LOG2, UINT64_C(0x7493c37175932c39), UINT64_C(0x0), UINT64_C(0x408a527027890465)}, {OP_LOG2, UINT64_C(0x4046569498897498), UINT64_C(0x0), UINT64_C(0x4015ecfef6115af9)},
    {OP_LOGISTIC, UINT64_C(0x3f543bd6ccfae7fc), UINT64_C(0x0), UINT64_C(0x3fe002877ad43abb)}, {OP_LOGISTIC, UINT64_C(0x3c3ea1e5ea708cbc), UINT64_C(0x0), UINT64_C(0x3fe0000000000000)},
    {OP_LOGISTIC, UINT64_C(0x3d76a86d3b2e8af8), UINT64_C(0x0), UINT64_C(0x3fe0000000000b54)}, {OP_TANH, UINT64_C(0xbff0859226061cc0), UINT64_C(0x0), UINT64_C(0xbfe8cc6a5248343a)},
    {OP_TANH, UINT64_C(0xbfd7dd27b329c600), UINT64_C(0x0), UINT64_C(0xbfd6d0ef32342398)}, {OP_TANH, UINT64_C(0x3ff37b7a50b13ce8), UINT64_C(0x0), UINT64_C(0x3fead8bf49b8dcc7)},
    {OP_TAN, UINT64_C(0x41242f56de40d370), UINT64_C(0x0), UINT64_C(0x3ffe2b57fa0ed5ad)}, {OP_TAN, UINT64_C(0x41298af48341e2da), UINT64_C(0x0), UINT64_C(0x3dc7f0a295decb30)},
    {OP_TAN, UINT64_C(0x4102f017001e96d0), UINT64_C(0x0), UINT64_C(0x3fed9c5dcafb320b)}, {OP_SIN, UINT64_C(0x410e329ba54209c0), UINT64_C(0x0), UINT64_C(0xbfeb5b650cd7a9bf)},
    {OP_SIN, UINT64_C(0xc0cffe7a92a840c0), UINT64_C(0x0), UINT64_C(0xbfe4749fc24b814b)}, {OP_SIN, UINT64_C(0xc126a833a514ae88), UINT64_C(0x0), UINT64_C(0x3fefee3d240a91fd)},
    {OP_COS, UINT64_C(0x41276e2077dfa6fc), UINT64_C(0x0), UINT64_C(0x3fe086a5dfab5fad)}, {OP_COS, UINT64_C(0xc0152c67f96dbf3f), UINT64_C(0x0), UINT64_C(0x3fe19019bce05985)},
    {OP_COS, UINT64_C(0x410ea977313414cc), UINT64_C(0x0), UINT64_C(0x3ff0000000000000)}, {OP_SINH, UINT64_C(0x3eb5a009ca56e1c4), UINT64_C(0x0), UINT64_C(0x3eb5a009ca56e859)},
    {OP_SINH, UINT64_C(0xbeaf92003d731b82), UINT64_C(0x0), UINT64_C(0xbeaf92003d7320a1)}, {OP_SINH, UINT64_C(0xbe4be3c2c0473a20), UINT64_C(0x0), UINT64_C(0xbe4be3c2c0473a20)},
    {OP_COSH, UINT64_C(0xc05bbe08919ce930), UINT64_C(0x0), UINT64_C(0x49e1163fe8f9a49f)}, {OP_COSH, UINT64_C(0xc00985cb7d0ad9b8), UINT64_C(0x0), UINT64_C(0x4028566c5a310b96)},
    {OP_COSH, UINT64_C(0x3f2059284374a5a8), UINT64_C(0x0), UINT64_C(0x3ff000000216882b)}, {OP_ASIN, UINT64_C(0x3fefffffffee321d), UINT64_C(0x0), UINT64_C(0x3ff921ea737d8e94)},
    {OP_ASIN, UINT64_C(0x3fcb250d29116ce0), UINT64_C(0x0), UINT64_C(0x3fcb5a389ea33315)}, {OP_ASIN, UINT64_C(0xbfec4a43fc397af0), UINT64_C(0x0), UINT64_C(0xbff15a133072ae92)},
    {OP_ACOS, UINT64_C(0x3fea653c1acd0f68), UINT64_C(0x0), UINT64_C(0x3fe33a20e8e354e9)}, {OP_ACOS, UINT64_C(0xbdbb6c6c49fffe70), UINT64_C(0x0), UINT64_C(0x3ff921fb5445e3df)},
    {OP_ACOS, UINT64_C(0x3fdd004084d47e58), UINT64_C(0x0), UINT64_C(0x3ff19bb1be41435e)}, {OP_ATAN, UINT64_C(0xbff8b8b3e3cc760c), UINT64_C(0x0), UINT64_C(0xbfefe2629960eebe)},
    {OP_ATAN, UINT64_C(0xbff5ad951f0ea8a0), UINT64_C(0x0), UINT64_C(0xbfedeb4a4b83bea5)}, {OP_ATAN, UINT64_C(0x400b5f0d8ebd36d4), UINT64_C(0x0), UINT64_C(0x3ff49541fc3ea78e)},
    {OP_ASINH, UINT64_C(0xbfab6219fa5243d8), UINT64_C(0x0), UINT64_C(0xbfab5ec388c91c62)}, {OP_ASINH, UINT64_C(0x4014b46aa00c246e), UINT64_C(0x0), UINT64_C(0x4002c5774944f641)},
    {OP_ASINH, UINT64_C(0xbd87c6649842dfa2), UINT64_C(0x0), UINT64_C(0xbd87c6649842dfa2)}, {OP_ACOSH, UINT64_C(0x40a9246a4742723a), UINT64_C(0x0), UINT64_C(0x40218a19a7d14fbe)},
    {OP_ACOSH, UINT64_C(0x3ff008981bb7c193), UINT64_C(0x0), UINT64_C(0x3fb094a46a2edd02)}, {OP_ACOSH, UINT64_C(0x40084ffc7a4ebeaf), UINT64_C(0x0), UINT64_C(0x3ffc6c5c7cb924c4)},
    {OP_ATANH, UINT64_C(0x3fd7cfdd0a25f948), UINT64_C(0x0), UINT64_C(0x3fd90319ca418331)}, {OP_ATANH, UINT64_C(0x3c81eccd4d03aa54), UINT64_C(0x0), UINT64_C(0x3c81eccd4d03aa54)},
    {OP_ATANH, UINT64_C(0xbfbd08e0e4339670), UINT64_C(0x0), UINT64_C(0xbfbd28ff509a0cc8)}, {OP_ERF, UINT64_C(0xc005b25f5ddb8a39), UINT64_C(0x0), UINT64_C(0xbfeffef9308068ce)},
    {OP_ERF, UINT64_C(0x3f0ce484e4b45ccc), UINT64_C(0x0), UINT64_C(0x3f104d09fe2fce42)}, {OP_ERF, UINT64_C(0xbfa277a0022dbe00), UINT64_C(0x0), UINT64_C(0xbfa4d43dbb6adfae)},
    {OP_RSQRT, UINT64_C(0x403d8ef3a9c1d170), UINT64_C(0x0), UINT64_C(0x3fc78b1d48256f94)}, {OP_RSQRT, UINT64_C(0x63372af6ed14f403), UINT64_C(0x0), UINT64_C(0x2e4a97ceaa48a459)},
    {OP_RSQRT, UINT64_C(0x3ff001805d37f6a7), UINT64_C(0x0), UINT64_C(0x3feffe7fbdd30972)}, {OP_CBRT, UINT64_C(0xd0dece1ff5ffafa6), UINT64_C(0x0), UINT64_C(0xc593e79727843443)},
    {OP_CBRT, UINT64_C(0x505a64715552c916), UINT64_C(0x0), UINT64_C(0x4567d18f0d3d0316)}, {OP_CBRT, UINT64_C(0x3abb852ce176024), UINT64_C(0x0), UINT64_C(0x2bd83622cde9f0e3)},
    {OP_SQRT, UINT64_C(0x7414e0adba665f4d), UINT64_C(0x0), UINT64_C(0x5a0246de2675f6e0)}, {OP_SQRT, UINT64_C(0x3ff05f9ae6a8108f), UINT64_C(0x0), UINT64_C(0x3ff02f86dcf29f2e)},
    {OP_SQRT, UINT64_C(0x4a4095ef10940796), UINT64_C(0x0), UINT64_C(0x451709af65ad88c6)}, {OP_POW, UINT64_C(0x434369a96c4e813e), UINT64_C(0x400862ea103e7fcc), UINT64_C(0x4a154287d833f486)},
    {OP_POW, UINT64_C(0x3f26c41100ff28d3), UINT64_C(0x3ff9f71a8c4303e0), UINT64_C(0x3eaa84c31f6bca8e)}, {OP_POW, UINT64_C(0x3fd3a66391feac92), UINT64_C(0x40273e261a808556), UINT64_C(0x3eb269082f00bcfe)},
    {OP_ATAN2, UINT64_C(0xc0135150ee1baf3d), UINT64_C(0x4091ab8fa8da86f2), UINT64_C(0xbf717ddd2f9308c2)}, {OP_ATAN2, UINT64_C(0x3ecfde04a0ebaa96), UINT64_C(0x40a7a25543c5334f), UINT64_C(0x3e1592e05fa31243)},
    {OP_ATAN2, UINT64_C(0xbf4983c179c8da31), UINT64_C(0xbfb05b0caf6e7807), UINT64_C(0xc0090905ed170036)},
};

static void test_f64_functions(void **state)
{
    (void)state;
    for (size_t k = 0; k < WBB_LEN(f64_results); k++) {
        uint64_t x[2] = {f64_results[k].a, f64_results[k].b}, r = 0;
        assert_true(sc_eval(f64_results[k].op, SC_F64, SC_F64, x, &r));
        if (r != f64_results[k].result)
            print_error("%s of 0x%llx\n", sc_op_info[f64_results[k].op].name, (unsigned long long)x[0]);
        assert_int_equal(r, f64_results[k].result);
    }
}

typedef long double Wide;
static Wide wide_logistic(Wide x) { return 1 / (1 + expl(-x)); }
static Wide wide_rsqrt(Wide x) { return 1 / sqrtl(x); }
static Wide wide_rcp(Wide x) { return 1 / x; }

static const struct {
    ScOp op;
    Wide (*f)(Wide);
} functions[] = {
    {OP_EXP, expl},     {OP_EXPM1, expm1l}, {OP_EXP2, exp2l}, {OP_LOG, logl},   {OP_LOG1P, log1pl}, {OP_LOG2, log2l},   {OP_LOGISTIC, wide_logistic},
    {OP_TANH, tanhl},   {OP_TAN, tanl},     {OP_SIN, sinl},   {OP_COS, cosl},   {OP_SINH, sinhl},   {OP_COSH, coshl},   {OP_ASIN, asinl},
    {OP_ACOS, acosl},   {OP_ATAN, atanl},   {OP_ASINH, asinhl}, {OP_ACOSH, acoshl}, {OP_ATANH, atanhl}, {OP_ERF, erfl}, {OP_SQRT, sqrtl},
    {OP_RSQRT, wide_rsqrt}, {OP_CBRT, cbrtl}, {OP_RCP, wide_rcp},
};

/* The unit in the last place of a type at x. */
static Wide last_place(ScType t, Wide x)
{
    int e = 0,
        fraction = t == SC_F16    ? 10
                   : t == SC_BF16 ? 7
                                  : 23,
        least = t == SC_F16    ? -24
                : t == SC_BF16 ? -133
                               : -149;
    frexpl(x, &e);
    return ldexpl(1, WBB_MAX(e - 1 - fraction, least));
}

static bool close_to(ScType t, uint64_t bits, Wide exact)
{
    Wide got = (Wide)sc_to_f64(t, bits), largest = t == SC_F16    ? 65504.0L
                                                   : t == SC_BF16 ? 0x1.fep127L
                                                                  : 0x1.fffffep127L;
    if (isnan(exact) || isnan(got)) return isnan(exact) && isnan(got);
    if (isinf(got)) return fabsl(exact) >= largest && (exact > 0) == (got > 0);
    if (exact == 0) return got == 0 && signbit(got) == signbit(exact);
    return fabsl(got - exact) <= 0.51L * last_place(t, exact);
}

/* All values of f16 and bf16 and a sample of f32, against long double: within 0.51 units in the last place; special
 * values as in C. */
static void test_functions_everywhere(void **state)
{
    (void)state;
    const ScType types[] = {SC_F16, SC_BF16, SC_F32};
    for (size_t o = 0; o < WBB_LEN(functions); o++)
        for (size_t k = 0; k < WBB_LEN(types); k++)
            for (uint64_t n = 0; n < 65536; n++) {
                ScType t = types[k];
                uint64_t x = t == SC_F32 ? n * 65537 % UINT64_C(0x100000000) ^ (n << 11 & 0xfff) : n;
                uint64_t r = op1(functions[o].op, t, t, x);
                if (close_to(t, r, functions[o].f((Wide)sc_to_f64(t, x)))) continue;
                print_error("%s.%s of 0x%llx is 0x%llx\n", sc_op_info[functions[o].op].name, sc_type_info[t].name,
                            (unsigned long long)x, (unsigned long long)r);
                fail();
            }
}

/* C11 Annex F.10, where implementations often differ. */
static void test_special_values(void **state)
{
    (void)state;
    const double inf = (double)INFINITY, nan = (double)NAN;
    const struct {
        ScOp op;
        double a, b, result;
    } cases[] = {
        {OP_POW, 1, nan, 1},        {OP_POW, nan, 0, 1},        {OP_POW, -0.0, -3, -inf},    {OP_POW, -0.0, 3, -0.0},      {OP_POW, -1, inf, 1},
        {OP_POW, -2, 0.5, nan},     {OP_POW, -inf, 3, -inf},    {OP_POW, 0.5, -inf, inf},    {OP_POW, -8, 3, -512},        {OP_ATAN2, 0, -0.0, PI},
        {OP_ATAN2, -0.0, -1, -PI}, {OP_ATAN2, -0.0, 0, -0.0}, {OP_ATAN2, inf, -inf, 3 * PI / 4}, {OP_ATAN2, 1, inf, 0}, {OP_LOG, -0.0, 0, -inf},
        {OP_LOG, -1, 0, nan},       {OP_LOG1P, -1, 0, -inf},    {OP_LOG1P, -0.0, 0, -0.0},   {OP_EXP, -inf, 0, 0},         {OP_EXPM1, -inf, 0, -1},
        {OP_TANH, -inf, 0, -1},     {OP_LOGISTIC, -inf, 0, 0},  {OP_LOGISTIC, inf, 0, 1},    {OP_SQRT, -0.0, 0, -0.0},     {OP_RSQRT, 0, 0, inf},
        {OP_RSQRT, -0.0, 0, -inf},  {OP_CBRT, -inf, 0, -inf},   {OP_ERF, inf, 0, 1},         {OP_SIN, inf, 0, nan},        {OP_SIN, -0.0, 0, -0.0},
        {OP_ACOSH, 0.5, 0, nan},    {OP_ATANH, -1, 0, -inf},    {OP_REM, 5, inf, 5},         {OP_REM, -0.0, 1, -0.0},      {OP_REM, inf, 1, nan},
    };
    const ScType types[] = {SC_F16, SC_BF16, SC_F32, SC_F64};
    for (size_t c = 0; c < WBB_LEN(cases); c++)
        for (size_t k = 0; k < WBB_LEN(types); k++) {
            ScType t = types[k];
            double r = sc_to_f64(t, op2(cases[c].op, t, f(t, cases[c].a), f(t, cases[c].b)));
            double wanted = sc_to_f64(t, f(t, cases[c].result));
            assert_true(isnan(wanted) ? isnan(r) : r == wanted && signbit(r) == signbit(wanted));
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_integers),     cmocka_unit_test(test_floats),
        cmocka_unit_test(test_fma_rounds_once), cmocka_unit_test(test_conversions), cmocka_unit_test(test_small_floats),
        cmocka_unit_test(test_loops_and_budgets), cmocka_unit_test(test_f64_functions), cmocka_unit_test(test_functions_everywhere),
        cmocka_unit_test(test_special_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
