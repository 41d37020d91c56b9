/* load.c: the code of a bundle in a CUDA context, and one launch of it.
 *
 * Needs: an open driver, a current context, and the device's architecture. The bundle's cubin is loaded if it is for
 * that, else the driver compiles the PTX. Leaves: a function for each launch, with the attributes that large shared
 * memory and large clusters need.
 *
 *     cubin for sm_90 on an "sm_90" device: loaded; on "sm_100": kernel.ptx is compiled by the driver
 */
#include "gpu/load.h"

#include <string.h>

enum { PORTABLE_CLUSTER = 8, LOG = 4096 };

/* Code for "sm_90" or "sm_90a" fits a device of architecture "sm_90". */
static bool fits(const char *target, const char *arch)
{
    const size_t n = strlen(arch);
    return target && strncmp(target, arch, n) == 0 &&
           (!target[n] || ((target[n] == 'a' || target[n] == 'f') && !target[n + 1]));
}

CuHandle gpu_load_image(WbbCx *cx, WbbArena *a, const CuDriver *d, const void *image, const char *what)
{
    CuHandle module = NULL;
    char *log = wbb_alloc(a, LOG);
    int options[] = {CU_JIT_ERROR_LOG, CU_JIT_ERROR_LOG_BYTES};
    void *values[] = {log, (void *)(uintptr_t)(LOG - 1)};
    gpu_check(cx, d, d->cuModuleLoadDataEx(&module, image, WBB_LEN(options), options, values),
              wbb_format(a, "cuModuleLoadDataEx of the %s", what), log);
    return module;
}

static uint32_t cluster_blocks(const BdLaunch *l) { return l->cluster[0] * l->cluster[1] * l->cluster[2]; }

/* Without attributes a function has 48 KiB of shared memory, static and dynamic together, and clusters of 8 blocks.
 * Another launch of the same function may need more than this one. */
static void allow(WbbCx *cx, const CuDriver *d, const GpuCode *c, const BdLaunch *launches, int n, int launch)
{
    int64_t shared = 0;
    for (int i = 0; i < n; i++)
        if (!strcmp(launches[i].entry, launches[launch].entry)) shared = WBB_MAX(shared, launches[i].shared);
    if (shared)
        gpu_check(cx, d, d->cuFuncSetAttribute(c->functions[launch], CU_FUNCTION_DYNAMIC_SHARED, (int)shared),
                  "cuFuncSetAttribute", NULL);
    if (cluster_blocks(&launches[launch]) > PORTABLE_CLUSTER)
        gpu_check(cx, d, d->cuFuncSetAttribute(c->functions[launch], CU_FUNCTION_LARGE_CLUSTER, 1),
                  "cuFuncSetAttribute", NULL);
}

void gpu_load_code(WbbCx *cx, WbbArena *a, const CuDriver *d, const Bundle *b, const BdLaunch *launches,
                   const char *arch, GpuCode *c)
{
    c->cubin = b->cubin && fits(b->target, arch);
    c->module = c->cubin ? gpu_load_image(cx, a, d, b->cubin, "cubin") : gpu_load_image(cx, a, d, b->ptx, "PTX");
    c->functions = WBB_NEW_N(a, CuHandle, b->n_launches + 1);
    for (int i = 0; i < b->n_launches; i++) {
        gpu_check(cx, d, d->cuModuleGetFunction(&c->functions[i], c->module, launches[i].entry),
                  "cuModuleGetFunction", NULL);
        allow(cx, d, c, launches, b->n_launches, i);
    }
}

void gpu_launch(WbbCx *cx, const CuDriver *d, CuHandle function, const BdLaunch *l, CuHandle stream, CuPointer *buffers,
                void **parameters)
{
    CuPointer nothing = 0;
    for (int i = 0; i < l->n_args; i++) parameters[i] = l->args[i] == BD_NOTHING ? &nothing : &buffers[l->args[i]];
    if (cluster_blocks(l) <= 1) {
        gpu_check(cx, d, d->cuLaunchKernel(function, l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1],
                                           l->block[2], (unsigned)l->shared, stream, parameters, NULL),
                  "cuLaunchKernel", NULL);
        return;
    }
    if (!d->cuLaunchKernelEx) wbb_decline(cx, (WbbLoc){0}, WHY_NO_GPU, "the driver cannot launch clusters");
    CuLaunchAttribute cluster = {.id = CU_LAUNCH_CLUSTER,
                                 .value.cluster = {l->cluster[0], l->cluster[1], l->cluster[2]}};
    const CuLaunchConfig c = {.grid = {l->grid[0], l->grid[1], l->grid[2]},
                              .block = {l->block[0], l->block[1], l->block[2]},
                              .shared = (unsigned)l->shared,
                              .stream = stream,
                              .attributes = &cluster,
                              .n_attributes = 1};
    gpu_check(cx, d, d->cuLaunchKernelEx(&c, function, parameters, NULL), "cuLaunchKernelEx", NULL);
}

const char *gpu_arch(WbbCx *cx, WbbArena *a, const CuDriver *d, CuDevice device)
{
    int major = 0, minor = 0;
    gpu_check(cx, d, d->cuDeviceGetAttribute(&major, CU_ATTRIBUTE_MAJOR, device), "cuDeviceGetAttribute", NULL);
    gpu_check(cx, d, d->cuDeviceGetAttribute(&minor, CU_ATTRIBUTE_MINOR, device), "cuDeviceGetAttribute", NULL);
    return wbb_format(a, "sm_%d", 10 * major + minor);
}

CuDevice gpu_first_device(WbbCx *cx, const CuDriver *d)
{
    int n = 0;
    CuDevice device = 0;
    gpu_check(cx, d, d->cuDeviceGetCount(&n), "cuDeviceGetCount", NULL);
    if (!n) wbb_decline(cx, (WbbLoc){0}, WHY_NO_GPU, "the driver sees no device");
    gpu_check(cx, d, d->cuDeviceGet(&device, 0), "cuDeviceGet", NULL);
    return device;
}

void gpu_init(WbbCx *cx, CuDriver *d)
{
    gpu_driver_open(cx, d);
    const CuResult r = d->cuInit(0);
    if (r == 100) wbb_decline(cx, (WbbLoc){0}, WHY_NO_GPU, "the driver sees no device"); /* CUDA_ERROR_NO_DEVICE */
    gpu_check(cx, d, r, "cuInit", NULL);
}
