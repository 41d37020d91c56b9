/* eval_semantics: operations whose meaning is easily mistaken: one operation on constants, and the constant that it
 * equals.
 *
 * Sources. Integer division by zero and overflow, shifts past the width, saturating conversions, nan in min and max,
 * sign, total order: XLA's operation semantics and its HloEvaluator, (hlo_evaluator_typed_visitor). f8 and f4: "FP8
 * Formats for Deep Learning" (Micikevicius et al., 2022), the fnuz types as in the MLIR documentation of their
 * semantics, OCP Microscaling Formats 1.0 for f4e2m1fn and f8e8m0fnu. Rounding to nearest even: IEEE 754-2019, 4.3.1.
 */
#include "eval/eval.h"

#include "unit.h"

#include <stdio.h>

typedef struct {
    const char *operation;     /* "divide s32 s32": opcode, type of the operands, type of the result */
    const char *operands[3];
    const char *wanted;
    const char *attributes;
} Case;

static const Case cases[] = {
    {"divide s32 s32", {"7", "0"}, "-1", NULL},
    {"divide u8 u8", {"7", "0"}, "255", NULL},
    {"divide s4 s4", {"5", "0"}, "-1", NULL},
    {"divide s32 s32", {"-2147483648", "-1"}, "-2147483648", NULL},
    {"divide s2 s2", {"-2", "-1"}, "-2", NULL},
    {"divide s8 s8", {"-7", "2"}, "-3", NULL},
    {"remainder s32 s32", {"7", "0"}, "7", NULL},
    {"remainder s32 s32", {"-7", "3"}, "-1", NULL},
    {"remainder s64 s64", {"-9223372036854775808", "-1"}, "0", NULL},
    {"remainder f32 f32", {"-7.5", "2"}, "-1.5", NULL},
    {"add s8 s8", {"127", "1"}, "-128", NULL},
    {"add u4 u4", {"15", "3"}, "2", NULL},
    {"abs s8 s8", {"-128"}, "-128", NULL},
    {"abs s4 s4", {"-8"}, "-8", NULL},
    {"negate u16 u16", {"1"}, "65535", NULL},
    {"power s32 s32", {"2", "-1"}, "0", NULL},
    {"power s32 s32", {"-1", "-3"}, "-1", NULL},
    {"shift-left s32 s32", {"1", "32"}, "0", NULL},
    {"shift-left u8 u8", {"1", "9"}, "0", NULL},
    {"shift-left s32 s32", {"1", "-1"}, "0", NULL},
    {"shift-right-logical s32 s32", {"-1", "31"}, "1", NULL},
    {"shift-right-logical s32 s32", {"-1", "32"}, "0", NULL},
    {"shift-right-logical s4 s4", {"-1", "2"}, "3", NULL},
    {"shift-right-arithmetic s32 s32", {"-8", "40"}, "-1", NULL},
    {"shift-right-arithmetic s32 s32", {"8", "40"}, "0", NULL},
    {"popcnt s4 s4", {"-1"}, "4", NULL},
    {"popcnt u2 u2", {"3"}, "2", NULL},
    {"count-leading-zeros u4 u4", {"1"}, "3", NULL},
    {"count-leading-zeros s32 s32", {"0"}, "32", NULL},
    {"not pred pred", {"true"}, "false", NULL},
    {"add pred pred", {"true", "true"}, "true", NULL},
    {"multiply pred pred", {"true", "false"}, "false", NULL},
    {"convert f32 s32", {"3e9"}, "2147483647", NULL},
    {"convert f32 s32", {"-3e9"}, "-2147483648", NULL},
    {"convert f32 s32", {"nan"}, "0", NULL},
    {"convert f32 s32", {"-2.9"}, "-2", NULL},
    {"convert f32 u8", {"-1"}, "0", NULL},
    {"convert f64 u64", {"inf"}, "18446744073709551615", NULL},
    {"convert f32 s4", {"100"}, "7", NULL},
    {"convert f32 s2", {"-100"}, "-2", NULL},
    {"convert f32 pred", {"0.5"}, "true", NULL},
    {"convert f32 pred", {"nan"}, "true", NULL},
    {"convert s32 s8", {"300"}, "44", NULL},
    {"convert s32 u4", {"-1"}, "15", NULL},
    {"convert s64 f32", {"16777217"}, "16777216", NULL},
    {"convert s64 f32", {"16777219"}, "16777220", NULL},
    {"convert f32 bf16", {"1.00390625"}, "1", NULL},
    {"convert f32 bf16", {"1.01171875"}, "1.015625", NULL},
    {"convert f32 f16", {"65519.99"}, "65504", NULL},
    {"convert f32 f16", {"65520"}, "inf", NULL},
    {"convert f32 f16", {"2.9802322387695312e-08"}, "0", NULL},
    {"convert f32 f16", {"2.98023259404089e-08"}, "5.9604644775390625e-08", NULL},
    {"convert f64 f32", {"1e-45"}, "1.4e-45", NULL},
    {"convert f32 f8e4m3fn", {"464"}, "448", NULL},
    {"convert f32 f8e4m3fn", {"465"}, "nan", NULL},
    {"convert f32 f8e4m3fn", {"-inf"}, "nan", NULL},
    {"convert f32 f8e4m3fn", {"0.0009765625"}, "0", NULL},
    {"convert f32 f8e4m3fn", {"0.0009765626"}, "0.001953125", NULL},
    {"convert f32 f8e5m2", {"61440"}, "inf", NULL},
    {"convert f32 f8e5m2", {"61439"}, "57344", NULL},
    {"convert f32 f8e4m3", {"300"}, "inf", NULL},
    {"convert f32 f8e3m4", {"15.75"}, "inf", NULL},
    {"convert f32 f8e3m4", {"15.7"}, "15.5", NULL},
    {"convert f32 f8e4m3fnuz", {"-0.0"}, "0", NULL},
    {"convert f32 f8e4m3fnuz", {"300"}, "nan", NULL},
    {"convert f32 f8e4m3b11fnuz", {"31"}, "nan", NULL},
    {"convert f32 f8e5m2fnuz", {"inf"}, "nan", NULL},
    {"convert f32 f4e2m1fn", {"100"}, "6", NULL},
    {"convert f32 f4e2m1fn", {"2.5"}, "2", NULL},
    {"convert f32 f8e8m0fnu", {"6"}, "8", NULL},
    {"convert f32 f8e8m0fnu", {"3"}, "4", NULL}, /* a tie goes to the larger power of two */
    {"convert f32 f8e8m0fnu", {"1.5"}, "2", NULL},
    {"convert f32 f8e8m0fnu", {"0"}, "nan", NULL},
    {"add f8e5m2 f8e5m2", {"57344", "57344"}, "inf", NULL},
    {"multiply f8e4m3fn f8e4m3fn", {"448", "2"}, "nan", NULL},
    {"maximum f32 f32", {"nan", "1"}, "nan", NULL},
    {"maximum f32 f32", {"1", "nan"}, "nan", NULL},
    {"maximum f32 f32", {"-0.0", "0.0"}, "0.0", NULL},
    {"minimum f32 f32", {"0.0", "-0.0"}, "-0.0", NULL},
    {"minimum bf16 bf16", {"nan", "1"}, "nan", NULL},
    {"clamp f32 f32", {"1", "nan", "2"}, "nan", NULL},
    {"clamp f32 f32", {"nan", "1", "2"}, "nan", NULL},
    {"clamp s32 s32", {"3", "9", "2"}, "2", NULL},
    {"clamp f32 f32", {"0", "5", "2"}, "2", NULL},
    {"sign f32 f32", {"-0.0"}, "-0.0", NULL},
    {"sign f32 f32", {"nan"}, "nan", NULL},
    {"sign s32 s32", {"-5"}, "-1", NULL},
    {"sign u8 u8", {"200"}, "1", NULL},
    {"floor f32 f32", {"-0.5"}, "-1", NULL},
    {"ceil f32 f32", {"-0.5"}, "-0.0", NULL},
    {"round-nearest-even f32 f32", {"2.5"}, "2", NULL},
    {"round-nearest-afz f32 f32", {"2.5"}, "3", NULL},
    {"round-nearest-afz f32 f32", {"0.49999997"}, "0", NULL},
    {"is-finite f8e5m2 pred", {"inf"}, "false", NULL},
    {"is-finite f32 pred", {"nan"}, "false", NULL},
    {"is-finite f4e2m1fn pred", {"6"}, "true", NULL},
    {"compare f32 pred", {"nan", "nan"}, "false", "direction=EQ"},
    {"compare f32 pred", {"nan", "nan"}, "true", "direction=NE"},
    {"compare f32 pred", {"nan", "1"}, "false", "direction=GE"},
    {"compare f32 pred", {"-0.0", "0.0"}, "true", "direction=EQ"},
    {"compare f32 pred", {"-0.0", "0.0"}, "true", "direction=LT, type=TOTALORDER"},
    {"compare f32 pred", {"inf", "nan"}, "true", "direction=LT, type=TOTALORDER"},
    {"compare f32 pred", {"-nan", "-inf"}, "true", "direction=LT, type=TOTALORDER"},
    {"compare bf16 pred", {"nan", "nan"}, "true", "direction=EQ, type=TOTALORDER"},
    {"compare u8 pred", {"200", "100"}, "true", "direction=GT"},
    {"compare s4 pred", {"-1", "1"}, "true", "direction=LT"},
    {"reduce-precision f32 f32", {"1.00390625"}, "1", "exponent_bits=8, mantissa_bits=7"},
    {"reduce-precision f32 f32", {"1e30"}, "inf", "exponent_bits=5, mantissa_bits=10"},
    {"reduce-precision f32 f32", {"-1e-30"}, "-0.0", "exponent_bits=5, mantissa_bits=10"},
    {"reduce-precision f8e4m3fn f8e4m3fn", {"1.125"}, "1", "exponent_bits=4, mantissa_bits=2"},
    {"atan2 f32 f32", {"-0.0", "-1"}, "-3.1415927", NULL},
    {"power f32 f32", {"nan", "0"}, "1", NULL},
    {"power f32 f32", {"-8", "0.5"}, "nan", NULL},
    {"sqrt f32 f32", {"-0.0"}, "-0.0", NULL},
    {"rsqrt f32 f32", {"0"}, "inf", NULL},
    {"log f32 f32", {"0"}, "-inf", NULL},
    {"select s4 s4", {"true", "-3", "2"}, "-3", NULL},
    {"add c64 c64", {"(1, 2)", "(3, -4)"}, "(4, -2)", NULL},
    {"multiply c64 c64", {"(1, 2)", "(3, 4)"}, "(-5, 10)", NULL},
    {"abs c64 f32", {"(3, 4)"}, "5", NULL},
    {"imag c128 f64", {"(3, 4)"}, "4", NULL},
    {"compare c64 pred", {"(1, 2)", "(1, 2)"}, "true", "direction=EQ"},
};

typedef struct {
    const Case *c;
    EvMode mode;
    EvResult *result, *wanted;
} Job;

static EvResult *evaluate(WbbCx *cx, const char *text, EvMode mode)
{
    HloModule *m = hlo_parse(cx, cx->arena, "test.hlo", text, strlen(text));
    return ev_run(cx, cx->arena, m->entry, NULL, mode);
}

static void body(WbbCx *cx, void *arg)
{
    Job *j = arg;
    char name[40], from[20], to[20];
    WbbBuf t = wbb_buf(cx->arena);
    if (sscanf(j->c->operation, "%39s %19s %19s", name, from, to) != 3) fail();
    wbb_put(&t, "e {");
    bool select = strcmp(name, "select") == 0;
    for (int k = 0; k < 3 && j->c->operands[k]; k++)
        wbb_putf(&t, " x%d = %s[] constant(%s)", k, select && k == 0 ? "pred" : from, j->c->operands[k]);
    wbb_putf(&t, " ROOT r = %s[] %s(x0%s%s)%s%s }", to, name, j->c->operands[1] ? ", x1" : "",
             j->c->operands[2] ? ", x2" : "", j->c->attributes ? ", " : "", j->c->attributes ? j->c->attributes : "");
    j->result = evaluate(cx, t.text, j->mode);
    j->wanted = evaluate(cx, wbb_format(cx->arena, "e { ROOT c = %s[] constant(%s) }", to, j->c->wanted), EV_PLAIN);
}

static bool is_nan(ScType t, uint64_t bits) { return sc_is_float(t) && sc_to_f64(t, bits) != sc_to_f64(t, bits); }

/* The bits are equal; all nans count as equal. */
static void test_plain(void **state)
{
    (void)state;
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        WbbCx *cx = wbb_cx_new();
        Job j = {.c = &cases[k], .mode = EV_PLAIN};
        if (wbb_guard(cx, body, &j) != WBB_OK)
            fail_msg("%s(%s): %s", cases[k].operation, cases[k].operands[0], cx->messages);
        uint64_t got[2] = {0}, wanted[2] = {0};
        ScType t = j.result->outputs[0].type;
        memcpy(got, j.result->outputs[0].data, sc_bytes(t));
        memcpy(wanted, j.wanted->outputs[0].data, sc_bytes(t));
        if (memcmp(got, wanted, sizeof got) != 0 && !(is_nan(t, got[0]) && is_nan(t, wanted[0])))
            fail_msg("%s(%s, %s) is 0x%llx, not %s", cases[k].operation, cases[k].operands[0],
                     cases[k].operands[1] ? cases[k].operands[1] : "", (unsigned long long)got[0], cases[k].wanted);
        wbb_cx_free(cx);
    }
}

/* The bounds contain the plain result. */
static void test_bounds(void **state)
{
    (void)state;
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        WbbCx *cx = wbb_cx_new();
        Job j = {.c = &cases[k], .mode = EV_BOUNDS};
        if (wbb_guard(cx, body, &j) != WBB_OK)
            fail_msg("%s(%s): %s", cases[k].operation, cases[k].operands[0], cx->messages);
        ScType t = j.wanted->outputs[0].type, part = ev_part_type(t);
        for (int p = 0; p < (part == t ? 1 : 2); p++) {
            uint64_t wanted = 0;
            const EvBound *b = (const EvBound *)j.result->outputs[0].data + p;
            memcpy(&wanted, (const char *)j.wanted->outputs[0].data + (size_t)p * sc_bytes(part), sc_bytes(part));
            if (!ev_bounds_contains(part, wanted & sc_mask(part), b))
                fail_msg("%s(%s, %s): bounds [%g, %g] are without %s", cases[k].operation, cases[k].operands[0],
                         cases[k].operands[1] ? cases[k].operands[1] : "", b->lo.f, b->hi.f, cases[k].wanted);
        }
        wbb_cx_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_bounds)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
