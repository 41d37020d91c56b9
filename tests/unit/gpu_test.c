/* gpu: a bundle runs through the CUDA driver interface, on a driver that runs kernels in the simulator
 * (tests/fake_cuda_driver.c). Asserted are the results, the calls that were made, and that each error of the driver
 * becomes a message and leaks nothing. */
#include "gpu/gpu.h"

#include "unit.h"

#include <stdio.h>
#include <stdlib.h>

enum { N = 64 };
static const char ptx[] = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry twice(.param .u64 a, .param "
                          ".u64 b)\n{\n.reg .b32 %r<4>;\n.reg .b64 %rd<6>;\n"
                          "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [b];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd3, "
                          "%r1, 4;\nadd.s64 %rd4, %rd1, %rd3;\nadd.s64 %rd5, %rd2, %rd3;\n"
                          "ld.global.b32 %r2, [%rd4];\nadd.u32 %r2, %r2, %r2;\nst.global.b32 [%rd5], %r2;\nret;\n}\n";

typedef struct {
    const char *text, *cubin;
    GpuOptions options;
    GpuReport report;
    uint32_t in[N], out[N];
    WbbStatus status;
    WbbWhy why;
    char message[512];
} Job;

static void body(WbbCx *cx, void *arg)
{
    Job *j = arg;
    const int args[] = {0, 1};
    BdLaunch launch = {
        .entry = "twice", .grid = {1, 1, 1}, .block = {N, 1, 1}, .cluster = {1, 1, 1}, .n_args = 2, .args = args};
    const Bundle b = {.target = "sm_90",
                      .n_buffers = 2,
                      .n_launches = 1,
                      .launches = &launch,
                      .ptx = j->text,
                      .cubin = j->cubin,
                      .cubin_bytes = sizeof ptx};
    GpuBuffer memory[] = {{j->in, sizeof j->in, false}, {j->out, sizeof j->out, true}};
    j->report = gpu_run(cx, cx->arena, &b, &launch, memory, &j->options);
}

static char log_file[] = "gpu_test.calls";

static Job run(Job j)
{
    remove(log_file);
    WbbCx *cx = wbb_cx_new();
    for (uint32_t i = 0; i < N; i++) j.in[i] = 3 * i;
    if (!j.text) j.text = ptx;
    j.status = wbb_guard(cx, body, &j);
    j.why = cx->why;
    snprintf(j.message, sizeof j.message, "%s", cx->messages);
    wbb_cx_free(cx);
    return j;
}

/* How often an entry point was called. */
static int calls(const char *name)
{
    char line[128];
    int n = 0;
    FILE *f = fopen(log_file, "r");
    while (f && fgets(line, sizeof line, f)) n += !strncmp(line, name, strlen(name)) && line[strlen(name)] == '\n';
    if (f) fclose(f);
    return n;
}

static void assert_all_given_back(void)
{
    assert_int_equal(calls("cuMemFree_v2"), calls("cuMemAlloc_v2"));
    assert_int_equal(calls("cuModuleUnload"), calls("cuModuleLoadDataEx"));
    assert_int_equal(calls("cuDevicePrimaryCtxRelease_v2"), calls("cuDevicePrimaryCtxRetain"));
    assert_int_equal(calls("cuEventDestroy_v2"), calls("cuEventCreate"));
}

static void test_once(void **state)
{
    (void)state;
    const Job j = run((Job){0});
    assert_int_equal(j.status, WBB_OK);
    for (uint32_t i = 0; i < N; i++) assert_int_equal(j.out[i], 6 * i);
    assert_false(j.report.cubin);
    assert_int_equal(calls("cuLaunchKernel"), 1);
    assert_int_equal(calls("cuMemcpyHtoD_v2"), 2);
    assert_int_equal(calls("cuMemcpyDtoH_v2"), 1);
    assert_all_given_back();
}

static void test_cubin(void **state)
{
    (void)state;
    const Job j = run((Job){.text = "this is not PTX", .cubin = ptx}); /* the fake driver accepts PTX as machine code */
    assert_int_equal(j.status, WBB_OK);
    assert_true(j.report.cubin);
    assert_int_equal(j.out[5], 30);
}

static void test_times(void **state)
{
    (void)state;
    const Job j = run((Job){.options = {.repeat = 100}});
    assert_int_equal(j.status, WBB_OK);
    assert_int_equal(j.report.copies, 64);                    /* copies that fill twice the assumed cache, 64 at most */
    assert_int_equal(calls("cuLaunchKernel"),
                     1 + 1 + 100 + 1 + 20); /* the run, warm-up, timed, copies: warm-up, timed */
    assert_int_equal(calls("cuEventElapsedTime"), 2);
    assert_true(j.report.ms == 0.5);                          /* a launch takes half a millisecond on the fake driver */
    assert_true(j.report.gb_per_s > 0 && j.report.copy_gb_per_s > 33 && j.report.copy_gb_per_s < 34);
    assert_all_given_back();
}

static void test_errors(void **state)
{
    (void)state;
    static const char *const names[] = {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxSetCurrent",
                                        "cuModuleLoadDataEx", "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemsetD8_v2", "cuMemcpyHtoD_v2", "cuLaunchKernel", "cuCtxSynchronize",
                                        "cuMemcpyDtoH_v2", "cuMemGetInfo_v2", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime"};
    for (size_t i = 0; i < WBB_LEN(names); i++) {
        char fail[64];
        snprintf(fail, sizeof fail, "%s:2", names[i]);
        setenv("FAKE_CUDA_FAIL", fail, 1);
        const Job j = run((Job){.options = {.repeat = 1}});
        unsetenv("FAKE_CUDA_FAIL");
        assert_int_equal(j.status, WBB_FAILED);
        assert_non_null(strstr(j.message, names[i]));
        assert_non_null(strstr(j.message, "CUDA_ERROR_OUT_OF_MEMORY (2): out of memory"));
        assert_int_equal(calls("cuDevicePrimaryCtxRelease_v2"), i == 4 || i > 5); /* released if it was retained */
    }
}

static void test_bad_ptx(void **state)
{
    (void)state;
    const Job j = run((Job){.text = ".version 8.0\n.target sm_80\n.address_size 64\nnonsense\n"});
    assert_int_equal(j.status, WBB_FAILED);
    assert_non_null(strstr(j.message, "CUDA_ERROR_INVALID_PTX"));
    assert_non_null(strstr(j.message, "module:4")); /* the driver's log */
    assert_int_equal(calls("cuModuleUnload"), 0);
    assert_int_equal(calls("cuDevicePrimaryCtxRelease_v2"), 1);
}

static void test_nobody_there(void **state)
{
    (void)state;
    setenv("FAKE_CUDA_DEVICES", "0", 1);
    Job j = run((Job){0});
    unsetenv("FAKE_CUDA_DEVICES");
    assert_int_equal(j.status, WBB_DECLINED);
    assert_int_equal(j.why, WHY_NO_GPU);
    char *own = strdup(getenv("WARPBURG_LIBCUDA"));
    setenv("WARPBURG_LIBCUDA", "/nowhere/libcuda.so.1", 1);
    j = run((Job){0});
    setenv("WARPBURG_LIBCUDA", own, 1);
    free(own);
    assert_int_equal(j.status, WBB_DECLINED);
    assert_non_null(strstr(j.message, "/nowhere/libcuda.so.1"));
}

int main(void)
{
    if (!getenv("WARPBURG_LIBCUDA")) return puts("skipped: WARPBURG_LIBCUDA does not name libfake_cuda_driver"), 77;
    setenv("FAKE_CUDA_LOG", log_file, 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), cmocka_unit_test(test_cubin), cmocka_unit_test(test_times), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_bad_ptx), cmocka_unit_test(test_nobody_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
