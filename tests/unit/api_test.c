/* api: the public interface: kernels, messages and statuses. An error ends only the call in which it occurs. */
#include "warpburg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char good[] =
    "HloModule f\n\nENTRY e {\n  p = f32[1024]{0} parameter(0)\n  ROOT r = f32[1024]{0} negate(p)\n}\n";
static const char bad[] =
    "HloModule f\n\nENTRY e {\n  p = f32[1024]{0} parameter(0)\n  ROOT r = f32[1024]{0} frobnicate(p)\n}\n";
static const char empty[] =
    "HloModule f\n\nENTRY e {\n  p = f32[0]{0} parameter(0)\n  ROOT r = f32[0]{0} negate(p)\n}\n";

static void test_compile(void **state)
{
    (void)state;
    wb_context *cx = wb_context_new();
    const char *targets[] = {NULL, "sm_80", "sm_90"};
    for (int i = 0; i < 3; i++) {
        wb_kernel *k = NULL;
        assert_int_equal(wb_compile(cx, "f.hlo", good, strlen(good), &(wb_options){.target = targets[i]}, &k), WB_OK);
        assert_string_equal(wb_messages(cx), "");
        assert_non_null(strstr(wb_kernel_ptx(k), i == 1 ? ".target sm_80" : ".target sm_90"));
        assert_non_null(strstr(wb_kernel_ptx(k), wb_kernel_name(k)));
        assert_non_null(strstr(wb_kernel_json(k), "\"role\": \"out\""));
        wb_launch l;
        assert_true(wb_kernel_launch(k, &l));
        assert_int_equal(l.n_arguments, 2);
        assert_true((uint64_t)l.grid[0] * l.block[0] >= 1 && (uint64_t)l.grid[0] * l.block[0] <= 1024);
        assert_true(wb_kernel_steps(k) > 0 && wb_kernel_ms(k, 0, NULL) >= 0);
    }
    wb_context_free(cx);
}

static void test_errors_leave_the_context_usable(void **state)
{
    (void)state;
    wb_context *cx = wb_context_new();
    wb_kernel *k = NULL;
    assert_int_equal(wb_compile(cx, "f.hlo", bad, strlen(bad), NULL, &k), WB_FAILED);
    assert_non_null(strstr(wb_messages(cx), "f.hlo:5:"));
    assert_int_equal(wb_compile(cx, "f.hlo", good, strlen(good), &(wb_options){.target = "sm_1"}, &k), WB_FAILED);
    assert_non_null(strstr(wb_messages(cx), "sm_1"));
    assert_null(strstr(wb_messages(cx), "frobnicate"));
    assert_int_equal(wb_compile(cx, "f.hlo", good, strlen(good), NULL, &k), WB_OK);
    wb_context_free(cx);
}

static void test_nothing_to_launch(void **state)
{
    (void)state;
    wb_context *cx = wb_context_new();
    wb_kernel *k = NULL;
    wb_launch l;
    assert_int_equal(wb_compile(cx, "f.hlo", empty, strlen(empty), NULL, &k), WB_OK);
    assert_false(wb_kernel_launch(k, &l));
    wb_context_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_compile), cmocka_unit_test(test_errors_leave_the_context_usable),
                                       cmocka_unit_test(test_nothing_to_launch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
