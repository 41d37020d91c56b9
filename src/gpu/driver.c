/* driver: loads the CUDA driver's library at run time, and turns its errors into wbb_fail.
 *
 * Needs: nothing. Leaves: a table of functions. The library is $WARPBURG_LIBCUDA, else libcuda.so.1 as the dynamic
 * linker finds it.
 *
 *     cuMemAlloc_v2 returns 2   ->   "the GPU's driver: cuMemAlloc: CUDA_ERROR_OUT_OF_MEMORY: out of memory"
 */
#include "gpu/driver.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ISO C has no conversion between data and function pointers; POSIX guarantees that their bytes are the same. */
static bool find(const CuDriver *d, const char *name, void *function)
{
    void *at = dlsym(d->library, name);
    memcpy(function, &at, sizeof at);
    return at != NULL;
}

void gpu_driver_open(WbbCx *cx, CuDriver *d)
{
    const char *chosen = getenv("WARPBURG_LIBCUDA"), *name = chosen && *chosen ? chosen : "libcuda.so.1";
    const char *missing = NULL;
    *d = (CuDriver){.library = dlopen(name, RTLD_NOW | RTLD_LOCAL)};
    if (!d->library) wbb_decline(cx, (WbbLoc){0}, WHY_NO_GPU, "%s cannot be opened", name);
#define FIND(NAME, PARAMETERS) \
    if (!find(d, #NAME, &d->NAME)) missing = #NAME;
    CU_FUNCTIONS(FIND)
#undef FIND
    find(d, "cuLaunchKernelEx", &d->cuLaunchKernelEx);
    find(d, "cuMemAllocAsync", &d->cuMemAllocAsync);
    find(d, "cuMemFreeAsync", &d->cuMemFreeAsync);
    find(d, "cuThreadExchangeStreamCaptureMode", &d->cuThreadExchangeStreamCaptureMode);
    if (!missing) return;
    gpu_driver_close(d);
    wbb_decline(cx, (WbbLoc){0}, WHY_NO_GPU, "%s has no %s: the driver is too old", name, missing);
}

void gpu_driver_close(CuDriver *d)
{
    if (d->library) dlclose(d->library);
    d->library = NULL;
}

void gpu_check(WbbCx *cx, const CuDriver *d, CuResult result, const char *call, const char *more)
{
    if (!result) return;
    const char *name = NULL, *text = NULL;
    if (d->cuGetErrorName(result, &name) || !name) name = "unknown error";
    if (d->cuGetErrorString(result, &text) || !text) text = "no description";
    wbb_fail(cx, (WbbLoc){0}, "the GPU's driver: %s: %s (%d): %s%s%s", call, name, result, text,
             more && *more ? ": " : "", more ? more : "");
}
