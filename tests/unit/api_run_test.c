/* api_run: kernels that the library runs: in the simulator, checked, profiled, counted; on a GPU, which is a driver
 * whose kernels run in the simulator; by several threads at once. */
#include "warpburg.h"

#include "unit.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { N = 64, LARGE = 1 << 18 };

/* Parameter 0 is not used, and operand 1 of the fusion is a constant. */
static const char twice[] = "HloModule f\n\nbody {\n  a = f32[64]{0} parameter(0)\n  c = f32[] parameter(1)\n"
                            "  b = f32[64]{0} broadcast(c), dimensions={}\n  ROOT m = f32[64]{0} multiply(a, b)\n}\n\n"
                            "ENTRY e {\n  q = s32[3,2]{1,0} parameter(0)\n  p = f32[64]{0} parameter(1)\n"
                            "  two = f32[] constant(2)\n"
                            "  ROOT f = f32[64]{0} fusion(p, two), kind=kLoop, calls=body\n}\n";
/* Blocks share the terms: it has temporaries, one of them a ticket. */
static const char sum[] = "HloModule s\n\nadd {\n  x = f32[] parameter(0)\n  y = f32[] parameter(1)\n"
                          "  ROOT z = f32[] add(x, y)\n}\n\nENTRY e {\n  p = f32[262144]{0} parameter(0)\n"
                          "  o = f32[] constant(0)\n  ROOT r = f32[] reduce(p, o), dimensions={0}, to_apply=add\n}\n";
static const char in_place[] =
    "HloModule f\n\nENTRY e {\n  p = f32[64]{0} parameter(0)\n  u = f32[8]{0} parameter(1)\n"
    "  i = s32[] parameter(2)\n  ROOT r = f32[64]{0} dynamic-update-slice(p, u, i)\n}\n";

typedef struct {
    wb_context *cx;
    wb_kernel *twice, *sum, *in_place;
    float in[N], *large;
} Given;

static wb_kernel *compile(wb_context *cx, const char *text)
{
    wb_kernel *k = NULL;
    const size_t n = strlen(text);
    char *passing = malloc(n); /* the kernel keeps no pointer to it */
    memcpy(passing, text, n);
    if (wb_compile(cx, "f.hlo", passing, n, NULL, &k) != WB_OK) fail_msg("%s", wb_messages(cx));
    memset(passing, '?', n);
    free(passing);
    return k;
}

static int open_given(void **state)
{
    Given *g = calloc(1, sizeof *g);
    g->cx = wb_context_new();
    g->twice = compile(g->cx, twice);
    g->sum = compile(g->cx, sum);
    g->in_place = compile(g->cx, in_place);
    g->large = malloc(LARGE * sizeof *g->large);
    for (int i = 0; i < N; i++) g->in[i] = (float)i;
    for (int i = 0; i < LARGE; i++) g->large[i] = (float)(i % 16);
    *state = g;
    return 0;
}

static int close_given(void **state)
{
    Given *g = *state;
    wb_context_free(g->cx);
    free(g->large);
    free(g);
    return 0;
}

typedef struct {
    int calls, stop_at;
    int64_t last;
} Shown;

static int shown(void *arg, const char *what, int64_t done, int64_t total)
{
    Shown *s = arg;
    assert_true(*what && done >= 0 && done <= total);
    s->last = done;
    return ++s->calls == s->stop_at;
}

/* A report is called, and its answer ends a run on one thread and on several; the kernel runs again. */
static void test_stopped(void **state)
{
    static const char long_one[] = "HloModule l\n\nENTRY e {\n  x = f32[33554432]{0} parameter(0)\n"
                                   "  ROOT y = f32[33554432]{0} exponential(x)\n}\n";
    const Given *g = *state;
    wb_kernel *k = compile(g->cx, long_one);
    for (uint32_t threads = 1; threads <= 2; threads++) {
        Shown s = {.stop_at = 2};
        const wb_run_options o = {.threads = threads, .progress = shown, .progress_arg = &s};
        wb_result *r;
        assert_int_equal(wb_kernel_check(k, NULL, &o, NULL, &r), WB_FAILED);
        assert_non_null(strstr(wb_result_messages(r), "stopped"));
        assert_int_equal(s.calls, 2);
        wb_result_free(r);
    }
    wb_kernel_free(k);
    Shown all = {0};
    const wb_run_options o = {.progress = shown, .progress_arg = &all};
    assert_int_equal(wb_kernel_check(g->sum, NULL, &o, NULL, NULL), WB_OK);
    assert_true(all.calls > 0);
}

static void test_arrays(void **state)
{
    const Given *g = *state;
    wb_array a;
    assert_true(wb_kernel_input(g->twice, 0, &a));
    assert_string_equal(a.type, "s32");
    assert_int_equal(a.rank, 2);
    assert_int_equal(a.dims[0], 3);
    assert_int_equal(a.bytes, 24);
    assert_true(wb_kernel_input(g->twice, 1, &a));
    assert_int_equal(a.element_bytes, 4);
    assert_false(wb_kernel_input(g->twice, 2, &a));
    assert_true(wb_kernel_output(g->twice, 0, &a));
    assert_int_equal(a.bytes, 4 * N);
    assert_false(wb_kernel_output(g->twice, 1, &a));
    wb_buffer b;
    assert_true(wb_kernel_buffer(g->twice, 0, &b));
    assert_int_equal(b.input, 1);
    assert_null(b.constant);
    assert_string_equal(b.type, "f32");
    assert_int_equal(b.dims[0], N);
    assert_true(wb_kernel_buffer(g->twice, 1, &b));
    assert_int_equal(b.input, -1);
    assert_true(*(const float *)b.constant == 2);
    assert_true(wb_kernel_buffer(g->twice, 2, &b));
    assert_int_equal(b.role, WB_OUTPUT);
    assert_int_equal(b.input, -1);
    has(wb_kernel_explain(g->twice), "accesses of a thread");
    has(wb_kernel_hlo(g->twice), "calls=body");
    assert_string_equal(wb_kernel_target(g->twice), "sm_90");
}

static void test_targets(void **state)
{
    (void)state;
    int n = 0, found = 0;
    for (; wb_target_name((uint32_t)n); n++) found += !strcmp(wb_target_name((uint32_t)n), "sm_90");
    assert_int_equal(found, 1);
    assert_true(n >= 7);
    assert_null(wb_target_name(UINT32_MAX));
    assert_int_equal(atoi(wb_version()), WB_VERSION_MAJOR);
    assert_int_equal(atoi(strchr(wb_version(), '.') + 1), WB_VERSION_MINOR);
}

static void test_cubin(void **state)
{
    const Given *g = *state;
    size_t n = 1;
    const char *missing = NULL;
    assert_null(wb_kernel_cubin(g->twice, &n, &missing));
    assert_int_equal(n, 0);
    has(missing, "not asked for");
    wb_kernel *k = NULL;
    const wb_options o = {.cubin = 1};
    assert_int_equal(wb_compile(g->cx, "f.hlo", twice, strlen(twice), &o, &k), WB_OK);
    const void *cubin = wb_kernel_cubin(k, &n, &missing);
    if (cubin) {
        assert_null(missing);
        assert_memory_equal(cubin, "\177ELF", 4);
        assert_true(n > 64);
    } else {
        has(missing, "ptxas");
    }
}

static void test_run(void **state)
{
    const Given *g = *state;
    float out[N] = {0};
    wb_result *r;
    assert_int_equal(wb_kernel_run(g->twice, (const void *[]){NULL, g->in}, (void *[]){out}, NULL, &r), WB_OK);
    assert_string_equal(wb_result_messages(r), "");
    has(wb_result_json(r), "\"instructions\"");
    wb_result_free(r);
    for (int i = 0; i < N; i++) assert_true(out[i] == 2 * g->in[i]);
    const wb_run_options two = {.threads = 2};
    assert_int_equal(wb_kernel_run(g->sum, (const void *[]){g->large}, (void *[]){out}, &two, NULL), WB_OK);
    assert_true(out[0] == 7.5f * LARGE);
}

static void test_check(void **state)
{
    const Given *g = *state;
    wb_verdict v;
    wb_result *r;
    for (const char *c = "wnepdtusc"; *c; c++) {
        assert_int_equal(wb_kernel_check(g->twice, NULL, &(wb_run_options){.inputs = *c}, &v, NULL), WB_OK);
        assert_true(v.compared == N && v.outside == 0 && v.faults == 0 && v.max_ulp < 1);
    }
    assert_int_equal(wb_kernel_check(g->twice, (const void *[]){g->large, g->in}, NULL, &v, &r), WB_OK);
    assert_int_equal(v.compared, N);
    has(wb_result_text(r), "f.hlo: 64 elements inside the bounds");
    wb_result_free(r);
    assert_int_equal(wb_kernel_check(g->twice, NULL, &(wb_run_options){.inputs = 'q'}, &v, &r), WB_FAILED);
    has(wb_result_messages(r), "inputs 'q'");
    wb_result_free(r);
}

static void test_profile(void **state)
{
    const Given *g = *state;
    wb_time t;
    wb_result *r;
    assert_int_equal(wb_kernel_profile(g->sum, NULL, NULL, &t, &r), WB_OK);
    assert_true(t.seconds > 1e-7 && t.seconds < 1e-3);
    assert_true(t.work > 0 && t.launch > 0);
    has(wb_result_text(r), t.binds);
    has(wb_result_json(r), "\"kernels\"");
    has(wb_result_html(r), "<html");
    has(wb_result_html(r), "reduce");
    wb_result_free(r);
}

static void test_statistics(void **state)
{
    const Given *g = *state;
    wb_result *r;
    assert_int_equal(wb_kernel_statistics(g->sum, &r), WB_OK);
    has(wb_result_json(r), "{\"status\": \"ok\"");
    has(wb_result_json(r), "\"ptx\": ");
    wb_result_free(r);
}

/* --- a GPU -------------------------------------------------------------------------------------------------------- */

static uint64_t on_device(const wb_loaded *l, const void *from, uint64_t bytes)
{
    uint64_t at = 0;
    assert_int_equal(wb_gpu_allocate(l, bytes, &at, NULL), WB_OK);
    if (from) assert_int_equal(wb_gpu_write(l, at, from, bytes, NULL), WB_OK);
    return at;
}

static void test_enqueue(void **state)
{
    const Given *g = *state;
    wb_loaded *l = NULL;
    float out[N] = {0};
    assert_int_equal(wb_gpu_load(g->twice, &l, NULL), WB_OK);
    uint64_t at[] = {on_device(l, g->in, sizeof g->in), 0, on_device(l, NULL, sizeof out)};
    assert_int_equal(wb_gpu_enqueue(l, NULL, at, NULL), WB_OK);
    assert_int_equal(wb_gpu_read(l, out, at[2], sizeof out, NULL), WB_OK);
    for (int i = 0; i < N; i++) assert_true(out[i] == 2 * g->in[i]);
    wb_result *r;
    assert_int_equal(wb_gpu_enqueue(l, NULL, (uint64_t[]){at[0], 0, 0}, &r), WB_FAILED);
    has(wb_result_messages(r), "buffer 2 has no address");
    wb_result_free(r);
    assert_int_equal(wb_gpu_enqueue(l, NULL, (uint64_t[]){at[0] + 4, 0, at[2]}, &r), WB_FAILED);
    has(wb_result_messages(r), "must be aligned to 16 bytes");
    wb_result_free(r);
    assert_int_equal(wb_gpu_release(l, at[0], NULL), WB_OK);
    assert_int_equal(wb_gpu_release(l, at[2], NULL), WB_OK);
    wb_gpu_unload(l);
    wb_gpu_unload(NULL);
}

/* Tickets are zero before each run, whatever memory the run gets. */
static void test_temporaries(void **state)
{
    const Given *g = *state;
    wb_loaded *l = NULL;
    wb_buffer b;
    uint64_t at[8] = {0};
    int tickets = 0;
    assert_int_equal(wb_gpu_load(g->sum, &l, NULL), WB_OK);
    at[0] = on_device(l, g->large, LARGE * 4);
    at[1] = on_device(l, NULL, 4);
    for (uint32_t i = 0; wb_kernel_buffer(g->sum, i, &b); i++) tickets += b.contents == WB_TICKET;
    assert_true(tickets > 0);
    for (int k = 0; k < 3; k++) {
        float out = 0;
        assert_int_equal(wb_gpu_enqueue(l, NULL, at, NULL), WB_OK);
        assert_int_equal(wb_gpu_read(l, &out, at[1], 4, NULL), WB_OK);
        assert_true(out == 7.5f * LARGE);
    }
    for (int i = 0; i < 2; i++) assert_int_equal(wb_gpu_release(l, at[i], NULL), WB_OK);
    wb_gpu_unload(l);
}

static void test_update_in_place(void **state)
{
    const Given *g = *state;
    wb_loaded *l = NULL;
    float out[N];
    const int32_t start = 3;
    assert_int_equal(wb_gpu_load(g->in_place, &l, NULL), WB_OK);
    uint64_t at[] = {on_device(l, g->in, sizeof out), on_device(l, g->in, 32), on_device(l, &start, 4),
                     on_device(l, NULL, sizeof out)};
    const uint64_t own = at[3];
    for (int k = 0; k < 2; k++, at[3] = at[0]) { /* in memory of its own, then in the operand's */
        assert_int_equal(wb_gpu_enqueue(l, NULL, at, NULL), WB_OK);
        assert_int_equal(wb_gpu_read(l, out, at[3], sizeof out, NULL), WB_OK);
        for (int i = 0; i < N; i++) assert_true(out[i] == g->in[i >= 3 && i < 11 ? i - 3 : i]);
    }
    at[3] = own;
    for (int i = 0; i < 4; i++) assert_int_equal(wb_gpu_release(l, at[i], NULL), WB_OK);
    wb_gpu_unload(l);
}

static void test_gpu_run(void **state)
{
    const Given *g = *state;
    float out[N] = {0};
    wb_result *r;
    assert_int_equal(wb_gpu_run(g->twice, (const void *[]){NULL, g->in}, (void *[]){out}, 2, &r), WB_OK);
    has(wb_result_json(r), "\"gpu\": {\"device\": \"simulated device\"");
    wb_result_free(r);
    for (int i = 0; i < N; i++) assert_true(out[i] == 2 * g->in[i]);
}

static void test_no_gpu(void **state)
{
    const Given *g = *state;
    const char *driver = getenv("WARPBURG_LIBCUDA");
    char kept[1024];
    snprintf(kept, sizeof kept, "%s", driver ? driver : "");
    setenv("WARPBURG_LIBCUDA", "no_such_driver.so", 1);
    wb_loaded *l = NULL;
    wb_result *r;
    assert_int_equal(wb_gpu_load(g->twice, &l, &r), WB_DECLINED);
    assert_null(l);
    assert_int_equal(wb_result_declined(r), WB_WHY_NO_GPU);
    has(wb_result_messages(r), "no_such_driver.so cannot be opened");
    wb_result_free(r);
    float out[N];
    assert_int_equal(wb_gpu_run(g->twice, (const void *[]){NULL, g->in}, (void *[]){out}, 0, &r), WB_DECLINED);
    assert_int_equal(wb_result_declined(r), WB_WHY_NO_GPU);
    wb_result_free(r);
    setenv("WARPBURG_LIBCUDA", kept, 1);
}

/* --- threads ------------------------------------------------------------------------------------------------------ */

static void *run_in_thread(void *arg)
{
    const Given *g = arg;
    long wrong = 0;
    for (int k = 0; k < 4; k++) {
        float out[N] = {0};
        if (wb_kernel_run(g->twice, (const void *[]){NULL, g->in}, (void *[]){out}, NULL, NULL) != WB_OK) wrong++;
        for (int i = 0; i < N; i++) wrong += out[i] != 2 * g->in[i];
        if (wb_kernel_check(g->twice, NULL, NULL, NULL, NULL) != WB_OK) wrong++;
    }
    return (void *)(intptr_t)wrong;
}

static void test_threads_share_a_kernel(void **state)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++) assert_int_equal(pthread_create(&threads[i], NULL, run_in_thread, *state), 0);
    for (int i = 0; i < 4; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stopped), cmocka_unit_test(test_arrays), cmocka_unit_test(test_targets), cmocka_unit_test(test_cubin),
        cmocka_unit_test(test_run), cmocka_unit_test(test_check), cmocka_unit_test(test_profile),
        cmocka_unit_test(test_statistics), cmocka_unit_test(test_enqueue), cmocka_unit_test(test_temporaries),
        cmocka_unit_test(test_update_in_place), cmocka_unit_test(test_gpu_run), cmocka_unit_test(test_no_gpu),
        cmocka_unit_test(test_threads_share_a_kernel)};
    return cmocka_run_group_tests(tests, open_given, close_given);
}
