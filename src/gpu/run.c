/* run: runs a bundle's launches on the first GPU, and times them.
 *
 * Needs: the driver. Leaves: the outputs in the caller's memory. The bundle's cubin is loaded if it is for the device's
 * architecture, else the driver compiles the PTX. All that the driver allocated is freed on every path.
 *
 * Times: the runs cycle through so many sets of the buffers that they fill the L2 cache twice, so no run finds its data
 * in the cache; two events enclose all runs. A kernel that copies 16 bytes per thread, in memory eight times the size
 * of the cache, is timed in the same process for comparison.
 *
 *     64 MB in, 64 MB out, 0.045 ms a run: 2,980 GB/s, 0.93 of a copy's 3,200
 */
#include "gpu/gpu.h"
#include "gpu/load.h"

enum { MAX_SETS = 64, COPY_THREADS = 256, COPY_BYTES = 16, COPY_RUNS = 20 };

static const char copy_ptx[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry copy(.param .u64 from, .param .u64 to)\n{\n"
    "\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<8>;\n"
    "\tld.param.u64 %rd1, [from];\n\tld.param.u64 %rd2, [to];\n"
    "\tcvta.to.global.u64 %rd1, %rd1;\n\tcvta.to.global.u64 %rd2, %rd2;\n"
    "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n\tmad.lo.u32 %r3, %r1, 256, %r2;\n"
    "\tmul.wide.u32 %rd3, %r3, 16;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tadd.s64 %rd5, %rd2, %rd3;\n"
    "\tld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd4];\n\tst.global.v4.b32 [%rd5], {%r4, %r5, %r6, %r7};\n"
    "\tret;\n}\n";

typedef struct {
    WbbCx *cx;
    WbbArena *arena;
    const Bundle *bundle;
    const BdLaunch *launches;
    GpuBuffer *memory;
    const GpuOptions *o;
    GpuReport report;
    CuDriver d;
    CuDevice device;
    bool retained, pushed;
    GpuCode code;
    CuHandle copy_module, events[2];
    void **parameters;   /* of one launch */
    struct { CuPointer *items; uint32_t n, capacity; } held; /* all device memory */
} Gpu;

#define CALL(FUNCTION, ...) gpu_check(g->cx, &g->d, g->d.FUNCTION(__VA_ARGS__), #FUNCTION, NULL)

static int attribute(Gpu *g, int which)
{
    int value = 0;
    CALL(cuDeviceGetAttribute, &value, which, g->device);
    return value;
}

static void open_device(Gpu *g)
{
    CuHandle context;
    char name[256] = "";
    gpu_init(g->cx, &g->d);
    g->device = gpu_first_device(g->cx, &g->d);
    CALL(cuDeviceGetName, name, (int)sizeof name, g->device);
    CALL(cuDevicePrimaryCtxRetain, &context, g->device);
    g->retained = true;
    CALL(cuCtxPushCurrent_v2, context);
    g->pushed = true;
    g->report.device = wbb_format(g->arena, "%s", name);
    g->report.arch = gpu_arch(g->cx, g->arena, &g->d, g->device);
}

static void load_bundle(Gpu *g)
{
    const Bundle *b = g->bundle;
    int most = 2; /* arguments; the kernel that copies has two */
    for (int i = 0; i < b->n_launches; i++) most = WBB_MAX(most, g->launches[i].n_args);
    g->parameters = WBB_NEW_N(g->arena, void *, most);
    gpu_load_code(g->cx, g->arena, &g->d, b, g->launches, g->report.arch, &g->code);
    g->report.cubin = g->code.cubin;
}

static CuPointer allocate(Gpu *g, size_t bytes)
{
    CuPointer p = 0;
    CALL(cuMemAlloc_v2, &p, WBB_MAX(bytes, (size_t)16));
    WBB_PUSH(g->arena, &g->held, p);
    return p;
}

/* The initial contents of all buffers, but for those of temporaries if these were used before. */
static void fill_set(Gpu *g, const CuPointer *set, bool used)
{
    for (int i = 0; i < g->bundle->n_buffers; i++) {
        const GpuBuffer *m = &g->memory[i];
        if (m->size && !(used && m->temporary)) CALL(cuMemcpyHtoD_v2, set[i], m->bytes, m->size);
    }
}

static void new_set(Gpu *g, CuPointer *set)
{
    for (int i = 0; i < g->bundle->n_buffers; i++) {
        const size_t bytes = g->memory[i].size + g->o->padding;
        set[i] = allocate(g, bytes);
        CALL(cuMemsetD8_v2, set[i], 0, WBB_MAX(bytes, (size_t)16));
    }
    fill_set(g, set, false);
}

static void launch(Gpu *g, CuHandle function, const BdLaunch *l, CuPointer *set)
{
    gpu_launch(g->cx, &g->d, function, l, NULL, set, g->parameters);
}

static void launch_all(Gpu *g, CuPointer *set)
{
    for (int i = 0; i < g->bundle->n_launches; i++) launch(g, g->code.functions[i], &g->launches[i], set);
}

static void run_untimed(Gpu *g, CuPointer *set)
{
    for (uint32_t k = 0; k < WBB_MAX(g->o->runs, 1u); k++) {
        if (k) fill_set(g, set, true);
        launch_all(g, set);
    }
    gpu_check(g->cx, &g->d, g->d.cuCtxSynchronize(), "cuCtxSynchronize", NULL);
    for (int i = 0; i < g->bundle->n_buffers; i++)
        if (g->memory[i].output && g->memory[i].size)
            CALL(cuMemcpyDtoH_v2, g->memory[i].bytes, set[i], g->memory[i].size);
}

/* Times ------------------------------------------------------------------------------------------------------------ */

static double elapsed(Gpu *g)
{
    float ms = 0;
    CALL(cuEventRecord, g->events[1], NULL);
    CALL(cuEventSynchronize, g->events[1]);
    CALL(cuEventElapsedTime, &ms, g->events[0], g->events[1]);
    return (double)ms;
}

static double copy_speed(Gpu *g, size_t cache)
{
    const size_t blocks = (8 * cache + COPY_THREADS * COPY_BYTES - 1) / (COPY_THREADS * COPY_BYTES),
                 bytes = blocks * COPY_THREADS * COPY_BYTES;
    CuHandle function;
    g->copy_module = gpu_load_image(g->cx, g->arena, &g->d, copy_ptx, "copy's PTX");
    CALL(cuModuleGetFunction, &function, g->copy_module, "copy");
    CuPointer p[2] = {allocate(g, bytes), allocate(g, bytes)};
    CALL(cuMemsetD8_v2, p[0], 1, bytes);
    const BdLaunch l = {.entry = "copy", .grid = {(uint32_t)blocks, 1, 1}, .block = {COPY_THREADS, 1, 1},
                        .cluster = {1, 1, 1}, .n_args = 2, .args = (const int[]){0, 1}};
    launch(g, function, &l, p); /* not timed: loads the code */
    CALL(cuEventRecord, g->events[0], NULL);
    for (int i = 0; i < COPY_RUNS; i++) launch(g, function, &l, p);
    const double ms = elapsed(g) / COPY_RUNS;
    return ms > 0 ? 2 * (double)bytes / ms / 1e6 : 0;
}

static void time_runs(Gpu *g)
{
    const int n = g->bundle->n_buffers;
    const size_t cache = (size_t)WBB_MAX(attribute(g, CU_ATTRIBUTE_L2_BYTES), 1 << 20);
    size_t bytes = 0, available = 0, total = 0;
    for (int i = 0; i < n; i++) bytes += g->memory[i].size;
    CALL(cuMemGetInfo_v2, &available, &total);
    size_t copies = WBB_MIN(2 * cache / WBB_MAX(bytes, (size_t)1) + 2, (size_t)MAX_SETS);
    copies = WBB_MAX(WBB_MIN(copies, available / 2 / WBB_MAX(bytes, (size_t)1)), (size_t)1);
    CuPointer *sets = WBB_NEW_N(g->arena, CuPointer, copies * (size_t)n + 1);
    for (size_t k = 0; k < copies; k++) new_set(g, sets + k * (size_t)n);
    for (int i = 0; i < 2; i++) CALL(cuEventCreate, &g->events[i], 0);
    launch_all(g, sets);
    gpu_check(g->cx, &g->d, g->d.cuCtxSynchronize(), "cuCtxSynchronize", NULL);
    CALL(cuEventRecord, g->events[0], NULL);
    for (uint32_t i = 0; i < g->o->repeat; i++) launch_all(g, sets + i % copies * (size_t)n);
    GpuReport *r = &g->report;
    r->copies = (uint32_t)copies;
    r->ms = elapsed(g) / g->o->repeat;
    r->gb_per_s = r->ms > 0 ? (double)bytes / r->ms / 1e6 : 0;
    r->copy_gb_per_s = copy_speed(g, cache);
    r->share = r->copy_gb_per_s > 0 ? r->gb_per_s / r->copy_gb_per_s : 0;
}

static void steps(WbbCx *cx, void *arg)
{
    (void)cx;
    Gpu *g = arg;
    open_device(g);
    load_bundle(g);
    CuPointer *set = WBB_NEW_N(g->arena, CuPointer, g->bundle->n_buffers + 1);
    new_set(g, set);
    run_untimed(g, set);
    if (g->o->repeat) time_runs(g);
}

/* Frees what the driver allocated; the thread has its own context again. Ignores errors of the driver, which cannot be
 * reported any more. */
static void release(Gpu *g)
{
    CuHandle own;
    if (!g->d.library) return;
    for (int i = 0; i < 2; i++)
        if (g->events[i]) g->d.cuEventDestroy_v2(g->events[i]);
    for (uint32_t i = 0; i < g->held.n; i++) g->d.cuMemFree_v2(g->held.items[i]);
    if (g->copy_module) g->d.cuModuleUnload(g->copy_module);
    if (g->code.module) g->d.cuModuleUnload(g->code.module);
    if (g->pushed) g->d.cuCtxPopCurrent_v2(&own);
    if (g->retained) g->d.cuDevicePrimaryCtxRelease_v2(g->device);
    gpu_driver_close(&g->d);
}

GpuReport gpu_run(WbbCx *cx, WbbArena *a, const Bundle *b, const BdLaunch *launches, GpuBuffer *memory,
                  const GpuOptions *o)
{
    Gpu *g = WBB_NEW(a, Gpu);
    *g = (Gpu){.cx = cx, .arena = a, .bundle = b, .launches = launches, .memory = memory, .o = o};
    const WbbStatus s = wbb_guard(cx, steps, g);
    release(g);
    if (s != WBB_OK) wbb_rethrow(cx, s);
    return g->report;
}
