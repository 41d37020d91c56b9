/* hlo_terms: how many terms an element folds, which part of an operand it needs, and what a power costs. */
#include "hlo/hlo.h"

#include "unit.h"

#include <math.h>
#include <stdio.h>

static const char *const text =
    "add { x = f32[] parameter(0) y = f32[] parameter(1) ROOT z = f32[] add(x, y) }\n"
    "both { x = f32[] parameter(0) a = s32[] parameter(1) y = f32[] parameter(2) b = s32[] parameter(3) "
    "z = f32[] add(x, y) c = s32[] add(a, b) ROOT t = (f32[], s32[]) tuple(z, c) }\n"
    "ENTRY e { x = f32[64,128] parameter(0) n = s32[64,128] parameter(1) v = f32[10] parameter(2) "
    "w = f32[30] parameter(3) "
    "k = f32[5,8,16] parameter(4) m = f32[1,20,8] parameter(5) at = s32[40,1] parameter(6) i = s32[] parameter(7) "
    "zero = f32[] constant(0) none = s32[] constant(0) "
    "rows = f32[64] reduce(x, zero), dimensions={1}, to_apply=add "
    "pair = (f32[64], s32[64]) reduce(x, n, zero, none), dimensions={1}, to_apply=both "
    "windows = f32[62,64] reduce-window(x, zero), window={size=3x2 stride=1x2}, to_apply=add "
    "gram = f32[64,64] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={1} "
    "filtered = f32[1,16,16] convolution(m, k), window={size=5}, dim_labels=b0f_0io->b0f "
    "joined = f32[40] concatenate(v, w), dimensions={0} wide = f32[14] pad(v, zero), padding=2_2 "
    "put = f32[30] dynamic-update-slice(w, v, i) part = f32[10] dynamic-slice(w, i), dynamic_slice_sizes={10} "
    "picked = f32[40] gather(w, at), offset_dims={}, collapsed_slice_dims={0}, start_index_map={0}, "
    "index_vector_dim=1, slice_sizes={1} turned = f32[128,64] transpose(x), dimensions={1,0} "
    "double = f32[64,128] add(x, x) "
    "ROOT t = (f32[64], (f32[64], s32[64]), f32[62,64], f32[64,64], f32[1,16,16], f32[40], f32[14], f32[30], f32[10], "
    "f32[40], f32[128,64], f32[64,128]) "
    "tuple(rows, pair, windows, gram, filtered, joined, wide, put, part, picked, turned, double) }\n";

static const struct {
    const char *name;
    double terms, share[2]; /* of operands 0 and 1 */
} expected[] = {
    {"rows", 128, {1, 1}},       {"pair", 128, {1, 1}},           {"windows", 6, {1, 1}}, {"gram", 128, {1, 1}},
    {"filtered", 40, {1, 1}},    {"joined", 0, {0.25, 0.75}},     {"wide", 0, {10. / 14, 0}},
    {"put", 0, {1, 10. / 30}},   {"part", 0, {1, 0}},             {"picked", 0, {1, 1}},
    {"turned", 0, {1, 1}},       {"double", 0, {-1, -1}},
};

static void read(WbbCx *cx, void *arg)
{
    const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text));
    uint32_t seen = 0;
    (void)arg;
    for (uint32_t k = 0; k < m->entry->n_instructions; k++) {
        const HloInstruction *i = m->entry->instructions[k];
        for (size_t e = 0; e < WBB_LEN(expected); e++) {
            if (strcmp(i->name, expected[e].name) != 0) continue;
            seen++;
            assert_true(hlo_terms(cx->arena, i) == expected[e].terms);
            for (uint32_t o = 0; o < 2 && o < i->n_operands && !expected[e].terms; o++)
                assert_true(fabs(hlo_operand_share(i, o) - expected[e].share[o]) < 1e-12);
        }
        if (!strcmp(i->name, "pair")) assert_true(hlo_is_term(i, 1) && !hlo_is_term(i, 2));
        if (!strcmp(i->name, "gram")) assert_true(hlo_is_term(i, 1));
    }
    assert_int_equal(seen, WBB_LEN(expected));
}

static void test_terms(void **state)
{
    (void)state;
    succeed_alone(read, NULL);
}

/* Powers with the exponents of patterns/powers.py cost what their rules leave, at each type. */
static void read_powers(WbbCx *cx, void *arg)
{
    static const struct { const char *type; double exponent; ScOp op; } powers[] = {
        {"f32", 2, OP_NONE}, {"f32", 1.5, OP_SQRT}, {"f32", -0.5, OP_RSQRT}, {"f64", -0.5, OP_SQRT},
        {"f64", -2, OP_DIV}, {"f32", -2, OP_POW},   {"f32", 2.5, OP_POW},    {"bf16", 3, OP_NONE},
        {"bf16", 0.5, OP_SQRT}, {"f64", 1, OP_NONE}};
    (void)arg;
    for (size_t k = 0; k < WBB_LEN(powers); k++) {
        const char *t = powers[k].type;
        const char *of = wbb_format(cx->arena, "x = %s[8] parameter(0) e = %s[] constant(%g) y = %s[8] broadcast(e), "
                                    "dimensions={} ROOT p = %s[8] power(x, y)", t, t, powers[k].exponent, t, t);
        const HloModule *m = hlo_parse(cx, cx->arena, "t.hlo", of, strlen(of));
        assert_int_equal(hlo_function(m->entry->root), powers[k].op);
    }
}

static void test_powers(void **state)
{
    (void)state;
    succeed_alone(read_powers, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_terms), cmocka_unit_test(test_powers)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
