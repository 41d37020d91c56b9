/* run: runs a bundle's launches on the first GPU.
 *
 * Needs: the driver. Leaves: the outputs in the caller's memory. The bundle's cubin is loaded if it is for the device's
 * architecture, else the driver compiles the PTX. All that the driver allocated is freed on every path.
 *
 *     in 4096 floats, one launch: allocate in and out, copy in, launch, copy out
 */
#include "gpu/inner.h"

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
    int most = 2; /* arguments; the kernels of time.c have two */
    for (int i = 0; i < b->n_launches; i++) most = WBB_MAX(most, g->launches[i].n_args);
    g->parameters = WBB_NEW_N(g->arena, void *, most);
    gpu_load_code(g->cx, g->arena, &g->d, b, g->launches, g->report.arch, &g->code);
    g->report.cubin = g->code.cubin;
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
        set[i] = gpu_room(g, bytes);
        CALL(cuMemsetD8_v2, set[i], 0, WBB_MAX(bytes, (size_t)16));
    }
    fill_set(g, set, false);
}

static void run_untimed(Gpu *g, CuPointer *set)
{
    for (uint32_t k = 0; k < WBB_MAX(g->o->runs, 1u); k++) {
        if (k) fill_set(g, set, true);
        gpu_launch_all(g, NULL, set);
    }
    gpu_check(g->cx, &g->d, g->d.cuCtxSynchronize(), "cuCtxSynchronize", NULL);
    for (int i = 0; i < g->bundle->n_buffers; i++)
        if (g->memory[i].output && g->memory[i].size)
            CALL(cuMemcpyDtoH_v2, g->memory[i].bytes, set[i], g->memory[i].size);
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
    if (g->o->repeat) gpu_time(g, set);
}

/* Frees what the driver allocated; the thread has its own context again. Ignores errors of the driver, which cannot be
 * reported any more. */
static void release(Gpu *g)
{
    CuHandle own;
    if (!g->d.library) return;
    for (int i = 0; i < 2; i++)
        if (g->events[i]) g->d.cuEventDestroy_v2(g->events[i]);
    if (g->graph_run) g->d.cuGraphExecDestroy(g->graph_run);
    if (g->graph) g->d.cuGraphDestroy(g->graph);
    if (g->stream) g->d.cuStreamDestroy_v2(g->stream);
    for (uint32_t i = 0; i < g->held.n; i++) g->d.cuMemFree_v2(g->held.items[i]);
    if (g->helper_module) g->d.cuModuleUnload(g->helper_module);
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
