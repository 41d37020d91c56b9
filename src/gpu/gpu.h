/* gpu: runs a bundle on a real GPU through the CUDA driver, which is loaded at run time: nothing of CUDA is needed to build.
 *
 *     GpuBuffer memory[] = {{in, 64}, {out, 64}};
 *     GpuReport r = gpu_run(cx, arena, bundle, bundle->launches, memory, &(GpuOptions){.repeat = 100});
 *     // out as the kernel left it; r.gb_per_s, r.share
 *
 * The driver is libcuda.so.1, or what the environment's WARPBURG_LIBCUDA names. Where there is none, or no device, gpu_run declines
 * with WHY_NO_GPU; an error of the driver is a wbb_fail with the call, the error's name and its text.
 */
#ifndef GPU_GPU_H
#define GPU_GPU_H

#include "base/base.h"
#include "bundle/bundle.h"

/* One buffer of the bundle: its contents before the first launch, and after the last. */
typedef struct {
    void *bytes;
    size_t size;
    bool output;  /* read back */
} GpuBuffer;

typedef struct {
    uint32_t repeat;  /* time that many runs of all launches; 0: none */
    size_t padding;   /* bytes of zeros behind each buffer */
} GpuOptions;

typedef struct {
    const char *device; /* its name, in the arena */
    const char *arch;   /* "sm_90" */
    bool cubin;         /* the bundle's cubin ran; else the driver compiled its PTX */
    uint32_t copies;    /* sets of buffers that the timed runs rotate over */
    double ms;          /* of one run of all launches */
    double gb_per_s;    /* every buffer counted once, 10^9 bytes */
    double copy_gb_per_s; /* of a copy of 16 bytes a thread, bytes read and written */
    double share;       /* gb_per_s of copy_gb_per_s */
} GpuReport;

/* run.c: `launches` are the bundle's, n_launches of them, with arguments that may name other buffers of `memory` (an output that
 * shares its operand's). `memory` has n_buffers. */
GpuReport gpu_run(WbbCx *cx, WbbArena *a, const Bundle *b, const BdLaunch *launches, GpuBuffer *memory, const GpuOptions *o);

#endif
