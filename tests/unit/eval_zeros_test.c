/* eval_zeros: the sign of a result that is 0. The bounds hold the one zero that HLO means, and not the other; where the
 * sign is open, both (src/eval/README.md). */
#include "eval_run.h"

#include <math.h>

typedef struct {
    const char *zeros; /* "+", "-", or "+-": both are allowed */
    const char *operation;
} Case;

#define HEAD                                                                                                   \
    "add { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] add(a, b) }\n"                         \
    "mul { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] multiply(a, b) }\n"                    \
    "max { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] maximum(a, b) }\n"                     \
    "min { a = f32[] parameter(0) b = f32[] parameter(1) ROOT r = f32[] minimum(a, b) }\n"                     \
    "e { z = f32[] constant(0.0) m = f32[] constant(-0.0) o = f32[] constant(1) n = f32[] constant(-1) "       \
    "h = f32[] constant(-0.3) t = f32[] constant(-1e-30) p = f32[] constant(1e-30) b = f32[] constant(-1e4) "  \
    "three = f32[] constant(3) i = f32[] constant(inf) yes = pred[] constant(true) "                           \
    "mm = f32[2] constant({-0.0,-0.0}) mz = f32[2] constant({-0.0,0.0}) on = f32[2] constant({1,-1}) "         \
    "om = f32[2] constant({1,-0.0}) nm = f32[2] constant({-1,-0.0}) oo = f32[2] constant({1,1}) "              \
    "tp = f32[2] constant({-1e-30,1e-30}) pp = f32[2] constant({1e-30,1e-30}) "                                \
    "at = s32[1] constant({0}) none = s32[1] constant({5}) ROOT r = "

static const Case cases[] = {
    {"+", "f32[] copy(z)"},
    {"-", "f32[] copy(m)"},
    {"-", "f32[] negate(z)"},
    {"+", "f32[] negate(m)"},
    {"+", "f32[] abs(m)"},
    {"-", "f32[] select(yes, m, z)"},
    {"-", "f32[] multiply(m, o)"},
    {"+", "f32[] multiply(m, n)"},
    {"-", "f32[] multiply(t, p)"},
    {"-", "f32[] divide(m, three)"},
    {"-", "f32[] divide(t, i)"},
    {"-", "f32[] divide(n, i)"},
    {"-", "f32[] add(m, m)"},
    {"+", "f32[] add(m, z)"},
    {"+", "f32[] add(o, n)"},
    {"+", "f32[] subtract(o, o)"},
    {"-", "f32[] subtract(m, z)"},
    {"+", "f32[] subtract(z, z)"},
    {"+", "f32[] maximum(m, z)"},
    {"+", "f32[] maximum(z, m)"},
    {"-", "f32[] minimum(m, z)"},
    {"-", "f32[] minimum(z, m)"},
    {"+", "f32[] clamp(z, m, o)"},
    {"-", "f32[] clamp(n, z, m)"},
    {"-", "f32[] sign(m)"},
    {"-", "f32[] floor(m)"},
    {"-", "f32[] ceil(h)"},
    {"-", "f32[] round-nearest-even(h)"},
    {"-", "f32[] round-nearest-afz(h)"},
    {"-", "f32[] remainder(n, o)"},
    {"-", "f32[] sqrt(m)"},
    {"-", "f32[] cbrt(m)"},
    {"-", "f32[] tanh(m)"},
    {"-", "f32[] sine(m)"},
    {"-", "f32[] tan(m)"},
    {"-", "f32[] erf(m)"},
    {"-", "f32[] log-plus-one(m)"},
    {"-", "f32[] exponential-minus-one(m)"},
    {"+", "f32[] log(o)"},
    {"-", "f32[] atan2(m, o)"},
    {"-", "f32[] power(m, three)"},
    {"+", "f32[] power(z, three)"},
    {"+", "f32[] exponential(b)"},
    {"+", "f32[] logistic(b)"},
    {"-", "f32[] reduce-precision(t), exponent_bits=5, mantissa_bits=10"},
    {"-", "bf16[] convert(m)"},
    {"-", "f8e4m3fn[] convert(t)"},
    {"+", "f8e4m3fnuz[] convert(m)"},
    {"-", "f32[] reduce(mm, m), dimensions={0}, to_apply=add"},
    {"+", "f32[] reduce(mm, z), dimensions={0}, to_apply=add"},
    {"+", "f32[] reduce(mz, m), dimensions={0}, to_apply=add"},
    {"+", "f32[] reduce(on, m), dimensions={0}, to_apply=add"},
    {"+", "f32[] reduce(om, n), dimensions={0}, to_apply=mul"},
    {"-", "f32[] reduce(om, o), dimensions={0}, to_apply=mul"},
    {"+", "f32[] reduce(nm, o), dimensions={0}, to_apply=mul"},
    {"+", "f32[] reduce(mz, m), dimensions={0}, to_apply=max"},
    {"-", "f32[] reduce(mz, z), dimensions={0}, to_apply=min"},
    {"-", "f32[1] reduce-window(mm, m), window={size=2}, to_apply=add"},
    {"+", "f32[1] reduce-window(mm, z), window={size=2}, to_apply=add"},
    {"+-", "f32[] dot(mm, oo), lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
    {"+-", "f32[] dot(mz, oo), lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
    {"+-", "f32[] dot(on, oo), lhs_contracting_dims={0}, rhs_contracting_dims={0}"},
    {"+-", "f32[] dot(tp, pp), lhs_contracting_dims={0}, rhs_contracting_dims={0}"}, /* products below f32 */
    {"-", "f32[2] scatter(mm, at, m), update_window_dims={}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add"},
    {"+", "f32[2] scatter(mm, at, z), update_window_dims={}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add"},
    {"-", "f32[2] scatter(mm, none, z), update_window_dims={}, inserted_window_dims={0}, "
          "scatter_dims_to_operand_dims={0}, index_vector_dim=0, to_apply=add"},
};

static void test_zeros(void **state)
{
    const EvMode modes[] = {EV_PLAIN, EV_BOUNDS};
    for (size_t k = 0; k < WBB_LEN(cases); k++) {
        const char *text = wbb_format(((WbbCx *)*state)->arena, HEAD "%s }", cases[k].operation);
        const EvValue plain = run_eval(*state, text, NULL, modes[0], NULL)->outputs[0];
        const EvBound *b = run_eval(*state, text, NULL, modes[1], NULL)->outputs[0].data;
        const uint64_t sign = (sc_mask(plain.type) >> 1) + 1;
        uint64_t bits = 0;
        memcpy(&bits, plain.data, sc_bytes(plain.type));
        const bool plus = strchr(cases[k].zeros, '+') != NULL, minus = strchr(cases[k].zeros, '-') != NULL;
        if (bits != 0 && bits != sign) fail_msg("%s is 0x%llx", cases[k].operation, (unsigned long long)bits);
        if (!(bits ? minus : plus)) fail_msg("%s is %s0", cases[k].operation, bits ? "-" : "+");
        if (ev_bounds_contains(plain.type, 0, b) != plus || ev_bounds_contains(plain.type, sign, b) != minus)
            fail_msg("%s: bounds [%g, %g], wanted %s", cases[k].operation, b->lo.f, b->hi.f, cases[k].zeros);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_zeros)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
