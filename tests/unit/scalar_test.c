/* scalar: names, conversions and the meaning of one operation, at the places where languages and machines differ. */
#include "scalar/scalar.h"

#include <math.h>
#include <setjmp.h>
#include <string.h>

#include <cmocka.h>

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
    assert_int_equal(sc_op_of_hlo("and"), OP_BAND);
    assert_int_equal(sc_op_of_hlo(""), OP_NONE);
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

/* 1 + 2^-8 is a tie of bf16; a third operand far below decides, which a rounding to f32 in between would lose. */
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
    /* 2^60 + 2^52 is a tie of bf16; the 1 decides, which double does not hold. */
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

/* Every code of the small types comes back through f64, and the values between round to the nearer one. */
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
    assert_true(sc_budget(OP_ADD, SC_F32, true).ulp == 0);
    assert_true(sc_budget(OP_EXP, SC_F32, false).ulp == 7);
    assert_true(sc_budget(OP_TANH, SC_BF16, false).ulp == 1);
    assert_true(sc_budget(OP_SIN, SC_F32, true).absolute > 0 && sc_budget(OP_SIN, SC_F32, false).absolute == 0);
    for (int op = OP_NONE; op < OP_COUNT; op++)
        for (int t = SC_NONE; t < SC_TYPE_COUNT; t++)
            assert_true(sc_budget((ScOp)op, (ScType)t, true).ulp >= sc_budget((ScOp)op, (ScType)t, false).ulp);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),       cmocka_unit_test(test_integers),     cmocka_unit_test(test_floats),
        cmocka_unit_test(test_fma_rounds_once), cmocka_unit_test(test_conversions), cmocka_unit_test(test_small_floats),
        cmocka_unit_test(test_loops_and_budgets),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
