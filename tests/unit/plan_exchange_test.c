/* plan_exchange: which outputs the first stage of an exchange stores. */
#include "plan/plan.h"
#include "target/target.h"

#include "unit.h"

typedef struct {
    const char *name, *results; /* shapes of a, b, .. */
    const char *body;           /* of a fusion of x f32[400,600], y f32[600,400], z f32[400,600] */
    uint32_t stored;            /* a bit for each output that the first stage stores */
    uint32_t rank;              /* dimensions of the space */
    bool last;                  /* .. after the values of the tile */
} Case;

typedef struct {
    const Case *c;
    Plan plan;
} Job;

#define TRANSPOSED "t = f32[600,400] transpose(x), dimensions={1,0} "

static const Case cases[] = {
    {"the operand itself", "(f32[600,400], f32[400,600])",
     TRANSPOSED "n = f32[400,600] negate(x) ROOT r = (f32[600,400], f32[400,600]) tuple(t, n)", 2, 2, true},
    {"the first output", "(f32[400,600], f32[600,400])",
     TRANSPOSED "n = f32[400,600] negate(x) ROOT r = (f32[400,600], f32[600,400]) tuple(n, t)", 1, 2, true},
    {"rows of others", "(f32[600,400], f32[240000])",
     TRANSPOSED "n = f32[240000] bitcast(x) ROOT r = (f32[600,400], f32[240000]) tuple(t, n)", 2, 2, true},
    {"functions are not computed twice", "(f32[600,400], f32[400,600])",
     TRANSPOSED "n = f32[400,600] sine(x) ROOT r = (f32[600,400], f32[400,600]) tuple(t, n)", 2, 2, false},
    {"other operands in that order", "(f32[600,400], f32[400,600])",
     TRANSPOSED "n = f32[400,600] add(x, z) ROOT r = (f32[600,400], f32[400,600]) tuple(t, n)", 2, 2, true},
    {"another operand alone", "(f32[600,400], f32[400,600])",
     TRANSPOSED "n = f32[400,600] negate(z) ROOT r = (f32[600,400], f32[400,600]) tuple(t, n)", 0, 2, false},
    {"padded by branches of its own", "(f32[600,400], f32[400,600])",
     TRANSPOSED "s = f32[400,599] slice(x), slice={[0:400], [0:599]} o = f32[] constant(1) "
     "n = f32[400,600] pad(s, o), padding=0_0x0_1 ROOT r = (f32[600,400], f32[400,600]) tuple(t, n)", 0, 2, false},
    {"the outputs' order", "(f32[600,400], f32[600,400])",
     TRANSPOSED "n = f32[600,400] negate(y) ROOT r = (f32[600,400], f32[600,400]) tuple(t, n)", 0, 2, false},
    {"needs a value of the tile", "(f32[600,400]{1,0}, f32[600,400]{1,0})",
     TRANSPOSED "n = f32[600,400] add(t, y) ROOT r = (f32[600,400], f32[600,400]) tuple(t, n)", 0, 2, false},
    {"both orders, of which the tile has one", "(f32[600,400], f32[400,600])",
     TRANSPOSED "u = f32[400,600] transpose(y), dimensions={1,0} n = f32[400,600] add(x, u) "
     "ROOT r = (f32[600,400], f32[400,600]) tuple(t, n)", 0, 2, false},
};

static void plan_of(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const Case *c = j->c;
    const char *text = wbb_format(cx->arena,
        "f { x = f32[400,600] parameter(0) y = f32[600,400] parameter(1) z = f32[400,600] parameter(2) %s }\n"
        "ENTRY e { x = f32[400,600] parameter(0) y = f32[600,400] parameter(1) z = f32[400,600] parameter(2) "
        "ROOT r = %s fusion(x, y, z), kind=kLoop, calls=f }\n", c->body, c->results);
    const HloModule *m = hlo_normalise(cx, cx->arena, hlo_parse(cx, cx->arena, "t.hlo", text, strlen(text)));
    const HloFusion f = hlo_fusion(cx, m);
    j->plan = plan_fusion(cx, cx->arena, &f, tg_find("sm_90"), (PlanOptions){0});
}

static void test_sides(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        const Case *c = &cases[k];
        Job j = {.c = c};
        WbbCx *cx = wbb_cx_new();
        assert_int_equal(wbb_guard(cx, plan_of, &j), WBB_OK);
        const PlanRange *r = &j.plan.kernels[0].ranges[0];
        print_message("%s\n", c->name);
        if (c->rank) {
            assert_non_null(r->tile);
            uint32_t stored[2] = {0};
            for (int s = 0; s < 2; s++)
                for (uint32_t o = 0; o < r->stages[s].n_outputs; o++) stored[s] |= 1u << r->stages[s].outputs[o];
            assert_int_equal(stored[0], c->stored);
            assert_int_equal(stored[0] ^ stored[1], 3);
            assert_int_equal(r->tile->space->rank, c->rank);
            assert_int_equal(r->tile->sides_last, c->last);
        }
        wbb_cx_free(cx);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_sides)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
