/* gpu: runs a bundle on a real GPU through the CUDA driver, which is loaded at run time; the build needs nothing of
 * CUDA.
 *
 *     GpuBuffer memory[] = {{in, 64}, {out, 64}};
 *     GpuReport r = gpu_run(cx, arena, bundle, bundle->launches, memory, &(GpuOptions){.repeat = 100});
 *     // out as the kernel left it; r.gb_per_s, r.share
 *
 * The driver is libcuda.so.1, or the library that the environment variable WARPBURG_LIBCUDA names. Without a driver or
 * a device gpu_run declines with WHY_NO_GPU; an error of the driver is a wbb_fail with the call, the error's name and
 * its text.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "base/base.h"
#include "bundle/bundle.h"

/* The memory of one buffer of the bundle. */
typedef struct {
    void *bytes;    /* contents before the first launch; if `output`, overwritten with those after the last */
    size_t size;
    bool output;
    bool temporary; /* it keeps its contents from run to run */
} GpuBuffer;

typedef struct {
    uint32_t runs;    /* runs of all launches on the same memory, the other buffers filled anew before each; 0: 1 */
    uint32_t repeat;  /* runs of all launches to time; 0: none */
    size_t padding;   /* bytes of zeros after each buffer */
} GpuOptions;

typedef struct {
    const char *device; /* its name, in the arena */
    const char *arch;   /* "sm_90" */
    bool cubin;         /* the bundle's cubin ran; else the driver compiled its PTX */
    uint32_t copies;    /* sets of buffers that the timed runs cycle through */
    double ms;          /* of one run of all launches */
    double gb_per_s;    /* 10^9 bytes per second; each buffer counts once per run */
    double copy_gb_per_s; /* of a kernel that copies 16 bytes per thread; bytes read and written */
    double share;       /* gb_per_s / copy_gb_per_s */
} GpuReport;

/* run.c: `launches` are the bundle's n_launches, whose arguments may be replaced (an output that shares its operand's
 * memory). `memory` has n_buffers entries. */
GpuReport gpu_run(WbbCx *cx, WbbArena *a, const Bundle *b, const BdLaunch *launches, GpuBuffer *memory,
                  const GpuOptions *o);

#endif
