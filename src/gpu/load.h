/* load.h: what gpu_run and gpu_enqueue share: a device, the code of a bundle on it, and a launch. */
#ifndef GPU_LOAD_H
#define GPU_LOAD_H

#include "bundle/bundle.h"
#include "gpu/driver.h"

typedef struct {
    CuHandle module;
    CuHandle *functions; /* of each launch */
    bool cubin;          /* the bundle's cubin was loaded; else the driver compiled its PTX */
} GpuCode;

/* Opens the driver and initialises it; declines with WHY_NO_GPU. The caller closes it, after a failure too. */
void gpu_init(WbbCx *cx, CuDriver *d);
CuDevice gpu_first_device(WbbCx *cx, const CuDriver *d);
const char *gpu_arch(WbbCx *cx, WbbArena *a, const CuDriver *d, CuDevice device); /* "sm_90" */

/* `what` names the image in messages: the driver's log is part of them. */
CuHandle gpu_load_image(WbbCx *cx, WbbArena *a, const CuDriver *d, const void *image, const char *what);
/* Fills *c step by step: after a failure the caller unloads c->module, unless it is NULL. */
void gpu_load_code(WbbCx *cx, WbbArena *a, const CuDriver *d, const Bundle *b, const BdLaunch *launches,
                   const char *arch, GpuCode *c);
/* buffers[i]: address of buffer i of the bundle. `parameters` has capacity for the arguments of the launch. */
void gpu_launch(WbbCx *cx, const CuDriver *d, CuHandle function, const BdLaunch *l, CuHandle stream, CuPointer *buffers,
                void **parameters);

#endif
