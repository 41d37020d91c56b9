/* api: the public interface: kernels, messages and statuses. An error ends only the call in which it occurs. */
#include "warpburg.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
        assert_true(wb_kernel_launch(k, 0, &l));
        assert_false(wb_kernel_launch(k, 1, &l));
        assert_string_equal(l.entry, wb_kernel_name(k));
        assert_int_equal(l.n_arguments, 2);
        assert_int_equal(l.arguments[1], 1);
        assert_int_equal(l.cluster[0] * l.cluster[1] * l.cluster[2], 1);
        wb_buffer b;
        for (uint32_t n = 0; n < 2; n++) {
            assert_true(wb_kernel_buffer(k, n, &b));
            assert_int_equal(b.role, n ? WB_OUTPUT : WB_OPERAND);
            assert_int_equal(b.bytes, 4096);
            assert_int_equal(b.number, 0);
            assert_int_equal(b.align, 16);
            assert_int_equal(b.copy_of, -1);
            assert_int_equal(b.n_may_alias, 0);
        }
        assert_false(wb_kernel_buffer(k, 2, &b));
        assert_true((uint64_t)l.grid[0] * l.block[0] >= 1 && (uint64_t)l.grid[0] * l.block[0] <= 1024);
        assert_true(wb_kernel_steps(k) > 0 && wb_kernel_ms(k, 0, NULL) >= 0);
    }
    wb_context_free(cx);
}

/* A quotient is rounded correctly unless the options allow the error of the machine's. */
static void test_accuracy(void **state)
{
    (void)state;
    static const char quotient[] = "HloModule f\n\nENTRY e {\n  p = f32[1024]{0} parameter(0)\n"
                                   "  q = f32[1024]{0} parameter(1)\n  ROOT r = f32[1024]{0} divide(p, q)\n}\n";
    wb_context *cx = wb_context_new();
    for (int level = WB_EXACT; level <= WB_XLA; level++) {
        wb_kernel *k = NULL;
        const wb_options o = {.accuracy = (wb_accuracy)level};
        assert_int_equal(wb_compile(cx, "f.hlo", quotient, strlen(quotient), &o, &k), WB_OK);
        assert_int_equal(strstr(wb_kernel_ptx(k), "div.full.f32") != NULL, level != WB_EXACT);
        assert_int_equal(strstr(wb_kernel_json(k), "\"accuracy\": \"xla\"") != NULL, level == WB_XLA);
    }
    wb_context_free(cx);
}

/* Flags are the text's: a kernel that is compiled of it has and says them. */
static void test_assume(void **state)
{
    (void)state;
    static const char sum[] = "HloModule f\n\nENTRY e {\n  p = f32[1024]{0} parameter(0)\n"
                              "  q = f32[1024]{0} parameter(1)\n"
                              "  m = f32[1024]{0} multiply(p, q)\n  ROOT r = f32[1024]{0} add(m, p)\n}\n";
    wb_context *cx = wb_context_new();
    wb_result *r = NULL;
    for (int contract = 0; contract < 2; contract++) {
        wb_kernel *k = NULL;
        assert_int_equal(wb_hlo_assume(sum, strlen(sum), contract ? "contract,nsz" : "nsz", &r), WB_OK);
        const char *text = wb_result_text(r);
        assert_int_equal(wb_compile(cx, "f.hlo", text, strlen(text), NULL, &k), WB_OK);
        assert_int_equal(strstr(wb_kernel_ptx(k), "fma.rn.f32") != NULL, contract);
        assert_non_null(strstr(wb_kernel_json(k), contract ? "\"assume\": \"contract,nsz\"" : "\"assume\": \"nsz\""));
        wb_result_free(r);
    }
    assert_int_equal(wb_hlo_assume(sum, strlen(sum), "fast", &r), WB_FAILED);
    wb_result_free(r);
    wb_context_free(cx);
}

static void test_alignments(void **state)
{
    (void)state;
    wb_context *cx = wb_context_new();
    wb_kernel *k = NULL;
    for (uint32_t align = 1; align <= 8192; align = align * 3 / 2 + 1) { /* 1, 2, 4 and what is no power of two */
        const int good_one = (align & (align - 1)) == 0 && align <= 4096;
        assert_int_equal(wb_compile(cx, "f.hlo", good, strlen(good), &(wb_options){.align = align}, &k),
                         good_one ? WB_OK : WB_FAILED);
        if (!good_one) assert_non_null(strstr(wb_messages(cx), "a power of two, 4096 at most, expected"));
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
    assert_non_null(strstr(wb_messages(cx), "no target is called 'sm_1'; there are sm_75, sm_80, sm_86, sm_89"));
    assert_null(strstr(wb_messages(cx), "frobnicate"));
    const wb_options odd[] = {{.accuracy = (wb_accuracy)7}, {.backend = (wb_backend)99}};
    for (int i = 0; i < 2; i++) {
        assert_int_equal(wb_compile(cx, "f.hlo", good, strlen(good), &odd[i], &k), WB_FAILED);
        assert_non_null(strstr(wb_messages(cx), i ? "backend 99: WB_ANY" : "accuracy 7: WB_EXACT, WB_APPROX or "));
    }
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
    assert_false(wb_kernel_launch(k, 0, &l));
    wb_context_free(cx);
}

static const char in_place[] =
    "HloModule f\n\nENTRY e {\n  p = f32[1024]{0} parameter(0)\n  u = f32[8]{0} parameter(1)\n"
    "  i = s32[] parameter(2)\n  ROOT r = f32[1024]{0} dynamic-update-slice(p, u, i)\n}\n";

static void test_in_place(void **state)
{
    (void)state;
    wb_context *cx = wb_context_new();
    wb_kernel *k = NULL;
    wb_buffer b;
    assert_int_equal(wb_compile(cx, "f.hlo", in_place, strlen(in_place), NULL, &k), WB_OK);
    assert_true(wb_kernel_buffer(k, 3, &b));
    assert_int_equal(b.contents, WB_COPY);
    assert_int_equal(b.copy_of, 0);
    assert_int_equal(b.n_may_alias, 1);
    assert_int_equal(b.may_alias[0], 0);
    wb_context_free(cx);
}

static const char random_numbers[] =
    "HloModule f\n\nENTRY e {\n  z = f32[] constant(0)\n  o = f32[] constant(1)\n  ROOT r = f32[8]{0} rng(z, o), "
    "distribution=rng_uniform\n}\n";

static void test_reasons(void **state)
{
    (void)state;
    wb_context *cx = wb_context_new();
    wb_kernel *k = NULL;
    assert_int_equal(wb_declined(cx), WB_WHY_NONE);
    assert_int_equal(wb_compile(cx, "f.hlo", random_numbers, strlen(random_numbers), NULL, &k), WB_DECLINED);
    assert_null(k);
    assert_int_equal(wb_declined(cx), WB_WHY_RANDOM);
    assert_string_equal(wb_reason_name(WB_WHY_RANDOM), "random");
    assert_non_null(strstr(wb_messages(cx), "declined: random: "));
    assert_non_null(strstr(wb_reason_text(WB_WHY_RANDOM), "random numbers"));
    assert_int_equal(wb_compile(cx, "f.hlo", bad, strlen(bad), NULL, &k), WB_FAILED);
    assert_int_equal(wb_declined(cx), WB_WHY_NONE);
    assert_string_equal(wb_reason_name(WB_WHY_NO_GPU), "no_gpu");
    assert_string_equal(wb_reason_name(WB_WHY_FEATURE), "feature");
    assert_null(wb_reason_name((wb_reason)(WB_WHY_FEATURE + 1)));
    assert_null(wb_reason_text((wb_reason)-1));
    wb_context_free(cx);
}

/* KiB of memory that the process has. */
static long resident(void)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    assert_non_null(f);
    assert_int_equal(fscanf(f, "%*d %ld", &pages), 1);
    fclose(f);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Compiles that are freed, or that fail, leave nothing; freed in another order than made. */
static void test_kernel_free(void **state)
{
    (void)state;
    enum { ROUNDS = 60, WARM = 20 };
    wb_context *cx = wb_context_new();
    wb_kernel *kept = NULL, *first = NULL;
    long before = 0;
    wb_kernel_free(NULL);
    assert_int_equal(wb_compile(cx, "f.hlo", good, strlen(good), NULL, &kept), WB_OK);
    for (int i = 0; i < ROUNDS; i++) {
        wb_kernel *k = NULL;
        char text[512];
        if (i == WARM) before = resident();
        snprintf(text, sizeof text, "HloModule f%d\n\nENTRY e%d {\n  p%d = f32[1024]{0} parameter(0)\n"
                 "  ROOT r = f32[1024]{0} negate(p%d)\n}\n", i, i, i, i);
        assert_int_equal(wb_compile(cx, "f.hlo", text, strlen(text), NULL, &k), WB_OK);
        wb_kernel_free(first);
        first = k;
        assert_int_equal(wb_compile(cx, "f.hlo", bad, strlen(bad), NULL, &k), WB_FAILED);
    }
    const long grown = resident() - before;
    if (grown > 20 * (ROUNDS - WARM)) fail_msg("%ld KiB more after %d compiles", grown, ROUNDS - WARM);
    assert_non_null(strstr(wb_kernel_ptx(kept), ".entry"));
    wb_kernel_free(kept);
    wb_context_free(cx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_compile), cmocka_unit_test(test_accuracy), cmocka_unit_test(test_assume),
                                       cmocka_unit_test(test_alignments),
                                       cmocka_unit_test(test_errors_leave_the_context_usable),
                                       cmocka_unit_test(test_nothing_to_launch), cmocka_unit_test(test_in_place),
                                       cmocka_unit_test(test_reasons), cmocka_unit_test(test_kernel_free)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
