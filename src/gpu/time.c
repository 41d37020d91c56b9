/* time.c: how long a run takes on the GPU.
 *
 * Needs: a run that has been made. Leaves: its time in the report. The runs are the nodes of a graph, so that the host
 * is not waited for. They cycle through sets of the buffers, as many as fill the L2 cache twice or as there are runs,
 * and before the graph a kernel reads other memory of twice the cache's size: no run finds its data in the cache. Two
 * events enclose the graph, which is launched several times; the time is the median. A kernel that copies 16 bytes per
 * thread, in memory four times the size of the cache, is timed in the same process for comparison.
 *
 *     64 MB in, 64 MB out, 0.045 ms a run: 2,980 GB/s, 0.93 of a copy's 3,200
 */
#include "gpu/inner.h"

#include <stdlib.h>

enum { THREADS = 256, ACCESS = 16, COPY_RUNS = 20, GRAPHS = 5, LEAST_RUNS = 3 };
static const double graph_ms = 4;  /* that a graph takes, as nearly as whole runs allow */

/* copy: 16 bytes per thread; read: the same loads, and a store that is never made, where the value is all ones */
static const char helper_ptx[] =
    ".version 6.3\n.target sm_75\n.address_size 64\n"
    ".visible .entry copy(.param .u64 from, .param .u64 to)\n{\n"
    "\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<8>;\n"
    "\tld.param.u64 %rd1, [from];\n\tld.param.u64 %rd2, [to];\n"
    "\tcvta.to.global.u64 %rd1, %rd1;\n\tcvta.to.global.u64 %rd2, %rd2;\n"
    "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n\tmad.lo.u32 %r3, %r1, 256, %r2;\n"
    "\tmul.wide.u32 %rd3, %r3, 16;\n\tadd.s64 %rd4, %rd1, %rd3;\n\tadd.s64 %rd5, %rd2, %rd3;\n"
    "\tld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd4];\n\tst.global.v4.b32 [%rd5], {%r4, %r5, %r6, %r7};\n"
    "\tret;\n}\n"
    ".visible .entry read(.param .u64 from, .param .u64 to)\n{\n"
    "\t.reg .pred %p1;\n\t.reg .b32 %r<8>;\n\t.reg .b64 %rd<8>;\n"
    "\tld.param.u64 %rd1, [from];\n\tld.param.u64 %rd2, [to];\n"
    "\tcvta.to.global.u64 %rd1, %rd1;\n\tcvta.to.global.u64 %rd2, %rd2;\n"
    "\tmov.u32 %r1, %ctaid.x;\n\tmov.u32 %r2, %tid.x;\n\tmad.lo.u32 %r3, %r1, 256, %r2;\n"
    "\tmul.wide.u32 %rd3, %r3, 16;\n\tadd.s64 %rd4, %rd1, %rd3;\n"
    "\tld.global.v4.b32 {%r4, %r5, %r6, %r7}, [%rd4];\n"
    "\tand.b32 %r4, %r4, %r5;\n\tand.b32 %r6, %r6, %r7;\n\tand.b32 %r4, %r4, %r6;\n"
    "\tsetp.eq.u32 %p1, %r4, 0xffffffff;\n\t@%p1 st.global.b32 [%rd2], %r4;\n"
    "\tret;\n}\n";

static int attribute(Gpu *g, int which)
{
    int value = 0;
    CALL(cuDeviceGetAttribute, &value, which, g->device);
    return value;
}

/* Memory that no run uses, for the kernels above: from and to. */
typedef struct {
    CuHandle copy, read;
    CuPointer memory[2];
    uint32_t blocks; /* of a launch that touches twice the L2 cache, and as much again to store to */
} Helpers;

static Helpers new_helpers(Gpu *g, size_t cache)
{
    const size_t block = THREADS * ACCESS;
    Helpers h = {.blocks = (uint32_t)((2 * cache + block - 1) / block)};
    g->helper_module = gpu_load_image(g->cx, g->arena, &g->d, helper_ptx, "helpers' PTX");
    CALL(cuModuleGetFunction, &h.copy, g->helper_module, "copy");
    CALL(cuModuleGetFunction, &h.read, g->helper_module, "read");
    for (int i = 0; i < 2; i++) {
        h.memory[i] = gpu_room(g, h.blocks * block);
        CALL(cuMemsetD8_v2, h.memory[i], 1, h.blocks * block);
    }
    return h;
}

static void run_helper(Gpu *g, Helpers *h, CuHandle function, uint32_t blocks)
{
    const BdLaunch l = {.grid = {blocks, 1, 1}, .block = {THREADS, 1, 1}, .cluster = {1, 1, 1}, .n_args = 2,
                        .args = (const int[]){0, 1}};
    gpu_launch(g->cx, &g->d, function, &l, g->stream, h->memory, g->parameters);
}

static void begin(Gpu *g) { CALL(cuEventRecord, g->events[0], g->stream); }

/* Milliseconds since begin. */
static double elapsed(Gpu *g)
{
    float ms = 0;
    CALL(cuEventRecord, g->events[1], g->stream);
    CALL(cuEventSynchronize, g->events[1]);
    CALL(cuEventElapsedTime, &ms, g->events[0], g->events[1]);
    return (double)ms;
}

static double copy_speed(Gpu *g, Helpers *h)
{
    run_helper(g, h, h->copy, h->blocks); /* not timed: loads the code */
    begin(g);
    for (int i = 0; i < COPY_RUNS; i++) run_helper(g, h, h->copy, h->blocks);
    const double ms = elapsed(g) / COPY_RUNS;
    return ms > 0 ? 2.0 * h->blocks * THREADS * ACCESS / ms / 1e6 : 0;
}

/* The runs' sets of buffers, one after the other; the first is `set`. */
static CuPointer *new_sets(Gpu *g, const CuPointer *set, size_t copies)
{
    const size_t n = (size_t)g->bundle->n_buffers;
    CuPointer *sets = WBB_NEW_N(g->arena, CuPointer, copies * n + 1);
    for (size_t i = 0; i < copies * n; i++) {
        const size_t bytes = g->memory[i % n].size + g->o->padding;
        sets[i] = i < n ? set[i] : gpu_room(g, bytes);
        if (i >= n && bytes) CALL(cuMemcpyDtoDAsync_v2, sets[i], set[i % n], bytes, g->stream);
    }
    return sets;
}

static void make_graph(Gpu *g, CuPointer *sets, size_t copies, uint32_t runs)
{
    CALL(cuStreamBeginCapture_v2, g->stream, CU_CAPTURE_RELAXED);
    for (uint32_t i = 0; i < runs; i++) gpu_launch_all(g, g->stream, sets + i % copies * (size_t)g->bundle->n_buffers);
    CALL(cuStreamEndCapture, g->stream, &g->graph);
    CALL(cuGraphInstantiateWithFlags, &g->graph_run, g->graph, 0);
}

static int by_size(const void *x, const void *y)
{
    const double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

/* The median over several graphs of `runs` runs; the first is not counted. */
static double median_ms(Gpu *g, Helpers *h, uint32_t runs)
{
    double ms[GRAPHS];
    for (int i = -1; i < GRAPHS; i++) {
        run_helper(g, h, h->read, h->blocks);
        begin(g);
        CALL(cuGraphLaunch, g->graph_run, g->stream);
        const double one = elapsed(g) / runs;
        if (i >= 0) ms[i] = one;
    }
    qsort(ms, GRAPHS, sizeof *ms, by_size);
    return ms[GRAPHS / 2];
}

void gpu_time(Gpu *g, const CuPointer *set)
{
    const size_t cache = (size_t)WBB_MAX(attribute(g, CU_ATTRIBUTE_L2_BYTES), 1 << 20);
    size_t bytes = 0, available = 0, total = 0;
    for (int i = 0; i < g->bundle->n_buffers; i++) bytes += g->memory[i].size;
    CALL(cuStreamCreate, &g->stream, 0);
    for (int i = 0; i < 2; i++) CALL(cuEventCreate, &g->events[i], 0);
    Helpers h = new_helpers(g, cache);
    CuPointer *first = new_sets(g, set, 1);
    begin(g);
    gpu_launch_all(g, g->stream, first);
    const double once = elapsed(g), fit = once > 0 ? graph_ms / once : 0;
    const uint32_t runs = WBB_MIN(g->o->repeat, (uint32_t)WBB_MAX(WBB_MIN(fit, 1e6), LEAST_RUNS));
    CALL(cuMemGetInfo_v2, &available, &total);
    size_t copies = WBB_MIN(2 * cache / WBB_MAX(bytes, (size_t)1) + 2, (size_t)runs);
    copies = WBB_MAX(WBB_MIN(copies, available / 2 / WBB_MAX(bytes, (size_t)1)), (size_t)1);
    make_graph(g, new_sets(g, set, copies), copies, runs);
    GpuReport *r = &g->report;
    r->copies = (uint32_t)copies;
    r->ms = median_ms(g, &h, runs);
    r->gb_per_s = r->ms > 0 ? (double)bytes / r->ms / 1e6 : 0;
    r->copy_gb_per_s = copy_speed(g, &h);
    r->share = r->copy_gb_per_s > 0 ? r->gb_per_s / r->copy_gb_per_s : 0;
}
