/* plan_order: launches of a plan touch memory in a right order, and in a wrong one after each change to it. */
#include "plan/plan.h"

#include "unit.h"

#include <stdio.h>

#define LESS "less { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = pred[] compare(a, b), direction=LT }\n"
#define ADD "add { a = s32[] parameter(0) b = s32[] parameter(1) ROOT c = s32[] add(a, b) }\n"
#define SCATTER(x)                                                                                                     \
    "scatter(" x ", i, u), update_window_dims={}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, "        \
    "index_vector_dim=1, to_apply=add "

typedef struct {
    const char *text;
    Plan plan;
} Case;

static void plan(WbbCx *cx, void *arg)
{
    Case *c = arg;
    const HloModule *m = hlo_normalise(cx, cx->arena, hlo_parse(cx, cx->arena, "t.hlo", c->text, strlen(c->text)));
    HloFusion *f = WBB_NEW(cx->arena, HloFusion);
    *f = hlo_fusion(cx, m);
    c->plan = plan_fusion(cx, cx->arena, f, tg_find("sm_90"), (PlanOptions){.align = 16});
}

/* NULL: the order is right; "": it is wrong. */
static void expect(WbbCx *cx, const Plan *p, const char *fault)
{
    const char *found = plan_order_fault(cx->arena, p);
    if (!fault && found) fail_msg("%s", found);
    if (fault) assert_non_null(found);
    if (fault && !strstr(found, fault)) fail_msg("%s, not: %s", found, fault);
}

static void swap(Plan *p, uint32_t k)
{
    const PlanKernel x = p->kernels[k];
    p->kernels[k] = p->kernels[k + 1], p->kernels[k + 1] = x;
}

/* A sort in several launches, then an update in place of what it leaves: in no other order, and none of them twice or
 * left out. */
static void test_orders(void **state)
{
    WbbCx *cx = *state;
    Case c = {.text = "HloModule m\n" LESS "ENTRY e { x = s32[100000] parameter(0) n = s32[6] parameter(1) "
                      "i = s32[] parameter(2) s = s32[100000] sort(x), dimensions={0}, to_apply=less "
                      "ROOT u = s32[100000] dynamic-update-slice(s, n, i) }\n"};
    succeed(cx, plan, &c);
    Plan *p = &c.plan;
    assert_true(p->n_kernels > 3);
    expect(cx, p, NULL);
    for (uint32_t k = 0; k + 1 < p->n_kernels; k++) {
        swap(p, k);
        expect(cx, p, "");
        swap(p, k);
        const PlanKernel x = p->kernels[k];
        p->kernels[k] = p->kernels[k + 1];
        expect(cx, p, "");
        p->kernels[k].grid = 0;
        expect(cx, p, "");
        p->kernels[k] = x;
    }
    expect(cx, p, NULL);
}

/* A scatter and a sum of the same operand, and a scatter of what a sum leaves. */
static void test_memory(void **state)
{
    WbbCx *cx = *state;
    Case c = {.text = "HloModule m\n" ADD "ENTRY e { p = s32[30] parameter(0) i = s32[4] parameter(1) "
                      "u = s32[4] parameter(2) n = s32[30] negate(p) s = s32[30] " SCATTER("p")
                      "ROOT t = (s32[30], s32[30]) tuple(n, s) }\n"};
    succeed(cx, plan, &c);
    Plan *p = &c.plan;
    expect(cx, p, NULL);
    assert_int_equal(p->buffers[p->n_operands + 1].alias, -1);
    p->buffers[p->n_operands + 1].alias = 0;
    expect(cx, p, "kernel 2: it reads p, which step 0 overwrote");

    Case d = {.text = "HloModule m\n" ADD "ENTRY e { x = s32[30,4000] parameter(0) i = s32[4] parameter(1) "
                      "u = s32[4] parameter(2) z = s32[] constant(0) n = s32[30] reduce(x, z), dimensions={1}, "
                      "to_apply=add ROOT s = s32[30] " SCATTER("n") "}\n"};
    succeed(cx, plan, &d);
    p = &d.plan;
    assert_int_equal(p->n_kernels, 2);
    assert_int_equal(p->n_temps, 0);
    expect(cx, p, NULL);
    swap(p, 0);
    expect(cx, p, "kernel 0: it reads out, which no step makes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {TEST(test_orders), TEST(test_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
