/* gpu: a bundle runs through the CUDA driver interface, on a driver that runs kernels in the simulator
 * (tests/gpu/fake_cuda_driver.c). Asserted are the results, the calls that were made, and that each error of the driver
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
    GpuBuffer memory[] = {{.bytes = j->in, .size = sizeof j->in}, {.bytes = j->out, .size = sizeof j->out, .output = true}};
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
    assert_int_equal(calls("cuCtxPopCurrent_v2"), calls("cuCtxPushCurrent_v2"));
    assert_int_equal(calls("cuStreamDestroy_v2"), calls("cuStreamCreate"));
    assert_int_equal(calls("cuGraphDestroy"), calls("cuStreamEndCapture"));
    assert_int_equal(calls("cuGraphExecDestroy"), calls("cuGraphInstantiateWithFlags"));
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

/* Two kernels. `add`: out[i] = in[i] + state[i] + 1, and state[i] is that, too. `twice` as above. */
static const char two[] =
    ".visible .entry add(.param .u64 a, .param .u64 s, .param .u64 b)\n{\n.reg .b32 %r<6>;\n.reg .b64 %rd<9>;\n"
    "ld.param.u64 %rd1, [a];\nld.param.u64 %rd2, [s];\nld.param.u64 %rd3, [b];\nmov.u32 %r1, %tid.x;\n"
    "mul.wide.u32 %rd4, %r1, 4;\nadd.s64 %rd1, %rd1, %rd4;\nadd.s64 %rd2, %rd2, %rd4;\nadd.s64 %rd3, %rd3, %rd4;\n"
    "ld.global.b32 %r2, [%rd1];\nld.global.b32 %r3, [%rd2];\nadd.u32 %r2, %r2, %r3;\nadd.u32 %r2, %r2, 1;\n"
    "st.global.b32 [%rd2], %r2;\nst.global.b32 [%rd3], %r2;\nret;\n}\n";

typedef struct {
    uint32_t runs, in[N], state[N], out[N];
    uint32_t cluster;
    int64_t shared;
} Two;

static void body_of_two(WbbCx *cx, void *arg)
{
    Two *j = arg;
    static const int first[] = {0, 1, 2}, last[] = {2, 3};
    const BdLaunch launches[] = {{.entry = "add", .grid = {1, 1, 1}, .block = {N, 1, 1}, .cluster = {1, 1, 1},
                                  .shared = j->shared, .n_args = 3, .args = first},
                                 {.entry = "twice", .grid = {16, 1, 1}, .block = {N, 1, 1}, .cluster = {j->cluster, 1, 1},
                                  .n_args = 2, .args = last},
                                 {.entry = "twice", .grid = {1, 1, 1}, .block = {N, 1, 1}, .cluster = {1, 1, 1},
                                  .shared = 64, .n_args = 2, .args = last}};
    const char *text = wbb_format(cx->arena, "%s%s", ptx, two);
    const Bundle b = {.target = "sm_90", .n_buffers = 4, .n_launches = 3, .ptx = text};
    uint32_t between[N] = {0};
    GpuBuffer memory[] = {{.bytes = j->in, .size = sizeof j->in},
                          {.bytes = j->state, .size = sizeof j->state, .temporary = true, .output = true},
                          {.bytes = between, .size = sizeof between, .temporary = true},
                          {.bytes = j->out, .size = sizeof j->out, .output = true}};
    gpu_run(cx, cx->arena, &b, launches, memory, &(GpuOptions){.runs = j->runs});
}

/* Launches see what the one before wrote, a second run what the first left in temporaries, and nothing else of it. */
static void test_several_launches(void **state)
{
    for (uint32_t runs = 1; runs <= 2; runs++) {
        Two j = {.runs = runs, .cluster = runs == 1 ? 1 : 16, .shared = 100000};
        for (uint32_t i = 0; i < N; i++) j.in[i] = 5 * i;
        remove(log_file);
        succeed(*state, body_of_two, &j);
        for (uint32_t i = 0; i < N; i++) assert_int_equal(j.state[i], runs * (5 * i + 1));
        for (uint32_t i = 0; i < N; i++) assert_int_equal(j.out[i], 2 * runs * (5 * i + 1));
        assert_int_equal(calls("cuMemcpyHtoD_v2"), runs == 1 ? 4 : 6);
        assert_int_equal(calls("cuMemcpyDtoH_v2"), 2);
        assert_int_equal(calls("cuLaunchKernel"), runs == 1 ? 3 : 4);
        assert_int_equal(calls("cuLaunchKernelEx"), runs == 1 ? 0 : 2);
        assert_all_given_back();
    }
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
    assert_int_equal(j.report.copies, 8);                     /* one for each run, which together take 4 ms */
    assert_int_equal(calls("cuGraphLaunch"), 1 + 5);
    /* the run; another, to know how many make a graph; 8 into the graph; what reads before each; copies */
    assert_int_equal(calls("cuLaunchKernel"), 1 + 1 + 8 + 6 + 1 + 20);
    assert_int_equal(calls("cuEventElapsedTime"), 1 + 6 + 1);
    assert_true(j.report.ms == 0.5);                          /* a launch takes half a millisecond on the fake driver */
    assert_true(j.report.gb_per_s > 0 && j.report.copy_gb_per_s > 8.3 && j.report.copy_gb_per_s < 8.4);
    assert_all_given_back();
}

static void test_errors(void **state)
{
    (void)state;
    static const char *const names[] = {"cuInit", "cuDeviceGetCount", "cuDeviceGet", "cuDeviceGetName", "cuDeviceGetAttribute", "cuDevicePrimaryCtxRetain", "cuCtxPushCurrent_v2",
                                        "cuModuleLoadDataEx", "cuModuleGetFunction", "cuMemAlloc_v2", "cuMemsetD8_v2", "cuMemcpyHtoD_v2", "cuLaunchKernel", "cuCtxSynchronize",
                                        "cuMemcpyDtoH_v2", "cuMemGetInfo_v2", "cuEventCreate", "cuEventRecord", "cuEventSynchronize", "cuEventElapsedTime",
                                        "cuStreamCreate", "cuStreamBeginCapture_v2", "cuStreamEndCapture", "cuGraphInstantiateWithFlags", "cuGraphLaunch"};
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
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_once), TEST(test_several_launches), cmocka_unit_test(test_cubin), cmocka_unit_test(test_times), cmocka_unit_test(test_errors),
                                       cmocka_unit_test(test_bad_ptx), cmocka_unit_test(test_nobody_there)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
